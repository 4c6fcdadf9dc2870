// A function that is no kernel keeps what it gives back.
// RUN: %cute-opt --convert-cute-to-gpu %s | FileCheck %s
// RUN: %cutec %s -o - | FileCheck %s --check-prefix=PTX

// CHECK: gpu.func @pick(%[[X:.*]]: !llvm.ptr<1>, %{{.*}}: i32) -> (f32, i32)
// CHECK: llvm.load
// CHECK: gpu.return %{{.*}}, %{{.*}} : f32, i32
// PTX: .func (.param .align 4 .b8 func_retval0[8]) pick(
gpu.module @kernels {
  gpu.func @pick(%x: !cute.ptr<f32, gmem, align<16>>, %i: i32) -> (f32, i32) {
    %layout = cute.static : !cute.layout<"64:1">
    %v = cute.make_view(%x, %layout) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"64:1">) -> !cute.memref<f32, gmem, align<16>, "64:1">
    %at = cute.make_coord(%i) : (i32) -> !cute.coord<"?">
    %y = cute.memref.load(%v, %at) : (!cute.memref<f32, gmem, align<16>, "64:1">, !cute.coord<"?">) -> f32
    gpu.return %y, %i : f32, i32
  }
}
