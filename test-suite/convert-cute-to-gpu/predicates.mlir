// Coordinates are compared leaf by leaf; a load of a coordinate costs nothing but the sums it needs.
// RUN: %cute-opt --convert-cute-to-gpu %s | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @inside
  // CHECK-DAG: %[[ROW:.*]] = nvvm.read.ptx.sreg.tid.x
  // CHECK: arith.cmpi slt, %[[ROW]], %{{.*}} : i32
  // CHECK: arith.cmpi slt
  // CHECK: arith.andi
  gpu.func @inside(%m: i32, %n: i32, %out: !cute.ptr<i1, gmem, align<16>>) kernel {
    %tid = nvvm.read.ptx.sreg.tid.x range <i32, 0, 32> : i32
    %shape = cute.make_shape(%m, %n) : (i32, i32) -> !cute.shape<"(?,?)">
    %coords = cute.make_identity_tensor(%shape) : (!cute.shape<"(?,?)">) -> !cute.coord_tensor<"(0,0)", "(?,?):(1@0,1@1)">
    %at = cute.make_coord(%tid) : (i32) -> !cute.coord<"(?,3)">
    %c = cute.memref.load(%coords, %at) : (!cute.coord_tensor<"(0,0)", "(?,?):(1@0,1@1)">, !cute.coord<"(?,3)">) -> !cute.coord<"(?,3)">
    %in = cute.elem_less(%c, %shape) : (!cute.coord<"(?,3)">, !cute.shape<"(?,?)">) -> i1
    %l = cute.static : !cute.layout<"1:0">
    %o = cute.make_view(%out, %l) : (!cute.ptr<i1, gmem, align<16>>, !cute.layout<"1:0">) -> !cute.memref<i1, gmem, align<16>, "1:0">
    %zero = cute.static : !cute.coord<"0">
    cute.memref.store(%in, %o, %zero) : i1, !cute.memref<i1, gmem, align<16>, "1:0">, !cute.coord<"0">
    gpu.return
  }
}
