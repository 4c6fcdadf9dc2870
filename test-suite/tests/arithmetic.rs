//! Arithmetic means the same wherever it is done (`docs/language.md`, "Arithmetic"): while compiling, when a kernel
//! is launched, in a `test` block, and in a kernel.
//!
//! Random expressions over three numbers, many to a file. Each file holds them as `static_assert`s with the numbers
//! put in, as promises that the host checks at launch, as statements of a kernel, and as assertions of its test. What
//! they should give is computed here, from the definitions and without overflow.

use cutec_test_suite::program;
use std::fmt::Write;
use std::process::Command;

/// Expressions of a file.
const EXPRESSIONS: usize = 48;
/// Files for each type.
const FILES: u64 = 6;

/// Operators and functions, with how they are written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Min,
    Max,
    CeilDiv,
}

const OPS: [(Op, &str); 13] = [
    (Op::Add, "+"),
    (Op::Sub, "-"),
    (Op::Mul, "*"),
    (Op::Div, "/"),
    (Op::Rem, "%"),
    (Op::And, "&"),
    (Op::Or, "|"),
    (Op::Xor, "^"),
    (Op::Shl, "<<"),
    (Op::Shr, ">>"),
    (Op::Min, "min"),
    (Op::Max, "max"),
    (Op::CeilDiv, "ceil_div"),
];
const COMPARISONS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];

enum Tree {
    Variable(usize),
    Constant(i128),
    Binary(usize, Box<Tree>, Box<Tree>),
    Negated(Box<Tree>),
    Inverted(Box<Tree>),
    Absolute(Box<Tree>),
    /// `select(a < b, c, d)`
    Selected(usize, [Box<Tree>; 4]),
}

/// What an expression gives.
#[derive(Clone, Copy)]
struct Result {
    /// The number, wrapped to the width.
    value: i128,
    /// Whether no intermediate result had to be wrapped.
    exact: bool,
    /// Whether no variable is in it: a constant is computed in 64 bits.
    constant: bool,
}

/// Numbers from a seed (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// A number of so many bits, often one at an edge.
    fn number(&mut self, bits: u32) -> i128 {
        let most = (1i128 << (bits - 1)) - 1;
        let edges = [
            0,
            1,
            -1,
            2,
            -2,
            7,
            -7,
            31,
            32,
            33,
            -32,
            -33,
            64,
            1000,
            most,
            -most - 1,
            most - 31,
        ];
        match self.below(3) {
            0 => edges[self.below(edges.len())],
            1 => self.below(200) as i128 - 100,
            _ => (self.next() as i64 >> (64 - bits)) as i128 >> self.below(bits as usize),
        }
    }

    fn tree(&mut self, depth: usize, bits: u32) -> Tree {
        let kind = if depth == 0 {
            self.below(5)
        } else {
            self.below(24)
        };
        let part = |this: &mut Self| Box::new(this.tree(depth - 1, bits));
        match kind {
            0..=2 => Tree::Variable(kind),
            3 | 4 => Tree::Constant(self.number(bits)),
            5 => Tree::Negated(part(self)),
            6 => Tree::Inverted(part(self)),
            7 => Tree::Absolute(part(self)),
            8 => {
                let parts = [part(self), part(self), part(self), part(self)];
                Tree::Selected(self.below(COMPARISONS.len()), parts)
            }
            _ => {
                let at = self.below(OPS.len());
                let left = part(self);
                let right = match OPS[at].0 {
                    Op::Shl | Op::Shr => {
                        Box::new(Tree::Constant(self.below(bits as usize) as i128))
                    }
                    _ => part(self),
                };
                Tree::Binary(at, left, right)
            }
        }
    }
}

