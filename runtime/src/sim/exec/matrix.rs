//! `ldmatrix`, `stmatrix` and `mma`: how matrices are spread over the lanes of a warp.
//!
//! With `group = lane / 4` and `place = lane % 4`, and elements packed into registers from the low
//! bits up (PTX ISA 9.7.14.5, figures of each shape), `p` being how many elements fill 32 bits:
//!
//! - 8×8 tiles of 16 bits: lane holds row `group`, columns `2·place` and `2·place + 1`.
//! - A, register `r`: row `group + 8·(r % 2)`, columns `p·place + 4·p·(r / 2)` and on.
//! - B, register `r`: rows `p·place + 4·p·r` and on, column `group`.
//! - C and D: element `i` of a lane is at row `group + 8·(i / 2)`, column `2·place + i % 2`.

use super::Fault;
use super::cta::Cta;
use super::fault_at;
use super::shared::value;
use super::warp::Warp;
use crate::sim::Space;
use crate::sim::error::ErrorKind;
use crate::sim::isa::{Address, Mma, MmaAccumulator, MmaType, SHARED_WINDOW};
use crate::sim::lane::{Dst, Registers, Src, WARP, Words};
use crate::sim::number::{E4M3, E5M2, F16, Rounding, bf16_to_f32, canonical, f16_to_f32, round};

/// Bytes of a row of an 8×8 tile.
const ROW: u32 = 16;
/// Columns of B and D.
const N: usize = 8;

/// Row and column of the two elements that a lane holds of an 8×8 tile, as
/// `(row, column)` in the tile as it lies in memory.
fn tile_elements(lane: usize, transpose: bool) -> [(usize, usize); 2] {
    let (group, place) = (lane / 4, lane % 4);
    [2 * place, 2 * place + 1].map(|column| {
        if transpose {
            (column, group)
        } else {
            (group, column)
        }
    })
}

impl Warp {
    /// The shared addresses of the rows of tile `tile`: those in lanes `8·tile` and on.
    fn row_addresses(&self, address: &Address, tiles: usize) -> Result<Vec<(usize, u64)>, Fault> {
        let addresses = self.addresses(address);
        (0..8 * tiles)
            .map(
                |lane| match (address.space, addresses[lane].checked_sub(SHARED_WINDOW)) {
                    (Space::Generic, Some(shared)) => Ok((lane, shared)),
                    (Space::Generic, None) => {
                        let expected = "an address in shared memory".to_owned();
                        let kind = ErrorKind::Value {
                            what: "address of a matrix row",
                            expected,
                            found: addresses[lane],
                        };
                        Err(fault_at(lane)(kind))
                    }
                    _ => Ok((lane, addresses[lane])),
                },
            )
            .collect()
    }

    fn count_rows(cta: &mut Cta<'_>, rows: &[(usize, u64)]) {
        // Each tile is a pass of its own when its rows lie in different banks.
        for tile in rows.chunks(8) {
            let mut addresses = [0; WARP];
            for (i, &(_, at)) in tile.iter().enumerate() {
                addresses[i] = at;
            }
            cta.count_shared(&addresses, ROW, 0xff);
        }
    }

    pub(super) fn load_matrix(
        &mut self,
        cta: &mut Cta<'_>,
        dsts: &[Dst],
        address: &Address,
        transpose: bool,
    ) -> Result<(), Fault> {
        let rows = self.row_addresses(address, dsts.len())?;
        Self::count_rows(cta, &rows);
        for (tile, &dst) in rows.chunks_exact(8).zip(dsts) {
            let mut elements = [[0u16; 8]; 8];
            for (row, &(lane, at)) in elements.iter_mut().zip(tile) {
                let bytes = cta.shared.read(at, ROW).map_err(fault_at(lane))?;
                for (element, bytes) in row.iter_mut().zip(bytes.chunks_exact(2)) {
                    *element = value(bytes) as u16;
                }
            }
            let fragment: Words = std::array::from_fn(|lane| {
                let [low, high] = tile_elements(lane, transpose)
                    .map(|(row, column)| u32::from(elements[row][column]));
                low | high << 16
            });
            self.registers.set_words(dst, u32::MAX, &fragment);
        }
        Ok(())
    }

