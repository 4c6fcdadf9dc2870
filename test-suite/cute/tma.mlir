// Atoms of copies by tensor maps, and copies by them.
// RUN: %cute-opt %s --split-input-file --verify-diagnostics | %cute-opt --split-input-file | FileCheck %s

!v = !cute.memref<f16, smem, align<1024>, "S<3,3,3> o 0 o (64,64):(64,1)">
!b = !cute.memref<ui64, smem, align<128>, "4:1">
!t = !cute.coord_tensor<"(?{div=64},?{div=64})", "(64,64):(1@0,1@1)">
!load = !cute_nvgpu.atom.tma_load<f16,tile=(64, 64),order=(1,0),box=(64,64),swizzle=128>
!store = !cute_nvgpu.atom.tma_store<f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128, evict = first>
!reduce = !cute_nvgpu.atom.tma_reduce<add, f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>

// CHECK-LABEL: func.func @legal
func.func @legal(%map: !llvm.ptr, %v: !v, %b: !b, %t: !t, %s: i32, %mask: i32) {
  // CHECK: cute.make_tma_atom(%{{.*}}) : (!llvm.ptr) -> !cute_nvgpu.atom.tma_load<f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>
  %load = cute.make_tma_atom(%map) : (!llvm.ptr) -> !load
  %store = cute.make_tma_atom(%map) : (!llvm.ptr) -> !store
  %reduce = cute.make_tma_atom(%map) : (!llvm.ptr) -> !reduce
  // CHECK: cute.prefetch_tma_desc(
  cute.prefetch_tma_desc(%load) : !load
  // CHECK: cute.copy(
  cute.copy(%load, %t, %v, %b, %s) : !load, !t, !v, !b, i32
  cute.copy(%load, %t, %v, %b, %s, %mask) : !load, !t, !v, !b, i32, i32
  cute.copy(%store, %v, %t) : !store, !v, !t
  cute.copy(%reduce, %v, %t) : !reduce, !v, !t
  return
}

// -----

!v = !cute.memref<f16, smem, align<1024>, "S<3,3,3> o 0 o (64,64):(64,1)">
!t = !cute.coord_tensor<"(?{div=64},?{div=64})", "(64,64):(1@0,1@1)">
!load = !cute_nvgpu.atom.tma_load<f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>
func.func @barrier(%map: !llvm.ptr, %v: !v, %t: !t) {
  %load = cute.make_tma_atom(%map) : (!llvm.ptr) -> !load
  // expected-error@+1 {{needs a barrier that counts its bytes}}
  cute.copy(%load, %t, %v) : !load, !t, !v
  return
}

// -----

!v = !cute.memref<f16, smem, align<128>, "S<3,3,3> o 0 o (64,64):(64,1)">
!b = !cute.memref<ui64, smem, align<128>, "4:1">
!t = !cute.coord_tensor<"(?{div=64},?{div=64})", "(64,64):(1@0,1@1)">
!load = !cute_nvgpu.atom.tma_load<f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>
func.func @align(%map: !llvm.ptr, %v: !v, %b: !b, %t: !t, %s: i32) {
  %load = cute.make_tma_atom(%map) : (!llvm.ptr) -> !load
  // expected-error@+1 {{expects a view aligned to 1024 bytes, but it is proven to lie at multiples of 128 only}}
  cute.copy(%load, %t, %v, %b, %s) : !load, !t, !v, !b, i32
  return
}

// -----

!v = !cute.memref<f16, smem, align<1024>, "S<3,3,3> o 0 o (64,64):(64,1)">
!b = !cute.memref<ui64, smem, align<128>, "4:1">
!t = !cute.coord_tensor<"(?{div=64},?{div=4})", "(64,64):(1@0,1@1)">
!load = !cute_nvgpu.atom.tma_load<f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>
func.func @coordinate(%map: !llvm.ptr, %v: !v, %b: !b, %t: !t, %s: i32) {
  %load = cute.make_tma_atom(%map) : (!llvm.ptr) -> !load
  // expected-error@+1 {{expects a tile whose first coordinate along mode 1 is a multiple of 8 elements, 16 bytes}}
  cute.copy(%load, %t, %v, %b, %s) : !load, !t, !v, !b, i32
  return
}

