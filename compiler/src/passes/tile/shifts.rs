//! Tiles of one tensor at offsets that differ by constants: what stencils and filters read. They overlap, and a thread loads what several of them have once.
//!
//! Of a load at `t * 64 + 1` the offset 1 is known, and the rest, `t * 64`, the same as of those beside it. Where their elements lie is said of the rest, which is
//! aligned where the offset is not: so a thread loads whole vectors, and takes from them what each tile has (`partition/shifted.rs`).
use super::coordinate::Coordinate;
use super::issuable::read_only;
use super::types::{fast_axis, is_by_map_alone, tile_of};
use crate::passes::ir_utils::{
    attributes, constant_of, defining_op, same_block, set_attribute, users,
};
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, integer_array, operands_of, value_key,
};
use cutec_dialects::elem::Elem;
use cutec_dialects::memo::{type_text, val_of};
use cutec_dialects::ops::{ArithOp, CuteOp, Op, TileOp, tile};
use cutec_dialects::target::WIDEST_ACCESS;
use cutec_dialects::value::Val;
use cutec_layout::Tree;
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};
use std::collections::{BTreeMap, HashMap};

/// The attribute of a load that is one of several: the number of these, then for each axis the offset, then what divides the rest.
const SHIFTED: &str = "tile.shifted";

/// How deep sums are followed.
const DEPTH: usize = 32;

/// How a tile lies to others.
pub(super) struct Shift {
    /// The number of these.
    pub group: i64,
    /// How far it lies from where it would begin without its offset, along each axis.
    pub offsets: Vec<i64>,
    /// What divides the coordinate of that place along each axis.
    pub divisors: Vec<i64>,
}

impl Shift {
    /// What was said of a load.
    pub fn of(load: IrOp) -> Option<Shift> {
        let said = load.attribute(SHIFTED).ok().and_then(integer_array)?;
        let (group, rest) = said.split_first()?;
        let (offsets, divisors) = rest.split_at(rest.len() / 2);
        Some(Shift {
            group: *group,
            offsets: offsets.to_vec(),
            divisors: divisors.to_vec(),
        })
    }
}

/// Where a tile would begin without its offset along each axis: what tiles share that are loaded together.
#[derive(PartialEq, Eq)]
pub(super) struct Origin(Vec<Sum>);

impl Shift {
    /// That of its load. In other rounds of a loop, of which a load is brought forward, it is another one.
    pub fn origin(&self, load: IrOp) -> Option<Origin> {
        let mut sums = Begins::of(load, &mut Sums::default())?.sums;
        for (sum, offset) in sums.iter_mut().zip(&self.offsets) {
            sum.constant = sum.constant.checked_sub(*offset)?;
        }
        Some(Origin(sums))
    }
}

/// A sum of numbers, each so many times, and a constant.
#[derive(Clone, Default, PartialEq, Eq)]
struct Sum {
    terms: BTreeMap<usize, i64>,
    constant: i64,
}

impl Sum {
    fn constant(constant: i64) -> Sum {
        let terms = BTreeMap::new();
        Sum { terms, constant }
    }

    fn times(&self, factor: i64) -> Option<Sum> {
        let mut terms = BTreeMap::new();
        for (term, times) in &self.terms {
            terms.insert(*term, times.checked_mul(factor)?);
        }
        let constant = self.constant.checked_mul(factor)?;
        Some(Sum { terms, constant })
    }

    fn plus(mut self, other: &Sum) -> Option<Sum> {
        for (term, times) in &other.terms {
            let so_far = self.terms.entry(*term).or_default();
            *so_far = so_far.checked_add(*times)?;
        }
        self.terms.retain(|_, times| *times != 0);
        self.constant = self.constant.checked_add(other.constant)?;
        Some(self)
    }

    /// A power of two that divides all terms.
    fn divisor(&self) -> i64 {
        let powers = self.terms.values().map(|times| times.trailing_zeros());
        1 << powers.min().unwrap_or(0).min(30)
    }
}

/// What integers are sums of, each looked at once.
#[derive(Default)]
struct Sums(HashMap<usize, Option<Sum>>);

impl Sums {
    /// An integer of 32 bits.
    fn of(&mut self, value: IrValue, depth: usize) -> Option<Sum> {
        if let Some(known) = self.0.get(&value_key(value)) {
            return known.clone();
        }
        let found = self.found(value, depth);
        self.0.insert(value_key(value), found.clone());
        found
    }

    fn found(&mut self, value: IrValue, depth: usize) -> Option<Sum> {
        if type_text(value.r#type()).contains("i64") {
            return None;
        }
        if let Ok(Val::Tuple(_, Tree::Leaf(Some(leaf)))) = val_of(value)
            && let Some(known) = leaf.as_static()
        {
            return Some(Sum::constant(known));
        }
        if let Some(known) = constant_of(value) {
            return Some(Sum::constant(known));
        }
        self.computed(value, depth).or_else(|| {
            let terms = BTreeMap::from([(value_key(value), 1)]);
            Some(Sum { terms, constant: 0 })
        })
    }

