//! Software pipelining of a loop: prologue, steady state, and loads that are some iterations ahead.
use super::gathered::Gathered;
use super::k_blocks::{At, Operands, Product, buffer_of};
use super::plan::{Plan, Producer};
use crate::passes::additional_yields::with_additional_yields;
use crate::passes::ir_utils::{
    attributes, clone, erase, operations, set_attribute, set_operand, users,
};
use crate::passes::tile::insert_barriers::ITERATION;
use crate::passes::tile::rematerialize::{Bounds, Rematerialization};
use crate::passes::tile::stages::widen;
use crate::passes::tile::types::{Failed, present, view_of};
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, argument_of, operands_of, operation_key, result_of,
};
use cutec_dialects::ops::{ArithOp, NvvmOp, ScfOp, TileOp, tile};
use cutec_dialects::tile::{BY_ELEMENT, TileLayout, TileType};
use melior::Context;
use melior::ir::ValueLike;
use melior::ir::operation::OperationLike;
use std::collections::HashMap;

/// Bytes that a thread may keep waiting in registers for an iteration.
const HELD: i64 = 32;
/// The same of what is gathered, element by element: nothing brings it faster than an iteration ahead.
const HELD_GATHERED: i64 = 128;

/// An iteration of which tiles are brought.
pub(super) struct Round<'c> {
    /// Its index, and the bound of the loop.
    pub index: IrValue<'c>,
    pub upper: IrValue<'c>,
    /// The numbers that its places depend on.
    pub numbers: Vec<IrValue<'c>>,
}

/// Whether the tile that an operation fills a buffer with, whose turn is a product's, is among those that are brought.
pub(super) type Brings<'a, 'c> = &'a dyn Fn(IrOp<'c>, usize) -> bool;

/// What the loop carries for the pipeline.
struct Carried<'c> {
    /// The stage that is read, and the one that is written.
    stages: [IrValue<'c>; 2],
    /// The first block of k of the first product.
    read: Operands<'c>,
    /// The numbers of what is begun next.
    numbers: Vec<IrValue<'c>>,
    /// The groups of copies that are under way.
    groups: Vec<IrValue<'c>>,
}

/// What was begun.
#[derive(Default)]
pub(super) struct Fetched<'c> {
    /// Tiles that are loaded and not written yet.
    loaded: Vec<(Producer<'c>, IrValue<'c>)>,
    /// The group of the copies.
    pub group: Option<IrValue<'c>>,
    /// The index of the iteration, and what of gathered tiles is computed for it.
    index: Option<IrValue<'c>>,
    gathered: HashMap<usize, IrValue<'c>>,
    /// Tiles that were gathered.
    elements: Vec<IrValue<'c>>,
}

impl<'c> Fetched<'c> {
    /// Adds what was begun later.
    fn extend(&mut self, more: Self) {
        self.loaded.extend(more.loaded);
        self.group = self.group.or(more.group);
        self.index = self.index.or(more.index);
        self.gathered.extend(more.gathered);
        self.elements.extend(more.elements);
    }
}

