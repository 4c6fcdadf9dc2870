//! Accesses to tensors in global memory that the kernel writes.
//!
//! Arguments of a kernel do not overlap (docs/language.md, "Kernels"), so accesses to different ones never meet. Of one
//! tensor, two accesses are in the order of the program without a barrier where each thread accesses the same
//! elements in both, or where they are of different tiles.
use crate::passes::ir_utils::{defining_op, name_of, operand_value};
use crate::passes::tile::bound_coordinates::BOUND;
use crate::passes::tile::coordinate::Coordinate;
use crate::passes::tile::types::tensor_of;
use cutec_dialects::builder::{IrOp, IrValue, integer_value, operation_key, result_of, value_key};
use cutec_dialects::tile::{TileOp, TileType};
use melior::ir::{Type, ValueLike, operation::OperationLike};
use std::collections::{HashMap, HashSet};

/// What an access does to memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effect {
    Read,
    Write,
    /// An update that no other access of its kind can disturb.
    Atomic,
}

impl Effect {
    /// Whether the order of two decides what is read or left.
    pub fn conflicts(self, other: Effect) -> bool {
        match (self, other) {
            (Effect::Read, Effect::Read) | (Effect::Atomic, Effect::Atomic) => false,
            (Effect::Read | Effect::Write | Effect::Atomic, _) => true,
        }
    }
}

impl Effect {
    /// Whether of threads that hold the same element one alone accesses it.
    fn is_by_one(self) -> bool {
        match self {
            Effect::Read => false,
            Effect::Write | Effect::Atomic => true,
        }
    }
}

/// An access to a tensor; each has its number in [`Tensors`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TensorAccess {
    number: usize,
    pub effect: Effect,
    /// Whether a loop has begun another iteration since, which computes another coordinate.
    earlier_iteration: bool,
}

/// Where an access goes.
struct Target<'c> {
    /// The argument of the kernel; unknown where the view is not made of one.
    tensor: Option<IrValue<'c>>,
    /// The tile, where it is one and not an element.
    tile: Option<TileAt<'c>>,
}

/// A tile of a view, and the threads that hold it.
struct TileAt<'c> {
    view: IrValue<'c>,
    at: Vec<(IrValue<'c>, bool)>,
    shape: Vec<i64>,
    held: Type<'c>,
    /// Whether one thread alone has each element.
    is_exclusive: bool,
}

/// The accesses of a kernel to tensors that it writes.
#[derive(Default)]
pub(super) struct Tensors<'c> {
    targets: Vec<Target<'c>>,
    numbers: HashMap<usize, usize>,
    /// Arguments that the kernel writes; `None` where it writes something of which the argument is not known.
    written: Option<HashSet<usize>>,
}

impl<'c> Tensors<'c> {
    /// Of a kernel with these operations.
    pub fn of(operations: &[IrOp<'c>]) -> Self {
        Tensors {
            targets: Vec::new(),
            numbers: HashMap::new(),
            written: written_tensors(operations),
        }
    }

    /// What an access of an operation to a view is; `None` where nothing writes the tensor.
    pub fn access(
        &mut self,
        op: IrOp<'c>,
        view: IrValue<'c>,
        effect: Effect,
    ) -> Result<Option<TensorAccess>, String> {
        let tensor = tensor_of(view);
        let written = match (&self.written, tensor) {
            (Some(written), Some(tensor)) => written.contains(&value_key(tensor)),
            (Some(written), None) => !written.is_empty(),
            (None, _) => true,
        };
        if !written {
            return Ok(None);
        }
        let number = match self.numbers.get(&operation_key(op)) {
            Some(number) => *number,
            None => {
                let tile = tile_at(op, view)?;
                self.targets.push(Target { tensor, tile });
                self.numbers
                    .insert(operation_key(op), self.targets.len() - 1);
                self.targets.len() - 1
            }
        };
        Ok(Some(TensorAccess {
            number,
            effect,
            earlier_iteration: false,
        }))
    }

    /// Whether different threads may access the same element, and one of them write it.
    pub fn conflict(&self, now: &TensorAccess, before: &TensorAccess) -> bool {
        let (one, other) = (&self.targets[now.number], &self.targets[before.number]);
        if !now.effect.conflicts(before.effect) {
            return false;
        }
        if let (Some(one), Some(other)) = (one.tensor, other.tensor)
            && one != other
        {
            return false;
        }
        match (&one.tile, &other.tile) {
            (Some(one), Some(other)) => {
                // Of threads that hold the same, one writes it.
                let exclusive =
                    one.is_exclusive || now.effect.is_by_one() && before.effect.is_by_one();
                !(exclusive && held_alike(one, other, before.earlier_iteration)
                    || !before.earlier_iteration && are_apart(one, other))
            }
            _ => true,
        }
    }

    /// Whether two accesses may be of the same element, by whichever threads.
    pub fn may_overlap(&self, now: &TensorAccess, before: &TensorAccess) -> bool {
        let (one, other) = (&self.targets[now.number], &self.targets[before.number]);
        match (one.tensor, other.tensor) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        }
    }

    /// The access seen from the next iteration of a loop.
    pub fn next_iteration(&self, access: &TensorAccess, of: IrOp<'c>) -> TensorAccess {
        let changes = match &self.targets[access.number].tile {
            Some(tile) => {
                let mut values = tile.at.iter().map(|(value, _)| *value).chain([tile.view]);
                values.any(|value| is_defined_in(value, of))
            }
            None => false,
        };
        TensorAccess {
            earlier_iteration: access.earlier_iteration || changes,
            ..*access
        }
    }
}

