//! The role that loads: the control flow around the copies, and what their coordinates are computed of.
use super::super::emits::Emits;
use super::super::gathers::Place;
use super::chain::Chain;
use super::emit::Emit;
use super::epilogue::PiecewiseLoad;
use super::gather::Threads;
use super::queue::TileQueue;
use super::ring::{By, Ring};
use crate::passes::cmpi::LESS;
use crate::passes::ir_utils::{
    attributes, blocks, clone, defining_op, operations, parent, set_operand,
};
use crate::passes::remark;
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, IrValue, argument_of, operands_of, operation_key, region_with_block,
    result_of, results_of, value_key,
};
use cutec_dialects::ops::{ArithOp, CuteOp, NvvmOp, ScfOp};
use cutec_dialects::semantics::SemError;
use melior::ir::{Region, ValueLike, operation::OperationLike};
use std::collections::{HashMap, HashSet};

/// What is done where a ring is filled.
#[derive(Clone, Copy)]
pub(super) enum Work<'a, 'c> {
    /// Its copies are begun, and those of epilogues; in loops of chained products some of them an iteration ahead.
    Load(&'a [PiecewiseLoad<'c>], &'a [Chain<'c>]),
    /// What has come is split into parts.
    Split,
    /// What a loop takes beside operands is loaded, vectors by all lanes of a warp.
    Carry,
    /// What the first rounds would load is fetched into L2, where so many blocks share a multiprocessor.
    Fetch(i64),
}

/// The tiles of blocks that stay: the operation that gives the number of the block, how many tiles there are, and what they are taken from.
pub(super) struct Tiles<'a, 'c> {
    pub block: IrOp<'c>,
    pub count: IrValue<'c>,
    pub queue: Option<&'a TileQueue<'c>>,
}

