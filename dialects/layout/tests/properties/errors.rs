//! What the algebra says when it refuses: each kind of error, as `cutec layout` shows it.

use cutec_layout::expr::eval;

/// At least one expression for each variant of `LayoutError`, most of them what users get wrong.
const REFUSED: &[&str] = &[
    // RankMismatch
    "slice((1,_,2), (4,8):(1,4))",
    "idx2crd((1,2), 4)",
    "crd2idx((1,2,3), (4,8):(1,4))",
    // TooManyModes
    "zipped_divide((4,8):(1,4), (2,2,2))",
    // ProfileMismatch
    "make_layout((4,8), (1,(2,3)))",
    "make_layout((32,2@8))",
    "tuple_add((1,2), 3)",
    // StrideDivisibility
    "composition((6,2):(8,2), 4:4)",
    "composition((4,6,8):(1,5,40), 4:16)",
    // ShapeDivisibility
    "composition((6,2):(8,2), 3:4)",
    "zipped_divide((12,(4,8)):(7,(1,30)), 128)",
    // Carry
    "composition((4,4):(1,8), (3,2):(1,3))",
    // NotDivisible
    "left_inverse((4,8,2):(1,3,40))",
    "tile_to_shape((8,8):(8,1), (12,64))",
    // Unrelated
    "upcast((4,8):(3,1), 2)",
    "shape_div(12, 5)",
    // NotInjective
    "complement((4,4):(1,2), 24)",
    // Ambiguous
    "left_inverse((4,4,2):(1,2,16))",
    // NotStatic
    "complement((4,4):(?,1), 24)",
    "domain_distribute((?,4), 8)",
    "left_inverse((4,4):(?,1))",
    // Undecided
    "composition((4,8):(8,1), ?:1)",
    "composition((4,?):(?,1), 2:?)",
    "zipped_divide((12,(4,8)):(7,(1,30)), ?)",
    "upcast(?:?, 2)",
    "downcast(?:?, 2)",
    // NoSuchMode, NoSuchModes
    "get((4,8):(1,4), 2)",
    "select(8:1, 1)",
    "take((4,8):(1,4), 1, 3)",
    "group_modes((4,8):(1,4), 2, 1)",
    // Unsupported
    "downcast((4,8):(2,8), 2)",
    "composition((4,8):(8,1), 2:-1)",
    "recast_layout<12, 8>(S<3,3,3> o 0 o 64:1)",
    "complement((4,8):(1@0,1@1), 32)",
    // BadSwizzle
    "S<3,1,2>",
    // Overflow
    "make_layout((4294967296,4294967296))",
    // The part of an expression that is meant.
    "size(composition((6,2):(8,2), 3:4))",
    "coalesce(layout((4,8)))",
    "get((4,8):(1,4))) + 1",
];

#[test]
fn errors_explain_themselves() {
    let mut text = String::new();
    for expression in REFUSED {
        let error = match eval(expression) {
            Ok(value) => panic!("{expression} is {value}"),
            Err(error) => error.render(expression),
        };
        text.push_str(&format!(
            "{expression}\n  error: {}\n",
            error.replace('\n', "\n  ")
        ));
    }
    insta::assert_snapshot!(text);
}
