//! Memory effects on fragments: which of them each region of a kernel reads and writes.
use super::super::control_flow::is_loop;
use super::super::ir_utils::{blocks, operations};
use super::unroll_loops::loops_behind;
use cutec_dialects::atoms::{Completion, Mechanism};
use cutec_dialects::builder::{IrOp, IrValue, operands_of, operation_key, result_of, value_key};
use cutec_dialects::memo::{type_text, type_value};
use cutec_dialects::ops::{CuteOp, NvvmOp, cute};
use cutec_dialects::types::Vars;
use melior::ir::{ValueLike, operation::OperationLike};
use rustc_hash::{FxHashMap, FxHashSet};

/// Operations that allocate registers.
const FRAGMENTS: [CuteOp; 3] = [
    CuteOp::MemrefAlloca,
    CuteOp::MmaMakeFragment,
    CuteOp::MakeFragmentLike,
];

/// Operations that go through all of a view, whatever else they take.
const WHOLE: [CuteOp; 3] = [CuteOp::Copy, CuteOp::AutovecCopy, CuteOp::Gemm];

/// Fragments of a kernel that SROA promotes in good time. The largest of the examples has fewer; products
/// that are unrolled a hundred times have thousands.
const MANY: usize = 512;

/// A block, by its address.
type IrBlockKey = usize;

/// The fragments of a kernel, and what its operations do with them. A fragment goes by the key of the value
/// that allocates it.
#[derive(Default)]
pub(super) struct Accesses {
    /// The fragment that a view or a pointer is into.
    fragments: FxHashMap<usize, usize>,
    /// Those of which some part is chosen at run time.
    dynamic: FxHashSet<usize>,
    /// The loops whose index chooses such a part.
    choosing: FxHashSet<usize>,
    /// The block that allocates each fragment.
    home: FxHashMap<usize, IrBlockKey>,
    /// Those that another block accesses too.
    shared: FxHashSet<usize>,
    /// What happens inside each operation that has regions.
    inside: FxHashMap<usize, Accessed>,
    /// What products add to that complete later.
    accumulators: FxHashSet<usize>,
    /// What products read as A, and of its metadata, that complete later.
    factors: FxHashSet<usize>,
    /// Their numbers, in the order of the program.
    numbers: FxHashMap<usize, usize>,
    /// Those of these that there are at an operation which fences such products, or waits for them.
    tied: FxHashMap<usize, Vec<usize>>,
    /// The blocks around the operation at hand, outermost first.
    open: Vec<IrBlockKey>,
    /// Fragments that were read as a whole since something was written to them: products on them have completed.
    read_out: FxHashSet<usize>,
    /// Those of the loops around, which write nothing to them: sums that wait there would only take registers.
    idle: Vec<usize>,
}

/// The fragments that some operations read and write.
#[derive(Default)]
pub(super) struct Accessed {
    pub(super) read: FxHashSet<usize>,
    pub(super) written: FxHashSet<usize>,
    /// What gemms add to.
    pub(super) summed: FxHashSet<usize>,
    /// What is written otherwise than by handing out sums again.
    made: FxHashSet<usize>,
}

impl Accesses {
    /// Those of all operations of a kernel.
    pub(super) fn of(function: IrOp) -> Self {
        let mut accesses = Accesses::default();
        accesses.enter(function);
        // Where a loop's body waits for what its last iteration began, the products stand behind the wait.
        if !accesses.accumulators.is_empty() {
            accesses = Accesses {
                accumulators: accesses.accumulators,
                factors: accesses.factors,
                inside: accesses.inside,
                ..Accesses::default()
            };
            accesses.enter(function);
        }
        accesses
    }

    /// The fragment that a view or a pointer is into; none where that is other memory.
    pub(super) fn fragment(&self, view: IrValue) -> Option<usize> {
        self.fragments.get(&value_key(view)).copied()
    }

    /// Whether some part of a fragment is chosen at run time.
    pub(super) fn chosen_at_run_time(&self, fragment: usize) -> bool {
        self.dynamic.contains(&fragment)
    }

    /// Whether the index of a loop chooses parts of fragments.
    pub(super) fn chooses_registers(&self, of: IrOp) -> bool {
        self.choosing.contains(&operation_key(of))
    }

    /// Whether a fragment is one of very many, and only the block that allocates it accesses it.
    pub(super) fn is_one_of_many(&self, fragment: usize) -> bool {
        self.home.len() > MANY && !self.shared.contains(&fragment)
    }

    /// Whether products add to a fragment that complete later.
    pub(super) fn is_accumulator(&self, fragment: usize) -> bool {
        self.accumulators.contains(&fragment)
    }

    /// Whether products read a fragment that complete later.
    pub(super) fn is_factor(&self, fragment: usize) -> bool {
        self.factors.contains(&fragment)
    }

    /// The registers of products under way that there are at an operation which fences them, or waits for them.
    pub(super) fn tied_at(&self, op: IrOp) -> &[usize] {
        self.tied.get(&operation_key(op)).map_or(&[], Vec::as_slice)
    }

    /// What happens inside an operation that has regions.
    pub(super) fn inside(&self, op: IrOp) -> Option<&Accessed> {
        self.inside.get(&operation_key(op))
    }

    /// Goes through the operations inside of one.
    fn enter(&mut self, op: IrOp) {
        let mut accessed = Accessed::default();
        for region in 0..op.region_count() {
            for block in blocks(op, region) {
                let key = block.to_raw().ptr as IrBlockKey;
                self.open.push(key);
                for inner in operations(block) {
                    self.add(inner, key, &mut accessed);
                    if inner.region_count() > 0 {
                        self.enter_regions(inner);
                        let deeper = &self.inside[&operation_key(inner)];
                        accessed.read.extend(&deeper.read);
                        accessed.written.extend(&deeper.written);
                        accessed.summed.extend(&deeper.summed);
                        accessed.made.extend(&deeper.made);
                    }
                }
                self.open.pop();
            }
        }
        self.inside.insert(operation_key(op), accessed);
    }

