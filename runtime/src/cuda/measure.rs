//! Work for benchmarks: fills, copies, times, and graphs, which launch without the host.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{result, sys};

use super::context::Context;
use super::{CudaDevice, check};
use crate::device::{Buffer, Device, DeviceError, Owner};

/// `cuEventElapsedTime_v2` came with this version of the driver.
const TIMING_DRIVER: i32 = 12080;

/// A recorded sequence of launches, which replays without work on the host between them.
///
/// It refers to the memory and the code that it was recorded with: keep them as long as it is replayed.
#[derive(Debug)]
pub struct Graph {
    owner: Owner,
    context: Arc<Context>,
    graph: sys::CUgraphExec,
}

impl CudaDevice {
    /// Fills a buffer with a byte.
    pub fn fill(&mut self, buffer: &Buffer, byte: u8) -> Result<(), DeviceError> {
        self.check_buffer("fill", buffer, 0)?;
        self.make_current()?;
        let bytes = buffer.bytes() as usize;
        // SAFETY: the buffer is an allocation of this size.
        check("cuMemsetD8Async", unsafe {
            result::memset_d8_async(buffer.address(), byte, bytes, self.context.stream)
        })
    }

    /// Copies one buffer to another.
    pub fn copy(&mut self, to: &Buffer, from: &Buffer) -> Result<(), DeviceError> {
        self.check_buffer("copy", from, 0)?;
        self.check_buffer("copy", to, from.bytes())?;
        self.make_current()?;
        let bytes = from.bytes() as usize;
        // SAFETY: both are allocations of at least this size.
        check("cuMemcpyDtoDAsync", unsafe {
            result::memcpy_dtod_async(to.address(), from.address(), bytes, self.context.stream)
        })
    }

    /// Time that the device takes for what `work` puts into the stream.
    pub fn time(
        &mut self,
        work: impl FnOnce(&mut CudaDevice) -> Result<(), DeviceError>,
    ) -> Result<Duration, DeviceError> {
        if self.driver_version < TIMING_DRIVER {
            return Err(DeviceError::Cuda {
                call: "cuEventElapsedTime_v2",
                name: "CUDA_ERROR_NOT_SUPPORTED".to_string(),
                text: format!(
                    "the driver is {}, timing needs {TIMING_DRIVER}",
                    self.driver_version
                ),
            });
        }
        self.make_current()?;
        let [start, end] = self.context.events;
        // SAFETY: events and stream live as long as the context.
        check("cuEventRecord", unsafe {
            result::event::record(start, self.context.stream)
        })?;
        work(self)?;
        // SAFETY: as above.
        check("cuEventRecord", unsafe {
            result::event::record(end, self.context.stream)
        })?;
        // SAFETY: as above.
        check("cuEventSynchronize", unsafe {
            result::event::synchronize(end)
        })?;
        // SAFETY: as above; both events are recorded and done.
        let milliseconds = unsafe { result::event::elapsed(start, end) };
        let milliseconds = check("cuEventElapsedTime", milliseconds)?;
        Ok(Duration::from_secs_f64(
            f64::from(milliseconds.max(0.0)) * 1e-3,
        ))
    }

    /// Records what `work` puts into the stream, and runs none of it. Kernels in it must have been
    /// launched before, and `work` must not wait for the device.
    pub fn record(
        &mut self,
        work: impl FnOnce(&mut CudaDevice) -> Result<(), DeviceError>,
    ) -> Result<Graph, DeviceError> {
        self.make_current()?;
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream was created in `open` and lives as long as the context.
        check("cuStreamBeginCapture", unsafe {
            result::stream::begin_capture(self.context.stream, mode)
        })?;
        let worked = work(self);
        // SAFETY: as above; the capture began here and ends here, whatever `work` gave.
        let graph = check("cuStreamEndCapture", unsafe {
            result::stream::end_capture(self.context.stream)
        });
        worked?;
        let graph = graph?;
        let flags = sys::CUgraphInstantiate_flags(0);
        // SAFETY: the graph was just made; the executable one does not refer to it afterwards.
        let instantiated = unsafe {
            let instantiated = result::graph::instantiate(graph, flags);
            let destroyed = result::graph::destroy(graph);
            instantiated.and_then(|graph| destroyed.map(|()| graph))
        };
        Ok(Graph {
            owner: self.owner().clone(),
            context: Arc::clone(&self.context),
            graph: check("cuGraphInstantiate", instantiated)?,
        })
    }

    /// Puts what was recorded into the stream.
    pub fn replay(&mut self, graph: &Graph) -> Result<(), DeviceError> {
        self.owner()
            .check(&graph.owner, || "a recorded sequence".into())?;
        self.make_current()?;
        // SAFETY: the graph is alive; that what it refers to is alive too is its user's part, and
        // where it is not the device faults and the host does not.
        check("cuGraphLaunch", unsafe {
            result::graph::launch(graph.graph, self.context.stream)
        })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let _ = self.context.make_current();
        // SAFETY: it was instantiated by `record` and is used by nobody after this.
        let _ = unsafe { result::graph::exec_destroy(self.graph) };
    }
}
