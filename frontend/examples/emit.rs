//! Prints the IR of the kernels of a file: `emit FILE [ARCH] [NAME=VALUE…]`.

use cutec_frontend::diagnostics::render::{RenderOptions, render_all};
use cutec_frontend::source::{NoImports, SourceMap};
use cutec_frontend::{LowerOptions, emit_module, load_program};
use melior::ir::operation::OperationLike;

fn main() {
    let mut args = std::env::args().skip(1);
    let file = args.next().unwrap_or_default();
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let (mut arch, mut defines) = ("sm_80".to_owned(), Vec::new());
    for arg in args {
        match arg.split_once('=') {
            Some((name, value)) => defines.push((name.to_owned(), value.to_owned())),
            None => arch = arg,
        }
    }
    let target =
        cutec_dialects::target::Target::parse(&arch).unwrap_or_else(|error| panic!("{error}"));
    let (mut map, mut diagnostics) = (SourceMap::new(), Vec::new());
    let program = load_program(&mut map, &file, &text, &NoImports, &mut diagnostics);
    let context = cutec_dialects::context();
    let options = LowerOptions {
        target,
        kernel: None,
        defines,
    };
    let module = emit_module(&context, &map, &program, &options, &mut diagnostics);
    eprint!("{}", render_all(&diagnostics, &map, RenderOptions::PLAIN));
    let Some(module) = module else {
        std::process::exit(1)
    };
    println!("{}", module.as_operation());
    if !module.as_operation().verify() {
        eprintln!("does not verify");
        std::process::exit(2);
    }
}
