//! What a warpgroup gathers: each of its threads computes where its vectors lie, and copies them by `cp.async`.
//!
//! A thread's copies complete later. When those of a stage have, and nothing of them is for `wgmma` to see without a fence
//! (PTX ISA, "Async proxy"), the thread arrives at the barrier of the stage: for the oldest of [`AHEAD`] stages that it
//! has begun, so that it does not wait for each.
use super::super::emits::Emits;
use super::super::gathers::{Axis, GATHERED, GatheredTile, Index, Place, Sharing, Vector, before};
use super::cursor::behind;
use super::emit::{Emit, Slot};
use super::producer::Role;
use super::ring::Ring;
use crate::passes::cmpi::GREATER;
use crate::passes::ir_utils::{
    blocks, clone, collect_nested, defining_op, operations, set_operand,
};
use cutec_dialects::atoms::{CopyAtom, CopyOp, CpAsync};
use cutec_dialects::builder::{
    IrOp, IrValue, argument_of, integer_value, operands_of, result_of, results_of, value_key,
};
use cutec_dialects::ops::{ArithOp, CuteOp, NvvmOp, ScfOp, TileOp, cute, tile};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::target::WARPGROUP;
use cutec_dialects::types::Vars;
use cutec_dialects::value::{TupleKind, Val};
use cutec_layout::{Tree, Width};
use melior::ir::{BlockLike, operation::OperationLike};
use std::collections::HashMap;

/// Stages that a thread begins before it waits for the copies of the oldest.
const AHEAD: i64 = 2;
/// Stages that are left to those that multiply.
const LEFT: i64 = 2;

/// What a thread counts of the stages that it has begun and that nobody knows yet to be full.
#[derive(Clone, Copy)]
pub(super) struct Pending<'c> {
    ahead: i64,
    begun: Slot<'c>,
    oldest: Slot<'c>,
}

impl<'c> Pending<'c> {
    /// For a ring of so many stages, alone if no other one is gathered; one that loads something else between two stages would wait for
    /// what those that multiply can only do when they know of them.
    pub fn of(emit: &Emit<'c>, stages: i64, alone: bool) -> Self {
        let ahead = match alone {
            true => AHEAD.min(stages - LEFT).max(0),
            false => 0,
        };
        Pending {
            ahead,
            begun: emit.slot(),
            oldest: emit.slot(),
        }
    }

    pub fn begin(&self, emit: &Emit<'c>) -> Result<(), SemError> {
        emit.set(self.begun, emit.ir.constant(0, "i32"))?;
        emit.set(self.oldest, emit.ir.constant(0, "i32"))
    }

    /// The copies of a stage were begun.
    pub fn begun(
        &self,
        emit: &mut Emit<'c>,
        full: IrValue<'c>,
        stages: i64,
    ) -> Result<(), SemError> {
        let mark = [(GATHERED, emit.ir.unit())];
        emit.ir.op(NvvmOp::CpAsyncCommitGroup, &[], &mark, &[]);
        let begun = emit.get(self.begun)?;
        let enough = emit.equal(begun, self.ahead);
        emit.only_if(enough, |emit| {
            wait(emit, self.ahead);
            self.announce(emit, full, stages)
        })?;
        // As many as that are begun from then on.
        let more = emit.binary(ArithOp::Addi, begun, emit.ir.constant(1, "i32"));
        let most = emit.ir.constant(self.ahead, "i32");
        emit.set(self.begun, emit.binary(ArithOp::Minsi, more, most))
    }

    /// Nothing more is begun for now.
    pub fn flush(
        &self,
        emit: &mut Emit<'c>,
        full: IrValue<'c>,
        stages: i64,
    ) -> Result<(), SemError> {
        if self.ahead == 0 {
            return Ok(());
        }
        wait(emit, 0);
        let begun = emit.get(self.begun)?;
        for stage in 0..self.ahead {
            let is_one = emit.compare(GREATER, begun, emit.ir.constant(stage, "i32"));
            emit.only_if(is_one, |emit| self.announce(emit, full, stages))?;
        }
        emit.set(self.begun, emit.ir.constant(0, "i32"))
    }

    /// The oldest stage is full, as far as this thread fills it.
    fn announce(
        &self,
        emit: &mut Emit<'c>,
        full: IrValue<'c>,
        stages: i64,
    ) -> Result<(), SemError> {
        emit.fence_for_async_proxy();
        let oldest = emit.get(self.oldest)?;
        let operands = [full, oldest, emit.number(1)?];
        emit.ir.op(CuteOp::MbarrierArrive, &operands, &[], &[]);
        let (next, _) = behind(emit, oldest, stages);
        emit.set(self.oldest, next)
    }
}

fn wait(emit: &Emit, left: i64) {
    let attrs = [("n", emit.ir.i32(left as i32)), (GATHERED, emit.ir.unit())];
    emit.ir.op(NvvmOp::CpAsyncWaitGroup, &[], &attrs, &[]);
}

