//! Atomic updates at tile level, `atomic_add(y.tile(shape, at), v)`, of elements `y.scatter(rows)` and of one, `y[i]`. Where somebody asks for it each
//! gives what was there, a tile or a number: `let slot = atomic_add(count[0], n)`; outside of the tensor 0.

use crate::ast::Arg;
use crate::eval::builtins;
use crate::eval::problem;
use crate::eval::values::{Tile, Value};
use crate::eval::{Evaluator, Result};
use crate::source::Span;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::TileOp;
use cutec_dialects::semantics::AtomicKind;

/// An atomic update, as it is called.
#[derive(Clone, Copy)]
pub(in crate::eval) struct Update {
    pub name: &'static str,
    pub kind: AtomicKind,
    /// Whether somebody asks for what was there.
    pub is_asked: bool,
}

impl Update {
    /// Whether it is an operation of its own: it gives something, or is no store that updates.
    pub(super) fn fetches(self) -> bool {
        self.is_asked || !self.kind.combines()
    }
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// What elements are updated by, the new one and for `atomic_cas` the expected one: `rest` are the arguments behind the place, in this order from the last on.
    pub(super) fn new_elements(
        &mut self,
        update: Update,
        rest: &'a [Arg],
        span: Span,
    ) -> Result<Vec<(Value<'c, 'a>, Span)>> {
        let call = self.arguments(update.name.into(), span, span, &[], rest)?;
        let forms = builtins::table::functions(update.name);
        builtins::chosen(self, &forms, &call, 1)?;
        let args = call.args.iter().rev();
        args.filter(|arg| arg.name.is_none())
            .map(|arg| Ok((self.read_slot(&arg.value, arg.expr.span)?, arg.expr.span)))
            .collect()
    }

    /// Reports an update that elements of a type do not have.
    pub(super) fn check_update(&mut self, update: Update, elem: Elem, span: Span) -> Result<()> {
        match update.kind.check(elem) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.report(problem::no_atomic(span, &error))),
        }
    }

    /// Updates the elements of a tensor at coordinates; what they were.
    pub(super) fn fetched(
        &mut self,
        kind: AtomicKind,
        (tensor, at): (&Value<'c, 'a>, &[(Value<'c, 'a>, Span)]),
        (elem, shape): (Elem, &[i64]),
        new: &[(Value<'c, 'a>, Span)],
        span: Span,
    ) -> Result<Tile<'c>> {
        let mut operands = vec![self.ir_of(tensor, span)?];
        let coordinates = at.iter().map(|at| (at, Elem::I32));
        for ((value, of), elem) in coordinates.chain(new.iter().map(|new| (new, elem))) {
            operands.push(self.as_tile(value, (elem, shape), *of)?.ir);
        }
        let kind = ("kind", self.ir(span)?.string(kind.name()));
        self.tile_op(TileOp::Atomic, &operands, &[kind], (elem, shape), span)
    }
}
