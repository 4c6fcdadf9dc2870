//! `tile-stage-operands`: operands of products go through shared memory.
//!
//! Before: products take tiles that are loaded as they take them, many threads the same elements. After:
//! such a tile has a buffer of one stage. `tile.copy_async` brings it there with `cp.async`, or where memory
//! does not lie in pieces that `cp.async` can copy, a `tile.load` and a `tile.write`; `tile.read` gives
//! each product its operand. `copy` says by which instruction; a read without it is one of vectors.
//! What is gathered goes there by `tile.gather_async` where several elements are copied at once.
//! An operand that is computed goes there once it is computed, unless a warp has it in few registers; one that the
//! loop of a product does not change stays there, and is read block by block of k like any other.
//! What a load pins is kept: `copy`, an atom or a tiled copy, and `swizzle`, which goes to the buffer.
mod beside;
mod copied;
mod copies;
mod fill;
mod matrices;

use super::computed_operand::{boxes_of, buffer_of_computed};
use super::emits::fence_for_async_proxy;
use super::gathers::{GATHERED, GatheredTile, Vectors};
use super::insert_barriers::written_tensors;
use super::known_ops::checked_ops;
use super::partition::{ACROSS, is_within_warps};
use super::smem_tile;
use super::tensor_box::TensorBox;
use super::twins::{are_same, are_twins, exchanged_buffer};
use super::types::{
    self, Failed, fast_axis, mma_of, present, reads_shared_memory, tensor_of, tile_of,
};
use crate::passes::Reported;
use crate::passes::ir_utils::{
    block_of, collect_nested, defining_op, erase, first_of_block, for_each_kernel,
    function_block_size, move_before, next_operation, parent, replace_all_uses, same_block,
    set_attribute, set_operand, string_attribute, users,
};
use crate::passes::user_error::user_error;
pub(super) use beside::BESIDE;
use beside::sink;
pub(super) use copies::gathered_along;
use copies::{OperandRead, Span, read_atom};
use cutec_dialects::atoms::Ldmatrix;
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, operation_key, result_of, value_key,
};
use cutec_dialects::elem::Space;
use cutec_dialects::ops::{CuteOp, ScfOp, TileOp, tile};
use cutec_dialects::tile::{
    Precision, TRANSPOSED, TileLayout, TileType, WINDOWS, box_extents, modes_of_axes,
};
use cutec_dialects::value::{Val, View};
use cutec_frontend::diagnostics::codes;
use cutec_layout::{AnyLayout, Layout};
use fill::{Arrives, gather};
use matrices::MatrixRead;
use melior::Context;
use melior::ir::operation::OperationLike;
use std::collections::HashSet;

/// Alignment of a buffer, in bytes: swizzles repeat within it.
const ALIGN: i64 = 128;
/// Registers that a thread keeps for a computed operand: a quarter of those it has. A larger one is read from
/// shared memory, block by block of k.
pub(super) const HELD_REGISTERS: i64 = 64;

/// Stages the operands of every product of the module.
pub fn stage_operands<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        stage(kernel.context, kernel.function)
    })
}

fn stage<'c>(context: &'c Context, function: IrOp<'c>) -> Result<(), Failed<'c>> {
    let operations = checked_ops(function)?;
    let (Some(entry), Some(threads)) = (operations.first(), function_block_size(function)) else {
        return Ok(());
    };
    let staging = Staging {
        function,
        ir: OpBuilder::new(context, Insertion::Before(*entry)),
        entry: *entry,
        threads,
        dots: operations
            .iter()
            .copied()
            .filter(|op| TileOp::Dot.is(*op))
            .collect(),
        written: written_tensors(&operations),
    };
    staging.copied()?;
    // Staging one erases it and what spread it anew.
    let mut operations = Vec::new();
    collect_nested(function, &mut operations);
    operations.retain(|op| matches!(TileOp::of(*op), Some(TileOp::Load | TileOp::Dot)));
    let mut gone = HashSet::new();
    for (number, op) in operations.iter().copied().enumerate() {
        if gone.contains(&operation_key(op)) {
            continue;
        }
        match TileOp::of(op) {
            Some(TileOp::Load) => {
                let left = |other: &&IrOp<'c>| !gone.contains(&operation_key(**other));
                let mut behind = operations[number + 1..].iter().filter(left);
                let twin = behind.find(|other| are_twins(op, **other)).copied();
                let same = operations.iter().filter(left);
                let same = same.filter(|other| **other != op && are_same(op, **other));
                let same: Vec<IrOp<'c>> = same.copied().collect();
                gone.extend(staging.load(op, twin, &same)?);
            }
            _ => {
                for load in boxes_of(op, function) {
                    gone.insert(operation_key(load));
                    staging.boxed(load)?;
                }
                staging.computed(op, 0)?;
                staging.computed(op, 1)?;
            }
        }
    }
    staging.beside()
}

