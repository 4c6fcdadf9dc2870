//! Blocks over a launcher that computes on the host.

use super::launch::{KernelCall, LaunchArgument, Launcher};
use super::problem::Stop;
use super::{Interpreter, program};
use cutec::Source;
use cutec_frontend::ast::ItemKind;
use cutec_frontend::diagnostics::Diagnostic;
use cutec_frontend::diagnostics::codes::{ASSERTION_FAILED, TEST_NOT_EVALUABLE};
use cutec_frontend::source::NoImports;
use std::cell::RefCell;

const KERNELS: &str = "
kernel relu(x: tensor<f16, (m, n)>, y: mut tensor<f16, (m, n)>) launch grid(1), block(32) { }
kernel gemm<bm = 128, t = f32>(
    a: tensor<bf16, (m, k)>, b: tensor<bf16, (n, k)>, c: mut tensor<f32, (m, n)>)
launch grid(1), block(32) { }
kernel gemm2<t = f32>(
    a: tensor<bf16, (m, k)>, b: tensor<bf16, (n, k)>, c: mut tensor<f32, (m, n)>)
launch grid(1), block(32) { }
fn gelu(x) { let inner = 0.5 * x; return inner * (1.0 + erf(x / sqrt(2.0))); }
fn doubled(n) { n * 2 }
const N = doubled(4);
";

/// Runs `relu` and `gemm` on the host; `gemm` spoils one element when `wrong` says so.
#[derive(Default)]
struct HostLauncher {
    wrong: bool,
    calls: RefCell<Vec<String>>,
}

