//! `cutec explain E0123`: what a diagnostic's code means.

use super::arguments::ExplainArguments;
use super::context::{CommandError, CommandResult, Reporter};
use super::output;
use cutec_frontend::diagnostics::render::explain;

/// Runs the command.
///
/// # Errors
/// When there is no such code.
pub fn run(arguments: &ExplainArguments, _reporter: &Reporter) -> CommandResult {
    match explain(&arguments.code) {
        Some(text) => output::write_stdout(text.as_bytes()),
        None => Err(CommandError::Message(format!(
            "there is no code {}: codes are E and four digits, as messages show them",
            arguments.code
        ))),
    }
}
