//! Buffers in shared memory: copies into a stage, reads of a part of one, writes.
use super::super::emits::Emits;
use super::access::Way;
use super::across_bytes::ACROSS;
use super::{Partition, Spread};
use crate::passes::ir_utils::present;
use crate::passes::tile::twins::{OF_BUFFER, exchanged};
use crate::passes::tile::types::{fast_axis, offsets_of, tiled_copy_of, view_of};
use cutec_dialects::atoms::{Issuer, Place};
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::ops::{CuteOp, tile};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::tile::{TRANSPOSED, TileLayout};
use cutec_dialects::types::Vars;
use cutec_dialects::value::{TiledCopyVal, Val};
use cutec_layout::algebra::{composition, left_inverse, product};
use cutec_layout::{AnyLayout, Int, IntTuple, Layout, Tree, Width};
use melior::ir::operation::OperationLike;

impl<'c> Partition<'c> {
    /// `tile.copy_async`: each thread begins its part of an asynchronous copy.
    pub(super) fn begin_copy(&mut self, op: IrOp<'c>) -> Result<(), SemError> {
        let begun = present(tile::CopyAsync::of(op))?;
        let (view, buffer, stage) = (begun.view(), begun.buffer(), begun.stage());
        let at = self.coordinate_of(op)?;
        let copy = tiled_copy_of(op).map_err(SemError::Illegal)?;
        let copy =
            copy.ok_or_else(|| SemError::Illegal("has no `copy`; run tile-stage-operands".into()))?;
        match copy.atom.issuer() {
            Issuer::Thread => {}
            Issuer::Warp | Issuer::Warpgroup => {
                let message = format!("{} is not begun by each thread", copy.atom);
                return Err(SemError::Illegal(message));
            }
        }
        let sizes = |shape: &IntTuple| -> Option<Vec<i64>> {
            let sizes = shape.modes().iter().map(product);
            sizes.map(|size| size.as_static()).collect()
        };
        let unknown = || SemError::Illegal("expects a copy and a buffer of known size".into());
        // What a tiled copy has at once: in one step or several it brings the tile that the buffer has room for.
        let at_once = sizes(&copy.tiled.tile_shape()?).ok_or_else(unknown)?;
        let whole = view_of(buffer).and_then(|view| sizes(view.layout.inner().shape()));
        let mut shape = whole.ok_or_else(unknown)?;
        shape.truncate(at_once.len());
        let (from, coordinates, bounds) = self.at(view, &at, &shape)?;
        let tiled = self.constant(Val::TiledCopy(copy.clone()))?;
        let from = self.of_thread(CuteOp::TiledCopyPartitionS, tiled, from)?;
        let coordinates = self.of_thread(CuteOp::TiledCopyPartitionS, tiled, coordinates)?;
        let to = self.of_thread(CuteOp::TiledCopyPartitionD, tiled, buffer)?;
        let to = self.stage_of(to, 1 + shape.len(), stage)?;
        let spread = TileLayout::new(copy.tiled.layout_tv().clone()).map_err(SemError::Illegal)?;
        // Threads behind those of the copy would do what the first ones do.
        let copying = spread.threads();
        let idle =
            (copying < self.threads).then(|| (copying, (self.threads + copying - 1) / copying));
        self.once_by(idle.as_slice(), |this| {
            this.once_of(&spread, &at_once, |this| {
                let operands = [tiled, from, to, coordinates, bounds];
                this.ir.op(CuteOp::Copy, &operands, &[], &[]);
                Ok(())
            })
        })
    }