    /// Goes through the operations inside of one that may come to them several times, or not at all.
    fn enter_regions(&mut self, op: IrOp) {
        let before = self.idle.len();
        if let Some(known) = self.inside.get(&operation_key(op)) {
            self.read_out
                .retain(|fragment| !known.made.contains(fragment));
            if is_loop(op) {
                self.idle.extend(&self.read_out);
            }
        }
        let read_out = self.read_out.clone();
        self.enter(op);
        self.read_out = read_out;
        self.idle.truncate(before);
    }

    fn add(&mut self, op: IrOp, block: IrBlockKey, accessed: &mut Accessed) {
        let kind = CuteOp::of(op);
        if kind.is_some_and(|kind| FRAGMENTS.contains(&kind)) {
            let fragment = value_key(result_of(op, 0));
            self.fragments.insert(fragment, fragment);
            self.home.insert(fragment, block);
            self.numbers.insert(fragment, self.numbers.len());
            return;
        }
        if matches!(
            NvvmOp::of(op),
            Some(NvvmOp::WgmmaFence | NvvmOp::WgmmaWaitGroup)
        ) {
            self.tie(op, accessed);
            return;
        }
        for (index, operand) in operands_of(op).enumerate() {
            let Some(fragment) = self.fragment(operand) else {
                continue;
            };
            if self.home.get(&fragment) != Some(&block) {
                self.shared.insert(fragment);
            }
            if !kind.is_some_and(|kind| WHOLE.contains(&kind)) {
                let mut choosing = Vec::new();
                for number in operands_of(op)
                    .skip(index + 1)
                    .filter(|it| at_run_time(*it))
                {
                    self.dynamic.insert(fragment);
                    loops_behind(number, &mut choosing);
                }
                self.choosing
                    .extend(choosing.into_iter().map(operation_key));
            }
            match (kind, index) {
                (Some(CuteOp::MemrefLoad | CuteOp::MemrefLoadVec), _)
                | (Some(CuteOp::Gemm), 2..)
                | (Some(CuteOp::Copy), 1 | 3..)
                | (Some(CuteOp::AutovecCopy), 0) => {
                    accessed.read.insert(fragment);
                    let is_part = matches!(kind, Some(CuteOp::Gemm | CuteOp::MemrefLoad));
                    if !is_part && value_key(operand) == fragment {
                        self.read_out.insert(fragment);
                    }
                    if kind == Some(CuteOp::Gemm) && matches!(index, 2 | 6) && completes_later(op) {
                        self.factors.insert(fragment);
                    }
                }
                _ if points(op) => {
                    self.fragments.insert(value_key(result_of(op, 0)), fragment);
                }
                _ => {
                    accessed.written.insert(fragment);
                    accessed.made.insert(fragment);
                    self.read_out.remove(&fragment);
                    if kind == Some(CuteOp::Gemm) {
                        accessed.summed.insert(fragment);
                        if completes_later(op) {
                            self.accumulators.insert(fragment);
                        }
                    }
                }
            }
        }
    }
}

impl Accesses {
    /// An operation that fences products, or waits for them, hands out all accumulators again that may be under way; a fence also what
    /// they read, which is written before it.
    fn tie(&mut self, op: IrOp, accessed: &mut Accessed) {
        let fences = NvvmOp::WgmmaFence.is(op);
        let there = |fragment: &usize| {
            let home = self.home.get(fragment);
            home.is_some_and(|home| self.open.contains(home)) && !self.idle.contains(fragment)
        };
        let mut tied: Vec<usize> = self.accumulators.iter().copied().filter(there).collect();
        accessed.summed.extend(&tied);
        if fences {
            tied.extend(self.factors.iter().copied().filter(there));
        }
        // Not by their addresses: the same program gives the same code.
        tied.sort_unstable_by_key(|fragment| self.numbers.get(fragment));
        tied.dedup();
        accessed.read.extend(&tied);
        accessed.written.extend(&tied);
        for fragment in &tied {
            if self.home.get(fragment) != self.open.last() {
                self.shared.insert(*fragment);
            }
        }
        self.tied.insert(operation_key(op), tied);
    }
}

/// Whether a product is under way when the threads go on.
fn completes_later(gemm: IrOp) -> bool {
    let mma = cute::Gemm::of(gemm).map(cute::Gemm::mma);
    let mma = mma.and_then(|mma| type_value(mma.r#type(), &mut Vars::default()).ok());
    match mma
        .and_then(|mma| mma.mma_atom())
        .map(|atom| atom.completion())
    {
        Some(Completion::Later(Mechanism::WgmmaGroup)) => true,
        Some(Completion::Later(Mechanism::CpAsyncGroup) | Completion::AtOnce) | None => false,
    }
}

/// Whether an operation makes a view or a pointer of what it takes.
fn points(op: IrOp) -> bool {
    let of_result = |ty: &str| ty.starts_with("!cute.memref<") || ty.starts_with("!cute.ptr<");
    op.result_count() == 1 && of_result(&type_text(result_of(op, 0).r#type()))
}

/// Whether a value is a number, or has numbers, that are known at run time.
fn at_run_time(value: IrValue) -> bool {
    let text = type_text(value.r#type());
    ["i32", "i64", "index"].contains(&&*text) || text.contains('?')
}
