//! Reads an expression and evaluates it on the way.

use super::ops::{self, Args};
use super::{ExprError, Value};
use crate::text::Cursor;
use crate::{AnyLayout, ComposedLayout, IntTuple, Outer, Tree};
use std::ops::Range;

pub(super) fn eval(text: &str) -> Result<Value, ExprError> {
    let mut cursor = Cursor::new(text, 0);
    let (value, _) = expression(&mut cursor, 0)?;
    cursor.end()?;
    Ok(value)
}

type Spanned = (Value, Range<usize>);

const MAX_DEPTH: usize = 64;

/// `primary`, or `outer o offset o inner`, or `a o b`.
fn expression(cursor: &mut Cursor<'_>, depth: usize) -> Result<Spanned, ExprError> {
    let begin = cursor.at();
    if depth > MAX_DEPTH {
        return Err(cursor
            .error(begin, format!("at most {MAX_DEPTH} nested calls"))
            .into());
    }
    let mut parts = vec![primary(cursor, depth)?];
    while parts.len() < 3 && composes(cursor) {
        cursor.expect("o")?;
        parts.push(primary(cursor, depth)?);
    }
    let span = begin..cursor.behind();
    let value = match parts.as_slice() {
        [(value, _)] => value.clone(),
        [outer, inner] => ops::compose(outer, inner, &span)?,
        [outer, offset, inner, ..] => {
            let offset = ops::tuple_argument(offset, "A o offset o B")?;
            let composed = compose_at(outer, offset, inner)?;
            ops::within_range(composed, "composition", &span)?
        }
        [] => return Err(cursor.error(begin, "an expression").into()),
    };
    Ok((value, span))
}

/// True if `o` comes next as a word of its own.
fn composes(cursor: &mut Cursor<'_>) -> bool {
    let mut ahead = cursor.clone();
    ahead.word() == Some("o")
}

fn compose_at(outer: &Spanned, offset: IntTuple, inner: &Spanned) -> Result<Value, ExprError> {
    let usage = "A o offset o B";
    let outer = match &outer.0 {
        Value::Swizzle(swizzle) => Outer::Swizzle(*swizzle),
        _ => Outer::Layout(ops::layout_argument(outer, usage)?),
    };
    let inner = ops::layout_argument(inner, usage)?;
    Ok(Value::Layout(AnyLayout::Composed(ComposedLayout {
        outer,
        offset,
        inner,
    })))
}

fn primary(cursor: &mut Cursor<'_>, depth: usize) -> Result<Spanned, ExprError> {
    let begin = cursor.at();
    if cursor.sees("[") {
        let tiler = cursor.tiler()?;
        return Ok((Value::Tiler(tiler), begin..cursor.behind()));
    }
    let mut ahead = cursor.clone();
    if let Some(word) = ahead.word() {
        if word == "S" && ahead.sees("<") {
            let swizzle = cursor.swizzle()?;
            return Ok((Value::Swizzle(swizzle), begin..cursor.behind()));
        }
        return call(cursor, depth);
    }
    literal(cursor)
}

/// A tuple, a coordinate, or a layout.
fn literal(cursor: &mut Cursor<'_>) -> Result<Spanned, ExprError> {
    let begin = cursor.at();
    let coord = cursor.coord()?;
    let Some(tuple) = without_underscore(&coord) else {
        return Ok((Value::Coord(coord), begin..cursor.behind()));
    };
    if !cursor.take(":") {
        return Ok((Value::Tuple(tuple), begin..cursor.behind()));
    }
    let stride = cursor.int_tuple()?;
    let layout = cursor.make_layout(begin, tuple, stride)?;
    Ok((
        Value::Layout(AnyLayout::Plain(layout)),
        begin..cursor.behind(),
    ))
}

fn without_underscore(coord: &crate::Coord) -> Option<IntTuple> {
    match coord {
        Tree::Leaf(leaf) => leaf.clone().map(Tree::Leaf),
        Tree::Node(modes) => {
            let modes: Option<Vec<_>> = modes.iter().map(without_underscore).collect();
            modes.map(Tree::Node)
        }
    }
}

/// `name(argument, …)` or `name<integer, …>(argument, …)`.
fn call(cursor: &mut Cursor<'_>, depth: usize) -> Result<Spanned, ExprError> {
    let begin = cursor.at();
    let name = cursor.word().unwrap_or_default();
    let name_span = begin..cursor.behind();
    let operation = ops::find(name, name_span)?;
    let mut parameters = Vec::new();
    if cursor.take("<") {
        loop {
            parameters.push(cursor.number()?);
            if !cursor.take(",") {
                cursor.expect(">")?;
                break;
            }
        }
    }
    cursor.expect("(")?;
    let mut arguments = Vec::new();
    if !cursor.take(")") {
        loop {
            arguments.push(expression(cursor, depth + 1)?);
            if !cursor.take(",") {
                cursor.expect(")")?;
                break;
            }
        }
    }
    let span = begin..cursor.behind();
    let args = Args {
        usage: operation.usage,
        span: span.clone(),
        parameters,
        arguments,
    };
    Ok((operation.apply(&args)?, span))
}
