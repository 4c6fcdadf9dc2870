//! Tunes the kernels that a bench launches: every configuration of their candidates, compiled on several threads, sieved,
//! and measured on one or several devices.
//!
//! In reading order:
//! - this file: what is asked for, and the steps from a bench to a plan;
//! - [`launches`]: the launches of the bench with the defaults, which are the sizes;
//! - `compile`: configurations on threads: first their ABIs, which say what cannot win, then the code of the others;
//! - `devices`: tasks of the search on devices, a thread each;
//! - [`report`]: what was found, as text.
//!
//! The search itself, the plan and the rules by which configurations are dropped are `cutec-tuning`'s.

mod compile;
mod devices;
pub mod launches;
pub mod report;

use crate::problem::Stop;
use cutec::{Cache, Diagnostics, Options, Source};
use cutec_runtime::device::{DeviceError, DeviceSpec};
use cutec_tuning::candidate::Figures;
use cutec_tuning::halving::{Halving, Task, Told, median};
use cutec_tuning::journal::Place;
use cutec_tuning::plan::{MeasuredConfiguration, PLAN_VERSION};
use cutec_tuning::prune::{self, Dropped, Reason};
use cutec_tuning::{Candidate, Journal, KernelPlan, Measured, Plan, SizePlan};
use devices::{Devices, on_devices};
use launches::Tuned;
use std::collections::{BTreeMap, BTreeSet};
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
    progress(&Progress::Bench);
    let bench = launches::launches(request)?;
    let mut journal = match &request.journal {
        Some(path) => Some(Journal::open(path, &identity(request, &bench))?),
        None => None,
    };
    let resumed = journal.as_ref().map_or(0, Journal::known);
    let mut sieves = Vec::new();
    for kernel in &bench.kernels {
        sieves.push(sieve(request, &bench, kernel, progress)?);
    }
    let mut kernels = Vec::new();
    let mut dropped = Vec::new();
    let all = bench
        .kernels
        .iter()
        .map(|kernel| kernel.launches.len())
        .sum::<usize>();
    let mut launch = 0;
    for (kernel, sieve) in bench.kernels.iter().zip(sieves) {
        let mut sizes = Vec::new();
        for (index, size) in kernel.launches.iter().enumerate() {
            let numbers = sieve.left[index].clone();
            let mut halving = Halving::new(numbers, devices::is_exact(request));
            let text = format!("{}: {}", kernel.kernel, size.text());
            let later = all - launch - 1;
            on_devices(request.devices, size, &sieve.candidates, |devices| {
                let mut done = 0;
                while let Some(task) = halving.next() {
                    if task.round > 0 && request.time.is_some_and(|time| start.elapsed() > time) {
                        break;
                    }
                    let left = halving.batches_left();
                    let measured = |batches: usize| {
                        progress(&Progress::Measuring {
                            launch: text.clone(),
                            round: task.round + 1,
                            done: done + batches,
                            all: done + left,
                            later,
                        });
                    };
                    let results = round(devices, &task, launch, journal.as_mut(), &measured)?;
                    done += task.batches * (task.configurations.len() + 1);
                    let defaults = results.iter().find(|told| told.number == 0);
                    if let Some(Measured::Wrong(reason)) = defaults.map(|told| &told.measured) {
                        return Err(TuneError::Defaults {
                            kernel: kernel.kernel.clone(),
                            reason: reason.clone(),
                        });
                    }
                    halving.tell(results);
                }
                Ok(())
            })?;
            sizes.push(size_plan(kernel, size, &halving, &sieve, index, request));
            dropped.push((sieve.candidates.clone(), sieve.dropped[index].clone()));
            launch += 1;
        }
        kernels.push(KernelPlan {
            kernel: kernel.kernel.clone(),
            source: bench.fingerprint.clone(),
            fixed: kernel.fixed.iter().cloned().collect(),
            symbols: kernel.launches[0]
                .size
                .iter()
                .map(|(name, _)| name.clone())
                .collect(),
            configurations: sieve.candidates.len(),
            sizes,
        });
    }
    if let Some(journal) = journal {
        journal.remove();
    }
    let plan = Plan {
        cutec_plan: PLAN_VERSION,
        cutec: cutec::VERSION.to_owned(),
        device: bench.machine.clone(),
        file: request.source.name.clone(),
        bench: request.bench.to_owned(),
        kernels,
    };
    if bench.assertions > 0 {
        progress(&Progress::Assertions);
        launches::with_plan(request, &plan)?;
    }
    Ok(Findings {
        plan,
        dropped,
        untuned: bench.untuned,
        resumed,
    })
}

