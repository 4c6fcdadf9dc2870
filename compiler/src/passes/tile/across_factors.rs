//! Factors whose rows lie across memory, of elements of which `wgmma` reads rows of k side by side alone: 8 bits and tf32.
//!
//! From registers it multiplies a first factor that lies anyhow, as one that is computed of what each round loads (`computed_operand.rs`): so such a
//! load gets a map that gives each element as it is. A second factor becomes the first one (`exchange_factors.rs`). Where both factors lie across,
//! one of them would have to be written to shared memory again in each round: there, and where memory decides, `mma.sync` multiplies.
use super::computed_operand::{Origins, passes_on};
use super::emits::map_of;
use super::held_factor::{is_across, waits_for_memory};
use super::types::tile_of;
use super::warpgroup_products::box_of;
use crate::passes::control_flow::in_loop;
use crate::passes::ir_utils::{
    erase, next_operation, replace_all_uses, same_block, set_operand, users,
};
use cutec_dialects::atoms::Wgmma;
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder, result_of};
use cutec_dialects::ops::tile;
use cutec_dialects::target::{Feature, Target};
use cutec_dialects::tile::Precision;
use melior::Context;
use melior::ir::operation::OperationLike;

/// Bits of elements of which a register has four, and one.
pub(super) const BYTE: i64 = 8;
const WORD: i64 = 32;

/// The maps of a kernel's factors that give them as they are, for now.
#[derive(Default)]
pub(super) struct AcrossFactors<'c> {
    maps: Vec<tile::Map<'c>>,
}

impl<'c> AcrossFactors<'c> {
    /// Gives each product one of whose factors lies across such a map, where a tensor map can bring it.
    pub fn of(
        context: &'c Context,
        function: IrOp<'c>,
        dots: &[IrOp<'c>],
        target: &Target,
    ) -> Self {
        let mut across = AcrossFactors::default();
        if !target.has(Feature::Wgmma) || !target.has(Feature::Tma) {
            return across;
        }
        for dot in dots {
            if let Some(index) = factor_across(*dot, function) {
                across.maps.extend(mapped(context, *dot, index));
            }
        }
        across
    }

    /// Lets products take what is loaded after all; whether there were maps.
    pub fn undo(&mut self) -> bool {
        let had = !self.maps.is_empty();
        for map in self.maps.drain(..) {
            if let [input] = map.inputs()[..] {
                replace_all_uses(map.result(), input);
            }
            erase(map.op());
        }
        had
    }
}

/// Bits of the elements of a first factor that threads multiply from registers, and of which they read rows across memory: 8 or 32. Else `None`.
pub(super) fn bits_across<'c>(factor: IrValue<'c>, dot: IrOp<'c>) -> Option<i64> {
    let bits = |value| Some(tile_of(dot, value).ok()?.elem.bits());
    let own = bits(factor).filter(|bits| [BYTE, WORD].contains(bits))?;
    let origins = Origins::of(factor, dot, |kind, _| passes_on(kind))?;
    let mut loads = origins.loads.iter();
    let across = loads.all(|origin| {
        bits(result_of(origin.load, 0)) == Some(own) && is_across(origin) == Some(true)
    });
    across.then_some(own)
}

/// The factor of a product that lies across, where the other one does not.
fn factor_across<'c>(dot: IrOp<'c>, function: IrOp<'c>) -> Option<usize> {
    let is_free = dot.attribute("mma").is_err() && in_loop(dot) && !waits_for_memory(dot);
    let is_split = Precision::of(&dot) == Ok(Precision::Tf32x3);
    let of = tile::Dot::of(dot).filter(|_| is_free && !is_split)?;
    let mut across = [false; 2];
    for (index, factor) in of.factors().into_iter().enumerate() {
        let tile = tile_of(dot, factor).ok()?;
        let Some(load) = tile::Load::defining(factor).map(tile::Load::op) else {
            continue;
        };
        let lies = !Wgmma::transposes(tile.elem)
            && box_of(load, &tile, function).is_ok_and(|tensor_box| tensor_box.fast() == 0);
        if lies && !(same_block(load, dot) && users(factor) == [dot]) {
            return None;
        }
        across[index] = lies;
    }
    match across {
        [true, false] => Some(0),
        [false, true] => Some(1),
        [true, true] | [false, false] => None,
    }
}

fn mapped<'c>(context: &'c Context, dot: IrOp<'c>, index: usize) -> Option<tile::Map<'c>> {
    let factor = tile::Dot::of(dot)?.factors()[index];
    let load = tile::Load::defining(factor)?.op();
    let tile = tile_of(dot, factor).ok()?;
    let mut ir = OpBuilder::new(context, Insertion::Before(next_operation(load)?));
    ir.location = load.location();
    let map = map_of(&ir, (factor, tile.elem), |_, element| element);
    set_operand(dot, index, map);
    tile::Map::defining(map)
}
