mod built;
mod embedded;
mod random;

use super::*;

const SCALE: &str = "
    kernel scale<by = 2>(x: tensor<f32, n>, y: mut tensor<f32, n>) launch tiles(n / 128)
    { y.tile(128, tile.m) = x.tile(128, tile.m) * f32(by); }";

fn deep(open: &str, close: &str) -> Source {
    let text = format!(
        "module attributes {{a = {}{}}} {{}}",
        open.repeat(990),
        close.repeat(990)
    );
    Source::mlir("deep.mlir", text)
}

#[test]
fn many_threads_compile_at_a_time_each_by_itself() {
    let ptx = |by: usize| {
        let mut options = Options::default();
        options.defines.push(("by".to_owned(), by.to_string()));
        let compiled = compile(&Source::cute("scale.cute", SCALE), &options);
        compiled.map(|compiled| compiled.text().map(str::to_owned))
    };
    let alone: Vec<_> = (0..4).map(|by| ptx(by).expect("it compiles")).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..12).map(|at| scope.spawn(move || ptx(at % 4))).collect();
        for (at, thread) in threads.into_iter().enumerate() {
            let found = thread.join().expect("no panic").expect("it compiles");
            assert!(found == alone[at % 4], "thread {at}");
        }
    });
    assert!(alone[0] != alone[1]);
}

#[test]
fn kernels_of_a_file_are_the_same_on_any_number_of_threads() {
    let kernel = |name: &str, loops: usize| {
        let body = "for i in 0..n { if x[i] > 0.0 { printf(\"%f\\n\", x[i]); } }".repeat(loops);
        format!("kernel {name}(x: tensor<f32, n>) launch grid(1), block(32) {{ {body} }}\n")
    };
    let kernels = [("one", 1), ("two", 9), ("three", 2), ("four", 1)];
    let text: String = kernels.map(|(name, loops)| kernel(name, loops)).concat();
    let ptx = |threads: usize| {
        let options = Options {
            threads,
            ..Options::default()
        };
        let compiled = compile(&Source::cute("many.cute", text.as_str()), &options);
        let compiled = compiled.expect("it compiles");
        let names = compiled
            .abi
            .map(|abi| abi.kernels.into_iter().map(|kernel| kernel.name));
        assert_eq!(
            names.map(Vec::from_iter),
            Some(kernels.map(|(name, _)| name.into()).into())
        );
        compiled.content
    };
    let one = ptx(1);
    for threads in [0, 2, 3, 9] {
        assert!(ptx(threads) == one, "{threads} threads");
    }
}

#[test]
fn a_host_chooses_the_functions_of_a_kernel() {
    const APPLY: &str = "
        import \"std/activations.cute\";
        kernel apply<act = linear>(x: tensor<f32, n>, y: mut tensor<f32, n>) launch tiles(n / 128)
        { y.tile(128, tile.m) = act(x.tile(128, tile.m)); }";
    let compiled = |act: Option<&str>| {
        let mut options = Options::default();
        let define = act.map(|act| ("act".to_owned(), act.to_owned()));
        options.defines.extend(define);
        compile(&Source::cute("apply.cute", APPLY), &options)
    };
    let mut texts = Vec::new();
    for (act, name) in [
        (None, "linear"),
        (Some("relu"), "relu"),
        (Some("exp"), "exp"),
    ] {
        let compiled = compiled(act).expect("it compiles");
        let abi = compiled.abi.as_ref().expect("PTX has an ABI");
        assert_eq!(
            abi.kernels[0].defines.get("act").map(String::as_str),
            Some(name)
        );
        texts.push(compiled.text().map(str::to_owned));
    }
    assert!(texts[0] != texts[1] && texts[1] != texts[2]);
    for wrong in ["rellu", "fma", "3"] {
        assert!(compiled(Some(wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn what_goes_in_and_comes_out_may_change_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Source>();
    is_shared::<Options>();
    is_shared::<Compiled>();
    is_shared::<Diagnostics>();
}

#[test]
fn a_deep_text_needs_no_deep_stack() {
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let thread = small.spawn(|| {
        for source in [deep("[", "]"), deep("{a = ", "}"), deep("(", ")")] {
            let _ = compile(&source, &Options::default());
        }
        let regions = "module {".repeat(900) + &"}".repeat(900);
        let compiled = compile(&Source::mlir("deep.mlir", regions), &Options::default());
        compiled.map(|compiled| compiled.abi)
    });
    let result = thread.expect("a thread").join().expect("no panic");
    assert!(result.is_ok() || result.is_err_and(|error| !error.to_string().is_empty()));
}

#[test]
fn what_is_no_code_cannot_be_launched() {
    let source = Source::cute("scale.cute", SCALE);
    let options = Options {
        emit: Emit::Cute,
        ..Options::default()
    };
    let compiled = compile(&source, &options).expect("it compiles");
    let error = compiled.artifact().expect_err("this is IR").to_string();
    assert!(
        error.contains("PTX or a cubin") && error.contains("Cute"),
        "{error}"
    );
    let compiled = compile(&source, &Options::default()).expect("it compiles");
    assert!(
        compiled
            .artifact()
            .is_ok_and(|artifact| artifact.kernel("scale").is_some())
    );
}

#[test]
fn errors_are_data_and_text() {
    let source = Source::cute("scale.cute", SCALE.replace("f32(by)", "f16(by)"));
    let error = compile(&source, &Options::default()).expect_err("types are mixed");
    assert_eq!(error.problems.len(), 1);
    let text = error.to_string();
    assert!(text.contains("scale.cute:3:"), "{text}");
    assert!(text.contains("f32 and f16"), "{text}");
    let import = Source::cute("x.cute", "import \"other.cute\";");
    let error = compile(&import, &Options::default()).expect_err("nothing is read");
    assert!(error.to_string().contains("other.cute"));
}
