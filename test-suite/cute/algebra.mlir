// The layout algebra infers the layouts that CuTe gives, dynamic leaves included.
// RUN: %cute-opt %s | FileCheck %s

// CHECK-LABEL: func.func @algebra
func.func @algebra(%m: i32, %a: !cute.layout<"(20):(2)">, %b: !cute.layout<"(5,4):(4,1)">) {
  // CHECK: cute.make_shape(%{{.*}}) : (i32) -> !cute.shape<"(?,8)">
  %s = cute.make_shape(%m) : (i32) -> !cute.shape<"(?,8)">
  // CHECK: cute.make_layout({{.*}}) : (!cute.shape<"(?,8)">) -> !cute.layout<"(?,8):(1,?)">
  %l = cute.make_layout(%s) : (!cute.shape<"(?,8)">) -> !cute.layout<"(?,8):(1,?)">
  // CHECK: cute.composition({{.*}}) -> !cute.layout<"(5,4):(8,2)">
  %c = cute.composition(%a, %b) : (!cute.layout<"(20):(2)">, !cute.layout<"(5,4):(4,1)">) -> !cute.layout<"(5,4):(8,2)">
  %t = cute.static : !cute.tile<"[128:1;4:1]">
  // CHECK: cute.zipped_divide({{.*}}) -> !cute.layout<"((128,4),(?,2)):((1,?),(128,?{div=4}))">
  %z = cute.zipped_divide(%l, %t) : (!cute.layout<"(?,8):(1,?)">, !cute.tile<"[128:1;4:1]">) -> !cute.layout<"((128,4),(?,2)):((1,?),(128,?{div=4}))">
  // CHECK: cute.get<[1]> ({{.*}})
  %g = cute.get<[1]> (%z) : !cute.layout<"((128,4),(?,2)):((1,?),(128,?{div=4}))"> -> !cute.layout<"(?,2):(128,?{div=4})">
  // CHECK: cute.size ({{.*}}) -> !cute.int_tuple<"?{div=2}">
  %n = cute.size(%g) : (!cute.layout<"(?,2):(128,?{div=4})">) -> !cute.int_tuple<"?{div=2}">
  return
}

// Canonicalization and CSE know the operations to be free of effects.
// RUN: %cute-opt --canonicalize --cse %s | FileCheck %s --check-prefix=CLEAN
// CLEAN-LABEL: func.func @algebra
// CLEAN-NEXT: return
