//! Tiles of windows: brought by tensor maps in im2col mode where that fits, else gathered.
//!
//! `tile.windows` is a tile that is gathered, and says which pixels it is. Where `wgmma` reads it and a tensor map can bring it, it
//! becomes a `tile.load` with [`WINDOWS`]; else the gathered tile takes its place, with the reason as [`GATHERED_SINCE`].
use super::coordinate::{narrowed, number};
use super::emits::cute;
use super::tensor_box::{Begin, TensorBox};
use super::types::{is_only_multiplied, tile_of};
use super::warpgroup_products::check_load;
use crate::passes::ir_utils::{
    attributes, captured, defining_op, erase, is_inside, move_before, parent, set_attribute,
};
use cutec_abi::tensor_map::Im2col;
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, operands_of, operation_key, result_of,
};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{ArithOp, CuteOp, ScfOp, TileOp, tile};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::tile::{GATHERED_SINCE, WINDOWS, Windows};
use cutec_dialects::types::Vars;
use cutec_dialects::value::{TupleKind, Val};
use cutec_layout::{Tree, Width};
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};
use std::collections::HashSet;

/// Bits of a number by which pixels are moved, of 1 to 3 modes of pixels (PTX ISA, "im2colOffsets").
const MOVES: [u32; 3] = [16, 8, 5];

/// Bytes of an element's channels that a tensor map brings as fast as threads copy them: pieces of 16 bytes took it 1.6 to 1.7 times as
/// long, those of 32 bytes as long (`docs/performance.md`).
const LEAST_PIECE: i64 = 32;

/// Where the windows of a tile lie, whose first row is a pixel.
pub(super) struct WindowsBox<'c> {
    pub how: Windows,
    /// Channels of each element of the filter.
    pub channels: i64,
    image: Begin<'c>,
    /// Where the window of the first pixel begins.
    pixel: Vec<IrValue<'c>>,
    /// For each element a tile of channels, and by how much pixels are moved.
    elements: Vec<(IrValue<'c>, Vec<IrValue<'c>>)>,
}

impl<'c> WindowsBox<'c> {
    /// Of a tile of an image with this coordinate.
    ///
    /// # Errors
    /// Why no tensor map brings it, as a clause.
    pub fn of(
        how: Windows,
        image: Begin<'c>,
        at: &[IrValue<'c>],
        [rows, columns]: [i64; 2],
    ) -> Result<Self, String> {
        let modes = how.modes();
        let elements = how.elements(at.len()).ok_or("it has no such coordinate")?;
        let channels = columns / elements as i64;
        let (pixel, rest) = at.split_at(modes + 1);
        let each = rest
            .chunks(modes + 1)
            .map(|each| (each[0], each[1..].to_vec()));
        let of = WindowsBox {
            channels,
            image,
            pixel: pixel[1..].to_vec(),
            elements: each.collect(),
            how,
        };
        if !of.corners().is_of_rank(modes + 2) {
            return Err(format!(
                "a tensor map of {modes} modes of pixels has borders of {} bits, and steps of 1 to 8",
                MOVES[modes - 1]
            ));
        }
        if of
            .how
            .reach
            .iter()
            .any(|reach| *reach >> MOVES[modes - 1] != 0)
        {
            return Err(format!(
                "a tensor map moves pixels by at most {}",
                (1 << MOVES[modes - 1]) - 1
            ));
        }
        if rows > 256 {
            return Err("a tensor map brings at most 256 pixels at once".into());
        }
        Ok(of)
    }

    /// How many elements of the filter the tile has channels of.
    pub fn elements(&self) -> i64 {
        self.elements.len() as i64
    }

    /// The values that its place is made of.
    pub fn numbers(&self) -> impl Iterator<Item = IrValue<'c>> {
        let elements = self.elements.iter();
        let elements = elements.flat_map(|(part, moves)| std::iter::once(part).chain(moves));
        let pixel = self.pixel.iter().chain(elements).copied();
        self.image.value().into_iter().chain(pixel)
    }

    /// The pixels that the map goes through.
    pub fn corners(&self) -> Im2col {
        let numbers = |of: &[i64]| -> Vec<i32> {
            let of = of.iter().rev();
            of.map(|number| i32::try_from(*number).unwrap_or(i32::MAX))
                .collect()
        };
        let steps = self.how.step.iter().rev();
        Im2col {
            lower: numbers(&self.how.lower),
            upper: numbers(&self.how.upper),
            steps: steps
                .map(|step| u32::try_from(*step).unwrap_or(u32::MAX))
                .collect(),
        }
    }

