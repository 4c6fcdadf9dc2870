// Under a swizzle the thread part is swizzled once, before the loop; the chunk enters by one exclusive or and the stage by an addition.
// RUN: %cute-opt --convert-cute-to-gpu --canonicalize --loop-invariant-code-motion %s | FileCheck %s

gpu.module @swizzles {
  // CHECK-LABEL: gpu.func @stages
  // CHECK: arith.xori
  // CHECK: scf.for
  // CHECK-NOT: arith.xori
  // CHECK: llvm.load
  gpu.func @stages(%n: i32, %out: !cute.ptr<f16, gmem, align<16>>) kernel {
    %s = cute.memref.alloc_smem() {offset = 0 : i64} : () -> !cute.memref<f16, smem, align<128>, "S<3,3,3> o 0 o (8,(8,8),3):(64,(1,8),512)">
    %tid = nvvm.read.ptx.sreg.tid.x range <i32, 0, 8> : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %unit = cute.static : !cute.layout<"8:1">
    %o = cute.make_view(%out, %unit) : (!cute.ptr<f16, gmem, align<16>>, !cute.layout<"8:1">) -> !cute.memref<f16, gmem, align<16>, "8:1">
    %row = cute.make_coord(%tid) : (i32) -> !cute.coord<"(?,(_,1),_)">
    %mine = cute.slice(%s, %row) : !cute.memref<f16, smem, align<128>, "S<3,3,3> o 0 o (8,(8,8),3):(64,(1,8),512)">, !cute.coord<"(?,(_,1),_)">
    %atom = cute.static : !cute_nvgpu.atom.universal_copy<f16, 128 b>
    scf.for %t = %zero to %n step %one : i32 {
      %stage = cute.make_coord(%t) : (i32) -> !cute.coord<"(_,?)">
      %now = cute.slice(%mine, %stage) : !cute.memref<f16, smem, align<128>, "S<3,3,3> o ?{div=8} o (8,3):(1,512)">, !cute.coord<"(_,?)">
      cute.copy(%atom, %now, %o) : !cute_nvgpu.atom.universal_copy<f16, 128 b>, !cute.memref<f16, smem, align<128>, "S<3,3,3> o ?{div=8} o (8):(1)">, !cute.memref<f16, gmem, align<16>, "8:1">
    }
    gpu.return
  }
}
