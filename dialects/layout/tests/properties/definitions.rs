//! Each operation against its definition, by enumeration.

use super::{Random, at, leaf, size, values};
use cutec_layout::algebra::{
    blocked_product, coalesce, coalesce_profile, colex_less, complement, composition, cosize,
    crd2crd, dice, domain_distribute, filter, filter_zeros, flatten, idx2crd, left_inverse,
    lex_less, logical_divide, logical_product, make_layout_like, make_ordered_layout,
    max_common_layout, max_common_vector, nullspace, raked_product, recast_layout, replace,
    right_inverse, slice, tile_to_shape, zipped_divide,
};
use cutec_layout::{Coord, Int, IntTuple, Layout, Tiler, Tree};
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

#[test]
fn indices_are_in_colexicographic_order() {
    let mut random = Random(12);
    for _ in 0..ROUNDS {
        let shape = random.shape(2);
        let size = cutec_layout::algebra::product(&shape)
            .as_static()
            .expect("static");
        let [a, b] = [0; 2].map(|_| random.below(size as u64) as i64);
        let [x, y] = [a, b].map(|index| idx2crd(&leaf(index), &shape).expect("an index"));
        assert_eq!(colex_less(&x, &y), Ok(Some(a < b)), "{x} {y} in {shape}");
        let mirror = |tuple: &IntTuple| {
            fn go(tuple: &IntTuple) -> IntTuple {
                match tuple {
                    Tree::Leaf(_) => tuple.clone(),
                    Tree::Node(modes) => Tree::Node(modes.iter().rev().map(go).collect()),
                }
            }
            go(tuple)
        };
        assert_eq!(lex_less(&mirror(&x), &mirror(&y)), Ok(Some(a < b)));
        let there = crd2crd(&x, &shape, &leaf(size)).expect("the same size");
        assert_eq!(there, leaf(a));
    }
}

#[test]
fn modes_are_replaced() {
    let mut random = Random(13);
    for _ in 0..ROUNDS {
        let (layout, other) = (random.any_layout(), random.any_layout());
        let index = random.below(3) as usize;
        let Ok(replaced) = replace(&layout, index, &other) else {
            assert!(index >= layout.rank());
            continue;
        };
        for at in 0..layout.rank() {
            let wanted = if at == index {
                Some(other.clone())
            } else {
                layout.mode(at)
            };
            assert_eq!(replaced.mode(at), wanted);
        }
    }
}

#[test]
fn kernels_and_even_shares() {
    let mut random = Random(14);
    for _ in 0..ROUNDS {
        let layout = random.any_layout();
        // The kernel has every index that strides 0 alone move to.
        let kernel = nullspace(&layout);
        let moved: BTreeSet<i64> = values(&kernel).into_iter().collect();
        assert_eq!(moved.len() as i64, size(&kernel), "{layout} {kernel}");
        assert!(moved.iter().all(|index| at(&layout, *index) == 0));
        let fixed = filter_zeros(&layout);
        assert_eq!(
            size(&kernel) * size(&fixed),
            size(&layout),
            "{layout} {kernel}"
        );
        // A share of the domain is injective into it and no larger than asked.
        let count = random.pick(&[1, 2, 4, 8, 32]);
        let share = domain_distribute(layout.shape(), count).expect("static");
        let inside: BTreeSet<i64> = values(&share).into_iter().collect();
        assert_eq!(inside.len() as i64, size(&share));
        assert!(count % size(&share) == 0 && inside.iter().all(|index| *index < size(&layout)));
        // The common layout is where both are the identity.
        let other = random.any_layout();
        let Ok(common) = max_common_layout(&layout, &other) else {
            continue;
        };
        for index in 0..size(&common) {
            let place = at(&common, index);
            assert_eq!(
                (at(&layout, place), at(&other, place)),
                (index, index),
                "{layout} {other}"
            );
        }
        assert_eq!(max_common_vector(&layout, &other), Ok(size(&common)));
    }
}

#[test]
fn ordered_layouts_are_compact_in_their_order() {
    let mut random = Random(15);
    for _ in 0..ROUNDS {
        let shape = random.shape(2);
        let mut next = 0;
        let order = shape.map(&mut |_| {
            next += 1;
            Int::Static(random.below(50) as i64 * 64 + next)
        });
        let layout = make_ordered_layout(&shape, &order).expect("congruent");
        let all: BTreeSet<i64> = values(&layout).into_iter().collect();
        assert_eq!(all, (0..size(&layout)).collect(), "{layout} by {order}");
        let strides = layout.stride().leaves().into_iter().zip(shape.leaves());
        let mut by_order: Vec<_> = order
            .leaves()
            .into_iter()
            .map(|leaf| leaf.as_static())
            .zip(strides)
            .collect();
        by_order.sort_by_key(|(order, _)| *order);
        by_order.retain(|(_, (_, extent))| !extent.is(1));
        let strides: Vec<_> = by_order
            .iter()
            .map(|(_, (stride, _))| stride.as_static())
            .collect();
        assert!(strides.is_sorted(), "{layout} by {order}");
    }
}
