//! What each name of a program means, by the text alone: where it is defined, and everywhere it is used. For editors: go to
//! the definition, find references, rename, complete, colour.
//!
//! [`resolve`] walks the files of a [`Program`] (`walk`), which may have errors: what parses has its names. Scopes are
//! those of the language. Fields and methods are found by their name alone, since only evaluation knows which record a
//! value is; [`Names::meanings`] of one may be several.

#[cfg(test)]
mod tests;
mod walk;

use crate::Program;
use crate::source::{FileId, Span};
use std::collections::HashMap;
use std::sync::Arc;

/// What a name was defined as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// A kernel.
    Kernel,
    /// A function.
    Function,
    /// A function of a record.
    Method,
    /// A record.
    Record,
    /// A field of a record.
    Field,
    /// A constant.
    Const,
    /// A `test` block.
    Test,
    /// A `bench` block.
    Bench,
    /// A compile-time parameter.
    StaticParameter,
    /// A parameter.
    Parameter,
    /// An extent or a stride that the type of a tensor names.
    Extent,
    /// A `let`, or what a loop binds.
    Variable,
    /// A `var`.
    Mutable,
    /// An index of index notation.
    Index,
    /// Warps with a role.
    Role,
}

impl Meaning {
    /// In a word or two.
    pub fn describe(self) -> &'static str {
        match self {
            Meaning::Kernel => "kernel",
            Meaning::Function => "function",
            Meaning::Method => "function of a record",
            Meaning::Record => "record",
            Meaning::Field => "field",
            Meaning::Const => "constant",
            Meaning::Test => "test",
            Meaning::Bench => "bench",
            Meaning::StaticParameter => "compile-time parameter",
            Meaning::Parameter => "parameter",
            Meaning::Extent => "extent",
            Meaning::Variable => "variable",
            Meaning::Mutable => "`var` variable",
            Meaning::Index => "index",
            Meaning::Role => "role",
        }
    }

    /// Whether it is a part of a record, found by its name alone.
    pub fn is_member(self) -> bool {
        matches!(self, Meaning::Field | Meaning::Method)
    }
}

/// A definition.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The name.
    pub name: Arc<str>,
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub meaning: Meaning,
    /// All of what defines it: the item, the statement, the parameter.
    pub whole: Span,
    /// What an editor shows of it: the item without its body, the parameter with its type.
    pub head: Span,
    /// The `///` lines.
    pub docs: Vec<Arc<str>>,
    /// Where it can be named; none for what can be named everywhere.
    pub scope: Option<Span>,
    /// The item or the record that it is a part of.
    pub parent: Option<usize>,
}

/// A name in the text, and what it stands for.
#[derive(Clone, Debug)]
pub struct Use {
    /// Where.
    pub span: Span,
    /// The numbers of its definitions; several of a member, none of what the language or nothing defines.
    pub definitions: Vec<usize>,
    /// Whether it is the definition itself.
    pub defines: bool,
    /// Whether it stands behind a point.
    pub is_member: bool,
    /// Whether it is a field alone, `Ring { full }`, which is the variable of its name as well: there are two of one place.
    pub shorthand: bool,
}

/// What each name means.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// In the order in which they were found: by files, and in a file in the order of the text, but for members.
    pub definitions: Vec<Definition>,
    /// In the order of files and of the text.
    pub uses: Vec<Use>,
    /// The files of the standard library.
    library: Vec<FileId>,
}

impl Names {
    /// The name at a byte of a file, or directly before it.
    pub fn at(&self, file: FileId, offset: u32) -> Option<&Use> {
        let end = self
            .uses
            .partition_point(|it| (it.span.file, it.span.start) <= (file, offset));
        let it = self.uses[..end].last()?;
        (it.span.file == file && offset <= it.span.end).then_some(it)
    }

    /// What a name stands for.
    pub fn meanings<'n>(&'n self, of: &'n Use) -> impl Iterator<Item = &'n Definition> {
        of.definitions
            .iter()
            .map(|number| &self.definitions[*number])
    }

    /// Every place that stands for one of these definitions, they themselves among them.
    pub fn references<'n>(&'n self, definitions: &'n [usize]) -> impl Iterator<Item = &'n Use> {
        let shares = |of: &&Use| of.definitions.iter().any(|it| definitions.contains(it));
        self.uses.iter().filter(shares)
    }

    /// The definitions that can be named at a byte of a file, members aside; of two with a name the inner one, or the file's own.
    pub fn visible(&self, file: FileId, offset: u32) -> Vec<&Definition> {
        let mut found: HashMap<&str, &Definition> = HashMap::new();
        let of_library = |file: FileId| self.library.contains(&file);
        for definition in &self.definitions {
            let here = match definition.scope {
                None if of_library(file) && !of_library(definition.span.file) => false,
                None => !definition.meaning.is_member(),
                Some(scope) => scope.file == file && scope.start <= offset && offset <= scope.end,
            };
            if here {
                let inner = |old: &&Definition| match (old.scope, definition.scope) {
                    (Some(old), Some(new)) => new.start >= old.start,
                    (None, None) => of_library(old.span.file) || definition.span.file == file,
                    (_, new) => new.is_some(),
                };
                if found.get(&*definition.name).is_none_or(inner) {
                    found.insert(&definition.name, definition);
                }
            }
        }
        let mut found: Vec<&Definition> = found.into_values().collect();
        found.sort_by_key(|definition| (definition.span.file, definition.span.start));
        found
    }
}

/// What each name of a program means.
pub fn resolve(program: &Program) -> Names {
    walk::walk(program)
}
