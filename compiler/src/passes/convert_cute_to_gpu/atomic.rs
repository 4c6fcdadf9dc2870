//! Atomic updates, relaxed, in the scope of the GPU, of the cluster or of the block: `red` where nobody asks what was there
//! (PTX ISA, "red"), else `atomicrmw` and `cmpxchg`, in a loop where there is no instruction.
use super::Lowering;
use super::memory::coordinate;
use super::predicated::Inputs;
use crate::passes::cmpi::{AT_LEAST, LESS, cmpi};
use cutec_dialects::atoms::RedForm;
use cutec_dialects::builder::{Insertion, IrValue, argument_of, region_with_block, result_of};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{ArithOp, LlvmOp, ScfOp};
use cutec_dialects::semantics::{AtomicKind, SemError, element_offset};
use cutec_dialects::target::Target;
use cutec_dialects::value::{Val, View};
use melior::ir::Type;

/// The predicate of `arith.cmpf` that says whether both sides are numbers.
const ORDERED: i64 = 7;

/// `monotonic` of LLVM's atomic orderings.
const RELAXED: &str = "2 : i64";

impl<'c> Lowering<'c> {
    /// What the element of a view was before its update by the values at the front of `rest`. Where the
    /// condition behind them does not hold, nothing is updated and the result is zero.
    pub(super) fn atomic(
        &mut self,
        operands: &[Val],
        kind: AtomicKind,
        rest: &[IrValue<'c>],
    ) -> Result<IrValue<'c>, SemError> {
        let (view, address) = self.element(operands)?;
        let (values, condition) = rest.split_at(kind.values());
        if let Some(access) = Strong::of(kind) {
            return self.strong(view, access, address, values, condition.first().copied());
        }
        let [condition] = condition else {
            return self.update(view, kind, address, values);
        };
        let ty = self.emitter.ir.ty(view.ptr.elem.value_type());
        let (holds, block) = region_with_block(&[]);
        let end = Insertion::End(block);
        let outside = std::mem::replace(&mut self.emitter.ir.insertion, end);
        let updated = self.update(view, kind, address, values);
        let ir = &mut self.emitter.ir;
        if let Ok(old) = updated {
            ir.op(ScfOp::Yield, &[old], &[], &[]);
        }
        let (fails, block) = region_with_block(&[]);
        ir.insertion = Insertion::End(block);
        let zero = ir.value(LlvmOp::MlirZero, &[], &[], ty);
        ir.op(ScfOp::Yield, &[zero], &[], &[]);
        ir.insertion = outside;
        updated?;
        let regions = vec![holds, fails];
        let both = ir.op_with_regions(ScfOp::If, &[*condition], &[], &[ty], regions);
        Ok(result_of(both, 0))
    }

    /// A load of what is there, or a store, that other threads' atomic updates may meet (PTX ISA, "ld", "st"). Where there is a
    /// condition that does not hold, a load gives zero.
    fn strong(
        &mut self,
        view: &View,
        access: Strong,
        address: IrValue<'c>,
        values: &[IrValue<'c>],
        condition: Option<IrValue<'c>>,
    ) -> Result<IrValue<'c>, SemError> {
        let elem = view.ptr.elem;
        let (width, letter) = (elem.bits(), constraint(elem.bits()));
        let ir = &self.emitter.ir;
        let (number, word) = (ir.ty(elem.value_type()), ir.integer_type(width as u32));
        let Place {
            scope,
            space,
            pointer,
            ..
        } = Place::of(view);
        let of = format!("{scope}.{space}.b{width}");
        let mut inputs = Inputs::after(usize::from(values.is_empty()));
        let address = inputs.add(address, pointer);
        let guard = condition.map(|holds| inputs.add(holds, "b"));
        let guard = guard.map_or(String::new(), |holds| format!("@{holds} "));
        let Strong { order, .. } = access;
        if let [value] = values {
            let bits = match elem.is_float() {
                true => ir.value(ArithOp::Bitcast, &[*value], &[], word),
                false => *value,
            };
            let bits = inputs.add(bits, letter);
            let text = format!("{guard}st.{order}.{of} [{address}], {bits};");
            self.strong_assembly(access, &text, &inputs, None);
            return Ok(*value);
        }
        let zero = match condition {
            Some(_) => format!("mov.b{width} $0, 0; "),
            None => String::new(),
        };
        let text = format!("{zero}{guard}ld.{order}.{of} $0, [{address}];");
        // Where there is a condition the result is written before the address is read.
        let letter = match (condition, letter) {
            (Some(_), "l") => "=&l",
            (Some(_), _) => "=&r",
            (None, "l") => "=l",
            (None, _) => "=r",
        };
        let bits = self.strong_assembly(access, &text, &inputs, Some((letter, word)));
        let bits = bits.ok_or_else(|| SemError::Illegal("a load has a result".into()))?;
        Ok(match elem.is_float() {
            true => self
                .emitter
                .ir
                .value(ArithOp::Bitcast, &[bits], &[], number),
            false => bits,
        })
    }

