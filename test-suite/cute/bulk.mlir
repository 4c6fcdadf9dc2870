// Atoms of bulk copies without a tensor map, and copies by them.
// RUN: %cute-opt %s --split-input-file --verify-diagnostics | %cute-opt --split-input-file | FileCheck %s

!g = !cute.memref<f16, gmem, align<16>, "(64,64):(?{div=8},1)">
!r = !cute.memref<f16, gmem, align<16>, "?{div=8}:1">
!v = !cute.memref<f16, smem, align<128>, "(64,64):(64,1)">
!w = !cute.memref<f16, smem, align<128>, "4096:1">
!b = !cute.memref<ui64, smem, align<128>, "4:1">
!t = !cute.coord_tensor<"(?{div=64},?{div=64})", "(64,64):(1@0,1@1)">
!copy = !cute_nvgpu.atom.bulk_copy<f16>
!first = !cute_nvgpu.atom.bulk_copy<f16,evict=first>
!reduce = !cute_nvgpu.atom.bulk_reduce<add, f16>
!load = !cute_nvgpu.atom.tma_load<f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 0>

// CHECK-LABEL: func.func @legal
func.func @legal(%map: !llvm.ptr, %g: !g, %r: !r, %v: !v, %w: !w, %b: !b, %t: !t, %s: i32, %rank: i32) {
  %copy = cute.static : !copy
  // CHECK: cute.static : !cute_nvgpu.atom.bulk_copy<f16, evict = first>
  %first = cute.static : !first
  // CHECK: cute.static : !cute_nvgpu.atom.bulk_reduce<add, f16>
  %reduce = cute.static : !reduce
  // CHECK-COUNT-6: cute.copy(
  cute.copy(%copy, %g, %v, %b, %s) : !copy, !g, !v, !b, i32
  cute.copy(%first, %g, %v, %b, %s, %rank) : !first, !g, !v, !b, i32, i32
  cute.copy(%copy, %v, %g) : !copy, !v, !g
  cute.copy(%copy, %w, %r) : !copy, !w, !r
  cute.copy(%reduce, %v, %g) : !reduce, !v, !g
  cute.copy(%copy, %v, %v, %b, %s, %rank) : !copy, !v, !v, !b, i32, i32
  // CHECK-COUNT-2: cute.prefetch(
  cute.prefetch(%copy, %g) : !copy, !g
  %load = cute.make_tma_atom(%map) : (!llvm.ptr) -> !load
  cute.prefetch(%load, %t) : !load, !t
  return
}

// -----

!g = !cute.memref<f16, gmem, align<16>, "(64,64):(?{div=4},1)">
!v = !cute.memref<f16, smem, align<128>, "(64,64):(64,1)">
!copy = !cute_nvgpu.atom.bulk_copy<f16>
func.func @starts(%g: !g, %v: !v) {
  %copy = cute.static : !copy
  // expected-error@+1 {{are not proven to begin at multiples of 16 bytes; promise that its strides are multiples of 8 elements}}
  cute.copy(%copy, %v, %g) : !copy, !v, !g
  return
}

// -----

!g = !cute.memref<f16, gmem, align<8>, "(64,64):(64,1)">
!v = !cute.memref<f16, smem, align<128>, "(64,64):(64,1)">
!copy = !cute_nvgpu.atom.bulk_copy<f16>
func.func @align(%g: !g, %v: !v) {
  %copy = cute.static : !copy
  // expected-error@+1 {{the destination is proven to begin at multiples of 8 bytes only}}
  cute.copy(%copy, %v, %g) : !copy, !v, !g
  return
}

// -----

!g = !cute.memref<f16, gmem, align<16>, "?{div=4}:1">
!v = !cute.memref<f16, smem, align<128>, "4096:1">
!copy = !cute_nvgpu.atom.bulk_copy<f16>
func.func @length(%g: !g, %v: !v) {
  %copy = cute.static : !copy
  // expected-error@+1 {{the number of elements is not proven to be a multiple of 8, 16 bytes}}
  cute.copy(%copy, %v, %g) : !copy, !v, !g
  return
}

// -----

!g = !cute.memref<f16, gmem, align<16>, "(64,?):(?{div=8},1)">
!v = !cute.memref<f16, smem, align<128>, "4096:1">
!copy = !cute_nvgpu.atom.bulk_copy<f16>
func.func @runs(%g: !g, %v: !v) {
  %copy = cute.static : !copy
  // expected-error@+1 {{of a number of elements that is known only at run time one run is copied}}
  cute.copy(%copy, %v, %g) : !copy, !v, !g
  return
}

// -----

!g = !cute.memref<f16, gmem, align<16>, "64:1">
!v = !cute.memref<f16, smem, align<128>, "64:1">
!copy = !cute_nvgpu.atom.bulk_copy<f16>
func.func @barrier(%g: !g, %v: !v) {
  %copy = cute.static : !copy
  // expected-error@+1 {{needs a barrier that counts its bytes}}
  cute.copy(%copy, %g, %v) : !copy, !g, !v
  return
}

// -----

!v = !cute.memref<f16, smem, align<128>, "64:1">
!b = !cute.memref<ui64, smem, align<128>, "4:1">
!reduce = !cute_nvgpu.atom.bulk_reduce<add, f16>
func.func @peer(%v: !v, %b: !b, %s: i32) {
  %reduce = cute.static : !reduce
  // expected-error@+1 {{there is no reduction by add of f16 in shared memory}}
  cute.copy(%reduce, %v, %v, %b, %s, %s) : !reduce, !v, !v, !b, i32, i32
  return
}

// -----

!v = !cute.memref<f16, smem, align<128>, "64:1">
!copy = !cute_nvgpu.atom.bulk_copy<f16>
func.func @prefetch(%v: !v) {
  %copy = cute.static : !copy
  // expected-error@+1 {{expects a view in gmem, and a copy that is no reduction}}
  cute.prefetch(%copy, %v) : !copy, !v
  return
}

// -----

// expected-error@+1 {{expected a reduction that there is of these elements, and no hint but a priority}}
func.func private @how(!cute_nvgpu.atom.bulk_reduce<xor, f16>)

// -----

// expected-error@+1 {{expected a reduction that there is of these elements, and no hint but a priority}}
func.func private @hint(!cute_nvgpu.atom.bulk_copy<f16, cache = streaming>)
