// A block has as many threads as a processor can give it.
// RUN: %cute-opt --split-input-file --verify-diagnostics --tile-assign-layouts %s

!rows = !cute.memref<f32, gmem, align<16>, "(?,?{div=4}):(?{i64 div=4},1)">

gpu.module @none {
  // expected-error@+1 {{expects 1 to 1024 threads a block, but got 0}}
  gpu.func @tile(%x: !rows, %i: i32) attributes {known_block_size = array<i32: 32, 1, 0>} {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<32x16xf32>
    tile.store %a, %x[%i, %i] : tensor<32x16xf32>, !rows, i32, i32
    gpu.return
  }
}

// -----

!rows = !cute.memref<f32, gmem, align<16>, "(?,?{div=4}):(?{i64 div=4},1)">

gpu.module @many {
  // expected-error@+1 {{expects 1 to 1024 threads a block, but got 9223372036854775807}}
  gpu.func @tile(%x: !rows, %i: i32) attributes {known_block_size = array<i32: 2147483647, 2147483647, 2147483647>} {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<32x16xf32>
    tile.store %a, %x[%i, %i] : tensor<32x16xf32>, !rows, i32, i32
    gpu.return
  }
}
