//! Counts of each instruction while a kernel runs.

use crate::sim::isa::BASE;
use crate::sim::lane::{WARP, Wides, lanes};
use crate::sim::profile::{Counts, Sample};

/// Counts of a block, or of several.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// For each instruction.
    pub counts: Vec<Counts>,
    /// For each instruction the access to shared and to global memory that wastes most.
    pub samples: Vec<[Option<Box<Sample>>; 2]>,
    /// Words of each bank that accesses asked for.
    pub banks: [u64; WARP],
}

impl Counters {
    pub fn new(instructions: usize) -> Counters {
        Counters {
            counts: vec![Counts::default(); instructions],
            samples: vec![[None, None]; instructions],
            banks: [0; WARP],
        }
    }

    pub fn add(&mut self, other: Counters) {
        for (counts, other) in self.counts.iter_mut().zip(&other.counts) {
            counts.add(other);
        }
        for (samples, others) in self.samples.iter_mut().zip(other.samples) {
            for (sample, other) in samples.iter_mut().zip(others) {
                if let Some(other) = other {
                    keep_worse(sample, other.cost, other.ideal, || *other);
                }
            }
        }
        for (bank, other) in self.banks.iter_mut().zip(other.banks) {
            *bank += other;
        }
    }

    /// An instruction executed by some lanes of a group.
    #[inline]
    pub fn step(&mut self, pc: u32, mask: u32, divergent: bool) {
        let counts = &mut self.counts[pc as usize];
        counts.executed += 1;
        counts.threads += u64::from(mask.count_ones());
        counts.divergent += u64::from(divergent);
    }

    /// An access to shared memory. Gives its passes over the banks, and the fewest there could be.
    pub fn shared(&mut self, pc: u32, addresses: &Wides, bytes: u32, mask: u32) -> (u64, u64) {
        let (cost, ideal) = wavefronts(addresses, bytes, mask, &mut self.banks);
        let counts = &mut self.counts[pc as usize];
        counts.shared_requests += 1;
        counts.shared_bytes += u64::from(bytes * mask.count_ones());
        counts.wavefronts += cost;
        counts.wavefronts_ideal += ideal;
        let sample = &mut self.samples[pc as usize][0];
        keep_worse(sample, cost, ideal, || {
            example(addresses, bytes, mask, cost, ideal)
        });
        (cost, ideal)
    }

    /// An access to global memory.
    pub fn global(&mut self, pc: u32, addresses: &Wides, bytes: u32, mask: u32) {
        let (cost, ideal) = sectors(addresses, bytes, mask);
        let counts = &mut self.counts[pc as usize];
        counts.global_requests += 1;
        counts.global_bytes += u64::from(bytes * mask.count_ones());
        counts.sectors += cost;
        counts.sectors_ideal += ideal;
        let sample = &mut self.samples[pc as usize][1];
        keep_worse(sample, cost, ideal, || {
            example(addresses, bytes, mask, cost, ideal)
        });
    }
}

/// Keeps the access that wastes most, if any wastes something.
fn keep_worse(
    kept: &mut Option<Box<Sample>>,
    cost: u64,
    ideal: u64,
    sample: impl FnOnce() -> Sample,
) {
    let waste = cost.saturating_sub(ideal);
    if waste > kept.as_ref().map_or(0, |kept| kept.cost - kept.ideal) {
        *kept = Some(Box::new(sample()));
    }
}

fn example(addresses: &Wides, bytes: u32, mask: u32, cost: u64, ideal: u64) -> Sample {
    Sample {
        lanes: lanes(mask)
            .map(|lane| (lane as u32, addresses[lane]))
            .collect(),
        bytes,
        cost,
        ideal,
    }
}

/// Passes over the 32 banks of 4 bytes that an access takes, and the fewest it could take.
///
/// Lanes are served in groups whose accesses add up to 128 bytes at most: all 32 of up to 4 bytes,
/// halves of a warp of 8, quarters of 16, and the eight rows of each matrix of `ldmatrix`. Within a
/// group each pass reads one word of every bank, any number of lanes sharing a word.
fn wavefronts(addresses: &Wides, bytes: u32, mask: u32, asked: &mut [u64; WARP]) -> (u64, u64) {
    let words = u64::from(bytes.div_ceil(4));
    let group = (WARP / words.max(1) as usize).max(1);
    let (mut passes, mut ideal) = (0, 0);
    for first in (0..WARP).step_by(group) {
        let of_group = (u32::MAX >> (WARP - group)) << first;
        let (mut seen, mut count) = ([0u64; 2 * WARP], 0);
        for lane in lanes(mask & of_group) {
            let start = addresses[lane].wrapping_sub(BASE) / 4;
            for word in 0..words {
                seen[count % (2 * WARP)] = start.wrapping_add(word);
                count += 1;
            }
        }
        let seen = &mut seen[..count.min(2 * WARP)];
        seen.sort_unstable();
        let mut banks = [0u64; WARP];
        let (mut last, mut distinct) = (None, 0);
        for &word in &*seen {
            if last != Some(word) {
                banks[(word % WARP as u64) as usize] += 1;
                distinct += 1;
            }
            last = Some(word);
        }
        for (asked, bank) in asked.iter_mut().zip(banks) {
            *asked += bank;
        }
        passes += banks.into_iter().max().unwrap_or(0);
        ideal += u64::div_ceil(distinct, WARP as u64);
    }
    (passes, ideal)
}

