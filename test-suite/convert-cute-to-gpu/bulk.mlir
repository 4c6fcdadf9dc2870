// Bulk copies: an instruction for each run, of so many bytes as is known, or computed.
// RUN: %cute-opt %s --convert-cute-to-gpu | FileCheck %s

!p = !cute.ptr<f32, gmem, align<16>>
!g = !cute.memref<f32, gmem, align<16>, "(4,64):(?{div=4},1)">
!r = !cute.memref<f32, gmem, align<16>, "?{div=4}:1">
!v = !cute.memref<f32, smem, align<128>, "(4,64):(64,1)">
!w = !cute.memref<f32, smem, align<128>, "256:1">
!b = !cute.memref<ui64, smem, align<128>, "2:1">
!copy = !cute_nvgpu.atom.bulk_copy<f32>
!reduce = !cute_nvgpu.atom.bulk_reduce<add, f32>

gpu.module @m attributes {cute.target = #cute.target<"sm_90a">} {
  // CHECK-LABEL: gpu.func @runs
  // CHECK-COUNT-4: "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], 256, [$2];", "r,l,r,~{memory}"
  // CHECK: "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [$0], [$1], $2, [$3], $4;", "r,l,r,r,h,~{memory}"
  // CHECK: "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [$0], [$1], $2;", "l,r,r,~{memory}"
  // CHECK: "mapa.shared::cluster.u32
  // CHECK: "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [$0], [$1], 1024, [$2];", "r,r,r,~{memory}"
  // CHECK: "cp.async.bulk.prefetch.L2.global [$0], $1;", "l,r,~{memory}"
  // CHECK-NOT: cute.
  gpu.func @runs(%p: !p, %ld: i32, %n: i32, %rank: i32) kernel {
    %v = cute.memref.alloc_smem() {offset = 0 : i64} : () -> !v
    %w = cute.memref.alloc_smem() {offset = 1024 : i64} : () -> !w
    %b = cute.memref.alloc_smem() {offset = 2048 : i64} : () -> !b
    %i = cute.static : !cute.int_tuple<"0">
    %step = cute.assume(%ld) : (i32) -> !cute.int_tuple<"?{div=4}">
    %length = cute.assume(%n) : (i32) -> !cute.int_tuple<"?{div=4}">
    %shape = cute.static : !cute.shape<"(4,64)">
    %stride = cute.make_stride(%step) : (!cute.int_tuple<"?{div=4}">) -> !cute.stride<"(?{div=4},1)">
    %tile = cute.make_layout(%shape, %stride) : (!cute.shape<"(4,64)">, !cute.stride<"(?{div=4},1)">) -> !cute.layout<"(4,64):(?{div=4},1)">
    %g = cute.make_view(%p, %tile) : (!p, !cute.layout<"(4,64):(?{div=4},1)">) -> !g
    %extent = cute.make_shape(%length) : (!cute.int_tuple<"?{div=4}">) -> !cute.shape<"?{div=4}">
    %row = cute.make_layout(%extent) : (!cute.shape<"?{div=4}">) -> !cute.layout<"?{div=4}:1">
    %r = cute.make_view(%p, %row) : (!p, !cute.layout<"?{div=4}:1">) -> !r
    %copy = cute.static : !copy
    %reduce = cute.static : !reduce
    cute.copy(%copy, %g, %v, %b, %i) : !copy, !g, !v, !b, !cute.int_tuple<"0">
    cute.copy(%copy, %r, %w, %b, %i, %rank) : !copy, !r, !w, !b, !cute.int_tuple<"0">, i32
    cute.copy(%reduce, %w, %r) : !reduce, !w, !r
    cute.copy(%copy, %v, %v, %b, %i, %rank) : !copy, !v, !v, !b, !cute.int_tuple<"0">, i32
    cute.prefetch(%copy, %r) : !copy, !r
    gpu.return
  }
}
