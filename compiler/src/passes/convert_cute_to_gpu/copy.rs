//! Copies: one instruction of the atom for each vector.
use super::Lowering;
use cutec_dialects::atoms::{Cache, CopyOp};
use cutec_dialects::builder::{Insertion, IrValue, region_with_block, result_of};
use cutec_dialects::elem::Space;
use cutec_dialects::semantics::{CopyPlan, Predicate, SemError, copy_plan, offsets_of};
use cutec_dialects::value::{Val, View};
use cutec_layout::Int;

impl<'c> Lowering<'c> {
    pub(super) fn copy(&mut self, operands: &[Val]) -> Result<(), SemError> {
        let [atom, src, dst, pred @ ..] = operands else {
            return Err(SemError::Illegal("copy takes an atom and two views".into()));
        };
        let plan = copy_plan(atom, src, dst, pred)?;
        let (Val::View(src), Val::View(dst)) = (src, dst) else {
            return Err(SemError::Illegal("copy takes views".into()));
        };
        plan.atom
            .legal_on(&self.target)
            .map_err(|error| SemError::Illegal(error.to_string()))?;
        for step in 0..plan.src.starts.len() {
            let pred = match (&plan.pred, pred.first()) {
                (Some(Predicate::Mask(offsets)), Some(Val::View(mask))) => {
                    Some(self.masked(mask, &offsets[step]))
                }
                (Some(Predicate::Inside { coords, shape }), _) => {
                    Some(self.inside(&coords[step], shape))
                }
                _ => None,
            };
            self.copy_step(&plan, step, src, dst, pred)?;
        }
        Ok(())
    }

