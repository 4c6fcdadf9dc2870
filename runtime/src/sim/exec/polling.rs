//! Whether the threads that can go on only poll: they read memory again and again that nobody will write.
//!
//! A group of lanes polls if it comes back to where it stands with the same registers, and what it did on the way changed
//! nothing that others see. While nobody writes memory it goes the same way for ever. So where each group of a cluster that
//! can go on polls, and no other cluster runs, none of them ever ends; one after another they are run until they are back.

use super::Fault;
use super::cta::{Cluster, Cta, Resident};
use super::warp::{Group, Wait, Warp};
use crate::sim::error::{ErrorKind, Polled, SimError};
use crate::sim::isa::{Hint, Op};

/// After so many instructions for each warp it is looked again.
const PATIENCE: u64 = 1 << 15;

/// Instructions in which a group has to be back.
const WAY: u32 = 1 << 12;

/// How often it may come by with other registers.
const VISITS: u32 = 4;

/// What an instruction does beyond the registers of its lanes.
enum Deed {
    /// Nothing.
    None,
    /// It reads memory.
    Reads,
    /// More.
    Changes,
}

fn deed(op: &Op) -> Deed {
    match op {
        Op::Load { .. } => Deed::Reads,
        // [`Cta::changed`] says whether it did.
        Op::Atomic { .. } => Deed::Reads,
        Op::Lanes { .. }
        | Op::Branch { .. }
        | Op::BranchIndexed { .. }
        | Op::ActiveMask(_)
        | Op::Collective { .. }
        | Op::Fence(_)
        | Op::ProxyFence(_)
        | Op::Hint(Hint::Prefetch | Hint::Sleep | Hint::GridDependency) => Deed::None,
        Op::Store { .. }
        | Op::Mma(_)
        | Op::Warpgroup(_)
        | Op::LoadMatrix { .. }
        | Op::StoreMatrix { .. }
        | Op::CopyAsync { .. }
        | Op::CommitGroup(_)
        | Op::WaitGroup(..)
        | Op::WaitGroupRead(_)
        | Op::Bulk(_)
        | Op::StoreAsync(_)
        | Op::ClusterBarrier(_)
        | Op::Barrier(_)
        | Op::Mbarrier(_)
        | Op::Print { .. }
        | Op::Exit
        | Op::MapEdit(_)
        | Op::Trap => Deed::Changes,
    }
}

/// A group that polls, and the instruction by which it last read memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Poll {
    mask: u32,
    pc: u32,
}

impl Warp {
    /// Runs each group that can go on until it is back, or waits for other lanes; whether nothing else happens.
    fn only_polls(&mut self, cta: &mut Cta<'_>) -> Result<bool, Fault> {
        self.polls.clear();
        let mut seen = 0;
        while let Some(group) = self.foremost(cta, !seen) {
            if !self.comes_back(cta, group)? {
                if seen != 0 {
                    self.let_go_on(cta, !seen)?;
                }
                return Ok(false);
            }
            seen |= group.mask;
        }
        Ok(true)
    }

    /// Lets lanes have a turn that stand behind some of their warp which poll, and so come first whenever it runs.
    fn let_go_on(&mut self, cta: &mut Cta<'_>, lanes: u32) -> Result<(), Fault> {
        for _ in 0..WAY {
            let Some(group) = self.foremost(cta, lanes) else {
                break;
            };
            self.step_of(cta, group)?;
        }
        // Some may have left, for which others wait no longer.
        cta.arrivals = true;
        Ok(())
    }

    /// Executes the instruction of a group.
    fn step_of(&mut self, cta: &mut Cta<'_>, group: Group) -> Result<(), Fault> {
        let at = self.groups.iter();
        let at = at.take_while(|other| other.mask != group.mask).count();
        let next = self.step(cta, group)?;
        self.apply(at, next);
        cta.steps += 1;
        Ok(())
    }

    /// Of the groups that can go on and are of these lanes, the one that runs first.
    fn foremost(&self, cta: &Cta<'_>, lanes: u32) -> Option<Group> {
        let ready = self.groups.iter().filter(|group| group.wait == Wait::Ready);
        let ready = ready.filter(|group| group.mask & !lanes == 0);
        let rank = &cta.launch.kernel.rank[..];
        ready.min_by_key(|group| rank[group.pc as usize]).copied()
    }

