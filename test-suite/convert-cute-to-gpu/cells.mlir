// Within a block a load from registers is what was stored there; what is left is stored where the block ends.
// RUN: %cute-opt --convert-cute-to-gpu %s | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @straight
  // CHECK-COUNT-2: llvm.load
  // CHECK: %[[SUM:.*]] = llvm.load
  // CHECK-NOT: llvm.load
  // CHECK: %[[ONCE:.*]] = llvm.intr.fma(%{{.*}}, %{{.*}}, %[[SUM]])
  // CHECK-NEXT: %[[TWICE:.*]] = llvm.intr.fma(%{{.*}}, %{{.*}}, %[[ONCE]])
  // CHECK-NEXT: llvm.store %[[TWICE]]
  // CHECK-NEXT: gpu.return
  gpu.func @straight() kernel {
    %mma = cute.static : !cute_nvgpu.atom.universal_fma<f32>
    %a = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "(1,1):(0,0)">
    %b = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "(1,1):(0,0)">
    %c = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "(1,1,1):(0,0,0)">
    cute.gemm(%mma, %c, %a, %b, %c) : !cute_nvgpu.atom.universal_fma<f32>, !cute.memref<f32, rmem, align<16>, "(1,1,1):(0,0,0)">, !cute.memref<f32, rmem, align<16>, "(1,1):(0,0)">, !cute.memref<f32, rmem, align<16>, "(1,1):(0,0)">, !cute.memref<f32, rmem, align<16>, "(1,1,1):(0,0,0)">
    cute.gemm(%mma, %c, %a, %b, %c) : !cute_nvgpu.atom.universal_fma<f32>, !cute.memref<f32, rmem, align<16>, "(1,1,1):(0,0,0)">, !cute.memref<f32, rmem, align<16>, "(1,1):(0,0)">, !cute.memref<f32, rmem, align<16>, "(1,1):(0,0)">, !cute.memref<f32, rmem, align<16>, "(1,1,1):(0,0,0)">
    gpu.return
  }

  // What a loop stores is not what stood there before it, in the loop or behind it.
  // CHECK-LABEL: gpu.func @loop
  // CHECK: llvm.store %[[ZERO:[^,]*]],
  // CHECK: scf.for
  // CHECK: %[[IN:.*]] = llvm.load {{.*}} -> f32
  // CHECK: %[[NEXT:.*]] = arith.addf %[[IN]]
  // CHECK: llvm.store %[[NEXT]]
  // CHECK: }
  // CHECK: %[[AFTER:.*]] = llvm.load {{.*}} -> f32
  // CHECK: llvm.store %[[AFTER]], {{.*}} : f32, !llvm.ptr<1>
  gpu.func @loop(%out: !cute.ptr<f32, gmem, align<16>>, %n: i32) kernel {
    %from = arith.constant 0 : i32
    %step = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %at = cute.static : !cute.coord<"0">
    %x = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "1:0">
    cute.memref.store(%zero, %x, %at) : f32, !cute.memref<f32, rmem, align<16>, "1:0">, !cute.coord<"0">
    scf.for %i = %from to %n step %step : i32 {
      %v = cute.memref.load(%x, %at) : (!cute.memref<f32, rmem, align<16>, "1:0">, !cute.coord<"0">) -> f32
      %w = arith.addf %v, %one : f32
      cute.memref.store(%w, %x, %at) : f32, !cute.memref<f32, rmem, align<16>, "1:0">, !cute.coord<"0">
    }
    %v = cute.memref.load(%x, %at) : (!cute.memref<f32, rmem, align<16>, "1:0">, !cute.coord<"0">) -> f32
    %layout = cute.static : !cute.layout<"1:0">
    %o = cute.make_view(%out, %layout) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"1:0">) -> !cute.memref<f32, gmem, align<16>, "1:0">
    cute.memref.store(%v, %o, %at) : f32, !cute.memref<f32, gmem, align<16>, "1:0">, !cute.coord<"0">
    gpu.return
  }

  // What is read as a whole is stored before, in order.
  // CHECK-LABEL: gpu.func @parts
  // CHECK: %[[ONE:.*]] = llvm.extractelement %{{.*}} : vector<4xf32>
  // CHECK: llvm.store %{{.*}} : vector<4xf32>, !llvm.ptr
  // CHECK: llvm.store %[[ONE]], {{.*}} : f32, !llvm.ptr
  // CHECK: %[[ALL:.*]] = llvm.load {{.*}} -> vector<4xf32>
  // CHECK: llvm.store %[[ALL]], {{.*}} : vector<4xf32>, !llvm.ptr<1>
  gpu.func @parts(%out: !cute.ptr<f32, gmem, align<16>>) kernel {
    %layout = cute.static : !cute.layout<"4:1">
    %o = cute.make_view(%out, %layout) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"4:1">) -> !cute.memref<f32, gmem, align<16>, "4:1">
    %x = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "4:1">
    %first = cute.static : !cute.coord<"1">
    %last = cute.static : !cute.coord<"3">
    cute.autovec_copy(%o, %x) : !cute.memref<f32, gmem, align<16>, "4:1">, !cute.memref<f32, rmem, align<16>, "4:1">
    %v = cute.memref.load(%x, %first) : (!cute.memref<f32, rmem, align<16>, "4:1">, !cute.coord<"1">) -> f32
    cute.memref.store(%v, %x, %last) : f32, !cute.memref<f32, rmem, align<16>, "4:1">, !cute.coord<"3">
    cute.autovec_copy(%x, %o) : !cute.memref<f32, rmem, align<16>, "4:1">, !cute.memref<f32, gmem, align<16>, "4:1">
    gpu.return
  }
}
