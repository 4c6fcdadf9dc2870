//===- Tile.td - the `tile` dialect ---------------------------------------===//
//
// What a block computes on whole tiles. A tile is a ranked tensor; how it is spread over the threads'
// registers stands in the encoding of its type, `#tile.tv<"(thread,value):…">`, once a pass has chosen
// it. Verifiers are Rust (src/tile). docs/tile.md says what each operation means and which pass
// takes it away.
//
//===----------------------------------------------------------------------===//
#ifndef CUTEC_TILE_TD
#define CUTEC_TILE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let summary = "Loads, products, maps and reductions of whole tiles by a block";
  let cppNamespace = "::cutec::tile";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

def Tile_TvAttr : AttrDef<Tile_Dialect, "Tv"> {
  let mnemonic = "tv";
  let summary = "Layout from (thread, value) to the index in a tile, the first mode fastest";
  let parameters = (ins StringRefParameter<"layout">:$text);
  let assemblyFormat = "`<` $text `>`";
  let genVerifyDecl = 1;
}

def Tile_Token : TypeDef<Tile_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "Asynchronous work that was begun and may not be complete";
}

def Tile_Tile : Type<CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">, "a tile">;
def Tile_View : Type<CPred<"::llvm::isa<::cutec::cute::MemRefType>($_self)">, "a view">;

class Tile_Op<string name, list<Trait> traits = []> : Op<Tile_Dialect, name, traits> {
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// What a program says
//===----------------------------------------------------------------------===//

def Tile_IndexOp : Tile_Op<"index", [Pure]> {
  let summary = "Which tile of the launch, along an axis, the block computes";
  let arguments = (ins I32Attr:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict";
}
def Tile_GridOp : Tile_Op<"grid", [MemoryEffects<[MemWrite]>]> {
  let summary = "How many tiles the launch has along each axis";
  let arguments = (ins Variadic<I32>:$counts);
  let assemblyFormat = "$counts attr-dict";
}
def Tile_LoadOp : Tile_Op<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "The tile of a view in global memory at a coordinate; `fill` outside";
  let description = [{
    The coordinate counts tiles, along the axes `by_element` elements, also before the view and behind it. With `box`, the extents of the tile along the
    modes of the view, modes side by side are one axis of the tile, the last of them the fastest.
  }];
  let arguments = (ins Tile_View:$view, Variadic<AnyType>:$at, OptionalAttr<AnyAttr>:$fill,
    OptionalAttr<TypeAttr>:$copy, OptionalAttr<AnyAttr>:$swizzle, OptionalAttr<StrAttr>:$hints,
    OptionalAttr<DenseI64ArrayAttr>:$by_element, OptionalAttr<DenseI64ArrayAttr>:$windows, OptionalAttr<DenseI64ArrayAttr>:$box);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$view `[` $at `]` attr-dict `:` type($view) `,` type($at) `->` type($result)";
}
def Tile_WindowsOp : Tile_Op<"windows", [Pure]> {
  let summary = "A tile that is gathered, of which is known that its rows are pixels as the windows of a convolution meet them";
  let description = [{
    The view is images, (n, …, c), or one of them, (…, c), which is number 0. The coordinate is that of the first pixel: the image, and where its window begins along each mode
    of pixels; then for each element of the filter whose channels the tile has, one behind the other, which tile of channels it is
    and by how much pixels are moved within their windows. For each mode of pixels `windows` has where the first window begins, where the last one does, counted from the last pixel, the step from window to
    window, and the largest move: all of the first kind, then all of the second, and so on. The result is the operand.
  }];
  let arguments = (ins Tile_Tile:$gathered, Tile_View:$view, Variadic<AnyType>:$at, DenseI64ArrayAttr:$windows);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{ $gathered `,` $view `[` $at `]` attr-dict `:`
    type($gathered) `,` type($view) `,` type($at) `->` type($result) }];
}
def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "Writes a tile to a view in global memory, or updates it by `atomic`; nothing outside";
  let arguments = (ins Tile_Tile:$value, Tile_View:$view, Variadic<AnyType>:$at, OptionalAttr<StrAttr>:$atomic,
    OptionalAttr<StrAttr>:$hints, OptionalAttr<DenseI64ArrayAttr>:$by_element);
  let assemblyFormat = "$value `,` $view `[` $at `]` attr-dict `:` type($value) `,` type($view) `,` type($at)";
}
def Tile_SplatOp : Tile_Op<"splat", [Pure]> {
  let summary = "A tile of one number";
  let arguments = (ins AnyType:$value);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
}
def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "The coordinate of each element along an axis";
  let arguments = (ins I32Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}
