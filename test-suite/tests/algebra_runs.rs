//! Layout algebra on run-time integers, lowered by `cute-expand-ops` and `cute-to-base` and run by
//! MLIR's JIT: what it prints is the result for the numbers put in place of `?`.
//!
//! Skipped where `mlir-opt` and `mlir-runner` of LLVM 22 are not installed.

use cutec_layout::algebra::{
    coalesce, complement, composition, cosize, flatten, idx2crd, logical_divide, logical_product,
    offset_at, recast_layout, tile_to_shape, tiled_divide, zipped_divide,
};
use cutec_layout::{Int, IntTuple, Layout, LayoutError, SymInfo, Tiler, Tree, assuming};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A small generator of reproducible numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % bound
    }

    fn pick(&mut self, from: &[i64]) -> i64 {
        from[self.below(from.len())]
    }

    fn shape(&mut self, depth: usize) -> IntTuple {
        if depth == 0 || self.below(3) == 0 {
            return Tree::Leaf(Int::Static(self.pick(&[1, 2, 3, 4, 4, 6, 8])));
        }
        let rank = 1 + self.below(3);
        Tree::Node((0..rank).map(|_| self.shape(depth - 1)).collect())
    }

    /// A compact layout in order, with a gap now and then, of few elements.
    fn layout(&mut self) -> Layout {
        let shape = loop {
            let shape = self.shape(2);
            let extents = shape.leaves().into_iter().filter_map(Int::as_static);
            if extents.product::<i64>() <= 512 {
                break shape;
            }
        };
        let mut next = 1;
        let mut stride = |extent: &Int, gap: bool| {
            let here = next;
            next *= extent.as_static().unwrap_or(1) * if gap { 2 } else { 1 };
            Int::Static(here)
        };
        let stride = shape.map(&mut |extent| stride(extent, self.below(5) == 0));
        Layout::new(shape, stride).expect("a layout")
    }
}

/// A module under construction: each case is a function that prints, called with numbers.
#[derive(Default)]
struct Program {
    functions: String,
    main: String,
    values: usize,
    expected: Vec<String>,
}

/// A tuple or layout of which some integers are left to run time, and those integers.
struct Loose<T> {
    value: T,
    known: Vec<i64>,
}

/// Leaves integers to run time, from variable `first` on.
fn loosen(random: &mut Random, leaf: &Int, least: i64, known: &mut Vec<i64>, first: u32) -> Int {
    let value = leaf.as_static().unwrap_or(0);
    if value < least || random.below(2) == 0 {
        return leaf.clone();
    }
    known.push(value);
    let divisors: Vec<i64> = [1, 2, 4]
        .into_iter()
        .filter(|div| value % div == 0)
        .collect();
    let info = SymInfo {
        div: random.pick(&divisors).max(1),
        ..SymInfo::default()
    };
    Int::var(first + known.len() as u32 - 1, info)
}

fn loose_layout(random: &mut Random, layout: &Layout, first: u32) -> Loose<Layout> {
    let mut known = Vec::new();
    let shape = layout
        .shape()
        .map(&mut |leaf| loosen(random, leaf, 1, &mut known, first));
    let stride = layout
        .stride()
        .map(&mut |leaf| loosen(random, leaf, 2, &mut known, first));
    let value = Layout::new(shape, stride).expect("congruent");
    Loose { value, known }
}

fn loose_tuple(random: &mut Random, tuple: &IntTuple, first: u32) -> Loose<IntTuple> {
    let mut known = Vec::new();
    let value = tuple.map(&mut |leaf| loosen(random, leaf, 0, &mut known, first));
    Loose { value, known }
}

impl Program {
    /// A number as an operand for a run-time integer of a type.
    fn number(&mut self, int: &Int, value: i64) -> (String, String) {
        self.values += 2;
        let (constant, promised) = (self.values - 2, self.values - 1);
        let _ = writeln!(self.main, "  %{constant} = arith.constant {value} : i32");
        let ty = format!("!cute.int_tuple<\"{int}\">");
        let _ = writeln!(
            self.main,
            "  %{promised} = cute.assume(%{constant}) : (i32) -> {ty}"
        );
        (format!("%{promised}"), ty)
    }

    /// A value of `kind` in `main`.
    fn tuple(
        &mut self,
        kind: &str,
        tuple: &IntTuple,
        known: &mut impl Iterator<Item = i64>,
    ) -> String {
        let dynamic = tuple.leaves().into_iter().filter(|leaf| !leaf.is_static());
        let (operands, types): (Vec<_>, Vec<_>) = dynamic
            .map(|leaf| {
                let value = known.next().expect("a number for each variable");
                self.number(leaf, value)
            })
            .unzip();
        self.values += 1;
        let name = format!("%{}", self.values - 1);
        let _ = writeln!(
            self.main,
            "  {name} = cute.make_{kind}({}) : ({}) -> !cute.{kind}<\"{tuple}\">",
            operands.join(", "),
            types.join(", ")
        );
        name
    }

