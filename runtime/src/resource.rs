//! What belongs to one device: its memory and the code that it has loaded.
//!
//! A [`Buffer`] or a [`DeviceModule`] knows its device and keeps alive what it needs of it; dropping the
//! last clone gives it back, even after the device itself was closed. A device refuses what belongs to
//! another one ([`DeviceError::OtherDevice`]): two devices may use equal addresses and numbers for
//! different things.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::device_error::DeviceError;

/// An opened device, as its memory and code remember it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    number: u64,
    name: Arc<str>,
}

/// Memory of a device. Clones are the same memory; it is freed with the last of them.
#[derive(Clone, Debug)]
pub struct Buffer(Arc<Allocation>);

/// Code that a device has loaded. Clones are the same code; it is unloaded with the last of them.
#[derive(Clone, Debug)]
pub struct DeviceModule {
    owner: Owner,
    code: Arc<dyn Any + Send + Sync>,
}

/// Frees what a device allocated.
pub(crate) trait Free: fmt::Debug + Send + Sync {
    /// Frees the allocation that begins at `address`, after all work of the device that began before.
    fn free(&self, address: u64);
}

#[derive(Debug)]
struct Allocation {
    owner: Owner,
    label: String,
    address: u64,
    bytes: u64,
    memory: Arc<dyn Free>,
}

impl Owner {
    /// A device that was just opened; every call gives another one.
    pub(crate) fn new(name: &str) -> Owner {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Owner {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            name: name.into(),
        }
    }

    /// Name for people, such as `NVIDIA H200 (cuda:0)`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Refuses a buffer of another device.
    pub(crate) fn check_buffer(&self, buffer: &Buffer) -> Result<(), DeviceError> {
        self.check(&buffer.0.owner, || format!("buffer `{}`", buffer.0.label))
    }

    /// Refuses code of another device.
    pub(crate) fn check_module(&self, module: &DeviceModule) -> Result<(), DeviceError> {
        self.check(&module.owner, || "loaded code".into())
    }

    pub(crate) fn check(
        &self,
        owner: &Owner,
        what: impl FnOnce() -> String,
    ) -> Result<(), DeviceError> {
        if self == owner {
            return Ok(());
        }
        Err(DeviceError::OtherDevice {
            what: what(),
            owner: owner.to_string(),
            device: self.to_string(),
        })
    }
}

/// The name with the number under which the process opened it: two simulators have one name.
impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device {} ({})", self.number, self.name)
    }
}

impl Buffer {
    pub(crate) fn new(
        owner: &Owner,
        memory: Arc<dyn Free>,
        label: &str,
        address: u64,
        bytes: u64,
    ) -> Buffer {
        Buffer(Arc::new(Allocation {
            owner: owner.clone(),
            label: label.into(),
            address,
            bytes,
            memory,
        }))
    }

    /// Base address.
    pub fn address(&self) -> u64 {
        self.0.address
    }

    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// What it was allocated for, as errors name it.
    pub fn label(&self) -> &str {
        &self.0.label
    }

    /// The device whose memory it is.
    pub fn owner(&self) -> &Owner {
        &self.0.owner
    }
}

/// Whether both are the same memory.
impl PartialEq for Buffer {
    fn eq(&self, other: &Buffer) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Buffer {}

impl Drop for Allocation {
    fn drop(&mut self) {
        self.memory.free(self.address);
    }
}

impl DeviceModule {
    pub(crate) fn new(owner: &Owner, code: impl Any + Send + Sync) -> DeviceModule {
        DeviceModule {
            owner: owner.clone(),
            code: Arc::new(code),
        }
    }

    /// The device that has loaded it.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The code as its device knows it; for a device that has checked that it is its own.
    pub(crate) fn code<T: Any>(&self) -> Option<&T> {
        self.code.downcast_ref()
    }
}
