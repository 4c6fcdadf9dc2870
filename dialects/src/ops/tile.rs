//! The operations of the `tile` dialect.
use super::{accessors, operations};

operations! {
    /// An operation of the `tile` dialect.
    TileOp in "tile." {
        /// Which tile of the launch the block computes.
        Index = "index",
        /// How many tiles there are.
        Grid = "grid",
        /// A tile of a view.
        Load = "load",
        /// Writes a tile to a view.
        Store = "store",
        /// One number everywhere.
        Splat = "splat",
        /// The coordinate along an axis.
        Iota = "iota",
        /// A function of elements.
        Map = "map",
        /// What that function gives.
        Yield = "yield",
        /// Combines along an axis.
        Reduce = "reduce",
        /// Repeats axes of extent 1.
        Broadcast = "broadcast",
        /// Adds or removes axes of extent 1.
        Reshape = "reshape",
        /// Exchanges two axes.
        Transpose = "transpose",
        /// A product.
        Dot = "dot",
        /// The same tile, distributed otherwise.
        ConvertLayout = "convert_layout",
        /// A part of a tile in registers.
        Slice = "slice",
        /// Begins an asynchronous copy into a stage of a buffer.
        CopyAsync = "copy_async",
        /// Makes a group of asynchronous copies.
        Commit = "commit",
        /// Waits for groups.
        Wait = "wait",
        /// A part of a stage, in registers.
        Read = "read",
        /// A tile in registers into a stage.
        Write = "write",
    }
}

accessors! {
    /// A tile of a view in global memory.
    Load is TileOp::Load, 1 operand {
        operand view 0; operands at 1 0;
        attribute fill; attribute copy; attribute swizzle;
    }
    /// A tile that is written to a view in global memory, or updates it.
    Store is TileOp::Store, 2 operands {
        operand value 0; operand view 1; operands at 2 0;
        attribute atomic;
    }
    /// A number for all elements.
    Splat is TileOp::Splat, 1 operand { operand value 0; }
    /// The result of a map's function.
    Yield is TileOp::Yield, 1 operand { operand value 0; }
    /// A reduction along an axis.
    Reduce is TileOp::Reduce, 1 operand {
        operand input 0;
        attribute axis; attribute kind;
    }
    /// A product.
    Dot is TileOp::Dot, 3 operands {
        operand a 0; operand b 1; operand c 2;
        attribute mma;
    }
    /// The same tile in another layout.
    ConvertLayout is TileOp::ConvertLayout, 1 operand { operand input 0; }
    /// A part of a tile.
    Slice is TileOp::Slice, 1 operand { operand input 0; attribute offsets; }
    /// An asynchronous copy of a tile into a stage of a buffer.
    CopyAsync is TileOp::CopyAsync, 3 operands {
        operand view 0; operands at 1 2; last buffer 2; last stage 1;
        attribute copy;
    }
    /// A part of a stage, in registers.
    Read is TileOp::Read, 2 operands {
        operand buffer 0; operand stage 1;
        attribute offsets; attribute copy;
    }
    /// A tile in registers that is written to a stage.
    Write is TileOp::Write, 3 operands {
        operand value 0; operand buffer 1; operand stage 2;
        attribute copy;
    }
}
