//! Copies: one instruction of the atom for each vector.
use super::Lowering;
use super::predicated::Guard;
use cutec_dialects::atoms::{Cache, CopyOp, CpAsync, Ldmatrix, Matrices, Stmatrix};
use cutec_dialects::builder::{IrValue, OpBuilder, result_of};
use cutec_dialects::elem::Space;
use cutec_dialects::hints::Hints;
use cutec_dialects::ops::{ArithOp, LlvmOp, NvvmOp};
use cutec_dialects::semantics::{
    CopyPlan, Predicate, SemError, are_neighbours, copy_plan, offsets_of,
};
use cutec_dialects::value::{Val, View};
use cutec_layout::Int;
use melior::ir::{Attribute, ValueLike};

impl<'c> Lowering<'c> {
    pub(super) fn copy(
        &mut self,
        operands: &[Val],
        fill: Option<Attribute<'c>>,
    ) -> Result<(), SemError> {
        let [atom, src, dst, pred @ ..] = operands else {
            return Err(SemError::Illegal("copy takes an atom and two views".into()));
        };
        let plan = copy_plan(atom, src, dst, pred)?;
        let [src, dst] = &plan.views;
        plan.atom
            .legal_on(&self.target)
            .map_err(|error| SemError::Illegal(error.to_string()))?;
        let mut bounds = match &plan.pred {
            Some(Predicate::Inside { coords, shape }) => Some(self.bounds(coords, shape)),
            _ => None,
        };
        self.hints = plan.atom.hints;
        let fill = fill.map(|fill| {
            let (ir, elem) = (&self.emitter.ir, dst.ptr.elem);
            self.stored(elem, ir.number(fill, ir.number_type(elem)), None)
        });
        for step in 0..plan.src.starts.len() {
            let pred = match (&plan.pred, pred.first()) {
                (Some(Predicate::Mask(offsets)), Some(Val::View(mask))) => {
                    Some(self.masked(mask, &offsets[step]))
                }
                (Some(Predicate::Inside { coords, .. }), _) => bounds
                    .as_mut()
                    .map(|bounds| self.within(bounds, &coords[step])),
                _ => None,
            };
            let guard = pred.map(|pred| Guard { pred, fill });
            self.copy_step(&plan, step, src, dst, guard)?;
        }
        Ok(())
    }

