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

gpu.module @updates attributes {cute.target = #cute.target<"sm_90">} {
  // Neighbours are combined with what is there by one instruction.
  // CHECK-LABEL: gpu.func @update
  // CHECK: llvm.inline_asm has_side_effects "red.relaxed.gpu.global.add.v4.f32 [$0], {$1, $2, $3, $4};", "l,r,r,r,r"
  // CHECK: llvm.inline_asm has_side_effects "@$1 red.relaxed.gpu.global.add.noftz.v2.bf16x2 [$0], {$2, $3};", "l,b,r,r"
  // CHECK: llvm.inline_asm has_side_effects "red.relaxed.gpu.global.max.s64 [$0], $1;", "l,l"
  gpu.func @update(%a: !cute.ptr<f32, gmem, align<16>>, %b: !cute.ptr<bf16, gmem, align<8>>, %c: !cute.ptr<i64, gmem, align<8>>, %holds: i1) kernel {
    %l = cute.static : !cute.layout<"4:1">
    %x = cute.make_view(%a, %l) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"4:1">) -> !cute.memref<f32, gmem, align<16>, "4:1">
    %f = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "4:1">
    %four = cute.static : !cute_nvgpu.atom.red<add, f32, 128 b>
    cute.copy(%four, %f, %x) : !cute_nvgpu.atom.red<add, f32, 128 b>, !cute.memref<f32, rmem, align<16>, "4:1">, !cute.memref<f32, gmem, align<16>, "4:1">
    %y = cute.make_view(%b, %l) : (!cute.ptr<bf16, gmem, align<8>>, !cute.layout<"4:1">) -> !cute.memref<bf16, gmem, align<8>, "4:1">
    %h = cute.memref.alloca() : () -> !cute.memref<bf16, rmem, align<16>, "4:1">
    %flag = cute.memref.alloca() : () -> !cute.memref<i1, rmem, align<16>, "1:0">
    %zero = cute.static : !cute.int_tuple<"0">
    cute.memref.store(%holds, %flag, %zero) : i1, !cute.memref<i1, rmem, align<16>, "1:0">, !cute.int_tuple<"0">
    %halves = cute.static : !cute_nvgpu.atom.red<add, bf16, 64 b>
    cute.copy(%halves, %h, %y, %flag) : !cute_nvgpu.atom.red<add, bf16, 64 b>, !cute.memref<bf16, rmem, align<16>, "4:1">, !cute.memref<bf16, gmem, align<8>, "4:1">, !cute.memref<i1, rmem, align<16>, "1:0">
    %one = cute.static : !cute.layout<"(1):(0)">
    %z = cute.make_view(%c, %one) : (!cute.ptr<i64, gmem, align<8>>, !cute.layout<"(1):(0)">) -> !cute.memref<i64, gmem, align<8>, "(1):(0)">
    %i = cute.memref.alloca() : () -> !cute.memref<i64, rmem, align<16>, "(1):(0)">
    %most = cute.static : !cute_nvgpu.atom.red<max, i64, 64 b>
    cute.copy(%most, %i, %z) : !cute_nvgpu.atom.red<max, i64, 64 b>, !cute.memref<i64, rmem, align<16>, "(1):(0)">, !cute.memref<i64, gmem, align<8>, "(1):(0)">
    gpu.return
  }
}
