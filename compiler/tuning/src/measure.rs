//! One kernel with its arguments on one device: configurations are loaded, their results compared with those of the
//! defaults, and their launches timed.
//!
//! The operands lie on the device once for all configurations, in so many sets that a launch finds its own outside of the
//! L2 cache. A figure is the time of a launch, as the mean over a batch of launches without the host's part; in the
//! simulator it is the clocks that [`estimate`](crate::estimate) counts, which do not change from run to run.

use crate::candidate::Figures;
use crate::estimate;
use cutec_runtime::abi::Arg;
use cutec_runtime::device::{ALLOCATION_ALIGN, Geometry, ParamValue};
use cutec_runtime::launch::{geometry, params};
use cutec_runtime::sim::Stats;
use cutec_runtime::sim::profile::machine::{MACHINES, Machine};
use cutec_runtime::{
    Artifact, Buffer, DType, Device, DeviceError, Loaded, SimDevice, Tensor, Value,
};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

/// The other sets of operands together exceed the L2 cache by this factor when a set is used again.
const L2_FACTOR: u64 = 2;
/// Most sets.
const MAX_SETS: u64 = 64;
/// Seconds that a batch is to take.
const BATCH: f64 = 2e-3;
/// Launches of a batch: at least these, so that the gap at its ends does not count, and at most those.
const BATCHES: (usize, usize) = (4, 256);

/// Warp instructions that a block may execute to be counted.
const COUNTED_STEPS: u64 = 1 << 22;

/// A launch that is tuned: a kernel, what it is given, and what it gave with the defaults.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The kernel.
    pub kernel: String,
    /// Its arguments before the launch.
    pub args: Vec<Value>,
    /// What it wrote, for each argument that it writes.
    pub expected: Vec<Option<Tensor>>,
}

/// What was measured of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// Figures of its batches.
    Figures(Vec<f64>),
    /// What is wrong with its results, or why it did not run.
    Wrong(String),
}

/// The operands of a workload on a device, and the configurations that are loaded there.
#[derive(Debug)]
pub struct Station {
    workload: Arc<Workload>,
    /// Buffers of each set, one an argument that is a tensor.
    sets: Vec<Vec<Option<Buffer>>>,
    /// What is expected, as numbers; made where bytes differ.
    expected: Vec<OnceCell<Vec<f64>>>,
    loaded: HashMap<usize, Result<Ready, String>>,
}

/// A configuration that has run and was right.
#[derive(Debug)]
struct Ready {
    loaded: Loaded,
    geometry: Geometry,
    /// Parameters of each set.
    params: Vec<Vec<ParamValue>>,
    figures: Figures,
    machine: &'static Machine,
    /// Launches of a batch; 0 where figures are exact.
    launches: usize,
    /// The exact figure.
    clocks: f64,
}

impl Station {
    /// Copies the operands to the device.
    ///
    /// # Errors
    /// Where it has no room for them.
    pub fn new(device: &mut dyn Device, workload: Arc<Workload>) -> Result<Self, DeviceError> {
        let tensors = || workload.args.iter().filter_map(Value::as_tensor);
        let bytes: u64 = tensors().map(|tensor| tensor.bytes().len() as u64).sum();
        let sets = match device.gpu() {
            Some(gpu) => (L2_FACTOR * gpu.l2_bytes / bytes.max(1) + 2).min(MAX_SETS),
            None => 1,
        };
        let mut station = Self {
            expected: vec![OnceCell::new(); workload.expected.len()],
            workload,
            sets: Vec::new(),
            loaded: HashMap::new(),
        };
        for index in 0..sets {
            match station.add_set(device) {
                Err(DeviceError::OutOfMemory { .. }) if index > 0 => break,
                other => other?,
            }
        }
        Ok(station)
    }

    fn add_set(&mut self, device: &mut dyn Device) -> Result<(), DeviceError> {
        let mut set = Vec::new();
        for value in &self.workload.args {
            set.push(match value {
                Value::Tensor(tensor) => {
                    let buffer = device.alloc(tensor.bytes().len() as u64, "an operand")?;
                    put(device, &buffer, tensor)?;
                    Some(buffer)
                }
                Value::Scalar(_) => None,
            });
        }
        self.sets.push(set);
        Ok(())
    }

    /// Whether figures are the same in every run, so that one is enough.
    pub fn is_exact(device: &dyn Device) -> bool {
        device.gpu().is_none()
    }

