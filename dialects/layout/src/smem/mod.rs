//! Layouts of tiles in shared memory: found from all accesses to a buffer, and proved by counting.
//!
//! A [`Tile`] is what a buffer holds, an [`Access`] an instruction, or several, that writes or reads
//! it. [`legalize`] looks for a layout in which every access is legal and none has a bank conflict;
//! [`verify_pinned`] and [`verify`] judge a swizzle or a layout that a program asks for. What they
//! return states the wavefronts of each access, counted by [`crate::banks`] on the addresses.
//!
//! Modules in reading order: `access` (what is accessed), `candidates` (the layouts that are tried),
//! `judge` (legality and wavefronts of one layout), `error`.
//!
//! Invariants: a layout that is returned sends no two elements of the tile to one place, has no
//! negative offsets, and is legal for every access. Offsets count from the buffer, which is to lie
//! at a multiple of [`Chosen::align`] bytes.
//!
//! ```
//! use cutec_layout::smem::{Access, Axis, Kind, Tile, legalize};
//! use cutec_layout::text::parse_layout;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // 128 threads write rows of 64 elements; a warp reads matrices of 16 rows.
//! let tile = Tile { rows: 128, columns: 64, elem_bits: 16, fast: Axis::Columns };
//! let written = Access {
//!     what: "cp.async".to_owned(),
//!     kind: Kind::Vector { bits: 128 },
//!     layout_tv: parse_layout("((8,16),(8,8)):((1024,1),(128,16))")?,
//! };
//! let read = Access {
//!     what: "ldmatrix".to_owned(),
//!     kind: Kind::Ldmatrix { matrices: 4, transpose: false },
//!     layout_tv: parse_layout("((16,2),(8,8,4)):((1,1024),(128,16,2048))")?,
//! };
//! let chosen = legalize(tile, &[written, read])?;
//! assert_eq!(
//!     chosen.to_string(),
//!     "S<3,3,3> o 0 o (128,64):(64,1)
//! cp.async: 128 wavefronts, 128 at best
//! ldmatrix: 128 wavefronts, 128 at best"
//! );
//! # Ok(())
//! # }
//! ```

mod access;
mod candidates;
mod error;
mod judge;
#[cfg(test)]
mod tests;

pub use access::{Access, Kind};
pub use error::{BadAccess, Fault, Refused, SmemError};

use crate::banks::Phase;
use crate::{AnyLayout, ComposedLayout, Int, Layout, LayoutError, Outer, Swizzle};
use access::{Plan, enumerate};
use candidates::Base;
use std::cell::OnceCell;
use std::fmt;

/// Elements of the largest tile.
const MAX_ELEMENTS: i64 = 1 << 18;
/// Bits of one row of all banks.
const BANK_ROW_BITS: i64 = 8 * crate::banks::BANKS * crate::banks::BANK_BYTES;

/// An axis of a tile.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Axis {
    /// The first: elements of a column are neighbours.
    Rows,
    /// The second: elements of a row are neighbours.
    Columns,
}

/// What a buffer holds at a time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tile {
    /// Extent of the first axis.
    pub rows: i64,
    /// Extent of the second axis.
    pub columns: i64,
    /// Bits of an element, a power of two up to 128.
    pub elem_bits: u32,
    /// Along which axis elements are to be neighbours.
    pub fast: Axis,
}

/// What one access costs on a layout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cost {
    /// The access.
    pub what: String,
    /// Wavefronts of all its instructions.
    pub wavefronts: usize,
    /// The fewest that as many words could take.
    pub ideal: usize,
    /// Wavefronts of the worst phase: 1 is no conflict.
    pub ways: usize,
}

/// A layout that is legal for all accesses, and what they cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chosen {
    /// From (row, column) to the offset in elements.
    pub layout: AnyLayout,
    /// Elements that the buffer takes, padding included.
    pub elements: i64,
    /// Bytes of which the address of the buffer is a multiple.
    pub align: u32,
    /// The accesses in the order in which they were given.
    pub costs: Vec<Cost>,
}

impl Chosen {
    /// Whether no access has a bank conflict.
    pub fn conflict_free(&self) -> bool {
        self.costs.iter().all(|cost| cost.ways <= 1)
    }

    /// Wavefronts of all accesses.
    pub fn wavefronts(&self) -> usize {
        self.costs.iter().map(|cost| cost.wavefronts).sum()
    }

