//! Where the elements of a gathered tile lie, computed for the first of each vector by the thread that copies it.
use super::Sharing;
use crate::passes::ir_utils::{blocks, collect_nested, defining_op};
use crate::passes::tile::issuable::{control_flow, issuable_numbers};
use crate::passes::tile::types::{differ_in_units, tile_of};
use cutec_dialects::builder::{
    IrOp, IrValue, argument_of, operands_of, operation_key, result_of, results_of, value_key,
};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{Op, ScfOp, TileOp, cute, tile};
use cutec_dialects::tile::BY_ELEMENT;
use melior::ir::{BlockLike, operation::OperationLike};
use std::collections::{HashMap, HashSet};

/// The coordinate of an element along an axis of a tile.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::passes::tile) enum Axis {
    /// The first one; there are no others.
    First,
    /// That of the line which a thread copies in a pass.
    Line(Sharing, i64),
    /// That of the vector which a thread copies.
    Vector(Sharing),
}

/// An element of a tile.
pub(in crate::passes::tile) type Place = Vec<Axis>;

/// What a thread computes of tiles for the places of what it copies.
pub(in crate::passes::tile) struct Places<'c> {
    /// The elements of the results of operations that it needs.
    pub elements: HashMap<usize, Vec<Place>>,
    /// Numbers that it needs, which are no tiles'.
    pub numbers: Vec<IrValue<'c>>,
}

/// The place of an element of a tile of a shape: along an axis of extent 1 there is one.
fn within(place: &[Axis], shape: &[i64]) -> Place {
    let axes = place.iter().zip(shape);
    axes.map(|(axis, extent)| if *extent == 1 { Axis::First } else { *axis })
        .collect()
}

/// The place of the same element before a `tile.reshape`, from one shape to another.
fn reshaped(place: &[Axis], from: &[i64]) -> Place {
    let mut long = place.iter().filter(|axis| **axis != Axis::First);
    let axes = from.iter().map(|extent| match extent {
        1 => Axis::First,
        _ => long.next().copied().unwrap_or(Axis::First),
    });
    axes.collect()
}

/// The element of an operation's operand that an element of its result is made of; of maps that of each operand.
pub(in crate::passes::tile) fn before<'c>(
    op: IrOp<'c>,
    input: IrValue<'c>,
    place: &[Axis],
) -> Result<Place, String> {
    let from = tile_of(op, input).map_err(|(_, message)| message)?;
    Ok(match TileOp::of(op) {
        Some(TileOp::Reshape) => {
            let to = tile_of(op, result_of(op, 0)).map_err(|(_, message)| message)?;
            if !differ_in_units(&from.shape, &to.shape) {
                return Err(
                    "where it lies depends on a tile of which axes are merged or split".into(),
                );
            }
            reshaped(place, &from.shape)
        }
        _ => within(place, &from.shape),
    })
}

impl<'c> Places<'c> {
    /// For the elements of a gathered tile, which lie in a view.
    ///
    /// # Errors
    /// What a thread that copies cannot compute, as a clause.
    pub fn of(
        map: IrOp<'c>,
        view: IrValue<'c>,
        fast: usize,
        sharing: Sharing,
        function: IrOp<'c>,
        is_read_only: &impl Fn(IrValue<'c>) -> bool,
    ) -> Result<Self, String> {
        let mut places = Places {
            elements: HashMap::new(),
            numbers: Vec::new(),
        };
        if !is_read_only(view) {
            return Err("it is gathered from a tensor that the kernel writes".into());
        }
        places.numbers.push(view);
        for pass in 0..sharing.passes {
            let mut place = vec![Axis::Line(sharing, pass); 2];
            place[fast] = Axis::Vector(sharing);
            for input in operands_of(map) {
                let place = before(map, input, &place)?;
                places.tile(input, place, is_read_only)?;
            }
        }
        places.function(map, is_read_only)?;
        places.numbers.extend(control_flow(map, function)?);
        let numbers = places.numbers.clone();
        issuable_numbers(numbers, map, function, is_read_only)?;
        Ok(places)
    }

    /// Adds an element of a tile, and those that it is made of.
    fn tile(
        &mut self,
        value: IrValue<'c>,
        place: Place,
        is_read_only: &impl Fn(IrValue<'c>) -> bool,
    ) -> Result<(), String> {
        let carried = "where it lies depends on a tile that a loop or a branch gives";
        let op = defining_op(value).ok_or(carried)?;
        let of = tile_of(op, value).map_err(|(_, message)| message)?;
        let place = within(&place, &of.shape);
        let known = self.elements.entry(operation_key(op)).or_default();
        if known.contains(&place) {
            return Ok(());
        }
        let first = known.is_empty();
        known.push(place.clone());
        match TileOp::of(op) {
            Some(TileOp::Iota) => Ok(()),
            Some(TileOp::Splat) => {
                self.numbers.extend(operands_of(op));
                Ok(())
            }
            Some(TileOp::Broadcast | TileOp::Reshape | TileOp::ConvertLayout | TileOp::Map) => {
                for input in operands_of(op).collect::<Vec<_>>() {
                    self.tile(input, before(op, input, &place)?, is_read_only)?;
                }
                match first && TileOp::Map.is(op) {
                    true => self.function(op, is_read_only),
                    false => Ok(()),
                }
            }
            Some(TileOp::Load) => {
                let load = tile::Load::of(op).ok_or("an operand is missing")?;
                if !is_read_only(load.view()) {
                    return Err("where it lies depends on a tensor that the kernel writes".into());
                }
                if op.attribute(BY_ELEMENT).is_ok() {
                    return Err("where it lies is loaded at an offset".into());
                }
                self.numbers.extend(operands_of(op));
                Ok(())
            }
            _ => Err("where it lies depends on what the block computes together".into()),
        }
    }

    /// Adds the numbers that the function of a map uses, if it has no effect but reading.
    fn function(
        &mut self,
        map: IrOp<'c>,
        is_read_only: &impl Fn(IrValue<'c>) -> bool,
    ) -> Result<(), String> {
        let mut inside = Vec::new();
        collect_nested(map, &mut inside);
        let results: HashSet<usize> = inside
            .iter()
            .filter(|op| **op != map)
            .flat_map(|op| results_of(*op).map(value_key).collect::<Vec<_>>())
            .collect();
        let arguments: HashSet<usize> = blocks(map, 0)
            .into_iter()
            .flat_map(|body| {
                (0..body.argument_count())
                    .map(move |index| value_key(argument_of(body, index)))
                    .collect::<Vec<_>>()
            })
            .collect();
        for op in inside.into_iter().filter(|op| *op != map) {
            let reads = cute::MemrefLoad::of(op).is_some_and(|load| is_read_only(load.view()));
            let known = match Op::of(op) {
                Some(Op::TileOp(TileOp::Yield) | Op::ScfOp(ScfOp::If | ScfOp::Yield)) => true,
                _ => reads || has_no_effect(op),
            };
            if !known {
                return Err("where it lies depends on what the kernel does meanwhile".into());
            }
            let outside = operands_of(op).filter(|value| {
                let key = value_key(*value);
                !results.contains(&key) && !arguments.contains(&key)
            });
            self.numbers.extend(outside);
        }
        Ok(())
    }
}
