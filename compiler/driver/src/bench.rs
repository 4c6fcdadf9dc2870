//! `cutec bench`: the `bench` blocks of files. Each launch is one line: on a GPU its time, in the
//! simulator what it counted.

use super::arguments::BenchArguments;
use super::context::{Reporter, check_plan, read_source, with_plan};
use super::error::{CommandError, CommandResult};
use super::output::write_stdout;
use super::sources;
use super::test::{report_stop, report_warnings};
use cutec::{Compiler, FileLoader};
use cutec_frontend::ast::{Bench, ItemKind};
use cutec_runtime::Device;
use cutec_testing::launch::{DeviceLauncher, Measurement};
use cutec_testing::{Interpreter, program};
use std::path::Path;

/// Runs the command.
///
/// # Errors
/// When a file cannot be read, is wrong, or a bench fails.
pub fn run(arguments: &BenchArguments, reporter: &Reporter) -> CommandResult {
    let mut device = arguments
        .device
        .device
        .open()
        .map_err(CommandError::message)?;
    if let Some(simulator) = device.as_sim() {
        simulator.options_mut().counters = true;
    }
    let compiler = Compiler::new();
    let mut failed = false;
    for file in sources::find(&arguments.files)? {
        failed |= !bench_file(arguments, &file, &compiler, device.as_mut(), reporter)?;
    }
    match failed {
        false => Ok(()),
        true => Err(CommandError::Reported),
    }
}

/// Whether all benches of a file ran to their end.
fn bench_file(
    arguments: &BenchArguments,
    file: &Path,
    compiler: &Compiler,
    device: &mut dyn Device,
    reporter: &Reporter,
) -> Result<bool, CommandError> {
    let source = read_source(file)?;
    let (plan, options) = with_plan(arguments.plan.as_deref(), &arguments.compile)?;
    if let (Some(plan), Some(path)) = (&plan, &arguments.plan) {
        check_plan(plan, path, &source, reporter);
    }
    let (sources, program) = program::load(&source, &FileLoader, &options.defines)
        .map_err(|error| reporter.errors(&error))?;
    let filter = arguments.filter.as_deref().unwrap_or("");
    let benches = program
        .root()
        .into_iter()
        .flat_map(|root| &root.items)
        .filter_map(|item| match &item.kind {
            ItemKind::Bench(bench) => Some(bench),
            _ => None,
        })
        .filter(|bench: &&Bench| bench.name.node.contains(filter));
    let mut benches = benches.peekable();
    // Of a folder those files are meant that have some.
    if benches.peek().is_none() && !arguments.files.iter().any(|named| named == file) {
        return Ok(true);
    }
    let header = format!("{} on {}\n", file.display(), device.name());
    write_stdout(header.as_bytes())?;
    // The simulator has no times to take the median of.
    let repeats = match device.as_sim() {
        Some(_) => 0,
        None => arguments.repeats,
    };
    let mut launcher = DeviceLauncher::new(
        compiler,
        &FileLoader,
        &source,
        &sources,
        &options,
        device,
        repeats,
    );
    if let Some(plan) = &plan {
        launcher.use_plan(plan);
    }
    let interpreter = Interpreter::new(&sources, &program, &launcher);
    let benches: Vec<&Bench> = benches.collect();
    if benches.is_empty() {
        let reason = match arguments.filter {
            Some(_) => "no `bench` block has such a name\n",
            None => "there is no `bench` block\n",
        };
        write_stdout(reason.as_bytes())?;
    }
    let mut all = true;
    for bench in benches {
        let result = interpreter.run(&bench.name.node, &bench.body, arguments.device.seed);
        for measurement in launcher.take_measurements() {
            let line = format!("bench {}: {}\n", bench.name.node, describe(&measurement));
            write_stdout(line.as_bytes())?;
        }
        report_warnings(&launcher, reporter);
        if let Err(stop) = result {
            report_stop(&stop, &sources, reporter);
            all = false;
        }
    }
    Ok(all)
}

/// One launch in one line.
fn describe(measurement: &Measurement) -> String {
    let mut text = measurement.kernel.clone();
    if !measurement.defines.is_empty() {
        let defines: Vec<String> = measurement
            .defines
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        text.push_str(&format!("<{}>", defines.join(", ")));
    }
    let mut times = measurement.times.clone();
    times.sort();
    if let (Some(best), Some(median)) = (times.first(), times.get(times.len() / 2)) {
        let microseconds = |duration: &std::time::Duration| duration.as_secs_f64() * 1e6;
        text.push_str(&format!(
            "  median {:.2} µs, best {:.2} µs of {}",
            microseconds(median),
            microseconds(best),
            times.len()
        ));
    }
    if let (Some(stats), Some(time)) = (&measurement.stats, measurement.simulated) {
        let rate = stats.warp_instructions as f64 / time.as_secs_f64().max(1e-9) / 1e6;
        text.push_str(&format!(
            "  {} warp instructions ({rate:.1} million a second simulated), {} mma, {} bytes read, {} bytes \
             written, {} shared wavefronts ({} without bank conflicts)",
            stats.warp_instructions,
            stats.mma_instructions,
            stats.global_read_bytes,
            stats.global_written_bytes,
            stats.shared_wavefronts,
            stats.shared_wavefronts_ideal
        ));
    }
    text
}
