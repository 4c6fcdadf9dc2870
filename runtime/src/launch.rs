//! The checked way to run a kernel: bind, upload, launch, download; or, on tensors that are in a device's memory
//! already, bind and launch.

use std::time::Duration;

use crate::abi::{Arg, BindError, KernelAbi, Launch, LaunchParam, ScalarValue, TensorDesc};
use crate::artifact::Artifact;
use crate::device::{
    ALLOCATION_ALIGN, Buffer, Device, DeviceError, Geometry, LaunchReport, ModuleId, ParamValue,
};
use crate::tensor::{DType, Tensor};

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A tensor; if the kernel writes it, it holds the result afterwards.
    Tensor(Tensor),
    /// A number.
    Scalar(ScalarValue),
}

/// An argument that is in a device's memory already.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceValue {
    /// A tensor.
    Tensor(DeviceTensor),
    /// A number.
    Scalar(ScalarValue),
}

/// A tensor in a device's memory: what a program has that keeps its data there itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceTensor {
    /// Address of the element at coordinate 0, on the device: of [`Device::alloc`], or of CUDA's own allocation.
    pub address: u64,
    /// Element type.
    pub dtype: DType,
    /// Extents, one a mode.
    pub shape: Vec<i64>,
    /// Strides in elements, one a mode.
    pub strides: Vec<i64>,
    /// Whether the kernel may write to it.
    pub mutable: bool,
}

/// Why a kernel did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The arguments do not fit the kernel.
    #[error(transparent)]
    Bind(Box<BindError>),
    /// The device failed, or the kernel on it.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl From<BindError> for RunError {
    fn from(error: BindError) -> RunError {
        RunError::Bind(Box::new(error))
    }
}

/// What is known about a run that went well.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunReport {
    /// Whether there was anything to launch; an empty grid is not launched.
    pub launched: bool,
    /// What the device says.
    pub report: LaunchReport,
    /// Time of each timed launch, where times were asked for and the device has them.
    pub times: Vec<Duration>,
}

/// An artifact that a device has loaded.
#[derive(Debug)]
pub struct Loaded<'a> {
    artifact: &'a Artifact,
    module: ModuleId,
}

/// Loads an artifact, runs one kernel of it, and forgets it; see [`Loaded::run`].
pub fn run_kernel(
    device: &mut dyn Device,
    artifact: &Artifact,
    kernel: &str,
    args: &mut [Value],
) -> Result<RunReport, RunError> {
    // Arguments are cheaper to check than code is to load.
    let launch = bind(artifact, kernel, args)?;
    let loaded = Loaded::load(device, artifact)?;
    let result = loaded.run_bound(device, kernel, &launch, args, 0);
    let unloaded = loaded.unload(device);
    // The first error explains those that follow from it.
    let report = result?;
    unloaded?;
    Ok(report)
}

