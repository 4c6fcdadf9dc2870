//! Which types are legal beyond their notation, and which may be declared where
//! another is inferred.
use crate::types::{Vars, parse_type};
use crate::value::{TupleKind, Val};
use cutec_layout::algebra as layout;
use cutec_layout::{AnyLayout, Int, IntTuple, Layout, Outer, Swizzle, Tiler};

/// Why a value of a type is not legal, if it is not.
pub fn check_type(val: &Val) -> Result<(), String> {
    match val {
        Val::Tuple(TupleKind::Stride, tuple) => {
            let leaves: Vec<&Int> = tuple.leaves().into_iter().flatten().collect();
            strides(&leaves)
        }
        Val::Layout(AnyLayout::Plain(layout)) => plain(layout),
        Val::Layout(AnyLayout::Composed(composed)) => {
            plain(&composed.inner)?;
            let zeros = composed.inner.shape().map(&mut |_| Int::ZERO);
            let start = layout::crd2idx(&zeros, &composed.inner)
                .and_then(|origin| layout::tuple_add(&composed.offset, &origin))
                .map_err(|error| error.to_string())?;
            match &composed.outer {
                Outer::Swizzle(outer) => {
                    swizzle(*outer)?;
                    let scaled = |leaf: &&Int| matches!(leaf, Int::Scaled(..));
                    match composed
                        .inner
                        .stride()
                        .leaves()
                        .iter()
                        .find(|leaf| scaled(leaf))
                    {
                        None if start.is_leaf() => Ok(()),
                        _ => Err("a swizzle applies to integers, not to coordinates".into()),
                    }
                }
                Outer::Layout(outer) => {
                    plain(outer)?;
                    if start.is_leaf() || start.weakly_congruent(outer.shape()) {
                        return Ok(());
                    }
                    Err(format!(
                        "the inner layout gives coordinates such as {start}, which do not fit {}",
                        outer.shape()
                    ))
                }
            }
        }
        Val::Swizzle(value) => swizzle(*value),
        Val::Tile(tiler) => tile(tiler),
        // An atom is checked as it is read; a coordinate or a shape may be any.
        Val::CopyAtom(_)
        | Val::MmaAtom(_)
        | Val::TmaAtom(_)
        | Val::BulkCopy(_)
        | Val::TiledCopy(_)
        | Val::TiledMma(_) => Ok(()),
        Val::Tuple(TupleKind::IntTuple | TupleKind::Coord | TupleKind::Shape, _)
        | Val::Scalar(_)
        | Val::Opaque(_)
        | Val::Ptr(_)
        | Val::View(_)
        | Val::CoordTensor(_) => Ok(()),
    }
}

fn tile(tiler: &Tiler) -> Result<(), String> {
    match tiler {
        Tiler::Layout(layout) => plain(layout),
        Tiler::Tile(modes) => modes.iter().try_for_each(tile),
        Tiler::Int(_) | Tiler::All => Ok(()),
    }
}

fn swizzle(value: Swizzle) -> Result<(), String> {
    let bits = value.bits() + value.base() + value.shift().unsigned_abs();
    if bits > 32 {
        return Err(format!("the swizzle {value} reaches bit {bits}, beyond 32"));
    }
    Ok(())
}

fn plain(layout: &Layout) -> Result<(), String> {
    for extent in layout.shape().leaves() {
        if extent.as_static().is_some_and(|extent| extent <= 0) {
            return Err(format!(
                "an extent of a layout is positive, not {extent} as in {layout}"
            ));
        }
    }
    strides(&layout.stride().leaves())
}

/// Strides are all integers or all scaled bases, zeros aside, and no basis lies on the path of another.
fn strides(leaves: &[&Int]) -> Result<(), String> {
    let scaled: Vec<&Int> = leaves
        .iter()
        .filter(|leaf| matches!(leaf, Int::Scaled(..)))
        .copied()
        .collect();
    let Some(first) = scaled.first() else {
        return Ok(());
    };
    let integer = |leaf: &&&Int| !matches!(leaf, Int::Scaled(..)) && !leaf.is(0);
    if let Some(integer) = leaves.iter().find(integer) {
        return Err(format!("mixes the integer stride {integer} with {first}"));
    }
    for a in &scaled {
        for b in &scaled {
            let (short, long) = (a.path(), b.path());
            if short.len() < long.len() && long.starts_with(short) {
                return Err(format!("the basis of {b} lies inside that of {a}"));
            }
        }
    }
    Ok(())
}

