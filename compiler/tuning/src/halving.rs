//! Successive halving: all configurations are measured a little, the better ones more, the best ones most.
//!
//! Every task measures the defaults too, on the same device in the same minutes, and a configuration is judged by its
//! figure over theirs: so it does not matter that clocks fall while a GPU warms, and that two GPUs are not quite the same.
//! Within a round configurations take turns.

use crate::Measured;
use std::collections::BTreeMap;

/// Of each round, how many batches each configuration gets, and which part of them, but at least how many, goes on.
const ROUNDS: [Round; 4] = [
    Round {
        batches: 1,
        part: 3,
        least: 8,
    },
    Round {
        batches: 3,
        part: 3,
        least: 4,
    },
    Round {
        batches: 5,
        part: 2,
        least: 2,
    },
    Round {
        batches: 9,
        part: 1,
        least: 1,
    },
];

#[derive(Clone, Copy, Debug)]
struct Round {
    batches: usize,
    /// One out of as many goes on.
    part: usize,
    least: usize,
}

/// What is to be measured next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Number of the round.
    pub round: usize,
    /// Numbers of the configurations, without that of the defaults.
    pub configurations: Vec<usize>,
    /// Batches of each.
    pub batches: usize,
}

/// What was measured of a configuration in one round.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Its number.
    pub number: usize,
    /// What was measured.
    pub measured: Measured,
    /// The median of the defaults' figures in the same task.
    pub defaults: f64,
}

/// A search over the configurations of one size. The defaults have number 0.
#[derive(Clone, Debug)]
pub struct Halving {
    alive: Vec<usize>,
    round: usize,
    /// Whether figures are the same in every run.
    exact: bool,
    figures: BTreeMap<usize, Vec<f64>>,
    relative: BTreeMap<usize, Vec<f64>>,
    wrong: BTreeMap<usize, String>,
    /// The last round that a configuration was measured in.
    last: BTreeMap<usize, usize>,
}

/// How a configuration did.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Its number.
    pub number: usize,
    /// Median of its figures; `None` where it was wrong.
    pub figure: Option<f64>,
    /// Median of its figures over the defaults'.
    pub relative: Option<f64>,
    /// Rounds that it was measured in.
    pub rounds: usize,
    /// What was wrong.
    pub wrong: Option<String>,
}

impl Halving {
    /// A search over configurations, beside the defaults.
    pub fn new(configurations: Vec<usize>, exact: bool) -> Self {
        Self {
            alive: configurations,
            round: 0,
            exact,
            figures: BTreeMap::new(),
            relative: BTreeMap::new(),
            wrong: BTreeMap::new(),
            last: BTreeMap::new(),
        }
    }

    /// What to measure next; `None` when the search has ended.
    pub fn next(&self) -> Option<Task> {
        let rounds = if self.exact { &ROUNDS[..1] } else { &ROUNDS };
        let round = rounds.get(self.round)?;
        let nothing = self.alive.is_empty() && self.round > 0;
        (!nothing).then(|| Task {
            round: self.round,
            configurations: self.alive.clone(),
            batches: round.batches,
        })
    }

    /// Batches that are still to be measured, the present round included, if nothing turns out wrong.
    pub fn batches_left(&self) -> usize {
        let rounds = if self.exact { &ROUNDS[..1] } else { &ROUNDS };
        let mut alive = self.alive.len();
        let mut sum = 0;
        for round in rounds.iter().skip(self.round) {
            sum += round.batches * (alive + 1);
            alive = kept(alive, round);
        }
        sum
    }

    /// Ends a round with its results, those of the defaults among them.
    pub fn tell(&mut self, results: Vec<Told>) {
        for told in results {
            match told.measured {
                Measured::Figures(figures) => {
                    self.last.insert(told.number, self.round);
                    let relative = self.relative.entry(told.number).or_default();
                    relative.extend(figures.iter().map(|figure| figure / told.defaults));
                    self.figures.entry(told.number).or_default().extend(figures);
                }
                Measured::Wrong(wrong) => {
                    self.wrong.insert(told.number, wrong);
                }
            }
        }
        let Some(round) = ROUNDS.get(self.round) else {
            return;
        };
        let wrong = &self.wrong;
        self.alive.retain(|number| !wrong.contains_key(number));
        let mut ranked: Vec<(f64, usize)> = Vec::new();
        for number in &self.alive {
            if let Some(relative) = self.relative.get(number).and_then(|r| median(r)) {
                ranked.push((relative, *number));
            }
        }
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        ranked.truncate(kept(self.alive.len(), round));
        self.alive = ranked.into_iter().map(|(_, number)| number).collect();
        self.round += 1;
    }

