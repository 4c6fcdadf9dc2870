//! The program `cute-opt`: runs passes over MLIR text, for tests and for looking at passes.
//!
//! The options that MLIR's own `mlir-opt` has keep their names and meaning: `--pass-pipeline=…`,
//! `--split-input-file`, `--verify-diagnostics`, `--allow-unregistered-dialect`,
//! `--mlir-print-op-generic`, `--mlir-print-debuginfo`, `--mlir-print-ir-after-all`. Every other
//! `--NAME` or `--NAME=OPTIONS` is a pass; passes run in the order given.
//!
//! [`expected`] holds the comments that `--verify-diagnostics` checks.

pub mod expected;

use super::context::{CommandError, CommandResult, complain, exit_code, read_source};
use super::output;
use crate::codegen::{Message, messages};
use crate::pipeline;
use melior::Context;
use melior::ir::Module;
use melior::ir::operation::{OperationLike, OperationPrintingFlags};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
Runs passes over MLIR text.

Usage: cute-opt [OPTIONS] [--PASS[=OPTIONS]]... [FILE]

FILE is read from standard input where it is `-` or left out.

Options:
  -o FILE                        write there instead of standard output
  --pass-pipeline=PIPELINE       passes in MLIR's textual form, builtin.module(…)
  --split-input-file             treat the parts between lines `// -----` as files of their own
  --verify-diagnostics           check messages against comments `// expected-error {{…}}`
  --allow-unregistered-dialect   let operations of unknown dialects pass
  --mlir-print-op-generic        print the generic form
  --mlir-print-debuginfo         print locations
  --mlir-print-ir-after-all      print the IR after each pass to standard error
  --help, --version";

/// The line between the parts of a file.
const SPLIT_MARKER: &str = "// -----";

/// What the command line says.
#[derive(Debug, Default, PartialEq)]
struct Invocation {
    file: Option<PathBuf>,
    output: Option<PathBuf>,
    passes: Vec<PassRequest>,
    split: bool,
    verify: bool,
    allow_unregistered: bool,
    generic: bool,
    debug_info: bool,
    print_after_all: bool,
}

/// One pass or pipeline of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PassRequest {
    /// `--NAME=OPTIONS`
    Pass {
        /// Its name.
        name: String,
        /// Its options, in MLIR's form `a=1 b=2`.
        options: String,
    },
    /// `--pass-pipeline=…`
    Pipeline(String),
}

/// Runs the program on the process's arguments.
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let text = match arguments.first().map(String::as_str) {
        Some("--help" | "-h") => USAGE.to_owned(),
        Some("--version" | "-V") => format!("cute-opt {}", env!("CARGO_PKG_VERSION")),
        _ => return exit_code(parse(&arguments).and_then(|invocation| run(&invocation))),
    };
    exit_code(output::write_stdout(format!("{text}\n").as_bytes()))
}

fn parse(arguments: &[String]) -> Result<Invocation, CommandError> {
    let mut invocation = Invocation::default();
    let usage = |text: String| CommandError::Usage(format!("{text}; see cute-opt --help"));
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "-o" {
            let path = arguments
                .next()
                .ok_or_else(|| usage("-o needs a FILE".to_owned()))?;
            invocation.output = Some(PathBuf::from(path));
            continue;
        }
        let Some(option) = argument.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
            if let Some(first) = &invocation.file {
                let first = first.display();
                return Err(usage(format!("two files: {first} and {argument}")));
            }
            invocation.file = Some(PathBuf::from(argument));
            continue;
        };
        let option = option.strip_prefix('-').unwrap_or(option);
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        match name {
            "split-input-file" => invocation.split = true,
            "verify-diagnostics" => invocation.verify = true,
            "allow-unregistered-dialect" => invocation.allow_unregistered = true,
            "mlir-print-op-generic" => invocation.generic = true,
            "mlir-print-debuginfo" => invocation.debug_info = true,
            "mlir-print-ir-after-all" => invocation.print_after_all = true,
            "pass-pipeline" => invocation
                .passes
                .push(PassRequest::Pipeline(value.to_owned())),
            "" => return Err(usage(format!("`{argument}` is no option"))),
            _ => invocation.passes.push(PassRequest::Pass {
                name: name.to_owned(),
                options: value.trim_matches(['{', '}']).to_owned(),
            }),
        }
    }
    Ok(invocation)
}

