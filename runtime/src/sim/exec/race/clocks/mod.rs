//! Who knows of what: vector clocks of the threads of a cluster.
//!
//! Each warp has a clock, which advances when one of its lanes releases something. An access is
//! stamped with the warp's clock; it is ordered before what a thread does when the thread knows of
//! its lane up to that clock. Knowledge travels through barriers, through fences together with
//! strong accesses that meet at one location, and through `bar.warp.sync` (PTX ISA 8.9, "axioms",
//! of which this is the operational part: what was observed in one run). Between accesses of two proxies
//! only that counts which went through a proxy fence on its way ([`Known::crossed`]), between an edit of a tensor map and its use
//! what was released and then acquired ([`Maps`](known::Maps)).
//!
//! The CTAs of a cluster run together and have one set of clocks; clusters run one after another. A CTA
//! is numbered by its cluster and its rank there.
//!
//! Threads that passed the same barrier share one vector; it is copied when one of them learns more.
//!
//! In reading order: [`known`] (what a thread knows of), here (the clocks, and whether an access is ordered before
//! another), then the ways to hand knowledge on: [`barriers`], [`mbarriers`], [`fences`].

mod barriers;
mod fences;
mod known;
mod mbarriers;

use std::collections::HashMap;
use std::rc::Rc;

use barriers::CtaClocks;
use fences::Published;
pub(in crate::sim::exec) use known::Known;
use known::{Reads, View};
use mbarriers::Phases;

use super::shadow::{BY_BARRIER, Mark};
use crate::sim::Space;
use crate::sim::isa::{PEER_SHIFT, Proxy, Scope};
use crate::sim::lane::{WARP, WARPGROUP, lanes};

/// CTAs of a cluster, and warps of a CTA.
#[derive(Debug, Clone, Copy)]
pub(in crate::sim::exec) struct Shape {
    pub ctas: u32,
    /// Those that execute instructions, and behind them an agent for each warpgroup, which does what `wgmma`
    /// reads of shared memory.
    pub warps: u32,
    /// The number of the first agent.
    pub agents: u32,
}

/// The clocks of a cluster, and what clusters left for each other.
#[derive(Debug)]
pub(super) struct Clocks {
    shape: Shape,
    /// Number of the cluster's first CTA.
    first: u32,
    /// Rank of the CTA that runs.
    rank: u32,
    /// The place of its first warp.
    first_warp: usize,
    /// Of each thread, CTA by CTA.
    known: Vec<Rc<Known>>,
    /// Of each warp.
    clock: Vec<u32>,
    /// Up to this clock of each warp, everything is known to every thread of its CTA.
    floor: Vec<u32>,
    ctas: Vec<CtaClocks>,
    /// What is handed on at the cluster's barrier: by those who have arrived, and to those who pass.
    cluster: [Known; 2],
    /// `mbarrier`s that bulk copies complete at.
    barriers: u32,
    /// What a release fence offers to the thread's later strong writes.
    fenced: HashMap<usize, (Rc<Known>, Scope)>,
    /// What strong reads saw, for the thread's next acquire fence.
    seen: HashMap<usize, Vec<Published>>,
    published: HashMap<(Space, u64), Published>,
    mbarriers: HashMap<u64, Phases>,
}

/// Bits of an address in a window, above which the rank of a CTA tells their windows apart.
const WINDOW_BITS: u32 = 40;

impl Clocks {
    pub fn new(shape: Shape) -> Clocks {
        let warps = (shape.ctas * shape.warps) as usize;
        let nothing = Rc::new(Known::nothing(warps * WARP));
        Clocks {
            shape,
            first: 0,
            rank: 0,
            first_warp: 0,
            known: vec![nothing; warps * WARP],
            clock: vec![1; warps],
            floor: vec![0; warps],
            ctas: (0..shape.ctas).map(|_| CtaClocks::default()).collect(),
            cluster: Default::default(),
            barriers: 0,
            fenced: HashMap::new(),
            seen: HashMap::new(),
            published: HashMap::new(),
            mbarriers: HashMap::new(),
        }
    }

    /// Begins the next cluster: its threads know nothing.
    pub fn start(&mut self, cluster: u32) {
        let nothing = Rc::new(Known::nothing(self.known.len()));
        self.first = cluster.wrapping_mul(self.shape.ctas);
        self.turn(0);
        self.known.fill(nothing);
        self.clock.fill(1);
        self.floor.fill(0);
        self.ctas.fill_with(CtaClocks::default);
        self.cluster = Default::default();
        self.barriers = 0;
        self.fenced.clear();
        self.seen.clear();
        self.mbarriers.clear();
        self.published
            .retain(|(space, _), _| *space == Space::Global);
    }

    /// The CTA of this rank goes on; what follows is told of its warps and threads.
    pub fn turn(&mut self, rank: u32) {
        self.rank = rank;
        self.first_warp = (rank * self.shape.warps) as usize;
    }

    /// Number of the CTA that runs.
    pub fn cta(&self) -> u32 {
        self.first + self.rank
    }