def Tile_MapOp : Tile_Op<"map", [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "A function of numbers, element by element";
  let arguments = (ins Variadic<Tile_Tile>:$inputs);
  let results = (outs Tile_Tile:$result);
  let regions = (region SizedRegion<1>:$body);
  // `(` $inputs `)` $body attr-dict `:` functional-type($inputs, $result), see Tile.cpp.
  let hasCustomAssemblyFormat = 1;
}
def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ParentOneOf<["MapOp", "FoldOp", "ScanOp"]>]> {
  let summary = "The element that a map makes, or the elements that a fold or a scan makes of two";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}
def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "Combines along an axis, whose extent becomes 1: add, mul, min, max, and, or, xor";
  let description = "Where the extent becomes the number of threads that share the axis, each combines what it has.";
  let arguments = (ins Tile_Tile:$input, I32Attr:$axis, StrAttr:$kind);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$kind $input $axis attr-dict `:` type($input) `->` type($result)";
}

// Tiles of one shape, combined along an axis by a function: its body takes an element of each, then another of each,
// and yields one of each. The function is associative.
class Tile_CombiningOp<string name> : Tile_Op<name, [RecursiveMemoryEffects, SingleBlock]> {
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$body);
  // `(` $inputs `)` $body attr-dict `:` functional-type($inputs, $results), see Tile.cpp.
  let hasCustomAssemblyFormat = 1;
}
def Tile_FoldOp : Tile_CombiningOp<"fold"> {
  let summary = "Combines along an axis, whose extent becomes 1, by a function of elements";
  let arguments = (ins Variadic<Tile_Tile>:$inputs, I32Attr:$axis);
}
def Tile_ScanOp : Tile_CombiningOp<"scan"> {
  let summary = "Each element combined with all before it along an axis; `reverse` with all behind it";
  let description = "With `exclusive`, a number for each tile, the element itself is left out; the first is that number.";
  let arguments = (ins Variadic<Tile_Tile>:$inputs, I32Attr:$axis, UnitAttr:$reverse, OptionalAttr<ArrayAttr>:$exclusive);
}
def Tile_GatherOp : Tile_Op<"gather", [Pure]> {
  let summary = "The elements of a tile at coordinates; at those outside of the tile any element of it";
  let description = "Each axis of the tile has a tile of coordinates.";
  let arguments = (ins Tile_Tile:$input, Variadic<Tile_Tile>:$at);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input `[` $at `]` attr-dict `:` type($input) `,` type($at) `->` type($result)";
}
def Tile_ScatterOp : Tile_Op<"scatter", [MemoryEffects<[MemWrite]>]> {
  let summary = "Writes each element of a tile to its place in a view in global memory, or updates it by `atomic`; nothing outside";
  let description = "Each axis of the view has a tile of coordinates, in elements. Of several for one place any may be left.";
  let arguments = (ins Tile_Tile:$value, Tile_View:$view, Variadic<Tile_Tile>:$at, OptionalAttr<StrAttr>:$atomic);
  let assemblyFormat = "$value `,` $view `[` $at `]` attr-dict `:` type($value) `,` type($view) `,` type($at)";
}
def Tile_AtomicOp : Tile_Op<"atomic", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Updates an element of a view in global memory for each of a tile, and gives what it was; outside nothing, and 0";
  let description = [{
    The tiles are one of coordinates, in elements, for each axis of the view, then the tile that updates; of `cas` one more, of what is expected.
    Of several elements with one place each sees what another has left, in any order.
  }];
  let arguments = (ins StrAttr:$kind, Tile_View:$view, Variadic<Tile_Tile>:$tiles);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$kind $view `(` $tiles `)` attr-dict `:` type($view) `,` type($tiles) `->` type($result)";
}
def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "Repeats along axes of extent 1";
  let arguments = (ins Tile_Tile:$input);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}
def Tile_ReshapeOp : Tile_Op<"reshape", [Pure]> {
  let summary = "Another shape of as many elements, in their order with the last axis the fastest";
  let arguments = (ins Tile_Tile:$input);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}
def Tile_RecastOp : Tile_Op<"recast", [Pure]> {
  let summary = "The bits of a tile as elements of another type, along the last axis";
  let description = [{
    An element becomes several that are as wide together, the lowest bits first. `order` is a layout from where an element stands in the
    result to where it stood in the input, over as many elements as the layout has, and again behind them.
  }];
  let arguments = (ins Tile_Tile:$input, OptionalAttr<StrAttr>:$order);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}
