//! Who knows of what: vector clocks of the threads of a cluster.
//!
//! Each warp has a clock, which advances when one of its lanes releases something. An access is
//! stamped with the warp's clock; it is ordered before what a thread does when the thread knows of
//! its lane up to that clock. Knowledge travels through barriers, through fences together with
//! strong accesses that meet at one location, and through `bar.warp.sync` (PTX ISA 8.9, "axioms",
//! of which this is the operational part: what was observed in one run). Between accesses of two proxies
//! only that counts which went through a proxy fence on its way ([`Known::crossed`]).
//!
//! The CTAs of a cluster run together and have one set of clocks; clusters run one after another. A CTA
//! is numbered by its cluster and its rank there.
//!
//! Threads that passed the same barrier share one vector; it is copied when one of them learns more.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::shadow::Mark;
use crate::sim::Space;
use crate::sim::exec::barrier::BARRIERS;
use crate::sim::isa::{Order, PEER_SHIFT, ProxyFence, Scope};
use crate::sim::lane::{WARP, lanes};

/// Clock of what is not ordered before anything, its own thread's next instruction included.
pub(super) const IN_FLIGHT: u32 = u32::MAX;
/// From here on, clocks are those of `mbarrier`s: what a bulk copy accessed that completed in a phase of one is known
/// to who has seen that phase complete. Above the bits of the phase stands the number of the `mbarrier`.
pub(super) const BY_BARRIER: u32 = 1 << 31;
/// Bits of such a clock in which it has the phase, from 1.
const PHASE_BITS: u32 = 20;
/// As many `mbarrier`s of a cluster are told apart.
const MOST_BARRIERS: u32 = (1 << (31 - PHASE_BITS)) - 1;

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

/// Warps of a warpgroup.
const WARPGROUP: u32 = 4;

/// Up to which clock each thread's deeds are known.
#[derive(Debug, Clone, Default)]
struct View {
    /// Threads of the own cluster.
    own: Vec<u32>,
    /// Threads of other clusters.
    others: BTreeMap<u32, Rc<Vec<u32>>>,
    /// Phases of `mbarrier`s that bulk copies complete at, by number.
    phases: Vec<u32>,
}

impl View {
    fn nothing(threads: usize) -> View {
        View {
            own: vec![0; threads],
            others: BTreeMap::new(),
            phases: Vec::new(),
        }
    }

    fn join(&mut self, other: &View) {
        raise(&mut self.own, &other.own);
        raise(&mut self.phases, &other.phases);
        for (&cluster, clocks) in &other.others {
            self.join_cluster(cluster, clocks);
        }
    }

    fn join_cluster(&mut self, cluster: u32, clocks: &Rc<Vec<u32>>) {
        match self.others.entry(cluster) {
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(Rc::clone(clocks));
            }
            std::collections::btree_map::Entry::Occupied(mut entry) => {
                if !Rc::ptr_eq(entry.get(), clocks) {
                    let own: &mut Vec<u32> = Rc::make_mut(entry.get_mut());
                    raise(own, clocks);
                }
            }
        }
    }

    /// Learns what a thread of `cluster` knows, from the point of view of a thread of `own`.
    fn join_from(&mut self, own: u32, cluster: u32, other: &View) {
        let others = other.others.iter();
        for (&cluster, clocks) in others.filter(|(cluster, _)| **cluster != own) {
            self.join_cluster(cluster, clocks);
        }
        self.join_cluster(cluster, &Rc::new(other.own.clone()));
    }
}

/// What a thread knows of.
#[derive(Debug, Clone, Default)]
pub(in crate::sim::exec) struct Known {
    view: View,
    /// What of that went through a proxy fence for global and for shared memory.
    crossed: [Option<Box<View>>; 2],
    /// What arrivals from other CTAs told whose scope does not reach so far: enough to write over what was read.
    reads: Option<Box<View>>,
    /// The CTAs of the cluster that are known to run, a bit each.
    met: u32,
}

impl Known {
    fn nothing(threads: usize) -> Known {
        Known {
            view: View::nothing(threads),
            crossed: [None, None],
            reads: None,
            met: 0,
        }
    }

    fn join(&mut self, other: &Known) {
        self.view.join(&other.view);
        self.met |= other.met;
        if let Some(reads) = &other.reads {
            self.reads.get_or_insert_default().join(reads);
        }
        for (crossed, other) in self.crossed.iter_mut().zip(&other.crossed) {
            if let Some(other) = other {
                crossed.get_or_insert_default().join(other);
            }
        }
    }

    fn join_from(&mut self, own: u32, cluster: u32, other: &Known) {
        self.view.join_from(own, cluster, &other.view);
        for (crossed, other) in self.crossed.iter_mut().zip(&other.crossed) {
            if let Some(other) = other {
                crossed
                    .get_or_insert_default()
                    .join_from(own, cluster, other);
            }
        }
    }

