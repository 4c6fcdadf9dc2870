// Operations that no other file of this folder has: they infer their results, print as they are written, and survive the
// generic form. That every operation stands in some file, and in one of errors, a test asks (`test-suite/tests/programs.rs`).
// RUN: %cute-opt %s | FileCheck %s
// RUN: %cute-opt %s | %cute-opt | FileCheck %s
// RUN: %cute-opt --mlir-print-op-generic %s | %cute-opt | FileCheck %s

// CHECK-LABEL: func.func @make_layout_like
func.func @make_layout_like(%a: !cute.layout<"(4,(2,3)):(6,(3,1))">) {
  // CHECK: cute.make_layout_like({{.*}} -> !cute.layout<"(4,(2,3)):(6,(3,1))">
  %r = cute.make_layout_like(%a) : !cute.layout<"(4,(2,3)):(6,(3,1))"> -> !cute.layout<"(4,(2,3)):(6,(3,1))">
  return
}

// CHECK-LABEL: func.func @make_ordered_layout
func.func @make_ordered_layout(%a: !cute.shape<"(4,?,8)">, %b: !cute.int_tuple<"(2,0,1)">) {
  // CHECK: cute.make_ordered_layout({{.*}} -> !cute.layout<"(4,?,8):(?{div=8},1,?)">
  %r = cute.make_ordered_layout(%a, %b) : (!cute.shape<"(4,?,8)">, !cute.int_tuple<"(2,0,1)">) -> !cute.layout<"(4,?,8):(?{div=8},1,?)">
  return
}

// CHECK-LABEL: func.func @make_identity_layout
func.func @make_identity_layout(%a: !cute.shape<"(4,?)">) {
  // CHECK: cute.make_identity_layout({{.*}} -> !cute.layout<"(4,?):(1@0,1@1)">
  %r = cute.make_identity_layout(%a) : !cute.shape<"(4,?)"> -> !cute.layout<"(4,?):(1@0,1@1)">
  return
}

// CHECK-LABEL: func.func @composed_get_inner
func.func @composed_get_inner(%a: !cute.composed_layout<"S<2,3,3> o 8 o (16,4):(4,1)">) {
  // CHECK: cute.composed_get_inner({{.*}} -> !cute.swizzle<"S<2,3,3>">
  %r = cute.composed_get_inner(%a) : <"S<2,3,3> o 8 o (16,4):(4,1)"> -> !cute.swizzle<"S<2,3,3>">
  return
}

// CHECK-LABEL: func.func @composed_get_offset
func.func @composed_get_offset(%a: !cute.composed_layout<"S<2,3,3> o 8 o (16,4):(4,1)">) {
  // CHECK: cute.composed_get_offset({{.*}} -> !cute.int_tuple<"8">
  %r = cute.composed_get_offset(%a) : <"S<2,3,3> o 8 o (16,4):(4,1)"> -> !cute.int_tuple<"8">
  return
}

// CHECK-LABEL: func.func @to_int_tuple
func.func @to_int_tuple(%a: !cute.shape<"(4,?)">) {
  // CHECK: cute.to_int_tuple({{.*}} -> !cute.int_tuple<"(4,?)">
  %r = cute.to_int_tuple(%a) : !cute.shape<"(4,?)"> -> !cute.int_tuple<"(4,?)">
  return
}

// CHECK-LABEL: func.func @to_shape
func.func @to_shape(%a: !cute.int_tuple<"(4,?)">) {
  // CHECK: cute.to_shape({{.*}} -> !cute.shape<"(4,?)">
  %r = cute.to_shape(%a) : !cute.int_tuple<"(4,?)"> -> !cute.shape<"(4,?)">
  return
}

// CHECK-LABEL: func.func @to_stride
func.func @to_stride(%a: !cute.int_tuple<"(4,?)">) {
  // CHECK: cute.to_stride({{.*}} -> !cute.stride<"(4,?)">
  %r = cute.to_stride(%a) : !cute.int_tuple<"(4,?)"> -> !cute.stride<"(4,?)">
  return
}