    /// Figures of `batches` batches of a configuration. Its results are checked the first time.
    pub fn measure(
        &mut self,
        device: &mut dyn Device,
        number: usize,
        artifact: &Artifact,
        batches: usize,
    ) -> Measured {
        if !self.loaded.contains_key(&number) {
            let ready = self.prepare(device, artifact);
            self.loaded.insert(number, ready);
        }
        let ready = match &self.loaded[&number] {
            Ok(ready) => ready,
            Err(wrong) => return Measured::Wrong(wrong.clone()),
        };
        if ready.launches == 0 {
            return Measured::Figures(vec![ready.clocks]);
        }
        let figures: Result<Vec<f64>, String> =
            (0..batches.max(1)).map(|_| ready.time(device)).collect();
        match figures {
            Ok(figures) => Measured::Figures(figures),
            Err(wrong) => Measured::Wrong(wrong),
        }
    }

    /// What the cluster in the middle of the grid does, as the simulator counts it; `None` where that is not to be known: it fails, waits
    /// for other clusters, takes more than [`COUNTED_STEPS`] instructions, or has another share of the work than on a GPU.
    pub fn count_one(&self, device: &mut SimDevice, artifact: &Artifact) -> Option<Stats> {
        let ready = self.load(device, artifact).ok()?;
        let abi = artifact.kernel(&self.workload.kernel)?;
        if abi.persistent {
            return None;
        }
        let blocks = |extents: [u32; 3]| extents.iter().map(|n| u64::from(*n)).product::<u64>();
        let grid = blocks(ready.geometry.grid);
        let clusters = grid / u64::from(ready.geometry.cluster.iter().product::<u32>()).max(1);
        let options = device.options_mut();
        options.counters = true;
        options.checks = false;
        options.threads = 1;
        options.step_limit = COUNTED_STEPS;
        options.only = Some(clusters / 2);
        let launched = device.launch(ready.loaded.module(), &ready.geometry, &ready.params[0]);
        launched.ok()?.stats
    }

    /// Loads a configuration, runs it once, and compares what it wrote.
    fn prepare(&self, device: &mut dyn Device, artifact: &Artifact) -> Result<Ready, String> {
        let mut ready = self.load(device, artifact)?;
        let failed = |error: DeviceError| first_line(&error.to_string());
        self.restore(device).map_err(failed)?;
        let module = ready.loaded.module();
        let report = device.launch(module, &ready.geometry, &ready.params[0]);
        let report = report.map_err(failed)?;
        device.synchronize().map_err(failed)?;
        self.compare(device)?;
        match report.stats {
            Some(stats) => {
                let figures = &ready.figures;
                ready.clocks = estimate::clocks(&stats, figures, ready.machine);
            }
            None => {
                ready.launches = ready.params.len().clamp(BATCHES.0, BATCHES.1);
                let first = ready.time(device)?;
                let wanted = (BATCH / first.max(1e-9)) as usize;
                let whole = wanted.next_multiple_of(ready.params.len().max(1));
                ready.launches = whole.clamp(BATCHES.0, BATCHES.1);
            }
        }
        Ok(ready)
    }

    /// Loads a configuration, with its parameters for each set.
    fn load(&self, device: &mut dyn Device, artifact: &Artifact) -> Result<Ready, String> {
        let name = &self.workload.kernel;
        let Some(abi) = artifact.kernel(name) else {
            return Err(format!("there is no code of `{name}`"));
        };
        let described = self.workload.args.iter().map(|value| match value {
            Value::Tensor(tensor) => Arg::Tensor(tensor.desc(ALLOCATION_ALIGN)),
            Value::Scalar(scalar) => Arg::Scalar(*scalar),
        });
        let described: Vec<Arg> = described.collect();
        let launch = abi.bind(&described).map_err(|error| error.to_string())?;
        if launch.is_empty() {
            return Err("the grid is empty".to_owned());
        }
        let failed = |error: DeviceError| first_line(&error.to_string());
        let loaded = Loaded::load(device, artifact).map_err(failed)?;
        let geometry = geometry(&launch);
        let mut ready = Ready {
            loaded,
            geometry,
            params: Vec::new(),
            figures: Figures::of(abi, &launch),
            machine: Machine::of(&abi.target).unwrap_or(&MACHINES[0]),
            launches: 0,
            clocks: 0.0,
        };
        for set in &self.sets {
            let address = |arg: usize| Some(set.get(arg)?.as_ref()?.address());
            let params = params(device, &launch, address).map_err(failed)?;
            ready.params.push(params);
        }
        Ok(ready)
    }

