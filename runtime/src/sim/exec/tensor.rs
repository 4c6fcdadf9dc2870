//! How tensor cores add the products of `mma`, as measured on an H200: every bit of
//! `test-suite/gpu/mma.py` is the same there.
//!
//! Products are exact. All products of a group and C are cut off, towards zero, 25 bits below the largest
//! exponent among them, and added exactly; the sum is cut off to an f32, or rounded to an f16. The exponent
//! of a product is the sum of its factors' exponents, whether their significands carry or not; a denormal
//! number has the least exponent of its type; what is zero has none. A largest exponent below -133 counts as
//! that. A sum of zero is +0. A group is all of the K of an atom.
//!
//! Atoms of 8-bit floats are two groups of f16, those of the lower halves of the registers first, the result
//! of the first being the C of the second; their own C is added at the end, as by `add.f32`.

use crate::sim::isa::{MmaAccumulator, MmaType};
use crate::sim::number::{F16, Rounding, round};

/// Columns of B and D.
pub(super) const N: usize = 8;
/// Rows of A and D.
pub(super) const M: usize = 16;
/// Most products of a group.
const GROUP: usize = 16;
/// Groups of them.
const GROUPS: usize = 2;
/// Longest K of which the products are added at once.
pub(super) const LONGEST: usize = GROUP * GROUPS;
/// Bits below the largest exponent that are kept.
const KEPT: i32 = 25;
/// The exponent of zero: below any other, also the sum of two such.
const NO_EXPONENT: i16 = -8192;
/// What a lesser largest exponent is taken for.
const LEAST_LARGEST: i16 = -133;

/// A and B: zeros but for what is written to them.
pub(super) struct Factors {
    /// Types of A and B.
    types: [MmaType; 2],
    /// Length of K, or of its part in a group.
    k: usize,
    /// By group, row and column.
    a: [[[f64; GROUP]; M]; GROUPS],
    /// By group, row and column.
    b: [[[f64; N]; GROUP]; GROUPS],
}

impl Factors {
    pub fn new(types: [MmaType; 2], k: usize) -> Factors {
        Factors {
            types,
            k: k.min(GROUP),
            a: [[[0.0; GROUP]; M]; GROUPS],
            b: [[[0.0; N]; GROUP]; GROUPS],
        }
    }

    /// An element of A.
    pub fn a(&mut self, row: usize, k: usize) -> &mut f64 {
        let (group, k) = self.place(k);
        &mut self.a[group][row][k]
    }

    /// Negates all of A.
    pub fn negate_a(&mut self) {
        for a in self.a.iter_mut().flatten().flatten() {
            *a = -*a;
        }
    }

    /// An element of B.
    pub fn b(&mut self, k: usize, column: usize) -> &mut f64 {
        let (group, k) = self.place(k);
        &mut self.b[group][k][column]
    }

    /// The group of an index, and its place there.
    fn place(&self, k: usize) -> (usize, usize) {
        match self.types[0] {
            MmaType::E4m3 | MmaType::E5m2 => (k / 2 % 2, k / 4 * 2 + k % 2),
            MmaType::F16
            | MmaType::Bf16
            | MmaType::Tf32
            | MmaType::S4
            | MmaType::U4
            | MmaType::S8
            | MmaType::U8
            | MmaType::F64 => (k / GROUP, k % GROUP),
        }
    }

    /// Makes D of C.
    pub fn multiply_add(&self, accumulate: MmaAccumulator, c: &mut [[f64; N]; M]) {
        match (self.types[0], accumulate) {
            (_, MmaAccumulator::S32) => self.add_exactly(c),
            (MmaType::E4m3 | MmaType::E5m2, _) => {
                let mut products = [[0.0; N]; M];
                self.add_group(0, accumulate, &mut products);
                self.add_group(1, accumulate, &mut products);
                for (c, product) in c.iter_mut().flatten().zip(products.iter().flatten()) {
                    *c = f64::from(*product as f32 + *c as f32);
                }
            }
            _ => self.add_group(0, accumulate, c),
        }
    }

    /// Integers: f64 holds every sum.
    fn add_exactly(&self, c: &mut [[f64; N]; M]) {
        for (a, b) in self.a.iter().zip(&self.b) {
            for (sums, a) in c.iter_mut().zip(a) {
                for (a, b) in a.iter().zip(b) {
                    for (sum, b) in sums.iter_mut().zip(b) {
                        *sum += a * b;
                    }
                }
            }
        }
    }

    fn add_group(&self, group: usize, accumulate: MmaAccumulator, c: &mut [[f64; N]; M]) {
        let [a_exponents, b_exponents] = self.types.map(exponents_of);
        let b = &self.b[group][..self.k];
        let mut columns = [[NO_EXPONENT; GROUP]; N];
        for (k, b) in b.iter().enumerate() {
            for (column, &b) in columns.iter_mut().zip(b) {
                column[k] = exponent(b, b_exponents);
            }
        }
        let (c_exponents, store): (_, fn(f64) -> f64) = match accumulate {
            MmaAccumulator::F16 => (&OF_F16, to_f16),
            MmaAccumulator::F32 | MmaAccumulator::S32 | MmaAccumulator::F64 => {
                (&OF_F32, cut_to_f32)
            }
        };
        for (a, c) in self.a[group].iter().zip(c) {
            let row = a.map(|a| exponent(a, a_exponents));
            let mut units = [0.0; N];
            for ((unit, column), &c) in units.iter_mut().zip(&columns).zip(&*c) {
                let mut largest = exponent(c, c_exponents).max(LEAST_LARGEST);
                for (a, b) in row.iter().zip(column) {
                    largest = largest.max(a + b);
                }
                *unit = power(i32::from(largest) - KEPT);
            }
            add_row(&a[..self.k], b, &units, c);
            *c = c.map(store);
        }
    }
}

