//! The buffers of a kernel's shared memory, told apart.
//!
//! All buffers lie in one window of dynamic shared memory, and PTX has no trace of them: an address is the
//! window's plus a number, and LLVM shares the sums between buffers. So the compiler says, for each position
//! in the source, which buffers the instructions from there access; `buffer_map` makes of that a set of buffers for each
//! instruction.

use super::error::SourceLoc;

/// The buffers of a kernel, and who accesses them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedBuffers {
    /// The buffers; they may share memory.
    pub buffers: Vec<SharedBuffer>,
    /// Positions in the source with all buffers, by their place in the list, that are accessed from there.
    pub accesses: Vec<(SourceLoc, Vec<usize>)>,
}

/// A buffer of dynamic shared memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedBuffer {
    /// First byte, from the start of dynamic shared memory.
    pub offset: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Name in the source.
    pub name: Option<String>,
    /// Where the source makes it.
    pub source: Option<SourceLoc>,
}
