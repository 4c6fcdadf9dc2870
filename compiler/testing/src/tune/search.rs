//! What is searched: the launches of a bench with what is left of their kernels' configurations; and what was found.

use super::launches::{self, Bench, Tuned};
use super::sieve::{Sieve, sieve};
use super::{Findings, Progress, Request, TuneError, devices};
use cutec_tuning::candidate::Figures;
use cutec_tuning::halving::{Halving, Told, median};
use cutec_tuning::plan::{MeasuredConfiguration, PLAN_VERSION};
use cutec_tuning::{Candidate, KernelPlan, Measured, Plan, SizePlan, Workload};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The launches, in the order of the kernels and of their sizes.
pub(super) struct Ground {
    pub bench: Bench,
    sieves: Vec<Sieve>,
    /// Of each launch its kernel and its size.
    order: Vec<(usize, usize)>,
}

impl Ground {
    /// Runs the bench with the defaults, and compiles what could win.
    pub fn of(
        request: &Request<'_>,
        progress: &(dyn Fn(&Progress) + Sync),
    ) -> Result<Self, TuneError> {
        progress(&Progress::Bench);
        let bench = launches::launches(request)?;
        let mut sieves = Vec::new();
        let mut order = Vec::new();
        for (at, kernel) in bench.kernels.iter().enumerate() {
            sieves.push(sieve(request, &bench, kernel, progress)?);
            order.extend((0..kernel.launches.len()).map(|size| (at, size)));
        }
        Ok(Self {
            bench,
            sieves,
            order,
        })
    }

    /// How many launches there are.
    pub fn launches(&self) -> usize {
        self.order.len()
    }

    fn size(&self, launch: usize) -> &launches::Size {
        let (kernel, size) = self.order[launch];
        &self.bench.kernels[kernel].launches[size]
    }

    /// A launch for people.
    pub fn text(&self, launch: usize) -> String {
        let kernel = &self.bench.kernels[self.order[launch].0].kernel;
        format!("{kernel}: {}", self.size(launch).text())
    }

    /// What a launch is given.
    pub fn workload(&self, launch: usize) -> &Arc<Workload> {
        &self.size(launch).workload
    }

    /// The configurations of its kernel.
    pub fn candidates(&self, launch: usize) -> &[Candidate] {
        &self.sieves[self.order[launch].0].candidates
    }

    /// A search for each launch.
    pub fn halvings(&self, exact: bool) -> Vec<Halving> {
        let left = self
            .order
            .iter()
            .map(|(kernel, size)| &self.sieves[*kernel].left[*size]);
        left.map(|left| Halving::new(left.clone(), exact)).collect()
    }

    /// Refuses results in which the defaults did not run.
    pub fn check(&self, launch: usize, results: &[Told]) -> Result<(), TuneError> {
        let defaults = results.iter().find(|told| told.number == 0);
        match defaults.map(|told| &told.measured) {
            Some(Measured::Wrong(reason)) => Err(TuneError::Defaults {
                kernel: self.bench.kernels[self.order[launch].0].kernel.clone(),
                reason: reason.clone(),
            }),
            Some(Measured::Figures(_)) | None => Ok(()),
        }
    }

    /// The plan of searches that have ended. The bench runs once more with what was chosen, where it has assertions.
    pub fn findings(
        &self,
        request: &Request<'_>,
        halvings: &[Halving],
        resumed: usize,
        progress: &(dyn Fn(&Progress) + Sync),
    ) -> Result<Findings, TuneError> {
        let exact = devices::is_exact(request);
        let mut kernels: Vec<KernelPlan> = Vec::new();
        let mut dropped = Vec::new();
        for ((at, index), halving) in self.order.iter().zip(halvings) {
            let (kernel, sieve) = (&self.bench.kernels[*at], &self.sieves[*at]);
            if *index == 0 {
                let symbols = kernel.launches[0].size.iter();
                kernels.push(KernelPlan {
                    kernel: kernel.kernel.clone(),
                    source: self.bench.fingerprint.clone(),
                    fixed: kernel.fixed.iter().cloned().collect(),
                    symbols: symbols.map(|(name, _)| name.clone()).collect(),
                    configurations: sieve.candidates.len(),
                    sizes: Vec::new(),
                });
            }
            if let Some(plan) = kernels.last_mut() {
                let size = &kernel.launches[*index];
                let found = size_plan(kernel, size, halving, sieve, *index, exact);
                plan.sizes.push(found);
            }
            dropped.push((sieve.candidates.clone(), sieve.dropped[*index].clone()));
        }
        let plan = Plan {
            cutec_plan: PLAN_VERSION,
            cutec: cutec::VERSION.to_owned(),
            device: self.bench.machine.clone(),
            file: request.source.name.clone(),
            bench: request.bench.to_owned(),
            kernels,
        };
        if self.bench.assertions > 0 {
            progress(&Progress::Assertions);
            launches::with_plan(request, &plan)?;
        }
        Ok(Findings {
            plan,
            dropped,
            untuned: self.bench.untuned.clone(),
            resumed,
        })
    }
}

/// What was found for a size.
fn size_plan(
    kernel: &Tuned,
    size: &launches::Size,
    halving: &Halving,
    sieve: &Sieve,
    index: usize,
    exact: bool,
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
        unit: match exact {
            true => "clocks",
            false => "seconds",
        }
        .to_owned(),
        measured,
        dropped,
    }
}
