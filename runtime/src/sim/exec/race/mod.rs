//! Data races: two accesses to a byte, one of them a write, that nothing orders.
//!
//! In reading order: [`clocks`] (what is ordered before what), [`shadow`] (who touched a byte last),
//! and here, where an access is compared with those before it.
//!
//! The check follows FastTrack (Flanagan and Freund, 2009), extended by accesses that need no order (morally
//! strong ones, stores of one value by one instruction, and those of one scatter): an access is forgotten for a later one that is
//! ordered after it and subsumes it. What it reports
//! is a race of the run at hand, whichever order the simulator happened to choose; a race in a
//! branch that was not taken is not seen. Clusters run one after another while it is on, the CTAs of one together.

mod clocks;
mod shadow;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use clocks::Clocks;
pub(super) use clocks::{Known, Shape};
pub(super) use shadow::PAGE;
use shadow::{BY_BARRIER, Cell, IN_FLIGHT, Lists, Mark, Shadow, Strength};

use super::touch::Touch;
use crate::sim::Space;
use crate::sim::error::{Act, SimError};
use crate::sim::isa::{BASE, Order, Proxy, ProxyFence, Scope};
use crate::sim::kernel::Tiles;
use crate::sim::lane::{WARP, Wides, lanes};

/// Pages of global memory that are remembered at most: 2 GiB of marks, for 256 MiB of memory.
const MAX_PAGES: usize = 1 << 18;

/// Pairs of instructions that one run reports at most.
const MAX_REPORTS: usize = 8;

/// log2 of the addresses that belong to one object of global memory.
const OBJECT_BITS: u32 = 32;

/// The state of the check.
#[derive(Debug)]
pub(crate) struct Races {
    clocks: Clocks,
    shadows: Shadows,
    /// Instructions that were found to race.
    pairs: HashSet<(u32, u32)>,
    /// Those of them that were reported.
    reported: Vec<(u32, u32)>,
    /// What is to be reported of them.
    pub found: Vec<SimError>,
}

/// What is remembered of all memory.
#[derive(Debug, Default)]
struct Shadows {
    /// Of each CTA of the cluster.
    shared: Vec<Shadow>,
    /// Objects of global memory by the upper bits of their addresses.
    global: Vec<(u64, Shadow)>,
    /// The CTA that runs.
    rank: usize,
    /// The object that was touched last.
    last: usize,
    global_pages: usize,
}

/// An access that is not ordered after an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meeting {
    /// The later access.
    pub lane: u32,
    /// A byte of both, in its space.
    pub address: u64,
    /// The earlier access.
    pub other: Other,
}

/// An earlier access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Other {
    /// Number of its CTA.
    pub cta: u32,
    /// Its thread.
    pub thread: u32,
    /// Its instruction.
    pub pc: u32,
    /// Whether it reads, where its instruction reads and writes.
    pub reads: bool,
    /// Whether it is a copy that was not waited for.
    pub in_flight: bool,
    /// Whether it is the use of a tensor map.
    pub of_map: bool,
}

/// An access of a bulk copy in flight.
#[derive(Debug, Clone, Copy)]
pub(super) enum Flying {
    Weak(Proxy),
    /// An update, which stays a strong access when it is complete.
    Update,
}

/// Who makes an access.
#[derive(Debug, Clone, Copy)]
pub(super) struct Actor {
    pub warp: u32,
    pub pc: u32,
}

