//! Which results leave through buffers in shared memory, in pieces: by a tensor map, while the next ones are computed, or by threads that
//! store rows of a piece where they would store parts of many. And what of the same shape can come by a map.
use super::access_width::{SECTOR, bytes_side_by_side, vector_along};
use super::coordinate::Coordinate;
use super::matrix_copies::{load_of_sums, store_of_sums};
use super::raster::of_tile;
use super::smem_tile;
use super::tensor_box::{TensorBox, columns_of_piece};
use super::types::{mma_of, operand_layout, reads_shared_memory, tensor_of, tile_of};
use crate::passes::control_flow::{in_loop, loops_around};
use crate::passes::ir_utils::{constant_of, defining_op, is_inside, next_operation, operand_value};
use cutec_dialects::atoms::{MmaAtom, MmaOp, TmaAtom, Wgmma};
use cutec_dialects::builder::{IrOp, IrValue, OpBuilder, operands_of};
use cutec_dialects::memo::type_value;
use cutec_dialects::ops::{ArithOp, CuteOp, TileOp, cute, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::target::WARPGROUP;
use cutec_dialects::tile::{BY_ELEMENT, TileLayout, TileType};
use cutec_dialects::types::{Vars, tiled_mma};
use cutec_dialects::value::{TiledMmaVal, TupleKind, Val, View};
use cutec_layout::{Int, Layout, Tiler, Tree};
use melior::ir::{ValueLike, operation::OperationLike};
use std::sync::Arc;

/// Bytes of a row that are stored at once: what the widest swizzle spans.
const ROW_BYTES: i64 = 128;

/// A tile that is spread as the sums of a product are, in pieces side by side.
pub(super) struct InPieces {
    /// A buffer for a piece.
    pub buffer: View,
    /// A piece as the threads hold it, and how many there are.
    pub piece: TileType,
    pub pieces: i64,
    /// The axis along which neighbours in memory lie.
    fast: usize,
    /// The product of which a piece would be the sums.
    mma: Arc<TiledMmaVal>,
}

impl InPieces {
    /// Of a tile in memory whose neighbours lie along an axis, where its registers are those of the sums of a product.
    fn of(
        tile: &TileType,
        fast: impl FnOnce([i64; 2]) -> Option<usize>,
        operations: &[IrOp],
    ) -> Option<Self> {
        let &[rows, columns] = &tile.shape[..] else {
            return None;
        };
        let mma = product_of_sums(tile, operations)?;
        let width = ROW_BYTES / tile.elem.bytes();
        // Those beside each other have no piece together.
        let groups = mma.tiled.thr_layout_vmnk().mode(2)?;
        if !groups.size().is(1) {
            return None;
        }
        let (mma, piece) = match part(&mma, tile, width) {
            Some(part) if columns % width == 0 => part,
            _ => (mma, tile.clone()),
        };
        let fast = fast([rows, piece.shape[1]])?;
        Some(InPieces {
            buffer: smem_tile::of_descriptor(&piece, fast)?,
            pieces: columns / piece.shape[1],
            piece,
            fast,
            mma,
        })
    }

    /// Of a store, or a load, whose threads would write or read parts of many sectors at once.
    pub fn of_narrow(access: IrOp, operations: &[IrOp]) -> Option<Self> {
        if tile::Store::of(access).is_some_and(|store| store.atomic().is_some()) {
            return None;
        }
        let tile = tile_of(access, tile::Access::of(access)?.tile).ok()?;
        let at = Coordinate::of(access).ok()?;
        let (axis, vector) = vector_along(access, &tile)?;
        let narrow = bytes_side_by_side(&tile, axis, vector).ok()? < SECTOR;
        let counted = at.values.len() == 2 && !at.is_offset(1);
        let of = InPieces::of(&tile, |_| Some(axis), operations);
        of.filter(|of| narrow && (counted || of.pieces == 1))
    }

    /// Whether its pieces could go through the buffers of another one.
    pub fn has_buffers_of(&self, other: &InPieces) -> bool {
        self.buffer == other.buffer && self.pieces == other.pieces
    }

    /// How threads write a piece to a buffer, where that is not by vectors of neighbours.
    pub fn store_copy(&self) -> Option<Val> {
        store_of_sums(&self.mma, &self.buffer, self.fast)
    }

    /// How they read one.
    pub fn load_copy(&self) -> Option<Val> {
        load_of_sums(&self.mma, &self.buffer, self.fast)
    }

    /// Bytes of a buffer.
    pub fn bytes(&self) -> i64 {
        self.piece.size() * self.piece.elem.bytes()
    }

    /// How so many threads store a piece, or load it, as many neighbours at once as the access of the whole tile can.
    pub fn side_by_side(&self, access: IrOp, threads: i64) -> Option<TileLayout> {
        let (axis, vector) = vector_along(access, &self.piece)?;
        Some(TileLayout::blocked(
            &self.piece.shape,
            axis,
            vector,
            threads,
        ))
    }
}

/// Such a tile whose pieces leave or come by a tensor map. Rows of a result may lie in one piece or columns, as of one that is transposed for
/// its store.
pub(super) struct ByMap<'c> {
    /// The first piece in the tensor.
    pub tensor_box: TensorBox<'c>,
    pub sums: InPieces,
}

