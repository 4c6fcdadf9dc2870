//! Matrix descriptors of `wgmma` (PTX ISA 9.7.15.5.1): where in shared memory the elements of an operand are.
//!
//! An operand is read in chunks of 16 bytes. K-major, row `r` of a matrix (a row of A, a column of B) has two
//! chunks of 32 bytes of K together; MN-major, each of 16 k has a chunk for eight rows. With `w` bytes of the
//! swizzle's span, 16 without a swizzle, chunks are at these distances from the start:
//!
//! | | K-major: row `r`, chunk `c` | MN-major: `k`, chunk `c` |
//! |---|---|---|
//! | no swizzle | `r % 8 · 16 + r / 8 · stride + c · leading` | `k % 8 · 16 + k / 8 · leading + c · stride` |
//! | swizzled | `r % 8 · w + r / 8 · stride + c · 16` | `k % 8 · w + k / 8 · stride + c % (w / 16) · 16 + c / (w / 16) · leading` |
//!
//! A swizzle acts on the address: to its number of the chunk in a span it adds, bit by bit, the number of the
//! 128 bytes that it lies in.

use super::shared::Bytes;
use crate::sim::error::ErrorKind;

/// Bytes of a chunk.
pub(super) const CHUNK: usize = 16;
/// Bytes of a row: those of K of one instruction. B of a sparse one has two such blocks of K.
pub(super) const ROW: usize = 32;
/// Elements of 16 bits in a chunk.
const ELEMENTS: usize = CHUNK / 2;
/// K of MN-major operands, which have 16 bits.
const DEPTH: usize = ROW / 2;

/// Bits of a descriptor that have no meaning.
const RESERVED: u64 = 0x3ff1_c000_c000_c000;

/// Swizzles by their code: the bytes of a span.
const SPANS: [u64; 4] = [16, 128, 64, 32];

/// An operand in shared memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matrix {
    /// `A` or `B`.
    operand: char,
    descriptor: u64,
    start: u64,
    leading: u64,
    stride: u64,
    base_offset: u64,
    span: u64,
    mn_major: bool,
    /// Rows of A, columns of B.
    rows: usize,
    /// Blocks of [`ROW`] bytes along K.
    blocks: usize,
}

impl Matrix {
    /// What a descriptor means for an operand, which errors name.
    pub fn new(
        operand: char,
        descriptor: u64,
        mn_major: bool,
        rows: usize,
        blocks: usize,
    ) -> Result<Matrix, ErrorKind> {
        let bits = |first: u32, count: u32| descriptor >> first & ((1 << count) - 1);
        let wrong = |what, expected: String, found: String| ErrorKind::Descriptor {
            operand,
            descriptor,
            what,
            expected,
            found,
        };
        if descriptor & RESERVED != 0 {
            let found = format!("{:#x}", descriptor & RESERVED);
            return Err(wrong(
                "bits 14, 15, 30, 31, 46 to 48 and 52 to 61",
                "zeros: addresses and offsets are divided by 16".to_owned(),
                found,
            ));
        }
        let matrix = Matrix {
            operand,
            descriptor,
            start: bits(0, 14) << 4,
            leading: bits(16, 14) << 4,
            stride: bits(32, 14) << 4,
            base_offset: bits(49, 3),
            span: SPANS[bits(62, 2) as usize],
            mn_major,
            rows,
            blocks,
        };
        // Eight spans are a pattern. Where it starts at a multiple of its size, the base offset is 0.
        let lines = matrix.span / CHUNK as u64;
        let line = matrix.start >> 7 & (lines - 1);
        if line != matrix.base_offset & (lines - 1) {
            let expected = format!(
                "a multiple of {} bytes, or {line} as base offset",
                8 * matrix.span
            );
            let found = format!(
                "{:#x} with base offset {}",
                matrix.start, matrix.base_offset
            );
            return Err(wrong("start of a swizzle's pattern", expected, found));
        }
        let bytes = (ROW * blocks) as u64;
        if !mn_major && matrix.span > CHUNK as u64 && matrix.span < bytes {
            let expected = format!("at least the {bytes} bytes of K that it reads");
            return Err(wrong(
                "span of a swizzle",
                expected,
                matrix.span.to_string(),
            ));
        }
        Ok(matrix)
    }

