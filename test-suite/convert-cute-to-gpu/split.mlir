// Arithmetic on a fragment is done on parts of eight elements, and of those that are registers on each; a consumer that
// cannot be split gets the whole.
// RUN: %cute-opt --convert-cute-to-gpu %s | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @parts
  // CHECK-NOT: vector<32x
  // CHECK-COUNT-4: arith.truncf %{{.*}} : vector<8xf32> to vector<8xbf16>
  // CHECK-NOT: vector<32x
  // CHECK: gpu.return
  gpu.func @parts() kernel {
    %x = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "32:1">
    %y = cute.memref.alloca() : () -> !cute.memref<bf16, rmem, align<16>, "32:1">
    %v = cute.memref.load_vec(%x) : (!cute.memref<f32, rmem, align<16>, "32:1">) -> vector<32xf32>
    %half = arith.constant dense<5.0e-1> : vector<32xf32>
    %scaled = arith.mulf %v, %half : vector<32xf32>
    %b = arith.truncf %scaled : vector<32xf32> to vector<32xbf16>
    cute.memref.store_vec(%b, %y) : vector<32xbf16>, !cute.memref<bf16, rmem, align<16>, "32:1">
    gpu.return
  }

  // One part is computed to its end before the next begins; constants are there from the beginning.
  // CHECK-LABEL: gpu.func @one_by_one
  // CHECK-NOT: vector<16x
  // CHECK-DAG: %[[HALF:.*]] = arith.constant 5.000000e-01 : f32
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
  // CHECK: %[[A0:.*]] = llvm.intr.fma(%{{.*}}, %[[HALF]], %[[ONE]]) : (f32, f32, f32) -> f32
  // CHECK-COUNT-7: llvm.intr.fma
  // CHECK-NEXT: %[[B0:.*]] = llvm.call_intrinsic "llvm.fabs"(%[[A0]]) : (f32) -> f32
  // CHECK-COUNT-7: "llvm.fabs"
  // CHECK-NEXT: llvm.mlir.poison
  // CHECK-NEXT: llvm.insertelement %[[B0]]
  // CHECK-COUNT-7: llvm.insertelement
  // CHECK-NEXT: arith.truncf
  // CHECK-NEXT: llvm.intr.fma(%{{.*}}, %[[HALF]], %[[ONE]])
  // CHECK-COUNT-7: llvm.intr.fma
  // CHECK-COUNT-8: "llvm.fabs"
  // CHECK-NOT: "llvm.fabs"
  // CHECK: arith.truncf
  // CHECK-NEXT: gpu.return
  gpu.func @one_by_one() kernel {
    %x = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "16:1">
    %y = cute.memref.alloca() : () -> !cute.memref<bf16, rmem, align<16>, "16:1">
    %v = cute.memref.load_vec(%x) : (!cute.memref<f32, rmem, align<16>, "16:1">) -> vector<16xf32>
    %half = arith.constant dense<5.0e-1> : vector<16xf32>
    %one = arith.constant dense<1.0> : vector<16xf32>
    %a = llvm.intr.fma(%v, %half, %one) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
    %b = llvm.call_intrinsic "llvm.fabs"(%a) : (vector<16xf32>) -> vector<16xf32>
    %c = arith.truncf %b : vector<16xf32> to vector<16xbf16>
    cute.memref.store_vec(%c, %y) : vector<16xbf16>, !cute.memref<bf16, rmem, align<16>, "16:1">
    gpu.return
  }

  // A vector that is put together of what was loaded before has the place of its elements: what takes it of the one part stands with that.
  // CHECK-LABEL: gpu.func @repeated
  // CHECK-COUNT-8: "llvm.fabs"
  // CHECK-NEXT: arith.addf
  // CHECK-COUNT-7: arith.addf
  // CHECK-NOT: arith.addf
  // CHECK: "llvm.fabs"
  // CHECK-COUNT-7: "llvm.fabs"
  // CHECK-NEXT: arith.addf
  gpu.func @repeated() kernel {
    %x = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "16:1">
    %y = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "16:1">
    %w = cute.memref.load_vec(%y) : (!cute.memref<f32, rmem, align<16>, "16:1">) -> vector<16xf32>
    %v = cute.memref.load_vec(%x) : (!cute.memref<f32, rmem, align<16>, "16:1">) -> vector<16xf32>
    %a = llvm.call_intrinsic "llvm.fabs"(%v) : (vector<16xf32>) -> vector<16xf32>
    %0 = vector.extract %w[0] : f32 from vector<16xf32>
    %1 = vector.extract %w[1] : f32 from vector<16xf32>
    %r = vector.from_elements %0, %1, %0, %1, %0, %1, %0, %1, %0, %1, %0, %1, %0, %1, %0, %1 : vector<16xf32>
    %b = arith.addf %a, %r : vector<16xf32>
    cute.memref.store_vec(%b, %x) : vector<16xf32>, !cute.memref<f32, rmem, align<16>, "16:1">
    gpu.return
  }

  // What the machine has for one number is called for each of a part, in its place; and where there are no parts.
  // CHECK-LABEL: gpu.func @numbers
  // CHECK-NOT: vector<16x
  // CHECK: %[[N:.*]] = arith.mulf
  // CHECK-COUNT-7: arith.mulf
  // CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"(%[[N]]) : (f32) -> f32
  // CHECK-COUNT-7: llvm.nvvm.ex2.approx.ftz.f
  // CHECK-NEXT: llvm.mlir.poison
  // CHECK-COUNT-8: llvm.insertelement
  // CHECK-NEXT: arith.truncf
  // CHECK-NEXT: arith.mulf
  // CHECK-COUNT-8: llvm.nvvm.ex2.approx.ftz.f
  // CHECK-COUNT-3: "llvm.nvvm.rsqrt.approx.f"(%{{.*}}) : (f32) -> f32
  // CHECK-NOT: llvm.nvvm
  // CHECK: gpu.return
  gpu.func @numbers() kernel {
    %x = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "16:1">
    %y = cute.memref.alloca() : () -> !cute.memref<bf16, rmem, align<16>, "16:1">
    %v = cute.memref.load_vec(%x) : (!cute.memref<f32, rmem, align<16>, "16:1">) -> vector<16xf32>
    %s = arith.mulf %v, %v : vector<16xf32>
    %e = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"(%s) : (vector<16xf32>) -> vector<16xf32>
    %c = arith.truncf %e : vector<16xf32> to vector<16xbf16>
    cute.memref.store_vec(%c, %y) : vector<16xbf16>, !cute.memref<bf16, rmem, align<16>, "16:1">
    %t = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "3:1">
    %w = cute.memref.load_vec(%t) : (!cute.memref<f32, rmem, align<16>, "3:1">) -> vector<3xf32>
    %r = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"(%w) : (vector<3xf32>) -> vector<3xf32>
    cute.memref.store_vec(%r, %t) : vector<3xf32>, !cute.memref<f32, rmem, align<16>, "3:1">
    gpu.return
  }

  // Numbers that are not there in parts are taken apart where they are defined; predicates are one for each, too.
  // CHECK-LABEL: gpu.func @apart
  // CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (vector<16xf32>)
  // CHECK-NEXT: llvm.extractelement %[[SUM]]
  // CHECK-COUNT-15: llvm.extractelement %[[SUM]]
  // CHECK: arith.cmpf ogt, %{{.*}}, %{{.*}} : f32
  // CHECK-NOT: vector<8xi1>
  // CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
  // CHECK: llvm.intr.vector.insert
  // CHECK: scf.yield
  gpu.func @apart(%n: i32) kernel {
    %from = arith.constant 0 : i32
    %step = arith.constant 1 : i32
    %x = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "16:1">
    %v = cute.memref.load_vec(%x) : (!cute.memref<f32, rmem, align<16>, "16:1">) -> vector<16xf32>
    %zeros = arith.constant dense<0.0> : vector<16xf32>
    %end = scf.for %i = %from to %n step %step iter_args(%sum = %zeros) -> (vector<16xf32>) : i32 {
      %larger = arith.cmpf ogt, %sum, %v : vector<16xf32>
      %next = arith.select %larger, %sum, %v : vector<16xi1>, vector<16xf32>
      scf.yield %next : vector<16xf32>
    }
    cute.memref.store_vec(%end, %x) : vector<16xf32>, !cute.memref<f32, rmem, align<16>, "16:1">
    gpu.return
  }

  // Of 16 bits, too, what is chosen and what is made wider are one for each.
  // CHECK-LABEL: gpu.func @halves
  // CHECK: arith.mulf {{.*}} : vector<8xbf16>
  // CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : bf16
  // CHECK-NOT: arith.select {{.*}} : vector
  // CHECK: arith.extf %{{.*}} : bf16 to f32
  // CHECK-NOT: arith.extf {{.*}} : vector
  // CHECK: gpu.return
  gpu.func @halves(%c: i1) kernel {
    %x = cute.memref.alloca() : () -> !cute.memref<bf16, rmem, align<16>, "16:1">
    %y = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "16:1">
    %v = cute.memref.load_vec(%x) : (!cute.memref<bf16, rmem, align<16>, "16:1">) -> vector<16xbf16>
    %w = arith.mulf %v, %v : vector<16xbf16>
    %larger = arith.cmpf ogt, %w, %v : vector<16xbf16>
    %s = arith.select %larger, %w, %v : vector<16xi1>, vector<16xbf16>
    %f = arith.extf %s : vector<16xbf16> to vector<16xf32>
    cute.memref.store_vec(%f, %y) : vector<16xf32>, !cute.memref<f32, rmem, align<16>, "16:1">
    gpu.return
  }

  // The last of three would be alone in its register, and of two in one the first is moved up and the second stands where it is.
  // CHECK-LABEL: gpu.func @odd
  // CHECK-COUNT-3: arith.mulf %{{.*}} : bf16
  // CHECK-COUNT-3: arith.extf %{{.*}} : bf16 to f32
  // CHECK: arith.mulf {{.*}} : vector<2xbf16>
  // CHECK: %[[WORD:.*]] = llvm.bitcast %{{.*}} : vector<2xbf16> to i32
  // CHECK: %[[FIRST:.*]] = arith.shli %[[WORD]], %{{.*}} : i32
  // CHECK: %[[SECOND:.*]] = arith.andi %[[WORD]], %{{.*}} : i32
  // CHECK: arith.bitcast %[[FIRST]] : i32 to f32
  // CHECK: arith.bitcast %[[SECOND]] : i32 to f32
  // CHECK-NOT: arith.extf
  // CHECK: gpu.return
  gpu.func @odd() kernel {
    %x = cute.memref.alloca() : () -> !cute.memref<bf16, rmem, align<16>, "3:1">
    %y = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "3:1">
    %v = cute.memref.load_vec(%x) : (!cute.memref<bf16, rmem, align<16>, "3:1">) -> vector<3xbf16>
    %w = arith.mulf %v, %v : vector<3xbf16>
    %f = arith.extf %w : vector<3xbf16> to vector<3xf32>
    cute.memref.store_vec(%f, %y) : vector<3xf32>, !cute.memref<f32, rmem, align<16>, "3:1">
    %p = cute.memref.alloca() : () -> !cute.memref<bf16, rmem, align<16>, "2:1">
    %q = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "2:1">
    %pair = cute.memref.load_vec(%p) : (!cute.memref<bf16, rmem, align<16>, "2:1">) -> vector<2xbf16>
    %square = arith.mulf %pair, %pair : vector<2xbf16>
    %wide = arith.extf %square : vector<2xbf16> to vector<2xf32>
    cute.memref.store_vec(%wide, %q) : vector<2xf32>, !cute.memref<f32, rmem, align<16>, "2:1">
    gpu.return
  }

  // A call whose operands are of other types than its result is left as it is.
  // CHECK-LABEL: gpu.func @other_types
  // CHECK: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"() : () -> vector<16xf32>
  // CHECK: llvm.call_intrinsic "llvm.fabs"(%{{.*}}) : (vector<16xf32>) -> vector<32xf32>
  gpu.func @other_types() kernel {
    %x = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "16:1">
    %v = cute.memref.load_vec(%x) : (!cute.memref<f32, rmem, align<16>, "16:1">) -> vector<16xf32>
    %r = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"() : () -> vector<16xf32>
    %s = llvm.call_intrinsic "llvm.fabs"(%v) : (vector<16xf32>) -> vector<32xf32>
    gpu.return
  }

  // An operation that is not known to take lane by lane gets the whole.
  // CHECK-LABEL: gpu.func @other
  // CHECK-COUNT-2: llvm.intr.vector.insert
  // CHECK: llvm.call_intrinsic "llvm.vector.reverse"
  gpu.func @other() kernel {
    %x = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "16:1">
    %v = cute.memref.load_vec(%x) : (!cute.memref<f32, rmem, align<16>, "16:1">) -> vector<16xf32>
    %r = llvm.call_intrinsic "llvm.vector.reverse"(%v) : (vector<16xf32>) -> vector<16xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @whole
  // CHECK-COUNT-2: llvm.intr.vector.insert
  // CHECK: vector.reduction
  gpu.func @whole(%out: !cute.ptr<f32, gmem, align<16>>) kernel {
    %x = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "16:1">
    %v = cute.memref.load_vec(%x) : (!cute.memref<f32, rmem, align<16>, "16:1">) -> vector<16xf32>
    %sum = vector.reduction <add>, %v : vector<16xf32> into f32
    %one = cute.static : !cute.layout<"1:0">
    %o = cute.make_view(%out, %one) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"1:0">) -> !cute.memref<f32, gmem, align<16>, "1:0">
    %zero = cute.static : !cute.coord<"0">
    cute.memref.store(%sum, %o, %zero) : f32, !cute.memref<f32, gmem, align<16>, "1:0">, !cute.coord<"0">
    gpu.return
  }
}

