//! `--watch`: a command once more, whenever a source that it reads has changed.

use super::context::Reporter;
use super::error::{CommandError, CommandResult, complain};
use super::sources;
use cutec::{FileLoader, Source};
use cutec_runtime::abi::counted;
use cutec_testing::program;
use notify::{RecursiveMode, Watcher};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

/// Editors write a file in several steps, and several files at once.
const SETTLED: Duration = Duration::from_millis(60);

/// Runs a command, and again after each change of the sources that are named or of what they import, until the process is
/// ended. What it reports is reported; it goes on.
///
/// # Errors
/// When the files cannot be watched, or the command line is wrong.
pub fn forever(
    paths: &[PathBuf],
    reporter: &Reporter,
    mut run: impl FnMut() -> CommandResult,
) -> CommandResult {
    let (sender, events) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(sender).map_err(CommandError::message)?;
    let mut watched = BTreeSet::new();
    loop {
        // Before the command reads them: a change while it runs is one to come.
        let files = read_by(paths);
        for folder in folders(paths, &files) {
            if watched.insert(folder.clone()) {
                watcher
                    .watch(&folder, RecursiveMode::NonRecursive)
                    .map_err(CommandError::message)?;
            }
        }
        match run() {
            Ok(()) | Err(CommandError::Reported) => {}
            Err(CommandError::Message(message)) => reporter.say("error", &message),
            Err(error) => return Err(error),
        }
        if !reporter.is_json() {
            complain(&format!(
                "watching {}; Ctrl-C ends it",
                counted(files.len(), "file")
            ));
        }
        wait(&events, paths, &files)?;
    }
}

/// Waits for a change of one of the files, or for a new one in a folder that is named.
fn wait(
    events: &mpsc::Receiver<notify::Result<notify::Event>>,
    paths: &[PathBuf],
    files: &BTreeSet<PathBuf>,
) -> CommandResult {
    let folders: Vec<PathBuf> = paths
        .iter()
        .filter(|path| path.is_dir())
        .map(real)
        .collect();
    let matters = |event: &notify::Event| {
        !event.kind.is_access()
            && event.paths.iter().any(|path| {
                let of_folder = path
                    .extension()
                    .is_some_and(|extension| extension == "cute")
                    && folders.iter().any(|folder| path.starts_with(folder));
                of_folder || files.contains(path)
            })
    };
    loop {
        let event = events
            .recv()
            .map_err(CommandError::message)?
            .map_err(CommandError::message)?;
        if matters(&event) {
            while events.recv_timeout(SETTLED).is_ok() {}
            return Ok(());
        }
    }
}

/// The files that a command reads: those that are named, and all that they import.
fn read_by(paths: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    for file in sources::find(paths).unwrap_or_default() {
        all.insert(real(&file));
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        let source = Source::new(file.display().to_string(), text);
        let sources = match program::load(&source, &FileLoader, &[]) {
            Ok((sources, _)) => sources,
            Err(error) => error.sources,
        };
        let names = sources.files().map(|(_, file)| Path::new(file.name()));
        all.extend(names.filter(|name| name.exists()).map(real));
    }
    all
}

/// Folders are watched, not files: an editor puts another file in the place of the one that it had.
fn folders(paths: &[PathBuf], files: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let named = paths.iter().filter(|path| path.is_dir()).map(real);
    let around = files
        .iter()
        .filter_map(|file| file.parent().map(Path::to_path_buf));
    named.chain(around).collect()
}

fn real(path: impl AsRef<Path>) -> PathBuf {
    let path = path.as_ref();
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}