// -----

// expected-error@+1 {{expected a tile of 1 to 5 modes, each once in the order, and a box that divides it}}
func.func private @box(!cute_nvgpu.atom.tma_load<f16, tile = (64,64), order = (1,0), box = (48,64), swizzle = 128>)

// -----

!v = !cute.memref<f16, smem, align<1024>, "S<3,3,3> o 0 o (64,64):(64,1)">
!b = !cute.memref<ui64, smem, align<128>, "4:1">
!load = !cute_nvgpu.atom.tma_load_im2col<2, f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>
!store = !cute_nvgpu.atom.tma_store_im2col<2, f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>
!reduce = !cute_nvgpu.atom.tma_reduce_im2col<2, add, f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>
// CHECK-LABEL: func.func @im2col
func.func @im2col(%map: !llvm.ptr, %v: !v, %b: !b, %c: !cute.int_tuple<"(?,?,?,?{div=8})">, %o: !cute.int_tuple<"(?,?)">, %s: i32) {
  // CHECK: !cute_nvgpu.atom.tma_load_im2col<2, f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>
  %load = cute.make_tma_atom(%map) : (!llvm.ptr) -> !load
  cute.copy(%load, %c, %v, %b, %s, %o) : !load, !cute.int_tuple<"(?,?,?,?{div=8})">, !v, !b, i32, !cute.int_tuple<"(?,?)">
  // CHECK: !cute_nvgpu.atom.tma_store_im2col<2, f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>
  %store = cute.make_tma_atom(%map) : (!llvm.ptr) -> !store
  cute.copy(%store, %v, %c) : !store, !v, !cute.int_tuple<"(?,?,?,?{div=8})">
  // CHECK: !cute_nvgpu.atom.tma_reduce_im2col<2, add, f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>
  %reduce = cute.make_tma_atom(%map) : (!llvm.ptr) -> !reduce
  cute.copy(%reduce, %v, %c) : !reduce, !v, !cute.int_tuple<"(?,?,?,?{div=8})">
  return
}

// -----

!v = !cute.memref<f16, smem, align<1024>, "S<3,3,3> o 0 o (64,64):(64,1)">
!b = !cute.memref<ui64, smem, align<128>, "4:1">
!load = !cute_nvgpu.atom.tma_load_im2col<2, f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>
func.func @pixels(%map: !llvm.ptr, %v: !v, %b: !b, %c: !cute.int_tuple<"(?,?,?{div=8})">, %o: !cute.int_tuple<"(?,?)">, %s: i32) {
  %load = cute.make_tma_atom(%map) : (!llvm.ptr) -> !load
  // expected-error@+1 {{expects the coordinate of a channel of a pixel, 4 numbers}}
  cute.copy(%load, %c, %v, %b, %s, %o) : !load, !cute.int_tuple<"(?,?,?{div=8})">, !v, !b, i32, !cute.int_tuple<"(?,?)">
  return
}

// -----

// expected-error@+1 {{expected 1, 2 or 3 modes of pixels}}
func.func private @modes(!cute_nvgpu.atom.tma_load_im2col<4, f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>)

// -----

// expected-error@+1 {{expected add, min, max, and, or or xor}}
func.func private @how(!cute_nvgpu.atom.tma_reduce<sub, f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 128>)

// -----

// expected-error@+1 {{expected a swizzle of 0, 32, 64 or 128 bytes}}
func.func private @span(!cute_nvgpu.atom.tma_load<f16, tile = (64,64), order = (1,0), box = (64,64), swizzle = 48>)
