//! [`MatrixDescriptor`]: how the operand of a warpgroup MMA lies in shared memory, as the instruction is told.
//!
//! `wgmma` reads a matrix by a start address, two byte offsets, a swizzle and a major-ness (PTX ISA, "Asynchronous
//! warpgroup-level matrix instructions", "Matrix descriptor"; CuTe, `make_gmma_desc`). The layouts that these numbers can
//! describe are the canonical ones. With `T` elements of 16 bytes, `W = T · 2^bits` elements of a row of the swizzle, and
//! the leading and the stride byte offset `LBO` and `SBO`, they are, of `(mn, k)`:
//!
//! | swizzle | K-major | MN-major |
//! |---|---|---|
//! | none | `((8,m),(T,2)) : ((T,SBO),(1,LBO))` | `((T,m),(8,k)) : ((1,SBO),(T,LBO))` |
//! | 32, 64, 128 bytes | `((8,m),(T,2)) : ((W,SBO),(1,T))` | `((W,m),(8,k)) : ((1,LBO),(W,SBO))` |
//!
//! [`MatrixDescriptor::of`] reads the numbers from a layout and checks them against [`MatrixDescriptor::offset`], which is
//! the definition: where an element lies before the swizzle.

use crate::{Layout, Swizzle};
use std::fmt;
use thiserror::Error;

/// Bytes of a piece that every swizzle leaves in one.
const PIECE: i64 = 16;
/// Rows of a core matrix.
const ROWS: i64 = 8;
/// Bytes along k that one instruction reads; of B of a sparse product twice as many.
const K_BYTES: i64 = 32;
/// The largest byte offset that a descriptor can hold: 14 bits of 16 bytes.
const MOST: i64 = ((1 << 14) - 1) * PIECE;

/// Along which mode neighbours lie side by side.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Major {
    /// Along k.
    K,
    /// Along m or n.
    Mn,
}

impl fmt::Display for Major {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Major::K => "K-major",
            Major::Mn => "MN-major",
        })
    }
}

/// How an operand lies in shared memory, without its start address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MatrixDescriptor {
    /// Bits of an element: 8, 16 or 32.
    pub bits: i64,
    /// Along which mode neighbours lie.
    pub major: Major,
    /// Bits of the swizzle, 0 to 3: none, or rows of 32, 64 or 128 bytes.
    pub swizzle: u32,
    /// The leading byte offset.
    pub leading: i64,
    /// The stride byte offset.
    pub stride: i64,
}

/// Why no descriptor describes a layout.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum DescriptorError {
    /// Something is known only at run time.
    #[error("the layout {layout} is not static")]
    NotStatic {
        /// The layout.
        layout: String,
    },
    /// The swizzle is none of the four.
    #[error("the swizzle {swizzle} is none that the instruction knows; expected {expected}")]
    Swizzle {
        /// The swizzle.
        swizzle: Swizzle,
        /// Those that it knows, of elements of this size.
        expected: String,
    },
    /// The layout is not canonical.
    #[error("{found} is not canonical: expected {expected}")]
    NotCanonical {
        /// The layout.
        found: String,
        /// The canonical layout which it misses.
        expected: String,
    },
}

