//! Loops and branches, and the values that they carry.

use super::body::{Body, expected};
use super::error::{Problem, Result, fail};
use super::kind::{ElemKind, Literal};
use super::tree;
use super::value::Value;
use crate::ast::{Block, Expr, ExprKind, For, StmtKind};
use cutec_dialects::elem::Elem;
use std::sync::Arc;

/// The deepest pipeline.
const MOST_STAGES: i64 = 16;

/// What a literal is not.
const CARRIED: &str = "tiles, or numbers that the kernel computes, to carry";

/// What a loop runs over.
#[derive(Debug, Clone)]
pub struct Loop {
    first: Value,
    end: Value,
    /// Elements of a tile, where the loop runs over tiles.
    by: Option<i64>,
    stages: Option<i64>,
}

impl Loop {
    /// The tiles that so many elements make, `by` each, the last one perhaps not whole.
    pub fn tiles(elements: impl Into<Value>, by: i64) -> Self {
        Self {
            first: 0.into(),
            end: elements.into(),
            by: Some(by),
            stages: None,
        }
    }

    /// Integers from `first` to `end`, without `end`.
    pub fn range(first: impl Into<Value>, end: impl Into<Value>) -> Self {
        Self {
            first: first.into(),
            end: end.into(),
            by: None,
            stages: None,
        }
    }

    /// Loads run so many rounds ahead, the round computed included.
    #[must_use]
    pub fn pipeline(self, stages: i64) -> Self {
        Self {
            stages: Some(stages),
            ..self
        }
    }
}

/// Values that a loop or a branch carries: an array, of as many as the program says, or a vector, of as many as there are when it
/// runs.
pub trait Carried: Sized {
    /// The values.
    fn values(self) -> Vec<Value>;

    /// As many values as were carried in.
    fn of(values: Vec<Value>) -> Option<Self>;
}

impl Carried for Vec<Value> {
    fn values(self) -> Vec<Value> {
        self
    }

    fn of(values: Vec<Value>) -> Option<Self> {
        Some(values)
    }
}

impl<const N: usize> Carried for [Value; N] {
    fn values(self) -> Vec<Value> {
        self.into()
    }

    fn of(values: Vec<Value>) -> Option<Self> {
        values.try_into().ok()
    }
}

impl Body {
    /// A loop. `round` is called once: it gets the index of the round and the values that the loop carries, as they are
    /// at its start, and returns them as they are at its end. The result is what the last round left, or what was carried
    /// in where there is no round.
    ///
    /// # Errors
    /// When bounds are no integers, what is carried is a literal or changes its type or shape or number, and what `round` returns.
    #[track_caller]
    pub fn repeat<C: Carried>(
        &mut self,
        over: Loop,
        carried: C,
        round: impl FnOnce(&mut Body, &Value, C) -> Result<C>,
    ) -> Result<C> {
        let index = self.bounds(&over)?;
        let carried = carried.values();
        let names = self.carry("repeat", &carried)?;
        let counter = self.fresh("i");
        let body = self.block("repeat", &names, &carried, |body, held| {
            let at = body.named(counter.clone(), ElemKind::Number(index));
            round(body, &at, held)
        })?;
        let range = match over.by {
            Some(by) => tree::call(tree::name("tiles"), [over.end.expr(), tree::int(by)]),
            None => tree::expr(ExprKind::Range {
                start: over.first.expr(),
                end: over.end.expr(),
                step: None,
            }),
        };
        let pipeline = |stages| tree::call(tree::name("pipeline"), [tree::int(stages)]);
        self.push(tree::statement(StmtKind::For(For {
            is_static: false,
            clause: over.stages.map(pipeline),
            pattern: tree::pattern(&counter),
            over: range,
            body,
        })));
        self.carried("repeat", names, &carried)
    }

    /// `then` where a condition holds: it gets the values that are carried, and returns them as they are afterwards.
    /// Elsewhere they stay as they were. It is called once, while the kernel is built.
    ///
    /// # Errors
    /// When the condition is no bool, what is carried is a literal or changes its type or shape or number, and what `then`
    /// returns.
    #[track_caller]
    pub fn when<C: Carried>(
        &mut self,
        condition: impl Into<Value>,
        carried: C,
        then: impl FnOnce(&mut Body, C) -> Result<C>,
    ) -> Result<C> {
        let condition = self.condition("when", condition.into())?;
        let carried = carried.values();
        let names = self.carry("when", &carried)?;
        let then = self.block("when", &names, &carried, then)?;
        self.push(tree::branch(condition, then, None));
        self.carried("when", names, &carried)
    }

    /// `then` where a condition holds, else `otherwise`; each gets the values that are carried, and returns them as they
    /// are afterwards. Both are called, while the kernel is built.
    ///
    /// # Errors
    /// As of [`Body::when`].
    #[track_caller]
    pub fn branch<C: Carried>(
        &mut self,
        condition: impl Into<Value>,
        carried: C,
        then: impl FnOnce(&mut Body, C) -> Result<C>,
        otherwise: impl FnOnce(&mut Body, C) -> Result<C>,
    ) -> Result<C> {
        let condition = self.condition("branch", condition.into())?;
        let carried = carried.values();
        let names = self.carry("branch", &carried)?;
        let then = self.block("branch", &names, &carried, then)?;
        let otherwise = self.block("branch", &names, &carried, otherwise)?;
        self.push(tree::branch(condition, then, Some(otherwise)));
        self.carried("branch", names, &carried)
    }

