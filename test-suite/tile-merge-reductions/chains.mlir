// A chain of reductions along axes with nothing but extents of 1 between them is one along all of them, of a tile in which they are one axis.
// RUN: %cute-opt --tile-merge-reductions %s | FileCheck %s

!t = tensor<64x64xi32, #tile.tv<"((16,8),(4,8)):((256,1),(64,8))">>
!columns = tensor<1x64xi32, #tile.tv<"((16,8),(4)):((4,0),(1))">>
!one = tensor<1x1xi32, #tile.tv<"((16,8),1):((0,0),0)">>
!ft = tensor<64x64xf32, #tile.tv<"((16,8),(4,8)):((256,1),(64,8))">>
!fcolumns = tensor<1x64xf32, #tile.tv<"((16,8),(4)):((4,0),(1))">>
!fone = tensor<1x1xf32, #tile.tv<"((16,8),1):((0,0),0)">>
!deep = tensor<8x1x4x16xf32, #tile.tv<"((4,8,4),(4)):((128,1,8),(32))">>
!deep0 = tensor<1x1x4x16xf32, #tile.tv<"((4,8,4),(4)):((16,0,1),(4))">>
!deep02 = tensor<1x1x1x16xf32, #tile.tv<"((4,8,4),(4)):((4,0,0),(1))">>
!long = tensor<8x128xi32, #tile.tv<"((128),(8)):((8),(1))">>
!long0 = tensor<1x128xi32, #tile.tv<"((128),1):((1),0)">>
!long01 = tensor<1x1xi32, #tile.tv<"((128),1):((0),0)">>
!deep03 = tensor<1x1x4x1xf32, #tile.tv<"((4,8,4),1):((0,0,1),0)">>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @all
  // CHECK: %[[FLAT:.*]] = tile.reshape %{{.*}} : tensor<64x64xi32, {{.*}}> -> tensor<4096xi32, {{.*}}>
  // CHECK: %[[SUM:.*]] = tile.reduce "add" %[[FLAT]] 0 : tensor<4096xi32, {{.*}}> -> tensor<1xi32, {{.*}}>
  // CHECK: %[[ONE:.*]] = tile.reshape %[[SUM]] : tensor<1xi32, {{.*}}> -> tensor<1x1xi32, #tile.tv<"((16,8),1):((0,0),0)">>
  // CHECK: tile.extract %[[ONE]]
  // CHECK-NOT: tile.reduce
  gpu.func @all(%x: i32) {
    %t = tile.splat %x : i32 -> !t
    %1 = tile.reduce "add" %t 0 : !t -> !columns
    %2 = tile.reduce "add" %1 1 : !columns -> !one
    %3 = tile.extract %2 : !one -> i32
    gpu.return
  }

  // Tuples by a function.
  // CHECK-LABEL: gpu.func @largest
  // CHECK: tile.fold(%{{.*}}, %{{.*}}) {
  // CHECK: {axis = 0 : i32} : (tensor<4096xf32, {{.*}}>, tensor<4096xi32, {{.*}}>) -> (tensor<1xf32, {{.*}}>, tensor<1xi32, {{.*}}>)
  // CHECK-NOT: tile.fold
  gpu.func @largest(%x: f32, %y: i32) {
    %t = tile.splat %x : f32 -> !ft
    %p = tile.splat %y : i32 -> !t
    %1:2 = tile.fold(%t, %p) {
    ^bb0(%a: f32, %i: i32, %b: f32, %j: i32):
      %first = arith.cmpf ogt, %a, %b : f32
      %v = arith.select %first, %a, %b : f32
      %at = arith.select %first, %i, %j : i32
      tile.yield %v, %at : f32, i32
    } {axis = 0 : i32} : (!ft, !t) -> (!fcolumns, !columns)
    %2:2 = tile.fold(%1#0, %1#1) {
    ^bb0(%a: f32, %i: i32, %b: f32, %j: i32):
      %first = arith.cmpf ogt, %a, %b : f32
      %v = arith.select %first, %a, %b : f32
      %at = arith.select %first, %i, %j : i32
      tile.yield %v, %at : f32, i32
    } {axis = 1 : i32} : (!fcolumns, !columns) -> (!fone, !one)
    %3 = tile.extract %2#0 : !fone -> f32
    %4 = tile.extract %2#1 : !one -> i32
    gpu.return
  }

  // Axes 0 and 2, with one of extent 1 between them; the last axis stays.
  // CHECK-LABEL: gpu.func @first_axes
  // CHECK: tile.reshape %{{.*}} : tensor<8x1x4x16xf32, {{.*}}> -> tensor<32x16xf32, {{.*}}>
  // CHECK: tile.reduce "max" %{{.*}} 0 : tensor<32x16xf32, {{.*}}> -> tensor<1x16xf32, {{.*}}>
  // CHECK: tile.reshape %{{.*}} -> tensor<1x1x1x16xf32, {{.*}}>
  gpu.func @first_axes(%x: f32) {
    %t = tile.splat %x : f32 -> !deep
    %1 = tile.reduce "max" %t 0 : !deep -> !deep0
    %2 = tile.reduce "max" %1 2 : !deep0 -> !deep02
    gpu.return
  }

  // Between axes 0 and 3 there is another one; the first reduction is looked at; another operator; a thread has all of what is reduced first.
  // CHECK-LABEL: gpu.func @stay
  // CHECK-NOT: tile.reshape
  // CHECK: gpu.return
  gpu.func @stay(%x: f32, %y: i32) {
    %d = tile.splat %x : f32 -> !deep
    %1 = tile.reduce "max" %d 0 : !deep -> !deep0
    %2 = tile.reduce "max" %1 3 : !deep0 -> !deep03
    %t = tile.splat %y : i32 -> !t
    %3 = tile.reduce "add" %t 0 : !t -> !columns
    %4 = tile.reduce "add" %3 1 : !columns -> !one
    %5 = tile.reduce "max" %3 1 : !columns -> !one
    %6 = tile.reduce "add" %t 0 : !t -> !columns
    %7 = tile.reduce "max" %6 1 : !columns -> !one
    %l = tile.splat %y : i32 -> !long
    %8 = tile.reduce "add" %l 0 : !long -> !long0
    %9 = tile.reduce "add" %8 1 : !long0 -> !long01
    gpu.return
  }
}