impl Races {
    /// For clusters of a shape.
    pub fn new(shape: Shape) -> Races {
        let shared = (0..shape.ctas).map(|_| Shadow::default());
        Races {
            clocks: Clocks::new(shape),
            shadows: Shadows {
                shared: shared.collect(),
                ..Shadows::default()
            },
            pairs: HashSet::new(),
            reported: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Begins a cluster; the clusters before it are not forgotten.
    pub fn start(&mut self, cluster: u32) {
        self.clocks.start(cluster);
        self.shadows.shared.iter_mut().for_each(Shadow::clear);
    }

    /// The CTA of this rank in its cluster goes on; what follows is told of its warps and its shared memory.
    pub fn turn(&mut self, rank: u32) {
        self.clocks.turn(rank);
        self.shadows.rank = rank as usize;
    }

    /// Compares an access with those before it, and remembers it. `changed` has the lanes that
    /// wrote another value than was there.
    pub fn touch(
        &mut self,
        touch: &Touch<'_>,
        actor: Actor,
        tiles: Option<&Tiles>,
    ) -> Result<(), Meeting> {
        let clock = match touch.act {
            Act::CopyRead
            | Act::CopyWrite
            | Act::BulkRead
            | Act::BulkWrite
            | Act::MapRead
            | Act::BulkSignal
            | Act::MultiplyRead => IN_FLIGHT,
            Act::Read | Act::Write | Act::Update | Act::Signal | Act::Multiply => {
                self.clocks.now(actor.warp)
            }
        };
        let order = touch.order;
        let strength = match order.strong {
            true => Strength::Strong(order.scope),
            false => Strength::Weak(touch.proxy),
        };
        let cta = self.clocks.cta();
        // The warpgroup reads, with what its warp knows.
        let warp = match touch.act {
            Act::MultiplyRead => self.clocks.agent(actor.warp),
            Act::Read
            | Act::Write
            | Act::Update
            | Act::Signal
            | Act::CopyRead
            | Act::CopyWrite
            | Act::BulkRead
            | Act::MapRead
            | Act::BulkWrite
            | Act::BulkSignal
            | Act::Multiply => actor.warp,
        };
        let mark = Mark::new(cta, clock, warp, actor.pc, strength);
        let writes = match touch.act {
            Act::Write | Act::Update | Act::CopyWrite | Act::BulkWrite => true,
            // Arrivals and waits may meet each other, but not the making of the object.
            Act::Signal | Act::BulkSignal => !order.strong,
            Act::Read
            | Act::CopyRead
            | Act::BulkRead
            | Act::MapRead
            | Act::MultiplyRead
            | Act::Multiply => false,
        };
        for lane in lanes(touch.mask) {
            let address = touch.addresses[lane];
            let home = self.clocks.home(address);
            let Some((shadow, at)) = self.shadows.find(touch.space, address, home) else {
                continue;
            };
            let (cells, lists) = shadow.cells(at, touch.bytes);
            let mark = mark.of(lane as u32);
            let thread = actor.warp * WARP as u32 + lane as u32;
            let changed = touch.changed >> lane & 1 == 1;
            let bytes = u64::from(touch.bytes) / cells.len().max(1) as u64;
            let access = Access {
                clocks: &self.clocks,
                mark,
                thread,
                space: touch.space,
                address,
                tiles,
            };
            for (i, cell) in cells.iter_mut().enumerate() {
                let met = match writes {
                    true => access.write(cell, lists, changed),
                    false => access.read(cell, lists),
                };
                if let Some((other, reads)) = met {
                    let lane_of = other.lanes.trailing_zeros();
                    return Err(Meeting {
                        lane: lane as u32,
                        address: address + i as u64 * bytes,
                        other: Other {
                            cta: other.cta,
                            thread: self.clocks.first_thread(other.warp(), lane_of),
                            pc: other.pc(),
                            reads,
                            in_flight: other.clock >= BY_BARRIER,
                            of_map: other.proxy() == Proxy::TensorMap,
                        },
                    });
                }
            }
            // What an `mbarrier` orders depends on its phases.
            if order.strong && !matches!(touch.act, Act::Signal | Act::BulkSignal | Act::BulkWrite)
            {
                let reads = touch.act != Act::Write;
                self.clocks
                    .synchronize(thread, (touch.space, address), order, reads, writes);
            }
        }
        Ok(())
    }

    /// Whether these two instructions are not known to race yet, and may be reported: neither they nor those that
    /// `representative` gives for them, which come from the same places of the source.
    pub fn is_new(&mut self, (a, b): (u32, u32), representative: impl Fn(u32) -> u32) -> bool {
        let in_order = |a: u32, b: u32| (a.min(b), a.max(b));
        if self.reported.len() >= MAX_REPORTS || !self.pairs.insert(in_order(a, b)) {
            return false;
        }
        let pair = in_order(representative(a), representative(b));
        let new = !self.reported.contains(&pair);
        if new {
            self.reported.push(pair);
        }
        new
    }

    /// The clock of what a warp does now.
    pub fn now(&self, warp: u32) -> u32 {
        self.clocks.now(warp)
    }

    /// Accesses in flight of lanes are complete, and were waited for; they count as done at the clock.
    pub fn settle(
        &mut self,
        (space, addresses, bytes): (Space, &Wides, u32),
        proxy: Proxy,
        mask: u32,
        actor: Actor,
        clock: u32,
    ) {
        let cta = self.clocks.cta();
        let weak = Strength::Weak(proxy);
        let flying = Mark::new(cta, IN_FLIGHT, actor.warp, actor.pc, weak);
        for lane in lanes(mask) {
            let (address, home) = (addresses[lane], self.clocks.home(addresses[lane]));
            if let Some((shadow, at)) = self.shadows.find(space, address, home) {
                let (cells, lists) = shadow.cells(at, bytes);
                let flying = flying.of(lane as u32);
                for cell in cells {
                    cell.settle(flying, flying.at_clock(clock), lists);
                }
            }
        }
    }

    /// Bytes that a bulk copy of a lane has accessed, which counts as complete at a clock.
    pub fn settle_bulk(
        &mut self,
        (space, address, bytes): (Space, u64, u32),
        lane: u32,
        actor: Actor,
        clock: u32,
        flying: Flying,
    ) {
        let home = self.clocks.home(address);
        let Some((shadow, at)) = self.shadows.find(space, address, home) else {
            return;
        };
        let (flying, settled) = match flying {
            Flying::Update => (Strength::Strong(Scope::Gpu), Strength::Strong(Scope::Gpu)),
            Flying::Weak(proxy) => (Strength::Weak(proxy), Strength::Complete),
        };
        let (cta, Actor { warp, pc }) = (self.clocks.cta(), actor);
        let flying = Mark::new(cta, IN_FLIGHT, warp, pc, flying).of(lane);
        let settled = Mark::new(cta, clock, warp, pc, settled).of(lane);
        let (cells, lists) = shadow.cells(at, bytes);
        for cell in cells {
            cell.settle(flying, settled, lists);
        }
    }

    /// The clock of what completes in the open phase of an `mbarrier`.
    pub fn phase_clock(&mut self, address: u64) -> u32 {
        self.clocks.phase_clock(address)
    }

    /// Whether a lane knows that the CTA of a rank runs.
    pub fn has_met(&self, warp: u32, lane: u32, rank: u32) -> bool {
        self.clocks.has_met(warp * WARP as u32 + lane, rank)
    }

    /// Lanes arrive at the cluster's barrier.
    pub fn arrive_at_cluster(&mut self, warp: u32, mask: u32, releases: bool) {
        self.clocks.arrive_at_cluster(warp, mask, releases);
    }

    /// The cluster's barrier opens.
    pub fn open_cluster(&mut self) {
        self.clocks.open_cluster();
    }

    /// Lanes have passed the cluster's barrier.
    pub fn pass_cluster(&mut self, warp: u32, mask: u32) {
        self.clocks.pass_cluster(warp, mask);
    }

    /// An access to the shared memory of the CTA that runs, by another CTA or by a bulk copy, of which no thread knew
    /// that it was done before it left; all have.
    pub fn left_behind(&self) -> Option<(u64, Other)> {
        let shadow = &self.shadows.shared[self.shadows.rank];
        let own = self.clocks.cta();
        let mut marks = shadow.marks().filter(|(_, mark, _)| mark.lanes != 0);
        let open = |mark: &Mark| {
            let in_bulk = mark.proxy() != Proxy::Generic && mark.clock >= BY_BARRIER;
            (mark.cta != own || in_bulk) && !self.clocks.was_known_at_exit(mark)
        };
        let (at, mark, reads) = marks.find(|(_, mark, _)| open(mark))?;
        let lane = mark.lanes.trailing_zeros();
        let other = Other {
            cta: mark.cta,
            thread: self.clocks.first_thread(mark.warp(), lane),
            pc: mark.pc(),
            reads,
            in_flight: mark.clock >= BY_BARRIER,
            of_map: mark.proxy() == Proxy::TensorMap,
        };
        Some((at, other))
    }

    /// The clock at which what a warp's warpgroup has read so far counts as done; it goes on.
    pub fn tick_warpgroup(&mut self, warp: u32) -> u32 {
        self.clocks.tick_agent(warp)
    }

    /// Chunks of 16 bytes of shared memory that a `wgmma` at an instruction has read for a warp of its warpgroup, counted as
    /// done at a clock of the warpgroup.
    pub fn settle_operands(&mut self, warp: u32, pc: u32, chunks: &[u64], clock: u32) {
        let agent = Actor {
            warp: self.clocks.agent(warp),
            pc,
        };
        for chunks in chunks.chunks(WARP) {
            let mut addresses = [0; WARP];
            addresses[..chunks.len()].copy_from_slice(chunks);
            let mask = u32::MAX >> (WARP - chunks.len());
            let place = (Space::Shared, &addresses, 16);
            self.settle(place, Proxy::Async, mask, agent, clock);
        }
    }

    /// A warp has waited for what its warpgroup has read up to a clock.
    pub fn pass_warpgroup(&mut self, warp: u32, clock: u32) {
        self.clocks.pass_agent(warp, clock);
    }

    /// `bar.warp.sync`.
    pub fn meet(&mut self, warp: u32, mask: u32) {
        self.clocks.meet(warp, mask);
    }

    /// Lanes arrive at a barrier.
    pub fn arrive(&mut self, warp: u32, mask: u32, barrier: usize) {
        self.clocks.arrive(warp, mask, barrier);
    }

    /// A barrier opens for the lanes of each warp that wait at it; see [`Clocks::open`].
    pub fn open(&mut self, barrier: usize, waiting: &[(u32, u32)], whole: bool, uncounted: bool) {
        self.clocks.open(barrier, waiting, whole, uncounted);
    }

    /// Lanes arrive at an `mbarrier`, and release.
    pub fn signal(&mut self, address: u64, warp: u32, mask: u32, scope: Scope) {
        let known = self.clocks.depart(warp, mask);
        self.clocks.signal(address, &known, scope);
    }

    /// What lanes know now, for an arrival later.
    pub fn depart(&mut self, warp: u32, mask: u32) -> Known {
        self.clocks.depart(warp, mask)
    }

    /// An arrival of lanes that departed earlier.
    pub fn signal_later(&mut self, address: u64, known: &Known) {
        self.clocks.signal(address, known, Scope::Cta);
    }

    /// A phase of an `mbarrier` is complete.
    pub fn complete_phase(&mut self, address: u64) {
        self.clocks.complete_phase(address);
    }

    /// Lanes have seen that a phase is complete.
    pub fn pass(&mut self, address: u64, warp: u32, mask: u32, scope: Scope) {
        self.clocks.pass(address, warp, mask, scope);
    }

    /// Nobody has arrived at a new `mbarrier`.
    pub fn forget_mbarrier(&mut self, address: u64) {
        self.clocks.forget_mbarrier(address);
    }

    /// Lanes leave.
    pub fn exit(&mut self, warp: u32, mask: u32) {
        self.clocks.exit(warp, mask);
    }

    /// Lanes release tensor maps that they have edited.
    pub fn release_maps(&mut self, warp: u32, mask: u32) {
        self.clocks.release_maps(warp, mask);
    }

    /// A lane acquires the tensor map at an address of global memory.
    pub fn acquire_map(&mut self, warp: u32, lane: u32, address: u64) {
        self.clocks.acquire_map(warp, lane, address);
    }

    /// `fence.proxy`.
    pub fn fence_proxy(&mut self, warp: u32, mask: u32, fence: ProxyFence) {
        self.clocks.fence_proxy(warp, mask, fence);
    }

    /// `fence`, `membar`.
    pub fn fence(&mut self, warp: u32, mask: u32, order: Order) {
        self.clocks.fence(warp, mask, order);
    }
}

impl Shadows {
    /// What is remembered of a byte's object, and the byte's place in it; nothing where there is no
    /// room for more.
    #[inline]
    fn find(
        &mut self,
        space: Space,
        address: u64,
        (rank, place): (u32, u64),
    ) -> Option<(&mut Shadow, u64)> {
        if space == Space::Shared {
            let shadow = self.shared.get_mut(rank as usize)?;
            return Some((shadow, place.wrapping_sub(BASE)));
        }
        let key = address >> OBJECT_BITS;
        if self
            .global
            .get(self.last)
            .is_none_or(|(last, _)| *last != key)
        {
            let known = self.global.iter().position(|(other, _)| *other == key);
            self.last = known.unwrap_or_else(|| {
                self.global.push((key, Shadow::default()));
                self.global.len() - 1
            });
        }
        let (_, shadow) = &mut self.global[self.last];
        let at = address & ((1 << OBJECT_BITS) - 1);
        if !shadow.has(at) {
            if self.global_pages == MAX_PAGES {
                return None;
            }
            self.global_pages += 1;
        }
        Some((shadow, at))
    }
}

/// A new access by one thread.
struct Access<'c> {
    clocks: &'c Clocks,
    mark: Mark,
    thread: u32,
    space: Space,
    address: u64,
    tiles: Option<&'c Tiles>,
}

impl Access<'_> {
    #[inline]
    fn is_after(&self, earlier: &Mark) -> bool {
        let place = (self.space, self.address);
        self.clocks
            .is_before(earlier, &self.mark, place, self.thread)
    }