/// Emits the role, or that of those that split what it loads: one thread of the warp begins the copies, or all of a warpgroup where
/// something is gathered; all threads that come here split. Blocks that stay have the number of a block, which becomes that of a tile, and
/// how many tiles there are, which they may take from a queue.
pub(super) fn role<'c>(
    emit: &mut Emit<'c>,
    work: Work<'_, 'c>,
    rings: &[Ring<'c>],
    body: IrBlock<'c>,
    shared: &HashSet<usize>,
    tiles: Option<Tiles<'_, 'c>>,
    thread: IrValue<'c>,
) -> Result<(), SemError> {
    let (epilogue, chains) = match work {
        Work::Load(epilogue, chains) => (epilogue, chains),
        Work::Split | Work::Carry | Work::Fetch(_) => (&[][..], &[][..]),
    };
    let splits = matches!(work, Work::Split);
    let carries = matches!(work, Work::Carry);
    let fetches = match work {
        Work::Load(..) | Work::Split | Work::Carry => None,
        Work::Fetch(blocks) => Some(blocks),
    };
    let mut around = HashSet::new();
    for ring in rings {
        let op = ring.copies.first().map(|copy| copy.op);
        let ancestors = std::iter::successors(op.and_then(parent), |op| parent(*op));
        around.extend(ancestors.map(operation_key));
    }
    let gathers = rings.iter().any(Ring::is_gathered);
    let threads = Threads::of(emit, rings, thread);
    let leads = match (gathers, carries) {
        (true, _) => Some(emit.leads(thread)),
        (false, true) => Some(emit.elected()),
        (false, false) => None,
    };
    let mut places: HashMap<usize, Vec<Place>> = HashMap::new();
    for (_, gathered) in rings.iter().flat_map(Ring::gathers) {
        for (op, elements) in &gathered.places.elements {
            places
                .entry(*op)
                .or_default()
                .extend(elements.iter().cloned());
        }
    }
    let early = Early::of(rings, carries, epilogue, &around);
    // What the launch ahead may write says where it lies.
    if fetches.is_some() && early.reads_memory {
        return Ok(());
    }
    for ring in rings {
        let rounds = fetches.map_or(0, |blocks| ring.rounds_fetched(blocks));
        if let Some(of) = ring.of_loop.filter(|_| rounds > 0) {
            let first = match rounds {
                1 => "the first round".to_owned(),
                rounds => format!("the first {rounds} rounds"),
            };
            let message = format!(
                "the loads of {first} are fetched into L2 while the launch ahead ends: a product of few rows or columns waits for memory"
            );
            remark(of.location(), message);
        }
    }
    let act = |emit: &mut Emit<'c>| {
        for ring in rings.iter().filter(|_| fetches.is_none()) {
            match splits {
                true => ring.begin_to_split(emit)?,
                false => ring.begin_to_load(emit)?,
            }
        }
        let role = |emit: &mut Emit<'c>, known| {
            let mut role = Role {
                emit,
                splits,
                carries,
                fetches,
                rings,
                chains,
                ahead: HashSet::new(),
                epilogue,
                around,
                shared,
                known,
                leads,
                threads,
                places,
                early: early.operations,
                elements: HashMap::new(),
            };
            role.block(body)
        };
        match tiles {
            None => role(emit, HashMap::new())?,
            // The first tile is that of the block's number.
            Some(Tiles { block, .. }) if fetches.is_some() => {
                let word = emit.ir.ty("i32");
                let number = emit.ir.value(NvvmOp::ReadPtxSregCtaidX, &[], &[], word);
                let known = HashMap::from([(value_key(result_of(block, 0)), number)]);
                return role(emit, known);
            }
            Some(Tiles {
                block,
                count,
                queue,
            }) => {
                let of_tile = |emit: &mut Emit<'c>, tile| {
                    let known = HashMap::from([(value_key(result_of(block, 0)), tile)]);
                    role(emit, known)
                };
                match queue {
                    Some(queue) if carries => queue.follow(emit, count, thread, of_tile)?,
                    Some(queue) => queue.load(emit, count, of_tile)?,
                    None => emit.rounds(count, None, |emit, tile| {
                        of_tile(emit, tile)?;
                        emit.ir.op(ScfOp::Yield, &[], &[], &[]);
                        Ok(())
                    })?,
                }
            }
        }
        match fetches {
            None => rings.iter().try_for_each(|ring| ring.flush(emit)),
            Some(_) => Ok(()),
        }
    };
    match gathers || splits || carries {
        true => act(emit),
        false => {
            let elected = emit.elected();
            emit.only_if(elected, act)
        }
    }
}

/// What the role computes where the kernel does, and not again in loops inside: the elements of tensors that it reads, and quotients, which
/// LLVM does not always move out of a loop.
struct Early {
    operations: HashSet<usize>,
    reads_memory: bool,
}

