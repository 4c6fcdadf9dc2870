//! `cutec test -j`: several tests at a time, each thread with a simulator and a compiler of its own; a kernel is compiled by
//! the first that needs it. What there is to show comes in the order of the tests, as without it.

use super::{Summary, TestFile, report_stop, run_test};
use crate::STACK_BYTES;
use crate::arguments::TestArguments;
use crate::context::Reporter;
use crate::error::{CommandError, CommandResult};
use crate::output::write_stdout;
use cutec::{Compiler, Diagnostic, Diagnostics};
use cutec_runtime::{Device, sim};
use cutec_testing::Interpreter;
use cutec_testing::launch::SharedKernels;
use cutec_testing::problem::Stop;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A test by the numbers of its file and of itself in it.
type Job = (usize, usize);

/// What a test has come to.
struct Outcome {
    result: Result<(), Stop>,
    elapsed: Duration,
    /// What its kernels printed.
    printed: Vec<u8>,
    warnings: Vec<Diagnostics>,
    launched: Vec<String>,
}

/// What the threads have in common.
struct Work<'a> {
    arguments: &'a TestArguments,
    files: &'a [TestFile<'a>],
    jobs: Vec<Job>,
    next: AtomicUsize,
    /// One a file.
    kernels: Vec<SharedKernels>,
    /// Tests that run, and since when.
    running: Mutex<BTreeMap<Job, Instant>>,
}

