// Copies by tensor maps and barriers that count: an instruction for each box, and none moves across the other.
// RUN: %cute-opt %s --convert-cute-to-gpu | FileCheck %s

!v = !cute.memref<f16, smem, align<1024>, "S<3,3,3> o 0 o ((8,8),(64,2)):((64,512),(1,4096))">
!b = !cute.memref<ui64, smem, align<128>, "2:1">
!t = !cute.coord_tensor<"(0,0)", "(64,128):(1@0,1@1)">
!load = !cute_nvgpu.atom.tma_load<f16, tile = (64,128), order = (1,0), box = (64,64), swizzle = 128>
!store = !cute_nvgpu.atom.tma_store<f16, tile = (64,128), order = (1,0), box = (64,64), swizzle = 128>

gpu.module @m attributes {cute.target = #cute.target<"sm_90a">} {
  // CHECK-LABEL: gpu.func @boxes
  // CHECK: "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}"
  // CHECK: nvvm.barrier0
  // CHECK-COUNT-2: "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], [$1, {$2, $3}], [$4];", "r,l,r,r,r,~{memory}"
  // CHECK: mbarrier.try_wait.parity.shared::cta.b64
  // CHECK-COUNT-2: "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [$1, {$2, $3}], [$0];", "r,l,r,r,~{memory}"
  // CHECK-NOT: cute.
  gpu.func @boxes(%map: !llvm.ptr) kernel {
    %v = cute.memref.alloc_smem() {offset = 0 : i64} : () -> !v
    %b = cute.memref.alloc_smem() {offset = 16384 : i64} : () -> !b
    %load = cute.make_tma_atom(%map) : (!llvm.ptr) -> !load
    %store = cute.make_tma_atom(%map) : (!llvm.ptr) -> !store
    %i = cute.static : !cute.int_tuple<"0">
    %one = cute.static : !cute.int_tuple<"1">
    %shape = cute.static : !cute.shape<"(64,128)">
    %t = cute.make_identity_tensor(%shape) : (!cute.shape<"(64,128)">) -> !t
    cute.mbarrier.init(%b, %i, %one) : !b, !cute.int_tuple<"0">, !cute.int_tuple<"1">
    nvvm.barrier0
    cute.copy(%load, %t, %v, %b, %i) : !load, !t, !v, !b, !cute.int_tuple<"0">
    cute.mbarrier.wait(%b, %i, %i) : !b, !cute.int_tuple<"0">, !cute.int_tuple<"0">
    cute.copy(%store, %v, %t) : !store, !v, !t
    gpu.return
  }

  // Registers that are distributed: ptxas must know how many there are.
  // CHECK-LABEL: gpu.func @registers
  // CHECK-SAME: nvvm.minctasm = 1 : i32
  gpu.func @registers() kernel {
    nvvm.setmaxregister decrease 40
    gpu.return
  }
}
