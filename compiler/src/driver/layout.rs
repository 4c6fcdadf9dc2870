//! `cutec layout`: layout expressions, one or one a line, as text or drawn.

use super::arguments::LayoutArguments;
use super::context::{CommandError, CommandResult, Reporter};
use super::output;
use cutec_layout::draw::{self, Colour};
use cutec_layout::expr::{Value, eval};
use cutec_layout::{AnyLayout, Layout};
use std::io::BufRead;

/// Runs the command.
///
/// # Errors
/// When the expression is wrong or a file cannot be written. Over standard input wrong expressions
/// are results: `error: …` on their line.
pub fn run(arguments: &LayoutArguments, _reporter: &Reporter) -> CommandResult {
    if arguments.expression == "-" {
        if arguments.grid || arguments.svg.is_some() {
            return Err(CommandError::Usage(
                "--grid and --svg draw one expression, not those of standard input".to_owned(),
            ));
        }
        return every_line(std::io::stdin().lock());
    }
    let value = eval(&arguments.expression).map_err(CommandError::message)?;
    if let Some(path) = &arguments.svg {
        let svg = picture(&drawable(&value)?, arguments)?;
        output::write(path, svg.as_bytes())?;
    }
    let text = match arguments.grid {
        true => draw::grid(&drawable(&value)?),
        false => value.to_string(),
    };
    output::write_stdout(format!("{}\n", text.trim_end()).as_bytes())
}

fn picture(layout: &AnyLayout, arguments: &LayoutArguments) -> Result<String, CommandError> {
    let Some(tile) = &arguments.tile else {
        let colour = match arguments.bits {
            Some(elem_bits) => Colour::Bank { elem_bits },
            None => Colour::Thread,
        };
        return Ok(draw::svg(layout, colour));
    };
    let AnyLayout::Plain(layout) = layout else {
        return Err(CommandError::Message(
            "--tile draws thread-value layouts, and this is a composed layout".to_owned(),
        ));
    };
    match eval(tile).map_err(CommandError::message)? {
        Value::Tuple(tile) => draw::svg_tv(layout, &tile).map_err(CommandError::message),
        other => Err(CommandError::Usage(format!(
            "--tile takes a shape, and this is {}",
            other.kind()
        ))),
    }
}

/// Evaluates one expression a line; an empty line gives an empty line.
fn every_line(input: impl BufRead) -> CommandResult {
    for line in input.lines() {
        let line = line.map_err(|error| {
            CommandError::Message(format!("cannot read standard input: {error}"))
        })?;
        let result = match line.trim() {
            "" => String::new(),
            expression => match eval(expression) {
                Ok(value) => value.to_string(),
                Err(error) => format!("error: {}", error.to_string().replace('\n', " ")),
            },
        };
        output::write_stdout(format!("{result}\n").as_bytes())?;
    }
    Ok(())
}

/// The layout that an expression gives; a shape stands for its column-major layout.
fn drawable(value: &Value) -> Result<AnyLayout, CommandError> {
    match value {
        Value::Layout(layout) => Ok(layout.clone()),
        Value::Tuple(shape) if shape.leaves().iter().all(|leaf| leaf.path().is_empty()) => {
            Ok(AnyLayout::Plain(Layout::col_major(shape.clone())))
        }
        other => Err(CommandError::Message(format!(
            "only a layout can be drawn, and this is {}",
            other.kind()
        ))),
    }
}
