//! Reductions, and tiles of other shapes.

use super::body::{Body, check_shape, expected};
use super::error::{Problem, Result, fail};
use super::kind::ElemKind;
use super::tree;
use super::value::Value;
use crate::rules;
use cutec_dialects::elem::Elem;

/// How a reduction combines.
pub use crate::eval::builtins::Operator as Reduction;

impl Body {
    /// Combines along an axis, which stays with extent 1.
    ///
    /// # Errors
    /// When there is no such axis, or the type has no such operator.
    #[track_caller]
    pub fn reduce(&mut self, how: Reduction, x: impl Into<Value>, axis: usize) -> Result<Value> {
        let (x, operation) = (x.into(), "reduce");
        let (elem, mut shape) = self.shaped(operation, &x)?;
        if !rules::reduces(how, elem) {
            return Err(fail(Problem::undefined(operation, elem)));
        }
        let at = self.axis(operation, axis, shape.len())?;
        shape[axis] = 1;
        let args = vec![
            tree::arg(tree::name(how.name())),
            tree::arg(x.expr()),
            tree::named("axis", tree::int(at)),
        ];
        let call = tree::call_with(tree::name(operation), args);
        Ok(self.tile(call, elem, shape))
    }

    /// Exchanges the two axes.
    ///
    /// # Errors
    /// When the tile has another number of axes.
    #[track_caller]
    pub fn transpose(&mut self, x: impl Into<Value>) -> Result<Value> {
        let x = x.into();
        let (elem, shape) = self.shaped("transpose", &x)?;
        let [rows, columns] = shape[..] else {
            return Err(expected("transpose", "a tile of two axes", &x));
        };
        let call = tree::call(tree::name("transpose"), [x.expr()]);
        Ok(self.tile(call, elem, vec![columns, rows]))
    }

    /// The part of a tile of this shape at a multiple of it.
    ///
    /// # Errors
    /// When it is none of the tile.
    #[track_caller]
    pub fn part(
        &mut self,
        x: impl Into<Value>,
        shape: impl IntoIterator<Item = i64>,
        at: impl IntoIterator<Item = i64>,
    ) -> Result<Value> {
        let (x, operation) = (x.into(), "part");
        let shape: Vec<i64> = shape.into_iter().collect();
        let at: Vec<i64> = at.into_iter().collect();
        let (elem, whole) = self.shaped(operation, &x)?;
        check_shape(operation, &shape)?;
        for found in [shape.len(), at.len()] {
            if found != whole.len() {
                return Err(fail(Problem::Rank {
                    operation,
                    of: "axes",
                    expected: whole.len(),
                    found,
                }));
            }
        }
        for ((at, extent), end) in at.iter().zip(&shape).zip(&whole) {
            if *at < 0 || at % extent != 0 || at + extent > *end {
                return Err(fail(Problem::Shapes {
                    operation,
                    rule: "a multiple of the part's shape inside of the tile",
                    expected: whole.clone(),
                    found: shape,
                }));
            }
        }
        let tuple = |numbers: &[i64]| tree::tuple(numbers.iter().copied().map(tree::int).collect());
        let args = [x.expr(), tuple(&shape), tuple(&at)];
        let call = tree::call(tree::name(operation), args);
        Ok(self.tile(call, elem, shape))
    }

    /// Tiles of one type and shape side by side along an axis.
    ///
    /// # Errors
    /// When they are not of one type and shape, or have no such axis.
    #[track_caller]
    pub fn join(&mut self, parts: impl IntoIterator<Item = Value>, axis: usize) -> Result<Value> {
        let operation = "join";
        let mut all: Option<(Elem, Vec<i64>)> = None;
        let mut args = Vec::new();
        for part in parts {
            let (elem, shape) = self.shaped(operation, &part)?;
            match &all {
                Some((first, _)) if *first != elem => {
                    return Err(fail(Problem::types(operation, *first, elem)));
                }
                Some((_, first)) if *first != shape => {
                    return Err(fail(Problem::Shapes {
                        operation,
                        rule: "tiles of one shape",
                        expected: first.clone(),
                        found: shape,
                    }));
                }
                _ => all = Some((elem, shape)),
            }
            args.push(tree::arg(part.expr()));
        }
        let Some((elem, mut shape)) = all else {
            return Err(fail(Problem::Rank {
                operation,
                of: "tiles",
                expected: 1,
                found: 0,
            }));
        };
        let at = self.axis(operation, axis, shape.len())?;
        shape[axis] *= args.len() as i64;
        check_shape(operation, &shape)?;
        args.push(tree::named("axis", tree::int(at)));
        let call = tree::call_with(tree::name(operation), args);
        Ok(self.tile(call, elem, shape))
    }

    /// Another shape of as many elements, in their order with the last axis the fastest.
    ///
    /// # Errors
    /// When it has more elements, or fewer.
    #[track_caller]
    pub fn reshape(
        &mut self,
        x: impl Into<Value>,
        shape: impl IntoIterator<Item = i64>,
    ) -> Result<Value> {
        let rule = "shapes of as many elements";
        self.reshaped("reshape", x.into(), shape, rules::reshapes_to, rule)
    }

    /// Repeats a tile along axes of extent 1, and of those that are absent at the front.
    ///
    /// # Errors
    /// When other extents differ.
    #[track_caller]
    pub fn broadcast(
        &mut self,
        x: impl Into<Value>,
        shape: impl IntoIterator<Item = i64>,
    ) -> Result<Value> {
        let rule = "extents that are equal, or 1";
        self.reshaped("broadcast", x.into(), shape, rules::repeats_to, rule)
    }

    #[track_caller]
    fn reshaped(
        &mut self,
        operation: &'static str,
        x: Value,
        shape: impl IntoIterator<Item = i64>,
        fits: fn(&[i64], &[i64]) -> bool,
        rule: &'static str,
    ) -> Result<Value> {
        let shape: Vec<i64> = shape.into_iter().collect();
        let (elem, found) = self.shaped(operation, &x)?;
        check_shape(operation, &shape)?;
        if !fits(&found, &shape) {
            return Err(fail(Problem::Shapes {
                operation,
                rule,
                expected: shape,
                found,
            }));
        }
        let mut args = vec![x.expr()];
        args.extend(shape.iter().map(|extent| tree::int(*extent)));
        let call = tree::call(tree::name(operation), args);
        Ok(self.tile(call, elem, shape))
    }

    /// The type and shape of what is a tile of this kernel.
    #[track_caller]
    pub(super) fn shaped(&self, operation: &'static str, x: &Value) -> Result<(Elem, Vec<i64>)> {
        self.operand(operation, x)?;
        match &x.kind {
            ElemKind::Tile { elem, shape } => Ok((*elem, shape.clone())),
            _ => Err(expected(operation, "a tile", x)),
        }
    }
}
