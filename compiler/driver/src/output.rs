//! Writing results: all of a file or nothing of it.

use super::error::CommandError;
use cutec_runtime::output_file;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the program was started without a standard output. Rust's runtime puts `/dev/null` in its place before `main`, so
/// this is looked at before that.
static WITHOUT_STDOUT: AtomicBool = AtomicBool::new(false);

#[cfg(all(feature = "programs", target_os = "linux"))]
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK_FOR_STDOUT: extern "C" fn() = look_for_stdout;

#[cfg(all(feature = "programs", target_os = "linux"))]
extern "C" fn look_for_stdout() {
    // SAFETY: asks for the flags of a descriptor, which needs nothing of the runtime and changes nothing.
    let closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1;
    WITHOUT_STDOUT.store(closed, Ordering::Relaxed);
}

/// Writes `bytes` to `path`, or to standard output where `path` is `-`.
///
/// A reader of a file sees the old content or the new, and a failure leaves nothing behind. What is not a
/// regular file (`/dev/null`, a pipe) is written in place.
///
/// # Errors
/// One line: which file, and what the system says.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), CommandError> {
    if path.as_os_str() == "-" {
        return write_stdout(bytes);
    }
    output_file::write(path, bytes).map_err(|error| failed(path, &error))
}

/// Writes a file by [`write`], and what belongs to it beside it, by [`output_file::write_pair`].
///
/// # Errors
/// As [`write`]'s.
pub fn write_pair(
    path: &Path,
    bytes: &[u8],
    side: &Path,
    beside: &[u8],
) -> Result<(), CommandError> {
    if path.as_os_str() == "-" {
        return write_stdout(bytes);
    }
    output_file::write_pair((path, bytes), (side, beside))
        .map_err(|(path, error)| failed(path, &error))
}

fn failed(path: &Path, error: &io::Error) -> CommandError {
    CommandError::Message(format!("cannot write {}: {error}", path.display()))
}

/// Writes to standard output.
///
/// # Errors
/// When not everything could be written: it is closed, nobody reads any more ([`CommandError::Unread`]), or the disk is
/// full. Whoever asked for the output did not get it.
pub fn write_stdout(bytes: &[u8]) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    let written = match WITHOUT_STDOUT.load(Ordering::Relaxed) {
        true => Err(io::Error::other("it is closed")),
        false => stdout.write_all(bytes).and_then(|()| stdout.flush()),
    };
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => CommandError::Unread,
        _ => CommandError::Message(format!("cannot write to standard output: {error}")),
    })
}
