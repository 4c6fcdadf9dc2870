//! The role that loads: the control flow around the copies, and what their coordinates are computed of.
use super::super::emits::Emits;
use super::emit::Emit;
use super::epilogue::PiecewiseLoad;
use super::ring::Ring;
use crate::passes::ir_utils::{
    attributes, blocks, clone, defining_op, operations, parent, set_operand,
};
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, IrValue, argument_of, operands_of, operation_key, region_with_block,
    result_of, results_of, value_key,
};
use cutec_dialects::ops::{NvvmOp, ScfOp};
use cutec_dialects::semantics::SemError;
use melior::ir::{Region, ValueLike, operation::OperationLike};
use std::collections::{HashMap, HashSet};

/// Emits the role: one thread of the warp begins the copies. Blocks that stay have the number of a block, which becomes that
/// of a tile, and how many tiles there are.
pub(super) fn role<'c>(
    emit: &mut Emit<'c>,
    rings: &[Ring<'c>],
    epilogue: &[PiecewiseLoad<'c>],
    body: IrBlock<'c>,
    shared: &HashSet<usize>,
    tiles: Option<(IrOp<'c>, IrValue<'c>)>,
) -> Result<(), SemError> {
    let mut around = HashSet::new();
    for ring in rings {
        let op = ring.copies.first().map(|copy| copy.op);
        let ancestors = std::iter::successors(op.and_then(parent), |op| parent(*op));
        around.extend(ancestors.map(operation_key));
    }
    let elected = emit.ir.value(NvvmOp::ElectSync, &[], &[], emit.ir.ty("i1"));
    emit.only_if(elected, |emit| {
        for ring in rings.iter().filter(|ring| ring.repeats) {
            ring.begin_to_load(emit)?;
        }
        let role = |emit: &mut Emit<'c>, known| {
            let mut role = Role {
                emit,
                rings,
                epilogue,
                around,
                shared,
                known,
            };
            role.block(body)
        };
        match tiles {
            None => role(emit, HashMap::new()),
            Some((block, count)) => emit.rounds(count, |emit, tile| {
                role(
                    emit,
                    HashMap::from([(value_key(result_of(block, 0)), tile)]),
                )?;
                emit.ir.op(ScfOp::Yield, &[], &[], &[]);
                Ok(())
            }),
        }
    })
}

struct Role<'a, 'c> {
    emit: &'a mut Emit<'c>,
    rings: &'a [Ring<'c>],
    epilogue: &'a [PiecewiseLoad<'c>],
    /// Operations that have a copy inside.
    around: HashSet<usize>,
    /// Operations in front of the roles.
    shared: &'a HashSet<usize>,
    /// What values of the kernel are in this role.
    known: HashMap<usize, IrValue<'c>>,
}

