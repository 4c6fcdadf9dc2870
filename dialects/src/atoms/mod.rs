//! Atoms: the instructions that copy and multiply, one file each.
//!
//! An instruction is a type that implements [`CopyInstruction`] or [`MmaInstruction`]: who issues it, where its
//! operands live, what it asks of shared memory, by which mechanism it completes, which targets have it, its
//! thread-value layouts, its syntax in the IR, its name and its PTX. `copy_instructions!` in `copy.rs` and
//! `mma_instructions!` in `mma.rs` list them; from these lists come the enums [`CopyOp`] and [`MmaOp`], the reader of
//! the IR, and [`all`]. Nothing else decides by the shape or the name of an atom what it is: passes ask it, or match
//! over [`CopyOp`], [`MmaOp`], [`Issuer`], [`Place`], [`Completion`] and [`Mechanism`] with every variant written out,
//! so that a new one is pointed at by the compiler wherever it matters (`docs/extending.md` has the list).
//!
//! A thread-value layout maps (thread, value) to the index of an element in the atom's tile, column-major. Sources:
//! PTX ISA, "Warp-level matrix instructions" (fragment figures of `mma` and `ldmatrix`), in the form of CuTe's
//! `Copy_Traits` and `MMA_Traits`.
//!
//! Reading order: this file, `copy` (copies in general), `universal_copy`, `cp_async`, `matrices` (what the next two move),
//! `ldmatrix`, `stmatrix`, `reduction` (how elements are combined), `red`, `mma` (products in general), `fma`, `mma_sync`, `wgmma`, `tma` (copies by tensor maps), `bulk` (bulk
//! copies without one), `names` (every atom by its name), `syntax` (the types of atoms in the IR), `fields` (the parameters of a
//! type), `error`.
mod bulk;
mod copy;
mod cp_async;
mod error;
mod fields;
mod fma;
mod ldmatrix;
mod matrices;
mod mma;
mod mma_sync;
mod names;
mod red;
mod reduction;
mod stmatrix;
mod syntax;
#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests;
mod tma;
mod universal_copy;
mod wgmma;

pub use bulk::BulkCopy;
pub use copy::{CopyAtom, CopyInstruction, CopyLayouts, CopyOp};
pub use cp_async::{Cache, CpAsync};
pub use error::AtomError;
pub use fma::Fma;
pub use ldmatrix::Ldmatrix;
pub use matrices::Matrices;
pub use mma::{MmaAtom, MmaInstruction, MmaLayouts, MmaOp, MmaOperand, Register};
pub use mma_sync::{MmaSync, SHAPES, SyncShape};
pub use names::{Atom, all, find};
pub use red::{Red, RedForm};
pub use reduction::Reduction;
pub use stmatrix::Stmatrix;
pub(crate) use syntax::{canonical, parse};
pub(crate) use tma::tuple;
pub use tma::{TmaAtom, TmaKind};
pub use universal_copy::UniversalCopy;
pub use wgmma::Wgmma;

use crate::elem::Space;
use crate::target::{Feature, Target, WARP, WARPGROUP};
use std::fmt;

/// Which threads execute an instruction together. Their number is that of the threads in its thread-value layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Issuer {
    /// Each thread for itself.
    Thread,
    /// The 32 lanes of a warp, all of them.
    Warp,
    /// The four warps of a warpgroup, of which the first has a number divisible by four.
    Warpgroup,
}

impl Issuer {
    /// How many threads there are.
    pub const fn threads(self) -> i64 {
        match self {
            Issuer::Thread => 1,
            Issuer::Warp => WARP,
            Issuer::Warpgroup => WARPGROUP,
        }
    }
}

/// Where an operand of an instruction lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// In registers of the threads that issue it, as its thread-value layout says.
    Registers,
    /// In shared memory, at an address.
    Shared,
    /// In shared memory, as a whole that a descriptor describes.
    SharedDescriptor,
    /// In global memory, at an address.
    Global,
    /// In any of them.
    Anywhere,
}

impl Place {
    /// Whether a view in a memory space can be the operand.
    pub fn holds(self, space: Space) -> bool {
        match self {
            Place::Registers => space == Space::Rmem,
            Place::Shared | Place::SharedDescriptor => space == Space::Smem,
            Place::Global => space == Space::Gmem,
            Place::Anywhere => true,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Place::Registers => "rmem",
            Place::Shared | Place::SharedDescriptor => "smem",
            Place::Global => "gmem",
            Place::Anywhere => "anywhere",
        })
    }
}

/// When what an instruction writes is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Completion {
    /// For the next instruction of the thread.
    AtOnce,
    /// Once the thread has waited by a mechanism.
    Later(Mechanism),
}

/// By which mechanism asynchronous work completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mechanism {
    /// Groups of `cp.async`, which a thread commits and waits for (PTX ISA, "cp.async.commit_group").
    CpAsyncGroup,
    /// Groups of `wgmma`, which a warpgroup commits and waits for (PTX ISA, "wgmma.commit_group").
    WgmmaGroup,
}

/// Checks that a target has what an atom needs.
fn legal_on(
    atom: &impl fmt::Display,
    needs: Option<Feature>,
    target: &Target,
) -> Result<(), AtomError> {
    match needs {
        Some(feature) if !target.has(feature) => Err(AtomError::Target {
            atom: atom.to_string(),
            needs: feature.targets(),
            target: target.name,
        }),
        Some(_) | None => Ok(()),
    }
}

/// Elements on either side of a copy of so many bits by one thread.
fn values_of_thread(bits: u32, elem: crate::elem::Elem) -> [i64; 2] {
    [i64::from(bits) / elem.bits(); 2]
}

/// The layouts of both sides of such a copy.
fn layouts_of_thread(bits: u32, elem: crate::elem::Elem) -> [cutec_layout::Layout; 2] {
    values_of_thread(bits, elem).map(|values| layout(&format!("(1,{values}):(0,1)")))
}

/// A layout that is written in this folder.
fn layout(text: &str) -> cutec_layout::Layout {
    cutec_layout::text::parse_layout(text).expect("a layout of the tables of instructions")
}
