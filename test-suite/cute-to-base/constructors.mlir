// Constructors insert, get_scalars extracts, what is known is nowhere.
// RUN: %cute-opt --cute-to-base --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @layout
// CHECK-SAME: (%[[M:.*]]: i32, %[[N:.*]]: i32)
// CHECK-NEXT: %[[P:.*]] = ub.poison : !llvm.struct<(i32, i32)>
// CHECK-NEXT: %[[P0:.*]] = llvm.insertvalue %[[M]], %[[P]][0]
// CHECK-NEXT: %[[SHAPE:.*]] = llvm.insertvalue %[[N]], %[[P0]][1]
// CHECK-NEXT: %[[Q:.*]] = ub.poison : !llvm.struct<(struct<(i32, i32)>, i32)>
// CHECK-NEXT: %[[Q0:.*]] = llvm.insertvalue %[[SHAPE]], %[[Q]][0]
// CHECK-NEXT: %[[X:.*]] = llvm.insertvalue %[[M]], %[[Q0]][1]
// CHECK-NEXT: return %[[X]]
func.func @layout(%m: i32, %n: i32) -> !cute.layout<"(?,?):(1,?)"> {
  %shape = cute.make_shape(%m, %n) : (i32, i32) -> !cute.shape<"(?,?)">
  %stride = cute.make_stride(%m) : (i32) -> !cute.stride<"(1,?)">
  %x = cute.make_layout(%shape, %stride) : (!cute.shape<"(?,?)">, !cute.stride<"(1,?)">) -> !cute.layout<"(?,?):(1,?)">
  return %x : !cute.layout<"(?,?):(1,?)">
}

// -----

// Integers of every kind fill a run-time leaf.
// CHECK-LABEL: func.func @fill
// CHECK-SAME: (%[[I:.*]]: index, %[[N:.*]]: i32, %[[T:.*]]: i64)
// CHECK-DAG: %[[A:.*]] = arith.index_cast %[[I]] : index to i64
// CHECK-DAG: %[[B:.*]] = arith.extsi %[[N]] : i32 to i64
// CHECK-DAG: %[[C:.*]] = arith.constant 7 : i64
// CHECK: llvm.insertvalue %[[A]], %{{.*}}[0]
// CHECK: llvm.insertvalue %[[B]], %{{.*}}[1]
// CHECK: llvm.insertvalue %[[T]], %{{.*}}[2]
// CHECK: llvm.insertvalue %[[C]], %{{.*}}[3]
func.func @fill(%i: index, %n: i32, %t: !cute.int_tuple<"?{i64}">) -> !cute.shape<"(?{i64},?{i64},5,(?{i64},?{i64}))"> {
  %seven = cute.static : !cute.int_tuple<"7">
  %x = cute.make_shape(%i, %n, %t, %seven) : (index, i32, !cute.int_tuple<"?{i64}">, !cute.int_tuple<"7">) -> !cute.shape<"(?{i64},?{i64},5,(?{i64},?{i64}))">
  return %x : !cute.shape<"(?{i64},?{i64},5,(?{i64},?{i64}))">
}

// -----

// CHECK-LABEL: func.func @tile
// CHECK-SAME: (%[[X:.*]]: i32, %[[S:.*]]: i32)
// CHECK: llvm.insertvalue %[[X]], %{{.*}}[0, 0]
// CHECK: llvm.insertvalue %[[S]], %{{.*}}[1, 0]
func.func @tile(%x: i32, %s: !cute.int_tuple<"?">) -> !cute.tile<"[(?,2):(2,1);?:1]"> {
  %t = cute.make_tile(%x, %s) : (i32, !cute.int_tuple<"?">) -> !cute.tile<"[(?,2):(2,1);?:1]">
  return %t : !cute.tile<"[(?,2):(2,1);?:1]">
}

// -----

// A composed layout lies in memory the other way round: what sees coordinates, offset, what is in front.
// CHECK-LABEL: func.func @composed
// CHECK-SAME: (%[[A:.*]]: !llvm.struct<(i32, struct<()>)>, %[[O:.*]]: i32, %[[B:.*]]: !llvm.struct<(struct<()>, i32)>)
// CHECK: %[[P:.*]] = ub.poison
// CHECK: %[[P0:.*]] = llvm.insertvalue %[[B]], %[[P]][0]
// CHECK: %[[P1:.*]] = llvm.insertvalue %[[O]], %[[P0]][1]
// CHECK: %[[X:.*]] = llvm.insertvalue %[[A]], %[[P1]][2]
// CHECK: %[[N0:.*]] = llvm.extractvalue %[[X]][2, 0]
// CHECK: %[[N1:.*]] = llvm.extractvalue %[[X]][1]
// CHECK: %[[N2:.*]] = llvm.extractvalue %[[X]][0, 1]
// CHECK: return %[[N0]], %[[N1]], %[[N2]]
func.func @composed(%a: !cute.layout<"?:1">, %o: !cute.int_tuple<"?">, %b: !cute.layout<"4:?">) -> (i32, i32, i32) {
  %x = cute.make_composed_layout(%a, %o, %b) : (!cute.layout<"?:1">, !cute.int_tuple<"?">, !cute.layout<"4:?">) -> !cute.composed_layout<"?:1 o ? o 4:?">
  %n:3 = cute.get_scalars<{only_dynamic}> (%x) : !cute.composed_layout<"?:1 o ? o 4:?">
  return %n#0, %n#1, %n#2 : i32, i32, i32
}

// -----

// Static integers are constants, the path of a basis follows its scale.
// CHECK-LABEL: func.func @scalars
// CHECK-SAME: (%[[X:.*]]: !llvm.struct<(struct<()>, i32)>)
// CHECK-DAG: %[[S:.*]] = llvm.extractvalue %[[X]][1]
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : i32
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK: return %[[TWO]], %[[S]], %[[ZERO]]
func.func @scalars(%x: !cute.layout<"2:?@0">) -> (i32, i32, i32) {
  %n:3 = cute.get_scalars(%x) : !cute.layout<"2:?@0">
  return %n#0, %n#1, %n#2 : i32, i32, i32
}

// -----

// A promise is nothing at run time.
// CHECK-LABEL: func.func @assume
// CHECK-SAME: (%[[N:.*]]: i32)
// CHECK-NEXT: return %[[N]]
func.func @assume(%n: i32) -> !cute.int_tuple<"?{div=8}"> {
  %x = cute.assume(%n) : (i32) -> !cute.int_tuple<"?{div=8}">
  return %x : !cute.int_tuple<"?{div=8}">
}
