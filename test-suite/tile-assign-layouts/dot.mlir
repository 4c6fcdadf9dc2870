// A product's accumulator and operands are spread as its MMA says, and so is what follows from them.
// RUN: %cute-opt --tile-assign-layouts --split-input-file --verify-diagnostics %s | FileCheck %s

!rows = !cute.memref<bf16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @product
  // CHECK: tile.splat {{.*}} -> tensor<32x16xf32, #tile.tv<[[C:.*]]>>
  // CHECK: tile.load {{.*}} -> tensor<32x16xbf16, #tile.tv<[[A:.*]]>>
  // CHECK: tile.load {{.*}} -> tensor<16x16xbf16, #tile.tv<[[B:.*]]>>
  // CHECK: tile.dot {{.*}} : tensor<32x16xbf16, #tile.tv<[[A]]>>, tensor<16x16xbf16, #tile.tv<[[B]]>>, tensor<32x16xf32, #tile.tv<[[C]]>> -> tensor<32x16xf32, #tile.tv<[[C]]>>
  // The second product takes what the first gave, spread anew.
  // CHECK: %[[P:.*]] = tile.map
  // CHECK: (tensor<32x16xf32, #tile.tv<[[C]]>>) -> tensor<32x16xbf16, #tile.tv<[[C]]>>
  // CHECK: %[[Q:.*]] = tile.convert_layout %[[P]] : tensor<32x16xbf16, #tile.tv<[[C]]>> -> tensor<32x16xbf16, #tile.tv<[[A]]>>
  // CHECK: tile.dot %[[Q]], {{.*}}
  // CHECK: tile.convert_layout {{.*}} : tensor<32x16xbf16, #tile.tv<[[C]]>> -> [[WIDE:.*>>]]
  // CHECK: tile.store {{.*}} : [[WIDE]],
  gpu.func @product(%a: !rows, %b: !rows, %c: !rows, %i: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %zero = arith.constant 0.0 : f32
    %zeros = tile.splat %zero : f32 -> tensor<32x16xf32>
    %x = tile.load %a[%i, %i] : !rows, i32, i32 -> tensor<32x16xbf16>
    %y = tile.load %b[%i, %i] : !rows, i32, i32 -> tensor<16x16xbf16>
    %xy = tile.dot %x, %y, %zeros {mma = !cute.tiled_mma<!cute_nvgpu.sm80.mma<"16x8x16", elem_type = (bf16, bf16, f32)>, atom_layout_MNK = <"(2,2,1):(1,2,0)">, permutation_MNK = <"[32:1;16:1;16:1]">>} : tensor<32x16xbf16>, tensor<16x16xbf16>, tensor<32x16xf32> -> tensor<32x16xf32>
    %p = tile.map (%xy) {
    ^bb0(%e: f32):
      %d = arith.truncf %e : f32 to bf16
      tile.yield %d : bf16
    } : (tensor<32x16xf32>) -> tensor<32x16xbf16>
    %z = tile.load %b[%i, %i] : !rows, i32, i32 -> tensor<16x16xbf16>
    %pz = tile.dot %p, %z, %xy {mma = !cute.tiled_mma<!cute_nvgpu.sm80.mma<"16x8x16", elem_type = (bf16, bf16, f32)>, atom_layout_MNK = <"(2,2,1):(1,2,0)">, permutation_MNK = <"[32:1;16:1;16:1]">>} : tensor<32x16xbf16>, tensor<16x16xbf16>, tensor<32x16xf32> -> tensor<32x16xf32>
    %r = tile.map (%pz) {
    ^bb0(%e: f32):
      %d = arith.truncf %e : f32 to bf16
      tile.yield %d : bf16
    } : (tensor<32x16xf32>) -> tensor<32x16xbf16>
    tile.store %r, %c[%i, %i] : tensor<32x16xbf16>, !rows, i32, i32
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @unchosen(%a: tensor<32x16xbf16>, %b: tensor<16x16xbf16>, %c: tensor<32x16xf32>) {
    %z = arith.constant 0.0 : f32
    %s = tile.splat %z : f32 -> tensor<32x16xf32>
    // expected-error@+1 {{has no `mma`; run tile-select-atoms first}}
    %d = tile.dot %a, %b, %s : tensor<32x16xbf16>, tensor<16x16xbf16>, tensor<32x16xf32> -> tensor<32x16xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @indivisible(%a: tensor<24x16xbf16>, %b: tensor<16x16xbf16>, %c: tensor<24x16xf32>) {
    %z = arith.constant 0.0 : f32
    %s = tile.splat %z : f32 -> tensor<24x16xf32>
    // expected-error@+1 {{24}}
    %d = tile.dot %a, %b, %s {mma = !cute.tiled_mma<!cute_nvgpu.sm80.mma<"16x8x16", elem_type = (bf16, bf16, f32)>, atom_layout_MNK = <"(2,2,1):(1,2,0)">, permutation_MNK = <"[32:1;16:1;16:1]">>} : tensor<24x16xbf16>, tensor<16x16xbf16>, tensor<24x16xf32> -> tensor<24x16xf32>
    gpu.return
  }
}
