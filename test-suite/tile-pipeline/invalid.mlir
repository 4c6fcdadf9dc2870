// No pipeline is deeper than the language lets it be.
// RUN: %cute-opt --verify-diagnostics --tile-pipeline %s

!rows = !cute.memref<f32, gmem, align<16>, "(?,?{div=4}):(?{i64 div=4},1)">

gpu.module @kernels {
  gpu.func @deep(%x: !rows, %n: i32) {
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    // expected-error@+1 {{expects 1 to 16 as `tile.stages`, but got 65535 : i32}}
    scf.for %t = %first to %n step %one : i32 {
      %a = tile.load %x[%first, %t] : !rows, i32, i32 -> tensor<32x16xf32>
      tile.store %a, %x[%first, %t] : tensor<32x16xf32>, !rows, i32, i32
    } {tile.stages = 65535 : i32}
    gpu.return
  }
}
