//! Register pipelining of a product: its operands are read block by block of k.
use super::super::insert_barriers::ITERATION;
use super::super::types::{
    Failed, mma_of, operand_layout, present, reads_shared_memory, slice_registers, tile_of,
};
use super::super::warpgroup_products::REASON;
use crate::passes::ir_utils::{
    attributes, defining_op, erase, replace_all_uses, same_block, users,
};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder, integer_value, result_of};
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::tile::{PRECISION, TRANSPOSED, TileType};
use cutec_dialects::value::TiledMmaVal;
use melior::Context;
use melior::ir::{Attribute, operation::OperationLike};
use std::sync::Arc;

/// An operand of a product.
#[derive(Clone, Copy)]
pub(super) enum Factor<'c> {
    /// What a `tile.read` reads, for this product alone.
    Read(IrOp<'c>, Source),
    /// Any other tile: registers, of which a block of k is a slice.
    Held(IrValue<'c>),
}

impl<'c> Factor<'c> {
    /// The operation that reads it from its buffer.
    pub fn read(self) -> Option<IrOp<'c>> {
        match self {
            Factor::Read(read, _) => Some(read),
            Factor::Held(_) => None,
        }
    }
}

/// The buffer that an operand is read from, as the loop of the product sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A ring of stages that the loop fills for later iterations.
    Ring,
    /// One that nothing in the loop writes: an invariant operand.
    Resident,
    /// One that this iteration writes before the product: a computed operand. It cannot be read ahead.
    Written,
}

impl Source {
    /// Whether a block can be read before the operations in front of the product have run.
    fn is_ahead(self) -> bool {
        match self {
            Source::Ring | Source::Resident => true,
            Source::Written => false,
        }
    }
}

/// The operands of a block of k; `None` where one is read only when the block is multiplied.
pub(super) type Operands<'c> = [Option<IrValue<'c>>; 2];

/// A product of which an operand is read from a buffer.
pub(super) struct Product<'c> {
    pub dot: IrOp<'c>,
    pub factors: [Factor<'c>; 2],
    /// Blocks of k that are multiplied one after the other.
    pub blocks: i64,
    mma: Arc<TiledMmaVal>,
    tiles: [TileType; 2],
}

/// Where a read reads: the stage, and the iteration of the loop it belongs to.
#[derive(Clone, Copy)]
pub(super) struct At<'c> {
    pub stage: IrValue<'c>,
    pub iteration: Option<i64>,
}

impl<'c> Product<'c> {
    /// A product that reads an operand ahead, from where `source` says; `None` where it reads none so.
    pub fn of(
        dot: IrOp<'c>,
        source: impl Fn(IrOp<'c>) -> Source,
    ) -> Result<Option<Self>, Failed<'c>> {
        let mma = mma_of(dot)?;
        // What reads shared memory itself is begun as a whole.
        if reads_shared_memory(&mma) {
            return Ok(None);
        }
        let operands = present(dot, tile::Dot::of(dot))?;
        let values = [operands.a(), operands.b()];
        let factors = values.map(|value| match defining_op(value) {
            Some(op) if TileOp::Read.is(op) && users(value).len() == 1 && same_block(op, dot) => {
                Factor::Read(op, source(op))
            }
            _ => Factor::Held(value),
        });
        let tiles = [tile_of(dot, values[0])?, tile_of(dot, values[1])?];
        if !factors.iter().any(Factor::is_ahead) {
            return Ok(None);
        }
        let mut product = Product {
            dot,
            factors,
            blocks: 1,
            mma,
            tiles,
        };
        let [a, _] = &product.tiles;
        if let Some(depth) = product.mma.tiled.tile_size(2).as_static()
            && depth > 0
            && a.shape[1] % depth == 0
        {
            product.blocks = a.shape[1] / depth;
            let (first, last) = (
                product.can_slice(0)?,
                product.can_slice(product.blocks - 1)?,
            );
            product.blocks = if first && last { product.blocks } else { 1 };
        }
        Ok(Some(product))
    }

