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
//!
//! `wgmma` adds as the `mma` with the longest K does, but for 8-bit floats, which it has hardware for: all 32 products
//! and C are cut off 13 bits below the largest exponent, and a sum in f32 keeps 13 bits behind its leading one. This is
//! the model of MMA-Sim (Xie, Wang, Yang and Yang, arXiv:2511.10909), found on an H100.

use std::ops::Range;

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
/// Bits of the mantissa of an f32.
const MANTISSA_OF_F32: u32 = 23;
/// A little less than half: what is less by it, and then rounded to nearest, is cut off.
const ALMOST_HALF: f64 = 0.5 - power(-26);
/// The exponent of zero: below any other, also the sum of two such.
const NO_EXPONENT: i16 = -8192;
/// What a lesser largest exponent is taken for.
const LEAST_LARGEST: i16 = -133;

/// Rows of A, by K; zeros behind their K.
pub(super) type RowValues = [[f32; LONGEST]; M];
/// Columns of B, by K.
pub(super) type ColumnValues = [[f32; LONGEST]; N];
/// C and D.
pub(super) type Sums = [[f64; N]; M];

/// The instruction that multiplies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instruction {
    Mma,
    Wgmma,
}

/// How the products of an instruction and a type are added.
#[derive(Debug, Clone, Copy)]
struct Arithmetic {
    /// Whether each group is added by itself, to zero, and the sum to C by `add.f32`.
    by_groups: bool,
    /// Bits below the largest exponent that are kept.
    kept: i32,
    /// Bits of the mantissa of a sum in f32.
    mantissa: u32,
}

impl Arithmetic {
    fn of(instruction: Instruction, ty: MmaType) -> Arithmetic {
        let is_8_bit_float = match ty {
            MmaType::E4m3 | MmaType::E5m2 => true,
            MmaType::F16
            | MmaType::Bf16
            | MmaType::Tf32
            | MmaType::S4
            | MmaType::U4
            | MmaType::S8
            | MmaType::U8
            | MmaType::F64 => false,
        };
        let wide = Arithmetic {
            by_groups: false,
            kept: 25,
            mantissa: MANTISSA_OF_F32,
        };
        match instruction {
            _ if !is_8_bit_float => wide,
            Instruction::Mma => Arithmetic {
                by_groups: true,
                ..wide
            },
            Instruction::Wgmma => Arithmetic {
                kept: 13,
                mantissa: 13,
                ..wide
            },
        }
    }
}

/// A, as [`multiply_add`] wants it.
pub(super) struct Rows {
    arithmetic: Arithmetic,
    /// Length of K.
    length: usize,
    groups: [RowGroup; GROUPS],
}

/// B, as [`multiply_add`] wants it.
pub(super) struct Columns {
    groups: [ColumnGroup; GROUPS],
}

#[derive(Default)]
struct RowGroup {
    values: [[f64; GROUP]; M],
    exponents: [[i16; GROUP]; M],
    /// Whether a row has infinities or NaN.
    special: [bool; M],
}

#[derive(Default)]
struct ColumnGroup {
    values: [[f64; N]; GROUP],
    exponents: [[i16; N]; GROUP],
    /// Whether there are infinities or NaN.
    special: bool,
}