impl<'c> Plan<'c> {
    /// Rewrites the loop.
    pub fn apply(mut self, context: &'c Context) -> Result<(), Failed<'c>> {
        if let Some(turns) = self.turns.take() {
            return self.take_turns(context, turns);
        }
        let mut ir = OpBuilder::new(context, Insertion::Before(self.of));
        ir.location = self.of.location();
        let bounds = Bounds::of(self.of)?;
        let fills = self.producers.iter().map(Producer::fill);
        for fill in fills.chain(self.gathered.iter().map(|tile| tile.fill)) {
            if let Some(buffer) = buffer_of(fill) {
                widen(&ir, buffer, self.stages).map_err(|message| (self.of, message))?;
            }
        }

        // The first iterations are under way before the loop.
        let mut numbers = self.numbers.of_first(&mut ir, bounds, self.stages)?;
        let numbers_ahead = numbers.pop().unwrap_or_default();
        let (mut index, mut groups) = (bounds.lower, Vec::new());
        for (iteration, numbers) in (0..).zip(numbers) {
            if iteration > 0 {
                index = bounds.next(&ir, index);
            }
            let round = Round {
                index,
                upper: bounds.upper,
                numbers,
            };
            let stage = ir.constant(iteration, "i32");
            let fetched = self.fetch(&mut ir, &round, (stage, &|_, _| true), iteration)?;
            self.deposit(&ir, &fetched, stage, iteration)?;
            groups.extend(fetched.group);
        }
        wait(&ir, groups.get(..1));
        let first = ir.constant(0, "i32");
        let at = At {
            stage: first,
            iteration: Some(0),
        };
        let read = match self.products.first() {
            Some(product) => product.read_ahead(&mut ir, 0, Some(at))?,
            None => Operands::default(),
        };

        // The loop carries the stage that is read, the one that is written, the first block, and the numbers of what is begun next.
        let stages = [first, ir.constant(self.stages - 1, "i32")];
        let kept: Vec<IrValue> = stages
            .into_iter()
            .chain(read.into_iter().flatten())
            .chain(numbers_ahead.iter().copied())
            .collect();
        let before = self.of.result_count();
        let more = [&kept[..], &groups[..]].concat();
        let (new, arguments) = with_additional_yields(&ir, self.of, &[], &more);
        let left = (0..groups.len()).map(|index| result_of(new, before + kept.len() + index));
        let left: Vec<IrValue> = left.collect();
        let mut arguments = arguments.into_iter();
        let stages = stages.map(|stage| arguments.next().unwrap_or(stage));
        let read = read.map(|read| read.map(|read| arguments.next().unwrap_or(read)));
        let numbers = arguments.by_ref().take(numbers_ahead.len()).collect();
        let old = self.of;
        let carried = Carried {
            stages,
            read,
            numbers,
            groups: arguments.collect(),
        };
        self.iteration(&mut ir, new, carried)?;
        ir.insertion = Insertion::Before(old);
        wait(&ir, Some(&left));
        erase(old);
        Ok(())
    }

    /// What an iteration does.
    fn iteration(
        self,
        ir: &mut OpBuilder<'c>,
        new: IrOp<'c>,
        carried: Carried<'c>,
    ) -> Result<(), Failed<'c>> {
        let [mut read_stage, write_stage] = carried.stages;
        let mut groups = carried.groups;
        self.prepare(ir, read_stage);
        let bounds = Bounds::of(new)?;
        let (mut now, mut all_sums) = (carried.read, Vec::new());
        let (mut fetched, mut numbers) = (Fetched::default(), Vec::new());
        if self.products.is_empty() {
            let Some(first) = operations(self.body).into_iter().next() else {
                return Err((new, "has no end".into()));
            };
            ir.insertion = Insertion::Before(first);
            fetched = self.ahead(ir, bounds, &carried.numbers, (write_stage, 0))?;
            numbers = self.numbers.ahead(ir, bounds, self.stages)?;
        }
        let last = self.products.len().saturating_sub(1);
        for (number, product) in self.products.iter().enumerate() {
            let mut sums = product.sums()?;
            ir.insertion = Insertion::Before(product.dot);
            ir.location = product.dot.location();
            let at = At {
                stage: read_stage,
                iteration: Some(0),
            };
            now = product.complete(ir, 0, at, now)?;
            for block in 0..product.blocks {
                let begins = block == 0 && self.has_turn(number);
                let is_last = block + 1 == product.blocks;
                let ends = number == last && is_last;
                if begins && is_last {
                    fetched.extend(self.ahead(
                        ir,
                        bounds,
                        &carried.numbers,
                        (write_stage, number),
                    )?);
                }
                if is_last && !ends {
                    let loaded = std::mem::take(&mut fetched.loaded);
                    self.deposit_loaded(ir, &loaded, write_stage, self.stages - 1)?;
                }
                if ends {
                    self.arrive(ir, &fetched, write_stage, &mut groups)?;
                    read_stage = self.next(ir, read_stage);
                }
                let at = Some(At {
                    stage: read_stage,
                    iteration: Some(i64::from(ends)),
                });
                let next = match (block + 1 < product.blocks, number == last) {
                    (true, _) => product.read(ir, block + 1, at)?,
                    (false, false) if self.reduces_before(number + 1) => Operands::default(),
                    (false, false) => self.products[number + 1].read_ahead(ir, 0, at)?,
                    (false, true) => self.products[0].read_ahead(ir, 0, at)?,
                };
                if begins && !is_last {
                    let begun = self.ahead(ir, bounds, &carried.numbers, (write_stage, number))?;
                    hold(ir, &begun);
                    fetched.extend(begun);
                }
                if begins && number == 0 {
                    numbers = self.numbers.ahead(ir, bounds, self.stages)?;
                }
                sums = product.multiply(ir, block, now, sums)?;
                now = next;
            }
            all_sums.push(sums);
        }
        if self.products.is_empty() {
            let end = operations(self.body).into_iter().last();
            ir.insertion = end.map_or(ir.insertion, Insertion::Before);
            self.arrive(ir, &fetched, write_stage, &mut groups)?;
            read_stage = self.next(ir, read_stage);
        }
        let written = self.next(ir, write_stage);

        let more = [read_stage, written]
            .into_iter()
            .chain(now.into_iter().flatten())
            .chain(numbers)
            .chain(groups);
        self.finish(ir, new, all_sums, more)
    }

