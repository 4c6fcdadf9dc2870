//! Swizzles carried through layouts.

use super::{Random, leaf, size};
use cutec_layout::algebra::{compose, left_inverse_any, right_inverse_any};
use cutec_layout::text::parse_any_layout;
use cutec_layout::{AnyLayout, ComposedLayout, Int, Layout, Swizzle, Tree};

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
