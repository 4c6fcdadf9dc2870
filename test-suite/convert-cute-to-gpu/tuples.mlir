// Operations on tuples become integer arithmetic.
// RUN: %cute-opt --convert-cute-to-gpu %s | FileCheck %s

gpu.module @m {
  // CHECK-LABEL: gpu.func @tuples
  // CHECK-SAME: (%[[P:.*]]: !llvm.ptr<1>, %[[N:.*]]: i32)
  gpu.func @tuples(%p: !llvm.ptr<1>, %n: i32) kernel {
    %c = cute.make_coord(%n) : (i32) -> !cute.coord<"(?,3)">
    %s = cute.static : !cute.shape<"(8,5)">
    %e = cute.static : !cute.coord<"(7,3)">
    // CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[N]], %{{.*}} : i32
    %0 = cute.equal(%c, %e) : (!cute.coord<"(?,3)">, !cute.coord<"(7,3)">) -> i1
    %1 = cute.crd2idx(%c, %s) : (!cute.coord<"(?,3)">, !cute.shape<"(8,5)">) -> !cute.int_tuple<"?">
    // CHECK: arith.addi %[[N]], %{{.*}} : i32
    %2 = cute.get_scalars(%1) : !cute.int_tuple<"?">
    scf.if %0 {
      llvm.store %2, %p : i32, !llvm.ptr<1>
    }
    gpu.return
  }
}
