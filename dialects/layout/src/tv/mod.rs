//! Thread-value layouts: which thread of a tiled copy or tiled MMA owns which values of a tensor.
//!
//! Pure layout algebra. The tables of the instructions ([`CopyAtom`], [`MmaAtom`]) are arguments;
//! they are written down elsewhere. Modules in reading order: `partition` (slicing a tensor at a
//! thread), `decay` (partitions of swizzled tensors as plain layouts), `copy` ([`TiledCopy`]), `mma` ([`TiledMma`]), `make_copy` (tiled copies made from
//! thread and value layouts or from a tiled MMA).
//!
//! Sources: the tiled copy and tiled MMA of C++ CuTe; results agree leaf for leaf.

mod copy;
mod decay;
mod make_copy;
mod mma;
mod partition;

pub use copy::{CopyAtom, TiledCopy};
pub use make_copy::{
    make_cotiled_copy, make_tiled_copy_a, make_tiled_copy_b, make_tiled_copy_c,
    make_tiled_copy_c_atom, make_tiled_copy_d, make_tiled_copy_s, make_tiled_copy_tv,
};
pub use mma::{MmaAtom, Operand, TiledMma};
pub use partition::{Partition, slice_any};
