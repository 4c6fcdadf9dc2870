//! Which kernels of a program are emitted.

use super::LowerOptions;
use crate::Program;
use crate::ast::{Item, ItemKind, Kernel};
use crate::diagnostics::{Diagnostic, codes};
use crate::parser::words::closest;
use crate::source::Span;

/// The kernels that `options` asks for: one of any file, or all of the root file.
///
/// # Errors
/// When there is none of that name, or a `-D` names no compile-time parameter of any of them.
pub fn chosen_kernels<'a>(
    program: &'a Program,
    options: &LowerOptions,
) -> Result<Vec<&'a Kernel>, Diagnostic> {
    let kernels = named(program, options.kernel.as_deref())?;
    match wrong_define(&kernels, &options.defines) {
        None => Ok(kernels),
        Some(wrong) => Err(wrong),
    }
}

/// Checks what is set for a program whose blocks launch kernels of all of its files.
///
/// # Errors
/// When a `-D` names no compile-time parameter of any of them.
pub fn check_defines(program: &Program, defines: &[(String, String)]) -> Result<(), Diagnostic> {
    let kernels: Vec<&Kernel> = program.items().filter_map(kernel_of).collect();
    wrong_define(&kernels, defines).map_or(Ok(()), Err)
}

fn kernel_of(item: &Item) -> Option<&Kernel> {
    match &item.kind {
        ItemKind::Kernel(kernel) => Some(kernel),
        _ => None,
    }
}

fn named<'a>(program: &'a Program, wanted: Option<&str>) -> Result<Vec<&'a Kernel>, Diagnostic> {
    let root = program.root().map(|root| root.id).unwrap_or_default();
    let Some(wanted) = wanted else {
        let items = program.root().into_iter().flat_map(|root| &root.items);
        return Ok(items.filter_map(kernel_of).collect());
    };
    let all: Vec<&Kernel> = program.items().filter_map(kernel_of).collect();
    if let Some(kernel) = all.iter().find(|kernel| *kernel.name.node == *wanted) {
        return Ok(vec![kernel]);
    }
    let diagnostic = Diagnostic::error(
        codes::UNKNOWN_NAME,
        Span::new(root, 0, 0),
        format!("there is no kernel `{wanted}`"),
        "in this file",
    );
    let names: Vec<&str> = all.iter().map(|kernel| &*kernel.name.node).collect();
    let help = match closest(wanted, names.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("there is {}", names.join(", ")),
    };
    Err(diagnostic.with_help(help))
}

/// The first `-D` that names no compile-time parameter.
fn wrong_define(kernels: &[&Kernel], defines: &[(String, String)]) -> Option<Diagnostic> {
    let params: Vec<&str> = kernels
        .iter()
        .flat_map(|kernel| &kernel.static_params)
        .map(|param| &*param.name.node)
        .collect();
    let known = |name: &str| params.contains(&name);
    let (name, _) = defines.iter().find(|(name, _)| !known(name))?;
    let span = kernels
        .first()
        .map_or(Span::default(), |kernel| kernel.name.span);
    let message = format!("`-D {name}=…` names no compile-time parameter");
    let diagnostic = Diagnostic::error(codes::BAD_DEFINE, span, message, "of this kernel");
    let help = match closest(name, params.iter().copied()) {
        Some(found) => format!("did you mean `{found}`?"),
        None if params.is_empty() => "it has none".into(),
        None => format!("there is {}", params.join(", ")),
    };
    Some(diagnostic.with_help(help))
}
