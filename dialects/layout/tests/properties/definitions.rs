//! Each operation against its definition, by enumeration.

use super::{Random, at, leaf, size, values};
use cutec_layout::algebra::{
    blocked_product, coalesce, coalesce_profile, complement, composition, cosize, dice, filter,
    flatten, idx2crd, left_inverse, logical_divide, logical_product, make_layout_like,
    max_common_vector, raked_product, recast_layout, right_inverse, slice, tile_to_shape,
    zipped_divide,
};
use cutec_layout::{Coord, Int, Layout, Tiler, Tree};
use std::collections::BTreeSet;

const ROUNDS: usize = 3000;

#[test]
fn coalesce_and_flatten_keep_the_function() {
    let mut random = Random(1);
    for _ in 0..ROUNDS {
        let layout = random.any_layout();
        for other in [coalesce(&layout), flatten(&layout)] {
            assert!(other.depth() <= 1, "{layout} {other}");
            assert_eq!(values(&layout), values(&other), "{layout} {other}");
        }
        let by_profile = coalesce_profile(&layout, &Tree::Node(vec![Tree::Leaf(())]));
        if let Ok(other) = by_profile {
            assert_eq!(values(&layout), values(&other), "{layout} {other}");
            assert_eq!(layout.rank(), other.rank());
        }
    }
}

#[test]
fn composition_is_function_composition() {
    let mut random = Random(2);
    let mut accepted = 0;
    for _ in 0..ROUNDS {
        let (a, b) = (random.any_layout(), random.any_layout());
        let Ok(c) = composition(&a, &b) else { continue };
        if values(&b).iter().any(|&index| index >= size(&a)) {
            continue;
        }
        accepted += 1;
        assert_eq!(size(&c), size(&b));
        for index in 0..size(&b) {
            assert_eq!(at(&c, index), at(&a, at(&b, index)), "{a} o {b} = {c}");
        }
    }
    assert!(accepted > ROUNDS / 10, "{accepted}");
}

#[test]
fn complement_fills_the_gaps() {
    let mut random = Random(3);
    for _ in 0..ROUNDS {
        let layout = random.any_layout();
        let bound = cosize(&layout).expect("integer strides");
        let Ok(rest) = complement(&layout, &Tree::Leaf(bound.clone())) else {
            continue;
        };
        let rest_values = values(&rest);
        assert!(
            rest_values.windows(2).all(|pair| pair[0] < pair[1]),
            "{layout} {rest}"
        );
        let own: BTreeSet<i64> = values(&layout).into_iter().collect();
        assert!(rest_values.iter().skip(1).all(|value| !own.contains(value)));
        let both = Layout::concat([filter(&layout), rest]);
        let reached: BTreeSet<i64> = values(&both).into_iter().collect();
        assert_eq!(
            reached.len() as i64,
            size(&both),
            "{layout}: {both} is injective"
        );
        let bound = bound.as_static().expect("static");
        assert!(
            (0..bound).all(|value| reached.contains(&value)),
            "{layout}: {both}"
        );
    }
}

#[test]
fn inverses_invert() {
    let mut random = Random(4);
    for _ in 0..ROUNDS {
        let layout = random.any_layout();
        let right = right_inverse(&layout);
        for index in 0..size(&right) {
            assert_eq!(at(&layout, at(&right, index)), index, "{layout} {right}");
        }
        let Ok(left) = left_inverse(&layout) else {
            continue;
        };
        for value in values(&layout) {
            assert_eq!(at(&layout, at(&left, value)), value, "{layout} {left}");
        }
    }
}

#[test]
fn divides_cover_the_layout() {
    let mut random = Random(5);
    for _ in 0..ROUNDS {
        let layout = random.any_layout();
        let tile = random.pick(&[1, 2, 3, 4, 6, 8]);
        let Ok(divided) = logical_divide(&layout, &Tiler::from(tile)) else {
            continue;
        };
        let tile_layout = divided.mode(0).expect("a tile");
        assert_eq!(size(&tile_layout), tile);
        if size(&layout) % tile == 0 && size(&divided) == size(&layout) {
            let mut found = values(&divided);
            let mut wanted = values(&layout);
            assert_eq!(found, wanted, "{layout} by {tile}");
            let zipped = zipped_divide(&layout, &Tiler::from(tile)).expect("as above");
            found = values(&zipped);
            found.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(found, wanted);
        }
        let reached: BTreeSet<i64> = values(&divided).into_iter().collect();
        assert!(
            values(&layout).iter().all(|value| reached.contains(value)),
            "{layout} by {tile} = {divided}"
        );
    }
}

