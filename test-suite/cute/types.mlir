// Every type of the cute and cute_nvgpu dialects prints as it was written.
// RUN: %cute-opt %s | %cute-opt | FileCheck %s
// RUN: %cute-opt --mlir-print-op-generic %s | %cute-opt | FileCheck %s

// CHECK-LABEL: func.func @tuples
// CHECK-SAME: !cute.int_tuple<"(2,?)">, {{.*}}!cute.coord<"(_,?)">, {{.*}}!cute.shape<"(?{div=8},(2,?{i64}))">, {{.*}}!cute.stride<"(1@0,?{i64 div=16}@1)">
func.func @tuples(%a: !cute.int_tuple<"(2,?)">, %b: !cute.coord<"(_,?)">, %c: !cute.shape<"(?{div=8},(2,?{i64}))">,
                  %d: !cute.stride<"(1@0,?{i64 div=16}@1)">) {
  return
}

// CHECK-LABEL: func.func @layouts
// CHECK-SAME: !cute.layout<"(4,(2,8)):(1,(4,?))">, {{.*}}!cute.composed_layout<"S<3,3,3> o 0 o (8,64):(64,1)">, {{.*}}!cute.swizzle<"S<3,4,3>">, {{.*}}!cute.tile<"[3:1;_;(2,3):(1,2)]">
func.func @layouts(%a: !cute.layout<"(4,(2,8)):(1,(4,?))">, %b: !cute.composed_layout<"S<3,3,3> o 0 o (8,64):(64,1)">,
                   %c: !cute.swizzle<"S<3,4,3>">, %d: !cute.tile<"[3:1;_;(2,3):(1,2)]">) {
  return
}

// CHECK-LABEL: func.func @memory
// CHECK-SAME: !cute.ptr<f16, gmem, align<16>>, {{.*}}!cute.memref<f32, smem, align<128>, "(8,4):(4,1)">, {{.*}}!cute.coord_tensor<"(0,?{div=8})", "(4,8):(1@0,1@1)">
func.func @memory(%a: !cute.ptr<f16, gmem, align<16>>, %b: !cute.memref<f32, smem, align<128>, "(8,4):(4,1)">,
                  %c: !cute.coord_tensor<"(0,?{div=8})", "(4,8):(1@0,1@1)">) {
  return
}

// CHECK-LABEL: func.func @atoms
// CHECK: !cute_nvgpu.atom.universal_copy<f32, 128 b>
// CHECK: !cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>
// CHECK: !cute_nvgpu.atom.ldsm<val_type = bf16, num_matrices = 4, t>
// CHECK: !cute_nvgpu.atom.stsm<val_type = bf16, num_matrices = 2, n>
// CHECK: !cute_nvgpu.atom.universal_fma<f32>
// CHECK: !cute_nvgpu.sm80.mma<"16x8x16", elem_type = (bf16, bf16, f32)>
// CHECK: !cute_nvgpu.sm80.mma<"16x8x64", elem_type = (i4, ui4, i32)>
// CHECK: !cute_nvgpu.sm90.mma<"64x256x16", elem_type = (bf16, bf16, f32), frag_kind = ss>
// CHECK: !cute_nvgpu.sm90.mma<"64x48x32", elem_type = (ui8, i8, i32), frag_kind = rs>
// CHECK: !cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 32 b>, layout_copy_tv = <"((8,32),1):((32,1),0)">, tiler_mn = <"[32:1;8:1]">>
// CHECK: !cute.tiled_mma<!cute_nvgpu.atom.universal_fma<f32>, atom_layout_MNK = <"(16,16,1):(16,1,0)">, permutation_MNK = <"[_;_;_]">>
func.func @atoms() {
  %0 = cute.static : !cute_nvgpu.atom.universal_copy<f32, 128 b>
  %1 = cute.static : !cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>
  %2 = cute.static : !cute_nvgpu.atom.ldsm<val_type = bf16, num_matrices = 4, t>
  %s = cute.static : !cute_nvgpu.atom.stsm<val_type = bf16, num_matrices = 2, n>
  %3 = cute.static : !cute_nvgpu.atom.universal_fma<f32>
  %4 = cute.static : !cute_nvgpu.sm80.mma<"16x8x16", elem_type = (bf16, bf16, f32)>
  %5 = cute.static : !cute_nvgpu.sm80.mma<"16x8x64", elem_type = (i4, ui4, i32)>
  %w = cute.static : !cute_nvgpu.sm90.mma<"64x256x16", elem_type = (bf16, bf16, f32), frag_kind = ss>
  %x = cute.static : !cute_nvgpu.sm90.mma<"64x48x32", elem_type = (ui8, i8, i32), frag_kind = rs>
  %6 = cute.static : !cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 32 b>, layout_copy_tv = <"((8,32),1):((32,1),0)">, tiler_mn = <"[32:1;8:1]">>
  %7 = cute.static : !cute.tiled_mma<!cute_nvgpu.atom.universal_fma<f32>, atom_layout_MNK = <"(16,16,1):(16,1,0)">, permutation_MNK = <"[_;_;_]">>
  return
}
