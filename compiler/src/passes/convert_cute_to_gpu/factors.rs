//! What is written to a factor of a product in registers.
//!
//! `wgmma` reads A from registers until it has been waited for. Nothing but the order of instructions keeps what is written there next behind
//! the wait: LLVM moves what only computes, and a register that is merely copied there is the same one to ptxas (13.0), which does not know that
//! the product still reads the old one. So the last step of what is stored to a factor is taken where it is stored, and what that step takes comes out
//! of a piece of assembly without text, which stays behind the wait and costs nothing. Values that depend on something behind the wait
//! are there anyway, and what all rounds of a loop take is there before it, and stays in its registers.
use super::Lowering;
use super::wgmma::WAIT;
use crate::passes::control_flow::loops_around;
use crate::passes::ir_utils::{
    clone, defining_op, is_inside, next_operation, operand_value, same_block, set_operand,
    string_attribute, vector_elements,
};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, operands_of, operation_key, result_of};
use cutec_dialects::elem::Elem;
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::memo::type_text;
use cutec_dialects::ops::{LlvmOp, VectorOp};
use melior::ir::operation::OperationLike;
use melior::ir::{Type, ValueLike};
use rustc_hash::FxHashSet;

/// Bits of a register.
const REGISTER: i64 = 32;

impl<'c> Lowering<'c> {
    /// A value as it is stored to a factor here: made behind what has been waited for.
    pub(super) fn as_factor(&mut self, value: IrValue<'c>) -> IrValue<'c> {
        let Insertion::Before(here) = self.emitter.ir.insertion else {
            return value;
        };
        if is_of_loop(value, here) || is_made_behind_wait(value, here) {
            return value;
        }
        if let Some(lanes) = self.lanes.of(value).map(<[_]>::to_vec) {
            let lanes: Vec<IrValue<'c>> = lanes.into_iter().map(|it| self.as_factor(it)).collect();
            return self.joined_lanes(&lanes, value.r#type());
        }
        let made = defining_op(value).filter(|op| computes(*op) && same_block(*op, here));
        made.and_then(|op| self.computed_again(op))
            .or_else(|| self.moved(value))
            .unwrap_or(value)
    }

    /// What an operation computes of its operands as they come out of a piece of assembly. `None` where these are numbers, or none that
    /// registers hold.
    fn computed_again(&mut self, op: IrOp<'c>) -> Option<IrValue<'c>> {
        if LlvmOp::Bitcast.is(op) {
            let of = self.as_factor(operand_value(op, 0)?);
            let ty = result_of(op, 0).r#type();
            return Some(self.emitter.ir.value(LlvmOp::Bitcast, &[of], &[], ty));
        }
        let of: Vec<IrValue<'c>> = operands_of(op).collect();
        let mut held = Vec::with_capacity(of.len());
        for value in &of {
            held.push(match defining_op(*value).is_some_and(takes_nothing) {
                true => *value,
                false => self.by_register(*value, Self::held)?,
            });
        }
        if held == of {
            return None;
        }
        let again = self.emitter.ir.insert(clone(op));
        for (index, value) in held.into_iter().enumerate() {
            set_operand(again, index, value);
        }
        Some(result_of(again, 0))
    }

    /// A value in the registers that come out of a piece of assembly without text: what it is computed by stands in front of that.
    pub(super) fn held_value(&mut self, value: IrValue<'c>) -> Option<IrValue<'c>> {
        self.by_register(value, Self::held)
    }

    /// Registers as they come out of a piece of assembly without text.
    fn held(&mut self, registers: &[IrValue<'c>]) -> Option<Vec<IrValue<'c>>> {
        let letter = |value: &IrValue<'c>| Some((*value, register_of(value.r#type())?.1?));
        let given: Option<Vec<_>> = registers.iter().map(letter).collect();
        Some(self.through_assembly("", &given?, &[]))
    }

    /// A value in registers that ptxas does not know to be the same.
    fn moved(&mut self, value: IrValue<'c>) -> Option<IrValue<'c>> {
        let zero = self.hidden_zero()?;
        self.by_register(value, |lowering, registers| {
            let moved = |register: &IrValue<'c>| {
                let ty = register.r#type();
                let (bits, letter) = register_of(ty)?;
                let letter = letter?;
                let text = match bits {
                    16 => {
                        "{ .reg .b16 zero, none; mov.b32 {zero, none}, $2; or.b16 $0, $1, zero; }"
                    }
                    REGISTER => "or.b32 $0, $1, $2;",
                    _ => return None,
                };
                let constraints = format!("={letter},{letter},r");
                lowering.assembly(text, &constraints, &[*register, zero], Some(ty))
            };
            registers.iter().map(moved).collect()
        })
    }

    /// A value made of what its registers become.
    fn by_register(
        &mut self,
        value: IrValue<'c>,
        make: impl FnOnce(&mut Self, &[IrValue<'c>]) -> Option<Vec<IrValue<'c>>>,
    ) -> Option<IrValue<'c>> {
        let ty = value.r#type();
        let (count, elem) = vector_elements(ty).unwrap_or((1, ty));
        let (bits, _) = register_of(elem)?;
        // Elements that share a register, as words.
        let shared = bits < REGISTER && count * bits % REGISTER == 0;
        let words = shared.then(|| self.contiguous_type(Elem::I32, count * bits / REGISTER));
        let whole = words.unwrap_or(ty);
        // Where the value is made: what LLVM loads as words, it has where these are made.
        let here = self.emitter.ir.location;
        self.emitter.ir.location = defining_op(value).map_or(here, |op| op.location());
        let taken = match words {
            Some(_) => self.emitter.ir.value(LlvmOp::Bitcast, &[value], &[], whole),
            None => value,
        };
        self.emitter.ir.location = here;
        let lanes = vector_elements(whole).map_or(1, |(count, _)| count);
        let registers: Vec<IrValue<'c>> = (0..lanes).map(|lane| self.lane(taken, lane)).collect();
        let made = make(self, &registers)?;
        let made = match vector_elements(whole) {
            Some(_) => self.joined_lanes(&made, whole),
            None => made.first().copied()?,
        };
        Some(match words {
            Some(_) => self.emitter.ir.value(LlvmOp::Bitcast, &[made], &[], ty),
            None => made,
        })
    }

    /// Zero, as only the GPU knows: a block has less than 2 GB of shared memory.
    fn hidden_zero(&mut self) -> Option<IrValue<'c>> {
        if self.hidden_zero.is_none() {
            let entry = Insertion::Before(self.entry);
            let inside = std::mem::replace(&mut self.emitter.ir.insertion, entry);
            let text =
                "{ .reg .b32 bytes; mov.u32 bytes, %total_smem_size; shr.u32 $0, bytes, 31; }";
            let word = self.emitter.ir.ty("i32");
            self.hidden_zero = self.assembly(text, "=r", &[], Some(word));
            self.emitter.ir.insertion = inside;
        }
        self.hidden_zero
    }
}

/// Whether a value is there in front of the loop that an operation stands in: nothing else is written to its registers while products of the loop read them.
fn is_of_loop(value: IrValue, here: IrOp) -> bool {
    let around = loops_around(here).next();
    defining_op(value).is_some() && around.is_some_and(|around| !is_inside(value, around))
}

/// Whether a value depends on something that stands in the block of an operation, ahead of it and behind the last wait for products there.
fn is_made_behind_wait(value: IrValue, here: IrOp) -> bool {
    let mut seen = FxHashSet::default();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        let Some(op) = defining_op(value) else {
            continue;
        };
        if !seen.insert(operation_key(op)) || !same_block(op, here) {
            continue;
        }
        match has_no_effect(op) {
            true => open.extend(operands_of(op)),
            // What is read of registers may have been written to them at any time.
            false if reads_registers(op) => {}
            false => {
                let behind = std::iter::successors(next_operation(op), |op| next_operation(*op));
                let mut until_here = behind.take_while(|op| *op != here);
                if !until_here.any(waits) {
                    return true;
                }
            }
        }
    }
    false
}

/// Whether an operation is a piece of assembly that waits for products.
fn waits(op: IrOp) -> bool {
    LlvmOp::InlineAsm.is(op)
        && string_attribute(op, "asm_string").is_some_and(|text| text.contains(WAIT))
}

/// Whether an operation loads from a fragment's slot.
fn reads_registers(op: IrOp) -> bool {
    let mut from = operand_value(op, 0).and_then(defining_op);
    while let Some(pointer) = from.filter(|op| LlvmOp::Getelementptr.is(*op)) {
        from = operand_value(pointer, 0).and_then(defining_op);
    }
    LlvmOp::Load.is(op) && from.is_some_and(|op| LlvmOp::Alloca.is(op))
}

/// Whether an operation makes one value of others.
fn computes(op: IrOp) -> bool {
    let of_others = !VectorOp::FromElements.is(op) && !takes_nothing(op);
    of_others && has_no_effect(op) && op.region_count() == 0 && op.result_count() == 1
}

/// Whether an operation is a number, or the same for all of a kernel otherwise.
fn takes_nothing(op: IrOp) -> bool {
    op.operand_count() == 0
}

/// Bits of a scalar, and its letter in inline assembly where it may be a register of its own.
fn register_of(ty: Type) -> Option<(i64, Option<&'static str>)> {
    Some(match &*type_text(ty) {
        "i8" => (8, None),
        "i16" | "f16" | "bf16" => (16, Some("h")),
        "i32" => (32, Some("r")),
        "f32" => (32, Some("f")),
        "i64" => (64, Some("l")),
        "f64" => (64, Some("d")),
        _ => return None,
    })
}
