//! Items: kernels, functions, records, constants, imports, tests and benches.

use super::{Arg, Block, Expr};
use crate::ast::spans::Spans;
use crate::ast::{self, ItemKind, MAX_DEPTH, TypeKind};
use crate::build::error::Result;
use crate::build::module::{self, Module};
use crate::build::position::{Position, Texts};
use crate::build::tree;

/// A type. Element types and records have no arguments; texts (`&str`) become such types.
#[derive(Debug, Clone)]
pub struct Type {
    pub(super) node: ast::Type,
    mutable: bool,
}

impl Type {
    /// A type by its name: `f32`, `Ring`.
    pub fn name(name: &str) -> Self {
        Self::of(name, std::iter::empty::<Expr>())
    }

    /// A type with arguments: `tensor<f16, (m, k)>`.
    pub fn of(name: &str, args: impl IntoIterator<Item = impl Into<Arg>>) -> Self {
        let args = Arg::nodes(args, &mut Texts::default());
        let inner = args.iter().map(|arg| arg.value.depth).max().unwrap_or(0);
        let name = tree::spelled(name);
        Self::node(TypeKind::Named { name, args }, inner + 1)
    }

    /// `tensor<elem, layout>`, where a shape, `(m, k)` or `n`, is the row-major layout.
    pub fn tensor(elem: impl Into<Expr>, layout: impl Into<Expr>) -> Self {
        Self::of("tensor", [elem.into(), layout.into()])
    }

    /// `(a, b)`
    pub fn tuple(parts: impl IntoIterator<Item = impl Into<Type>>) -> Self {
        let parts = parts.into_iter().map(|part| part.into().node);
        let parts: Vec<ast::Type> = parts.collect();
        let inner = parts.iter().map(|part| part.depth).max().unwrap_or(0);
        Self::node(TypeKind::Tuple(parts), inner + 1)
    }

    /// `mut type`, of a parameter that is written.
    #[must_use]
    pub fn mutable(self, mutable: bool) -> Self {
        Self { mutable, ..self }
    }

    fn node(kind: TypeKind, depth: u32) -> Self {
        let (kind, depth) = match depth > MAX_DEPTH {
            true => (TypeKind::Error, 1),
            false => (kind, depth),
        };
        let span = tree::NOWHERE;
        let node = ast::Type { kind, span, depth };
        let mutable = false;
        Self { node, mutable }
    }
}

impl From<&str> for Type {
    fn from(name: &str) -> Self {
        Self::name(name)
    }
}

/// A parameter: `x: f32`, `y: mut tensor<f16, n>`, and of functions `x`, `self`, `mut self`.
#[derive(Debug, Clone)]
pub struct Param(ast::Param);

impl Param {
    /// `name: type`
    pub fn new(name: &str, ty: impl Into<Type>) -> Self {
        let Type { node, mutable } = ty.into();
        Self(tree::param(name, mutable, Some(node)))
    }

    /// `name`, or `mut name` (of `self`).
    pub fn untyped(name: &str, mutable: bool) -> Self {
        Self(tree::param(name, mutable, None))
    }
}

impl From<&str> for Param {
    fn from(name: &str) -> Self {
        Self::untyped(name, false)
    }
}

/// A compile-time parameter: `bm`, `bm = 128`, `t: dtype = f16`.
#[derive(Debug, Clone)]
pub struct StaticParam(ast::StaticParam);

impl StaticParam {
    /// `name: type = default`
    pub fn new(name: &str, ty: Option<Type>, default: Option<Expr>) -> Self {
        Self(ast::StaticParam {
            name: tree::spelled(name),
            ty: ty.map(|ty| ty.node),
            default: default.map(|default| default.node),
            candidates: None,
            span: tree::NOWHERE,
        })
    }

    /// A list or a range of values that `cutec tune` tries beside the default, of a kernel's parameter.
    #[must_use]
    pub fn candidates(mut self, candidates: Expr) -> Self {
        self.0.candidates = Some(candidates.node);
        self
    }
}

impl From<&str> for StaticParam {
    fn from(name: &str) -> Self {
        Self::new(name, None, None)
    }
}

/// `import "path";`
#[derive(Debug, Clone)]
pub struct Import(ast::Import);

