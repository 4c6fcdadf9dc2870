//! Gathers for products: tiles of elements at computed places, which a warpgroup copies to shared memory by `cp.async`.
//!
//! The front end makes of `x.gather((rows, columns))` a map whose function reads an element where a condition holds. Where
//! 16 bytes of the tile along an axis are neighbours in memory, and inside or outside together, a thread copies them at once
//! (`along.rs` proves that). Where the elements lie is computed for the first of each 16 bytes alone, by the threads that copy them
//! (`places.rs`): maps, coordinates and tiles that are loaded, element by element. `vector.rs` copies one.
//!
//! Where no warps are there for that alone, all threads of a block copy such vectors ([`Vectors`]), each those of its elements; what goes to no product
//! they read into registers. What is gathered from a tile they read as vectors from shared memory (`of_tile.rs`).
mod along;
mod known;
mod of_tile;
mod places;
mod vector;

use super::issuable::read_only;
use super::promises;
use super::types::{carried, tile_of, update_of, view_of};
use crate::passes::convert_cute_to_gpu::GUARD;
use crate::passes::ir_utils::{blocks, defining_op, hints_of, is_zero, operations, set_attribute};
use along::{Along, Neighbours};
use cutec_dialects::atoms::{CopyAtom, CopyOp, CpAsync, Red, UniversalCopy, Wgmma};
use cutec_dialects::builder::{IrOp, IrValue, OpBuilder, integer_array, operands_of, result_of};
use cutec_dialects::elem::Elem;
use cutec_dialects::hints::Hints;
use cutec_dialects::memo::type_value;
use cutec_dialects::ops::{ArithOp, CuteOp, ScfOp, TileOp, cute, tile};
use cutec_dialects::target::{Target, WARPGROUP, WIDEST_ACCESS};
use cutec_dialects::tile::TileType;
use cutec_dialects::types::Vars;
use cutec_dialects::value::Val;
use cutec_layout::{Int, Tree};
use melior::ir::{ValueLike, operation::OperationLike};

pub use known::KnownNumbers;
pub(super) use of_tile::axes_followed;
pub(super) use places::{Axis, Place, Places, before};
pub(super) use vector::Vector;

/// The attribute of a `tile.write` of a gathered tile that warps of their own are to copy.
pub(super) const GATHERED: &str = "tile.gathered";

/// The attribute of a map that threads read as vectors: along which axis of how many elements, and what divides the coordinate of the first along each mode
/// of the tensor. So of a `tile.scatter`, and of a `tile.gather`, whose modes are the axes of the tile that it takes elements from.
const IN_VECTORS: &str = "tile.vectors";

/// Bytes that are copied at once.
const VECTOR: i64 = 16;

/// A coordinate of the element that is read, in the function of the map.
#[derive(Clone, Copy)]
pub(super) enum Index<'c> {
    /// A number that is known.
    Known(i64),
    /// A number, and what divides that of the first element of a vector.
    Computed(IrValue<'c>, i64),
}

/// How the threads of a warpgroup share a tile: neighbouring threads copy neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Sharing {
    /// Elements that are copied at once.
    pub vector: i64,
    /// Threads beside each other along the fast axis.
    pub beside: i64,
    /// Times that a thread copies.
    pub passes: i64,
}

impl Sharing {
    /// Lines of the tile that the threads copy at once.
    pub fn lines(self) -> i64 {
        WARPGROUP / self.beside
    }
}

/// A gathered tile.
pub(super) struct GatheredTile<'c> {
    pub map: IrOp<'c>,
    /// The branch around the element, and what it is read from.
    pub branch: IrOp<'c>,
    pub view: IrValue<'c>,
    pub at: Vec<Index<'c>>,
    pub tile: TileType,
    /// The axis along which elements are neighbours.
    pub fast: usize,
    pub sharing: Sharing,
    /// What is computed for it.
    pub places: Places<'c>,
}

/// The element that a map reads.
pub(super) struct Element<'c> {
    /// The branch around it.
    pub branch: IrOp<'c>,
    pub view: IrValue<'c>,
    /// Its coordinates that are computed, and the others.
    pub at: Vec<Option<IrValue<'c>>>,
    pub known: Vec<i64>,
    /// What is asked of the caches.
    pub hints: Hints,
    /// What there is outside of the tensor, a constant.
    pub outside: IrValue<'c>,
}

