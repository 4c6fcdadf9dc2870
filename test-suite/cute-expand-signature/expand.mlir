// Tensors that a kernel takes as views become addresses; the views are made of the other parameters, as the ABI says.
// RUN: %cute-opt --cute-expand-signature %s | FileCheck %s
// RUN: %cute-opt --cute-expand-signature %s | %cute-opt --cute-expand-signature | FileCheck %s

#copy = #cute.abi<"copy"
  arg x: tensor<f16, (m, n):(n, 1)> align 16
  arg y: mut tensor<f16, (m, n):(ld, 1)> align 32
  arg scale: f32
  symbol m: i32 = extent 0 of x
  symbol n: i32 = extent 1 of x div 8
  symbol ld: i64 = stride 0 of y div 8
  params (pointer x, pointer y, symbol m, symbol n, symbol ld, scalar scale)
  grid (1, 1, 1)>

// What is known to divide a number is assumed once; strides have 64 bits.
// CHECK-LABEL: gpu.func @copy(
// CHECK-SAME: %[[X:.*]]: !cute.ptr<f16, gmem, align<16>>, %[[Y:.*]]: !cute.ptr<f16, gmem, align<32>>,
// CHECK-SAME: %[[M:.*]]: i32, %[[N:.*]]: i32, %[[LD:.*]]: i64, %{{.*}}: f32) kernel
// CHECK-NEXT: %[[N8:.*]] = cute.assume(%[[N]]) : (i32) -> !cute.int_tuple<"?{div=8}">
// CHECK-NEXT: %[[LD8:.*]] = cute.assume(%[[LD]]) : (i64) -> !cute.int_tuple<"?{i64 div=8}">
// CHECK-NEXT: %[[WIDE:.*]] = arith.extsi %[[N]] : i32 to i64
// CHECK-NEXT: %[[WIDE8:.*]] = cute.assume(%[[WIDE]]) : (i64) -> !cute.int_tuple<"?{i64 div=8}">
// CHECK-NEXT: %[[SHAPE:.*]] = cute.make_shape(%[[M]], %[[N8]])
// CHECK-NEXT: %[[STRIDE:.*]] = cute.make_stride(%[[WIDE8]])
// CHECK-NEXT: %[[LAYOUT:.*]] = cute.make_layout(%[[SHAPE]], %[[STRIDE]])
// CHECK-NEXT: %[[VIEW:.*]] = cute.make_view(%[[X]], %[[LAYOUT]]) {{.*}} -> !cute.memref<f16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">
// CHECK-NEXT: %[[SHAPE:.*]] = cute.make_shape(%[[M]], %[[N8]])
// CHECK-NEXT: %[[STRIDE:.*]] = cute.make_stride(%[[LD8]])
// CHECK-NEXT: %[[LAYOUT:.*]] = cute.make_layout(%[[SHAPE]], %[[STRIDE]])
// CHECK-NEXT: cute.make_view(%[[Y]], %[[LAYOUT]])
// CHECK-NEXT: cute.print(%[[VIEW]])
gpu.module @kernels {
  gpu.func @copy(%x: !cute.memref<f16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">,
      %y: !cute.memref<f16, gmem, align<32>, "(?,?{div=8}):(?{i64 div=8},1)">, %m: i32, %n: i32, %ld: i64, %scale: f32)
      kernel attributes {cute.abi = #copy} {
    cute.print(%x) : !cute.memref<f16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">
    gpu.return
  }
}

#computed = #cute.abi<"computed"
  arg x: tensor<f32, (rows, m * 2, ceil_div(m, 4)):(m * 2 * ceil_div(m, 4), ceil_div(m, 4), 1)> align 16
  arg z: tensor<f32, (max(m - 1, 1) % 3):(1)> align 4
  arg rows: i16
  symbol m: i32 = extent 0 of z div 4
  symbol rows: i32 = scalar rows
  params (pointer x, pointer z, symbol m, scalar rows)
  grid (1, 1, 1)>

