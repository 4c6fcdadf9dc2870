//! Calls: functions of the file, functions of numbers, tensors made and asked.

use super::{Flow, Interpreter, MAX_CALLS, MAX_ELEMENTS, Variable, callee_name, wrong_kind};
use crate::assertion;
use crate::builtin::{self, Fill};
use crate::index::lower::Names;
use crate::problem::{Stop, TestProblem};
use crate::value::{HostTensor, Value};
use cutec_abi::arithmetic::{maximum, minimum};
use cutec_frontend::ast::{Arg, Expr, ExprKind, Function};
use cutec_frontend::source::Span;
use cutec_runtime::DType;
use cutec_runtime::tensor::ShapeError;
use std::collections::HashMap;
use std::sync::Arc;

impl Interpreter<'_> {
    pub(super) fn call(&self, callee: &Expr, args: &[Arg], span: Span) -> Result<Value, Stop> {
        self.step(span)?;
        let (Some(name), generics) = callee_name(callee) else {
            return Err(self.not_a_function(callee));
        };
        let (name, file) = self.called(name, callee.span.file);
        let name = &*name;
        if let Some(function) = self.function(name, file) {
            return self.call_function(function, args, span);
        }
        if self.kernel(name, file).is_some() {
            let what = "a launch as a value: a kernel writes to its arguments";
            return Err(TestProblem::NotHere { what }.at(span));
        }
        if let Some(fill) = Fill::by_name(name, 0.0, 1.0) {
            return self.make_tensor(name, fill, generics, args, span);
        }
        match name {
            "size" | "rank" => self.size(name, generics, args, span),
            "full" => self.full(generics, args, span),
            "max" | "min" => self.call_numbers(name, args, span),
            _ if builtin::number_function(name).is_some() => self.call_numbers(name, args, span),
            _ => Err(self.unknown_function(name, callee.span)),
        }
    }

    fn call_function(&self, function: &Function, args: &[Arg], span: Span) -> Result<Value, Stop> {
        let count = |found| {
            TestProblem::Count {
                function: function.name.node.to_string(),
                expected: builtin::arguments(function.params.len()),
                found,
            }
            .at(span)
        };
        if function.params.len() != args.len() {
            return Err(count(args.len()));
        }
        let arguments = args.iter().map(|arg| self.expr(&arg.value));
        let arguments = arguments.collect::<Result<_, _>>()?;
        self.apply_function(function, arguments, span)
    }

    /// Calls a function with as many arguments as it has parameters.
    pub(super) fn apply_function(
        &self,
        function: &Function,
        arguments: Vec<Value>,
        span: Span,
    ) -> Result<Value, Stop> {
        if self.calls.get() == MAX_CALLS {
            let limit = MAX_CALLS as u64;
            let unit = "nested calls";
            return Err(TestProblem::Budget { limit, unit }.at(span));
        }
        let mut scope = HashMap::new();
        for (param, value) in function.params.iter().zip(arguments) {
            let mutable = false;
            scope.insert(Arc::clone(&param.name.node), Variable { value, mutable });
        }
        let outside = self.scopes.replace(vec![scope]);
        self.calls.set(self.calls.get() + 1);
        let result = self.block(&function.body);
        self.calls.set(self.calls.get() - 1);
        *self.scopes.borrow_mut() = outside;
        match result? {
            (Flow::Return(Some(value)), _) | (_, Some(value)) => Ok(value),
            _ => Ok(Value::Tuple(Vec::new())),
        }
    }

    /// `random<f16>(m, n)`, `zeros<f32>((m, n) : (1, m))`, `uniform<f32>(n, low = -1, high = 1)`.
    fn make_tensor(
        &self,
        name: &str,
        fill: Fill,
        generics: &[Arg],
        args: &[Arg],
        span: Span,
    ) -> Result<Value, Stop> {
        let dtype = self.dtype_argument(name, generics, span)?;
        let (mut low, mut high) = (0.0, 1.0);
        let mut extents = Vec::new();
        let mut strides = None;
        for arg in args {
            match &arg.name {
                None => match &*arg.value.kind {
                    ExprKind::Layout { shape, stride } => {
                        self.extents(shape, &mut extents)?;
                        let mut found = Vec::new();
                        self.extents(stride, &mut found)?;
                        strides = Some(found);
                    }
                    _ => self.extents(&arg.value, &mut extents)?,
                },
                Some(named) => {
                    let value = self.expr(&arg.value)?;
                    let number = value
                        .number()
                        .ok_or_else(|| wrong_kind("a number", &value, arg.value.span))?;
                    match &*named.node {
                        "low" if name == "uniform" => low = number,
                        "high" if name == "uniform" => high = number,
                        other => {
                            return Err(TestProblem::NoSuchArgument {
                                function: name.to_owned(),
                                argument: other.to_owned(),
                            }
                            .at(named.span));
                        }
                    }
                }
            }
        }
        let fill = match fill {
            Fill::Uniform(..) => Fill::Uniform(low, high),
            other => other,
        };
        self.new_tensor(fill, dtype, &extents, strides.as_deref(), span)
    }

    /// `full<f32>(1.5, m, n)`
    fn full(&self, generics: &[Arg], args: &[Arg], span: Span) -> Result<Value, Stop> {
        let dtype = self.dtype_argument("full", generics, span)?;
        let Some((value, args)) = args.split_first() else {
            return Err(TestProblem::Count {
                function: "full".to_owned(),
                expected: "a value and extents".to_owned(),
                found: 0,
            }
            .at(span));
        };
        let number = self.expr(&value.value)?;
        let number = number
            .number()
            .ok_or_else(|| wrong_kind("a number", &number, value.value.span))?;
        let mut extents = Vec::new();
        for arg in args {
            self.extents(&arg.value, &mut extents)?;
        }
        self.new_tensor(Fill::Constant(number), dtype, &extents, None, span)
    }

    fn new_tensor(
        &self,
        fill: Fill,
        dtype: DType,
        extents: &[i64],
        strides: Option<&[i64]>,
        span: Span,
    ) -> Result<Value, Stop> {
        let elements = extents
            .iter()
            .try_fold(1_u64, |product, extent| {
                product.checked_mul(u64::try_from(*extent).ok()?)
            })
            .and_then(|elements| elements.checked_add(self.elements.get()))
            .unwrap_or(u64::MAX);
        if elements > MAX_ELEMENTS && extents.iter().all(|extent| *extent >= 0) {
            let limit = MAX_ELEMENTS;
            let unit = "elements";
            return Err(TestProblem::Budget { limit, unit }.at(span));
        }
        self.elements.set(elements);
        let wrong = |error: ShapeError| {
            let reason = error.to_string();
            TestProblem::Shape { reason }.at(span)
        };
        if self.checks() {
            let outline = HostTensor::outline(dtype, extents, strides);
            return outline.map(Value::Tensor).map_err(wrong);
        }
        let number = self.tensors.get();
        self.tensors.set(number + 1);
        let seed = self.seed.get().wrapping_add(number);
        let tensor = builtin::make_tensor(fill, dtype, extents, strides, seed).map_err(wrong)?;
        Ok(Value::Tensor(HostTensor::new(tensor)))
    }

    fn dtype_argument(&self, name: &str, generics: &[Arg], span: Span) -> Result<DType, Stop> {
        let [arg] = generics else {
            return Err(TestProblem::Count {
                function: name.to_owned(),
                expected: "one element type between `<` and `>`".to_owned(),
                found: generics.len(),
            }
            .at(span));
        };
        match self.expr(&arg.value)? {
            Value::DType(dtype) => Ok(dtype),
            other => Err(wrong_kind("an element type", &other, arg.value.span)),
        }
    }

    /// The extents that an argument gives, a number or a tuple.
    fn extents(&self, expr: &Expr, extents: &mut Vec<i64>) -> Result<(), Stop> {
        flatten(&self.expr(expr)?, expr.span, extents)
    }

    /// `size(x)`, `size<1>(x)`, `rank(x)` of a tensor or a tuple.
    fn size(&self, name: &str, generics: &[Arg], args: &[Arg], span: Span) -> Result<Value, Stop> {
        let [arg] = args else {
            return Err(TestProblem::Count {
                function: name.to_owned(),
                expected: builtin::arguments(1),
                found: args.len(),
            }
            .at(span));
        };
        let extents: Vec<i64> = match self.expr(&arg.value)? {
            Value::Tensor(tensor) => tensor.shape().to_vec(),
            tuple @ Value::Tuple(_) => {
                let mut extents = Vec::new();
                flatten(&tuple, arg.value.span, &mut extents)?;
                extents
            }
            other => return Err(wrong_kind("a tensor or a tuple", &other, arg.value.span)),
        };
        if name == "rank" {
            return Ok(Value::Int(extents.len() as i64));
        }
        let Some(mode) = generics.first() else {
            let size = extents
                .iter()
                .try_fold(1_i64, |size, extent| size.checked_mul(*extent));
            return size
                .map(Value::Int)
                .ok_or_else(|| TestProblem::Overflow.at(span));
        };
        let at = self.integer(&mode.value)?;
        let extent = usize::try_from(at).ok().and_then(|at| extents.get(at));
        extent.map(|extent| Value::Int(*extent)).ok_or_else(|| {
            TestProblem::OutOfRange {
                tensor: "the shape".to_owned(),
                mode: 0,
                extent: extents.len() as i64,
                low: at,
                high: at,
            }
            .at(mode.span)
        })
    }

    fn call_numbers(&self, name: &str, args: &[Arg], span: Span) -> Result<Value, Stop> {
        assertion::none_named(args, name)?;
        let mut numbers = Vec::with_capacity(args.len());
        let mut whole = Vec::with_capacity(args.len());
        let mut integers = true;
        for arg in args {
            let value = self.expr(&arg.value)?;
            match value {
                Value::Int(value) => whole.push(value),
                Value::Bool(flag) => whole.push(i64::from(flag)),
                _ => {}
            }
            let number = value
                .number()
                .ok_or_else(|| wrong_kind("a number", &value, arg.value.span))?;
            integers &= !matches!(value, Value::Float(_));
            numbers.push(number);
        }
        if integers && let Some(result) = builtin::integer_function(name, &whole) {
            return result
                .map(Value::Int)
                .map_err(|error| TestProblem::from(error).at(span));
        }
        let result = match (name, builtin::number_function(name)) {
            ("max", _) if numbers.len() >= 2 => {
                numbers.into_iter().fold(f64::NEG_INFINITY, maximum)
            }
            ("min", _) if numbers.len() >= 2 => numbers.into_iter().fold(f64::INFINITY, minimum),
            (_, Some((arity, function))) if arity == numbers.len() => {
                integers &= builtin::keeps_integers(name);
                function(&numbers)
            }
            (_, Some((arity, _))) => {
                return Err(TestProblem::Count {
                    function: name.to_owned(),
                    expected: builtin::arguments(arity),
                    found: numbers.len(),
                }
                .at(span));
            }
            (_, None) => {
                return Err(TestProblem::Count {
                    function: name.to_owned(),
                    expected: "2 arguments or more".to_owned(),
                    found: numbers.len(),
                }
                .at(span));
            }
        };
        Ok(match integers && result.abs() < 2f64.powi(53) {
            true => Value::Int(result as i64),
            false => Value::Float(result),
        })
    }
}

/// Integers, and the integers in tuples, one after the other.
fn flatten(value: &Value, span: Span, extents: &mut Vec<i64>) -> Result<(), Stop> {
    match value {
        Value::Int(extent) => {
            extents.push(*extent);
            Ok(())
        }
        Value::Tuple(parts) => parts
            .iter()
            .try_for_each(|part| flatten(part, span, extents)),
        other => Err(wrong_kind("extents", other, span)),
    }
}
