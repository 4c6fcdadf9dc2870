//! Tiles that are taken apart again and again, as by the butterflies of a transform: a thread has both halves of what several steps part.
use super::{Mode, TileLayout};

impl TileLayout {
    /// Threads side by side in a tile of powers of two, each of which has up to `vector` neighbours along the axis `fast` and, as far as its share of the
    /// tile goes, both halves of what these bits of a place tell apart, the first ones first; a place counts elements, the last axis the fastest. `None`
    /// where an extent or the number of threads is no power of two, or where there is not an element for each thread.
    pub fn of_halves(
        shape: &[i64],
        (fast, vector): (usize, i64),
        threads: i64,
        halves: &[u32],
    ) -> Option<Self> {
        let size: i64 = shape.iter().product();
        let even = |number: i64| number.count_ones() == 1;
        if !shape.iter().all(|extent| even(*extent)) || !even(threads) || size < threads {
            return None;
        }
        // The bits of a place as axes and steps along them, from the lowest one on.
        let mut bits = Vec::new();
        for axis in (0..shape.len()).rev() {
            bits.extend((0..shape[axis].ilog2()).map(|bit| (axis, 1 << bit)));
        }
        let share = size / threads;
        let neighbours = |(axis, step): &(usize, i64)| *axis == fast && *step < vector.min(share);
        let mut held: Vec<(usize, i64)> = bits.iter().copied().filter(neighbours).collect();
        // Of what nothing parts a thread has what lies far apart, so that neighbouring threads have neighbours.
        let named = halves.iter().filter_map(|bit| bits.get(*bit as usize));
        for bit in named.chain(bits.iter().rev()) {
            if 1 << held.len() < share && !held.contains(bit) {
                held.push(*bit);
            }
        }
        let others = bits.into_iter().filter(|bit| !held.contains(bit));
        // Along the fast axis first.
        let (mut first, behind): (Vec<_>, Vec<_>) = others.partition(|(axis, _)| *axis == fast);
        first.extend(behind);
        Some(TileLayout::of_modes(&modes(&first), &modes(&held), shape))
    }
}

/// Bits of places along axes as modes, neighbouring ones as one.
fn modes(bits: &[(usize, i64)]) -> Vec<Mode> {
    let mut modes: Vec<Mode> = Vec::new();
    for (axis, step) in bits.iter().copied() {
        match modes.last_mut() {
            Some(last)
                if last
                    .along
                    .is_some_and(|(of, by)| of == axis && by * last.extent == step) =>
            {
                last.extent *= 2;
            }
            _ => modes.push(Mode {
                extent: 2,
                along: Some((axis, step)),
            }),
        }
    }
    modes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_both_halves_of_what_is_parted_first() {
        let text = |shape: &[i64], fast, threads, halves: &[u32]| {
            let layout = TileLayout::of_halves(shape, fast, threads, halves)?;
            assert_eq!(layout.check(shape), Ok(()));
            assert_eq!(layout.threads(), threads);
            Some(layout.tv().to_string())
        };
        // Bits 4 and 5 beside vectors of 4; the index in a tile has the first axis as the fastest.
        assert_eq!(
            text(&[1, 2048], (1, 4), 128, &[4, 5]).as_deref(),
            Some("((4,32),(4,4)):((4,64),(1,16))")
        );
        // Bit 1 is one of the vector's.
        assert_eq!(
            text(&[8, 64], (1, 4), 32, &[1, 6, 7]).as_deref(),
            Some("((16,2),(4,4)):((32,4),(8,1))")
        );
        // What nothing parts lies far apart.
        assert_eq!(
            text(&[1, 2048], (1, 4), 128, &[]).as_deref(),
            Some("((128),(4,2,2)):((4),(1,1024,512))")
        );
        assert_eq!(text(&[1, 96], (1, 4), 8, &[3]), None);
        assert_eq!(text(&[1, 64], (1, 4), 128, &[3]), None);
    }
}
