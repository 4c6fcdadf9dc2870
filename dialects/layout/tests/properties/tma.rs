//! Boxes of tensor maps against what they mean: each moves exactly the elements that the layout puts where it writes.

use super::Random;
use cutec_layout::algebra::offset_at;
use cutec_layout::text::parse_layout;
use cutec_layout::tma::{MapSpan, Row, TmaBoxes, TmaProblem, tma_boxes};
use cutec_layout::{Int, Layout, Swizzle, Tree};
use std::collections::HashMap;

/// Checks that boxes move each element of the tile once, to where the layout has it.
fn is_right(tile: &[i64], layout: &Layout, boxes: &TmaBoxes) {
    let mut there = HashMap::new();
    for one in &boxes.boxes {
        let elements: i64 = boxes.extents.iter().product();
        for index in 0..elements {
            let (mut rest, mut coord) = (index, one.coord.clone());
            for (mode, extent) in boxes.order.iter().zip(&boxes.extents) {
                coord[*mode] += rest % extent;
                rest /= extent;
            }
            let twice = there.insert(coord, one.offset + index);
            assert!(twice.is_none(), "twice in {boxes:?} of {layout}");
        }
    }
    let count: i64 = tile.iter().product();
    assert_eq!(there.len() as i64, count, "{boxes:?} of {layout}");
    for index in 0..count {
        let (mut rest, mut coord) = (index, Vec::new());
        for extent in tile {
            coord.push(rest % extent);
            rest /= extent;
        }
        let at = offset_at(&Tree::Leaf(Int::Static(index)), layout).unwrap();
        assert_eq!(
            Some(&there[&coord]),
            at.as_static().as_ref(),
            "{coord:?} of {layout}"
        );
    }
}

fn boxes(
    tile: &[i64],
    contiguous: usize,
    layout: &str,
    span: MapSpan,
    bits: i64,
) -> Result<TmaBoxes, TmaProblem> {
    let layout = parse_layout(layout).unwrap();
    let found = tma_boxes(tile, contiguous, &layout, span, bits);
    if let Ok(found) = &found {
        is_right(tile, &layout, found);
    }
    found
}

/// Order, extents and number.
fn shape(found: Result<TmaBoxes, TmaProblem>) -> (Vec<usize>, Vec<i64>, usize) {
    let found = found.unwrap();
    (found.order, found.extents, found.boxes.len())
}

#[test]
fn usual_tiles() {
    let b128 = MapSpan::B128;
    // 128 × 64 of 16 bits along k: one box.
    let rows = "((8,16),(64,1)):((64,512),(1,0))";
    assert_eq!(
        shape(boxes(&[128, 64], 1, rows, b128, 16)),
        (vec![1, 0], vec![64, 128], 1)
    );
    // Twice as wide: two boxes, one behind the other.
    let wide = "((8,16),(64,2)):((64,512),(1,8192))";
    assert_eq!(
        shape(boxes(&[128, 128], 1, wide, b128, 16)),
        (vec![1, 0], vec![64, 128], 2)
    );
    // Row by row, so wide that a row is more than a span: a box for each half of a row.
    let long = "(16,128):(128,1)";
    assert_eq!(
        shape(boxes(&[16, 128], 1, long, b128, 16)),
        (vec![1, 0], vec![64, 1], 32)
    );
    // Along m.
    let columns = "(64,64):(1,64)";
    assert_eq!(
        shape(boxes(&[64, 64], 0, columns, b128, 16)),
        (vec![0, 1], vec![64, 64], 1)
    );
    // Core matrices of 8 rows of 16 bytes.
    let cores = "((8,8),(8,8)):((8,64),(1,512))";
    assert_eq!(
        shape(boxes(&[64, 64], 1, cores, MapSpan::None, 16)),
        (vec![1, 0], vec![8, 64], 8)
    );
    // Of the modes that have more elements than a box may: 512 rows.
    let tall = "(512,32):(32,1)";
    assert_eq!(
        shape(boxes(&[512, 32], 1, tall, b128, 32)),
        (vec![1, 0], vec![32, 256], 2)
    );
    // A matrix of a batch, which the view in shared memory does not name.
    assert_eq!(
        shape(boxes(&[1, 128, 64], 2, rows, b128, 16)),
        (vec![2, 1, 0], vec![64, 128, 1], 1)
    );
    assert_eq!(
        shape(boxes(&[256], 0, "256:1", MapSpan::None, 32)),
        (vec![0], vec![256], 1)
    );
    // Three modes at once, in another order than in the tensor.
    let three = "(4,8,64):(512,64,1)";
    assert_eq!(
        shape(boxes(&[4, 8, 64], 2, three, b128, 16)),
        (vec![2, 1, 0], vec![64, 8, 4], 1)
    );
    let three = "(4,8,64):(64,256,1)";
    assert_eq!(
        shape(boxes(&[4, 8, 64], 2, three, b128, 16)),
        (vec![2, 0, 1], vec![64, 4, 8], 1)
    );
}

