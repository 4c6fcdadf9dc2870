//! Threads side by side in a tile: as many of a block as its extents divide, so that few of them hold the same or nothing of their own.
use super::{Mode, TileLayout, power_of_two};
use crate::target::WARP;

/// How threads stand side by side in a tile.
#[derive(Clone, Debug)]
pub struct SideBySide {
    /// The axis along which they do.
    pub axis: usize,
    /// Neighbours along it that a thread has.
    pub vector: i64,
    /// When it has fewer of them.
    pub narrower: Narrower,
    /// How many stand along it, at most.
    pub threads: i64,
    /// Another axis along which what a thread has are neighbours, too, and not every so many-th.
    pub together: Option<usize>,
    /// Axes along which what threads have is combined.
    pub combined: Vec<usize>,
    /// Whether as many threads are to hold each element as any other.
    pub evenly: bool,
}

/// When a thread has fewer neighbours than it could, so that more threads have something of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Narrower {
    /// Never: an instruction takes as many.
    Never,
    /// Where a thread does no more accesses for that.
    AtNoAccess,
    /// Wherever it helps: memory is not accessed by them.
    Always,
}

/// So many threads along each axis, in the order of the axes.
struct Counts {
    of: Vec<i64>,
    vector: i64,
    cost: Cost,
}

/// What numbers of threads cost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    /// Elements of a thread, and parts that it reads because less than a warp is combined by shuffles.
    of_thread: i64,
    /// Parts that it reads of warps, of a number that is no power of two.
    of_warps: i64,
}

impl Counts {
    /// Vectors of a thread.
    fn accesses(&self, shape: &[i64]) -> i64 {
        let held = std::iter::zip(shape, &self.of).map(|(extent, count)| extent / count);
        held.product::<i64>() / self.vector
    }
}

impl SideBySide {
    /// Threads along an axis, neighbours of a thread along it.
    pub fn along(axis: usize, vector: i64, threads: i64) -> Self {
        SideBySide {
            axis,
            vector,
            narrower: Narrower::AtNoAccess,
            threads,
            together: None,
            combined: Vec::new(),
            evenly: false,
        }
    }

    /// The axes, that along which threads stand first.
    fn order(&self, rank: usize) -> impl Iterator<Item = usize> {
        let fast = self.axis;
        std::iter::once(fast).chain((0..rank).rev().filter(move |axis| *axis != fast))
    }

    /// The parts of so many threads along each axis, as axis, extent and step among vectors, the fastest first. Along an axis that is combined those of a
    /// number that is no power of two are the slowest: lanes whose numbers differ in a bit combine what they have by shuffles.
    fn parts(&self, counts: &[i64]) -> Vec<(usize, i64, i64)> {
        let order = self.order(counts.len());
        let parts: Vec<(usize, i64, i64)> = match self.combined.is_empty() {
            true => order.map(|axis| (axis, counts[axis], 1)).collect(),
            false => {
                let even = |axis: usize| power_of_two(counts[axis]);
                let order: Vec<usize> = order.collect();
                let evens = order.iter().map(|axis| (*axis, even(*axis), 1));
                let odd = |axis: &usize| (*axis, counts[*axis] / even(*axis), even(*axis));
                evens.chain(order.iter().map(odd)).collect()
            }
        };
        parts
            .into_iter()
            .filter(|(_, extent, _)| *extent > 1)
            .collect()
    }

    /// The best numbers of threads along the axes of a shape for vectors of a length: those that cost a thread the least, of them the one with the
    /// most threads along the first axes.
    fn counts(&self, shape: &[i64], vector: i64, threads: i64) -> Counts {
        let order: Vec<usize> = self.order(shape.len()).collect();
        let mut best = Counts {
            of: vec![1; shape.len()],
            vector,
            cost: Cost {
                of_thread: i64::MAX,
                of_warps: 0,
            },
        };
        let mut open = vec![vec![1; shape.len()]];
        for axis in order {
            let width = if axis == self.axis { vector } else { 1 };
            let vectors = shape[axis] / width;
            // Few along an axis share what lies there by powers of two.
            let few = axis == self.axis && self.threads < threads;
            let most = if few { self.threads } else { threads };
            let divisors = (1..=most.min(vectors))
                .rev()
                .filter(|count| vectors % count == 0);
            let divisors: Vec<i64> = divisors
                .filter(|count| !few || count.count_ones() == 1)
                .collect();
            let with = |counts: &Vec<i64>| {
                let taken: i64 = counts.iter().product();
                let fit = divisors.iter().filter(|count| taken * **count <= threads);
                let all = fit.map(|count| {
                    let mut counts = counts.clone();
                    counts[axis] = *count;
                    counts
                });
                all.collect::<Vec<_>>()
            };
            open = open.iter().flat_map(with).collect();
        }
        for of in open {
            let taken: i64 = of.iter().product();
            if (self.evenly || threads % WARP != 0) && threads % taken != 0 {
                continue;
            }
            let cost = self.cost(shape, &of);
            if cost < best.cost {
                best = Counts { of, vector, cost };
            }
        }
        best
    }

