//! Results as Markdown and JSON.

use serde::Serialize;

use super::measure::{Times, median};
use super::plan::Case;

/// Head of the table.
pub const HEAD: &str = "\
| kernel | arch | size | ours | cuBLAS or copy | ratio | error vs f64 | peer's | ours vs peer | |
|---|---|---|---|---|---|---|---|---|---|";

/// What is counted a second.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Floating-point operations.
    Flops,
    /// Bytes read and written.
    Bytes,
}

/// Largest relative errors.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Accuracy {
    /// Ours against the reference.
    pub ours: f64,
    /// The peer's against the reference.
    pub peer: Option<f64>,
    /// Ours against the peer's.
    pub difference: Option<f64>,
    /// What ours may be.
    pub tolerance: f64,
    /// Number of elements compared.
    pub compared: u64,
}

/// One line of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Name of the case.
    pub kernel: String,
    /// File of the artifact.
    pub file: String,
    /// Target that it was compiled for.
    pub arch: String,
    /// Problem size.
    pub size: Vec<i64>,
    /// What `ours` and `peer` count.
    pub unit: Unit,
    /// Operations or bytes a second, median of the rounds.
    pub ours: Option<f64>,
    /// The same of the peer.
    pub peer: Option<f64>,
    /// Median of the rounds' ratios; above 1 ours is faster.
    pub ratio: Option<f64>,
    /// Seconds of ours, one number a round.
    pub ours_seconds: Vec<f64>,
    /// Seconds of the peer, one number a round.
    pub peer_seconds: Vec<f64>,
    /// Whether ours were launched as a graph, not one by one: what was faster.
    pub ours_graph: bool,
    /// Whether the peer's were.
    pub peer_graph: bool,
    /// Errors, where it ran.
    pub accuracy: Option<Accuracy>,
    /// Why it did not.
    pub failure: Option<String>,
}

impl Row {
    /// A case that ran; `work` is what one launch does.
    pub fn new(
        case: &Case,
        size: &[i64],
        unit: Unit,
        work: f64,
        times: &Times,
        accuracy: Accuracy,
    ) -> Row {
        let rate = |seconds: &[f64]| median(seconds.to_vec()).map(|seconds| work / seconds);
        Row {
            kernel: case.label().to_string(),
            file: case.file.clone(),
            arch: String::new(),
            size: size.to_vec(),
            unit,
            ours: rate(&times.ours),
            peer: rate(&times.peer),
            ratio: times.ratio(),
            ours_seconds: times.ours.clone(),
            peer_seconds: times.peer.clone(),
            ours_graph: times.ours_graph,
            peer_graph: times.peer_graph,
            accuracy: Some(accuracy),
            failure: None,
        }
    }

    /// A case that did not run.
    pub fn failed(case: &Case, size: &[i64], failure: String) -> Row {
        Row {
            kernel: case.label().to_string(),
            file: case.file.clone(),
            arch: String::new(),
            size: size.to_vec(),
            unit: Unit::Flops,
            ours: None,
            peer: None,
            ratio: None,
            ours_seconds: Vec::new(),
            peer_seconds: Vec::new(),
            ours_graph: false,
            peer_graph: false,
            accuracy: None,
            failure: Some(failure),
        }
    }

    /// Whether it ran and is right.
    pub fn is_right(&self) -> bool {
        self.accuracy
            .is_some_and(|accuracy| accuracy.ours <= accuracy.tolerance)
    }

    /// The line of the table.
    pub fn markdown(&self) -> String {
        let size: Vec<String> = self.size.iter().map(i64::to_string).collect();
        let rate = |rate: Option<f64>| match (rate, self.unit) {
            (None, _) => "-".to_string(),
            (Some(rate), Unit::Flops) if rate < 1e11 => format!("{:.1} GFLOP/s", rate * 1e-9),
            (Some(rate), Unit::Flops) => format!("{:.1} TFLOP/s", rate * 1e-12),
            (Some(rate), Unit::Bytes) if rate < 1e10 => format!("{:.2} GB/s", rate * 1e-9),
            (Some(rate), Unit::Bytes) => format!("{:.0} GB/s", rate * 1e-9),
        };
        let error =
            |error: Option<f64>| error.map_or("-".to_string(), |error| format!("{error:.1e}"));
        let accuracy = self.accuracy;
        let verdict = match (&self.failure, self.is_right()) {
            (Some(_), _) => "**failed**",
            (None, true) => "ok",
            (None, false) => "**wrong**",
        };
        format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {verdict} |",
            self.kernel,
            self.arch,
            size.join("x"),
            rate(self.ours),
            rate(self.peer),
            self.ratio
                .map_or("-".to_string(), |ratio| format!("{ratio:.3}")),
            error(accuracy.map(|accuracy| accuracy.ours)),
            error(accuracy.and_then(|accuracy| accuracy.peer)),
            error(accuracy.and_then(|accuracy| accuracy.difference)),
        )
    }

    /// What there is to say about a case that failed or is wrong.
    pub fn remark(&self) -> Option<String> {
        let (file, kernel) = (&self.file, &self.kernel);
        match (&self.failure, self.accuracy) {
            (Some(failure), _) => Some(format!("- {kernel} ({file}) {:?}: {failure}", self.size)),
            (None, Some(accuracy)) if !self.is_right() => Some(format!(
                "- {kernel} ({file}) {:?}: error {:.3e}, expected at most {:.3e}",
                self.size, accuracy.ours, accuracy.tolerance
            )),
            _ => None,
        }
    }
}

impl Accuracy {
    /// The larger errors of two checks.
    pub fn worse(self, other: Accuracy) -> Accuracy {
        let larger = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a.max(b));
        Accuracy {
            ours: self.ours.max(other.ours),
            peer: larger(self.peer, other.peer),
            difference: larger(self.difference, other.difference),
            ..self
        }
    }
}
