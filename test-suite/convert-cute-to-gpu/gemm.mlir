// A gemm becomes one instruction for each (m, n, k); an operand is read once and the sum stays in registers.
// RUN: %cute-opt --convert-cute-to-gpu %s | FileCheck %s

gpu.module @gemms {
  // CHECK-LABEL: gpu.func @tensor_cores
  // Columns go forth in even rows and back in odd ones.
  // CHECK-COUNT-4: nvvm.mma.sync
  // CHECK-NOT: nvvm.mma.sync
  // CHECK-NOT: llvm.store
  // CHECK: gpu.return
  gpu.func @tensor_cores() kernel {
    %mma = cute.static : !cute.tiled_mma<!cute_nvgpu.sm80.mma<"16x8x16", elem_type = (bf16, bf16, f32)>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
    %a = cute.memref.alloca() : () -> !cute.memref<bf16, rmem, align<16>, "((2,2,2),2):((1,2,4),8)">
    %b = cute.memref.alloca() : () -> !cute.memref<bf16, rmem, align<16>, "((2,2),2):((1,2),4)">
    %c = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "((2,2),2,2):((1,2),4,8)">
    cute.gemm(%mma, %c, %a, %b, %c) : !cute.tiled_mma<!cute_nvgpu.sm80.mma<"16x8x16", elem_type = (bf16, bf16, f32)>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>, !cute.memref<f32, rmem, align<16>, "((2,2),2,2):((1,2),4,8)">, !cute.memref<bf16, rmem, align<16>, "((2,2,2),2):((1,2,4),8)">, !cute.memref<bf16, rmem, align<16>, "((2,2),2):((1,2),4)">, !cute.memref<f32, rmem, align<16>, "((2,2),2,2):((1,2),4,8)">
    gpu.return
  }

  // CHECK-LABEL: gpu.func @fma
  // CHECK-COUNT-6: llvm.intr.fma
  // CHECK-NOT: llvm.intr.fma
  gpu.func @fma() kernel {
    %mma = cute.static : !cute.tiled_mma<!cute_nvgpu.atom.universal_fma<f32>, atom_layout_MNK = <"(16,16,1):(16,1,0)">, permutation_MNK = <"[_;_;_]">>
    %a = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "(1,2):(0,1)">
    %b = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "(1,3):(0,1)">
    %c = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "(1,2,3):(0,1,2)">
    cute.gemm(%mma, %c, %a, %b, %c) : !cute.tiled_mma<!cute_nvgpu.atom.universal_fma<f32>, atom_layout_MNK = <"(16,16,1):(16,1,0)">, permutation_MNK = <"[_;_;_]">>, !cute.memref<f32, rmem, align<16>, "(1,2,3):(0,1,2)">, !cute.memref<f32, rmem, align<16>, "(1,2):(0,1)">, !cute.memref<f32, rmem, align<16>, "(1,3):(0,1)">, !cute.memref<f32, rmem, align<16>, "(1,2,3):(0,1,2)">
    gpu.return
  }
}