/// The coordinates of what a thread copies, which stay as they are.
#[derive(Default)]
pub(super) struct Threads<'c> {
    axes: HashMap<Axis, IrValue<'c>>,
    /// The number of a thread's vector in its line.
    vectors: HashMap<Sharing, IrValue<'c>>,
}

impl<'c> Threads<'c> {
    /// Of the rings that are gathered, for a thread of the block.
    pub fn of(emit: &Emit<'c>, rings: &[Ring<'c>], thread: IrValue<'c>) -> Self {
        let mut threads = Threads::default();
        let number = |number: i64| emit.ir.constant(number, "i32");
        let gathers = rings.iter().flat_map(Ring::gathers);
        for sharing in gathers.map(|(_, gathered)| gathered.sharing) {
            if threads.vectors.contains_key(&sharing) {
                continue;
            }
            let own = emit.binary(ArithOp::Remui, thread, number(WARPGROUP));
            let vector = emit.binary(ArithOp::Remui, own, number(sharing.beside));
            let line = emit.binary(ArithOp::Divui, own, number(sharing.beside));
            let first = emit.binary(ArithOp::Muli, vector, number(sharing.vector));
            threads.vectors.insert(sharing, vector);
            threads.axes.insert(Axis::Vector(sharing), first);
            for pass in 0..sharing.passes {
                let line = emit.binary(ArithOp::Addi, line, number(pass * sharing.lines()));
                threads.axes.insert(Axis::Line(sharing, pass), line);
            }
        }
        threads
    }

    fn of_axis(&self, emit: &Emit<'c>, axis: Axis) -> IrValue<'c> {
        let known = self.axes.get(&axis).copied();
        known.unwrap_or_else(|| emit.ir.constant(0, "i32"))
    }
}

/// What is not there where it is used.
fn missing() -> SemError {
    SemError::Illegal("is no element of a tile that one thread computes".into())
}

