//! [`Stmatrix`]: matrices from registers to shared memory.
use super::fields::Fields;
use super::{AtomError, Completion, CopyAtom, CopyInstruction, CopyOp, Issuer, Matrices, Place};
use crate::elem::Elem;
use crate::hints::Hints;
use crate::target::Feature;
use crate::types::TypeError;
use cutec_layout::Layout;
use cutec_layout::smem::Kind;

/// `stmatrix` (PTX ISA, "stmatrix"), the inverse of `ldmatrix`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stmatrix(pub Matrices);

impl Stmatrix {
    /// Each number of matrices, the largest first.
    pub fn widths(transpose: bool) -> [Stmatrix; 3] {
        [4, 2, 1].map(|count| Stmatrix(Matrices { count, transpose }))
    }
}

impl CopyInstruction for Stmatrix {
    fn type_name() -> &'static str {
        "atom.stsm"
    }

    fn parse(fields: &mut Fields) -> Result<CopyAtom, TypeError> {
        let (matrices, elem) = Matrices::parse(fields)?;
        Ok(CopyAtom::new(CopyOp::Stmatrix(Stmatrix(matrices)), elem))
    }

    fn all() -> Vec<(Self, Elem)> {
        Matrices::all()
            .map(|all| (Stmatrix(all), Elem::F16))
            .collect()
    }

    fn parameters(&self, atom: &CopyAtom) -> String {
        self.0.parameters(atom.elem)
    }

    fn name(&self) -> String {
        self.0.name("stmatrix")
    }

    fn verify(&self, elem: Elem) -> Result<(), AtomError> {
        self.0.verify("stmatrix", elem)
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
        [Place::Registers, Place::Shared]
    }

    fn needs(&self, _: Elem) -> Option<Feature> {
        Some(Feature::Stmatrix)
    }

    fn values(&self, elem: Elem) -> [i64; 2] {
        let [row, registers] = self.0.values(elem);
        [registers, row]
    }

    fn layouts(&self, elem: Elem) -> [Layout; 2] {
        let [rows, registers] = self.0.layouts(elem);
        [registers, rows]
    }

    fn shared_access(&self) -> (&'static str, Kind) {
        ("stmatrix", self.0.shared_access())
    }

    fn remark(&self, _: Elem) -> String {
        format!("stmatrix.x{}", self.0.count)
    }

    fn ptx(&self) -> Vec<String> {
        vec![self.0.ptx("stmatrix")]
    }
}
