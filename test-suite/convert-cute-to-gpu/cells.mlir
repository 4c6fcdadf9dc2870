// A load from registers is what was stored there. What a region may change is stored before it and where it ends;
// what it only reads, or leaves alone, stays known.
// RUN: %cute-opt --convert-cute-to-gpu %s | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @straight
  // CHECK-COUNT-2: llvm.load
  // CHECK: %[[SUM:.*]] = llvm.load
  // CHECK-NOT: llvm.load
  // CHECK: %[[ONCE:.*]] = llvm.intr.fma(%{{.*}}, %{{.*}}, %[[SUM]])
  // CHECK-NEXT: llvm.intr.fma(%{{.*}}, %{{.*}}, %[[ONCE]])
  // Nothing comes behind that could read it.
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
    %x = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "2:1">
    cute.memref.store(%zero, %x, %at) : f32, !cute.memref<f32, rmem, align<16>, "2:1">, !cute.coord<"0">
    scf.for %i = %from to %n step %step : i32 {
      %v = cute.memref.load(%x, %at) : (!cute.memref<f32, rmem, align<16>, "2:1">, !cute.coord<"0">) -> f32
      %w = arith.addf %v, %one : f32
      cute.memref.store(%w, %x, %at) : f32, !cute.memref<f32, rmem, align<16>, "2:1">, !cute.coord<"0">
    }
    %v = cute.memref.load(%x, %at) : (!cute.memref<f32, rmem, align<16>, "2:1">, !cute.coord<"0">) -> f32
    %layout = cute.static : !cute.layout<"1:0">
    %o = cute.make_view(%out, %layout) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"1:0">) -> !cute.memref<f32, gmem, align<16>, "1:0">
    cute.memref.store(%v, %o, %at) : f32, !cute.memref<f32, gmem, align<16>, "1:0">, !cute.coord<"0">
    gpu.return
  }

  // A loop that reads a fragment finds in it what was there before; one that does not leaves it as it was. Read as a
  // vector, that is put together from what is known and the elements in memory.
  // CHECK-LABEL: gpu.func @around
  // CHECK: %[[X:.*]] = arith.constant 2.0
  // CHECK: scf.for
  // CHECK-NEXT: llvm.store %[[X]], %[[PLACE:.*]] {{.*}} : f32, !llvm.ptr<1>
  // CHECK-NEXT: }
  // CHECK: scf.for
  // CHECK: %[[Y:.*]] = llvm.load {{.*}} : !llvm.ptr -> f32
  // CHECK: llvm.insertelement %[[X]], {{.*}} : vector<2xf32>
  // CHECK: llvm.insertelement %[[Y]], {{.*}} : vector<2xf32>
  // CHECK: }
  // CHECK: llvm.store %[[X]], %{{.*}} {{.*}} : f32, !llvm.ptr<1>
  // CHECK: %[[Y:.*]] = llvm.load {{.*}} : !llvm.ptr -> f32
  // CHECK: llvm.insertelement %[[X]], {{.*}} : vector<2xf32>
  // CHECK: llvm.insertelement %[[Y]], {{.*}} : vector<2xf32>
  // CHECK-NOT: llvm.store {{.*}}!llvm.ptr{{$}}
  // CHECK: gpu.return
  gpu.func @around(%out: !cute.ptr<f32, gmem, align<16>>, %n: i32) kernel {
    %from = arith.constant 0 : i32
    %step = arith.constant 1 : i32
    %two = arith.constant 2.0 : f32
    %at = cute.static : !cute.coord<"0">
    %one = cute.static : !cute.layout<"1:0">
    %both = cute.static : !cute.layout<"2:1">
    %o = cute.make_view(%out, %one) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"1:0">) -> !cute.memref<f32, gmem, align<16>, "1:0">
    %p = cute.make_view(%out, %both) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"2:1">) -> !cute.memref<f32, gmem, align<16>, "2:1">
    %x = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "2:1">
    cute.memref.store(%two, %x, %at) : f32, !cute.memref<f32, rmem, align<16>, "2:1">, !cute.coord<"0">
    scf.for %i = %from to %n step %step : i32 {
      %v = cute.memref.load(%x, %at) : (!cute.memref<f32, rmem, align<16>, "2:1">, !cute.coord<"0">) -> f32
      cute.memref.store(%v, %o, %at) : f32, !cute.memref<f32, gmem, align<16>, "1:0">, !cute.coord<"0">
    }
    scf.for %i = %from to %n step %step : i32 {
      cute.autovec_copy(%x, %p) : !cute.memref<f32, rmem, align<16>, "2:1">, !cute.memref<f32, gmem, align<16>, "2:1">
    }
    %v = cute.memref.load(%x, %at) : (!cute.memref<f32, rmem, align<16>, "2:1">, !cute.coord<"0">) -> f32
    cute.memref.store(%v, %o, %at) : f32, !cute.memref<f32, gmem, align<16>, "1:0">, !cute.coord<"0">
    cute.autovec_copy(%x, %p) : !cute.memref<f32, rmem, align<16>, "2:1">, !cute.memref<f32, gmem, align<16>, "2:1">
    gpu.return
  }

  // A vector of which one element is written anew is its other elements and that one.
  // CHECK-LABEL: gpu.func @parts
  // CHECK: %[[V:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK: %[[ONE:.*]] = llvm.extractelement %[[V]][%{{.*}} : i32] : vector<4xf32>
  // CHECK-NOT: llvm.store
  // CHECK-COUNT-3: llvm.insertelement
  // CHECK: %[[ALL:.*]] = llvm.insertelement %[[ONE]], {{.*}} : vector<4xf32>
  // CHECK-NEXT: llvm.store %[[ALL]], {{.*}} : vector<4xf32>, !llvm.ptr<1>
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
