//! How integers change along a vector: from its first element to the last along an axis of a tile.
//!
//! Vectors begin at multiples of their length. A number either is the same for all elements of a vector, or one more for each; of
//! the first one it is known what divides it. All else is unknown.
use crate::passes::cmpi::{AT_LEAST, BELOW, LESS};
use crate::passes::integers::range::Ranges;
use crate::passes::ir_utils::{blocks, constant_of, defining_op, operations};
use crate::passes::tile::types::{differ_in_units, tile_of};
use cutec_dialects::builder::{IrOp, IrValue, argument_of, integer_value, operands_of, value_key};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::memo::{type_text, type_value};
use cutec_dialects::ops::{ArithOp, CuteOp, Op, ScfOp, TileOp, tile};
use cutec_dialects::types::Vars;
use cutec_dialects::value::Val;
use cutec_layout::Tree;
use melior::ir::{ValueLike, operation::OperationLike};
use std::collections::HashMap;

/// A number along a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Along {
    /// Whether it is one more for each element; else it is the same.
    pub steps: bool,
    /// What divides that of the first element; 0 of zero.
    pub divisor: i64,
    /// Whether it is known not to be negative.
    pub non_negative: bool,
}

impl Along {
    fn same(divisor: i64, non_negative: bool) -> Along {
        Along {
            steps: false,
            divisor,
            non_negative,
        }
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    match b {
        0 => a.abs(),
        _ => gcd(b, a % b),
    }
}

/// The predicate of `arith.cmpi` on numbers without sign: at least.
const FROM: i64 = 9;

/// How deep definitions are followed.
const DEPTH: usize = 64;

/// What is known of the numbers in the function of a map.
pub(super) struct Neighbours<'c> {
    vector: i64,
    known: HashMap<usize, Option<Along>>,
    /// What is known of tiles along an axis: many maps take one.
    tiles: HashMap<(usize, Option<usize>), Option<Along>>,
    ranges: Ranges,
    context: std::marker::PhantomData<IrValue<'c>>,
}

impl<'c> Neighbours<'c> {
    /// In the function of a map, along an axis of its tile.
    pub fn of_map(map: IrOp<'c>, axis: usize, vector: i64) -> Self {
        let mut neighbours = Neighbours::along(vector);
        neighbours.enter(map, Some(axis), DEPTH);
        neighbours
    }

    /// Along vectors of a length, where nothing is known yet.
    pub fn along(vector: i64) -> Self {
        Neighbours {
            vector,
            known: HashMap::new(),
            tiles: HashMap::new(),
            ranges: Ranges::default(),
            context: std::marker::PhantomData,
        }
    }

    /// Of the elements of a tile along an axis.
    pub fn of_tile(&mut self, value: IrValue<'c>, axis: usize) -> Option<Along> {
        self.tile(value, Some(axis), DEPTH)
    }

    /// Of a number in that function.
    pub fn of(&mut self, value: IrValue<'c>) -> Option<Along> {
        self.number(value, DEPTH)
    }

    /// Gives the arguments of a map's function what its tiles are.
    fn enter(&mut self, map: IrOp<'c>, axis: Option<usize>, depth: usize) {
        let Some(body) = blocks(map, 0).into_iter().next() else {
            return;
        };
        for (index, input) in operands_of(map).enumerate().collect::<Vec<_>>() {
            let along = self.tile(input, axis, depth);
            self.known
                .insert(value_key(argument_of(body, index)), along);
        }
    }

    /// Of the elements of a tile along an axis, or of one element.
    fn tile(&mut self, value: IrValue<'c>, axis: Option<usize>, depth: usize) -> Option<Along> {
        let key = (value_key(value), axis);
        if let Some(known) = self.tiles.get(&key) {
            return *known;
        }
        let found = self.made_tile(value, axis, depth);
        self.tiles.insert(key, found);
        found
    }

