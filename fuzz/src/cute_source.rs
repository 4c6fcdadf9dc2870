//! `.cute` sources.

use cutec_dialects::target::Target;
use cutec_frontend::diagnostics::render::{RenderOptions, render_all};
use cutec_frontend::format::{Refused, format};
use cutec_frontend::source::{NoImports, SourceMap};
use cutec_frontend::{LowerOptions, emit_module, load_program};
use melior::ir::operation::OperationLike;

/// Formats, parses, evaluates, emits IR, lowers it, and renders what is wrong.
///
/// # Panics
/// Where there is neither a module that verifies nor an error, or where it does not verify once lowered; where formatting
/// changes what a text means, or a formatted text.
pub fn cute_source(data: &[u8]) {
    let Some(text) = crate::text(data) else {
        return;
    };
    formatted(text);
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

fn formatted(text: &str) {
    match format("fuzz.cute", text) {
        Ok(once) => match format("fuzz.cute", &once) {
            Ok(twice) => assert_eq!(once, twice, "not in its style once formatted"),
            Err(refused) => panic!("formatted and then refused: {refused:?}"),
        },
        Err(Refused::Wrong { .. }) => {}
        Err(Refused::Unfaithful) => panic!("another program once formatted"),
    }
}
