//! `cutec run`: compile one kernel, launch it once, show or write what it computed.

use super::arguments::RunArguments;
use super::context::{Reporter, compile_options, read_source};
use super::error::{CommandError, CommandResult};
use super::output;
use cutec::fault::Fault;
use cutec::{Compiler, FileLoader, Options};
use cutec_runtime::argument::{ArgumentError, make_arguments};
use cutec_runtime::tensor::npy;
use cutec_runtime::{Artifact, KernelAbi, RunError, Tensor, Value, run_kernel};
use std::fmt::Write;
use std::path::Path;

/// Runs the command.
///
/// # Errors
/// When the source is wrong, an argument does not fit, or the launch fails.
pub fn run(arguments: &RunArguments, reporter: &Reporter) -> CommandResult {
    let source = read_source(&arguments.file)?;
    let options = Options {
        kernel: arguments.kernel.clone(),
        ..compile_options(&arguments.compile)
    };
    let compiled = Compiler::new()
        .compile(&source, &FileLoader, &options)
        .map_err(|error| reporter.errors(&error))?;
    reporter.notices(&compiled);
    let artifact = compiled.artifact().map_err(CommandError::message)?;
    let kernel = choose(&artifact, arguments.kernel.as_deref())?;

    let mut outputs = Vec::new();
    for (name, path) in &arguments.outputs {
        outputs.push((position(kernel, name)?, Path::new(path)));
    }
    let mut values =
        make_arguments(kernel, &arguments.arguments, arguments.device.seed).map_err(|error| {
            match &error {
                ArgumentError::Missing { name } => CommandError::Usage(missing(kernel, name)),
                _ => CommandError::message(error),
            }
        })?;
    let mut device = arguments.device.device.open_for(&arguments.check)?;
    let failed = |error: RunError| {
        let fault = match &error {
            RunError::Device(error) => {
                Fault::of(error, &compiled.sources, &compiled.calls).diagnostic(&kernel.name)
            }
            RunError::Bind(_) => None,
        };
        match fault {
            Some(diagnostic) => {
                reporter.diagnostics(&[diagnostic], &[], &compiled.sources);
                CommandError::Reported
            }
            None => CommandError::message(error),
        }
    };
    let given = values.clone();
    let report =
        run_kernel(device.as_mut(), &artifact, &kernel.name, &mut values).map_err(failed)?;
    for number in 1..arguments.check.schedules {
        let mut again = given.clone();
        // A device for each schedule: buffers have the same addresses in all of them, which a kernel may write, as into
        // a tensor map.
        let mut device = arguments.device.device.open_for(&arguments.check)?;
        if let Some(simulator) = device.as_sim() {
            simulator.set_schedule(number);
        }
        run_kernel(device.as_mut(), &artifact, &kernel.name, &mut again).map_err(failed)?;
        compare(kernel, number, &values, &again)?;
    }

    for (position, path) in outputs {
        let Value::Tensor(tensor) = &values[position] else {
            let name = kernel.args[position].name();
            return Err(CommandError::Message(format!("`{name}` is not a tensor")));
        };
        let mut bytes = Vec::new();
        npy::write(&mut bytes, tensor).map_err(CommandError::message)?;
        output::write(path, &bytes)?;
    }
    let mut text = String::new();
    for (argument, value) in kernel.args.iter().zip(&values) {
        let written = argument.as_tensor().is_some_and(|tensor| tensor.mutable);
        if let (true, Value::Tensor(tensor)) = (written, value) {
            let _ = writeln!(text, "{}: {}", argument.name(), summary(tensor));
        }
    }
    let _ = match report.launched {
        true => writeln!(text, "`{}` ran on {}", kernel.name, device.name()),
        false => writeln!(
            text,
            "`{}` has nothing to do: its grid is empty",
            kernel.name
        ),
    };
    output::write_stdout(text.as_bytes())
}

/// How to give an argument that the kernel reads.
fn missing(kernel: &KernelAbi, name: &str) -> String {
    let argument = kernel.args.iter().find(|argument| argument.name() == name);
    let example = match argument.and_then(|argument| argument.as_tensor()) {
        Some(tensor) => {
            let shape = vec!["64"; tensor.extents.len()].join("x");
            format!("--arg {name}=normal:{shape}, or --arg {name}=FILE.npy")
        }
        None => format!("--arg {name}=1"),
    };
    format!(
        "`{name}` is missing, which `{}` reads: give it, as in {example}",
        kernel.name
    )
}

/// Whether a schedule gave what the first one gave.
fn compare(kernel: &KernelAbi, number: u64, first: &[Value], again: &[Value]) -> CommandResult {
    for ((argument, first), again) in kernel.args.iter().zip(first).zip(again) {
        if let (Value::Tensor(first), Value::Tensor(again)) = (first, again)
            && let Some(at) = first
                .bytes()
                .iter()
                .zip(again.bytes())
                .position(|(a, b)| a != b)
        {
            return Err(CommandError::Message(format!(
                "`{}` depends on the order in which things happen: in schedule {number} element {} in \
                 memory is another than in schedule 0",
                argument.name(),
                at / first.dtype().size()
            )));
        }
    }
    Ok(())
}

/// The kernel that is meant.
pub(super) fn choose<'a>(
    artifact: &'a Artifact,
    name: Option<&str>,
) -> Result<&'a KernelAbi, CommandError> {
    let kernels = &artifact.abi.kernels;
    match (name, kernels.as_slice()) {
        (None, [only]) => Ok(only),
        (Some(name), _) if artifact.kernel(name).is_some() => {
            artifact.kernel(name).ok_or(CommandError::Reported)
        }
        _ => {
            let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
            Err(CommandError::Usage(format!(
                "name a kernel with --kernel: the file has {}",
                names.join(", ")
            )))
        }
    }
}

fn position(kernel: &KernelAbi, name: &str) -> Result<usize, CommandError> {
    let found = kernel
        .args
        .iter()
        .position(|argument| argument.name() == name);
    found.ok_or_else(|| CommandError::Usage(format!("`{}` has no argument `{name}`", kernel.name)))
}

/// Type, shape and range of a tensor.
fn summary(tensor: &Tensor) -> String {
    let extents: Vec<String> = tensor.shape().iter().map(ToString::to_string).collect();
    let values = tensor.to_f64();
    let nans = values.iter().filter(|value| value.is_nan()).count();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut text = format!("{} ({})", tensor.dtype(), extents.join(", "));
    if nans < values.len() {
        let _ = write!(text, ", {low} to {high}");
    }
    if nans > 0 {
        let _ = write!(text, ", {nans} NaN");
    }
    text
}
