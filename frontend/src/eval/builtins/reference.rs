//! The table of built-ins as text: the tables of the reference, and what `cutec explain` and an editor show of one.

use super::builtin::{Builtin, Level, Parameter, Presence};
use super::table;
use std::fmt::Write;

/// Begins the table of a family in a document: `<!-- builtins: numbers -->`.
const BEGIN: &str = "<!-- builtins: ";
/// Ends it.
const END: &str = "<!-- end of builtins -->";

/// A family as a table of Markdown.
fn family_table(builtins: &[Builtin]) -> String {
    let mut text = String::from("| | | |\n|---|---|---|\n");
    for entry in builtins {
        let level = match entry.level {
            Level::Both => "",
            Level::Threads => "threads",
            Level::Tiles => "tiles",
        };
        let signature = entry.signature();
        let _ = writeln!(
            text,
            "| `{signature}` | {level} | {} |",
            entry.documentation
        );
    }
    text
}

/// A document with its tables of built-ins brought up to date.
///
/// # Errors
/// When it asks for a family that there is not, or a table has no end.
pub fn with_tables(document: &str) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = document;
    while let Some(at) = rest.find(BEGIN) {
        let behind = &rest[at + BEGIN.len()..];
        let name = behind.split(" -->").next().unwrap_or_default();
        let family = table::FAMILIES.iter().find(|family| family.name == name);
        let family = family.ok_or_else(|| format!("there is no family of built-ins `{name}`"))?;
        let end = behind
            .find(END)
            .ok_or_else(|| format!("the table of `{name}` has no end"))?;
        text += &rest[..at];
        let _ = write!(
            text,
            "{BEGIN}{name} -->\n{}{END}",
            family_table(family.builtins)
        );
        rest = &behind[end + END.len()..];
    }
    Ok(text + rest)
}

/// What a name means: each form with its documentation and its arguments; `None` where nothing is called so.
pub fn explain(name: &str) -> Option<String> {
    // As it stands in the tables too: `tensor.tile`, `tile.m`.
    let is_meant = |entry: &&Builtin| {
        let signature = entry.signature();
        entry.name == name || signature.split(['<', '(']).next() == Some(name)
    };
    let forms: Vec<&Builtin> = table::all().filter(is_meant).collect();
    let texts: Vec<String> = forms.iter().map(|form| explain_form(form)).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn explain_form(form: &Builtin) -> String {
    let level = match form.level {
        Level::Both => "",
        Level::Threads => "  (in kernels launched with `grid` and `block`)",
        Level::Tiles => "  (in kernels launched with `tiles`)",
    };
    let mut text = format!("{}{level}\n    {}\n", form.signature(), form.documentation);
    for parameter in form.generics.iter().chain(form.parameters) {
        let _ = writeln!(text, "    {}", describe(parameter));
    }
    text
}

/// `width: an integer, 32 unless given`
fn describe(parameter: &Parameter) -> String {
    let words = table::words_of(parameter.kind);
    let kind = match words {
        [] => parameter.kind.describe().to_owned(),
        words => format!("{}: {}", parameter.kind.describe(), words.join(", ")),
    };
    let presence = match parameter.presence {
        Presence::Required | Presence::Either => String::new(),
        Presence::EitherOr("…") | Presence::Named("…") | Presence::Optional => {
            "; may be left out".to_owned()
        }
        Presence::EitherOr(default) | Presence::Named(default) => {
            format!("; {default} unless given")
        }
        Presence::Rest => "; any number of them".to_owned(),
    };
    format!("{}: {kind}{presence}", parameter.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference has the tables of all families, as they are. `CUTEC_BLESS=1` writes them.
    #[test]
    fn the_reference_agrees_with_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/language.md");
        let found = std::fs::read_to_string(path).expect("the reference");
        let expected = with_tables(&found).expect("families that there are");
        for family in table::FAMILIES {
            let mark = format!("{BEGIN}{} -->", family.name);
            assert_eq!(
                found.matches(&mark).count(),
                1,
                "the table of `{}`",
                family.name
            );
        }
        if std::env::var_os("CUTEC_BLESS").is_some() {
            std::fs::write(path, &expected).expect("the reference is written");
            return;
        }
        assert!(
            found == expected,
            "docs/language.md is out of date: run this test with CUTEC_BLESS=1"
        );
    }

    /// The grammar of editors colours registers and atoms.
    #[test]
    fn the_grammar_of_editors_has_registers_and_atoms() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../editors/textmate/cute.tmLanguage.json"
        );
        let grammar = std::fs::read_to_string(path).expect("the grammar");
        let families = table::FAMILIES.iter();
        let families = families.filter(|family| ["registers", "atoms"].contains(&family.name));
        for entry in families.flat_map(|family| family.builtins) {
            // MMA atoms are one pattern, a swizzle and a tile's coordinate stand among other names.
            let by_pattern = entry.name.starts_with("sm") || ["S", "tile"].contains(&entry.name);
            assert!(by_pattern || grammar.contains(entry.name), "{}", entry.name);
        }
    }

    #[test]
    fn a_document_that_asks_for_nothing_known_is_refused() {
        assert!(with_tables("<!-- builtins: nonsense -->\n<!-- end of builtins -->").is_err());
        assert!(with_tables("<!-- builtins: warp -->\n").is_err());
        assert_eq!(with_tables("plain").as_deref(), Ok("plain"));
    }

    #[test]
    fn forms_are_explained_with_their_arguments() {
        let text = explain("shuffle_xor").expect("it is one");
        assert!(text.contains("shuffle_xor(x, mask, width = 32)"), "{text}");
        assert!(
            text.contains("width: an integer; 32 unless given"),
            "{text}"
        );
        assert!(
            explain("slice")
                .expect("a method and a function")
                .contains("tiled_mma.slice(thread)")
        );
        assert!(explain("nonsense").is_none());
        for name in ["tensor.tile", "tile.m", "thread_idx.x"] {
            assert!(explain(name).is_some(), "{name}");
        }
        assert!(explain("tensor.nonsense").is_none());
    }
}
