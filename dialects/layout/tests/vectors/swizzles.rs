//! Swizzled layouts as tables, and the swizzled shared-memory atoms.

use super::{cases, read, without_unit_strides};
use cutec_layout::text::{parse_any_layout, parse_layout, parse_swizzle};
use cutec_layout::{AnyLayout, ComposedLayout, Int, Tree, algebra};

#[test]
fn composed_layouts_as_tables() {
    let text = read("composed_eval.tsv");
    let mut count = 0;
    for line in text.lines() {
        let (layout, table) = line.split_once('\t').expect("two columns");
        let layout = parse_any_layout(layout).expect("a layout");
        for (index, wanted) in table.split(',').enumerate() {
            let index = Tree::Leaf(Int::Static(index as i64));
            let found = layout.at(&index).expect("a value");
            assert_eq!(found.to_string(), wanted, "{layout} at {index}");
        }
        count += 1;
    }
    assert_eq!(count, 400);
}

#[test]
fn canonical_shared_memory_atoms() {
    let cases = cases("smem_layout_atoms");
    let target = Tree::Node([128, 128, 3].map(|n| Tree::Leaf(Int::Static(n))).to_vec());
    let mut in_bits = None;
    for case in &cases {
        let field = |name: &str| case[name].as_str().expect(name);
        let layout = parse_layout(field("layout")).expect("a layout");
        let swizzle = parse_swizzle(field("swizzle")).expect("a swizzle");
        let Ok(bits) = field("unit").parse::<i64>() else {
            in_bits = Some(layout);
            continue;
        };
        // The swizzle stays one of bytes; the layout is upcast from bits.
        let wide = in_bits.as_ref().expect("the atom in bits comes first");
        let upcast = algebra::upcast(wide, bits).expect("an upcast");
        assert_eq!(without_unit_strides(&upcast), layout, "{case}");
        let atom = ComposedLayout::swizzled(swizzle, Int::ZERO, layout);
        let tiled = AnyLayout::Composed(atom)
            .map_inner(|inner| algebra::tile_to_shape(inner, &target, None))
            .expect("it tiles");
        assert_eq!(
            without_unit_strides(tiled.inner()).to_string(),
            field("tile_128x128x3_layout")
        );
        assert_eq!(
            tiled.swizzle().expect("a swizzle").to_string(),
            field("tile_128x128x3_swizzle")
        );
    }
    assert_eq!(cases.len(), 32);
}
