//! Searches for the fastest configurations, whose measurements Python's executors make: `cutec.tune`.

use crate::attend::attended;
use crate::errors;
use crate::kernel::{default_target, define_texts, target};
use cutec::files::{self, MAX_SOURCE_BYTES};
use cutec::runtime::device::DeviceSpec;
use cutec::runtime::{Cancel, regular_file};
use cutec::{Cache, Options, RenderOptions, Source};
use cutec_testing::tune::session::{Owned, Session, measure};
use cutec_testing::tune::{TuneError, report};
use cutec_tuning::Measured;
use cutec_tuning::halving::Told;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A result as Python passes it on: number, figures, what was wrong, the defaults' figure.
type Passed = (usize, Vec<f64>, Option<String>, f64);

/// What to measure next: number and name of the launch, round, numbers of configurations, batches.
type Step = (usize, String, usize, Vec<usize>, usize);

/// A search, step by step.
#[pyclass(frozen, module = "cutec")]
pub struct Search {
    session: Mutex<Session>,
    /// Ends what the session is at.
    cancel: Cancel,
}

impl Search {
    fn lock(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed(py: Python<'_>, error: TuneError) -> PyErr {
    match error {
        TuneError::Source(errors) => errors::compile(py, &errors),
        TuneError::Bench(stop, sources) | TuneError::Chosen(stop, sources) => {
            let render = cutec_frontend::diagnostics::render::render;
            errors::message(py, render(&stop.diagnostic, &sources, RenderOptions::PLAIN))
        }
        other => errors::message(py, other),
    }
}

/// What a search asks for, of what Python gives.
fn owned(py: Python<'_>, asked: &Bound<'_, PyDict>) -> PyResult<Owned> {
    let item = |name: &str| {
        let item = asked.get_item(name)?;
        item.ok_or_else(|| errors::message(py, format!("`{name}` is missing")))
    };
    let name: String = item("path")?.extract()?;
    let unreadable = |reason: String| errors::message(py, format!("cannot read {name}: {reason}"));
    let bytes = regular_file::read(name.as_ref(), MAX_SOURCE_BYTES);
    let bytes = bytes.map_err(|error| unreadable(error.to_string()))?;
    let text = files::text(bytes).map_err(unreadable)?;
    let arch: String = item("arch")?.extract()?;
    let target = target(py, &arch)?.unwrap_or_else(|| default_target(py));
    let device: String = item("device")?.extract()?;
    let device = match device.as_str() {
        "auto" => cutec::runtime::open(None).map(|device| device.spec()),
        name => name.parse::<DeviceSpec>(),
    };
    let cache: Option<PathBuf> = item("cache")?.extract()?;
    let journal: Option<PathBuf> = match asked.get_item("journal")? {
        Some(path) => path.extract()?,
        None => None,
    };
    Ok(Owned {
        source: Source::new(name, text),
        options: Options {
            defines: define_texts(item("defines")?.cast::<PyDict>()?)?,
            ..Options::new(target)
        },
        bench: item("bench")?.extract()?,
        seed: item("seed")?.extract()?,
        device: device.map_err(|error| errors::message(py, error))?,
        limit: item("limit")?.extract()?,
        cache: cache.and_then(|folder| Cache::open(folder).ok()),
        journal,
        cancel: Cancel::new(),
    })
}

/// Begins a search: the bench runs with the defaults, and what could win is compiled.
#[pyfunction]
pub fn search(py: Python<'_>, asked: &Bound<'_, PyDict>) -> PyResult<Search> {
    let owned = owned(py, asked)?;
    let cancel = owned.cancel.clone();
    let session = attended(py, &cancel, |_| Session::open(owned))?;
    let session = session.map_err(|error| failed(py, error))?;
    Ok(Search {
        session: Mutex::new(session),
        cancel,
    })
}

/// Measures configurations of a launch, and the defaults beside them.
#[pyfunction]
pub fn measure_part(
    py: Python<'_>,
    asked: &Bound<'_, PyDict>,
    launch: usize,
    numbers: Vec<usize>,
    batches: usize,
) -> PyResult<Vec<Passed>> {
    let owned = owned(py, asked)?;
    let told = attended(py, &owned.cancel, |_| {
        measure(&owned, launch, &numbers, batches)
    })?;
    let told = told.map_err(|error| failed(py, error))?;
    let results = told.into_iter().map(|told| match told.measured {
        Measured::Figures(figures) => (told.number, figures, None, told.defaults),
        Measured::Wrong(wrong) => (told.number, Vec::new(), Some(wrong), told.defaults),
    });
    Ok(results.collect())
}

#[pymethods]
impl Search {
    /// What to measure next: number and name of the launch, round, numbers of configurations, batches.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Step>> {
        let mut session = self.lock();
        let task = session.next_task().map_err(|error| failed(py, error))?;
        let text = session.text();
        Ok(task.map(|(launch, task)| {
            let numbers = task.configurations;
            (launch, text, task.round, numbers, task.batches)
        }))
    }

    /// Takes results of a step, those of a part of it at least.
    fn tell(&self, py: Python<'_>, results: Vec<Passed>) -> PyResult<()> {
        let told = results
            .into_iter()
            .map(|(number, figures, wrong, defaults)| Told {
                number,
                measured: match wrong {
                    Some(wrong) => Measured::Wrong(wrong),
                    None => Measured::Figures(figures),
                },
                defaults,
            });
        let told = self.lock().tell(told.collect());
        told.map_err(|error| failed(py, error))
    }

    /// The plan as JSON, and a table of what was found.
    fn findings(&self, py: Python<'_>) -> PyResult<(String, String)> {
        let findings = attended(py, &self.cancel, |_| self.lock().findings())?;
        let findings = findings.map_err(|error| failed(py, error))?;
        Ok((findings.plan.to_json(), report::text(&findings, false)))
    }
}
