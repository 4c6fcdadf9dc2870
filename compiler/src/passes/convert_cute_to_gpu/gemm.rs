//! Gemms: one instruction of the atom for each (m, n, k).
use super::Lowering;
use cutec_dialects::atoms::MmaOp;
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::Elem;
use cutec_dialects::semantics::{GemmPlan, SemError, gemm_plan, offsets_of};
use cutec_dialects::value::{Val, View};
use cutec_layout::{Int, Layout};
use std::collections::HashMap;

/// The registers of an operand, read once however many instructions use them.
#[derive(Default)]
struct Registers<'c> {
    read: HashMap<Int, Vec<IrValue<'c>>>,
}

impl<'c> Lowering<'c> {
    pub(super) fn gemm(&mut self, operands: &[Val]) -> Result<(), SemError> {
        let [mma, d, a, b, c] = operands else {
            return Err(SemError::Illegal("gemm takes an MMA and four views".into()));
        };
        let plan = gemm_plan(mma, d, a, b, c)?;
        plan.atom
            .legal_on(&self.target)
            .map_err(|error| SemError::Illegal(error.to_string()))?;
        let views = &plan.views;
        let in_place = views[0] == views[3];
        let (mut read_a, mut read_b) = (Registers::default(), Registers::default());
        let mut sums: HashMap<Int, Vec<IrValue<'c>>> = HashMap::new();
        let mut order: Vec<Int> = Vec::new();
        for [at_d, at_a, at_b, at_c] in &plan.steps {
            let a = self.registers(&mut read_a, &plan, 1, &views[1], at_a)?;
            let b = self.registers(&mut read_b, &plan, 2, &views[2], at_b)?;
            let c = match sums.get(at_d) {
                Some(sum) => sum.clone(),
                None => {
                    order.push(at_d.clone());
                    let (view, at) = if in_place {
                        (&views[0], at_d)
                    } else {
                        (&views[3], at_c)
                    };
                    self.accumulator(&plan.values[3], view, at)?
                }
            };
            let d = match plan.atom.op {
                MmaOp::Fma => self.fma(&a, &b, &c, plan.atom.c),
                MmaOp::Sync { .. } => self.mma_sync(&plan, &a, &b, &c),
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

    /// Operand registers of A or B: 32 bits each, packed elements.
    fn registers(
        &mut self,
        read: &mut Registers<'c>,
        plan: &GemmPlan,
        which: usize,
        view: &View,
        at: &Int,
    ) -> Result<Vec<IrValue<'c>>, SemError> {
        if let Some(found) = read.read.get(at) {
            return Ok(found.clone());
        }
        let elem = if which == 1 { plan.atom.a } else { plan.atom.b };
        let ty = match (plan.atom.op, elem) {
            (MmaOp::Fma, elem) => elem.name().to_string(),
            (_, Elem::F16) => "vector<2xf16>".into(),
            (_, Elem::F64) => "f64".into(),
            _ => "i32".into(),
        };
        let loaded = self.packed(
            &plan.values[which],
            view,
            at,
            if plan.atom.op == MmaOp::Fma {
                1
            } else {
                (32 / view.ptr.elem.bits()).max(1)
            },
            &ty,
        )?;
        read.read.insert(at.clone(), loaded.clone());
        Ok(loaded)
    }

    fn accumulator(
        &mut self,
        values: &Layout,
        view: &View,
        at: &Int,
    ) -> Result<Vec<IrValue<'c>>, SemError> {
        match view.ptr.elem {
            Elem::F16 if offsets_of(values)?.len() > 1 => {
                self.packed(values, view, at, 2, "vector<2xf16>")
            }
            elem => self.packed(values, view, at, 1, elem.name()),
        }
    }

    /// Loads groups of `per` neighbouring elements as values of one type.
    fn packed(
        &mut self,
        values: &Layout,
        view: &View,
        at: &Int,
        per: i64,
        ty: &str,
    ) -> Result<Vec<IrValue<'c>>, SemError> {
        let ty = self.emitter.ir.ty(ty);
        let mut loaded = Vec::new();
        for group in offsets_of(values)?.chunks(per as usize) {
            if !group
                .iter()
                .enumerate()
                .all(|(lane, at)| at.sub(&group[0]).is(lane as i64))
            {
                return Err(SemError::Illegal(format!(
                    "an operand register holds {per} neighbouring elements, but the fragment's values lie as {values}"
                )));
            }
            let bytes = per * view.ptr.elem.bytes();
            loaded.push(self.load_at(view, &at.add(&group[0]), ty, bytes));
        }
        Ok(loaded)
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
                .value("llvm.intr.fma", &[a[0], b[0], c[0]], &[], ty),
        ]
    }

    fn mma_sync(
        &mut self,
        plan: &GemmPlan,
        a: &[IrValue<'c>],
        b: &[IrValue<'c>],
        c: &[IrValue<'c>],
    ) -> Vec<IrValue<'c>> {
        let MmaOp::Sync { m, n, k } = plan.atom.op else {
            return Vec::new();
        };
        if matches!(plan.atom.a, Elem::F8E4M3 | Elem::F8E5M2) {
            return self.mma_f8(plan, [m, n, k], a, b, c);
        }
        let ir = &self.emitter.ir;
        let segments = format!("array<i32: {}, {}, {}>", a.len(), b.len(), c.len());
        let mut attrs = vec![
            ("layoutA", ir.attr("#nvvm.mma_layout<row>")),
            ("layoutB", ir.attr("#nvvm.mma_layout<col>")),
            ("operandSegmentSizes", ir.attr(&segments)),
            (
                "shape",
                ir.attr(&format!("#nvvm.shape<m = {m}, n = {n}, k = {k}>")),
            ),
        ];
        for (key, elem) in [
            ("multiplicandAPtxType", plan.atom.a),
            ("multiplicandBPtxType", plan.atom.b),
        ] {
            let ptx = match elem {
                Elem::F16 => "f16",
                Elem::BF16 => "bf16",
                Elem::TF32 | Elem::F32 => "tf32",
                Elem::I4 => "s4",
                Elem::U4 => "u4",
                Elem::I8 => "s8",
                Elem::U8 => "u8",
                Elem::F64 => "f64",
                // The registers say what they are.
                _ => continue,
            };
            attrs.push((key, ir.attr(&format!("#nvvm.mma_type<{ptx}>"))));
        }
        if plan.atom.c == Elem::I32 {
            attrs.push((
                "intOverflowBehavior",
                ir.attr("#nvvm.mma_int_overflow<wrapped>"),
            ));
        }
        let (register, text) = match plan.atom.c {
            Elem::F16 => (
                ir.ty("vector<2xf16>"),
                "!llvm.struct<(vector<2xf16>, vector<2xf16>)>",
            ),
            Elem::I32 if c.len() == 2 => (ir.ty("i32"), "!llvm.struct<(i32, i32)>"),
            Elem::I32 => (ir.ty("i32"), "!llvm.struct<(i32, i32, i32, i32)>"),
            Elem::F64 => (ir.ty("f64"), "!llvm.struct<(f64, f64)>"),
            _ => (ir.ty("f32"), "!llvm.struct<(f32, f32, f32, f32)>"),
        };
        let operands: Vec<_> = a.iter().chain(b).chain(c).copied().collect();
        let result = ir.value("nvvm.mma.sync", &operands, &attrs, ir.ty(text));
        (0..c.len())
            .map(|index| {
                let position = [("position", ir.attr(&format!("array<i64: {index}>")))];
                ir.value("llvm.extractvalue", &[result], &position, register)
            })
            .collect()
    }
    /// `mma.sync` of f8, which `nvvm.mma.sync` does not know.
    fn mma_f8(
        &mut self,
        plan: &GemmPlan,
        [m, n, k]: [u32; 3],
        a: &[IrValue<'c>],
        b: &[IrValue<'c>],
        c: &[IrValue<'c>],
    ) -> Vec<IrValue<'c>> {
        let name = |elem| match elem {
            Elem::F8E4M3 => "e4m3",
            _ => "e5m2",
        };
        let (a_name, b_name) = (name(plan.atom.a), name(plan.atom.b));
        let mut next = 0;
        let mut group = |count: usize| {
            let names: Vec<_> = (next..next + count).map(|at| format!("${at}")).collect();
            next += count;
            format!("{{{}}}", names.join(", "))
        };
        let registers = [c.len(), a.len(), b.len(), c.len()]
            .map(&mut group)
            .join(", ");
        let text =
            format!("mma.sync.aligned.m{m}n{n}k{k}.row.col.f32.{a_name}.{b_name}.f32 {registers};");
        let letters = |letter: &'static str, count: usize| std::iter::repeat_n(letter, count);
        let constraints: Vec<_> = letters("=f", c.len())
            .chain(letters("r", a.len() + b.len()))
            .chain(letters("f", c.len()))
            .collect();
        let operands: Vec<_> = a.iter().chain(b).chain(c).copied().collect();
        let result = "!llvm.struct<(f32, f32, f32, f32)>";
        let sums = self.assembly(&text, &constraints.join(","), &operands, Some(result));
        sums.map_or_else(Vec::new, |sums| self.fields(sums, "f32", c.len()))
    }
}