    #[track_caller]
    fn condition(&self, operation: &'static str, condition: Value) -> Result<Expr> {
        match condition.kind {
            ElemKind::Number(Elem::I1) | ElemKind::Literal(Literal::Bool(_)) => {
                self.operand(operation, &condition)
            }
            _ => Err(expected(operation, "a bool", &condition)),
        }
    }

    /// Variables for what blocks carry.
    #[track_caller]
    fn carry(&mut self, operation: &'static str, carried: &[Value]) -> Result<Vec<Arc<str>>> {
        let mut starts = Vec::new();
        for value in carried {
            starts.push(self.operand(operation, value)?);
            if matches!(value.kind, ElemKind::Literal(_)) {
                return Err(expected(operation, CARRIED, value));
            }
        }
        let names: Vec<Arc<str>> = carried.iter().map(|_| self.fresh("c")).collect();
        for (name, start) in names.iter().zip(starts) {
            self.push(tree::binding(true, name, start));
        }
        Ok(names)
    }

    /// What the variables hold after the block at hand.
    #[track_caller]
    fn carried<C: Carried>(
        &self,
        operation: &'static str,
        names: Vec<Arc<str>>,
        carried: &[Value],
    ) -> Result<C> {
        let values = names.into_iter().zip(carried);
        let values = values.map(|(name, start)| self.named(name, start.kind.clone()));
        as_carried(operation, values.collect())
    }

    /// A block that changes the variables.
    #[track_caller]
    fn block<C: Carried>(
        &mut self,
        operation: &'static str,
        names: &[Arc<str>],
        carried: &[Value],
        inside: impl FnOnce(&mut Body, C) -> Result<C>,
    ) -> Result<Block> {
        let at = self.at.clone();
        self.enter();
        // What the block got stays as it was while the variables change.
        let mut held = Vec::new();
        for (name, start) in names.iter().zip(carried) {
            held.push(self.bound(tree::name(name), start.kind.clone()));
        }
        let ends = match as_carried(operation, held) {
            Ok(held) => inside(self, held),
            Err(error) => Err(error),
        };
        let ends = match ends {
            Ok(ends) => self.check_carried(operation, carried, &ends.values()),
            Err(error) => Err(error),
        };
        self.at = at;
        let ends = match ends {
            Ok(ends) => ends,
            Err(error) => {
                self.close();
                return Err(error);
            }
        };
        for (name, end) in names.iter().zip(ends) {
            self.push(tree::assignment(tree::name(name), None, end));
        }
        Ok(self.close())
    }

    /// Checks what a loop runs over; the type of its index.
    #[track_caller]
    fn bounds(&self, over: &Loop) -> Result<Elem> {
        let mut index = Elem::I32;
        for bound in [&over.first, &over.end] {
            self.operand("repeat", bound)?;
            match bound.kind {
                ElemKind::Number(Elem::I64) => index = Elem::I64,
                ElemKind::Number(Elem::I32) | ElemKind::Literal(Literal::Int(_)) => {}
                _ => return Err(expected("repeat", "integers to run over", bound)),
            }
        }
        let limits = [
            (
                "the number of elements of a tile",
                over.by,
                i64::from(i32::MAX),
            ),
            ("the number of stages", over.stages, MOST_STAGES),
        ];
        for (what, found, most) in limits {
            if let Some(found) = found
                && !(1..=most).contains(&found)
            {
                return Err(fail(Problem::Range {
                    operation: "repeat",
                    what,
                    least: 1,
                    most,
                    found,
                }));
            }
        }
        Ok(index)
    }

    /// What a block returns is of the types and shapes that it got.
    #[track_caller]
    fn check_carried(
        &self,
        operation: &'static str,
        carried: &[Value],
        ends: &[Value],
    ) -> Result<Vec<Expr>> {
        if carried.len() != ends.len() {
            return Err(fail(Problem::Rank {
                operation,
                of: "values that are carried",
                expected: carried.len(),
                found: ends.len(),
            }));
        }
        let mut exprs = Vec::new();
        for (start, end) in carried.iter().zip(ends) {
            let (elem, shape) = match &start.kind {
                ElemKind::Tile { elem, shape } => (*elem, shape.as_slice()),
                ElemKind::Number(elem) => (*elem, [].as_slice()),
                ElemKind::Literal(_) => return Err(expected(operation, CARRIED, start)),
            };
            exprs.push(self.fitting(operation, end, elem, shape)?);
        }
        Ok(exprs)
    }
}

/// What is carried, of as many values as were carried in.
#[track_caller]
fn as_carried<C: Carried>(operation: &'static str, values: Vec<Value>) -> Result<C> {
    let found = values.len();
    match C::of(values) {
        Some(carried) => Ok(carried),
        // An array that was carried in gives as many values as it takes.
        None => Err(fail(Problem::Rank {
            operation,
            of: "values that are carried",
            expected: 0,
            found,
        })),
    }
}