impl Launcher for HostLauncher {
    fn launch(&self, call: &KernelCall<'_>) -> Result<(), Stop> {
        self.calls
            .borrow_mut()
            .push(format!("{} {:?}", call.kernel, call.defines));
        let tensors: Vec<_> = call
            .arguments
            .iter()
            .filter_map(|argument| match argument {
                LaunchArgument::Tensor(tensor) => Some(tensor),
                LaunchArgument::Number(_) => None,
            })
            .collect();
        match tensors.as_slice() {
            [x, y] => {
                let shape = x.borrow().shape().to_vec();
                let values = x.numbers();
                let mut y = y.borrow_mut();
                for (at, value) in values.iter().enumerate() {
                    let at = at as i64;
                    y.set(&[at / shape[1], at % shape[1]], value.max(0.0));
                }
            }
            [a, b, c] => {
                let (m, k) = (a.borrow().shape()[0], a.borrow().shape()[1]);
                let n = b.borrow().shape()[0];
                let (a, b) = (a.numbers(), b.numbers());
                let mut c = c.borrow_mut();
                for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                    let sum: f64 = (0..k)
                        .map(|l| a[(i * k + l) as usize] * b[(j * k + l) as usize])
                        .sum();
                    c.set(&[i, j], sum);
                }
                if self.wrong {
                    c.set(&[m - 1, 2], 1e9);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn run_with(launcher: &HostLauncher, body: &str) -> Result<(), Diagnostic> {
    let source = Source::new("t.cute", format!("{KERNELS}\ntest t {{\n{body}\n}}"));
    let (sources, program) = program::load(&source, &NoImports, &[]).expect("the test parses");
    let interpreter = Interpreter::new(&sources, &program, launcher);
    let test = program
        .items()
        .find_map(|item| match &item.kind {
            ItemKind::Test(test) => Some(test),
            _ => None,
        })
        .expect("there is a test");
    interpreter
        .run("t", &test.body, 7)
        .map(|_| ())
        .map_err(|stop| stop.diagnostic)
}

fn run(body: &str) -> Result<(), Diagnostic> {
    run_with(&HostLauncher::default(), body)
}

#[track_caller]
fn passes(body: &str) {
    if let Err(diagnostic) = run(body) {
        panic!(
            "{}: {:?} {:?}",
            diagnostic.message, diagnostic.labels, diagnostic.notes
        );
    }
}

#[track_caller]
fn fails(body: &str, message: &str) {
    let diagnostic = run(body).expect_err("the block fails");
    assert_eq!(
        diagnostic.code, TEST_NOT_EVALUABLE,
        "{}",
        diagnostic.message
    );
    assert!(
        diagnostic.message.contains(message),
        "{}",
        diagnostic.message
    );
}

#[test]
fn kernels_are_compared_with_index_notation() {
    passes(
        "let x = random<f16>(10, 40);
         var y = poison<f16>(10, 40);
         relu(x, y);
         assert_eq(y[i, j], max(x[i, j], 0.0));",
    );
    passes(
        "for (m, n, k) in [(128, 128, 64), (1, 3, 7), (100, 72, 40)] {
             let a = random<bf16>(m, k); let b = random<bf16>(n, k); var c = poison<f32>(m, n);
             gemm<bm = 64>(a, b, c);
             assert_close(c[i, j], sum(l) { a[i, l] * b[j, l] }, rtol = 1e-5);
         }",
    );
}

#[test]
fn a_wrong_element_is_named_and_counted() {
    let launcher = HostLauncher {
        wrong: true,
        ..Default::default()
    };
    let diagnostic = run_with(
        &launcher,
        "for m in [5, 6] {
             let a = random<bf16>(m, 8); let b = random<bf16>(4, 8); var c = poison<f32>(m, 4);
             gemm(a, b, c);
             assert_close(c[i, j], sum(l) { a[i, l] * b[j, l] }, rtol = 1e-3, atol = 0);
         }",
    )
    .expect_err("one element is wrong");
    assert_eq!(diagnostic.code, ASSERTION_FAILED);
    assert_eq!(diagnostic.message, "1 of 20 elements are wrong");
    assert!(
        diagnostic.labels[0]
            .text
            .starts_with("first at (i, j) = (4, 2): expected ")
    );
    assert!(diagnostic.labels[0].text.ends_with("found 1000000000"));
    assert_eq!(diagnostic.notes[1], "with m = 5");
}

#[test]
fn poison_is_wrong_until_it_is_overwritten() {
    let found = run("var y = poison<f32>(3); assert_eq(y[i], 0.0);");
    assert_eq!(
        found.expect_err("poison").message,
        "3 of 3 elements are wrong"
    );
}

#[test]
fn compile_time_parameters_go_to_the_compiler_as_text() {
    let launcher = HostLauncher::default();
    run_with(
        &launcher,
        "let a = zeros<bf16>(2, 2); var c = zeros<f32>(2, 2);
         let n = 16;
         gemm<n * 2, t = f16>(a, a, c);
         gemm<bm = (n, 1)>(a, a, c);",
    )
    .expect("both launch");
    assert_eq!(
        *launcher.calls.borrow(),
        [
            r#"gemm [("bm", "32"), ("t", "f16")]"#,
            r#"gemm [("bm", "(16, 1)")]"#
        ]
    );
}

#[test]
fn index_notation_means_what_it_says() {
    // Softmax, with sums and maxima that do not depend on the innermost index.
    passes(
        "let x = random<f32>(7, 1500);
         var p = zeros<f64>(7, 1500);
         p[i, j] = exp(x[i, j] - max(k) { x[i, k] });
         var s = zeros<f64>(7);
         s[i] = sum(j) { p[i, j] };
         p[i, j] = p[i, j] / s[i];
         assert_close(sum(j) { p[0, j] }, 1.0, rtol = 1e-12);
         assert_close(p[i, j],
             exp(x[i, j] - max(k) { x[i, k] }) / sum(k) { exp(x[i, k] - max(l) { x[i, l] }) },
             rtol = 1e-12);",
    );
    // Functions, conditions that guard an index, gathers, integer division.
    passes(
        "let x = iota<f32>(8);
         var y = zeros<f64>(8);
         y[i] = if i > 0 { x[i - 1] } else { 100.0 };
         assert_eq(y[0], 100.0);
         assert_eq(y[i], if i == 0 { 100 } else { i - 1 });
         let at = iota<i32>(8);
         assert_eq(x[at[i] / 2], x[i] - x[(i + 1) / 2]);
         assert_eq(sum(i in 2..5) { i }, 9);
         assert_eq(N, 8);
         assert_close(gelu(x[i]), 0.5 * x[i] * (1.0 + erf(x[i] / sqrt(2.0))), rtol = 1e-15);",
    );
    // Slots under a changing lane index, and two reduced indices at once.
    passes(
        "let a = random<f32>(5, 9); let b = random<f32>(9, 6);
         assert_close(
             sum(k) { { let t = a[i, k] * 2.0; t * b[k, j] } },
             2.0 * sum(k) { a[i, k] * b[k, j] }, rtol = 1e-12);
         assert_close(sum(i, k) { a[i, k] }, sum(i) { sum(k) { a[i, k] } }, rtol = 1e-12);",
    );
    // The reduced index is not the last one: elements are copied into another order.
    // Names of a tuple's parts are not known to each other.
    passes(
        "let x = iota<f32>(4, 6);
         assert_eq(x[i, j], { let (a, (b, _)) = (i, (j, 7)); let (a, b) = (b, a); 6 * b + a });",
    );
    passes(
        "let x = iota<f32>(2, 3, 4);
         assert_eq(sum(j) { x[i, j, k] }, 36 * i + 12 + 3 * k);
         assert_eq(sum(i) { x[i, j, k] }, 12 + 8 * j + 2 * k);
         assert_eq(sum(k, i) { x[i, j, k] }, 60 + 32 * j);",
    );
    passes("assert_eq(f16(2049.0), 2048); assert_eq(max(1, 3, 2), 3); assert_eq(-7 / 2, -3);");
}

#[test]
fn strided_tensors_are_indexed_like_others() {
    passes(
        "let x = random<f32>((4, 6) : (1, 8));
         var y = zeros<f32>(4, 6);
         y[i, j] = x[i, j];
         assert_eq(y[i, j], x[i, j]);",
    );
}

#[test]
fn statements_do_what_they_say() {
    passes(
        "var total = 0;
         for i in 0..10 step 3 { if i == 6 { continue; } total += i; }
         assert(total == 12);
         while true { total -= 1; if total < 5 { break; } }
         assert(total == 4);
         let (a, (b, c)) = (1, (2, 3));
         assert(a + b * c == 7);
         let shape = (4, 5);
         let x = zeros<f32>(shape);
         assert(size<1>(x) == 5 && size(x) == 20 && rank(x) == 2 && x.shape[0] == 4);",
    );
}

#[test]
fn functions_operators_kernels_and_words_are_values() {
    passes(
        "let x = iota<f32>(4);
         for (op, unit) in [(add, 0), (mul, 1), (max, -1)] { assert_eq(x[i], op(x[i], unit)); }
         for (op, of) in [(and, 2), (or, 7), (xor, 5), (add, 9), (mul, 18)] { assert(op(6, 3) == of); }
         for fill in [zeros, ones] { let x = fill<f32>(3); assert_eq(x[i], x[0]); }",
    );
    let launcher = HostLauncher::default();
    let body = "let a = zeros<f32>(4, 4); let b = zeros<f32>(4, 4); var c = zeros<f32>(4, 4);
        for k in [gemm, gemm2] { for t in [add, nearest, gelu] { k<t = t>(a, b, c); } }";
    run_with(&launcher, body).expect("it runs");
    let calls = launcher.calls.borrow();
    let of = |kernel: &str, value: &str| format!("{kernel} [(\"t\", \"{value}\")]");
    let expected =
        ["gemm", "gemm2"].map(|kernel| ["add", "nearest", "gelu"].map(|t| of(kernel, t)));
    assert_eq!(*calls, expected.concat());
    let unknown = run("for op in [plus] { }").expect_err("there is none");
    let help = unknown.help.unwrap_or_default();
    assert!(
        help.contains("functions and words of the language"),
        "{help}"
    );
}

#[test]
fn what_has_no_meaning_is_refused() {
    fails(
        "let x = zeros<f32>(3, 4); assert_eq(x[i], 0);",
        "has 2 modes, found 1",
    );
    fails(
        "let x = zeros<f32>(3, 4); assert_eq(x[i, i], 0);",
        "over 3 in one place and over 4",
    );
    passes("let x = zeros<f32>(3); let y = zeros<f32>(4); assert_eq(x[i], y[i + 0]);");
    fails(
        "let x = zeros<f32>(3); assert_eq(x[i + 1], 0);",
        "nothing says what it runs over",
    );
    fails(
        "let x = zeros<f32>(3); assert_eq(x[i] + x[i + 1], 0);",
        "index 1..=3 leaves mode 0",
    );
    fails(
        "let x = zeros<i32>(4); let y = x[7];",
        "index 7 leaves mode 0 of `x`, which has 4 elements",
    );
    fails("assert_eq(nothing(3), 0);", "knows no function `nothing`");
    fails("let x = zeros<f32>(-1);", "extent -1");
    fails("let x = zeros<f32>(1000000, 1000000);", "elements");
    fails("let x = zeros<what>(3);", "`what` is not known");
    fails("let x = 1; x = 2;", "say `var`");
    fails("loop { }", "steps");
    fails(
        "var a = (1, 1); while true { a = (a, a); }",
        "more than 10000000 steps",
    );
    fails(
        "var a = (1, 1); while true { a = (a, 1); }",
        "more than 64 nested tuples",
    );
    fails("let x = size((4294967296, 4294967296));", "64 bits");
    fails("assert_eq(1, 2, 3);", "takes 2 expressions, found 3");
    fails("assert_eq(1, 2, rtol = 3);", "no argument `rtol`");
    fails("let x = 9223372036854775807 + 1;", "64 bits");
    fails("let x = 1 / 0;", "division by zero");
}

#[test]
fn random_data_depend_on_the_seed_and_the_place_alone() {
    passes(
        "let x = random<f32>(100); let y = random<f32>(100);
         assert(sum(i) { abs(x[i] - y[i]) } > 1.0);",
    );
}

#[test]
fn an_index_is_alone_where_it_is_written_alone() {
    passes(
        "let a = random<f32>(8); var b = poison<f32>(16);
         for lo in [1, 0] { b[i] = if i >= lo && i - lo < 8 { a[i - lo] } else { 0.0 }; }
         assert_eq(b[i], if i < 8 { a[min(i, 7)] } else { 0.0 });",
    );
    // What is added decides nothing: `i` runs over no mode of `a` here.
    fails(
        "let a = random<f32>(8); assert_eq(a[i + 0], 1.0);",
        "nothing says what it runs over",
    );
}

#[test]
fn an_index_of_a_reference_is_any_expression() {
    passes(
        "let x = iota<f32>(6); let at = iota<i32>(6); let order = (2, 0, 1);
         assert_eq(x[if i > 2 { i - 3 } else { 5 - i }], if i > 2 { x[i] - 3.0 } else { 5.0 - x[i] });
         assert_eq(x[sum(j in 0..at[i]) { 1 }], x[i]);
         assert_eq(x[max(at[i] - 1, 0) / 2], floor(max(x[i] - 1.0, 0.0) / 2.0));
         assert_eq(x[order[k]], order[k]);
         assert_eq(sum(j in 0..x.shape[0]) { x[j] }, 15.0);",
    );
    passes(
        "let x = iota<f32>(4); let at = full<i32>(1, 4); var y = zeros<f32>(8); var z = zeros<f32>(3, 8);
         y[2 * i + 1] = x[i];
         assert_eq(y[i], if i % 2 == 1 { i / 2 } else { 0 });
         z[at[i], 7 - i] = x[i];
         assert_eq(z[r, c], if r == 1 && c >= 4 { 7 - c } else { 0 });
         var count = zeros<i32>(3);
         count[at[i]] += i;
         assert_eq(count[k], if k == 1 { 6 } else { 0 });",
    );
    fails(
        "var y = zeros<f32>(4); let x = iota<f32>(4); y[i + 1] = x[i];",
        "leaves mode 0 of `y`",
    );
    fails(
        "var y = zeros<f32>(4); let x = iota<f32>(4); y[x[i] / 2.0] = x[i];",
        "expected an integer",
    );
    fails(
        "var y = zeros<f32>(4); let x = iota<f32>(4); y[i] = x[j];",
        "is no index of the left side",
    );
}

#[test]
fn ranges_depend_on_indices() {
    passes(
        "let a = random<f32>(5, 5); let start = iota<i32>(6);
         assert_eq(sum(l in 0..i) { 1.0 } + 0.0 * a[i, i], i);
         assert_close(sum(l in 0..i + 1) { a[i, l] },
             sum(l) { if l <= i { a[i, l] } else { 0.0 } } + 0.0 * a[i, 0], rtol = 1e-12);
         assert_eq(sum(r in 0..5, c in r..5) { 1 }, 15);
         assert_eq(max(l in start[i]..start[i + 1]) { l } + 0.0 * a[i, 0], start[min(i, 5)]);
         assert_eq(sum(l in i..0) { 1.0 } + 0.0 * a[i, 0], 0.0);",
    );
    // Arguments of functions of the file are seen too.
    let source = "
        fn triangle(n) { sum(l in 0..n) { l } }
        test t { let x = iota<i32>(7); assert_eq(triangle(x[i]), i * (i - 1) / 2); }";
    let source = Source::cute("t.cute", source);
    let (sources, program) = program::load(&source, &NoImports, &[]).expect("it parses");
    let launcher = HostLauncher::default();
    let interpreter = Interpreter::new(&sources, &program, &launcher);
    let test = program.items().find_map(|item| match &item.kind {
        ItemKind::Test(test) => Some(test),
        _ => None,
    });
    let test = test.expect("a test");
    let result = interpreter.run("t", &test.body, 0);
    assert!(result.is_ok(), "{:?}", result.err());
    fails(
        "assert_eq(sum(l in 0..2.5) { 1 }, 2);",
        "expected an integer",
    );
}

#[test]
fn guarded_accesses_leave_ranges_to_others() {
    passes(
        "let head = full<f32>(1, 3); let tail = full<f32>(2, 4); var all = zeros<f32>(7);
         all[i] = if i < 3 { head[i] } else { tail[i - 3] };
         assert_eq(all[i], if i < 3 { head[i] } else { 2.0 });
         assert_eq((if i < 3 { head[i] } else { all[i] }) + 0 * all[i], all[i]);
         assert_eq(sum(l) { if l < 3 { head[l] } else { 0.0 } }, 3);
         assert_eq(sum(l) { (if l < 3 { head[l] } else { all[l] }) + 0 * all[l] }, 11);",
    );
    // What the condition lets out is no number.
    let outside = run(
        "let x = zeros<f32>(3); let y = zeros<f32>(7); assert_eq(y[i], if i < 4 { x[i] } else { 0.0 });",
    );
    assert_eq!(
        outside.expect_err("it is wrong").message,
        "1 of 7 elements are wrong"
    );
    fails(
        "let x = zeros<f32>(3); let y = zeros<f32>(4); assert_eq(sum(l) { if l < 3 { x[l] } else { y[l] } }, 0);",
        "over 3 in one place and over 4",
    );
}

#[test]
fn what_is_not_known_is_named_and_what_is_like_it() {
    for (body, message, help) in [
        (
            "let x = iota<f32>(4); print(x);",
            "no function `print`",
            "assert_eq(x[i], …)",
        ),
        (
            "let x = iota<f32>(4); frobnicate(x);",
            "no function `frobnicate`",
            "docs/testing.md",
        ),
        (
            "let x = np.zeros(4);",
            "no function `np.zeros`",
            "did you mean `zeros`?",
        ),
        (
            "let x = iota<f32>(4); let y = x.sum();",
            "no function `x.sum`",
            "sum(i) { x[i] }",
        ),
        (
            "let x = iota<f32>(4); asert_eq(x[0], 0);",
            "no function `asert_eq`",
            "`assert_eq`",
        ),
        (
            "let x = iota<f32>(4); asert_eq(x[i], i);",
            "no function `asert_eq`",
            "`assert_eq`",
        ),
        (
            "let x = iota<f32>(4); assert_eq(x[i], gelux(x[i]));",
            "no function `gelux`",
            "`gelu`",
        ),
        (
            "var y = zeros<f32>(4); rellu(y, y);",
            "no function `rellu`",
            "`relu`",
        ),
        (
            "let scale = 2.0; assert_eq(scael, 2.0);",
            "`scael` is not known",
            "`scale`",
        ),
        (
            "let first = iota<f32>(4); assert_eq(frist[i], i);",
            "`frist` is not known",
            "`first`",
        ),
        (
            "let scale = 2.0; let x = iota<f32>(4); assert_eq(x[i], scael);",
            "`scael` is not known",
            "`scale`",
        ),
        (
            "let x = iota<f32>(4); let n = x.size;",
            "a tensor has no field `size`",
            "`shape`",
        ),
        (
            "let x = zeros<f16>(4, 4); var y = zeros<f16>(4, 4); gemm<bn = 3>(x, x, y);",
            "no compile-time parameter `bn`",
            "`bm`, `t`",
        ),
        (
            "let x = zeros<f16>(4, 4); var y = zeros<f16>(4, 4); gemm<64, bm = 3>(x, x, y);",
            "`bm` is given twice",
            "",
        ),
        (
            "let x = iota<f32>(4); assert_eq(mean(i) { x[i] }, 0);",
            "no reduction `mean`",
            "",
        ),
    ] {
        let diagnostic = run(body).expect_err(body);
        assert_eq!(diagnostic.code, TEST_NOT_EVALUABLE, "{body}");
        assert!(
            diagnostic.message.contains(message),
            "{body}: {}",
            diagnostic.message
        );
        let found = diagnostic.help.unwrap_or_default();
        assert!(found.contains(help), "{body}: {found}");
    }
}