    /// The place of a warp of the CTA that runs.
    #[inline]
    fn warp(&self, warp: u32) -> usize {
        self.first_warp + warp as usize
    }

    /// The place of a thread of the CTA that runs.
    #[inline]
    fn thread(&self, thread: u32) -> usize {
        self.warp(0) * WARP + thread as usize
    }

    /// A location, with the CTA whose shared memory it is in.
    fn location(&self, space: Space, address: u64) -> (Space, u64) {
        match space {
            Space::Shared => (space, self.in_cta(address)),
            Space::Generic
            | Space::Global
            | Space::Cluster
            | Space::Local
            | Space::Param
            | Space::Const => (space, address),
        }
    }

    fn in_cta(&self, address: u64) -> u64 {
        let (rank, place) = self.home(address);
        place | u64::from(rank) << WINDOW_BITS
    }

    /// The rank of the CTA that an address of shared memory belongs to, and its place there.
    pub fn home(&self, address: u64) -> (u32, u64) {
        match (address >> PEER_SHIFT).checked_sub(1) {
            Some(rank) => (rank as u32, address & ((1 << PEER_SHIFT) - 1)),
            None => (self.rank, address),
        }
    }

    /// The smallest scope that holds the CTAs of two numbers.
    #[inline]
    fn common_scope(&self, one: u32, other: u32) -> Scope {
        if one == other {
            Scope::Cta
        } else if self.shape.ctas > 1 && one / self.shape.ctas == other / self.shape.ctas {
            Scope::Cluster
        } else {
            Scope::Gpu
        }
    }

    /// Whether two accesses are morally strong (PTX ISA 8.7.1), so that they need no order: strong ones of
    /// which each is in the scope of the other.
    #[inline]
    pub fn are_morally_strong(&self, one: &Mark, other: &Mark) -> bool {
        !one.is_weak()
            && !other.is_weak()
            && one.scope().min(other.scope()) >= Some(self.common_scope(one.cta, other.cta))
    }

    /// The agent of a warp's warpgroup.
    pub fn agent(&self, warp: u32) -> u32 {
        self.shape.agents + warp / WARPGROUP as u32
    }

    /// The thread of a lane of a warp; of an agent the first one of its warpgroup.
    pub fn first_thread(&self, warp: u32, lane: u32) -> u32 {
        match warp.checked_sub(self.shape.agents) {
            Some(warpgroup) => warpgroup * (WARPGROUP * WARP) as u32,
            None => warp * WARP as u32 + lane,
        }
    }

    /// The clock of the agent of a warp's warpgroup; it goes on.
    pub fn tick_agent(&mut self, warp: u32) -> u32 {
        let agent = self.warp(self.agent(warp));
        self.clock[agent] += 1;
        self.clock[agent] - 1
    }

    /// A warp learns what its warpgroup has done up to a clock, which is an implicit fence of the proxies
    /// (PTX ISA 9.7.15.1).
    pub fn pass_agent(&mut self, warp: u32, clock: u32) {
        let threads = self.known.len();
        let agent = self.warp(self.agent(warp)) * WARP;
        let first = self.warp(warp) * WARP;
        let mut last: Option<(Rc<Known>, Rc<Known>)> = None;
        for lane in first..first + WARP {
            let next = match &last {
                Some((old, new)) if Rc::ptr_eq(old, &self.known[lane]) => Rc::clone(new),
                _ => {
                    let mut known = (*self.known[lane]).clone();
                    let crossed = known.crossed[1].get_or_insert_default();
                    crossed.own.resize(threads, 0);
                    for own in [&mut known.view.own, &mut crossed.own] {
                        for own in &mut own[agent..agent + WARP] {
                            *own = clock.max(*own);
                        }
                    }
                    Rc::new(known)
                }
            };
            let old = std::mem::replace(&mut self.known[lane], Rc::clone(&next));
            last = Some((old, next));
        }
    }

    /// The clock that a warp's accesses are stamped with.
    #[inline]
    pub fn now(&self, warp: u32) -> u32 {
        self.clock[self.warp(warp)]
    }

    /// Whether an access is ordered before another one, which the thread makes now.
    #[inline]
    pub fn is_before(
        &self,
        mark: &Mark,
        next: &Mark,
        (space, address): (Space, u64),
        thread: u32,
    ) -> bool {
        let thread = self.thread(thread);
        let known = &self.known[thread];
        if mark.clock >= BY_BARRIER {
            // What has arrived is there for the whole cluster, whichever proxy uses it; who tells of it may have a narrower scope.
            let told = known.reads.as_ref();
            return self.is_phase_known(mark, &known.view)
                || told.is_some_and(|told| self.is_phase_known(mark, &told.view));
        }
        if mark.is_of_another_proxy(next) {
            let crossed = match (next.proxy(), space) {
                (Proxy::TensorMap, _) => known.acquired_map(address),
                (Proxy::Generic | Proxy::Async, Space::Shared) => known.crossed[1].as_deref(),
                (Proxy::Generic | Proxy::Async, _) => known.crossed[0].as_deref(),
            };
            return crossed.is_some_and(|crossed| self.is_before_across(mark, crossed));
        }
        let rank = mark.cta.wrapping_sub(self.first);
        let warp = if rank == self.rank {
            let warp = self.first_warp + mark.warp() as usize;
            if mark.clock <= self.floor[warp] {
                return true;
            }
            warp
        } else if rank < self.shape.ctas {
            (rank * self.shape.warps + mark.warp()) as usize
        } else {
            return self.knows_of_cluster(&known.view, mark);
        };
        lanes(mark.lanes).all(|lane| {
            let other = warp * WARP + lane;
            other == thread || known.view.own[other] >= mark.clock
        })
    }

