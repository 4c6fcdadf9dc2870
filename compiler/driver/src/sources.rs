//! Files and folders of a command line.

use super::error::CommandError;
use std::path::{Path, PathBuf};

/// The files that are named, and of folders every `.cute` file in them and in folders of them, in the order of their
/// names. Hidden folders and `target` are left out.
///
/// # Errors
/// One line: which folder cannot be read, or has no such file.
pub fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CommandError> {
    let mut found = Vec::new();
    for path in paths {
        if !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        let before = found.len();
        within(path, &mut found)?;
        found[before..].sort();
        if found.len() == before {
            let message = format!("there is no .cute file in {}", path.display());
            return Err(CommandError::Message(message));
        }
    }
    Ok(found)
}

fn within(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), CommandError> {
    let unreadable = |error: std::io::Error| {
        CommandError::Message(format!("cannot read {}: {error}", folder.display()))
    };
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let kind = entry.file_type().map_err(unreadable)?;
        let (name, path) = (entry.file_name(), entry.path());
        let left_out = name.as_encoded_bytes().starts_with(b".") || name == "target";
        if kind.is_dir() && !left_out {
            within(&path, found)?;
        } else if kind.is_file()
            && path
                .extension()
                .is_some_and(|extension| extension == "cute")
        {
            found.push(path);
        }
    }
    Ok(())
}
