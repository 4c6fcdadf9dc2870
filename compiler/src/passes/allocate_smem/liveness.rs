//! Liveness of shared-memory buffers: live ranges as operations of the kernel's body.
use crate::passes::ir_utils::{blocks, collect_nested, operations, users};
use cutec_dialects::atoms::{Completion, Mechanism};
use cutec_dialects::builder::{IrOp, IrValue, integer_value, operation_key, result_of, value_key};
use cutec_dialects::memo::{type_text, type_value};
use cutec_dialects::ops::{CuteOp, NvvmOp, cute};
use cutec_dialects::types::Vars;
use melior::ir::{ValueLike, operation::OperationLike};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The part of a kernel in which a buffer is used: operations of the body of the kernel by their number,
/// the last included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// From one operation to another.
    Between {
        first: usize,
        last: usize,
        /// How what accesses it after its operation completes: copies to it, products that read it.
        under_way: BTreeSet<Mechanism>,
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
            match NvvmOp::of(*op) {
                Some(NvvmOp::Barrier0) => barriers.push(number),
                Some(NvvmOp::CpAsyncWaitGroup) if waits_for_all(*op, "n") => {
                    waits
                        .entry(Mechanism::CpAsyncGroup)
                        .or_default()
                        .push(number);
                }
                Some(NvvmOp::WgmmaWaitGroup) if waits_for_all(*op, "group") => {
                    waits.entry(Mechanism::WgmmaGroup).or_default().push(number);
                }
                _ => {}
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
        let complete = under_way.iter().try_fold(last + 1, |complete, by| {
            let wait = first_from(self.waits.get(by)?, last + 1)?;
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
        let (mut numbers, mut under_way) = (Vec::new(), BTreeSet::new());
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
                under_way.extend(kind.and_then(|kind| mechanism(kind, user)));
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
                under_way: BTreeSet::new(),
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

    /// The operation of the body in which one stands.
    fn number(&self, op: IrOp<'c>) -> Option<usize> {
        let mut at = op.to_raw();
        loop {
            if let Some(number) = self.numbers.get(&(at.ptr as usize)) {
                return Some(*number);
            }
            // SAFETY: the operation is alive.
            at = unsafe { mlir_sys::mlirOperationGetParentOperation(at) };
            if at.ptr.is_null() {
                return None;
            }
        }
    }
}

/// Whether a wait is for all groups, as one of its attributes says.
fn waits_for_all(op: IrOp, left: &str) -> bool {
    op.attribute(left).ok().and_then(integer_value) == Some(0)
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
