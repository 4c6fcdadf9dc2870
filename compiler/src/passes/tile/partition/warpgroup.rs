//! Products of warpgroups: operands in shared memory by descriptors, sums that stay in their registers.
use super::super::emits::{Emits, named_barrier};
use super::super::registers::for_bits;
use super::super::specialize_warps::{CONSUMERS, IN_PLACE};
use super::super::types::{is_by_descriptor, mma_of, reads_shared_memory, view_of};
use super::precision::{attributes_of_gemm, precision_of};
use super::shuffle::INDEXED;
use super::without_rounds::Zeros;
use super::{Partition, Spread};
use crate::passes::cmpi::NOT_EQUAL;
use crate::passes::control_flow::in_loop;
use crate::passes::convert_cute_to_gpu::REUSED;
use crate::passes::ir_utils::{
    blocks, collect_nested, defining_op, erase, is_zero, next_operation, operations, present,
    remove_attribute, replace_all_uses, set_operand, users,
};
use cutec_dialects::atoms::Issuer;
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, argument_of, integer_value, operands_of, operation_key,
    result_of, value_key,
};
use cutec_dialects::ops::{ArithOp, CuteOp, NvvmOp, ScfOp, TileOp, VectorOp, scf, tile};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::target::WARPGROUP;
use cutec_dialects::tile::{Precision, TileLayout};
use cutec_dialects::types::Vars;
use cutec_dialects::value::{TiledMmaVal, TupleKind, Val};
use cutec_layout::tv::Operand;
use cutec_layout::{Tree, Width};
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};
use std::sync::Arc;

/// The named barrier of the threads that multiply, or of the first of several warpgroups that take turns; the others' follow.
pub(in crate::passes::tile) const FIRST_BARRIER: i64 = 1;

/// Of the numbers of an operand in shared memory.
#[derive(Clone, Copy)]
enum Part {
    /// What was loaded, of which tensor cores take the big part.
    Whole,
    /// What they ignore of it.
    Small,
}

/// The sums of a product in a loop, which stay in these registers over all rounds.
#[derive(Clone, Copy)]
pub(super) struct Accumulator<'c> {
    fragment: IrValue<'c>,
    /// Whether the product adds in this round, where the sums begin with zeros.
    adds: Option<IrValue<'c>>,
    /// What the loop carries in their place.
    carried: IrValue<'c>,
}

/// Whether only products take what an operation reads, by descriptors.
pub(in crate::passes::tile) fn is_for_descriptors(read: IrOp) -> bool {
    let value = result_of(read, 0);
    users(value).into_iter().all(|user| {
        let (Some(dot), Ok(mma)) = (tile::Dot::of(user), mma_of(user)) else {
            return false;
        };
        let factors = dot.factors().into_iter().zip([Operand::A, Operand::B]);
        dot.c() != value
            && factors
                .filter(|(factor, _)| *factor == value)
                .all(|(_, which)| is_by_descriptor(&mma, which))
    })
}

