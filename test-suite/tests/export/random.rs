//! Random arguments of a kernel, most of them right.

use super::mock::Any;
use cutec_abi::dlpack::{self, DataType, Device};
use cutec_abi::{
    AbiExpr, Arg, ArgAbi, DType, Dim, KernelAbi, ScalarValue, SymbolSource, TensorDesc,
};

/// A generator of numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// An argument with what it is made of.
pub enum Argument {
    Tensor {
        dtype: DType,
        shape: Vec<i64>,
        strides: Vec<i64>,
        compact: bool,
        address: u64,
        described: Box<dlpack::Tensor>,
    },
    Scalar {
        value: ScalarValue,
        any: Any,
    },
}

impl Argument {
    /// As tvm-ffi passes it, while this is where it is.
    pub fn any(&self) -> Any {
        match self {
            Argument::Tensor { described, .. } => Any::tensor(described),
            Argument::Scalar { any, .. } => *any,
        }
    }

    /// As binding sees it.
    pub fn bound(&self, expected: DType) -> Arg {
        match self {
            Argument::Tensor {
                dtype,
                shape,
                strides,
                address,
                ..
            } => Arg::Tensor(TensorDesc {
                dtype: match (dtype, expected) {
                    (DType::F32, DType::TF32) => DType::TF32,
                    (dtype, _) => *dtype,
                },
                shape: shape.clone(),
                strides: strides.clone(),
                align: if *address == 0 {
                    256
                } else {
                    1 << address.trailing_zeros()
                },
                mutable: true,
            }),
            Argument::Scalar { value, .. } => Arg::Scalar(*value),
        }
    }

    pub fn address(&self) -> u64 {
        match self {
            Argument::Tensor { address, .. } => *address,
            Argument::Scalar { .. } => 0,
        }
    }
}

/// Arguments for a launch on a device.
pub fn arguments(kernel: &KernelAbi, random: &mut Random, device: i32) -> Vec<Argument> {
    let wild = random.below(8) == 0;
    let small = random.below(3) > 0;
    let values: Vec<i64> = kernel
        .symbols
        .iter()
        .map(|symbol| {
            let factor = match (wild, small) {
                (true, _) => random.pick(&[
                    -1,
                    0,
                    1,
                    7,
                    1000,
                    1 << 20,
                    1 << 31,
                    1 << 33,
                    1 << 40,
                    i64::MAX,
                    i64::MIN,
                ]),
                (false, true) => random.pick(&[1, 1, 2, 3, 4, 5, 8, 16, 17]),
                (false, false) => random.pick(&[0, 1, 8, 31, 64, 100, 128, 512, 1000]),
            };
            // A kernel's own divisibility, and others that promises are about.
            let step = symbol.divisible_by.max(1) * random.pick(&[1, 1, 8, 64]);
            factor.saturating_mul(if random.below(12) == 0 { 1 } else { step })
        })
        .collect();
    let value = |expr: &AbiExpr| expr.eval(&values).unwrap_or(1);
    let mut arguments: Vec<Argument> = Vec::new();
    for (index, arg) in kernel.args.iter().enumerate() {
        arguments.push(match arg {
            ArgAbi::Scalar(scalar) => {
                let symbol = kernel
                    .symbols
                    .iter()
                    .position(|symbol| symbol.from == SymbolSource::Scalar { arg: index });
                number(scalar.dtype, symbol.map(|symbol| values[symbol]), random)
            }
            ArgAbi::Tensor(tensor) => {
                let extent = |dim: &Dim| match dim {
                    Dim::Static(extent) => *extent,
                    Dim::Symbol(index) => values[*index],
                    Dim::Expr(expr) => value(expr),
                };
                let shape: Vec<i64> = tensor.extents.iter().map(extent).collect();
                let strides: Vec<i64> = tensor.strides.iter().map(value).collect();
                let address =
                    0x7000_0000_0000 + (1 + random.below(1000) as u64) * tensor.align.max(16);
                tensor_argument(tensor.dtype, shape, strides, false, address, device)
            }
        });
    }
    if random.below(2) == 0 && !arguments.is_empty() {
        let index = random.below(arguments.len());
        spoil(&mut arguments[index], random, device);
    }
    arguments
}

