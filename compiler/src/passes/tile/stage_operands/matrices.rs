//! Reads by `ldmatrix`, and writes by `stmatrix`, of what threads hold as a product has its sums or a factor, or as the transpose of these.
use super::super::computed_operand::boxed;
use super::super::matrix_copies::{load_of_sums, store_of_sums};
use super::super::result_store::product_of_sums;
use super::super::smem_tile;
use super::super::twins::exchanged_buffer;
use super::super::types::{fast_axis, mma_of, operand_layout, transposed};
use super::Staging;
use super::copies::{OperandRead, read_atom};
use crate::passes::ir_utils::set_attribute;
use cutec_dialects::builder::{IrOp, IrValue, OpBuilder, result_of};
use cutec_dialects::ops::TileOp;
use cutec_dialects::tile::{TRANSPOSED, TileType};
use cutec_dialects::types::tiled_mma;
use cutec_dialects::value::{TiledMmaVal, Val, View};
use cutec_layout::{Layout, Tiler};
use std::sync::Arc;

/// Bits of the elements of which a matrix has two in a register, as instructions take these.
const BITS: i64 = 16;

/// How threads read a tile from a buffer.
pub(super) struct MatrixRead {
    copy: Val,
    /// The transpose as it is read, where that is what a product has.
    transposed: Option<TileType>,
}

impl MatrixRead {
    /// Of a buffer of which an axis is the fast one, for products among these; `None` where threads hold the tile in another way.
    pub fn of(tile: &TileType, (buffer, fast): (&View, usize), dots: &[IrOp]) -> Option<Self> {
        let as_it_is = copy_of(tile, (buffer, fast), dots).map(|copy| MatrixRead {
            copy,
            transposed: None,
        });
        as_it_is.or_else(|| {
            let turned = transposed(tile)?;
            let buffer = exchanged_buffer(buffer).ok()?;
            Some(MatrixRead {
                copy: copy_of(&turned, (&buffer, 1 - fast), dots)?,
                transposed: Some(turned),
            })
        })
    }
}

fn copy_of(tile: &TileType, (buffer, fast): (&View, usize), dots: &[IrOp]) -> Option<Val> {
    if let Some(mma) = product_of_sums(tile, dots)
        && let Some(copy) = load_of_sums(&mma, buffer, fast)
    {
        return Some(copy);
    }
    // Pairs of neighbours are read as fast by vectors, and under other things.
    if tile.elem.bits() != BITS || fast != 0 {
        return None;
    }
    let held = tile.layout.as_ref()?;
    let factors = dots.iter().flat_map(|dot| [(*dot, 0), (*dot, 1)]);
    factors.into_iter().find_map(|(dot, index)| {
        let mma = mma_of(dot).ok()?;
        let is_held = |mma: &TiledMmaVal, index: usize| {
            let layout = operand_layout(mma, index, &tile.shape);
            let by_matrices = OperandRead::of(mma, index) == Ok(OperandRead::Ldmatrix);
            by_matrices && layout.is_ok_and(|layout| layout.is_as(held, &tile.shape))
        };
        if is_held(&mma, index) {
            return read_atom(&mma, index, tile, buffer, fast).ok().flatten();
        }
        let words = INSTRUCTIONS.into_iter();
        let mut words = words.filter_map(|along_k| of_words(&mma, index, along_k));
        let words = words.find(|words| is_held(words, 1))?;
        read_atom(&words, 1, tile, buffer, fast).ok().flatten()
    })
}

/// Instructions along k of which one `ldmatrix` brings words, the better first.
const INSTRUCTIONS: [i64; 2] = [2, 1];

