// A transposition between a load and a store: both go along memory, and the tile is spread anew in between.
// RUN: %cute-opt --tile-assign-layouts %s | FileCheck %s

!rows = !cute.memref<f32, gmem, align<16>, "(?,?{div=4}):(?{i64 div=4},1)">
!columns = !cute.memref<f32, gmem, align<16>, "(?{div=4},?):(1,?{i64 div=4})">

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @both_by_rows
  // CHECK: tile.load {{.*}} -> tensor<32x64xf32, #tile.tv<"((16,4),(4,8)):((128,1),(32,4))">>
  // CHECK: tile.transpose
  // CHECK: tile.convert_layout {{.*}} -> tensor<64x32xf32, #tile.tv<"((8,8),(4,8)):((256,1),(64,8))">>
  gpu.func @both_by_rows(%x: !rows, %y: !rows, %i: i32) attributes {known_block_size = array<i32: 64, 1, 1>} {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<32x64xf32>
    %b = tile.transpose %a : tensor<32x64xf32> -> tensor<64x32xf32>
    tile.store %b, %y[%i, %i] : tensor<64x32xf32>, !rows, i32, i32
    gpu.return
  }

  // Here what lies together is the same on both sides.
  // CHECK-LABEL: gpu.func @by_columns
  // CHECK-NOT: tile.convert_layout
  // CHECK: gpu.return
  gpu.func @by_columns(%x: !rows, %y: !columns, %i: i32) attributes {known_block_size = array<i32: 64, 1, 1>} {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<32x64xf32>
    %b = tile.transpose %a : tensor<32x64xf32> -> tensor<64x32xf32>
    tile.store %b, %y[%i, %i] : tensor<64x32xf32>, !columns, i32, i32
    gpu.return
  }
}
