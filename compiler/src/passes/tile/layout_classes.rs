//! Equivalence classes of tiles that have one layout: operands and results of a map, iteration arguments of a loop.
use super::known_ops::{KnownOp, checked_ops, known_ops};
use super::types::Failed;
use crate::passes::control_flow::ControlFlow;
use crate::passes::ir_utils::{blocks, clone, set_operand, uses};
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, argument_of, operands_of, result_of, results_of, value_key,
};
use cutec_dialects::ops::tile;
use cutec_dialects::tile::{TileOp, TileType};
use melior::Context;
use melior::ir::{BlockLike, ValueLike, operation::OperationLike};
use std::collections::{HashMap, HashSet};

/// The tiles of a kernel, in classes that share one layout.
pub(super) struct LayoutClasses<'c> {
    /// Every tile with its type, in the order of the program.
    pub tiles: Vec<(IrValue<'c>, TileType)>,
    /// Where a value stands in `tiles`.
    index: HashMap<usize, usize>,
    /// A tile of the same class; the first is its own.
    parent: Vec<usize>,
}

impl<'c> LayoutClasses<'c> {
    /// Of one function.
    ///
    /// # Errors
    /// The operation whose type of a tile is not legal, and why.
    pub fn of(function: IrOp<'c>) -> Result<Self, (IrOp<'c>, String)> {
        let mut classes = LayoutClasses {
            tiles: Vec::new(),
            index: HashMap::new(),
            parent: Vec::new(),
        };
        let operations = known_ops(function)?;
        for (op, _) in &operations {
            classes.add(*op).map_err(|message| (*op, message))?;
        }
        for (op, known) in operations {
            classes.tie(op, known).map_err(|message| (op, message))?;
        }
        // Parents come first: after this each tile's is the first of its class.
        for tile in 0..classes.parent.len() {
            classes.parent[tile] = classes.parent[classes.parent[tile]];
        }
        Ok(classes)
    }

    /// The first tile of a value's class; `None` where it is no tile.
    pub fn class(&self, value: IrValue<'c>) -> Option<usize> {
        let mut at = *self.index.get(&value_key(value))?;
        while self.parent[at] != at {
            at = self.parent[at];
        }
        Some(at)
    }

    /// The classes of what some products multiply.
    pub fn of_factors(&self, dots: impl Iterator<Item = IrOp<'c>>) -> HashSet<usize> {
        let factors = dots.filter_map(|dot| Some(tile::Dot::of(dot)?.factors()));
        let classes = factors.flatten().filter_map(|factor| self.class(factor));
        classes.collect()
    }

    fn add(&mut self, op: IrOp<'c>) -> Result<(), String> {
        let results = results_of(op);
        let inside = (0..op.region_count()).flat_map(|region| blocks(op, region));
        let arguments = inside
            .flat_map(|block| (0..block.argument_count()).map(move |at| argument_of(block, at)));
        for value in results.chain(arguments) {
            if let Some(tile) = TileType::of(value.r#type()) {
                self.index.insert(value_key(value), self.tiles.len());
                self.parent.push(self.tiles.len());
                self.tiles.push((value, tile?));
            }
        }
        Ok(())
    }

