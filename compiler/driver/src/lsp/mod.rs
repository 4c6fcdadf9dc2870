//! `cutec lsp`: a language server for `.cute` files on standard input and output.
//!
//! The text of each open file is parsed at each change, which takes milliseconds ([`analysis`]), and requests are answered
//! from that. Compiling it is another thread's work ([`worker`]): it publishes what is wrong, and keeps what names
//! stood for, for hover and inlay hints. Of changes that come faster than it compiles the last one counts.
//!
//! Modules: this one, the protocol; [`transport`], its messages, of bounded size; [`analysis`], [`check`] (from a text to
//! its diagnostics and values) and [`worker`]; the answers: [`show`] (hover, signatures, hints, colours), [`navigate`]
//! (definition, references, rename, symbols), [`complete`], [`edit`] (formatting, actions); [`place`], files and positions
//! as the protocol has them.

pub mod analysis;
pub mod check;
pub mod complete;
pub mod edit;
pub mod navigate;
pub mod place;
pub mod show;
pub mod transport;
pub mod worker;

use super::arguments::LspArguments;
use super::context::{Reporter, compile_options};
use super::error::{CommandError, CommandResult};
use analysis::Analysis;
use cutec::{Emit, FileLoader, Options};
use cutec_frontend::source::{LoadedSource, SourceLoader};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Notification as _,
    PublishDiagnostics,
};
use lsp_types::request::{self, Request as _};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CompletionOptions, Diagnostic,
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    HoverProviderCapability, InitializeParams, OneOf, PublishDiagnosticsParams, RenameOptions,
    SemanticTokensFullOptions, SemanticTokensOptions, ServerCapabilities, SignatureHelpOptions,
    TextDocumentSyncCapability, TextDocumentSyncKind, Uri, WorkDoneProgressOptions,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::sync::Arc;
use worker::Worker;

/// An open file.
#[derive(Debug, Clone)]
pub struct Document {
    /// What the editor calls it.
    pub uri: Uri,
    /// Counts the changes.
    pub version: i32,
    /// As the editor has it, saved or not.
    pub text: Arc<str>,
}

/// The open files by the names that the compiler knows them under.
pub type Documents = BTreeMap<String, Document>;

/// Imports: what the editor has open comes before what is on disk.
pub struct OpenFiles<'a>(pub &'a Documents);

impl SourceLoader for OpenFiles<'_> {
    fn load(&self, importer: &str, path: &str) -> Result<LoadedSource, String> {
        let name = FileLoader::name(importer, path);
        match self.0.get(&name) {
            Some(document) => Ok(LoadedSource {
                name,
                text: Arc::clone(&document.text),
            }),
            None => FileLoader.load(importer, path),
        }
    }
}

/// Runs the command until the editor ends it.
///
/// # Errors
/// When the connection breaks or does not begin as the protocol wants.
pub fn run(arguments: &LspArguments, _reporter: &Reporter) -> CommandResult {
    let options = Options {
        emit: Emit::Mlir,
        ..compile_options(&arguments.compile)
    };
    let (connection, threads) = transport::stdio().map_err(CommandError::message)?;
    let capabilities = serde_json::to_value(capabilities()).map_err(CommandError::message)?;
    match connection.initialize(capabilities) {
        Ok(params) => serve(&connection, &options, params)?,
        // The thread that reads says why.
        Err(error) if error.channel_is_disconnected() => {}
        Err(error) => return Err(CommandError::message(error)),
    }
    // The writing thread ends when nobody can write any more.
    drop(connection);
    threads.join().map_err(CommandError::message)
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some([".", "\""].map(str::to_owned).into()),
            ..CompletionOptions::default()
        }),
        signature_help_provider: Some(SignatureHelpOptions {
            trigger_characters: Some(["(", ","].map(str::to_owned).into()),
            ..SignatureHelpOptions::default()
        }),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        inlay_hint_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
            ..CodeActionOptions::default()
        })),
        semantic_tokens_provider: Some(
            SemanticTokensOptions {
                legend: show::legend(),
                full: Some(SemanticTokensFullOptions::Bool(true)),
                ..SemanticTokensOptions::default()
            }
            .into(),
        ),
        ..ServerCapabilities::default()
    }
}

