//! What there is to say about an error beyond its first line: other places, facts, the usual fix.

use super::{Act, ErrorKind, Party, SourceLoc, Waiter};
use crate::sim::Space;

impl ErrorKind {
    /// Other places that belong to the error, and what is to be seen there.
    pub(super) fn places(&self) -> Vec<(&SourceLoc, String)> {
        let waiting = |waiters: &'_ [Waiter]| -> Vec<(SourceLoc, u32)> {
            let mut places: Vec<(SourceLoc, u32)> = Vec::new();
            for waiter in waiters {
                let Some(source) = &waiter.source else {
                    continue;
                };
                match places.iter_mut().find(|(place, _)| place == source) {
                    Some((_, threads)) => *threads += waiter.lanes.count_ones(),
                    None => places.push((source.clone(), waiter.lanes.count_ones())),
                }
            }
            places
        };
        match self {
            ErrorKind::Race { first, .. } => place(first, format!("the earlier {}", first.act)),
            ErrorKind::CopiesInFlight { copy, .. } => place(copy, "the copy".to_owned()),
            ErrorKind::LeftBehind { access } => place(access, format!("the {}", access.act)),
            ErrorKind::MultiplyInFlight { multiply, .. }
            | ErrorKind::RegisterInFlight { multiply, .. } => {
                place(multiply, "the product".to_owned())
            }
            ErrorKind::MissingWgmmaFence { access, .. } => match access {
                Some(access) => place(access, "the access".to_owned()),
                None => Vec::new(),
            },
            ErrorKind::OutsideOfBuffer { buffer, hit, .. } => {
                let buffers = [(buffer, "the buffer"), (hit, "the buffer that it hits")];
                let places = buffers.into_iter().filter_map(|(buffer, text)| {
                    let source = buffer.as_ref()?.source.as_ref()?;
                    Some((source, text.to_owned()))
                });
                places.collect()
            }
            ErrorKind::Deadlock { waiters, .. }
            | ErrorKind::ClusterDeadlock { waiters, .. }
            | ErrorKind::OpenPhases { waiters, .. }
            | ErrorKind::WarpgroupDivergence { waiters, .. }
            | ErrorKind::BarrierDivergence { waiters } => {
                let threads = waiting(waiters);
                let sources = waiters.iter().filter_map(|waiter| waiter.source.as_ref());
                let mut places: Vec<(&SourceLoc, String)> = Vec::new();
                for source in sources {
                    if places.iter().any(|(known, _)| *known == source) {
                        continue;
                    }
                    let count = threads.iter().find(|(place, _)| place == source);
                    let count = count.map_or(0, |(_, count)| *count);
                    places.push((source, format!("{count} threads wait here")));
                }
                places
            }
            ErrorKind::Polling { polls, .. } => {
                let places = polls.iter().filter_map(|polled| {
                    let text = match polled.threads {
                        1 => "1 thread waits here".to_owned(),
                        threads => format!("{threads} threads wait here"),
                    };
                    Some((polled.source.as_ref()?, text))
                });
                places.collect()
            }
            ErrorKind::Syntax { .. }
            | ErrorKind::UnknownInstruction { .. }
            | ErrorKind::UnknownModifier { .. }
            | ErrorKind::UnknownDirective { .. }
            | ErrorKind::Operand { .. }
            | ErrorKind::Undeclared { .. }
            | ErrorKind::Redeclared { .. }
            | ErrorKind::Limit { .. }
            | ErrorKind::NoSuchEntry { .. }
            | ErrorKind::Launch { .. }
            | ErrorKind::OutOfBounds { .. }
            | ErrorKind::Misaligned { .. }
            | ErrorKind::Uninitialised { .. }
            | ErrorKind::UnassignedRegister { .. }
            | ErrorKind::PendingCopy { .. }
            | ErrorKind::TensorMap { .. }
            | ErrorKind::ClusterBarrier { .. }
            | ErrorKind::Peer { .. }
            | ErrorKind::ReadOnly { .. }
            | ErrorKind::LaneDivergence { .. }
            | ErrorKind::Descriptor { .. }
            | ErrorKind::RegisterPool { .. }
            | ErrorKind::WarpgroupOperand { .. }
            | ErrorKind::BarrierAfterExit { .. }
            | ErrorKind::Mbarrier { .. }
            | ErrorKind::MbarrierAccess { .. }
            | ErrorKind::Barrier { .. }
            | ErrorKind::Trap
            | ErrorKind::StepLimit { .. }
            | ErrorKind::Cancelled
            | ErrorKind::BranchIndex { .. }
            | ErrorKind::Value { .. }
            | ErrorKind::HostAccess { .. } => Vec::new(),
        }
    }

    /// More about it, a line each.
    pub(super) fn notes(&self) -> Vec<String> {
        match self {
            ErrorKind::Race { first, second, .. } => {
                vec![format!("the {second}"), format!("the earlier {first}")]
            }
            ErrorKind::CopiesInFlight { copy, .. } => vec![format!("the copy is the {copy}")],
            ErrorKind::LeftBehind { access } => vec![format!("the access is the {access}")],
            ErrorKind::MultiplyInFlight { multiply, .. }
            | ErrorKind::RegisterInFlight { multiply, .. } => {
                vec![format!("the {multiply}")]
            }
            ErrorKind::MissingWgmmaFence { access, .. } => access
                .iter()
                .map(|access| format!("the access is the {access}"))
                .collect(),
            ErrorKind::Syntax { .. }
            | ErrorKind::UnknownInstruction { .. }
            | ErrorKind::UnknownModifier { .. }
            | ErrorKind::UnknownDirective { .. }
            | ErrorKind::Operand { .. }
            | ErrorKind::Undeclared { .. }
            | ErrorKind::Redeclared { .. }
            | ErrorKind::Limit { .. }
            | ErrorKind::NoSuchEntry { .. }
            | ErrorKind::Launch { .. }
            | ErrorKind::OutOfBounds { .. }
            | ErrorKind::OutsideOfBuffer { .. }
            | ErrorKind::Misaligned { .. }
            | ErrorKind::Uninitialised { .. }
            | ErrorKind::UnassignedRegister { .. }
            | ErrorKind::PendingCopy { .. }
            | ErrorKind::TensorMap { .. }
            | ErrorKind::ClusterDeadlock { .. }
            | ErrorKind::Polling { .. }
            | ErrorKind::ClusterBarrier { .. }
            | ErrorKind::Peer { .. }
            | ErrorKind::ReadOnly { .. }
            | ErrorKind::LaneDivergence { .. }
            | ErrorKind::Descriptor { .. }
            | ErrorKind::RegisterPool { .. }
            | ErrorKind::WarpgroupDivergence { .. }
            | ErrorKind::WarpgroupOperand { .. }
            | ErrorKind::BarrierDivergence { .. }
            | ErrorKind::BarrierAfterExit { .. }
            | ErrorKind::Deadlock { .. }
            | ErrorKind::OpenPhases { .. }
            | ErrorKind::Mbarrier { .. }
            | ErrorKind::MbarrierAccess { .. }
            | ErrorKind::Barrier { .. }
            | ErrorKind::Trap
            | ErrorKind::StepLimit { .. }
            | ErrorKind::Cancelled
            | ErrorKind::BranchIndex { .. }
            | ErrorKind::Value { .. }
            | ErrorKind::HostAccess { .. } => Vec::new(),
        }
    }

    /// What is found beside the first race or missing fence, as it is named there.
    pub(super) fn in_short(&self) -> Option<String> {
        if let ErrorKind::MissingWgmmaFence { .. } = self {
            return Some(format!("also: {self}"));
        }
        let ErrorKind::Race { first, second, .. } = self else {
            return None;
        };
        let place = |party: &Party| match &party.source {
            Some(source) => source.to_string(),
            None => format!("ptx line {}", party.ptx_line),
        };
        Some(format!(
            "also: {self}, at {} and {}",
            place(second),
            place(first)
        ))
    }

    /// What usually mends it.
    pub(super) fn help(&self) -> Option<String> {
        let text = match self {
            ErrorKind::Race {
                first,
                second,
                in_flight,
                space,
                tiles,
                ..
            } => return Some(race_help((first, second), *in_flight, *space, *tiles)),
            ErrorKind::PendingCopy { bulk: true, .. } => {
                "wait for the phase of the copy's mbarrier with `mbarrier_wait(place, parity)`"
            }
            ErrorKind::PendingCopy { .. } => {
                "wait for the group of the copy with `cp_async_wait(n)`, where n groups may stay under \
                 way, and then at a `barrier()` where other threads made the copy"
            }
            ErrorKind::CopiesInFlight { copy, committed } if copy.act == Act::BulkRead => {
                match committed {
                    true => "end with `bulk_wait_read(0)` in the thread that has made the copy",
                    false => {
                        "`bulk_commit()` closes a group, and `bulk_wait_read(0)` waits until the groups of the thread are read"
                    }
                }
            }
            ErrorKind::CopiesInFlight {
                committed: true, ..
            } => "end with `cp_async_wait(0)`, or do not start copies that nobody reads",
            ErrorKind::CopiesInFlight { .. } => {
                "`cp_async_commit()` closes a group, `cp_async_wait(0)` waits for all of them"
            }
            ErrorKind::MultiplyInFlight {
                committed: true, ..
            } => "end with `wgmma_wait(0)`",
            ErrorKind::MultiplyInFlight { .. } => {
                "`wgmma_commit()` closes a group, `wgmma_wait(0)` waits for all of them"
            }
            ErrorKind::RegisterInFlight { .. } => {
                "wait for the group of the product with `wgmma_wait(n)`, where n groups may stay under way, before \
                 its accumulators or the registers of A are used"
            }
            ErrorKind::MissingWgmmaFence { .. } => {
                "put `wgmma_fence()` before the first product that uses registers which other instructions have read \
                 or written"
            }
            ErrorKind::Uninitialised { .. } => {
                "write it before it is read, and where another thread writes it, wait for that at a \
                 `barrier()`; what the edge of a tensor leaves unwritten, fill with zeros"
            }
            ErrorKind::UnassignedRegister { .. } => {
                "give a fragment or a `var` its value on every path before it is read"
            }
            ErrorKind::OutOfBounds { .. } | ErrorKind::OutsideOfBuffer { .. } => {
                "guard the access: a predicate of coordinates, as `in_bounds` gives, or an `if`"
            }
            ErrorKind::Misaligned { .. } => {
                "an access as wide as this needs its address to be a multiple of its size: promise the \
                 divisibility of strides and offsets in `where`, or take narrower accesses"
            }
            ErrorKind::BarrierDivergence { .. } => {
                "a barrier is for all threads of a warp: move it out of the branch"
            }
            ErrorKind::BarrierAfterExit { .. } => {
                "a barrier is for all threads of a warp (PTX ISA, `barrier.aligned`): let the threads that have \
                 nothing to do come to it too, before they leave"
            }
            ErrorKind::Deadlock { .. } => {
                "every thread that a barrier waits for must come to it: look at what the others wait for, \
                 and for threads that have left"
            }
            ErrorKind::LeftBehind { access }
                if matches!(access.act, Act::BulkRead | Act::BulkWrite) =>
            {
                "wait for the mbarrier of every copy before the block ends, and where other blocks of the cluster copy or \
                 arrive here, end with `cluster_barrier()`"
            }
            ErrorKind::LeftBehind { .. } => {
                "other blocks of the cluster may still use the shared memory of this one: end with `cluster_barrier()`, or \
                 wait for all their arrivals"
            }
            ErrorKind::Peer { .. } => {
                "a block may use the shared memory of another one of its cluster after `cluster_barrier()`, by which all \
                 have begun, and before the one at the end"
            }
            ErrorKind::ClusterDeadlock { .. } => {
                "every thread of the cluster must arrive at its barrier: look for those that wait for something else"
            }
            ErrorKind::Polling { are_all: true, .. } => {
                "where blocks wait for each other all of them come to it, or none: look for a branch or a loop around it \
                 that not all take"
            }
            ErrorKind::Polling { are_all: false, .. } => {
                "a block may wait for those that have begun, as by a ticket from an atomic; to wait for all, launch the \
                 kernel with `cooperative()`"
            }
            ErrorKind::OpenPhases { .. } => {
                "every arrival and every byte that a phase expects must come: look at the count of \
                 `mbarrier.init`, at the bytes of `expect_tx`, and at the parity that is waited for"
            }
            ErrorKind::LaneDivergence { .. } => {
                "all lanes that the instruction names must come to it: move it out of the branch"
            }
            ErrorKind::RegisterPool { .. } => {
                "the registers of all warpgroups together are those that the block has at entry: let others give \
                 more away with `warpgroup_reg_dealloc`, or take fewer"
            }
            ErrorKind::WarpgroupDivergence { .. } | ErrorKind::WarpgroupOperand { .. } => {
                "the four warps of a warpgroup execute each `wgmma` together, with the same descriptors"
            }
            ErrorKind::Syntax { .. }
            | ErrorKind::UnknownInstruction { .. }
            | ErrorKind::UnknownModifier { .. }
            | ErrorKind::UnknownDirective { .. }
            | ErrorKind::Operand { .. }
            | ErrorKind::Undeclared { .. }
            | ErrorKind::Redeclared { .. }
            | ErrorKind::Limit { .. }
            | ErrorKind::NoSuchEntry { .. }
            | ErrorKind::Launch { .. }
            | ErrorKind::ReadOnly { .. }
            | ErrorKind::Descriptor { .. }
            | ErrorKind::TensorMap { .. }
            | ErrorKind::ClusterBarrier { .. }
            | ErrorKind::Mbarrier { .. }
            | ErrorKind::MbarrierAccess { .. }
            | ErrorKind::Barrier { .. }
            | ErrorKind::Trap
            | ErrorKind::StepLimit { .. }
            | ErrorKind::Cancelled
            | ErrorKind::BranchIndex { .. }
            | ErrorKind::Value { .. }
            | ErrorKind::HostAccess { .. } => return None,
        };
        Some(text.to_owned())
    }
}