/// The product whose second factor is that of a product as words of several neighbouring rows (`word_loads.rs`): for each instruction of it they are
/// eight.
fn of_words(mma: &TiledMmaVal, index: usize, along_k: i64) -> Option<Arc<TiledMmaVal>> {
    let atoms = mma.tiled.atom_layout_mnk();
    let [others, own, slices] = [1 - index, index, 2].map(|axis| atoms.mode(axis));
    let atoms = Layout::concat([others?, own?, slices?]);
    let depth = along_k * mma.atom.shape()[2];
    let along_k = Tiler::Layout(Layout::scalar(depth, 1));
    let order = Tiler::Tile(vec![Tiler::All, Tiler::All, along_k]);
    match tiled_mma(mma.atom, atoms, order).ok()? {
        Val::TiledMma(mma) => Some(mma),
        _ => None,
    }
}

/// How threads write a tile to a buffer of which an axis is the fast one, and whether it is the transpose of that, which they hold; `None` where they
/// write vectors.
fn write_of(tile: &TileType, (buffer, fast): (&View, usize), dots: &[IrOp]) -> Option<(Val, bool)> {
    let copy = |tile: &TileType, buffer: &View, fast: usize| {
        let mma = product_of_sums(tile, dots)?;
        store_of_sums(&mma, buffer, fast)
    };
    let as_it_is = copy(tile, buffer, fast).map(|copy| (copy, false));
    as_it_is.or_else(|| {
        let buffer = exchanged_buffer(buffer).ok()?;
        Some((copy(&transposed(tile)?, &buffer, 1 - fast)?, true))
    })
}

impl<'c> Staging<'c> {
    /// Writes what is computed to a stage, by `stmatrix` or by vectors.
    pub(super) fn write_by(
        &self,
        ir: &OpBuilder<'c>,
        made: IrValue<'c>,
        tile: &TileType,
        (allocated, buffer): (IrValue<'c>, &View),
        stage: IrValue<'c>,
    ) {
        let (mut made, mut attrs) = (made, Vec::new());
        let fast = fast_axis(allocated).map_or(0, |(axis, _)| axis);
        if let Some((copy, is_transposed)) = write_of(tile, (buffer, fast), &self.dots) {
            attrs.push(("copy", ir.type_attr(ir.val_type(&copy))));
            if is_transposed && let Some(turned) = transposed(tile) {
                attrs.push((TRANSPOSED, ir.unit()));
                let ty = turned.ir(ir.context());
                made = ir.value(TileOp::Transpose, &[made], &[], ty);
            }
        }
        ir.op(TileOp::Write, &[made, allocated, stage], &attrs, &[]);
    }

    /// The buffer of a stage for a tile that a tensor map brings, and how threads read it from there, where that is not by vectors.
    ///
    /// # Errors
    /// Why no tensor map brings it, as a clause.
    pub(super) fn buffer_of_box(
        &self,
        load: IrOp<'c>,
        tile: &TileType,
    ) -> Result<(View, Option<MatrixRead>), String> {
        let (tensor_box, buffer) = boxed(load, tile, self.function)?;
        let fast = tensor_box.fast();
        let matrices = || {
            let pieces = smem_tile::of_descriptor(tile, fast)?;
            tensor_box.load(&pieces).ok()?;
            let by = MatrixRead::of(tile, (&pieces, fast), &self.dots)?;
            Some((pieces, Some(by)))
        };
        Ok(matrices().unwrap_or((buffer, None)))
    }

    /// Reads a tile from a stage, by `ldmatrix` or by vectors; gives the tile, and what reads it.
    pub(super) fn read_by(
        &self,
        ir: &OpBuilder<'c>,
        from: (IrValue<'c>, IrValue<'c>),
        tile: &TileType,
        by: Option<MatrixRead>,
    ) -> (IrValue<'c>, IrOp<'c>) {
        let (copy, transposed) = match by {
            Some(by) => (Some(by.copy), by.transposed),
            None => (None, None),
        };
        let reads = self.reads(ir, from, transposed.as_ref().unwrap_or(tile), copy);
        let read = result_of(reads, 0);
        if transposed.is_none() {
            return (read, reads);
        }
        set_attribute(reads, TRANSPOSED, ir.unit());
        let ty = tile.ir(ir.context());
        (ir.value(TileOp::Transpose, &[read], &[], ty), reads)
    }
}
