//! What every operation of the `cute` dialect computes.
//!
//! [`evaluate`] maps operand values to the result value. On values made from
//! types it infers the result type; on values whose variables are SSA values it
//! is the lowering of every operation without effects. [`check`] verifies the
//! operations with effects. Reading order: `algebra`, `view`, `partition`,
//! `vectors`, `effects`, `atomic`, `mbarrier`, `cluster`, `tma`.
mod algebra;
mod atomic;
mod bulk;
mod cluster;
mod effects;
mod mbarrier;
mod partition;
mod rules;
mod tma;
mod tma_desc;
mod tuples;
mod vectors;
mod view;

pub use atomic::AtomicKind;
pub use bulk::{BulkDirection, BulkPlan, bulk_plan, bulk_prefetch_plan};
pub use cluster::reduction;
pub use effects::{
    CopyPlan, CopySide, GemmPlan, Predicate, check, copy_plan, gemm_metadata, gemm_plan,
};
pub use mbarrier::mbarrier_feature;
pub use rules::check_operands;
pub use tma::{TmaPlan, TmaPrefetchPlan, TmaStep, tma_boxes_of, tma_plan, tma_prefetch_plan};
pub use tma_desc::{TmaDescUpdate, tma_desc_place, tma_desc_update};
pub use tuples::{compare, leaves_of};
pub use vectors::{are_neighbours, contiguous_width, offsets_of};
pub use view::{element_offset, is_projection, recastable};

use crate::elem::Elem;
use crate::hints::Hints;
use crate::ops::CuteOp;
use crate::types::TypeError;
use crate::value::{Val, without_underscore};
use cutec_layout::tv::Operand;
use cutec_layout::{Coord, Int, IntTuple, LayoutError, Tiler};
use thiserror::Error;

/// Attributes of an operation: what its meaning depends on, and what one is built with.
#[derive(Clone, Debug, Default)]
pub struct Attrs {
    /// `mode`: a path of mode indices; also the modes of `select` and the range of `group_modes`. Empty where the
    /// operation has none.
    pub mode: Vec<i64>,
    /// `proj`: which modes of a tile and a coordinate `local_tile` takes.
    pub proj: Option<Coord>,
    /// `operand`: `A`, `B` or `C` of a tiled MMA.
    pub operand: Option<Operand>,
    /// `kind`: what an atomic operation does.
    pub kind: Option<AtomicKind>,
    /// `hints`: what accesses to global memory ask of the caches.
    pub hints: Hints,
    /// `fill`: the type of the number that a copy writes to registers where its predicate is false, in place of zeros.
    pub fill: Option<String>,
    /// The declared result, for constructors whose static part stands in the type.
    pub result: Option<Val>,
}

impl Attrs {
    /// Of an operation that takes a path of modes, or a list of them.
    pub fn mode(mode: impl Into<Vec<i64>>) -> Self {
        Attrs {
            mode: mode.into(),
            ..Attrs::default()
        }
    }

    /// Of an operation on an operand of a tiled MMA.
    pub fn operand(operand: Operand) -> Self {
        Attrs {
            operand: Some(operand),
            ..Attrs::default()
        }
    }

    /// Of an operation that declares its result.
    pub fn result(result: Val) -> Self {
        Attrs {
            result: Some(result),
            ..Attrs::default()
        }
    }
}

