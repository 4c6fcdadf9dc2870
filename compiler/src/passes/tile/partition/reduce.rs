//! Reductions along an axis: over the values of a thread, the lanes of a warp, the warps of a block, the blocks of a cluster.
//!
//! What is left is in all lanes that share the axis, or each of these has a part of it: then each step among them tells, and combines, half of what
//! the step before did.
use super::super::emits::Emits;
use super::exchange::Among;
use super::place::value_places;
use super::scratch::{Scratch, Through};
use super::shuffle::{BUTTERFLY, InOneInstruction};
use super::summands::Summands;
use super::{Partition, Spread};
use crate::passes::cmpi::{BELOW, NOT_EQUAL, cmpi};
use crate::passes::ir_utils::present;
use crate::passes::remark;
use crate::passes::tile::types::{carried, is_of_each_thread};
use cutec_dialects::builder::{IrOp, IrValue, integer_value, string_value};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, CuteOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::target::WARP;
use cutec_dialects::tile::{Mode, TileLayout};
use cutec_layout::{AnyLayout, Layout};
use melior::ir::Type;
use std::collections::HashMap;

/// How many parts a thread reads at most to combine what it needs. Of more each thread combines some rows for all: that takes another barrier, and
/// ever fewer reads, as many threads need the same.
const READ_BY_ALL: i64 = 32;

impl<'c> Partition<'c> {
    pub(super) fn reduce(&mut self, op: IrOp<'c>, to: &Spread) -> Result<IrValue<'c>, SemError> {
        let (mut summands, from) = self.summands(op)?;
        let elem = from.tile.elem;
        let reduce = present(tile::Reduce::of(op))?;
        let kind = reduce.kind().and_then(string_value).unwrap_or_default();
        let combine = combiner(&kind, elem)?;
        let axis = reduce.axis().and_then(integer_value);
        let axis = axis.unwrap_or(0) as usize;
        if is_of_each_thread(op) {
            let numbers = self.within_thread(&mut summands, (&from, to), axis, (elem, combine))?;
            return Ok(self.gather(&numbers, self.ir.number_type(elem)));
        }
        let in_all = as_in_all(&from, to)?.layout;
        let in_all = in_all.is_as(&to.layout, &to.tile.shape);
        let mut numbers = match in_all && self.is_of_scores(op, &from, to) {
            true => {
                remark(
                    self.ir.location,
                    "the largest of a row is looked for among integers, of which an instruction compares three; a warp with a row of negative elements alone compares floats",
                );
                let all = 0..from.values() as usize;
                let all: Result<Vec<_>, _> = all
                    .map(|value| self.summand(&mut summands, value))
                    .collect();
                self.largest(all?, (&from, to), axis)?
            }
            false => self.within_warp(&mut summands, (&from, to), axis, (elem, combine))?,
        };
        let wide = carried(elem);

        for holders in Holders::along(&from, axis, self.threads)? {
            let spread = (&from, to, wide);
            self.through_memory(op, &mut numbers, spread, &holders, combine)?;
        }
        if wide != elem {
            self.each(&mut numbers, ArithOp::Trunci, elem);
        }
        Ok(self.gather(&numbers, self.ir.number_type(elem)))
    }

    /// Converts numbers to another type.
    fn each(&self, numbers: &mut [IrValue<'c>], convert: ArithOp, to: Elem) {
        let ty = self.ir.ty(to.value_type());
        for number in numbers {
            *number = self.ir.value(convert, &[*number], &[], ty);
        }
    }

    /// What a warp holds, combined: in each thread a number for each value that is left to it, as what it is carried as.
    pub(super) fn within_warp(
        &mut self,
        summands: &mut Summands<'c>,
        (from, to): (&Spread, &Spread),
        axis: usize,
        (elem, combine): (Elem, ArithOp),
    ) -> Result<Vec<IrValue<'c>>, SemError> {
        let left = as_in_all(from, to)?;
        let mut numbers = self.within_thread(summands, (from, &left), axis, (elem, combine))?;
        let wide = carried(elem);
        let instruction = InOneInstruction::of(elem, combine);
        let instruction = match instruction {
            Some(one) if is_of_whole_warps(from, axis, one.is_idempotent())? => Some(one),
            _ => None,
        };
        // Lanes that keep a part of what is left shuffle the others away.
        if let Some(instruction) = instruction
            && left.layout.is_as(&to.layout, &to.tile.shape)
        {
            for number in &mut numbers {
                *number = self.of_warp(instruction, *number);
            }
            if wide != elem {
                self.each(&mut numbers, ArithOp::Extui, wide);
            }
            return Ok(numbers);
        }
        if wide != elem {
            self.each(&mut numbers, ArithOp::Extui, wide);
        }
        let mut parts = Parts {
            places: places(&left, 0..to.tile.shape.len())?,
            numbers,
        };
        for (first, extent) in threads_along(from, axis)? {
            let lanes = (first, TileLayout::lanes_of(first, extent));
            self.across_lanes(&mut parts, to, lanes, (wide, combine))?;
        }
        Ok(parts.numbers)
    }

    /// What a thread holds, combined: a number for each value that is left.
    fn within_thread(
        &mut self,
        summands: &mut Summands<'c>,
        (from, to): (&Spread, &Spread),
        axis: usize,
        (elem, combine): (Elem, ArithOp),
    ) -> Result<Vec<IrValue<'c>>, SemError> {
        let others = (0..from.tile.shape.len()).filter(|other| *other != axis);
        let (given, wanted) = (places(from, others.clone())?, places(to, others)?);
        let ty = self.ir.ty(elem.value_type());
        // Of integers an instruction compares three.
        let together = if combine == ArithOp::Maxsi { 3 } else { 2 };
        let mut numbers = Vec::with_capacity(wanted.len());
        for place in &wanted {
            let along = given
                .iter()
                .enumerate()
                .filter(|(_, given)| *given == place);
            let mut groups = Groups::of(together);
            for (value, _) in along {
                let element = self.summand(summands, value)?;
                groups.push(element, |a, b| self.ir.value(combine, &[a, b], &[], ty));
            }
            let number = groups.end(|a, b| self.ir.value(combine, &[a, b], &[], ty));
            numbers.push(number.ok_or_else(|| {
                SemError::Illegal(format!("{} is not what {} leaves", to.tile, from.tile))
            })?);
        }
        Ok(numbers)
    }

