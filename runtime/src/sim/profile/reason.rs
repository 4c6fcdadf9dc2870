//! Why an access costs more than it needs, in terms of the addresses of its lanes.

use super::Sample;
use crate::sim::isa::BASE;

/// Bytes of the 32 banks together.
const ROW: u64 = 128;
/// Bytes of a sector.
const SECTOR: u64 = 32;

/// Why lanes meet in banks of shared memory.
pub(super) fn conflict(sample: &Sample) -> String {
    let words = u64::from(sample.bytes.div_ceil(4));
    let group = (32 / words.max(1)) as usize;
    let mut worst: Vec<(u32, u64)> = Vec::new();
    let mut worst_bank = 0;
    for first in (0..32).step_by(group.max(1)) {
        let phase = sample
            .lanes
            .iter()
            .filter(|(lane, _)| (first..first + group).contains(&(*lane as usize)));
        let mut banks: [Vec<(u32, u64)>; 32] = Default::default();
        for &(lane, address) in phase {
            for word in 0..words {
                let word = address.wrapping_sub(BASE) / 4 + word;
                let bank = &mut banks[(word % 32) as usize];
                if !bank.iter().any(|(_, other)| *other == word) {
                    bank.push((lane, word));
                }
            }
        }
        for (bank, lanes) in banks.into_iter().enumerate() {
            if lanes.len() > worst.len() {
                (worst, worst_bank) = (lanes, bank);
            }
        }
    }
    let lanes: Vec<String> = worst
        .iter()
        .take(4)
        .map(|(lane, _)| lane.to_string())
        .collect();
    let more = if worst.len() > 4 { ", …" } else { "" };
    let distances: Vec<u64> = worst
        .windows(2)
        .map(|pair| 4 * pair[1].1.abs_diff(pair[0].1))
        .collect();
    let apart = match distances.first() {
        Some(first) if distances.iter().all(|d| d == first) => {
            format!("{first} bytes apart")
        }
        _ => format!("multiples of {ROW} bytes apart"),
    };
    format!(
        "{} passes instead of {}: lanes {}{more} ask for {} words of bank {worst_bank}, {apart}; {}",
        sample.cost,
        sample.ideal,
        lanes.join(", "),
        worst.len(),
        "a swizzle or a padded stride puts them into different banks"
    )
}

/// Why lanes touch more sectors of global memory than their bytes fill.
pub(super) fn uncoalesced(sample: &Sample) -> String {
    let bytes = u64::from(sample.bytes);
    let steps: Vec<i64> = sample
        .lanes
        .windows(2)
        .map(|pair| {
            let lanes = i64::from(pair[1].0 - pair[0].0);
            (pair[1].1 as i64).wrapping_sub(pair[0].1 as i64) / lanes.max(1)
        })
        .collect();
    let first = sample.lanes.first().map_or(0, |(_, address)| *address);
    let cause = match steps.first() {
        Some(&step) if steps.iter().all(|s| *s == step) && step.unsigned_abs() > bytes => format!(
            "neighbouring lanes are {step} bytes apart and use {bytes} bytes each: give neighbouring \
             threads neighbouring elements of the mode with stride 1"
        ),
        Some(&step) if steps.iter().all(|s| *s == step) && step.unsigned_abs() == bytes => {
            format!(
                "the lanes' bytes are consecutive, but begin {} bytes after a sector: align the first \
                 element of a row",
                first % SECTOR
            )
        }
        _ => {
            let mut runs = 1;
            for step in &steps {
                if step.unsigned_abs() != bytes && *step != 0 {
                    runs += 1;
                }
            }
            let each = bytes * sample.lanes.len() as u64 / runs;
            format!(
                "the lanes' bytes lie in {runs} runs of about {each} bytes: rows of {SECTOR} bytes and more, \
                 aligned to that, fill their sectors"
            )
        }
    };
    format!(
        "{} sectors instead of {}: {cause}",
        sample.cost, sample.ideal
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(bytes: u32, address: impl Fn(u64) -> u64) -> Sample {
        Sample {
            lanes: (0..32).map(|lane| (lane, address(lane.into()))).collect(),
            bytes,
            cost: 32,
            ideal: 1,
        }
    }

    #[test]
    fn a_column_of_shared_memory() {
        let text = conflict(&sample(4, |lane| BASE + 128 * lane));
        assert!(
            text.contains("lanes 0, 1, 2, 3, … ask for 32 words of bank 0, 128 bytes apart"),
            "{text}"
        );
    }

    #[test]
    fn rows_of_a_matrix_without_swizzle() {
        let text = conflict(&sample(16, |lane| {
            BASE + 256 * (lane % 8) + 16 * (lane / 8)
        }));
        assert!(
            text.contains("ask for 8 words of bank 0, 256 bytes apart"),
            "{text}"
        );
    }

    #[test]
    fn what_keeps_lanes_from_sharing_sectors() {
        let base = 1 << 40;
        let text = uncoalesced(&sample(4, |lane| base + 4096 * lane));
        assert!(
            text.contains("neighbouring lanes are 4096 bytes apart"),
            "{text}"
        );
        let text = uncoalesced(&sample(4, |lane| base + 8 + 4 * lane));
        assert!(text.contains("begin 8 bytes after a sector"), "{text}");
        let text = uncoalesced(&sample(4, |lane| base + 4 * (lane % 4) + 512 * (lane / 4)));
        assert!(text.contains("8 runs of about 16 bytes"), "{text}");
    }
}
