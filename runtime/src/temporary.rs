//! Files and folders that exist only while something is made: removed when they are dropped, and by
//! [`end_without_temporaries`] where a signal ends the program and nothing is dropped any more.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Everything temporary that there is in this process.
static EXISTING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A set of paths is never half-changed.
fn existing() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    EXISTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all temporary files and folders of this process and calls `end`, which ends it. Nothing temporary is made
/// in between: threads that want to wait.
pub fn end_without_temporaries(end: impl FnOnce()) {
    let mut existing = existing();
    for path in std::mem::take(&mut *existing) {
        // What cannot be removed has nobody to be told to.
        let _ = match path.is_dir() {
            true => std::fs::remove_dir_all(&path),
            false => std::fs::remove_file(&path),
        };
    }
    end();
}

/// A file that is written under a temporary name.
#[derive(Debug)]
pub struct File {
    file: Option<tempfile::NamedTempFile>,
    path: PathBuf,
}

impl File {
    /// A new file in a folder, with the rights that `open` would give: all that the umask lets through.
    ///
    /// # Errors
    /// What the system says.
    pub fn new_in(folder: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".cutec-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let mut existing = existing();
        let file = builder.tempfile_in(folder)?;
        let path = file.path().to_path_buf();
        existing.insert(path.clone());
        Ok(Self {
            file: Some(file),
            path,
        })
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// What the system says.
    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.file {
            Some(file) => file.write_all(bytes),
            None => Ok(()),
        }
    }

    /// Gives the file its name, in place of what has it.
    ///
    /// # Errors
    /// What the system says; nothing is left behind.
    pub fn persist(mut self, path: &Path) -> io::Result<()> {
        match self.file.take() {
            Some(file) => file.persist(path).map(drop).map_err(|error| error.error),
            None => Ok(()),
        }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        drop(self.file.take());
        existing().remove(&self.path);
    }
}

/// A folder for the files of another program.
#[derive(Debug)]
pub struct Folder {
    folder: Option<tempfile::TempDir>,
    path: PathBuf,
}

impl Folder {
    /// A new folder where the system keeps such things, for this user alone.
    ///
    /// # Errors
    /// What the system says.
    pub fn new() -> io::Result<Self> {
        let mut existing = existing();
        let folder = tempfile::Builder::new().prefix("cutec-").tempdir()?;
        let path = folder.path().to_path_buf();
        existing.insert(path.clone());
        Ok(Self {
            folder: Some(folder),
            path,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(self.folder.take());
        existing().remove(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_gone_and_what_has_its_name_stays() {
        let outside = tempfile::tempdir().expect("a folder");
        let named = outside.path().join("named");
        let mut file = File::new_in(outside.path()).expect("made");
        file.write_all(b"kept").expect("written");
        file.persist(&named).expect("renamed");
        drop(File::new_in(outside.path()).expect("made"));
        let folder = Folder::new().expect("made");
        let gone = folder.path().to_path_buf();
        std::fs::write(gone.join("inside"), b"x").expect("written");
        drop(folder);
        assert!(!gone.exists() && !existing().contains(&gone));
        assert_eq!(std::fs::read(&named).expect("it stays"), b"kept");
        let left = std::fs::read_dir(outside.path()).expect("a folder");
        assert_eq!(left.count(), 1);
    }
}
