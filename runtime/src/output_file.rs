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
    match is_replaced(path) {
        true => replace(path, bytes),
        false => std::fs::write(path, bytes),
    }
}

/// Puts `bytes` into a file, under a temporary name in its folder that is then renamed: a reader, in any
/// process, sees the old content or the new, and a failure leaves nothing behind.
///
/// # Errors
/// What the system says.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    unnamed(path, bytes)?.persist(path)
}

/// Puts `bytes` into a file by [`write`], and what belongs to it into one beside it; where the first is no regular file
/// nothing lies beside it.
///
/// Both are written before either has its name, and the old neighbour goes before the first file is replaced. So nobody finds
/// a file beside the neighbour of another one, wherever this ends; only for a moment a file without a neighbour.
///
/// # Errors
/// What the system says, and of which file.
pub fn write_pair<'a>(
    (path, bytes): (&'a Path, &[u8]),
    (side, beside): (&'a Path, &[u8]),
) -> Result<(), (&'a Path, io::Error)> {
    let of = |path: &'a Path| move |error| (path, error);
    if !is_replaced(path) {
        return std::fs::write(path, bytes).map_err(of(path));
    }
    let file = unnamed(path, bytes).map_err(of(path))?;
    let neighbour = unnamed(side, beside).map_err(of(side))?;
    match std::fs::remove_file(side) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err((side, error)),
        Ok(()) | Err(_) => {}
    }
    file.persist(path).map_err(of(path))?;
    neighbour.persist(side).map_err(of(side))
}

/// Whether what has this name is a file, or will be.
fn is_replaced(path: &Path) -> bool {
    let there = path.metadata();
    !there.is_ok_and(|there| !there.is_file() && !there.is_dir())
}

/// A file of these bytes in the folder where it will have its name.
fn unnamed(path: &Path, bytes: &[u8]) -> io::Result<temporary::File> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // The system's own words for a folder that is not there; a temporary file's name those of tempfile.
    folder.metadata()?;
    let mut file = temporary::File::new_in(folder)?;
    file.write_all(bytes)?;
    Ok(file)
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

    #[test]
    fn a_pair_is_replaced_together_or_not_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let [path, side] = ["a.cubin", "a.abi.json"].map(|name| folder.path().join(name));
        let pair =
            |text: &[u8]| write_pair((&path, text), (&side, text)).map_err(|(at, _)| at == side);
        pair(b"old").expect("written");
        pair(b"new").expect("written again");
        assert_eq!(std::fs::read(&path).expect("readable"), b"new");
        assert_eq!(std::fs::read(&side).expect("readable"), b"new");
        // A neighbour that cannot be replaced leaves the file as it was.
        std::fs::remove_file(&side).expect("removed");
        std::fs::create_dir(&side).expect("a folder");
        assert_eq!(pair(b"newer"), Err(true));
        assert_eq!(std::fs::read(&path).expect("readable"), b"new");
        assert_eq!(
            std::fs::read_dir(folder.path()).expect("a folder").count(),
            2
        );
    }

    #[test]
    fn nothing_lies_beside_what_is_no_regular_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let side = folder.path().join("null.abi.json");
        write_pair((Path::new("/dev/null"), b"text"), (&side, b"text")).expect("written");
        assert!(!side.exists());
    }
}
