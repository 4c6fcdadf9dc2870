//! What is left of the configurations of a kernel when those that cannot win are dropped.

use super::conflicts::{self, Left};
use super::launches::{self, Tuned};
use super::{Progress, Request, TuneError, compile};
use cutec_tuning::Candidate;
use cutec_tuning::candidate::Figures;
use cutec_tuning::prune::{self, Dropped, Reason};
use std::collections::BTreeSet;

/// The configurations of a kernel, and what is left of them for each size.
pub(super) struct Sieve {
    pub candidates: Vec<Candidate>,
    /// Numbers of those that are measured, for each size, without the defaults.
    pub left: Vec<Vec<usize>>,
    pub dropped: Vec<Vec<Dropped>>,
}

/// Compiles configurations, and drops what cannot win.
pub(super) fn sieve(
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
    request.go_on()?;
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
    let made = compile::code(request, kernel, &wanted, bench.assembles, &compiling);
    request.go_on()?;
    let candidates = made.candidates;
    let mut left: Vec<Vec<usize>> = Vec::new();
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
        let mut kept = Vec::new();
        let mut keep = |number: usize, figures: Figures| {
            let ptx = made.ptx[number].as_deref();
            kept.extend(ptx.map(|ptx| Left {
                number,
                figures,
                ptx,
            }));
        };
        keep(0, default);
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
            let sieved = figures(candidate).and_then(|figures| {
                match prune::of_configuration(&figures, &default, machine) {
                    Some(reason) => Err(reason),
                    None => Ok(figures),
                }
            });
            match sieved {
                Ok(figures) => keep(number, figures),
                Err(reason) => dropped.push(Dropped { number, reason }),
            }
        }
        let conflicts = conflicts::dropped(request, machine, size, &kept, progress);
        request.go_on()?;
        let is_left = |number: &usize| conflicts.iter().all(|one| one.number != *number);
        let numbers = kept.iter().skip(1).map(|one| one.number);
        left.push(numbers.filter(is_left).collect());
        dropped.extend(conflicts);
        dropped.sort_by_key(|dropped| dropped.number);
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
