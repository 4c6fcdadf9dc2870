//! A search step by step, for a host that has workers of its own: processes, machines.
//!
//! The host opens a [`Session`], which says what to measure next; it lets workers measure parts of that by [`measure`],
//! anywhere, and tells the session. A worker needs the source file and a device; it runs the bench when it is first asked for a part of it, and keeps
//! what it compiled.

use super::devices::{is_exact, measure_here};
use super::kept::{Kept, Round};
use super::launches::{self, Bench};
use super::search::Ground;
use super::{Findings, Request, TuneError, compile};
use cutec::{Cache, Options, Source};
use cutec_runtime::Cancel;
use cutec_runtime::device::DeviceSpec;
use cutec_tuning::Candidate;
use cutec_tuning::halving::{Halving, Task, Told};
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// A request that owns what it asks for.
#[derive(Debug, Clone)]
pub struct Owned {
    /// The source; its imports are files.
    pub source: Source,
    /// How to compile.
    pub options: Options,
    /// The bench block.
    pub bench: String,
    /// Seed of its data.
    pub seed: u64,
    /// Where to measure, and where to run the bench with the defaults.
    pub device: DeviceSpec,
    /// Configurations of a kernel that are compiled at most, 0 for all.
    pub limit: usize,
    /// Where PTX is kept.
    pub cache: Option<Cache>,
    /// Where the session keeps results until it ends, for one that is begun again.
    pub journal: Option<PathBuf>,
    /// Ends what is under way.
    pub cancel: Cancel,
}

impl Owned {
    fn with<T>(&self, body: impl FnOnce(&Request<'_>) -> T) -> T {
        body(&Request {
            source: &self.source,
            options: &self.options,
            bench: &self.bench,
            seed: self.seed,
            devices: &[self.device],
            threads: 0,
            limit: self.limit,
            time: None,
            cache: self.cache.as_ref(),
            journal: self.journal.clone(),
            cancel: self.cancel.clone(),
        })
    }
}

/// A search.
pub struct Session {
    request: Owned,
    ground: Ground,
    halvings: Vec<Halving>,
    kept: Kept,
    resumed: usize,
    /// The launch that is searched.
    at: usize,
    /// The round that is under way.
    round: Option<Round>,
}

impl Session {
    /// Begins a search.
    ///
    /// # Errors
    /// As [`super::tune`].
    pub fn open(request: Owned) -> Result<Self, TuneError> {
        let (ground, kept, exact) = request.with(|request| {
            let ground = Ground::of(request, &|_| {})?;
            let kept = Kept::open(request, &ground)?;
            Ok::<_, TuneError>((ground, kept, is_exact(request)))
        })?;
        Ok(Self {
            halvings: ground.halvings(exact),
            resumed: kept.resumed(),
            kept,
            ground,
            request,
            at: 0,
            round: None,
        })
    }

    /// The number of a launch, and what to measure of it, beside what is known; `None` when the search has ended. As long as something
    /// is missing of a round, it is asked for again.
    ///
    /// # Errors
    /// Where the defaults did not run.
    pub fn next_task(&mut self) -> Result<Option<(usize, Task)>, TuneError> {
        loop {
            if let Some(round) = self.round.take() {
                if let Some(missing) = round.missing() {
                    self.round = Some(round);
                    return Ok(Some((self.at, missing)));
                }
                let results = round.end();
                self.ground.check(self.at, &results)?;
                self.halvings[self.at].tell(results);
            }
            let Some(halving) = self.halvings.get(self.at) else {
                return Ok(None);
            };
            match halving.next() {
                Some(task) => self.round = Some(self.kept.round(self.at, task)),
                None => self.at += 1,
            }
        }
    }

    /// The launch that is searched, for people.
    pub fn text(&self) -> String {
        match self.at < self.ground.launches() {
            true => self.ground.text(self.at),
            false => String::new(),
        }
    }

