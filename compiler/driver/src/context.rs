//! What every command shares: colours, reading files, reporting errors, exit codes.

use super::arguments::{Color, CompileArguments};
use cutec::{Compiled, Diagnostics, Options, Source};
use cutec_frontend::diagnostics::render::RenderOptions;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Why a command ends early.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// Errors were reported already.
    #[error("errors were reported")]
    Reported,
    /// One line for the user.
    #[error("{0}")]
    Message(String),
    /// The command line makes no sense, in a way that the parser cannot see.
    #[error("{0}")]
    Usage(String),
    /// Nobody reads standard output any more.
    #[error("standard output is closed")]
    BrokenPipe,
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
pub fn exit_code(result: CommandResult) -> u8 {
    match result {
        Ok(()) | Err(CommandError::BrokenPipe) => 0,
        Err(CommandError::Reported) => 1,
        Err(error @ CommandError::Message(_)) => {
            complain(&format!("error: {error}"));
            1
        }
        Err(error @ CommandError::Usage(_)) => {
            complain(&format!("error: {error}"));
            2
        }
    }
}

/// Writes lines to standard error; a closed one is nobody's fault.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{}", text.trim_end());
}

/// Reports diagnostics and failures on standard error.
#[derive(Debug, Clone, Copy)]
pub struct Reporter {
    options: RenderOptions,
}

impl Reporter {
    /// A reporter whose colours follow `--color`, `NO_COLOR` and the terminal.
    pub fn new(color: Color) -> Self {
        let terminal = io::stderr().is_terminal();
        let color = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && std::env::var_os("NO_COLOR").is_none(),
        };
        Self {
            options: RenderOptions {
                color,
                unicode: terminal,
            },
        }
    }

    /// How diagnostics are rendered.
    pub fn options(&self) -> RenderOptions {
        self.options
    }

    /// Whether to use colours.
    pub fn color(&self) -> bool {
        self.options.color
    }

    /// Reports a failed compilation.
    pub fn errors(&self, error: &Diagnostics) -> CommandError {
        complain(&error.render(self.options));
        CommandError::Reported
    }

    /// Reports the warnings and remarks of a compilation.
    pub fn notices(&self, compiled: &Compiled) {
        let text = compiled.render(self.options);
        if !text.is_empty() {
            complain(&text);
        }
    }
}

/// PTX with the options that every compilation has.
pub fn compile_options(arguments: &CompileArguments) -> Options {
    let options = match arguments.arch {
        Some(target) => Options::new(target),
        None => Options::default(),
    };
    Options {
        defines: arguments.define.clone(),
        level: arguments.level,
        ..options
    }
}

/// Reads a source file; `-` is standard input.
///
/// # Errors
/// One line: which file, and what the system says.
pub fn read_source(path: &Path) -> Result<Source, CommandError> {
    let name = path.display().to_string();
    let bytes = if name == "-" {
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut io::stdin(), &mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let bytes =
        bytes.map_err(|error| CommandError::Message(format!("cannot read {name}: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        CommandError::Message(format!(
            "{name} is not UTF-8: a wrong byte at offset {}",
            error.utf8_error().valid_up_to()
        ))
    })?;
    Ok(Source::new(name, text))
}