/// The arguments that operations write; `None` where the argument of one is not known.
pub(in crate::passes::tile) fn written_tensors(operations: &[IrOp]) -> Option<HashSet<usize>> {
    let stores = operations
        .iter()
        .filter(|op| TileOp::of(**op) == Some(TileOp::Store));
    let tensors = stores.map(|op| Some(value_key(tensor_of(operand_value(*op, 1)?)?)));
    tensors.collect()
}

/// The tile that a `tile.load` or `tile.store` accesses; `None` for other operations.
fn tile_at<'c>(op: IrOp<'c>, view: IrValue<'c>) -> Result<Option<TileAt<'c>>, String> {
    let held = match TileOp::of(op) {
        Some(TileOp::Load) => result_of(op, 0),
        Some(TileOp::Store) => match operand_value(op, 0) {
            Some(stored) => stored,
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    let Some(tile) = TileType::of(held.r#type()) else {
        return Ok(None);
    };
    let tile = tile?;
    let at = Coordinate::of(op)?;
    let offsets = (0..at.values.len()).map(|axis| at.is_offset(axis));
    let at = at.values.iter().copied().zip(offsets).collect();
    let is_exclusive = match &tile.layout {
        Some(layout) => {
            let modes = layout.thread_modes(&tile.shape)?;
            modes.iter().all(|mode| mode.along.is_some())
        }
        None => false,
    };
    Ok(Some(TileAt {
        view,
        at,
        shape: tile.shape,
        held: held.r#type(),
        is_exclusive,
    }))
}

/// Whether each thread accesses the same elements in both, or none that the other accesses.
///
/// Coordinates that are the same values are those of one tile, or, in different iterations, of two tiles that do not
/// overlap where tiles are counted and the view is the same.
fn held_alike(one: &TileAt, other: &TileAt, different_iterations: bool) -> bool {
    let same = one.view == other.view && one.held == other.held && one.at == other.at;
    let counted = one.at.iter().all(|(_, is_offset)| !is_offset);
    same && (!different_iterations || counted && is_fixed(one.view))
}

/// Whether a view is made outside of all loops.
fn is_fixed(view: IrValue) -> bool {
    defining_op(view).is_none_or(|op| {
        // SAFETY: the operation is alive, and one below a function has a parent.
        let around: IrOp = unsafe {
            melior::ir::OperationRef::from_raw(mlir_sys::mlirOperationGetParentOperation(
                op.to_raw(),
            ))
        };
        name_of(around) == "gpu.func"
    })
}

/// Whether two tiles of an iteration are different ones: of the same extent along an axis, counted in tiles that
/// are a constant number apart.
fn are_apart(one: &TileAt, other: &TileAt) -> bool {
    if one.view != other.view || one.shape.len() != other.shape.len() {
        return false;
    }
    (0..one.shape.len()).any(|axis| {
        let ((a, by_element), (b, other_by_element)) = (one.at[axis], other.at[axis]);
        if by_element || other_by_element || one.shape[axis] != other.shape[axis] {
            return false;
        }
        let (a, b) = (base_and_constant(a), base_and_constant(b));
        a.0 == b.0 && a.1 != b.1
    })
}

/// An integer as something and a constant added to it.
fn base_and_constant(value: IrValue) -> (Option<IrValue>, i64) {
    let constant = |value: IrValue| integer_value(defining_op(value)?.attribute("value").ok()?);
    let (mut at, mut sum) = (value, 0_i64);
    loop {
        if let Some(number) = constant(at) {
            return (None, sum.wrapping_add(number));
        }
        let Some(op) = defining_op(at) else {
            return (Some(at), sum);
        };
        let (a, b) = (operand_value(op, 0), operand_value(op, 1));
        let (Some(a), Some(b)) = (a, b) else {
            return (Some(at), sum);
        };
        (at, sum) = match (name_of(op).as_str(), constant(a), constant(b)) {
            ("arith.addi", _, Some(number)) => (a, sum.wrapping_add(number)),
            ("arith.addi", Some(number), _) => (b, sum.wrapping_add(number)),
            ("arith.subi", _, Some(number)) => (a, sum.wrapping_sub(number)),
            // Two that differ before they are bounded are different tiles, or lie behind the end.
            ("arith.minui", ..) if op.attribute(BOUND).is_ok() => (a, sum),
            _ => return (Some(at), sum),
        };
    }
}

/// Whether a value is computed inside of an operation, or an argument of one of its regions.
fn is_defined_in<'c>(value: IrValue<'c>, of: IrOp<'c>) -> bool {
    // SAFETY: the value is alive, and so are the operations around it.
    unsafe {
        let mut block = match defining_op(value) {
            Some(op) => mlir_sys::mlirOperationGetBlock(op.to_raw()),
            None => mlir_sys::mlirBlockArgumentGetOwner(value.to_raw()),
        };
        while !block.ptr.is_null() {
            let around = mlir_sys::mlirBlockGetParentOperation(block);
            if around.ptr.is_null() {
                return false;
            }
            if mlir_sys::mlirOperationEqual(around, of.to_raw()) {
                return true;
            }
            block = mlir_sys::mlirOperationGetBlock(around);
        }
        false
    }
}
