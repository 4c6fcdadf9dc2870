//! The layouts that a tensor-core GEMM, a SIMT GEMM and an elementwise kernel go through, for
//! thread 0 and M = N = K = 2048.

use super::{cases, without_unit_strides};
use cutec_layout::algebra::{
    cosize, make_fragment_like, raked_product, slice, tile_to_shape, tiled_divide, zipped_divide,
};
use cutec_layout::text::{
    parse_any_layout, parse_coord, parse_int_tuple, parse_layout, parse_tiler,
};
use cutec_layout::tv::{
    CopyAtom, MmaAtom, Operand, Partition, TiledMma, make_tiled_copy_a, make_tiled_copy_b,
    make_tiled_copy_tv,
};
use cutec_layout::{AnyLayout, Int, Layout, SymInfo, Tiler};
use std::collections::BTreeMap;

fn layout(text: &str) -> Layout {
    parse_layout(text).expect(text)
}

fn any(text: &str) -> AnyLayout {
    parse_any_layout(text).expect(text)
}

fn tiler(text: &str) -> Tiler {
    parse_tiler(text).expect(text)
}

/// Compares computed layouts with those of the reference, by name.
fn check(prefix: &str, found: &BTreeMap<&str, String>) {
    let mut seen = 0;
    for case in cases("seed_kernels") {
        let name = case["name"].as_str().expect("a name");
        let Some(found) = name.strip_prefix(prefix).and_then(|name| found.get(name)) else {
            continue;
        };
        seen += 1;
        let wanted = case["layout"].as_str().expect("a layout");
        assert_eq!(normal(found), normal(wanted), "{name}");
    }
    assert_eq!(seen, found.len());
}

fn normal(text: &str) -> String {
    match parse_any_layout(text) {
        Ok(layout) => layout
            .map_inner(|inner| Ok(without_unit_strides(inner)))
            .expect("as it was")
            .to_string(),
        Err(_) => text.to_owned(),
    }
}