impl Element<'_> {
    /// Whether there are zeros outside of the tensor, as an asynchronous copy has them.
    fn is_zero_outside(&self) -> bool {
        is_zero(self.outside)
    }

    /// The instruction that reads so many neighbours at once.
    fn read(&self, elem: Elem, count: i64) -> CopyAtom {
        CopyAtom {
            hints: self.hints,
            ..UniversalCopy::of_elements(elem, count)
        }
    }
}

/// The instruction that writes or updates so many neighbours at once.
fn write_of(scatter: &tile::Scatter, elem: Elem, count: i64) -> Option<CopyAtom> {
    Some(match update_of(scatter.op()) {
        Some(kind) => Red::of_elements(kind.reduction()?, elem, count),
        None => UniversalCopy::of_elements(elem, count),
    })
}

/// Those of several that a target has, the widest first.
fn writes_on<'a>(
    target: &'a Target,
    scatter: &'a tile::Scatter,
    elem: Elem,
) -> impl Iterator<Item = CopyAtom> + 'a {
    let counts = (1..=WIDEST_ACCESS.ilog2()).rev().map(|power| 1 << power);
    let atoms = counts.filter_map(move |count| write_of(scatter, elem, count));
    atoms.filter(|atom| atom.verify().is_ok() && atom.legal_on(target).is_ok())
}

/// Whether a map reads one element of a tensor where a condition holds, and has a known number elsewhere.
pub(super) fn element<'c>(map: IrOp<'c>) -> Option<Element<'c>> {
    let body = blocks(map, 0).into_iter().next()?;
    let end = tile::Yield::of(operations(body).pop()?)?;
    let branch = defining_op(end.value())?;
    if !ScfOp::If.is(branch) || branch.attribute(GUARD).is_err() {
        return None;
    }
    let of_branch = |index| -> Option<IrOp<'c>> {
        let block = blocks(branch, index).into_iter().next()?;
        let end = operations(block).pop()?;
        defining_op(operands_of(end).next()?)
    };
    let (load, otherwise) = (cute::MemrefLoad::of(of_branch(0)?)?, of_branch(1)?);
    if !ArithOp::Constant.is(otherwise) {
        return None;
    }
    let coordinate = operands_of(load.op()).nth(1)?;
    let leaves = match type_value(coordinate.r#type(), &mut Vars::default()) {
        Ok(Val::Tuple(_, Tree::Node(leaves))) => leaves,
        Ok(Val::Tuple(_, leaf)) => vec![leaf],
        _ => vec![Tree::Leaf(None)],
    };
    let made = defining_op(coordinate).filter(|op| CuteOp::MakeIntTuple.is(*op));
    let mut numbers: Vec<IrValue<'c>> = match made {
        Some(made) => operands_of(made).collect(),
        None => vec![coordinate],
    };
    numbers.reverse();
    let (mut at, mut known) = (Vec::new(), Vec::new());
    for leaf in leaves {
        match leaf {
            Tree::Leaf(Some(Int::Static(number))) => {
                at.push(None);
                known.push(number);
            }
            Tree::Leaf(_) => {
                at.push(Some(numbers.pop()?));
                known.push(0);
            }
            Tree::Node(_) => return None,
        }
    }
    Some(Element {
        branch,
        view: load.view(),
        at,
        known,
        hints: hints_of(load.op()),
        outside: result_of(otherwise, 0),
    })
}

impl<'c> GatheredTile<'c> {
    /// Of the tile that a value is; `None` where it is not gathered.
    ///
    /// # Errors
    /// Why a warpgroup cannot copy it, as a clause.
    pub fn of(value: IrValue<'c>, function: IrOp<'c>) -> Option<Result<Self, String>> {
        let value = match tile::ConvertLayout::defining(value) {
            Some(convert) => convert.input(),
            None => value,
        };
        let map = defining_op(value).filter(|op| TileOp::Map.is(*op))?;
        let element = element(map).filter(Element::is_zero_outside)?;
        Some(GatheredTile::copied(map, value, element, function))
    }

    /// That of a write which [`GATHERED`] marks.
    pub fn of_write(write: IrOp<'c>, function: IrOp<'c>) -> Option<Result<Self, String>> {
        write.attribute(GATHERED).ok()?;
        GatheredTile::of(tile::Write::of(write)?.value(), function)
    }