impl Import {
    /// Of the standard library, `std/…`, or of what the loader of the compilation has.
    pub fn new(path: &str) -> Self {
        let path = tree::spelled(path);
        Self(ast::Import { path })
    }
}

/// `const name: type = value;`
#[derive(Debug, Clone)]
pub struct Constant(ast::ConstItem, Texts);

impl Constant {
    /// A constant.
    pub fn new(name: &str, ty: Option<Type>, value: impl Into<Expr>) -> Self {
        let value = value.into();
        let node = ast::ConstItem {
            name: tree::spelled(name),
            ty: ty.map(|ty| ty.node),
            value: value.node,
        };
        Self(node, value.texts)
    }
}

/// `fn name<…>(…) -> type { … }`
#[derive(Debug, Clone)]
pub struct Function {
    node: ast::Function,
    texts: Texts,
}

impl Function {
    /// A function without parameters.
    pub fn new(name: &str, body: Block) -> Self {
        let (body, texts) = body.into_node();
        let node = ast::Function {
            name: tree::spelled(name),
            static_params: Vec::new(),
            params: Vec::new(),
            result: None,
            body,
        };
        Self { node, texts }
    }

    /// One more parameter.
    #[must_use]
    pub fn param(mut self, param: impl Into<Param>) -> Self {
        self.node.params.push(param.into().0);
        self
    }

    /// One more compile-time parameter.
    #[must_use]
    pub fn static_param(mut self, param: impl Into<StaticParam>) -> Self {
        self.node.static_params.push(param.into().0);
        self
    }

    /// The type of its result.
    #[must_use]
    pub fn result(mut self, ty: impl Into<Type>) -> Self {
        self.node.result = Some(ty.into().node);
        self
    }
}

/// `kernel name<…>(…) where … launch … { … }`
#[derive(Debug, Clone)]
pub struct Kernel {
    node: ast::Kernel,
    texts: Texts,
}

impl Kernel {
    /// A kernel without parameters, which says nothing of its launch yet.
    pub fn new(name: &str, body: Block) -> Self {
        let (body, texts) = body.into_node();
        let node = ast::Kernel {
            name: tree::spelled(name),
            static_params: Vec::new(),
            params: Vec::new(),
            promises: Vec::new(),
            tunable: Vec::new(),
            launch: Vec::new(),
            body,
        };
        Self { node, texts }
    }

    /// One more parameter.
    #[must_use]
    pub fn param(mut self, param: impl Into<Param>) -> Self {
        self.node.params.push(param.into().0);
        self
    }

    /// One more compile-time parameter.
    #[must_use]
    pub fn static_param(mut self, param: impl Into<StaticParam>) -> Self {
        self.node.static_params.push(param.into().0);
        self
    }

    /// One more condition on compile-time parameters behind `where tunable`.
    #[must_use]
    pub fn tunable(mut self, condition: Expr) -> Self {
        self.texts.merge(&condition.texts);
        self.node.tunable.push(condition.node);
        self
    }

    /// One more condition behind `where`.
    #[must_use]
    pub fn promise(mut self, condition: Expr) -> Self {
        self.texts.merge(&condition.texts);
        self.node.promises.push(condition.node);
        self
    }

    /// One more clause behind `launch`: `grid`, `block`, `cluster`, `tiles`, ….
    #[must_use]
    pub fn launch(mut self, name: &str, args: impl IntoIterator<Item = impl Into<Arg>>) -> Self {
        let args = Arg::nodes(args, &mut self.texts);
        self.node.launch.push(tree::clause_with(name, args));
        self
    }
}

/// `record name { fields, functions }`
#[derive(Debug, Clone)]
pub struct Record {
    node: ast::Record,
    texts: Texts,
}

impl Record {
    /// A record without fields.
    pub fn new(name: &str) -> Self {
        let node = ast::Record {
            name: tree::spelled(name),
            fields: Vec::new(),
            functions: Vec::new(),
        };
        let texts = Texts::default();
        Self { node, texts }
    }