    /// Combines with so many lanes, of numbers that are powers of two apart: all that they have, or the half that is left to a lane.
    fn across_lanes(
        &mut self,
        parts: &mut Parts<'c>,
        to: &Spread,
        (apart, lanes): (i64, i64),
        (elem, combine): (Elem, ArithOp),
    ) -> Result<(), SemError> {
        let ty = self.ir.ty(elem.value_type());
        let mut distance = apart;
        while distance < apart * lanes {
            let half = half_of(to, distance)?;
            let told = match half {
                Some((axis, step)) => self.halves(parts, distance, (axis, step), ty)?,
                None => parts.numbers.clone(),
            };
            for (number, told) in parts.numbers.iter_mut().zip(told) {
                let by = self.ir.constant(distance, "i32");
                let other = self.shuffled_by(BUTTERFLY, told, elem, by);
                *number = self.ir.value(combine, &[*number, other], &[], ty);
            }
            distance *= 2;
        }
        Ok(())
    }

    /// Leaves the half of some parts that a lane keeps, and gives that which it tells the one at a distance: the upper half of those a step apart along an
    /// axis is of the lanes that have the bit.
    fn halves(
        &mut self,
        parts: &mut Parts<'c>,
        distance: i64,
        (axis, step): (usize, i64),
        ty: Type<'c>,
    ) -> Result<Vec<IrValue<'c>>, SemError> {
        let (thread, bit) = (self.thread(), self.ir.constant(distance, "i32"));
        let has_bit = self
            .ir
            .value(ArithOp::Andi, &[thread, bit], &[], self.ir.ty("i32"));
        let zero = self.ir.constant(0, "i32");
        let is_upper = cmpi(&self.ir, NOT_EQUAL, has_bit, zero);
        let whole = std::mem::take(&mut parts.places);
        let numbers = std::mem::take(&mut parts.numbers);
        let at: HashMap<&Vec<i64>, usize> = whole.iter().zip(0..).collect();
        let mut told = Vec::with_capacity(whole.len() / 2);
        for (low, number) in whole.iter().zip(&numbers) {
            if low[axis] / step % 2 != 0 {
                continue;
            }
            let mut high = low.clone();
            high[axis] += step;
            let high = at.get(&high).map(|high| numbers[*high]).ok_or_else(|| {
                SemError::Illegal(format!("has no half {step} apart along axis {axis}"))
            })?;
            let either = |one, other| {
                let operands = [is_upper, one, other];
                self.ir.value(ArithOp::Select, &operands, &[], ty)
            };
            told.push(either(*number, high));
            parts.numbers.push(either(high, *number));
            parts.places.push(low.clone());
        }
        Ok(told)
    }

    /// Combines what the warps of a block have, or the blocks of a cluster, through shared memory: a row for each along the axis.
    fn through_memory(
        &mut self,
        op: IrOp<'c>,
        numbers: &mut [IrValue<'c>],
        (from, to, elem): (&Spread, &Spread, Elem),
        holders: &Holders,
        combine: ArithOp,
    ) -> Result<(), SemError> {
        let (among, count) = (holders.among, holders.count());
        let i32_type = self.ir.ty("i32");
        // In which of the warps or blocks along the axis this thread is.
        let thread = self.thread();
        let mut own = self.ir.constant(0, "i32");
        let mut scale = 1;
        for (first, extent) in &holders.modes {
            let (first, modulus) = (
                self.ir.constant(*first, "i32"),
                self.ir.constant(*extent, "i32"),
            );
            let place = self
                .ir
                .value(ArithOp::Divui, &[thread, first], &[], i32_type);
            let place = self
                .ir
                .value(ArithOp::Remui, &[place, modulus], &[], i32_type);
            let by = self.ir.constant(scale, "i32");
            let place = self.ir.value(ArithOp::Muli, &[place, by], &[], i32_type);
            own = self.ir.value(ArithOp::Addi, &[own, place], &[], i32_type);
            scale *= extent;
        }
        let rows = self.numbers(to)?;
        let written = numbers.to_vec();
        // One thread for each number: those that hold the same along the axis within a warp or block do not write.
        let block = self.threads;
        let known = |first, extent| match among {
            Among::Block => first * TileLayout::lanes_of(first, extent),
            Among::Cluster => block,
        };
        let writers = self.telling(among, writers(from, to, known)?);
        let told = self.tellers(&writers) * written.len() as i64;
        let exchange = self.exchange(op, among, vec![holders.scratch(to)], told)?;
        self.by_tellers(&exchange, &writers, |this, told| {
            for (row, number) in rows.iter().zip(&written) {
                let at = this.place_of(*row, own);
                this.tell(&exchange, *number, (0, at), told)?;
            }
            Ok(())
        })?;
        self.told(&exchange)?;
        let buffer = exchange.buffers[0];
        // Of a tile that several blocks share, a block has some rows alone.
        let by_rows = self.blocks == 1 && numbers.len() as i64 * count > READ_BY_ALL;
        let parts = match by_rows {
            true => {
                // Of a block with roles those that share the tile.
                let threads = from.layout.threads().min(self.threads);
                self.combine_rows(buffer, threads, (to.tile.size(), count), (elem, combine))?;
                self.meet(Among::Block);
                1
            }
            false => count,
        };
        for (row, number) in rows.iter().zip(numbers.iter_mut()) {
            *number = self.row(buffer, *row, parts, (elem, combine));
        }
        self.end_exchange(&exchange)
    }

    /// Each of so many threads combines the parts of some rows, and leaves the result as the first one.
    fn combine_rows(
        &mut self,
        buffer: IrValue<'c>,
        threads: i64,
        (rows, parts): (i64, i64),
        (elem, combine): (Elem, ArithOp),
    ) -> Result<(), SemError> {
        let thread = self.thread();
        for first in (0..rows).step_by(threads as usize) {
            let offset = self.ir.constant(first, "i32");
            let operands = [thread, offset];
            let row = self
                .ir
                .value(ArithOp::Addi, &operands, &[], self.ir.ty("i32"));
            let act = |this: &mut Self| {
                let total = this.row(buffer, row, parts, (elem, combine));
                let at = this.place_of(row, this.ir.constant(0, "i32"));
                let operands = [total, buffer, at];
                this.ir.op(CuteOp::MemrefStore, &operands, &[], &[]);
                Ok(())
            };
            if first + threads <= rows {
                act(self)?;
                continue;
            }
            let end = self.ir.constant(rows, "i32");
            let is_one = cmpi(&self.ir, BELOW, row, end);
            self.only_if(is_one, act)?;
        }
        Ok(())
    }

    /// So many parts of a row, combined.
    fn row(
        &self,
        buffer: IrValue<'c>,
        row: IrValue<'c>,
        parts: i64,
        (elem, combine): (Elem, ArithOp),
    ) -> IrValue<'c> {
        let ty = self.ir.ty(elem.value_type());
        let load = |part: i64| {
            let at = self.place_of(row, self.ir.constant(part, "i32"));
            self.ir.value(CuteOp::MemrefLoad, &[buffer, at], &[], ty)
        };
        let first = load(0);
        (1..parts).fold(first, |so_far, part| {
            let operands = [so_far, load(part)];
            self.ir.value(combine, &operands, &[], ty)
        })
    }

    fn place_of(&self, row: IrValue<'c>, part: IrValue<'c>) -> IrValue<'c> {
        let ty = self.ir.ty("!cute.coord<\"(?,?)\">");
        self.ir.value(CuteOp::MakeCoord, &[row, part], &[], ty)
    }

    /// A number for each value of a thread, the same in all that hold it: one value of all threads behind the other, so that neighbours
    /// have neighbouring places.
    fn numbers(&mut self, spread: &Spread) -> Result<Vec<IrValue<'c>>, SemError> {
        let i32_type = self.ir.ty("i32");
        let (mut base, mut holders) = (self.ir.constant(0, "i32"), 1);
        for (mode, place) in self.thread_places(spread)? {
            if mode.along.is_some() {
                let step = self.ir.constant(holders, "i32");
                let part = self.ir.value(ArithOp::Muli, &[place, step], &[], i32_type);
                base = self.ir.value(ArithOp::Addi, &[base, part], &[], i32_type);
                holders *= mode.extent;
            }
        }
        let number = |value: i64| {
            let first = self.ir.constant(value * holders, "i32");
            self.ir.value(ArithOp::Addi, &[base, first], &[], i32_type)
        };
        Ok((0..spread.values()).map(number).collect())
    }
}