impl<'c> Partition<'c> {
    /// The registers of products that a loop adds up in place: they are allocated in front of it, and read behind it.
    pub(super) fn accumulators(&mut self, of: IrOp<'c>) -> Result<(), SemError> {
        let Some(body) = ScfOp::For
            .is(of)
            .then(|| blocks(of, 0))
            .and_then(|mut it| it.pop())
        else {
            return Ok(());
        };
        let dots = operations(body).into_iter();
        let dots: Vec<IrOp<'c>> = dots
            .filter(|op| TileOp::Dot.is(*op) && op.attribute(IN_PLACE).is_ok())
            .collect();
        for dot in dots {
            let bounds = present(scf::For::of(of))?;
            let sums = present(tile::Dot::of(dot))?.c();
            let missing = || SemError::Illegal("adds to what no loop carries".into());
            let index = (1..body_arguments(of)).find(|at| argument_of(body, *at) == sums);
            let index = index.ok_or_else(missing)?;
            let initial = operands_of(of).nth(index + 2).ok_or_else(missing)?;
            let lower = bounds.lower();
            let result = result_of(of, index - 1);
            let to =
                super::spread_of(of, result).map_err(|(_, message)| SemError::Illegal(message))?;
            let to = to.ok_or_else(missing)?;
            self.ir.insertion = Insertion::Before(of);
            self.ir.location = dot.location();
            let mma = mma_of(dot).map_err(|(_, message)| SemError::Illegal(message))?;
            // Sums that another loop has just made stay where they are.
            let before = self.sums.get(&value_key(initial)).copied();
            let own = self.operand_registers(&mma, Operand::C, &to)?;
            let before = before.filter(|(fragment, _)| {
                users(initial) == [of] && fragment.r#type() == own.r#type()
            });
            let begins_with_zeros = before.is_none() && is_of_zeros(initial);
            let mut adds = None;
            let fragment = match before {
                Some((fragment, carried)) => {
                    set_operand(of, index + 2, carried);
                    let unused = [defining_op(initial), defining_op(own)];
                    unused.into_iter().flatten().for_each(erase);
                    fragment
                }
                None => own,
            };
            if begins_with_zeros {
                let first = operations(body).into_iter().next().ok_or_else(missing)?;
                self.ir.insertion = Insertion::Before(first);
                adds = Some(self.compare(NOT_EQUAL, argument_of(body, 0), lower));
            } else if before.is_none() {
                // Behind the fence the sums are registers of their own: none is copied while products are under way.
                self.store_vec(initial, fragment);
                self.ir.op(NvvmOp::WgmmaFence, &[], &[], &[]);
            }
            let initial = operands_of(of).nth(index + 2).ok_or_else(missing)?;
            let accumulator = Accumulator {
                fragment,
                adds,
                carried: sums,
            };
            self.accumulators.insert(operation_key(dot), accumulator);
            // Behind the loop they are there once they have been waited for.
            // In front of it may stand what makes it another warpgroup's turn.
            let mut ops = std::iter::successors(next_operation(of), |op| next_operation(*op));
            let wait = ops.find(|op| NvvmOp::WgmmaWaitGroup.is(*op) || !is_of_ring(*op, result));
            let wait = wait.filter(|op| NvvmOp::WgmmaWaitGroup.is(*op));
            let (wait, behind) = wait
                .and_then(|wait| Some((wait, next_operation(wait)?)))
                .ok_or_else(|| {
                    SemError::Illegal("leaves products under way that nothing waits for".into())
                })?;
            // As late as may be: what releases the last stages comes first.
            let stages = std::iter::successors(Some(behind), |op| next_operation(*op));
            let mut stages = stages.skip_while(|op| is_of_ring(*op, result));
            self.ir.insertion = Insertion::Before(stages.next().unwrap_or(behind));
            if begins_with_zeros {
                let store = self.store_vec(initial, fragment);
                self.zeros.push(Zeros { wait, store });
            }
            let sums = self.load_vec(fragment, &to)?;
            self.sums.insert(value_key(sums), (fragment, initial));
            replace_all_uses(result, sums);
            self.spread.insert(value_key(sums), to);
            self.idle.push((of, index));
        }
        Ok(())
    }

