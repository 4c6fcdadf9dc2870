// A tensor from offsets on keeps its layout; alignment follows from what divides the offsets.
// RUN: %cute-opt --split-input-file --verify-diagnostics %s | FileCheck %s

!view = !cute.memref<f16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">
!coords = !cute.coord_tensor<"(0,0)", "(?,?{div=8}):(1@0,1@1)">

// CHECK-LABEL: func.func @views
func.func @views(%x: !view, %c: !coords, %i: i32, %j: !cute.int_tuple<"?{div=4}">) {
  // CHECK: cute.domain_offset({{.*}}) : (!cute.memref<f16, gmem, align<16>, {{.*}}>, i32, !cute.int_tuple<"?{div=4}">) -> !cute.memref<f16, gmem, align<8>, "(?,?{div=8}):(?{i64 div=8},1)">
  %0 = cute.domain_offset(%x, %i, %j) : (!view, i32, !cute.int_tuple<"?{div=4}">) -> !cute.memref<f16, gmem, align<8>, "(?,?{div=8}):(?{i64 div=8},1)">
  %before = cute.static : !cute.int_tuple<"-1">
  // CHECK: cute.domain_offset({{.*}}) {{.*}} -> !cute.memref<f16, gmem, align<2>, "(?,?{div=8}):(?{i64 div=8},1)">
  %1 = cute.domain_offset(%x, %i, %before) : (!view, i32, !cute.int_tuple<"-1">) -> !cute.memref<f16, gmem, align<2>, "(?,?{div=8}):(?{i64 div=8},1)">
  // CHECK: cute.domain_offset({{.*}}) {{.*}} -> !cute.coord_tensor<"(?,-1)", "(?,?{div=8}):(1@0,1@1)">
  %2 = cute.domain_offset(%c, %i, %before) : (!coords, i32, !cute.int_tuple<"-1">) -> !cute.coord_tensor<"(?,-1)", "(?,?{div=8}):(1@0,1@1)">
  return
}

// -----

func.func @rank(%x: !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">, %i: i32) {
  // expected-error@+1 {{expects 3 operands, but got 2}}
  %0 = cute.domain_offset(%x, %i) : (!cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">, i32) -> !cute.memref<f32, gmem, align<4>, "(64,64):(64,1)">
  return
}

// -----

func.func @nested(%x: !cute.memref<f32, gmem, align<16>, "((8,8),64):((8,64),1)">, %i: i32) {
  // expected-error@+1 {{expects a mode of one extent to go along, but mode 0 is (8,8)}}
  %0 = cute.domain_offset(%x, %i, %i) : (!cute.memref<f32, gmem, align<16>, "((8,8),64):((8,64),1)">, i32, i32) -> !cute.memref<f32, gmem, align<4>, "((8,8),64):((8,64),1)">
  return
}

// -----

func.func @aligned(%x: !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">, %i: i32) {
  // expected-error@+1 {{align<4>}}
  %0 = cute.domain_offset(%x, %i, %i) : (!cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">, i32, i32) -> !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">
  return
}
