//! Predicated accesses and accesses with cache hints, which NVVM and LLVM lack, as inline assembly.
//!
//! A branch around each access would cut an unrolled copy into hundreds of
//! blocks. PTX predicates the instruction itself, so these are inline assembly.
use super::super::ir_utils::is_zero;
use super::Lowering;
use cutec_dialects::atoms::CpAsync;
use cutec_dialects::builder::{IrValue, result_of};
use cutec_dialects::elem::Space;
use cutec_dialects::ops::{ArithOp, LlvmOp};
use cutec_dialects::value::View;
use cutec_layout::Int;
use melior::ir::Type;

/// How a vector of so many bytes is named in PTX and in registers.
pub(super) struct Access {
    /// Type of the access and of each of its registers (PTX ISA, "ld", "st").
    pub(super) ptx: &'static str,
    /// Type of a register in MLIR.
    register: &'static str,
    /// Constraint of a register in inline assembly.
    pub(super) constraint: &'static str,
    registers: usize,
}

impl Access {
    pub(super) fn of(bytes: i64) -> Access {
        let (ptx, register, constraint, registers) = match bytes {
            1 => ("b8", "i16", "h", 1),
            2 => ("b16", "i16", "h", 1),
            4 => ("b32", "i32", "r", 1),
            8 => ("v2.b32", "i32", "r", 2),
            _ => ("v4.b32", "i32", "r", 4),
        };
        Access {
            ptx,
            register,
            constraint,
            registers,
        }
    }

    /// The registers in PTX, of which the first is operand `first`.
    pub(super) fn operands(&self, first: usize) -> String {
        let names: Vec<String> = (first..first + self.registers)
            .map(|at| format!("${at}"))
            .collect();
        match names.as_slice() {
            [single] => single.clone(),
            _ => format!("{{{}}}", names.join(", ")),
        }
    }
}

/// The inputs of inline assembly, which are numbered behind its outputs.
pub(super) struct Inputs<'c> {
    outputs: usize,
    operands: Vec<IrValue<'c>>,
    constraints: Vec<&'static str>,
}

impl<'c> Inputs<'c> {
    pub(super) fn after(outputs: usize) -> Self {
        Inputs {
            outputs,
            operands: Vec::new(),
            constraints: Vec::new(),
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.operands.len()
    }

    /// Adds an operand, and gives its name in the text.
    pub(super) fn add(&mut self, operand: IrValue<'c>, constraint: &'static str) -> String {
        self.operands.push(operand);
        self.constraints.push(constraint);
        format!("${}", self.outputs + self.operands.len() - 1)
    }
}

fn space(space: Space) -> (&'static str, &'static str) {
    match space {
        Space::Smem => ("shared", "r"),
        Space::Dsmem => ("shared::cluster", "r"),
        Space::Gmem | Space::Rmem => ("global", "l"),
    }
}

/// The predicate of an access.
#[derive(Clone, Copy)]
pub(super) struct Guard<'c> {
    pub(super) pred: IrValue<'c>,
    /// What each element is where it is false, as it lies in memory: zero, if nothing else.
    pub(super) fill: Option<IrValue<'c>>,
}