    fn copied(
        map: IrOp<'c>,
        value: IrValue<'c>,
        element: Element<'c>,
        function: IrOp<'c>,
    ) -> Result<Self, String> {
        let tile = tile_of(map, value).map_err(|(_, message)| message)?;
        if tile.shape.len() != 2 {
            return Err("it is gathered, and has not two axes".into());
        }
        let is_read_only = read_only(function);
        let vector = VECTOR / tile.elem.bytes();
        let axes: &[usize] = match Wgmma::transposes(tile.elem) {
            true => &[1, 0],
            false => &[1],
        };
        let mut why = String::new();
        for fast in axes.iter().copied() {
            let found = neighbours(map, &element, fast, vector).map_err(|why| {
                format!(
                    "it is gathered, and {vector} elements of a row of k cannot be copied at once: {why}"
                )
            });
            let (found, sharing) = match (found, sharing(&tile, fast, vector)) {
                (Ok(found), Ok(sharing)) => (found, sharing),
                (Err(message), _) | (_, Err(message)) => {
                    if why.is_empty() {
                        why = message;
                    }
                    continue;
                }
            };
            let places = Places::of(map, element.view, fast, sharing, function, &is_read_only)?;
            return Ok(GatheredTile {
                map,
                branch: element.branch,
                view: element.view,
                at: found,
                tile,
                fast,
                sharing,
                places,
            });
        }
        Err(why)
    }

    /// Bytes of the tile.
    pub fn bytes(&self) -> i64 {
        self.tile.elem.bytes_of(self.tile.size())
    }
}

/// How the elements of a map are copied as vectors.
pub(super) struct Vectors {
    /// The instruction.
    pub atom: CopyAtom,
    /// The axis along which they lie.
    pub fast: usize,
    /// What divides the coordinate of the first of each along each mode of the tensor.
    pub divisors: Vec<i64>,
}

