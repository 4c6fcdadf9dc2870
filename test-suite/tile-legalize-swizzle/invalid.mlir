// RUN: %cute-opt --split-input-file --verify-diagnostics --tile-legalize-swizzle %s

// An empty text has no address in MLIR.
!smem = !cute.memref<f16, smem, align<16>, "(16,16,1):(16,1,256)">
!t = tensor<16x16xf16, #tile.tv<"((4,8),(2,2,2)):((32,1),(16,8,128))">>
gpu.module @kernels {
  gpu.func @pinned(%i: i32) kernel {
    // expected-error@+1 {{expected `S`, found the end}}
    %s = cute.memref.alloc_smem() {swizzle = ""} : () -> !smem
    %0 = tile.read %s[%i] [0, 0] : !smem -> !t
    gpu.return
  }
}
