//! Barriers of a warp, of a CTA and of a cluster, and the exit of threads.

use std::rc::Rc;

use super::known::{Known, learn_together};
use super::{Clocks, Mark};
use crate::sim::exec::barrier::BARRIERS;
use crate::sim::isa::Scope;
use crate::sim::lane::{WARP, lanes};

/// What the threads of a CTA hand on to each other.
#[derive(Debug, Default)]
pub(super) struct CtaClocks {
    pub(super) arriving: [Option<Known>; BARRIERS],
    /// What the threads that left knew and did.
    pub(super) gone: Option<Known>,
}

impl Clocks {
    /// `bar.warp.sync` among lanes.
    pub fn meet(&mut self, warp: u32, mask: u32) {
        let mut known = self.nothing();
        self.release(warp, mask, &mut known);
        self.tell(warp, mask, &Rc::new(known));
    }

    /// Lanes arrive at a barrier.
    pub fn arrive(&mut self, warp: u32, mask: u32, barrier: usize) {
        let mut known = self.running().arriving[barrier]
            .take()
            .unwrap_or_else(|| self.nothing());
        self.release(warp, mask, &mut known);
        self.running().arriving[barrier] = Some(known);
    }

    /// A barrier opens for the lanes that wait at it, given for each warp; `whole` when no other
    /// thread of the block is left, `uncounted` when it waits for all threads, so that those that have left
    /// count as having arrived.
    pub fn open(&mut self, barrier: usize, waiting: &[(u32, u32)], whole: bool, uncounted: bool) {
        let mut known = self.running().arriving[barrier]
            .take()
            .unwrap_or_else(|| self.nothing());
        if let (true, Some(gone)) = (uncounted, &self.running().gone) {
            known.join(gone);
        }
        if whole {
            let warps = self.warp(0)..self.warp(self.shape.warps);
            let own = known.view.own.chunks(WARP).skip(warps.start);
            for (floor, own) in self.floor[warps].iter_mut().zip(own) {
                // Lanes that do not exist have done nothing.
                let present = own.iter().copied().filter(|&clock| clock > 0);
                *floor = present.min().unwrap_or(0);
            }
        }
        let known = Rc::new(known);
        for &(warp, mask) in waiting {
            self.tell(warp, mask, &known);
        }
    }

    /// Lanes leave; whoever passes a barrier of all threads later counts as having waited for them.
    pub fn exit(&mut self, warp: u32, mask: u32) {
        let mut gone = self.running().gone.take();
        let mut known = gone.take().unwrap_or_else(|| self.nothing());
        self.release(warp, mask, &mut known);
        self.running().gone = Some(known);
    }

    /// Whether all threads of a CTA that have left knew of an access when they did.
    pub fn was_known_at_exit(&self, mark: &Mark) -> bool {
        let gone = self.ctas[self.rank as usize].gone.as_ref();
        gone.is_some_and(|gone| self.is_known(mark, &gone.view, None))
    }

    /// Whether a thread knows that a CTA of the cluster runs.
    pub fn has_met(&self, thread: u32, rank: u32) -> bool {
        rank == self.rank || self.known[self.thread(thread)].met >> rank & 1 == 1
    }

    /// Lanes arrive at the cluster's barrier; without a release, only what a fence before it offers is handed on.
    pub fn arrive_at_cluster(&mut self, warp: u32, mask: u32, releases: bool) {
        let mut arriving = std::mem::take(&mut self.cluster[0]);
        arriving.met |= 1 << self.rank;
        match releases {
            true => self.release(warp, mask, &mut arriving),
            false => {
                let first = self.warp(warp) * WARP;
                for lane in lanes(mask) {
                    if let Some((known, scope)) = self.fenced.get(&(first + lane))
                        && *scope >= Scope::Cluster
                    {
                        arriving.join(known);
                    }
                }
            }
        }
        self.cluster[0] = arriving;
    }

    /// The cluster's barrier opens.
    pub fn open_cluster(&mut self) {
        let known = std::mem::take(&mut self.cluster[0]);
        self.cluster[1].join(&known);
    }

    /// Lanes have passed the cluster's barrier.
    pub fn pass_cluster(&mut self, warp: u32, mask: u32) {
        let first = self.warp(warp) * WARP;
        let learn = |known: &mut Known| known.join(&self.cluster[1]);
        learn_together(&mut self.known[first..first + WARP], mask, learn);
    }

    /// The CTA that runs.
    fn running(&mut self) -> &mut CtaClocks {
        &mut self.ctas[self.rank as usize]
    }
}