/// What the server knows.
struct State {
    documents: Documents,
    analyses: BTreeMap<String, Analysis>,
    worker: Worker,
}

fn serve(connection: &Connection, options: &Options, params: serde_json::Value) -> CommandResult {
    let refreshes = serde_json::from_value::<InitializeParams>(params).is_ok_and(|params| {
        let workspace = params.capabilities.workspace;
        let hints = workspace.and_then(|workspace| workspace.inlay_hint);
        hints.and_then(|hints| hints.refresh_support) == Some(true)
    });
    let mut state = State {
        documents: Documents::new(),
        analyses: BTreeMap::new(),
        worker: Worker::start(connection.sender.clone(), options.clone(), refreshes)?,
    };
    while let Ok(message) = connection.receiver.recv() {
        let mut changed = false;
        // Of changes that come together the last one counts, but for a request between them.
        for message in std::iter::once(message).chain(connection.receiver.try_iter()) {
            match message {
                Message::Request(request) => {
                    if connection
                        .handle_shutdown(&request)
                        .map_err(CommandError::message)?
                    {
                        return Ok(());
                    }
                    if std::mem::take(&mut changed) {
                        state.analyze();
                    }
                    send(connection, state.answer(request))?;
                }
                Message::Notification(notification) => {
                    changed |= take(connection, &mut state.documents, notification)?;
                }
                Message::Response(_) => {}
            }
        }
        if changed {
            state.analyze();
        }
    }
    Ok(())
}

impl State {
    /// Parses the files anew, and has them compiled. Files import each other: a change of one may mend or break another.
    fn analyze(&mut self) {
        let documents = &self.documents;
        let analyses = documents
            .iter()
            .map(|(name, document)| (name.clone(), Analysis::of(name, document, documents)));
        self.analyses = analyses.collect();
        self.worker.check(documents.clone());
    }

    /// The answer to a request.
    fn answer(&self, request: Request) -> Response {
        let (documents, analyses) = (&self.documents, &self.analyses);
        let id = request.id.clone();
        match request.method.as_str() {
            request::HoverRequest::METHOD => with(request, |params: lsp_types::HoverParams| {
                let uri = &params.text_document_position_params.text_document.uri;
                let observed = self.worker.observed(&place::file_name(uri));
                show::hover(documents, analyses, &observed, &params)
            }),
            request::InlayHintRequest::METHOD => {
                with(request, |params: lsp_types::InlayHintParams| {
                    let observed = self
                        .worker
                        .observed(&place::file_name(&params.text_document.uri));
                    show::hints(documents, analyses, &observed, &params)
                })
            }
            request::SignatureHelpRequest::METHOD => with(request, |params| {
                show::signature(documents, analyses, &params)
            }),
            request::SemanticTokensFullRequest::METHOD => {
                with(request, |params| show::tokens(documents, analyses, &params))
            }
            request::Completion::METHOD => with(request, |params| {
                complete::complete(documents, analyses, &params)
            }),
            request::GotoDefinition::METHOD => with(request, |params| {
                navigate::definition(documents, analyses, &params)
            }),
            request::References::METHOD => with(request, |params| {
                navigate::references(documents, analyses, &params)
            }),
            request::DocumentHighlightRequest::METHOD => with(request, |params| {
                navigate::highlights(documents, analyses, &params)
            }),
            request::DocumentSymbolRequest::METHOD => with(request, |params| {
                navigate::symbols(documents, analyses, &params)
            }),
            request::WorkspaceSymbolRequest::METHOD => with(request, |params| {
                navigate::workspace_symbols(analyses, &params)
            }),
            request::Formatting::METHOD => {
                with(request, |params| edit::formatting(documents, &params))
            }
            request::CodeActionRequest::METHOD => with(request, |params| {
                edit::actions(documents, analyses, &params)
            }),
            request::PrepareRenameRequest::METHOD => attempt(id, request.params, |params| {
                navigate::prepare_rename(documents, analyses, &params)
            }),
            request::Rename::METHOD => attempt(id, request.params, |params| {
                navigate::rename(documents, analyses, &params)
            }),
            _ => {
                let message = format!("`{}` is not offered", request.method);
                Response::new_err(id, ErrorCode::MethodNotFound as i32, message)
            }
        }
    }
}

