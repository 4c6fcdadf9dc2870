//! Random data that depends on seed and index alone: not on the machine, the number of threads or libm.
//!
//! Numbers are counter-based: word `w` of a seed is the finalizer of SplitMix64 (Steele, Lea and Flood,
//! 2014) of a counter, so that any part of a tensor can be drawn by itself. A word gives the pair of
//! elements `2w` and `2w + 1` in row-major order, by the transform of Box and Muller (1958). For types of
//! up to 32 bits the transform is in f32, in loops over arrays that compilers vectorize; its logarithm
//! and sine are the polynomials of Cephes (Moshier, `logf.c`, `sinf.c`), of additions and
//! multiplications alone, which give the same bits everywhere. For f64 it is in f64, with the functions
//! of the `libm` crate.

use rayon::prelude::*;

use super::{DType, ShapeError, Tensor};

/// Elements that one task draws; even, so that no pair is divided.
const CHUNK: usize = 1 << 14;
/// Elements that are drawn together, few enough to stay in the L1 cache.
const BLOCK: usize = 512;
/// Counters of a seed are this far apart: the golden ratio, as SplitMix64 has it.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl Tensor {
    /// A row-major tensor of normal numbers with mean 0 and variance 1, rounded to `dtype`.
    ///
    /// Integer types take the rounded numbers, scaled by 16 to have more than a few values; `bool` says
    /// which are positive.
    pub fn normal(dtype: DType, shape: &[i64], seed: u64) -> Result<Tensor, ShapeError> {
        let start = mix(seed);
        match dtype {
            DType::F64 => draw(dtype, shape, |first, values, bytes| {
                for (at, pair) in values.chunks_exact_mut(2).enumerate() {
                    let word = 2 * (first / 2 + at as u64);
                    pair.copy_from_slice(&normal_pair(unit(start, word), unit(start, word + 1)));
                }
                dtype.write_all(values, bytes);
            }),
            DType::Bool => draw(dtype, shape, |first, values, bytes| {
                let mut normals = [0.0; BLOCK];
                normal_block(start, first, &mut normals);
                for (value, normal) in values.iter_mut().zip(normals) {
                    *value = f64::from(u8::from(normal > 0.0));
                }
                dtype.write_all(values, bytes);
            }),
            _ => {
                let scale = if dtype.is_float() { 1.0 } else { 16.0 };
                draw(dtype, shape, |first, values, bytes| {
                    let mut normals = [0.0; BLOCK];
                    normal_block(start, first, &mut normals);
                    if dtype.write_all_f32(&normals, bytes) {
                        return;
                    }
                    for (value, normal) in values.iter_mut().zip(normals) {
                        *value = scale * f64::from(normal);
                    }
                    dtype.write_all(values, bytes);
                })
            }
        }
    }

    /// A row-major tensor of numbers that are uniform in `low..high`, rounded to `dtype`.
    pub fn uniform(
        dtype: DType,
        shape: &[i64],
        low: f64,
        high: f64,
        seed: u64,
    ) -> Result<Tensor, ShapeError> {
        let start = mix(seed);
        draw(dtype, shape, |first, values, bytes| {
            for (at, value) in values.iter_mut().enumerate() {
                *value = low + (high - low) * unit(start, first + at as u64);
            }
            dtype.write_all(values, bytes);
        })
    }
}

/// Fills a tensor block by block: `fill` gets the index of the block's first element, room for its
/// values, and its bytes, of which there are less in the last block.
fn draw(
    dtype: DType,
    shape: &[i64],
    fill: impl Fn(u64, &mut [f64; BLOCK], &mut [u8]) + Sync,
) -> Result<Tensor, ShapeError> {
    let mut tensor = Tensor::zeros(dtype, shape)?;
    let size = dtype.size();
    let chunks = tensor.bytes_mut().par_chunks_mut(CHUNK * size);
    chunks.enumerate().for_each(|(chunk, bytes)| {
        let mut values = [0.0; BLOCK];
        for (block, bytes) in bytes.chunks_mut(BLOCK * size).enumerate() {
            fill((chunk * CHUNK + block * BLOCK) as u64, &mut values, bytes);
        }
    });
    Ok(tensor)
}

/// The finalizer of SplitMix64, a bijection in which every bit depends on every bit.
fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// Word `index` of a seed whose words begin at `start`.
fn word(start: u64, index: u64) -> u64 {
    mix(start.wrapping_add(index.wrapping_add(1).wrapping_mul(STEP)))
}

/// Uniform in `0..1`, a multiple of 2^-53.
fn unit(start: u64, index: u64) -> f64 {
    (word(start, index) >> 11) as f64 * 2f64.powi(-53)
}

