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
    /// Behind `launch`, not empty.
    pub launch: Vec<Clause>,
    /// What each thread (cute level) or block (tile level) does.
    pub body: Block,
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

/// A compile-time parameter: `bm`, `bm = 128`, `t: dtype = f16`.
#[derive(Clone, Debug, PartialEq)]
pub struct StaticParam {
    /// Its name.
    pub name: Name,
    /// The type behind the colon.
    pub ty: Option<Type>,
    /// The value where none is given. It may use the parameters before it.
    pub default: Option<Expr>,
    /// All of it.
    pub span: Span,
}

/// A parameter: `x`, `x: f32`, `y: mut tensor<f16, (m, n)>`.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: Name,
    /// `mut`: the callee may write to the tensor.
    pub mutable: bool,
    /// The type; kernels always have it.
    pub ty: Option<Type>,
    /// All of it.
    pub span: Span,
}

/// `grid(ceil_div(m, 128))` and the like behind `launch`.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// `grid`, `block`, `smem`, `min_blocks`, `cluster`, `tiles`, `raster`, `warps`.
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
            ItemKind::Test(item) => Some(&item.name),
            ItemKind::Bench(item) => Some(&item.name),
        }
    }

    /// Its keyword.
    pub fn keyword(&self) -> &'static str {
        match self {
            ItemKind::Import(_) => "import",
            ItemKind::Const(_) => "const",
            ItemKind::Function(_) => "fn",
            ItemKind::Kernel(_) => "kernel",
            ItemKind::Test(_) => "test",
            ItemKind::Bench(_) => "bench",
            ItemKind::Error => "item",
        }
    }
}
