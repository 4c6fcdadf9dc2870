//! Taking a swizzle out of a partition: once the thread is fixed, a swizzle often only decides
//! the signs of strides, and the partition is a plain layout behind a swizzled offset.

use super::partition::Partition;
use crate::algebra::{composition, tuple_add};
use crate::{AnyLayout, ComposedLayout, Int, Layout, Swizzle, Tree};

impl Partition {
    /// The same partition without its swizzle, if the layout at the thread's offset is plain:
    /// if no two bits that the layout still changes meet under the swizzle, and none of them is
    /// set in the offset. Strides whose sign depends on the thread become run-time values. If
    /// not, the partition is returned as it is.
    ///
    /// With `x` the offset and `b` a bit of a stride that `x` does not have, the swizzle `S` is
    /// linear over exclusive or: `S(x + b) = S(x) ^ S(b)`. Of the two bits that `S(b)` may have,
    /// the one that the swizzle changes is set in `S(x)` iff its partner is set in `x`, which
    /// says whether flipping it adds or subtracts.
    pub fn decay(self) -> Partition {
        let AnyLayout::Composed(composed) = &self.layout else {
            return self;
        };
        match decayed(composed) {
            Some((layout, start)) => match tuple_add(&self.offset, &Tree::Leaf(start)) {
                Ok(offset) => Partition {
                    offset,
                    layout: AnyLayout::Plain(layout),
                },
                Err(_) => self,
            },
            None => self,
        }
    }
}

fn decayed(composed: &ComposedLayout) -> Option<(Layout, Int)> {
    let swizzle = composed.swizzle()?;
    let Tree::Leaf(offset) = &composed.offset else {
        return None;
    };
    if !offset.path().is_empty() {
        return None;
    }
    if swizzle.is_identity() {
        return Some((composed.inner.clone(), offset.clone()));
    }
    let changed = changed_bits(&composed.inner, swizzle.period())?;
    if changed & !offset.known_zero_bits() != 0 {
        return None;
    }
    let partners = swizzle.apply(i64::try_from(changed).ok()?) as u64;
    if changed & !partners != 0 {
        return None;
    }
    let unswizzled = bits_to_strides(swizzle, offset)?;
    let layout = composition(&unswizzled, &composed.inner).ok()?;
    Some((layout, swizzle.apply_int(offset)))
}

/// The bits below `period` that the values of a layout have, if no two modes share one.
fn changed_bits(layout: &Layout, period: i64) -> Option<u64> {
    let mut bits = 0u64;
    for (shape, stride) in layout.shape().leaves().iter().zip(layout.stride().leaves()) {
        if shape.is(1) || stride.divisible_by(period) || stride.is(0) {
            continue;
        }
        let (shape, stride) = (shape.as_static()?, stride.as_static()?);
        let powers = shape > 0 && shape.count_ones() == 1 && stride > 0;
        if !powers || stride.count_ones() != 1 {
            return None;
        }
        let here = (stride.checked_mul(shape - 1)? & (period - 1)) as u64;
        if bits & here != 0 {
            return None;
        }
        bits |= here;
    }
    Some(bits)
}

/// The layout `bit -> what flipping it adds to the swizzled offset`.
fn bits_to_strides(swizzle: Swizzle, offset: &Int) -> Option<Layout> {
    let (bits, base) = (swizzle.bits(), swizzle.base());
    let distance = swizzle.shift().unsigned_abs();
    let power = |exponent: u32| Int::Static(1i64 << exponent.min(62));
    let low = |index: u32| base + index;
    let high = |index: u32| base + distance + index;
    // `value` with the sign that bit `at` of the offset says.
    let signed = |value: Int, at: u32| {
        if offset.known_zero_bits() & (1 << at) != 0 {
            return value;
        }
        let bit = offset.floor_div(&power(at)).modulo(&Int::Static(2));
        let sign = Int::ONE.sub(&bit.mul(&Int::Static(2)));
        value.mul(&sign)
    };
    // A deciding bit flips itself and the bit that it decides about.
    let deciding = |itself: u32, other: u32| power(itself).add(&signed(power(other), other));
    let pair = |index: u32| {
        if swizzle.shift() >= 0 {
            let lower = signed(power(low(index)), high(index));
            (lower, deciding(high(index), low(index)))
        } else {
            let upper = signed(power(high(index)), low(index));
            (deciding(low(index), high(index)), upper)
        }
    };
    let mut modes = vec![Layout::scalar(power(base), 1)];
    let (lower, upper): (Vec<Int>, Vec<Int>) = (0..bits).map(pair).unzip();
    modes.extend(lower.into_iter().map(|stride| Layout::scalar(2, stride)));
    modes.push(Layout::scalar(
        power(distance.checked_sub(bits)?),
        power(base + bits),
    ));
    modes.extend(upper.into_iter().map(|stride| Layout::scalar(2, stride)));
    modes.push(Layout::scalar(1, power(base + bits + distance)));
    Some(Layout::concat(modes))
}
