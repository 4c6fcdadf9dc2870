//! Items: what stands at the top level of a file.

use super::{Arg, Block, Expr, Name};
use crate::source::{FileId, Span, Spanned};
use std::sync::Arc;

/// One parsed file.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// Which file.
    pub id: FileId,
    /// The `//!` lines.
    pub docs: Vec<Arc<str>>,
    /// The items, in the order of the text.
    pub items: Vec<Item>,
}

/// An item.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The `///` lines before it.
    pub docs: Vec<Arc<str>>,
    /// What it is.
    pub kind: ItemKind,
    /// From its keyword to its end.
    pub span: Span,
}

/// The kinds of item.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind {
    /// `import "file.cute";`
    Import(Import),
    /// `const X = e;`
    Const(ConstItem),
    /// `fn f(…) { … }`
    Function(Function),
    /// `kernel k(…) launch … { … }`
    Kernel(Kernel),
    /// `record R { a, var b, fn f(self) { … } }`
    Record(Record),
    /// `test name { … }`
    Test(Test),
    /// `bench name { … }`
    Bench(Bench),
    /// An error was reported here.
    Error,
}

/// `import`.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The path as written.
    pub path: Spanned<Arc<str>>,
}

/// `const`.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstItem {
    /// Its name.
    pub name: Name,
    /// The type behind the colon.
    pub ty: Option<Type>,
    /// The value.
    pub value: Expr,
}

/// `fn`: inlined wherever it is called, over static and dynamic values alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: Name,
    /// Between `<` and `>`.
    pub static_params: Vec<StaticParam>,
    /// Between the parentheses.
    pub params: Vec<Param>,
    /// Behind `->`.
    pub result: Option<Type>,
    /// What it does; the value of the block is its result.
    pub body: Block,
}

/// `kernel`.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Its name, which is also the entry in PTX.
    pub name: Name,
    /// Between `<` and `>`; set by a launch or by `-D name=value`.
    pub static_params: Vec<StaticParam>,
    /// Between the parentheses; each has a type.
    pub params: Vec<Param>,
    /// Behind `where`: conditions on extents, strides and alignment that the runtime checks.
    pub promises: Vec<Expr>,
    /// Behind `where`, each after the word `tunable`: what candidates of compile-time parameters must fulfil together.
    pub tunable: Vec<Expr>,
    /// Behind `launch`, not empty.
    pub launch: Vec<Clause>,
    /// What each thread (cute level) or block (tile level) does.
    pub body: Block,
}

/// `record`: a value of named fields, with functions.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its name.
    pub name: Name,
    /// The fields, in the order of the text.
    pub fields: Vec<RecordField>,
    /// The functions, in the order of the text.
    pub functions: Vec<RecordFunction>,
}

/// A field of a record: `full`, `var index: i32 = 0`.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordField {
    /// The `///` lines before it.
    pub docs: Vec<Arc<str>>,
    /// `var`: it may be assigned to where the record is in a variable.
    pub mutable: bool,
    /// Its name.
    pub name: Name,
    /// The type behind the colon.
    pub ty: Option<Type>,
    /// The value where none is given.
    pub default: Option<Expr>,
    /// All of it.
    pub span: Span,
}

/// A function of a record. What it is called on is its first parameter, `self`; without one it is called on the name of
/// the record.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordFunction {
    /// The `///` lines before it.
    pub docs: Vec<Arc<str>>,
    /// The function, `self` included.
    pub function: Function,
    /// All of it.
    pub span: Span,
}

/// The name of what a function of a record is called on.
pub const RECEIVER: &str = "self";

impl Record {
    /// The position of a field.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields
            .iter()
            .position(|field| *field.name.node == *name)
    }

    /// The function of a name.
    pub fn function(&self, name: &str) -> Option<&RecordFunction> {
        let mut functions = self.functions.iter();
        functions.find(|function| *function.function.name.node == *name)
    }

    /// The names that the types of its fields mention.
    pub fn types(&self) -> Vec<(&str, Span)> {
        fn collect<'t>(ty: &'t Type, names: &mut Vec<(&'t str, Span)>) {
            match &ty.kind {
                TypeKind::Named { name, .. } => names.push((&name.node, name.span)),
                TypeKind::Tuple(parts) => parts.iter().for_each(|part| collect(part, names)),
                TypeKind::Error => {}
            }
        }
        let mut names = Vec::new();
        for ty in self.fields.iter().filter_map(|field| field.ty.as_ref()) {
            collect(ty, &mut names);
        }
        names
    }

    /// The documentation of the field or function that begins at an offset of the text.
    pub fn docs_at(&mut self, start: u32) -> Option<&mut Vec<Arc<str>>> {
        let fields = self.fields.iter_mut();
        let fields = fields.map(|field| (field.span.start, &mut field.docs));
        let functions = self.functions.iter_mut();
        let functions = functions.map(|function| (function.span.start, &mut function.docs));
        let mut parts = fields.chain(functions);
        parts.find_map(|(at, docs)| (at == start).then_some(docs))
    }
}

