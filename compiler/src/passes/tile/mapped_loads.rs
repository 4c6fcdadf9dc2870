//! Loads that tensor maps alone bring to `wgmma`, in the place of tiles that threads can make by themselves.
//!
//! Whether warpgroups multiply is decided when all that they would read is a load. If they do, what the loads took the place of goes; if not, the loads do.
use super::reshape_loads::merged_load;
use super::types::adds_to;
use super::windows::load_windows;
use crate::passes::ir_utils::{
    captured, defining_op, erase, replace_all_uses, set_operand, users, uses,
};
use cutec_dialects::builder::{IrOp, IrValue, result_of, results_of};
use cutec_dialects::ops::TileOp;
use cutec_dialects::target::{Feature, Target};
use melior::Context;

/// The loads of a kernel, for now, each with the tile that it took the place of.
#[derive(Default)]
pub(super) struct MappedLoads<'c> {
    loads: Vec<(IrOp<'c>, IrValue<'c>)>,
}

impl<'c> MappedLoads<'c> {
    /// Takes the place of windows, and of loads of several modes along an axis, of a kernel with these operations.
    pub fn all(
        context: &'c Context,
        function: IrOp<'c>,
        operations: &[IrOp<'c>],
        target: &Target,
    ) -> Self {
        let of_kind = |kind: TileOp| operations.iter().copied().filter(move |op| kind.is(*op));
        let mut mapped = MappedLoads::default();
        let windows = of_kind(TileOp::Windows).collect();
        load_windows(context, function, windows, target, &mut mapped);
        if has_maps(target) {
            for reshape in of_kind(TileOp::Reshape) {
                let reshaped = result_of(reshape, 0);
                if !factors(reshaped).is_empty()
                    && let Some(load) = merged_load(context, function, reshape)
                {
                    mapped.replace(reshaped, load);
                }
            }
        }
        mapped
    }

    /// Lets products that have a tile as a factor take a load. What else takes it still does.
    pub fn replace(&mut self, tile: IrValue<'c>, load: IrOp<'c>) {
        for (dot, index) in factors(tile) {
            set_operand(dot, index, result_of(load, 0));
        }
        self.loads.push((load, tile));
    }

    /// Takes the tiles after all; whether there are any.
    pub fn undo(&mut self) -> bool {
        let had = !self.loads.is_empty();
        for (load, tile) in self.loads.drain(..) {
            replace_all_uses(result_of(load, 0), tile);
            erase(load);
        }
        had
    }

    /// Keeps the loads: nothing makes tiles any more that only products took.
    pub fn keep(self) {
        for (_, tile) in self.loads {
            erase_unused(tile);
        }
    }
}

/// Whether a target has tensor maps, and products that read what they bring.
pub(super) fn has_maps(target: &Target) -> bool {
    target.has(Feature::Tma) && target.has(Feature::Wgmma)
}

/// The products that have a tile as a factor, with the number of the operand.
fn factors(tile: IrValue) -> Vec<(IrOp, usize)> {
    let mut taken = uses(tile);
    taken.retain(|(user, _)| TileOp::Dot.is(*user) && !adds_to(*user, tile));
    taken
}

/// Whether products take a tile as a factor, and nothing else does.
pub(super) fn is_only_multiplied(tile: IrValue) -> bool {
    let count = factors(tile).len();
    count > 0 && count == uses(tile).len()
}

/// Erases the operation of a tile that nothing uses, and those that it alone used.
pub(super) fn erase_unused(value: IrValue) {
    let mut values = vec![value];
    while let Some(value) = values.pop() {
        let Some(op) = defining_op(value) else {
            continue;
        };
        let unused = results_of(op).all(|result| users(result).is_empty());
        if !unused || TileOp::of(op).is_none() {
            continue;
        }
        values.retain(|other| defining_op(*other) != Some(op));
        values.extend(captured(op));
        erase(op);
    }
}