/// Whether a result inferred as one type may be declared as the other: the same
/// function on the same domain, with perhaps less known of its run-time integers.
pub fn compatible(inferred: &str, declared: &str) -> bool {
    let read = |text| parse_type(text, &mut Vars::default()).ok();
    match (read(inferred), read(declared)) {
        (Some(Val::Tuple(a, x)), Some(Val::Tuple(b, y))) if a == b => {
            // A coordinate that wraps may be declared as unknown.
            let forgets = a == TupleKind::Coord;
            x.congruent(&y)
                && x.leaves()
                    .iter()
                    .zip(y.leaves())
                    .all(|(x, y)| match (x, y) {
                        (Some(x), Some(y)) => less_known(x, y) || forgets && !y.is_static(),
                        (None, None) => true,
                        _ => false,
                    })
        }
        (Some(Val::Layout(a)), Some(Val::Layout(b))) => match (&a, &b) {
            (AnyLayout::Plain(a), AnyLayout::Plain(b)) => same_function(a, b),
            (AnyLayout::Composed(a), AnyLayout::Composed(b)) => {
                let outer = match (&a.outer, &b.outer) {
                    (Outer::Swizzle(a), Outer::Swizzle(b)) => a == b,
                    (Outer::Layout(a), Outer::Layout(b)) => same_function(a, b),
                    _ => false,
                };
                outer && tuples(&a.offset, &b.offset) && same_function(&a.inner, &b.inner)
            }
            _ => false,
        },
        (Some(Val::View(a)), Some(Val::View(b))) => {
            a.ptr.elem == b.ptr.elem
                && a.ptr.space == b.ptr.space
                && a.alignment() >= b.alignment()
                && compatible(
                    &Val::Layout(a.layout).to_string(),
                    &Val::Layout(b.layout).to_string(),
                )
        }
        _ => false,
    }
}

fn tuples(inferred: &IntTuple, declared: &IntTuple) -> bool {
    let pairs = inferred.leaves().into_iter().zip(declared.leaves());
    inferred.congruent(declared) && pairs.into_iter().all(|(a, b)| less_known(a, b))
}

fn less_known(inferred: &Int, declared: &Int) -> bool {
    match (inferred, declared) {
        (Int::Static(a), Int::Static(b)) => a == b,
        (Int::Scaled(a, from), Int::Scaled(b, to)) => from == to && less_known(a, b),
        (Int::Dyn(_), Int::Dyn(_)) => {
            inferred.width() == declared.width() && inferred.div() % declared.div() == 0
        }
        _ => false,
    }
}

/// The stride of a mode of one element moves nothing.
fn same_function(inferred: &Layout, declared: &Layout) -> bool {
    let strides = inferred.stride().leaves().into_iter();
    let strides = strides.zip(declared.stride().leaves());
    tuples(inferred.shape(), declared.shape())
        && inferred.stride().congruent(declared.stride())
        && inferred
            .shape()
            .leaves()
            .into_iter()
            .zip(strides)
            .all(|(extent, (a, b))| extent.is(1) || less_known(a, b))
}

#[cfg(test)]
mod tests {
    use super::compatible;

    #[test]
    fn declared_types_say_less() {
        let layout = |text: &str| format!("!cute.layout<\"{text}\">");
        let fits = |a: &str, b: &str| compatible(&layout(a), &layout(b));
        assert!(fits("(?{div=8},4):(1,?)", "(?,4):(1,?)"));
        assert!(!fits("(?,4):(1,?)", "(?{div=8},4):(1,?)"));
        assert!(fits("(4,1):(1,0)", "(4,1):(1,4)"));
        assert!(!fits("(4,2):(1,0)", "(4,2):(1,4)"));
        assert!(!fits("(4,2):(1,4)", "(4,?):(1,4)"));
    }
}
