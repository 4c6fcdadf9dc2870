//! Which tiled copies bring an operand to shared memory, and read it.
use super::Failed;
use crate::passes::tile::coordinate::Coordinate;
use crate::passes::user_error::user_error;
use cutec_dialects::atoms::{Cache, CopyAtom, CopyOp};
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::semantics::{Attrs, SemError, check, evaluate};
use cutec_dialects::tile::{TileLayout, TileType};
use cutec_dialects::types::{Vars, copy_layouts, parse_type};
use cutec_dialects::value::{TiledCopyVal, TiledMmaVal, Val};
use cutec_frontend::diagnostics::codes;
use cutec_layout::{Int, tv};
use melior::ir::{ValueLike, operation::OperationLike};
use std::sync::Arc;

/// What `cp.async` copies at once, in bytes, the best first, and where it caches it.
const ASYNC: [(i64, &str); 3] = [(16, "global"), (8, "always"), (4, "always")];

/// Tiled copies that may bring a tile.
pub(super) enum Loaders {
    /// This one, or it is an error.
    Pinned(String),
    /// The first that is legal, or vectors through registers.
    Any(Vec<String>),
}

/// The tiled copies that may bring a tile, the best first: what the load pins alone, if it pins one.
pub(super) fn loaders<'c>(
    load: IrOp<'c>,
    tile: &TileType,
    [memory, fast]: [usize; 2],
    threads: i64,
) -> Result<Loaders, Failed<'c>> {
    let by = |bits: i64, cache: &str| loader(tile, bits / 8, cache, memory, threads);
    let Ok(pinned) = load.attribute("copy") else {
        // What is transposed on the way is loaded in wide pieces, which `cp.async` could not scatter.
        let widths = ASYNC.iter().filter(|_| memory == fast);
        let loaders = widths.filter_map(|(bytes, cache)| by(bytes * 8, cache));
        return Ok(Loaders::Any(loaders.collect()));
    };
    let text = pinned.to_string();
    let asynchronous = |atom: &CopyAtom| match atom.op {
        CopyOp::Async { bits, cache } => Some((i64::from(bits), cache)),
        _ => None,
    };
    match parse_type(&text, &mut Vars::default()) {
        Ok(Val::CopyAtom(atom)) => match (asynchronous(&atom), atom.op) {
            (Some((bits, cache)), _) => {
                let cache = match cache {
                    Cache::Always => "always",
                    Cache::Global => "global",
                };
                let failed = || {
                    let message = format!(
                        "vectors of {bits} bits do not divide a tile of {} × {}",
                        tile.shape[0], tile.shape[1]
                    );
                    let help = "write fewer bits, or another extent of the tile";
                    (load, user_error(codes::PINNED, message, help))
                };
                by(bits, cache).map(Loaders::Pinned).ok_or_else(failed)
            }
            (None, CopyOp::Universal { .. }) => Ok(Loaders::Any(Vec::new())),
            _ => {
                let message = "the pinned `copy` does not copy to shared memory";
                Err((load, user_error(codes::PINNED, message, COPIES)))
            }
        },
        Ok(Val::TiledCopy(copy)) if asynchronous(&copy.atom).is_some() => Ok(Loaders::Pinned(text)),
        _ => {
            let message = "the pinned `copy` is no asynchronous copy, and no universal one";
            Err((load, user_error(codes::PINNED, message, COPIES)))
        }
    }
}

/// What can be pinned.
const COPIES: &str =
    "write `copy = cp_async<f16, bits = 128>`, a tiled copy of it, or `universal<f16, bits = 128>`";

/// The tiled copy by which threads side by side along memory bring a tile, `bytes` at once.
fn loader(tile: &TileType, bytes: i64, cache: &str, fast: usize, threads: i64) -> Option<String> {
    let vector = bytes / tile.elem.bytes();
    if vector < 1 || tile.shape[fast] % vector != 0 {
        return None;
    }
    let spread = TileLayout::blocked(&tile.shape, fast, vector, threads);
    let [rows, columns] = [tile.shape[0], tile.shape[1]];
    Some(format!(
        "!cute.tiled_copy<!cute_nvgpu.atom.simt_async_copy<{}, cache = {cache}, {} b>, layout_copy_tv = <\"{}\">, tiler_mn = <\"[{rows}:1;{columns}:1]\">>",
        tile.elem,
        bytes * 8,
        spread.tv()
    ))
}

