//! Thread-value layouts of the atoms against those of C++ CuTe, from `test-suite/vectors`.

use cutec_dialects::atoms::{Cache, CopyAtom, CopyOp, MmaAtom, MmaOp};
use cutec_dialects::elem::Elem;
use cutec_dialects::hints::Hints;
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
    for atom in MmaAtom::all_sync() {
        let MmaOp::Sync { m, n, k } = atom.op else {
            continue;
        };
        let letters = |elem: Elem| match elem {
            Elem::I4 => "S4".to_owned(),
            Elem::U4 => "U4".to_owned(),
            Elem::I8 => "S8".to_owned(),
            Elem::I32 => "S32".to_owned(),
            Elem::F8E4M3 => "E4M3".to_owned(),
            Elem::F8E5M2 => "E5M2".to_owned(),
            Elem::U8 => "U8".to_owned(),
            other => other.name().to_uppercase(),
        };
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
                let op = CopyOp::Ldsm {
                    matrices,
                    transpose,
                };
                let atom = CopyAtom {
                    op,
                    elem,
                    hints: Hints::NONE,
                };
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
        let op = CopyOp::Universal { bits };
        let elem = Elem::U8;
        let atom = CopyAtom {
            op,
            elem,
            hints: Hints::NONE,
        };
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
            let op = CopyOp::Async { cache, bits: *bits };
            CopyAtom {
                op,
                elem: Elem::F16,
                hints: Hints::NONE,
            }
            .verify()
            .unwrap();
        }
    }
}
