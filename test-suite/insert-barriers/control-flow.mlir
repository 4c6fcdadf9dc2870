// Stages that are accessed in any kind of control flow are separated; what has regions and is not known is refused.
// RUN: %cute-opt --insert-barriers --split-input-file --verify-diagnostics %s | FileCheck %s

!t = tensor<32x32xf32, #tile.tv<"(32,32):(32,1)">>
!r = tensor<32x32xf32, #tile.tv<"(32,32):(1,32)">>
!s1 = !cute.memref<f32, smem, align<128>, "(32,32,1):(1,32,1024)">

gpu.module @kernels {
  // Each iteration overwrites what the one before it has read.
  // CHECK-LABEL: gpu.func @while
  // CHECK: scf.while
  // CHECK: } do {
  // CHECK: nvvm.barrier0
  // CHECK-NEXT: tile.write
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.read
  // CHECK-NOT: barrier
  // CHECK: gpu.return
  gpu.func @while(%x: !t, %n: i32, %one: i32) {
    %s = cute.memref.alloc_smem() : () -> !s1
    %end = scf.while (%i = %one) : (i32) -> i32 {
      %go = arith.cmpi slt, %i, %n : i32
      scf.condition(%go) %i : i32
    } do {
    ^bb0(%i: i32):
      tile.write %x, %s[%one] : !t, !s1
      %a = tile.read %s[%one] [0, 0] : !s1 -> !r
      %next = arith.addi %i, %one : i32
      scf.yield %next : i32
    }
    gpu.return
  }

  // What a warp alone has read it writes over without one; what the others read of it then has one.
  // CHECK-LABEL: gpu.func @own
  // CHECK: tile.read
  // CHECK-NEXT: tile.write
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.read
  gpu.func @own(%one: i32) {
    %s = cute.memref.alloc_smem() : () -> !s1
    %a = tile.read %s[%one] [0, 0] : !s1 -> !t
    tile.write %a, %s[%one] {tile.own} : !t, !s1
    %b = tile.read %s[%one] [0, 0] : !s1 -> !r
    gpu.return
  }

  // What the condition reads is overwritten by the body, and that is read by the condition.
  // CHECK-LABEL: gpu.func @condition
  // CHECK: scf.while
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.read
  // CHECK: } do {
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.write
  // CHECK: }
  // CHECK-NEXT: gpu.return
  gpu.func @condition(%x: !t, %go: i1, %i: i32) {
    %s = cute.memref.alloc_smem() : () -> !s1
    scf.while : () -> () {
      %a = tile.read %s[%i] [0, 0] : !s1 -> !r
      scf.condition(%go)
    } do {
      tile.write %x, %s[%i] : !t, !s1
      scf.yield
    }
    gpu.return
  }

  // The body may not have run: what was written before the loop is read behind it.
  // CHECK-LABEL: gpu.func @skipped
  // CHECK: tile.write
  // CHECK: scf.while
  // CHECK: do {
  // CHECK: nvvm.barrier0
  // CHECK: }
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.read
  gpu.func @skipped(%x: !t, %go: i1, %i: i32) {
    %s = cute.memref.alloc_smem() : () -> !s1
    tile.write %x, %s[%i] : !t, !s1
    scf.while : () -> () {
      scf.condition(%go)
    } do {
      nvvm.barrier0
      scf.yield
    }
    %a = tile.read %s[%i] [0, 0] : !s1 -> !r
    gpu.return
  }

  // Loops in branches in loops.
  // CHECK-LABEL: gpu.func @nested
  // CHECK: scf.while
  // CHECK: scf.if
  // CHECK: scf.for
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.write
  // CHECK: } else {
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: tile.read
  gpu.func @nested(%x: !t, %go: i1, %i: i32) {
    %s = cute.memref.alloc_smem() : () -> !s1
    scf.while : () -> () {
      scf.condition(%go)
    } do {
      scf.if %go {
        scf.for %k = %i to %i step %i : i32 {
          tile.write %x, %s[%i] : !t, !s1
        }
      } else {
        %a = tile.read %s[%i] [0, 0] : !s1 -> !r
      }
      scf.yield
    }
    gpu.return
  }
}

// -----

!t = tensor<32x32xf32, #tile.tv<"(32,32):(32,1)">>
!s1 = !cute.memref<f32, smem, align<128>, "(32,32,1):(1,32,1024)">
gpu.module @kernels {
  gpu.func @unknown(%x: !t, %i: i32) {
    %s = cute.memref.alloc_smem() : () -> !s1
    // expected-error@+1 {{expects `scf.for`, `scf.while` or `scf.if` as control flow of a kernel, but got `scf.execute_region`}}
    scf.execute_region {
      tile.write %x, %s[%i] : !t, !s1
      scf.yield
    }
    gpu.return
  }
}

// -----

!t = tensor<32x32xf32, #tile.tv<"(32,32):(32,1)">>
!s1 = !cute.memref<f32, smem, align<128>, "(32,32,1):(1,32,1024)">
gpu.module @kernels {
  // expected-error@+1 {{expects a kernel of one block at the tile level, with `scf` as control flow}}
  gpu.func @blocks(%x: !t, %i: i32) {
    %s = cute.memref.alloc_smem() : () -> !s1
    cf.br ^next
  ^next:
    tile.write %x, %s[%i] : !t, !s1
    gpu.return
  }
}
