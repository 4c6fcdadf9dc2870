//! A simulator for PTX: runs the text that the compiler emitted, on the CPU, and checks it.
//!
//! ```
//! use cutec_runtime::sim::{Memory, Module, Options};
//!
//! let ptx = "
//! .version 8.0
//! .target sm_80
//! .address_size 64
//! .visible .entry twice(.param .u64 data) {
//!   .reg .b32 %r<3>;
//!   .reg .b64 %rd<4>;
//!   ld.param.u64 %rd1, [data];
//!   mov.u32 %r1, %tid.x;
//!   mul.wide.u32 %rd2, %r1, 4;
//!   add.s64 %rd3, %rd1, %rd2;
//!   ld.global.u32 %r2, [%rd3];
//!   shl.b32 %r2, %r2, 1;
//!   st.global.u32 [%rd3], %r2;
//!   ret;
//! }";
//! let module = Module::parse(ptx)?;
//! let mut memory = Memory::new();
//! let data = memory.alloc(8, "data")?;
//! memory.write(data, &[3, 0, 0, 0, 4, 0, 0, 0])?;
//! module.launch("twice", [1, 1, 1], [2, 1, 1], 0, &data.to_le_bytes(), &mut memory, &Options::default())?;
//! assert_eq!(memory.read(data, 8)?, [6, 0, 0, 0, 8, 0, 0, 0]);
//! # Ok::<(), cutec_runtime::sim::SimError>(())
//! ```
//!
//! # Modules, in reading order
//! - `parse`: PTX text → tokens → syntax tree. Knows the grammar, not the instructions.
//! - `lane`: the registers of a warp, and functions of one lane lifted to 32.
//! - `isa`: the decoded instruction, a closed enum with resolved operands.
//! - `decode`: syntax tree → instructions, one file a family. Here an unknown opcode, modifier or
//!   operand becomes an error; nothing after it looks at text.
//! - `flow`: the control-flow graph, and the order in which groups of diverged lanes are run, so that they
//!   meet again. `assignment`: registers that may be read before they are written. `wgmma_registers`: those that
//!   are out of reach while a product is under way.
//! - [`buffers`]: the buffers of shared memory. `buffer_map`: which instruction may access which.
//! - `kernel`: a decoded kernel with all of that. `entry`: what a module declares.
//! - [`module`]: what a module is, and [`Module::launch`].
//! - `memory`: global memory. [`tensor_map`]: what bulk copies are told of a tensor there.
//! - `exec`: warps, CTAs, shared memory, barriers, `cp.async` and bulk copies, matrices, warpgroups.
//! - `progress`: how far a launch is. `output`: where what it prints goes. [`profile`]: what each instruction did, and what limits a kernel.
//! - `number`: floating-point formats and roundings that Rust does not have.
//! - [`error`]: every error, with data, and what there is to say about it.
//!
//! # What it promises
//! - **No guess.** What it does not execute exactly as the PTX ISA says is an error that names the
//!   instruction and its line, when the module is parsed.
//! - **Copies at any legal moment.** `cp.async` reads its source and writes shared memory at the
//!   wait that completes it, the latest moment the ISA allows, at the earliest, or at a random one
//!   ([`Options::copies`]). An access to the target bytes before the wait is an error. So it is with bulk copies, and with
//!   `wgmma`, its accumulators and the registers of A.
//! - **Races.** With [`Options::races`], two accesses to a byte of shared or global memory that
//!   nothing orders, one of them a write, are an error that names both. Barriers, `bar.warp.sync`,
//!   waits for copies and for `wgmma`, fences and atomics order; that lanes of a warp run together does not.
//! - **Convergence.** Lanes have program counters of their own, as from Volta on. Instructions that
//!   need several lanes (`.sync`, aligned barriers) wait for them, and are errors when they cannot
//!   come.
//! - **Numerics.** `fma`, `div.rn`, `sqrt.rn` and conversions are exact to the bit in every rounding
//!   mode. `mma` adds as the tensor cores of an H200 do, and `wgmma` is taken to do the same. `.approx` functions (and `div.full`)
//!   return the correctly rounded value in place of a chip's approximation. NaNs that arithmetic on
//!   f16, bf16 and f32 makes are the canonical ones; payloads of f64 and through `cvt` may differ
//!   from a chip's.
//! - **Determinism.** CTAs run in parallel, but one CTA runs its warps in a fixed order. A kernel
//!   with global atomics, and any with the check for races, runs its CTAs one after another. Only a kernel whose CTAs race can give
//!   results that vary.
//! - **Bounds.** Memory is bounded by what the launch asks for, time by [`Options::step_limit`].
//!   No PTX text makes it panic.

mod assignment;
mod buffer_map;
pub mod buffers;
mod decode;
mod entry;
pub mod error;
mod exec;
mod flow;
mod isa;
mod kernel;
mod lane;
pub mod memory;
pub mod module;
mod number;
mod output;
mod parse;
pub mod profile;
mod progress;
pub mod tensor_map;
#[cfg(test)]
mod tests;
mod wgmma_registers;

