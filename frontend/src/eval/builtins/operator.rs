//! The operators of reductions, which have the same names in the language and in the IR.

use crate::eval::values::Value;

/// An operator of reductions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// The sum.
    Add,
    /// The product.
    Mul,
    /// The smallest one; NaN where there is one.
    Min,
    /// The largest one; NaN where there is one.
    Max,
    /// The bits that all have.
    And,
    /// The bits that any has.
    Or,
    /// The bits that an odd number has.
    Xor,
}

impl Operator {
    /// Every operator.
    pub const ALL: [Operator; 7] = [
        Operator::Add,
        Operator::Mul,
        Operator::Min,
        Operator::Max,
        Operator::And,
        Operator::Or,
        Operator::Xor,
    ];
    /// The names of all.
    pub const NAMES: &'static [&'static str] = &cutec_dialects::tile::REDUCTIONS;

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Operator::Add => "add",
            Operator::Mul => "mul",
            Operator::Min => "min",
            Operator::Max => "max",
            Operator::And => "and",
            Operator::Or => "or",
            Operator::Xor => "xor",
        }
    }

    /// The operator that an argument names: by a word, or by the built-in functions `min` and `max`.
    pub(in crate::eval) fn of(value: &Value<'_, '_>) -> Option<Self> {
        let name: &str = match value {
            Value::Str(word) => word,
            Value::Builtin(name) => name,
            _ => return None,
        };
        let mut operators = Self::ALL.into_iter();
        operators.find(|operator| operator.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dialect_has_the_same_operators() {
        assert_eq!(Operator::ALL.map(Operator::name), Operator::NAMES);
    }
}
