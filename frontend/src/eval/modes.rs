//! Modes of layouts, one by one, and layouts and tensors made of them.
use super::values::{Cute, Value};
use super::{Evaluator, Result};
use crate::diagnostics::{Diagnostic, codes};
use crate::source::Span;
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::Attrs;
use cutec_dialects::value::Val;
use cutec_layout::AnyLayout;

/// The layout that a value is.
pub(super) fn known<'v>(value: &'v Value<'_, '_>) -> Option<&'v AnyLayout> {
    match value {
        Value::Static(Val::Layout(layout))
        | Value::Cute(Cute {
            val: Val::Layout(layout),
            ..
        }) => Some(layout),
        _ => None,
    }
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// A mode of a layout, which may be one extent without parentheses. `what` is being done, for messages, as in all of these.
    pub(super) fn mode_of(
        &mut self,
        layout: &Value<'c, 'a>,
        mode: usize,
        what: &'static str,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        match known(layout).is_some_and(|layout| layout.inner().shape().is_leaf()) {
            true => Ok(layout.clone()),
            false => {
                let (attrs, of) = (Attrs::mode([mode as i64]), std::slice::from_ref(layout));
                self.op(CuteOp::Get, what, of, &attrs, span)
            }
        }
    }

    /// Refuses a mode that is made of several, with a message of who needs one.
    pub(super) fn expect_one_mode(
        &mut self,
        mode: &Value<'c, 'a>,
        message: String,
        span: Span,
    ) -> Result<()> {
        if known(mode).is_some_and(|mode| mode.inner().shape().is_leaf()) {
            return Ok(());
        }
        let label = "expected a mode of one";
        let diagnostic = Diagnostic::error(codes::LAYOUT_ALGEBRA, span, message, label);
        Err(self.report(diagnostic.with_help("`flatten(x)` gives each a mode of its own")))
    }

    /// The layout of these extents and strides of modes.
    pub(super) fn layout_of_modes(
        &mut self,
        [shape, stride]: [Vec<Value<'c, 'a>>; 2],
        what: &'static str,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let operands = [shape, stride].map(|mut modes| match modes.len() {
            1 => modes.remove(0),
            _ => Value::Tuple(modes),
        });
        self.op(CuteOp::MakeLayout, what, &operands, &Attrs::default(), span)
    }

    /// What begins where a tensor does, under a layout.
    pub(super) fn under_layout(
        &mut self,
        tensor: Value<'c, 'a>,
        layout: Value<'c, 'a>,
        what: &'static str,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let none = Attrs::default();
        let start = self.op(CuteOp::GetIter, what, &[tensor], &none, span)?;
        self.op(CuteOp::MakeView, what, &[start, layout], &none, span)
    }
}
