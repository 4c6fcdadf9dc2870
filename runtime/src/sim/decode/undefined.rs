//! Which operands an instruction passes on.
//!
//! LLVM packs values into wider registers of which it leaves parts undefined that nothing uses: a byte by `bfi` into a
//! word that nothing has written, three halves in two words. So bits of a register that nothing has written are no mistake
//! while they are moved. Here is the list of what moves bits, or computes with the elements of a register each for
//! itself; what is not in it uses what it reads.

use super::form::{Form, Ty};
use crate::sim::assignment::{Elements, Role};
use crate::sim::parse::ast::Instruction;

/// The role of two elements of 16 bits, in the operand and in the result.
const HALVES: Role = Role::Elements(Elements {
    bits: 16,
    result_bits: 16,
    at: 0,
});

/// Notes what a decoded instruction passes on of its operands.
pub(super) fn mark(form: &mut Form, instruction: &Instruction<'_>) {
    let mut types = instruction.modifiers.iter().rev().map_while(|m| Ty::of(m));
    let last = types.next();
    match instruction.opcode {
        "mov" | "not" | "shl" | "shr" | "bfe" | "brev" | "szext" | "shfl" => {
            form.passes(1..=1, Role::Bits);
        }
        "and" | "or" | "xor" | "bfi" | "shf" | "prmt" | "selp" | "slct" => {
            form.passes(1..=2, Role::Bits);
        }
        // What a thread puts aside: of memory such parts are not followed.
        "st" if instruction.modifiers.contains(&"local") => form.passes(1..=1, Role::Bits),
        "lop3" => form.passes(1..=3, Role::Bits),
        "cvt" => {
            if let (Some(from), Some(to)) = (last, types.next()) {
                convert(form, to, from, instruction.modifiers.contains(&"sat"));
            }
        }
        "add" | "sub" | "mul" | "fma" | "min" | "max" | "abs" | "neg" | "ex2" | "tanh"
            if last.is_some_and(|ty| ty.numbers() == 2) =>
        {
            form.passes(1..=3, HALVES);
        }
        // Everything else uses what it reads: addresses, conditions, arithmetic, stores.
        _ => {}
    }
}

fn convert(form: &mut Form, to: Ty, from: Ty, saturates: bool) {
    let elements = |bits, result_bits, at| {
        Role::Elements(Elements {
            bits,
            result_bits,
            at,
        })
    };
    let is_integer = |ty: Ty| {
        matches!(
            ty,
            Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 | Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64
        )
    };
    match (to.numbers(), from.numbers()) {
        (1, 1) if is_integer(to) && is_integer(from) && !saturates => {
            form.passes(1..=1, Role::Bits);
        }
        (2, 2) => form.passes(1..=1, elements(from.bits() / 2, to.bits() / 2, 0)),
        // `d = {b, a}`: the first source in the upper half.
        (2, 1) => {
            let half = to.bits() / 2;
            form.passes(1..=1, elements(from.bits(), half, half));
            form.passes(2..=2, elements(from.bits(), half, 0));
        }
        _ => {}
    }
}
