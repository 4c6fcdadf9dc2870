//! [`Wgmma`]: products of a warpgroup on tensor cores, of operands in shared memory.
use super::fields::Fields;
use super::{
    AtomError, Completion, Issuer, Mechanism, MmaAtom, MmaInstruction, MmaOp, Place, Register,
    layout,
};
use crate::elem::Elem;
use crate::target::Feature;
use crate::types::{TypeError, unquoted};
use cutec_layout::Layout;

/// Rows of C, for every form.
const M: u32 = 64;

/// `wgmma.mma_async` of a warpgroup (PTX ISA, "wgmma.mma_async"). B is read from shared memory by a matrix descriptor, A
/// as well or from registers. Which mode is contiguous in shared memory is a matter of the views, not of the atom. A sparse
/// A ("wgmma.mma_async.sp") lies there without its zeros, and a register of each thread tells where the others belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wgmma {
    /// Columns of C.
    pub n: u32,
    /// Length of the product.
    pub k: u32,
    /// Whether A lives in registers.
    pub a_in_registers: bool,
    /// Whether the elements of A, of B are negated: scale-a, scale-b of -1.
    pub negate: [bool; 2],
    /// Whether A is sparse, two of four elements along k, or of 32 bits one of two: which pair of each four threads has what
    /// tells where its elements are, 0 or 1. Of 8 bits all four have it, as pair 0.
    pub sparse: Option<u32>,
}

/// Types that are multiplied, and whether only every second N from 16 on exists.
struct WgmmaRow {
    k: u32,
    types: [Elem; 3],
    sparse_n: bool,
}

const fn row(k: u32, a: Elem, b: Elem, c: Elem) -> WgmmaRow {
    WgmmaRow {
        k,
        types: [a, b, c],
        sparse_n: matches!(c, Elem::I32),
    }
}

/// Every type (PTX ISA, "wgmma.mma_async"; N of integers as `ptxas` takes it).
const TABLE: [WgmmaRow; 16] = [
    row(16, Elem::F16, Elem::F16, Elem::F32),
    row(16, Elem::F16, Elem::F16, Elem::F16),
    row(16, Elem::BF16, Elem::BF16, Elem::F32),
    row(8, Elem::TF32, Elem::TF32, Elem::F32),
    row(32, Elem::F8E4M3, Elem::F8E4M3, Elem::F32),
    row(32, Elem::F8E4M3, Elem::F8E5M2, Elem::F32),
    row(32, Elem::F8E5M2, Elem::F8E4M3, Elem::F32),
    row(32, Elem::F8E5M2, Elem::F8E5M2, Elem::F32),
    row(32, Elem::F8E4M3, Elem::F8E4M3, Elem::F16),
    row(32, Elem::F8E4M3, Elem::F8E5M2, Elem::F16),
    row(32, Elem::F8E5M2, Elem::F8E4M3, Elem::F16),
    row(32, Elem::F8E5M2, Elem::F8E5M2, Elem::F16),
    row(32, Elem::I8, Elem::I8, Elem::I32),
    row(32, Elem::I8, Elem::U8, Elem::I32),
    row(32, Elem::U8, Elem::I8, Elem::I32),
    row(32, Elem::U8, Elem::U8, Elem::I32),
];

impl WgmmaRow {
    fn has_n(&self, n: u32) -> bool {
        let step = if self.sparse_n && n > 32 { 16 } else { 8 };
        (8..=256).contains(&n) && n.is_multiple_of(step)
    }
}

impl Wgmma {
    /// What the language calls all of them.
    pub const LANGUAGE_NAME: &'static str = "sm90_64xNxK";

    /// The shape of a name in the language, `sm90_64x256x16`, with both operands in shared memory.
    pub fn find(name: &str) -> Option<Wgmma> {
        let (n, k) = name.strip_prefix("sm90_64x")?.split_once('x')?;
        let (n, k) = (n.parse().ok()?, k.parse().ok()?);
        let multiplies = |row: &WgmmaRow| (row.k == k || 2 * row.k == k) && row.has_n(n);
        let exists = TABLE.iter().any(multiplies);
        let shape = Wgmma {
            n,
            k,
            a_in_registers: false,
            negate: [false; 2],
            sparse: None,
        };
        (exists && shape.language_name() == name).then_some(shape)
    }

