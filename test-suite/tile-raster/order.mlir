// A block computes its tile from its number; with a raster, tiles go down so many rows first.
// RUN: %cute-opt --tile-raster --split-input-file --verify-diagnostics %s | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @line
  // CHECK: %[[B:.*]] = nvvm.read.ptx.sreg.ctaid.x : i32
  // CHECK-NEXT: arith.addi %[[B]], %[[B]]
  gpu.func @line(%m: i32) {
    tile.grid %m
    %i = tile.index 0
    %j = tile.index 0
    %k = arith.addi %i, %j : i32
    gpu.return
  }

  // CHECK-LABEL: gpu.func @columns(
  // CHECK-SAME: %[[M:.*]]: i32, %[[N:.*]]: i32)
  // CHECK: %[[B:.*]] = nvvm.read.ptx.sreg.ctaid.x : i32
  // CHECK-DAG: %[[ROW:.*]] = arith.remui %[[B]], %[[M]]
  // CHECK-DAG: %[[COLUMN:.*]] = arith.divui %[[B]], %[[M]]
  // CHECK: arith.subi %[[ROW]], %[[COLUMN]]
  gpu.func @columns(%m: i32, %n: i32) {
    tile.grid %m, %n
    %i = tile.index 0
    %j = tile.index 1
    %k = arith.subi %i, %j : i32
    gpu.return
  }

  // CHECK-LABEL: gpu.func @grouped(
  // CHECK-SAME: %[[M:.*]]: i32, %[[N:.*]]: i32)
  // CHECK: %[[B:.*]] = nvvm.read.ptx.sreg.ctaid.x : i32
  // CHECK: %[[W:.*]] = arith.constant 8 : i32
  // CHECK: %[[WHOLE:.*]] = arith.muli %[[W]], %[[N]]
  // CHECK: %[[GROUP:.*]] = arith.divui %[[B]], %[[WHOLE]]
  // CHECK: %[[FIRST:.*]] = arith.muli %[[GROUP]], %[[W]]
  // CHECK: %[[LEFT:.*]] = arith.subi %[[M]], %[[FIRST]]
  // CHECK: %[[HEIGHT:.*]] = arith.minui %[[LEFT]], %[[W]]
  gpu.func @grouped(%m: i32, %n: i32) attributes {tile.raster = 8 : i32} {
    tile.grid %m, %n
    %i = tile.index 0
    %j = tile.index 1
    %k = arith.subi %i, %j : i32
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @axis(%m: i32) {
    tile.grid %m
    // expected-error@+1 {{expects an axis of the grid, of 1 axes}}
    %i = tile.index 1
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @uncounted() {
    // expected-error@+1 {{needs one tile.grid before it}}
    %i = tile.index 0
    gpu.return
  }
}