impl<'a> Loaded<'a> {
    /// Loads an artifact, if the device runs what it was compiled for.
    pub fn load(
        device: &mut dyn Device,
        artifact: &'a Artifact,
    ) -> Result<Loaded<'a>, DeviceError> {
        for kernel in &artifact.abi.kernels {
            device.check_target(kernel, &artifact.code)?;
        }
        let module = device.load(&artifact.code)?;
        Ok(Loaded { artifact, module })
    }

    /// Forgets it.
    pub fn unload(self, device: &mut dyn Device) -> Result<(), DeviceError> {
        device.unload(self.module)
    }

    /// The module on the device, for launches without checks.
    pub fn module(&self) -> ModuleId {
        self.module
    }

    /// Checks the arguments, copies them to the device, runs the kernel, and copies back what it
    /// writes. After an error the arguments are as they were.
    pub fn run(
        &self,
        device: &mut dyn Device,
        kernel: &str,
        args: &mut [Value],
    ) -> Result<RunReport, RunError> {
        self.run_timed(device, kernel, args, 0)
    }

    /// [`Loaded::run`], and then `repeats` launches more, whose times are reported. Each of them begins with the
    /// arguments as they were given: a kernel that reads what it writes computes the same in each, and the result is
    /// that of one launch. What was poison is not written anew, as no kernel may read it.
    pub fn run_timed(
        &self,
        device: &mut dyn Device,
        kernel: &str,
        args: &mut [Value],
        repeats: usize,
    ) -> Result<RunReport, RunError> {
        let launch = bind(self.artifact, kernel, args)?;
        self.run_bound(device, kernel, &launch, args, repeats)
    }

    /// Checks the arguments and launches the kernel on memory that the caller keeps. Work is done in the order of the
    /// calls; [`Device::synchronize`] waits for it.
    ///
    /// Element types, shapes, strides, alignment and promises are checked. That the memory is there is up to the caller: the
    /// simulator reports an access outside of it, a GPU may not.
    pub fn launch(
        &self,
        device: &mut dyn Device,
        kernel: &str,
        args: &[DeviceValue],
    ) -> Result<LaunchReport, RunError> {
        let described: Vec<Arg> = args.iter().map(DeviceValue::as_arg).collect();
        let launch = self.artifact.abi.bind(kernel, &described)?;
        if launch.is_empty() {
            return Ok(LaunchReport::default());
        }
        let params = params(device, &launch, |arg| match args.get(arg)? {
            DeviceValue::Tensor(tensor) => Some(tensor.address),
            DeviceValue::Scalar(_) => None,
        })?;
        Ok(device.launch(self.module, &geometry(&launch), &params)?)
    }

    fn run_bound(
        &self,
        device: &mut dyn Device,
        kernel: &str,
        launch: &Launch,
        args: &mut [Value],
        repeats: usize,
    ) -> Result<RunReport, RunError> {
        if launch.is_empty() {
            return Ok(RunReport::default());
        }
        let Some(kernel) = self.artifact.kernel(kernel) else {
            return Ok(RunReport::default());
        };
        let mut buffers = Vec::new();
        let result = self.run_on_buffers(device, kernel, launch, args, repeats, &mut buffers);
        let mut freed = Ok(());
        for buffer in buffers.into_iter().flatten() {
            freed = freed.and(device.free(buffer));
        }
        // The first error explains those that follow from it.
        let report = result?;
        freed?;
        Ok(report)
    }

    fn run_on_buffers(
        &self,
        device: &mut dyn Device,
        kernel: &KernelAbi,
        launch: &Launch,
        args: &mut [Value],
        repeats: usize,
        buffers: &mut Vec<Option<Buffer>>,
    ) -> Result<RunReport, RunError> {
        for (abi, arg) in kernel.args.iter().zip(args.iter()) {
            let buffer = match arg {
                Value::Tensor(tensor) => Some(upload(device, abi.name(), tensor)?),
                Value::Scalar(_) => None,
            };
            buffers.push(buffer);
        }
        let geometry = geometry(launch);
        let params = params(device, launch, |arg| {
            Some(buffers.get(arg)?.as_ref()?.address)
        })?;
        let report = device.launch(self.module, &geometry, &params)?;
        device.synchronize()?;
        let mut outputs = Vec::new();
        for ((abi, arg), buffer) in kernel.args.iter().zip(args.iter()).zip(buffers.iter()) {
            let written = abi.as_tensor().is_some_and(|tensor| tensor.mutable);
            outputs.push(match (arg, buffer) {
                (Value::Tensor(tensor), Some(buffer)) if written => {
                    let mut bytes = vec![0; tensor.bytes().len()];
                    device.download(buffer, &mut bytes)?;
                    Some(bytes)
                }
                _ => None,
            });
        }
        let mut times = Vec::new();
        for _ in 0..repeats {
            for ((arg, buffer), output) in args.iter().zip(buffers.iter()).zip(&outputs) {
                if let (Value::Tensor(tensor), Some(buffer), Some(_)) = (arg, buffer, output)
                    && !tensor.is_poison()
                {
                    device.upload(buffer, tensor.bytes())?;
                }
            }
            times.extend(device.launch_timed(self.module, &geometry, &params)?);
        }
        for (arg, output) in args.iter_mut().zip(outputs) {
            if let (Value::Tensor(tensor), Some(bytes)) = (arg, output) {
                tensor.bytes_mut().copy_from_slice(&bytes);
            }
        }
        Ok(RunReport {
            launched: true,
            report,
            times,
        })
    }
}

