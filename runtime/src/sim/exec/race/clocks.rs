//! Who knows of what: vector clocks of the threads of a block.
//!
//! Each warp has a clock, which advances when one of its lanes releases something. An access is
//! stamped with the warp's clock; it is ordered before what a thread does when the thread knows of
//! its lane up to that clock. Knowledge travels through barriers, through fences together with
//! strong accesses that meet at one location, and through `bar.warp.sync` (PTX ISA 8.9, "axioms",
//! of which this is the operational part: what was observed in one run).
//!
//! Threads that passed the same barrier share one vector; it is copied when one of them learns more.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::shadow::Mark;
use crate::sim::Space;
use crate::sim::exec::barrier::BARRIERS;
use crate::sim::isa::{Order, Scope};
use crate::sim::lane::{WARP, lanes};

/// Clock of what is not ordered before anything, its own thread's next instruction included.
pub(super) const IN_FLIGHT: u32 = u32::MAX;

/// Up to which clock each thread's deeds are known.
#[derive(Debug, Clone, Default)]
pub(in crate::sim::exec) struct Known {
    /// Threads of the own block.
    own: Vec<u32>,
    /// Threads of other blocks.
    others: BTreeMap<u32, Rc<Vec<u32>>>,
}

impl Known {
    fn nothing(threads: usize) -> Known {
        Known {
            own: vec![0; threads],
            others: BTreeMap::new(),
        }
    }

    fn join(&mut self, other: &Known) {
        raise(&mut self.own, &other.own);
        for (&block, clocks) in &other.others {
            self.join_block(block, clocks);
        }
    }