    /// For each element the coordinate of the first pixel's first channel, and by how much pixels are moved; `value` gives the numbers.
    pub fn places(
        &self,
        ir: &OpBuilder<'c>,
        value: impl Fn(IrValue<'c>) -> IrValue<'c>,
    ) -> Result<Vec<Vec<IrValue<'c>>>, SemError> {
        // Numbers, of which is known what divides the last one.
        let tuple = |numbers: &[IrValue<'c>], divisor: i64| match numbers {
            [number] => *number,
            numbers => {
                let mut vars = Vars::default();
                let leaves = (1..=numbers.len()).map(|place| {
                    let divisor = if place == numbers.len() { divisor } else { 1 };
                    Tree::Leaf(Some(vars.fresh(Width::I32, divisor)))
                });
                let tuple = Val::Tuple(TupleKind::IntTuple, Tree::Node(leaves.collect()));
                ir.value(CuteOp::MakeIntTuple, numbers, &[], ir.val_type(&tuple))
            }
        };
        let image = match (self.image, self.image.value()) {
            (_, Some(image)) => narrowed(ir, number(ir, value(image))?),
            (Begin::Known(image), _) => ir.constant(image, "i32"),
            (_, None) => return Err(SemError::Illegal("is of no image".into())),
        };
        let pixel = self.pixel.iter().map(|number| value(*number));
        let pixel: Vec<IrValue<'c>> = std::iter::once(image).chain(pixel).collect();
        let mut places = Vec::new();
        for (part, moves) in &self.elements {
            let width = ir.constant(self.channels, "i32");
            let channel = ir.value(ArithOp::Muli, &[value(*part), width], &[], ir.ty("i32"));
            let leaf = Vars::default().fresh(Width::I32, self.channels);
            let leaf = Val::Tuple(TupleKind::IntTuple, Tree::Leaf(Some(leaf)));
            let channel = cute(ir, CuteOp::Assume, &[channel], &Attrs::result(leaf))?;
            let moves: Vec<IrValue<'c>> = moves.iter().map(|number| value(*number)).collect();
            let first = tuple(&[&pixel[..], &[channel]].concat(), self.channels);
            places.push(vec![first, tuple(&moves, 1)]);
        }
        Ok(places)
    }
}

/// Moves what the places of windows follow from out of the loops that do not change it.
pub(super) fn hoist_places(windows: IrOp) {
    let mut moved = HashSet::new();
    for operand in operands_of(windows).collect::<Vec<_>>() {
        hoist(operand, &mut moved);
    }
}

/// The load of a tile of windows, where a tensor map can bring it to products; else what is gathered says why not.
pub(super) fn load_of_windows<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    of: &tile::Windows<'c>,
) -> Option<IrOp<'c>> {
    let op = of.op();
    let mut ir = OpBuilder::new(context, Insertion::Before(op));
    ir.location = op.location();
    let operands: Vec<IrValue<'c>> = operands_of(op).skip(1).collect();
    let ty = of.result().r#type();
    let load = defining_op(ir.value(TileOp::Load, &operands, &attributes(op, &[WINDOWS]), ty))?;
    let fits = match is_only_multiplied(of.result()) {
        true => fits(load, function),
        false => Err("something else than a product takes it".into()),
    };
    match fits {
        Ok(()) => Some(load),
        Err(why) => {
            erase(load);
            let map = defining_op(of.gathered())?;
            set_attribute(map, GATHERED_SINCE, ir.string(&why));
            None
        }
    }
}

/// Whether a tensor map brings what a load of windows gives.
fn fits<'c>(load: IrOp<'c>, function: IrOp<'c>) -> Result<(), String> {
    let tile = tile_of(load, result_of(load, 0)).map_err(|(_, message)| message)?;
    let [_, columns] = tile.shape[..] else {
        return Err("it has not two axes".into());
    };
    let pieces = TensorBox::of(load, function, &tile.shape)?.pieces();
    let bytes = columns / pieces * tile.elem.bytes();
    if pieces > 1 && bytes < LEAST_PIECE {
        return Err(format!(
            "pieces of {bytes} bytes, the channels of an element, come slower by one"
        ));
    }
    check_load(load, &tile, function).map(drop)
}

/// Moves what a value follows from out of the loops that do not change it, if it has no effect.
fn hoist<'c>(value: IrValue<'c>, moved: &mut HashSet<usize>) {
    let Some(op) = defining_op(value).filter(|op| moved.insert(operation_key(*op))) else {
        return;
    };
    let used = captured(op);
    for operand in &used {
        hoist(*operand, moved);
    }
    if !has_no_effect(op) {
        return;
    }
    while let Some(around) = parent(op).filter(|around| ScfOp::For.is(*around)) {
        if used.iter().any(|value| is_inside(*value, around)) {
            return;
        }
        move_before(op, around);
    }
}