impl<'c> ByMap<'c> {
    /// Of a store, where a warpgroup's sums lie in the tile's registers as its product left them and nothing else of the
    /// kernel, of which these are the operations, accesses the tensor, but for what reads the same tile or stores one beside it.
    pub fn of(store: IrOp<'c>, function: IrOp<'c>, operations: &[IrOp<'c>]) -> Option<Self> {
        let of = tile::Store::of(store).filter(|store| store.atomic().is_none())?;
        let tensor = tensor_of(of.view())?;
        for op in operations.iter().filter(|op| **op != store) {
            let Some(view) = accessed(*op) else { continue };
            if tensor_of(view)? == tensor && !is_of_tile(*op, store) && !is_apart(*op, store) {
                return None;
            }
        }
        if stays_in_place(store) {
            return None;
        }
        let by = ByMap::at(store, of.value(), function, operations)?;
        by.tensor_box.store(&by.sums.buffer).ok()?;
        Some(by)
    }

    /// Of what accesses the tile `value` in memory, where its registers are those of the sums of a product.
    pub fn at(
        access: IrOp<'c>,
        value: IrValue<'c>,
        function: IrOp<'c>,
        operations: &[IrOp<'c>],
    ) -> Option<Self> {
        let tile = tile_of(access, value).ok()?;
        let mut found = None;
        let fast = |shape: [i64; 2]| {
            let tensor_box = TensorBox::of(access, function, &shape).ok()?;
            Some(found.insert(tensor_box).fast())
        };
        let sums = InPieces::of(&tile, fast, operations)?;
        Some(ByMap {
            tensor_box: found?,
            sums,
        })
    }

    /// The part of the pieces that each of several warpgroups has the sums of, where it is rows that lie together.
    pub fn rows_of_warpgroup(&self, store: IrOp<'c>, function: IrOp<'c>) -> Option<OwnRows<'c>> {
        let InPieces {
            piece, buffer, mma, ..
        } = &self.sums;
        let groups = mma.tiled.thr_layout_vmnk();
        let warpgroups = groups.mode(1)?.size().as_static()?;
        let &[rows, columns] = &piece.shape[..] else {
            return None;
        };
        let layout = piece.layout.as_ref()?;
        let slowest = layout.thread_modes(&piece.shape).ok()?.pop()?;
        let (axis, step) = slowest.along?;
        let part = rows / warpgroups;
        let apart = axis == 0
            && layout.threads() == warpgroups * WARPGROUP
            && slowest.extent % warpgroups == 0
            && slowest.extent / warpgroups * step == part;
        if warpgroups == 1 || !apart || self.tensor_box.fast() != 1 {
            return None;
        }
        let buffer = smem_tile::part_of(buffer, 0, warpgroups)?;
        let tensor_box = TensorBox::of(store, function, &[part, columns]).ok()?;
        Some(OwnRows {
            atom: Arc::new(tensor_box.store(&buffer).ok()?),
            warpgroups,
            tensor_box,
        })
    }
}

/// Rows of pieces that a warpgroup stores by itself.
pub(super) struct OwnRows<'c> {
    /// How many warpgroups share a piece.
    pub warpgroups: i64,
    /// What one of them stores of a piece.
    pub tensor_box: TensorBox<'c>,
    pub atom: Arc<TmaAtom>,
}

