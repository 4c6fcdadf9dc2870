//! Copy and MMA atoms: one instruction each, with its thread-value layouts.
//!
//! A thread-value layout maps (thread, value) to the index of an element in the
//! atom's tile, column-major. Sources: PTX ISA, "Warp-level matrix
//! instructions" (fragment figures of `mma` and `ldmatrix`), in the form of
//! CuTe's `Copy_Traits` and `MMA_Traits`.
use crate::elem::Elem;
use crate::hints::Hints;
use crate::target::{Feature, Target};
use cutec_layout::Layout;
use std::fmt;
use thiserror::Error;

/// Which level caches the lines of an asynchronous copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cache {
    /// `.ca`: every level.
    Always,
    /// `.cg`: L2 only; 16-byte copies.
    Global,
}

/// The instruction of a copy atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CopyOp {
    /// A load and a store of `bits`.
    Universal {
        /// Bits moved by one thread.
        bits: u32,
    },
    /// `cp.async` from global to shared memory.
    Async {
        /// Cache policy.
        cache: Cache,
        /// Bits moved by one thread: 32, 64 or 128.
        bits: u32,
    },
    /// `ldmatrix` from shared memory to registers.
    Ldsm {
        /// 8x8 matrices an instruction loads: 1, 2 or 4.
        matrices: u32,
        /// Whether each matrix is transposed on the way.
        transpose: bool,
    },
}

/// A copy instruction for elements of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CopyAtom {
    /// The instruction.
    pub op: CopyOp,
    /// What is copied.
    pub elem: Elem,
    /// What its accesses to global memory ask of the caches.
    pub hints: Hints,
}

/// Thread-value layouts of a copy atom, in elements.
#[derive(Clone, Debug)]
pub struct CopyLayouts {
    /// Threads that take part.
    pub threads: i64,
    /// (thread, value) of the source.
    pub src: Layout,
    /// (thread, value) of the destination.
    pub dst: Layout,
}

/// The instruction of an MMA atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MmaOp {
    /// One fused multiply-add of a thread.
    Fma,
    /// `mma.sync` of a warp, with its M, N and K.
    Sync {
        /// Rows of C.
        m: u32,
        /// Columns of C.
        n: u32,
        /// Length of the product.
        k: u32,
    },
}

/// An MMA instruction for given element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MmaAtom {
    /// The instruction.
    pub op: MmaOp,
    /// Element type of A.
    pub a: Elem,
    /// Element type of B.
    pub b: Elem,
    /// Element type of C and D.
    pub c: Elem,
}

/// Thread-value layouts of an MMA atom.
#[derive(Clone, Debug)]
pub struct MmaLayouts {
    /// (M, N, K).
    pub shape: [i64; 3],
    /// Threads that take part.
    pub threads: i64,
    /// (thread, value) into A, column-major (M, K).
    pub a: Layout,
    /// (thread, value) into B, column-major (N, K).
    pub b: Layout,
    /// (thread, value) into C, column-major (M, N).
    pub c: Layout,
}

/// An atom that does not exist, or not for this target.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)]
pub enum AtomError {
    #[error("{atom} takes no `{hint}`")]
    Hint { atom: String, hint: String },
    #[error("no copy instruction moves {bits} bits of {elem}; expected {expected}")]
    CopyWidth {
        bits: u32,
        elem: Elem,
        expected: &'static str,
    },
    #[error("`cp.async.cg` moves 128 bits, not {bits}; use `cache = always` for 32 or 64")]
    AsyncGlobalWidth { bits: u32 },
    #[error("ldmatrix loads 1, 2 or 4 matrices, not {matrices}")]
    LdsmMatrices { matrices: u32 },
    #[error("ldmatrix loads elements of 8, 16 or 32 bits, transposed of 8 or 16, not {elem}")]
    LdsmElement { elem: Elem },
    #[error(
        "no mma instruction m{m}n{n}k{k} with A {a}, B {b} and accumulator {c}; near it there is: {}",
        MmaAtom { op: MmaOp::Sync { m: *m, n: *n, k: *k }, a: *a, b: *b, c: *c }.near_text()
    )]
    NoMma {
        m: u32,
        n: u32,
        k: u32,
        a: Elem,
        b: Elem,
        c: Elem,
    },
    #[error("no fused multiply-add of {elem}; expected f16, bf16, f32 or f64")]
    NoFma { elem: Elem },
    #[error("{atom} needs {needs}; the target is {target}")]
    Target {
        atom: String,
        needs: String,
        target: &'static str,
    },
}

