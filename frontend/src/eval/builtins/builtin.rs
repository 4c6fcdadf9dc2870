//! What the table says of each built-in: its name, its level, its arguments, its documentation, and the function that
//! lowers it.
//!
//! A family of built-ins is a constant list of [`Builtin`], in the file of the functions that lower them. Counts and
//! names of arguments are checked against the list before the lowering function runs, so that this finds every
//! required argument in its place.

use crate::ast::{Arg, Expr};
use crate::eval::call::Call;
use crate::eval::tiles;
use crate::eval::values::{Cute, Value};
use crate::eval::{Evaluator, Result};
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::AtomicKind;
use cutec_dialects::value::Val;
use std::fmt::Write;

/// In which kernels a built-in may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// In both kinds of kernels.
    Both,
    /// In kernels launched with `grid` and `block`.
    Threads,
    /// In kernels launched with `tiles`.
    Tiles,
}

/// What an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whatever has a value.
    Any,
    /// A number, a view or a tile: computed element by element.
    Number,
    /// An integer, known while compiling or not.
    Integer,
    /// A bool.
    Bool,
    /// A text in quotes.
    Text,
    /// An element type.
    ElementType,
    /// One element of a tensor, `t[i]`, or a tile of one: a place, not a value.
    Place,
    /// A tensor or a part of one, in any memory.
    View,
    /// A layout, a tensor or a tuple.
    Shaped,
    /// A layout, or a shape that stands for the compact one.
    Layout,
    /// A shape.
    Shape,
    /// A coordinate.
    Coordinate,
    /// An extent, a shape or a tile of layouts.
    Tiler,
    /// Which modes are taken: `(1, _, 1)`.
    Projection,
    /// `in_bounds(…)` or a view of bool.
    Predicate,
    /// An atom that copies.
    CopyAtom,
    /// An atom that multiplies.
    MmaAtom,
    /// A copy atom, a tiled copy, or one thread of it.
    Copier,
    /// An MMA atom, a tiled MMA, or one thread of it.
    Multiplier,
    /// A tiled MMA.
    TiledMma,
    /// A tiled copy or MMA.
    Tiled,
    /// A tile of a kernel at tile level.
    Tile,
    /// `row`, `col` or strides.
    Order,
    /// An operator of reductions, or a function of two values.
    Operator,
    /// One of these words.
    Word(&'static [&'static str]),
}

impl Kind {
    /// What a message calls it.
    pub fn describe(self) -> &'static str {
        match self {
            Kind::Any => "a value",
            Kind::Number => "a number, a view or a tile",
            Kind::Integer => "an integer",
            Kind::Bool => "a bool",
            Kind::Text => "a text",
            Kind::ElementType => "an element type",
            Kind::Place => "an element of a tensor, or a tile of one",
            Kind::View => "a tensor",
            Kind::Shaped => "a layout, a tensor or a tuple",
            Kind::Layout => "a layout",
            Kind::Shape => "a shape",
            Kind::Coordinate => "a coordinate",
            Kind::Tiler => "a tile",
            Kind::Projection => "a projection such as `(1, _, 1)`",
            Kind::Predicate => "`in_bounds(…)` or a view of bool",
            Kind::CopyAtom => "a copy atom",
            Kind::MmaAtom => "an MMA atom",
            Kind::Copier => "a copy atom or a tiled copy",
            Kind::Multiplier => "an MMA atom or a tiled MMA",
            Kind::TiledMma => "a tiled MMA",
            Kind::Tiled => "a tiled copy or MMA",
            Kind::Tile => "a tile of elements",
            Kind::Order => "`row`, `col` or strides",
            Kind::Operator => "an operator, or a function of two values",
            Kind::Word(_) => "a word",
        }
    }

    /// The words that stand for options where an argument of this kind is wanted.
    pub(super) fn words(self) -> &'static [&'static str] {
        match self {
            Kind::Word(words) => words,
            Kind::Order => &["row", "col"],
            Kind::Operator => super::operator::Operator::NAMES,
            Kind::Any
            | Kind::Number
            | Kind::Integer
            | Kind::Bool
            | Kind::Text
            | Kind::ElementType
            | Kind::Place
            | Kind::View
            | Kind::Shaped
            | Kind::Layout
            | Kind::Shape
            | Kind::Coordinate
            | Kind::Tiler
            | Kind::Projection
            | Kind::Predicate
            | Kind::CopyAtom
            | Kind::MmaAtom
            | Kind::Copier
            | Kind::Multiplier
            | Kind::TiledMma
            | Kind::Tiled
            | Kind::Tile => &[],
        }
    }
}

/// How an argument is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// By its place; it must be there.
    Required,
    /// By its place or its name; it must be there.
    Either,
    /// By its place; may be left out.
    Optional,
    /// By its place or its name, or left out: the default.
    EitherOr(&'static str),
    /// By its name, or left out: the default.
    Named(&'static str),
    /// Any number of further ones by their place.
    Rest,
}

/// An argument of a built-in.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name, by which named ones are given.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// How it is given.
    pub presence: Presence,
}

