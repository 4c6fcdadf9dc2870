//! Where the time went: one row per phase, for `--time-passes`.

use std::fmt;
use std::time::{Duration, Instant};

/// Durations of the phases of one or several compilations, in the order in which they first ran. Kernels that
/// threads compile at the same time count each for itself: the sum is work, not time that passed.
#[derive(Debug, Clone, Default)]
pub struct Timings {
    phases: Vec<(String, Duration)>,
}

impl Timings {
    /// No phase yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs `work` and adds its duration to `phase`.
    pub fn measure<T>(&mut self, phase: &str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.add(phase, start.elapsed());
        result
    }

    /// Adds `duration` to `phase`.
    pub fn add(&mut self, phase: &str, duration: Duration) {
        match self.phases.iter_mut().find(|(name, _)| name == phase) {
            Some((_, total)) => *total += duration,
            None => self.phases.push((phase.to_owned(), duration)),
        }
    }

    /// Adds every phase of `other`.
    pub fn merge(&mut self, other: &Timings) {
        for (phase, duration) in &other.phases {
            self.add(phase, *duration);
        }
    }

    /// The phases and their durations.
    pub fn phases(&self) -> impl Iterator<Item = (&str, Duration)> {
        self.phases
            .iter()
            .map(|(name, duration)| (name.as_str(), *duration))
    }

    /// The sum over all phases.
    pub fn total(&self) -> Duration {
        self.phases.iter().map(|(_, duration)| *duration).sum()
    }
}

impl fmt::Display for Timings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total().as_secs_f64();
        for (phase, duration) in self.phases() {
            let seconds = duration.as_secs_f64();
            let share = if total > 0.0 {
                100.0 * seconds / total
            } else {
                0.0
            };
            writeln!(
                formatter,
                "{:>10.3} ms {share:>5.1}%  {phase}",
                seconds * 1e3
            )?;
        }
        writeln!(formatter, "{:>10.3} ms 100.0%  total", total * 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_that_runs_twice_is_one_row() {
        let mut timings = Timings::new();
        timings.add("parse", Duration::from_millis(1));
        timings.add("lower", Duration::from_millis(2));
        timings.add("parse", Duration::from_millis(3));
        let rows: Vec<_> = timings.phases().collect();
        assert_eq!(
            rows,
            [
                ("parse", Duration::from_millis(4)),
                ("lower", Duration::from_millis(2))
            ]
        );
        assert_eq!(timings.total(), Duration::from_millis(6));
    }
}