// Elements of 16 bits that lie in pieces become one vector by shuffles, and go back the same way; what is made of a
// number is the same vector in every part.
// CHECK-LABEL: gpu.func @pieces
gpu.module @joined {
  gpu.func @pieces(%s: bf16) kernel {
    // CHECK: %[[SAME:.*]] = vector.broadcast %{{.*}} : bf16 to vector<8xbf16>
    // CHECK-NOT: vector.broadcast
    // CHECK: llvm.shufflevector %{{.*}}, %{{.*}} [0, 1, 2, 3] : vector<2xbf16>
    // CHECK: llvm.shufflevector %{{.*}}, %{{.*}} [0, 1, 2, 3, 4, 5, 6, 7] : vector<4xbf16>
    // CHECK: %[[A:.*]] = arith.addf %{{.*}}, %[[SAME]] : vector<8xbf16>
    // CHECK: %[[B:.*]] = arith.addf %{{.*}}, %[[SAME]] : vector<8xbf16>
    // CHECK-DAG: llvm.shufflevector %[[A]], %[[A]] [0, 1] : vector<8xbf16>
    // CHECK-DAG: llvm.shufflevector %[[A]], %[[A]] [6, 7] : vector<8xbf16>
    // CHECK-DAG: llvm.shufflevector %[[B]], %[[B]] [4, 5] : vector<8xbf16>
    // CHECK-NOT: insertelement
    // CHECK: gpu.return
    %x = cute.memref.alloca() : () -> !cute.memref<bf16, rmem, align<16>, "(2,8):(1,4)">
    %v = cute.memref.load_vec(%x) : (!cute.memref<bf16, rmem, align<16>, "(2,8):(1,4)">) -> vector<16xbf16>
    %same = vector.broadcast %s : bf16 to vector<16xbf16>
    %sum = arith.addf %v, %same : vector<16xbf16>
    cute.memref.store_vec(%sum, %x) : vector<16xbf16>, !cute.memref<bf16, rmem, align<16>, "(2,8):(1,4)">
    gpu.return
  }
}