    fn swizzled(&self, address: u64) -> u64 {
        let lines = self.span / CHUNK as u64;
        address ^ ((address >> 7).wrapping_sub(self.base_offset) & (lines - 1)) << 4
    }

    /// The address of a chunk of a row, K-major.
    fn of_row(&self, row: usize, chunk: usize) -> u64 {
        let (row, chunk) = (row as u64, chunk as u64);
        let of_chunk = match self.span {
            16 => self.leading,
            _ => 16,
        };
        self.swizzled(self.start + row % 8 * self.span + row / 8 * self.stride + chunk * of_chunk)
    }

    /// The address of a chunk at a k, MN-major.
    fn of_k(&self, k: usize, chunk: usize) -> u64 {
        let (k, chunk) = (k as u64, chunk as u64);
        let chunks = self.span / CHUNK as u64;
        let (of_k, of_span) = match self.span {
            16 => (self.leading, self.stride),
            _ => (self.stride, self.leading),
        };
        self.swizzled(
            self.start
                + k % 8 * self.span
                + k / 8 * of_k
                + chunk % chunks * 16
                + chunk / chunks * of_span,
        )
    }

    /// The addresses of the chunks of rows; where they are MN-major, the rows are a multiple of eight.
    pub fn chunks(&self, rows: std::ops::Range<usize>) -> Vec<u64> {
        match self.mn_major {
            false => {
                let chunks = 0..self.blocks * ROW / CHUNK;
                rows.flat_map(|row| chunks.clone().map(move |chunk| self.of_row(row, chunk)))
                    .collect()
            }
            true => {
                let chunks = rows.start / ELEMENTS..rows.end / ELEMENTS;
                (0..self.blocks * DEPTH)
                    .flat_map(|k| chunks.clone().map(move |chunk| (k, chunk)))
                    .map(|(k, chunk)| self.of_k(k, chunk))
                    .collect()
            }
        }
    }

    /// All bytes of rows must be there.
    pub fn check(&self, shared: &Bytes, rows: std::ops::Range<usize>) -> Result<(), ErrorKind> {
        for address in self.chunks(rows) {
            shared
                .read(address, CHUNK as u32)
                .map_err(|error| self.outside(address, error))?;
        }
        Ok(())
    }

    /// What is out of shared memory is a fault of the descriptor.
    #[cold]
    fn outside(&self, address: u64, error: ErrorKind) -> ErrorKind {
        match error {
            ErrorKind::OutOfBounds { object, .. } => ErrorKind::Descriptor {
                operand: self.operand,
                descriptor: self.descriptor,
                what: "chunk of 16 bytes",
                expected: "one in shared memory".to_owned(),
                found: format!("shared address {address:#x}: {object}"),
            },
            other => other,
        }
    }

    /// Reads all rows of a block along K, unchecked: its bytes in order.
    pub fn load(&self, shared: &Bytes, block: usize) -> Vec<[u8; ROW]> {
        let mut rows = vec![[0; ROW]; self.rows];
        let (first_chunk, first_k) = (block * ROW / CHUNK, block * DEPTH);
        match self.mn_major {
            false => {
                for (row, bytes) in rows.iter_mut().enumerate() {
                    for (chunk, bytes) in bytes.chunks_exact_mut(CHUNK).enumerate() {
                        bytes.copy_from_slice(shared.peek(self.of_row(row, first_chunk + chunk)));
                    }
                }
            }
            true => {
                for k in 0..DEPTH {
                    for (chunk, rows) in rows.chunks_exact_mut(ELEMENTS).enumerate() {
                        let elements = shared.peek(self.of_k(first_k + k, chunk)).chunks_exact(2);
                        for (row, element) in rows.iter_mut().zip(elements) {
                            row[2 * k..2 * k + 2].copy_from_slice(element);
                        }
                    }
                }
            }
        }
        rows
    }
}
