//! Where what kernels print goes.

use std::fmt;
use std::io::Write;
use std::sync::Arc;

/// Takes what threads print, a call of `printf` at a time; standard output, unless a host gives another one.
#[derive(Clone)]
pub struct Output(Option<Arc<Take>>);

type Take = dyn Fn(&[u8]) + Send + Sync;

impl Output {
    /// Standard output of the process.
    pub const STANDARD: Output = Output(None);

    /// Calls a function, from any thread.
    pub fn new(write: impl Fn(&[u8]) + Send + Sync + 'static) -> Output {
        Output(Some(Arc::new(write)))
    }

    pub(super) fn write(&self, text: &[u8]) {
        match &self.0 {
            Some(write) => write(text),
            // Nobody to read it is no fault of the kernel.
            None => drop(std::io::stdout().write_all(text)),
        }
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Output")
    }
}

impl PartialEq for Output {
    fn eq(&self, other: &Output) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
}

impl Eq for Output {}