    fn comes_back(&mut self, cta: &mut Cta<'_>, from: Group) -> Result<bool, Fault> {
        let kernel = cta.launch.kernel;
        let registers = &self.registers;
        let before = (
            registers.words.clone(),
            registers.wides.clone(),
            registers.preds.clone(),
            registers.carry,
        );
        let (mut visits, mut read) = (0, from.pc);
        cta.changed = false;
        for _ in 0..WAY {
            let Some(group) = self.foremost(cta, from.mask) else {
                // Its lanes wait for others now, or stand with them.
                let runs = |group: &Group| group.wait == Wait::Ready && group.mask & from.mask != 0;
                return Ok(!self.groups.iter().any(runs));
            };
            let op = &kernel.code[group.pc as usize].op;
            match deed(op) {
                // It only waits for its lanes.
                Deed::Changes if matches!(op, Op::Barrier(barrier) if barrier.aligned && group.mask != self.live) =>
                    {}
                Deed::None => {}
                Deed::Reads => read = group.pc,
                Deed::Changes => return Ok(false),
            }
            self.step_of(cta, group)?;
            if cta.changed {
                return Ok(false);
            }
            let is_back = |group: &Group| {
                (group.pc, group.mask, group.wait) == (from.pc, from.mask, Wait::Ready)
            };
            if self.groups.iter().any(is_back) {
                let now = &self.registers;
                let (words, wides, preds, carry) = &before;
                if (&now.words, &now.wides, &now.preds, &now.carry) == (words, wides, preds, carry)
                {
                    let mask = from.mask;
                    self.polls.push(Poll { mask, pc: read });
                    return Ok(true);
                }
                visits += 1;
                if visits == VISITS {
                    return Ok(false);
                }
            }
        }
        Ok(false)
    }
}

impl Cluster<'_> {
    /// Whether every group that can go on only polls. It is looked now and then.
    pub fn only_polls(&mut self) -> Result<bool, SimError> {
        let steps: u64 = self.ctas.iter().map(|resident| resident.cta.steps).sum();
        if steps < self.look_at {
            return Ok(false);
        }
        let warps: usize = self.ctas.iter().map(|resident| resident.warps.len()).sum();
        let first = self.look_at == 0;
        self.look_at = steps + PATIENCE * warps as u64;
        let (_, clusters) = self.launch.clusters_to_run();
        if first || !self.launch.runs_alone(clusters) {
            return Ok(false);
        }
        let mut polls = true;
        self.any(|cta, warps| {
            for warp in warps {
                polls = polls && warp.only_polls(cta)?;
            }
            Ok(false)
        })?;
        Ok(polls)
    }

    /// The error of a cluster in which all that can go on poll.
    pub fn polling(&self) -> SimError {
        let mut polls: Vec<Polled> = Vec::new();
        let (mut waiters, mut ended, mut first) = (Vec::new(), Vec::new(), None);
        for Resident { cta, warps } in &self.ctas {
            let block = cta.ctaid;
            if warps.iter().all(|warp| warp.groups.is_empty()) {
                ended.push(block);
            }
            let polls_here = warps.iter().any(|warp| !warp.polls.is_empty());
            for warp in warps {
                let poll = |group: &Group| warp.polls.iter().find(|poll| poll.mask == group.mask);
                for group in &warp.groups {
                    let Some(poll) = poll(group) else {
                        // In a block that polls, the others wait for those.
                        if !polls_here {
                            waiters.push(cta.waiter(warp, group));
                        }
                        continue;
                    };
                    first.get_or_insert((cta, warp.index, *poll));
                    let of = |polled: &&mut Polled| polled.pc == poll.pc;
                    let threads = poll.mask.count_ones();
                    match polls.iter_mut().find(of) {
                        Some(polled) => polled.add(block, threads),
                        None => {
                            let instr = &cta.launch.kernel.code[poll.pc as usize];
                            polls.push(Polled::new(poll.pc, instr, block, threads));
                        }
                    }
                }
            }
        }
        let kind = ErrorKind::Polling {
            polls,
            waiters,
            ended,
            are_all: self.launch.clusters_to_run().1 == 1,
        };
        match first {
            None => kind.into(),
            Some((cta, warp, poll)) => {
                cta.locate(Fault::new(kind, poll.mask.trailing_zeros()).at(warp, poll.pc))
            }
        }
    }
}
