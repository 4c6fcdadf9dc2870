//! Values as operands of operations, and operations of the `cute` dialect on values.

use super::bounds::allocation;
use super::narrow::{f8_bits, tf32_value};
use super::problem;
use super::values::{Leaf, Origin, RecordValue, Scalar, Slot, Value, elem_name};
use super::{Evaluator, Result, Stop};
use crate::diagnostics::codes;
use crate::rules;
use crate::source::Span;
use cutec_dialects::builder::{Insertion, IrValue, OpBuilder, result_of};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ir::build;
use cutec_dialects::legal::check_type;
use cutec_dialects::memo::type_value;
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::{Attrs, evaluate};
use cutec_dialects::types::{Vars, parse_type};
use cutec_dialects::value::{TupleKind, Val, View};
use cutec_layout::{AnyLayout, Coord, Int, Layout, Tree, Width};
use melior::ir::{Attribute, BlockLike, OperationRef, Type, ValueLike};

impl<'c, 'a> Evaluator<'c, 'a> {
    /// An operation of the `cute` dialect: computed if its operands are known, emitted otherwise.
    /// `what` is how messages call it.
    pub(super) fn op(
        &mut self,
        op: CuteOp,
        what: &str,
        operands: &[Value<'c, 'a>],
        attrs: &Attrs,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        if operands
            .iter()
            .any(|operand| matches!(operand, Value::Error))
        {
            return Err(Stop::Reported);
        }
        let mut vars = Vars::default();
        let mut vals = Vec::with_capacity(operands.len());
        for operand in operands {
            vals.push(self.val_of(operand, &mut vars, span)?);
        }
        self.check_bounds(op, operands, &vals, attrs, span)?;
        self.check_room(op, operands, span)?;
        let mut known = None;
        if !op.allocates() && !op.is_statement() {
            match evaluate(op, &vals, attrs) {
                Ok(result) if result.is_static() => return Ok(Value::of_static(result)),
                Ok(result) => known = Some(result),
                Err(error) => return Err(self.report(problem::semantic(span, what, &error, &vals))),
            }
        }
        let mut irs = Vec::with_capacity(operands.len());
        for operand in operands {
            irs.push(self.ir_of(operand, span)?);
        }
        let origin = self.origin(op, operands, known.as_ref(), attrs.result.as_ref());
        self.track_fragments(op, operands, span);
        // What is read says in which registers it is, not of which type.
        let elem = match (op, operands.first().and_then(Value::as_view)) {
            (CuteOp::MemrefLoad | CuteOp::MemrefAtomic, Some((_, view))) => Some(view.ptr.elem),
            _ => None,
        };
        match build(self.ir(span)?, op, &irs, attrs) {
            Ok(Some(ir)) if elem.is_some_and(|elem| elem.value_type() != elem.name()) => Ok(
                super::arith::number_or_vector(ir, elem.unwrap_or(Elem::I8), None),
            ),
            Ok(Some(ir)) if op.allocates() => Ok(allocation(self.of_ir(ir, origin, span)?)),
            Ok(Some(ir)) => self.of_ir(ir, origin, span),
            Ok(None) => Ok(Value::Unit),
            Err(error) => {
                let mut diagnostic = problem::semantic(span, what, &error, &vals);
                self.name_promises(&mut diagnostic, &vals, &irs);
                Err(self.report(diagnostic))
            }
        }
    }

