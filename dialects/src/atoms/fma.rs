//! [`Fma`]: one fused multiply-add of each thread.
use super::fields::Fields;
use super::{
    AtomError, Completion, Issuer, MmaAtom, MmaInstruction, MmaOp, Place, Register, layout,
};
use crate::elem::Elem;
use crate::target::Feature;
use crate::types::TypeError;
use cutec_layout::Layout;

/// One fused multiply-add of a thread (PTX ISA, "fma"), all operands of the accumulator's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fma;

impl Fma {
    /// The atom for a type.
    pub fn of(elem: Elem) -> MmaAtom {
        MmaAtom {
            op: MmaOp::Fma(Fma),
            a: elem,
            b: elem,
            c: elem,
        }
    }
}

impl MmaInstruction for Fma {
    fn type_name() -> &'static str {
        "atom.universal_fma"
    }

    fn parse(fields: &mut Fields) -> Result<MmaAtom, TypeError> {
        fields.elem().map(Fma::of)
    }

    fn all() -> Vec<MmaAtom> {
        [Elem::F16, Elem::BF16, Elem::F32, Elem::F64]
            .map(Fma::of)
            .to_vec()
    }

    fn parameters(&self, atom: &MmaAtom) -> String {
        atom.c.to_string()
    }

    fn name(&self, atom: &MmaAtom) -> String {
        format!("fma_{}", atom.c.ptx())
    }

    fn verify(&self, atom: &MmaAtom) -> Result<(), AtomError> {
        match Fma::all().contains(atom) {
            true => Ok(()),
            false => Err(AtomError::NoFma { elem: atom.c }),
        }
    }

    fn issuer(&self) -> Issuer {
        Issuer::Thread
    }

    fn completion(&self) -> Completion {
        Completion::AtOnce
    }

    fn places(&self) -> [Place; 3] {
        [Place::Registers; 3]
    }

    fn registers(&self, _: &MmaAtom) -> [Register; 3] {
        [Register::Element; 3]
    }

    fn needs(&self, _: &MmaAtom) -> Option<Feature> {
        None
    }

    fn shape(&self) -> [i64; 3] {
        [1; 3]
    }

    fn layouts(&self, _: &MmaAtom) -> [Layout; 3] {
        let one = layout("(1,1):(0,0)");
        [one.clone(), one.clone(), one]
    }

    fn remark(&self, atom: &MmaAtom) -> String {
        format!("fma of {}", atom.c.language_name())
    }

    fn ptx(&self, atom: &MmaAtom) -> String {
        format!("fma.rn.{}", atom.c.ptx())
    }
}