    /// Accesses of this thread stay on their side of what acquires or releases.
    fn strong_assembly(
        &mut self,
        access: Strong,
        text: &str,
        inputs: &Inputs<'c>,
        result: Option<(&'static str, Type<'c>)>,
    ) -> Option<IrValue<'c>> {
        match access.orders {
            true => self.assembly_at_memory(text, inputs, result),
            false => self.assembly_with(text, inputs, result),
        }
    }

    /// An update whose result nobody needs, where its condition holds, as one instruction, or as one for each sign; whether there is one.
    pub(super) fn reduce(
        &mut self,
        operands: &[Val],
        kind: AtomicKind,
        rest: &[IrValue<'c>],
    ) -> Result<bool, SemError> {
        let (values, condition) = rest.split_at(kind.values());
        let (view, address) = self.element(operands)?;
        let elem = view.ptr.elem;
        let &[value] = values else {
            return Ok(false);
        };
        let condition = condition.first().copied();
        if let Some(form) = kind.red(elem, &self.target) {
            self.red(form, view, address, value, condition);
            return Ok(true);
        }
        let Some(by_sign) = forms_by_sign(kind, elem, &self.target) else {
            return Ok(false);
        };
        for (form, of_sign) in by_sign.into_iter().zip(self.signs_of(value, elem)) {
            let ir = &self.emitter.ir;
            let both = |holds| ir.value(ArithOp::Andi, &[holds, of_sign], &[], ir.ty("i1"));
            let holds = condition.map_or(of_sign, both);
            self.red(form, view, address, value, Some(holds));
        }
        Ok(true)
    }

    /// Whether a floating number is one that is not negative, and one that is; neither where it is none.
    fn signs_of(&self, value: IrValue<'c>, elem: Elem) -> [IrValue<'c>; 2] {
        let ir = &self.emitter.ir;
        let (bit, bits) = (ir.ty("i1"), ir.integer_type(elem.bits() as u32));
        let ordered = [("predicate", ir.i64(ORDERED))];
        let is_number = ir.value(ArithOp::Cmpf, &[value, value], &ordered, bit);
        let word = ir.value(ArithOp::Bitcast, &[value], &[], bits);
        let zero = ir.constant_of(0, bits);
        [AT_LEAST, LESS].map(|side| {
            let side = cmpi(ir, side, word, zero);
            ir.value(ArithOp::Andi, &[is_number, side], &[], bit)
        })
    }

    /// One `red`, where there is no condition or it holds.
    pub(super) fn red(
        &mut self,
        form: RedForm,
        view: &View,
        address: IrValue<'c>,
        value: IrValue<'c>,
        condition: Option<IrValue<'c>>,
    ) {
        let RedForm {
            operation,
            register,
            registers,
            ..
        } = form;
        let Place {
            scope,
            space,
            pointer,
            ..
        } = Place::of(view);
        let mut inputs = Inputs::after(0);
        let address = inputs.add(address, pointer);
        let guard = condition.map(|holds| inputs.add(holds, "b"));
        let guard = guard.map_or(String::new(), |holds| format!("@{holds} "));
        let ty = self.emitter.ir.integer_type(register);
        let values: Vec<String> = self
            .registers_as(value, registers, ty)
            .into_iter()
            .map(|value| inputs.add(value, constraint(register.into())))
            .collect();
        let values = match values.as_slice() {
            [single] => single.clone(),
            _ => format!("{{{}}}", values.join(", ")),
        };
        let text = format!("{guard}red.relaxed.{scope}.{space}.{operation} [{address}], {values};");
        self.assembly_of(&text, &inputs);
    }

    /// The view of an update, and the address of the element.
    fn element<'v>(&mut self, operands: &'v [Val]) -> Result<(&'v View, IrValue<'c>), SemError> {
        let [Val::View(view), coord, ..] = operands else {
            return Err(SemError::Illegal(
                "an atomic update takes a view and a coordinate".into(),
            ));
        };
        let offset = element_offset(view, &coordinate(coord)?)?;
        Ok((view, self.address(view, &offset)))
    }

    fn update(
        &mut self,
        view: &View,
        kind: AtomicKind,
        address: IrValue<'c>,
        values: &[IrValue<'c>],
    ) -> Result<IrValue<'c>, SemError> {
        let elem = view.ptr.elem;
        let ir = &self.emitter.ir;
        let scope = ir.attr(Place::of(view).syncscope);
        let ordering = ir.attr(RELAXED);
        let ty = ir.ty(elem.value_type());
        match (kind, values) {
            (AtomicKind::Cas, [value, expected]) => {
                let attrs = [
                    ("success_ordering", ordering),
                    ("failure_ordering", ordering),
                    ("syncscope", scope),
                ];
                let pair = ir.struct_type(&[ty, ir.ty("i1")]);
                let both = ir.value(LlvmOp::Cmpxchg, &[address, *expected, *value], &attrs, pair);
                let first = [("position", ir.i64_array(&[0]))];
                Ok(ir.value(LlvmOp::Extractvalue, &[both], &first, ty))
            }
            (_, [value]) if !is_one_instruction(kind, elem, &self.target) => {
                self.update_by_comparing(view, kind, address, *value)
            }
            (_, [value]) => {
                let operation = ir.i64(operation(kind, elem));
                let attrs = [
                    ("bin_op", operation),
                    ("ordering", ordering),
                    ("syncscope", scope),
                ];
                Ok(ir.value(LlvmOp::Atomicrmw, &[address, *value], &attrs, ty))
            }
            _ => Err(SemError::Illegal("an atomic update takes one value".into())),
        }
    }

    /// An update of floating numbers that the target has no instruction for: computed from what is there, and put
    /// there if that is what is there still. LLVM's own loop has its first look unordered, a data race with other
    /// updates.
    fn update_by_comparing(
        &mut self,
        view: &View,
        kind: AtomicKind,
        address: IrValue<'c>,
        value: IrValue<'c>,
    ) -> Result<IrValue<'c>, SemError> {
        let (elem, place) = (view.ptr.elem, Place::of(view));
        let combines = match kind {
            AtomicKind::Min => LlvmOp::IntrMinnum,
            AtomicKind::Max => LlvmOp::IntrMaxnum,
            AtomicKind::Add => LlvmOp::Fadd,
            AtomicKind::And
            | AtomicKind::Or
            | AtomicKind::Xor
            | AtomicKind::Exchange
            | AtomicKind::Cas
            | AtomicKind::Load
            | AtomicKind::Acquire
            | AtomicKind::Store
            | AtomicKind::Release => {
                return Err(SemError::Illegal(format!("no atomic {kind:?} of {elem}")));
            }
        };
        let width = elem.bits();
        let ir = &mut self.emitter.ir;
        let (number, bits) = (ir.ty(elem.name()), ir.integer_type(width as u32));
        let look = [
            ("ordering", ir.attr(RELAXED)),
            ("syncscope", ir.attr(place.syncscope)),
            ("alignment", ir.i64(elem.bytes())),
        ];
        let first = ir.value(LlvmOp::Load, &[address], &look, bits);

        let (round, block) = region_with_block(&[(bits, ir.location)]);
        let outside = std::mem::replace(&mut ir.insertion, Insertion::End(block));
        let expected = argument_of(block, 0);
        let old = ir.value(LlvmOp::Bitcast, &[expected], &[], number);
        let new = ir.value(combines, &[old, value], &[], number);
        let new = ir.value(LlvmOp::Bitcast, &[new], &[], bits);
        let Place { scope, space, .. } = place;
        let text = format!("atom.relaxed.{scope}.{space}.cas.b{width} $0, [$1], $2, $3;");
        let letter = constraint(elem.bits());
        let constraints = format!("={letter},{},{letter},{letter}", place.pointer);
        let operands = [address, expected, new];
        let found = self.assembly(&text, &constraints, &operands, Some(bits));
        let found = found.unwrap_or(expected);
        let ir = &mut self.emitter.ir;
        let differs = [("predicate", ir.i64(1))];
        let again = ir.value(LlvmOp::Icmp, &[found, expected], &differs, ir.ty("i1"));
        ir.op(ScfOp::Condition, &[again, found], &[], &[]);

        let (next, block) = region_with_block(&[(bits, ir.location)]);
        ir.insertion = Insertion::End(block);
        ir.op(ScfOp::Yield, &[argument_of(block, 0)], &[], &[]);
        ir.insertion = outside;
        let regions = vec![round, next];
        let last = ir.op_with_regions(ScfOp::While, &[first], &[], &[bits], regions);
        Ok(ir.value(LlvmOp::Bitcast, &[result_of(last, 0)], &[], number))
    }
}