impl Tree {
    /// What it gives in numbers of so many bits; `None` where that is undefined, or an error while compiling.
    fn eval(&self, variables: [i128; 3], bits: u32) -> Option<Result> {
        let least = -(1i128 << (bits - 1));
        let wrapped = |exact: i128, parts: &[Result]| {
            let value = (exact - least).rem_euclid(1i128 << bits) + least;
            let constant = parts.iter().all(|part| part.constant);
            let fits = value == exact;
            // A constant that does not fit is an error where it meets what is not constant.
            (fits || !constant).then(|| Result {
                value,
                exact: fits && parts.iter().all(|part| part.exact),
                constant,
            })
        };
        match self {
            Tree::Variable(at) => Some(Result {
                value: variables[*at],
                exact: true,
                constant: false,
            }),
            Tree::Constant(value) => wrapped(*value, &[]),
            Tree::Negated(x) => {
                let x = x.eval(variables, bits)?;
                wrapped(-x.value, &[x])
            }
            Tree::Inverted(x) => {
                let x = x.eval(variables, bits)?;
                wrapped(!x.value, &[x])
            }
            Tree::Absolute(x) => {
                let x = x.eval(variables, bits)?;
                wrapped(x.value.abs(), &[x])
            }
            Tree::Selected(comparison, parts) => {
                let [a, b, c, d] = [0, 1, 2, 3].map(|at| parts[at].eval(variables, bits));
                let parts = [a?, b?, c?, d?];
                // Of two literals the choice is an i32.
                if bits > 32 && parts[2].constant && parts[3].constant {
                    return None;
                }
                let [a, b, c, d] = parts.map(|part| part.value);
                let holds = match COMPARISONS[*comparison] {
                    "==" => a == b,
                    "!=" => a != b,
                    "<" => a < b,
                    "<=" => a <= b,
                    ">" => a > b,
                    _ => a >= b,
                };
                wrapped(if holds { c } else { d }, &parts)
            }
            Tree::Binary(op, x, y) => {
                let parts = [x.eval(variables, bits)?, y.eval(variables, bits)?];
                let [x, y] = parts.map(|part| part.value);
                let divides = matches!(OPS[*op].0, Op::Div | Op::Rem | Op::CeilDiv);
                if divides && (y == 0 || x == least && y == -1) {
                    return None;
                }
                let exact = match OPS[*op].0 {
                    Op::Add => x + y,
                    Op::Sub => x - y,
                    Op::Mul => x.checked_mul(y)?,
                    Op::Div => x / y,
                    Op::Rem => x - x / y * y,
                    Op::And => x & y,
                    Op::Or => x | y,
                    Op::Xor => x ^ y,
                    Op::Shl => x << y,
                    Op::Shr => x.div_euclid(1 << y),
                    Op::Min => x.min(y),
                    Op::Max => x.max(y),
                    Op::CeilDiv => -(-x * y.signum()).div_euclid(y.abs()),
                };
                wrapped(exact, &parts)
            }
        }
    }

    /// As text, with these for the variables.
    fn text(&self, variables: &[String; 3]) -> String {
        let of = |tree: &Tree| tree.text(variables);
        match self {
            Tree::Variable(at) => variables[*at].clone(),
            Tree::Constant(value) => literal(*value),
            Tree::Negated(x) => format!("(-{})", of(x)),
            Tree::Inverted(x) => format!("(!{})", of(x)),
            Tree::Absolute(x) => format!("abs({})", of(x)),
            Tree::Selected(at, [a, b, c, d]) => {
                let comparison = COMPARISONS[*at];
                format!(
                    "select({} {comparison} {}, {}, {})",
                    of(a),
                    of(b),
                    of(c),
                    of(d)
                )
            }
            Tree::Binary(at, x, y) => match OPS[*at] {
                (Op::Min | Op::Max | Op::CeilDiv, name) => format!("{name}({}, {})", of(x), of(y)),
                (_, symbol) => format!("({} {symbol} {})", of(x), of(y)),
            },
        }
    }

    /// Whether the host can compute it at launch.
    fn is_launch_expression(&self) -> bool {
        match self {
            Tree::Variable(_) | Tree::Constant(_) => true,
            Tree::Negated(x) => x.is_launch_expression(),
            Tree::Inverted(_) | Tree::Absolute(_) | Tree::Selected(..) => false,
            Tree::Binary(op, x, y) => {
                let bits = matches!(OPS[*op].0, Op::And | Op::Or | Op::Xor | Op::Shl | Op::Shr);
                !bits && x.is_launch_expression() && y.is_launch_expression()
            }
        }
    }
}

/// A number as the language writes it: the least one of 64 bits has no literal.
fn literal(value: i128) -> String {
    match value {
        value if value == i128::from(i64::MIN) => format!("({} - 1)", value + 1),
        ..0 => format!("({value})"),
        _ => value.to_string(),
    }
}

/// Runs the tests of a file in the simulator.
fn run(name: &str, text: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("a file");
    let output = Command::new(program("cutec"))
        .args(["test", "--device", "sim"])
        .arg(&path)
        .output()
        .expect("cutec runs");
    let messages = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{messages}");
}

