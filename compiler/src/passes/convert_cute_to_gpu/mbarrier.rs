//! Barriers in shared memory that count arrivals and bytes (PTX ISA, "mbarrier"), as inline assembly that may access
//! any memory: what other threads and copies do becomes visible there, so no access may be moved across.
use super::Lowering;
use super::memory::coordinate;
use super::predicated::Inputs;
use cutec_dialects::builder::IrValue;
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::{SemError, element_offset, mbarrier_feature};
use cutec_dialects::target::Feature;
use cutec_dialects::value::Val;

/// Nanoseconds that a thread may be suspended for until it looks again; CUTLASS's number (`ClusterBarrier::wait`).
const PATIENCE: &str = "10000000";

impl<'c> Lowering<'c> {
    /// An operation on a barrier that gives nothing.
    pub(super) fn mbarrier(&mut self, op: CuteOp, operands: &[Val]) -> Result<(), SemError> {
        self.check_mbarrier(op, operands)?;
        let address = self.mbarrier_address(&operands[0], &operands[1])?;
        let remote = match op {
            CuteOp::MbarrierArrive
            | CuteOp::MbarrierArriveWithinCta
            | CuteOp::MbarrierExpectTx
            | CuteOp::MbarrierArriveExpectTx => operands.get(3),
            _ => None,
        };
        let address = match remote {
            Some(rank) => {
                let rank = self.integer_of(rank)?;
                self.mapa(address, rank)
            }
            None => address,
        };
        // Without a scope it is that of the block.
        let (scope, space) = match remote {
            Some(_) if op == CuteOp::MbarrierArriveWithinCta => ("", "shared::cluster"),
            Some(_) => (".release.cluster", "shared::cluster"),
            None => ("", "shared::cta"),
        };
        let mut inputs = Inputs::after(0);
        let place = inputs.add(address, "r");
        let number = match operands.get(2) {
            Some(number) => {
                let is_one = matches!(number, Val::Scalar(int) if int.is(1))
                    || coordinate(number).is_ok_and(|number| number.to_string() == "1");
                let number = self.integer_of(number)?;
                let arrives = [CuteOp::MbarrierArrive, CuteOp::MbarrierArriveWithinCta];
                let single = is_one && arrives.contains(&op);
                (!single).then(|| format!(", {}", inputs.add(number, "r")))
            }
            None => None,
        };
        let number = number.unwrap_or_default();
        let text = match op {
            CuteOp::MbarrierInit => format!("mbarrier.init.shared::cta.b64 [{place}]{number};"),
            CuteOp::MbarrierInval => format!("mbarrier.inval.shared::cta.b64 [{place}];"),
            CuteOp::MbarrierArrive | CuteOp::MbarrierArriveWithinCta => {
                format!("mbarrier.arrive{scope}.{space}.b64 _, [{place}]{number};")
            }
            CuteOp::MbarrierExpectTx => {
                let scope = if remote.is_some() { "cluster" } else { "cta" };
                format!("mbarrier.expect_tx.relaxed.{scope}.{space}.b64 [{place}]{number};")
            }
            CuteOp::MbarrierArriveExpectTx => {
                format!("mbarrier.arrive.expect_tx{scope}.{space}.b64 _, [{place}]{number};")
            }
            CuteOp::MbarrierCpAsyncArrive => {
                format!("cp.async.mbarrier.arrive.shared::cta.b64 [{place}];")
            }
            CuteOp::MbarrierCpAsyncArriveNoinc => {
                format!("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [{place}];")
            }
            CuteOp::MbarrierWait | CuteOp::MbarrierWaitAcrossCluster => {
                let acquires = match op {
                    CuteOp::MbarrierWaitAcrossCluster => ".acquire.cluster",
                    _ => "",
                };
                let (test, patience) = match self.target.has(Feature::Tma) {
                    true => ("try_wait", format!(", {PATIENCE}")),
                    false => ("test_wait", String::new()),
                };
                // A name of its own for each copy that LLVM makes of the text.
                format!(
                    "{{\n\t.reg .pred %done;\nwait${{:uid}}:\n\tmbarrier.{test}.parity{acquires}.shared::cta.b64 %done, [{place}]{number}{patience};\n\t@!%done bra wait${{:uid}};\n\t}}"
                )
            }
            _ => {
                let message = format!("{op} gives a value");
                return Err(SemError::Illegal(message));
            }
        };
        self.assembly_at_memory(&text, &inputs, None);
        Ok(())
    }

    /// Whether a phase has ended.
    pub(super) fn mbarrier_test(
        &mut self,
        op: CuteOp,
        operands: &[Val],
    ) -> Result<IrValue<'c>, SemError> {
        self.check_mbarrier(op, operands)?;
        let address = self.mbarrier_address(&operands[0], &operands[1])?;
        let parity = self.integer_of(&operands[2])?;
        let mut inputs = Inputs::after(1);
        let (place, parity) = (inputs.add(address, "r"), inputs.add(parity, "r"));
        let test = match op == CuteOp::MbarrierTryWait {
            true => "try_wait",
            false => "test_wait",
        };
        let text = format!("mbarrier.{test}.parity.shared::cta.b64 $0, [{place}], {parity};");
        let bool_type = self.emitter.ir.ty("i1");
        let done = self.assembly_at_memory(&text, &inputs, Some(("=b", bool_type)));
        done.ok_or_else(|| SemError::Illegal("a test without a result".into()))
    }

    fn check_mbarrier(&self, op: CuteOp, operands: &[Val]) -> Result<(), SemError> {
        let feature = mbarrier_feature(op, operands);
        match self.target.has(feature) {
            true => Ok(()),
            false => Err(SemError::Illegal(format!(
                "{op} needs {}; the target is {}",
                feature.targets(),
                self.target.name
            ))),
        }
    }

    /// The address of a barrier in shared memory.
    pub(super) fn mbarrier_address(
        &mut self,
        view: &Val,
        coord: &Val,
    ) -> Result<IrValue<'c>, SemError> {
        let Val::View(view) = view else {
            return Err(SemError::Illegal("a barrier is in a view".into()));
        };
        let offset = element_offset(view, &coordinate(coord)?)?;
        Ok(self.address(view, &offset))
    }

    /// The address of the same place in the shared memory of another block of the cluster (PTX ISA, "mapa").
    pub(super) fn mapa(&mut self, address: IrValue<'c>, rank: IrValue<'c>) -> IrValue<'c> {
        let ir = &self.emitter.ir;
        let text = "mapa.shared::cluster.u32 $0, $1, $2;";
        ir.assembly(text, "=r,r,r", &[address, rank], ir.ty("i32"))
    }

    /// One integer of 32 bits.
    pub(super) fn integer_of(&mut self, val: &Val) -> Result<IrValue<'c>, SemError> {
        let tuple = coordinate(val)?;
        match tuple.as_leaf() {
            Some(int) => Ok(self.emitter.int(int, false)),
            None => Err(SemError::Illegal(format!(
                "expects one integer, but got {}",
                val.describe()
            ))),
        }
    }
}
