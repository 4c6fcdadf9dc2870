// Variables and sums go into and out of loops and branches as values.
// RUN: %cute-opt --convert-cute-to-gpu %s | FileCheck %s

!one = !cute.memref<f32, rmem, align<16>, "1:0">
!out = !cute.memref<f32, gmem, align<16>, "1:0">
!fma = !cute_nvgpu.atom.universal_fma<f32>
!factors = !cute.memref<f32, rmem, align<16>, "(1,2):(0,1)">
!sums = !cute.memref<f32, rmem, align<16>, "(1,2,2):(0,1,2)">
!some = !cute.memref<f32, rmem, align<16>, "(1,2,2,2):(0,1,2,4)">
!block = !cute.memref<f32, rmem, align<16>, "(1,2,2):(0,1,2)">

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @variable
  // CHECK: %[[LOOP:.*]] = scf.for {{.*}} iter_args(%[[IN:.*]] = %{{.*}}) -> (f32)
  // CHECK: %[[NEXT:.*]] = arith.addf %[[IN]]
  // CHECK: %[[BRANCH:.*]] = scf.if %{{.*}} -> (f32) {
  // CHECK: %[[TWICE:.*]] = arith.addf %[[NEXT]], %[[NEXT]]
  // CHECK: scf.yield %[[TWICE]]
  // CHECK: } else {
  // CHECK-NEXT: scf.yield %[[NEXT]]
  // CHECK: scf.yield %[[BRANCH]]
  // CHECK: llvm.store %[[LOOP]], {{.*}} : f32, !llvm.ptr<1>
  // CHECK-NEXT: gpu.return
  gpu.func @variable(%out: !cute.ptr<f32, gmem, align<16>>, %n: i32, %c: i1) kernel {
    %from = arith.constant 0 : i32
    %step = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %at = cute.static : !cute.coord<"0">
    %layout = cute.static : !cute.layout<"1:0">
    %o = cute.make_view(%out, %layout) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"1:0">) -> !out
    %x = cute.memref.alloca() : () -> !one
    cute.memref.store(%zero, %x, %at) : f32, !one, !cute.coord<"0">
    scf.for %i = %from to %n step %step : i32 {
      %v = cute.memref.load(%x, %at) : (!one, !cute.coord<"0">) -> f32
      %w = arith.addf %v, %one : f32
      cute.memref.store(%w, %x, %at) : f32, !one, !cute.coord<"0">
      scf.if %c {
        %a = cute.memref.load(%x, %at) : (!one, !cute.coord<"0">) -> f32
        %b = arith.addf %a, %a : f32
        cute.memref.store(%b, %x, %at) : f32, !one, !cute.coord<"0">
      }
    }
    %v = cute.memref.load(%x, %at) : (!one, !cute.coord<"0">) -> f32
    cute.memref.store(%v, %o, %at) : f32, !out, !cute.coord<"0">
    gpu.return
  }

  // A loop with a condition carries them through that to its body, and gives what the condition leaves.
  // CHECK-LABEL: gpu.func @condition
  // CHECK: %[[LOOP:.*]]:2 = scf.while (%[[N:.*]] = %{{.*}}, %[[IN:.*]] = %{{.*}}) : (i32, f32) -> (i32, f32) {
  // CHECK: %[[ONE:.*]] = arith.addf %[[IN]]
  // CHECK: scf.condition(%{{.*}}) %[[N]], %[[ONE]] : i32, f32
  // CHECK: ^bb0(%[[M:.*]]: i32, %[[THERE:.*]]: f32):
  // CHECK: %[[TWICE:.*]] = arith.mulf %[[THERE]], %[[THERE]]
  // CHECK: scf.yield %{{.*}}, %[[TWICE]] : i32, f32
  // CHECK: llvm.store %[[LOOP]]#1, {{.*}} : f32, !llvm.ptr<1>
  // CHECK-NEXT: gpu.return
  gpu.func @condition(%out: !cute.ptr<f32, gmem, align<16>>, %n: i32) kernel {
    %none = arith.constant 0 : i32
    %step = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %at = cute.static : !cute.coord<"0">
    %layout = cute.static : !cute.layout<"1:0">
    %o = cute.make_view(%out, %layout) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"1:0">) -> !out
    %x = cute.memref.alloca() : () -> !one
    cute.memref.store(%zero, %x, %at) : f32, !one, !cute.coord<"0">
    %end = scf.while (%left = %n) : (i32) -> i32 {
      %v = cute.memref.load(%x, %at) : (!one, !cute.coord<"0">) -> f32
      %w = arith.addf %v, %one : f32
      cute.memref.store(%w, %x, %at) : f32, !one, !cute.coord<"0">
      %more = arith.cmpi sgt, %left, %none : i32
      scf.condition(%more) %left : i32
    } do {
    ^bb0(%left: i32):
      %v = cute.memref.load(%x, %at) : (!one, !cute.coord<"0">) -> f32
      %w = arith.mulf %v, %v : f32
      cute.memref.store(%w, %x, %at) : f32, !one, !cute.coord<"0">
      %next = arith.subi %left, %step : i32
      scf.yield %next : i32
    }
    %v = cute.memref.load(%x, %at) : (!one, !cute.coord<"0">) -> f32
    cute.memref.store(%v, %o, %at) : f32, !out, !cute.coord<"0">
    gpu.return
  }

  // A loop that yields values already yields the sums too.
  // CHECK-LABEL: gpu.func @sums
  // CHECK: %[[LOOP:.*]]:5 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[A:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (f32, f32, f32, f32, f32)
  // CHECK: llvm.intr.fma(%{{.*}}, %{{.*}}, %[[A]])
  // CHECK: scf.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : f32, f32, f32, f32, f32
  // CHECK: arith.addf %[[LOOP]]#0, %[[LOOP]]#1
  gpu.func @sums(%out: !cute.ptr<f32, gmem, align<16>>, %n: i32) kernel {
    %from = arith.constant 0 : i32
    %step = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %at = cute.static : !cute.coord<"0">
    %layout = cute.static : !cute.layout<"1:0">
    %o = cute.make_view(%out, %layout) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"1:0">) -> !out
    %mma = cute.static : !fma
    %a = cute.memref.alloca() : () -> !factors
    %b = cute.memref.alloca() : () -> !factors
    %c = cute.memref.alloca() : () -> !sums
    %s = scf.for %i = %from to %n step %step iter_args(%held = %zero) -> (f32) : i32 {
      cute.gemm(%mma, %c, %a, %b, %c) : !fma, !sums, !factors, !factors, !sums
      scf.yield %held : f32
    }
    %v = cute.memref.load(%c, %at) : (!sums, !cute.coord<"0">) -> f32
    %w = arith.addf %s, %v : f32
    cute.memref.store(%w, %o, %at) : f32, !out, !cute.coord<"0">
    gpu.return
  }

  // Sums of which a part is chosen at run time have an address.
  // CHECK-LABEL: gpu.func @chosen
  // CHECK: scf.for
  // CHECK-NOT: iter_args
  // CHECK: llvm.intr.fma
  // CHECK: llvm.store {{.*}} : f32, !llvm.ptr
  gpu.func @chosen(%n: i32) kernel {
    %from = arith.constant 0 : i32
    %step = arith.constant 1 : i32
    %mma = cute.static : !fma
    %a = cute.memref.alloca() : () -> !factors
    %b = cute.memref.alloca() : () -> !factors
    %c = cute.memref.alloca() : () -> !some
    scf.for %i = %from to %n step %step : i32 {
      %coord = cute.make_coord(%i) : (i32) -> !cute.coord<"(_,_,_,?)">
      %d = cute.slice(%c, %coord) : !some, !cute.coord<"(_,_,_,?)">
      cute.gemm(%mma, %d, %a, %b, %d) : !fma, !block, !factors, !factors, !block
    }
    gpu.return
  }
}
