//! Conditions on run-time values that the algebra needs.
//!
//! An operation on dynamic layouts is often right only if, say, a tile divides an extent. If that
//! can be proved from what is known of the values, the operation proceeds; if it is certainly
//! wrong, it is an error. In between, [`assuming`] decides: outside of it, the operation returns
//! [`LayoutError::Undecided`]; inside, the condition is recorded and the operation proceeds, and
//! the caller must make sure of the condition (a promise of the kernel, a check at launch).

use crate::{Int, LayoutError};
use std::cell::RefCell;
use std::fmt;

/// A condition on run-time integers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Condition {
    /// `value % divisor == 0`.
    Divides {
        /// The divisor.
        divisor: Int,
        /// The multiple.
        value: Int,
    },
    /// `left <= right`.
    AtMost {
        /// The smaller value.
        left: Int,
        /// The larger value.
        right: Int,
    },
    /// `left == right`.
    Equal {
        /// One value.
        left: Int,
        /// The other value.
        right: Int,
    },
    /// Either of two conditions.
    Either(Box<Condition>, Box<Condition>),
}

impl Condition {
    /// True or false if that is certain, `None` if it depends on unknown values.
    pub fn decide(&self) -> Option<bool> {
        match self {
            Condition::Divides { divisor, value } => match (divisor.as_static(), value) {
                (Some(0), _) => Some(value.is(0)),
                (Some(divisor), _) if value.divisible_by(divisor) => Some(true),
                (Some(divisor), Int::Static(value)) => Some(value % divisor == 0),
                (None, _) if value.is(0) || value.modulo(divisor).is(0) => Some(true),
                // A positive value smaller than its divisor.
                _ if value.lower() > 0
                    && value
                        .upper()
                        .is_some_and(|max| max < divisor.lower_extent()) =>
                {
                    Some(false)
                }
                _ => None,
            },
            Condition::AtMost { left, right } => {
                if left == right || left.upper().is_some_and(|max| max <= right.lower_extent()) {
                    Some(true)
                } else if right.upper().is_some_and(|max| max < left.lower_extent()) {
                    Some(false)
                } else {
                    None
                }
            }
            Condition::Equal { left, right } => {
                if left == right {
                    return Some(true);
                }
                let apart = |a: &Int, b: &Int| a.upper().is_some_and(|max| max < b.lower());
                (apart(left, right) || apart(right, left)).then_some(false)
            }
            Condition::Either(a, b) => match (a.decide(), b.decide()) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), other) | (other, Some(false)) => other,
                _ => None,
            },
        }
    }

    /// The condition with variables replaced by what `f` gives for them.
    pub fn substitute(&self, f: &dyn Fn(u32) -> Option<Int>) -> Condition {
        match self {
            Condition::Divides { divisor, value } => Condition::Divides {
                divisor: divisor.substitute(f),
                value: value.substitute(f),
            },
            Condition::AtMost { left, right } => Condition::AtMost {
                left: left.substitute(f),
                right: right.substitute(f),
            },
            Condition::Equal { left, right } => Condition::Equal {
                left: left.substitute(f),
                right: right.substitute(f),
            },
            Condition::Either(a, b) => {
                Condition::Either(Box::new(a.substitute(f)), Box::new(b.substitute(f)))
            }
        }
    }

    /// What could be promised of a run-time value for the condition to be certain, in the words of a
    /// message: `a v0 that 4 divides (`?{div=4}`)`.
    pub fn promise(&self) -> Option<String> {
        match self {
            Condition::Divides { divisor, value } => {
                let (divisor, sym) = (divisor.as_static()?, value.as_sym()?);
                let plain = matches!(sym.expr(), crate::Expr::Var(_));
                let notation = match plain {
                    true => format!(" (`?{{div={divisor}}}`)"),
                    false => String::new(),
                };
                Some(format!(
                    "a {} that {divisor} divides{notation}",
                    value.formula()
                ))
            }
            Condition::Either(a, b) => a.promise().or_else(|| b.promise()),
            Condition::AtMost { .. } | Condition::Equal { .. } => None,
        }
    }

    /// Calls `f` with the id of every variable, repeats included.
    pub fn visit_vars(&self, f: &mut dyn FnMut(u32)) {
        match self {
            Condition::Divides {
                divisor: a,
                value: b,
            }
            | Condition::AtMost { left: a, right: b }
            | Condition::Equal { left: a, right: b } => {
                a.visit_vars(f);
                b.visit_vars(f);
            }
            Condition::Either(a, b) => {
                a.visit_vars(f);
                b.visit_vars(f);
            }
        }
    }

    /// Whether the condition holds when each variable has the value that `env` gives it.
    pub fn eval(&self, env: &dyn Fn(u32) -> i64) -> bool {
        match self {
            Condition::Divides { divisor, value } => match divisor.eval(env) {
                0 => value.eval(env) == 0,
                divisor => value.eval(env) % divisor == 0,
            },
            Condition::AtMost { left, right } => left.eval(env) <= right.eval(env),
            Condition::Equal { left, right } => left.eval(env) == right.eval(env),
            Condition::Either(a, b) => a.eval(env) || b.eval(env),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Divides { divisor, value } => {
                write!(f, "{} % {} == 0", value.formula(), divisor.formula())
            }
            Condition::AtMost { left, right } => match left.before_increment() {
                Some(left) => write!(f, "{} < {}", left.formula(), right.formula()),
                None => write!(f, "{} <= {}", left.formula(), right.formula()),
            },
            Condition::Equal { left, right } => {
                write!(f, "{} == {}", left.formula(), right.formula())
            }
            Condition::Either(a, b) => write!(f, "{a} or {b}"),
        }
    }
}

thread_local! {
    static RECORDED: RefCell<Option<Vec<Condition>>> = const { RefCell::new(None) };
}

/// Runs `f` such that undecided conditions are taken to hold, and returns them, each once.
pub fn assuming<R>(f: impl FnOnce() -> R) -> (R, Vec<Condition>) {
    struct Restore(Option<Vec<Condition>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            RECORDED.with(|cell| *cell.borrow_mut() = self.0.take());
        }
    }
    let restore = Restore(RECORDED.with(|cell| cell.borrow_mut().replace(Vec::new())));
    let result = f();
    let recorded = RECORDED.with(|cell| cell.borrow_mut().take());
    drop(restore);
    (result, recorded.unwrap_or_default())
}

/// Lets the operation proceed if `condition` holds, or is undecided inside [`assuming`].
/// `refuse` makes the error for a condition that certainly fails.
pub(crate) fn require(
    op: &'static str,
    condition: Condition,
    refuse: impl FnOnce() -> LayoutError,
) -> Result<(), LayoutError> {
    match condition.decide() {
        Some(true) => Ok(()),
        Some(false) => Err(refuse()),
        None => RECORDED.with(|cell| match cell.borrow_mut().as_mut() {
            Some(recorded) => {
                if !recorded.contains(&condition) {
                    recorded.push(condition);
                }
                Ok(())
            }
            None => Err(LayoutError::Undecided { op, condition }),
        }),
    }
}
