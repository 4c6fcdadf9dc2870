// What is gathered for a product is copied to its buffer as many elements at once as are neighbours in memory, inside or outside together.
// RUN: %cute-opt --tile-select-atoms --tile-assign-layouts --tile-stage-operands %s -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: %cute-opt --tile-legalize-swizzle --tile-pipeline %t.mlir -o %t.ahead.mlir
// RUN: FileCheck %s --check-prefix AHEAD < %t.ahead.mlir
// RUN: %cute-opt --insert-barriers --tile-lower-tokens --tile-partition %t.ahead.mlir -o %t.cute.mlir
// RUN: FileCheck %s --check-prefix THREAD < %t.cute.mlir
// RUN: %cute-opt %t.cute.mlir -o /dev/null

!rows = !cute.memref<bf16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">
!pairs = !cute.memref<bf16, gmem, align<4>, "(?,?{div=2}):(?{i64 div=2},1)">
!odd = !cute.memref<bf16, gmem, align<16>, "(?,?):(?{i64},1)">
!i = tensor<64x32xi32>
!a = tensor<64x32xbf16>
!c = tensor<64x64xf32>

gpu.module @kernels {
  // Rows of eight neighbours; the number of a row has no divisor. In the loop they are under way a round ahead: nothing waits in registers.
  // CHECK-LABEL: gpu.func @product
  // CHECK: cute.memref.alloc_smem
  // CHECK: %[[S:.*]] = cute.memref.alloc_smem() : {{.*}}"(64,32,1):(32,1,2048)"
  // CHECK: %[[G:.*]] = tile.map
  // CHECK: cute.memref.load
  // CHECK: -> tensor<64x32xbf16, #tile.tv<"((4,32),(8,2)):((512,1),(64,32))">>
  // CHECK: %[[TOKEN:.*]] = tile.gather_async %[[G]], %[[S]][%{{.*}}] {copy = !cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>, divisors = array<i64: 1, 8>}
  // CHECK: %[[GROUP:.*]] = tile.commit %[[TOKEN]]
  // CHECK: tile.wait %[[GROUP]]
  // CHECK: tile.read %[[S]]
  // CHECK: tile.dot
  // AHEAD-LABEL: gpu.func @product
  // AHEAD: tile.gather_async {{.*}}divisors = array<i64: 1, 8>, tile.iteration = 0
  // AHEAD: scf.for
  // AHEAD: tile.gather_async {{.*}}divisors = array<i64: 1, 8>, tile.iteration = 1
  // AHEAD: tile.commit
  // AHEAD-NOT: tile.write
  // AHEAD: tile.wait
  // AHEAD: scf.yield
  // THREAD-LABEL: gpu.func @product
  // THREAD: scf.for
  // THREAD: %[[FROM:.*]] = cute.domain_offset(%arg0
  // THREAD: %[[VECTOR:.*]] = cute.make_view({{.*}} -> !cute.memref<bf16, gmem, align<16>, "8:1">
  // THREAD: cute.copy({{.*}}%[[VECTOR]]
  // THREAD: cute.copy
  // THREAD-NOT: cute.memref.load(%arg0
  // THREAD: gpu.return
  gpu.func @product(%x: !rows, %y: !rows, %n: i32, %m: i32) {
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0.0 : bf16
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %c = tile.splat %zero : f32 -> !c
    %s = scf.for %t = %first to %n step %one iter_args(%acc = %c) -> (!c) : i32 {
      %i = tile.iota 0 : !i
      %j = tile.iota 1 : !i
      %begin = arith.muli %t, %c32 : i32
      %g = tile.map(%i, %j) {
      ^bb0(%row: i32, %column: i32):
        %k = arith.addi %column, %begin : i32
        %other = arith.xori %row, %one : i32
        %inside = arith.cmpi ult, %other, %m : i32
        %r = scf.if %inside -> (bf16) {
          %at = cute.make_int_tuple(%other, %k) : (i32, i32) -> !cute.int_tuple<"(?,?)">
          %v = cute.memref.load(%x, %at) : (!rows, !cute.int_tuple<"(?,?)">) -> bf16
          scf.yield %v : bf16
        } else {
          scf.yield %none : bf16
        } {cute.guard}
        tile.yield %r : bf16
      } : (!i, !i) -> !a
      %b = tile.load %y[%first, %t] : !rows, i32, i32 -> !a
      %d = tile.dot %g, %b, %acc : !a, !a, !c -> !c
      scf.yield %d : !c
    } {tile.stages = 2 : i32}
    gpu.return
  }

  // Two elements of four bytes; single ones, and what the kernel writes, go through registers.
  // CHECK-LABEL: gpu.func @narrow
  // CHECK: tile.gather_async {{.*}}simt_async_copy<bf16, cache = always, 32 b>, divisors = array<i64: 1, 2>
  // CHECK: tile.write
  // CHECK: tile.dot
  // CHECK-LABEL: gpu.func @written
  // CHECK-NOT: tile.gather_async
  // CHECK: tile.write
  // CHECK: tile.dot
  gpu.func @narrow(%x: !pairs, %y: !odd, %m: i32) {
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0.0 : bf16
    %c = tile.splat %zero : f32 -> !c
    %i = tile.iota 0 : !i
    %j = tile.iota 1 : !i
    %g = tile.map(%i, %j) {
    ^bb0(%row: i32, %column: i32):
      %inside = arith.cmpi ult, %row, %m : i32
      %r = scf.if %inside -> (bf16) {
        %at = cute.make_int_tuple(%row, %column) : (i32, i32) -> !cute.int_tuple<"(?,?)">
        %v = cute.memref.load(%x, %at) : (!pairs, !cute.int_tuple<"(?,?)">) -> bf16
        scf.yield %v : bf16
      } else {
        scf.yield %none : bf16
      } {cute.guard}
      tile.yield %r : bf16
    } : (!i, !i) -> !a
    %i2 = tile.iota 0 : !i
    %j2 = tile.iota 1 : !i
    %h = tile.map(%i2, %j2) {
    ^bb0(%row: i32, %column: i32):
      %inside = arith.cmpi ult, %row, %m : i32
      %r = scf.if %inside -> (bf16) {
        %at = cute.make_int_tuple(%row, %column) : (i32, i32) -> !cute.int_tuple<"(?,?)">
        %v = cute.memref.load(%y, %at) : (!odd, !cute.int_tuple<"(?,?)">) -> bf16
        scf.yield %v : bf16
      } else {
        scf.yield %none : bf16
      } {cute.guard}
      tile.yield %r : bf16
    } : (!i, !i) -> !a
    %d = tile.dot %g, %h, %c : !a, !a, !c -> !c
    gpu.return
  }
  gpu.func @written(%x: !rows, %m: i32) {
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0.0 : bf16
    %first = arith.constant 0 : i32
    %c = tile.splat %zero : f32 -> !c
    %i = tile.iota 0 : !i
    %j = tile.iota 1 : !i
    %g = tile.map(%i, %j) {
    ^bb0(%row: i32, %column: i32):
      %inside = arith.cmpi ult, %row, %m : i32
      %r = scf.if %inside -> (bf16) {
        %at = cute.make_int_tuple(%row, %column) : (i32, i32) -> !cute.int_tuple<"(?,?)">
        %v = cute.memref.load(%x, %at) : (!rows, !cute.int_tuple<"(?,?)">) -> bf16
        scf.yield %v : bf16
      } else {
        scf.yield %none : bf16
      } {cute.guard}
      tile.yield %r : bf16
    } : (!i, !i) -> !a
    %b = tile.load %x[%first, %first] : !rows, i32, i32 -> !a
    %d = tile.dot %g, %b, %c : !a, !a, !c -> !c
    tile.store %b, %x[%first, %first] : !a, !rows, i32, i32
    gpu.return
  }
}
