//! The thread that compiles what the editor has open: it publishes what is wrong, and keeps what names stood for.

use super::analysis::Observed;
use super::check;
use super::{Documents, OpenFiles, place, publication};
use crate::STACK_BYTES;
use crate::error::CommandError;
use crossbeam_channel::{Receiver, Sender, unbounded};
use cutec::Options;
use cutec_frontend::load_program;
use cutec_frontend::source::SourceMap;
use lsp_server::{Message, Request};
use lsp_types::request::{InlayHintRefreshRequest, Request as _};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// What names stood for, by the names of open files.
type Observations = Arc<Mutex<BTreeMap<String, Arc<Observed>>>>;

/// The thread, and the way to it.
pub struct Worker {
    jobs: Option<Sender<Documents>>,
    observed: Observations,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts the thread. It asks the editor for hints anew where it `refreshes`.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn start(
        client: Sender<Message>,
        options: Options,
        refreshes: bool,
    ) -> Result<Self, CommandError> {
        let (jobs, incoming) = unbounded();
        let observed = Observations::default();
        let work = Work {
            client,
            options,
            refreshes,
            observed: Arc::clone(&observed),
            checked: BTreeMap::new(),
            imported: BTreeSet::new(),
            requests: 0,
        };
        let thread = std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn(move || work.run(&incoming))
            .map_err(CommandError::message)?;
        Ok(Self {
            jobs: Some(jobs),
            observed,
            thread: Some(thread),
        })
    }

    /// Has the files compiled, once it comes to it.
    pub fn check(&self, documents: Documents) {
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(documents);
        }
    }

    /// What names of a file stood for when it was compiled last.
    pub fn observed(&self, name: &str) -> Arc<Observed> {
        let observed = self.observed.lock().unwrap_or_else(PoisonError::into_inner);
        observed.get(name).cloned().unwrap_or_default()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Work {
    client: Sender<Message>,
    options: Options,
    refreshes: bool,
    observed: Observations,
    /// The version of each open file, and its text with those that it imports, when it was compiled last.
    checked: BTreeMap<String, (i32, Vec<Arc<str>>)>,
    /// Files that are not open and that something was published of.
    imported: BTreeSet<String>,
    requests: i32,
}

impl Work {
    fn run(mut self, jobs: &Receiver<Documents>) {
        while let Ok(documents) = jobs.recv() {
            let documents = jobs.try_iter().last().unwrap_or(documents);
            self.checked.retain(|name, _| documents.contains_key(name));
            let mut imported: BTreeMap<String, Vec<lsp_types::Diagnostic>> = BTreeMap::new();
            let mut any = false;
            for (name, document) in &documents {
                let now = (document.version, texts(name, &documents));
                if self.checked.get(name) == Some(&now) {
                    continue;
                }
                any = true;
                let publish = |checked: &check::Checked| {
                    let own = checked.own.clone();
                    publication(&document.uri, Some(document.version), own)
                };
                let early = |checked| {
                    let _ = self.client.send(publish(&checked).into());
                };
                let left = Cell::new(false);
                let go_on = || {
                    left.set(!jobs.is_empty());
                    !left.get()
                };
                let checked = check::check(name, &documents, &self.options, &go_on, &early);
                let message = publish(&checked);
                if self.client.send(message.into()).is_err() {
                    return;
                }
                for (file, found) in checked.imported {
                    imported.entry(file).or_default().extend(found);
                }
                if !left.get() {
                    self.checked.insert(name.clone(), now);
                }
                let observed = check::observe(name, &documents, &self.options);
                let mut all = self.observed.lock().unwrap_or_else(PoisonError::into_inner);
                all.insert(name.clone(), Arc::new(observed));
                // What has changed meanwhile comes first.
                if !jobs.is_empty() {
                    break;
                }
            }
            self.publish_imported(imported);
            if any && self.refreshes {
                self.requests += 1;
                let method = InlayHintRefreshRequest::METHOD.to_owned();
                let request = Request::new(self.requests.into(), method, serde_json::Value::Null);
                let _ = self.client.send(request.into());
            }
        }
    }

    /// Publishes what is wrong in files that are not open, and takes back what no longer is.
    fn publish_imported(&mut self, imported: BTreeMap<String, Vec<lsp_types::Diagnostic>>) {
        for (file, mut found) in imported {
            found.dedup();
            let known = match found.is_empty() {
                true => self.imported.remove(&file),
                false => {
                    self.imported.insert(file.clone());
                    true
                }
            };
            if let Some(uri) = place::uri_of(&file).filter(|_| known) {
                let _ = self.client.send(publication(&uri, None, found).into());
            }
        }
    }
}

/// The texts that a compilation of an open file reads.
fn texts(name: &str, documents: &Documents) -> Vec<Arc<str>> {
    let Some(document) = documents.get(name) else {
        return Vec::new();
    };
    let mut sources = SourceMap::new();
    let loader = OpenFiles(documents);
    load_program(&mut sources, name, &document.text, &loader, &mut Vec::new());
    sources
        .files()
        .map(|(_, file)| Arc::clone(file.text()))
        .collect()
}
