//! Two warpgroups that take turns with the tensor cores ("ping-pong"): one computes and stores its results while the other multiplies.
//!
//! Each has every other tile of its block. What is loaded comes through the same rings, for one tile after the other; a warpgroup's
//! place in a ring leaves out the stages that are filled for the other's tiles, of which there are as many for each tile. A barrier for
//! each, at which one waits and the other arrives, keeps their products apart (CUTLASS: `OrderedSequenceBarrier`;
//! `std/pipeline.cute`: `Turns`). The order of the loads would do so but for as many products as a ring has stages. But it takes the
//! barrier to know which loads have come: the barriers of a stage tell a load from the next one, and not from the one behind that. So a
//! warpgroup gives the turn to the other when all operands of its tile are there, and waits for none before its turn. What an epilogue
//! reads comes by the threads themselves, beside the other's products: in the rings it would keep the operands of the next tile waiting
//! ("By `wgmma`" of the tile level in docs/performance.md).
use super::super::coordinate::narrowed;
use super::super::emits::Emits;
use super::super::partition::FIRST_BARRIER;
use super::super::pingpong::IN_TURN;
use super::consumers::{first_around, last_around};
use super::emit::Emit;
use super::ring::Ring;
use crate::passes::ir_utils::{defining_op, is_in_block, next_operation};
use cutec_dialects::builder::{IrBlock, IrOp, IrValue, operands_of};
use cutec_dialects::ops::{ArithOp, NvvmOp};
use cutec_dialects::semantics::SemError;
use cutec_dialects::target::WARPGROUP;
use melior::ir::{ValueLike, operation::OperationLike};

/// How many stages of a ring are filled for a tile: one for each round of a loop, or one.
pub(super) struct Fills<'c> {
    of_loop: Option<IrOp<'c>>,
}

impl<'c> Fills<'c> {
    /// Of each ring of a kernel with this body, of which `is_shared` says which operations stand in front of both roles.
    ///
    /// # Errors
    /// Why it is not the same for each tile, as a clause.
    pub fn all(
        rings: &[Ring<'c>],
        body: IrBlock<'c>,
        is_shared: impl Fn(IrOp<'c>) -> bool,
    ) -> Result<Vec<Self>, String> {
        if rings.iter().any(Ring::is_gathered) {
            return Err("an operand is gathered".into());
        }
        let of_ring = |ring: &Ring<'c>| {
            match ring.of_loop {
                Some(of) if is_in_block(of, body) => {
                    let mut bounds = operands_of(of).take(3);
                    if !bounds.all(|bound| defining_op(bound).is_none_or(&is_shared)) {
                        return Err("how much a tile takes depends on the tile".to_string());
                    }
                }
                None if ring.block == body => {}
                Some(_) | None => {
                    return Err("something is loaded in a branch, or in a loop of a loop".into());
                }
            }
            Ok(Fills {
                of_loop: ring.of_loop,
            })
        };
        rings.iter().map(of_ring).collect()
    }

    fn count(&self, emit: &Emit<'c>) -> IrValue<'c> {
        let bounds: Vec<IrValue<'c>> = self.of_loop.into_iter().flat_map(operands_of).collect();
        let [lower, upper, step, ..] = bounds[..] else {
            return emit.ir.constant(1, "i32");
        };
        let ty = lower.r#type();
        let binary = |op: ArithOp, one, other| emit.ir.value(op, &[one, other], &[], ty);
        let [zero, one] = [0, 1].map(|number| emit.ir.constant_of(number, ty));
        let length = binary(ArithOp::Subi, upper, lower);
        let length = binary(ArithOp::Maxsi, length, zero);
        let last = binary(ArithOp::Subi, step, one);
        let rounds = binary(ArithOp::Addi, length, last);
        narrowed(&emit.ir, binary(ArithOp::Divui, rounds, step))
    }
}

/// What a warpgroup knows of the turns.
pub(super) struct Turns<'c> {
    /// Its number.
    pub number: IrValue<'c>,
    /// How many stages of each ring are for a tile.
    fills: Vec<IrValue<'c>>,
    /// The barrier at which it waits for its turn, that of the other one, and the threads of both.
    own: IrValue<'c>,
    other: IrValue<'c>,
    threads: IrValue<'c>,
}

impl<'c> Turns<'c> {
    /// What the role that multiplies begins with, once it knows its place in the rings: the second warpgroup leaves out a tile, and says that
    /// it is the first one's turn. `warp` is the same register in all lanes.
    pub fn begin(
        emit: &mut Emit<'c>,
        warp: IrValue<'c>,
        fills: &[Fills<'c>],
        rings: &[Ring<'c>],
    ) -> Result<Self, SemError> {
        let number = emit.warpgroup(warp);
        let fills: Vec<IrValue<'c>> = fills.iter().map(|fills| fills.count(emit)).collect();
        for (ring, count) in rings.iter().zip(&fills) {
            ring.skip(emit, emit.binary(ArithOp::Muli, number, *count))?;
        }
        // Behind those within the warpgroups.
        let first = FIRST_BARRIER + IN_TURN;
        let barrier = |op: ArithOp, from: i64| {
            let from = emit.ir.constant(from, "i32");
            emit.binary(op, from, number)
        };
        let turns = Turns {
            own: barrier(ArithOp::Addi, first),
            other: barrier(ArithOp::Subi, first + 1),
            threads: emit.ir.constant(IN_TURN * WARPGROUP, "i32"),
            number,
            fills,
        };
        let is_second = emit.equal(number, 1);
        emit.only_if(is_second, |emit| {
            turns.pass(emit);
            Ok(())
        })?;
        Ok(turns)
    }

    /// Waits for the turn in front of what first reads something of the rings in a tile, whose stages are not waited for yet.
    pub fn wait(&self, emit: &mut Emit<'c>, first: IrOp<'c>) {
        emit.ir.location = first.location();
        emit.before(first);
        emit.named_barrier(self.own, self.threads);
    }

    /// Gives the turn to the other behind the last of these products of a tile, which may be under way.
    pub fn pass_behind(
        &self,
        emit: &mut Emit<'c>,
        products: &[IrOp<'c>],
        body: IrBlock<'c>,
    ) -> Result<(), SemError> {
        let last = last_around(body, products);
        let last = last.ok_or_else(|| SemError::Illegal("no product takes a turn".into()))?;
        emit.ir.location = last.location();
        let next = next_operation(last);
        emit.before(next.ok_or_else(|| SemError::Illegal("is the last of its block".into()))?);
        self.pass(emit);
        Ok(())
    }

    fn pass(&self, emit: &Emit<'c>) {
        let operands = [self.other, self.threads];
        emit.ir.op(NvvmOp::BarrierArrive, &operands, &[], &[]);
    }

    /// What a tile ends with: the other's is left out.
    pub fn end(&self, emit: &Emit<'c>, rings: &[Ring<'c>]) -> Result<(), SemError> {
        let mut rings = rings.iter().zip(&self.fills);
        rings.try_for_each(|(ring, count)| ring.skip(emit, *count))
    }
}

/// The first operation of a block that is, or has inside, what reads something of the rings.
pub(super) fn first_read<'c>(rings: &[Ring<'c>], block: IrBlock<'c>) -> Result<IrOp<'c>, SemError> {
    let copies = rings.iter().flat_map(|ring| &ring.copies);
    let reads: Vec<IrOp<'c>> = copies.flat_map(|copy| copy.reads.clone()).collect();
    let first = first_around(block, &reads);
    first.ok_or_else(|| SemError::Illegal("nothing reads a ring".into()))
}
