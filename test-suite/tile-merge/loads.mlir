// Equal loads are one, unless something is written in between.
// RUN: %cute-opt --tile-raster --tile-merge %s | FileCheck %s

!view = !cute.memref<f32, gmem, align<16>, "(?,1000):(1000,1)">

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @twice
  // CHECK: %[[X:.*]] = tile.load
  // CHECK-NOT: tile.load
  // CHECK: tile.map(%[[X]], %[[X]])
  gpu.func @twice(%x: !view, %y: !view, %m: i32) {
    tile.grid %m
    %i = tile.index 0
    %0 = arith.constant 0 : i32
    %a = tile.load %x[%i, %0] : !view, i32, i32 -> tensor<4x1024xf32>
    %j = tile.index 0
    %1 = arith.constant 0 : i32
    %b = tile.load %x[%j, %1] : !view, i32, i32 -> tensor<4x1024xf32>
    %c = tile.map(%a, %b) {
    ^bb0(%p: f32, %q: f32):
      %s = arith.mulf %p, %q : f32
      tile.yield %s : f32
    } : (tensor<4x1024xf32>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    tile.store %c, %y[%i, %0] : tensor<4x1024xf32>, !view, i32, i32
    gpu.return
  }

  // CHECK-LABEL: gpu.func @written
  // CHECK: tile.load
  // CHECK: tile.store
  // CHECK: tile.load
  // CHECK: tile.store
  gpu.func @written(%x: !view, %y: !view, %i: i32) {
    %a = tile.load %x[%i, %i] : !view, i32, i32 -> tensor<4x1024xf32>
    tile.store %a, %y[%i, %i] : tensor<4x1024xf32>, !view, i32, i32
    %b = tile.load %x[%i, %i] : !view, i32, i32 -> tensor<4x1024xf32>
    tile.store %b, %x[%i, %i] : tensor<4x1024xf32>, !view, i32, i32
    gpu.return
  }

  // What lies outside is another number.
  // CHECK-LABEL: gpu.func @filled
  // CHECK-COUNT-2: tile.load
  gpu.func @filled(%x: !view, %y: !view, %i: i32) {
    %a = tile.load %x[%i, %i] : !view, i32, i32 -> tensor<4x1024xf32>
    %b = tile.load %x[%i, %i] {fill = 1.0 : f32} : !view, i32, i32 -> tensor<4x1024xf32>
    tile.store %a, %y[%i, %i] : tensor<4x1024xf32>, !view, i32, i32
    tile.store %b, %y[%i, %i] : tensor<4x1024xf32>, !view, i32, i32
    gpu.return
  }

  // What nothing takes is gone, and what it alone takes.
  // CHECK-LABEL: gpu.func @dead
  // CHECK-NEXT: %[[A:.*]] = tile.load
  // CHECK-NEXT: tile.store %[[A]]
  // CHECK-NEXT: gpu.return
  gpu.func @dead(%x: !view, %y: !view, %i: i32, %n: i32) {
    %one = arith.constant 1 : i32
    %a = tile.load %x[%i, %i] : !view, i32, i32 -> tensor<4x1024xf32>
    %b = tile.load %y[%i, %i] : !view, i32, i32 -> tensor<4x1024xf32>
    %c = tile.map (%a, %b) {
    ^bb0(%p: f32, %q: f32):
      %s = arith.addf %p, %q : f32
      tile.yield %s : f32
    } : (tensor<4x1024xf32>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    %sums = tile.reduce "add" %c 1 : tensor<4x1024xf32> -> tensor<4x1xf32>
    scf.for %t = %i to %n step %one : i32 {
      %d = tile.load %x[%t, %i] : !view, i32, i32 -> tensor<4x1024xf32>
    }
    tile.store %a, %y[%i, %i] : tensor<4x1024xf32>, !view, i32, i32
    gpu.return
  }

  // A call of an intrinsic computes, and does nothing else.
  // CHECK-LABEL: gpu.func @intrinsics
  // CHECK: %[[X:.*]] = tile.load
  // CHECK: %[[ROOT:.*]] = tile.map(%[[X]])
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: llvm.nvvm.rsqrt.approx.f
  // CHECK-NOT: rsqrt
  // CHECK: tile.map(%[[ROOT]], %[[ROOT]])
  gpu.func @intrinsics(%x: !view, %y: !view, %m: i32) {
    tile.grid %m
    %i = tile.index 0
    %0 = arith.constant 0 : i32
    %a = tile.load %x[%i, %0] : !view, i32, i32 -> tensor<4x1024xf32>
    %b = tile.map(%a) {
    ^bb0(%p: f32):
      %s = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"(%p) : (f32) -> f32
      tile.yield %s : f32
    } : (tensor<4x1024xf32>) -> tensor<4x1024xf32>
    %c = tile.map(%a) {
    ^bb0(%p: f32):
      %s = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"(%p) : (f32) -> f32
      tile.yield %s : f32
    } : (tensor<4x1024xf32>) -> tensor<4x1024xf32>
    // What nothing takes is not computed.
    %d = tile.map(%a) {
    ^bb0(%p: f32):
      %s = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"(%p) : (f32) -> f32
      %r = arith.addf %s, %s : f32
      tile.yield %r : f32
    } : (tensor<4x1024xf32>) -> tensor<4x1024xf32>
    %e = tile.map(%b, %c) {
    ^bb0(%p: f32, %q: f32):
      %s = arith.mulf %p, %q : f32
      tile.yield %s : f32
    } : (tensor<4x1024xf32>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    tile.store %e, %y[%i, %0] : tensor<4x1024xf32>, !view, i32, i32
    gpu.return
  }
}
