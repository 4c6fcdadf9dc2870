//! Loops, and the tiles that they carry from round to round.

use super::body::{Body, Result, expected};
use super::error::Problem;
use super::signature::fail;
use super::tree;
use super::value::{Kind, Literal, Value};
use crate::ast::{For, StmtKind};
use cutec_dialects::elem::Elem;

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
        let mut starts = Vec::new();
        for value in &carried {
            starts.push(self.operand("repeat", value)?);
            if !matches!(value.kind, Kind::Tile { .. }) {
                return Err(expected("repeat", "tiles to carry", value));
            }
        }
        let names = carried.each_ref().map(|_| self.fresh("c"));
        for (name, start) in names.iter().zip(starts) {
            self.push(tree::binding(true, name, start));
        }
        let results = names.clone();
        let results =
            std::array::from_fn(|at| self.named(results[at].clone(), carried[at].kind.clone()));

        let counter = self.fresh("i");
        self.enter();
        // What a round got stays as it was while the variables change.
        let held =
            std::array::from_fn(|at| self.bound(tree::name(&names[at]), carried[at].kind.clone()));
        let at = self.named(counter.clone(), Kind::Number(index));
        let ends = match round(self, &at, held) {
            Ok(ends) => self.check_carried(&carried, &ends),
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
        let body = self.close();
        let range = match over.by {
            Some(by) => tree::call(tree::name("tiles"), [over.end.expr(), tree::int(by)]),
            None => tree::expr(crate::ast::ExprKind::Range {
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
        Ok(results)
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

    /// What a round returns is of the types and shapes that it got.
    #[track_caller]
    fn check_carried(&self, carried: &[Value], ends: &[Value]) -> Result<Vec<crate::ast::Expr>> {
        let mut exprs = Vec::new();
        for (start, end) in carried.iter().zip(ends) {
            let Kind::Tile { elem, shape } = &start.kind else {
                return Err(expected("repeat", "tiles to carry", start));
            };
            exprs.push(self.fitting("repeat", end, *elem, shape)?);
        }
        Ok(exprs)
    }
}