    /// `tile.read`: a part of a stage as a vector.
    pub(super) fn read(&mut self, op: IrOp<'c>, to: &Spread) -> Result<IrValue<'c>, SemError> {
        let read = present(tile::Read::of(op))?;
        let buffer = self.as_taken(op, read.buffer())?;
        let stage = read.stage();
        let offsets = offsets_of(op).map_err(SemError::Illegal)?;
        let fragment;
        match tiled_copy_of(op).map_err(SemError::Illegal)? {
            Some(copy) => {
                let tiled = self.constant(Val::TiledCopy(copy.clone()))?;
                let from = self.of_thread(CuteOp::TiledCopyPartitionS, tiled, buffer)?;
                let from = self.block_of(from, &copy, &offsets, to, stage)?;
                fragment = self.fragment(to)?;
                let into = self.held_by(fragment, registers_of(&copy, to)?)?;
                self.ir.op(CuteOp::Copy, &[tiled, from, into], &[], &[]);
            }
            None => {
                let fast = fast_axis(buffer).map_or(0, |(axis, _)| axis);
                let part = self.part_of_stage(buffer, stage, &offsets, to)?;
                if op.attribute(ACROSS).is_ok()
                    && let Some(read) = self.read_across(op, part, fast, to)?
                {
                    return Ok(read);
                }
                if let Some(read) = self.read_words(part, fast, to)? {
                    return Ok(read);
                }
                if let Some(read) = self.read_turned(part, fast, to)? {
                    return Ok(read);
                }
                fragment = self.fragment(to)?;
                let part = self.partition(part, None, fast, to)?;
                self.copy(&part, fragment, to, Way::Load)?;
            }
        }
        self.load_vec(fragment, to)
    }

    /// The buffer as an operation reads or writes it, its axes exchanged where that is of the transpose.
    pub(super) fn as_taken(
        &self,
        op: IrOp<'c>,
        buffer: IrValue<'c>,
    ) -> Result<IrValue<'c>, SemError> {
        match op.attribute(TRANSPOSED) {
            Ok(_) => exchanged(&self.ir, buffer, OF_BUFFER),
            Err(_) => Ok(buffer),
        }
    }

    /// `tile.write`: what the threads hold into a stage.
    pub(super) fn write(&mut self, op: IrOp<'c>) -> Result<(), SemError> {
        let (vector, from) = self.of(op, 0)?;
        let write = present(tile::Write::of(op))?;
        let buffer = self.as_taken(op, write.buffer())?;
        let stage = write.stage();
        if let Some(copy) = tiled_copy_of(op).map_err(SemError::Illegal)? {
            let fragment = self.fragment(&from)?;
            self.store_vec(vector, fragment);
            let tiled = self.constant(Val::TiledCopy(copy.clone()))?;
            let to = self.of_thread(CuteOp::TiledCopyPartitionD, tiled, buffer)?;
            let to = self.stage_of(to, 3, stage)?;
            let held = self.held_by(fragment, registers_of(&copy, &from)?)?;
            return self.once(&from, |this| {
                this.ir.op(CuteOp::Copy, &[tiled, held, to], &[], &[]);
                Ok(())
            });
        }
        let fast = fast_axis(buffer).map_or(0, |(axis, _)| axis);
        let offsets = vec![0; from.tile.shape.len()];
        let part = self.part_of_stage(buffer, stage, &offsets, &from)?;
        if self.write_words(vector, part, fast, &from)? {
            return Ok(());
        }
        let fragment = self.fragment(&from)?;
        self.store_vec(vector, fragment);
        let part = self.partition(part, None, fast, &from)?;
        self.once(&from, |this| this.copy(&part, fragment, &from, Way::Store))
    }

