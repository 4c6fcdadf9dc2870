//! Evaluation and emission: `emission/*.cute` and the examples give IR that verifies, `wrong/*.cute`
//! give the diagnostics of the snapshots.

use cutec_dialects::target::Target;
use cutec_frontend::diagnostics::render::{RenderOptions, render_all};
use cutec_frontend::source::{NoImports, SourceMap};
use cutec_frontend::{LowerOptions, chosen_kernels, emit_module, load_program, space};
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

/// Configurations, and how many each condition refuses.
type Configurations = (Vec<String>, Vec<(String, usize)>);

/// The configurations of the kernel of a text, and what its conditions refuse.
fn configurations(text: &str, defines: &[(&str, &str)]) -> Result<Configurations, String> {
    let (mut map, mut diagnostics) = (SourceMap::new(), Vec::new());
    let program = load_program(&mut map, "k.cute", text, &NoImports, &mut diagnostics);
    let context = cutec_dialects::context();
    let defines = defines
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_string()));
    let options = LowerOptions {
        target: Target::parse("sm_80").unwrap(),
        kernel: None,
        defines: defines.collect(),
    };
    let kernels = chosen_kernels(&program, &options).unwrap();
    let space = space(&context, &map, &program, kernels[0], &options)
        .map_err(|errors| render_all(&errors, &map, RenderOptions::PLAIN))?;
    let shown = space.configurations.iter().map(|configuration| {
        let pairs: Vec<String> = configuration
            .iter()
            .map(|(n, v)| format!("{n}={v}"))
            .collect();
        pairs.join(" ")
    });
    Ok((shown.collect(), space.refused))
}

#[test]
fn configurations_are_what_conditions_leave_of_the_candidates() {
    let text = "
        fn double(x) { x + x }
        fn twice(x) { 2.0 * x }
        kernel k<t = f32, a = 32 in [32, 64, 128], b = 2 * a in a..a + 96 step 32, f = double in [twice, exp]>(y: mut tensor<t, n>)
        where tunable a * b <= 4096, tunable b > 32 || a == 64
        launch grid(1), block(a)
        { y[0] = f(t(b)); }";
    let (all, refused) = configurations(text, &[("f", "exp")]).unwrap();
    // The default first; what a later parameter may be depends on those before.
    assert_eq!(all, ["a=32 b=64", "a=32 b=96", "a=64 b=64"]);
    assert_eq!(
        refused,
        [
            ("a * b <= 4096".to_owned(), 6),
            ("b > 32 || a == 64".to_owned(), 1)
        ]
    );
    let (all, _) = configurations(text, &[("a", "64"), ("b", "64")]).unwrap();
    assert_eq!(all, ["f=double", "f=twice", "f=exp"]);
    // Each configuration compiles with what it says.
    for configuration in configurations(text, &[]).unwrap().0 {
        let defines: Vec<(&str, &str)> = configuration
            .split(' ')
            .map(|pair| pair.split_once('=').unwrap())
            .collect();
        let (ir, diagnostics) = lower("k.cute", text, "sm_80", &defines, None);
        assert!(ir.is_some(), "{configuration}: {diagnostics}");
    }
    let kinds = "
        kernel k<on = false in [true], t = f16 in [bf16, f32], s = (1, 2) in [(2, 1)], x = 0.5 in [1.5e-3]>(y: mut tensor<t, n>)
        launch grid(1), block(32)
        { static if on { y[0] = t(x); } else { y[get<1>(s)] = t(x); } }";
    let (all, _) = configurations(kinds, &[]).unwrap();
    assert_eq!(all.len(), 2 * 3 * 2 * 2);
    assert_eq!(all[0], "on=false t=f16 s=(1,2) x=0.5");
    for configuration in [&all[1], all.last().unwrap()] {
        let defines: Vec<(&str, &str)> = configuration
            .split(' ')
            .map(|pair| pair.split_once('=').unwrap())
            .collect();
        let (ir, diagnostics) = lower("k.cute", kinds, "sm_80", &defines, None);
        assert!(ir.is_some(), "{configuration}: {diagnostics}");
    }
    let many = "kernel k<a = 0 in 0..1000, b = 0 in 0..1000>(y: mut tensor<f32, n>) launch grid(1), block(32) { y[a] = f32(b); }";
    let errors = configurations(many, &[]).unwrap_err();
    assert!(
        errors.contains("there are more than 262144 configurations"),
        "{errors}"
    );
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
            // A block with a name is a file of its page, which test-suite/book compiles and tests.
            if kind.starts_with(' ') {
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
