// Reductions: the values of a thread, then lanes by shuffles, then warps through shared memory.
// RUN: %cute-opt --tile-assign-layouts --tile-partition --split-input-file --verify-diagnostics %s | FileCheck %s

!rows = !cute.memref<f32, gmem, align<16>, "(?,?{div=4}):(?{i64 div=4},1)">

gpu.module @kernels {
  // Four values, four lanes: three additions and two shuffles, no shared memory.
  // CHECK-LABEL: gpu.func @lanes
  // CHECK-COUNT-3: arith.addf {{.*}} : f32
  // CHECK: nvvm.shfl.sync bfly
  // CHECK: nvvm.shfl.sync bfly
  // CHECK-NOT: nvvm.shfl
  // CHECK-NOT: alloc_smem
  // CHECK-NOT: nvvm.barrier0
  gpu.func @lanes(%x: !rows, %i: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<32x16xf32>
    %sum = tile.reduce "add" %a 1 : tensor<32x16xf32> -> tensor<32x1xf32>
    tile.store %sum, %x[%i, %i] : tensor<32x1xf32>, !rows, i32, i32
    gpu.return
  }

  // Squares that only the sum takes are computed when it is their turn, so that 128 do not wait beside what they are computed of; others are there before.
  // CHECK-LABEL: gpu.func @squares
  // CHECK-NOT: arith.mulf {{.*}} : vector
  // CHECK: %[[A:.*]] = arith.mulf {{.*}} : f32
  // CHECK: %[[B:.*]] = arith.mulf {{.*}} : f32
  // CHECK: arith.addf %[[A]], %[[B]] : f32
  // CHECK: arith.mulf {{.*}} : f32
  // CHECK-NOT: arith.mulf {{.*}} : vector
  // CHECK: nvvm.shfl
  // CHECK: arith.mulf {{.*}} : vector<128xf32>
  gpu.func @squares(%x: !rows, %i: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<64x256xf32>
    %square = tile.map(%a) {
    ^bb0(%one: f32):
      %two = arith.mulf %one, %one : f32
      tile.yield %two : f32
    } : (tensor<64x256xf32>) -> tensor<64x256xf32>
    %sum = tile.reduce "add" %square 1 : tensor<64x256xf32> -> tensor<64x1xf32>
    tile.store %sum, %x[%i, %i] : tensor<64x1xf32>, !rows, i32, i32
    %again = tile.map(%a) {
    ^bb0(%one: f32):
      %two = arith.mulf %one, %one : f32
      tile.yield %two : f32
    } : (tensor<64x256xf32>) -> tensor<64x256xf32>
    %largest = tile.reduce "max" %again 1 : tensor<64x256xf32> -> tensor<64x1xf32>
    tile.store %again, %x[%i, %i] : tensor<64x256xf32>, !rows, i32, i32
    tile.store %largest, %x[%i, %i] : tensor<64x1xf32>, !rows, i32, i32
    gpu.return
  }

  // A row over all four warps: one number of each in shared memory, written by its first lane.
  // CHECK-LABEL: gpu.func @warps
  // CHECK-COUNT-5: nvvm.shfl.sync bfly
  // CHECK: cute.memref.alloc_smem() : () -> !cute.memref<f32, smem, align<128>, "(1,4):(1,1)">
  // CHECK: scf.if
  // CHECK: cute.memref.store
  // CHECK: nvvm.barrier0
  // CHECK-COUNT-4: cute.memref.load
  // CHECK-NOT: nvvm.barrier0
  // CHECK: gpu.return
  gpu.func @warps(%x: !rows, %i: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<1x512xf32>
    %top = tile.reduce "max" %a 1 : tensor<1x512xf32> -> tensor<1x1xf32>
    tile.store %top, %x[%i, %i] : tensor<1x1xf32>, !rows, i32, i32
    gpu.return
  }
}

// -----

!rows = !cute.memref<f32, gmem, align<16>, "(?,?{div=4}):(?{i64 div=4},1)">

gpu.module @kernels {
  // In a loop the next round waits until all have read.
  // CHECK-LABEL: gpu.func @rounds
  // CHECK: scf.for
  // CHECK: nvvm.barrier0
  // CHECK-COUNT-4: cute.memref.load
  // CHECK: nvvm.barrier0
  gpu.func @rounds(%x: !rows, %n: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %from = arith.constant 0 : i32
    %step = arith.constant 1 : i32
    scf.for %t = %from to %n step %step : i32 {
      %a = tile.load %x[%t, %from] : !rows, i32, i32 -> tensor<1x512xf32>
      %top = tile.reduce "max" %a 1 : tensor<1x512xf32> -> tensor<1x1xf32>
      tile.store %top, %x[%t, %from] : tensor<1x1xf32>, !rows, i32, i32
    }
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @kind(%x: !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">, %i: i32) {
    %a = tile.load %x[%i, %i] : !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">, i32, i32 -> tensor<32x16xf32>
    // expected-error@+1 {{cannot combine f32 by xor}}
    %sum = tile.reduce "xor" %a 1 : tensor<32x16xf32> -> tensor<32x1xf32>
    gpu.return
  }
}
