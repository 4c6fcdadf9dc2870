//! [`MmaSync`]: products of a warp on tensor cores.
use super::fields::Fields;
use super::{
    AtomError, Completion, Issuer, MmaAtom, MmaInstruction, MmaOp, Place, Register, layout,
};
use crate::elem::Elem;
use crate::target::Feature;
use crate::types::{TypeError, unquoted};
use cutec_layout::Layout;

/// `mma.sync` of a warp (PTX ISA, "mma").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MmaSync {
    /// Rows of C.
    pub m: u32,
    /// Columns of C.
    pub n: u32,
    /// Length of the product.
    pub k: u32,
}

/// A shape of `mma.sync`, as the language offers it.
#[derive(Clone, Copy, Debug)]
pub struct SyncShape {
    /// Its name in the language.
    pub name: &'static str,
    /// The shape.
    pub op: MmaSync,
    /// A line of the language's reference.
    pub documentation: &'static str,
}

/// Every shape of `mma.sync`.
pub const SHAPES: [SyncShape; 7] = [
    shape("sm80_8x8x4", [8, 8, 4], "`mma.sync.m8n8k4`. Of f64."),
    shape(
        "sm80_8x8x32",
        [8, 8, 32],
        "`mma.sync.m8n8k32`. Of i4 and u4.",
    ),
    shape(
        "sm80_16x8x4",
        [16, 8, 4],
        "`mma.sync.m16n8k4`. Of tf32, and on sm_90 f64.",
    ),
    shape(
        "sm80_16x8x8",
        [16, 8, 8],
        "`mma.sync.m16n8k8`. Of f16, bf16 and tf32, and on sm_90 f64.",
    ),
    shape(
        "sm80_16x8x16",
        [16, 8, 16],
        "`mma.sync.m16n8k16`. Of f16, bf16, i8 and u8, and on sm_90 f64.",
    ),
    shape(
        "sm80_16x8x32",
        [16, 8, 32],
        "`mma.sync.m16n8k32`. Of i8, u8, i4, u4, and on sm_89 f8.",
    ),
    shape(
        "sm80_16x8x64",
        [16, 8, 64],
        "`mma.sync.m16n8k64`. Of i4 and u4.",
    ),
];

const fn shape(name: &'static str, [m, n, k]: [u32; 3], documentation: &'static str) -> SyncShape {
    let op = MmaSync { m, n, k };
    SyncShape {
        name,
        op,
        documentation,
    }
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
const MMA_64_K16: MmaRow = MmaRow {
    mnk: [16, 8, 16],
    a: "((4,8),(2,4)):((16,1),(8,64))",
    b: "((4,8),4):((8,1),32)",
    c: MMA_C,
};
const MMA_64_K4: MmaRow = MmaRow {
    mnk: [8, 8, 4],
    a: "((4,8),1):((8,1),0)",
    b: "((4,8),1):((8,1),0)",
    c: "((4,8),2):((16,1),8)",
};

/// Every `mma.sync` that lowers: operand row, A, B, C (PTX ISA, "mma", sm_80 and later).
const MMA_TABLE: [(&MmaRow, Elem, Elem, Elem); 36] = [
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
    // A thread holds as many elements as of tf32, at the same places.
    (&MMA_32_K4, Elem::F64, Elem::F64, Elem::F64),
    (&MMA_32_K8, Elem::F64, Elem::F64, Elem::F64),
    (&MMA_64_K16, Elem::F64, Elem::F64, Elem::F64),
];

impl MmaSync {
    /// The shape of a name in the language.
    pub fn find(name: &str) -> Option<MmaSync> {
        let shape = SHAPES.iter().find(|shape| shape.name == name);
        shape.map(|shape| shape.op)
    }

    /// Its name in the language.
    pub fn language_name(&self) -> String {
        let MmaSync { m, n, k } = self;
        format!("sm80_{m}x{n}x{k}")
    }

    /// The accumulator of operands of a type, where the program does not say it.
    pub fn accumulator_of(operand: Elem) -> Elem {
        match operand {
            Elem::I4 | Elem::U4 | Elem::I8 | Elem::U8 => Elem::I32,
            Elem::F64 => Elem::F64,
            Elem::I1
            | Elem::I16
            | Elem::I32
            | Elem::U32
            | Elem::I64
            | Elem::U64
            | Elem::F4E2M1
            | Elem::F8E4M3
            | Elem::F8E5M2
            | Elem::F16
            | Elem::BF16
            | Elem::TF32
            | Elem::F32 => Elem::F32,
        }
    }

    fn row(&self, atom: &MmaAtom) -> Option<&'static MmaRow> {
        let types = (atom.a, atom.b, atom.c);
        let mut rows = MMA_TABLE.iter();
        rows.find(|(row, a, b, c)| row.mnk == [self.m, self.n, self.k] && (*a, *b, *c) == types)
            .map(|(row, ..)| *row)
    }
}

fn multiplies_f8(atom: &MmaAtom) -> bool {
    let is_f8 = |elem| matches!(elem, Elem::F8E4M3 | Elem::F8E5M2);
    is_f8(atom.a) || is_f8(atom.b)
}

