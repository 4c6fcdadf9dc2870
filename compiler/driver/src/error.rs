//! Why a command ends early, and the exit code that says so.

use super::context::Reporter;
use std::io::{self, Write};

/// Why a command ends early.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// Errors were reported already.
    #[error("errors were reported")]
    Reported,
    /// One line for the user.
    #[error("{0}")]
    Message(String),
    /// Nobody reads standard output any more, as behind `| head`: there is nobody to tell, and nothing to mend.
    #[error("nobody reads standard output any more")]
    Unread,
    /// The command line makes no sense, and its parser has said why.
    #[error("the command line is wrong")]
    Misused,
    /// The command line makes no sense, in a way that the parser cannot see.
    #[error("{0}")]
    Usage(String),
}

impl CommandError {
    /// An error of one line.
    pub fn message(error: impl std::fmt::Display) -> Self {
        Self::Message(error.to_string())
    }
}

/// What a command returns.
pub type CommandResult = Result<(), CommandError>;

/// The process's exit code, after saying what is still to be said.
pub fn exit_code(result: CommandResult, reporter: &Reporter) -> u8 {
    match result {
        Ok(()) => 0,
        Err(CommandError::Reported | CommandError::Unread) => 1,
        Err(CommandError::Misused) => 2,
        Err(error @ CommandError::Message(_)) => {
            reporter.say("error", &error.to_string());
            1
        }
        Err(error @ CommandError::Usage(_)) => {
            reporter.say("error", &error.to_string());
            2
        }
    }
}

/// Writes lines to standard error; a closed one is nobody's fault.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{}", text.trim_end());
}
