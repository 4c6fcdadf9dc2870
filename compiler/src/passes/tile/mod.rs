//! Passes of the tile level, in their order; `docs/tile.md` says what each decides.
mod access_width;
mod accumulate;
mod across_factors;
pub mod assign_layouts;
pub mod bound_coordinates;
pub mod check_grid_barriers;
pub mod check_registers;
mod computed_operand;
pub mod conversions_back;
mod convert_packed;
mod coordinate;
pub mod delay_reductions;
mod emits;
mod epilogue_load;
mod exchange_factors;
pub mod forward_variables;
mod gathers;
mod held_factor;
pub mod hoist_loads;
pub mod insert_barriers;
mod issuable;
mod known_ops;
mod layout_classes;
pub mod legalize_swizzle;
mod load_again;
pub mod load_early;
pub mod lower_tokens;
mod mapped_loads;
mod mapped_view;
pub mod matrix_copies;
mod merge;
pub mod merge_reductions;
mod multicast;
mod order_of_rows;
mod outside;
pub mod partition;
mod pingpong;
pub mod pipeline;
pub mod promises;
mod raster;
mod registers;
mod rematerialize;
mod reshape_by_gather;
pub mod reshape_loads;
mod result_store;
mod rewrite_loads;
mod roles;
pub mod select_atoms;
mod share_products;
mod shifts;
mod signs;
mod slices;
mod smem_tile;
pub mod specialize_warps;
pub mod speculate;
pub mod stage_operands;
mod stages;
mod stay;
mod tensor_box;
mod transpose_gathers;
pub mod transpose_loads;
mod twins;
mod types;
mod warpgroup_products;
mod windows;
mod word_loads;

pub(super) use multicast::UNSHARED;
pub(super) use warpgroup_products::REASON;

use super::PassEntry;
use super::ir_utils::collect_nested;
use cutec_dialects::builder::IrOp;
use cutec_dialects::ops::TileOp;

/// The passes from the tile level to the cute level.
pub const PASSES: [PassEntry; 23] = [
    PassEntry {
        name: "tile-forward-variables",
        summary: "Takes what was assigned to variables of numbers for what they hold",
        run: forward_variables::forward_variables,
    },
    PassEntry {
        name: "tile-check-grid-barriers",
        summary: "Refuses barriers of all blocks that not all of them come to",
        run: check_grid_barriers::check_grid_barriers,
    },
    PassEntry {
        name: "tile-speculate",
        summary: "Computes both sides of branches that only compute integers",
        run: speculate::speculate,
    },
    PassEntry {
        name: "tile-bound-coordinates",
        summary: "Puts coordinates outside of a tensor directly behind its end",
        run: bound_coordinates::bound_coordinates,
    },
    PassEntry {
        name: "tile-raster",
        summary: "Gives each block its tile, in an order that L2 likes",
        run: raster::raster,
    },
    PassEntry {
        name: "tile-hoist-loads",
        summary: "Loads in front of a loop what is the same in each of its iterations",
        run: hoist_loads::hoist_loads,
    },
    PassEntry {
        name: "tile-merge",
        summary: "Computes and loads once what is there twice",
        run: merge::merge,
    },
    PassEntry {
        name: "tile-reshape-loads",
        summary: "Loads operands without the axes of extent 1 that a reshape leaves out",
        run: reshape_loads::reshape_loads,
    },
    PassEntry {
        name: "tile-transpose-loads",
        summary: "Loads a tile that is only transposed from the transposed view, or gathers it so",
        run: transpose_loads::transpose_loads,
    },
    PassEntry {
        name: "tile-select-atoms",
        summary: "Chooses the instruction of each product and the warps that share it",
        run: select_atoms::select_atoms,
    },
    PassEntry {
        name: "tile-assign-layouts",
        summary: "Chooses how the threads of a block hold each tile",
        run: assign_layouts::assign_layouts,
    },
    PassEntry {
        name: "tile-delay-reductions",
        summary: "Adds up in a loop what each thread has, and behind it what all threads have",
        run: delay_reductions::delay_reductions,
    },
    PassEntry {
        name: "tile-merge-reductions",
        summary: "Reduces a tile along several axes at once",
        run: merge_reductions::merge_reductions,
    },
    PassEntry {
        name: "tile-load-early",
        summary: "Loads in front of a loop of products what is needed behind it",
        run: load_early::load_early,
    },
    PassEntry {
        name: "tile-check-registers",
        summary: "Warns of tiles that threads have to keep and have no registers for",
        run: check_registers::check_registers,
    },
    PassEntry {
        name: "tile-stage-operands",
        summary: "Brings operands of products to shared memory, and from there to registers",
        run: stage_operands::stage_operands,
    },
    PassEntry {
        name: "tile-legalize-swizzle",
        summary: "Finds layouts of buffers in shared memory that are free of bank conflicts",
        run: legalize_swizzle::legalize_swizzle,
    },
    PassEntry {
        name: "tile-specialize-warps",
        summary: "Gives loads by tensor maps a warp of their own, and rings of stages",
        run: specialize_warps::specialize_warps,
    },
    PassEntry {
        name: "tile-pipeline",
        summary: "Begins the loads of a loop some iterations ahead, and reads operands one block of k ahead",
        run: pipeline::pipeline,
    },
    PassEntry {
        name: "insert-barriers",
        summary: "Puts barriers between accesses of different threads to one buffer",
        run: insert_barriers::insert_barriers,
    },
    PassEntry {
        name: "tile-lower-tokens",
        summary: "Commits and waits for asynchronous copies by the mechanism that completes them",
        run: lower_tokens::lower_tokens,
    },
    PassEntry {
        name: "tile-partition",
        summary: "Turns operations on tiles into what each thread does",
        run: partition::partition,
    },
    PassEntry {
        name: "tile-convert-packed",
        summary: "Makes numbers of the narrow integers in words",
        run: convert_packed::convert_packed,
    },
];

/// Whether a module has something of the tile level.
pub fn is_used_in(module: IrOp) -> bool {
    let mut operations = Vec::new();
    collect_nested(module, &mut operations);
    operations.iter().any(|op| TileOp::of(*op).is_some())
}
