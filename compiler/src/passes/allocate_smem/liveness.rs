//! Liveness of shared-memory buffers: live ranges as operations of the kernel's body.
use crate::passes::ir_utils::{blocks, collect_nested, next_operation, operations, parent, users};
use cutec_dialects::atoms::{Completion, Mechanism};
use cutec_dialects::builder::{IrOp, IrValue, integer_value, operation_key, result_of, value_key};
use cutec_dialects::memo::{type_text, type_value};
use cutec_dialects::ops::{CuteOp, NvvmOp, cute};
use cutec_dialects::types::Vars;
use melior::ir::{ValueLike, operation::OperationLike};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The part of a kernel in which a buffer is used: operations of the body of the kernel by their number,
/// the last included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// From one operation to another.
    Between {
        first: usize,
        last: usize,
        /// How what accesses it after its operation completes, copies to it and products that read it, where no thread waits for it within that
        /// operation of the body, with the last such operation.
        under_way: BTreeMap<Mechanism, usize>,
    },
    /// All of it, or nobody knows.
    Whole,
}

impl Life {
    /// The first operation that uses it.
    pub fn first(&self) -> usize {
        match self {
            Life::Between { first, .. } => *first,
            Life::Whole => 0,
        }
    }
}

/// The body of a kernel.
pub(super) struct KernelOrder<'c> {
    operations: Vec<IrOp<'c>>,
    numbers: HashMap<usize, usize>,
    /// Where all threads meet.
    barriers: Vec<usize>,
    /// Where a thread waits for all it has begun, by mechanism.
    waits: BTreeMap<Mechanism, Vec<usize>>,
}

/// From when on nothing accesses a buffer any more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Release {
    /// The first operation before which all its accesses by this thread are complete; `None` where they never are.
    complete: Option<usize>,
    /// The operation at which all threads have met after that; `None` where they never do.
    met: Option<usize>,
}

impl Release {
    /// Whether all threads have met before an operation.
    pub fn ends_before(self, operation: usize) -> bool {
        self.met.is_some_and(|met| met < operation)
    }
}

impl<'c> KernelOrder<'c> {
    pub fn of(function: IrOp<'c>) -> Self {
        // More than one block: ways through the kernel that are no order. Nor do operations that threads wait for at
        // barriers that count, or in groups of bulk copies, end in that order.
        let operations = match blocks(function, 0).as_slice() {
            [body] if !counts_at_barriers(function) => operations(*body),
            _ => Vec::new(),
        };
        let numbered = operations.iter().enumerate();
        let numbers = numbered
            .map(|(number, op)| (operation_key(*op), number))
            .collect();
        let (mut barriers, mut waits) = (Vec::new(), BTreeMap::<_, Vec<usize>>::new());
        for (number, op) in operations.iter().enumerate() {
            if NvvmOp::Barrier0.is(*op) {
                barriers.push(number);
            }
            if let Some(by) = waits_for_all(*op) {
                waits.entry(by).or_default().push(number);
            }
        }
        KernelOrder {
            operations,
            numbers,
            barriers,
            waits,
        }
    }

    /// From when on nothing accesses a buffer any more; `None` where that is not known.
    pub fn release(&self, life: &Life) -> Option<Release> {
        let Life::Between {
            last, under_way, ..
        } = life
        else {
            return None;
        };
        let complete = under_way
            .iter()
            .try_fold(last + 1, |complete, (by, begun)| {
                let wait = first_from(self.waits.get(by)?, begun + 1)?;
                Some(complete.max(wait + 1))
            });
        let met = complete.and_then(|complete| first_from(&self.barriers, complete));
        Some(Release { complete, met })
    }

    /// When a buffer is used, by itself or by a view of it.
    pub fn life(&self, buffer: IrOp<'c>) -> Life {
        if !self.numbers.contains_key(&operation_key(buffer)) {
            return Life::Whole;
        }
        let (mut open, mut seen) = (vec![result_of(buffer, 0)], HashSet::new());
        let (mut numbers, mut under_way) = (Vec::new(), BTreeMap::new());
        while let Some(value) = open.pop() {
            if !seen.insert(value_key(value)) {
                continue;
            }
            for user in users(value) {
                let kind = CuteOp::of(user);
                // Where it goes from other dialects, nobody knows.
                let (true, Some(number)) = (kind.is_some(), self.number(user)) else {
                    return Life::Whole;
                };
                numbers.push(number);
                let by = kind.and_then(|kind| mechanism(kind, user));
                if let Some(by) = by.filter(|by| !self.waits_inside(user, *by)) {
                    let begun = under_way.entry(by).or_insert(number);
                    *begun = number.max(*begun);
                }
                for index in 0..user.result_count() {
                    let result = result_of(user, index);
                    // Numbers that are read from it, or say how it lies, are no part of it.
                    if type_text(result.r#type()).starts_with("!cute.") {
                        open.push(result);
                    }
                }
            }
        }
        match (numbers.iter().min(), numbers.iter().max()) {
            (Some(first), Some(last)) => Life::Between {
                first: *first,
                last: *last,
                under_way,
            },
            _ => Life::Between {
                first: 0,
                last: 0,
                under_way: BTreeMap::new(),
            },
        }
    }