/// A file of expressions in one integer type.
fn integers(elem: &str, bits: u32, seed: u64) -> String {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    // An argument and an element go through an f64 in a test.
    let variables = [(); 3].map(|()| random.number(bits.min(50)));
    let names = ["a", "b", "c"].map(String::from);
    let literals = variables.map(literal);
    let (mut promises, mut asserts) = (Vec::new(), String::new());
    let (mut body, mut test) = (String::new(), String::new());
    let mut count = 0;
    while count < EXPRESSIONS {
        let depth = random.below(4) + 1;
        let tree = random.tree(depth, bits);
        let Some(result) = tree.eval(variables, bits) else {
            continue;
        };
        if result.value.abs() >= 1 << 53 {
            continue;
        }
        let (text, value) = (tree.text(&names), literal(result.value));
        writeln!(body, "    y[{count}] = {text};").unwrap();
        writeln!(test, "    assert_eq(y[{count}], {value});").unwrap();
        if result.exact {
            let known = tree.text(&literals);
            writeln!(
                asserts,
                "    static_assert({known} == {value}, \"{count}\");"
            )
            .unwrap();
            // A literal of a function's argument goes through an f64.
            writeln!(test, "    assert({text} == {value});").unwrap();
            if tree.is_launch_expression() && !result.constant {
                promises.push(format!("{text} == {value}"));
            }
        }
        count += 1;
    }
    let [a, b, c] = literals;
    format!(
        "kernel k(y: mut tensor<{elem}, n>, a: {elem}, b: {elem}, c: {elem})\nwhere n == {EXPRESSIONS},\n  {}\n\
         launch grid(1), block(1) {{\n{asserts}{body}}}\n\
         test agrees {{\n    let a = {a}; let b = {b}; let c = {c};\n    var y = zeros<{elem}>({EXPRESSIONS});\n    \
         k(y, a, b, c);\n{test}}}\n",
        promises.join(",\n  ")
    )
}

#[test]
fn i32_agrees_everywhere() {
    for seed in 1..=FILES {
        run("i32.cute", &integers("i32", 32, seed));
    }
}

#[test]
fn i64_agrees_everywhere() {
    for seed in 1..=FILES {
        run("i64.cute", &integers("i64", 64, 100 + seed));
    }
}

/// Floating numbers with a type are computed in it while compiling, as a kernel does.
#[test]
fn floats_agree_everywhere() {
    let numbers = [
        "0.0",
        "-0.0",
        "1.0",
        "-1.5",
        "0.1",
        "3.14159",
        "-65504.0",
        "1e-7",
        "1e5",
        "3e38",
        "(1.0 / 0.0)",
        "(0.0 / 0.0)",
    ];
    let operations: [fn(&str, &str) -> String; 6] = [
        |a, b| format!("{a} + {b}"),
        |a, b| format!("{a} - {b}"),
        |a, b| format!("{a} * {b}"),
        |a, b| format!("{a} / {b}"),
        |a, b| format!("min({a}, {b})"),
        |a, b| format!("max({a}, {b})"),
    ];
    for elem in ["f16", "bf16", "f32", "f64"] {
        let mut body = String::new();
        let mut count = 0;
        for (at, a) in numbers.iter().enumerate() {
            for (to, b) in numbers.iter().enumerate() {
                let operation = operations[(at * 5 + to) % operations.len()];
                let known = operation(&format!("{elem}({a})"), &format!("{elem}({b})"));
                let computed = operation(&format!("x[{at}]"), &format!("x[{to}]"));
                writeln!(body, "    y[{count}] = same({computed}, {known});").unwrap();
                count += 1;
            }
        }
        let mut fill = String::new();
        for (at, number) in numbers.iter().enumerate() {
            writeln!(fill, "    x[{at}] = {elem}({number});").unwrap();
        }
        // What was written to memory is not known any more when it is read back.
        let text = format!(
            "fn same(a, b) {{ i32((a == b) & (f32(1.0) / f32(a) == f32(1.0) / f32(b)) | (a != a) & (b != b)) }}\n\
             kernel fill_in(x: mut tensor<{elem}, n>) launch grid(1), block(1) {{\n{fill}}}\n\
             kernel k(x: tensor<{elem}, n>, y: mut tensor<i32, m>) launch grid(1), block(1) {{\n{body}}}\n\
             test agrees {{\n    var x = zeros<{elem}>({});\n    var y = zeros<i32>({count});\n    fill_in(x);\n    \
             k(x, y);\n    assert_eq(y[i], 1);\n}}\n",
            numbers.len()
        );
        run(&format!("{elem}.cute"), &text);
    }
}