    /// How all did that were measured: those that came further first, and of the same round the faster ones. The first
    /// one is chosen.
    pub fn standings(&self) -> Vec<Standing> {
        let numbers = self.figures.keys().chain(self.wrong.keys());
        let mut standings: Vec<Standing> = Vec::new();
        for number in numbers {
            if standings.iter().any(|standing| standing.number == *number) {
                continue;
            }
            let wrong = self.wrong.get(number).cloned();
            let of = |figures: &BTreeMap<usize, Vec<f64>>| {
                let right = wrong.is_none().then(|| figures.get(number))?;
                median(right?)
            };
            standings.push(Standing {
                number: *number,
                figure: of(&self.figures),
                relative: of(&self.relative),
                rounds: self.last.get(number).map_or(0, |last| last + 1),
                wrong,
            });
        }
        standings.sort_by(|a, b| {
            let worst = f64::INFINITY;
            let order = |standing: &Standing| standing.relative.unwrap_or(worst);
            let right = b.relative.is_some().cmp(&a.relative.is_some());
            let further = b.rounds.cmp(&a.rounds);
            let faster = order(a).total_cmp(&order(b));
            right
                .then(further)
                .then(faster)
                .then(a.number.cmp(&b.number))
        });
        standings
    }
}

fn kept(alive: usize, round: &Round) -> usize {
    (alive / round.part).max(round.least).min(alive)
}

/// Middle value, the mean of the two middle ones where there are two.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(match values.len() % 2 {
        1 => upper,
        _ => (values[middle - 1] + upper) / 2.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine on which configuration `n` takes `times[n]`, and a second device that is a tenth slower.
    fn search(times: &[f64], wrong: &[usize]) -> (Vec<Standing>, usize) {
        let mut halving = Halving::new((1..times.len()).collect(), false);
        let mut batches = 0;
        while let Some(task) = halving.next() {
            let left = halving.batches_left();
            assert!(left >= task.batches * (task.configurations.len() + 1));
            let mut results = vec![Told {
                number: 0,
                measured: Measured::Figures(vec![times[0]; task.batches]),
                defaults: times[0],
            }];
            for number in task.configurations {
                batches += task.batches;
                let slower = if number % 2 == 0 { 1.1 } else { 1.0 };
                let measured = match wrong.contains(&number) {
                    true => Measured::Wrong("wrong".to_owned()),
                    false => Measured::Figures(vec![times[number] * slower; task.batches]),
                };
                results.push(Told {
                    number,
                    measured,
                    defaults: times[0] * slower,
                });
            }
            halving.tell(results);
        }
        (halving.standings(), batches)
    }

    #[test]
    fn the_fastest_is_found_and_most_are_measured_little() {
        let times: Vec<f64> = (0..100)
            .map(|n| f64::from((n * 37 + 50) % 101) + 1.0)
            .collect();
        let (standings, batches) = search(&times, &[]);
        let best = (0..100)
            .min_by(|a, b| times[*a].total_cmp(&times[*b]))
            .unwrap();
        assert_eq!(standings[0].number, best);
        assert_eq!(standings[0].rounds, 4);
        assert_eq!(standings.len(), 100);
        assert!(batches < 400, "{batches}");
    }

    #[test]
    fn what_is_wrong_is_not_chosen() {
        let (standings, _) = search(&[4.0, 1.0, 2.0, 3.0], &[1]);
        assert_eq!(standings[0].number, 2);
        assert_eq!(standings[0].relative, Some(0.5));
        let last = standings.last().unwrap();
        assert_eq!((last.number, last.figure), (1, None));
        let (standings, _) = search(&[4.0, 1.0], &[1]);
        assert_eq!(standings[0].number, 0);
    }

    #[test]
    fn defaults_that_are_fastest_are_chosen() {
        let (standings, _) = search(&[1.0, 2.0, 3.0], &[]);
        assert_eq!(standings[0].number, 0);
        let (standings, _) = search(&[1.0], &[]);
        assert_eq!(standings[0].number, 0);
    }

    #[test]
    fn exact_figures_need_one_round() {
        let mut halving = Halving::new(vec![1], true);
        assert_eq!(halving.next().map(|task| task.batches), Some(1));
        halving.tell(Vec::new());
        assert_eq!(halving.next(), None);
    }
}