struct Staging<'c> {
    function: IrOp<'c>,
    ir: OpBuilder<'c>,
    /// The first operation of the kernel.
    entry: IrOp<'c>,
    threads: i64,
    /// The products.
    dots: Vec<IrOp<'c>>,
    /// Arguments that the kernel writes, if all of them are known.
    written: Option<HashSet<usize>>,
}

impl<'c> Staging<'c> {
    /// Stages what a load gives, if products take it, and with it what its twin gives (`twins.rs`), if that can be read from the same
    /// buffer, and what loads of the `same` tile give to others than products. Gives the keys of those that were.
    fn load(
        &self,
        load: IrOp<'c>,
        twin: Option<IrOp<'c>>,
        same: &[IrOp<'c>],
    ) -> Result<Vec<usize>, Failed<'c>> {
        let loaded = result_of(load, 0);
        let view = present(load, tile::Load::of(load))?.view();
        // What is loaded again may be another one where the kernel has written it. A factor that is computed has stages of its own: those of the
        // other one would be taken until it is, at the end of a round.
        let of_factors = |other: &IrOp<'c>| {
            let mut dots = self.dots.iter();
            dots.any(|dot| boxes_of(*dot, self.function).contains(other))
        };
        let mut same = same.to_vec();
        same.retain(|other| {
            let multiplied = !products(result_of(*other, 0)).is_empty() || of_factors(other);
            !multiplied && !self.is_written(view)
        });
        let products = products(loaded);
        let Some((first, index)) = products.first().copied() else {
            let pinned = ["copy", "swizzle"].into_iter();
            let mut pinned = pinned.filter(|name| load.attribute(name).is_ok());
            return match pinned.next() {
                None => Ok(Vec::new()),
                Some(name) => {
                    let message = format!(
                        "`{name}` is pinned, but no product takes this tile as it is loaded"
                    );
                    let help = "only operands of products go through shared memory: leave it out";
                    Err((load, user_error(codes::PINNED, message, help)))
                }
            };
        };
        let tile = tile_of(load, loaded)?;
        // The copy begins where the first of them stands.
        if let Some(first) = first_of(&[&[load], &same[..]].concat()).filter(|first| *first != load)
        {
            move_before(load, first);
        }
        let mut ir = OpBuilder::new(self.ir.context(), Insertion::Before(self.entry));
        ir.location = load.location();
        let [memory, fast] = fast_axes(load, first, index)?;
        let mma = mma_of(first)?;
        let how = OperandRead::of(&mma, index).map_err(|message| (first, message))?;
        // What warpgroups multiply from registers they read from where a map brings it.
        let descriptor = how == OperandRead::Descriptor || reads_shared_memory(&mma);
        let (allocated, buffer) = match descriptor {
            true => {
                let tensor_box = TensorBox::of(load, self.function, &tile.shape);
                let tensor_box = tensor_box.map_err(|message| (load, message))?;
                let buffer = tensor_box.buffer(&tile);
                allocate_for_descriptor(&ir, &tile, buffer).map_err(|message| (load, message))?
            }
            false => allocate(&ir, &tile, fast),
        };
        // One for a map has the swizzle by which that writes.
        let pinned = string_attribute(load, "swizzle").filter(|_| !descriptor);
        if let (Some(pinned), Some(buffer)) = (pinned, defining_op(allocated)) {
            set_attribute(buffer, "swizzle", ir.string(&pinned));
        }
        let mut taken = Vec::new();
        for (dot, index) in products {
            taken.push(Taken::of(dot, index, &tile, (&buffer, fast))?);
        }
        let others = !all_taken(loaded, &taken);
        let of_twin = match twin {
            Some(twin) => self.of_twin(twin, &buffer, fast)?,
            None => None,
        };
        let twin = twin.filter(|_| of_twin.is_some());
        taken.extend(of_twin.into_iter().flatten());
        ir.insertion = Insertion::Before(load);
        let stage = ir.constant(0, "i32");
        let buffer_type = (allocated, &buffer);
        let arrives = match descriptor {
            true => self.fill_by_map(&ir, load, &tile, buffer_type, stage)?,
            false => {
                let by = (self.threads, Span::of_operand(first));
                let loaders = copies::loaders(load, &tile, [memory, fast], by)?;
                self.fill(&ir, load, &tile, buffer_type, (memory, loaders), stage)?
            }
        };

