//! `mbarrier`s: what arrivals release, to whom, and what bulk copies complete at them.

use super::known::{Known, View, learn_together};
use super::{Clocks, Mark};
use crate::sim::exec::race::shadow::{BY_BARRIER, IN_FLIGHT};
use crate::sim::isa::Scope;
use crate::sim::lane::WARP;

/// Bits of such a clock in which it has the phase, from 1.
const PHASE_BITS: u32 = 20;
/// As many `mbarrier`s of a cluster are told apart.
const MOST_BARRIERS: u32 = (1 << (31 - PHASE_BITS)) - 1;

/// What arrivals at an `mbarrier` released.
#[derive(Debug, Default)]
pub(super) struct Phases {
    /// In the phase that is not complete.
    open: Arrived,
    /// In those that are.
    complete: Arrived,
    /// How many are complete.
    count: u32,
    /// Its number, if bulk copies complete at it.
    number: Option<u32>,
}

/// What arrivals released.
#[derive(Debug, Default)]
struct Arrived {
    /// In the CTA itself.
    own: Known,
    /// In other CTAs, with the scope of the cluster.
    cluster: Known,
    /// In other CTAs, with the scope of a CTA.
    cta: Known,
}

impl Arrived {
    /// Tells who has waited with a scope.
    fn tell(&self, known: &mut Known, scope: Scope) {
        let Arrived { own, cluster, cta } = self;
        known.join(own);
        known.met |= cluster.met | cta.met;
        let reaches = scope >= Scope::Cluster;
        if reaches {
            known.join(cluster);
        }
        for (narrow, is_narrow) in [(cta, true), (cluster, !reaches)] {
            if is_narrow && narrow.met != 0 {
                known.reads.get_or_insert_default().learn(narrow);
            }
        }
    }

    fn join(&mut self, other: &Arrived) {
        self.own.join(&other.own);
        self.cluster.join(&other.cluster);
        self.cta.join(&other.cta);
    }
}

impl Clocks {
    /// What lanes know, their own deeds up to now included.
    pub fn depart(&mut self, warp: u32, mask: u32) -> Known {
        let mut known = self.nothing();
        self.release(warp, mask, &mut known);
        known
    }

    /// An arrival at an `mbarrier` hands on what is known, as far as its scope reaches.
    pub fn signal(&mut self, address: u64, known: &Known, scope: Scope) {
        let (rank, _) = self.home(address);
        let address = self.in_cta(address);
        let phases = self.mbarriers.entry(address).or_default();
        match () {
            _ if rank == self.rank => phases.open.own.join(known),
            _ if scope >= Scope::Cluster => phases.open.cluster.join(known),
            () => phases.open.cta.join(known),
        }
    }

    /// A phase is complete.
    pub fn complete_phase(&mut self, address: u64) {
        let address = self.in_cta(address);
        let phases = self.mbarriers.entry(address).or_default();
        let known = std::mem::take(&mut phases.open);
        phases.complete.join(&known);
        phases.count += 1;
        if let Some(number) = phases.number {
            let known = &mut phases.complete.own.view.phases;
            known.resize(known.len().max(number as usize + 1), 0);
            known[number as usize] = phases.count;
        }
    }

    /// Lanes have seen that a phase is complete.
    pub fn pass(&mut self, address: u64, warp: u32, mask: u32, scope: Scope) {
        let first = self.warp(warp) * WARP;
        if let Some(phases) = self.mbarriers.get(&self.in_cta(address)) {
            let learn = |known: &mut Known| phases.complete.tell(known, scope);
            learn_together(&mut self.known[first..first + WARP], mask, learn);
        }
    }

    /// Nobody has arrived at a new `mbarrier`.
    pub fn forget_mbarrier(&mut self, address: u64) {
        self.mbarriers.remove(&self.in_cta(address));
    }

    /// The clock of what completes in the open phase of an `mbarrier`; nothing where there are too many of them.
    pub fn phase_clock(&mut self, address: u64) -> u32 {
        let address = self.in_cta(address);
        let phases = self.mbarriers.entry(address).or_default();
        let number = *phases.number.get_or_insert_with(|| {
            self.barriers += 1;
            self.barriers - 1
        });
        let phase = phases.count + 1;
        match number < MOST_BARRIERS && phase < 1 << PHASE_BITS {
            true => BY_BARRIER | number << PHASE_BITS | phase,
            false => 0,
        }
    }

    /// Whether the phase is known to be complete in which a bulk copy was.
    #[cold]
    pub(super) fn is_phase_known(&self, mark: &Mark, view: &View) -> bool {
        if mark.clock == IN_FLIGHT {
            return false;
        }
        if mark.cta.wrapping_sub(self.first) >= self.shape.ctas {
            // Numbers are those of its own cluster, and have been forgotten with it.
            return view.others.contains_key(&(mark.cta / self.shape.ctas));
        }
        let (number, phase) = phase_of(mark.clock);
        let known = view.phases.get(number as usize);
        known.is_some_and(|&known| known >= phase)
    }
}

/// The number of an `mbarrier`, and its phase from 1.
fn phase_of(clock: u32) -> (u32, u32) {
    let clock = clock & !BY_BARRIER;
    (clock >> PHASE_BITS, clock & ((1 << PHASE_BITS) - 1))
}
