//===- Cute.td - the `cute` and `cute_nvgpu` dialects ----------------------===//
//
// The one declaration of every type and operation. Syntax follows NVIDIA's
// public `cute` dialect where it has the name, and the operation list of its
// Python package elsewhere. What a type or an operation *means* is Rust:
// verifiers call `cutec_verify_type` and `cutec_verify_op` (src/ffi.rs), which
// run the same evaluation that the front end infers result types with and that
// the lowering turns into code (src/semantics).
//
//===----------------------------------------------------------------------===//
#ifndef CUTEC_CUTE_TD
#define CUTEC_CUTE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Cute_Dialect : Dialect {
  let name = "cute";
  let summary = "Layouts, views, atoms, partitions, copies and MMAs in the manner of CuTe";
  let cppNamespace = "::cutec::cute";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
}

def CuteNvgpu_Dialect : Dialect {
  let name = "cute_nvgpu";
  let summary = "Copy and MMA atoms: one NVIDIA instruction with its thread-value layouts";
  let cppNamespace = "::cutec::cute_nvgpu";
  let extraClassDeclaration = [{
    ::mlir::Type parseType(::mlir::DialectAsmParser &parser) const override;
    void printType(::mlir::Type type, ::mlir::DialectAsmPrinter &printer) const override;
  }];
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

// A type whose single parameter is a text in CuTe IR's notation.
class Cute_TextType<string name, string mn, string what> : TypeDef<Cute_Dialect, name> {
  let mnemonic = mn;
  let summary = what;
  let parameters = (ins StringRefParameter<"text in the notation of CuTe IR">:$text);
  let assemblyFormat = "`<` $text `>`";
  let genVerifyDecl = 1;
}

def Cute_IntTupleType : Cute_TextType<"IntTuple", "int_tuple", "Integer or nested tuple of integers">;
def Cute_CoordType : Cute_TextType<"Coord", "coord", "Coordinate; `_` selects a whole mode">;
def Cute_ShapeType : Cute_TextType<"Shape", "shape", "Extents, nested">;
def Cute_StrideType : Cute_TextType<"Stride", "stride", "Strides, nested; scaled bases allowed">;
def Cute_TileType : Cute_TextType<"Tile", "tile", "A layout or `_` for each mode">;
def Cute_LayoutType : Cute_TextType<"Layout", "layout", "Function from coordinates to indices">;
def Cute_ComposedLayoutType : Cute_TextType<"ComposedLayout", "composed_layout", "Swizzle or layout, after an offset, after a layout">;
def Cute_SwizzleType : Cute_TextType<"Swizzle", "swizzle", "XOR of two bit fields of an index">;

// The same texts as attributes.
class Cute_TextAttr<string name, string mn> : AttrDef<Cute_Dialect, name> {
  let mnemonic = mn;
  let parameters = (ins StringRefParameter<"text in the notation of CuTe IR">:$text);
  let assemblyFormat = "`<` $text `>`";
  let genVerifyDecl = 1;
}
def Cute_IntTupleAttr : Cute_TextAttr<"IntTuple", "int_tuple">;
def Cute_CoordAttr : Cute_TextAttr<"Coord", "coord">;
def Cute_ShapeAttr : Cute_TextAttr<"Shape", "shape">;
def Cute_StrideAttr : Cute_TextAttr<"Stride", "stride">;
def Cute_TileAttr : Cute_TextAttr<"Tile", "tile">;
def Cute_LayoutAttr : Cute_TextAttr<"Layout", "layout">;
def Cute_ComposedLayoutAttr : Cute_TextAttr<"ComposedLayout", "composed_layout">;
def Cute_SwizzleAttr : Cute_TextAttr<"Swizzle", "swizzle">;

// The GPU architecture that a `gpu.module` is compiled for, as `cute.target` on it; passes read it there.
def Cute_TargetAttr : AttrDef<Cute_Dialect, "Target"> {
  let mnemonic = "target";
  let summary = "GPU architecture of a gpu.module";
  let parameters = (ins StringRefParameter<"name as in --arch">:$name);
  let assemblyFormat = "`<` $name `>`";
  let genVerifyDecl = 1;
}

// What a host needs to launch a kernel, as `cute.abi` on its function. Its text is read and written by
// the crate of the kernel ABI (runtime/abi); it prints behind an alias, `#abi_NAME`.
def Cute_AbiAttr : AttrDef<Cute_Dialect, "Abi"> {
  let mnemonic = "abi";
  let summary = "What a host needs to launch a kernel";
  let parameters = (ins StringRefParameter<"the ABI as cutec_abi writes it">:$text);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Cute_PtrType : TypeDef<Cute_Dialect, "Ptr"> {
  let mnemonic = "ptr";
  let summary = "Typed pointer into a memory space, with its alignment in bytes";
  let parameters = (ins "::mlir::Type":$elem, StringRefParameter<"gmem, smem or rmem">:$space, "unsigned":$align);
  let assemblyFormat = "`<` $elem `,` custom<Space>($space) `,` `align` `<` $align `>` `>`";
  let genVerifyDecl = 1;
}
def Cute_MemRefType : TypeDef<Cute_Dialect, "MemRef"> {
  let mnemonic = "memref";
  let summary = "View: a pointer and a (composed) layout";
  let parameters = (ins "::mlir::Type":$elem, StringRefParameter<"gmem, smem or rmem">:$space, "unsigned":$align, StringRefParameter<"layout">:$layout);
  let assemblyFormat = "`<` $elem `,` custom<Space>($space) `,` `align` `<` $align `>` `,` $layout `>`";
  let genVerifyDecl = 1;
}
def Cute_CoordTensorType : TypeDef<Cute_Dialect, "CoordTensor"> {
  let mnemonic = "coord_tensor";
  let summary = "Tensor of coordinates: a base coordinate and a layout whose strides are scaled bases";
  let parameters = (ins StringRefParameter<"base coordinate">:$base, StringRefParameter<"layout">:$layout);
  let assemblyFormat = "`<` $base `,` $layout `>`";
  let genVerifyDecl = 1;
}
def Cute_TiledCopyType : TypeDef<Cute_Dialect, "TiledCopy"> {
  let mnemonic = "tiled_copy";
  let summary = "A copy atom repeated over threads and values of a tile";
  let parameters = (ins "::mlir::Type":$atom, StringRefParameter<"(thread,value) -> tile index">:$layout_tv, StringRefParameter<"tile">:$tiler);
  let assemblyFormat = "`<` $atom `,` `layout_copy_tv` `=` `<` $layout_tv `>` `,` `tiler_mn` `=` `<` $tiler `>` `>`";
  let genVerifyDecl = 1;
}
def Cute_TiledMmaType : TypeDef<Cute_Dialect, "TiledMma"> {
  let mnemonic = "tiled_mma";
  let summary = "An MMA atom repeated over threads (atom layout) and values (permutation)";
  let parameters = (ins "::mlir::Type":$atom, StringRefParameter<"atoms over (M,N,K)">:$atom_layout, StringRefParameter<"tile; `_` leaves a mode alone">:$permutation);
  let assemblyFormat = "`<` $atom `,` `atom_layout_MNK` `=` `<` $atom_layout `>` `,` `permutation_MNK` `=` `<` $permutation `>` `>`";
  let genVerifyDecl = 1;
}

// Every atom: `!cute_nvgpu.atom.ldsm<val_type = f16, num_matrices = 4, n>`. Its syntax is that of its instruction in
// src/atoms: C++ passes the text on, and keeps it as Rust prints it.
def CuteNvgpu_AtomType : TypeDef<CuteNvgpu_Dialect, "Atom"> {
  let summary = "A copy or MMA instruction";
  let typeName = "cute_nvgpu.atom";
  let parameters = (ins StringRefParameter<"what stands behind the name of the dialect">:$text);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

// Every operation prints as `cute.name(%operands) {attrs} : (types) -> type`.
class Cute_Op<string mn, list<Trait> traits = []> : Op<Cute_Dialect, mn, traits> {
  let arguments = (ins Variadic<AnyType>:$operands);
  let results = (outs AnyType:$result);
  let assemblyFormat = "`(` $operands `)` attr-dict `:` functional-type($operands, $result)";
  let hasVerifier = 1;
}
class Cute_PureOp<string mn> : Cute_Op<mn, [Pure]>;
// The result types follow from operands and attributes: `evaluate` infers them.
class Cute_InferredOp<string mn, list<Trait> traits = [Pure]> : Cute_Op<mn, traits # [
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let hasVerifier = 0;
  let extraClassDeclaration = "static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange declared);";
}
// `cute.name(%x) : type -> type`; where a type is spelled out, it prints without its name.
class Cute_ArrowOp<string mn, Type input = AnyType, Type output = AnyType> : Cute_InferredOp<mn> {
  let arguments = (ins input:$input);
  let results = (outs output:$result);
  let assemblyFormat = "`(` $input `)` attr-dict `:` type($input) `->` type($result)";
}
// `cute.name(%x, %y) : type, type`.
class Cute_ShortOp<string mn> : Cute_InferredOp<mn> {
  let assemblyFormat = "`(` $operands `)` attr-dict `:` type($operands)";
}
// `cute.name<[1, 0]>(%x) : (type) -> type`.
class Cute_PathOp<string mn> : Cute_InferredOp<mn> {
  let arguments = (ins AnyType:$input, OptionalAttr<DenseI32ArrayAttr>:$mode);
  let assemblyFormat = "(`<` $mode^ `>`)? `(` $input `)` attr-dict `:` functional-type($input, $result)";
}
class Cute_RankOp<string mn> : Cute_InferredOp<mn> {
  let arguments = (ins I32Attr:$rank, Variadic<AnyType>:$operands);
  let assemblyFormat = "`<` $rank `>` `(` $operands `)` attr-dict `:` type($operands)";
}
class Cute_EffectOp<string mn, list<Trait> traits = []> : Cute_Op<mn, traits> {
  let results = (outs);
  let assemblyFormat = "`(` $operands `)` attr-dict `:` type($operands)";
}

def Cute_StaticOp : Cute_Op<"static", [Pure, ConstantLike]> {
  let summary = "Materializes a fully static value";
  let arguments = (ins);
  let hasFolder = 1;
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Cute_PrintOp : Cute_EffectOp<"print", [MemoryEffects<[MemWrite]>]> {
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "`(` $value `)` `:` type($value) attr-dict";
}

// Constructors. The first five fill the dynamic leaves of the type that they declare.
def Cute_MakeIntTupleOp : Cute_PureOp<"make_int_tuple">;
def Cute_MakeShapeOp : Cute_PureOp<"make_shape">;
def Cute_MakeStrideOp : Cute_PureOp<"make_stride">;
def Cute_MakeCoordOp : Cute_PureOp<"make_coord">;
def Cute_MakeTileOp : Cute_PureOp<"make_tile">;
def Cute_MakeLayoutOp : Cute_InferredOp<"make_layout">;
def Cute_MakeComposedLayoutOp : Cute_InferredOp<"make_composed_layout"> {
  let arguments = (ins AnyType:$inner, Cute_IntTupleType:$offset, Cute_LayoutType:$outer);
  let results = (outs Cute_ComposedLayoutType:$result);
  let assemblyFormat = [{ `(` $inner `,` $offset `,` $outer `)` attr-dict `:`
    `(` type($inner) `,` type($offset) `,` type($outer) `)` `->` type($result) }];
}
def Cute_MakeLayoutLikeOp : Cute_ArrowOp<"make_layout_like">;
def Cute_MakeOrderedLayoutOp : Cute_InferredOp<"make_ordered_layout">;
def Cute_MakeIdentityLayoutOp : Cute_ArrowOp<"make_identity_layout">;
def Cute_MakeIdentityTensorOp : Cute_PureOp<"make_identity_tensor">;
def Cute_MakeViewOp : Cute_PureOp<"make_view">;
def Cute_AssumeOp : Cute_PureOp<"assume">;

// Accessors.
def Cute_GetShapeOp : Cute_ArrowOp<"get_shape">;
def Cute_GetStrideOp : Cute_ArrowOp<"get_stride", Cute_LayoutType>;
def Cute_ComposedGetInnerOp : Cute_ArrowOp<"composed_get_inner", Cute_ComposedLayoutType>;
def Cute_ComposedGetOffsetOp : Cute_ArrowOp<"composed_get_offset", Cute_ComposedLayoutType>;
def Cute_ComposedGetOuterOp : Cute_ArrowOp<"composed_get_outer", Cute_ComposedLayoutType, Cute_LayoutType>;
def Cute_GetLeavesOp : Cute_InferredOp<"get_leaves"> {
  let arguments = (ins AnyType:$input);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "`(` $input `)` attr-dict `:` type($input)";
}
def Cute_GetScalarsOp : Cute_InferredOp<"get_scalars"> {
  let arguments = (ins AnyType:$input, UnitAttr:$only_dynamic);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{ (`<` `{` `only_dynamic` `}` `>` $only_dynamic^)? `(` $input `)` attr-dict
    `:` type($input) }];
}
def Cute_GetLayoutsFromTileOp : Cute_InferredOp<"get_layouts_from_tile"> {
  let arguments = (ins Cute_TileType:$input);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "`(` $input `)` attr-dict `:` type($input)";
}
def Cute_GetLayoutOp : Cute_PureOp<"get_layout">;
def Cute_GetIterOp : Cute_PureOp<"get_iter">;
def Cute_RecastIterOp : Cute_PureOp<"recast_iter"> {
  let summary = "The same place as a pointer to elements of another type";
}
def Cute_GetOp : Cute_InferredOp<"get"> {
  let arguments = (ins AnyType:$input, OptionalAttr<DenseI32ArrayAttr>:$mode);
  let assemblyFormat = "(`<` $mode^ `>`)? `(` $input `)` attr-dict `:` type($input) `->` type($result)";
}
def Cute_SelectOp : Cute_InferredOp<"select"> {
  let arguments = (ins AnyType:$input, DenseI32ArrayAttr:$mode);
  let assemblyFormat = "`<` $mode `>` `(` $input `)` attr-dict `:` type($input) `->` type($result)";
}
def Cute_ToIntTupleOp : Cute_ArrowOp<"to_int_tuple">;
def Cute_ToShapeOp : Cute_ArrowOp<"to_shape">;
def Cute_ToStrideOp : Cute_ArrowOp<"to_stride">;
def Cute_ToCoordOp : Cute_ArrowOp<"to_coord">;
def Cute_GetScalarOp : Cute_PureOp<"get_scalar"> {
  let summary = "The one leaf of an integer tuple as an i32 or i64";
}

// Sizes, indices and arithmetic of tuples.
def Cute_SizeOp : Cute_PathOp<"size">;
def Cute_CosizeOp : Cute_PathOp<"cosize">;
def Cute_TupleProductOp : Cute_InferredOp<"tuple_product">;
def Cute_TupleProductEachOp : Cute_InferredOp<"tuple_product_each">;
def Cute_LayoutEvalOp : Cute_InferredOp<"layout_eval">;
def Cute_Crd2IdxOp : Cute_InferredOp<"crd2idx">;
def Cute_Idx2CrdOp : Cute_InferredOp<"idx2crd">;
def Cute_IncrementCoordOp : Cute_InferredOp<"increment_coord">;
def Cute_AppendToRankOp : Cute_RankOp<"append_to_rank">;
def Cute_PrependToRankOp : Cute_RankOp<"prepend_to_rank">;
def Cute_TupleAddOp : Cute_InferredOp<"tuple_add">;
def Cute_TupleSubOp : Cute_InferredOp<"tuple_sub">;
// Division by a run-time zero: not to be hoisted.
def Cute_ShapeDivOp : Cute_InferredOp<"shape_div", [NoMemoryEffect]>;
def Cute_CeilDivOp : Cute_InferredOp<"ceil_div", [NoMemoryEffect]>;
def Cute_ElemLessOp : Cute_PureOp<"elem_less">;
def Cute_EqualOp : Cute_PureOp<"equal">;

// Layout algebra; on views and coordinate tensors it acts on their layout.
def Cute_CompositionOp : Cute_InferredOp<"composition">;
def Cute_CoalesceOp : Cute_InferredOp<"coalesce">;
def Cute_FlattenOp : Cute_InferredOp<"flatten">;
def Cute_ComplementOp : Cute_InferredOp<"complement">;
def Cute_RightInverseOp : Cute_InferredOp<"right_inverse">;
def Cute_LeftInverseOp : Cute_InferredOp<"left_inverse">;
def Cute_GroupModesOp : Cute_InferredOp<"group_modes"> {
  let arguments = (ins AnyType:$input, I32Attr:$begin, I32Attr:$end);
  let assemblyFormat = "`<` $begin `,` $end `>` `(` $input `)` attr-dict `:` functional-type($input, $result)";
}
def Cute_RecastLayoutOp : Cute_InferredOp<"recast_layout"> {
  let arguments = (ins I32Attr:$new_type_bits, I32Attr:$old_type_bits, AnyType:$input);
  let assemblyFormat = "`<` $new_type_bits `,` $old_type_bits `>` `(` $input `)` attr-dict `:` type($input) `->` type($result)";
}
def Cute_SliceOp : Cute_ShortOp<"slice">;
def Cute_DiceOp : Cute_ShortOp<"dice">;
def Cute_LogicalProductOp : Cute_InferredOp<"logical_product">;
def Cute_ZippedProductOp : Cute_InferredOp<"zipped_product">;
def Cute_TiledProductOp : Cute_InferredOp<"tiled_product">;
def Cute_FlatProductOp : Cute_InferredOp<"flat_product">;
def Cute_RakedProductOp : Cute_InferredOp<"raked_product">;
def Cute_BlockedProductOp : Cute_InferredOp<"blocked_product">;
def Cute_LogicalDivideOp : Cute_InferredOp<"logical_divide">;
def Cute_ZippedDivideOp : Cute_InferredOp<"zipped_divide">;
def Cute_TiledDivideOp : Cute_InferredOp<"tiled_divide">;
def Cute_FlatDivideOp : Cute_InferredOp<"flat_divide">;
def Cute_TileToShapeOp : Cute_InferredOp<"tile_to_shape">;
def Cute_LocalTileOp : Cute_PureOp<"local_tile">;
// `cute.domain_offset(%x, %i, %j)`: of the same layout, from these offsets on; they may be negative.
def Cute_DomainOffsetOp : Cute_PureOp<"domain_offset">;
// `cute.map_shared_rank(%x, %rank)`: what is at the same place in the shared memory of the CTA of a rank (PTX ISA, "mapa").
def Cute_MapSharedRankOp : Cute_PureOp<"map_shared_rank">;

// Partitions.
def Cute_TiledCopyPartitionSOp : Cute_PureOp<"tiled.copy.partition_S">;
def Cute_TiledCopyPartitionDOp : Cute_PureOp<"tiled.copy.partition_D">;
def Cute_TiledCopyRetileOp : Cute_PureOp<"tiled.copy.retile">;
def Cute_TiledMmaPartitionOp : Cute_PureOp<"tiled.mma.partition">;

// Memory.
def Cute_AllocaOp : Cute_Op<"memref.alloca", [MemoryEffects<[MemAlloc]>]>;
def Cute_AllocSmemOp : Cute_Op<"memref.alloc_smem", [MemoryEffects<[MemAlloc]>]>;
def Cute_MmaMakeFragmentOp : Cute_Op<"mma.make_fragment", [MemoryEffects<[MemAlloc]>]>;
def Cute_MakeFragmentLikeOp : Cute_Op<"make_fragment_like", [MemoryEffects<[MemAlloc]>]>;
def Cute_LoadOp : Cute_Op<"memref.load", [MemoryEffects<[MemRead]>]>;
def Cute_StoreOp : Cute_EffectOp<"memref.store", [MemoryEffects<[MemWrite]>]>;
def Cute_LoadVecOp : Cute_Op<"memref.load_vec", [MemoryEffects<[MemRead]>]>;
def Cute_AtomicOp : Cute_Op<"memref.atomic", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Updates one element (view, coordinate, value[, expected][, where]) and gives what it was";
  let arguments = (ins Variadic<AnyType>:$operands, StrAttr:$kind);
}
def Cute_StoreVecOp : Cute_EffectOp<"memref.store_vec", [MemoryEffects<[MemWrite]>]>;

// Barriers in shared memory that count arrivals and bytes (PTX ISA, "mbarrier"): a view of u64, the coordinate of one
// of them, then a count, a number of bytes or a parity. Behind it the rank of a block of the cluster, whose barrier at
// the same place is meant.
def Cute_MbarrierInitOp : Cute_EffectOp<"mbarrier.init", [MemoryEffects<[MemRead, MemWrite]>]>;
def Cute_MbarrierInvalOp : Cute_EffectOp<"mbarrier.inval", [MemoryEffects<[MemRead, MemWrite]>]>;
def Cute_MbarrierArriveOp : Cute_EffectOp<"mbarrier.arrive", [MemoryEffects<[MemRead, MemWrite]>]>;
def Cute_MbarrierArriveWithinCtaOp : Cute_EffectOp<"mbarrier.arrive_within_cta", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Arrives, and orders what was done within the own block alone, wherever the barrier is";
}
def Cute_MbarrierExpectTxOp : Cute_EffectOp<"mbarrier.expect_tx", [MemoryEffects<[MemRead, MemWrite]>]>;
def Cute_MbarrierArriveExpectTxOp : Cute_EffectOp<"mbarrier.arrive_expect_tx", [MemoryEffects<[MemRead, MemWrite]>]>;
def Cute_MbarrierCpAsyncArriveOp : Cute_EffectOp<"mbarrier.cp_async_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Arrives when this thread's cp.async copies are done, as one arrival more than was expected";
}
def Cute_MbarrierCpAsyncArriveNoincOp : Cute_EffectOp<"mbarrier.cp_async_arrive_noinc", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Arrives when this thread's cp.async copies are done, as one of the arrivals that are expected";
}
def Cute_MbarrierWaitOp : Cute_EffectOp<"mbarrier.wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits for the end of the phase of a parity";
}
def Cute_MbarrierWaitAcrossClusterOp : Cute_EffectOp<"mbarrier.wait_across_cluster", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "As mbarrier.wait; what threads of other blocks did before they arrived is there then";
}
def Cute_MbarrierTryWaitOp : Cute_Op<"mbarrier.try_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Whether the phase of a parity has ended; may wait a while for it";
}
def Cute_MbarrierTestWaitOp : Cute_Op<"mbarrier.test_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Whether the phase of a parity has ended";
}