// CHECK-LABEL: func.func @to_coord
func.func @to_coord(%a: !cute.int_tuple<"(4,?)">) {
  // CHECK: cute.to_coord({{.*}} -> !cute.coord<"(4,?)">
  %r = cute.to_coord(%a) : !cute.int_tuple<"(4,?)"> -> !cute.coord<"(4,?)">
  return
}

// CHECK-LABEL: func.func @cosize
func.func @cosize(%a: !cute.layout<"(4,8):(1,?)">) {
  // CHECK: cute.cosize ({{.*}} -> !cute.int_tuple<"?">
  %r = cute.cosize(%a) : (!cute.layout<"(4,8):(1,?)">) -> !cute.int_tuple<"?">
  return
}

// CHECK-LABEL: func.func @tuple_product_each
func.func @tuple_product_each(%a: !cute.shape<"((4,2),?)">) {
  // CHECK: cute.tuple_product_each({{.*}} -> !cute.shape<"(8,?)">
  %r = cute.tuple_product_each(%a) : (!cute.shape<"((4,2),?)">) -> !cute.shape<"(8,?)">
  return
}

// CHECK-LABEL: func.func @prepend_to_rank
func.func @prepend_to_rank(%a: !cute.shape<"(12,7)">, %b: !cute.shape<"2">) {
  // CHECK: cute.prepend_to_rank<3> ({{.*}}) : !cute.shape<"(12,7)">, !cute.shape<"2">
  %r = cute.prepend_to_rank<3>(%a, %b) : !cute.shape<"(12,7)">, !cute.shape<"2">
  return
}

// CHECK-LABEL: func.func @ceil_div
func.func @ceil_div(%a: !cute.shape<"(12,?)">, %b: !cute.tile<"[8:1;4:1]">) {
  // CHECK: cute.ceil_div({{.*}} -> !cute.shape<"(2,?)">
  %r = cute.ceil_div(%a, %b) : (!cute.shape<"(12,?)">, !cute.tile<"[8:1;4:1]">) -> !cute.shape<"(2,?)">
  return
}

// CHECK-LABEL: func.func @flatten
func.func @flatten(%a: !cute.layout<"((4,2),8):((1,4),?)">) {
  // CHECK: cute.flatten({{.*}} -> !cute.layout<"(4,2,8):(1,4,?)">
  %r = cute.flatten(%a) : (!cute.layout<"((4,2),8):((1,4),?)">) -> !cute.layout<"(4,2,8):(1,4,?)">
  return
}

// CHECK-LABEL: func.func @complement
func.func @complement(%a: !cute.layout<"4:2">, %b: !cute.shape<"24">) {
  // CHECK: cute.complement({{.*}} -> !cute.layout<"(2,3):(1,8)">
  %r = cute.complement(%a, %b) : (!cute.layout<"4:2">, !cute.shape<"24">) -> !cute.layout<"(2,3):(1,8)">
  return
}

// CHECK-LABEL: func.func @dice
func.func @dice(%a: !cute.coord<"(3,(?,5))">, %b: !cute.coord<"(1,_)">) {
  // CHECK: cute.dice({{.*}}) : !cute.coord<"(3,(?,5))">, !cute.coord<"(1,_)">
  %r = cute.dice(%a, %b) : !cute.coord<"(3,(?,5))">, !cute.coord<"(1,_)">
  return
}

// CHECK-LABEL: func.func @logical_product
func.func @logical_product(%a: !cute.layout<"(6,10):(10,1)">, %b: !cute.layout<"(3,2):(1,3)">) {
  // CHECK: cute.logical_product({{.*}} -> !cute.layout<"((6,10),(3,2)):((10,1),(60,180))">
  %r = cute.logical_product(%a, %b) : (!cute.layout<"(6,10):(10,1)">, !cute.layout<"(3,2):(1,3)">) -> !cute.layout<"((6,10),(3,2)):((10,1),(60,180))">
  return
}

