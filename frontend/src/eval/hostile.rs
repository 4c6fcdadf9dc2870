//! Numbers at the ends of 64 bits wherever the language takes a number: evaluation gives a value or a diagnostic.
//!
//! Only that nothing panics, aborts or runs away is checked here; what each place answers is tested where it stands.

use super::{LowerOptions, builtins, emit_module};
use crate::load_program;
use crate::source::{NoImports, SourceMap};
use cutec_dialects::target::Target;
use melior::Context;

/// Numbers that are easily got wrong, as text.
const NUMBERS: [&str; 9] = [
    "(-9223372036854775807 - 1)",
    "9223372036854775807",
    "4611686018427387904",
    "4294967296",
    "2147483648",
    "(-2147483648)",
    "(-1)",
    "0",
    "1",
];

/// Statements of a kernel: each has its error, and a kernel is given up after forty.
const LINES: usize = 30;

/// Emits a text, whatever comes of it.
fn survives(context: &Context, text: &str) {
    let (mut map, mut diagnostics) = (SourceMap::new(), Vec::new());
    let program = load_program(&mut map, "t.cute", text, &NoImports, &mut diagnostics);
    let options = LowerOptions {
        target: Target::parse("sm_90").unwrap(),
        kernel: None,
        defines: Vec::new(),
    };
    let module = emit_module(context, &map, &program, &options, &mut diagnostics);
    // Without errors there is IR, and with them a message.
    let failed = diagnostics.iter().any(crate::Diagnostic::is_error);
    assert_eq!(module.is_none(), failed, "{text}");
}

/// Values made of two numbers.
fn values(a: &str, b: &str) -> [String; 6] {
    [
        a.to_owned(),
        format!("({a}, {b})"),
        format!("(({a}, 2), {b})"),
        format!("({a}, {b}) : ({b}, {a})"),
        format!("S<1,1,1> o {a} o ({b}, 8)"),
        format!("{a}..{b} step {a}"),
    ]
}

#[test]
fn built_ins_survive_numbers_of_any_size() {
    let context = cutec_dialects::context();
    let mut names: Vec<&str> = builtins::names().collect();
    names.sort();
    names.dedup();
    for name in names {
        let mut body = String::new();
        let mut add = |call: String| body.push_str(&format!("    {call};\n"));
        for (at, a) in NUMBERS.iter().enumerate() {
            let b = NUMBERS[(at * 5 + 3) % NUMBERS.len()];
            for value in values(a, b)
                .into_iter()
                .skip((at + name.len()) % 3)
                .step_by(3)
            {
                add(format!("{name}({value})"));
                add(format!("{name}(y, {value})"));
                add(format!("{name}({value}, {b})"));
                add(format!("{name}<{b}>({value})"));
                add(format!("{name}<f32>({value})"));
            }
            add(format!("{name}({a}, {b}, {a})"));
            add(format!("{name}<{a}, {b}>(y)"));
            add(format!("let t = {name}<f32, bits = {a}>"));
            add(format!("{name}(fma<f32>, thr = {a}, val = {b})"));
            add(format!("{name}(fma<f32>, atoms = ({a}, {b}, 1))"));
            add(format!("y.{name}({a}, {b})"));
            add(format!("y[{name}({a}, {b})] = 1.0"));
        }
        for launch in ["grid(1), block(32)", "tiles(n / 64)"] {
            let lines: Vec<&str> = body.lines().collect();
            for lines in lines.chunks(LINES) {
                let lines = lines.join("\n");
                let head = "kernel k(y: mut tensor<f32, n>)";
                survives(&context, &format!("{head} launch {launch} {{\n{lines}\n}}"));
            }
        }
    }
}

#[test]
fn operators_and_clauses_survive_numbers_of_any_size() {
    let context = cutec_dialects::context();
    let operators = [
        "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "<", "o", ":", "..",
    ];
    for (at, a) in NUMBERS.iter().enumerate() {
        // Each number meets another.
        for b in NUMBERS.iter().cycle().skip(at * 2 + 1).take(1) {
            let (a, b) = (*a, *b);
            for operator in operators {
                for (left, right) in [(a, b), ("n", b), (a, "n"), ("i8(1)", b), ("f16(1)", b)] {
                    survives(
                        &context,
                        &format!(
                            "kernel k(y: mut tensor<f32, n>) launch grid(1), block(1) {{ let v = {left} {operator} {right}; y[0] = f32(v); }}"
                        ),
                    );
                }
            }
            for body in [
                format!("static for i in {a}..{b} {{ static_assert(i < 3); }}"),
                format!("for i in {a}..{b} step {b} {{ y[i] = 1.0; }}"),
                format!("let t = (1, 2)[{a}];"),
                format!("y[{a}] = y[{b}];"),
                format!("let s = smem<f32>(({a}, {b}) : ({b}, 1));"),
                format!("let f = fragment<f32>(({a}, {b}));"),
                format!("let z = domain_offset(y, {a}); z[{b}] = 1.0;"),
                format!("let l = ({a}, {b}) : (1@0, {b}@1); static_assert(size(l) == {a});"),
                format!("var v = {a}; v = v + {b}; y[v] = 1.0;"),
                format!("var v = i64({a}); v = v << {b}; y[v] = 1.0;"),
                format!("y[0] = f32(i8({a})) + f32(i16({b}, saturate = true));"),
            ] {
                survives(
                    &context,
                    &format!(
                        "kernel k(y: mut tensor<f32, n>) launch grid(1), block(1) {{ {body} }}"
                    ),
                );
            }
            for head in [
                format!("(y: mut tensor<f32, ({a}, {b})>) launch grid(1), block(1)"),
                format!("(y: mut tensor<f32, (n, m) : ({a}, {b})>) launch grid(1), block(1)"),
                format!("(y: mut tensor<f32, n>) where n % {a} == {b} launch grid(1), block(1)"),
                format!("(y: mut tensor<f32, n>) where align(y) >= {a} launch grid({b}), block(1)"),
                format!("(y: mut tensor<f32, n>) launch grid(n / {a}), block({b})"),
                format!("(y: mut tensor<f32, n>) launch grid(1), block(1), min_blocks({a})"),
                format!("<v = {a}, w = v * {b}>(y: mut tensor<f32, n>) launch grid(w), block(1)"),
                format!("(y: mut tensor<f32, n>) launch tiles(n / {a}), raster({b})"),
                format!("(y: mut tensor<f32, n>) launch tiles({a}, {b}), warps({a}, {b})"),
                format!("(y: mut tensor<f32, n>) launch tiles({a}, {b}), multicast({a}, {b})"),
            ] {
                survives(&context, &format!("kernel k{head} {{ }}"));
            }
            for body in [
                format!("y.tile({a}, {b}) = 1.0;"),
                format!("y.tile(64, at = {a}) = y.tile(64, {b});"),
                format!("y.tile(64, 0) = reduce(add, zeros<f32>({a}, {b}), axis = {b});"),
                format!("y.tile(64, 0) = broadcast(reshape(zeros<f32>(1), {a}), {b});"),
                format!("pipeline({a}) for t in tiles(n, {b}) {{ y.tile(64, t) = 1.0; }}"),
                format!("for t in tiles({a}, {b}) {{ y.tile(64, t) = 1.0; }}"),
            ] {
                survives(
                    &context,
                    &format!("kernel k(y: mut tensor<f32, n>) launch tiles(n / 64) {{ {body} }}"),
                );
            }
        }
    }
}