    /// A product that a warpgroup begins: its sums are there when it has been waited for.
    pub(super) fn begin_product(
        &mut self,
        op: IrOp<'c>,
        to: &Spread,
    ) -> Result<IrValue<'c>, SemError> {
        let mma = mma_of(op).map_err(|(_, message)| SemError::Illegal(message))?;
        let precision = precision_of(op)?;
        if precision == Precision::Tf32x3 {
            return self.begin_product_of_parts(op, &mma, to);
        }
        let dot = present(tile::Dot::of(op))?;
        let tiled = self.constant(Val::TiledMma(mma.clone()))?;
        let accumulator = self.accumulators.get(&operation_key(op)).copied();
        let mut factors = Vec::new();
        for (index, which) in [Operand::A, Operand::B].into_iter().enumerate() {
            factors.push(match is_by_descriptor(&mma, which) {
                true => {
                    let factor = dot.factors()[index];
                    self.by_descriptor(&mma, tiled, which, factor, Part::Whole)?
                }
                false => {
                    let (mut vector, spread) = self.of(op, index)?;
                    if precision == Precision::Tf32 {
                        vector = self.rounded_to_tf32(vector, &spread);
                    }
                    let fragment = self.operand_registers(&mma, which, &spread)?;
                    self.store_vec(vector, fragment);
                    fragment
                }
            });
        }
        let mut reused = false;
        let (sums, adds) = match accumulator {
            Some(accumulator) => (accumulator.fragment, accumulator.adds),
            None => {
                let own = self.operand_registers(&mma, Operand::C, to)?;
                let (vector, _) = self.of(op, 2)?;
                let left = self.left_for(op, own, to);
                reused = left.is_some();
                let fragment = left.unwrap_or(own);
                if is_of_zeros(vector) {
                    // Else a loop would carry what the product of its last iteration left there. What the product before it in this one left
                    // keeps ptxas from giving both registers of their own.
                    if in_loop(op) && !reused {
                        self.store_vec(vector, fragment);
                    }
                    (fragment, Some(self.ir.constant(0, "i1")))
                } else {
                    self.store_vec(vector, fragment);
                    (fragment, None)
                }
            }
        };
        let reuses = reused.then(|| (REUSED, self.ir.unit()));
        self.ir.op(NvvmOp::WgmmaFence, &[], reuses.as_slice(), &[]);
        let operands = [tiled, sums, factors[0], factors[1], sums];
        let operands: Vec<IrValue<'c>> = operands.into_iter().chain(adds).collect();
        let attrs = attributes_of_gemm(op);
        self.ir.op(CuteOp::Gemm, &operands, &attrs, &[]);
        self.ir.op(NvvmOp::WgmmaCommitGroup, &[], &[], &[]);
        match accumulator {
            Some(accumulator) => Ok(accumulator.carried),
            None => {
                let wait = wait_for(op);
                self.left.extend(wait.map(|wait| (sums, wait)));
                let behind = wait.and_then(next_operation).ok_or_else(|| {
                    SemError::Illegal("is under way, and nothing waits for it".into())
                })?;
                self.ir.insertion = Insertion::Before(behind);
                self.load_vec(sums, to)
            }
        }
    }

    /// Registers for the sums of a product in place of its own, where a thread has none for both: those of one before it in its block that has
    /// been waited for. What fences products or waits for them takes the sums of all. Where there is room, what is computed of the former
    /// sums may be computed under this product.
    fn left_for(&mut self, op: IrOp<'c>, own: IrValue<'c>, to: &Spread) -> Option<IrValue<'c>> {
        let values = to.tile.layout.as_ref().map_or(0, TileLayout::values);
        if for_bits(values * to.tile.elem.bits()) <= self.room {
            return None;
        }
        let is_behind = |wait: IrOp<'c>| {
            std::iter::successors(Some(wait), |op| next_operation(*op)).any(|other| other == op)
        };
        let mut left = self.left.iter();
        let left =
            left.position(|(sums, wait)| sums.r#type() == own.r#type() && is_behind(*wait))?;
        defining_op(own).into_iter().for_each(erase);
        // Until this product has been waited for they are its own.
        Some(self.left.swap_remove(left).0)
    }

    /// The part of a stage that the warpgroup of a thread multiplies.
    fn by_descriptor(
        &mut self,
        mma: &Arc<TiledMmaVal>,
        tiled: IrValue<'c>,
        which: Operand,
        factor: IrValue<'c>,
        of_numbers: Part,
    ) -> Result<IrValue<'c>, SemError> {
        let read = present(tile::Read::defining(factor))?;
        let several = which.modes().into_iter().any(|mode| {
            let atoms = mma.tiled.thr_layout_vmnk().mode(mode + 1);
            atoms.is_some_and(|atoms| atoms.size().as_static() != Some(1))
        });
        let thread = match several {
            true => self.first_of_warpgroup()?,
            false => self.constant(Val::int_tuple([0]))?,
        };
        let operands = [tiled, self.as_taken(read.op(), read.buffer())?, thread];
        let part = self.cute(CuteOp::TiledMmaPartition, &operands, &Attrs::operand(which))?;
        let stage = match of_numbers {
            Part::Whole => read.stage(),
            // Behind the stages that are loaded.
            Part::Small => {
                let stages = view_of(read.buffer()).and_then(|view| {
                    let stages = view.layout.inner().mode(2)?;
                    stages.size().as_static()
                });
                let missing = || SemError::Illegal("expects a buffer of stages".into());
                let stages = self.ir.constant(stages.ok_or_else(missing)? / 2, "i32");
                let word = self.ir.ty("i32");
                self.ir
                    .value(ArithOp::Addi, &[read.stage(), stages], &[], word)
            }
        };
        self.stage_of(part, 3, stage)
    }

    /// The three products of a and b in parts (`specialize_warps/split.rs`), from zeros; they are added to the sums in f32.
    fn begin_product_of_parts(
        &mut self,
        op: IrOp<'c>,
        mma: &Arc<TiledMmaVal>,
        to: &Spread,
    ) -> Result<IrValue<'c>, SemError> {
        let dot = present(tile::Dot::of(op))?;
        let tiled = self.constant(Val::TiledMma(mma.clone()))?;
        let ty = self.ir.ty("f32");
        let (a, of_a) = self.of(op, 0)?;
        let mut factors_a = Vec::new();
        for part in self.parts(&self.elements(a, &of_a)) {
            let registers = self.operand_registers(mma, Operand::A, &of_a)?;
            self.store_vec(self.gather(&part, ty), registers);
            factors_a.push(registers);
        }
        let mut factors_b = Vec::new();
        for part in [Part::Whole, Part::Small] {
            factors_b.push(self.by_descriptor(mma, tiled, Operand::B, dot.b(), part)?);
        }
        let added = self.operand_registers(mma, Operand::C, to)?;
        let (before, _) = self.of(op, 2)?;
        if in_loop(op) {
            // Else the loop would carry what the iteration before left there.
            let zero = self.ir.number(self.ir.float(0.0, ty), ty);
            let zeros = self
                .ir
                .value(VectorOp::Broadcast, &[zero], &[], to.vector(&self.ir));
            self.store_vec(zeros, added);
        }
        self.ir.op(NvvmOp::WgmmaFence, &[], &[], &[]);
        let afresh = self.ir.constant(0, "i1");
        let attrs = attributes_of_gemm(op);
        // The small ones first.
        for (number, [i, j]) in [[1, 0], [0, 1], [0, 0]].into_iter().enumerate() {
            let operands = [tiled, added, factors_a[i], factors_b[j], added];
            let operands = operands.into_iter().chain((number == 0).then_some(afresh));
            let operands: Vec<IrValue<'c>> = operands.collect();
            self.ir.op(CuteOp::Gemm, &operands, &attrs, &[]);
        }
        self.ir.op(NvvmOp::WgmmaCommitGroup, &[], &[], &[]);
        let behind = wait_for(op)
            .and_then(next_operation)
            .ok_or_else(|| SemError::Illegal("is under way, and nothing waits for it".into()))?;
        self.ir.insertion = Insertion::Before(behind);
        let added = self.load_vec(added, to)?;
        let vector = to.vector(&self.ir);
        Ok(self.ir.value(ArithOp::Addf, &[before, added], &[], vector))
    }

    /// The number of the warpgroup among all that share a tile, or of one that has tiles of its own among all; in a register that is the
    /// same in all lanes of a warp.
    pub(super) fn number_of_warpgroup(&mut self) -> IrValue<'c> {
        let thread = self.thread();
        let here = std::mem::replace(&mut self.ir.insertion, Insertion::Before(self.entry));
        let size = self.ir.constant(WARPGROUP, "i32");
        let word = self.ir.ty("i32");
        let group = self.ir.value(ArithOp::Divui, &[thread, size], &[], word);
        let lane = self.ir.constant(0, "i32");
        let group = self.shuffle(INDEXED, group, lane);
        self.ir.insertion = here;
        group
    }

    /// The first thread of the warpgroup, in a register that is the same in all lanes of a warp.
    fn first_of_warpgroup(&mut self) -> Result<IrValue<'c>, SemError> {
        if let Some(first) = self.warpgroup {
            return Ok(first);
        }
        let group = self.number_of_warpgroup();
        // Beside the thread, which stands in front of everything.
        let here = std::mem::replace(&mut self.ir.insertion, Insertion::Before(self.entry));
        let size = self.ir.constant(WARPGROUP, "i32");
        let word = self.ir.ty("i32");
        let first = self.ir.value(ArithOp::Muli, &[group, size], &[], word);
        let promised = Vars::default().fresh(Width::I32, WARPGROUP);
        let promised = Val::Tuple(TupleKind::IntTuple, Tree::Leaf(Some(promised)));
        let first = self.cute(CuteOp::Assume, &[first], &Attrs::result(promised));
        self.ir.insertion = here;
        Ok(*self.warpgroup.insert(first?))
    }
}

