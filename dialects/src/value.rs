//! [`Val`]: what an SSA value of the `cute` dialects is.
//!
//! One representation serves three readers. Type inference and verification
//! look at values whose dynamic leaves are anonymous variables: a type printed
//! and parsed again. The lowering looks at the same values with variables that
//! stand for SSA values of `arith`. Semantics are written once, over `Val`.
use crate::atoms::{BulkCopy, CopyAtom, MmaAtom, TmaAtom};
use crate::elem::{Elem, Space};
use cutec_layout::{
    AnyLayout, Coord, Int, IntTuple, Layout, Outer, Swizzle, SymInfo, Tiler, Tree, Width, tv,
};
use std::fmt;
use std::sync::Arc;

/// Which of the four tuple types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum TupleKind {
    IntTuple,
    Coord,
    Shape,
    Stride,
}

impl TupleKind {
    pub(crate) const ALL: [(TupleKind, &'static str); 4] = [
        (TupleKind::IntTuple, "int_tuple"),
        (TupleKind::Coord, "coord"),
        (TupleKind::Shape, "shape"),
        (TupleKind::Stride, "stride"),
    ];
    /// The mnemonic of the type.
    pub fn name(self) -> &'static str {
        TupleKind::ALL
            .iter()
            .find(|(kind, _)| *kind == self)
            .map_or("", |(_, name)| name)
    }
}

/// A typed pointer.
#[derive(Clone, Debug, PartialEq)]
pub struct Ptr {
    /// What it points to.
    pub elem: Elem,
    /// Where.
    pub space: Space,
    /// Alignment in bytes of `base`.
    pub align: i64,
    /// Which storage; the lowering's key, 0 in types.
    pub base: usize,
    /// Offset from the storage's start, in elements.
    pub offset: Int,
}

/// A pointer and a layout.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Where it starts.
    pub ptr: Ptr,
    /// Coordinates to element offsets. Under a swizzle the view's own offset stands inside of it.
    pub layout: AnyLayout,
}

/// A tensor whose elements are coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct CoordTensor {
    /// Coordinate of its first element.
    pub base: IntTuple,
    /// Layout whose strides are scaled bases.
    pub layout: Layout,
}

/// A tiled copy: the atom and the algebra of its partitions.
#[derive(Clone, Debug)]
pub struct TiledCopyVal {
    /// The instruction.
    pub atom: CopyAtom,
    /// Layouts.
    pub tiled: tv::TiledCopy,
}

/// A tiled MMA: the atom and the algebra of its partitions.
#[derive(Clone, Debug)]
pub struct TiledMmaVal {
    /// The instruction.
    pub atom: MmaAtom,
    /// Layouts.
    pub tiled: tv::TiledMma,
}

/// What an SSA value is.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Val {
    /// An `i1`, `i32`, `i64` or `index` of another dialect.
    Scalar(Int),
    /// A float, vector or anything else that only passes through, by its type.
    Opaque(String),
    Tuple(TupleKind, Coord),
    Layout(AnyLayout),
    Swizzle(Swizzle),
    Tile(Tiler),
    Ptr(Ptr),
    View(View),
    CoordTensor(CoordTensor),
    CopyAtom(CopyAtom),
    MmaAtom(MmaAtom),
    /// A copy by a tensor map, whose address is known at run time.
    TmaAtom(Arc<TmaAtom>),
    /// A bulk copy without a tensor map.
    BulkCopy(BulkCopy),
    TiledCopy(Arc<TiledCopyVal>),
    TiledMma(Arc<TiledMmaVal>),
}

impl Val {
    /// A coordinate of these modes, `None` for `_`; of one mode, that alone.
    pub fn coord(modes: impl IntoIterator<Item = Option<Int>>) -> Val {
        let mut modes: Vec<Coord> = modes.into_iter().map(Tree::Leaf).collect();
        let coord = match modes.len() {
            1 => modes.remove(0),
            _ => Tree::Node(modes),
        };
        Val::Tuple(TupleKind::Coord, coord)
    }

    /// A run-time integer that no other value of the operation is.
    pub fn integer(width: Width) -> Val {
        let info = SymInfo {
            width,
            div: 1,
            max: None,
        };
        Val::Scalar(Int::var(0, info))
    }

    /// A tuple of integers, of one number that alone.
    pub fn int_tuple(numbers: impl IntoIterator<Item = i64>) -> Val {
        let mut numbers: Vec<Coord> = numbers
            .into_iter()
            .map(|number| Tree::Leaf(Some(Int::Static(number))))
            .collect();
        let tuple = match numbers.len() {
            1 => numbers.remove(0),
            _ => Tree::Node(numbers),
        };
        Val::Tuple(TupleKind::IntTuple, tuple)
    }

