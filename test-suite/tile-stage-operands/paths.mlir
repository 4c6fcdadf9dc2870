// How an operand gets to shared memory and from there to registers.
// RUN: %cute-opt --tile-select-atoms --tile-assign-layouts --tile-stage-operands %s -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: %cute-opt %t.mlir -o /dev/null

!by_rows = !cute.memref<bf16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">
!by_columns = !cute.memref<bf16, gmem, align<16>, "(?{div=8},?):(1,?{i64 div=8})">
!odd = !cute.memref<bf16, gmem, align<2>, "(?,?):(?{i64},1)">
!pairs = !cute.memref<bf16, gmem, align<4>, "(?,?{div=2}):(?{i64 div=2},1)">
!f32_by_rows = !cute.memref<f32, gmem, align<16>, "(?,?{div=4}):(?{i64 div=4},1)">
!f32_by_columns = !cute.memref<f32, gmem, align<16>, "(?{div=4},?):(1,?{i64 div=4})">

gpu.module @kernels {
  // Rows in pieces of 16 bytes: cp.async, and ldmatrix as they lie. One wait for each operand that was begun.
  // CHECK-LABEL: gpu.func @rows
  // CHECK: %[[B:.*]] = cute.memref.alloc_smem() : {{.*}}"(64,32,1):(32,1,2048)"
  // CHECK: %[[A:.*]] = cute.memref.alloc_smem() : {{.*}}"(64,32,1):(1,64,2048)"
  // CHECK: scf.for
  // CHECK: tile.copy_async {{.*}}%[[B]][{{.*}}] {copy = !cute.tiled_copy<!cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>
  // CHECK: tile.copy_async {{.*}}%[[A]][{{.*}}] {copy = !cute.tiled_copy<!cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>
  // CHECK: tile.wait
  // CHECK: %[[X:.*]] = tile.read %[[B]][{{.*}}] [0, 0] {copy = !cute.tiled_copy<!cute_nvgpu.atom.ldsm<val_type = bf16, num_matrices = 4, n>
  // Columns in one piece: ldmatrix transposes.
  // CHECK: %[[Y:.*]] = tile.read %[[A]][{{.*}}] [0, 0] {copy = !cute.tiled_copy<!cute_nvgpu.atom.ldsm<val_type = bf16, num_matrices = 4, t>
  // CHECK: tile.dot %[[X]], %[[Y]]
  gpu.func @rows(%a: !by_rows, %b: !by_columns, %n: i32) {
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c = tile.splat %zero : f32 -> tensor<64x64xf32>
    %s = scf.for %t = %first to %n step %one iter_args(%acc = %c) -> (tensor<64x64xf32>) : i32 {
      %x = tile.load %a[%first, %t] : !by_rows, i32, i32 -> tensor<64x32xbf16>
      %y = tile.load %b[%first, %t] : !by_columns, i32, i32 -> tensor<64x32xbf16>
      %d = tile.dot %x, %y, %acc : tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    gpu.return
  }

  // Pieces of 4 bytes are copied as such. Single elements of 2 bytes are no piece for cp.async: they go
  // through registers, spread along memory.
  // CHECK-LABEL: gpu.func @narrow
  // CHECK: tile.copy_async {{.*}}simt_async_copy<bf16, cache = always, 32 b>
  // CHECK: %[[LOADED:.*]] = tile.load
  // CHECK: tile.write %[[LOADED]]
  // CHECK: tile.read
  // CHECK: tile.read
  gpu.func @narrow(%a: !pairs, %b: !odd, %i: i32) {
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> tensor<64x64xf32>
    %x = tile.load %a[%i, %i] : !pairs, i32, i32 -> tensor<64x32xbf16>
    %y = tile.load %b[%i, %i] : !odd, i32, i32 -> tensor<64x32xbf16>
    %d = tile.dot %x, %y, %c : tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    gpu.return
  }

  // From an offset on along memory, pieces as long as what is known to divide it: eight elements, two, and one, which is
  // none for cp.async. Rows may begin anywhere.
  // CHECK-LABEL: gpu.func @offsets
  // CHECK: tile.copy_async {{.*}}{by_element = array<i64: 0, 1>, copy = {{.*}}simt_async_copy<bf16, cache = global, 128 b>
  // CHECK: tile.copy_async {{.*}}{by_element = array<i64: 1>, copy = {{.*}}simt_async_copy<bf16, cache = always, 32 b>
  // CHECK: tile.dot
  // CHECK: tile.copy_async {{.*}}{by_element = array<i64: 0>, copy = {{.*}}simt_async_copy<bf16, cache = global, 128 b>
  // CHECK: %[[LOADED:.*]] = tile.load {{.*}}{by_element = array<i64: 1>}
  // CHECK: tile.write %[[LOADED]]
  gpu.func @offsets(%a: !by_rows, %i: i32) {
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> tensor<64x64xf32>
    %eighth = cute.assume(%i) : (i32) -> !cute.int_tuple<"?{div=8}">
    %half = cute.static : !cute.int_tuple<"-2">
    %x = tile.load %a[%i, %eighth] {by_element = array<i64: 0, 1>} : !by_rows, i32, !cute.int_tuple<"?{div=8}"> -> tensor<64x32xbf16>
    %y = tile.load %a[%i, %half] {by_element = array<i64: 1>} : !by_rows, i32, !cute.int_tuple<"-2"> -> tensor<64x32xbf16>
    %d = tile.dot %x, %y, %c : tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    %u = tile.load %a[%i, %i] {by_element = array<i64: 0>} : !by_rows, i32, i32 -> tensor<64x32xbf16>
    %v = tile.load %a[%i, %i] {by_element = array<i64: 1>} : !by_rows, i32, i32 -> tensor<64x32xbf16>
    %e = tile.dot %u, %v, %d : tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    gpu.return
  }

  // Without tensor cores, columns lie in one piece: rows are transposed on their way, through registers.
  // CHECK-LABEL: gpu.func @simt
  // CHECK: cute.memref.alloc_smem() : {{.*}}"(128,8,1):(1,128,1024)"
  // CHECK: cute.memref.alloc_smem() : {{.*}}"(128,8,1):(1,128,1024)"
  // CHECK: tile.load
  // CHECK: tile.write
  // CHECK: tile.copy_async {{.*}}simt_async_copy<f32, cache = global, 128 b>
  // CHECK: tile.read %{{.*}}[%{{.*}}] [0, 0] :
  gpu.func @simt(%a: !f32_by_rows, %b: !f32_by_columns, %i: i32) {
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> tensor<128x128xf32>
    %x = tile.load %a[%i, %i] : !f32_by_rows, i32, i32 -> tensor<128x8xf32>
    %y = tile.load %b[%i, %i] : !f32_by_columns, i32, i32 -> tensor<128x8xf32>
    %d = tile.dot %x, %y, %c : tensor<128x8xf32>, tensor<128x8xf32>, tensor<128x128xf32> -> tensor<128x128xf32>
    gpu.return
  }

  // A load that is no operand stays; one with a fill of its own goes through registers; those outside of
  // the loop are brought to shared memory there, and read in it.
  // CHECK-LABEL: gpu.func @others
  // CHECK: tile.load {{.*}}fill
  // CHECK: tile.write
  // CHECK: tile.copy_async
  // CHECK: tile.wait
  // CHECK-NOT: tile.read
  // CHECK: scf.for
  // CHECK: %[[KEPT:.*]] = tile.load {{.*}} -> tensor<64x64xf32
  // CHECK-NEXT: %[[X:.*]] = tile.read
  // CHECK-NEXT: %[[Y:.*]] = tile.read
  // CHECK-NEXT: tile.dot %[[X]], %[[Y]], %[[KEPT]]
  gpu.func @others(%a: !by_rows, %b: !by_rows, %c: !f32_by_rows, %n: i32) {
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %x = tile.load %a[%first, %first] {fill = 1.0 : bf16} : !by_rows, i32, i32 -> tensor<64x32xbf16>
    %y = tile.load %b[%first, %first] : !by_rows, i32, i32 -> tensor<64x32xbf16>
    scf.for %t = %first to %n step %one : i32 {
      %z = tile.load %c[%t, %first] : !f32_by_rows, i32, i32 -> tensor<64x64xf32>
      %d = tile.dot %x, %y, %z : tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    }
    gpu.return
  }

  // What the loop does not change is written once, in front of it, whatever computes it.
  // CHECK-LABEL: gpu.func @invariant
  // CHECK: %[[SUM:.*]] = tile.map
  // CHECK: tile.write %[[SUM]], %[[BUFFER:.*]][
  // CHECK: scf.for
  // CHECK: %[[X:.*]] = tile.read %[[BUFFER]]
  // CHECK: tile.dot %[[X]],
  gpu.func @invariant(%a: !by_rows, %b: !by_rows, %n: i32) {
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %x = tile.load %a[%first, %first] : !by_rows, i32, i32 -> tensor<64x32xbf16>
    %y = tile.load %a[%one, %first] : !by_rows, i32, i32 -> tensor<64x32xbf16>
    %s = tile.map (%x, %y) {
    ^bb0(%p: bf16, %q: bf16):
      %r = arith.addf %p, %q : bf16
      tile.yield %r : bf16
    } : (tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16>
    %c = tile.splat %zero : f32 -> tensor<64x64xf32>
    %e = scf.for %t = %first to %n step %one iter_args(%acc = %c) -> (tensor<64x64xf32>) : i32 {
      %z = tile.load %b[%t, %first] : !by_rows, i32, i32 -> tensor<64x32xbf16>
      %d = tile.dot %s, %z, %acc : tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    gpu.return
  }

  // What is computed of a load, element by element, goes to the buffer computed.
  // CHECK-LABEL: gpu.func @computed
  // CHECK: %[[X:.*]] = tile.load {{.*}} -> tensor<64x32xf32
  // CHECK: %[[Y:.*]] = tile.map(%[[X]])
  // CHECK: tile.write %[[Y]], %[[BUFFER:.*]][
  // CHECK: %[[Z:.*]] = tile.read %[[BUFFER]][{{.*}} [0, 0] {copy = {{.*}}ldsm
  // CHECK-NOT: tile.convert_layout
  // CHECK: tile.dot %[[Z]],
  gpu.func @computed(%a: !f32_by_rows, %b: !by_rows, %i: i32) {
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> tensor<64x64xf32>
    %x = tile.load %a[%i, %i] : !f32_by_rows, i32, i32 -> tensor<64x32xf32>
    %y = tile.map(%x) {
    ^bb0(%e: f32):
      %h = arith.truncf %e : f32 to bf16
      tile.yield %h : bf16
    } : (tensor<64x32xf32>) -> tensor<64x32xbf16>
    %z = tile.load %b[%i, %i] : !by_rows, i32, i32 -> tensor<64x32xbf16>
    %d = tile.dot %y, %z, %c : tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    gpu.return
  }

  // Twins, one tile by its rows and from the turned view: one copy to one buffer, which is read as it lies and transposed.
  // CHECK-LABEL: gpu.func @twins
  // CHECK-COUNT-2: cute.memref.alloc_smem
  // CHECK-NOT: cute.memref.alloc_smem
  // CHECK: tile.copy_async %arg0
  // CHECK: tile.copy_async %arg1[{{.*}}], %[[T:.*]][%{{.*}}] {copy
  // CHECK: %[[ROWS:.*]] = tile.read %[[T]][%{{.*}}] [0, 0] {copy = {{.*}}num_matrices = 4, n>
  // CHECK: tile.dot %{{.*}}, %[[ROWS]],
  // CHECK: %[[COLUMNS:.*]] = tile.read %[[T]][%{{.*}}] [0, 0] {copy = {{.*}}num_matrices = 4, t>{{.*}} transposed}
  // CHECK: tile.dot %{{.*}}, %[[COLUMNS]],
  gpu.func @twins(%a: !by_rows, %x: !by_rows, %i: i32) {
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : i32
    %c = tile.splat %zero : f32 -> tensor<64x64xf32>
    %layout = cute.get_layout(%x) : (!by_rows) -> !cute.layout<"(?,?{div=8}):(?{i64 div=8},1)">
    %turned = cute.select<[1, 0]> (%layout) : !cute.layout<"(?,?{div=8}):(?{i64 div=8},1)"> -> !cute.layout<"(?{div=8},?):(1,?{i64 div=8})">
    %pointer = cute.get_iter(%x) : (!by_rows) -> !cute.ptr<bf16, gmem, align<16>>
    %view = cute.make_view(%pointer, %turned) : (!cute.ptr<bf16, gmem, align<16>>, !cute.layout<"(?{div=8},?):(1,?{i64 div=8})">) -> !by_columns
    %q = tile.load %a[%first, %first] : !by_rows, i32, i32 -> tensor<64x64xbf16>
    %v = tile.load %x[%i, %first] : !by_rows, i32, i32 -> tensor<64x64xbf16>
    %w = tile.load %view[%first, %i] : !by_columns, i32, i32 -> tensor<64x64xbf16>
    %d = tile.dot %q, %v, %c : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    %e = tile.dot %q, %w, %d : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    gpu.return
  }
}
