//! Functions that `test` blocks know: of numbers, and those that make tensors.

use super::index::NumberFunction;
use cutec_abi::arithmetic::{self, ArithmeticError, Operation};
use cutec_abi::minifloat::{E4M3, E5M2};
use cutec_runtime::tensor::ShapeError;
use cutec_runtime::{DType, Tensor};

/// The functions of numbers: how many arguments each takes, and what it computes.
///
/// Names of element types convert: `f16(x)` rounds `x` as storing it would.
const OF_NUMBERS: &[(&str, usize, NumberFunction)] = &[
    ("abs", 1, |x| x[0].abs()),
    ("exp", 1, |x| x[0].exp()),
    ("precise_exp", 1, |x| x[0].exp()),
    ("exp2", 1, |x| x[0].exp2()),
    ("log", 1, |x| x[0].ln()),
    ("precise_log", 1, |x| x[0].ln()),
    ("log2", 1, |x| x[0].log2()),
    ("sqrt", 1, |x| x[0].sqrt()),
    ("rsqrt", 1, |x| 1.0 / x[0].sqrt()),
    ("rcp", 1, |x| 1.0 / x[0]),
    ("sin", 1, |x| x[0].sin()),
    ("precise_sin", 1, |x| x[0].sin()),
    ("cos", 1, |x| x[0].cos()),
    ("precise_cos", 1, |x| x[0].cos()),
    ("tan", 1, |x| x[0].tan()),
    ("asin", 1, |x| x[0].asin()),
    ("acos", 1, |x| x[0].acos()),
    ("atan", 1, |x| x[0].atan()),
    ("atan2", 2, |x| x[0].atan2(x[1])),
    // The hypot of glibc, of which the standard library makes asinh too, is of 2.35, and the wheel asks for less.
    ("hypot", 2, |x| libm::hypot(x[0], x[1])),
    ("sinh", 1, |x| x[0].sinh()),
    ("cosh", 1, |x| x[0].cosh()),
    ("tanh", 1, |x| x[0].tanh()),
    ("precise_tanh", 1, |x| x[0].tanh()),
    ("asinh", 1, |x| libm::asinh(x[0])),
    ("acosh", 1, |x| x[0].acosh()),
    ("atanh", 1, |x| x[0].atanh()),
    ("expm1", 1, |x| x[0].exp_m1()),
    ("log1p", 1, |x| x[0].ln_1p()),
    ("log10", 1, |x| x[0].log10()),
    ("cbrt", 1, |x| x[0].cbrt()),
    ("erf", 1, |x| arithmetic::erf(x[0])),
    ("erfc", 1, |x| libm::erfc(x[0])),
    ("lgamma", 1, |x| libm::lgamma(x[0])),
    ("sigmoid", 1, |x| 1.0 / (1.0 + (-x[0]).exp())),
    (
        "relu",
        1,
        |x| if x[0].is_nan() { x[0] } else { x[0].max(0.0) },
    ),
    ("floor", 1, |x| x[0].floor()),
    ("ceil", 1, |x| x[0].ceil()),
    ("round", 1, |x| x[0].round_ties_even()),
    ("trunc", 1, |x| x[0].trunc()),
    ("pow", 2, |x| x[0].powf(x[1])),
    ("fmod", 2, |x| x[0] % x[1]),
    ("fma", 3, |x| x[0].mul_add(x[1], x[2])),
    ("ceil_div", 2, |x| (x[0] / x[1]).ceil()),
    ("select", 3, |x| if x[0] != 0.0 { x[1] } else { x[2] }),
    ("add", 2, |x| x[0] + x[1]),
    ("mul", 2, |x| x[0] * x[1]),
    ("and", 2, |x| (x[0] as i64 & x[1] as i64) as f64),
    ("or", 2, |x| (x[0] as i64 | x[1] as i64) as f64),
    ("xor", 2, |x| (x[0] as i64 ^ x[1] as i64) as f64),
    ("f16", 1, |x| convert(DType::F16, x[0])),
    ("bf16", 1, |x| convert(DType::BF16, x[0])),
    ("tf32", 1, |x| convert(DType::TF32, x[0])),
    ("f32", 1, |x| convert(DType::F32, x[0])),
    ("f64", 1, |x| x[0]),
    ("f8e4m3", 1, |x| E4M3.decode(E4M3.convert(x[0]))),
    ("f8e5m2", 1, |x| E5M2.decode(E5M2.convert(x[0]))),
    ("i8", 1, |x| to_integer(DType::I8, x[0])),
    ("i16", 1, |x| to_integer(DType::I16, x[0])),
    ("i32", 1, |x| to_integer(DType::I32, x[0])),
    ("i64", 1, |x| to_integer(DType::I64, x[0])),
    ("u8", 1, |x| to_integer(DType::U8, x[0])),
    ("u16", 1, |x| to_integer(DType::U16, x[0])),
    ("u32", 1, |x| to_integer(DType::U32, x[0])),
    ("u64", 1, |x| to_integer(DType::U64, x[0])),
];