    /// Gives the first set what the kernel writes as it was before.
    fn restore(&self, device: &mut dyn Device) -> Result<(), DeviceError> {
        let args = self.workload.args.iter().zip(&self.workload.expected);
        for ((value, expected), buffer) in args.zip(&self.sets[0]) {
            if let (Value::Tensor(tensor), Some(_), Some(buffer)) = (value, expected, buffer) {
                put(device, buffer, tensor)?;
            }
        }
        Ok(())
    }

    /// Compares what the first set holds with what the defaults wrote.
    fn compare(&self, device: &mut dyn Device) -> Result<(), String> {
        for (position, expected) in self.workload.expected.iter().enumerate() {
            let (Some(expected), Some(Some(buffer))) = (expected, self.sets[0].get(position))
            else {
                continue;
            };
            let mut found = expected.clone();
            let downloaded = device.download(buffer, found.bytes_mut());
            downloaded.map_err(|error| first_line(&error.to_string()))?;
            if expected.bytes() == found.bytes() {
                continue;
            }
            let numbers = self.expected[position].get_or_init(|| expected.to_f64());
            if let Some(wrong) = difference(numbers, &found) {
                return Err(format!("argument {position}: {wrong}"));
            }
        }
        Ok(())
    }
}

impl Ready {
    /// Seconds of a launch, the mean over a batch.
    fn time(&self, device: &mut dyn Device) -> Result<f64, String> {
        let sets = self.params.iter().map(Vec::as_slice).cycle();
        let batch: Vec<&[ParamValue]> = sets.take(self.launches).collect();
        let time = device.time_launches(self.loaded.module(), &self.geometry, &batch);
        match time {
            Ok(Some(time)) => Ok(time.as_secs_f64() / self.launches as f64),
            Ok(None) => Err("the device has no clock".to_owned()),
            Err(error) => Err(first_line(&error.to_string())),
        }
    }
}

fn put(device: &mut dyn Device, buffer: &Buffer, tensor: &Tensor) -> Result<(), DeviceError> {
    match tensor.is_poison() {
        true => device.poison(buffer, tensor.bytes()),
        false => device.upload(buffer, tensor.bytes()),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Of an element or of the root of the mean square of all, whichever is larger, the part by which another order of
/// additions may change it: four steps of a result of few bits, and what sums over some thousand elements lose in f32.
/// Integers are exact.
pub fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F8E5M2 => 0.5,
        DType::F8E4M3 => 0.25,
        DType::BF16 => 1.0 / 64.0,
        DType::F16 => 1.0 / 256.0,
        DType::TF32 | DType::F32 => 1.0 / 8192.0,
        DType::F64 => 1e-12,
        DType::I8
        | DType::U8
        | DType::I16
        | DType::U16
        | DType::I32
        | DType::U32
        | DType::I64
        | DType::U64
        | DType::Bool => 0.0,
    }
}

/// What is wrong with `found`, by the rule of [`tolerance`].
fn difference(expected: &[f64], found: &Tensor) -> Option<String> {
    let tolerance = tolerance(found.dtype());
    let found = found.to_f64();
    let finite = expected.iter().filter(|value| value.is_finite());
    let squares: f64 = finite.map(|value| value * value).sum();
    let mean = (squares / expected.len().max(1) as f64).sqrt();
    let wrong = |(expected, found): &(&f64, &f64)| {
        let same = expected == found || expected.is_nan() && found.is_nan();
        let near = (*expected - *found).abs() <= tolerance * expected.abs().max(mean);
        !(same || near)
    };
    let mut pairs = expected.iter().zip(&found).filter(wrong);
    let (expected, found) = pairs.next()?;
    let others = pairs.count();
    Some(format!(
        "expected {expected}, as with the defaults, found {found}, and {others} more"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_orders_of_additions_are_right() {
        let tensor = |values: &[f64]| Tensor::from_f64(DType::F32, &[3], values).unwrap();
        let expected = tensor(&[1.0, -2.0, 1e-6]);
        let wrong = |values: &[f64]| difference(&expected.to_f64(), &tensor(values));
        assert_eq!(wrong(&[1.0, -2.0, 1e-6]), None);
        assert_eq!(wrong(&[1.0 + 1e-5, -2.0, 3e-6]), None);
        let found = wrong(&[1.1, -2.0, f64::NAN]).unwrap();
        assert!(found.starts_with("expected 1, as with the defaults, found 1.1"));
        assert!(found.ends_with("and 1 more"));
        let whole = |values: &[f64]| Tensor::from_f64(DType::I32, &[2], values).unwrap();
        assert!(difference(&[1.0, 2.0], &whole(&[1.0, 3.0])).is_some());
    }
}
