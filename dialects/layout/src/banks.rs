//! Bank conflicts of shared memory: what an access of warps costs on a layout.
//!
//! Shared memory has [`BANKS`] banks of [`BANK_BYTES`] bytes. One pass over it, a wavefront, gives
//! one word of every bank to any number of threads. An access of up to 4 bytes a thread is served for
//! the whole warp at once, one of 8 bytes by half warps, one of 16 by quarters; the rows of each matrix
//! of `ldmatrix` are such a quarter (CUDA C++ Programming Guide, "Shared Memory"; the simulator of
//! `cutec-runtime` counts the same).
//!
//! In reading order: [`wavefronts`] (the hardware, on addresses), [`Access`] (the instructions of an
//! access to a layout), [`access_tv`] and [`access_ldmatrix`], which make one.

use crate::{AnyLayout, Int, Layout, LayoutError, Tree, algebra};
use std::fmt;
use std::ops::Range;
use thiserror::Error;

/// Banks of shared memory.
pub const BANKS: i64 = 32;
/// Bytes of a word of a bank.
pub const BANK_BYTES: i64 = 4;
/// Threads of a warp.
pub const WARP: usize = 32;

/// Elements that an access may touch, lest a typing error take all memory.
const MAX_ELEMENTS: i64 = 1 << 16;
/// Bytes of a row of a matrix of `ldmatrix`, and its rows.
const ROW_BYTES: i64 = 16;
const MATRIX_ROWS: i64 = 8;

/// Why an access cannot be made.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum AccessError {
    /// The layout algebra refuses.
    #[error("{0}")]
    Layout(#[from] LayoutError),
    /// An extent or an offset is not a static integer.
    #[error("an access needs a static layout of integers, and this is {layout}")]
    NotStatic {
        /// The layout.
        layout: String,
    },
    /// A thread-value layout reaches beyond the layout that it accesses.
    #[error("thread {thread}, value {value} is element {element} of a layout of {size}")]
    Outside {
        /// The thread.
        thread: i64,
        /// Its value.
        value: i64,
        /// Where it lies in the tile.
        element: i64,
        /// Elements that there are.
        size: i64,
    },
    /// Too many elements.
    #[error("an access of {found} elements; expected at most {}", MAX_ELEMENTS)]
    TooLarge {
        /// Elements of the access.
        found: i64,
    },
    /// Elements that `ldmatrix` does not know.
    #[error("ldmatrix reads rows of 16 bytes; expected 8, 16 or 32 bits an element, found {bits}")]
    Element {
        /// Bits of an element.
        bits: u32,
    },
    /// A tile that does not consist of whole matrices.
    #[error(
        "ldmatrix reads matrices of {rows} by {columns}; a tile of {found_rows} by {found_columns} has no whole number of them"
    )]
    Tile {
        /// Rows of a matrix.
        rows: i64,
        /// Columns of a matrix.
        columns: i64,
        /// Rows of the tile.
        found_rows: i64,
        /// Columns of the tile.
        found_columns: i64,
    },
    /// A row of a matrix that is not 16 bytes in one piece.
    #[error(
        "ldmatrix reads 16 aligned bytes in one piece; those at row {row}, column {column} are not{}",
        if *.transpose { "" } else { "; with `_trans` a piece is part of a column" }
    )]
    Row {
        /// Row of its first element.
        row: i64,
        /// Column of its first element.
        column: i64,
        /// Whether pieces are columns.
        transpose: bool,
    },
}

/// The threads of a warp that are served together, and the words that they need.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Phase {
    /// Lanes of the warp.
    pub lanes: Range<usize>,
    /// The words of each bank that they need, each once.
    pub words: Vec<Vec<i64>>,
}

