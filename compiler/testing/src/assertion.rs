//! `assert_eq`, `assert_close` and `assert`, and assignments in index notation.
//!
//! Both sides are evaluated in `f64` over the whole range of their indices. Two NaN are equal, so a
//! reference may be NaN; poison that a kernel did not overwrite is NaN too, and shows wherever the
//! reference is a number.

use super::index::Program;
use super::index::lower::{self, Valued};
use super::interpret::{Interpreter, binary, wrong_kind};
use super::problem::{Compared, Stop, TestProblem, Tolerance};
use super::value::{Kind, Value};
use cutec_frontend::ast::{Arg, BinaryOp, Expr, ExprKind, Name};
use cutec_frontend::source::{Span, Spanned};

/// `assert(condition)`
pub fn assert(interpreter: &Interpreter<'_>, args: &[Arg], span: Span) -> Result<(), Stop> {
    none_named(args, "assert")?;
    let [condition] = positional(args, "assert", "1 condition", span)?;
    interpreter.count_assertion();
    match judge(interpreter, &condition.value)? {
        (Value::Bool(true), _) => Ok(()),
        (Value::Bool(false), _) if interpreter.checks() => Ok(()),
        (Value::Bool(false), compared) => {
            let problem = TestProblem::Condition { compared };
            Err(with_scope(interpreter, problem.at(span)))
        }
        (other, _) => Err(wrong_kind("a condition", &other, condition.value.span)),
    }
}

/// What a condition gives, and the comparison that decided it: of conditions that all must hold, the first that does not.
fn judge(
    interpreter: &Interpreter<'_>,
    condition: &Expr,
) -> Result<(Value, Option<Compared>), Stop> {
    let ExprKind::Binary { op, lhs, rhs } = &*condition.kind else {
        return Ok((interpreter.expr(condition)?, None));
    };
    if op.node == BinaryOp::And {
        return match judge(interpreter, lhs)? {
            (Value::Bool(true), _) => judge(interpreter, rhs),
            (Value::Bool(false), compared) => Ok((Value::Bool(false), compared)),
            (other, _) => Err(wrong_kind("a condition", &other, lhs.span)),
        };
    }
    let Some(comparison) = op.node.comparison() else {
        return Ok((interpreter.expr(condition)?, None));
    };
    let (left, right) = (interpreter.expr(lhs)?, interpreter.expr(rhs)?);
    let compared = left.source_text().zip(right.source_text());
    let compared = compared.map(|(found, limit)| Compared {
        comparison,
        found,
        limit,
    });
    let value = binary(op.node, left, right, condition.span)?;
    Ok((value, compared))
}

/// `assert_eq(found, expected)`: equal bit by bit as numbers.
pub fn assert_eq(interpreter: &Interpreter<'_>, args: &[Arg], span: Span) -> Result<(), Stop> {
    none_named(args, "assert_eq")?;
    let [found, expected] = positional(args, "assert_eq", "2 expressions", span)?;
    compare(interpreter, &found.value, &expected.value, None, span)
}

/// `assert_close(found, expected, rtol = …, atol = …)`: `|found − expected| ≤ atol + rtol · |expected|`.
///
/// `rtol` is 1e-5 where it is left out. `atol`, where it is left out, is a hundredth of `rtol` times
/// the root mean square of what is expected: rounding does not shrink with a sum that happens to
/// cancel.
pub fn assert_close(interpreter: &Interpreter<'_>, args: &[Arg], span: Span) -> Result<(), Stop> {
    let [found, expected] = positional(args, "assert_close", "2 expressions", span)?;
    let mut limits = Limits {
        relative: 1e-5,
        absolute: None,
    };
    for (name, arg) in args
        .iter()
        .filter_map(|arg| Some((arg.name.as_ref()?, arg)))
    {
        let value = interpreter.expr(&arg.value)?;
        let number = value
            .number()
            .ok_or_else(|| wrong_kind("a number", &value, arg.value.span))?;
        match &*name.node {
            "rtol" => limits.relative = number,
            "atol" => limits.absolute = Some(number),
            other => {
                return Err(TestProblem::NoSuchArgument {
                    function: "assert_close".to_owned(),
                    argument: other.to_owned(),
                }
                .at(name.span));
            }
        }
    }
    compare(
        interpreter,
        &found.value,
        &expected.value,
        Some(limits),
        span,
    )
}

