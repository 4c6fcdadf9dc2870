// `griddepcontrol` becomes assembly that may access any memory: LLVM's intrinsics access none.
// RUN: %cute-opt --convert-cute-to-gpu %s | FileCheck %s

// CHECK-LABEL: gpu.func @waits
// CHECK: llvm.inline_asm has_side_effects {{.*}}"griddepcontrol.wait;", "~{memory}"
// CHECK: llvm.inline_asm has_side_effects {{.*}}"griddepcontrol.launch_dependents;", "~{memory}"
// CHECK-NOT: nvvm.griddepcontrol
gpu.module @m attributes {cute.target = #cute.target<"sm_90">} {
  gpu.func @waits() kernel {
    nvvm.griddepcontrol wait
    nvvm.griddepcontrol launch_dependents
    gpu.return
  }
}
