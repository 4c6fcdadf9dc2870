//! Which tiled copies bring an operand to shared memory, and read it.
use super::Failed;
use crate::passes::tile::coordinate::Coordinate;
use crate::passes::tile::held_factor::waits_for_memory;
use crate::passes::tile::matrix_copies::{first_stage, matrix_copy};
use crate::passes::tile::types::reads_shared_memory;
use crate::passes::user_error::user_error;
use cutec_abi::counted;
use cutec_dialects::atoms::{
    Completion, CopyAtom, CopyOp, CpAsync, Issuer, Ldmatrix, Mechanism, Place,
};
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ir::type_attribute;
use cutec_dialects::memo::type_value;
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::{Attrs, SemError, check, evaluate};
use cutec_dialects::tile::{Narrower, SideBySide, TileLayout, TileType};
use cutec_dialects::types::{Vars, tiled_copy};
use cutec_dialects::value::{TiledMmaVal, Val, View};
use cutec_frontend::diagnostics::codes;
use cutec_layout::algebra::product;
use cutec_layout::tv::Operand;
use cutec_layout::{Int, Layout, Tiler, Width};
use melior::ir::ValueLike;
use std::sync::Arc;

/// Tiled copies that may bring a tile.
pub(super) enum Loaders {
    /// This one, or it is an error.
    Pinned(Val),
    /// The first that is legal, or vectors through registers, as wide as they can be.
    Any(Vec<Val>),
    /// Vectors of so many elements through registers, or it is an error.
    Registers(i64),
}

/// How much of a row in memory threads side by side copy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Span {
    /// A line of memory, of each line of the row: a thread has few rows, and computes once where each lies.
    Line,
    /// As much as there are threads for.
    Row,
}

impl Span {
    /// That of a tile for a product. What waits for memory reads rows in one piece.
    pub fn of_operand(dot: IrOp) -> Span {
        match waits_for_memory(dot) {
            true => Span::Row,
            false => Span::Line,
        }
    }
}

/// The tiled copies by so many threads that may bring a tile, the best first: what the load pins alone, if it pins one.
pub(super) fn loaders<'c>(
    load: IrOp<'c>,
    tile: &TileType,
    [memory, fast]: [usize; 2],
    (threads, span): (i64, Span),
) -> Result<Loaders, Failed<'c>> {
    let by = |atom: CopyAtom| loader(tile, atom, memory, (threads, span));
    let Some(pinned) = type_attribute(load, "copy") else {
        // What is transposed on the way is loaded in wide pieces, which `cp.async` could not scatter.
        let widths = CpAsync::WIDTHS.into_iter().filter(|_| memory == fast);
        let atoms = widths.map(|copy| CopyAtom::new(CopyOp::CpAsync(copy), tile.elem));
        return Ok(Loaders::Any(atoms.filter_map(by).collect()));
    };
    let refused = |message: String, help| (load, user_error(codes::PINNED, message, help));
    let pinned = pinned.map_err(|error| refused(error.to_string(), COPIES))?;
    let Some(atom) = pinned.copy_atom() else {
        let message = "the pinned `copy` is no copy";
        return Err(refused(message.into(), COPIES));
    };
    let undivided = |tile: &TileType, bits: i64| {
        let extents = tile_extents(&tile.shape);
        let message = format!("vectors of {bits} bits do not divide a tile of {extents}");
        refused(message, "write other `bits`, or another extent of the tile")
    };
    let is_atom = matches!(pinned, Val::CopyAtom(_));
    match atom.completion() {
        Completion::Later(Mechanism::CpAsyncGroup) if !is_atom => {
            let unfit = unfit(&pinned, tile, threads);
            let unfit = unfit.map(|(message, help)| refused(message, help));
            unfit.map_or(Ok(Loaders::Pinned(pinned)), Err)
        }
        Completion::Later(Mechanism::CpAsyncGroup) => {
            let failed = || undivided(tile, atom.src_values() * atom.elem.bits());
            let elem = tile.elem;
            let loader = by(CopyAtom { elem, ..atom });
            loader.map(Loaders::Pinned).ok_or_else(failed)
        }
        Completion::Later(Mechanism::WgmmaGroup) => {
            let message = "the pinned `copy` is no copy";
            Err(refused(message.into(), COPIES))
        }
        Completion::AtOnce if !is_atom => {
            let message = "the pinned `copy` is no asynchronous copy, and no universal one";
            Err(refused(message.into(), COPIES))
        }
        Completion::AtOnce if atom.places()[1].holds(Space::Smem) => {
            let bits = atom.src_values() * atom.elem.bits();
            let vector = bits / tile.elem.bits();
            match vector > 0 && tile.shape[memory] % vector == 0 {
                true => Ok(Loaders::Registers(vector)),
                false => Err(undivided(tile, bits)),
            }
        }
        Completion::AtOnce => {
            let message = "the pinned `copy` does not copy to shared memory";
            Err(refused(message.into(), COPIES))
        }
    }
}

