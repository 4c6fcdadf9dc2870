//! `cutec check`: what is wrong with sources, for every target that is named, without making anything of them.

use super::arguments::CheckSourcesArguments;
use super::context::{Reporter, read_source};
use super::error::{CommandError, CommandResult};
use super::{sources, watch};
use cutec::{Compiler, Emit, FileLoader, Options};
use cutec_dialects::target::Target;
use cutec_frontend::diagnostics::Diagnostic;
use cutec_testing::check::blocks;
use std::path::{Path, PathBuf};

/// Runs the command.
///
/// # Errors
/// When a file cannot be read, or something is wrong with one.
pub fn run(arguments: &CheckSourcesArguments, reporter: &Reporter) -> CommandResult {
    match arguments.watch {
        true => watch::forever(&arguments.files, reporter, || once(arguments, reporter)),
        false => once(arguments, reporter),
    }
}

fn once(arguments: &CheckSourcesArguments, reporter: &Reporter) -> CommandResult {
    let files: Vec<PathBuf> = sources::find(&arguments.files)?;
    let compiler = Compiler::new();
    let mut wrong = 0;
    for file in &files {
        wrong += usize::from(!is_right(arguments, file, &compiler, reporter)?);
    }
    match wrong {
        0 => Ok(()),
        _ => {
            let of = match files.len() {
                1 => String::new(),
                count => format!(" in {wrong} of {count} files"),
            };
            reporter.conclude(&format!("errors were found{of}"));
            Err(CommandError::Reported)
        }
    }
}

/// Whether a file compiles for every target; what is wrong is said once.
fn is_right(
    arguments: &CheckSourcesArguments,
    file: &Path,
    compiler: &Compiler,
    reporter: &Reporter,
) -> Result<bool, CommandError> {
    let source = read_source(file)?;
    let default = [Options::default().target];
    let targets: &[Target] = match arguments.arch.as_slice() {
        [] => &default,
        named => named,
    };
    // Each with the targets that it was found for.
    let mut all: Vec<(Diagnostic, Vec<&str>)> = Vec::new();
    let (mut failures, mut texts) = (Vec::new(), None);
    let mut right = true;
    for target in targets {
        let options = Options {
            emit: Emit::Mlir,
            defines: arguments.define.clone(),
            ..Options::new(*target)
        };
        let compiled = compiler.compile(&source, &FileLoader, &options);
        let (mut found, failed, sources, abi) = match compiled {
            Ok(compiled) => {
                let (warnings, sources) = (compiled.warnings, compiled.sources);
                (warnings, Vec::new(), sources, compiled.abi)
            }
            Err(error) => {
                right = false;
                (error.problems, error.failures, error.sources, None)
            }
        };
        let known = (abi.as_ref(), found.as_slice());
        let of_blocks = blocks(compiler, &source, &FileLoader, &options, known, &|| true);
        right &= !of_blocks.iter().any(Diagnostic::is_error);
        found.extend(of_blocks);
        for diagnostic in found {
            let known = all.iter_mut().find(|(known, _)| diagnostic.repeats(known));
            match known {
                Some((_, of)) => of.push(target.name),
                None => all.push((diagnostic, vec![target.name])),
            }
        }
        failures.extend(failed);
        texts.get_or_insert(sources);
    }
    let all: Vec<Diagnostic> = all
        .into_iter()
        .map(|(diagnostic, of)| match of.len() < targets.len() {
            true => diagnostic.with_note(format!("found for {}", of.join(", "))),
            false => diagnostic,
        })
        .collect();
    if let Some(sources) = texts {
        reporter.diagnostics(&all, &failures, &sources);
    }
    Ok(right)
}
