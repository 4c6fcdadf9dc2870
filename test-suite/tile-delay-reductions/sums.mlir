// What a loop adds up along an axis that threads share each thread adds up for itself, and all of them behind the loop: what is left of the axis in
// the loop is an element for each thread.
// RUN: %cute-opt --tile-delay-reductions %s | FileCheck %s

!view = !cute.memref<f32, gmem, align<16>, "(4,?{div=256}):(?{i64 div=4},1)">
!t = tensor<4x256xf32, #tile.tv<"((32,4),(4,2)):((16,1),(4,512))">>
!s = tensor<4x1xf32, #tile.tv<"((32,4),1):((0,1),0)">>
!one = tensor<1x1xf32, #tile.tv<"((32,4),1):((0,0),0)">>
!v = tensor<4xf32, #tile.tv<"((32,4),1):((0,1),0)">>

gpu.module @kernels {
  // Rows are multiplied by a factor of the round: all threads of one have it.
  // CHECK-LABEL: gpu.func @scaled
  // CHECK: %[[ZEROS:.*]] = tile.splat %{{.*}} -> tensor<4x32xf32, #tile.tv<"((32,4),1):((4,1),0)">>
  // CHECK: %[[SUMS:.*]] = scf.for {{.*}} iter_args(%[[SUM:.*]] = %[[ZEROS]])
  // CHECK: %[[OWN:.*]] = tile.reduce "add" %{{.*}} 1 {{.*}} -> tensor<4x32xf32, #tile.tv<"((32,4),1):((4,1),0)">>
  // CHECK: %[[FACTOR:.*]] = tile.broadcast %{{.*}} : tensor<4x1xf32, #tile.tv<"((32,4),1):((0,1),0)">> -> tensor<4x32xf32, #tile.tv<"((32,4),1):((4,1),0)">>
  // CHECK: tile.map(%[[SUM]], %[[FACTOR]], %[[OWN]])
  // CHECK: scf.yield
  // CHECK: %[[ALL:.*]] = tile.reduce "add" %[[SUMS]] 1 : {{.*}} -> tensor<4x1xf32, #tile.tv<"((32,4),1):((0,1),0)">>
  // CHECK: tile.store %[[ALL]]
  gpu.func @scaled(%x: !view, %y: !view, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %0 = arith.constant 0.0 : f32
    %zeros = tile.splat %0 : f32 -> !s
    %factor = tile.load %x[%c0, %c0] : !view, i32, i32 -> !s
    %sums = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zeros) -> (!s) : i32 {
      %a = tile.load %x[%c0, %i] : !view, i32, i32 -> !t
      %r = tile.reduce "add" %a 1 : !t -> !s
      %next = tile.map(%sum, %factor, %r) {
      ^bb0(%p: f32, %q: f32, %z: f32):
        %f = llvm.intr.fma(%p, %q, %z) : (f32, f32, f32) -> f32
        tile.yield %f : f32
      } : (!s, !s, !s) -> !s
      scf.yield %next : !s
    }
    tile.store %sums, %y[%c0, %c0] : !s, !view, i32, i32
    gpu.return
  }

  // Sums without the axis have it in the loop.
  // CHECK-LABEL: gpu.func @of_one_axis
  // CHECK: scf.for {{.*}} -> (tensor<4x32xf32, {{.*}}>)
  // CHECK: %[[ALL:.*]] = tile.reduce "add" %{{.*}} 1 : tensor<4x32xf32
  // CHECK: tile.reshape %[[ALL]] : tensor<4x1xf32, {{.*}}> -> tensor<4xf32, {{.*}}>
  gpu.func @of_one_axis(%x: !view, %y: !cute.memref<f32, gmem, align<16>, "(?):(1)">, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %0 = arith.constant 0.0 : f32
    %zeros = tile.splat %0 : f32 -> !v
    %sums = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zeros) -> (!v) : i32 {
      %a = tile.load %x[%c0, %i] : !view, i32, i32 -> !t
      %r = tile.reduce "add" %a 1 : !t -> !s
      %v = tile.reshape %r : !s -> !v
      %next = tile.map(%sum, %v) {
      ^bb0(%p: f32, %q: f32):
        %f = arith.addf %p, %q : f32
        tile.yield %f : f32
      } : (!v, !v) -> !v
      scf.yield %next : !v
    }
    tile.store %sums, %y[%c0] : !v, !cute.memref<f32, gmem, align<16>, "(?):(1)">, i32
    gpu.return
  }

  // A factor may be a number.
  // CHECK-LABEL: gpu.func @by_a_number
  // CHECK: scf.for {{.*}} -> (tensor<4x32xf32, {{.*}}>)
  // CHECK: tile.reduce "add" %{{.*}} 1 : tensor<4x32xf32
  gpu.func @by_a_number(%x: !view, %y: !view, %n: i32, %two: f32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %0 = arith.constant 0.0 : f32
    %zeros = tile.splat %0 : f32 -> !s
    %sums = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zeros) -> (!s) : i32 {
      %a = tile.load %x[%c0, %i] : !view, i32, i32 -> !t
      %r = tile.reduce "add" %a 1 : !t -> !s
      %m = tile.map(%r) {
      ^bb0(%p: f32):
        %f = arith.mulf %two, %p : f32
        tile.yield %f : f32
      } : (!s) -> !s
      %next = tile.map(%sum, %m) {
      ^bb0(%p: f32, %q: f32):
        %f = arith.subf %p, %q : f32
        tile.yield %f : f32
      } : (!s, !s) -> !s
      scf.yield %next : !s
    }
    tile.store %sums, %y[%c0, %c0] : !s, !view, i32, i32
    gpu.return
  }

  // A `while` carries sums in both of its regions.
  // CHECK-LABEL: gpu.func @of_while
  // CHECK: %[[ZEROS:.*]] = tile.splat %{{.*}} -> tensor<4x32xf32, {{.*}}>
  // CHECK: %[[SUMS:.*]]:2 = scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %[[ZEROS]]) : (i32, tensor<4x32xf32, {{.*}}>) -> (tensor<4x32xf32, {{.*}}>, i32)
  // CHECK: scf.condition(%{{.*}}) %{{.*}}, %{{.*}} : tensor<4x32xf32, {{.*}}>, i32
  // CHECK: ^bb0(%{{.*}}: tensor<4x32xf32, {{.*}}>, %{{.*}}: i32):
  // CHECK: scf.yield %{{.*}}, %{{.*}} : i32, tensor<4x32xf32, {{.*}}>
  // CHECK: tile.reduce "add" %[[SUMS]]#0 1 : {{.*}} -> tensor<4x1xf32, {{.*}}>
  gpu.func @of_while(%x: !view, %y: !view, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %0 = arith.constant 0.0 : f32
    %zeros = tile.splat %0 : f32 -> !s
    %sums:2 = scf.while (%i = %c0, %sum = %zeros) : (i32, !s) -> (!s, i32) {
      %more = arith.cmpi slt, %i, %n : i32
      scf.condition(%more) %sum, %i : !s, i32
    } do {
    ^bb0(%sum: !s, %i: i32):
      %a = tile.load %x[%c0, %i] : !view, i32, i32 -> !t
      %r = tile.reduce "add" %a 1 : !t -> !s
      %next = tile.map(%sum, %r) {
      ^bb0(%p: f32, %q: f32):
        %f = arith.addf %p, %q : f32
        tile.yield %f : f32
      } : (!s, !s) -> !s
      %j = arith.addi %i, %c1 : i32
      scf.yield %j, %next : i32, !s
    }
    tile.store %sums#0, %y[%c0, %c0] : !s, !view, i32, i32
    gpu.return
  }

  // Its condition looks at the sums.
  // CHECK-LABEL: gpu.func @looked_at
  // CHECK-NOT: tensor<4x32xf32
  // CHECK: gpu.return
  gpu.func @looked_at(%x: !view, %y: !view, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %0 = arith.constant 0.0 : f32
    %zeros = tile.splat %0 : f32 -> !s
    %sums:2 = scf.while (%i = %c0, %sum = %zeros) : (i32, !s) -> (!s, i32) {
      %top = tile.reduce "max" %sum 0 : !s -> !one
      %number = tile.extract %top : !one -> f32
      %more = arith.cmpf olt, %number, %0 : f32
      scf.condition(%more) %sum, %i : !s, i32
    } do {
    ^bb0(%sum: !s, %i: i32):
      %a = tile.load %x[%c0, %i] : !view, i32, i32 -> !t
      %r = tile.reduce "add" %a 1 : !t -> !s
      %next = tile.map(%sum, %r) {
      ^bb0(%p: f32, %q: f32):
        %f = arith.addf %p, %q : f32
        tile.yield %f : f32
      } : (!s, !s) -> !s
      %j = arith.addi %i, %c1 : i32
      scf.yield %j, %next : i32, !s
    }
    tile.store %sums#0, %y[%c0, %c0] : !s, !view, i32, i32
    gpu.return
  }

  // What begins with something else than 0, is multiplied with itself, is looked at in the loop, or is the largest, stays.
  // CHECK-LABEL: gpu.func @stays
  // CHECK: scf.for {{.*}} -> (tensor<4x1xf32, {{.*}}>, tensor<4x1xf32, {{.*}}>, tensor<4x1xf32, {{.*}}>, tensor<4x1xf32, {{.*}}>)
  // CHECK-NOT: tile.reshape
  // CHECK: gpu.return
  gpu.func @stays(%x: !view, %y: !view, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %0 = arith.constant 0.0 : f32
    %1 = arith.constant 1.0 : f32
    %zeros = tile.splat %0 : f32 -> !s
    %ones = tile.splat %1 : f32 -> !s
    %sums:4 = scf.for %i = %c0 to %n step %c1 iter_args(%one = %ones, %square = %zeros, %seen = %zeros, %top = %zeros) -> (!s, !s, !s, !s) : i32 {
      %a = tile.load %x[%c0, %i] : !view, i32, i32 -> !t
      %r = tile.reduce "add" %a 1 : !t -> !s
      %first = tile.map(%one, %r) {
      ^bb0(%p: f32, %q: f32):
        %f = arith.addf %p, %q : f32
        tile.yield %f : f32
      } : (!s, !s) -> !s
      %r2 = tile.reduce "add" %a 1 : !t -> !s
      %second = tile.map(%square, %square, %r2) {
      ^bb0(%p: f32, %q: f32, %z: f32):
        %f = llvm.intr.fma(%p, %q, %z) : (f32, f32, f32) -> f32
        tile.yield %f : f32
      } : (!s, !s, !s) -> !s
      %r3 = tile.reduce "add" %a 1 : !t -> !s
      %third = tile.map(%seen, %r3) {
      ^bb0(%p: f32, %q: f32):
        %f = arith.addf %p, %q : f32
        tile.yield %f : f32
      } : (!s, !s) -> !s
      tile.store %third, %y[%c0, %i] : !s, !view, i32, i32
      %r4 = tile.reduce "max" %a 1 : !t -> !s
      %fourth = tile.map(%top, %r4) {
      ^bb0(%p: f32, %q: f32):
        %f = arith.maximumf %p, %q : f32
        tile.yield %f : f32
      } : (!s, !s) -> !s
      scf.yield %first, %second, %third, %fourth : !s, !s, !s, !s
    }
    tile.store %sums#0, %y[%c0, %c0] : !s, !view, i32, i32
    tile.store %sums#1, %y[%c0, %c0] : !s, !view, i32, i32
    tile.store %sums#2, %y[%c0, %c0] : !s, !view, i32, i32
    tile.store %sums#3, %y[%c0, %c0] : !s, !view, i32, i32
    gpu.return
  }
}