/// Why a pinned tiled copy cannot bring a tile whatever memory it lies in, and what helps.
fn unfit(copy: &Val, tile: &TileType, threads: i64) -> Option<(String, &'static str)> {
    let Val::TiledCopy(copy) = copy else {
        return None;
    };
    let whole = tile_extents(&tile.shape);
    let elem = copy.atom.elem;
    if elem.bits() != tile.elem.bits() {
        let message = format!(
            "the pinned `copy` is of {elem}, and the tile of {}",
            tile.elem
        );
        return Some((message, "write it of the type of the tile"));
    }
    let copying = TileLayout::new(copy.tiled.layout_tv().clone()).ok()?;
    if copying.threads() > threads {
        let message = format!(
            "the pinned `copy` is shared by {}, and the block has {threads}",
            counted(copying.threads(), "thread")
        );
        return Some((message, "write it for fewer threads, or more `warps`"));
    }
    let at_once = copy.tiled.tile_shape().ok()?;
    let at_once = at_once.modes().iter().map(product);
    let at_once: Vec<i64> = at_once
        .map(|size| size.as_static())
        .collect::<Option<_>>()?;
    let divides = |(whole, part): (&i64, &i64)| whole % part == 0;
    if at_once.len() != tile.shape.len() || !tile.shape.iter().zip(&at_once).all(divides) {
        let part = tile_extents(&at_once);
        let message = format!(
            "the pinned `copy` brings {part} at once, which does not divide a tile of {whole}"
        );
        return Some((
            message,
            "write it for a part of the tile, or for the whole tile",
        ));
    }
    None
}

/// Extents as messages say them.
fn tile_extents(extents: &[i64]) -> String {
    let extents: Vec<String> = extents.iter().map(i64::to_string).collect();
    extents.join(" × ")
}

/// What can be pinned.
const COPIES: &str =
    "write `copy = cp_async<f16, bits = 128>`, a tiled copy of it, or `universal<f16, bits = 128>`";

/// Bytes of a line of memory: threads side by side access whole ones.
const LINE: i64 = 128;

/// Rows of so many lines are copied in one piece: by lines `tile_attention_dkv`, of heads of 256 bytes, took 6 % longer.
const LINES_IN_ONE_PIECE: i64 = 2;

/// The tiled copy by which threads side by side along memory bring a tile, as much at once as the atom copies.
fn loader(
    tile: &TileType,
    atom: CopyAtom,
    fast: usize,
    (threads, span): (i64, Span),
) -> Option<Val> {
    atom.verify().ok()?;
    let vector = atom.src_values();
    if tile.shape[fast] % vector != 0 {
        return None;
    }
    let line = 8 * LINE / (vector * tile.elem.bits()).max(1);
    let elements = line * vector;
    let has_lines = line > 0
        && line < threads
        && tile.shape[fast] % elements == 0
        && tile.shape[fast] / elements > LINES_IN_ONE_PIECE;
    let by_lines = match span {
        Span::Line if has_lines => copying(&tile.shape, fast, vector, (line, threads)).ok(),
        Span::Line | Span::Row => None,
    };
    let by_rows = copying(&tile.shape, fast, vector, (threads, threads)).ok()?;
    let by_lines = by_lines.filter(|lines| lines.threads() == by_rows.threads());
    let spread = by_lines.unwrap_or(by_rows);
    let tiler = tile.shape.iter().map(|extent| Layout::scalar(*extent, 1));
    let tiler = Tiler::Tile(tiler.map(Tiler::Layout).collect());
    tiled_copy(atom, spread.tv().clone(), tiler).ok()
}

/// Which threads copy which vectors along memory: the first of them, as many as stand side by side in the tile, but so many of a row.
fn copying(
    shape: &[i64],
    fast: usize,
    vector: i64,
    (of_row, threads): (i64, i64),
) -> Result<TileLayout, String> {
    let side_by_side = SideBySide {
        narrower: Narrower::Never,
        ..SideBySide::along(fast, vector, of_row)
    };
    let spread = TileLayout::of_threads(shape, &side_by_side, threads);
    let mut first = spread.thread_modes(shape)?;
    first.retain(|mode| !mode.repeats());
    Ok(TileLayout::of_modes(
        &first,
        &spread.value_modes(shape)?,
        shape,
    ))
}

