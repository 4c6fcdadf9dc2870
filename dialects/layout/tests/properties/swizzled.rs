//! Swizzles carried through layouts.

use super::{Random, leaf, size};
use cutec_layout::algebra::{
    compose, idx2crd, left_inverse_any, right_inverse_any, slice, slice_swizzled, tuple_add,
};
use cutec_layout::text::{parse_any_layout, parse_coord};
use cutec_layout::{AnyLayout, ComposedLayout, Coord, Int, IntTuple, Layout, Swizzle, Tree};

fn at(layout: &AnyLayout, index: i64) -> i64 {
    let value = layout.at(&leaf(index)).expect("a value");
    value
        .as_leaf()
        .and_then(Int::as_static)
        .expect("an integer")
}

fn bits_layout(random: &mut Random) -> Layout {
    let extents = [0; 3].map(|_| leaf(random.pick(&[1, 2, 4, 8])));
    random.layout(Tree::Node(extents.to_vec()))
}

#[test]
fn inverses_of_swizzled_layouts() {
    let mut random = Random(60);
    let mut checked = 0;
    for _ in 0..3000 {
        let bits = 1 + random.below(2) as i64;
        let swizzle = Swizzle::new(bits, random.below(3) as i64, bits + random.below(2) as i64);
        let swizzle = swizzle.expect("a swizzle");
        let (inner, other) = (bits_layout(&mut random), bits_layout(&mut random));
        let layout = AnyLayout::Composed(ComposedLayout::swizzled(swizzle, Int::ZERO, inner));
        if let Ok(right) = right_inverse_any(&layout) {
            for index in 0..size(right.inner()) {
                assert_eq!(at(&layout, at(&right, index)), index, "{layout} {right}");
                checked += 1;
            }
        }
        if let Ok(left) = left_inverse_any(&layout) {
            for index in 0..size(layout.inner()) {
                let value = at(&layout, index);
                assert_eq!(at(&layout, at(&left, value)), value, "{layout} {left}");
                checked += 1;
            }
        }
        let outer = AnyLayout::Plain(other);
        if let Ok(both) = compose(&outer, &layout) {
            for index in 0..size(layout.inner()) {
                let value = at(&layout, index);
                assert_eq!(
                    at(&both, index),
                    at(&outer, value),
                    "{outer} o {layout} = {both}"
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 3000, "{checked}");
}

#[test]
fn a_swizzle_behind_a_transposition() {
    let swizzled = parse_any_layout("S<3,0,3> o 0 o (8,8):(8,1)").expect("a layout");
    let transposed = parse_any_layout("(8,8):(8,1)").expect("a layout");
    let both = compose(&transposed, &swizzled).expect("bits stay together");
    assert_eq!(both.to_string(), "S<3,0,-3> o 0 o (8,8):(1,8)");
}

fn eval(tuple: &IntTuple, env: &dyn Fn(u32) -> i64) -> IntTuple {
    tuple.map(&mut |leaf| Int::Static(leaf.eval(env)))
}

/// Every value of the slice, at a coordinate whose integers are partly known at run time only, is
/// that of the whole layout.
#[test]
fn slices_of_swizzled_layouts() {
    let mut random = Random(61);
    let (mut plain, mut swizzled) = (0, 0);
    for round in 0..6000 {
        let bits = 1 + random.below(2) as i64;
        let shift = random.pick(&[1, -1]) * (bits + random.below(2) as i64);
        let swizzle = Swizzle::new(bits, random.below(3) as i64, shift).expect("a swizzle");
        let inner = match round % 8 {
            0 => random.any_layout(),
            _ => bits_layout(&mut random),
        };
        let Tree::Node(extents) = inner.shape().clone() else {
            continue;
        };
        let offset = Int::Static(random.pick(&[0, 0, 0, 1, 16, 64]));
        let composed = ComposedLayout::swizzled(swizzle, offset, inner.clone());
        let mut known = Vec::new();
        let coord: Vec<Coord> = extents
            .iter()
            .map(|extent| {
                let bound = cutec_layout::algebra::product(extent);
                let value = random.below(bound.as_static().expect("static") as u64) as i64;
                match random.below(3) {
                    0 => Tree::Leaf(None),
                    1 => Tree::Leaf(Some(Int::Static(value))),
                    _ => {
                        known.push(value);
                        Tree::Leaf(Some(Int::unknown(known.len() as u32 - 1)))
                    }
                }
            })
            .collect();
        let env = |id: u32| known[id as usize];
        let whole = Tree::Node(coord.clone());
        let (sliced, start) = slice_swizzled(&whole, &composed).expect("a coordinate");
        match &sliced {
            AnyLayout::Plain(_) => plain += 1,
            AnyLayout::Composed(_) => swizzled += 1,
        }
        let start = eval(&start, &env);
        let sliced = match sliced {
            AnyLayout::Plain(layout) => AnyLayout::Plain(layout.eval(&env)),
            AnyLayout::Composed(mut layout) => {
                layout.offset = eval(&layout.offset, &env);
                AnyLayout::Composed(layout)
            }
        };
        let kept = slice(&whole, &inner).expect("as above");
        for index in 0..size(sliced.inner()) {
            let at = idx2crd(&leaf(index), kept.shape()).expect("an index");
            let mut open = at.modes().iter().cloned();
            let full: Vec<IntTuple> = coord
                .iter()
                .map(|leaf| match leaf {
                    Tree::Leaf(Some(at)) => Tree::Leaf(Int::Static(at.eval(&env))),
                    _ => open.next().expect("a mode for each `_`"),
                })
                .collect();
            let wanted = composed.at(&Tree::Node(full)).expect("inside");
            let found = tuple_add(&start, &sliced.at(&at).expect("inside")).expect("integers");
            assert_eq!(found, wanted, "{composed} at {known:?}: {sliced} + {start}");
        }
    }
    assert!(plain > 1000 && swizzled > 1000, "{plain} {swizzled}");
}

#[test]
fn normal_forms_of_swizzled_slices() {
    let slice = |layout: &str, coord: &str| {
        let AnyLayout::Composed(layout) = parse_any_layout(layout).expect("a layout") else {
            panic!("{layout} is composed");
        };
        let coord = parse_coord(coord).expect("a coordinate");
        let (sliced, start) = slice_swizzled(&coord, &layout).expect("it fits");
        format!("{start} + {sliced}")
    };
    // The swizzle sees bits 6 to 9 of the column, and nothing of the row.
    assert_eq!(
        slice("S<3,4,3> o 0 o (64,128):(1,64)", "(1,_)"),
        "1 + S<3,4,3> o 0 o (128):(64)"
    );
    assert_eq!(
        slice("S<3,4,3> o 0 o (16,8):(1,16)", "(_,1)"),
        "16 + (16):(1)"
    );
    // Row 1 turns the columns around.
    assert_eq!(
        slice("S<1,0,3> o 0 o (8,8):(8,1)", "(1,_)"),
        "9 + ((2,4)):((-1,2))"
    );
    assert_eq!(
        slice("S<1,0,3> o 0 o (8,8):(8,1)", "(?,_)"),
        "? + ((2,4)):((?,2))"
    );
}
