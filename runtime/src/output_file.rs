//! Files that programs write: all of one or nothing of it.

use crate::temporary;
use std::io;
use std::path::Path;

/// Puts `bytes` into a file. What is there and is no regular file (`/dev/null`, a pipe) is written in place; everything
/// else by [`replace`].
///
/// # Errors
/// What the system says.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let there = path.metadata();
    match there.is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        true => std::fs::write(path, bytes),
        false => replace(path, bytes),
    }
}

/// Puts `bytes` into a file, under a temporary name in its folder that is then renamed: a reader, in any
/// process, sees the old content or the new, and a failure leaves nothing behind.
///
/// # Errors
/// What the system says.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // The system's own words for a folder that is not there; a temporary file's name those of tempfile.
    folder.metadata()?;
    let mut file = temporary::File::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path)
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
        let left = std::fs::read_dir(folder.path()).expect("a folder");
        assert_eq!(left.count(), 1);
    }

    #[test]
    fn a_failure_leaves_nothing_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("taken");
        std::fs::create_dir(&target).expect("a folder");
        std::fs::write(target.join("inside"), b"x").expect("written");
        assert!(write(&target, b"text").is_err());
        assert!(write(&folder.path().join("no/such/folder.ptx"), b"text").is_err());
        let left = std::fs::read_dir(folder.path()).expect("a folder");
        assert_eq!(left.count(), 1);
    }
}
