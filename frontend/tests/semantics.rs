//! Evaluation and emission: `emission/*.cute` and the examples give IR that verifies, `wrong/*.cute`
//! give the diagnostics of the snapshots.

use cutec_dialects::target::Target;
use cutec_frontend::diagnostics::render::{RenderOptions, render_all};
use cutec_frontend::source::{NoImports, SourceMap};
use cutec_frontend::{LowerOptions, emit_module, load_program};
use melior::ir::operation::OperationLike;
use std::path::{Path, PathBuf};

/// IR and diagnostics of a text.
fn lower(
    name: &str,
    text: &str,
    arch: &str,
    defines: &[(&str, &str)],
    kernel: Option<&str>,
) -> (Option<String>, String) {
    let (mut map, mut diagnostics) = (SourceMap::new(), Vec::new());
    let program = load_program(&mut map, name, text, &NoImports, &mut diagnostics);
    let context = cutec_dialects::context();
    let options = LowerOptions {
        target: Target::parse(arch).unwrap(),
        kernel: kernel.map(String::from),
        defines: defines
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect(),
    };
    let module = emit_module(&context, &map, &program, &options, &mut diagnostics);
    let ir = module.map(|module| {
        assert!(
            module.as_operation().verify(),
            "{name} does not verify:\n{}",
            module.as_operation()
        );
        module.as_operation().to_string()
    });
    (ir, render_all(&diagnostics, &map, RenderOptions::PLAIN))
}

fn files(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "cute")
    });
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).unwrap())
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn correct_programs_give_ir_that_verifies() {
    for (name, text) in files("tests/emission")
        .into_iter()
        .chain(files("../examples"))
    {
        let (ir, diagnostics) = lower(&name, &text, "sm_80", &[], None);
        let ir = ir.unwrap_or_else(|| panic!("{name}:\n{diagnostics}"));
        assert!(!ir.contains("unrealized"), "{name}");
        if !name.contains("gemm") {
            insta::assert_snapshot!(format!("emission__{name}"), ir);
        }
    }
}

#[test]
fn parameters_from_the_command_line_change_the_kernel() {
    let (_, text) = files("../examples")
        .into_iter()
        .find(|(name, _)| name == "gemm.cute")
        .unwrap();
    for defines in [
        [("bk", "32"), ("stages", "4")],
        [("bm", "64"), ("bn", "128")],
    ] {
        let (ir, diagnostics) = lower("gemm.cute", &text, "sm_80", &defines, Some("gemm"));
        let ir = ir.unwrap_or_else(|| panic!("{diagnostics}"));
        for (name, value) in defines {
            assert!(ir.contains(&format!("{name} = \"{value}\"")), "{ir}");
        }
    }
    let (ir, diagnostics) = lower("gemm.cute", &text, "sm_80", &[("bkk", "32")], None);
    assert!(ir.is_none());
    insta::assert_snapshot!("define__unknown", diagnostics);
    let (_, diagnostics) = lower("gemm.cute", &text, "sm_80", &[("bk", "wide")], None);
    insta::assert_snapshot!("define__bad", diagnostics);
    for text_of_number in ["99999999999999999999", "1e999", "-"] {
        let defines = [("bk", text_of_number)];
        let (ir, diagnostics) = lower("gemm.cute", &text, "sm_80", &defines, None);
        assert!(
            ir.is_none() && diagnostics.contains("not a value"),
            "{diagnostics}"
        );
    }
    let (_, diagnostics) = lower("gemm.cute", &text, "sm_80", &[], Some("gem"));
    insta::assert_snapshot!("define__kernel", diagnostics);
}

#[test]
fn wrong_programs_are_explained() {
    for (name, text) in files("tests/wrong") {
        let (ir, diagnostics) = lower(&name, &text, "sm_80", &[], None);
        assert!(ir.is_none(), "{name} was accepted");
        insta::assert_snapshot!(format!("wrong__{name}"), diagnostics);
    }
}

/// Every whole program in the documents compiles: in the reference those are marked, for its first part shows syntax.
#[test]
fn examples_of_the_documents_compile() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        for part in text.split("\n```cute").skip(1) {
            let (kind, rest) = part.split_once('\n').unwrap();
            let (example, _) = rest.split_once("\n```").unwrap();
            if name == "language.md" && !kind.starts_with("-emits") {
                continue;
            }
            let arch = kind.strip_prefix("-emits-").unwrap_or("sm_80");
            let (ir, diagnostics) = lower(&format!("{name} {count}"), example, arch, &[], None);
            assert!(ir.is_some(), "{diagnostics}");
            count += 1;
        }
    }
    assert!(count > 5, "only {count} examples found");
}

/// Words and signs of a text, in order.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let end = match word(first) {
            true => rest.find(|c| !word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        pieces.push(&rest[..end]);
        rest = &rest[end..];
    }
    pieces
}

#[test]
fn mutated_programs_are_survived() {
    let context = cutec_dialects::context();
    let rounds = std::env::var("CUTEC_FUZZ_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(25u64);
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below.max(1) as u64) as usize
    };
    for (name, text) in files("tests/emission")
        .into_iter()
        .chain(files("../examples"))
    {
        let words = pieces(&text);
        for _ in 0..rounds {
            let mut mutated = words.clone();
            for _ in 0..1 + random(3) {
                let (at, other) = (random(mutated.len()), random(words.len()));
                match random(4) {
                    0 => {
                        let with = random(mutated.len());
                        mutated.swap(at, with);
                    }
                    1 => drop(mutated.remove(at)),
                    2 => mutated[at] = words[other],
                    _ => {
                        mutated[at] = [
                            "0",
                            "-1",
                            "_",
                            "m",
                            "(1, 2)",
                            "1.5",
                            "thread_idx.x",
                            "true",
                            "f16",
                        ][random(9)]
                    }
                }
            }
            let text = mutated.concat();
            let (mut map, mut diagnostics) = (SourceMap::new(), Vec::new());
            let program = load_program(&mut map, &name, &text, &NoImports, &mut diagnostics);
            let options = LowerOptions {
                target: Target::parse("sm_90a").unwrap(),
                kernel: None,
                defines: Vec::new(),
            };
            let module = emit_module(&context, &map, &program, &options, &mut diagnostics);
            match module {
                Some(module) => assert!(module.as_operation().verify(), "{text}"),
                None => assert!(
                    diagnostics.iter().any(|diagnostic| diagnostic.is_error()),
                    "{text}"
                ),
            }
            render_all(&diagnostics, &map, RenderOptions::PLAIN);
        }
    }
}
