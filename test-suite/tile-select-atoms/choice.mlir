// The instruction follows from the types, the warps from the shape; what is pinned is kept.
// RUN: %cute-opt --tile-select-atoms --split-input-file --verify-diagnostics %s | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @bf16
  // CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
  // CHECK: mma = !cute.tiled_mma<!cute_nvgpu.sm80.mma<"16x8x16", elem_type = (bf16, bf16, f32)>, atom_layout_MNK = <"(4,2,1):(1,4,0)">
  gpu.func @bf16(%a: tensor<128x64xbf16>, %b: tensor<128x64xbf16>) {
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> tensor<128x128xf32>
    %d = tile.dot %a, %b, %c : tensor<128x64xbf16>, tensor<128x64xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @narrow_k
  // CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
  // CHECK: mma = !cute.tiled_mma<!cute_nvgpu.sm80.mma<"16x8x8", elem_type = (f16, f16, f32)>, atom_layout_MNK = <"(2,2,1):(1,2,0)">
  gpu.func @narrow_k(%a: tensor<64x8xf16>, %b: tensor<64x8xf16>) {
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> tensor<64x64xf32>
    %d = tile.dot %a, %b, %c : tensor<64x8xf16>, tensor<64x8xf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @tf32
  // CHECK-SAME: known_block_size = array<i32: 32, 1, 1>
  // CHECK: mma = !cute.tiled_mma<!cute_nvgpu.sm80.mma<"16x8x8", elem_type = (tf32, tf32, f32)>, atom_layout_MNK = <"(1,1,1):(1,1,0)">
  gpu.func @tf32(%a: tensor<32x8xtf32>, %b: tensor<32x8xtf32>) {
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> tensor<32x32xf32>
    %d = tile.dot %a, %b, %c : tensor<32x8xtf32>, tensor<32x8xtf32>, tensor<32x32xf32> -> tensor<32x32xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @int8
  // CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
  // CHECK: mma = !cute.tiled_mma<!cute_nvgpu.sm80.mma<"16x8x32", elem_type = (i8, i8, i32)>, atom_layout_MNK = <"(2,2,1):(1,2,0)">
  gpu.func @int8(%a: tensor<64x64xi8>, %b: tensor<64x64xi8>) {
    %zero = arith.constant 0 : i32
    %c = tile.splat %zero : i32 -> tensor<64x64xi32>
    %d = tile.dot %a, %b, %c : tensor<64x64xi8>, tensor<64x64xi8>, tensor<64x64xi32> -> tensor<64x64xi32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @f64
  // CHECK-SAME: known_block_size = array<i32: 64, 1, 1>
  // CHECK: mma = !cute.tiled_mma<!cute_nvgpu.sm80.mma<"8x8x4", elem_type = (f64, f64, f64)>, atom_layout_MNK = <"(1,2,1):(1,1,0)">
  gpu.func @f64(%a: tensor<32x8xf64>, %b: tensor<64x8xf64>) {
    %zero = arith.constant 0.0 : f64
    %c = tile.splat %zero : f64 -> tensor<32x64xf64>
    %d = tile.dot %a, %b, %c : tensor<32x8xf64>, tensor<64x8xf64>, tensor<32x64xf64> -> tensor<32x64xf64>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @scalar
  // CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
  // CHECK: mma = !cute.tiled_mma<!cute_nvgpu.atom.universal_fma<f32>, atom_layout_MNK = <"((2,2,4),(2,4,2),1):((1,4,32),(2,8,128),0)">, permutation_MNK = <"[((4,4),4,2):((4,32),1,16);((8,2),4,2):((4,64),1,32);_]">
  gpu.func @scalar(%a: tensor<128x8xf32>, %b: tensor<128x8xf32>) {
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> tensor<128x128xf32>
    %d = tile.dot %a, %b, %c : tensor<128x8xf32>, tensor<128x8xf32>, tensor<128x128xf32> -> tensor<128x128xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @pinned
  // CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
  // CHECK: mma = !cute.tiled_mma<!cute_nvgpu.sm80.mma<"16x8x16", elem_type = (bf16, bf16, f32)>, atom_layout_MNK = <"(8,1,1):(1,8,0)">
  gpu.func @pinned(%a: tensor<128x16xbf16>, %b: tensor<64x16xbf16>) attributes {tile.warps = array<i32: 8, 1>} {
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> tensor<128x64xf32>
    %d = tile.dot %a, %b, %c : tensor<128x16xbf16>, tensor<64x16xbf16>, tensor<128x64xf32> -> tensor<128x64xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @atom
  // CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
  // CHECK: mma = !cute.tiled_mma<!cute_nvgpu.sm80.mma<"16x8x8", elem_type = (bf16, bf16, f32)>, atom_layout_MNK = <"(2,2,1):(1,2,0)">
  gpu.func @atom(%a: tensor<64x16xbf16>, %b: tensor<64x16xbf16>) {
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> tensor<64x64xf32>
    %d = tile.dot %a, %b, %c {mma = !cute_nvgpu.sm80.mma<"16x8x8", elem_type = (bf16, bf16, f32)>} : tensor<64x16xbf16>, tensor<64x16xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @odd(%a: tensor<24x16xbf16>, %b: tensor<16x16xbf16>) {
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> tensor<24x16xf32>
    // expected-error@+1 {{expects extents that are multiples of 16 × 8 × 16, which the instruction multiplies, but got 24 × 16 × 16}}
    %d = tile.dot %a, %b, %c : tensor<24x16xbf16>, tensor<16x16xbf16>, tensor<24x16xf32> -> tensor<24x16xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @short(%a: tensor<32x8xi8>, %b: tensor<32x8xi8>) {
    %zero = arith.constant 0 : i32
    %c = tile.splat %zero : i32 -> tensor<32x32xi32>
    // expected-error@+1 {{a product of i8 expects an extent along k that is a multiple of 16, but got 8}}
    %d = tile.dot %a, %b, %c : tensor<32x8xi8>, tensor<32x8xi8>, tensor<32x32xi32> -> tensor<32x32xi32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @mixed(%a: tensor<32x8xui8>, %b: tensor<32x8xi8>) {
    %zero = arith.constant 0 : i32
    %c = tile.splat %zero : i32 -> tensor<32x32xi32>
    // expected-error@+1 {{a product of u8 expects an extent along k that is a multiple of 16, but got 8}}
    %d = tile.dot %a, %b, %c : tensor<32x8xui8>, tensor<32x8xi8>, tensor<32x32xi32> -> tensor<32x32xi32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @no_such(%a: tensor<32x16xf16>, %b: tensor<32x16xf16>) {
    %zero = arith.constant 0.0 : f64
    %c = tile.splat %zero : f64 -> tensor<32x32xf64>
    // expected-error@+1 {{no instruction multiplies f16 to f64}}
    %d = tile.dot %a, %b, %c : tensor<32x16xf16>, tensor<32x16xf16>, tensor<32x32xf64> -> tensor<32x32xf64>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @unshared(%a: tensor<32x16xbf16>, %b: tensor<16x16xbf16>) attributes {tile.warps = array<i32: 4, 1>} {
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> tensor<32x16xf32>
    // expected-error@+1 {{128 threads cannot share this product of 32 × 16}}
    %d = tile.dot %a, %b, %c : tensor<32x16xbf16>, tensor<16x16xbf16>, tensor<32x16xf32> -> tensor<32x16xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @unknown(%a: tensor<32x16xi32>, %b: tensor<16x16xi32>) {
    %zero = arith.constant 0 : i32
    %c = tile.splat %zero : i32 -> tensor<32x16xi32>
    // expected-error@+1 {{no instruction multiplies i32}}
    %d = tile.dot %a, %b, %c : tensor<32x16xi32>, tensor<16x16xi32>, tensor<32x16xi32> -> tensor<32x16xi32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @fp8(%a: tensor<32x32xf8E4M3FN>, %b: tensor<16x32xf8E4M3FN>) {
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> tensor<32x16xf32>
    // expected-error@+1 {{sm_89}}
    %d = tile.dot %a, %b, %c : tensor<32x32xf8E4M3FN>, tensor<16x32xf8E4M3FN>, tensor<32x16xf32> -> tensor<32x16xf32>
    gpu.return
  }
}

// -----

// Factors of f32 by an instruction on tf32, where that is asked for.
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @precision
  // CHECK: mma = !cute.tiled_mma<!cute_nvgpu.sm80.mma<"16x8x8", elem_type = (tf32, tf32, f32)>, {{.*}}precision = "tf32x3"
  gpu.func @precision(%a: tensor<64x16xf32>, %b: tensor<64x16xf32>) {
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> tensor<64x64xf32>
    %d = tile.dot %a, %b, %c {precision = "tf32x3"} : tensor<64x16xf32>, tensor<64x16xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    gpu.return
  }
}

// -----

// Slices of k have warps of their own, each a part in one piece.
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @slices
  // CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
  // CHECK: mma = !cute.tiled_mma<!cute_nvgpu.sm80.mma<"16x8x16", elem_type = (bf16, bf16, f32)>, atom_layout_MNK = <"(1,1,4):(1,1,1)">, permutation_MNK = <{{.*}}(16,4,4):(1,64,16)
  gpu.func @slices(%a: tensor<16x256xbf16>, %b: tensor<16x256xbf16>) {
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> tensor<4x16x16xf32>
    %d = tile.dot %a, %b, %c : tensor<16x256xbf16>, tensor<16x256xbf16>, tensor<4x16x16xf32> -> tensor<4x16x16xf32>
    gpu.return
  }
}

// -----

// The instruction is as long as a slice.
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @short_slices
  // CHECK: sm80.mma<"16x8x8", elem_type = (f16, f16, f32)>, atom_layout_MNK = <"(1,1,2):(1,1,1)">
  gpu.func @short_slices(%a: tensor<16x16xf16>, %b: tensor<16x16xf16>) {
    %zero = arith.constant 0.0 : f32
    %c = tile.splat %zero : f32 -> tensor<2x16x16xf32>
    %d = tile.dot %a, %b, %c : tensor<16x16xf16>, tensor<16x16xf16>, tensor<2x16x16xf32> -> tensor<2x16x16xf32>
    gpu.return
  }
}
