//! [`Swizzle`]: the function `x ^ ((x & yyy) >> shift)` on offsets.

use crate::{Int, LayoutError};
use std::fmt;

/// `S<bits,base,shift>`: bits `base+shift .. base+shift+bits` of an offset are xored onto bits
/// `base .. base+bits` (the other way round for a negative shift). It is its own inverse.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Swizzle {
    bits: u32,
    base: u32,
    shift: i32,
}

impl Swizzle {
    /// The swizzle `S<bits,base,shift>`.
    ///
    /// # Errors
    /// Unless `bits` and `base` are not negative, `|shift| >= bits`, and all bits lie below 62.
    pub fn new(bits: i64, base: i64, shift: i64) -> Result<Swizzle, LayoutError> {
        let top = base
            .saturating_add(bits)
            .saturating_add(shift.saturating_abs());
        if bits < 0 || base < 0 || shift.saturating_abs() < bits || top > 62 {
            return Err(LayoutError::BadSwizzle { bits, base, shift });
        }
        Ok(Swizzle {
            bits: bits as u32,
            base: base as u32,
            shift: shift as i32,
        })
    }

    /// Number of bits that change.
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// Number of low bits that stay.
    pub fn base(self) -> u32 {
        self.base
    }

    /// Distance between the bits that change and those that change them.
    pub fn shift(self) -> i32 {
        self.shift
    }

    /// True if it changes nothing.
    pub fn is_identity(self) -> bool {
        self.bits == 0
    }

    /// The bits that decide.
    pub fn yyy_mask(self) -> u64 {
        ((1u64 << self.bits) - 1) << (self.base + self.shift.max(0) as u32)
    }

    /// The bits that change.
    pub fn zzz_mask(self) -> u64 {
        ((1u64 << self.bits) - 1) << (self.base + (-self.shift).max(0) as u32)
    }

    /// Number of offsets after which the pattern repeats.
    pub fn period(self) -> i64 {
        1 << (self.base + self.bits + self.shift.unsigned_abs())
    }

    /// The swizzled offset.
    pub fn apply(self, offset: i64) -> i64 {
        let deciding = offset & self.yyy_mask() as i64;
        if self.shift >= 0 {
            offset ^ (deciding >> self.shift)
        } else {
            offset ^ (deciding << -self.shift)
        }
    }

    /// The swizzled offset of a run-time offset, which is not negative.
    pub fn apply_int(self, offset: &Int) -> Int {
        if let Int::Static(offset) = offset {
            return Int::Static(self.apply(*offset));
        }
        let deciding = offset.and_mask(self.yyy_mask());
        let moved = Int::Static(1 << self.shift.unsigned_abs());
        let change = if self.shift >= 0 {
            deciding.floor_div(&moved)
        } else {
            deciding.mul(&moved)
        };
        offset.xor(&change)
    }

    /// The same function on elements of `new_bits` bits, given that it is one on elements of
    /// `old_bits` bits. A swizzle of bits inside of a wider element loses those bits.
    ///
    /// # Errors
    /// If one width is not a power of two times the other.
    pub fn recast(self, old_bits: i64, new_bits: i64) -> Result<Swizzle, LayoutError> {
        let refuse = || LayoutError::Unsupported {
            op: "recast_layout",
            expected: "widths of which one is a power of two times the other",
            found: format!("{old_bits} and {new_bits} bits"),
        };
        let (wide, narrow) = (old_bits.max(new_bits), old_bits.min(new_bits));
        if narrow <= 0 || wide % narrow != 0 || (wide / narrow).count_ones() != 1 {
            return Err(refuse());
        }
        let log2 = i64::from((wide / narrow).trailing_zeros());
        let (bits, base, shift) = (
            i64::from(self.bits),
            i64::from(self.base),
            i64::from(self.shift),
        );
        if new_bits <= old_bits {
            return Swizzle::new(bits, base + log2, shift);
        }
        let base = base - log2;
        Swizzle::new((bits + base.min(0)).max(0), base.max(0), shift)
    }
}

impl fmt::Display for Swizzle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "S<{},{},{}>", self.bits, self.base, self.shift)
    }
}
