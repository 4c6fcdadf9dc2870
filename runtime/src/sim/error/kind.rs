//! What is wrong, as data, with the text of the error's first line.

use super::party::blocks_text;
use super::{Access, Act, OpenPhase, Party, Polled, Waiter};
use crate::abi::counted;
use crate::sim::Space;
use crate::sim::buffers::SharedBuffer;

/// Where undefined bits of a register come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// A register that nothing has written.
    pub register: String,
    /// The first of the bits that are used.
    pub first: u32,
    /// The last one.
    pub last: u32,
}

/// What is wrong, as data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not PTX.
    #[error("PTX syntax: expected {expected}, found {found}")]
    Syntax {
        /// What the grammar wants here.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// An instruction outside of the simulated subset.
    #[error("unknown instruction `{opcode}`: the simulator does not execute it")]
    UnknownInstruction {
        /// The opcode with its modifiers.
        opcode: String,
    },
    /// A modifier that the simulator does not know at this place.
    #[error("`{opcode}`: expected {expected}, found {found}")]
    UnknownModifier {
        /// The opcode with its modifiers.
        opcode: String,
        /// What would be understood.
        expected: String,
        /// The modifier, or that there is none.
        found: String,
    },
    /// A directive outside of the simulated subset.
    #[error("unknown directive `{name}`")]
    UnknownDirective {
        /// The directive.
        name: String,
    },
    /// An operand that does not fit its instruction.
    #[error("`{opcode}`: operand {index}: expected {expected}, found {found}")]
    Operand {
        /// The opcode with its modifiers.
        opcode: String,
        /// Position of the operand, from 0.
        index: usize,
        /// What fits.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A name without declaration.
    #[error("{what} `{name}` is not declared")]
    Undeclared {
        /// Register, label or variable.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A name declared twice in a scope.
    #[error("`{name}` is declared twice")]
    Redeclared {
        /// The name.
        name: String,
    },
    /// A bound that keeps memory finite was passed.
    #[error("{what}: at most {limit}, found {found}")]
    Limit {
        /// What is counted.
        what: &'static str,
        /// The bound.
        limit: u64,
        /// The count.
        found: u64,
    },
    /// The module has no kernel of this name.
    #[error("no kernel `{name}` in the module; it has {entries:?}")]
    NoSuchEntry {
        /// The name asked for.
        name: String,
        /// The kernels there are.
        entries: Vec<String>,
    },
    /// A launch whose arguments do not fit the kernel.
    #[error("launch of `{entry}`: {what}: expected {expected}, found {found}")]
    Launch {
        /// The kernel.
        entry: String,
        /// What does not fit.
        what: &'static str,
        /// What the kernel wants.
        expected: String,
        /// What was given.
        found: String,
    },
    /// An access outside of every object.
    #[error("out-of-bounds {access} of {} at {space} address {address:#x}: {object}", counted(*.size, "byte"))]
    OutOfBounds {
        /// State space.
        space: Space,
        /// Read or write.
        access: Access,
        /// First byte of the access.
        address: u64,
        /// Bytes accessed.
        size: u32,
        /// The nearest object and how far it is missed.
        object: String,
    },
    /// An access to shared memory outside of the buffer that it is an access to.
    #[error("out-of-bounds {access} of {} of shared memory: {}", counted(*.size, "byte"), outside_text(*.start, *.size, *.bytes, .buffer.as_deref(), .hit.as_deref()))]
    OutsideOfBuffer {
        /// Read or write.
        access: Access,
        /// First byte of the access, from the start of the buffer.
        start: i64,
        /// Bytes accessed.
        size: u32,
        /// Bytes of the buffer.
        bytes: u32,
        /// The buffer.
        buffer: Option<Box<SharedBuffer>>,
        /// The buffer that was hit instead.
        hit: Option<Box<SharedBuffer>>,
    },
    /// An address that is not a multiple of the access size.
    #[error("misaligned {access} at {space} address {address:#x}: expected a multiple of {align}, found remainder {}", .address % u64::from(*.align))]
    Misaligned {
        /// State space.
        space: Space,
        /// Read or write.
        access: Access,
        /// First byte of the access.
        address: u64,
        /// Required alignment in bytes.
        align: u32,
    },
    /// A read of bytes nobody has written.
    #[error(
        "read of uninitialised {space} memory: {} at {address:#x}, of which byte {byte} was never written{object}",
        counted(*.size, "byte")
    )]
    Uninitialised {
        /// State space.
        space: Space,
        /// First byte of the access.
        address: u64,
        /// Bytes accessed.
        size: u32,
        /// The first byte of the access that is not initialised.
        byte: u32,
        /// ` (in …)` with the object, or empty.
        object: String,
    },
    /// A use of a register that its thread has not written, or of bits that come from such a register.
    #[error("{}", unassigned_text(.register, .origin.as_ref()))]
    UnassignedRegister {
        /// The register's name.
        register: String,
        /// Where its bits come from, if it is not the one that nothing has written.
        origin: Option<Origin>,
    },
    /// An access to bytes that a `cp.async` or a bulk copy in flight will write.
    #[error("{}", pending_text(*.access, *.address, *.size, *.bulk))]
    PendingCopy {
        /// Read or write.
        access: Access,
        /// First byte of the access.
        address: u64,
        /// Bytes accessed.
        size: u32,
        /// Whether it is a bulk copy, which an `mbarrier` counts.
        bulk: bool,
    },
    /// A tensor map that no hardware takes, or one that does not fit its instruction.
    #[error("tensor map: {what}: expected {expected}, found {found}")]
    TensorMap {
        /// What does not fit.
        what: &'static str,
        /// What is legal.
        expected: String,
        /// What was found.
        found: String,
    },
    /// Two accesses that nothing orders, one of them a write.
    #[error("data race on {object}: {} and an earlier {}, in no order", .second.act, .first.act)]
    Race {
        /// State space.
        space: Space,
        /// A byte of both.
        address: u64,
        /// The byte by name.
        object: String,
        /// The access that came first in this run.
        first: Box<Party>,
        /// The other.
        second: Box<Party>,
        /// Whether the first is a `cp.async` that its thread has not waited for.
        in_flight: bool,
        /// Whether the kernel is of the tile level, where the compiler puts the barriers.
        tiles: bool,
    },
    /// A thread ends, and copies that it started may still be under way.
    #[error("exit with {} in flight: {}", in_flight_text(.copy.act), if *.committed { "its group is never waited for" } else { "it is in no committed group, and never waited for" })]
    CopiesInFlight {
        /// The first such copy.
        copy: Box<Party>,
        /// Whether it was committed.
        committed: bool,
    },
    /// A thread ends, and a `wgmma` of its warpgroup may still be under way.
    #[error("exit with wgmma in flight: {}", if *.committed { "its group is never waited for" } else { "it is in no committed group, and never waited for" })]
    MultiplyInFlight {
        /// The first one.
        multiply: Box<Party>,
        /// Whether it was committed.
        committed: bool,
    },
    /// An access to a register that a `wgmma` in flight uses.
    #[error(
        "{access} of register `{register}` before wgmma wait: a wgmma that no wgmma.wait_group has completed {}",
        if *.accumulator { "adds to it" } else { "reads it as A" }
    )]
    RegisterInFlight {
        /// Read or write.
        access: Access,
        /// The register's name.
        register: String,
        /// Whether it is one of D.
        accumulator: bool,
        /// The `wgmma`.
        multiply: Box<Party>,
    },
    /// A `wgmma` that uses registers which were accessed after the last `wgmma.fence`.
    #[error("wgmma without wgmma.fence: {}", missing_fence_text(.register.as_deref()))]
    MissingWgmmaFence {
        /// A register that was accessed; none where there was no fence at all.
        register: Option<String>,
        /// The access.
        access: Option<Box<Party>>,
    },
    /// A write to memory that cannot be written.
    #[error("write to read-only {space} memory at {address:#x}")]
    ReadOnly {
        /// State space.
        space: Space,
        /// First byte of the access.
        address: u64,
    },
    /// An instruction that needs lanes which stand elsewhere.
    #[error("`{instruction}` needs lanes {needed:#010x} together, found {found:#010x}: {others}")]
    LaneDivergence {
        /// The instruction's opcode.
        instruction: String,
        /// Lanes that must execute it together.
        needed: u32,
        /// Lanes that do.
        found: u32,
        /// Where the others are.
        others: String,
    },
    /// A matrix descriptor of `wgmma` that the ISA does not allow, or that leads out of shared memory.
    #[error("descriptor {descriptor:#x} of {operand}: {what}: expected {expected}, found {found}")]
    Descriptor {
        /// `A` or `B`.
        operand: char,
        /// The descriptor.
        descriptor: u64,
        /// The part of it.
        what: &'static str,
        /// What is legal.
        expected: String,
        /// What was found.
        found: String,
    },
    /// Warps of a warpgroup that do not execute the same operations of `wgmma`.
    #[error("warpgroup divergence: {what}{}", and_list(.waiters))]
    WarpgroupDivergence {
        /// What the warps of the warpgroup should have done together.
        what: String,
        /// Where they are.
        waiters: Vec<Waiter>,
    },
    /// An operation of a warpgroup that has operands which differ among its warps.
    #[error("{what} in warp {warp}: expected {expected}, as in warp {other}, found {found}")]
    WarpgroupOperand {
        /// The operand.
        what: &'static str,
        /// The warp that differs.
        warp: u32,
        /// What another warp has.
        expected: String,
        /// That warp.
        other: u32,
        /// What was found.
        found: String,
    },
    /// A `setmaxnreg.inc` that waits for registers for ever.
    #[error(
        "setmaxnreg waits for registers: its warp lacks {missing} for {wanted} a thread; the block has {registers}, {entry} a thread at entry, and its warpgroups have or want {counts} a thread"
    )]
    RegisterPool {
        /// Registers of a thread that it wants.
        wanted: u32,
        /// Registers that are missing for its warp.
        missing: u32,
        /// Registers of a thread at the kernel's entry.
        entry: u32,
        /// All registers of the CTA.
        registers: u32,
        /// Registers of a thread that each warpgroup has or wants.
        counts: String,
    },
    /// An aligned barrier reached by a part of a warp only.
    #[error("barrier divergence: threads of one warp wait at different barriers: {}", list(.waiters))]
    BarrierDivergence {
        /// The groups of the warp.
        waiters: Vec<Waiter>,
    },
    /// An aligned barrier executed by a warp of which some threads have left.
    #[error(
        "barrier divergence: an aligned barrier in {} of the {} threads of a warp; the others have left the kernel",
        .here.count_ones(),
        (.here | .left).count_ones()
    )]
    BarrierAfterExit {
        /// Lanes that execute it.
        here: u32,
        /// Lanes that have left.
        left: u32,
    },
    /// No thread of the CTA can go on.
    #[error("deadlock: {arrived} of {expected} threads arrived at barrier {barrier}; waiting: {}", list(.waiters))]
    Deadlock {
        /// Barrier resource, 0 to 15.
        barrier: u32,
        /// Threads that arrived.
        arrived: u32,
        /// Threads that the barrier waits for.
        expected: u32,
        /// Every group that waits.
        waiters: Vec<Waiter>,
    },
    /// No thread of the CTA can go on, and some wait for phases of an `mbarrier`.
    #[error("deadlock: {}; waiting: {}", phases_text(.phases), list(.waiters))]
    OpenPhases {
        /// What they wait for.
        phases: Vec<OpenPhase>,
        /// Every group that waits.
        waiters: Vec<Waiter>,
    },
    /// No thread of the cluster can go on, and some wait at its barrier.
    #[error("deadlock: {arrived} of {expected} threads of the cluster arrived at its barrier; waiting: {}", list(.waiters))]
    ClusterDeadlock {
        /// Threads that arrived.
        arrived: u32,
        /// Threads of the cluster that have not left.
        expected: u32,
        /// Every group of the CTA that waits.
        waiters: Vec<Waiter>,
    },
    /// All threads that can go on read memory again and again that no thread will write.
    #[error(
        "deadlock: no thread will write what {}{}{}",
        polls_text(.polls),
        ended_text(.ended, *.are_all),
        and_waiting(.waiters)
    )]
    Polling {
        /// Who reads what where.
        polls: Vec<Polled>,
        /// Every group that waits of the blocks that do not poll.
        waiters: Vec<Waiter>,
        /// `%ctaid` of the blocks that have ended, of those that run together.
        ended: Vec<[u32; 3]>,
        /// Whether all blocks of the launch run together.
        are_all: bool,
    },
    /// An arrival at the cluster's barrier, or a wait, that does not follow the other.
    #[error("barrier of the cluster: expected {expected}, found {found}")]
    ClusterBarrier {
        /// What is legal.
        expected: String,
        /// What was found.
        found: String,
    },
    /// An access to shared memory of the cluster that the ISA leaves undefined.
    #[error(
        "access to the shared memory of CTA {rank} of the cluster: expected {expected}, found {found}"
    )]
    Peer {
        /// Rank of the CTA in its cluster.
        rank: u64,
        /// What is legal.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A CTA ends, and an access to its shared memory may still come.
    #[error("exit of a block whose shared memory is still in use: it knows of no end of a {}", .access.act)]
    LeftBehind {
        /// The access.
        access: Box<Party>,
    },
    /// An `mbarrier` that is used as the ISA does not allow.
    #[error("mbarrier at shared address {address:#x}: {what}: expected {expected}, found {found}")]
    Mbarrier {
        /// The object.
        address: u64,
        /// The operand.
        what: &'static str,
        /// What is legal.
        expected: String,
        /// What was found.
        found: String,
    },
    /// An access to the bytes of an `mbarrier` by another instruction than its own.
    #[error(
        "{access} of an mbarrier: {} at shared address {address:#x} in use as one",
        counted(*.size, "byte")
    )]
    MbarrierAccess {
        /// Read or write.
        access: Access,
        /// First byte of the access.
        address: u64,
        /// Bytes accessed.
        size: u32,
    },
    /// Barrier operands that contradict the ISA or each other.
    #[error("barrier {barrier}: {what}: expected {expected}, found {found}")]
    Barrier {
        /// Barrier resource.
        barrier: u32,
        /// The operand.
        what: &'static str,
        /// What is legal.
        expected: String,
        /// What was found.
        found: u32,
    },
    /// The kernel executed `trap`.
    #[error("the kernel trapped")]
    Trap,
    /// A CTA ran longer than allowed.
    #[error("step limit: a CTA executed more than {limit} warp instructions")]
    StepLimit {
        /// The limit of [`Options`](super::Options).
        limit: u64,
    },
    /// The host ended the launch.
    #[error("the launch was cancelled")]
    Cancelled,
    /// A `brx.idx` outside of its table.
    #[error("brx.idx index {index} outside of its {targets} targets")]
    BranchIndex {
        /// The index.
        index: u32,
        /// Length of the table.
        targets: u32,
    },
    /// An operand value that the ISA leaves undefined.
    #[error("{what}: expected {expected}, found {found}")]
    Value {
        /// The operand.
        what: &'static str,
        /// What is legal.
        expected: String,
        /// What was found.
        found: u64,
    },
    /// A host access to device memory outside of every allocation.
    #[error("host {access} of {} at {address:#x}: {object}", counted(*.size, "byte"))]
    HostAccess {
        /// Read or write.
        access: Access,
        /// Device address.
        address: u64,
        /// Bytes accessed.
        size: u64,
        /// The nearest allocation and how far it is missed.
        object: String,
    },
}

