//! A decoded kernel: its instructions, and what the analyses of them found.

use super::assignment::Registers;
use super::buffer_map::BufferMap;
use super::isa::Instr;
use super::wgmma_registers::WgmmaRegisters;

/// A decoded kernel.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub code: Vec<Instr>,
    /// Rank of each instruction in the order lanes are run: [`super::flow`].
    pub rank: Vec<u32>,
    pub words: usize,
    pub wides: usize,
    pub preds: usize,
    /// Bytes of local memory of a thread.
    pub local_bytes: u32,
    /// Where dynamic shared memory starts, from the start of the window's [`BASE`](super::isa::BASE).
    pub dynamic_shared: u32,
    /// CTAs of a cluster in x, y, z; without clusters a CTA is one by itself.
    pub cluster: [u32; 3],
    /// Whether it updates global memory atomically; then CTAs run in order.
    pub has_global_atomics: bool,
    /// `.maxnreg`: registers of a thread.
    pub registers_at_most: Option<u32>,
    /// Threads of a CTA, by `.reqntid` or `.maxntid`.
    pub threads_at_most: Option<u32>,
    /// `.minnctapersm`.
    pub ctas_at_least: Option<u32>,
    /// The registers of `wgmma`, where it has some.
    pub wgmma_registers: Option<Box<WgmmaRegisters>>,
    /// Whether warpgroups have something to do.
    pub has_warpgroups: bool,
    /// The registers of each instruction.
    pub registers: Registers,
    /// The buffers of shared memory that each instruction may access, where the compiler says so.
    pub buffers: Option<BufferMap>,
}
