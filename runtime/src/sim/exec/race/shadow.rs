//! Shadow memory: which accesses to which bytes are remembered.
//!
//! Memory is remembered in pages of a kilobyte, made when they are first touched. A page has a cell
//! for every 16 bytes, and for every 8, 4, 2 or every one from the first access on that needs it.

use crate::sim::isa::{Proxy, Scope};

/// Clock of what is not ordered before anything, its own thread's next instruction included.
pub(super) const IN_FLIGHT: u32 = u32::MAX;
/// From here on, clocks are those of `mbarrier`s: what a bulk copy accessed that completed in a phase of one is known
/// to who has seen that phase complete. Above the bits of the phase stands the number of the `mbarrier`.
pub(super) const BY_BARRIER: u32 = 1 << 31;

/// Bytes of memory that a page is about.
pub(in crate::sim::exec) const PAGE: u64 = 1024;
/// log2 of the bytes of the largest cells.
const COARSEST: u32 = 4;
/// CTA number of a mark that stands for a list of marks.
const LIST: u32 = u32::MAX;
/// Marks of a set at most; when more come, the oldest is forgotten.
const MOST_MARKS: usize = 64;

/// An access: lanes of a warp that made it with one instruction at one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// Number of the CTA.
    pub cta: u32,
    pub clock: u32,
    /// None, when there is no access.
    pub lanes: u32,
    /// Instruction, warp and strength in 23, 6 and 3 bits.
    at: u32,
}

/// What of an access, beside its place, decides with which others it needs an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    /// A weak access through a proxy.
    Weak(Proxy),
    /// A strong one, which is always generic, with its scope.
    Strong(Scope),
    /// Of a bulk copy that is complete: who knows that has passed a fence of the proxies (PTX ISA 9.7.9.25.4.1).
    Complete,
}

/// Codes of [`Strength`]: the strong ones lie between the generic weak one and the other proxies.
const GENERIC: u32 = 0;
const SCOPES: [Scope; 4] = [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys];
const ASYNC: u32 = 5;
const TENSOR_MAP: u32 = 6;
const COMPLETE: u32 = 7;

impl Strength {
    fn code(self) -> u32 {
        match self {
            Strength::Weak(Proxy::Generic) => GENERIC,
            Strength::Strong(Scope::Cta) => 1,
            Strength::Strong(Scope::Cluster) => 2,
            Strength::Strong(Scope::Gpu) => 3,
            Strength::Strong(Scope::Sys) => 4,
            Strength::Weak(Proxy::Async) => ASYNC,
            Strength::Weak(Proxy::TensorMap) => TENSOR_MAP,
            Strength::Complete => COMPLETE,
        }
    }
}

impl Mark {
    const NONE: Mark = Mark {
        cta: 0,
        clock: 0,
        lanes: 0,
        at: 0,
    };

    pub fn new(cta: u32, clock: u32, warp: u32, pc: u32, strength: Strength) -> Mark {
        Mark {
            cta,
            clock,
            lanes: 0,
            at: pc << 9 | warp << 3 | strength.code(),
        }
    }

    /// The same access by one lane.
    #[inline]
    pub fn of(self, lane: u32) -> Mark {
        Mark {
            lanes: 1 << lane,
            ..self
        }
    }

    /// The same access at a clock.
    pub fn at_clock(self, clock: u32) -> Mark {
        Mark { clock, ..self }
    }

    #[inline]
    pub fn warp(&self) -> u32 {
        self.at >> 3 & 63
    }

    /// The instruction.
    pub fn pc(&self) -> u32 {
        self.at >> 9
    }

    #[inline]
    fn code(&self) -> u32 {
        self.at & 7
    }

    /// Whether it and another access go through two proxies.
    #[inline]
    pub fn is_of_another_proxy(&self, other: &Mark) -> bool {
        let codes = [self.code(), other.code()];
        codes[0].max(codes[1]) >= ASYNC
            && !codes.contains(&COMPLETE)
            && self.proxy() != other.proxy()
    }

