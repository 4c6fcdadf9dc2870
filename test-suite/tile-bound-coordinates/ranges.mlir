// A coordinate that may be negative, or whose elements leave 32 bits, is at most the first tile behind the end. Those
// of which the launch, the loop or arithmetic says that they are not stay as they are.
// RUN: %cute-opt --tile-bound-coordinates %s | FileCheck %s

!v = !cute.memref<f32, gmem, align<4>, "(?):(1)">
!v40 = !cute.memref<f32, gmem, align<4>, "(40):(1)">
!t = tensor<16xf32>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @argument
  // CHECK-DAG: %[[SIZE:.*]] = cute.get_scalar
  // CHECK: %[[WHOLE:.*]] = arith.divui %[[SIZE]]
  // CHECK: %[[END:.*]] = arith.addi %[[WHOLE]]
  // CHECK: %[[AT:.*]] = arith.minui %{{.*}}, %[[END]] {tile.bound = 16 : i64} : i32
  // CHECK-NEXT: tile.load %{{.*}}[%[[AT]]]
  gpu.func @argument(%p: !cute.ptr<f32, gmem, align<4>>, %n: i32, %i: i32) {
    %s = cute.make_shape(%n) : (i32) -> !cute.shape<"(?)">
    %l = cute.make_layout(%s) : (!cute.shape<"(?)">) -> !cute.layout<"(?):(1)">
    %v = cute.make_view(%p, %l) : (!cute.ptr<f32, gmem, align<4>>, !cute.layout<"(?):(1)">) -> !v
    %a = tile.load %v[%i] : !v, i32 -> !t
    gpu.return
  }

  // Of a static extent the end is a constant: 40 / 16 tiles, and one more.
  // CHECK-LABEL: gpu.func @static
  // CHECK: %[[END:.*]] = arith.constant 3 : i64
  // CHECK: %[[AT:.*]] = arith.minui %{{.*}}, %[[END]] {tile.bound = 16 : i64} : i64
  // CHECK: tile.store %{{.*}}, %{{.*}}[%[[AT]]]
  gpu.func @static(%v: !v40, %x: !t, %i: i64) {
    tile.store %x, %v[%i] : !t, !v40, i64
    gpu.return
  }

  // The launch has at most 2^31 / 16 tiles; one less may be negative.
  // CHECK-LABEL: gpu.func @launch
  // CHECK: %[[I:.*]] = tile.index 0
  // CHECK-NEXT: tile.load %{{.*}}[%[[I]]]
  // CHECK: arith.minui
  // CHECK-NEXT: tile.load
  gpu.func @launch(%v: !v40, %m: i32) {
    %one = arith.constant 1 : i32
    %length = arith.constant 16 : i32
    %count = arith.ceildivsi %m, %length : i32
    tile.grid %count
    %i = tile.index 0
    %a = tile.load %v[%i] : !v40, i32 -> !t
    %before = arith.subi %i, %one : i32
    %b = tile.load %v[%before] : !v40, i32 -> !t
    gpu.return
  }

  // A loop over the tiles of an extent; one to any number; one that begins anywhere.
  // CHECK-LABEL: gpu.func @loops
  // CHECK: scf.for
  // CHECK-NEXT: tile.load
  // CHECK: scf.for
  // CHECK: arith.minui
  // CHECK-NEXT: tile.load
  // CHECK: scf.for
  // CHECK: arith.minui
  // CHECK-NEXT: tile.load
  gpu.func @loops(%v: !v40, %m: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %length = arith.constant 16 : i32
    %count = arith.ceildivsi %m, %length : i32
    scf.for %i = %zero to %count step %one : i32 {
      %a = tile.load %v[%i] : !v40, i32 -> !t
    }
    scf.for %i = %zero to %m step %one : i32 {
      %a = tile.load %v[%i] : !v40, i32 -> !t
    }
    scf.for %i = %m to %count step %one : i32 {
      %a = tile.load %v[%i] : !v40, i32 -> !t
    }
    gpu.return
  }

  // Elements may be negative as they are.
  // CHECK-LABEL: gpu.func @offset
  // CHECK-NOT: minui
  // CHECK: gpu.return
  gpu.func @offset(%v: !v40, %i: i32) {
    %a = tile.load %v[%i] {by_element = array<i64: 0>} : !v40, i32 -> !t
    gpu.return
  }

  // The front end bounds those of which it numbers elements itself: the first is the index of a block, the second anything.
  // CHECK-LABEL: gpu.func @numbered
  // CHECK: %[[TILE:.*]] = tile.index
  // CHECK-NOT: arith.minui %[[TILE]]
  // CHECK: arith.muli %[[TILE]], %
  // CHECK: arith.minui %arg0, %{{.*}} {tile.bound = 16 : i64}
  gpu.func @numbered(%i: i32, %m: i32) {
    %length = arith.constant 16 : i32
    %count = arith.ceildivsi %m, %length : i32
    tile.grid %count
    %tile = tile.index 0
    %a = arith.minui %tile, %count {tile.bound = 16 : i64} : i32
    %first = arith.muli %a, %length : i32
    %b = arith.minui %i, %count {tile.bound = 16 : i64} : i32
    %other = arith.muli %b, %length : i32
    %sum = arith.addi %first, %other : i32
    gpu.return
  }
}
