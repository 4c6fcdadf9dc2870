//! Partitions of swizzled tensors, with the swizzle and without.

use super::{Random, leaf, size};
use cutec_layout::text::{parse_any_layout, parse_layout};
use cutec_layout::tv::{CopyAtom, make_tiled_copy_tv, slice_any};
use cutec_layout::{
    AnyLayout, ComposedLayout, Coord, Int, IntTuple, Layout, Swizzle, SymInfo, Tree,
};

fn value(tuple: &IntTuple, env: &dyn Fn(u32) -> i64) -> i64 {
    tuple.as_leaf().expect("an integer").eval(env)
}

#[test]
fn decayed_slices_have_the_same_offsets() {
    let mut random = Random(40);
    let mut decayed = 0;
    for _ in 0..1500 {
        let bits = random.below(4) as i64;
        let base = random.below(3) as i64;
        let shift = bits + random.below(3) as i64;
        let sign = random.pick(&[1, 1, -1]);
        let swizzle = Swizzle::new(bits, base, sign * shift).expect("a swizzle");
        let extents = [2, 4, 8].map(|_| leaf(random.pick(&[1, 2, 4, 8, 16])));
        let inner = random.layout(Tree::Node(extents.to_vec()));
        let layout = AnyLayout::Composed(ComposedLayout::swizzled(swizzle, Int::ZERO, inner));
        let count = layout.shape().leaves()[0].as_static().expect("static");
        let info = SymInfo {
            max: Some(count - 1),
            ..SymInfo::default()
        };
        let thread = Int::var(0, info);
        let coord: Coord = Tree::Node(vec![
            Tree::Leaf(Some(thread)),
            Tree::Leaf(None),
            Tree::Leaf(None),
        ]);
        let part = slice_any(&coord, &layout).expect("rank 3");
        let plain = part.clone().decay();
        decayed += usize::from(plain.layout.as_plain().is_some());
        let rest: &Layout = part.layout.inner();
        let (columns, total) = (rest.mode(0).expect("two modes"), size(rest));
        for at in 0..count {
            let env = |_: u32| at;
            for index in 0..total {
                let (i, j) = (index % size(&columns), index / size(&columns));
                let whole: IntTuple = Tree::Node(vec![leaf(at), leaf(i), leaf(j)]);
                let wanted = value(&layout.at(&whole).expect("a value"), &env);
                for part in [&part, &plain] {
                    let start = value(&part.offset, &env);
                    let step = part.layout.at(&leaf(index)).expect("a value");
                    assert_eq!(
                        start + value(&step, &env),
                        wanted,
                        "{layout} {part:?} at {at}"
                    );
                }
            }
        }
    }
    assert!(decayed > 300, "{decayed}");
}

#[test]
fn a_tile_written_by_rows_of_threads() {
    let layout = parse_any_layout("S<3,3,3> o 0 o ((8,16),(64,1)):((64,512),(1,0))").expect("");
    let (thr, val) = (parse_layout("(16,8):(8,1)"), parse_layout("(1,8):(0,1)"));
    let copy = make_tiled_copy_tv(
        CopyAtom::universal(8),
        &thr.expect("a layout"),
        &val.expect("a layout"),
    )
    .expect("a tiled copy");
    let info = SymInfo {
        max: Some(127),
        ..SymInfo::default()
    };
    let part = copy
        .partition_d(&Int::var(0, info), &layout)
        .expect("a partition");
    let plain = part.decay();
    // Each thread writes its 16 bytes into the same place of every 16th row.
    assert_eq!(plain.layout.to_string(), "((8,1),8,1):((1,0),1024,0)");
    let offset = plain.offset.as_leaf().expect("an integer").clone();
    assert_eq!(offset.div(), 8);
    for thread in 0..128 {
        let (row, chunk) = (thread / 8, thread % 8);
        let wanted = row * 64 + (chunk ^ (row % 8)) * 8;
        assert_eq!(offset.eval(&|_| thread), wanted);
    }
}
