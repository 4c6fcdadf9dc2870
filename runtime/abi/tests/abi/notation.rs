//! The notation of IR: what it looks like, that it reads back, and what is refused where.

use super::bind::{gemm, gemm_with_map};
use cutec_abi::expr::Make;
use cutec_abi::{AbiExpr, KernelAbi, Promise, Resources};
use proptest::prelude::*;
use proptest::sample::select;

const GEMM: &str = r#""gemm"
  entry "gemm_sm80"
  source "gemm.cute"
  target "sm_80"
  arg a: tensor<f16, (m, k):(k, 1)> align 16
  arg b: tensor<f16, (k, 64):(1, ld)> align 16
  arg c: mut tensor<f16, (m, 64):(64, 1)> align 16
  arg alpha: f32
  symbol m: i32 = extent 0 of a
  symbol k: i32 = extent 1 of a div 8
  symbol ld: i64 = stride 1 of b div 8
  params (pointer a, pointer b, pointer c, symbol m, symbol k, symbol ld, scalar alpha)
  promise "ld >= k": ge(ld, k)
  grid (ceil_div(m, 128), 1, 1)
  block (256, 1, 1)
  smem 65536
  define bm = "128""#;

#[test]
fn a_kernel_reads_like_its_source() {
    assert_eq!(gemm().text(), GEMM);
    assert_eq!(KernelAbi::parse(GEMM), Ok(gemm()));
}

#[test]
fn everything_reads_back() {
    let mut kernel = gemm_with_map();
    kernel.name = "a \"name\"\n\\ ü\u{7f}".into();
    kernel.symbols[0].name = "not a word".into();
    kernel.symbols[1].name = "min".into();
    kernel.symbols[2].max = Some(1 << 40);
    kernel.block = None;
    kernel.persistent = true;
    kernel.cluster = Some([2, 1, 1]);
    kernel.pdl = true;
    kernel.target.clear();
    kernel.defines.insert("t".into(), "(\"f16\", 3)".into());
    kernel.candidates = [("bm", "[64, 128]"), ("t", "[f16, // \"half\"\n f32]")]
        .map(|(name, values)| (name.to_owned(), values.to_owned()))
        .into();
    kernel.tunable = ["bm > 32", "size(t) == 2"].map(str::to_owned).to_vec();
    kernel.resources = Some(Resources {
        registers: 255,
        spill_stores: 8,
        spill_loads: 12,
        static_smem: 1024,
    });
    kernel.promises = vec![
        promise(AbiExpr::Sub(
            symbol(1),
            Box::new(AbiExpr::Sub(symbol(0), constant(-3))),
        )),
        promise(AbiExpr::Mul(
            Box::new(AbiExpr::add(AbiExpr::Symbol(0), i64::MIN)),
            Box::new(AbiExpr::Min(symbol(1), symbol(1))),
        )),
    ];
    let text = kernel.text();
    assert_eq!(KernelAbi::parse(&text), Ok(kernel), "{text}");
}

#[test]
fn spaces_and_comments_mean_nothing() {
    let text = GEMM.replace('\n', " // a remark\n\t").replace(", ", ",");
    assert_eq!(KernelAbi::parse(&text), Ok(gemm()));
}

#[test]
fn angle_brackets_balance() {
    let text = gemm().text();
    let count = |sign| text.matches(sign).count();
    // What stands in quotes does not count for MLIR.
    assert_eq!(count('<'), 3);
    assert_eq!(count('>'), 3 + "ld >= k".matches('>').count());
}

