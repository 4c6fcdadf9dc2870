//! Who touched which bytes last.
//!
//! Memory is remembered in pages of a kilobyte, made when they are first touched. A page has a cell
//! for every four bytes, and for every two or every one from the first access on that needs it.

use super::clocks::IN_FLIGHT;

/// Bytes of memory that a page is about.
pub(super) const PAGE: u64 = 1024;
/// Block number of a mark that stands for a list of marks.
const LIST: u32 = u32::MAX;
/// Readers that one cell remembers at most; when more come, the oldest is forgotten.
const READERS: usize = 64;

/// An access: lanes of a warp that made it with one instruction at one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub block: u32,
    pub clock: u32,
    /// None, when there is no access.
    pub lanes: u32,
    /// Instruction, warp and flags in 24, 5 and 3 bits.
    at: u32,
}

const STRONG: u32 = 1;
const IN_CTA: u32 = 2;

impl Mark {
    const NONE: Mark = Mark {
        block: 0,
        clock: 0,
        lanes: 0,
        at: 0,
    };

    pub fn new(block: u32, clock: u32, warp: u32, pc: u32, strong: bool, in_cta: bool) -> Mark {
        let flags = if strong { STRONG } else { 0 } | if in_cta { IN_CTA } else { 0 };
        Mark {
            block,
            clock,
            lanes: 0,
            at: pc << 8 | warp << 3 | flags,
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

    #[inline]
    pub fn warp(&self) -> u32 {
        self.at >> 3 & 31
    }

    /// The instruction.
    pub fn pc(&self) -> u32 {
        self.at >> 8
    }

    /// Whether two strong accesses may meet.
    #[inline]
    pub fn may_meet(&self, other: &Mark) -> bool {
        self.at & other.at & STRONG != 0
            && (self.block == other.block || (self.at | other.at) & IN_CTA == 0)
    }

    /// Whether both are of one instruction of one warp at one time.
    #[inline]
    fn is_like(&self, other: &Mark) -> bool {
        (self.block, self.clock, self.at) == (other.block, other.clock, other.at)
    }
}

/// The last accesses to some bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    pub write: Mark,
    /// Since then; or, as [`LIST`], where the readers are listed.
    read: Mark,
}

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

/// Lists of readers, for cells that have more than one.
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
        let page = self.pages[index].get_or_insert_with(|| {
            let none = Cell {
                write: Mark::NONE,
                read: Mark::NONE,
            };
            Box::new(Page {
                shift: 2,
                cells: vec![none; PAGE as usize / 4],
            })
        });
        let shift = (at as u32 | bytes).trailing_zeros().min(2);
        if shift < page.shift {
            page.refine(shift, &mut self.lists);
        }
        let first = (at % PAGE) as usize >> page.shift;
        let end = ((at % PAGE) as usize + bytes as usize) >> page.shift;
        let end = end.min(page.cells.len());
        (&mut page.cells[first..end], &mut self.lists)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.lists = Lists::default();
        for page in self.pages.iter_mut().flatten() {
            page.cells.fill(Cell {
                write: Mark::NONE,
                read: Mark::NONE,
            });
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
                let mut twin = *cell;
                if cell.read.block == LIST {
                    let readers = lists.lists[cell.read.lanes as usize].clone();
                    twin.read = lists.add(readers);
                }
                cells.push(twin);
            }
        }
        self.cells = cells;
        self.shift = shift;
    }
}

impl Lists {
    fn add(&mut self, readers: Vec<Mark>) -> Mark {
        let index = match self.free.pop() {
            Some(index) => {
                self.lists[index as usize] = readers;
                index
            }
            None => {
                self.lists.push(readers);
                self.lists.len() as u32 - 1
            }
        };
        Mark {
            block: LIST,
            lanes: index,
            ..Mark::NONE
        }
    }
}

impl Cell {
    /// The reads since the last write.
    pub fn readers<'c>(&'c self, lists: &'c Lists) -> &'c [Mark] {
        match self.read {
            Mark { block: LIST, .. } => &lists.lists[self.read.lanes as usize],
            Mark { lanes: 0, .. } => &[],
            _ => std::slice::from_ref(&self.read),
        }
    }

