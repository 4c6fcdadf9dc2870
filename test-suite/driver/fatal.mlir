// What LLVM cannot select would end the process; here it is an error like any other.
// RUN: not %cutec %s -o %t.ptx 2>&1 | FileCheck %s
// RUN: not ls %t.ptx

// CHECK: error: LLVM gave up on the code for sm_80
module attributes {gpu.container_module} {
  gpu.module @kernels {
    llvm.func @k(%a: vector<16xi8>, %p: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
      %r = llvm.call_intrinsic "llvm.x86.sse2.psad.bw"(%a, %a) : (vector<16xi8>, vector<16xi8>) -> vector<2xi64>
      llvm.store %r, %p : vector<2xi64>, !llvm.ptr<1>
      llvm.return
    }
  }
}