    /// What the semantics sees of a value.
    fn val_of(&mut self, value: &Value<'c, 'a>, vars: &mut Vars, span: Span) -> Result<Val> {
        if let Some(val) = value.as_static() {
            return Ok(val);
        }
        let leaf = |scalar: &Scalar<'c>, vars: &mut Vars| match scalar.elem {
            Elem::I64 | Elem::U64 => Some(vars.fresh(Width::I64, scalar.div)),
            Elem::I32 | Elem::U32 | Elem::I16 | Elem::I8 | Elem::U8 | Elem::I1 => {
                Some(vars.fresh(Width::I32, scalar.div))
            }
            _ => None,
        };
        Ok(match value {
            Value::Scalar(scalar) => match leaf(scalar, vars) {
                Some(int) => Val::Scalar(int),
                None => Val::Opaque(scalar.elem.value_type().into()),
            },
            Value::Vector(vector) => Val::Opaque(super::arith::type_text(vector.elem, vector.len)),
            Value::Cute(cute) => match type_value(cute.ir.r#type(), vars) {
                Ok(val) => val,
                Err(_) => cute.val.clone(),
            },
            Value::Slot(_) => {
                let value = self.read_slot(value, span)?;
                return self.val_of(&value, vars, span);
            }
            Value::Tuple(parts) => {
                let mut vals = Vec::new();
                for part in parts {
                    vals.push(self.val_of(part, vars, span)?);
                }
                let modes: Option<Vec<Coord>> = vals.iter().map(coord_of).collect();
                match modes {
                    Some(modes) => Val::Tuple(TupleKind::Coord, Tree::Node(modes)),
                    None => return self.expected("a tuple of integers", value, span),
                }
            }
            Value::Bool(flag) => Val::Scalar(Int::Static(i64::from(*flag))),
            other => return self.expected("a value of the layout algebra", other, span),
        })
    }

    /// A value as operand of an operation.
    pub(super) fn ir_of(&mut self, value: &Value<'c, 'a>, span: Span) -> Result<IrValue<'c>> {
        match value {
            Value::Scalar(scalar) => self.integer_operand(scalar, span),
            Value::Cute(cute) => Ok(cute.ir),
            Value::Vector(vector) => Ok(vector.ir),
            Value::Slot(_) => {
                let value = self.read_slot(value, span)?;
                self.ir_of(&value, span)
            }
            Value::Error => Err(Stop::Reported),
            _ => match value.as_static() {
                Some(val) => self.static_operand(&val, span),
                None => self.tuple_operand(value, span),
            },
        }
    }

    /// A value known here as operand, where its type is one that the dialect accepts.
    pub(super) fn static_operand(&mut self, val: &Val, span: Span) -> Result<IrValue<'c>> {
        let val = match val {
            Val::Scalar(int) => Val::Tuple(TupleKind::IntTuple, Tree::Leaf(Some(int.clone()))),
            Val::Tuple(_, tuple) => {
                let kind = match tuple.leaves().iter().any(|leaf| leaf.is_none()) {
                    true => TupleKind::Coord,
                    false => TupleKind::IntTuple,
                };
                Val::Tuple(kind, tuple.clone())
            }
            other => other.clone(),
        };
        let ty = self.static_type(&val, span)?;
        Ok(self.ir(span)?.value(CuteOp::Static, &[], &[], ty))
    }

    /// The type that spells a value whose numbers the program chose.
    pub(super) fn static_type(&mut self, val: &Val, span: Span) -> Result<Type<'c>> {
        // A number at the very end of 64 bits stands for what does not fit: no type spells it.
        let Ok(as_written) = parse_type(&val.to_string(), &mut Vars::default()) else {
            let shown = super::values::notation(val);
            let message = format!("`{shown}` is beyond what the algebra computes");
            return self.error(codes::ARITHMETIC, span, message, "too large for an operand");
        };
        // What the type says counts: an extent alone is a layout there.
        if let Err(message) = check_type(&as_written) {
            return self.error(codes::LAYOUT_ALGEBRA, span, message, "this value");
        }
        let ir = self.ir.as_ref().ok_or(Stop::NeedsRuntime)?;
        Ok(ir.val_type(val))
    }

    /// An integer; as a tuple where something is known to divide it.
    fn integer_operand(&mut self, scalar: &Scalar<'c>, span: Span) -> Result<IrValue<'c>> {
        if let Some(tuple) = scalar.tuple {
            return Ok(tuple);
        }
        if scalar.div <= 1 || !matches!(scalar.elem, Elem::I32 | Elem::I64) {
            return Ok(scalar.ir);
        }
        self.assume(scalar, span)
    }

    /// An integer as a tuple whose type says what divides it.
    pub(super) fn assume(&mut self, scalar: &Scalar<'c>, span: Span) -> Result<IrValue<'c>> {
        let width = if scalar.elem == Elem::I64 {
            Width::I64
        } else {
            Width::I32
        };
        let promised = Vars::default().fresh(width, scalar.div);
        let promised = Val::Tuple(TupleKind::IntTuple, Tree::Leaf(Some(promised)));
        let ty = self.static_type(&promised, span)?;
        Ok(self.ir(span)?.value(CuteOp::Assume, &[scalar.ir], &[], ty))
    }

    fn tuple_operand(&mut self, value: &Value<'c, 'a>, span: Span) -> Result<IrValue<'c>> {
        let tree = self.leaves(value, span)?;
        let underscore = tree
            .leaves()
            .iter()
            .any(|leaf| matches!(leaf, Leaf::Underscore));
        let kind = match underscore {
            true => TupleKind::Coord,
            false => TupleKind::IntTuple,
        };
        self.make_tuple(kind, &tree, span)
    }

    /// A tuple of the given kind from its leaves.
    pub(super) fn make_tuple(
        &mut self,
        kind: TupleKind,
        tree: &Tree<Leaf<'c>>,
        span: Span,
    ) -> Result<IrValue<'c>> {
        let (mut vars, mut operands) = (Vars::default(), Vec::new());
        let tuple = tree.map(&mut |leaf| match leaf {
            Leaf::Static(int) => Some(int.clone()),
            Leaf::Underscore => None,
            Leaf::Dynamic(ir, width, div) => {
                operands.push(*ir);
                Some(vars.fresh(*width, *div))
            }
        });
        let attrs = Attrs::result(Val::Tuple(kind, tuple));
        let op = CuteOp::make_tuple(kind);
        match build(self.ir(span)?, op, &operands, &attrs) {
            Ok(Some(ir)) => Ok(ir),
            Ok(None) => Err(Stop::Reported),
            Err(error) => Err(self.report(problem::semantic(span, op.mnemonic(), &error, &[]))),
        }
    }

    /// The leaves of a tuple, tuples of the IR taken apart.
    pub(super) fn leaves(&mut self, value: &Value<'c, 'a>, span: Span) -> Result<Tree<Leaf<'c>>> {
        match value {
            Value::Tuple(parts) => {
                let parts = parts
                    .iter()
                    .map(|part| self.leaves(part, span))
                    .collect::<Result<_>>()?;
                Ok(Tree::Node(parts))
            }
            Value::Scalar(scalar) => {
                let width = match scalar.elem {
                    Elem::I64 => Width::I64,
                    Elem::I32 => Width::I32,
                    _ => return self.expected("an i32 or i64", value, span),
                };
                let operand = self.integer_operand(scalar, span)?;
                Ok(Tree::Leaf(Leaf::Dynamic(operand, width, scalar.div)))
            }
            Value::Slot(_) => {
                let value = self.read_slot(value, span)?;
                self.leaves(&value, span)
            }
            Value::Cute(cute) => match &cute.val {
                Val::Tuple(_, Tree::Node(modes)) => {
                    let mut parts = Vec::new();
                    for at in 0..modes.len() {
                        let part = self.op(
                            CuteOp::Get,
                            "get",
                            std::slice::from_ref(value),
                            &Attrs::mode(vec![at as i64]),
                            span,
                        )?;
                        parts.push(self.leaves(&part, span)?);
                    }
                    Ok(Tree::Node(parts))
                }
                _ => self.expected("an integer or a tuple of integers", value, span),
            },
            other => match other.as_static() {
                Some(Val::Scalar(int)) => Ok(Tree::Leaf(Leaf::Static(int))),
                Some(Val::Tuple(_, tuple)) => Ok(tuple.map(&mut |leaf| match leaf {
                    Some(int) => Leaf::Static(int.clone()),
                    None => Leaf::Underscore,
                })),
                _ => self.expected("an integer or a tuple of integers", other, span),
            },
        }
    }

    /// A value of the IR; single integers of tuples become scalars.
    pub(super) fn of_ir(
        &mut self,
        ir: IrValue<'c>,
        origin: Origin,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let value = Value::of_ir(ir, origin);
        let Value::Cute(cute) = &value else {
            return Ok(value);
        };
        match &cute.val {
            Val::Tuple(_, Tree::Leaf(Some(int @ Int::Dyn(_)))) => {
                let elem = if int.width() == Width::I64 {
                    Elem::I64
                } else {
                    Elem::I32
                };
                let div = int.div();
                let builder = self.ir(span)?;
                let ty = builder.ty(elem.name());
                let number = builder.value(CuteOp::GetScalar, &[ir], &[], ty);
                Ok(Value::Scalar(Scalar {
                    ir: number,
                    elem,
                    div,
                    tuple: Some(ir),
                }))
            }
            val if val.is_static() && !matches!(val, Val::Opaque(_)) => {
                Ok(Value::of_static(val.clone()))
            }
            _ => Ok(value),
        }
    }

    /// A variable of one element in registers, allocated once however often this place is reached.
    pub(super) fn slot(&mut self, elem: Elem, span: Span) -> Result<Slot<'c>> {
        let layout = AnyLayout::Plain(Layout::scalar(1, 0));
        let view = Val::View(View::new(elem, Space::Rmem, 16, layout));
        let entry = self.entry.ok_or(Stop::NeedsRuntime)?;
        let ir = self.ir(span)?;
        let here = ir.insertion;
        if let Some(first) = entry.first_operation() {
            // SAFETY: the operation stays in the entry block while the kernel is built.
            ir.insertion = Insertion::Before(unsafe { OperationRef::from_raw(first.to_raw()) });
        }
        let ty = ir.val_type(&view);
        let view = result_of(ir.op(CuteOp::MemrefAlloca, &[], &[], &[ty]), 0);
        ir.insertion = here;
        Ok(Slot { view, elem })
    }

    fn slot_coord(&mut self, span: Span) -> Result<IrValue<'c>> {
        self.static_operand(&Val::Scalar(Int::Static(0)), span)
    }

    /// What a variable holds; of a tuple or record, each of its variables is read.
    pub(super) fn read_slot(&mut self, value: &Value<'c, 'a>, span: Span) -> Result<Value<'c, 'a>> {
        let slot = match value {
            Value::Slot(slot) => slot,
            Value::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.read_slot(part, span));
                return Ok(Value::Tuple(parts.collect::<Result<_>>()?));
            }
            Value::Record(record) => {
                let fields = record.fields.iter();
                let fields = fields.map(|field| self.read_slot(field, span));
                return Ok(Value::Record(RecordValue {
                    declaration: record.declaration,
                    fields: fields.collect::<Result<_>>()?,
                }));
            }
            other => return Ok(other.clone()),
        };
        let coord = self.slot_coord(span)?;
        let ir = self.ir(span)?;
        let ty = ir.ty(slot.elem.value_type());
        let number = ir.value(CuteOp::MemrefLoad, &[slot.view, coord], &[], ty);
        Ok(Value::Scalar(Scalar {
            ir: number,
            elem: slot.elem,
            div: 1,
            tuple: None,
        }))
    }

    /// Sets a variable to a number of its type.
    pub(super) fn write_slot(
        &mut self,
        slot: Slot<'c>,
        number: IrValue<'c>,
        span: Span,
    ) -> Result<()> {
        let coord = self.slot_coord(span)?;
        self.ir(span)?
            .op(CuteOp::MemrefStore, &[number, slot.view, coord], &[], &[]);
        Ok(())
    }

    /// A number of the given type as operand.
    pub(super) fn number(
        &mut self,
        value: &Value<'c, 'a>,
        elem: Elem,
        span: Span,
    ) -> Result<IrValue<'c>> {
        match value {
            Value::Scalar(scalar) if scalar.elem == elem => Ok(scalar.ir),
            Value::Slot(_) => {
                let value = self.read_slot(value, span)?;
                self.number(&value, elem, span)
            }
            Value::Typed(_, found) if *found != elem => self.of_another_type(*found, elem, span),
            Value::Int(_)
            | Value::Large(_)
            | Value::Float(_)
            | Value::Bool(_)
            | Value::Typed(..) => {
                let literal = self.literal(value, elem, span)?;
                let ir = self.ir(span)?;
                let ty = ir.number_type(elem);
                Ok(ir.number(literal.attribute(ir, ty), ty))
            }
            Value::Scalar(scalar) => self.of_another_type(scalar.elem, elem, span),
            other => self.expected(&format!("a number of {}", elem_name(elem)), other, span),
        }
    }

    fn of_another_type<T>(&mut self, found: Elem, wanted: Elem, span: Span) -> Result<T> {
        let (found, wanted) = (elem_name(found), elem_name(wanted));
        let message = format!("expected {wanted}, found {found}");
        let label = format!("this is {found}");
        let diagnostic = crate::Diagnostic::error(codes::MIXED_TYPES, span, message, label);
        let help = format!("convert it: `{wanted}({})`", self.text(span));
        Err(self.report(diagnostic.with_help(help)))
    }

    /// The attribute of a literal of the given type.
    pub(super) fn literal(
        &mut self,
        value: &Value<'c, 'a>,
        elem: Elem,
        span: Span,
    ) -> Result<Literal> {
        match value {
            Value::Bool(flag) if elem == Elem::I1 => Ok(Literal::Bool(*flag)),
            Value::Int(value) if elem.is_float() => Ok(Literal::of_float(*value as f64, elem)),
            Value::Int(value) if elem != Elem::I1 => {
                let fits = rules::fits(*value, elem)
                    || self.is_written_as_bits(span) && rules::fits_bits(*value, elem);
                match fits {
                    true => Ok(Literal::Int(*value)),
                    false => self.too_large(i128::from(*value), elem, span),
                }
            }
            Value::Large(value) if elem.is_float() => Ok(Literal::of_float(*value as f64, elem)),
            Value::Large(value) if elem != Elem::I1 => {
                let fits = elem == Elem::U64 || elem == Elem::I64 && self.is_written_as_bits(span);
                match fits {
                    true => Ok(Literal::Int(*value as i64)),
                    false => self.too_large(i128::from(*value), elem, span),
                }
            }
            Value::Float(value) | Value::Typed(value, _) if elem.is_float() => {
                Ok(Literal::of_float(*value, elem))
            }
            Value::Typed(value, found) if *found == elem => Ok(Literal::Int(*value as i64)),
            other => self.expected(&format!("a number of {}", elem_name(elem)), other, span),
        }
    }

    /// Whether a number is written in binary or hexadecimal: it may be the bits of a negative one.
    fn is_written_as_bits(&self, span: Span) -> bool {
        let text = self.text(span);
        ["0x", "0b"].iter().any(|start| text.starts_with(start))
    }

    /// Reports a number that a type does not have.
    fn too_large<T>(&mut self, value: i128, elem: Elem, span: Span) -> Result<T> {
        let name = elem_name(elem);
        let message = format!("{value} does not fit {name}");
        let diagnostic = crate::Diagnostic::error(codes::ARITHMETIC, span, message, "too large");
        Err(self.report(match elem {
            Elem::I32 => diagnostic.with_help(
                "integers known while compiling have 64 bits, run-time ones those of their type: convert the other operand to `i64`, or take the lower bits, `i32(…)`",
            ),
            _ => diagnostic
                .with_help(format!("`{name}({})` takes the lower bits", self.text(span))),
        }))
    }
}

