//! Tiled copies and tiled MMAs: layouts, partitions and the offsets of threads, for a thread that
//! is known and for one that is a run-time value.

use super::{cases, without_unit_strides};
use cutec_layout::text::{parse_layout, parse_tiler};
use cutec_layout::tv::{
    CopyAtom, MmaAtom, Operand, Partition, TiledCopy, TiledMma, make_tiled_copy_a,
    make_tiled_copy_b, make_tiled_copy_c, make_tiled_copy_tv,
};
use cutec_layout::{AnyLayout, Int, Layout, SymInfo, Tiler, Tree};
use serde_json::Value;
use std::collections::HashMap;

fn text<'a>(case: &'a Value, field: &str) -> &'a str {
    case[field]
        .as_str()
        .unwrap_or_else(|| panic!("no {field} in {case}"))
}

fn layout(case: &Value, field: &str) -> Layout {
    parse_layout(text(case, field)).unwrap_or_else(|error| panic!("{field} of {case}: {error}"))
}

fn same(case: &Value, field: &str, found: &Layout) {
    let wanted = without_unit_strides(&layout(case, field));
    assert_eq!(
        without_unit_strides(found).to_string(),
        wanted.to_string(),
        "{field} of {case}"
    );
}

fn mma_atoms() -> HashMap<String, MmaAtom> {
    let unit = parse_layout("(1,1):(0,0)").expect("a layout");
    let fma = MmaAtom {
        shape_mnk: [1, 1, 1],
        thr_id: Layout::unit(),
        a_tv: unit.clone(),
        b_tv: unit.clone(),
        c_tv: unit,
    };
    let mut atoms = HashMap::from([("UniversalFMA<float>".to_owned(), fma)]);
    for case in cases("mma_atoms") {
        // The one-bit tables of the source have a stride that does not fit its shape.
        if parse_layout(text(&case, "a_tv")).is_err() {
            assert!(text(&case, "atom").contains("S32U1U1S32"), "{case}");
            continue;
        }
        let numbers: Vec<i64> = text(&case, "shape_mnk")
            .trim_matches(['(', ')'])
            .split(',')
            .map(|number| number.parse().expect("a number"))
            .collect();
        let atom = MmaAtom {
            shape_mnk: numbers.try_into().expect("three numbers"),
            thr_id: layout(&case, "thr_id"),
            a_tv: layout(&case, "a_tv"),
            b_tv: layout(&case, "b_tv"),
            c_tv: layout(&case, "c_tv"),
        };
        let name = text(&case, "atom");
        // The tiled cases name the warp-group instructions by their template.
        if let Some(shape) = name
            .strip_prefix("SM90_")
            .and_then(|name| name.strip_suffix("_SS"))
        {
            atoms.insert(format!("MMA_{shape}_SS<K,K>"), atom.clone());
        }
        atoms.insert(name.to_owned(), atom);
    }
    atoms
}

fn tiled_mma(case: &Value, atom: &MmaAtom) -> TiledMma {
    let permutation = match parse_tiler(text(case, "permutation_mnk")).expect("a tile") {
        Tiler::Tile(modes) => modes.try_into().expect("three modes"),
        other => panic!("{other} is no tile"),
    };
    TiledMma::new(atom.clone(), &layout(case, "atom_layout_mnk"), permutation).expect("a tiled MMA")
}

/// Compares the partition of thread 0, and the offsets of the listed threads, statically and with
/// a run-time thread.
fn check_partition(
    case: &Value,
    threads: i64,
    field: &str,
    key: &str,
    partition: impl Fn(&Int) -> Partition,
) {
    let first = partition(&Int::ZERO);
    same(case, field, first.layout.as_plain().expect("a layout"));
    let info = SymInfo {
        max: Some(threads - 1),
        ..SymInfo::default()
    };
    let dynamic = partition(&Int::var(7, info));
    assert_eq!(dynamic.layout, first.layout, "{case}");
    for entry in case["partition_base_offsets"].as_array().expect("a list") {
        let thread = entry["t"].as_i64().expect("a thread");
        let wanted = entry[key].to_string();
        let found = partition(&Int::Static(thread));
        assert_eq!(
            found.offset.to_string(),
            wanted,
            "{key} of {thread} in {case}"
        );
        let offset = dynamic.offset.as_leaf().expect("an integer");
        assert_eq!(offset.eval(&|_| thread).to_string(), wanted, "{offset:?}");
    }
}

#[test]
fn tiled_mmas() {
    let atoms = mma_atoms();
    let cases = cases("tiled_mma");
    for case in &cases {
        let name = text(case, "atom");
        let atom = atoms.get(name).unwrap_or_else(|| panic!("no atom {name}"));
        let mma = tiled_mma(case, atom);
        same(case, "thr_layout_vmnk", mma.thr_layout_vmnk());
        let tile = mma.tile_size_mnk().map(Tree::Leaf);
        assert_eq!(
            Tree::Node(tile.to_vec()).to_string(),
            text(case, "tile_mnk")
        );
        let threads = mma.threads().as_static().expect("a static size");
        assert_eq!(threads.to_string(), text(case, "size"));
        for (operand, key) in [(Operand::A, "a"), (Operand::B, "b"), (Operand::C, "c")] {
            let tv = mma.layout_tv(operand).expect("a TV layout");
            same(case, &format!("{key}_tv"), &tv);
            let tensor = AnyLayout::Plain(layout(case, &format!("layout_{key}")));
            let by_thread = mma.thrfrg(operand, &tensor).expect("a partition");
            same(case, &format!("thrfrg_{key}"), by_thread.inner());
            let shape = mma
                .partition_shape(operand, tensor.shape())
                .expect("a shape");
            let wanted = text(case, &format!("partition_shape_{key}"));
            assert_eq!(shape.to_string(), wanted, "{case}");
            let field = format!("partition_{key}_layout");
            check_partition(case, threads, &field, key, |thread| {
                mma.partition(operand, thread, &tensor)
                    .expect("a partition")
            });
        }
    }
    assert_eq!(cases.len(), 39);
}