fn place(party: &Party, text: String) -> Vec<(&SourceLoc, String)> {
    party
        .source
        .iter()
        .map(|source| (source, text.clone()))
        .collect()
}

fn race_help(
    (first, second): (&Party, &Party),
    in_flight: bool,
    space: Space,
    tiles: bool,
) -> String {
    let copies = |party: &Party| {
        matches!(
            party.act,
            Act::CopyRead
                | Act::CopyWrite
                | Act::BulkRead
                | Act::BulkWrite
                | Act::BulkSignal
                | Act::MapRead
        )
    };
    let acts = [first.act, second.act];
    // Where a statement begins its line is the same.
    let line = |party: &Party| {
        let source = party.source.as_ref()?;
        Some((source.file.clone(), source.line))
    };
    let one_line = line(first).is_some_and(|of_first| line(second) == Some(of_first));
    let text = match () {
        _ if second.act == Act::MapRead => {
            "who has edited a tensor map releases it, by `fence_tma_desc_release()` or `cp_fence_tma_desc_release(to, from)`, and \
             tells the thread that uses it, through a barrier; that acquires it by `fence_tma_desc_acquire(map)` before the copy"
        }
        _ if first.act == Act::MapRead => {
            "the copy may still use the tensor map: before it is edited, wait for the mbarrier of a load, or with `bulk_wait(0)` for \
             a store, and where another thread edits it, tell that through a barrier"
        }
        _ if in_flight && first.act == Act::MultiplyRead => {
            "the product may still read its operands: wait for its group with `wgmma_wait(n)` before they are \
             overwritten, and where another warp overwrites them, tell it through a barrier"
        }
        _ if first.act == Act::MultiplyRead => {
            "tell the thread that overwrites the operands, through a barrier after `wgmma_wait(n)`"
        }
        _ if second.act == Act::MultiplyRead => {
            "each thread that has written operands of a product calls `fence_proxy_async()`, after it has waited for \
             copies of its own, and then comes to a barrier with the warps that multiply; what TMA has written only \
             needs the wait for its mbarrier"
        }
        _ if in_flight && first.act == Act::BulkRead => {
            "the bulk copy may still read: after a store, wait for its group with `bulk_wait_read(0)` in the thread that made \
             it, and where another thread overwrites the bytes, come to a barrier after that; after a load, wait for its \
             mbarrier"
        }
        _ if in_flight && first.act == Act::BulkWrite => {
            "wait for the bulk copy: each thread that uses what a load brings waits for its mbarrier with \
             `mbarrier_wait(place, parity)`, or comes to a barrier with one that has; after a store, its thread waits with \
             `bulk_wait(0)`"
        }
        _ if matches!(second.act, Act::BulkRead | Act::BulkWrite)
            && matches!(first.act, Act::Write | Act::Update | Act::CopyWrite) =>
        {
            "each thread that has written the bytes calls `fence_proxy_async()`, for the space that they are in, and comes to a \
             barrier with the thread that makes the bulk copy"
        }
        _ if second.act == Act::BulkWrite => {
            "the bulk copy may overwrite what others still use: after their last use they tell the thread that makes the \
             copy, through an mbarrier or another barrier, and before that, what they have read by loads, each calls \
             `fence_proxy_async()`, or the copy overtakes loads that are on their way"
        }
        _ if in_flight => {
            "wait for the copy with `cp_async_wait(n)` in the thread that made it, and then, where another \
             thread uses the bytes, at a `barrier()`"
        }
        _ if first.block != second.block && matches!(space, Space::Shared | Space::Cluster) => {
            "the blocks of a cluster wait for each other at a `cluster_barrier()`: put one between the two"
        }
        _ if first.block != second.block => {
            "blocks run in any order and do not wait for each other: give each block elements of its own, \
             update with atomics, as `atomic_add(x[i], v)`, let one release what another acquires (`atomic_store`, `atomic_load`), or launch a second kernel"
        }
        _ if copies(first) => {
            "`cp_async_wait` makes a copy visible to the thread that made it; others need a `barrier()` \
             after it"
        }
        _ if copies(second) => {
            "the copy may overwrite what others still use: put a `barrier()` between their last use and \
             the copy"
        }
        _ if tiles && first.source == second.source => {
            "elements of a tile lie at one place of the tensor, and are stored in any order: give each a place of its own, or \
             combine them, as by `atomic_add(x.tile(…), v)`"
        }
        _ if tiles => {
            "the compiler orders what the statements of a kernel of tiles do in a block, and has missed these two: that is a \
             mistake of the compiler, please report it"
        }
        _ if acts == [Act::Write; 2] && first.ptx_line == second.ptx_line => {
            "threads write the same element in one statement: give each thread elements of its own, let one thread write, or \
             combine what they have, as by `atomic_add(x[i], v)`"
        }
        _ if one_line && matches!(acts, [Act::Read, Act::Write] | [Act::Write, Act::Read]) => {
            "what a thread reads in this statement another one writes in it: to combine what they have, update the element at \
             once, as by `atomic_add(x[i], v)`; else let all have read it first, and write it after a `barrier()`"
        }
        _ if acts.contains(&Act::Signal) || acts.contains(&Act::BulkSignal) => {
            "make an mbarrier before others use it: put a `barrier()` after `mbarrier.init` and before \
             `mbarrier.inval`"
        }
        _ if first.warp == second.warp => {
            "lanes of a warp do not run in lockstep: put `warp_barrier()` between the two, or `barrier()` where other warps use \
             the bytes as well"
        }
        () => "put a `barrier()` between the two",
    };
    text.to_owned()
}