#[test]
fn what_is_wrong_is_said_where_it_stands() {
    let refused = |from: &str, to: &str| {
        let text = GEMM.replacen(from, to, 1);
        assert_ne!(text, GEMM);
        let error = KernelAbi::parse(&text).unwrap_err();
        let rest: String = text[error.at..].chars().take(8).collect();
        format!("{} | {rest}", error.message)
    };
    let found = [
        refused("\"gemm\"", "gemm"),
        refused("f16", "f17"),
        refused("(m, k)", "(m, q)"),
        refused("(m, k)", "(m, k"),
        refused("extent 0", "extent 99999999999999999999"),
        refused("extent 0", "rank 0"),
        refused("extent 0", "extent 5"),
        refused("of a div 8", "of alpha div 8"),
        refused(": i32", ": i16"),
        refused("pointer a", "address a"),
        refused("grid (", "grid (1, "),
        refused("  grid", "  gird"),
        refused("256", "256 +"),
        refused("\"128\"", "\"128"),
        refused("\"128\"", "\"\\ff\""),
        refused("\"128\"", "\"\\x\""),
        refused("align 16", "align 12"),
        refused("smem", "smem 1 €"),
        refused("smem 65536", "smem -1"),
        refused("smem 65536", "smem 65536 smem 65536"),
    ];
    let expected = [
        "expected the kernel's name in quotes, found `gemm` | gemm\n  e",
        "expected an element type, found `f17` | f17, (m,",
        "expected the name of a symbol, found `q` | q):(k, 1",
        "expected `,` or `)`, found `:` | :(k, 1)>",
        "expected a number that fits, found `99999999999999999999` | 99999999",
        "expected `extent`, `stride` or `scalar`, found `rank` | rank 0 o",
        "a symbol refers to mode 5 of `a`, which has rank 2 | \"gemm\"\n ",
        "a symbol refers to argument 3: expected the index of a tensor | \"gemm\"\n ",
        "expected `i32` or `i64`, found `i16` | i16 = ex",
        "expected `pointer`, `symbol`, `scalar` or `tensor_map`, found `address` | address ",
        "expected numbers in x, y and z, found `(` | (1, ceil",
        "expected `grid`, found `gird` | gird (ce",
        "expected a number or a symbol, found `,` | , 1, 1)\n",
        "a text without closing quotes | \"128",
        "this text is not UTF-8 | \"\\ff\"",
        "an escape is `\\\\`, `\\\"`, `\\n`, `\\t` or two hexadecimal digits | \"\\x\"",
        "alignment 12 of `a`: expected a power of two | \"gemm\"\n ",
        "`\\u{20ac}` has no meaning here | € 65536\n",
        "expected a number that fits, found `-` | -1\n  def",
        "expected a clause of the ABI in its order, or its end, found `smem` | smem 655",
    ];
    assert_eq!(found, expected);
}

#[test]
fn nesting_is_bounded() {
    let nested = |count: usize, open: &str, close: &str| {
        let text = format!("{}1{}", open.repeat(count), close.repeat(count));
        KernelAbi::parse(&GEMM.replacen("ge(ld, k)", &text, 1))
    };
    for (open, close) in [
        ("(", ")"),
        ("min(", ", 2)"),
        ("2 * (1 + ", ")"),
        ("", " - 1"),
    ] {
        assert!(nested(20, open, close).is_ok());
        for count in [100, 100_000] {
            let error = nested(count, open, close).unwrap_err();
            assert_eq!(error.message, "an expression nested more than 56 deep");
        }
    }
}

/// What the notation allows, JSON can say: its reader recurses only so far.
#[test]
fn the_deepest_expression_travels() {
    let deep = (0..56).fold(AbiExpr::Symbol(0), |expr, _| AbiExpr::add(expr, 1));
    let mut kernel = gemm();
    kernel.promises = vec![promise(deep.clone())];
    let abi = cutec_abi::Abi::new(vec![kernel.clone()]);
    let json = cutec_abi::embed::to_json(&abi);
    assert_eq!(cutec_abi::embed::from_json(&json).unwrap(), abi);
    kernel.promises = vec![promise(AbiExpr::add(deep, 1))];
    let problem = kernel.check().unwrap_err();
    assert_eq!(
        problem.to_string(),
        "a promise nests more than 56 operations deep"
    );
}

fn symbol(index: usize) -> Box<AbiExpr> {
    Box::new(AbiExpr::Symbol(index))
}

fn constant(value: i64) -> Box<AbiExpr> {
    Box::new(AbiExpr::Const(value))
}

fn promise(expr: AbiExpr) -> Promise {
    let text = "as the source states it".into();
    Promise { text, expr }
}

fn expressions() -> impl Strategy<Value = AbiExpr> {
    let makes: Vec<Make> = AbiExpr::operations().collect();
    let leaf = prop_oneof![
        any::<i64>().prop_map(AbiExpr::Const),
        (0usize..3).prop_map(AbiExpr::Symbol)
    ];
    leaf.prop_recursive(6, 40, 2, move |inner| {
        (select(makes.clone()), inner.clone(), inner)
            .prop_map(|(make, lhs, rhs)| make(Box::new(lhs), Box::new(rhs)))
    })
}

