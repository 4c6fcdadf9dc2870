// Views of another block's shared memory: the address of the buffer is mapped once, and accessed as shared memory is.
// RUN: %cute-opt %s --convert-cute-to-gpu | FileCheck %s

!s = !cute.memref<f32, smem, align<128>, "S<2,2,3> o 0 o (4,8):(1,4)">
!d = !cute.memref<f32, dsmem, align<128>, "S<2,2,3> o 0 o (4,8):(1,4)">
!row = !cute.memref<f32, dsmem, align<128>, "S<2,2,3> o 12 o (4):(1)">
!r = !cute.memref<f32, rmem, align<16>, "4:1">
!b = !cute.memref<ui64, smem, align<128>, "1:1">
!c = !cute.memref<i32, smem, align<128>, "1:1">
!e = !cute.memref<i32, dsmem, align<128>, "1:1">

gpu.module @m attributes {cute.target = #cute.target<"sm_90a">} {
  // CHECK-LABEL: gpu.func @views
  // CHECK: %[[SMEM:.*]] = llvm.mlir.addressof @cutec$smem : !llvm.ptr<3>
  // CHECK: %[[PEER:.*]] = nvvm.mapa %[[SMEM]], %{{.*}} : !llvm.ptr<3> -> !llvm.ptr<7>
  // CHECK: %[[AT:.*]] = llvm.getelementptr %[[PEER]]{{.*}} : (!llvm.ptr<7>
  // CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<7> -> vector<4xf32>
  // CHECK: llvm.store {{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<7>
  // CHECK: "red.relaxed.cluster.shared::cluster.add.f32 [$0], $1;"
  // CHECK: "mapa.shared::cluster.u32 $0, $1, $2;"
  // CHECK: "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [$0], {$1, $2, $3, $4}, [$5];", "r,r,r,r,r,r,~{memory}"
  // CHECK: "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [$0], $1, [$2];", "r,r,r,~{memory}"
  // CHECK: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64
  // CHECK-NOT: cute.
  gpu.func @views(%rank: i32, %n: i32, %x: f32, %v: vector<4xf32>) kernel {
    %s = cute.memref.alloc_smem() {offset = 0 : i64} : () -> !s
    %b = cute.memref.alloc_smem() {offset = 128 : i64} : () -> !b
    %c = cute.memref.alloc_smem() {offset = 136 : i64} : () -> !c
    %r = cute.memref.alloca() : () -> !r
    %d = cute.map_shared_rank(%s, %rank) : (!s, i32) -> !d
    %at = cute.static : !cute.coord<"(_,3)">
    %row = cute.slice(%d, %at) : !d, !cute.coord<"(_,3)">
    cute.autovec_copy(%row, %r) : !row, !r
    cute.memref.store(%x, %d, %n) : f32, !d, i32
    %old = cute.memref.atomic(%d, %n, %x) {kind = "add"} : (!d, i32, f32) -> f32
    %zero = cute.static : !cute.int_tuple<"0">
    cute.store_async(%v, %row, %b, %zero) : vector<4xf32>, !row, !b, !cute.int_tuple<"0">
    %e = cute.map_shared_rank(%c, %rank) : (!c, i32) -> !e
    cute.reduce_async(%e, %zero, %n, %b, %zero) {kind = "add"} : !e, !cute.int_tuple<"0">, i32, !b, !cute.int_tuple<"0">
    cute.mbarrier.wait_across_cluster(%b, %zero, %zero) : !b, !cute.int_tuple<"0">, !cute.int_tuple<"0">
    gpu.return
  }
}
