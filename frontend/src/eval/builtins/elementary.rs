//! Elementary functions of one number. What each computes of numbers known while compiling stands here; tests in
//! `.cute` files compute their references by the same functions.

/// A function of one floating number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Elementary {
    /// The square root.
    Sqrt,
    /// One over the square root.
    Rsqrt,
    /// One over x.
    Rcp,
    /// e to the power of x.
    Exp,
    /// 2 to the power of x.
    Exp2,
    /// The natural logarithm.
    Log,
    /// The logarithm to the base of 2.
    Log2,
    /// The hyperbolic tangent.
    Tanh,
    /// The error function.
    Erf,
    /// The sine.
    Sin,
    /// The cosine.
    Cos,
    /// The largest integer that is not above x.
    Floor,
    /// The smallest integer that is not below x.
    Ceil,
    /// The nearest integer, ties to even.
    Round,
    /// The integer towards zero.
    Trunc,
}

impl Elementary {
    /// Every function.
    pub const ALL: [Elementary; 15] = [
        Elementary::Sqrt,
        Elementary::Rsqrt,
        Elementary::Rcp,
        Elementary::Exp,
        Elementary::Exp2,
        Elementary::Log,
        Elementary::Log2,
        Elementary::Tanh,
        Elementary::Erf,
        Elementary::Sin,
        Elementary::Cos,
        Elementary::Floor,
        Elementary::Ceil,
        Elementary::Round,
        Elementary::Trunc,
    ];

    /// The function of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|function| function.name() == name)
    }

    /// Its name in the language.
    pub const fn name(self) -> &'static str {
        match self {
            Elementary::Sqrt => "sqrt",
            Elementary::Rsqrt => "rsqrt",
            Elementary::Rcp => "rcp",
            Elementary::Exp => "exp",
            Elementary::Exp2 => "exp2",
            Elementary::Log => "log",
            Elementary::Log2 => "log2",
            Elementary::Tanh => "tanh",
            Elementary::Erf => "erf",
            Elementary::Sin => "sin",
            Elementary::Cos => "cos",
            Elementary::Floor => "floor",
            Elementary::Ceil => "ceil",
            Elementary::Round => "round",
            Elementary::Trunc => "trunc",
        }
    }

    /// Whether the machine's result is exact or correctly rounded, in f64 too.
    pub fn is_correctly_rounded(self) -> bool {
        match self {
            Elementary::Sqrt
            | Elementary::Floor
            | Elementary::Ceil
            | Elementary::Round
            | Elementary::Trunc => true,
            Elementary::Rsqrt
            | Elementary::Rcp
            | Elementary::Exp
            | Elementary::Exp2
            | Elementary::Log
            | Elementary::Log2
            | Elementary::Tanh
            | Elementary::Erf
            | Elementary::Sin
            | Elementary::Cos => false,
        }
    }

    /// The function of a number, in f64.
    pub fn evaluate(self, x: f64) -> f64 {
        self.on_f64()(x)
    }

    /// The function on f64.
    pub fn on_f64(self) -> fn(f64) -> f64 {
        match self {
            Elementary::Sqrt => f64::sqrt,
            Elementary::Rsqrt => |x| 1.0 / x.sqrt(),
            Elementary::Rcp => |x| 1.0 / x,
            Elementary::Exp => f64::exp,
            Elementary::Exp2 => f64::exp2,
            Elementary::Log => f64::ln,
            Elementary::Log2 => f64::log2,
            Elementary::Tanh => f64::tanh,
            Elementary::Erf => cutec_abi::arithmetic::erf,
            Elementary::Sin => f64::sin,
            Elementary::Cos => f64::cos,
            Elementary::Floor => f64::floor,
            Elementary::Ceil => f64::ceil,
            Elementary::Round => f64::round_ties_even,
            Elementary::Trunc => f64::trunc,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_functions_are_each_others_inverse() {
        for function in Elementary::ALL {
            assert_eq!(Elementary::parse(function.name()), Some(function));
        }
        assert_eq!(Elementary::parse("gamma"), None);
    }
}
