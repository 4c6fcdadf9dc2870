//! A factor that warpgroups multiply from registers, computed of tiles that tensor maps bring: dequantized weights, an operand with a
//! function on its way.
//!
//! What is loaded for it goes to shared memory as it lies in the tensor, beside the other factor of its product. A thread reads of
//! it what becomes its own registers, so the factor is spread as the instruction takes it from the load on.
use super::gathers::GATHERED;
use super::partition::is_for_descriptors;
use super::smem_tile;
use super::tensor_box::TensorBox;
use super::types::{mma_of, reads_shared_memory, tile_of, vector_access};
use super::warpgroup_products::{box_of, is_as_pinned, zeros_outside};
use crate::passes::control_flow::{in_loop, loops_around};
use crate::passes::ir_utils::{defining_op, is_inside, same_block, users};
use cutec_dialects::atoms::{Issuer, Place, Wgmma};
use cutec_dialects::builder::{IrOp, IrValue, operands_of, operation_key, result_of};
use cutec_dialects::elem::Space;
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::target::WIDEST_ACCESS;
use cutec_dialects::tile::TileType;
use cutec_dialects::value::View;
use cutec_layout::smem::{Axis, Tile, verify};
use cutec_layout::tv::Operand;
use cutec_layout::{AnyLayout, Layout};
use melior::ir::operation::OperationLike;
use std::collections::HashSet;

/// The most bits of an element that goes to shared memory as it is computed.
const MOST_BITS: i64 = 16;

/// Bytes of which a stage that a tensor map fills is a multiple.
const STAGE: i64 = 128;

/// Whether the first factor of a product is computed of what tensor maps bring, for registers.
pub(super) fn is_computed_of_boxes<'c>(dot: IrOp<'c>, function: IrOp<'c>) -> bool {
    !boxes_of(dot, function).is_empty()
}

/// The loads of which the first factor of a product is computed and that tensor maps can bring; none where one of those of its size
/// has to come in another way.
pub(super) fn boxes_of<'c>(dot: IrOp<'c>, function: IrOp<'c>) -> Vec<IrOp<'c>> {
    let registers = mma_of(dot).is_ok_and(|mma| {
        let place = mma.atom.operand(Operand::A).place;
        mma.atom.issuer() == Issuer::Warpgroup
            && reads_shared_memory(&mma)
            && place == Place::Registers
    });
    let factor = tile::Dot::of(dot).map(tile::Dot::a);
    match factor.filter(|_| registers) {
        Some(factor) => computed_of(factor, dot, function).unwrap_or_default(),
        None => Vec::new(),
    }
}

/// See [`boxes_of`]; `None` where there is none.
fn computed_of<'c>(
    factor: IrValue<'c>,
    dot: IrOp<'c>,
    function: IrOp<'c>,
) -> Option<Vec<IrOp<'c>>> {
    let origins = Origins::of(factor, dot, |kind, _| passes_on(kind))?;
    let by_map = |load: &IrOp<'c>| {
        let tile = tile_of(*load, result_of(*load, 0)).ok();
        let zeros = zeros_outside(*load).is_ok();
        origins.is_alone(*load)
            && zeros
            && tile.is_some_and(|tile| boxed(*load, &tile, function).is_ok())
    };
    let loads = origins.loads.iter().map(|origin| origin.load);
    if !loads.clone().all(|load| by_map(&load)) {
        return None;
    }
    let repeated = origins.repeated.iter().copied().filter(by_map);
    Some(loads.chain(repeated).collect())
}

/// A load of a tile of a factor's size.
pub(super) struct Origin<'c> {
    pub load: IrOp<'c>,
    /// Whether the factor is computed of the transpose.
    pub turned: bool,
}

/// What a factor is computed of in a round of the loop around its product.
pub(super) struct Origins<'c> {
    dot: IrOp<'c>,
    /// Loads of tiles of its size, one at least.
    pub loads: Vec<Origin<'c>>,
    /// Loads of what is repeated along an axis.
    pub repeated: Vec<IrOp<'c>>,
    /// All operations on the way, and the product.
    seen: HashSet<usize>,
}

