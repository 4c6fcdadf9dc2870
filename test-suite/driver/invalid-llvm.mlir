// What MLIR translates and LLVM refuses is one error, and says why.
// RUN: not %cutec %s --color never 2>&1 | FileCheck %s

// CHECK-NOT: immarg
// CHECK: error: invalid LLVM IR: immarg operand has non-immediate parameter
module attributes {gpu.container_module} {
  gpu.module @kernels {
    llvm.func @k(%n: i32) attributes {gpu.kernel, nvvm.kernel} {
      llvm.call_intrinsic "llvm.nvvm.cp.async.wait.group"(%n) : (i32) -> ()
      llvm.return
    }
  }
}