impl Vectors {
    /// The widest that go to shared memory by `cp.async` along one of some axes; `None` where several elements are not neighbours, or the kernel
    /// writes the tensor.
    pub fn of<'c>(map: IrOp<'c>, axes: &[usize], function: IrOp<'c>) -> Option<Self> {
        let element = element(map).filter(Element::is_zero_outside)?;
        let tile = tile_of(map, result_of(map, 0)).ok()?;
        if tile.shape.len() != 2 || !read_only(function)(element.view) {
            return None;
        }
        let atoms = CpAsync::WIDTHS.map(|copy| CopyAtom::new(CopyOp::CpAsync(copy), tile.elem));
        Vectors::widest(map, &element, &atoms, axes)
    }

    /// The widest that are read into registers, where a thread has so many neighbours along an axis, and they are some in memory.
    pub fn in_registers(map: IrOp, neighbours: impl Fn(usize) -> i64) -> Option<Self> {
        let element = element(map)?;
        let tile = tile_of(map, result_of(map, 0)).ok()?;
        let widths = (1..=WIDEST_ACCESS.ilog2()).rev().map(|power| 1 << power);
        let counts = widths.map(|bytes: i64| 8 * bytes / tile.elem.bits());
        let atoms = counts.map(|count| element.read(tile.elem, count));
        atoms.into_iter().find_map(|atom| {
            let axes = (0..tile.shape.len()).rev();
            let axes = axes.filter(|axis| neighbours(*axis) % atom.src_values().max(1) == 0);
            Vectors::widest(map, &element, &[atom], &axes.collect::<Vec<_>>())
        })
    }

    /// The widest that are written or updated by a `tile.scatter`, where a thread has so many neighbours along an axis, and they are some in memory.
    pub fn scattered(op: IrOp, target: &Target, neighbours: impl Fn(usize) -> i64) -> Option<Self> {
        let scatter = tile::Scatter::of(op)?;
        let tile = tile_of(op, scatter.value()).ok()?;
        writes_on(target, &scatter, tile.elem).find_map(|atom| {
            let count = atom.src_values();
            let axes = (0..tile.shape.len()).rev();
            let axes = axes.filter(|axis| neighbours(*axis) % count == 0);
            axes.into_iter().find_map(|fast| {
                let divisors = written_beside(&scatter, fast, count).ok()?;
                Some(Vectors {
                    atom,
                    fast,
                    divisors,
                })
            })
        })
    }

    /// Why elements along the last axis of a tile are gathered or scattered one by one, as a clause; `None` where they are not, it has but a few, or
    /// those along another axis, as of a tile that is gathered transposed, are not.
    pub fn hindrance(op: IrOp, target: &Target) -> Option<String> {
        if let Some(gather) = tile::Gather::of(op) {
            return Vectors::hindrance_of_tile(&gather);
        }
        let scatter = tile::Scatter::of(op);
        let value = scatter.map_or_else(|| result_of(op, 0), |scatter| scatter.value());
        let tile = tile_of(op, value).ok()?;
        let last = tile.shape.len().checked_sub(1)?;
        let fits = |count: i64| tile.shape[last] % count == 0;
        match scatter {
            Some(scatter) => {
                let count = writes_on(target, &scatter, tile.elem).next()?.src_values();
                written_beside(&scatter, last, count)
                    .err()
                    .filter(|_| fits(count))
            }
            None => {
                let element = element(op)?;
                let count = 8 * WIDEST_ACCESS / tile.elem.bits();
                let along = |axis| neighbours(op, &element, axis, count);
                let others = (0..last).any(|axis| along(axis).is_ok());
                along(last).err().filter(|_| fits(count) && !others)
            }
        }
    }

    /// Says of a map, a scatter or a gather that it is done so: later its tiles are no tiles any more.
    pub fn say(&self, op: IrOp, ir: &OpBuilder) {
        let of = [self.fast as i64, self.atom.src_values()];
        let all: Vec<i64> = of
            .into_iter()
            .chain(self.divisors.iter().copied())
            .collect();
        set_attribute(op, IN_VECTORS, ir.i64_array(&all));
    }

    /// What was said, of an operation on tiles of elements of a type.
    pub fn said(op: IrOp, elem: Elem) -> Option<Self> {
        let said = op.attribute(IN_VECTORS).ok().and_then(integer_array)?;
        let [fast, count, divisors @ ..] = &said[..] else {
            return None;
        };
        let (modes, atom) = match tile::Scatter::of(op) {
            Some(scatter) => (scatter.at().len(), write_of(&scatter, elem, *count)?),
            None => match tile::Gather::of(op) {
                Some(gather) => (
                    gather.at().len(),
                    UniversalCopy::of_elements(carried(elem), *count),
                ),
                None => {
                    let element = element(op)?;
                    (element.at.len(), element.read(elem, *count))
                }
            },
        };
        let legal = modes == divisors.len() && atom.verify().is_ok() && atom.src_values() > 1;
        legal.then_some(Vectors {
            atom,
            fast: usize::try_from(*fast).ok()?,
            divisors: divisors.to_vec(),
        })
    }

    fn widest<'c>(
        map: IrOp<'c>,
        element: &Element<'c>,
        atoms: &[CopyAtom],
        axes: &[usize],
    ) -> Option<Self> {
        let tile = tile_of(map, result_of(map, 0)).ok()?;
        let several = |atom: &CopyAtom| atom.verify().is_ok() && atom.src_values() > 1;
        atoms.iter().copied().filter(several).find_map(|atom| {
            let vector = atom.src_values();
            axes.iter().copied().find_map(|fast| {
                let at = neighbours(map, element, fast, vector).ok()?;
                let divisors = at.into_iter().map(|index| match index {
                    Index::Known(_) => 1,
                    Index::Computed(_, divisor) => divisor,
                });
                (tile.shape[fast] % vector == 0).then(|| Vectors {
                    atom,
                    fast,
                    divisors: divisors.collect(),
                })
            })
        })
    }
}

/// The coordinates of an element, if that of the first of each vector along an axis tells those of the others.
fn neighbours<'c>(
    map: IrOp<'c>,
    element: &Element<'c>,
    fast: usize,
    vector: i64,
) -> Result<Vec<Index<'c>>, String> {
    let mut known = Neighbours::of_map(map, fast, vector);
    let along = |at: &Option<IrValue<'c>>| at.map_or(Mode::Known, |at| known.of(at).into());
    let modes: Vec<Mode> = element.at.iter().map(along).collect();
    let divisors = beside(element.view, &modes, vector)?;
    let found = element.at.iter().zip(&element.known).zip(divisors);
    let found = found.map(|((at, known), divisor)| match at {
        None => Index::Known(*known),
        Some(at) => Index::Computed(*at, divisor),
    });
    let condition = operands_of(element.branch).next();
    match condition.and_then(|condition| known.of(condition)) {
        Some(Along { steps: false, .. }) => Ok(found.collect()),
        _ => Err(inside_in_part(element.view, &modes, vector)),
    }
}

