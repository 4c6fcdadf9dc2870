//! `tile.gather` and `tile.scatter`: elements at places that are computed, of a tile through shared memory, of a tensor
//! one by one.
use super::super::coordinate::extent;
use super::super::emits::Emits;
use super::super::gathers::axes_followed;
use super::super::types::update_of;
use super::access::{Part, Way};
use super::layout_conversion::{Reader, buffer_of_elements};
use super::scratch::{Scratch, Through, spread_of};
use super::vectors::said;
use super::{Partition, Spread};
use crate::passes::cmpi::{BELOW, cmpi};
use crate::passes::ir_utils::{block_of, present, string_attribute, uses};
use crate::passes::said::say;
use cutec_dialects::builder::{IrBlock, IrOp, IrValue, operation_key, result_of};
use cutec_dialects::elem::Elem;
use cutec_dialects::hints::Hints;
use cutec_dialects::ops::{ArithOp, CuteOp, TileOp, tile};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::tile::{GATHERED_SINCE, Mode, TileLayout};
use cutec_dialects::types::Vars;
use cutec_dialects::value::{TupleKind, Val};
use cutec_layout::{Layout, Tree, Width};
use melior::ir::{Type, operation::OperationLike};

/// A tile that was written to a buffer, to be gathered from by operations of its block.
pub(super) struct Gathered<'c> {
    block: IrBlock<'c>,
    vector: IrValue<'c>,
    scratch: Scratch,
    buffer: IrValue<'c>,
}

