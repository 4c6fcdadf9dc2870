// Operations on tiles that make no sense say what they expect and what they got.
// RUN: %cute-opt --split-input-file --verify-diagnostics %s

func.func @extent(%a: tensor<16x8xf32>, %b: tensor<32x4xf32>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{expects a of shape (m, k) and b of shape (n, k), but k is 8 and 4}}
  %0 = tile.dot %a, %b, %c : tensor<16x8xf32>, tensor<32x4xf32>, tensor<16x32xf32> -> tensor<16x32xf32>
  return
}

// -----

func.func @several(%a: tensor<16x1xf32>) {
  // expected-error@+1 {{expects a tile of one element, but got extents [16, 1]}}
  %0 = tile.extract %a : tensor<16x1xf32> -> f32
  return
}

// -----

func.func @number(%a: tensor<1x1xf32>) {
  // expected-error@+1 {{expects f32 as the number, but got i32}}
  %0 = tile.extract %a : tensor<1x1xf32> -> i32
  return
}

// -----

func.func @reduced(%a: tensor<16x8xf32>) {
  // expected-error@+1 {{expects [16, 1] as the shape of the result, but got [1, 8]}}
  %0 = tile.reduce "add" %a 1 : tensor<16x8xf32> -> tensor<1x8xf32>
  return
}

// -----

// Four threads share the axis, and each may reduce what it has: no more, no less, and nothing else.
func.func @of_threads(%a: tensor<16x8xf32, #tile.tv<"((4,8),(2,2)):((32,1),(16,8))">>) {
  %0 = tile.reduce "add" %a 1 : tensor<16x8xf32, #tile.tv<"((4,8),(2,2)):((32,1),(16,8))">> -> tensor<16x4xf32, #tile.tv<"((4,8),(2)):((16,1),(8))">>
  // expected-error@+1 {{expects [16, 1] as the shape of the result, but got [16, 2]}}
  %1 = tile.reduce "add" %a 1 : tensor<16x8xf32, #tile.tv<"((4,8),(2,2)):((32,1),(16,8))">> -> tensor<16x2xf32, #tile.tv<"((2,2,8),(2)):((16,0,1),(8))">>
  return
}

// -----

func.func @kind(%a: tensor<16x8xf32>) {
  // expected-error@+1 {{expects one of add, mul, min, max, and, or, xor, but got mean}}
  %0 = tile.reduce "mean" %a 1 : tensor<16x8xf32> -> tensor<16x1xf32>
  return
}

// -----

func.func @axis(%a: tensor<16x8xf32>) {
  // expected-error@+1 {{expects an axis in [0, 2), but got 2}}
  %0 = tile.reduce "add" %a 2 : tensor<16x8xf32> -> tensor<16x1xf32>
  return
}

// -----

func.func @repeated(%a: tensor<16x2xf32>) {
  // expected-error@+1 {{cannot repeat [16, 2] to [16, 8]: each extent is kept or 1}}
  %0 = tile.broadcast %a : tensor<16x2xf32> -> tensor<16x8xf32>
  return
}

// -----

func.func @dynamic(%a: tensor<16x?xf32>) {
  // expected-error@+1 {{expects extents of at least 1, but got an extent that is not static}}
  %0 = tile.reduce "add" %a 1 : tensor<16x?xf32> -> tensor<16x1xf32>
  return
}

// -----

func.func @body(%a: tensor<16x8xf32>) {
  // expected-error@+1 {{expects f32 as what the body yields, but got f16}}
  %0 = tile.map (%a) {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to f16
    tile.yield %y : f16
  } : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return
}

// -----