    /// The scope of a strong access.
    #[inline]
    pub fn scope(&self) -> Option<Scope> {
        SCOPES.get(self.code().wrapping_sub(1) as usize).copied()
    }

    /// The proxy through which memory is accessed.
    #[inline]
    pub fn proxy(&self) -> Proxy {
        match self.code() {
            ASYNC | COMPLETE => Proxy::Async,
            TENSOR_MAP => Proxy::TensorMap,
            _ => Proxy::Generic,
        }
    }

    /// Whether this access, if it is ordered after the other one, subsumes it: whatever races with the other
    /// one, and is not ordered with it, races with this one too. So it is no stronger.
    #[inline]
    pub fn subsumes(&self, other: &Mark) -> bool {
        self.is_weak() || !other.is_weak() && self.scope() <= other.scope()
    }

    /// Whether it is morally strong with no other access.
    #[inline]
    pub fn is_weak(&self) -> bool {
        self.code() == GENERIC || self.code() >= ASYNC
    }

    /// Whether this access is of the warp and the proxy of another one, and complete: a lane of both has made
    /// this one before the other.
    #[inline]
    pub fn is_done_by_the_warp_of(&self, other: &Mark) -> bool {
        (self.cta, self.warp(), self.proxy()) == (other.cta, other.warp(), other.proxy())
            && self.clock < BY_BARRIER
    }

    /// Whether both are of one instruction of one warp at one time.
    #[inline]
    fn is_like(&self, other: &Mark) -> bool {
        (self.cta, self.clock, self.at) == (other.cta, other.clock, other.at)
    }
}

/// The accesses to some bytes that a later one may still race with.
///
/// FastTrack remembers the last write alone: any two unordered accesses are a race there, so the last write is
/// ordered after those before it, and what races with them races with it. Morally strong accesses break both
/// parts of this: two of them need no order, and one that follows a weak access of its own thread does not race
/// with what the weak one races with. So an access is dropped only for an ordered one that
/// [subsumes it](Mark::subsumes).
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    writes: Marks,
    reads: Marks,
}

/// A set of marks: none, one, or a list elsewhere.
#[derive(Debug, Clone, Copy)]
struct Marks(Mark);

#[derive(Debug)]
struct Page {
    /// log2 of the bytes of a cell.
    shift: u32,
    cells: Vec<Cell>,
}

/// The last accesses to an object.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    pages: Vec<Option<Box<Page>>>,
    lists: Lists,
}

/// Lists of marks, for sets of more than one.
#[derive(Debug, Default)]
pub(super) struct Lists {
    lists: Vec<Vec<Mark>>,
    free: Vec<u32>,
}

impl Shadow {
    /// Whether the page of a byte was made.
    pub fn has(&self, at: u64) -> bool {
        matches!(self.pages.get((at / PAGE) as usize), Some(Some(_)))
    }

    /// The cells of an access that crosses no page.
    #[inline]
    pub fn cells(&mut self, at: u64, bytes: u32) -> (&mut [Cell], &mut Lists) {
        let index = (at / PAGE) as usize;
        if index >= self.pages.len() {
            self.pages.resize_with(index + 1, || None);
        }
        let shift = (at as u32 | bytes).trailing_zeros().min(COARSEST);
        let page = self.pages[index].get_or_insert_with(|| {
            Box::new(Page {
                shift,
                cells: vec![Cell::UNTOUCHED; PAGE as usize >> shift],
            })
        });
        if shift < page.shift {
            page.refine(shift, &mut self.lists);
        }
        let first = (at % PAGE) as usize >> page.shift;
        let end = ((at % PAGE) as usize + bytes as usize) >> page.shift;
        let end = end.min(page.cells.len());
        (&mut page.cells[first..end], &mut self.lists)
    }

    /// Every access that is remembered, with the place of its cell, and whether it reads.
    pub fn marks(&self) -> impl Iterator<Item = (u64, &Mark, bool)> {
        let pages = (0..).zip(&self.pages);
        let pages = pages.filter_map(|(index, page)| Some((index * PAGE, page.as_ref()?)));
        let cells =
            pages.flat_map(|(first, page)| (first..).step_by(1 << page.shift).zip(&page.cells));
        cells.flat_map(|(at, cell)| {
            let marks = cell.marks(&self.lists);
            marks.map(move |(mark, reads)| (at, mark, reads))
        })
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.lists.clear();
        for page in self.pages.iter_mut().flatten() {
            page.cells.fill(Cell::UNTOUCHED);
        }
    }
}