        // Read where it is multiplied: one that a loop inside multiplies again and again needs no registers meanwhile.
        // Complete before the first read.
        let anchors = taken.iter().map(|taken| match same_block(taken.dot, load) {
            true => taken.dot,
            false => load,
        });
        let others = others || !same.is_empty();
        let anchors: Vec<IrOp> = anchors.chain(others.then_some(load)).collect();
        if let Some(first) = first_of(&anchors) {
            ir.insertion = Insertion::Before(first);
            arrives.wait(&ir);
        }
        for taken in taken {
            let dot = taken.dot;
            ir.insertion = Insertion::Before(dot);
            // LLVM moves such reads over the edge of a loop to what rounds or splits them, and forgets where they stood in the source.
            ir.location = match Precision::of(&dot).map_err(|message| (dot, message))? {
                Precision::Ieee => load.location(),
                Precision::Tf32 | Precision::Tf32x3 => dot.location(),
            };
            let read = self.read(&ir, (allocated, stage), &taken.tile, taken.atom);
            if let (true, Some(read)) = (taken.transposed, defining_op(read)) {
                set_attribute(read, TRANSPOSED, ir.unit());
            }
            set_operand(dot, taken.index, read);
        }
        ir.location = load.location();
        erase_spread(loaded);
        if !users(loaded).is_empty() {
            ir.insertion = Insertion::Before(load);
            let read = self.read(&ir, (allocated, stage), &tile, None);
            replace_all_uses(loaded, read);
        }
        let gone = same.iter().copied().chain(twin).chain([load]);
        let gone = gone.map(operation_key).collect();
        for other in same {
            let (given, body) = (result_of(other, 0), block_of(other));
            let tile = tile_of(other, given)?;
            ir.insertion = Insertion::Before(load);
            ir.location = other.location();
            let by = match descriptor {
                true => MatrixRead::of(&tile, (&buffer, fast), &self.dots),
                false => None,
            };
            let (read, reads) = self.read_by(&ir, (allocated, stage), &tile, by);
            replace_all_uses(given, read);
            erase(other);
            sink(reads, tile.size(), body);
        }
        erase(load);
        if let Some(twin) = twin {
            erase_spread(result_of(twin, 0));
            erase(twin);
        }
        Ok(gone)
    }

    /// The products that take what the twin of a load gives, from the buffer of that load with its axes exchanged; `None` where
    /// one of them cannot read it so, or something else takes it.
    fn of_twin(
        &self,
        twin: IrOp<'c>,
        buffer: &View,
        fast: usize,
    ) -> Result<Option<Vec<Taken<'c>>>, Failed<'c>> {
        let failed = |message: String| (twin, message);
        let loaded = result_of(twin, 0);
        let tile = tile_of(twin, loaded)?;
        let view = present(twin, tile::Load::of(twin))?.view();
        let buffer = exchanged_buffer(buffer).map_err(|error| failed(error.to_string()))?;
        let mut taken = Vec::new();
        for (dot, index) in products(loaded) {
            let mma = mma_of(dot)?;
            let one = Taken {
                transposed: true,
                ..Taken::of(dot, index, &tile, (&buffer, 1 - fast))?
            };
            let how = OperandRead::of(&mma, index).map_err(|message| (dot, message))?;
            let same = match how {
                OperandRead::Descriptor => {
                    let own = TensorBox::of(twin, self.function, &tile.shape).map_err(failed)?;
                    own.buffer(&tile).as_ref() == Some(&buffer)
                }
                OperandRead::Ldmatrix => one.atom.is_some() && !reads_shared_memory(&mma),
                OperandRead::Vectors => false,
            };
            if !same {
                return Ok(None);
            }
            taken.push(one);
        }
        let shared = all_taken(loaded, &taken) && !self.is_written(view);
        Ok(Some(taken).filter(|_| shared))
    }

    /// Stages an operand that is computed, and read from registers in another layout than it is computed in.
    ///
    /// What maps make of a load goes to a buffer as it is multiplied: so it is computed once, and the load can be
    /// ahead. What the loop of the product does not change is written once, in front of the loop. Of the rest
    /// a thread keeps in registers what it or its warp has, unless that is too much; see [`HELD_REGISTERS`].
    fn computed(&self, dot: IrOp<'c>, index: usize) -> Result<(), Failed<'c>> {
        let factor = present(dot, tile::Dot::of(dot))?.factors()[index];
        let how = OperandRead::of(&*mma_of(dot)?, index).map_err(|message| (dot, message))?;
        if let (OperandRead::Descriptor, Some(Ok(gathered))) =
            (how, GatheredTile::of(factor, self.function))
        {
            return self.gathered(dot, index, &gathered);
        }
        if how == OperandRead::Descriptor {
            return self.written(dot, index);
        }
        let Some(convert) = tile::ConvertLayout::defining(factor) else {
            return Ok(());
        };
        let (made, convert) = (convert.input(), convert.op());
        if users(result_of(convert, 0)).len() != 1 || !same_block(convert, dot) {
            return Ok(());
        }
        let (tile, mma) = (tile_of(convert, made)?, mma_of(dot)?);
        let spread = types::operand_layout(&mma, index, &tile.shape);
        let spread = tile.with_layout(spread.map_err(|message| (dot, message))?);
        // What a warpgroup multiplies from registers stays there.
        if reads_shared_memory(&mma) {
            return Ok(());
        }
        let load = loaded_for(made).filter(|load| same_block(*load, dot));
        let place = invariant_in_loop_of(made, dot);
        let vectors = self.vectors(made, &tile, gathered_along(&mma, index, tile.elem));
        let through_memory = vectors.is_some() || load.is_some() || place.is_some();
        if !through_memory && stays_in_registers(&tile, &spread) {
            return Ok(());
        }
        let mut ir = OpBuilder::new(self.ir.context(), Insertion::Before(self.entry));
        ir.location = convert.location();
        let how = OperandRead::of(&mma, index).map_err(|message| (dot, message))?;
        let fast = match (&vectors, load, how) {
            (Some(vectors), ..) => vectors.fast,
            (None, Some(load), _) => fast_axes(load, dot, index)?[1],
            (None, None, OperandRead::Vectors | OperandRead::Descriptor) => 0,
            // The `ldmatrix` that reads them turns them: along which axis they are written is free.
            (None, None, OperandRead::Ldmatrix) if Ldmatrix::transposes(tile.elem) => {
                neighbouring(&tile)
            }
            (None, None, OperandRead::Ldmatrix) => 1,
        };
        let (allocated, buffer) = allocate(&ir, &tile, fast);
        ir.insertion = Insertion::Before(place.unwrap_or(convert));
        let stage = ir.constant(0, "i32");
        let filled = [made, allocated, stage];
        let arrives = match vectors {
            Some(vectors) => gather(&ir, &vectors, &filled),
            None => {
                ir.op(TileOp::Write, &filled, &[], &[]);
                Arrives::AtOnce
            }
        };
        if place.is_none() {
            ir.insertion = Insertion::Before(dot);
        }
        arrives.wait(&ir);
        ir.insertion = Insertion::Before(dot);
        let atom = read_atom(&mma, index, &tile, &buffer, fast);
        let atom = atom.map_err(|message| (dot, message))?;
        let read = self.read(&ir, (allocated, stage), &spread, atom);
        set_operand(dot, index, read);
        erase(convert);
        Ok(())
    }

    /// Stages an operand that is computed and read by a descriptor: in each round, or in front of a loop that does not change it.
    fn written(&self, dot: IrOp<'c>, index: usize) -> Result<(), Failed<'c>> {
        let factor = present(dot, tile::Dot::of(dot))?.factors()[index];
        let convert = tile::ConvertLayout::defining(factor);
        let made = convert.map_or(factor, tile::ConvertLayout::input);
        if tile::Read::defining(made).is_some() {
            return Ok(());
        }
        let (tile, mma) = (tile_of(dot, made)?, mma_of(dot)?);
        let mut ir = OpBuilder::new(self.ir.context(), Insertion::Before(self.entry));
        ir.location = dot.location();
        let buffer = buffer_of_computed(made, &tile)
            .map_err(|why| (dot, format!("a factor is computed{why}")))?;
        let allocated = allocate_view(&ir, &buffer);
        ir.insertion = Insertion::Before(invariant_in_loop_of(made, dot).unwrap_or(dot));
        let stage = ir.constant(0, "i32");
        self.write_by(&ir, made, &tile, (allocated, &buffer), stage);
        fence_for_async_proxy(&ir);
        ir.insertion = Insertion::Before(dot);
        let spread = types::operand_layout(&mma, index, &tile.shape);
        let spread = tile.with_layout(spread.map_err(|message| (dot, message))?);
        let read = self.read(&ir, (allocated, stage), &spread, None);
        set_operand(dot, index, read);
        if let Some(convert) = convert.filter(|convert| users(convert.result()).is_empty()) {
            erase(convert.op());
        }
        Ok(())
    }

    /// How threads copy what they are to gather of a tile, if several elements at once.
    fn vectors(&self, made: IrValue<'c>, tile: &TileType, axes: &[usize]) -> Option<Vectors> {
        let map = tile::Map::defining(made)?;
        let layout = tile.layout.as_ref()?;
        // Nobody else has them in registers.
        let alone = users(made).len() == 1 && !axes.is_empty();
        let vectors = Vectors::of(map.op(), axes, self.function).filter(|_| alone)?;
        let neighbours = layout.neighbours(&tile.shape, vectors.fast).ok()?;
        (neighbours % vectors.atom.src_values() == 0).then_some(vectors)
    }

    /// Stages what a factor for registers is computed of, by a tensor map.
    fn boxed(&self, load: IrOp<'c>) -> Result<(), Failed<'c>> {
        let loaded = result_of(load, 0);
        let tile = tile_of(load, loaded)?;
        let (buffer, by) = self
            .buffer_of_box(load, &tile)
            .map_err(|message| (load, message))?;
        let mut ir = OpBuilder::new(self.ir.context(), Insertion::Before(self.entry));
        ir.location = load.location();
        let allocated = allocate_view(&ir, &buffer);
        ir.insertion = Insertion::Before(load);
        let stage = ir.constant(0, "i32");
        let arrives = self.fill_by_map(&ir, load, &tile, (allocated, &buffer), stage)?;
        arrives.wait(&ir);
        // LLVM loads what a map makes of 16 bits as words, where the map stands in the source: there the buffer has to be known.
        if let [map] = users(loaded)[..] {
            ir.location = map.location();
        }
        let by_vectors = by.is_none();
        let (read, reads) = self.read_by(&ir, (allocated, stage), &tile, by);
        let across = fast_axis(allocated).is_some_and(|(axis, elem)| axis == 0 && elem.bits() == 8);
        if by_vectors && across {
            set_attribute(reads, ACROSS, ir.unit());
        }
        replace_all_uses(loaded, read);
        erase(load);
        Ok(())
    }

    /// Stages an operand that is gathered, for `tile-specialize-warps`: [`GATHERED`] marks what a warpgroup of its own copies.
    fn gathered(
        &self,
        dot: IrOp<'c>,
        index: usize,
        gathered: &GatheredTile<'c>,
    ) -> Result<(), Failed<'c>> {
        let factor = present(dot, tile::Dot::of(dot))?.factors()[index];
        let made = result_of(gathered.map, 0);
        let (tile, mma) = (tile_of(gathered.map, made)?, mma_of(dot)?);
        let mut ir = OpBuilder::new(self.ir.context(), Insertion::Before(self.entry));
        ir.location = gathered.map.location();
        let buffer = smem_tile::of_descriptor(&tile, gathered.fast);
        let allocated = allocate_for_descriptor(&ir, &tile, buffer);
        let (allocated, _) = allocated.map_err(|message| (dot, message))?;
        ir.insertion = match next_operation(gathered.map) {
            Some(next) => Insertion::Before(next),
            None => Insertion::Before(dot),
        };
        let stage = ir.constant(0, "i32");
        let mark = [(GATHERED, ir.unit())];
        ir.op(TileOp::Write, &[made, allocated, stage], &mark, &[]);
        ir.insertion = Insertion::Before(dot);
        let spread = types::operand_layout(&mma, index, &tile.shape);
        let spread = tile.with_layout(spread.map_err(|message| (dot, message))?);
        let read = self.read(&ir, (allocated, stage), &spread, None);
        set_operand(dot, index, read);
        if let Some(convert) = tile::ConvertLayout::defining(factor)
            && users(factor).is_empty()
        {
            erase(convert.op());
        }
        Ok(())
    }

    /// Whether the kernel may write the tensor that a view is into.
    fn is_written(&self, view: IrValue<'c>) -> bool {
        match (&self.written, tensor_of(view)) {
            (Some(written), Some(tensor)) => written.contains(&value_key(tensor)),
            (Some(written), None) => !written.is_empty(),
            (None, _) => true,
        }
    }

    fn read(
        &self,
        ir: &OpBuilder<'c>,
        from: (IrValue<'c>, IrValue<'c>),
        tile: &TileType,
        copy: Option<Val>,
    ) -> IrValue<'c> {
        result_of(self.reads(ir, from, tile, copy), 0)
    }

    /// The operation that reads a tile from a stage.
    fn reads(
        &self,
        ir: &OpBuilder<'c>,
        (buffer, stage): (IrValue<'c>, IrValue<'c>),
        tile: &TileType,
        copy: Option<Val>,
    ) -> IrOp<'c> {
        let mut attrs = vec![("offsets", ir.i64_array(&vec![0; tile.shape.len()]))];
        if let Some(copy) = copy {
            attrs.push(("copy", ir.type_attr(ir.val_type(&copy))));
        }
        let ty = tile.ir(ir.context());
        ir.op(TileOp::Read, &[buffer, stage], &attrs, &[ty])
    }
}