    /// What a thread does for its elements, and for each that is left to it for the parts that shuffles do not combine.
    fn cost(&self, shape: &[i64], counts: &[i64]) -> Cost {
        let held = |axis: usize| shape[axis] / counts[axis];
        let values: i64 = (0..shape.len()).map(held).product();
        let mut cost = Cost {
            of_thread: values,
            of_warps: 0,
        };
        let mut before = 1;
        for (axis, extent, _) in self.parts(counts) {
            let lanes = TileLayout::lanes_of(before, extent);
            if extent.count_ones() != 1 && self.combined.contains(&axis) {
                let told = values / held(axis) * (extent / lanes);
                match before * lanes < WARP {
                    true => cost.of_thread += told,
                    false => cost.of_warps += told,
                }
            }
            before *= extent;
        }
        cost
    }
}

impl TileLayout {
    /// How many threads of a mode, which begins at a thread, have numbers that differ in bits of the number of a lane alone.
    pub fn lanes_of(first: i64, extent: i64) -> i64 {
        match first.count_ones() == 1 && first < WARP {
            true => power_of_two(extent).min(WARP / first),
            false => 1,
        }
    }

    /// `threads` threads side by side along the axis that is fast in memory, each with vectors of `vector`
    /// elements where the shape allows it; what is left of the threads goes along the other axes, or
    /// holds the same.
    pub fn blocked(shape: &[i64], fast: usize, vector: i64, threads: i64) -> Self {
        TileLayout::of_threads(shape, &SideBySide::along(fast, vector, threads), threads)
    }

