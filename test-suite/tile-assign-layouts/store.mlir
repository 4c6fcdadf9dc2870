// The sums of a product, of which a thread has two neighbours: in 16 bits they are spread anew for the store,
// where it can be wider; in 32 bits the lanes of a row fill a sector as it is.
// RUN: %cute-opt --tile-assign-layouts %s | FileCheck %s

!halves = !cute.memref<f16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">
!odd = !cute.memref<f16, gmem, align<2>, "(?,?):(?{i64},1)">
!floats = !cute.memref<f32, gmem, align<16>, "(?,?{div=4}):(?{i64 div=4},1)">
!mma = !cute.tiled_mma<!cute_nvgpu.sm80.mma<"16x8x16", elem_type = (f16, f16, f32)>, atom_layout_MNK = <"(2,2,1):(1,2,0)">, permutation_MNK = <"[_;32:1;_]">>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @stores
  // CHECK: %[[SUMS:.*]] = tile.dot
  // CHECK: %[[ROUNDED:.*]] = tile.map(%[[SUMS]])
  // CHECK: %[[WIDE:.*]] = tile.convert_layout %[[ROUNDED]] {{.*}} -> tensor<64x64xf16, #tile.tv<"((8,16),(8,4)):((512,1),(64,16))">>
  // CHECK: tile.store %[[WIDE]],
  // CHECK: tile.store %[[ROUNDED]],
  // CHECK: tile.store %[[SUMS]],
  gpu.func @stores(%x: !halves, %y: !odd, %z: !floats, %a: tensor<64x16xf16>, %b: tensor<64x16xf16>, %i: i32)
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> tensor<64x64xf32>
    %d = tile.dot %a, %b, %c {mma = !mma} : tensor<64x16xf16>, tensor<64x16xf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    %e = tile.map (%d) {
    ^bb0(%s: f32):
      %h = arith.truncf %s : f32 to f16
      tile.yield %h : f16
    } : (tensor<64x64xf32>) -> tensor<64x64xf16>
    tile.store %e, %x[%i, %i] : tensor<64x64xf16>, !halves, i32, i32
    tile.store %e, %y[%i, %i] : tensor<64x64xf16>, !odd, i32, i32
    tile.store %d, %z[%i, %i] : tensor<64x64xf32>, !floats, i32, i32
    gpu.return
  }

  // An atomic update is of one element: the next thread has the next.
  // CHECK-LABEL: gpu.func @updates
  // CHECK: %[[SUMS:.*]] = tile.dot
  // CHECK: %[[APART:.*]] = tile.convert_layout %[[SUMS]] {{.*}} -> tensor<64x64xf32, #tile.tv<"((64,2),(32)):((64,1),(2))">>
  // CHECK: tile.store %[[APART]], {{.*}} {atomic = "add"}
  gpu.func @updates(%z: !floats, %a: tensor<64x16xf16>, %b: tensor<64x16xf16>, %i: i32)
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> tensor<64x64xf32>
    %d = tile.dot %a, %b, %c {mma = !mma} : tensor<64x16xf16>, tensor<64x16xf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %d, %z[%i, %i] {atomic = "add"} : tensor<64x64xf32>, !floats, i32, i32
    gpu.return
  }
}
