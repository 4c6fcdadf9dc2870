//! `.cute` sources.

use cutec_dialects::target::Target;
use cutec_frontend::diagnostics::render::{RenderOptions, render_all};
use cutec_frontend::source::{NoImports, SourceMap};
use cutec_frontend::{LowerOptions, emit_module, load_program};
use melior::ir::operation::OperationLike;

/// Parses, evaluates, emits IR, lowers it, and renders what is wrong.
///
/// # Panics
/// Where there is neither a module that verifies nor an error, or where it does not verify once lowered.
pub fn cute_source(data: &[u8]) {
    let Some(text) = crate::text(data) else {
        return;
    };
    let Ok(target) = Target::parse("sm_90a") else {
        return;
    };
    let (mut map, mut diagnostics) = (SourceMap::new(), Vec::new());
    let program = load_program(&mut map, "fuzz.cute", text, &NoImports, &mut diagnostics);
    crate::mlir_text::with_context(|context| {
        let options = LowerOptions {
            target,
            kernel: None,
            defines: Vec::new(),
        };
        let module = emit_module(context, &map, &program, &options, &mut diagnostics);
        let wrong = diagnostics.iter().any(|diagnostic| diagnostic.is_error());
        match module {
            Some(mut module) if !wrong => {
                assert!(module.as_operation().verify(), "invalid IR");
                crate::mlir_text::lower(context, &mut module, target);
            }
            Some(_) => {}
            None => assert!(wrong, "neither IR nor an error"),
        }
    });
    render_all(&diagnostics, &map, RenderOptions::PLAIN);
}
