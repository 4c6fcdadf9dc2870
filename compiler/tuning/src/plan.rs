//! Plans: which configuration a launch takes.
//!
//! The rule: of the sizes that were measured, the nearest one, and its configuration. Near is the distance between the
//! binary logarithms of the extents, √Σ (log₂ aᵢ − log₂ bᵢ)², so that 1024 lies between 512 and 2048; an extent of 0 counts as 1. Of
//! two that are as near, the one that stands first. A plan says nothing of kernels that it does not name.
//! Logarithms are computed in integers ([`logarithm`]), so C and every other way in choose alike, and sizes whose extents are
//! twice those of others are exactly as far away as they are.
//!
//! The file is JSON, `{"cutec_plan": 1, …}`. Unknown fields are ignored; the version changes when an old reader would
//! choose wrongly.

use crate::Configuration;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The version that is written and read.
pub const PLAN_VERSION: u32 = 1;

/// What a search found, as it stands in its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of the format, [`PLAN_VERSION`].
    pub cutec_plan: u32,
    /// The compiler that made the kernels.
    pub cutec: String,
    /// Where they were measured.
    pub device: Machine,
    /// The source file, as it was named.
    pub file: String,
    /// The bench block whose launches were tuned.
    pub bench: String,
    /// The kernels.
    pub kernels: Vec<KernelPlan>,
}

/// Where kernels were measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Name of the GPU, or `simulator`.
    pub name: String,
    /// Version of its driver; 0 of the simulator.
    pub driver: i32,
    /// The target that the kernels were compiled for, such as `sm_90`.
    pub arch: String,
}

/// What was found of one kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelPlan {
    /// Its name.
    pub kernel: String,
    /// SHA-256 of the source with all that it imports, in hexadecimal digits.
    pub source: String,
    /// Compile-time parameters that were fixed: by the bench, or by `-D`.
    #[serde(default)]
    pub fixed: BTreeMap<String, String>,
    /// Names of the extents and scalars that make a size, in the order of [`SizePlan::extents`].
    pub symbols: Vec<String>,
    /// How many configurations its candidates and conditions leave, that of the defaults included.
    pub configurations: usize,
    /// The sizes that were measured.
    pub sizes: Vec<SizePlan>,
}

/// What was found for one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizePlan {
    /// Values of the kernel's symbols.
    pub extents: Vec<i64>,
    /// The fastest configuration.
    pub chosen: BTreeMap<String, String>,
    /// How many times as fast as with the defaults the kernel is.
    pub speedup: f64,
    /// What the figures are: `seconds` of a launch on a GPU, `clocks` by the simulator's counts.
    pub unit: String,
    /// Everything that was measured, the fastest first.
    pub measured: Vec<MeasuredConfiguration>,
    /// How many were dropped without measuring, by reason.
    #[serde(default)]
    pub dropped: BTreeMap<String, usize>,
}

/// A configuration and its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredConfiguration {
    /// The parameters.
    pub parameters: BTreeMap<String, String>,
    /// Median over all rounds, in the size's unit; `None` where its results were wrong or it did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<f64>,
    /// Rounds that it was measured in.
    pub rounds: usize,
    /// Median of its figures over those of the defaults in the same rounds: what decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative: Option<f64>,
    /// Registers a thread, where an assembler said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registers: Option<u32>,
    /// Shared memory of a block, in bytes.
    pub shared: u32,
    /// Threads of a block.
    pub threads: u32,
    /// What was wrong with its results, or why it did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
    /// Whether it is that of the defaults.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_default: bool,
}

/// A plan that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The file cannot be read.
    #[error("cannot read the plan {path}: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's words.
        reason: String,
    },
    /// It is no plan.
    #[error("{path} is no plan: {reason}")]
    NoPlan {
        /// The file.
        path: String,
        /// What is wrong with the JSON.
        reason: String,
    },
    /// It is of another version.
    #[error("{path} is a plan of version {found}; expected {PLAN_VERSION}")]
    Version {
        /// The file.
        path: String,
        /// Its version.
        found: u32,
    },
    /// A size has not as many extents as its kernel has symbols, or no chosen configuration is among those measured.
    #[error("{path} is no plan: a size of `{kernel}` has {found} extents; expected {expected}")]
    Extents {
        /// The file.
        path: String,
        /// The kernel.
        kernel: String,
        /// Extents of the size.
        found: usize,
        /// Symbols of the kernel.
        expected: usize,
    },
}

impl Plan {
    /// Reads a plan from its file.
    ///
    /// # Errors
    /// Where there is none, or it is not of this version.
    pub fn read(path: &Path) -> Result<Self, PlanError> {
        let text = std::fs::read_to_string(path).map_err(|error| PlanError::Unreadable {
            path: path.display().to_string(),
            reason: error.to_string(),
        })?;
        Self::from_json(&text, &path.display().to_string())
    }