/// What a thread has of what lanes combine: a number for each place.
struct Parts<'c> {
    places: Vec<Vec<i64>>,
    numbers: Vec<IrValue<'c>>,
}

/// Who has parts of what is reduced: threads whose numbers differ in these modes, as divisor and extent.
pub(super) struct Holders {
    among: Among,
    modes: Vec<(i64, i64)>,
}

impl Holders {
    /// The threads of a block of so many that shuffles do not bring together, warps as a rule, and the blocks, where there are several along an axis.
    pub fn along(from: &Spread, axis: usize, threads: i64) -> Result<Vec<Holders>, SemError> {
        let (mut warps, mut blocks) = (Vec::new(), Vec::new());
        for (first, extent) in threads_along(from, axis)? {
            let (end, told) = (first * extent, first * TileLayout::lanes_of(first, extent));
            let last = end.min(threads);
            if told < last {
                warps.push((told, last / told));
            }
            let first = first.max(threads);
            if end > first {
                blocks.push((first, end / first));
            }
        }
        let all = [(Among::Block, warps), (Among::Cluster, blocks)];
        let all = all.map(|(among, modes)| Holders { among, modes });
        let several = |holders: &Holders| !holders.modes.is_empty();
        Ok(all.into_iter().filter(several).collect())
    }

