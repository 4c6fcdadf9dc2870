// MLIR's messages are shown like our own, with the line that they are about.
// RUN: not %cutec %s --color never 2>&1 | FileCheck %s

// CHECK: [E0909] Error:
// CHECK: invalid.mlir:[[# @LINE + 5 ]]:
// CHECK: %b = llvm.fadd
module {
  llvm.func @k(%a: f32) {
    // The operands differ in type.
    %b = llvm.fadd %a, %nothing : f32
    llvm.return
  }
}
