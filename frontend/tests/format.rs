//! The formatter on every `.cute` file of the repository, as it is and with other line breaks.

use cutec_frontend::format::{Refused, format};
use cutec_frontend::parser::parse_file;
use cutec_frontend::source::SourceMap;
use std::path::{Path, PathBuf};

fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<PathBuf> = ["examples", "frontend/std", "frontend/tests", "test-suite"]
        .map(|name| root.join(name))
        .into();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "cute")
                && let Ok(text) = std::fs::read_to_string(&path)
            {
                found.push((path.display().to_string(), text));
            }
        }
    }
    found.sort();
    found
}

/// The tree without its places.
fn tree(text: &str) -> String {
    let mut sources = SourceMap::new();
    let id = sources.add("a.cute", text);
    parse_file(&sources, id, &mut Vec::new()).to_string()
}

/// What comments and documentation there is.
fn comments(text: &str) -> Vec<String> {
    let mut ignored = Vec::new();
    let file = cutec_frontend::FileId(0);
    let lexed = cutec_frontend::lexer::lex(file, text, &mut ignored);
    let texts = lexed
        .comments
        .iter()
        .map(|range| &text[range.start as usize..range.end as usize]);
    texts.map(|text| text.trim_end().to_owned()).collect()
}

/// The formatted text, if it parses, once it has kept what it must keep.
fn check(name: &str, text: &str) -> Option<String> {
    let once = match format(name, text) {
        Ok(once) => once,
        Err(Refused::Wrong { .. }) => return None,
        Err(Refused::Unfaithful) => panic!("{name}: another program\n{text}"),
    };
    assert_eq!(tree(text), tree(&once), "{name}");
    assert_eq!(comments(text), comments(&once), "{name}");
    let twice = format(name, &once).expect("it parses");
    assert!(
        once == twice,
        "{name}: not in its style once formatted\n{once}\n----\n{twice}"
    );
    Some(once)
}

#[test]
fn every_file_keeps_its_meaning_and_its_style() {
    let sources = sources();
    let formatted = sources
        .iter()
        .filter(|(name, text)| check(name, text).is_some());
    assert!(formatted.count() > 150, "the files are not where they were");
}

/// Spaces become line breaks and the other way round, wherever no comment or string is.
#[test]
fn any_line_breaks_do() {
    let mut state = 1u64;
    let mut random = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let mut accepted = 0;
    for (name, text) in sources() {
        for _ in 0..3 {
            let denser = random() % 3;
            let mut mangled = String::new();
            for line in text.lines() {
                if line.contains("//") || line.contains('"') || line.contains("/*") {
                    mangled.push_str(line);
                    mangled.push('\n');
                    continue;
                }
                for part in line.split_inclusive([' ', '(', ',']) {
                    mangled.push_str(part);
                    if random() % 8 < denser {
                        mangled.push('\n');
                    }
                }
                mangled.push_str(match random() % 3 < denser {
                    true => " ",
                    false => "\n",
                });
            }
            accepted += usize::from(check(&name, &mangled).is_some());
        }
    }
    assert!(accepted > 400, "{accepted} of the texts parse");
}