    /// Passes everything through a proxy fence.
    fn cross(&mut self, fence: ProxyFence) {
        for (crossed, fenced) in self.crossed.iter_mut().zip([fence.global, fence.shared]) {
            if fenced {
                crossed.get_or_insert_default().join(&self.view);
            }
        }
    }
}

/// Lanes of a warp learn the same; those that have shared what they know do so afterwards.
fn learn_together(known: &mut [Rc<Known>], mask: u32, learn: impl Fn(&mut Known)) {
    let mut last: Option<(Rc<Known>, Rc<Known>)> = None;
    for lane in lanes(mask) {
        let next = match &last {
            Some((old, new)) if Rc::ptr_eq(old, &known[lane]) => Rc::clone(new),
            _ => {
                let mut next = (*known[lane]).clone();
                learn(&mut next);
                Rc::new(next)
            }
        };
        let old = std::mem::replace(&mut known[lane], Rc::clone(&next));
        last = Some((old, next));
    }
}

/// The number of an `mbarrier`, and its phase from 1.
fn phase_of(clock: u32) -> (u32, u32) {
    let clock = clock & !BY_BARRIER;
    (clock >> PHASE_BITS, clock & ((1 << PHASE_BITS) - 1))
}

fn raise(clocks: &mut Vec<u32>, by: &[u32]) {
    clocks.resize(clocks.len().max(by.len()), 0);
    for (clock, &by) in clocks.iter_mut().zip(by) {
        *clock = (*clock).max(by);
    }
}