    /// A layout without a swizzle.
    pub fn layout(layout: &Layout) -> Val {
        Val::Layout(AnyLayout::Plain(layout.clone()))
    }
}

impl Ptr {
    /// A pointer whose type says this much.
    pub fn new(elem: Elem, space: Space, align: i64) -> Ptr {
        Ptr {
            elem,
            space,
            align,
            base: 0,
            offset: Int::ZERO,
        }
    }

    /// Alignment in bytes of what it points to, from the base's and the offset's divisor.
    pub fn alignment(&self) -> i64 {
        aligned(self.align, &self.offset, self.elem)
    }
}

impl View {
    /// A view whose type says this much.
    pub fn new(elem: Elem, space: Space, align: i64, layout: AnyLayout) -> View {
        let ptr = Ptr::new(elem, space, align);
        View { ptr, layout }
    }

    /// Alignment in bytes of the view's first element.
    ///
    /// A swizzle permutes chunks of `2^base` elements: an offset keeps its
    /// alignment up to that chunk.
    pub fn alignment(&self) -> i64 {
        let outside = self.ptr.alignment();
        match (&self.layout, self.layout.swizzle()) {
            (AnyLayout::Composed(composed), Some(swizzle)) => {
                let chunk = self.ptr.elem.bytes_of(1 << swizzle.base());
                match &composed.offset {
                    Tree::Leaf(offset) => aligned(outside.min(chunk), offset, self.ptr.elem),
                    Tree::Node(_) => self.ptr.elem.bytes(),
                }
            }
            _ => outside,
        }
    }
}

/// Greatest power of two that divides the base's alignment and the offset in bytes.
fn aligned(align: i64, offset: &Int, elem: Elem) -> i64 {
    if offset.is(0) {
        return align;
    }
    let bits = offset.div().saturating_mul(elem.bits());
    let bytes = (bits & bits.wrapping_neg()) / 8;
    align.min(bytes).max(1)
}

/// Whether a leaf is known at compile time.
pub fn is_static_tuple(tuple: &IntTuple) -> bool {
    tuple.leaves().iter().all(|leaf| leaf.is_static())
}

/// A layout without what only the IR says of its run-time integers, their width and divisors: `?{i64 div=8}`.
pub fn without_widths(layout: &str) -> String {
    let mut text = String::with_capacity(layout.len());
    let mut rest = layout;
    while let Some((before, braced)) = rest.split_once("?{") {
        text += before;
        text.push('?');
        rest = braced.split_once('}').map_or("", |(_, behind)| behind);
    }
    text + rest
}

/// A coordinate without `_`, as integers.
pub fn without_underscore(coord: &Coord) -> Option<IntTuple> {
    match coord {
        Tree::Leaf(Some(leaf)) => Some(Tree::Leaf(leaf.clone())),
        Tree::Leaf(None) => None,
        Tree::Node(modes) => Some(Tree::Node(
            modes
                .iter()
                .map(without_underscore)
                .collect::<Option<_>>()?,
        )),
    }
}

/// Integers as a coordinate.
pub fn as_coord(tuple: &IntTuple) -> Coord {
    tuple.map(&mut |leaf| Some(leaf.clone()))
}

impl Val {
    /// The instruction of a copy atom or of a tiled copy.
    pub fn copy_atom(&self) -> Option<CopyAtom> {
        match self {
            Val::CopyAtom(atom) => Some(*atom),
            Val::TiledCopy(copy) => Some(copy.atom),
            _ => None,
        }
    }

    /// The instruction of an MMA atom or of a tiled MMA.
    pub fn mma_atom(&self) -> Option<MmaAtom> {
        match self {
            Val::MmaAtom(atom) => Some(*atom),
            Val::TiledMma(mma) => Some(mma.atom),
            _ => None,
        }
    }

    /// Whether nothing of it is left to run time.
    pub fn is_static(&self) -> bool {
        match self {
            Val::Scalar(int) => int.is_static(),
            Val::Tuple(_, tuple) => tuple
                .leaves()
                .iter()
                .all(|leaf| leaf.as_ref().is_none_or(|leaf| leaf.is_static())),
            Val::Layout(layout) => static_layout(layout),
            Val::Tile(tiler) => static_tiler(tiler),
            Val::Swizzle(_)
            | Val::CopyAtom(_)
            | Val::MmaAtom(_)
            | Val::BulkCopy(_)
            | Val::TiledCopy(_)
            | Val::TiledMma(_) => true,
            Val::CoordTensor(tensor) => is_static_tuple(&tensor.base) && tensor.layout.is_static(),
            Val::Opaque(_) | Val::Ptr(_) | Val::View(_) | Val::TmaAtom(_) => false,
        }
    }

