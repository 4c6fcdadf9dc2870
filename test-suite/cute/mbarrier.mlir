// Barriers in shared memory that count arrivals and bytes.
// RUN: %cute-opt %s --split-input-file --verify-diagnostics | %cute-opt --split-input-file | FileCheck %s
!b = !cute.memref<ui64, smem, align<128>, "4:1">
!f = !cute.memref<f32, smem, align<128>, "4:1">

// CHECK-LABEL: func.func @legal
func.func @legal(%b: !b, %s: i32, %n: i32) -> i1 {
  %one = cute.static : !cute.int_tuple<"1">
  // CHECK: cute.mbarrier.init(%{{.*}}, %{{.*}}, %{{.*}}) : !cute.memref<ui64, smem, align<128>, "4:1">, i32, !cute.int_tuple<"1">
  cute.mbarrier.init(%b, %s, %one) : !b, i32, !cute.int_tuple<"1">
  // CHECK: cute.mbarrier.inval(
  cute.mbarrier.inval(%b, %s) : !b, i32
  // CHECK: cute.mbarrier.arrive(
  cute.mbarrier.arrive(%b, %s, %one) : !b, i32, !cute.int_tuple<"1">
  cute.mbarrier.arrive(%b, %s, %one, %n) : !b, i32, !cute.int_tuple<"1">, i32
  // CHECK: cute.mbarrier.arrive_within_cta(
  cute.mbarrier.arrive_within_cta(%b, %s, %one, %n) : !b, i32, !cute.int_tuple<"1">, i32
  // CHECK: cute.mbarrier.expect_tx(
  cute.mbarrier.expect_tx(%b, %s, %n) : !b, i32, i32
  // CHECK: cute.mbarrier.arrive_expect_tx(
  cute.mbarrier.arrive_expect_tx(%b, %s, %n) : !b, i32, i32
  // CHECK: cute.mbarrier.cp_async_arrive(
  cute.mbarrier.cp_async_arrive(%b, %s) : !b, i32
  // CHECK: cute.mbarrier.cp_async_arrive_noinc(
  cute.mbarrier.cp_async_arrive_noinc(%b, %s) : !b, i32
  // CHECK: cute.mbarrier.wait(
  cute.mbarrier.wait(%b, %s, %n) : !b, i32, i32
  // CHECK: cute.mbarrier.try_wait({{.*}}) : (!cute.memref<ui64, smem, align<128>, "4:1">, i32, i32) -> i1
  %0 = cute.mbarrier.try_wait(%b, %s, %n) : (!b, i32, i32) -> i1
  // CHECK: cute.mbarrier.test_wait(
  %1 = cute.mbarrier.test_wait(%b, %s, %n) : (!b, i32, i32) -> i1
  %2 = arith.andi %0, %1 : i1
  return %2 : i1
}

// -----

!b = !cute.memref<ui64, smem, align<128>, "4:1">
!f = !cute.memref<f32, smem, align<128>, "4:1">
!g = !cute.memref<ui64, gmem, align<128>, "4:1">
func.func @illegal(%b: !b, %f: !f, %g: !g, %s: i32, %x: f32) {
  %two = cute.static : !cute.int_tuple<"2">
  %pair = cute.static : !cute.int_tuple<"(2,2)">
  // expected-error@+1 {{expects 3 operands, but got 2}}
  cute.mbarrier.init(%b, %s) : !b, i32
  return
}

// -----

!b = !cute.memref<ui64, smem, align<128>, "4:1">
func.func @parity(%b: !b, %s: i32) {
  %two = cute.static : !cute.int_tuple<"2">
  // expected-error@+1 {{expects a parity, 0 to 1, but got}}
  cute.mbarrier.wait(%b, %s, %two) : !b, i32, !cute.int_tuple<"2">
  return
}

// -----

!f = !cute.memref<f32, smem, align<128>, "4:1">
func.func @floats(%f: !f, %s: i32) {
  // expected-error@+1 {{expects a barrier, one element of shared memory of u64, but got f32 in smem}}
  cute.mbarrier.inval(%f, %s) : !f, i32
  return
}

// -----

!g = !cute.memref<ui64, gmem, align<128>, "4:1">
func.func @global(%g: !g, %s: i32) {
  // expected-error@+1 {{expects a barrier, one element of shared memory of u64, but got u64 in gmem}}
  cute.mbarrier.inval(%g, %s) : !g, i32
  return
}

// -----

!b = !cute.memref<ui64, smem, align<128>, "4:1">
func.func @rank(%b: !b, %s: i32, %x: f32) {
  %one = cute.static : !cute.int_tuple<"1">
  // expected-error@+1 {{expects the rank of a block in its cluster, but got `f32`}}
  cute.mbarrier.arrive(%b, %s, %one, %x) : !b, i32, !cute.int_tuple<"1">, f32
  return
}

// -----

!b = !cute.memref<ui64, smem, align<128>, "4:1">
func.func @remote_wait(%b: !b, %s: i32) {
  // expected-error@+1 {{expects 3 operands, but got 4}}
  cute.mbarrier.wait(%b, %s, %s, %s) : !b, i32, i32, i32
  return
}
