//! Clocks of a launch by what the simulator counts, where there is no clock to measure with.
//!
//! The multiprocessor with most blocks decides. Its time is that of its busiest unit: the schedulers, which issue an
//! instruction each in a clock; the tensor cores; shared memory, which does a pass in a clock; its part of the bandwidth of
//! memory. Latencies are not in it: of two configurations the one that the estimate prefers need not be the faster one on
//! a GPU. It is the same in every run.

use crate::candidate::Figures;
use cutec_runtime::sim::Stats;
use cutec_runtime::sim::profile::machine::{Machine, SCHEDULERS};

/// Clocks of a launch.
pub fn clocks(stats: &Stats, figures: &Figures, machine: &Machine) -> f64 {
    let blocks = figures.blocks.max(1) as f64;
    most(figures, machine) / blocks * busiest(stats, machine)
}

/// A launch whose blocks all do what one cluster of them was counted to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extrapolated {
    /// Clocks of the busiest unit of the multiprocessor with most blocks.
    pub clocks: f64,
    /// Clocks of its shared memory.
    pub shared: f64,
    /// The same if there were no bank conflicts.
    pub shared_ideal: f64,
}

/// A launch by the counts of one cluster.
pub fn extrapolate(cluster: &Stats, figures: &Figures, machine: &Machine) -> Extrapolated {
    let most = most(figures, machine) / f64::from(figures.cluster.max(1));
    Extrapolated {
        clocks: most * busiest(cluster, machine),
        shared: most * cluster.shared_wavefronts as f64,
        shared_ideal: most * cluster.shared_wavefronts_ideal as f64,
    }
}

/// Blocks of the multiprocessor that has most.
fn most(figures: &Figures, machine: &Machine) -> f64 {
    figures.blocks.div_ceil(u64::from(machine.sms)).max(1) as f64
}

/// Clocks in which one multiprocessor does all of this: those of its busiest unit.
fn busiest(stats: &Stats, machine: &Machine) -> f64 {
    let bytes = (stats.global_read_bytes + stats.global_written_bytes) as f64;
    let bytes_per_clock =
        machine.bandwidth() / (f64::from(machine.sms) * f64::from(machine.clock_mhz) * 1e6);
    let units = [
        stats.warp_instructions as f64 / f64::from(SCHEDULERS),
        stats.mma_work as f64 / f64::from(machine.tensor_rate),
        stats.shared_wavefronts as f64,
        bytes / bytes_per_clock,
    ];
    units.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_unit_of_the_fullest_multiprocessor() {
        let machine = Machine::of("sm_80").unwrap();
        let figures = |blocks| Figures {
            blocks,
            cluster: 1,
            threads: 128,
            shared: 0,
            registers: None,
            spills: None,
        };
        let stats = Stats {
            warp_instructions: 4000,
            shared_wavefronts: 900,
            ..Stats::default()
        };
        assert_eq!(clocks(&stats, &figures(1), machine), 1000.0);
        assert_eq!(clocks(&stats, &figures(10), machine), 100.0);
        assert_eq!(clocks(&stats, &figures(108), machine), 1000.0 / 108.0);
        assert_eq!(clocks(&stats, &figures(109), machine), 2000.0 / 109.0);
        let conflicts = Stats {
            shared_wavefronts: 1500,
            ..stats
        };
        assert_eq!(clocks(&conflicts, &figures(1), machine), 1500.0);
    }
}