/// The first of some operations of one block.
fn first_of<'c>(operations: &[IrOp<'c>]) -> Option<IrOp<'c>> {
    operations.iter().copied().reduce(|one, other| {
        // SAFETY: both stand in one block.
        let before =
            unsafe { mlir_sys::mlirOperationIsBeforeInBlock(other.to_raw(), one.to_raw()) };
        if before { other } else { one }
    })
}

/// A product that takes what is loaded, and how it reads it from a buffer.
struct Taken<'c> {
    dot: IrOp<'c>,
    /// As which operand.
    index: usize,
    /// As the threads that multiply have it.
    tile: TileType,
    atom: Option<Val>,
    /// Whether it is the transpose of what the buffer holds.
    transposed: bool,
}

impl<'c> Taken<'c> {
    fn of(
        dot: IrOp<'c>,
        index: usize,
        tile: &TileType,
        (buffer, fast): (&View, usize),
    ) -> Result<Self, Failed<'c>> {
        let failed = |message: String| (dot, message);
        let mma = mma_of(dot)?;
        let spread = types::operand_layout(&mma, index, &tile.shape).map_err(failed)?;
        Ok(Taken {
            dot,
            index,
            tile: tile.with_layout(spread),
            atom: read_atom(&mma, index, tile, buffer, fast).map_err(failed)?,
            transposed: false,
        })
    }
}

