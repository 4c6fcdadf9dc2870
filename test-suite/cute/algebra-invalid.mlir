// Operations that make no sense say what they expect and what they got.
// RUN: %cute-opt --split-input-file --verify-diagnostics %s

func.func @static_is_static() {
  // expected-error@+1 {{'cute.static' op expects result to be static}}
  %0 = cute.static : !cute.shape<"(?,64)">
  return
}

// -----

func.func @result(%a: !cute.layout<"(4,8):(1,4)">) {
  // expected-error@+2 {{inferred type(s) '!cute.layout<"32:1">' are incompatible with return type(s) of operation '!cute.layout<"31:1">'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = cute.coalesce(%a) : (!cute.layout<"(4,8):(1,4)">) -> !cute.layout<"31:1">
  return
}

// -----

func.func @mode(%a: !cute.layout<"(4,8):(1,4)">) {
  // expected-error@+2 {{expects mode 2 of a value of rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = cute.get<[2]> (%a) : !cute.layout<"(4,8):(1,4)"> -> !cute.layout<"8:4">
  return
}

// -----

func.func @divide(%a: !cute.layout<"(4,8):(1,4)">, %t: !cute.tile<"[2:1;2:1;2:1]">) {
  // expected-error@+2 {{[2:1;2:1;2:1] has 3 modes; expected at most 2}}
  // expected-error@+1 {{'cute.zipped_divide' op failed to infer returned types}}
  %0 = cute.zipped_divide(%a, %t) : (!cute.layout<"(4,8):(1,4)">, !cute.tile<"[2:1;2:1;2:1]">) -> !cute.layout<"1:0">
  return
}

// -----

func.func @divisibility(%m: i32) {
  // expected-error@+1 {{expects an integer divisible by 8}}
  %0 = cute.make_shape(%m) : (i32) -> !cute.shape<"?{div=8}">
  return
}

// -----

func.func @vector_width(%a: !cute.memref<f32, gmem, align<4>, "(4,2):(1,8)">, %b: !cute.memref<f32, rmem, align<16>, "(4,2):(1,4)">) {
  %atom = cute.static : !cute_nvgpu.atom.universal_copy<f32, 128 b>
  // expected-error@+1 {{needs the source aligned to 16 bytes}}
  cute.copy(%atom, %a, %b) : !cute_nvgpu.atom.universal_copy<f32, 128 b>, !cute.memref<f32, gmem, align<4>, "(4,2):(1,8)">, !cute.memref<f32, rmem, align<16>, "(4,2):(1,4)">
  return
}

// -----

func.func @not_contiguous(%a: !cute.memref<f32, gmem, align<16>, "(4,2):(8,1)">, %b: !cute.memref<f32, rmem, align<16>, "(4,2):(1,4)">) {
  %atom = cute.static : !cute_nvgpu.atom.universal_copy<f32, 128 b>
  // expected-error@+1 {{needs 4 contiguous elements in the source, but they lie as 4:8}}
  cute.copy(%atom, %a, %b) : !cute_nvgpu.atom.universal_copy<f32, 128 b>, !cute.memref<f32, gmem, align<16>, "(4,2):(8,1)">, !cute.memref<f32, rmem, align<16>, "(4,2):(1,4)">
  return
}

// -----

func.func @spaces(%a: !cute.memref<f32, smem, align<16>, "(4,2):(1,4)">, %b: !cute.memref<f32, smem, align<16>, "(4,2):(1,4)">) {
  %atom = cute.static : !cute_nvgpu.atom.simt_async_copy<f32, cache = global, 128 b>
  // expected-error@+1 {{expects a copy from gmem to smem}}
  cute.copy(%atom, %a, %b) : !cute_nvgpu.atom.simt_async_copy<f32, cache = global, 128 b>, !cute.memref<f32, smem, align<16>, "(4,2):(1,4)">, !cute.memref<f32, smem, align<16>, "(4,2):(1,4)">
  return
}

// -----

func.func @gemm_shapes(%d: !cute.memref<f32, rmem, align<16>, "(1,2,2):(1,1,2)">, %a: !cute.memref<f32, rmem, align<16>, "(1,2):(1,1)">, %b: !cute.memref<f32, rmem, align<16>, "(1,3):(1,1)">) {
  %mma = cute.static : !cute.tiled_mma<!cute_nvgpu.atom.universal_fma<f32>, atom_layout_MNK = <"(16,16,1):(16,1,0)">, permutation_MNK = <"[_;_;_]">>
  // expected-error@+1 {{shapes do not fit: D (1,2,2), A (1,2), B (1,3), C (1,2,2)}}
  cute.gemm(%mma, %d, %a, %b, %d) : !cute.tiled_mma<!cute_nvgpu.atom.universal_fma<f32>, atom_layout_MNK = <"(16,16,1):(16,1,0)">, permutation_MNK = <"[_;_;_]">>, !cute.memref<f32, rmem, align<16>, "(1,2,2):(1,1,2)">, !cute.memref<f32, rmem, align<16>, "(1,2):(1,1)">, !cute.memref<f32, rmem, align<16>, "(1,3):(1,1)">, !cute.memref<f32, rmem, align<16>, "(1,2,2):(1,1,2)">
  return
}

