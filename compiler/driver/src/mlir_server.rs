//! What stands before MLIR's language server: a process that hands on what the editor says, to a server behind
//! it. MLIR's parser makes place for as many results as the number of one says, so the server gets texts in
//! which no such number is too large ([`with_bounded_results`]).
//!
//! The server gets whole texts instead of changes: a number may become too large by one digit more.

use super::lsp::transport;
use super::mlir_tool;
use cutec_dialects::readable::with_bounded_results;
use lsp_server::{Message, Notification};
use lsp_types::Position;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Child, Command, Stdio};

/// The first argument of the server behind.
const BEHIND: &str = "--behind";

/// Runs the language server, and ends the process with its exit code.
pub fn run(server: fn(&[String]) -> i32) -> ! {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).is_some_and(|arg| arg == BEHIND) {
        let args = args.iter().filter(|arg| *arg != BEHIND).cloned();
        mlir_tool::run_with(server, args.collect());
    }
    // Tests of the server itself are no conversations.
    if args.iter().any(|arg| arg.contains("lit-test")) {
        mlir_tool::run_with(server, args);
    }
    std::process::exit(match converse(&args[1..]) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            1
        }
    })
}

fn converse(args: &[String]) -> std::io::Result<i32> {
    let mut server = Command::new(std::env::current_exe()?)
        .arg(BEHIND)
        .args(args)
        .stdin(Stdio::piped())
        .spawn()?;
    let said = hand_on(&mut server);
    let code = server.wait()?.code().unwrap_or(1);
    said.map(|()| code)
}

/// Until the conversation ends, or the server does: its code says why.
fn hand_on(server: &mut Child) -> std::io::Result<()> {
    let Some(mut to) = server.stdin.take() else {
        return Ok(());
    };
    let mut documents = Documents::default();
    let mut from = std::io::stdin().lock();
    while let Some(message) = transport::receive(&mut from, &mut std::io::stdout())? {
        let last = matches!(&message, Message::Notification(said) if said.method == "exit");
        let told = match message {
            Message::Notification(said) => Message::Notification(documents.take(said)),
            Message::Request(_) | Message::Response(_) => message,
        };
        let taken = told.write(&mut to).and_then(|()| to.flush());
        if last || taken.is_err() {
            break;
        }
    }
    Ok(())
}

/// Open texts by their names.
#[derive(Default)]
struct Documents(BTreeMap<String, String>);

impl Documents {
    /// Takes note of a text, and gives what the server is told.
    fn take(&mut self, mut said: Notification) -> Notification {
        let document = &said.params["textDocument"];
        let Some(uri) = document["uri"].as_str().map(str::to_owned) else {
            return said;
        };
        match said.method.as_str() {
            "textDocument/didOpen" => {
                if let Some(text) = document["text"].as_str().map(str::to_owned) {
                    said.params["textDocument"]["text"] = json!(with_bounded_results(&text));
                    self.0.insert(uri, text);
                }
            }
            "textDocument/didChange" => {
                let changes = said.params["contentChanges"].as_array();
                if let (Some(text), Some(changes)) = (self.0.get_mut(&uri), changes) {
                    changes.iter().for_each(|change| apply(text, change));
                    said.params["contentChanges"] = json!([{ "text": with_bounded_results(text) }]);
                }
            }
            "textDocument/didClose" => {
                self.0.remove(&uri);
            }
            _ => {}
        }
        said
    }
}

/// Changes a text; a change that is none leaves it as it is.
fn apply(text: &mut String, change: &Value) {
    let Some(new) = change["text"].as_str() else {
        return;
    };
    let place = |end: &str| -> Option<usize> {
        let position: Position = serde_json::from_value(change["range"][end].clone()).ok()?;
        Some(offset(text, position))
    };
    match (place("start"), place("end")) {
        (Some(start), Some(end)) if start <= end => text.replace_range(start..end, new),
        (None, None) => new.clone_into(text),
        _ => {}
    }
}

/// The byte of a position, whose columns are UTF-16 units; the end of the line where that is shorter.
fn offset(text: &str, position: Position) -> usize {
    let lines = text.split_inclusive('\n').take(position.line as usize);
    let start: usize = lines.map(str::len).sum();
    let line = text[start..].split(['\n', '\r']).next().unwrap_or("");
    let mut column = 0;
    let before = line.chars().take_while(|c| {
        column += c.len_utf16();
        column <= position.character as usize
    });
    start + before.map(char::len_utf8).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(method: &str, params: Value) -> Notification {
        Notification::new(format!("textDocument/{method}"), params)
    }

    #[test]
    fn changes_are_applied_to_the_text_that_the_editor_has() {
        let mut documents = Documents::default();
        let uri = json!({ "uri": "file:///x.mlir" });
        let opened =
            json!({ "textDocument": { "uri": "file:///x.mlir", "text": "// é𝄞\n%0#6553\n" } });
        documents.take(said("didOpen", opened));
        let insert = |line: u32, character: u32, text: &str| {
            let at = json!({ "line": line, "character": character });
            json!({ "range": { "start": at, "end": at }, "text": text })
        };
        let mut change = |changes: Value| {
            let told = documents.take(said(
                "didChange",
                json!({ "textDocument": uri, "contentChanges": changes }),
            ));
            told.params["contentChanges"][0]["text"]
                .as_str()
                .unwrap_or("")
                .to_owned()
        };
        assert_eq!(change(json!([insert(1, 7, "7")])), "// é𝄞\n%0#65536\n");
        assert_eq!(
            change(json!([insert(0, 6, "!"), insert(1, 99, "0")])),
            "// é𝄞!\n%0#065536\n"
        );
        assert_eq!(change(json!([{ "text": "%0#7" }])), "%0#7");
        let gone = said(
            "didClose",
            json!({ "textDocument": { "uri": "file:///x.mlir" } }),
        );
        documents.take(gone);
        assert!(documents.0.is_empty());
    }
}
