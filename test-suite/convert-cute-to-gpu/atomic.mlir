// Atomic updates, and which of them there are not.
// RUN: split-file %s %t
// RUN: %cute-opt %t/legal.mlir | %cute-opt --convert-cute-to-gpu | FileCheck %s
// RUN: not %cute-opt %t/invalid.mlir --split-input-file 2>&1 | FileCheck %s --check-prefix=ERR

//--- legal.mlir
gpu.module @m {
  // CHECK-LABEL: gpu.func @updates
  // What nobody asks for is not given.
  // CHECK: llvm.inline_asm has_side_effects "red.relaxed.gpu.global.add.f32 [$0], $1;"
  // CHECK: llvm.inline_asm has_side_effects "@$1 red.relaxed.gpu.global.add.f32 [$0], $2;"
  // CHECK: llvm.atomicrmw max {{.*}} syncscope("device") monotonic : !llvm.ptr<1>, i32
  // CHECK: llvm.cmpxchg {{.*}} syncscope("device") monotonic monotonic : !llvm.ptr<1>, i32
  // Where the condition does not hold it is zero.
  // CHECK: scf.if
  // CHECK: llvm.atomicrmw fadd
  // CHECK: else
  // CHECK: llvm.mlir.zero : f32
  // No instruction has the larger of two floating numbers.
  // CHECK: %[[FIRST:.*]] = llvm.load {{.*}} atomic syncscope("device") monotonic
  // CHECK: scf.while (%[[OLD:.*]] = %[[FIRST]])
  // CHECK: llvm.intr.maxnum
  // CHECK: "atom.relaxed.gpu.global.cas.b32 $0, [$1], $2, $3;"
  // CHECK: scf.condition
  // Where nobody asks for it, integers have it: an instruction for those that are not negative, and one for those that are.
  // CHECK: %[[NUMBER:.*]] = arith.cmpf ord, %[[X:.*]], %[[X]] : f32
  // CHECK: %[[BITS:.*]] = arith.bitcast %[[X]] : f32 to i32
  // CHECK: arith.cmpi sge, %[[BITS]]
  // CHECK: %[[ABOVE:.*]] = arith.andi %[[NUMBER]]
  // CHECK: arith.cmpi slt, %[[BITS]]
  // CHECK: %[[BELOW:.*]] = arith.andi %[[NUMBER]]
  // CHECK: %[[FIRST:.*]] = arith.andi %{{.*}}, %[[ABOVE]]
  // CHECK: "@$1 red.relaxed.gpu.global.max.s32 [$0], $2;", {{.*}} %[[FIRST]]
  // CHECK: %[[SECOND:.*]] = arith.andi %{{.*}}, %[[BELOW]]
  // CHECK: "@$1 red.relaxed.gpu.global.min.u32 [$0], $2;", {{.*}} %[[SECOND]]
  // CHECK: red.relaxed.gpu.global.min.s32
  // CHECK: red.relaxed.gpu.global.max.u32
  // CHECK-NOT: cute.
  gpu.func @updates(%p: !cute.ptr<f32, gmem, align<4>>, %q: !cute.ptr<i32, gmem, align<4>>, %x: f32, %i: i32, %c: i1) kernel {
    %layout = cute.static : !cute.layout<"8:1">
    %t = cute.make_view(%p, %layout) : (!cute.ptr<f32, gmem, align<4>>, !cute.layout<"8:1">) -> !cute.memref<f32, gmem, align<4>, "8:1">
    %u = cute.make_view(%q, %layout) : (!cute.ptr<i32, gmem, align<4>>, !cute.layout<"8:1">) -> !cute.memref<i32, gmem, align<4>, "8:1">
    %0 = cute.memref.atomic(%t, %i, %x) {kind = "add"} : (!cute.memref<f32, gmem, align<4>, "8:1">, i32, f32) -> f32
    %5 = cute.memref.atomic(%t, %i, %x, %c) {kind = "add"} : (!cute.memref<f32, gmem, align<4>, "8:1">, i32, f32, i1) -> f32
    %1 = cute.memref.atomic(%u, %i, %i) {kind = "max"} : (!cute.memref<i32, gmem, align<4>, "8:1">, i32, i32) -> i32
    %2 = cute.memref.atomic(%u, %i, %1, %i) {kind = "cas"} : (!cute.memref<i32, gmem, align<4>, "8:1">, i32, i32, i32) -> i32
    %3 = cute.memref.atomic(%t, %i, %x, %c) {kind = "add"} : (!cute.memref<f32, gmem, align<4>, "8:1">, i32, f32, i1) -> f32
    %6 = cute.memref.atomic(%t, %i, %3) {kind = "add"} : (!cute.memref<f32, gmem, align<4>, "8:1">, i32, f32) -> f32
    %4 = cute.memref.atomic(%t, %i, %x) {kind = "max"} : (!cute.memref<f32, gmem, align<4>, "8:1">, i32, f32) -> f32
    %7 = cute.memref.atomic(%t, %i, %4, %c) {kind = "max"} : (!cute.memref<f32, gmem, align<4>, "8:1">, i32, f32, i1) -> f32
    %8 = cute.memref.atomic(%t, %i, %4) {kind = "min"} : (!cute.memref<f32, gmem, align<4>, "8:1">, i32, f32) -> f32
    gpu.return
  }
}

//--- invalid.mlir
func.func @kind(%t: !cute.memref<f32, gmem, align<4>, "8:1">, %i: i32, %x: f32) {
  // ERR: expects `kind` as one of add, min, max, and, or, xor, exchange, cas, load, acquire, store, release, but got "subtract"
  %0 = cute.memref.atomic(%t, %i, %x) {kind = "subtract"} : (!cute.memref<f32, gmem, align<4>, "8:1">, i32, f32) -> f32
  return
}

// -----

func.func @element(%t: !cute.memref<f16, smem, align<4>, "8:1">, %i: i32, %x: f16) {
  // ERR: no atomic max of f16; there is: add
  %0 = cute.memref.atomic(%t, %i, %x) {kind = "max"} : (!cute.memref<f16, smem, align<4>, "8:1">, i32, f16) -> f16
  return
}

// -----

func.func @value(%t: !cute.memref<f32, gmem, align<4>, "8:1">, %i: i32) {
  // ERR: expects a value of f32
  %0 = cute.memref.atomic(%t, %i, %i) {kind = "add"} : (!cute.memref<f32, gmem, align<4>, "8:1">, i32, i32) -> f32
  return
}

// -----

func.func @count(%t: !cute.memref<i32, gmem, align<4>, "8:1">, %i: i32) {
  // ERR: expects 4 or 5 operands, but got 3
  %0 = cute.memref.atomic(%t, %i, %i) {kind = "cas"} : (!cute.memref<i32, gmem, align<4>, "8:1">, i32, i32) -> i32
  return
}

// -----

func.func @condition(%t: !cute.memref<i32, gmem, align<4>, "8:1">, %i: i32) {
  // ERR: expects an i1 that says where
  %0 = cute.memref.atomic(%t, %i, %i, %i) {kind = "add"} : (!cute.memref<i32, gmem, align<4>, "8:1">, i32, i32, i32) -> i32
  return
}

// -----

func.func @registers(%t: !cute.memref<i32, rmem, align<4>, "8:1">, %i: i32) {
  // ERR: registers are one thread's own
  %0 = cute.memref.atomic(%t, %i, %i) {kind = "add"} : (!cute.memref<i32, rmem, align<4>, "8:1">, i32, i32) -> i32
  return
}
