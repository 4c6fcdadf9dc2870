//! Who takes part in an error: instructions with their threads, waiting threads, open phases.

use std::fmt;

use super::SourceLoc;
use crate::sim::isa::Instr;

/// What an access does to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It reads and writes at once: an atomic.
    Update,
    /// An operation on an `mbarrier`.
    Signal,
    /// `cp.async` reads its source, at any time until it is waited for.
    CopyRead,
    /// `cp.async` writes its target, at any time until it is waited for.
    CopyWrite,
    /// A bulk copy reads its source, at any time until it is complete.
    BulkRead,
    /// A bulk copy reads its tensor map, at any time until it is complete.
    MapRead,
    /// A bulk copy writes its target, at any time until it is complete.
    BulkWrite,
    /// The bytes of a bulk copy are counted at an `mbarrier`, when it is complete.
    BulkSignal,
    /// `wgmma` reads an operand, at any time until it is waited for.
    MultiplyRead,
    /// `wgmma`, where its registers are meant.
    Multiply,
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Act::Read => "read",
            Act::Write => "write",
            Act::Update => "atomic update",
            Act::Signal => "mbarrier operation",
            Act::CopyRead => "read by cp.async",
            Act::CopyWrite => "write by cp.async",
            Act::BulkRead => "read by a bulk copy",
            Act::MapRead => "use as the tensor map of a bulk copy",
            Act::BulkWrite => "write by a bulk copy",
            Act::BulkSignal => "count of the bytes of a bulk copy",
            Act::MultiplyRead => "read by wgmma",
            Act::Multiply => "wgmma",
        })
    }
}

/// One of two instructions that a report is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    /// What it does.
    pub act: Act,
    /// `%ctaid` of its thread.
    pub block: [u32; 3],
    /// `%tid` of its thread.
    pub thread: [u32; 3],
    /// Index of the thread's warp in its block.
    pub warp: u32,
    /// Line of the PTX text.
    pub ptx_line: u32,
    /// Source position of that line.
    pub source: Option<SourceLoc>,
    /// The instruction as written.
    pub instruction: String,
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [x, y, z]) = (self.block, self.thread);
        write!(
            f,
            "{} by thread ({x}, {y}, {z}) of block ({bx}, {by}, {bz}) at `{}` (ptx line {}",
            self.act, self.instruction, self.ptx_line
        )?;
        match &self.source {
            Some(source) => write!(f, ", {source})"),
            None => f.write_str(")"),
        }
    }
}

/// A group of threads that waits, as named in a deadlock report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiter {
    /// Index of the warp in its CTA.
    pub warp: u32,
    /// Lanes of the warp that stand here.
    pub lanes: u32,
    /// Line of the PTX text they stand at.
    pub ptx_line: u32,
    /// Source position of that line.
    pub source: Option<SourceLoc>,
    /// The instruction they stand at.
    pub instruction: String,
}

impl fmt::Display for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "warp {}", self.warp)?;
        if self.lanes != u32::MAX {
            write!(f, " lanes {:#010x}", self.lanes)?;
        }
        write!(f, " at `{}` (ptx line {}", self.instruction, self.ptx_line)?;
        match &self.source {
            Some(source) => write!(f, ", {source})"),
            None => f.write_str(")"),
        }
    }
}

/// A phase of an `mbarrier` that is not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPhase {
    /// Shared address of the object.
    pub address: u64,
    /// The phase, from 0.
    pub phase: u64,
    /// Arrivals that are missing.
    pub missing: u32,
    /// Arrivals of each phase.
    pub expected: u32,
    /// Bytes that are missing.
    pub bytes: i64,
}

impl fmt::Display for OpenPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OpenPhase {
            address,
            phase,
            missing,
            expected,
            bytes,
        } = self;
        write!(
            f,
            "phase {phase} of the mbarrier at shared address {address:#x} lacks {missing} of {expected} arrivals"
        )?;
        match bytes {
            0 => Ok(()),
            ..0 => write!(f, "; {} bytes more than expected have come", -bytes),
            bytes => write!(f, " and {bytes} bytes"),
        }
    }
}

/// Threads that read memory with one instruction again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Polled {
    /// `%ctaid` of their blocks.
    pub blocks: Vec<[u32; 3]>,
    /// How many there are.
    pub threads: u32,
    /// The instruction's number in the kernel.
    pub pc: u32,
    /// Line of the PTX text.
    pub ptx_line: u32,
    /// Source position of that line.
    pub source: Option<SourceLoc>,
    /// The instruction as written.
    pub instruction: String,
}

impl Polled {
    pub(crate) fn new(pc: u32, instr: &Instr, block: [u32; 3], threads: u32) -> Polled {
        Polled {
            blocks: vec![block],
            threads,
            pc,
            ptx_line: instr.line,
            source: instr.source.clone(),
            instruction: instr.text.clone(),
        }
    }

    /// Further threads do the same.
    pub(crate) fn add(&mut self, block: [u32; 3], threads: u32) {
        if self.blocks.last() != Some(&block) {
            self.blocks.push(block);
        }
        self.threads += threads;
    }
}

impl fmt::Display for Polled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (s, plural) = match self.threads {
            1 => ("", "s"),
            _ => ("s", ""),
        };
        write!(
            f,
            "{} thread{s} of {} poll{plural} at `{}` (ptx line {}",
            self.threads,
            blocks_text(&self.blocks),
            self.instruction,
            self.ptx_line
        )?;
        match &self.source {
            Some(source) => write!(f, ", {source})"),
            None => f.write_str(")"),
        }
    }
}

/// Blocks by their coordinates, of many the first ones.
pub(super) fn blocks_text(blocks: &[[u32; 3]]) -> String {
    const SHOWN: usize = 8;
    let shown = blocks.iter().take(SHOWN);
    let shown: Vec<String> = shown.map(|[x, y, z]| format!("({x}, {y}, {z})")).collect();
    let s = if blocks.len() == 1 { "" } else { "s" };
    let more = match blocks.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("block{s} {}{more}", shown.join(", "))
}