/// Adds the products of a row of A to C, each cut off to units; exact in f64.
fn add_row(a: &[f64], b: &[[f64; N]], units: &[f64; N], c: &mut [f64; N]) {
    /// Columns at a time, for which the registers of a processor suffice.
    const HALF: usize = N / 2;
    for (half, sums) in c.chunks_exact_mut(HALF).enumerate() {
        let first = half * HALF;
        let units: [f64; HALF] = std::array::from_fn(|i| units[first + i]);
        for (sum, unit) in sums.iter_mut().zip(units) {
            *sum = cut(*sum, unit);
        }
        for (a, b) in a.iter().zip(b) {
            for i in 0..HALF {
                sums[i] += cut(a * b[first + i], units[i]);
            }
        }
    }
}

/// `value` without what is beyond a multiple of `unit`. It has at most 24 bits, and is below 2^27 units.
fn cut(value: f64, unit: f64) -> f64 {
    // Rounds to multiples of the unit when added and subtracted again.
    let shift = unit * 1.5 * power(52);
    // A little less than half a unit: then rounding to nearest cuts off.
    let half = unit * (0.5 - power(-26));
    (((value.abs() - half) + shift) - shift).copysign(value)
}

/// The exponent of a number by the field of its exponent in f64.
type Exponents = [i16; 2048];

static OF_F16: Exponents = exponents(-14);
static OF_F32: Exponents = exponents(-126);

/// Of a type whose least exponent is `least`; infinities and NaN have that of f32.
const fn exponents(least: i16) -> Exponents {
    let mut table = [NO_EXPONENT; 2048];
    let mut field = 1;
    while field < table.len() {
        let exponent = field as i16 - 1023;
        table[field] = match exponent {
            _ if exponent < least => least,
            _ if exponent > 128 => 128,
            _ => exponent,
        };
        field += 1;
    }
    table
}

/// 8-bit floats are handled as f16.
fn exponents_of(ty: MmaType) -> &'static Exponents {
    match ty {
        MmaType::Bf16 | MmaType::Tf32 => &OF_F32,
        MmaType::F16 | MmaType::E4m3 | MmaType::E5m2 => &OF_F16,
        // Integers and f64 are not added here.
        MmaType::S4 | MmaType::U4 | MmaType::S8 | MmaType::U8 | MmaType::F64 => &OF_F16,
    }
}

fn exponent(value: f64, exponents: &Exponents) -> i16 {
    exponents[(value.to_bits() >> 52 & 0x7ff) as usize]
}

/// A power of two that f64 has as a normal number.
const fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// An f32 without the bits that it has no place for; an infinity from 2^128 on.
fn cut_to_f32(sum: f64) -> f64 {
    let near = sum as f32;
    let cut = match sum.abs() < power(128) && f64::from(near.abs()) > sum.abs() {
        true => f32::from_bits(near.to_bits() - 1),
        false => near,
    };
    positive_zero(f64::from(cut))
}

fn to_f16(sum: f64) -> f64 {
    let bits = round(F16, sum, Rounding::Nearest, false);
    positive_zero(F16.decode(bits))
}

fn positive_zero(sum: f64) -> f64 {
    if sum == 0.0 { 0.0 } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::number::{BF16, E4M3, E5M2, F32};

    fn number(name: &str, bits: &str) -> f64 {
        let bits = u64::from_str_radix(bits, 16).expect("a number");
        match name {
            "f16" => F16.decode(bits),
            "bf16" => BF16.decode(bits),
            "tf32" => F32.decode(bits & !0x1fff),
            "e4m3" => E4M3.decode(bits),
            "e5m2" => E5M2.decode(bits),
            _ => F32.decode(bits),
        }
    }

    fn multiplicand(name: &str) -> MmaType {
        match name {
            "f16" => MmaType::F16,
            "bf16" => MmaType::Bf16,
            "tf32" => MmaType::Tf32,
            "e4m3" => MmaType::E4m3,
            _ => MmaType::E5m2,
        }
    }

    /// Rows of A, columns of B, C and D in hexadecimal, as an H200 computed them: a sample of what
    /// `test-suite/gpu/mma.py` compares, mostly of sums that are not the exact ones rounded to nearest.
    #[test]
    fn sums_are_those_of_an_h200() {
        for line in include_str!("../tests/mma_h200.txt").lines() {
            let parts: Vec<&str> = line.split("; ").collect();
            let [types, a, b, c, d] = parts[..] else {
                panic!("{line}");
            };
            let types: Vec<&str> = types.split(' ').collect();
            let (a, b): (Vec<&str>, Vec<&str>) = (a.split(' ').collect(), b.split(' ').collect());
            let multiplicands = [multiplicand(types[0]), multiplicand(types[1])];
            let mut factors = Factors::new(multiplicands, a.len());
            for (k, (a, b)) in a.iter().zip(&b).enumerate() {
                *factors.a(3, k) = number(types[0], a);
                *factors.b(k, 5) = number(types[1], b);
            }
            let accumulate = match types[2] {
                "f16" => MmaAccumulator::F16,
                _ => MmaAccumulator::F32,
            };
            let mut sums = [[0.0; N]; M];
            sums[3][5] = number(types[2], c);
            factors.multiply_add(accumulate, &mut sums);
            let (found, expected) = (sums[3][5], number(types[2], d));
            let same = match expected.is_nan() {
                true => found.is_nan(),
                false => found.to_bits() == expected.to_bits(),
            };
            assert!(same, "{line}: found {found:e}, expected {expected:e}");
        }
    }
}
