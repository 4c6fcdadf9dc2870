// Operations infer their results, print as they are written, and survive the generic form.
// RUN: %cute-opt %s | FileCheck %s
// RUN: %cute-opt %s | %cute-opt | FileCheck %s
// RUN: %cute-opt --mlir-print-op-generic %s | %cute-opt | FileCheck %s

// CHECK-LABEL: func.func @accessors
func.func @accessors(%t: !cute.tile<"[6:1;_;(2,5):(5,1)]">,
                     %c: !cute.composed_layout<"S<2,3,3> o 8 o (16,4):(4,1)">) {
  // CHECK: cute.get<[2]> (%{{.*}}) : !cute.tile<"[6:1;_;(2,5):(5,1)]"> -> !cute.tile<"(2,5):(5,1)">
  %0 = cute.get<[2]>(%t) : !cute.tile<"[6:1;_;(2,5):(5,1)]"> -> !cute.tile<"(2,5):(5,1)">
  // CHECK: %{{.*}}:3 = cute.get_leaves(%{{.*}}) : !cute.tile
  %1:3 = cute.get_leaves(%t) : !cute.tile<"[6:1;_;(2,5):(5,1)]">
  // CHECK: %{{.*}}:2 = cute.get_layouts_from_tile(%{{.*}}) : <"[6:1;_;(2,5):(5,1)]">
  %2:2 = cute.get_layouts_from_tile(%t) : <"[6:1;_;(2,5):(5,1)]">
  // CHECK: cute.composed_get_outer(%{{.*}}) : <"S<2,3,3> o 8 o (16,4):(4,1)"> -> <"(16,4):(4,1)">
  %3 = cute.composed_get_outer(%c) : !cute.composed_layout<"S<2,3,3> o 8 o (16,4):(4,1)"> -> !cute.layout<"(16,4):(4,1)">
  // CHECK: cute.select<[1, 0]> (%{{.*}}) : !cute.composed_layout
  %4 = cute.select<[1, 0]>(%c) : !cute.composed_layout<"S<2,3,3> o 8 o (16,4):(4,1)"> -> !cute.composed_layout<"S<2,3,3> o 8 o (4,16):(1,4)">
  return
}

// CHECK-LABEL: func.func @scalars
func.func @scalars(%l: !cute.layout<"(?,6):(6,?{i64})">) -> (i32, i64) {
  // CHECK: %[[R:.*]]:2 = cute.get_scalars<{only_dynamic}> (%{{.*}}) : !cute.layout
  %0:2 = cute.get_scalars<{only_dynamic}>(%l) : !cute.layout<"(?,6):(6,?{i64})">
  // CHECK: return %[[R]]#0, %[[R]]#1 : i32, i64
  return %0#0, %0#1 : i32, i64
}

// CHECK-LABEL: func.func @tuples
func.func @tuples(%a: !cute.int_tuple<"(9,(4,?))">, %b: !cute.shape<"(12,7)">, %e: !cute.shape<"2">, %c: !cute.coord<"(11,2)">) {
  // CHECK: cute.tuple_add({{.*}}) -> !cute.int_tuple<"(18,(8,?))">
  %0 = cute.tuple_add(%a, %a) : (!cute.int_tuple<"(9,(4,?))">, !cute.int_tuple<"(9,(4,?))">) -> !cute.int_tuple<"(18,(8,?))">
  // A type may say less than is known.
  // CHECK: cute.tuple_product({{.*}}) -> !cute.int_tuple<"?">
  %1 = cute.tuple_product(%a) : (!cute.int_tuple<"(9,(4,?))">) -> !cute.int_tuple<"?">
  // CHECK: cute.append_to_rank<3> (%{{.*}}, %{{.*}}) : !cute.shape<"(12,7)">, !cute.shape<"2">
  %2 = cute.append_to_rank<3>(%b, %e) : !cute.shape<"(12,7)">, !cute.shape<"2">
  // CHECK: cute.increment_coord({{.*}}) -> !cute.coord<"(0,3)">
  %3 = cute.increment_coord(%c, %b) : (!cute.coord<"(11,2)">, !cute.shape<"(12,7)">) -> !cute.coord<"(0,3)">
  // CHECK: cute.crd2idx({{.*}}) -> !cute.int_tuple<"35">
  %4 = cute.crd2idx(%c, %b) : (!cute.coord<"(11,2)">, !cute.shape<"(12,7)">) -> !cute.int_tuple<"35">
  // CHECK: cute.print(%{{.*}}) : !cute.coord<"(11,2)">
  cute.print(%c) : !cute.coord<"(11,2)">
  return
}

// CHECK-LABEL: func.func @layouts
func.func @layouts(%l: !cute.layout<"(6,10):(10,1)">, %i: !cute.layout<"(6,10):(1@1,1@0)">, %r: !cute.layout<"(3,2):(1,3)">) {
  // CHECK: cute.group_modes<0, 2> (%{{.*}}) : {{.*}} -> !cute.layout<"((6,10)):((10,1))">
  %0 = cute.group_modes<0, 2>(%l) : (!cute.layout<"(6,10):(10,1)">) -> !cute.layout<"((6,10)):((10,1))">
  // CHECK: cute.recast_layout<16, 32> (%{{.*}}) : !cute.layout<"(6,10):(10,1)"> -> !cute.layout<"(6,20):(20,1)">
  %1 = cute.recast_layout<16, 32>(%l) : !cute.layout<"(6,10):(10,1)"> -> !cute.layout<"(6,20):(20,1)">
  // The inverse of a layout into coordinates goes coordinate by coordinate.
  // CHECK: cute.left_inverse({{.*}}) -> !cute.layout<"(10,6):(6,1)">
  %2 = cute.left_inverse(%i) : (!cute.layout<"(6,10):(1@1,1@0)">) -> !cute.layout<"(10,6):(6,1)">
  // CHECK: cute.flat_product({{.*}}) -> !cute.layout<"(6,10,3,2):(10,1,60,180)">
  %3 = cute.flat_product(%l, %r) : (!cute.layout<"(6,10):(10,1)">, !cute.layout<"(3,2):(1,3)">) -> !cute.layout<"(6,10,3,2):(10,1,60,180)">
  return
}

// CHECK-LABEL: func.func @pointers
func.func @pointers(%p: !cute.ptr<ui8, gmem, align<16>>) {
  // CHECK: cute.recast_iter({{.*}}) : (!cute.ptr<ui8, gmem, align<16>>) -> !cute.ptr<i4, gmem, align<16>>
  %0 = cute.recast_iter(%p) : (!cute.ptr<ui8, gmem, align<16>>) -> !cute.ptr<i4, gmem, align<16>>
  // CHECK: cute.recast_iter({{.*}}) -> !cute.ptr<f64, gmem, align<16>>
  %1 = cute.recast_iter(%p) : (!cute.ptr<ui8, gmem, align<16>>) -> !cute.ptr<f64, gmem, align<16>>
  return
}
