// Every pass of the tile level refuses an operation that it does not know, instead of ignoring it.
// RUN: not %cute-opt --tile-bound-coordinates %s 2>&1 | FileCheck %s
// RUN: not %cute-opt --tile-raster %s 2>&1 | FileCheck %s
// RUN: not %cute-opt --tile-merge %s 2>&1 | FileCheck %s
// RUN: not %cute-opt --tile-reshape-loads %s 2>&1 | FileCheck %s
// RUN: not %cute-opt --tile-lower-tokens %s 2>&1 | FileCheck %s
// RUN: not %cute-opt --tile-transpose-loads %s 2>&1 | FileCheck %s
// RUN: not %cute-opt --tile-select-atoms %s 2>&1 | FileCheck %s
// RUN: not %cute-opt --tile-assign-layouts %s 2>&1 | FileCheck %s
// RUN: not %cute-opt --tile-check-registers %s 2>&1 | FileCheck %s
// RUN: not %cute-opt --tile-stage-operands %s 2>&1 | FileCheck %s
// RUN: not %cute-opt --tile-legalize-swizzle %s 2>&1 | FileCheck %s
// RUN: not %cute-opt --tile-pipeline %s 2>&1 | FileCheck %s
// RUN: not %cute-opt --insert-barriers %s 2>&1 | FileCheck %s
// RUN: not %cute-opt --tile-partition %s 2>&1 | FileCheck %s
// CHECK: foreign-operations.mlir:[[@LINE+9]]:{{[0-9]+}}: error: `memref.store` is not known at the tile level

!v = !cute.memref<f32, gmem, align<4>, "(40):(1)">
!t = tensor<16xf32, #tile.tv<"(16,1):(1,0)">>

gpu.module @kernels {
  gpu.func @foreign(%v: !v, %m: memref<4xf32>, %n: i32, %f: f32) attributes {known_block_size = array<i32: 32, 1, 1>} {
    %zero = arith.constant 0 : index
    %a = tile.load %v[%n] : !v, i32 -> !t
    memref.store %f, %m[%zero] : memref<4xf32>
    gpu.return
  }
}