    fn masked(&mut self, mask: &View, offset: &Int) -> IrValue<'c> {
        let byte = self.load_contiguous(mask, offset, 1);
        self.emitter
            .ir
            .value(ArithOp::Trunci, &[byte], &[], self.emitter.ir.ty("i1"))
    }

    fn copy_step(
        &mut self,
        plan: &CopyPlan,
        step: usize,
        src: &View,
        dst: &View,
        guard: Option<Guard<'c>>,
    ) -> Result<(), SemError> {
        let (from, to) = (&plan.src.starts[step], &plan.dst.starts[step]);
        let pred = guard.map(|guard| guard.pred);
        match plan.atom.op {
            CopyOp::UniversalCopy(_) => match guard {
                None => self.move_vector(plan, src, from, dst, to),
                Some(guard) => self.move_guarded(plan, src, from, dst, to, guard),
            },
            CopyOp::CpAsync(copy) => {
                let (from, to) = (self.address(src, from), self.address(dst, to));
                self.cp_async(copy, from, to, pred);
                Ok(())
            }
            CopyOp::Red(red) => {
                let elem = plan.atom.elem;
                let form = red.form(elem);
                let form = form.ok_or_else(|| SemError::Illegal(format!("no red of {elem}")))?;
                let value = self.read_vector(src, &moved(&offsets_of(&plan.src.vector)?, from));
                let address = self.address(dst, to);
                self.red(form, dst, address, value, pred);
                Ok(())
            }
            // The plan has no predicate for what a warp does together.
            CopyOp::Ldmatrix(load) => self.ldmatrix(plan, load, (src, from), (dst, to)),
            CopyOp::Stmatrix(store) => self.stmatrix(plan, store, (src, from), (dst, to)),
        }
    }

    /// Moves a vector where the predicate holds. Elsewhere the destination
    /// becomes zero or what fills it, or stays as it is in global memory.
    fn move_guarded(
        &mut self,
        plan: &CopyPlan,
        src: &View,
        from: &Int,
        dst: &View,
        to: &Int,
        guard: Guard<'c>,
    ) -> Result<(), SemError> {
        let pred = guard.pred;
        let sources = moved(&offsets_of(&plan.src.vector)?, from);
        let targets = moved(&offsets_of(&plan.dst.vector)?, to);
        let count = sources.len() as i64;
        let value = match (src.ptr.space, dst.ptr.space) {
            (Space::Rmem, Space::Gmem) => {
                let value = self.read_vector(src, &sources);
                self.in_other_registers(src, dst, count, value)
            }
            (Space::Rmem, _) => {
                let value = self.read_vector(src, &sources);
                let ir = &self.emitter.ir;
                let zero = ir.value(LlvmOp::MlirZero, &[], &[], value.r#type());
                ir.value(ArithOp::Select, &[pred, value, zero], &[], value.r#type())
            }
            _ => self.load_special(src, from, count, Some(guard)),
        };
        match dst.ptr.space {
            Space::Gmem => self.store_special(dst, to, count, value, Some(pred)),
            Space::Smem | Space::Dsmem | Space::Rmem => self.write_vector(dst, &targets, value),
        }
        Ok(())
    }

    /// A load and a store of the atom's bits.
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
        let value = self.read_vector(src, &sources);
        let value = self.in_other_registers(src, dst, sources.len() as i64, value);
        self.write_vector(dst, &targets, value);
        Ok(())
    }

    /// The elements of one vector: in memory one access, as the plan has made sure; registers may lie apart.
    fn read_vector(&mut self, view: &View, offsets: &[Int]) -> IrValue<'c> {
        let count = offsets.len() as i64;
        match view.ptr.space {
            Space::Rmem if count > 1 => {
                let ty = self.contiguous_type(view.ptr.elem, count);
                self.load_elements(view, offsets, ty)
            }
            Space::Rmem | Space::Gmem | Space::Smem | Space::Dsmem => {
                self.load_contiguous(view, &offsets[0], count)
            }
        }
    }

    fn write_vector(&mut self, view: &View, offsets: &[Int], value: IrValue<'c>) {
        let count = offsets.len() as i64;
        match view.ptr.space {
            Space::Rmem if count > 1 => self.store_elements(view, offsets, value),
            Space::Rmem | Space::Gmem | Space::Smem | Space::Dsmem => {
                self.store_contiguous(view, &offsets[0], count, value)
            }
        }
    }

    /// `cp.async`; where the predicate is false it writes zeros and reads nothing.
    fn cp_async(
        &mut self,
        copy: CpAsync,
        from: IrValue<'c>,
        to: IrValue<'c>,
        pred: Option<IrValue<'c>>,
    ) {
        if pred.is_some() || self.hints != Hints::NONE {
            return self.cp_async_special(copy, from, to, pred);
        }
        let ir = &self.emitter.ir;
        let bytes = copy.bits / 8;
        let modifier = match copy.cache {
            Cache::Always => ir.attr("#nvvm<load_cache_modifier ca>"),
            Cache::Global => ir.attr("#nvvm<load_cache_modifier cg>"),
        };
        let attrs = [
            ("size", ir.integer(bytes.into(), ir.ty("i32"))),
            ("modifier", modifier),
        ];
        ir.op(NvvmOp::CpAsyncSharedGlobal, &[to, from], &attrs, &[]);
    }

    fn ldmatrix(
        &mut self,
        plan: &CopyPlan,
        load: Ldmatrix,
        src: (&View, &Int),
        dst: (&View, &Int),
    ) -> Result<(), SemError> {
        let Ldmatrix(Matrices { count, transpose }) = load;
        let from = self.address(src.0, src.1);
        let ir = &self.emitter.ir;
        let [layout, shape, elem] = matrix_attributes(ir, transpose);
        let num = ("num", ir.integer(count.into(), ir.ty("i32")));
        let attrs = [num, layout, shape, elem];
        let i32 = ir.ty("i32");
        let result = match count {
            1 => i32,
            2 => ir.ty("!llvm.struct<(i32, i32)>"),
            _ => ir.ty("!llvm.struct<(i32, i32, i32, i32)>"),
        };
        let loaded = result_of(ir.op(NvvmOp::Ldmatrix, &[from], &attrs, &[result]), 0);
        let registers = match count {
            1 => vec![loaded],
            _ => self.fields(loaded, i32, count as usize),
        };
        // Neighbouring values of a matrix are one register.
        let targets = moved(&offsets_of(&plan.dst.vector)?, dst.1);
        let per_register = (32 / plan.atom.elem.bits()) as usize;
        for (values, value) in targets.chunks(per_register).zip(registers) {
            if !are_neighbours(values) {
                return Err(SemError::Illegal(format!(
                    "ldmatrix writes {per_register} neighbouring elements at a time, but the registers lie as {}",
                    plan.dst.vector
                )));
            }
            self.store_at(dst.0, &values[0], value, 4);
        }
        Ok(())
    }

    fn stmatrix(
        &mut self,
        plan: &CopyPlan,
        store: Stmatrix,
        src: (&View, &Int),
        dst: (&View, &Int),
    ) -> Result<(), SemError> {
        // Neighbouring values of a matrix are one register.
        let sources = moved(&offsets_of(&plan.src.vector)?, src.1);
        let per_register = (32 / plan.atom.elem.bits()) as usize;
        let word = self.emitter.ir.ty("i32");
        let mut operands = vec![self.address(dst.0, dst.1)];
        for values in sources.chunks(per_register) {
            if !are_neighbours(values) {
                return Err(SemError::Illegal(format!(
                    "stmatrix reads {per_register} neighbouring elements at a time, but the registers lie as {}",
                    plan.src.vector
                )));
            }
            operands.push(self.load_at(src.0, &values[0], word, 4));
        }
        let ir = &self.emitter.ir;
        let attrs = matrix_attributes(ir, store.0.transpose);
        ir.op(NvvmOp::Stmatrix, &operands, &attrs, &[]);
        Ok(())
    }
}

/// What `ldmatrix` and `stmatrix` say of a matrix.
fn matrix_attributes<'c>(
    ir: &OpBuilder<'c>,
    transpose: bool,
) -> [(&'static str, Attribute<'c>); 3] {
    let layout = match transpose {
        true => "#nvvm.mma_layout<col>",
        false => "#nvvm.mma_layout<row>",
    };
    [
        ("layout", ir.attr(layout)),
        ("shape", ir.attr("#nvvm.ld_st_matrix_shape<m = 8, n = 8>")),
        ("eltType", ir.attr("#nvvm.ld_st_matrix_elt_type<b16>")),
    ]
}

fn moved(offsets: &[Int], by: &Int) -> Vec<Int> {
    offsets.iter().map(|offset| offset.add(by)).collect()
}
