// Sums of which threads have neighbours that they could only store one by one are spread anew, so that neighbouring threads store
// neighbours; where the tensor allows wide stores, or shared memory has no room for two blocks' tiles, they stay.
// RUN: %cute-opt --tile-select-atoms --tile-assign-layouts %s | FileCheck %s

!odd = !cute.memref<f32, gmem, align<16>, "(?,?):(?{i64},1)">
!wide = !cute.memref<f32, gmem, align<16>, "(?,?{div=4}):(?{i64 div=4},1)">

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @odd
  // CHECK: %[[D:.*]] = tile.dot
  // CHECK: %[[C:.*]] = tile.convert_layout %[[D]] {{.*}} -> tensor<64x64xf32, #tile.tv<"((64,2),(32)):((64,1),(2))">>
  // CHECK: tile.store %[[C]]
  gpu.func @odd(%x: !wide, %y: !wide, %z: !odd) {
    %zero = arith.constant 0.0 : f32
    %i = arith.constant 0 : i32
    %a = tile.load %x[%i, %i] : !wide, i32, i32 -> tensor<64x16xf32>
    %b = tile.load %y[%i, %i] : !wide, i32, i32 -> tensor<64x16xf32>
    %c = tile.splat %zero : f32 -> tensor<64x64xf32>
    %d = tile.dot %a, %b, %c : tensor<64x16xf32>, tensor<64x16xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %d, %z[%i, %i] : tensor<64x64xf32>, !odd, i32, i32
    gpu.return
  }

  // CHECK-LABEL: gpu.func @wide
  // CHECK: %[[D:.*]] = tile.dot
  // CHECK-NOT: tile.convert_layout %[[D]]
  // CHECK: tile.store %[[D]]
  gpu.func @wide(%x: !wide, %y: !wide, %z: !wide) {
    %zero = arith.constant 0.0 : f32
    %i = arith.constant 0 : i32
    %a = tile.load %x[%i, %i] : !wide, i32, i32 -> tensor<64x16xf32>
    %b = tile.load %y[%i, %i] : !wide, i32, i32 -> tensor<64x16xf32>
    %c = tile.splat %zero : f32 -> tensor<64x64xf32>
    %d = tile.dot %a, %b, %c : tensor<64x16xf32>, tensor<64x16xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %d, %z[%i, %i] : tensor<64x64xf32>, !wide, i32, i32
    gpu.return
  }

  // CHECK-LABEL: gpu.func @large
  // CHECK: %[[D:.*]] = tile.dot
  // CHECK: tile.store %[[D]]
  gpu.func @large(%x: !wide, %y: !wide, %z: !odd) {
    %zero = arith.constant 0.0 : f32
    %i = arith.constant 0 : i32
    %a = tile.load %x[%i, %i] : !wide, i32, i32 -> tensor<256x16xf32>
    %b = tile.load %y[%i, %i] : !wide, i32, i32 -> tensor<128x16xf32>
    %c = tile.splat %zero : f32 -> tensor<256x128xf32>
    %d = tile.dot %a, %b, %c : tensor<256x16xf32>, tensor<128x16xf32>, tensor<256x128xf32> -> tensor<256x128xf32>
    tile.store %d, %z[%i, %i] : tensor<256x128xf32>, !odd, i32, i32
    gpu.return
  }
}
