// Products of a warpgroup, of operands that descriptors describe.
// RUN: %cute-opt %s | %cute-opt | FileCheck %s
!mma = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = ss>
!rs = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = rs>
!negated = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = ss, negate = ab>
!stage_a = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,8),16),1,4):(((64,512),1),0,16)">
!stage_b = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,2),16),1,4):(((64,512),1),0,16)">
!across = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o ((16,(8,2)),1,4):((1,(64,512)),0,1024)">
!sums = !cute.memref<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),0,0)">
!regs = !cute.memref<bf16, rmem, align<16>, "((2,2,2),1,4):((1,2,4),0,8)">
!sparse = !cute_nvgpu.sm90.mma<"64x16x32", elem_type = (bf16, bf16, f32), frag_kind = ss, sparse = 1>
!twice_b = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,2),32),1,4):(((64,512),1),0,32)">
!words = !cute.memref<i32, rmem, align<16>, "(1,4):(0,1)">

// CHECK-LABEL: func.func @legal
func.func @legal(%a: !stage_a, %b: !stage_b, %t: !across, %r: !regs, %c: !sums, %on: i1, %twice: !twice_b, %e: !words) {
  %ss = cute.static : !mma
  %rs = cute.static : !rs
  // CHECK: nvvm.wgmma.fence.aligned
  nvvm.wgmma.fence.aligned
  // CHECK: cute.gemm(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : {{.*}}, i1
  cute.gemm(%ss, %c, %a, %b, %c, %on) : !mma, !sums, !stage_a, !stage_b, !sums, i1
  // CHECK: cute.gemm(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = rs>
  cute.gemm(%rs, %c, %r, %t, %c) : !rs, !sums, !regs, !across, !sums
  // CHECK: frag_kind = ss, negate = ab>
  %negated = cute.static : !negated
  cute.gemm(%negated, %c, %a, %b, %c) : !negated, !sums, !stage_a, !stage_b, !sums
  // CHECK: frag_kind = ss, sparse = 1>
  %sparse = cute.static : !sparse
  // CHECK: cute.gemm({{.*}}) : {{.*}}, i1, !cute.memref<i32, rmem, align<16>, "(1,4):(0,1)">
  cute.gemm(%sparse, %c, %a, %twice, %c, %on, %e) : !sparse, !sums, !stage_a, !twice_b, !sums, i1, !words
  nvvm.wgmma.commit.group.sync.aligned
  // CHECK: nvvm.wgmma.wait.group.sync.aligned 1
  nvvm.wgmma.wait.group.sync.aligned 1
  return
}