// expected-error@+1 {{expects the modes (thread, value), but got 1 modes}}
func.func @modes(%a: tensor<16x8xf32, #tile.tv<"(128):(1)">>) { return }

// -----

func.func @covered(%a: tensor<16x8xf32>) {
  // expected-error@+1 {{(32,2):(1,32) reaches 64 elements of a tile of 128}}
  %0 = tile.convert_layout %a : tensor<16x8xf32> -> tensor<16x8xf32, #tile.tv<"(32,2):(1,32)">>
  return
}

// -----

func.func @threads(%a: tensor<16xf32>) {
  // expected-error@+1 {{(32768,16):(0,1) has 32768 threads; the blocks of a cluster have at most 16384}}
  %0 = tile.convert_layout %a : tensor<16xf32> -> tensor<16xf32, #tile.tv<"(32768,16):(0,1)">>
  return
}

// -----

func.func @rank(%v: !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">, %i: i32) {
  // expected-error@+1 {{expects a coordinate for each of 2 axes, but got 1}}
  %0 = tile.load %v[%i] : !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">, i32 -> tensor<16x8xf32>
  return
}

// -----

func.func @space(%v: !cute.memref<f32, smem, align<16>, "(64,64):(64,1)">, %i: i32) {
  // expected-error@+1 {{expects a view in gmem, but got !cute.memref<f32, smem}}
  %0 = tile.load %v[%i, %i] : !cute.memref<f32, smem, align<16>, "(64,64):(64,1)">, i32, i32 -> tensor<16x8xf32>
  return
}

// -----

func.func @transposed(%b: !cute.memref<f32, smem, align<16>, "(64,32,2):(32,1,2048)">, %i: i32) {
  %0 = tile.read %b[%i] [0, 0] {transposed} : !cute.memref<f32, smem, align<16>, "(64,32,2):(32,1,2048)"> -> tensor<32x64xf32>
  // expected-error@+1 {{expects a part of a stage of [32, 64] at a multiple of its shape, but got [64, 32] at [0, 0]}}
  %1 = tile.read %b[%i] [0, 0] {transposed} : !cute.memref<f32, smem, align<16>, "(64,32,2):(32,1,2048)"> -> tensor<64x32xf32>
  return
}

// -----

func.func @part(%b: !cute.memref<f32, smem, align<16>, "(64,64,2):(64,1,4096)">, %i: i32) {
  // expected-error@+1 {{expects a part of a stage of [64, 64] at a multiple of its shape, but got [16, 8] at [0, 4]}}
  %0 = tile.read %b[%i] [0, 4] : !cute.memref<f32, smem, align<16>, "(64,64,2):(64,1,4096)"> -> tensor<16x8xf32>
  return
}

// -----

func.func @axes(%i: i32) {
  // expected-error@+1 {{expects 1 to 4 axes, but got 5}}
  tile.grid %i, %i, %i, %i, %i
  return
}

// -----

func.func @update(%v: !cute.memref<f16, gmem, align<16>, "(64,64):(64,1)">, %t: tensor<16x8xf16>, %i: i32) {
  // expected-error@+1 {{no atomic max of f16; there is: add}}
  tile.store %t, %v[%i, %i] {atomic = "max"} : tensor<16x8xf16>, !cute.memref<f16, gmem, align<16>, "(64,64):(64,1)">, i32, i32
  return
}

// -----

func.func @exchange(%v: !cute.memref<i32, gmem, align<16>, "(64,64):(64,1)">, %t: tensor<16x8xi32>, %i: i32) {
  // expected-error@+1 {{as one of add, min, max, and, or, xor, but got "exchange"}}
  tile.store %t, %v[%i, %i] {atomic = "exchange"} : tensor<16x8xi32>, !cute.memref<i32, gmem, align<16>, "(64,64):(64,1)">, i32, i32
  return
}

// -----

func.func @by_element(%v: !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">, %i: i32) {
  // expected-error@+1 {{expects axes in [0, 2) as `by_element`, but got 2}}
  %0 = tile.load %v[%i, %i] {by_element = array<i64: 2>} : !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">, i32, i32 -> tensor<16x8xf32>
  return
}

// -----

func.func @offset(%v: !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">, %i: i32, %x: f32) {
  // expected-error@+1 {{expects i32, i64 or a !cute.int_tuple of one integer as coordinate along axis 1, but got f32}}
  %0 = tile.load %v[%i, %x] {by_element = array<i64: 1>} : !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">, i32, f32 -> tensor<16x8xf32>
  return
}

// -----

func.func @counted(%v: !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">, %i: !cute.int_tuple<"?">, %t: tensor<16x8xf32>) {
  // expected-error@+1 {{expects i32 or i64 as coordinate along axis 0, but got !cute.int_tuple<"?">}}
  tile.store %t, %v[%i, %i] {by_element = array<i64: 1>} : tensor<16x8xf32>, !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">, !cute.int_tuple<"?">, !cute.int_tuple<"?">
  return
}

// -----

func.func @nested(%v: !cute.memref<f32, gmem, align<16>, "((8,8),64):((512,64),1)">, %i: i32) {
  // expected-error@+1 {{expects a mode of one extent to lie at an offset along, but axis 0 is (8,8)}}
  %0 = tile.load %v[%i, %i] {by_element = array<i64: 0>} : !cute.memref<f32, gmem, align<16>, "((8,8),64):((512,64),1)">, i32, i32 -> tensor<16x8xf32>
  return
}

// -----

func.func @join(%a: tensor<16x32xf32>) {
  // expected-error@+1 {{expects [32, 32] as the shape of the parts together, but got [16, 64]}}
  %0 = tile.join %a, %a {axis = 0 : i32} : tensor<16x32xf32>, tensor<16x32xf32> -> tensor<16x64xf32>
  return
}

// -----

func.func @slice(%a: tensor<16x32xf32>) {
  // expected-error@+1 {{expects a part of a tile of [16, 32] at a multiple of its shape, but got [16, 16] at [0, 8]}}
  %0 = tile.slice %a [0, 8] : tensor<16x32xf32> -> tensor<16x16xf32>
  return
}

// -----

func.func @no_copies() {
  // expected-error@+1 {{expects at least one copy}}
  %g = tile.commit
  return
}

// -----

func.func @a_place_too_small(%x: !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">, %b: !cute.memref<f32, smem, align<128>, "(4,2,32,1):(1,128,4,256)">, %i: i32) {
  // expected-error@+1 {{expects 16 values of a thread in the buffer, but got 8}}
  %0 = tile.take %x[%i, %i], %b[%i] {parts = 1 : i64, younger = 0 : i64} : !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">, !cute.memref<f32, smem, align<128>, "(4,2,32,1):(1,128,4,256)">, i32, i32 -> tensor<8x64xf32, #tile.tv<"((16,2),(4,4)):((32,1),(8,2))">>
  return
}

// -----

func.func @parts(%x: !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">, %b: !cute.memref<f32, smem, align<128>, "(4,4,32,1):(1,128,4,512)">, %i: i32) {
  // expected-error@+1 {{expects `parts` that divide 4 vectors, but got 3}}
  tile.load_async %x[%i, %i], %b[%i] {tile = tensor<8x64xf32, #tile.tv<"((16,2),(4,4)):((32,1),(8,2))">>, parts = 3 : i64} : !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">, !cute.memref<f32, smem, align<128>, "(4,4,32,1):(1,128,4,512)">, i32, i32
  return
}

// -----

func.func @no_token(%x: i32) {
  // expected-note@-1 {{prior use here}}
  // expected-error@+1 {{expects different type than prior uses}}
  tile.wait %x
  return
}

// -----

func.func @counted() {
  // expected-error@+1 {{expects i32 as the element type, but got f32}}
  %0 = tile.iota 1 : tensor<16x32xf32>
  return
}

// -----

func.func @reshaped(%a: tensor<16x8xf32>) {
  // expected-error@+1 {{expects a result of 128 elements, but got 144}}
  %0 = tile.reshape %a : tensor<16x8xf32> -> tensor<16x9xf32>
  return
}

// -----

func.func @recast(%a: tensor<16x8xi8>) {
  // expected-error@+1 {{expects the shape of the result [16, 16], but got [16, 8]}}
  %0 = tile.recast %a : tensor<16x8xi8> -> tensor<16x8xi4>
  return
}

// -----

func.func @wider(%a: tensor<16x8xi8>) {
  // expected-error@+1 {{expects elements that make up those of the input, but got i32 of i8}}
  %0 = tile.recast %a : tensor<16x8xi8> -> tensor<16x2xi32>
  return
}

// -----

func.func @ordered(%a: tensor<16x8xi8>) {
  // expected-error@+1 {{expects an order of each place once, but got (2,2):(1,4)}}
  %0 = tile.recast %a {order = "(2,2):(1,4)"} : tensor<16x8xi8> -> tensor<16x16xi4>
  return
}

// -----

func.func @spread(%a: tensor<16x8xi8, #tile.tv<"((4,8),(2,2)):((32,1),(8,16))">>) {
  // expected-error@+1 {{expects ((4,8),(2,2,2)):((64,1),(16,8,32)), but got ((4,8),(2,2,2)):((32,1),(8,16,128))}}
  %0 = tile.recast %a : tensor<16x8xi8, #tile.tv<"((4,8),(2,2)):((32,1),(8,16))">> -> tensor<16x16xi4, #tile.tv<"((4,8),(2,2,2)):((32,1),(8,16,128))">>
  return
}

// -----

func.func @halves(%a: !cute.memref<i4, gmem, align<16>, "(64,64):(64,1)">, %i: i32) {
  // expected-error@+1 {{expects whole bytes, but got tensor<16x32xi4>}}
  %0 = tile.load %a[%i, %i] : !cute.memref<i4, gmem, align<16>, "(64,64):(64,1)">, i32, i32 -> tensor<16x32xi4>
  return
}

// -----

func.func @transposed(%a: tensor<16x8xf32>) {
  // expected-error@+1 {{expects [8, 16] as the shape of the result, but got [16, 8]}}
  %0 = tile.transpose %a : tensor<16x8xf32> -> tensor<16x8xf32>
  return
}

// -----

func.func @repeated_number(%x: i32) {
  // expected-error@+1 {{expects f32 as the number, but got i32}}
  %0 = tile.splat %x : i32 -> tensor<16x32xf32>
  return
}

// -----

func.func @yields_to_nothing(%x: i32) {
  // expected-error@+1 {{'tile.yield' op expects parent op to be one of 'tile.map, tile.fold, tile.scan'}}
  tile.yield %x : i32
}

// -----

func.func @fold_arguments(%a: tensor<16x8xf32>) {
  // expected-error@+1 {{expects a body with two arguments for each tile, but got 1}}
  %0 = tile.fold (%a) {
  ^bb0(%e: f32):
    tile.yield %e : f32
  } {axis = 1 : i32} : (tensor<16x8xf32>) -> tensor<16x1xf32>
  return
}

// -----

func.func @scan_shape(%a: tensor<16x8xf32>) {
  // expected-error@+1 {{expects [16, 8] as the shape of each result, but got [16, 1]}}
  %0 = tile.scan (%a) {
  ^bb0(%e: f32, %f: f32):
    tile.yield %e : f32
  } {axis = 1 : i32} : (tensor<16x8xf32>) -> tensor<16x1xf32>
  return
}

// -----

func.func @scan_exclusive(%a: tensor<16x8xf32>) {
  // expected-error@+1 {{expects 1 numbers as `exclusive`, but got 2}}
  %0 = tile.scan (%a) {
  ^bb0(%e: f32, %f: f32):
    tile.yield %e : f32
  } {axis = 1 : i32, exclusive = [0.0 : f32, 0.0 : f32]} : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return
}

// -----

func.func @gather_element(%a: tensor<16xf32>, %i: tensor<4xi64>) {
  // expected-error@+1 {{expects i32 as the element type of coordinates, but got i64}}
  %0 = tile.gather %a[%i] : tensor<16xf32>, tensor<4xi64> -> tensor<4xf32>
  return
}

// -----

func.func @gather_rank(%a: tensor<16x8xf32>, %i: tensor<4xi32>) {
  // expected-error@+1 {{expects coordinates for each of 2 axes, but got 1}}
  %0 = tile.gather %a[%i] : tensor<16x8xf32>, tensor<4xi32> -> tensor<4xf32>
  return
}

// -----

func.func @gather_shape(%a: tensor<16xf32>, %i: tensor<4xi32>) {
  // expected-error@+1 {{expects [8] as the shape of coordinates, but got [4]}}
  %0 = tile.gather %a[%i] : tensor<16xf32>, tensor<4xi32> -> tensor<8xf32>
  return
}

// -----

func.func @gather_layout(%a: tensor<32xf32>, %i: tensor<32xi32, #tile.tv<"(32,1):(1,0)">>) {
  // expected-error@+1 {{expects coordinates spread as the result is}}
  %0 = tile.gather %a[%i] : tensor<32xf32>, tensor<32xi32, #tile.tv<"(32,1):(1,0)">> -> tensor<32xf32, #tile.tv<"(16,2):(2,1)">>
  return
}

// -----

func.func @scatter_rank(%a: tensor<4xf32>, %x: !cute.memref<f32, gmem, align<16>, "(8,8):(8,1)">, %i: tensor<4xi32>) {
  // expected-error@+1 {{expects coordinates for each of 2 axes, but got 1}}
  tile.scatter %a, %x[%i] : tensor<4xf32>, !cute.memref<f32, gmem, align<16>, "(8,8):(8,1)">, tensor<4xi32>
  return
}

// -----

func.func @atomic_values(%a: tensor<4xi32>, %x: !cute.memref<i32, gmem, align<16>, "(8):(1)">) {
  // expected-error@+1 {{expects coordinates for each of 1 axes and 2 tiles that update, but got 2}}
  %0 = tile.atomic "cas" %x(%a, %a) : !cute.memref<i32, gmem, align<16>, "(8):(1)">, tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  return
}

// -----

func.func @atomic_kind(%a: tensor<4xi32>, %x: !cute.memref<f32, gmem, align<16>, "(8):(1)">, %y: tensor<4xf32>) {
  // expected-error@+1 {{no atomic cas of f32; there is: add, min, max, exchange}}
  %0 = tile.atomic "cas" %x(%a, %y, %y) : !cute.memref<f32, gmem, align<16>, "(8):(1)">, tensor<4xi32>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @atomic_name(%a: tensor<4xi32>, %x: !cute.memref<i32, gmem, align<16>, "(8):(1)">) {
  // expected-error@+1 {{expects `kind` as one of add, min, max, and, or, xor, exchange, cas, load, acquire, store, release, but got "nand"}}
  %0 = tile.atomic "nand" %x(%a, %a) : !cute.memref<i32, gmem, align<16>, "(8):(1)">, tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  return
}

// -----

func.func @atomic_shape(%a: tensor<4xi32>, %b: tensor<2xi32>, %x: !cute.memref<i32, gmem, align<16>, "(8):(1)">) {
  // expected-error@+1 {{expects [4] as the shape of the result, but got [2]}}
  %0 = tile.atomic "add" %x(%a, %b) : !cute.memref<i32, gmem, align<16>, "(8):(1)">, tensor<4xi32>, tensor<2xi32> -> tensor<4xi32>
  return
}

// -----

func.func @negated_integers(%a: tensor<16x32xi8>, %c: tensor<16x16xi32>) {
  // expected-error@+1 {{expects sums of floats where the product is subtracted, but got i32}}
  %0 = tile.dot %a, %a, %c {negated} : tensor<16x32xi8>, tensor<16x32xi8>, tensor<16x16xi32> -> tensor<16x16xi32>
  return
}

// -----

func.func @precision(%a: tensor<16x8xbf16>, %c: tensor<16x16xf32>) {
  // expected-error@+1 {{expects factors of f32 with precision tf32, but got bf16}}
  %0 = tile.dot %a, %a, %c {precision = "tf32"} : tensor<16x8xbf16>, tensor<16x8xbf16>, tensor<16x16xf32> -> tensor<16x16xf32>
  return
}

// -----

func.func @counter_of_floats(%counter: !cute.memref<f32, gmem, align<4>, "1:0">, %i: i32) {
  // expected-error@+1 {{expects i32 as the counter's element type, but got f32}}
  %0 = tile.arrive %counter[%i], %i : !cute.memref<f32, gmem, align<4>, "1:0">, i32
  return
}

// -----

!images = !cute.memref<f16, gmem, align<16>, "(8,16,16,64):(16384,1024,64,1)">
func.func @window_coordinate(%a: tensor<16x32xf16>, %x: !images, %i: i32) {
  // expected-error@+1 {{expects an image and a pixel as the coordinate of windows, then 3 numbers for each of the elements that share 32 columns, but got 4}}
  %0 = tile.windows %a, %x[%i, %i, %i, %i] {windows = array<i64: 0, 0, 0, 0, 1, 1, 2, 2>} : tensor<16x32xf16>, !images, i32, i32, i32, i32 -> tensor<16x32xf16>
  return
}

// -----

func.func @barrier_at_floats(%counter: !cute.memref<f32, gmem, align<4>, "1:0">, %i: i32) {
  // expected-error@+1 {{expects i32 as the counter's element type, but got f32}}
  tile.grid_barrier %counter[%i] : !cute.memref<f32, gmem, align<4>, "1:0">, i32
  return
}

// -----

func.func @slices(%a: tensor<16x8xf32>, %c: tensor<3x16x16xf32>) {
  // expected-error@+1 {{expects slices of k that are alike, but 8 is no multiple of 3}}
  %0 = tile.dot %a, %a, %c : tensor<16x8xf32>, tensor<16x8xf32>, tensor<3x16x16xf32> -> tensor<3x16x16xf32>
  return
}

// -----

func.func @unknown_precision(%a: tensor<16x8xf32>, %c: tensor<16x16xf32>) {
  // expected-error@+1 {{expects one of `ieee`, `tf32`, `tf32x3` as `precision`, but got "bf16x3"}}
  %0 = tile.dot %a, %a, %c {precision = "bf16x3"} : tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return
}

// -----

func.func @printed_numbers(%i: i32) {
  // expected-error@+1 {{expects at least one tile; numbers are printed by gpu.printf}}
  tile.print "%d"(%i) : i32
  return
}

// -----

!images = !cute.memref<f16, gmem, align<16>, "(8,16,16,64):(16384,1024,64,1)">
func.func @window_modes(%a: tensor<16x32xf16>, %x: !images, %i: i32) {
  // expected-error@+1 {{expects a view of 3 modes, images, 1 of pixels and channels, or of one image, but got 4}}
  %0 = tile.windows %a, %x[%i, %i, %i, %i] {windows = array<i64: 0, 0, 1, 2>} : tensor<16x32xf16>, !images, i32, i32, i32, i32 -> tensor<16x32xf16>
  return
}

// -----

func.func @other_instruction(%a: tensor<16x8xf32>, %c: tensor<16x16xf32>) {
  // expected-error@+1 {{expects an instruction on tf32 with precision tf32x3, but got}}
  %0 = tile.dot %a, %a, %c {precision = "tf32x3", mma = !cute_nvgpu.sm80.mma<"16x8x16", elem_type = (f16, f16, f32)>} : tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return
}

// -----

!images = !cute.memref<f16, gmem, align<16>, "(8,16,16,64):(16384,1024,64,1)">
func.func @window_steps(%a: tensor<16x32xf16>, %x: !images, %i: i32) {
  // expected-error@+1 {{expects positive steps, and moves that are not negative}}
  %0 = tile.windows %a, %x[%i, %i, %i, %i, %i, %i] {windows = array<i64: 0, 0, 0, 0, 0, 1, 2, 2>} : tensor<16x32xf16>, !images, i32, i32, i32, i32, i32, i32 -> tensor<16x32xf16>
  return
}

// -----

func.func @printed_halves(%a: tensor<4xf16>) {
  // expected-error@+1 {{prints tiles of i32, i64, f32 and f64, not of f16}}
  tile.print "%f"(%a) : tensor<4xf16>
  return
}

// -----

!buffer = !cute.memref<f16, smem, align<128>, "(16,32,1):(32,1,512)">
func.func @gathered_divisors(%a: tensor<16x32xf16>, %buffer: !buffer, %stage: i32) {
  // expected-error@+1 {{expects positive `divisors`}}
  %0 = tile.gather_async %a, %buffer[%stage] {copy = !cute_nvgpu.atom.simt_async_copy<f16, cache = global, 128 b>, divisors = array<i64: 1, 0>} : tensor<16x32xf16>, !buffer
  return
}

// -----

!cube = !cute.memref<f16, gmem, align<16>, "(8,16,64):(1024,64,1)">
func.func @extents_of_box(%v: !cube, %i: i32) {
  // expected-error@+1 {{expects `box` of 3 extents, as the view has modes, but got 2}}
  %0 = tile.load %v[%i, %i, %i] {box = array<i64: 128, 64>} : !cube, i32, i32, i32 -> tensor<128x64xf16>
  return
}

// -----

!cube = !cute.memref<f16, gmem, align<16>, "(8,16,64):(1024,64,1)">
func.func @axes_of_box(%v: !cube, %i: i32) {
  // expected-error@+1 {{expects a tile whose axes are modes of `box` side by side, but got tensor<64x128xf16>}}
  %0 = tile.load %v[%i, %i, %i] {box = array<i64: 8, 16, 64>} : !cube, i32, i32, i32 -> tensor<64x128xf16>
  return
}

// -----

!cube = !cute.memref<f16, gmem, align<16>, "(8,16,64):(1024,64,1)">
func.func @coordinate_of_box(%v: !cube, %i: i32) {
  // expected-error@+1 {{expects a coordinate for each of 3 axes, but got 2}}
  %0 = tile.load %v[%i, %i] {box = array<i64: 8, 16, 64>} : !cube, i32, i32 -> tensor<128x64xf16>
  return
}

// -----

!cube = !cute.memref<f16, gmem, align<16>, "(8,16,64):(1024,64,1)">
func.func @empty_box(%v: !cube, %i: i32) {
  // expected-error@+1 {{expects positive extents as `box`}}
  %0 = tile.load %v[%i, %i, %i] {box = array<i64: 0, 16, 64>} : !cube, i32, i32, i32 -> tensor<128x64xf16>
  return
}