impl MatrixDescriptor {
    /// The descriptor of the matrix `(mn, k)` that one instruction reads, of 32 or 64 bytes along k. `values` gives the offset
    /// of its element `mn + extent · k`, before the swizzle. The start of the matrix must lie in the first row of the swizzle's pattern
    /// ([`MatrixDescriptor::pattern`]), which the caller sees to.
    ///
    /// # Errors
    /// Unless the layout is canonical.
    pub fn of(
        values: &Layout,
        swizzle: Option<Swizzle>,
        extent: i64,
        bits: i64,
    ) -> Result<MatrixDescriptor, DescriptorError> {
        let swizzle = swizzle.filter(|swizzle| !swizzle.is_identity());
        let known = match swizzle {
            None => 0,
            Some(swizzle) => (1..=3)
                .find(|known| swizzle_of(*known, bits) == Some(swizzle))
                .ok_or_else(|| DescriptorError::Swizzle {
                    swizzle,
                    expected: swizzles(bits),
                })?,
        };
        let found = || match swizzle {
            Some(swizzle) => format!("{swizzle} o 0 o {values}"),
            None => values.to_string(),
        };
        let offsets =
            offsets(values).ok_or_else(|| DescriptorError::NotStatic { layout: found() })?;
        let least = K_BYTES * 8 / bits;
        let depth = if offsets.len() as i64 == 2 * extent * least {
            2 * least
        } else {
            least
        };
        let at = |mn: i64, k: i64| offsets.get((mn + extent * k) as usize).copied();
        let bytes = |mn: i64, k: i64| match mn < extent && k < depth {
            true => at(mn, k).map_or(0, |offset| offset * bits / 8),
            // One group: how far the next one is says nothing.
            false => PIECE,
        };
        let major = match (at(0, 1), at(1, 0)) {
            (_, Some(1)) if at(0, 1) != Some(1) => Major::Mn,
            _ => Major::K,
        };
        let (pieces, row) = (PIECE * 8 / bits, (PIECE * 8 / bits) << known);
        let (leading, stride) = match (major, known) {
            (Major::K, 0) => (bytes(0, pieces), bytes(ROWS, 0)),
            (Major::K, _) => (PIECE, bytes(ROWS, 0)),
            (Major::Mn, 0) => (bytes(0, ROWS), bytes(pieces, 0)),
            (Major::Mn, _) => (bytes(row, 0), bytes(0, ROWS)),
        };
        let descriptor = MatrixDescriptor {
            bits,
            major,
            swizzle: known,
            leading,
            stride,
        };
        // An offset is that of its row or column plus that of its k.
        let across: Vec<i64> = (0..extent).map(|mn| descriptor.offset(mn, 0)).collect();
        let mut columns = (0..depth).zip(offsets.chunks(across.len().max(1)));
        let matches = offsets.len() as i64 == extent * depth
            && columns.all(|(k, column)| {
                let along = descriptor.offset(0, k);
                let mut places = column.iter().zip(&across);
                places.all(|(offset, across)| *offset == across + along)
            });
        // Groups that lie between those of one row of the swizzle would see another pattern.
        let whole = match (major, known) {
            (_, 0) => true,
            (Major::K, _) => depth <= row && (extent <= ROWS || stride % descriptor.pattern() == 0),
            (Major::Mn, _) => {
                (extent <= row || leading % descriptor.pattern() == 0)
                    && (depth <= ROWS || stride % descriptor.pattern() == 0)
            }
        };
        let holds = |offset: i64| (0..=MOST).contains(&offset) && offset % PIECE == 0;
        match matches && whole && holds(leading) && holds(stride) {
            true => Ok(descriptor),
            false => Err(DescriptorError::NotCanonical {
                found: found(),
                expected: descriptor.canonical(extent, depth),
            }),
        }
    }

    /// Where an element lies, in elements from the start, before the swizzle.
    pub fn offset(&self, mn: i64, k: i64) -> i64 {
        let of_bytes = |bytes: i64| bytes * 8 / self.bits;
        let (leading, stride) = (of_bytes(self.leading), of_bytes(self.stride));
        let pieces = of_bytes(PIECE);
        let row = pieces << self.swizzle;
        match (self.major, self.swizzle) {
            (Major::K, 0) => {
                (mn % ROWS) * pieces + mn / ROWS * stride + k % pieces + k / pieces * leading
            }
            (Major::K, _) => (mn % ROWS) * row + mn / ROWS * stride + k,
            (Major::Mn, 0) => {
                mn % pieces + mn / pieces * stride + (k % ROWS) * pieces + k / ROWS * leading
            }
            (Major::Mn, _) => mn % row + mn / row * leading + (k % ROWS) * row + k / ROWS * stride,
        }
    }

    /// The swizzle in elements; `None` for none.
    pub fn swizzle_in_elements(&self) -> Option<Swizzle> {
        swizzle_of(self.swizzle, self.bits)
    }

    /// Bytes of a row of the swizzle: 16, 32, 64 or 128.
    pub fn row(&self) -> i64 {
        PIECE << self.swizzle
    }

    /// Bytes after which the swizzle repeats, eight rows; 16 for none. The base of the buffer is aligned to it.
    pub fn pattern(&self) -> i64 {
        match self.swizzle {
            0 => PIECE,
            _ => ROWS * self.row(),
        }
    }

    /// What the descriptor holds besides the start address, in its low and its high 32 bits.
    pub fn words(&self) -> [u32; 2] {
        let mode: u32 = match self.swizzle {
            0 => 0,
            1 => 3,
            2 => 2,
            _ => 1,
        };
        let field = |bytes: i64| (bytes / PIECE) as u32;
        [field(self.leading) << 16, field(self.stride) | mode << 30]
    }