impl Early {
    fn of<'c>(
        rings: &[Ring<'c>],
        carries: bool,
        epilogue: &[PiecewiseLoad<'c>],
        around: &HashSet<usize>,
    ) -> Self {
        let mut needed: Vec<IrValue<'c>> =
            epilogue.iter().flat_map(PiecewiseLoad::begins).collect();
        for copy in rings.iter().flat_map(|ring| ring.begun_by(carries)) {
            match &copy.by {
                By::Map(map) => needed.extend(map.tensor_box.begins()),
                By::Gather(gathered) => needed.extend(gathered.places.numbers.iter().copied()),
                By::Warp(vector) => needed.extend(operands_of(vector.load.op())),
            }
            let ancestors = std::iter::successors(parent(copy.op), |op| parent(*op));
            for op in ancestors.filter(|op| around.contains(&operation_key(*op))) {
                match ScfOp::of(op) {
                    Some(ScfOp::For) => needed.extend(operands_of(op).take(3)),
                    Some(ScfOp::If) => needed.extend(operands_of(op).take(1)),
                    _ => {}
                }
            }
        }
        let mut seen = HashSet::new();
        let mut early = Early {
            operations: HashSet::new(),
            reads_memory: false,
        };
        while let Some(value) = needed.pop() {
            let Some(op) = defining_op(value).filter(|op| seen.insert(operation_key(*op))) else {
                continue;
            };
            let reads = CuteOp::MemrefLoad.is(op);
            let divides = matches!(
                ArithOp::of(op),
                Some(ArithOp::Divsi | ArithOp::Remsi | ArithOp::Divui | ArithOp::Remui)
            );
            early.reads_memory |= reads;
            if reads || divides {
                early.operations.insert(operation_key(op));
            }
            needed.extend(operands_of(op));
        }
        early
    }
}

pub(super) struct Role<'a, 'c> {
    pub emit: &'a mut Emit<'c>,
    /// Whether it splits what others load.
    splits: bool,
    /// Whether it is the warp of what comes beside operands.
    carries: bool,
    /// Whether it fetches what others will load, and how many blocks share a multiprocessor.
    fetches: Option<i64>,
    rings: &'a [Ring<'c>],
    /// Loops of chained products, of which some rings are filled an iteration ahead.
    chains: &'a [Chain<'c>],
    /// The first copies of those rings, in the loop that stands here.
    ahead: HashSet<usize>,
    epilogue: &'a [PiecewiseLoad<'c>],
    /// Operations that have a copy inside.
    around: HashSet<usize>,
    /// Operations in front of the roles.
    shared: &'a HashSet<usize>,
    /// What values of the kernel are in this role.
    known: HashMap<usize, IrValue<'c>>,
    /// Whether this thread begins copies by tensor maps; `None` where there is one thread.
    leads: Option<IrValue<'c>>,
    /// What this thread copies of what is gathered.
    pub threads: Threads<'c>,
    /// The elements of tiles that are needed for that, by the operation that gives the tile.
    places: HashMap<usize, Vec<Place>>,
    /// What is computed where the kernel does, see [`Early`].
    early: HashSet<usize>,
    /// Elements of tiles that are computed.
    pub elements: HashMap<(usize, Place), IrValue<'c>>,
}

