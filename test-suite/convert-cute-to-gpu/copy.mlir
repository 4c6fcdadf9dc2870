// A copy becomes the instructions of its atom.
// RUN: %cute-opt --convert-cute-to-gpu %s | FileCheck %s

gpu.module @copies {
  // A vector of 16 bytes in one load and one store; the constant part of an address comes last.
  // CHECK-LABEL: gpu.func @universal
  // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
  // CHECK: llvm.getelementptr %{{.*}}[16]
  gpu.func @universal(%a: !cute.ptr<f32, gmem, align<16>>, %b: !cute.ptr<f32, gmem, align<16>>) kernel {
    %l = cute.static : !cute.layout<"(4,2):(1,4)">
    %x = cute.make_view(%a, %l) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"(4,2):(1,4)">) -> !cute.memref<f32, gmem, align<16>, "(4,2):(1,4)">
    %y = cute.make_view(%b, %l) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"(4,2):(1,4)">) -> !cute.memref<f32, gmem, align<16>, "(4,2):(1,4)">
    %atom = cute.static : !cute_nvgpu.atom.universal_copy<f32, 128 b>
    cute.copy(%atom, %x, %y) : !cute_nvgpu.atom.universal_copy<f32, 128 b>, !cute.memref<f32, gmem, align<16>, "(4,2):(1,4)">, !cute.memref<f32, gmem, align<16>, "(4,2):(1,4)">
    gpu.return
  }

  // Outside of the bound cp.async reads nothing and writes zeros.
  // CHECK-LABEL: gpu.func @async_predicated
  // CHECK: %[[IN:.*]] = arith.cmpi slt
  // CHECK: %[[OUT:.*]] = arith.xori %[[IN]], %true
  // CHECK: llvm.inline_asm {{.*}} "cp.async.cg.shared.global [$0], [$1], 16, $2;", "r,l,b" %{{.*}}, %{{.*}}, %[[OUT]]
  gpu.func @async_predicated(%a: !cute.ptr<f32, gmem, align<16>>, %n: i32) kernel {
    %l = cute.static : !cute.layout<"4:1">
    %x = cute.make_view(%a, %l) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"4:1">) -> !cute.memref<f32, gmem, align<16>, "4:1">
    %s = cute.memref.alloc_smem() {offset = 0 : i64} : () -> !cute.memref<f32, smem, align<16>, "4:1">
    %n4 = cute.assume(%n) : (i32) -> !cute.int_tuple<"?{div=4}">
    %shape = cute.make_shape(%n4) : (!cute.int_tuple<"?{div=4}">) -> !cute.shape<"(?{div=4})">
    %four = cute.static : !cute.shape<"(4)">
    %c = cute.make_identity_tensor(%four) : (!cute.shape<"(4)">) -> !cute.coord_tensor<"(0)", "(4):(1@0)">
    %atom = cute.static : !cute_nvgpu.atom.simt_async_copy<f32, cache = global, 128 b>
    cute.copy(%atom, %x, %s, %c, %shape) : !cute_nvgpu.atom.simt_async_copy<f32, cache = global, 128 b>, !cute.memref<f32, gmem, align<16>, "4:1">, !cute.memref<f32, smem, align<16>, "4:1">, !cute.coord_tensor<"(0)", "(4):(1@0)">, !cute.shape<"(?{div=4})">
    gpu.return
  }
}