impl<'c> Origins<'c> {
    /// Of a factor that is not loaded as it is. `passes` says which operations may lie on the way, of a tile that is repeated behind them or not;
    /// `None` where there is another one.
    pub fn of(
        factor: IrValue<'c>,
        dot: IrOp<'c>,
        passes: impl Fn(TileOp, bool) -> bool,
    ) -> Option<Self> {
        let round = loops_around(dot).next()?;
        if tile::Load::defining(factor).is_some() {
            return None;
        }
        let mut open = vec![(factor, false, false)];
        let mut origins = Origins {
            dot,
            loads: Vec::new(),
            repeated: Vec::new(),
            seen: HashSet::from([operation_key(dot)]),
        };
        while let Some((value, repeated, turned)) = open.pop() {
            let op = defining_op(value)?;
            // What the round does not change waits in registers.
            if !origins.seen.insert(operation_key(op)) || !is_inside(value, round) {
                continue;
            }
            match TileOp::of(op)? {
                TileOp::Load if repeated => origins.repeated.push(op),
                TileOp::Load => origins.loads.push(Origin { load: op, turned }),
                TileOp::Splat | TileOp::Iota => {}
                kind if passes(kind, repeated) => {
                    let repeated = repeated || kind == TileOp::Broadcast;
                    let turned = turned != (kind == TileOp::Transpose);
                    let tiles = operands_of(op).filter(|operand| tile_of(op, *operand).is_ok());
                    open.extend(tiles.map(|operand| (operand, repeated, turned)));
                }
                _ => return None,
            }
        }
        Some(origins).filter(|origins| !origins.loads.is_empty())
    }

    /// Whether what a load gives, beside the product, is for the factor alone.
    pub fn is_alone(&self, load: IrOp<'c>) -> bool {
        let mut users = users(result_of(load, 0)).into_iter();
        same_block(load, self.dot) && users.all(|user| self.seen.contains(&operation_key(user)))
    }
}

/// The box that a load is of, and the buffer of a stage for it.
///
/// # Errors
/// Why no tensor map brings it, as a clause.
pub(super) fn boxed<'c>(
    load: IrOp<'c>,
    tile: &TileType,
    function: IrOp<'c>,
) -> Result<(TensorBox<'c>, View), String> {
    let tensor_box = box_of(load, tile, function)?;
    if tensor_box.has_windows() {
        return Err("windows are read by descriptors alone".into());
    }
    let mut why = String::new();
    for buffer in buffers_of(tile, tensor_box.fast()) {
        let possible = tensor_box.load(&buffer).map_err(|error| error.to_string());
        match possible.and_then(|_| is_as_pinned(load, &buffer)) {
            Ok(()) => return Ok((tensor_box, buffer)),
            Err(message) => why = message,
        }
    }
    Err(why)
}

/// Rows one behind the other, or columns where these are in one piece: what a box is without a swizzle. First in the pieces of a swizzle
/// where threads would read that with bank conflicts; else in these where a box cannot be as long as a row.
fn buffers_of(tile: &TileType, fast: usize) -> Vec<View> {
    let (lines, plain) = plain_buffer(tile, fast);
    let conflicts = read_of(tile, fast)
        .is_some_and(|(of, access)| verify(of, &AnyLayout::Plain(lines), &[access]).is_err());
    let mut buffers = vec![plain];
    buffers.extend(smem_tile::of_descriptor(tile, fast));
    if conflicts {
        buffers.reverse();
    }
    buffers
}

/// Rows one behind the other, or columns, and the buffer of one stage for them.
pub(super) fn plain_buffer(tile: &TileType, fast: usize) -> (Layout, View) {
    let [rows, columns] = [tile.shape[0], tile.shape[1]];
    let strides = match fast {
        0 => [1, rows],
        _ => [columns, 1],
    };
    let lines = Layout::concat([
        Layout::scalar(rows, strides[0]),
        Layout::scalar(columns, strides[1]),
    ]);
    let stages = Layout::scalar(1, stage_bytes(tile) / tile.elem.bytes());
    let plain = AnyLayout::Plain(Layout::concat(lines.modes().chain([stages])));
    let plain = View::new(tile.elem, Space::Smem, STAGE, plain);
    (lines, plain)
}