/// How integers update the smaller or larger floating number, of a value that is not negative and of one that is: bits of the former are in the
/// order of signed integers, among all; those of negative ones are larger the smaller they are, and as unsigned integers larger than those of all
/// others. A NaN in memory may stay there.
fn forms_by_sign(kind: AtomicKind, elem: Elem, target: &Target) -> Option<[RedForm; 2]> {
    use AtomicKind::{Max, Min};
    let (signed, unsigned) = match elem {
        Elem::F32 => (Elem::I32, Elem::U32),
        Elem::F64 => (Elem::I64, Elem::U64),
        _ => return None,
    };
    let contrary = match kind {
        Max => Min,
        Min => Max,
        _ => return None,
    };
    Some([kind.red(signed, target)?, contrary.red(unsigned, target)?])
}

/// An access that is no update, but may meet updates of other threads.
#[derive(Clone, Copy)]
struct Strong {
    order: &'static str,
    /// Whether it orders other accesses of its thread.
    orders: bool,
}

impl Strong {
    fn of(kind: AtomicKind) -> Option<Strong> {
        let (order, orders) = match kind {
            AtomicKind::Load | AtomicKind::Store => ("relaxed", false),
            AtomicKind::Acquire => ("acquire", true),
            AtomicKind::Release => ("release", true),
            AtomicKind::Add
            | AtomicKind::Min
            | AtomicKind::Max
            | AtomicKind::And
            | AtomicKind::Or
            | AtomicKind::Xor
            | AtomicKind::Exchange
            | AtomicKind::Cas => return None,
        };
        Some(Strong { order, orders })
    }
}

