//! What a search has measured so far, in a file that survives it.
//!
//! The first line says what is searched; each other line is a round's result of one configuration, as JSON. Lines are on the disk
//! before the search goes on. A search that is begun again with the same first line takes what it asks for from the file
//! as long as it is there; any other one begins the file anew. A line that was not written whole is left out.

use crate::Measured;
use crate::halving::Told;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Which result.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Number of the launch among those that are tuned.
    pub launch: usize,
    /// Number of the round.
    pub round: usize,
    /// Number of the configuration.
    pub number: usize,
}

#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    place: Place,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    figures: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wrong: Option<String>,
    defaults: f64,
}

/// The file, and what was in it.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    known: HashMap<Place, Told>,
}

impl Journal {
    /// Opens the journal of a search, or begins it.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn open(path: &Path, search: &str) -> io::Result<Self> {
        let search = search.replace('\n', " ");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let known = match text.split_once('\n') {
            Some((first, rest)) if first == search => read(rest),
            _ => HashMap::new(),
        };
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        if known.is_empty() {
            file.set_len(0)?;
            writeln!(file, "{search}")?;
        } else if !text.ends_with('\n') {
            // The line that was cut off ends here.
            writeln!(file)?;
        }
        file.sync_data()?;
        Ok(Self {
            path: path.to_owned(),
            file,
            known,
        })
    }

    /// How many results were there when it was opened.
    pub fn known(&self) -> usize {
        self.known.len()
    }

    /// A result that is known.
    pub fn get(&self, place: &Place) -> Option<&Told> {
        self.known.get(place)
    }

    /// Writes results of a round.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn write(&mut self, launch: usize, round: usize, results: &[Told]) -> io::Result<()> {
        let mut text = String::new();
        for told in results {
            let (figures, wrong) = match &told.measured {
                Measured::Figures(figures) => (figures.clone(), None),
                Measured::Wrong(wrong) => (Vec::new(), Some(wrong.clone())),
            };
            let number = told.number;
            let line = Line {
                place: Place {
                    launch,
                    round,
                    number,
                },
                figures,
                wrong,
                defaults: told.defaults,
            };
            text.push_str(&serde_json::to_string(&line)?);
            text.push('\n');
        }
        self.file.write_all(text.as_bytes())?;
        self.file.sync_data()
    }

    /// Removes the file of a search that has ended.
    pub fn remove(self) {
        // Where it stays, the next search of the same finds everything in it.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn read(lines: &str) -> HashMap<Place, Told> {
    let lines = lines.lines();
    let lines = lines.filter_map(|line| serde_json::from_str::<Line>(line).ok());
    let told = lines.map(|line| {
        let measured = match line.wrong {
            Some(wrong) => Measured::Wrong(wrong),
            None => Measured::Figures(line.figures),
        };
        let number = line.place.number;
        let defaults = line.defaults;
        let told = Told {
            number,
            measured,
            defaults,
        };
        (line.place, told)
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_goes_on_where_it_was_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.journal");
        let told = |number, measured| Told {
            number,
            measured,
            defaults: 2.0,
        };
        let results = [
            told(1, Measured::Figures(vec![1.0, 1.5])),
            told(2, Measured::Wrong("no".to_owned())),
        ];
        let mut journal = Journal::open(&path, "a search").unwrap();
        assert_eq!(journal.known(), 0);
        journal.write(0, 3, &results).unwrap();
        drop(journal);
        let place = |number| Place {
            launch: 0,
            round: 3,
            number,
        };
        // The process is killed in the middle of a line.
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        write!(file, "{{\"launch\": 0, \"rou").unwrap();
        let mut journal = Journal::open(&path, "a search").unwrap();
        assert_eq!(journal.known(), 2);
        assert_eq!(journal.get(&place(1)), Some(&results[0]));
        assert_eq!(journal.get(&place(2)), Some(&results[1]));
        assert_eq!(journal.get(&place(3)), None);
        journal
            .write(0, 3, &[told(3, Measured::Figures(vec![4.0]))])
            .unwrap();
        drop(journal);
        assert_eq!(Journal::open(&path, "a search").unwrap().known(), 3);
        // Another search begins anew.
        let journal = Journal::open(&path, "another search").unwrap();
        assert_eq!(journal.known(), 0);
        journal.remove();
        assert!(!path.exists());
    }
}