    /// Whether what is released as `one` is not used any more when `two` begins to be, with all threads sure of it:
    /// `Some(None)` because they meet in between, and with `meet` `Some` of the operation before which they
    /// would have to.
    pub fn apart(&self, one: Option<Release>, two: &Life, meet: bool) -> Option<Option<IrOp<'c>>> {
        let (Some(Release { complete, .. }), Life::Between { first, .. }) = (one, two) else {
            return None;
        };
        if one.is_some_and(|one| one.ends_before(*first)) {
            return Some(None);
        }
        let complete = complete.is_some_and(|complete| complete <= *first);
        let there = self.operations.get(*first).filter(|_| meet && complete)?;
        Some(Some(*there))
    }

    /// Tells of a buffer that all threads meet ahead of an operation of the body.
    pub fn meet_ahead(&self, op: IrOp<'c>, release: &mut Release) {
        let Some(ahead) = self.number(op).and_then(|number| number.checked_sub(1)) else {
            return;
        };
        if release
            .complete
            .is_some_and(|complete| complete <= ahead + 1)
        {
            release.met = Some(release.met.map_or(ahead, |met| met.min(ahead)));
        }
    }

    /// Whether what an operation begins is in a group, and waited for, before the operation of the body ends in which it stands.
    fn waits_inside(&self, op: IrOp<'c>, by: Mechanism) -> bool {
        let around = std::iter::successors(Some(op), |op| parent(*op));
        let inside = around.take_while(|op| !self.numbers.contains_key(&operation_key(*op)));
        let behind = inside
            .flat_map(|op| std::iter::successors(next_operation(op), |op| next_operation(*op)));
        let mut since = behind.skip_while(|op| commits(*op) != Some(by));
        since.any(|op| waits_for_all(op) == Some(by))
    }

    /// The operation of the body in which one stands.
    fn number(&self, op: IrOp<'c>) -> Option<usize> {
        let mut around = std::iter::successors(Some(op), |op| parent(*op));
        around.find_map(|op| self.numbers.get(&operation_key(op)).copied())
    }
}

/// Of what an operation makes a group.
fn commits(op: IrOp) -> Option<Mechanism> {
    match NvvmOp::of(op)? {
        NvvmOp::CpAsyncCommitGroup => Some(Mechanism::CpAsyncGroup),
        NvvmOp::WgmmaCommitGroup => Some(Mechanism::WgmmaGroup),
        _ => None,
    }
}

/// What a thread waits for all of at an operation.
fn waits_for_all(op: IrOp) -> Option<Mechanism> {
    let (by, left) = match NvvmOp::of(op)? {
        NvvmOp::CpAsyncWaitGroup => (Mechanism::CpAsyncGroup, "n"),
        NvvmOp::WgmmaWaitGroup => (Mechanism::WgmmaGroup, "group"),
        _ => return None,
    };
    let left = op.attribute(left).ok().and_then(integer_value);
    (left == Some(0)).then_some(by)
}

/// The first of some numbers, which rise, from one on.
fn first_from(numbers: &[usize], from: usize) -> Option<usize> {
    let at = numbers.partition_point(|number| *number < from);
    numbers.get(at).copied()
}

/// Whether copies of a kernel end by what barriers in shared memory count, or in groups of bulk copies.
fn counts_at_barriers(function: IrOp) -> bool {
    let mut inside = Vec::new();
    collect_nested(function, &mut inside);
    inside.into_iter().any(|op| {
        CuteOp::of(op).is_some_and(CuteOp::is_mbarrier)
            || NvvmOp::CpAsyncBulkCommitGroup.is(op)
            || NvvmOp::CpAsyncBulkWaitGroup.is(op)
            // Others of the cluster may access them.
            || NvvmOp::ClusterWait.is(op)
            || CuteOp::MapSharedRank.is(op)
    })
}

/// By which mechanism a copy or a product completes that is under way when the thread goes on.
/// [`KernelOrder::apart`] knows how a thread waits for it.
fn mechanism(kind: CuteOp, op: IrOp) -> Option<Mechanism> {
    let value = |by: IrValue| type_value(by.r#type(), &mut Vars::default()).ok();
    let completion = match kind {
        CuteOp::Copy => value(cute::Copy::of(op)?.atom())?.copy_atom()?.completion(),
        CuteOp::Gemm => value(cute::Gemm::of(op)?.mma())?.mma_atom()?.completion(),
        _ => return None,
    };
    match completion {
        Completion::AtOnce => None,
        Completion::Later(mechanism) => Some(mechanism),
    }
}