/// Other functions that a block can call.
const OTHERS: &[&str] = &[
    "max",
    "min",
    "size",
    "rank",
    "full",
    "assert",
    "assert_eq",
    "assert_close",
];

/// The names of all functions that are known without a definition, for messages.
pub fn names<'n>() -> impl Iterator<Item = &'n str> {
    let of_numbers = OF_NUMBERS.iter().map(|(name, ..)| -> &'n str { name });
    let fills = FILLS.iter().copied();
    of_numbers.chain(OTHERS.iter().copied()).chain(fills)
}

/// Whether a function is known without a definition.
pub fn is_known(name: &str) -> bool {
    names().any(|known| known == name)
}

/// The function of numbers of this name: how many arguments it takes, and what it computes.
pub fn number_function(name: &str) -> Option<(usize, NumberFunction)> {
    let (_, arity, function) = OF_NUMBERS.iter().find(|(known, ..)| *known == name)?;
    Some((*arity, *function))
}

/// What a function gives of integers, where it computes them as the compiler does: exactly, in 64 bits. Conversions
/// to an integer type keep its bits.
pub fn integer_function(name: &str, x: &[i64]) -> Option<Result<i64, ArithmeticError>> {
    let fold = |operation: Operation| {
        let (first, rest) = x.split_first()?;
        let mut values = rest.iter();
        Some(values.try_fold(*first, |a, b| operation.integers(a, *b)))
    };
    match (name, x) {
        ("min", [_, _, ..]) => fold(Operation::Min),
        ("max", [_, _, ..]) => fold(Operation::Max),
        ("ceil_div", [_, _]) => fold(Operation::CeilDiv),
        ("add", [_, _]) => fold(Operation::Add),
        ("mul", [_, _]) => fold(Operation::Mul),
        ("and", [_, _]) => fold(Operation::BitAnd),
        ("or", [_, _]) => fold(Operation::BitOr),
        ("xor", [_, _]) => fold(Operation::BitXor),
        ("abs", [value]) => Some(arithmetic::abs(*value)),
        ("select", [condition, a, b]) => Some(Ok(if *condition != 0 { *a } else { *b })),
        (name, [value]) => {
            let dtype = name.parse::<DType>().ok().filter(|dtype| !dtype.is_float());
            let bits = dtype?.size() as u32 * 8;
            let signed = name.starts_with('i');
            Some(Ok(arithmetic::wrapped(*value, bits, signed)))
        }
        _ => None,
    }
}

/// Whether a function of integers gives an integer.
pub fn keeps_integers(name: &str) -> bool {
    let to_integer = name.parse::<DType>().is_ok_and(|dtype| !dtype.is_float());
    let of_integers = [
        "abs", "ceil_div", "select", "relu", "add", "mul", "and", "or", "xor",
    ];
    to_integer || of_integers.contains(&name)
}

/// `1 argument`, `2 arguments`
pub fn arguments(count: usize) -> String {
    match count {
        1 => "1 argument".to_owned(),
        count => format!("{count} arguments"),
    }
}

fn convert(dtype: DType, value: f64) -> f64 {
    let mut bytes = [0; 8];
    dtype.write(value, &mut bytes);
    dtype.read(&bytes)
}

/// Conversion of a number to an integer type in the language: towards zero, saturating.
fn to_integer(dtype: DType, value: f64) -> f64 {
    convert(dtype, value.trunc())
}

/// How a tensor is filled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fill {
    /// Standard normal; integers are scaled.
    Normal,
    /// Evenly between two numbers.
    Uniform(f64, f64),
    /// All zeros.
    Zeros,
    /// The same number everywhere.
    Constant(f64),
    /// NaN, or a pattern of bytes: what was never written shows.
    Poison,
    /// 0, 1, 2, … in row-major order.
    Iota,
}

