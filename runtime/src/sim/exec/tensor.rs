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
//!
//! Where all exponents are ordinary, products are cut off by the conversion of an f32 to an integer: a product of two
//! factors of at most 12 bits is exact in an f32, and as a multiple of the unit below 2^27 ([`Addition::add_row`]). Other
//! rows are added by the definition, in f64 ([`Addition::add_any_row`]).

use std::ops::Range;

use wide::{f32x4, i16x8, i32x4};

use crate::sim::isa::{MmaAccumulator, MmaType};
use crate::sim::number::{F16, Rounding, canonical, round};

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
/// The exponent of infinities and NaN.
const SPECIAL: i16 = 128;
/// What a lesser largest exponent is taken for.
const LEAST_LARGEST: i16 = -133;
/// Largest exponents with which no f32 overflows, and what one rounds is cut off anyway.
const ORDINARY: Range<i16> = -100..121;
/// Lanes of a vector of f32.
const LANES: usize = 4;

/// Rows of A, by K; zeros behind their K.
pub(super) type RowValues = [[f32; LONGEST]; M];
/// Columns of B, by K.
pub(super) type ColumnValues = [[f32; LONGEST]; N];
/// C and D.
pub(super) type Sums = [[f32; N]; M];
/// C and D of integers, which have not been wrapped.
pub(super) type IntegerSums = [[i64; N]; M];

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
    /// How many groups so much K has.
    fn groups(&self, k: usize) -> usize {
        match self.by_groups {
            true => GROUPS,
            false => k.div_ceil(GROUP),
        }
    }

    fn of(instruction: Instruction, ty: MmaType) -> Arithmetic {
        let wide = Arithmetic {
            by_groups: false,
            kept: 25,
            mantissa: MANTISSA_OF_F32,
        };
        match instruction {
            _ if !ty.is_8_bit_float() => wide,
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

/// A, as [`multiply_add`] wants it. Large, and so used for one product after the other.
#[derive(Debug)]
pub(super) struct Rows {
    arithmetic: Arithmetic,
    /// As many groups as K needs.
    length: usize,
    groups: [RowGroup; GROUPS],
}

/// B, as [`multiply_add`] wants it.
pub(super) struct Columns {
    groups: [ColumnGroup; GROUPS],
}

/// Each value in all lanes, for all columns.
#[derive(Debug)]
struct RowGroup {
    values: [[f32x4; GROUP]; M],
    exponents: [[i16x8; GROUP]; M],
    /// Whether a row has infinities or NaN.
    special: [bool; M],
}

#[derive(Default)]
struct ColumnGroup {
    values: [[f32x4; N / LANES]; GROUP],
    exponents: [i16x8; GROUP],
    /// Whether there are infinities or NaN.
    special: bool,
}

/// The indices of K at the places of a group.
fn indices(instruction: Instruction, ty: MmaType, group: usize) -> [usize; GROUP] {
    match instruction {
        Instruction::Mma if ty.is_8_bit_float() => {
            std::array::from_fn(|k| k / 2 * 4 + group * 2 + k % 2)
        }
        Instruction::Mma | Instruction::Wgmma => std::array::from_fn(|k| group * GROUP + k),
    }
}

impl Rows {
    /// Of nothing yet.
    pub fn new() -> Box<Rows> {
        let group = || RowGroup {
            values: [[f32x4::ZERO; GROUP]; M],
            exponents: [[i16x8::ZERO; GROUP]; M],
            special: [false; M],
        };
        Box::new(Rows {
            arithmetic: Arithmetic::of(Instruction::Mma, MmaType::F16),
            length: 0,
            groups: [group(), group()],
        })
    }

    /// Makes it that of a type of A, with so much K.
    pub fn set(&mut self, instruction: Instruction, ty: MmaType, k: usize, rows: &RowValues) {
        self.arithmetic = Arithmetic::of(instruction, ty);
        self.length = self.arithmetic.groups(k);
        let least = least_of(instruction, ty);
        for (number, group) in self.groups[..self.length].iter_mut().enumerate() {
            let indices = indices(instruction, ty, number);
            for (row, values) in rows.iter().enumerate() {
                let values = indices.map(|k| values[k]);
                let exponents = values.map(|value| exponent(value, least));
                for k in 0..GROUP {
                    group.values[row][k] = f32x4::splat(values[k]);
                    group.exponents[row][k] = i16x8::splat(exponents[k]);
                }
                group.special[row] = exponents.contains(&SPECIAL);
            }
        }
    }

    fn groups(&self) -> &[RowGroup] {
        &self.groups[..self.length]
    }
}

impl Columns {
    /// Of a type of B, with so much K.
    pub fn new(instruction: Instruction, ty: MmaType, k: usize, columns: &ColumnValues) -> Columns {
        let least = least_of(instruction, ty);
        let mut groups: [ColumnGroup; GROUPS] = Default::default();
        let length = Arithmetic::of(instruction, ty).groups(k);
        for (number, group) in groups[..length].iter_mut().enumerate() {
            for (at, k) in indices(instruction, ty, number).into_iter().enumerate() {
                let values = columns.each_ref().map(|column| column[k]);
                let exponents = values.map(|value| exponent(value, least));
                group.values[at] = vectors(&values);
                group.exponents[at] = i16x8::new(exponents);
                group.special |= exponents.contains(&SPECIAL);
            }
        }
        Columns { groups }
    }
}

/// Makes D of C: adds the products of some rows of A and of B.
pub(super) fn multiply_add(
    a: &Rows,
    rows: Range<usize>,
    b: &Columns,
    accumulate: MmaAccumulator,
    c: &mut Sums,
) {
    let halves = match accumulate {
        MmaAccumulator::F16 => true,
        MmaAccumulator::F32 | MmaAccumulator::S32 | MmaAccumulator::F64 => false,
    };
    let add = |groups: Range<usize>, sums: &mut Sums| {
        let addition = Addition {
            arithmetic: a.arithmetic,
            halves,
            a: &a.groups()[groups.clone()],
            b: &b.groups[groups],
        };
        let all = sums.iter_mut().enumerate();
        for (row, sums) in all.skip(rows.start).take(rows.len()) {
            if !addition.add_row(row, sums) {
                addition.add_any_row(row, sums);
            }
        }
    };
    let groups = a.length;
    if !a.arithmetic.by_groups {
        return add(0..groups, c);
    }
    let mut products = [[0.0; N]; M];
    for group in 0..groups {
        add(group..group + 1, &mut products);
    }
    for (c, products) in c[rows.clone()].iter_mut().zip(&products[rows]) {
        for (c, product) in c.iter_mut().zip(products) {
            *c = canonical(*product + *c);
        }
    }
}

/// The same for integers.
pub(super) fn multiply_add_integers(
    a: &Rows,
    rows: Range<usize>,
    b: &Columns,
    c: &mut IntegerSums,
) {
    for (a, b) in a.groups().iter().zip(&b.groups) {
        let all = a.values.iter().zip(&mut *c);
        for (a, sums) in all.skip(rows.start).take(rows.len()) {
            let mut counts = [i32x4::ZERO; N / LANES];
            for (a, b) in a.iter().zip(&b.values) {
                for (count, b) in counts.iter_mut().zip(b) {
                    *count += (*a * *b).fast_trunc_int();
                }
            }
            let counts = counts.iter().flat_map(|count| *count.as_array());
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += i64::from(count);
            }
        }
    }
}

/// Groups of which the products are added to C at once.
struct Addition<'a> {
    arithmetic: Arithmetic,
    /// Whether sums are f16.
    halves: bool,
    a: &'a [RowGroup],
    b: &'a [ColumnGroup],
}

