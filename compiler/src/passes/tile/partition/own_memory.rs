//! Tiles that wait in shared memory, what each thread holds of them in a place that no other one accesses: `tile.load_async`, `tile.take`.
//!
//! A thread's values lie there vector by vector, as they lie in global memory, beside those of its neighbours: each access of a warp is one
//! of whole lines.
use super::super::emits::Emits;
use super::super::types::fast_axis;
use super::access::{Part, Way, in_memory_order};
use super::{Partition, Spread};
use crate::passes::ir_utils::{hints_of, next_operation, present};
use crate::passes::say_left_out;
use cutec_dialects::builder::{IrOp, IrValue, integer_value, operation_key};
use cutec_dialects::elem::Elem;
use cutec_dialects::hints::Hints;
use cutec_dialects::ops::{ArithOp, CuteOp, NvvmOp, tile};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::tile::TileType;
use cutec_dialects::types::Vars;
use cutec_dialects::value::Val;
use cutec_layout::algebra::offset_at;
use cutec_layout::{Int, Layout, Tree, Width};
use melior::ir::attribute::TypeAttribute;
use melior::ir::{Attribute, ValueLike, operation::OperationLike};
use std::ops::Range;

/// A tile of which each thread has so many parts under way.
struct Parts<'c> {
    of: Part<'c>,
    /// The place of the thread.
    own: IrValue<'c>,
    elem: Elem,
    /// Values of a part, and how many there are.
    values: i64,
    count: i64,
}

impl<'c> Partition<'c> {
    /// `tile.load_async`: each thread begins to copy what it would hold.
    pub(super) fn load_async(&mut self, op: IrOp<'c>) -> Result<(), SemError> {
        if self.begun.contains(&operation_key(op)) {
            return Ok(());
        }
        let parts = self.begins(op)?;
        (0..parts.count).try_for_each(|number| self.begin(&parts, number))
    }

