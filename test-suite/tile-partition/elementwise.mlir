// What a thread does: copies in the widest vectors that memory and edges allow, arithmetic on vectors.
// RUN: %cute-opt --tile-assign-layouts --tile-partition %s -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: %cute-opt %t.mlir -o /dev/null

!rows = !cute.memref<f16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">
!odd = !cute.memref<f16, gmem, align<2>, "(?,?):(?{i64},1)">

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @scale
  // CHECK-NOT: tile.
  // CHECK: cute.local_tile
  // CHECK: cute.copy({{.*}} : !cute_nvgpu.atom.universal_copy<f16, 128 b>
  // CHECK: %[[X:.*]] = cute.memref.load_vec{{.*}} -> vector<32xf16>
  // CHECK: %[[Y:.*]] = arith.addf %[[X]], %[[X]] : vector<32xf16>
  // CHECK: cute.memref.store_vec(%[[Y]]
  // CHECK: cute.copy({{.*}} : !cute_nvgpu.atom.universal_copy<f16, 128 b>
  gpu.func @scale(%x: !rows, %i: i32) {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<64x64xf16>
    %b = tile.map (%a) {
    ^bb0(%e: f16):
      %d = arith.addf %e, %e : f16
      tile.yield %d : f16
    } : (tensor<64x64xf16>) -> tensor<64x64xf16>
    tile.store %b, %x[%i, %i] : tensor<64x64xf16>, !rows, i32, i32
    gpu.return
  }

  // Functions that take each lane for itself, of vectors.
  // CHECK-LABEL: gpu.func @functions
  // CHECK: %[[F:.*]] = llvm.intr.fma({{.*}} vector<32xf32>
  // CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"(%[[F]]) : (vector<32xf32>) -> vector<32xf32>
  // CHECK-NOT: llvm.call_intrinsic
  // CHECK: gpu.return
  gpu.func @functions(%x: !rows, %i: i32) {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<64x64xf16>
    %b = tile.map (%a) {
    ^bb0(%e: f16):
      %d = arith.extf %e : f16 to f32
      %f = llvm.intr.fma(%d, %d, %d) : (f32, f32, f32) -> f32
      %g = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"(%f) : (f32) -> f32
      %h = arith.truncf %g : f32 to f16
      tile.yield %h : f16
    } : (tensor<64x64xf16>) -> tensor<64x64xf16>
    tile.store %b, %x[%i, %i] : tensor<64x64xf16>, !rows, i32, i32
    gpu.return
  }

  // A vector inside of the body is made for each element.
  // CHECK-LABEL: gpu.func @vectors
  // CHECK-COUNT-32: vector.broadcast {{.*}} : f16 to vector<4xf16>
  // CHECK: gpu.return
  gpu.func @vectors(%x: !rows, %i: i32) {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<64x64xf16>
    %b = tile.map (%a) {
    ^bb0(%e: f16):
      %v = vector.broadcast %e : f16 to vector<4xf16>
      %w = arith.addf %v, %v : vector<4xf16>
      %d = vector.extract %w[1] : f16 from vector<4xf16>
      tile.yield %d : f16
    } : (tensor<64x64xf16>) -> tensor<64x64xf16>
    tile.store %b, %x[%i, %i] : tensor<64x64xf16>, !rows, i32, i32
    gpu.return
  }

  // Rows of any length: one element at a time.
  // CHECK-LABEL: gpu.func @odd
  // CHECK-NOT: 128 b
  // CHECK: cute.copy({{.*}} : !cute_nvgpu.atom.universal_copy<f16, 16 b>
  gpu.func @odd(%x: !odd, %i: i32) {
    %a = tile.load %x[%i, %i] : !odd, i32, i32 -> tensor<64x64xf16>
    tile.store %a, %x[%i, %i] : tensor<64x64xf16>, !odd, i32, i32
    gpu.return
  }

  // What is the same for all elements is computed once; what is no arithmetic, element by element.
  // CHECK-LABEL: gpu.func @mixed
  // CHECK: math.sqrt {{.*}} : f16
  // CHECK-COUNT-4: math.exp2 {{.*}} : f16
  // CHECK-NOT: math.exp2
  // CHECK: arith.mulf {{.*}} : vector<4xf16>
  gpu.func @mixed(%x: !rows, %i: i32, %s: f16) attributes {known_block_size = array<i32: 32, 1, 1>} {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<8x16xf16>
    %b = tile.map (%a) {
    ^bb0(%e: f16):
      %root = math.sqrt %s : f16
      %p = math.exp2 %e : f16
      %d = arith.mulf %p, %root : f16
      tile.yield %d : f16
    } : (tensor<8x16xf16>) -> tensor<8x16xf16>
    tile.store %b, %x[%i, %i] : tensor<8x16xf16>, !rows, i32, i32
    gpu.return
  }

  // A bound that is a multiple of eight has eight neighbours on one side: they are compared as their first. Of
  // a bound that nothing is known of, each is.
  // CHECK-LABEL: gpu.func @mask
  // CHECK: %[[EACH:.*]] = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 256, 257, 258, 259, 260, 261, 262, 263]>
  // CHECK: %[[PLACES:.*]] = arith.addi %{{.*}}, %[[EACH]]
  // CHECK: %[[EIGHTS:.*]] = arith.constant dense<[0, 0, 0, 0, 0, 0, 0, 0, 256, 256, 256, 256, 256, 256, 256, 256]>
  // CHECK: %[[FIRSTS:.*]] = arith.addi %{{.*}}, %[[EIGHTS]]
  // CHECK: arith.cmpi slt, %[[FIRSTS]],
  // CHECK: arith.cmpi slt, %[[PLACES]],
  gpu.func @mask(%x: !rows, %y: !rows, %i: i32, %n: i32, %o: i32) attributes {known_block_size = array<i32: 32, 1, 1>} {
    %m = cute.assume(%n) : (i32) -> !cute.int_tuple<"?{div=8}">
    %c = tile.iota 1 : tensor<1x512xi32>
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<1x512xf16>
    %p = tile.map (%c, %a) {
    ^bb0(%k: i32, %e: f16):
      %zero = arith.constant 0.0 : f16
      %in = arith.cmpi slt, %k, %n : i32
      %r = arith.select %in, %e, %zero : f16
      tile.yield %r : f16
    } : (tensor<1x512xi32>, tensor<1x512xf16>) -> tensor<1x512xf16>
    %q = tile.map (%c, %p) {
    ^bb0(%k: i32, %e: f16):
      %zero = arith.constant 0.0 : f16
      %in = arith.cmpi slt, %k, %o : i32
      %r = arith.select %in, %e, %zero : f16
      tile.yield %r : f16
    } : (tensor<1x512xi32>, tensor<1x512xf16>) -> tensor<1x512xf16>
    tile.store %q, %y[%i, %i] : tensor<1x512xf16>, !rows, i32, i32
    gpu.return
  }
}