impl<'c> Partition<'c> {
    /// The elements of a tile at coordinates: the whole tile is written to shared memory, and each thread reads what it is
    /// to have, neighbours at once.
    pub(super) fn gathered(&mut self, op: IrOp<'c>, to: &Spread) -> Result<IrValue<'c>, SemError> {
        let (vector, from) = self.of(op, 0)?;
        let elem = from.tile.elem;
        let (vector, from) = match elem {
            Elem::I1 => {
                let bytes = from.as_carried();
                let ty = bytes.vector(&self.ir);
                (self.ir.value(ArithOp::Extui, &[vector], &[], ty), bytes)
            }
            _ => (vector, from),
        };
        self.within_a_block("`gather` of a tile")?;
        let missing = || SemError::Illegal("expects a tile that is gathered from".into());
        let source = self.sources.get(&operation_key(op)).cloned();
        let source = source.ok_or_else(missing)?;
        let mut at = Vec::new();
        for axis in 1..op.operand_count() {
            let (places, spread) = self.of(op, axis)?;
            at.push(self.elements(places, &spread));
        }
        let buffer = self.buffer_with(op, (vector, &from), &source)?;
        let (carried, shape) = (to.as_carried(), &from.tile.shape);
        let vectors = self.vectors(op, &carried)?;
        let read = match vectors.filter(|(of, _)| of.axis_within() == Some(source.fast)) {
            Some((of, lanes)) => {
                let mut neighbours = vec![1; shape.len()];
                neighbours[source.fast] = of.atom.src_values();
                let from = (buffer, shape.as_slice());
                self.read_in_vectors(from, (&at, &lanes), &neighbours, &carried)?
            }
            None => self.read_one_by_one((buffer, shape), &at, &carried),
        };
        Ok(match elem {
            Elem::I1 => {
                let ty = to.vector(&self.ir);
                self.ir.value(ArithOp::Trunci, &[read], &[], ty)
            }
            _ => read,
        })
    }

    /// The elements of a tile in a buffer at coordinates, for each axis those of all values.
    fn read_one_by_one(
        &self,
        (buffer, shape): (IrValue<'c>, &[i64]),
        at: &[Vec<IrValue<'c>>],
        to: &Spread,
    ) -> IrValue<'c> {
        let ty = self.ir.ty(to.tile.elem.value_type());
        let coord = self.coordinate_type(shape.len());
        let element = |value: usize| {
            let axes = at.iter().zip(shape);
            let axes = axes.map(|(at, extent)| self.at_most(at[value], extent - 1));
            let at = axes.collect::<Vec<_>>();
            let at = self.ir.value(CuteOp::MakeCoord, &at, &[], coord);
            self.ir.value(CuteOp::MemrefLoad, &[buffer, at], &[], ty)
        };
        let numbers: Vec<_> = (0..to.values() as usize).map(element).collect();
        self.gather(&numbers, self.ir.number_type(to.tile.elem))
    }

    /// The same, neighbours at once, which have the extents of a part of the tile; vector by vector of the thread's values in this order.
    fn read_in_vectors(
        &mut self,
        from: (IrValue<'c>, &[i64]),
        (at, lanes): (&[Vec<IrValue<'c>>], &[usize]),
        neighbours: &[i64],
        to: &Spread,
    ) -> Result<IrValue<'c>, SemError> {
        let count = neighbours.iter().product();
        let fragment = self.fragment(to)?;
        let pieces = self.pieces(fragment, to.values(), count)?;
        for (number, lanes) in (0i64..).zip(lanes.chunks(count as usize)) {
            let first: Vec<_> = at.iter().map(|at| at[lanes[0]]).collect();
            let part = Part {
                memory: self.neighbours_at(from, &first, neighbours)?,
                bounds: None,
                registers: Layout::contiguous(count),
                hints: Hints::NONE,
                fill: None,
                is_tail: false,
            };
            let piece = self.piece(pieces, number)?;
            self.copy_values(&part, piece, (to.tile.elem, count), Way::Load)?;
        }
        self.as_held(fragment, to, lanes)
    }

    /// Neighbours of a tile in a buffer from a place on, whose coordinates are multiples of their extents.
    fn neighbours_at(
        &mut self,
        (buffer, shape): (IrValue<'c>, &[i64]),
        first: &[IrValue<'c>],
        neighbours: &[i64],
    ) -> Result<IrValue<'c>, SemError> {
        let number = |((at, extent), count): ((&IrValue<'c>, &i64), &i64)| {
            let by = self.ir.constant(*count, "i32");
            let at = match count {
                1 => *at,
                _ => (self.ir).value(ArithOp::Divui, &[*at, by], &[], self.ir.ty("i32")),
            };
            self.at_most(at, extent / count - 1)
        };
        let numbers = first.iter().zip(shape).zip(neighbours).map(number);
        let numbers = numbers.collect::<Vec<_>>();
        let coord = self.coordinate_type(shape.len());
        let coord = self.ir.value(CuteOp::MakeCoord, &numbers, &[], coord);
        let part = self.constant(Val::int_tuple(neighbours.iter().copied()))?;
        let operands = [buffer, part, coord];
        self.cute(CuteOp::LocalTile, &operands, &Attrs::default())
    }

    /// A coordinate that lies inside: what lies outside is any element.
    fn at_most(&self, at: IrValue<'c>, last: i64) -> IrValue<'c> {
        let last = self.ir.constant(last, "i32");
        (self.ir).value(ArithOp::Minui, &[at, last], &[], self.ir.ty("i32"))
    }

    /// A buffer with a tile that others of its threads gather from.
    fn buffer_with(
        &mut self,
        op: IrOp<'c>,
        (vector, from): (IrValue<'c>, &Spread),
        Source { scratch, fast }: &Source,
    ) -> Result<IrValue<'c>, SemError> {
        // The tile that was written last, in this block, is still there.
        let block = block_of(op);
        if let Some(known) = &self.gathered
            && (known.block, known.vector, &known.scratch) == (block, vector, scratch)
        {
            return Ok(known.buffer);
        }
        let buffer = self.scratch(op, scratch.clone())?;
        self.meet_before_writing(op);
        let fragment = self.fragment(from)?;
        self.store_vec(vector, fragment);
        let part = self.partition(buffer, None, *fast, from)?;
        self.once(from, |this| this.copy(&part, fragment, from, Way::Store))?;
        self.barrier();
        self.gathered = Some(Gathered {
            block,
            vector,
            scratch: scratch.clone(),
            buffer,
        });
        Ok(buffer)
    }

    /// The type of a coordinate of run-time integers along so many axes.
    pub(super) fn coordinate_type(&self, rank: usize) -> Type<'c> {
        let mut vars = Vars::default();
        let mut leaf = || Tree::Leaf(Some(vars.fresh(Width::I32, 1)));
        let tree = match rank {
            1 => leaf(),
            _ => Tree::Node((0..rank).map(|_| leaf()).collect()),
        };
        self.ir.val_type(&Val::Tuple(TupleKind::Coord, tree))
    }

    /// The places in a view that tiles of coordinates say, which are these operands of an operation.
    pub(super) fn places(
        &self,
        op: IrOp<'c>,
        view: IrValue<'c>,
        operands: std::ops::Range<usize>,
    ) -> Result<Places<'c>, SemError> {
        let axes = operands.enumerate().map(|(axis, operand)| {
            let (at, spread) = self.of(op, operand)?;
            let extent = extent(&self.ir, view, axis, Width::I32)?;
            Ok((self.elements(at, &spread), extent))
        });
        let axes = axes.collect::<Result<_, SemError>>()?;
        Ok(Places { axes })
    }

    /// Writes each element of a tile to its place, or updates what is there; nothing outside of the view.
    pub(super) fn scatter(&mut self, op: IrOp<'c>) -> Result<(), SemError> {
        let (vector, from) = self.of(op, 0)?;
        let scatter = present(tile::Scatter::of(op))?;
        if let Some(why) = string_attribute(op, GATHERED_SINCE) {
            say(
                op.location(),
                format!("scattered element by element: {why}"),
            );
        }
        let view = scatter.view();
        let kind = update_of(op);
        let places = self.places(op, view, 2..op.operand_count())?;
        let values = self.elements(vector, &from);
        if self.scatter_vectors(op, &from, &values, &places)? {
            return Ok(());
        }
        let coord = self.coordinate_type(places.rank());
        let copy = match kind {
            Some(kind) => self.copy_of_updated(op, kind, &from)?,
            None => None,
        };
        self.once(&from, |this| {
            for (value, number) in values.iter().enumerate() {
                let (at, inside) = places.of(this, value);
                let at = this.ir.value(CuteOp::MakeCoord, &at, &[], coord);
                match kind {
                    Some(kind) => this.update_element(copy, kind, [view, at, *number, inside])?,
                    None => this.only_if(inside, |this| {
                        let operands = [*number, view, at];
                        this.ir.op(CuteOp::MemrefStore, &operands, &[], &[]);
                        Ok(())
                    })?,
                }
            }
            Ok(())
        })
    }
}

/// Where the elements that a thread has of a tile lie in a view.
pub(super) struct Places<'c> {
    /// Of each axis the coordinates of the elements, and the view's extent.
    axes: Vec<(Vec<IrValue<'c>>, IrValue<'c>)>,
}

impl<'c> Places<'c> {
    pub fn rank(&self) -> usize {
        self.axes.len()
    }

    /// Where an element lies, and whether that is inside: as numbers without sign, so that both sides are asked for at once.
    pub fn of(&self, this: &Partition<'c>, number: usize) -> (Vec<IrValue<'c>>, IrValue<'c>) {
        let at: Vec<IrValue<'c>> = self.axes.iter().map(|(at, _)| at[number]).collect();
        let sides = at.iter().zip(&self.axes);
        let inside = this.all(sides.map(|(at, (_, end))| cmpi(&this.ir, BELOW, *at, *end)));
        (at, inside)
    }
}

/// The buffer that a tile is gathered from, and the axis along which its elements are neighbours.
#[derive(Clone)]
pub(super) struct Source {
    pub scratch: Scratch,
    pub fast: usize,
}

impl Source {
    /// That of an operation, and of all others of its block that take elements from the same tile.
    pub fn of(op: IrOp) -> Result<Self, SemError> {
        let input = present(tile::Gather::of(op))?.input();
        let from = spread_of(input).ok_or_else(|| SemError::Illegal("expects a tile".into()))?;
        let from = from.as_carried();
        let block = block_of(op);
        let mut readers = Vec::new();
        for (user, operand) in uses(input) {
            if operand == 0 && TileOp::Gather.is(user) && block_of(user) == block {
                let reader = reader(user, &from)?;
                if !readers.contains(&reader) {
                    readers.push(reader);
                }
            }
        }
        let (layout, fast) = buffer_of_elements(&from, &readers)?;
        let scratch = Scratch::of(Through::Gather, from.tile.elem, layout);
        Ok(Source { scratch, fast })
    }
}

/// How threads read what an operation gathers from a tile. Of places that follow from no others nothing is known: as the result is spread, or the tile.
fn reader(op: IrOp, from: &Spread) -> Result<Reader, SemError> {
    let to = spread_of(result_of(op, 0));
    let to = to.ok_or_else(|| SemError::Illegal("expects a tile".into()))?;
    let to = to.as_carried();
    let vectors = said(op, &to);
    let vector =
        vectors.and_then(|vectors| Some((vectors.axis_within()?, vectors.atom.src_values())));
    let spread = match axes_followed(op) {
        Some(axes) => followed(&to, &axes, from)?,
        None if to.tile.shape == from.tile.shape => Some(to),
        None => None,
    };
    let spread = spread.unwrap_or_else(|| from.clone());
    Ok(Reader { spread, vector })
}

/// Which elements of a tile threads have of what is gathered from it, where each axis of that follows one of the tile, or none: from the first element on,
/// and again where the tile ends; `None` where that is no layout of it.
fn followed(
    to: &Spread,
    axes: &[Option<usize>],
    from: &Spread,
) -> Result<Option<Spread>, SemError> {
    let shape = &from.tile.shape;
    let mut last = vec![0; shape.len()];
    let mut moved = |modes: Result<Vec<Mode>, String>| {
        let mut found = Vec::new();
        for Mode { extent, along } in modes.map_err(SemError::Illegal)? {
            let along = along.and_then(|(axis, step)| Some((axes[axis]?, step)));
            let fits = along.map_or(extent, |(axis, step)| {
                let most = (shape[axis] - 1 - last[axis]) / step + 1;
                let fits = (1..=extent.min(most))
                    .rev()
                    .find(|count| extent % count == 0);
                let fits = fits.unwrap_or(1);
                last[axis] += (fits - 1) * step;
                fits
            });
            found.push(Mode {
                extent: fits,
                along,
            });
            if fits < extent {
                found.push(Mode {
                    extent: extent / fits,
                    along: None,
                });
            }
        }
        Ok::<_, SemError>(found)
    };
    // A thread's neighbours stay together.
    let values = moved(to.layout.value_modes(&to.tile.shape))?;
    let threads = moved(to.layout.thread_modes(&to.tile.shape))?;
    let layout = TileLayout::of_modes(&threads, &values, shape);
    let goes_along = layout.thread_modes(shape).is_ok() && layout.value_modes(shape).is_ok();
    Ok(goes_along.then(|| Spread {
        tile: from.tile.clone(),
        layout,
    }))
}