    /// What was waited for at once is not, and reads that no product alone makes are from a stage.
    pub fn prepare(&self, ir: &OpBuilder<'c>, stage: IrValue<'c>) {
        for producer in &self.producers {
            match producer {
                Producer::Copy(copy) => erase_waits(*copy),
                Producer::Load(..) => {}
            }
        }
        for tile in self.gathered.iter().filter(|tile| tile.is_asynchronous()) {
            erase_waits(tile.fill);
        }
        for read in &self.reads {
            set_operand(*read, 1, stage);
            set_attribute(*read, ITERATION, ir.i32(0));
        }
    }

    /// What the loop did before goes, products have these sums, and it yields what it carries.
    pub fn finish(
        self,
        ir: &mut OpBuilder<'c>,
        new: IrOp<'c>,
        sums: Vec<IrValue<'c>>,
        more: impl Iterator<Item = IrValue<'c>>,
    ) -> Result<(), Failed<'c>> {
        let Some(old) = operations(self.body).into_iter().last() else {
            return Err((new, "has no end".into()));
        };
        for (product, sums) in self.products.into_iter().zip(sums) {
            product.finish(sums);
        }
        for producer in &self.producers {
            let maps = producer.maps();
            erase(producer.fill());
            maps.into_iter().rev().for_each(erase);
            if let Producer::Load(load, _) = producer {
                erase(*load);
            }
        }
        self.gathered.iter().for_each(Gathered::erase);
        let yielded: Vec<IrValue> = operands_of(old).chain(more).collect();
        ir.insertion = Insertion::Before(old);
        ir.op(ScfOp::Yield, &yielded, &[], &[]);
        erase(old);
        Ok(())
    }

    /// Writes what was loaded, and waits for what the next iteration reads: the oldest group was waited for an iteration ago.
    fn arrive(
        &self,
        ir: &OpBuilder<'c>,
        fetched: &Fetched<'c>,
        stage: IrValue<'c>,
        groups: &mut Vec<IrValue<'c>>,
    ) -> Result<(), Failed<'c>> {
        self.deposit(ir, fetched, stage, self.stages - 1)?;
        groups.extend(fetched.group);
        groups.drain(..groups.len().min(1));
        wait(ir, groups.get(..1));
        Ok(())
    }

    /// The product during which a tile is brought: what goes through registers its own one, so that these are few at a time; copies
    /// the first one.
    fn turn_of(&self, producer: &Producer<'c>) -> usize {
        let Producer::Load(_, write) = producer else {
            return 0;
        };
        let buffer = buffer_of(*write);
        let reads = |product: &Product<'c>| {
            let mut factors = product.factors.iter();
            factors.any(|factor| factor.read().and_then(buffer_of) == buffer)
        };
        self.products.iter().position(reads).unwrap_or(0)
    }

    /// Whether anything is brought during a product, or something is begun with the first one.
    fn has_turn(&self, number: usize) -> bool {
        number == 0 || (self.producers.iter()).any(|producer| self.turn_of(producer) == number)
    }

    /// Whether something is reduced between a product and the one in front of it. What were read ahead for it would take registers all
    /// that time ("Attention at the tile level").
    pub fn reduces_before(&self, number: usize) -> bool {
        let [before, product] = [number - 1, number].map(|number| self.products[number].dot);
        let behind = operations(self.body)
            .into_iter()
            .skip_while(|op| *op != before);
        let mut between = behind.take_while(|op| *op != product);
        between.any(|op| TileOp::Reduce.is(op))
    }

    /// Begins what the iteration needs that comes so many iterations later as there are stages ahead, as far as it is brought during
    /// a product.
    fn ahead(
        &self,
        ir: &mut OpBuilder<'c>,
        bounds: Bounds<'c>,
        numbers: &[IrValue<'c>],
        (stage, number): (IrValue<'c>, usize),
    ) -> Result<Fetched<'c>, Failed<'c>> {
        let index = bounds.ahead(ir, argument_of(self.body, 0), self.stages - 1);
        let round = Round {
            index,
            upper: bounds.upper,
            numbers: numbers.to_vec(),
        };
        let brings: Brings<'_, 'c> = &|_, turn| turn == number;
        self.fetch(ir, &round, (stage, brings), self.stages - 1)
    }

    /// Begins to bring some tiles of an iteration; nothing is read from beyond the last one.
    pub fn fetch(
        &self,
        ir: &mut OpBuilder<'c>,
        round: &Round<'c>,
        (stage, brings): (IrValue<'c>, Brings<'_, 'c>),
        iteration: i64,
    ) -> Result<Fetched<'c>, Failed<'c>> {
        let index = (round.index, round.upper);
        let known = || self.numbers.known(&round.numbers);
        let around = ir.location;
        let mut fetched = Fetched {
            gathered: known(),
            ..Fetched::default()
        };
        let mut copies = Vec::new();
        let repeat = Rematerialization { body: self.body };
        let producers = self.producers.iter();
        for producer in producers.filter(|tile| brings(tile.fill(), self.turn_of(tile))) {
            let fetch = producer.fetch();
            ir.location = fetch.location();
            let old = producer.at().map_err(|message| (fetch, message))?;
            let buffer = buffer_of(producer.fill()).and_then(view_of);
            let extent = |axis| {
                buffer
                    .as_ref()?
                    .layout
                    .inner()
                    .mode(axis)?
                    .size()
                    .as_static()
            };
            let mut clones = known();
            let view = repeat.for_index(ir, producer.view()?, index.0, &mut clones)?;
            let strict = view != producer.view()? || self.strict.contains(&operation_key(fetch));
            let at = repeat.coordinate(ir, &old, extent, index, strict, &mut clones)?;
            let operands = [&[view], &at[..]].concat();
            match producer {
                Producer::Copy(op) => {
                    let buffer = buffer_of(*op).ok_or((*op, "has no buffer".to_string()))?;
                    let operands = [&operands[..], &[buffer, stage]].concat();
                    let mut attrs = attributes(*op, &["copy", "hints", BY_ELEMENT]);
                    attrs.push((ITERATION, ir.integer(iteration, ir.integer_type(32))));
                    let token = ir.ty("!tile.token");
                    copies.push(ir.value(TileOp::CopyAsync, &operands, &attrs, token));
                }
                Producer::Load(op, _) => {
                    let ty = result_of(*op, 0).r#type();
                    let attrs = attributes(*op, &["fill", "copy", "hints", BY_ELEMENT]);
                    let loaded = ir.value(TileOp::Load, &operands, &attrs, ty);
                    fetched.loaded.push((*producer, loaded));
                }
            }
        }
        for tile in self.gathered.iter().filter(|tile| brings(tile.fill, 0)) {
            if let Some(gather) = tile::GatherAsync::of(tile.fill) {
                ir.location = tile.fill.location();
                let elements = repeat.for_index(ir, tile.value, index.0, &mut known())?;
                let operands = [elements, gather.buffer(), stage];
                let mut attrs = attributes(tile.fill, &["copy", "divisors"]);
                attrs.push((ITERATION, ir.integer(iteration, ir.integer_type(32))));
                let token = ir.ty("!tile.token");
                copies.push(ir.value(TileOp::GatherAsync, &operands, &attrs, token));
                continue;
            }
            for read in &tile.reads {
                let read = result_of(*read, 0);
                let elements = repeat.for_index(ir, read, index.0, &mut fetched.gathered)?;
                fetched.elements.push(elements);
            }
        }
        fetched.index = Some(index.0);
        ir.location = around;
        if !copies.is_empty() {
            let token = ir.ty("!tile.token");
            fetched.group = Some(ir.value(TileOp::Commit, &copies, &[], token));
        }
        Ok(fetched)
    }

    /// Writes what was loaded to a stage.
    fn deposit(
        &self,
        ir: &OpBuilder<'c>,
        fetched: &Fetched<'c>,
        stage: IrValue<'c>,
        iteration: i64,
    ) -> Result<(), Failed<'c>> {
        self.deposit_loaded(ir, &fetched.loaded, stage, iteration)?;
        let mut clones = fetched.gathered.clone();
        for tile in &self.gathered {
            let Some(write) = tile::Write::of(tile.fill) else {
                continue;
            };
            let (mut made, repeat) = (write.value(), Rematerialization { body: self.body });
            if let Some(index) = fetched.index {
                made = repeat.for_index(ir, made, index, &mut clones)?;
            }
            let attrs = [(ITERATION, ir.integer(iteration, ir.integer_type(32)))];
            ir.op(TileOp::Write, &[made, write.buffer(), stage], &attrs, &[]);
        }
        Ok(())
    }

    /// The same of some tiles alone.
    fn deposit_loaded(
        &self,
        ir: &OpBuilder<'c>,
        loaded: &[(Producer<'c>, IrValue<'c>)],
        stage: IrValue<'c>,
        iteration: i64,
    ) -> Result<(), Failed<'c>> {
        for (producer, loaded) in loaded {
            let write = producer.fill();
            let buffer = present(write, tile::Write::of(write))?.buffer();
            let mut attrs = attributes(write, &["copy"]);
            attrs.push((ITERATION, ir.integer(iteration, ir.integer_type(32))));
            let mut made = *loaded;
            for map in producer.maps() {
                let again = ir.insert(clone(map));
                set_operand(again, 0, made);
                made = result_of(again, 0);
            }
            ir.op(TileOp::Write, &[made, buffer, stage], &attrs, &[]);
        }
        Ok(())
    }

    /// The stage behind one.
    fn next(&self, ir: &OpBuilder<'c>, stage: IrValue<'c>) -> IrValue<'c> {
        let i32_type = ir.ty("i32");
        let one = ir.constant(1, "i32");
        let next = ir.value(ArithOp::Addi, &[stage, one], &[], i32_type);
        let end = ir.constant(self.stages, "i32");
        let equal = [("predicate", ir.i64(0))];
        let wraps = ir.value(ArithOp::Cmpi, &[next, end], &equal, ir.ty("i1"));
        let first = ir.constant(0, "i32");
        ir.value(ArithOp::Select, &[wraps, first, next], &[], i32_type)
    }
}

