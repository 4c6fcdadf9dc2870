//! `ldmatrix`, `stmatrix`, `mma` and `wgmma`: how matrices are spread over the lanes of a warp.
//!
//! With `group = lane / 4` and `place = lane % 4`, and elements packed into registers from the low
//! bits up (PTX ISA 9.7.14.5, figures of each shape), `p` being how many elements fill 32 bits:
//!
//! - 8×8 tiles of 16 bits: lane holds row `group`, columns `2·place` and `2·place + 1`.
//! - A, register `r`: row `group + 8·(r % 2)`, columns `p·place + 4·p·(r / 2)` and on.
//! - B, register `r`: rows `p·place + 4·p·r` and on, column `group`.
//! - C and D: element `i` of a lane is at row `group + 8·(i / 2)`, column `2·place + i % 2`.
//!
//! A warp's 16 rows of `wgmma` are those of `mma` for eight columns after eight.

use std::ops::Range;

use super::Fault;
use super::cta::Cta;
use super::descriptor;
use super::fault_at;
use super::shared::value;
use super::tensor::{
    ColumnValues, Columns, Instruction, IntegerSums, LONGEST, M, N, RowValues, Rows, Sums,
    multiply_add, multiply_add_integers,
};
use super::touch::Touch;
use super::warp::Warp;
use crate::sim::Space;
use crate::sim::error::{Act, ErrorKind};
use crate::sim::isa::{
    Address, Mma, MmaAccumulator, MmaType, Order, Proxy, SHARED_WINDOW, Wgmma, WgmmaA,
};
use crate::sim::lane::{Dst, Src, WARP, Words};
use crate::sim::number::{E4M3, E5M2, F16, Rounding, bf16_to_f32, f16_to_f32, round};

