//! The checked way to run a kernel: bind, upload, launch, download; or, on tensors that are in a device's memory
//! already, bind and launch.

use std::sync::Arc;
use std::time::Duration;

use crate::abi::{Abi, Arg, BindError, Launch, LaunchParam, ScalarValue, TensorDesc};
use crate::artifact::Artifact;
use crate::device::{
    ALLOCATION_ALIGN, Buffer, Device, DeviceError, DeviceModule, Geometry, LaunchReport, ParamValue,
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
    /// Where the element at coordinate 0 lies.
    pub memory: DevicePointer,
    /// Element type.
    pub dtype: DType,
    /// Extents, one a mode.
    pub shape: Vec<i64>,
    /// Strides in elements, one a mode.
    pub strides: Vec<i64>,
    /// Whether the kernel may write to it.
    pub mutable: bool,
}

/// A place in a device's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DevicePointer {
    /// In a buffer of [`Device::alloc`], which is kept as long as this is. A launch checks that it belongs
    /// to the device and holds the tensor.
    Buffer {
        /// The buffer.
        buffer: Buffer,
        /// Bytes from its start.
        offset: u64,
    },
    /// An address in memory that the program allocated by other means, such as CUDA's own allocation. That
    /// it is there, on this device, is up to the program.
    Address(u64),
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

/// An artifact that a device has loaded; it is unloaded when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Loaded {
    abi: Arc<Abi>,
    module: DeviceModule,
}

/// Loads an artifact, runs one kernel of it, and forgets it; see [`Loaded::run`].
pub fn run_kernel(
    device: &mut dyn Device,
    artifact: &Artifact,
    kernel: &str,
    args: &mut [Value],
) -> Result<RunReport, RunError> {
    // Arguments are cheaper to check than code is to load.
    let launch = bind(&artifact.abi, kernel, args)?;
    let loaded = Loaded::load(device, artifact)?;
    loaded.run_bound(device, kernel, &launch, args, 0)
}

impl Loaded {
    /// Loads an artifact, if the device runs what it was compiled for.
    pub fn load(device: &mut dyn Device, artifact: &Artifact) -> Result<Loaded, DeviceError> {
        for kernel in &artifact.abi.kernels {
            device.check_target(kernel, &artifact.code)?;
        }
        let module = device.load(&artifact.code)?;
        let abi = Arc::new(artifact.abi.clone());
        Ok(Loaded { abi, module })
    }

    /// The module on the device, for launches without checks.
    pub fn module(&self) -> &DeviceModule {
        &self.module
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
        device.owner().check_module(&self.module)?;
        let launch = bind(&self.abi, kernel, args)?;
        self.run_bound(device, kernel, &launch, args, repeats)
    }

    /// Checks the arguments and launches the kernel on memory that the caller keeps. Work is done in the order of the
    /// calls; [`Device::synchronize`] waits for it.
    ///
    /// Element types, shapes, strides, alignment and promises are checked, and that buffers belong to the device and
    /// hold their tensors. That memory is behind a bare address is up to the caller: the simulator reports an access
    /// outside of it, a GPU may not.
    pub fn launch(
        &self,
        device: &mut dyn Device,
        kernel: &str,
        args: &[DeviceValue],
    ) -> Result<LaunchReport, RunError> {
        device.owner().check_module(&self.module)?;
        let described: Vec<Arg> = args.iter().map(DeviceValue::as_arg).collect();
        let launch = self.abi.bind(kernel, &described)?;
        for (arg, described) in args.iter().zip(&described) {
            if let (DeviceValue::Tensor(tensor), Arg::Tensor(described)) = (arg, described) {
                tensor.memory.check(device, described)?;
            }
        }
        if launch.is_empty() {
            return Ok(LaunchReport::default());
        }
        let params = params(device, &launch, |arg| match args.get(arg)? {
            DeviceValue::Tensor(tensor) => Some(tensor.memory.address()),
            DeviceValue::Scalar(_) => None,
        })?;
        Ok(device.launch(&self.module, &geometry(&launch), &params)?)
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
        let Some(kernel) = self.abi.kernel(kernel) else {
            return Ok(RunReport::default());
        };
        let mut buffers = Vec::new();
        for (abi, arg) in kernel.args.iter().zip(args.iter()) {
            let buffer = match arg {
                Value::Tensor(tensor) => Some(upload(device, abi.name(), tensor)?),
                Value::Scalar(_) => None,
            };
            buffers.push(buffer);
        }
        let geometry = geometry(launch);
        let params = params(device, launch, |arg| {
            Some(buffers.get(arg)?.as_ref()?.address())
        })?;
        let report = device.launch(&self.module, &geometry, &params)?;
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
            times.extend(device.launch_timed(&self.module, &geometry, &params)?);
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
                align: match tensor.memory.address() {
                    0 => ALLOCATION_ALIGN,
                    address => 1 << address.trailing_zeros(),
                },
                mutable: tensor.mutable,
            }),
            DeviceValue::Scalar(scalar) => Arg::Scalar(*scalar),
        }
    }
}

impl DevicePointer {
    /// The address on the device.
    pub fn address(&self) -> u64 {
        match self {
            DevicePointer::Buffer { buffer, offset } => buffer.address().wrapping_add(*offset),
            DevicePointer::Address(address) => *address,
        }
    }

    /// Checks that a buffer is the device's, and that the tensor lies in it.
    fn check(&self, device: &dyn Device, tensor: &TensorDesc) -> Result<(), DeviceError> {
        let DevicePointer::Buffer { buffer, offset } = self else {
            return Ok(());
        };
        device.owner().check_buffer(buffer)?;
        // Binding has refused what has no span.
        let span = tensor.span_bytes().unwrap_or(u64::MAX);
        if offset
            .checked_add(span)
            .is_some_and(|end| end <= buffer.bytes())
        {
            return Ok(());
        }
        Err(DeviceError::OutsideBuffer {
            label: buffer.label().into(),
            bytes: buffer.bytes(),
            offset: *offset,
            span,
        })
    }
}

impl From<&Buffer> for DevicePointer {
    fn from(buffer: &Buffer) -> DevicePointer {
        DevicePointer::Buffer {
            buffer: buffer.clone(),
            offset: 0,
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
        persistent: launch.persistent,
        cluster: launch.cluster,
        pdl: launch.pdl,
        cooperative: launch.cooperative,
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
            let first = address(map.arg).wrapping_add_signed(map.offset_bytes);
            device.encode_tensor_map(map, first)
        }
    };
    launch.params.iter().map(value).collect()
}

fn bind(abi: &Abi, kernel: &str, args: &[Value]) -> Result<Launch, RunError> {
    let args: Vec<Arg> = args.iter().map(Value::as_arg).collect();
    Ok(abi.bind(kernel, &args)?)
}

fn upload(device: &mut dyn Device, name: &str, tensor: &Tensor) -> Result<Buffer, DeviceError> {
    let buffer = device.alloc(tensor.bytes().len() as u64, name)?;
    if tensor.is_poison() {
        device.poison(&buffer, tensor.bytes())?;
    } else {
        device.upload(&buffer, tensor.bytes())?;
    }
    Ok(buffer)
}
