// Loads of a variable are what was stored last, where that is known; a branch that only computes what it stores is a select.
// RUN: %cute-opt --tile-forward-variables %s | FileCheck %s

!view = !cute.memref<f32, gmem, align<16>, "(?,1024):(1024,1)">
!slot = !cute.memref<i32, rmem, align<16>, "1:0">

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @straight
  // CHECK-NOT: cute.memref.
  // CHECK: %[[NEXT:.*]] = arith.addi %[[I:.*]], %
  // CHECK: %[[ROW:.*]] = arith.select %{{.*}}, %[[NEXT]], %[[I]] : i32
  // CHECK: tile.load %{{.*}}[%[[ROW]], %
  // CHECK-NOT: cute.memref.
  // CHECK: gpu.return
  gpu.func @straight(%x: !view, %y: !view, %m: i32, %c: i1) {
    %row = cute.memref.alloca() : () -> !slot
    tile.grid %m
    %i = tile.index 0
    %0 = arith.constant 0 : i32
    %1 = arith.constant 1 : i32
    %at = cute.static : !cute.int_tuple<"0">
    cute.memref.store(%i, %row, %at) : i32, !slot, !cute.int_tuple<"0">
    scf.if %c {
      %before = cute.memref.load(%row, %at) : (!slot, !cute.int_tuple<"0">) -> i32
      %next = arith.addi %before, %1 : i32
      cute.memref.store(%next, %row, %at) : i32, !slot, !cute.int_tuple<"0">
    }
    %held = cute.memref.load(%row, %at) : (!slot, !cute.int_tuple<"0">) -> i32
    %a = tile.load %x[%held, %0] : !view, i32, i32 -> tensor<1x1024xf32>
    tile.store %a, %y[%i, %0] : tensor<1x1024xf32>, !view, i32, i32
    gpu.return
  }

  // What a loop changes is loaded in it and behind it, and begins with what the branch in front of it chose.
  // CHECK-LABEL: gpu.func @changed
  // CHECK: %[[FIRST:.*]] = arith.select
  // CHECK: cute.memref.store(%[[FIRST]]
  // CHECK: scf.for
  // CHECK: %[[ROW:.*]] = cute.memref.load
  // CHECK: tile.load %{{.*}}[%[[ROW]], %
  // CHECK: %[[NEXT:.*]] = arith.addi %[[ROW]]
  // CHECK: cute.memref.store(%[[NEXT]]
  // CHECK: %[[LAST:.*]] = cute.memref.load
  // CHECK: tile.store %{{.*}}[%[[LAST]], %
  gpu.func @changed(%x: !view, %y: !view, %m: i32, %c: i1) {
    %row = cute.memref.alloca() : () -> !slot
    tile.grid %m
    %i = tile.index 0
    %0 = arith.constant 0 : i32
    %1 = arith.constant 1 : i32
    %at = cute.static : !cute.int_tuple<"0">
    cute.memref.store(%i, %row, %at) : i32, !slot, !cute.int_tuple<"0">
    scf.if %c {
      cute.memref.store(%1, %row, %at) : i32, !slot, !cute.int_tuple<"0">
    }
    scf.for %t = %0 to %m step %1 : i32 {
      %held = cute.memref.load(%row, %at) : (!slot, !cute.int_tuple<"0">) -> i32
      %a = tile.load %x[%held, %0] : !view, i32, i32 -> tensor<1x1024xf32>
      tile.store %a, %y[%t, %0] : tensor<1x1024xf32>, !view, i32, i32
      %again = cute.memref.load(%row, %at) : (!slot, !cute.int_tuple<"0">) -> i32
      %next = arith.addi %again, %1 : i32
      cute.memref.store(%next, %row, %at) : i32, !slot, !cute.int_tuple<"0">
    }
    %last = cute.memref.load(%row, %at) : (!slot, !cute.int_tuple<"0">) -> i32
    %b = tile.load %x[%0, %0] : !view, i32, i32 -> tensor<1x1024xf32>
    tile.store %b, %y[%last, %0] : tensor<1x1024xf32>, !view, i32, i32
    gpu.return
  }

  // A branch that divides stays, and behind it the variable is loaded.
  // CHECK-LABEL: gpu.func @divides
  // CHECK: scf.if
  // CHECK: arith.divsi
  // CHECK: cute.memref.store
  // CHECK: %[[ROW:.*]] = cute.memref.load
  // CHECK: tile.load %{{.*}}[%[[ROW]], %
  gpu.func @divides(%x: !view, %y: !view, %m: i32, %c: i1) {
    %row = cute.memref.alloca() : () -> !slot
    tile.grid %m
    %i = tile.index 0
    %0 = arith.constant 0 : i32
    %at = cute.static : !cute.int_tuple<"0">
    cute.memref.store(%i, %row, %at) : i32, !slot, !cute.int_tuple<"0">
    scf.if %c {
      %q = arith.divsi %i, %m : i32
      cute.memref.store(%q, %row, %at) : i32, !slot, !cute.int_tuple<"0">
    }
    %held = cute.memref.load(%row, %at) : (!slot, !cute.int_tuple<"0">) -> i32
    %a = tile.load %x[%held, %0] : !view, i32, i32 -> tensor<1x1024xf32>
    tile.store %a, %y[%i, %0] : tensor<1x1024xf32>, !view, i32, i32
    gpu.return
  }
}
