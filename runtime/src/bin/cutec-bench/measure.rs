//! Alternating rounds of ours and the peer.

use std::time::Duration;

use cutec_runtime::DeviceError;
use cutec_runtime::cuda::CudaDevice;

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
}

/// Launches of a batch are at least this many, so that the gap at its ends does not count.
const MIN_BATCH: usize = 4;
/// Launches that can wait in a stream without blocking the host.
const MAX_BATCH: usize = 500;
/// Launches before the first time is taken: clocks rise, and libraries choose their algorithm.
const WARM_UP: usize = 5;

impl Protocol {
    /// Times `ours` and `peer` in alternation. Each is called with the number of the launch, by which
    /// it chooses its operands.
    pub fn alternate(
        &self,
        device: &mut CudaDevice,
        ours: &mut dyn FnMut(&mut CudaDevice, usize) -> Result<(), DeviceError>,
        peer: &mut dyn FnMut(&mut CudaDevice, usize) -> Result<(), DeviceError>,
    ) -> Result<Times, DeviceError> {
        let mut times = Times::default();
        if !self.measure {
            return Ok(times);
        }
        let mut next = 0;
        let mut batch =
            |device: &mut CudaDevice,
             work: &mut dyn FnMut(&mut CudaDevice, usize) -> Result<(), DeviceError>,
             launches: usize| {
                let time = device.time(|device| {
                    for _ in 0..launches {
                        work(device, next)?;
                        next += 1;
                    }
                    Ok(())
                })?;
                Ok::<_, DeviceError>(time.as_secs_f64() / launches as f64)
            };
        batch(device, ours, WARM_UP)?;
        batch(device, peer, WARM_UP)?;
        let ours_launches = self.launches(batch(device, ours, WARM_UP)?);
        let peer_launches = self.launches(batch(device, peer, WARM_UP)?);
        for round in 0..self.rounds {
            // Who comes second finds the GPU warmer: take turns.
            if round % 2 == 0 {
                times.ours.push(batch(device, ours, ours_launches)?);
                times.peer.push(batch(device, peer, peer_launches)?);
            } else {
                times.peer.push(batch(device, peer, peer_launches)?);
                times.ours.push(batch(device, ours, ours_launches)?);
            }
        }
        Ok(times)
    }

    /// Number of launches that fill a batch.
    fn launches(&self, seconds: f64) -> usize {
        let batch = Duration::from_millis(u64::from(self.batch_ms)).as_secs_f64();
        ((batch / seconds.max(1e-9)) as usize).clamp(MIN_BATCH, MAX_BATCH)
    }
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
        };
        assert_eq!(times.ratio(), Some(1.0));
    }
}