/// Keeps loads that are few where they are begun, so that they have the iteration to arrive.
///
/// ptxas moves a load down to where it is used, but not across a barrier of its warp.
fn hold(ir: &OpBuilder, fetched: &Fetched) {
    let bytes = |loaded: &mut dyn Iterator<Item = IrValue>| -> i64 {
        let bytes = loaded.map(|loaded| match TileType::of(loaded.r#type()) {
            Some(Ok(tile)) => {
                let values = tile.layout.as_ref().map_or(0, TileLayout::values);
                values * tile.elem.bytes()
            }
            _ => 0,
        });
        bytes.sum()
    };
    let loaded = bytes(&mut fetched.loaded.iter().map(|(_, loaded)| *loaded));
    let gathered = bytes(&mut fetched.elements.iter().copied());
    let few = (1..=HELD).contains(&loaded) || loaded == 0 && gathered > 0;
    if few && gathered <= HELD_GATHERED {
        let members = ir.constant(-1, "i32");
        ir.op(NvvmOp::BarWarpSync, &[members], &[], &[]);
    }
}

/// Waits for groups of copies, if there are any.
pub(super) fn wait<'c>(ir: &OpBuilder<'c>, groups: Option<&[IrValue<'c>]>) {
    if let Some(groups) = groups.filter(|groups| !groups.is_empty()) {
        ir.op(TileOp::Wait, groups, &[], &[]);
    }
}

/// Erases the group of a copy and what waits for it.
fn erase_waits(copy: IrOp) {
    for commit in users(result_of(copy, 0)) {
        users(result_of(commit, 0)).into_iter().for_each(erase);
        erase(commit);
    }
}