/// Runs the tests of all files, `count` at a time, the first on `device`, a simulator.
///
/// # Errors
/// When output cannot be written.
pub fn run(
    arguments: &TestArguments,
    files: &[TestFile<'_>],
    (device, count): (Box<dyn Device>, usize),
    reporter: &Reporter,
    summary: &mut Summary,
) -> CommandResult {
    let name = device.name().to_string();
    let mut devices = vec![device];
    while devices.len() < count {
        devices.push(arguments.device.device.open_for(&arguments.check)?);
    }
    let processors = super::processors();
    for device in &mut devices {
        if let Some(simulator) = device.as_sim() {
            simulator.options_mut().threads = (processors / count).max(1);
            // Several at a time would write over each other.
            simulator.options_mut().progress = None;
        }
    }
    let jobs = files.iter().enumerate();
    let work = Work {
        arguments,
        files,
        jobs: jobs
            .flat_map(|(file, tests)| (0..tests.tests().len()).map(move |test| (file, test)))
            .collect(),
        next: AtomicUsize::new(0),
        kernels: files.iter().map(|_| SharedKernels::default()).collect(),
        running: Mutex::default(),
    };
    let (sender, outcomes) = mpsc::channel();
    std::thread::scope(|scope| {
        for device in devices {
            let (sender, work) = (sender.clone(), &work);
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            thread
                .spawn_scoped(scope, move || work.run(device, &sender))
                .map_err(CommandError::message)?;
        }
        drop(sender);
        let mut incoming = Incoming {
            outcomes,
            ready: BTreeMap::new(),
            done: 0,
            progress: Progress::of(reporter),
        };
        show_in_order(&work, &mut incoming, &name, reporter, summary)
    })
}

impl Work<'_> {
    fn take(&self) -> Option<Job> {
        let job = self.jobs.get(self.next.fetch_add(1, Ordering::Relaxed));
        job.copied()
    }

    /// Runs tests until there are none left.
    fn run(&self, mut device: Box<dyn Device>, sender: &mpsc::Sender<(Job, Outcome)>) {
        let compiler = Compiler::new();
        let mut next = self.take();
        while let Some((number, _)) = next {
            let file = &self.files[number];
            let mut launcher = file.launcher(&compiler, device.as_mut());
            launcher.share(&self.kernels[number]);
            let interpreter = Interpreter::new(&file.sources, &file.program, &launcher);
            let tests = file.tests();
            while let Some(job) = next.filter(|(of, _)| *of == number) {
                let start = Instant::now();
                self.running().insert(job, start);
                let printed = Arc::new(Mutex::new(Vec::new()));
                let to = Arc::clone(&printed);
                launcher.print_to(sim::Output::new(move |text| {
                    let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
                    to.extend_from_slice(text);
                }));
                let result = run_test(self.arguments, tests[job.1], &launcher, &interpreter);
                let outcome = Outcome {
                    result,
                    elapsed: start.elapsed(),
                    printed: std::mem::take(
                        &mut printed.lock().unwrap_or_else(PoisonError::into_inner),
                    ),
                    warnings: launcher.take_warnings(),
                    launched: launcher.launched(),
                };
                self.running().remove(&job);
                if sender.send((job, outcome)).is_err() {
                    return;
                }
                next = self.take();
            }
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, BTreeMap<Job, Instant>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far all is: `12 of 40 tests, 8 s: gemm (5 s), softmax (2 s)`.
    fn state(&self, done: usize, elapsed: Duration) -> String {
        let running = self.running();
        let name = |(file, test): &Job| self.files[*file].tests()[*test].name.node.clone();
        let mut oldest: Vec<(&Job, &Instant)> = running.iter().collect();
        oldest.sort_by_key(|(_, since)| **since);
        let shown: Vec<String> = oldest
            .iter()
            .take(SHOWN)
            .map(|(job, since)| format!("{} ({} s)", name(job), since.elapsed().as_secs()))
            .collect();
        let more = match oldest.len() > SHOWN {
            true => ", …",
            false => "",
        };
        let (count, seconds) = (self.jobs.len(), elapsed.as_secs());
        format!(
            "  {done} of {count} tests, {seconds} s: {}{more}",
            shown.join(", ")
        )
    }
}

/// Tests that the line of progress names.
const SHOWN: usize = 3;
/// Before this nobody wonders.
const SOON: Duration = Duration::from_secs(1);
/// Between two lines of progress.
const PERIOD: Duration = Duration::from_millis(250);
/// Ends the line that is shown.
const CLEAR: &str = "\r\x1b[K";
/// A line of progress has at most so many columns: one that is wrapped cannot be taken away.
const COLUMNS: usize = 79;

/// The line on standard error that says how far the tests are, where that is a terminal.
struct Progress {
    start: Instant,
    last: Option<Instant>,
    terminal: bool,
}

impl Progress {
    fn of(reporter: &Reporter) -> Self {
        Self {
            start: Instant::now(),
            last: None,
            terminal: !reporter.is_json() && std::io::stderr().is_terminal(),
        }
    }

    fn show(&mut self, state: impl FnOnce(Duration) -> String) {
        let due = self.last.is_none_or(|last| last.elapsed() >= PERIOD);
        if self.terminal && due && self.start.elapsed() > SOON {
            self.last = Some(Instant::now());
            let line: String = state(self.start.elapsed()).chars().take(COLUMNS).collect();
            let _ = write!(std::io::stderr(), "{CLEAR}{line}");
        }
    }

    /// Takes the line away before anything else is written.
    fn clear(&mut self) {
        if self.last.take().is_some() {
            let _ = write!(std::io::stderr(), "{CLEAR}");
        }
    }
}

/// Outcomes as they come in.
struct Incoming {
    outcomes: mpsc::Receiver<(Job, Outcome)>,
    ready: BTreeMap<Job, Outcome>,
    done: usize,
    progress: Progress,
}

impl Incoming {
    /// What a test has come to, once it has.
    fn of(&mut self, job: Job, work: &Work<'_>) -> Result<Outcome, CommandError> {
        loop {
            while let Ok((job, outcome)) = self.outcomes.try_recv() {
                self.done += 1;
                self.ready.insert(job, outcome);
            }
            if let Some(outcome) = self.ready.remove(&job) {
                self.progress.clear();
                return Ok(outcome);
            }
            let done = self.done;
            self.progress.show(|elapsed| work.state(done, elapsed));
            match self.outcomes.recv_timeout(PERIOD) {
                Ok((job, outcome)) => {
                    self.done += 1;
                    self.ready.insert(job, outcome);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(CommandError::message("the tests ended without a result"));
                }
            }
        }
    }
}

fn show_in_order(
    work: &Work<'_>,
    incoming: &mut Incoming,
    device: &str,
    reporter: &Reporter,
    summary: &mut Summary,
) -> CommandResult {
    let mut told: Vec<Diagnostic> = Vec::new();
    for (number, file) in work.files.iter().enumerate() {
        if !reporter.is_json() {
            write_stdout(file.header(device).as_bytes())?;
        }
        let mut launched = BTreeSet::new();
        for (at, test) in file.tests().into_iter().enumerate() {
            let outcome = incoming.of((number, at), work)?;
            write_stdout(&outcome.printed)?;
            let passed = outcome.result.is_ok();
            summary.count(file, test, passed, outcome.elapsed, reporter)?;
            for mut warnings in outcome.warnings {
                // Each thread tells what it finds.
                warnings.problems.retain(|found| !told.contains(found));
                told.extend(warnings.problems.iter().cloned());
                reporter.diagnostics(&warnings.problems, &warnings.failures, &warnings.sources);
            }
            if let Err(mut stop) = outcome.result {
                stop.tell_once(&mut told);
                report_stop(&stop, &file.sources, reporter);
            }
            launched.extend(outcome.launched);
        }
        // Whoever asks for some of the tests wants no others' kernels.
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
