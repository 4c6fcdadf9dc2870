//! `cutec fmt`: sources in the one style there is. What the style is, is the front end's, `cutec_frontend::format`.

use super::arguments::FmtArguments;
use super::context::{Reporter, read_source};
use super::error::{CommandError, CommandResult};
use super::output::{self, write_stdout};
use super::sources;
use cutec::options::SourceKind;
use cutec_frontend::format::{Refused, format};
use similar::TextDiff;
use std::path::{Path, PathBuf};

/// Runs the command.
///
/// # Errors
/// When a file cannot be read, parsed or written; with `--check` and `--diff` when one is not in the style.
pub fn run(arguments: &FmtArguments, reporter: &Reporter) -> CommandResult {
    let mut all_well = true;
    for file in sources::find(&arguments.files)? {
        all_well &= one(arguments, &file, reporter)?;
    }
    match all_well {
        true => Ok(()),
        false => Err(CommandError::Reported),
    }
}

/// Whether nothing is wrong with a file.
fn one(arguments: &FmtArguments, file: &Path, reporter: &Reporter) -> Result<bool, CommandError> {
    let source = read_source(file)?;
    if source.kind == SourceKind::Mlir {
        let message = format!(
            "`{}` is no .cute file: MLIR has a formatter of its own",
            source.name
        );
        return Err(CommandError::Usage(message));
    }
    let formatted = match format(&source.name, &source.text) {
        Ok(formatted) => formatted,
        Err(Refused::Wrong {
            sources,
            diagnostics,
        }) => {
            reporter.diagnostics(&diagnostics, &[], &sources);
            return Ok(false);
        }
        Err(Refused::Unfaithful) => {
            reporter.say(
                "error",
                &format!(
                    "{} is left as it is: formatting would change what it means; this is a bug of cutec, please report it",
                    source.name
                ),
            );
            return Ok(false);
        }
    };
    let differs = formatted != *source.text;
    if arguments.diff {
        if differs {
            let diff = TextDiff::from_lines(&*source.text, &formatted);
            let mut unified = diff.unified_diff();
            let unified = unified.context_radius(3).header(&source.name, &source.name);
            write_stdout(unified.to_string().as_bytes())?;
        }
        return Ok(!differs);
    }
    if arguments.check {
        if differs {
            write_stdout(format!("{} is not formatted\n", source.name).as_bytes())?;
        }
        return Ok(!differs);
    }
    if source.name == "-" {
        write_stdout(formatted.as_bytes())?;
    } else if differs {
        // Through a link to the file that it names.
        let target: PathBuf = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
        let permissions = std::fs::metadata(&target).map(|found| found.permissions());
        output::write(&target, formatted.as_bytes())?;
        if let Ok(permissions) = permissions {
            let _ = std::fs::set_permissions(&target, permissions);
        }
    }
    Ok(true)
}