impl RecordFunction {
    /// Its parameter `self`, if it has one.
    pub fn receiver(&self) -> Option<&Param> {
        let first = self.function.params.first();
        first.filter(|param| &*param.name.node == RECEIVER)
    }
}

/// `test`.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// Its name.
    pub name: Name,
    /// What it does.
    pub body: Block,
}

/// `bench`.
#[derive(Clone, Debug, PartialEq)]
pub struct Bench {
    /// Its name.
    pub name: Name,
    /// What it does.
    pub body: Block,
}

/// A compile-time parameter: `bm`, `bm = 128`, `t: dtype = f16`, `bm = 128 in [64, 128]`.
#[derive(Clone, Debug, PartialEq)]
pub struct StaticParam {
    /// Its name.
    pub name: Name,
    /// The type behind the colon.
    pub ty: Option<Type>,
    /// The value where none is given. It may use the parameters before it.
    pub default: Option<Expr>,
    /// A list of values that `cutec tune` tries beside the default. It may use the parameters before it.
    pub candidates: Option<Expr>,
    /// All of it.
    pub span: Span,
}

/// A parameter: `x`, `x: f32`, `y: mut tensor<f16, (m, n)>`, `mut self`.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: Name,
    /// `mut`: the callee may write to the tensor, or change the record.
    pub mutable: bool,
    /// The type; kernels always have it.
    pub ty: Option<Type>,
    /// All of it.
    pub span: Span,
}

/// `grid(ceil_div(m, 128))` and the like behind `launch`.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// `grid`, `block`, `smem`, `min_blocks`, `cluster`, `cooperative`, `tiles`, `raster`, `warps`.
    pub name: Name,
    /// Its arguments.
    pub args: Vec<Arg>,
    /// All of it.
    pub span: Span,
}

/// A type annotation.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// What it is.
    pub kind: TypeKind,
    /// Where it stands.
    pub span: Span,
    /// Levels of nesting, this one included.
    pub depth: u32,
}

/// The kinds of type.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// `f32`, `tensor<f16, (m, k) : (1, ld)>`. The arguments are expressions: an element type is
    /// a name, a shape a tuple, a layout a [`super::ExprKind::Layout`].
    Named {
        /// The name before the `<`.
        name: Name,
        /// Between `<` and `>`; empty without.
        args: Vec<Arg>,
    },
    /// `(f32, i32)`
    Tuple(Vec<Type>),
    /// An error was reported here.
    Error,
}

impl ItemKind {
    /// The name it defines.
    pub fn name(&self) -> Option<&Name> {
        match self {
            ItemKind::Import(_) | ItemKind::Error => None,
            ItemKind::Const(item) => Some(&item.name),
            ItemKind::Function(item) => Some(&item.name),
            ItemKind::Kernel(item) => Some(&item.name),
            ItemKind::Record(item) => Some(&item.name),
            ItemKind::Test(item) => Some(&item.name),
            ItemKind::Bench(item) => Some(&item.name),
        }
    }

    /// Whether other files can name it.
    pub fn is_shared(&self) -> bool {
        match self {
            ItemKind::Const(_)
            | ItemKind::Function(_)
            | ItemKind::Kernel(_)
            | ItemKind::Record(_) => true,
            ItemKind::Test(_) | ItemKind::Bench(_) => false,
            ItemKind::Import(_) | ItemKind::Error => false,
        }
    }

    /// The record that it is.
    pub fn record(&self) -> Option<&Record> {
        match self {
            ItemKind::Record(record) => Some(record),
            _ => None,
        }
    }

    /// Its keyword.
    pub fn keyword(&self) -> &'static str {
        match self {
            ItemKind::Import(_) => "import",
            ItemKind::Const(_) => "const",
            ItemKind::Function(_) => "fn",
            ItemKind::Kernel(_) => "kernel",
            ItemKind::Record(_) => "record",
            ItemKind::Test(_) => "test",
            ItemKind::Bench(_) => "bench",
            ItemKind::Error => "item",
        }
    }
}
