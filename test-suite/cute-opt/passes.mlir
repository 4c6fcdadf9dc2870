// RUN: %cute-opt %s --canonicalize --cse | FileCheck %s
// RUN: %cute-opt %s --pass-pipeline='builtin.module(func.func(canonicalize))' | FileCheck %s
// RUN: %cute-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// RUN: %cute-opt %s --canonicalize --mlir-print-ir-after-all 2>&1 | FileCheck %s --check-prefix=DUMP
// RUN: not %cute-opt %s --no-such-pass 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: %cute-opt --help | FileCheck %s --check-prefix=HELP

// HELP-DAG: --convert-cute-to-gpu {{.*}} Lowers the cute dialect to arith, llvm and nvvm
// HELP-DAG: --cute-allocate-smem {{.*}} Places the shared-memory buffers
// HELP-DAG: --cute-expand-ops {{.*}} Expands the layout algebra to arith and constructors
// HELP-DAG: --cute-fold-static {{.*}} Replaces what is known at compile time
// HELP-DAG: --cute-to-base {{.*}} Lowers constructors and types of the layout algebra
// CHECK: func.func @sum
// CHECK-NEXT: return %arg0
// GENERIC: "arith.addi"
// DUMP: IR Dump After Canonicalizer
// UNKNOWN: Unknown command line argument '--no-such-pass'
func.func @sum(%a: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %b = arith.addi %a, %zero : i32
  return %b : i32
}