/// A number that is known while compiling, of a type of run-time numbers.
#[derive(Clone, Copy)]
pub(super) enum Literal {
    Bool(bool),
    /// Of an integer type, or the bits of a type without arithmetic.
    Int(i64),
    Float(f64),
}

impl Literal {
    fn of_float(value: f64, elem: Elem) -> Literal {
        match elem {
            Elem::F8E4M3 | Elem::F8E5M2 => Literal::Int(f8_bits(value, elem).into()),
            Elem::TF32 => Literal::Float(tf32_value(value)),
            _ => Literal::Float(value),
        }
    }

    /// Whether all of its bits are zeros.
    pub fn is_zero(self) -> bool {
        match self {
            Literal::Bool(flag) => !flag,
            Literal::Int(value) => value == 0,
            Literal::Float(value) => value.to_bits() == 0,
        }
    }

    /// As an attribute of the type of a number.
    pub fn attribute<'c>(self, ir: &OpBuilder<'c>, ty: Type<'c>) -> Attribute<'c> {
        match self {
            Literal::Bool(flag) => ir.bool(flag),
            Literal::Int(value) => ir.integer(value, ty),
            Literal::Float(value) => ir.float(value, ty),
        }
    }
}

fn coord_of(val: &Val) -> Option<Coord> {
    match val {
        Val::Scalar(int) => Some(Tree::Leaf(Some(int.clone()))),
        Val::Tuple(_, tuple) => Some(tuple.clone()),
        _ => None,
    }
}
