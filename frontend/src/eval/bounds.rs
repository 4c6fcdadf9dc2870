//! Indices and thread counts that are known while compiling: outside of a static extent, or of more threads than
//! the block has, they are errors.

use super::values::{Room, Value};
use super::{Evaluator, Result};
use crate::diagnostics::{Diagnostic, codes};
use crate::source::Span;
use cutec_abi::counted;
use cutec_dialects::builder::{IrValue, defining_op};
use cutec_dialects::elem::Space;
use cutec_dialects::ops::{CuteOp, NvvmOp, Op};
use cutec_dialects::semantics::Attrs;
use cutec_dialects::value::{Val, View, without_underscore};
use cutec_layout::algebra::storage;
use cutec_layout::{AnyLayout, Coord, Int, IntTuple, Tree};
use melior::ir::operation::OperationLike;

/// A static index outside of a static extent.
#[derive(Debug, PartialEq, Eq)]
struct Outside {
    /// The mode, from the outside in; empty for a tensor of one mode.
    mode: Vec<usize>,
    index: i64,
    /// `None` where it is known only at run time, and the index is negative.
    extent: Option<i64>,
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// Refuses a static index outside of a static extent, where `op` is one that indexes a view.
    pub(super) fn check_bounds(
        &mut self,
        op: CuteOp,
        operands: &[Value<'c, 'a>],
        vals: &[Val],
        attrs: &Attrs,
        span: Span,
    ) -> Result<()> {
        let view = match op {
            CuteOp::Slice | CuteOp::MemrefLoad | CuteOp::MemrefAtomic | CuteOp::ReduceAsync => 0,
            op if op.is_mbarrier() => 0,
            CuteOp::MemrefStore => 1,
            CuteOp::LocalTile if attrs.proj.is_none() => {
                return match operands.first() {
                    Some(Value::Cute(cute)) if !cute.origin.displaced => {
                        self.check_tile(vals, span)
                    }
                    _ => Ok(()),
                };
            }
            _ => return Ok(()),
        };
        let (Some(Value::Cute(cute)), Some(Val::View(of)), Some(coord)) =
            (operands.get(view), vals.get(view), vals.get(view + 1))
        else {
            return Ok(());
        };
        let coord = match coord {
            Val::Scalar(int) => Tree::Leaf(Some(int.clone())),
            Val::Tuple(_, coord) => coord.clone(),
            _ => return Ok(()),
        };
        let shape = of.layout.shape();
        let found = match cute.origin.displaced {
            true => None,
            false => outside(&coord, shape),
        };
        let Some(Outside {
            mode,
            index,
            extent,
        }) = found
        else {
            return Ok(());
        };
        let what = name_of(of.ptr.space);
        let place = match (mode.as_slice(), extent) {
            (_, None) => format!("the {what} begins at 0"),
            ([], Some(extent)) => format!("the {what} has {}", counted(extent, "element")),
            (mode, Some(extent)) => {
                let mode: Vec<String> = mode.iter().map(usize::to_string).collect();
                format!("mode {} of the {what} has extent {extent}", mode.join("."))
            }
        };
        let message = format!("index {index} is out of bounds: {place}");
        let label = match extent {
            None => format!("expected at least 0, found {index}"),
            Some(0) => "there is no element".to_owned(),
            Some(extent) => format!("expected 0 to {}, found {index}", extent - 1),
        };
        let help = match extent {
            None => format!(
                "an index does not count from the end: there it is `n - {}`, with the extent n",
                index.unsigned_abs()
            ),
            Some(_) => format!("the shape is {shape}"),
        };
        let diagnostic = Diagnostic::error(codes::OUT_OF_BOUNDS, span, message, label);
        Err(self.report(diagnostic.with_help(help)))
    }

