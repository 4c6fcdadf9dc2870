//! `if` that depends on run-time values.
//!
//! A `return` in a branch at the end of a function leaves no trace: what follows goes into the other
//! branch. Every other exit from within such a branch sets a flag (`exits`).

use super::constant::wider;
use super::exits::exits_of_if;
use super::stmt::{Flow, Place, RETURNS, Rest};
use super::tiles::Carried;
use super::values::{RecordValue, Tile, Value, elem_name};
use super::{Evaluator, Result, Stop};
use crate::ast::{BinaryOp, ElseBranch, Expr, ExprKind, IfExpr, Record};
use crate::diagnostics::{Diagnostic, codes};
use crate::source::Span;
use cutec_abi::counted;
use cutec_dialects::builder::{Insertion, IrBlock, IrValue, region_with_block, result_of};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{Op, ScfOp};
use melior::ir::{Region, Type, ValueLike};

/// What is static because it stands behind `static if`.
pub(super) const ELSE_IF: &str = "the condition of `else if` behind `static if`";

/// A value of two branches, as results of the operation say it.
enum Joined<'c, 'a> {
    Known(Box<Value<'c, 'a>>),
    Result(usize, Elem, Option<i64>),
    /// A tile; the one of a branch says its type.
    Tile(usize, Tile<'c>),
    Tuple(Vec<Joined<'c, 'a>>),
    Record(&'a Record, Vec<Joined<'c, 'a>>),
}

/// What the branches of an `if` yield.
#[derive(Default)]
struct Yields<'c> {
    first: Vec<IrValue<'c>>,
    second: Vec<IrValue<'c>>,
    types: Vec<Type<'c>>,
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// `if` as a value.
    pub(super) fn if_value(&mut self, parts: &'a IfExpr, span: Span) -> Result<Value<'c, 'a>> {
        match self
            .if_flow(
                parts,
                (&[], None),
                Place {
                    tail: false,
                    wanted: true,
                },
                span,
            )?
            .0
        {
            Flow::Next(value) => Ok(value),
            _ => self.unsupported(span, "leaving an `if` that has a value", "use a statement"),
        }
    }

    /// `if`, with the statements behind it; true if these ran too.
    pub(super) fn if_flow(
        &mut self,
        parts: &'a IfExpr,
        rest: Rest<'a>,
        place: Place,
        span: Span,
    ) -> Result<(Flow<'c, 'a>, bool)> {
        let last = rest.0.is_empty() && rest.1.is_none();
        let inner = Place {
            tail: place.tail && last,
            wanted: place.wanted && last,
        };
        let condition = match parts.is_static {
            true => {
                Value::Bool(self.static_bool("the condition of `static if`", &parts.condition)?)
            }
            false => self.condition_value(&parts.condition)?,
        };
        let condition = match condition {
            Value::Bool(true) => return Ok((self.block(&parts.then, inner)?, false)),
            Value::Bool(false) => return Ok((self.otherwise(parts, inner)?, false)),
            Value::Scalar(scalar) => scalar.ir,
            _ => return Err(Stop::Reported),
        };
        let outside = self.ir(span)?.insertion;
        let (then_region, then_block) = region_with_block(&[]);
        let (else_region, else_block) = region_with_block(&[]);
        // Variables of tiles that a branch assigns to are results, unless a branch returns: what follows may stand in
        // the other one.
        let carried = match exits_of_if(parts) & RETURNS {
            0 => self.carried_by_if(parts),
            _ => Vec::new(),
        };
        let then = self.branch(then_block, &carried, |this| this.block(&parts.then, inner));
        let otherwise = self.branch(else_block, &carried, |this| this.otherwise(parts, inner));
        let ((then, first), (otherwise, second)) = (then?, otherwise?);
        debug_assert!(matches!(outside, Insertion::End(_)));
        let mut consumed = false;
        let (then, otherwise) = match (then, otherwise) {
            (Flow::Return(value), Flow::Next(_)) if place.tail && !last => {
                consumed = true;
                let flow = self.rest_in(else_block, rest, place)?;
                (Flow::Return(value), flow)
            }
            (Flow::Next(_), Flow::Return(value)) if place.tail && !last => {
                consumed = true;
                let flow = self.rest_in(then_block, rest, place)?;
                (flow, Flow::Return(value))
            }
            flows => flows,
        };
        let tail = place.tail && (consumed || last);
        let mut yields = Yields::default();
        let mut joined = None;
        let flow = match (then, otherwise) {
            (Flow::Return(a) | Flow::Next(a), Flow::Return(b) | Flow::Next(b)) if tail => {
                let value = self.join(
                    place.wanted,
                    (&a, then_block),
                    (&b, else_block),
                    &mut yields,
                    span,
                )?;
                joined = Some(value);
                None
            }
            (Flow::Next(a), Flow::Next(b)) => {
                let value = self.join(
                    inner.wanted,
                    (&a, then_block),
                    (&b, else_block),
                    &mut yields,
                    span,
                )?;
                joined = Some(value);
                None
            }
            (Flow::Break, Flow::Break) => Some(Flow::Break),
            (Flow::Continue, Flow::Continue) => Some(Flow::Continue),
            (a, b) => {
                let a = self.in_block(then_block, |this| this.leave(a, tail, span))?;
                let b = self.in_block(else_block, |this| this.leave(b, tail, span))?;
                Some(if a | b == 0 {
                    Flow::Next(Value::Unit)
                } else {
                    Flow::Maybe(a | b)
                })
            }
        };
        let results = yields.types.len();
        yields.first.extend(first);
        yields.second.extend(second);
        let tiles = carried.iter().map(|(_, tile)| tile.ir.r#type());
        yields.types.extend(tiles);
        let Yields {
            first,
            second,
            types,
        } = yields;
        let has_else = !second.is_empty() || !self.is_empty(else_block);
        self.in_block(then_block, |this| {
            this.terminate(ScfOp::Yield, &first, span)
        })?;
        let else_region = if has_else {
            self.in_block(else_block, |this| {
                this.terminate(ScfOp::Yield, &second, span)
            })?;
            else_region
        } else {
            Region::new()
        };
        let ir = self.ir(span)?;
        let op = ir.op_with_regions(
            ScfOp::If,
            &[condition],
            &[],
            &types,
            vec![then_region, else_region],
        );
        self.rebind(&carried, |at| result_of(op, results + at));
        let flow = match (flow, joined) {
            (Some(flow), _) => flow,
            (None, Some(joined)) => {
                let value = rebuild(&joined, &|at| result_of(op, at));
                if tail {
                    Flow::Return(value)
                } else {
                    Flow::Next(value)
                }
            }
            (None, None) => Flow::Next(Value::Unit),
        };
        Ok((flow, consumed))
    }

    /// Runs a branch; what it gives, and what it leaves in the variables of tiles.
    fn branch(
        &mut self,
        block: IrBlock<'c>,
        carried: &[Carried<'c>],
        body: impl FnOnce(&mut Self) -> Result<Flow<'c, 'a>>,
    ) -> Result<(Flow<'c, 'a>, Vec<IrValue<'c>>)> {
        let before = |at: usize| carried[at].1.ir;
        let result = self.in_block(block, |this| {
            this.rebind(carried, before);
            let flow = body(this)?;
            Ok((flow, this.held(carried)))
        });
        self.rebind(carried, before);
        result
    }

    fn otherwise(&mut self, parts: &'a IfExpr, place: Place) -> Result<Flow<'c, 'a>> {
        match &parts.otherwise {
            None => Ok(Flow::Next(Value::Unit)),
            Some(ElseBranch::Block(block)) => self.block(block, place),
            Some(ElseBranch::If(expr)) => match &*expr.kind {
                // As by `if_flow`, and what is said where it is known at run time alone.
                ExprKind::If(next) if parts.is_static && next.is_static => {
                    match self.static_bool(ELSE_IF, &next.condition)? {
                        true => self.block(&next.then, place),
                        false => self.otherwise(next, place),
                    }
                }
                ExprKind::If(parts) => Ok(self.if_flow(parts, (&[], None), place, expr.span)?.0),
                _ => Err(Stop::Reported),
            },
        }
    }

    /// Runs what stands behind an `if` in one of its branches. After an error nothing may run behind the `if`
    /// any more: what is bound by now is gone together with the branch.
    fn rest_in(
        &mut self,
        block: IrBlock<'c>,
        rest: Rest<'a>,
        place: Place,
    ) -> Result<Flow<'c, 'a>> {
        let flow = self.in_block(block, |this| {
            // For variables of tiles it is as if there were no branch.
            this.regions -= 1;
            let flow = this.list(rest, place);
            this.regions += 1;
            flow
        });
        flow.map_err(|stop| match stop {
            Stop::Reported => Stop::GiveUp,
            other => other,
        })
    }

    /// Runs `body` with operations going to the end of `block`.
    pub(super) fn in_block<T>(
        &mut self,
        block: IrBlock<'c>,
        body: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let Some(ir) = &mut self.ir else {
            return Err(Stop::NeedsRuntime);
        };
        let outside = std::mem::replace(&mut ir.insertion, Insertion::End(block));
        self.regions += 1;
        let result = body(self);
        self.regions -= 1;
        if let Some(ir) = &mut self.ir {
            ir.insertion = outside;
        }
        result
    }

    pub(super) fn is_empty(&self, block: IrBlock<'c>) -> bool {
        use melior::ir::BlockLike;
        block.first_operation().is_none()
    }

    pub(super) fn terminate(
        &mut self,
        op: impl Into<Op>,
        operands: &[IrValue<'c>],
        span: Span,
    ) -> Result<()> {
        self.ir(span)?.op(op, operands, &[], &[]);
        Ok(())
    }

    /// `lhs || rhs` (`decides`) or `lhs && rhs`, with `lhs` known only at run time.
    pub(super) fn lazily(
        &mut self,
        lhs: IrValue<'c>,
        decides: bool,
        rhs: &'a Expr,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let left = super::arith::number_or_vector(lhs, Elem::I1, None);
        if is_plain(rhs) {
            let right = self.condition_value(rhs)?;
            let op = if decides {
                BinaryOp::BitOr
            } else {
                BinaryOp::BitAnd
            };
            return self.binary(op, (left, span), (right, rhs.span), span);
        }
        let result = self.asked_unless(lhs, decides, span, |this| {
            let value = this.condition_value(rhs)?;
            this.number(&value, Elem::I1, rhs.span)
        })?;
        Ok(super::arith::number_or_vector(result, Elem::I1, None))
    }

    /// `decides` where `condition` is that, else what `ask` gives, asked only there.
    pub(super) fn asked_unless(
        &mut self,
        condition: IrValue<'c>,
        decides: bool,
        span: Span,
        ask: impl FnOnce(&mut Self) -> Result<IrValue<'c>>,
    ) -> Result<IrValue<'c>> {
        let (then_region, then_block) = region_with_block(&[]);
        let (else_region, else_block) = region_with_block(&[]);
        let (known, asked) = if decides {
            (then_block, else_block)
        } else {
            (else_block, then_block)
        };
        self.in_block(asked, |this| {
            let number = ask(this)?;
            this.terminate(ScfOp::Yield, &[number], span)
        })?;
        self.in_block(known, |this| {
            let number = this.number(&Value::Bool(decides), Elem::I1, span)?;
            this.terminate(ScfOp::Yield, &[number], span)
        })?;
        let ir = self.ir(span)?;
        let ty = ir.ty("i1");
        let regions = vec![then_region, else_region];
        let op = ir.op_with_regions(ScfOp::If, &[condition], &[], &[ty], regions);
        Ok(result_of(op, 0))
    }

    /// Brings the values of two branches to one form and yields them.
    fn join(
        &mut self,
        wanted: bool,
        (a, first): (&Value<'c, 'a>, IrBlock<'c>),
        (b, second): (&Value<'c, 'a>, IrBlock<'c>),
        yields: &mut Yields<'c>,
        span: Span,
    ) -> Result<Joined<'c, 'a>> {
        if !wanted {
            return Ok(Joined::Known(Box::new(Value::Unit)));
        }
        match (a, b) {
            (Value::Unit, Value::Unit) => return Ok(Joined::Known(Box::new(Value::Unit))),
            (Value::Int(x), Value::Int(y)) if x == y => {
                return Ok(Joined::Known(Box::new(a.clone())));
            }
            (Value::Tuple(x), Value::Tuple(y)) if x.len() == y.len() => {
                let parts = x
                    .iter()
                    .zip(y)
                    .map(|(x, y)| self.join(true, (x, first), (y, second), yields, span));
                return Ok(Joined::Tuple(parts.collect::<Result<_>>()?));
            }
            (Value::Record(x), Value::Record(y)) if std::ptr::eq(x.declaration, y.declaration) => {
                let mut fields = Vec::new();
                let declared = x.declaration.fields.iter();
                for (field, (x, y)) in declared.zip(x.fields.iter().zip(&y.fields)) {
                    // Of two views nobody asked for the elements.
                    let of_views = matches!(x, Value::Cute(_)) || matches!(y, Value::Cute(_));
                    if of_views && !x.is_same(y) {
                        let name = &field.name.node;
                        let message = format!("the field `{name}` is another one in each branch");
                        let label = "numbers and tiles alone may depend on a run-time value";
                        return self.error(codes::WRONG_TYPE, span, message, label);
                    }
                    fields.push(self.join(true, (x, first), (y, second), yields, span)?);
                }
                return Ok(Joined::Record(x.declaration, fields));
            }
            (
                Value::Static(_)
                | Value::Type(_)
                | Value::Str(_)
                | Value::Function(_)
                | Value::Builtin(_),
                other,
            ) if a.is_same(other) => return Ok(Joined::Known(Box::new(a.clone()))),
            (Value::Cute(x), Value::Cute(y)) if x.ir == y.ir => {
                return Ok(Joined::Known(Box::new(a.clone())));
            }
            (Value::Tile(x), Value::Tile(y)) if (x.elem, &x.shape) == (y.elem, &y.shape) => {
                yields.first.push(x.ir);
                yields.second.push(y.ir);
                yields.types.push(x.ir.r#type());
                return Ok(Joined::Tile(yields.first.len() - 1, x.clone()));
            }
            _ => {}
        }
        let a = self.in_block(first, |this| this.operand(a, span))?;
        let b = self.in_block(second, |this| this.operand(b, span))?;
        let form = |value: &Value<'c, 'a>| match value {
            Value::Scalar(scalar) => Some((Some(scalar.elem), None)),
            Value::Vector(vector) => Some((Some(vector.elem), Some(vector.len))),
            Value::Typed(_, elem) => Some((Some(*elem), None)),
            Value::Large(_) => Some((Some(Elem::U64), None)),
            Value::Int(_) | Value::Float(_) | Value::Bool(_) => Some((None, None)),
            _ => None,
        };
        let (Some((x, m)), Some((y, n))) = (form(&a), form(&b)) else {
            let message = format!("the branches give {} and {}", a.describe(), b.describe());
            let label = "both must give numbers, or tiles of one type and shape, depending on a run-time value";
            let diagnostic = Diagnostic::error(codes::WRONG_TYPE, span, message, label);
            let lacks = matches!(a, Value::Unit) != matches!(b, Value::Unit);
            return Err(self.report(match lacks {
                true => diagnostic.with_help(
                    "write `if c { a } else { b }`, each without `;` behind its last expression",
                ),
                false => diagnostic,
            }));
        };
        let elem = match (x, y) {
            (Some(x), Some(y)) if x != y => {
                let message = format!("the branches give {} and {}", elem_name(x), elem_name(y));
                let label = "both must have the same type";
                let diagnostic = Diagnostic::error(codes::MIXED_TYPES, span, message, label);
                let help = format!("convert one of them: `{}(…)`", elem_name(wider(x, y)));
                return Err(self.report(diagnostic.with_help(help)));
            }
            (Some(elem), _) | (None, Some(elem)) => elem,
            (None, None) => match (&a, &b) {
                (Value::Bool(_), _) => Elem::I1,
                (Value::Float(_), _) | (_, Value::Float(_)) => Elem::F32,
                _ => Elem::I32,
            },
        };
        let len = match (m, n) {
            (Some(m), Some(n)) if m != n => {
                let message = format!("the branches give {m} and {}", counted(n, "element"));
                return self.error(
                    codes::SHAPE_MISMATCH,
                    span,
                    message,
                    "both must have as many",
                );
            }
            _ => m.or(n),
        };
        let x = self.in_block(first, |this| this.spread(&a, elem, len, span))?;
        let y = self.in_block(second, |this| this.spread(&b, elem, len, span))?;
        yields.first.push(x);
        yields.second.push(y);
        let ty = self.ir(span)?.numbers_type(elem, len);
        yields.types.push(ty);
        Ok(Joined::Result(yields.first.len() - 1, elem, len))
    }
}

fn rebuild<'c, 'a>(
    joined: &Joined<'c, 'a>,
    result: &impl Fn(usize) -> IrValue<'c>,
) -> Value<'c, 'a> {
    match joined {
        Joined::Known(value) => (**value).clone(),
        Joined::Result(at, elem, len) => super::arith::number_or_vector(result(*at), *elem, *len),
        Joined::Tile(at, tile) => Value::Tile(Tile {
            ir: result(*at),
            ..tile.clone()
        }),
        Joined::Tuple(parts) => {
            Value::Tuple(parts.iter().map(|part| rebuild(part, result)).collect())
        }
        Joined::Record(declaration, fields) => Value::Record(RecordValue {
            declaration,
            fields: fields.iter().map(|field| rebuild(field, result)).collect(),
        }),
    }
}

/// Whether evaluating it needlessly does no harm.
fn is_plain(expr: &Expr) -> bool {
    let mut plain = !matches!(
        *expr.kind,
        ExprKind::Index { .. } | ExprKind::Call { .. } | ExprKind::If(_) | ExprKind::Block(_)
    );
    let divides = matches!(&*expr.kind, ExprKind::Binary { op, .. } if matches!(op.node, BinaryOp::Div | BinaryOp::Rem));
    plain &= !divides;
    let mut blocks = 0;
    expr.kind
        .for_each_child(&mut |child| plain &= is_plain(child), &mut |_| blocks += 1);
    plain && blocks == 0
}
