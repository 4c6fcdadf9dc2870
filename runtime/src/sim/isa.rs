//! The decoded instruction: a closed enum whose operands are resolved to register slots, offsets
//! and instruction indices. Everything that works on each lane alone is one variant,
//! [`Op::Lanes`]; the others touch memory, other lanes or the flow of control.

use std::fmt;

use super::Space;
use super::error::{Act, SourceLoc};
use super::lane::{Dst, LaneFn, Pred, Src};

/// First address of a variable in the shared, local and param spaces. Not 0, so that a null
/// pointer is outside.
pub(crate) const BASE: u64 = 1024;
/// Distance from an address of a space to the generic address of the same byte.
pub(crate) const SHARED_WINDOW: u64 = 0x10_0000_0000;
pub(crate) const LOCAL_WINDOW: u64 = 0x20_0000_0000;
pub(crate) const PARAM_WINDOW: u64 = 0x30_0000_0000;
/// In the window of shared memory, the bits of an address from here on are the rank of its CTA in the cluster, from 1; they
/// are 0 for the CTA that uses the address.
pub(crate) const PEER_SHIFT: u32 = 24;
/// Bytes of a window.
pub(crate) const WINDOW_BYTES: u64 = 0x10_0000_0000;

/// An instruction with its guard and place.
#[derive(Debug)]
pub(crate) struct Instr {
    pub op: Op,
    pub guard: Option<Pred>,
    pub line: u32,
    pub source: Option<SourceLoc>,
    /// Whether `source` is its own, or the last one before an instruction without a line.
    pub has_line: bool,
    pub text: String,
}

/// A field of a tensor map that a kernel can replace; those of a dimension with its number, fastest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MapField {
    Address,
    Extent(usize),
    /// Of the dimension behind the one with this number.
    Stride(usize),
    Box(usize),
    ElementStride(usize),
    Rank,
    Swizzle,
    Fill,
}

/// `[base + offset]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Address {
    pub space: Space,
    pub base: Src,
    pub offset: i64,
}

/// How a loaded element fills its register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extend {
    Zero,
    /// From 8, 16 or 32 bits.
    Sign,
}

/// What a memory operation orders (PTX ISA 8.3 and 8.8). A weak access orders nothing and may not
/// meet another one; strong ones may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Order {
    pub strong: bool,
    pub acquire: bool,
    pub release: bool,
    pub scope: Scope,
}

/// Threads among which a strong operation counts as one (PTX ISA 8.5), the narrowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Scope {
    /// Those of the CTA.
    Cta,
    /// Those of the cluster.
    Cluster,
    /// Those of the device.
    #[default]
    Gpu,
    /// Those of the device, of other devices and of the host.
    Sys,
}

/// A way on which an operation accesses memory (PTX ISA 8.6). Accesses of two proxies are ordered only through a
/// proxy fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proxy {
    /// Loads, stores, atomics, `cp.async`.
    Generic,
    /// Bulk copies, and what `wgmma` reads of shared memory.
    Async,
    /// Tensor maps, when they are read by a copy.
    TensorMap,
}

/// `fence.proxy.async`: orders accesses of the generic proxy before later ones of the async proxy, and the other way
/// around, in the spaces that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProxyFence {
    pub global: bool,
    pub shared: bool,
}

impl Order {
    /// A plain access.
    pub const WEAK: Order = Order {
        strong: false,
        acquire: false,
        release: false,
        scope: Scope::Gpu,
    };
    /// A strong access that orders nothing else: `.relaxed`, `.volatile`, and atomics by default.
    pub const RELAXED: Order = Order {
        strong: true,
        ..Order::WEAK
    };
    /// A fence, or an access with both semantics.
    pub const BOTH: Order = Order {
        strong: true,
        acquire: true,
        release: true,
        scope: Scope::Gpu,
    };
}