// -----

func.func @predicate_crosses(%a: !cute.memref<f32, gmem, align<16>, "(4,2):(1,4)">, %b: !cute.memref<f32, rmem, align<16>, "(4,2):(1,4)">, %c: !cute.coord_tensor<"(0,0)", "(4,2):(1@1,4@1)">, %s: !cute.shape<"(?,?)">) {
  %atom = cute.static : !cute_nvgpu.atom.universal_copy<f32, 128 b>
  // expected-error@+1 {{a vector of 4 elements may cross the bound of mode 1}}
  cute.copy(%atom, %a, %b, %c, %s) : !cute_nvgpu.atom.universal_copy<f32, 128 b>, !cute.memref<f32, gmem, align<16>, "(4,2):(1,4)">, !cute.memref<f32, rmem, align<16>, "(4,2):(1,4)">, !cute.coord_tensor<"(0,0)", "(4,2):(1@1,4@1)">, !cute.shape<"(?,?)">
  return
}

// -----

func.func @fill_to_memory(%a: !cute.memref<f32, gmem, align<16>, "4:1">, %b: !cute.memref<f32, rmem, align<16>, "4:1">, %p: !cute.memref<i1, rmem, align<16>, "1:0">) {
  %atom = cute.static : !cute_nvgpu.atom.universal_copy<f32, 128 b>
  // expected-error@+1 {{expects a universal copy from memory to registers, with a predicate, beside `fill`}}
  cute.copy(%atom, %b, %a, %p) {fill = 1.0 : f32} : !cute_nvgpu.atom.universal_copy<f32, 128 b>, !cute.memref<f32, rmem, align<16>, "4:1">, !cute.memref<f32, gmem, align<16>, "4:1">, !cute.memref<i1, rmem, align<16>, "1:0">
  return
}

// -----

func.func @fill_everywhere(%a: !cute.memref<f32, gmem, align<16>, "4:1">, %b: !cute.memref<f32, rmem, align<16>, "4:1">) {
  %atom = cute.static : !cute_nvgpu.atom.universal_copy<f32, 128 b>
  // expected-error@+1 {{expects a universal copy from memory to registers, with a predicate, beside `fill`}}
  cute.copy(%atom, %a, %b) {fill = 1.0 : f32} : !cute_nvgpu.atom.universal_copy<f32, 128 b>, !cute.memref<f32, gmem, align<16>, "4:1">, !cute.memref<f32, rmem, align<16>, "4:1">
  return
}

// -----

func.func @fill_type(%a: !cute.memref<f32, gmem, align<16>, "4:1">, %b: !cute.memref<f32, rmem, align<16>, "4:1">, %p: !cute.memref<i1, rmem, align<16>, "1:0">) {
  %atom = cute.static : !cute_nvgpu.atom.universal_copy<f32, 128 b>
  // expected-error@+1 {{expects a number of f32 as `fill`, but got one of f16}}
  cute.copy(%atom, %a, %b, %p) {fill = 1.0 : f16} : !cute_nvgpu.atom.universal_copy<f32, 128 b>, !cute.memref<f32, gmem, align<16>, "4:1">, !cute.memref<f32, rmem, align<16>, "4:1">, !cute.memref<i1, rmem, align<16>, "1:0">
  return
}

// -----

func.func @tile_beyond(%a: !cute.memref<f32, gmem, align<16>, "(128,32):(32,1)">, %t: i32) {
  %copy = cute.static : !cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 128 b>, layout_copy_tv = <"((16,8),4):((32,1),8)">, tiler_mn = <"[8:1;64:1]">>
  // expected-error@+1 {{the tiled copy covers 64 elements of mode 1, which does not divide the 32 of (128,32)}}
  %p = cute.tiled.copy.partition_S(%copy, %a, %t) : (!cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 128 b>, layout_copy_tv = <"((16,8),4):((32,1),8)">, tiler_mn = <"[8:1;64:1]">>, !cute.memref<f32, gmem, align<16>, "(128,32):(32,1)">, i32) -> !cute.memref<f32, gmem, align<16>, "4:1">
  return
}

// -----

func.func @kind() {
  // expected-error@+1 {{makes a !cute.shape, not a !cute.coord<"4">}}
  %0 = cute.make_shape() : () -> !cute.coord<"4">
  return
}

