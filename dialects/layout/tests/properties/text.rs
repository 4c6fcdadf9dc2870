//! Text forms: what is printed reads back, and bad text is refused where it is bad.

use super::Random;
use cutec_layout::expr::{ExprError, eval, operations};
use cutec_layout::text::{
    parse_any_layout, parse_coord, parse_int_tuple, parse_layout, parse_swizzle, parse_tiler,
};

#[test]
fn layouts_round_trip() {
    let mut random = Random(50);
    for _ in 0..1000 {
        let layout = random.any_layout();
        assert_eq!(parse_layout(&layout.to_string()), Ok(layout));
    }
    for text in [
        "(4,(2,8)):(1,(4,?))",
        "(?{div=8},?{i64}):(?{i64 div=8},1)",
        "(128,32,?):(1@0,1@1,32@1)",
        "((4,8),2):((1@1@0,?@2),0)",
        "():()",
        "(4):(-2)",
    ] {
        assert_eq!(parse_layout(text).expect(text).to_string(), text);
    }
    for text in [
        "S<3,3,3> o 0 o (8,64):(64,1)",
        "(8,8):(8,1) o 4 o 8:1",
        "S<2,4,-3> o ? o 4:1",
    ] {
        assert_eq!(parse_any_layout(text).expect(text).to_string(), text);
    }
    for text in ["[3:1;_;(2,3):(1,2)]", "4:1", "_", "[[2:1;_];4:1]"] {
        assert_eq!(parse_tiler(text).expect(text).to_string(), text);
    }
    let spaced =
        parse_any_layout(" S< 3 , 3, 3 > o 0 o ( 8 , 64 ) : ( 64 , 1 ) ").expect("a layout");
    assert_eq!(spaced.to_string(), "S<3,3,3> o 0 o (8,64):(64,1)");
    assert!(parse_coord("(_,(1,_))").is_ok());
    assert_eq!(parse_int_tuple("(1,)").expect("a tuple").to_string(), "(1)");
}

/// A leaf of a stride, a shape or a coordinate, as its text.
fn leaf(random: &mut Random, basis: bool) -> String {
    let value = match random.below(4) {
        0 => random
            .pick(&["?", "?{div=8}", "?{i64}", "?{i64 div=16}"])
            .to_owned(),
        _ => random.pick(&[1, 2, 3, 8, 64]).to_string(),
    };
    match basis && random.below(4) == 0 {
        true => format!("{value}@{}", random.below(3)),
        false => value,
    }
}

/// Two tuples of one profile.
fn congruent(random: &mut Random, depth: usize) -> (String, String) {
    if depth == 0 || random.below(3) == 0 {
        return (leaf(random, false), leaf(random, true));
    }
    let rank = 1 + random.below(3);
    let (shapes, strides): (Vec<_>, Vec<_>) =
        (0..rank).map(|_| congruent(random, depth - 1)).unzip();
    (
        format!("({})", shapes.join(",")),
        format!("({})", strides.join(",")),
    )
}

#[test]
fn every_form_round_trips() {
    let mut random = Random(51);
    for _ in 0..1000 {
        let (shape, stride) = congruent(&mut random, 3);
        let (outer, _) = congruent(&mut random, 2);
        let layout = format!("{shape}:{stride}");
        let composed = match random.below(2) {
            0 => format!("S<2,4,3> o {} o {layout}", leaf(&mut random, false)),
            _ => format!("{outer}:{outer} o {outer} o {layout}"),
        };
        let tile = format!("[{layout};_;[{outer}:{outer};_]]");
        assert_eq!(
            parse_int_tuple(&stride).expect("a tuple").to_string(),
            stride
        );
        assert_eq!(parse_layout(&layout).expect("a layout").to_string(), layout);
        assert_eq!(
            parse_any_layout(&composed).expect("a layout").to_string(),
            composed
        );
        assert_eq!(parse_tiler(&tile).expect("a tile").to_string(), tile);
        for text in [stride, layout, composed, tile] {
            assert_eq!(eval(&text).expect("an expression").to_string(), text);
        }
    }
}

#[test]
fn bad_text_is_refused_at_its_place() {
    for (text, span) in [
        ("(4,2):(1", 8..8),
        ("(4,x):(1,2)", 3..4),
        ("(4,2):(1,2,3)", 0..13),
        ("4:1 4", 4..5),
        ("(4,99999999999999999999):(1,1)", 3..23),
        ("(1099511627776,1099511627776):(1,1)", 0..35),
        ("1@0:1", 0..5),
        ("?{div=0}:1", 6..7),
        ("", 0..0),
    ] {
        let error = parse_layout(text).expect_err(text);
        assert_eq!(error.span(), span, "{text}: {error}");
    }
    assert!(parse_swizzle("S<3,3,2>").is_err());
    assert_eq!(
        parse_tiler("[4:1;(2,65@3)]").expect_err("a basis").span(),
        5..13
    );
    assert!(parse_swizzle("S<3,60,3>").is_err());
    assert!(parse_layout(&"(".repeat(100_000)).is_err());
    assert!(eval(&"size(".repeat(100_000)).is_err());
    assert!(parse_layout("é:1").is_err());
}

#[test]
fn expressions() {
    for (text, wanted) in [
        ("(8,4):(4,1) o [2:1;_]", "(2,4):(4,1)"),
        ("S<3,3,3> o (8,64):(64,1)", "S<3,3,3> o 0 o (8,64):(64,1)"),
        ("size(zipped_divide((8,64):(64,1), (2,8)))", "512"),
        ("make_layout((4,(2,8)))", "(4,(2,8)):(1,(4,8))"),
        (
            "logical_divide((?,?):(?,1), [32:1;_])",
            "((32,?),?):((?,?{div=32}),1)",
        ),
        ("shape([4:1;2:1])", "(4,2)"),
        ("elem_less((1,2), (2,3))", "true"),
        ("ceil_div((100,64), (32,8))", "(4,8)"),
        ("max_common_vector((8,4):(1,8), (8,4):(1,16))", "8"),
        ("crd2idx((1,2), S<1,0,1> o 0 o (2,4):(4,1))", "7"),
    ] {
        let found = eval(text).map(|value| value.to_string());
        assert_eq!(found.as_deref(), Ok(wanted), "{text}");
    }
    for (text, span) in [
        ("coalesc((4):(1))", 0..7),
        ("coalesce((4):(1)", 16..16),
        ("composition((4):(1))", 0..20),
        ("size(coalesce(_))", 14..15),
        ("size(composition((6,4):(1,7), (3):(4)))", 5..38),
        ("recast_layout<16>(4:1)", 0..22),
    ] {
        let error = eval(text).expect_err(text);
        assert_eq!(error.span(), span, "{text}: {error}");
    }
    let Err(ExprError::UnknownOperation { suggestion, .. }) = eval("coalesc(4:1)") else {
        panic!("an unknown operation");
    };
    assert_eq!(suggestion, Some("coalesce"));
    for operation in operations() {
        assert!(operation.usage.starts_with(operation.name));
    }
}