    pub(super) fn store_matrix(
        &mut self,
        cta: &mut Cta<'_>,
        srcs: &[Src],
        address: &Address,
        transpose: bool,
    ) -> Result<(), Fault> {
        let rows = self.row_addresses(address, srcs.len())?;
        Self::count_rows(cta, &rows);
        for (tile, &src) in rows.chunks_exact(8).zip(srcs) {
            let fragment = self.registers.words_of(src);
            let mut elements = [[0u16; 8]; 8];
            for (lane, word) in fragment.into_iter().enumerate() {
                for (half, (row, column)) in tile_elements(lane, transpose).into_iter().enumerate()
                {
                    elements[row][column] = (word >> (16 * half)) as u16;
                }
            }
            for (row, &(lane, at)) in elements.iter().zip(tile) {
                let bytes = cta.shared.write(at, ROW).map_err(fault_at(lane))?;
                for (element, bytes) in row.iter().zip(bytes.chunks_exact_mut(2)) {
                    bytes.copy_from_slice(&element.to_le_bytes());
                }
            }
        }
        Ok(())
    }

    /// `mma`: D = A·B + C.
    pub(super) fn multiply(&mut self, mma: &Mma) {
        match mma.accumulate {
            MmaAccumulator::S32 => self.multiply_integers(mma),
            MmaAccumulator::F64 => self.multiply_f64(mma),
            _ => self.multiply_floats(mma),
        }
    }

    /// Sums the exact products and C in f64, and rounds once.
    fn multiply_floats(&mut self, mma: &Mma) {
        let mut a = [[0f64; 32]; 16];
        let mut b = [[0f64; N]; 32];
        // Products are exact: two f16 or bf16 have 22 bits at most, two TF32 as many.
        each_a(&self.registers, mma, |row, column, bits| {
            a[row][column] = float(mma.multiplicands, bits)
        });
        each_b(&self.registers, mma, |row, column, bits| {
            b[row][column] = float(mma.b_type, bits)
        });
        let halves = mma.accumulate == MmaAccumulator::F16;
        let mut sums = [[0f64; N]; 16];
        for (register, &src) in mma.c.iter().enumerate() {
            for (lane, word) in self.registers.words_of(src).into_iter().enumerate() {
                let mut set = |i, value: f32| {
                    let (row, column) = accumulator_element(lane, i);
                    sums[row][column] = value.into();
                };
                if halves {
                    set(2 * register, f16_to_f32(word as u16));
                    set(2 * register + 1, f16_to_f32((word >> 16) as u16));
                } else {
                    set(register, f32::from_bits(word));
                }
            }
        }
        for (sums, a) in sums.iter_mut().zip(&a) {
            for (a, b) in a[..mma.k].iter().zip(&b) {
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum += a * b;
                }
            }
        }
        for (register, &dst) in mma.d.iter().enumerate() {
            let fragment: Words = std::array::from_fn(|lane| {
                let sum = |i| {
                    let (row, column) = accumulator_element(lane, i);
                    sums[row][column]
                };
                let half = |i| round(F16, sum(i), Rounding::Nearest, false) as u32;
                match halves {
                    true => half(2 * register) | half(2 * register + 1) << 16,
                    false => canonical(sum(register) as f32).to_bits(),
                }
            });
            self.registers.set_words(dst, u32::MAX, &fragment);
        }
    }

    fn multiply_integers(&mut self, mma: &Mma) {
        let mut a = [[0i32; 32]; 16];
        let mut b = [[0i32; N]; 32];
        let integer = |ty, bits: u32| {
            if ty == MmaType::S8 {
                bits as i8 as i32
            } else {
                bits as u8 as i32
            }
        };
        each_a(&self.registers, mma, |row, column, bits| {
            a[row][column] = integer(mma.multiplicands, bits)
        });
        each_b(&self.registers, mma, |row, column, bits| {
            b[row][column] = integer(mma.b_type, bits)
        });
        let fragments: Vec<Words> = mma
            .c
            .iter()
            .map(|&src| self.registers.words_of(src))
            .collect();
        for (i, &dst) in mma.d.iter().enumerate() {
            let fragment: Words = std::array::from_fn(|lane| {
                let (row, column) = accumulator_element(lane, i);
                let c = i64::from(fragments[i][lane] as i32);
                let sum = (0..mma.k).fold(c, |sum, k| sum + i64::from(a[row][k] * b[k][column]));
                match mma.saturate {
                    true => sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32,
                    false => sum as u32,
                }
            });
            self.registers.set_words(dst, u32::MAX, &fragment);
        }
    }

    /// `m8n8k4`: A has an element a lane, row `group`, column `place`; B the transpose of that.
    fn multiply_f64(&mut self, mma: &Mma) {
        let bits = |src: Src, registers: &Registers| registers.wides_of(src).map(f64::from_bits);
        let (a, b) = (
            bits(mma.a[0], &self.registers),
            bits(mma.b[0], &self.registers),
        );
        let c: Vec<_> = mma
            .c
            .iter()
            .map(|&src| bits(src, &self.registers))
            .collect();
        for (i, &dst) in mma.d.iter().enumerate() {
            let fragment = std::array::from_fn(|lane| {
                let (row, column) = accumulator_element(lane, i);
                let sum = (0..mma.k).fold(c[i][lane], |sum, k| {
                    a[4 * row + k].mul_add(b[4 * column + k], sum)
                });
                sum.to_bits()
            });
            self.registers.set_wides(dst, u32::MAX, &fragment);
        }
    }
}