impl<'c> Role<'_, 'c> {
    /// Computes the elements of an operation's tile that this thread needs, where the operation stands.
    pub fn elements_of(&mut self, op: IrOp<'c>, places: &[Place]) -> Result<(), SemError> {
        for place in places {
            self.element(result_of(op, 0), place)?;
        }
        Ok(())
    }

    /// An element of a tile.
    fn element(&mut self, tile: IrValue<'c>, place: &[Axis]) -> Result<IrValue<'c>, SemError> {
        let key = (value_key(tile), place.to_vec());
        if let Some(known) = self.elements.get(&key) {
            return Ok(*known);
        }
        let op = defining_op(tile).ok_or_else(missing)?;
        let place_before = |input: IrValue<'c>| before(op, input, place).map_err(SemError::Illegal);
        let found = match TileOp::of(op) {
            Some(TileOp::Iota) => {
                let along = op.attribute("axis").ok().and_then(integer_value);
                let along = along.and_then(|along| usize::try_from(along).ok());
                let axis = along.and_then(|along| place.get(along).copied());
                self.threads.of_axis(self.emit, axis.ok_or_else(missing)?)
            }
            Some(TileOp::Splat) => {
                let number = operands_of(op).next().ok_or_else(missing)?;
                self.value(number)
            }
            Some(TileOp::Broadcast | TileOp::Reshape | TileOp::ConvertLayout) => {
                let input = operands_of(op).next().ok_or_else(missing)?;
                let place = place_before(input)?;
                self.element(input, &place)?
            }
            Some(TileOp::Map) => {
                let mut known = self.arguments(op, place)?;
                let body = blocks(op, 0).into_iter().next().ok_or_else(missing)?;
                let mut inside = operations(body);
                let end = inside.pop().and_then(tile::Yield::of).ok_or_else(missing)?;
                for op in inside {
                    self.again(op, &mut known);
                }
                self.inside_of(end.value(), &known)
            }
            Some(TileOp::Load) => self.loaded(op, place)?,
            _ => return Err(missing()),
        };
        self.elements.insert(key, found);
        Ok(found)
    }

    /// What the arguments of a map's function are, for an element of its result.
    fn arguments(
        &mut self,
        map: IrOp<'c>,
        place: &[Axis],
    ) -> Result<HashMap<usize, IrValue<'c>>, SemError> {
        let body = blocks(map, 0).into_iter().next().ok_or_else(missing)?;
        let mut known = HashMap::new();
        for (index, input) in operands_of(map).enumerate().collect::<Vec<_>>() {
            let place = before(map, input, place).map_err(SemError::Illegal)?;
            let element = self.element(input, &place)?;
            known.insert(value_key(argument_of(body, index)), element);
        }
        Ok(known)
    }

    /// What a value is that the function of a map uses, from inside or from outside.
    fn inside_of(
        &mut self,
        value: IrValue<'c>,
        known: &HashMap<usize, IrValue<'c>>,
    ) -> IrValue<'c> {
        match known.get(&value_key(value)) {
            Some(known) => *known,
            None => self.value(value),
        }
    }

    /// An operation of a map's function once more, with all that it has inside.
    fn again(&mut self, op: IrOp<'c>, known: &mut HashMap<usize, IrValue<'c>>) {
        let mut nested = vec![op];
        collect_nested(op, &mut nested);
        let mut own: Vec<usize> = Vec::new();
        for inner in &nested {
            own.extend(results_of(*inner).map(value_key));
            for region in 0..inner.region_count() {
                for block in blocks(*inner, region) {
                    let arguments = 0..block.argument_count();
                    own.extend(arguments.map(|index| value_key(argument_of(block, index))));
                }
            }
        }
        let mut used: Vec<(usize, usize, IrValue<'c>)> = Vec::new();
        for (number, inner) in nested.iter().enumerate() {
            for (index, value) in operands_of(*inner).enumerate().collect::<Vec<_>>() {
                if !own.contains(&value_key(value)) {
                    let value = self.inside_of(value, known);
                    used.push((number, index, value));
                }
            }
        }
        let again = self.emit.ir.insert(clone(op));
        let mut copies = vec![again];
        collect_nested(again, &mut copies);
        for (number, index, value) in used {
            if let Some(copy) = copies.get(number) {
                set_operand(*copy, index, value);
            }
        }
        for (index, result) in results_of(op).enumerate().collect::<Vec<_>>() {
            known.insert(value_key(result), result_of(again, index));
        }
    }

    /// An element of a tile that is loaded, for this thread.
    fn loaded(&mut self, op: IrOp<'c>, place: &[Axis]) -> Result<IrValue<'c>, SemError> {
        let load = tile::Load::of(op).ok_or_else(missing)?;
        let own = place
            .iter()
            .map(|axis| self.threads.of_axis(self.emit, *axis));
        let own: Vec<IrValue<'c>> = own.collect();
        self.element_of(load, &own)
    }

    /// Copies what this thread gathers of a tile to a stage.
    pub fn gather(
        &mut self,
        tile: &GatheredTile<'c>,
        buffer: IrValue<'c>,
        stage: IrValue<'c>,
    ) -> Result<(), SemError> {
        let Sharing { vector, passes, .. } = tile.sharing;
        let elem = tile.tile.elem;
        let width = CpAsync::WIDTHS.into_iter();
        let mut atoms = width.map(|copy| CopyAtom::new(CopyOp::CpAsync(copy), elem));
        let atom = atoms
            .find(|atom| atom.src_values() == vector)
            .ok_or_else(missing)?;
        let to = self.emit.stage(buffer, stage)?;
        let mut piece = [1, 1];
        piece[tile.fast] = vector;
        let piece = self.emit.constant(Val::int_tuple(piece))?;
        let to = self
            .emit
            .cute(CuteOp::ZippedDivide, &[to, piece], &Attrs::default())?;
        for pass in 0..passes {
            let line = Axis::Line(tile.sharing, pass);
            let mut place = vec![line; 2];
            place[tile.fast] = Axis::Vector(tile.sharing);
            let of = self.vector(tile, &place)?;
            let vectors = self.threads.vectors.get(&tile.sharing).copied();
            let mut at = [self.threads.of_axis(self.emit, line); 2];
            at[tile.fast] = vectors.ok_or_else(missing)?;
            let mut vars = Vars::default();
            let (one, other) = (vars.fresh(Width::I32, 1), vars.fresh(Width::I32, 1));
            let rest = Tree::Node(vec![Tree::Leaf(Some(one)), Tree::Leaf(Some(other))]);
            let coordinate = Tree::Node(vec![Tree::Leaf(None), rest]);
            let coordinate = Val::Tuple(TupleKind::Coord, coordinate);
            let ty = self.emit.ir.val_type(&coordinate);
            let at = self.emit.ir.value(CuteOp::MakeCoord, &at, &[], ty);
            let to = self
                .emit
                .cute(CuteOp::Slice, &[to, at], &Attrs::default())?;
            of.copy(self.emit, atom, to, tile.map, None)?;
        }
        Ok(())
    }

    /// The vector of which an element is the first.
    fn vector(&mut self, tile: &GatheredTile<'c>, place: &[Axis]) -> Result<Vector<'c>, SemError> {
        let mut known = self.arguments(tile.map, place)?;
        let body = blocks(tile.map, 0).into_iter().next().ok_or_else(missing)?;
        for op in operations(body) {
            if op != tile.branch && !TileOp::Yield.is(op) {
                self.again(op, &mut known);
            }
        }
        let then = blocks(tile.branch, 0)
            .into_iter()
            .next()
            .ok_or_else(missing)?;
        for op in operations(then) {
            if cute::MemrefLoad::of(op).is_none() && !ScfOp::Yield.is(op) {
                self.again(op, &mut known);
            }
        }
        let condition = operands_of(tile.branch).next().ok_or_else(missing)?;
        let inside = self.inside_of(condition, &known);
        let view = self.value(tile.view);
        let at = tile.at.iter().map(|index| match *index {
            Index::Known(number) => Index::Known(number),
            Index::Computed(value, divisor) => {
                Index::Computed(self.inside_of(value, &known), divisor)
            }
        });
        let at = at.collect();
        Ok(Vector { view, at, inside })
    }
}