    /// A fragment as instructions take it, which fill or empty these registers of it.
    fn held_by(
        &mut self,
        fragment: IrValue<'c>,
        registers: Layout,
    ) -> Result<IrValue<'c>, SemError> {
        let registers = self.constant(Val::layout(&registers))?;
        self.cute(
            CuteOp::Composition,
            &[fragment, registers],
            &Attrs::default(),
        )
    }

    /// What one thread of a tiled copy has of a view.
    fn of_thread(
        &mut self,
        how: CuteOp,
        tiled: IrValue<'c>,
        whole: IrValue<'c>,
    ) -> Result<IrValue<'c>, SemError> {
        let thread = self.thread();
        self.cute(how, &[tiled, whole, thread], &Attrs::default())
    }

    /// A stage of what has so many modes before that of the stages.
    pub(super) fn stage_of(
        &mut self,
        staged: IrValue<'c>,
        modes: usize,
        stage: IrValue<'c>,
    ) -> Result<IrValue<'c>, SemError> {
        self.slice(staged, vec![None; modes], stage)
    }

    /// A stage, and of the modes before what `kept` says.
    fn slice(
        &mut self,
        staged: IrValue<'c>,
        mut kept: Vec<Option<Int>>,
        stage: IrValue<'c>,
    ) -> Result<IrValue<'c>, SemError> {
        kept.push(Some(Vars::default().fresh(Width::I32, 1)));
        let coord = self.ir.val_type(&Val::coord(kept));
        let coord = self.ir.value(CuteOp::MakeCoord, &[stage], &[], coord);
        self.cute(CuteOp::Slice, &[staged, coord], &Attrs::default())
    }

    /// A part of a stage, of the shape of a tile.
    pub(super) fn part_of_stage(
        &mut self,
        buffer: IrValue<'c>,
        stage: IrValue<'c>,
        offsets: &[i64],
        to: &Spread,
    ) -> Result<IrValue<'c>, SemError> {
        let stage = self.stage_of(buffer, to.tile.shape.len(), stage)?;
        let tile = self.constant(Val::int_tuple(to.tile.shape.iter().copied()))?;
        let numbers = offsets.iter().zip(&to.tile.shape);
        let coord = numbers.map(|(offset, extent)| Some(Int::Static(offset / extent)));
        let coord = self.constant(Val::coord(coord))?;
        self.cute(CuteOp::LocalTile, &[stage, tile, coord], &Attrs::default())
    }

    /// Of a thread's part (V, M, N, stages) of a buffer, the blocks of the tiled copy that a tile needs.
    fn block_of(
        &mut self,
        part: IrValue<'c>,
        copy: &TiledCopyVal,
        offsets: &[i64],
        to: &Spread,
        stage: IrValue<'c>,
    ) -> Result<IrValue<'c>, SemError> {
        let view = view_of(part).ok_or_else(|| SemError::Illegal("expects a view".into()))?;
        let blocks = copy.tiled.tile_shape()?;
        let mut kept = vec![None];
        for (axis, (offset, extent)) in offsets.iter().zip(&to.tile.shape).enumerate() {
            let block = blocks
                .modes()
                .get(axis)
                .and_then(|block| cutec_layout::algebra::product(block).as_static())
                .unwrap_or(1);
            let mode = view.layout.inner().mode(axis + 1);
            let there = mode.and_then(|mode| mode.size().as_static());
            if there == Some(extent / block) {
                kept.push(None);
            } else if *extent == block {
                kept.push(Some(Int::Static(offset / block)));
            } else {
                return Err(SemError::Illegal(format!(
                    "reads {extent} elements along axis {axis}; expects all of them or the {block} of its tiled copy"
                )));
            }
        }
        self.slice(part, kept, stage)
    }
}

/// The registers that the instructions of a tiled copy fill or empty, in the order of a tile's values.
fn registers_of(copy: &TiledCopyVal, to: &Spread) -> Result<Layout, SemError> {
    let shape = to
        .tile
        .shape
        .iter()
        .map(|extent| Tree::Leaf(Int::from(*extent)));
    let whole = Layout::col_major(Tree::Node(shape.collect()));
    let whole = AnyLayout::Plain(whole);
    let parts = match copy.atom.places()[0] == Place::Registers {
        true => copy.tiled.tidfrg_s(&whole)?,
        false => copy.tiled.tidfrg_d(&whole)?,
    };
    let parts = parts.inner();
    let values = to.layout.tv().mode(1).unwrap_or_else(Layout::unit);
    let back = left_inverse(&values)?;
    // (thread, (value, rest), (M, N)): one thread's, as (value, M, N) without the axes that have one block.
    let values = parts.mode(1).into_iter();
    let blocks = parts.mode(2).into_iter().flat_map(|blocks| {
        let modes: Vec<Layout> = blocks.modes().collect();
        modes
            .into_iter()
            .filter(|mode| mode.size().as_static() != Some(1))
    });
    let filled = Layout::concat(values.chain(blocks));
    Ok(composition(&back, &filled)?)
}
