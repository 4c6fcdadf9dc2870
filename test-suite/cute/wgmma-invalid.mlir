// What no product of a warpgroup can read is refused, with the layout that it misses.
// RUN: %cute-opt --split-input-file --verify-diagnostics %s

!mma = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = ss>
!rs = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = rs>
!one_b = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,2),16),1,1):(((64,512),1),0,0)">
!sums = !cute.memref<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),0,0)">
!a = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o ((64,16),1,1):((72,1),0,0)">
func.func @not_canonical(%a: !a, %b: !one_b, %c: !sums) {
  %mma = cute.static : !mma
  // expected-error@+1 {{frag_kind = ss> cannot read A by a descriptor: S<3,3,3> o 0 o (64,16):(72,1) is not canonical: expected the K-major S<3,3,3> o 0 o ((8,8),(8,2)):((64,SBO),(1,8)), SBO multiples of 512 elements}}
  cute.gemm(%mma, %c, %a, %b, %c) : !mma, !sums, !a, !one_b, !sums
  return
}

// -----

!mma = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = ss>
!rs = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = rs>
!one_b = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,2),16),1,1):(((64,512),1),0,0)">
!sums = !cute.memref<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),0,0)">
!a = !cute.memref<bf16, smem, align<1024>, "S<3,2,3> o 0 o (((8,8),16),1,1):(((64,512),1),0,0)">
func.func @other_swizzle(%a: !a, %b: !one_b, %c: !sums) {
  %mma = cute.static : !mma
  // expected-error@+1 {{the swizzle S<3,2,3> is none that the instruction knows; expected none, S<1,3,3>, S<2,3,3>, S<3,3,3>}}
  cute.gemm(%mma, %c, %a, %b, %c) : !mma, !sums, !a, !one_b, !sums
  return
}

// -----

!mma = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = ss>
!rs = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = rs>
!one_b = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,2),16),1,1):(((64,512),1),0,0)">
!sums = !cute.memref<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),0,0)">
!a = !cute.memref<bf16, smem, align<128>, "S<3,3,3> o 0 o (((8,8),16),1,1):(((64,512),1),0,0)">
func.func @not_aligned(%a: !a, %b: !one_b, %c: !sums) {
  %mma = cute.static : !mma
  // expected-error@+1 {{its swizzle repeats every 1024 bytes, but it is aligned to 128; allocate it with `align = 1024`}}
  cute.gemm(%mma, %c, %a, %b, %c) : !mma, !sums, !a, !one_b, !sums
  return
}

// -----

!mma = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = ss>
!rs = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = rs>
!one_b = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,2),16),1,1):(((64,512),1),0,0)">
!sums = !cute.memref<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),0,0)">
!a = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 4 o (((8,8),16),1,1):(((64,512),1),0,0)">
func.func @start(%a: !a, %b: !one_b, %c: !sums) {
  %mma = cute.static : !mma
  // expected-error@+1 {{a part starts at element 4, which is not proven to be a multiple of 8}}
  cute.gemm(%mma, %c, %a, %b, %c) : !mma, !sums, !a, !one_b, !sums
  return
}

// -----

!mma = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = ss>
!rs = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = rs>
!one_b = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,2),16),1,1):(((64,512),1),0,0)">
!sums = !cute.memref<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),0,0)">
!a = !cute.memref<bf16, rmem, align<16>, "((2,2,2),1,1):((1,2,4),0,0)">
func.func @in_registers(%a: !a, %b: !one_b, %c: !sums) {
  %mma = cute.static : !mma
  // expected-error@+1 {{A in smem, which !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = ss> reads by itself, but got A in rmem}}
  cute.gemm(%mma, %c, %a, %b, %c) : !mma, !sums, !a, !one_b, !sums
  return
}

// -----

!mma = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = ss>
!rs = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = rs>
!one_b = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,2),16),1,1):(((64,512),1),0,0)">
!sums = !cute.memref<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),0,0)">
!a = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,8),16),1,1):(((64,512),1),0,0)">
func.func @in_shared(%a: !a, %b: !one_b, %c: !sums) {
  %mma = cute.static : !rs
  // expected-error@+1 {{A in registers, but got A in smem}}
  cute.gemm(%mma, %c, %a, %b, %c) : !rs, !sums, !a, !one_b, !sums
  return
}

// -----

!mma = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = ss>
!rs = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = rs>
!one_b = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,2),16),1,1):(((64,512),1),0,0)">
!sums = !cute.memref<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),0,0)">
!a = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,8),16),1,1):(((64,512),1),0,0)">
!wide = !cute.memref<f32, rmem, align<16>, "((2,2,4),1,1):((1,2,4),0,0)">
func.func @too_many_sums(%a: !a, %b: !one_b, %c: !wide) {
  %mma = cute.static : !mma
  // expected-error@+1 {{D as (V) or (V, M, N) with 8 values an atom}}
  cute.gemm(%mma, %c, %a, %b, %c) : !mma, !wide, !a, !one_b, !wide
  return
}

// -----

!mma = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = ss>
!rs = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = rs>
!one_b = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,2),16),1,1):(((64,512),1),0,0)">
!sums = !cute.memref<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),0,0)">
!a = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,8),16),1,1):(((64,512),1),0,0)">
func.func @accumulate(%a: !a, %b: !one_b, %c: !sums, %x: f32) {
  %mma = cute.static : !mma
  // expected-error@+1 {{an i1 that says whether to add to C}}
  cute.gemm(%mma, %c, %a, %b, %c, %x) : !mma, !sums, !a, !one_b, !sums, f32
  return
}

