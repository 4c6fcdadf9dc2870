//! How many elements a load or a store may take at a time.
use cutec_dialects::elem::Space;
use cutec_dialects::semantics::{SemError, contiguous_width, offsets_of};
use cutec_dialects::target::WIDEST_ACCESS;
use cutec_dialects::value::View;
use cutec_layout::Int;

/// How a copy that may choose goes: the offsets of both sides in its order, and how many elements it moves at a
/// time.
pub(in crate::passes) struct Vectors {
    pub(in crate::passes) from: Vec<Int>,
    pub(in crate::passes) to: Vec<Int>,
    pub(in crate::passes) width: i64,
}

/// The widest vectors that lie side by side in both views, in whatever order that takes the elements. Registers
/// allow any: a vector is put together from wherever its elements are.
pub(in crate::passes) fn common_vectors(src: &View, dst: &View) -> Result<Vectors, SemError> {
    let from = offsets_of(src.layout.inner())?;
    let to = offsets_of(dst.layout.inner())?;
    let limit = |view: &View, other: &View, offsets: &[Int]| {
        let gathered = view.ptr.space == Space::Rmem && other.ptr.space != Space::Rmem;
        match gathered {
            true => i64::MAX,
            false => contiguous_width(view, offsets),
        }
    };
    let width = |from: &[Int], to: &[Int]| limit(src, dst, from).min(limit(dst, src, to));
    let mut best = Vectors {
        width: width(&from, &to),
        from,
        to,
    };
    if best.width * src.ptr.elem.bytes() >= WIDEST_ACCESS {
        return Ok(best);
    }
    // Not as the elements are numbered, but as they lie on one of the sides.
    for by_source in [true, false] {
        let side = if by_source { &best.from } else { &best.to };
        let Some(order) = ascending(side) else {
            continue;
        };
        let take = |offsets: &[Int]| order.iter().map(|&at| offsets[at].clone()).collect();
        let (from, to): (Vec<Int>, Vec<Int>) = (take(&best.from), take(&best.to));
        let width = width(&from, &to);
        if width > best.width {
            best = Vectors { from, to, width };
        }
    }
    Ok(best)
}

/// In which order offsets ascend, if what lies between them is known and they are not in order.
fn ascending(offsets: &[Int]) -> Option<Vec<usize>> {
    let apart = offsets.iter().map(|at| at.sub(&offsets[0]).as_static());
    let apart: Vec<i64> = apart.collect::<Option<_>>()?;
    let mut order: Vec<usize> = (0..apart.len()).collect();
    order.sort_by_key(|&at| apart[at]);
    (!apart.is_sorted()).then_some(order)
}
