//! Functions of elements: on tiles, which are repeated to a common shape, on numbers, and on literals beside
//! these.

use super::body::{Body, check_literal, elem_expr, expected};
use super::error::{Problem, Result, fail};
use super::kind::{ElemKind, Literal, dtype};
use super::tree;
use super::value::{Value, element};
use crate::ast::{BinaryOp, UnaryOp};
use crate::eval::builtins::Elementary;
use crate::rules;
use cutec_abi::DType;
use cutec_dialects::elem::Elem;

/// How a conversion rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Round {
    /// To the nearest, ties to even.
    Nearest,
    /// Towards zero.
    Zero,
    /// Towards plus infinity.
    Up,
    /// Towards minus infinity.
    Down,
}

impl Round {
    fn word(self) -> &'static str {
        match self {
            Self::Nearest => "nearest",
            Self::Zero => "zero",
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident: $op:ident;)*) => { impl Body { $(
        $(#[$doc])*
        ///
        /// # Errors
        /// When types or shapes differ, or the type has no such operator.
        #[track_caller]
        pub fn $name(&mut self, a: impl Into<Value>, b: impl Into<Value>) -> Result<Value> {
            self.binary(stringify!($name), BinaryOp::$op, [a.into(), b.into()])
        }
    )* } };
}
operators! {
    /// `a + b`
    add: Add;
    /// `a - b`
    sub: Sub;
    /// `a * b`
    mul: Mul;
    /// `a / b`; of integers towards zero.
    div: Div;
    /// `a % b` of integers.
    rem: Rem;
    /// `a << b` of integers.
    shl: Shl;
    /// `a >> b` of integers, with the sign.
    shr: Shr;
    /// `a & b` of integers and bools.
    and: BitAnd;
    /// `a | b` of integers and bools.
    or: BitOr;
    /// `a ^ b` of integers and bools.
    xor: BitXor;
    /// `a == b`, a bool.
    eq: Eq;
    /// `a != b`, a bool.
    ne: Ne;
    /// `a < b`, a bool.
    lt: Lt;
    /// `a <= b`, a bool.
    le: Le;
    /// `a > b`, a bool.
    gt: Gt;
    /// `a >= b`, a bool.
    ge: Ge;
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident: $function:ident;)*) => {
        /// The elementary functions that have a method.
        #[cfg(test)]
        pub(super) const FUNCTIONS: &[Elementary] = &[$(Elementary::$function,)*];

        impl Body { $(
            $(#[$doc])*
            ///
            /// # Errors
            /// When it is not defined for the type.
            #[track_caller]
            pub fn $name(&mut self, x: impl Into<Value>) -> Result<Value> {
                self.function(Elementary::$function, x.into())
            }
        )* }
    };
}
functions! {
    /// The square root, correctly rounded.
    sqrt: Sqrt;
    /// One over the square root.
    rsqrt: Rsqrt;
    /// One over x.
    rcp: Rcp;
    /// e to the power of x.
    exp: Exp;
    /// 2 to the power of x.
    exp2: Exp2;
    /// The natural logarithm.
    log: Log;
    /// The logarithm to the base of 2.
    log2: Log2;
    /// The hyperbolic tangent.
    tanh: Tanh;
    /// The error function.
    erf: Erf;
    /// The sine.
    sin: Sin;
    /// The cosine.
    cos: Cos;
    /// The largest integer that is not above x.
    floor: Floor;
    /// The smallest integer that is not below x.
    ceil: Ceil;
    /// The nearest integer, ties to even.
    round: Round;
    /// The integer towards zero.
    trunc: Trunc;
}

impl Body {
    /// The smaller one; NaN where an operand is NaN.
    ///
    /// # Errors
    /// When types or shapes differ.
    #[track_caller]
    pub fn min(&mut self, a: impl Into<Value>, b: impl Into<Value>) -> Result<Value> {
        self.call_of_numbers("min", vec![a.into(), b.into()])
    }

    /// The larger one; NaN where an operand is NaN.
    ///
    /// # Errors
    /// When types or shapes differ.
    #[track_caller]
    pub fn max(&mut self, a: impl Into<Value>, b: impl Into<Value>) -> Result<Value> {
        self.call_of_numbers("max", vec![a.into(), b.into()])
    }

    /// `a * b + c` of floating numbers, rounded once.
    ///
    /// # Errors
    /// When types or shapes differ, these are no floating numbers, or both factors are literals.
    #[track_caller]
    pub fn fma(
        &mut self,
        a: impl Into<Value>,
        b: impl Into<Value>,
        c: impl Into<Value>,
    ) -> Result<Value> {
        let (operands, operation) = (vec![a.into(), b.into(), c.into()], "fma");
        // The factors alone give the type.
        let elem = self.common_type(operation, &operands[..2])?;
        if !elem.is_float() {
            return Err(fail(Problem::undefined(operation, elem)));
        }
        self.call_of_numbers("fma", operands)
    }

