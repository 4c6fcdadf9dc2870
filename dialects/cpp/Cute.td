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
include "mlir/Interfaces/SideEffectInterfaces.td"

def Cute_Dialect : Dialect {
  let name = "cute";
  let summary = "Layouts, views, atoms, partitions, copies and MMAs in the manner of CuTe";
  let cppNamespace = "::cutec::cute";
  let useDefaultTypePrinterParser = 1;
}

def CuteNvgpu_Dialect : Dialect {
  let name = "cute_nvgpu";
  let summary = "Copy and MMA atoms: one NVIDIA instruction with its thread-value layouts";
  let cppNamespace = "::cutec::cute_nvgpu";
  let useDefaultTypePrinterParser = 1;
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

class CuteNvgpu_Atom<string name, string mn, string what> : TypeDef<CuteNvgpu_Dialect, name> {
  let mnemonic = mn;
  let summary = what;
  let genVerifyDecl = 1;
}
def CuteNvgpu_UniversalCopyAtom : CuteNvgpu_Atom<"UniversalCopyAtom", "atom.universal_copy", "Load and store of N bits"> {
  let parameters = (ins "::mlir::Type":$elem, "unsigned":$bits);
  let assemblyFormat = "`<` $elem `,` $bits `b` `>`";
}
def CuteNvgpu_AsyncCopyAtom : CuteNvgpu_Atom<"AsyncCopyAtom", "atom.simt_async_copy", "cp.async (sm_80): global to shared without registers"> {
  let parameters = (ins "::mlir::Type":$elem, StringRefParameter<"always or global">:$cache, "unsigned":$bits);
  let assemblyFormat = "`<` $elem `,` `cache` `=` custom<Space>($cache) `,` $bits `b` `>`";
}
def CuteNvgpu_LdsmAtom : CuteNvgpu_Atom<"LdsmAtom", "atom.ldsm", "ldmatrix (sm_75): N 8x8 matrices of 16-bit elements, plain or transposed"> {
  let parameters = (ins "::mlir::Type":$elem, "unsigned":$num_matrices, StringRefParameter<"n or t">:$transpose);
  let assemblyFormat = "`<` `val_type` `=` $elem `,` `num_matrices` `=` $num_matrices `,` custom<Space>($transpose) `>`";
}
def CuteNvgpu_UniversalFmaAtom : CuteNvgpu_Atom<"UniversalFmaAtom", "atom.universal_fma", "One fused multiply-add a thread"> {
  let parameters = (ins "::mlir::Type":$elem);
  let assemblyFormat = "`<` $elem `>`";
}
def CuteNvgpu_Sm80MmaAtom : CuteNvgpu_Atom<"Sm80MmaAtom", "sm80.mma", "mma.sync of one warp (sm_80)"> {
  let parameters = (ins StringRefParameter<"MxNxK">:$shape, "::mlir::Type":$a, "::mlir::Type":$b, "::mlir::Type":$c);
  let assemblyFormat = "`<` $shape `,` `elem_type` `=` `(` $a `,` $b `,` $c `)` `>`";
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
class Cute_EffectOp<string mn, list<Trait> traits = []> : Cute_Op<mn, traits> {
  let results = (outs);
  let assemblyFormat = "`(` $operands `)` attr-dict `:` type($operands)";
}

def Cute_StaticOp : Cute_Op<"static", [Pure]> {
  let summary = "Materializes a fully static value";
  let arguments = (ins);
  let assemblyFormat = "attr-dict `:` type($result)";
}

// Constructors.
def Cute_MakeIntTupleOp : Cute_PureOp<"make_int_tuple">;
def Cute_MakeShapeOp : Cute_PureOp<"make_shape">;
def Cute_MakeStrideOp : Cute_PureOp<"make_stride">;
def Cute_MakeCoordOp : Cute_PureOp<"make_coord">;
def Cute_MakeTileOp : Cute_PureOp<"make_tile">;
def Cute_MakeLayoutOp : Cute_PureOp<"make_layout">;
def Cute_MakeComposedLayoutOp : Cute_PureOp<"make_composed_layout">;
def Cute_MakeIdentityTensorOp : Cute_PureOp<"make_identity_tensor">;
def Cute_MakeViewOp : Cute_PureOp<"make_view">;
def Cute_AssumeOp : Cute_PureOp<"assume">;

// Accessors. `get`, `get_shape`, `size` take an optional `mode` (array of i64).
def Cute_GetShapeOp : Cute_PureOp<"get_shape">;
def Cute_GetStrideOp : Cute_PureOp<"get_stride">;
def Cute_GetLayoutOp : Cute_PureOp<"get_layout">;
def Cute_GetIterOp : Cute_PureOp<"get_iter">;
def Cute_GetOp : Cute_PureOp<"get">;
def Cute_SizeOp : Cute_PureOp<"size">;
def Cute_CosizeOp : Cute_PureOp<"cosize">;
def Cute_GetScalarOp : Cute_PureOp<"get_scalar"> {
  let summary = "The one leaf of an integer tuple as an i32 or i64";
}
def Cute_ElemLessOp : Cute_PureOp<"elem_less">;
def Cute_Crd2IdxOp : Cute_PureOp<"crd2idx">;

// Layout algebra; on views and coordinate tensors it acts on their layout.
def Cute_CompositionOp : Cute_PureOp<"composition">;
def Cute_CoalesceOp : Cute_PureOp<"coalesce">;
def Cute_ComplementOp : Cute_PureOp<"complement">;
def Cute_RightInverseOp : Cute_PureOp<"right_inverse">;
def Cute_LeftInverseOp : Cute_PureOp<"left_inverse">;
def Cute_LogicalDivideOp : Cute_PureOp<"logical_divide">;
def Cute_ZippedDivideOp : Cute_PureOp<"zipped_divide">;
def Cute_TiledDivideOp : Cute_PureOp<"tiled_divide">;
def Cute_FlatDivideOp : Cute_PureOp<"flat_divide">;
def Cute_LogicalProductOp : Cute_PureOp<"logical_product">;
def Cute_BlockedProductOp : Cute_PureOp<"blocked_product">;
def Cute_RakedProductOp : Cute_PureOp<"raked_product">;
def Cute_TileToShapeOp : Cute_PureOp<"tile_to_shape">;
def Cute_GroupModesOp : Cute_PureOp<"group_modes">;
def Cute_FlattenOp : Cute_PureOp<"flatten">;
def Cute_SelectOp : Cute_PureOp<"select">;
def Cute_SliceOp : Cute_PureOp<"slice">;
def Cute_LocalTileOp : Cute_PureOp<"local_tile">;

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
def Cute_StoreVecOp : Cute_EffectOp<"memref.store_vec", [MemoryEffects<[MemWrite]>]>;

// Collective operations: what one thread does of them.
def Cute_CopyOp : Cute_EffectOp<"copy", [MemoryEffects<[MemRead, MemWrite]>]>;
def Cute_AutovecCopyOp : Cute_EffectOp<"autovec_copy", [MemoryEffects<[MemRead, MemWrite]>]>;
def Cute_GemmOp : Cute_EffectOp<"gemm", [MemoryEffects<[MemRead, MemWrite]>]>;

#endif