impl Page {
    #[cold]
    fn refine(&mut self, shift: u32, lists: &mut Lists) {
        let parts = 1 << (self.shift - shift);
        let mut cells = Vec::with_capacity(self.cells.len() * parts);
        for cell in &self.cells {
            cells.push(*cell);
            for _ in 1..parts {
                cells.push(Cell {
                    writes: lists.twin(cell.writes),
                    reads: lists.twin(cell.reads),
                });
            }
        }
        self.cells = cells;
        self.shift = shift;
    }
}

impl Lists {
    /// All are free, and keep their room.
    fn clear(&mut self) {
        self.free.clear();
        self.free.extend(0..self.lists.len() as u32);
    }

    fn add(&mut self, marks: &[Mark]) -> Marks {
        let index = self.free.pop().unwrap_or_else(|| {
            self.lists.push(Vec::new());
            self.lists.len() as u32 - 1
        });
        let list = &mut self.lists[index as usize];
        list.clear();
        list.extend_from_slice(marks);
        Marks(Mark {
            cta: LIST,
            lanes: index,
            ..Mark::NONE
        })
    }

    /// A copy of a set.
    fn twin(&mut self, marks: Marks) -> Marks {
        match marks.0.cta {
            LIST => {
                let copy = self.lists[marks.0.lanes as usize].clone();
                self.add(&copy)
            }
            _ => marks,
        }
    }
}

impl Marks {
    const NONE: Marks = Marks(Mark::NONE);

    #[inline]
    fn get<'m>(&'m self, lists: &'m Lists) -> &'m [Mark] {
        match self.0 {
            Mark { cta: LIST, .. } => &lists.lists[self.0.lanes as usize],
            Mark { lanes: 0, .. } => &[],
            _ => std::slice::from_ref(&self.0),
        }
    }

    /// The first mark of which something holds.
    #[inline]
    fn find(&self, lists: &Lists, holds: impl Fn(&Mark) -> bool) -> Option<Mark> {
        match self.0 {
            Mark { cta: LIST, .. } => self.get(lists).iter().copied().find(holds),
            Mark { lanes: 0, .. } => None,
            mark => holds(&mark).then_some(mark),
        }
    }

    /// Makes this mark the only one.
    #[inline]
    fn set(&mut self, mark: Mark, lists: &mut Lists) {
        if self.0.cta == LIST {
            lists.free.push(self.0.lanes);
        }
        self.0 = mark;
    }

    /// Keeps of each mark the lanes that `kept` gives.
    #[inline]
    fn retain(&mut self, lists: &mut Lists, kept: impl Fn(&Mark) -> u32) {
        if self.0.cta != LIST {
            if self.0.lanes != 0 {
                self.0.lanes = kept(&self.0);
            }
            return;
        }
        let marks = &mut lists.lists[self.0.lanes as usize];
        marks.retain_mut(|mark| {
            mark.lanes = kept(mark);
            mark.lanes != 0
        });
        if marks.is_empty() {
            self.set(Mark::NONE, lists);
        }
    }

    /// Adds a mark, and keeps of the others the lanes that `kept` gives.
    #[inline]
    fn insert(&mut self, mark: Mark, lists: &mut Lists, kept: impl Fn(&Mark) -> u32) {
        if self.0.cta != LIST {
            if self.0.is_like(&mark) {
                self.0.lanes |= mark.lanes;
                return;
            }
            let left = match self.0.lanes {
                0 => 0,
                _ => kept(&self.0),
            };
            *self = match left {
                0 => Marks(mark),
                lanes => lists.add(&[Mark { lanes, ..self.0 }, mark]),
            };
            return;
        }
        let marks = &mut lists.lists[self.0.lanes as usize];
        if let Some(like) = marks.iter_mut().find(|other| other.is_like(&mark)) {
            like.lanes |= mark.lanes;
            return;
        }
        marks.retain_mut(|other| {
            other.lanes = kept(other);
            other.lanes != 0
        });
        if marks.len() >= MOST_MARKS {
            marks.remove(0);
        }
        marks.push(mark);
    }