/// Whether a tiled copy can bring a tile of a view to a buffer, at the edges as well.
pub(super) fn reaches(
    (view, at): (IrValue, &Coordinate),
    buffer: &View,
    copy: &Val,
    shape: &[i64],
) -> Result<(), SemError> {
    let mut vars = Vars::default();
    let of = |op: CuteOp, operands: &[Val]| evaluate(op, operands, &Attrs::default());
    let view = type_value(view.r#type(), &mut vars)?;
    let thread = Val::Scalar(vars.fresh(Width::I32, 1));
    let tile = Val::int_tuple(shape.iter().copied());
    // From offsets on it is the first tile.
    let (mut offsets, mut leaves) = (Vec::new(), Vec::new());
    for (axis, value) in at.values.iter().enumerate() {
        if at.is_offset(axis) {
            offsets.push(type_value(value.r#type(), &mut vars)?);
            leaves.push(Some(Int::ZERO));
        } else {
            offsets.push(Val::Scalar(Int::ZERO));
            leaves.push(Some(vars.fresh(Width::I32, 1)));
        }
    }
    let coord = Val::coord(leaves);
    let extents = of(
        CuteOp::GetShape,
        &[of(CuteOp::GetLayout, std::slice::from_ref(&view))?],
    )?;
    let identity = of(CuteOp::MakeIdentityTensor, std::slice::from_ref(&extents))?;
    let part = |whole: Val| -> Result<Val, SemError> {
        let whole = match at.has_offsets() {
            true => of(CuteOp::DomainOffset, &[&[whole], &offsets[..]].concat())?,
            false => whole,
        };
        let tile = of(CuteOp::LocalTile, &[whole, tile.clone(), coord.clone()])?;
        of(
            CuteOp::TiledCopyPartitionS,
            &[copy.clone(), tile, thread.clone()],
        )
    };
    let first = first_stage(shape.len());
    let stage = of(CuteOp::Slice, &[Val::View(buffer.clone()), first])?;
    let to = of(
        CuteOp::TiledCopyPartitionD,
        &[copy.clone(), stage, thread.clone()],
    )?;
    let operands = [copy.clone(), part(view)?, to, part(identity)?, extents];
    check(CuteOp::Copy, &operands, &Attrs::default())
}

/// How a thread gets an operand of a product from shared memory to its registers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OperandRead {
    /// By vectors of neighbouring rows, since threads multiply alone.
    Vectors,
    /// By `ldmatrix`, since a warp multiplies together.
    Ldmatrix,
    /// Not at all: the instruction reads it by a descriptor.
    Descriptor,
}

/// Along which axes neighbours of an operand may be gathered for a product by asynchronous copies, the better first.
pub(in crate::passes::tile) fn gathered_along(
    mma: &TiledMmaVal,
    index: usize,
    elem: Elem,
) -> &'static [usize] {
    match OperandRead::of(mma, index) {
        _ if reads_shared_memory(mma) => &[],
        // The `ldmatrix` that reads them may turn them.
        Ok(OperandRead::Ldmatrix) if Ldmatrix::transposes(elem) => &[1, 0],
        Ok(OperandRead::Ldmatrix) => &[1],
        Ok(OperandRead::Vectors) => &[0],
        // Warps of their own copy those (`tile-specialize-warps`).
        Ok(OperandRead::Descriptor) | Err(_) => &[],
    }
}

impl OperandRead {
    /// How the operand `index`, A or B, of a product is read.
    pub(super) fn of(mma: &TiledMmaVal, index: usize) -> Result<OperandRead, String> {
        let which = [Operand::A, Operand::B][index];
        match (mma.atom.operand(which).place, mma.atom.issuer()) {
            (Place::Registers, Issuer::Thread) => Ok(OperandRead::Vectors),
            (Place::Registers, Issuer::Warp | Issuer::Warpgroup) => Ok(OperandRead::Ldmatrix),
            (Place::SharedDescriptor, _) => Ok(OperandRead::Descriptor),
            (Place::Shared | Place::Global | Place::Anywhere, _) => Err(format!(
                "{} reads an operand from memory, which no pass at tile level arranges",
                mma.atom
            )),
        }
    }
}

/// The tiled copy by which a product reads an operand from a buffer; `None` where vectors serve it.
pub(super) fn read_atom(
    mma: &Arc<TiledMmaVal>,
    index: usize,
    tile: &TileType,
    buffer: &View,
    fast: usize,
) -> Result<Option<Val>, String> {
    let (transpose, which) = (fast == 0, [Operand::A, Operand::B][index]);
    match OperandRead::of(mma, index)? {
        OperandRead::Vectors | OperandRead::Descriptor => return Ok(None),
        OperandRead::Ldmatrix if transpose && !Ldmatrix::transposes(tile.elem) => return Ok(None),
        OperandRead::Ldmatrix => {}
    }
    let atoms = Ldmatrix::widths(transpose).into_iter();
    let mut atoms = atoms.map(|op| CopyAtom::new(CopyOp::Ldmatrix(op), tile.elem));
    Ok(atoms.find_map(|atom| matrix_copy(atom, mma, which, buffer).ok()))
}