    /// Takes results of the task, those of a part of it at least; they are in the journal when this returns.
    ///
    /// # Errors
    /// Where the journal cannot be written.
    pub fn tell(&mut self, results: Vec<Told>) -> Result<(), TuneError> {
        match &mut self.round {
            Some(round) => self.kept.add(round, results),
            None => Ok(()),
        }
    }

    /// What was found. The journal is gone then.
    ///
    /// # Errors
    /// Where an assertion of the bench does not hold of what was chosen.
    pub fn findings(&mut self) -> Result<Findings, TuneError> {
        let findings = self.request.with(|request| {
            self.ground
                .findings(request, &self.halvings, self.resumed, &|_| {})
        })?;
        self.kept.end();
        Ok(findings)
    }
}

/// What a worker keeps of a bench.
struct Workplace {
    bench: Bench,
    /// Configurations of each kernel, those that were asked for with their code.
    candidates: Vec<Vec<Candidate>>,
    compiled: Vec<BTreeSet<usize>>,
}

/// By what tells one bench from another.
type Workplaces = Mutex<HashMap<String, Arc<Mutex<Workplace>>>>;

static WORKPLACES: LazyLock<Workplaces> = LazyLock::new(Workplaces::default);

/// Measures a part of a task: configurations of a launch, and the defaults.
///
/// # Errors
/// Where the bench does not run, or the device is not there.
pub fn measure(
    request: &Owned,
    launch: usize,
    numbers: &[usize],
    batches: usize,
) -> Result<Vec<Told>, TuneError> {
    request.with(|asked| {
        let place = workplace(request, asked)?;
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        let Workplace {
            bench,
            candidates,
            compiled,
        } = &mut *place;
        let mut sizes = Vec::new();
        for (kernel, tuned) in bench.kernels.iter().enumerate() {
            sizes.extend(tuned.launches.iter().map(|size| (kernel, size)));
        }
        let Some((kernel, size)) = sizes.get(launch).copied() else {
            return Ok(Vec::new());
        };
        let known = &mut compiled[kernel];
        let all = numbers.iter().copied().chain([0]);
        let new: BTreeSet<usize> = all.filter(|number| !known.contains(number)).collect();
        if !new.is_empty() {
            let tuned = &bench.kernels[kernel];
            let made = compile::code(asked, tuned, &new, bench.assembles, &|_, _| {});
            asked.go_on()?;
            let slots = &mut candidates[kernel];
            slots.resize_with(made.candidates.len().max(slots.len()), || Candidate {
                number: 0,
                configuration: Vec::new(),
                compiled: Err("it was not compiled".to_owned()),
            });
            for candidate in made.candidates {
                let number = candidate.number;
                if new.contains(&number) {
                    slots[number] = candidate;
                }
            }
            known.extend(new);
        }
        measure_here(
            asked,
            request.device,
            &size.workload,
            &candidates[kernel],
            numbers,
            batches,
        )
    })
}

fn workplace(request: &Owned, asked: &Request<'_>) -> Result<Arc<Mutex<Workplace>>, TuneError> {
    let key = format!(
        "{} {} {} {:?} {} {:?}",
        cutec::cache::fingerprint(&request.source, &cutec::FileLoader),
        request.bench,
        request.options.target.name,
        request.options.defines,
        request.seed,
        request.device
    );
    let known = |key: &str| {
        let places = WORKPLACES.lock().unwrap_or_else(PoisonError::into_inner);
        places.get(key).cloned()
    };
    if let Some(place) = known(&key) {
        return Ok(place);
    }
    let bench = launches::launches(asked)?;
    let kernels = bench.kernels.len();
    let place = Workplace {
        bench,
        candidates: vec![Vec::new(); kernels],
        compiled: vec![BTreeSet::new(); kernels],
    };
    let mut places = WORKPLACES.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Arc::clone(
        places
            .entry(key)
            .or_insert_with(|| Arc::new(Mutex::new(place))),
    ))
}