/// Bytes of a row of an 8×8 tile.
const ROW: u32 = 16;
/// Most registers of D.
const REGISTERS: usize = 4;

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

    pub(super) fn load_matrix(
        &mut self,
        cta: &mut Cta<'_>,
        dsts: &[Dst],
        address: &Address,
        transpose: bool,
    ) -> Result<(), Fault> {
        let rows = self.row_addresses(address, dsts.len())?;
        touch_rows(cta, Act::Read, &rows)?;
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
        touch_rows(cta, Act::Write, &rows)?;
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

    /// `mma`: D = A·B + C, as [`super::tensor`] adds.
    pub(super) fn multiply(&mut self, rows: &mut Rows, mma: &Mma) {
        if mma.accumulate == MmaAccumulator::F64 {
            return self.multiply_f64(mma);
        }
        let mut sums = [[0; WARP]; REGISTERS];
        for (words, &src) in sums.iter_mut().zip(&mma.c) {
            *words = self.registers.words_of(src);
        }
        // Only integers have a longer K, which are added in any order.
        let parts = mma.k.div_ceil(LONGEST);
        let registers_of_b = mma.b.chunks(mma.b.len() / parts);
        let operands = mma.a.chunks(mma.a.len() / parts).zip(registers_of_b);
        let mut totals = Totals::of(mma.accumulate, &sums);
        for (a, b) in operands {
            let (instruction, k) = (Instruction::Mma, mma.k / parts);
            let a = a.iter().map(|&src| self.registers.words_of(src));
            rows.set(
                instruction,
                mma.multiplicands,
                k,
                &rows_of(mma.multiplicands, a),
            );
            let columns = Columns::new(instruction, mma.b_type, k, &self.columns_of(mma, b));
            totals.add(rows, &columns);
        }
        totals.store(mma.saturate, &mut sums);
        for (words, &dst) in sums.iter().zip(&mma.d) {
            self.registers.set_words(dst, u32::MAX, words);
        }
    }

    /// `wgmma`, for the 16 rows of D that this warp has: `a` are those of A where they are in shared memory, `b`
    /// the columns of B.
    pub(super) fn multiply_rows(
        &mut self,
        rows: &mut Rows,
        wgmma: &Wgmma,
        a: Option<&[[u8; descriptor::ROW]]>,
        b: &[Columns],
        scale_d: bool,
    ) {
        self.set_rows_of_a(rows, wgmma, a);
        let registers = wgmma.d.len() * N / wgmma.n;
        for (d, columns) in wgmma.d.chunks(registers).zip(b) {
            let mut totals = self.totals(wgmma, d, scale_d);
            totals.add(rows, columns);
            self.store_totals(wgmma, d, &totals);
        }
    }

    /// The same with a sparse A, of which each row has its own elements of B: `b` are the columns of B in two blocks along
    /// K, `metadata` tells which elements these are. They are added as in a product that is dense.
    pub(super) fn multiply_sparse_rows(
        &mut self,
        rows: &mut Rows,
        wgmma: &Wgmma,
        a: Option<&[[u8; descriptor::ROW]]>,
        b: &[Vec<[u8; descriptor::ROW]>],
        metadata: &Words,
        scale_d: bool,
    ) {
        let [ty, ty_of_b] = wgmma.multiplicands;
        self.set_rows_of_a(rows, wgmma, a);
        let k = k_of(ty);
        let selector = wgmma.sparse.map_or(0, |sparse| sparse.selector);
        let places: [[usize; LONGEST]; M] = std::array::from_fn(|row| {
            std::array::from_fn(|at| {
                if at < k {
                    place(ty, metadata, selector, row, at)
                } else {
                    0
                }
            })
        });
        let registers = wgmma.d.len() * N / wgmma.n;
        for (eight, d) in wgmma.d.chunks(registers).enumerate() {
            let mut whole = [[0.0; 2 * LONGEST]; N];
            for (block, bytes) in b.iter().enumerate() {
                for (column, bytes) in whole.iter_mut().zip(&bytes[N * eight..]) {
                    let mut part = [0.0; LONGEST];
                    row_elements(ty_of_b, bytes, &mut part);
                    column[block * k..][..k].copy_from_slice(&part[..k]);
                }
            }
            let mut totals = self.totals(wgmma, d, scale_d);
            for (row, places) in places.iter().enumerate() {
                let columns = whole.map(|column| places.map(|place| column[place]));
                let columns = Columns::new(Instruction::Wgmma, ty_of_b, k, &columns);
                totals.add_rows(rows, row..row + 1, &columns);
            }
            self.store_totals(wgmma, d, &totals);
        }
    }

    /// Makes `rows` those of A.
    fn set_rows_of_a(&self, rows: &mut Rows, wgmma: &Wgmma, a: Option<&[[u8; descriptor::ROW]]>) {
        let [ty, _] = wgmma.multiplicands;
        let mut values = [[0.0; LONGEST]; M];
        match (a, &wgmma.a) {
            (Some(a), _) => {
                for (row, bytes) in values.iter_mut().zip(a) {
                    row_elements(ty, bytes, row);
                }
            }
            (None, WgmmaA::Registers(slots)) => {
                let slots = slots
                    .iter()
                    .map(|&slot| self.registers.words[slot as usize]);
                values = rows_of(ty, slots);
            }
            (None, WgmmaA::Shared(_)) => {}
        }
        let [negate_a, negate_b] = wgmma.negate;
        if negate_a != negate_b {
            for value in values.as_flattened_mut() {
                *value = -*value;
            }
        }
        rows.set(Instruction::Wgmma, ty, k_of(ty), &values);
    }

    /// D of eight columns before a product.
    fn totals(&self, wgmma: &Wgmma, d: &[u32], scale_d: bool) -> Totals {
        let mut sums = [[0; WARP]; REGISTERS];
        if scale_d {
            for (words, &slot) in sums.iter_mut().zip(d) {
                *words = self.registers.words[slot as usize];
            }
        }
        Totals::of(wgmma.accumulate, &sums)
    }

    fn store_totals(&mut self, wgmma: &Wgmma, d: &[u32], totals: &Totals) {
        let mut sums = [[0; WARP]; REGISTERS];
        totals.store(wgmma.saturate, &mut sums);
        for (words, &slot) in sums.iter().zip(d) {
            self.registers.words[slot as usize] = *words;
        }
    }

    /// What registers hold of B.
    fn columns_of(&self, mma: &Mma, b: &[Src]) -> ColumnValues {
        let mut columns = [[0.0; LONGEST]; N];
        let packed = 32 / element_bits(mma.multiplicands);
        for (register, &src) in b.iter().enumerate() {
            let words = self.registers.words_of(src);
            for i in 0..packed {
                let values = elements(mma.b_type, &words, i);
                for (lane, value) in values.into_iter().enumerate() {
                    let row = packed * (lane % 4) + 4 * packed * register + i;
                    columns[lane / 4][row] = value;
                }
            }
        }
        columns
    }

    /// f64: a register of A has eight rows and four columns, an element a lane, row `group`, column `place`; with 16 rows the upper
    /// and the lower eight take turns. B is the transpose of that, eight columns.
    fn multiply_f64(&mut self, mma: &Mma) {
        let values = |sources: &[Src]| -> Vec<[f64; WARP]> {
            let values = |&src| self.registers.wides_of(src).map(f64::from_bits);
            sources.iter().map(values).collect()
        };
        let (a, b, c) = (values(&mma.a), values(&mma.b), values(&mma.c));
        let halves = 4 * mma.a.len() / mma.k;
        for (i, &dst) in mma.d.iter().enumerate() {
            let fragment = std::array::from_fn(|lane| {
                let (row, column) = accumulator_element(lane, i);
                let product = |sum, k: usize| {
                    let a = a[halves * (k / 4) + row / 8][4 * (row % 8) + k % 4];
                    fused_multiply_add(a, b[k / 4][4 * column + k % 4], sum)
                };
                (0..mma.k).fold(c[i][lane], product).to_bits()
            });
            self.registers.set_wides(dst, u32::MAX, &fragment);
        }
    }
}

