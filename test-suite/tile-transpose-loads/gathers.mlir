// What is gathered to be turned for products alone is gathered turned: what counts along one axis counts along the other, and a column of
// numbers is a row. What something else takes stays, and so does what is computed of a whole tile of numbers.
// RUN: %cute-opt --tile-transpose-loads %s | FileCheck %s

!view = !cute.memref<f16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @product
  // CHECK-DAG: %[[K:.*]] = tile.iota 0 : tensor<16x32xi32>
  // CHECK-DAG: %[[ROW:.*]] = tile.reshape %arg3 : tensor<32x1xi32> -> tensor<1x32xi32>
  // CHECK-DAG: %[[ROWS:.*]] = tile.broadcast %[[ROW]] : tensor<1x32xi32> -> tensor<16x32xi32>
  // CHECK: %[[TILE:.*]] = tile.map(%[[K]], %[[ROWS]]) {
  // CHECK: cute.memref.load(%arg0
  // CHECK: {cute.gathered_since = "a reason"} {{.*}} -> tensor<16x32xf16>
  // CHECK-NOT: tile.transpose
  // CHECK: tile.dot %arg1, %[[TILE]],
  gpu.func @product(%x: !view, %a: tensor<32x32xf16>, %c: tensor<32x16xf32>, %rows: tensor<32x1xi32>, %n: i32) {
    %k = tile.iota 1 : tensor<32x16xi32>
    %all = tile.broadcast %rows : tensor<32x1xi32> -> tensor<32x16xi32>
    %v = tile.map(%k, %all) {
    ^bb0(%column: i32, %row: i32):
      %inside = arith.cmpi ult, %row, %n : i32
      %element = scf.if %inside -> (f16) {
        %at = cute.make_int_tuple(%row, %column) : (i32, i32) -> !cute.int_tuple<"(?,?)">
        %read = cute.memref.load(%x, %at) : (!view, !cute.int_tuple<"(?,?)">) -> f16
        scf.yield %read : f16
      } else {
        %zero = arith.constant 0.0 : f16
        scf.yield %zero : f16
      } {cute.guard}
      tile.yield %element : f16
    } {cute.gathered_since = "a reason"} : (tensor<32x16xi32>, tensor<32x16xi32>) -> tensor<32x16xf16>
    %b = tile.transpose %v : tensor<32x16xf16> -> tensor<16x32xf16>
    %d = tile.dot %a, %b, %c : tensor<32x32xf16>, tensor<16x32xf16>, tensor<32x16xf32> -> tensor<32x16xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @numbers
  // CHECK: tile.map(%arg3)
  // CHECK: tile.transpose
  gpu.func @numbers(%x: !view, %a: tensor<32x32xf16>, %c: tensor<32x16xf32>, %rows: tensor<32x16xi32>, %n: i32) {
    %v = tile.map(%rows) {
    ^bb0(%row: i32):
      %at = cute.make_int_tuple(%row, %row) : (i32, i32) -> !cute.int_tuple<"(?,?)">
      %read = cute.memref.load(%x, %at) : (!view, !cute.int_tuple<"(?,?)">) -> f16
      tile.yield %read : f16
    } : (tensor<32x16xi32>) -> tensor<32x16xf16>
    %b = tile.transpose %v : tensor<32x16xf16> -> tensor<16x32xf16>
    %d = tile.dot %a, %b, %c : tensor<32x32xf16>, tensor<16x32xf16>, tensor<32x16xf32> -> tensor<32x16xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @stored
  // CHECK: tile.transpose
  gpu.func @stored(%x: !view, %rows: tensor<32x1xi32>, %i: i32) {
    %all = tile.broadcast %rows : tensor<32x1xi32> -> tensor<32x16xi32>
    %v = tile.map(%all) {
    ^bb0(%row: i32):
      %at = cute.make_int_tuple(%row, %row) : (i32, i32) -> !cute.int_tuple<"(?,?)">
      %read = cute.memref.load(%x, %at) : (!view, !cute.int_tuple<"(?,?)">) -> f16
      tile.yield %read : f16
    } : (tensor<32x16xi32>) -> tensor<32x16xf16>
    %b = tile.transpose %v : tensor<32x16xf16> -> tensor<16x32xf16>
    tile.store %b, %x[%i, %i] : tensor<16x32xf16>, !view, i32, i32
    gpu.return
  }
}