// What numbers are computed of stands in front of what takes them, so that one part is done before the next is begun.
// CHECK-LABEL: gpu.func @numbers
gpu.module @chained {
  gpu.func @numbers(%n: f32) kernel {
    // CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
    // CHECK: llvm.load
    // CHECK-COUNT-8: arith.mulf
    // CHECK-NOT: arith.mulf
    // CHECK: arith.addf %{{.*}}, %[[SUM]] : f32
    // CHECK-COUNT-7: arith.addf
    // CHECK-NOT: arith.addf
    // CHECK-COUNT-8: arith.mulf
    // CHECK-NOT: arith.mulf
    // CHECK-COUNT-8: arith.addf
    // CHECK: gpu.return
    %x = cute.memref.alloca() : () -> !cute.memref<f32, rmem, align<16>, "16:1">
    %v = cute.memref.load_vec(%x) : (!cute.memref<f32, rmem, align<16>, "16:1">) -> vector<16xf32>
    %two = arith.constant 2.0 : f32
    %factors = vector.broadcast %two : f32 to vector<16xf32>
    %products = arith.mulf %v, %factors : vector<16xf32>
    %twice = arith.addf %n, %n : f32
    %others = vector.broadcast %twice : f32 to vector<16xf32>
    %sums = arith.addf %products, %others : vector<16xf32>
    cute.memref.store_vec(%sums, %x) : vector<16xf32>, !cute.memref<f32, rmem, align<16>, "16:1">
    gpu.return
  }
}

// LLVM has no vectors of floats of 8 bits and less: nothing is taken out of them, or put in.
// CHECK-LABEL: gpu.func @narrow_floats
gpu.module @foreign {
  gpu.func @narrow_floats(%x: vector<3xf8E4M3FN>, %y: vector<2xf4E2M1FN>, %z: vector<3xf32>) -> (vector<3xf32>, vector<2xf16>, vector<3xf8E5M2>) {
    // CHECK-NEXT: arith.extf %{{.*}} : vector<3xf8E4M3FN> to vector<3xf32>
    // CHECK-NEXT: arith.extf %{{.*}} : vector<2xf4E2M1FN> to vector<2xf16>
    // CHECK-NEXT: arith.truncf %{{.*}} : vector<3xf32> to vector<3xf8E5M2>
    // CHECK-NEXT: gpu.return
    %0 = arith.extf %x : vector<3xf8E4M3FN> to vector<3xf32>
    %1 = arith.extf %y : vector<2xf4E2M1FN> to vector<2xf16>
    %2 = arith.truncf %z : vector<3xf32> to vector<3xf8E5M2>
    gpu.return %0, %1, %2 : vector<3xf32>, vector<2xf16>, vector<3xf8E5M2>
  }
}
