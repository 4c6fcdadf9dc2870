// A signature that its ABI contradicts says what the ABI expects.
// RUN: %cute-opt --cute-expand-signature --split-input-file --verify-diagnostics %s

#abi = #cute.abi<"layout" arg x: tensor<f32, (m, n):(n, 1)> align 16 symbol m: i32 = extent 0 of x
  symbol n: i32 = extent 1 of x div 4 params (pointer x, symbol m, symbol n) grid (1, 1, 1)>
gpu.module @kernels {
  // expected-error@+1 {{`cute.abi`: expected parameter 0 of the function to be !cute.memref<f32, gmem, align<16>, "(?,?{div=4}):(?{i64 div=4},1)">, found !cute.memref<f32, gmem, align<16>, "(?,?):(?{i64},1)">}}
  gpu.func @layout(%x: !cute.memref<f32, gmem, align<16>, "(?,?):(?{i64},1)">, %m: i32, %n: i32) kernel
      attributes {cute.abi = #abi} { gpu.return }
}

// -----

#abi = #cute.abi<"element" arg x: tensor<f32, (4):(1)> align 16 params (pointer x) grid (1, 1, 1)>
gpu.module @kernels {
  // expected-error@+1 {{expected parameter 0 of the function to be !cute.memref<f32, gmem, align<16>, "4:1">, found !cute.memref<f16, gmem, align<16>, "4:1">}}
  gpu.func @element(%x: !cute.memref<f16, gmem, align<16>, "4:1">) kernel attributes {cute.abi = #abi} { gpu.return }
}

// -----

#abi = #cute.abi<"alignment" arg x: tensor<f32, (4):(1)> align 16 params (pointer x) grid (1, 1, 1)>
gpu.module @kernels {
  // expected-error@+1 {{expected parameter 0 of the function to be !cute.memref<f32, gmem, align<16>, "4:1">, found !cute.memref<f32, gmem, align<32>, "4:1">}}
  gpu.func @alignment(%x: !cute.memref<f32, gmem, align<32>, "4:1">) kernel attributes {cute.abi = #abi} { gpu.return }
}

// -----

#abi = #cute.abi<"number" arg x: tensor<f32, (n):(1)> align 16 symbol n: i32 = extent 0 of x
  params (symbol n) grid (1, 1, 1)>
gpu.module @kernels {
  // expected-error@+1 {{expected parameter 0 of the function to be i32, found !cute.memref}}
  gpu.func @number(%x: !cute.memref<f32, gmem, align<16>, "?:1">) kernel attributes {cute.abi = #abi} { gpu.return }
}

// -----

// The kernel has no elements of such a type.
#abi = #cute.abi<"unsigned" arg x: tensor<u16, (4):(1)> align 16 params (pointer x) grid (1, 1, 1)>
gpu.module @kernels {
  // expected-error@+1 {{to be a pointer (a kernel has no elements of type u16), found !cute.memref}}
  gpu.func @unsigned(%x: !cute.memref<i64, gmem, align<16>, "4:1">) kernel attributes {cute.abi = #abi} { gpu.return }
}

// -----

// An extent that is not passed to the kernel cannot be computed in it.
#abi = #cute.abi<"missing" arg x: tensor<f32, (n):(1)> align 16 symbol n: i32 = extent 0 of x
  params (pointer x) grid (1, 1, 1)>
gpu.module @kernels {
  // expected-error@+1 {{expects the symbol `n` of `cute.abi` among the parameters}}
  gpu.func @missing(%x: !cute.memref<f32, gmem, align<16>, "?:1">) kernel attributes {cute.abi = #abi} { gpu.return }
}

// -----

// Nor one that is no integer.
#abi = #cute.abi<"float" arg x: tensor<f32, (n):(1)> align 16 arg n: i32 symbol n: i32 = scalar n
  params (pointer x, scalar n) grid (1, 1, 1)>
gpu.module @kernels {
  // expected-error@+1 {{expects an integer as extent or stride, but got f32}}
  gpu.func @float(%x: !cute.memref<f32, gmem, align<16>, "?:1">, %n: f32) kernel attributes {cute.abi = #abi} { gpu.return }
}
