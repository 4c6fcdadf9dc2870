//! How a device is chosen.

use crate::device::{Device, DeviceError, DeviceSpec};
use crate::sim_device::SimDevice;

/// Opens a device: `sim`, `cuda` or `cuda:N`; for `auto` and without a spec a GPU if there is one, else the
/// simulator.
pub fn open(spec: Option<&str>) -> Result<Box<dyn Device>, DeviceError> {
    let Some(spec) = spec.filter(|spec| *spec != "auto") else {
        return match open_cuda(0) {
            Ok(device) => Ok(device),
            Err(_) => Ok(Box::new(SimDevice::new())),
        };
    };
    match spec.parse()? {
        DeviceSpec::Sim => Ok(Box::new(SimDevice::new())),
        DeviceSpec::Cuda(index) => open_cuda(index),
    }
}

#[cfg(feature = "cuda")]
fn open_cuda(index: usize) -> Result<Box<dyn Device>, DeviceError> {
    Ok(Box::new(crate::cuda::CudaDevice::open(index)?))
}

#[cfg(not(feature = "cuda"))]
fn open_cuda(_index: usize) -> Result<Box<dyn Device>, DeviceError> {
    Err(DeviceError::NoCuda {
        reason: "built without the feature `cuda`".to_string(),
    })
}
