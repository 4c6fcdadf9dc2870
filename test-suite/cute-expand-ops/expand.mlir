// The algebra becomes arithmetic on the run-time integers of its operands, and constructors.
// RUN: %cute-opt --cute-expand-ops --split-input-file %s | FileCheck %s

// What a type says needs no code.
// CHECK-LABEL: func.func @known
// CHECK-NEXT: %[[SIZE:.*]] = cute.static : !cute.int_tuple<"96">
// CHECK-NEXT: return %[[SIZE]]
func.func @known(%x: !cute.layout<"(8,12):(?,1)">) -> !cute.int_tuple<"96"> {
  %0 = cute.size(%x) : (!cute.layout<"(8,12):(?,1)">) -> !cute.int_tuple<"96">
  return %0 : !cute.int_tuple<"96">
}

// -----

// Of an argument nothing is known but its type: its integers are read, each once.
// CHECK-LABEL: func.func @argument
// CHECK-SAME: (%[[X:.*]]: !cute.layout<"(?,12):(?,1)">)
// CHECK-NEXT: %[[N:.*]]:2 = cute.get_scalars<{only_dynamic}> (%[[X]])
// CHECK-NEXT: %[[TWELVE:.*]] = arith.constant 12 : i32
// CHECK-NEXT: %[[COUNT:.*]] = arith.muli %[[N]]#0, %[[TWELVE]] overflow<nsw> : i32
// CHECK-NEXT: %[[DIVIDES:.*]] = cute.assume(%[[COUNT]]) : (i32) -> !cute.int_tuple<"?{div=12}">
// CHECK-NEXT: %[[SIZE:.*]] = cute.make_int_tuple(%[[DIVIDES]])
// CHECK-NEXT: %[[STRIDE:.*]] = cute.make_stride(%[[N]]#1) : (i32) -> !cute.stride<"(?,1)">
// CHECK-NEXT: return %[[SIZE]], %[[STRIDE]]
func.func @argument(%x: !cute.layout<"(?,12):(?,1)">) -> (!cute.int_tuple<"?{div=12}">, !cute.stride<"(?,1)">) {
  %0 = cute.size(%x) : (!cute.layout<"(?,12):(?,1)">) -> !cute.int_tuple<"?{div=12}">
  %1 = cute.get_stride(%x) : !cute.layout<"(?,12):(?,1)"> -> !cute.stride<"(?,1)">
  return %0, %1 : !cute.int_tuple<"?{div=12}">, !cute.stride<"(?,1)">
}

// -----

// What a constructor was given needs no reading, and what one operation computes the next one uses.
// CHECK-LABEL: func.func @chain
// CHECK-SAME: (%[[M:.*]]: i32, %[[N:.*]]: i32)
// CHECK-NEXT: %[[MN:.*]] = arith.muli
// CHECK-NEXT: %[[R:.*]] = cute.make_int_tuple(%[[MN]])
// CHECK-NEXT: return %[[R]]
func.func @chain(%m: i32, %n: i32) -> !cute.int_tuple<"?"> {
  %shape = cute.make_shape(%m, %n) : (i32, i32) -> !cute.shape<"(?,?)">
  %x = cute.make_layout(%shape) : (!cute.shape<"(?,?)">) -> !cute.layout<"(?,?):(1,?)">
  %0 = cute.size(%x) : (!cute.layout<"(?,?):(1,?)">) -> !cute.int_tuple<"?">
  %1 = cute.tuple_product(%0) : (!cute.int_tuple<"?">) -> !cute.int_tuple<"?">
  return %1 : !cute.int_tuple<"?">
}

// -----

