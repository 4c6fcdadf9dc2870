// MLIR shows the operation that an error is about: its line, not all that stands in it.
// RUN: not %cutec %s --color never 2>&1 | FileCheck %s --implicit-check-not=nvvm.barrier0

// CHECK: [E0909] Error: 'llvm.func' op
// CHECK: mlir-notes.mlir:[[# @LINE + 4 ]]:
// CHECK: Note: see current operation: "llvm.func"()
module {
  gpu.module @kernels {
    llvm.func @k() attributes {cute.abi = "a text"} {
      nvvm.barrier0
      llvm.return
    }
  }
}