/// What an instruction does.
pub(crate) enum Op {
    /// Each lane alone.
    Lanes {
        f: LaneFn,
        /// Operations on floating-point numbers of a lane, where it is arithmetic on such numbers.
        numbers: Option<u32>,
    },
    Load {
        dsts: Box<[Dst]>,
        address: Address,
        bytes: u32,
        extend: Extend,
        order: Order,
    },
    Store {
        srcs: Box<[Src]>,
        address: Address,
        bytes: u32,
        order: Order,
    },
    /// `atom` and `red`: of each element of so many bytes `f(old, b, c)` is stored, `old` returned.
    Atomic {
        dsts: Box<[Dst]>,
        address: Address,
        bytes: u32,
        bs: Box<[Src]>,
        c: Src,
        f: fn(u64, u64, u64) -> u64,
        order: Order,
    },
    CopyAsync {
        dst: Address,
        src: Address,
        bytes: u32,
        src_bytes: CopyBytes,
    },
    /// Closes a group.
    CommitGroup(AsyncGroup),
    /// Waits until at most this many groups are in flight; `None`: for all operations, committed or not.
    WaitGroup(AsyncGroup, Option<u32>),
    /// `cp.async.bulk.wait_group.read`: waits until at most this many groups have sources to read.
    WaitGroupRead(u32),
    /// `cp.async.bulk`, `cp.reduce.async.bulk`.
    Bulk(Box<Bulk>),
    /// `st.async`, `red.async`.
    StoreAsync(Box<StoreAsync>),
    /// `barrier.cluster`.
    ClusterBarrier(ClusterBarrier),
    LoadMatrix {
        dsts: Box<[Dst]>,
        address: Address,
        transpose: bool,
    },
    StoreMatrix {
        srcs: Box<[Src]>,
        address: Address,
        transpose: bool,
    },
    Mma(Box<Mma>),
    /// What the four warps of a warpgroup do together.
    Warpgroup(WarpgroupOp),
    /// What the lanes of a member mask do together.
    Collective {
        members: Src,
        kind: Collective,
    },
    ActiveMask(Dst),
    Barrier(Box<Barrier>),
    Mbarrier(Box<Mbarrier>),
    /// `fence`, `membar`.
    Fence(Order),
    ProxyFence(ProxyFence),
    /// An operation on a tensor map in memory.
    MapEdit(Box<MapEdit>),
    /// `vprintf`: the generic addresses of its text and of its arguments.
    Print {
        result: Dst,
        text: Src,
        arguments: Src,
    },
    Branch {
        target: u32,
    },
    BranchIndexed {
        index: Src,
        targets: Box<[u32]>,
    },
    Exit,
    Trap,
    /// Has no effect on what a kernel computes.
    Hint(Hint),
}

/// An instruction that changes when things happen, and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hint {
    /// `prefetch`, `prefetchu`: here are no caches.
    Prefetch,
    /// `nanosleep`.
    Sleep,
    /// `griddepcontrol`: launches run one after another here, so that those before are complete.
    GridDependency,
}

/// Where an instruction may lead.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Flow<'a> {
    /// To the next one alone.
    Next,
    /// To one of these, or to the next one where its guard does not hold.
    Jump(&'a [u32]),
    /// To the end of the thread, or to the next one where its guard does not hold.
    Exit,
}

impl Op {
    /// Where it may lead.
    pub fn flow(&self) -> Flow<'_> {
        match self {
            Op::Branch { target } => Flow::Jump(std::slice::from_ref(target)),
            Op::BranchIndexed { targets, .. } => Flow::Jump(targets),
            Op::Exit => Flow::Exit,
            Op::Lanes { .. }
            | Op::Load { .. }
            | Op::Store { .. }
            | Op::Atomic { .. }
            | Op::CopyAsync { .. }
            | Op::CommitGroup(_)
            | Op::WaitGroup(..)
            | Op::WaitGroupRead(_)
            | Op::Bulk(_)
            | Op::StoreAsync(_)
            | Op::ClusterBarrier(_)
            | Op::LoadMatrix { .. }
            | Op::StoreMatrix { .. }
            | Op::Mma(_)
            | Op::Warpgroup(_)
            | Op::Collective { .. }
            | Op::ActiveMask(_)
            | Op::Barrier(_)
            | Op::Mbarrier(_)
            | Op::Fence(_)
            | Op::ProxyFence(_)
            | Op::MapEdit(_)
            | Op::Print { .. }
            | Op::Trap
            | Op::Hint(_) => Flow::Next,
        }
    }

    /// What it does to memory where it reads, or where it writes.
    pub fn act(&self, reads: bool) -> Act {
        match (self, reads) {
            (Op::CopyAsync { .. }, true) => Act::CopyRead,
            (Op::CopyAsync { .. }, false) => Act::CopyWrite,
            (Op::Bulk(_), true) => Act::BulkRead,
            (Op::Bulk(_) | Op::StoreAsync(_), _) => Act::BulkWrite,
            (Op::Atomic { .. }, _) => Act::Update,
            (Op::Mbarrier(_), _) => Act::Signal,
            (Op::Warpgroup(_), _) => Act::MultiplyRead,
            (
                Op::Load { .. }
                | Op::Store { .. }
                | Op::LoadMatrix { .. }
                | Op::StoreMatrix { .. }
                | Op::Lanes { .. }
                | Op::CommitGroup(_)
                | Op::WaitGroup(..)
                | Op::WaitGroupRead(_)
                | Op::ClusterBarrier(_)
                | Op::Mma(_)
                | Op::Collective { .. }
                | Op::ActiveMask(_)
                | Op::Barrier(_)
                | Op::Fence(_)
                | Op::ProxyFence(_)
                | Op::MapEdit(_)
                | Op::Print { .. }
                | Op::Branch { .. }
                | Op::BranchIndexed { .. }
                | Op::Exit
                | Op::Trap
                | Op::Hint(_),
                _,
            ) => match reads {
                true => Act::Read,
                false => Act::Write,
            },
        }
    }

    /// An operation that is no arithmetic on floating-point numbers.
    pub fn lanes(f: LaneFn) -> Op {
        Op::Lanes { f, numbers: None }
    }

    /// The same operation as one of floating-point arithmetic, with so many operations of a lane.
    pub fn on_numbers(self, operations: u32) -> Op {
        match self {
            Op::Lanes { f, .. } => Op::Lanes {
                f,
                numbers: Some(operations),
            },
            other => other,
        }
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Op")
    }
}