/// Whether nothing but these products takes a tile.
fn all_taken(loaded: IrValue, taken: &[Taken]) -> bool {
    let is_one = |op: IrOp| taken.iter().any(|taken| taken.dot == op);
    users(loaded)
        .into_iter()
        .all(|user| match TileOp::of(user) {
            Some(TileOp::ConvertLayout) => users(result_of(user, 0)).into_iter().all(is_one),
            _ => is_one(user),
        })
}

/// Erases what spread a tile anew for products that take it elsewhere now.
fn erase_spread(loaded: IrValue) {
    for user in users(loaded) {
        if TileOp::ConvertLayout.is(user) && users(result_of(user, 0)).is_empty() {
            erase(user);
        }
    }
}

/// The products that take a tile, as it is or spread in another way, and as which operand.
fn products(loaded: IrValue) -> Vec<(IrOp, usize)> {
    let mut found = Vec::new();
    for user in users(loaded) {
        let value = match TileOp::of(user) {
            Some(TileOp::ConvertLayout) => result_of(user, 0),
            _ => loaded,
        };
        let dots = users(value);
        for dot in dots.into_iter().filter_map(tile::Dot::of) {
            for (index, factor) in dot.factors().into_iter().enumerate() {
                if factor == value && !found.contains(&(dot.op(), index)) {
                    found.push((dot.op(), index));
                }
            }
        }
    }
    found
}

