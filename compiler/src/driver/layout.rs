//! `cutec layout`: layout expressions, one or one a line.

use super::arguments::LayoutArguments;
use super::context::{CommandError, CommandResult, Reporter};
use super::output;
use std::io::BufRead;

/// Runs the command.
///
/// # Errors
/// When the expression is wrong or a file cannot be written. Over standard input wrong expressions
/// are results: `error: …` on their line.
pub fn run(arguments: &LayoutArguments, _reporter: &Reporter) -> CommandResult {
    if arguments.expression == "-" {
        return every_line(std::io::stdin().lock());
    }
    let value = cutec_layout::expr::eval(&arguments.expression).map_err(CommandError::message)?;
    output::write_stdout(format!("{value}\n").as_bytes())
}

/// Evaluates one expression a line; an empty line gives an empty line.
fn every_line(input: impl BufRead) -> CommandResult {
    for line in input.lines() {
        let line = line.map_err(|error| {
            CommandError::Message(format!("cannot read standard input: {error}"))
        })?;
        let result = match line.trim() {
            "" => String::new(),
            expression => match cutec_layout::expr::eval(expression) {
                Ok(value) => value.to_string(),
                Err(error) => format!("error: {}", error.to_string().replace('\n', " ")),
            },
        };
        output::write_stdout(format!("{result}\n").as_bytes())?;
    }
    Ok(())
}
