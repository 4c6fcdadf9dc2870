// Branches that only compute integers become selects; what reads, divides or gives tiles stays a branch.
// RUN: %cute-opt --tile-speculate %s | FileCheck %s

!view = !cute.memref<f32, gmem, align<16>, "(?,1024):(1024,1)">

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @nested
  // CHECK-NOT: scf.if
  // CHECK: %[[NEXT:.*]] = arith.addi
  // CHECK: %[[INNER:.*]] = arith.select %{{.*}}, %[[NEXT]], %{{.*}} : i32
  // CHECK: %[[ROW:.*]] = arith.select %{{.*}}, %{{.*}}, %[[INNER]] : i32
  // CHECK: tile.load %{{.*}}[%[[ROW]], %{{.*}}]
  gpu.func @nested(%x: !view, %y: !view, %m: i32, %c: i1, %d: i1) {
    tile.grid %m
    %i = tile.index 0
    %0 = arith.constant 0 : i32
    %1 = arith.constant 1 : i32
    %row = scf.if %c -> (i32) {
      scf.yield %i : i32
    } else {
      %inner = scf.if %d -> (i32) {
        %next = arith.addi %i, %1 : i32
        scf.yield %next : i32
      } else {
        scf.yield %0 : i32
      }
      scf.yield %inner : i32
    }
    %a = tile.load %x[%row, %0] : !view, i32, i32 -> tensor<1x1024xf32>
    tile.store %a, %y[%i, %0] : tensor<1x1024xf32>, !view, i32, i32
    gpu.return
  }

  // CHECK-LABEL: gpu.func @kept
  // CHECK: scf.if
  // CHECK: arith.divsi
  // CHECK: scf.if
  // CHECK: tile.load
  gpu.func @kept(%x: !view, %y: !view, %m: i32, %c: i1) {
    tile.grid %m
    %i = tile.index 0
    %0 = arith.constant 0 : i32
    %row = scf.if %c -> (i32) {
      %q = arith.divsi %i, %m : i32
      scf.yield %q : i32
    } else {
      scf.yield %0 : i32
    }
    %a = scf.if %c -> (tensor<1x1024xf32>) {
      %b = tile.load %x[%row, %0] : !view, i32, i32 -> tensor<1x1024xf32>
      scf.yield %b : tensor<1x1024xf32>
    } else {
      %z = arith.constant 0.0 : f32
      %b = tile.splat %z : f32 -> tensor<1x1024xf32>
      scf.yield %b : tensor<1x1024xf32>
    }
    tile.store %a, %y[%i, %0] : tensor<1x1024xf32>, !view, i32, i32
    gpu.return
  }
}