    /// A copy of one lane that was in flight, whose marks carry `flying`, has arrived, and carries `settled`.
    fn settle(&mut self, flying: Mark, settled: Mark, lists: &mut Lists) {
        let marks = match self.0 {
            Mark { cta: LIST, .. } => &mut lists.lists[self.0.lanes as usize][..],
            _ => std::slice::from_mut(&mut self.0),
        };
        let Some(mark) = marks.iter_mut().find(|mark| mark.is_like(&flying)) else {
            return;
        };
        if mark.lanes & flying.lanes == 0 {
            return;
        }
        mark.lanes &= !flying.lanes;
        if mark.lanes == 0 {
            *mark = settled;
        } else {
            self.insert(settled, lists, |mark| mark.lanes);
        }
    }
}

impl Cell {
    const UNTOUCHED: Cell = Cell {
        writes: Marks::NONE,
        reads: Marks::NONE,
    };

    /// The first write of which something holds.
    #[inline]
    pub fn find_write(&self, lists: &Lists, holds: impl Fn(&Mark) -> bool) -> Option<Mark> {
        self.writes.find(lists, holds)
    }

    /// The first read of which something holds.
    #[inline]
    pub fn find_read(&self, lists: &Lists, holds: impl Fn(&Mark) -> bool) -> Option<Mark> {
        self.reads.find(lists, holds)
    }

    /// The writes that are remembered.
    #[cfg(test)]
    pub fn writes<'c>(&'c self, lists: &'c Lists) -> &'c [Mark] {
        self.writes.get(lists)
    }

    /// The reads that are remembered.
    #[cfg(test)]
    pub fn reads<'c>(&'c self, lists: &'c Lists) -> &'c [Mark] {
        self.reads.get(lists)
    }

    /// Adds a read; of the reads before it the lanes stay that `kept` gives. Writes stay: to be ordered
    /// after a read is not to be ordered after what it has read.
    #[inline]
    pub fn add_read(&mut self, mark: Mark, lists: &mut Lists, kept: impl Fn(&Mark) -> u32) {
        self.reads.insert(mark, lists, kept);
    }

    /// Adds a write; of the accesses before it the lanes stay that `kept` gives.
    pub fn add_write(&mut self, mark: Mark, lists: &mut Lists, kept: impl Fn(&Mark) -> u32) {
        self.reads.retain(lists, &kept);
        self.writes.insert(mark, lists, &kept);
    }

    /// Forgets everything for a write that stands for all of it.
    #[inline]
    pub fn overwrite(&mut self, mark: Mark, lists: &mut Lists) {
        self.reads.set(Mark::NONE, lists);
        self.writes.set(mark, lists);
    }

    /// A copy of one lane that was in flight, whose marks carry `flying`, has arrived, and carries `settled`.
    pub fn settle(&mut self, flying: Mark, settled: Mark, lists: &mut Lists) {
        self.writes.settle(flying, settled, lists);
        self.reads.settle(flying, settled, lists);
    }

