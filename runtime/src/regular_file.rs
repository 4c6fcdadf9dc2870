//! Files that somebody else named: imports of a source, tensors, entries of a cache. They are regular files of a
//! bounded size, or they are not read: opening never waits (a FIFO without a writer), and reading ends (`/dev/zero`).

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegularFileError {
    /// The system's words.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// There is something else under the name.
    #[error("expected a regular file, found {found}")]
    NotRegular {
        /// `a FIFO`, `a directory`, …
        found: &'static str,
    },
    /// The file is too large.
    #[error("expected at most {limit} bytes, found {}", Found(*.found))]
    TooLarge {
        /// Its size; `None` where it grew while it was read.
        found: Option<u64>,
        /// The limit.
        limit: u64,
    },
}

/// A size for a message.
struct Found(Option<u64>);

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(size) => write!(f, "{size}"),
            None => f.write_str("more"),
        }
    }
}

/// Opens a regular file for reading, and never waits for anybody.
///
/// # Errors
/// When there is no such file, or it is not a regular one.
pub fn open(path: &Path) -> Result<File, RegularFileError> {
    // Opening a device may do something by itself; the handle is asked again below, since names change.
    regular(std::fs::metadata(path)?.file_type())?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    }
    let file = options.open(path)?;
    regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// Reads a regular file of at most `limit` bytes.
///
/// # Errors
/// When there is no such file, it is not a regular one, or it is too large.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, RegularFileError> {
    let file = open(path)?;
    let size = file.metadata()?.len();
    if size > limit {
        let found = Some(size);
        return Err(RegularFileError::TooLarge { found, limit });
    }
    read_bounded(file, limit)
}

/// Reads to the end what says no size of its own, such as standard input.
///
/// # Errors
/// When reading fails, or there is more than `limit` bytes.
pub fn read_bounded(source: impl Read, limit: u64) -> Result<Vec<u8>, RegularFileError> {
    let mut bytes = Vec::new();
    source
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        true => Err(RegularFileError::TooLarge { found: None, limit }),
        false => Ok(bytes),
    }
}

fn regular(found: FileType) -> Result<(), RegularFileError> {
    match found.is_file() {
        true => Ok(()),
        false => Err(RegularFileError::NotRegular { found: name(found) }),
    }
}

fn name(found: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if found.is_fifo() {
            return "a FIFO";
        }
        if found.is_char_device() || found.is_block_device() {
            return "a device";
        }
        if found.is_socket() {
            return "a socket";
        }
    }
    match found.is_dir() {
        true => "a directory",
        false => "something else",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_the_limit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, b"12345").expect("written");
        assert_eq!(read(&path, 5).expect("it fits"), b"12345");
        let error = read(&path, 4).expect_err("too large");
        assert_eq!(error.to_string(), "expected at most 4 bytes, found 5");
        assert!(matches!(
            read(&folder.path().join("none"), 5),
            Err(RegularFileError::Io(_))
        ));
    }

    #[test]
    fn what_says_no_size_is_read_up_to_the_limit() {
        assert_eq!(read_bounded(&b"12345"[..], 5).expect("it fits"), b"12345");
        let error = read_bounded(io::repeat(0), 1000).expect_err("it never ends");
        assert_eq!(error.to_string(), "expected at most 1000 bytes, found more");
    }

    #[cfg(unix)]
    #[test]
    fn nothing_but_regular_files_is_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.expect("mkfifo runs").success());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&fifo, &link).expect("a link");
        for (path, found) in [
            (fifo.as_path(), "a FIFO"),
            (&link, "a FIFO"),
            (Path::new("/dev/zero"), "a device"),
            (folder.path(), "a directory"),
        ] {
            let error = read(path, 1 << 20).expect_err("not regular");
            assert_eq!(
                error.to_string(),
                format!("expected a regular file, found {found}")
            );
        }
    }
}