/// The load that a tile is computed from, by maps of one tile each that nothing else uses.
fn loaded_for(made: IrValue) -> Option<IrOp> {
    let mut at = defining_op(made)?;
    while let Some(map) = tile::Map::of(at).filter(|map| users(map.result()).len() == 1) {
        match map.inputs()[..] {
            [input] => at = defining_op(input)?,
            _ => return None,
        }
    }
    let alone = TileOp::Load.is(at) && users(result_of(at, 0)).len() == 1;
    alone.then_some(at)
}

/// The operation in front of which a tile is to be written, so that it is once, if the product stands in a loop that
/// does not change it.
fn invariant_in_loop_of<'c>(made: IrValue<'c>, dot: IrOp<'c>) -> Option<IrOp<'c>> {
    let first = match defining_op(made) {
        Some(op) => next_operation(op)?,
        None => first_of_block(made)?,
    };
    let (mut at, mut in_loop) = (dot, false);
    while !same_block(at, first) {
        at = parent(at)?;
        in_loop |= matches!(ScfOp::of(at), Some(ScfOp::For | ScfOp::While));
    }
    in_loop.then_some(first)
}

/// Whether a thread can have what it multiplies from its own registers, or by shuffles, and keep it.
fn stays_in_registers(made: &TileType, wanted: &TileType) -> bool {
    let values = wanted.layout.as_ref().map_or(0, TileLayout::values);
    values * wanted.elem.bits() <= HELD_REGISTERS * 32 && is_within_warps(made, wanted)
}