    #[inline]
    fn is_read_before(&self, earlier: &Mark) -> bool {
        let place = (self.space, self.address);
        self.clocks
            .is_read_before(earlier, &self.mark, place, self.thread)
    }

    #[inline]
    fn races_with(&self, earlier: &Mark) -> bool {
        earlier.lanes != 0
            && !self.clocks.are_morally_strong(earlier, &self.mark)
            && !self.is_after(earlier)
    }

    /// The lanes of an earlier access that this one does not subsume.
    #[inline]
    fn not_subsumed(&self, earlier: &Mark) -> u32 {
        if !self.mark.subsumes(earlier) {
            earlier.lanes
        } else if self.is_after(earlier) {
            0
        } else if earlier.is_done_by_the_warp_of(&self.mark) {
            // Of the lanes of a warp, the thread itself.
            earlier.lanes & !self.mark.lanes
        } else {
            earlier.lanes
        }
    }

    /// Compares a read with the writes before it. Gives the other access, and whether that reads.
    #[inline]
    fn read(&self, cell: &mut Cell, lists: &mut Lists) -> Option<(Mark, bool)> {
        if let Some(write) = cell.find_write(lists, |write| self.races_with(write)) {
            return Some((self.unordered_part(write), false));
        }
        cell.add_read(self.mark, lists, |earlier| self.not_subsumed(earlier));
        None
    }

