//! `cutec-sim`: runs any PTX in the simulator, checks it and counts what it does.
//!
//! PTX of `cutec` says itself how its kernels are called; for other PTX a file with the ABI does
//! (`--abi`), or the command line (`--grid`, `--block`, `--param`). In reading order: this file (the
//! command line), [`call`] (what is launched), [`report`] (what is printed).
//!
//! Exit status: 0, 1 when something fails or is found, 2 for wrong usage.

mod call;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use clap::Parser;
use cutec_runtime::SimDevice;
use cutec_runtime::argument::{ArgumentSpec, OutputSpec};
use cutec_runtime::sim;

use call::{Call, CallError};
use cutec_runtime::ending::complain;

/// Runs any PTX in the simulator, checks it and counts what it does.
#[derive(Debug, Parser)]
#[command(name = "cutec-sim", version)]
struct Options {
    /// PTX.
    file: PathBuf,
    /// Kernel to run; may be left out where the file has one.
    #[arg(long)]
    kernel: Option<String>,
    /// The ABI of the kernels as JSON, where the file does not carry it.
    #[arg(long, value_name = "FILE")]
    abi: Option<PathBuf>,
    /// An argument by the ABI: `NAME=FILE.npy`, `NAME=NUMBER`, or `NAME=GENERATOR:SHAPE[:DTYPE]` with the
    /// generators normal, uniform, zeros and poison. Tensors that the kernel writes may be left out.
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    args: Vec<ArgumentSpec>,
    /// Without an ABI: blocks in x, y and z.
    #[arg(long, value_name = "X[,Y[,Z]]", requires = "block")]
    grid: Option<Extent>,
    /// Without an ABI: threads of a block in x, y and z.
    #[arg(long, value_name = "X[,Y[,Z]]", requires = "grid")]
    block: Option<Extent>,
    /// Without an ABI: bytes of dynamic shared memory.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,
    /// Without an ABI, the parameters in order: `FILE.npy` and `GENERATOR:SHAPE:DTYPE` are memory, of which
    /// the kernel gets the address; `DTYPE:NUMBER` is a number.
    #[arg(long = "param", value_name = "VALUE", requires = "grid")]
    params: Vec<String>,
    /// Writes an argument to a file after the run; without an ABI its name is its number, from 0.
    #[arg(long = "out", value_name = "NAME=FILE.npy")]
    outs: Vec<OutputSpec>,
    /// Reports data races, and asynchronous copies that nobody waits for.
    #[arg(long)]
    check: bool,
    /// Runs so many legal schedules, and compares what they compute.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    schedules: u64,
    /// Seed of the generators and of random schedules.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Prints what each instruction did.
    #[arg(long)]
    profile: bool,
    /// Prints it as JSON.
    #[arg(long, conflicts_with = "profile")]
    json: bool,
}

/// Up to three extents.
#[derive(Clone, Copy, Debug)]
struct Extent([u32; 3]);

impl FromStr for Extent {
    type Err = String;

    fn from_str(text: &str) -> Result<Extent, String> {
        let mut extent = [1; 3];
        let parts: Vec<&str> = text.split(',').collect();
        if parts.len() > 3 {
            return Err(format!("expected at most 3 extents, found {}", parts.len()));
        }
        for (extent, part) in extent.iter_mut().zip(parts) {
            *extent = part
                .parse()
                .ok()
                .filter(|extent| *extent > 0)
                .ok_or_else(|| format!("expected a number above 0, found `{part}`"))?;
        }
        Ok(Extent(extent))
    }
}

fn main() -> ExitCode {
    cutec_runtime::signals::leave_nothing_behind();
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !error.is_unread() {
                complain(&format!("error: {error}"));
                if let Some(help) = error.help() {
                    complain(&format!("help: {help}"));
                }
            }
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), CallError> {
    let call = Call::new(options)?;
    for output in &options.outs {
        call.position(&output.name)?;
    }
    // A device for each schedule: buffers have the same addresses in all of them, which a kernel may write, as into a
    // tensor map.
    let new_device = || {
        SimDevice::with_options(sim::Options {
            races: options.check,
            seed: options.seed,
            progress: sim::Progress::terminal(""),
            ..sim::Options::default()
        })
    };
    let mut device = new_device();
    if options.profile || options.json {
        device.profile_launches();
    }
    let (values, stats) = call.run(&mut device)?;
    let profiles = device.take_profiles();
    for number in 1..options.schedules {
        let mut device = new_device();
        device.set_schedule(number);
        let (again, _) = call.run(&mut device)?;
        call.compare(number, &values, &again)?;
    }
    for output in &options.outs {
        report::write(&output.path, &values[call.position(&output.name)?])?;
    }
    report::print(
        &call,
        &values,
        stats,
        options.schedules,
        &profiles,
        options.json,
    )
}