    /// `a` where the condition holds, else `b`.
    ///
    /// # Errors
    /// When the condition is no bool that the kernel computes, or types or shapes differ.
    #[track_caller]
    pub fn select(
        &mut self,
        condition: impl Into<Value>,
        a: impl Into<Value>,
        b: impl Into<Value>,
    ) -> Result<Value> {
        let (condition, operands) = (condition.into(), [a.into(), b.into()]);
        if condition.elem() != Some(Elem::I1) {
            return Err(expected(
                "select",
                "a bool that the kernel computes",
                &condition,
            ));
        }
        let elem = match operands.iter().all(|value| value.elem().is_none()) {
            true => literal_type(&operands),
            false => self.common_type("select", &operands)?,
        };
        for operand in &operands {
            if let ElemKind::Literal(literal) = operand.kind {
                check_literal("select", literal, elem)?;
            }
        }
        let [a, b] = operands;
        let all = [condition, a, b];
        let shape = self.common_shape("select", &all)?;
        let exprs = self.operands("select", &all)?;
        let call = tree::call(tree::name("select"), exprs);
        Ok(self.bound(call, kind(elem, shape)))
    }

    /// The absolute value.
    ///
    /// # Errors
    /// When nothing is computed in the type.
    #[track_caller]
    pub fn abs(&mut self, x: impl Into<Value>) -> Result<Value> {
        let x = x.into();
        self.arithmetic("abs", &x, |elem| elem != Elem::I1)?;
        let call = tree::call(tree::name("abs"), [x.expr()]);
        Ok(self.bound(call, x.kind))
    }

    /// `-x`
    ///
    /// # Errors
    /// When nothing is computed in the type.
    #[track_caller]
    pub fn neg(&mut self, x: impl Into<Value>) -> Result<Value> {
        let x = x.into();
        self.arithmetic("neg", &x, |elem| elem != Elem::I1)?;
        let expr = tree::unary(UnaryOp::Neg, x.expr());
        Ok(self.bound(expr, x.kind))
    }

    /// `!x` of bools, and of the bits of integers.
    ///
    /// # Errors
    /// When the type has no bits to turn.
    #[track_caller]
    pub fn not(&mut self, x: impl Into<Value>) -> Result<Value> {
        let x = x.into();
        self.arithmetic("not", &x, |elem| !elem.is_float())?;
        let expr = tree::unary(UnaryOp::Not, x.expr());
        Ok(self.bound(expr, x.kind))
    }

    /// The numbers in another type: rounded to the nearest, to an integer towards zero.
    ///
    /// # Errors
    /// When the operand is a literal, which needs no conversion.
    #[track_caller]
    pub fn convert(&mut self, to: DType, x: impl Into<Value>) -> Result<Value> {
        let (to, x) = (element("convert", to)?, x.into());
        self.computed("convert", &x)?;
        let call = tree::call(elem_expr(to), [x.expr()]);
        Ok(self.bound(call, kind(to, x.shape().to_vec())))
    }

    /// A conversion that says how it rounds, and whether an integer takes what fits.
    ///
    /// # Errors
    /// When the machine does not convert so.
    #[track_caller]
    pub fn convert_with(
        &mut self,
        to: DType,
        x: impl Into<Value>,
        round: Option<Round>,
        saturate: bool,
    ) -> Result<Value> {
        let (to, x) = (element("convert_with", to)?, x.into());
        let from = self.computed("convert_with", &x)?;
        let word = round.map(Round::word);
        let plain = word.is_none() && !saturate;
        if !plain && !crate::eval::converts(to, from, word, saturate) {
            let how = match (word, saturate) {
                (Some(word), true) => format!("round = {word} and saturate"),
                (Some(word), false) => format!("round = {word}"),
                _ => "saturate".to_owned(),
            };
            return Err(fail(Problem::Conversion {
                from: dtype(from),
                to: dtype(to),
                how,
            }));
        }
        let mut args = vec![tree::arg(x.expr())];
        args.extend(word.map(|word| tree::named("round", tree::name(word))));
        let flag = || Literal::Bool(true).expr();
        args.extend(saturate.then(|| tree::named("saturate", flag())));
        let call = tree::call_with(elem_expr(to), args);
        Ok(self.bound(call, kind(to, x.shape().to_vec())))
    }