    /// Whether the registers of each operand that is held contain those of a block.
    fn can_slice(&self, block: i64) -> Result<bool, Failed<'c>> {
        for index in 0..2 {
            if matches!(self.factors[index], Factor::Held(_)) && self.blocks > 1 {
                let part = self.part(index).map_err(|message| (self.dot, message))?;
                let offsets = [0, self.along_k(block)];
                let found = slice_registers(&self.tiles[index], &part, &offsets);
                if found.map_err(|message| (self.dot, message))?.is_none() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The operands of a block that can be read before the operations in front of the product have run.
    pub fn read_ahead(
        &self,
        ir: &mut OpBuilder<'c>,
        block: i64,
        at: Option<At<'c>>,
    ) -> Result<Operands<'c>, Failed<'c>> {
        self.read_some(ir, block, at, |_, source| source.is_ahead())
    }

    /// The operands of a block, where the product stands.
    pub fn read(
        &self,
        ir: &mut OpBuilder<'c>,
        block: i64,
        at: Option<At<'c>>,
    ) -> Result<Operands<'c>, Failed<'c>> {
        self.read_some(ir, block, at, |_, _| true)
    }

    /// All operands of a block, of which some may have been read ahead.
    pub fn complete(
        &self,
        ir: &mut OpBuilder<'c>,
        block: i64,
        at: At<'c>,
        ahead: Operands<'c>,
    ) -> Result<Operands<'c>, Failed<'c>> {
        let late = self.read_some(ir, block, Some(at), |index, _| ahead[index].is_none())?;
        Ok([0, 1].map(|index| ahead[index].or(late[index])))
    }

    fn read_some(
        &self,
        ir: &mut OpBuilder<'c>,
        block: i64,
        at: Option<At<'c>>,
        now: impl Fn(usize, Source) -> bool,
    ) -> Result<Operands<'c>, Failed<'c>> {
        let (mut read, around) = ([None; 2], ir.location);
        // A product goes through one row of sums after another: it begins with all of b.
        for index in [1, 0] {
            let factor = &self.factors[index];
            read[index] = match factor {
                // A slice of it is taken where it is multiplied.
                Factor::Held(_) => None,
                Factor::Read(_, source) if !now(index, *source) => None,
                Factor::Read(op, source) => {
                    ir.location = op.location();
                    let access = present(*op, tile::Read::of(*op))?;
                    let (stage, iteration) = match (source, at) {
                        (Source::Ring, Some(at)) => (at.stage, at.iteration),
                        _ => (access.stage(), iteration_of(*op)),
                    };
                    let mut attrs = attributes(*op, &["copy", TRANSPOSED]);
                    attrs.push(("offsets", self.offsets(ir, block)));
                    if let Some(iteration) = iteration {
                        attrs.push((ITERATION, ir.integer(iteration, ir.integer_type(32))));
                    }
                    let ty = self.part(index).map_err(|message| (self.dot, message))?;
                    let operands = [access.buffer(), stage];
                    Some(ir.value(TileOp::Read, &operands, &attrs, ty.ir(ir.context())))
                }
            };
        }
        ir.location = around;
        Ok(read)
    }

    /// Where a block begins along k.
    fn along_k(&self, block: i64) -> i64 {
        block * self.tiles[0].shape[1] / self.blocks
    }

    fn offsets(&self, ir: &OpBuilder<'c>, block: i64) -> Attribute<'c> {
        ir.i64_array(&[0, self.along_k(block)])
    }

    /// What is read of an operand at once.
    fn part(&self, index: usize) -> Result<TileType, String> {
        let tile = &self.tiles[index];
        let shape = [tile.shape[0], tile.shape[1] / self.blocks];
        let layout = operand_layout(&self.mma, index, &shape)?;
        Ok(TileType::new(tile.elem, &shape).with_layout(layout))
    }

    /// Adds the product of a block, of which these operands are read, to the sums.
    pub fn multiply(
        &self,
        ir: &OpBuilder<'c>,
        block: i64,
        read: Operands<'c>,
        sums: IrValue<'c>,
    ) -> Result<IrValue<'c>, Failed<'c>> {
        let mut operands = Vec::new();
        for (index, factor) in self.factors.iter().enumerate() {
            operands.push(match (factor, read[index]) {
                (_, Some(read)) => read,
                (Factor::Held(value), None) if self.blocks == 1 => *value,
                (Factor::Held(value), None) => {
                    let attrs = [("offsets", self.offsets(ir, block))];
                    let part = self.part(index).map_err(|message| (self.dot, message))?;
                    ir.value(TileOp::Slice, &[*value], &attrs, part.ir(ir.context()))
                }
                (Factor::Read(..), None) => {
                    return Err((self.dot, "an operand is missing".into()));
                }
            });
        }
        operands.push(sums);
        let attrs = attributes(self.dot, &["mma", PRECISION, REASON]);
        Ok(ir.value(
            TileOp::Dot,
            &operands,
            &attrs,
            melior::ir::ValueLike::r#type(&sums),
        ))
    }

    /// The product in place of its operation, which reads are erased with.
    pub fn finish(self, product: IrValue<'c>) {
        replace_all_uses(result_of(self.dot, 0), product);
        let reads = self.factors.iter().filter_map(|factor| match factor {
            Factor::Read(op, _) => Some(*op),
            Factor::Held(_) => None,
        });
        // Nothing uses their results any more.
        std::iter::once(self.dot).chain(reads).for_each(erase);
    }

    /// What it adds to.
    pub fn sums(&self) -> Result<IrValue<'c>, Failed<'c>> {
        Ok(present(self.dot, tile::Dot::of(self.dot))?.c())
    }

    /// Takes a product apart where it stands.
    pub fn alone(self, context: &'c Context) -> Result<(), Failed<'c>> {
        let mut ir = OpBuilder::new(context, Insertion::Before(self.dot));
        ir.location = self.dot.location();
        let mut sums = self.sums()?;
        let mut next = self.read(&mut ir, 0, None)?;
        for block in 0..self.blocks {
            let now = next;
            if block + 1 < self.blocks {
                next = self.read(&mut ir, block + 1, None)?;
            }
            sums = self.multiply(&ir, block, now, sums)?;
        }
        self.finish(sums);
        Ok(())
    }
}

impl Factor<'_> {
    /// Whether blocks of it are read ahead.
    pub fn is_ahead(&self) -> bool {
        match self {
            Factor::Read(_, source) => source.is_ahead(),
            Factor::Held(_) => false,
        }
    }
}

/// The iteration of a loop that an access belongs to.
fn iteration_of(op: IrOp) -> Option<i64> {
    op.attribute(ITERATION).ok().and_then(integer_value)
}

/// The buffer that an operation on one accesses.
pub(super) fn buffer_of<'c>(op: IrOp<'c>) -> Option<IrValue<'c>> {
    let read = tile::Read::of(op).map(tile::Read::buffer);
    let write = || tile::Write::of(op).map(tile::Write::buffer);
    let copy = || tile::CopyAsync::of(op).map(tile::CopyAsync::buffer);
    let gathered = || tile::GatherAsync::of(op).map(tile::GatherAsync::buffer);
    read.or_else(write).or_else(copy).or_else(gathered)
}