// CHECK-LABEL: func.func @zipped_product
func.func @zipped_product(%a: !cute.layout<"(6,10):(10,1)">, %b: !cute.layout<"(3,2):(1,3)">) {
  // CHECK: cute.zipped_product({{.*}} -> !cute.layout<"((6,10),(3,2)):((10,1),(60,180))">
  %r = cute.zipped_product(%a, %b) : (!cute.layout<"(6,10):(10,1)">, !cute.layout<"(3,2):(1,3)">) -> !cute.layout<"((6,10),(3,2)):((10,1),(60,180))">
  return
}

// CHECK-LABEL: func.func @tiled_product
func.func @tiled_product(%a: !cute.layout<"(6,10):(10,1)">, %b: !cute.layout<"(3,2):(1,3)">) {
  // CHECK: cute.tiled_product({{.*}} -> !cute.layout<"((6,10),3,2):((10,1),60,180)">
  %r = cute.tiled_product(%a, %b) : (!cute.layout<"(6,10):(10,1)">, !cute.layout<"(3,2):(1,3)">) -> !cute.layout<"((6,10),3,2):((10,1),60,180)">
  return
}

// CHECK-LABEL: func.func @raked_product
func.func @raked_product(%a: !cute.layout<"(6,10):(10,1)">, %b: !cute.layout<"(3,2):(1,3)">) {
  // CHECK: cute.raked_product({{.*}} -> !cute.layout<"((3,6),(2,10)):((60,10),(180,1))">
  %r = cute.raked_product(%a, %b) : (!cute.layout<"(6,10):(10,1)">, !cute.layout<"(3,2):(1,3)">) -> !cute.layout<"((3,6),(2,10)):((60,10),(180,1))">
  return
}

// CHECK-LABEL: func.func @blocked_product
func.func @blocked_product(%a: !cute.layout<"(6,10):(10,1)">, %b: !cute.layout<"(3,2):(1,3)">) {
  // CHECK: cute.blocked_product({{.*}} -> !cute.layout<"((6,3),(10,2)):((10,60),(1,180))">
  %r = cute.blocked_product(%a, %b) : (!cute.layout<"(6,10):(10,1)">, !cute.layout<"(3,2):(1,3)">) -> !cute.layout<"((6,3),(10,2)):((10,60),(1,180))">
  return
}

// CHECK-LABEL: func.func @tiled_divide
func.func @tiled_divide(%a: !cute.layout<"(?,8):(8,1)">, %b: !cute.tile<"[4:1;2:1]">) {
  // CHECK: cute.tiled_divide({{.*}} -> !cute.layout<"((4,2),?,4):((8,1),32,2)">
  %r = cute.tiled_divide(%a, %b) : (!cute.layout<"(?,8):(8,1)">, !cute.tile<"[4:1;2:1]">) -> !cute.layout<"((4,2),?,4):((8,1),32,2)">
  return
}

// CHECK-LABEL: func.func @flat_divide
func.func @flat_divide(%a: !cute.layout<"(?,8):(8,1)">, %b: !cute.tile<"[4:1;2:1]">) {
  // CHECK: cute.flat_divide({{.*}} -> !cute.layout<"(4,2,?,4):(8,1,32,2)">
  %r = cute.flat_divide(%a, %b) : (!cute.layout<"(?,8):(8,1)">, !cute.tile<"[4:1;2:1]">) -> !cute.layout<"(4,2,?,4):(8,1,32,2)">
  return
}

// CHECK-LABEL: func.func @tile_to_shape
func.func @tile_to_shape(%a: !cute.layout<"(4,2):(2,1)">, %b: !cute.shape<"(8,8)">, %c: !cute.int_tuple<"(1,0)">) {
  // CHECK: cute.tile_to_shape({{.*}} -> !cute.layout<"((4,2),(2,4)):((2,32),(1,8))">
  %r = cute.tile_to_shape(%a, %b, %c) : (!cute.layout<"(4,2):(2,1)">, !cute.shape<"(8,8)">, !cute.int_tuple<"(1,0)">) -> !cute.layout<"((4,2),(2,4)):((2,32),(1,8))">
  return
}

