//! The syntax tree that blocks are evaluated from.

use cutec::{Diagnostics, Source};
use cutec_frontend::diagnostics::Diagnostic;
use cutec_frontend::source::{SourceLoader, SourceMap};
use cutec_frontend::{Program, check_defines, load_program};

/// Parses a file and all that it imports, for launches with `defines` set.
///
/// # Errors
/// All syntax errors, or what is set and is no kernel's.
pub fn load(
    source: &Source,
    loader: &dyn SourceLoader,
    defines: &[(String, String)],
) -> Result<(SourceMap, Program), Diagnostics> {
    let mut sources = SourceMap::new();
    let mut diagnostics = Vec::new();
    let program = load_program(
        &mut sources,
        &source.name,
        &source.text,
        loader,
        &mut diagnostics,
    );
    let mut wrong = diagnostics.iter().any(Diagnostic::is_error);
    if !wrong && let Err(undefined) = check_defines(&program, defines) {
        diagnostics.push(undefined);
        wrong = true;
    }
    if wrong {
        return Err(Diagnostics {
            sources,
            problems: diagnostics,
            failures: Vec::new(),
        });
    }
    Ok((sources, program))
}
