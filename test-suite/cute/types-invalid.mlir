// A type that means nothing is refused where it is written.
// RUN: %cute-opt --split-input-file --verify-diagnostics %s

// expected-error@+1 {{not a layout: `(4,8):1`}}
func.func @profiles(%a: !cute.layout<"(4,8):1">) { return }

// -----

// expected-error@+1 {{not a shape: `(4,_)`: `_` stands in coordinates only}}
func.func @underscore(%a: !cute.shape<"(4,_)">) { return }

// -----

// expected-error@+1 {{an extent of a layout is positive, not 0}}
func.func @extent(%a: !cute.layout<"(5,0):(1,5)">) { return }

// -----

// expected-error@+1 {{mixes the integer stride 3 with 2@0}}
func.func @mixed(%a: !cute.stride<"(2@0,3)">) { return }

// -----

// expected-error@+1 {{the basis of 1@1@0 lies inside that of 1@0}}
func.func @inside(%a: !cute.stride<"(1@1@0,1@0)">) { return }

// -----

// expected-error@+1 {{not a swizzle}}
func.func @swizzle(%a: !cute.swizzle<"S<3,-1,3>">) { return }

// -----

// expected-error@+1 {{unknown memory space `vmem`; expected gmem, smem, dsmem or rmem}}
func.func @space(%a: !cute.ptr<f16, vmem, align<16>>) { return }

// -----

// expected-error@+1 {{alignment 6 is not a power of two of at least the element's 2 bytes}}
func.func @align(%a: !cute.ptr<f16, gmem, align<6>>) { return }

// -----

// expected-error@+1 {{no copy instruction moves 24 bits of f16}}
func.func @bits(%a: !cute_nvgpu.atom.universal_copy<f16, 24 b>) { return }

// -----

// expected-error@+1 {{`cp.async.cg` moves 128 bits, not 32}}
func.func @async(%a: !cute_nvgpu.atom.simt_async_copy<f32, cache = global, 32 b>) { return }

// -----

// expected-error@+1 {{ldmatrix moves 1, 2 or 4 matrices, not 3}}
func.func @ldsm(%a: !cute_nvgpu.atom.ldsm<val_type = f16, num_matrices = 3, n>) { return }

// -----

// expected-error@+1 {{stmatrix moves 1, 2 or 4 matrices, not 8}}
func.func @stsm(%a: !cute_nvgpu.atom.stsm<val_type = f16, num_matrices = 8, n>) { return }

// -----

// expected-error@+1 {{unknown atom `atom.nothing`; expected one of atom.universal_copy, atom.simt_async_copy, atom.ldsm, atom.stsm, atom.red, sm90.mma, sm80.mma, atom.universal_fma, atom.tma_load, atom.tma_load_im2col, atom.tma_store, atom.tma_store_im2col, atom.tma_reduce, atom.tma_reduce_im2col, atom.bulk_copy, atom.bulk_reduce}}
func.func @unknown_atom(%a: !cute_nvgpu.atom.nothing<f16>) { return }

// -----

// expected-error@+1 {{expected num_matrices in `!cute_nvgpu.atom.ldsm<val_type = f16, 4, n>`}}
func.func @without_key(%a: !cute_nvgpu.atom.ldsm<val_type = f16, 4, n>) { return }

// -----

// expected-error@+1 {{expected val_type in `!cute_nvgpu.atom.ldsm`}}
func.func @without_parameters(%a: !cute_nvgpu.atom.ldsm) { return }

// -----

// expected-error@+1 {{expected MxNxK and three element types in `!cute_nvgpu.sm80.mma<"16x8x16", elem_type = (bf16, bf16)>`}}
func.func @two_types(%a: !cute_nvgpu.sm80.mma<"16x8x16", elem_type = (bf16, bf16)>) { return }

// -----

// expected-error@+1 {{expected no further parameter in `!cute_nvgpu.atom.universal_fma<f32, f32>`}}
func.func @too_many(%a: !cute_nvgpu.atom.universal_fma<f32, f32>) { return }

