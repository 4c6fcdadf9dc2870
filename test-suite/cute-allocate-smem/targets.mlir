// How much shared memory there is depends on the target of the `gpu.module`.
// RUN: split-file %s %t
// RUN: %cute-opt --cute-allocate-smem %t/sm_90.mlir | FileCheck %s --check-prefix=SM90
// RUN: not %cute-opt --cute-allocate-smem %t/sm_86.mlir 2>&1 | FileCheck %s --check-prefix=SM86
// RUN: not %cute-opt --cute-allocate-smem %t/unknown.mlir 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not %cute-opt --cute-allocate-smem %t/text.mlir 2>&1 | FileCheck %s --check-prefix=TEXT

//--- sm_90.mlir
// SM90: cute.smem_bytes = 204800 : i64
gpu.module @kernels attributes {cute.target = #cute.target<"sm_90">} {
  gpu.func @large() kernel {
    %a = cute.memref.alloc_smem() : () -> !cute.memref<f32, smem, align<16>, "51200:1">
    gpu.return
  }
}
//--- sm_86.mlir
// SM86: error: the kernel needs 204800 bytes of shared memory; sm_86 has 101376:
gpu.module @kernels attributes {cute.target = #cute.target<"sm_86">} {
  gpu.func @large() kernel {
    %a = cute.memref.alloc_smem() : () -> !cute.memref<f32, smem, align<16>, "51200:1">
    gpu.return
  }
}
//--- unknown.mlir
// UNKNOWN: error: unknown architecture `sm_42`; expected one of sm_80, {{.*}}sm_90
gpu.module @kernels attributes {cute.target = #cute.target<"sm_42">} {
}
//--- text.mlir
// TEXT: error: expects #cute.target<…> as `cute.target`, but got "sm_90"
gpu.module @kernels attributes {cute.target = "sm_90"} {
}
