// At an offset a tile is the first one of the view from there on, in vectors that the offset allows; whether an element is inside
// is asked for on both sides at once.
// RUN: %cute-opt --tile-assign-layouts --tile-partition %s -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: %cute-opt %t.mlir -o /dev/null

!numbers = !cute.memref<f32, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">
!rows = !cute.memref<f16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @both
  // CHECK: %[[X:.*]] = cute.domain_offset(%arg0, %arg1, %{{.*}}) : (!cute.memref<{{.*}}>, i32, !cute.int_tuple<"?{div=8}">) -> !cute.memref<f16, gmem, align<16>,
  // CHECK: %[[C:.*]] = cute.domain_offset(%{{.*}}, %arg1, %{{.*}}) : {{.*}} -> !cute.coord_tensor<"(?,?{div=8})", "(?,?{div=8}):(1@0,1@1)">
  // CHECK: cute.local_tile(%[[X]], {{.*}}!cute.coord<"(0,0)">
  // CHECK: cute.local_tile(%[[C]], {{.*}}!cute.coord<"(0,0)">
  // CHECK: cute.copy({{.*}} : !cute_nvgpu.atom.universal_copy<f16, 128 b>
  // A store of the same counts tiles along the rows: only the columns are from an offset on.
  // CHECK: cute.domain_offset(%arg0, %{{.*}}, %{{.*}}) : ({{.*}}, !cute.int_tuple<"0">, !cute.int_tuple<"-8">)
  // CHECK: cute.local_tile{{.*}}!cute.coord<"(?,0)">
  // CHECK: cute.copy({{.*}} : !cute_nvgpu.atom.universal_copy<f16, 128 b>
  gpu.func @both(%x: !rows, %i: i32) {
    %o = cute.assume(%i) : (i32) -> !cute.int_tuple<"?{div=8}">
    %before = cute.static : !cute.int_tuple<"-8">
    %a = tile.load %x[%i, %o] {by_element = array<i64: 0, 1>} : !rows, i32, !cute.int_tuple<"?{div=8}"> -> tensor<64x64xf16>
    tile.store %a, %x[%i, %before] {by_element = array<i64: 1>} : tensor<64x64xf16>, !rows, i32, !cute.int_tuple<"-8">
    gpu.return
  }

  // Of an offset of which nothing is known, single elements.
  // CHECK-LABEL: gpu.func @single
  // CHECK: cute.copy({{.*}} : !cute_nvgpu.atom.universal_copy<f16, 16 b>
  gpu.func @single(%x: !rows, %i: i32) {
    %a = tile.load %x[%i, %i] {by_element = array<i64: 1>} : !rows, i32, i32 -> tensor<64x64xf16>
    gpu.return
  }

  // What lies outside the copy itself fills in.
  // CHECK-LABEL: gpu.func @filled
  // CHECK: cute.copy({{.*}}) {fill = 1.000000e+00 : f16} : !cute_nvgpu.atom.universal_copy<f16, 128 b>
  // CHECK: cute.copy({{.*}}) {fill = 1.000000e+00 : f16} : !cute_nvgpu.atom.universal_copy<f16, 16 b>
  // CHECK-NOT: arith.select
  gpu.func @filled(%x: !rows, %i: i32, %far: i64) attributes {known_block_size = array<i32: 32, 1, 1>} {
    %o = cute.assume(%i) : (i32) -> !cute.int_tuple<"?{div=8}">
    %a = tile.load %x[%i, %o] {by_element = array<i64: 1>, fill = 1.0 : f16} : !rows, i32, !cute.int_tuple<"?{div=8}"> -> tensor<1x512xf16>
    %b = tile.load %x[%i, %far] {by_element = array<i64: 1>, fill = 1.0 : f16} : !rows, i32, i64 -> tensor<1x512xf16>
    gpu.return
  }

  // As no instruction does this update, each element is asked for by itself, on both sides at once; rows in tiles are compared with what is left of them.
  // CHECK-LABEL: gpu.func @updated
  // CHECK: arith.cmpi slt
  // CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
  // CHECK: %[[AT:.*]] = arith.addi %[[FIRST]], %{{.*}} : i32
  // CHECK: %[[PLACE:.*]] = vector.broadcast %[[AT]] : i32 to vector<16xi32>
  // CHECK: %[[OFFSETS:.*]] = arith.constant dense<[0, 32, 64, 96, {{.*}}, 480]>
  // CHECK: %[[PLACES:.*]] = arith.addi %[[PLACE]], %[[OFFSETS]]
  // CHECK: arith.cmpi ult, %[[PLACES]]
  // An offset of 64 bits beyond those of 32 is the last of them.
  // CHECK: arith.maxsi %arg2, %{{.*}} : i64
  // CHECK: arith.minsi
  // CHECK: arith.trunci
  gpu.func @updated(%x: !numbers, %i: i32, %far: i64) attributes {known_block_size = array<i32: 32, 1, 1>} {
    %o = cute.assume(%i) : (i32) -> !cute.int_tuple<"?{div=8}">
    %a = tile.load %x[%i, %o] {by_element = array<i64: 1>} : !numbers, i32, !cute.int_tuple<"?{div=8}"> -> tensor<1x512xf32>
    tile.store %a, %x[%i, %o] {by_element = array<i64: 1>, atomic = "max"} : tensor<1x512xf32>, !numbers, i32, !cute.int_tuple<"?{div=8}">
    tile.store %a, %x[%i, %far] {by_element = array<i64: 1>, atomic = "max"} : tensor<1x512xf32>, !numbers, i32, i64
    gpu.return
  }
}
