//! A decoded kernel: its instructions, and what the analyses of them found.

use super::assignment::Registers;
use super::buffer_map::BufferMap;
use super::error::SourceLoc;
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
    /// Of a kernel at the tile level, where the compiler says so.
    pub tiles: Option<Tiles>,
}

/// What is known of a kernel at the tile level.
#[derive(Debug)]
pub(crate) struct Tiles {
    /// Of each instruction the statement that scatters by it, from 1, and 0 for others.
    statements: Box<[u32]>,
}

impl Tiles {
    /// Of a kernel that scatters at these positions.
    pub fn new(scatters: &[SourceLoc], code: &[Instr]) -> Tiles {
        let statement = |instr: &Instr| {
            let source = instr.source.as_ref().filter(|_| instr.has_line)?;
            let at = scatters.iter().position(|scatter| scatter == source)?;
            Some(at as u32 + 1)
        };
        let statements = code.iter().map(|instr| statement(instr).unwrap_or(0));
        Tiles {
            statements: statements.collect(),
        }
    }

    /// Whether two instructions store for one statement that scatters: of several elements for one place any one is left.
    #[inline]
    pub fn are_of_one_scatter(&self, a: u32, b: u32) -> bool {
        let [a, b] = [a, b].map(|pc| self.statements[pc as usize]);
        a == b && a != 0
    }
}
