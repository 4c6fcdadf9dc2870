//! [`Red`]: an update of global memory from registers.
use super::fields::Fields;
use super::{
    AtomError, Completion, CopyAtom, CopyInstruction, CopyOp, Issuer, Place, Reduction,
    layouts_of_thread, values_of_thread,
};
use crate::elem::Elem;
use crate::hints::Hints;
use crate::target::{Feature, Target, WIDEST_ACCESS};
use crate::types::TypeError;
use cutec_layout::Layout;
use cutec_layout::smem::Kind;

/// `red`: neighbours in registers of a thread are combined with those in global memory, each element at once (PTX ISA, "red").
/// Relaxed, in the scope of the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Red {
    /// How they are combined.
    pub how: Reduction,
    /// Bits of all of them: 16, 32, 64 or 128.
    pub bits: u32,
}

/// How PTX writes an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedForm {
    /// Operation and type: `add.v4.f32`.
    pub operation: &'static str,
    /// Bits of each of its registers.
    pub register: u32,
    /// How many registers there are.
    pub registers: usize,
    /// What a target must have for it.
    needs: Option<Feature>,
}

impl Red {
    /// The atom that combines so many elements at once.
    pub fn of_elements(how: Reduction, elem: Elem, count: i64) -> CopyAtom {
        let bits = u32::try_from(count * elem.bits()).unwrap_or(u32::MAX);
        CopyAtom::new(CopyOp::Red(Red { how, bits }), elem)
    }

    /// The one that combines the most elements of a type, at most so many, on a target; `None` where it has none.
    pub fn widest(how: Reduction, elem: Elem, most: i64, target: &Target) -> Option<CopyAtom> {
        let widths = (0..=WIDEST_ACCESS.ilog2()).rev().map(|power| 1 << power);
        let counts = widths.filter(|count| *count <= most);
        let mut atoms = counts.map(|count| Red::of_elements(how, elem, count));
        atoms.find(|atom| atom.verify().is_ok() && atom.legal_on(target).is_ok())
    }

    /// How PTX writes it of elements of a type; `None` where there is none.
    pub fn form(self, elem: Elem) -> Option<RedForm> {
        use {Feature::*, Reduction::*};
        let count = i64::from(self.bits) / elem.bits();
        if i64::from(self.bits) % elem.bits() != 0 {
            return None;
        }
        let form = |operation, register, needs| {
            Some(RedForm {
                operation,
                register,
                registers: (self.bits / register) as usize,
                needs,
            })
        };
        let one = |operation| form(operation, self.bits, None);
        match (self.how, elem, count) {
            (Add, Elem::F32, 1) => one("add.f32"),
            (Add, Elem::F32, 2) => form("add.v2.f32", 32, Some(VectorAtomics)),
            (Add, Elem::F32, 4) => form("add.v4.f32", 32, Some(VectorAtomics)),
            (Add, Elem::F64, 1) => one("add.f64"),
            (Add, Elem::F16, 1) => one("add.noftz.f16"),
            (Add, Elem::F16, 2) => form("add.noftz.f16x2", 32, None),
            (Add, Elem::F16, 4) => form("add.noftz.v2.f16x2", 32, Some(VectorAtomics)),
            (Add, Elem::F16, 8) => form("add.noftz.v4.f16x2", 32, Some(VectorAtomics)),
            (Add, Elem::BF16, 1) => form("add.noftz.bf16", 16, Some(Bf16Atomics)),
            (Add, Elem::BF16, 2) => form("add.noftz.bf16x2", 32, Some(Bf16Atomics)),
            (Add, Elem::BF16, 4) => form("add.noftz.v2.bf16x2", 32, Some(VectorAtomics)),
            (Add, Elem::BF16, 8) => form("add.noftz.v4.bf16x2", 32, Some(VectorAtomics)),
            (Add, Elem::I32, 1) => one("add.s32"),
            (Add, Elem::U32, 1) => one("add.u32"),
            // Two's complement: the sum has no sign.
            (Add, Elem::I64 | Elem::U64, 1) => one("add.u64"),
            (Min, Elem::I32, 1) => one("min.s32"),
            (Max, Elem::I32, 1) => one("max.s32"),
            (Min, Elem::U32, 1) => one("min.u32"),
            (Max, Elem::U32, 1) => one("max.u32"),
            (Min, Elem::I64, 1) => one("min.s64"),
            (Max, Elem::I64, 1) => one("max.s64"),
            (Min, Elem::U64, 1) => one("min.u64"),
            (Max, Elem::U64, 1) => one("max.u64"),
            (And, Elem::I32 | Elem::U32, 1) => one("and.b32"),
            (Or, Elem::I32 | Elem::U32, 1) => one("or.b32"),
            (Xor, Elem::I32 | Elem::U32, 1) => one("xor.b32"),
            (And, Elem::I64 | Elem::U64, 1) => one("and.b64"),
            (Or, Elem::I64 | Elem::U64, 1) => one("or.b64"),
            (Xor, Elem::I64 | Elem::U64, 1) => one("xor.b64"),
            _ => None,
        }
    }
}