/// The axis along which a thread holds more neighbours; the second where both are alike.
fn neighbouring(tile: &TileType) -> usize {
    let along = |axis| {
        let layout = tile.layout.as_ref();
        layout.and_then(|layout| layout.neighbours(&tile.shape, axis).ok())
    };
    usize::from(along(1) >= along(0))
}

/// The axes that are fast in the memory that a load reads for a product, and in its buffer.
fn fast_axes<'c>(load: IrOp<'c>, dot: IrOp<'c>, index: usize) -> Result<[usize; 2], Failed<'c>> {
    // Of windows the channels.
    if load.attribute(WINDOWS).is_ok() {
        return Ok([1, 1]);
    }
    let view = present(load, tile::Load::of(load))?.view();
    let memory = fast_axis(view).map_or(1, |(mode, _)| axis_of(load, mode));
    let how = OperandRead::of(&*mma_of(dot)?, index).map_err(|message| (dot, message))?;
    Ok(match how {
        OperandRead::Vectors => [memory, 0],
        OperandRead::Ldmatrix | OperandRead::Descriptor => [memory, memory],
    })
}

/// The axis of its tile that a mode of a load's view is.
fn axis_of(load: IrOp, mode: usize) -> usize {
    let tile = tile_of(load, result_of(load, 0)).ok();
    let extents = box_extents(&load).ok().flatten();
    let axes = tile
        .zip(extents)
        .and_then(|(tile, extents)| modes_of_axes(&extents, &tile.shape));
    let axis = axes.and_then(|axes| axes.iter().position(|modes| modes.contains(&mode)));
    axis.unwrap_or(mode)
}

/// A buffer of shared memory.
fn allocate_view<'c>(ir: &OpBuilder<'c>, buffer: &View) -> IrValue<'c> {
    let ty = ir.val_type(&Val::View(buffer.clone()));
    ir.value(CuteOp::MemrefAllocSmem, &[], &[], ty)
}

/// A buffer for an operand, of which an axis is fast, and what is known of it.
fn allocate<'c>(ir: &OpBuilder<'c>, tile: &TileType, fast: usize) -> (IrValue<'c>, View) {
    let buffer = buffer_type(tile, fast);
    let allocated = allocate_view(ir, &buffer);
    (allocated, buffer)
}

/// A buffer for an operand that is read by a descriptor.
fn allocate_for_descriptor<'c>(
    ir: &OpBuilder<'c>,
    tile: &TileType,
    buffer: Option<View>,
) -> Result<(IrValue<'c>, View), String> {
    let buffer = buffer.ok_or_else(|| format!("no descriptor describes {tile}"))?;
    let allocated = allocate_view(ir, &buffer);
    Ok((allocated, buffer))
}

/// A buffer with one stage, an axis the fast one.
fn buffer_type(tile: &TileType, fast: usize) -> View {
    let mut size = 1;
    let mut modes = vec![(1, 0); tile.shape.len()];
    let axes = std::iter::once(fast).chain((0..tile.shape.len()).filter(|axis| *axis != fast));
    for axis in axes {
        modes[axis] = (tile.shape[axis], size);
        size *= tile.shape[axis];
    }
    modes.push((1, size));
    let layout = AnyLayout::Plain(Layout::of_modes(modes));
    View::new(tile.elem, Space::Smem, ALIGN, layout)
}