// -----

!tf32 = !cute_nvgpu.sm90.mma<"64x16x8", elem_type = (tf32, tf32, f32), frag_kind = ss>
!a = !cute.memref<f32, smem, align<1024>, "S<3,2,3> o 0 o ((32,2),8):((1,256),32)">
!b = !cute.memref<f32, smem, align<1024>, "S<3,2,3> o 0 o ((8,2),8):((32,256),1)">
!sums = !cute.memref<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),0,0)">
func.func @across(%a: !a, %b: !b, %c: !sums) {
  %mma = cute.static : !tf32
  // expected-error@+1 {{with 512 values an atom}}
  cute.gemm(%mma, %c, %a, %b, %c) : !tf32, !sums, !a, !b, !sums
  return
}

// -----

!tf32 = !cute_nvgpu.sm90.mma<"64x16x8", elem_type = (tf32, tf32, f32), frag_kind = ss>
!a = !cute.memref<f32, smem, align<1024>, "S<3,2,3> o 0 o (((32,2),8)):(((1,256),32))">
!b = !cute.memref<f32, smem, align<1024>, "S<3,2,3> o 0 o (((8,2),8)):(((32,256),1))">
!sums = !cute.memref<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),0,0)">
func.func @across(%a: !a, %b: !b, %c: !sums) {
  %mma = cute.static : !tf32
  // expected-error@+1 {{is MN-major, which only elements of 16 bits can be, not f32; expected neighbours along k}}
  cute.gemm(%mma, %c, %a, %b, %c) : !tf32, !sums, !a, !b, !sums
  return
}

// -----

!mma = !cute_nvgpu.sm90.mma<"64x16x32", elem_type = (bf16, bf16, f32), frag_kind = ss, sparse = 0>
!a = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,8),16),1,1):(((64,512),1),0,0)">
!b = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,2),32),1,1):(((64,512),1),0,0)">
!sums = !cute.memref<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),0,0)">
func.func @metadata(%a: !a, %b: !b, %c: !sums) {
  %mma = cute.static : !mma
  // expected-error@+1 {{multiplies a sparse A, and expects `metadata`: words in registers that tell where its elements belong}}
  cute.gemm(%mma, %c, %a, %b, %c) : !mma, !sums, !a, !b, !sums
  return
}

// -----

!mma = !cute_nvgpu.sm90.mma<"64x16x32", elem_type = (bf16, bf16, f32), frag_kind = ss, sparse = 0>
!a = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,8),16),1,1):(((64,512),1),0,0)">
!b = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,2),32),1,1):(((64,512),1),0,0)">
!sums = !cute.memref<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),0,0)">
!words = !cute.memref<i32, rmem, align<16>, "2:1">
func.func @words(%a: !a, %b: !b, %c: !sums, %on: i1, %e: !words) {
  %mma = cute.static : !mma
  // expected-error@+1 {{expects a word of metadata for each of 1 parts of A, but got 2:1}}
  cute.gemm(%mma, %c, %a, %b, %c, %on, %e) : !mma, !sums, !a, !b, !sums, i1, !words
  return
}

// -----

!mma = !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = ss>
!a = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,8),16),1,1):(((64,512),1),0,0)">
!b = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,2),16),1,1):(((64,512),1),0,0)">
!sums = !cute.memref<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),0,0)">
!words = !cute.memref<i32, rmem, align<16>, "1:0">
func.func @dense(%a: !a, %b: !b, %c: !sums, %on: i1, %e: !words) {
  %mma = cute.static : !mma
  // expected-error@+1 {{expects no metadata, as A is not sparse}}
  cute.gemm(%mma, %c, %a, %b, %c, %on, %e) : !mma, !sums, !a, !b, !sums, i1, !words
  return
}

// -----

!mma = !cute_nvgpu.sm90.mma<"64x16x32", elem_type = (bf16, bf16, f32), frag_kind = ss, sparse = 0>
!a = !cute.memref<bf16, smem, align<1024>, "S<3,3,3> o 0 o (((8,8),16),1,1):(((64,512),1),0,0)">
!b = !cute.memref<bf16, smem, align<1024>, "S<1,3,3> o 0 o (((8,2),(16,2)),1,1):(((16,128),(1,256)),0,0)">
!sums = !cute.memref<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),0,0)">
!words = !cute.memref<i32, rmem, align<16>, "1:0">
func.func @narrow(%a: !a, %b: !b, %c: !sums, %on: i1, %e: !words) {
  %mma = cute.static : !mma
  // expected-error@+1 {{cannot read B by a descriptor: S<1,3,3> o 0 o ((8,2),(16,2)):((16,128),(1,256)) is not canonical}}
  cute.gemm(%mma, %c, %a, %b, %c, %on, %e) : !mma, !sums, !a, !b, !sums, i1, !words
  return
}

// -----

// expected-error@+1 {{all threads have metadata of elements of 8 bits}}
func.func private @pair(!cute_nvgpu.sm90.mma<"64x16x64", elem_type = (i8, i8, i32), frag_kind = ss, sparse = 1>)

// -----

// expected-error@+1 {{sparse = 0 or 1}}
func.func private @no_pair(!cute_nvgpu.sm90.mma<"64x16x32", elem_type = (bf16, bf16, f32), frag_kind = ss, sparse = 2>)