/// Where an update is seen, and how PTX and LLVM say that.
struct Place {
    space: &'static str,
    scope: &'static str,
    syncscope: &'static str,
    /// Constraint of the address in inline assembly.
    pointer: &'static str,
}

impl Place {
    fn of(view: &View) -> Place {
        match view.ptr.space {
            Space::Smem => Place {
                space: "shared",
                scope: "cta",
                syncscope: "\"block\"",
                pointer: "r",
            },
            Space::Dsmem => Place {
                space: "shared::cluster",
                scope: "cluster",
                syncscope: "\"cluster\"",
                pointer: "r",
            },
            Space::Gmem | Space::Rmem => Place {
                space: "global",
                scope: "gpu",
                syncscope: "\"device\"",
                pointer: "l",
            },
        }
    }
}

/// Constraint of a register of so many bits in inline assembly.
fn constraint(bits: i64) -> &'static str {
    match bits {
        16 => "h",
        64 => "l",
        _ => "r",
    }
}

/// Whether `atom` does it.
fn is_one_instruction(kind: AtomicKind, elem: Elem, target: &Target) -> bool {
    matches!(kind, AtomicKind::Exchange | AtomicKind::Cas) || kind.red(elem, target).is_some()
}

/// The number of an operation of `llvm.atomicrmw`.
fn operation(kind: AtomicKind, elem: Elem) -> i64 {
    match (kind, elem.is_float()) {
        (AtomicKind::Add, false) => 1,
        (AtomicKind::And, _) => 3,
        (AtomicKind::Or, _) => 5,
        (AtomicKind::Xor, _) => 6,
        (AtomicKind::Max, false) if elem.is_unsigned() => 9,
        (AtomicKind::Min, false) if elem.is_unsigned() => 10,
        (AtomicKind::Max, false) => 7,
        (AtomicKind::Min, false) => 8,
        (AtomicKind::Add, true) => 11,
        (AtomicKind::Max, true) => 13,
        (AtomicKind::Min, true) => 14,
        (AtomicKind::Exchange | AtomicKind::Cas, _) => 0,
        // No updates.
        (AtomicKind::Load | AtomicKind::Acquire | AtomicKind::Store | AtomicKind::Release, _) => 0,
    }
}
