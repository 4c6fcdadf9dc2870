//! A word or a number of another lane of the warp (PTX ISA, "shfl.sync"), and what the lanes ask each other ("vote.sync").
use super::Partition;
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, NvvmOp};

/// How `shfl.sync` chooses a lane: by the exclusive or of its number and a mask.
pub(super) const BUTTERFLY: &str = "#nvvm<shfl_kind bfly>";
/// See [`BUTTERFLY`]: by its number.
pub(super) const INDEXED: &str = "#nvvm<shfl_kind idx>";

impl<'c> Partition<'c> {
    /// A word of another lane.
    pub(super) fn shuffle(
        &self,
        kind: &'static str,
        word: IrValue<'c>,
        lane: IrValue<'c>,
    ) -> IrValue<'c> {
        let members = self.ir.constant(-1, "i32");
        let segment = self.ir.constant(31, "i32");
        let kind = [("kind", self.ir.attr(kind))];
        let ty = self.ir.ty("i32");
        let operands = [members, word, lane, segment];
        self.ir.value(NvvmOp::ShflSync, &operands, &kind, ty)
    }

    /// Whether any of some conditions holds in any thread of the warp; `None` of no condition.
    pub(super) fn any_of_warp(
        &self,
        conditions: impl IntoIterator<Item = IrValue<'c>>,
    ) -> Option<IrValue<'c>> {
        let bit = self.ir.ty("i1");
        let either = |one, other| self.ir.value(ArithOp::Ori, &[one, other], &[], bit);
        let any = conditions.into_iter().reduce(either)?;
        let members = self.ir.constant(-1, "i32");
        let kind = [("kind", self.ir.attr("#nvvm<vote_sync_kind any>"))];
        Some(self.ir.value(NvvmOp::VoteSync, &[members, any], &kind, bit))
    }

    /// The number of another lane, of at least a byte: as one word or two.
    pub(super) fn shuffled_by(
        &self,
        kind: &'static str,
        number: IrValue<'c>,
        elem: Elem,
        lane: IrValue<'c>,
    ) -> IrValue<'c> {
        let word = self.ir.ty("i32");
        let bits = elem.bits();
        let own = elem.value_type();
        let integer = self.ir.integer_type(bits as u32);
        let plain = match elem.is_float() && elem.has_arithmetic() {
            true => self.ir.value(ArithOp::Bitcast, &[number], &[], integer),
            false => number,
        };
        let exchanged = match bits {
            32 => self.shuffle(kind, plain, lane),
            64 => {
                let low = self.ir.value(ArithOp::Trunci, &[plain], &[], word);
                let shift = self.ir.constant(32, "i64");
                let high = self.ir.value(ArithOp::Shrui, &[plain, shift], &[], integer);
                let high = self.ir.value(ArithOp::Trunci, &[high], &[], word);
                let (low, high) = (
                    self.shuffle(kind, low, lane),
                    self.shuffle(kind, high, lane),
                );
                let low = self.ir.value(ArithOp::Extui, &[low], &[], integer);
                let high = self.ir.value(ArithOp::Extui, &[high], &[], integer);
                let high = self.ir.value(ArithOp::Shli, &[high, shift], &[], integer);
                self.ir.value(ArithOp::Ori, &[low, high], &[], integer)
            }
            _ => {
                let wide = self.ir.value(ArithOp::Extui, &[plain], &[], word);
                let wide = self.shuffle(kind, wide, lane);
                self.ir.value(ArithOp::Trunci, &[wide], &[], integer)
            }
        };
        match elem.is_float() && elem.has_arithmetic() {
            true => {
                let own = self.ir.ty(own);
                self.ir.value(ArithOp::Bitcast, &[exchanged], &[], own)
            }
            false => exchanged,
        }
    }
}
