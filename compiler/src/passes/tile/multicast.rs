//! Which blocks form clusters that load together what their tiles have in common.
//!
//! Tiles below each other multiply by the same tile of b, tiles beside each other by the same tile of a. The blocks of a cluster have
//! neighbouring tiles: of what several of them load alike each loads a part, which its tensor map sends to the shared memory of all
//! of them. A stage is free when the warpgroups of all these blocks have released it.
use super::coordinate::Coordinate;
use super::issuable::{control_flow, read_only};
use super::known_ops::{KnownOp, known_op};
use super::raster::varies_along;
use super::smem_tile::{part_of, tile_in};
use super::tensor_box::TensorBox;
use super::types::{Failed, fast_axis, present, view_of};
use crate::passes::ir_utils::users;
use crate::passes::kernel_abi::{MULTICAST, blocks_of_tile};
use cutec_dialects::atoms::TmaAtom;
use cutec_dialects::builder::{IrOp, IrValue, integer_array, operation_key, result_of};
use cutec_dialects::ops::{TileOp, cute, tile};
use cutec_dialects::target::{Feature, Target};
use cutec_dialects::tile::{BOX, Precision, WINDOWS};
use melior::ir::operation::OperationLike;
use std::collections::HashMap;
use std::sync::Arc;

/// The attribute of products, and of gemms, that says why what they take is not loaded together.
pub(in crate::passes) const UNSHARED: &str = "cute.unshared";

/// How many blocks along m and n load together where the program does not say. On an H200 products of 2048³ to 8192³ are as fast
/// with pairs as without (the hand-written kernel, `docs/performance.md`): L2 answers the reads that neighbouring multiprocessors
/// begin alike at once, and a pair waits for the slower of its blocks. So a block is alone.
const DEFAULT: [i64; 2] = [1, 1];

/// How many blocks along m and n a kernel asks for, where the target can do it and that is more than one.
pub(super) fn asked(function: IrOp, target: &Target) -> Option<[i64; 2]> {
    let asked = function.attribute(MULTICAST).ok().and_then(integer_array);
    let asked = match asked.as_deref() {
        Some(&[along_m, along_n]) => [along_m, along_n],
        Some(_) => return None,
        None if blocks_of_tile(function) > 1 => return None,
        None => DEFAULT,
    };
    let can = [Feature::Wgmma, Feature::Tma, Feature::Clusters];
    (asked != [1, 1] && can.into_iter().all(|feature| target.has(feature))).then_some(asked)
}

/// A copy of which each of several blocks begins a part for all of them.
#[derive(Clone)]
pub(super) struct Share {
    /// Whether those along m share it, and those along n.
    pub axes: [bool; 2],
    /// Into how many parts the tile is divided, and along which of its axes.
    pub parts: i64,
    pub axis: usize,
    /// The copy of a part.
    pub atom: Arc<TmaAtom>,
}

/// The clusters of a kernel.
pub(super) struct Multicast {
    /// Blocks of a cluster along m and n.
    pub extents: [i64; 2],
    /// What is shared, by the operation that begins its copy.
    shares: HashMap<usize, Share>,
}

impl Multicast {
    /// Blocks that load for themselves.
    pub fn alone() -> Self {
        Multicast {
            extents: [1, 1],
            shares: HashMap::new(),
        }
    }

