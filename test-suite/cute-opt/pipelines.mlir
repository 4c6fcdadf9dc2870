// The pipelines run as passes do, and compile for the target that stands in the IR.
// RUN: %cute-opt --tile-to-cute %s | FileCheck %s --check-prefix=CUTE
// RUN: %cute-opt --tile-to-cute --cute-to-gpu %s | FileCheck %s --check-prefix=GPU
// RUN: %cute-opt --help | FileCheck %s --check-prefix=HELP

// HELP-DAG: --cute-to-gpu {{.*}} Lowers the cute level to upstream's dialects
// HELP-DAG: --tile-to-cute {{.*}} Lowers the tile level to the cute level and places shared memory
// CUTE: gpu.module @kernels attributes {cute.target = #cute.target<"sm_90">}
// CUTE: cute.memref.alloc_smem() {offset = 0 : i64}
// GPU: gpu.module @kernels attributes {cute.target = #cute.target<"sm_90">}
// GPU-NOT: cute.memref
gpu.module @kernels attributes {cute.target = #cute.target<"sm_90">} {
  gpu.func @large() kernel {
    %a = cute.memref.alloc_smem() : () -> !cute.memref<f32, smem, align<16>, "51200:1">
    gpu.return
  }
}