impl<'c> Lowering<'c> {
    /// Loads `count` contiguous elements, or what a guard has for them where there is one and it does not hold, with the
    /// hints of the operation at hand.
    pub(super) fn load_special(
        &mut self,
        view: &View,
        inside: &Int,
        count: i64,
        guard: Option<Guard<'c>>,
    ) -> IrValue<'c> {
        let bytes = count * view.ptr.elem.bytes();
        let access = Access::of(bytes);
        let address = self.address(view, inside);
        let (space, pointer) = space(view.ptr.space);
        let n = access.registers;
        let mut inputs = Inputs::after(n);
        let address = inputs.add(address, pointer);
        // Written before the address is read.
        let early = if guard.is_some() { "&" } else { "" };
        let guard = guard.map_or(String::new(), |guard| {
            let pred = inputs.add(guard.pred, "b");
            let fill = match guard.fill.filter(|fill| !is_zero(*fill)) {
                Some(fill) => self.repeated(view, fill, count, &access),
                None => Vec::new(),
            };
            let fill: Vec<String> = fill
                .into_iter()
                .map(|register| inputs.add(register, access.constraint))
                .collect();
            let otherwise = |at: usize| fill.get(at).map_or("0", |name| name);
            let width = if bytes < 4 { "b16" } else { "b32" };
            let moves: String = (0..n)
                .map(|at| format!("mov.{width} ${at}, {}; ", otherwise(at)))
                .collect();
            format!("{moves}@{pred} ")
        });
        let hints = self.hints_of_load(view, &mut inputs);
        let text = format!(
            "{guard}ld.{space}{}.{} {}, [{address}]{};",
            hints.modifiers,
            access.ptx,
            access.operands(0),
            hints.operand
        );
        let mut constraints = vec![format!("={early}{}", access.constraint); n];
        constraints.extend(inputs.constraints.iter().map(|letter| letter.to_string()));
        let ir = &self.emitter.ir;
        let register = ir.ty(access.register);
        let result = match n {
            1 => register,
            _ => ir.struct_type(&vec![register; n]),
        };
        let loaded = self.assembly(
            &text,
            &constraints.join(","),
            &inputs.operands,
            Some(result),
        );
        let registers = match (loaded, n) {
            (Some(loaded), 1) => vec![loaded],
            (Some(loaded), _) => self.fields(loaded, register, n),
            (None, _) => Vec::new(),
        };
        self.vector_of(view, count, &access, registers)
    }

    /// Stores `count` contiguous elements, where there is no predicate or it is true, with the hints of
    /// the operation at hand.
    pub(super) fn store_special(
        &mut self,
        view: &View,
        inside: &Int,
        count: i64,
        value: IrValue<'c>,
        pred: Option<IrValue<'c>>,
    ) {
        let access = Access::of(count * view.ptr.elem.bytes());
        let address = self.address(view, inside);
        let (space, pointer) = space(view.ptr.space);
        let mut inputs = Inputs::after(0);
        let address = inputs.add(address, pointer);
        let guard = pred.map(|pred| inputs.add(pred, "b"));
        let guard = guard.map_or(String::new(), |pred| format!("@{pred} "));
        let first = inputs.operands.len();
        for register in self.registers_of(view, count, &access, value) {
            inputs.add(register, access.constraint);
        }
        let hints = self.hints_of_store(view, &mut inputs);
        let text = format!(
            "{guard}st.{space}{}.{} [{address}], {}{};",
            hints.modifiers,
            access.ptx,
            access.operands(first),
            hints.operand
        );
        self.assembly_of(&text, &inputs);
    }

    /// `cp.async` with the hints of the operation at hand; where there is a predicate and it is false, it
    /// writes zeros and reads nothing (PTX ISA, "cp.async": ignore-src).
    ///
    /// NVVM knows only a source size, for which ptxas keeps a register each and makes it a predicate again.
    pub(super) fn cp_async_special(
        &mut self,
        copy: CpAsync,
        from: IrValue<'c>,
        to: IrValue<'c>,
        pred: Option<IrValue<'c>>,
    ) {
        let mut inputs = Inputs::after(0);
        let (to, from) = (inputs.add(to, "r"), inputs.add(from, "l"));
        let ignore = pred.map(|pred| {
            let ir = &self.emitter.ir;
            let yes = ir.constant(1, "i1");
            let ignore = ir.value(ArithOp::Xori, &[pred, yes], &[], ir.ty("i1"));
            format!(", {}", inputs.add(ignore, "b"))
        });
        let hints = self.hints_of_cp_async(&mut inputs);
        let text = format!(
            "{}{} [{to}], [{from}], {}{}{};",
            copy.ptx(),
            hints.modifiers,
            copy.bits / 8,
            ignore.unwrap_or_default(),
            hints.operand
        );
        self.assembly_of(&text, &inputs);
    }

    /// One piece of PTX without a result.
    pub(super) fn assembly_of(&mut self, text: &str, inputs: &Inputs<'c>) {
        let constraints = inputs.constraints.join(",");
        self.assembly(text, &constraints, &inputs.operands, None);
    }

    /// One piece of PTX with side effects: it is neither moved nor dropped.
    pub(super) fn assembly(
        &mut self,
        text: &str,
        constraints: &str,
        operands: &[IrValue<'c>],
        result: Option<Type<'c>>,
    ) -> Option<IrValue<'c>> {
        let ir = &self.emitter.ir;
        let attrs = [
            ("asm_string", ir.string(text)),
            ("constraints", ir.string(constraints)),
            ("has_side_effects", ir.unit()),
        ];
        let op = ir.op(LlvmOp::InlineAsm, operands, &attrs, result.as_slice());
        result.map(|_| result_of(op, 0))
    }

    /// One piece of PTX with effects, and its result if it has one.
    pub(super) fn assembly_with(
        &mut self,
        text: &str,
        inputs: &Inputs<'c>,
        result: Option<(&'static str, Type<'c>)>,
    ) -> Option<IrValue<'c>> {
        let mut constraints: Vec<&str> = result.iter().map(|(letter, _)| *letter).collect();
        constraints.extend(&inputs.constraints);
        let constraints = constraints.join(",");
        let result = result.map(|(_, ty)| ty);
        self.assembly(text, &constraints, &inputs.operands, result)
    }

    /// One piece of PTX before and after which every access to memory stays, and its result if it has one.
    pub(super) fn assembly_at_memory(
        &mut self,
        text: &str,
        inputs: &Inputs<'c>,
        result: Option<(&'static str, Type<'c>)>,
    ) -> Option<IrValue<'c>> {
        let mut constraints: Vec<&str> = result.iter().map(|(letter, _)| *letter).collect();
        constraints.extend(&inputs.constraints);
        constraints.push("~{memory}");
        let constraints = constraints.join(",");
        let result = result.map(|(_, ty)| ty);
        self.assembly(text, &constraints, &inputs.operands, result)
    }

    /// The fields of a struct of `count` values of one type.
    pub(super) fn fields(
        &mut self,
        whole: IrValue<'c>,
        ty: Type<'c>,
        count: usize,
    ) -> Vec<IrValue<'c>> {
        let ir = &self.emitter.ir;
        (0..count)
            .map(|at| {
                let position = [("position", ir.i64_array(&[at as i64]))];
                ir.value(LlvmOp::Extractvalue, &[whole], &position, ty)
            })
            .collect()
    }

    /// The registers of a vector as it lies in memory, as that vector.
    fn vector_of(
        &mut self,
        view: &View,
        count: i64,
        access: &Access,
        registers: Vec<IrValue<'c>>,
    ) -> IrValue<'c> {
        let ty = self.contiguous_type(view.ptr.elem, count);
        let ir = &self.emitter.ir;
        if let [single] = registers[..] {
            let single = match count * view.ptr.elem.bytes() {
                1 => ir.value(LlvmOp::Trunc, &[single], &[], ir.ty("i8")),
                _ => single,
            };
            return ir.value(LlvmOp::Bitcast, &[single], &[], ty);
        }
        let whole = ir.vector_type(access.registers as i64, ir.ty(access.register));
        let vector = self.joined_lanes(&registers, whole);
        let ir = &self.emitter.ir;
        ir.value(LlvmOp::Bitcast, &[vector], &[], ty)
    }

    /// The registers of a vector whose elements are all the same.
    fn repeated(
        &mut self,
        view: &View,
        element: IrValue<'c>,
        count: i64,
        access: &Access,
    ) -> Vec<IrValue<'c>> {
        let elements = vec![element; count as usize];
        let vector = match count {
            1 => element,
            _ => {
                let ty = self.contiguous_type(view.ptr.elem, count);
                self.joined_lanes(&elements, ty)
            }
        };
        self.registers_of(view, count, access, vector)
    }

    /// A vector as registers, the other way round.
    pub(super) fn registers_of(
        &mut self,
        view: &View,
        count: i64,
        access: &Access,
        value: IrValue<'c>,
    ) -> Vec<IrValue<'c>> {
        let ir = &self.emitter.ir;
        let register = ir.ty(access.register);
        if access.registers == 1 {
            let bytes = count * view.ptr.elem.bytes();
            let bits = ir.integer_type(bytes as u32 * 8);
            let whole = ir.value(LlvmOp::Bitcast, &[value], &[], bits);
            return vec![match bytes {
                1 => ir.value(LlvmOp::Zext, &[whole], &[], register),
                _ => whole,
            }];
        }
        self.registers_as(value, access.registers, register)
    }

    /// What a value is in so many registers of a type.
    pub(super) fn registers_as(
        &mut self,
        value: IrValue<'c>,
        count: usize,
        register: Type<'c>,
    ) -> Vec<IrValue<'c>> {
        let ir = &self.emitter.ir;
        if count == 1 {
            return vec![ir.value(LlvmOp::Bitcast, &[value], &[], register)];
        }
        let whole = ir.vector_type(count as i64, register);
        let whole = ir.value(LlvmOp::Bitcast, &[value], &[], whole);
        (0..count)
            .map(|lane| {
                let position = self.emitter.constant(lane as i64, false);
                let ir = &self.emitter.ir;
                ir.value(LlvmOp::Extractelement, &[whole, position], &[], register)
            })
            .collect()
    }
}
