//! What every command shares: colours, reading files, reporting errors.

use super::arguments::{Color, CompileArguments, MessageFormat};
use super::error::{CommandError, complain};
use super::message;
use cutec::cache::fingerprint;
use cutec::files::{self, MAX_SOURCE_BYTES};
use cutec::report::{self, Failure};
use cutec::{Compiled, Diagnostic, Diagnostics, FileLoader, Options, Source, SourceMap};
use cutec_dialects::target::Target;
use cutec_frontend::diagnostics::render::RenderOptions;
use cutec_runtime::regular_file::{self, RegularFileError};
use cutec_tuning::Plan;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::Path;

/// Reports diagnostics and failures on standard error.
#[derive(Debug, Clone, Copy)]
pub struct Reporter {
    options: RenderOptions,
    format: MessageFormat,
}

impl Reporter {
    /// A reporter whose colours follow `--color`, `NO_COLOR` and the terminal.
    pub fn new(color: Color, format: MessageFormat) -> Self {
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
            format,
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

    /// Whether messages are JSON.
    pub fn is_json(&self) -> bool {
        self.format == MessageFormat::Json
    }

    /// Reports a failed compilation.
    pub fn errors(&self, error: &Diagnostics) -> CommandError {
        self.diagnostics(&error.problems, &error.failures, &error.sources);
        CommandError::Reported
    }

    /// Reports diagnostics, and failures that have no place.
    pub fn diagnostics(&self, list: &[Diagnostic], failures: &[Failure], sources: &SourceMap) {
        match self.format {
            MessageFormat::Json => {
                for diagnostic in list {
                    complain(&message::diagnostic(diagnostic, sources));
                }
                for failure in failures {
                    complain(&message::failure(failure));
                }
            }
            MessageFormat::Human => {
                let text = report::render(list, failures, sources, self.options);
                if !text.is_empty() {
                    complain(&text);
                }
            }
        }
    }

    /// Reports a line that belongs to no place.
    pub fn say(&self, level: &'static str, text: &str) {
        match self.format {
            MessageFormat::Json => complain(&message::plain(level, text)),
            MessageFormat::Human => complain(&format!("{level}: {text}")),
        }
    }

    /// Says how it ended; whoever reads JSON sees it by the exit code.
    pub fn conclude(&self, text: &str) {
        if !self.is_json() {
            complain(text);
        }
    }

    /// Reports the warnings and remarks of a compilation.
    pub fn notices(&self, compiled: &Compiled) {
        let notices = compiled.warnings.iter().chain(&compiled.remarks);
        let notices: Vec<Diagnostic> = notices.cloned().collect();
        self.diagnostics(&notices, &[], &compiled.sources);
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

/// The plan that a command names, and the options of its compilations: for its target, where the command line says none.
///
/// # Errors
/// Where it is none, or of a target that this compiler does not know.
pub fn with_plan(
    path: Option<&Path>,
    arguments: &CompileArguments,
) -> Result<(Option<Plan>, Options), CommandError> {
    let options = compile_options(arguments);
    let Some(path) = path else {
        return Ok((None, options));
    };
    let plan = Plan::read(path).map_err(CommandError::message)?;
    let target = match arguments.arch {
        Some(target) => target,
        None => Target::parse(&plan.device.arch).map_err(CommandError::message)?,
    };
    Ok((Some(plan), Options { target, ..options }))
}

/// Says where a plan was made of another text than that of a source: what it chooses may be slow, or no longer there.
pub fn check_plan(plan: &Plan, path: &Path, source: &Source, reporter: &Reporter) {
    let text = fingerprint(source, &FileLoader);
    if plan.kernels.iter().any(|kernel| kernel.source != text) {
        let (path, name) = (path.display(), &source.name);
        let text = match plan.file == *name {
            true => format!("{path} was made before the text of {name} changed: tune again"),
            false => format!(
                "{path} was made of {}, whose text then was not that of {name}: tune again",
                plan.file
            ),
        };
        reporter.say("warning", &text);
    }
}

/// Reads a source file; `-` is standard input.
///
/// A file is called `.cute` or `.mlir`: messages show lines of it. What is no file, such as a pipe that a shell gives a
/// name to, may be called anything.
///
/// # Errors
/// One line: which file, and what the system says; or how a source is called.
pub fn read_source(path: &Path) -> Result<Source, CommandError> {
    let name = path.display().to_string();
    let unreadable =
        |reason: String| CommandError::Message(format!("cannot read {name}: {reason}"));
    let bytes = if name == "-" {
        regular_file::read_bounded(io::stdin().lock(), MAX_SOURCE_BYTES)
    } else {
        let metadata = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?;
        if metadata.is_dir() {
            return Err(unreadable("it is a directory".to_owned()));
        }
        if !metadata.is_file() {
            File::open(path)
                .map_err(RegularFileError::Io)
                .and_then(|file| regular_file::read_bounded(file, MAX_SOURCE_BYTES))
        } else if is_source(path) {
            regular_file::read(path, MAX_SOURCE_BYTES)
        } else {
            return Err(CommandError::Usage(format!(
                "`{name}` is no source by its name: expected .cute or .mlir"
            )));
        }
    };
    let bytes = bytes.map_err(|error| unreadable(error.to_string()))?;
    let text = files::text(bytes).map_err(unreadable)?;
    Ok(Source::new(name, text))
}

fn is_source(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    matches!(extension, Some("cute" | "mlir"))
}