/// What a program says of how operands of products are copied and multiplied is a type of the IR.
#[test]
fn pinned_instructions_survive_numbers_of_any_size() {
    let context = cutec_dialects::context();
    let head = "kernel k(x: tensor<f16, (m, k)>, y: tensor<f16, (n, k)>)";
    let numbers = NUMBERS.iter().flat_map(|a| NUMBERS.map(|b| (*a, b)));
    for (a, b) in numbers {
        let copies = [
            format!("tiled_copy(universal<f16, bits = 16>, thr = 32 : 1, val = {a})"),
            format!(
                "tiled_copy(universal<f16, bits = 16>, thr = (32, 1) : ({a}, {b}), val = (1, {b}) : ({a}, 1))"
            ),
            format!(
                "tiled_copy(cp_async<f16, bits = 128>, thr = (1, 32) : ({a}, 1), val = ({b}, 8))"
            ),
            format!("universal<f16, bits = {a}>"),
        ];
        let atom = "sm80_16x8x16<f16, f32>";
        let products = [
            format!("tiled_mma({atom}, atoms = (1, 1, 1) : ({a}, {b}, 0))"),
            format!(
                "tiled_mma({atom}, atoms = (2, 1, 1) : (1, {a}, {b}), permute = ({a}, {b}, 16))"
            ),
            format!(
                "tiled_mma({atom}, atoms = (2, 2, 1), permute = ({a}, (8, 2) : ({b}, {a}), _))"
            ),
        ];
        for text in copies.iter().chain(&products) {
            let of = text.replace(atom, "fma<f32>");
            survives(
                &context,
                &format!(
                    "{head} launch grid(1), block(32) {{ let t = {of}; let p = t.slice(thread_idx.x).partition_S(x); }}"
                ),
            );
        }
        for copy in copies {
            survives(
                &context,
                &format!(
                    "{head} launch tiles(m / 64) {{ let t = dot(x.tile((64, 32), (tile.m, 0), copy = {copy}), y.tile((64, 32), (0, 0))); }}"
                ),
            );
        }
        for product in products {
            survives(
                &context,
                &format!(
                    "{head} launch tiles(m / 64) {{ let t = dot(x.tile((64, 32), (tile.m, 0)), y.tile((64, 32), (0, 0)), mma = {product}); }}"
                ),
            );
        }
        for (tile, lies) in [
            ("(64, 32)", format!("({a}, {b}) : (0, 0)")),
            ("(64, 32)", format!("(64, 32) : ({a}, {b})")),
        ] {
            for tile in [tile.to_owned(), format!("({a}, {b})"), a.to_owned()] {
                survives(
                    &context,
                    &format!(
                        "{head} launch grid(1), block(32) {{ let s = smem<f16>(64); let t = tma_load(x, {tile}, view(s, {lies})); }}"
                    ),
                );
            }
        }
    }
}

#[test]
fn recursion_and_growth_end_in_the_budget() {
    let context = cutec_dialects::context();
    for program in [
        "fn f(n) { f(n + 1) } const C = f(0);",
        "fn f(n) { (f, n) } const C = f(f(f(1)));",
        "fn f(t, n) { if n == 0 { t } else { f((t, t), n - 1) } } const C = f(1, 60);",
        "fn f(n) { var t = (); for i in 0..n { t = (t, i); } t } const C = f(100000);",
        "fn f(n) { var i = 0; loop { i += n; } } const C = f(0);",
        "fn f(n) { var i = 1; loop { i = i * 2; } i } const C = f(0);",
        "fn f(n) { var i = 0; while true { i = ceil_div(i - 9223372036854775807, -1); } i } const C = f(0);",
        "const A = B; const B = A; const C = A;",
    ] {
        survives(
            &context,
            &format!(
                "{program} kernel k(y: mut tensor<f32, n>) launch grid(1), block(1) {{ let c = C; y[0] = 1.0; }}"
            ),
        );
    }
}
