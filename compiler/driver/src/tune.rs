//! `cutec tune`: the fastest configurations of the kernels that a bench launches, as a plan.
//!
//! The table goes to standard output, progress to standard error.

use super::arguments::{DeviceName, TuneArguments};
use super::context::{Reporter, compile_options, read_source};
use super::error::{CommandError, CommandResult, complain};
use super::output::{self, write_stdout};
use super::test::{report_stop, seconds};
use cutec::{Cache, Options};
use cutec_dialects::target::Target;
use cutec_runtime::abi::counted;
use cutec_runtime::device::DeviceSpec;
use cutec_runtime::{Cancel, open};
use cutec_testing::tune::{Progress, Request, TuneError, report, tune};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Runs the command.
///
/// # Errors
/// When the source is wrong, has nothing to tune, the bench fails, or a file cannot be written.
pub fn run(arguments: &TuneArguments, reporter: &Reporter) -> CommandResult {
    let source = read_source(&arguments.file)?;
    let devices = devices(&arguments.devices)?;
    let mut options = compile_options(&arguments.compile);
    if arguments.compile.arch.is_none() {
        options = Options {
            target: native(&devices)?.unwrap_or(options.target),
            ..options
        };
    }
    let plan = match &arguments.output {
        Some(path) => path.clone(),
        None => PathBuf::from(format!("{}.plan.json", arguments.bench)),
    };
    let journal = beside(&plan, "journal");
    if arguments.restart {
        // One that is not there is as good as removed.
        let _ = std::fs::remove_file(&journal);
    }
    let cache = match &arguments.cache {
        Some(folder) => Some(Cache::open(folder).map_err(|error| {
            CommandError::Message(format!("cannot make {}: {error}", folder.display()))
        })?),
        None => None,
    };
    let request = Request {
        source: &source,
        options: &options,
        bench: &arguments.bench,
        seed: arguments.seed,
        devices: &devices,
        threads: arguments.threads,
        limit: arguments.limit,
        time: arguments
            .time
            .map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, 1e9))),
        cache: cache.as_ref(),
        journal: Some(journal),
        cancel: Cancel::new(),
    };
    let show = Show::new();
    let start = Instant::now();
    let findings = tune(&request, &|progress| show.progress(progress));
    show.clear();
    let findings = findings.map_err(|error| match error {
        TuneError::Source(errors) => reporter.errors(&errors),
        TuneError::Chosen(stop, sources) => {
            reporter.conclude("with the chosen configurations:");
            report_stop(&stop, &sources, reporter);
            CommandError::Reported
        }
        TuneError::Bench(stop, sources) => {
            report_stop(&stop, &sources, reporter);
            CommandError::Reported
        }
        other => CommandError::message(other),
    })?;
    let machine = &findings.plan.device;
    let mut text = format!("{} on {} for {}", source.name, machine.name, machine.arch);
    if findings.resumed > 0 {
        text.push_str(&format!(
            ", {} of an interrupted search",
            counted(findings.resumed, "result")
        ));
    }
    for kernel in &findings.untuned {
        text.push_str(&format!("\n{kernel}: no candidates"));
    }
    text.push('\n');
    text.push_str(&report::text(&findings, arguments.list));
    write_stdout(text.as_bytes())?;
    output::write(&plan, findings.plan.to_json().as_bytes())?;
    if let Some(path) = &arguments.svg {
        let picture = cutec_tuning::picture::svg(&findings.plan);
        output::write(path, picture.as_bytes())?;
    }
    complain(&format!(
        "{} written after {}",
        plan.display(),
        seconds(start.elapsed())
    ));
    Ok(())
}

/// The devices that were named, or the first GPU, else the simulator.
fn devices(names: &[DeviceName]) -> Result<Vec<DeviceSpec>, CommandError> {
    let mut specs: Vec<DeviceSpec> = Vec::new();
    let default = [DeviceName::Auto];
    for name in if names.is_empty() { &default } else { names } {
        let spec = match name {
            DeviceName::Named(spec) => *spec,
            DeviceName::Auto => open(None).map_err(CommandError::message)?.spec(),
        };
        if specs.contains(&spec) {
            return Err(CommandError::Usage(format!("{spec} is named twice")));
        }
        specs.push(spec);
    }
    if specs.len() > 1 && specs.contains(&DeviceSpec::Sim) {
        let text =
            "the simulator has clocks of its own: it measures alone, without a GPU beside it";
        return Err(CommandError::Usage(text.to_owned()));
    }
    Ok(specs)
}

/// The target of the first device, where it is a GPU.
fn native(devices: &[DeviceSpec]) -> Result<Option<Target>, CommandError> {
    let Some(spec @ DeviceSpec::Cuda(_)) = devices.first() else {
        return Ok(None);
    };
    let device = open(Some(&spec.to_string())).map_err(CommandError::message)?;
    let Some(gpu) = device.gpu() else {
        return Ok(None);
    };
    let (major, minor) = gpu.capability;
    let of = |suffix: &str| Target::parse(&format!("sm_{major}{minor}{suffix}")).ok();
    Ok(of("a").or_else(|| of("")))
}

/// `gemm.plan.json` → `gemm.plan.json.journal`
fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    PathBuf::from(name)
}

/// One line on standard error that says how far the search is; where that is no terminal, a line for each step.
struct Show {
    terminal: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The step that is shown, and since when.
    step: Option<(String, Instant)>,
    shown: Option<Instant>,
}

/// How often the line changes.
const PERIOD: Duration = Duration::from_millis(100);

impl Show {
    fn new() -> Self {
        Self {
            terminal: io::stderr().is_terminal(),
            state: Mutex::default(),
        }
    }

    fn progress(&self, progress: &Progress) {
        let (step, done, all) = match progress {
            Progress::Bench => ("running the bench with the defaults".to_owned(), 0, 0),
            Progress::Assertions => ("running the bench with what was chosen".to_owned(), 0, 0),
            Progress::Looking { kernel, done, all } => {
                (format!("{kernel}: looking at configurations"), *done, *all)
            }
            Progress::Compiling { kernel, done, all } => {
                (format!("{kernel}: compiling"), *done, *all)
            }
            Progress::Counting { launch, done, all } => {
                (format!("{launch}: counting bank conflicts"), *done, *all)
            }
            Progress::Measuring {
                launch,
                done,
                all,
                later,
                ..
            } => {
                let later = match later {
                    0 => String::new(),
                    1 => ", 1 size to come".to_owned(),
                    sizes => format!(", {sizes} sizes to come"),
                };
                (format!("{launch}: measuring{later}"), *done, *all)
            }
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let new = state.step.as_ref().is_none_or(|(known, _)| *known != step);
        if new {
            state.step = Some((step.clone(), now));
            state.shown = None;
            if !self.terminal {
                complain(&step);
            }
        }
        if !self.terminal || state.shown.is_some_and(|shown| now - shown < PERIOD) {
            return;
        }
        state.shown = Some(now);
        let began = state.step.as_ref().map_or(now, |(_, began)| *began);
        let mut line = step;
        if all > 0 {
            line.push_str(&format!(", {done} of {all}"));
            let spent = (now - began).as_secs_f64();
            if done > 0 && spent > 1.0 {
                let left = spent / done as f64 * all.saturating_sub(done) as f64;
                line.push_str(&format!(", about {left:.0} s left"));
            }
        }
        let mut stderr = io::stderr().lock();
        // A terminal that is gone shows nothing.
        let _ = write!(stderr, "\r\x1b[K{line}").and_then(|()| stderr.flush());
    }

    fn clear(&self) {
        if self.terminal {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