    /// Compares a write with the writes and the reads before it; `changed` where it writes another value than
    /// was there.
    #[inline]
    fn write(&self, cell: &mut Cell, lists: &mut Lists, changed: bool) -> Option<(Mark, bool)> {
        // Several threads may store one value with one instruction, as to set a flag, and any by one scatter of tiles.
        let same = |write: &Mark| {
            let (a, b) = (write.pc(), self.mark.pc());
            !changed && a == b
                || self
                    .tiles
                    .is_some_and(|tiles| tiles.are_of_one_scatter(a, b))
        };
        let races = |write: &Mark| !same(write) && self.races_with(write);
        if let Some(write) = cell.find_write(lists, races) {
            return Some((self.unordered_part(write), false));
        }
        let races = |read: &Mark| {
            read.lanes != 0
                && !self.clocks.are_morally_strong(read, &self.mark)
                && !self.is_read_before(read)
        };
        if let Some(read) = cell.find_read(lists, races) {
            return Some((self.unordered_part(read), true));
        }
        let strong_or_same = !self.mark.is_weak() || cell.find_write(lists, same).is_some();
        match strong_or_same {
            // Everything comes before it, or it had raced.
            false => cell.overwrite(self.mark, lists),
            true => cell.add_write(self.mark, lists, |earlier| self.not_subsumed(earlier)),
        }
        None
    }

    /// Of several lanes, one that is not ordered before the thread.
    fn unordered_part(&self, mark: Mark) -> Mark {
        let single = lanes(mark.lanes).map(|lane| mark.of(lane as u32));
        let mut unordered = single.filter(|mark| !self.is_after(mark));
        unordered.next().unwrap_or(mark)
    }
}

const _: () = assert!(PAGE.is_multiple_of(32), "no access crosses a page");