fn number(dtype: DType, value: Option<i64>, random: &mut Random) -> Argument {
    if dtype.is_float() {
        let value = random.pick(&[
            0.0,
            -0.0,
            1.0,
            -2.5,
            0.1,
            1e-3,
            65519.9,
            65520.0,
            1e-8,
            3e38,
            1e39,
            f64::INFINITY,
            f64::NAN,
        ]);
        let value = value * random.pick(&[1.0, 1.0 + f64::EPSILON, 0.3333333333333]);
        return Argument::Scalar {
            value: ScalarValue::new(dtype, value),
            any: Any::float(value),
        };
    }
    let bits = 8 * dtype.size() as u32;
    let signed = matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64);
    let value = value.unwrap_or_else(|| random.next() as i64 >> random.below(63));
    let value = match dtype {
        DType::Bool => value & 1,
        // What an integer of tvm-ffi has.
        DType::U64 => value & i64::MAX,
        _ => cutec_abi::arithmetic::wrapped(value, bits, signed),
    };
    let mut bytes = value.to_le_bytes();
    bytes[dtype.size()..].fill(0);
    Argument::Scalar {
        value: ScalarValue { dtype, bytes },
        any: Any::int(value),
    }
}

fn tensor_argument(
    dtype: DType,
    shape: Vec<i64>,
    strides: Vec<i64>,
    compact: bool,
    address: u64,
    device: i32,
) -> Argument {
    // Some of the address is an offset.
    let offset = address & 0xF0;
    let described = Box::new(dlpack::Tensor {
        data: std::ptr::without_provenance_mut((address - offset) as usize),
        device: Device {
            kind: dlpack::CUDA,
            id: device,
        },
        rank: shape.len() as i32,
        dtype: DataType::of(dtype),
        shape: shape.as_ptr(),
        strides: if compact {
            std::ptr::null()
        } else {
            strides.as_ptr()
        },
        byte_offset: offset,
    });
    Argument::Tensor {
        dtype,
        shape,
        strides,
        compact,
        address,
        described,
    }
}

/// Makes something wrong of an argument, perhaps.
fn spoil(argument: &mut Argument, random: &mut Random, device: i32) {
    let Argument::Tensor {
        dtype,
        shape,
        strides,
        compact,
        address,
        ..
    } = argument
    else {
        return;
    };
    let (mut dtype, mut shape, mut strides) = (*dtype, shape.clone(), strides.clone());
    let (mut compact, mut address) = (*compact, *address);
    let mode = if shape.is_empty() {
        0
    } else {
        random.below(shape.len())
    };
    match random.below(9) {
        0 => dtype = random.pick(&DType::ALL),
        1 => address += random.pick(&[1, 2, 4, 8]),
        2 => {
            shape.push(3);
            strides.push(1);
        }
        3 if !shape.is_empty() => {
            shape.pop();
            strides.pop();
        }
        4 | 5 if !shape.is_empty() => {
            shape[mode] = random.pick(&[-1, 0, 1, 2, 8, 24, 128, 1 << 32, 1 << 62])
        }
        6 | 7 if !shape.is_empty() => {
            strides[mode] = random.pick(&[-8, 0, 1, 2, 8, 24, 4096, 1 << 40, i64::MAX])
        }
        8 => {
            compact = true;
            let mut step: i64 = 1;
            for mode in (0..shape.len()).rev() {
                strides[mode] = step;
                step = step.saturating_mul(shape[mode].max(1));
            }
        }
        _ => {}
    }
    if dtype == DType::TF32 {
        // Nobody's arrays are called so.
        dtype = DType::F32;
    }
    *argument = tensor_argument(dtype, shape, strides, compact, address, device);
}