/// The group of an index of K, and its place there.
fn place(instruction: Instruction, ty: MmaType, k: usize) -> (usize, usize) {
    match ty {
        MmaType::E4m3 | MmaType::E5m2 if instruction == Instruction::Mma => {
            (k / 2 % 2, k / 4 * 2 + k % 2)
        }
        MmaType::E4m3 | MmaType::E5m2 => (k / GROUP, k % GROUP),
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

impl Rows {
    /// Of a type of A, with so much K.
    pub fn new(instruction: Instruction, ty: MmaType, k: usize, values: &RowValues) -> Rows {
        let mut groups: [RowGroup; GROUPS] = Default::default();
        let least = least_of(instruction, ty);
        for (row, values) in values.iter().enumerate() {
            for (k, &value) in values[..k].iter().enumerate() {
                let (group, k) = place(instruction, ty, k);
                let group = &mut groups[group];
                group.values[row][k] = f64::from(value);
                group.exponents[row][k] = exponent(value, least);
                group.special[row] |= !value.is_finite();
            }
        }
        Rows {
            arithmetic: Arithmetic::of(instruction, ty),
            length: k,
            groups,
        }
    }
}

impl Columns {
    /// Of a type of B, with so much K.
    pub fn new(instruction: Instruction, ty: MmaType, k: usize, values: &ColumnValues) -> Columns {
        let mut groups: [ColumnGroup; GROUPS] = Default::default();
        let least = least_of(instruction, ty);
        for (column, values) in values.iter().enumerate() {
            for (k, &value) in values[..k].iter().enumerate() {
                let (group, k) = place(instruction, ty, k);
                let group = &mut groups[group];
                group.values[k][column] = f64::from(value);
                group.exponents[k][column] = exponent(value, least);
                group.special |= !value.is_finite();
            }
        }
        Columns { groups }
    }
}

/// Makes D of C: adds the products of A and B.
pub(super) fn multiply_add(a: &Rows, b: &Columns, accumulate: MmaAccumulator, c: &mut Sums) {
    match accumulate {
        MmaAccumulator::S32 => add_exactly(a, b, c),
        MmaAccumulator::F16 | MmaAccumulator::F32 | MmaAccumulator::F64
            if a.arithmetic.by_groups =>
        {
            let mut products = [[0.0; N]; M];
            for group in 0..GROUPS {
                add_groups(a, b, group..group + 1, accumulate, &mut products);
            }
            for (c, product) in c.iter_mut().flatten().zip(products.iter().flatten()) {
                *c = f64::from(*product as f32 + *c as f32);
            }
        }
        MmaAccumulator::F16 | MmaAccumulator::F32 | MmaAccumulator::F64 => {
            let groups = a.length.div_ceil(GROUP);
            add_groups(a, b, 0..groups, accumulate, c);
        }
    }
}

/// Integers: f64 holds every sum.
fn add_exactly(a: &Rows, b: &Columns, c: &mut Sums) {
    for (a, b) in a.groups.iter().zip(&b.groups) {
        for (sums, a) in c.iter_mut().zip(&a.values) {
            for (a, b) in a.iter().zip(&b.values) {
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum += a * b;
                }
            }
        }
    }
}

/// Adds the products of several groups to C at once.
fn add_groups(
    a: &Rows,
    b: &Columns,
    groups: Range<usize>,
    accumulate: MmaAccumulator,
    c: &mut Sums,
) {
    let halves = match accumulate {
        MmaAccumulator::F16 => true,
        MmaAccumulator::F32 | MmaAccumulator::S32 | MmaAccumulator::F64 => false,
    };
    let least = if halves { LEAST_OF_F16 } else { LEAST_OF_F32 };
    let Arithmetic { kept, mantissa, .. } = a.arithmetic;
    let k = a.length.min(GROUP);
    let (a, b) = (&a.groups[groups.clone()], &b.groups[groups]);
    for (row, sums) in c.iter_mut().enumerate() {
        let (mut largest, mut special) = ([LEAST_LARGEST; N], false);
        for (largest, &sum) in largest.iter_mut().zip(&*sums) {
            *largest = exponent(sum as f32, least).max(*largest);
            special |= !sum.is_finite();
        }
        for (a, b) in a.iter().zip(b) {
            special |= b.special || a.special[row];
            for (&a, b) in a.exponents[row][..k].iter().zip(&b.exponents) {
                for (largest, b) in largest.iter_mut().zip(b) {
                    *largest = (a + b).max(*largest);
                }
            }
        }
        let mut units = [0.0; N];
        for (unit, largest) in units.iter_mut().zip(largest) {
            *unit = power(i32::from(largest) - kept);
        }
        let add = if special { add_special_row } else { add_row };
        // What has been added is in units, and is added to further products as it is.
        for (a, b) in a.iter().zip(b) {
            add(&a.values[row][..k], &b.values[..k], &units, sums);
        }
        for sum in sums {
            *sum = if halves {
                to_f16(*sum)
            } else {
                cut_to_f32(*sum, mantissa)
            };
        }
    }
}

/// Adds the products of a row of A to C, each cut off to units.
///
/// A number that is added to 2^52 units, and a half of them, has its units in the lower bits of the sum; so the bits
/// are added up, without the 2^52 in each.
fn add_row(a: &[f64], b: &[[f64; N]], units: &[f64; N], sums: &mut [f64; N]) {
    /// Columns at a time, for which the registers of a processor suffice.
    const HALF: usize = N / 2;
    for (half, sums) in sums.chunks_exact_mut(HALF).enumerate() {
        let first = half * HALF;
        let (mut shifts, mut halves, mut counts) = ([0.0; HALF], [0.0; HALF], [0u64; HALF]);
        for i in 0..HALF {
            shifts[i] = units[first + i] * (1.5 * power(52));
            halves[i] = units[first + i] * ALMOST_HALF;
            counts[i] = (sums[i] - halves[i].copysign(sums[i]) + shifts[i]).to_bits();
        }
        for (&a, b) in a.iter().zip(b) {
            let mut shifted = [0.0; HALF];
            for i in 0..HALF {
                let product = a * b[first + i];
                shifted[i] = product - halves[i].copysign(product) + shifts[i];
            }
            for i in 0..HALF {
                counts[i] = counts[i].wrapping_add(shifted[i].to_bits());
            }
        }
        let products = a.len() as u64;
        for i in 0..HALF {
            let surplus = shifts[i].to_bits().wrapping_mul(products);
            sums[i] = f64::from_bits(counts[i].wrapping_sub(surplus)) - shifts[i];
        }
    }
}

/// The same with infinities and NaN.
#[cold]
fn add_special_row(a: &[f64], b: &[[f64; N]], units: &[f64; N], sums: &mut [f64; N]) {
    for (sum, &unit) in sums.iter_mut().zip(units) {
        *sum = cut(*sum, unit);
    }
    for (a, b) in a.iter().zip(b) {
        for ((sum, b), &unit) in sums.iter_mut().zip(b).zip(units) {
            *sum += cut(a * b, unit);
        }
    }
}

/// `value` without what is beyond a multiple of `unit`. It has at most 24 bits, and is below 2^27 units.
fn cut(value: f64, unit: f64) -> f64 {
    // Rounds to multiples of the unit when added and subtracted again.
    let shift = unit * 1.5 * power(52);
    let half = unit * ALMOST_HALF;
    (((value.abs() - half) + shift) - shift).copysign(value)
}

const LEAST_OF_E4M3: i16 = -6;
const LEAST_OF_F16: i16 = -14;
const LEAST_OF_F32: i16 = -126;

/// The least exponent of a type; `mma` handles 8-bit floats as f16.
fn least_of(instruction: Instruction, ty: MmaType) -> i16 {
    match ty {
        MmaType::Bf16 | MmaType::Tf32 => LEAST_OF_F32,
        MmaType::E4m3 if instruction == Instruction::Wgmma => LEAST_OF_E4M3,
        MmaType::F16 | MmaType::E4m3 | MmaType::E5m2 => LEAST_OF_F16,
        // Exponents of integers and f64 are not asked for.
        MmaType::S4 | MmaType::U4 | MmaType::S8 | MmaType::U8 | MmaType::F64 => LEAST_OF_F16,
    }
}

/// The exponent of a number of a type whose least exponent is `least`.
#[inline]
fn exponent(value: f32, least: i16) -> i16 {
    let bits = value.to_bits();
    let exponent = (bits >> 23 & 0xff) as i16 - 127;
    match bits << 1 {
        0 => NO_EXPONENT,
        _ => exponent.max(least),
    }
}

/// A power of two that f64 has as a normal number.
const fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// An f32 without the bits that it has no place for, with a mantissa of so many bits; an infinity from 2^128 on.
#[inline]
fn cut_to_f32(sum: f64, mantissa: u32) -> f64 {
    let near = sum as f32;
    let cut = match sum.abs() < power(128) && f64::from(near.abs()) > sum.abs() {
        true => f32::from_bits(near.to_bits() - 1),
        false => near,
    };
    let dropped = MANTISSA_OF_F32 - mantissa;
    let cut = match cut.is_nan() {
        true => cut,
        false => f32::from_bits(cut.to_bits() >> dropped << dropped),
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
            let (mut rows, mut columns) = ([[0.0; LONGEST]; M], [[0.0; LONGEST]; N]);
            for (k, (a, b)) in a.iter().zip(&b).enumerate() {
                rows[3][k] = number(types[0], a) as f32;
                columns[5][k] = number(types[1], b) as f32;
            }
            let mma = Instruction::Mma;
            let rows = Rows::new(mma, multiplicands[0], a.len(), &rows);
            let columns = Columns::new(mma, multiplicands[1], a.len(), &columns);
            let accumulate = match types[2] {
                "f16" => MmaAccumulator::F16,
                _ => MmaAccumulator::F32,
            };
            let mut sums = [[0.0; N]; M];
            sums[3][5] = number(types[2], c);
            multiply_add(&rows, &columns, accumulate, &mut sums);
            let (found, expected) = (sums[3][5], number(types[2], d));
            let same = match expected.is_nan() {
                true => found.is_nan(),
                false => found.to_bits() == expected.to_bits(),
            };
            assert!(same, "{line}: found {found:e}, expected {expected:e}");
        }
    }

    /// One sum of `wgmma` on 8-bit floats, with these factors at the first places of K, and zeros behind.
    fn sum_of_8_bit_floats(accumulate: MmaAccumulator, factors: &[(f32, f32)], c: f64) -> f64 {
        let (mut rows, mut columns) = ([[0.0; LONGEST]; M], [[0.0; LONGEST]; N]);
        for (k, &(a, b)) in factors.iter().enumerate() {
            (rows[7][k], columns[2][k]) = (a, b);
        }
        let wgmma = Instruction::Wgmma;
        let rows = Rows::new(wgmma, MmaType::E5m2, LONGEST, &rows);
        let columns = Columns::new(wgmma, MmaType::E4m3, LONGEST, &columns);
        let mut sums = [[0.0; N]; M];
        sums[7][2] = c;
        multiply_add(&rows, &columns, accumulate, &mut sums);
        sums[7][2]
    }

    #[test]
    fn wgmma_keeps_13_bits_of_8_bit_floats() {
        let sum = |factors: &[(f32, f32)], c| {
            let in_f32 = sum_of_8_bit_floats(MmaAccumulator::F32, factors, c);
            let in_f16 = sum_of_8_bit_floats(MmaAccumulator::F16, factors, c);
            (in_f32, in_f16)
        };
        let small = |exponent: i32| (power(exponent) as f32, 1.0);
        // The last bit that is kept, of a product and of C, and those that are cut off.
        let (last, beyond) = (power(-13), power(-14));
        assert_eq!(sum(&[(1.0, 1.0), small(-13)], 0.0), (1.0 + last, 1.0));
        assert_eq!(sum(&[(1.0, 1.0), small(-14), small(-14)], 0.0), (1.0, 1.0));
        assert_eq!(sum(&[(1.0, 1.0), (-power(-14) as f32, 1.0)], 0.0).0, 1.0);
        assert_eq!(sum(&[(1.0, 1.0)], last + beyond).0, 1.0 + last);
        assert_eq!(sum(&[], 1.0 + last + beyond).0, 1.0 + last);
        // All 32 products and C are added at once: what cancels does not decide what is kept of the rest.
        let mut products = [(0.0, 0.0); LONGEST];
        (products[0], products[31]) = ((1.0, 1.0), (-1.0, 1.0));
        (products[3], products[17]) = (small(-14), small(-13));
        assert_eq!(sum(&products, 0.0), (last, last));
        // The largest exponent is that of factors: 1.5 · 1.5 counts as 1; the sum keeps 13 bits below its own.
        assert_eq!(sum(&[(1.5, 1.5), small(-13)], 0.0).0, 2.25);
        assert_eq!(
            sum(&[(1.5, 1.5), small(-13), small(-13)], 0.0).0,
            2.25 + 2.0 * last
        );
        // A denormal number of E4M3 has the exponent -6.
        assert_eq!(sum(&[(1.0, power(-9) as f32)], power(-20)).0, power(-9));
        // Sums in f16 are rounded to nearest.
        assert_eq!(
            sum(&[(1.0, 1.0), small(-11), small(-12)], 0.0).1,
            1.0 + power(-10)
        );
    }
}
