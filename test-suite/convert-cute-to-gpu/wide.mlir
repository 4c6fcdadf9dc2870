// An offset in global memory that may exceed 2^31 bytes is computed in 64 bits; what is bounded stays in 32.
// RUN: %cute-opt --convert-cute-to-gpu %s | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @elements
  // CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
  // CHECK: %[[BLOCK:.*]] = nvvm.read.ptx.sreg.ctaid.x
  // CHECK-DAG: llvm.zext nneg %[[BLOCK]] : i32 to i64
  // CHECK-DAG: arith.muli %{{.*}}, %{{.*}} overflow<nsw> : i64
  // CHECK-DAG: arith.muli %[[TID]], %{{.*}} overflow<nsw> : i32
  // CHECK: llvm.store
  gpu.func @elements(%x: !cute.ptr<f32, gmem, align<16>>, %n: i32, %v: f32) kernel {
    %tid = nvvm.read.ptx.sreg.tid.x range <i32, 0, 256> : i32
    %block = nvvm.read.ptx.sreg.ctaid.x : i32
    %shape = cute.make_shape(%n) : (i32) -> !cute.shape<"(256,?)">
    %layout = cute.make_layout(%shape) : (!cute.shape<"(256,?)">) -> !cute.layout<"(256,?):(1,256)">
    %view = cute.make_view(%x, %layout) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"(256,?):(1,256)">) -> !cute.memref<f32, gmem, align<16>, "(256,?):(1,256)">
    %at = cute.make_coord(%tid, %block) : (i32, i32) -> !cute.coord<"(?,?)">
    cute.memref.store(%v, %view, %at) : f32, !cute.memref<f32, gmem, align<16>, "(256,?):(1,256)">, !cute.coord<"(?,?)">
    gpu.return
  }
}
