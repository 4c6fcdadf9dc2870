// RUN: %cute-opt --split-input-file --verify-diagnostics --tile-select-atoms %s

// A pinned tiled MMA must fit the product, not its atom alone.
!v = !cute.memref<f16, gmem, align<16>, "(64,64):(64,1)">
gpu.module @kernels {
  gpu.func @larger(%v: !v, %i: i32) kernel {
    %zero = arith.constant 0.0 : f32
    %zeros = tile.splat %zero : f32 -> tensor<16x16xf32>
    %x = tile.load %v[%i, %i] : !v, i32, i32 -> tensor<16x16xf16>
    // expected-error@+1 {{a product expects extents that are multiples of 32 × 16 × 16, which the tiled MMA multiplies, but got 16 × 16 × 16}}
    %xx = tile.dot %x, %x, %zeros {mma = !cute.tiled_mma<!cute_nvgpu.sm80.mma<"16x8x16", elem_type = (f16, f16, f32)>, atom_layout_MNK = <"(2,2,1):(1,2,0)">, permutation_MNK = <"[32:1;16:1;16:1]">>} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32> -> tensor<16x16xf32>
    gpu.return
  }
}
