//! Thread-value layouts of the atoms against those of C++ CuTe, from `test-suite/vectors`.

use cutec_dialects::atoms::{
    Cache, CopyAtom, CopyOp, CpAsync, Ldmatrix, MmaAtom, MmaOp, MmaSync, UniversalCopy,
};
use cutec_dialects::elem::Elem;
use cutec_dialects::semantics::offsets_of;
use cutec_layout::Layout;
use flate2::read::GzDecoder;
use serde_json::Value;
use std::io::Read;
use std::path::PathBuf;

fn cases(name: &str) -> Vec<Value> {
    let mut path = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    path.extend(["..", "test-suite", "vectors"]);
    path.push(format!("{name}.json.gz"));
    let bytes = std::fs::read(&path).unwrap();
    let mut text = String::new();
    GzDecoder::new(bytes.as_slice())
        .read_to_string(&mut text)
        .unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The same threads and values at the same elements.
fn assert_same(found: &Layout, case: &Value, field: &str) {
    let wanted = case[field].as_str().unwrap_or_else(|| panic!("{case}"));
    let wanted = cutec_layout::text::parse_layout(wanted).unwrap();
    let extents = |layout: &Layout| [0, 1].map(|mode| layout.mode(mode).unwrap().size());
    assert_eq!(extents(found), extents(&wanted), "{field} of {case}");
    assert_eq!(
        offsets_of(found).unwrap(),
        offsets_of(&wanted).unwrap(),
        "{field} of {case}"
    );
}

#[test]
fn mma_atoms_lie_as_in_cute() {
    let cases = cases("mma_atoms");
    for atom in MmaAtom::all() {
        let MmaOp::MmaSync(MmaSync { m, n, k }) = atom.op else {
            continue;
        };
        let letters = |elem: Elem| elem.ptx().to_uppercase();
        let [a, b, c] = [atom.a, atom.b, atom.c].map(letters);
        let name = format!("{m}x{n}x{k}_{c}{a}{b}{c}_TN");
        let case = cases
            .iter()
            .find(|case| {
                let known = case["atom"].as_str().unwrap();
                known == format!("SM80_{name}") || known == format!("SM89_{name}")
            })
            .unwrap_or_else(|| panic!("{name} is no atom of CuTe"));
        let layouts = atom.layouts().unwrap();
        assert_eq!(
            case["shape_mnk"].as_str().unwrap(),
            format!("({m},{n},{k})")
        );
        assert_same(&layouts.a, case, "a_tv");
        assert_same(&layouts.b, case, "b_tv");
        assert_same(&layouts.c, case, "c_tv");
    }
}

#[test]
fn copy_atoms_lie_as_in_cute() {
    let cases = cases("copy_atoms");
    let find = |name: &str, bits: i64| {
        let case = cases
            .iter()
            .find(|case| case["atom"] == name && case["val_bits"] == bits);
        case.unwrap_or_else(|| panic!("{name} of {bits} bits is no atom of CuTe"))
    };
    for elem in [Elem::U8, Elem::F16, Elem::TF32] {
        for matrices in [1_u32, 2, 4] {
            for transpose in [false, true] {
                let op = CopyOp::Ldmatrix(Ldmatrix {
                    matrices,
                    transpose,
                });
                let atom = CopyAtom::new(op, elem);
                if atom.verify().is_err() {
                    assert!(transpose && elem == Elem::TF32, "{atom}");
                    continue;
                }
                let name = match transpose {
                    false => format!("SM75_U32x{matrices}_LDSM_N"),
                    true => format!("SM75_U16x{}_LDSM_T", 2 * matrices),
                };
                let case = find(&name, elem.bits());
                assert_same(&atom.layouts().src, case, "src_tv");
                assert_same(&atom.layouts().dst, case, "dst_tv");
            }
        }
    }
    for bits in [8, 16, 32, 64, 128] {
        let op = CopyOp::UniversalCopy(UniversalCopy { bits });
        let atom = CopyAtom::new(op, Elem::U8);
        atom.verify().unwrap();
        let case = find(&format!("UniversalCopy<uint{bits}_t>"), 1);
        let one = case["src_tv_bits"].as_str().unwrap();
        assert_eq!(one, format!("(1,{bits}):(0,1)"));
        assert!(
            atom.layouts()
                .src
                .mode(1)
                .unwrap()
                .size()
                .is(i64::from(bits) / 8)
        );
    }
    for (cache, name, widths) in [
        (Cache::Always, "ALWAYS", &[32, 64, 128][..]),
        (Cache::Global, "GLOBAL", &[128]),
    ] {
        for bits in widths {
            find(&format!("SM80_CP_ASYNC_CACHE{name}<uint{bits}_t>"), 1);
            let op = CopyOp::CpAsync(CpAsync { cache, bits: *bits });
            CopyAtom::new(op, Elem::F16).verify().unwrap();
        }
    }
}
