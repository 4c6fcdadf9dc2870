//! What fills a stage of a buffer: a copy by a tensor map, asynchronous copies by threads, vectors through registers, or what is gathered.
use super::super::access_width::vector_along;
use super::super::coordinate::Coordinate;
use super::super::gathers::Vectors;
use super::super::promises::for_vectors;
use super::super::tensor_box::TensorBox;
use super::super::types::{Failed, present};
use super::Staging;
use super::copies::{Loaders, reaches};
use crate::passes::ir_utils::{attributes, hints_of};
use crate::passes::say_left_out;
use crate::passes::user_error::user_error;
use cutec_abi::counted;
use cutec_dialects::builder::{IrOp, IrValue, OpBuilder, operands_of};
use cutec_dialects::hints::Hints;
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::target::WIDEST_ACCESS;
use cutec_dialects::tile::{BOX, BY_ELEMENT, TileLayout, TileType, WINDOWS};
use cutec_dialects::value::{Val, View};
use cutec_frontend::diagnostics::codes;
use melior::ir::operation::OperationLike;
use std::sync::Arc;

impl<'c> Staging<'c> {
    /// Fills a stage of a buffer by a tensor map, as `tile-select-atoms` found that one can.
    pub(super) fn fill_by_map(
        &self,
        ir: &OpBuilder<'c>,
        load: IrOp<'c>,
        tile: &TileType,
        (buffer, buffer_type): (IrValue<'c>, &View),
        stage: IrValue<'c>,
    ) -> Result<Arrives<'c>, Failed<'c>> {
        let tensor_box = TensorBox::of(load, self.function, &tile.shape);
        let tensor_box = tensor_box.map_err(|message| (load, message))?;
        let atom = tensor_box.load(buffer_type);
        let atom = atom.map_err(|error| (load, error.to_string()))?;
        let operands: Vec<_> = operands_of(load).chain([buffer, stage]).collect();
        let mut attrs = attributes(load, &["hints", BY_ELEMENT, WINDOWS, BOX]);
        let copy = Val::TmaAtom(Arc::new(atom));
        attrs.push(("copy", ir.type_attr(ir.val_type(&copy))));
        let token = ir.ty("!tile.token");
        let copy = ir.value(TileOp::CopyAsync, &operands, &attrs, token);
        Ok(Arrives::Later(copy))
    }

    /// Fills a stage of a buffer with what a load says.
    pub(super) fn fill(
        &self,
        ir: &OpBuilder<'c>,
        load: IrOp<'c>,
        tile: &TileType,
        (buffer, buffer_type): (IrValue<'c>, &View),
        (memory, loaders): (usize, Loaders),
        stage: IrValue<'c>,
    ) -> Result<Arrives<'c>, Failed<'c>> {
        let pinned = match loaders {
            Loaders::Registers(vector) => Some(vector),
            Loaders::Pinned(_) | Loaders::Any(_) => None,
        };
        if let Some(copy) = self.asynchronous(load, tile, buffer_type, loaders)? {
            return Ok(fill_by_copy(ir, load, copy, (buffer, stage)));
        }
        let operands: Vec<_> = operands_of(load).collect();
        if let Some(vector) = pinned {
            let proven = vector_along(load, tile).filter(|(axis, _)| *axis == memory);
            if proven.is_none_or(|(_, proven)| proven < vector) {
                let view = present(load, tile::Load::of(load))?.view();
                return Err((load, not_whole(view, vector, tile.elem.bytes_of(vector))));
            }
        }
        let vector = pinned.unwrap_or(WIDEST_ACCESS / tile.elem.bytes());
        let spread = TileLayout::blocked(&tile.shape, memory, vector, self.threads);
        let ty = tile.with_layout(spread).ir(ir.context());
        let attrs = attributes(load, &["fill", "hints", BY_ELEMENT]);
        let loaded = ir.value(TileOp::Load, &operands, &attrs, ty);
        ir.op(TileOp::Write, &[loaded, buffer, stage], &[], &[]);
        Ok(Arrives::AtOnce)
    }

    /// The tiled copy that brings what a load says to a buffer asynchronously, if one is legal.
    pub(super) fn asynchronous(
        &self,
        load: IrOp<'c>,
        tile: &TileType,
        buffer: &View,
        loaders: Loaders,
    ) -> Result<Option<Val>, Failed<'c>> {
        let access = present(load, tile::Load::of(load))?;
        let filled = access.fill().is_some();
        let written = self.is_written(access.view());
        let at = Coordinate::of(load).map_err(|message| (load, message))?;
        let legal = |copy: &Val| reaches((access.view(), &at), buffer, copy, &tile.shape);
        match loaders {
            Loaders::Pinned(_) if filled => {
                let message = "an asynchronous copy fills with zeros, not with what `fill` says";
                let help = "leave out `copy`, or pin `universal<…>`, which goes through registers";
                Err((load, user_error(codes::PINNED, message, help)))
            }
            Loaders::Pinned(_) if written => {
                let message = "an asynchronous copy reads the tensor at no certain time, but the kernel writes it";
                let help = "leave out `copy`, or pin `universal<…>`, which goes through registers";
                Err((load, user_error(codes::PINNED, message, help)))
            }
            Loaders::Pinned(copy) => {
                legal(&copy).map_err(|_| {
                    let (values, bytes) = match &copy {
                        Val::TiledCopy(copy) => {
                            let values = copy.atom.src_values();
                            (values, copy.atom.elem.bytes_of(values))
                        }
                        _ => (1, 1),
                    };
                    (load, not_whole(access.view(), values, bytes))
                })?;
                Ok(Some(copy))
            }
            Loaders::Registers(_) => Ok(None),
            Loaders::Any(loaders) => {
                let mut loaders = loaders.into_iter().filter(|_| !filled && !written);
                Ok(loaders.find(|copy| legal(copy).is_ok()))
            }
        }
    }
}

/// Begins to fill a stage of a buffer with what a load says, by such a copy.
pub(super) fn fill_by_copy<'c>(
    ir: &OpBuilder<'c>,
    load: IrOp<'c>,
    copy: Val,
    (buffer, stage): (IrValue<'c>, IrValue<'c>),
) -> Arrives<'c> {
    let operands: Vec<_> = operands_of(load).chain([buffer, stage]).collect();
    let mut attrs = attributes(load, &["hints", BY_ELEMENT]);
    let copy = match copy {
        Val::TiledCopy(mut copy) if copy.atom.hints == Hints::NONE => {
            let hints = hints_of(load);
            say_left_out(load.location(), hints, "`cp.async`");
            Arc::make_mut(&mut copy).atom.hints = hints.of_async_copies();
            Val::TiledCopy(copy)
        }
        copy => copy,
    };
    attrs.push(("copy", ir.type_attr(ir.val_type(&copy))));
    let token = ir.ty("!tile.token");
    Arrives::Later(ir.value(TileOp::CopyAsync, &operands, &attrs, token))
}