impl Value {
    /// What binding checks: tensors are uploaded to memory of their own, aligned to
    /// [`ALLOCATION_ALIGN`].
    pub fn as_arg(&self) -> Arg {
        match self {
            Value::Tensor(tensor) => Arg::Tensor(tensor.desc(ALLOCATION_ALIGN)),
            Value::Scalar(scalar) => Arg::Scalar(*scalar),
        }
    }

    /// The tensor, if it is one.
    pub fn as_tensor(&self) -> Option<&Tensor> {
        match self {
            Value::Tensor(tensor) => Some(tensor),
            Value::Scalar(_) => None,
        }
    }
}

impl DeviceValue {
    /// What binding checks; the alignment is that of the address.
    pub fn as_arg(&self) -> Arg {
        match self {
            DeviceValue::Tensor(tensor) => Arg::Tensor(TensorDesc {
                dtype: tensor.dtype,
                shape: tensor.shape.clone(),
                strides: tensor.strides.clone(),
                align: match tensor.address {
                    0 => ALLOCATION_ALIGN,
                    address => 1 << address.trailing_zeros(),
                },
                mutable: tensor.mutable,
            }),
            DeviceValue::Scalar(scalar) => Arg::Scalar(*scalar),
        }
    }
}

impl From<DeviceTensor> for DeviceValue {
    fn from(tensor: DeviceTensor) -> DeviceValue {
        DeviceValue::Tensor(tensor)
    }
}

impl From<ScalarValue> for DeviceValue {
    fn from(scalar: ScalarValue) -> DeviceValue {
        DeviceValue::Scalar(scalar)
    }
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Value {
        Value::Tensor(tensor)
    }
}

impl From<ScalarValue> for Value {
    fn from(scalar: ScalarValue) -> Value {
        Value::Scalar(scalar)
    }
}

/// The device's view of a bound launch.
pub fn geometry(launch: &Launch) -> Geometry {
    Geometry {
        entry: launch.entry.clone(),
        grid: launch.grid,
        block: launch.block,
        smem_bytes: launch.smem_bytes,
    }
}

/// The parameters of a bound launch; `address` gives the base address of an argument.
pub fn params(
    device: &mut dyn Device,
    launch: &Launch,
    address: impl Fn(usize) -> Option<u64>,
) -> Result<Vec<ParamValue>, DeviceError> {
    let address = |arg| address(arg).unwrap_or(0);
    let value = |param: &LaunchParam| match *param {
        LaunchParam::Pointer(arg) => Ok(ParamValue::pointer(address(arg))),
        LaunchParam::I32(value) => Ok(ParamValue::i32(value)),
        LaunchParam::I64(value) => Ok(ParamValue::i64(value)),
        LaunchParam::Scalar(scalar) => Ok(ParamValue::scalar(scalar)),
        LaunchParam::TensorMap(index) => {
            let map = &launch.tensor_maps[index];
            device.encode_tensor_map(map, address(map.arg))
        }
    };
    launch.params.iter().map(value).collect()
}

fn bind(artifact: &Artifact, kernel: &str, args: &[Value]) -> Result<Launch, RunError> {
    let args: Vec<Arg> = args.iter().map(Value::as_arg).collect();
    Ok(artifact.abi.bind(kernel, &args)?)
}

fn upload(device: &mut dyn Device, name: &str, tensor: &Tensor) -> Result<Buffer, DeviceError> {
    let buffer = device.alloc(tensor.bytes().len() as u64, name)?;
    let copied = if tensor.is_poison() {
        device.poison(&buffer, tensor.bytes())
    } else {
        device.upload(&buffer, tensor.bytes())
    };
    match copied {
        Ok(()) => Ok(buffer),
        Err(error) => {
            // The error that is reported is the one that came first.
            let _ = device.free(buffer);
            Err(error)
        }
    }
}
