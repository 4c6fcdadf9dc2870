//! What kernels at the tile level leave open, for tools that check accesses: a part of the ABI, taken from the module before
//! its tiles are lowered.

use super::ir_utils::{collect_nested, kernels, string_attribute};
use crate::codegen::messages::{Place, place};
use cutec_abi::TilesAbi;
use cutec_dialects::builder::IrOp;
use cutec_dialects::ops::TileOp;
use melior::ir::operation::OperationLike;
use std::collections::BTreeSet;

/// The kernels of a module that are at the tile level, by name.
pub fn tile_kernels(module: IrOp) -> Vec<(String, TilesAbi)> {
    let functions = kernels(module).into_iter();
    let functions = functions.flat_map(|(_, functions)| functions);
    let of_tiles = |function: IrOp| {
        let mut nested = Vec::new();
        collect_nested(function, &mut nested);
        let tiles: Vec<IrOp> = nested
            .into_iter()
            .filter(|op| TileOp::of(*op).is_some())
            .collect();
        // An update of elements combines all of them.
        let scatters = tiles
            .iter()
            .filter(|op| TileOp::Scatter.is(**op) && string_attribute(**op, "atomic").is_none());
        let places = scatters.filter_map(|op| place(op.location()));
        let places: BTreeSet<(String, u32, u32)> = places
            .map(|Place { file, line, column }| (file, line, column))
            .collect();
        let scatters = places.into_iter().collect();
        let name = string_attribute(function, "sym_name").unwrap_or_default();
        (!tiles.is_empty()).then_some((name, TilesAbi { scatters }))
    };
    functions.filter_map(of_tiles).collect()
}
