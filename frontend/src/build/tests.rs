use super::error::Result;
use super::*;
use crate::source::NoImports;
use crate::{Diagnostic, LowerOptions, SourceMap, emit_module, load_imports, load_program};
use cutec_dialects::target::TARGETS;
use melior::ir::operation::OperationLike;
use proptest::prelude::*;

/// The IR of a kernel, or what is wrong with it.
fn ir(kernel: &Module, from_text: bool) -> std::result::Result<String, Vec<Diagnostic>> {
    let context = cutec_dialects::context();
    let (mut sources, mut diagnostics) = (SourceMap::new(), Vec::new());
    let program = match from_text {
        true => {
            let (name, text) = (kernel.name(), kernel.listing());
            load_program(&mut sources, name, text, &NoImports, &mut diagnostics)
        }
        false => {
            kernel.add_to(&mut sources, kernel.name());
            let root = kernel.file().as_ref().clone();
            load_imports(&mut sources, root, &NoImports, &mut diagnostics)
        }
    };
    let options = LowerOptions {
        target: TARGETS[TARGETS.len() - 1],
        kernel: None,
        defines: Vec::new(),
    };
    let module = emit_module(&context, &sources, &program, &options, &mut diagnostics);
    match module {
        Some(module)
            if !diagnostics.iter().any(Diagnostic::is_error) && module.as_operation().verify() =>
        {
            Ok(module.as_operation().to_string())
        }
        _ => Err(diagnostics),
    }
}

fn one_dimension() -> (Tensor, Tensor, Body) {
    let mut signature = Signature::new("k").expect("a name");
    let x = signature.tensor("x", DType::F32, ["n"]).expect("a tensor");
    let y = signature
        .tensor_mut("y", DType::F32, ["n"])
        .expect("a tensor");
    let body = signature.tiles([Extent::name("n").tiles(64)]);
    (x, y, body.expect("a launch"))
}

fn said<T: std::fmt::Debug>(result: Result<T>) -> String {
    let error = result.expect_err("this is wrong");
    // The place is this file, not one of the builder's.
    assert!(error.at.file().ends_with("build/tests.rs"), "{}", error.at);
    error.problem.to_string()
}

#[test]
fn a_tile_lies_at_an_offset() {
    let (x, y, mut body) = one_dimension();
    let at = body.tile_index(0).expect("an axis");
    let first = body.mul(&at, 64).expect("a number");
    let before = body.sub(&first, 1).expect("a number");
    let a = body.load(&x, [64], [At::element(&before)]).expect("a tile");
    let b = body
        .load_or(&x, [64], [At::element(-64)], 1.0)
        .expect("a tile");
    let sum = body.add(&a, &b).expect("a tile");
    body.store(&y, [64], [At::tile(&at)], &sum).expect("stored");
    let half = body.load(&x, [64], [At::element(0.5)]);
    assert_eq!(
        said(half),
        "`load` expects an integer, found the literal 0.5"
    );
    let kernel = body.finish().expect("a kernel");
    let built = ir(&kernel, false).expect("correct");
    assert_eq!(built, ir(&kernel, true).expect("correct"));
    assert_eq!(
        built.matches("by_element = array<i64: 0>").count(),
        2,
        "{built}"
    );
    assert!(built.contains("!cute.int_tuple<\"-64\">"), "{built}");
}

#[test]
fn each_mode_has_a_tile_or_an_offset() {
    let mut signature = Signature::new("k").expect("a name");
    let x = signature
        .tensor_mut("x", DType::F32, ["m", "n"])
        .expect("a tensor");
    let body = signature.tiles([Extent::name("m").tiles(8)]);
    let mut body = body.expect("a launch");
    let at = body.tile_index(0).expect("an axis");
    let tile = body.load(&x, [8, 64], [At::tile(&at), At::element(-3)]);
    let tile = tile.expect("a tile");
    body.store(&x, [8, 64], [At::element(&at), At::element(5)], &tile)
        .expect("stored");
    let kernel = body.finish().expect("a kernel");
    let listing = kernel.listing();
    assert!(
        listing.contains("x.tile((8, 64), (tile.m, _), at = (_, -3))"),
        "{listing}"
    );
    assert!(
        listing.contains("x.tile((8, 64), at = (tile.m, 5)) ="),
        "{listing}"
    );
    let built = ir(&kernel, false).expect("correct");
    assert!(built.contains("by_element = array<i64: 1>"), "{built}");
    assert!(built.contains("by_element = array<i64: 0, 1>"), "{built}");
}

