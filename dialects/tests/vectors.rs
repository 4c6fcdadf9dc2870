//! Thread-value layouts of the atoms against those of C++ CuTe, from `test-suite/vectors`.

use cutec_dialects::atoms::{
    Atom, Cache, CopyAtom, CopyOp, CpAsync, Ldmatrix, Matrices, MmaAtom, MmaOp, MmaSync, Stmatrix,
    UniversalCopy, Wgmma,
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

/// The number of bits of a type in C++ that a copy moves: `uint128_t`.
fn cute_copy(name: &str, bits: u32) -> (String, i64) {
    (format!("{name}<uint{bits}_t>"), 1)
}

/// The name of a copy in C++ CuTe, and the bits of the values in which its vector counts; `None` of an update, which it has not.
fn copy_in_cute(atom: &CopyAtom) -> Option<(String, i64)> {
    Some(match atom.op {
        CopyOp::UniversalCopy(UniversalCopy { bits }) => cute_copy("UniversalCopy", bits),
        CopyOp::CpAsync(CpAsync { cache, bits }) => match cache {
            Cache::Always => cute_copy("SM80_CP_ASYNC_CACHEALWAYS", bits),
            Cache::Global => cute_copy("SM80_CP_ASYNC_CACHEGLOBAL", bits),
        },
        CopyOp::Ldmatrix(Ldmatrix(Matrices { count, transpose })) => {
            let name = match transpose {
                false => format!("SM75_U32x{count}_LDSM_N"),
                true => format!("SM75_U16x{}_LDSM_T", 2 * count),
            };
            (name, atom.elem.bits())
        }
        CopyOp::Stmatrix(Stmatrix(Matrices { count, transpose })) => {
            let name = match transpose {
                false => format!("SM90_U32x{count}_STSM_N"),
                true => format!("SM90_U16x{}_STSM_T", 2 * count),
            };
            (name, atom.elem.bits())
        }
        CopyOp::Red(_) => return None,
    })
}

/// The name of an MMA in C++ CuTe, whatever target it begins with; `None` where each thread multiplies alone.
fn mma_in_cute(atom: &MmaAtom) -> Option<String> {
    match atom.op {
        MmaOp::Fma(_) | MmaOp::Wgmma(_) => None,
        MmaOp::MmaSync(MmaSync { m, n, k }) => {
            let [a, b, c] = [atom.a, atom.b, atom.c].map(|elem| elem.ptx().to_uppercase());
            Some(format!("_{m}x{n}x{k}_{c}{a}{b}{c}_TN"))
        }
    }
}

#[test]
fn mma_atoms_lie_as_in_cute() {
    let cases = cases("mma_atoms");
    for atom in MmaAtom::all() {
        let Some(name) = mma_in_cute(&atom) else {
            continue;
        };
        let mut cases = cases.iter();
        let case = cases.find(|case| {
            let known = case["atom"].as_str().unwrap();
            known
                .split_once('_')
                .is_some_and(|(_, rest)| name[1..] == *rest)
        });
        let case = case.unwrap_or_else(|| panic!("{name} is no atom of CuTe"));
        let layouts = atom.layouts().unwrap();
        let [m, n, k] = layouts.shape;
        let shape = case["shape_mnk"].as_str().unwrap();
        assert_eq!(shape, format!("({m},{n},{k})"));
        assert_same(&layouts.a, case, "a_tv");
        assert_same(&layouts.b, case, "b_tv");
        assert_same(&layouts.c, case, "c_tv");
    }
}

/// The vectors have some widths, and all types but those of which C++ CuTe has no atom.
#[test]
fn warpgroup_mma_atoms_lie_as_in_cute() {
    let cases = cases("mma_atoms");
    let of_warpgroups = |case: &&Value| {
        case["atom"]
            .as_str()
            .is_some_and(|name| name.starts_with("SM90_64x"))
    };
    let mut left: Vec<&Value> = cases.iter().filter(of_warpgroups).collect();
    let there = left.len();
    for atom in MmaAtom::all() {
        let MmaOp::Wgmma(shape) = atom.op else {
            continue;
        };
        let [a, b, c] = [atom.a, atom.b, atom.c].map(|elem| elem.ptx().to_uppercase());
        let from = if shape.a_in_registers { "RS" } else { "SS" };
        let major = if Wgmma::transposes(atom.a) { "" } else { "_TN" };
        let name = format!("SM90_64x{}x{}_{c}{a}{b}_{from}{major}", shape.n, shape.k);
        let Some(at) = left.iter().position(|case| case["atom"] == name) else {
            continue;
        };
        let case = left.remove(at);
        let layouts = atom.layouts().unwrap();
        for (layout, field) in [
            (layouts.a, "a_tv"),
            (layouts.b, "b_tv"),
            (layouts.c, "c_tv"),
        ] {
            assert_eq!(case[field], layout.to_string(), "{field} of {name}");
        }
    }
    assert!(
        left.is_empty(),
        "{} of {there} are no atoms: {}",
        left.len(),
        left[0]["atom"]
    );
}

#[test]
fn copy_atoms_lie_as_in_cute() {
    let cases = cases("copy_atoms");
    let shown = cutec_dialects::atoms::all().into_iter();
    let ops = shown.filter_map(|(_, atom)| match atom {
        Atom::Copy(atom) => Some(atom.op),
        Atom::Mma(_) => None,
    });
    // And a policy that is not the one by default.
    let always = CpAsync {
        cache: Cache::Always,
        bits: 128,
    };
    for op in ops.chain([CopyOp::CpAsync(always)]) {
        for elem in [Elem::U8, Elem::F16, Elem::TF32] {
            let atom = CopyAtom::new(op, elem);
            if atom.verify().is_err() {
                continue;
            }
            let Some((name, bits)) = copy_in_cute(&atom) else {
                continue;
            };
            let mut cases = cases.iter();
            let case = cases.find(|case| case["atom"] == name && case["val_bits"] == bits);
            let case = case.unwrap_or_else(|| panic!("{name} of {bits} bits is no atom of CuTe"));
            let layouts = atom.layouts();
            if bits == elem.bits() {
                assert_same(&layouts.src, case, "src_tv");
                assert_same(&layouts.dst, case, "dst_tv");
            } else {
                let moved = atom.src_values() * elem.bits();
                let one = case["src_tv_bits"].as_str().unwrap();
                assert_eq!(one, format!("(1,{moved}):(0,1)"));
            }
        }
    }
}
