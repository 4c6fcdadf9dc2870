//! The operations of the `tile` dialect, as an enum: passes match on all of them.
use crate::builder::IrOp;
use melior::ir::operation::OperationLike;

/// An operation of the `tile` dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TileOp {
    /// `tile.index`: which tile of the launch the block computes.
    Index,
    /// `tile.grid`: how many tiles there are.
    Grid,
    /// `tile.load`: a tile of a view.
    Load,
    /// `tile.store`: writes a tile to a view.
    Store,
    /// `tile.splat`: one number everywhere.
    Splat,
    /// `tile.iota`: the coordinate along an axis.
    Iota,
    /// `tile.map`: a function of elements.
    Map,
    /// `tile.yield`: what that function gives.
    Yield,
    /// `tile.reduce`: combines along an axis.
    Reduce,
    /// `tile.broadcast`: repeats axes of extent 1.
    Broadcast,
    /// `tile.reshape`: adds or removes axes of extent 1.
    Reshape,
    /// `tile.transpose`: exchanges two axes.
    Transpose,
    /// `tile.dot`: a product.
    Dot,
    /// `tile.convert_layout`: the same tile, distributed otherwise.
    ConvertLayout,
    /// `tile.slice`: a part of a tile in registers.
    Slice,
    /// `tile.copy_async`: begins an asynchronous copy into a stage of a buffer.
    CopyAsync,
    /// `tile.commit`: makes a group of asynchronous copies.
    Commit,
    /// `tile.wait`: waits for groups.
    Wait,
    /// `tile.read`: a part of a stage, in registers.
    Read,
    /// `tile.write`: a tile in registers into a stage.
    Write,
}

impl TileOp {
    /// All of them, each with its name behind `tile.`.
    pub const ALL: [(TileOp, &str); 20] = [
        (TileOp::Index, "index"),
        (TileOp::Grid, "grid"),
        (TileOp::Load, "load"),
        (TileOp::Store, "store"),
        (TileOp::Splat, "splat"),
        (TileOp::Iota, "iota"),
        (TileOp::Map, "map"),
        (TileOp::Yield, "yield"),
        (TileOp::Reduce, "reduce"),
        (TileOp::Broadcast, "broadcast"),
        (TileOp::Reshape, "reshape"),
        (TileOp::Transpose, "transpose"),
        (TileOp::Dot, "dot"),
        (TileOp::ConvertLayout, "convert_layout"),
        (TileOp::Slice, "slice"),
        (TileOp::CopyAsync, "copy_async"),
        (TileOp::Commit, "commit"),
        (TileOp::Wait, "wait"),
        (TileOp::Read, "read"),
        (TileOp::Write, "write"),
    ];

    /// The operation of a name such as `tile.load`.
    pub fn of_name(name: &str) -> Option<TileOp> {
        let name = name.strip_prefix("tile.")?;
        let mut all = TileOp::ALL.iter();
        all.find(|(_, own)| *own == name).map(|(op, _)| *op)
    }

    /// What an operation is; `None` where it is of another dialect.
    pub fn of(op: IrOp) -> Option<TileOp> {
        TileOp::of_name(op.name().as_string_ref().as_str().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::TileOp;

    /// Every operation that TableGen declares has a variant, and every variant is declared.
    #[test]
    fn all_operations_of_the_dialect_are_listed() {
        let declared = include_str!("../../cpp/Tile.td");
        let mut names: Vec<&str> = declared
            .lines()
            .filter_map(|line| line.split_once(": Tile_Op<\"")?.1.split('"').next())
            .collect();
        let mut listed: Vec<&str> = TileOp::ALL.iter().map(|(_, name)| *name).collect();
        names.sort_unstable();
        listed.sort_unstable();
        assert_eq!(names, listed);
    }
}
