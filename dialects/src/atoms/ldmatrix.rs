//! [`Ldmatrix`]: matrices from shared memory to registers.
use super::fields::Fields;
use super::{AtomError, Completion, CopyAtom, CopyInstruction, CopyOp, Issuer, Matrices, Place};
use crate::elem::Elem;
use crate::hints::Hints;
use crate::target::Feature;
use crate::types::TypeError;
use cutec_layout::Layout;
use cutec_layout::smem::Kind;

/// `ldmatrix` (PTX ISA, "ldmatrix"): lane 8i + r gives the address of row r of matrix i.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ldmatrix(pub Matrices);

impl Ldmatrix {
    /// Each number of matrices, the largest first.
    pub fn widths(transpose: bool) -> [Ldmatrix; 3] {
        [4, 2, 1].map(|count| Ldmatrix(Matrices { count, transpose }))
    }

    /// Whether it can transpose a matrix of elements of a type one by one: the pieces that it transposes have 16 bits.
    pub fn transposes(elem: Elem) -> bool {
        elem.bits() == 16
    }
}

impl CopyInstruction for Ldmatrix {
    fn type_name() -> &'static str {
        "atom.ldsm"
    }

    fn parse(fields: &mut Fields) -> Result<CopyAtom, TypeError> {
        let (matrices, elem) = Matrices::parse(fields)?;
        Ok(CopyAtom::new(CopyOp::Ldmatrix(Ldmatrix(matrices)), elem))
    }

    fn all() -> Vec<(Self, Elem)> {
        Matrices::all()
            .map(|all| (Ldmatrix(all), Elem::F16))
            .collect()
    }

    fn parameters(&self, atom: &CopyAtom) -> String {
        self.0.parameters(atom.elem)
    }

    fn name(&self) -> String {
        self.0.name("ldmatrix")
    }

    fn verify(&self, elem: Elem) -> Result<(), AtomError> {
        self.0.verify("ldmatrix", elem)
    }

    fn refused_hint(&self, hints: &Hints) -> Option<String> {
        hints.first()
    }

    fn issuer(&self) -> Issuer {
        Issuer::Warp
    }

    fn completion(&self) -> Completion {
        Completion::AtOnce
    }

    fn places(&self) -> [Place; 2] {
        [Place::Shared, Place::Registers]
    }

    fn needs(&self, _: Elem) -> Option<Feature> {
        None
    }

    fn values(&self, elem: Elem) -> [i64; 2] {
        self.0.values(elem)
    }

    fn layouts(&self, elem: Elem) -> [Layout; 2] {
        self.0.layouts(elem)
    }

    fn shared_access(&self) -> (&'static str, Kind) {
        ("ldmatrix", self.0.shared_access())
    }

    fn remark(&self, _: Elem) -> String {
        format!("ldmatrix.x{}", self.0.count)
    }

    fn ptx(&self) -> Vec<String> {
        vec![self.0.ptx("ldmatrix")]
    }
}
