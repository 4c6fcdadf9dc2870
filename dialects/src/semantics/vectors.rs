//! How many elements of a view one access may take.
use crate::target::WIDEST_ACCESS;
use crate::value::View;
use cutec_layout::Int;

/// The largest power of two of elements, at most 16 bytes, such that every
/// aligned group of so many is contiguous and its address a multiple of its size.
pub fn contiguous_width(view: &View, offsets: &[Int]) -> i64 {
    let elem = view.ptr.elem;
    let mut width = 1;
    loop {
        let next = width * 2;
        let fits = next * elem.bytes() <= WIDEST_ACCESS && offsets.len() as i64 % next == 0;
        if !fits || view.alignment() < next * elem.bytes() || !swizzle_keeps(view, next) {
            return width;
        }
        let groups = offsets.chunks(next as usize).all(|group| {
            group[0].divisible_by(next)
                && group
                    .iter()
                    .enumerate()
                    .all(|(lane, at)| at.sub(&group[0]).is(lane as i64))
        });
        if !groups {
            return width;
        }
        width = next;
    }
}

fn swizzle_keeps(view: &View, elems: i64) -> bool {
    view.layout
        .swizzle()
        .is_none_or(|swizzle| elems <= 1 << swizzle.base())
}