    /// `tile.take`: what a thread copied, once it is there. What goes to its place next follows part by part.
    pub(super) fn take(&mut self, op: IrOp<'c>, to: &Spread) -> Result<IrValue<'c>, SemError> {
        let taken = present(tile::Waiting::of(op))?;
        let fast = fast_axis(taken.view()).map_or(0, |(axis, _)| axis);
        let (_, registers) = in_memory_order(to, fast)?;
        let fragment = self.fragment(to)?;
        let in_order = self.constant(Val::layout(&registers))?;
        let held = self.cute(
            CuteOp::Composition,
            &[fragment, in_order],
            &Attrs::default(),
        )?;
        let (count, own) = (number_of(taken.parts())?, self.own_place(taken)?);
        let parts = Parts {
            of: Part {
                memory: own,
                bounds: None,
                registers: Layout::contiguous(to.values() / count),
                hints: Hints::NONE,
                fill: None,
                is_tail: false,
            },
            own: held,
            elem: to.tile.elem,
            values: to.values() / count,
            count,
        };
        let next = next_operation(op).and_then(tile::Waiting::of);
        let refill = next.filter(|next| {
            let same = next.buffer() == taken.buffer() && next.slot() == taken.slot();
            same && next.op().result_count() == 0
        });
        let refill = match refill {
            Some(next) => {
                let parts = self.begins(next.op())?;
                self.begun.insert(operation_key(next.op()));
                Some(parts)
            }
            None => None,
        };
        let younger = number_of(taken.younger())?;
        for number in 0..count {
            // Of each part that is taken one is begun, or there is one group less behind the next.
            let left = match refill {
                Some(_) => younger,
                None => younger - number,
            };
            let left = self.ir.integer(left.max(0), self.ir.integer_type(32));
            self.ir
                .op(NvvmOp::CpAsyncWaitGroup, &[], &[("n", left)], &[]);
            if let Some(fill) = taken.fill() {
                let which = number * parts.values..(number + 1) * parts.values;
                self.fill_outside(op, (to, &registers), own, (which, fill))?;
            }
            self.copy_part(&parts, number, Way::Load)?;
            if let Some(refill) = &refill {
                self.begin(refill, number)?;
            }
        }
        self.load_vec(fragment, to)
    }

    /// Writes what is to be there outside of the view to the place of a thread, of some of its values as they lie there. Numbers that are chosen once
    /// they are read would take a register for each comparison.
    fn fill_outside(
        &mut self,
        op: IrOp<'c>,
        (to, registers): (&Spread, &Layout),
        own: IrValue<'c>,
        (which, fill): (Range<i64>, Attribute<'c>),
    ) -> Result<(), SemError> {
        let view = present(tile::Waiting::of(op))?.view();
        let at = self.coordinate_of(op)?;
        let wide = self.vector_at_edges(view, &at, to)?;
        let elem = self.ir.number_type(to.tile.elem);
        let value = [("value", fill)];
        let fill = self.ir.value(ArithOp::Constant, &[], &value, elem);
        let fill = self.gather(&vec![fill; wide as usize], elem);
        let inside = self.inside(view, &at, to, true)?;
        let inside = self.elements_of(inside, to.values(), Elem::I1);
        let pieces = self.pieces(own, to.values(), wide)?;
        for first in which.step_by(wide as usize) {
            let register = offset_at(&Tree::Leaf(Int::Static(first)), registers)?;
            let register = register.as_static().unwrap_or_default() as usize;
            let one = self.ir.constant(1, "i1");
            let outside =
                (self.ir).value(ArithOp::Xori, &[inside[register], one], &[], one.r#type());
            self.only_if(outside, |this| {
                let piece = this.piece(pieces, first / wide)?;
                this.store_vec(fill, piece);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// What a `tile.load_async` copies.
    fn begins(&mut self, op: IrOp<'c>) -> Result<Parts<'c>, SemError> {
        let begun = present(tile::Waiting::of(op))?;
        let missing = || SemError::Illegal("expects a tile that is spread as `tile`".into());
        let ty = op.attribute("tile").map_err(|_| missing())?;
        let ty = TypeAttribute::try_from(ty).map_err(|_| missing())?;
        let tile = TileType::of(ty.value()).ok_or_else(missing)?;
        let spread = tile
            .ok()
            .as_ref()
            .and_then(Spread::of)
            .ok_or_else(missing)?;
        let at = self.coordinate_of(op)?;
        let count = number_of(begun.parts())?;
        say_left_out(op.location(), hints_of(op), "`cp.async`");
        Ok(Parts {
            of: Part {
                hints: hints_of(op).of_async_copies(),
                ..self.global(begun.view(), &at, &spread)?
            },
            own: self.own_place(begun)?,
            elem: spread.tile.elem,
            values: spread.values() / count,
            count,
        })
    }

    /// Begins a part, a group of its own.
    fn begin(&mut self, parts: &Parts<'c>, number: i64) -> Result<(), SemError> {
        self.copy_part(parts, number, Way::Begin)?;
        self.ir.op(NvvmOp::CpAsyncCommitGroup, &[], &[], &[]);
        Ok(())
    }

    fn copy_part(&mut self, parts: &Parts<'c>, number: i64, way: Way) -> Result<(), SemError> {
        let bounds = match parts.of.bounds {
            Some((coordinates, shape)) => Some((self.part(parts, coordinates, number)?, shape)),
            None => None,
        };
        let of = Part {
            memory: self.part(parts, parts.of.memory, number)?,
            bounds,
            registers: Layout::contiguous(parts.values),
            hints: parts.of.hints,
            fill: None,
            is_tail: false,
        };
        let own = self.part(parts, parts.own, number)?;
        self.copy_values(&of, own, (parts.elem, parts.values), way)
    }

    /// A part of what all parts are of.
    fn part(
        &self,
        parts: &Parts<'c>,
        all: IrValue<'c>,
        number: i64,
    ) -> Result<IrValue<'c>, SemError> {
        let pieces = self.pieces(all, parts.values * parts.count, parts.values)?;
        self.piece(pieces, number)
    }

    /// The place of a thread in a slot.
    fn own_place(&mut self, of: tile::Waiting<'c>) -> Result<IrValue<'c>, SemError> {
        let thread = self.thread_of_block();
        let mut vars = Vars::default();
        let mut any = || Some(vars.fresh(Width::I32, 1));
        let at = Val::coord([None, None, any(), any()]);
        let at = self.ir.val_type(&at);
        let at = self
            .ir
            .value(CuteOp::MakeCoord, &[thread, of.slot()], &[], at);
        self.cute(CuteOp::Slice, &[of.buffer(), at], &Attrs::default())
    }
}

fn number_of(attribute: Option<Attribute>) -> Result<i64, SemError> {
    let number = attribute.and_then(integer_value);
    number.ok_or_else(|| SemError::Illegal("expects `parts` and `younger`".into()))
}