    /// Elements from one stage of a buffer to the next, such that each lies as the first: a multiple
    /// of the period of the swizzle, of the alignment and of a row of all banks.
    pub fn stage(&self, elem_bits: u32) -> i64 {
        let row = (BANK_ROW_BITS / i64::from(elem_bits.clamp(1, 128))).max(1);
        let period = self.layout.swizzle().map_or(1, Swizzle::period).max(row);
        (self.elements.saturating_add(period - 1) / period).saturating_mul(period)
    }

    /// The layout of a buffer of (rows, columns, stages).
    ///
    /// # Errors
    /// If it is a layout behind another, or does not fit 64 bits.
    pub fn staged(&self, stages: i64, elem_bits: u32) -> Result<AnyLayout, LayoutError> {
        if let AnyLayout::Composed(ComposedLayout {
            outer: Outer::Layout(_),
            ..
        }) = self.layout
        {
            return Err(LayoutError::Unsupported {
                op: "stages",
                expected: "a layout that is plain or swizzled",
                found: self.layout.to_string(),
            });
        }
        let stage = Layout::scalar(stages, self.stage(elem_bits));
        self.layout.map_inner(|inner| {
            let modes = inner.modes().chain([stage]);
            Layout::concat(modes).check("stages")
        })
    }
}

/// The layout, then a line for each access.
impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.layout)?;
        for cost in &self.costs {
            let Cost {
                what,
                wavefronts,
                ideal,
                ..
            } = cost;
            write!(f, "\n{what}: {wavefronts} wavefronts, {ideal} at best")?;
        }
        Ok(())
    }
}

/// A layout that is legal, or the access for which it is not.
type Judged = Result<Chosen, (String, Fault)>;

/// A layout that is legal for all accesses: the first without bank conflicts, else the one with the
/// fewest wavefronts. In this order: compact; swizzled, in pieces of 128, 64 and 32 bytes, rows that
/// are read together moved beside each other where the swizzle needs it; padded; the same with the
/// other axis fast. Where no access is an `ldmatrix`, padded comes before swizzled: its places are at fixed
/// distances, and cost no arithmetic.
///
/// # Errors
/// If the tile or an access is none, or no layout that is tried is legal for all accesses.
pub fn legalize(tile: Tile, accesses: &[Access]) -> Result<Chosen, SmemError> {
    let plans = plans(tile, accesses)?;
    let bases = candidates::bases(tile, &plans);
    search(tile, &bases, &plans)?.map_err(|(access, fault)| SmemError::NoLayout { access, fault })
}

/// The best layout behind `swizzle`, in the widest pieces up to 128 bytes that divide the fast axis.
///
/// # Errors
/// Those of [`legalize`], and [`SmemError::Refused`] if an access is illegal, or has a conflict and
/// [`legalize`] finds a layout of fewer wavefronts.
pub fn verify_pinned(
    tile: Tile,
    swizzle: Swizzle,
    accesses: &[Access],
) -> Result<Chosen, SmemError> {
    let plans = plans(tile, accesses)?;
    let bases = candidates::pinned(tile, swizzle, &plans);
    let found = search(tile, &bases, &plans)?;
    let layout = match &found {
        Ok(chosen) => chosen.layout.clone(),
        Err(_) => bases
            .first()
            .map_or(Layout::unit().into(), |base| layout_of(base, swizzle)),
    };
    accept(tile, layout, found, accesses)
}

/// Judges a layout of (rows, columns).
///
/// # Errors
/// Those of [`verify_pinned`], and if the layout is not one of the elements of the tile, each at a
/// place of its own.
pub fn verify(tile: Tile, layout: &AnyLayout, accesses: &[Access]) -> Result<Chosen, SmemError> {
    let plans = plans(tile, accesses)?;
    let offsets = judge::own_places(tile, layout)?;
    let found = match judge::first_fault(tile, &plans, &offsets) {
        Some((plan, fault)) => Err((plans[plan].what.clone(), fault)),
        None => Ok(chosen(tile, layout.clone(), &offsets, &plans)),
    };
    accept(tile, layout.clone(), found, accesses)
}

/// Accepts what has no conflict, or none that could be avoided.
fn accept(
    tile: Tile,
    layout: AnyLayout,
    found: Judged,
    accesses: &[Access],
) -> Result<Chosen, SmemError> {
    let found = match found {
        Ok(chosen) if chosen.conflict_free() => return Ok(chosen),
        found => found,
    };
    let alternative = legalize(tile, accesses).ok();
    let (access, fault) = match found {
        Err(illegal) => illegal,
        Ok(chosen) => {
            let fewer = |other: &Chosen| other.wavefronts() < chosen.wavefronts();
            let worst = chosen.costs.iter().max_by_key(|cost| cost.ways);
            match worst {
                Some(cost) if alternative.as_ref().is_some_and(fewer) => {
                    (cost.what.clone(), Fault::Conflict(cost.clone()))
                }
                _ => return Ok(chosen),
            }
        }
    };
    Err(SmemError::Refused(Box::new(Refused {
        layout,
        access,
        fault,
        alternative,
    })))
}