/// The names of the functions that make tensors and take extents alone.
const FILLS: &[&str] = &[
    "random", "normal", "uniform", "zeros", "ones", "poison", "iota", "arange",
];

impl Fill {
    /// The way of this name; `low` and `high` bound what is uniform.
    pub fn by_name(name: &str, low: f64, high: f64) -> Option<Self> {
        match name {
            "random" | "normal" => Some(Self::Normal),
            "uniform" => Some(Self::Uniform(low, high)),
            "zeros" => Some(Self::Zeros),
            "ones" => Some(Self::Constant(1.0)),
            "poison" => Some(Self::Poison),
            "iota" | "arange" => Some(Self::Iota),
            _ => None,
        }
    }
}

/// A tensor filled so; row-major unless `strides` says otherwise.
///
/// # Errors
/// When no tensor has this shape.
pub fn make_tensor(
    fill: Fill,
    dtype: DType,
    shape: &[i64],
    strides: Option<&[i64]>,
    seed: u64,
) -> Result<Tensor, ShapeError> {
    if let Some(strides) = strides {
        // What lies at one place is made once: a mode of stride 0 takes no memory.
        let extents = shape.iter().zip(strides);
        let places: Vec<i64> = extents
            .map(|(extent, stride)| {
                if *stride == 0 {
                    (*extent).min(1)
                } else {
                    *extent
                }
            })
            .collect();
        let tensor = make_tensor(fill, dtype, &places, None, seed)?;
        return tensor.with_strides(strides)?.broadcast(shape);
    }
    let tensor = match fill {
        Fill::Normal => Tensor::normal(dtype, shape, seed)?,
        Fill::Uniform(low, high) => Tensor::uniform(dtype, shape, low, high, seed)?,
        Fill::Zeros => Tensor::zeros(dtype, shape)?,
        Fill::Poison => Tensor::poison(dtype, shape)?,
        Fill::Constant(value) => {
            let zeros = Tensor::zeros(dtype, shape)?;
            Tensor::from_f64(dtype, shape, &vec![value; zeros.len()])?
        }
        Fill::Iota => {
            let zeros = Tensor::zeros(dtype, shape)?;
            let values: Vec<f64> = (0..zeros.len()).map(|value| value as f64).collect();
            Tensor::from_f64(dtype, shape, &values)?
        }
    };
    Ok(tensor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutec_frontend::eval::builtins::{Elementary, FAMILIES, Operator};

    /// What a kernel computes by a function of numbers, its test can state.
    #[test]
    fn tests_have_the_functions_of_kernels() {
        // Of a kernel alone.
        let of_kernels = ["bits", "element_type", "mulhi", "static_assert"];
        let numbers = FAMILIES.iter().find(|family| family.name == "numbers");
        for builtin in numbers.expect("the family").builtins {
            let name = builtin.name;
            let known = of_kernels.contains(&name) || names().any(|known| known == name);
            assert!(known, "tests have no `{name}`");
        }
    }

    #[test]
    fn operators_of_reductions_are_functions_of_tests() {
        for operator in Operator::ALL.map(Operator::name) {
            assert!(is_known(operator), "tests have no `{operator}`");
            let of_integers = integer_function(operator, &[6, 3]).expect("it is of integers");
            let expected = match operator {
                "add" => 9,
                "mul" => 18,
                "min" => 3,
                "max" => 6,
                "and" => 2,
                "or" => 7,
                "xor" => 5,
                other => panic!("what does `{other}` give?"),
            };
            assert_eq!(of_integers.ok(), Some(expected), "{operator}");
            if let Some((arity, function)) = number_function(operator) {
                assert_eq!(
                    (arity, function(&[6.0, 3.0])),
                    (2, f64::from(expected as i32))
                );
            }
        }
    }

    #[test]
    fn elementary_functions_are_those_of_the_language() {
        for function in Elementary::ALL {
            let name = function.name();
            let (count, apply) = number_function(name).expect("it is one");
            assert_eq!(count, 1);
            for x in [0.25, 1.0, 2.5] {
                assert_eq!(apply(&[x]), function.evaluate(x), "{name}({x})");
            }
        }
    }

    #[test]
    fn every_name_of_a_filled_tensor_is_known() {
        for name in FILLS {
            assert!(Fill::by_name(name, 0.0, 1.0).is_some(), "{name}");
        }
    }
}
