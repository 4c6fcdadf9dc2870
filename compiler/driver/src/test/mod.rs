//! `cutec test`: the `test` blocks of files. [`parallel`] runs several at a time.

mod parallel;

use super::arguments::TestArguments;
use super::context::{Reporter, check_plan, read_source, with_plan};
use super::error::{CommandError, CommandResult};
use super::output::write_stdout;
use super::{sources, watch};
use cutec::{Compiler, FileLoader, Options, Source};
use cutec_frontend::Program;
use cutec_frontend::ast::{Item, ItemKind, Kernel, Test};
use cutec_frontend::source::SourceMap;
use cutec_runtime::Device;
use cutec_testing::launch::DeviceLauncher;
use cutec_testing::problem::Stop;
use cutec_testing::{Interpreter, program};
use cutec_tuning::Plan;
use serde::Serialize;
use std::path::Path;
use std::time::{Duration, Instant};

/// Runs the command.
///
/// # Errors
/// When a file cannot be read, is wrong, or has a test that fails.
pub fn run(arguments: &TestArguments, reporter: &Reporter) -> CommandResult {
    match arguments.watch {
        true => watch::forever(&arguments.files, reporter, || once(arguments, reporter)),
        false => once(arguments, reporter),
    }
}

fn once(arguments: &TestArguments, reporter: &Reporter) -> CommandResult {
    let start = Instant::now();
    let mut summary = Summary::default();
    let mut files = Vec::new();
    for path in sources::find(&arguments.files)? {
        match TestFile::load(arguments, &path, reporter)? {
            Some(file) => files.push(file),
            None => summary.broken += 1,
        }
    }
    summary.filtered = files.iter().map(|file| file.filtered).sum();
    if arguments.list {
        list(&files, reporter)?;
        return match summary.broken {
            0 => Ok(()),
            _ => Err(CommandError::Reported),
        };
    }
    let mut device = arguments.device.device.open_for(&arguments.check)?;
    let tests: usize = files.iter().map(|file| file.tests().len()).sum();
    let jobs = match (device.as_sim().is_some(), arguments.jobs) {
        (true, None | Some(0)) => processors(),
        (true, Some(count)) => count,
        (false, None | Some(1)) => 1,
        (false, Some(_)) => {
            let message = format!("--jobs is of the simulator, not of {}", device.name());
            return Err(CommandError::Usage(message));
        }
    };
    match jobs.min(tests) {
        0 | 1 => {
            let compiler = Compiler::new();
            for file in &files {
                test_file(
                    arguments,
                    file,
                    &compiler,
                    device.as_mut(),
                    reporter,
                    &mut summary,
                )?;
            }
        }
        count => parallel::run(arguments, &files, (device, count), reporter, &mut summary)?,
    }
    summary.conclude(start.elapsed(), reporter)
}

/// How many tests run at a time unless something else is said.
fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, |processors| processors.get())
}

/// A file with `test` blocks.
struct TestFile<'a> {
    path: String,
    source: Source,
    sources: SourceMap,
    program: Program,
    plan: Option<Plan>,
    options: Options,
    filter: Option<&'a str>,
    /// Tests that the filter leaves out.
    filtered: u64,
}

impl<'a> TestFile<'a> {
    /// `None` where it does not parse or has no parameter that is set, which is reported.
    fn load(
        arguments: &'a TestArguments,
        path: &Path,
        reporter: &Reporter,
    ) -> Result<Option<Self>, CommandError> {
        let source = read_source(path)?;
        let (plan, options) = with_plan(arguments.plan.as_deref(), &arguments.compile)?;
        if let (Some(plan), Some(path)) = (&plan, &arguments.plan) {
            check_plan(plan, path, &source, reporter);
        }
        let (sources, program) = match program::load(&source, &FileLoader, &options.defines) {
            Ok(loaded) => loaded,
            Err(error) => {
                let _ = reporter.errors(&error);
                return Ok(None);
            }
        };
        let mut file = Self {
            path: path.display().to_string(),
            source,
            sources,
            program,
            plan,
            options,
            filter: arguments.filter.as_deref(),
            filtered: 0,
        };
        let all = file
            .items()
            .filter(|item| matches!(item.kind, ItemKind::Test(_)));
        file.filtered = (all.count() - file.tests().len()) as u64;
        Ok(Some(file))
    }

