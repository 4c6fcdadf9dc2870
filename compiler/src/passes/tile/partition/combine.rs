//! `tile.fold` and `tile.scan`: tiles combined along an axis by a function.
//!
//! The modes along the axis, those of values, of lanes and of warps, are taken from the smallest step to the largest, as
//! the digits of a coordinate; of a fold, which takes values in any order, first those of values. After each of them
//! the elements that differ in the digits so far are a block, of which a thread knows the total; in a scan each element
//! also has what is combined of its block up to it. The next mode combines totals of neighbouring blocks: within the
//! thread, by shuffles (PTX ISA, "shfl.sync"), or through shared memory.
use super::exchange::Among;
use super::place::value_places;
use super::reduce::in_groups;
use super::scratch::{Scratch, Through};
use super::shuffle::{BUTTERFLY, INDEXED};
use super::{Partition, Spread};
use crate::passes::cmpi::LESS;
use crate::passes::ir_utils::{blocks, clone, collect_nested, operations, present, set_operand};
use crate::passes::tile::types::carried;
use cutec_dialects::builder::{
    IrBlock, IrOp, IrValue, argument_of, array_elements, integer_value, operands_of, result_of,
    value_key,
};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, CuteOp, TileOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::tile::TileLayout;
use cutec_layout::{AnyLayout, Layout};
use melior::ir::{OperationRef, Type, operation::OperationLike};
use std::collections::{BTreeMap, HashMap};

/// A number of each tile.
type Numbers<'c> = Vec<IrValue<'c>>;

/// The function, and what it is applied to.
struct Combining<'c> {
    op: IrOp<'c>,
    body: IrBlock<'c>,
    elems: Vec<Elem>,
    spread: Spread,
    axis: usize,
    reverse: bool,
    /// What the first element of an exclusive scan is.
    first: Option<Numbers<'c>>,
    is_scan: bool,
    /// The threads of a block.
    threads: i64,
}

/// A digit of the coordinate along the axis.
#[derive(Clone, Copy)]
pub(super) struct Digit {
    step: i64,
    extent: i64,
    held: Held,
}

/// What tells the values of a digit apart.
#[derive(Clone, Copy)]
enum Held {
    /// Registers, this many apart.
    Values(i64),
    /// Lanes, this many apart.
    Lanes(i64),
    /// Warps, or lanes that no shuffle brings together, whose threads are this many apart.
    Warps(i64),
    /// Blocks, whose threads are this many apart.
    Blocks(i64),
}

/// What is known when some of the digits are done.
struct State<'c> {
    /// The total of each block, by the first value that a thread has of it.
    totals: BTreeMap<usize, Numbers<'c>>,
    /// The block of each value.
    block: Vec<usize>,
    /// In a scan, what is combined of its block up to each value; nothing for the first of an exclusive one.
    running: Vec<Option<Numbers<'c>>>,
}