/// Operand layouts of `mma.sync`, by shape and operand width.
struct MmaRow {
    mnk: [u32; 3],
    a: &'static str,
    b: &'static str,
    c: &'static str,
}
const MMA_C: &str = "((4,8),(2,2)):((32,1),(16,8))";
const MMA_16_K8: MmaRow = MmaRow {
    mnk: [16, 8, 8],
    a: "((4,8),(2,2)):((32,1),(16,8))",
    b: "((4,8),2):((16,1),8)",
    c: MMA_C,
};
const MMA_16_K16: MmaRow = MmaRow {
    mnk: [16, 8, 16],
    a: "((4,8),(2,2,2)):((32,1),(16,8,128))",
    b: "((4,8),(2,2)):((16,1),(8,64))",
    c: MMA_C,
};
const MMA_32_K4: MmaRow = MmaRow {
    mnk: [16, 8, 4],
    a: "((4,8),2):((16,1),8)",
    b: "((4,8),1):((8,1),0)",
    c: MMA_C,
};
const MMA_32_K8: MmaRow = MmaRow {
    mnk: [16, 8, 8],
    a: "((4,8),(2,2)):((16,1),(8,64))",
    b: "((4,8),2):((8,1),32)",
    c: MMA_C,
};
const MMA_8_K16: MmaRow = MmaRow {
    mnk: [16, 8, 16],
    a: "((4,8),(4,2)):((64,1),(16,8))",
    b: "((4,8),4):((32,1),8)",
    c: MMA_C,
};
const MMA_8_K32: MmaRow = MmaRow {
    mnk: [16, 8, 32],
    a: "((4,8),(4,2,2)):((64,1),(16,8,256))",
    b: "((4,8),(4,2)):((32,1),(8,128))",
    c: MMA_C,
};
const MMA_8X8_K32: MmaRow = MmaRow {
    mnk: [8, 8, 32],
    a: "((4,8),8):((64,1),8)",
    b: "((4,8),8):((64,1),8)",
    c: "((4,8),2):((16,1),8)",
};
const MMA_4_K32: MmaRow = MmaRow {
    mnk: [16, 8, 32],
    a: "((4,8),(8,2)):((128,1),(16,8))",
    b: "((4,8),8):((64,1),8)",
    c: MMA_C,
};
const MMA_4_K64: MmaRow = MmaRow {
    mnk: [16, 8, 64],
    a: "((4,8),(8,2,2)):((128,1),(16,8,512))",
    b: "((4,8),(8,2)):((64,1),(8,256))",
    c: MMA_C,
};
const MMA_64_K4: MmaRow = MmaRow {
    mnk: [8, 8, 4],
    a: "((4,8),1):((8,1),0)",
    b: "((4,8),1):((8,1),0)",
    c: "((4,8),2):((16,1),8)",
};