    fn count(&self) -> i64 {
        self.modes.iter().map(|(_, extent)| extent).product()
    }

    /// What they tell each other: a row of what is left for each of them.
    pub fn scratch(&self, to: &Spread) -> Scratch {
        let size = to.tile.size();
        let rows = Layout::of_modes([(size, 1), (self.count(), size)]);
        let elem = carried(to.tile.elem);
        let scratch = Scratch::of(Through::Reduction, elem, AnyLayout::Plain(rows));
        scratch.numbered(match self.among {
            Among::Block => 0,
            Among::Cluster => 1,
        })
    }
}

/// The parts of a thread's number that count along an axis, as divisor and extent.
fn threads_along(spread: &Spread, axis: usize) -> Result<Vec<(i64, i64)>, SemError> {
    let (mut before, mut found) = (1, Vec::new());
    for mode in thread_modes(spread)? {
        if mode.along.is_some_and(|(along, _)| along == axis) {
            found.push((before, mode.extent));
        }
        before *= mode.extent;
    }
    Ok(found)
}

/// Whether all lanes of a warp share one row along an axis, each with elements of its own or, where that does no harm, with those of others.
fn is_of_whole_warps(from: &Spread, axis: usize, idempotent: bool) -> Result<bool, SemError> {
    let mut first: i64 = 1;
    for mode in thread_modes(from)? {
        if first.count_ones() != 1 {
            return Ok(false);
        }
        let harmless = match mode.along {
            Some((along, _)) => along == axis,
            None => idempotent,
        };
        if !harmless && mode.extent > 1 {
            return Ok(false);
        }
        first *= mode.extent;
        if first >= WARP {
            return Ok(first % WARP == 0);
        }
    }
    Ok(false)
}

