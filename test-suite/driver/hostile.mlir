// Numbers and types that would end MLIR's parser or LLVM's translation are refused before them.
// RUN: split-file %s %t
// RUN: not %cutec %t/elements.mlir -o - 2>&1 | FileCheck %t/elements.mlir
// RUN: not %cutec %t/element-type.mlir -o - 2>&1 | FileCheck %t/element-type.mlir
// RUN: not %cutec %t/opaque.mlir -o - 2>&1 | FileCheck %t/opaque.mlir

//--- elements.mlir
// CHECK: a vector or tensor has at most 1048576 elements
module {
  func.func @f(%a: f32) {
    %0 = vector.from_elements %a : vector<4294967296xf32>
    return
  }
}
//--- element-type.mlir
// CHECK: expects a type of LLVM with a size as `elem_type`, but got tensor<4xf32>
gpu.module @kernels {
  llvm.func @k(%p: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.getelementptr %p[8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, tensor<4xf32>
    llvm.return
  }
}
//--- opaque.mlir
// CHECK: expects a type of LLVM with a size as `elem_type`, but got !llvm.struct<"s", opaque>
gpu.module @kernels {
  llvm.func @k(%p: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.getelementptr %p[8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, !llvm.struct<"s", opaque>
    llvm.return
  }
}