/// Each tile is a pass of its own when its rows lie in different banks, as are eight lanes of any
/// access of 16 bytes.
fn touch_rows(cta: &mut Cta<'_>, act: Act, rows: &[(usize, u64)]) -> Result<(), Fault> {
    let mut addresses = [0; WARP];
    let mut mask = 0;
    for &(lane, at) in rows {
        addresses[lane] = at;
        mask |= 1 << lane;
    }
    cta.touch(&Touch {
        space: Space::Shared,
        act,
        order: Order::WEAK,
        proxy: Proxy::Generic,
        addresses: &addresses,
        bytes: ROW,
        mask,
        changed: u32::MAX,
    })
}

/// `fma` on f64. Of several NaN an H200 hands on that of B, else that of the sum, as quiet ones.
fn fused_multiply_add(a: f64, b: f64, sum: f64) -> f64 {
    const QUIET: u64 = 1 << 51;
    match [b, sum].into_iter().find(|value| value.is_nan()) {
        Some(nan) => f64::from_bits(nan.to_bits() | QUIET),
        None => f64::mul_add(a, b, sum),
    }
}

/// What registers hold of A.
fn rows_of(ty: MmaType, a: impl Iterator<Item = Words>) -> RowValues {
    let mut rows = [[0.0; LONGEST]; M];
    let packed = 32 / element_bits(ty);
    for (register, words) in a.enumerate() {
        for i in 0..packed {
            let values = elements(ty, &words, i);
            for (lane, value) in values.into_iter().enumerate() {
                let column = packed * (lane % 4) + 4 * packed * (register / 2) + i;
                rows[lane / 4 + 8 * (register % 2)][column] = value;
            }
        }
    }
    rows
}

/// B of `wgmma`, eight columns after eight.
pub(super) fn columns_of(wgmma: &Wgmma, b: &[[u8; descriptor::ROW]]) -> Vec<Columns> {
    let [_, ty] = wgmma.multiplicands;
    let eight = |bytes: &[[u8; descriptor::ROW]]| {
        let mut columns = [[0.0; LONGEST]; N];
        for (column, bytes) in columns.iter_mut().zip(bytes) {
            row_elements(ty, bytes, column);
        }
        Columns::new(Instruction::Wgmma, ty, k_of(ty), &columns)
    };
    b.chunks(N).map(eight).collect()
}

/// The lanes that have metadata of a sparse A: a pair of each four, of 8 bits all.
pub(super) fn lanes_of_metadata(ty: MmaType, selector: usize) -> impl Iterator<Item = usize> {
    let all = element_bits(ty) == 8;
    (0..WARP).filter(move |lane| all || lane / 2 % 2 == selector)
}