def Tile_ArriveOp : Tile_Op<"arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Whether the block is the last of `count` that come to a counter, which is 0 again then";
  let description = "What the blocks that came before had written is there for the last one.";
  let arguments = (ins Tile_View:$view, AnyType:$at, I32:$count);
  let results = (outs I1:$last);
  let assemblyFormat = "$view `[` $at `]` `,` $count attr-dict `:` type($view) `,` type($at)";
}
def Tile_GridBarrierOp : Tile_Op<"grid_barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits for all blocks of the launch, which it counts at a counter";
  let description = "What the blocks had written before is there for all behind it. The launch is cooperative.";
  let arguments = (ins Tile_View:$view, AnyType:$at);
  let assemblyFormat = "$view `[` $at `]` attr-dict `:` type($view) `,` type($at)";
}
def Tile_PrintOp : Tile_Op<"print", [MemoryEffects<[MemWrite]>]> {
  let summary = "Prints a line for each row of tiles, once a block";
  let description = [{
    A conversion of `format` takes a number, or of a tile the elements of a row. The tiles have one shape, and elements of i32,
    i64, f32 or f64. Of a large one the first rows and columns are printed.
  }];
  let arguments = (ins StrAttr:$format, Variadic<AnyType>:$values);
  let assemblyFormat = "$format `(` $values `)` attr-dict `:` type($values)";
}
def Tile_ExtractOp : Tile_Op<"extract", [Pure]> {
  let summary = "The element of a tile that has one, as a number";
  let arguments = (ins Tile_Tile:$input);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}
def Tile_TransposeOp : Tile_Op<"transpose", [Pure]> {
  let summary = "Exchanges the two axes";
  let arguments = (ins Tile_Tile:$input);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}
def Tile_DotOp : Tile_Op<"dot", [Pure]> {
  let summary = "c + a · bᵀ: a of shape (m, k), b of shape (n, k), c of shape (m, n)";
  let description = [{
    To c of shape (s, m, n) the products of s slices of k are added, each to its own.

    `precision` is of factors of f32: "tf32" multiplies them as tf32, "tf32x3" as sums of two tf32 each. What `mma` names is then
    an instruction on tf32. What is `negated` is taken off c; `tile-select-atoms` leaves none, but instructions that negate a factor.
  }];
  let arguments = (ins Tile_Tile:$a, Tile_Tile:$b, Tile_Tile:$c, OptionalAttr<TypeAttr>:$mma, OptionalAttr<StrAttr>:$precision, UnitAttr:$negated);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$a `,` $b `,` $c attr-dict `:` type($a) `,` type($b) `,` type($c) `->` type($result)";
}

//===----------------------------------------------------------------------===//
// What passes put in their place, before `tile-partition`
//===----------------------------------------------------------------------===//

def Tile_ConvertLayoutOp : Tile_Op<"convert_layout", [Pure]> {
  let summary = "The same tile, spread over the threads in another way";
  let arguments = (ins Tile_Tile:$input);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}