impl Phase {
    /// Passes over the banks: as many as the busiest bank has words. 0 if no lane takes part.
    pub fn wavefronts(&self) -> usize {
        self.words.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// The fewest passes that as many words could take.
    pub fn ideal(&self) -> usize {
        let words: usize = self.words.iter().map(Vec::len).sum();
        words.div_ceil(BANKS as usize)
    }

    /// The banks that need the most passes.
    pub fn busiest(&self) -> Vec<usize> {
        let most = self.wavefronts();
        (0..self.words.len())
            .filter(|bank| most > 0 && self.words[*bank].len() == most)
            .collect()
    }
}

/// Lanes that are served together when each accesses so many bytes.
pub fn phase_lanes(bytes: u32) -> usize {
    let words = i64::from(bytes).div_euclid(BANK_BYTES).max(1);
    (WARP / usize::try_from(words).unwrap_or(WARP)).max(1)
}

/// The phases of one instruction of a warp: `addresses` in bytes, one a lane, `None` where a lane
/// takes no part; each lane accesses `bytes`, 1 to 16, from there.
pub fn wavefronts(addresses: &[Option<i64>], bytes: u32) -> Vec<Phase> {
    let step = phase_lanes(bytes);
    let last = i64::from(bytes.max(1)) - 1;
    let phase = |first: usize| {
        let lanes = first..(first + step).min(addresses.len());
        let mut words = vec![Vec::new(); BANKS as usize];
        for address in addresses[lanes.clone()].iter().flatten() {
            let end = address.saturating_add(last).div_euclid(BANK_BYTES);
            for word in address.div_euclid(BANK_BYTES)..=end {
                let bank = &mut words[word.rem_euclid(BANKS) as usize];
                if !bank.contains(&word) {
                    bank.push(word);
                }
            }
        }
        Phase { lanes, words }
    };
    (0..addresses.len()).step_by(step).map(phase).collect()
}

/// What one lane accesses by one instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lane {
    /// The first byte.
    pub address: i64,
    /// Column-major positions of the elements in the domain of the layout.
    pub elements: Vec<i64>,
}

/// One instruction of one warp.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// The warp.
    pub warp: usize,
    /// Its lanes; fewer than 32 if the rest take no part.
    pub lanes: Vec<Lane>,
}

/// The instructions that access a layout in shared memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// Bytes that each lane accesses by one instruction.
    pub bytes: u32,
    /// The instructions, in order.
    pub instructions: Vec<Instruction>,
}

impl Access {
    /// The phases of all instructions, each with the index of its instruction.
    pub fn phases(&self) -> Vec<(usize, Phase)> {
        let of = |(index, instruction): (usize, &Instruction)| {
            let addresses: Vec<_> = instruction
                .lanes
                .iter()
                .map(|lane| Some(lane.address))
                .collect();
            let phases = wavefronts(&addresses, self.bytes);
            phases.into_iter().map(move |phase| (index, phase))
        };
        self.instructions.iter().enumerate().flat_map(of).collect()
    }

    /// Wavefronts of all phases.
    pub fn wavefronts(&self) -> usize {
        let of = |(_, phase): &(usize, Phase)| phase.wavefronts();
        self.phases().iter().map(of).sum()
    }

    /// The fewest wavefronts that as many words could take, phase by phase.
    pub fn ideal(&self) -> usize {
        let of = |(_, phase): &(usize, Phase)| phase.ideal();
        self.phases().iter().map(of).sum()
    }

    /// The most wavefronts of a phase: `n` is an n-way conflict, 1 is none.
    pub fn ways(&self) -> usize {
        let of = |(_, phase): &(usize, Phase)| phase.wavefronts();
        self.phases().iter().map(of).max().unwrap_or(0)
    }

    /// One line: wavefronts, the fewest possible, and the conflict.
    pub fn verdict(&self) -> String {
        let conflict = match self.ways() {
            0 | 1 => "no bank conflict".to_owned(),
            ways => format!("{ways}-way bank conflict"),
        };
        format!(
            "{conflict}: {}, {} at best",
            count(self.wavefronts(), "wavefront"),
            self.ideal()
        )
    }
}