    fn join_block(&mut self, block: u32, clocks: &Rc<Vec<u32>>) {
        match self.others.entry(block) {
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
}

fn raise(clocks: &mut Vec<u32>, by: &[u32]) {
    clocks.resize(clocks.len().max(by.len()), 0);
    for (clock, &by) in clocks.iter_mut().zip(by) {
        *clock = (*clock).max(by);
    }
}

fn narrower(a: Scope, b: Scope) -> Scope {
    match (a, b) {
        (Scope::Device, Scope::Device) => Scope::Device,
        _ => Scope::Cta,
    }
}

/// What a strong write left at a location for those who read it.
#[derive(Debug, Clone)]
struct Published {
    block: u32,
    scope: Scope,
    known: Rc<Known>,
}

/// The clocks of a block, and what blocks left for each other.
#[derive(Debug)]
pub(super) struct Clocks {
    block: u32,
    known: Vec<Rc<Known>>,
    clock: Vec<u32>,
    /// Up to this clock of each warp, everything is known to every thread of the block.
    floor: Vec<u32>,
    arriving: [Option<Known>; BARRIERS],
    /// What the threads that left knew and did.
    gone: Option<Known>,
    /// What a release fence offers to the thread's later strong writes.
    fenced: HashMap<u32, (Rc<Known>, Scope)>,
    /// What strong reads saw, for the thread's next acquire fence.
    seen: HashMap<u32, Vec<Published>>,
    published: HashMap<(Space, u64), Published>,
    mbarriers: HashMap<u64, Phases>,
}

/// What arrivals at an `mbarrier` released.
#[derive(Debug, Default)]
struct Phases {
    /// In the phase that is not complete.
    open: Known,
    /// In those that are.
    complete: Known,
}

impl Clocks {
    pub fn new(threads: usize) -> Clocks {
        let warps = threads.div_ceil(WARP);
        let nothing = Rc::new(Known::nothing(warps * WARP));
        Clocks {
            block: 0,
            known: vec![nothing; warps * WARP],
            clock: vec![1; warps],
            floor: vec![0; warps],
            arriving: Default::default(),
            gone: None,
            fenced: HashMap::new(),
            seen: HashMap::new(),
            published: HashMap::new(),
            mbarriers: HashMap::new(),
        }
    }

    /// Begins the next block: its threads know nothing.
    pub fn start(&mut self, block: u32) {
        let nothing = Rc::new(Known::nothing(self.known.len()));
        self.block = block;
        self.known.fill(nothing);
        self.clock.fill(1);
        self.floor.fill(0);
        self.arriving = Default::default();
        self.gone = None;
        self.fenced.clear();
        self.seen.clear();
        self.mbarriers.clear();
        self.published
            .retain(|(space, _), _| *space == Space::Global);
    }

    /// The block that runs.
    pub fn block(&self) -> u32 {
        self.block
    }

    /// The clock that a warp's accesses are stamped with.
    #[inline]
    pub fn now(&self, warp: u32) -> u32 {
        self.clock[warp as usize]
    }

    /// Whether an access is ordered before what the thread does now.
    #[inline]
    pub fn is_before(&self, mark: &Mark, thread: u32) -> bool {
        if mark.block != self.block {
            return self.knows_of_block(mark, thread);
        }
        let warp = mark.warp();
        if mark.clock <= self.floor[warp as usize] {
            return true;
        }
        if mark.clock == IN_FLIGHT {
            return false;
        }
        let known = &self.known[thread as usize].own;
        lanes(mark.lanes).all(|lane| {
            let other = warp * WARP as u32 + lane as u32;
            other == thread || known[other as usize] >= mark.clock
        })
    }

    #[cold]
    fn knows_of_block(&self, mark: &Mark, thread: u32) -> bool {
        let known = self.known[thread as usize].others.get(&mark.block);
        known.is_some_and(|clocks| {
            lanes(mark.lanes).all(|lane| {
                let other = mark.warp() as usize * WARP + lane;
                clocks.get(other).is_some_and(|&clock| clock >= mark.clock)
            })
        })
    }

    /// What lanes of a warp know together, their own deeds up to now included; the warp's clock
    /// goes on.
    fn release(&mut self, warp: u32, mask: u32, into: &mut Known) {
        let first = warp as usize * WARP;
        let mut last: Option<&Rc<Known>> = None;
        for lane in lanes(mask) {
            let known = &self.known[first + lane];
            if !last.is_some_and(|last| Rc::ptr_eq(last, known)) {
                into.join(known);
                last = Some(known);
            }
            into.own[first + lane] = self.clock[warp as usize];
        }
        self.clock[warp as usize] += 1;
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
        for lane in lanes(mask) {
            self.known[warp as usize * WARP + lane] = Rc::clone(known);
        }
    }

    /// Lanes arrive at a barrier.
    pub fn arrive(&mut self, warp: u32, mask: u32, barrier: usize) {
        let mut known = self.arriving[barrier]
            .take()
            .unwrap_or_else(|| self.nothing());
        self.release(warp, mask, &mut known);
        self.arriving[barrier] = Some(known);
    }

    /// A barrier opens for the lanes that wait at it, given for each warp; `whole` when no other
    /// thread of the block is left, `uncounted` when it waits for all threads, so that those that have left
    /// count as having arrived.
    pub fn open(&mut self, barrier: usize, waiting: &[(u32, u32)], whole: bool, uncounted: bool) {
        let mut known = self.arriving[barrier]
            .take()
            .unwrap_or_else(|| self.nothing());
        if let (true, Some(gone)) = (uncounted, &self.gone) {
            known.join(gone);
        }
        if whole {
            for (floor, own) in self.floor.iter_mut().zip(known.own.chunks(WARP)) {
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
        let mut gone = self.gone.take().unwrap_or_else(|| self.nothing());
        self.release(warp, mask, &mut gone);
        self.gone = Some(gone);
    }

    /// What lanes know, their own deeds up to now included.
    pub fn depart(&mut self, warp: u32, mask: u32) -> Known {
        let mut known = self.nothing();
        self.release(warp, mask, &mut known);
        known
    }

    /// An arrival at an `mbarrier` hands on what is known.
    pub fn signal(&mut self, address: u64, known: &Known) {
        let phases = self.mbarriers.entry(address).or_default();
        phases.open.join(known);
    }

    /// A phase is complete.
    pub fn complete_phase(&mut self, address: u64) {
        if let Some(phases) = self.mbarriers.get_mut(&address) {
            let known = std::mem::take(&mut phases.open);
            phases.complete.join(&known);
        }
    }

    /// A thread has seen that a phase is complete.
    pub fn pass(&mut self, address: u64, thread: u32) {
        if let Some(phases) = self.mbarriers.get(&address) {
            Rc::make_mut(&mut self.known[thread as usize]).join(&phases.complete);
        }
    }

    /// Nobody has arrived at a new `mbarrier`.
    pub fn forget_mbarrier(&mut self, address: u64) {
        self.mbarriers.remove(&address);
    }

    /// `fence` of lanes.
    pub fn fence(&mut self, warp: u32, mask: u32, order: Order) {
        for lane in lanes(mask) {
            let thread = warp * WARP as u32 + lane as u32;
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

    fn acquire(&mut self, thread: u32, published: &Published, scope: Scope) {
        let known = Rc::make_mut(&mut self.known[thread as usize]);
        if published.block == self.block {
            known.join(&published.known);
            return;
        }
        if narrower(published.scope, scope) == Scope::Cta {
            return;
        }
        let others = published.known.others.iter();
        for (&block, clocks) in others.filter(|(block, _)| **block != self.block) {
            known.join_block(block, clocks);
        }
        known.join_block(published.block, &Rc::new(published.known.own.clone()));
    }

    /// A strong access of one thread to a location.
    pub fn synchronize(
        &mut self,
        thread: u32,
        location: (Space, u64),
        order: Order,
        reads: bool,
        writes: bool,
    ) {
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
        let (warp, lane) = (thread / WARP as u32, thread % WARP as u32);
        let offered = if order.release {
            let mut known = self.nothing();
            self.release(warp, 1 << lane, &mut known);
            Some((Rc::new(known), order.scope))
        } else {
            self.fenced.get(&thread).cloned()
        };
        let old = self.published.remove(&location);
        let scope = offered.as_ref().map_or(order.scope, |(_, scope)| *scope);
        let new = match (offered.map(|(known, _)| known), old) {
            (Some(known), Some(old)) if reads && old.block == self.block => {
                // An update continues what others released there before.
                let mut joined = (*known).clone();
                joined.join(&old.known);
                Some(Rc::new(joined))
            }
            (Some(known), Some(old)) if reads && old.scope == Scope::Device => {
                let mut joined = (*known).clone();
                for (&block, clocks) in &old.known.others {
                    joined.join_block(block, clocks);
                }
                joined.join_block(old.block, &Rc::new(old.known.own.clone()));
                Some(Rc::new(joined))
            }
            (Some(known), _) => Some(known),
            (None, Some(old)) if reads => {
                self.published.insert(location, old);
                None
            }
            (None, _) => None,
        };
        if let Some(known) = new {
            let published = Published {
                block: self.block,
                scope: narrower(order.scope, scope),
                known,
            };
            self.published.insert(location, published);
        }
    }
}
