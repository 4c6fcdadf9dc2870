use super::{Meaning, Names, resolve};
use crate::load_program;
use crate::source::{FileId, NoImports, SourceMap};

fn names(text: &str) -> Names {
    let (mut map, mut diagnostics) = (SourceMap::new(), Vec::new());
    let program = load_program(&mut map, "t.cute", text, &NoImports, &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    resolve(&program)
}

const TEXT: &str = "\
record Ring { index, fn next(self, by) { self.index + by } }
fn twice(a) { let b = a + a; b }
kernel k<bm = 8>(x: tensor<f32, (m, n)>, y: mut tensor<f32, m>) where n % 4 == 0 launch grid(m), block(bm) {
    let ring = Ring { index = 1 };
    for i in 0..n { let i = twice(a = i); y[i] = x[i, ring.next(1)]; }
}
test t { var y = zeros<f32>(4); k<bm = 16>(y, y); assert_eq(y[i], sum(l) { y[i] * y[l] }); }
";

/// What the name at the nth occurrence of a text is, and at which byte it is defined.
fn meaning(names: &Names, needle: &str, nth: usize) -> (Meaning, u32) {
    let at = TEXT.match_indices(needle).nth(nth).expect("there").0;
    let found = names.at(FileId(0), at as u32 + 1).expect("a name");
    let definition = names
        .meanings(found)
        .next()
        .unwrap_or_else(|| panic!("{needle} {nth}"));
    (definition.meaning, definition.span.start)
}

#[test]
fn names_stand_for_what_is_in_scope() {
    let names = names(TEXT);
    for (needle, nth, expected) in [
        ("twice", 1, Meaning::Function),
        ("index", 1, Meaning::Field),
        ("index", 2, Meaning::Field),
        ("next", 1, Meaning::Method),
        ("Ring", 1, Meaning::Record),
        ("bm", 1, Meaning::StaticParameter),
        ("bm", 2, Meaning::StaticParameter),
        ("ring", 1, Meaning::Variable),
    ] {
        assert_eq!(meaning(&names, needle, nth).0, expected, "{needle} {nth}");
    }
    // The inner `i` hides the outer one behind its statement.
    let text = TEXT;
    let outer = text.find("for i").expect("there") as u32 + 4;
    let inner = text.find("let i").expect("there") as u32 + 4;
    let argument = text.find("= i)").expect("there") as u32 + 2;
    let index = text.find("y[i]").expect("there") as u32 + 2;
    let of = |at: u32| {
        let found = names.at(FileId(0), at).expect("a name");
        names
            .meanings(found)
            .map(|it| it.span.start)
            .collect::<Vec<_>>()
    };
    assert_eq!(of(argument), [outer]);
    assert_eq!(of(index), [inner]);
    // An argument by name is the parameter.
    let by_name = text.find("a = i").expect("there") as u32;
    assert_eq!(of(by_name), [text.find("a) {").expect("there") as u32]);
}

#[test]
fn references_are_all_there_are() {
    let names = names(TEXT);
    let text = TEXT;
    let count = |needle: &str| {
        let at = text.find(needle).expect("there") as u32;
        let found = names.at(FileId(0), at).expect("a name");
        names.references(&found.definitions).count()
    };
    assert_eq!(count("twice(a)"), 2);
    assert_eq!(count("m, n)>"), 3);
    assert_eq!(count("bm = 8"), 3);
}

#[test]
fn what_can_be_named_follows_from_the_place() {
    let names = names(TEXT);
    let text = TEXT;
    let visible = |needle: &str| -> Vec<String> {
        let at = text.find(needle).expect("there") as u32;
        let visible = names.visible(FileId(0), at);
        visible.iter().map(|it| it.name.to_string()).collect()
    };
    assert_eq!(
        visible("y[i] = x"),
        [
            "Ring", "twice", "k", "bm", "x", "m", "n", "y", "ring", "i", "t"
        ]
    );
    assert_eq!(visible("b }"), ["Ring", "twice", "a", "b", "k", "t"]);
}

#[test]
fn what_a_file_defines_hides_what_the_library_does() {
    let text =
        "import \"std/activations.cute\";\nfn sigmoid(x) { x }\nfn f(x) { sigmoid(silu(x)) }";
    let names = names(text);
    let use_of = |needle: &str| {
        let at = text.rfind(needle).expect("there") as u32;
        let found = names.at(FileId(0), at + 1).expect("a name");
        names.meanings(found).next().expect("a meaning").span.file
    };
    assert_eq!(use_of("sigmoid("), FileId(0));
    assert_ne!(use_of("silu("), FileId(0));
    let visible = |file: FileId, name: &str| -> Vec<FileId> {
        let found = names.visible(file, 0);
        let named = found.iter().filter(|found| &*found.name == name);
        named.map(|found| found.span.file).collect()
    };
    assert_eq!(visible(FileId(0), "sigmoid"), [FileId(0)]);
    let library = use_of("silu(");
    assert_eq!(visible(FileId(0), "silu"), [library]);
    // The library sees its own alone.
    assert_eq!(visible(library, "sigmoid"), [library]);
    assert!(visible(library, "f").is_empty());
}