    fn items(&self) -> impl Iterator<Item = &Item> {
        self.program.root().into_iter().flat_map(|root| &root.items)
    }

    /// The tests that are to run.
    fn tests(&self) -> Vec<&Test> {
        let filter = self.filter.unwrap_or("");
        let tests = self.items().filter_map(|item| match &item.kind {
            ItemKind::Test(test) => Some(test),
            _ => None,
        });
        tests
            .filter(|test| test.name.node.contains(filter))
            .collect()
    }

    fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        self.items().filter_map(|item| match &item.kind {
            ItemKind::Kernel(kernel) => Some(kernel),
            _ => None,
        })
    }

    fn launcher<'f>(
        &'f self,
        compiler: &'f Compiler,
        device: &'f mut dyn Device,
    ) -> DeviceLauncher<'f> {
        let mut launcher = DeviceLauncher::new(
            compiler,
            &FileLoader,
            &self.source,
            &self.sources,
            &self.options,
            device,
            0,
        );
        if let Some(plan) = &self.plan {
            launcher.use_plan(plan);
        }
        launcher
    }

    fn header(&self, device: &str) -> String {
        let count = self.tests().len();
        let plural = if count == 1 { "" } else { "s" };
        format!(
            "running {count} test{plural} of {} on {device}\n",
            self.path
        )
    }
}

/// A line of `--message-format json` on standard output.
#[derive(Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Event<'a> {
    /// A test of `--list`.
    TestFound {
        file: &'a str,
        name: &'a str,
        line: u32,
    },
    /// A test that has run.
    Test {
        file: &'a str,
        name: &'a str,
        outcome: &'a str,
        seconds: f64,
    },
    /// A kernel that no test launches and that does not compile.
    Kernel { file: &'a str, name: &'a str },
    /// The end.
    TestResult(&'a Summary),
}

/// Shows a line for people, or an object in its place.
fn show(event: &Event<'_>, line: &str, reporter: &Reporter) -> CommandResult {
    match reporter.is_json() {
        true => {
            let object = serde_json::to_string(event).map_err(CommandError::message)?;
            write_stdout(format!("{object}\n").as_bytes())
        }
        false => write_stdout(line.as_bytes()),
    }
}

fn list(files: &[TestFile<'_>], reporter: &Reporter) -> CommandResult {
    for file in files {
        for test in file.tests() {
            let line = file.sources.line_column(test.name.span).line;
            let event = Event::TestFound {
                file: &file.path,
                name: &test.name.node,
                line,
            };
            let text = format!("{}:{line}: {}\n", file.path, test.name.node);
            show(&event, &text, reporter)?;
        }
    }
    Ok(())
}

#[derive(Default, Serialize)]
struct Summary {
    passed: u64,
    failed: u64,
    filtered: u64,
    /// Files that do not parse, or have no parameter that is set.
    broken: u64,
    /// Kernels that no test launches and that do not compile.
    unlaunched: u64,
}

impl Summary {
    fn conclude(&self, elapsed: Duration, reporter: &Reporter) -> CommandResult {
        let verdict = match self.failed + self.broken + self.unlaunched {
            0 => "ok",
            _ => "FAILED",
        };
        let mut line = format!(
            "\ntest result: {verdict}. {} passed; {} failed; {} filtered out; finished in {}\n",
            self.passed,
            self.failed,
            self.filtered,
            seconds(elapsed)
        );
        if self.broken > 0 {
            line.push_str(&format!("{} of the files did not run\n", self.broken));
        }
        if self.unlaunched > 0 {
            line.push_str(&format!(
                "{} of the kernels that no test launches do not compile\n",
                self.unlaunched
            ));
        }
        show(&Event::TestResult(self), &line, reporter)?;
        match verdict {
            "ok" => Ok(()),
            _ => Err(CommandError::Reported),
        }
    }

    /// Counts a test that has run, and shows its line.
    fn count(
        &mut self,
        file: &TestFile<'_>,
        test: &Test,
        passed: bool,
        elapsed: Duration,
        reporter: &Reporter,
    ) -> CommandResult {
        *(if passed {
            &mut self.passed
        } else {
            &mut self.failed
        }) += 1;
        let name = &test.name.node;
        let verdict = if passed { "ok" } else { "FAILED" };
        let event = Event::Test {
            file: &file.path,
            name,
            outcome: if passed { "ok" } else { "failed" },
            seconds: elapsed.as_secs_f64(),
        };
        let line = format!("test {name} ... {verdict} ({})\n", seconds(elapsed));
        show(&event, &line, reporter)
    }

    /// Compiles the kernels that no test launches.
    fn others<'k>(
        &mut self,
        file: &TestFile<'_>,
        launcher: &DeviceLauncher<'_>,
        kernels: impl Iterator<Item = &'k Kernel>,
        reporter: &Reporter,
    ) -> CommandResult {
        for (name, cause) in launcher.compile_unlaunched(kernels) {
            self.unlaunched += 1;
            let event = Event::Kernel {
                file: &file.path,
                name,
            };
            show(
                &event,
                &format!("kernel {name} ... does not compile\n"),
                reporter,
            )?;
            if let Some(cause) = cause {
                let _ = reporter.errors(&cause);
            }
        }
        report_warnings(launcher, reporter);
        Ok(())
    }
}

