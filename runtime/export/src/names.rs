//! Names of C and texts in it.

use std::collections::HashSet;
use std::fmt::Write;

/// What C and C++ mean by themselves, and what the headers define that come along or that a caller may have included;
/// macros in capitals aside, see [`is_reserved`].
const TAKEN: &[&str] = &[
    "DLTensor",
    "I",
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "assert",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "compl",
    "complex",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "co_await",
    "co_return",
    "co_yield",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "errno",
    "explicit",
    "export",
    "extern",
    "false",
    "far",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "imaginary",
    "inline",
    "int",
    "int16_t",
    "int32_t",
    "int64_t",
    "int8_t",
    "linux",
    "long",
    "mutable",
    "namespace",
    "near",
    "new",
    "noexcept",
    "noreturn",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "sched_priority",
    "signed",
    "sizeof",
    "small",
    "static",
    "static_assert",
    "static_cast",
    "stderr",
    "stdin",
    "stdout",
    "stream",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "uint8_t",
    "union",
    "unix",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
];

/// A name as C may have it: other characters become `_`.
pub fn identifier(name: &str) -> String {
    let letter = |letter: char| match letter.is_ascii_alphanumeric() {
        true => letter,
        false => '_',
    };
    let mut text: String = name.chars().map(letter).collect();
    if text.is_empty() || text.starts_with(|first: char| first.is_ascii_digit()) {
        text.insert(0, '_');
    }
    text
}

/// Whether C keeps a name for itself (C11, 7.1.3), or a header may have it as a macro: by custom those are in capitals, as
/// `INT32_MAX` and `EOF` are.
fn is_reserved(name: &str) -> bool {
    let begin: Vec<char> = name.chars().take(2).collect();
    let of_c = matches!(begin.as_slice(), ['_', '_' | 'A'..='Z']);
    let capitals = matches!(begin.as_slice(), ['A'..='Z', _]);
    of_c || capitals && !name.contains(|letter: char| letter.is_ascii_lowercase())
}

/// Names of parameters: none twice, and none that C or C++ has a meaning for, or that a header may define.
pub fn parameters<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut known: HashSet<String> = TAKEN.iter().map(|word| (*word).to_owned()).collect();
    let names = names.map(|name| {
        let mut name = identifier(name);
        if is_reserved(&name) {
            name.push('_');
        }
        while !known.insert(name.clone()) {
            name.push('_');
        }
        name
    });
    names.collect()
}

/// A text as a literal of C.
pub fn literal(text: &str) -> String {
    let mut literal = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            // No trigraphs.
            '?' => literal.push_str("\\?"),
            letter if letter.is_control() => {
                let mut bytes = [0; 4];
                for byte in letter.encode_utf8(&mut bytes).bytes() {
                    // Exactly three digits: what follows may be one.
                    let _ = write!(literal, "\\{byte:03o}");
                }
            }
            letter => literal.push(letter),
        }
    }
    literal.push('"');
    literal
}

/// A text within a comment.
pub fn comment(text: &str) -> String {
    text.replace("*/", "* /")
        .replace("/*", "/ *")
        .replace('\r', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_c_and_differ() {
        assert_eq!(identifier("a-b.0"), "a_b_0");
        assert_eq!(identifier("0"), "_0");
        let names = parameters(["a", "new", "a", "stream", "é"].into_iter());
        assert_eq!(names, ["a", "new_", "a_", "stream_", "_"]);
        let names =
            parameters(["INT32_MAX", "EOF", "errno", "I", "A", "sA", "_Bool", "__x"].into_iter());
        assert_eq!(
            names,
            [
                "INT32_MAX_",
                "EOF_",
                "errno_",
                "I_",
                "A",
                "sA",
                "_Bool_",
                "__x_"
            ]
        );
    }

    #[test]
    fn texts_are_what_they_were() {
        assert_eq!(literal("a\"b\\c??\u{7}1%"), r#""a\"b\\c\?\?\0071%""#);
        assert_eq!(comment("a */ b"), "a * / b");
    }
}
