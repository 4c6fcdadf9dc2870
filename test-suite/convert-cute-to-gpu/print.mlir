// Kernels print layouts, tuples and integers.
// RUN: %cute-opt --convert-cute-to-gpu %s | FileCheck %s

// CHECK: gpu.func @print(%[[N:.*]]: i32)
// CHECK: %[[ROWS:.*]] = arith.muli %[[N]], %{{.*}} : i32
// CHECK: gpu.printf "(%d,8):(8,1)\0A", %[[ROWS]] : i32
// CHECK: gpu.printf "S<2,3,3>\0A"
// CHECK: gpu.printf "%d\0A", %[[N]] : i32
// CHECK-NOT: cute.
gpu.module @kernels {
  gpu.func @print(%n: i32) kernel {
    %m = arith.constant 4 : i32
    %rows = arith.muli %n, %m : i32
    %shape = cute.make_shape(%rows) : (i32) -> !cute.shape<"(?,8)">
    %stride = cute.make_stride() : () -> !cute.stride<"(8,1)">
    %x = cute.make_layout(%shape, %stride) : (!cute.shape<"(?,8)">, !cute.stride<"(8,1)">) -> !cute.layout<"(?,8):(8,1)">
    cute.print(%x) : !cute.layout<"(?,8):(8,1)">
    %s = cute.static : !cute.swizzle<"S<2,3,3>">
    cute.print(%s) : !cute.swizzle<"S<2,3,3>">
    cute.print(%n) : i32
    gpu.return
  }
}