    /// Refuses a tile of an allocation at a static coordinate where it has none.
    fn check_tile(&mut self, vals: &[Val], span: Span) -> Result<()> {
        let [Val::View(view), tiler, coord] = vals else {
            return Ok(());
        };
        let of_memory = matches!(view.ptr.space, Space::Rmem | Space::Smem);
        let (Some(extents), Some(tile), Some(coord)) = (
            modes(view.layout.shape()),
            tile_modes(tiler),
            coord_modes(coord),
        ) else {
            return Ok(());
        };
        if !of_memory || extents.len() != tile.len() || tile.len() != coord.len() {
            return Ok(());
        }
        for (mode, ((extent, tile), at)) in extents.iter().zip(&tile).zip(&coord).enumerate() {
            let (Some(extent), Some(tile), Some(at)) = (extent, tile, at) else {
                continue;
            };
            if *tile < 1 || *extent < 1 {
                continue;
            }
            let count = (extent - 1) / tile + 1;
            if (0..count).contains(at) {
                continue;
            }
            let what = name_of(view.ptr.space);
            let message = format!(
                "tile {at} is out of bounds: mode {mode} of the {what} has {}, {} of {tile}",
                counted(*extent, "element"),
                counted(count, "tile")
            );
            let label = format!("expected 0 to {}, found {at}", count - 1);
            return self.error(codes::OUT_OF_BOUNDS, span, message, label);
        }
        Ok(())
    }

    /// Refuses an access that is known to lie outside of what was allocated: a part, a tile or a view may reach further
    /// than what it is made of.
    pub(super) fn check_room(
        &mut self,
        op: CuteOp,
        operands: &[Value<'c, 'a>],
        span: Span,
    ) -> Result<()> {
        let (views, coord): (&[usize], Option<usize>) = match op {
            CuteOp::MemrefLoad | CuteOp::MemrefAtomic => (&[0], Some(1)),
            CuteOp::MemrefStore => (&[1], Some(2)),
            CuteOp::MemrefLoadVec => (&[0], None),
            CuteOp::MemrefStoreVec => (&[1], None),
            CuteOp::AutovecCopy => (&[0, 1], None),
            // Where a predicate decides, what lies outside need not be accessed.
            CuteOp::Copy if operands.len() <= 3 => (&[1, 2], None),
            CuteOp::Gemm => (&[1, 2, 3, 4, 6], None),
            _ => return Ok(()),
        };
        let coord = coord.and_then(|at| operands.get(at));
        for at in views {
            let Some((cute, view)) = operands.get(*at).and_then(Value::as_view) else {
                continue;
            };
            let Some(Room {
                space,
                bits,
                start: Some(start),
            }) = cute.origin.room
            else {
                continue;
            };
            let Some((least, most)) = reach(view, coord) else {
                continue;
            };
            let width = i128::from(view.ptr.elem.bits());
            let bit = |element: i64| i128::from(start) + i128::from(element) * width;
            let outside = match (bit(least) < 0, bit(most) + width > i128::from(bits)) {
                (true, _) => bit(least),
                (_, true) => bit(most),
                (false, false) => continue,
            };
            let what = name_of(space);
            let elem = super::values::elem_name(view.ptr.elem);
            let (found, count) = (outside.div_euclid(width), i128::from(bits) / width);
            let message =
                format!("element {found} is accessed of a {what} that has {count} of {elem}");
            let label = format!("expected 0 to {}, found {found}", count - 1);
            let diagnostic = Diagnostic::error(codes::OUT_OF_BOUNDS, span, message, label);
            let help = "a tile, a part or another view of it must lie inside of it";
            return Err(self.report(diagnostic.with_help(help)));
        }
        Ok(())
    }