/// A kind of groups that asynchronous operations are committed to. Each thread counts the groups of each kind, and a
/// wait is for one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AsyncGroup {
    /// `cp.async.commit_group`.
    CopyAsync,
    /// `cp.async.bulk.commit_group`.
    Bulk,
}

impl AsyncGroup {
    /// How many kinds there are.
    pub const KINDS: usize = 2;
}

/// What a thread begins with a bulk instruction, all by itself (PTX ISA 9.7.9.25.4 and 9.7.9.25.5).
#[derive(Debug)]
pub(crate) enum Bulk {
    /// Into shared memory; the bytes are counted by an `mbarrier` there.
    Load {
        from: BulkGlobal,
        to: Address,
        /// Bytes, where no tensor map says how many.
        size: Option<Src>,
        barrier: Address,
        /// The CTAs of the cluster, a bit each, that receive the same at the same place.
        multicast: Option<Src>,
    },
    /// From shared into global memory, complete by groups.
    Store {
        from: Address,
        to: BulkGlobal,
        size: Option<Src>,
        update: Option<BulkUpdate>,
    },
    /// From shared memory into that of a CTA of the cluster, whose `mbarrier` counts the bytes.
    Peer {
        from: Address,
        to: Address,
        size: Src,
        barrier: Address,
        update: Option<BulkUpdate>,
    },
}

/// What a kernel does to a tensor map in memory (PTX ISA 9.7.9.28.2, 9.7.13.4, 9.7.13.16).
#[derive(Debug)]
pub(crate) enum MapEdit {
    /// `tensormap.replace`
    Replace {
        map: Address,
        field: MapField,
        value: Src,
    },
    /// `tensormap.cp_fenceproxy`, by a whole warp: a copy to global memory, released to those who use it as a map.
    Publish { to: Address, from: Address },
    /// `fence.proxy.tensormap::generic.release`
    Release,
    /// `fence.proxy.tensormap::generic.acquire`
    Acquire(Address),
}

/// Registers that are stored in the shared memory of a CTA of the cluster, whose `mbarrier` counts the bytes (PTX ISA 9.7.9.12,
/// 9.7.13.7).
#[derive(Debug)]
pub(crate) struct StoreAsync {
    pub address: Address,
    pub barrier: Address,
    pub srcs: Box<[Src]>,
    /// Bytes of each.
    pub bytes: u32,
    /// How they are combined with what is there.
    pub update: Option<Update>,
}

/// `barrier.cluster.arrive`, or `.wait`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClusterBarrier {
    pub waits: bool,
    /// Whether it releases, or acquires.
    pub orders: bool,
    /// Whether all lanes of a warp execute it together.
    pub aligned: bool,
}

/// Where in global memory.
#[derive(Debug)]
pub(crate) enum BulkGlobal {
    /// A box of a tensor, at coordinates with the fastest first.
    Tensor {
        map: Address,
        coordinates: Box<[Src]>,
        /// Of an instruction in im2col mode: by how much the pixels are moved, fastest first; a store moves none.
        offsets: Option<Box<[Src]>>,
    },
    /// Consecutive bytes.
    Flat { address: Address },
}

