//! MLIR text of the `cute` dialect.

use cutec::Options;
use cutec::codegen::Timings;
use cutec::passes::registry::CUTE_TO_GPU;
use cutec::passes::{fold_static, root};
use cutec::pipeline::{parse_mlir, tile_to_cute};
use cutec_dialects::target::{TARGETS, Target};
use melior::Context;
use melior::ir::Module;
use melior::ir::operation::{OperationLike, OperationPrintingFlags};
use std::cell::RefCell;

/// Types and attributes stay in a context for ever: after so many texts it is made anew.
const TEXTS_OF_A_CONTEXT: usize = 2000;

/// Runs `work` in a context that lasts over many texts, its diagnostics dropped.
pub(crate) fn with_context<T>(work: impl FnOnce(&Context) -> T) -> T {
    thread_local! {
        static CONTEXT: RefCell<(usize, Context)> = RefCell::new((0, new_context()));
    }
    CONTEXT.with_borrow_mut(|(uses, context)| {
        *uses += 1;
        if *uses > TEXTS_OF_A_CONTEXT {
            (*uses, *context) = (0, new_context());
        }
        work(context)
    })
}

fn new_context() -> Context {
    let context = cutec_dialects::context();
    context.attach_diagnostic_handler(|_| true);
    context
}

/// Parses and verifies a text, prints it, parses that, and prints the same; then folds it, and lowers it.
///
/// # Panics
/// Where what is printed does not parse back as the same, or folding leaves what does not verify.
pub fn mlir_text(data: &[u8]) {
    let Some(text) = crate::text(data) else {
        return;
    };
    with_context(|context| {
        let Some(module) = parse_mlir(context, "fuzz.mlir", text) else {
            return;
        };
        for generic in [false, true] {
            let printed = print(&module.as_operation(), generic);
            let Some(again) = parse_mlir(context, "fuzz.mlir", &printed) else {
                panic!("what is printed does not parse:\n{printed}");
            };
            let twice = print(&again.as_operation(), generic);
            assert_eq!(printed, twice, "printed, parsed and printed again");
        }
        if fold_static::fold_static(context, root(&module)).is_ok() {
            let folded = print(&module.as_operation(), true);
            assert!(module.as_operation().verify(), "folded:\n{folded}");
        }
        if let Some(mut module) = parse_mlir(context, "fuzz.mlir", text) {
            lower(context, &mut module, target_named_in(text));
        }
    });
}

/// The target that a module's text asks for, or the one that it gets without.
fn target_named_in(text: &str) -> Target {
    let named = |target: &&Target| text.contains(&format!("#cute.target<\"{}\">", target.name));
    *TARGETS.iter().find(named).unwrap_or(&TARGETS[0])
}

/// Runs the passes of this project, down to where upstream's begin. A pass may refuse a module; what it makes of one
/// must verify.
///
/// # Panics
/// Where it does not.
pub(crate) fn lower<'c>(context: &'c Context, module: &mut Module<'c>, target: Target) {
    let options = Options::new(target);
    let mut lowered = tile_to_cute(context, module, &options, &mut Timings::new());
    for pass in CUTE_TO_GPU.passes() {
        lowered = lowered.and_then(|()| (pass.run)(context, root(module)));
    }
    assert!(
        lowered.is_err() || module.as_operation().verify(),
        "lowered:\n{}",
        print(&module.as_operation(), true)
    );
}

fn print<'c: 'a, 'a>(op: &impl OperationLike<'c, 'a>, generic: bool) -> String {
    let flags = OperationPrintingFlags::new();
    let flags = match generic {
        true => flags.print_generic_operation_form(),
        false => flags,
    };
    op.to_string_with_flags(flags).unwrap_or_default()
}
