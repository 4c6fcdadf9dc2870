//! What a block is in a cluster that loads together.
use super::super::emits::Emits;
use super::super::multicast::Share;
use super::emit::Emit;
use crate::passes::cmpi::BELOW;
use cutec_dialects::builder::IrValue;
use cutec_dialects::ops::{ArithOp, NvvmOp};
use cutec_dialects::semantics::SemError;
use cutec_dialects::target::{WARP, WARPGROUP};

/// The place of a block in its cluster, and of a thread in its warpgroup and its warp.
pub(super) struct Cluster<'c> {
    /// Blocks along m and n, those along m one behind the other.
    extents: [i64; 2],
    /// The number of the block, and its place along both.
    rank: IrValue<'c>,
    places: [IrValue<'c>; 2],
    lane: IrValue<'c>,
    lane_of_warp: IrValue<'c>,
}

/// Blocks of a cluster that send each other what they load: all along some of its axes.
#[derive(Clone, Copy)]
pub(super) struct Peers<'c> {
    /// How many, this one among them.
    pub count: i64,
    /// Whether a thread of a warpgroup, or of a warp, tells one of them, and the rank of that.
    pub tells: IrValue<'c>,
    pub told: IrValue<'c>,
}

impl<'c> Cluster<'c> {
    /// Of a thread of this number.
    pub fn of(emit: &Emit<'c>, thread: IrValue<'c>, extents: [i64; 2]) -> Self {
        let word = emit.ir.ty("i32");
        let rank = emit
            .ir
            .value(NvvmOp::ReadPtxSregClusterCtarank, &[], &[], word);
        let number = |number: i64| emit.ir.constant(number, "i32");
        let places = match extents {
            [_, 1] => [rank, number(0)],
            [1, _] => [number(0), rank],
            [along, _] => [
                emit.binary(ArithOp::Remui, rank, number(along)),
                emit.binary(ArithOp::Divui, rank, number(along)),
            ],
        };
        Cluster {
            extents,
            rank,
            places,
            lane: emit.binary(ArithOp::Remui, thread, number(WARPGROUP)),
            lane_of_warp: emit.binary(ArithOp::Remui, thread, number(WARP)),
        }
    }

    /// Which part of what is shared this block loads.
    pub fn part(&self, share: &Share) -> IrValue<'c> {
        match share.axes {
            [true, false] => self.places[0],
            [false, true] => self.places[1],
            [true, true] | [false, false] => self.rank,
        }
    }

    /// The blocks that a part is sent to, a bit for each.
    pub fn mask(&self, emit: &Emit<'c>, share: &Share) -> Result<IrValue<'c>, SemError> {
        let [along_m, along_n] = self.extents;
        let (bits, first) = match share.axes {
            [true, false] => {
                let first = emit.ir.constant(along_m, "i32");
                let first = || emit.binary(ArithOp::Muli, self.places[1], first);
                ((1 << along_m) - 1, (along_n > 1).then(first))
            }
            [false, true] => {
                let bits = (0..along_n).map(|place| 1 << (place * along_m)).sum();
                (bits, (along_m > 1).then_some(self.places[0]))
            }
            [true, true] | [false, false] => ((1 << (along_m * along_n)) - 1, None),
        };
        match first {
            None => emit.number(bits),
            Some(first) => Ok(emit.binary(ArithOp::Shli, emit.ir.constant(bits, "i32"), first)),
        }
    }

    /// The blocks along some axes, told by each warp or by each warpgroup.
    pub fn peers(&self, emit: &Emit<'c>, axes: [bool; 2], by_warps: bool) -> Option<Peers<'c>> {
        let [along_m, along_n] = self.extents;
        let lane = match by_warps {
            true => self.lane_of_warp,
            false => self.lane,
        };
        let number = |number: i64| emit.ir.constant(number, "i32");
        let (count, told) = match axes {
            [false, false] => return None,
            [true, true] => (along_m * along_n, lane),
            [true, false] if along_n == 1 => (along_m, lane),
            [false, true] if along_m == 1 => (along_n, lane),
            [true, false] => {
                let first = emit.binary(ArithOp::Muli, self.places[1], number(along_m));
                (along_m, emit.binary(ArithOp::Addi, first, lane))
            }
            [false, true] => {
                let further = emit.binary(ArithOp::Muli, lane, number(along_m));
                (along_n, emit.binary(ArithOp::Addi, self.places[0], further))
            }
        };
        Some(Peers {
            count,
            tells: emit.compare(BELOW, lane, number(count)),
            told,
        })
    }
}

/// Waits until all blocks of the cluster have made their barriers, as `ring_barrier()` of the standard library does.
pub(super) fn begin(emit: &Emit) {
    emit.ir.op(NvvmOp::ClusterArriveRelaxed, &[], &[], &[]);
    emit.ir.op(NvvmOp::ClusterWait, &[], &[], &[]);
}

/// Waits until no block of the cluster sends or tells another one anything any more, as `ring_end()` does.
pub(super) fn end(emit: &Emit) {
    // The thread that loaded comes after its neighbours, and the barrier is one of whole warps.
    let members = emit.ir.constant(-1, "i32");
    emit.ir.op(NvvmOp::BarWarpSync, &[members], &[], &[]);
    emit.ir.op(NvvmOp::ClusterArrive, &[], &[], &[]);
    emit.ir.op(NvvmOp::ClusterWait, &[], &[], &[]);
}
