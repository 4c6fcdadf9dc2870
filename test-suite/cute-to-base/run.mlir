// REQUIRES: mlir-runner
// Functions of layout operations run: what is printed for numbers known at run time only is what is
// printed where they stand in the types.
// RUN: %cute-opt --cute-fold-static --cute-expand-ops --cute-to-base %s -o %t.base
// RUN: %mlir-opt --convert-scf-to-cf --arith-expand --convert-to-llvm --reconcile-unrealized-casts %t.base -o %t.llvm
// RUN: %mlir-runner -e main --entry-point-result=void %t.llvm | FileCheck %s
// RUN: %cute-opt --cute-fold-static --cute-expand-ops --cute-to-base --canonicalize --cse %s -o %t.base
// RUN: %mlir-opt --convert-scf-to-cf --arith-expand --convert-to-llvm --reconcile-unrealized-casts %t.base -o %t.llvm
// RUN: %mlir-runner -e main --entry-point-result=void %t.llvm | FileCheck %s

// Tiles of a matrix whose extents and leading dimension are known at run time.
func.func @tiles(%m: i32, %n: i32, %ld: i32, %at: i32) {
  %shape = cute.make_shape(%m, %n) : (i32, i32) -> !cute.shape<"(?,?)">
  %stride = cute.make_stride(%ld) : (i32) -> !cute.stride<"(?,1)">
  %x = cute.make_layout(%shape, %stride) : (!cute.shape<"(?,?)">, !cute.stride<"(?,1)">) -> !cute.layout<"(?,?):(?,1)">
  %tile = cute.static : !cute.tile<"[4:1;8:1]">
  %d = cute.zipped_divide(%x, %tile) : (!cute.layout<"(?,?):(?,1)">, !cute.tile<"[4:1;8:1]">) -> !cute.layout<"((4,8),(?,?)):((?,1),(?{div=4},8))">
  cute.print(%d) : !cute.layout<"((4,8),(?,?)):((?,1),(?{div=4},8))">
  %c = cute.make_int_tuple(%at) : (i32) -> !cute.int_tuple<"?">
  %o = cute.crd2idx(%c, %d) : (!cute.int_tuple<"?">, !cute.layout<"((4,8),(?,?)):((?,1),(?{div=4},8))">) -> !cute.int_tuple<"?">
  cute.print(%o) : !cute.int_tuple<"?">
  %size = cute.size(%d) : (!cute.layout<"((4,8),(?,?)):((?,1),(?{div=4},8))">) -> !cute.int_tuple<"?{div=32}">
  cute.print(%size) : !cute.int_tuple<"?{div=32}">
  %crd = cute.idx2crd(%c, %shape) : (!cute.int_tuple<"?">, !cute.shape<"(?,?)">) -> !cute.coord<"(?,?)">
  cute.print(%crd) : !cute.coord<"(?,?)">
  %inside = cute.elem_less(%crd, %shape) : (!cute.coord<"(?,?)">, !cute.shape<"(?,?)">) -> i1
  %bit = arith.extui %inside : i1 to i32
  cute.print(%bit) : i32
  return
}
func.func @tiles_known() {
  %x = cute.static : !cute.layout<"(16,24):(32,1)">
  %shape = cute.static : !cute.shape<"(16,24)">
  %tile = cute.static : !cute.tile<"[4:1;8:1]">
  %d = cute.zipped_divide(%x, %tile) : (!cute.layout<"(16,24):(32,1)">, !cute.tile<"[4:1;8:1]">) -> !cute.layout<"((4,8),(4,3)):((32,1),(128,8))">
  cute.print(%d) : !cute.layout<"((4,8),(4,3)):((32,1),(128,8))">
  %c = cute.static : !cute.int_tuple<"333">
  %o = cute.crd2idx(%c, %d) : (!cute.int_tuple<"333">, !cute.layout<"((4,8),(4,3)):((32,1),(128,8))">) -> !cute.int_tuple<"307">
  cute.print(%o) : !cute.int_tuple<"307">
  %size = cute.size(%d) : (!cute.layout<"((4,8),(4,3)):((32,1),(128,8))">) -> !cute.int_tuple<"384">
  cute.print(%size) : !cute.int_tuple<"384">
  %crd = cute.idx2crd(%c, %shape) : (!cute.int_tuple<"333">, !cute.shape<"(16,24)">) -> !cute.coord<"(13,20)">
  cute.print(%crd) : !cute.coord<"(13,20)">
  return
}

// A swizzle of an offset that is known at run time; differences that are negative; 64 bits; a loop.
func.func @more(%n: i32, %wide: i64) {
  %c = cute.make_coord(%n) : (i32) -> !cute.coord<"?">
  %s = cute.static : !cute.composed_layout<"S<2,1,3> o 5 o 64:1">
  %o = cute.layout_eval(%c, %s) : (!cute.coord<"?">, !cute.composed_layout<"S<2,1,3> o 5 o 64:1">) -> !cute.int_tuple<"?">
  cute.print(%o) : !cute.int_tuple<"?">
  %a = cute.make_int_tuple(%n) : (i32) -> !cute.int_tuple<"(?,3)">
  %b = cute.make_int_tuple(%wide) : (i64) -> !cute.int_tuple<"(50,?{i64})">
  %d = cute.tuple_sub(%a, %b) : (!cute.int_tuple<"(?,3)">, !cute.int_tuple<"(50,?{i64})">) -> !cute.int_tuple<"(?,?{i64})">
  cute.print(%d) : !cute.int_tuple<"(?,?{i64})">
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %minus = arith.constant -1 : i32
  %last = arith.addi %n, %minus : i32
  %start = cute.make_coord(%last, %n) : (i32, i32) -> !cute.coord<"(?,?)">
  %shape = cute.make_shape(%n) : (i32) -> !cute.shape<"(?,100)">
  %end = scf.for %i = %zero to %three step %one iter_args(%at = %start) -> (!cute.coord<"(?,?)">) {
    %next = cute.increment_coord(%at, %shape) : (!cute.coord<"(?,?)">, !cute.shape<"(?,100)">) -> !cute.coord<"(?,?)">
    scf.yield %next : !cute.coord<"(?,?)">
  }
  cute.print(%end) : !cute.coord<"(?,?)">
  return
}

// CHECK: [[LAYOUT:\(\(4,8\),\(4,3\)\):\(\(32,1\),\(128,8\)\)]]
// CHECK-NEXT: [[OFFSET:[0-9]+]]
// CHECK-NEXT: [[SIZE:[0-9]+]]
// CHECK-NEXT: [[COORD:\(13,20\)]]
// CHECK-NEXT: {{^1$}}
// CHECK-NEXT: [[LAYOUT]]
// CHECK-NEXT: {{^}}[[OFFSET]]{{$}}
// CHECK-NEXT: {{^}}[[SIZE]]{{$}}
// CHECK-NEXT: {{^}}[[COORD]]{{$}}
// 42 = 0b101010: bits 4 and 5 flip bits 1 and 2.
// CHECK-NEXT: {{^46$}}
// CHECK-NEXT: (-13,-4999999997)
// Three steps from (36,37).
// CHECK-NEXT: (2,38)
func.func @main() {
  %m = arith.constant 16 : i32
  %n = arith.constant 24 : i32
  %ld = arith.constant 32 : i32
  %at = arith.constant 333 : i32
  func.call @tiles(%m, %n, %ld, %at) : (i32, i32, i32, i32) -> ()
  func.call @tiles_known() : () -> ()
  %p = arith.constant 37 : i32
  %q = arith.constant 5000000000 : i64
  func.call @more(%p, %q) : (i32, i64) -> ()
  return
}
