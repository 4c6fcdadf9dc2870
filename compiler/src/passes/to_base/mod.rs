//! `cute-to-base`: what is left of the `cute` dialect becomes LLVM structs and `printf`.
//!
//! Before: constructors, `cute.static`, `cute.get_scalars`, `cute.assume` and
//! `cute.print`, as `cute-expand-ops` leaves them; tuples, layouts, tiles and
//! swizzles in signatures, calls, loops and branches. After: no operation and
//! no type of the dialect; a value is a struct of its run-time integers
//! ([`types`]), what is known at compile time is nowhere. Precondition: the
//! module verifies and has no other operation of the dialect.
mod print;
mod types;

use super::abstract_values::{AbstractOp, is_leaf};
use super::ir_utils::{blocks, collect_nested, operand, present, replace_all_uses, set_attribute};
use super::{Reported, report};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder, argument_of, result_of};
use cutec_dialects::memo::{type_text, type_value};
use cutec_dialects::ops::{ArithOp, CuteOp, LlvmOp, UbOp, cute};
use cutec_dialects::semantics::SemError;
use cutec_dialects::types::Vars;
use cutec_dialects::value::Val;
use cutec_layout::{Int, Width};
use melior::Context;
use melior::ir::{
    Attribute, AttributeLike, BlockLike, Type, TypeLike, ValueLike, operation::OperationLike,
};
use print::Formats;
use std::collections::HashMap;
use types::{Place, Repr, parts, places};

/// Lowers every operation and type of the dialect in a module.
pub fn to_base<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    let mut ops = vec![module];
    collect_nested(module, &mut ops);
    // Types are read before the first one changes.
    let mut leaves = Vec::new();
    for op in &ops {
        let Some(kind) = CuteOp::of(*op) else {
            continue;
        };
        let typed = AbstractOp::of(*op).map_err(|error| report(op.location(), error))?;
        if !is_leaf(kind, *op) || kind != CuteOp::Print && !typed.is_algebra() {
            let why = format!("{kind} is no constructor; expected after cute-expand-ops");
            return Err(report(op.location(), why));
        }
        leaves.push((kind, *op, typed));
    }
    let mut types = Types {
        ir: OpBuilder::new(context, Insertion::Before(module)),
        converted: HashMap::new(),
    };
    for op in &ops {
        types
            .convert(*op)
            .map_err(|error| report(op.location(), error))?;
    }
    let mut base = Base {
        ir: types.ir,
        formats: Formats::default(),
    };
    for (kind, op, typed) in &leaves {
        base.ir.insertion = Insertion::Before(*op);
        base.ir.location = op.location();
        let done = base.lower(*kind, *op, typed);
        done.map_err(|error| report(op.location(), error))?;
    }
    for (_, op, _) in leaves.into_iter().rev() {
        // SAFETY: its results were replaced.
        unsafe { mlir_sys::mlirOperationDestroy(op.to_raw()) };
    }
    Ok(())
}

/// Types in place of types, wherever operations of other dialects have them.
struct Types<'c> {
    ir: OpBuilder<'c>,
    converted: HashMap<String, Option<Type<'c>>>,
}

impl<'c> Types<'c> {
    /// Block arguments, results and the function type of an operation.
    fn convert(&mut self, op: IrOp<'c>) -> Result<(), SemError> {
        for region in 0..op.region_count() {
            for block in blocks(op, region) {
                for index in 0..block.argument_count() {
                    self.convert_value(argument_of(block, index))?;
                }
            }
        }
        if CuteOp::of(op).is_some() {
            return Ok(());
        }
        for index in 0..op.result_count() {
            self.convert_value(result_of(op, index))?;
        }
        let Ok(attribute) = op.attribute("function_type") else {
            return Ok(());
        };
        if let Some(changed) = self.function_type(attribute.to_raw())? {
            set_attribute(op, "function_type", changed);
        }
        Ok(())
    }

