//! The file system: files that a source imports, files that are written all or nothing ([`replace`]), and files that
//! exist only for a while ([`temporary`]).

pub use cutec_runtime::output_file::replace;
pub use cutec_runtime::temporary;

use cutec_frontend::source::{LoadedSource, SourceLoader};
use cutec_runtime::regular_file;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest source that is read, in bytes.
pub const MAX_SOURCE_BYTES: u64 = 64 << 20;

/// Answers imports from the file system, relative to the importing file. An import is a regular file called
/// `*.cute`, also behind symbolic links: what is wrong in it is shown with its lines, and no other file's lines are
/// anybody's business.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileLoader;

/// Why an import gives nothing.
#[derive(Debug, thiserror::Error)]
enum ImportError {
    /// It is called otherwise.
    #[error("an import is a .cute file")]
    NotCute,
    /// It is a link to a file that is called otherwise.
    #[error("an import is a .cute file, this one is a link to one that is not")]
    LinkToNotCute,
    /// It cannot be read.
    #[error("cannot read {file}: {reason}")]
    Unreadable { file: String, reason: String },
}

impl FileLoader {
    /// The name of the file that an import means.
    pub fn name(importer: &str, path: &str) -> String {
        normalized(&beside(importer, path)).display().to_string()
    }

    fn text(file: &Path) -> Result<String, ImportError> {
        if !is_cute(file) {
            return Err(ImportError::NotCute);
        }
        let unreadable = |reason: String| ImportError::Unreadable {
            file: file.display().to_string(),
            reason,
        };
        let real = std::fs::canonicalize(file).map_err(|error| unreadable(error.to_string()))?;
        if !is_cute(&real) {
            return Err(ImportError::LinkToNotCute);
        }
        let bytes = regular_file::read(&real, MAX_SOURCE_BYTES)
            .map_err(|error| unreadable(error.to_string()))?;
        text(bytes).map_err(unreadable)
    }
}

impl SourceLoader for FileLoader {
    fn load(&self, importer: &str, path: &str) -> Result<LoadedSource, String> {
        let text = Self::text(&beside(importer, path)).map_err(|error| error.to_string())?;
        Ok(LoadedSource {
            name: Self::name(importer, path),
            text: Arc::from(text),
        })
    }
}

/// The bytes of a source as text.
///
/// # Errors
/// Where they are none.
pub fn text(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("it is not UTF-8, from byte {at} on")
    })
}

fn is_cute(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "cute")
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

    fn load(folder: &Path, path: &str) -> Result<String, String> {
        let importer = folder.join("main.cute").display().to_string();
        let loaded = FileLoader.load(&importer, path)?;
        Ok(loaded.text.to_string())
    }

    #[test]
    fn an_import_is_a_regular_cute_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        std::fs::write(folder.join("a.cute"), "const a = 1;").expect("written");
        std::fs::write(folder.join("secret"), "secret").expect("written");
        std::fs::write(folder.join("latin.cute"), b"// \xe9").expect("written");
        std::fs::create_dir(folder.join("folder.cute")).expect("made");
        let large = std::fs::File::create(folder.join("large.cute")).expect("made");
        large.set_len(MAX_SOURCE_BYTES + 1).expect("sparse");
        assert_eq!(load(folder, "a.cute"), Ok("const a = 1;".to_owned()));
        for (path, expected) in [
            ("secret", "an import is a .cute file"),
            ("/dev/zero", "an import is a .cute file"),
            ("latin.cute", "it is not UTF-8, from byte 3 on"),
            ("folder.cute", "expected a regular file, found a directory"),
            (
                "large.cute",
                "expected at most 67108864 bytes, found 67108865",
            ),
            ("none.cute", "No such file"),
        ] {
            let error = load(folder, path).expect_err(path);
            assert!(error.contains(expected), "{path}: {error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_and_fifos_are_no_way_around() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        std::fs::write(folder.join("a.cute"), "const a = 1;").expect("written");
        std::fs::write(folder.join("secret"), "secret").expect("written");
        symlink("a.cute", folder.join("good.cute")).expect("a link");
        symlink("secret", folder.join("bad.cute")).expect("a link");
        symlink("/dev/zero", folder.join("zero.cute")).expect("a link");
        let made = std::process::Command::new("mkfifo")
            .arg(folder.join("fifo.cute"))
            .status();
        assert!(made.expect("mkfifo runs").success());
        assert_eq!(load(folder, "good.cute"), Ok("const a = 1;".to_owned()));
        for (path, expected) in [
            ("bad.cute", "a link to one that is not"),
            ("zero.cute", "a link to one that is not"),
            ("fifo.cute", "expected a regular file, found a FIFO"),
        ] {
            let error = load(folder, path).expect_err(path);
            assert!(error.contains(expected), "{path}: {error}");
        }
    }
}