/// Answers a request whose parameters are what the protocol says.
fn with<P: DeserializeOwned, R: Serialize>(
    request: Request,
    answer: impl FnOnce(P) -> R,
) -> Response {
    match serde_json::from_value(request.params) {
        Ok(params) => Response::new_ok(request.id, answer(params)),
        Err(error) => Response::new_err(
            request.id,
            ErrorCode::InvalidParams as i32,
            error.to_string(),
        ),
    }
}

/// Answers a request, or says why not.
fn attempt<P: DeserializeOwned, R: Serialize, E: std::fmt::Display>(
    id: RequestId,
    params: serde_json::Value,
    answer: impl FnOnce(P) -> Result<R, E>,
) -> Response {
    match serde_json::from_value(params).map(answer) {
        Ok(Ok(result)) => Response::new_ok(id, result),
        Ok(Err(error)) => Response::new_err(id, ErrorCode::RequestFailed as i32, error.to_string()),
        Err(error) => Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string()),
    }
}

/// Takes a notification; whether it changed a document.
fn take(
    connection: &Connection,
    documents: &mut Documents,
    notification: Notification,
) -> Result<bool, CommandError> {
    match notification.method.as_str() {
        DidOpenTextDocument::METHOD => {
            let Some(params) = params::<DidOpenTextDocumentParams>(notification) else {
                return Ok(false);
            };
            let opened = params.text_document;
            let document = Document {
                version: opened.version,
                text: opened.text.into(),
                uri: opened.uri,
            };
            documents.insert(place::file_name(&document.uri), document);
            Ok(true)
        }
        DidChangeTextDocument::METHOD => {
            let Some(params) = params::<DidChangeTextDocumentParams>(notification) else {
                return Ok(false);
            };
            let name = place::file_name(&params.text_document.uri);
            let change = params.content_changes.into_iter().next_back();
            let (Some(document), Some(change)) = (documents.get_mut(&name), change) else {
                return Ok(false);
            };
            document.version = params.text_document.version;
            document.text = change.text.into();
            Ok(true)
        }
        DidCloseTextDocument::METHOD => {
            let Some(params) = params::<DidCloseTextDocumentParams>(notification) else {
                return Ok(false);
            };
            let name = place::file_name(&params.text_document.uri);
            if let Some(document) = documents.remove(&name) {
                send(connection, publication(&document.uri, None, Vec::new()))?;
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// The parameters of a notification, unless they are not what the protocol says.
fn params<T: DeserializeOwned>(notification: Notification) -> Option<T> {
    serde_json::from_value(notification.params).ok()
}

/// Sends the diagnostics of a file.
fn publication(uri: &Uri, version: Option<i32>, diagnostics: Vec<Diagnostic>) -> Notification {
    let params = PublishDiagnosticsParams {
        uri: uri.clone(),
        diagnostics,
        version,
    };
    Notification::new(PublishDiagnostics::METHOD.to_owned(), params)
}

fn send(connection: &Connection, message: impl Into<Message>) -> CommandResult {
    connection
        .sender
        .send(message.into())
        .map_err(|_| CommandError::message("nobody reads standard output any more"))
}
