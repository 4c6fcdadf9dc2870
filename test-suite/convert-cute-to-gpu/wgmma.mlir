// Products of a warpgroup between which nothing happens are one piece of assembly: descriptors, accumulators that are tied to themselves, and
// a predicate where it says whether to add. A fence and a wait take the accumulators and hand them out.
// RUN: %cute-opt --cute-allocate-smem --convert-cute-to-gpu %s | FileCheck %s
!mma = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = ss>
!rs = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = rs>
!stage_a = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,8),16),1,4):(((64,512),1),0,16)">
!stage_b = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,2),16),1,4):(((64,512),1),0,16)">
!across = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o ((16,(8,2)),1,4):((1,(64,512)),0,1024)">
!sums = !cute.memref<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),0,0)">
!regs = !cute.memref<bf16, rmem, align<16>, "((2,2,2),1,4):((1,2,4),0,8)">
!one = !cute.memref<bf16, rmem, align<16>, "((2,2,2),1,1):((1,2,4),0,0)">
!across_one = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o ((16,(8,2)),1,1):((1,(64,512)),0,0)">

gpu.module @products attributes {cute.target = #cute.target<"sm_90a">} {
  // CHECK-LABEL: gpu.func @from_shared_memory
  // The address of shared memory as descriptors hold it.
  // CHECK: %[[START:.*]] = llvm.ptrtoint %{{.*}} : !llvm.ptr<3> to i32
  // CHECK: %[[BITS:.*]] = arith.andi %[[START]]
  // CHECK: %[[LOW:.*]] = arith.shrui %[[BITS]]
  // Of B, which lies 8192 bytes behind A: 512 units of 16 bytes.
  // CHECK: %[[B:.*]] = arith.constant 66048 : i32
  // CHECK: arith.addi %[[LOW]], %[[B]] overflow<nsw> : i32
  // One piece of assembly from the fence to the wait. The first of the k-blocks alone may overwrite.
  // CHECK: llvm.inline_asm has_side_effects "wgmma.fence.sync.aligned;{{.*}}{ wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {$0, $1, $2, $3, $4, $5, $6, $7}, $17, $18, $16, 1, 1, 0, 0; }
  // CHECK-SAME: { .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {$0, $1, $2, $3, $4, $5, $6, $7}, $19, $20, p, 1, 1, 0, 0; }
  // CHECK-SAME: {$0, $1, $2, $3, $4, $5, $6, $7}, $21, $22, p
  // CHECK-SAME: {$0, $1, $2, $3, $4, $5, $6, $7}, $23, $24, p
  // CHECK-SAME: wgmma.commit_group.sync.aligned;{{.*}}wgmma.wait_group.sync.aligned 0;"
  // CHECK-SAME: "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7,b,l,l,l,l,l,l,l,l,~{memory}"
  // CHECK-COUNT-8: llvm.extractvalue
  // CHECK-NOT: {{wgmma|llvm.extractvalue}}
  gpu.func @from_shared_memory(%on: i1) kernel {
    %mma = cute.static : !mma
    %a = cute.memref.alloc_smem() : () -> !stage_a
    %b = cute.memref.alloc_smem() : () -> !stage_b
    %c = cute.memref.alloca() : () -> !sums
    nvvm.wgmma.fence.aligned
    cute.gemm(%mma, %c, %a, %b, %c, %on) : !mma, !sums, !stage_a, !stage_b, !sums, i1
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    gpu.return
  }

  // A from registers, which a fence takes as well; B contiguous along n, so transposed.
  // CHECK-LABEL: gpu.func @from_registers
  // CHECK: "wgmma.fence.sync.aligned;", "=r,=r,=r,=r,=r,=r,=r,=r,=r,=r,=r,=r,=r,=r,=r,=r,=f
  // CHECK: "{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {$0, $1, $2, $3, $4, $5, $6, $7}, {$16, $17, $18, $19}, $20, p, 1, 1, 1; }
  // CHECK-SAME: {$0, $1, $2, $3, $4, $5, $6, $7}, {$31, $32, $33, $34}, $35, p, 1, 1, 1; }
  // CHECK-SAME: wgmma.commit_group.sync.aligned;{{.*}}wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,=f,=f,=f,=f,0
  gpu.func @from_registers() kernel {
    %mma = cute.static : !rs
    %a = cute.memref.alloca() : () -> !regs
    %b = cute.memref.alloc_smem() : () -> !across
    %c = cute.memref.alloca() : () -> !sums
    nvvm.wgmma.fence.aligned
    cute.gemm(%mma, %c, %a, %b, %c) : !rs, !sums, !regs, !across, !sums
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    gpu.return
  }

  // A loop that waits for what its last iteration began carries the accumulators, and tied to a wait they are those of
  // the region or of one around it.
  // CHECK-LABEL: gpu.func @carried
  // CHECK: scf.for {{.*}} iter_args({{.*}}) -> (f32, f32, f32, f32, f32, f32, f32, f32)
  // CHECK: "wgmma.wait_group.sync.aligned 0;", "=f,
  // CHECK: wgmma.mma_async
  // CHECK: scf.yield
  // CHECK: scf.if
  // CHECK: "wgmma.wait_group.sync.aligned 0;", "~{memory}"
  gpu.func @carried(%n: i32, %on: i1) kernel {
    %mma = cute.static : !mma
    %a = cute.memref.alloc_smem() : () -> !stage_a
    %b = cute.memref.alloc_smem() : () -> !stage_b
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    scf.if %on {
      %c = cute.memref.alloca() : () -> !sums
      scf.for %i = %zero to %n step %one : i32 {
        nvvm.wgmma.wait.group.sync.aligned 0
        cute.gemm(%mma, %c, %a, %b, %c) : !mma, !sums, !stage_a, !stage_b, !sums
        nvvm.wgmma.commit.group.sync.aligned
      }
    }
    scf.if %on {
      nvvm.wgmma.wait.group.sync.aligned 0
    }
    gpu.return
  }

  // Products with a barrier between them stay apart.
  // CHECK-LABEL: gpu.func @apart
  // CHECK: p, 1, 1, 1; }", "=f
  // CHECK: nvvm.barrier0
  // CHECK: wgmma.mma_async
  // CHECK-SAME: wgmma.commit_group.sync.aligned;", "=f
  gpu.func @apart() kernel {
    %mma = cute.static : !rs
    %a = cute.memref.alloca() : () -> !one
    %b = cute.memref.alloc_smem() : () -> !across_one
    %c = cute.memref.alloca() : () -> !sums
    nvvm.wgmma.fence.aligned
    cute.gemm(%mma, %c, %a, %b, %c) : !rs, !sums, !one, !across_one, !sums
    nvvm.barrier0
    cute.gemm(%mma, %c, %a, %b, %c) : !rs, !sums, !one, !across_one, !sums
    nvvm.wgmma.commit.group.sync.aligned
    gpu.return
  }
}