/// The accesses, checked.
fn plans(tile: Tile, accesses: &[Access]) -> Result<Vec<Plan>, SmemError> {
    let Tile {
        rows,
        columns,
        elem_bits,
        ..
    } = tile;
    let elements = rows.saturating_mul(columns);
    if rows < 1
        || columns < 1
        || elements > MAX_ELEMENTS
        || !elem_bits.is_power_of_two()
        || elem_bits > 128
    {
        return Err(SmemError::Tile(tile));
    }
    let plan = |access: &Access| {
        Plan::new(tile, access).map_err(|why| SmemError::Access {
            what: access.what.clone(),
            why,
        })
    };
    accesses.iter().map(plan).collect()
}

/// The best layout of `bases`, or what the first of them lacks.
fn search(tile: Tile, bases: &[Base], plans: &[Plan]) -> Result<Judged, SmemError> {
    let mut best: Option<(usize, &Base, Swizzle)> = None;
    let mut first_fault = None;
    let mut scratch = judge::Scratch::default();
    let widest = plans.iter().map(|plan| plan.width).max().unwrap_or(1);
    let kept = widest.next_power_of_two().trailing_zeros();
    'bases: for base in bases {
        if let Some(plan) = plans.iter().find(|plan| !plan.goes_along(&base.inner)) {
            let fault = Fault::Uneven(base.inner.clone());
            first_fault.get_or_insert_with(|| (plan.what.clone(), fault));
            continue;
        }
        let plain = enumerate(&base.inner, MAX_ELEMENTS).ok_or(SmemError::Tile(tile))?;
        let behind_none = OnceCell::new();
        let mut offsets = plain.clone();
        for swizzle in &base.swizzles {
            for (to, from) in offsets.iter_mut().zip(&plain) {
                *to = swizzle.apply(*from);
            }
            // A swizzle that keeps the widest piece together changes nothing of what is legal.
            let fault = match swizzle.base() >= kept {
                true => behind_none
                    .get_or_init(|| judge::first_fault(tile, plans, &plain))
                    .clone(),
                false => judge::first_fault(tile, plans, &offsets),
            };
            if let Some((plan, fault)) = fault {
                first_fault.get_or_insert_with(|| (plans[plan].what.clone(), fault));
                continue;
            }
            let limit = best.map(|(total, ..)| total);
            let judged = judge::judge(tile, plans, &offsets, limit, &mut scratch);
            if let Some((wavefronts, free)) = judged {
                best = Some((wavefronts, base, *swizzle));
                if free {
                    break 'bases;
                }
            }
        }
    }
    match (best, first_fault) {
        (Some((_, base, swizzle)), _) => {
            let plain = enumerate(&base.inner, MAX_ELEMENTS).ok_or(SmemError::Tile(tile))?;
            let offsets: Vec<i64> = plain.iter().map(|at| swizzle.apply(*at)).collect();
            Ok(Ok(chosen(tile, layout_of(base, swizzle), &offsets, plans)))
        }
        (None, Some(fault)) => Ok(Err(fault)),
        (None, None) => Err(SmemError::Tile(tile)),
    }
}

fn layout_of(base: &Base, swizzle: Swizzle) -> AnyLayout {
    match swizzle.is_identity() {
        true => base.inner.clone().into(),
        false => ComposedLayout::swizzled(swizzle, Int::ZERO, base.inner.clone()).into(),
    }
}

/// What the accesses cost on a layout that is legal, counted by [`crate::banks`].
fn chosen(tile: Tile, layout: AnyLayout, offsets: &[i64], plans: &[Plan]) -> Chosen {
    let cost = |plan: &Plan| {
        let access = plan.on(offsets, tile.elem_bits);
        let phases = access.phases();
        let phases = || phases.iter().map(|(_, phase)| phase);
        Cost {
            what: plan.what.clone(),
            wavefronts: phases().map(Phase::wavefronts).sum(),
            ideal: phases().map(Phase::ideal).sum(),
            ways: phases().map(Phase::wavefronts).max().unwrap_or(0),
        }
    };
    let widest = plans.iter().map(|plan| plan.bytes).max();
    Chosen {
        layout,
        elements: offsets.iter().max().map_or(0, |last| last + 1),
        align: widest.unwrap_or(1).max(tile.elem_bits.div_ceil(8)),
        costs: plans.iter().map(cost).collect(),
    }
}