    fn masked(&mut self, mask: &View, offset: &Int) -> IrValue<'c> {
        let byte = self.load_contiguous(mask, offset, 1);
        self.emitter
            .ir
            .value("arith.trunci", &[byte], &[], self.emitter.ir.ty("i1"))
    }

    fn copy_step(
        &mut self,
        plan: &CopyPlan,
        step: usize,
        src: &View,
        dst: &View,
        pred: Option<IrValue<'c>>,
    ) -> Result<(), SemError> {
        let (from, to) = (&plan.src.starts[step], &plan.dst.starts[step]);
        match plan.atom.op {
            CopyOp::Universal { .. } => match pred {
                None => self.move_vector(plan, src, from, dst, to),
                Some(pred) => self.move_guarded(plan, src, from, dst, to, pred),
            },
            CopyOp::Async { cache, bits } => {
                let (from, to) = (self.address(src, from), self.address(dst, to));
                self.cp_async(cache, i64::from(bits) / 8, from, to, pred);
                Ok(())
            }
            CopyOp::Ldsm {
                matrices,
                transpose,
            } => match pred {
                None => self.ldmatrix(plan, matrices, transpose, (src, from), (dst, to)),
                Some(_) => Err(SemError::Illegal(
                    "ldmatrix takes part with the whole warp and no predicate".into(),
                )),
            },
        }
    }

    /// Moves a vector where the predicate holds. Elsewhere the destination
    /// becomes zero, or stays as it is in global memory.
    fn move_guarded(
        &mut self,
        plan: &CopyPlan,
        src: &View,
        from: &Int,
        dst: &View,
        to: &Int,
        pred: IrValue<'c>,
    ) -> Result<(), SemError> {
        if dst.ptr.space != Space::Gmem {
            self.zero_vector(plan, dst, to)?;
        }
        let (then, block) = region_with_block(&[]);
        self.emitter.ir.op_with_regions(
            "scf.if",
            &[pred],
            &[],
            &[],
            vec![then, melior::ir::Region::new()],
        );
        let before = std::mem::replace(&mut self.emitter.ir.insertion, Insertion::End(block));
        self.emitter.enter();
        let result = self.move_vector(plan, src, from, dst, to);
        self.emitter.ir.op("scf.yield", &[], &[], &[]);
        self.emitter.leave();
        self.emitter.ir.insertion = before;
        result
    }

    fn zero_vector(&mut self, plan: &CopyPlan, dst: &View, to: &Int) -> Result<(), SemError> {
        let targets = moved(&offsets_of(&plan.dst.vector)?, to);
        let count = match together(dst, &targets) {
            true => targets.len() as i64,
            false => 1,
        };
        for at in targets.iter().step_by(count as usize) {
            let zero = self.emitter.ir.value(
                "llvm.mlir.zero",
                &[],
                &[],
                self.contiguous_type(dst.ptr.elem, count),
            );
            self.store_contiguous(dst, at, count, zero);
        }
        Ok(())
    }

    /// A load and a store of the atom's bits; in registers, of single elements where they lie apart.
    fn move_vector(
        &mut self,
        plan: &CopyPlan,
        src: &View,
        from: &Int,
        dst: &View,
        to: &Int,
    ) -> Result<(), SemError> {
        let sources = moved(&offsets_of(&plan.src.vector)?, from);
        let targets = moved(&offsets_of(&plan.dst.vector)?, to);
        let count = sources.len() as i64;
        if together(src, &sources) && together(dst, &targets) {
            let value = self.load_contiguous(src, from, count);
            self.store_contiguous(dst, to, count, value);
            return Ok(());
        }
        for (from, to) in sources.iter().zip(&targets) {
            let value = self.load_contiguous(src, from, 1);
            self.store_contiguous(dst, to, 1, value);
        }
        Ok(())
    }

    /// `cp.async`; where the predicate is false it writes zeros and reads nothing (PTX ISA, "cp.async": src-size).
    fn cp_async(
        &mut self,
        cache: Cache,
        bytes: i64,
        from: IrValue<'c>,
        to: IrValue<'c>,
        pred: Option<IrValue<'c>>,
    ) {
        let size = pred.map(|pred| {
            let (full, none) = (
                self.emitter.constant(bytes, false),
                self.emitter.constant(0, false),
            );
            self.emitter.ir.value(
                "arith.select",
                &[pred, full, none],
                &[],
                self.emitter.ir.ty("i32"),
            )
        });
        let ir = &self.emitter.ir;
        let modifier = match cache {
            Cache::Always => ir.attr("#nvvm<load_cache_modifier ca>"),
            Cache::Global => ir.attr("#nvvm<load_cache_modifier cg>"),
        };
        let attrs = [
            ("size", ir.attr(&format!("{bytes} : i32"))),
            ("modifier", modifier),
        ];
        let mut operands = vec![to, from];
        operands.extend(size);
        ir.op("nvvm.cp.async.shared.global", &operands, &attrs, &[]);
    }

    fn ldmatrix(
        &mut self,
        plan: &CopyPlan,
        matrices: u32,
        transpose: bool,
        src: (&View, &Int),
        dst: (&View, &Int),
    ) -> Result<(), SemError> {
        let from = self.address(src.0, src.1);
        let ir = &self.emitter.ir;
        let attrs = [
            ("num", ir.attr(&format!("{matrices} : i32"))),
            (
                "layout",
                ir.attr(if transpose {
                    "#nvvm.mma_layout<col>"
                } else {
                    "#nvvm.mma_layout<row>"
                }),
            ),
            ("shape", ir.attr("#nvvm.ld_st_matrix_shape<m = 8, n = 8>")),
            ("eltType", ir.attr("#nvvm.ld_st_matrix_elt_type<b16>")),
        ];
        let i32 = ir.ty("i32");
        let result = match matrices {
            1 => i32,
            2 => ir.ty("!llvm.struct<(i32, i32)>"),
            _ => ir.ty("!llvm.struct<(i32, i32, i32, i32)>"),
        };
        let loaded = result_of(ir.op("nvvm.ldmatrix", &[from], &attrs, &[result]), 0);
        // Two neighbouring values of a matrix are one register.
        let targets = moved(&offsets_of(&plan.dst.vector)?, dst.1);
        for (register, pair) in targets.chunks(2).enumerate() {
            let value = match matrices {
                1 => loaded,
                _ => {
                    let position = [(
                        "position",
                        self.emitter.ir.attr(&format!("array<i64: {register}>")),
                    )];
                    self.emitter
                        .ir
                        .value("llvm.extractvalue", &[loaded], &position, i32)
                }
            };
            if !pair[1].sub(&pair[0]).is(1) {
                return Err(SemError::Illegal(format!(
                    "ldmatrix writes pairs of neighbouring elements, but the registers lie as {}",
                    plan.dst.vector
                )));
            }
            let address = self.address(dst.0, &pair[0]);
            self.store_as(address, value, 4);
        }
        Ok(())
    }
}

/// Whether a vector is one access: in memory the plan has made sure of it, registers may lie apart.
fn together(view: &View, offsets: &[Int]) -> bool {
    view.ptr.space != Space::Rmem
        || offsets
            .iter()
            .enumerate()
            .all(|(lane, at)| at.sub(&offsets[0]).is(lane as i64))
}

fn moved(offsets: &[Int], by: &Int) -> Vec<Int> {
    offsets.iter().map(|offset| offset.add(by)).collect()
}
