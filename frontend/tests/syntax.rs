//! Programs that parse, programs that do not, and texts that are no programs.
//!
//! `tests/programs/*.cute` must parse without a diagnostic and survive printing. Each file of
//! `tests/syntax/*.cute` names the codes it provokes in `//~ E0001` behind the line to blame; its
//! rendered diagnostics are a snapshot.

use cutec_frontend::diagnostics::render::{RenderOptions, render_all};
use cutec_frontend::parser::{MAX_ERRORS, parse_file};
use cutec_frontend::source::{LoadedSource, NoImports, SourceLoader, SourceMap};
use cutec_frontend::{Diagnostic, load_program};
use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;

fn parse(name: &str, text: &str) -> (String, Vec<Diagnostic>, SourceMap) {
    let mut map = SourceMap::new();
    let id = map.add(name, text);
    let mut diagnostics = Vec::new();
    let file = parse_file(&map, id, &mut diagnostics);
    (file.to_string(), diagnostics, map)
}

fn sources(folder: &str) -> Vec<(String, String)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(folder);
    let mut files: Vec<_> = fs::read_dir(root)
        .expect("test folder")
        .map(|entry| entry.expect("entry").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "cute")
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no tests in {folder}");
    files
        .into_iter()
        .map(|path| {
            let name = path
                .file_name()
                .expect("name")
                .to_string_lossy()
                .into_owned();
            (name, fs::read_to_string(&path).expect("readable"))
        })
        .collect()
}

