//! What a launch did, as a profiler shows it: counts for each instruction, and what they come to.
//!
//! In reading order: this file (the data), `class` (what an instruction is, by its text), `reason`
//! (why an access takes more passes or sectors than it needs), [`machine`] (what the SMs of a target
//! have), [`bound`] (what limits a kernel there).

pub mod bound;
mod class;
pub mod machine;
mod reason;

use serde::Serialize;

pub use class::Class;

use super::isa::Instr;
use super::lane::WARP;
use super::{SourceLoc, Stats};

/// Counts of one instruction over all warps of a launch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Times that a warp, or a part of one, executed it.
    pub executed: u64,
    /// Times that a thread did, whose guard held.
    pub threads: u64,
    /// Times that a part of a warp executed it, the rest being elsewhere.
    pub divergent: u64,
    /// Accesses of warps to shared memory.
    pub shared_requests: u64,
    /// Bytes that their threads asked for.
    pub shared_bytes: u64,
    /// Passes over the banks that they took.
    pub wavefronts: u64,
    /// Passes without bank conflicts.
    pub wavefronts_ideal: u64,
    /// Accesses of warps to global memory.
    pub global_requests: u64,
    /// Bytes that their threads asked for.
    pub global_bytes: u64,
    /// Sectors of 32 bytes that they touched, counted anew for each request.
    pub sectors: u64,
    /// The fewest sectors that hold as many different bytes.
    pub sectors_ideal: u64,
}

impl Counts {
    /// Adds those of another part of the launch.
    pub fn add(&mut self, other: &Counts) {
        self.executed += other.executed;
        self.threads += other.threads;
        self.divergent += other.divergent;
        self.shared_requests += other.shared_requests;
        self.shared_bytes += other.shared_bytes;
        self.wavefronts += other.wavefronts;
        self.wavefronts_ideal += other.wavefronts_ideal;
        self.global_requests += other.global_requests;
        self.global_bytes += other.global_bytes;
        self.sectors += other.sectors;
        self.sectors_ideal += other.sectors_ideal;
    }
}

/// One access of a warp, kept as an example of what it costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Lanes and their first bytes.
    pub lanes: Vec<(u32, u64)>,
    /// Bytes of a lane.
    pub bytes: u32,
    /// Passes or sectors.
    pub cost: u64,
    /// The fewest there could be.
    pub ideal: u64,
}

/// One instruction of a kernel.
#[derive(Debug, Clone, Serialize)]
pub struct Instruction {
    /// Line of the PTX text.
    pub ptx_line: u32,
    /// As written.
    pub text: String,
    /// The source line that it comes from.
    pub source: Option<SourceLoc>,
    /// What kind of instruction it is.
    pub class: Class,
    /// Floating-point operations of one execution by all lanes.
    pub flops: u64,
    /// Work on the tensor cores of one execution, in multiply-adds of 16-bit operands that take as
    /// long.
    pub tensor_work: u64,
    /// Bytes of shared memory that the tensor cores read by themselves for one execution: operands of `wgmma`.
    pub operand_bytes: u64,
    /// What it did.
    pub counts: Counts,
    /// Why an access to shared memory takes more passes than it needs.
    pub conflict: Option<String>,
    /// Why an access to global memory touches more sectors than it needs.
    pub uncoalesced: Option<String>,
}

/// What a launch did.
#[derive(Debug, Clone, Serialize)]
pub struct Profile {
    /// The kernel.
    pub entry: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Shared memory of a block in bytes, static and dynamic.
    pub shared_bytes: u32,
    /// Sums over the launch.
    pub stats: Stats,
    /// The instructions in the order of the text.
    pub instructions: Vec<Instruction>,
    /// Different bytes of global memory that were read, in sectors of 32: what DRAM delivers at least.
    pub distinct_read_bytes: u64,
    /// The same for writes.
    pub distinct_written_bytes: u64,
    /// Words of each bank of shared memory that accesses asked for.
    pub banks: [u64; 32],
}

impl Profile {
    /// Sums over all instructions.
    pub fn total(&self) -> Counts {
        let mut total = Counts::default();
        for instruction in &self.instructions {
            total.add(&instruction.counts);
        }
        total
    }

    /// Floating-point operations.
    pub fn flops(&self) -> u64 {
        let instructions = self.instructions.iter();
        instructions
            .map(|i| match i.class {
                Class::Tensor => i.flops * i.counts.executed,
                // Of 32 lanes those whose guard held.
                _ => i.flops / WARP as u64 * i.counts.threads,
            })
            .sum()
    }

    /// Instructions of each class that warps executed, most first.
    pub fn mix(&self) -> Vec<(Class, u64)> {
        let mut mix: Vec<(Class, u64)> = Vec::new();
        for instruction in &self.instructions {
            match mix
                .iter_mut()
                .find(|(class, _)| *class == instruction.class)
            {
                Some((_, count)) => *count += instruction.counts.executed,
                None => mix.push((instruction.class, instruction.counts.executed)),
            }
        }
        mix.retain(|(_, count)| *count > 0);
        mix.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        mix
    }
}

impl Instruction {
    pub(crate) fn new(
        instr: &Instr,
        counts: Counts,
        [shared, global]: [Option<&Sample>; 2],
    ) -> Instruction {
        Instruction {
            ptx_line: instr.line,
            text: instr.text.clone(),
            source: instr.source.clone(),
            class: instr.class(),
            flops: instr.flops(),
            tensor_work: instr.tensor_work(),
            operand_bytes: instr.operand_bytes(),
            counts,
            conflict: shared.map(reason::conflict),
            uncoalesced: global.map(reason::uncoalesced),
        }
    }
}