    /// Every access that is remembered.
    pub fn marks<'c>(&'c self, lists: &'c Lists) -> impl Iterator<Item = (&'c Mark, bool)> {
        let reads = self.reads.get(lists).iter().map(|mark| (mark, true));
        reads.chain(self.writes.get(lists).iter().map(|mark| (mark, false)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mark: &Mark) -> u32 {
        mark.lanes
    }

    fn mark(clock: u32, lanes: u32) -> Mark {
        Mark {
            lanes,
            ..Mark::new(3, clock, 1, 77, Strength::Weak(Proxy::Generic))
        }
    }

    const ALL: [Strength; 7] = [
        Strength::Weak(Proxy::Generic),
        Strength::Strong(Scope::Cta),
        Strength::Strong(Scope::Cluster),
        Strength::Strong(Scope::Gpu),
        Strength::Strong(Scope::Sys),
        Strength::Weak(Proxy::Async),
        Strength::Weak(Proxy::TensorMap),
    ];

    #[test]
    fn a_mark_holds_instruction_warp_and_strength() {
        for strength in ALL {
            let mark = Mark::new(0, 1, 39, (1 << 23) - 1, strength);
            assert_eq!((mark.pc(), mark.warp()), ((1 << 23) - 1, 39));
            let found = match mark.scope() {
                Some(scope) => Strength::Strong(scope),
                None => Strength::Weak(mark.proxy()),
            };
            assert_eq!(found, strength);
        }
    }

    #[test]
    fn a_page_is_refined_where_an_access_needs_it() {
        let mut shadow = Shadow::default();
        let (cells, lists) = shadow.cells(2048, 32);
        assert_eq!(cells.len(), 2);
        cells[0].add_read(mark(1, 1), lists, all);
        cells[0].add_read(mark(2, 2), lists, all);
        let (cells, lists) = shadow.cells(2054, 2);
        assert_eq!(cells.len(), 1);
        assert_eq!(cells[0].reads(lists), [mark(1, 1), mark(2, 2)]);
        cells[0].overwrite(mark(3, 4), lists);
        let (cells, lists) = shadow.cells(2052, 4);
        assert_eq!(cells.len(), 2);
        assert_eq!(cells[0].reads(lists).len(), 2);
        assert_eq!(cells[1].writes(lists), [mark(3, 4)]);
        assert!(cells[1].reads(lists).is_empty());
        assert!(shadow.has(2048) && !shadow.has(0));
    }

    #[test]
    fn reads_of_one_instruction_are_one_reader() {
        let mut shadow = Shadow::default();
        let (cells, lists) = shadow.cells(0, 4);
        for lane in 0..32 {
            cells[0].add_read(mark(1, 1 << lane), lists, all);
        }
        assert_eq!(cells[0].reads(lists), [mark(1, u32::MAX)]);
        cells[0].add_read(mark(2, 1), lists, |mark| {
            if mark.clock < 2 { 0 } else { mark.lanes }
        });
        assert_eq!(cells[0].reads(lists), [mark(2, 1)]);
    }

    #[test]
    fn a_copy_in_flight_settles() {
        let mut shadow = Shadow::default();
        let (cells, lists) = shadow.cells(0, 4);
        let flying = mark(IN_FLIGHT, 3);
        cells[0].add_read(flying, lists, all);
        cells[0].settle(mark(IN_FLIGHT, 1), mark(5, 1), lists);
        assert_eq!(cells[0].reads(lists), [mark(IN_FLIGHT, 2), mark(5, 1)]);
        cells[0].overwrite(mark(IN_FLIGHT, 1), lists);
        cells[0].settle(mark(IN_FLIGHT, 1), mark(6, 1), lists);
        assert_eq!(cells[0].writes(lists), [mark(6, 1)]);
    }

    #[test]
    fn a_write_leaves_what_it_does_not_stand_for() {
        let mut shadow = Shadow::default();
        let (cells, lists) = shadow.cells(0, 4);
        cells[0].add_read(mark(1, 3), lists, all);
        cells[0].add_write(mark(2, 1), lists, all);
        // One lane of the readers is superfluous.
        cells[0].add_write(mark(3, 1), lists, |mark| mark.lanes & !1);
        assert_eq!(cells[0].reads(lists), [mark(1, 2)]);
        assert_eq!(cells[0].writes(lists), [mark(3, 1)]);
    }

    #[test]
    fn an_access_subsumes_none_that_is_weaker() {
        let rank = |strength| match strength {
            Strength::Weak(_) | Strength::Complete => 0,
            Strength::Strong(scope) => 1 + scope as u32,
        };
        for one in ALL {
            for other in ALL {
                let [a, b] = [one, other].map(|strength| Mark::new(0, 1, 0, 0, strength));
                assert_eq!(
                    a.subsumes(&b),
                    rank(one) <= rank(other),
                    "{one:?} {other:?}"
                );
            }
        }
    }
}