impl Parameter {
    const fn new(name: &'static str, kind: Kind, presence: Presence) -> Self {
        Self {
            name,
            kind,
            presence,
        }
    }

    /// Whether it may be given as `name = …`.
    pub fn has_name(&self) -> bool {
        match self.presence {
            Presence::Either | Presence::EitherOr(_) | Presence::Named(_) => true,
            Presence::Required | Presence::Optional | Presence::Rest => false,
        }
    }
}

/// An argument by its place.
pub(in crate::eval) const fn arg(name: &'static str, kind: Kind) -> Parameter {
    Parameter::new(name, kind, Presence::Required)
}

/// An argument by its place or its name.
pub(super) const fn either(name: &'static str, kind: Kind) -> Parameter {
    Parameter::new(name, kind, Presence::Either)
}

/// An argument by its place that may be left out.
pub(super) const fn optional(name: &'static str, kind: Kind) -> Parameter {
    Parameter::new(name, kind, Presence::Optional)
}

/// An argument by its place or its name, with a default.
pub(super) const fn either_or(name: &'static str, kind: Kind, default: &'static str) -> Parameter {
    Parameter::new(name, kind, Presence::EitherOr(default))
}

/// An argument by its name, with a default.
pub(in crate::eval) const fn named(
    name: &'static str,
    kind: Kind,
    default: &'static str,
) -> Parameter {
    Parameter::new(name, kind, Presence::Named(default))
}

/// Any number of further arguments.
pub(super) const fn rest(name: &'static str, kind: Kind) -> Parameter {
    Parameter::new(name, kind, Presence::Rest)
}

/// Lowers a call whose arguments are evaluated, and agree in number and name with the table.
pub(in crate::eval) type LowerCall =
    for<'c, 'a> fn(&mut Evaluator<'c, 'a>, &Call<'c, 'a>) -> Result<Value<'c, 'a>>;

/// A call whose first argument is not evaluated, as it stands in the source.
pub(in crate::eval) struct CallAtPlace<'a> {
    /// The built-in.
    pub name: &'static str,
    /// Its forms.
    pub forms: Vec<&'static Builtin>,
    /// All arguments.
    pub args: &'a [Arg],
    /// The call.
    pub whole: &'a Expr,
}

/// What a call does with a first argument that is not evaluated.
#[derive(Clone, Copy, Debug)]
pub(in crate::eval) enum AtPlace {
    /// An atomic update of an element or a tile.
    Atomic(AtomicKind),
    /// A block that comes to a counter.
    Arrive,
    GridBarrier,
    /// An operation on a barrier in shared memory.
    Mbarrier(CuteOp),
    /// A store to another block's shared memory, which a barrier there counts.
    StoreAsync,
    /// An update of an element of another block's shared memory, which a barrier there counts.
    ReduceAsync,
    /// A promise.
    Assume,
}

/// Lowers `receiver.name(…)`.
pub(in crate::eval) type LowerMethod = for<'c, 'a> fn(
    &mut Evaluator<'c, 'a>,
    (&Value<'c, 'a>, crate::source::Span),
    &Call<'c, 'a>,
) -> Result<Value<'c, 'a>>;

/// A special register of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Register {
    /// The thread in its block.
    ThreadIdx,
    /// The block in the grid.
    BlockIdx,
    /// The extents of a block, known while compiling.
    BlockDim,
    /// The extents of the grid.
    GridDim,
}

impl Register {
    /// Its parts, in order.
    pub(in crate::eval) const AXES: [&'static str; 3] = ["x", "y", "z"];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Register::ThreadIdx => "thread_idx",
            Register::BlockIdx => "block_idx",
            Register::BlockDim => "block_dim",
            Register::GridDim => "grid_dim",
        }
    }
}

/// What has a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receiver {
    /// A tensor.
    View,
    /// A tiled copy.
    TiledCopy,
    /// A tiled MMA.
    TiledMma,
    /// One thread of a tiled copy.
    CopyThread,
    /// One thread of a tiled MMA.
    MmaThread,
}

impl Receiver {
    /// What a value is, if it is something that has methods.
    pub(in crate::eval) fn of(value: &Value<'_, '_>) -> Option<Self> {
        match value {
            Value::Static(Val::TiledCopy(_)) => Some(Receiver::TiledCopy),
            Value::Static(Val::TiledMma(_)) => Some(Receiver::TiledMma),
            Value::Thread(parts) => Some(match &parts.0 {
                Value::Static(Val::TiledMma(_)) => Receiver::MmaThread,
                _ => Receiver::CopyThread,
            }),
            Value::Cute(Cute {
                val: Val::View(_), ..
            }) => Some(Receiver::View),
            _ => None,
        }
    }

