//! Writing results: all of a file or nothing of it.

use super::error::CommandError;
use cutec_runtime::output_file;
use std::io::{self, Write};
use std::path::Path;

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
/// When not everything could be written: nobody reads any more, or the disk is full. Whoever asked for the output
/// did not get it.
pub fn write_stdout(bytes: &[u8]) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(bytes)
        .and_then(|()| stdout.flush())
        .map_err(|error| CommandError::Message(format!("cannot write to standard output: {error}")))
}
