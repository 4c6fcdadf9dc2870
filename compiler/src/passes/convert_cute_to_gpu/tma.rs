//! Copies of tiles by tensor maps (PTX ISA, "cp.async.bulk.tensor"): an instruction for each box, as inline assembly that may
//! access any memory. One thread executes it.
//!
//! The destination is written as one of `shared::cluster`, of which the block's own shared memory is a part: so the PTX is
//! that of ISA 8.0, and the same with and without a cluster.
use super::Lowering;
use super::predicated::Inputs;
use cutec_dialects::atoms::{TmaAtom, TmaKind};
use cutec_dialects::builder::{IrOp, IrValue, value_key};
use cutec_dialects::ops::{ArithOp, CuteOp, cute};
use cutec_dialects::semantics::{SemError, TmaPlan, TmaPrefetchPlan, tma_plan, tma_prefetch_plan};
use cutec_dialects::target::Feature;
use cutec_dialects::value::{Val, View};
use cutec_layout::{AnyLayout, Int};
use std::sync::Arc;

impl<'c> Lowering<'c> {
    /// Keeps the address of the map of an atom: a parameter, or a place in global memory.
    pub(super) fn keep_tensor_map(&mut self, op: IrOp<'c>, operands: &[Val], atom: IrValue<'c>) {
        let map = match operands {
            [Val::View(place)] => Some(self.address(place, &Int::ZERO)),
            _ => cute::MakeTmaAtom::of(op).map(cute::MakeTmaAtom::map),
        };
        if let Some(map) = map {
            self.tensor_maps.insert(value_key(atom), map);
        }
    }

    /// The address of the map of an operation's atom.
    pub(super) fn tensor_map(&self, op: IrOp<'c>) -> Result<IrValue<'c>, SemError> {
        if !self.target.has(Feature::Tma) {
            return Err(SemError::Illegal(format!(
                "a copy by a tensor map needs {}; the target is {}",
                Feature::Tma.targets(),
                self.target.name
            )));
        }
        let user = cute::UseOfTensorMap::of(op);
        let map = user.and_then(|user| self.tensor_maps.get(&value_key(user.atom())));
        map.copied().ok_or_else(|| {
            let message = format!(
                "expects an atom that {} makes in this kernel",
                CuteOp::MakeTmaAtom
            );
            SemError::Illegal(message)
        })
    }

    /// `prefetch.tensormap`.
    pub(super) fn prefetch_tensor_map(&mut self, op: IrOp<'c>) -> Result<(), SemError> {
        let map = self.tensor_map(op)?;
        let mut inputs = Inputs::after(0);
        let map = inputs.add(map, "l");
        let text = format!("prefetch.tensormap [{map}];");
        self.assembly_at_memory(&text, &inputs, None);
        Ok(())
    }

    /// `cp.async.bulk.prefetch.tensor`, of each box of a tile.
    pub(super) fn prefetch_tile(
        &mut self,
        op: IrOp<'c>,
        atom: &TmaAtom,
        source: &Val,
    ) -> Result<(), SemError> {
        let map = self.tensor_map(op)?;
        self.hints = atom.hints;
        let TmaPrefetchPlan { boxes, offsets } = tma_prefetch_plan(atom, source)?;
        let offsets = self.pixel_offsets(&offsets);
        for coords in boxes {
            let mut inputs = Inputs::after(0);
            let map = inputs.add(map, "l");
            let coords: Vec<String> = coords
                .iter()
                .map(|coord| {
                    let coord = self.emitter.int(coord, false);
                    inputs.add(coord, "r")
                })
                .collect();
            let offsets = offsets_of(&mut inputs, &offsets);
            let mode = if offsets.is_empty() { "tile" } else { "im2col" };
            let hints = self.hints_of_copy(&mut inputs);
            let text = format!(
                "cp.async.bulk.prefetch.tensor.{}d.L2.global.{mode}{} [{map}, {{{}}}]{offsets}{};",
                coords.len(),
                hints.modifiers,
                coords.join(", "),
                hints.operand
            );
            self.assembly_at_memory(&text, &inputs, None);
        }
        Ok(())
    }

    /// By how much an instruction in im2col mode moves pixels, as it takes them.
    fn pixel_offsets(&mut self, offsets: &[Int]) -> Vec<IrValue<'c>> {
        let offsets = offsets.iter().map(|offset| {
            let offset = self.emitter.int(offset, false);
            let ir = &self.emitter.ir;
            ir.value(ArithOp::Trunci, &[offset], &[], ir.ty("i16"))
        });
        offsets.collect()
    }