// What a barrier in the shared memory of the same CTA counts the bytes of: a view and a coordinate of barriers of the own CTA
// stand for those at the same place there.
def Cute_StoreAsyncOp : Cute_EffectOp<"store_async", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Stores a vector to a view of another CTA's shared memory (value, view, barriers, which)";
}
def Cute_ReduceAsyncOp : Cute_EffectOp<"reduce_async", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Updates one element of another CTA's shared memory (view, coordinate, value, barriers, which)";
  let arguments = (ins Variadic<AnyType>:$operands, StrAttr:$kind);
}

// Copies by tensor maps. The map is passed to the kernel, and its address made an atom of; `cute.copy(%atom, %tile, %view,
// %barriers, %which[, %mask])` loads a tile of coordinates to a view in shared memory and counts its bytes at a barrier,
// `cute.copy(%atom, %view, %tile)` stores.
def Cute_MakeTmaAtomOp : Cute_PureOp<"make_tma_atom">;
def Cute_PrefetchTmaDescOp : Cute_EffectOp<"prefetch_tma_desc", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Fetches a tensor map ahead of its use";
}

// Maps that a kernel edits, 128 bytes in shared or global memory: the copy of a map that the host has made, a tensor in its place,
// the copy of one in shared memory to global memory by a warp, and its use by `cute.make_tma_atom(%view)`.
def Cute_CopyTmaDescOp : Cute_EffectOp<"copy_tma_desc", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Copies the map of an atom to memory";
}
def Cute_UpdateTmaDescOp : Cute_EffectOp<"update_tma_desc", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Puts the address, extents and strides of a tensor into a map in memory, which is one of an atom";
}
def Cute_CpFenceTmaDescReleaseOp : Cute_EffectOp<"cp_fence_tma_desc_release", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Copies a map from shared to global memory and releases it, by a warp";
}
def Cute_FenceTmaDescAcquireOp : Cute_EffectOp<"fence_tma_desc_acquire", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Acquires a map in global memory that was released";
}

// Collective operations: what one thread does of them.
def Cute_CopyOp : Cute_EffectOp<"copy", [MemoryEffects<[MemRead, MemWrite]>]>;
def Cute_PrefetchOp : Cute_EffectOp<"prefetch", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Fetches what a bulk copy or a copy by a tensor map would load into L2";
}
def Cute_AutovecCopyOp : Cute_EffectOp<"autovec_copy", [MemoryEffects<[MemRead, MemWrite]>]>;
def Cute_GemmOp : Cute_EffectOp<"gemm", [MemoryEffects<[MemRead, MemWrite]>]>;

#endif