    fn layout(&mut self, layout: &Loose<Layout>) -> Operand {
        let mut known = layout.known.iter().copied();
        let shape = self.tuple("shape", layout.value.shape(), &mut known);
        let stride = self.tuple("stride", layout.value.stride(), &mut known);
        self.values += 1;
        let name = format!("%{}", self.values - 1);
        let (of, by) = (layout.value.shape(), layout.value.stride());
        let ty = format!("!cute.layout<\"{}\">", layout.value);
        let _ = writeln!(
            self.main,
            "  {name} = cute.make_layout({shape}, {stride}) : (!cute.shape<\"{of}\">, !cute.stride<\"{by}\">) -> {ty}"
        );
        Operand { name, ty }
    }

    fn operand(&mut self, kind: &str, tuple: &Loose<IntTuple>) -> Operand {
        let name = self.tuple(kind, &tuple.value, &mut tuple.known.iter().copied());
        let ty = format!("!cute.{kind}<\"{}\">", tuple.value);
        Operand { name, ty }
    }

    /// A function with one operation on its arguments, and a call of it.
    fn case(
        &mut self,
        op: &str,
        operands: &[Operand],
        arrow: bool,
        result: &str,
        expected: String,
    ) {
        let number = self.expected.len();
        let types: Vec<&str> = operands.iter().map(|operand| operand.ty.as_str()).collect();
        let parameters: Vec<String> = types
            .iter()
            .enumerate()
            .map(|(i, ty)| format!("%{i}: {ty}"))
            .collect();
        let used: Vec<String> = (0..types.len()).map(|i| format!("%{i}")).collect();
        let given: Vec<&str> = operands
            .iter()
            .map(|operand| operand.name.as_str())
            .collect();
        let types = types.join(", ");
        let signature = match (arrow, op.starts_with("slice")) {
            (true, _) => format!("{types} -> {result}"),
            (_, true) => types.clone(),
            _ => format!("({types}) -> {result}"),
        };
        let _ = write!(
            self.functions,
            "func.func @case{number}({}) {{\n  %r = cute.{op}({}) : {signature}\n  cute.print(%r) : {result}\n  return\n}}\n",
            parameters.join(", "),
            used.join(", "),
        );
        let _ = writeln!(
            self.main,
            "  func.call @case{number}({}) : ({types}) -> ()",
            given.join(", ")
        );
        self.expected.push(expected);
    }
}

impl Program {
    /// The text of a case.
    fn function(&self, number: usize) -> &str {
        let start = format!("func.func @case{number}(");
        let mut functions = self.functions.split_inclusive("\n}\n");
        functions
            .find(|text| text.starts_with(&start))
            .unwrap_or_default()
    }
}

struct Operand {
    name: String,
    ty: String,
}

fn leaf(value: i64) -> IntTuple {
    Tree::Leaf(Int::Static(value))
}

fn values(layout: &Layout) -> Vec<Option<i64>> {
    let size = layout.size().as_static().expect("a static size");
    (0..size)
        .map(|index| {
            offset_at(&leaf(index), layout)
                .expect("a value")
                .as_static()
        })
        .collect()
}

type Binary = fn(&Layout, &Layout) -> Result<Layout, LayoutError>;

/// Name, what the second operand is, and whether the result is the static one as a function.
const LAYOUTS: [(&str, &str, bool, Binary); 9] = [
    ("composition", "layout", true, composition),
    ("complement", "shape", false, |a, b| {
        complement(a, b.shape())
    }),
    ("logical_divide", "layout", false, |a, b| {
        logical_divide(a, &Tiler::Layout(b.clone()))
    }),
    ("zipped_divide", "shape", false, |a, b| {
        zipped_divide(a, &Tiler::from_shape(b.shape()))
    }),
    ("tiled_divide", "layout", false, |a, b| {
        tiled_divide(a, &Tiler::Layout(b.clone()))
    }),
    ("logical_product", "layout", true, |a, b| {
        logical_product(a, &Tiler::Layout(b.clone()))
    }),
    ("tile_to_shape", "shape", true, |a, b| {
        tile_to_shape(a, b.shape(), None)
    }),
    ("coalesce", "", true, |a, _| Ok(coalesce(a))),
    ("flatten", "", true, |a, _| Ok(flatten(a))),
];

