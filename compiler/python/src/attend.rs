//! Python beside work that takes long: Ctrl-C ends it, and what kernels print in the simulator goes to `sys.stdout`, which in a notebook is
//! the cell's output.
//!
//! The work is done by a thread of its own; the caller's, which alone may look at signals, waits for it without Python's lock.

use cutec::runtime::Cancel;
use cutec::runtime::sim::Output;
use pyo3::prelude::*;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// How often signals are looked at.
const PERIOD: Duration = Duration::from_millis(50);

/// Texts that wait for Python at most; a kernel that prints more waits too.
const TEXTS: usize = 1 << 10;

/// What the work tells its caller.
enum Told {
    Printed(Vec<u8>),
    Done,
}

/// Does something that looks at `cancel`, and prints to the output that it is given.
///
/// # Errors
/// What a handler of a signal raises (`KeyboardInterrupt`), or a `sys.stdout` that cannot be written; the work was cancelled then.
pub fn attended<T: Send>(
    py: Python<'_>,
    cancel: &Cancel,
    work: impl FnOnce(Output) -> T + Send,
) -> PyResult<T> {
    py.detach(|| {
        let (tell, told) = sync_channel(TEXTS);
        thread::scope(|scope| {
            let worker = scope.spawn(move || {
                let done = Done(tell.clone());
                let output = Output::new(move |text| {
                    // Nobody reads it any more.
                    let _ = tell.send(Told::Printed(text.to_vec()));
                });
                let result = work(output);
                drop(done);
                result
            });
            let waited = wait(&told, cancel);
            match worker.join() {
                Ok(result) => waited.map(|()| result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    })
}

/// Says that the work is done, even where it panics.
struct Done(SyncSender<Told>);

impl Drop for Done {
    fn drop(&mut self) {
        // Nobody waits any more.
        let _ = self.0.send(Told::Done);
    }
}

/// Waits for the end of the work; the first error cancels it.
fn wait(told: &Receiver<Told>, cancel: &Cancel) -> PyResult<()> {
    let mut failed: PyResult<()> = Ok(());
    loop {
        let attended = match told.recv_timeout(PERIOD) {
            Ok(Told::Done) | Err(RecvTimeoutError::Disconnected) => return failed,
            Ok(Told::Printed(_)) if failed.is_err() => continue,
            Ok(Told::Printed(text)) => Python::attach(|py| write(py, &text)),
            Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals()),
        };
        if let Err(error) = attended {
            cancel.cancel();
            failed = failed.and(Err(error));
        }
    }
}

/// Writes to `sys.stdout`, if there is one.
fn write(py: Python<'_>, text: &[u8]) -> PyResult<()> {
    let stdout = py.import("sys")?.getattr("stdout")?;
    if !stdout.is_none() {
        stdout.call_method1("write", (String::from_utf8_lossy(text),))?;
    }
    py.check_signals()
}
