// Threads that hold the same where each could have a part of its own are a warning.
// RUN: %cute-opt --tile-assign-layouts --verify-diagnostics %s

!rows = !cute.memref<f16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">
gpu.module @kernels {
  // No number of threads up to that of the block but 1 and 3 divides its extents.
  gpu.func @prime(%x: !rows, %y: !rows, %i: i32) {
    // expected-warning@+1 {{42 of 128 threads hold each element of this tile of 3 × 1009}}
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<3x1009xf16>
    tile.store %a, %y[%i, %i] : tensor<3x1009xf16>, !rows, i32, i32
    gpu.return
  }
  gpu.func @odd(%x: !rows, %y: !rows, %i: i32) {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<3x1000xf16>
    tile.store %a, %y[%i, %i] : tensor<3x1000xf16>, !rows, i32, i32
    gpu.return
  }
  gpu.func @shared(%x: !rows, %y: !rows, %i: i32) {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<3x1024xf16>
    tile.store %a, %y[%i, %i] : tensor<3x1024xf16>, !rows, i32, i32
    gpu.return
  }
  // Few elements for many threads.
  gpu.func @small(%x: !rows, %y: !rows, %i: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<1x24xf16>
    tile.store %a, %y[%i, %i] : tensor<1x24xf16>, !rows, i32, i32
    gpu.return
  }
}