/// Every `mma.sync` that lowers: operand row, A, B, C (PTX ISA, "mma", sm_80 and later).
const MMA_TABLE: [(&MmaRow, Elem, Elem, Elem); 33] = [
    (&MMA_16_K8, Elem::F16, Elem::F16, Elem::F32),
    (&MMA_16_K8, Elem::F16, Elem::F16, Elem::F16),
    (&MMA_16_K8, Elem::BF16, Elem::BF16, Elem::F32),
    (&MMA_16_K16, Elem::F16, Elem::F16, Elem::F32),
    (&MMA_16_K16, Elem::F16, Elem::F16, Elem::F16),
    (&MMA_16_K16, Elem::BF16, Elem::BF16, Elem::F32),
    (&MMA_32_K4, Elem::TF32, Elem::TF32, Elem::F32),
    (&MMA_32_K8, Elem::TF32, Elem::TF32, Elem::F32),
    (&MMA_8_K16, Elem::I8, Elem::I8, Elem::I32),
    (&MMA_8_K16, Elem::I8, Elem::U8, Elem::I32),
    (&MMA_8_K16, Elem::U8, Elem::I8, Elem::I32),
    (&MMA_8_K16, Elem::U8, Elem::U8, Elem::I32),
    (&MMA_8_K32, Elem::I8, Elem::I8, Elem::I32),
    (&MMA_8_K32, Elem::I8, Elem::U8, Elem::I32),
    (&MMA_8_K32, Elem::U8, Elem::I8, Elem::I32),
    (&MMA_8_K32, Elem::U8, Elem::U8, Elem::I32),
    (&MMA_8X8_K32, Elem::I4, Elem::I4, Elem::I32),
    (&MMA_8X8_K32, Elem::I4, Elem::U4, Elem::I32),
    (&MMA_8X8_K32, Elem::U4, Elem::I4, Elem::I32),
    (&MMA_8X8_K32, Elem::U4, Elem::U4, Elem::I32),
    (&MMA_4_K32, Elem::I4, Elem::I4, Elem::I32),
    (&MMA_4_K32, Elem::I4, Elem::U4, Elem::I32),
    (&MMA_4_K32, Elem::U4, Elem::I4, Elem::I32),
    (&MMA_4_K32, Elem::U4, Elem::U4, Elem::I32),
    (&MMA_4_K64, Elem::I4, Elem::I4, Elem::I32),
    (&MMA_4_K64, Elem::I4, Elem::U4, Elem::I32),
    (&MMA_4_K64, Elem::U4, Elem::I4, Elem::I32),
    (&MMA_4_K64, Elem::U4, Elem::U4, Elem::I32),
    (&MMA_8_K32, Elem::F8E4M3, Elem::F8E4M3, Elem::F32),
    (&MMA_8_K32, Elem::F8E4M3, Elem::F8E5M2, Elem::F32),
    (&MMA_8_K32, Elem::F8E5M2, Elem::F8E4M3, Elem::F32),
    (&MMA_8_K32, Elem::F8E5M2, Elem::F8E5M2, Elem::F32),
    (&MMA_64_K4, Elem::F64, Elem::F64, Elem::F64),
];

fn table(text: &str) -> Layout {
    cutec_layout::text::parse_layout(text).expect("a layout of the tables above")
}

/// Checks that a target has what an atom needs.
fn needs(atom: &impl fmt::Display, feature: Feature, target: &Target) -> Result<(), AtomError> {
    match target.has(feature) {
        true => Ok(()),
        false => Err(AtomError::Target {
            atom: atom.to_string(),
            needs: feature.targets(),
            target: target.name,
        }),
    }
}