/// Two normal numbers of two uniform ones in f64.
fn normal_pair(first: f64, second: f64) -> [f64; 2] {
    // In (0, 1]: the logarithm is finite.
    let radius = (-2.0 * libm::log(1.0 - first)).sqrt();
    let (sin, cos) = libm::sincos(std::f64::consts::TAU * second);
    [radius * cos, radius * sin]
}

/// Normal numbers for the elements from `first`, which is even.
fn normal_block(start: u64, first: u64, normals: &mut [f32; BLOCK]) {
    let mut radii = [0.0_f32; BLOCK / 2];
    let mut turns = [0_u32; BLOCK / 2];
    for (at, (radius, turn)) in radii.iter_mut().zip(&mut turns).enumerate() {
        let word = word(start, first / 2 + at as u64);
        // An odd multiple of 2^-24, so that it is never 0 and exact in f32.
        *radius = ((word >> 40) as u32 | 1) as f32 * (1.0 / 16_777_216.0);
        *turn = word as u32;
    }
    for radius in &mut radii {
        *radius = (-2.0 * log(*radius)).sqrt();
    }
    for ((pair, radius), turn) in normals.chunks_exact_mut(2).zip(radii).zip(turns) {
        let (cos, sin) = cos_sin(turn);
        pair[0] = radius * cos;
        pair[1] = radius * sin;
    }
}

/// The logarithm of a normal number of (0, 1], to an ulp or two.
#[inline(always)]
fn log(x: f32) -> f32 {
    // x = 2^e * m with m from sqrt(1/2) to sqrt(2).
    const HALF_ROOT: u32 = 0x3F35_04F3;
    let bits = x.to_bits().wrapping_sub(HALF_ROOT);
    let e = ((bits as i32) >> 23) as f32;
    let m = f32::from_bits((bits & 0x007F_FFFF).wrapping_add(HALF_ROOT)) - 1.0;
    let z = m * m;
    let mut y = 7.037_683_6e-2_f32;
    for factor in [
        -1.151_461e-1,
        1.167_699_9e-1,
        -1.242_014_1e-1,
        1.424_932_3e-1,
        -1.666_805_8e-1,
        2.000_071_5e-1,
        -2.499_999_4e-1,
        3.333_333e-1,
    ] {
        y = y * m + factor;
    }
    let y = y * m * z - 2.121_944_4e-4 * e - 0.5 * z;
    m + y + 0.693_359_4 * e
}

