//! What a user did wrong and only a pass sees, with its code and what to write instead.
//!
//! MLIR's diagnostics are texts. So the code stands behind the message, as Clang's warnings name their flag, and the
//! help line between: `message\nhelp: … [E0130]`. `cute-opt` prints it so, [`split`] takes it apart for `cutec`. A
//! message without a code says that a pass met what the passes before it should not have left: a bug of ours.

use cutec_dialects::semantics::SemError;
use cutec_frontend::diagnostics::{Code, codes};
use cutec_layout::LayoutError;

const HELP: &str = "\nhelp: ";

/// The text of an error of the user's, or of a warning. No types of the IR stand in it.
pub fn user_error(code: Code, message: impl Into<String>, help: &str) -> String {
    format!("{}{HELP}{help} [{code}]", message.into())
}

/// The text of an error of an operation: of the user's where offsets in a tensor are too large, else of ours.
pub fn of_semantics(error: &SemError) -> String {
    match error {
        SemError::Overflow | SemError::Layout(LayoutError::Overflow { .. }) => user_error(
            codes::ARITHMETIC,
            "an offset in this tensor does not fit 64 bits",
            "make its extents and strides smaller",
        ),
        other => other.to_string(),
    }
}

/// A text of a pass, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub struct Parts<'a> {
    /// The code, if it is an error of the user's.
    pub code: Option<Code>,
    /// The message.
    pub message: &'a str,
    /// What to write instead.
    pub help: Option<&'a str>,
}

/// Takes apart what [`user_error`] put together.
pub fn split(text: &str) -> Parts<'_> {
    let coded = text.strip_suffix(']').and_then(|text| {
        let (text, code) = text.rsplit_once(" [")?;
        let known = codes::lookup(code)?.code;
        (known.to_string() == code).then_some((text, known))
    });
    let Some((text, code)) = coded else {
        return Parts {
            code: None,
            message: text,
            help: None,
        };
    };
    let (message, help) = match text.split_once(HELP) {
        Some((message, help)) => (message, Some(help)),
        None => (text, None),
    };
    Parts {
        code: Some(code),
        message,
        help,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_together_is_taken_apart() {
        let text = user_error(codes::SHARED_MEMORY, "too much: 1 [kB]", "write less");
        assert_eq!(text, "too much: 1 [kB]\nhelp: write less [E0130]");
        let parts = split(&text);
        assert_eq!(parts.code, Some(codes::SHARED_MEMORY));
        assert_eq!(parts.message, "too much: 1 [kB]");
        assert_eq!(parts.help, Some("write less"));
    }

    #[test]
    fn other_texts_have_no_code() {
        for text in [
            "",
            "plain",
            "ends in [brackets]",
            "no such code [E0999]",
            "a number [130]",
            "]",
        ] {
            let parts = split(text);
            assert_eq!((parts.code, parts.message, parts.help), (None, text, None));
        }
    }
}
