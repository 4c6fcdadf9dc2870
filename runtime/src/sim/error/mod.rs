//! What can go wrong: reading PTX, preparing a launch, running a kernel.
//!
//! [`ErrorKind`] is data raised next to the check; [`SimError`] adds where it happened, which is
//! attached in one place (`exec::cta`) when the error leaves the executor.
//!
//! In reading order: here (an error and its place), [`kind`] (what is wrong), [`party`] (who takes part in it),
//! [`advice`] (what there is to say beyond the first line).

mod advice;
mod kind;
mod party;

use std::fmt;

pub use kind::{ErrorKind, Origin};
pub(super) use party::OpenPhase;
pub use party::{Act, Party, Polled, Waiter};

/// An error of the simulator together with the place it happened at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimError {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Where; absent only for errors of a launch call itself.
    pub location: Option<Box<Location>>,
    /// Further errors of the same run: data races between other instructions.
    pub others: Box<[SimError]>,
}

/// The place of an error, as precisely as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Location {
    /// Line of the PTX text, from 1.
    pub ptx_line: u32,
    /// The instruction as written, guard included; empty when there is none.
    pub instruction: String,
    /// The source position that the last `.loc` gives.
    pub source: Option<SourceLoc>,
    /// The kernel that was running.
    pub entry: Option<String>,
    /// `%ctaid` of the failing thread.
    pub block: Option<[u32; 3]>,
    /// `%tid` of the failing thread; for a fault of a whole warp, its first thread.
    pub thread: Option<[u32; 3]>,
}

/// A position in the source that a `.loc` directive names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct SourceLoc {
    /// Path as given by `.file`.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 when the compiler gave none.
    pub column: u32,
}

impl fmt::Display for SourceLoc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Whether a faulty access reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The access reads memory.
    Read,
    /// The access writes memory.
    Write,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Access::Read => "read",
            Access::Write => "write",
        })
    }
}

impl SimError {
    /// An error that concerns a line of the text.
    pub(crate) fn at_line(kind: ErrorKind, ptx_line: u32) -> SimError {
        SimError {
            kind,
            location: Some(Box::new(Location {
                ptx_line,
                ..Location::default()
            })),
            others: Box::default(),
        }
    }
}

impl SimError {
    /// Other places that belong to the error, and what is to be seen there.
    pub fn places(&self) -> Vec<(&SourceLoc, String)> {
        self.kind.places()
    }

    /// More about it, a line each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.kind.notes();
        notes.extend(self.others.iter().filter_map(|other| other.kind.in_short()));
        notes
    }

    /// What usually mends it.
    pub fn help(&self) -> Option<String> {
        self.kind.help()
    }
}

impl From<ErrorKind> for SimError {
    fn from(kind: ErrorKind) -> SimError {
        SimError {
            kind,
            location: None,
            others: Box::default(),
        }
    }
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(at) = &self.location else {
            return self.kind.fmt(f);
        };
        match &at.source {
            Some(source) => write!(f, "{source}: {}", self.kind)?,
            None => write!(f, "ptx line {}: {}", at.ptx_line, self.kind)?,
        }
        if let Some(entry) = &at.entry {
            write!(f, "\n  in kernel `{entry}`")?;
        }
        let notes = self.notes();
        // The notes of a report about two instructions name both threads.
        if let (Some(b), Some(t), []) = (at.block, at.thread, &notes[..]) {
            write!(
                f,
                ", block ({}, {}, {}), thread ({}, {}, {})",
                b[0], b[1], b[2], t[0], t[1], t[2]
            )?;
        }
        if !at.instruction.is_empty() && notes.is_empty() {
            write!(f, "\n  at ptx line {}: {}", at.ptx_line, at.instruction)?;
        }
        for note in notes {
            write!(f, "\n  {note}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SimError {}
