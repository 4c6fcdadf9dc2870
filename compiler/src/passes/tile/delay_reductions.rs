//! `tile-delay-reductions`: what a loop adds up along an axis that threads share, each adds up for itself, and all together behind it.
//!
//! Before: a loop carries sums, which are 0 in front of it, and adds to them in each round what a `tile.reduce` gives; it may
//! multiply them by factors of the round, as a softmax does where the largest score has grown, and nothing else takes them. After: it carries a
//! sum for each thread along the axis, the reduction in the loop is of what a thread has, and one over threads stands behind the
//! loop. A round exchanges nothing then: no shuffles, and where warps share the axis neither shared memory nor a barrier. A thread
//! has as many sums as before.
//!
//! The reduction in the loop has an element for each thread along the axis.
use super::types::{Failed, differ_in_units, is_zeros, present, tile_of};
use crate::passes::ir_utils::{
    Kernel, blocks, collect_nested, defining_op, erase, for_each_kernel, next_operation,
    operations, replace_all_uses, set_operand, users_through, uses,
};
use crate::passes::{Reported, remark, report};
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, argument_of, integer_value, operands_of, operation_key,
    result_of, string_value,
};
use cutec_dialects::ops::{ArithOp, LlvmOp, Op, ScfOp, TileOp, tile};
use cutec_dialects::tile::TileType;
use melior::Context;
use melior::ir::{BlockLike, Type, ValueLike, operation::OperationLike};
use std::collections::HashSet;

/// The number of the first value that an `scf.for` carries among its operands and among the arguments of its body.
pub(super) const FIRST_OPERAND: usize = 3;
pub(super) const FIRST_ARGUMENT: usize = 1;
/// The number of the first value that `scf.condition` passes on.
const FIRST_FORWARDED: usize = 1;

/// The reductions that can wait.
const ADD: &str = "add";

/// Delays the sums of every loop of the module.
pub fn delay_reductions<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let Kernel { function, .. } = kernel;
        let mut all = Vec::new();
        collect_nested(function, &mut all);
        // Reductions are erased on the way.
        all.retain(|op| matches!(ScfOp::of(*op), Some(ScfOp::For | ScfOp::While)));
        for of in all {
            let carried = (0..of.result_count()).filter_map(|number| Carried::of(of, number));
            for carried in carried.collect::<Vec<_>>() {
                let sums = Sums::of(carried);
                let sums = sums.map_err(|(op, message)| report(op.location(), message))?;
                if let Some(sums) = sums {
                    sums.delay(context);
                }
            }
        }
        Ok::<(), Reported>(())
    })
}

/// A value that a loop carries, and that the condition of a `while` passes on as it is.
struct Carried<'c> {
    of: IrOp<'c>,
    /// The operand that it begins as.
    begin: usize,
    /// What it is where the condition of a `while` is computed, which does nothing else with it.
    ahead: Option<IrValue<'c>>,
    /// What it is in the body.
    argument: IrValue<'c>,
    /// The end of the body, and which of its operands the value of the next round is.
    end: (IrOp<'c>, usize),
    result: IrValue<'c>,
}

impl<'c> Carried<'c> {
    /// That which a loop leaves as the result of this number.
    fn of(of: IrOp<'c>, number: usize) -> Option<Self> {
        let block = |region| blocks(of, region).into_iter().next();
        let end = |block| operations(block).pop();
        let result = result_of(of, number);
        if ScfOp::For.is(of) {
            let body = block(0)?;
            return Some(Carried {
                of,
                begin: FIRST_OPERAND + number,
                ahead: None,
                argument: argument_of(body, FIRST_ARGUMENT + number),
                end: (end(body)?, number),
                result,
            });
        }
        if !ScfOp::While.is(of) {
            return None;
        }
        let (before, body) = (block(0)?, block(1)?);
        let forwarded = (end(before)?, FIRST_FORWARDED + number);
        let ahead = operands_of(forwarded.0).nth(forwarded.1)?;
        let begin = (0..before.argument_count()).find(|at| argument_of(before, *at) == ahead)?;
        (uses(ahead) == [forwarded]).then_some(Carried {
            of,
            begin,
            ahead: Some(ahead),
            argument: argument_of(body, number),
            end: (end(body)?, begin),
            result,
        })
    }

    fn begin(&self) -> Option<IrValue<'c>> {
        operands_of(self.of).nth(self.begin)
    }
}

/// Sums that a loop carries.
struct Sums<'c> {
    carried: Carried<'c>,
    /// What they go through in a round.
    found: Found<'c>,
    /// What is added to them, reductions along the same axes.
    added: Vec<Reduced<'c>>,
    /// The sums of each thread.
    parts: TileType,
    /// What is left of them when threads along each axis have added them up; the last are the sums, perhaps with more axes of extent 1.
    behind: Vec<(usize, TileType)>,
}

