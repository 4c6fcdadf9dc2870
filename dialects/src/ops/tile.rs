//! The operations of the `tile` dialect.
use super::{accessors, operations};
use crate::handles::{IrOp, IrValue};
use crate::semantics::AtomicKind;

operations! {
    /// An operation of the `tile` dialect.
    TileOp in "tile." {
        /// Which tile of the launch the block computes.
        Index = "index",
        /// How many tiles there are.
        Grid = "grid",
        /// A tile of a view.
        Load = "load",
        /// A gathered tile whose rows are pixels as the windows of a convolution meet them.
        Windows = "windows",
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
        /// Combines along an axis by a function of elements.
        Fold = "fold",
        /// Combines each element with those before it along an axis.
        Scan = "scan",
        /// The elements of a tile at coordinates.
        Gather = "gather",
        /// Writes each element of a tile to its place in a view.
        Scatter = "scatter",
        /// Updates elements of a view and gives what they were.
        Atomic = "atomic",
        /// Repeats axes of extent 1.
        Broadcast = "broadcast",
        /// Another shape of as many elements.
        Reshape = "reshape",
        /// The bits of a tile as elements of another type.
        Recast = "recast",
        /// Whether the block is the last that comes to a counter.
        Arrive = "arrive",
        /// Waits for all blocks of the launch.
        GridBarrier = "grid_barrier",
        /// Prints the rows of tiles.
        Print = "print",
        /// The element of a tile that has one, as a number.
        Extract = "extract",
        /// Exchanges two axes.
        Transpose = "transpose",
        /// A product.
        Dot = "dot",
        /// The same tile, distributed otherwise.
        ConvertLayout = "convert_layout",
        /// A part of a tile in registers.
        Slice = "slice",
        /// Tiles in registers, side by side.
        Join = "join",
        /// Begins an asynchronous copy into a stage of a buffer.
        CopyAsync = "copy_async",
        /// Begins to copy what a map reads into a stage of a buffer.
        GatherAsync = "gather_async",
        /// Begins to load a tile into memory of each thread's own.
        LoadAsync = "load_async",
        /// The tile that is there.
        Take = "take",
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
    /// How many tiles there are, along each axis.
    Grid is TileOp::Grid, 0 operands { operands counts 0 0; }
    /// A tile of a view in global memory.
    Load is TileOp::Load, 1 operand {
        operand view 0; operands at 1 0;
        attribute fill; attribute copy; attribute swizzle;
    }
    /// A gathered tile whose rows are pixels of a view as the windows of a convolution meet them.
    Windows is TileOp::Windows, 2 operands { operand gathered 0; operand view 1; operands at 2 0; }
    /// A tile that is written to a view in global memory, or updates it.
    Store is TileOp::Store, 2 operands {
        operand value 0; operand view 1; operands at 2 0;
        attribute atomic;
    }
    /// A number for all elements.
    Splat is TileOp::Splat, 1 operand { operand value 0; }
    /// A function of the elements of tiles.
    Map is TileOp::Map, 0 operands { operands inputs 0 0; }
    /// What the body of a map, a fold or a scan gives.
    Yield is TileOp::Yield, 1 operand { operand value 0; operands values 0 0; }
    /// A reduction along an axis.
    Reduce is TileOp::Reduce, 1 operand {
        operand input 0;
        attribute axis; attribute kind;
    }
    /// Tiles combined along an axis by a function.
    Combining is TileOp::Fold | TileOp::Scan, 1 operand {
        operands inputs 0 0;
        attribute axis; attribute reverse; attribute exclusive;
    }
    /// The elements of a tile at coordinates.
    Gather is TileOp::Gather, 2 operands { operand input 0; operands at 1 0; }
    /// Elements that are written each to its place in a view.
    Scatter is TileOp::Scatter, 3 operands {
        operand value 0; operand view 1; operands at 2 0;
        attribute atomic;
    }
    /// Elements of a view that are updated, and what they were.
    Atomic is TileOp::Atomic, 2 operands {
        operand view 0; operands tiles 1 0;
        attribute kind;
    }
    /// The elements of a tile along other axes.
    Reshaping is TileOp::Reduce | TileOp::Fold | TileOp::Broadcast | TileOp::Transpose | TileOp::Reshape | TileOp::Recast, 1 operand { operand input 0; }
    /// The bits of a tile as elements of another type.
    Recast is TileOp::Recast, 1 operand { operand input 0; attribute order; }
    /// A block that comes to a counter.
    Arrive is TileOp::Arrive, 3 operands { operand view 0; operand at 1; operand count 2; }
    /// A block that waits for all others.
    GridBarrier is TileOp::GridBarrier, 2 operands { operand view 0; operand at 1; }
    /// Tiles and numbers that are printed.
    Print is TileOp::Print, 1 operand { operands values 0 0; attribute format; }
    /// A product.
    Dot is TileOp::Dot, 3 operands {
        operand a 0; operand b 1; operand c 2;
        attribute mma; attribute precision; attribute negated;
    }
    /// The same tile in another layout.
    ConvertLayout is TileOp::ConvertLayout, 1 operand { operand input 0; }
    /// A part of a tile.
    Slice is TileOp::Slice, 1 operand { operand input 0; attribute offsets; }
    /// Tiles side by side.
    Join is TileOp::Join, 1 operand { operands parts 0 0; attribute axis; }
    /// An asynchronous copy of a tile into a stage of a buffer.
    CopyAsync is TileOp::CopyAsync, 3 operands {
        operand view 0; operands at 1 2; last buffer 2; last stage 1;
        attribute copy;
    }
    /// An asynchronous copy of what a map reads into a stage of a buffer.
    GatherAsync is TileOp::GatherAsync, 3 operands {
        operand value 0; operand buffer 1; operand stage 2;
        attribute copy; attribute divisors;
    }
    /// A tile that waits in memory of each thread's own.
    Waiting is TileOp::LoadAsync | TileOp::Take, 3 operands {
        operand view 0; operands at 1 2; last buffer 2; last slot 1;
        attribute parts; attribute younger; attribute fill;
    }
    /// A group of asynchronous copies.
    Commit is TileOp::Commit, 0 operands { operands copies 0 0; }
    /// The end of groups.
    Wait is TileOp::Wait, 0 operands { operands groups 0 0; }
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

impl<'c> Dot<'c> {
    /// The factors `a` and `b`.
    pub fn factors(self) -> [IrValue<'c>; 2] {
        [self.a(), self.b()]
    }
}

impl<'c> Atomic<'c> {
    /// How elements are updated; `None` where it is no such kind.
    pub fn how(self) -> Option<AtomicKind> {
        let kind = self.kind()?.to_string();
        AtomicKind::parse(kind.trim_matches('"')).ok()
    }

    /// The coordinates of the elements, and the tiles that they are updated by: the new one, and the one that is expected.
    pub fn at_and_values(self) -> (Vec<IrValue<'c>>, Vec<IrValue<'c>>) {
        let mut at = self.tiles();
        let values = self.how().map_or(1, AtomicKind::values);
        let values = at.split_off(at.len().saturating_sub(values));
        (at, values)
    }
}

/// The view in global memory that an operation writes, if it writes one.
pub fn written_view(op: IrOp<'_>) -> Option<IrValue<'_>> {
    let store = Store::of(op).map(Store::view);
    let scatter = || Scatter::of(op).map(Scatter::view);
    let atomic = || Atomic::of(op).map(Atomic::view);
    store.or_else(scatter).or_else(atomic)
}

/// A `tile.load` or `tile.store`: a tile and the view in global memory that it lies in.
#[derive(Clone, Copy)]
pub struct Access<'c> {
    /// The tile.
    pub tile: IrValue<'c>,
    /// The view.
    pub view: IrValue<'c>,
}

impl<'c> Access<'c> {
    /// What an operation accesses, if it is one of these.
    pub fn of(op: IrOp<'c>) -> Option<Self> {
        let load = Load::of(op).map(|load| (load.result(), load.view()));
        let store = || Store::of(op).map(|store| (store.value(), store.view()));
        load.or_else(store)
            .map(|(tile, view)| Access { tile, view })
    }
}
