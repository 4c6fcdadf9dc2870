//! A word of another lane of the warp (PTX ISA, "shfl.sync").
use super::Partition;
use cutec_dialects::builder::IrValue;
use cutec_dialects::ops::NvvmOp;

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
}