impl<'c> Partition<'c> {
    /// The results of a `tile.fold` or `tile.scan`.
    pub(super) fn combined(
        &mut self,
        op: IrOp<'c>,
        to: &Spread,
    ) -> Result<Vec<IrValue<'c>>, SemError> {
        let combining = self.combining(op)?;
        let inputs: Vec<Vec<IrValue<'c>>> = (0..op.operand_count())
            .map(|index| {
                let (vector, spread) = self.of(op, index)?;
                Ok(self.elements(vector, &spread))
            })
            .collect::<Result<_, SemError>>()?;
        let values = combining.spread.values() as usize;
        let element = |value: usize| -> Numbers<'c> {
            inputs.iter().map(|elements| elements[value]).collect()
        };
        let inclusive = combining.is_scan && combining.first.is_none();
        let mut state = State {
            totals: (0..values).map(|value| (value, element(value))).collect(),
            block: (0..values).collect(),
            running: (0..values)
                .map(|value| inclusive.then(|| element(value)))
                .collect(),
        };
        for digit in combining.digits()? {
            match digit.held {
                Held::Values(apart) => self.in_thread(&combining, &mut state, digit, apart)?,
                Held::Lanes(apart) => self.in_warp(&combining, &mut state, digit, apart)?,
                Held::Warps(apart) => {
                    self.through_memory_of(Among::Block, &combining, &mut state, digit, apart)?;
                }
                Held::Blocks(apart) => {
                    self.through_memory_of(Among::Cluster, &combining, &mut state, digit, apart)?;
                }
            }
        }
        let found: Vec<Numbers<'c>> = match combining.is_scan {
            true => {
                let first = combining.first.clone().unwrap_or_default();
                let running = state.running.into_iter();
                running
                    .map(|numbers| numbers.unwrap_or(first.clone()))
                    .collect()
            }
            false => self.totals_of(&combining, &state, to)?,
        };
        let elems = combining.elems.iter().enumerate();
        Ok(elems
            .map(|(at, elem)| {
                let numbers: Vec<_> = found.iter().map(|numbers| numbers[at]).collect();
                self.gather(&numbers, self.ir.number_type(*elem))
            })
            .collect())
    }

    fn combining(&self, op: IrOp<'c>) -> Result<Combining<'c>, SemError> {
        let accessor = present(tile::Combining::of(op))?;
        let missing = || SemError::Illegal("has no body".into());
        let body = blocks(op, 0).into_iter().next().ok_or_else(missing)?;
        let spreads: Vec<Spread> = (0..op.operand_count())
            .map(|index| self.of(op, index).map(|(_, spread)| spread))
            .collect::<Result<_, _>>()?;
        let elems: Vec<Elem> = spreads.iter().map(|spread| spread.tile.elem).collect();
        let first = accessor.exclusive().and_then(array_elements);
        let first = first.map(|all| {
            let numbers = all.into_iter().zip(&elems);
            numbers
                .map(|(number, elem)| self.ir.number(number, self.ir.number_type(*elem)))
                .collect()
        });
        let axis = accessor.axis().and_then(integer_value).unwrap_or(0);
        let spread = spreads.into_iter().next().ok_or_else(missing)?;
        Ok(Combining {
            op,
            body,
            elems,
            spread,
            axis: axis as usize,
            reverse: accessor.reverse().is_some(),
            first,
            is_scan: TileOp::Scan.is(op),
            threads: self.threads,
        })
    }

    /// The function of two elements, `a` before `b`.
    fn apply(
        &self,
        combining: &Combining<'c>,
        a: &[IrValue<'c>],
        b: &[IrValue<'c>],
    ) -> Numbers<'c> {
        let given = a.iter().chain(b).enumerate();
        let mut known: HashMap<usize, IrValue<'c>> = given
            .map(|(at, number)| (value_key(argument_of(combining.body, at)), *number))
            .collect();
        for inner in operations(combining.body) {
            let now = |known: &HashMap<usize, IrValue<'c>>, value: IrValue<'c>| {
                known.get(&value_key(value)).copied().unwrap_or(value)
            };
            if TileOp::Yield.is(inner) {
                return operands_of(inner).map(|value| now(&known, value)).collect();
            }
            let copy = clone(inner);
            // SAFETY: the copy outlives the references.
            let mut all: Vec<IrOp<'c>> = vec![unsafe { OperationRef::from_raw(copy.to_raw()) }];
            collect_nested(all[0], &mut all);
            for nested in all {
                for (index, value) in operands_of(nested).enumerate().collect::<Vec<_>>() {
                    if let Some(number) = known.get(&value_key(value)) {
                        set_operand(nested, index, *number);
                    }
                }
            }
            let copy = self.ir.insert(copy);
            for index in 0..copy.result_count() {
                known.insert(value_key(result_of(inner, index)), result_of(copy, index));
            }
        }
        a.to_vec()
    }

    /// Combines what stands before a block with each value of it, where `holds`, if there is a condition.
    fn put_before(
        &self,
        combining: &Combining<'c>,
        state: &mut State<'c>,
        block: usize,
        before: &[IrValue<'c>],
        holds: Option<IrValue<'c>>,
    ) {
        let (blocks, running) = (&state.block, &mut state.running);
        // Without a block before it, what an exclusive scan begins with stands there.
        let before = match (&combining.first, holds) {
            (Some(first), Some(holds)) => self.chosen(combining, holds, before, first),
            _ => before.to_vec(),
        };
        for (_, running) in blocks.iter().zip(running).filter(|(of, _)| **of == block) {
            *running = Some(match running.take() {
                None => before.clone(),
                Some(own) => {
                    let both = self.apply(combining, &before, &own);
                    match holds {
                        Some(holds) if combining.first.is_none() => {
                            self.chosen(combining, holds, &both, &own)
                        }
                        _ => both,
                    }
                }
            });
        }
    }

    /// `a` where a condition holds, else `b`.
    fn chosen(
        &self,
        combining: &Combining<'c>,
        holds: IrValue<'c>,
        a: &[IrValue<'c>],
        b: &[IrValue<'c>],
    ) -> Numbers<'c> {
        let numbers = combining.elems.iter().zip(a.iter().zip(b));
        numbers
            .map(|(elem, (a, b))| {
                let ty = self.ir.number_type(*elem);
                self.ir.value(ArithOp::Select, &[holds, *a, *b], &[], ty)
            })
            .collect()
    }

    /// Blocks side by side in the registers of a thread.
    fn in_thread(
        &mut self,
        combining: &Combining<'c>,
        state: &mut State<'c>,
        digit: Digit,
        apart: i64,
    ) -> Result<(), SemError> {
        let (extent, apart) = (digit.extent as usize, apart as usize);
        let firsts: Vec<usize> = state.totals.keys().copied().collect();
        for first in firsts
            .into_iter()
            .filter(|first| first / apart % extent == 0)
        {
            let mut order: Vec<usize> = (0..extent).map(|at| first + at * apart).collect();
            if combining.reverse {
                order.reverse();
            }
            let mut parts = Vec::new();
            for block in &order {
                let missing = || SemError::Illegal("has a block without a total".into());
                parts.push(state.totals.remove(block).ok_or_else(missing)?);
            }
            let total = match combining.is_scan {
                false => {
                    let both = |a: Vec<_>, b: Vec<_>| self.apply(combining, &a, &b);
                    let none = || SemError::Illegal("combines nothing".into());
                    in_groups(parts, 2, both).ok_or_else(none)?
                }
                true => {
                    let mut total = parts[0].clone();
                    for (block, part) in order.iter().zip(&parts).skip(1) {
                        self.put_before(combining, state, *block, &total, None);
                        total = self.apply(combining, &total, part);
                    }
                    total
                }
            };
            state.totals.insert(first, total);
            for block in state.block.iter_mut().filter(|block| order.contains(block)) {
                *block = first;
            }
        }
        Ok(())
    }

    /// Blocks side by side in the lanes of a warp.
    fn in_warp(
        &mut self,
        combining: &Combining<'c>,
        state: &mut State<'c>,
        digit: Digit,
        apart: i64,
    ) -> Result<(), SemError> {
        let blocks: Vec<usize> = state.totals.keys().copied().collect();
        if !combining.is_scan {
            for block in blocks {
                let mut total = state.totals[&block].clone();
                let mut distance = apart;
                while distance < apart * digit.extent {
                    let by = self.ir.constant(distance, "i32");
                    let other = self.of_lane(combining, &total, BUTTERFLY, by);
                    total = self.apply(combining, &total, &other);
                    distance *= 2;
                }
                state.totals.insert(block, total);
            }
            return Ok(());
        }
        let word = self.ir.ty("i32");
        let (lane, place) = (self.thread(), self.place_in(combining, digit, apart));
        // The lane so many places before.
        let lane_before = |this: &Self, places: i64| {
            let by = this.ir.constant(places * apart, "i32");
            let op = if combining.reverse {
                ArithOp::Addi
            } else {
                ArithOp::Subi
            };
            this.ir.value(op, &[lane, by], &[], word)
        };
        for block in blocks {
            let mut total = state.totals[&block].clone();
            let mut distance = 1;
            while distance < digit.extent {
                let from = lane_before(self, distance);
                let other = self.of_lane(combining, &total, INDEXED, from);
                let both = self.apply(combining, &other, &total);
                let holds = self.reaches(place, distance);
                total = self.chosen(combining, holds, &both, &total);
                distance *= 2;
            }
            let from = lane_before(self, 1);
            let before = self.of_lane(combining, &total, INDEXED, from);
            let holds = self.reaches(place, 1);
            self.put_before(combining, state, block, &before, Some(holds));
            // The last of them has the total of all.
            let last = self.ir.constant(digit.extent - 1, "i32");
            let left = self.ir.value(ArithOp::Subi, &[last, place], &[], word);
            let by = self.ir.constant(apart, "i32");
            let left = self.ir.value(ArithOp::Muli, &[left, by], &[], word);
            let op = if combining.reverse {
                ArithOp::Subi
            } else {
                ArithOp::Addi
            };
            let from = self.ir.value(op, &[lane, left], &[], word);
            let total = self.of_lane(combining, &total, INDEXED, from);
            state.totals.insert(block, total);
        }
        Ok(())
    }

    /// Blocks side by side in the warps of a block: each leaves its total in shared memory, and reads those of all.
    fn through_memory_of(
        &mut self,
        among: Among,
        combining: &Combining<'c>,
        state: &mut State<'c>,
        digit: Digit,
        apart: i64,
    ) -> Result<(), SemError> {
        let blocks: Vec<usize> = state.totals.keys().copied().collect();
        if self.staged {
            self.barrier();
        }
        let place = self.place_in_order(combining, digit, apart, false);
        let (own, firsts, stride) = self.block_places(combining, digit, place, blocks.len())?;
        let writers = self.telling(among, combining.writers(digit)?);
        let told = self.tellers(&writers) * blocks.len() as i64;
        let scratch = digit.scratch(&combining.spread, &combining.elems);
        let exchange = self.exchange(combining.op, among, scratch, told)?;
        self.by_tellers(&exchange, &writers, |this, told| {
            for (block, index) in blocks.iter().zip(&own) {
                for (at, elem) in combining.elems.iter().enumerate() {
                    let number = this.widened(state.totals[block][at], *elem);
                    let at_index = this.index_of(*index);
                    this.tell(&exchange, number, (at, at_index), told)?;
                }
            }
            Ok(())
        })?;
        self.told(&exchange)?;
        let word = self.ir.ty("i32");
        let mine = self.place_in(combining, digit, apart);
        for (block, first) in blocks.iter().zip(&firsts) {
            let mut before: Option<Numbers<'c>> = None;
            let mut total: Option<Numbers<'c>> = None;
            for at in 0..digit.extent {
                let digit_at = if combining.reverse {
                    digit.extent - 1 - at
                } else {
                    at
                };
                let offset = self.ir.constant(digit_at * stride, "i32");
                let index = self.ir.value(ArithOp::Addi, &[*first, offset], &[], word);
                let index = self.index_of(index);
                let elems = combining.elems.iter().zip(&exchange.buffers);
                let part: Numbers<'c> = elems
                    .map(|(elem, buffer)| {
                        let ty = self.ir.ty(carried(*elem).value_type());
                        let loaded = self
                            .ir
                            .value(CuteOp::MemrefLoad, &[*buffer, index], &[], ty);
                        self.narrowed_to(loaded, *elem)
                    })
                    .collect();
                if let Some(total) = &total {
                    let holds = self.reaches(mine, at);
                    before = Some(match &before {
                        None => total.clone(),
                        Some(so_far) => self.chosen(combining, holds, total, so_far),
                    });
                }
                total = Some(match &total {
                    None => part,
                    Some(so_far) => self.apply(combining, so_far, &part),
                });
            }
            if let (true, Some(before)) = (combining.is_scan, before) {
                let holds = self.reaches(mine, 1);
                self.put_before(combining, state, *block, &before, Some(holds));
            }
            if let Some(total) = total {
                state.totals.insert(*block, total);
            }
        }
        self.end_exchange(&exchange)
    }

    /// The numbers that another lane has.
    fn of_lane(
        &self,
        combining: &Combining<'c>,
        numbers: &[IrValue<'c>],
        kind: &'static str,
        lane: IrValue<'c>,
    ) -> Numbers<'c> {
        let numbers = numbers.iter().zip(&combining.elems);
        numbers
            .map(|(number, elem)| {
                let number = self.widened(*number, *elem);
                let number = self.shuffled_by(kind, number, carried(*elem), lane);
                self.narrowed_to(number, *elem)
            })
            .collect()
    }

    /// A number as lanes and shared memory take it: a bool as a byte.
    fn widened(&self, number: IrValue<'c>, elem: Elem) -> IrValue<'c> {
        match elem {
            Elem::I1 => {
                let ty = self.ir.ty(carried(elem).value_type());
                self.ir.value(ArithOp::Extui, &[number], &[], ty)
            }
            _ => number,
        }
    }

    fn narrowed_to(&self, number: IrValue<'c>, elem: Elem) -> IrValue<'c> {
        match elem {
            Elem::I1 => {
                let ty = self.ir.ty(elem.value_type());
                self.ir.value(ArithOp::Trunci, &[number], &[], ty)
            }
            _ => number,
        }
    }

    /// The thread's place in a digit, counted in the direction of the scan.
    fn place_in(&mut self, combining: &Combining<'c>, digit: Digit, apart: i64) -> IrValue<'c> {
        self.place_in_order(combining, digit, apart, combining.reverse)
    }

    fn place_in_order(
        &mut self,
        _combining: &Combining<'c>,
        digit: Digit,
        apart: i64,
        reverse: bool,
    ) -> IrValue<'c> {
        let word = self.ir.ty("i32");
        let thread = self.thread();
        let (by, extent) = (
            self.ir.constant(apart, "i32"),
            self.ir.constant(digit.extent, "i32"),
        );
        let place = self.ir.value(ArithOp::Divui, &[thread, by], &[], word);
        let place = self.ir.value(ArithOp::Remui, &[place, extent], &[], word);
        match reverse {
            false => place,
            true => {
                let last = self.ir.constant(digit.extent - 1, "i32");
                self.ir.value(ArithOp::Subi, &[last, place], &[], word)
            }
        }
    }

    /// Whether a place has so many before it.
    fn reaches(&self, place: IrValue<'c>, count: i64) -> IrValue<'c> {
        let least = self.ir.constant(count - 1, "i32");
        let less = [("predicate", self.ir.i64(LESS))];
        let ty = self.ir.ty("i1");
        self.ir.value(ArithOp::Cmpi, &[least, place], &less, ty)
    }

    fn index_of(&self, index: IrValue<'c>) -> IrValue<'c> {
        let ty: Type<'c> = self.ir.ty("!cute.coord<\"?\">");
        self.ir.value(CuteOp::MakeCoord, &[index], &[], ty)
    }

    /// For each block the place of its total, that of the first block of its group, which differs from it in the digit alone, and how far apart the places of
    /// a group are. One block of all threads lies behind the other, so that neighbours have neighbouring places.
    fn block_places(
        &mut self,
        combining: &Combining<'c>,
        digit: Digit,
        place: IrValue<'c>,
        blocks: usize,
    ) -> Result<(Numbers<'c>, Numbers<'c>, i64), SemError> {
        let word = self.ir.ty("i32");
        let thread = self.thread();
        let binary = |this: &Self, op, a, by| {
            let by = this.ir.constant(by, "i32");
            this.ir.value(op, &[a, by], &[], word)
        };
        let (mut base, mut threads) = (self.ir.constant(0, "i32"), 1);
        for (apart, extent) in combining.groups(digit)? {
            let part = binary(self, ArithOp::Divui, thread, apart);
            let part = binary(self, ArithOp::Remui, part, extent);
            let part = binary(self, ArithOp::Muli, part, threads);
            base = self.ir.value(ArithOp::Addi, &[base, part], &[], word);
            threads *= extent;
        }
        let stride = threads * blocks as i64;
        let mine = binary(self, ArithOp::Muli, place, stride);
        let own = self.ir.value(ArithOp::Addi, &[base, mine], &[], word);
        let from = |first: IrValue<'c>| -> Numbers<'c> {
            let offsets = (0..blocks as i64).map(|block| block * threads);
            offsets
                .map(|offset| binary(self, ArithOp::Addi, first, offset))
                .collect()
        };
        Ok((from(own), from(base), stride))
    }

    /// The totals, in the order of the values that are left.
    fn totals_of(
        &self,
        combining: &Combining<'c>,
        state: &State<'c>,
        to: &Spread,
    ) -> Result<Vec<Numbers<'c>>, SemError> {
        let others = (0..to.tile.shape.len()).filter(|axis| *axis != combining.axis);
        let mut given = vec![Vec::new(); combining.spread.values() as usize];
        let mut wanted = vec![Vec::new(); to.values() as usize];
        for axis in others {
            let places = value_places(&combining.spread, axis)?;
            given
                .iter_mut()
                .zip(places)
                .for_each(|(given, place)| given.push(place));
            let places = value_places(to, axis)?;
            wanted
                .iter_mut()
                .zip(places)
                .for_each(|(wanted, place)| wanted.push(place));
        }
        let total = |place: &Vec<i64>| {
            let mut totals = state.totals.iter();
            let found = totals.find(|(block, _)| given[**block] == *place);
            found.map(|(_, total)| total.clone())
        };
        let all: Option<Vec<Numbers<'c>>> = wanted.iter().map(total).collect();
        all.ok_or_else(|| {
            SemError::Illegal(format!(
                "{} is not what {} leaves",
                to.tile, combining.spread.tile
            ))
        })
    }
}

/// The digits of the coordinate along the axis, in the order in which they are combined: of a scan that of the smallest step first; else, in any order,
/// first those of which a thread has all values, so that it tells others as little as can be.
pub(super) fn digits(
    spread: &Spread,
    along: usize,
    threads: i64,
    is_scan: bool,
) -> Result<Vec<Digit>, SemError> {
    let shape = &spread.tile.shape;
    let mut digits = Vec::new();
    let mut apart = 1;
    for mode in spread
        .layout
        .value_modes(shape)
        .map_err(SemError::Illegal)?
    {
        if let Some((_, step)) = mode.along.filter(|(axis, _)| *axis == along) {
            digits.push(Digit {
                step,
                extent: mode.extent,
                held: Held::Values(apart),
            });
        }
        apart *= mode.extent;
    }
    let mut apart = 1;
    for mode in spread
        .layout
        .thread_modes(shape)
        .map_err(SemError::Illegal)?
    {
        let end = apart * mode.extent;
        if let Some((_, step)) = mode.along.filter(|(axis, _)| *axis == along) {
            let lanes = TileLayout::lanes_of(apart, mode.extent);
            if lanes > 1 {
                digits.push(Digit {
                    step,
                    extent: lanes,
                    held: Held::Lanes(apart),
                });
            }
            let (step, told) = (step * lanes, apart * lanes);
            let warps = end.min(threads) / told;
            if warps > 1 {
                digits.push(Digit {
                    step,
                    extent: warps,
                    held: Held::Warps(told),
                });
            }
            let first = apart.max(threads);
            if end > first {
                digits.push(Digit {
                    step: step * warps.max(1),
                    extent: end / first,
                    held: Held::Blocks(first),
                });
            }
        }
        apart = end;
    }
    digits.sort_by_key(|digit| {
        let is_first = !is_scan && matches!(digit.held, Held::Values(_));
        (!is_first, digit.step)
    });
    Ok(digits)
}

impl Digit {
    /// The part of a thread's number that it is, as divisor and extent, if threads hold its values.
    fn of_threads(self) -> Option<(i64, i64)> {
        match self.held {
            Held::Values(_) => None,
            Held::Lanes(apart) | Held::Warps(apart) | Held::Blocks(apart) => {
                Some((apart, self.extent))
            }
        }
    }

    /// Buffers for the totals that threads tell each other: a place for each block, at most as many as the tile has where those of the steps before are blocks.
    pub(super) fn scratch(self, spread: &Spread, elems: &[Elem]) -> Vec<Scratch> {
        let first = match self.held {
            Held::Values(_) | Held::Lanes(_) => return Vec::new(),
            Held::Warps(_) => 0,
            Held::Blocks(_) => elems.len(),
        };
        let layout = Layout::scalar(spread.tile.size() / self.step, 1);
        let buffer = |(number, elem): (usize, &Elem)| {
            let layout = AnyLayout::Plain(layout.clone());
            Scratch::of(Through::Combination, carried(*elem), layout).numbered(first + number)
        };
        elems.iter().enumerate().map(buffer).collect()
    }
}

impl Combining<'_> {
    fn digits(&self) -> Result<Vec<Digit>, SemError> {
        digits(&self.spread, self.axis, self.threads, self.is_scan)
    }

    /// The parts of a thread's number, as divisor and extent, by which groups of blocks differ that a digit counts: coordinates along other axes, and the
    /// digits behind it.
    fn groups(&self, of: Digit) -> Result<Vec<(i64, i64)>, SemError> {
        let shape = &self.spread.tile.shape;
        let modes = self.spread.layout.thread_modes(shape);
        let (mut parts, mut apart) = (Vec::new(), 1);
        for mode in modes.map_err(SemError::Illegal)? {
            if mode.along.is_some_and(|(axis, _)| axis != self.axis) {
                parts.push((apart, mode.extent));
            }
            apart *= mode.extent;
        }
        let behind = self.digits()?.into_iter();
        let behind = behind.filter(|digit| digit.step > of.step);
        parts.extend(behind.filter_map(Digit::of_threads));
        parts.sort_unstable();
        Ok(parts)
    }

    /// The parts of a thread's number, as divisor and extent, that are zero in a thread which leaves a total for the
    /// next digit: lanes whose digits are done know the same, as do threads that hold the same elements.
    fn writers(&self, next: Digit) -> Result<Vec<(i64, i64)>, SemError> {
        let shape = &self.spread.tile.shape;
        let mut parts = Vec::new();
        let mut apart = 1;
        for mode in self
            .spread
            .layout
            .thread_modes(shape)
            .map_err(SemError::Illegal)?
        {
            if mode.along.is_none() {
                parts.push((apart, mode.extent));
            }
            apart *= mode.extent;
        }
        let done = self
            .digits()?
            .into_iter()
            .filter(|digit| digit.step < next.step);
        parts.extend(done.filter_map(Digit::of_threads));
        Ok(parts)
    }
}
