// A target without barriers that count bytes.
// RUN: %cute-opt %s --convert-cute-to-gpu --verify-diagnostics

!b = !cute.memref<ui64, smem, align<128>, "2:1">
gpu.module @m attributes {cute.target = #cute.target<"sm_80">} {
  gpu.func @bytes(%n: i32) kernel {
    %b = cute.memref.alloc_smem() {offset = 0 : i64} : () -> !b
    %i = cute.static : !cute.int_tuple<"0">
    // expected-error@+1 {{cute.mbarrier.expect_tx needs sm_90 or later; the target is sm_80}}
    cute.mbarrier.expect_tx(%b, %i, %n) : !b, !cute.int_tuple<"0">, i32
    gpu.return
  }
}