#[derive(Clone, Copy)]
struct Limits {
    relative: f64,
    absolute: Option<f64>,
}

/// What comparing blocks found so far.
#[derive(Clone, Copy, Default)]
struct Comparison {
    count: u64,
    first: Option<(u64, f64, f64)>,
    worst: f64,
}

impl Comparison {
    fn join(self, other: Self) -> Self {
        let first = match (self.first, other.first) {
            (Some(a), Some(b)) => Some(if a.0 <= b.0 { a } else { b }),
            (a, b) => a.or(b),
        };
        Self {
            count: self.count + other.count,
            first,
            worst: if other.worst.is_nan() || other.worst > self.worst {
                other.worst
            } else {
                self.worst
            },
        }
    }
}

fn compare(
    interpreter: &Interpreter<'_>,
    found: &Expr,
    expected: &Expr,
    limits: Option<Limits>,
    span: Span,
) -> Result<(), Stop> {
    interpreter.count_assertion();
    let program = lower::lower(interpreter, &[found, expected], &[])?;
    if interpreter.checks() {
        return Ok(());
    }
    let absolute = match limits {
        None => 0.0,
        Some(limits) => limits
            .absolute
            .unwrap_or_else(|| limits.relative * 0.01 * root_mean_square(&program)),
    };
    let relative = limits.map_or(0.0, |limits| limits.relative);
    let exact = limits.is_none();
    let comparison = program.fold(
        Comparison::default,
        |mut state, block| {
            let pairs = block.roots[0].iter().zip(&block.roots[1]);
            for (lane, (&found, &expected)) in pairs.enumerate() {
                let difference = (found - expected).abs();
                let fits = found == expected
                    || (found.is_nan() && expected.is_nan())
                    || (!exact && difference <= absolute + relative * expected.abs());
                if !fits {
                    state.count += 1;
                    let point = block.first + lane as u64;
                    if state.first.is_none_or(|(first, ..)| point < first) {
                        state.first = Some((point, expected, found));
                    }
                    if difference.is_nan() || difference > state.worst {
                        state.worst = difference;
                    }
                }
            }
            state
        },
        Comparison::join,
    );
    let Some((point, expected, found)) = comparison.first else {
        return Ok(());
    };
    let names = program.variables[..program.free]
        .iter()
        .map(|variable| variable.name.clone());
    let problem = TestProblem::Mismatch {
        count: comparison.count,
        total: program.points(),
        at: names.zip(program.coordinate(point)).collect(),
        expected,
        found,
        tolerance: limits.map(|_| Tolerance {
            relative,
            absolute,
            worst: comparison.worst,
        }),
    };
    Err(with_scope(interpreter, problem.at(span)))
}

/// The root mean square of the second root; values that are not finite do not count.
fn root_mean_square(program: &Program) -> f64 {
    let (sum, count) = program.fold(
        || (0.0, 0_u64),
        |state, block| {
            block.roots[1]
                .iter()
                .filter(|value| value.is_finite())
                .fold(state, |(sum, count), value| {
                    (sum + value * value, count + 1)
                })
        },
        |a, b| (a.0 + b.0, a.1 + b.1),
    );
    (sum / count.max(1) as f64).sqrt()
}