    #[track_caller]
    fn binary(
        &mut self,
        operation: &'static str,
        op: BinaryOp,
        operands: [Value; 2],
    ) -> Result<Value> {
        let mut elem = self.common_type(operation, &operands)?;
        let shape = self.common_shape(operation, &operands)?;
        let [a, b] = [&operands[0], &operands[1]].map(Value::expr);
        self.operands(operation, &operands)?;
        if op.is_comparison() {
            elem = Elem::I1;
        } else if rules::operation(op, elem).is_none() {
            return Err(fail(Problem::undefined(operation, elem)));
        } else if let ElemKind::Literal(Literal::Int(by)) = operands[1].kind
            && !rules::computes_by(op, by, elem)
        {
            return Err(fail(Problem::NoResult {
                operation,
                dtype: dtype(elem),
                by,
            }));
        }
        Ok(self.bound(tree::binary(op, a, b), kind(elem, shape)))
    }

    #[track_caller]
    fn call_of_numbers(&mut self, operation: &'static str, operands: Vec<Value>) -> Result<Value> {
        let elem = self.common_type(operation, &operands)?;
        let shape = self.common_shape(operation, &operands)?;
        let exprs = self.operands(operation, &operands)?;
        let call = tree::call(tree::name(operation), exprs);
        Ok(self.bound(call, kind(elem, shape)))
    }

    #[track_caller]
    fn function(&mut self, function: Elementary, x: Value) -> Result<Value> {
        let operation = function.name();
        let elem = self.computed(operation, &x)?;
        if !rules::has_function(function, elem) {
            return Err(fail(Problem::undefined(operation, elem)));
        }
        let call = tree::call(tree::name(operation), [x.expr()]);
        Ok(self.bound(call, x.kind))
    }

    /// The type of a value that the kernel computes.
    #[track_caller]
    fn computed(&self, operation: &'static str, x: &Value) -> Result<Elem> {
        self.operand(operation, x)?;
        match x.elem() {
            Some(elem) => Ok(elem),
            None => Err(expected(
                operation,
                "a tile or a number that the kernel computes",
                x,
            )),
        }
    }

    #[track_caller]
    fn arithmetic(
        &self,
        operation: &'static str,
        x: &Value,
        defined: impl Fn(Elem) -> bool,
    ) -> Result<()> {
        let elem = self.computed(operation, x)?;
        match elem.has_arithmetic() && defined(elem) {
            true => Ok(()),
            false => Err(fail(Problem::undefined(operation, elem))),
        }
    }

    #[track_caller]
    fn operands(&self, operation: &'static str, values: &[Value]) -> Result<Vec<crate::ast::Expr>> {
        let mut exprs = Vec::new();
        for value in values {
            exprs.push(self.operand(operation, value)?);
        }
        Ok(exprs)
    }

    /// The type in which operands meet; one of them at least is no literal.
    #[track_caller]
    fn common_type(&self, operation: &'static str, operands: &[Value]) -> Result<Elem> {
        let mut common = None;
        for found in operands.iter().filter_map(Value::elem) {
            common = Some(match common {
                None => found,
                Some(expected) => match rules::common(expected, found) {
                    Some(elem) => elem,
                    None => {
                        return Err(fail(Problem::types(operation, expected, found)));
                    }
                },
            });
        }
        let Some(elem) = common else {
            let what = "a tile or a number that the kernel computes";
            return Err(match operands.first() {
                Some(first) => expected(operation, what, first),
                None => fail(Problem::Rank {
                    operation,
                    of: "operands",
                    expected: 1,
                    found: 0,
                }),
            });
        };
        if !elem.has_arithmetic() {
            return Err(fail(Problem::undefined(operation, elem)));
        }
        for operand in operands {
            if let ElemKind::Literal(literal) = operand.kind {
                check_literal(operation, literal, elem)?;
            }
        }
        Ok(elem)
    }

    /// The shape to which tiles are repeated; none of numbers.
    #[track_caller]
    fn common_shape(&self, operation: &'static str, operands: &[Value]) -> Result<Vec<i64>> {
        let mut common: Vec<i64> = Vec::new();
        for found in operands.iter().map(Value::shape) {
            common = match rules::common_shape(&common, found) {
                Some(shape) => shape,
                None => {
                    return Err(fail(Problem::Shapes {
                        operation,
                        rule: "extents that are equal, or 1",
                        expected: common,
                        found: found.to_vec(),
                    }));
                }
            };
        }
        Ok(common)
    }
}

/// A tile where there is a shape, else a number.
fn kind(elem: Elem, shape: Vec<i64>) -> ElemKind {
    match shape.is_empty() {
        true => ElemKind::Number(elem),
        false => ElemKind::Tile { elem, shape },
    }
}

/// In what literals meet that nothing gives a type.
fn literal_type(operands: &[Value]) -> Elem {
    let is = |of: fn(&Literal) -> bool| {
        let mut literals = operands.iter();
        literals.any(|value| matches!(&value.kind, ElemKind::Literal(literal) if of(literal)))
    };
    if is(|literal| matches!(literal, Literal::Float(_))) {
        Elem::F32
    } else if is(|literal| matches!(literal, Literal::Bool(_))) {
        Elem::I1
    } else {
        Elem::I32
    }
}
