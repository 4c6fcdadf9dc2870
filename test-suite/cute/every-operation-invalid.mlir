// Operations that make no sense say what they expect and what they got: those that no other file of errors has.
// RUN: %cute-opt --split-input-file --verify-diagnostics %s

func.func @make_int_tuple(%a: i32) {
  // expected-error@+1 {{'cute.make_int_tuple' op more operands than dynamic leaves in the result type}}
  %r = cute.make_int_tuple(%a) : (i32) -> !cute.int_tuple<"(4,5)">
  return
}

// -----

func.func @make_stride(%a: i32) {
  // expected-error@+1 {{'cute.make_stride' op fewer operands than dynamic leaves in the result type}}
  %r = cute.make_stride(%a) : (i32) -> !cute.stride<"(?,?)">
  return
}

// -----

func.func @make_coord(%a: i32) {
  // expected-error@+1 {{'cute.make_coord' op fewer operands than dynamic leaves in the result type}}
  %r = cute.make_coord(%a) : (i32) -> !cute.coord<"(?,?)">
  return
}

// -----

func.func @make_layout(%a: !cute.shape<"(4,8)">, %b: !cute.stride<"(1,2,3)">) {
  // expected-error@+2 {{make_layout: (1,2,3) does not have the profile of (4,8)}}
  // expected-error@+1 {{'cute.make_layout' op failed to infer returned types}}
  %r = cute.make_layout(%a, %b) : (!cute.shape<"(4,8)">, !cute.stride<"(1,2,3)">) -> !cute.layout<"1:0">
  return
}

// -----

func.func @make_composed_layout(%a: !cute.int_tuple<"(4,?)">, %b: !cute.int_tuple<"0">, %c: !cute.layout<"(6,10):(10,1)">) {
  // expected-error@+2 {{expects operand #0 to be !cute.layout or !cute.swizzle, but got `!cute.int_tuple<"(4,?)">`}}
  // expected-error@+1 {{'cute.make_composed_layout' op failed to infer returned types}}
  %r = cute.make_composed_layout(%a, %b, %c) : (!cute.int_tuple<"(4,?)">, !cute.int_tuple<"0">, !cute.layout<"(6,10):(10,1)">) -> !cute.composed_layout<"S<2,3,3> o 8 o (16,4):(4,1)">
  return
}

// -----

