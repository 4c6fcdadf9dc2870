use super::{Refused, format};

fn formatted(text: &str) -> String {
    match format("a.cute", text) {
        Ok(text) => text,
        Err(Refused::Wrong { diagnostics, .. }) => panic!("{diagnostics:?}"),
        Err(Refused::Unfaithful) => panic!("unfaithful: {text}"),
    }
}

/// What comes out comes out once more as it is.
fn check(text: &str, expected: &str) {
    let once = formatted(text);
    assert_eq!(once, expected);
    assert_eq!(formatted(&once), once);
}

#[test]
fn spaces_are_settled() {
    check(
        "fn f( a,b ){let x=- a+b*-2 ;let l=(8 , 4):( 4,1);S<3, 3,3>o 0 o l}",
        "fn f(a, b) { let x = -a + b * -2; let l = (8, 4) : (4, 1); S<3,3,3> o 0 o l }\n",
    );
    check(
        "fn f(x:int,y : mut tensor<f32,n>)->int{x[0 .. 4]<3&&!y . z(1)}",
        "fn f(x: int, y: mut tensor<f32, n>) -> int { x[0..4] < 3 && !y.z(1) }\n",
    );
}

#[test]
fn a_broken_block_has_a_line_for_each_statement() {
    check(
        "fn f(a) { let b = a; let c = b;\n\n\n c }",
        "fn f(a) {\n    let b = a;\n    let c = b;\n\n    c\n}\n",
    );
    check(
        "fn f(a)\n{\n\n  static if a { 1 }\n  else { -1 }\n\n}",
        "fn f(a) {\n    static if a { 1 }\n    else { -1 }\n}\n",
    );
}

#[test]
fn the_author_breaks_lists() {
    check(
        "fn f(a) { g(a,\n a +\n 1, [\n 1, 2\n ]) }",
        "fn f(a) {\n    g(a,\n        a +\n        1, [\n            1, 2,\n        ])\n}\n",
    );
    check("fn f(a) { g(a, 1,) }", "fn f(a) { g(a, 1) }\n");
    check("fn f(a) { (a,) }", "fn f(a) { (a,) }\n");
}

#[test]
fn heads_of_kernels() {
    check(
        "kernel k(x: tensor<f32,n>)\nwhere n%4==0 launch grid(1), block(1) {\n}",
        "kernel k(x: tensor<f32, n>)\nwhere n % 4 == 0\nlaunch grid(1), block(1) {}\n",
    );
    check(
        "kernel k(x: tensor<f32,n>) launch grid(1),\n block(1) {\n x[0] = 1.0; }",
        "kernel k(x: tensor<f32, n>) launch grid(1),\n    block(1) {\n    x[0] = 1.0;\n}\n",
    );
    let long = "x: tensor<f32, (m, n)>, y: tensor<f32, (m, n)>, z: mut tensor<f32, (m, n)>";
    check(
        &format!(
            "kernel k({long}) where n % 4 == 0 launch grid(m), block(n) {{ z[0] = 1.0; z[1] = 2.0; }}"
        ),
        &format!(
            "kernel k({long}) where n % 4 == 0 launch grid(m), block(n) {{\n    z[0] = 1.0;\n    z[1] = 2.0;\n}}\n"
        ),
    );
    check(
        &format!(
            "kernel kernel_of_a_long_name({long}) where n % 4 == 0 launch grid(m), block(n) {{ z[0] = 1.0; }}"
        ),
        &format!(
            "kernel kernel_of_a_long_name({long})\nwhere n % 4 == 0\nlaunch grid(m), block(n)\n{{\n    z[0] = 1.0;\n}}\n"
        ),
    );
}

/// A line that becomes several because it is too long has its `else` where one of several lines has it.
#[test]
fn else_stands_behind_what_is_opened() {
    let long = "a".repeat(59);
    check(
        &format!("fn f() {{\nif a {{ {long}({long}); }}\nelse {{ 1 }}\n}}"),
        &format!("fn f() {{\n    if a {{\n        {long}({long});\n    }} else {{ 1 }}\n}}\n"),
    );
}

#[test]
fn comments_stay() {
    check(
        "//! File.\n\n/* a */ fn f(a /* in */) { // one\n   // two\n let b = a;   // three\n let cc = b;  // four\n /* five */ cc // six\n // seven\n}\n// eight",
        "//! File.\n\n/* a */ fn f(a /* in */) { // one\n    // two\n    let b = a;   // three\n    let cc = b;  // four\n    /* five */ cc // six\n    // seven\n}\n// eight\n",
    );
}

#[test]
fn comments_of_several_lines_come_to_rest() {
    let text = "kernel k(x: mut tensor<f32, n>)\nlaunch grid(1), block(32) {\n    if n > 3 { x[0] = abs(/* m\n    n */ x[2]); // e\n    } x[1] = 2.0; // f\n}\n";
    let once = formatted(text);
    assert_eq!(formatted(&once), once);
}

#[test]
fn what_is_wrong_is_refused() {
    assert!(matches!(
        format("a.cute", "fn f( {"),
        Err(Refused::Wrong { .. })
    ));
    assert_eq!(formatted(""), "");
    assert_eq!(
        formatted("fn f() {\r\n1 }\r\n"),
        "fn f() {\r\n    1\r\n}\r\n"
    );
    let commented = "fn f() {\r\n    /* a\r\n       b */\r\n    1\r\n}\r\n";
    assert_eq!(formatted(commented), commented);
}
