//! Bulk copies without a tensor map, taken apart into runs of neighbouring bytes.
use super::mbarrier::check_place;
use super::view::in_whole_bytes;
use super::{SemError, count_error, integers, operand_error};
use crate::atoms::BulkCopy;
use crate::elem::Space;
use crate::value::{Val, View};
use cutec_abi::counted;
use cutec_layout::algebra as layout;
use cutec_layout::{AnyLayout, Int, Layout, Tree};

/// Bytes of which the length of a run and both its addresses are multiples (PTX ISA, "cp.async.bulk").
const CHUNK: i64 = 16;
/// Runs of one copy: each is an instruction.
const MOST_RUNS: i64 = 256;

/// Which way a bulk copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkDirection {
    /// From global memory to shared memory; counted at a barrier.
    Load,
    /// From shared memory to global memory; in a group of the thread.
    Store,
    /// From shared memory to that of another block of the cluster; counted at a barrier there.
    Peer,
}

/// The instructions of a bulk copy.
#[derive(Clone, Debug)]
pub struct BulkPlan {
    /// The copy.
    pub atom: BulkCopy,
    /// Which way it goes.
    pub direction: BulkDirection,
    /// Source and destination; packed elements as bytes.
    pub views: [View; 2],
    /// Bytes of a run.
    pub bytes: Int,
    /// Where each run starts in source and destination, in elements.
    pub runs: Vec<[Int; 2]>,
}

/// Takes a copy apart: `(source, destination)` of a store, `(source, destination, barriers, which[, mask])` of a load,
/// `(source, destination, barriers, which, rank)` to another block.
///
/// # Errors
/// What does not fit.
pub fn bulk_plan(atom: &BulkCopy, operands: &[Val]) -> Result<BulkPlan, SemError> {
    let [src, dst, rest @ ..] = operands else {
        return count_error("3 to 6", operands.len() + 1);
    };
    let views = [side(atom, src)?, side(atom, dst)?];
    let direction = direction(atom, &views)?;
    check_completion(direction, rest)?;
    if let (Some(how), in_shared) = (atom.reduction, direction == BulkDirection::Peer)
        && how.of_runs(atom.elem, in_shared).is_none()
    {
        let place = if in_shared { "shared" } else { "global" };
        return Err(SemError::Illegal(format!(
            "there is no reduction by {} of {} in {place} memory",
            how.name(),
            atom.elem.language_name()
        )));
    }
    let (elements, runs) = runs(&views)?;
    check_addresses(&views, &elements, &runs)?;
    let bytes = elements.mul(&Int::Static(views[0].ptr.elem.bytes()));
    Ok(BulkPlan {
        atom: *atom,
        direction,
        views,
        bytes,
        runs,
    })
}

/// Takes a prefetch of what lies in global memory apart into runs: where each starts, in elements, and their bytes.
///
/// # Errors
/// What does not fit.
pub fn bulk_prefetch_plan(atom: &BulkCopy, source: &Val) -> Result<BulkPlan, SemError> {
    let view = side(atom, source)?;
    if view.ptr.space != Space::Gmem || atom.reduction.is_some() {
        return operand_error("a view in gmem, and a copy that is no reduction", source);
    }
    let views = [view.clone(), view];
    let (elements, runs) = runs(&views)?;
    check_addresses(&views, &elements, &runs)?;
    let bytes = elements.mul(&Int::Static(views[0].ptr.elem.bytes()));
    Ok(BulkPlan {
        atom: *atom,
        direction: BulkDirection::Load,
        views,
        bytes,
        runs,
    })
}

/// One side, in whole bytes.
fn side(atom: &BulkCopy, val: &Val) -> Result<View, SemError> {
    let Val::View(view) = val else {
        return operand_error("a view", val);
    };
    if view.ptr.elem.bits() != atom.elem.bits() {
        return Err(SemError::Operand {
            expected: format!("a view of {}", atom.elem.language_name()),
            found: view.ptr.elem.language_name().to_owned(),
        });
    }
    if !matches!(view.layout, AnyLayout::Plain(_)) {
        return Err(SemError::Illegal(format!(
            "a bulk copy moves bytes as they lie and knows no swizzle, but a side lies as {}; a copy by a tensor map (`tma_load`) does",
            view.layout
        )));
    }
    in_whole_bytes(view)
}

fn direction(atom: &BulkCopy, [src, dst]: &[View; 2]) -> Result<BulkDirection, SemError> {
    match (src.ptr.space, dst.ptr.space) {
        (Space::Gmem, Space::Smem) if atom.reduction.is_none() => Ok(BulkDirection::Load),
        (Space::Smem, Space::Gmem) => Ok(BulkDirection::Store),
        (Space::Smem, Space::Smem) => Ok(BulkDirection::Peer),
        (from, to) => Err(SemError::Operand {
            expected: match atom.reduction {
                None => "a bulk copy between gmem and smem, or to the smem of another block",
                Some(_) => "a reduction from smem to gmem, or to the smem of another block",
            }
            .to_owned(),
            found: format!("from {from} to {to}"),
        }),
    }
}