// Arithmetic first, leaf by leaf; then shape, stride and layout.
// CHECK-LABEL: func.func @divide
// CHECK: %[[N:.*]]:2 = cute.get_scalars<{only_dynamic}>
// CHECK-NEXT: %[[FOUR:.*]] = arith.constant 4 : i32
// CHECK-NEXT: %[[TILES:.*]] = arith.ceildivsi %[[N]]#0, %[[FOUR]] : i32
// CHECK-NEXT: %[[STEP:.*]] = arith.muli %[[N]]#1, %[[FOUR]] overflow<nsw> : i32
// CHECK-NEXT: %[[SHAPE:.*]] = cute.make_shape(%[[TILES]]) : (i32) -> !cute.shape<"(4,?)">
// CHECK-NEXT: %[[BY:.*]] = cute.assume(%[[STEP]]) : (i32) -> !cute.int_tuple<"?{div=4}">
// CHECK-NEXT: %[[STRIDE:.*]] = cute.make_stride(%[[N]]#1, %[[BY]])
// CHECK-NEXT: cute.make_layout(%[[SHAPE]], %[[STRIDE]])
func.func @divide(%x: !cute.layout<"?:?">) -> !cute.layout<"(4,?):(?,?{div=4})"> {
  %by = cute.static : !cute.layout<"4:1">
  %0 = cute.logical_divide(%x, %by) : (!cute.layout<"?:?">, !cute.layout<"4:1">) -> !cute.layout<"(4,?):(?,?{div=4})">
  return %0 : !cute.layout<"(4,?):(?,?{div=4})">
}

// -----

// What the algebra needs and cannot prove is checked at run time, without dividing by zero.
// CHECK-LABEL: func.func @checked
// CHECK: %[[N:.*]] = cute.get_scalars<{only_dynamic}>
// CHECK: %[[REST:.*]] = arith.remsi %[[N]], %c4_i32
// CHECK: %[[MULTIPLE:.*]] = arith.cmpi eq, %[[REST]], %c0_i32
// CHECK: %[[SAFE:.*]] = arith.maxsi %[[N]], %c1_i32
// CHECK: %[[REST:.*]] = arith.remsi %c4_i32, %[[SAFE]]
// CHECK: %[[DIVISOR:.*]] = arith.cmpi eq, %[[REST]], %c0_i32
// CHECK: %[[HOLDS:.*]] = arith.ori %[[MULTIPLE]], %[[DIVISOR]]
// CHECK: cf.assert %[[HOLDS]], "shape_div needs ? % 4 == 0 or 4 % ? == 0"
func.func @checked(%x: !cute.shape<"?">) -> !cute.shape<"?"> {
  %by = cute.static : !cute.shape<"4">
  %0 = cute.shape_div(%x, %by) : (!cute.shape<"?">, !cute.shape<"4">) -> !cute.shape<"?">
  return %0 : !cute.shape<"?">
}

// -----

// Where a promise decides it, nothing is checked, and the division is exact.
// CHECK-LABEL: func.func @promised
// CHECK-NOT: cf.assert
// CHECK: arith.divsi
// CHECK-NOT: cf.assert
// CHECK: return
func.func @promised(%n: i32) -> !cute.shape<"?"> {
  %multiple = cute.assume(%n) : (i32) -> !cute.int_tuple<"?{div=8}">
  %x = cute.make_shape(%multiple) : (!cute.int_tuple<"?{div=8}">) -> !cute.shape<"?">
  %by = cute.static : !cute.shape<"4">
  %0 = cute.shape_div(%x, %by) : (!cute.shape<"?">, !cute.shape<"4">) -> !cute.shape<"?">
  return %0 : !cute.shape<"?">
}

// -----

// A block reuses what the blocks around it compute, not what one beside it does.
// CHECK-LABEL: func.func @blocks
// CHECK: scf.if
// CHECK: arith.muli
// CHECK: else
// CHECK: arith.muli
func.func @blocks(%c: i1, %x: !cute.shape<"(?,?)">) -> !cute.int_tuple<"?"> {
  %r = scf.if %c -> !cute.int_tuple<"?"> {
    %0 = cute.size(%x) : (!cute.shape<"(?,?)">) -> !cute.int_tuple<"?">
    scf.yield %0 : !cute.int_tuple<"?">
  } else {
    %0 = cute.size(%x) : (!cute.shape<"(?,?)">) -> !cute.int_tuple<"?">
    scf.yield %0 : !cute.int_tuple<"?">
  }
  return %r : !cute.int_tuple<"?">
}

