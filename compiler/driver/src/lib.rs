//! The program `cutec`, and what is common to `cute-opt` and `cute-lsp-server`.
//!
//! In reading order:
//! - [`arguments`]: the command line;
//! - [`error`]: why a command ends early, and its exit code;
//! - [`context`]: what every command shares: colours, reading files, reporting errors;
//! - [`output`]: writing results, all or nothing;
//! - [`message`], diagnostics as JSON; [`sources`], files of folders; [`watch`], commands again after changes; [`version`];
//! - one file per command: [`emit`] (compile; [`emit_all`], to every level), [`check`], [`fmt`], [`run`], [`test`], [`bench`], [`profile`], [`export`],
//!   [`layout`], [`explain`], [`lsp`]; [`shell`], what shells ask for;
//! - [`mlir_tool`]: the programs that are MLIR's own drivers; [`mlir_server`]: what stands before one.
//!
//! `test` and `bench` blocks are evaluated by `cutec_testing`; everything about compiling is the library's, `cutec`.
//!
//! Exit codes: 0 done, 1 errors were reported, 2 the command line is wrong. No file is left behind by
//! a failed command.

pub mod arguments;
pub mod bench;
pub mod check;
pub mod context;
pub mod emit;
pub mod emit_all;
pub mod error;
pub mod explain;
pub mod export;
pub mod fmt;
pub mod layout;
pub mod lsp;
pub mod message;
pub mod mlir_server;
pub mod mlir_tool;
pub mod output;
pub mod profile;
pub mod run;
pub mod shell;
pub mod sources;
pub mod test;
pub mod tune;
pub mod version;
pub mod watch;

use arguments::{Arguments, Color, Command, MessageFormat};
use clap::Parser;
use clap::error::ErrorKind;
use context::Reporter;
use error::{CommandError, CommandResult};
use std::ffi::{OsString, c_int};
use std::io::Write;

/// MLIR's parser recurses over nested text without a limit of its own.
const STACK_BYTES: usize = 512 << 20;

unsafe extern "C" {
    safe fn _exit(status: c_int) -> !;
}

/// Runs the program on the process's arguments, and ends the process.
pub fn main() -> ! {
    let code = run(std::env::args_os().collect());
    // What LLVM's libraries would tidy up at exit takes milliseconds, and the system does it anyway.
    let _ = std::io::stdout().flush();
    _exit(code.into())
}

/// Runs the program on arguments, of which the first is its name, on a thread with a deep stack. Returns the exit code.
///
/// Signals end the process from here on, without files that exist for a while.
pub fn run(arguments: Vec<OsString>) -> u8 {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let copy = arguments.clone();
    match thread.spawn(move || dispatch(&copy)) {
        Ok(thread) => thread.join().unwrap_or(101),
        Err(_) => dispatch(&arguments),
    }
}

/// What the command line's parser says: help, a version, or an error with its own words.
fn usage(error: &clap::Error, arguments: &[OsString]) -> CommandResult {
    let text = error.render().to_string();
    let words = arguments
        .iter()
        .map(|word| word.to_string_lossy().into_owned());
    if error.kind() == ErrorKind::ArgumentConflict
        && let Some(problem) = arguments::not_a_command(words.skip(1))
    {
        return Err(CommandError::Usage(problem));
    }
    if error.use_stderr() {
        error::complain(&text);
        return Err(CommandError::Misused);
    }
    output::write_stdout(text.as_bytes())
}

fn dispatch(arguments: &[OsString]) -> u8 {
    cutec_runtime::signals::leave_nothing_behind();
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            let reporter = Reporter::new(Color::Auto, MessageFormat::Human);
            return error::exit_code(usage(&error, arguments), &reporter);
        }
    };
    let reporter = Reporter::new(arguments.color, arguments.message_format);
    let result = match &arguments.command {
        None => emit::run(&arguments.emit, &reporter),
        Some(Command::Check(command)) => check::run(command, &reporter),
        Some(Command::Fmt(command)) => fmt::run(command, &reporter),
        Some(Command::Completions(command)) => shell::completions(command),
        Some(Command::Man(command)) => shell::man(command),
        Some(Command::Run(command)) => run::run(command, &reporter),
        Some(Command::Test(command)) => test::run(command, &reporter),
        Some(Command::Bench(command)) => bench::run(command, &reporter),
        Some(Command::Tune(command)) => tune::run(command, &reporter),
        Some(Command::Profile(command)) => profile::run(command, &reporter),
        Some(Command::Export(command)) => export::run(command, &reporter),
        Some(Command::Layout(command)) => layout::run(command, &reporter),
        Some(Command::Explain(command)) => explain::run(command, &reporter),
        Some(Command::Lsp(command)) => lsp::run(command, &reporter),
    };
    error::exit_code(result, &reporter)
}
