// Printing: C's printf on the host, gpu.printf on the device; `?` becomes a conversion.
// RUN: %cute-opt --cute-to-base --split-input-file %s | FileCheck %s

// CHECK: llvm.func @printf(!llvm.ptr, ...) -> i32
// CHECK: llvm.mlir.global internal constant @printfFormat_0("(%d,4):(4,%lld)\0A\00")
// CHECK: llvm.mlir.global internal constant @printfFormat_1("%lld\0A\00")
// CHECK-NOT: llvm.mlir.global
// CHECK-LABEL: func.func @host
// CHECK-SAME: (%[[X:.*]]: !llvm.struct<(i32, i64)>, %[[N:.*]]: i64)
// CHECK-DAG: %[[S:.*]] = llvm.extractvalue %[[X]][0]
// CHECK-DAG: %[[D:.*]] = llvm.extractvalue %[[X]][1]
// CHECK: llvm.call @printf(%{{.*}}, %[[S]], %[[D]]) vararg
// CHECK: llvm.call @printf(%{{.*}}) vararg
// CHECK: llvm.call @printf(%{{.*}}, %[[N]]) vararg
func.func @host(%x: !cute.layout<"(?{div=2},4):(4,?{i64 div=8})">, %n: i64) {
  cute.print(%x) : !cute.layout<"(?{div=2},4):(4,?{i64 div=8})">
  cute.print(%x) : !cute.layout<"(?{div=2},4):(4,?{i64 div=8})">
  cute.print(%n) : i64
  return
}

// -----

// The text of a composed layout begins with what is in front.
// CHECK: @printfFormat_0("S<2,1,3> o %d o (8,%d):(1,8)\0A\00")
// CHECK: %[[B:.*]] = llvm.extractvalue %{{.*}}[0]
// CHECK: %[[N:.*]] = llvm.extractvalue %[[B]][0]
// CHECK: %[[O:.*]] = llvm.extractvalue %{{.*}}[1]
// CHECK: llvm.call @printf(%{{.*}}, %[[O]], %[[N]]) vararg
func.func @composed(%x: !cute.composed_layout<"S<2,1,3> o ? o (8,?):(1,8)">) {
  cute.print(%x) : !cute.composed_layout<"S<2,1,3> o ? o (8,?):(1,8)">
  return
}

// -----

// A module's own printf is used, its names are kept.
// CHECK: llvm.mlir.global internal constant @printfFormat_1("(_,2)\0A\00")
// CHECK: llvm.func @printf(!llvm.ptr, ...) -> i32
// CHECK-NOT: llvm.func @printf
llvm.func @printf(!llvm.ptr, ...) -> i32
llvm.mlir.global internal constant @printfFormat_0(0 : i32) : i32
func.func @names() {
  %c = cute.static : !cute.coord<"(_,2)">
  cute.print(%c) : !cute.coord<"(_,2)">
  return
}

// -----

// CHECK-LABEL: gpu.func @device
// CHECK-SAME: (%[[N:.*]]: i32)
// CHECK: gpu.printf "(%d,3)\0A", %[[N]] : i32
gpu.module @kernels {
  gpu.func @device(%n: i32) kernel {
    %x = cute.make_shape(%n) : (i32) -> !cute.shape<"(?,3)">
    cute.print(%x) : !cute.shape<"(?,3)">
    gpu.return
  }
}