/// A sum along axes, the innermost first: the reduction along each, with the axis and what each thread has.
struct Reduced<'c>(Vec<(tile::Reduce<'c>, usize, TileType)>);

impl<'c> Sums<'c> {
    /// Of a value that a loop carries; `None` where it is something else, or threads have it for themselves as it is.
    fn of(carried: Carried<'c>) -> Result<Option<Self>, Failed<'c>> {
        let Some(Ok(whole)) = TileType::of(carried.result.r#type()) else {
            return Ok(None);
        };
        if !carried.begin().is_some_and(is_zeros) {
            return Ok(None);
        }
        let Carried { argument, end, .. } = carried;
        let Some(yielded) = operands_of(end.0).nth(end.1) else {
            return Ok(None);
        };
        let mut found = Found::of(argument);
        if !found.is_linear(yielded) || found.reductions.is_empty() {
            return Ok(None);
        }
        // Nothing else may see sums that are of one thread.
        let own = |value: IrValue<'c>| {
            uses(value)
                .into_iter()
                .all(|(user, operand)| (user, operand) == end || found.takes_sum(user, operand))
        };
        let given = found.maps.iter().map(|(map, _)| map);
        let mut given = given.chain(&found.reshapes).chain(&found.reductions);
        if !own(argument) || !given.all(|op| own(result_of(*op, 0))) {
            return Ok(None);
        }
        let added = found.reductions.iter().map(|op| Reduced::of(*op));
        let added: Option<Vec<Reduced>> = added.collect::<Result<_, _>>()?;
        let Some(added) = added else {
            return Ok(None);
        };
        let Some((parts, axes)) = added[0].parts() else {
            return Ok(None);
        };
        let alike = |other: &Reduced<'c>| other.parts() == Some((parts, axes.clone()));
        let behind = along_each(parts, axes.iter().copied());
        let behind = behind.filter(|behind| {
            let left = behind.last().map(|(_, left)| left);
            left.is_some_and(|left| found.reshapes_between(&[left, &whole]))
        });
        let (parts, behind) = match behind {
            Some(behind) if added.iter().all(alike) && parts.size() > whole.size() => {
                (parts.clone(), behind)
            }
            _ => return Ok(None),
        };
        Ok(Some(Sums {
            carried,
            found,
            added,
            parts,
            behind,
        }))
    }

