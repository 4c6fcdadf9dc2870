//! The copy of a vector at a computed place: of one that is gathered from where its first element lies, if that is inside of the tensor; of one
//! that is scattered to there.
use super::Index;
use crate::passes::ir_utils::attributes;
use crate::passes::tile::emits::Emits;
use cutec_dialects::atoms::CopyAtom;
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::tile::GATHERED_SINCE;
use cutec_dialects::types::Vars;
use cutec_dialects::value::{TupleKind, Val, View};
use cutec_layout::{AnyLayout, Layout, Tree, Width};
use melior::ir::Attribute;

/// A vector that a thread copies.
pub(in crate::passes::tile) struct Vector<'c> {
    /// The tensor, and the coordinates of the first element.
    pub view: IrValue<'c>,
    pub at: Vec<Index<'c>>,
    /// Whether it lies inside.
    pub inside: IrValue<'c>,
}

impl<'c> Vector<'c> {
    /// Copies it to registers, or begins to copy it to a piece of a stage, for the tile that an operation gives. Outside are zeros, or in registers
    /// what fills them.
    pub fn copy<E: Emits<'c>>(
        self,
        emit: &E,
        atom: CopyAtom,
        to: IrValue<'c>,
        of: IrOp<'c>,
        fill: Option<Attribute<'c>>,
    ) -> Result<(), SemError> {
        let (memory, flag) = (self.memory(emit, atom)?, self.flag(emit)?);
        let atom = emit.constant(Val::CopyAtom(atom))?;
        let mut attrs = attributes(of, &[GATHERED_SINCE]);
        attrs.extend(fill.map(|fill| ("fill", fill)));
        let operands = [atom, memory, to, flag];
        emit.ir().op(CuteOp::Copy, &operands, &attrs, &[]);
        Ok(())
    }

    /// Writes registers there, or updates what is there.
    pub fn write<E: Emits<'c>>(
        self,
        emit: &E,
        atom: CopyAtom,
        from: IrValue<'c>,
    ) -> Result<(), SemError> {
        let (memory, flag) = (self.memory(emit, atom)?, self.flag(emit)?);
        let atom = emit.constant(Val::CopyAtom(atom))?;
        let operands = [atom, from, memory, flag];
        emit.ir().op(CuteOp::Copy, &operands, &[], &[]);
        Ok(())
    }

    /// The view of its elements.
    fn memory<E: Emits<'c>>(&self, emit: &E, atom: CopyAtom) -> Result<IrValue<'c>, SemError> {
        let plain = Attrs::default();
        let mut operands = vec![self.view];
        for index in &self.at {
            operands.push(match *index {
                Index::Known(number) => emit.constant(Val::int_tuple([number]))?,
                Index::Computed(number, 1) => number,
                Index::Computed(number, divisor) => {
                    let leaf = Tree::Leaf(Some(Vars::default().fresh(Width::I32, divisor)));
                    let declared = Attrs::result(Val::Tuple(TupleKind::IntTuple, leaf));
                    emit.cute(CuteOp::Assume, &[number], &declared)?
                }
            });
        }
        let from = emit.cute(CuteOp::DomainOffset, &operands, &plain)?;
        let from = emit.cute(CuteOp::GetIter, &[from], &plain)?;
        let neighbours = AnyLayout::Plain(Layout::contiguous(atom.src_values()));
        let neighbours = emit.constant(Val::Layout(neighbours))?;
        emit.cute(CuteOp::MakeView, &[from, neighbours], &plain)
    }

    /// The predicate of its copy.
    fn flag<E: Emits<'c>>(&self, emit: &E) -> Result<IrValue<'c>, SemError> {
        let one = AnyLayout::Plain(Layout::scalar(1, 0));
        let flag = Val::View(View::new(Elem::I1, Space::Rmem, 16, one));
        let ir = emit.ir();
        let flag = ir.value(CuteOp::MemrefAlloca, &[], &[], ir.val_type(&flag));
        let first = emit.constant(Val::int_tuple([0]))?;
        ir.op(CuteOp::MemrefStore, &[self.inside, flag, first], &[], &[]);
        Ok(flag)
    }
}
