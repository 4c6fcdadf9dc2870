//! Gemms: one instruction of the atom for each (m, n, k).
use super::Lowering;
use super::wgmma::Accumulate;
use cutec_dialects::atoms::{Completion, Mechanism, MmaOp, MmaOperand, MmaSync, Place, Register};
use cutec_dialects::builder::{IrValue, defining_op};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, LlvmOp, NvvmOp};
use cutec_dialects::semantics::{
    GemmPlan, SemError, are_neighbours, gemm_metadata, gemm_plan, offsets_of,
};
use cutec_dialects::value::{Val, View};
use cutec_layout::tv::Operand;
use cutec_layout::{Int, Layout};
use melior::dialect::llvm;
use melior::ir::operation::OperationLike;
use melior::ir::{Type, ValueLike};
use std::collections::HashMap;

/// The registers of an operand, read once however many instructions use them.
#[derive(Default)]
struct Registers<'c> {
    read: HashMap<Int, Vec<IrValue<'c>>>,
}

impl<'c> Lowering<'c> {
    /// `d = a · b + c`, or without `c` where `accumulate` is false.
    pub(super) fn gemm(
        &mut self,
        operands: &[Val],
        accumulate: Option<IrValue<'c>>,
    ) -> Result<(), SemError> {
        let [mma, d, a, b, c, more @ ..] = operands else {
            return Err(SemError::Illegal("gemm takes an MMA and four views".into()));
        };
        let plan = gemm_plan(mma, d, a, b, c)?;
        let metadata = gemm_metadata(&plan, more.get(1))?;
        plan.atom
            .legal_on(&self.target)
            .map_err(|error| SemError::Illegal(error.to_string()))?;
        match plan.atom.completion() {
            Completion::AtOnce | Completion::Later(Mechanism::WgmmaGroup) => {}
            Completion::Later(Mechanism::CpAsyncGroup) => {
                let message = format!("{} completes later, which is not lowered", plan.atom);
                return Err(SemError::Illegal(message));
            }
        }
        let accumulate = accumulate.map_or(Accumulate::Known(true), known);
        let views = &plan.views;
        let in_place = views[0] == views[3];
        let (mut read_a, mut read_b) = (Registers::default(), Registers::default());
        let mut sums: HashMap<Int, Vec<IrValue<'c>>> = HashMap::new();
        let mut order: Vec<Int> = Vec::new();
        for (step, [at_d, at_a, at_b, at_c]) in plan.steps.iter().enumerate() {
            let a = self.factor(&mut read_a, &plan, Operand::A, at_a)?;
            let b = self.factor(&mut read_b, &plan, Operand::B, at_b)?;
            let (c, accumulate) = match sums.get(at_d) {
                Some(sum) => (sum.clone(), Accumulate::Known(true)),
                None => {
                    order.push(at_d.clone());
                    let (view, at) = if in_place {
                        (&views[0], at_d)
                    } else {
                        (&views[3], at_c)
                    };
                    let c = self.mma_operand(&plan, Operand::C, view, at)?;
                    (c, accumulate)
                }
            };
            let d = match plan.atom.op {
                MmaOp::Fma(_) => {
                    let c = self.added_to(c, accumulate);
                    self.fma(&a, &b, &c, plan.atom.c)
                }
                MmaOp::MmaSync(mma) => {
                    let c = self.added_to(c, accumulate);
                    self.mma_sync(&plan, mma, &a, &b, &c)
                }
                MmaOp::Wgmma(mma) => {
                    let word = metadata.as_ref().map(|(view, at)| {
                        let word = self.emitter.ir.ty("i32");
                        self.load_at(view, &at[step], word, 4)
                    });
                    self.wgmma(&plan, mma, [&a, &b, &c], word, accumulate)
                }
            };
            sums.insert(at_d.clone(), d);
        }
        for at in order {
            let values = offsets_of(&plan.values[0])?;
            let step = values.len() / sums[&at].len().max(1);
            for (value, offset) in sums[&at]
                .clone()
                .into_iter()
                .zip(values.iter().step_by(step.max(1)))
            {
                let bytes = (step as i64 * plan.atom.c.bytes()).max(1);
                self.store_at(&views[0], &at.add(offset), value, bytes);
            }
        }
        Ok(())
    }