/// The tree without spans and depths.
fn shape(name: &str, text: &str) -> String {
    let mut map = SourceMap::new();
    let id = map.add(name, text);
    let file = parse_file(&map, id, &mut Vec::new());
    let tree = format!("{file:#?}");
    let lines = tree.lines().filter(|line| {
        let line = line.trim_start();
        !line.starts_with("span: ") && !line.starts_with("depth: ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn programs_parse_and_print_and_parse_again() {
    for (name, text) in sources("programs") {
        let (printed, diagnostics, map) = parse(&name, &text);
        let shown = render_all(&diagnostics, &map, RenderOptions::PLAIN);
        assert!(diagnostics.is_empty(), "{name}:\n{shown}");
        let (again, diagnostics, map) = parse(&name, &printed);
        let shown = render_all(&diagnostics, &map, RenderOptions::PLAIN);
        assert!(diagnostics.is_empty(), "{name}, printed:\n{shown}");
        assert_eq!(printed, again, "{name}: printing is not stable");
        assert_eq!(
            shape(&name, &text),
            shape(&name, &printed),
            "{name}: another tree"
        );
    }
}

#[test]
fn examples_of_the_reference_parse() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/language.md");
    let text = fs::read_to_string(path).expect("docs/language.md");
    let mut count = 0;
    for part in text.split("\n```cute").skip(1) {
        let (kind, rest) = part.split_once('\n').expect("a line");
        let (example, _) = rest.split_once("\n```").expect("the end of the example");
        let example = match kind {
            "-statements" => format!("fn example() {{\n{example}\n}}"),
            _ => example.to_owned(),
        };
        let (_, diagnostics, map) = parse("language.md", &example);
        let shown = render_all(&diagnostics, &map, RenderOptions::PLAIN);
        assert!(diagnostics.is_empty(), "{shown}");
        count += 1;
    }
    assert!(count > 5, "only {count} examples found");
}

#[test]
fn the_tree_of_everything() {
    for (name, text) in sources("programs") {
        let (printed, _, _) = parse(&name, &text);
        insta::assert_snapshot!(
            format!("printed_{}", name.trim_end_matches(".cute")),
            printed
        );
    }
}

#[test]
fn errors_are_where_the_files_say_and_read_well() {
    let mut wrong = String::new();
    for (name, text) in sources("syntax") {
        let (_, diagnostics, map) = parse(&name, &text);
        let mut expected = Vec::new();
        for (at, line) in text.lines().enumerate() {
            for marker in line.split("//~").skip(1) {
                expected.extend(
                    marker
                        .split_whitespace()
                        .map(|code| (at as u32 + 1, code.to_owned())),
                );
            }
        }
        let mut found: Vec<_> = diagnostics
            .iter()
            .map(|one| (map.line_column(one.span()).line, one.code.to_string()))
            .collect();
        found.sort();
        expected.sort();
        let shown = render_all(&diagnostics, &map, RenderOptions::PLAIN);
        insta::assert_snapshot!(name.trim_end_matches(".cute").to_owned(), shown);
        if found != expected {
            let extra = found.iter().filter(|one| !expected.contains(one));
            let missing = expected.iter().filter(|one| !found.contains(one));
            wrong.push_str(&format!(
                "{name}: not expected {:?}, missing {:?}\n",
                extra.collect::<Vec<_>>(),
                missing.collect::<Vec<_>>()
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

struct Files(&'static [(&'static str, &'static str)]);

impl SourceLoader for Files {
    fn load(&self, _importer: &str, path: &str) -> Result<LoadedSource, String> {
        let (name, text) = self
            .0
            .iter()
            .find(|(name, _)| *name == path)
            .ok_or("there is no such file")?;
        Ok(LoadedSource {
            name: (*name).to_owned(),
            text: (*text).into(),
        })
    }
}

#[test]
fn imports_come_in_once_and_names_are_of_files() {
    let files = Files(&[
        (
            "a.cute",
            "import \"b.cute\"; import \"main.cute\"; fn f() { F } fn h() { 1 } test t { }",
        ),
        (
            "b.cute",
            "import \"a.cute\"; const F = 1; fn g() { h() } record h { a } test t { }",
        ),
        (
            "c.cute",
            "kernel k() launch grid(1), block(32) { }\nfn h() { 2 }\nfn g() { h() }",
        ),
    ]);
    let root = "import \"a.cute\";\nimport \"b.cute\";\nimport \"none.cute\";\nimport \"std/none.cute\";\nimport \"c.cute\";\n\
                fn f() { h() + F }\nconst f = 1;\nkernel k() launch grid(1), block(32) { }\n";
    let mut map = SourceMap::new();
    let mut diagnostics = Vec::new();
    let program = load_program(&mut map, "main.cute", root, &files, &mut diagnostics);
    assert_eq!(program.files.len(), 4);
    insta::assert_snapshot!(render_all(&diagnostics, &map, RenderOptions::PLAIN));
}

#[test]
fn deep_nesting_is_an_error_not_an_overflow() {
    let deep = 20_000;
    let cases = [
        format!("const X = {}1{};", "(".repeat(deep), ")".repeat(deep)),
        format!("const X = {}1{};", "[".repeat(deep), "]".repeat(deep)),
        format!("const X = {}1;", "-".repeat(deep)),
        format!("const X = 1{};", " + 1".repeat(deep)),
        format!("const X = x{};", ".y".repeat(deep)),
        format!("const X = x{};", "(1)".repeat(deep)),
        format!("const X = a{};", " o a".repeat(deep)),
        format!("fn f() {{ {}{} }}", "{".repeat(deep), "}".repeat(deep)),
        format!("fn f() {{ {}{} }}", "if x {".repeat(deep), "}".repeat(deep)),
        format!("fn f() {{ if x {{}} {} }}", "else if x {}".repeat(deep)),
        format!(
            "fn f() {{ let {}x{} = 1; }}",
            "(".repeat(deep),
            ")".repeat(deep)
        ),
        format!("fn f(x: {}a{}) {{ }}", "(".repeat(deep), ")".repeat(deep)),
        format!("const X = {}1{};", "f<".repeat(deep), ">".repeat(deep)),
        format!("const X = {}", "f<".repeat(deep)),
        "(".repeat(deep),
        "{".repeat(deep),
        "}".repeat(deep),
        "/*".repeat(deep),
        "kernel ".repeat(deep),
        "fn f() { x y; }".repeat(deep),
        format!("fn f() {{ {} }}", "x y; ".repeat(deep)),
    ];
    for case in cases {
        let (_, diagnostics, map) = parse("deep.cute", &case);
        let start: String = case.chars().take(20).collect();
        // A composition is flat, however long.
        assert_eq!(diagnostics.is_empty(), case.contains(" o a"), "{start}");
        assert!(diagnostics.len() <= MAX_ERRORS + 1, "{start}");
        render_all(&diagnostics, &map, RenderOptions::PLAIN);
    }
}

/// Every text is parsed in time, and all that is said about it can be shown.
fn check_any_text(text: &str) {
    let mut map = SourceMap::new();
    let mut diagnostics = Vec::new();
    let program = load_program(&mut map, "fuzz.cute", text, &NoImports, &mut diagnostics);
    for one in &diagnostics {
        for label in &one.labels {
            assert!(label.span.end as usize <= text.len(), "{one:?}");
            assert!(text.is_char_boundary(label.span.start as usize), "{one:?}");
        }
    }
    render_all(&diagnostics, &map, RenderOptions::PLAIN);
    if diagnostics.is_empty() {
        let printed = program.files[0].to_string();
        let (again, errors, _) = parse("again.cute", &printed);
        assert!(
            errors.is_empty(),
            "{text}\nprinted as\n{printed}\n{errors:#?}"
        );
        assert_eq!(printed, again);
        assert_eq!(
            shape("fuzz.cute", text),
            shape("fuzz.cute", &printed),
            "{text}\n{printed}"
        );
    }
}

/// The text of an expression. Operands of operators are in parentheses, so that all trees occur.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "a",
        "b",
        "o",
        "step",
        "1",
        "0x1f",
        "2.5",
        "1e-9",
        "3f16",
        "true",
        "_",
        "()",
        "[]",
        "\"s\\n\"",
        "S<3,3,3>",
        "fma<f32, bits = 32>",
    ]);
    leaf.prop_map(str::to_owned)
        .prop_recursive(5, 40, 3, |inner| {
            let operator = prop::sample::select(vec![
                "||", "&&", "==", "!=", "<", "<=", ">", ">=", "|", "^", "&", "<<", ">>", "+", "-",
                "*", "/", "%", ":", "o", "..",
            ]);
            let form = prop::sample::select(vec![
                "-({})",
                "!({})",
                "({})(x, {})",
                "({})[{}, _]",
                "({}).m",
                "({}).m(n = {})",
                "f<({})>(x)",
                "({})@1",
                "({},)",
                "({}, {})",
                "[{}, {}]",
                "sum(l) { {} }",
                "sum(l in {}) { let q = {}; q }",
                "{ f({}); }",
                "{ {} }",
                "(({})..({}) step ({}))",
                "if {} { {} } else { {} }",
                "if ({}) { {} }",
                "static if a { {} } else if {} { b } else { {} }",
                "t<f16, ({})>",
                "f(a<b, {})",
                "({}) o ({}) o ({})",
            ]);
            prop_oneof![
                (inner.clone(), operator, inner.clone())
                    .prop_map(|(lhs, operator, rhs)| format!("({lhs}) {operator} ({rhs})")),
                (form, prop::collection::vec(inner, 3)).prop_map(|(form, parts)| {
                    parts
                        .iter()
                        .fold(form.to_owned(), |text, part| text.replacen("{}", part, 1))
                        .replace("{}", "a")
                }),
            ]
        })
}

const PIECES: &[&str] = &[
    "import",
    "const",
    "fn",
    "kernel",
    "test",
    "bench",
    "where",
    "launch",
    "let",
    "var",
    "mut",
    "if",
    "else",
    "static",
    "for",
    "in",
    "while",
    "loop",
    "break",
    "continue",
    "return",
    "true",
    "false",
    "_",
    "o",
    "step",
    "x",
    "y",
    "size",
    "sum",
    "f16",
    "tensor",
    "grid",
    "block",
    "(",
    ")",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "{",
    "}",
    ",",
    ",",
    ";",
    ";",
    ":",
    ".",
    "..",
    "->",
    "=>",
    "@",
    "=",
    "+=",
    ">>=",
    "+",
    "-",
    "*",
    "/",
    "&",
    "|",
    "&&",
    "!",
    "==",
    "<",
    ">",
    "<",
    ">",
    "<<",
    ">=",
    "1",
    "0.5",
    "\"s\"",
    "0x",
    "1abc",
    "\"",
    "/*",
    "///d\n",
    "//c\n",
    "é",
    "$",
    "\n",
    "\\",
    "x<1>(y)",
    "let x = 1;",
    "if x { }",
    "sum(l) { x[l] }",
    "S<3,3,3> o 0 o (8,64):(64,1)",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_survived(text in any::<String>()) {
        check_any_text(&text);
    }

    #[test]
    fn expressions_print_as_they_were_meant(text in expression(), place in 0..5) {
        let text = match place {
            0 => format!("fn f() {{ let x = {text}; }}"),
            1 => format!("fn f() {{ ({text}); x = 1; }}"),
            2 => format!("fn f() {{ if ({text}) {{ }} for x in ({text}) {{ }} }}"),
            3 => format!("kernel k<n = ({text})>(x: t<({text})>) where ({text}) launch grid({text}), block(1) {{ }}"),
            _ => format!("fn f() {{ {text} }}"),
        };
        check_any_text(&text);
    }

    #[test]
    fn any_tokens_are_survived(
        pieces in prop::collection::vec((0..PIECES.len(), any::<bool>()), 0..60),
        inside in any::<bool>(),
    ) {
        let mut text = String::new();
        for (piece, space) in pieces {
            text.push_str(PIECES[piece]);
            if space {
                text.push(' ');
            }
        }
        if inside {
            text = format!("fn f(x, y) {{ {text} }}");
        }
        check_any_text(&text);
    }

    #[test]
    fn mutated_programs_are_survived(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..3, 0..PIECES.len()), 1..6),
        which in any::<prop::sample::Index>(),
    ) {
        let programs = sources("programs");
        let (_, mut text) = programs[which.index(programs.len())].clone();
        for (place, kind, piece) in edits {
            let mut at = place.index(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            match (kind, text[at..].chars().next()) {
                (0, Some(_)) => { text.remove(at); }
                (1, _) => text.insert_str(at, PIECES[piece]),
                _ if at > text.len() / 2 => text.truncate(at),
                _ => {}
            }
        }
        check_any_text(&text);
    }
}
