//! `cutec explain E0123`: what a diagnostic's code means; `cutec explain zipped_divide`: what a built-in does.

use super::arguments::ExplainArguments;
use super::context::Reporter;
use super::error::{CommandError, CommandResult};
use super::output;
use cutec_frontend::diagnostics::render::explain;
use cutec_frontend::eval::builtins::reference;

/// Runs the command.
///
/// # Errors
/// When there is no such code and no such built-in.
pub fn run(arguments: &ExplainArguments, _reporter: &Reporter) -> CommandResult {
    let text = explain(&arguments.code).or_else(|| reference::explain(&arguments.code));
    match text {
        Some(text) => output::write_stdout(text.as_bytes()),
        None => Err(CommandError::Message(format!(
            "there is no code {}, and no built-in of this name: codes are E and four digits, as messages show them",
            arguments.code
        ))),
    }
}
