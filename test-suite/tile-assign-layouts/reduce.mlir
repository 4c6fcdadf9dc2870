// What a reduction leaves follows from what it takes; what is repeated from what it is repeated to.
// RUN: %cute-opt --tile-assign-layouts %s | FileCheck %s

!rows = !cute.memref<f32, gmem, align<16>, "(?,?{div=4}):(?{i64 div=4},1)">
!bias = !cute.memref<f32, gmem, align<16>, "?{div=4}:1">

gpu.module @kernels {
  // Four threads a row hold the row's sum, all the same.
  // CHECK-LABEL: gpu.func @sums
  // CHECK: tile.load {{.*}} -> tensor<32x16xf32, #tile.tv<"((4,32),(4)):((128,1),(32))">>
  // CHECK: tile.reduce "add" {{.*}} -> tensor<32x1xf32, #tile.tv<"((4,32),1):((0,1),0)">>
  // CHECK: tile.broadcast {{.*}} tensor<32x1xf32, #tile.tv<"((4,32),1):((0,1),0)">> -> tensor<32x16xf32, #tile.tv<"((4,32),(4)):((128,1),(32))">>
  // CHECK-NOT: convert_layout
  gpu.func @sums(%x: !rows, %i: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<32x16xf32>
    %sum = tile.reduce "add" %a 1 : tensor<32x16xf32> -> tensor<32x1xf32>
    %all = tile.broadcast %sum : tensor<32x1xf32> -> tensor<32x16xf32>
    %b = tile.map (%a, %all) {
    ^bb0(%e: f32, %s: f32):
      %d = arith.divf %e, %s : f32
      tile.yield %d : f32
    } : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<32x16xf32>
    tile.store %b, %x[%i, %i] : tensor<32x16xf32>, !rows, i32, i32
    gpu.return
  }

  // A bias is loaded as the rows that it is added to are spread, by all threads of a column the same.
  // CHECK-LABEL: gpu.func @bias
  // CHECK: tile.load {{.*}} -> tensor<16xf32, #tile.tv<"((4,32),(4)):((4,0),(1))">>
  // CHECK: tile.reshape {{.*}} -> tensor<1x16xf32, #tile.tv<"((4,32),(4)):((4,0),(1))">>
  // CHECK-NOT: convert_layout
  gpu.func @bias(%x: !rows, %bias: !bias, %i: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<32x16xf32>
    %b = tile.load %bias[%i] : !bias, i32 -> tensor<16xf32>
    %row = tile.reshape %b : tensor<16xf32> -> tensor<1x16xf32>
    %all = tile.broadcast %row : tensor<1x16xf32> -> tensor<32x16xf32>
    %c = tile.map (%a, %all) {
    ^bb0(%e: f32, %s: f32):
      %d = arith.addf %e, %s : f32
      tile.yield %d : f32
    } : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<32x16xf32>
    tile.store %c, %x[%i, %i] : tensor<32x16xf32>, !rows, i32, i32
    gpu.return
  }

  // Sums of columns, repeated along rows of another tile: one of the two has to be spread anew.
  // CHECK-LABEL: gpu.func @crossed
  // CHECK: %[[SUM:.*]] = tile.reduce "add" {{.*}} -> tensor<16x1xf32, #tile.tv<[[GIVEN:.*]]>>
  // CHECK: %[[NEW:.*]] = tile.convert_layout %[[SUM]] : tensor<16x1xf32, #tile.tv<[[GIVEN]]>> -> tensor<16x1xf32, #tile.tv<"((4,32),(4)):((4,0),(1))">>
  // CHECK: tile.reshape %[[NEW]]
  // CHECK: tile.broadcast {{.*}} : tensor<1x16xf32, #tile.tv<"((4,32),(4)):((4,0),(1))">>
  gpu.func @crossed(%x: !rows, %y: !rows, %i: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<32x16xf32>
    %z = tile.load %y[%i, %i] : !rows, i32, i32 -> tensor<16x16xf32>
    %sum = tile.reduce "add" %z 1 : tensor<16x16xf32> -> tensor<16x1xf32>
    %flat = tile.reshape %sum : tensor<16x1xf32> -> tensor<1x16xf32>
    %all = tile.broadcast %flat : tensor<1x16xf32> -> tensor<32x16xf32>
    %c = tile.map (%a, %all) {
    ^bb0(%e: f32, %s: f32):
      %d = arith.addf %e, %s : f32
      tile.yield %d : f32
    } : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<32x16xf32>
    tile.store %c, %x[%i, %i] : tensor<32x16xf32>, !rows, i32, i32
    gpu.return
  }

  // A transposed tile is the same registers; to be stored along its own rows it is spread anew.
  // CHECK-LABEL: gpu.func @transposed
  // CHECK: tile.transpose {{.*}} -> tensor<16x32xf32, #tile.tv<"((4,32),(4)):((4,16),(1))">>
  gpu.func @transposed(%x: !rows, %y: !rows, %i: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<32x16xf32>
    %b = tile.transpose %a : tensor<32x16xf32> -> tensor<16x32xf32>
    tile.store %b, %y[%i, %i] : tensor<16x32xf32>, !rows, i32, i32
    gpu.return
  }
}
