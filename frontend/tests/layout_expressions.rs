//! `cutec layout` and kernels have operations of one name in common: they mean the same, on a sample of each.

use cutec_dialects::target::Target;
use cutec_frontend::diagnostics::render::{RenderOptions, render_all};
use cutec_frontend::eval::builtins::FAMILIES;
use cutec_frontend::source::{NoImports, SourceMap};
use cutec_frontend::{LowerOptions, emit_module, load_program};
use cutec_layout::expr;

/// Arguments for each operation.
const SAMPLES: [(&str, &[&str]); 18] = [
    ("size", &["(8,6):(1,8)"]),
    ("shape", &["(8,(2,3)):(1,(24,8))"]),
    ("stride", &["(8,(2,3)):(1,(24,8))"]),
    ("rank", &["(8,(2,3)):(1,(24,8))"]),
    ("cosize", &["(8,6):(1,16)"]),
    ("coalesce", &["(2,(4,3)):(1,(2,8))"]),
    ("flatten", &["(2,(4,3)):(1,(2,24))"]),
    ("composition", &["20:2", "(5,4):(4,1)"]),
    ("complement", &["4:1", "24"]),
    ("right_inverse", &["(4,8):(8,1)"]),
    ("left_inverse", &["(4,8):(8,1)"]),
    ("logical_divide", &["(8,6):(1,8)", "(4,3)"]),
    ("zipped_divide", &["(8,6):(1,8)", "(4,3)"]),
    ("tiled_divide", &["(8,6):(1,8)", "(4,3)"]),
    ("flat_divide", &["(8,6):(1,8)", "(4,3)"]),
    ("logical_product", &["(2,2):(1,2)", "6:1"]),
    ("tile_to_shape", &["(2,2):(1,2)", "(4,6)"]),
    ("crd2idx", &["(3,2)", "(8,6):(1,8)"]),
];
const PRODUCTS: [(&str, &[&str]); 2] = [
    ("blocked_product", &["(2,2):(1,2)", "(3,2):(1,3)"]),
    ("raked_product", &["(2,2):(1,2)", "(3,2):(1,3)"]),
];
/// Those whose modes are generic arguments in a kernel, and arguments in `cutec layout`.
const BY_GENERICS: [&str; 4] = ["get", "select", "group_modes", "unflatten"];

#[test]
fn operations_of_both_agree() {
    let layouts = FAMILIES
        .iter()
        .find(|family| family.name == "layouts")
        .expect("the family");
    let mut body = String::new();
    for builtin in layouts.builtins {
        let name = builtin.name;
        let shared = expr::operations()
            .iter()
            .any(|operation| operation.name == name);
        if !shared || BY_GENERICS.contains(&name) || body.contains(&format!(" {name}(")) {
            continue;
        }
        let mut samples = SAMPLES.iter().chain(&PRODUCTS);
        let (_, args) = samples
            .find(|(known, _)| *known == name)
            .unwrap_or_else(|| panic!("no sample of `{name}`"));
        let text = format!("{name}({})", args.join(", "));
        let value = expr::eval(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let args: Vec<String> = args.iter().map(|arg| format!("({arg})")).collect();
        body += &format!(
            "    static_assert( {name}({}) == ({value}));\n",
            args.join(", ")
        );
    }
    assert!(body.lines().count() >= 18, "{body}");
    let text = format!("kernel k(x: mut tensor<f32, n>) launch grid(1), block(32) {{\n{body}}}\n");
    let (mut map, mut diagnostics) = (SourceMap::new(), Vec::new());
    let program = load_program(&mut map, "k.cute", &text, &NoImports, &mut diagnostics);
    let options = LowerOptions {
        target: Target::parse("sm_80").expect("a target"),
        kernel: None,
        defines: Vec::new(),
    };
    let context = cutec_dialects::context();
    let module = emit_module(&context, &map, &program, &options, &mut diagnostics);
    let shown = render_all(&diagnostics, &map, RenderOptions::PLAIN);
    let wrong = diagnostics.iter().any(|diagnostic| diagnostic.is_error());
    assert!(module.is_some() && !wrong, "{shown}");
}