impl<'c> Role<'_, 'c> {
    fn block(&mut self, block: IrBlock<'c>) -> Result<(), SemError> {
        for op in operations(block) {
            let ring = self.rings.iter().find(|ring| ring.copies[0].op == op);
            if self.ahead.contains(&operation_key(op)) {
                continue;
            }
            if let Some(ring) = ring {
                self.emit.ir.location = op.location();
                match self.splits {
                    true => ring.split(self.emit)?,
                    false => self.fill(ring)?,
                }
            } else if let Some(load) = self.epilogue.iter().find(|load| load.load() == op) {
                self.fill_for_epilogue(load)?;
            } else if let Some(places) = self.places.get(&operation_key(op)).cloned() {
                self.emit.ir.location = op.location();
                self.elements_of(op, &places)?;
            } else if self.early.contains(&operation_key(op)) {
                self.emit.ir.location = op.location();
                self.value(result_of(op, 0));
            } else if self.around.contains(&operation_key(op)) {
                match ScfOp::of(op) {
                    Some(ScfOp::For) => self.repeat(op)?,
                    _ => self.branch(op)?,
                }
            }
        }
        Ok(())
    }

    fn fill(&mut self, ring: &Ring<'c>) -> Result<(), SemError> {
        self.emit.ir.location = ring.copies[0].op.location();
        let mut coordinates = Vec::new();
        for map in ring.begun_by(self.carries).filter_map(|copy| copy.map()) {
            let begins: Vec<IrValue<'c>> = map.tensor_box.begins().collect();
            let mut here = HashMap::new();
            for begin in begins {
                here.insert(value_key(begin), self.value(begin));
            }
            let value = |value: IrValue<'c>| here.get(&value_key(value)).copied().unwrap_or(value);
            coordinates.push(map.places(&self.emit.ir, value)?);
        }
        if let Some(blocks) = self.fetches {
            return match ring.rounds_fetched(blocks) {
                0 => Ok(()),
                _ => ring.fetch(self.emit, &coordinates),
            };
        }
        if self.carries && ring.is_carried() {
            return self.carry(ring, &coordinates);
        }
        let stage = ring.next_free(self.emit)?;
        self.begin_copies(ring, stage, &coordinates)?;
        for copy in &ring.copies {
            if let By::Gather(gathered) = &copy.by {
                self.emit.ir.location = gathered.map.location();
                self.gather(gathered, copy.buffer, stage)?;
            }
        }
        ring.begun(self.emit)
    }

    /// Begins the copies by tensor maps to a stage, if there are any.
    pub fn begin_copies(
        &mut self,
        ring: &Ring<'c>,
        stage: IrValue<'c>,
        coordinates: &[Vec<Vec<IrValue<'c>>>],
    ) -> Result<(), SemError> {
        match self.leads {
            _ if coordinates.is_empty() => Ok(()),
            None => ring.fill(self.emit, stage, coordinates),
            Some(leads) => self
                .emit
                .only_if(leads, |emit| ring.fill(emit, stage, coordinates)),
        }
    }

    fn fill_for_epilogue(&mut self, load: &PiecewiseLoad<'c>) -> Result<(), SemError> {
        self.emit.ir.location = load.load().location();
        let mut here = HashMap::new();
        for begin in load.begins() {
            here.insert(value_key(begin), self.value(begin));
        }
        let value = |value: IrValue<'c>| here.get(&value_key(value)).copied().unwrap_or(value);
        load.fill(self.emit, self.rings, value)
    }

    /// A loop around copies, without what it carries.
    fn repeat(&mut self, of: IrOp<'c>) -> Result<(), SemError> {
        self.emit.ir.location = of.location();
        let bounds: Vec<IrValue<'c>> = operands_of(of).take(3).collect();
        let mut bounds: Vec<IrValue<'c>> =
            bounds.into_iter().map(|bound| self.value(bound)).collect();
        if let Some(blocks) = self.fetches {
            self.only_first(of, blocks, &mut bounds);
        }
        let Some(body) = blocks(of, 0).into_iter().next() else {
            return Ok(());
        };
        let index = argument_of(body, 0);
        let chain = self.chains.iter().find(|chain| chain.of == of);
        let chain = chain.filter(|chain| chain.loads_ahead(self.rings));
        if let (Some(chain), &[lower, upper, _]) = (chain, &bounds[..]) {
            self.fill_ahead(chain, index, (lower, upper))?;
        }
        let (region, block) = region_with_block(&[(index.r#type(), of.location())]);
        self.inside(block, |role| {
            let here = argument_of(block, 0);
            let mut ahead = HashSet::new();
            if let (Some(chain), &[_, upper, step]) = (chain, &bounds[..]) {
                let ir = &role.emit.ir;
                let next = ir.value(ArithOp::Addi, &[here, step], &[], here.r#type());
                role.fill_ahead(chain, index, (next, upper))?;
                let rings = chain.rings.iter().map(|ring| &role.rings[*ring]);
                ahead.extend(rings.map(|ring| operation_key(ring.copies[0].op)));
            }
            role.known.insert(value_key(index), here);
            let around = std::mem::replace(&mut role.ahead, ahead);
            let done = role.block(body);
            role.ahead = around;
            done
        })?;
        let attrs = attributes(of, &["unsignedCmp"]);
        self.emit
            .ir
            .op_with_regions(ScfOp::For, &bounds, &attrs, &[], vec![region]);
        // What comes behind may wait for those that multiply, and they for this.
        match self.rings.len() {
            1 => Ok(()),
            _ if self.fetches.is_some() => Ok(()),
            _ => {
                let mut rings = self.rings.iter().filter(|ring| ring.of_loop == Some(of));
                rings.try_for_each(|ring| ring.flush(self.emit))
            }
        }
    }

    /// Fills what the first products of a chain read in the iteration of this index, if there is that iteration.
    fn fill_ahead(
        &mut self,
        chain: &Chain<'c>,
        index: IrValue<'c>,
        (here, upper): (IrValue<'c>, IrValue<'c>),
    ) -> Result<(), SemError> {
        let more = self.emit.compare(LESS, here, upper);
        let (then, block) = region_with_block(&[]);
        self.inside(block, |role| {
            role.known.insert(value_key(index), here);
            let mut rings = chain.rings.iter().map(|ring| &role.rings[*ring]);
            rings.try_for_each(|ring| role.fill(ring))
        })?;
        let regions = vec![then, Region::new()];
        (self.emit.ir).op_with_regions(ScfOp::If, &[more], &[], &[], regions);
        Ok(())
    }

    /// Ends a loop behind the rounds that are fetched.
    fn only_first(&self, of: IrOp<'c>, blocks: i64, bounds: &mut [IrValue<'c>]) {
        let rings = self.rings.iter().filter(|ring| ring.of_loop == Some(of));
        let rounds = rings.map(|ring| ring.rounds_fetched(blocks)).max();
        let &mut [lower, ref mut upper, step] = bounds else {
            return;
        };
        let ty = lower.r#type();
        let ir = &self.emit.ir;
        let binary = |op: ArithOp, one, other| ir.value(op, &[one, other], &[], ty);
        let rounds = ir.constant_of(rounds.unwrap_or(1), ty);
        let end = binary(ArithOp::Addi, lower, binary(ArithOp::Muli, step, rounds));
        *upper = binary(ArithOp::Minsi, *upper, end);
    }

    fn branch(&mut self, of: IrOp<'c>) -> Result<(), SemError> {
        self.emit.ir.location = of.location();
        let condition = operands_of(of).next();
        let condition = condition.map(|condition| self.value(condition));
        let mut regions = Vec::new();
        for index in 0..2 {
            match blocks(of, index).into_iter().next() {
                Some(old) => {
                    let (region, block) = region_with_block(&[]);
                    self.inside(block, |role| role.block(old))?;
                    regions.push(region);
                }
                None => regions.push(Region::new()),
            }
        }
        let condition: Vec<IrValue<'c>> = condition.into_iter().collect();
        self.emit
            .ir
            .op_with_regions(ScfOp::If, &condition, &[], &[], regions);
        Ok(())
    }

    /// Emits a block; what is computed there is known there alone.
    fn inside(
        &mut self,
        block: IrBlock<'c>,
        act: impl FnOnce(&mut Self) -> Result<(), SemError>,
    ) -> Result<(), SemError> {
        let (known, elements) = (self.known.clone(), self.elements.clone());
        let around = std::mem::replace(&mut self.emit.ir.insertion, Insertion::End(block));
        let done = act(self);
        self.emit.ir.op(ScfOp::Yield, &[], &[], &[]);
        self.emit.ir.insertion = around;
        (self.known, self.elements) = (known, elements);
        done
    }

    /// What a value of the kernel is in this role.
    pub fn value(&mut self, value: IrValue<'c>) -> IrValue<'c> {
        if let Some(known) = self.known.get(&value_key(value)) {
            return *known;
        }
        let Some(op) = defining_op(value).filter(|op| !self.shared.contains(&operation_key(*op)))
        else {
            return value;
        };
        let operands: Vec<IrValue<'c>> = operands_of(op).collect();
        let operands: Vec<IrValue<'c>> = operands
            .into_iter()
            .map(|operand| self.value(operand))
            .collect();
        let again = self.emit.ir.insert(clone(op));
        for (index, operand) in operands.into_iter().enumerate() {
            set_operand(again, index, operand);
        }
        for (index, result) in results_of(op).enumerate().collect::<Vec<_>>() {
            self.known
                .insert(value_key(result), result_of(again, index));
        }
        self.known[&value_key(value)]
    }
}
