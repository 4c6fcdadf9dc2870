//! Expressions of the ABI as C. They mean what [`AbiExpr::eval_named`] computes: 64 bits, checked, from the left.

use crate::names::literal;
use cutec_abi::{AbiExpr, BindError, ExprError};

/// An expression as C: what computes it, and its value.
#[derive(Clone, Debug)]
pub struct Computed {
    /// A condition that is false, after an error was kept, where there is no value; `None` where there always is one.
    pub possible: Option<String>,
    /// The value, once the condition holds.
    pub value: String,
}

/// Makes C of the expressions of a kernel.
pub struct Writer<'a> {
    /// The run-time integers in the source, for messages.
    pub names: &'a [&'a str],
    /// The run-time integers as variables of C.
    pub variables: &'a [String],
    temporaries: usize,
}

impl<'a> Writer<'a> {
    /// For a kernel's run-time integers.
    pub fn new(names: &'a [&'a str], variables: &'a [String]) -> Self {
        Self {
            names,
            variables,
            temporaries: 0,
        }
    }

    /// How many temporaries `t[…]` were used.
    pub fn temporaries(&self) -> usize {
        self.temporaries
    }

    /// An expression; `what` it is for, as messages name it.
    pub fn write(&mut self, expr: &AbiExpr, what: &str) -> Computed {
        if let (true, Ok(value)) = (is_constant(expr), expr.eval(&[])) {
            return always(constant(value));
        }
        match expr {
            AbiExpr::Const(value) => always(constant(*value)),
            AbiExpr::Symbol(index) => {
                always(self.variables.get(*index).cloned().unwrap_or_default())
            }
            AbiExpr::Add(a, b) => self.checked("add", expr, a, b, what),
            AbiExpr::Sub(a, b) => self.checked("sub", expr, a, b, what),
            AbiExpr::Mul(a, b) => self.checked("mul", expr, a, b, what),
            AbiExpr::Div(a, b) => self.division(expr, a, b, what, |a, b| format!("{a} / {b}")),
            AbiExpr::CeilDiv(a, b) => {
                self.division(expr, a, b, what, |a, b| format!("ceil_div({a}, {b})"))
            }
            AbiExpr::Rem(a, b) => self.division(expr, a, b, what, |a, b| format!("{a} % {b}")),
            AbiExpr::Min(a, b) => self.always_of(a, b, what, |a, b| format!("smaller({a}, {b})")),
            AbiExpr::Max(a, b) => self.always_of(a, b, what, |a, b| format!("larger({a}, {b})")),
            AbiExpr::Eq(a, b) => self.always_of(a, b, what, |a, b| format!("({a} == {b})")),
            AbiExpr::Ne(a, b) => self.always_of(a, b, what, |a, b| format!("({a} != {b})")),
            AbiExpr::Lt(a, b) => self.always_of(a, b, what, |a, b| format!("({a} < {b})")),
            AbiExpr::Le(a, b) => self.always_of(a, b, what, |a, b| format!("({a} <= {b})")),
            AbiExpr::Gt(a, b) => self.always_of(a, b, what, |a, b| format!("({a} > {b})")),
            AbiExpr::Ge(a, b) => self.always_of(a, b, what, |a, b| format!("({a} >= {b})")),
            // The second is evaluated only where the first does not decide.
            AbiExpr::And(a, b) => {
                let (a, b) = (self.write(a, what), self.write(b, what));
                let second = b
                    .possible
                    .map(|possible| format!("({} == 0 || ({possible}))", a.value));
                Computed {
                    possible: both(a.possible, second),
                    value: format!("({} != 0 && {} != 0)", a.value, b.value),
                }
            }
            AbiExpr::Or(a, b) => {
                let (a, b) = (self.write(a, what), self.write(b, what));
                let second = b
                    .possible
                    .map(|possible| format!("({} != 0 || ({possible}))", a.value));
                Computed {
                    possible: both(a.possible, second),
                    value: format!("({} != 0 || {} != 0)", a.value, b.value),
                }
            }
        }
    }

    fn always_of(
        &mut self,
        a: &AbiExpr,
        b: &AbiExpr,
        what: &str,
        value: impl Fn(&str, &str) -> String,
    ) -> Computed {
        let (a, b) = (self.write(a, what), self.write(b, what));
        Computed {
            possible: both(a.possible, b.possible),
            value: value(&a.value, &b.value),
        }
    }

    /// A result that may not fit 64 bits.
    fn checked(
        &mut self,
        function: &str,
        expr: &AbiExpr,
        a: &AbiExpr,
        b: &AbiExpr,
        what: &str,
    ) -> Computed {
        let (a, b) = (self.write(a, what), self.write(b, what));
        let result = self.temporary();
        let overflow = self.no_value(what, self.overflow(expr));
        let computed = format!(
            "({function}({}, {}, &{result}) || {overflow})",
            a.value, b.value
        );
        Computed {
            possible: both(both(a.possible, b.possible), Some(computed)),
            value: result,
        }
    }

    fn division(
        &mut self,
        expr: &AbiExpr,
        a: &AbiExpr,
        b: &AbiExpr,
        what: &str,
        value: impl Fn(&str, &str) -> String,
    ) -> Computed {
        let (dividend, divisor) = (self.write(a, what), self.write(b, what));
        let operands = both(dividend.possible.clone(), divisor.possible.clone());
        let value = value(&dividend.value, &divisor.value);
        let value = match value.starts_with("ceil_div") {
            true => value,
            false => format!("({value})"),
        };
        if is_constant(b)
            && b.eval(&[])
                .is_ok_and(|divisor| divisor != 0 && divisor != -1)
        {
            return Computed {
                possible: operands,
                value,
            };
        }
        let result = self.temporary();
        let shown = expr.display(self.names).to_string();
        let zero = self.no_value(what, ExprError::DivisionByZero { expr: shown });
        // The quotient by -1 may not fit, and the machine does not compute it.
        let by_minus_one = match expr {
            AbiExpr::Rem(..) => format!("({result} = 0, true)"),
            _ => format!(
                "(sub(0, {}, &{result}) || {})",
                dividend.value,
                self.no_value(what, self.overflow(expr))
            ),
        };
        let divisor = divisor.value;
        let computed = format!(
            "({divisor} == 0 ? {zero} : {divisor} == -1 ? {by_minus_one} : ({result} = {value}, true))"
        );
        Computed {
            possible: both(operands, Some(computed)),
            value: result,
        }
    }

    fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("t[{}]", self.temporaries - 1)
    }

    fn overflow(&self, expr: &AbiExpr) -> ExprError {
        ExprError::Overflow {
            expr: expr.display(self.names).to_string(),
        }
    }

    /// Keeps an error, and is false.
    fn no_value(&self, what: &str, error: ExprError) -> String {
        let error = BindError::Expr {
            what: what.to_owned(),
            error,
        };
        let text = literal(&error.to_string().replace('%', "%%"));
        format!("(fail(CUTEC_{}, {text}), false)", error.status().c_name())
    }
}

fn always(value: String) -> Computed {
    Computed {
        possible: None,
        value,
    }
}

fn both(a: Option<String>, b: Option<String>) -> Option<String> {
    match (a, b) {
        (Some(a), Some(b)) => Some(format!("{a} && {b}")),
        (a, b) => a.or(b),
    }
}

fn is_constant(expr: &AbiExpr) -> bool {
    let mut constant = true;
    expr.for_each_symbol(&mut |_| constant = false);
    constant
}

/// A number in C, of 64 bits where it needs them.
pub fn constant(value: i64) -> String {
    match value {
        i64::MIN => "INT64_MIN".to_owned(),
        value if i32::try_from(value).is_ok() && value >= 0 => value.to_string(),
        value if i32::try_from(value).is_ok() => format!("({value})"),
        value => format!("INT64_C({value})"),
    }
}
