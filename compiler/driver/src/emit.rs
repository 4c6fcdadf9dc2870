//! `cutec FILE`: compile.

use super::arguments::{Emission, EmitArguments, closest_command};
use super::context::{Reporter, compile_options, read_source};
use super::emit_all;
use super::error::{CommandError, CommandResult, complain};
use super::output;
use cutec::{Compiler, Emit, FileLoader, Options};
use std::path::{Path, PathBuf};

/// Runs the command.
///
/// # Errors
/// When the source is wrong or a file cannot be read or written.
pub fn run(arguments: &EmitArguments, reporter: &Reporter) -> CommandResult {
    let Some(file) = &arguments.file else {
        return Err(CommandError::Usage("no FILE given".to_owned()));
    };
    if !file.exists()
        && let Some(command) = file.to_str().and_then(closest_command)
    {
        return Err(CommandError::Usage(format!(
            "`{}` is neither a command nor a source: did you mean `cutec {command}`?",
            file.display()
        )));
    }
    let emit = match arguments.emit {
        None => None,
        Some(Emission::One(emit)) => Some(emit),
        Some(Emission::All) => {
            let folder = arguments
                .output
                .as_deref()
                .filter(|path| path.as_os_str() != "-");
            let Some(folder) = folder else {
                let message = "`--emit all` writes several files: give the folder, `-o FOLDER`";
                return Err(CommandError::Usage(message.to_owned()));
            };
            return emit_all::run(arguments, &read_source(file)?, folder, reporter);
        }
    };
    let emit = emit_kind(emit, arguments.output.as_deref())?;
    let output = output_path(file, arguments.output.as_deref(), emit);
    let source = read_source(file)?;
    let options = Options {
        emit,
        kernel: arguments.kernel.clone(),
        print_ir_after_all: arguments.print_ir_after_all,
        verify_each: arguments.verify_each,
        remarks: arguments.remarks,
        threads: arguments.threads,
        ..compile_options(&arguments.compile)
    };
    // The process ends with this command: its memory need not be given back piece by piece.
    let compiler = std::mem::ManuallyDrop::new(Compiler::new());
    let compiled = compiler
        .compile(&source, &FileLoader, &options)
        .map_err(|error| reporter.errors(&error))?;
    reporter.notices(&compiled);
    let bytes = compiled.content.bytes();
    match (emit, &compiled.abi) {
        (Emit::Cubin, Some(abi)) => {
            let side = cutec_runtime::abi::embed::side_path(&output);
            let json = format!("{}\n", cutec_runtime::abi::embed::to_json(abi));
            output::write_pair(&output, bytes, &side, json.as_bytes())?;
        }
        _ => output::write(&output, bytes)?,
    }
    if arguments.time_passes {
        complain(&compiled.timings.to_string());
    }
    Ok(())
}

/// What to emit: `--emit`, else by the output's extension, else PTX.
fn emit_kind(emit: Option<Emit>, output: Option<&Path>) -> Result<Emit, CommandError> {
    if let Some(emit) = emit {
        return Ok(emit);
    }
    let Some(output) = output else {
        return Ok(Emit::Ptx);
    };
    match output.extension().and_then(|extension| extension.to_str()) {
        None => Ok(Emit::Ptx),
        Some(extension) => Emit::from_extension(extension).ok_or_else(|| {
            CommandError::Usage(format!(
                "`.{extension}` does not say what to emit: expected .mlir, .ll, .ptx, .cubin, .sass \
                 or .json, or --emit"
            ))
        }),
    }
}

/// Where the output goes: `-o`; else text to standard output and a cubin beside the source.
fn output_path(file: &Path, output: Option<&Path>, emit: Emit) -> PathBuf {
    match (output, emit) {
        (Some(output), _) => output.to_path_buf(),
        (None, Emit::Cubin) => match file.file_stem() {
            Some(stem) => PathBuf::from(stem).with_extension("cubin"),
            None => PathBuf::from("kernel.cubin"),
        },
        (None, _) => PathBuf::from("-"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_says_what_to_emit_unless_told() {
        let kind = |emit, output: &str| emit_kind(emit, Some(Path::new(output)));
        assert_eq!(kind(None, "a/b.ll").expect("known"), Emit::Llvm);
        assert_eq!(kind(None, "-").expect("default"), Emit::Ptx);
        assert_eq!(kind(Some(Emit::Cute), "b.mlir").expect("told"), Emit::Cute);
        assert!(matches!(kind(None, "a.exe"), Err(CommandError::Usage(_))));
    }
}
