//! `cutec completions` and `cutec man`: what shells and `man` want to know, from the command line's own description.

use super::arguments::{Arguments, CompletionsArguments, ManArguments};
use super::error::{CommandError, CommandResult};
use super::output::{self, write_stdout};
use clap::CommandFactory;

/// Prints the completions for a shell.
///
/// # Errors
/// When standard output cannot be written.
pub fn completions(arguments: &CompletionsArguments) -> CommandResult {
    let mut text = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Arguments::command(),
        "cutec",
        &mut text,
    );
    write_stdout(&text)
}

/// Writes a page for the program and one for each command; without a folder, prints the first.
///
/// # Errors
/// When a page cannot be written.
pub fn man(arguments: &ManArguments) -> CommandResult {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let Some(folder) = &arguments.output else {
        return write_stdout(&page(command.clone())?);
    };
    std::fs::create_dir_all(folder).map_err(CommandError::message)?;
    output::write(&folder.join("cutec.1"), &page(command.clone())?)?;
    for part in command.get_subcommands() {
        let name = format!("cutec-{}", part.get_name());
        let file = folder.join(format!("{name}.1"));
        // A page is called as a file is, `man cutec-test`.
        let name: &'static str = Box::leak(name.into_boxed_str());
        output::write(&file, &page(part.clone().name(name))?)?;
    }
    Ok(())
}

fn page(command: clap::Command) -> Result<Vec<u8>, CommandError> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut text)
        .map_err(CommandError::message)?;
    Ok(text)
}
