// Sums of fma that are stored in vectors leave their registers through an instruction that ptxas keeps.
// RUN: %cute-opt --convert-cute-to-gpu %s | FileCheck %s

!mma = !cute.tiled_mma<!cute_nvgpu.atom.universal_fma<f32>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
!out = !cute.memref<f32, gmem, align<16>, "4:1">
!one = !cute.memref<f32, rmem, align<16>, "(1,1,1):(0,0,0)">
!four = !cute.memref<f32, rmem, align<16>, "(1,4,1):(0,1,0)">
!flat = !cute.memref<f32, rmem, align<16>, "4:1">
!v4 = !cute_nvgpu.atom.universal_copy<f32, 128 b>
!v1 = !cute_nvgpu.atom.universal_copy<f32, 32 b>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @fragment
  // CHECK: llvm.intr.fma
  // CHECK-COUNT-4: llvm.inline_asm "prmt.b32 $0, $1, $1, 0x3210;", "=r,r"
  // CHECK-NOT: prmt
  // CHECK: llvm.store {{.*}}vector<4xf32>, !llvm.ptr<1>
  gpu.func @fragment(%p: !cute.ptr<f32, gmem, align<16>>) kernel {
    %mma = cute.static : !mma
    %a = cute.memref.alloca() : () -> !four
    %b = cute.memref.alloca() : () -> !one
    %c = cute.memref.alloca() : () -> !four
    cute.gemm(%mma, %c, %a, %b, %c) : !mma, !four, !four, !one, !four
    %l = cute.static : !cute.layout<"4:1">
    %part = cute.composition(%c, %l) : (!four, !cute.layout<"4:1">) -> !flat
    %to = cute.make_view(%p, %l) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"4:1">) -> !out
    %v = cute.static : !v4
    cute.copy(%v, %part, %to) : !v4, !flat, !out
    gpu.return
  }

  // As vectors, out of a loop.
  // CHECK-LABEL: gpu.func @carried
  // CHECK: scf.for
  // CHECK: llvm.intr.fma
  // CHECK: scf.yield
  // CHECK-COUNT-4: prmt.b32
  // CHECK-NOT: prmt
  // CHECK: llvm.store {{.*}}vector<4xf32>, !llvm.ptr<1>
  gpu.func @carried(%p: !cute.ptr<f32, gmem, align<16>>, %n: i32) kernel {
    %mma = cute.static : !mma
    %a = cute.memref.alloca() : () -> !four
    %b = cute.memref.alloca() : () -> !one
    %zeros = arith.constant dense<0.0> : vector<4xf32>
    %first = arith.constant 0 : i32
    %step = arith.constant 1 : i32
    %sums = scf.for %i = %first to %n step %step iter_args(%sum = %zeros) -> (vector<4xf32>) : i32 {
      %c = cute.memref.alloca() : () -> !four
      cute.memref.store_vec(%sum, %c) : vector<4xf32>, !four
      cute.gemm(%mma, %c, %a, %b, %c) : !mma, !four, !four, !one, !four
      %next = cute.memref.load_vec(%c) : (!four) -> vector<4xf32>
      scf.yield %next : vector<4xf32>
    }
    %held = cute.memref.alloca() : () -> !flat
    cute.memref.store_vec(%sums, %held) : vector<4xf32>, !flat
    %l = cute.static : !cute.layout<"4:1">
    %to = cute.make_view(%p, %l) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"4:1">) -> !out
    cute.autovec_copy(%held, %to) : !flat, !out
    gpu.return
  }

  // One by one, or after arithmetic, they are in registers of their own anyway.
  // CHECK-LABEL: gpu.func @free
  // CHECK-NOT: prmt
  // CHECK: gpu.return
  gpu.func @free(%p: !cute.ptr<f32, gmem, align<16>>) kernel {
    %mma = cute.static : !mma
    %a = cute.memref.alloca() : () -> !four
    %b = cute.memref.alloca() : () -> !one
    %c = cute.memref.alloca() : () -> !four
    cute.gemm(%mma, %c, %a, %b, %c) : !mma, !four, !four, !one, !four
    %l = cute.static : !cute.layout<"4:1">
    %l1 = cute.static : !cute.layout<"(1,4):(0,1)">
    %part = cute.composition(%c, %l1) : (!four, !cute.layout<"(1,4):(0,1)">) -> !cute.memref<f32, rmem, align<16>, "(1,4):(0,1)">
    %to = cute.make_view(%p, %l) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"4:1">) -> !out
    %to1 = cute.composition(%to, %l1) : (!out, !cute.layout<"(1,4):(0,1)">) -> !cute.memref<f32, gmem, align<16>, "(1,4):(0,1)">
    %v1 = cute.static : !v1
    cute.copy(%v1, %part, %to1) : !v1, !cute.memref<f32, rmem, align<16>, "(1,4):(0,1)">, !cute.memref<f32, gmem, align<16>, "(1,4):(0,1)">
    %sums = cute.memref.load_vec(%c) : (!four) -> vector<4xf32>
    %twice = arith.addf %sums, %sums : vector<4xf32>
    %held = cute.memref.alloca() : () -> !flat
    cute.memref.store_vec(%twice, %held) : vector<4xf32>, !flat
    %v = cute.static : !v4
    cute.copy(%v, %held, %to) : !v4, !flat, !out
    gpu.return
  }
}