// CHECK-LABEL: func.func @get_iter
func.func @get_iter(%a: !cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">) {
  // CHECK: cute.get_iter({{.*}} -> !cute.ptr<f32, gmem, align<16>>
  %r = cute.get_iter(%a) : (!cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">) -> !cute.ptr<f32, gmem, align<16>>
  return
}

// CHECK-LABEL: func.func @tiled_copy_retile
func.func @tiled_copy_retile(%a: !cute.tiled_copy<!cute_nvgpu.atom.ldsm<val_type = bf16, num_matrices = 4, n>, layout_copy_tv = <"((4,8,2,2),((2,2,2),(1,1))):((64,1,16,0),((32,8,256),(0,0)))">, tiler_mn = <"[32:1;16:1]">>, %b: !cute.memref<bf16, rmem, align<16>, "((2,2,2),4,4):((1,2,4),32,8)">) {
  // CHECK: cute.tiled.copy.retile({{.*}} -> !cute.memref<bf16, rmem, align<16>, "((8,1),4,4):((1,0),32,8)">
  %r = cute.tiled.copy.retile(%a, %b) : (!cute.tiled_copy<!cute_nvgpu.atom.ldsm<val_type = bf16, num_matrices = 4, n>, layout_copy_tv = <"((4,8,2,2),((2,2,2),(1,1))):((64,1,16,0),((32,8,256),(0,0)))">, tiler_mn = <"[32:1;16:1]">>, !cute.memref<bf16, rmem, align<16>, "((2,2,2),4,4):((1,2,4),32,8)">) -> !cute.memref<bf16, rmem, align<16>, "((8,1),4,4):((1,0),32,8)">
  return
}

// CHECK-LABEL: func.func @tiled_mma_partition
func.func @tiled_mma_partition(%a: !cute.tiled_mma<!cute_nvgpu.atom.universal_fma<f32>, atom_layout_MNK = <"(16,16,1):(16,1,0)">, permutation_MNK = <"[_;_;_]">>, %b: !cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">, %c: i32) {
  // CHECK: cute.tiled.mma.partition({{.*}} -> !cute.memref<f32, gmem, align<16>, "(1,2,32):(0,512,1)">
  %r = cute.tiled.mma.partition(%a, %b, %c) {operand = "A"} : (!cute.tiled_mma<!cute_nvgpu.atom.universal_fma<f32>, atom_layout_MNK = <"(16,16,1):(16,1,0)">, permutation_MNK = <"[_;_;_]">>, !cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">, i32) -> !cute.memref<f32, gmem, align<16>, "(1,2,32):(0,512,1)">
  return
}

// CHECK-LABEL: func.func @mma_make_fragment
func.func @mma_make_fragment(%a: !cute.tiled_mma<!cute_nvgpu.atom.universal_fma<f32>, atom_layout_MNK = <"(16,16,1):(16,1,0)">, permutation_MNK = <"[_;_;_]">>, %b: !cute.layout<"(1,2,2):(1,1,2)">) {
  // CHECK: cute.mma.make_fragment({{.*}} -> !cute.memref<f32, rmem, align<16>, "(1,2,2):(0,1,2)">
  %r = cute.mma.make_fragment(%a, %b) {operand = "C"} : (!cute.tiled_mma<!cute_nvgpu.atom.universal_fma<f32>, atom_layout_MNK = <"(16,16,1):(16,1,0)">, permutation_MNK = <"[_;_;_]">>, !cute.layout<"(1,2,2):(1,1,2)">) -> !cute.memref<f32, rmem, align<16>, "(1,2,2):(0,1,2)">
  return
}

// CHECK-LABEL: func.func @make_fragment_like
func.func @make_fragment_like(%a: !cute.memref<f32, rmem, align<16>, "(2,2):(1,2)">) {
  // CHECK: cute.make_fragment_like({{.*}} -> !cute.memref<f32, rmem, align<16>, "(2,2):(1,2)">
  %r = cute.make_fragment_like(%a) : (!cute.memref<f32, rmem, align<16>, "(2,2):(1,2)">) -> !cute.memref<f32, rmem, align<16>, "(2,2):(1,2)">
  return
}

// CHECK-LABEL: func.func @get_shape
func.func @get_shape(%a: !cute.layout<"(6,?):(10,1)">) {
  // CHECK: cute.get_shape({{.*}} -> !cute.shape<"(6,?)">
  %r = cute.get_shape(%a) : !cute.layout<"(6,?):(10,1)"> -> !cute.shape<"(6,?)">
  return
}

// CHECK-LABEL: func.func @get_scalar
func.func @get_scalar(%a: !cute.int_tuple<"?">) {
  // CHECK: cute.get_scalar({{.*}} -> i32
  %r = cute.get_scalar(%a) : (!cute.int_tuple<"?">) -> i32
  return
}

// CHECK-LABEL: func.func @local_tile
func.func @local_tile(%a: !cute.memref<f32, gmem, align<16>, "(128,32):(32,1)">, %b: !cute.int_tuple<"(8,16)">, %c: !cute.coord<"(3,_)">) {
  // CHECK: cute.local_tile({{.*}} -> !cute.memref<f32, gmem, align<16>, "(8,16,2):(32,1,16)">
  %r = cute.local_tile(%a, %b, %c) : (!cute.memref<f32, gmem, align<16>, "(128,32):(32,1)">, !cute.int_tuple<"(8,16)">, !cute.coord<"(3,_)">) -> !cute.memref<f32, gmem, align<16>, "(8,16,2):(32,1,16)">
  return
}

// CHECK-LABEL: func.func @tiled_copy_partition_S
func.func @tiled_copy_partition_S(%a: !cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 128 b>, layout_copy_tv = <"((8,16),4):((64,1),16)">, tiler_mn = <"[16:1;32:1]">>, %b: !cute.memref<f32, gmem, align<16>, "(128,32):(32,1)">, %c: i32) {
  // CHECK: cute.tiled.copy.partition_S({{.*}} -> !cute.memref<f32, gmem, align<16>, "((4,1),8,1):((1,0),512,0)">
  %r = cute.tiled.copy.partition_S(%a, %b, %c) : (!cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 128 b>, layout_copy_tv = <"((8,16),4):((64,1),16)">, tiler_mn = <"[16:1;32:1]">>, !cute.memref<f32, gmem, align<16>, "(128,32):(32,1)">, i32) -> !cute.memref<f32, gmem, align<16>, "((4,1),8,1):((1,0),512,0)">
  return
}

// CHECK-LABEL: func.func @tiled_copy_partition_D
func.func @tiled_copy_partition_D(%a: !cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 128 b>, layout_copy_tv = <"((8,16),4):((64,1),16)">, tiler_mn = <"[16:1;32:1]">>, %b: !cute.memref<f32, gmem, align<16>, "(128,32):(32,1)">, %c: i32) {
  // CHECK: cute.tiled.copy.partition_D({{.*}} -> !cute.memref<f32, gmem, align<16>, "((4,1),8,1):((1,0),512,0)">
  %r = cute.tiled.copy.partition_D(%a, %b, %c) : (!cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 128 b>, layout_copy_tv = <"((8,16),4):((64,1),16)">, tiler_mn = <"[16:1;32:1]">>, !cute.memref<f32, gmem, align<16>, "(128,32):(32,1)">, i32) -> !cute.memref<f32, gmem, align<16>, "((4,1),8,1):((1,0),512,0)">
  return
}
