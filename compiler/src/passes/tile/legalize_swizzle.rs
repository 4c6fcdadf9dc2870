//! `tile-legalize-swizzle`: where each element of a buffer in shared memory lies.
//!
//! Before: buffers of compact layouts. After: of every buffer that only operations on tiles access, the
//! layout is legal for all of them, and without bank conflicts where there is such a layout;
//! [`cutec_layout::smem`] looks for it and counts. `cute.accesses` on the buffer says what each access costs,
//! for the reader and for `--remarks`. Where the program pins a `swizzle` the buffer gets that, or an error
//! with the access that it does not serve and a layout that does.
use super::known_ops::checked_ops;
use super::smem_tile::tile_in;
use super::types::{
    Failed, copy_atom_of, fast_axis, tile_of, tiled_copy_of, vector_access, view_of,
};
use crate::passes::Reported;
use crate::passes::ir_utils::{Kernel, for_each_kernel, set_attribute, string_attribute, users};
use crate::passes::user_error::user_error;
use cutec_dialects::builder::{Insertion, IrOp, OpBuilder, result_of};
use cutec_dialects::ir::type_attribute;
use cutec_dialects::ops::{CuteOp, TileOp, tile};
use cutec_dialects::target::WIDEST_ACCESS;
use cutec_dialects::tile::{TRANSPOSED, TileType};
use cutec_dialects::value::{TiledCopyVal, Val, View};
use cutec_frontend::diagnostics::codes;
use cutec_layout::smem::{Access, Axis, Chosen, Tile, legalize, verify_pinned};
use cutec_layout::text::parse_swizzle;
use cutec_layout::{AnyLayout, Layout, Tree};
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The attribute of a buffer that says what its accesses cost.
pub(crate) const ACCESSES: &str = "cute.accesses";

/// Finds a layout for every buffer of the module.
pub fn legalize_swizzle<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let Kernel {
            context, function, ..
        } = kernel;
        let mut operations = checked_ops(function)?;
        operations.retain(|op| CuteOp::MemrefAllocSmem.is(*op));
        let mut known = HashMap::new();
        for buffer in operations {
            place(context, buffer, &mut known)?;
        }
        Ok::<_, Failed>(())
    })
}

/// What has been found for tiles that are accessed alike: the search costs more than the rest of the pass.
type Known = HashMap<(Tile, Vec<Access>), Chosen>;

/// Gives one buffer its layout.
fn place<'c>(context: &'c Context, buffer: IrOp<'c>, known: &mut Known) -> Result<(), Failed<'c>> {
    let value = result_of(buffer, 0);
    let mut accessing = users(value);
    accessing.reverse();
    let of_tiles = |op: &IrOp| {
        matches!(
            TileOp::of(*op),
            Some(TileOp::CopyAsync | TileOp::GatherAsync | TileOp::Read | TileOp::Write)
        )
    };
    let (Some(view), true) = (view_of(value), accessing.iter().all(of_tiles)) else {
        return Ok(());
    };
    // One for descriptors lies as these say, and one that a tensor map fills as that writes it.
    let by_map = |op: &IrOp| matches!(type_attribute(*op, "copy"), Some(Ok(Val::TmaAtom(_))));
    if matches!(view.layout, AnyLayout::Composed(_)) || accessing.iter().any(by_map) {
        return Ok(());
    }
    let Some((tile, stages)) = tile_in(&view).filter(|_| !accessing.is_empty()) else {
        return Ok(());
    };
    let fast = fast_axis(value).map_or(1, |(axis, _)| axis);
    let of_tile = Tile {
        rows: tile.shape[0],
        columns: tile.shape[1],
        elem_bits: tile.elem.bits() as u32,
        fast: if fast == 0 { Axis::Rows } else { Axis::Columns },
    };
    let mut accesses: Vec<Access> = Vec::new();
    for op in accessing {
        let access = access(op, &tile, fast)?;
        if !accesses.contains(&access) {
            accesses.push(access);
        }
    }
    let failed = |message: String| (buffer, message);
    let chosen = match string_attribute(buffer, "swizzle") {
        Some(pinned) => {
            let swizzle = parse_swizzle(&pinned).map_err(|error| failed(error.to_string()))?;
            let help = "write the other layout's swizzle, or leave out `swizzle`";
            let refused = |message: String| (buffer, user_error(codes::PINNED, message, help));
            let verified = verify_pinned(of_tile, swizzle, &accesses);
            verified.map_err(|error| refused(error.to_string()))
        }
        None => match known.entry((of_tile, accesses)) {
            Entry::Occupied(found) => Ok(found.get().clone()),
            Entry::Vacant(place) => legalize(of_tile, &place.key().1)
                .map(|chosen| place.insert(chosen).clone())
                .map_err(|error| failed(error.to_string())),
        },
    };
    let chosen = chosen?;
    let layout = chosen.staged(stages, of_tile.elem_bits);
    let layout = layout.map_err(|error| failed(error.to_string()))?;
    let mut ptr = view.ptr.clone();
    ptr.align = ptr.align.max(i64::from(chosen.align));
    let ir = OpBuilder::new(context, Insertion::Before(buffer));
    value.set_type(ir.val_type(&Val::View(View { ptr, layout })));
    let costs: Vec<String> = chosen
        .costs
        .iter()
        .map(|cost| {
            format!(
                "{}: {} wavefronts, {} at best",
                cost.what, cost.wavefronts, cost.ideal
            )
        })
        .collect();
    let costs = ir.string(&costs.join("; "));
    set_attribute(buffer, ACCESSES, costs);
    Ok(())
}