    /// Whether a read is ordered before a write that the thread makes now.
    ///
    /// A load is not complete when its thread arrives at an `mbarrier`, and a bulk copy, or what another block stores, overtakes
    /// it (`overtake.py` shows both). So where threads have read and a copy writes, a proxy fence lies between, and an arrival
    /// at another block's barrier with a scope that does not reach there tells of loads behind such a fence alone. What a copy or
    /// `wgmma` has read was waited for, which is enough.
    pub fn is_read_before(
        &self,
        mark: &Mark,
        next: &Mark,
        place: (Space, u64),
        thread: u32,
    ) -> bool {
        let known = &self.known[self.thread(thread)];
        let by_thread = mark.proxy() == Proxy::Generic;
        let is_ordered = match by_thread && next.proxy() == Proxy::Async {
            true => self.is_before(mark, next, place, thread),
            false => {
                let warp = self.warp(mark.warp());
                mark.cta == self.cta() && mark.clock <= self.floor[warp]
                    || self.is_known(mark, &known.view, Some(self.thread(thread)))
            }
        };
        let is_told = |told: &Reads| match by_thread {
            true => self.is_before_across(mark, &told.crossed),
            false => self.is_known(mark, &told.view, None),
        };
        is_ordered || known.reads.as_deref().is_some_and(is_told)
    }

    /// Whether an access is in a view, as that of a thread, who knows of itself.
    fn is_known(&self, mark: &Mark, view: &View, thread: Option<usize>) -> bool {
        if mark.clock >= BY_BARRIER {
            return self.is_phase_known(mark, view);
        }
        let rank = mark.cta.wrapping_sub(self.first);
        if rank >= self.shape.ctas {
            return self.knows_of_cluster(view, mark);
        }
        let first = (rank * self.shape.warps + mark.warp()) as usize * WARP;
        let is_known = |clock: &u32| *clock >= mark.clock;
        lanes(mark.lanes).all(|lane| {
            Some(first + lane) == thread || view.own.get(first + lane).is_some_and(is_known)
        })
    }

    #[cold]
    fn knows_of_cluster(&self, view: &View, mark: &Mark) -> bool {
        let (cluster, rank) = (mark.cta / self.shape.ctas, mark.cta % self.shape.ctas);
        let first = (rank * self.shape.warps + mark.warp()) as usize * WARP;
        let known = view.others.get(&cluster);
        known.is_some_and(|clocks| {
            lanes(mark.lanes).all(|lane| {
                let clock = clocks.get(first + lane);
                clock.is_some_and(|&clock| clock >= mark.clock)
            })
        })
    }

    /// The same where the two are of different proxies: not even the thread's own program order counts.
    #[cold]
    fn is_before_across(&self, mark: &Mark, crossed: &View) -> bool {
        let rank = mark.cta.wrapping_sub(self.first);
        if rank >= self.shape.ctas {
            return self.knows_of_cluster(crossed, mark);
        }
        let first = (rank * self.shape.warps + mark.warp()) as usize * WARP;
        lanes(mark.lanes).all(|lane| {
            let clock = crossed.own.get(first + lane);
            clock.is_some_and(|&clock| clock >= mark.clock)
        })
    }

    /// What lanes of a warp know together, their own deeds up to now included; the warp's clock
    /// goes on.
    fn release(&mut self, warp: u32, mask: u32, into: &mut Known) {
        let warp = self.warp(warp);
        let first = warp * WARP;
        let mut last: Option<&Rc<Known>> = None;
        for lane in lanes(mask) {
            let known = &self.known[first + lane];
            if !last.is_some_and(|last| Rc::ptr_eq(last, known)) {
                into.join(known);
                last = Some(known);
            }
            into.view.own.resize(self.known.len(), 0);
            into.view.own[first + lane] = self.clock[warp];
        }
        into.met |= 1 << self.rank;
        self.clock[warp] += 1;
    }

    fn nothing(&self) -> Known {
        Known::nothing(self.known.len())
    }

    fn tell(&mut self, warp: u32, mask: u32, known: &Rc<Known>) {
        let first = self.warp(warp) * WARP;
        for lane in lanes(mask) {
            self.known[first + lane] = Rc::clone(known);
        }
    }
}