/// The results of a round: those that the journal has, and the others measured now.
fn round(
    devices: &Devices,
    task: &Task,
    launch: usize,
    mut journal: Option<&mut Journal>,
    measured: &dyn Fn(usize),
) -> Result<Vec<Told>, TuneError> {
    let all = [0].iter().chain(&task.configurations);
    let known = |number: &usize| {
        let place = Place {
            launch,
            round: task.round,
            number: *number,
        };
        journal.as_ref()?.get(&place).cloned()
    };
    let results: Vec<Told> = all.filter_map(known).collect();
    let is_known = |number: usize| results.iter().any(|told| told.number == number);
    let mut asked = task.clone();
    asked.configurations.retain(|number| !is_known(*number));
    if asked.configurations.is_empty() && is_known(0) {
        return Ok(results);
    }
    // Each part is measured beside the defaults anew, and kept when it is done.
    let mut done = 0;
    let mut parts: Vec<&[usize]> = asked.configurations.chunks(PART).collect();
    if parts.is_empty() {
        parts.push(&[]);
    }
    let mut all = results;
    for part in parts {
        let task = Task {
            configurations: part.to_vec(),
            ..asked
        };
        let mut told = devices.measure(&task, &|batches| measured(done + batches));
        done += task.batches * part.len();
        // Of the defaults the first figures stay.
        told.retain(|told| all.iter().all(|known| known.number != told.number));
        if let Some(journal) = &mut journal {
            journal.write(launch, task.round, &told)?;
        }
        all.extend(told);
    }
    Ok(all)
}

/// What a journal belongs to: nothing of it means the same for another search.
fn identity(request: &Request<'_>, bench: &launches::Bench) -> String {
    format!(
        "cutec-tune 1 {} {} {} {} {:?} {:?} seed {} limit {}",
        cutec::VERSION,
        bench.fingerprint,
        request.bench,
        request.options.target.name,
        bench.machine,
        request.options.defines,
        request.seed,
        request.limit
    )
}

/// The configurations of a kernel, and what is left of them for each size.
struct Sieve {
    candidates: Vec<Candidate>,
    /// Numbers of those that are measured, for each size, without the defaults.
    left: Vec<Vec<usize>>,
    dropped: Vec<Vec<Dropped>>,
}

/// Compiles configurations, and drops what cannot win.
fn sieve(
    request: &Request<'_>,
    bench: &launches::Bench,
    kernel: &Tuned,
    progress: &(dyn Fn(&Progress) + Sync),
) -> Result<Sieve, TuneError> {
    let name = &kernel.kernel;
    let looking = |done, all| {
        progress(&Progress::Looking {
            kernel: name.clone(),
            done,
            all,
        });
    };
    let all: Vec<usize> = (0..kernel.space.configurations.len()).collect();
    let abis = compile::abis(request, kernel, &looking);
    let machine = bench.multiprocessor;
    let mut dropped = vec![Vec::new(); kernel.launches.len()];
    let mut wanted = BTreeSet::from([0]);
    for (index, size) in kernel.launches.iter().enumerate() {
        let figures = |number: usize| -> Result<Figures, Reason> {
            let abi = abis[number].as_ref();
            let abi = abi.map_err(|message| Reason::DoesNotCompile(message.clone()))?;
            let launch = size
                .bind(abi)
                .map_err(|error| Reason::Refused(error.to_string()))?;
            Ok(Figures::of(abi, &launch))
        };
        let default = figures(0).map_err(|reason| TuneError::Defaults {
            kernel: name.clone(),
            reason: reason.to_string(),
        })?;
        let mut left = Vec::new();
        for number in all.iter().copied().skip(1) {
            let sieved = figures(number).and_then(|figures| {
                match prune::of_configuration(&figures, &default, machine) {
                    Some(reason) => Err(reason),
                    None => Ok(figures.blocks),
                }
            });
            match sieved {
                Ok(blocks) => left.push((number, blocks)),
                Err(reason) => dropped[index].push(Dropped { number, reason }),
            }
        }
        let blocks = left
            .iter()
            .map(|(_, blocks)| *blocks)
            .chain([default.blocks]);
        let used = blocks.map(|blocks| prune::used(blocks, bench.multiprocessors));
        let best = used.fold(0.0, f64::max);
        for (number, blocks) in left {
            match prune::of_size(blocks, bench.multiprocessors, best) {
                Some(reason) => dropped[index].push(Dropped { number, reason }),
                None => {
                    wanted.insert(number);
                }
            }
        }
    }
    let beyond = thinned(&mut wanted, request.limit);
    let compiling = |done, all| {
        progress(&Progress::Compiling {
            kernel: name.clone(),
            done,
            all,
        });
    };
    let candidates = compile::code(request, kernel, &wanted, bench.assembles, &compiling);
    let mut left = Vec::new();
    for (index, size) in kernel.launches.iter().enumerate() {
        let dropped = &mut dropped[index];
        let known: BTreeSet<usize> = dropped.iter().map(|dropped| dropped.number).collect();
        let figures = |candidate: &Candidate| -> Result<Figures, Reason> {
            let compiled = candidate.compiled.as_ref();
            let artifact = compiled.map_err(|message| Reason::DoesNotCompile(message.clone()))?;
            let abi = artifact.kernel(name);
            let abi = abi.ok_or_else(|| Reason::DoesNotCompile("no code".to_owned()))?;
            let launch = size
                .bind(abi)
                .map_err(|error| Reason::Refused(error.to_string()))?;
            Ok(Figures::of(abi, &launch))
        };
        let default = figures(&candidates[0]).map_err(|reason| TuneError::Defaults {
            kernel: name.clone(),
            reason: reason.to_string(),
        })?;
        let mut numbers = Vec::new();
        for candidate in candidates.iter().skip(1) {
            let number = candidate.number;
            if known.contains(&number) {
                continue;
            }
            if beyond.contains(&number) {
                let reason = Reason::BeyondLimit;
                dropped.push(Dropped { number, reason });
                continue;
            }
            let reason = match figures(candidate) {
                Ok(figures) => prune::of_configuration(&figures, &default, machine),
                Err(reason) => Some(reason),
            };
            match reason {
                Some(reason) => dropped.push(Dropped { number, reason }),
                None => numbers.push(number),
            }
        }
        dropped.sort_by_key(|dropped| dropped.number);
        left.push(numbers);
    }
    Ok(Sieve {
        candidates,
        left,
        dropped,
    })
}