    /// Of a kernel with these operations, `copies` those that begin copies by tensor maps, whose tiles are not lowered yet; blocks are alone
    /// where it asks for no clusters.
    ///
    /// # Errors
    /// Why there is none of the clusters that it asks for, as a clause.
    pub fn of<'c>(
        function: IrOp<'c>,
        operations: &[IrOp<'c>],
        copies: &[IrOp<'c>],
        target: &Target,
    ) -> Result<Self, String> {
        let Some(extents) = asked(function, target) else {
            return Ok(Self::alone());
        };
        let is_read_only = read_only(function);
        let mut operations = operations.iter();
        operations.try_for_each(|op| stands_padding(*op, &is_read_only))?;
        if copies.iter().any(|copy| is_split(*copy)) {
            return Err("warps read it to split it into parts".into());
        }
        let (mut shares, mut reasons) = (HashMap::new(), Vec::new());
        for copy in copies {
            match Share::of(*copy, function, extents) {
                Ok(share) => {
                    shares.insert(operation_key(*copy), share);
                }
                Err(reason) => reasons.push(reason),
            }
        }
        match shares.is_empty() {
            false => Ok(Multicast { extents, shares }),
            true => {
                reasons.dedup();
                Err(reasons.join("; "))
            }
        }
    }

    /// How a copy is shared, if it is.
    pub fn share(&self, copy: IrOp) -> Option<&Share> {
        self.shares.get(&operation_key(copy))
    }

    /// How many blocks a cluster has.
    pub fn blocks(&self) -> i64 {
        self.extents.iter().product()
    }
}

impl Share {
    fn of<'c>(copy: IrOp<'c>, function: IrOp<'c>, extents: [i64; 2]) -> Result<Self, String> {
        let of_modes = [
            (WINDOWS, "windows"),
            (BOX, "tiles of several modes along an axis"),
        ];
        if let Some((_, what)) = of_modes
            .iter()
            .find(|(name, _)| copy.attribute(name).is_ok())
        {
            return Err(format!("{what} are loaded by each block for itself"));
        }
        let message = |(_, message): Failed<'c>| message;
        let varies = copy_varies(copy, function)?;
        let axes = [0, 1].map(|axis| extents[axis] > 1 && !varies[axis]);
        let parts = (0..2)
            .filter(|axis| axes[*axis])
            .map(|axis| extents[axis])
            .product::<i64>();
        if parts == 1 {
            return Err("the tiles of a cluster have nothing in common that is loaded".into());
        }
        let begun = present(copy, tile::CopyAsync::of(copy)).map_err(message)?;
        let buffer = begun.buffer();
        let view = view_of(buffer).ok_or("the buffer is no view")?;
        let (tile, _) = tile_in(&view).ok_or("the buffer has no stages")?;
        let fast = fast_axis(buffer).map_or(1, |(axis, _)| axis);
        // Rows of the swizzle are never divided.
        let axis = 1 - fast;
        if Coordinate::of(copy)?.is_offset(axis) {
            return Err(format!(
                "a tile begins at an offset along mode {axis}, and has no parts there"
            ));
        }
        let uneven = || {
            format!(
                "a tile of {} × {} is not {parts} parts of whole eights, and of whole 128 bytes, along mode {axis}",
                tile.shape[0], tile.shape[1]
            )
        };
        let part = part_of(&view, axis, parts).ok_or_else(uneven)?;
        let mut shape = tile.shape.clone();
        shape[axis] /= parts;
        let atom = TensorBox::of(copy, function, &shape)?.load(&part);
        let atom = Arc::new(atom.map_err(|error| error.to_string())?);
        Ok(Share {
            axes,
            parts,
            axis,
            atom,
        })
    }
}

/// Whether products take parts of what a copy brings.
fn is_split(copy: IrOp) -> bool {
    let Some(begun) = tile::CopyAsync::of(copy) else {
        return false;
    };
    let reads = users(begun.buffer()).into_iter();
    let taken = reads
        .filter(|user| TileOp::Read.is(*user))
        .flat_map(|read| users(result_of(read, 0)));
    taken
        .into_iter()
        .any(|user| TileOp::Dot.is(user) && Precision::of(&user) == Ok(Precision::Tf32x3))
}

/// Along which of the first two axes of the launch it differs what a copy brings, or how often.
fn copy_varies<'c>(copy: IrOp<'c>, function: IrOp<'c>) -> Result<[bool; 2], String> {
    let begun = tile::CopyAsync::of(copy).ok_or("an operand is missing")?;
    let mut needed: Vec<IrValue<'c>> = begun.at();
    needed.push(begun.view());
    needed.extend(control_flow(copy, function)?);
    let varies = needed.into_iter().map(varies_along);
    Ok(varies.fold([false; 2], |[rows, columns], [row, column]| {
        [rows || row, columns || column]
    }))
}

/// Whether an operation may be done by a block that has no tile of the launch, and computes the last one again.
///
/// # Errors
/// What it would do twice, as a clause.
fn stands_padding<'c>(
    op: IrOp<'c>,
    is_read_only: &impl Fn(IrValue<'c>) -> bool,
) -> Result<(), String> {
    let twice = |what: &str| {
        Err(format!(
            "the kernel {what}, which a block without a tile would do too"
        ))
    };
    match known_op(op)? {
        KnownOp::Tile(TileOp::Scatter) => twice("writes to coordinates that it computes"),
        KnownOp::Tile(TileOp::Atomic) => twice("updates elements and asks what they were"),
        KnownOp::Tile(TileOp::Arrive) => twice("counts its blocks"),
        KnownOp::Report => twice("prints, or traps"),
        KnownOp::ReadGlobal
            if cute::MemrefLoad::of(op).is_some_and(|load| !is_read_only(load.view())) =>
        {
            twice("reads single elements of what it writes")
        }
        // What is stored, and loaded of what is written, has a coordinate that is behind every tensor then.
        KnownOp::Tile(_)
        | KnownOp::ControlFlow
        | KnownOp::ReadGlobal
        | KnownOp::Register
        | KnownOp::Buffer
        | KnownOp::Computation
        | KnownOp::Barrier
        | KnownOp::WarpBarrier
        | KnownOp::CopyGroup
        | KnownOp::ProductGroup
        | KnownOp::Ring => Ok(()),
    }
}