fn outside_text(
    start: i64,
    size: u32,
    bytes: u32,
    buffer: Option<&SharedBuffer>,
    hit: Option<&SharedBuffer>,
) -> String {
    let named = |buffer: Option<&SharedBuffer>| match buffer.and_then(|b| b.name.as_deref()) {
        Some(name) => format!("`{name}`"),
        None => "a buffer".to_owned(),
    };
    let place = match start {
        ..0 => format!("it starts {} before", counted(start.unsigned_abs(), "byte")),
        _ => format!("bytes {start}..{} of", start.saturating_add(size.into())),
    };
    let text = format!(
        "{place} {}, which has {}",
        named(buffer),
        counted(bytes, "byte")
    );
    match hit {
        Some(SharedBuffer {
            name: Some(name), ..
        }) => format!("{text}; it hits `{name}`"),
        Some(_) => format!("{text}; it hits another buffer"),
        None => text,
    }
}

fn unassigned_text(register: &str, origin: Option<&Origin>) -> String {
    match origin {
        None => format!("read of uninitialised register `{register}`: nothing has written it"),
        Some(Origin {
            register: unwritten,
            first,
            last,
        }) => format!(
            "use of uninitialised bits {first} to {last} of register `{register}`: they come from \
             `{unwritten}`, which nothing has written"
        ),
    }
}

