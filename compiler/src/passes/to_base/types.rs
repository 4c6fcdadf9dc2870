//! What values of the dialect are in LLVM: structs of their run-time integers.
//!
//! A tuple is the struct of its run-time integers, or the integer itself where
//! there is one. A layout is the struct of its shape and stride, a composed
//! layout that of the layout which sees coordinates, the offset and what is in
//! front. A tile is the struct of its layouts, or the layout itself where there
//! is one; `_` is nothing, and neither is a swizzle.
use cutec_dialects::builder::OpBuilder;
use cutec_dialects::value::{TupleKind, Val, as_coord};
use cutec_layout::{AnyLayout, Int, IntTuple, Layout, Outer, Tiler, Width};
use melior::ir::Type;

/// The form of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repr {
    /// An integer.
    Int(Width),
    /// A struct of these.
    Struct(Vec<Repr>),
}

impl Repr {
    /// The form of a value; `None` for what is no value of the algebra.
    pub fn of(val: &Val) -> Option<Repr> {
        Some(match val {
            Val::Scalar(int) => Repr::Int(int.width()),
            Val::Tuple(_, tuple) => {
                let leaves = tuple.leaves().into_iter().flatten();
                let dynamic = leaves.filter(|leaf| !leaf.is_static());
                one_or_struct(dynamic.map(|leaf| Repr::Int(leaf.width())).collect())
            }
            Val::Swizzle(_) => Repr::Struct(Vec::new()),
            Val::Layout(_) => Repr::Struct(parts(val).iter().map(Repr::of).collect::<Option<_>>()?),
            Val::Tile(_) => one_or_struct(parts(val).iter().map(Repr::of).collect::<Option<_>>()?),
            Val::Opaque(_)
            | Val::Ptr(_)
            | Val::View(_)
            | Val::CoordTensor(_)
            | Val::CopyAtom(_)
            | Val::MmaAtom(_)
            | Val::TmaAtom(_)
            | Val::BulkCopy(_)
            | Val::TiledCopy(_)
            | Val::TiledMma(_) => return None,
        })
    }

    /// The type in MLIR.
    pub fn ir<'c>(&self, ir: &OpBuilder<'c>) -> Type<'c> {
        match self {
            Repr::Int(Width::I32) => ir.integer_type(32),
            Repr::Int(Width::I64) => ir.integer_type(64),
            Repr::Struct(fields) => {
                let fields: Vec<Type> = fields.iter().map(|field| field.ir(ir)).collect();
                ir.struct_type(&fields)
            }
        }
    }
}

fn one_or_struct(mut fields: Vec<Repr>) -> Repr {
    match fields.len() {
        1 => fields.remove(0),
        _ => Repr::Struct(fields),
    }
}

/// What a layout or a tile consists of, in the order of its struct.
pub fn parts(val: &Val) -> Vec<Val> {
    let plain = |layout: &Layout| Val::Layout(AnyLayout::Plain(layout.clone()));
    let tuple = |kind, tuple: &IntTuple| Val::Tuple(kind, as_coord(tuple));
    match val {
        Val::Layout(AnyLayout::Plain(layout)) => vec![
            tuple(TupleKind::Shape, layout.shape()),
            tuple(TupleKind::Stride, layout.stride()),
        ],
        Val::Layout(AnyLayout::Composed(composed)) => vec![
            plain(&composed.inner),
            tuple(TupleKind::IntTuple, &composed.offset),
            match &composed.outer {
                Outer::Swizzle(swizzle) => Val::Swizzle(*swizzle),
                Outer::Layout(layout) => plain(layout),
            },
        ],
        Val::Tile(tiler) => match tiler {
            Tiler::Layout(layout) => vec![plain(layout)],
            Tiler::Int(int) => vec![plain(&Layout::contiguous(int.clone()))],
            Tiler::Tile(modes) => modes
                .iter()
                .flat_map(|mode| parts(&Val::Tile(mode.clone())))
                .collect(),
            Tiler::All => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// An integer of a value, and where it lies in the struct if it is known at run time only.
pub type Place = (Int, Option<Vec<i64>>);

/// Every integer of a value, in the order of its leaves.
pub fn places(val: &Val) -> Vec<Place> {
    let parts = parts(val);
    match val {
        Val::Layout(layout) => {
            let mut found: Vec<Vec<Place>> = parts.iter().enumerate().map(within).collect();
            // The text of a composed layout begins with what stands last in the struct.
            if matches!(layout, AnyLayout::Composed(_)) {
                found.reverse();
            }
            found.concat()
        }
        Val::Tile(_) if parts.len() == 1 => places(&parts[0]),
        Val::Tile(_) => parts.iter().enumerate().flat_map(within).collect(),
        _ => {
            let leaves = cutec_dialects::semantics::leaves_of(val);
            let count = leaves.iter().filter(|leaf| !leaf.is_static()).count();
            let mut next = 0;
            let place = |leaf: Int| {
                if leaf.is_static() {
                    return (leaf, None);
                }
                let path = if count == 1 { Vec::new() } else { vec![next] };
                next += 1;
                (leaf, Some(path))
            };
            leaves.into_iter().map(place).collect()
        }
    }
}

/// The integers of a part, by their places in the whole.
fn within((index, part): (usize, &Val)) -> Vec<Place> {
    let deeper = |path: Vec<i64>| [vec![index as i64], path].concat();
    places(part)
        .into_iter()
        .map(|(leaf, path)| (leaf, path.map(deeper)))
        .collect()
}