// -----

// Comparisons go leaf by leaf; the narrower integer is widened.
// CHECK-LABEL: func.func @compare
// CHECK: %[[A:.*]]:2 = cute.get_scalars (%{{.*}}) : !cute.int_tuple<"(?{i64},3)">
// CHECK: %[[B:.*]]:2 = cute.get_scalars (%{{.*}}) : !cute.int_tuple<"(?,?)">
// CHECK: %[[WIDE:.*]] = arith.extsi %[[B]]#0 : i32 to i64
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[A]]#0, %[[WIDE]] : i64
// CHECK: %[[SECOND:.*]] = arith.cmpi eq, %[[A]]#1, %[[B]]#1 : i32
// CHECK: %[[BOTH:.*]] = arith.andi %[[FIRST]], %[[SECOND]] : i1
// CHECK: %[[NO:.*]] = arith.constant false
// CHECK: return %[[BOTH]], %[[NO]]
func.func @compare(%a: !cute.int_tuple<"(?{i64},3)">, %b: !cute.int_tuple<"(?,?)">, %c: !cute.int_tuple<"?">) -> (i1, i1) {
  %0 = cute.equal(%a, %b) : (!cute.int_tuple<"(?{i64},3)">, !cute.int_tuple<"(?,?)">) -> i1
  %1 = cute.equal(%a, %c) : (!cute.int_tuple<"(?{i64},3)">, !cute.int_tuple<"?">) -> i1
  return %0, %1 : i1, i1
}

// -----

// Differences subtract; a swizzle stays what it is around a run-time offset.
// CHECK-LABEL: func.func @composed
// CHECK: %[[OFF:.*]] = arith.addi
// CHECK: %[[INNER:.*]] = cute.static : !cute.layout<"(8):(8)">
// CHECK: %[[OFFSET:.*]] = cute.make_int_tuple(%[[OFF]])
// CHECK: %[[OUTER:.*]] = cute.static : !cute.layout<"64:1">
// CHECK: cute.make_composed_layout(%[[OUTER]], %[[OFFSET]], %[[INNER]])
func.func @composed(%x: !cute.composed_layout<"64:1 o 3 o (8,8):(1,8)">, %c: !cute.coord<"(?,_)">) -> !cute.composed_layout<"64:1 o ? o (8):(8)"> {
  %0 = cute.slice(%x, %c) : !cute.composed_layout<"64:1 o 3 o (8,8):(1,8)">, !cute.coord<"(?,_)">
  return %0 : !cute.composed_layout<"64:1 o ? o (8):(8)">
}

// -----

// Operations on memory stay; so do their operands.
// CHECK-LABEL: gpu.func @view
// CHECK: %[[X:.*]] = cute.make_layout
// CHECK: cute.make_view(%{{.*}}, %[[X]])
gpu.module @kernels {
  gpu.func @view(%p: !cute.ptr<f32, gmem, align<16>>, %n: i32) kernel {
    %shape = cute.make_shape(%n) : (i32) -> !cute.shape<"(?,4)">
    %x = cute.make_layout(%shape) : (!cute.shape<"(?,4)">) -> !cute.layout<"(?,4):(1,?)">
    %v = cute.make_view(%p, %x) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"(?,4):(1,?)">) -> !cute.memref<f32, gmem, align<16>, "(?,4):(1,?)">
    %c = cute.static : !cute.coord<"(0,0)">
    %e = cute.memref.load(%v, %c) : (!cute.memref<f32, gmem, align<16>, "(?,4):(1,?)">, !cute.coord<"(0,0)">) -> f32
    cute.memref.store(%e, %v, %c) : f32, !cute.memref<f32, gmem, align<16>, "(?,4):(1,?)">, !cute.coord<"(0,0)">
    gpu.return
  }
}
