//! Conversions of f8 in maps: an instruction converts two neighbours (PTX ISA, "cvt"), and a map is written for one number.
//!
//! What a map says of one number, `cvt` of it beside itself and then the lower half, becomes `cvt` of each two neighbours of a thread, with
//! their bits side by side.
use super::Partition;
use super::map::Body;
use crate::passes::ir_utils::{borrowed, defining_op, named_attributes, string_attribute, users};
use cutec_dialects::builder::{IrOp, IrValue, operands_of, result_of};
use cutec_dialects::ops::{ArithOp, LlvmOp, VectorOp};
use melior::ir::ValueLike;

/// What an instruction converts two of.
enum Pairs<'c> {
    /// Numbers, to bytes: the one that stands twice.
    Narrowed(IrValue<'c>),
    /// Bytes, to f16.
    Widened(IrValue<'c>),
}

impl<'c> Pairs<'c> {
    /// Of an instruction of which a map uses the lower half alone.
    fn of(op: IrOp<'c>) -> Option<Self> {
        if !LlvmOp::InlineAsm.is(op) {
            return None;
        }
        let text = string_attribute(op, "asm_string")?;
        let operands: Vec<IrValue<'c>> = operands_of(op).collect();
        let lower = |user: &IrOp<'c>| ArithOp::Trunci.is(*user);
        let all = users(result_of(op, 0));
        if all.is_empty() || !all.iter().all(lower) {
            return None;
        }
        match operands[..] {
            [high, low] if high == low && text.starts_with("cvt.rn.satfinite.e") => {
                Some(Pairs::Narrowed(low))
            }
            [both] if text.starts_with("cvt.rn.f16x2.e") => {
                let both = defining_op(both).filter(|op| ArithOp::Ori.is(*op))?;
                let low = defining_op(operands_of(both).next()?);
                let low = low.filter(|op| ArithOp::Extui.is(*op))?;
                Some(Pairs::Widened(operands_of(low).next()?))
            }
            _ => None,
        }
    }
}

impl<'c> Partition<'c> {
    /// Converts two at once, where an operation of a map converts one. Returns whether it does.
    pub(super) fn converted_in_pairs(&mut self, body: &mut Body<'c>, op: IrOp<'c>) -> bool {
        let count = body.count();
        let Some(pairs) = Pairs::of(op).filter(|_| count % 2 == 0 && body.depends(op)) else {
            return false;
        };
        let attrs = named_attributes(op);
        let attrs = borrowed(&attrs);
        let result = result_of(op, 0).r#type();
        let (half, sixteen) = (count / 2, self.ir.ty("i16"));
        let mut operands: Vec<Vec<IrValue<'c>>> = Vec::new();
        let narrow = match pairs {
            Pairs::Narrowed(number) => {
                for at in 0..half as usize {
                    let pair = [2 * at + 1, 2 * at].map(|lane| self.number_of(body, number, lane));
                    operands.push(pair.to_vec());
                }
                self.ir.ty("i8")
            }
            Pairs::Widened(byte) => {
                let bytes = self.vector_of(body, byte);
                let ty = self.ir.vector_type(half, sixteen);
                let words = self.ir.value(VectorOp::Bitcast, &[bytes], &[], ty);
                for at in 0..half {
                    let position = [("static_position", self.ir.i64_array(&[at]))];
                    let word = self
                        .ir
                        .value(VectorOp::Extract, &[words], &position, sixteen);
                    operands.push(vec![word]);
                }
                sixteen
            }
        };
        let converted: Vec<IrValue<'c>> = operands
            .iter()
            .map(|operands| self.ir.value(LlvmOp::InlineAsm, operands, &attrs, result))
            .collect();
        let converted = self.gather(&converted, result);
        let ty = self.ir.vector_type(count, narrow);
        let lower = self.ir.value(VectorOp::Bitcast, &[converted], &[], ty);
        for user in users(result_of(op, 0)) {
            body.set(result_of(user, 0), lower);
        }
        true
    }
}
