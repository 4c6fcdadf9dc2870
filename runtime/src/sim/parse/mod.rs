//! PTX text → [`ast::Module`].
//!
//! [`lexer`] cuts the text into tokens that know their line, [`parser`] reads them by recursive
//! descent into the tree of [`ast`]. Neither knows an instruction: an opcode is a name and its
//! modifiers, an operand is what the grammar of operands allows. Both are total: any text gives a
//! tree or an error.

pub(crate) mod ast;
mod lexer;
mod literal;
mod parser;

pub(crate) use parser::parse;
