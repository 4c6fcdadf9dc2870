//! Accesses to tensors in global memory that the kernel writes.
//!
//! Arguments of a kernel do not overlap (docs/language.md, "Kernels"), so accesses to different ones never meet. Of one
//! tensor, two accesses are in the order of the program without a barrier where each thread accesses the same
//! elements in both, or where they are of different tiles. Of different tiles of the launch nobody orders them, since those may be
//! computed by different blocks.
use super::Access;
use crate::passes::ir_utils::{constant_of, defining_op};
use crate::passes::tile::coordinate::Coordinate;
use crate::passes::tile::types::tensor_of;
use cutec_dialects::builder::{IrOp, IrValue, operation_key, value_key};
use cutec_dialects::ops::{ArithOp, GpuOp, arith, tile};
use cutec_dialects::tile::{BOUND, TileType};
use melior::ir::{Type, ValueLike, operation::OperationLike};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::{Bound, RangeInclusive};

/// The attribute of a loop over the tiles of a launch that a block has.
pub(in crate::passes::tile) const TILES_OF_LAUNCH: &str = "tile.of_launch";

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

/// An access to a tensor; each has its number in [`Tensors`]. The order keeps those together that [`Tensors::conflicts`]
/// looks at together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TensorAccess {
    /// Tiles of one view and one extent, at coordinates that are the same but for a constant.
    family: usize,
    pub effect: Effect,
    /// Whether a loop has begun another iteration since, which computes another coordinate.
    earlier_iteration: bool,
    /// The constants: of one iteration, tiles of a family at different places have no element in common.
    place: usize,
    number: usize,
}

impl TensorAccess {
    /// The first of all.
    pub const FIRST: TensorAccess = TensorAccess {
        family: 0,
        effect: Effect::Read,
        earlier_iteration: false,
        place: 0,
        number: 0,
    };

    /// From the first to the last of a family, an effect, and an iteration, of one place or of all.
    fn alike(self, earlier_iteration: bool, place: Option<usize>) -> RangeInclusive<Access> {
        let first = TensorAccess {
            earlier_iteration,
            place: place.unwrap_or(0),
            number: 0,
            ..self
        };
        let last = TensorAccess {
            place: place.unwrap_or(usize::MAX),
            number: usize::MAX,
            ..first
        };
        Access::Tensor(first)..=Access::Tensor(last)
    }
}

/// Where an access goes.
struct Target<'c> {
    family: usize,
    place: usize,
    /// The argument of the kernel; unknown where the view is not made of one.
    tensor: Option<IrValue<'c>>,
    /// The tile, where it is one and not an element.
    tile: Option<TileAt<'c>>,
}

/// A tile of a view, and the threads that hold it.
struct TileAt<'c> {
    view: IrValue<'c>,
    at: Vec<Along<'c>>,
    shape: Vec<i64>,
    held: Type<'c>,
    /// Whether one thread alone has each element.
    is_exclusive: bool,
}

/// A coordinate of a tile along an axis.
#[derive(Clone, Copy, PartialEq)]
struct Along<'c> {
    value: IrValue<'c>,
    /// The same as something and a constant added to it.
    base: Option<IrValue<'c>>,
    constant: i64,
    /// Whether it counts elements and not tiles.
    is_offset: bool,
}

/// What tiles have in common whose coordinates differ by constants; of elements, which are no tiles, the tensor.
#[derive(PartialEq, Eq, Hash)]
struct Family {
    view: Option<usize>,
    shape: Vec<i64>,
    bases: Vec<(Option<usize>, bool)>,
}

impl Family {
    fn of(tensor: Option<IrValue>, tile: Option<&TileAt>) -> Family {
        match tile {
            Some(tile) => {
                let bases = tile.at.iter();
                Family {
                    view: Some(value_key(tile.view)),
                    shape: tile.shape.clone(),
                    bases: bases
                        .map(|at| (at.base.map(value_key), at.is_offset))
                        .collect(),
                }
            }
            None => Family {
                view: tensor.map(value_key),
                shape: Vec::new(),
                bases: Vec::new(),
            },
        }
    }
}

/// The accesses of a kernel to tensors that it writes.
#[derive(Default)]
pub(super) struct Tensors<'c> {
    targets: Vec<Target<'c>>,
    numbers: HashMap<usize, usize>,
    families: HashMap<Family, usize>,
    /// The number of the constants in a family.
    places: HashMap<(usize, Vec<i64>), usize>,
    /// Arguments that the kernel writes; `None` where it writes something of which the argument is not known.
    written: Option<HashSet<usize>>,
}

impl<'c> Tensors<'c> {
    /// Of a kernel with these operations.
    pub fn of(operations: &[IrOp<'c>]) -> Self {
        Tensors {
            targets: Vec::new(),
            numbers: HashMap::new(),
            families: HashMap::new(),
            places: HashMap::new(),
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
                let target = self.target(tensor, tile_at(op, view)?);
                self.targets.push(target);
                self.numbers
                    .insert(operation_key(op), self.targets.len() - 1);
                self.targets.len() - 1
            }
        };
        Ok(Some(TensorAccess {
            family: self.targets[number].family,
            effect,
            earlier_iteration: false,
            place: self.targets[number].place,
            number,
        }))
    }

