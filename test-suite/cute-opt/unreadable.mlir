// A result number without measure, for which MLIR's parser would make place, is refused before it.
// RUN: not %cute-opt %s 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not %cute-opt --split-input-file < %s 2>&1 | FileCheck %s --check-prefix=STDIN
// RUN: not %cute-opt %s.missing 2>&1 | FileCheck %s --check-prefix=MISSING
// FILE: unreadable.mlir:[[@LINE+7]]:12: error: no operation has 65536 results
// FILE-NEXT: return %0#{{[0-9]+}} : i32
// FILE-NEXT: ^
// STDIN: <stdin>:[[@LINE+4]]:12: error: no operation has 65536 results
// MISSING: cannot open input file
func.func @f() -> i32 {
  %0 = arith.constant 0 : i32
  return %0#2147483648 : i32
}