    fn computed(&mut self, value: IrValue, depth: usize) -> Option<Sum> {
        let op = defining_op(value).filter(|_| depth > 0)?;
        let kind = Op::of(op)?;
        let operands: Vec<Sum> = match kind {
            Op::CuteOp(CuteOp::Assume | CuteOp::GetScalar)
            | Op::ArithOp(ArithOp::Addi | ArithOp::Subi | ArithOp::Muli) => operands_of(op)
                .map(|operand| self.of(operand, depth - 1))
                .collect::<Option<_>>()?,
            _ => return None,
        };
        match (kind, &operands[..]) {
            (Op::CuteOp(_), [same]) => Some(same.clone()),
            (Op::ArithOp(ArithOp::Addi), [one, other]) => one.clone().plus(other),
            (Op::ArithOp(ArithOp::Subi), [one, other]) => one.clone().plus(&other.times(-1)?),
            (Op::ArithOp(ArithOp::Muli), [one, factor] | [factor, one])
                if factor.terms.is_empty() =>
            {
                one.times(factor.constant)
            }
            _ => None,
        }
    }
}

/// A load of a view, the shape of its tile, and where that begins along each axis, in elements.
struct Begins<'c> {
    load: IrOp<'c>,
    view: IrValue<'c>,
    shape: Vec<i64>,
    sums: Vec<Sum>,
}

impl<'c> Begins<'c> {
    fn of(op: IrOp<'c>, known: &mut Sums) -> Option<Self> {
        let (at, load) = (Coordinate::of(op).ok()?, tile::Load::of(op)?);
        let shape = tile_of(op, load.result()).ok()?.shape;
        let sums = at.values.iter().enumerate().map(|(axis, value)| {
            let sum = known.of(*value, DEPTH)?;
            let sum = match at.is_offset(axis) {
                true => sum,
                false => sum.times(shape[axis])?,
            };
            i32::try_from(sum.constant).is_ok().then_some(sum)
        });
        Some(Begins {
            load: op,
            view: load.view(),
            sums: sums.collect::<Option<_>>()?,
            shape,
        })
    }

    /// What divides where it begins along an axis, but for the constant; 0 of zero.
    fn divisor(&self, axis: usize) -> i64 {
        let Sum { terms, constant } = &self.sums[axis];
        if terms.is_empty() {
            return 0;
        }
        let promised = Coordinate::of(self.load).map_or(1, |at| at.divisor(axis));
        let promised = Some(promised).filter(|promised| *promised > 0 && constant % promised == 0);
        self.sums[axis].divisor().max(promised.unwrap_or(1))
    }

    /// Whether it lies beside an aligned tile along the axis that is fast in memory.
    fn is_off(&self) -> bool {
        fast_axis(self.view).is_some_and(|(axis, elem)| {
            let widest = (WIDEST_ACCESS / elem.bytes()).max(1);
            let aligned = match self.divisor(axis) {
                0 => widest,
                divisor => widest.min(divisor),
            };
            self.sums[axis].constant % aligned != 0
        })
    }

    /// Whether two tiles overlap, at places that differ by constants.
    fn overlaps(&self, other: &Self) -> bool {
        let near = |((a, b), extent): ((&Sum, &Sum), &i64)| {
            a.terms == b.terms && a.constant.abs_diff(b.constant) < extent.unsigned_abs()
        };
        let mut sums = self.sums.iter().zip(&other.sums).zip(&self.shape);
        let asked = |load| attributes(load, &["hints", "fill"]);
        self.view == other.view
            && self.shape == other.shape
            && sums.all(near)
            && same_block(self.load, other.load)
            && asked(self.load) == asked(other.load)
    }
}

/// Says of each load of a kernel with which others it overlaps.
pub(super) fn find<'c>(context: &'c Context, function: IrOp<'c>, operations: &[IrOp<'c>]) {
    let is_read_only = read_only(function);
    let loads = operations.iter().copied().filter(|op| {
        let of_product = |user: &IrOp| TileOp::Dot.is(*user);
        tile::Load::of(*op).is_some_and(|load| {
            let elem = tile_of(*op, load.result()).map(|tile| tile.elem);
            elem.is_ok_and(|elem| !elem.is_packed() && elem != Elem::I1)
                && is_read_only(load.view())
                && !users(load.result()).iter().any(of_product)
                && op.attribute("copy").is_err()
                && !is_by_map_alone(*op)
        })
    });
    let mut known = Sums::default();
    let mut groups: Vec<Vec<Begins<'c>>> = Vec::new();
    for load in loads.filter_map(|load| Begins::of(load, &mut known)) {
        let group = groups
            .iter_mut()
            .find(|group| group.iter().any(|other| other.overlaps(&load)));
        match group {
            Some(group) => group.push(load),
            None => groups.push(vec![load]),
        }
    }
    groups.retain(|group| group.iter().any(|load| load.sums != group[0].sums) || group[0].is_off());
    for (number, group) in (0i64..).zip(groups) {
        let rank = group[0].sums.len();
        let known = |axis: usize| group.iter().map(move |load| load.divisor(axis)).max();
        let divisors: Vec<i64> = (0..rank).filter_map(known).collect();
        for Begins { load, sums, .. } in group {
            let offsets = sums.iter().map(|sum| sum.constant);
            let said: Vec<i64> = [number]
                .into_iter()
                .chain(offsets)
                .chain(divisors.iter().copied())
                .collect();
            let ir = OpBuilder::new(context, Insertion::Before(load));
            set_attribute(load, SHIFTED, ir.i64_array(&said));
        }
    }
}
