// More shared memory than the target has is an error that lists the buffers.
// RUN: not %cute-opt --cute-allocate-smem %s 2>&1 | FileCheck %s

// CHECK: error: the kernel needs 262272 bytes of shared memory; sm_80 has 166912:
// CHECK-NEXT: 128 bytes at 0: f32 of layout 32:1
// CHECK-NEXT: 262144 bytes at 128
gpu.module @kernels {
  gpu.func @two() kernel {
    %a = cute.memref.alloc_smem() : () -> !cute.memref<f32, smem, align<16>, "32:1">
    %b = cute.memref.alloc_smem() : () -> !cute.memref<f32, smem, align<16>, "65536:1">
    gpu.return
  }
}
