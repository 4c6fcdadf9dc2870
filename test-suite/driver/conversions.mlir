// Where conversions stand in what the backend gets: what makes values smaller behind what it converts, what
// makes them larger before what takes them first. Across blocks nothing moves, nor what is converted again. Elements that are taken one
// by one are made smaller one by one.
// RUN: %cutec %s --emit llvm | FileCheck %s

// CHECK-LABEL: @epilogue
// CHECK: fpext <2 x bfloat>
// CHECK-NEXT: fadd
// CHECK-NEXT: fmul
// CHECK-NEXT: fptrunc
// CHECK-NEXT: fpext
// CHECK-NEXT: fadd
// CHECK-NEXT: fmul
// CHECK-NEXT: fptrunc
// CHECK: store <2 x bfloat>
// CHECK: store <2 x bfloat>

// CHECK-LABEL: @again
// CHECK: load half
// CHECK-NEXT: fpext half
// CHECK-NEXT: fptrunc float
// CHECK: fadd float

// CHECK-LABEL: @alone
// CHECK-NOT: fptrunc <
// CHECK-COUNT-2: fptrunc float
// CHECK: store bfloat
// CHECK: store bfloat

// CHECK-LABEL: @together
// CHECK: fptrunc <4 x float>
// CHECK-NOT: fptrunc
module attributes {gpu.container_module} {
  gpu.module @kernels {
    llvm.func @epilogue(%bias: !llvm.ptr<1>, %out: !llvm.ptr<1>, %s0: vector<2xf32>, %s1: vector<2xf32>) attributes {gpu.kernel, nvvm.kernel} {
      %0 = llvm.load %bias : !llvm.ptr<1> -> vector<2xbf16>
      %next = llvm.getelementptr %bias[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
      %1 = llvm.load %next : !llvm.ptr<1> -> vector<2xbf16>
      %2 = llvm.fpext %0 : vector<2xbf16> to vector<2xf32>
      %3 = llvm.fpext %1 : vector<2xbf16> to vector<2xf32>
      %4 = llvm.fadd %s0, %2 : vector<2xf32>
      %5 = llvm.fmul %4, %4 : vector<2xf32>
      %6 = llvm.fadd %s1, %3 : vector<2xf32>
      %7 = llvm.fmul %6, %6 : vector<2xf32>
      %8 = llvm.fptrunc %5 : vector<2xf32> to vector<2xbf16>
      %9 = llvm.fptrunc %7 : vector<2xf32> to vector<2xbf16>
      llvm.store %8, %out : vector<2xbf16>, !llvm.ptr<1>
      %behind = llvm.getelementptr %out[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
      llvm.store %9, %behind : vector<2xbf16>, !llvm.ptr<1>
      llvm.return
    }
    llvm.func @again(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>, %s: f32) attributes {gpu.kernel, nvvm.kernel} {
      %0 = llvm.load %in : !llvm.ptr<1> -> f16
      %1 = llvm.fpext %0 : f16 to f32
      %2 = llvm.fmul %s, %s : f32
      %3 = llvm.fptrunc %1 : f32 to bf16
      %4 = llvm.fadd %1, %2 : f32
      llvm.store %3, %out : bf16, !llvm.ptr<1>
      %behind = llvm.getelementptr %out[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
      llvm.store %4, %behind : f32, !llvm.ptr<1>
      llvm.return
    }
    llvm.func @alone(%x: vector<4xf32>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
      %0 = llvm.fptrunc %x : vector<4xf32> to vector<4xbf16>
      %i1 = llvm.mlir.constant(1 : i32) : i32
      %i2 = llvm.mlir.constant(2 : i32) : i32
      %1 = llvm.extractelement %0[%i1 : i32] : vector<4xbf16>
      %2 = llvm.extractelement %0[%i2 : i32] : vector<4xbf16>
      llvm.store %1, %out : bf16, !llvm.ptr<1>
      %behind = llvm.getelementptr %out[64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
      llvm.store %2, %behind : bf16, !llvm.ptr<1>
      llvm.return
    }
    llvm.func @together(%x: vector<4xf32>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
      %0 = llvm.fptrunc %x : vector<4xf32> to vector<4xbf16>
      %i1 = llvm.mlir.constant(1 : i32) : i32
      %1 = llvm.extractelement %0[%i1 : i32] : vector<4xbf16>
      llvm.store %0, %out : vector<4xbf16>, !llvm.ptr<1>
      %behind = llvm.getelementptr %out[64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
      llvm.store %1, %behind : bf16, !llvm.ptr<1>
      llvm.return
    }
  }
}
