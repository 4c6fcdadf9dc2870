//! Random kernels at tile level: each compiles and runs without a fault or a race, or is refused at its place.

use super::*;
use crate::build::{At, BuildError, Extent, Loop, Module, Reduction, Signature, Value};
use cutec_runtime::{DType, SimDevice, Tensor, run_kernel};

const ELEMS: [DType; 5] = [DType::F16, DType::F32, DType::BF16, DType::I32, DType::I8];
const SHAPES: [[i64; 2]; 5] = [[16, 16], [32, 32], [64, 32], [16, 64], [8, 128]];

/// A generator of numbers below a bound.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % bound
    }
}

/// A kernel of a few calls on what earlier ones gave; calls that the builder refuses are left out.
fn kernel(seed: u64) -> Result<Module, BuildError> {
    let mut numbers = Numbers(seed.wrapping_mul(77_777) + 1);
    let elem = ELEMS[numbers.below(ELEMS.len())];
    let shape = SHAPES[numbers.below(SHAPES.len())];
    let mut signature = Signature::new("k")?;
    let x = signature.tensor("x", elem, ["m", "n"])?;
    let y = signature.tensor_mut("y", elem, ["m", "n"])?;
    let counts = [
        Extent::name("m").tiles(shape[0]),
        Extent::name("n").tiles(shape[1]),
    ];
    let mut body = signature.tiles(counts)?;
    let (at, n) = (
        [body.tile_index(0)?, body.tile_index(1)?],
        body.extent("n")?,
    );
    let mut values: Vec<Value> = vec![body.load(&x, shape, &at)?, body.zeros(DType::F32, shape)?];
    for _ in 0..2 + numbers.below(7) {
        let a = values[numbers.below(values.len())].clone();
        let b = values[numbers.below(values.len())].clone();
        let (to, axis) = (ELEMS[numbers.below(ELEMS.len())], numbers.below(2));
        let over = Loop::tiles(&n, shape[1]).pipeline(1 + numbers.below(3) as i64);
        let held = a.dtype().unwrap_or(DType::F32);
        let made = match numbers.below(15) {
            0 => body.add(&a, &b),
            1 => body.mul(&a, 3),
            2 => body.max(&a, &b),
            3 => body.lt(&a, &b).and_then(|less| body.select(&less, &a, &b)),
            4 | 5 => body.convert(to, &a),
            6 => body.reduce(Reduction::Add, &a, axis),
            7 => body.reduce(Reduction::Max, &a, axis),
            8 => body.transpose(&a),
            9 => body.dot(&a, &b),
            10 => body.exp(&a),
            11 => body
                .repeat(over, [a], |body, step, [sums]| {
                    let part = body.load(&x, shape, [&at[0], step])?;
                    let part = body.convert(held, &part)?;
                    Ok([body.add(&sums, &part)?])
                })
                .map(|[sums]| sums),
            // From some elements before or behind a tile on, in steps of one or eight.
            12 => {
                let step = [1, 8][numbers.below(2)];
                let mut from = |axis: usize| {
                    let by = step * (numbers.below(9) as i64 - 4);
                    let first = body.mul(&at[axis], shape[axis])?;
                    Ok(At::element(body.add(&first, by)?))
                };
                let from = [from(0)?, from(1)?];
                body.load(&x, shape, from)
            }
            13 => {
                let by = numbers.below(9) as i64 - 4;
                body.repeat(over, [a], |body, step, [sums]| {
                    let column = body.mul(step, shape[1])?;
                    let column = At::element(body.sub(&column, by)?);
                    let rows = body.load(&x, shape, [At::tile(&at[0]), column.clone()])?;
                    let columns = body.load_or(&x, shape, [At::tile(&at[1]), column], 1)?;
                    Ok([body.dot_onto(&sums, &rows, &columns)?])
                })
                .map(|[sums]| sums)
            }
            _ => body
                .repeat(over, [a], |body, step, [sums]| {
                    let rows = body.load(&x, shape, [&at[0], step])?;
                    let columns = body.load(&x, shape, [&at[1], step])?;
                    Ok([body.dot_onto(&sums, &rows, &columns)?])
                })
                .map(|[sums]| sums),
        };
        values.extend(made);
    }
    for value in values.iter().rev() {
        let value = body.convert(elem, value)?;
        if body.store(&y, shape, &at, &value).is_ok() {
            break;
        }
    }
    body.finish()
}

#[test]
fn random_kernels_run_or_are_refused_at_their_place() {
    let mut ran = 0;
    for seed in 0..60 {
        let kernel = kernel(seed).unwrap_or_else(|error| panic!("{error}"));
        let listing = kernel.listing().clone();
        let compiled = match compile(&kernel.into(), &Options::default()) {
            Ok(compiled) => compiled,
            Err(error) => {
                assert!(
                    error.failures.is_empty() && !error.problems.is_empty(),
                    "{listing}\n{error}"
                );
                continue;
            }
        };
        let artifact = compiled.artifact().expect("it is PTX");
        let dtype: DType = artifact.abi.kernels[0].args[0].dtype();
        let x = Tensor::normal(dtype, &[37, 41], seed).expect("a tensor");
        let y = Tensor::poison(dtype, &[37, 41]).expect("a tensor");
        let mut device = SimDevice::new();
        device.options_mut().races = true;
        let result = run_kernel(&mut device, &artifact, "k", &mut [x.into(), y.into()]);
        assert!(
            result.is_ok(),
            "{listing}\n{}",
            result
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
        );
        ran += 1;
    }
    assert!(ran > 40, "{ran} of 60 kernels compile");
}
