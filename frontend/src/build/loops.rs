//! Loops and branches, and the tiles that they carry.

use super::body::{Body, Result, expected};
use super::error::Problem;
use super::signature::fail;
use super::tree;
use super::value::{Kind, Literal, Value};
use crate::ast::{Block, Expr, ExprKind, For, StmtKind};
use cutec_dialects::elem::Elem;
use std::sync::Arc;

/// The deepest pipeline.
const MOST_STAGES: i64 = 16;

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

impl Body {
    /// A loop. `round` is called once: it gets the index of the round and the tiles that the loop carries, as they are
    /// at its start, and returns them as they are at its end. The result is what the last round left, or what was carried
    /// in where there is no round.
    ///
    /// # Errors
    /// When bounds are no integers, what is carried is no tile or changes its type or shape, and what `round` returns.
    #[track_caller]
    pub fn repeat<const N: usize>(
        &mut self,
        over: Loop,
        carried: [Value; N],
        round: impl FnOnce(&mut Body, &Value, [Value; N]) -> Result<[Value; N]>,
    ) -> Result<[Value; N]> {
        let index = self.bounds(&over)?;
        let names = self.carry("repeat", &carried)?;
        let counter = self.fresh("i");
        let body = self.block("repeat", &names, &carried, |body, held| {
            let at = body.named(counter.clone(), Kind::Number(index));
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
        Ok(self.carried(names, &carried))
    }

    /// `then` where a condition holds: it gets the tiles that are carried, and returns them as they are afterwards.
    /// Elsewhere they stay as they were. It is called once, while the kernel is built.
    ///
    /// # Errors
    /// When the condition is no bool, what is carried is no tile or changes its type or shape, and what `then`
    /// returns.
    #[track_caller]
    pub fn when<const N: usize>(
        &mut self,
        condition: impl Into<Value>,
        carried: [Value; N],
        then: impl FnOnce(&mut Body, [Value; N]) -> Result<[Value; N]>,
    ) -> Result<[Value; N]> {
        let condition = self.condition("when", condition.into())?;
        let names = self.carry("when", &carried)?;
        let then = self.block("when", &names, &carried, then)?;
        self.push(tree::branch(condition, then, None));
        Ok(self.carried(names, &carried))
    }

    /// `then` where a condition holds, else `otherwise`; each gets the tiles that are carried, and returns them as they
    /// are afterwards. Both are called, while the kernel is built.
    ///
    /// # Errors
    /// As of [`Body::when`].
    #[track_caller]
    pub fn branch<const N: usize>(
        &mut self,
        condition: impl Into<Value>,
        carried: [Value; N],
        then: impl FnOnce(&mut Body, [Value; N]) -> Result<[Value; N]>,
        otherwise: impl FnOnce(&mut Body, [Value; N]) -> Result<[Value; N]>,
    ) -> Result<[Value; N]> {
        let condition = self.condition("branch", condition.into())?;
        let names = self.carry("branch", &carried)?;
        let then = self.block("branch", &names, &carried, then)?;
        let otherwise = self.block("branch", &names, &carried, otherwise)?;
        self.push(tree::branch(condition, then, Some(otherwise)));
        Ok(self.carried(names, &carried))
    }

    #[track_caller]
    fn condition(&self, operation: &'static str, condition: Value) -> Result<Expr> {
        match condition.kind {
            Kind::Number(Elem::I1) | Kind::Literal(Literal::Bool(_)) => {
                self.operand(operation, &condition)
            }
            _ => Err(expected(operation, "a bool", &condition)),
        }
    }

    /// Variables for tiles that blocks carry.
    #[track_caller]
    fn carry<const N: usize>(
        &mut self,
        operation: &'static str,
        carried: &[Value; N],
    ) -> Result<[Arc<str>; N]> {
        let mut starts = Vec::new();
        for value in carried {
            starts.push(self.operand(operation, value)?);
            if !matches!(value.kind, Kind::Tile { .. }) {
                return Err(expected(operation, "tiles to carry", value));
            }
        }
        let names = carried.each_ref().map(|_| self.fresh("c"));
        for (name, start) in names.iter().zip(starts) {
            self.push(tree::binding(true, name, start));
        }
        Ok(names)
    }

    /// What the variables hold after the block at hand.
    fn carried<const N: usize>(&self, names: [Arc<str>; N], carried: &[Value; N]) -> [Value; N] {
        std::array::from_fn(|at| self.named(names[at].clone(), carried[at].kind.clone()))
    }

    /// A block that changes the variables.
    #[track_caller]
    fn block<const N: usize>(
        &mut self,
        operation: &'static str,
        names: &[Arc<str>; N],
        carried: &[Value; N],
        inside: impl FnOnce(&mut Body, [Value; N]) -> Result<[Value; N]>,
    ) -> Result<Block> {
        self.enter();
        // What the block got stays as it was while the variables change.
        let held =
            std::array::from_fn(|at| self.bound(tree::name(&names[at]), carried[at].kind.clone()));
        let ends = match inside(self, held) {
            Ok(ends) => self.check_carried(operation, carried, &ends),
            Err(error) => Err(error),
        };
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
                Kind::Number(Elem::I64) => index = Elem::I64,
                Kind::Number(Elem::I32) | Kind::Literal(Literal::Int(_)) => {}
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
        let mut exprs = Vec::new();
        for (start, end) in carried.iter().zip(ends) {
            let Kind::Tile { elem, shape } = &start.kind else {
                return Err(expected(operation, "tiles to carry", start));
            };
            exprs.push(self.fitting(operation, end, *elem, shape)?);
        }
        Ok(exprs)
    }
}
