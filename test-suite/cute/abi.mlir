// The kernel ABI is an attribute of the dialect, which prints once before the module and reads back.
// RUN: %cute-opt %s | FileCheck %s
// RUN: %cute-opt %s | %cute-opt | FileCheck %s
// RUN: %cute-opt --mlir-print-op-generic %s | %cute-opt | FileCheck %s

// CHECK: #abi_gemm = #cute.abi<"gemm"
// CHECK-NEXT:   entry "gemm_sm90"
// CHECK-NEXT:   source "gemm.cute"
// CHECK-NEXT:   arg a: tensor<f16, (m, k):(k, 1)> align 16
// CHECK-NEXT:   arg "b\22\0A": tensor<f16, (k, m * 2):(1, ld)> align 1
// CHECK-NEXT:   arg c: mut tensor<bool, (m, 64):(64, 1)> align 16
// CHECK-NEXT:   arg alpha: f32
// CHECK-NEXT:   symbol m: i32 = extent 0 of a
// CHECK-NEXT:   symbol k: i32 = extent 1 of a div 8 max 4096
// CHECK-NEXT:   symbol ld: i64 = stride 1 of "b\22\0A"
// CHECK-NEXT:   tensor_map 0 of a order [1, 0] box [64, 128] swizzle 128 l2 256 fill nan
// CHECK-NEXT:   params (pointer a, pointer "b\22\0A", pointer c, symbol m, symbol k, symbol ld, scalar alpha, tensor_map 0)
// CHECK-NEXT:   promise "ld >= k": ge(ld, k)
// CHECK-NEXT:   grid (ceil_div(m, 128) * (k - (m - 1)), 1, 1)
// CHECK-NEXT:   smem 65536
// CHECK-NEXT:   define bm = "128", t = "f16">
#abi = #cute.abi<"gemm" entry "gemm_sm90" source "gemm.cute"  // a remark
  arg a: tensor<f16, (m, k):(k, 1)> align 16
  arg "b\"\n": tensor<f16, (k, m*2):(1, ld)>
  arg c: mut tensor<bool, (m, 64):(64, 1)> align 16
  arg alpha: f32
  symbol m: i32 = extent 0 of a
  symbol k: i32 = extent 1 of a div 8 max 4096
  symbol ld: i64 = stride 1 of "b\22\0a"
  tensor_map 0 of a order [1, 0] box [64, 128] swizzle 128 l2 256 fill nan
  params (pointer a, pointer "b\22\0A", pointer c, symbol m, symbol k, symbol ld, scalar alpha, tensor_map 0)
  promise "ld >= k": ge(ld, k)
  grid (ceil_div(m, 128) * (k - (m - 1)), 1, 1)
  smem 65536
  define bm = "128", t = "f16">

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // CHECK: gpu.func @gemm(
    // CHECK-SAME: attributes {cute.abi = #abi_gemm}
    gpu.func @gemm(%a: !cute.ptr<f16, gmem, align<16>>, %b: !cute.ptr<f16, gmem, align<2>>,
        %c: !cute.ptr<i1, gmem, align<16>>, %m: i32, %k: i32, %ld: i64, %alpha: f32, %map: !llvm.ptr) kernel
        attributes {cute.abi = #abi} {
      gpu.return
    }
  }
}