    /// One more field, `name: type = default`; one that is `mutable` may be assigned to.
    #[must_use]
    pub fn field(
        mut self,
        name: &str,
        mutable: bool,
        ty: Option<Type>,
        default: Option<Expr>,
    ) -> Self {
        self.node.fields.push(ast::RecordField {
            docs: Vec::new(),
            mutable,
            name: tree::spelled(name),
            ty: ty.map(|ty| ty.node),
            default: default.map(|default| default.node),
            span: tree::NOWHERE,
        });
        self
    }

    /// One more `///` line of the field or function before.
    #[must_use]
    pub fn doc(mut self, line: &str) -> Self {
        let field = self.node.fields.last_mut().map(|field| &mut field.docs);
        let function = self.node.functions.last_mut();
        let docs = function.map(|function| &mut function.docs).or(field);
        docs.into_iter()
            .for_each(|docs| docs.extend(line.split('\n').map(Into::into)));
        self
    }

    /// One more function; a first parameter `self` is what it is called on.
    #[must_use]
    pub fn function(mut self, function: Function) -> Self {
        self.texts.merge(&function.texts);
        self.node.functions.push(ast::RecordFunction {
            docs: Vec::new(),
            function: function.node,
            span: tree::NOWHERE,
        });
        self
    }
}

/// `test name { … }` or `bench name { … }`, for a file that `cutec test` gets.
#[derive(Debug, Clone)]
pub struct Test(ItemKind, Texts);

impl Test {
    /// `test name { … }`
    pub fn new(name: &str, body: Block) -> Self {
        let ((body, texts), name) = (body.into_node(), tree::spelled(name));
        Self(ItemKind::Test(ast::Test { name, body }), texts)
    }

    /// `bench name { … }`
    pub fn bench(name: &str, body: Block) -> Self {
        let ((body, texts), name) = (body.into_node(), tree::spelled(name));
        Self(ItemKind::Bench(ast::Bench { name, body }), texts)
    }
}

/// An item of any kind.
#[derive(Debug, Clone)]
pub struct Item {
    pub(in crate::build) node: ast::Item,
    pub(in crate::build) texts: Texts,
}

impl Item {
    fn new(kind: ItemKind, texts: Texts) -> Self {
        let node = tree::item(kind);
        Self { node, texts }
    }

    /// One more `///` line.
    #[must_use]
    pub fn doc(mut self, line: &str) -> Self {
        let lines = line.split('\n').map(Into::into);
        self.node.docs.extend(lines);
        self
    }

    /// Where what has no place yet comes from.
    #[must_use]
    pub fn at(mut self, position: &Position) -> Self {
        self.texts.add(position.text());
        Spans(&mut tree::place(position.span())).item(&mut self.node);
        self
    }
}

macro_rules! items {
    ($($from:ident => |$item:ident| $make:expr;)*) => { $(
        impl From<$from> for Item {
            fn from($item: $from) -> Self {
                $make
            }
        }
    )* };
}
items! {
    Import => |item| Item::new(ItemKind::Import(item.0), Texts::default());
    Constant => |item| Item::new(ItemKind::Const(item.0), item.1);
    Function => |item| Item::new(ItemKind::Function(item.node), item.texts);
    Kernel => |item| Item::new(ItemKind::Kernel(item.node), item.texts);
    Record => |item| Item::new(ItemKind::Record(item.node), item.texts);
    Test => |item| Item::new(item.0, item.1);
}

/// A file that is being built.
#[derive(Debug, Clone)]
pub struct File {
    name: String,
    items: Vec<Item>,
}

impl File {
    /// An empty file; messages call it `NAME.cute`.
    pub fn new(name: &str) -> Self {
        let name = name.to_owned();
        Self {
            name,
            items: Vec::new(),
        }
    }

    /// One more item.
    pub fn add(&mut self, item: impl Into<Item>) -> &mut Self {
        self.items.push(item.into());
        self
    }

    /// The module.
    ///
    /// # Errors
    /// When its listing does not read as what was built: a name is none, or the grammar refuses what it says.
    #[track_caller]
    pub fn finish(self) -> Result<Module> {
        let mut texts = Texts::default();
        let node = |item: Item| {
            texts.merge(&item.texts);
            item.node
        };
        let items = self.items.into_iter().map(node).collect();
        module::finished(&self.name, items, texts)
    }
}
