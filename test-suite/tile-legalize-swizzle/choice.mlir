// A layout for each buffer: free of bank conflicts where there is one, counted; what is pinned is judged.
// RUN: %cute-opt --tile-legalize-swizzle --split-input-file --verify-diagnostics %s | FileCheck %s

!view = !cute.memref<bf16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">
!smem = !cute.memref<bf16, smem, align<128>, "(64,64,2):(64,1,4096)">

gpu.module @kernels {
  // Eight rows of 128 bytes each: ldmatrix would read one bank eight times.
  // CHECK-LABEL: gpu.func @rows
  // CHECK: alloc_smem() {cute.accesses = "cp.async: 64 wavefronts, 64 at best; ldmatrix: 128 wavefronts, 128 at best"}
  // CHECK-SAME: "S<3,3,3> o 0 o (64,64,2):(64,1,4096)"
  gpu.func @rows(%a: !view, %i: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %s = cute.memref.alloc_smem() : () -> !smem
    %t = tile.copy_async %a[%i, %i], %s[%i] {copy = !cute.tiled_copy<!cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>, layout_copy_tv = <"((8,16),(8,4)):((512,1),(64,16))">, tiler_mn = <"[64:1;64:1]">>} : !view, !smem, i32, i32
    %x = tile.read %s[%i] [0, 0] {copy = !cute.tiled_copy<!cute_nvgpu.atom.ldsm<val_type = bf16, num_matrices = 4, n>, layout_copy_tv = <"((4,8,2,2),((2,2,2),(1,1))):((64,1,16,0),((32,8,256),(0,0)))">, tiler_mn = <"[32:1;16:1]">>} : !smem -> tensor<64x64xbf16, #tile.tv<"((4,8,2,2),((2,2,2),(2,4))):((128,1,16,0),((64,8,512),(32,1024)))">>
    gpu.return
  }
}

// -----

!smem = !cute.memref<f32, smem, align<128>, "(32,32,1):(1,32,1024)">

gpu.module @kernels {
  // A thread writes a column, four numbers at once, and reads a row, number by number. Rows are padded: no
  // access is of matrices.
  // CHECK-LABEL: gpu.func @transposed
  // CHECK: alloc_smem() {cute.accesses = "write: 32 wavefronts, 32 at best; read: 32 wavefronts, 32 at best"}
  // CHECK-SAME: "(32,32,1):(1,36,1152)"
  gpu.func @transposed(%x: tensor<32x32xf32, #tile.tv<"(32,32):(32,1)">>, %i: i32) {
    %s = cute.memref.alloc_smem() : () -> !smem
    tile.write %x, %s[%i] : tensor<32x32xf32, #tile.tv<"(32,32):(32,1)">>, !smem
    %y = tile.read %s[%i] [0, 0] : !smem -> tensor<32x32xf32, #tile.tv<"(32,32):(1,32)">>
    gpu.return
  }
}

// -----

!smem = !cute.memref<bf16, smem, align<128>, "(64,64,1):(64,1,4096)">

gpu.module @kernels {
  gpu.func @pinned(%x: tensor<64x64xbf16, #tile.tv<"((8,16),(8,4)):((512,1),(64,16))">>, %i: i32) {
    // expected-error @+1 {{ldmatrix: 8-way bank conflict: 1024 wavefronts, 128 at best; S<3,3,3> o 0 o (64,64):(64,1) has no conflicts}}
    %s = cute.memref.alloc_smem() {swizzle = "S<0,3,3>"} : () -> !smem
    tile.write %x, %s[%i] : tensor<64x64xbf16, #tile.tv<"((8,16),(8,4)):((512,1),(64,16))">>, !smem
    %y = tile.read %s[%i] [0, 0] {copy = !cute.tiled_copy<!cute_nvgpu.atom.ldsm<val_type = bf16, num_matrices = 4, n>, layout_copy_tv = <"((4,8,2,2),((2,2,2),(1,1))):((64,1,16,0),((32,8,256),(0,0)))">, tiler_mn = <"[32:1;16:1]">>} : !smem -> tensor<64x64xbf16, #tile.tv<"((4,8,2,2),((2,2,2),(2,4))):((128,1,16,0),((64,8,512),(32,1024)))">>
    gpu.return
  }
}

// -----

!smem = !cute.memref<bf16, smem, align<128>, "(64,64,1):(64,1,4096)">

gpu.module @kernels {
  // A buffer that the program itself addresses lies as it says.
  // CHECK-LABEL: gpu.func @ours
  // CHECK: alloc_smem() : {{.*}}"(64,64,1):(64,1,4096)"
  gpu.func @ours(%x: tensor<64x64xbf16, #tile.tv<"((8,16),(8,4)):((512,1),(64,16))">>, %i: i32) {
    %s = cute.memref.alloc_smem() : () -> !smem
    %l = cute.get_layout(%s) : (!smem) -> !cute.layout<"(64,64,1):(64,1,4096)">
    tile.write %x, %s[%i] : tensor<64x64xbf16, #tile.tv<"((8,16),(8,4)):((512,1),(64,16))">>, !smem
    gpu.return
  }
}
