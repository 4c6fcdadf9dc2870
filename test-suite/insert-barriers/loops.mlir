// A barrier where threads could meet in a stage, and nowhere else.
// RUN: %cute-opt --insert-barriers %s | FileCheck %s

!t = tensor<32x32xf32, #tile.tv<"(32,32):(32,1)">>
!r = tensor<32x32xf32, #tile.tv<"(32,32):(1,32)">>
!s1 = !cute.memref<f32, smem, align<128>, "(32,32,1):(1,32,1024)">
!s2 = !cute.memref<f32, smem, align<128>, "(32,32,2):(1,32,1024)">
!s3 = !cute.memref<f32, smem, align<128>, "(32,32,3):(1,32,1024)">
!view = !cute.memref<f32, gmem, align<16>, "(?,?{div=4}):(?{i64 div=4},1)">

gpu.module @kernels {
  // What is written is read by others; two reads need nothing between them; what is read is overwritten.
  // CHECK-LABEL: gpu.func @once
  // CHECK: tile.write
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.read
  // CHECK-NEXT: tile.read
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.write
  // CHECK-NEXT: gpu.return
  gpu.func @once(%x: !t, %i: i32) {
    %s = cute.memref.alloc_smem() : () -> !s1
    tile.write %x, %s[%i] : !t, !s1
    %a = tile.read %s[%i] [0, 0] : !s1 -> !r
    %b = tile.read %s[%i] [0, 0] : !s1 -> !t
    tile.write %x, %s[%i] : !t, !s1
    gpu.return
  }

  // Buffers do not touch each other.
  // CHECK-LABEL: gpu.func @two
  // CHECK-NOT: barrier
  // CHECK: gpu.return
  gpu.func @two(%x: !t, %i: i32) {
    %s = cute.memref.alloc_smem() : () -> !s1
    %o = cute.memref.alloc_smem() : () -> !s1
    tile.write %x, %s[%i] : !t, !s1
    %a = tile.read %o[%i] [0, 0] : !s1 -> !r
    gpu.return
  }

  // The next round overwrites what this one reads: a barrier before each.
  // CHECK-LABEL: gpu.func @loop
  // CHECK: scf.for
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.write
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.read
  // CHECK-NOT: barrier
  // CHECK: gpu.return
  gpu.func @loop(%x: !t, %n: i32, %one: i32) {
    %s = cute.memref.alloc_smem() : () -> !s1
    scf.for %t = %one to %n step %one : i32 {
      tile.write %x, %s[%one] : !t, !s1
      %a = tile.read %s[%one] [0, 0] : !s1 -> !r
    }
    gpu.return
  }

  // Three stages, copies two rounds ahead: one barrier a round, which serves both what arrived and what is
  // overwritten next.
  // CHECK-LABEL: gpu.func @rounds
  // CHECK: scf.for
  // CHECK-NEXT: wait
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.read
  // CHECK-NEXT: tile.copy_async
  // CHECK-NEXT: tile.commit
  // CHECK-NEXT: scf.yield
  // CHECK-NEXT: }
  // CHECK: gpu.return
  gpu.func @rounds(%v: !view, %n: i32, %one: i32, %w: i32, %r: i32) {
    %s = cute.memref.alloc_smem() : () -> !s3
    %c0 = tile.copy_async %v[%one, %one], %s[%w] {tile.iteration = 0 : i32} : !view, !s3, i32, i32
    %g0 = tile.commit %c0
    %c1 = tile.copy_async %v[%one, %one], %s[%w] {tile.iteration = 1 : i32} : !view, !s3, i32, i32
    %g1 = tile.commit %c1
    %end:2 = scf.for %t = %one to %n step %one iter_args(%now = %g0, %next = %g1) -> (!tile.token, !tile.token) : i32 {
      tile.wait %now
      %a = tile.read %s[%r] [0, 0] {tile.iteration = 0 : i32} : !s3 -> !r
      %c2 = tile.copy_async %v[%one, %t], %s[%w] {tile.iteration = 2 : i32} : !view, !s3, i32, i32
      %g2 = tile.commit %c2
      scf.yield %next, %g2 : !tile.token, !tile.token
    }
    gpu.return
  }

  // The same with a stage less: what is overwritten was read in the same round.
  // CHECK-LABEL: gpu.func @fewer
  // CHECK: scf.for
  // CHECK-NEXT: wait
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.read
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.copy_async
  gpu.func @fewer(%v: !view, %n: i32, %one: i32, %w: i32, %r: i32) {
    %s = cute.memref.alloc_smem() : () -> !s2
    %c0 = tile.copy_async %v[%one, %one], %s[%w] {tile.iteration = 0 : i32} : !view, !s2, i32, i32
    %g0 = tile.commit %c0
    %c1 = tile.copy_async %v[%one, %one], %s[%w] {tile.iteration = 1 : i32} : !view, !s2, i32, i32
    %g1 = tile.commit %c1
    %end:2 = scf.for %t = %one to %n step %one iter_args(%now = %g0, %next = %g1) -> (!tile.token, !tile.token) : i32 {
      tile.wait %now
      %a = tile.read %s[%r] [0, 0] {tile.iteration = 0 : i32} : !s2 -> !r
      %c2 = tile.copy_async %v[%one, %t], %s[%w] {tile.iteration = 2 : i32} : !view, !s2, i32, i32
      %g2 = tile.commit %c2
      scf.yield %next, %g2 : !tile.token, !tile.token
    }
    gpu.return
  }

  // On one way of two it was written.
  // CHECK-LABEL: gpu.func @branch
  // CHECK: scf.if
  // CHECK: }
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.read
  gpu.func @branch(%x: !t, %c: i1, %i: i32) {
    %s = cute.memref.alloc_smem() : () -> !s1
    scf.if %c {
      tile.write %x, %s[%i] : !t, !s1
    }
    %a = tile.read %s[%i] [0, 0] : !s1 -> !r
    gpu.return
  }

  // Groups that nobody waits for are no end of work.
  // CHECK-LABEL: gpu.func @forever
  // CHECK-NOT: barrier
  // CHECK: gpu.return
  gpu.func @forever(%v: !view, %n: i32, %one: i32) {
    %s = cute.memref.alloc_smem() : () -> !s1
    scf.for %t = %one to %n step %one : i32 {
      %c = tile.copy_async %v[%one, %t], %s[%one] : !view, !s1, i32, i32
      %g = tile.commit %c
    }
    gpu.return
  }

  // A barrier that is there counts.
  // CHECK-LABEL: gpu.func @there
  // CHECK: tile.write
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.read
  gpu.func @there(%x: !t, %i: i32) {
    %s = cute.memref.alloc_smem() : () -> !s1
    tile.write %x, %s[%i] : !t, !s1
    nvvm.barrier0
    %a = tile.read %s[%i] [0, 0] : !s1 -> !r
    gpu.return
  }
}