    /// The same in another arrangement. Where the extents do not divide the number of threads, those behind the last that has something of its own hold what
    /// the first ones do: the layout goes on beyond the block, to a multiple of these.
    pub fn of_threads(shape: &[i64], side_by_side: &SideBySide, threads: i64) -> Self {
        let fast = side_by_side.axis;
        let widest = side_by_side.vector.min(power_of_two(shape[fast]));
        let mut best = side_by_side.counts(shape, widest, threads);
        for power in (0..widest.ilog2()).rev() {
            let narrower = side_by_side.counts(shape, 1 << power, threads);
            let may_be = match side_by_side.narrower {
                Narrower::Never => false,
                Narrower::AtNoAccess => narrower.accesses(shape) <= best.accesses(shape),
                Narrower::Always => true,
            };
            if may_be && narrower.cost < best.cost {
                best = narrower;
            }
        }
        let Counts { of, vector, .. } = best;
        let (mut thread_modes, mut value_modes) = (Vec::new(), Vec::new());
        let mut value_mode = |extent, axis, step| {
            if extent > 1 {
                value_modes.push(Mode {
                    extent,
                    along: Some((axis, step)),
                });
            }
        };
        value_mode(vector, fast, 1);
        let width = |axis| if axis == fast { vector } else { 1 };
        let is_together = |axis| side_by_side.together == Some(axis);
        for axis in side_by_side.order(shape.len()) {
            let (width, across) = (width(axis), of[axis]);
            let of_thread = shape[axis] / width / across;
            let apart = if is_together(axis) { 1 } else { across };
            value_mode(of_thread, axis, width * apart);
        }
        for (axis, extent, step) in side_by_side.parts(&of) {
            let width = width(axis);
            let apart = match is_together(axis) {
                true => shape[axis] / of[axis],
                false => width,
            };
            thread_modes.push(Mode {
                extent,
                along: Some((axis, apart * step)),
            });
        }
        let distinct: i64 = of.iter().product();
        if distinct < threads {
            thread_modes.push(Mode {
                extent: (threads + distinct - 1) / distinct,
                along: None,
            });
        }
        TileLayout::of_modes(&thread_modes, &value_modes, shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(shape: &[i64], side_by_side: &SideBySide, threads: i64) -> String {
        let layout = TileLayout::of_threads(shape, side_by_side, threads);
        assert_eq!(layout.check(shape), Ok(()));
        assert!((threads..2 * threads).contains(&layout.threads()));
        layout.tv().to_string()
    }

    fn blocked(shape: &[i64], fast: usize, vector: i64, threads: i64) -> String {
        text(shape, &SideBySide::along(fast, vector, threads), threads)
    }

    #[test]
    fn threads_stand_side_by_side_along_the_fast_axis() {
        for (shape, fast, threads, expected) in [
            ([64, 64], 1, 128, "((8,16),(8,4)):((512,1),(64,16))"),
            ([64, 64], 0, 128, "((8,16),(8,4)):((8,64),(1,1024))"),
            ([1, 4096], 1, 256, "((256),(8,2)):((8),(1,2048))"),
            // Fewer elements than threads: some hold the same.
            ([2, 8], 1, 64, "((8,2,4),1):((2,1,0),0)"),
        ] {
            assert_eq!(blocked(&shape, fast, 8, threads), expected);
        }
    }

    #[test]
    fn as_many_have_something_of_their_own_as_extents_divide() {
        for (shape, vector, threads, expected) in [
            ([1, 1000], 4, 128, "((125,2),(4,2)):((4,0),(1,500))"),
            ([1, 1000], 1, 128, "((125,2),(8)):((1,0),(125))"),
            ([3, 160], 4, 64, "((20,3,2),(4,2)):((12,1,0),(3,240))"),
            ([24, 64], 4, 96, "((16,6),(4,4)):((96,1),(24,6))"),
            ([12, 64], 4, 192, "((16,12),(4)):((48,1),(12))"),
            // Of three warps two have something of a power of two.
            ([32, 64], 4, 96, "((16,4,2),(4,8)):((128,1,0),(32,4))"),
            ([3, 48], 8, 32, "((6,3,2),(8)):((24,1,0),(3))"),
            ([7, 7], 4, 64, "((7,7,2),1):((7,1,0),0)"),
        ] {
            assert_eq!(blocked(&shape, 1, vector, threads), expected, "{shape:?}");
        }
    }

    #[test]
    fn what_is_combined_is_shared_by_lanes_whose_numbers_differ_in_a_bit() {
        let combined = |axis| SideBySide {
            combined: vec![axis],
            ..SideBySide::along(1, 4, 64)
        };
        // Parts of a row go through shared memory, of each five lanes; of columns, which a thread then has, nothing does.
        assert_eq!(
            text(&[3, 160], &combined(1), 64),
            "((4,5,3,2),(4,2)):((12,48,1,0),(3,240))"
        );
        assert_eq!(
            text(&[3, 160], &combined(0), 64),
            "((8,5,2),(4,3)):((12,96,0),(3,1))"
        );
    }

    #[test]
    fn vectors_become_shorter_where_memory_does_not_ask_for_them() {
        let of = |narrower| SideBySide {
            narrower,
            combined: vec![0, 1, 2],
            ..SideBySide::along(2, 4, 32)
        };
        let shape = [6, 10, 24];
        assert_eq!(
            text(&shape, &of(Narrower::Always), 32),
            "((8,2,2),(3,5,3)):((60,6,1),(480,12,2))"
        );
        assert!(text(&shape, &of(Narrower::AtNoAccess), 32).contains(",(4,"));
        // An instruction that takes four is done by the threads that have so many.
        let copied = SideBySide {
            narrower: Narrower::Never,
            ..SideBySide::along(1, 8, 128)
        };
        assert_eq!(
            text(&[24, 24], &copied, 128),
            "((3,24,2),(8)):((192,1,0),(24))"
        );
    }

    #[test]
    fn every_element_has_as_many_holders_where_that_is_asked() {
        let evenly = SideBySide {
            evenly: true,
            ..SideBySide::along(1, 4, 96)
        };
        let layout = TileLayout::of_threads(&[1, 1000], &evenly, 96);
        assert_eq!(layout.threads(), 96);
        assert_eq!(layout.check(&[1, 1000]), Ok(()));
    }

    #[test]
    fn few_threads_along_an_axis_are_a_power_of_two() {
        let three = SideBySide::along(1, 4, 3);
        let rows = TileLayout::of_threads(&[192, 64], &three, 384);
        assert_eq!(rows.check(&[192, 64]), Ok(()));
        assert_eq!(rows.threads() * rows.values(), 192 * 64);
    }
}
