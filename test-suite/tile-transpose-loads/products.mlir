// What is turned for products alone is loaded from the turned view; what something else takes stays.
// RUN: %cute-opt --tile-transpose-loads %s | FileCheck %s

!rows = !cute.memref<f16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @product
  // CHECK: cute.make_view({{.*}} -> !cute.memref<f16, gmem, align<16>, "(?{div=8},?):(1,?{i64 div=8})">
  // CHECK: %[[B:.*]] = tile.load %{{.*}}[%arg4, %arg3] {fill = 1.000000e+00 : f16} : {{.*}} -> tensor<32x16xf16>
  // CHECK-NOT: tile.transpose
  // CHECK: tile.dot %{{.*}}, %[[B]],
  gpu.func @product(%x: !rows, %a: tensor<32x16xf16>, %c: tensor<32x32xf32>, %i: i32, %j: i32) {
    %v = tile.load %x[%i, %j] {fill = 1.0 : f16} : !rows, i32, i32 -> tensor<16x32xf16>
    %b = tile.transpose %v : tensor<16x32xf16> -> tensor<32x16xf16>
    %d = tile.dot %a, %b, %c : tensor<32x16xf16>, tensor<32x16xf16>, tensor<32x32xf32> -> tensor<32x32xf32>
    gpu.return
  }

  // What counts elements along one axis does so along the other of the turned view.
  // CHECK-LABEL: gpu.func @moved
  // CHECK: tile.load %{{.*}}[%arg4, %arg3] {by_element = array<i64: 1>} : {{.*}} -> tensor<32x16xf16>
  // CHECK-NOT: tile.transpose
  gpu.func @moved(%x: !rows, %a: tensor<32x16xf16>, %c: tensor<32x32xf32>, %i: i32, %j: i32) {
    %v = tile.load %x[%i, %j] {by_element = array<i64: 0>} : !rows, i32, i32 -> tensor<16x32xf16>
    %b = tile.transpose %v : tensor<16x32xf16> -> tensor<32x16xf16>
    %d = tile.dot %a, %b, %c : tensor<32x16xf16>, tensor<32x16xf16>, tensor<32x32xf32> -> tensor<32x32xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @stored
  // CHECK: tile.load %arg0
  // CHECK: tile.transpose
  gpu.func @stored(%x: !rows, %i: i32) {
    %v = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<16x32xf16>
    %b = tile.transpose %v : tensor<16x32xf16> -> tensor<32x16xf16>
    tile.store %b, %x[%i, %i] : tensor<32x16xf16>, !rows, i32, i32
    gpu.return
  }

  // Of which products take rows and columns: loaded as it lies and from the turned view, side by side.
  // CHECK-LABEL: gpu.func @twins
  // CHECK: %[[ROWS:.*]] = tile.load %arg0[%arg3, %arg4]
  // CHECK-NEXT: %[[COLUMNS:.*]] = tile.load %{{.*}}[%arg4, %arg3] {{.*}} -> tensor<32x32xf16>
  // CHECK-NOT: tile.transpose
  // CHECK: tile.dot %arg1, %[[ROWS]],
  // CHECK: tile.dot %arg1, %[[COLUMNS]],
  gpu.func @twins(%x: !rows, %a: tensor<32x32xf16>, %c: tensor<32x32xf32>, %i: i32, %j: i32) {
    %v = tile.load %x[%i, %j] : !rows, i32, i32 -> tensor<32x32xf16>
    %b = tile.transpose %v : tensor<32x32xf16> -> tensor<32x32xf16>
    %d = tile.dot %a, %v, %c : tensor<32x32xf16>, tensor<32x32xf16>, tensor<32x32xf32> -> tensor<32x32xf32>
    %e = tile.dot %a, %b, %d : tensor<32x32xf16>, tensor<32x32xf16>, tensor<32x32xf32> -> tensor<32x32xf32>
    gpu.return
  }

  // Beside something else than a product it would be loaded twice.
  // CHECK-LABEL: gpu.func @beside
  // CHECK-COUNT-1: tile.load
  // CHECK: tile.transpose
  gpu.func @beside(%x: !rows, %a: tensor<32x32xf16>, %c: tensor<32x32xf32>, %i: i32, %j: i32) {
    %v = tile.load %x[%i, %j] : !rows, i32, i32 -> tensor<32x32xf16>
    tile.store %v, %x[%j, %i] : tensor<32x32xf16>, !rows, i32, i32
    %b = tile.transpose %v : tensor<32x32xf16> -> tensor<32x32xf16>
    %d = tile.dot %a, %b, %c : tensor<32x32xf16>, tensor<32x32xf16>, tensor<32x32xf32> -> tensor<32x32xf32>
    gpu.return
  }
}
