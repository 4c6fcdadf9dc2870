//! Tiles that are spread alike: what a map takes and gives, what a loop carries.
use crate::passes::walk::{all_inside, blocks, name_of, operand_value, operations};
use cutec_dialects::builder::{IrOp, IrValue, argument_of, result_of, value_key};
use cutec_dialects::tile::TileType;
use melior::ir::{BlockLike, ValueLike, operation::OperationLike};
use std::collections::HashMap;

/// The tiles of a kernel, in classes that share one layout.
pub(super) struct Classes<'c> {
    /// Every tile with its type, in the order of the program.
    pub tiles: Vec<(IrValue<'c>, TileType)>,
    /// Where a value stands in `tiles`.
    index: HashMap<usize, usize>,
    /// A tile of the same class; the first is its own.
    parent: Vec<usize>,
}

impl<'c> Classes<'c> {
    /// Of one function.
    ///
    /// # Errors
    /// The operation whose type of a tile is not legal, and why.
    pub fn of(function: IrOp<'c>) -> Result<Self, (IrOp<'c>, String)> {
        let mut classes = Classes {
            tiles: Vec::new(),
            index: HashMap::new(),
            parent: Vec::new(),
        };
        let mut operations = Vec::new();
        all_inside(function, &mut operations);
        for op in &operations {
            classes.add(*op).map_err(|message| (*op, message))?;
        }
        for op in operations {
            classes.tie(op);
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

    fn add(&mut self, op: IrOp<'c>) -> Result<(), String> {
        let results = (0..op.result_count()).map(|index| result_of(op, index));
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
    fn tie(&mut self, op: IrOp<'c>) {
        match name_of(op).as_str() {
            "tile.map" => {
                for index in 0..op.operand_count() {
                    self.join(operand_value(op, index), Some(result_of(op, 0)));
                }
            }
            "tile.dot" => self.join(operand_value(op, 2), Some(result_of(op, 0))),
            "scf.for" => {
                // Bounds and step come before what the loop carries, the index before its arguments.
                for block in blocks(op, 0) {
                    let last = operations(block).into_iter().last();
                    for index in 0..op.result_count() {
                        let result = Some(result_of(op, index));
                        self.join(operand_value(op, index + 3), result);
                        self.join(Some(argument_of(block, index + 1)), result);
                        self.join(last.and_then(|last| operand_value(last, index)), result);
                    }
                }
            }
            "scf.if" => {
                for block in (0..op.region_count()).flat_map(|region| blocks(op, region)) {
                    let last = operations(block).into_iter().last();
                    for index in 0..op.result_count() {
                        let yielded = last.and_then(|last| operand_value(last, index));
                        self.join(yielded, Some(result_of(op, index)));
                    }
                }
            }
            _ => {}
        }
    }

    fn join(&mut self, a: Option<IrValue<'c>>, b: Option<IrValue<'c>>) {
        let (a, b) = (a.and_then(|a| self.class(a)), b.and_then(|b| self.class(b)));
        if let (Some(a), Some(b)) = (a, b) {
            self.parent[a.max(b)] = a.min(b);
        }
    }
}
