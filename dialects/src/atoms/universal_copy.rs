//! [`UniversalCopy`]: a load and a store.
use super::fields::Fields;
use super::{
    AtomError, Completion, CopyAtom, CopyInstruction, CopyOp, Issuer, Place, layouts_of_thread,
    values_of_thread,
};
use crate::elem::Elem;
use crate::hints::Hints;
use crate::target::Feature;
use crate::types::TypeError;
use cutec_abi::counted;
use cutec_layout::Layout;
use cutec_layout::smem::Kind;

/// A load and a store of `bits` (PTX ISA, "ld", "st"); a move where both sides are registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UniversalCopy {
    /// Bits moved by one thread: 8, 16, 32, 64 or 128.
    pub bits: u32,
}

impl UniversalCopy {
    /// The atom that moves so many elements at once.
    pub fn of_elements(elem: Elem, count: i64) -> CopyAtom {
        let bits = u32::try_from(count * elem.bits()).unwrap_or(u32::MAX);
        CopyAtom::new(CopyOp::UniversalCopy(UniversalCopy { bits }), elem)
    }
}

impl CopyInstruction for UniversalCopy {
    fn type_name() -> &'static str {
        "atom.universal_copy"
    }

    fn parse(fields: &mut Fields) -> Result<CopyAtom, TypeError> {
        let (elem, bits) = (fields.elem()?, fields.bits()?);
        let hints = fields.hints()?;
        let op = CopyOp::UniversalCopy(UniversalCopy { bits });
        Ok(CopyAtom { op, elem, hints })
    }

    fn all() -> Vec<(Self, Elem)> {
        let widths = [8, 16, 32, 64, 128].into_iter();
        widths
            .map(|bits| match bits {
                8 => (UniversalCopy { bits }, Elem::U8),
                _ => (UniversalCopy { bits }, Elem::F16),
            })
            .collect()
    }

    fn parameters(&self, atom: &CopyAtom) -> String {
        format!("{}, {} b{}", atom.elem, self.bits, atom.hints)
    }

    fn name(&self) -> String {
        format!("universal_{}", self.bits)
    }

    fn verify(&self, elem: Elem) -> Result<(), AtomError> {
        let bits = self.bits;
        if matches!(bits, 8 | 16 | 32 | 64 | 128) && i64::from(bits) % elem.bits() == 0 {
            return Ok(());
        }
        let expected = "8, 16, 32, 64 or 128 bits, a multiple of the element";
        Err(AtomError::CopyWidth {
            bits,
            elem,
            expected,
        })
    }

    fn refused_hint(&self, _: &Hints) -> Option<String> {
        None
    }

    fn issuer(&self) -> Issuer {
        Issuer::Thread
    }

    fn completion(&self) -> Completion {
        Completion::AtOnce
    }

    fn places(&self) -> [Place; 2] {
        [Place::Anywhere; 2]
    }

    fn needs(&self, _: Elem) -> Option<Feature> {
        None
    }

    fn values(&self, elem: Elem) -> [i64; 2] {
        values_of_thread(self.bits, elem)
    }

    fn layouts(&self, elem: Elem) -> [Layout; 2] {
        layouts_of_thread(self.bits, elem)
    }

    fn shared_access(&self) -> (&'static str, Kind) {
        ("read", Kind::Vector { bits: self.bits })
    }

    fn remark(&self, _: Elem) -> String {
        counted(self.bits / 8, "byte")
    }

    fn ptx(&self) -> Vec<String> {
        ["ld.", "st."].map(str::to_owned).to_vec()
    }
}
