//! The elements of a view: one by one, as a vector, and how many of them one access may take.
use super::SemError;
use crate::target::WIDEST_ACCESS;
use crate::value::View;
use cutec_layout::algebra as layout;
use cutec_layout::{Int, Layout, Tree};

/// Elements or instructions that one operation of a thread is taken apart into: each is code.
const MAX_UNROLLED: i64 = 1 << 14;

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
        let mut groups = offsets.chunks(next as usize);
        let groups = groups.all(|group| group[0].divisible_by(next) && are_neighbours(group));
        if !groups {
            return width;
        }
        width = next;
    }
}

/// Whether elements lie side by side, in their order.
pub fn are_neighbours(offsets: &[Int]) -> bool {
    let mut lanes = offsets.iter().enumerate();
    lanes.all(|(lane, at)| at.sub(&offsets[0]).is(lane as i64))
}

fn swizzle_keeps(view: &View, elems: i64) -> bool {
    view.layout
        .swizzle()
        .is_none_or(|swizzle| elems <= 1 << swizzle.base())
}

/// Whether so many elements or instructions are few enough to become code each.
pub(super) fn unrollable(count: Option<i64>, what: &str) -> Result<(), SemError> {
    match count {
        Some(count) if count > MAX_UNROLLED => Err(SemError::Illegal(format!(
            "{count} {what} of one thread are too many; expected at most {MAX_UNROLLED}"
        ))),
        _ => Ok(()),
    }
}

/// Whether elements can be read and written one by one.
pub(super) fn has_values(view: &View) -> Result<(), SemError> {
    match view.ptr.elem {
        elem if elem.is_packed() => Err(SemError::Illegal(format!(
            "elements of {elem} are not read or written one by one; expected a copy of whole bytes by an atom, or a view recast to i8"
        ))),
        _ => Ok(()),
    }
}

/// `vector<NxT>` of all elements of a view.
pub(super) fn vector_type(view: &View) -> Result<String, SemError> {
    has_values(view)?;
    let size = view.layout.size().as_static();
    unrollable(size, "elements")?;
    match size {
        Some(size) => Ok(format!("vector<{size}x{}>", view.ptr.elem.value_type())),
        None => Err(SemError::Illegal(format!(
            "a vector has a static number of elements, but the view has {}",
            view.layout.shape()
        ))),
    }
}

/// Offsets of all elements of a layout with a static shape, in the order of their index.
pub fn offsets_of(layout: &Layout) -> Result<Vec<Int>, SemError> {
    let size = layout.size().as_static().ok_or_else(|| {
        SemError::Illegal(format!(
            "expects a static shape, but got {}",
            layout.shape()
        ))
    })?;
    unrollable(Some(size), "elements")?;
    (0..size)
        .map(|index| Ok(layout::offset_at(&Tree::Leaf(Int::Static(index)), layout)?))
        .collect()
}