    /// Joins the classes of what an operation takes and gives as it is spread.
    fn tie(&mut self, op: IrOp<'c>, known: KnownOp) -> Result<(), String> {
        match known {
            KnownOp::Tile(TileOp::Map) => {
                for input in operands_of(op) {
                    self.join(Some(input), Some(result_of(op, 0)));
                }
            }
            KnownOp::Tile(kind @ (TileOp::Fold | TileOp::Scan)) => {
                for other in 1..op.operand_count() {
                    self.join(operands_of(op).next(), operands_of(op).nth(other));
                    self.join(Some(result_of(op, 0)), Some(result_of(op, other)));
                }
                if kind == TileOp::Scan {
                    self.join(operands_of(op).next(), Some(result_of(op, 0)));
                }
            }
            // A thread has of each part the same elements.
            KnownOp::Tile(TileOp::Join) => {
                let parts: Vec<IrValue<'c>> = operands_of(op).collect();
                for part in &parts {
                    self.join(parts.first().copied(), Some(*part));
                }
            }
            KnownOp::Tile(TileOp::Gather) => {
                for at in tile::Gather::of(op).map_or_else(Vec::new, tile::Gather::at) {
                    self.join(Some(result_of(op, 0)), Some(at));
                }
            }
            KnownOp::Tile(TileOp::Scatter) => {
                let scatter = tile::Scatter::of(op);
                for at in scatter.map_or_else(Vec::new, tile::Scatter::at) {
                    self.join(scatter.map(tile::Scatter::value), Some(at));
                }
            }
            KnownOp::Tile(TileOp::Atomic) => {
                for input in operands_of(op).skip(1) {
                    self.join(Some(input), Some(result_of(op, 0)));
                }
            }
            KnownOp::Tile(TileOp::Dot) => {
                self.join(tile::Dot::of(op).map(tile::Dot::c), Some(result_of(op, 0)))
            }
            // What an edge of control flow forwards is the same tile on both of its sides.
            KnownOp::ControlFlow => {
                let flow = ControlFlow::of(op)?;
                for edge in flow.into_iter().flat_map(|flow| flow.edges) {
                    for (value, forwarded) in edge.forwarded {
                        self.join(Some(value), Some(forwarded));
                    }
                }
            }
            KnownOp::Tile(
                TileOp::Index
                | TileOp::Grid
                | TileOp::Load
                | TileOp::Windows
                | TileOp::Store
                | TileOp::Splat
                | TileOp::Iota
                | TileOp::Yield
                | TileOp::Reduce
                | TileOp::Broadcast
                | TileOp::Reshape
                | TileOp::Transpose
                | TileOp::Recast
                | TileOp::Extract
                | TileOp::Arrive
                | TileOp::GridBarrier
                | TileOp::Print
                | TileOp::ConvertLayout
                | TileOp::Slice
                | TileOp::CopyAsync
                | TileOp::GatherAsync
                | TileOp::LoadAsync
                | TileOp::Take
                | TileOp::Commit
                | TileOp::Wait
                | TileOp::Read
                | TileOp::Write,
            )
            | KnownOp::ReadGlobal
            | KnownOp::Register
            | KnownOp::Buffer
            | KnownOp::Computation
            | KnownOp::Barrier
            | KnownOp::WarpBarrier
            | KnownOp::Report
            | KnownOp::CopyGroup
            | KnownOp::ProductGroup
            | KnownOp::Ring => {}
        }
        Ok(())
    }

    fn join(&mut self, a: Option<IrValue<'c>>, b: Option<IrValue<'c>>) {
        let mut first = |value: Option<IrValue<'c>>| {
            let mut at = *self.index.get(&value_key(value?))?;
            // On the way each tile gets the parent of its parent, so that ways stay short.
            while self.parent[at] != at {
                self.parent[at] = self.parent[self.parent[at]];
                at = self.parent[at];
            }
            Some(at)
        };
        if let (Some(a), Some(b)) = (first(a), first(b)) {
            self.parent[a.max(b)] = a.min(b);
        }
    }
}

/// Gives every use of a tile of one number its own: what begins with the same zeros need not be spread alike.
pub(super) fn one_for_each_use<'c>(
    context: &'c Context,
    function: IrOp<'c>,
) -> Result<(), Failed<'c>> {
    for op in checked_ops(function)? {
        if !TileOp::Splat.is(op) {
            continue;
        }
        let tile = result_of(op, 0);
        let ir = OpBuilder::new(context, Insertion::Before(op));
        for (user, index) in uses(tile).into_iter().skip(1) {
            let again = ir.insert(clone(op));
            set_operand(user, index, result_of(again, 0));
        }
    }
    Ok(())
}