impl CopyAtom {
    /// Checks that the instruction exists.
    pub fn verify(&self) -> Result<(), AtomError> {
        let hints = self.hints;
        let refused = match self.op {
            CopyOp::Universal { .. } => None,
            // Which cache it goes through stands in the instruction.
            CopyOp::Async { .. } => hints.cache.map(|cache| cache.name().to_owned()),
            CopyOp::Ldsm { .. } => hints.first(),
        };
        if let Some(hint) = refused {
            let plain = CopyAtom {
                hints: Hints::NONE,
                ..*self
            };
            let atom = plain.to_string();
            return Err(AtomError::Hint { atom, hint });
        }
        match self.op {
            CopyOp::Universal { bits } => {
                let whole = i64::from(bits) % self.elem.bits() == 0;
                if !matches!(bits, 8 | 16 | 32 | 64 | 128) || !whole {
                    let expected = "8, 16, 32, 64 or 128 bits, a multiple of the element";
                    return Err(AtomError::CopyWidth {
                        bits,
                        elem: self.elem,
                        expected,
                    });
                }
            }
            CopyOp::Async { cache, bits } => {
                if !matches!(bits, 32 | 64 | 128) || i64::from(bits) % self.elem.bits() != 0 {
                    let expected = "32, 64 or 128 bits, a multiple of the element";
                    return Err(AtomError::CopyWidth {
                        bits,
                        elem: self.elem,
                        expected,
                    });
                }
                if cache == Cache::Global && bits != 128 {
                    return Err(AtomError::AsyncGlobalWidth { bits });
                }
            }
            CopyOp::Ldsm {
                matrices,
                transpose,
            } => {
                if !matches!(matrices, 1 | 2 | 4) {
                    return Err(AtomError::LdsmMatrices { matrices });
                }
                if self.elem.bits() > if transpose { 16 } else { 32 } {
                    return Err(AtomError::LdsmElement { elem: self.elem });
                }
            }
        }
        Ok(())
    }

    /// Checks that the target has the instruction.
    pub fn legal_on(&self, target: &Target) -> Result<(), AtomError> {
        match self.op {
            CopyOp::Async { .. } => needs(self, Feature::CpAsync, target),
            CopyOp::Universal { .. } | CopyOp::Ldsm { .. } => Ok(()),
        }
    }

    /// Elements that one instruction moves a thread, on the source side.
    pub fn src_values(&self) -> i64 {
        match self.op {
            CopyOp::Universal { bits } | CopyOp::Async { bits, .. } => {
                i64::from(bits) / self.elem.bits()
            }
            CopyOp::Ldsm { .. } => 128 / self.elem.bits(),
        }
    }

    /// Elements that one instruction moves a thread, on the destination side.
    pub fn dst_values(&self) -> i64 {
        match self.op {
            CopyOp::Ldsm { matrices, .. } => i64::from(matrices) * 32 / self.elem.bits(),
            _ => self.src_values(),
        }
    }

    /// Thread-value layouts in elements.
    pub fn layouts(&self) -> CopyLayouts {
        match self.op {
            CopyOp::Universal { .. } | CopyOp::Async { .. } => {
                let one = table(&format!("(1,{}):(0,1)", self.src_values()));
                CopyLayouts {
                    threads: 1,
                    src: one.clone(),
                    dst: one,
                }
            }
            CopyOp::Ldsm {
                matrices,
                transpose,
            } => {
                // Elements of a matrix row, of a register, of the 16 bits that transposing moves.
                let (row, register) = (self.src_values(), 32 / self.elem.bits());
                let moved = 16 / self.elem.bits();
                let src = match matrices {
                    1 => format!("((8,4),{row}):(({row},0),1)"),
                    2 => format!("((16,2),{row}):(({row},0),1)"),
                    _ => format!("(32,{row}):({row},1)"),
                };
                let dst = match (matrices, transpose) {
                    (1, false) => format!("(32,{register}):({register},1)"),
                    (_, false) => {
                        let matrix = 32 * register;
                        format!("(32,({register},{matrices})):({register},(1,{matrix}))")
                    }
                    (1, true) => {
                        let (two, half) = (16 * moved, 8 * moved);
                        format!("((4,8),({moved},2)):(({two},{moved}),(1,{half}))")
                    }
                    (_, true) => {
                        let (two, half, matrix) = (16 * moved, 8 * moved, 64 * moved);
                        format!(
                            "((4,8),({moved},2,{matrices})):(({two},{moved}),(1,{half},{matrix}))"
                        )
                    }
                };
                CopyLayouts {
                    threads: 32,
                    src: table(&src),
                    dst: table(&dst),
                }
            }
        }
    }
}

