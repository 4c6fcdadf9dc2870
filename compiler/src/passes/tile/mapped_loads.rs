//! Loads that tensor maps alone bring to `wgmma`, in the place of tiles that threads can make by themselves.
//!
//! Whether warpgroups multiply is decided when all that they would read is a load. If they do, what the loads took the place of goes; if not, the loads do.
use super::reshape_loads::merged_load;
use super::rewrite_loads::erase_unused;
use super::types::factors;
use super::windows::{hoist_places, load_of_windows};
use crate::passes::ir_utils::{erase, replace_all_uses, set_operand};
use cutec_dialects::builder::{IrOp, IrValue, result_of};
use cutec_dialects::ops::{TileOp, tile};
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
        let has_maps = target.has(Feature::Tma) && target.has(Feature::Wgmma);
        let mut mapped = MappedLoads::default();
        for of in operations.iter().copied().filter_map(tile::Windows::of) {
            let (op, gathered) = (of.op(), of.gathered());
            hoist_places(op);
            let load = has_maps.then(|| load_of_windows(context, function, &of));
            replace_all_uses(of.result(), gathered);
            erase(op);
            if let Some(load) = load.flatten() {
                mapped.replace(gathered, load);
            }
        }
        let reshapes = operations.iter().copied();
        for reshape in reshapes.filter(|op| has_maps && TileOp::Reshape.is(*op)) {
            let reshaped = result_of(reshape, 0);
            if !factors(reshaped).is_empty()
                && let Some(load) = merged_load(context, function, reshape)
            {
                mapped.replace(reshaped, load);
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
