//! Bank conflicts of configurations: the simulator runs one cluster of each, and counts.

use super::launches::{Size, open_simulator};
use super::threads::on_threads;
use super::{Progress, Request};
use cutec_runtime::sim::profile::machine::Machine;
use cutec_runtime::{Artifact, Value};
use cutec_tuning::Station;
use cutec_tuning::candidate::Figures;
use cutec_tuning::estimate::{Extrapolated, extrapolate};
use cutec_tuning::prune::{self, Dropped};
use std::sync::Arc;

/// Bytes of operands that the simulators hold together; one has its own in any case.
const MEMORY: usize = 1 << 30;

/// A configuration that is left.
#[derive(Clone, Copy)]
pub(super) struct Left<'a> {
    /// Its number.
    pub number: usize,
    /// What a launch of it takes.
    pub figures: Figures,
    /// Its PTX.
    pub ptx: &'a Artifact,
}

/// Which of the configurations of a size are dropped for their bank conflicts; the defaults, the first of them, are not.
pub(super) fn dropped(
    request: &Request<'_>,
    machine: &Machine,
    size: &Size,
    left: &[Left<'_>],
    progress: &(dyn Fn(&Progress) + Sync),
) -> Vec<Dropped> {
    // Nothing to compare, or no shared memory in any of them.
    if left.len() < 2 || left.iter().all(|one| one.figures.shared == 0) {
        return Vec::new();
    }
    let tensors = size.workload.args.iter().filter_map(Value::as_tensor);
    let bytes: usize = tensors.map(|tensor| tensor.bytes().len()).sum();
    let most = (MEMORY / bytes.max(1)).max(1);
    let launch = format!("{}: {}", size.workload.kernel, size.text());
    let simulator = || {
        let mut device = open_simulator(&request.cancel);
        let station = Station::new(&mut device, Arc::clone(&size.workload));
        Some((device, station.ok()?))
    };
    let count = |simulator: &mut Option<_>, one: &Left<'_>| -> Option<Extrapolated> {
        let (device, station): &mut (_, Station) = simulator.as_mut()?;
        let counted = station.count_one(device, one.ptx)?;
        Some(extrapolate(&counted, &one.figures, machine))
    };
    let told = |done, all| {
        progress(&Progress::Counting {
            launch: launch.clone(),
            done,
            all,
        });
    };
    let threads = (request.threads, most);
    let counted = on_threads(threads, &request.cancel, left, &told, simulator, count);
    let known = counted.iter().flatten().flatten();
    let best = known
        .map(|launch| launch.clocks)
        .fold(f64::INFINITY, f64::min);
    let others = left.iter().zip(&counted).skip(1);
    let dropped = others.filter_map(|(one, counted)| {
        let reason = prune::of_passes(counted.as_ref()?.as_ref()?, best)?;
        let number = one.number;
        Some(Dropped { number, reason })
    });
    dropped.collect()
}