proptest! {
    #[test]
    fn every_expression_reads_back(expr in expressions(), name in "\\PC{0,12}") {
        let mut kernel = gemm();
        kernel.promises = vec![promise(expr.clone())];
        kernel.grid[1] = expr;
        kernel.symbols[1].name = name;
        let text = kernel.text();
        match kernel.check() {
            Ok(()) => prop_assert_eq!(KernelAbi::parse(&text), Ok(kernel)),
            Err(_) => prop_assert!(KernelAbi::parse(&text).is_err()),
        }
    }

    #[test]
    fn a_damaged_text_never_panics(at in 0usize..2000, with in "\\PC{0,3}", cut in 0usize..4) {
        let mut text: Vec<char> = GEMM.chars().collect();
        let at = at % text.len();
        let end = (at + cut).min(text.len());
        text.splice(at..end, with.chars());
        let text: String = text.into_iter().collect();
        if let Err(error) = KernelAbi::parse(&text) {
            prop_assert!(text.is_char_boundary(error.at), "{}", error.message);
        }
    }
}

#[test]
fn a_map_of_pixels_reads_back() {
    let mut kernel = gemm_with_map();
    let cutec_abi::ArgAbi::Tensor(tensor) = &mut kernel.args[1] else {
        panic!("a tensor");
    };
    tensor.extents.resize(4, cutec_abi::Dim::Static(64));
    tensor.strides.resize(4, 64.into());
    let map = &mut kernel.tensor_maps[0];
    map.order = vec![3, 2, 1, 0];
    map.box_extents = vec![64, 1000];
    map.im2col = Some(cutec_abi::tensor_map::Im2col {
        lower: vec![-1, -2],
        upper: vec![0, 3],
        steps: vec![1, 2],
    });
    let text = kernel.text();
    assert!(
        text.contains("im2col lower [-1, -2] upper [0, 3] steps [1, 2]"),
        "{text}"
    );
    assert_eq!(KernelAbi::parse(&text), Ok(kernel.clone()), "{text}");
    for (lower, steps) in [
        (vec![-1], vec![1, 2]),
        (vec![-1, -200], vec![1, 2]),
        (vec![0, 0], vec![1, 9]),
    ] {
        let pixels = kernel.tensor_maps[0].im2col.as_mut().expect("pixels");
        (pixels.lower, pixels.steps) = (lower, steps);
        assert!(kernel.check().is_err());
    }
}

#[test]
fn a_map_of_a_view_reads_back() {
    use cutec_abi::tensor_map::MapView;
    let mut kernel = gemm_with_map();
    let rows = AbiExpr::mul(AbiExpr::Symbol(0), 3);
    kernel.tensor_maps[0].view = Some(MapView {
        offset: AbiExpr::add(AbiExpr::Symbol(1), 8),
        extents: vec![64.into(), rows, 2.into()],
        strides: vec![1.into(), AbiExpr::Symbol(1), 8.into()],
    });
    // As many modes as the view has, and not the tensor.
    assert!(kernel.check().is_err());
    kernel.tensor_maps[0].order = vec![0, 2, 1];
    kernel.tensor_maps[0].box_extents = vec![64, 1, 128];
    kernel.check().expect("three modes");
    let text = kernel.text();
    let names: Vec<&str> = kernel.symbols.iter().map(|it| it.name.as_str()).collect();
    let [first, second] = [names[0], names[1]];
    let view = format!("at ({second} + 8) as (64, {first} * 3, 2):(1, {second}, 8) order");
    assert!(text.contains(&view), "{text}");
    assert_eq!(KernelAbi::parse(&text), Ok(kernel.clone()), "{text}");
    let view = |kernel: &mut KernelAbi, with: fn(&mut MapView)| {
        let mut changed = kernel.clone();
        with(changed.tensor_maps[0].view.as_mut().expect("a view"));
        changed.check().is_err()
    };
    assert!(view(&mut kernel, |view| view.strides.truncate(2)));
    assert!(view(&mut kernel, |view| view.offset = AbiExpr::Symbol(9)));
}
