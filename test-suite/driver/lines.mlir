// Lines in PTX: of the function's file, of another, of a call, and of a function from nowhere.
// RUN: %cutec %s | FileCheck %s

// CHECK-LABEL: .entry lines(
// CHECK: .loc 1 3 0
// CHECK: .loc 1 4 7
// CHECK-NEXT: %tid.x
// CHECK: .loc 2 12 3
// CHECK: st.volatile.global
// CHECK: .loc 2 20 5
// CHECK: st.volatile.global
// CHECK: .loc 1 9 1
// CHECK: ret;
// CHECK-LABEL: .entry nowhere(
// CHECK-NOT: .loc
// CHECK: .loc 3 31 7
// CHECK-NEXT: ret;
// CHECK: .file 1 "some{{.}}kernel.cute"
// CHECK: .file 2 "std{{.}}shared.cute"
// CHECK: .file 3 "{{.*}}lines.mlir"
module attributes {gpu.container_module} {
  gpu.module @kernels {
    llvm.func @lines(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
      %x = nvvm.read.ptx.sreg.tid.x : i32 loc("some/kernel.cute":4:7)
      llvm.store volatile %x, %out : i32, !llvm.ptr<1> loc("std/shared.cute":12:3)
      llvm.store volatile %x, %out : i32, !llvm.ptr<1>
        loc(callsite("std/shared.cute":20:5 at "some/kernel.cute":8:1))
      llvm.return loc("some/kernel.cute":9:1)
    } loc("some/kernel.cute":3:1)
    llvm.func @nowhere() attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    } loc(unknown)
  }
}
