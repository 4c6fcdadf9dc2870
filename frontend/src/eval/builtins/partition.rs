//! What a thread has of a tensor that threads share element by element.

use crate::ast::BinaryOp;
use crate::eval::call::Call;
use crate::eval::values::{Cute, Value};
use crate::eval::{Evaluator, Result};
use crate::source::Span;
use cutec_abi::counted;
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::{Attrs, is_projection};

use cutec_dialects::value::Val;
use cutec_layout::{Coord, Int, Layout, Tree};

/// `local_partition(tensor, threads, index, proj = (1, _, 1))`: of each tile of the shape of `threads` the element
/// where that layout has the index, so one mode for each of the tensor (CuTe, `local_partition`).
pub(super) fn local_partition<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    let operands = call.positional();
    let [tensor, threads, index] = [0, 1, 2].map(|at| (&operands[at], call.args[at].expr.span));
    let rank = match tensor.0 {
        Value::Static(Val::CoordTensor(of))
        | Value::Cute(Cute {
            val: Val::CoordTensor(of),
            ..
        }) => of.layout.rank(),
        Value::Cute(Cute {
            val: Val::View(of), ..
        }) => of.layout.rank(),
        other => return ev.expected("a tensor", other, tensor.1),
    };
    let Some(modes) = threads.0.as_layout().and_then(|layout| places(&layout)) else {
        let wanted = "a layout of threads with positive strides, known while compiling";
        return ev.expected(wanted, threads.0, threads.1);
    };
    let modes = match projection(ev, call)? {
        Some(Tree::Node(kept)) if kept.len() == modes.len() => {
            let kept = kept.iter().zip(modes);
            kept.filter(|(kept, _)| **kept != Tree::Leaf(None))
                .map(|(_, mode)| mode)
                .collect()
        }
        Some(_) => {
            let wanted = format!("a projection of {}", counted(modes.len(), "mode"));
            return ev.expected(&wanted, threads.0, threads.1);
        }
        None => modes,
    };
    let index = (ev.read_slot(index.0, index.1)?, index.1);
    let (mut tile, mut at) = (Vec::new(), Vec::new());
    for mode in &modes {
        tile.push(Value::Int(
            mode.iter()
                .fold(1, |size: i64, (extent, _)| size.saturating_mul(*extent)),
        ));
        at.push(place(ev, mode, &index, call.span)?);
    }
    let mut rest = vec![Value::Underscore; rank];
    // A tensor of rank 1 takes a tile and coordinates that are no tuples.
    let [tile, at, rest] = match rank == 1 && modes.len() == 1 {
        true => [tile.remove(0), at.remove(0), rest.remove(0)],
        false => [tile, at, rest].map(Value::Tuple),
    };
    let (name, none) = ("local_partition", Attrs::default());
    let operands = [tensor.0.clone(), tile];
    let divided = ev.op(CuteOp::ZippedDivide, name, &operands, &none, call.span)?;
    let operands = [divided, Value::Tuple(vec![at, rest])];
    ev.op(CuteOp::Slice, name, &operands, &none, call.span)
}

/// Extents and strides of a layout, mode by mode.
fn places(layout: &Layout) -> Option<Vec<Vec<(i64, i64)>>> {
    let known = |int: &Int| int.as_static().filter(|value| *value >= 0);
    let of_mode = |mode: Layout| {
        let (shape, stride) = (mode.shape().leaves(), mode.stride().leaves());
        let pairs = shape.into_iter().zip(stride);
        pairs
            .map(|(extent, stride)| Some((known(extent)?, known(stride)?)))
            .collect()
    };
    layout.modes().map(of_mode).collect()
}

/// The coordinate of a mode at which a layout has an index.
fn place<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    mode: &[(i64, i64)],
    index: &(Value<'c, 'a>, Span),
    span: Span,
) -> Result<Value<'c, 'a>> {
    let mut sum = Value::Int(0);
    let mut before = 1;
    for (extent, stride) in mode {
        if *extent > 1 && *stride > 0 {
            let mut part = index.0.clone();
            for (op, by) in [
                (BinaryOp::Div, *stride),
                (BinaryOp::Rem, *extent),
                (BinaryOp::Mul, before),
            ] {
                if by != 1 {
                    part = ev.binary(op, (part, index.1), (Value::Int(by), index.1), span)?;
                }
            }
            sum = match sum {
                Value::Int(0) => part,
                sum => ev.binary(BinaryOp::Add, (sum, index.1), (part, index.1), span)?,
            };
        }
        before = before.saturating_mul(*extent);
    }
    Ok(sum)
}

/// Which modes `proj = (1, _, 1)` takes.
pub(super) fn projection<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
) -> Result<Option<Coord>> {
    let Some(proj) = call.named("proj") else {
        return Ok(None);
    };
    match proj.value.as_static() {
        Some(Val::Tuple(_, modes)) if is_projection(&modes) => Ok(Some(modes)),
        _ => ev.expected(
            "a projection such as `(1, _, 1)`",
            &proj.value.clone(),
            proj.expr.span,
        ),
    }
}