#[test]
fn products_repeat_the_block() {
    let mut random = Random(6);
    for _ in 0..ROUNDS / 10 {
        let block = random.any_layout();
        let tiler = random.any_layout();
        let Ok(product) = logical_product(&block, &Tiler::Layout(tiler.clone())) else {
            continue;
        };
        assert_eq!(product.mode(0).as_ref(), Some(&block));
        assert_eq!(size(&product), size(&block) * size(&tiler));
        let distinct = |layout: &Layout| {
            let all: BTreeSet<i64> = values(layout).into_iter().collect();
            all.len()
        };
        assert_eq!(
            distinct(&product),
            distinct(&block) * distinct(&tiler),
            "{block} x {tiler} = {product}"
        );
        for zipped in [
            blocked_product(&block, &tiler),
            raked_product(&block, &tiler),
        ]
        .into_iter()
        .flatten()
        {
            let (mut a, mut b) = (values(&zipped), values(&product));
            a.sort_unstable();
            b.sort_unstable();
            assert_eq!(a, b, "{block} x {tiler}");
        }
    }
}

#[test]
fn tile_to_shape_has_the_shape() {
    let mut random = Random(7);
    for _ in 0..ROUNDS {
        let shape = Tree::Node(vec![
            leaf(random.pick(&[1, 2, 4])),
            leaf(random.pick(&[2, 3, 8])),
        ]);
        let block = random.layout(shape);
        let target = Tree::Node(vec![leaf(8), leaf(24)]);
        let order = Tree::Node(vec![leaf(1), leaf(0)]);
        let Ok(tiled) = tile_to_shape(&block, &target, Some(&order)) else {
            continue;
        };
        assert_eq!(size(&tiled), 8 * 24);
        assert_eq!(size(&tiled.mode(0).expect("two modes")), 8);
    }
}

#[test]
fn slices_and_dices() {
    let mut random = Random(8);
    for _ in 0..ROUNDS {
        let layout = random.any_layout();
        if layout.rank() != 2 || layout.depth() == 0 {
            continue;
        }
        let coord: Coord = Tree::Node(vec![Tree::Leaf(None), Tree::Leaf(Some(Int::ONE))]);
        let kept = slice(&coord, &layout).expect("rank 2");
        let fixed = dice(&coord, &layout).expect("rank 2");
        assert_eq!(kept.mode(0), layout.mode(0));
        assert_eq!(fixed.mode(0), layout.mode(1));
    }
}

#[test]
fn coordinates_and_indices() {
    let mut random = Random(9);
    for _ in 0..ROUNDS {
        let layout = random.any_layout();
        for index in 0..size(&layout) {
            let coord = idx2crd(&leaf(index), layout.shape()).expect("an index");
            let found = cutec_layout::algebra::offset_at(&coord, &layout).expect("a value");
            assert_eq!(found.as_static(), Some(at(&layout, index)));
        }
    }
}

#[test]
fn recast_addresses_the_same_bits() {
    let mut random = Random(10);
    for _ in 0..ROUNDS {
        let layout = random.any_layout();
        let Ok(narrow) = recast_layout(&layout, 8, 32) else {
            continue;
        };
        let bytes: BTreeSet<i64> = values(&narrow).into_iter().collect();
        let wanted: BTreeSet<i64> = values(&layout)
            .into_iter()
            .flat_map(|word| (0..4).map(move |byte| 4 * word + byte))
            .collect();
        assert_eq!(bytes, wanted, "{layout} {narrow}");
        let back = recast_layout(&narrow, 32, 8).expect("it came from there");
        assert_eq!(values(&back), values(&layout));
    }
}

#[test]
fn layouts_like_others_are_compact() {
    let mut random = Random(11);
    for _ in 0..ROUNDS {
        let layout = random.any_layout();
        let like = make_layout_like(&layout).expect("well-formed");
        let distinct: BTreeSet<i64> = values(&like).into_iter().collect();
        let bound = distinct.len() as i64;
        assert_eq!(cosize(&like).expect("integers").as_static(), Some(bound));
        assert_eq!(
            max_common_vector(&like, &like).ok(),
            Some(size(&right_inverse(&like)))
        );
    }
}