    fn made_tile(
        &mut self,
        value: IrValue<'c>,
        axis: Option<usize>,
        depth: usize,
    ) -> Option<Along> {
        let any = match axis {
            None => Some(Along::same(1, false)),
            Some(_) => None,
        };
        let Some(op) = defining_op(value).filter(|_| depth > 0) else {
            return any;
        };
        let Ok(of) = tile_of(op, value) else {
            return any;
        };
        let axis = axis.filter(|axis| of.shape.get(*axis).is_some_and(|extent| *extent > 1));
        let any = match axis {
            None => Some(Along::same(1, false)),
            Some(_) => None,
        };
        let input = || operands_of(op).next();
        match TileOp::of(op) {
            Some(TileOp::Iota) => {
                let along = op.attribute("axis").ok().and_then(integer_value)?;
                let steps = axis.is_some_and(|axis| i64::try_from(axis) == Ok(along));
                Some(Along {
                    steps,
                    divisor: if steps { self.vector } else { 1 },
                    non_negative: true,
                })
            }
            Some(TileOp::Splat) => self.number(input()?, depth - 1),
            Some(TileOp::Broadcast | TileOp::ConvertLayout) => self.tile(input()?, axis, depth - 1),
            Some(TileOp::Reshape) => {
                let from = tile_of(op, input()?).ok()?;
                if !differ_in_units(&from.shape, &of.shape) {
                    return any;
                }
                let axis = match axis {
                    None => None,
                    Some(axis) => {
                        let before = of.shape[..axis].iter().filter(|extent| **extent > 1);
                        let number = before.count();
                        let mut long = (0..from.shape.len()).filter(|at| from.shape[*at] > 1);
                        Some(long.nth(number)?)
                    }
                };
                self.tile(input()?, axis, depth - 1)
            }
            Some(TileOp::Map) => {
                let body = blocks(op, 0).into_iter().next()?;
                let end = tile::Yield::of(operations(body).pop()?)?;
                // What is known in it is of this axis alone.
                let around = std::mem::take(&mut self.known);
                self.enter(op, axis, depth - 1);
                let found = self.number(end.value(), depth - 1);
                self.known = around;
                found.or(any)
            }
            _ => any,
        }
    }

    /// Of a number, in the function of a map or outside.
    fn number(&mut self, value: IrValue<'c>, depth: usize) -> Option<Along> {
        if let Some(known) = self.known.get(&value_key(value)) {
            return *known;
        }
        let found = self.defined(value, depth);
        self.known.insert(value_key(value), found);
        found
    }