impl MmaInstruction for MmaSync {
    fn type_name() -> &'static str {
        "sm80.mma"
    }

    fn parse(fields: &mut Fields) -> Result<MmaAtom, TypeError> {
        let shape = unquoted(fields.next("MxNxK")?)?.to_owned();
        let types = fields.named("elem_type")?;
        let form = "MxNxK and three element types";
        let types = types
            .strip_prefix('(')
            .and_then(|types| types.strip_suffix(')'));
        let types = types.ok_or_else(|| fields.form(form))?.split(',');
        let types = types.map(|elem| fields.elem_of(elem));
        let types: Vec<Elem> = types.collect::<Result<_, _>>()?;
        let mnk = shape.split('x').map(|extent| extent.parse().ok());
        let mnk: Option<Vec<u32>> = mnk.collect();
        let (Some([m, n, k]), [a, b, c]) = (mnk.as_deref(), types.as_slice()) else {
            return Err(fields.form(form));
        };
        let [m, n, k] = [*m, *n, *k];
        let [a, b, c] = [*a, *b, *c];
        let op = MmaOp::MmaSync(MmaSync { m, n, k });
        Ok(MmaAtom { op, a, b, c })
    }

    fn all() -> Vec<MmaAtom> {
        let of_row = |(row, a, b, c): &(&MmaRow, Elem, Elem, Elem)| {
            let [m, n, k] = row.mnk;
            MmaAtom {
                op: MmaOp::MmaSync(MmaSync { m, n, k }),
                a: *a,
                b: *b,
                c: *c,
            }
        };
        MMA_TABLE.iter().map(of_row).collect()
    }

    fn parameters(&self, atom: &MmaAtom) -> String {
        let (MmaSync { m, n, k }, MmaAtom { a, b, c, .. }) = (self, atom);
        format!("\"{m}x{n}x{k}\", elem_type = ({a}, {b}, {c})")
    }

    fn name(&self, atom: &MmaAtom) -> String {
        let sm = match self.needs(atom) {
            Some(Feature::Fp8) => "sm89",
            Some(Feature::MmaF64) => "sm90",
            _ => "sm80",
        };
        let MmaSync { m, n, k } = self;
        let [a, b, c] = [atom.a, atom.b, atom.c].map(Elem::ptx);
        format!("{sm}_{m}x{n}x{k}_{c}{a}{b}{c}")
    }

    fn verify(&self, atom: &MmaAtom) -> Result<(), AtomError> {
        match self.row(atom) {
            Some(_) => Ok(()),
            None => Err(AtomError::NoMma(*atom)),
        }
    }

    fn issuer(&self) -> Issuer {
        Issuer::Warp
    }

    fn completion(&self) -> Completion {
        Completion::AtOnce
    }

    fn places(&self) -> [Place; 3] {
        [Place::Registers; 3]
    }

    /// As `nvvm.mma.sync` takes them.
    fn registers(&self, atom: &MmaAtom) -> [Register; 3] {
        let factor = match atom.a {
            Elem::F16 => Register::HalfPair,
            Elem::F64 => Register::Element,
            Elem::I1
            | Elem::I4
            | Elem::U4
            | Elem::I8
            | Elem::U8
            | Elem::I16
            | Elem::I32
            | Elem::U32
            | Elem::I64
            | Elem::U64
            | Elem::F4E2M1
            | Elem::F8E4M3
            | Elem::F8E5M2
            | Elem::BF16
            | Elem::TF32
            | Elem::F32 => Register::Word,
        };
        let sums = match atom.c == Elem::F16 {
            true => Register::HalfPair,
            false => Register::Element,
        };
        [factor, factor, sums]
    }

    fn needs(&self, atom: &MmaAtom) -> Option<Feature> {
        if multiplies_f8(atom) {
            Some(Feature::Fp8)
        } else {
            (atom.a == Elem::F64 && self.m == 16).then_some(Feature::MmaF64)
        }
    }

    fn shape(&self) -> [i64; 3] {
        [self.m, self.n, self.k].map(i64::from)
    }

    fn layouts(&self, atom: &MmaAtom) -> [Layout; 3] {
        match self.row(atom) {
            Some(row) => [row.a, row.b, row.c].map(layout),
            None => std::array::from_fn(|_| Layout::unit()),
        }
    }

    fn remark(&self, atom: &MmaAtom) -> String {
        let MmaSync { m, n, k } = self;
        let [a, b, c] = [atom.a, atom.b, atom.c].map(Elem::language_name);
        format!("mma.sync.m{m}n{n}k{k} of {a} and {b} to {c}")
    }

    fn ptx(&self, atom: &MmaAtom) -> String {
        let MmaSync { m, n, k } = self;
        let [a, b, c] = [atom.a, atom.b, atom.c].map(Elem::ptx);
        format!("mma.sync.aligned.m{m}n{n}k{k}.row.col.{c}.{a}.{b}.{c}")
    }
}
