// Every operation of the tile dialect is read, verified and printed; what is printed reads back.
// RUN: %cute-opt %s | %cute-opt | FileCheck %s
// RUN: %cute-opt --mlir-print-op-generic %s | %cute-opt | FileCheck %s

!view = !cute.memref<bf16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">
!buffer = !cute.memref<bf16, smem, align<128>, "(16,32,2):(32,1,512)">
!images = !cute.memref<bf16, gmem, align<16>, "(8,16,16,64):(16384,1024,64,1)">
!c = tensor<16x8xf32, #tile.tv<"((4,8),(2,2)):((32,1),(16,8))">>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @written
  gpu.func @written(%p: !cute.ptr<bf16, gmem, align<16>>, %shape: i32) kernel {
    %n = cute.assume(%shape) : (i32) -> !cute.int_tuple<"?{div=8}">
    %wide = arith.extsi %shape : i32 to i64
    %ld = cute.assume(%wide) : (i64) -> !cute.int_tuple<"?{i64 div=8}">
    %s = cute.make_shape(%shape, %n) : (i32, !cute.int_tuple<"?{div=8}">) -> !cute.shape<"(?,?{div=8})">
    %d = cute.make_stride(%ld) : (!cute.int_tuple<"?{i64 div=8}">) -> !cute.stride<"(?{i64 div=8},1)">
    %l = cute.make_layout(%s, %d) : (!cute.shape<"(?,?{div=8})">, !cute.stride<"(?{i64 div=8},1)">) -> !cute.layout<"(?,?{div=8}):(?{i64 div=8},1)">
    %x = cute.make_view(%p, %l) : (!cute.ptr<bf16, gmem, align<16>>, !cute.layout<"(?,?{div=8}):(?{i64 div=8},1)">) -> !view
    // CHECK: tile.grid %{{.*}}, %{{.*}}
    tile.grid %shape, %shape
    // CHECK: %[[I:.*]] = tile.index 0
    %i = tile.index 0
    %j = tile.index 1
    %zero = arith.constant 0.0 : f32
    // CHECK: tile.splat %{{.*}} : f32 -> tensor<16x32xf32>
    %zeros = tile.splat %zero : f32 -> tensor<16x32xf32>
    // CHECK: tile.load %{{.*}}[%[[I]], %{{.*}}] {fill = 1.000000e+00 : bf16} : !cute.memref<{{.*}}>, i32, i32 -> tensor<16x32xbf16>
    %a = tile.load %x[%i, %j] {fill = 1.0 : bf16} : !view, i32, i32 -> tensor<16x32xbf16>
    %b = tile.load %x[%j, %i] : !view, i32, i32 -> tensor<32x32xbf16>
    // CHECK: tile.dot %{{.*}} {negated} : tensor<16x32xbf16>, tensor<32x32xbf16>, tensor<16x32xf32> -> tensor<16x32xf32>
    %subtracted = tile.dot %a, %b, %zeros {negated} : tensor<16x32xbf16>, tensor<32x32xbf16>, tensor<16x32xf32> -> tensor<16x32xf32>
    // CHECK: tile.dot %{{.*}} : tensor<16x32xbf16>, tensor<32x32xbf16>, tensor<16x32xf32> -> tensor<16x32xf32>
    %c = tile.dot %a, %b, %zeros : tensor<16x32xbf16>, tensor<32x32xbf16>, tensor<16x32xf32> -> tensor<16x32xf32>
    // CHECK: tile.reduce "max" %{{.*}} 1 : tensor<16x32xf32> -> tensor<16x1xf32>
    %top = tile.reduce "max" %c 1 : tensor<16x32xf32> -> tensor<16x1xf32>
    // CHECK: tile.extract %{{.*}} : tensor<1x1xf32> -> f32
    %one = tile.reduce "max" %top 0 : tensor<16x1xf32> -> tensor<1x1xf32>
    %element = tile.extract %one : tensor<1x1xf32> -> f32
    // CHECK: tile.broadcast %{{.*}} : tensor<16x1xf32> -> tensor<16x32xf32>
    %tops = tile.broadcast %top : tensor<16x1xf32> -> tensor<16x32xf32>
    // CHECK: tile.map(%{{.*}}, %{{.*}}) {
    %y = tile.map (%c, %tops) {
    ^bb0(%e: f32, %t: f32):
      %difference = arith.subf %e, %t : f32
      %narrow = arith.truncf %difference : f32 to bf16
      // CHECK: tile.yield %{{.*}} : bf16
      tile.yield %narrow : bf16
    } : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xbf16>
    // CHECK: tile.transpose %{{.*}} : tensor<16x32xbf16> -> tensor<32x16xbf16>
    %z = tile.transpose %y : tensor<16x32xbf16> -> tensor<32x16xbf16>
    // CHECK: tile.reshape %{{.*}} : tensor<16x1xf32> -> tensor<16xf32>
    %flat = tile.reshape %top : tensor<16x1xf32> -> tensor<16xf32>
    // CHECK: tile.recast %{{.*}} {order = "(2,4):(4,1)"} : tensor<16x32xbf16> -> tensor<16x64xi8>
    %bytes = tile.recast %y {order = "(2,4):(4,1)"} : tensor<16x32xbf16> -> tensor<16x64xi8>
    // CHECK: tile.recast %{{.*}} : tensor<16x64xi8> -> tensor<16x128xi4>
    %halves = tile.recast %bytes : tensor<16x64xi8> -> tensor<16x128xi4>
    // CHECK: tile.iota 1 : tensor<16x32xi32>
    %at = tile.iota 1 : tensor<16x32xi32>
    // CHECK: tile.fold(%{{.*}}, %{{.*}}) {
    // CHECK: tile.yield %{{.*}}, %{{.*}} : f32, i32
    // CHECK: {axis = 1 : i32} : (tensor<16x32xf32>, tensor<16x32xi32>) -> (tensor<16x1xf32>, tensor<16x1xi32>)
    %best:2 = tile.fold (%c, %at) {
    ^bb0(%e: f32, %p0: i32, %f: f32, %p1: i32):
      %less = arith.cmpf olt, %e, %f : f32
      %v = arith.select %less, %f, %e : f32
      %w = arith.select %less, %p1, %p0 : i32
      tile.yield %v, %w : f32, i32
    } {axis = 1 : i32} : (tensor<16x32xf32>, tensor<16x32xi32>) -> (tensor<16x1xf32>, tensor<16x1xi32>)
    // CHECK: tile.scan(%{{.*}}) {
    // CHECK: {axis = 0 : i32, exclusive = [0.000000e+00 : f32], reverse} : (tensor<16x32xf32>) -> tensor<16x32xf32>
    %sums = tile.scan (%c) {
    ^bb0(%e: f32, %f: f32):
      %sum = arith.addf %e, %f : f32
      tile.yield %sum : f32
    } {axis = 0 : i32, exclusive = [0.0 : f32], reverse} : (tensor<16x32xf32>) -> tensor<16x32xf32>
    // CHECK: tile.gather %{{.*}}[%{{.*}}, %{{.*}}] : tensor<16x1xf32>, tensor<16x32xi32>, tensor<16x32xi32> -> tensor<16x32xf32>
    %moved = tile.gather %top[%at, %at] : tensor<16x1xf32>, tensor<16x32xi32>, tensor<16x32xi32> -> tensor<16x32xf32>
    // CHECK: tile.scatter %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] {atomic = "add"} : tensor<16x32xbf16>, !cute.memref<{{.*}}>, tensor<16x32xi32>, tensor<16x32xi32>
    tile.scatter %y, %x[%at, %at] {atomic = "add"} : tensor<16x32xbf16>, !view, tensor<16x32xi32>, tensor<16x32xi32>
    // CHECK: tile.atomic "add" %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : !cute.memref<{{.*}}>, tensor<16x32xi32>, tensor<16x32xi32>, tensor<16x32xbf16> -> tensor<16x32xbf16>
    %was = tile.atomic "add" %x(%at, %at, %y) : !view, tensor<16x32xi32>, tensor<16x32xi32>, tensor<16x32xbf16> -> tensor<16x32xbf16>
    // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : tensor<32x16xbf16>, !cute.memref<{{.*}}>, i32, i32
    tile.store %z, %x[%j, %i] : tensor<32x16xbf16>, !view, i32, i32
    // Along some axes the coordinate counts elements.
    %before = cute.static : !cute.int_tuple<"-1">
    // CHECK: tile.load %{{.*}}[%[[I]], %[[O:.*]]] {by_element = array<i64: 1>} : !cute.memref<{{.*}}>, i32, !cute.int_tuple<"-1"> -> tensor<16x32xbf16>
    %halo = tile.load %x[%i, %before] {by_element = array<i64: 1>} : !view, i32, !cute.int_tuple<"-1"> -> tensor<16x32xbf16>
    // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] {by_element = array<i64: 0, 1>} : tensor<16x32xbf16>, !cute.memref<{{.*}}>, i64, !cute.int_tuple<"?{div=8}">
    %far = arith.extsi %i : i32 to i64
    tile.store %halo, %x[%far, %n] {by_element = array<i64: 0, 1>} : tensor<16x32xbf16>, !view, i64, !cute.int_tuple<"?{div=8}">
    // Rows that are pixels of images, of two elements of a filter together.
    %lies = cute.static : !cute.layout<"(8,16,16,64):(16384,1024,64,1)">
    %images = cute.make_view(%p, %lies) : (!cute.ptr<bf16, gmem, align<16>>, !cute.layout<"(8,16,16,64):(16384,1024,64,1)">) -> !images
    // CHECK: tile.windows %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] {windows = array<i64: -1, -1, -1, -1, 1, 1, 2, 2>} : tensor<16x32xbf16>, !cute.memref<{{.*}}>, i32, i32, i32, i32, i32, i32 -> tensor<16x32xbf16>
    %windows = tile.windows %halo, %images[%i, %j, %j, %i, %i, %j] {windows = array<i64: -1, -1, -1, -1, 1, 1, 2, 2>} : tensor<16x32xbf16>, !images, i32, i32, i32, i32, i32, i32 -> tensor<16x32xbf16>
    // CHECK: tile.load %{{.*}} {windows = array<i64: 0, 0, 0, 0, 2, 1, 2, 2>} : !cute.memref<{{.*}}>, i32, i32, i32, i32, i32, i32, i32, i32, i32 -> tensor<16x32xbf16>
    %two = tile.load %images[%i, %j, %j, %i, %i, %j, %i, %j, %j] {windows = array<i64: 0, 0, 0, 0, 2, 1, 2, 2>} : !images, i32, i32, i32, i32, i32, i32, i32, i32, i32 -> tensor<16x32xbf16>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @staged
  gpu.func @staged(%p: !cute.ptr<bf16, gmem, align<16>>, %c: !c, %stage: i32) {
    %l = cute.static : !cute.layout<"(64,64):(64,1)">
    %x = cute.make_view(%p, %l) : (!cute.ptr<bf16, gmem, align<16>>, !cute.layout<"(64,64):(64,1)">) -> !cute.memref<bf16, gmem, align<16>, "(64,64):(64,1)">
    %buffer = cute.memref.alloc_smem() : () -> !buffer
    // CHECK: %[[COPY:.*]] = tile.copy_async %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}}[%{{.*}}] :
    %copy = tile.copy_async %x[%stage, %stage], %buffer[%stage] : !cute.memref<bf16, gmem, align<16>, "(64,64):(64,1)">, !buffer, i32, i32
    // CHECK: %[[GROUP:.*]] = tile.commit %[[COPY]]
    %group = tile.commit %copy
    // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[GROUP]]) -> (!tile.token)
    %last = scf.for %i = %stage to %stage step %stage iter_args(%g = %group) -> (!tile.token) : i32 {
      scf.yield %g : !tile.token
    }
    // CHECK: tile.wait %{{.*}}, %{{.*}}
    tile.wait %last, %last
    // CHECK: tile.read %{{.*}}[%{{.*}}] [0, 16] : {{.*}} -> tensor<16x16xbf16, #tile.tv<
    %a = tile.read %buffer[%stage] [0, 16] : !buffer -> tensor<16x16xbf16, #tile.tv<"((4,8),(2,2,2)):((32,1),(16,8,128))">>
    // CHECK: tile.convert_layout
    %b = tile.convert_layout %c : !c -> tensor<16x8xf32, #tile.tv<"(32,4):(1,32)">>
    %w = tile.load %x[%stage, %stage] : !cute.memref<bf16, gmem, align<16>, "(64,64):(64,1)">, i32, i32 -> tensor<16x32xbf16>
    // CHECK: tile.slice %{{.*}} [0, 16] : tensor<16x32xbf16{{.*}}> -> tensor<16x16xbf16>
    %part = tile.slice %w [0, 16] : tensor<16x32xbf16> -> tensor<16x16xbf16>
    // CHECK: tile.join %{{.*}}, %{{.*}} {axis = 1 : i32} : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x32xbf16>
    %joined = tile.join %part, %part {axis = 1 : i32} : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x32xbf16>
    // CHECK: tile.write %{{.*}}, %{{.*}}[%{{.*}}] : tensor<16x32xbf16>
    tile.write %w, %buffer[%stage] : tensor<16x32xbf16>, !buffer
    // CHECK: tile.gather_async %{{.*}}, %{{.*}}[%{{.*}}] {copy = !cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>, divisors = array<i64: 1, 8>} : tensor<16x32xbf16>
    %gathered = tile.gather_async %w, %buffer[%stage] {copy = !cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>, divisors = array<i64: 1, 8>} : tensor<16x32xbf16>, !buffer
    gpu.return
  }
}

