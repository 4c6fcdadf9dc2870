// What certainly fails at run time is an error.
// RUN: %cute-opt --split-input-file --verify-diagnostics --cute-expand-ops %s

func.func @never() -> !cute.shape<"?"> {
  %six = arith.constant 6 : i32
  %x = cute.make_shape(%six) : (i32) -> !cute.shape<"?">
  %by = cute.static : !cute.shape<"4">
  // expected-error@+1 {{needs 6 % 4 == 0 or 4 % 6 == 0, which does not hold}}
  %0 = cute.shape_div(%x, %by) : (!cute.shape<"?">, !cute.shape<"4">) -> !cute.shape<"?">
  return %0 : !cute.shape<"?">
}