/// The parts of a thread's number, as divisor and extent, that are zero in a thread that writes for its warp or block: of a mode that begins at a thread
/// and has an extent those up to `known` know the same.
fn writers(
    from: &Spread,
    to: &Spread,
    known: impl Fn(i64, i64) -> i64,
) -> Result<Vec<(i64, i64)>, SemError> {
    let mut after = thread_modes(to)?;
    after.retain(|mode| mode.extent > 1);
    let mut after = after.into_iter();
    let (mut found, mut first) = (Vec::new(), 1);
    for mode in thread_modes(from)? {
        let (end, known) = (first * mode.extent, known(first, mode.extent));
        while first < end
            && let Some(left) = after.next()
        {
            let reduced = mode.along.is_some() && left.along.is_none();
            // Of a mode along the axis those that know the same, of one that holds the same anyway all.
            let extent = match (mode.along, reduced) {
                (None, _) => left.extent,
                (_, true) => left.extent.min((known / first).max(1)),
                _ => 1,
            };
            if extent > 1 {
                found.push((first, extent));
            }
            first *= left.extent;
        }
    }
    Ok(found)
}

/// What is left of a reduction as all lanes have it that share the axis.
fn as_in_all(from: &Spread, to: &Spread) -> Result<Spread, SemError> {
    let layout = from.layout.reduced(&from.tile.shape, &to.tile.shape);
    Ok(Spread {
        layout: layout.map_err(SemError::Illegal)?,
        ..to.clone()
    })
}