impl RedForm {
    /// Whether a target has it.
    pub fn is_on(self, target: &Target) -> bool {
        self.needs.is_none_or(|feature| target.has(feature))
    }
}

impl CopyInstruction for Red {
    fn type_name() -> &'static str {
        "atom.red"
    }

    fn parse(fields: &mut Fields) -> Result<CopyAtom, TypeError> {
        let how = fields.reduction()?;
        let (elem, bits) = (fields.elem()?, fields.bits()?);
        fields.end()?;
        Ok(CopyAtom::new(CopyOp::Red(Red { how, bits }), elem))
    }

    fn all() -> Vec<(Self, Elem)> {
        let all = Reduction::ALL.into_iter().flat_map(|(how, _)| {
            let forms = [(16, Elem::F16), (32, Elem::F32), (32, Elem::I32)].into_iter();
            let wide = [(64, Elem::F32), (64, Elem::I64), (128, Elem::F32)];
            let forms = forms
                .chain(wide)
                .map(move |(bits, elem)| (Red { how, bits }, elem));
            let mut forms: Vec<_> = forms
                .filter(|(red, elem)| red.verify(*elem).is_ok())
                .collect();
            forms.dedup_by_key(|(red, _)| red.bits);
            forms
        });
        all.collect()
    }

    fn parameters(&self, atom: &CopyAtom) -> String {
        format!(
            "{}, {}, {} b{}",
            self.how.name(),
            atom.elem,
            self.bits,
            atom.hints
        )
    }

    fn name(&self) -> String {
        format!("red_{}_{}", self.how.name(), self.bits)
    }

    fn verify(&self, elem: Elem) -> Result<(), AtomError> {
        let Red { how, bits } = *self;
        if self.form(elem).is_some() {
            return Ok(());
        }
        let widths = [16, 32, 64, 128].into_iter();
        let there = widths.filter(|bits| Red { how, bits: *bits }.form(elem).is_some());
        let there: Vec<u32> = there.collect();
        Err(AtomError::Red {
            how: how.name(),
            bits,
            elem,
            there,
        })
    }

    fn refused_hint(&self, hints: &Hints) -> Option<String> {
        hints.first()
    }

    fn issuer(&self) -> Issuer {
        Issuer::Thread
    }

    fn completion(&self) -> Completion {
        Completion::AtOnce
    }

    fn places(&self) -> [Place; 2] {
        [Place::Registers, Place::Global]
    }

    fn needs(&self, elem: Elem) -> Option<Feature> {
        self.form(elem)?.needs
    }

    fn values(&self, elem: Elem) -> [i64; 2] {
        values_of_thread(self.bits, elem)
    }

    fn layouts(&self, elem: Elem) -> [Layout; 2] {
        layouts_of_thread(self.bits, elem)
    }

    fn shared_access(&self) -> (&'static str, Kind) {
        ("updated", Kind::Vector { bits: self.bits })
    }

    fn remark(&self, _: Elem) -> String {
        format!("red of {} bytes", self.bits / 8)
    }

    fn ptx(&self) -> Vec<String> {
        vec![format!("red.relaxed.gpu.global.{}", self.how.name())]
    }
}
