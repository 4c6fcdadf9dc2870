//! A product, block by block of k.
use super::super::insert_barriers::ROUND;
use super::super::types::{Failed, mma_of, operand, operand_layout, tile_of};
use crate::passes::walk::{
    attributes, definition, erase, name_of, operand_value, replace, same_block, users,
};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder, integer_value, result_of};
use cutec_dialects::tile::TileType;
use cutec_dialects::value::TiledMmaVal;
use melior::Context;
use melior::ir::{Attribute, operation::OperationLike};
use std::sync::Arc;

/// An operand of a product.
#[derive(Clone, Copy)]
pub(super) enum Factor<'c> {
    /// What a `tile.read` reads, for this product alone.
    Read(IrOp<'c>),
    /// Any other tile.
    Held(IrValue<'c>),
}

/// A product of which an operand is read from a buffer.
pub(super) struct Product<'c> {
    pub dot: IrOp<'c>,
    pub factors: [Factor<'c>; 2],
    /// Parts along k into which it is taken apart: one, unless both operands are read.
    pub blocks: i64,
    mma: Arc<TiledMmaVal>,
    tiles: [TileType; 2],
}

/// Where a read reads: the stage, and the round of the loop it belongs to.
#[derive(Clone, Copy)]
pub(super) struct At<'c> {
    pub stage: IrValue<'c>,
    pub round: Option<i64>,
}

impl<'c> Product<'c> {
    /// A product, of which reads count that `counts` wants; `None` where there is none.
    pub fn of(
        dot: IrOp<'c>,
        counts: impl Fn(IrOp<'c>) -> bool,
    ) -> Result<Option<Self>, Failed<'c>> {
        let mma = mma_of(dot)?;
        let values = [operand(dot, 0)?, operand(dot, 1)?];
        let factors = values.map(|value| match definition(value) {
            Some(op)
                if name_of(op) == "tile.read"
                    && users(value).len() == 1
                    && same_block(op, dot)
                    && counts(op) =>
            {
                Factor::Read(op)
            }
            _ => Factor::Held(value),
        });
        let tiles = [tile_of(dot, values[0])?, tile_of(dot, values[1])?];
        let reads = factors
            .iter()
            .filter(|factor| matches!(factor, Factor::Read(_)));
        let blocks = match reads.count() {
            0 => return Ok(None),
            1 => 1,
            _ => match mma.tiled.tile_size(2).as_static() {
                Some(depth) if depth > 0 && tiles[0].shape[1] % depth == 0 => {
                    tiles[0].shape[1] / depth
                }
                _ => 1,
            },
        };
        Ok(Some(Product {
            dot,
            factors,
            blocks,
            mma,
            tiles,
        }))
    }

    /// The operands of a block, those read that are to be.
    pub fn read(
        &self,
        ir: &mut OpBuilder<'c>,
        block: i64,
        at: Option<At<'c>>,
    ) -> Result<[IrValue<'c>; 2], Failed<'c>> {
        let (mut read, around) = ([None; 2], ir.location);
        // A product goes through one row of sums after another: it begins with all of b.
        for index in [1, 0] {
            let factor = &self.factors[index];
            read[index] = Some(match factor {
                Factor::Held(value) => *value,
                Factor::Read(op) => {
                    ir.location = op.location();
                    let (stage, round) = match at {
                        Some(at) => (at.stage, at.round),
                        None => (operand(*op, 1)?, round_of(*op)),
                    };
                    let mut attrs = attributes(*op, &["copy"]);
                    attrs.push(("offsets", self.offsets(ir, block)));
                    if let Some(round) = round {
                        attrs.push((ROUND, ir.attr(&format!("{round} : i32"))));
                    }
                    let ty = self.part(index).map_err(|message| (self.dot, message))?;
                    let operands = [operand(*op, 0)?, stage];
                    ir.value("tile.read", &operands, &attrs, ty.ir(ir.context()))
                }
            });
        }
        ir.location = around;
        match read {
            [Some(a), Some(b)] => Ok([a, b]),
            _ => Err((self.dot, "an operand is missing".into())),
        }
    }

    fn offsets(&self, ir: &OpBuilder<'c>, block: i64) -> Attribute<'c> {
        let along_k = block * self.tiles[0].shape[1] / self.blocks;
        ir.attr(&format!("array<i64: 0, {along_k}>"))
    }

    /// What is read of an operand at once.
    fn part(&self, index: usize) -> Result<TileType, String> {
        let tile = &self.tiles[index];
        let shape = [tile.shape[0], tile.shape[1] / self.blocks];
        let layout = operand_layout(&self.mma, index, &shape)?;
        Ok(TileType::new(tile.elem, &shape).with_layout(layout))
    }

    /// Adds the product of a block to the sums.
    pub fn multiply(
        &self,
        ir: &OpBuilder<'c>,
        [a, b]: [IrValue<'c>; 2],
        sums: IrValue<'c>,
    ) -> IrValue<'c> {
        let attrs = attributes(self.dot, &["mma"]);
        ir.value(
            "tile.dot",
            &[a, b, sums],
            &attrs,
            melior::ir::ValueLike::r#type(&sums),
        )
    }

    /// The product in place of its operation, which reads are erased with.
    pub fn finish(self, product: IrValue<'c>) {
        replace(result_of(self.dot, 0), product);
        let reads = self.factors.iter().filter_map(|factor| match factor {
            Factor::Read(op) => Some(*op),
            Factor::Held(_) => None,
        });
        // Nothing uses their results any more.
        std::iter::once(self.dot).chain(reads).for_each(erase);
    }

    /// Takes a product apart where it stands.
    pub fn alone(self, context: &'c Context) -> Result<(), Failed<'c>> {
        let mut ir = OpBuilder::new(context, Insertion::Before(self.dot));
        ir.location = self.dot.location();
        let mut sums = operand(self.dot, 2)?;
        let mut next = self.read(&mut ir, 0, None)?;
        for block in 0..self.blocks {
            let now = next;
            if block + 1 < self.blocks {
                next = self.read(&mut ir, block + 1, None)?;
            }
            sums = self.multiply(&ir, now, sums);
        }
        self.finish(sums);
        Ok(())
    }
}

/// The round of a loop that an access belongs to.
fn round_of(op: IrOp) -> Option<i64> {
    op.attribute(ROUND).ok().and_then(integer_value)
}

/// The buffer that an operation on one accesses.
pub(super) fn buffer_of<'c>(op: IrOp<'c>) -> Option<IrValue<'c>> {
    let index = match name_of(op).as_str() {
        "tile.read" => 0,
        "tile.write" => 1,
        "tile.copy" => op.operand_count().checked_sub(2)?,
        _ => return None,
    };
    operand_value(op, index)
}