/// Runs a test, in all schedules that are asked for.
fn run_test(
    arguments: &TestArguments,
    test: &Test,
    launcher: &DeviceLauncher<'_>,
    interpreter: &Interpreter<'_>,
) -> Result<(), Stop> {
    (0..arguments.check.schedules).try_for_each(|number| {
        launcher.set_schedule(number);
        let result = interpreter.run(&test.name.node, &test.body, arguments.device.seed);
        result.map(|_| ()).map_err(|mut stop| {
            if number > 0 {
                let note = format!("in schedule {number}; the schedules before it went well");
                stop.diagnostic.notes.push(note);
            }
            stop
        })
    })
}

fn test_file(
    arguments: &TestArguments,
    file: &TestFile<'_>,
    compiler: &Compiler,
    device: &mut dyn Device,
    reporter: &Reporter,
    summary: &mut Summary,
) -> CommandResult {
    if !reporter.is_json() {
        write_stdout(file.header(device.name()).as_bytes())?;
    }
    let launcher = file.launcher(compiler, device);
    let interpreter = Interpreter::new(&file.sources, &file.program, &launcher);
    let tests = file.tests();
    for (number, test) in tests.iter().enumerate() {
        let of = match tests.len() {
            1 => String::new(),
            count => format!(" ({} of {count})", number + 1),
        };
        launcher.announce(&format!("test {}{of}", test.name.node));
        let start = Instant::now();
        let result = run_test(arguments, test, &launcher, &interpreter);
        // The line is written as a whole when the test is over: what its kernels print comes before it.
        summary.count(file, test, result.is_ok(), start.elapsed(), reporter)?;
        report_warnings(&launcher, reporter);
        if let Err(stop) = result {
            report_stop(&stop, &file.sources, reporter);
        }
    }
    // Whoever asks for some of the tests wants no others' kernels.
    if arguments.filter.is_none() {
        summary.others(file, &launcher, file.kernels(), reporter)?;
    }
    Ok(())
}

/// Shows what looks wrong in the kernels that were compiled.
pub fn report_warnings(launcher: &DeviceLauncher<'_>, reporter: &Reporter) {
    for warnings in launcher.take_warnings() {
        let _ = reporter.errors(&warnings);
    }
}

/// Shows why a block ended, and the errors of a kernel that does not compile.
pub fn report_stop(stop: &Stop, sources: &SourceMap, reporter: &Reporter) {
    if let Some(cause) = &stop.cause {
        let _ = reporter.errors(cause);
    }
    reporter.diagnostics(std::slice::from_ref(&stop.diagnostic), &[], sources);
}

/// `0.12 s`
pub fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}