/// Cosine and sine of `turn` parts of 2^32 of a circle.
#[inline(always)]
fn cos_sin(turn: u32) -> (f32, f32) {
    // From the middle of a quadrant: an angle from -pi/4 to pi/4.
    let quadrant = turn >> 30;
    let rest = (turn & 0x3FFF_FFFF) as i32 - 0x2000_0000;
    let x = rest as f32 * (std::f32::consts::FRAC_PI_2 / 1_073_741_824.0);
    let z = x * x;
    let sin = ((-1.951_529_6e-4 * z + 8.332_161e-3) * z - 1.666_665_5e-1) * z * x + x;
    let cos = ((2.443_315_7e-5 * z - 1.388_731_6e-3) * z + 4.166_664_6e-2) * z * z - 0.5 * z + 1.0;
    // Quarter turns exchange the two and change signs.
    let odd = 0_u32.wrapping_sub(quadrant & 1);
    let (cos, sin) = (cos.to_bits(), sin.to_bits());
    let (across, up) = ((cos & !odd) | (sin & odd), (sin & !odd) | (cos & odd));
    let across_sign = ((quadrant + 1) & 2) << 30;
    let up_sign = (quadrant & 2) << 30;
    (
        f32::from_bits(across ^ across_sign),
        f32::from_bits(up ^ up_sign),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(dtype: DType, count: i64, seed: u64) -> Vec<f64> {
        Tensor::normal(dtype, &[count], seed).unwrap().to_f64()
    }

    #[test]
    fn normal_has_its_moments() {
        for dtype in [DType::F64, DType::F32, DType::F16] {
            let values = values(dtype, 300_000, 7);
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
            assert!(moment(3).abs() < 0.03, "third moment {}", moment(3));
            assert!((moment(4) - 3.0).abs() < 0.1, "fourth moment {}", moment(4));
            // Neighbours, the two of a pair among them, have nothing in common.
            for distance in [1, 2, 3] {
                let products = values.iter().zip(&values[distance..]).map(|(a, b)| a * b);
                let covariance = products.sum::<f64>() / n;
                assert!(covariance.abs() < 0.01, "covariance {covariance}");
            }
            // A third of the numbers lies beyond 1, one of 370 beyond 3.
            for (bound, share) in [(1.0, 0.3173), (2.0, 0.0455), (3.0, 0.0027)] {
                let beyond = values.iter().filter(|value| value.abs() > bound).count();
                assert!((beyond as f64 / n - share).abs() < 0.005, "beyond {bound}");
            }
        }
    }

    /// A change here changes every recorded result of a random test.
    #[test]
    fn the_same_bits_on_every_machine() {
        let bits = |dtype, of: fn(f64) -> u64| -> Vec<u64> {
            values(dtype, 4, 42).into_iter().map(of).collect()
        };
        assert_eq!(bits(DType::F64, f64::to_bits), EXPECTED_F64);
        assert_eq!(
            bits(DType::F32, |value| u64::from((value as f32).to_bits())),
            EXPECTED_F32
        );
    }

    const EXPECTED_F64: [u64; 4] = [
        4604650674109093668,
        4607806644636812404,
        4603363926003904817,
        4595628171530078509,
    ];
    const EXPECTED_F32: [u64; 4] = [1063218577, 3204824206, 1072871384, 1048735012];

    /// What an element is depends on its index, not on how much is drawn and by how many threads.
    #[test]
    fn parts_are_parts_of_the_whole() {
        for dtype in DType::ALL {
            let whole = Tensor::normal(dtype, &[3 * CHUNK as i64 + 7], 5).unwrap();
            let one = rayon::ThreadPoolBuilder::new()
                .num_threads(1)
                .build()
                .unwrap();
            let alone = one.install(|| Tensor::normal(dtype, &[3 * CHUNK as i64 + 7], 5).unwrap());
            assert_eq!(whole, alone, "{dtype}");
            for count in [1, 2, 3, BLOCK - 1, BLOCK + 1, CHUNK + 3] {
                let part = Tensor::normal(dtype, &[count as i64], 5).unwrap();
                assert_eq!(
                    part.bytes(),
                    &whole.bytes()[..count * dtype.size()],
                    "{dtype}"
                );
            }
        }
    }

    #[test]
    fn narrow_types_round_the_same_numbers() {
        let wide = values(DType::F32, 5000, 3);
        for dtype in [
            DType::F16,
            DType::BF16,
            DType::TF32,
            DType::F8E4M3,
            DType::F8E5M2,
        ] {
            let rounded = Tensor::from_f64(dtype, &[5000], &wide).unwrap();
            assert_eq!(
                Tensor::normal(dtype, &[5000], 3).unwrap(),
                rounded,
                "{dtype}"
            );
        }
        let scaled: Vec<f64> = wide.iter().map(|value| 16.0 * value).collect();
        let rounded = Tensor::from_f64(DType::I32, &[5000], &scaled).unwrap();
        assert_eq!(Tensor::normal(DType::I32, &[5000], 3).unwrap(), rounded);
    }

    #[test]
    fn seeds_and_blocks_differ() {
        let values = |seed| values(DType::F32, 2 * CHUNK as i64, seed);
        let (one, two) = (values(1), values(2));
        assert_ne!(one, two);
        assert_ne!(one[..CHUNK], one[CHUNK..]);
        // Seeds that follow each other are no shifts of each other.
        let shifted = one.windows(8).any(|window| window == &two[..8]);
        assert!(!shifted);
    }

    #[test]
    fn a_coin_falls_on_both_sides() {
        let ones: f64 = values(DType::Bool, 100_000, 1).iter().sum();
        assert!((49_000.0..51_000.0).contains(&ones), "{ones}");
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

    #[test]
    fn the_functions_are_what_they_are_called() {
        for at in 0..100_000_u32 {
            let x = ((at * 167) | 1) as f32 / 16_777_216.0;
            let exact = f64::from(x).ln();
            let error = (f64::from(log(x)) - exact).abs();
            assert!(error <= 2e-7 * exact.abs().max(1e-3), "log({x})");
            let turn = at.wrapping_mul(2_654_435_769);
            let angle = std::f64::consts::TAU * f64::from(turn) / 2f64.powi(32);
            let (cos, sin) = cos_sin(turn);
            // A quadrant begins an eighth of a circle before its middle.
            let (exact_sin, exact_cos) = (angle - std::f64::consts::FRAC_PI_4).sin_cos();
            assert!((f64::from(cos) - exact_cos).abs() < 2e-7, "cos of {turn}");
            assert!((f64::from(sin) - exact_sin).abs() < 2e-7, "sin of {turn}");
        }
    }
}
