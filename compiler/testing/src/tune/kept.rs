//! Rounds of the search whose results are kept as they come, so that a search that is interrupted goes on where it stopped.

use super::search::Ground;
use super::{Request, TuneError};
use cutec_tuning::Journal;
use cutec_tuning::halving::{Task, Told};
use cutec_tuning::journal::Place;

/// What is known of a search: its journal, where there is one.
pub(super) struct Kept {
    journal: Option<Journal>,
}

/// A round that is under way.
pub(super) struct Round {
    launch: usize,
    task: Task,
    results: Vec<Told>,
}

impl Kept {
    /// Opens the journal that a request names.
    pub fn open(request: &Request<'_>, ground: &Ground) -> Result<Self, TuneError> {
        let journal = request.journal.as_ref();
        let journal = journal.map(|path| Journal::open(path, &identity(request, ground)));
        Ok(Self {
            journal: journal.transpose()?,
        })
    }

    /// Results that an earlier search had left.
    pub fn resumed(&self) -> usize {
        self.journal.as_ref().map_or(0, Journal::known)
    }

    /// Begins a round with what is known of it.
    pub fn round(&self, launch: usize, task: Task) -> Round {
        let known = |number: &usize| {
            let place = Place {
                launch,
                round: task.round,
                number: *number,
            };
            self.journal.as_ref()?.get(&place).cloned()
        };
        let all = [0].iter().chain(&task.configurations);
        Round {
            results: all.filter_map(known).collect(),
            launch,
            task,
        }
    }

    /// Adds results to a round; of the defaults the first figures stay.
    pub fn add(&mut self, round: &mut Round, mut told: Vec<Told>) -> Result<(), TuneError> {
        told.retain(|told| !round.has(told.number));
        if told.is_empty() {
            return Err(TuneError::NothingMeasured);
        }
        if let Some(journal) = &mut self.journal {
            journal.write(round.launch, round.task.round, &told)?;
        }
        round.results.extend(told);
        Ok(())
    }

    /// Removes the journal of a search that has ended.
    pub fn end(&mut self) {
        if let Some(journal) = self.journal.take() {
            journal.remove();
        }
    }
}

impl Round {
    fn has(&self, number: usize) -> bool {
        self.results.iter().any(|known| known.number == number)
    }

    /// What is not known of it yet; `None` where all is. The defaults are measured with whatever is.
    pub fn missing(&self) -> Option<Task> {
        let mut task = self.task.clone();
        task.configurations.retain(|number| !self.has(*number));
        let complete = task.configurations.is_empty() && self.has(0);
        (!complete).then_some(task)
    }

    /// Its results.
    pub fn end(self) -> Vec<Told> {
        self.results
    }
}

/// What a journal belongs to: nothing of it means the same for another search.
fn identity(request: &Request<'_>, ground: &Ground) -> String {
    format!(
        "cutec-tune 2 {} {} {} {} {:?} {:?} seed {} limit {}",
        cutec::VERSION,
        ground.bench.fingerprint,
        request.bench,
        request.options.target.name,
        ground.bench.machine,
        request.options.defines,
        request.seed,
        request.limit
    )
}