    /// The shape of so many columns for a type of operands, of which an instruction takes 256 bits of k, with both operands
    /// in shared memory. Whether there is one is checked where an atom is made of it.
    pub fn of(n: u32, elem: Elem) -> Wgmma {
        Wgmma {
            n,
            k: 256 / elem.bits() as u32,
            a_in_registers: false,
            negate: [false; 2],
            sparse: None,
        }
    }

    /// The same with a sparse A, and twice as much k.
    pub fn with_sparse_a(self, pair: u32) -> Wgmma {
        Wgmma {
            k: 2 * self.k,
            sparse: Some(pair),
            ..self
        }
    }

    /// How much of k there is of A: of a sparse one half.
    pub fn k_of_a(&self) -> u32 {
        match self.sparse {
            Some(_) => self.k / 2,
            None => self.k,
        }
    }

    /// Its name in the language.
    pub fn language_name(&self) -> String {
        let Wgmma { n, k, .. } = self;
        format!("sm90_{M}x{n}x{k}")
    }

    /// Whether an operand in shared memory may be contiguous along m or n: of 16 bits alone.
    pub fn transposes(elem: Elem) -> bool {
        elem.bits() == 16
    }

    fn kind(&self) -> &'static str {
        match self.a_in_registers {
            true => "rs",
            false => "ss",
        }
    }
}