/// Where element number `at` of a row of a sparse A belongs along K (PTX ISA 9.7.15.6.2; CuTe, `ELayout_64x32` and its like).
///
/// A chunk of A has four elements and two that are there, of tf32 two and one, and four bits of metadata. Eight chunks fill a
/// word. Of 16 and 32 bits the first lane of a pair has the first half of K, in its lower half that of row `group`, in its
/// upper one that of row `group + 8`. Of 8 bits the lanes of even number have row `group`, the others `group + 8`; the
/// first two of each four have the first half of K.
fn place(ty: MmaType, metadata: &Words, selector: usize, row: usize, at: usize) -> usize {
    let (group, below) = (row % 8, row / 8);
    let of_chunk = if ty == MmaType::Tf32 { 1 } else { 2 };
    let (chunk, index) = (at / of_chunk, at % of_chunk);
    let (lane, first) = match element_bits(ty) {
        8 => (below + 2 * (chunk / 8), chunk % 8),
        _ => (2 * selector + chunk / 4, chunk % 4 + 4 * below),
    };
    let bits = metadata[4 * group + lane] >> (4 * first) & 0xf;
    match ty {
        MmaType::Tf32 => 2 * chunk + (bits >> 3) as usize,
        _ => 4 * chunk + (bits >> (2 * index) & 3) as usize,
    }
}

/// K of `wgmma`, of which a row has 256 bits; of a sparse one what there is of A.
fn k_of(ty: MmaType) -> usize {
    8 * descriptor::ROW / element_bits(ty)
}

/// The elements of a row of an operand of `wgmma`.
fn row_elements(ty: MmaType, bytes: &[u8; descriptor::ROW], to: &mut [f32; LONGEST]) {
    let mut each = |bytes_of_one: usize, decode: fn(u32) -> f32| {
        for (to, bytes) in to.iter_mut().zip(bytes.chunks_exact(bytes_of_one)) {
            *to = decode(value(bytes) as u32);
        }
    };
    match ty {
        MmaType::F16 => each(2, |bits| element(MmaType::F16, bits, 0)),
        MmaType::Bf16 => each(2, |bits| element(MmaType::Bf16, bits, 0)),
        MmaType::Tf32 => each(4, |bits| element(MmaType::Tf32, bits, 0)),
        MmaType::S8 => each(1, |bits| element(MmaType::S8, bits, 0)),
        MmaType::U8 => each(1, |bits| element(MmaType::U8, bits, 0)),
        MmaType::E4m3 => each(1, |bits| element(MmaType::E4m3, bits, 0)),
        MmaType::E5m2 => each(1, |bits| element(MmaType::E5m2, bits, 0)),
        // No `wgmma` has them.
        MmaType::S4 | MmaType::U4 | MmaType::F64 => {}
    }
}

/// C and D of eight columns.
#[expect(
    clippy::large_enum_variant,
    reason = "one at a time, on the stack of a loop that must not allocate"
)]
enum Totals {
    F16(Sums),
    F32(Sums),
    S32(IntegerSums),
}

impl Totals {
    /// What registers hold of C.
    fn of(accumulate: MmaAccumulator, c: &[Words; REGISTERS]) -> Totals {
        let words = |row, pair| {
            let lane = lane_of(row, pair);
            registers_of(row).map(|register| c[register][lane])
        };
        match accumulate {
            MmaAccumulator::F16 => Totals::F16(tile_of(|row, pair| {
                let word = c[row / 8][lane_of(row, pair)];
                [word as u16, (word >> 16) as u16].map(f16_to_f32)
            })),
            MmaAccumulator::F32 | MmaAccumulator::F64 => {
                Totals::F32(tile_of(|row, pair| words(row, pair).map(f32::from_bits)))
            }
            MmaAccumulator::S32 => Totals::S32(tile_of(|row, pair| {
                words(row, pair).map(|word| i64::from(word as i32))
            })),
        }
    }

    /// Adds products.
    fn add(&mut self, a: &Rows, b: &Columns) {
        self.add_rows(a, 0..M, b);
    }

    /// Adds those of some rows.
    fn add_rows(&mut self, a: &Rows, rows: Range<usize>, b: &Columns) {
        match self {
            Totals::F16(sums) => multiply_add(a, rows, b, MmaAccumulator::F16, sums),
            Totals::F32(sums) => multiply_add(a, rows, b, MmaAccumulator::F32, sums),
            Totals::S32(sums) => multiply_add_integers(a, rows, b, sums),
        }
    }

