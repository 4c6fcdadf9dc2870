//! Bulk copies without a tensor map (PTX ISA, "cp.async.bulk"): an instruction for each run of neighbouring bytes, as inline
//! assembly that may access any memory. One thread executes it.
use super::Lowering;
use super::predicated::Inputs;
use cutec_dialects::atoms::BulkCopy;
use cutec_dialects::builder::IrValue;
use cutec_dialects::ops::ArithOp;
use cutec_dialects::semantics::{BulkDirection, BulkPlan, SemError, bulk_plan, bulk_prefetch_plan};
use cutec_dialects::target::Feature;
use cutec_dialects::value::Val;

impl<'c> Lowering<'c> {
    /// A bulk copy.
    pub(super) fn bulk_copy(&mut self, atom: &BulkCopy, operands: &[Val]) -> Result<(), SemError> {
        self.has_bulk_copies()?;
        let plan = bulk_plan(atom, operands)?;
        let BulkPlan {
            direction,
            views: [from, to],
            runs,
            ..
        } = &plan;
        let barrier = match (direction, operands) {
            (BulkDirection::Load | BulkDirection::Peer, [_, _, barriers, which, ..]) => {
                Some(self.mbarrier_address(barriers, which)?)
            }
            _ => None,
        };
        let last = match operands.get(4) {
            Some(last) => Some(self.integer_of(last)?),
            None => None,
        };
        let peer = last.filter(|_| *direction == BulkDirection::Peer);
        let mask = last.filter(|_| *direction == BulkDirection::Load);
        let mask = mask.map(|mask| {
            let ir = &self.emitter.ir;
            ir.value(ArithOp::Trunci, &[mask], &[], ir.ty("i16"))
        });
        let barrier = match (barrier, peer) {
            (Some(barrier), Some(rank)) => Some(self.mapa(barrier, rank)),
            (barrier, _) => barrier,
        };
        self.hints = atom.hints;
        for [source, target] in runs {
            let (source, target) = (self.address(from, source), self.address(to, target));
            let target = match peer {
                Some(rank) => self.mapa(target, rank),
                None => target,
            };
            let mut inputs = Inputs::after(0);
            let (read, write) = match direction {
                BulkDirection::Load => ("l", "r"),
                BulkDirection::Store => ("r", "l"),
                BulkDirection::Peer => ("r", "r"),
            };
            let target = inputs.add(target, write);
            let source = inputs.add(source, read);
            let bytes = self.length(&plan, &mut inputs);
            let barrier = barrier.map(|barrier| inputs.add(barrier, "r"));
            let barrier = barrier.map_or(String::new(), |barrier| format!(", [{barrier}]"));
            let multicast = mask.map_or("", |_| ".multicast::cluster");
            let mask = mask.map(|mask| inputs.add(mask, "h"));
            let mask = mask.map_or(String::new(), |mask| format!(", {mask}"));
            let hints = match direction {
                // Of the caches in front of global memory.
                BulkDirection::Peer => Default::default(),
                BulkDirection::Load | BulkDirection::Store => self.hints_of_copy(&mut inputs),
            };
            let (modifiers, policy) = (hints.modifiers, hints.operand);
            let how = atom.reduction.and_then(|how| {
                how.of_runs(plan.views[0].ptr.elem, *direction == BulkDirection::Peer)
            });
            let (operation, how) = match how {
                None => ("cp", String::new()),
                Some(how) => ("cp.reduce", format!(".{how}")),
            };
            let way = match direction {
                BulkDirection::Load => "shared::cluster.global.mbarrier::complete_tx::bytes",
                BulkDirection::Store => "global.shared::cta.bulk_group",
                BulkDirection::Peer => "shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
            };
            let text = format!(
                "{operation}.async.bulk.{way}{multicast}{modifiers}{how} [{target}], [{source}], {bytes}{barrier}{mask}{policy};"
            );
            self.assembly_at_memory(&text, &inputs, None);
        }
        Ok(())
    }

    /// `cp.async.bulk.prefetch`, of each run.
    pub(super) fn prefetch_runs(&mut self, atom: &BulkCopy, source: &Val) -> Result<(), SemError> {
        self.has_bulk_copies()?;
        let plan = bulk_prefetch_plan(atom, source)?;
        self.hints = atom.hints;
        for [start, _] in &plan.runs {
            let address = self.address(&plan.views[0], start);
            let mut inputs = Inputs::after(0);
            let address = inputs.add(address, "l");
            let bytes = self.length(&plan, &mut inputs);
            let hints = self.hints_of_copy(&mut inputs);
            let text = format!(
                "cp.async.bulk.prefetch.L2.global{} [{address}], {bytes}{};",
                hints.modifiers, hints.operand
            );
            self.assembly_at_memory(&text, &inputs, None);
        }
        Ok(())
    }

    /// The bytes of a run, as an operand.
    fn length(&mut self, plan: &BulkPlan, inputs: &mut Inputs<'c>) -> String {
        match plan.bytes.as_static() {
            Some(bytes) => bytes.to_string(),
            None => {
                let bytes: IrValue<'c> = self.emitter.int(&plan.bytes, false);
                inputs.add(bytes, "r")
            }
        }
    }

    fn has_bulk_copies(&self) -> Result<(), SemError> {
        match self.target.has(Feature::Tma) {
            true => Ok(()),
            false => Err(SemError::Illegal(format!(
                "a bulk copy needs {}; the target is {}",
                Feature::Tma.targets(),
                self.target.name
            ))),
        }
    }
}
