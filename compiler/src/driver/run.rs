//! `cutec run`.

use super::arguments::RunArguments;
use super::context::{CommandResult, Reporter};

/// Runs the command.
///
/// # Errors
/// Always.
pub fn run(_arguments: &RunArguments, _reporter: &Reporter) -> CommandResult {
    Err(super::context::CommandError::Message(
        "not connected".to_owned(),
    ))
}