    fn convert_value(&mut self, value: IrValue<'c>) -> Result<(), SemError> {
        // SAFETY: the type lives as long as the context.
        let ty = unsafe { Type::from_raw(value.r#type().to_raw()) };
        if let Some(ty) = self.converted(ty)? {
            value.set_type(ty);
        }
        Ok(())
    }

    fn function_type(
        &mut self,
        raw: mlir_sys::MlirAttribute,
    ) -> Result<Option<Attribute<'c>>, SemError> {
        // SAFETY: a live attribute; each accessor is asked of what it is for.
        unsafe {
            if !mlir_sys::mlirAttributeIsAType(raw) {
                return Ok(None);
            }
            let function = mlir_sys::mlirTypeAttrGetValue(raw);
            if !mlir_sys::mlirTypeIsAFunction(function) {
                return Ok(None);
            }
            let (inputs, results) = (
                mlir_sys::mlirFunctionTypeGetNumInputs(function),
                mlir_sys::mlirFunctionTypeGetNumResults(function),
            );
            let inputs =
                (0..inputs).map(|index| mlir_sys::mlirFunctionTypeGetInput(function, index));
            let results =
                (0..results).map(|index| mlir_sys::mlirFunctionTypeGetResult(function, index));
            let mut each = |ty| {
                let ty = Type::from_raw(ty);
                Ok(self.converted(ty)?.unwrap_or(ty).to_raw())
            };
            let inputs = inputs
                .map(&mut each)
                .collect::<Result<Vec<_>, SemError>>()?;
            let results = results
                .map(&mut each)
                .collect::<Result<Vec<_>, SemError>>()?;
            let changed = mlir_sys::mlirFunctionTypeGet(
                self.ir.context().to_raw(),
                inputs.len() as isize,
                inputs.as_ptr(),
                results.len() as isize,
                results.as_ptr(),
            );
            Ok(Some(Attribute::from_raw(mlir_sys::mlirTypeAttrGet(
                changed,
            ))))
        }
    }

    /// The type in place of one of the dialect; `None` for every other.
    fn converted(&mut self, ty: Type<'c>) -> Result<Option<Type<'c>>, SemError> {
        let text = ty.to_string();
        if !text.contains("!cute") {
            return Ok(None);
        }
        if let Some(found) = self.converted.get(&text) {
            return Ok(*found);
        }
        let val = type_value(ty, &mut Vars::default())?;
        let repr = Repr::of(&val).ok_or_else(|| {
            SemError::Illegal(format!(
                "{text} has no form in LLVM; expected tuples, layouts, tiles and swizzles"
            ))
        })?;
        let converted = Some(repr.ir(&self.ir));
        self.converted.insert(text, converted);
        Ok(converted)
    }
}

struct Base<'c> {
    ir: OpBuilder<'c>,
    formats: Formats<'c>,
}

impl<'c> Base<'c> {
    fn lower(&mut self, kind: CuteOp, op: IrOp<'c>, typed: &AbstractOp) -> Result<(), SemError> {
        match (kind, typed.results.as_slice()) {
            (CuteOp::Print, _) => {
                let value = present(cute::Print::of(op))?.value();
                return self.print(op, value, &typed.operands[0]);
            }
            (CuteOp::GetScalars, _) => return self.get_scalars(op, typed),
            (_, [declared]) => {
                let value = self.constructed(kind, op, typed, declared)?;
                replace_all_uses(result_of(op, 0), value);
            }
            _ => {}
        }
        Ok(())
    }

    fn constructed(
        &mut self,
        kind: CuteOp,
        op: IrOp<'c>,
        typed: &AbstractOp,
        declared: &Val,
    ) -> Result<IrValue<'c>, SemError> {
        match kind {
            CuteOp::MakeLayout | CuteOp::MakeComposedLayout => {
                let mut whole = self.poison(declared)?;
                let last = typed.operands.len() - 1;
                for (index, part) in parts(declared).iter().enumerate() {
                    // The operands of a composed layout stand in the order of its text.
                    let from = if kind == CuteOp::MakeLayout {
                        index
                    } else {
                        last - index
                    };
                    let value = self.converted(operand(op, from)?, &typed.operands[from], part)?;
                    whole = self.insert(value, whole, &[index as i64]);
                }
                Ok(whole)
            }
            CuteOp::Assume => match typed.operands.as_slice() {
                [given] if places(given).len() == places(declared).len() => {
                    let input = present(cute::Assume::of(op))?.input();
                    self.built(declared, &self.integers(input, given))
                }
                _ => Err(SemError::Illegal(format!(
                    "assume takes a value of the form of {declared}"
                ))),
            },
            _ => {
                let mut operands = typed.operands.iter().enumerate();
                let mut integers = Vec::new();
                for (leaf, place) in places(declared) {
                    let given = place.and_then(|_| operands.next());
                    integers.push(match given {
                        Some((index, val)) => self.integers(operand(op, index)?, val).remove(0),
                        None => (leaf, None),
                    });
                }
                self.built(declared, &integers)
            }
        }
    }