    fn defined(&mut self, value: IrValue<'c>, depth: usize) -> Option<Along> {
        if let Some(number) = constant_of(value) {
            return Some(Along::same(number.abs(), number >= 0));
        }
        let integer = matches!(&*type_text(value.r#type()), "i32" | "i64");
        let least = if integer {
            self.ranges.of(value).least
        } else {
            -1
        };
        let some = Along::same(1, least >= 0);
        let Some(op) = defining_op(value).filter(|_| depth > 0) else {
            // An argument of the kernel or of a loop.
            return Some(some);
        };
        if ScfOp::If.is(op) {
            // One that a map reads, or not.
            let mut operands: Vec<IrValue<'c>> = operands_of(op).collect();
            for region in 0..2 {
                for inner in blocks(op, region).into_iter().flat_map(operations) {
                    operands.extend(operands_of(inner));
                }
            }
            return self.all_same(&operands, depth).then_some(some);
        }
        let operands: Vec<IrValue<'c>> = operands_of(op).collect();
        match Op::of(op) {
            Some(Op::CuteOp(CuteOp::GetScalar)) => {
                let divisor = match type_value(operands.first()?.r#type(), &mut Vars::default()) {
                    Ok(Val::Tuple(_, Tree::Leaf(Some(leaf)))) => leaf.div(),
                    _ => 1,
                };
                self.all_same(&operands, depth)
                    .then_some(Along::same(divisor, least >= 0))
            }
            Some(Op::ArithOp(kind)) => {
                let found = self.computed(kind, op, &operands, depth)?;
                Some(Along {
                    non_negative: found.non_negative || least >= 0,
                    ..found
                })
            }
            _ => self.all_same(&operands, depth).then_some(some),
        }
    }

    /// Whether numbers are the same for all elements of a vector.
    fn all_same(&mut self, values: &[IrValue<'c>], depth: usize) -> bool {
        values.iter().all(|value| {
            let along = self.number(*value, depth - 1);
            along.is_some_and(|along| !along.steps)
        })
    }

    fn computed(
        &mut self,
        kind: ArithOp,
        op: IrOp<'c>,
        operands: &[IrValue<'c>],
        depth: usize,
    ) -> Option<Along> {
        let vector = self.vector;
        if ArithOp::Select == kind {
            let &[condition, one, other] = operands else {
                return None;
            };
            if !self.all_same(&[condition], depth) {
                return None;
            }
            let (one, other) = (self.number(one, depth - 1)?, self.number(other, depth - 1)?);
            return (one.steps == other.steps).then(|| Along {
                steps: one.steps,
                divisor: gcd(one.divisor, other.divisor),
                non_negative: one.non_negative && other.non_negative,
            });
        }
        let &[one, other] = operands else {
            let same = self.all_same(operands, depth);
            return same.then_some(Along::same(1, false));
        };
        let (a, b) = (self.number(one, depth - 1)?, self.number(other, depth - 1)?);
        let is_one = |value| constant_of(value) == Some(1);
        let non_negative = a.non_negative && b.non_negative;
        let whole = |along: Along| along.divisor % vector == 0;
        match kind {
            ArithOp::Addi if !(a.steps && b.steps) => Some(Along {
                steps: a.steps || b.steps,
                divisor: gcd(a.divisor, b.divisor),
                // Sums that leave their type are none of coordinates inside of a tensor.
                non_negative,
            }),
            ArithOp::Subi if !b.steps => Some(Along {
                steps: a.steps,
                divisor: gcd(a.divisor, b.divisor),
                non_negative: false,
            }),
            ArithOp::Muli if is_one(one) => Some(b),
            ArithOp::Muli | ArithOp::Divsi | ArithOp::Divui if is_one(other) => Some(a),
            ArithOp::Muli if !a.steps && !b.steps => Some(Along::same(
                a.divisor.saturating_mul(b.divisor),
                non_negative,
            )),
            // Within a vector neither the quotient changes nor the remainder begins anew.
            ArithOp::Divsi | ArithOp::Divui if a.steps && !b.steps => {
                (non_negative && whole(a) && whole(b)).then(|| Along::same(1, true))
            }
            ArithOp::Remsi | ArithOp::Remui if a.steps && !b.steps => {
                (non_negative && whole(a) && whole(b)).then(|| Along {
                    steps: true,
                    divisor: gcd(a.divisor, b.divisor),
                    non_negative: true,
                })
            }
            // A vector does not cross a multiple of its length.
            ArithOp::Cmpi if a.steps && !b.steps => {
                let predicate = op.attribute("predicate").ok().and_then(integer_value)?;
                let aligned = [LESS, AT_LEAST, BELOW, FROM].contains(&predicate);
                (aligned && whole(a) && whole(b)).then(|| Along::same(1, false))
            }
            ArithOp::Remsi | ArithOp::Remui if !a.steps && !b.steps => {
                Some(Along::same(gcd(a.divisor, b.divisor), a.non_negative))
            }
            ArithOp::Divsi | ArithOp::Divui if !a.steps && !b.steps => {
                Some(Along::same(1, non_negative))
            }
            _ if !a.steps && !b.steps && has_no_effect(op) => Some(Along::same(1, false)),
            _ => None,
        }
    }
}
