//! [`SmemError`]: why a tile gets no layout, or not the one that is asked for.

use super::{Chosen, Cost, Tile};
use crate::{AnyLayout, Layout};
use std::fmt;
use thiserror::Error;

/// Why there is no layout.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SmemError {
    /// Extents or elements that no tile has.
    #[error(
        "a tile of {} by {} elements of {} bits; expected extents from 1, at most {} elements, and bits that are a power of two up to 128",
        .0.rows, .0.columns, .0.elem_bits, super::MAX_ELEMENTS
    )]
    Tile(Tile),
    /// An access that is none.
    #[error("{what}: {why}")]
    Access {
        /// The access.
        what: String,
        /// What is wrong.
        why: BadAccess,
    },
    /// No layout is legal for all accesses.
    #[error("no layout of the tile is legal for all accesses; {access}: {fault}")]
    NoLayout {
        /// The access that is illegal on the compact layout, or on the first that is tried.
        access: String,
        /// Why.
        fault: Fault,
    },
    /// The layout that is asked for is illegal or needlessly slow.
    #[error("{0}")]
    Refused(Box<Refused>),
    /// A layout that is none of the tile.
    #[error(
        "{layout} is no layout of the tile; expected static integers from 0 for {} rows and {} columns", .tile.rows, .tile.columns
    )]
    Layout {
        /// The layout.
        layout: String,
        /// The tile.
        tile: Tile,
    },
    /// A layout that sends two elements to one place.
    #[error("{layout} puts the elements {} and {} in one place; expected a place for each", place(*one), place(*other))]
    Overlap {
        /// The layout.
        layout: String,
        /// Row and column of an element.
        one: (i64, i64),
        /// Row and column of the other.
        other: (i64, i64),
    },
}

/// Why an access is none.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BadAccess {
    /// A vector of a width that no instruction has.
    #[error(
        "a vector of {bits} bits; expected a power of two from {} to 128", (*elem_bits).max(8)
    )]
    Vector {
        /// Its bits.
        bits: u32,
        /// Bits of an element.
        elem_bits: u32,
    },
    /// Matrices of an `ldmatrix`.
    #[error("ldmatrix of {matrices} matrices; expected 1, 2 or 4")]
    Matrices {
        /// How many.
        matrices: u32,
    },
    /// Elements that `ldmatrix` does not know.
    #[error(
        "ldmatrix{} of elements of {elem_bits} bits; expected {}",
        if *transpose { ".trans" } else { "" },
        if *transpose { "8 or 16 bits" } else { "8, 16 or 32 bits" }
    )]
    Element {
        /// Bits of an element.
        elem_bits: u32,
        /// Whether it transposes.
        transpose: bool,
    },
    /// Values that are not a whole number of instructions.
    #[error(
        "{values} values a thread; expected threads, and a multiple of the {width} of an instruction"
    )]
    Values {
        /// Elements that an instruction accesses for a thread.
        width: usize,
        /// Values of a thread.
        values: i64,
    },
    /// A layout that is not one from (thread, value).
    #[error("expected a static layout of threads and values of integers, found {layout}")]
    Layout {
        /// The layout.
        layout: String,
    },
    /// An element that the tile does not have.
    #[error("it accesses element {index} of a tile of {size}")]
    Outside {
        /// The element.
        index: i64,
        /// Elements of the tile.
        size: i64,
    },
}

/// What is wrong with an access to a layout.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Fault {
    /// Bytes that one thread accesses do not lie in one piece.
    #[error(
        "expected the {bytes} bytes of a thread in one piece; those from {} on are not, as {} lies elsewhere", place(*first), place(*apart)
    )]
    Apart {
        /// Bytes that a thread accesses.
        bytes: u32,
        /// Row and column of the first element.
        first: (i64, i64),
        /// Row and column of the first that does not follow.
        apart: (i64, i64),
    },
    /// They do, at an address that is no multiple of their number.
    #[error(
        "expected the {bytes} bytes of a thread at a multiple of {bytes}; those from {} on lie at byte {address}", place(*first)
    )]
    Misaligned {
        /// Bytes that a thread accesses.
        bytes: u32,
        /// Row and column of the first element.
        first: (i64, i64),
        /// Its address in the buffer.
        address: i64,
    },
    /// What threads have does not go evenly along the modes of the layout, and cannot be partitioned.
    #[error("expected modes along which the elements of a thread go evenly; those of {0} are none")]
    Uneven(Layout),
    /// Bank conflicts that another layout avoids.
    #[error(
        "{}-way bank conflict: {} wavefronts, {} at best", .0.ways, .0.wavefronts, .0.ideal
    )]
    Conflict(Cost),
}

/// A layout that is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The layout.
    pub layout: AnyLayout,
    /// The access for which it is illegal or slow.
    pub access: String,
    /// What is wrong.
    pub fault: Fault,
    /// A layout that is legal for all accesses and takes fewer wavefronts, if there is one.
    pub alternative: Option<Chosen>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.layout, self.access, self.fault)?;
        match &self.alternative {
            None => Ok(()),
            Some(other) if other.conflict_free() => {
                write!(f, "; {} has no conflicts", other.layout)
            }
            Some(other) => write!(
                f,
                "; {} is legal and takes {} wavefronts for all accesses",
                other.layout,
                other.wavefronts()
            ),
        }
    }
}

fn place((row, column): (i64, i64)) -> String {
    format!("({row},{column})")
}
