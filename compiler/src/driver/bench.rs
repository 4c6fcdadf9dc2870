//! `cutec bench`.

use super::arguments::BenchArguments;
use super::context::{CommandResult, Reporter};

/// Runs the command.
///
/// # Errors
/// Always.
pub fn run(_arguments: &BenchArguments, _reporter: &Reporter) -> CommandResult {
    Err(super::context::CommandError::Message(
        "not connected".to_owned(),
    ))
}