impl Addition<'_> {
    /// The least exponent of sums.
    fn least(&self) -> i16 {
        match self.halves {
            true => LEAST_OF_F16,
            false => LEAST_OF_F32,
        }
    }

    /// Adds the products of a row of A to C, where all is ordinary; says whether it is.
    #[inline]
    fn add_row(&self, row: usize, sums: &mut [f32; N]) -> bool {
        let Arithmetic { kept, mantissa, .. } = self.arithmetic;
        let least = self.least();
        let mut largest = i16x8::new(sums.map(|sum| exponent(sum, least)));
        let mut special = false;
        for (a, b) in self.a.iter().zip(self.b) {
            special |= b.special || a.special[row];
            for (&a, &b) in a.exponents[row].iter().zip(&b.exponents) {
                largest = largest.max(a + b);
            }
        }
        // Where C and a factor of each product are zero, as what lies beyond a tensor is, any exponent gives zero.
        let below = largest.simd_lt(i16x8::splat(ORDINARY.start))
            & largest.simd_gt(i16x8::splat(NO_EXPONENT / 2));
        let above = largest.simd_gt(i16x8::splat(ORDINARY.end - 1));
        if special || (below | above).any() {
            return false;
        }
        let largest = largest.max(i16x8::splat(ORDINARY.start));
        let largest: [i32; N] = largest.to_array().map(i32::from);
        // How many units a number is.
        let by: [f32; N] =
            largest.map(|largest| f32::from_bits(((127 + kept - largest) as u32) << 23));
        let by = vectors(&by);
        let sums_in_units = vectors(sums);
        // Eight products are below 2^30 units, and C below 2^26.
        let mut counts = [[i32x4::ZERO; N / LANES]; 2];
        for half in 0..N / LANES {
            counts[0][half] = (sums_in_units[half] * by[half]).fast_trunc_int();
        }
        for (a, b) in self.a.iter().zip(self.b) {
            for (k, (&a, b)) in a.values[row].iter().zip(&b.values).enumerate() {
                let counts = &mut counts[k % 2];
                for half in 0..N / LANES {
                    counts[half] += (a * b[half] * by[half]).fast_trunc_int();
                }
            }
        }
        let [even, odd] = counts.map(|counts| integers(&counts));
        let beyond = (1u64 << (f64::MANTISSA_DIGITS - 1 - mantissa)) - 1;
        for i in 0..N {
            let sum = (f64::from(even[i]) + f64::from(odd[i])) * power(largest[i] - kept);
            sums[i] = match self.halves {
                true => to_f16(sum),
                false => f64::from_bits(sum.to_bits() & !beyond) as f32,
            };
        }
        true
    }

    /// The same by the definition.
    #[cold]
    fn add_any_row(&self, row: usize, sums: &mut [f32; N]) {
        let Arithmetic { kept, mantissa, .. } = self.arithmetic;
        for (column, sum) in sums.iter_mut().enumerate() {
            let products = || {
                let groups = self.a.iter().zip(self.b);
                groups.flat_map(|(a, b)| (0..GROUP).map(move |k| (a, b, k)))
            };
            let exponents = products().map(|(a, b, k)| {
                a.exponents[row][k].as_array()[0] + b.exponents[k].as_array()[column]
            });
            let of_products = exponents.max().unwrap_or(NO_EXPONENT);
            let largest = exponent(*sum, self.least()).max(of_products);
            let unit = power(i32::from(largest.max(LEAST_LARGEST)) - kept);
            let mut added = cut(f64::from(*sum), unit);
            // A product of which a factor is zero is NaN, or nothing.
            for (a, b, k) in products() {
                let a = a.values[row][k].as_array()[0];
                let b = b.values[k][column / LANES].as_array()[column % LANES];
                added += cut(f64::from(a) * f64::from(b), unit);
            }
            *sum = match self.halves {
                true => to_f16(added),
                false => cut_to_f32(added, mantissa),
            };
        }
    }
}