/// Row and column of an element of C or D.
fn accumulator_element(lane: usize, i: usize) -> (usize, usize) {
    (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2)
}

fn element_bits(ty: MmaType) -> usize {
    match ty {
        MmaType::F16 | MmaType::Bf16 => 16,
        MmaType::Tf32 => 32,
        MmaType::F64 => 64,
        _ => 8,
    }
}

fn split(word: u32, bits: usize, i: usize) -> u32 {
    (u64::from(word) >> (bits * i) & ((1u64 << bits) - 1)) as u32
}

/// Calls `put(row, column, bits)` for each element of A.
fn each_a(registers: &Registers, mma: &Mma, mut put: impl FnMut(usize, usize, u32)) {
    let bits = element_bits(mma.multiplicands);
    let packed = 32 / bits;
    for (r, &src) in mma.a.iter().enumerate() {
        let words = registers.words_of(src);
        for (lane, &word) in words.iter().enumerate() {
            let row = lane / 4 + 8 * (r % 2);
            let column = packed * (lane % 4) + 4 * packed * (r / 2);
            for i in 0..packed {
                put(row, column + i, split(word, bits, i));
            }
        }
    }
}

/// Calls `put(row, column, bits)` for each element of B.
fn each_b(registers: &Registers, mma: &Mma, mut put: impl FnMut(usize, usize, u32)) {
    let bits = element_bits(mma.b_type);
    let packed = 32 / bits;
    for (r, &src) in mma.b.iter().enumerate() {
        let words = registers.words_of(src);
        for (lane, &word) in words.iter().enumerate() {
            let row = packed * (lane % 4) + 4 * packed * r;
            for i in 0..packed {
                put(row + i, lane / 4, split(word, bits, i));
            }
        }
    }
}

/// The value of an element. TF32 takes the upper 19 bits of its register.
fn float(ty: MmaType, bits: u32) -> f64 {
    match ty {
        MmaType::F16 => f16_to_f32(bits as u16).into(),
        MmaType::Bf16 => bf16_to_f32(bits as u16).into(),
        MmaType::Tf32 => f32::from_bits(bits & !0x1fff).into(),
        MmaType::E4m3 => E4M3.decode(bits.into()),
        MmaType::E5m2 => E5M2.decode(bits.into()),
        _ => 0.0,
    }
}
