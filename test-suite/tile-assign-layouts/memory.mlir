// Where nothing else says it, threads stand side by side along memory, 16 bytes each.
// RUN: %cute-opt --tile-assign-layouts %s | FileCheck %s

!rows = !cute.memref<f16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">
!odd = !cute.memref<f16, gmem, align<2>, "(?,?):(?{i64},1)">
!columns = !cute.memref<f32, gmem, align<16>, "(?{div=4},?):(1,?{i64 div=4})">

gpu.module @kernels {
  // The rows are contiguous: 8 elements of f16 along them, 8 threads a row.
  // CHECK-LABEL: gpu.func @rows
  // CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
  // CHECK: tile.load {{.*}} -> tensor<64x64xf16, #tile.tv<"((8,16),(8,4)):((512,1),(64,16))">>
  // CHECK: tile.map{{.*}}
  // CHECK: (tensor<64x64xf16, #tile.tv<"((8,16),(8,4)):((512,1),(64,16))">>) -> tensor<64x64xf16, #tile.tv<"((8,16),(8,4)):((512,1),(64,16))">>
  // CHECK-NOT: convert_layout
  gpu.func @rows(%x: !rows, %i: i32) {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<64x64xf16>
    %b = tile.map (%a) {
    ^bb0(%e: f16):
      %d = arith.addf %e, %e : f16
      tile.yield %d : f16
    } : (tensor<64x64xf16>) -> tensor<64x64xf16>
    tile.store %b, %x[%i, %i] : tensor<64x64xf16>, !rows, i32, i32
    gpu.return
  }

  // Contiguous columns of f32: 4 elements along them.
  // CHECK-LABEL: gpu.func @columns
  // CHECK: tile.load {{.*}} -> tensor<64x64xf32, #tile.tv<"((16,8),(4,8)):((4,64),(1,512))">>
  gpu.func @columns(%x: !columns, %i: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tile.load %x[%i, %i] : !columns, i32, i32 -> tensor<64x64xf32>
    tile.store %a, %x[%i, %i] : tensor<64x64xf32>, !columns, i32, i32
    gpu.return
  }

  // Rows of any length: an element at a time, so that neighbours are of neighbouring threads, of which there are more.
  // CHECK-LABEL: gpu.func @odd
  // CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
  // CHECK: tile.load {{.*}} -> tensor<64x64xf16, #tile.tv<"((64,4),(16)):((64,1),(4))">>
  gpu.func @odd(%x: !odd, %i: i32) {
    %a = tile.load %x[%i, %i] : !odd, i32, i32 -> tensor<64x64xf16>
    tile.store %a, %x[%i, %i] : tensor<64x64xf16>, !odd, i32, i32
    gpu.return
  }

  // From an offset on, vectors as wide as what is known to divide it: two elements of a multiple of two, one of any.
  // Along rows the offset may be anything.
  // CHECK-LABEL: gpu.func @pairs
  // CHECK: tile.load {{.*}} -> tensor<64x64xf16, #tile.tv<"((32,4),(2,16)):((128,1),(64,4))">>
  // CHECK-LABEL: gpu.func @anywhere
  // CHECK: tile.load {{.*}} -> tensor<64x64xf16, #tile.tv<"((64,2),(32)):((64,1),(2))">>
  // CHECK-LABEL: gpu.func @any_row
  // CHECK: tile.load {{.*}} -> tensor<64x64xf16, #tile.tv<"((8,16),(8,4)):((512,1),(64,16))">>
  gpu.func @pairs(%x: !rows, %i: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %o = cute.assume(%i) : (i32) -> !cute.int_tuple<"?{div=2}">
    %a = tile.load %x[%i, %o] {by_element = array<i64: 1>} : !rows, i32, !cute.int_tuple<"?{div=2}"> -> tensor<64x64xf16>
    gpu.return
  }
  gpu.func @anywhere(%x: !rows, %i: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tile.load %x[%i, %i] {by_element = array<i64: 1>} : !rows, i32, i32 -> tensor<64x64xf16>
    gpu.return
  }
  gpu.func @any_row(%x: !rows, %i: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tile.load %x[%i, %i] {by_element = array<i64: 0>} : !rows, i32, i32 -> tensor<64x64xf16>
    gpu.return
  }

  // What is reduced stays with few threads.
  // CHECK-LABEL: gpu.func @reduced
  // CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
  gpu.func @reduced(%x: !odd, %i: i32) {
    %a = tile.load %x[%i, %i] : !odd, i32, i32 -> tensor<64x64xf16>
    %b = tile.reduce "add" %a 1 : tensor<64x64xf16> -> tensor<64x1xf16>
    gpu.return
  }

  // Pinned: eight warps, whatever the tile is.
  // CHECK-LABEL: gpu.func @pinned
  // CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
  gpu.func @pinned(%x: !rows, %i: i32) attributes {tile.warps = array<i32: 8>} {
    %a = tile.load %x[%i, %i] : !rows, i32, i32 -> tensor<64x64xf16>
    tile.store %a, %x[%i, %i] : tensor<64x64xf16>, !rows, i32, i32
    gpu.return
  }

  // A loop carries a tile as its body makes it.
  // CHECK-LABEL: gpu.func @loop
  // CHECK: %[[ZEROS:.*]] = tile.splat {{.*}} -> tensor<1x2048xf32, #tile.tv<"([[TV:.*]])">>
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[ZEROS]]) -> (tensor<1x2048xf32, #tile.tv<"([[TV]])">>)
  // CHECK: tile.load {{.*}} -> tensor<1x2048xf16, #tile.tv<"([[TV]])">>
  // CHECK-NOT: convert_layout
  gpu.func @loop(%x: !rows, %y: !rows, %i: i32) {
    %zero = arith.constant 0.0 : f32
    %from = arith.constant 0 : i32
    %step = arith.constant 1 : i32
    %zeros = tile.splat %zero : f32 -> tensor<1x2048xf32>
    %sums = scf.for %t = %from to %i step %step iter_args(%s = %zeros) -> (tensor<1x2048xf32>) : i32 {
      %a = tile.load %x[%t, %i] : !rows, i32, i32 -> tensor<1x2048xf16>
      %next = tile.map (%s, %a) {
      ^bb0(%sum: f32, %e: f16):
        %wide = arith.extf %e : f16 to f32
        %d = arith.addf %sum, %wide : f32
        tile.yield %d : f32
      } : (tensor<1x2048xf32>, tensor<1x2048xf16>) -> tensor<1x2048xf32>
      scf.yield %next : tensor<1x2048xf32>
    }
    %out = tile.map (%sums) {
    ^bb0(%e: f32):
      %d = arith.truncf %e : f32 to f16
      tile.yield %d : f16
    } : (tensor<1x2048xf32>) -> tensor<1x2048xf16>
    tile.store %out, %y[%i, %i] : tensor<1x2048xf16>, !rows, i32, i32
    gpu.return
  }
}
