//! The file system: files that a source imports, and files that are written all or nothing.

use cutec_frontend::source::{LoadedSource, SourceLoader};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Answers imports from the file system, relative to the importing file.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileLoader;

impl FileLoader {
    /// The name of the file that an import means.
    pub fn name(importer: &str, path: &str) -> String {
        normalized(&beside(importer, path)).display().to_string()
    }
}

impl SourceLoader for FileLoader {
    fn load(&self, importer: &str, path: &str) -> Result<LoadedSource, String> {
        let file = beside(importer, path);
        let text = std::fs::read_to_string(&file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        Ok(LoadedSource {
            name: Self::name(importer, path),
            text: Arc::from(text),
        })
    }
}

/// The path as seen from the folder of the importing file.
fn beside(importer: &str, path: &str) -> PathBuf {
    let folder = Path::new(importer).parent().unwrap_or(Path::new(""));
    folder.join(path)
}

/// The path without `.` and without `..` where a folder name stands before it, so that two spellings
/// of one file are one name.
fn normalized(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(result.components().next_back(), Some(Component::Normal(_))) =>
            {
                result.pop();
            }
            other => result.push(other),
        }
    }
    result
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
    let mut builder = tempfile::Builder::new();
    builder.prefix(".cutec-");
    #[cfg(unix)]
    {
        // What `open` would give: everything that the umask lets through.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_spellings_of_a_file_are_one_name() {
        let name = |path: &str| normalized(Path::new(path)).display().to_string();
        assert_eq!(name("a/./b/../c.cute"), "a/c.cute");
        assert_eq!(name("../x/c.cute"), "../x/c.cute");
        assert_eq!(name("../../c.cute"), "../../c.cute");
    }
}
