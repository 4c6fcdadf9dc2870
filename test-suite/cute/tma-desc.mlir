// Tensor maps in memory that a kernel edits.
// RUN: %cute-opt %s --split-input-file --verify-diagnostics | %cute-opt --split-input-file | FileCheck %s

!load = !cute_nvgpu.atom.tma_load<f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>
!map = !cute.memref<ui64, gmem, align<128>, "16:1">
!scratch = !cute.memref<ui64, smem, align<128>, "16:1">
!t = !cute.memref<f16, gmem, align<16>, "(?,?):(?{div=8},1)">

// CHECK-LABEL: func.func @legal
func.func @legal(%param: !llvm.ptr, %map: !map, %scratch: !scratch, %t: !t) {
  %load = cute.make_tma_atom(%param) : (!llvm.ptr) -> !load
  // CHECK: cute.copy_tma_desc(
  cute.copy_tma_desc(%load, %map) : !load, !map
  cute.copy_tma_desc(%load, %scratch) : !load, !scratch
  // CHECK: cute.update_tma_desc(
  cute.update_tma_desc(%load, %t, %scratch) : !load, !t, !scratch
  // CHECK: cute.cp_fence_tma_desc_release(
  cute.cp_fence_tma_desc_release(%map, %scratch) : !map, !scratch
  // CHECK: nvvm.fence.proxy.release
  nvvm.fence.proxy.release #nvvm.mem_scope<gpu>
  // CHECK: cute.fence_tma_desc_acquire(
  cute.fence_tma_desc_acquire(%map) : !map
  // CHECK: cute.make_tma_atom(%{{.*}}) : (!cute.memref<ui64, gmem, align<128>, "16:1">) -> !cute_nvgpu.atom.tma_load
  %own = cute.make_tma_atom(%map) : (!map) -> !load
  cute.prefetch_tma_desc(%own) : !load
  return
}

// -----

!load = !cute_nvgpu.atom.tma_load<f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>
!scratch = !cute.memref<ui64, smem, align<128>, "16:1">
func.func @smem(%map: !scratch) {
  // expected-error@+1 {{expects a tensor map in gmem, but got one in smem}}
  %load = cute.make_tma_atom(%map) : (!scratch) -> !load
  return
}

// -----

!load = !cute_nvgpu.atom.tma_load<f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>
!map = !cute.memref<ui64, gmem, align<64>, "16:1">
func.func @align(%param: !llvm.ptr, %map: !map) {
  %load = cute.make_tma_atom(%param) : (!llvm.ptr) -> !load
  // expected-error@+1 {{a tensor map lies at a multiple of 128 bytes, but this is proven to lie at multiples of 64 only}}
  cute.copy_tma_desc(%load, %map) : !load, !map
  return
}

// -----

!load = !cute_nvgpu.atom.tma_load<f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>
!map = !cute.memref<ui64, gmem, align<128>, "8:1">
func.func @size(%param: !llvm.ptr, %map: !map) {
  // expected-error@+1 {{expects a view of 128 bytes side by side, as 16 elements of u64, where a tensor map lies, but got 8:1 of u64}}
  cute.fence_tma_desc_acquire(%map) : !map
  return
}

// -----

!load = !cute_nvgpu.atom.tma_load<f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>
!map = !cute.memref<ui64, gmem, align<128>, "16:1">
!t = !cute.memref<f16, gmem, align<16>, "(?,?):(?{div=4},1)">
func.func @stride(%param: !llvm.ptr, %map: !map, %t: !t) {
  %load = cute.make_tma_atom(%param) : (!llvm.ptr) -> !load
  // expected-error@+1 {{the stride of mode 0 is not proven to be a multiple of 16 bytes, 8 elements}}
  cute.update_tma_desc(%load, %t, %map) : !load, !t, !map
  return
}

// -----

!load = !cute_nvgpu.atom.tma_load<f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>
!map = !cute.memref<ui64, gmem, align<128>, "16:1">
!t = !cute.memref<f16, gmem, align<16>, "(?,?):(1,?{div=8})">
func.func @major(%param: !llvm.ptr, %map: !map, %t: !t) {
  %load = cute.make_tma_atom(%param) : (!llvm.ptr) -> !load
  // expected-error@+1 {{the map is of tensors whose mode 1 has stride 1}}
  cute.update_tma_desc(%load, %t, %map) : !load, !t, !map
  return
}
