//! Tensor maps in memory that a kernel edits (PTX ISA, "tensormap.replace"), as inline assembly that may access any memory.
use super::Lowering;
use super::predicated::Inputs;
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::elem::Space;
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::{SemError, TmaDescUpdate, tma_desc_place, tma_desc_update};
use cutec_dialects::target::Feature;
use cutec_dialects::value::Val;
use cutec_layout::Int;

/// A map in memory: how PTX names its space, its address, and the constraint of that.
struct Place<'c> {
    space: &'static str,
    address: IrValue<'c>,
    letter: &'static str,
}

impl<'c> Lowering<'c> {
    /// An operation on maps in memory.
    pub(super) fn tma_desc(
        &mut self,
        kind: CuteOp,
        op: IrOp<'c>,
        operands: &[Val],
    ) -> Result<(), SemError> {
        if !self.target.has(Feature::TensormapReplace) {
            return Err(SemError::Illegal(format!(
                "{kind} needs {}; the target is {}",
                Feature::TensormapReplace.targets(),
                self.target.name
            )));
        }
        match (kind, operands) {
            (CuteOp::CopyTmaDesc, [_, map]) => {
                let from = self.tensor_map(op)?;
                let to = self.map_place(map)?;
                self.copy_map(from, &to);
                Ok(())
            }
            (CuteOp::UpdateTmaDesc, [Val::TmaAtom(atom), tensor, map]) => {
                let update = tma_desc_update(atom, tensor)?;
                let map = self.map_place(map)?;
                self.update_map(&map, &update);
                Ok(())
            }
            (CuteOp::CpFenceTmaDescRelease, [to, from]) => {
                let (to, from) = (self.map_place(to)?, self.map_place(from)?);
                let mut inputs = Inputs::after(0);
                let to = inputs.add(to.address, to.letter);
                let from = inputs.add(from.address, from.letter);
                let text = format!(
                    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [{to}], [{from}], 128;"
                );
                self.assembly_at_memory(&text, &inputs, None);
                Ok(())
            }
            (CuteOp::FenceTmaDescAcquire, [map]) => {
                let map = self.map_place(map)?;
                let mut inputs = Inputs::after(0);
                let map = inputs.add(map.address, map.letter);
                let text = format!("fence.proxy.tensormap::generic.acquire.gpu [{map}], 128;");
                self.assembly_at_memory(&text, &inputs, None);
                Ok(())
            }
            _ => Err(SemError::Illegal(format!("{kind} takes other operands"))),
        }
    }

    fn map_place(&mut self, map: &Val) -> Result<Place<'c>, SemError> {
        let view = tma_desc_place(map, &[Space::Gmem, Space::Smem])?;
        let address = self.address(&view, &Int::ZERO);
        let (space, letter) = match view.ptr.space {
            Space::Smem => ("shared::cta", "r"),
            // It is asked for one of these two above.
            Space::Gmem | Space::Dsmem | Space::Rmem => ("global", "l"),
        };
        Ok(Place {
            space,
            address,
            letter,
        })
    }

    /// Sixteen bytes after the other.
    fn copy_map(&mut self, from: IrValue<'c>, to: &Place<'c>) {
        let mut inputs = Inputs::after(0);
        let target = inputs.add(to.address, to.letter);
        let source = inputs.add(from, "l");
        let space = to.space;
        let pieces = (0..128).step_by(16).map(|at| {
            format!(
                "ld.v2.b64 {{%low, %high}}, [{source}+{at}];\n\tst.{space}.v2.b64 [{target}+{at}], {{%low, %high}};"
            )
        });
        let pieces: Vec<String> = pieces.collect();
        let text = format!(
            "{{\n\t.reg .b64 %low, %high;\n\t{}\n\t}}",
            pieces.join("\n\t")
        );
        self.assembly_at_memory(&text, &inputs, None);
    }

    /// `tensormap.replace` of each field that a tensor says.
    fn update_map(&mut self, map: &Place<'c>, update: &TmaDescUpdate) {
        let address = self.address(&update.tensor, &Int::ZERO);
        self.replace_field(map, "global_address", "b64", None, (address, "l"));
        for (at, extent) in update.extents.iter().enumerate() {
            let extent = self.emitter.int(extent, false);
            self.replace_field(map, "global_dim", "b32", Some(at), (extent, "r"));
        }
        for (at, stride) in update.strides.iter().enumerate() {
            let stride = self.emitter.int(stride, true);
            self.replace_field(map, "global_stride", "b64", Some(at), (stride, "l"));
        }
    }

    fn replace_field(
        &mut self,
        map: &Place<'c>,
        field: &str,
        ty: &str,
        dimension: Option<usize>,
        (value, letter): (IrValue<'c>, &'static str),
    ) {
        let mut inputs = Inputs::after(0);
        let place = inputs.add(map.address, map.letter);
        let value = inputs.add(value, letter);
        let dimension = dimension.map_or(String::new(), |at| format!("{at}, "));
        let space = map.space;
        let text = format!(
            "tensormap.replace.tile.{field}.{space}.b1024.{ty} [{place}], {dimension}{value};"
        );
        self.assembly_at_memory(&text, &inputs, None);
    }
}