    fn delay(self, context: &'c Context) {
        let parts = |like: IrValue<'c>| {
            let elem = TileType::of(like.r#type()).and_then(Result::ok);
            let elem = elem.map_or(self.parts.elem, |tile| tile.elem);
            self.parts.with_elem(elem).ir(context)
        };
        let before = |op: IrOp<'c>| {
            let mut ir = OpBuilder::new(context, Insertion::Before(op));
            ir.location = op.location();
            ir
        };
        let Carried {
            of,
            begin,
            ahead,
            argument,
            result,
            ..
        } = self.carried;
        remark(
            self.added[0].0[0].0.op().location(),
            "each thread adds up its own in the loop, all of them together behind it",
        );
        if let Some(splat) = self.carried.begin().and_then(tile::Splat::defining) {
            let zeros = before(of).value(TileOp::Splat, &[splat.value()], &[], parts(result));
            set_operand(of, begin, zeros);
        }
        for inside in ahead.into_iter().chain([argument]) {
            inside.set_type(parts(result));
        }
        for (map, of_sums) in &self.found.maps {
            let ir = before(*map);
            for (index, value) in operands_of(*map).enumerate().collect::<Vec<_>>() {
                if !of_sums[index] {
                    let repeated = self.repeated(&ir, value, parts(value));
                    set_operand(*map, index, repeated);
                }
            }
            let given = result_of(*map, 0);
            given.set_type(parts(given));
        }
        for reduced in &self.added {
            reduced.of_threads(context);
        }
        for reshape in &self.found.reshapes {
            if let Some(input) = operands_of(*reshape).next() {
                replace_all_uses(result_of(*reshape, 0), input);
            }
            erase(*reshape);
        }
        // A loop is never the last of its block.
        let Some(next) = next_operation(of) else {
            return;
        };
        let whole = result.r#type();
        result.set_type(parts(result));
        let ir = before(next);
        let (mut sum, mut first) = (result, None);
        for (axis, left) in &self.behind {
            sum = add_up(&ir, sum, *axis, left);
            first = first.or(defining_op(sum));
        }
        if sum.r#type() != whole {
            sum = ir.value(TileOp::Reshape, &[sum], &[], whole);
        }
        replace_all_uses(result, sum);
        if let Some(first) = first {
            set_operand(first, 0, result);
        }
    }

    /// What is the same for all threads along an axis, for each of them.
    fn repeated(&self, ir: &OpBuilder<'c>, value: IrValue<'c>, to: Type<'c>) -> IrValue<'c> {
        let of = |ty| TileType::of(ty).and_then(Result::ok);
        let (tile, left) = (of(value.r#type()), self.behind.last());
        let with_axes = tile
            .zip(left)
            .map(|(tile, (_, left))| left.with_elem(tile.elem).ir(ir.context()))
            .filter(|ty| *ty != value.r#type());
        let value = match with_axes {
            Some(ty) => ir.value(TileOp::Reshape, &[value], &[], ty),
            None => value,
        };
        ir.value(TileOp::Broadcast, &[value], &[], to)
    }
}

/// What the sums of a round are computed of.
struct Found<'c> {
    carried: IrValue<'c>,
    /// The maps that it comes to, by their keys.
    of_carried: HashSet<usize>,
    /// Those that sums go through, each with whether it takes its operands as sums.
    maps: Vec<(IrOp<'c>, Vec<bool>)>,
    /// Where axes of extent 1 come and go on the way.
    reshapes: Vec<IrOp<'c>>,
    reductions: Vec<IrOp<'c>>,
}

impl<'c> Found<'c> {
    fn of(carried: IrValue<'c>) -> Self {
        let is_map = |op: IrOp| TileOp::Map.is(op);
        let mut maps = users_through(carried, is_map);
        maps.retain(|op| is_map(*op));
        Found {
            carried,
            of_carried: maps.into_iter().map(operation_key).collect(),
            maps: Vec::new(),
            reshapes: Vec::new(),
            reductions: Vec::new(),
        }
    }

    /// Whether a value is what is carried, as it is or through maps.
    fn comes_of_carried(&self, value: IrValue<'c>) -> bool {
        let computed = |op: IrOp<'c>| self.of_carried.contains(&operation_key(op));
        value == self.carried || defining_op(value).is_some_and(computed)
    }

    /// Whether a value is a sum of what is carried and of reductions, each perhaps multiplied by what is none of them.
    fn is_linear(&mut self, value: IrValue<'c>) -> bool {
        if value == self.carried {
            return true;
        }
        let Some(op) = defining_op(value) else {
            return false;
        };
        if let Some(reduce) = tile::Reduce::of(op) {
            if !self.reductions.contains(&op) {
                self.reductions.push(op);
            }
            return adds(reduce);
        }
        if TileOp::Reshape.is(op) {
            if !self.reshapes.contains(&op) {
                self.reshapes.push(op);
            }
            return operands_of(op).all(|input| self.is_linear(input));
        }
        if self.maps.iter().any(|(map, _)| *map == op) {
            return true;
        }
        let Some((kind, taken)) = only_operation(op) else {
            return false;
        };
        let operands: Vec<IrValue<'c>> = operands_of(op).collect();
        let mut of_sums = vec![false; operands.len()];
        let mut linear = |this: &mut Self, index: usize| {
            taken[index].is_some_and(|taken| {
                of_sums[taken] = true;
                this.is_linear(operands[taken])
            })
        };
        let found = match kind {
            Op::ArithOp(ArithOp::Addf | ArithOp::Addi | ArithOp::Subf | ArithOp::Subi) => {
                linear(self, 0) && linear(self, 1)
            }
            Op::ArithOp(ArithOp::Mulf | ArithOp::Muli) | Op::LlvmOp(LlvmOp::IntrFma) => {
                // Of two factors the one that comes of the sums, else the one that is a tile, is the sum.
                let is_sum = |taken: usize| self.comes_of_carried(operands[taken]);
                let first = taken[1].is_none() || taken[0].is_some_and(is_sum);
                let is_fma = matches!(kind, Op::LlvmOp(_));
                linear(self, usize::from(!first)) && (!is_fma || linear(self, 2))
            }
            Op::ArithOp(ArithOp::Select) => linear(self, 1) && linear(self, 2),
            _ => false,
        };
        // One that is taken as both, as a square is, is no sum.
        let tiles: Vec<usize> = taken.iter().flatten().copied().collect();
        let twice = (0..tiles.len()).any(|one| (0..one).any(|other| tiles[one] == tiles[other]));
        self.maps.push((op, of_sums));
        found && !twice
    }

    /// Whether an operation takes its operand of this number as a sum.
    fn takes_sum(&self, user: IrOp<'c>, operand: usize) -> bool {
        let mut maps = self.maps.iter();
        self.reshapes.contains(&user) || maps.any(|(map, of_sums)| *map == user && of_sums[operand])
    }

    /// Whether sums are of these tiles alone, which differ in axes of extent 1 and are spread alike.
    fn reshapes_between(&self, tiles: &[&TileType; 2]) -> bool {
        let given = |op: &IrOp<'c>| {
            let tile = TileType::of(result_of(*op, 0).r#type());
            tile.is_some_and(|tile| tile.is_ok_and(|tile| tiles.contains(&&tile)))
        };
        let [one, other] = tiles;
        let renamed = || {
            let layout = one.layout.as_ref()?;
            layout.reshaped(&one.shape, &other.shape).ok()?
        };
        let alike = || differ_in_units(&one.shape, &other.shape) && renamed() == other.layout;
        let mut reshapes = self.reshapes.iter();
        one == other && self.reshapes.is_empty() || alike() && reshapes.all(given)
    }
}

/// What a map of one operation beside constants computes, and which operand of the map each of its operands is, if it is one.
fn only_operation(map: IrOp<'_>) -> Option<(Op, Vec<Option<usize>>)> {
    if !TileOp::Map.is(map) {
        return None;
    }
    let body = blocks(map, 0).into_iter().next()?;
    let mut inside = operations(body);
    inside.retain(|op| !ArithOp::Constant.is(*op));
    let [op, end] = inside[..] else {
        return None;
    };
    if operands_of(end).next() != Some(result_of(op, 0)) {
        return None;
    }
    let argument =
        |value: IrValue| (0..map.operand_count()).find(|index| argument_of(body, *index) == value);
    Some((Op::of(op)?, operands_of(op).map(argument).collect()))
}

impl<'c> Reduced<'c> {
    /// Of a reduction, with those of its input that nothing else takes; `None` where threads hold some of an axis more than once.
    fn of(reduction: IrOp<'c>) -> Result<Option<Self>, Failed<'c>> {
        let mut reductions = Vec::new();
        let mut at = Some(reduction);
        while let Some(op) = at {
            let reduce = present(op, tile::Reduce::of(op))?;
            let axis = reduce.axis().and_then(integer_value).unwrap_or(0);
            reductions.insert(0, (reduce, axis as usize));
            at = defining_op(reduce.input()).filter(|inner| {
                let alone = uses(reduce.input()).len() == 1;
                alone && tile::Reduce::of(*inner).is_some_and(adds)
            });
        }
        let (innermost, _) = reductions[0];
        let mut tile = tile_of(innermost.op(), innermost.input())?;
        let each = reductions.into_iter().map(|(reduce, axis)| {
            let layout = tile.layout.as_ref()?;
            let (shape, layout) = layout.of_each_thread(&tile.shape, axis)?;
            tile = TileType::new(tile.elem, &shape).with_layout(layout);
            Some((reduce, axis, tile.clone()))
        });
        Ok(each.collect::<Option<_>>().map(Reduced))
    }

    /// What each thread has, and the axes that are still to be added up.
    fn parts(&self) -> Option<(&TileType, Vec<usize>)> {
        let axes = self.0.iter().map(|(_, axis, _)| *axis).collect();
        Some((&self.0.last()?.2, axes))
    }

    /// Lets each thread add up what it has alone.
    fn of_threads(&self, context: &'c Context) {
        let Some((outermost, ..)) = self.0.last() else {
            return;
        };
        let mut ir = OpBuilder::new(context, Insertion::Before(outermost.op()));
        ir.location = outermost.op().location();
        let mut sum = self.0[0].0.input();
        for (_, axis, each) in &self.0 {
            sum = add_up(&ir, sum, *axis, each);
        }
        replace_all_uses(result_of(outermost.op(), 0), sum);
        for (reduction, ..) in self.0.iter().rev() {
            erase(reduction.op());
        }
    }
}

/// What is left of a tile that is reduced along one axis after the other.
fn along_each(
    tile: &TileType,
    axes: impl Iterator<Item = usize>,
) -> Option<Vec<(usize, TileType)>> {
    let mut left = tile.clone();
    let reduced = |axis: usize| {
        let mut to = left.shape.clone();
        to[axis] = 1;
        let layout = left.layout.as_ref()?.reduced(&left.shape, &to).ok()?;
        left = TileType::new(left.elem, &to).with_layout(layout);
        Some((axis, left.clone()))
    };
    axes.map(reduced).collect()
}

/// A sum along an axis.
fn add_up<'c>(ir: &OpBuilder<'c>, input: IrValue<'c>, axis: usize, to: &TileType) -> IrValue<'c> {
    let attrs = [("axis", ir.i32(axis as i32)), ("kind", ir.string(ADD))];
    ir.value(TileOp::Reduce, &[input], &attrs, to.ir(ir.context()))
}

/// Whether a reduction adds up.
fn adds(reduce: tile::Reduce) -> bool {
    reduce.kind().and_then(string_value).as_deref() == Some(ADD)
}
