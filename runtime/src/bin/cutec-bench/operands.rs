//! Operands on the device: as many sets as it takes to leave the L2 cache cold.

use cutec_runtime::abi::{Arg, ArgAbi, Launch, ScalarValue};
use cutec_runtime::cuda::CudaDevice;
use cutec_runtime::device::{ALLOCATION_ALIGN, Buffer, DeviceModule, Geometry, ParamValue};
use cutec_runtime::launch::{geometry, params};
use cutec_runtime::{Device, DeviceError, KernelAbi, Tensor};

use super::Failure;

/// A bound kernel with several equal sets of its arguments.
#[derive(Debug)]
pub struct Operands {
    module: DeviceModule,
    geometry: Geometry,
    /// Parameters of each set.
    params: Vec<Vec<ParamValue>>,
    /// Buffers of each set, one an argument.
    sets: Vec<Vec<Buffer>>,
}

/// The other sets together exceed the L2 cache by this factor when a set is used again.
const L2_FACTOR: u64 = 2;
/// Most sets.
const MAX_SETS: u64 = 64;

impl Operands {
    /// Binds the kernel and copies its arguments to the device. A scalar is a tensor of one element.
    pub fn new(
        device: &mut CudaDevice,
        module: &DeviceModule,
        kernel: &KernelAbi,
        tensors: &[Tensor],
    ) -> Result<Operands, Failure> {
        let args: Vec<Arg> = kernel
            .args
            .iter()
            .zip(tensors)
            .map(|(abi, tensor)| match abi {
                ArgAbi::Tensor(_) => Arg::Tensor(tensor.desc(ALLOCATION_ALIGN)),
                ArgAbi::Scalar(scalar) => {
                    let mut bytes = [0; 8];
                    bytes[..tensor.bytes().len()].copy_from_slice(tensor.bytes());
                    let dtype = scalar.dtype;
                    Arg::Scalar(ScalarValue { dtype, bytes })
                }
            })
            .collect();
        let launch = kernel.bind(&args)?;
        if launch.is_empty() {
            return Err("the grid is empty: there is nothing to measure".into());
        }
        let bytes: u64 = tensors
            .iter()
            .map(|tensor| tensor.bytes().len() as u64)
            .sum();
        let l2 = device.l2_bytes()?;
        let sets = (L2_FACTOR * l2 / bytes.max(1) + 2).min(MAX_SETS);
        let mut operands = Operands {
            module: module.clone(),
            geometry: geometry(&launch),
            params: Vec::new(),
            sets: Vec::new(),
        };
        for index in 0..sets as usize {
            if let Err(error) = operands.add_set(device, &launch, tensors) {
                if index > 1 && matches!(error, DeviceError::OutOfMemory { .. }) {
                    break;
                }
                return Err(error.into());
            }
        }
        Ok(operands)
    }

    fn add_set(
        &mut self,
        device: &mut CudaDevice,
        launch: &Launch,
        tensors: &[Tensor],
    ) -> Result<(), DeviceError> {
        let mut set = Vec::new();
        for (index, tensor) in tensors.iter().enumerate() {
            let buffer = device.alloc(tensor.bytes().len() as u64, &format!("operand {index}"))?;
            match self.sets.first() {
                Some(first) => device.copy(&buffer, &first[index])?,
                None => device.upload(&buffer, tensor.bytes())?,
            }
            set.push(buffer);
        }
        let address = |arg: usize| set.get(arg).map(Buffer::address);
        self.params.push(params(device, launch, address)?);
        self.sets.push(set);
        Ok(())
    }

    /// Launches the kernel on the set that is `index`'s turn.
    pub fn launch(&self, device: &mut CudaDevice, index: usize) -> Result<(), DeviceError> {
        let params = &self.params[index % self.params.len()];
        device
            .launch(&self.module, &self.geometry, params)
            .map(|_| ())
    }

    /// The buffers of the set that is `index`'s turn.
    pub fn set(&self, index: usize) -> &[Buffer] {
        &self.sets[index % self.sets.len()]
    }

    /// Number of sets.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// What a buffer of a set holds, as a tensor like `like`.
    pub fn download(
        &self,
        device: &mut CudaDevice,
        set: usize,
        arg: usize,
        like: &Tensor,
    ) -> Result<Tensor, DeviceError> {
        let mut tensor = like.clone();
        device.download(&self.set(set)[arg], tensor.bytes_mut())?;
        Ok(tensor)
    }
}