/// The instructions, phases of equal cost together, and the verdict.
impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}, {} a thread, phases of {}",
            count(self.instructions.len(), "instruction"),
            count(self.bytes as usize, "byte"),
            count(phase_lanes(self.bytes), "thread"),
        )?;
        let phases = self.phases();
        let cost: Vec<usize> = phases.iter().map(|(_, phase)| phase.wavefronts()).collect();
        let mut first = 0;
        while let Some(wavefronts) = cost.get(first) {
            let same = cost[first..].iter().take_while(|c| *c == wavefronts);
            let end = first + same.count();
            let which = match end - first {
                1 => format!("phase {first}"),
                _ => format!("phases {first}-{}", end - 1),
            };
            let each = if end - first == 1 { "" } else { " each" };
            let busy = match *wavefronts {
                0 | 1 => String::new(),
                _ => {
                    let of = match end - first {
                        1 => String::new(),
                        _ => format!("phase {first}: "),
                    };
                    format!(" ({of}banks {})", ranges(&phases[first].1.busiest()))
                }
            };
            writeln!(
                f,
                "{which}: {}{each}{busy}",
                count(*wavefronts, "wavefront")
            )?;
            first = end;
        }
        writeln!(f, "{}", self.verdict())
    }
}

/// The access of threads to `layout`, elements of `elem_bits` bits (1 to 128), where `layout_tv` maps (thread,
/// value) to the column-major position in the domain of the layout. Values that lie beside each other
/// and are aligned are accessed together, up to 16 bytes; one instruction a group of them and warp.
///
/// # Errors
/// If something is not static or too large, or `layout_tv` is not of rank 2 or reaches outside.
pub fn access_tv(
    layout: &AnyLayout,
    layout_tv: &Layout,
    elem_bits: u32,
) -> Result<Access, AccessError> {
    let [threads, values] = match layout_tv.shape().modes() {
        [threads, values] => [threads, values].map(algebra::product),
        _ => {
            return Err(AccessError::Layout(LayoutError::RankMismatch {
                op: "access",
                expected: 2,
                found: layout_tv.rank(),
                value: layout_tv.to_string(),
            }));
        }
    };
    let not_static = || AccessError::NotStatic {
        layout: layout_tv.to_string(),
    };
    let threads = threads.as_static().ok_or_else(not_static)?;
    let values = values.as_static().ok_or_else(not_static)?;
    // Without threads there may still be values, and the other way round.
    within_limit(threads.max(1).saturating_mul(values.max(1)))?;
    let offsets = offsets(layout)?;
    // (element, offset) of each value of each thread
    let mut held = Vec::new();
    for thread in 0..threads {
        let mut row = Vec::new();
        for value in 0..values {
            let coord = Tree::Node([thread, value].map(|n| Tree::Leaf(Int::Static(n))).to_vec());
            let element = algebra::offset_at(&coord, layout_tv)?
                .as_static()
                .ok_or_else(not_static)?;
            let offset = usize::try_from(element)
                .ok()
                .and_then(|element| offsets.get(element));
            let Some(offset) = offset else {
                let size = offsets.len() as i64;
                return Err(AccessError::Outside {
                    thread,
                    value,
                    element,
                    size,
                });
            };
            row.push((element, *offset));
        }
        held.push(row);
    }
    let bits = i64::from(elem_bits.clamp(1, 128));
    let together = (0..=7)
        .rev()
        .map(|log| 1_i64 << log)
        .filter(|n| values % n == 0 && n * bits <= 8 * ROW_BYTES)
        .find(|n| {
            *n == 1
                || held.iter().all(|row| {
                    row.chunks(*n as usize)
                        .all(|group| in_one_piece(group.iter().map(|(_, offset)| *offset), *n))
                })
        })
        .unwrap_or(1);
    let mut instructions = Vec::new();
    for group in 0..values / together {
        let range = (group * together) as usize..((group + 1) * together) as usize;
        for (warp, rows) in held.chunks(WARP).enumerate() {
            let lane = |row: &Vec<(i64, i64)>| Lane {
                address: byte(row[range.start].1, bits),
                elements: row[range.clone()].iter().map(|(at, _)| *at).collect(),
            };
            let lanes = rows.iter().map(lane).collect();
            instructions.push(Instruction { warp, lanes });
        }
    }
    Ok(Access {
        bytes: ((together * bits).div_euclid(8).max(1)) as u32,
        instructions,
    })
}

