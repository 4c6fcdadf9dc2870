// The algebra on run-time extents and strides: the exact layout where that is certain.
// RUN: %cute-opt %s | FileCheck %s
// RUN: %cute-opt %s | %cute-opt | FileCheck %s

// A run-time extent is no obstacle to merging modes on the left (NVIDIA/cutlass issue 3469). The
// result of `coalesce` itself stays the one of CuTe IR.
// CHECK-LABEL: func.func @composition_merges
func.func @composition_merges(%l: !cute.layout<"(192,?):(1,192)">, %r: !cute.layout<"(256,192):(1,256)">) {
  // CHECK: cute.composition({{.*}}) -> !cute.layout<"(256,192):(1,256)">
  %c = cute.composition(%l, %r) : (!cute.layout<"(192,?):(1,192)">, !cute.layout<"(256,192):(1,256)">) -> !cute.layout<"(256,192):(1,256)">
  // CHECK: cute.coalesce({{.*}}) : (!cute.layout<"(192,?):(1,192)">) -> !cute.layout<"(192,?):(1,192)">
  %m = cute.coalesce(%l) : (!cute.layout<"(192,?):(1,192)">) -> !cute.layout<"(192,?):(1,192)">
  return
}

// Issue 3470.
// CHECK-LABEL: func.func @composition_with_a_run_time_right_side
func.func @composition_with_a_run_time_right_side(%l: !cute.layout<"(4096,8192):(1,4096)">, %r: !cute.layout<"(32,?,8,128):(1@0,8@1,1@1,32@0)">) {
  // CHECK: cute.composition({{.*}}) -> !cute.layout<"(32,?,8,128):(1,32768,4096,32)">
  %c = cute.composition(%l, %r) : (!cute.layout<"(4096,8192):(1,4096)">, !cute.layout<"(32,?,8,128):(1@0,8@1,1@1,32@0)">) -> !cute.layout<"(32,?,8,128):(1,32768,4096,32)">
  return
}

// Issue 3471.
// CHECK-LABEL: func.func @right_inverse
func.func @right_inverse(%l: !cute.layout<"(16,?):(1,16)">) {
  // CHECK: cute.right_inverse({{.*}}) -> !cute.layout<"?{div=16}:1">
  %r = cute.right_inverse(%l) : (!cute.layout<"(16,?):(1,16)">) -> !cute.layout<"?{div=16}:1">
  return
}

// Issue 3513: the tile takes whole modes, which 48 divides, and the rest what is left.
// CHECK-LABEL: func.func @divide_by_a_run_time_tile
func.func @divide_by_a_run_time_tile(%l: !cute.layout<"(12,(4,8)):(7,(1,30))">, %t: !cute.layout<"?{div=48}:1">) {
  // CHECK: cute.zipped_divide({{.*}}) -> !cute.layout<"((12,4,?),?):((7,1,30),?{div=30})">
  %z = cute.zipped_divide(%l, %t) : (!cute.layout<"(12,(4,8)):(7,(1,30))">, !cute.layout<"?{div=48}:1">) -> !cute.layout<"((12,4,?),?):((7,1,30),?{div=30})">
  return
}

// Run-time extents keep the modes of a rest apart; coordinates divide place by place.
// CHECK-LABEL: func.func @rests
func.func @rests(%l: !cute.layout<"(?,?):(?,1)">, %t: !cute.layout<"(2,4):(1,2)">, %c: !cute.layout<"(16,(8,3)):(1@0,(1@0@1,1@1@1))">, %b: !cute.layout<"2:4@0">) {
  // CHECK: cute.logical_divide({{.*}}) -> !cute.layout<"(((?,?),(?,?)),((?,?),(?,?))):(((?,1),(?,?)),((?,?),(?,?)))">
  %z = cute.logical_divide(%l, %t) : (!cute.layout<"(?,?):(?,1)">, !cute.layout<"(2,4):(1,2)">) -> !cute.layout<"(((?,?),(?,?)),((?,?),(?,?))):(((?,1),(?,?)),((?,?),(?,?)))">
  // CHECK: cute.logical_divide({{.*}}) -> !cute.layout<"(2,((4,2),(8,3))):(4@0,((1@0,8@0),(1@0@1,1@1@1)))">
  %d = cute.logical_divide(%c, %b) : (!cute.layout<"(16,(8,3)):(1@0,(1@0@1,1@1@1))">, !cute.layout<"2:4@0">) -> !cute.layout<"(2,((4,2),(8,3))):(4@0,((1@0,8@0),(1@0@1,1@1@1)))">
  return
}

// A slice of a swizzled layout is plain where no two of its bits meet in the swizzle.
// CHECK-LABEL: func.func @slices
func.func @slices(%l: !cute.composed_layout<"S<1,0,3> o 0 o (8,8):(8,1)">, %row: !cute.coord<"(1,_)">, %some: !cute.coord<"(?,_)">, %column: !cute.coord<"(_,2)">) -> (!cute.layout<"((2,4)):((-1,2))">, !cute.layout<"((2,4)):((?,2))">, !cute.layout<"((2,4)):((9,16))">) {
  %a = cute.slice(%l, %row) : !cute.composed_layout<"S<1,0,3> o 0 o (8,8):(8,1)">, !cute.coord<"(1,_)">
  %b = cute.slice(%l, %some) : !cute.composed_layout<"S<1,0,3> o 0 o (8,8):(8,1)">, !cute.coord<"(?,_)">
  %c = cute.slice(%l, %column) : !cute.composed_layout<"S<1,0,3> o 0 o (8,8):(8,1)">, !cute.coord<"(_,2)">
  // CHECK: return %{{.*}} : !cute.layout<"((2,4)):((-1,2))">, !cute.layout<"((2,4)):((?,2))">, !cute.layout<"((2,4)):((9,16))">
  return %a, %b, %c : !cute.layout<"((2,4)):((-1,2))">, !cute.layout<"((2,4)):((?,2))">, !cute.layout<"((2,4)):((9,16))">
}

// The only mode that may be contiguous is taken to be.
// CHECK-LABEL: func.func @narrow
func.func @narrow(%l: !cute.layout<"(?,4):(?,8)">) {
  // CHECK: cute.recast_layout<8, 32> ({{.*}}) : !cute.layout<"(?,4):(?,8)"> -> !cute.layout<"(?{div=4},4):(?,32)">
  %r = cute.recast_layout<8, 32>(%l) : !cute.layout<"(?,4):(?,8)"> -> !cute.layout<"(?{div=4},4):(?,32)">
  return
}
