// Numbers of integers and floats of 4 bits, two at once, and of bytes.
// RUN: %cute-opt --tile-convert-packed %s | FileCheck %s

gpu.module @kernels {
  // Two of a word that are 16 bits apart: a shift for the second pair, the lower bits of 128 + 8 + w, and that subtracted.
  // CHECK-LABEL: gpu.func @pairs
  // CHECK: %[[WORD:.*]] = vector.extract %{{.*}}[0] : i32 from vector<1xi32>
  // The mask is a register that ptxas does not know.
  // CHECK: %[[LOWER:.*]] = llvm.inline_asm {{.*}}%ctaid.z{{.*}}0x000f000f
  // CHECK: %[[FIRST:.*]] = arith.andi %[[WORD]], %[[LOWER]] : i32
  // CHECK: arith.constant 1124614920 : i32
  // CHECK: %[[X:.*]] = arith.xori %[[FIRST]],
  // CHECK: %[[SHIFTED:.*]] = arith.shrui %[[WORD]],
  // CHECK: %[[SECOND:.*]] = arith.andi %[[SHIFTED]], %[[LOWER]]
  // CHECK: %[[Y:.*]] = arith.xori %[[SECOND]],
  // CHECK: %[[ALL:.*]] = vector.from_elements %[[X]], %[[Y]]
  // CHECK: %[[NUMBERS:.*]] = vector.bitcast %[[ALL]] : vector<2xi32> to vector<4xbf16>
  // CHECK: arith.subf %[[NUMBERS]], %{{.*}} : vector<4xbf16>
  // CHECK-NOT: i4
  // CHECK: gpu.return
  gpu.func @pairs(%words: vector<1xi32>) -> vector<4xbf16> {
    %0 = vector.bitcast %words : vector<1xi32> to vector<8xi4>
    %1 = vector.shuffle %0, %0 [0, 4, 1, 5] : vector<8xi4>, vector<8xi4>
    %2 = arith.sitofp %1 : vector<4xi4> to vector<4xbf16>
    gpu.return %2 : vector<4xbf16>
  }

  // Of two e2m1 that are 16 bits apart the signs and the rest, each at its place in bf16, times 2 to the 126.
  // CHECK-LABEL: gpu.func @floats
  // CHECK: %[[WORD:.*]] = vector.extract %{{.*}}[0] : i32 from vector<1xi32>
  // CHECK: %[[SIGNS:.*]] = llvm.inline_asm {{.*}}%ctaid.z{{.*}}0x80008000
  // CHECK: %[[UP:.*]] = arith.shli %[[WORD]]
  // CHECK: %[[SIGN:.*]] = arith.andi %[[UP]], %[[SIGNS]]
  // CHECK: %[[REST_UP:.*]] = arith.shli %[[WORD]]
  // CHECK: arith.constant 29360576 : i32
  // CHECK: %[[REST:.*]] = arith.andi %[[REST_UP]],
  // CHECK: arith.ori %[[SIGN]], %[[REST]]
  // CHECK: arith.constant 2122350208 : i32
  // CHECK: arith.mulf %{{.*}} : vector<2xbf16>
  // CHECK-NOT: f4E2M1FN
  // CHECK: gpu.return
  gpu.func @floats(%words: vector<1xi32>) -> vector<2xbf16> {
    %0 = vector.bitcast %words : vector<1xi32> to vector<8xf4E2M1FN>
    %1 = vector.shuffle %0, %0 [0, 4] : vector<8xf4E2M1FN>, vector<8xf4E2M1FN>
    %2 = arith.extf %1 : vector<2xf4E2M1FN> to vector<2xbf16>
    gpu.return %2 : vector<2xbf16>
  }

  // Neighbours of a byte are brought 16 bits apart first. Without a sign nothing is turned around.
  // CHECK-LABEL: gpu.func @neighbours
  // CHECK: arith.ori
  // CHECK: arith.constant 1677747200 : i32
  // CHECK: vector.bitcast %{{.*}} : vector<1xi32> to vector<2xf16>
  // CHECK-NOT: i4
  // CHECK: gpu.return
  gpu.func @neighbours(%bytes: vector<1xi8>) -> vector<2xf16> {
    %0 = vector.bitcast %bytes : vector<1xi8> to vector<2xi4>
    %1 = vector.shuffle %0, %0 [0, 1] : vector<2xi4>, vector<2xi4>
    %2 = arith.uitofp %1 : vector<2xi4> to vector<2xf16>
    gpu.return %2 : vector<2xf16>
  }

  // Integers: up to the sign, and down again.
  // CHECK-LABEL: gpu.func @integers
  // CHECK: arith.shli
  // CHECK: arith.shrsi
  // CHECK-NOT: i4
  // CHECK: gpu.return
  gpu.func @integers(%words: vector<1xi32>) -> vector<2xi32> {
    %0 = vector.bitcast %words : vector<1xi32> to vector<8xi4>
    %1 = vector.shuffle %0, %0 [0, 4] : vector<8xi4>, vector<8xi4>
    %2 = arith.extsi %1 : vector<2xi4> to vector<2xi32>
    gpu.return %2 : vector<2xi32>
  }

  // Bytes: seven bits in the mantissa, and the sign in what is subtracted. Those in their order are taken by fours.
  // CHECK-LABEL: gpu.func @bytes
  // CHECK: llvm.inline_asm {{.*}}"prmt.b32 $0, $1, $2, 0x4240;"
  // CHECK: arith.andi
  // CHECK: arith.andi
  // CHECK: arith.subf
  // CHECK: vector.bitcast %{{.*}} : vector<4xi8> to vector<1xi32>
  // CHECK: llvm.inline_asm {{.*}}"prmt.b32 $0, $1, $2, 0x4140;"
  // CHECK: llvm.inline_asm {{.*}}"prmt.b32 $0, $1, $2, 0x4342;"
  // CHECK-NOT: sitofp
  gpu.func @bytes(%words: vector<1xi32>, %plain: vector<4xi8>) -> (vector<2xbf16>, vector<4xbf16>) {
    %0 = vector.bitcast %words : vector<1xi32> to vector<4xi8>
    %1 = vector.shuffle %0, %0 [0, 2] : vector<4xi8>, vector<4xi8>
    %2 = arith.sitofp %1 : vector<2xi8> to vector<2xbf16>
    %3 = arith.sitofp %plain : vector<4xi8> to vector<4xbf16>
    gpu.return %2, %3 : vector<2xbf16>, vector<4xbf16>
  }

  // Without a sign what is subtracted is 256 less the power with the eighth bit. Words that come by twos stay so.
  // CHECK-LABEL: gpu.func @unsigned
  // CHECK: vector.extract %{{.*}}[0] : i16 from vector<2xi16>
  // CHECK: arith.constant dense<2.560000e+02> : vector<4xbf16>
  // CHECK: %[[MORE:.*]] = arith.subf
  // CHECK: arith.subf %{{.*}}, %[[MORE]]
  // CHECK-NOT: uitofp
  gpu.func @unsigned(%words: vector<2xi16>) -> vector<4xbf16> {
    %0 = vector.bitcast %words : vector<2xi16> to vector<4xi8>
    %1 = arith.uitofp %0 : vector<4xi8> to vector<4xbf16>
    gpu.return %1 : vector<4xbf16>
  }

  // f32 takes a byte on top of 2²³, one instruction each.
  // CHECK-LABEL: gpu.func @wide
  // CHECK: llvm.inline_asm {{.*}}0x4b000000
  // CHECK: arith.xori
  // CHECK: llvm.inline_asm {{.*}}"prmt.b32 $0, $1, $2, 0x7440;"
  // CHECK: llvm.inline_asm {{.*}}"prmt.b32 $0, $1, $2, 0x7441;"
  // An odd number of them is left to convert-bytes, 16 bits by themselves.
  // CHECK: arith.sitofp %{{.*}} : vector<3xi8> to vector<3xbf16>
  gpu.func @wide(%bytes: vector<2xi8>, %odd: vector<3xi8>) -> (vector<2xf32>, vector<3xbf16>) {
    %0 = arith.sitofp %bytes : vector<2xi8> to vector<2xf32>
    %1 = arith.sitofp %odd : vector<3xi8> to vector<3xbf16>
    gpu.return %0, %1 : vector<2xf32>, vector<3xbf16>
  }

  // By way of f32, which has each of them: at once.
  // CHECK-LABEL: gpu.func @by_way_of_f32
  // CHECK-NOT: f32>
  // CHECK: llvm.inline_asm {{.*}}"prmt.b32 $0, $1, $2, 0x4140;"
  // CHECK-NOT: f32>
  // CHECK: gpu.return
  gpu.func @by_way_of_f32(%bytes: vector<4xi8>) -> vector<4xf16> {
    %0 = arith.uitofp %bytes : vector<4xi8> to vector<4xf32>
    %1 = arith.truncf %0 : vector<4xf32> to vector<4xf16>
    gpu.return %1 : vector<4xf16>
  }
}