/// Whether a tiled copy can bring a tile of a view to a buffer, at the edges as well.
pub(super) fn reaches(
    (view, at): (IrValue, &Coordinate),
    buffer: &str,
    copy: &str,
    shape: &[i64],
) -> Result<(), SemError> {
    let mut vars = Vars::default();
    let mut val = |text: &str| parse_type(text, &mut vars);
    let of = |name: &str, operands: &[Val]| evaluate(name, operands, &Attrs::default());
    let view = val(&view.r#type().to_string())?;
    let (buffer, copy, thread) = (val(buffer)?, val(copy)?, val("i32")?);
    let tile = val(&format!("!cute.int_tuple<\"({},{})\">", shape[0], shape[1]))?;
    // From offsets on it is the first tile.
    let (mut offsets, mut leaves) = (Vec::new(), Vec::new());
    for (axis, value) in at.values.iter().enumerate() {
        let offset = at.is_offset(axis);
        offsets.push(match offset {
            true => val(&value.r#type().to_string())?,
            false => Val::Scalar(Int::ZERO),
        });
        leaves.push(if offset { "0" } else { "?" });
    }
    let coord = val(&format!("!cute.coord<\"({})\">", leaves.join(",")))?;
    let extents = of(
        "get_shape",
        &[of("get_layout", std::slice::from_ref(&view))?],
    )?;
    let identity = of("make_identity_tensor", std::slice::from_ref(&extents))?;
    let part = |whole: Val| -> Result<Val, SemError> {
        let whole = match at.has_offsets() {
            true => of("domain_offset", &[&[whole], &offsets[..]].concat())?,
            false => whole,
        };
        let tile = of("local_tile", &[whole, tile.clone(), coord.clone()])?;
        of(
            "tiled.copy.partition_S",
            &[copy.clone(), tile, thread.clone()],
        )
    };
    let stage = of("slice", &[buffer, val("!cute.coord<\"(_,_,0)\">")?])?;
    let to = of(
        "tiled.copy.partition_D",
        &[copy.clone(), stage, thread.clone()],
    )?;
    let operands = [copy.clone(), part(view)?, to, part(identity)?, extents];
    check("copy", &operands)
}

/// The tiled copy by which a product reads an operand; `None` where vectors serve it.
pub(super) fn read_atom(
    mma: &Arc<TiledMmaVal>,
    index: usize,
    tile: &TileType,
    buffer: &str,
    fast: usize,
) -> Option<String> {
    let bits = tile.elem.bits();
    let transpose = fast == 0;
    if mma.tiled.atom().shape_mnk[1] == 1 || bits > 32 || (transpose && bits != 16) {
        return None;
    }
    let how = if transpose { "t" } else { "n" };
    [4, 2, 1].iter().find_map(|matrices| {
        let atom = format!(
            "!cute_nvgpu.atom.ldsm<val_type = {}, num_matrices = {matrices}, {how}>",
            tile.elem
        );
        reads(&atom, mma, index, buffer).ok()
    })
}

/// The tiled copy of an atom for an operand of a product, if it reads what a thread multiplies.
fn reads(
    atom: &str,
    mma: &Arc<TiledMmaVal>,
    index: usize,
    buffer: &str,
) -> Result<String, SemError> {
    let mut vars = Vars::default();
    let mut val = |text: &str| parse_type(text, &mut vars);
    let Val::CopyAtom(atom) = val(atom)? else {
        return Err(SemError::Illegal(format!("{atom} is no copy atom")));
    };
    let make = [tv::make_tiled_copy_a, tv::make_tiled_copy_b][index];
    let tiled = make(copy_layouts(&atom), &mma.tiled)?;
    let copy = Val::TiledCopy(Arc::new(TiledCopyVal { atom, tiled }));
    let which = Attrs {
        operand: Some(["A", "B"][index].into()),
        ..Attrs::default()
    };
    let of = |name: &str, operands: &[Val]| evaluate(name, operands, &which);
    let thread = val("i32")?;
    let stage = of("slice", &[val(buffer)?, val("!cute.coord<\"(_,_,0)\">")?])?;
    let mma = Val::TiledMma(mma.clone());
    let held = of(
        "tiled.mma.partition",
        &[mma.clone(), stage.clone(), thread.clone()],
    )?;
    let fragment = of("mma.make_fragment", &[mma, held])?;
    let from = of("tiled.copy.partition_S", &[copy.clone(), stage, thread])?;
    let to = of("tiled.copy.retile", &[copy.clone(), fragment])?;
    check("copy", &[copy.clone(), from, to])?;
    Ok(copy.to_string())
}