    /// A or B for one instruction.
    fn factor(
        &mut self,
        read: &mut Registers<'c>,
        plan: &GemmPlan,
        which: Operand,
        at: &Int,
    ) -> Result<Vec<IrValue<'c>>, SemError> {
        if let Some(found) = read.read.get(at) {
            return Ok(found.clone());
        }
        let loaded = self.mma_operand(plan, which, &plan.views[place_in_plan(which)], at)?;
        read.read.insert(at.clone(), loaded.clone());
        Ok(loaded)
    }

    /// What an instruction takes as an operand, from a view at an offset.
    fn mma_operand(
        &mut self,
        plan: &GemmPlan,
        which: Operand,
        view: &View,
        at: &Int,
    ) -> Result<Vec<IrValue<'c>>, SemError> {
        let MmaOperand {
            elem,
            place,
            register,
        } = plan.atom.operand(which);
        match place {
            Place::Registers => {
                let per = register.elements(view.ptr.elem.bits());
                let ty = register_type(register, elem);
                self.packed(&plan.values[place_in_plan(which)], view, at, per, ty)
            }
            Place::SharedDescriptor => match plan.descriptors[place_in_plan(which)] {
                Some(descriptor) => Ok(vec![self.descriptor(view, &descriptor, at)?]),
                None => Err(SemError::Illegal("has no descriptor".into())),
            },
            Place::Shared | Place::Global | Place::Anywhere => Err(SemError::Illegal(format!(
                "{} takes an operand from {place}, which is not lowered",
                plan.atom
            ))),
        }
    }

    /// Loads groups of `per` neighbouring elements as values of one type.
    fn packed(
        &mut self,
        values: &Layout,
        view: &View,
        at: &Int,
        per: i64,
        ty: &'static str,
    ) -> Result<Vec<IrValue<'c>>, SemError> {
        let ty = self.emitter.ir.ty(ty);
        let mut loaded = Vec::new();
        for group in offsets_of(values)?.chunks(per as usize) {
            if !are_neighbours(group) {
                return Err(SemError::Illegal(format!(
                    "an operand register holds {per} neighbouring elements, but the fragment's values lie as {values}"
                )));
            }
            let bytes = per * view.ptr.elem.bytes();
            loaded.push(self.load_at(view, &at.add(&group[0]), ty, bytes));
        }
        Ok(loaded)
    }

    /// What a product adds to that does not choose by itself: zeros where it does not accumulate.
    fn added_to(&self, c: Vec<IrValue<'c>>, accumulate: Accumulate<'c>) -> Vec<IrValue<'c>> {
        let ir = &self.emitter.ir;
        let zero = |ty: Type<'c>| ir.value(LlvmOp::MlirZero, &[], &[], ty);
        let chosen = |value: IrValue<'c>| {
            let ty = value.r#type();
            match accumulate {
                Accumulate::Known(true) => value,
                Accumulate::Known(false) => zero(ty),
                Accumulate::If(holds) => {
                    ir.value(ArithOp::Select, &[holds, value, zero(ty)], &[], ty)
                }
            }
        };
        c.into_iter().map(chosen).collect()
    }

    fn fma(
        &mut self,
        a: &[IrValue<'c>],
        b: &[IrValue<'c>],
        c: &[IrValue<'c>],
        elem: Elem,
    ) -> Vec<IrValue<'c>> {
        let ty = self.emitter.ir.ty(elem.name());
        vec![
            self.emitter
                .ir
                .value(LlvmOp::IntrFma, &[a[0], b[0], c[0]], &[], ty),
        ]
    }

    fn mma_sync(
        &mut self,
        plan: &GemmPlan,
        MmaSync { m, n, k }: MmaSync,
        a: &[IrValue<'c>],
        b: &[IrValue<'c>],
        c: &[IrValue<'c>],
    ) -> Vec<IrValue<'c>> {
        let sums = plan.atom.operand(Operand::C);
        let sums_type = register_type(sums.register, sums.elem);
        let sums_type = self.emitter.ir.ty(sums_type);
        let (type_a, type_b) = match (nvvm_type(plan.atom.a), nvvm_type(plan.atom.b)) {
            // Of f64 `nvvm.mma.sync` knows the shape of sm_80 alone.
            (Some(a), Some(b)) if plan.atom.a != Elem::F64 || m == 8 => (a, b),
            _ => return self.mma_of_text(plan, a, b, c, sums_type),
        };
        let ir = &self.emitter.ir;
        let segments = [a, b, c].map(|operands| operands.len() as i32);
        let mut attrs = vec![
            ("layoutA", ir.attr("#nvvm.mma_layout<row>")),
            ("layoutB", ir.attr("#nvvm.mma_layout<col>")),
            ("operandSegmentSizes", ir.i32_array(&segments)),
            ("shape", ir.mma_shape([m, n, k])),
            ("multiplicandAPtxType", ir.attr(type_a)),
            ("multiplicandBPtxType", ir.attr(type_b)),
        ];
        if plan.atom.c == Elem::I32 {
            attrs.push((
                "intOverflowBehavior",
                ir.attr("#nvvm.mma_int_overflow<wrapped>"),
            ));
        }
        let sums = llvm::r#type::r#struct(ir.context(), &vec![sums_type; c.len()], false);
        let operands: Vec<_> = a.iter().chain(b).chain(c).copied().collect();
        let result = ir.value(NvvmOp::MmaSync, &operands, &attrs, sums);
        (0..c.len())
            .map(|index| {
                let position = [("position", ir.i64_array(&[index as i64]))];
                ir.value(LlvmOp::Extractvalue, &[result], &position, sums_type)
            })
            .collect()
    }

    /// `mma.sync` as PTX, of types and shapes which `nvvm.mma.sync` does not know.
    fn mma_of_text(
        &mut self,
        plan: &GemmPlan,
        a: &[IrValue<'c>],
        b: &[IrValue<'c>],
        c: &[IrValue<'c>],
        sums_type: Type<'c>,
    ) -> Vec<IrValue<'c>> {
        let mut next = 0;
        let mut group = |count: usize| {
            let names: Vec<_> = (next..next + count).map(|at| format!("${at}")).collect();
            next += count;
            format!("{{{}}}", names.join(", "))
        };
        let registers = [c.len(), a.len(), b.len(), c.len()]
            .map(&mut group)
            .join(", ");
        let text = format!("{} {registers};", plan.atom.ptx());
        let letters = |letter: &'static str, count: usize| std::iter::repeat_n(letter, count);
        let [out, factor, sum] = match plan.atom.a {
            Elem::F64 => ["=d", "d", "d"],
            _ => ["=f", "r", "f"],
        };
        let constraints: Vec<_> = letters(out, c.len())
            .chain(letters(factor, a.len() + b.len()))
            .chain(letters(sum, c.len()))
            .collect();
        let operands: Vec<_> = a.iter().chain(b).chain(c).copied().collect();
        let result = self.emitter.ir.struct_type(&vec![sums_type; c.len()]);
        let sums = self.assembly(&text, &constraints.join(","), &operands, Some(result));
        sums.map_or_else(Vec::new, |sums| self.fields(sums, sums_type, c.len()))
    }
}

/// Whether a product accumulates, where a constant says it.
fn known<'c>(accumulate: IrValue<'c>) -> Accumulate<'c> {
    let constant = defining_op(accumulate).filter(|op| ArithOp::Constant.is(*op));
    let text = constant.and_then(|op| op.attribute("value").ok());
    match text.map(|value| value.to_string()).as_deref() {
        Some("true") => Accumulate::Known(true),
        Some("false") => Accumulate::Known(false),
        _ => Accumulate::If(accumulate),
    }
}

/// Which of D, A, B and C in a plan an operand is; D is written, C read.
fn place_in_plan(which: Operand) -> usize {
    match which {
        Operand::A => 1,
        Operand::B => 2,
        Operand::C => 3,
    }
}

/// The type of what a register holds of an operand.
fn register_type(register: Register, elem: Elem) -> &'static str {
    match register {
        Register::Element => elem.name(),
        Register::HalfPair => "vector<2xf16>",
        Register::Word => "i32",
    }
}

/// The type of A or B as `nvvm.mma.sync` names it, if it does.
fn nvvm_type(elem: Elem) -> Option<&'static str> {
    match elem {
        Elem::F16 => Some("#nvvm.mma_type<f16>"),
        Elem::BF16 => Some("#nvvm.mma_type<bf16>"),
        Elem::TF32 => Some("#nvvm.mma_type<tf32>"),
        Elem::I4 => Some("#nvvm.mma_type<s4>"),
        Elem::U4 => Some("#nvvm.mma_type<u4>"),
        Elem::I8 => Some("#nvvm.mma_type<s8>"),
        Elem::U8 => Some("#nvvm.mma_type<u8>"),
        Elem::F64 => Some("#nvvm.mma_type<f64>"),
        Elem::I1
        | Elem::I16
        | Elem::I32
        | Elem::U32
        | Elem::I64
        | Elem::U64
        | Elem::F4E2M1
        | Elem::F8E4M3
        | Elem::F8E5M2
        | Elem::F32 => None,
    }
}
