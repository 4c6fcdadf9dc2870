// A byte in the mantissa of a power of two, and that subtracted.
// RUN: %cute-opt --convert-bytes %s | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @signed
  // CHECK: %[[W:.*]] = arith.extui %{{.*}} : vector<8xi8> to vector<8xi16>
  // CHECK: %[[X:.*]] = arith.xori %[[W]], %{{.*}} : vector<8xi16>
  // CHECK: %[[Y:.*]] = arith.ori %[[X]],
  // CHECK: %[[Z:.*]] = arith.bitcast %[[Y]] : vector<8xi16> to vector<8xf16>
  // CHECK: dense<1.152000e+03> : vector<8xf16>
  // CHECK: arith.subf %[[Z]],
  // CHECK-NOT: sitofp
  gpu.func @signed(%x: vector<8xi8>) -> vector<8xf16> {
    %0 = arith.sitofp %x : vector<8xi8> to vector<8xf16>
    gpu.return %0 : vector<8xf16>
  }
  // CHECK-LABEL: gpu.func @unsigned
  // CHECK: arith.extui %{{.*}} : i8 to i32
  // CHECK-NOT: arith.xori
  // CHECK: arith.constant 0x4B000000 : f32
  // CHECK: arith.subf
  // CHECK: arith.truncf %{{.*}} : f32 to bf16
  gpu.func @unsigned(%x: i8) -> bf16 {
    %0 = arith.uitofp %x : i8 to bf16
    gpu.return %0 : bf16
  }
  // Others stay.
  // CHECK-LABEL: gpu.func @others
  // CHECK: arith.sitofp %{{.*}} : i16 to f32
  // CHECK: arith.sitofp %{{.*}} : i8 to f64
  gpu.func @others(%x: i16, %y: i8) -> (f32, f64) {
    %0 = arith.sitofp %x : i16 to f32
    %1 = arith.sitofp %y : i8 to f64
    gpu.return %0, %1 : f32, f64
  }
}