impl<'c> OwnRows<'c> {
    /// The coordinates of what a warpgroup stores of a piece, of so many.
    pub fn coordinates(
        &self,
        ir: &OpBuilder<'c>,
        piece: (i64, i64),
        warpgroup: IrValue<'c>,
    ) -> Result<IrValue<'c>, SemError> {
        let rows = (0, self.warpgroups, warpgroup);
        let parts: Vec<_> = columns_of_piece(ir, piece)
            .into_iter()
            .chain([rows])
            .collect();
        self.tensor_box.coordinates_of_part(ir, &parts, |at| at)
    }
}

/// Of some operations a product of which a tile could be the sums, as they lie in registers.
pub(super) fn product_of_sums(tile: &TileType, operations: &[IrOp]) -> Option<Arc<TiledMmaVal>> {
    operations.iter().find_map(|op| {
        let mma = TileOp::Dot.is(*op).then(|| mma_of(*op).ok()).flatten();
        let mma = mma.filter(|mma| reads_shared_memory(mma))?;
        let layout = operand_layout(&mma, 2, &tile.shape).ok()?;
        let of_tile = tile.layout.as_ref();
        of_tile
            .is_some_and(|of_tile| layout.is_as(of_tile, &tile.shape))
            .then_some(mma)
    })
}

/// So many columns of a tile of sums that warpgroups below each other share, and of which product they would be.
fn part(mma: &TiledMmaVal, tile: &TileType, columns: i64) -> Option<(Arc<TiledMmaVal>, TileType)> {
    let MmaOp::Wgmma(wgmma) = mma.atom.op else {
        return None;
    };
    let groups = mma.tiled.thr_layout_vmnk();
    let rows = groups.mode(1)?.size().as_static()?;
    let n = u32::try_from(columns).ok()?;
    let op = MmaOp::Wgmma(Wgmma { n, ..wgmma });
    // Warpgroups of other slices of k have the same, once these are added up.
    let slices = mma.tiled.atom_layout_mnk().mode(2)?;
    let atoms = Layout::concat([Layout::scalar(rows, 1), Layout::scalar(1, rows), slices]);
    let of_rows = mma.tiled.permutation_mnk()[0].clone();
    let order = Tiler::Tile(vec![of_rows, Tiler::All, Tiler::All]);
    let Ok(Val::TiledMma(part)) = tiled_mma(MmaAtom { op, ..mma.atom }, atoms, order) else {
        return None;
    };
    let shape = [tile.shape[0], columns];
    let layout = operand_layout(&part, 2, &shape).ok()?;
    Some((part, TileType::new(tile.elem, &shape).with_layout(layout)))
}

/// Whether a load reads the tile that a store writes, before it, once a tile of the launch.
pub(super) fn is_of_tile<'c>(load: IrOp<'c>, store: IrOp<'c>) -> bool {
    let (Some(from), Some(to)) = (tile::Load::of(load), tile::Store::of(store)) else {
        return false;
    };
    let shapes = [from.result(), to.value()].map(|tile| TileType::of(tile.r#type()));
    let shape =
        |tile: Option<Result<TileType, _>>| tile.and_then(Result::ok).map(|tile| tile.shape);
    let [one, other] = shapes.map(shape);
    let by_element = |op: IrOp<'c>| op.attribute(BY_ELEMENT).is_ok();
    let is_behind = || std::iter::successors(next_operation(load), |op| next_operation(*op));
    one.is_some()
        && one == other
        && from.view() == to.view()
        && from
            .at()
            .into_iter()
            .map(of_tile)
            .eq(to.at().into_iter().map(of_tile))
        && !by_element(load)
        && !by_element(store)
        && to.atomic().is_none()
        && !in_loop(load)
        && is_behind().any(|op| op == store)
}

/// Whether what a load reads is still there when the result that it is for is stored: nothing writes the tensor but a store of the same tile behind it.
pub(super) fn may_be_read_late<'c>(load: tile::Load<'c>, operations: &[IrOp<'c>]) -> bool {
    let Some(tensor) = tensor_of(load.view()) else {
        return false;
    };
    let writing = operations.iter().filter(|op| accessed(**op).is_some());
    let mut written = writing.filter_map(|op| Some((*op, tile::written_view(*op)?)));
    written.all(|(op, view)| {
        tensor_of(view).is_some_and(|of| of != tensor) || is_of_tile(load.op(), op)
    })
}

/// Whether two stores write tiles of one shape which share no element: along some axis their places differ by a number that is known, or they
/// lie in two slices of a tensor. In a loop one may write in a round what the other writes in another one.
fn is_apart<'c>(one: IrOp<'c>, other: IrOp<'c>) -> bool {
    let stores = [one, other].map(tile::Store::of);
    let [Some(first), Some(second)] = stores else {
        return false;
    };
    let tiles = [first, second].map(|store| tile_of(store.op(), store.value()));
    let places = [one, other].map(Coordinate::of);
    let ([Ok(tile), Ok(second_tile)], [Ok(place), Ok(second_place)]) = (tiles, places) else {
        return false;
    };
    let alike = tile.shape == second_tile.shape
        && [first, second].iter().all(|store| store.atomic().is_none())
        && ![one, other].into_iter().any(in_loop);
    if !alike || first.view() != second.view() {
        return alike && are_two_slices(first.view(), second.view());
    }
    let mut axes = (0..tile.shape.len()).zip(&tile.shape);
    axes.any(|(axis, extent)| {
        let offsets = [&place, &second_place].map(|place| place.is_offset(axis));
        let least = match offsets {
            [false, false] => 1,
            [true, true] => *extent,
            _ => return false,
        };
        let apart = distance(place.values[axis], second_place.values[axis]);
        apart.is_some_and(|apart| apart.abs() >= least)
    })
}

