// Loads some rounds ahead, operands a block of k ahead; what cannot be pipelined stays right.
// RUN: %cute-opt --tile-select-atoms --tile-assign-layouts --tile-stage-operands --tile-pipeline %s -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: %cute-opt %t.mlir -o /dev/null

!view = !cute.memref<bf16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">
!f32 = !cute.memref<f32, gmem, align<16>, "(?,?{div=4}):(?{i64 div=4},1)">
!a = tensor<64x32xbf16>
!c = tensor<64x64xf32>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @three
  // CHECK: %[[SA:.*]] = cute.memref.alloc_smem() : {{.*}}"(64,32,3):(32,1,2048)"
  // CHECK: %[[SB:.*]] = cute.memref.alloc_smem() : {{.*}}"(64,32,3):(32,1,2048)"
  // Two rounds are under way, and the first block is read.
  // CHECK-COUNT-2: tile.copy_async {{.*}}tile.iteration = 0 : i32
  // CHECK: %[[FIRST:.*]] = tile.commit
  // CHECK-COUNT-2: tile.copy_async {{.*}}tile.iteration = 1 : i32
  // CHECK: %[[SECOND:.*]] = tile.commit
  // CHECK: tile.wait %[[FIRST]]
  // CHECK: %[[B0:.*]] = tile.read %[[SB]]{{.*}} [0, 0] {{.*}}tensor<64x16xbf16
  // CHECK: %[[A0:.*]] = tile.read %[[SA]]{{.*}} [0, 0] {{.*}}tensor<64x16xbf16
  // CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[READ:.*]] = %{{.*}}, %[[WRITE:.*]] = %{{.*}}, %[[A:.*]] = %[[A0]], %[[B:.*]] = %[[B0]], %[[G0:.*]] = %[[FIRST]], %[[G1:.*]] = %[[SECOND]])
  // CHECK: %[[B1:.*]] = tile.read %[[SB]][%[[READ]]] [0, 16] {{.*}}tile.iteration = 0
  // CHECK: %[[A1:.*]] = tile.read %[[SA]][%[[READ]]] [0, 16] {{.*}}tile.iteration = 0
  // CHECK-COUNT-2: tile.copy_async %{{.*}}, %{{.*}}[%[[WRITE]]] {{.*}}tile.iteration = 2
  // CHECK: %[[THIRD:.*]] = tile.commit
  // CHECK: %[[C1:.*]] = tile.dot %[[A]], %[[B]], %[[ACC]]
  // The next round has arrived before its first block is read.
  // CHECK: tile.wait %[[G1]]
  // CHECK: tile.read {{.*}} [0, 0] {{.*}}tile.iteration = 1
  // CHECK: tile.read {{.*}} [0, 0] {{.*}}tile.iteration = 1
  // CHECK: %[[C2:.*]] = tile.dot %[[A1]], %[[B1]], %[[C1]]
  // CHECK: scf.yield %[[C2]], {{.*}}, %[[G1]], %[[THIRD]] :
  // CHECK: tile.wait
  gpu.func @three(%x: !view, %y: !view, %n: i32) {
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c = tile.splat %zero : f32 -> !c
    %s = scf.for %t = %first to %n step %one iter_args(%acc = %c) -> (!c) : i32 {
      %a = tile.load %x[%first, %t] : !view, i32, i32 -> !a
      %b = tile.load %y[%first, %t] : !view, i32, i32 -> !a
      %d = tile.dot %a, %b, %acc : !a, !a, !c -> !c
      scf.yield %d : !c
    } {tile.stages = 3 : i32}
    gpu.return
  }

  // Downwards, a round beyond the last would lie before the view: it is put behind it.
  // CHECK-LABEL: gpu.func @downwards
  // CHECK: scf.for
  // CHECK: %[[THERE:.*]] = arith.cmpi slt
  // CHECK: %[[AT:.*]] = arith.select %[[THERE]]
  // CHECK: tile.copy_async %{{.*}}[%[[AT]],
  gpu.func @downwards(%x: !view, %y: !view, %n: i32) {
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c = tile.splat %zero : f32 -> !c
    %s = scf.for %t = %first to %n step %one iter_args(%acc = %c) -> (!c) : i32 {
      %row = arith.subi %n, %t : i32
      %a = tile.load %x[%row, %first] : !view, i32, i32 -> !a
      %b = tile.load %y[%first, %t] : !view, i32, i32 -> !a
      %d = tile.dot %a, %b, %acc : !a, !a, !c -> !c
      scf.yield %d : !c
    } {tile.stages = 2 : i32}
    gpu.return
  }

  // At an offset there are zeros before the view as well: nothing is put behind it. A tile counted downwards beside an
  // offset is. What is known to divide an offset is known of that of a later round.
  // CHECK-LABEL: gpu.func @offsets
  // CHECK: scf.for
  // CHECK-COUNT-2: tile.read
  // CHECK: %[[LESS:.*]] = arith.subi
  // CHECK: %[[OFFSET:.*]] = cute.assume(%[[LESS]]) : (i32) -> !cute.int_tuple<"?{div=8}">
  // CHECK-NOT: arith.select
  // CHECK: tile.copy_async %{{.*}}[%{{.*}}, %[[OFFSET]]], {{.*}}{by_element = array<i64: 0, 1>, copy =
  // CHECK: %[[ROW:.*]] = arith.subi
  // CHECK: %[[AT:.*]] = arith.select %{{.*}}, %[[ROW]],
  // CHECK: tile.copy_async %{{.*}}[%{{.*}}, %[[AT]]], {{.*}}{by_element = array<i64: 0>, copy =
  gpu.func @offsets(%x: !view, %y: !view, %n: i32) {
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %eight = arith.constant 8 : i32
    %c = tile.splat %zero : f32 -> !c
    %s = scf.for %t = %first to %n step %one iter_args(%acc = %c) -> (!c) : i32 {
      %eighths = arith.muli %t, %eight : i32
      %less = arith.subi %first, %eighths : i32
      %offset = cute.assume(%less) : (i32) -> !cute.int_tuple<"?{div=8}">
      %a = tile.load %x[%n, %offset] {by_element = array<i64: 0, 1>} : !view, i32, !cute.int_tuple<"?{div=8}"> -> !a
      %row = arith.subi %n, %t : i32
      %b = tile.load %y[%n, %row] {by_element = array<i64: 0>} : !view, i32, i32 -> !a
      %d = tile.dot %a, %b, %acc : !a, !a, !c -> !c
      scf.yield %d : !c
    } {tile.stages = 2 : i32}
    gpu.return
  }

  // One stage: filled and read in each round.
  // CHECK-LABEL: gpu.func @one
  // CHECK: alloc_smem() : {{.*}}"(64,32,1)
  // CHECK: scf.for
  // CHECK: tile.copy_async
  // CHECK: tile.copy_async
  // CHECK: tile.wait
  // CHECK: tile.read {{.*}} [0, 0]
  // CHECK: tile.read {{.*}} [0, 0]
  // CHECK: tile.read {{.*}} [0, 16]
  // CHECK: tile.read {{.*}} [0, 16]
  // CHECK: tile.dot
  // CHECK: tile.dot
  gpu.func @one(%x: !view, %y: !view, %n: i32) {
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c = tile.splat %zero : f32 -> !c
    %s = scf.for %t = %first to %n step %one iter_args(%acc = %c) -> (!c) : i32 {
      %a = tile.load %x[%first, %t] : !view, i32, i32 -> !a
      %b = tile.load %y[%first, %t] : !view, i32, i32 -> !a
      %d = tile.dot %a, %b, %acc : !a, !a, !c -> !c
      scf.yield %d : !c
    } {tile.stages = 1 : i32}
    gpu.return
  }

  // A coordinate that a round computes from what the last one left is not known ahead.
  // CHECK-LABEL: gpu.func @unknown
  // CHECK: alloc_smem() : {{.*}}"(64,32,1)
  // CHECK: scf.for
  // CHECK: tile.wait
  gpu.func @unknown(%x: !view, %y: !view, %n: i32) {
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c = tile.splat %zero : f32 -> !c
    %s:2 = scf.for %t = %first to %n step %one iter_args(%acc = %c, %at = %first) -> (!c, i32) : i32 {
      %a = tile.load %x[%first, %at] : !view, i32, i32 -> !a
      %b = tile.load %y[%first, %t] : !view, i32, i32 -> !a
      %d = tile.dot %a, %b, %acc : !a, !a, !c -> !c
      %next = arith.addi %at, %t : i32
      scf.yield %d, %next : !c, i32
    } {tile.stages = 3 : i32}
    gpu.return
  }

  // Through registers: loaded where copies begin, written before the round ends. What is little is kept there.
  // CHECK-LABEL: gpu.func @registers
  // CHECK: tile.load
  // CHECK: tile.write {{.*}}tile.iteration = 0
  // CHECK: scf.for
  // CHECK: tile.load
  // CHECK: tile.load
  // CHECK: nvvm.bar.warp.sync
  // CHECK: tile.dot
  // CHECK: tile.write {{.*}}tile.iteration = 1
  // CHECK: tile.read {{.*}}tile.iteration = 1
  gpu.func @registers(%x: !f32, %y: !f32, %n: i32) {
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c = tile.splat %zero : f32 -> tensor<128x128xf32>
    %s = scf.for %t = %first to %n step %one iter_args(%acc = %c) -> (tensor<128x128xf32>) : i32 {
      %a = tile.load %x[%first, %t] : !f32, i32, i32 -> tensor<128x8xf32>
      %b = tile.load %y[%first, %t] : !f32, i32, i32 -> tensor<128x8xf32>
      %d = tile.dot %a, %b, %acc : tensor<128x8xf32>, tensor<128x8xf32>, tensor<128x128xf32> -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    } {tile.stages = 2 : i32}
    gpu.return
  }

  // 64 bytes for each thread are not.
  // CHECK-LABEL: gpu.func @many
  // CHECK: scf.for
  // CHECK: tile.load
  // CHECK: tile.load
  // CHECK-NOT: nvvm.bar.warp.sync
  // CHECK: scf.yield
  gpu.func @many(%x: !f32, %y: !f32, %n: i32) {
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c = tile.splat %zero : f32 -> tensor<128x128xf32>
    %s = scf.for %t = %first to %n step %one iter_args(%acc = %c) -> (tensor<128x128xf32>) : i32 {
      %a = tile.load %x[%first, %t] : !f32, i32, i32 -> tensor<128x16xf32>
      %b = tile.load %y[%first, %t] : !f32, i32, i32 -> tensor<128x16xf32>
      %d = tile.dot %a, %b, %acc : tensor<128x16xf32>, tensor<128x16xf32>, tensor<128x128xf32> -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    } {tile.stages = 2 : i32}
    gpu.return
  }

  // Two products a round: the second's first block is read while the first's last is multiplied.
  // CHECK-LABEL: gpu.func @two
  // CHECK: scf.for
  // CHECK: tile.dot
  // CHECK: tile.read {{.*}} [0, 0] {{.*}}tile.iteration = 0
  // CHECK: tile.read {{.*}} [0, 0] {{.*}}tile.iteration = 0
  // CHECK: tile.dot
  // CHECK: tile.dot
  // CHECK: tile.wait
  // CHECK: tile.read {{.*}} [0, 0] {{.*}}tile.iteration = 1
  // CHECK: tile.read {{.*}} [0, 0] {{.*}}tile.iteration = 1
  // CHECK: tile.dot
  // CHECK: scf.yield
  gpu.func @two(%x: !view, %y: !view, %z: !view, %n: i32) {
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c = tile.splat %zero : f32 -> !c
    %s:2 = scf.for %t = %first to %n step %one iter_args(%p = %c, %q = %c) -> (!c, !c) : i32 {
      %a = tile.load %x[%first, %t] : !view, i32, i32 -> !a
      %b = tile.load %y[%first, %t] : !view, i32, i32 -> !a
      %d = tile.dot %a, %b, %p : !a, !a, !c -> !c
      %e = tile.load %z[%first, %t] : !view, i32, i32 -> !a
      %f = tile.load %y[%one, %t] : !view, i32, i32 -> !a
      %g = tile.dot %e, %f, %q : !a, !a, !c -> !c
      scf.yield %d, %g : !c, !c
    } {tile.stages = 2 : i32}
    gpu.return
  }

  // What is computed of a load on its way to the buffer is loaded ahead and computed once it is there; but not
  // where a number of the round has a part in it.
  // CHECK-LABEL: gpu.func @computed
  // CHECK: scf.for
  // CHECK: %[[AHEAD:.*]] = tile.load
  // CHECK: tile.dot
  // CHECK: %[[MADE:.*]] = tile.map(%[[AHEAD]])
  // CHECK: tile.write %[[MADE]], {{.*}}tile.iteration = 2
  // CHECK: tile.dot
  // CHECK: scf.yield
  // CHECK: scf.for
  // CHECK: %[[NOW:.*]] = tile.load
  // CHECK: %[[SCALED:.*]] = tile.map(%[[NOW]])
  // CHECK: tile.write %[[SCALED]],
  gpu.func @computed(%x: !f32, %y: !view, %n: i32) {
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c = tile.splat %zero : f32 -> !c
    %s = scf.for %t = %first to %n step %one iter_args(%acc = %c) -> (!c) : i32 {
      %l = tile.load %x[%first, %t] : !f32, i32, i32 -> tensor<64x32xf32>
      %a = tile.map(%l) {
      ^bb0(%e: f32):
        %h = arith.truncf %e : f32 to bf16
        tile.yield %h : bf16
      } : (tensor<64x32xf32>) -> !a
      %b = tile.load %y[%first, %t] : !view, i32, i32 -> !a
      %d = tile.dot %a, %b, %acc : !a, !a, !c -> !c
      scf.yield %d : !c
    } {tile.stages = 3 : i32}
    %r = scf.for %t = %first to %n step %one iter_args(%acc = %s) -> (!c) : i32 {
      %l = tile.load %x[%first, %t] : !f32, i32, i32 -> tensor<64x32xf32>
      %w = arith.sitofp %t : i32 to f32
      %a = tile.map(%l) {
      ^bb0(%e: f32):
        %p = arith.mulf %e, %w : f32
        %h = arith.truncf %p : f32 to bf16
        tile.yield %h : bf16
      } : (tensor<64x32xf32>) -> !a
      %b = tile.load %y[%first, %t] : !view, i32, i32 -> !a
      %d = tile.dot %a, %b, %acc : !a, !a, !c -> !c
      scf.yield %d : !c
    } {tile.stages = 3 : i32}
    tile.store %r, %x[%first, %first] : !c, !f32, i32, i32
    gpu.return
  }
}