/// `t[i, j] = …;` for all `i` and `j`, `t[0, 1] = …;` for one element, `t[at[i]] += …;` for those that are computed.
pub fn assign_elements(
    interpreter: &Interpreter<'_>,
    target: &Expr,
    base: &Expr,
    indices: &[Expr],
    op: Option<BinaryOp>,
    value: &Expr,
) -> Result<(), Stop> {
    let tensor = match interpreter.expr(base)? {
        Value::Tensor(tensor) => tensor,
        other => return Err(wrong_kind("a tensor", &other, base.span)),
    };
    let shape = tensor.shape().to_vec();
    if shape.len() != indices.len() {
        return Err(TestProblem::Rank {
            tensor: base.as_name().map_or_else(String::new, ToString::to_string),
            expected: shape.len(),
            found: indices.len(),
        }
        .at(target.span));
    }
    // A name that nothing defines runs over its mode; everything else is computed.
    let mut free: Vec<(Name, i64)> = Vec::new();
    let mut computed: Vec<&Expr> = Vec::new();
    let mut places = Vec::new();
    for (index, extent) in indices.iter().zip(&shape) {
        let unbound = index
            .as_name()
            .filter(|name| lower::Names::value(interpreter, name, index.span.file).is_none());
        match unbound {
            Some(name) => {
                let known = free.iter().position(|(known, _)| known.node == *name);
                places.push(Place::Variable(known.unwrap_or(free.len())));
                match known {
                    None => free.push((Spanned::new(name.clone(), index.span), *extent)),
                    Some(known) if free[known].1 != *extent => {
                        return Err(TestProblem::TwoRanges {
                            name: name.to_string(),
                            first: free[known].1,
                            second: *extent,
                        }
                        .at(index.span));
                    }
                    Some(_) => {}
                }
            }
            None => {
                places.push(Place::Computed(computed.len()));
                computed.push(index);
            }
        }
    }
    let Valued { program, integer } =
        lower::lower_assignment(interpreter, &computed, value, &free)?;
    if interpreter.checks() {
        return Ok(());
    }
    let integers = integer && !tensor.dtype().is_float();
    let operation = op.map(|op| lower::operation(op, integers));
    let blocks = program.fold(
        Vec::new,
        |mut blocks, block| {
            blocks.push((block.first, block.roots));
            blocks
        },
        |mut a, b| {
            a.extend(b);
            a
        },
    );
    let mut tensor = tensor.borrow_mut();
    for (first, roots) in blocks {
        let Some((values, computed)) = roots.split_last() else {
            continue;
        };
        for (lane, value) in values.iter().enumerate() {
            let coordinate = program.coordinate(first + lane as u64);
            let mut index = Vec::with_capacity(places.len());
            for (place, expr) in places.iter().zip(indices) {
                index.push(match place {
                    Place::Variable(variable) => coordinate[*variable],
                    Place::Computed(root) => whole(computed[*root][lane], expr.span)?,
                });
            }
            // An element that several indices lead to takes all of them, one after the other.
            let value = match (operation, tensor.get(&index)) {
                (Some(operation), Some(old)) => operation.apply(old, *value),
                _ => *value,
            };
            if !tensor.set(&index, value) {
                let outside = index
                    .iter()
                    .zip(&shape)
                    .position(|(at, extent)| !(0..*extent).contains(at));
                let mode = outside.unwrap_or(0);
                return Err(TestProblem::OutOfRange {
                    tensor: base.as_name().map_or_else(String::new, ToString::to_string),
                    mode,
                    extent: shape[mode],
                    low: index[mode],
                    high: index[mode],
                }
                .at(target.span));
            }
        }
    }
    Ok(())
}

/// Where an index of the target comes from.
enum Place {
    /// A variable of the program.
    Variable(usize),
    /// A root of the program.
    Computed(usize),
}

/// An index that was computed.
fn whole(index: f64, span: Span) -> Result<i64, Stop> {
    match index.fract() == 0.0 {
        true => Ok(index as i64),
        false => Err(TestProblem::WrongKind {
            expected: "an integer",
            found: Kind::Float,
        }
        .at(span)),
    }
}

/// Refuses named arguments.
pub(super) fn none_named(args: &[Arg], function: &str) -> Result<(), Stop> {
    match args.iter().find_map(|arg| arg.name.as_ref()) {
        None => Ok(()),
        Some(name) => Err(TestProblem::NoSuchArgument {
            function: function.to_owned(),
            argument: name.node.to_string(),
        }
        .at(name.span)),
    }
}

/// The positional arguments, when there are as many as wanted.
fn positional<'a, const N: usize>(
    args: &'a [Arg],
    function: &str,
    expected: &str,
    span: Span,
) -> Result<[&'a Arg; N], Stop> {
    let found: Vec<&Arg> = args.iter().filter(|arg| arg.name.is_none()).collect();
    let count = found.len();
    found.try_into().map_err(|_| {
        TestProblem::Count {
            function: function.to_owned(),
            expected: expected.to_owned(),
            found: count,
        }
        .at(span)
    })
}

/// Adds the numbers in scope: which round of a loop it was.
fn with_scope(interpreter: &Interpreter<'_>, mut stop: Stop) -> Stop {
    let scalars = interpreter.scalars_in_scope();
    if !scalars.is_empty() {
        let scalars: Vec<String> = scalars
            .into_iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        stop.diagnostic
            .notes
            .push(format!("with {}", scalars.join(", ")));
    }
    stop
}