    fn target(&mut self, tensor: Option<IrValue<'c>>, tile: Option<TileAt<'c>>) -> Target<'c> {
        let family = Family::of(tensor, tile.as_ref());
        let next = self.families.len();
        let family = *self.families.entry(family).or_insert(next);
        let counted = tile.iter().flat_map(|tile| &tile.at);
        let counted = counted.filter(|at| !at.is_offset).map(|at| at.constant);
        let next = self.places.len();
        let place = *self
            .places
            .entry((family, counted.collect()))
            .or_insert(next);
        Target {
            family,
            place,
            tensor,
            tile,
        }
    }

    /// Whether an access conflicts with one of those that came before. Only those are looked at that may: of its own
    /// family and iteration, those at the same place.
    pub fn conflicts(&self, now: &TensorAccess, since: &BTreeSet<Access>) -> bool {
        let mut from = Bound::Included(Access::Tensor(TensorAccess::FIRST));
        while let Some(Access::Tensor(found)) = since.range((from, Bound::Unbounded)).next() {
            let place = (found.family == now.family).then_some(now.place);
            let (this, earlier) = (found.alike(false, place), found.alike(true, None));
            from = Bound::Excluded(*earlier.end());
            let may = now.effect.conflicts(found.effect) && self.may_overlap(now, found);
            let conflicts = |before: &Access| match before {
                Access::Tensor(before) => self.conflict(now, before),
                Access::Stage { .. } => false,
            };
            if may && since.range(this).chain(since.range(earlier)).any(conflicts) {
                return true;
            }
        }
        false
    }

    /// Whether different threads may access the same element, and one of them write it.
    fn conflict(&self, now: &TensorAccess, before: &TensorAccess) -> bool {
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
                let mut values = tile.at.iter().map(|at| at.value).chain([tile.view]);
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
    let written = operations.iter().filter_map(|op| tile::written_view(*op));
    let tensors = written.map(|view| Some(value_key(tensor_of(view)?)));
    tensors.collect()
}

/// The tile that a `tile.load` or `tile.store` accesses; `None` for other operations.
fn tile_at<'c>(op: IrOp<'c>, view: IrValue<'c>) -> Result<Option<TileAt<'c>>, String> {
    let Some(access) = tile::Access::of(op) else {
        return Ok(None);
    };
    let Some(tile) = TileType::of(access.tile.r#type()) else {
        return Ok(None);
    };
    let tile = tile?;
    let at = Coordinate::of(op)?;
    let along = |(axis, value): (usize, &IrValue<'c>)| {
        let (base, constant) = base_and_constant(*value);
        Along {
            value: *value,
            base,
            constant,
            is_offset: at.is_offset(axis),
        }
    };
    let at = at.values.iter().enumerate().map(along).collect();
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
        held: access.tile.r#type(),
        is_exclusive,
    }))
}

/// Whether each thread accesses the same elements in both, or none that the other accesses.
///
/// Coordinates that are the same values are those of one tile, or, in different iterations, of two tiles that do not
/// overlap where tiles are counted and the view is the same.
fn held_alike(one: &TileAt, other: &TileAt, different_iterations: bool) -> bool {
    let same = one.view == other.view && one.held == other.held && one.at == other.at;
    let counted = one.at.iter().all(|at| !at.is_offset);
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
        GpuOp::Func.is(around)
    })
}

/// Whether two tiles of an iteration are different ones: of the same extent along an axis, counted in tiles that
/// are a constant number apart.
fn are_apart(one: &TileAt, other: &TileAt) -> bool {
    if one.view != other.view || one.shape.len() != other.shape.len() {
        return false;
    }
    (0..one.shape.len()).any(|axis| {
        let (a, b) = (one.at[axis], other.at[axis]);
        let counted = !a.is_offset && !b.is_offset && one.shape[axis] == other.shape[axis];
        counted && a.base == b.base && a.constant != b.constant
    })
}

/// An integer as something and a constant added to it.
fn base_and_constant(value: IrValue) -> (Option<IrValue>, i64) {
    let (mut at, mut sum) = (value, 0_i64);
    loop {
        if let Some(number) = constant_of(at) {
            return (None, sum.wrapping_add(number));
        }
        let Some(binary) = arith::Binary::defining(at) else {
            return (Some(at), sum);
        };
        let (op, a, b) = (binary.op(), binary.lhs(), binary.rhs());
        (at, sum) = match (ArithOp::of(op), constant_of(a), constant_of(b)) {
            (Some(ArithOp::Addi), _, Some(number)) => (a, sum.wrapping_add(number)),
            (Some(ArithOp::Addi), Some(number), _) => (b, sum.wrapping_add(number)),
            (Some(ArithOp::Subi), _, Some(number)) => (a, sum.wrapping_sub(number)),
            // Two that differ before they are bounded are different tiles, or lie behind the end.
            (Some(ArithOp::Minui), ..) if op.attribute(BOUND).is_ok() => (a, sum),
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
