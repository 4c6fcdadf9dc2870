// Groups of copies become those of cp.async: a wait leaves as many as are committed behind the group on every way to it.
// RUN: %cute-opt --tile-lower-tokens --split-input-file --verify-diagnostics %s | FileCheck %s

!s3 = !cute.memref<f32, smem, align<128>, "(32,32,3):(1,32,1024)">
!view = !cute.memref<f32, gmem, align<16>, "(?,?{div=4}):(?{i64 div=4},1)">
!copy = !cute.tiled_copy<!cute_nvgpu.atom.simt_async_copy<f32, cache = global, 128 b>, layout_copy_tv = <"((8,16),(4,4)):((128,1),(32,16))">, tiler_mn = <"[32:1;32:1]">>

gpu.module @kernels {
  // Neither loops nor branches carry tokens afterwards; what else they carry stays.
  // CHECK-LABEL: gpu.func @ring
  // CHECK: tile.copy_async
  // CHECK-NEXT: nvvm.cp.async.commit.group
  // CHECK: tile.copy_async
  // CHECK-NEXT: nvvm.cp.async.commit.group
  // CHECK-NEXT: nvvm.cp.async.wait.group 1
  // CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (i32)
  // CHECK: nvvm.cp.async.commit.group
  // CHECK-NEXT: nvvm.cp.async.wait.group 1
  // CHECK: scf.yield %{{.*}} : i32
  // CHECK: nvvm.cp.async.wait.group 0
  // CHECK-NEXT: arith.addi %[[SUM]], %[[SUM]]
  gpu.func @ring(%v: !view, %n: i32, %one: i32, %w: i32) {
    %s = cute.memref.alloc_smem() : () -> !s3
    %c0 = tile.copy_async %v[%one, %one], %s[%w] {copy = !copy} : !view, !s3, i32, i32
    %g0 = tile.commit %c0
    %c1 = tile.copy_async %v[%one, %one], %s[%w] {copy = !copy} : !view, !s3, i32, i32
    %g1 = tile.commit %c1
    tile.wait %g0
    %end:3 = scf.for %t = %one to %n step %one iter_args(%a = %g0, %acc = %one, %b = %g1) -> (!tile.token, i32, !tile.token) : i32 {
      %c2 = tile.copy_async %v[%one, %t], %s[%w] {copy = !copy} : !view, !s3, i32, i32
      %g2 = tile.commit %c2
      tile.wait %b
      %sum = arith.addi %acc, %t : i32
      scf.yield %b, %sum, %g2 : !tile.token, i32, !tile.token
    }
    tile.wait %end#0, %end#2
    %twice = arith.addi %end#1, %end#1 : i32
    gpu.return
  }

  // On one way there is a younger group, on the other none.
  // CHECK-LABEL: gpu.func @branch
  // CHECK: scf.if %{{.*}} {
  // CHECK: nvvm.cp.async.commit.group
  // CHECK: }
  // CHECK-NEXT: nvvm.cp.async.wait.group 0
  gpu.func @branch(%v: !view, %w: i32, %c: i1) {
    %s = cute.memref.alloc_smem() : () -> !s3
    %c0 = tile.copy_async %v[%w, %w], %s[%w] {copy = !copy} : !view, !s3, i32, i32
    %g0 = tile.commit %c0
    scf.if %c {
      %c1 = tile.copy_async %v[%w, %w], %s[%w] {copy = !copy} : !view, !s3, i32, i32
      %g1 = tile.commit %c1
    }
    tile.wait %g0
    gpu.return
  }

  // A loop that asks first.
  // CHECK-LABEL: gpu.func @while
  // CHECK: scf.while : () -> () {
  // CHECK: scf.condition(%{{.*}})
  // CHECK: } do {
  // CHECK: nvvm.cp.async.commit.group
  // CHECK-NEXT: nvvm.cp.async.wait.group 1
  // CHECK-NEXT: scf.yield
  gpu.func @while(%v: !view, %w: i32, %c: i1) {
    %s = cute.memref.alloc_smem() : () -> !s3
    %c0 = tile.copy_async %v[%w, %w], %s[%w] {copy = !copy} : !view, !s3, i32, i32
    %g0 = tile.commit %c0
    %end = scf.while (%a = %g0) : (!tile.token) -> !tile.token {
      scf.condition(%c) %a : !tile.token
    } do {
    ^bb0(%b: !tile.token):
      %c1 = tile.copy_async %v[%w, %w], %s[%w] {copy = !copy} : !view, !s3, i32, i32
      %g1 = tile.commit %c1
      tile.wait %b
      scf.yield %g1 : !tile.token
    }
    gpu.return
  }
}

// -----

!s3 = !cute.memref<f32, smem, align<128>, "(32,32,3):(1,32,1024)">
!view = !cute.memref<f32, gmem, align<16>, "(?,?{div=4}):(?{i64 div=4},1)">
!copy = !cute.tiled_copy<!cute_nvgpu.atom.simt_async_copy<f32, cache = global, 128 b>, layout_copy_tv = <"((8,16),(4,4)):((128,1),(32,16))">, tiler_mn = <"[32:1;32:1]">>
gpu.module @kernels {
  gpu.func @uncommitted(%v: !view, %w: i32) {
    %s = cute.memref.alloc_smem() : () -> !s3
    %c0 = tile.copy_async %v[%w, %w], %s[%w] {copy = !copy} : !view, !s3, i32, i32
    // expected-error@+1 {{expects groups, but got a copy; commit it first}}
    tile.wait %c0
    gpu.return
  }
}

// -----

!s3 = !cute.memref<f32, smem, align<128>, "(32,32,3):(1,32,1024)">
!view = !cute.memref<f32, gmem, align<16>, "(?,?{div=4}):(?{i64 div=4},1)">
!copy = !cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 128 b>, layout_copy_tv = <"((8,16),(4,4)):((128,1),(32,16))">, tiler_mn = <"[32:1;32:1]">>
gpu.module @kernels {
  gpu.func @at_once(%v: !view, %w: i32) {
    %s = cute.memref.alloc_smem() : () -> !s3
    // expected-error@+1 {{copies at once: nothing waits for it}}
    %c0 = tile.copy_async %v[%w, %w], %s[%w] {copy = !copy} : !view, !s3, i32, i32
    gpu.return
  }
}