impl MmaAtom {
    /// Every `mma.sync` that lowers.
    pub fn all_sync() -> impl Iterator<Item = MmaAtom> {
        MMA_TABLE.iter().map(|(row, a, b, c)| {
            let [m, n, k] = row.mnk;
            MmaAtom {
                op: MmaOp::Sync { m, n, k },
                a: *a,
                b: *b,
                c: *c,
            }
        })
    }

    fn row(&self) -> Option<&'static MmaRow> {
        let MmaOp::Sync { m, n, k } = self.op else {
            return None;
        };
        MMA_TABLE
            .iter()
            .find(|(row, a, b, c)| row.mnk == [m, n, k] && (*a, *b, *c) == (self.a, self.b, self.c))
            .map(|(row, ..)| *row)
    }

    /// The instructions that are most like an MMA which there is not: of its shape, of its operands, of its sums.
    pub fn near(&self) -> Vec<MmaAtom> {
        let MmaOp::Sync { m, n, k } = self.op else {
            return Vec::new();
        };
        let distance = |atom: &MmaAtom, mnk: [u32; 3]| {
            let far = |differs: bool, weight: u32| if differs { weight } else { 0 };
            far(atom.a.bits() != self.a.bits(), 4)
                + far(atom.a != self.a, 3)
                + far(atom.b != self.b, 3)
                + far(mnk != [m, n, k], 2)
                + far(atom.c != self.c, 1)
        };
        let mut all: Vec<(u32, MmaAtom)> = MMA_TABLE
            .iter()
            .map(|(row, a, b, c)| {
                let [m, n, k] = row.mnk;
                let (a, b, c) = (*a, *b, *c);
                let atom = MmaAtom {
                    op: MmaOp::Sync { m, n, k },
                    a,
                    b,
                    c,
                };
                (distance(&atom, row.mnk), atom)
            })
            .collect();
        all.sort_by_key(|(distance, _)| *distance);
        all.into_iter().map(|(_, atom)| atom).take(4).collect()
    }

    /// The instructions near one that there is not, in words.
    fn near_text(&self) -> String {
        let names = self.near().into_iter().map(|atom| {
            let MmaAtom { op, a, b, c } = atom;
            let operands = match a == b {
                true => a.to_string(),
                false => format!("{a} and {b}"),
            };
            match op {
                MmaOp::Sync { m, n, k } => format!("m{m}n{n}k{k} {operands} to {c}"),
                MmaOp::Fma => format!("fma {c}"),
            }
        });
        names.collect::<Vec<_>>().join(", ")
    }

    /// Checks that the instruction exists.
    pub fn verify(&self) -> Result<(), AtomError> {
        match self.op {
            MmaOp::Fma if matches!(self.c, Elem::F16 | Elem::BF16 | Elem::F32 | Elem::F64) => {
                Ok(())
            }
            MmaOp::Fma => Err(AtomError::NoFma { elem: self.c }),
            MmaOp::Sync { .. } if self.row().is_some() => Ok(()),
            MmaOp::Sync { m, n, k } => Err(AtomError::NoMma {
                m,
                n,
                k,
                a: self.a,
                b: self.b,
                c: self.c,
            }),
        }
    }

    /// Checks that the target has the instruction.
    pub fn legal_on(&self, target: &Target) -> Result<(), AtomError> {
        match self.a {
            Elem::F8E4M3 | Elem::F8E5M2 => needs(self, Feature::Fp8, target),
            _ => Ok(()),
        }
    }

    /// Thread-value layouts; of an atom that [`MmaAtom::verify`] accepts.
    pub fn layouts(&self) -> Result<MmaLayouts, AtomError> {
        self.verify()?;
        Ok(match self.row() {
            Some(row) => MmaLayouts {
                shape: row.mnk.map(i64::from),
                threads: 32,
                a: table(row.a),
                b: table(row.b),
                c: table(row.c),
            },
            None => {
                let one = table("(1,1):(0,0)");
                MmaLayouts {
                    shape: [1, 1, 1],
                    threads: 1,
                    a: one.clone(),
                    b: one.clone(),
                    c: one,
                }
            }
        })
    }
}