    /// What a message calls it.
    pub fn describe(&self) -> String {
        match self {
            Val::Scalar(Int::Static(value)) => format!("the integer {value}"),
            Val::Scalar(_) => "a run-time integer".into(),
            other => format!("`{other}`"),
        }
    }
}

fn static_layout(layout: &AnyLayout) -> bool {
    match layout {
        AnyLayout::Plain(layout) => layout.is_static(),
        AnyLayout::Composed(composed) => {
            let outer = match &composed.outer {
                Outer::Swizzle(_) => true,
                Outer::Layout(layout) => layout.is_static(),
            };
            outer && composed.inner.is_static() && is_static_tuple(&composed.offset)
        }
    }
}

fn static_tiler(tiler: &Tiler) -> bool {
    match tiler {
        Tiler::Layout(layout) => layout.is_static(),
        Tiler::Int(int) => int.is_static(),
        Tiler::Tile(modes) => modes.iter().all(static_tiler),
        Tiler::All => true,
    }
}

/// Prints the MLIR type of a value.
impl fmt::Display for Val {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Val::Scalar(int) => f.write_str(if int.width() == Width::I64 {
                "i64"
            } else {
                "i32"
            }),
            Val::Opaque(ty) => f.write_str(ty),
            Val::Tuple(kind, tuple) => write!(f, "!cute.{}<\"{}\">", kind.name(), CoordText(tuple)),
            Val::Layout(AnyLayout::Plain(layout)) => write!(f, "!cute.layout<\"{layout}\">"),
            Val::Layout(layout) => write!(f, "!cute.composed_layout<\"{layout}\">"),
            Val::Swizzle(swizzle) => write!(f, "!cute.swizzle<\"{swizzle}\">"),
            Val::Tile(tiler) => write!(f, "!cute.tile<\"{tiler}\">"),
            Val::Ptr(ptr) => write!(
                f,
                "!cute.ptr<{}, {}, align<{}>>",
                ptr.elem,
                ptr.space,
                ptr.alignment()
            ),
            Val::View(view) => {
                let View { ptr, layout } = view;
                write!(
                    f,
                    "!cute.memref<{}, {}, align<{}>, \"{layout}\">",
                    ptr.elem,
                    ptr.space,
                    ptr.alignment()
                )
            }
            Val::CoordTensor(tensor) => {
                write!(
                    f,
                    "!cute.coord_tensor<\"{}\", \"{}\">",
                    CoordText(&as_coord(&tensor.base)),
                    tensor.layout
                )
            }
            Val::CopyAtom(atom) => write!(f, "{atom}"),
            Val::MmaAtom(atom) => write!(f, "{atom}"),
            Val::TmaAtom(atom) => write!(f, "{atom}"),
            Val::BulkCopy(atom) => write!(f, "{atom}"),
            Val::TiledCopy(copy) => {
                let (layout_tv, tiler_mn) = (copy.tiled.layout_tv(), copy.tiled.tiler_mn());
                write!(
                    f,
                    "!cute.tiled_copy<{}, layout_copy_tv = <\"{layout_tv}\">, tiler_mn = <\"{tiler_mn}\">>",
                    copy.atom
                )
            }
            Val::TiledMma(mma) => {
                let atom_layout_mnk = mma.tiled.atom_layout_mnk();
                let permutation_mnk = Tiler::Tile(mma.tiled.permutation_mnk().to_vec());
                let atom = mma.atom;
                write!(
                    f,
                    "!cute.tiled_mma<{atom}, atom_layout_MNK = <\"{atom_layout_mnk}\">, permutation_MNK = <\"{permutation_mnk}\">>"
                )
            }
        }
    }
}

/// Prints a coordinate, `_` included.
pub struct CoordText<'a>(pub &'a Coord);

impl fmt::Display for CoordText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.0 {
            Tree::Leaf(Some(leaf)) => write!(f, "{leaf}"),
            Tree::Leaf(None) => f.write_str("_"),
            Tree::Node(modes) => {
                f.write_str("(")?;
                for (i, mode) in modes.iter().enumerate() {
                    if i > 0 {
                        f.write_str(",")?;
                    }
                    write!(f, "{}", CoordText(mode))?;
                }
                f.write_str(")")
            }
        }
    }
}