    /// Refuses `tiled.slice(thread_idx.x)` where the block has fewer threads than the tiled copy or MMA: parts of
    /// the tile would be nobody's. Any other thread is taken to be meant.
    pub(super) fn check_threads(
        &mut self,
        tiled: &Value<'c, 'a>,
        thread: &Value<'c, 'a>,
        span: Span,
    ) -> Result<()> {
        let (what, wanted) = match tiled {
            Value::Static(Val::TiledCopy(copy)) => ("copy", copy.tiled.threads()),
            Value::Static(Val::TiledMma(mma)) => ("MMA", mma.tiled.threads()),
            _ => return Ok(()),
        };
        let Some(wanted) = wanted.as_static() else {
            return Ok(());
        };
        let there = match (thread, &self.role) {
            (Value::Scalar(scalar), Some(role)) if role.thread == scalar.ir => Some(role.threads),
            (Value::Scalar(scalar), _) => axis_of(scalar.ir)
                .zip(self.block)
                .map(|(axis, block)| block[axis]),
            _ => None,
        };
        let Some(there) = there.filter(|there| *there < wanted) else {
            return Ok(());
        };
        let message = format!(
            "the tiled {what} is of {}, but `{}` has only {}",
            counted(wanted, "thread"),
            self.text(span),
            counted(there, "value")
        );
        let label = "the other threads' part is nobody's";
        let diagnostic = Diagnostic::error(codes::TOO_FEW_THREADS, span, message, label);
        let give = match &self.role {
            Some(role) => format!("let `{}` have {}", role.name, counted(wanted, "thread")),
            None => format!("launch with `block({wanted})`"),
        };
        Err(self.report(diagnostic.with_help(format!(
            "{give}, or make the tiled {what} of {}",
            counted(there, "thread")
        ))))
    }
}

/// The sizes of the modes of a shape, where they are known.
fn modes(shape: &IntTuple) -> Option<Vec<Option<i64>>> {
    let size = |mode: &IntTuple| {
        let leaves = mode.leaves();
        leaves
            .iter()
            .try_fold(1i64, |size, extent| size.checked_mul(extent.as_static()?))
    };
    match shape {
        Tree::Leaf(_) => Some(vec![size(shape)]),
        Tree::Node(modes) => Some(modes.iter().map(size).collect()),
    }
}

/// The extents of a tile, of which a layout is judged by nobody.
fn tile_modes(tiler: &Val) -> Option<Vec<Option<i64>>> {
    match tiler {
        Val::Scalar(extent) => Some(vec![extent.as_static()]),
        Val::Tuple(_, shape) => modes(&without_underscore(shape)?),
        _ => None,
    }
}

/// The parts of a coordinate, where they are known.
fn coord_modes(coord: &Val) -> Option<Vec<Option<i64>>> {
    let part = |part: &Coord| match part {
        Tree::Leaf(Some(Int::Static(at))) => Some(*at),
        Tree::Leaf(_) | Tree::Node(_) => None,
    };
    match coord {
        Val::Scalar(at) => Some(vec![at.as_static()]),
        Val::Tuple(_, Tree::Node(parts)) => Some(parts.iter().map(part).collect()),
        Val::Tuple(_, at) => Some(vec![part(at)]),
        _ => None,
    }
}

/// What messages call memory.
fn name_of(space: Space) -> &'static str {
    match space {
        Space::Rmem => "fragment",
        Space::Smem => "buffer of shared memory",
        Space::Dsmem => "buffer of another block",
        Space::Gmem => "tensor",
    }
}

/// What was allocated, as the whole of its room.
pub(super) fn allocation<'c, 'a>(mut value: Value<'c, 'a>) -> Value<'c, 'a> {
    if let Value::Cute(cute) = &mut value
        && let Val::View(view) = &cute.val
        && let Some(elements) = storage(&view.layout).ok().and_then(|size| size.as_static())
    {
        cute.origin.room = Some(Room {
            space: view.ptr.space,
            bits: elements.saturating_mul(view.ptr.elem.bits()),
            start: Some(0),
        });
    }
    value
}

/// The least and the greatest offset, in elements, of one element of a view or of all; `None` where it is not known.
fn reach(view: &View, coord: Option<&Value<'_, '_>>) -> Option<(i64, i64)> {
    if let Some(coord) = coord {
        let coord = match coord.as_static()? {
            Val::Scalar(int) => Tree::Leaf(int),
            Val::Tuple(_, coord) => without_underscore(&coord)?,
            _ => return None,
        };
        return match view.layout.at(&coord) {
            Ok(Tree::Leaf(Int::Static(offset))) => Some((offset, offset)),
            _ => None,
        };
    }
    let AnyLayout::Plain(layout) = &view.layout else {
        return None;
    };
    let (shape, stride) = (layout.shape().leaves(), layout.stride().leaves());
    let mut ends = (0i64, 0i64);
    for (extent, stride) in shape.into_iter().zip(stride) {
        let last = extent.as_static()?.checked_sub(1)?;
        let by = stride.as_static()?.checked_mul(last)?;
        match by < 0 {
            true => ends.0 = ends.0.checked_add(by)?,
            false => ends.1 = ends.1.checked_add(by)?,
        }
    }
    Some(ends)
}

