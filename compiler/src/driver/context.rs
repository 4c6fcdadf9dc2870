//! What every command shares: colours, reading files, reporting errors, exit codes.

use super::arguments::{Color, CompileArguments};
use crate::report;
use crate::{Artifact, CompileError, Options, Source};
use cutec_dialects::target::Target;
use cutec_frontend::diagnostics::render::RenderOptions;
use cutec_frontend::source::{LoadedSource, SourceLoader};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

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
pub fn exit_code(result: CommandResult) -> ExitCode {
    match result {
        Ok(()) | Err(CommandError::BrokenPipe) => ExitCode::SUCCESS,
        Err(CommandError::Reported) => ExitCode::from(1),
        Err(error @ CommandError::Message(_)) => {
            complain(&format!("error: {error}"));
            ExitCode::from(1)
        }
        Err(error @ CommandError::Usage(_)) => {
            complain(&format!("error: {error}"));
            ExitCode::from(2)
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
    pub fn errors(&self, error: &CompileError) -> CommandError {
        complain(&error.render(self.options));
        CommandError::Reported
    }

    /// Reports the warnings of a compilation.
    pub fn warnings(&self, artifact: &Artifact) {
        if !artifact.warnings.is_empty() {
            complain(&report::render(
                &artifact.warnings,
                &[],
                &artifact.sources,
                self.options,
            ));
        }
    }
}

/// The target where `--arch` is left out. Its PTX runs on every newer GPU too.
const DEFAULT_TARGET: &str = "sm_80";

/// PTX with the options that every compilation has.
///
/// # Errors
/// When there is no such target.
pub fn compile_options(arguments: &CompileArguments) -> Result<Options, CommandError> {
    let target = match arguments.arch {
        Some(target) => target,
        None => Target::parse(DEFAULT_TARGET).map_err(CommandError::message)?,
    };
    Ok(Options {
        defines: arguments.define.clone(),
        level: arguments.level,
        ..Options::new(target)
    })
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

/// Answers imports from the file system, relative to the importing file.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileLoader;

impl FileLoader {
    /// The name of the file that an import means.
    pub fn name(importer: &str, path: &str) -> String {
        normalized(&beside(importer, path)).display().to_string()
    }
}

impl SourceLoader for FileLoader {
    fn load(&self, importer: &str, path: &str) -> Result<LoadedSource, String> {
        let file = beside(importer, path);
        let text = std::fs::read_to_string(&file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        Ok(LoadedSource {
            name: Self::name(importer, path),
            text: Arc::from(text),
        })
    }
}

/// The path as seen from the folder of the importing file.
fn beside(importer: &str, path: &str) -> PathBuf {
    let folder = Path::new(importer).parent().unwrap_or(Path::new(""));
    folder.join(path)
}

/// The path without `.` and without `..` where a folder name stands before it, so that two spellings
/// of one file are one name.
fn normalized(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(result.components().next_back(), Some(Component::Normal(_))) =>
            {
                result.pop();
            }
            other => result.push(other),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_spellings_of_a_file_are_one_name() {
        let name = |path: &str| normalized(Path::new(path)).display().to_string();
        assert_eq!(name("a/./b/../c.cute"), "a/c.cute");
        assert_eq!(name("../x/c.cute"), "../x/c.cute");
        assert_eq!(name("../../c.cute"), "../../c.cute");
    }
}
