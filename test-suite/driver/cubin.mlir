// REQUIRES: cubin, nvdisasm
// RUN: %cutec %s -o %t.cubin
// RUN: FileCheck %s --check-prefix=ABI --input-file %t.abi.json
// RUN: %cutec %s --emit sass -O1 | FileCheck %s
// RUN: %cutec %s --emit sass -O0 | FileCheck %s

// ABI: {"cutec_abi":1,"kernels":[
// CHECK-NOT: {{^[[:space:]]*\.(section|target|byte)}}
// CHECK: STG.E
// CHECK: EXIT
module attributes {gpu.container_module} {
  gpu.module @kernels {
    llvm.func @clear(%x: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
      %zero = llvm.mlir.constant(0 : i32) : i32
      llvm.store %zero, %x : i32, !llvm.ptr<1>
      llvm.return
    }
  }
}