fn layout_case(program: &mut Program, random: &mut Random, round: usize) {
    let (name, second, exact, operation) = LAYOUTS[round % LAYOUTS.len()];
    let (a, b) = (random.layout(), random.layout());
    let x = match name {
        // The dialect repeats static layouts only.
        "logical_product" => Loose {
            value: a.clone(),
            known: Vec::new(),
        },
        _ => loose_layout(random, &a, 0),
    };
    let first = x.known.len() as u32;
    let (mut y, shape) = (
        loose_layout(random, &b, first),
        loose_tuple(random, b.shape(), first),
    );
    if second == "shape" {
        y.value = Layout::col_major(shape.value.clone());
        y.known.clone_from(&shape.known);
    }
    let known = [x.known.clone(), y.known.clone()].concat();
    let env = |id: u32| known[id as usize];
    let (result, conditions) = assuming(|| operation(&x.value, &y.value));
    let (Ok(result), Ok(wanted)) = (result, operation(&a, &b)) else {
        return;
    };
    if !conditions.iter().all(|condition| condition.eval(&env)) {
        return;
    }
    let found = result.eval(&env);
    if exact {
        assert_eq!(values(&found), values(&wanted), "{name}({a}, {b})");
    }
    let mut operands = vec![program.layout(&x)];
    match second {
        "layout" => operands.push(program.layout(&y)),
        "shape" => operands.push(program.operand("shape", &shape)),
        _ => {}
    }
    let ty = format!("!cute.layout<\"{result}\">");
    program.case(name, &operands, false, &ty, found.to_string());
}

fn integer_case(program: &mut Program, random: &mut Random, round: usize) {
    let layout = random.layout();
    let x = loose_layout(random, &layout, 0);
    let size = layout.size().as_static().expect("a static size");
    let index = random.below(size as usize) as i64;
    let at = loose_tuple(random, &leaf(index), x.known.len() as u32);
    let known = [x.known.clone(), at.known.clone()].concat();
    let env = |id: u32| known[id as usize];
    let Tree::Leaf(at_int) = at.value.clone() else {
        return;
    };
    let int_tuple = |int: &Int| format!("!cute.int_tuple<\"{int}\">");
    let int = match round % 4 {
        0 => {
            let operands = [program.layout(&x)];
            let size = x.value.size();
            program.case(
                "size",
                &operands,
                false,
                &int_tuple(&size),
                layout.size().to_string(),
            );
            size
        }
        1 => {
            let (found, wanted) = (cosize(&x.value), cosize(&layout));
            let (Ok(found), Ok(wanted)) = (found, wanted) else {
                return;
            };
            let operands = [program.layout(&x)];
            program.case(
                "cosize",
                &operands,
                false,
                &int_tuple(&found),
                wanted.to_string(),
            );
            found
        }
        2 => {
            let found = offset_at(&Tree::Leaf(at_int), &x.value).expect("an index fits");
            let wanted = offset_at(&leaf(index), &layout).expect("an index fits");
            let operands = [program.operand("int_tuple", &at), program.layout(&x)];
            program.case(
                "crd2idx",
                &operands,
                false,
                &int_tuple(&found),
                wanted.to_string(),
            );
            found
        }
        _ => {
            let shape = Loose {
                value: x.value.shape().clone(),
                known: x.known.clone(),
            };
            let found = idx2crd(&Tree::Leaf(at_int.clone()), &shape.value).expect("an index fits");
            let wanted = idx2crd(&leaf(index), layout.shape()).expect("an index fits");
            let operands = [
                program.operand("int_tuple", &at),
                program.operand("shape", &shape),
            ];
            let ty = format!("!cute.coord<\"{found}\">");
            program.case("idx2crd", &operands, false, &ty, wanted.to_string());
            at_int
        }
    };
    assert!(int.eval(&env) >= 0);
}

fn slice_case(program: &mut Program, random: &mut Random) {
    let layout = random.layout();
    let rank = layout.rank();
    let x = loose_layout(random, &layout, 0);
    if layout.shape().is_leaf() || rank < 2 {
        return;
    }
    let kept = random.below(rank);
    let coord: Vec<String> = (0..rank)
        .map(|mode| {
            if mode == kept {
                "_".into()
            } else {
                "0".to_string()
            }
        })
        .collect();
    let coord = format!("!cute.coord<\"({})\">", coord.join(","));
    program.values += 1;
    let name = format!("%{}", program.values - 1);
    let _ = writeln!(program.main, "  {name} = cute.static : {coord}");
    let operands = [program.layout(&x), Operand { name, ty: coord }];
    let mode = |layout: &Layout| {
        format!(
            "({}):({})",
            layout.shape().modes()[kept],
            layout.stride().modes()[kept]
        )
    };
    let ty = format!("!cute.layout<\"{}\">", mode(&x.value));
    program.case("slice", &operands, false, &ty, mode(&layout));
}