// Extents are computed in 32 bits, strides in 64; each part once for a tensor.
// CHECK-LABEL: gpu.func @computed(
// CHECK-SAME: %[[X:.*]]: !cute.ptr<f32, gmem, align<16>>, %[[Z:.*]]: !cute.ptr<f32, gmem, align<4>>, %[[M:.*]]: i32, %[[ROWS:.*]]: i16)
// CHECK: %[[R:.*]] = arith.extsi %[[ROWS]] : i16 to i32
// CHECK: %[[TWICE:.*]] = arith.muli %[[M]], %{{.*}} : i32
// CHECK: %[[FOURTH:.*]] = arith.ceildivsi %[[M]], %{{.*}} : i32
// CHECK: %[[WIDE:.*]] = arith.extsi %[[M]] : i32 to i64
// CHECK: %[[INNER:.*]] = arith.ceildivsi %[[WIDE]], %{{.*}} : i64
// CHECK: %[[DOUBLE:.*]] = arith.muli %[[WIDE]], %{{.*}} : i64
// CHECK: %[[OUTER:.*]] = arith.muli %[[DOUBLE]], %[[INNER]] : i64
// CHECK: %[[TWICE8:.*]] = cute.assume(%[[TWICE]]) : (i32) -> !cute.int_tuple<"?{div=8}">
// CHECK: %[[OUTER8:.*]] = cute.assume(%[[OUTER]]) : (i64) -> !cute.int_tuple<"?{i64 div=8}">
// CHECK: cute.make_shape(%[[R]], %[[TWICE8]], %[[FOURTH]])
// CHECK: cute.make_stride(%[[OUTER8]], %[[INNER]])
// CHECK: arith.subi
// CHECK: arith.maxsi
// CHECK: arith.remsi
gpu.module @others {
  gpu.func @computed(%x: !cute.memref<f32, gmem, align<16>, "(?,?{div=8},?):(?{i64 div=8},?{i64},1)">,
      %z: !cute.memref<f32, gmem, align<4>, "?:1">, %m: i32, %rows: i16) kernel attributes {cute.abi = #computed} {
    cute.print(%x) : !cute.memref<f32, gmem, align<16>, "(?,?{div=8},?):(?{i64 div=8},?{i64},1)">
    gpu.return
  }

  // Without ABI nothing says what to make a view of.
  // CHECK-LABEL: gpu.func @without_abi(%{{.*}}: !cute.memref<f32, gmem, align<4>, "?:1">)
  gpu.func @without_abi(%x: !cute.memref<f32, gmem, align<4>, "?:1">) kernel {
    gpu.return
  }

  // CHECK-LABEL: gpu.func @address(%{{.*}}: !cute.ptr<f32, gmem, align<4>>, %{{.*}}: i32) kernel
  // CHECK-NEXT: gpu.return
  gpu.func @address(%x: !cute.ptr<f32, gmem, align<4>>, %m: i32) kernel
      attributes {cute.abi = #cute.abi<"address" arg x: tensor<f32, (m):(1)> align 4 symbol m: i32 = extent 0 of x
      params (pointer x, symbol m) grid (1, 1, 1)>} {
    gpu.return
  }

  // A kernel may take some tensors as views, others as addresses.
  // CHECK-LABEL: gpu.func @both(%{{.*}}: !cute.ptr<f32, gmem, align<4>>, %{{.*}}: !cute.ptr<f32, gmem, align<4>>)
  // CHECK: cute.make_shape() : () -> !cute.shape<"(4,8)">
  // CHECK: cute.make_view
  // CHECK-NOT: cute.make_view
  gpu.func @both(%x: !cute.ptr<f32, gmem, align<4>>, %y: !cute.memref<f32, gmem, align<4>, "(4,8):(8,1)">) kernel
      attributes {cute.abi = #cute.abi<"both" arg x: tensor<f32, (4):(1)> align 4 arg y: tensor<f32, (4, 8):(8, 1)> align 4
      params (pointer x, pointer y) grid (1, 1, 1)>} {
    gpu.return
  }
}
