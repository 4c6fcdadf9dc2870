//! [`Value`]: what an expression is, known at compile time or not.

use super::builtins::{self, Register};
use crate::ast::{self, Function};
use crate::source::Span;
use cutec_abi::counted;
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::memo::{type_text, type_value};
use cutec_dialects::printing::name_value;
use cutec_dialects::types::Vars;
use cutec_dialects::value::{TupleKind, Val, without_widths};
use cutec_layout::{AnyLayout, Coord, Int, Layout, Tiler, Tree, Width};
use melior::ir::ValueLike;
use std::cell::Cell;
use std::sync::Arc;

/// A run-time number.
#[derive(Clone)]
pub struct Scalar<'c> {
    /// The number.
    pub ir: IrValue<'c>,
    /// Its type.
    pub elem: Elem,
    /// What is known to divide it; 1 for anything but integers.
    pub div: i64,
    /// The same number as an integer tuple whose type says what divides it.
    pub tuple: Option<IrValue<'c>>,
}

/// A value of the `cute` dialect that has something left to run time: a view, a layout, a tuple, …
#[derive(Clone)]
pub struct Cute<'c> {
    /// The value.
    pub ir: IrValue<'c>,
    /// What its type says.
    pub val: Val,
    /// Which memory a view shows.
    pub origin: Origin,
}

/// Which memory a view shows: what operations on views hand on.
#[derive(Clone, Default)]
pub struct Origin {
    /// The argument that it is part of, if that may not be written.
    pub readonly: Option<Arc<str>>,
    /// Whether it begins somewhere else than its shape says: what lies outside of the shape may be in the tensor.
    pub displaced: bool,
    /// The fragment that it is part of.
    pub fragment: Option<FragmentPart>,
    /// The allocation that it is part of.
    pub room: Option<Room>,
}

/// An allocation, in registers or in shared memory, and where in it a view begins.
#[derive(Clone, Copy)]
pub struct Room {
    /// In which memory it lies.
    pub space: Space,
    /// Its size in bits.
    pub bits: i64,
    /// The bit at which the view begins, where it is known.
    pub start: Option<i64>,
}

/// The fragment that a view is part of.
#[derive(Clone, Copy)]
pub struct FragmentPart {
    /// Which fragment, counted in the order of their allocation.
    pub fragment: usize,
    /// Element of the fragment at which the view begins, where it is known.
    pub start: Option<i64>,
}

/// All elements of a view in registers, in the order of their index.
#[derive(Clone)]
pub struct Vector<'c> {
    /// `vector<NxT>`.
    pub ir: IrValue<'c>,
    /// Element type.
    pub elem: Elem,
    /// Number of elements.
    pub len: i64,
}

/// A tile that a block computes on.
#[derive(Clone)]
pub struct Tile<'c> {
    /// A ranked tensor.
    pub ir: IrValue<'c>,
    /// Element type.
    pub elem: Elem,
    /// Extents.
    pub shape: Vec<i64>,
}

/// A variable in registers.
#[derive(Clone, Copy)]
pub struct Slot<'c> {
    /// A view of one element.
    pub view: IrValue<'c>,
    /// Its type.
    pub elem: Elem,
}

/// A value of named fields.
#[derive(Clone)]
pub struct RecordValue<'c, 'a> {
    /// What it was declared as.
    pub declaration: &'a ast::Record,
    /// The values of the fields, in the order of the declaration.
    pub fields: Vec<Value<'c, 'a>>,
}

