// What stands in a module and in no function of it is an error there.
// RUN: not %cutec %s -o %t.ptx 2>&1 | FileCheck %s
// CHECK: `nvvm.barrier0` stands in no function
// CHECK: outside.mlir:[[@LINE+2]]:3
gpu.module @kernels {
  nvvm.barrier0
}
