// Numbers and types that would end MLIR's parser or LLVM's translation are refused before them.
// RUN: split-file %s %t
// RUN: not %cutec %t/elements.mlir -o - 2>&1 | FileCheck %t/elements.mlir
// RUN: not %cutec %t/element-type.mlir -o - 2>&1 | FileCheck %t/element-type.mlir
// RUN: not %cutec %t/opaque.mlir -o - 2>&1 | FileCheck %t/opaque.mlir
// RUN: not %cutec %t/position.mlir -o - 2>&1 | FileCheck %t/position.mlir
// RUN: not %cute-opt %t/position-attribute.mlir 2>&1 | FileCheck %t/position-attribute.mlir

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
//--- position.mlir
// CHECK: a position is at most 2147483647
llvm.func @f(%s: !llvm.struct<(f32, f32)>) {
  %0 = llvm.extractvalue %s[4294967296] : !llvm.struct<(f32, f32)>
  llvm.return
}
//--- position-attribute.mlir
// CHECK: a position is at most 2147483647
#p = array<i64: 4294967296>
llvm.func @f(%s: !llvm.struct<(f32, f32)>, %f: f32) {
  %0 = "llvm.insertvalue"(%s, %f) <{position = #p}> : (!llvm.struct<(f32, f32)>, f32) -> !llvm.struct<(f32, f32)>
  llvm.return
}