/// When what fills a buffer is there for the thread that began it.
pub(super) enum Arrives<'c> {
    AtOnce,
    Later(IrValue<'c>),
}

impl<'c> Arrives<'c> {
    pub(super) fn wait(&self, ir: &OpBuilder<'c>) {
        if let Arrives::Later(copy) = self {
            let group = ir.value(TileOp::Commit, &[*copy], &[], ir.ty("!tile.token"));
            ir.op(TileOp::Wait, &[group], &[], &[]);
        }
    }
}

/// Begins to copy a tile that a map gives to a stage of a buffer.
pub(super) fn gather<'c>(
    ir: &OpBuilder<'c>,
    vectors: &Vectors,
    filled: &[IrValue<'c>],
) -> Arrives<'c> {
    let atom = ir.val_type(&Val::CopyAtom(vectors.atom));
    let attrs = [
        ("copy", ir.type_attr(atom)),
        ("divisors", ir.i64_array(&vectors.divisors)),
    ];
    let token = ir.ty("!tile.token");
    Arrives::Later(ir.value(TileOp::GatherAsync, filled, &attrs, token))
}

/// What is said of a pinned copy that nothing proves legal.
fn not_whole(view: IrValue, values: i64, bytes: i64) -> String {
    let message = format!(
        "the pinned `copy` moves {} at a time, and nothing says that these lie side by side, begin at a multiple of {}, and lie inside or outside of the tensor as a whole",
        counted(bytes, "byte"),
        counted(bytes, "byte"),
    );
    let help = match for_vectors(view, bytes) {
        Some(promise) => format!("promise it, `where {promise}`; or leave out `copy`"),
        None => format!("give the tile an offset that {values} divides, or leave out `copy`"),
    };
    user_error(codes::PINNED, message, &help)
}
