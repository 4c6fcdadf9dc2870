//! The operations of the `tile` dialect.
use super::operations;

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