/// An operation that makes no sense, and why.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)]
pub enum SemError {
    #[error("expects {expected}, but got {found}")]
    Operand { expected: String, found: String },
    #[error("expects {expected} operands, but got {found}")]
    Count { expected: String, found: usize },
    #[error("result is {expected}, but the operation declares {found}")]
    Result { expected: String, found: String },
    #[error("unknown operation {name}")]
    Unknown { name: String },
    #[error("{atom} cannot read {operand} by a descriptor: {why}")]
    Descriptor {
        atom: String,
        operand: &'static str,
        bits: i64,
        why: String,
    },
    #[error("no atomic {} of {}{}", .kind.function(), .elem.language_name(), AtomicKind::others_of(*.elem))]
    NoAtomic { kind: AtomicKind, elem: Elem },
    #[error("the result does not fit 64 bits")]
    Overflow,
    #[error("{0}")]
    Illegal(String),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Type(#[from] TypeError),
}

/// The result of an operation without effects.
///
/// # Errors
/// What is wrong with the operands, or that a number of the result does not fit 64 bits.
pub fn evaluate(op: CuteOp, operands: &[Val], attrs: &Attrs) -> Result<Val, SemError> {
    let result = meaning(op, operands, attrs)?;
    match fits(&result) {
        true => Ok(result),
        false => Err(SemError::Overflow),
    }
}

/// Whether a type can spell every number of a value; the algebra saturates what is too large.
fn fits(val: &Val) -> bool {
    match val {
        Val::Scalar(int) => int.fits(),
        Val::Tuple(_, tuple) => tuple.leaves().into_iter().flatten().all(Int::fits),
        Val::Layout(layout) => layout.fits(),
        Val::Tile(tiler) => tiler.fits(),
        Val::View(view) => view.layout.fits(),
        Val::CoordTensor(tensor) => tensor.base.fits() && tensor.layout.fits(),
        _ => true,
    }
}

fn meaning(op: CuteOp, operands: &[Val], attrs: &Attrs) -> Result<Val, SemError> {
    if let Some(result) = tuples::evaluate(op, operands, attrs) {
        return result;
    }
    if let Some(result) = algebra::evaluate(op, operands, attrs) {
        return result;
    }
    if let Some(result) = view::evaluate(op, operands, attrs) {
        return result;
    }
    if let Some(result) = partition::evaluate(op, operands, attrs) {
        return result;
    }
    effects::evaluate(op, operands, attrs)
}

/// The results of an operation without effects, for those that may have several.
pub fn evaluate_all(op: CuteOp, operands: &[Val], attrs: &Attrs) -> Result<Vec<Val>, SemError> {
    match tuples::evaluate_many(op, operands, attrs) {
        Some(results) => results,
        None => evaluate(op, operands, attrs).map(|result| vec![result]),
    }
}

fn operand_error<T>(expected: impl Into<String>, found: &Val) -> Result<T, SemError> {
    Err(SemError::Operand {
        expected: expected.into(),
        found: found.describe(),
    })
}

fn count_error<T>(expected: impl Into<String>, found: usize) -> Result<T, SemError> {
    Err(SemError::Count {
        expected: expected.into(),
        found,
    })
}

/// Integers of a tuple operand; a scalar is a leaf.
fn integers(val: &Val) -> Result<IntTuple, SemError> {
    match val {
        Val::Scalar(int) => Ok(IntTuple::Leaf(int.clone())),
        Val::Tuple(_, tuple) => match without_underscore(tuple) {
            Some(tuple) => Ok(tuple),
            None => operand_error("integers without `_`", val),
        },
        _ => operand_error("an integer or a tuple of integers", val),
    }
}

fn coordinate(val: &Val) -> Result<Coord, SemError> {
    match val {
        Val::Scalar(int) => Ok(Coord::Leaf(Some(int.clone()))),
        Val::Tuple(_, tuple) => Ok(tuple.clone()),
        _ => operand_error("a coordinate", val),
    }
}

fn tiler(val: &Val) -> Result<Tiler, SemError> {
    match val {
        Val::Tile(tiler) => Ok(tiler.clone()),
        Val::Layout(layout) => match layout.as_plain() {
            Some(layout) => Ok(Tiler::Layout(layout.clone())),
            None => operand_error("a tiler (tile, layout or shape)", val),
        },
        Val::Tuple(..) | Val::Scalar(_) => Ok(Tiler::from_shape(&integers(val)?)),
        _ => operand_error("a tiler (tile, layout or shape)", val),
    }
}
