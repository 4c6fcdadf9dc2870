// Tensor maps that a kernel edits: the fields of a map, in shared and in global memory, and its fences.
// RUN: %cute-opt %s --convert-cute-to-gpu | FileCheck %s

!load = !cute_nvgpu.atom.tma_load<f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>
!p = !cute.ptr<ui64, gmem, align<128>>
!x = !cute.ptr<f16, gmem, align<16>>
!map = !cute.memref<ui64, gmem, align<128>, "16:1">
!scratch = !cute.memref<ui64, smem, align<128>, "16:1">
!t = !cute.memref<f16, gmem, align<16>, "(128,64):(64,1)">

gpu.module @m attributes {cute.target = #cute.target<"sm_90a">} {
  // CHECK-LABEL: gpu.func @edits
  // CHECK: "{\0A\09.reg .b64 %low, %high;\0A\09ld.v2.b64 {%low, %high}, [$1+0];\0A\09st.shared::cta.v2.b64 [$0+0], {%low, %high};{{.*}}", "r,l,~{memory}"
  // CHECK: "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [$0], $1;", "r,l,~{memory}"
  // CHECK: "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [$0], 0, $1;", "r,r,~{memory}"
  // CHECK: "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [$0], 1, $1;", "r,r,~{memory}"
  // CHECK: "tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [$0], 0, $1;", "r,l,~{memory}"
  // CHECK: "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [$0], [$1], 128;", "l,r,~{memory}"
  // CHECK: "fence.proxy.tensormap::generic.acquire.gpu [$0], 128;", "l,~{memory}"
  // CHECK: "prefetch.tensormap [$0];", "l,~{memory}"
  // CHECK-NOT: cute.
  gpu.func @edits(%param: !llvm.ptr, %p: !p, %x: !x) kernel {
    %scratch = cute.memref.alloc_smem() {offset = 0 : i64} : () -> !scratch
    %l = cute.static : !cute.layout<"16:1">
    %map = cute.make_view(%p, %l) : (!p, !cute.layout<"16:1">) -> !map
    %lt = cute.static : !cute.layout<"(128,64):(64,1)">
    %t = cute.make_view(%x, %lt) : (!x, !cute.layout<"(128,64):(64,1)">) -> !t
    %load = cute.make_tma_atom(%param) : (!llvm.ptr) -> !load
    cute.copy_tma_desc(%load, %scratch) : !load, !scratch
    cute.update_tma_desc(%load, %t, %scratch) : !load, !t, !scratch
    cute.cp_fence_tma_desc_release(%map, %scratch) : !map, !scratch
    cute.fence_tma_desc_acquire(%map) : !map
    %own = cute.make_tma_atom(%map) : (!map) -> !load
    cute.prefetch_tma_desc(%own) : !load
    gpu.return
  }
}
