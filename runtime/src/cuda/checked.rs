//! Launches that were checked before. A host that calls a kernel again and again has it bound and prepared once for each signature:
//! element types, shapes, strides, and numbers that decide how it is launched. What then differs from launch to launch are addresses
//! and the other numbers, which are filled into parameters that are otherwise ready.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{CudaDevice, PreparedLaunch, Stream};
use crate::abi::tensor_map::TensorMap;
use crate::abi::{KernelAbi, Launch, LaunchParam, ParamAbi};
use crate::device::{Device, DeviceError, DeviceModule};
use crate::launch;

/// Signatures that are kept.
const MOST_SIGNATURES: usize = 4096;

/// The launches of a kernel on a GPU, by their signatures, which are numbers of the host's choice.
#[derive(Debug, Default)]
pub struct CheckedLaunches {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Most launches are like the one before.
    last: Option<(Box<[i64]>, Arc<CheckedLaunch>)>,
    all: HashMap<Box<[i64]>, Arc<CheckedLaunch>>,
}

impl CheckedLaunches {
    /// The launch of a signature.
    #[inline]
    pub fn get(&self, signature: &[i64]) -> Option<Arc<CheckedLaunch>> {
        let mut known = lock(&self.known);
        match &known.last {
            Some((last, launch)) if **last == *signature => Some(Arc::clone(launch)),
            _ => {
                let launch = Arc::clone(known.all.get(signature)?);
                known.last = Some((signature.into(), Arc::clone(&launch)));
                Some(launch)
            }
        }
    }

    /// Keeps the launch of a signature.
    pub fn insert(&self, signature: &[i64], launch: CheckedLaunch) -> Arc<CheckedLaunch> {
        let launch = Arc::new(launch);
        let mut known = lock(&self.known);
        if known.all.len() == MOST_SIGNATURES {
            known.all.clear();
        }
        let signature: Box<[i64]> = signature.into();
        known.all.insert(signature.clone(), Arc::clone(&launch));
        known.last = Some((signature, Arc::clone(&launch)));
        launch
    }
}

/// A launch of one signature.
#[derive(Debug)]
pub struct CheckedLaunch {
    /// `None` for an empty grid.
    prepared: Option<PreparedLaunch>,
    /// The parameters, with the addresses and numbers of the first launch.
    template: Vec<u8>,
    /// Where the address of an argument goes, by its number.
    pointers: Vec<(usize, usize)>,
    /// Where a number goes, by the number of its argument, and how many bytes of it.
    scalars: Vec<(usize, usize, usize)>,
    /// Where a tensor map goes.
    maps: Vec<(usize, TensorMap)>,
    /// The maps as they were last encoded, with their addresses.
    encoded: Mutex<Vec<(u64, [u8; 128])>>,
}

impl CheckedLaunch {
    /// Prepares what binding gave; `address` is that of an argument which is a tensor.
    ///
    /// # Errors
    /// As [`CudaDevice::prepare`], and where no tensor map can be made.
    pub fn new(
        device: &Mutex<CudaDevice>,
        module: &DeviceModule,
        abi: &KernelAbi,
        bound: &Launch,
        address: impl Fn(usize) -> u64,
    ) -> Result<CheckedLaunch, DeviceError> {
        let mut checked = CheckedLaunch {
            prepared: None,
            template: Vec::new(),
            pointers: Vec::new(),
            scalars: Vec::new(),
            maps: Vec::new(),
            encoded: Mutex::default(),
        };
        if bound.is_empty() {
            return Ok(checked);
        }
        let device = &mut *lock(device);
        let params = launch::params(device, bound, |arg| Some(address(arg)))?;
        let prepared = device.prepare(module, &launch::geometry(bound), &params)?;
        checked.template = vec![0; prepared.bytes()];
        let places = prepared.offsets().iter().zip(&params);
        let abis = abi.params.iter().zip(&bound.params);
        for ((&offset, value), (abi, param)) in places.zip(abis) {
            let bytes = value.as_bytes();
            checked.template[offset..][..bytes.len()].copy_from_slice(bytes);
            match (param, abi) {
                (LaunchParam::Pointer(arg), _) => checked.pointers.push((offset, *arg)),
                (LaunchParam::TensorMap(index), _) => {
                    checked
                        .maps
                        .push((offset, bound.tensor_maps[*index].clone()));
                }
                (LaunchParam::Scalar(_), ParamAbi::Scalar { arg }) => {
                    checked.scalars.push((offset, *arg, bytes.len()));
                }
                // They follow from the signature.
                (LaunchParam::I32(_) | LaunchParam::I64(_) | LaunchParam::Scalar(_), _) => {}
            }
        }
        // No tensor is at this address.
        checked.encoded = Mutex::new(vec![(u64::MAX, [0; 128]); checked.maps.len()]);
        checked.prepared = Some(prepared);
        Ok(checked)
    }

    /// Puts the kernel into a stream, with the addresses and numbers of its arguments; `room` is memory that is used again. The
    /// current context of the thread is what it was, afterwards.
    ///
    /// # Errors
    /// Where the driver refuses it, or failed before.
    #[inline]
    pub fn launch(
        &self,
        device: &Mutex<CudaDevice>,
        stream: Stream,
        address: impl Fn(usize) -> u64,
        scalar: impl Fn(usize) -> [u8; 8],
        room: &mut Vec<u8>,
    ) -> Result<(), DeviceError> {
        let Some(prepared) = &self.prepared else {
            return Ok(());
        };
        room.clear();
        room.extend_from_slice(&self.template);
        for &(offset, arg) in &self.pointers {
            room[offset..][..8].copy_from_slice(&address(arg).to_le_bytes());
        }
        for &(offset, arg, bytes) in &self.scalars {
            room[offset..][..bytes].copy_from_slice(&scalar(arg)[..bytes]);
        }
        if !self.maps.is_empty() {
            self.encode(device, address, room)?;
        }
        prepared.launch(stream, room)
    }

    /// Waits for what is in a stream.
    ///
    /// # Errors
    /// Where a kernel in it failed.
    pub fn synchronize(&self, stream: Stream) -> Result<(), DeviceError> {
        match &self.prepared {
            Some(prepared) => prepared.synchronize(stream),
            None => Ok(()),
        }
    }

    /// Fills in the tensor maps; one of memory that the last launch was on is taken again.
    fn encode(
        &self,
        device: &Mutex<CudaDevice>,
        address: impl Fn(usize) -> u64,
        params: &mut [u8],
    ) -> Result<(), DeviceError> {
        let mut encoded = lock(&self.encoded);
        for ((offset, map), (known, bytes)) in self.maps.iter().zip(encoded.iter_mut()) {
            let address = address(map.arg).wrapping_add_signed(map.offset_bytes);
            if *known != address {
                let value = lock(device).encode_tensor_map(map, address)?;
                bytes.copy_from_slice(value.as_bytes());
                *known = address;
            }
            params[*offset..][..128].copy_from_slice(bytes);
        }
        Ok(())
    }
}

/// A panic of another thread leaves none of these values half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
