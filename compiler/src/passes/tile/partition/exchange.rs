//! What threads tell each other through shared memory: those of a block, or those of all blocks of a cluster.
//!
//! Threads of a block write, meet, and read. Blocks of a cluster store to the memory of all of them by `st.async`, whose bytes a barrier in each
//! block counts: to meet at the barrier of the cluster would wait for all that the threads have written, results in global memory as well. A
//! second barrier counts the warps of all blocks that have read, before which nobody tells what comes next.
use super::super::emits::Emits;
use super::Partition;
use super::scratch::Scratch;
use crate::passes::cmpi::{BELOW, EQUAL, cmpi};
use crate::passes::user_error::user_error;
use cutec_dialects::builder::{Insertion, IrOp, IrValue, value_key};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{ArithOp, CuteOp, NvvmOp};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::target::WARP;
use cutec_dialects::value::Val;
use cutec_frontend::diagnostics::codes;
use cutec_layout::{AnyLayout, Layout};
use melior::ir::ValueLike;

/// Who is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Among {
    Block,
    /// Each block has a buffer of its own, and writes to those of all: so nobody reads another one's memory, which may end first.
    Cluster,
}

/// Numbers that threads tell each other.
pub(super) struct Exchange<'c> {
    among: Among,
    /// A buffer for each number that is told of a place.
    pub buffers: Vec<IrValue<'c>>,
    /// Whether another exchange goes through the same buffers.
    again: bool,
    arrivals: Option<Arrivals<'c>>,
}

/// Which blocks a thread tells.
#[derive(Clone, Copy)]
pub(super) enum Told<'c> {
    All,
    Rank(IrValue<'c>),
}

/// What counts what is told by `st.async`.
#[derive(Clone, Copy)]
struct Arrivals<'c> {
    counted: Counted<'c>,
    /// The parity of the phase.
    parity: IrValue<'c>,
}

/// The barriers of a buffer.
#[derive(Clone, Copy)]
pub(super) struct Counted<'c> {
    /// Of what arrives.
    full: IrValue<'c>,
    /// Of the warps of the cluster that have read it.
    empty: IrValue<'c>,
    /// The variable with the parity of the next exchange.
    phase: IrValue<'c>,
}