/// A function of the old value and two operands, as of an atomic.
pub(crate) type Update = fn(u64, u64, u64) -> u64;

/// How elements are combined with those that are there.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BulkUpdate {
    /// By elements of so many bytes.
    Typed { function: Update, bytes: u32 },
    /// By elements of the tensor map's type.
    OfMap(UpdateKind),
}

/// An operation of `cp.reduce.async.bulk`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpdateKind {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
}

impl UpdateKind {
    pub const ALL: [UpdateKind; 8] = [
        UpdateKind::Add,
        UpdateKind::Min,
        UpdateKind::Max,
        UpdateKind::Inc,
        UpdateKind::Dec,
        UpdateKind::And,
        UpdateKind::Or,
        UpdateKind::Xor,
    ];

    /// Its modifier.
    pub fn name(self) -> &'static str {
        match self {
            UpdateKind::Add => "add",
            UpdateKind::Min => "min",
            UpdateKind::Max => "max",
            UpdateKind::Inc => "inc",
            UpdateKind::Dec => "dec",
            UpdateKind::And => "and",
            UpdateKind::Or => "or",
            UpdateKind::Xor => "xor",
        }
    }
}

/// How much of a `cp.async` comes from its source; zeros fill the rest.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CopyBytes {
    All,
    /// The src-size operand.
    Count(Src),
    /// The ignore-src operand: nothing where it holds.
    Ignore(Pred),
}

/// An operation among lanes that wait for each other.
#[derive(Clone, Copy)]
pub(crate) enum Collective {
    Shuffle {
        mode: ShuffleMode,
        dst: Dst,
        valid: Option<u32>,
        a: Src,
        b: Src,
        c: Src,
    },
    Vote {
        mode: VoteMode,
        dst: VoteDst,
        pred: Pred,
    },
    /// `match.sync`: equal lanes, or all of them.
    Match {
        all: bool,
        dst: Dst,
        valid: Option<u32>,
        value: Src,
        wide: bool,
    },
    Reduce {
        f: fn(u32, u32) -> u32,
        dst: Dst,
        value: Src,
    },
    Elect {
        dst: Dst,
        pred: Option<u32>,
    },
    /// `bar.warp.sync`.
    Barrier,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShuffleMode {
    Up,
    Down,
    Bfly,
    Idx,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VoteMode {
    All,
    Any,
    Uni,
    Ballot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VoteDst {
    Pred(u32),
    Word(Dst),
}

/// A CTA barrier.
#[derive(Debug)]
pub(crate) struct Barrier {
    pub id: Src,
    /// Threads that take part; all of the CTA when absent.
    pub count: Option<Src>,
    /// Whether all lanes of a warp execute it together.
    pub aligned: bool,
    pub kind: BarrierKind,
}

/// What a thread does at a barrier besides arriving.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    /// `bar.red`: waits and receives a combination of every thread's predicate.
    Reduce {
        mode: BarrierReduce,
        pred: Pred,
    },
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum BarrierReduce {
    Popc(Dst),
    And(u32),
    Or(u32),
}

/// An operation on a barrier in shared memory.
#[derive(Debug)]
pub(crate) struct Mbarrier {
    pub address: Address,
    pub order: Order,
    pub kind: MbarrierKind,
}

/// What is done to it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MbarrierKind {
    /// The arrivals that it expects.
    Init(Src),
    Invalidate,
    Arrive(Arrival),
    /// More bytes are to come in this phase.
    Expect(Src),
    /// So many have come.
    Complete(Src),
    Wait {
        /// A predicate: whether the phase is complete.
        done: u32,
        phase: Phase,
        /// Whether it waits before it says no.
        blocks: bool,
    },
    /// An arrival when the thread's earlier operations of a kind of groups are complete; `counted` where the
    /// barrier was told to expect it.
    AsyncArrive {
        group: AsyncGroup,
        counted: bool,
    },
}

/// `arrive` and `arrive_drop`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub state: Dst,
    pub count: Src,
    /// Bytes to expect first.
    pub expect: Option<Src>,
    /// Whether it may not complete the phase.
    pub open: bool,
    /// Whether the following phases expect as many less.
    pub drop: bool,
}

/// A phase to wait for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Phase {
    /// By what an arrival gave.
    State(Src),
    /// By its number's lowest bit.
    Parity(Src),
}

