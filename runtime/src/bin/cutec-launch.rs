//! `cutec-launch`: runs one kernel of a compiled artifact, on a GPU or in the simulator.
//!
//! It needs neither the compiler nor LLVM. Exit status: 0, 1 when something fails, 2 for wrong usage.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use cutec_runtime::argument::{ArgumentSpec, OutputSpec, make_arguments};
use cutec_runtime::ending::{complain, is_unread};
use cutec_runtime::output_file;
use cutec_runtime::tensor::npy;
use cutec_runtime::{Artifact, KernelAbi, Loaded, RunReport, Tensor, Value, open};

/// Runs one kernel of a compiled artifact, on a GPU or in the simulator.
#[derive(Debug, Parser)]
#[command(name = "cutec-launch", version)]
struct Options {
    /// PTX, or a cubin with its .abi.json beside it.
    file: PathBuf,
    /// Kernel to run; may be left out where the file has one.
    #[arg(long)]
    kernel: Option<String>,
    /// An argument: `NAME=FILE.npy`, `NAME=NUMBER`, or `NAME=GENERATOR:SHAPE[:DTYPE]` with the generators
    /// normal, uniform, zeros and poison. Tensors that the kernel writes may be left out.
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    args: Vec<ArgumentSpec>,
    /// Writes an argument to a file after the run.
    #[arg(long = "out", value_name = "NAME=FILE.npy")]
    outs: Vec<OutputSpec>,
    /// `sim`, `cuda` or `cuda:N`; a GPU if there is one, else the simulator.
    #[arg(long)]
    device: Option<String>,
    /// Seed of the generators.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Launches this many times more and prints the median time (GPU only).
    #[arg(long, value_name = "N", default_value_t = 0)]
    time: usize,
    /// Prints what the kernel expects, and runs nothing.
    #[arg(long)]
    show_abi: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    cutec_runtime::signals::leave_nothing_behind();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !is_unread(error.as_ref()) {
                complain(&format!("error: {error}"));
            }
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let artifact = Artifact::read(&options.file)?;
    let kernel = choose(&artifact, options.kernel.as_deref())?;
    if options.show_abi {
        return Ok(writeln!(
            std::io::stdout(),
            "{}",
            serde_json::to_string_pretty(kernel)?
        )?);
    }
    for output in &options.outs {
        position(kernel, &output.name)?;
    }
    let mut values = make_arguments(kernel, &options.args, options.seed)?;
    let mut device = open(options.device.as_deref())?;
    let loaded = Loaded::load(device.as_mut(), &artifact)?;
    let report = loaded.run_timed(device.as_mut(), &kernel.name, &mut values, options.time)?;
    for output in &options.outs {
        let value = &values[position(kernel, &output.name)?];
        let tensor = value
            .as_tensor()
            .ok_or_else(|| format!("`{}` is no tensor", output.name))?;
        write(&output.path, tensor)?;
    }
    print(kernel, &values, &report, device.name())?;
    Ok(())
}

fn choose<'a>(artifact: &'a Artifact, name: Option<&str>) -> Result<&'a KernelAbi, String> {
    let kernels = &artifact.abi.kernels;
    let names = || {
        kernels
            .iter()
            .map(|kernel| kernel.name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    match (name, kernels.as_slice()) {
        (None, [only]) => Ok(only),
        (None, _) => Err(format!("expected --kernel with one of: {}", names())),
        (Some(name), _) => artifact
            .kernel(name)
            .ok_or_else(|| format!("no kernel `{name}`: expected one of: {}", names())),
    }
}

fn position(kernel: &KernelAbi, name: &str) -> Result<usize, String> {
    let found = kernel.args.iter().position(|arg| arg.name() == name);
    found.ok_or_else(|| format!("`{}` has no argument `{name}`", kernel.name))
}

fn write(path: &Path, tensor: &Tensor) -> Result<(), String> {
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let mut bytes = Vec::new();
    npy::write(&mut bytes, tensor).map_err(|error| named(&error))?;
    output_file::write(path, &bytes).map_err(|error| named(&error))
}

/// A line for each tensor that the kernel writes, and one for the run.
fn print(
    kernel: &KernelAbi,
    values: &[Value],
    report: &RunReport,
    device: &str,
) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for (arg, value) in kernel.args.iter().zip(values) {
        let written = arg.as_tensor().is_some_and(|tensor| tensor.mutable);
        if let (true, Some(tensor)) = (written, value.as_tensor()) {
            writeln!(out, "{}: {}", arg.name(), summary(tensor))?;
        }
    }
    match report.launched {
        true => write!(out, "{} ran on {device}", kernel.name)?,
        false => write!(out, "{}: nothing to do, the grid is empty", kernel.name)?,
    }
    if let Some(stats) = report.report.stats {
        write!(out, ", {} warp instructions", stats.warp_instructions)?;
    }
    let mut times = report.times.clone();
    times.sort();
    if let Some(median) = times.get(times.len() / 2) {
        write!(
            out,
            ", {} in the median of {}",
            microseconds(*median),
            times.len()
        )?;
    }
    writeln!(out)
}

fn summary(tensor: &Tensor) -> String {
    let extents: Vec<String> = tensor.shape().iter().map(i64::to_string).collect();
    let values = tensor.to_f64();
    let finite: Vec<f64> = values
        .iter()
        .copied()
        .filter(|value| value.is_finite())
        .collect();
    let mean = finite.iter().sum::<f64>() / finite.len().max(1) as f64;
    let low = finite.iter().copied().fold(f64::INFINITY, f64::min);
    let high = finite.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut text = format!("{} {}", tensor.dtype(), extents.join("x"));
    if !finite.is_empty() {
        text += &format!(", mean {mean:.6}, from {low:.6} to {high:.6}");
    }
    if finite.len() < values.len() {
        text += &format!(", {} not finite", values.len() - finite.len());
    }
    text
}

fn microseconds(time: Duration) -> String {
    format!("{:.2} us", time.as_secs_f64() * 1e6)
}