/// Whether a store writes the same tile in every round of a loop around it: bulk stores have no order among each other.
fn stays_in_place<'c>(store: IrOp<'c>) -> bool {
    let place = || operands_of(store).skip(1);
    loops_around(store).any(|of| !place().any(|value| changes_in(value, of)))
}

/// Whether a value follows from what a loop carries.
fn changes_in<'c>(value: IrValue<'c>, of: IrOp<'c>) -> bool {
    is_inside(value, of)
        && defining_op(value).is_none_or(|op| operands_of(op).any(|from| changes_in(from, of)))
}

/// Whether two views are slices of one at places of which one is known to differ.
fn are_two_slices(one: IrValue, other: IrValue) -> bool {
    let taken = [one, other].map(|view| {
        let slice = defining_op(view).filter(|op| CuteOp::Slice.is(*op))?;
        let place = type_value(operand_value(slice, 1)?.r#type(), &mut Vars::default());
        let Ok(Val::Tuple(TupleKind::Coord, place)) = place else {
            return None;
        };
        Some((operand_value(slice, 0)?, place))
    });
    let [Some((first, place)), Some((second, other_place))] = taken else {
        return false;
    };
    let known = |place: &Tree<Option<Int>>| -> Vec<Option<i64>> {
        let leaves = place.leaves().into_iter();
        leaves
            .map(|leaf| leaf.as_ref().and_then(Int::as_static))
            .collect()
    };
    let places = known(&place).into_iter().zip(known(&other_place));
    let mut places = places.filter_map(|(one, other)| one.zip(other));
    first == second && places.any(|(one, other)| one != other)
}

/// How far one number is from another, where that is known.
fn distance(from: IrValue, to: IrValue) -> Option<i64> {
    let [from, to] = [from, to].map(|number| {
        let sum = defining_op(number).filter(|op| ArithOp::Addi.is(*op));
        let terms = sum.and_then(|sum| Some((operand_value(sum, 0)?, operand_value(sum, 1)?)));
        let known = terms.and_then(|(base, added)| Some((Some(base), constant_of(added)?)));
        known.unwrap_or_else(|| match constant_of(number) {
            Some(number) => (None, number),
            None => (Some(number), 0),
        })
    });
    (from.0 == to.0).then(|| to.1 - from.1)
}

/// The view in global memory that an operation accesses.
pub(super) fn accessed(op: IrOp) -> Option<IrValue> {
    let load = tile::Load::of(op).map(tile::Load::view);
    let copy = || tile::CopyAsync::of(op).map(tile::CopyAsync::view);
    let element = || cute::MemrefLoad::of(op).map(|load| load.view());
    let element = || element().filter(|view| tensor_of(*view).is_some());
    load.or_else(copy)
        .or_else(|| tile::written_view(op))
        .or_else(element)
}
