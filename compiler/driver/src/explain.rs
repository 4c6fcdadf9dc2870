//! `cutec explain E0123`: what a diagnostic's code means; `cutec explain zipped_divide`: what a built-in does;
//! `cutec explain gemm.cute`: the kernels of a file, how they are called, and what there is to tune of them;
//! `cutec explain --list`: the codes there are.

use super::arguments::ExplainArguments;
use super::context::{Reporter, read_source};
use super::error::{CommandError, CommandResult};
use super::output;
use cutec::{Compiler, Diagnostics, FileLoader, Options, Source, SourceMap, pipeline};
use cutec_frontend::ast::print::KernelHead;
use cutec_frontend::ast::{Item, ItemKind, Kernel};
use cutec_frontend::diagnostics::codes::ALL;
use cutec_frontend::diagnostics::render::explain;
use cutec_frontend::eval::builtins::reference;
use std::path::Path;

/// Runs the command.
///
/// # Errors
/// When there is no such code, no such built-in and no such file, or something is wrong with the file.
pub fn run(arguments: &ExplainArguments, reporter: &Reporter) -> CommandResult {
    let Some(asked) = arguments.code.as_deref() else {
        let lines = ALL
            .iter()
            .map(|info| format!("{}  {}\n", info.code, info.title));
        return output::write_stdout(lines.collect::<String>().as_bytes());
    };
    let text = explain(asked).or_else(|| reference::explain(asked));
    match text {
        Some(text) => output::write_stdout(text.as_bytes()),
        None if asked.ends_with(".cute") => {
            let source = read_source(Path::new(asked))?;
            let text = kernels(&source).map_err(|error| reporter.errors(&error))?;
            output::write_stdout(text.as_bytes())
        }
        None => Err(CommandError::Message(format!(
            "there is no code {asked}, and no built-in of this name: codes are E and four digits, as messages show them \
             (`cutec explain --list` lists them), and files end in .cute"
        ))),
    }
}

/// The kernels of a file: documentation, head, and how many configurations the candidates leave.
fn kernels(source: &Source) -> Result<String, Diagnostics> {
    let mut sources = SourceMap::new();
    let parsed = pipeline::parse_source(&mut sources, source, &FileLoader);
    let (program, _) = parsed.map_err(|problems| Diagnostics {
        sources,
        problems,
        failures: Vec::new(),
    })?;
    let compiler = Compiler::new();
    let mut texts = Vec::new();
    for item in program.root().into_iter().flat_map(|root| &root.items) {
        if let ItemKind::Kernel(kernel) = &item.kind {
            texts.push(one(&compiler, source, item, kernel)?);
        }
    }
    Ok(match texts.is_empty() {
        true => format!("{} has no kernels\n", source.name),
        false => texts.join("\n"),
    })
}

fn one(
    compiler: &Compiler,
    source: &Source,
    item: &Item,
    kernel: &Kernel,
) -> Result<String, Diagnostics> {
    let mut text = String::new();
    for line in &item.docs {
        text.push_str(&format!("/// {line}\n"));
    }
    text.push_str(&format!("{}\n", KernelHead(kernel)));
    let statics = &kernel.static_params;
    let tunable = statics.iter().any(|param| param.candidates.is_some());
    // A parameter without a default is given by the launch, and candidates may depend on it.
    if !tunable || statics.iter().any(|param| param.default.is_none()) {
        return Ok(text);
    }
    let options = Options {
        kernel: Some(kernel.name.node.to_string()),
        ..Options::default()
    };
    let space = compiler.configurations(source, &FileLoader, &options)?;
    let (count, parameters) = (space.configurations.len(), space.parameters.join(", "));
    text.push_str(&format!("{count} configurations of {parameters}\n"));
    for (condition, refused) in &space.refused {
        text.push_str(&format!("  {refused} refused by {condition}\n"));
    }
    Ok(text)
}