    /// A plan from its JSON; `name` is for messages.
    ///
    /// # Errors
    /// Where it is none, or not of this version.
    pub fn from_json(text: &str, name: &str) -> Result<Self, PlanError> {
        #[derive(Deserialize)]
        struct Version {
            cutec_plan: u32,
        }
        let no_plan = |error: serde_json::Error| PlanError::NoPlan {
            path: name.to_owned(),
            reason: error.to_string(),
        };
        let version: Version = serde_json::from_str(text).map_err(no_plan)?;
        if version.cutec_plan != PLAN_VERSION {
            return Err(PlanError::Version {
                path: name.to_owned(),
                found: version.cutec_plan,
            });
        }
        let plan: Self = serde_json::from_str(text).map_err(no_plan)?;
        for kernel in &plan.kernels {
            let expected = kernel.symbols.len();
            let mut sizes = kernel.sizes.iter().map(|size| size.extents.len());
            if let Some(found) = sizes.find(|found| *found != expected) {
                return Err(PlanError::Extents {
                    path: name.to_owned(),
                    kernel: kernel.kernel.clone(),
                    found,
                    expected,
                });
            }
        }
        Ok(plan)
    }

    /// Its JSON, with a line for each configuration.
    pub fn to_json(&self) -> String {
        // Maps with string keys and finite numbers: there is nothing that JSON has not.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// What was found of a kernel, if its other parameters are those that the plan was made with.
    pub fn kernel(&self, name: &str, fixed: &[(String, String)]) -> Option<&KernelPlan> {
        self.kernels.iter().find(|kernel| {
            let same = |(name, value): &(String, String)| kernel.fixed.get(name) == Some(value);
            kernel.kernel == name && kernel.fixed.len() == fixed.len() && fixed.iter().all(same)
        })
    }
}

impl KernelPlan {
    /// The sizes, made ready for many choices.
    pub fn chooser(&self) -> Chooser {
        let logarithms = self.sizes.iter().flat_map(|size| &size.extents);
        Chooser {
            logarithms: logarithms.map(|extent| logarithm(*extent)).collect(),
            symbols: self.symbols.len(),
            sizes: self.sizes.len(),
        }
    }

    /// The nearest size, by the rule above.
    pub fn choose(&self, extents: &[i64]) -> Option<&SizePlan> {
        self.sizes.get(self.chooser().choose(extents)?)
    }
}

impl SizePlan {
    /// The chosen parameters, as a compiler takes them.
    pub fn configuration(&self) -> Configuration {
        let chosen = self.chosen.iter();
        chosen.map(|(n, v)| (n.clone(), v.clone())).collect()
    }
}

/// The sizes of a kernel's plan, by their logarithms.
#[derive(Clone, Debug, PartialEq)]
pub struct Chooser {
    /// Of all sizes, one behind the other.
    logarithms: Vec<i64>,
    symbols: usize,
    sizes: usize,
}

/// Extents of a launch whose logarithms need no memory of their own.
const FEW: usize = 16;

impl Chooser {
    /// The number of the nearest size; `None` where there is none, or `extents` are not as many as the sizes have.
    pub fn choose(&self, extents: &[i64]) -> Option<usize> {
        if extents.len() != self.symbols || self.sizes == 0 {
            return None;
        }
        let mut few = [0; FEW];
        let many: Vec<i64>;
        let wanted = match few.get_mut(..extents.len()) {
            Some(few) => {
                for (place, extent) in few.iter_mut().zip(extents) {
                    *place = logarithm(*extent);
                }
                &*few
            }
            None => {
                many = extents.iter().map(|extent| logarithm(*extent)).collect();
                &many
            }
        };
        // Beyond 64 bits, of more than a dozen extents that are all as far as can be, one is as far as the other.
        let distance = |size: usize| -> u64 {
            let known = &self.logarithms[size * self.symbols..(size + 1) * self.symbols];
            let squares = known.iter().zip(wanted).map(|(a, b)| a.abs_diff(*b).pow(2));
            squares.fold(0, u64::saturating_add)
        };
        let mut best = (0, distance(0));
        for size in 1..self.sizes {
            let distance = distance(size);
            if distance < best.1 {
                best = (size, distance);
            }
        }
        Some(best.0)
    }

