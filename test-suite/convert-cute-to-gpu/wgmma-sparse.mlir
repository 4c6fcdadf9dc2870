// A product with a sparse A takes a word of metadata for each part of A, and says which pair of threads has it. A is half as long
// along k as B.
// RUN: %cute-opt --cute-allocate-smem --convert-cute-to-gpu %s | FileCheck %s
!mma = !cute_nvgpu.sm90.mma<"64x16x32", elem_type = (bf16, bf16, f32), frag_kind = ss, sparse = 1>
!rs = !cute_nvgpu.sm90.mma<"64x16x64", elem_type = (f8E4M3FN, f8E4M3FN, f32), frag_kind = rs, sparse = 0>
!stage_a = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,8),16),2,2):(((64,512),1),4096,16)">
!stage_b = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,2),32),1,2):(((64,512),1),0,32)">
!sums = !cute.memref<f32, rmem, align<16>, "((2,2,2),2,1):((1,2,4),8,0)">
!words = !cute.memref<i32, rmem, align<16>, "(2,2):(1,2)">
!bytes_a = !cute.memref<f8E4M3FN, rmem, align<16>, "((4,2,2),1,1):((1,4,8),0,0)">
!bytes_b = !cute.memref<f8E4M3FN, smem, align<1024>, "S<3,4,3> o 0 o (((8,2),64),1,1):(((128,1024),1),0,0)">
!one_sum = !cute.memref<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),0,0)">
!word = !cute.memref<i32, rmem, align<16>, "1:0">

gpu.module @products attributes {cute.target = #cute.target<"sm_90a">} {
  // CHECK-LABEL: gpu.func @from_shared_memory
  // Two parts of A along m, two along k: four words, in this order.
  // CHECK: %[[W0:.*]] = llvm.load {{.*}} : !llvm.ptr -> i32
  // Two accumulators in one piece, the second product of each adds.
  // CHECK: "{ wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.bf16.bf16 {$0, $1, $2, $3, $4, $5, $6, $7}, $33, $34, $35, 1, $32, 1, 1, 0, 0; }
  // CHECK-SAME: {$8, $9, $10, $11, $12, $13, $14, $15}, $37, $38, $39, 1, $36, 1, 1, 0, 0; }
  // CHECK-SAME: {$0, $1, $2, $3, $4, $5, $6, $7}, $40, $41, $42, 1, p
  // CHECK-SAME: {$8, $9, $10, $11, $12, $13, $14, $15}, $43, $44, $45, 1, p
  // CHECK-SAME: wgmma.commit_group.sync.aligned;{{.*}}wgmma.wait_group.sync.aligned 0;"
  // CHECK-SAME: 8,9,10,11,12,13,14,15,b,l,l,r,b,l,l,r,l,l,r,l,l,r,~{memory}"
  // CHECK-NOT: wgmma.mma_async
  // CHECK: gpu.return
  gpu.func @from_shared_memory(%on: i1) kernel {
    %mma = cute.static : !mma
    %a = cute.memref.alloc_smem() : () -> !stage_a
    %b = cute.memref.alloc_smem() : () -> !stage_b
    %c = cute.memref.alloca() : () -> !sums
    %e = cute.memref.alloca() : () -> !words
    nvvm.wgmma.fence.aligned
    cute.gemm(%mma, %c, %a, %b, %c, %on, %e) : !mma, !sums, !stage_a, !stage_b, !sums, i1, !words
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    gpu.return
  }

  // CHECK-LABEL: gpu.func @from_registers
  // CHECK: wgmma.mma_async.sp.sync.aligned.m64n16k64.f32.e4m3.e4m3 {$0, $1, $2, $3, $4, $5, $6, $7}, {$16, $17, $18, $19}, $20, $21, 0, p, 1, 1; }
  gpu.func @from_registers() kernel {
    %mma = cute.static : !rs
    %a = cute.memref.alloca() : () -> !bytes_a
    %b = cute.memref.alloc_smem() : () -> !bytes_b
    %c = cute.memref.alloca() : () -> !one_sum
    %e = cute.memref.alloca() : () -> !word
    %on = arith.constant true
    nvvm.wgmma.fence.aligned
    cute.gemm(%mma, %c, %a, %b, %c, %on, %e) : !rs, !one_sum, !bytes_a, !bytes_b, !one_sum, i1, !word
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    gpu.return
  }
}
