// Coordinates that may be negative are compared with both ends at once, as unsigned numbers; those that are known not
// to be have the end alone. An offset that may be negative keeps its sign on the way to an address.
// RUN: %cute-opt --convert-cute-to-gpu %s | FileCheck %s

!view = !cute.memref<f32, gmem, align<16>, "?:1">
!moved = !cute.memref<f32, gmem, align<4>, "?:1">
!coords = !cute.coord_tensor<"0", "?:1">
!moved_coords = !cute.coord_tensor<"?", "?:1">
!tile = !cute.memref<f32, gmem, align<4>, "(1,2):(0,16)">
!fragment = !cute.memref<f32, rmem, align<16>, "(1,2):(0,1)">
!atom = !cute_nvgpu.atom.universal_copy<f32, 32 b>

gpu.module @kernels {
  // An argument may be anything: two comparisons, each of both ends.
  // CHECK-LABEL: gpu.func @argument
  // CHECK-SAME: %[[N:[a-z0-9]+]]: i32, %[[O:[a-z0-9]+]]: i32
  // CHECK: arith.cmpi ult, %[[O]], %[[N]]
  // CHECK: llvm.sext %[[O]]
  // CHECK: %[[LAST:.*]] = arith.addi %[[O]], %{{.*}} : i32
  // CHECK: arith.cmpi ult, %[[LAST]], %[[N]]
  gpu.func @argument(%p: !cute.ptr<f32, gmem, align<16>>, %n: i32, %o: i32) kernel {
    %shape = cute.make_shape(%n) : (i32) -> !cute.shape<"?">
    %one = cute.static : !cute.stride<"1">
    %l = cute.make_layout(%shape, %one) : (!cute.shape<"?">, !cute.stride<"1">) -> !cute.layout<"?:1">
    %x = cute.make_view(%p, %l) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"?:1">) -> !view
    %c = cute.make_identity_tensor(%shape) : (!cute.shape<"?">) -> !coords
    %y = cute.domain_offset(%x, %o) : (!view, i32) -> !moved
    %d = cute.domain_offset(%c, %o) : (!coords, i32) -> !moved_coords
    %two = cute.static : !cute.layout<"(1,2):(0,16)">
    %part = cute.composition(%y, %two) : (!moved, !cute.layout<"(1,2):(0,16)">) -> !tile
    %at = cute.composition(%d, %two) : (!moved_coords, !cute.layout<"(1,2):(0,16)">) -> !cute.coord_tensor<"?", "(1,2):(0,16)">
    %r = cute.memref.alloca() : () -> !fragment
    %atom = cute.static : !atom
    cute.copy(%atom, %part, %r, %at, %shape) : !atom, !tile, !fragment, !cute.coord_tensor<"?", "(1,2):(0,16)">, !cute.shape<"?">
    gpu.return
  }

  // One before the number of the thread: the first element may be outside on that side, the second cannot.
  // CHECK-LABEL: gpu.func @halo
  // CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
  // CHECK: %[[AT:.*]] = arith.addi %[[TID]], %{{.*}} : i32
  // CHECK: arith.cmpi ult, %[[AT]]
  // CHECK-NOT: arith.cmpi ult
  // CHECK: arith.cmpi slt
  gpu.func @halo(%p: !cute.ptr<f32, gmem, align<16>>, %n: i32) kernel {
    %shape = cute.make_shape(%n) : (i32) -> !cute.shape<"?">
    %one = cute.static : !cute.stride<"1">
    %l = cute.make_layout(%shape, %one) : (!cute.shape<"?">, !cute.stride<"1">) -> !cute.layout<"?:1">
    %x = cute.make_view(%p, %l) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"?:1">) -> !view
    %c = cute.make_identity_tensor(%shape) : (!cute.shape<"?">) -> !coords
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %less = arith.constant 1 : i32
    %o = arith.subi %tid, %less : i32
    %y = cute.domain_offset(%x, %o) : (!view, i32) -> !moved
    %d = cute.domain_offset(%c, %o) : (!coords, i32) -> !moved_coords
    %two = cute.static : !cute.layout<"(1,2):(0,16)">
    %part = cute.composition(%y, %two) : (!moved, !cute.layout<"(1,2):(0,16)">) -> !tile
    %at = cute.composition(%d, %two) : (!moved_coords, !cute.layout<"(1,2):(0,16)">) -> !cute.coord_tensor<"?", "(1,2):(0,16)">
    %r = cute.memref.alloca() : () -> !fragment
    %atom = cute.static : !atom
    cute.copy(%atom, %part, %r, %at, %shape) : !atom, !tile, !fragment, !cute.coord_tensor<"?", "(1,2):(0,16)">, !cute.shape<"?">
    gpu.return
  }

  // From a row of a group of tiles, counted with numbers of which nothing is known but that they are no dividends,
  // from a loop, and from the smaller of two: never negative.
  // CHECK-LABEL: gpu.func @proved
  // CHECK-NOT: arith.cmpi ult
  // CHECK-NOT: llvm.sext
  // CHECK: gpu.return
  gpu.func @proved(%p: !cute.ptr<f32, gmem, align<16>>, %n: i32, %rows: i32) kernel {
    %shape = cute.make_shape(%n) : (i32) -> !cute.shape<"?">
    %one = cute.static : !cute.stride<"1">
    %l = cute.make_layout(%shape, %one) : (!cute.shape<"?">, !cute.stride<"1">) -> !cute.layout<"?:1">
    %x = cute.make_view(%p, %l) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"?:1">) -> !view
    %c = cute.make_identity_tensor(%shape) : (!cute.shape<"?">) -> !coords
    %block = nvvm.read.ptx.sreg.ctaid.x : i32
    %width = arith.constant 8 : i32
    %some = arith.subi %rows, %block : i32
    %height = arith.minui %some, %width : i32
    %inside = arith.remui %block, %height : i32
    %group = arith.divui %block, %rows : i32
    %row = arith.addi %group, %inside : i32
    %zero = arith.constant 0 : i32
    %step = arith.constant 1 : i32
    scf.for %k = %zero to %rows step %step : i32 {
      %m = arith.muli %row, %width : i32
      %o = arith.addi %m, %k : i32
      %y = cute.domain_offset(%x, %o) : (!view, i32) -> !moved
      %d = cute.domain_offset(%c, %o) : (!coords, i32) -> !moved_coords
      %two = cute.static : !cute.layout<"(1,2):(0,16)">
      %part = cute.composition(%y, %two) : (!moved, !cute.layout<"(1,2):(0,16)">) -> !tile
      %at = cute.composition(%d, %two) : (!moved_coords, !cute.layout<"(1,2):(0,16)">) -> !cute.coord_tensor<"?", "(1,2):(0,16)">
      %r = cute.memref.alloca() : () -> !fragment
      %atom = cute.static : !atom
      cute.copy(%atom, %part, %r, %at, %shape) : !atom, !tile, !fragment, !cute.coord_tensor<"?", "(1,2):(0,16)">, !cute.shape<"?">
    }
    gpu.return
  }
}
