// Buffers follow each other, 128-byte aligned; the function carries the sum.
// RUN: %cute-opt --cute-allocate-smem %s | FileCheck %s

gpu.module @kernels {
  // CHECK: gpu.func @two() kernel attributes {cute.smem_bytes = 384 : i64}
  gpu.func @two() kernel {
    // CHECK: alloc_smem() {offset = 0 : i64}
    %a = cute.memref.alloc_smem() : () -> !cute.memref<f32, smem, align<16>, "(5,5):(1,5)">
    // CHECK: alloc_smem() {offset = 128 : i64}
    %b = cute.memref.alloc_smem() : () -> !cute.memref<f16, smem, align<16>, "(8,16):(16,1)">
    gpu.return
  }
}