#[test]
fn what_is_in_the_way() {
    let none = MapSpan::None;
    let refused = |tile: &[i64], contiguous, layout, span, bits| {
        boxes(tile, contiguous, layout, span, bits).unwrap_err()
    };
    assert!(matches!(
        refused(&[64, 64], 1, "(64,64):(1,64)", none, 16),
        TmaProblem::Fastest { mode: 1, .. }
    ));
    assert!(matches!(
        refused(&[64, 4], 1, "(64,4):(4,1)", none, 16),
        TmaProblem::Row {
            found: 8,
            expected: Row::Multiple
        }
    ));
    assert!(matches!(
        refused(&[64, 32], 1, "(64,32):(32,1)", MapSpan::B128, 16),
        TmaProblem::Row {
            found: 64,
            expected: Row::Span(MapSpan::B128)
        }
    ));
    assert!(matches!(
        refused(&[64, 64], 1, "(64,64):(72,1)", none, 16),
        TmaProblem::Align { found: 144 }
    ));
    assert!(matches!(
        refused(&[128, 64], 1, "(128,64):(128,1)", none, 16),
        TmaProblem::TooMany { found: 128, .. }
    ));
    assert!(matches!(
        refused(&[64, 64], 1, "(64,64):(0,1)", none, 16),
        TmaProblem::Aliases { .. }
    ));
    assert!(matches!(
        refused(&[64, 64], 1, "(64,32):(32,1)", none, 16),
        TmaProblem::Shape { .. }
    ));
    assert!(matches!(
        refused(&[64, 64], 1, "4096:1", none, 16),
        TmaProblem::Shape { .. }
    ));
}

#[test]
fn spans_are_swizzles_of_chunks_of_16_bytes() {
    let swizzle = |bits, base, shift| Swizzle::new(bits, base, shift).unwrap();
    assert_eq!(
        MapSpan::of_swizzle(swizzle(3, 3, 3), 16),
        Some(MapSpan::B128)
    );
    assert_eq!(MapSpan::of_swizzle(swizzle(2, 4, 3), 8), Some(MapSpan::B64));
    assert_eq!(
        MapSpan::of_swizzle(swizzle(1, 2, 3), 32),
        Some(MapSpan::B32)
    );
    assert_eq!(
        MapSpan::of_swizzle(swizzle(0, 4, 3), 16),
        Some(MapSpan::None)
    );
    for other in [swizzle(3, 3, 4), swizzle(3, 4, 3), swizzle(4, 3, 4)] {
        assert_eq!(MapSpan::of_swizzle(other, 16), None, "{other}");
    }
}

#[test]
fn boxes_of_many_layouts_move_what_the_layouts_say() {
    let mut random = Random(11);
    let mut found = 0;
    for _ in 0..20_000 {
        let rank = 1 + random.below(3) as usize;
        let bits = random.pick(&[8, 16, 32, 64]);
        // The modes of the tile in parts, which lie in any order.
        let parts: Vec<Vec<i64>> = (0..rank)
            .map(|_| {
                let count = 1 + random.below(2);
                (0..count)
                    .map(|_| random.pick(&[1, 2, 3, 4, 8, 16]))
                    .collect()
            })
            .collect();
        let mut places: Vec<(usize, usize)> = (0..rank)
            .flat_map(|mode| (0..parts[mode].len()).map(move |at| (mode, at)))
            .collect();
        for at in (1..places.len()).rev() {
            places.swap(at, random.below(at as u64 + 1) as usize);
        }
        let mut strides: Vec<Vec<i64>> = parts.iter().map(|parts| vec![0; parts.len()]).collect();
        let mut next = 1;
        for (mode, at) in places {
            strides[mode][at] = next;
            next *= parts[mode][at];
            if random.below(5) == 0 {
                next = (next + 127) / 128 * 128;
            }
        }
        let node = |numbers: &[Vec<i64>]| {
            let mode = |numbers: &Vec<i64>| {
                Tree::Node(
                    numbers
                        .iter()
                        .map(|x| Tree::Leaf(Int::Static(*x)))
                        .collect(),
                )
            };
            Tree::Node(numbers.iter().map(mode).collect())
        };
        let layout = Layout::new(node(&parts), node(&strides)).unwrap();
        let tile: Vec<i64> = parts.iter().map(|parts| parts.iter().product()).collect();
        let contiguous = random.below(rank as u64) as usize;
        let span = random.pick(&MapSpan::ALL);
        if let Ok(boxes) = tma_boxes(&tile, contiguous, &layout, span, bits) {
            found += 1;
            is_right(&tile, &layout, &boxes);
            assert_eq!(boxes.order[0], contiguous);
            assert!(
                boxes
                    .extents
                    .iter()
                    .all(|extent| (1..=256).contains(extent))
            );
            assert_eq!(boxes.extents[0] * bits % 128, 0);
            assert!(span == MapSpan::None || boxes.extents[0] * bits / 8 <= span.bytes());
            assert!(boxes.boxes.iter().all(|one| one.offset * bits % 1024 == 0));
        }
    }
    assert!(found > 300, "{found}");
}
