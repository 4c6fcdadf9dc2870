//! Messages of the protocol on standard input and output, of bounded size: `Content-Length` is a number that anybody can
//! write. Of a text that is no message the other side is told; what does not say how long it is ends the conversation.

use crossbeam_channel::bounded;
use lsp_server::{Connection, ErrorCode, Message};
use serde_json::error::Category;
use serde_json::json;
use std::io::{self, BufRead, Read, Write};
use std::thread::JoinHandle;

/// The longest message that is read. An editor sends whole files, as JSON text.
const MAX_MESSAGE_BYTES: u64 = 2 * cutec::files::MAX_SOURCE_BYTES;
/// The longest line of a header, and the most lines of one.
const MAX_HEADER_BYTES: u64 = 1024;
const MAX_HEADER_LINES: usize = 32;

/// What is no message of the protocol.
#[derive(Debug, thiserror::Error)]
enum Malformed {
    #[error(
        "a header of the protocol: expected `NAME: VALUE` of at most {MAX_HEADER_BYTES} bytes, found {found:?}"
    )]
    Header { found: String },
    #[error("a header of the protocol: expected at most {MAX_HEADER_LINES} lines")]
    HeaderLines,
    #[error(
        "a header of the protocol: expected Content-Length of at most {MAX_MESSAGE_BYTES}, found {found}"
    )]
    Length { found: String },
    #[error("a message of the protocol ends after {found} of {expected} bytes")]
    Truncated { expected: u64, found: usize },
    #[error("a message of the protocol: {0}")]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Malformed> for io::Error {
    fn from(error: Malformed) -> Self {
        match error {
            Malformed::Io(error) => error,
            error => Self::new(io::ErrorKind::InvalidData, error),
        }
    }
}

/// Reads a message; `None` at the end. A text that is no message is answered on `to`, and passed over.
///
/// # Errors
/// When reading or answering fails, or a header says no length or too large a one.
pub fn receive(from: &mut impl BufRead, to: &mut impl Write) -> io::Result<Option<Message>> {
    loop {
        match read(from) {
            Err(Malformed::Json(error)) => refuse(&error, to)?,
            other => return Ok(other?),
        }
    }
}

/// The answer to a text that is no message. It has no number: nobody knows which one it had.
fn refuse(error: &serde_json::Error, to: &mut impl Write) -> io::Result<()> {
    let code = match error.classify() {
        Category::Data => ErrorCode::InvalidRequest,
        Category::Io | Category::Syntax | Category::Eof => ErrorCode::ParseError,
    };
    let message = error.to_string();
    let error = json!({ "code": code as i32, "message": message });
    let answer = json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string();
    // At once, between messages of the thread that answers.
    let framed = format!("Content-Length: {}\r\n\r\n{answer}", answer.len());
    to.write_all(framed.as_bytes())?;
    to.flush()
}

fn read(from: &mut impl BufRead) -> Result<Option<Message>, Malformed> {
    let mut length = None;
    for lines in 0.. {
        if lines == MAX_HEADER_LINES {
            return Err(Malformed::HeaderLines);
        }
        let mut line = Vec::new();
        from.take(MAX_HEADER_BYTES).read_until(b'\n', &mut line)?;
        if line.is_empty() && lines == 0 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&line);
        if text == "\r\n" {
            break;
        }
        let header = text
            .strip_suffix("\r\n")
            .and_then(|text| text.split_once(": "));
        let Some((name, value)) = header else {
            let found = text.chars().take(80).collect();
            return Err(Malformed::Header { found });
        };
        if name.eq_ignore_ascii_case("Content-Length") {
            let found: Option<u64> = value.parse().ok();
            let fits = found.filter(|length| *length <= MAX_MESSAGE_BYTES);
            length = Some(fits.ok_or_else(|| Malformed::Length {
                found: value.to_owned(),
            })?);
        }
    }
    let Some(expected) = length else {
        let found = "none".to_owned();
        return Err(Malformed::Length { found });
    };
    // The text grows as it arrives, not to what the header says.
    let mut text = Vec::new();
    from.take(expected).read_to_end(&mut text)?;
    if (text.len() as u64) < expected {
        let found = text.len();
        return Err(Malformed::Truncated { expected, found });
    }
    Ok(Some(serde_json::from_slice(&text)?))
}