func.func @make_layout_like(%a: !cute.shape<"(12,7)">) {
  // expected-error@+2 {{expects operand #0 to be !cute.layout or !cute.composed_layout or a view, but got `!cute.shape<"(12,7)">`}}
  // expected-error@+1 {{'cute.make_layout_like' op failed to infer returned types}}
  %r = cute.make_layout_like(%a) : !cute.shape<"(12,7)"> -> !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @make_ordered_layout(%a: !cute.shape<"(12,7)">, %b: !cute.int_tuple<"(0,1,2)">) {
  // expected-error@+2 {{product_like: expected rank 3, found rank 2 in (12,7)}}
  // expected-error@+1 {{'cute.make_ordered_layout' op failed to infer returned types}}
  %r = cute.make_ordered_layout(%a, %b) : (!cute.shape<"(12,7)">, !cute.int_tuple<"(0,1,2)">) -> !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @make_identity_layout(%a: !cute.layout<"(6,10):(10,1)">) {
  // expected-error@+2 {{expects operand #0 to be !cute.shape, but got `!cute.layout<"(6,10):(10,1)">`}}
  // expected-error@+1 {{'cute.make_identity_layout' op failed to infer returned types}}
  %r = cute.make_identity_layout(%a) : !cute.layout<"(6,10):(10,1)"> -> !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @make_identity_tensor(%a: !cute.layout<"(6,10):(10,1)">) {
  // expected-error@+1 {{'cute.make_identity_tensor' op expects an integer or a tuple of integers, but got `!cute.layout<"(6,10):(10,1)">`}}
  %r = cute.make_identity_tensor(%a) : (!cute.layout<"(6,10):(10,1)">) -> !cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">
  return
}

// -----

func.func @assume(%a: !cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">) {
  // expected-error@+1 {{'cute.assume' op expects an integer tuple or a pointer as result}}
  %r = cute.assume(%a) : (!cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">) -> i32
  return
}

// -----

func.func @get_stride(%a: !cute.layout<"(6,10):(10,1)">) {
  // expected-error@+2 {{'cute.get_stride' op inferred type(s) '!cute.stride<"(10,1)">' are incompatible with return type(s) of operation '!cute.stride<"(10,2)">'}}
  // expected-error@+1 {{'cute.get_stride' op failed to infer returned types}}
  %r = cute.get_stride(%a) : !cute.layout<"(6,10):(10,1)"> -> !cute.stride<"(10,2)">
  return
}

// -----

func.func @composed_get_inner(%a: !cute.composed_layout<"S<2,3,3> o 8 o (16,4):(4,1)">) {
  // expected-error@+2 {{'cute.composed_get_inner' op inferred type(s) '!cute.swizzle<"S<2,3,3>">' are incompatible with return type(s) of operation '!cute.swizzle<"S<3,3,3>">'}}
  // expected-error@+1 {{'cute.composed_get_inner' op failed to infer returned types}}
  %r = cute.composed_get_inner(%a) : <"S<2,3,3> o 8 o (16,4):(4,1)"> -> !cute.swizzle<"S<3,3,3>">
  return
}

// -----

func.func @composed_get_offset(%a: !cute.composed_layout<"S<2,3,3> o 8 o (16,4):(4,1)">) {
  // expected-error@+2 {{'cute.composed_get_offset' op inferred type(s) '!cute.int_tuple<"8">' are incompatible with return type(s) of operation '!cute.int_tuple<"9">'}}
  // expected-error@+1 {{'cute.composed_get_offset' op failed to infer returned types}}
  %r = cute.composed_get_offset(%a) : <"S<2,3,3> o 8 o (16,4):(4,1)"> -> !cute.int_tuple<"9">
  return
}

// -----

func.func @composed_get_outer(%a: !cute.composed_layout<"S<2,3,3> o 8 o (16,4):(4,1)">) {
  // expected-error@+2 {{'cute.composed_get_outer' op inferred type(s) '!cute.layout<"(16,4):(4,1)">' are incompatible with return type(s) of operation '!cute.layout<"(16,4):(4,2)">'}}
  // expected-error@+1 {{'cute.composed_get_outer' op failed to infer returned types}}
  %r = cute.composed_get_outer(%a) : <"S<2,3,3> o 8 o (16,4):(4,1)"> -> <"(16,4):(4,2)">
  return
}

// -----

func.func @get_leaves(%a: !cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">) {
  // expected-error@+1 {{expects operand #0 to be !cute.int_tuple or !cute.coord or !cute.shape or !cute.stride or !cute.tile, but got `!cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">`}}
  %r = cute.get_leaves(%a) : !cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">
  return
}

// -----

func.func @get_scalars(%a: !cute.layout<"(?,6):(6,?)">) {
  // expected-error@+1 {{operation defines 4 results but was provided 3 to bind}}
  %r:3 = cute.get_scalars(%a) : !cute.layout<"(?,6):(6,?)">
  return
}

// -----

func.func @get_layouts_from_tile(%a: !cute.tile<"[6:1;4:1]">) {
  // expected-error@+1 {{operation defines 2 results but was provided 1 to bind}}
  %r = cute.get_layouts_from_tile(%a) : <"[6:1;4:1]">
  return
}

// -----

func.func @get_iter(%a: !cute.layout<"(6,10):(10,1)">) {
  // expected-error@+1 {{'cute.get_iter' op cute.get_iter does not take (`!cute.layout<"(6,10):(10,1)">`)}}
  %r = cute.get_iter(%a) : (!cute.layout<"(6,10):(10,1)">) -> !cute.ptr<f32, gmem, align<16>>
  return
}

// -----

func.func @select(%a: !cute.layout<"(6,10):(10,1)">) {
  // expected-error@+2 {{select: there is no mode 2 in (6,10):(10,1); expected modes 0 to 1}}
  // expected-error@+1 {{'cute.select' op failed to infer returned types}}
  %r = cute.select<[0, 2]>(%a) : !cute.layout<"(6,10):(10,1)"> -> !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @to_int_tuple(%a: !cute.stride<"(1@0,1@1)">) {
  // expected-error@+2 {{expects integers, not scaled bases}}
  // expected-error@+1 {{'cute.to_int_tuple' op failed to infer returned types}}
  %r = cute.to_int_tuple(%a) : !cute.stride<"(1@0,1@1)"> -> !cute.int_tuple<"(1,1)">
  return
}

// -----

func.func @to_shape(%a: !cute.coord<"(11,2)">) {
  // expected-error@+2 {{expects operand #0 to be !cute.int_tuple, but got `!cute.coord<"(11,2)">`}}
  // expected-error@+1 {{'cute.to_shape' op failed to infer returned types}}
  %r = cute.to_shape(%a) : !cute.coord<"(11,2)"> -> !cute.shape<"(12,7)">
  return
}

// -----

func.func @to_stride(%a: !cute.coord<"(11,2)">) {
  // expected-error@+2 {{expects operand #0 to be !cute.int_tuple, but got `!cute.coord<"(11,2)">`}}
  // expected-error@+1 {{'cute.to_stride' op failed to infer returned types}}
  %r = cute.to_stride(%a) : !cute.coord<"(11,2)"> -> !cute.stride<"(11,2)">
  return
}

// -----

func.func @to_coord(%a: !cute.shape<"(12,7)">) {
  // expected-error@+2 {{expects operand #0 to be !cute.int_tuple, but got `!cute.shape<"(12,7)">`}}
  // expected-error@+1 {{'cute.to_coord' op failed to infer returned types}}
  %r = cute.to_coord(%a) : !cute.shape<"(12,7)"> -> !cute.coord<"(11,2)">
  return
}

// -----

func.func @get_scalar(%a: !cute.int_tuple<"(4,?)">) {
  // expected-error@+1 {{'cute.get_scalar' op expects a single integer, but got `!cute.int_tuple<"(4,?)">`}}
  %r = cute.get_scalar(%a) : (!cute.int_tuple<"(4,?)">) -> i32
  return
}

// -----

func.func @cosize(%a: !cute.shape<"(12,7)">) {
  // expected-error@+2 {{expects operand #0 to be !cute.layout or !cute.composed_layout, but got `!cute.shape<"(12,7)">`}}
  // expected-error@+1 {{'cute.cosize' op failed to infer returned types}}
  %r = cute.cosize(%a) : (!cute.shape<"(12,7)">) -> !cute.int_tuple<"60">
  return
}

// -----

func.func @tuple_product(%a: !cute.layout<"(6,10):(10,1)">) {
  // expected-error@+2 {{expects operand #0 to be !cute.int_tuple or !cute.shape, but got `!cute.layout<"(6,10):(10,1)">`}}
  // expected-error@+1 {{'cute.tuple_product' op failed to infer returned types}}
  %r = cute.tuple_product(%a) : (!cute.layout<"(6,10):(10,1)">) -> !cute.int_tuple<"60">
  return
}

// -----

func.func @tuple_product_each(%a: !cute.layout<"(6,10):(10,1)">) {
  // expected-error@+2 {{expects operand #0 to be !cute.int_tuple or !cute.shape, but got `!cute.layout<"(6,10):(10,1)">`}}
  // expected-error@+1 {{'cute.tuple_product_each' op failed to infer returned types}}
  %r = cute.tuple_product_each(%a) : (!cute.layout<"(6,10):(10,1)">) -> !cute.shape<"(6,10)">
  return
}

// -----

func.func @layout_eval(%a: !cute.coord<"(11,2)">, %b: !cute.shape<"(12,7)">) {
  // expected-error@+2 {{expects operand #1 to be !cute.layout or !cute.composed_layout, but got `!cute.shape<"(12,7)">`}}
  // expected-error@+1 {{'cute.layout_eval' op failed to infer returned types}}
  %r = cute.layout_eval(%a, %b) : (!cute.coord<"(11,2)">, !cute.shape<"(12,7)">) -> !cute.int_tuple<"1">
  return
}

// -----

func.func @crd2idx(%a: !cute.coord<"(1,2,3)">, %b: !cute.layout<"(6,10):(10,1)">) {
  // expected-error@+2 {{crd2idx: expected rank 2, found rank 3 in (1,2,3)}}
  // expected-error@+1 {{'cute.crd2idx' op failed to infer returned types}}
  %r = cute.crd2idx(%a, %b) : (!cute.coord<"(1,2,3)">, !cute.layout<"(6,10):(10,1)">) -> !cute.int_tuple<"1">
  return
}

// -----

func.func @idx2crd(%a: !cute.coord<"(11,2)">, %b: !cute.shape<"(12,7)">) {
  // expected-error@+2 {{expects operand #0 to be !cute.int_tuple, but got `!cute.coord<"(11,2)">`}}
  // expected-error@+1 {{'cute.idx2crd' op failed to infer returned types}}
  %r = cute.idx2crd(%a, %b) : (!cute.coord<"(11,2)">, !cute.shape<"(12,7)">) -> !cute.coord<"(11,2)">
  return
}

// -----

func.func @increment_coord(%a: !cute.coord<"(1,2,3)">, %b: !cute.shape<"(12,7)">) {
  // expected-error@+2 {{crd2idx: expected rank 2, found rank 3 in (1,2,3)}}
  // expected-error@+1 {{'cute.increment_coord' op failed to infer returned types}}
  %r = cute.increment_coord(%a, %b) : (!cute.coord<"(1,2,3)">, !cute.shape<"(12,7)">) -> !cute.coord<"(11,2)">
  return
}

// -----

func.func @prepend_to_rank(%a: !cute.shape<"(12,7)">, %b: !cute.layout<"(6,10):(10,1)">) {
  // expected-error@+1 {{expects an element of the same kind, but got `!cute.layout<"(6,10):(10,1)">`}}
  %r = cute.prepend_to_rank<3>(%a, %b) : !cute.shape<"(12,7)">, !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @tuple_add(%a: !cute.int_tuple<"(4,?)">, %b: !cute.shape<"(12,7)">) {
  // expected-error@+2 {{expects two operands of one kind}}
  // expected-error@+1 {{'cute.tuple_add' op failed to infer returned types}}
  %r = cute.tuple_add(%a, %b) : (!cute.int_tuple<"(4,?)">, !cute.shape<"(12,7)">) -> !cute.int_tuple<"(4,?)">
  return
}

// -----

func.func @tuple_sub(%a: !cute.int_tuple<"4">, %b: !cute.int_tuple<"(4,?)">) {
  // expected-error@+2 {{expects a tuple to take a tuple from}}
  // expected-error@+1 {{'cute.tuple_sub' op failed to infer returned types}}
  %r = cute.tuple_sub(%a, %b) : (!cute.int_tuple<"4">, !cute.int_tuple<"(4,?)">) -> !cute.int_tuple<"(4,?)">
  return
}

// -----

func.func @ceil_div(%a: !cute.shape<"(12,7)">, %b: !cute.tile<"[2:1;2:1;2:1]">) {
  // expected-error@+2 {{ceil_div: [2:1;2:1;2:1] has 3 modes; expected at most 2, one for each mode there is}}
  // expected-error@+1 {{'cute.ceil_div' op failed to infer returned types}}
  %r = cute.ceil_div(%a, %b) : (!cute.shape<"(12,7)">, !cute.tile<"[2:1;2:1;2:1]">) -> !cute.shape<"(12,7)">
  return
}

// -----

func.func @elem_less(%a: !cute.coord<"(11,2)">, %b: !cute.coord<"(1,2,3)">) {
  // expected-error@+1 {{'cute.elem_less' op compares (11,2) with (1,2,3); expects tuples of one profile}}
  %r = cute.elem_less(%a, %b) : (!cute.coord<"(11,2)">, !cute.coord<"(1,2,3)">) -> i1
  return
}

// -----

func.func @equal(%a: !cute.coord<"(11,2)">, %b: !cute.shape<"(12,7)">) {
  // expected-error@+1 {{'cute.equal' op expects two operands of one kind}}
  %r = cute.equal(%a, %b) : (!cute.coord<"(11,2)">, !cute.shape<"(12,7)">) -> i1
  return
}

// -----

func.func @composition(%a: !cute.shape<"(12,7)">, %b: !cute.layout<"(6,10):(10,1)">) {
  // expected-error@+2 {{expects operand #0 to be !cute.layout or !cute.composed_layout or a view, but got `!cute.shape<"(12,7)">`}}
  // expected-error@+1 {{'cute.composition' op failed to infer returned types}}
  %r = cute.composition(%a, %b) : (!cute.shape<"(12,7)">, !cute.layout<"(6,10):(10,1)">) -> !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @flatten(%a: !cute.swizzle<"S<1,1,1>">) {
  // expected-error@+2 {{expects operand #0 to be !cute.int_tuple or !cute.coord or !cute.shape or !cute.stride or !cute.layout or !cute.composed_layout or !cute.tile or a view, but got `!cute.swizzle<"S<1,1,1>">`}}
  // expected-error@+1 {{'cute.flatten' op failed to infer returned types}}
  %r = cute.flatten(%a) : (!cute.swizzle<"S<1,1,1>">) -> !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @complement(%a: !cute.layout<"(2,2):(1,1)">, %b: !cute.shape<"8">) {
  // expected-error@+2 {{complement: (2,2):(1,1) is not injective: its mode 2:1 lies among the modes of smaller stride, which reach up to 2; expected a stride of at least 2, found 1}}
  // expected-error@+1 {{'cute.complement' op failed to infer returned types}}
  %r = cute.complement(%a, %b) : (!cute.layout<"(2,2):(1,1)">, !cute.shape<"8">) -> !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @left_inverse(%a: !cute.layout<"(?,2):(2,1)">) {
  // expected-error@+2 {{expects a layout of static shape}}
  // expected-error@+1 {{'cute.left_inverse' op failed to infer returned types}}
  %r = cute.left_inverse(%a) : (!cute.layout<"(?,2):(2,1)">) -> !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @recast_layout(%a: !cute.layout<"(6,10):(10,1)">) {
  // expected-error@+2 {{recast_layout: expected a stride that divides 4 or is a multiple of it, such as 8 or 12, found 10}}
  // expected-error@+1 {{'cute.recast_layout' op failed to infer returned types}}
  %r = cute.recast_layout<32, 8>(%a) : !cute.layout<"(6,10):(10,1)"> -> !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @dice(%a: !cute.coord<"(11,2)">, %b: !cute.coord<"(?,_)">) {
  // expected-error@+1 {{expects a static second operand}}
  %r = cute.dice(%a, %b) : !cute.coord<"(11,2)">, !cute.coord<"(?,_)">
  return
}

// -----

func.func @logical_product(%a: !cute.layout<"(6,10):(10,1)">, %b: !cute.shape<"(12,7)">) {
  // expected-error@+2 {{expects operand #1 to be !cute.layout, but got `!cute.shape<"(12,7)">`}}
  // expected-error@+1 {{'cute.logical_product' op failed to infer returned types}}
  %r = cute.logical_product(%a, %b) : (!cute.layout<"(6,10):(10,1)">, !cute.shape<"(12,7)">) -> !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @zipped_product(%a: !cute.layout<"(6,10):(10,1)">, %b: !cute.shape<"(12,7)">) {
  // expected-error@+2 {{expects operand #1 to be !cute.layout, but got `!cute.shape<"(12,7)">`}}
  // expected-error@+1 {{'cute.zipped_product' op failed to infer returned types}}
  %r = cute.zipped_product(%a, %b) : (!cute.layout<"(6,10):(10,1)">, !cute.shape<"(12,7)">) -> !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @tiled_product(%a: !cute.layout<"(6,10):(10,1)">, %b: !cute.shape<"(12,7)">) {
  // expected-error@+2 {{expects operand #1 to be !cute.layout, but got `!cute.shape<"(12,7)">`}}
  // expected-error@+1 {{'cute.tiled_product' op failed to infer returned types}}
  %r = cute.tiled_product(%a, %b) : (!cute.layout<"(6,10):(10,1)">, !cute.shape<"(12,7)">) -> !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @flat_product(%a: !cute.layout<"(6,10):(10,1)">, %b: !cute.shape<"(12,7)">) {
  // expected-error@+2 {{expects operand #1 to be !cute.layout, but got `!cute.shape<"(12,7)">`}}
  // expected-error@+1 {{'cute.flat_product' op failed to infer returned types}}
  %r = cute.flat_product(%a, %b) : (!cute.layout<"(6,10):(10,1)">, !cute.shape<"(12,7)">) -> !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @raked_product(%a: !cute.layout<"(6,10):(10,1)">, %b: !cute.shape<"(12,7)">) {
  // expected-error@+2 {{expects operand #1 to be !cute.layout, but got `!cute.shape<"(12,7)">`}}
  // expected-error@+1 {{'cute.raked_product' op failed to infer returned types}}
  %r = cute.raked_product(%a, %b) : (!cute.layout<"(6,10):(10,1)">, !cute.shape<"(12,7)">) -> !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @blocked_product(%a: !cute.layout<"(6,10):(10,1)">, %b: !cute.shape<"(12,7)">) {
  // expected-error@+2 {{expects operand #1 to be !cute.layout, but got `!cute.shape<"(12,7)">`}}
  // expected-error@+1 {{'cute.blocked_product' op failed to infer returned types}}
  %r = cute.blocked_product(%a, %b) : (!cute.layout<"(6,10):(10,1)">, !cute.shape<"(12,7)">) -> !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @logical_divide(%a: !cute.layout<"(6,10):(10,1)">, %b: !cute.tile<"[2:1;2:1;2:1]">) {
  // expected-error@+2 {{logical_divide: [2:1;2:1;2:1] has 3 modes; expected at most 2, one for each mode there is}}
  // expected-error@+1 {{'cute.logical_divide' op failed to infer returned types}}
  %r = cute.logical_divide(%a, %b) : (!cute.layout<"(6,10):(10,1)">, !cute.tile<"[2:1;2:1;2:1]">) -> !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @tiled_divide(%a: !cute.layout<"(6,10):(10,1)">, %b: !cute.tile<"[2:1;2:1;2:1]">) {
  // expected-error@+2 {{logical_divide: [2:1;2:1;2:1] has 3 modes; expected at most 2, one for each mode there is}}
  // expected-error@+1 {{'cute.tiled_divide' op failed to infer returned types}}
  %r = cute.tiled_divide(%a, %b) : (!cute.layout<"(6,10):(10,1)">, !cute.tile<"[2:1;2:1;2:1]">) -> !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @flat_divide(%a: !cute.layout<"(6,10):(10,1)">, %b: !cute.tile<"[2:1;2:1;2:1]">) {
  // expected-error@+2 {{logical_divide: [2:1;2:1;2:1] has 3 modes; expected at most 2, one for each mode there is}}
  // expected-error@+1 {{'cute.flat_divide' op failed to infer returned types}}
  %r = cute.flat_divide(%a, %b) : (!cute.layout<"(6,10):(10,1)">, !cute.tile<"[2:1;2:1;2:1]">) -> !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @tile_to_shape(%a: !cute.layout<"(6,10):(10,1)">, %b: !cute.shape<"(9,10)">, %c: !cute.int_tuple<"(0,1)">) {
  // expected-error@+2 {{'cute.tile_to_shape' op inferred type(s) '!cute.layout<"((6,2),(10,1)):((10,60),(1,0))">' are incompatible with return type(s) of operation '!cute.layout<"(6,10):(10,1)">'}}
  // expected-error@+1 {{'cute.tile_to_shape' op failed to infer returned types}}
  %r = cute.tile_to_shape(%a, %b, %c) : (!cute.layout<"(6,10):(10,1)">, !cute.shape<"(9,10)">, !cute.int_tuple<"(0,1)">) -> !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @local_tile(%a: !cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">, %b: !cute.int_tuple<"(8,8,8)">, %c: !cute.coord<"(_,_)">) {
  // expected-error@+1 {{'cute.local_tile' op logical_divide: [8:1;8:1;8:1] has 3 modes; expected at most 2, one for each mode there is}}
  %r = cute.local_tile(%a, %b, %c) : (!cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">, !cute.int_tuple<"(8,8,8)">, !cute.coord<"(_,_)">) -> !cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">
  return
}

// -----

func.func @tiled_copy_retile(%a: !cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 32 b>, layout_copy_tv = <"((8,32),1):((32,1),0)">, tiler_mn = <"[32:1;8:1]">>, %b: !cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">) {
  // expected-error@+1 {{'cute.tiled.copy.retile' op logical_divide: [32:1;1:0;1:0] has 3 modes; expected at most 2, one for each mode there is}}
  %r = cute.tiled.copy.retile(%a, %b) : (!cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 32 b>, layout_copy_tv = <"((8,32),1):((32,1),0)">, tiler_mn = <"[32:1;8:1]">>, !cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">) -> !cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">
  return
}

// -----

func.func @tiled_mma_partition(%a: !cute.tiled_mma<!cute_nvgpu.atom.universal_fma<f32>, atom_layout_MNK = <"(16,16,1):(16,1,0)">, permutation_MNK = <"[_;_;_]">>, %b: !cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">, %c: i32) {
  // expected-error@+1 {{'cute.tiled.mma.partition' op expects `operand` as "A", "B" or "C", but got "D"}}
  %r = cute.tiled.mma.partition(%a, %b, %c) {operand = "D"} : (!cute.tiled_mma<!cute_nvgpu.atom.universal_fma<f32>, atom_layout_MNK = <"(16,16,1):(16,1,0)">, permutation_MNK = <"[_;_;_]">>, !cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">, i32) -> !cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">
  return
}

// -----

func.func @mma_make_fragment(%a: !cute.tiled_mma<!cute_nvgpu.atom.universal_fma<f32>, atom_layout_MNK = <"(16,16,1):(16,1,0)">, permutation_MNK = <"[_;_;_]">>, %b: !cute.shape<"(12,7)">) {
  // expected-error@+1 {{'cute.mma.make_fragment' op expects a partitioned tensor, but got `!cute.shape<"(12,7)">`}}
  %r = cute.mma.make_fragment(%a, %b) {operand = "C"} : (!cute.tiled_mma<!cute_nvgpu.atom.universal_fma<f32>, atom_layout_MNK = <"(16,16,1):(16,1,0)">, permutation_MNK = <"[_;_;_]">>, !cute.shape<"(12,7)">) -> !cute.memref<f32, rmem, align<16>, "(2,2):(1,2)">
  return
}

// -----

func.func @make_fragment_like(%a: !cute.shape<"(12,7)">) {
  // expected-error@+1 {{'cute.make_fragment_like' op cute.make_fragment_like does not take (`!cute.shape<"(12,7)">`)}}
  %r = cute.make_fragment_like(%a) : (!cute.shape<"(12,7)">) -> !cute.memref<f32, rmem, align<16>, "(2,2):(1,2)">
  return
}

// -----

func.func @memref_atomic(%a: !cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">, %b: !cute.coord<"(1,2)">, %c: f32) {
  // expected-error@+1 {{'cute.memref.atomic' op expects `kind` as one of add, min, max, and, or, xor, exchange, cas, load, acquire, store, release, but got "mean"}}
  %r = cute.memref.atomic(%a, %b, %c) {kind = "mean"} : (!cute.memref<f32, gmem, align<16>, "(32,32):(32,1)">, !cute.coord<"(1,2)">, f32) -> f32
  return
}

// -----

func.func @memref_store_vec(%a: vector<3xf32>, %b: !cute.memref<f32, rmem, align<16>, "(2,2):(1,2)">) {
  // expected-error@+1 {{'cute.memref.store_vec' op expects a value of vector<4xf32>, but got `vector<3xf32>`}}
  cute.memref.store_vec(%a, %b) : vector<3xf32>, !cute.memref<f32, rmem, align<16>, "(2,2):(1,2)">
  return
}

// -----

func.func @autovec_copy(%a: !cute.memref<f32, rmem, align<16>, "(2,2):(1,2)">, %b: !cute.memref<f32, rmem, align<16>, "(2,3):(1,2)">) {
  // expected-error@+1 {{'cute.autovec_copy' op copies 4 elements to 6; expects the same static number}}
  cute.autovec_copy(%a, %b) : !cute.memref<f32, rmem, align<16>, "(2,2):(1,2)">, !cute.memref<f32, rmem, align<16>, "(2,3):(1,2)">
  return
}

// -----

func.func @get_layout(%a: !cute.shape<"(12,7)">) {
  // expected-error@+1 {{'cute.get_layout' op cute.get_layout does not take (`!cute.shape<"(12,7)">`)}}
  %r = cute.get_layout(%a) : (!cute.shape<"(12,7)">) -> !cute.layout<"(6,10):(10,1)">
  return
}

// -----

func.func @slice(%a: !cute.layout<"(6,10):(10,1)">, %b: !cute.coord<"(1,_,_)">) {
  // expected-error@+1 {{slice: expected rank 2, found rank 3 in (1,_,_)}}
  %r = cute.slice(%a, %b) : !cute.layout<"(6,10):(10,1)">, !cute.coord<"(1,_,_)">
  return
}

// -----

func.func @tiled_copy_partition_D(%a: !cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 128 b>, layout_copy_tv = <"((16,8),4):((32,1),8)">, tiler_mn = <"[8:1;64:1]">>, %b: !cute.memref<f32, gmem, align<16>, "(128,32):(32,1)">, %c: i32) {
  // expected-error@+1 {{'cute.tiled.copy.partition_D' op the tiled copy covers 64 elements of mode 1, which does not divide the 32 of (128,32)}}
  %r = cute.tiled.copy.partition_D(%a, %b, %c) : (!cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 128 b>, layout_copy_tv = <"((16,8),4):((32,1),8)">, tiler_mn = <"[8:1;64:1]">>, !cute.memref<f32, gmem, align<16>, "(128,32):(32,1)">, i32) -> !cute.memref<f32, gmem, align<16>, "(128,32):(32,1)">
  return
}

// -----

func.func @memref_alloca() {
  // expected-error@+1 {{'cute.memref.alloca' op expects a view of rmem as result, but got `!cute.memref<f32, gmem, align<16>, "(128,32):(32,1)">`}}
  %r = cute.memref.alloca() : () -> !cute.memref<f32, gmem, align<16>, "(128,32):(32,1)">
  return
}

// -----

func.func @memref_store(%a: f16, %b: !cute.memref<f32, rmem, align<16>, "(2,2):(1,2)">, %c: !cute.coord<"(0,1)">) {
  // expected-error@+1 {{'cute.memref.store' op expects a value of f32, but got `f16`}}
  cute.memref.store(%a, %b, %c) : f16, !cute.memref<f32, rmem, align<16>, "(2,2):(1,2)">, !cute.coord<"(0,1)">
  return
}

// -----

func.func @mbarrier_arrive_within_cta(%a: !cute.memref<i32, smem, align<128>, "4:1">, %b: i32) {
  // expected-error@+1 {{'cute.mbarrier.arrive_within_cta' op expects 3 or 4 operands, but got 2}}
  cute.mbarrier.arrive_within_cta(%a, %b) : !cute.memref<i32, smem, align<128>, "4:1">, i32
  return
}

// -----

func.func @mbarrier_arrive_expect_tx(%a: !cute.memref<i32, smem, align<128>, "4:1">, %b: i32, %c: i32) {
  // expected-error@+1 {{'cute.mbarrier.arrive_expect_tx' op expects a barrier, one element of shared memory of u64, but got i32 in smem}}
  cute.mbarrier.arrive_expect_tx(%a, %b, %c) : !cute.memref<i32, smem, align<128>, "4:1">, i32, i32
  return
}

// -----

func.func @mbarrier_cp_async_arrive(%a: !cute.memref<i32, smem, align<128>, "4:1">, %b: i32) {
  // expected-error@+1 {{'cute.mbarrier.cp_async_arrive' op expects a barrier, one element of shared memory of u64, but got i32 in smem}}
  cute.mbarrier.cp_async_arrive(%a, %b) : !cute.memref<i32, smem, align<128>, "4:1">, i32
  return
}

// -----

func.func @mbarrier_cp_async_arrive_noinc(%a: !cute.memref<i32, smem, align<128>, "4:1">, %b: i32) {
  // expected-error@+1 {{'cute.mbarrier.cp_async_arrive_noinc' op expects a barrier, one element of shared memory of u64, but got i32 in smem}}
  cute.mbarrier.cp_async_arrive_noinc(%a, %b) : !cute.memref<i32, smem, align<128>, "4:1">, i32
  return
}

// -----

func.func @mbarrier_wait_across_cluster(%a: !cute.memref<i32, smem, align<128>, "4:1">, %b: i32, %c: i32) {
  // expected-error@+1 {{'cute.mbarrier.wait_across_cluster' op expects a barrier, one element of shared memory of u64, but got i32 in smem}}
  cute.mbarrier.wait_across_cluster(%a, %b, %c) : !cute.memref<i32, smem, align<128>, "4:1">, i32, i32
  return
}

// -----

func.func @mbarrier_try_wait(%a: !cute.memref<i32, smem, align<128>, "4:1">, %b: i32, %c: i32) {
  // expected-error@+1 {{'cute.mbarrier.try_wait' op expects a barrier, one element of shared memory of u64, but got i32 in smem}}
  %r = cute.mbarrier.try_wait(%a, %b, %c) : (!cute.memref<i32, smem, align<128>, "4:1">, i32, i32) -> i1
  return
}

// -----

func.func @mbarrier_test_wait(%a: !cute.memref<i32, smem, align<128>, "4:1">, %b: i32, %c: i32) {
  // expected-error@+1 {{'cute.mbarrier.test_wait' op expects a barrier, one element of shared memory of u64, but got i32 in smem}}
  %r = cute.mbarrier.test_wait(%a, %b, %c) : (!cute.memref<i32, smem, align<128>, "4:1">, i32, i32) -> i1
  return
}

// -----

func.func @prefetch_tma_desc(%a: !cute.memref<ui64, smem, align<128>, "4:1">) {
  // expected-error@+1 {{'cute.prefetch_tma_desc' op cute.prefetch_tma_desc does not take (`!cute.memref<ui64, smem, align<128>, "4:1">`)}}
  cute.prefetch_tma_desc(%a) : !cute.memref<ui64, smem, align<128>, "4:1">
  return
}

// -----

func.func @cp_fence_tma_desc_release(%a: !cute.memref<ui64, smem, align<128>, "4:1">, %b: !cute.memref<ui64, smem, align<128>, "4:1">) {
  // expected-error@+1 {{'cute.cp_fence_tma_desc_release' op expects a tensor map in gmem, but got one in smem}}
  cute.cp_fence_tma_desc_release(%a, %b) : !cute.memref<ui64, smem, align<128>, "4:1">, !cute.memref<ui64, smem, align<128>, "4:1">
  return
}
