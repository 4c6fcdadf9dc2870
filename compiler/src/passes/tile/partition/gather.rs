//! `tile.gather` and `tile.scatter`: elements at places that are computed, of a tile through shared memory, of a tensor
//! one by one.
use super::super::coordinate::extent;
use super::super::emits::Emits;
use super::super::types::update_of;
use super::access::Way;
use super::layout_conversion::buffer_of_elements;
use super::scratch::{Scratch, Through};
use super::{Partition, Spread};
use crate::passes::cmpi::{BELOW, cmpi};
use crate::passes::ir_utils::{block_of, present, string_attribute};
use crate::passes::said::say;
use cutec_dialects::builder::{IrBlock, IrOp, IrValue};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, CuteOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::tile::GATHERED_SINCE;
use cutec_dialects::types::Vars;
use cutec_dialects::value::{TupleKind, Val};
use cutec_layout::{Tree, Width};
use melior::ir::{Type, operation::OperationLike};

/// A tile that was written to a buffer, to be gathered from by operations of its block.
pub(super) struct Gathered<'c> {
    block: IrBlock<'c>,
    vector: IrValue<'c>,
    scratch: Scratch,
    buffer: IrValue<'c>,
}

impl<'c> Partition<'c> {
    /// The elements of a tile at indices: the whole tile is written to shared memory, and each thread reads what it is
    /// to have.
    pub(super) fn gathered(&mut self, op: IrOp<'c>, to: &Spread) -> Result<IrValue<'c>, SemError> {
        let (vector, from) = self.of(op, 0)?;
        let (indices, places) = self.of(op, 1)?;
        let elem = from.tile.elem;
        let (vector, from) = match elem {
            Elem::I1 => {
                let bytes = from.as_carried();
                let ty = bytes.vector(&self.ir);
                (self.ir.value(ArithOp::Extui, &[vector], &[], ty), bytes)
            }
            _ => (vector, from),
        };
        self.within_a_block("`gather` of a tile")?;
        let buffer = self.buffer_with(op, (vector, &from), to)?;
        let ty = self.ir.ty(from.tile.elem.value_type());
        let coord = self.coordinate_type(1);
        let mut numbers = Vec::new();
        for index in self.elements(indices, &places) {
            let at = self.ir.value(CuteOp::MakeCoord, &[index], &[], coord);
            numbers.push(self.ir.value(CuteOp::MemrefLoad, &[buffer, at], &[], ty));
        }
        if elem == Elem::I1 {
            let ty = self.ir.ty(elem.value_type());
            for number in &mut numbers {
                *number = self.ir.value(ArithOp::Trunci, &[*number], &[], ty);
            }
        }
        Ok(self.gather(&numbers, self.ir.number_type(to.tile.elem)))
    }

    /// A buffer with a tile that others of its threads gather from.
    fn buffer_with(
        &mut self,
        op: IrOp<'c>,
        (vector, from): (IrValue<'c>, &Spread),
        to: &Spread,
    ) -> Result<IrValue<'c>, SemError> {
        let (scratch, fast) = buffer(from, to)?;
        // The tile that was written last, in this block, is still there.
        let block = block_of(op);
        if let Some(known) = &self.gathered
            && (known.block, known.vector, &known.scratch) == (block, vector, &scratch)
        {
            return Ok(known.buffer);
        }
        let buffer = self.scratch(op, scratch.clone())?;
        // What the iteration before wrote has been read by all; behind a loop the buffer may take the place of operands.
        if self.is_taken_again(op) || self.staged {
            self.barrier();
        }
        let fragment = self.fragment(from)?;
        self.store_vec(vector, fragment);
        let part = self.partition(buffer, None, fast, from)?;
        self.once(from, |this| this.copy(&part, fragment, from, Way::Store))?;
        self.barrier();
        self.gathered = Some(Gathered {
            block,
            vector,
            scratch,
            buffer,
        });
        Ok(buffer)
    }

    /// The type of a coordinate of run-time integers along so many axes.
    pub(super) fn coordinate_type(&self, rank: usize) -> Type<'c> {
        let mut vars = Vars::default();
        let mut leaf = || Tree::Leaf(Some(vars.fresh(Width::I32, 1)));
        let tree = match rank {
            1 => leaf(),
            _ => Tree::Node((0..rank).map(|_| leaf()).collect()),
        };
        self.ir.val_type(&Val::Tuple(TupleKind::Coord, tree))
    }

    /// Writes each element of a tile to its place, or updates what is there; nothing outside of the view.
    pub(super) fn scatter(&mut self, op: IrOp<'c>) -> Result<(), SemError> {
        let (vector, from) = self.of(op, 0)?;
        let scatter = present(tile::Scatter::of(op))?;
        if let Some(why) = string_attribute(op, GATHERED_SINCE) {
            say(
                op.location(),
                format!("scattered element by element: {why}"),
            );
        }
        let view = scatter.view();
        let kind = update_of(op);
        let rank = op.operand_count() - 2;
        let mut axes = Vec::new();
        for axis in 0..rank {
            let (at, spread) = self.of(op, 2 + axis)?;
            let extent = extent(&self.ir, view, axis, Width::I32)?;
            axes.push((self.elements(at, &spread), extent));
        }
        let values = self.elements(vector, &from);
        // Where an element lies, and whether that is inside: as numbers without sign, so that both sides are asked for at once.
        let place = |this: &Self, value: usize| {
            let at: Vec<IrValue<'c>> = axes.iter().map(|(places, _)| places[value]).collect();
            let sides = at.iter().zip(&axes);
            let inside = this.all(sides.map(|(at, (_, end))| cmpi(&this.ir, BELOW, *at, *end)));
            (at, inside)
        };
        if self.scatter_vectors(op, &from, &values, place)? {
            return Ok(());
        }
        let coord = self.coordinate_type(rank);
        let copy = match kind {
            Some(kind) => self.copy_of_updated(op, kind, &from)?,
            None => None,
        };
        self.once(&from, |this| {
            for (value, number) in values.iter().enumerate() {
                let (at, inside) = place(this, value);
                let at = this.ir.value(CuteOp::MakeCoord, &at, &[], coord);
                match kind {
                    Some(kind) => this.update_element(copy, kind, [view, at, *number, inside])?,
                    None => this.only_if(inside, |this| {
                        let operands = [*number, view, at];
                        this.ir.op(CuteOp::MemrefStore, &operands, &[], &[]);
                        Ok(())
                    })?,
                }
            }
            Ok(())
        })
    }
}

/// The whole tile that is gathered from, and the axis along which its elements are neighbours.
fn buffer(from: &Spread, to: &Spread) -> Result<(Scratch, usize), SemError> {
    let (layout, fast) = buffer_of_elements(from, to)?;
    let scratch = Scratch::of(Through::Gather, from.tile.elem, layout);
    Ok((scratch, fast))
}

/// What is gathered from, and so is.
pub(super) fn scratch(from: &Spread, to: &Spread) -> Result<Scratch, SemError> {
    buffer(from, to).map(|(scratch, _)| scratch)
}