    /// The logarithms of the sizes, one size behind the other, as [`logarithm`] gives them: what another language needs to
    /// choose by the same rule.
    pub fn logarithms(&self) -> &[i64] {
        &self.logarithms
    }
}

/// Binary digits behind the point of a logarithm.
const FRACTION: u32 = 24;

/// The binary logarithm of an extent with 24 binary digits behind the point; an extent below 1 counts as 1. The digits come by
/// squaring: the square of a number from 1 to 2 is 2 or more where the next digit of its logarithm is 1.
pub fn logarithm(extent: i64) -> i64 {
    let extent = extent.max(1).unsigned_abs();
    let whole = extent.ilog2();
    // From 1 to 2, with 31 digits behind the point.
    let mut rest = (extent << (63 - whole)) >> 32;
    let mut logarithm = i64::from(whole);
    for _ in 0..FRACTION {
        rest = (rest * rest) >> 31;
        let digit = rest >> 32;
        logarithm = (logarithm << 1) | digit as i64;
        rest >>= digit;
    }
    logarithm
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(sizes: &[&[i64]]) -> Plan {
        let sizes = sizes.iter().enumerate().map(|(index, extents)| SizePlan {
            extents: extents.to_vec(),
            chosen: BTreeMap::from([("bm".to_owned(), index.to_string())]),
            speedup: 1.5,
            unit: "seconds".to_owned(),
            measured: Vec::new(),
            dropped: BTreeMap::from([("spills".to_owned(), 3)]),
        });
        Plan {
            cutec_plan: PLAN_VERSION,
            cutec: "0".to_owned(),
            device: Machine {
                name: "simulator".to_owned(),
                driver: 0,
                arch: "sm_80".to_owned(),
            },
            file: "a.cute".to_owned(),
            bench: "b".to_owned(),
            kernels: vec![KernelPlan {
                kernel: "k".to_owned(),
                source: String::new(),
                fixed: BTreeMap::from([("t".to_owned(), "f16".to_owned())]),
                symbols: ["m", "n"].map(str::to_owned).to_vec(),
                configurations: 4,
                sizes: sizes.collect(),
            }],
        }
    }

    #[test]
    fn the_nearest_size_by_logarithms() {
        let plan = plan(&[&[16, 8192], &[1024, 1024], &[4096, 4096]]);
        let chosen = |m, n| plan.kernels[0].choose(&[m, n]).unwrap().chosen["bm"].clone();
        assert_eq!(chosen(1, 8192), "0");
        assert_eq!(chosen(1000, 1016), "1");
        // 2048 is as far from 1024 as from 4096: the first one.
        assert_eq!(chosen(2048, 2048), "1");
        assert_eq!(chosen(2049, 2048), "2");
        assert_eq!(chosen(0, 0), chosen(1, 1));
        assert_eq!(chosen(i64::MAX, i64::MAX), "2");
        assert!(plan.kernels[0].choose(&[1]).is_none());
    }

    #[test]
    fn logarithms_are_near_and_exact_between_powers_of_two() {
        for extent in (1..2000).chain([12_345_678, 999_999_999_999, i64::MAX]) {
            let exact = (extent as f64).log2() * f64::from(1 << FRACTION);
            let found = logarithm(extent) as f64;
            assert!((found - exact).abs() < 1.5, "{extent}: {found}, {exact}");
        }
        for extent in 1..1000 {
            assert_eq!(logarithm(2 * extent) - logarithm(extent), 1 << FRACTION);
        }
        assert_eq!((logarithm(0), logarithm(-7), logarithm(1)), (0, 0, 0));
        // As far from 3 as from 12, where rounded logarithms may say otherwise.
        let plan = plan(&[&[12, 5], &[3, 5]]);
        assert_eq!(plan.kernels[0].choose(&[6, 5]).unwrap().chosen["bm"], "0");
    }

    #[test]
    fn a_plan_is_of_a_kernel_with_its_fixed_parameters() {
        let plan = plan(&[&[1, 1]]);
        let f16 = ("t".to_owned(), "f16".to_owned());
        assert!(plan.kernel("k", std::slice::from_ref(&f16)).is_some());
        assert!(plan.kernel("k", &[]).is_none());
        assert!(
            plan.kernel("k", &[("t".to_owned(), "bf16".to_owned())])
                .is_none()
        );
        assert!(plan.kernel("l", &[f16]).is_none());
    }

    #[test]
    fn plans_are_read_as_written_and_others_refused() {
        let plan = plan(&[&[1, 2], &[3, 4]]);
        assert_eq!(Plan::from_json(&plan.to_json(), "p").unwrap(), plan);
        let error = |text: &str| Plan::from_json(text, "p").unwrap_err().to_string();
        assert!(error("{}").starts_with("p is no plan: "));
        assert_eq!(
            error("{\"cutec_plan\": 7}"),
            "p is a plan of version 7; expected 1"
        );
        let short = plan.to_json().replacen("1,\n            2", "1", 1);
        assert_eq!(
            error(&short),
            "p is no plan: a size of `k` has 1 extents; expected 2"
        );
    }
}
