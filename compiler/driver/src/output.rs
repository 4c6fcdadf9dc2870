//! Writing results: all of a file or nothing of it.

use super::context::CommandError;
use cutec::files;
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
    let failed = |error: io::Error| {
        CommandError::Message(format!("cannot write {}: {error}", path.display()))
    };
    if path
        .metadata()
        .is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
    {
        return std::fs::write(path, bytes).map_err(failed);
    }
    files::replace(path, bytes).map_err(failed)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.ptx");
        write(&path, b"old").expect("written");
        write(&path, b"new").expect("written again");
        assert_eq!(std::fs::read(&path).expect("readable"), b"new");
        assert_eq!(
            std::fs::read_dir(folder.path()).expect("a folder").count(),
            1
        );
    }

    #[test]
    fn a_failure_leaves_nothing_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("taken");
        std::fs::create_dir(&target).expect("a folder");
        std::fs::write(target.join("inside"), b"x").expect("written");
        assert!(write(&target, b"text").is_err());
        assert!(write(&folder.path().join("no/such/folder.ptx"), b"text").is_err());
        assert_eq!(
            std::fs::read_dir(folder.path()).expect("a folder").count(),
            1
        );
    }
}