#[test]
fn tiled_copies() {
    let mmas = mma_atoms();
    let mut copies: HashMap<(String, i64), CopyAtom> = HashMap::new();
    for case in cases("copy_atoms") {
        let bits = case["val_bits"].as_i64().expect("a width");
        let suffix = if bits == 1 { "_bits" } else { "" };
        let atom = CopyAtom {
            src_tv: layout(&case, &format!("src_tv{suffix}")),
            dst_tv: layout(&case, &format!("dst_tv{suffix}")),
            ref_tv: layout(&case, &format!("ref_tv{suffix}")),
        };
        copies.insert((text(&case, "atom").to_owned(), bits), atom);
    }
    // The rows of each width are the rows in bits, recast.
    for ((name, bits), atom) in copies.iter().filter(|((name, _), _)| name.contains("SM")) {
        let recast = copies[&(name.clone(), 1)].recast(*bits, 1).expect(name);
        assert_eq!(
            without_unit_strides(&recast.src_tv),
            without_unit_strides(&atom.src_tv),
            "{name} {bits}"
        );
    }

    let cases = cases("tiled_copy");
    for case in &cases {
        let key = (
            text(case, "atom").to_owned(),
            case["val_bits"].as_i64().expect("a width"),
        );
        let atom = copies.get(&key).expect("an atom").clone();
        let mma = || tiled_mma(case, &mmas[text(case, "mma_atom")]);
        let copy: TiledCopy = match text(case, "kind") {
            "make_tiled_copy_A" => make_tiled_copy_a(atom, &mma()),
            "make_tiled_copy_B" => make_tiled_copy_b(atom, &mma()),
            "make_tiled_copy_C" => make_tiled_copy_c(atom, &mma()),
            _ => make_tiled_copy_tv(
                atom,
                &layout(case, "thr_layout"),
                &layout(case, "val_layout"),
            ),
        }
        .expect("a tiled copy");
        same(case, "layout_tv", copy.layout_tv());
        let tile = copy.tile_shape().expect("a tile");
        assert_eq!(tile.to_string(), text(case, "tiler_mn"));
        same(
            case,
            "layout_s_tv",
            &copy.layout_s_tv().expect("a TV layout"),
        );
        same(
            case,
            "layout_d_tv",
            &copy.layout_d_tv().expect("a TV layout"),
        );
        let threads = copy.threads().as_static().expect("a static size");
        let tensor = AnyLayout::Plain(layout(case, "tensor_layout"));
        check_partition(case, threads, "partition_s_layout", "s", |thread| {
            copy.partition_s(thread, &tensor).expect("a partition")
        });
        check_partition(case, threads, "partition_d_layout", "d", |thread| {
            copy.partition_d(thread, &tensor).expect("a partition")
        });
        for field in ["retile_s_layout", "retile_d_layout"] {
            if case.get(field).is_some() {
                let retiled = copy
                    .retile(&layout(case, "frag_layout"))
                    .expect("a retiling");
                same(case, field, &retiled);
            }
        }
    }
    assert_eq!(cases.len(), 46);
}

/// `make_tiled_copy_B` of an `ldmatrix.x4` on a tile of 16 columns: each thread holds four values
/// of B, and the instruction brings eight.
#[test]
fn too_few_values_for_the_atom() {
    let mmas = mma_atoms();
    let mut refused = 0;
    for (name, operand) in [
        ("SM75_U32x4_LDSM_N", Operand::B),
        ("SM75_U16x8_LDSM_T", Operand::B),
        ("SM90_U32x4_STSM_N", Operand::C),
        ("SM90_U16x8_STSM_T", Operand::C),
    ] {
        let case = cases("copy_atoms")
            .into_iter()
            .find(|case| text(case, "atom") == name && case["val_bits"] == 16)
            .expect("the atom");
        let atom = CopyAtom {
            src_tv: layout(&case, "src_tv"),
            dst_tv: layout(&case, "dst_tv"),
            ref_tv: layout(&case, "ref_tv"),
        };
        let mma = &mmas["SM80_16x8x16_F32BF16BF16F32_TN"];
        let atoms = parse_layout("(2,2,1):(1,2,0)").expect("a layout");
        let all = [Tiler::All, Tiler::All, Tiler::All];
        let mma = TiledMma::new(mma.clone(), &atoms, all).expect("a tiled MMA");
        let copy = match operand {
            Operand::B => make_tiled_copy_b(atom, &mma),
            _ => make_tiled_copy_c(atom, &mma),
        };
        refused += usize::from(copy.is_err());
    }
    assert_eq!(refused, 4);
}
