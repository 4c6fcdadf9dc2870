//! Which results leave by a tensor map: through buffers in shared memory, while the next ones are computed.
use super::smem_tile;
use super::tensor_box::TensorBox;
use super::types::{mma_of, operand_layout, reads_shared_memory, tensor_of, tile_of};
use cutec_dialects::atoms::{MmaAtom, MmaOp, Wgmma};
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::ops::{TileOp, cute, tile};
use cutec_dialects::tile::TileType;
use cutec_dialects::types::tiled_mma;
use cutec_dialects::value::{TiledMmaVal, Val, View};
use cutec_layout::{Layout, Tiler};

/// Bytes of a row that are stored at once: what the widest swizzle spans.
const ROW_BYTES: i64 = 128;

/// A result that leaves in pieces side by side.
pub(super) struct ByMap<'c> {
    /// The first piece in the tensor.
    pub tensor_box: TensorBox<'c>,
    /// A buffer for a piece.
    pub buffer: View,
    /// A piece as the threads hold it, and how many there are.
    pub piece: TileType,
    pub pieces: i64,
}

impl<'c> ByMap<'c> {
    /// Of a store, where a warpgroup's sums lie in the tile's registers as its product left them and nothing else of the
    /// kernel, of which these are the operations, accesses the tensor.
    pub fn of(store: IrOp<'c>, function: IrOp<'c>, operations: &[IrOp<'c>]) -> Option<Self> {
        let of = tile::Store::of(store).filter(|store| store.atomic().is_none())?;
        let tile = tile_of(store, of.value()).ok()?;
        let as_sums = |op: &IrOp<'c>| {
            let mma = TileOp::Dot.is(*op).then(|| mma_of(*op).ok()).flatten();
            let mma = mma.filter(|mma| reads_shared_memory(mma))?;
            let layout = operand_layout(&mma, 2, &tile.shape).ok()?;
            (Some(&layout) == tile.layout.as_ref()).then_some(mma)
        };
        let &[rows, columns] = &tile.shape[..] else {
            return None;
        };
        let mma = operations.iter().find_map(as_sums)?;
        let tensor = tensor_of(of.view())?;
        let views = operations.iter().filter_map(|op| accessed(*op));
        let tensors: Option<Vec<IrValue<'c>>> = views.map(tensor_of).collect();
        if tensors?.into_iter().filter(|it| *it == tensor).count() != 1 {
            return None;
        }
        let width = ROW_BYTES / tile.elem.bytes();
        // Those beside each other have no piece together.
        let groups = mma.tiled.thr_layout_vmnk().mode(2)?;
        if !groups.size().is(1) {
            return None;
        }
        let piece = match part(&mma, &tile, width) {
            Some(piece) if columns % width == 0 => piece,
            _ => tile.clone(),
        };
        let shape = [rows, piece.shape[1]];
        let tensor_box = TensorBox::of(store, function, &shape).ok()?;
        let buffer = smem_tile::of_descriptor(&piece, tensor_box.fast())?;
        tensor_box.store(&buffer).ok()?;
        (tensor_box.fast() == 1).then(|| ByMap {
            tensor_box,
            buffer,
            pieces: columns / piece.shape[1],
            piece,
        })
    }
}

/// So many columns of a tile of sums that warpgroups below each other share.
fn part(mma: &TiledMmaVal, tile: &TileType, columns: i64) -> Option<TileType> {
    let MmaOp::Wgmma(wgmma) = mma.atom.op else {
        return None;
    };
    let groups = mma.tiled.thr_layout_vmnk();
    let rows = groups.mode(1)?.size().as_static()?;
    let n = u32::try_from(columns).ok()?;
    let op = MmaOp::Wgmma(Wgmma { n, ..wgmma });
    let atoms = [(rows, 1), (1, rows), (1, 0)];
    let atoms = Layout::concat(atoms.map(|(extent, stride)| Layout::scalar(extent, stride)));
    let order = Tiler::Tile(vec![Tiler::All, Tiler::All, Tiler::All]);
    let Ok(Val::TiledMma(part)) = tiled_mma(MmaAtom { op, ..mma.atom }, atoms, order) else {
        return None;
    };
    let shape = [tile.shape[0], columns];
    let layout = operand_layout(&part, 2, &shape).ok()?;
    Some(TileType::new(tile.elem, &shape).with_layout(layout))
}

/// The view in global memory that an operation accesses.
fn accessed(op: IrOp) -> Option<IrValue> {
    let load = tile::Load::of(op).map(tile::Load::view);
    let copy = || tile::CopyAsync::of(op).map(tile::CopyAsync::view);
    let element = || cute::MemrefLoad::of(op).map(|load| load.view());
    let element = || element().filter(|view| tensor_of(*view).is_some());
    load.or_else(copy)
        .or_else(|| tile::written_view(op))
        .or_else(element)
}