/// What waits for a product in its block: products are groups, and a wait leaves the last so many under way.
fn wait_for<'c>(product: IrOp<'c>) -> Option<IrOp<'c>> {
    let mut later = 0;
    let mut behind = std::iter::successors(next_operation(product), |op| next_operation(*op));
    behind.find(|op| {
        later += i64::from(TileOp::Dot.is(*op) && is_of_warpgroup(*op));
        let left = op.attribute("group").ok().and_then(integer_value);
        NvvmOp::WgmmaWaitGroup.is(*op) && left.is_some_and(|left| left <= later)
    })
}

/// Whether an operation behind a loop is of its rings, and takes nothing of its sums.
fn is_of_ring<'c>(op: IrOp<'c>, sums: IrValue<'c>) -> bool {
    let mut inside = vec![op];
    collect_nested(op, &mut inside);
    let takes = |op: &IrOp<'c>| {
        TileOp::of(*op).is_some() || operands_of(*op).any(|operand| operand == sums)
    };
    next_operation(op).is_some() && !inside.iter().any(takes)
}

/// Whether the instruction of a product is begun by a warpgroup.
pub(super) fn is_of_warpgroup(op: IrOp) -> bool {
    mma_of(op).is_ok_and(|mma| mma.atom.issuer() == Issuer::Warpgroup && reads_shared_memory(&mma))
}

