//! Alternating rounds of ours and the peer.

use std::time::Duration;

use cutec_runtime::DeviceError;
use cutec_runtime::cuda::{CudaDevice, Graph};

/// How a case is measured.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// Rounds of ours and the peer.
    pub rounds: u32,
    /// Duration of a batch.
    pub batch_ms: u32,
    /// Whether to measure at all.
    pub measure: bool,
}

/// Seconds a launch, one number a round.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// Ours.
    pub ours: Vec<f64>,
    /// The peer's.
    pub peer: Vec<f64>,
    /// Whether ours were recorded as a graph.
    pub ours_graph: bool,
    /// Whether the peer's were.
    pub peer_graph: bool,
}

/// Puts one launch into the stream.
pub type Work<'a> = &'a mut dyn FnMut(&mut CudaDevice, usize) -> Result<(), DeviceError>;

/// Launches that are timed together. They are recorded as a graph unless that is clearly slower: the host's
/// time for a launch, which can exceed the kernel's, then does not count. (For large copies it is:
/// a graph gives them to another engine.)
struct Batch<'a> {
    work: Work<'a>,
    graph: Option<Graph>,
    launches: usize,
}

/// Launches of a batch are at least this many, so that the gap at its ends does not count.
const MIN_BATCH: usize = 4;
/// Launches beyond which a batch gains nothing.
const MAX_BATCH: usize = 1000;
/// A graph is kept if its time is less than this many times that of launches one by one.
const GRAPH_MAY_COST: f64 = 1.03;
/// Launches before the first time is taken: clocks rise, and libraries choose their algorithm.
const WARM_UP: usize = 5;

impl Protocol {
    /// Times `ours` and `peer` in alternation. Each is called with the number of the launch, by which
    /// it chooses one of `sets` operands.
    pub fn alternate(
        &self,
        device: &mut CudaDevice,
        sets: usize,
        ours: Work,
        peer: Work,
    ) -> Result<Times, DeviceError> {
        let mut times = Times::default();
        if !self.measure {
            return Ok(times);
        }
        let mut ours = self.batch(device, sets, ours)?;
        let mut peer = self.batch(device, sets, peer)?;
        times.ours_graph = ours.graph.is_some();
        times.peer_graph = peer.graph.is_some();
        for round in 0..self.rounds {
            // Who comes second finds the GPU warmer: take turns.
            if round % 2 == 0 {
                times.ours.push(ours.time(device)?);
                times.peer.push(peer.time(device)?);
            } else {
                times.peer.push(peer.time(device)?);
                times.ours.push(ours.time(device)?);
            }
        }
        Ok(times)
    }

    /// Prepares a batch: as many launches as fill its duration, and each set as often as the others.
    fn batch<'a>(
        &self,
        device: &mut CudaDevice,
        sets: usize,
        work: Work<'a>,
    ) -> Result<Batch<'a>, DeviceError> {
        let mut batch = Batch {
            work,
            graph: None,
            launches: WARM_UP,
        };
        batch.time(device)?;
        let launches = self.launches(batch.time(device)?);
        batch.launches = launches.next_multiple_of(sets.max(1));
        let graph = device.record(|device| launch(batch.work, device, batch.launches))?;
        batch.choose(device, graph)?;
        Ok(batch)
    }

    /// Number of launches that fill a batch.
    fn launches(&self, seconds: f64) -> usize {
        let batch = Duration::from_millis(u64::from(self.batch_ms)).as_secs_f64();
        ((batch / seconds.max(1e-9)) as usize).clamp(MIN_BATCH, MAX_BATCH)
    }
}

impl Batch<'_> {
    /// Keeps the graph unless launches one by one are clearly faster. Those are timed before and after it: the clock
    /// falls while the GPU warms, and one time of each would choose by who came first.
    fn choose(&mut self, device: &mut CudaDevice, graph: Graph) -> Result<(), DeviceError> {
        self.time(device)?;
        let before = self.time(device)?;
        self.graph = Some(graph);
        self.time(device)?;
        let recorded = self.time(device)?;
        let graph = self.graph.take();
        self.time(device)?;
        let after = self.time(device)?;
        if recorded < GRAPH_MAY_COST * (before + after) / 2.0 {
            self.graph = graph;
        }
        Ok(())
    }

    /// Seconds a launch.
    fn time(&mut self, device: &mut CudaDevice) -> Result<f64, DeviceError> {
        let time = device.time(|device| match &self.graph {
            Some(graph) => device.replay(graph),
            None => launch(self.work, device, self.launches),
        })?;
        Ok(time.as_secs_f64() / self.launches as f64)
    }
}

fn launch(work: Work, device: &mut CudaDevice, launches: usize) -> Result<(), DeviceError> {
    (0..launches).try_for_each(|index| work(device, index))
}

impl Times {
    /// Median of the rounds' ratios, peer's time over ours: above 1 ours is faster.
    pub fn ratio(&self) -> Option<f64> {
        let ratios = self
            .ours
            .iter()
            .zip(&self.peer)
            .map(|(ours, peer)| peer / ours);
        median(ratios.collect())
    }
}

/// Middle value, the mean of the two middle ones where there are two.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    if values.len() % 2 == 1 {
        Some(upper)
    } else {
        Some((values[middle - 1] + upper) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        let times = Times {
            ours: vec![1.0, 2.0, 4.0],
            peer: vec![2.0, 2.0, 2.0],
            ..Times::default()
        };
        assert_eq!(times.ratio(), Some(1.0));
    }
}
