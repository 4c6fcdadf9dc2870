//! Tunes the kernels that a bench launches: every configuration of their candidates, compiled on several threads, sieved,
//! and measured on one or several devices.
//!
//! In reading order:
//! - this file: what is asked for, and the steps from a bench to a plan;
//! - [`launches`]: the launches of the bench with the defaults, which are the sizes;
//! - `sieve`: what is left of the configurations of a kernel; `compile`: configurations on threads: first their ABIs, which say what cannot win, then the code of the others;
//! - `conflicts`: bank conflicts of what is left, counted in the simulator;
//! - `threads`: work on many configurations at a time; `devices`: tasks of the search on devices, a thread each;
//! - `kept`: rounds whose results outlive an interrupted search;
//! - `search`: what is searched, and what was found; [`session`]: the same, step by step, with workers elsewhere;
//! - [`report`]: what was found, as text.
//!
//! The search itself, the plan and the rules by which configurations are dropped are `cutec-tuning`'s.

mod compile;
mod conflicts;
mod devices;
mod kept;
pub mod launches;
pub mod report;
mod search;
pub mod session;
mod sieve;
mod threads;

use crate::problem::Stop;
use cutec::{Cache, Diagnostics, Options, Source};
use cutec_runtime::Cancel;
use cutec_runtime::device::{DeviceError, DeviceSpec};
use cutec_tuning::prune::Dropped;
use cutec_tuning::{Candidate, Plan};
use devices::{Devices, on_devices};
use kept::{Kept, Round};
use search::Ground;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Configurations that are measured before results are kept.
const PART: usize = 16;

/// What to tune, and how.
#[derive(Debug)]
pub struct Request<'a> {
    /// The source; its imports are files.
    pub source: &'a Source,
    /// How to compile; the compile-time parameters are fixed.
    pub options: &'a Options,
    /// The bench block.
    pub bench: &'a str,
    /// Seed of its data.
    pub seed: u64,
    /// Where to measure.
    pub devices: &'a [DeviceSpec],
    /// Threads that compile, 0 for one a processor.
    pub threads: usize,
    /// Configurations of a kernel that are compiled at most, 0 for all.
    pub limit: usize,
    /// After this time no round begins, but the first of each size.
    pub time: Option<Duration>,
    /// Where PTX is kept.
    pub cache: Option<&'a Cache>,
    /// Where results are kept while the search runs.
    pub journal: Option<PathBuf>,
    /// Ends the search within a configuration's time; what the journal has stays.
    pub cancel: Cancel,
}

/// How far a search has come.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// The bench runs with the defaults.
    Bench,
    /// The bench runs with what was chosen, for its assertions.
    Assertions,
    /// Configurations are looked at, without making code of them.
    Looking {
        /// The kernel.
        kernel: String,
        /// So many.
        done: usize,
        /// Of so many.
        all: usize,
    },
    /// Configurations are compiled.
    Compiling {
        /// The kernel.
        kernel: String,
        /// So many.
        done: usize,
        /// Of so many.
        all: usize,
    },
    /// Bank conflicts are counted.
    Counting {
        /// The kernel and the size.
        launch: String,
        /// So many configurations.
        done: usize,
        /// Of so many.
        all: usize,
    },
    /// Configurations are measured.
    Measuring {
        /// The kernel and the size.
        launch: String,
        /// The round.
        round: usize,
        /// Batches that were measured of this size.
        done: usize,
        /// Of about so many.
        all: usize,
        /// Sizes that are still to come.
        later: usize,
    },
}

