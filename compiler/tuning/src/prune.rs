//! What cannot win, and is not measured.
//!
//! A configuration is dropped for all sizes where it does not compile, where its blocks do not fit a multiprocessor, where
//! it spills registers though the defaults do not, and where a multiprocessor holds fewer warps than it has schedulers though it holds
//! more with the defaults. It is dropped for a size whose blocks leave so many multiprocessors idle, in the last wave or in all,
//! that others use more than twice as much of the machine, and for a size in which the bank conflicts of shared memory alone take
//! more than twice as long as another configuration is estimated to take; the simulator counts them, on one cluster of the grid.
//!
//! The configuration of the defaults is never dropped: all others are measured against it.

use crate::candidate::Figures;
use crate::estimate::Extrapolated;
use cutec_runtime::sim::profile::machine::{Machine, SCHEDULERS};
use std::fmt;

/// Of the machine that the best configuration uses, the part that one must use to be measured.
const LEAST_PART: f64 = 0.5;

/// Clocks that a launch takes at least, whatever it does: what is estimated at less is not told apart.
const LATENCY: f64 = 4000.0;

/// Why a configuration is not measured.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The compiler's first message.
    DoesNotCompile(String),
    /// A launch with these arguments is refused.
    Refused(String),
    /// More shared memory than a block can have.
    SharedMemory {
        /// Bytes that it takes.
        needed: u32,
        /// Bytes that a block may have.
        limit: u32,
    },
    /// No block fits a multiprocessor.
    DoesNotFit {
        /// What there is too little of: `registers`, `warps`.
        limit: &'static str,
    },
    /// Registers are spilled.
    Spills {
        /// Bytes a thread.
        bytes: u32,
    },
    /// A multiprocessor has a scheduler without a warp.
    Occupancy {
        /// Warps that it holds.
        warps: u32,
    },
    /// There are more configurations than may be compiled.
    BeyondLimit,
    /// Shared memory alone takes longer than another configuration, by conflicts of its banks.
    BankConflicts {
        /// Passes over shared memory for each one that would do without conflicts, in tenths.
        tenths: u64,
        /// How many times as long as the best configuration shared memory takes, in tenths.
        longer: u64,
    },
    /// Multiprocessors are idle.
    Waves {
        /// Blocks of the launch.
        blocks: u64,
        /// Of the machine, the part that is used, in percent.
        used: u32,
        /// The same of the best configuration.
        best: u32,
    },
}

/// A configuration that is not measured, for one size or for all.
#[derive(Clone, Debug, PartialEq)]
pub struct Dropped {
    /// Its number.
    pub number: usize,
    /// Why.
    pub reason: Reason,
}

impl Reason {
    /// The kind of reason, by which they are counted.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::DoesNotCompile(_) => "does not compile",
            Self::Refused(_) => "is refused",
            Self::SharedMemory { .. } => "shared memory",
            Self::DoesNotFit { .. } => "fits no multiprocessor",
            Self::Spills { .. } => "spills",
            Self::Occupancy { .. } => "occupancy",
            Self::BeyondLimit => "limit",
            Self::BankConflicts { .. } => "bank conflicts",
            Self::Waves { .. } => "waves",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DoesNotCompile(message) => write!(f, "does not compile: {message}"),
            Self::Refused(message) => write!(f, "is refused: {message}"),
            Self::SharedMemory { needed, limit } => {
                write!(f, "shared memory: {needed} bytes a block, of {limit}")
            }
            Self::DoesNotFit { limit } => write!(f, "fits no multiprocessor: too few {limit}"),
            Self::Spills { bytes } => write!(f, "spills: {bytes} bytes a thread"),
            Self::Occupancy { warps } => write!(
                f,
                "occupancy: {warps} warps on a multiprocessor with {SCHEDULERS} schedulers"
            ),
            Self::BeyondLimit => f.write_str("limit: there are more than may be compiled"),
            Self::BankConflicts { tenths, longer } => write!(
                f,
                "bank conflicts: {}.{} × the passes over shared memory, {}.{} × as long as another configuration takes",
                tenths / 10,
                tenths % 10,
                longer / 10,
                longer % 10
            ),
            Self::Waves { blocks, used, best } => write!(
                f,
                "waves: {blocks} blocks use {used} % of the machine, others up to {best} %"
            ),
        }
    }
}

/// Why a configuration is dropped for all sizes; `default` are the figures of the defaults.
pub fn of_configuration(figures: &Figures, default: &Figures, machine: &Machine) -> Option<Reason> {
    let limit = machine.shared - machine.shared_reserved;
    if figures.shared > limit {
        let needed = figures.shared;
        return Some(Reason::SharedMemory { needed, limit });
    }
    let occupancy = machine.occupancy(figures.threads, figures.registers, figures.shared);
    if occupancy.blocks == 0 {
        return Some(Reason::DoesNotFit {
            limit: occupancy.limit,
        });
    }
    if let Some(bytes) = figures.spills.filter(|bytes| *bytes > 0)
        && default.spills == Some(0)
    {
        return Some(Reason::Spills { bytes });
    }
    let warps = |figures: &Figures| {
        let held = machine.occupancy(figures.threads, figures.registers, figures.shared);
        held.blocks * figures.threads.div_ceil(32)
    };
    if warps(figures) < SCHEDULERS && warps(default) >= SCHEDULERS {
        let warps = warps(figures);
        return Some(Reason::Occupancy { warps });
    }
    None
}