/// The first leaf of a coordinate that lies outside of its extent.
fn outside(coord: &Coord, shape: &IntTuple) -> Option<Outside> {
    match (coord, shape) {
        (Tree::Leaf(Some(Int::Static(index))), shape) => {
            let extents = shape.leaves();
            let extent = extents.iter().try_fold(1i64, |size, extent| {
                Some(size.saturating_mul(extent.as_static()?))
            });
            let outside = *index < 0 || extent.is_some_and(|extent| *index >= extent);
            outside.then(|| Outside {
                mode: Vec::new(),
                index: *index,
                extent,
            })
        }
        (Tree::Leaf(_), _) => None,
        (Tree::Node(coords), Tree::Node(extents)) if coords.len() == extents.len() => {
            let modes = coords.iter().zip(extents).enumerate();
            modes.into_iter().find_map(|(at, (coord, extent))| {
                let mut found = outside(coord, extent)?;
                found.mode.insert(0, at);
                Some(found)
            })
        }
        // The algebra refuses a coordinate of another rank.
        (Tree::Node(_), _) => None,
    }
}

/// The axis of `thread_idx` that a value is, as it is read.
fn axis_of(value: IrValue<'_>) -> Option<usize> {
    let name = defining_op(value)?.name();
    let found = Op::of_name(name.as_string_ref().as_str().ok()?)?;
    NvvmOp::THREAD_INDEX
        .iter()
        .position(|op| Op::from(*op) == found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(index: i64) -> Coord {
        Tree::Leaf(Some(Int::Static(index)))
    }

    fn extent(extent: i64) -> IntTuple {
        Tree::Leaf(Int::Static(extent))
    }

    #[test]
    fn each_leaf_is_held_against_its_own_extent() {
        let shape = Tree::Node(vec![extent(4), Tree::Node(vec![extent(2), extent(3)])]);
        for (coord, mode) in [
            (Tree::Node(vec![leaf(3), leaf(5)]), None),
            (Tree::Node(vec![leaf(4), leaf(5)]), Some(vec![0])),
            (Tree::Node(vec![leaf(0), leaf(6)]), Some(vec![1])),
            (Tree::Node(vec![leaf(0), leaf(-1)]), Some(vec![1])),
            (
                Tree::Node(vec![leaf(0), Tree::Node(vec![leaf(1), leaf(3)])]),
                Some(vec![1, 1]),
            ),
            (leaf(23), None),
            (leaf(24), Some(vec![])),
            (leaf(i64::MIN), Some(vec![])),
            (Tree::Leaf(None), None),
        ] {
            assert_eq!(outside(&coord, &shape).map(|found| found.mode), mode);
        }
    }

    #[test]
    fn of_what_is_known_at_run_time_only_negative_indices_are_judged() {
        let shape = Tree::Leaf(Int::unknown(0));
        assert_eq!(outside(&leaf(0), &shape), None);
        assert_eq!(outside(&leaf(i64::MAX), &shape), None);
        let negative = outside(&leaf(-1), &shape);
        assert_eq!(negative.map(|found| found.extent), Some(None));
        let index = Tree::Leaf(Some(Int::unknown(0)));
        assert_eq!(outside(&index, &extent(4)), None);
    }

    #[test]
    fn extents_beyond_64_bits_do_not_overflow() {
        let shape = Tree::Node(vec![extent(i64::MAX), extent(i64::MAX)]);
        assert_eq!(outside(&leaf(i64::MAX - 1), &shape), None);
    }
}