/// What was found.
#[derive(Debug)]
pub struct Findings {
    /// The plan.
    pub plan: Plan,
    /// For each size of the plan, in its order, what was dropped and why.
    pub dropped: Vec<(Vec<Candidate>, Vec<Dropped>)>,
    /// Kernels of the bench that have no candidates.
    pub untuned: Vec<String>,
    /// Results that an earlier search had left in the journal.
    pub resumed: usize,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TuneError {
    /// The source is wrong.
    #[error(transparent)]
    Source(#[from] Diagnostics),
    /// The bench failed with the defaults.
    #[error("the bench fails with the defaults")]
    Bench(Box<Stop>, Box<cutec_frontend::source::SourceMap>),
    /// An assertion of the bench does not hold of what was chosen.
    #[error("the bench fails with the chosen configurations")]
    Chosen(Box<Stop>, Box<cutec_frontend::source::SourceMap>),
    /// There is no such bench.
    #[error("there is no bench `{name}`; expected {known}")]
    NoBench {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// None of its kernels has candidates.
    #[error("no kernel that the bench `{bench}` launches has candidates: {kernels}")]
    NothingToTune {
        /// The bench.
        bench: String,
        /// Its kernels.
        kernels: String,
    },
    /// The defaults of a kernel do not run.
    #[error("`{kernel}` with its defaults: {reason}")]
    Defaults {
        /// The kernel.
        kernel: String,
        /// Why.
        reason: String,
    },
    /// A device is not there.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Whoever measures gave no results of what it was asked for.
    #[error("nothing was measured of what was asked for")]
    NothingMeasured,
    /// The host has ended the search.
    #[error("the search was cancelled")]
    Cancelled,
    /// The journal cannot be written.
    #[error("cannot write the journal: {0}")]
    Journal(#[from] io::Error),
}

/// Tunes the kernels of a bench; `progress` is told how far it has come.
///
/// # Errors
/// Where the bench does not run with the defaults, nothing of it has candidates, or a device is not there.
pub fn tune(
    request: &Request<'_>,
    progress: &(dyn Fn(&Progress) + Sync),
) -> Result<Findings, TuneError> {
    let start = Instant::now();
    let ground = Ground::of(request, progress)?;
    let mut kept = Kept::open(request, &ground)?;
    let resumed = kept.resumed();
    let mut halvings = ground.halvings(devices::is_exact(request));
    for (launch, halving) in halvings.iter_mut().enumerate() {
        let text = ground.text(launch);
        let later = ground.launches() - launch - 1;
        let (workload, candidates) = (ground.workload(launch), ground.candidates(launch));
        on_devices(request, workload, candidates, |devices| {
            let mut done = 0;
            while let Some(task) = halving.next() {
                if task.round > 0 && request.time.is_some_and(|time| start.elapsed() > time) {
                    break;
                }
                let (left, number) = (halving.batches_left(), task.round);
                let measured = |batches: usize| {
                    progress(&Progress::Measuring {
                        launch: text.clone(),
                        round: number + 1,
                        done: done + batches,
                        all: done + left,
                        later,
                    });
                };
                let batches = task.batches * (task.configurations.len() + 1);
                let mut round = kept.round(launch, task);
                measure(request, devices, &mut kept, &mut round, &measured)?;
                done += batches;
                let results = round.end();
                ground.check(launch, &results)?;
                halving.tell(results);
            }
            Ok(())
        })?;
    }
    let findings = ground.findings(request, &halvings, resumed, progress)?;
    kept.end();
    Ok(findings)
}

/// Measures what is missing of a round. Each part is measured beside the defaults anew, and kept when it is done.
fn measure(
    request: &Request<'_>,
    devices: &Devices,
    kept: &mut Kept,
    round: &mut Round,
    measured: &dyn Fn(usize),
) -> Result<(), TuneError> {
    let mut done = 0;
    while let Some(mut task) = round.missing() {
        task.configurations.truncate(PART);
        let part = task.batches * (task.configurations.len() + 1);
        let told = devices.measure(&task, &|batches| measured(done + batches));
        request.go_on()?;
        done += part;
        kept.add(round, told)?;
    }
    Ok(())
}

impl Request<'_> {
    /// Stops a search that was cancelled.
    fn go_on(&self) -> Result<(), TuneError> {
        match self.cancel.is_cancelled() {
            true => Err(TuneError::Cancelled),
            false => Ok(()),
        }
    }
}