    /// Makes registers hold D, of which integers are wrapped or saturated.
    fn store(&self, saturate: bool, d: &mut [Words; REGISTERS]) {
        match self {
            Totals::F16(sums) => {
                let half = |sum: f32| round(F16, sum.into(), Rounding::Nearest, false) as u32;
                for_pairs(sums, |row, pair, sums| {
                    let [even, odd] = sums.map(half);
                    d[row / 8][lane_of(row, pair)] = even | odd << 16;
                });
            }
            Totals::F32(sums) => for_pairs(sums, |row, pair, sums| {
                for (register, sum) in registers_of(row).into_iter().zip(sums) {
                    d[register][lane_of(row, pair)] = sum.to_bits();
                }
            }),
            Totals::S32(sums) => for_pairs(sums, |row, pair, sums| {
                for (register, sum) in registers_of(row).into_iter().zip(sums) {
                    d[register][lane_of(row, pair)] = match saturate {
                        true => sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32,
                        false => sum as u32,
                    };
                }
            }),
        }
    }
}

/// C, of which each lane has pairs of neighbouring elements.
fn tile_of<T: Copy>(pair_of: impl Fn(usize, usize) -> [T; 2]) -> [[T; N]; M] {
    std::array::from_fn(|row| {
        let pairs: [[T; 2]; N / 2] = std::array::from_fn(|pair| pair_of(row, pair));
        std::array::from_fn(|column| pairs[column / 2][column % 2])
    })
}

/// Calls a function with each pair of neighbouring elements, and its row and place there.
fn for_pairs<T: Copy>(sums: &[[T; N]; M], mut each: impl FnMut(usize, usize, [T; 2])) {
    for (row, sums) in sums.iter().enumerate() {
        let (pairs, _) = sums.as_chunks();
        for (pair, sums) in pairs.iter().enumerate() {
            each(row, pair, *sums);
        }
    }
}

/// The registers that hold the elements of a row in even and in odd columns, where each holds one.
fn registers_of(row: usize) -> [usize; 2] {
    let first = row / 8 * 2;
    [first, first + 1]
}

/// The lane that has a pair of elements.
fn lane_of(row: usize, pair: usize) -> usize {
    row % 8 * 4 + pair
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
        MmaType::S4 | MmaType::U4 => 4,
        MmaType::S8 | MmaType::U8 | MmaType::E4m3 | MmaType::E5m2 => 8,
    }
}

/// Element `i` of each lane's word.
fn elements(ty: MmaType, words: &Words, i: usize) -> [f32; WARP] {
    match ty {
        MmaType::F16 => words.map(|word| element(MmaType::F16, word, i)),
        MmaType::Bf16 => words.map(|word| element(MmaType::Bf16, word, i)),
        MmaType::Tf32 => words.map(|word| element(MmaType::Tf32, word, i)),
        MmaType::S4 => words.map(|word| element(MmaType::S4, word, i)),
        MmaType::U4 => words.map(|word| element(MmaType::U4, word, i)),
        MmaType::S8 => words.map(|word| element(MmaType::S8, word, i)),
        MmaType::U8 => words.map(|word| element(MmaType::U8, word, i)),
        MmaType::E4m3 => words.map(|word| element(MmaType::E4m3, word, i)),
        MmaType::E5m2 => words.map(|word| element(MmaType::E5m2, word, i)),
        MmaType::F64 => [0.0; WARP],
    }
}

/// Element `i` of a word, which f32 has exactly.
#[inline]
fn element(ty: MmaType, word: u32, i: usize) -> f32 {
    let half = || (word >> (16 * i)) as u16;
    let byte = || (word >> (8 * i)) as u8;
    let nibble = || (word >> (4 * i)) as u8 & 0xf;
    match ty {
        MmaType::F16 => f16_to_f32(half()),
        MmaType::Bf16 => bf16_to_f32(half()),
        // The upper 19 bits of the register.
        MmaType::Tf32 => f32::from_bits(word & !0x1fff),
        MmaType::S4 => ((nibble() << 4) as i8 >> 4).into(),
        MmaType::U4 => nibble().into(),
        MmaType::S8 => (byte() as i8).into(),
        MmaType::U8 => byte().into(),
        MmaType::E4m3 => E4M3.decode(byte().into()) as f32,
        MmaType::E5m2 => E5M2.decode(byte().into()) as f32,
        MmaType::F64 => 0.0,
    }
}