/// `ldmatrix` over the whole of `layout` (rows × columns; further modes count as columns): matrices of
/// 8 rows of 16 bytes, those below each other first, `matrices` of them an instruction. With
/// `transpose`, as `.trans` needs it, the 16 bytes run down a column.
///
/// # Errors
/// If the layout is not static or too large, is no whole number of matrices, or a row of a matrix is
/// not 16 aligned bytes.
pub fn access_ldmatrix(
    layout: &AnyLayout,
    elem_bits: u32,
    matrices: usize,
    transpose: bool,
) -> Result<Access, AccessError> {
    if !matches!(elem_bits, 8 | 16 | 32) {
        return Err(AccessError::Element { bits: elem_bits });
    }
    let bits = i64::from(elem_bits);
    let piece = ROW_BYTES * 8 / bits;
    let offsets = offsets(layout)?;
    let rows = match layout.shape() {
        Tree::Node(modes) if modes.len() >= 2 => algebra::product(&modes[0]),
        _ => Int::ONE,
    };
    let rows = rows.as_static().unwrap_or(1).max(1);
    let columns = offsets.len() as i64 / rows;
    let (height, width) = match transpose {
        false => (MATRIX_ROWS, piece),
        true => (piece, MATRIX_ROWS),
    };
    if rows % height != 0 || columns % width != 0 || offsets.is_empty() {
        return Err(AccessError::Tile {
            rows: height,
            columns: width,
            found_rows: rows,
            found_columns: columns,
        });
    }
    let mut pieces = Vec::new();
    for (column, row) in (0..columns / width)
        .flat_map(|column| (0..rows / height).map(move |row| (column * width, row * height)))
    {
        for line in 0..MATRIX_ROWS {
            let (row, column) = match transpose {
                false => (row + line, column),
                true => (row, column + line),
            };
            let step = if transpose { 1 } else { rows };
            let elements: Vec<i64> = (0..piece).map(|i| column * rows + row + i * step).collect();
            let at = |element: &i64| offsets[*element as usize];
            if !in_one_piece(elements.iter().map(at), piece) {
                return Err(AccessError::Row {
                    row,
                    column,
                    transpose,
                });
            }
            pieces.push(Lane {
                address: byte(at(&elements[0]), bits),
                elements,
            });
        }
    }
    let lanes = matrices.clamp(1, 4) * MATRIX_ROWS as usize;
    let instruction = |lanes: &[Lane]| Instruction {
        warp: 0,
        lanes: lanes.to_vec(),
    };
    Ok(Access {
        bytes: ROW_BYTES as u32,
        instructions: pieces.chunks(lanes).map(instruction).collect(),
    })
}

/// The offsets of a layout in column-major order.
fn offsets(layout: &AnyLayout) -> Result<Vec<i64>, AccessError> {
    let not_static = || AccessError::NotStatic {
        layout: layout.to_string(),
    };
    let size = layout.size().as_static().ok_or_else(not_static)?;
    within_limit(size)?;
    let at = |index| {
        let value = layout.at(&Tree::Leaf(Int::Static(index)))?;
        let offset = value.as_leaf().and_then(Int::as_static);
        // Beyond this, times bits of an element, an i64 is too small.
        offset
            .filter(|offset| offset.unsigned_abs() < 1 << 48)
            .ok_or_else(not_static)
    };
    (0..size).map(at).collect()
}

fn within_limit(found: i64) -> Result<(), AccessError> {
    match found <= MAX_ELEMENTS {
        true => Ok(()),
        false => Err(AccessError::TooLarge { found }),
    }
}

/// `n` offsets one after the other, the first a multiple of `n`.
fn in_one_piece(offsets: impl Iterator<Item = i64>, n: i64) -> bool {
    let mut first = None;
    offsets.enumerate().all(|(index, offset)| {
        let first = *first.get_or_insert(offset);
        first.rem_euclid(n) == 0 && offset == first + index as i64
    })
}

fn byte(offset: i64, bits: i64) -> i64 {
    (offset * bits).div_euclid(8)
}

fn count(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        _ => format!("{n} {what}s"),
    }
}