/// A warp-wide matrix multiply-accumulate.
#[derive(Debug)]
pub(crate) struct Mma {
    pub k: usize,
    pub multiplicands: MmaType,
    pub b_type: MmaType,
    pub accumulate: MmaAccumulator,
    /// `.satfinite` of the integer forms.
    pub saturate: bool,
    pub d: Box<[Dst]>,
    pub a: Box<[Src]>,
    pub b: Box<[Src]>,
    pub c: Box<[Src]>,
}

/// What the four warps of a warpgroup execute, each with all its lanes (PTX ISA 9.7.15).
#[derive(Debug)]
pub(crate) enum WarpgroupOp {
    /// `wgmma.fence`.
    Fence,
    /// `wgmma.mma_async`.
    Multiply(Box<Wgmma>),
    /// `wgmma.commit_group`.
    Commit,
    /// `wgmma.wait_group`: until at most this many groups are in flight.
    Wait(u32),
    /// `setmaxnreg`: the registers of a thread.
    SetRegisters { count: u32, increases: bool },
}

/// `wgmma.mma_async`: D of 64 × `n` elements, 16 rows a warp.
#[derive(Debug)]
pub(crate) struct Wgmma {
    pub n: usize,
    /// Types of A and B.
    pub multiplicands: [MmaType; 2],
    pub accumulate: MmaAccumulator,
    /// `.satfinite` of the integer forms.
    pub saturate: bool,
    /// Registers of D, which are read as well where `scale_d` holds.
    pub d: Box<[u32]>,
    pub a: WgmmaA,
    /// The descriptor of B.
    pub b: Src,
    /// Whether D is added to the product.
    pub scale_d: Pred,
    /// `imm-scale-a`, `imm-scale-b`: whether the elements of A, of B are negated.
    pub negate: [bool; 2],
    /// `imm-trans-a`, `imm-trans-b`: whether the rows of A, the columns of B are contiguous in memory, and
    /// not K.
    pub mn_major: [bool; 2],
    /// Of `.sp`: where the elements of A belong.
    pub sparse: Option<Sparse>,
}

/// The operands of `wgmma.mma_async.sp` that tell where the elements of A belong.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sparse {
    pub metadata: Src,
    /// Which pair of each four lanes has them.
    pub selector: usize,
}

/// Where A comes from.
#[derive(Debug)]
pub(crate) enum WgmmaA {
    /// From shared memory, by a descriptor.
    Shared(Src),
    /// From registers, by slot.
    Registers(Box<[u32]>),
}

impl Mma {
    /// Its multiply-adds, as many of 16-bit operands as take the same time. (An `m8n8k4` of f64 has half the rows.)
    pub(crate) fn work(&self) -> u64 {
        let rows = match self.multiplicands {
            MmaType::F64 => 8,
            _ => 16,
        };
        rows * 8 * self.k as u64 * self.multiplicands.bits() / 16
    }
}

impl Wgmma {
    /// The multiply-adds of one of its four warps, counted likewise: k is 32 bytes of any type.
    pub(crate) fn work(&self) -> u64 {
        16 * 16 * self.n as u64
    }
}

/// Element type of A or B.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MmaType {
    F16,
    Bf16,
    Tf32,
    S4,
    U4,
    S8,
    U8,
    E4m3,
    E5m2,
    F64,
}

impl MmaType {
    /// Bits of an element, those that it takes in registers and memory.
    pub(crate) fn bits(self) -> u64 {
        match self {
            MmaType::S4 | MmaType::U4 => 4,
            MmaType::S8 | MmaType::U8 | MmaType::E4m3 | MmaType::E5m2 => 8,
            MmaType::F16 | MmaType::Bf16 => 16,
            MmaType::Tf32 => 32,
            MmaType::F64 => 64,
        }
    }

    /// Whether it is a float of 8 bits, whose products tensor cores add in a way of their own.
    pub(crate) fn is_8_bit_float(self) -> bool {
        match self {
            MmaType::E4m3 | MmaType::E5m2 => true,
            MmaType::F16
            | MmaType::Bf16
            | MmaType::Tf32
            | MmaType::S4
            | MmaType::U4
            | MmaType::S8
            | MmaType::U8
            | MmaType::F64 => false,
        }
    }
}

/// Element type of C and D.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MmaAccumulator {
    F16,
    F32,
    S32,
    F64,
}