#[test]
fn a_kernel_is_plain_data() {
    fn is_shared<T: Send + Sync + Clone>() {}
    is_shared::<Module>();
    is_shared::<Value>();
}

#[test]
fn wrong_calls_say_what_was_expected_and_found() {
    let (x, y, mut body) = one_dimension();
    let at = body.tile_index(0).expect("an axis");
    let a = body.load(&x, [64], [&at]).expect("a tile");
    let narrow = body.convert(DType::F16, &a).expect("a tile");
    let short = body.zeros(DType::F32, [32]).expect("a tile");
    let bytes = body.zeros(DType::F8E4M3, [16, 32]).expect("a tile");
    let square = body.zeros(DType::F16, [16, 16]).expect("a tile");
    let sums = body.zeros(DType::F32, [16, 16]).expect("a tile");
    let mma = Mma::sync([16, 8, 16], [DType::BF16; 2], DType::F32).expect("an atom");

    let messages = [
        said(body.add(&a, &narrow)),
        said(body.add(&a, &short)),
        said(body.add(&a, true)),
        said(body.add(1, 2.5)),
        said(body.rem(&a, 2)),
        said(body.and(&a, &a)),
        said(body.add(&bytes, &bytes)),
        said(body.exp(&at)),
        said(body.select(&a, &a, 0.0)),
        said(body.reduce(Reduction::And, &a, 0)),
        said(body.reduce(Reduction::Add, &a, 1)),
        said(body.reduce(Reduction::Add, &at, 0)),
        said(body.transpose(&a)),
        said(body.reshape(&a, [32, 3])),
        said(body.part(&a, [32], [16])),
        said(body.part(&a, [32], [0, 0])),
        said(body.join([a.clone(), narrow.clone()], 0)),
        said(body.join([a.clone(), short.clone()], 0)),
        said(body.join([], 0)),
        said(body.broadcast(&a, [8, 32])),
        said(body.dot(&a, &a)),
        said(body.dot(&square, &bytes)),
        said(body.dot_onto(&square, &square, &square)),
        said(body.dot_onto(&a, &square, &square)),
        said(body.dot_onto_by(&sums, &square, &square, &mma)),
        said(body.convert(DType::F32, 1)),
        said(body.convert_with(DType::BF16, &a, Some(Round::Up), false)),
        said(body.load(&x, [64], [&at, &at])),
        said(body.load(&x, [64, 2], [&at])),
        said(body.load(&x, [64], [&a])),
        said(body.load_or(&x, [64], [&at], true)),
        said(body.store(&x, [64], [&at], &a)),
        said(body.store(&y, [64], [&at], &narrow)),
        said(body.update(Reduction::Mul, &y, [64], [&at], &a)),
        said(body.update(Reduction::Min, &x, [64], [&at], &a)),
        said(body.update(Reduction::Add, &x, [64], [&at], &a)),
        said(body.update(Reduction::Add, &y, [64], [&at], &short)),
        said(body.when(&at, [], |_, []| Ok([]))),
        said(body.when(true, [a.clone()], |_, [_]| Ok([narrow.clone()]))),
        said(body.branch(
            true,
            [Value::from(1)],
            |_, held| Ok(held),
            |_, held| Ok(held),
        )),
        said(body.zeros(DType::F32, [0, 4])),
        said(body.zeros(DType::F32, [1 << 30, 1 << 40])),
        said(body.iota([64], 1)),
        said(body.tile_index(1)),
        said(body.extent("m")),
        said(body.repeat(Loop::tiles(&at, 0), [], |_, _, []| Ok([]))),
        said(body.repeat(Loop::range(0, 4).pipeline(99), [], |_, _, []| Ok([]))),
        said(body.repeat(Loop::range(0, &a), [], |_, _, []| Ok([]))),
        said(body.repeat(Loop::range(0, 4), [Value::from(1)], |_, _, held| Ok(held))),
        said(body.repeat(Loop::range(0, 4), [a.clone()], |_, _, [_]| {
            Ok([narrow.clone()])
        })),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn wrong_signatures_are_refused() {
    let mut one = Signature::new("one").expect("a name");
    let x = one.tensor("x", DType::F32, ["m", "n"]).expect("a tensor");
    let mut other = Signature::new("one").expect("a name");
    let none: [Extent; 0] = [];
    let messages = [
        said(Signature::new("a b")),
        said(Signature::new("kernel")),
        said(Signature::new("é")),
        said(one.tensor("x", DType::F32, ["m"])),
        said(one.tensor("exp", DType::F32, ["m"])),
        said(one.tensor("y", DType::F32, ["f32"])),
        said(one.tensor("y", DType::F32, none)),
        said(one.strides(&x, [1])),
        said(other.strides(&x, [1, 1])),
        said(one.number("s", DType::TF32)),
        said(one.divisible("k", 8)),
        said(one.divisible("n", 0)),
        said(one.aligned(&x, 24)),
        said(one.raster(0)),
        said(one.warps([8, 8])),
        said(one.warps([2, 2, 2])),
        said(one.min_blocks(0)),
        said(one.clone().tiles([Extent::name("k").tiles(8)])),
        said(one.tiles(["m", "n", "m", "n"])),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn values_stay_in_their_kernel_and_their_loop() {
    let (x, y, mut body) = one_dimension();
    let (_, _, mut other) = one_dimension();
    let at = body.tile_index(0).expect("an axis");
    let foreign = other.zeros(DType::F32, [64]).expect("a tile");
    assert_eq!(
        said(body.exp(&foreign)),
        "`exp` got a value of another kernel"
    );
    let at_other = other.tile_index(0).expect("an axis");
    assert_eq!(
        said(other.load(&x, [64], [&at_other])),
        "`load` got a tensor of another kernel"
    );
    let mut leaked = None;
    let [] = body
        .repeat(Loop::range(0, 3), [], |body, _, []| {
            leaked = Some(body.load(&x, [64], [&at])?);
            Ok([])
        })
        .expect("a loop");
    let leaked = leaked.expect("the round was built");
    let message = said(body.store(&y, [64], [&at], &leaked));
    assert_eq!(
        message,
        "`store` got a value of a loop or a branch that has ended: let that carry it"
    );
}

#[test]
fn loops_carry_what_their_rounds_hold() {
    let (x, y, mut body) = one_dimension();
    let at = body.tile_index(0).expect("an axis");
    let build = |body: &mut Body| -> Result<()> {
        let (a, b) = (body.load(&x, [64], [&at])?, body.zeros(DType::F32, [64])?);
        let [a, _] = body.repeat(Loop::range(0, 5), [a, b], |body, _, [a, b]| {
            let sum = body.add(&a, &b)?;
            Ok([sum, a])
        })?;
        body.store(&y, [64], [&at], &a)
    };
    build(&mut body).expect("it is right");
    let kernel = body.finish().expect("it is right");
    insta::assert_snapshot!(kernel.listing());
    let text = ir(&kernel, false).expect("it verifies");
    // The old first one becomes the second, not the new.
    assert!(text.contains("scf.yield"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn branches_change_what_they_carry() {
    let (x, y, mut body) = one_dimension();
    let build = |body: &mut Body| -> Result<()> {
        let at = body.tile_index(0)?;
        let first = body.eq(&at, 0)?;
        let a = body.load(&x, [64], [&at])?;
        let [a] = body.when(&first, [a], |body, [a]| Ok([body.exp(&a)?]))?;
        let turned = |body: &mut Body, [a, b]: [Value; 2]| -> Result<[Value; 2]> {
            body.update(Reduction::Add, &y, [64], [&at], &a)?;
            Ok([b, a])
        };
        let b = body.zeros(DType::F32, [64])?;
        let [a, b] = body.branch(&first, [a, b], turned, |_, held| Ok(held))?;
        let sum = body.add(&a, &b)?;
        body.update(Reduction::Add, &y, [64], [&at], &sum)
    };
    build(&mut body).expect("it is right");
    let kernel = body.finish().expect("it is right");
    insta::assert_snapshot!(kernel.listing());
    let text = ir(&kernel, false).expect("it verifies");
    assert!(text.contains("scf.if"), "{text}");
    assert!(text.contains("{atomic = \"add\"}"), "{text}");
}

#[test]
fn updates_give_what_was_there() {
    let (_, y, mut body) = one_dimension();
    let build = |body: &mut Body| -> Result<()> {
        let at = body.tile_index(0)?;
        let was = body.fetch(Reduction::Add, &y, [64], [&at], 1.0)?;
        body.store(&y, [64], [&at], &was)
    };
    build(&mut body).expect("it is right");
    let kernel = body.finish().expect("it is right");
    for from_text in [false, true] {
        let text = ir(&kernel, from_text).expect("it verifies");
        assert!(text.contains("tile.atomic \"add\""), "{text}");
    }
}

#[test]
fn names_that_are_made_mean_nothing_else() {
    for before in 0..70 {
        let (_, y, mut body) = one_dimension();
        for _ in 0..before {
            body.zeros(DType::F32, [1]).expect("a tile");
        }
        let at = body.tile_index(0).expect("an axis");
        let round = |body: &mut Body, index: &Value, []: [Value; 0]| -> Result<[Value; 0]> {
            let short = body.convert(DType::I8, index)?;
            let wide = body.convert(DType::I64, &short)?;
            let word = body.convert(DType::I32, &wide)?;
            let number = body.convert(DType::F32, &word)?;
            body.store(&y, [64], [&at], &number)?;
            Ok([])
        };
        let [] = body.repeat(Loop::range(0, 3), [], round).expect("a loop");
        let kernel = body.finish().expect("it is right");
        assert!(ir(&kernel, false).is_ok(), "{}", kernel.listing());
    }
}

#[test]
fn literals_are_those_of_the_host() {
    let (_, y, mut body) = one_dimension();
    let at = body.tile_index(0).expect("an axis");
    for value in [
        -0.0,
        1e-42,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        0.1,
        -3.5e38,
    ] {
        body.store(&y, [64], [&at], value).expect("a number");
    }
    for value in [i64::MAX, -1, 0] {
        body.store(&y, [64], [&at], value).expect("a number");
    }
    let kernel = body.finish().expect("it is right");
    assert!(ir(&kernel, false).is_ok(), "{:?}", ir(&kernel, false));
}

#[test]
fn instructions_are_pinned_for_their_types() {
    let (_, _, mut body) = one_dimension();
    let mut build = |of: [DType; 2], sums: DType, mma: Mma| -> Result<Value> {
        let a = body.zeros(of[0], [32, 32])?;
        let b = body.zeros(of[1], [32, 32])?;
        let start = body.zeros(sums, [32, 32])?;
        body.dot_onto_by(&start, &a, &b, &mma)
    };
    let bytes = [DType::U8, DType::I8];
    let mixed = Mma::sync([16, 8, 32], bytes, DType::I32).expect("an atom");
    build(bytes, DType::I32, mixed.clone()).expect("a product");
    let half = [DType::F16; 2];
    let shared = Mma::sync([16, 8, 16], half, DType::F32).expect("an atom");
    let shared = shared.atoms([2, 1, 1]).permute([32, 16, 16]);
    build(half, DType::F32, shared).expect("a product");
    build(
        [DType::F32; 2],
        DType::F32,
        Mma::fma(DType::F32).expect("an atom"),
    )
    .expect("a product");
    let other = said(build([DType::I8; 2], DType::I32, mixed));
    assert_eq!(
        other,
        "`mma` expects i8, found u8: nothing is converted silently"
    );
    let none = said(Mma::sync([16, 8, 8], bytes, DType::I32));
    assert!(none.contains("m16n8k8"), "{none}");
    let kernel = body.finish().expect("it is right");
    let text = ir(&kernel, false).expect("it verifies");
    assert_eq!(text.matches("tile.dot").count(), 3, "{text}");
}

/// One call with operands among the values so far; what is refused leaves no trace.
fn step(body: &mut Body, values: &mut Vec<Value>, [what, a, b, c]: [u8; 4]) {
    const ELEMS: [DType; 13] = [
        DType::Bool,
        DType::I8,
        DType::U8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::F8E4M3,
        DType::F8E5M2,
        DType::F16,
        DType::BF16,
        DType::TF32,
        DType::F32,
        DType::F64,
    ];
    const SHAPES: [&[i64]; 6] = [&[16, 16], &[1, 16], &[16, 1], &[16], &[1], &[8, 16]];
    let pick = |at: u8| match at {
        0..16 => Value::from(i32::from(at) - 4),
        16..24 => Value::from(f64::from(at) / 3.0),
        24..28 => Value::from(at.is_multiple_of(2)),
        _ => values[usize::from(at) % values.len()].clone(),
    };
    let (x, y, z) = (pick(a), pick(b), pick(c));
    let elem = ELEMS[usize::from(b) % ELEMS.len()];
    let shape = || SHAPES[usize::from(c) % SHAPES.len()].iter().copied();
    let reductions = [
        Reduction::Add,
        Reduction::Min,
        Reduction::Max,
        Reduction::Xor,
    ];
    let rounds = [
        None,
        Some(Round::Nearest),
        Some(Round::Zero),
        Some(Round::Up),
    ];
    let result = match what % 42 {
        0 => body.add(x, y),
        1 => body.sub(x, y),
        2 => body.mul(x, y),
        3 => body.div(x, y),
        4 => body.rem(x, y),
        5 => body.shl(x, y),
        6 => body.shr(x, y),
        7 => body.and(x, y),
        8 => body.or(x, y),
        9 => body.xor(x, y),
        10 => body.eq(x, y),
        11 => body.lt(x, y),
        12 => body.ge(x, y),
        13 => body.min(x, y),
        14 => body.max(x, y),
        15 => body.fma(x, y, z),
        16 => body.select(x, y, z),
        17 => body.abs(x),
        18 => body.neg(x),
        19 => body.not(x),
        20 => body.sqrt(x),
        21 => body.exp(x),
        22 => body.erf(x),
        23 => body.round(x),
        24..28 => body.convert(elem, x),
        28 => body.convert_with(elem, x, rounds[usize::from(c) % 4], c % 8 < 2),
        29 => body.reduce(reductions[usize::from(c) % 4], x, usize::from(b % 2)),
        30 => body.transpose(x),
        31 => body.reshape(x, shape()),
        32 => body.broadcast(x, shape()),
        33 => body.dot(&x, &y),
        34 => body.dot_onto(&z, &x, &y),
        35 => body.full(elem, x, shape()),
        36 => body.iota(shape(), usize::from(b % 2)),
        37 => body.rsqrt(x),
        38 => body
            .repeat(Loop::tiles(x, 8), [y], |body, _, [held]| {
                Ok([body.add(&held, &z)?])
            })
            .map(|[held]| held),
        39 => {
            let at = shape().map(|extent| i64::from(a % 3) * extent);
            body.part(x, shape(), at)
        }
        40 => body.join([x, y], usize::from(b % 2)),
        _ => body.zeros(elem, shape()),
    };
    if let Ok(value) = result {
        values.push(value);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_the_builder_accepts_the_front_end_emits(steps in proptest::collection::vec(any::<[u8; 4]>(), 1..60)) {
        let (x, _, mut body) = one_dimension();
        let at = body.tile_index(0).expect("an axis");
        let n = body.extent("n").expect("an extent");
        let tile = body.load(&x, [16], [&at]).expect("a tile");
        let half = body.zeros(DType::F16, [16, 16]).expect("a tile");
        let mut values = vec![at, n, tile, half];
        for call in steps {
            step(&mut body, &mut values, call);
        }
        let kernel = body.finish().expect("it is not large");
        let built = ir(&kernel, false);
        prop_assert!(built.is_ok(), "{}\n{:?}", kernel.listing(), built.err());
        prop_assert_eq!(built.ok(), ir(&kernel, true).ok());
    }
}

/// Every built-in that computes on tiles can be built: by the method of its name, or as the comment says.
#[test]
fn built_ins_of_tiles_have_methods() {
    use crate::eval::builtins::{Elementary, FAMILIES, Level};
    assert_eq!(super::elements::FUNCTIONS, Elementary::ALL);
    let texts = [
        include_str!("elements.rs"),
        include_str!("memory.rs"),
        include_str!("product.rs"),
        include_str!("shapes.rs"),
    ]
    .concat();
    let elsewhere = [
        // Of integers known before: `Extent::tiles`; `Loop::tiles`.
        "ceil_div",
        "tiles",
        // Of functions, of several tiles and of computed places: of text alone so far.
        "scan",
        "gather",
        "scalar",
        "mulhi",
        // The host's.
        "bits",
        "element_type",
        "static_assert",
    ];
    let families = ["numbers", "reductions", "tiles"];
    let families = FAMILIES
        .iter()
        .filter(|family| families.contains(&family.name));
    for builtin in families.flat_map(|family| family.builtins) {
        let elementary = Elementary::parse(builtin.name).is_some();
        if builtin.level == Level::Threads || elementary || elsewhere.contains(&builtin.name) {
            continue;
        }
        let method = format!("pub fn {}", builtin.name);
        let found = texts.contains(&format!("{method}(")) || texts.contains(&format!("{method}<"));
        assert!(found, "`{}` has no method of `Body`", builtin.name);
    }
}

#[test]
fn loops_and_branches_carry_as_many_values_as_there_are() {
    for count in [0, 1, 5] {
        let (x, y, mut body) = one_dimension();
        let mut build = || -> Result<()> {
            let at = body.tile_index(0)?;
            let mut carried = vec![body.add(&at, 1)?];
            for _ in 0..count {
                carried.push(body.load(&x, [64], [&at])?);
            }
            let over = Loop::range(0, 3);
            let carried = body.repeat(over, carried, |body, step, mut carried| {
                carried[0] = body.add(&carried[0], step)?;
                carried[1..].rotate_left(1.min(count));
                Ok(carried)
            })?;
            assert_eq!(carried.len(), 1 + count);
            let first = body.eq(&at, 0)?;
            let carried = body.when(&first, carried, |body, mut carried| {
                for tile in &mut carried[1..] {
                    *tile = body.exp(&*tile)?;
                }
                Ok(carried)
            })?;
            let other = |_: &mut Body, held: Vec<Value>| Ok(held);
            let carried = body.branch(&first, carried, other, other)?;
            let mut sum = body.convert(DType::F32, &carried[0])?;
            for tile in &carried[1..] {
                sum = body.add(&sum, tile)?;
            }
            body.store(&y, [64], [&at], &sum)
        };
        build().expect("it is right");
        let kernel = body.finish().expect("it is right");
        let built = ir(&kernel, false).expect("it verifies");
        assert_eq!(built, ir(&kernel, true).expect("it verifies"));
        assert!(built.contains("scf.for"), "{built}");
    }
    let (_, _, mut body) = one_dimension();
    let tile = body.zeros(DType::F32, [64]).expect("a tile");
    let fewer = body.repeat(Loop::range(0, 3), vec![tile], |_, _, _| Ok(Vec::new()));
    let message = said(fewer);
    assert_eq!(
        message,
        "`repeat` expects 1 values that are carried, found 0"
    );
}

#[test]
fn what_has_no_method_is_said_in_the_language() {
    use syntax::{Block, Expr, Function, Import};
    let mut signature = Signature::new("k").expect("a name");
    let x = signature
        .tensor_mut("x", DType::F16, ["m", "n"])
        .expect("a tensor");
    let mut twice = Block::new();
    twice.value(Expr::name("x") * 2.0);
    signature
        .item(Import::new("std/activations.cute"))
        .item(Function::new("twice", twice).param("x"))
        .promise((Expr::name("n") % 8).equal(0))
        .launch("min_blocks", [2]);
    let body = signature.tiles([Extent::name("m").tiles(64)]);
    let mut body = body.expect("a launch");
    let mut build = || -> Result<()> {
        let at = [body.tile_index(0)?, 0.into()];
        let copy = Expr::name("cp_async")
            .generic([syntax::Arg::from("f16"), syntax::Arg::named("bits", 64)]);
        let how = Load::new().copy(copy).swizzle([2, 3, 3]);
        let a = body.load_with(&x, [64, 32], &at, how)?;
        let product = body.dot(&a, &a)?;
        let kind = product.kind();
        let active = body.call("gelu", [&product], kind.clone())?;
        let active = body.expr(&active)?;
        let twice = body.evaluate(active.call_named("twice", [] as [Expr; 0]), kind)?;
        body.run(Expr::name("static_assert").call([Expr::bool(true), Expr::text("so it is")]));
        let result = body.convert(DType::F16, &twice)?;
        body.store(&x, [64, 64], &at, &result)
    };
    build().expect("it is right");
    let message = said(body.call("f", [1], Kind::Number(DType::U16)));
    assert_eq!(message, "`call`: kernels have no elements of u16");
    let kernel = body.finish().expect("it is right");
    let listing = kernel.listing();
    for part in [
        "import \"std/activations.cute\";",
        "where n % 8 == 0\nlaunch tiles(ceil_div(m, 64)), min_blocks(2)",
        "copy = cp_async<f16, bits = 64>, swizzle = S<2, 3, 3>)",
        "= gelu(",
        "= twice(",
    ] {
        assert!(listing.contains(part), "{part} in\n{listing}");
    }
    let built = ir(&kernel, false).expect("it verifies");
    assert_eq!(built, ir(&kernel, true).expect("it verifies"));
}

#[test]
fn what_is_wrong_is_said_at_the_places_of_the_host() {
    let model = SourceText::new(
        "model.py",
        "def layer(x):\n    y = x + 1\n    return frobnicate(y)\n",
    );
    let mut signature = Signature::new("k").expect("a name");
    signature.at(&model.line(1));
    let x = signature
        .tensor_mut("x", DType::F32, ["n"])
        .expect("a tensor");
    let body = signature.tiles([Extent::name("n").tiles(64)]);
    let mut body = body.expect("a launch");
    let mut build = || -> Result<()> {
        let at = body.tile_index(0)?;
        let a = body.at(&model.line(2)).load(&x, [64], [&at])?;
        // The place of a loop's round ends with it.
        let [a] = body.repeat(Loop::range(0, 2), [a], |body, _, [a]| {
            let wrong = body.at(&model.line(3)).call("frobnicate", [&a], a.kind())?;
            Ok([wrong])
        })?;
        body.store(&x, [64], [&at], &a)?;
        let other = body.at(None).call("other", [&a], a.kind())?;
        body.store(&x, [64], [&at], &other)
    };
    build().expect("it is built");
    let kernel = body.finish().expect("it is built");
    let diagnostics = ir(&kernel, false);
    let diagnostics = diagnostics.expect_err("there is no such function");
    let (mut sources, mut places) = (SourceMap::new(), Vec::new());
    kernel.add_to(&mut sources, "k.cute");
    for diagnostic in &diagnostics {
        let span = diagnostic.span();
        let file = sources.file(span.file).name();
        places.push(format!("{file}: {}", sources.snippet(span)));
    }
    assert_eq!(
        places[0], "model.py: return frobnicate(y)",
        "{diagnostics:?}"
    );
    assert!(kernel.places().contains("0:"), "{}", kernel.places());
    // Without places, another module: what is kept of one is not found for the other.
    let (_, _, plain) = one_dimension();
    assert!(plain.finish().expect("a kernel").places().is_empty());
}
