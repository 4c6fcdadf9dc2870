// The shared memory of other blocks of a cluster.
// RUN: %cute-opt %s --split-input-file --verify-diagnostics | %cute-opt --split-input-file | FileCheck %s
!s = !cute.memref<f32, smem, align<128>, "S<2,2,3> o 0 o (4,8):(1,4)">
!d = !cute.memref<f32, dsmem, align<128>, "S<2,2,3> o 0 o (4,8):(1,4)">
!i = !cute.memref<i32, dsmem, align<128>, "4:1">
!b = !cute.memref<ui64, smem, align<128>, "4:1">
!p = !cute.memref<f32, dsmem, align<128>, "S<2,2,3> o 12 o (4):(1)">

// CHECK-LABEL: func.func @legal
func.func @legal(%s: !s, %i: !i, %b: !b, %rank: i32, %n: i32, %v: vector<4xf32>) {
  // CHECK: cute.map_shared_rank(%{{.*}}, %{{.*}}) : (!cute.memref<f32, smem, align<128>, "S<2,2,3> o 0 o (4,8):(1,4)">, i32) -> !cute.memref<f32, dsmem, align<128>, "S<2,2,3> o 0 o (4,8):(1,4)">
  %d = cute.map_shared_rank(%s, %rank) : (!s, i32) -> !d
  %at = cute.static : !cute.coord<"(_,3)">
  // CHECK: cute.slice(%{{.*}}, %{{.*}}) : !cute.memref<f32, dsmem, align<128>, {{.*}}>, !cute.coord<"(_,3)">
  %part = cute.slice(%d, %at) : !d, !cute.coord<"(_,3)">
  // CHECK: cute.store_async(%{{.*}}) : vector<4xf32>, !cute.memref<f32, dsmem, align<128>, "S<2,2,3> o 12 o (4):(1)">, !cute.memref<ui64, smem, align<128>, "4:1">, i32
  cute.store_async(%v, %part, %b, %n) : vector<4xf32>, !p, !b, i32
  // CHECK: cute.reduce_async(%{{.*}}) {kind = "max"} : !cute.memref<i32, dsmem, align<128>, "4:1">, i32, i32, !cute.memref<ui64, smem, align<128>, "4:1">, i32
  cute.reduce_async(%i, %n, %n, %b, %n) {kind = "max"} : !i, i32, i32, !b, i32
  // CHECK: cute.mbarrier.wait_across_cluster(
  cute.mbarrier.wait_across_cluster(%b, %n, %n) : !b, i32, i32
  return
}

// -----

!g = !cute.memref<f32, gmem, align<128>, "4:1">
!d = !cute.memref<f32, dsmem, align<128>, "4:1">
func.func @not_shared(%g: !g, %rank: i32) {
  // expected-error@+1 {{expects a view in smem, which the blocks of a cluster share, but got one in gmem}}
  %d = cute.map_shared_rank(%g, %rank) : (!g, i32) -> !d
  return
}

// -----

!s = !cute.memref<f32, smem, align<128>, "4:1">
!d = !cute.memref<f32, dsmem, align<128>, "4:1">
func.func @no_rank(%s: !s) {
  %rank = cute.static : !cute.int_tuple<"-1">
  // expected-error@+1 {{expects the rank of a block in its cluster, from 0 on}}
  %d = cute.map_shared_rank(%s, %rank) : (!s, !cute.int_tuple<"-1">) -> !d
  return
}

// -----

!s = !cute.memref<f32, smem, align<128>, "4:1">
!b = !cute.memref<ui64, smem, align<128>, "4:1">
func.func @own(%s: !s, %b: !b, %n: i32, %v: vector<4xf32>) {
  // expected-error@+1 {{expects a view of the shared memory of another block, by map_shared_rank, but got one in smem}}
  cute.store_async(%v, %s, %b, %n) : vector<4xf32>, !s, !b, i32
  return
}

// -----

!d = !cute.memref<f16, dsmem, align<128>, "(4):(2)">
!b = !cute.memref<ui64, smem, align<128>, "4:1">
func.func @narrow(%d: !d, %b: !b, %n: i32, %v: vector<4xf16>) {
  // expected-error@+1 {{st.async stores 4, 8 or 16 bytes at a time, but of 4 elements of f16 in (4):(2) only 2 bytes are known}}
  cute.store_async(%v, %d, %b, %n) : vector<4xf16>, !d, !b, i32
  return
}

// -----

!d = !cute.memref<f32, dsmem, align<128>, "4:1">
!b = !cute.memref<ui64, smem, align<128>, "4:1">
func.func @no_reduction(%d: !d, %b: !b, %n: i32, %v: f32) {
  // expected-error@+1 {{no red.async add of f32; there are add of i32 and i64, min, max, and, or, xor of i32}}
  cute.reduce_async(%d, %n, %v, %b, %n) {kind = "add"} : !d, i32, f32, !b, i32
  return
}

// -----

!d = !cute.memref<ui64, dsmem, align<128>, "4:1">
func.func @barrier_elsewhere(%d: !d, %n: i32) {
  // expected-error@+1 {{expects a barrier, one element of shared memory of u64, but got u64 in dsmem}}
  cute.mbarrier.wait(%d, %n, %n) : !d, i32, i32
  return
}