// Blocks that are counted, and what is printed.
// CHECK-LABEL: func.func @blocks
func.func @blocks(%counter: !cute.memref<i32, gmem, align<4>, "1:0">, %i: i32, %a: tensor<4x8xf32>, %b: tensor<4x8xi64>) {
  // CHECK: %{{.*}} = tile.arrive %{{.*}}[%{{.*}}], %{{.*}} : !cute.memref<i32, gmem, align<4>, "1:0">, i32
  %last = tile.arrive %counter[%i], %i : !cute.memref<i32, gmem, align<4>, "1:0">, i32
  // CHECK: tile.grid_barrier %{{.*}}[%{{.*}}] : !cute.memref<i32, gmem, align<4>, "1:0">, i32
  tile.grid_barrier %counter[%i] : !cute.memref<i32, gmem, align<4>, "1:0">, i32
  // CHECK: tile.print "%d: %f %lld\0A"(%{{.*}}, %{{.*}}, %{{.*}}) : i32, tensor<4x8xf32>, tensor<4x8xi64>
  tile.print "%d: %f %lld\0A"(%i, %a, %b) : i32, tensor<4x8xf32>, tensor<4x8xi64>
  // CHECK: tile.reshape %{{.*}} : tensor<4x8xf32> -> tensor<2x16xf32>
  %merged = tile.reshape %a : tensor<4x8xf32> -> tensor<2x16xf32>
  return
}
