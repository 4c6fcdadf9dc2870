//! `cutec lsp`: a language server for `.cute` files on standard input and output. It publishes what
//! compiling a file reports, at each change of the text, and answers what a built-in is and which there are.
//!
//! Modules: this one, the protocol; [`transport`], its messages, of bounded size; [`check`], from a text to its
//! diagnostics; [`builtins`], documentation and names of built-ins; [`place`], files and positions as the protocol has them.

pub mod builtins;
pub mod check;
pub mod place;
pub mod transport;

use super::arguments::LspArguments;
use super::context::{Reporter, compile_options};
use super::error::{CommandError, CommandResult};
use cutec::{Emit, Options};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Notification as _,
    PublishDiagnostics,
};
use lsp_types::request::{Completion, HoverRequest, Request as _};
use lsp_types::{
    CompletionOptions, Diagnostic, DidChangeTextDocumentParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, HoverProviderCapability, PublishDiagnosticsParams,
    ServerCapabilities, TextDocumentSyncCapability, TextDocumentSyncKind, Uri,
};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::sync::Arc;

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
    let capabilities = ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(vec![".".to_owned()]),
            ..CompletionOptions::default()
        }),
        ..ServerCapabilities::default()
    };
    let capabilities = serde_json::to_value(capabilities).map_err(CommandError::message)?;
    match connection.initialize(capabilities) {
        Ok(_) => serve(&connection, &options)?,
        // The thread that reads says why.
        Err(error) if error.channel_is_disconnected() => {}
        Err(error) => return Err(CommandError::message(error)),
    }
    // The writing thread ends when nobody can write any more.
    drop(connection);
    threads.join().map_err(CommandError::message)
}

fn serve(connection: &Connection, options: &Options) -> CommandResult {
    let mut documents = Documents::new();
    while let Ok(message) = connection.receiver.recv() {
        let mut changed = false;
        // Of changes that come faster than they are checked, the last one counts.
        for message in std::iter::once(message).chain(connection.receiver.try_iter()) {
            match message {
                Message::Request(request) => {
                    if connection
                        .handle_shutdown(&request)
                        .map_err(CommandError::message)?
                    {
                        return Ok(());
                    }
                    answer(connection, &documents, request)?;
                }
                Message::Notification(notification) => {
                    changed |= take(connection, &mut documents, notification)?;
                }
                Message::Response(_) => {}
            }
        }
        if changed {
            // Files import each other: a change of one may mend or break another.
            for (name, document) in &documents {
                let diagnostics = check::check(name, &documents, options);
                publish(connection, document, Some(document.version), diagnostics)?;
            }
        }
    }
    Ok(())
}

/// Answers a request.
fn answer(connection: &Connection, documents: &Documents, request: Request) -> CommandResult {
    let result = match request.method.as_str() {
        HoverRequest::METHOD => {
            let params = serde_json::from_value(request.params).ok();
            let found = params.and_then(|params| builtins::hover(documents, &params));
            serde_json::to_value(found)
        }
        Completion::METHOD => {
            let params = serde_json::from_value(request.params).ok();
            let found = params.and_then(|params| builtins::complete(documents, &params));
            serde_json::to_value(found)
        }
        _ => return refuse(connection, request),
    };
    let result = result.map_err(CommandError::message)?;
    send(connection, Response::new_ok(request.id, result))
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
                publish(connection, &document, None, Vec::new())?;
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

fn refuse(connection: &Connection, request: Request) -> CommandResult {
    let message = format!("`{}` is not offered", request.method);
    let response = Response::new_err(request.id, ErrorCode::MethodNotFound as i32, message);
    send(connection, response)
}

fn publish(
    connection: &Connection,
    document: &Document,
    version: Option<i32>,
    diagnostics: Vec<Diagnostic>,
) -> CommandResult {
    let params = PublishDiagnosticsParams {
        uri: document.uri.clone(),
        diagnostics,
        version,
    };
    let method = PublishDiagnostics::METHOD.to_owned();
    send(connection, Notification::new(method, params))
}

fn send(connection: &Connection, message: impl Into<Message>) -> CommandResult {
    connection
        .sender
        .send(message.into())
        .map_err(|_| CommandError::message("nobody reads standard output any more"))
}