fn body_arguments(of: IrOp) -> usize {
    operands_of(of).count() - 2
}

/// Whether a vector is zeros.
fn is_of_zeros(vector: IrValue) -> bool {
    let broadcast = defining_op(vector).filter(|op| VectorOp::Broadcast.is(*op));
    let number = broadcast.and_then(|op| operands_of(op).next());
    number.is_some_and(is_zero)
}

/// Takes out of loops what they carry and nobody changes or takes: each is given by its loop and its number among the
/// arguments of the body.
pub(super) fn drop_idle<'c>(context: &'c Context, idle: &[(IrOp<'c>, usize)]) {
    let mut loops: Vec<IrOp<'c>> = Vec::new();
    for (of, _) in idle {
        if !loops.contains(of) {
            loops.push(*of);
        }
    }
    for of in loops {
        let here = idle.iter().filter(|(other, _)| *other == of);
        let here: Vec<usize> = here.map(|(_, index)| *index).collect();
        crate::passes::additional_yields::without_carried(context, of, &here);
    }
}

/// Lets barriers of a role be for its threads alone, or for those of one warpgroup of this number.
pub(super) fn name_barriers<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    turn: Option<IrValue<'c>>,
) {
    let mut all = Vec::new();
    collect_nested(function, &mut all);
    for branch in all {
        let Some(threads) = branch.attribute(CONSUMERS).ok().and_then(integer_value) else {
            continue;
        };
        for block in blocks(branch, 1) {
            let mut inside = Vec::new();
            for op in operations(block) {
                collect_nested(op, &mut inside);
                inside.push(op);
            }
            for op in inside.into_iter().filter(|op| NvvmOp::Barrier0.is(*op)) {
                let mut ir = OpBuilder::new(context, Insertion::Before(op));
                ir.location = op.location();
                let [mut number, threads] =
                    [FIRST_BARRIER, threads].map(|number| ir.constant(number, "i32"));
                if let Some(turn) = turn {
                    number = ir.value(ArithOp::Addi, &[turn, number], &[], ir.ty("i32"));
                }
                named_barrier(&ir, number, threads);
                erase(op);
            }
        }
        remove_attribute(branch, CONSUMERS);
    }
}
