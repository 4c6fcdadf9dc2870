// RUN: %cute-opt %s --split-input-file --verify-diagnostics
// RUN: not %cute-opt %s --split-input-file 2>&1 | FileCheck %s
// RUN: not %cute-opt %s 2>&1 | FileCheck %s --check-prefix=WHOLE

// CHECK: verify-diagnostics.mlir:[[# @LINE + 4 ]]:{{[0-9]+}}: error: use of undeclared SSA value name
// WHOLE: error:
func.func @first() -> i32 {
  // expected-error @+1 {{use of undeclared SSA value name}}
  return %nothing : i32
}

// -----

func.func @second(%a: i32) -> i32 {
  return %a : i32
}
