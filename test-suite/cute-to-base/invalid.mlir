// What is no constructor has no form here.
// RUN: %cute-opt --split-input-file --verify-diagnostics --cute-to-base %s

func.func @algebra(%x: !cute.shape<"(?,4)">) -> !cute.int_tuple<"?{div=4}"> {
  // expected-error@+1 {{cute.size is no constructor; expected after cute-expand-ops}}
  %0 = cute.size(%x) : (!cute.shape<"(?,4)">) -> !cute.int_tuple<"?{div=4}">
  return %0 : !cute.int_tuple<"?{div=4}">
}

// -----

// expected-error@+1 {{!cute.memref<f32, gmem, align<16>, "4:1"> has no form in LLVM}}
func.func @memory(%x: !cute.memref<f32, gmem, align<16>, "4:1">) {
  return
}

// -----

func.func @print(%x: f32) {
  // expected-error@+1 {{an integer, tuple, layout, tile or swizzle to print}}
  cute.print(%x) : f32
  return
}

// -----

func.func private @printf(i32)
func.func @taken(%x: !cute.shape<"(?,4)">) {
  // expected-error@+1 {{needs the C function printf, but the module has another of that name}}
  cute.print(%x) : !cute.shape<"(?,4)">
  return
}
