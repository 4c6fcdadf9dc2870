// A value becomes a struct of its run-time integers, wherever it goes.
// RUN: %cute-opt --cute-to-base --split-input-file %s | FileCheck %s
// RUN: %cute-opt --cute-to-base --split-input-file %s | FileCheck %s --check-prefix=NONE
// NONE-NOT: !cute.
// NONE-NOT: unrealized_conversion_cast

// CHECK-LABEL: func.func private @signature
// CHECK-SAME: (!llvm.struct<()>, i32, i64, !llvm.struct<(i32, i64)>, !llvm.struct<(struct<(i32, i32)>, i32)>, !llvm.struct<(struct<()>, struct<()>)>) -> !llvm.struct<(struct<(i32, i32)>, i32, struct<()>)>
func.func private @signature(!cute.shape<"(4,8)">, !cute.coord<"(?,_)">, !cute.int_tuple<"(3,?{i64})">, !cute.shape<"(?,(?{i64},2))">,
    !cute.layout<"(?,?,4):(1,?,3)">, !cute.layout<"8:1">) -> !cute.composed_layout<"S<3,4,3> o ? o (?,8):(8,?)">

// -----

// CHECK-LABEL: func.func private @tiles
// CHECK-SAME: (!llvm.struct<()>, !llvm.struct<(i32, struct<()>)>, !llvm.struct<(struct<(i32, struct<()>)>, struct<(struct<()>, i32)>)>, !llvm.struct<()>)
func.func private @tiles(!cute.tile<"[_;_]">, !cute.tile<"[?:1;_]">, !cute.tile<"[?:1;[4:?;_]]">, !cute.swizzle<"S<3,4,3>">)

// -----

// Loops, branches and calls carry structs.
// CHECK-LABEL: func.func @flow
// CHECK-SAME: (%[[X:.*]]: !llvm.struct<(i32, i32)>, %{{.*}}: i1)
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[X]]) -> (!llvm.struct<(i32, i32)>)
// CHECK: cf.cond_br %{{.*}}, ^bb1(%{{.*}} : !llvm.struct<(i32, i32)>), ^bb2
// CHECK: ^bb1(%[[Y:.*]]: !llvm.struct<(i32, i32)>):
// CHECK: call @callee(%[[Y]]) : (!llvm.struct<(i32, i32)>) -> !llvm.struct<(i32, i32)>
func.func private @callee(!cute.shape<"(?,?)">) -> !cute.shape<"(?,?)">
func.func @flow(%x: !cute.shape<"(?,?)">, %c: i1) -> !cute.shape<"(?,?)"> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %l = scf.for %i = %zero to %four step %one iter_args(%s = %x) -> (!cute.shape<"(?,?)">) {
    scf.yield %s : !cute.shape<"(?,?)">
  }
  cf.cond_br %c, ^bb1(%l : !cute.shape<"(?,?)">), ^bb2
^bb1(%y: !cute.shape<"(?,?)">):
  %r = func.call @callee(%y) : (!cute.shape<"(?,?)">) -> !cute.shape<"(?,?)">
  return %r : !cute.shape<"(?,?)">
^bb2:
  return %x : !cute.shape<"(?,?)">
}