/// Takes evenly spread numbers out of a set until there are `limit` beside the defaults; gives those.
fn thinned(numbers: &mut BTreeSet<usize>, limit: usize) -> BTreeSet<usize> {
    let others: Vec<usize> = numbers
        .iter()
        .copied()
        .filter(|number| *number != 0)
        .collect();
    if limit == 0 || others.len() <= limit {
        return BTreeSet::new();
    }
    let kept: BTreeSet<usize> = (0..limit)
        .map(|i| others[i * others.len() / limit])
        .collect();
    let beyond: BTreeSet<usize> = others.into_iter().filter(|n| !kept.contains(n)).collect();
    numbers.retain(|number| !beyond.contains(number));
    beyond
}

/// What was found for a size.
fn size_plan(
    kernel: &Tuned,
    size: &launches::Size,
    halving: &Halving,
    sieve: &Sieve,
    index: usize,
    request: &Request<'_>,
) -> SizePlan {
    let standings = halving.standings();
    let candidate = |number: usize| &sieve.candidates[number];
    let measured = standings.iter().map(|standing| {
        let candidate = candidate(standing.number);
        let figures = candidate.abi(&kernel.kernel).and_then(|abi| {
            let launch = size.bind(abi).ok()?;
            Some(Figures::of(abi, &launch))
        });
        MeasuredConfiguration {
            parameters: candidate.parameters(),
            figure: standing.figure,
            rounds: standing.rounds,
            relative: standing.relative,
            registers: figures.and_then(|figures| figures.registers),
            shared: figures.map_or(0, |figures| figures.shared),
            threads: figures.map_or(0, |figures| figures.threads),
            wrong: standing.wrong.clone(),
            is_default: standing.number == 0,
        }
    });
    let measured: Vec<MeasuredConfiguration> = measured.collect();
    let relative: Vec<f64> = measured
        .iter()
        .take(1)
        .filter_map(|best| best.relative)
        .collect();
    let mut dropped = BTreeMap::new();
    for one in &sieve.dropped[index] {
        *dropped.entry(one.reason.kind().to_owned()).or_insert(0) += 1;
    }
    let chosen = measured.first().map(|best| best.parameters.clone());
    SizePlan {
        extents: size.size.iter().map(|(_, extent)| *extent).collect(),
        chosen: chosen.unwrap_or_default(),
        speedup: 1.0 / median(&relative).unwrap_or(1.0),
        unit: match devices::is_exact(request) {
            true => "clocks",
            false => "seconds",
        }
        .to_owned(),
        measured,
        dropped,
    }
}
