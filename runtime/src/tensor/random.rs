//! Random data that depends on the seed alone: not on the machine, the number of threads or libm.
//!
//! Element `i` in row-major order is drawn from ChaCha8 with the seed, in stream `i / BLOCK`, so
//! blocks can be drawn in parallel. Normal numbers come from the polar method (Marsaglia and Bray,
//! 1964) with the logarithm of the `libm` crate, which gives the same bits everywhere.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use rayon::prelude::*;

use super::{DType, ShapeError, Tensor};

/// Elements drawn from one stream.
const BLOCK: usize = 1 << 14;

impl Tensor {
    /// A row-major tensor of normal numbers with mean 0 and variance 1, rounded to `dtype`.
    ///
    /// Integer types take the rounded numbers, scaled by 16 to have more than a few values.
    pub fn normal(dtype: DType, shape: &[i64], seed: u64) -> Result<Tensor, ShapeError> {
        let scale = if dtype.is_float() || dtype == DType::Bool {
            1.0
        } else {
            16.0
        };
        draw(dtype, shape, seed, move |random, values| {
            for pair in values.chunks_mut(2) {
                let drawn = normal_pair(random);
                pair.iter_mut()
                    .zip(drawn)
                    .for_each(|(place, value)| *place = scale * value);
            }
        })
    }

    /// A row-major tensor of numbers that are uniform in `low..high`, rounded to `dtype`.
    pub fn uniform(
        dtype: DType,
        shape: &[i64],
        low: f64,
        high: f64,
        seed: u64,
    ) -> Result<Tensor, ShapeError> {
        draw(dtype, shape, seed, move |random, values| {
            values
                .iter_mut()
                .for_each(|place| *place = low + (high - low) * unit(random));
        })
    }
}

/// Fills a tensor block by block with what `fill` draws.
fn draw(
    dtype: DType,
    shape: &[i64],
    seed: u64,
    fill: impl Fn(&mut ChaCha8Rng, &mut [f64]) + Sync,
) -> Result<Tensor, ShapeError> {
    let mut tensor = Tensor::zeros(dtype, shape)?;
    let size = dtype.size();
    tensor
        .bytes_mut()
        .par_chunks_mut(BLOCK * size)
        .enumerate()
        .for_each(|(block, bytes)| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(block as u64);
            let mut values = vec![0.0; bytes.len() / size];
            fill(&mut random, &mut values);
            for (bytes, value) in bytes.chunks_exact_mut(size).zip(values) {
                dtype.write(value, bytes);
            }
        });
    Ok(tensor)
}

/// Uniform in `0..1`, a multiple of 2^-53.
fn unit(random: &mut ChaCha8Rng) -> f64 {
    (random.next_u64() >> 11) as f64 * 2f64.powi(-53)
}

fn normal_pair(random: &mut ChaCha8Rng) -> [f64; 2] {
    loop {
        let (u, v) = (2.0 * unit(random) - 1.0, 2.0 * unit(random) - 1.0);
        let square = u * u + v * v;
        if square > 0.0 && square < 1.0 {
            let factor = (-2.0 * libm::log(square) / square).sqrt();
            return [u * factor, v * factor];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_has_its_moments() {
        let values = Tensor::normal(DType::F64, &[300, 1000], 7)
            .unwrap()
            .to_f64();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let moment = |p| {
            values
                .iter()
                .map(|value| (value - mean).powi(p))
                .sum::<f64>()
                / n
        };
        assert!(mean.abs() < 0.01, "mean {mean}");
        assert!((moment(2) - 1.0).abs() < 0.02, "variance {}", moment(2));
        assert!((moment(4) - 3.0).abs() < 0.1, "fourth moment {}", moment(4));
    }

    /// A change here changes every recorded result of a random test.
    #[test]
    fn the_same_bits_on_every_machine() {
        let normal = Tensor::normal(DType::F64, &[3], 42).unwrap();
        let bits: Vec<u64> = normal
            .to_f64()
            .iter()
            .map(|value| value.to_bits())
            .collect();
        assert_eq!(bits, EXPECTED);
        let longer = Tensor::normal(DType::F64, &[100_000], 42).unwrap();
        assert_eq!(longer.to_f64()[..3], normal.to_f64());
    }

    const EXPECTED: [u64; 3] = [
        4593777358611831395,
        4599376719253418024,
        13830986477247399585,
    ];

    #[test]
    fn seeds_and_blocks_differ() {
        let values = |seed| {
            Tensor::normal(DType::F32, &[2 * BLOCK as i64], seed)
                .unwrap()
                .to_f64()
        };
        assert_ne!(values(1), values(2));
        assert_ne!(values(1)[..BLOCK], values(1)[BLOCK..]);
    }

    #[test]
    fn uniform_stays_in_its_range() {
        let values = Tensor::uniform(DType::F32, &[10_000], -2.0, 3.0, 1)
            .unwrap()
            .to_f64();
        assert!(values.iter().all(|value| (-2.0..=3.0).contains(value)));
        assert!(
            values.iter().any(|value| *value > 2.9) && values.iter().any(|value| *value < -1.9)
        );
    }
}