    /// The canonical layout of so many rows or columns and so much k, with the offsets that are free by their names.
    fn canonical(&self, extent: i64, depth: i64) -> String {
        let pieces = PIECE * 8 / self.bits;
        let row = pieces << self.swizzle;
        let groups = |of: i64| (extent + of - 1) / of;
        let layout = match (self.major, self.swizzle) {
            (Major::K, 0) => {
                let (m, k) = (groups(ROWS), depth / pieces);
                format!("((8,{m}),({pieces},{k})):(({pieces},SBO),(1,LBO))")
            }
            (Major::K, _) => {
                let (m, k) = (groups(ROWS), depth / pieces);
                format!("((8,{m}),({pieces},{k})):(({row},SBO),(1,{pieces}))")
            }
            (Major::Mn, 0) => {
                let (m, k) = (groups(pieces), depth / ROWS);
                format!("(({pieces},{m}),(8,{k})):((1,SBO),({pieces},LBO))")
            }
            (Major::Mn, _) => {
                let (m, k) = (groups(row), depth / ROWS);
                format!("(({},{m}),(8,{k})):((1,LBO),({row},SBO))", row.min(extent))
            }
        };
        let multiple = self.pattern() * 8 / self.bits;
        let free = match (self.major, self.swizzle) {
            (Major::K, 1..) => "SBO",
            (Major::K, 0) | (Major::Mn, _) => "LBO and SBO",
        };
        let swizzle = match self.swizzle_in_elements() {
            Some(swizzle) => format!("{swizzle} o 0 o "),
            None => String::new(),
        };
        format!(
            "the {} {swizzle}{layout}, {free} multiples of {multiple} elements",
            self.major
        )
    }
}

/// The swizzle of rows of `16 << known` bytes, on elements of so many bits.
fn swizzle_of(known: u32, bits: i64) -> Option<Swizzle> {
    let in_bytes = Swizzle::new(i64::from(known), 4, 3).ok()?;
    (known > 0).then(|| in_bytes.recast(8, bits).ok()).flatten()
}

/// The swizzles that there are, on elements of so many bits.
fn swizzles(bits: i64) -> String {
    let known = (1..=3).filter_map(|known| swizzle_of(known, bits));
    let known: Vec<String> = known.map(|swizzle| swizzle.to_string()).collect();
    format!("none, {}", known.join(", "))
}

