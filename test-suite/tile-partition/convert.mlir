// Conversions: registers named anew, lanes that ask each other, or a buffer without bank conflicts.
// RUN: %cute-opt --tile-partition %s | FileCheck %s

!large = !cute.memref<f32, gmem, align<16>, "(128,256):(256,1)">
!rows = !cute.memref<f16, gmem, align<16>, "(64,64):(64,1)">
!accumulators = tensor<16x16xf16, #tile.tv<"((4,8),(2,2,2)):((32,1),(16,8,128))">>
!operand = tensor<16x16xf16, #tile.tv<"((4,8),(2,2,2)):((32,1),(16,128,8))">>
!turned = tensor<16x16xf16, #tile.tv<"((8,4),(2,2,2)):((1,32),(16,8,128))">>
!blocked = tensor<64x64xf16, #tile.tv<"((8,16),(8,4)):((512,1),(64,16))">>
!large_blocked = tensor<128x256xf32, #tile.tv<"((64,4),(4,32)):((512,1),(128,4))">>
!large_sums = tensor<128x256xf32, #tile.tv<"((4,8,8),(2,2,16,2)):((2,128,2048),(1,1024,8,16384))">>
!sums = tensor<64x64xf16, #tile.tv<"((4,8,4),(2,2,8)):((128,1,16),(64,8,512))">>

gpu.module @kernels {
  // The sums of a product as an operand of the next: each thread has what it needs.
  // CHECK-LABEL: gpu.func @registers
  // CHECK-NOT: alloc_smem
  // CHECK-NOT: shfl
  // CHECK-NOT: barrier
  // CHECK: %[[X:.*]] = cute.memref.load_vec
  // CHECK: %[[A:.*]] = vector.extract %[[X]][2]
  // CHECK: vector.from_elements %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[A]],
  gpu.func @registers(%x: !rows, %i: i32) attributes {known_block_size = array<i32: 32, 1, 1>} {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> !accumulators
    %b = tile.convert_layout %a : !accumulators -> !operand
    tile.store %b, %x[%i, %i] : !operand, !rows, i32, i32
    gpu.return
  }

  // Lanes in another order: a shuffle for each two elements.
  // CHECK-LABEL: gpu.func @lanes
  // CHECK-NOT: alloc_smem
  // CHECK-COUNT-4: nvvm.shfl.sync idx
  // CHECK-NOT: nvvm.shfl.sync
  // CHECK-NOT: barrier
  // CHECK: gpu.return
  gpu.func @lanes(%x: !rows, %i: i32) attributes {known_block_size = array<i32: 32, 1, 1>} {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> !accumulators
    %b = tile.convert_layout %a : !accumulators -> !turned
    tile.store %b, %x[%i, %i] : !turned, !rows, i32, i32
    gpu.return
  }

  // Through a buffer without bank conflicts, written in pairs and read in eights.
  // CHECK-LABEL: gpu.func @memory
  // CHECK: alloc_smem() : () -> !cute.memref<f16, smem, align<128>, "(64,64):(72,1)">
  // CHECK-NOT: nvvm.barrier0
  // CHECK: cute.copy({{.*}} : !cute_nvgpu.atom.universal_copy<f16, 32 b>
  // CHECK: nvvm.barrier0
  // CHECK: cute.copy({{.*}} : !cute_nvgpu.atom.universal_copy<f16, 128 b>
  // CHECK-NOT: nvvm.barrier0
  // CHECK: gpu.return
  gpu.func @memory(%x: !rows, %i: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> !sums
    %b = tile.convert_layout %a : !sums -> !blocked
    tile.store %b, %x[%i, %i] : !blocked, !rows, i32, i32
    gpu.return
  }

  // In a loop those who still read what the round before wrote are waited for.
  // CHECK-LABEL: gpu.func @rounds
  // CHECK: scf.for
  // CHECK: nvvm.barrier0
  // CHECK: cute.copy({{.*}} : !cute_nvgpu.atom.universal_copy<f16, 32 b>
  // CHECK: nvvm.barrier0
  // CHECK: cute.copy({{.*}} : !cute_nvgpu.atom.universal_copy<f16, 128 b>
  gpu.func @rounds(%x: !rows, %n: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %from = arith.constant 0 : i32
    %step = arith.constant 1 : i32
    scf.for %t = %from to %n step %step : i32 {
      %a = tile.load %x[%t, %t] : !rows, i32, i32 -> !sums
      %b = tile.convert_layout %a : !sums -> !blocked
      tile.store %b, %x[%t, %t] : !blocked, !rows, i32, i32
    }
    gpu.return
  }

  // Rows that one warp has before and after: it waits for its own lanes alone.
  // CHECK-LABEL: gpu.func @warp
  // CHECK-NOT: nvvm.barrier0
  // CHECK: nvvm.bar.warp.sync
  // CHECK-NOT: nvvm.barrier0
  // CHECK: gpu.return
  gpu.func @warp(%x: !rows, %i: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> !sums
    %b = tile.convert_layout %a : !sums -> tensor<64x64xf16, #tile.tv<"((8,4,4),(8,4)):((512,1,16),(64,4))">>
    tile.store %b, %x[%i, %i] : tensor<64x64xf16, #tile.tv<"((8,4,4),(8,4)):((512,1,16),(64,4))">>, !rows, i32, i32
    gpu.return
  }

  // What would take 132 KB goes through memory in four parts, along the rows, of which each thread has some before and after.
  // CHECK-LABEL: gpu.func @parts
  // CHECK-COUNT-4: alloc_smem() : () -> !cute.memref<f32, smem, align<128>, "(32,256):(260,1)">
  // CHECK-NOT: alloc_smem
  // CHECK: gpu.return
  gpu.func @parts(%x: !large, %i: i32) attributes {known_block_size = array<i32: 256, 1, 1>} {
    %a = tile.load %x[%i, %i] : !large, i32, i32 -> !large_sums
    %b = tile.convert_layout %a : !large_sums -> !large_blocked
    tile.store %b, %x[%i, %i] : !large_blocked, !large, i32, i32
    gpu.return
  }
}
