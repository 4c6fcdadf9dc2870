//! How a device is chosen.

use crate::device::{Device, DeviceError, DeviceSpec};
#[cfg(feature = "simulator")]
use crate::sim_device::SimDevice;

/// Opens a device: `sim`, `cuda` or `cuda:N`; for `auto` and without a spec a GPU if there is one, else the
/// simulator.
pub fn open(spec: Option<&str>) -> Result<Box<dyn Device>, DeviceError> {
    let Some(spec) = spec.filter(|spec| *spec != "auto") else {
        return match open_cuda(0) {
            Ok(device) => Ok(device),
            Err(error) => open_simulator().map_err(|_| error),
        };
    };
    match spec.parse()? {
        DeviceSpec::Sim => open_simulator(),
        DeviceSpec::Cuda(index) => open_cuda(index),
    }
}

#[cfg(feature = "simulator")]
fn open_simulator() -> Result<Box<dyn Device>, DeviceError> {
    Ok(Box::new(SimDevice::new()))
}

#[cfg(not(feature = "simulator"))]
fn open_simulator() -> Result<Box<dyn Device>, DeviceError> {
    Err(DeviceError::NoSimulator)
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
