//! Barriers in shared memory that count arrivals and bytes (PTX ISA, "mbarrier").
use super::{SemError, count_error, integers, operand_error};
use crate::elem::{Elem, Space};
use crate::ops::CuteOp;
use crate::target::Feature;
use crate::value::Val;
use cutec_layout::algebra as layout;
use std::ops::RangeInclusive;

/// The greatest number of arrivals and of bytes that a phase counts (PTX ISA, "Contents of the mbarrier object").
const MOST: i64 = (1 << 20) - 1;

/// What an operation takes behind the barrier.
struct Takes {
    what: &'static str,
    range: RangeInclusive<i64>,
}

const COUNT: Takes = Takes {
    what: "a number of arrivals",
    range: 1..=MOST,
};
const BYTES: Takes = Takes {
    what: "a number of bytes",
    range: 0..=MOST,
};
const PARITY: Takes = Takes {
    what: "a parity",
    range: 0..=1,
};

/// What an operation takes, and whether it may be at the barrier of another block of the cluster.
fn operands_of(op: CuteOp) -> Option<(Option<Takes>, bool)> {
    Some(match op {
        CuteOp::MbarrierInit => (Some(COUNT), false),
        CuteOp::MbarrierArrive | CuteOp::MbarrierArriveWithinCta => (Some(COUNT), true),
        CuteOp::MbarrierExpectTx | CuteOp::MbarrierArriveExpectTx => (Some(BYTES), true),
        CuteOp::MbarrierWait
        | CuteOp::MbarrierWaitAcrossCluster
        | CuteOp::MbarrierTryWait
        | CuteOp::MbarrierTestWait => (Some(PARITY), false),
        CuteOp::MbarrierInval
        | CuteOp::MbarrierCpAsyncArrive
        | CuteOp::MbarrierCpAsyncArriveNoinc => (None, false),
        _ => return None,
    })
}

/// What an operation on a barrier needs of the target.
pub fn mbarrier_feature(op: CuteOp, operands: &[Val]) -> Feature {
    let counts = |at: usize| match operands.get(at) {
        Some(count) => integers(count).is_ok_and(|count| !count.to_string().eq("1")),
        None => false,
    };
    match op {
        CuteOp::MbarrierExpectTx | CuteOp::MbarrierArriveExpectTx | CuteOp::MbarrierTryWait => {
            Feature::Tma
        }
        CuteOp::MbarrierWaitAcrossCluster => Feature::Clusters,
        // Several arrivals at once, and arrivals in other blocks.
        CuteOp::MbarrierArrive | CuteOp::MbarrierArriveWithinCta if counts(2) => Feature::Tma,
        CuteOp::MbarrierArrive | CuteOp::MbarrierArriveWithinCta if operands.len() > 3 => {
            Feature::Clusters
        }
        _ => Feature::Mbarrier,
    }
}

/// Checks `(view, coordinate[, number][, rank])`.
pub(super) fn check(op: CuteOp, operands: &[Val]) -> Result<(), SemError> {
    let Some((takes, remote)) = operands_of(op) else {
        return Err(SemError::Unknown {
            name: op.name().into(),
        });
    };
    let least = 2 + usize::from(takes.is_some());
    let most = least + usize::from(remote);
    if !(least..=most).contains(&operands.len()) {
        let expected = match remote {
            true => format!("{least} or {most}"),
            false => least.to_string(),
        };
        return count_error(expected, operands.len());
    }
    check_place(&operands[0], &operands[1])?;
    if let (Some(takes), Some(number)) = (&takes, operands.get(2)) {
        let Takes { what, range } = takes;
        let (least, most) = (range.start(), range.end());
        let expected = format!("{what}, {least} to {most}");
        match single(number) {
            Some(known) if known.is_none_or(|known| range.contains(&known)) => {}
            Some(Some(known)) => {
                let found = known.to_string();
                return Err(SemError::Operand { expected, found });
            }
            _ => return operand_error(expected, number),
        }
    }
    match operands.get(least) {
        Some(rank) if single(rank).is_none() => {
            operand_error("the rank of a block in its cluster", rank)
        }
        _ => Ok(()),
    }
}

/// Checks that a view and a coordinate are a barrier.
pub(super) fn check_place(view: &Val, coord: &Val) -> Result<(), SemError> {
    let expected = "a barrier, one element of shared memory of u64";
    let Val::View(place) = view else {
        return operand_error(expected, view);
    };
    if place.ptr.space != Space::Smem || !matches!(place.ptr.elem, Elem::U64 | Elem::I64) {
        return Err(SemError::Operand {
            expected: expected.into(),
            found: format!("{} in {}", place.ptr.elem.language_name(), place.ptr.space),
        });
    }
    layout::crd2idx(&integers(coord)?, place.layout.inner())?;
    Ok(())
}

/// One integer: its number where it is known; `None` where it is something else.
pub(super) fn single(val: &Val) -> Option<Option<i64>> {
    let tuple = integers(val).ok()?;
    tuple.as_leaf().map(|leaf| leaf.as_static())
}