/// What an expression is.
#[derive(Clone)]
#[allow(missing_docs)]
pub enum Value<'c, 'a> {
    Unit,
    /// An integer known at compile time; adapts to the type of what it meets.
    Int(i64),
    /// An integer from 2⁶³ on, known at compile time: a number of `u64`; as a literal in hexadecimal also the bits of an `i64`.
    Large(u64),
    /// A number known at compile time; adapts to the type of what it meets.
    Float(f64),
    /// A number known at compile time, of a type that a conversion or a suffix gave it: f16, bf16, f32, f64, i8 or
    /// i16, of all of which an f64 holds every number.
    Typed(f64, Elem),
    Bool(bool),
    Str(Arc<str>),
    Type(Elem),
    /// `_`
    Underscore,
    Tuple(Vec<Value<'c, 'a>>),
    Array(Vec<Value<'c, 'a>>),
    Record(RecordValue<'c, 'a>),
    Range(Box<[Value<'c, 'a>; 3]>),
    /// A layout, swizzle, tile, atom, tiled copy or MMA, known at compile time.
    Static(Val),
    Scalar(Scalar<'c>),
    Cute(Cute<'c>),
    Vector(Vector<'c>),
    Tile(Tile<'c>),
    /// What `tiled.slice(thread)` gives: the tiled copy or MMA, and the thread.
    Thread(Box<(Value<'c, 'a>, Value<'c, 'a>)>),
    /// What `in_bounds` gives: coordinates, and the shape that they must lie in.
    Predicate(Box<(Value<'c, 'a>, Value<'c, 'a>)>),
    /// A variable in registers.
    Slot(Slot<'c>),
    Function(&'a Function),
    /// `thread_idx` and the like.
    Register(Register),
    /// A built-in function, by name.
    Builtin(&'static str),
    /// An error was reported here.
    Error,
}

/// A leaf of a tuple.
#[derive(Clone)]
pub enum Leaf<'c> {
    /// An integer or a scaled basis.
    Static(Int),
    /// `_`
    Underscore,
    /// A run-time integer: operand, width, and what is known to divide it.
    Dynamic(IrValue<'c>, Width, i64),
}

impl<'c, 'a> Value<'c, 'a> {
    /// Gives what is left to run time the name of the source in printed IR.
    pub fn name_for_readers(&self, name: &str) {
        match self {
            Value::Scalar(scalar) => {
                name_value(scalar.ir, name);
                if let Some(tuple) = scalar.tuple {
                    name_value(tuple, name);
                }
            }
            Value::Cute(Cute { ir, .. })
            | Value::Vector(Vector { ir, .. })
            | Value::Tile(Tile { ir, .. })
            | Value::Slot(Slot { view: ir, .. }) => name_value(*ir, name),
            Value::Tuple(items) | Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    item.name_for_readers(&format!("{name}_{at}"));
                }
            }
            Value::Record(record) => {
                for (field, value) in record.declaration.fields.iter().zip(&record.fields) {
                    value.name_for_readers(&format!("{name}_{}", field.name.node));
                }
            }
            Value::Unit
            | Value::Int(_)
            | Value::Large(_)
            | Value::Float(_)
            | Value::Typed(..)
            | Value::Bool(_)
            | Value::Str(_)
            | Value::Type(_)
            | Value::Underscore
            | Value::Range(_)
            | Value::Static(_)
            | Value::Thread(_)
            | Value::Predicate(_)
            | Value::Function(_)
            | Value::Register(_)
            | Value::Builtin(_)
            | Value::Error => {}
        }
    }

    /// What a result of the semantics is, if nothing of it is left to run time.
    pub fn of_static(val: Val) -> Self {
        match val {
            Val::Scalar(Int::Static(value)) => Value::Int(value),
            Val::Tuple(kind, Tree::Node(modes)) => Value::Tuple(
                modes
                    .into_iter()
                    .map(|mode| Value::of_static(Val::Tuple(kind, mode)))
                    .collect(),
            ),
            Val::Tuple(_, Tree::Leaf(Some(Int::Static(value)))) => Value::Int(value),
            Val::Tuple(_, Tree::Leaf(None)) => Value::Underscore,
            other => Value::Static(other),
        }
    }

    /// As the semantics takes it; `None` where something is left to run time, or it is no value of the
    /// `cute` dialect.
    pub fn as_static(&self) -> Option<Val> {
        Some(match self {
            Value::Int(value) => Val::Scalar(Int::Static(*value)),
            Value::Underscore => Val::Tuple(TupleKind::Coord, Tree::Leaf(None)),
            Value::Static(val) => val.clone(),
            Value::Tuple(parts) => {
                let parts = parts
                    .iter()
                    .map(Value::as_static)
                    .collect::<Option<Vec<_>>>()?;
                let is_tile = parts
                    .iter()
                    .any(|part| matches!(part, Val::Layout(_) | Val::Tile(_)));
                match is_tile {
                    true => Val::Tile(Tiler::Tile(
                        parts.into_iter().map(as_tiler).collect::<Option<_>>()?,
                    )),
                    false => {
                        let modes = parts.into_iter().map(as_coord).collect::<Option<_>>()?;
                        Val::Tuple(TupleKind::Coord, Tree::Node(modes))
                    }
                }
            }
            _ => return None,
        })
    }

    /// As a layout: a shape alone is compact, first mode fastest.
    pub fn as_layout(&self) -> Option<Layout> {
        match self.as_static()? {
            Val::Layout(AnyLayout::Plain(layout)) => Some(layout),
            Val::Scalar(extent) => Some(Layout::col_major(Tree::Leaf(extent))),
            Val::Tuple(_, shape) => Some(Layout::col_major(
                cutec_dialects::value::without_underscore(&shape)?,
            )),
            _ => None,
        }
    }

    /// A value of the IR; static where its type says all of it.
    pub fn of_ir(ir: IrValue<'c>, origin: Origin) -> Self {
        let text = type_text(ir.r#type());
        if let Some(elem) = Elem::parse(&text) {
            return Value::Scalar(Scalar {
                ir,
                elem,
                div: 1,
                tuple: None,
            });
        }
        match type_value(ir.r#type(), &mut Vars::default()) {
            Ok(val) => Value::Cute(Cute { ir, val, origin }),
            Err(_) => Value::Error,
        }
    }

    /// Whether it is a number known at compile time.
    pub fn is_known_number(&self) -> bool {
        matches!(
            self,
            Value::Int(_) | Value::Large(_) | Value::Float(_) | Value::Typed(..)
        )
    }

    /// Whether it is a bool, or several.
    pub fn is_bool(&self) -> bool {
        match self {
            Value::Bool(_) => true,
            Value::Scalar(scalar) => scalar.elem == Elem::I1,
            Value::Vector(vector) => vector.elem == Elem::I1,
            Value::Slot(slot) => slot.elem == Elem::I1,
            Value::Cute(_) => self
                .as_view()
                .is_some_and(|(_, view)| view.ptr.elem == Elem::I1),
            _ => false,
        }
    }

    /// The type of a number: its own, or that in which a literal is kept at run time where nothing else is said.
    pub fn number_type(&self) -> Option<Elem> {
        match self {
            Value::Scalar(scalar) => Some(scalar.elem),
            Value::Typed(_, elem) => Some(*elem),
            Value::Int(_) => Some(Elem::I32),
            Value::Large(_) => Some(Elem::U64),
            Value::Float(_) => Some(Elem::F32),
            Value::Bool(_) => Some(Elem::I1),
            _ => None,
        }
    }

    /// How many values it consists of, and how deep they nest.
    pub fn parts_and_depth(&self) -> (usize, usize) {
        let of = |parts: &[Value<'c, 'a>]| {
            parts
                .iter()
                .fold((1, 1), |(count, deepest): (usize, usize), part| {
                    let (parts, depth) = part.parts_and_depth();
                    (count + parts, deepest.max(depth + 1))
                })
        };
        match self {
            Value::Tuple(parts) | Value::Array(parts) => of(parts),
            Value::Record(record) => of(&record.fields),
            Value::Range(parts) => of(&parts[..]),
            Value::Static(Val::Layout(layout)) => (layout.shape().leaf_count(), 1),
            _ => (1, 1),
        }
    }

    /// What a message calls it.
    pub fn describe(&self) -> String {
        match self {
            Value::Unit => "nothing".into(),
            Value::Int(value) => format!("the integer {value}"),
            Value::Large(value) => format!("the integer {value}"),
            Value::Float(value) => format!("the number {value:?}"),
            Value::Typed(value, elem) if elem.is_float() => {
                format!("the {} {value:?}", elem_name(*elem))
            }
            Value::Typed(value, elem) => format!("the {} {value}", elem_name(*elem)),
            Value::Bool(value) => format!("`{value}`"),
            Value::Str(text) => match builtins::is_word(text) {
                true => format!("the word `{text}`"),
                false => format!("the string {text:?}"),
            },
            Value::Type(elem) => format!("the type {}", elem_name(*elem)),
            Value::Underscore => "`_`".into(),
            Value::Tuple(parts) => match self.as_static() {
                Some(val) => format!("`{}`", notation(&val)),
                None => format!("a tuple of {}", parts.len()),
            },
            Value::Array(parts) => format!("an array of {}", parts.len()),
            Value::Record(record) => format!("a record `{}`", record.declaration.name.node),
            Value::Range(_) => "a range".into(),
            Value::Static(val) => kind_and_notation(val),
            Value::Scalar(scalar) => format!("a run-time {}", elem_name(scalar.elem)),
            Value::Cute(cute) => kind_and_notation(&cute.val),
            Value::Vector(vector) => format!(
                "{} of {}",
                counted(vector.len, "value"),
                elem_name(vector.elem)
            ),
            Value::Tile(tile) => {
                let (elem, shape) = (elem_name(tile.elem), super::tiles::shape_text(&tile.shape));
                format!("a tile of {elem} of shape {shape}")
            }
            Value::Thread(parts) => match &parts.0 {
                Value::Static(Val::TiledMma(_)) => "one thread of a tiled MMA".into(),
                _ => "one thread of a tiled copy".into(),
            },
            Value::Predicate(_) => "a predicate".into(),
            Value::Slot(slot) => format!("a variable of {}", elem_name(slot.elem)),
            Value::Function(function) => format!("the function `{}`", function.name.node),
            Value::Register(register) => format!("`{}`", register.name()),
            Value::Builtin(name) => format!("the built-in `{name}`"),
            Value::Error => "an error".into(),
        }
    }

    /// Whether it is known at compile time.
    pub fn is_known(&self) -> bool {
        match self {
            Value::Tuple(parts) | Value::Array(parts) => parts.iter().all(Value::is_known),
            Value::Record(record) => record.fields.iter().all(Value::is_known),
            Value::Range(parts) => parts.iter().all(Value::is_known),
            Value::Scalar(_) | Value::Cute(_) | Value::Vector(_) | Value::Slot(_) => false,
            Value::Tile(_) | Value::Thread(_) | Value::Predicate(_) => false,
            Value::Unit
            | Value::Int(_)
            | Value::Large(_)
            | Value::Float(_)
            | Value::Typed(..)
            | Value::Bool(_)
            | Value::Str(_)
            | Value::Type(_)
            | Value::Underscore
            | Value::Static(_)
            | Value::Function(_)
            | Value::Register(_)
            | Value::Builtin(_)
            | Value::Error => true,
        }
    }

    /// Whether both are one and the same: equal, where they are known, and the same value of the IR, where they are not.
    pub fn is_same(&self, other: &Self) -> bool {
        let all = |a: &[Value<'c, 'a>], b: &[Value<'c, 'a>]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_same(b))
        };
        match (self, other) {
            (Value::Tuple(a), Value::Tuple(b)) | (Value::Array(a), Value::Array(b)) => all(a, b),
            (Value::Record(a), Value::Record(b)) => {
                std::ptr::eq(a.declaration, b.declaration) && all(&a.fields, &b.fields)
            }
            (Value::Range(a), Value::Range(b)) => all(&a[..], &b[..]),
            (Value::Unit, Value::Unit) | (Value::Underscore, Value::Underscore) => true,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Large(a), Value::Large(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
            (Value::Typed(a, of), Value::Typed(b, other)) => {
                of == other && a.to_bits() == b.to_bits()
            }
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::Type(a), Value::Type(b)) => a == b,
            (Value::Static(a), Value::Static(b)) => notation(a) == notation(b),
            (Value::Scalar(a), Value::Scalar(b)) => a.ir == b.ir,
            (Value::Cute(a), Value::Cute(b)) => a.ir == b.ir,
            (Value::Vector(a), Value::Vector(b)) => a.ir == b.ir,
            (Value::Tile(a), Value::Tile(b)) => a.ir == b.ir,
            (Value::Slot(a), Value::Slot(b)) => a.view == b.view,
            (Value::Thread(a), Value::Thread(b)) | (Value::Predicate(a), Value::Predicate(b)) => {
                a.0.is_same(&b.0) && a.1.is_same(&b.1)
            }
            (Value::Function(a), Value::Function(b)) => std::ptr::eq(*a, *b),
            (Value::Register(a), Value::Register(b)) => a == b,
            (Value::Builtin(a), Value::Builtin(b)) => a == b,
            _ => false,
        }
    }

    /// The view, if it is one.
    pub fn as_view(&self) -> Option<(&Cute<'c>, &cutec_dialects::value::View)> {
        match self {
            Value::Cute(cute) => match &cute.val {
                Val::View(view) => Some((cute, view)),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A binding of a name.
#[derive(Clone)]
pub struct Binding<'c, 'a> {
    /// Its value.
    pub value: Value<'c, 'a>,
    /// Whether `=` may stand behind it.
    pub mutable: bool,
    /// Where it was bound.
    pub span: Span,
    /// Regions of the IR around the place where its value was bound.
    pub regions: usize,
    /// Whether an expression has named it.
    pub read: Cell<bool>,
}

/// The name of an element type in the language.
pub fn elem_name(elem: Elem) -> &'static str {
    elem.language_name()
}

/// The element type of a name in the language.
pub fn elem_of(name: &str) -> Option<Elem> {
    match name {
        "i1" => None,
        _ => Elem::ALL
            .iter()
            .map(|(elem, _)| *elem)
            .find(|elem| elem_name(*elem) == name),
    }
}

fn as_coord(val: Val) -> Option<Coord> {
    match val {
        Val::Scalar(int) => Some(Tree::Leaf(Some(int))),
        Val::Tuple(_, tuple) => Some(tuple),
        _ => None,
    }
}

fn as_tiler(val: Val) -> Option<Tiler> {
    Some(match val {
        Val::Layout(AnyLayout::Plain(layout)) => Tiler::Layout(layout),
        Val::Tile(tiler) => tiler,
        Val::Scalar(int) => Tiler::Int(int),
        Val::Tuple(_, Tree::Leaf(None)) => Tiler::All,
        Val::Tuple(_, tuple) => {
            Tiler::from_shape(&cutec_dialects::value::without_underscore(&tuple)?)
        }
        _ => return None,
    })
}

/// A value in the notation of layouts, without the name of its type.
pub fn notation(val: &Val) -> String {
    match val {
        Val::Scalar(int) => int.to_string(),
        Val::Layout(layout) => layout.to_string(),
        Val::Swizzle(swizzle) => swizzle.to_string(),
        Val::Tile(tiler) => tiler.to_string(),
        Val::Tuple(_, tuple) => cutec_dialects::value::CoordText(tuple).to_string(),
        Val::View(view) => view.layout.to_string(),
        Val::CoordTensor(tensor) => tensor.layout.to_string(),
        Val::CopyAtom(atom) => builtins::copy_atom(atom),
        Val::MmaAtom(atom) => builtins::mma_atom(atom),
        Val::TmaAtom(atom) => builtins::tma_atom(atom),
        Val::BulkCopy(atom) => builtins::bulk_copy(atom),
        other => other.to_string(),
    }
}

/// A value in the notation of layouts, with what kind of value it is.
pub fn kind_and_notation(val: &Val) -> String {
    let text = notation(val);
    match val {
        Val::Layout(_) => format!("the layout `{text}`"),
        Val::Swizzle(_) => format!("the swizzle `{text}`"),
        Val::Tile(_) => format!("the tile `{text}`"),
        Val::Tuple(..) => format!("the tuple `{text}`"),
        Val::View(view) => {
            let (elem, text) = (elem_name(view.ptr.elem), without_widths(&text));
            match view.ptr.space {
                Space::Rmem => format!("a fragment of {elem} of layout `{text}`"),
                Space::Gmem => format!("a tensor of {elem} of layout `{text}`"),
                Space::Smem => format!("a tensor of {elem} in shared memory of layout `{text}`"),
                Space::Dsmem => {
                    format!(
                        "a tensor of {elem} in another block's shared memory of layout `{text}`"
                    )
                }
            }
        }
        Val::CoordTensor(_) => format!("a tensor of coordinates with layout `{text}`"),
        Val::CopyAtom(_) => format!("the copy atom `{text}`"),
        Val::MmaAtom(_) => format!("the MMA atom `{text}`"),
        Val::TmaAtom(_) => format!("the copy by a tensor map `{text}`"),
        Val::BulkCopy(_) => format!("the bulk copy `{text}`"),
        Val::Ptr(ptr) => format!("a pointer to {} in {}", elem_name(ptr.elem), ptr.space),
        Val::Opaque(ty) => format!("a value of {ty}"),
        Val::TiledCopy(_) => "a tiled copy".into(),
        Val::TiledMma(_) => "a tiled MMA".into(),
        _ => format!("`{text}`"),
    }
}