// -----

// expected-error@+1 {{expected a number of bits, such as `128 b` in `!cute_nvgpu.atom.universal_copy<f16, 4294967296 b>`}}
func.func @too_large(%a: !cute_nvgpu.atom.universal_copy<f16, 4294967296 b>) { return }

// -----

// expected-error@+1 {{!cute_nvgpu.atom.simt_async_copy<f16, cache = global, 128 b> takes no `streaming`}}
func.func @hint(%a: !cute_nvgpu.atom.simt_async_copy<f16, cache = global, 128 b, cache = streaming>) { return }

// -----

// expected-error@+1 {{no mma instruction m16n8k32 with A bf16, B bf16 and accumulator f32; near it there is: m16n8k}}
func.func @mma(%a: !cute_nvgpu.sm80.mma<"16x8x32", elem_type = (bf16, bf16, f32)>) { return }

// -----

// expected-error@+1 {{no mma instruction m64n12k16 with A bf16, B bf16 and accumulator f32; near it there is: m64n8k16 bf16 to f32, m64n16k16 bf16 to f32}}
func.func @wgmma(%a: !cute_nvgpu.sm90.mma<"64x12x16", elem_type = (bf16, bf16, f32), frag_kind = ss>) { return }

// -----

// expected-error@+1 {{expected 64xNxK, three element types and frag_kind = ss or rs in}}
func.func @wgmma_kind(%a: !cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = sr>) { return }

// -----

// expected-error@+1 {{expected 64xNxK, three element types and frag_kind = ss or rs in}}
func.func @wgmma_rows(%a: !cute_nvgpu.sm90.mma<"128x16x16", elem_type = (bf16, bf16, f32), frag_kind = ss>) { return }

// -----

// expected-error@+1 {{a tiled MMA that numbers 2048 threads; expected at most 1024}}
func.func @threads(%a: !cute.tiled_mma<!cute_nvgpu.atom.universal_fma<f32>, atom_layout_MNK = <"(64,32,1):(32,1,0)">, permutation_MNK = <"[_;_;_]">>) { return }

// -----

// Numbers that are far apart, though they are few.
// expected-error@+1 {{a tiled MMA that numbers 4294967297 threads; expected at most 1024}}
func.func @numbers(%a: !cute.tiled_mma<!cute_nvgpu.atom.universal_fma<f32>, atom_layout_MNK = <"(2,1,1):(4294967296,0,0)">, permutation_MNK = <"[_;_;_]">>) { return }

// -----

// expected-error@+1 {{a tiled copy that numbers 32768 threads; expected at most 16384}}
func.func @copy(%a: !cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 32 b>, layout_copy_tv = <"((8,4096),1):((4096,1),0)">, tiler_mn = <"[4096:1;8:1]">>) { return }

// -----

// expected-error@+1 {{wgmma negates floating-point operands, not i8}}
func.func private @negated(!cute_nvgpu.sm90.mma<"64x16x32", elem_type = (i8, i8, i32), frag_kind = ss, negate = a>)

// -----

// expected-error@+1 {{expected negate = a, b or ab}}
func.func private @negation(!cute_nvgpu.sm90.mma<"64x16x16", elem_type = (bf16, bf16, f32), frag_kind = ss, negate = c>)

// -----

// expected-error@+1 {{no red.add combines 256 bits of f32; expected 32, 64 or 128 bits}}
func.func @eight_sums(%a: !cute_nvgpu.atom.red<add, f32, 256 b>) { return }

// -----

// expected-error@+1 {{no red.min combines 32 bits of f32; there is none of these elements}}
func.func @least(%a: !cute_nvgpu.atom.red<min, f32, 32 b>) { return }

// -----

// expected-error@+1 {{expected no further parameter}}
func.func @hinted(%a: !cute_nvgpu.atom.red<add, f32, 32 b, cache = streaming>) { return }