/// Checks what says when a copy is complete: a barrier, or nothing where it is a group.
fn check_completion(direction: BulkDirection, rest: &[Val]) -> Result<(), SemError> {
    let single = |val: &Val| integers(val).is_ok_and(|number| number.as_leaf().is_some());
    match (direction, rest) {
        (BulkDirection::Store, []) => Ok(()),
        (BulkDirection::Store, _) => Err(SemError::Illegal(
            "a bulk copy to global memory belongs to a group of its thread and takes no barrier: `bulk_commit()`, `bulk_wait(n)`".into(),
        )),
        (_, []) => Err(SemError::Illegal(
            "needs a barrier that counts its bytes: `barrier = full[s]`".into(),
        )),
        (BulkDirection::Load, [barriers, which, mask @ ..]) => {
            check_place(barriers, which)?;
            match mask {
                [] => Ok(()),
                [mask] if single(mask) => Ok(()),
                [mask] => operand_error("a mask of blocks of the cluster", mask),
                _ => count_error("5 or 6", rest.len() + 3),
            }
        }
        (BulkDirection::Peer, [barriers, which, rank]) => {
            check_place(barriers, which)?;
            match single(rank) {
                true => Ok(()),
                false => operand_error("the rank of a block in its cluster", rank),
            }
        }
        (BulkDirection::Peer, [_, _]) => Err(SemError::Illegal(
            "a bulk copy from shared to shared memory goes to another block of the cluster: `cta = rank` says to which".into(),
        )),
        (BulkDirection::Load | BulkDirection::Peer, _) => {
            count_error("5 or 6", rest.len() + 3)
        }
    }
}

/// The longest runs that lie side by side on both sides: their elements, and where each starts.
fn runs([src, dst]: &[View; 2]) -> Result<(Int, Vec<[Int; 2]>), SemError> {
    let (from, to) = (src.layout.inner(), dst.layout.inner());
    let (found, expected) = (from.size(), to.size());
    if !found.is_static() || !expected.is_static() {
        return whole([from, to]);
    }
    if found != expected {
        return Err(SemError::Illegal(format!(
            "copies {} to {expected}; expects the same static number",
            match found == Int::ONE {
                true => "1 element".to_owned(),
                false => format!("{found} elements"),
            }
        )));
    }
    let run = layout::max_common_layout(to, from)?;
    let elements = run.size();
    let rest = |side: &Layout| -> Result<Layout, SemError> {
        let divided = layout::logical_divide_layout(side, &run)?;
        Ok(divided.mode(1).unwrap_or_else(Layout::unit))
    };
    let (from, to) = (rest(from)?, rest(to)?);
    let count = from.size().as_static().unwrap_or(i64::MAX);
    if count > MOST_RUNS {
        return Err(SemError::Illegal(format!(
            "{count} runs of {elements} neighbouring elements are too many for bulk copies; expected at most {MOST_RUNS}"
        )));
    }
    let runs = (0..count).map(|index| {
        let at = Tree::Leaf(Int::Static(index));
        Ok([layout::offset_at(&at, &from)?, layout::offset_at(&at, &to)?])
    });
    Ok((elements, runs.collect::<Result<_, SemError>>()?))
}

/// One run, where the number of elements is known only at run time: as many as the side has that says it so.
fn whole(sides: [&Layout; 2]) -> Result<(Int, Vec<[Int; 2]>), SemError> {
    let mut elements = None;
    for side in sides {
        let merged = layout::coalesce_run_time(side);
        let (shape, stride) = (merged.shape().leaves(), merged.stride().leaves());
        let (&[extent], &[step]) = (shape.as_slice(), stride.as_slice()) else {
            return Err(SemError::Illegal(format!(
                "of a number of elements that is known only at run time one run is copied, but a side lies as {side}"
            )));
        };
        if !step.is(1) && !extent.is(1) {
            return Err(SemError::Illegal(format!(
                "of a number of elements that is known only at run time one run is copied, but a side lies as {side}"
            )));
        }
        if !extent.is_static() {
            elements.get_or_insert_with(|| extent.clone());
        }
    }
    let elements = elements.unwrap_or(Int::ONE);
    Ok((elements, vec![[Int::ZERO, Int::ZERO]]))
}

/// Checks that length and addresses are multiples of what they must be.
fn check_addresses(views: &[View; 2], elements: &Int, runs: &[[Int; 2]]) -> Result<(), SemError> {
    let bytes = views[0].ptr.elem.bytes();
    let chunk = (CHUNK / bytes).max(1);
    if !elements.divisible_by(chunk) {
        return Err(match elements.as_static() {
            Some(found) => SemError::Illegal(format!(
                "the longest runs of neighbours that source and destination have in common are {}, {}; expected a multiple of {CHUNK} bytes",
                counted(found, "element"),
                counted(found.saturating_mul(bytes), "byte")
            )),
            None => SemError::Illegal(format!(
                "the number of elements is not proven to be a multiple of {chunk}, {CHUNK} bytes; promise it by `where` of the extents, or by `assume` of the numbers that it is made of"
            )),
        });
    }
    for (side, view) in views.iter().enumerate() {
        let name = ["source", "destination"][side];
        let found = view.ptr.alignment();
        if found < CHUNK {
            return Err(SemError::Illegal(match view.ptr.space {
                Space::Gmem => format!(
                    "the {name} is proven to begin at multiples of {} only; promise {CHUNK} by `where align` of the tensor, and that strides, extents and offsets in front of it are multiples of {chunk} elements",
                    counted(found, "byte")
                ),
                Space::Smem | Space::Dsmem | Space::Rmem => format!(
                    "the {name} is proven to begin at multiples of {} only; expected {CHUNK}",
                    counted(found, "byte")
                ),
            }));
        }
        if let Some(start) = runs
            .iter()
            .map(|run| &run[side])
            .find(|start| !start.divisible_by(chunk))
        {
            return Err(SemError::Illegal(match start.as_static() {
                Some(_) => format!(
                    "runs of the {name} do not all begin at multiples of {CHUNK} bytes: it lies as {}",
                    view.layout
                ),
                None => format!(
                    "runs of the {name}, which lies as {}, are not proven to begin at multiples of {CHUNK} bytes; promise that its strides are multiples of {chunk} elements",
                    view.layout
                ),
            }));
        }
    }
    Ok(())
}