fn vectors(values: &[f32; N]) -> [f32x4; N / LANES] {
    std::array::from_fn(|half| f32x4::new(std::array::from_fn(|i| values[half * LANES + i])))
}

fn integers(vectors: &[i32x4; N / LANES]) -> [i32; N] {
    std::array::from_fn(|i| vectors[i / LANES].as_array()[i % LANES])
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
#[inline(always)]
const fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// An f32 without the bits that it has no place for, with a mantissa of so many bits; an infinity from 2^128 on.
fn cut_to_f32(sum: f64, mantissa: u32) -> f32 {
    let near = sum as f32;
    let cut = match sum.abs() < power(128) && f64::from(near.abs()) > sum.abs() {
        true => f32::from_bits(near.to_bits() - 1),
        false => near,
    };
    let dropped = MANTISSA_OF_F32 - mantissa;
    match cut.is_nan() {
        true => canonical(cut),
        // Of zeros +0.
        false => f32::from_bits(cut.to_bits() >> dropped << dropped) + 0.0,
    }
}

fn to_f16(sum: f64) -> f32 {
    let bits = round(F16, sum, Rounding::Nearest, false);
    F16.decode(bits) as f32 + 0.0
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
            let values = rows;
            let mut rows = Rows::new();
            rows.set(mma, multiplicands[0], a.len(), &values);
            let columns = Columns::new(mma, multiplicands[1], a.len(), &columns);
            let accumulate = match types[2] {
                "f16" => MmaAccumulator::F16,
                _ => MmaAccumulator::F32,
            };
            let mut sums = [[0.0; N]; M];
            sums[3][5] = number(types[2], c) as f32;
            multiply_add(&rows, 0..M, &columns, accumulate, &mut sums);
            let (found, expected) = (sums[3][5], number(types[2], d) as f32);
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
        let values = rows;
        let mut rows = Rows::new();
        rows.set(wgmma, MmaType::E5m2, LONGEST, &values);
        let columns = Columns::new(wgmma, MmaType::E4m3, LONGEST, &columns);
        let mut sums = [[0.0; N]; M];
        sums[7][2] = c as f32;
        multiply_add(&rows, 0..M, &columns, accumulate, &mut sums);
        sums[7][2].into()
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

    /// A number with a random sign and mantissa of `bits`, of an exponent in a range; at times zero.
    fn random_number(next: &mut impl FnMut() -> u32, bits: u32, exponents: Range<i32>) -> f32 {
        let (random, length) = (next(), exponents.len() as u32);
        let exponent = exponents.start + (next() % length) as i32;
        let mantissa = (random >> 9) >> (23 - bits) << (23 - bits);
        match random % 16 {
            0 => 0.0,
            _ => f32::from_bits(random << 31 | ((exponent + 127) as u32) << 23 | mantissa),
        }
    }

    const ROW_OF_ZEROS: usize = 2;
    const COLUMN_OF_ZEROS: usize = 6;

    #[test]
    fn ordinary_rows_are_added_as_any() {
        let mut state = 1u64;
        let mut next = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 32) as u32
        };
        let cases = [
            (MmaType::Bf16, MmaAccumulator::F32, 7, -4..5),
            (MmaType::Bf16, MmaAccumulator::F32, 7, -60..60),
            (MmaType::Bf16, MmaAccumulator::F32, 7, -100..60),
            (MmaType::F16, MmaAccumulator::F32, 10, -14..16),
            (MmaType::F16, MmaAccumulator::F16, 10, -7..7),
            (MmaType::Tf32, MmaAccumulator::F32, 10, -50..61),
            (MmaType::E5m2, MmaAccumulator::F32, 2, -14..16),
        ];
        for (ty, accumulate, bits, exponents) in cases {
            let halves = accumulate == MmaAccumulator::F16;
            for instruction in [Instruction::Mma, Instruction::Wgmma] {
                let (mut a, mut b) = ([[0.0; LONGEST]; M], [[0.0; LONGEST]; N]);
                for value in a.as_flattened_mut().iter_mut().chain(b.as_flattened_mut()) {
                    *value = random_number(&mut next, bits, exponents.clone());
                }
                // As what lies beyond a tensor.
                (a[ROW_OF_ZEROS], b[COLUMN_OF_ZEROS]) = ([0.0; LONGEST], [-0.0; LONGEST]);
                let mut rows = Rows::new();
                rows.set(instruction, ty, GROUP, &a);
                let columns = Columns::new(instruction, ty, GROUP, &b);
                let addition = Addition {
                    arithmetic: rows.arithmetic,
                    halves,
                    a: &rows.groups[..1],
                    b: &columns.groups[..1],
                };
                let mut ordinary = 0;
                for row in 0..M {
                    let bits = if halves { 10 } else { 23 };
                    let mut c = [(); N].map(|()| random_number(&mut next, bits, exponents.clone()));
                    c[COLUMN_OF_ZEROS] = -0.0;
                    if row == ROW_OF_ZEROS {
                        c = [0.0; N];
                    }
                    let (mut quick, mut slow) = (c, c);
                    let is_ordinary = addition.add_row(row, &mut quick);
                    assert!(is_ordinary || row != ROW_OF_ZEROS);
                    if is_ordinary {
                        addition.add_any_row(row, &mut slow);
                        assert_eq!(quick.map(f32::to_bits), slow.map(f32::to_bits), "{c:?}");
                        ordinary += 1;
                    }
                }
                assert!(ordinary > 0, "{ty:?} {exponents:?}");
            }
        }
    }
}