/// What an operation accesses of a stage.
fn access<'c>(op: IrOp<'c>, tile: &TileType, fast: usize) -> Result<Access, Failed<'c>> {
    let failed = |message: String| (op, message);
    let gathered = tile::GatherAsync::of(op);
    let gathered = gathered.map(|gathered| copy_atom_of(op).map(|atom| (gathered, atom)));
    let gathered = gathered.transpose().map_err(failed)?;
    if gathered.is_none()
        && let Some(copy) = tiled_copy_of(op).map_err(failed)?
    {
        return of_copy(op, &copy, tile).map_err(failed);
    }
    let (what, value) = match (TileOp::of(op), &gathered) {
        (_, Some((gathered, atom))) => (atom.shared_access().0, Some(gathered.value())),
        (Some(TileOp::Read), None) => ("read", Some(result_of(op, 0))),
        (_, None) => ("write", tile::Write::of(op).map(tile::Write::value)),
    };
    let held = match value {
        Some(value) => tile_of(op, value)?,
        None => return Err(failed("an operand is missing".into())),
    };
    let layout = held.layout.as_ref();
    let layout = layout.ok_or_else(|| failed(format!("{held} has no layout")))?;
    let bits = match &gathered {
        Some((_, atom)) => atom.src_values() * atom.elem.bits(),
        None => {
            let width = layout.neighbours(&held.shape, fast).map_err(failed)?;
            (8 * WIDEST_ACCESS).min(width * tile.elem.bits())
        }
    };
    vector_access(what, layout, &held.shape, fast, bits).map_err(failed)
}

/// What the instructions of a tiled copy access on the side of the buffer, over the whole tile.
fn of_copy(op: IrOp, copy: &TiledCopyVal, tile: &TileType) -> Result<Access, String> {
    let shape = tile.shape.iter().map(|extent| Tree::Leaf((*extent).into()));
    let mut whole = Layout::col_major(Tree::Node(shape.collect()));
    if op.attribute(TRANSPOSED).is_ok() {
        let modes: Vec<Layout> = whole.modes().collect();
        whole = Layout::concat(modes.into_iter().rev());
    }
    let whole = AnyLayout::Plain(whole);
    let reads = TileOp::Read.is(op);
    let parts = match reads {
        true => copy.tiled.tidfrg_s(&whole),
        false => copy.tiled.tidfrg_d(&whole),
    };
    let parts = parts.map_err(|error| error.to_string())?;
    let parts = parts.inner();
    let mode = |index: usize| parts.mode(index).unwrap_or_else(Layout::unit);
    let (what, kind) = copy.atom.shared_access();
    Ok(Access {
        what: what.into(),
        kind,
        layout_tv: Layout::concat([mode(0), Layout::concat([mode(1), mode(2)])]),
    })
}
