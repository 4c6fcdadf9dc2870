// What a module says of its target is not overridden: it was made by that target's limits.
// RUN: %cutec %s --arch sm_90 | FileCheck %s
// RUN: not %cutec %s 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not %cutec %s --arch sm_86 -o %t.ptx 2>&1 | FileCheck %s --check-prefix=GIVEN
// RUN: not ls %t.ptx
// CHECK: .target sm_90
// OTHER: this module is for sm_90, and is compiled for sm_80: write `--arch sm_90`, or leave out its `cute.target`
// GIVEN: this module is for sm_90, and is compiled for sm_86: write `--arch sm_90`, or leave out its `cute.target`
gpu.module @kernels attributes {cute.target = #cute.target<"sm_90">} {
  gpu.func @nothing() kernel {
    gpu.return
  }
}
