// LLVM dialect in, PTX out: code generation alone. What has no kernel ABI says so in its comment.
// RUN: %cutec %s | FileCheck %s
// RUN: %cutec %s --emit llvm-raw | FileCheck %s --check-prefix=RAW
// RUN: %cutec %s --emit llvm | FileCheck %s --check-prefix=LLVM
// RUN: %cutec %s --arch sm_90a | FileCheck %s --check-prefix=HOPPER
// RUN: %cutec %s --time-passes -o %t.ptx 2>&1 | FileCheck %s --check-prefix=TIME

// CHECK: // cutec-abi-begin
// CHECK: .target sm_80
// CHECK: .extern .shared .align 1024 .b8 smem[];
// CHECK: .visible .entry double(
// CHECK-DAG: ld.global.b32
// Pointers into shared memory are 32 bits wide.
// CHECK-DAG: mov.b32 %r{{[0-9]+}}, smem;

// RAW: define ptx_kernel void @double
// RAW: call {{.*}}i32 @llvm.nvvm.read.ptx.sreg.tid.x()
// RAW-NOT: zext
// RAW: fadd float
// LLVM: define ptx_kernel void @double
// LLVM: zext nneg i32

// HOPPER: .target sm_90a

// TIME: LLVM optimisation
// TIME: LLVM code generation
// TIME: 100.0%  total
module attributes {gpu.container_module} {
  gpu.module @kernels {
    llvm.mlir.global external @smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
    llvm.func @double(%x: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %p = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      %v = llvm.load %p : !llvm.ptr<1> -> f32
      %w = llvm.fadd %v, %v : f32
      %s = llvm.mlir.addressof @smem : !llvm.ptr<3>
      %q = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      llvm.store volatile %w, %q : f32, !llvm.ptr<3>
      llvm.store %w, %p : f32, !llvm.ptr<1>
      llvm.return
    }
  }
}
