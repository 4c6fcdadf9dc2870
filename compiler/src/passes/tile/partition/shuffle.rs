//! A word or a number of another lane of the warp (PTX ISA, "shfl.sync"), what the lanes ask each other ("vote.sync") and what one instruction combines
//! of all of them ("redux.sync").
use super::Partition;
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, NvvmOp};

/// How `shfl.sync` chooses a lane: by the exclusive or of its number and a mask.
pub(super) const BUTTERFLY: &str = "#nvvm<shfl_kind bfly>";
/// See [`BUTTERFLY`]: by its number.
pub(super) const INDEXED: &str = "#nvvm<shfl_kind idx>";

/// What one instruction combines of all lanes of a warp.
#[derive(Clone, Copy)]
pub(super) enum InOneInstruction {
    /// Conditions, by `vote.sync`.
    Vote(&'static str),
    /// Integers of 32 bits, by `redux.sync`.
    Redux { kind: &'static str, adds: bool },
}

impl InOneInstruction {
    /// Of such elements; `None` where lanes have to shuffle.
    pub fn of(elem: Elem, combine: ArithOp) -> Option<Self> {
        let redux = |kind| Some(InOneInstruction::Redux { kind, adds: false });
        match (elem, combine) {
            (Elem::I1, ArithOp::Ori) => Some(InOneInstruction::Vote("#nvvm<vote_sync_kind any>")),
            (Elem::I1, ArithOp::Andi) => Some(InOneInstruction::Vote("#nvvm<vote_sync_kind all>")),
            (Elem::I32 | Elem::U32, ArithOp::Addi) => Some(InOneInstruction::Redux {
                kind: "#nvvm<redux_kind add>",
                adds: true,
            }),
            (Elem::I32 | Elem::U32, ArithOp::Xori) => Some(InOneInstruction::Redux {
                kind: "#nvvm<redux_kind xor>",
                adds: true,
            }),
            (Elem::I32 | Elem::U32, ArithOp::Andi) => redux("#nvvm<redux_kind and>"),
            (Elem::I32 | Elem::U32, ArithOp::Ori) => redux("#nvvm<redux_kind or>"),
            (Elem::I32, ArithOp::Minsi) => redux("#nvvm<redux_kind min>"),
            (Elem::I32, ArithOp::Maxsi) => redux("#nvvm<redux_kind max>"),
            (Elem::U32, ArithOp::Minui) => redux("#nvvm<redux_kind umin>"),
            (Elem::U32, ArithOp::Maxui) => redux("#nvvm<redux_kind umax>"),
            _ => None,
        }
    }

    /// Whether an element that several lanes have counts once.
    pub fn is_idempotent(self) -> bool {
        match self {
            InOneInstruction::Vote(_) => true,
            InOneInstruction::Redux { adds, .. } => !adds,
        }
    }
}

impl<'c> Partition<'c> {
    /// What all lanes of the warp have of a number, combined.
    pub(super) fn of_warp(&self, by: InOneInstruction, number: IrValue<'c>) -> IrValue<'c> {
        let members = self.ir.constant(-1, "i32");
        let kind = |kind| [("kind", self.ir.attr(kind))];
        match by {
            InOneInstruction::Vote(vote) => {
                let ty = self.ir.ty("i1");
                self.ir
                    .value(NvvmOp::VoteSync, &[members, number], &kind(vote), ty)
            }
            InOneInstruction::Redux { kind: redux, .. } => {
                let ty = self.ir.ty("i32");
                self.ir
                    .value(NvvmOp::ReduxSync, &[number, members], &kind(redux), ty)
            }
        }
    }

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
