//! Numbers that an iteration loads and places of its tiles depend on: the pages of a cache, or the blocks of a sparse matrix.
//!
//! What begins a tile iterations ahead has to have them. So each is loaded one iteration before it is needed there, and the loop carries it.
use crate::passes::cmpi::{LESS, cmpi};
use crate::passes::tile::rematerialize::{Bounds, Rematerialization};
use crate::passes::tile::types::Failed;
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, IrValue, OpBuilder, argument_of, operation_key, region_with_block,
    result_of, results_of, value_key,
};
use cutec_dialects::ops::ScfOp;
use melior::ir::ValueLike;
use std::collections::{HashMap, HashSet};

/// The loads of a loop, each once.
pub(super) struct Numbers<'c> {
    body: IrBlock<'c>,
    loads: Vec<IrOp<'c>>,
}

impl<'c> Numbers<'c> {
    pub fn of(body: IrBlock<'c>, mut loads: Vec<IrOp<'c>>) -> Self {
        let mut seen = HashSet::new();
        loads.retain(|load| seen.insert(operation_key(*load)));
        Numbers { body, loads }
    }

    pub fn is_empty(&self) -> bool {
        self.loads.is_empty()
    }

    /// Loads those of the iteration with an index, of a loop up to a bound; beyond the last one they are zeros, and nothing is read.
    pub fn load(
        &self,
        ir: &mut OpBuilder<'c>,
        (index, upper): (IrValue<'c>, IrValue<'c>),
    ) -> Result<Vec<IrValue<'c>>, Failed<'c>> {
        if self.loads.is_empty() {
            return Ok(Vec::new());
        }
        let around = ir.insertion;
        let repeat = Rematerialization { body: self.body };
        let there = cmpi(ir, LESS, index, upper);
        let types = self.loads.iter().map(|load| result_of(*load, 0).r#type());
        let types: Vec<_> = types.collect();
        let (inside, block) = region_with_block(&[]);
        ir.insertion = Insertion::End(block);
        let (mut loaded, mut clones) = (Vec::new(), HashMap::new());
        for load in &self.loads {
            loaded.push(repeat.for_index(ir, result_of(*load, 0), index, &mut clones)?);
        }
        ir.op(ScfOp::Yield, &loaded, &[], &[]);
        let (beyond, block) = region_with_block(&[]);
        ir.insertion = Insertion::End(block);
        let zeros: Vec<IrValue> = types.iter().map(|ty| ir.constant_of(0, *ty)).collect();
        ir.op(ScfOp::Yield, &zeros, &[], &[]);
        ir.insertion = around;
        let branch = ir.op_with_regions(ScfOp::If, &[there], &[], &types, vec![inside, beyond]);
        Ok(results_of(branch).collect())
    }

    /// Those of each of the first iterations of a loop.
    pub fn of_first(
        &self,
        ir: &mut OpBuilder<'c>,
        bounds: Bounds<'c>,
        iterations: i64,
    ) -> Result<Vec<Vec<IrValue<'c>>>, Failed<'c>> {
        let mut index = bounds.lower;
        let of_iteration = |iteration: i64| {
            if iteration > 0 && !self.is_empty() {
                index = bounds.next(ir, index);
            }
            self.load(ir, (index, bounds.upper))
        };
        (0..iterations).map(of_iteration).collect()
    }

    /// Those of the iteration so many later.
    pub fn ahead(
        &self,
        ir: &mut OpBuilder<'c>,
        bounds: Bounds<'c>,
        iterations: i64,
    ) -> Result<Vec<IrValue<'c>>, Failed<'c>> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let index = bounds.ahead(ir, argument_of(self.body, 0), iterations);
        self.load(ir, (index, bounds.upper))
    }

    /// What is known of the iteration that such numbers are of, for what is computed of them.
    pub fn known(&self, numbers: &[IrValue<'c>]) -> HashMap<usize, IrValue<'c>> {
        let loads = self.loads.iter().map(|load| value_key(result_of(*load, 0)));
        loads.zip(numbers.iter().copied()).collect()
    }
}
