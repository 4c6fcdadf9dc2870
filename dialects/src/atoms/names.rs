//! [`Atom`]: a copy or an MMA, and every one by its name: those of CuTe in lower case,
//! `sm80_16x8x16_f32bf16bf16f32`.
use super::{AtomError, CopyAtom, CopyOp, Issuer, MmaAtom};
use crate::target::Target;
use std::fmt;

/// A copy or an MMA atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Atom {
    /// A copy instruction.
    Copy(CopyAtom),
    /// An MMA instruction.
    Mma(MmaAtom),
}

impl Atom {
    /// Checks that the instruction exists.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn verify(&self) -> Result<(), AtomError> {
        match self {
            Atom::Copy(atom) => atom.verify(),
            Atom::Mma(atom) => atom.verify(),
        }
    }

    /// Checks that the target has the instruction.
    ///
    /// # Errors
    /// Which targets have it.
    pub fn legal_on(&self, target: &Target) -> Result<(), AtomError> {
        match self {
            Atom::Copy(atom) => atom.legal_on(target),
            Atom::Mma(atom) => atom.legal_on(target),
        }
    }

    /// Which threads execute it together.
    pub fn issuer(&self) -> Issuer {
        match self {
            Atom::Copy(atom) => atom.issuer(),
            Atom::Mma(atom) => atom.issuer(),
        }
    }

    /// Its name.
    pub fn name(&self) -> String {
        match self {
            Atom::Copy(atom) => atom.op.instruction().name(),
            Atom::Mma(atom) => atom.op.instruction().name(atom),
        }
    }

    /// How the PTX of its instructions begins.
    pub fn ptx(&self) -> Vec<String> {
        match self {
            Atom::Copy(atom) => atom.op.instruction().ptx(),
            Atom::Mma(atom) => vec![atom.ptx()],
        }
    }
}

impl fmt::Display for Atom {
    /// Its type in the IR.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Atom::Copy(atom) => atom.fmt(f),
            Atom::Mma(atom) => atom.fmt(f),
        }
    }
}

/// Every atom with its name: MMAs, then copies. Copies are of 16-bit elements where they can be.
pub fn all() -> Vec<(String, Atom)> {
    let products = MmaAtom::all().into_iter().map(Atom::Mma);
    let copies = CopyOp::all().into_iter();
    let copies = copies.map(|(op, elem)| Atom::Copy(CopyAtom::new(op, elem)));
    let atoms = products.chain(copies);
    atoms.map(|atom| (atom.name(), atom)).collect()
}

/// The atom of a name; large and small letters are the same.
pub fn find(name: &str) -> Option<Atom> {
    let name = name.to_ascii_lowercase();
    let mut all = all().into_iter();
    all.find(|(known, _)| *known == name).map(|(_, atom)| atom)
}