impl<'c> Partition<'c> {
    /// Begins an exchange through some buffers, of an operation that all threads come to; each block is told so many numbers of each.
    pub(super) fn exchange(
        &mut self,
        op: IrOp<'c>,
        among: Among,
        scratch: Vec<Scratch>,
        numbers: i64,
    ) -> Result<Exchange<'c>, SemError> {
        let again = self.is_taken_again(op);
        let sizes: Option<Vec<(i64, i64)>> = scratch.iter().map(Scratch::numbers).collect();
        let buffers = scratch.into_iter().map(|scratch| self.scratch(op, scratch));
        let buffers: Vec<IrValue<'c>> = buffers.collect::<Result<_, _>>()?;
        // What is stored asynchronously has four bytes or eight, and each place is told once.
        let is_counted = |(room, bytes): &(i64, i64)| [4, 8].contains(bytes) && *room == numbers;
        let sizes = sizes.filter(|sizes| sizes.iter().all(is_counted));
        let arrivals = match (among, sizes) {
            (Among::Cluster, Some(sizes)) => {
                let bytes = sizes.iter().map(|(_, bytes)| numbers * bytes).sum();
                Some(self.arrivals(buffers[0], bytes)?)
            }
            _ => None,
        };
        self.meets_again |= again && arrivals.is_some();
        Ok(Exchange {
            among,
            buffers,
            again,
            arrivals,
        })
    }

    /// The next exchange through a buffer: one thread says how many bytes come.
    fn arrivals(&mut self, buffer: IrValue<'c>, bytes: i64) -> Result<Arrivals<'c>, SemError> {
        let counted = self.counted(buffer)?;
        let (word, first) = (self.ir.ty("i32"), self.first()?);
        let phase = [counted.phase, first];
        let parity = self.ir.value(CuteOp::MemrefLoad, &phase, &[], word);
        let next = [parity, self.ir.constant(1, "i32")];
        let next = self.ir.value(ArithOp::Xori, &next, &[], word);
        (self.ir).op(CuteOp::MemrefStore, &[next, counted.phase, first], &[], &[]);
        let is_first = self.is_first_of_block();
        self.only_if(is_first, |this| {
            let operands = [counted.full, first, this.ir.constant(bytes, "i32")];
            (this.ir).op(CuteOp::MbarrierArriveExpectTx, &operands, &[], &[]);
            Ok(())
        })?;
        Ok(Arrivals { counted, parity })
    }

    /// The barriers of a buffer, which are there once the blocks of the cluster have met.
    fn counted(&mut self, buffer: IrValue<'c>) -> Result<Counted<'c>, SemError> {
        if let Some(counted) = self.counted.get(&value_key(buffer)) {
            return Ok(*counted);
        }
        let begin = self.meeting.unwrap_or(self.entry);
        let here = std::mem::replace(&mut self.ir.insertion, Insertion::Before(begin));
        let one = || AnyLayout::Plain(Layout::contiguous(1));
        let counted = Counted {
            full: self.alloc(Elem::U64, Space::Smem, one()),
            empty: self.alloc(Elem::U64, Space::Smem, one()),
            phase: self.alloc(Elem::I32, Space::Rmem, one()),
        };
        let (first, none) = (self.first()?, self.ir.constant(0, "i32"));
        (self.ir).op(CuteOp::MemrefStore, &[none, counted.phase, first], &[], &[]);
        let is_first = self.is_first_of_block();
        let readers = self.blocks * self.threads / WARP;
        self.only_if(is_first, |this| {
            for (barrier, count) in [(counted.full, 1), (counted.empty, readers)] {
                let count = this.constant(Val::int_tuple([count]))?;
                (this.ir).op(CuteOp::MbarrierInit, &[barrier, first, count], &[], &[]);
            }
            this.ir.op(NvvmOp::FenceMbarrierInit, &[], &[], &[]);
            Ok(())
        })?;
        self.ir.insertion = here;
        self.counted.insert(value_key(buffer), counted);
        Ok(counted)
    }

    /// The first element of what has one mode.
    fn first(&self) -> Result<IrValue<'c>, SemError> {
        self.constant(Val::coord([Some(0.into())]))
    }

    fn is_first_of_block(&self) -> IrValue<'c> {
        let (thread, none) = (self.thread_of_block(), self.ir.constant(0, "i32"));
        cmpi(&self.ir, EQUAL, thread, none)
    }

    /// Lets those threads tell of whose number all these parts, divisor and extent, are zero. In a loop threads of a cluster that know the same tell a
    /// block each, if there are as many side by side: the addresses of all blocks would take registers through the loop.
    pub(super) fn by_tellers(
        &mut self,
        exchange: &Exchange<'c>,
        parts: &[(i64, i64)],
        tell: impl FnOnce(&mut Self, Told<'c>) -> Result<(), SemError>,
    ) -> Result<(), SemError> {
        self.begin_to_tell(exchange)?;
        let blocks = self.blocks;
        let is_enough = |(first, extent): &&(i64, i64)| {
            exchange.again
                && exchange.among == Among::Cluster
                && *extent >= blocks
                && first * extent <= self.threads
        };
        let Some((first, extent)) = parts.iter().find(is_enough).copied() else {
            return self.once_by(parts, |this| tell(this, Told::All));
        };
        let others: Vec<(i64, i64)> = parts
            .iter()
            .copied()
            .filter(|part| *part != (first, extent))
            .collect();
        let word = self.ir.ty("i32");
        self.once_by(&others, |this| {
            let divided = [this.thread(), this.ir.constant(first, "i32")];
            let divided = this.ir.value(ArithOp::Divui, &divided, &[], word);
            let rank = [divided, this.ir.constant(extent, "i32")];
            let rank = this.ir.value(ArithOp::Remui, &rank, &[], word);
            let is_one = cmpi(&this.ir, BELOW, rank, this.ir.constant(blocks, "i32"));
            this.only_if(is_one, |this| tell(this, Told::Rank(rank)))
        })
    }

    /// Waits until all have read what was told before: all threads do, for ptxas takes those of a warp for parted behind a loop of some of them.
    fn begin_to_tell(&self, exchange: &Exchange<'c>) -> Result<(), SemError> {
        if let Some(Arrivals { counted, parity }) = exchange.arrivals.filter(|_| exchange.again) {
            let before = [parity, self.ir.constant(1, "i32")];
            let before = self.ir.value(ArithOp::Xori, &before, &[], parity.r#type());
            let operands = [counted.empty, self.first()?, before];
            self.ir.op(CuteOp::MbarrierWait, &operands, &[], &[]);
        }
        Ok(())
    }

    /// Tells a number, to a place of one of the buffers.
    pub(super) fn tell(
        &mut self,
        exchange: &Exchange<'c>,
        number: IrValue<'c>,
        (which, at): (usize, IrValue<'c>),
        told: Told<'c>,
    ) -> Result<(), SemError> {
        let (buffer, plain) = (exchange.buffers[which], Attrs::default());
        if exchange.among == Among::Block {
            self.ir
                .op(CuteOp::MemrefStore, &[number, buffer, at], &[], &[]);
            return Ok(());
        }
        let ranks: Vec<IrValue<'c>> = match told {
            Told::Rank(rank) => vec![rank],
            Told::All => (0..self.blocks)
                .map(|rank| self.ir.constant(rank, "i32"))
                .collect(),
        };
        for rank in ranks {
            let theirs = self.cute(CuteOp::MapSharedRank, &[buffer, rank], &plain)?;
            match exchange.arrivals {
                None => {
                    (self.ir).op(CuteOp::MemrefStore, &[number, theirs, at], &[], &[]);
                }
                Some(Arrivals { counted, .. }) => {
                    let place = self.cute(CuteOp::Slice, &[theirs, at], &plain)?;
                    let one = self.gather(&[number], number.r#type());
                    let operands = [one, place, counted.full, self.first()?];
                    self.ir.op(CuteOp::StoreAsync, &operands, &[], &[]);
                }
            }
        }
        Ok(())
    }

    /// Waits for what all have told.
    pub(super) fn told(&self, exchange: &Exchange<'c>) -> Result<(), SemError> {
        match exchange.arrivals {
            None => self.meet(exchange.among),
            Some(Arrivals { counted, parity }) => {
                let operands = [counted.full, self.first()?, parity];
                self.ir.op(CuteOp::MbarrierWait, &operands, &[], &[]);
            }
        }
        Ok(())
    }

    /// Ends an exchange: what takes the buffers next may when all have read them.
    pub(super) fn end_exchange(&mut self, exchange: &Exchange<'c>) -> Result<(), SemError> {
        let Some(Arrivals { counted, .. }) = exchange.arrivals.filter(|_| exchange.again) else {
            if exchange.again {
                self.meet(exchange.among);
            }
            return Ok(());
        };
        // What other blocks store next would overtake loads on their way.
        self.fence_for_async_proxy();
        let all = self.ir.constant(-1, "i32");
        self.ir.op(NvvmOp::BarWarpSync, &[all], &[], &[]);
        let lane = [self.thread_of_block(), self.ir.constant(WARP - 1, "i32")];
        let lane = self.ir.value(ArithOp::Andi, &lane, &[], all.r#type());
        let tells = cmpi(&self.ir, BELOW, lane, self.ir.constant(self.blocks, "i32"));
        self.only_if(tells, |this| {
            let one = this.constant(Val::int_tuple([1]))?;
            let operands = [counted.empty, this.first()?, one, lane];
            (this.ir).op(CuteOp::MbarrierArriveWithinCta, &operands, &[], &[]);
            Ok(())
        })
    }

    /// Waits for all threads of a block or a cluster.
    pub(super) fn meet(&self, among: Among) {
        match among {
            Among::Block => self.barrier(),
            Among::Cluster => {
                self.meet_in_cluster(NvvmOp::ClusterArrive);
            }
        }
    }

    /// Waits for all blocks of the cluster to begin; gives the operation with which a thread comes.
    pub(super) fn meet_at_begin(&self) -> IrOp<'c> {
        self.meet_in_cluster(NvvmOp::ClusterArriveRelaxed)
    }

    fn meet_in_cluster(&self, comes: NvvmOp) -> IrOp<'c> {
        let aligned = [("aligned", self.ir.unit())];
        let comes = self.ir.op(comes, &[], &aligned, &[]);
        self.ir.op(NvvmOp::ClusterWait, &[], &aligned, &[]);
        comes
    }

    /// The parts of a thread's number, as divisor and extent, that are zero in a thread which tells: of a block one in each block does.
    pub(super) fn telling(&self, among: Among, parts: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
        let within = |(first, extent): (i64, i64)| (first, extent.min(self.threads / first));
        match among {
            Among::Cluster => parts,
            Among::Block => {
                let parts = parts.into_iter().map(within);
                parts.filter(|(_, extent)| *extent > 1).collect()
            }
        }
    }

    /// Threads that tell, of all blocks.
    pub(super) fn tellers(&self, parts: &[(i64, i64)]) -> i64 {
        let tells = |thread: &i64| {
            let mut parts = parts.iter();
            parts.all(|(first, extent)| thread / first % extent == 0)
        };
        (0..self.threads * self.blocks).filter(tells).count() as i64
    }

    /// Refuses what a cluster does not do: threads of one block alone know of what is written to its memory.
    pub(super) fn within_a_block(&self, what: &str) -> Result<(), SemError> {
        match self.blocks {
            1 => Ok(()),
            blocks => {
                let message = format!(
                    "{what} goes through the shared memory of one block, but {blocks} share the tile"
                );
                let help = "launch it without `cluster`";
                let text = user_error(codes::ILLEGAL_OPERATION, message, help);
                Err(SemError::Illegal(text))
            }
        }
    }
}
