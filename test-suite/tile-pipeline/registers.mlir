// A loop without products whose depth somebody asked for loads tiles into registers so many rounds ahead; as far as registers go one that
// leaves the depth to the cost model, or says nothing and only reads.
// RUN: %cute-opt --tile-assign-layouts --tile-stage-operands --tile-pipeline %s -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: %cute-opt %t.mlir -o /dev/null

!view = !cute.memref<f32, gmem, align<16>, "(?,?{div=4}):(?{i64 div=4},1)">
!t = tensor<1x512xf32>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @ahead
  // CHECK: %[[A:.*]] = tile.load %{{.*}}[%{{.*}}, %c0_i32
  // CHECK: %[[ONE:.*]] = arith.addi
  // CHECK: %[[B:.*]] = tile.load %{{.*}}[%{{.*}}, %[[ONE]]]
  // CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[S:.*]] = %{{.*}}, %[[NOW:.*]] = %[[A]], %[[NEXT:.*]] = %[[B]])
  // CHECK: %[[AT:.*]] = arith.addi %[[I]],
  // CHECK: %[[C:.*]] = tile.load %{{.*}}[%{{.*}}, %[[AT]]]
  // CHECK: nvvm.bar.warp.sync
  // CHECK-NOT: tile.load
  // CHECK: %[[R:.*]] = tile.map(%[[S]], %[[NOW]])
  // CHECK: scf.yield %[[R]], %[[NEXT]], %[[C]]
  gpu.func @ahead(%x: !view, %y: !view, %n: i32) {
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %none = tile.splat %zero : f32 -> !t
    %sum = scf.for %t = %first to %n step %one iter_args(%s = %none) -> (!t) : i32 {
      %a = tile.load %x[%first, %t] : !view, i32, i32 -> !t
      %r = tile.map(%s, %a) {
      ^bb0(%p: f32, %q: f32):
        %add = arith.addf %p, %q : f32
        tile.yield %add : f32
      } : (!t, !t) -> !t
      tile.store %r, %y[%first, %t] : !t, !view, i32, i32
      scf.yield %r : !t
    } {tile.stages = 3 : i32}
    gpu.return
  }

  // What the loop may write is not read ahead, nor is anything where nobody asked for it.
  // CHECK-LABEL: gpu.func @stays
  // CHECK: scf.for
  // CHECK: tile.load
  // CHECK: scf.for
  // CHECK: tile.load
  // CHECK-NOT: tile.load
  // CHECK: gpu.return
  gpu.func @stays(%x: !view, %n: i32) {
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    scf.for %t = %first to %n step %one : i32 {
      %a = tile.load %x[%first, %t] : !view, i32, i32 -> !t
      tile.store %a, %x[%one, %t] : !t, !view, i32, i32
    } {tile.stages = 3 : i32}
    scf.for %t = %first to %n step %one : i32 {
      %a = tile.load %x[%first, %t] : !view, i32, i32 -> !t
      tile.store %a, %x[%one, %t] : !t, !view, i32, i32
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @chosen
  // CHECK: %[[A:.*]] = tile.load
  // CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %{{.*}}, %[[NOW:.*]] = %[[A]])
  // CHECK: tile.load
  // CHECK: nvvm.bar.warp.sync
  // CHECK: tile.map(%{{.*}}, %[[NOW]])
  // CHECK: %[[B:.*]] = tile.load
  // CHECK: scf.for %{{.*}} iter_args(%[[NOW:.*]] = %[[B]])
  // CHECK: tile.load
  // CHECK: tile.store %[[NOW]]
  gpu.func @chosen(%x: !view, %y: !view, %n: i32) {
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %none = tile.splat %zero : f32 -> !t
    %sum = scf.for %t = %first to %n step %one iter_args(%s = %none) -> (!t) : i32 {
      %a = tile.load %x[%first, %t] : !view, i32, i32 -> !t
      %r = tile.map(%s, %a) {
      ^bb0(%p: f32, %q: f32):
        %add = arith.addf %p, %q : f32
        tile.yield %add : f32
      } : (!t, !t) -> !t
      scf.yield %r : !t
    }
    tile.store %sum, %y[%first, %first] : !t, !view, i32, i32
    scf.for %t = %first to %n step %one : i32 {
      %a = tile.load %x[%first, %t] : !view, i32, i32 -> !t
      tile.store %a, %y[%first, %t] : !t, !view, i32, i32
    } {tile.stages = 0 : i32}
    gpu.return
  }

  // Two rounds are not worth it: both would be under way.
  // CHECK-LABEL: gpu.func @short
  // CHECK: scf.for
  // CHECK: tile.load
  // CHECK-NOT: tile.load
  // CHECK: gpu.return
  gpu.func @short(%x: !view, %y: !view) {
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %none = tile.splat %zero : f32 -> !t
    %sum = scf.for %t = %first to %two step %one iter_args(%s = %none) -> (!t) : i32 {
      %a = tile.load %x[%first, %t] : !view, i32, i32 -> !t
      %r = tile.map(%s, %a) {
      ^bb0(%p: f32, %q: f32):
        %add = arith.addf %p, %q : f32
        tile.yield %add : f32
      } : (!t, !t) -> !t
      scf.yield %r : !t
    }
    tile.store %sum, %y[%first, %first] : !t, !view, i32, i32
    gpu.return
  }
}
