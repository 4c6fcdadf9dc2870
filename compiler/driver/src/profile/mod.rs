//! `cutec profile`: runs kernels in the simulator and shows what each line of the source costs.
//!
//! In reading order: this file (what is run), [`report`] (what is known about a launch), [`text`],
//! [`html`] and [`roofline`] (how it is shown). JSON is the report itself.

pub mod html;
mod report;
mod roofline;
pub mod text;

use super::arguments::{DeviceName, ProfileArguments};
use super::context::{Reporter, compile_options, read_source};
use super::error::{CommandError, CommandResult};
use super::output;
use super::run::choose;
use super::test::report_stop;
use cutec::fault::Fault;
use cutec::{Compiler, FileLoader, Options, Source};
use cutec_frontend::ast::{Block, ItemKind};
use cutec_runtime::argument::make_arguments;
use cutec_runtime::device::DeviceSpec;
use cutec_runtime::{RunError, SimDevice, run_kernel};
use cutec_testing::launch::DeviceLauncher;
use cutec_testing::{Interpreter, program};
pub use report::LaunchReport;

/// Runs the command.
///
/// # Errors
/// When the source is wrong, or a kernel fails.
pub fn run(arguments: &ProfileArguments, reporter: &Reporter) -> CommandResult {
    if let DeviceName::Named(spec @ DeviceSpec::Cuda(_)) = arguments.device.device {
        return Err(CommandError::Usage(format!(
            "profiles are made in the simulator, not on {spec}"
        )));
    }
    let source = read_source(&arguments.file)?;
    let options = Options {
        kernel: arguments.kernel.clone(),
        ..compile_options(&arguments.compile)
    };
    let by_name = arguments.kernel.is_some() || !arguments.arguments.is_empty();
    let launches = match by_name {
        true => kernel_launch(arguments, &source, options, reporter)?,
        false => block_launches(arguments, &source, options, reporter)?,
    };
    if launches.is_empty() {
        return Err(CommandError::Message(
            "no kernel was launched: the file has no `bench` or `test` block that does, or their names \
             do not match; --kernel and --arg launch one by hand"
                .to_owned(),
        ));
    }
    if let Some(path) = &arguments.html {
        output::write(path, html::page(&launches).as_bytes())?;
    }
    if arguments.json {
        let json = serde_json::to_vec_pretty(&launches).map_err(CommandError::message)?;
        return output::write_stdout(&json);
    }
    if arguments
        .html
        .as_ref()
        .is_some_and(|path| path.as_os_str() == "-")
    {
        return Ok(());
    }
    output::write_stdout(text::show(&launches).as_bytes())
}

fn simulator() -> SimDevice {
    let mut device = SimDevice::new();
    device.profile_launches();
    device
}

/// One kernel on data that the command line describes.
fn kernel_launch(
    arguments: &ProfileArguments,
    source: &Source,
    options: Options,
    reporter: &Reporter,
) -> Result<Vec<LaunchReport>, CommandError> {
    let compiled = Compiler::new()
        .compile(source, &FileLoader, &options)
        .map_err(|error| reporter.errors(&error))?;
    reporter.notices(&compiled);
    let artifact = compiled.artifact().map_err(CommandError::message)?;
    let kernel = choose(&artifact, arguments.kernel.as_deref())?;
    let mut values = make_arguments(kernel, &arguments.arguments, arguments.device.seed)
        .map_err(CommandError::message)?;
    let mut device = simulator();
    run_kernel(&mut device, &artifact, &kernel.name, &mut values).map_err(|error| {
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
    })?;
    let defines = options.defines.clone();
    let reports = device.take_profiles().into_iter().map(|profile| {
        LaunchReport::new(
            profile,
            defines.clone(),
            &artifact,
            &compiled.sources,
            &options,
        )
    });
    Ok(reports.collect())
}

/// The launches of the `bench` blocks of a file, or of its `test` blocks where it has no others.
fn block_launches(
    arguments: &ProfileArguments,
    source: &Source,
    options: Options,
    reporter: &Reporter,
) -> Result<Vec<LaunchReport>, CommandError> {
    let (sources, program) = program::load(source, &FileLoader, &options.defines)
        .map_err(|error| reporter.errors(&error))?;
    let items = program.root().into_iter().flat_map(|root| &root.items);
    let filter = arguments.filter.as_deref().unwrap_or("");
    let mut benches: Vec<(&str, &Block)> = Vec::new();
    let mut tests: Vec<(&str, &Block)> = Vec::new();
    for item in items {
        let (blocks, name, body) = match &item.kind {
            ItemKind::Bench(bench) => (&mut benches, &bench.name.node, &bench.body),
            ItemKind::Test(test) => (&mut tests, &test.name.node, &test.body),
            _ => continue,
        };
        if name.contains(filter) {
            blocks.push((name, body));
        }
    }
    let blocks = if benches.is_empty() { tests } else { benches };
    let compiler = Compiler::new();
    let mut device = simulator();
    let launcher = DeviceLauncher::new(
        &compiler,
        &FileLoader,
        source,
        &sources,
        &options,
        &mut device,
        0,
    );
    let interpreter = Interpreter::new(&sources, &program, &launcher);
    let mut measurements = Vec::new();
    for (name, body) in blocks {
        let result = interpreter.run(name, body, arguments.device.seed);
        measurements.extend(launcher.take_measurements());
        if let Err(stop) = result {
            report_stop(&stop, &sources, reporter);
            return Err(CommandError::Reported);
        }
    }
    drop(launcher);
    // An empty grid is not launched, and leaves no profile.
    let launched = measurements.into_iter().filter(|m| m.stats.is_some());
    let profiles = device.take_profiles().into_iter();
    Ok(profiles
        .zip(launched)
        .map(|(profile, measured)| {
            let artifact = &measured.artifact;
            LaunchReport::new(profile, measured.defines, artifact, &sources, &options)
        })
        .collect())
}