/// Bytes of a stage of such a buffer, each as aligned as the first.
pub(super) fn stage_bytes(tile: &TileType) -> i64 {
    (tile.elem.bytes_of(tile.size()) + STAGE - 1) / STAGE * STAGE
}

/// How threads read the tile, once it is known how they hold it.
fn read_of(tile: &TileType, fast: usize) -> Option<(Tile, cutec_layout::smem::Access)> {
    let layout = tile.layout.as_ref()?;
    let width = layout.neighbours(&tile.shape, fast).ok()?;
    let bits = (8 * WIDEST_ACCESS).min(width * tile.elem.bits());
    let access = vector_access("read", layout, &tile.shape, fast, bits).ok()?;
    let of = Tile {
        rows: tile.shape[0],
        columns: tile.shape[1],
        elem_bits: u32::try_from(tile.elem.bits()).ok()?,
        fast: if fast == 0 { Axis::Rows } else { Axis::Columns },
    };
    Some((of, access))
}

/// The buffer of a factor that is computed and written to shared memory, where `wgmma` reads it: with the elements of a row of k side by
/// side, or across it, where it is a transpose.
///
/// # Errors
/// Why there is none, as the end of a clause that says which factor is computed.
pub(super) fn buffer_of_computed(factor: IrValue, tile: &TileType) -> Result<View, String> {
    if tile.elem.bits() > MOST_BITS {
        return Err(format!(
            ", and elements of {} would have to be rounded on their way to shared memory",
            tile.elem.language_name()
        ));
    }
    let buffer = smem_tile::of_descriptor(tile, usize::from(!is_turned(factor, tile)));
    buffer.ok_or_else(|| ", and its rows are no multiples of 32 bytes".into())
}

/// Whether a factor is the transpose of what is computed, which `wgmma` reads from shared memory as it is.
pub(super) fn is_turned(factor: IrValue, tile: &TileType) -> bool {
    let factor = tile::ConvertLayout::defining(factor).map_or(factor, tile::ConvertLayout::input);
    Wgmma::transposes(tile.elem) && defining_op(factor).is_some_and(|op| TileOp::Transpose.is(op))
}

/// Whether an operation gives elements of the tiles that it takes, or what it computes of them one by one.
pub(super) fn passes_on(kind: TileOp) -> bool {
    matches!(
        kind,
        TileOp::Map
            | TileOp::Broadcast
            | TileOp::Reshape
            | TileOp::Transpose
            | TileOp::Recast
            | TileOp::ConvertLayout
    )
}

/// Whether a factor is computed of what its round of a loop loads, and of no product.
pub(super) fn is_prologue<'c>(factor: IrValue<'c>, dot: IrOp<'c>) -> bool {
    let (mut open, mut seen, mut loads) = (vec![factor], HashSet::new(), false);
    while let Some(value) = open.pop() {
        let Some(op) = defining_op(value) else {
            return false;
        };
        if !same_block(op, dot) || !seen.insert(operation_key(op)) {
            continue;
        }
        match TileOp::of(op) {
            Some(TileOp::Load) => loads = true,
            Some(TileOp::Splat | TileOp::Iota) => {}
            Some(kind) if passes_on(kind) => {
                let tiles = operands_of(op).filter(|operand| tile_of(op, *operand).is_ok());
                open.extend(tiles);
            }
            _ => return false,
        }
    }
    loads && in_loop(dot)
}

/// Whether a product reads by a descriptor what threads write, in each round of the loop that it stands in.
pub(super) fn reads_what_is_written(dot: IrOp) -> bool {
    let factors = tile::Dot::of(dot).map(tile::Dot::factors);
    let mut reads = factors
        .into_iter()
        .flatten()
        .filter_map(tile::Read::defining);
    reads.any(|read| {
        let mut writes = users(read.buffer()).into_iter();
        is_for_descriptors(read.op())
            && writes.any(|user| {
                TileOp::Write.is(user) && user.attribute(GATHERED).is_err() && same_block(user, dot)
            })
    })
}