/// The threads behind a connection.
pub struct Threads {
    reader: JoinHandle<io::Result<()>>,
    writer: JoinHandle<io::Result<()>>,
}

impl Threads {
    /// Waits for the end of the conversation, once the connection is dropped.
    ///
    /// # Errors
    /// What broke it.
    pub fn join(self) -> io::Result<()> {
        let end = |thread: JoinHandle<io::Result<()>>| match thread.join() {
            Ok(result) => result,
            Err(_) => Err(io::Error::other("a thread of the connection panicked")),
        };
        end(self.reader)?;
        end(self.writer)
    }
}

/// The connection to whoever started the program.
///
/// # Errors
/// When there are no threads to be had.
pub fn stdio() -> io::Result<(Connection, Threads)> {
    // Rendezvous: nobody reads ahead of whoever answers.
    let (sender, outgoing) = bounded::<Message>(0);
    let (incoming, receiver) = bounded::<Message>(0);
    let writer = std::thread::Builder::new().spawn(move || {
        let mut messages = outgoing.into_iter();
        messages.try_for_each(|message| message.write(&mut io::stdout().lock()))
    })?;
    let reader = std::thread::Builder::new().spawn(move || {
        let mut stdin = io::stdin().lock();
        while let Some(message) = receive(&mut stdin, &mut io::stdout())? {
            let last = matches!(&message, Message::Notification(said) if said.method == "exit");
            // Nobody listens any more: the other side says why.
            if incoming.send(message).is_err() || last {
                break;
            }
        }
        Ok(())
    })?;
    Ok((Connection { sender, receiver }, Threads { reader, writer }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        let result = read(&mut text.as_bytes());
        result.expect_err("malformed").to_string()
    }

    #[test]
    fn messages_are_read_one_after_the_other() {
        let exit = r#"{"jsonrpc":"2.0","method":"exit"}"#;
        let one = format!("content-length: {}\r\nX: y\r\n\r\n{exit}", exit.len());
        let two = one.repeat(2);
        let mut from = two.as_bytes();
        for _ in 0..2 {
            let message = read(&mut from).expect("well-formed");
            assert!(matches!(message, Some(Message::Notification(said)) if said.method == "exit"));
        }
        assert!(read(&mut from).expect("the end").is_none());
    }

    #[test]
    fn a_text_that_is_no_message_is_answered_and_passed_over() {
        let exit = r#"{"jsonrpc":"2.0","method":"exit"}"#;
        let deep = "[".repeat(100_000);
        let texts = ["[[[[", "", "\u{feff}", &deep, "[1]", exit];
        let framed = texts.map(|text| format!("Content-Length: {}\r\n\r\n{text}", text.len()));
        let (framed, mut answers) = (framed.concat(), Vec::new());
        let message = receive(&mut framed.as_bytes(), &mut answers).expect("well-formed headers");
        assert!(matches!(message, Some(Message::Notification(said)) if said.method == "exit"));
        let answers = String::from_utf8(answers).expect("UTF-8");
        assert_eq!(answers.matches("\"id\":null").count(), 5);
        assert_eq!(answers.matches("-32700").count(), 4);
        assert_eq!(answers.matches("-32600").count(), 1);
    }

    #[test]
    fn nothing_is_read_without_limit() {
        assert!(error("Content-Length: 99999999999999\r\n\r\n{}").contains("at most 134217728"));
        assert!(error("Content-Length: -1\r\n\r\n{}").contains("found -1"));
        assert!(error("\r\n{}").contains("found none"));
        assert!(error("Content-Length: 100\r\n\r\n{}").contains("after 2 of 100 bytes"));
        assert!(error(&"x".repeat(1 << 20)).contains("at most 1024 bytes"));
        assert!(error(&"a: b\r\n".repeat(100)).contains("at most 32 lines"));
    }
}
