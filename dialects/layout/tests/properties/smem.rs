//! Layouts of tiles in shared memory, against a count that knows nothing of them.

use super::{Random, leaf};
use cutec_layout::smem::{Access, Axis, Chosen, Kind, Tile, legalize, verify};
use cutec_layout::{AnyLayout, Int, Layout, Tree};
use std::collections::{BTreeMap, BTreeSet};

fn at(layout: &AnyLayout, index: i64) -> i64 {
    let value = layout.at(&leaf(index)).expect("a value");
    value
        .as_leaf()
        .and_then(Int::as_static)
        .expect("an integer")
}

fn layout(modes: &[(i64, i64)]) -> Layout {
    let (shape, stride): (Vec<i64>, Vec<i64>) = modes.iter().copied().unzip();
    let tree = |leaves: Vec<i64>| Tree::Node(leaves.into_iter().map(leaf).collect());
    Layout::new(tree(shape), tree(stride)).expect("a layout")
}

/// Threads and values that cover the tile, vectors along an axis, in some order.
fn access(random: &mut Random, tile: Tile) -> Option<Access> {
    let bits = i64::from(tile.elem_bits);
    let fast = match random.below(8) {
        0 => Axis::Rows,
        1 => Axis::Columns,
        _ => tile.fast,
    };
    let matrices = random.below(3) == 0 && bits <= 32;
    let vector = match matrices {
        true => 128,
        false => bits.max(random.pick(&[16, 32, 32, 64, 128])),
    };
    let n = vector / bits;
    let (extent, step) = match fast {
        Axis::Rows => (tile.rows, 1),
        Axis::Columns => (tile.columns, tile.rows),
    };
    if extent % n != 0 {
        return None;
    }
    let other = match fast {
        Axis::Rows => (tile.columns, tile.rows),
        Axis::Columns => (tile.rows, 1),
    };
    let mut modes = Vec::new();
    for (mut extent, mut step) in [(extent / n, n * step), other] {
        while extent % 2 == 0 {
            modes.push((2, step));
            (extent, step) = (extent / 2, 2 * step);
        }
        modes.push((extent, step));
    }
    for index in (1..modes.len()).rev() {
        modes.swap(index, random.below(index as u64 + 1) as usize);
    }
    let lanes = modes.iter().scan(1, |size, (extent, _)| {
        *size *= extent;
        Some(*size)
    });
    let threads = lanes.take_while(|size| *size <= 128).count();
    let mut values = vec![(n, step)];
    values.extend_from_slice(&modes[threads..]);
    let kind = match matrices {
        true => Kind::Ldmatrix {
            matrices: random.pick(&[1, 2, 4]),
            transpose: false,
        },
        false => Kind::Vector {
            bits: vector as u32,
        },
    };
    Some(Access {
        what: format!("access of {vector} bits"),
        kind,
        layout_tv: Layout::concat([layout(&modes[..threads]), layout(&values)]),
    })
}

/// Wavefronts, and those without conflicts: word by word, each phase of each instruction.
fn count(tile: Tile, chosen: &AnyLayout, access: &Access) -> (usize, usize) {
    let (bits, lanes) = match access.kind {
        Kind::Vector { bits } => (bits, 32),
        Kind::Ldmatrix { matrices, .. } => (128, 8 * matrices as usize),
    };
    let n = i64::from(bits / tile.elem_bits);
    let size = |mode: usize| {
        let mode = access.layout_tv.mode(mode).expect("a mode");
        mode.size().as_static().expect("a size")
    };
    let together = (32 / (bits as usize / 32).max(1)).min(lanes);
    let (mut wavefronts, mut ideal) = (0, 0);
    for group in (0..size(1)).step_by(n as usize) {
        for warp in (0..size(0)).step_by(32) {
            let lanes: Vec<i64> = (warp..size(0).min(warp + lanes as i64)).collect();
            for phase in lanes.chunks(together) {
                let mut banks = BTreeMap::<i64, BTreeSet<i64>>::new();
                for thread in phase {
                    for value in group..group + n {
                        let coord = Tree::Node(vec![leaf(*thread), leaf(value)]);
                        let index = AnyLayout::from(access.layout_tv.clone()).at(&coord);
                        let index = index.expect("an index").as_leaf().and_then(Int::as_static);
                        let offset = at(chosen, index.expect("an index"));
                        let bit = offset * i64::from(tile.elem_bits);
                        for word in bit / 32..=(bit + i64::from(tile.elem_bits) - 1) / 32 {
                            banks.entry(word % 32).or_default().insert(word);
                        }
                    }
                }
                wavefronts += banks.values().map(BTreeSet::len).max().unwrap_or(0);
                ideal += banks
                    .values()
                    .map(BTreeSet::len)
                    .sum::<usize>()
                    .div_ceil(32);
            }
        }
    }
    (wavefronts, ideal)
}

fn check(tile: Tile, chosen: &Chosen, accesses: &[Access]) {
    let offsets: Vec<i64> = (0..tile.rows * tile.columns)
        .map(|index| at(&chosen.layout, index))
        .collect();
    let places: BTreeSet<i64> = offsets.iter().copied().collect();
    assert_eq!(places.len(), offsets.len(), "{tile:?} {chosen}");
    assert_eq!(places.first().map(|least| *least >= 0), Some(true));
    assert_eq!(places.last().map(|last| last + 1), Some(chosen.elements));
    for (cost, access) in chosen.costs.iter().zip(accesses) {
        let (wavefronts, ideal) = count(tile, &chosen.layout, access);
        let found = (cost.wavefronts, cost.ideal);
        assert_eq!(found, (wavefronts, ideal), "{tile:?} {chosen} {access:?}");
    }
}

#[test]
fn what_is_chosen_is_injective_and_costs_what_it_says() {
    let mut random = Random(77);
    let (mut chosen_count, mut free, mut swizzled, mut padded) = (0, 0, 0, 0);
    for _ in 0..400 {
        let extents = [8, 16, 24, 32, 40, 64, 64, 7, 12];
        let tile = Tile {
            rows: random.pick(&extents),
            columns: random.pick(&extents),
            elem_bits: random.pick(&[8, 16, 16, 32, 64]),
            fast: random.pick(&[Axis::Rows, Axis::Columns]),
        };
        let wanted = 1 + random.below(3);
        let accesses: Vec<Access> = (0..wanted)
            .filter_map(|_| access(&mut random, tile))
            .collect();
        let Ok(chosen) = legalize(tile, &accesses) else {
            continue;
        };
        check(tile, &chosen, &accesses);
        // The layout that was chosen is one that is accepted.
        let again = verify(tile, &chosen.layout, &accesses).expect("the same");
        assert_eq!(again, chosen);
        chosen_count += 1;
        free += usize::from(chosen.conflict_free());
        swizzled += usize::from(chosen.layout.swizzle().is_some());
        padded += usize::from(chosen.elements > tile.rows * tile.columns);
    }
    assert!(chosen_count > 200, "{chosen_count}");
    assert!(
        free > 100 && swizzled > 30 && padded > 10,
        "{free} {swizzled} {padded}"
    );
}