    /// The integers of a value, those that are known at run time as SSA values.
    fn integers(&self, value: IrValue<'c>, val: &Val) -> Vec<Integer<'c>> {
        let integer = |(leaf, path): Place| {
            let repr = Repr::Int(leaf.width());
            let value = path.map(|path| self.extract(value, &path, &repr));
            (leaf.value().clone(), value)
        };
        places(val).into_iter().map(integer).collect()
    }

    /// A value of a type from its integers.
    fn built(&self, declared: &Val, integers: &[Integer<'c>]) -> Result<IrValue<'c>, SemError> {
        let mut inserted = Vec::new();
        for ((leaf, path), integer) in places(declared).into_iter().zip(integers) {
            let Some(path) = path else { continue };
            let value = self.of_width(integer, leaf.width());
            if path.is_empty() {
                return Ok(value);
            }
            inserted.push((value, path));
        }
        let poison = self.poison(declared)?;
        Ok(inserted.into_iter().fold(poison, |whole, (value, path)| {
            self.insert(value, whole, &path)
        }))
    }

    /// A value as one of a type that may say less of it.
    fn converted(&self, value: IrValue<'c>, from: &Val, to: &Val) -> Result<IrValue<'c>, SemError> {
        match Repr::of(from) == Repr::of(to) {
            true => Ok(value),
            false => self.built(to, &self.integers(value, from)),
        }
    }

    fn get_scalars(&self, op: IrOp<'c>, typed: &AbstractOp) -> Result<(), SemError> {
        let only_dynamic = !typed.attrs.mode.is_empty();
        let input = present(cute::GetScalars::of(op))?.input();
        let mut scalars = Vec::new();
        for ((leaf, _), integer) in places(&typed.operands[0])
            .into_iter()
            .zip(self.integers(input, &typed.operands[0]))
        {
            scalars.push(integer);
            let path = leaf.path().iter();
            scalars.extend(path.map(|mode| (Int::Static(*mode as i64), None)));
        }
        scalars.retain(|(_, value)| !only_dynamic || value.is_some());
        for (index, (scalar, declared)) in scalars.iter().zip(&typed.results).enumerate() {
            let Val::Scalar(declared) = declared else {
                continue;
            };
            replace_all_uses(
                result_of(op, index),
                self.of_width(scalar, declared.width()),
            );
        }
        Ok(())
    }

    fn of_width(&self, (int, value): &Integer<'c>, width: Width) -> IrValue<'c> {
        let ty = Repr::Int(width).ir(&self.ir);
        let Some(value) = *value else {
            return self.ir.constant_of(int.as_static().unwrap_or_default(), ty);
        };
        let found = type_text(value.r#type());
        let name = match (&*found, width) {
            ("index", _) => ArithOp::IndexCast,
            ("i32", Width::I64) => ArithOp::Extsi,
            ("i64", Width::I32) => ArithOp::Trunci,
            _ => return value,
        };
        self.ir.value(name, &[value], &[], ty)
    }

    /// A field of a struct; the whole where the path is empty.
    fn extract(&self, value: IrValue<'c>, path: &[i64], repr: &Repr) -> IrValue<'c> {
        if path.is_empty() {
            return value;
        }
        let ty = repr.ir(&self.ir);
        let position = [("position", self.position(path))];
        self.ir.value(LlvmOp::Extractvalue, &[value], &position, ty)
    }

    fn poison(&self, val: &Val) -> Result<IrValue<'c>, SemError> {
        let repr =
            Repr::of(val).ok_or_else(|| SemError::Illegal(format!("{val} has no form in LLVM")))?;
        let attrs = [("value", self.ir.attr("#ub.poison"))];
        Ok(self.ir.value(UbOp::Poison, &[], &attrs, repr.ir(&self.ir)))
    }

    fn insert(&self, value: IrValue<'c>, whole: IrValue<'c>, path: &[i64]) -> IrValue<'c> {
        let ty = whole.r#type();
        let position = [("position", self.position(path))];
        self.ir
            .value(LlvmOp::Insertvalue, &[whole, value], &position, ty)
    }

    fn position(&self, path: &[i64]) -> Attribute<'c> {
        self.ir.i64_array(path)
    }
}

/// An integer and, where it is known at run time only, its SSA value.
type Integer<'c> = (Int, Option<IrValue<'c>>);
