// `cute.static` is a constant: equal ones are one, and none stands in a loop.
// RUN: %cute-opt --canonicalize --cse %s | FileCheck %s
// RUN: %cute-opt --sccp --canonicalize %s | FileCheck %s --check-prefix=SCCP

// CHECK-LABEL: func.func @loop
// CHECK: %[[X:.*]] = cute.static : !cute.layout<"(4,8):(8,1)">
// CHECK-NOT: cute.static
// CHECK: scf.for
// CHECK: func.call @use(%[[X]])
// CHECK: func.call @use(%[[X]])
// SCCP-LABEL: func.func @loop
// SCCP-COUNT-1: cute.static
// SCCP: scf.for
func.func private @use(!cute.layout<"(4,8):(8,1)">)
func.func @loop(%n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
    %x = cute.static : !cute.layout<"(4,8):(8,1)">
    func.call @use(%x) : (!cute.layout<"(4,8):(8,1)">) -> ()
    %y = cute.static : !cute.layout<"(4,8):(8,1)">
    func.call @use(%y) : (!cute.layout<"(4,8):(8,1)">) -> ()
    %unused = cute.static : !cute.shape<"(4,8)">
  }
  return
}

// Through blocks too.
// CHECK-LABEL: func.func @blocks
// CHECK: %[[S:.*]] = cute.static : !cute.shape<"3">
// CHECK: return %[[S]]
func.func @blocks(%c: i1) -> !cute.shape<"3"> {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %a = cute.static : !cute.shape<"3">
  cf.br ^bb3(%a : !cute.shape<"3">)
^bb2:
  %b = cute.static : !cute.shape<"3">
  cf.br ^bb3(%b : !cute.shape<"3">)
^bb3(%r: !cute.shape<"3">):
  return %r : !cute.shape<"3">
}