/// What divides the coordinates of the first of so many elements along an axis of a tile that is scattered, if they are neighbours in memory and inside of
/// the tensor together.
fn written_beside(scatter: &tile::Scatter, fast: usize, count: i64) -> Result<Vec<i64>, String> {
    let mut known = Neighbours::along(count);
    let modes = scatter.at().into_iter();
    let modes: Vec<Mode> = modes.map(|at| known.of_tile(at, fast).into()).collect();
    let divisors = beside(scatter.view(), &modes, count)?;
    let view = view_of(scatter.view()).ok_or("the tensor is no view")?;
    // So a vector ends where the tensor does.
    let extents = view.layout.inner().shape().leaves();
    let steps = |mode: &Mode| matches!(mode, Mode::Along(along) if along.steps);
    let of_modes = modes;
    let mut modes = extents.iter().zip(&of_modes);
    match modes.all(|(extent, mode)| !steps(mode) || extent.divisible_by(count)) {
        true => Ok(divisors),
        false => Err(inside_in_part(scatter.view(), &of_modes, count)),
    }
}

/// That a vector of elements may end outside of the tensor, and what promises that it does not.
fn inside_in_part(view: IrValue, modes: &[Mode], vector: i64) -> String {
    let stepping = |mode: &Mode| matches!(mode, Mode::Along(along) if along.steps);
    let mode = modes.iter().position(stepping);
    let promise = mode.map_or(String::new(), |mode| {
        promises::of_extent(view, mode, vector)
    });
    format!("they may lie inside of the tensor in part{promise}")
}

/// A coordinate of a vector's elements along a mode of a tensor.
enum Mode {
    /// A number that is known.
    Known,
    Along(Along),
    Unknown,
}

impl From<Option<Along>> for Mode {
    fn from(along: Option<Along>) -> Self {
        along.map_or(Mode::Unknown, Mode::Along)
    }
}

/// What divides the coordinates of a vector's first element along each mode of a view, if its elements are neighbours in memory.
fn beside(tensor: IrValue, modes: &[Mode], vector: i64) -> Result<Vec<i64>, String> {
    let view = view_of(tensor).ok_or("the tensor is no view")?;
    let layout = view.layout.inner();
    let (extents, strides) = (layout.shape().leaves(), layout.stride().leaves());
    if strides.len() != modes.len() || extents.len() != strides.len() {
        return Err("a mode of the tensor has several extents".into());
    }
    let bytes = view.ptr.elem.bytes_of(vector);
    if view.ptr.alignment() < bytes {
        return Err(format!(
            "the tensor may begin anywhere{}",
            promises::of_base(tensor, bytes)
        ));
    }
    let (mut found, mut stepping) = (Vec::new(), 0);
    for (mode, at) in modes.iter().enumerate() {
        match at {
            Mode::Known => found.push(1),
            Mode::Along(Along {
                steps: true,
                divisor,
                ..
            }) if strides[mode].is(1) && divisor % vector == 0 => {
                stepping += 1;
                found.push(vector);
            }
            Mode::Along(Along {
                steps: false,
                divisor,
                ..
            }) if strides[mode]
                .mul(&Int::Static(*divisor))
                .divisible_by(vector) =>
            {
                found.push(if divisor % vector == 0 { vector } else { 1 });
            }
            Mode::Along(Along { steps: false, .. }) => {
                return Err(format!(
                    "the stride of mode {mode} may be no multiple of {bytes} bytes{}",
                    promises::of_stride(tensor, mode, vector)
                ));
            }
            Mode::Along(_) | Mode::Unknown => {
                return Err(format!(
                    "nothing says that their coordinates along mode {mode} follow each other from a multiple of {vector} on, or are one"
                ));
            }
        }
    }
    match stepping {
        1 => Ok(found),
        _ => Err("they are no neighbours in memory".into()),
    }
}

/// How a warpgroup shares a tile.
fn sharing(tile: &TileType, fast: usize, vector: i64) -> Result<Sharing, String> {
    let (along, lines) = (tile.shape[fast], tile.shape[1 - fast]);
    let beside = along / vector;
    let divides = along % vector == 0 && beside > 0 && WARPGROUP % beside == 0;
    if !divides || lines % (WARPGROUP / beside) != 0 {
        return Err(format!(
            "it is gathered, and {WARPGROUP} threads do not share a tile of {} × {} in pieces of {vector}",
            tile.shape[0], tile.shape[1]
        ));
    }
    Ok(Sharing {
        vector,
        beside,
        passes: lines * beside / WARPGROUP,
    })
}