impl MmaInstruction for Wgmma {
    fn type_name() -> &'static str {
        "sm90.mma"
    }

    fn parse(fields: &mut Fields) -> Result<MmaAtom, TypeError> {
        let form = "64xNxK, three element types and frag_kind = ss or rs";
        let shape = unquoted(fields.next("64xNxK")?)?.to_owned();
        let types = fields.named("elem_type")?;
        let types = types
            .strip_prefix('(')
            .and_then(|types| types.strip_suffix(')'));
        let types = types.ok_or_else(|| fields.form(form))?.split(',');
        let types = types.map(|elem| fields.elem_of(elem));
        let types: Vec<Elem> = types.collect::<Result<_, _>>()?;
        let a_in_registers = match fields.named("frag_kind")? {
            "ss" => false,
            "rs" => true,
            _ => return Err(fields.form(form)),
        };
        let negate = match fields.optional("negate") {
            None => [false; 2],
            Some("a") => [true, false],
            Some("b") => [false, true],
            Some("ab") => [true; 2],
            Some(_) => return Err(fields.form("negate = a, b or ab")),
        };
        let sparse = match fields.optional("sparse") {
            None => None,
            Some("0") => Some(0),
            Some("1") => Some(1),
            Some(_) => return Err(fields.form("sparse = 0 or 1")),
        };
        let mnk = shape.split('x').map(|extent| extent.parse().ok());
        let mnk: Option<Vec<u32>> = mnk.collect();
        let (Some([M, n, k]), [a, b, c]) = (mnk.as_deref(), types.as_slice()) else {
            return Err(fields.form(form));
        };
        let op = MmaOp::Wgmma(Wgmma {
            n: *n,
            k: *k,
            a_in_registers,
            negate,
            sparse,
        });
        let [a, b, c] = [*a, *b, *c];
        Ok(MmaAtom { op, a, b, c })
    }

    fn all() -> Vec<MmaAtom> {
        let of_row = |row: &'static WgmmaRow| {
            let extents = (8..=256).step_by(8).filter(|n| row.has_n(*n));
            extents.flat_map(|n| {
                let dense = [false, true].map(|a_in_registers| Wgmma {
                    n,
                    k: row.k,
                    a_in_registers,
                    negate: [false; 2],
                    sparse: None,
                });
                let sparse = dense.map(|dense| dense.with_sparse_a(0));
                let [a, b, c] = row.types;
                let atom = move |shape| MmaAtom {
                    op: MmaOp::Wgmma(shape),
                    a,
                    b,
                    c,
                };
                dense.into_iter().chain(sparse).map(atom)
            })
        };
        TABLE.iter().flat_map(of_row).collect()
    }

    fn parameters(&self, atom: &MmaAtom) -> String {
        let (Wgmma { n, k, .. }, MmaAtom { a, b, c, .. }) = (self, atom);
        let kind = self.kind();
        let negate = match self.negate {
            [false, false] => "",
            [true, false] => ", negate = a",
            [false, true] => ", negate = b",
            [true, true] => ", negate = ab",
        };
        let sparse = match self.sparse {
            None => String::new(),
            Some(pair) => format!(", sparse = {pair}"),
        };
        format!("\"{M}x{n}x{k}\", elem_type = ({a}, {b}, {c}), frag_kind = {kind}{negate}{sparse}")
    }

    fn name(&self, atom: &MmaAtom) -> String {
        let Wgmma { n, k, .. } = self;
        let [a, b, c] = [atom.a, atom.b, atom.c].map(Elem::ptx);
        let sparse = if self.sparse.is_some() { "_sp" } else { "" };
        format!("sm90{sparse}_{M}x{n}x{k}_{c}{a}{b}_{}", self.kind())
    }

    fn verify(&self, atom: &MmaAtom) -> Result<(), AtomError> {
        let types = [atom.a, atom.b, atom.c];
        let known = TABLE
            .iter()
            .any(|row| row.k == self.k_of_a() && row.types == types && row.has_n(self.n));
        match known {
            true if self.sparse == Some(1) && atom.a.bits() == 8 => {
                Err(AtomError::SparsePair { elem: atom.a })
            }
            true if self.negate != [false; 2] && atom.c == Elem::I32 => {
                Err(AtomError::NegatedInteger { elem: atom.a })
            }
            true => Ok(()),
            false => Err(AtomError::NoMma(*atom)),
        }
    }

    fn issuer(&self) -> Issuer {
        Issuer::Warpgroup
    }

    fn completion(&self) -> Completion {
        Completion::Later(Mechanism::WgmmaGroup)
    }

    fn places(&self) -> [Place; 3] {
        let a = match self.a_in_registers {
            true => Place::Registers,
            false => Place::SharedDescriptor,
        };
        [a, Place::SharedDescriptor, Place::Registers]
    }

    fn registers(&self, atom: &MmaAtom) -> [Register; 3] {
        let sums = match atom.c == Elem::F16 {
            true => Register::HalfPair,
            false => Register::Element,
        };
        [Register::Word, Register::Word, sums]
    }

    fn needs(&self, _: &MmaAtom) -> Option<Feature> {
        Some(Feature::Wgmma)
    }

    fn shape(&self) -> [i64; 3] {
        [M, self.n, self.k].map(i64::from)
    }

    /// PTX ISA, "Register fragments and shared memory matrix layouts" of `wgmma`; what is in shared memory every thread
    /// names as a whole.
    fn layouts(&self, atom: &MmaAtom) -> [Layout; 3] {
        let Wgmma { n, k, .. } = self;
        let shared =
            |extent: u32, k: u32| layout(&format!("(128,({extent},{k})):(0,(1,{extent}))"));
        let a = match (self.a_in_registers, atom.a.bits()) {
            (false, _) => shared(M, self.k_of_a()),
            (true, 32) => layout("((4,8,4),(2,2)):((64,1,16),(8,256))"),
            (true, 8) => layout("((4,8,4),(4,2,2)):((256,1,16),(64,8,1024))"),
            (true, _) => layout("((4,8,4),(2,2,2)):((128,1,16),(64,8,512))"),
        };
        let c = format!("((4,8,4),(2,2,{})):((128,1,16),(64,8,512))", n / 8);
        [a, shared(*n, *k), layout(&c)]
    }

    fn remark(&self, atom: &MmaAtom) -> String {
        let Wgmma { n, k, .. } = self;
        let [a, b, c] = [atom.a, atom.b, atom.c].map(Elem::language_name);
        let from = match self.a_in_registers {
            true => ", A from registers",
            false => "",
        };
        let negated = match self.negate {
            [false, false] => "",
            [true, false] => ", A negated",
            [false, true] => ", B negated",
            [true, true] => ", A and B negated",
        };
        let sparse = if self.sparse.is_some() { " sparse" } else { "" };
        format!("wgmma.m{M}n{n}k{k} of{sparse} {a} and {b} to {c}{from}{negated}")
    }

    fn ptx(&self, atom: &MmaAtom) -> String {
        let Wgmma { n, k, .. } = self;
        let [a, b, c] = [atom.a, atom.b, atom.c].map(Elem::ptx);
        let sparse = if self.sparse.is_some() { ".sp" } else { "" };
        format!("wgmma.mma_async{sparse}.sync.aligned.m{M}n{n}k{k}.{c}.{a}.{b}")
    }
}
