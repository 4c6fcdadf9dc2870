//! `cutec test -j`: several tests at a time, each thread with a simulator and a compiler of its own. Lines come in the
//! order of the tests, as without it; what kernels print comes when they print it.

use super::{Summary, TestFile, report_stop, run_test};
use crate::STACK_BYTES;
use crate::arguments::TestArguments;
use crate::context::Reporter;
use crate::error::{CommandError, CommandResult};
use crate::output::write_stdout;
use cutec::{Compiler, Diagnostic, Diagnostics};
use cutec_runtime::Device;
use cutec_testing::Interpreter;
use cutec_testing::problem::Stop;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// A test by the numbers of its file and of itself in it.
type Job = (usize, usize);

/// What a test has come to.
struct Outcome {
    result: Result<(), Stop>,
    elapsed: Duration,
    warnings: Vec<Diagnostics>,
    launched: Vec<String>,
}

/// Runs the tests of all files.
///
/// # Errors
/// When the tests are to run on a GPU, or output cannot be written.
pub fn run(
    arguments: &TestArguments,
    files: &[TestFile<'_>],
    reporter: &Reporter,
    summary: &mut Summary,
) -> CommandResult {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let count = match arguments.jobs {
        0 => cores,
        count => count,
    };
    let jobs: Vec<Job> = files
        .iter()
        .enumerate()
        .flat_map(|(file, tests)| (0..tests.tests().len()).map(move |test| (file, test)))
        .collect();
    let mut devices = Vec::new();
    for _ in 0..count.clamp(1, jobs.len().max(1)) {
        let mut device = arguments.device.device.open_for(&arguments.check)?;
        let Some(simulator) = device.as_sim() else {
            let message = format!("--jobs is of the simulator, not of {}", device.name());
            return Err(CommandError::Usage(message));
        };
        simulator.options_mut().threads = (cores / count).max(1);
        // Several at a time would write over each other.
        simulator.options_mut().progress = None;
        devices.push(device);
    }
    let (name, next) = (devices[0].name().to_string(), AtomicUsize::new(0));
    let (sender, outcomes) = mpsc::channel();
    std::thread::scope(|scope| {
        for device in devices {
            let (sender, jobs, next) = (sender.clone(), &jobs, &next);
            let take = move || jobs.get(next.fetch_add(1, Ordering::Relaxed)).copied();
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            thread
                .spawn_scoped(scope, move || work(arguments, files, device, take, &sender))
                .map_err(CommandError::message)?;
        }
        drop(sender);
        show_in_order(files, &jobs, &outcomes, &name, reporter, summary)
    })
}

/// Runs tests until there are none left.
fn work(
    arguments: &TestArguments,
    files: &[TestFile<'_>],
    mut device: Box<dyn Device>,
    take: impl Fn() -> Option<Job>,
    sender: &mpsc::Sender<(Job, Outcome)>,
) {
    let compiler = Compiler::new();
    let mut next = take();
    while let Some((number, _)) = next {
        let file = &files[number];
        let launcher = file.launcher(&compiler, device.as_mut());
        let interpreter = Interpreter::new(&file.sources, file.program.items(), &launcher);
        let tests = file.tests();
        while let Some((_, test)) = next.filter(|(of, _)| *of == number) {
            let start = Instant::now();
            let result = run_test(arguments, tests[test], &launcher, &interpreter);
            let outcome = Outcome {
                result,
                elapsed: start.elapsed(),
                warnings: launcher.take_warnings(),
                launched: launcher.launched(),
            };
            if sender.send(((number, test), outcome)).is_err() {
                return;
            }
            next = take();
        }
    }
}

fn show_in_order(
    files: &[TestFile<'_>],
    jobs: &[Job],
    outcomes: &mpsc::Receiver<(Job, Outcome)>,
    device: &str,
    reporter: &Reporter,
    summary: &mut Summary,
) -> CommandResult {
    let mut ready: BTreeMap<Job, Outcome> = BTreeMap::new();
    let mut launched: Vec<BTreeSet<String>> = vec![BTreeSet::new(); files.len()];
    let mut told: Vec<Diagnostic> = Vec::new();
    let progress = !reporter.is_json() && std::io::stderr().is_terminal();
    let mut done = 0;
    let mut shown = 0;
    let mut announced = None;
    for (job, outcome) in outcomes {
        done += 1;
        ready.insert(job, outcome);
        while let Some((job, outcome)) = jobs.get(shown).and_then(|job| ready.remove_entry(job)) {
            let (number, test) = job;
            let file = &files[number];
            if announced != Some(number) && !reporter.is_json() {
                write_stdout(file.header(device).as_bytes())?;
                announced = Some(number);
            }
            let test = file.tests()[test];
            summary.count(
                file,
                test,
                outcome.result.is_ok(),
                outcome.elapsed,
                reporter,
            )?;
            for mut warnings in outcome.warnings {
                // Each thread compiles for itself, and says what it finds.
                warnings.problems.retain(|found| !told.contains(found));
                told.extend(warnings.problems.iter().cloned());
                reporter.diagnostics(&warnings.problems, &warnings.failures, &warnings.sources);
            }
            if let Err(mut stop) = outcome.result {
                if let Some(cause) = &mut stop.cause {
                    cause.problems.retain(|found| !told.contains(found));
                    told.extend(cause.problems.iter().cloned());
                }
                report_stop(&stop, &file.sources, reporter);
            }
            launched[number].extend(outcome.launched);
            shown += 1;
        }
        if progress {
            let _ = write!(
                std::io::stderr(),
                "\r{done} of {} tests\x1b[K\r",
                jobs.len()
            );
        }
    }
    for (file, launched) in files.iter().zip(&launched) {
        if file.filter.is_some() {
            continue;
        }
        let compiler = Compiler::new();
        let mut device = cutec_runtime::SimDevice::new();
        let launcher = file.launcher(&compiler, &mut device);
        let others = file
            .kernels()
            .filter(|kernel| !launched.contains(&*kernel.name.node));
        summary.others(file, &launcher, others, reporter)?;
    }
    Ok(())
}