    /// A copy by a tensor map.
    pub(super) fn tma_copy(
        &mut self,
        op: IrOp<'c>,
        atom: &Arc<TmaAtom>,
        operands: &[Val],
    ) -> Result<(), SemError> {
        let map = self.tensor_map(op)?;
        let TmaPlan {
            view,
            steps,
            offsets,
            ..
        } = tma_plan(atom, operands)?;
        let barrier = match (atom.kind, operands) {
            (TmaKind::Load, [_, _, barriers, which, ..]) => {
                Some(self.mbarrier_address(barriers, which)?)
            }
            _ => None,
        };
        let mask = match (atom.kind, atom.pixels) {
            (TmaKind::Load, None) => operands.get(4),
            (TmaKind::Load, Some(_)) => operands.get(5),
            (TmaKind::Store | TmaKind::Reduce(_), _) => None,
        };
        let (load_mode, store_mode) = match atom.pixels {
            None => ("tile", "tile"),
            Some(_) => ("im2col", "im2col_no_offs"),
        };
        let offsets = self.pixel_offsets(&offsets);
        let mask = match mask {
            Some(mask) => {
                let mask = self.integer_of(mask)?;
                let ir = &self.emitter.ir;
                Some(ir.value(ArithOp::Trunci, &[mask], &[], ir.ty("i16")))
            }
            None => None,
        };
        self.hints = atom.hints;
        // The accelerator swizzles by itself: addresses are those before.
        let plain = View {
            ptr: view.ptr.clone(),
            layout: AnyLayout::Plain(view.layout.inner().clone()),
        };
        for step in &steps {
            let rank = step.coords.len();
            let address = self.address(&plain, &step.offset);
            let mut inputs = Inputs::after(0);
            let (place, map) = (inputs.add(address, "r"), inputs.add(map, "l"));
            let coords: Vec<String> = step
                .coords
                .iter()
                .map(|coord: &Int| {
                    let coord = self.emitter.int(coord, false);
                    inputs.add(coord, "r")
                })
                .collect();
            let coords = format!("{{{}}}", coords.join(", "));
            let barrier = barrier.map(|barrier| inputs.add(barrier, "r"));
            let offsets = offsets_of(&mut inputs, &offsets);
            let mask = mask.map(|mask| format!(", {}", inputs.add(mask, "h")));
            let multicast = mask.as_ref().map_or("", |_| ".multicast::cluster");
            let mask = mask.unwrap_or_default();
            let hints = self.hints_of_copy(&mut inputs);
            let (modifiers, policy) = (hints.modifiers, hints.operand);
            let text = match (atom.kind, barrier) {
                (TmaKind::Load, Some(barrier)) => format!(
                    "cp.async.bulk.tensor.{rank}d.shared::cluster.global.{load_mode}.mbarrier::complete_tx::bytes{multicast}{modifiers} [{place}], [{map}, {coords}], [{barrier}]{offsets}{mask}{policy};"
                ),
                (TmaKind::Store, _) => format!(
                    "cp.async.bulk.tensor.{rank}d.global.shared::cta.{store_mode}.bulk_group{modifiers} [{map}, {coords}], [{place}]{policy};"
                ),
                (TmaKind::Reduce(how), _) => format!(
                    "cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{}.{store_mode}.bulk_group{modifiers} [{map}, {coords}], [{place}]{policy};",
                    how.name()
                ),
                (TmaKind::Load, None) => {
                    return Err(SemError::Illegal("a load without a barrier".into()));
                }
            };
            self.assembly_at_memory(&text, &inputs, None);
        }
        Ok(())
    }
}

/// The operand of an instruction in im2col mode that moves its pixels; of another one none.
fn offsets_of<'c>(inputs: &mut Inputs<'c>, offsets: &[IrValue<'c>]) -> String {
    if offsets.is_empty() {
        return String::new();
    }
    let offsets: Vec<String> = offsets
        .iter()
        .map(|offset| inputs.add(*offset, "h"))
        .collect();
    format!(", {{{}}}", offsets.join(", "))
}
