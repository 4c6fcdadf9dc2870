//! Names of atoms for people: those of CuTe in lower case, `sm80_16x8x16_f32bf16bf16f32`.
use crate::atoms::{Cache, CopyAtom, CopyOp, MmaAtom, MmaOp};
use crate::elem::Elem;
use crate::hints::Hints;

/// A copy or an MMA atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Atom {
    /// A copy instruction.
    Copy(CopyAtom),
    /// An MMA instruction.
    Mma(MmaAtom),
}

/// Every atom with its name: MMAs, then copies. Copies are of 16-bit elements where they can be.
pub fn all() -> Vec<(String, Atom)> {
    let mut atoms: Vec<(String, Atom)> = MmaAtom::all_sync()
        .chain(
            [Elem::F16, Elem::BF16, Elem::F32, Elem::F64].map(|elem| MmaAtom {
                op: MmaOp::Fma,
                a: elem,
                b: elem,
                c: elem,
            }),
        )
        .map(|atom| (mma_name(&atom), Atom::Mma(atom)))
        .collect();
    let universal = [8, 16, 32, 64, 128].map(|bits| CopyOp::Universal { bits });
    let asynchronous = [32, 64, 128].map(|bits| CopyOp::Async {
        cache: if bits == 128 {
            Cache::Global
        } else {
            Cache::Always
        },
        bits,
    });
    let ldmatrix = [1, 2, 4].into_iter().flat_map(|matrices| {
        [false, true].map(|transpose| CopyOp::Ldsm {
            matrices,
            transpose,
        })
    });
    let copies = universal.into_iter().chain(asynchronous).chain(ldmatrix);
    atoms.extend(copies.map(|op| {
        let elem = match op {
            CopyOp::Universal { bits: 8 } => Elem::U8,
            _ => Elem::F16,
        };
        let hints = Hints::NONE;
        (copy_name(op), Atom::Copy(CopyAtom { op, elem, hints }))
    }));
    atoms
}

/// The atom of a name; large and small letters are the same.
pub fn find(name: &str) -> Option<Atom> {
    let name = name.to_ascii_lowercase();
    all()
        .into_iter()
        .find(|(known, _)| *known == name)
        .map(|(_, atom)| atom)
}

fn mma_name(atom: &MmaAtom) -> String {
    match atom.op {
        MmaOp::Fma => format!("fma_{}", elem_name(atom.c)),
        MmaOp::Sync { m, n, k } => {
            let fp8 = matches!(atom.a, Elem::F8E4M3 | Elem::F8E5M2);
            let sm = if fp8 { "sm89" } else { "sm80" };
            let [a, b, c] = [atom.a, atom.b, atom.c].map(elem_name);
            format!("{sm}_{m}x{n}x{k}_{c}{a}{b}{c}")
        }
    }
}

fn copy_name(op: CopyOp) -> String {
    match op {
        CopyOp::Universal { bits } => format!("universal_{bits}"),
        CopyOp::Async { bits, .. } => format!("cp_async_{bits}"),
        CopyOp::Ldsm {
            matrices,
            transpose,
        } => {
            let trans = if transpose { "_trans" } else { "" };
            format!("ldmatrix_x{matrices}{trans}")
        }
    }
}

/// As in CuTe's names of instructions.
fn elem_name(elem: Elem) -> &'static str {
    match elem {
        Elem::I4 => "s4",
        Elem::U4 => "u4",
        Elem::I8 => "s8",
        Elem::U8 => "u8",
        Elem::I32 => "s32",
        Elem::F8E4M3 => "e4m3",
        Elem::F8E5M2 => "e5m2",
        other => other.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_every_atom_exists() {
        let atoms = all();
        for (name, atom) in &atoms {
            assert_eq!(find(name), Some(*atom), "{name}");
            match atom {
                Atom::Copy(atom) => atom.verify().unwrap(),
                Atom::Mma(atom) => atom.verify().unwrap(),
            }
        }
        let names: std::collections::BTreeSet<_> = atoms.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), atoms.len());
    }

    #[test]
    fn names_are_those_of_cute() {
        for name in [
            "SM80_16x8x16_F32BF16BF16F32",
            "sm80_16x8x32_s32s8s8s32",
            "sm80_16x8x16_s32u8s8s32",
            "SM80_16x8x64_S32S4S4S32",
            "sm80_8x8x32_s32u4s4s32",
            "sm80_8x8x4_f64f64f64f64",
            "sm89_16x8x32_f32e4m3e4m3f32",
            "sm89_16x8x32_f32e4m3e5m2f32",
            "ldmatrix_x4",
            "ldmatrix_x4_trans",
            "cp_async_128",
            "fma_f32",
        ] {
            assert!(find(name).is_some(), "{name}");
        }
        assert_eq!(find("sm80_16x8x16_f32bf16f16f32"), None);
    }
}
