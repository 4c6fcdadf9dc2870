//! `cutec test`: the `test` blocks of files.

use super::arguments::TestArguments;
use super::context::{Reporter, check_plan, read_source, with_plan};
use super::error::{CommandError, CommandResult, complain};
use super::output::write_stdout;
use cutec::{Compiler, FileLoader};
use cutec_frontend::ast::{ItemKind, Test};
use cutec_frontend::diagnostics::render::render;
use cutec_frontend::source::SourceMap;
use cutec_runtime::Device;
use cutec_testing::launch::DeviceLauncher;
use cutec_testing::problem::Stop;
use cutec_testing::{Interpreter, program};
use std::path::Path;
use std::time::{Duration, Instant};

/// Runs the command.
///
/// # Errors
/// When a file cannot be read, is wrong, or has a test that fails.
pub fn run(arguments: &TestArguments, reporter: &Reporter) -> CommandResult {
    let mut device = arguments.device.device.open_for(&arguments.check)?;
    let compiler = Compiler::new();
    let start = Instant::now();
    let mut summary = Summary::default();
    for file in &arguments.files {
        test_file(
            arguments,
            file,
            &compiler,
            device.as_mut(),
            reporter,
            &mut summary,
        )?;
    }
    let verdict = match summary.failed + summary.broken + summary.unlaunched {
        0 => "ok",
        _ => "FAILED",
    };
    let mut line = format!(
        "\ntest result: {verdict}. {} passed; {} failed; {} filtered out; finished in {}\n",
        summary.passed,
        summary.failed,
        summary.filtered,
        seconds(start.elapsed())
    );
    if summary.broken > 0 {
        line.push_str(&format!("{} of the files do not parse\n", summary.broken));
    }
    if summary.unlaunched > 0 {
        line.push_str(&format!(
            "{} of the kernels that no test launches do not compile\n",
            summary.unlaunched
        ));
    }
    write_stdout(line.as_bytes())?;
    match verdict {
        "ok" => Ok(()),
        _ => Err(CommandError::Reported),
    }
}

#[derive(Default)]
struct Summary {
    passed: u64,
    failed: u64,
    filtered: u64,
    /// Files that do not parse.
    broken: u64,
    /// Kernels that no test launches and that do not compile.
    unlaunched: u64,
}

fn test_file(
    arguments: &TestArguments,
    file: &Path,
    compiler: &Compiler,
    device: &mut dyn Device,
    reporter: &Reporter,
    summary: &mut Summary,
) -> CommandResult {
    let source = read_source(file)?;
    let (plan, options) = with_plan(arguments.plan.as_deref(), &arguments.compile)?;
    if let (Some(plan), Some(path)) = (&plan, &arguments.plan) {
        check_plan(plan, path, &source);
    }
    let (sources, program) = match program::load(&source, &FileLoader) {
        Ok(loaded) => loaded,
        Err(error) => {
            let _ = reporter.errors(&error);
            summary.broken += 1;
            return Ok(());
        }
    };
    let all: Vec<&Test> = program
        .root()
        .into_iter()
        .flat_map(|root| &root.items)
        .filter_map(|item| match &item.kind {
            ItemKind::Test(test) => Some(test),
            _ => None,
        })
        .collect();
    let filter = arguments.filter.as_deref().unwrap_or("");
    let tests: Vec<&&Test> = all
        .iter()
        .filter(|test| test.name.node.contains(filter))
        .collect();
    summary.filtered += (all.len() - tests.len()) as u64;

    let plural = if tests.len() == 1 { "" } else { "s" };
    let header = format!(
        "running {} test{plural} of {} on {}\n",
        tests.len(),
        file.display(),
        device.name()
    );
    write_stdout(header.as_bytes())?;
    let mut launcher = DeviceLauncher::new(
        compiler,
        &FileLoader,
        &source,
        &sources,
        &options,
        device,
        0,
    );
    if let Some(plan) = &plan {
        launcher.use_plan(plan);
    }
    let interpreter = Interpreter::new(&sources, program.items(), &launcher);
    for test in tests {
        let name = format!("test {}", test.name.node);
        launcher.announce(&name);
        let start = Instant::now();
        let schedules = arguments.check.schedules;
        let result = (0..schedules).try_for_each(|number| {
            launcher.set_schedule(number);
            let result = interpreter.run(&test.name.node, &test.body, arguments.device.seed);
            result.map(|_| ()).map_err(|mut stop| {
                if number > 0 {
                    let note = format!("in schedule {number}; the schedules before it went well");
                    stop.diagnostic.notes.push(note);
                }
                stop
            })
        });
        // The line is written as a whole when the test is over: what its kernels print comes before it.
        let elapsed = seconds(start.elapsed());
        let verdict = if result.is_ok() { "ok" } else { "FAILED" };
        write_stdout(format!("{name} ... {verdict} ({elapsed})\n").as_bytes())?;
        report_warnings(&launcher, reporter);
        match result {
            Ok(()) => summary.passed += 1,
            Err(stop) => {
                summary.failed += 1;
                report_stop(&stop, &sources, reporter);
            }
        }
    }
    // Whoever asks for some of the tests wants no others' kernels.
    if arguments.filter.is_none() {
        let root = program.root().into_iter().flat_map(|root| &root.items);
        let kernels = root.filter_map(|item| match &item.kind {
            ItemKind::Kernel(kernel) => Some(kernel),
            _ => None,
        });
        for (kernel, cause) in launcher.compile_unlaunched(kernels) {
            summary.unlaunched += 1;
            write_stdout(format!("kernel {kernel} ... does not compile\n").as_bytes())?;
            if let Some(cause) = cause {
                let _ = reporter.errors(&cause);
            }
        }
        report_warnings(&launcher, reporter);
    }
    Ok(())
}

/// Shows what looks wrong in the kernels that were compiled.
pub fn report_warnings(launcher: &DeviceLauncher<'_>, reporter: &Reporter) {
    for warnings in launcher.take_warnings() {
        complain(&warnings.render(reporter.options()));
    }
}

/// Shows why a block ended, and the errors of a kernel that does not compile.
pub fn report_stop(stop: &Stop, sources: &SourceMap, reporter: &Reporter) {
    complain(&render_stop(stop, sources, reporter));
}

/// Why a block ended, as text.
pub fn render_stop(stop: &Stop, sources: &SourceMap, reporter: &Reporter) -> String {
    let cause = stop.cause.as_ref();
    let mut text = cause.map_or(String::new(), |cause| cause.render(reporter.options()));
    text.push_str(&render(&stop.diagnostic, sources, reporter.options()));
    text
}

/// `0.12 s`
pub fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}
