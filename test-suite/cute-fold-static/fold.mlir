// What is known at compile time becomes a constant; the rest stays.
// RUN: %cute-opt --cute-fold-static %s | FileCheck %s

// CHECK-LABEL: func.func @fold
// CHECK-SAME: (%[[N:.*]]: i32)
// CHECK-NEXT: %[[SHAPE:.*]] = cute.make_shape(%[[N]])
// CHECK-NEXT: %[[SIZE:.*]] = cute.static : !cute.int_tuple<"63">
// CHECK-NEXT: %[[LESS:.*]] = arith.constant false
// CHECK-NEXT: return %[[SHAPE]], %[[SIZE]], %[[LESS]]
func.func @fold(%n: i32) -> (!cute.shape<"(?,9)">, !cute.int_tuple<"63">, i1) {
  %0 = cute.make_shape(%n) : (i32) -> !cute.shape<"(?,9)">
  %1 = cute.make_shape() : () -> !cute.shape<"(7,9)">
  %2 = cute.make_stride() : () -> !cute.stride<"(9,1)">
  %3 = cute.make_layout(%1, %2) : (!cute.shape<"(7,9)">, !cute.stride<"(9,1)">) -> !cute.layout<"(7,9):(9,1)">
  %4 = cute.size(%3) : (!cute.layout<"(7,9):(9,1)">) -> !cute.int_tuple<"63">
  %5 = cute.elem_less(%1, %1) : (!cute.shape<"(7,9)">, !cute.shape<"(7,9)">) -> i1
  return %0, %4, %5 : !cute.shape<"(?,9)">, !cute.int_tuple<"63">, i1
}
