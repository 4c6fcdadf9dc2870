// A tile that waits in memory of each thread's own: groups of `cp.async` by which each thread copies what it will hold, and the waits of that thread alone. A part that
// is taken makes room for the same part of what is loaded into the slot directly behind it.
// RUN: %cute-opt --tile-partition %s -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: %cute-opt %t.mlir -o /dev/null

!view = !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">
!own = !cute.memref<f32, smem, align<128>, "(4,4,32,1):(1,128,4,512)">
!t = tensor<8x64xf32, #tile.tv<"((16,2),(4,4)):((32,1),(8,2))">>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @rounds
  // CHECK-COUNT-2: nvvm.cp.async.commit.group
  // CHECK: nvvm.cp.async.wait.group 1
  // CHECK: cute.copy
  // CHECK: nvvm.cp.async.commit.group
  // CHECK: nvvm.cp.async.wait.group 1
  // CHECK: cute.copy
  // CHECK: nvvm.cp.async.commit.group
  // CHECK-NOT: nvvm.barrier0
  // CHECK: nvvm.cp.async.wait.group 1
  // CHECK: nvvm.cp.async.wait.group 0
  // CHECK-NOT: nvvm.cp.async
  // CHECK: gpu.return
  gpu.func @rounds(%x: !view, %y: !view) attributes {known_block_size = array<i32: 32, 1, 1>} {
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %own = cute.memref.alloc_smem() : () -> !own
    tile.load_async %x[%first, %first], %own[%first] {tile = !t, parts = 2 : i64} : !view, !own, i32, i32
    %a = tile.take %x[%first, %first], %own[%first] {parts = 2 : i64, younger = 1 : i64} : !view, !own, i32, i32 -> !t
    tile.load_async %x[%one, %first], %own[%first] {tile = !t, parts = 2 : i64} : !view, !own, i32, i32
    tile.store %a, %y[%first, %first] : !t, !view, i32, i32
    %b = tile.take %x[%one, %first], %own[%first] {parts = 2 : i64, younger = 1 : i64} : !view, !own, i32, i32 -> !t
    tile.store %b, %y[%one, %first] : !t, !view, i32, i32
    gpu.return
  }
}