#[test]
fn tensor_core_gemm() {
    let atom = any("S<3,3,3> o 0 o (8,(8,8)):(8,(1,64))");
    let tiled = |shape: &str| {
        let shape = parse_int_tuple(shape).expect(shape);
        atom.map_inner(|inner| tile_to_shape(inner, &shape, None))
            .expect("it tiles")
    };
    let stages = tiled("(128,64,3)");
    let global = any("(128,64,32):(2048,1,64)");
    // The reference ran thread 0 as a run-time value, which keeps the bits of a swizzle apart.
    let info = SymInfo {
        max: Some(127),
        ..SymInfo::default()
    };
    let thread = Int::var(0, info);
    let at_thread_0 = |part: &AnyLayout| part.inner().eval(&|_| 0).to_string();
    let mut found = BTreeMap::from([
        ("sA_1stage", tiled("(128,64)").to_string()),
        ("sA_2stage", tiled("(128,64,2)").to_string()),
        ("sA_3stage", stages.to_string()),
        (
            "sA_cosize",
            cosize(stages.inner()).expect("integers").to_string(),
        ),
    ]);

    let copy = make_tiled_copy_tv(
        CopyAtom::universal(8),
        &layout("(16,8):(8,1)"),
        &layout("(1,8):(0,1)"),
    )
    .expect("a tiled copy");
    found.insert("g2s.layout_tv", copy.layout_tv().to_string());
    found.insert(
        "g2s.tiler_mn",
        copy.tile_shape().expect("a tile").to_string(),
    );
    let from = copy.partition_s(&Int::ZERO, &global).expect("a partition");
    found.insert("tAgA", from.layout.to_string());
    let to = copy.partition_d(&thread, &stages).expect("a partition");
    found.insert("tAsA", at_thread_0(&to.decay().layout));

    let mma_atom = MmaAtom {
        shape_mnk: [16, 8, 16],
        thr_id: layout("32:1"),
        a_tv: layout("((4,8),(2,2,2)):((32,1),(16,8,128))"),
        b_tv: layout("((4,8),(2,2)):((16,1),(8,64))"),
        c_tv: layout("((4,8),(2,2)):((32,1),(16,8))"),
    };
    let permutation = [32, 32, 16].map(Tiler::from);
    let mma =
        TiledMma::new(mma_atom, &layout("(2,2,1):(1,2,0)"), permutation).expect("a tiled MMA");
    let part = |operand, tensor: &AnyLayout| {
        let part: Partition = mma
            .partition(operand, &thread, tensor)
            .expect("a partition");
        part.decay().layout
    };
    let shared = [part(Operand::A, &stages), part(Operand::B, &stages)];
    let output = part(Operand::C, &any("(128,128):(2048,1)"));
    found.insert("tCsA", at_thread_0(&shared[0]));
    found.insert("tCsB", at_thread_0(&shared[1]));
    found.insert("tCgC", output.to_string());
    // Fragments are those of one stage.
    let stage = parse_coord("(_,_,_,0)").expect("a coordinate");
    let fragment = |operand, part: &AnyLayout| {
        let one = slice(&stage, part.inner()).expect("four modes");
        mma.make_fragment(operand, &one).expect("a fragment")
    };
    let fragments = [
        fragment(Operand::A, &shared[0]),
        fragment(Operand::B, &shared[1]),
    ];
    found.insert("tCrA", fragments[0].to_string());
    found.insert("tCrB", fragments[1].to_string());
    let accumulator = mma
        .make_fragment(Operand::C, output.inner())
        .expect("a fragment");
    found.insert("tCrC", accumulator.to_string());

    // ldmatrix.x4 in elements of 16 bits.
    let ldmatrix = CopyAtom {
        src_tv: layout("(32,8):(8,1)"),
        dst_tv: layout("(32,(2,4)):(2,(1,64))"),
        ref_tv: layout("(32,(2,4)):(2,(1,64))"),
    };
    let load_a = make_tiled_copy_a(ldmatrix.clone(), &mma).expect("a tiled copy");
    let load_b = make_tiled_copy_b(ldmatrix, &mma).expect("a tiled copy");
    found.insert("s2rA.layout_tv", load_a.layout_tv().to_string());
    found.insert(
        "s2rA.tiler_mn",
        load_a.tile_shape().expect("a tile").to_string(),
    );
    found.insert("s2rB.layout_tv", load_b.layout_tv().to_string());
    for (from, to, copy, fragment) in [
        ("tXsA", "tXrA", &load_a, &fragments[0]),
        ("tXsB", "tXrB", &load_b, &fragments[1]),
    ] {
        let part = copy.partition_s(&thread, &stages).expect("a partition");
        found.insert(from, at_thread_0(&part.decay().layout));
        found.insert(to, copy.retile(fragment).expect("a retiling").to_string());
    }
    check("a100.", &found);
}

#[test]
fn simt_gemm() {
    let divide = |tensor: &str, tile: &str| {
        tiled_divide(&layout(tensor), &tiler(tile))
            .expect("it divides")
            .to_string()
    };
    let copy = make_tiled_copy_tv(
        CopyAtom::universal(1),
        &layout("(32,8):(8,1)"),
        &layout("(4,1):(1,0)"),
    )
    .expect("a tiled copy");
    let from = copy.partition_s(&Int::ZERO, &any("(128,8,256):(2048,1,8)"));
    let to = copy.partition_d(&Int::ZERO, &any("(128,8,3):(1,132,1056)"));
    check(
        "ada.",
        &BTreeMap::from([
            (
                "tiled_divide_sA",
                divide("(128,8,3):(1,132,1056)", "[32:1;8:1]"),
            ),
            (
                "tiled_divide_sB",
                divide("(128,8,3):(1,128,1024)", "[64:1;8:1]"),
            ),
            (
                "tiled_divide_sC",
                divide("(128,128):(128,1)", "[32:1;64:1]"),
            ),
            ("g2s.layout_tv", copy.layout_tv().to_string()),
            (
                "g2s.tiler_mn",
                copy.tile_shape().expect("a tile").to_string(),
            ),
            ("tAgA", from.expect("a partition").layout.to_string()),
            ("tAsA", to.expect("a partition").layout.to_string()),
            (
                "tCrA",
                make_fragment_like(&layout("(1,(4,2),8,1):(0,(1,16),132,0)"))
                    .expect("a fragment")
                    .to_string(),
            ),
        ]),
    );
}