    /// Adds a read; those that `is_over` are forgotten, for who is ordered after this one is
    /// ordered after them.
    #[inline]
    pub fn add_reader(&mut self, mark: Mark, lists: &mut Lists, is_over: impl Fn(&Mark) -> bool) {
        if self.read.block != LIST {
            if self.read.is_like(&mark) {
                self.read.lanes |= mark.lanes;
            } else if self.read.lanes == 0 || is_over(&self.read) {
                self.read = mark;
            } else {
                self.read = lists.add(vec![self.read, mark]);
            }
            return;
        }
        let readers = &mut lists.lists[self.read.lanes as usize];
        if let Some(reader) = readers.iter_mut().find(|reader| reader.is_like(&mark)) {
            reader.lanes |= mark.lanes;
            return;
        }
        readers.retain(|reader| !is_over(reader));
        if readers.len() >= READERS {
            readers.remove(0);
        }
        readers.push(mark);
    }

    /// Makes the last write this one.
    #[inline]
    pub fn overwrite(&mut self, mark: Mark, lists: &mut Lists) {
        if self.read.block == LIST {
            lists.free.push(self.read.lanes);
        }
        self.read = Mark::NONE;
        self.write = mark;
    }

    /// A copy of one lane that was in flight, whose marks carry `flying`, has arrived at `clock`.
    pub fn settle(&mut self, flying: Mark, clock: u32, lists: &mut Lists) {
        let settled = Mark { clock, ..flying };
        if self.write.clock == IN_FLIGHT && self.write == flying {
            self.write = settled;
        }
        let readers = match self.read {
            Mark { block: LIST, .. } => &mut lists.lists[self.read.lanes as usize][..],
            _ => std::slice::from_mut(&mut self.read),
        };
        let Some(reader) = readers.iter_mut().find(|reader| reader.is_like(&flying)) else {
            return;
        };
        reader.lanes &= !flying.lanes;
        if reader.lanes == 0 {
            *reader = settled;
        } else {
            self.add_reader(settled, lists, |_| false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(clock: u32, lanes: u32) -> Mark {
        Mark {
            lanes,
            ..Mark::new(3, clock, 1, 77, false, false)
        }
    }

    #[test]
    fn a_mark_holds_instruction_and_warp() {
        let mark = Mark::new(0, 1, 31, (1 << 24) - 1, true, true);
        assert_eq!((mark.pc(), mark.warp()), ((1 << 24) - 1, 31));
        let wide = Mark::new(1, 1, 0, 0, true, false);
        assert!(
            !mark.may_meet(&wide),
            "another block, and one of them in its CTA alone"
        );
        assert!(wide.may_meet(&wide));
    }

    #[test]
    fn a_page_is_refined_where_an_access_needs_it() {
        let mut shadow = Shadow::default();
        let (cells, lists) = shadow.cells(2048, 16);
        assert_eq!(cells.len(), 4);
        cells[1].add_reader(mark(1, 1), lists, |_| false);
        cells[1].add_reader(mark(2, 2), lists, |_| false);
        let (cells, lists) = shadow.cells(2054, 2);
        assert_eq!(cells.len(), 1);
        assert_eq!(cells[0].readers(lists), [mark(1, 1), mark(2, 2)]);
        cells[0].overwrite(mark(3, 4), lists);
        let (cells, lists) = shadow.cells(2052, 4);
        assert_eq!(cells.len(), 2);
        assert_eq!(cells[0].readers(lists).len(), 2);
        assert_eq!(cells[1].write, mark(3, 4));
        assert!(shadow.has(2048) && !shadow.has(0));
    }

    #[test]
    fn reads_of_one_instruction_are_one_reader() {
        let mut shadow = Shadow::default();
        let (cells, lists) = shadow.cells(0, 4);
        for lane in 0..32 {
            cells[0].add_reader(mark(1, 1 << lane), lists, |_| false);
        }
        assert_eq!(cells[0].readers(lists), [mark(1, u32::MAX)]);
        cells[0].add_reader(mark(2, 1), lists, |reader| reader.clock < 2);
        assert_eq!(cells[0].readers(lists), [mark(2, 1)]);
    }

    #[test]
    fn a_copy_in_flight_settles() {
        let mut shadow = Shadow::default();
        let (cells, lists) = shadow.cells(0, 4);
        let flying = mark(IN_FLIGHT, 3);
        cells[0].add_reader(flying, lists, |_| false);
        cells[0].settle(mark(IN_FLIGHT, 1), 5, lists);
        assert_eq!(cells[0].readers(lists), [mark(IN_FLIGHT, 2), mark(5, 1)]);
        cells[0].overwrite(mark(IN_FLIGHT, 1), lists);
        cells[0].settle(mark(IN_FLIGHT, 1), 6, lists);
        assert_eq!(cells[0].write, mark(6, 1));
    }
}