/// What a strong write left at a location for those who read it.
#[derive(Debug, Clone)]
struct Published {
    cta: u32,
    scope: Scope,
    known: Rc<Known>,
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

/// What the threads of a CTA hand on to each other.
#[derive(Debug, Default)]
struct CtaClocks {
    arriving: [Option<Known>; BARRIERS],
    /// What the threads that left knew and did.
    gone: Option<Known>,
}

/// What arrivals at an `mbarrier` released.
#[derive(Debug, Default)]
struct Phases {
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
                known.reads.get_or_insert_default().join(&narrow.view);
            }
        }
    }

    fn join(&mut self, other: &Arrived) {
        self.own.join(&other.own);
        self.cluster.join(&other.cluster);
        self.cta.join(&other.cta);
    }
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
            _ => (space, address),
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
        self.shape.agents + warp / WARPGROUP
    }

    /// The thread of a lane of a warp; of an agent the first one of its warpgroup.
    pub fn first_thread(&self, warp: u32, lane: u32) -> u32 {
        match warp.checked_sub(self.shape.agents) {
            Some(warpgroup) => warpgroup * WARPGROUP * WARP as u32,
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
    pub fn is_before(&self, mark: &Mark, next: &Mark, space: Space, thread: u32) -> bool {
        let thread = self.thread(thread);
        let known = &self.known[thread];
        if mark.is_of_another_proxy(next) {
            return self.is_before_across(mark, space, known);
        }
        if mark.clock >= BY_BARRIER {
            // What has arrived is there for the whole cluster; who tells of it may have a narrower scope.
            let told = known.reads.as_ref();
            return self.is_phase_known(mark, &known.view)
                || told.is_some_and(|told| self.is_phase_known(mark, told));
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

    /// Whether a read is ordered before a write that the thread makes now. A fence of the proxies is not asked for:
    /// nothing is written that the other one could miss.
    pub fn is_read_before(&self, mark: &Mark, thread: u32) -> bool {
        if mark.cta == self.cta() && mark.clock <= self.floor[self.warp(mark.warp())] {
            return true;
        }
        let thread = self.thread(thread);
        let known = &self.known[thread];
        self.is_known(mark, &known.view, Some(thread))
            || known
                .reads
                .as_ref()
                .is_some_and(|reads| self.is_known(mark, reads, None))
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

    /// Whether the phase is known to be complete in which a bulk copy was.
    #[cold]
    fn is_phase_known(&self, mark: &Mark, view: &View) -> bool {
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

    /// Whether all threads of a CTA that have left knew of an access when they did.
    pub fn was_known_at_exit(&self, mark: &Mark) -> bool {
        let gone = self.ctas[self.rank as usize].gone.as_ref();
        gone.is_some_and(|gone| self.is_known(mark, &gone.view, None))
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
    fn is_before_across(&self, mark: &Mark, space: Space, known: &Known) -> bool {
        let [global, shared] = &known.crossed;
        let crossed = match space {
            Space::Shared => shared,
            _ => global,
        };
        let Some(crossed) = crossed else {
            return false;
        };
        let rank = mark.cta.wrapping_sub(self.first);
        if rank >= self.shape.ctas {
            return self.knows_of_cluster(crossed, mark);
        }
        let first = (rank * self.shape.warps + mark.warp()) as usize * WARP;
        lanes(mark.lanes).all(|lane| {
            let clock = crossed.own.get(first + lane);
            clock.is_some_and(|&clock| mark.clock < BY_BARRIER && clock >= mark.clock)
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

    /// The CTA that runs.
    fn running(&mut self) -> &mut CtaClocks {
        &mut self.ctas[self.rank as usize]
    }

    fn nothing(&self) -> Known {
        Known::nothing(self.known.len())
    }

    /// `bar.warp.sync` among lanes.
    pub fn meet(&mut self, warp: u32, mask: u32) {
        let mut known = self.nothing();
        self.release(warp, mask, &mut known);
        self.tell(warp, mask, &Rc::new(known));
    }

    fn tell(&mut self, warp: u32, mask: u32, known: &Rc<Known>) {
        let first = self.warp(warp) * WARP;
        for lane in lanes(mask) {
            self.known[first + lane] = Rc::clone(known);
        }
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

    /// `fence` of lanes.
    pub fn fence(&mut self, warp: u32, mask: u32, order: Order) {
        for lane in lanes(mask) {
            let thread = self.warp(warp) * WARP + lane;
            if order.acquire {
                for published in self.seen.remove(&thread).unwrap_or_default() {
                    self.acquire(thread, &published, order.scope);
                }
            }
            if order.release {
                let mut known = self.nothing();
                self.release(warp, 1 << lane, &mut known);
                self.fenced.insert(thread, (Rc::new(known), order.scope));
            }
        }
    }

    /// `fence.proxy` of lanes: what they know and did is ordered before accesses of another proxy.
    pub fn fence_proxy(&mut self, warp: u32, mask: u32, fence: ProxyFence) {
        let first = self.warp(warp) * WARP;
        let clock = self.clock[self.warp(warp)];
        for lane in lanes(mask) {
            let known = Rc::make_mut(&mut self.known[first + lane]);
            known.view.own[first + lane] = clock;
            known.cross(fence);
        }
        self.clock[first / WARP] += 1;
    }

    /// A thread learns what was published, as far as both scopes reach.
    fn acquire(&mut self, thread: usize, published: &Published, scope: Scope) {
        let (own, cta) = (self.first / self.shape.ctas, published.cta);
        let common = self.common_scope(cta, self.cta());
        let known = Rc::make_mut(&mut self.known[thread]);
        if published.scope.min(scope) < common {
            return;
        }
        match common {
            Scope::Cta | Scope::Cluster => known.join(&published.known),
            Scope::Gpu | Scope::Sys => {
                known.join_from(own, cta / self.shape.ctas, &published.known);
            }
        }
    }

    /// A strong access of one thread to a location.
    pub fn synchronize(
        &mut self,
        thread: u32,
        (space, address): (Space, u64),
        order: Order,
        reads: bool,
        writes: bool,
    ) {
        let location = self.location(space, address);
        let (warp, lane) = (thread / WARP as u32, thread % WARP as u32);
        let thread = self.thread(thread);
        if reads && let Some(published) = self.published.get(&location).cloned() {
            if order.acquire {
                self.acquire(thread, &published, order.scope);
            } else {
                self.seen.entry(thread).or_default().push(published);
            }
        }
        if !writes {
            return;
        }
        let old = self.published.remove(&location);
        let offered = if order.release {
            let mut known = self.nothing();
            self.release(warp, 1 << lane, &mut known);
            Some((Rc::new(known), order.scope))
        } else {
            self.fenced.get(&thread).cloned()
        };
        let Some((known, scope)) = offered else {
            // An update leaves what others released there before.
            if let (true, Some(old)) = (reads, old) {
                self.published.insert(location, old);
            }
            return;
        };
        let known = match old {
            Some(old) if reads => self.continued(&known, &old),
            _ => known,
        };
        let published = Published {
            cta: self.cta(),
            scope: order.scope.min(scope),
            known,
        };
        self.published.insert(location, published);
    }

    /// What an update releases together with what was released at its location before.
    fn continued(&self, known: &Rc<Known>, old: &Published) -> Rc<Known> {
        let common = self.common_scope(old.cta, self.cta());
        if old.scope < common {
            return Rc::clone(known);
        }
        let mut joined = (**known).clone();
        match common {
            Scope::Cta | Scope::Cluster => joined.join(&old.known),
            Scope::Gpu | Scope::Sys => {
                let own = self.first / self.shape.ctas;
                joined.join_from(own, old.cta / self.shape.ctas, &old.known);
            }
        }
        Rc::new(joined)
    }
}
