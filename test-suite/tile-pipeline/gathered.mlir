// What is gathered for a product is read a round ahead, and written when the round before is multiplied.
// RUN: %cute-opt --tile-select-atoms --tile-assign-layouts --tile-stage-operands --tile-pipeline %s -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: %cute-opt %t.mlir -o /dev/null

!view = !cute.memref<f32, gmem, align<16>, "(?,?{div=4}):(?{i64 div=4},1)">
!flat = !cute.memref<f32, gmem, align<16>, "?:1">
!i = tensor<32x8xi32>
!a = tensor<32x8xf32>
!c = tensor<32x32xf32>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @ahead
  // CHECK: cute.memref.alloc_smem() : {{.*}}"(32,8,2):(1,32,256)"
  // CHECK: %[[S:.*]] = cute.memref.alloc_smem() : {{.*}}"(32,8,2):(1,32,256)"
  // The first round; neighbours in memory are of neighbouring threads.
  // CHECK: tile.iota 1 : tensor<32x8xi32, #tile.tv<"((8,4),(8)):((32,1),(4))">>
  // CHECK: tile.map
  // CHECK: cute.memref.load
  // CHECK: tile.write %{{.*}}, %[[S]]{{.*}}tile.iteration = 0
  // CHECK: scf.for %[[T:.*]] = {{.*}} iter_args(%{{[^ ]*}} = %{{[^ ]*}}, %{{[^ ]*}} = %{{[^ ]*}}, %[[WRITE:[^ ]*]] =
  // CHECK: %[[NEXT:.*]] = arith.addi %[[T]]
  // CHECK: %[[K:.*]] = arith.muli %[[NEXT]], %c8
  // CHECK: %[[AT:.*]] = tile.map
  // CHECK: arith.addi %{{.*}}, %[[K]]
  // CHECK: %[[FETCHED:.*]] = tile.map(%[[AT]])
  // CHECK: cute.memref.load
  // CHECK: tile.dot
  // CHECK: %[[TWICE:.*]] = tile.map(%[[FETCHED]])
  // CHECK: arith.mulf
  // CHECK: tile.write %[[TWICE]], %[[S]][%[[WRITE]]] {{.*}}tile.iteration = 1
  // CHECK: tile.dot
  // CHECK-NOT: cute.memref.load
  // CHECK: gpu.return
  gpu.func @ahead(%x: !flat, %y: !view, %n: i32, %extent: i32, %factor: f32) {
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %c = tile.splat %zero : f32 -> !c
    %s = scf.for %t = %first to %n step %one iter_args(%acc = %c) -> (!c) : i32 {
      %k = arith.muli %t, %c8 : i32
      %i = tile.iota 1 : !i
      %at = tile.map(%i) {
      ^bb0(%p: i32):
        %q = arith.addi %p, %k : i32
        tile.yield %q : i32
      } : (!i) -> !i
      %g = tile.map(%at) {
      ^bb0(%p: i32):
        %inside = arith.cmpi ult, %p, %extent : i32
        %r = scf.if %inside -> (f32) {
          %at1 = cute.make_int_tuple(%p) : (i32) -> !cute.int_tuple<"?">
          %v = cute.memref.load(%x, %at1) : (!flat, !cute.int_tuple<"?">) -> f32
          scf.yield %v : f32
        } else {
          scf.yield %zero : f32
        } {cute.guard}
        tile.yield %r : f32
      } : (!i) -> !a
      %twice = tile.map(%g) {
      ^bb0(%p: f32):
        %q = arith.mulf %p, %factor : f32
        tile.yield %q : f32
      } : (!a) -> !a
      %b = tile.load %y[%first, %t] : !view, i32, i32 -> !a
      %d = tile.dot %twice, %b, %acc : !a, !a, !c -> !c
      scf.yield %d : !c
    } {tile.stages = 2 : i32}
    tile.store %s, %y[%first, %first] : !c, !view, i32, i32
    gpu.return
  }

  // What the loop writes is read in its own round.
  // CHECK-LABEL: gpu.func @written
  // CHECK: %[[S:.*]] = cute.memref.alloc_smem() : {{.*}}"(32,8,1):(1,32,256)"
  // CHECK-NOT: cute.memref.load
  // CHECK: scf.for
  // CHECK: cute.memref.load
  // CHECK-NOT: cute.memref.load
  // CHECK: gpu.return
  gpu.func @written(%x: !view, %y: !view, %z: !view, %n: i32, %extent: i32) {
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c = tile.splat %zero : f32 -> !c
    %s = scf.for %t = %first to %n step %one iter_args(%acc = %c) -> (!c) : i32 {
      %i = tile.iota 1 : !i
      %g = tile.map(%i) {
      ^bb0(%p: i32):
        %inside = arith.cmpi ult, %p, %extent : i32
        %r = scf.if %inside -> (f32) {
          %at1 = cute.make_int_tuple(%p, %t) : (i32, i32) -> !cute.int_tuple<"(?,?)">
          %v = cute.memref.load(%x, %at1) : (!view, !cute.int_tuple<"(?,?)">) -> f32
          scf.yield %v : f32
        } else {
          scf.yield %zero : f32
        } {cute.guard}
        tile.yield %r : f32
      } : (!i) -> !a
      %b = tile.load %y[%first, %t] : !view, i32, i32 -> !a
      %d = tile.dot %g, %b, %acc : !a, !a, !c -> !c
      tile.store %d, %x[%first, %t] : !c, !view, i32, i32
      scf.yield %d : !c
    } {tile.stages = 2 : i32}
    tile.store %s, %z[%first, %first] : !c, !view, i32, i32
    gpu.return
  }
}