impl fmt::Display for CopyAtom {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let elem = self.elem;
        match self.op {
            CopyOp::Universal { bits } => {
                let hints = self.hints;
                write!(
                    f,
                    "!cute_nvgpu.atom.universal_copy<{elem}, {bits} b{hints}>"
                )
            }
            CopyOp::Async { cache, bits } => {
                let cache = if cache == Cache::Always {
                    "always"
                } else {
                    "global"
                };
                write!(
                    f,
                    "!cute_nvgpu.atom.simt_async_copy<{elem}, cache = {cache}, {bits} b{}>",
                    self.hints
                )
            }
            CopyOp::Ldsm {
                matrices,
                transpose,
            } => {
                let how = if transpose { "t" } else { "n" };
                write!(
                    f,
                    "!cute_nvgpu.atom.ldsm<val_type = {elem}, num_matrices = {matrices}, {how}>"
                )
            }
        }
    }
}

impl fmt::Display for MmaAtom {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.op {
            MmaOp::Fma => write!(f, "!cute_nvgpu.atom.universal_fma<{}>", self.c),
            MmaOp::Sync { m, n, k } => {
                write!(
                    f,
                    "!cute_nvgpu.sm80.mma<\"{m}x{n}x{k}\", elem_type = ({}, {}, {})>",
                    self.a, self.b, self.c
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutec_layout::algebra::{cosize, size};

    #[test]
    fn each_operand_of_an_mma_is_covered_once_by_threads_and_values() {
        for atom in MmaAtom::all_sync() {
            let layouts = atom.layouts().unwrap();
            let [m, n, k] = layouts.shape;
            for (layout, elements) in [
                (&layouts.a, m * k),
                (&layouts.b, n * k),
                (&layouts.c, m * n),
            ] {
                assert!(size(layout).is(elements), "{atom}: {layout}");
                assert!(cosize(layout).unwrap().is(elements), "{atom}: {layout}");
                let offsets: std::collections::BTreeSet<_> = crate::semantics::offsets_of(layout)
                    .unwrap()
                    .iter()
                    .map(|offset| offset.as_static().unwrap())
                    .collect();
                assert_eq!(offsets.len() as i64, elements, "{atom}: {layout}");
            }
        }
    }

    #[test]
    fn ldmatrix_reads_rows_of_eight_and_writes_every_element_once() {
        for matrices in [1, 2, 4] {
            for transpose in [false, true] {
                let op = CopyOp::Ldsm {
                    matrices,
                    transpose,
                };
                let atom = CopyAtom {
                    op,
                    elem: Elem::BF16,
                    hints: Hints::NONE,
                };
                atom.verify().unwrap();
                let layouts = atom.layouts();
                assert!(size(&layouts.src).is(32 * 8), "{atom}");
                assert!(
                    cosize(&layouts.src).unwrap().is(64 * i64::from(matrices)),
                    "{atom}"
                );
                assert!(size(&layouts.dst).is(32 * atom.dst_values()), "{atom}");
                assert!(
                    cosize(&layouts.dst).unwrap().is(64 * i64::from(matrices)),
                    "{atom}"
                );
            }
        }
    }

    #[test]
    fn atoms_print_as_types_that_parse_to_them() {
        let mut vars = crate::types::Vars::default();
        for atom in MmaAtom::all_sync() {
            let parsed = crate::types::parse_type(&atom.to_string(), &mut vars).unwrap();
            assert!(
                matches!(parsed, crate::value::Val::MmaAtom(found) if found == atom),
                "{atom}"
            );
        }
    }

    #[test]
    fn fp8_needs_ada() {
        let atom = MmaAtom::all_sync()
            .find(|atom| atom.a == Elem::F8E4M3)
            .unwrap();
        assert!(atom.legal_on(&Target::parse("sm_80").unwrap()).is_err());
        assert!(atom.legal_on(&Target::parse("sm_89").unwrap()).is_ok());
    }
}
