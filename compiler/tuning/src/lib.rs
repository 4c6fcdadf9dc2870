//! Tuning: which of a kernel's configurations is the fastest for which sizes.
//!
//! A *configuration* gives the compile-time parameters that have candidates a value each. A *size* is what a kernel reads
//! off its arguments at launch: the extents of a product, say. A [`Plan`] says for sizes that were measured which
//! configuration was the fastest, and a launch takes that of the nearest size.
//!
//! Modules in reading order:
//! - [`plan`]: the plan, its file, and the rule by which a launch chooses;
//! - [`candidate`]: what is known of a configuration once it is compiled;
//! - [`prune`]: what cannot win and is not measured, with the reasons;
//! - [`measure`]: one kernel on one device: operands, checked results, times;
//! - [`estimate`]: clocks by what the simulator counts, where there are no times;
//! - [`halving`]: which configurations are measured how often: successive halving;
//! - [`journal`]: what was found out so far, on disk, so that an interrupted search goes on;
//! - [`picture`]: the search as SVG.
//!
//! Without the feature `search` there are plans alone, and no simulator is linked.
//!
//! Nothing here compiles: configurations come as artifacts, and the search asks for measurements and is told results, so
//! that it does not matter where they are made.
//!
//! Invariants: the search is a function of what it is told; a plan that is read back chooses as it did when it was made.

#[cfg(feature = "search")]
pub mod candidate;
#[cfg(feature = "search")]
pub mod estimate;
#[cfg(feature = "search")]
pub mod halving;
#[cfg(feature = "search")]
pub mod journal;
#[cfg(feature = "search")]
pub mod measure;
#[cfg(feature = "search")]
pub mod picture;
pub mod plan;
#[cfg(feature = "search")]
pub mod prune;

#[cfg(feature = "search")]
pub use candidate::{Candidate, Parameters};
#[cfg(feature = "search")]
pub use halving::{Halving, Task};
#[cfg(feature = "search")]
pub use journal::Journal;
#[cfg(feature = "search")]
pub use measure::{Measured, Station, Workload};
pub use plan::{Chooser, KernelPlan, Plan, PlanError, SizePlan};
#[cfg(feature = "search")]
pub use prune::{Dropped, Reason};

/// Values of the parameters that have candidates, by name, in the order of the source.
pub type Configuration = Vec<(String, String)>;

/// A configuration for people: `bm = 64, bn = 128`.
pub fn text(configuration: &Configuration) -> String {
    let pairs = configuration.iter();
    let pairs: Vec<String> = pairs
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    pairs.join(", ")
}