def Tile_SliceOp : Tile_Op<"slice", [Pure]> {
  let summary = "A part of a tile in registers; `offsets` in elements, multiples of the part's extents";
  let arguments = (ins Tile_Tile:$input, DenseI64ArrayAttr:$offsets);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input $offsets attr-dict `:` type($input) `->` type($result)";
}
def Tile_JoinOp : Tile_Op<"join", [Pure]> {
  let summary = "Tiles of one shape side by side along an axis, in registers: what slices of the result are";
  let arguments = (ins Variadic<Tile_Tile>:$parts, I32Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$parts attr-dict `:` type($parts) `->` type($result)";
}
def Tile_CopyAsyncOp : Tile_Op<"copy_async", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Begins to copy a tile of global memory, as `tile.load` takes it, into a stage of a buffer; zeros outside";
  let description = [{
    Neither may the buffer be read nor the view be written before a `tile.wait` for a group with the token. Which
    mechanism completes the copy follows from `copy`; `tile-lower-tokens` puts its instructions. A vector, of a view of one mode, comes as a column.
  }];
  let arguments = (ins Tile_View:$view, Variadic<AnyType>:$at, Tile_View:$buffer, I32:$stage,
    OptionalAttr<TypeAttr>:$copy, OptionalAttr<StrAttr>:$hints, OptionalAttr<DenseI64ArrayAttr>:$by_element,
    OptionalAttr<DenseI64ArrayAttr>:$windows, OptionalAttr<DenseI64ArrayAttr>:$box);
  let results = (outs Tile_Token:$token);
  let assemblyFormat = [{ $view `[` $at `]` `,` $buffer `[` $stage `]` attr-dict `:`
    type($view) `,` type($buffer) `,` type($at) }];
}
def Tile_GatherAsyncOp : Tile_Op<"gather_async", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Begins to copy what a map reads into a stage of a buffer, several elements at once; zeros where its condition fails";
  let description = [{
    The tile is what a `tile.map` gives that reads elements of a tensor where a condition holds, and nobody computes it: each thread
    copies its part, as much at once as `copy` moves, along the axis that is fast in the buffer. Such elements are neighbours in memory, and
    inside or outside together; `divisors` say of the first of them what divides its coordinate along each mode of the tensor. The kernel does not
    write that. It is waited for as a `tile.copy_async`.
  }];
  let arguments = (ins Tile_Tile:$value, Tile_View:$buffer, I32:$stage, TypeAttr:$copy, DenseI64ArrayAttr:$divisors);
  let results = (outs Tile_Token:$token);
  let assemblyFormat = "$value `,` $buffer `[` $stage `]` attr-dict `:` type($value) `,` type($buffer)";
}
def Tile_LoadAsyncOp : Tile_Op<"load_async", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Begins to load a tile: each thread copies what it would hold to a place of its own in shared memory; zeros outside";
  let description = [{
    The coordinate is that of `tile.load`, `tile` the tile as it is spread. The buffer has neighbours in memory, vectors of these, the threads of a block, and slots.
    No other thread accesses a place, so nothing but the thread's own wait orders it. The copies of a thread are `parts` groups of
    `cp.async`, committed one behind the other; what else the kernel commits, whoever counts the groups has to know.
  }];
  let arguments = (ins Tile_View:$view, Variadic<AnyType>:$at, Tile_View:$buffer, I32:$slot, TypeAttr:$tile, I64Attr:$parts,
    OptionalAttr<StrAttr>:$hints, OptionalAttr<DenseI64ArrayAttr>:$by_element);
  let assemblyFormat = "$view `[` $at `]` `,` $buffer `[` $slot `]` attr-dict `:` type($view) `,` type($buffer) `,` type($at)";
}
def Tile_TakeOp : Tile_Op<"take", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The tile that a `tile.load_async` of the same view and coordinate brought to a slot; `fill` outside";
  let description = [{
    Waits for its groups until so many `younger` ones are left. A `tile.load_async` into the same slot that stands directly behind it begins
    each part as soon as that one is taken.
  }];
  let arguments = (ins Tile_View:$view, Variadic<AnyType>:$at, Tile_View:$buffer, I32:$slot, I64Attr:$parts, I64Attr:$younger,
    OptionalAttr<AnyAttr>:$fill, OptionalAttr<DenseI64ArrayAttr>:$by_element);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{ $view `[` $at `]` `,` $buffer `[` $slot `]` attr-dict `:`
    type($view) `,` type($buffer) `,` type($at) `->` type($result) }];
}
def Tile_CommitOp : Tile_Op<"commit", [MemoryEffects<[MemWrite]>]> {
  let summary = "Makes a group of asynchronous copies, which completes as a whole";
  let arguments = (ins Variadic<Tile_Token>:$copies);
  let results = (outs Tile_Token:$group);
  let assemblyFormat = "$copies attr-dict";
}
def Tile_WaitOp : Tile_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Blocks the thread until its part of these groups is complete; without groups of all asynchronous copies";
  let arguments = (ins Variadic<Tile_Token>:$groups);
  let assemblyFormat = "$groups attr-dict";
}
def Tile_ReadOp : Tile_Op<"read", [MemoryEffects<[MemRead]>]> {
  let summary = "A part of a stage of a buffer, in registers; `offsets` in elements";
  let description = "Where it is `transposed` the part is one of the buffer with its axes exchanged, `offsets` too.";
  let arguments = (ins Tile_View:$buffer, I32:$stage, DenseI64ArrayAttr:$offsets, OptionalAttr<TypeAttr>:$copy,
    UnitAttr:$transposed);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$buffer `[` $stage `]` $offsets attr-dict `:` type($buffer) `->` type($result)";
}
def Tile_WriteOp : Tile_Op<"write", [MemoryEffects<[MemWrite]>]> {
  let summary = "A tile in registers into a stage of a buffer";
  let arguments = (ins Tile_Tile:$value, Tile_View:$buffer, I32:$stage, OptionalAttr<TypeAttr>:$copy);
  let assemblyFormat = "$value `,` $buffer `[` $stage `]` attr-dict `:` type($value) `,` type($buffer)";
}

#endif