// -----

func.func @operand_kind(%a: !cute.swizzle<"S<3,3,3>">) {
  // expected-error@+2 {{expects operand #0 to be}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = cute.get<[0]> (%a) : !cute.swizzle<"S<3,3,3>"> -> !cute.swizzle<"S<3,3,3>">
  return
}

// -----

func.func @rank(%a: !cute.shape<"4">) {
  // expected-error@+1 {{expects a rank of 1 to 1024, but got 100000000}}
  %0 = cute.append_to_rank<100000000> (%a, %a) : !cute.shape<"4">, !cute.shape<"4">
  return
}

// -----

func.func @no_modes(%a: !cute.layout<"(4,8):(1,4)">) {
  // expected-error@+2 {{0 <= begin < end, but got begin=1, end=1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = cute.group_modes<1, 1>(%a) : (!cute.layout<"(4,8):(1,4)">) -> !cute.layout<"(4,8):(1,4)">
  return
}

// -----

func.func @tile_of_layouts(%a: !cute.layout<"(4,8):(1,4)">) {
  // expected-error@+1 {{expects operand #0 to be an integer or a !cute.int_tuple of one, but got `!cute.layout<"(4,8):(1,4)">`}}
  %0 = cute.make_tile(%a) : (!cute.layout<"(4,8):(1,4)">) -> !cute.tile<"[(4,8):(1,4)]">
  return
}

// -----

func.func @too_many(%n: i32) {
  // expected-error@+1 {{more operands than dynamic leaves in the result type}}
  %0 = cute.make_tile(%n) : (i32) -> !cute.tile<"[_]">
  return
}

// -----

func.func @shape_of_shape(%s: !cute.shape<"(4,8)">) {
  // expected-error@+2 {{expects operand #0 to be}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = cute.get_shape(%s) : !cute.shape<"(4,8)"> -> !cute.shape<"(4,8)">
  return
}

// -----

func.func @may_go_on(%a: !cute.layout<"(?,3):(1,4)">) {
  // expected-error@+2 {{expects a layout whose run-time extents leave open no mode of the inverse}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = cute.right_inverse(%a) : (!cute.layout<"(?,3):(1,4)">) -> !cute.layout<"?:1">
  return
}

// -----

// 128 is not a multiple of 12 (NVIDIA/cutlass issue 3513).
func.func @uneven(%l: !cute.layout<"(12,(4,8)):(7,(1,30))">, %t: !cute.layout<"128:1">) {
  // expected-error@+2 {{128:1 on the right takes 12 elements at a time from mode 0 on the left, 12:7}}
  // expected-error@+1 {{failed to infer returned types}}
  %z = cute.zipped_divide(%l, %t) : (!cute.layout<"(12,(4,8)):(7,(1,30))">, !cute.layout<"128:1">) -> !cute.layout<"128:1">
  return
}

// -----

func.func @alignment(%p: !cute.ptr<ui8, gmem, align<16>>) {
  // expected-error@+1 {{expects a pointer to gmem aligned to 32 bytes, but got `!cute.ptr<ui8, gmem, align<16>>`}}
  %0 = cute.recast_iter(%p) : (!cute.ptr<ui8, gmem, align<16>>) -> !cute.ptr<i4, gmem, align<32>>
  return
}

// -----

func.func @space(%p: !cute.ptr<ui8, gmem, align<16>>) {
  // expected-error@+1 {{expects a pointer to smem aligned to 16 bytes}}
  %0 = cute.recast_iter(%p) : (!cute.ptr<ui8, gmem, align<16>>) -> !cute.ptr<i4, smem, align<16>>
  return
}

// -----

func.func @one_of_two(%v: !cute.memref<i4, smem, align<16>, "(8,4):(1,8)">, %c: !cute.coord<"(1,0)">) {
  // expected-error@+1 {{elements of i4 are not read or written one by one}}
  %0 = cute.memref.load(%v, %c) : (!cute.memref<i4, smem, align<16>, "(8,4):(1,8)">, !cute.coord<"(1,0)">) -> i4
  return
}

// -----

func.func @updated_in_registers(%a: !cute.memref<f32, gmem, align<16>, "4:1">, %b: !cute.memref<f32, rmem, align<16>, "4:1">) {
  %atom = cute.static : !cute_nvgpu.atom.red<add, f32, 128 b>
  // expected-error@+1 {{expects a copy from rmem to gmem for !cute_nvgpu.atom.red<add, f32, 128 b>, but got from gmem to rmem}}
  cute.copy(%atom, %a, %b) : !cute_nvgpu.atom.red<add, f32, 128 b>, !cute.memref<f32, gmem, align<16>, "4:1">, !cute.memref<f32, rmem, align<16>, "4:1">
  return
}
