//! `cutec test`.

use super::arguments::TestArguments;
use super::context::{CommandResult, Reporter};

/// Runs the command.
///
/// # Errors
/// Always.
pub fn run(_arguments: &TestArguments, _reporter: &Reporter) -> CommandResult {
    Err(super::context::CommandError::Message(
        "not connected".to_owned(),
    ))
}
