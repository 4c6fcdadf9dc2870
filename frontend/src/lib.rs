//! The front end of cutec: from `.cute` source text to a syntax tree.
//!
//! Reading order:
//! - [`source`], files and spans; how imported files come in.
//! - [`diagnostics`], errors, their stable codes, their rendering.
//! - [`lexer`], tokens.
//! - `grammar.lalrpop` and [`parser`], syntax, error recovery.
//! - [`ast`], the syntax tree. Its module page says how each part of the language looks in it.
//! - [`program`], a file with all that it imports; [`stdlib`], files that need no disk; [`library`], their items.
//! - [`names`], what each name means, for editors.
//! - `elsewhere`, what newcomers type, and what to write instead.
//! - [`format`](mod@format), the text of a file in the one style there is.
//! - [`unused`], warnings about what a file says in vain.
//! - [`eval`], from the tree to IR; [`build`], trees by calls instead of text.
//!
//! Invariants: no I/O; no input makes it panic; every error is a [`diagnostics::Diagnostic`] with a
//! code and a span; all errors of a file are found in one run. Time is linear in the text, but for
//! files with errors (each error parses its item once more, and errors are limited).

pub mod ast;
pub mod build;
pub mod diagnostics;
mod elsewhere;
pub mod eval;
pub mod format;
pub mod lexer;
pub mod library;
pub mod names;
pub mod parser;
pub mod program;
mod rules;
pub mod source;
pub mod stdlib;
pub mod unused;

lalrpop_util::lalrpop_mod!(
    #[allow(clippy::all, clippy::pedantic, missing_docs, unused, rustdoc::all)]
    grammar
);

pub use diagnostics::{Diagnostic, Severity};
pub use eval::{
    Calls, Configuration, LowerOptions, NamedCall, Observation, Observations, Space, check_defines,
    chosen_kernels, emit_kernels, emit_module, observe_kernels, space,
};
pub use program::{Items, Program, load_imports, load_program};
pub use source::{FileId, SourceLoader, SourceMap, Span, Spanned};
