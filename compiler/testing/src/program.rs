//! The syntax tree that blocks are evaluated from.

use cutec::{Diagnostics, Source};
use cutec_frontend::diagnostics::Diagnostic;
use cutec_frontend::source::{SourceLoader, SourceMap};
use cutec_frontend::{Program, load_program};

/// Parses a file and all that it imports.
///
/// # Errors
/// All syntax errors.
pub fn load(
    source: &Source,
    loader: &dyn SourceLoader,
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
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(Diagnostics {
            sources,
            problems: diagnostics,
            failures: Vec::new(),
        });
    }
    Ok((sources, program))
}
