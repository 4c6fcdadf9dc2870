// What is loaded with axes of extent 1 that a reshape leaves out, for products alone, is loaded from a slice of the view, and so is a whole tile
// that a loop of products loads beside.
// Where the slice is beyond the view, the tile is.
// RUN: %cute-opt --tile-reshape-loads %s | FileCheck %s

!taps = !cute.memref<f16, gmem, align<16>, "(?,?,?{div=8}):(?{i64 div=8},?{i64 div=8},1)">
!one = !cute.memref<f16, gmem, align<16>, "(1,?,?{div=8}):(0,?{i64 div=8},1)">

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @first
  // CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %arg3, %{{.*}} : i32
  // CHECK: %[[TAP:.*]] = arith.select %[[INSIDE]], %arg3, %{{.*}} : i32
  // CHECK: %[[COORD:.*]] = cute.make_coord(%[[TAP]]) : (i32) -> !cute.coord<"(?,_,_)">
  // CHECK: %[[VIEW:.*]] = cute.slice(%arg0, %[[COORD]])
  // CHECK: %[[ROW:.*]] = arith.select %[[INSIDE]], %arg4, %{{.*}} : i32
  // CHECK: %[[TILE:.*]] = tile.load %[[VIEW]][%[[ROW]], %arg4] {fill = 1.000000e+00 : f16} : {{.*}} -> tensor<32x16xf16>
  // CHECK-NOT: tile.reshape
  // CHECK: tile.dot %arg1, %[[TILE]],
  gpu.func @first(%x: !taps, %a: tensor<32x16xf16>, %c: tensor<32x32xf32>, %t: i32, %i: i32) {
    %v = tile.load %x[%t, %i, %i] {fill = 1.0 : f16} : !taps, i32, i32, i32 -> tensor<1x32x16xf16>
    %b = tile.reshape %v : tensor<1x32x16xf16> -> tensor<32x16xf16>
    %d = tile.dot %a, %b, %c : tensor<32x16xf16>, tensor<32x16xf16>, tensor<32x32xf32> -> tensor<32x32xf32>
    gpu.return
  }

  // What counts elements along an axis does so along it still, under its new number.
  // CHECK-LABEL: gpu.func @between
  // CHECK: cute.make_coord({{.*}} -> !cute.coord<"(_,?,_)">
  // CHECK: tile.load {{.*}} {by_element = array<i64: 1>} : {{.*}} -> tensor<32x16xf16>
  gpu.func @between(%x: !taps, %a: tensor<32x16xf16>, %c: tensor<32x32xf32>, %t: i32, %i: i32) {
    %v = tile.load %x[%i, %t, %i] {by_element = array<i64: 1, 2>} : !taps, i32, i32, i32 -> tensor<32x1x16xf16>
    %b = tile.reshape %v : tensor<32x1x16xf16> -> tensor<32x16xf16>
    %d = tile.dot %a, %b, %c : tensor<32x16xf16>, tensor<32x16xf16>, tensor<32x32xf32> -> tensor<32x32xf32>
    gpu.return
  }

  // The only place of an axis is always inside.
  // CHECK-LABEL: gpu.func @only
  // CHECK-NOT: arith.cmpi
  // CHECK: tile.load {{.*}}[%arg3, %arg3] : {{.*}} -> tensor<32x16xf16>
  gpu.func @only(%x: !one, %a: tensor<32x16xf16>, %c: tensor<32x32xf32>, %i: i32) {
    %first = arith.constant 0 : i32
    %v = tile.load %x[%first, %i, %i] : !one, i32, i32, i32 -> tensor<1x32x16xf16>
    %b = tile.reshape %v : tensor<1x32x16xf16> -> tensor<32x16xf16>
    %d = tile.dot %a, %b, %c : tensor<32x16xf16>, tensor<32x16xf16>, tensor<32x32xf32> -> tensor<32x32xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @stored
  // CHECK: tile.load %arg0
  // CHECK: tile.reshape
  gpu.func @stored(%x: !taps, %y: !cute.memref<f16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">, %i: i32) {
    %v = tile.load %x[%i, %i, %i] : !taps, i32, i32, i32 -> tensor<1x32x16xf16>
    %b = tile.reshape %v : tensor<1x32x16xf16> -> tensor<32x16xf16>
    tile.store %b, %y[%i, %i] : tensor<32x16xf16>, !cute.memref<f16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">, i32, i32
    gpu.return
  }

  // A whole tile that a loop of products loads beside their operands; a vector stays.
  // CHECK-LABEL: gpu.func @beside
  // CHECK: scf.for
  // CHECK: %[[GATE:.*]] = tile.load %{{[0-9]+}}[%{{.*}}, %[[AT:.*]]] : {{.*}} -> tensor<32x32xf16>
  // CHECK: tile.load %arg0[%[[AT]], %arg4, %[[AT]]] : {{.*}} -> tensor<1x1x32xf16>
  // CHECK-NEXT: tile.reshape
  // CHECK: tile.map(%{{.*}}, %[[GATE]]
  gpu.func @beside(%x: !taps, %a: tensor<32x16xf16>, %b: tensor<32x16xf16>, %c: tensor<32x32xf32>, %i: i32, %out: !cute.memref<f16, gmem, align<16>, "(32,32):(32,1)">) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    scf.for %t = %zero to %i step %one : i32 {
      %v = tile.load %x[%t, %i, %t] : !taps, i32, i32, i32 -> tensor<1x32x32xf16>
      %gate = tile.reshape %v : tensor<1x32x32xf16> -> tensor<32x32xf16>
      %w = tile.load %x[%t, %i, %t] : !taps, i32, i32, i32 -> tensor<1x1x32xf16>
      %row = tile.reshape %w : tensor<1x1x32xf16> -> tensor<1x32xf16>
      %rows = tile.broadcast %row : tensor<1x32xf16> -> tensor<32x32xf16>
      %d = tile.dot %a, %b, %c : tensor<32x16xf16>, tensor<32x16xf16>, tensor<32x32xf32> -> tensor<32x32xf32>
      %y = tile.map(%d, %gate, %rows) {
      ^bb0(%one_d: f32, %one_g: f16, %one_r: f16):
        %n = arith.truncf %one_d : f32 to f16
        %p = arith.mulf %n, %one_g : f16
        %q = arith.mulf %p, %one_r : f16
        tile.yield %q : f16
      } : (tensor<32x32xf32>, tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
      tile.store %y, %out[%zero, %zero] : tensor<32x32xf16>, !cute.memref<f16, gmem, align<16>, "(32,32):(32,1)">, i32, i32
    }
    gpu.return
  }
}