/// Conversions give the same of what is known and of what is not.
#[test]
fn conversions_agree_everywhere() {
    let integers = [
        0i64,
        1,
        -1,
        127,
        128,
        -128,
        -129,
        255,
        300,
        32768,
        65536,
        16777217,
        2147483647,
        -2147483648,
    ];
    let floats = ["0.0", "-0.5", "2.9", "-2.9", "127.9", "-128.9", "100.5"];
    let (mut body, mut test) = (String::new(), String::new());
    let mut count = 0;
    let mut compare = |variable: String, literal: String, to: &str| {
        let wide = if to == "bool" { "i32" } else { "f64" };
        writeln!(
            body,
            "    y[{count}] = i32({wide}({to}({variable})) == {wide}({to}({literal})));"
        )
        .unwrap();
        count += 1;
    };
    for (at, value) in integers.iter().enumerate() {
        for to in ["i8", "i16", "i32", "i64", "f32", "f64", "bool"] {
            compare(format!("n[{at}]"), format!("({value})"), to);
        }
    }
    for (at, value) in floats.iter().enumerate() {
        for to in ["i8", "i16", "i32", "i64", "f16", "bf16", "f64", "bool"] {
            compare(format!("x[{at}]"), format!("f32({value})"), to);
        }
    }
    for (at, value) in integers.iter().enumerate() {
        writeln!(test, "    n[{at}] = {value};").unwrap();
    }
    let fill = test.replace("    n[", "    m[");
    let mut more = String::new();
    for (at, value) in floats.iter().enumerate() {
        writeln!(more, "    f[{at}] = {value};").unwrap();
    }
    let text = format!(
        "kernel fill_in(m: mut tensor<i32, r>, f: mut tensor<f32, s>) launch grid(1), block(1) {{\n{fill}{more}}}\n\
         kernel k(n: tensor<i32, r>, x: tensor<f32, s>, y: mut tensor<i32, t>) launch grid(1), block(1) {{\n{body}}}\n\
         test agrees {{\n    var n = zeros<i32>({});\n    var x = zeros<f32>({});\n    var y = zeros<i32>({count});\n    \
         fill_in(n, x);\n    k(n, x, y);\n    assert_eq(y[i], 1);\n}}\n",
        integers.len(),
        floats.len()
    );
    run("conversions.cute", &text);
}

/// The edges at which implementations of the same operator are known to differ.
#[test]
fn ceil_div_is_exact_for_all_signs() {
    let cases: [(i64, i64); 12] = [
        (-7, -2),
        (7, -2),
        (-7, 2),
        (7, 2),
        (-32, 32),
        (2147483647, 32),
        (2147483647, 1000000000),
        (2147483647, 2147483647),
        (-2147483648, 32),
        (-2147483648, 2147483647),
        (-2147483648, -2147483648),
        (0, -5),
    ];
    let (mut body, mut test) = (String::new(), String::new());
    for (at, (a, b)) in cases.iter().enumerate() {
        let expected = -(-i128::from(*a) * i128::from(b.signum())).div_euclid(i128::from(b.abs()));
        let (a, b) = (literal(i128::from(*a)), literal(i128::from(*b)));
        writeln!(body, "    static_assert(ceil_div({a}, {b}) == {expected});").unwrap();
        writeln!(body, "    if n == {at} {{ y[0] = ceil_div(a, {b}); y[1] = ceil_div({a}, b); y[2] = ceil_div(a, b); }}").unwrap();
        writeln!(test, "    {{ var y = zeros<i32>(3); k(y, {a}, {b}, {at}); assert_eq(y[i], {expected}); assert(ceil_div({a}, {b}) == {expected}); }}").unwrap();
    }
    let text = format!(
        "kernel k(y: mut tensor<i32, m>, a: i32, b: i32, n: i32) launch grid(1), block(1) {{\n{body}}}\n\
         test agrees {{\n{test}}}\n"
    );
    run("ceil_div.cute", &text);
}