/// One warp's part of the shared tiles: 4 x 8 threads, each with 4 contiguous rows and columns.
#[test]
fn simt_warp_mma() {
    let unit = layout("(1,1):(0,0)");
    let atom = MmaAtom {
        shape_mnk: [1, 1, 1],
        thr_id: Layout::unit(),
        a_tv: unit.clone(),
        b_tv: unit.clone(),
        c_tv: unit,
    };
    let permutation = [tiler("(4,4):(4,1)"), tiler("(8,4):(4,1)"), Tiler::All];
    let mma = TiledMma::new(atom, &layout("(4,8,1):(8,1,0)"), permutation).expect("a tiled MMA");
    let warp = |tensor: &str, tile: &str, coord: &str| {
        let divided = tiled_divide(&layout(tensor), &tiler(tile)).expect("it divides");
        slice(&parse_coord(coord).expect(coord), &divided).expect("its modes")
    };
    let a = warp("(128,8,3):(1,132,1056)", "[32:1;8:1]", "((_,_),0,_,_)");
    let b = warp("(128,8,3):(1,128,1024)", "[64:1;8:1]", "((_,_),0,_,_)");
    let c = warp("(128,128):(128,1)", "[32:1;64:1]", "((_,_),0,0)");
    let part = |operand, tensor: &Layout| {
        let tensor = AnyLayout::Plain(tensor.clone());
        let part = mma
            .partition(operand, &Int::ZERO, &tensor)
            .expect("a partition");
        part.layout.inner().clone()
    };
    let (part_a, part_c) = (part(Operand::A, &a), part(Operand::C, &c));
    let first = parse_coord("(_,_,_,_,0)").expect("a coordinate");
    let stage = slice(&first, &part_a).expect("five modes");
    let fragment = |operand, part: &Layout| {
        mma.make_fragment(operand, part)
            .expect("a fragment")
            .to_string()
    };
    check(
        "ada.",
        &BTreeMap::from([
            ("tiled_warp_mma.thr_vmnk", mma.thr_layout_vmnk().to_string()),
            ("wCsA", a.to_string()),
            ("wCsB", b.to_string()),
            ("wCsC", c.to_string()),
            ("tCsA", part_a.to_string()),
            ("tCsB", part(Operand::B, &b).to_string()),
            ("tCsC", part_c.to_string()),
            ("tCrA", fragment(Operand::A, &stage)),
            ("tCrC", fragment(Operand::C, &part_c)),
        ]),
    );
}

#[test]
fn elementwise() {
    let (threads, values) = (layout("(4,32):(32,1)"), layout("(4,8):(8,1)"));
    let copy = make_tiled_copy_tv(CopyAtom::universal(8), &threads, &values).expect("a tiled copy");
    let global = layout("(1024,512):(512,1)");
    let tiled = zipped_divide(&global, copy.tiler_mn()).expect("it divides");
    let raked = raked_product(&threads, &values).expect("a product");
    check(
        "ew.",
        &BTreeMap::from([
            ("raked", raked.to_string()),
            ("layout_tv", copy.layout_tv().to_string()),
            ("tiler", copy.tile_shape().expect("a tile").to_string()),
            ("gA", tiled.to_string()),
        ]),
    );
    let skill = zipped_divide(&layout("(1024,512):(512,1)"), &tiler("[1:0;8:1]"));
    check(
        "skill.",
        &BTreeMap::from([("zipped_1_8", skill.expect("it divides").to_string())]),
    );
}