    /// How the reference writes it.
    pub fn notation(self) -> &'static str {
        match self {
            Receiver::View => "tensor",
            Receiver::TiledCopy => "tiled_copy",
            Receiver::TiledMma => "tiled_mma",
            Receiver::CopyThread => "tiled_copy.slice(t)",
            Receiver::MmaThread => "tiled_mma.slice(t)",
        }
    }
}

/// The form of a built-in, and the function that lowers it.
#[derive(Debug, Clone, Copy)]
pub(in crate::eval) enum Lowering {
    /// `name(…)`, `name<…>(…)`
    Call(LowerCall),
    /// `name(…)`, computed element by element: of tiles within a `tile.map`.
    Elementwise(LowerCall),
    /// `name(place, …)`
    Place(AtPlace),
    /// `name<…>` without a call.
    Generic(LowerCall),
    /// `receiver.name(…)`
    Method(Receiver, LowerMethod),
    /// `name.x`, `name.y`, `name.z`
    Register(Register),
    /// `tile.m`, `tile.n`, `tile.l`
    TileIndex,
}

/// One entry of the table. Entries of one name are its forms: `barrier()` and `barrier(id, threads)`.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// In which kernels it may stand.
    pub level: Level,
    /// Generic arguments.
    pub generics: &'static [Parameter],
    /// Arguments.
    pub parameters: &'static [Parameter],
    /// What it does, in one or a few sentences.
    pub documentation: &'static str,
    pub(in crate::eval) lowering: Lowering,
}

impl Builtin {
    /// An entry for both levels, without arguments.
    pub(in crate::eval) const fn new(
        name: &'static str,
        lowering: Lowering,
        documentation: &'static str,
    ) -> Self {
        Self {
            name,
            level: Level::Both,
            generics: &[],
            parameters: &[],
            documentation,
            lowering,
        }
    }

    /// At this level alone.
    pub(super) const fn at(self, level: Level) -> Self {
        Self { level, ..self }
    }

    /// With these generic arguments.
    pub(super) const fn generic(self, generics: &'static [Parameter]) -> Self {
        Self { generics, ..self }
    }

    /// With these arguments.
    pub(in crate::eval) const fn takes(self, parameters: &'static [Parameter]) -> Self {
        Self { parameters, ..self }
    }

    /// Whether it is called by its name: `name(…)`.
    pub fn is_function(&self) -> bool {
        match self.lowering {
            Lowering::Call(_) | Lowering::Elementwise(_) | Lowering::Place(_) => true,
            Lowering::Generic(_)
            | Lowering::Method(..)
            | Lowering::Register(_)
            | Lowering::TileIndex => false,
        }
    }

    /// What stands behind its point: `x`, `y` and `z` of `thread_idx`.
    pub fn axes(&self) -> &'static [&'static str] {
        match self.lowering {
            Lowering::Register(_) => &Register::AXES,
            Lowering::TileIndex => &tiles::AXES,
            Lowering::Call(_)
            | Lowering::Elementwise(_)
            | Lowering::Place(_)
            | Lowering::Generic(_)
            | Lowering::Method(..) => &[],
        }
    }

    /// What it is a method of.
    pub fn receiver(&self) -> Option<Receiver> {
        match self.lowering {
            Lowering::Method(receiver, _) => Some(receiver),
            Lowering::Call(_)
            | Lowering::Elementwise(_)
            | Lowering::Place(_)
            | Lowering::Generic(_)
            | Lowering::Register(_)
            | Lowering::TileIndex => None,
        }
    }

    /// How it is written: `shuffle_xor(x, lanes, width = 32)`.
    pub fn signature(&self) -> String {
        let mut text = match self.receiver() {
            Some(receiver) => format!("{}.{}", receiver.notation(), self.name),
            None => self.name.to_owned(),
        };
        if !self.generics.is_empty() {
            let _ = write!(text, "<{}>", list(self.generics));
        }
        match self.lowering {
            Lowering::Call(_)
            | Lowering::Elementwise(_)
            | Lowering::Place(_)
            | Lowering::Method(..) => {
                let _ = write!(text, "({})", list(self.parameters));
            }
            Lowering::Generic(_) => {}
            Lowering::Register(_) => text += ".x",
            Lowering::TileIndex => text += ".m",
        }
        text
    }
}

/// Parameters as a signature shows them.
fn list(parameters: &[Parameter]) -> String {
    let shown = |parameter: &Parameter| {
        let name = parameter.name;
        match parameter.presence {
            Presence::Required => name.to_owned(),
            Presence::Optional => format!("{name}?"),
            Presence::Either => format!("{name} = …"),
            Presence::EitherOr(default) | Presence::Named(default) => format!("{name} = {default}"),
            Presence::Rest => format!("{name}…"),
        }
    };
    parameters.iter().map(shown).collect::<Vec<_>>().join(", ")
}
