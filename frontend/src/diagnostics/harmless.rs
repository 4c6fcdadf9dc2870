//! Text of others as a terminal may be given it: what a source says must not move the cursor, change colours or titles, or turn
//! the order of letters around.

use std::borrow::Cow;

/// The text with other characters in place of those that control a terminal or the direction of writing. Each takes as many bytes as
/// what it stands for, so that places stay where they are; ends of lines and tabs are left.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    match text.contains(controls) {
        true => Cow::Owned(text.chars().map(shown).collect()),
        false => Cow::Borrowed(text),
    }
}

fn shown(one: char) -> char {
    match (controls(one), one.len_utf8()) {
        (false, _) => one,
        (true, 1) => '?',
        (true, 2) => '¿',
        (true, _) => '\u{fffd}',
    }
}

fn controls(one: char) -> bool {
    // What else some take for the end of a line is none where lines are counted.
    let ends_line = matches!(one, '\n' | '\r' | '\t');
    let turns = matches!(one, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    one.is_control() && !ends_line || turns || matches!(one, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_controls_a_terminal_is_replaced_in_place() {
        for (text, expected) in [
            ("let x = 1;\t// ä\r\n", "let x = 1;\t// ä\r\n"),
            ("\u{1b}[31m\u{1b}]0;title\u{7}", "?[31m?]0;title?"),
            ("\u{9b}31m", "¿31m"),
            ("1\u{b}2\u{c}3\u{85}4\u{2028}5", "1?2?3¿4\u{fffd}5"),
            ("a\u{202e}b\u{2066}\u{7f}", "a\u{fffd}b\u{fffd}?"),
        ] {
            assert_eq!(harmless(text), expected);
            assert_eq!(harmless(text).len(), text.len());
        }
    }
}
