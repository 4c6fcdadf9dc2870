//! Predicates of a copy: which of its vectors are in bounds.
//!
//! The rows of a tile differ by constants. As `row + 16 * i < m` each would keep
//! a row or a predicate in a register over the whole main loop. So the bound
//! changes sides: one limit `m - row` for all, and `16 * i < limit` for each.
//! What all vectors share (is this block of k inside?) becomes part of the limit.
//!
//! A coordinate that may be negative has a bound on both sides. As an unsigned number a negative one is
//! beyond every extent, so one comparison asks for both.
use super::super::cmpi::{BELOW, LESS};
use super::super::emit::split_constant;
use super::Lowering;
use cutec_dialects::builder::IrValue;
use cutec_dialects::ops::ArithOp;
use cutec_layout::{Int, IntTuple, Width};
use melior::ir::ValueLike;
use std::collections::HashMap;

/// What the coordinates of all vectors of a copy are compared with.
pub(super) struct Bounds<'c> {
    shape: IntTuple,
    /// Whether the modes in which all vectors have one coordinate are inside; `None` where there are none.
    shared: Option<IrValue<'c>>,
    /// The other modes, as numbers of leaves.
    varying: Vec<usize>,
    /// Limits, by leaf, by the part of the coordinate that is not constant, and whether they have 64 bits: the
    /// constant of one vector may need them where that of another does not.
    limits: HashMap<(usize, Int, bool), IrValue<'c>>,
    /// Extents as coordinates that may be negative are compared with them, by leaf and width.
    ends: HashMap<(usize, bool), IrValue<'c>>,
}

/// How a coordinate is compared with the extent.
fn predicate(coord: &Int) -> i64 {
    match coord.lower() {
        0.. => LESS,
        _ => BELOW,
    }
}

impl<'c> Lowering<'c> {
    /// Splits the bounds of some coordinates into what they share and what tells them apart.
    pub(super) fn bounds(&mut self, coords: &[IntTuple], shape: &IntTuple) -> Bounds<'c> {
        let leaves: Vec<Vec<&Int>> = coords.iter().map(|coord| coord.leaves()).collect();
        let bounds = shape.leaves();
        let (same, varying): (Vec<usize>, Vec<usize>) = (0..bounds.len())
            .partition(|leaf| leaves.iter().all(|other| other[*leaf] == leaves[0][*leaf]));
        let mut shared = None;
        for leaf in same.into_iter().filter(|_| !leaves.is_empty()) {
            let coord = leaves[0][leaf];
            let inside = self.emitter.compare(predicate(coord), coord, bounds[leaf]);
            shared = Some(self.emitter.and(shared, inside));
        }
        Bounds {
            shape: shape.clone(),
            shared,
            varying,
            limits: HashMap::new(),
            ends: HashMap::new(),
        }
    }

    /// Whether one of the coordinates is inside.
    pub(super) fn within(&mut self, bounds: &mut Bounds<'c>, coord: &IntTuple) -> IrValue<'c> {
        let (leaves, shape) = (coord.leaves(), bounds.shape.clone());
        let mut inside = None;
        for (nth, leaf) in bounds.varying.clone().into_iter().enumerate() {
            let (terms, constant) = split_constant(leaves[leaf]);
            let bound = shape.leaves()[leaf];
            let wide = leaves[leaf].width() == Width::I64 || bound.width() == Width::I64;
            let shared = bounds.shared.filter(|_| nth == 0);
            if predicate(leaves[leaf]) == BELOW {
                let end = match bounds.ends.get(&(leaf, wide)) {
                    Some(end) => *end,
                    None => {
                        let end = self.end(bound, wide, shared);
                        bounds.ends.insert((leaf, wide), end);
                        end
                    }
                };
                let at = self.coordinate(terms, constant, wide);
                let below = self.emitter.cmpi(BELOW, at, end);
                inside = Some(self.emitter.and(inside, below));
                continue;
            }
            let key = (leaf, Int::sum(terms), wide);
            let limit = match bounds.limits.get(&key) {
                Some(limit) => *limit,
                None => {
                    let limit = self.limit(bound, &key.1, wide, shared);
                    bounds.limits.insert(key, limit);
                    limit
                }
            };
            let constant = self.emitter.constant(constant, wide);
            let less = self.emitter.cmpi(LESS, constant, limit);
            inside = Some(self.emitter.and(inside, less));
        }
        inside
            .or(bounds.shared)
            .unwrap_or_else(|| self.emitter.ir.constant(1, "i1"))
    }

    /// `bound - base`, or what nothing is less than where `shared` does not hold.
    fn limit(
        &mut self,
        bound: &Int,
        base: &Int,
        wide: bool,
        shared: Option<IrValue<'c>>,
    ) -> IrValue<'c> {
        let ty = self.emitter.ir.ty(if wide { "i64" } else { "i32" });
        let (bound, base) = (self.emitter.int(bound, wide), self.emitter.int(base, wide));
        let limit = self
            .emitter
            .ir
            .value(ArithOp::Subi, &[bound, base], &[], ty);
        let Some(shared) = shared else {
            return limit;
        };
        let least = if wide { i64::MIN } else { i64::from(i32::MIN) };
        let never = self.emitter.constant(least, wide);
        let operands = [shared, limit, never];
        self.emitter.ir.value(ArithOp::Select, &operands, &[], ty)
    }

    /// A coordinate: what all of a copy begin with, and a constant.
    fn coordinate(&mut self, terms: Vec<Int>, constant: i64, wide: bool) -> IrValue<'c> {
        let base = self.emitter.int(&Int::sum(terms), wide);
        if constant == 0 {
            return base;
        }
        let constant = self.emitter.constant(constant, wide);
        let ty = base.r#type();
        self.emitter
            .ir
            .value(ArithOp::Addi, &[base, constant], &[], ty)
    }

    /// The extent, or 0, below which nothing is, where `shared` does not hold.
    fn end(&mut self, bound: &Int, wide: bool, shared: Option<IrValue<'c>>) -> IrValue<'c> {
        let bound = self.emitter.int(bound, wide);
        let Some(shared) = shared else {
            return bound;
        };
        let none = self.emitter.constant(0, wide);
        let ty = bound.r#type();
        let operands = [shared, bound, none];
        self.emitter.ir.value(ArithOp::Select, &operands, &[], ty)
    }
}
