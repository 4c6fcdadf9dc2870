//! Where a thread, a block and a tile stand.

use super::builtin::{Builtin, Level, Lowering, Register};

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new(
        "thread_idx",
        Lowering::Register(Register::ThreadIdx),
        "The thread in its block; also `.y`, `.z`.",
    )
    .at(Level::Threads),
    Builtin::new(
        "block_idx",
        Lowering::Register(Register::BlockIdx),
        "The block in the grid; also `.y`, `.z`.",
    )
    .at(Level::Threads),
    Builtin::new(
        "block_dim",
        Lowering::Register(Register::BlockDim),
        "The threads of a block along an axis, known while compiling; also `.y`, `.z`.",
    )
    .at(Level::Threads),
    Builtin::new(
        "grid_dim",
        Lowering::Register(Register::GridDim),
        "The blocks of the grid along an axis; also `.y`, `.z`.",
    )
    .at(Level::Threads),
    Builtin::new(
        "tile",
        Lowering::TileIndex,
        "The tile that the block computes, as a coordinate in `launch tiles(…)`; also `.n`, `.l`, `.b`.",
    )
    .at(Level::Tiles),
];