/// The offsets of all elements, where they are static.
fn offsets(layout: &Layout) -> Option<Vec<i64>> {
    let mut offsets = vec![0i64];
    let (shape, stride) = (layout.shape().leaves(), layout.stride().leaves());
    for (extent, step) in shape.iter().zip(stride) {
        let (extent, step) = (extent.as_static()?, step.as_static()?);
        let before = offsets.clone();
        offsets.clear();
        for index in 0..extent {
            let by = index.checked_mul(step)?;
            for offset in &before {
                offsets.push(offset.checked_add(by)?);
            }
        }
    }
    Some(offsets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Int, Tree};

    /// The address of an element as the ISA defines it: the start and what the offsets add, then the swizzle on the
    /// bits of the address.
    fn address(descriptor: &MatrixDescriptor, start: i64, mn: i64, k: i64) -> i64 {
        let linear = start + descriptor.offset(mn, k) * descriptor.bits / 8;
        let rows = (linear >> 7) & ((1 << descriptor.swizzle) - 1);
        linear ^ (rows << 4)
    }

    /// A compact canonical layout of `(mn, k)`: `of_k` instructions along k, side by side as CuTe's atoms are.
    fn compact(swizzle: u32, bits: i64, major: Major, extent: i64) -> Layout {
        let pieces = 128 / bits;
        let row = pieces << swizzle;
        let depth = 256 / bits;
        let text = match (major, swizzle) {
            (Major::K, 0) => format!(
                "((8,{}),({pieces},2)):(({pieces},{}),(1,{}))",
                extent / 8,
                16 * pieces,
                8 * pieces
            ),
            (Major::K, _) => {
                format!("((8,{}),{depth}):(({row},{}),1)", extent / 8, 8 * row)
            }
            (Major::Mn, 0) => format!(
                "(({pieces},{}),(8,{})):((1,{}),({pieces},{}))",
                extent / pieces,
                depth / 8,
                8 * depth,
                8 * pieces
            ),
            (Major::Mn, _) if extent < row => {
                format!("({extent},(8,{})):(1,({row},{}))", depth / 8, 8 * row)
            }
            (Major::Mn, _) => format!(
                "(({row},{}),(8,{})):((1,{}),({row},{}))",
                extent / row,
                depth / 8,
                row * depth,
                8 * row
            ),
        };
        crate::text::parse_layout(&text).unwrap()
    }

    #[test]
    fn every_element_of_a_canonical_layout_lies_where_the_descriptor_says() {
        for bits in [8, 16, 32] {
            for swizzle in 0..=3 {
                for major in [Major::K, Major::Mn] {
                    for extent in [8, 16, 64, 128, 256] {
                        let row = (128 / bits) << swizzle;
                        if major == Major::Mn && extent > row && extent % row != 0
                            || major == Major::Mn && extent < 128 / bits
                        {
                            continue;
                        }
                        let layout = compact(swizzle, bits, major, extent);
                        let function = swizzle_of(swizzle, bits);
                        let found = MatrixDescriptor::of(&layout, function, extent, bits).unwrap();
                        assert_eq!((found.major, found.swizzle), (major, swizzle), "{layout}");
                        for k in 0..256 / bits {
                            for mn in 0..extent {
                                let index = Tree::Leaf(Int::Static(mn + extent * k));
                                let offset = crate::algebra::offset_at(&index, &layout).unwrap();
                                let offset = offset.as_static().unwrap();
                                let swizzled =
                                    function.map_or(offset, |function| function.apply(offset));
                                let there = address(&found, 0, mn, k);
                                assert_eq!(swizzled * bits / 8, there, "{layout} at {mn}, {k}");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn fields_are_those_of_layouts_that_were_seen_right_on_an_h200() {
        let of = |swizzle: u32, bits: i64, extent: i64, text: &str| {
            let layout = crate::text::parse_layout(text).unwrap();
            MatrixDescriptor::of(&layout, swizzle_of(swizzle, bits), extent, bits).unwrap()
        };
        let fields = |found: MatrixDescriptor| (found.major, found.leading, found.stride);
        // bf16, K-major, rows of 128, 64 and 32 bytes.
        let wide = of(3, 16, 64, "((8,8),16):((64,512),1)");
        assert_eq!((fields(wide).2, wide.words()[1] >> 30), (1024, 1));
        let half = of(2, 16, 64, "((8,8),16):((32,256),1)");
        assert_eq!((fields(half).2, half.words()[1] >> 30), (512, 2));
        let narrow = of(1, 16, 64, "((8,8),16):((16,128),1)");
        assert_eq!((fields(narrow).2, narrow.words()[1] >> 30), (256, 3));
        // u8, no swizzle: core matrices side by side along k.
        let bytes = of(0, 8, 8, "((8,1),(16,2)):((16,256),(1,128))");
        assert_eq!((fields(bytes).0, fields(bytes).1), (Major::K, 128));
        // bf16 B, MN-major, rows of 128 bytes, 64 × 64.
        let across = of(3, 16, 64, "(64,(8,2)):(1,(64,512))");
        assert_eq!((fields(across).0, fields(across).2), (Major::Mn, 1024));
    }

    #[test]
    fn a_layout_that_is_not_canonical_is_told_the_one_that_it_misses() {
        let of = |swizzle: Option<Swizzle>, text: &str| {
            let layout = crate::text::parse_layout(text).unwrap();
            let error = MatrixDescriptor::of(&layout, swizzle, 64, 16).unwrap_err();
            error.to_string()
        };
        let wide = swizzle_of(3, 16);
        assert_eq!(
            of(wide, "(64,16):(72,1)"),
            "S<3,3,3> o 0 o (64,16):(72,1) is not canonical: expected the K-major S<3,3,3> o 0 o ((8,8),(8,2)):((64,SBO),(1,8)), SBO multiples of 512 elements"
        );
        assert!(
            of(None, "(64,16):(64,1)")
                .contains("expected the K-major ((8,8),(8,2)):((8,SBO),(1,LBO))")
        );
        assert!(
            of(wide, "(64,16):(1,72)")
                .contains("the MN-major S<3,3,3> o 0 o ((64,1),(8,2)):((1,LBO),(64,SBO))")
        );
        let other = Swizzle::new(2, 3, 4).ok();
        assert!(
            of(other, "(64,16):(64,1)").contains("expected none, S<1,3,3>, S<2,3,3>, S<3,3,3>")
        );
    }

    #[test]
    fn a_sparse_product_reads_twice_as_much_of_b() {
        let of = |swizzle: u32, text: &str| {
            let layout = crate::text::parse_layout(text).unwrap();
            MatrixDescriptor::of(&layout, swizzle_of(swizzle, 16), 64, 16)
        };
        let wide = of(3, "((8,8),32):((64,512),1)").unwrap();
        assert_eq!((wide.major, wide.stride), (Major::K, 1024));
        let across = of(3, "(64,(8,4)):(1,(64,512))").unwrap();
        assert_eq!((across.major, across.stride), (Major::Mn, 1024));
        // A row of the swizzle has 32 bytes, which is half of what is read.
        let narrow = of(1, "((8,8),(16,2)):((16,128),(1,1024))").unwrap_err();
        assert!(narrow.to_string().contains("((8,8),(8,4))"), "{narrow}");
    }

    #[test]
    fn a_row_of_the_swizzle_may_not_be_left() {
        // Groups of rows 512 bytes apart are not whole patterns of 1024.
        let layout = crate::text::parse_layout("((8,2),16):((64,256),1)").unwrap();
        assert!(MatrixDescriptor::of(&layout, swizzle_of(3, 16), 16, 16).is_err());
    }
}