fn recast_case(program: &mut Program, random: &mut Random) {
    let layout = random.layout();
    let x = loose_layout(random, &layout, 0);
    let (result, conditions) = assuming(|| recast_layout(&x.value, 8, 16));
    let (Ok(result), Ok(wanted)) = (result, recast_layout(&layout, 8, 16)) else {
        return;
    };
    let env = |id: u32| x.known[id as usize];
    if !conditions.iter().all(|condition| condition.eval(&env)) {
        return;
    }
    let operands = [program.layout(&x)];
    let ty = format!("!cute.layout<\"{result}\">");
    let found = result.eval(&env);
    assert_eq!(values(&found), values(&wanted), "recast of {layout}");
    program.case(
        "recast_layout<8, 16>",
        &operands,
        true,
        &ty,
        found.to_string(),
    );
}

fn llvm_program(name: &str) -> Option<PathBuf> {
    let prefix = std::env::var("MLIR_SYS_220_PREFIX").unwrap_or("/usr/lib/llvm-22".into());
    let path = Path::new(&prefix).join("bin").join(name);
    path.is_file().then_some(path)
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("the program runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn dynamic_algebra_prints_what_static_algebra_gives() {
    let (Some(mlir_opt), Some(mlir_runner)) =
        (llvm_program("mlir-opt"), llvm_program("mlir-runner"))
    else {
        eprintln!("skipped: mlir-opt and mlir-runner of LLVM 22 are not installed");
        return;
    };
    let mut program = Program::default();
    let mut random = Random(7);
    for round in 0..400 {
        layout_case(&mut program, &mut random, round);
        integer_case(&mut program, &mut random, round);
        if round % 10 == 0 {
            slice_case(&mut program, &mut random);
            recast_case(&mut program, &mut random);
        }
    }
    assert!(program.expected.len() > 500, "{}", program.expected.len());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str| folder.path().join(name);
    let text = format!(
        "{}func.func @main() {{\n{}  return\n}}\n",
        program.functions, program.main
    );
    std::fs::write(file("in.mlir"), text).expect("the folder is writable");
    output(
        Command::new(cutec_test_suite::program("cute-opt"))
            .args([
                "--cute-fold-static",
                "--cute-expand-ops",
                "--cute-to-base",
                "-o",
            ])
            .args([file("base.mlir"), file("in.mlir")]),
    );
    output(
        Command::new(mlir_opt)
            .args([
                "--arith-expand",
                "--convert-to-llvm",
                "--reconcile-unrealized-casts",
                "-o",
            ])
            .args([file("llvm.mlir"), file("base.mlir")]),
    );
    let printed = output(
        Command::new(mlir_runner)
            .args(["-e", "main", "--entry-point-result=void"])
            .arg(file("llvm.mlir")),
    );
    let printed: Vec<&str> = printed.lines().collect();
    assert_eq!(printed.len(), program.expected.len());
    for (number, (found, wanted)) in printed.iter().zip(&program.expected).enumerate() {
        if found != wanted {
            panic!(
                "expected {wanted}, found {found}\n{}",
                program.function(number)
            );
        }
    }
}

/// Ten thousand operations on each other's results, and as many promises about one number.
#[test]
fn long_chains_are_lowered() {
    let mut text = String::from(
        "func.func @sum(%0: !cute.int_tuple<\"?\">, %other: !cute.int_tuple<\"?\">, %c: i1) -> !cute.int_tuple<\"?\"> {\n",
    );
    let leaf = "!cute.int_tuple<\"?\">";
    for number in 1..10_000 {
        let _ = writeln!(
            text,
            "  %{number} = cute.assume(%{}) : ({leaf}) -> {leaf}",
            number - 1
        );
    }
    for number in 10_000..20_000 {
        let by = if number % 2 == 0 { "%other" } else { "%9000" };
        let op = if number % 3 == 0 {
            "ceil_div"
        } else {
            "tuple_add"
        };
        let _ = writeln!(
            text,
            "  %{number} = cute.{op}(%{}, {by}) : ({leaf}, {leaf}) -> {leaf}",
            number - 1
        );
    }
    let _ = writeln!(
        text,
        "  cf.cond_br %c, ^a, ^b\n^a:\n  %r = cute.tuple_add(%19999, %19998) : ({leaf}, {leaf}) -> {leaf}\n  return %r : {leaf}\n^b:\n  return %19999 : {leaf}\n}}"
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("in.mlir");
    std::fs::write(&file, text).expect("the folder is writable");
    let lowered = output(
        Command::new(cutec_test_suite::program("cute-opt"))
            .args(["--cute-expand-ops", "--cute-to-base"])
            .arg(file),
    );
    assert!(!lowered.contains("!cute."));
    // A block does not compute again what another one has.
    let block = lowered.split("^bb1:").nth(1).unwrap_or_default();
    let block = block.split("^bb2:").next().unwrap_or_default();
    assert_eq!(block.matches("arith.").count(), 1, "{block}");
}