fn pending_text(access: Access, address: u64, size: u32, bulk: bool) -> String {
    let are = if size == 1 { "is" } else { "are" };
    let size = counted(size, "byte");
    let target = format!("{size} at shared address {address:#x} {are} the target of a");
    match bulk {
        false => format!(
            "{access} before cp.async wait: {target} cp.async that no cp.async.wait_group has completed"
        ),
        true => format!(
            "{access} before the wait for a bulk copy: {target} cp.async.bulk whose bytes have not arrived"
        ),
    }
}

fn in_flight_text(act: Act) -> &'static str {
    match act {
        Act::BulkRead | Act::BulkWrite | Act::BulkSignal | Act::MapRead => "a bulk copy",
        Act::MultiplyRead | Act::Multiply => "wgmma",
        Act::Read | Act::Write | Act::Update | Act::Signal | Act::CopyRead | Act::CopyWrite => {
            "cp.async"
        }
    }
}

fn missing_fence_text(register: Option<&str>) -> String {
    match register {
        Some(register) => format!("`{register}` was accessed after the last one"),
        None => "there is none before the first of the warpgroup".to_owned(),
    }
}

fn phases_text(phases: &[OpenPhase]) -> String {
    let phases: Vec<String> = phases.iter().map(OpenPhase::to_string).collect();
    phases.join(", ")
}

fn polls_text(polls: &[Polled]) -> String {
    let polls: Vec<String> = polls.iter().map(Polled::to_string).collect();
    polls.join(", and what ")
}

fn ended_text(ended: &[[u32; 3]], are_all: bool) -> String {
    let begun = match are_all {
        true => "",
        false => "; blocks run one after another here, and those behind have not begun",
    };
    match ended {
        [] => begun.to_owned(),
        [_] => format!("; {} has ended{begun}", blocks_text(ended)),
        _ => format!("; {} have ended{begun}", blocks_text(ended)),
    }
}

fn and_waiting(waiters: &[Waiter]) -> String {
    match waiters {
        [] => String::new(),
        waiters => format!("; waiting: {}", list(waiters)),
    }
}

fn and_list(waiters: &[Waiter]) -> String {
    match waiters {
        [] => String::new(),
        waiters => format!(": {}", list(waiters)),
    }
}

fn list(waiters: &[Waiter]) -> String {
    let shown: Vec<String> = waiters.iter().take(8).map(Waiter::to_string).collect();
    let more = waiters.len().saturating_sub(8);
    match more {
        0 => shown.join("; "),
        _ => format!("{}; and {more} more", shown.join("; ")),
    }
}