/// Sectors of 32 bytes that an access touches, and the fewest that hold as many different bytes.
fn sectors(addresses: &Wides, bytes: u32, mask: u32) -> (u64, u64) {
    let (mut starts, mut count) = ([0u64; WARP], 0);
    for lane in lanes(mask) {
        starts[count] = addresses[lane];
        count += 1;
    }
    let starts = &mut starts[..count];
    starts.sort_unstable();
    let bytes = u64::from(bytes);
    let (mut touched, mut distinct) = (0, 0);
    let (mut next_sector, mut end) = (0, 0);
    for &start in &*starts {
        let last = (start + bytes - 1) / 32;
        let first = (start / 32).max(next_sector);
        if last >= first {
            touched += last - first + 1;
            next_sector = last + 1;
        }
        distinct += (start + bytes).saturating_sub(start.max(end));
        end = end.max(start + bytes);
    }
    (touched, distinct.div_ceil(32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(base: u64, stride: u64) -> Wides {
        std::array::from_fn(|lane| base + lane as u64 * stride)
    }

    fn passes(stride: u64, bytes: u32, mask: u32) -> (u64, u64) {
        wavefronts(&strided(BASE, stride), bytes, mask, &mut [0; WARP])
    }

    #[test]
    fn bank_conflicts() {
        assert_eq!(passes(4, 4, u32::MAX), (1, 1));
        assert_eq!(passes(8, 4, u32::MAX), (2, 1));
        assert_eq!(passes(128, 4, u32::MAX), (32, 1));
        assert_eq!(passes(0, 4, u32::MAX), (1, 1));
        assert_eq!(passes(8, 8, u32::MAX), (2, 2));
        assert_eq!(passes(16, 16, u32::MAX), (4, 4));
        assert_eq!(passes(128, 16, u32::MAX), (32, 4));
        assert_eq!(passes(128, 4, 1), (1, 1));
        assert_eq!(passes(2, 2, u32::MAX), (1, 1));
    }

    #[test]
    fn rows_of_matrices() {
        // Four matrices of eight rows: rows of 128 bytes lie in the same banks, a swizzle spreads them.
        let rows = |row: &dyn Fn(u64, u64) -> u64| -> Wides {
            std::array::from_fn(|lane| BASE + row(lane as u64 / 8, lane as u64 % 8))
        };
        let count = |addresses: &Wides| wavefronts(addresses, 16, u32::MAX, &mut [0; WARP]);
        assert_eq!(
            count(&rows(&|matrix, row| 128 * row + 16 * matrix)),
            (32, 4)
        );
        let swizzled = rows(&|matrix, row| 128 * row + 16 * (matrix ^ row));
        assert_eq!(count(&swizzled), (4, 4));
    }

    #[test]
    fn sectors_of_requests() {
        let base = 1 << 40;
        let count = |stride, bytes| sectors(&strided(base, stride), bytes, u32::MAX);
        assert_eq!(count(4, 4), (4, 4));
        assert_eq!(count(16, 16), (16, 16));
        assert_eq!(count(0, 4), (1, 1));
        assert_eq!(count(64, 4), (32, 4));
        assert_eq!(count(8, 4), (8, 4));
        assert_eq!(sectors(&strided(base + 16, 4), 4, u32::MAX), (5, 4));
    }

    #[test]
    fn the_worst_access_is_kept() {
        let mut counters = Counters::new(1);
        counters.shared(0, &strided(BASE, 4), 4, u32::MAX);
        assert!(counters.samples[0][0].is_none());
        counters.shared(0, &strided(BASE, 8), 4, u32::MAX);
        let mut all = Counters::new(1);
        all.shared(0, &strided(BASE, 128), 4, u32::MAX);
        all.add(counters);
        assert_eq!(all.samples[0][0].as_ref().unwrap().cost, 32);
        assert_eq!(all.counts[0].wavefronts, 1 + 2 + 32);
        assert_eq!(all.banks[0], 1 + 2 + 32);
    }
}
