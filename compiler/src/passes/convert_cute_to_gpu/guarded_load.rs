//! Branches around the load of one element, as a gather has one for each element, become predicated loads.
//!
//! Before: an `scf.if` with the attribute [`GUARD`] that loads an element of global memory where its condition holds, and gives
//! a number where it does not. After: a load with a predicate, and no branch.
use super::Lowering;
use crate::passes::Reported;
use crate::passes::ir_utils::{blocks, move_before, operand_value, operations, replace_all_uses};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, operands_of, result_of};
use cutec_dialects::elem::Space;
use cutec_dialects::ops::{ArithOp, CuteOp, Op, ScfOp};
use cutec_dialects::semantics::SemError;
use cutec_dialects::value::Val;
use melior::ir::operation::OperationLike;

/// The attribute of such a branch.
pub(crate) const GUARD: &str = "cute.guard";

impl<'c> Lowering<'c> {
    /// Whether an operation was such a branch, and is lowered.
    pub(super) fn guarded_load(&mut self, op: IrOp<'c>) -> Result<bool, Reported> {
        if !ScfOp::If.is(op) || op.attribute(GUARD).is_err() {
            return Ok(false);
        }
        let (Some(inside), Some(otherwise)) = (
            blocks(op, 0).into_iter().next(),
            blocks(op, 1).into_iter().next(),
        ) else {
            return Ok(false);
        };
        let (mut first, second) = (operations(inside), operations(otherwise));
        let (Some(given), Some(other)) = (first.pop(), second.last()) else {
            return Ok(false);
        };
        let (Some(load), Some(condition)) = (first.pop(), operand_value(op, 0)) else {
            return Ok(false);
        };
        let loads =
            CuteOp::MemrefLoad.is(load) && operand_value(given, 0) == Some(result_of(load, 0));
        let places = |op: &IrOp<'c>| matches!(Op::of(*op), Some(Op::CuteOp(_) | Op::ArithOp(_)));
        let constants = second[..second.len() - 1].iter();
        let constants = constants.copied().collect::<Vec<_>>();
        if !loads
            || !first.iter().all(places)
            || !constants.iter().all(|op| ArithOp::Constant.is(*op))
        {
            return Ok(false);
        }
        for inner in first.into_iter().chain(constants).chain([load]) {
            // What it uses stands in front of the branch, or was moved there before.
            move_before(inner, op);
            if inner != load {
                self.operation(inner)?;
            }
        }
        self.emitter.ir.insertion = Insertion::Before(op);
        self.emitter.ir.location = load.location();
        let other = operand_value(*other, 0);
        let value = self.predicated(load, condition, other);
        let value = value.map_err(|error| self.error(load, error))?;
        replace_all_uses(result_of(op, 0), value);
        self.dead.push(load);
        self.dead.push(op);
        Ok(true)
    }

    /// The element that a load loads where a condition holds, else a number.
    fn predicated(
        &mut self,
        load: IrOp<'c>,
        condition: IrValue<'c>,
        other: Option<IrValue<'c>>,
    ) -> Result<IrValue<'c>, SemError> {
        let operands: Vec<Val> = operands_of(load)
            .map(|value| self.operand(value))
            .collect::<Result<_, _>>()?;
        self.hints = super::hints_of(load);
        match operands.as_slice() {
            [Val::View(view), coord] if view.ptr.space == Space::Gmem => {
                self.load_guarded(view, coord, condition, other)
            }
            _ => Err(SemError::Illegal(
                "a guarded load is one of global memory".into(),
            )),
        }
    }
}