fn run(invocation: &Invocation) -> CommandResult {
    let input = invocation.file.as_deref().unwrap_or(Path::new("-"));
    let source = read_source(input)?;
    let context = cutec_dialects::context();
    context.set_allow_unregistered_dialects(invocation.allow_unregistered);
    let parts = match invocation.split {
        true => split(&source.text),
        false => vec![(0, source.text.to_string())],
    };

    let mut printed = Vec::new();
    let mut failed = false;
    for (first_line, text) in &parts {
        let (module, mut messages) =
            messages::collect(&context, || process(&context, invocation, text));
        for message in &mut messages {
            relocate(message, &source.name, *first_line as u32);
        }
        let module = match module {
            Ok(module) => module,
            Err(PartError::Unknown(line)) => return Err(CommandError::Usage(line)),
            Err(PartError::Reported) => None,
        };
        if invocation.verify {
            let complaints = expected::check(text, *first_line as u32, &source.name, &messages);
            failed |= !complaints.is_empty();
            for complaint in complaints {
                complain(&complaint);
            }
            continue;
        }
        for message in &messages {
            complain(&message.to_string());
        }
        match module {
            Some(module) => printed.push(module),
            None => failed = true,
        }
    }
    if !invocation.verify && !printed.is_empty() {
        let text = printed.join(&format!("\n{SPLIT_MARKER}\n\n"));
        let output = invocation.output.as_deref().unwrap_or(Path::new("-"));
        output::write(output, text.as_bytes())?;
    }
    if failed {
        return Err(CommandError::Reported);
    }
    Ok(())
}

/// Why a part has no output.
enum PartError {
    /// MLIR has reported why.
    Reported,
    /// A pass that does not exist, or a pipeline that does not parse.
    Unknown(String),
}

/// Parses, runs the passes, prints.
fn process(
    context: &Context,
    invocation: &Invocation,
    text: &str,
) -> Result<Option<String>, PartError> {
    let mut module = Module::parse(context, text).ok_or(PartError::Reported)?;
    for request in &invocation.passes {
        let manager = pipeline::pass_manager(context, request).map_err(PartError::Unknown)?;
        if invocation.print_after_all {
            pipeline::print_ir_after_all(context, &manager);
        }
        manager.run(&mut module).map_err(|_| PartError::Reported)?;
    }
    let mut flags = OperationPrintingFlags::new();
    if invocation.generic {
        flags = flags.print_generic_operation_form();
    }
    if invocation.debug_info {
        flags = flags.enable_debug_info(true, true);
    }
    let mut text = module
        .as_operation()
        .to_string_with_flags(flags)
        .map_err(|error| PartError::Unknown(error.to_string()))?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(Some(text))
}

/// The parts between marker lines, each with the number of lines before it.
fn split(text: &str) -> Vec<(usize, String)> {
    let mut parts = vec![(0, String::new())];
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if line.trim_end() == SPLIT_MARKER {
            parts.push((number + 1, String::new()));
        } else if let Some((_, part)) = parts.last_mut() {
            part.push_str(line);
        }
    }
    parts
}

/// A place in a part becomes a place in the file.
fn relocate(message: &mut Message, file: &str, lines_before: u32) {
    if let Some(place) = &mut message.place
        && place.file == "-"
    {
        place.file = file.to_owned();
        place.line += lines_before;
    }
    for note in &mut message.notes {
        relocate(note, file, lines_before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_no_option_is_a_pass() {
        let arguments = [
            "--cse",
            "--fold={max=3 deep}",
            "-o",
            "x",
            "--split-input-file",
            "a.mlir",
        ];
        let invocation = parse(&arguments.map(str::to_owned)).expect("a right command line");
        let pass = |name: &str, options: &str| PassRequest::Pass {
            name: name.to_owned(),
            options: options.to_owned(),
        };
        assert_eq!(
            invocation.passes,
            [pass("cse", ""), pass("fold", "max=3 deep")]
        );
        assert!(invocation.split);
        assert_eq!(invocation.file, Some(PathBuf::from("a.mlir")));
        assert!(parse(&["a".to_owned(), "b".to_owned()]).is_err());
    }

    #[test]
    fn parts_know_where_they_begin() {
        let parts = split("a\n// -----\nb\nc\n// -----\n");
        assert_eq!(
            parts,
            [
                (0, "a\n".to_owned()),
                (2, "b\nc\n".to_owned()),
                (5, String::new())
            ]
        );
    }
}
