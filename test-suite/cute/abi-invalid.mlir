// An ABI that does not read says where, and one that does not fit its function says what was expected.
// RUN: %cute-opt --split-input-file --verify-diagnostics --allow-unregistered-dialect %s

// expected-error@+1 {{expected the kernel's name in quotes, found the end}}
#abi = #cute.abi<>

// -----

#abi = #cute.abi<"f"
  // expected-error@+1 {{expected an element type, found `f17`}}
  arg x: tensor<f17, (m):(1)>
  params () grid (1, 1, 1)>

// -----

#abi = #cute.abi<"f"
  params ()
  // expected-error@+1 {{expected the name of a symbol, found `m`}}
  grid (ceil_div(m, 128), 1, 1)>

// -----

// expected-error@+1 {{a parameter refers to tensor map 7 of 0}}
#abi = #cute.abi<"f" params (tensor_map 7) grid (1, 1, 1)>

// -----

// expected-error@+1 {{tensor map of `x`: expected rows of the box that fit the span of the swizzle}}
#abi = #cute.abi<"f" arg x: tensor<f32, (64, 64):(64, 1)> align 16
  tensor_map 0 of x order [1, 0] box [64, 64] swizzle 128
  params (tensor_map 0) grid (1, 1, 1)>

// -----

// expected-error@+1 {{tensor map of `x`: expected elements of f32, where they are to be loaded as tf32}}
#abi = #cute.abi<"f" arg x: tensor<f16, (64, 64):(64, 1)> align 16
  tensor_map 0 of x order [1, 0] box [64, 64] tf32
  params (tensor_map 0) grid (1, 1, 1)>

// -----

// expected-error@+1 {{expected `abi<` and a kernel ABI}}
#abi = #cute.abi

// -----

// expected-error@+1 {{'test.op' op `cute.abi`: expected `#cute.abi<…>`}}
"test.op"() {cute.abi = "{}"} : () -> ()

// -----

#abi = #cute.abi<"f" params () grid (1, 1, 1)>
// expected-error@+1 {{`cute.abi` belongs on a kernel's function}}
"test.op"() {cute.abi = #abi} : () -> ()

// -----

#abi = #cute.abi<"f" arg x: tensor<f32, (4):(1)> params (pointer x) grid (1, 1, 1)>
gpu.module @kernels {
  // expected-error@+1 {{`cute.abi` has 1 parameters, the function 0}}
  gpu.func @f() kernel attributes {cute.abi = #abi} { gpu.return }
}

// -----

#abi = #cute.abi<"f" arg x: tensor<f32, (4):(1)> params (pointer x) grid (1, 1, 1)>
gpu.module @kernels {
  // expected-error@+1 {{expected parameter 0 of the function to be a pointer, found i32}}
  gpu.func @f(%x: i32) kernel attributes {cute.abi = #abi} { gpu.return }
}

// -----

#abi = #cute.abi<"f" arg x: tensor<f32, (n):(1)> symbol n: i32 = extent 0 of x params (symbol n) grid (1, 1, 1)>
gpu.module @kernels {
  // expected-error@+1 {{expected parameter 0 of the function to be i32, found i64}}
  gpu.func @f(%n: i64) kernel attributes {cute.abi = #abi} { gpu.return }
}

// -----

#abi = #cute.abi<"f" params () grid (1, 1, 1) block (64, 1, 1)>
gpu.module @kernels {
  // expected-error@+1 {{`cute.abi` has blocks of (64, 1, 1) threads, but `known_block_size` is array<i32: 128, 1, 1>}}
  gpu.func @f() kernel attributes {cute.abi = #abi, known_block_size = array<i32: 128, 1, 1>} { gpu.return }
}