/// Why a launch is dropped whose shared memory is busy for so long, where the best one takes `best` clocks by the same estimate: a pass takes
/// a clock whatever else happens, so that the launch cannot be faster than that; the best one may be slower than its estimate, but hardly by more
/// than [`LEAST_PART`] says. What would be as slow without conflicts is not dropped for them.
pub fn of_passes(launch: &Extrapolated, best: f64) -> Option<Reason> {
    let most = best.max(LATENCY) / LEAST_PART;
    (launch.shared > most && launch.shared_ideal <= most).then(|| Reason::BankConflicts {
        tenths: (10.0 * launch.shared / launch.shared_ideal.max(1.0)).round() as u64,
        longer: (10.0 * launch.shared / best.max(1.0)).round() as u64,
    })
}

/// Of the machine, the part that the blocks of a launch use until the last one ends, if all take as long: each
/// multiprocessor has as many of them as any other, or one less.
pub fn used(blocks: u64, multiprocessors: u32) -> f64 {
    let all = u64::from(multiprocessors.max(1));
    match blocks {
        0 => 0.0,
        _ => blocks as f64 / (blocks.div_ceil(all) * all) as f64,
    }
}

/// Whether a launch that uses so much of the machine is dropped where the best one uses `best` of it.
pub fn of_size(blocks: u64, multiprocessors: u32, best: f64) -> Option<Reason> {
    let used = used(blocks, multiprocessors);
    let percent = |part: f64| (100.0 * part).round() as u32;
    (used < LEAST_PART * best).then(|| Reason::Waves {
        blocks,
        used: percent(used),
        best: percent(best),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Figures = Figures {
        blocks: 100,
        cluster: 1,
        threads: 128,
        shared: 1 << 10,
        registers: Some(64),
        spills: Some(0),
    };

    fn reason(figures: Figures) -> Option<String> {
        let machine = Machine::of("sm_80").unwrap();
        of_configuration(&figures, &PLAIN, machine).map(|reason| reason.to_string())
    }

    #[test]
    fn conflicts_that_alone_take_longer_than_others() {
        let launch = |shared: f64, shared_ideal: f64| Extrapolated {
            clocks: 0.0,
            shared,
            shared_ideal,
        };
        let found = of_passes(&launch(80_000.0, 10_000.0), 20_000.0).map(|r| r.to_string());
        let text = "bank conflicts: 8.0 × the passes over shared memory, 4.0 × as long as another configuration takes";
        assert_eq!(found.as_deref(), Some(text));
        // Not longer than the best one may take; as long without conflicts; too short to count.
        assert_eq!(of_passes(&launch(39_000.0, 10_000.0), 20_000.0), None);
        assert_eq!(of_passes(&launch(80_000.0, 41_000.0), 20_000.0), None);
        assert_eq!(of_passes(&launch(7_900.0, 100.0), 50.0), None);
    }

    #[test]
    fn what_cannot_win() {
        assert_eq!(reason(PLAIN), None);
        let shared = 200 << 10;
        let found = reason(Figures { shared, ..PLAIN });
        assert_eq!(
            found.as_deref(),
            Some("shared memory: 204800 bytes a block, of 166912")
        );
        let spills = Some(8);
        let found = reason(Figures { spills, ..PLAIN });
        assert_eq!(found.as_deref(), Some("spills: 8 bytes a thread"));
        let (threads, registers) = (1024, Some(128));
        let found = reason(Figures {
            threads,
            registers,
            ..PLAIN
        });
        assert_eq!(
            found.as_deref(),
            Some("fits no multiprocessor: too few registers")
        );
        let (threads, shared) = (32, 100 << 10);
        let found = reason(Figures {
            threads,
            shared,
            ..PLAIN
        });
        assert_eq!(
            found.as_deref(),
            Some("occupancy: 1 warps on a multiprocessor with 4 schedulers")
        );
        // Without an assembler nothing is known of registers and spills, and nothing is dropped for them.
        let unknown = Figures {
            registers: None,
            spills: None,
            ..PLAIN
        };
        assert_eq!(reason(unknown), None);
    }

    #[test]
    fn waves() {
        assert_eq!(used(0, 132), 0.0);
        assert_eq!(used(132, 132), 1.0);
        assert_eq!(used(133, 132), 133.0 / 264.0);
        assert_eq!(of_size(264, 132, 1.0), None);
        assert_eq!(of_size(66, 132, 1.0), None);
        assert!(matches!(
            of_size(32, 132, 0.97),
            Some(Reason::Waves {
                blocks: 32,
                used: 24,
                best: 97
            })
        ));
    }
}
