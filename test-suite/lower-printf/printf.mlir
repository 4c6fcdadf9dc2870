// gpu.printf becomes a call of vprintf, its arguments in one slot at the start of the kernel.
// RUN: %cute-opt --lower-printf %s | FileCheck %s

// CHECK: llvm.mlir.global internal constant @cutec$text_printed_0("%d %f\0A\00") {addr_space = 1 : i32}
// CHECK: llvm.mlir.global internal constant @"cutec$text_of tests_0"("%d\0A\00") {addr_space = 1 : i32}
// CHECK: llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32
gpu.module @m {
  // CHECK-LABEL: gpu.func @printed
  // CHECK: %[[SLOT:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(i32, f64)> {alignment = 8 : i64}
  // CHECK: scf.for
  // CHECK: llvm.getelementptr %[[SLOT]][0, 1]
  // CHECK: llvm.call @vprintf(%{{.*}}, %[[SLOT]])
  // CHECK-NOT: gpu.printf
  gpu.func @printed(%i: i32, %x: f64) kernel {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    scf.for %j = %zero to %i step %one : i32 {
      gpu.printf "%d %f\0A", %j, %x : i32, f64
    }
    gpu.return
  }
  // CHECK-LABEL: gpu.func @"of tests"
  // CHECK-COUNT-2: llvm.mlir.addressof @"cutec$text_of tests_0"
  gpu.func @"of tests"(%i: i32) kernel {
    gpu.printf "%d\0A", %i : i32
    gpu.printf "%d\0A", %i : i32
    gpu.return
  }
}
