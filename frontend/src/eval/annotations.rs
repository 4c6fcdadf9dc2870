//! What a function says of its tensors: `fn sum<t>(x: tensor<t, (m, 64)>)`.
//!
//! An element type that nobody gave is that of the argument, and so is each extent and stride that is a name which means nothing yet. What
//! is said otherwise, the argument must be, as far as is known while compiling.
use super::builtins::{self, integer};
use super::call::Call;
use super::values::{Value, elem_name};
use super::{Evaluator, Result};
use crate::ast::{Arg, Expr, ExprKind, Function, Type, TypeKind};
use crate::diagnostics::codes;
use crate::source::Span;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::Attrs;

impl<'c, 'a> Evaluator<'c, 'a> {
    /// The element type that the arguments of a call give a static parameter of a function.
    pub(super) fn inferred(function: &Function, call: &Call<'c, 'a>, name: &str) -> Option<Elem> {
        let params = function.params.iter().enumerate();
        params.into_iter().find_map(|(at, param)| {
            let ty = param.ty.as_ref()?;
            let arg = call.given(at, &param.name.node)?;
            if let Some((of, _)) = tensor_type(ty) {
                let named = of?.value.as_name().is_some_and(|it| &**it == name);
                return arg
                    .value
                    .as_view()
                    .filter(|_| named)
                    .map(|(_, view)| view.ptr.elem);
            }
            let TypeKind::Named { name: of, args } = &ty.kind else {
                return None;
            };
            match &arg.value {
                _ if &*of.node != name || !args.is_empty() => None,
                Value::Scalar(scalar) => Some(scalar.elem),
                Value::Typed(_, elem) => Some(*elem),
                Value::Vector(vector) => Some(vector.elem),
                _ => None,
            }
        })
    }

    /// Checks the tensors that a call gives a function, and makes their extents and strides known by the names that it has for them. All
    /// parameters are bound.
    pub(super) fn check_tensors(
        &mut self,
        function: &'a Function,
        call: &Call<'c, 'a>,
    ) -> Result<()> {
        for (at, param) in function.params.iter().enumerate() {
            let (Some((elem, layout)), Some(arg)) = (
                param.ty.as_ref().and_then(tensor_type),
                call.given(at, &param.name.node),
            ) else {
                continue;
            };
            self.check_tensor(&arg.value.clone(), (elem, layout), arg.expr.span)?;
        }
        Ok(())
    }

    fn check_tensor(
        &mut self,
        value: &Value<'c, 'a>,
        (elem, layout): (Option<&'a Arg>, Option<&'a Arg>),
        span: Span,
    ) -> Result<()> {
        let Some((_, view)) = value.as_view() else {
            return self.expected("a tensor", value, span);
        };
        let (found, rank) = (view.ptr.elem, view.layout.rank());
        let is_element = view.layout.size().is(1);
        if let Some(elem) = elem {
            match self.expr(&elem.value)? {
                Value::Type(elem) if elem == found => {}
                Value::Type(elem) => {
                    let what = format!("a tensor of {}", elem_name(elem));
                    return self.expected(&what, value, span);
                }
                other => return self.expected("an element type", &other, elem.span),
            }
        }
        let Some(layout) = layout else {
            return Ok(());
        };
        let (shape, stride) = match &*layout.value.kind {
            ExprKind::Layout { shape, stride } => (shape, Some(stride)),
            _ => (&layout.value, None),
        };
        let (of, none) = (std::slice::from_ref(value), Attrs::default());
        let of = self.op(CuteOp::GetLayout, "tensor", of, &none, span)?;
        for (expr, op) in [(Some(shape), CuteOp::GetShape), (stride, CuteOp::GetStride)] {
            let Some(expr) = expr else { continue };
            let modes = match &*expr.kind {
                ExprKind::Tuple(modes) => &modes[..],
                _ => std::slice::from_ref(expr),
            };
            // A tensor of rank 0 has the layout `1:0`.
            if modes.len() != rank && !(modes.is_empty() && is_element) {
                let what = match modes.len() {
                    1 => "a tensor of 1 mode".to_owned(),
                    modes => format!("a tensor of {modes} modes"),
                };
                return self.expected(&what, value, span);
            }
            for (mode, expr) in modes.iter().enumerate() {
                self.check_mode(value, (&of, mode), (expr, op), span)?;
            }
        }
        Ok(())
    }

    fn check_mode(
        &mut self,
        value: &Value<'c, 'a>,
        (layout, mode): (&Value<'c, 'a>, usize),
        (expr, op): (&'a Expr, CuteOp),
        span: Span,
    ) -> Result<()> {
        if expr.is_wildcard() {
            return Ok(());
        }
        let one = [self.mode_of(layout, mode, "tensor", span)?];
        let found = self.op(op, "tensor", &one, &Attrs::default(), span)?;
        let found = integer(self, &found, span)?;
        if let Some(name) = expr
            .as_name()
            .filter(|name| !self.means_something(name, expr.span))
        {
            self.bind(name.clone(), found, false, expr.span);
            return Ok(());
        }
        let said = self.expr(expr)?;
        match (&said, &found) {
            (Value::Int(said), Value::Int(found)) if said != found => {
                let what = match op {
                    CuteOp::GetShape => "extent",
                    _ => "stride",
                };
                let of = value.describe();
                let message = format!("expected {what} {said} of mode {mode}, found {found}: {of}");
                self.error(codes::SHAPE_MISMATCH, span, message, "here")
            }
            _ => Ok(()),
        }
    }

    /// Whether a name is that of something already.
    fn means_something(&self, name: &str, span: Span) -> bool {
        let known = self.lookup(name).is_some() || self.items.get(name, span.file).is_some();
        known || builtins::lookup(name).is_some()
    }
}

/// Element type and layout of a tensor's type, as far as it says them.
fn tensor_type(ty: &Type) -> Option<(Option<&Arg>, Option<&Arg>)> {
    match &ty.kind {
        TypeKind::Named { name, args } if &*name.node == "tensor" => {
            Some((args.first(), args.get(1)))
        }
        _ => None,
    }
}