pub use buffers::{SharedBuffer, SharedBuffers};
pub use error::{Access, Act, ErrorKind, Location, Origin, Party, SimError, SourceLoc, Waiter};
pub use memory::Memory;
pub use module::{Entry, Module, Param};
pub use output::Output;
pub use profile::Profile;
pub use progress::Progress;
pub use tensor_map::{PixelBox, TensorMap};

use crate::cancel::Cancel;
use std::fmt;

/// A PTX state space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// No space given: the address says which.
    Generic,
    /// Device memory.
    Global,
    /// Memory of a CTA.
    Shared,
    /// Memory of any CTA of the cluster.
    Cluster,
    /// Memory of a thread.
    Local,
    /// Kernel parameters.
    Param,
    /// Constant variables of the module.
    Const,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Generic => "generic",
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Cluster => "shared::cluster",
            Space::Local => "local",
            Space::Param => "param",
            Space::Const => "const",
        })
    }
}

/// How to run a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Report reads of uninitialised memory and of `cp.async` targets in flight. Accesses outside
    /// of objects and misaligned ones are errors in any case.
    pub checks: bool,
    /// Report data races in shared and global memory, and copies that nobody waits for. Blocks run
    /// one after another then.
    pub races: bool,
    /// Count what each instruction does, bank conflicts included; costs about a fifth of the speed.
    /// [`Module::profile`] gives the counts.
    pub counters: bool,
    /// Another value, another order of the turns of warps and of diverged lanes, to bring races to
    /// light; 0 is the plain order. The same seed always gives the same run.
    pub seed: u64,
    /// When asynchronous copies arrive.
    pub copies: CopyMoment,
    /// The most warp instructions that one CTA may execute.
    pub step_limit: u64,
    /// CPU threads that run CTAs; 0 takes as many as there are cores.
    pub threads: usize,
    /// Is told how far a launch is.
    pub progress: Option<Progress>,
    /// Ends a launch within some milliseconds, with [`ErrorKind::Cancelled`].
    pub cancel: Option<Cancel>,
    /// Where what the kernel prints goes.
    pub output: Output,
    /// Run the cluster with this number only (without clusters, the block), to count what one does: what the launch computes is then not
    /// whole.
    pub only: Option<u64>,
    /// Run all CTAs of a launch at the same time, in turns, as of one whose blocks wait for each other.
    pub together: bool,
    /// Shared memory that a CTA may use, static and dynamic together, in bytes.
    pub shared_limit: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            checks: true,
            races: false,
            counters: false,
            seed: 0,
            copies: CopyMoment::Latest,
            step_limit: 1 << 28,
            threads: 0,
            progress: None,
            cancel: None,
            output: Output::STANDARD,
            only: None,
            together: false,
            // The opt-in maximum of sm_90.
            shared_limit: 227 << 10,
        }
    }
}

/// When an asynchronous copy takes place, of the moments that the ISA allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CopyMoment {
    /// Where it is issued.
    Earliest,
    /// Where it is waited for.
    #[default]
    Latest,
    /// At any time between, as [`Options::seed`] has it.
    Random,
}

impl Options {
    /// The options of one of many legal schedules: number 0 is the one of these options, number 1
    /// has every asynchronous copy at its earliest moment, those from 2 are random.
    pub fn schedule(&self, number: u64) -> Options {
        let mut options = self.clone();
        match number {
            0 => {}
            1 => options.copies = CopyMoment::Earliest,
            _ => {
                options.copies = CopyMoment::Random;
                // Never 0, which would be the plain order.
                options.seed = self.seed.wrapping_add(number).max(1);
            }
        }
        options
    }
}

/// What a launch did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Stats {
    /// Instructions issued, one for each warp (or part of one) that executed it.
    pub warp_instructions: u64,
    /// Instructions executed, one for each thread whose guard held.
    pub thread_instructions: u64,
    /// Bytes that threads read from global memory, `cp.async` included.
    pub global_read_bytes: u64,
    /// Bytes that threads wrote to global memory.
    pub global_written_bytes: u64,
    /// Passes over the shared-memory banks, with [`Options::counters`].
    pub shared_wavefronts: u64,
    /// The passes there would be without bank conflicts, with [`Options::counters`].
    pub shared_wavefronts_ideal: u64,
    /// `mma` and `wgmma` instructions, one for each warp.
    pub mma_instructions: u64,
    /// The multiply-adds of these, as many of 16-bit operands as take the same time: one of 8 bits counts half, one of 32 bits twice.
    pub mma_work: u64,
}

impl Stats {
    fn merge(self, other: Stats) -> Stats {
        Stats {
            warp_instructions: self.warp_instructions + other.warp_instructions,
            thread_instructions: self.thread_instructions + other.thread_instructions,
            global_read_bytes: self.global_read_bytes + other.global_read_bytes,
            global_written_bytes: self.global_written_bytes + other.global_written_bytes,
            shared_wavefronts: self.shared_wavefronts + other.shared_wavefronts,
            shared_wavefronts_ideal: self.shared_wavefronts_ideal + other.shared_wavefronts_ideal,
            mma_instructions: self.mma_instructions + other.mma_instructions,
            mma_work: self.mma_work + other.mma_work,
        }
    }
}
