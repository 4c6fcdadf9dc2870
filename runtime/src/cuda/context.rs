//! What a device shares with its buffers, modules and graphs: the driver's handles, which live until
//! the last of them is dropped.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::{result, sys};

use super::check;
use super::code::{Function, find_function};
use crate::device::DeviceError;
use crate::resource::Free;

/// The primary context of a GPU, with a stream and two events.
#[derive(Debug)]
pub(super) struct Context {
    pub device: sys::CUdevice,
    context: sys::CUcontext,
    pub stream: sys::CUstream,
    /// Start and end of a timed span.
    pub events: [sys::CUevent; 2],
}

// SAFETY: the driver's functions may be called from any thread (CUDA driver API, "Stream synchronization
// behavior"; CUDA C++ Programming Guide, "Driver API"); what depends on the thread is the current context, which is set before
// each call. The handles do not change between `open` and `drop`.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Retains the primary context of `device` and makes it current.
    pub fn open(device: sys::CUdevice) -> Result<Context, DeviceError> {
        // SAFETY: `device` comes from the driver; the context is released when this is dropped.
        let context = check("cuDevicePrimaryCtxRetain", unsafe {
            result::primary_ctx::retain(device)
        })?;
        let mut opened = Context {
            device,
            context,
            stream: ptr::null_mut(),
            events: [ptr::null_mut(); 2],
        };
        opened.make_current()?;
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking);
        opened.stream = check("cuStreamCreate", stream)?;
        for event in &mut opened.events {
            let created = result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT);
            *event = check("cuEventCreate", created)?;
        }
        Ok(opened)
    }

    /// Makes it the current one of this thread.
    pub fn make_current(&self) -> Result<(), DeviceError> {
        // SAFETY: the context is retained until this is dropped.
        check("cuCtxSetCurrent", unsafe {
            result::ctx::set_current(self.context)
        })
    }

    /// Makes it current until the result is dropped, where another one is: for calls amid those of another library, which
    /// relies on its own.
    pub fn enter(&self) -> Result<Entered, DeviceError> {
        let mut outer = ptr::null_mut();
        // SAFETY: the pointer is to a local.
        check("cuCtxGetCurrent", unsafe {
            sys::cuCtxGetCurrent(&mut outer).result()
        })?;
        if outer == self.context {
            return Ok(Entered(None));
        }
        self.make_current()?;
        Ok(Entered(Some(outer)))
    }

    /// Makes it current and waits for all work of the stream.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.make_current()?;
        // SAFETY: the stream was created in `open` and lives until this is dropped.
        check("cuStreamSynchronize", unsafe {
            result::stream::synchronize(self.stream)
        })
    }
}

/// The context that was current before; see [`Context::enter`].
pub(super) struct Entered(Option<sys::CUcontext>);

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(outer) = self.0 {
            // SAFETY: it was the current context of this thread, or there was none.
            let _ = unsafe { sys::cuCtxSetCurrent(outer) };
        }
    }
}

impl Free for Context {
    fn free(&self, address: u64) {
        // Errors of work that is waited for here appear in the device's next call as well.
        let _ = self.synchronize();
        // SAFETY: the address comes from the allocation of a buffer that is dropped, and nothing is in
        // flight.
        let _ = unsafe { result::free_sync(address) };
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // Errors here have been reported by the call that caused them.
        let _ = self.synchronize();
        // SAFETY: each handle was created by `open`, and is used by nobody after this.
        unsafe {
            for event in self.events.iter().filter(|event| !event.is_null()) {
                let _ = result::event::destroy(*event);
            }
            if !self.stream.is_null() {
                let _ = result::stream::destroy(self.stream);
            }
            let _ = result::primary_ctx::release(self.device);
        }
    }
}

/// Loaded code.
#[derive(Debug)]
pub(super) struct Module {
    context: Arc<Context>,
    module: sys::CUmodule,
    functions: Mutex<BTreeMap<String, Function>>,
}

// SAFETY: as for `Context`: handles of the driver, which any thread may use.
unsafe impl Send for Module {}
// SAFETY: as above; the table of functions is behind a lock.
unsafe impl Sync for Module {}

impl Module {
    /// Code that was loaded into `context`, and that this unloads.
    pub fn new(context: Arc<Context>, module: sys::CUmodule) -> Module {
        Module {
            context,
            module,
            functions: Mutex::default(),
        }
    }

    /// A kernel; `with_params` says whether the driver can tell its parameters.
    pub fn function(&self, entry: &str, with_params: bool) -> Result<Function, DeviceError> {
        Ok(match self.functions().entry(entry.to_owned()) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(place) => place
                .insert(find_function(self.module, entry, with_params)?)
                .clone(),
        })
    }

    /// Keeps what a launch has changed about a kernel.
    pub fn remember(&self, entry: &str, function: &Function) {
        self.functions().insert(entry.to_owned(), function.clone());
    }

    fn functions(&self) -> MutexGuard<'_, BTreeMap<String, Function>> {
        self.functions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let _ = self.context.synchronize();
        // SAFETY: it was loaded, is used by nobody after this, and nothing of it is in flight.
        let _ = unsafe { result::module::unload(self.module) };
    }
}