/// Along which axis, and how far apart, the halves lie of which lanes that differ in a bit have one each; `None` where they have the same.
fn half_of(to: &Spread, bit: i64) -> Result<Option<(usize, i64)>, SemError> {
    let mut first = 1;
    for mode in thread_modes(to)? {
        if bit < first * mode.extent {
            return Ok(mode.along.map(|(axis, step)| (axis, step * (bit / first))));
        }
        first *= mode.extent;
    }
    Ok(None)
}

/// How far each value of a thread lies from its first along some axes.
fn places(spread: &Spread, axes: impl Iterator<Item = usize>) -> Result<Vec<Vec<i64>>, SemError> {
    let along: Result<Vec<Vec<i64>>, _> = axes.map(|axis| value_places(spread, axis)).collect();
    let along = along?;
    let of = |value: usize| along.iter().map(|places| places[value]).collect();
    Ok((0..spread.values() as usize).map(of).collect())
}

fn thread_modes(spread: &Spread) -> Result<Vec<Mode>, SemError> {
    let modes = spread.layout.thread_modes(&spread.tile.shape);
    modes.map_err(SemError::Illegal)
}

/// The operation that combines two numbers.
fn combiner(kind: &str, elem: Elem) -> Result<ArithOp, SemError> {
    let float = elem.is_float();
    match (kind, float, elem.has_arithmetic() || kind.len() == 2) {
        ("add", true, true) => Ok(ArithOp::Addf),
        ("add", false, true) => Ok(ArithOp::Addi),
        ("mul", true, true) => Ok(ArithOp::Mulf),
        ("mul", false, true) => Ok(ArithOp::Muli),
        ("min", true, true) => Ok(ArithOp::Minimumf),
        ("min", false, true) if elem.is_unsigned() => Ok(ArithOp::Minui),
        ("max", false, true) if elem.is_unsigned() => Ok(ArithOp::Maxui),
        ("min", false, true) => Ok(ArithOp::Minsi),
        ("max", true, true) => Ok(ArithOp::Maximumf),
        ("max", false, true) => Ok(ArithOp::Maxsi),
        ("and", false, true) => Ok(ArithOp::Andi),
        ("or", false, true) => Ok(ArithOp::Ori),
        ("xor", false, true) => Ok(ArithOp::Xori),
        _ => Err(SemError::Illegal(format!(
            "cannot combine {elem} by {kind}"
        ))),
    }
}

/// What is combined so many at once, in groups of groups: chains are short, and sums of similar size meet. A group is combined as soon as it is complete,
/// so that few wait beside what is still to come.
pub(super) struct Groups<T> {
    together: usize,
    /// What waits at each level for the rest of its group.
    waiting: Vec<Vec<T>>,
}

impl<T> Groups<T> {
    pub fn of(together: usize) -> Self {
        Groups {
            together,
            waiting: Vec::new(),
        }
    }

    pub fn push(&mut self, one: T, mut combine: impl FnMut(T, T) -> T) {
        let (mut next, mut level) = (Some(one), 0);
        while let Some(one) = next.take() {
            if level == self.waiting.len() {
                self.waiting.push(Vec::with_capacity(self.together));
            }
            self.waiting[level].push(one);
            if self.waiting[level].len() == self.together {
                next = self.waiting[level].drain(..).reduce(&mut combine);
            }
            level += 1;
        }
    }

    /// All combined; `None` where there is nothing.
    pub fn end(self, mut combine: impl FnMut(T, T) -> T) -> Option<T> {
        let rest =
            |rest: Option<T>, level: Vec<T>| level.into_iter().chain(rest).reduce(&mut combine);
        self.waiting.into_iter().fold(None, rest)
    }
}

/// All of several combined so.
pub(super) fn in_groups<T>(
    all: impl IntoIterator<Item = T>,
    together: usize,
    mut combine: impl FnMut(T, T) -> T,
) -> Option<T> {
    let mut groups = Groups::of(together);
    for one in all {
        groups.push(one, &mut combine);
    }
    groups.end(combine)
}