impl<'c> Role<'_, 'c> {
    fn block(&mut self, block: IrBlock<'c>) -> Result<(), SemError> {
        for op in operations(block) {
            let ring = self.rings.iter().find(|ring| ring.copies[0].op == op);
            if let Some(ring) = ring {
                self.fill(ring)?;
            } else if let Some(load) = self.epilogue.iter().find(|load| load.load() == op) {
                self.fill_for_epilogue(load)?;
            } else if self.around.contains(&operation_key(op)) {
                match ScfOp::of(op) {
                    Some(ScfOp::For) => self.repeat(op)?,
                    _ => self.branch(op)?,
                }
            }
        }
        Ok(())
    }

    fn fill(&mut self, ring: &Ring<'c>) -> Result<(), SemError> {
        self.emit.ir.location = ring.copies[0].op.location();
        let mut coordinates = Vec::new();
        for copy in &ring.copies {
            let begins: Vec<IrValue<'c>> = copy.tensor_box.begins().collect();
            let mut here = HashMap::new();
            for begin in begins {
                here.insert(value_key(begin), self.value(begin));
            }
            let value = |_: Option<usize>, value: IrValue<'c>| {
                here.get(&value_key(value)).copied().unwrap_or(value)
            };
            coordinates.push(copy.tensor_box.coordinates(&self.emit.ir, value)?);
        }
        ring.fill(self.emit, &coordinates)
    }

    fn fill_for_epilogue(&mut self, load: &PiecewiseLoad<'c>) -> Result<(), SemError> {
        self.emit.ir.location = load.load().location();
        let mut here = HashMap::new();
        for begin in load.begins() {
            here.insert(value_key(begin), self.value(begin));
        }
        let value = |value: IrValue<'c>| here.get(&value_key(value)).copied().unwrap_or(value);
        load.fill(self.emit, self.rings, value)
    }

    /// A loop around copies, without what it carries.
    fn repeat(&mut self, of: IrOp<'c>) -> Result<(), SemError> {
        self.emit.ir.location = of.location();
        let bounds: Vec<IrValue<'c>> = operands_of(of).take(3).collect();
        let bounds: Vec<IrValue<'c>> = bounds.into_iter().map(|bound| self.value(bound)).collect();
        let Some(body) = blocks(of, 0).into_iter().next() else {
            return Ok(());
        };
        let index = argument_of(body, 0);
        let (region, block) = region_with_block(&[(index.r#type(), of.location())]);
        self.inside(block, |role| {
            role.known.insert(value_key(index), argument_of(block, 0));
            role.block(body)
        })?;
        let attrs = attributes(of, &["unsignedCmp"]);
        self.emit
            .ir
            .op_with_regions(ScfOp::For, &bounds, &attrs, &[], vec![region]);
        Ok(())
    }

    fn branch(&mut self, of: IrOp<'c>) -> Result<(), SemError> {
        self.emit.ir.location = of.location();
        let condition = operands_of(of).next();
        let condition = condition.map(|condition| self.value(condition));
        let mut regions = Vec::new();
        for index in 0..2 {
            match blocks(of, index).into_iter().next() {
                Some(old) => {
                    let (region, block) = region_with_block(&[]);
                    self.inside(block, |role| role.block(old))?;
                    regions.push(region);
                }
                None => regions.push(Region::new()),
            }
        }
        let condition: Vec<IrValue<'c>> = condition.into_iter().collect();
        self.emit
            .ir
            .op_with_regions(ScfOp::If, &condition, &[], &[], regions);
        Ok(())
    }

    /// Emits a block; what is computed there is known there alone.
    fn inside(
        &mut self,
        block: IrBlock<'c>,
        act: impl FnOnce(&mut Self) -> Result<(), SemError>,
    ) -> Result<(), SemError> {
        let known = self.known.clone();
        let around = std::mem::replace(&mut self.emit.ir.insertion, Insertion::End(block));
        let done = act(self);
        self.emit.ir.op(ScfOp::Yield, &[], &[], &[]);
        self.emit.ir.insertion = around;
        self.known = known;
        done
    }

    /// What a value of the kernel is in this role.
    fn value(&mut self, value: IrValue<'c>) -> IrValue<'c> {
        if let Some(known) = self.known.get(&value_key(value)) {
            return *known;
        }
        let Some(op) = defining_op(value).filter(|op| !self.shared.contains(&operation_key(*op)))
        else {
            return value;
        };
        let operands: Vec<IrValue<'c>> = operands_of(op).collect();
        let operands: Vec<IrValue<'c>> = operands
            .into_iter()
            .map(|operand| self.value(operand))
            .collect();
        let again = self.emit.ir.insert(clone(op));
        for (index, operand) in operands.into_iter().enumerate() {
            set_operand(again, index, operand);
        }
        for (index, result) in results_of(op).enumerate().collect::<Vec<_>>() {
            self.known
                .insert(value_key(result), result_of(again, index));
        }
        self.known[&value_key(value)]
    }
}
