// What a kernel writes to a tensor and other threads read or overwrite is separated by a barrier; what each thread
// reads back of its own is not, and different tensors are not.
// RUN: %cute-opt --insert-barriers %s | FileCheck %s

!alone = tensor<32x32xf32, #tile.tv<"(32,32):(32,1)">>
!turned = tensor<32x32xf32, #tile.tv<"(32,32):(1,32)">>
!several = tensor<32x32xf32, #tile.tv<"((32,2),32):((1,0),32)">>
!column = tensor<32x1xf32, #tile.tv<"(32,1):(1,0)">>
!p = !cute.ptr<f32, gmem, align<16>>
!view = !cute.memref<f32, gmem, align<16>, "(?,?):(?{i64},1)">

gpu.module @kernels {
  // Each thread has its elements.
  // CHECK-LABEL: gpu.func @in_place
  // CHECK-NOT: barrier
  // CHECK: gpu.return
  gpu.func @in_place(%p: !p, %l: !cute.layout<"(?,?):(?{i64},1)">, %n: i32, %one: i32) {
    %y = cute.make_view(%p, %l) : (!p, !cute.layout<"(?,?):(?{i64},1)">) -> !view
    scf.for %k = %one to %n step %one : i32 {
      %a = tile.load %y[%one, %k] : !view, i32, i32 -> !alone
      tile.store %a, %y[%one, %k] : !alone, !view, i32, i32
    }
    gpu.return
  }

  // The tile before it, which the last iteration has written; of this iteration they are different ones.
  // CHECK-LABEL: gpu.func @neighbour
  // CHECK: arith.subi
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: tile.store
  // CHECK-NOT: barrier
  // CHECK: gpu.return
  gpu.func @neighbour(%p: !p, %l: !cute.layout<"(?,?):(?{i64},1)">, %n: i32) {
    %one = arith.constant 1 : i32
    %y = cute.make_view(%p, %l) : (!p, !cute.layout<"(?,?):(?{i64},1)">) -> !view
    scf.for %k = %one to %n step %one : i32 {
      %before = arith.subi %k, %one : i32
      %a = tile.load %y[%one, %before] : !view, i32, i32 -> !alone
      tile.store %a, %y[%one, %k] : !alone, !view, i32, i32
    }
    gpu.return
  }

  // Tiles of a launch may be other blocks', and nothing orders those. Within a tile there is an order.
  // CHECK-LABEL: gpu.func @of_launch
  // CHECK: scf.for
  // CHECK-NEXT: arith.muli
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.load
  // CHECK-NOT: tile.of_launch
  // CHECK: gpu.return
  gpu.func @of_launch(%p: !p, %l: !cute.layout<"(?,?):(?{i64},1)">, %x: !alone, %n: i32, %one: i32) {
    %y = cute.make_view(%p, %l) : (!p, !cute.layout<"(?,?):(?{i64},1)">) -> !view
    scf.for %tile = %one to %n step %one : i32 {
      %k = arith.muli %tile, %tile : i32
      tile.store %x, %y[%k, %k] : !alone, !view, i32, i32
      %a = tile.load %y[%k, %k] : !view, i32, i32 -> !turned
    } {tile.of_launch}
    gpu.return
  }

  // Other threads hold the elements when they are read.
  // CHECK-LABEL: gpu.func @transposed
  // CHECK: tile.store
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.load
  gpu.func @transposed(%x: !alone, %p: !p, %l: !cute.layout<"(?,?):(?{i64},1)">, %i: i32) {
    %y = cute.make_view(%p, %l) : (!p, !cute.layout<"(?,?):(?{i64},1)">) -> !view
    tile.store %x, %y[%i, %i] : !alone, !view, i32, i32
    %a = tile.load %y[%i, %i] : !view, i32, i32 -> !turned
    gpu.return
  }

  // A function of elements reads where each of them says: threads differ in its branches, so that the barrier stands in front of it.
  // CHECK-LABEL: gpu.func @gathered
  // CHECK: tile.store
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.map
  // CHECK-NOT: barrier
  // CHECK: gpu.return
  gpu.func @gathered(%x: !alone, %rows: tensor<32x32xi32, #tile.tv<"(32,32):(32,1)">>, %p: !p, %l: !cute.layout<"(?,?):(?{i64},1)">, %i: i32) {
    %y = cute.make_view(%p, %l) : (!p, !cute.layout<"(?,?):(?{i64},1)">) -> !view
    tile.store %x, %y[%i, %i] : !alone, !view, i32, i32
    %a = tile.map(%rows) {
    ^bb0(%row: i32):
      %inside = arith.cmpi ult, %row, %i : i32
      %element = scf.if %inside -> (f32) {
        %at = cute.make_int_tuple(%row, %i) : (i32, i32) -> !cute.int_tuple<"(?,?)">
        %read = cute.memref.load(%y, %at) : (!view, !cute.int_tuple<"(?,?)">) -> f32
        scf.yield %read : f32
      } else {
        %zero = arith.constant 0.0 : f32
        scf.yield %zero : f32
      }
      tile.yield %element : f32
    } : (tensor<32x32xi32, #tile.tv<"(32,32):(32,1)">>) -> !alone
    gpu.return
  }

  // Of several threads that read an element one writes it.
  // CHECK-LABEL: gpu.func @replicated
  // CHECK: tile.load
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tile.store
  // CHECK-NOT: barrier
  // CHECK: gpu.return
  gpu.func @replicated(%p: !p, %l: !cute.layout<"(?,?):(?{i64},1)">, %i: i32) {
    %y = cute.make_view(%p, %l) : (!p, !cute.layout<"(?,?):(?{i64},1)">) -> !view
    %a = tile.load %y[%i, %i] : !view, i32, i32 -> !several
    tile.store %a, %y[%i, %i] : !several, !view, i32, i32
    tile.store %a, %y[%i, %i] : !several, !view, i32, i32
    gpu.return
  }

  // Tiles of other extents, and at offsets, may overlap.
  // CHECK-LABEL: gpu.func @overlapping
  // CHECK: tile.store
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.store
  // CHECK: gpu.return
  gpu.func @overlapping(%x: !alone, %p: !p, %l: !cute.layout<"(?,?):(?{i64},1)">, %i: i32, %j: i32) {
    %y = cute.make_view(%p, %l) : (!p, !cute.layout<"(?,?):(?{i64},1)">) -> !view
    tile.store %x, %y[%i, %i] : !alone, !view, i32, i32
    %c = tile.load %y[%i, %j] : !view, i32, i32 -> !column
    tile.store %x, %y[%i, %j] {by_element = array<i64: 1>} : !alone, !view, i32, i32
    gpu.return
  }

  // At an offset that the loop changes, tiles of two iterations overlap.
  // CHECK-LABEL: gpu.func @sliding
  // CHECK: scf.for
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: tile.store
  gpu.func @sliding(%p: !p, %l: !cute.layout<"(?,?):(?{i64},1)">, %n: i32, %one: i32) {
    %y = cute.make_view(%p, %l) : (!p, !cute.layout<"(?,?):(?{i64},1)">) -> !view
    scf.for %k = %one to %n step %one : i32 {
      %a = tile.load %y[%one, %k] {by_element = array<i64: 1>} : !view, i32, i32 -> !alone
      tile.store %a, %y[%one, %k] {by_element = array<i64: 1>} : !alone, !view, i32, i32
    }
    gpu.return
  }

  // Updates in any order give the same, but not what reads them.
  // CHECK-LABEL: gpu.func @atomic
  // CHECK: tile.store
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.load
  gpu.func @atomic(%x: !alone, %p: !p, %l: !cute.layout<"(?,?):(?{i64},1)">, %i: i32) {
    %y = cute.make_view(%p, %l) : (!p, !cute.layout<"(?,?):(?{i64},1)">) -> !view
    tile.store %x, %y[%i, %i] {atomic = "add"} : !alone, !view, i32, i32
    tile.store %x, %y[%i, %i] {atomic = "add"} : !alone, !view, i32, i32
    %a = tile.load %y[%i, %i] : !view, i32, i32 -> !turned
    gpu.return
  }

  // Arguments do not overlap.
  // CHECK-LABEL: gpu.func @two
  // CHECK-NOT: barrier
  // CHECK: gpu.return
  gpu.func @two(%x: !alone, %p: !p, %q: !p, %l: !cute.layout<"(?,?):(?{i64},1)">, %i: i32) {
    %y = cute.make_view(%p, %l) : (!p, !cute.layout<"(?,?):(?{i64},1)">) -> !view
    %z = cute.make_view(%q, %l) : (!p, !cute.layout<"(?,?):(?{i64},1)">) -> !view
    tile.store %x, %y[%i, %i] : !alone, !view, i32, i32
    %a = tile.load %z[%i, %i] : !view, i32, i32 -> !turned
    gpu.return
  }

  // An element is read by all threads.
  // CHECK-LABEL: gpu.func @element
  // CHECK: nvvm.barrier0
  // CHECK-NEXT: cute.memref.load
  gpu.func @element(%x: !alone, %p: !p, %l: !cute.layout<"(?,?):(?{i64},1)">, %i: i32) {
    %y = cute.make_view(%p, %l) : (!p, !cute.layout<"(?,?):(?{i64},1)">) -> !view
    tile.store %x, %y[%i, %i] : !alone, !view, i32, i32
    %c = cute.static : !cute.coord<"(0,0)">
    %a = cute.memref.load(%y, %c) : (!view, !cute.coord<"(0,0)">) -> f32
    gpu.return
  }
}