/// `0-3, 8`.
fn ranges(sorted: &[usize]) -> String {
    let mut out: Vec<(usize, usize)> = Vec::new();
    for &n in sorted {
        match out.last_mut() {
            Some((_, end)) if *end + 1 == n => *end = n,
            _ => out.push((n, n)),
        }
    }
    let text = |(begin, end): &(usize, usize)| match begin == end {
        true => begin.to_string(),
        false => format!("{begin}-{end}"),
    };
    out.iter().map(text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{parse_any_layout, parse_layout};

    fn any(text: &str) -> AnyLayout {
        parse_any_layout(text).expect("a layout")
    }

    fn ldmatrix(text: &str, transpose: bool) -> Access {
        access_ldmatrix(&any(text), 16, 4, transpose).expect("an access")
    }

    fn tv(layout: &str, tv: &str, bits: u32) -> Access {
        let tv = parse_layout(tv).expect("a layout");
        access_tv(&any(layout), &tv, bits).expect("an access")
    }

    fn costs(bytes: u32, stride: i64) -> Vec<usize> {
        let addresses: Vec<_> = (0..32).map(|lane| Some(lane * stride)).collect();
        let phases = wavefronts(&addresses, bytes);
        phases.iter().map(Phase::wavefronts).collect()
    }

    #[test]
    fn a_warp_is_served_at_once_by_halves_or_by_quarters() {
        assert_eq!(costs(4, 4), [1]);
        assert_eq!(costs(8, 8), [1, 1]);
        assert_eq!(costs(16, 16), [1, 1, 1, 1]);
        // Every other word: two threads a bank. A column of rows of 128 bytes: all in one bank.
        assert_eq!(costs(4, 8), [2]);
        assert_eq!(costs(4, 128), [32]);
        assert_eq!(costs(8, 128), [16, 16]);
        assert_eq!(costs(16, 128), [8; 4]);
        // An odd number of words: every bank once.
        assert_eq!(costs(4, 132), [1]);
    }

    #[test]
    fn threads_share_a_word() {
        assert_eq!(costs(4, 0), [1]);
        assert_eq!(costs(2, 2), [1]);
        assert_eq!(costs(1, 1), [1]);
        // Half words 64 words apart: two threads never share one.
        assert_eq!(costs(2, 256), [32]);
        let idle = wavefronts(&[None; 32], 4);
        assert_eq!((idle[0].wavefronts(), idle[0].ideal()), (0, 0));
    }

    #[test]
    fn ldmatrix_of_a_row_major_tile_meets_one_group_of_banks_eight_times() {
        // Rows of 128 bytes: the eight rows of a matrix begin in the same bank.
        let access = ldmatrix("(8,64):(64,1)", false);
        assert_eq!(access.instructions.len(), 2);
        assert_eq!(
            (access.ways(), access.wavefronts(), access.ideal()),
            (8, 64, 8)
        );
        assert_eq!(access.phases()[0].1.busiest(), [0, 1, 2, 3]);
        assert_eq!(access.phases()[7].1.busiest(), [28, 29, 30, 31]);
        // Rows of 64 bytes: two rows a line of banks, so four-way; of 32: two-way; of 16: none.
        assert_eq!(ldmatrix("(8,32):(32,1)", false).ways(), 4);
        assert_eq!(ldmatrix("(8,16):(16,1)", false).ways(), 2);
        assert_eq!(ldmatrix("(8,8):(8,1)", false).ways(), 1);
    }

    #[test]
    fn a_swizzle_or_padding_avoids_the_conflict() {
        for layout in [
            "S<3,3,3> o 0 o (8,64):(64,1)",
            "S<2,3,3> o 0 o (8,32):(32,1)",
            "S<1,3,3> o 0 o (8,16):(16,1)",
            // 144 bytes a row: the next row begins four banks further.
            "(8,64):(72,1)",
        ] {
            let access = ldmatrix(layout, false);
            assert_eq!(access.ways(), 1, "{layout}");
            assert_eq!(access.wavefronts(), access.ideal(), "{layout}");
        }
        // A swizzle of half the width leaves two-way conflicts.
        assert_eq!(ldmatrix("S<2,3,3> o 0 o (8,64):(64,1)", false).ways(), 2);
        // Padded by 8 bytes, rows are not aligned to 16.
        let odd = access_ldmatrix(&any("(8,64):(68,1)"), 16, 4, false);
        assert!(matches!(
            odd,
            Err(AccessError::Row {
                row: 1,
                column: 0,
                ..
            })
        ));
    }

    #[test]
    fn transposed_matrices_are_read_from_columns() {
        assert_eq!(ldmatrix("(64,8):(1,64)", true).ways(), 8);
        assert_eq!(ldmatrix("S<3,3,3> o 0 o (64,8):(1,64)", true).ways(), 1);
        let wrong = access_ldmatrix(&any("(64,8):(1,64)"), 16, 4, false);
        assert!(matches!(wrong, Err(AccessError::Row { .. })));
    }

    #[test]
    fn what_is_no_ldmatrix_is_refused() {
        let odd = access_ldmatrix(&any("(12,8):(8,1)"), 16, 4, false);
        assert!(matches!(odd, Err(AccessError::Tile { .. })));
        let wide = access_ldmatrix(&any("(8,8):(8,1)"), 64, 4, false);
        assert!(matches!(wide, Err(AccessError::Element { bits: 64 })));
        let open = access_ldmatrix(&any("(?,8):(8,1)"), 16, 4, false);
        assert!(matches!(open, Err(AccessError::NotStatic { .. })));
    }

    #[test]
    fn threads_of_a_transpose() {
        // A warp reads a row of 32 floats, then a column.
        let square = "(32,32):(32,1)";
        assert_eq!(tv(square, "(32,1):(32,0)", 32).ways(), 1);
        assert_eq!(tv(square, "(32,1):(1,0)", 32).ways(), 32);
        assert_eq!(tv("(32,32):(33,1)", "(32,1):(1,0)", 32).ways(), 1);
        assert_eq!(
            tv("S<5,0,5> o 0 o (32,32):(32,1)", "(32,1):(1,0)", 32).ways(),
            1
        );
    }

    #[test]
    fn values_beside_each_other_are_one_instruction() {
        // Eight halves a thread, eight threads a row of 64: 16 bytes each.
        let rows = "((8,4),8):((32,1),4)";
        let access = tv("(4,64):(64,1)", rows, 16);
        assert_eq!((access.bytes, access.instructions.len()), (16, 1));
        assert_eq!((access.ways(), access.wavefronts()), (1, 4));
        // Odd rows: values no longer aligned, one instruction each.
        let access = tv("(4,64):(65,1)", rows, 16);
        assert_eq!((access.bytes, access.instructions.len()), (2, 8));
        // Four floats of a column: they do not lie beside each other.
        assert_eq!(tv("(4,32):(32,1)", "(32,4):(4,1)", 32).bytes, 4);
        // 64 threads: two warps.
        assert_eq!(tv("64:1", "(64,1):(1,0)", 32).instructions.len(), 2);
    }

    #[test]
    fn many_threads_without_values_are_too_many() {
        for text in ["(2147483648,0):(1,1)", "(0,2147483648):(1,1)"] {
            let layout_tv = parse_layout(text).expect("a layout");
            let found = access_tv(&any("8:1"), &layout_tv, 16);
            assert!(matches!(found, Err(AccessError::TooLarge { .. })), "{text}");
        }
    }

    #[test]
    fn accesses_outside_are_refused() {
        let rows = parse_layout("(32,2):(1,32)").expect("a layout");
        let outside = access_tv(&any("32:1"), &rows, 32);
        let first = AccessError::Outside {
            thread: 0,
            value: 1,
            element: 32,
            size: 32,
        };
        assert_eq!(outside, Err(first));
        let flat = parse_layout("32:1").expect("a layout");
        assert!(access_tv(&any("32:1"), &flat, 32).is_err());
        let huge = parse_layout("(65536,65536):(0,0)").expect("a layout");
        assert!(matches!(
            access_tv(&any("32:1"), &huge, 32),
            Err(AccessError::TooLarge { .. })
        ));
    }

    #[test]
    fn a_report() {
        let wanted = "\
2 instructions, 16 bytes a thread, phases of 8 threads
phases 0-7: 8 wavefronts each (phase 0: banks 0-3)
8-way bank conflict: 64 wavefronts, 8 at best
";
        assert_eq!(ldmatrix("(8,64):(64,1)", false).to_string(), wanted);
    }
}
