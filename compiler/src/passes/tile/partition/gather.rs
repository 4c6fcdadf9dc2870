//! `tile.gather` and `tile.scatter`: elements at places that are computed, of a tile through shared memory, of a tensor
//! one by one.
use super::super::coordinate::extent;
use super::super::emits::Emits;
use super::super::types::update_of;
use super::access::{Part, Way};
use super::{Partition, Spread};
use crate::passes::cmpi::{BELOW, cmpi};
use crate::passes::ir_utils::{present, string_attribute};
use crate::passes::said::say;
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::elem::Elem;
use cutec_dialects::hints::Hints;
use cutec_dialects::ops::{ArithOp, CuteOp, tile};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::tile::GATHERED_SINCE;
use cutec_dialects::types::Vars;
use cutec_dialects::value::{TupleKind, Val};
use cutec_layout::{Layout, Tree, Width};
use melior::ir::{Type, operation::OperationLike};

impl<'c> Partition<'c> {
    /// The elements of a tile at coordinates: the whole tile is written to shared memory, and each thread reads what it is
    /// to have, neighbours at once.
    pub(super) fn gathered(&mut self, op: IrOp<'c>, to: &Spread) -> Result<IrValue<'c>, SemError> {
        let read = match self.exchanged(op)? {
            Some(exchanged) => exchanged,
            None => self.read_from_buffer(op, to)?,
        };
        Ok(match to.tile.elem {
            Elem::I1 => {
                let ty = to.vector(&self.ir);
                self.ir.value(ArithOp::Trunci, &[read], &[], ty)
            }
            _ => read,
        })
    }

    fn read_from_buffer(&mut self, op: IrOp<'c>, to: &Spread) -> Result<IrValue<'c>, SemError> {
        self.within_a_block("`gather` of a tile")?;
        let (_, from) = self.of(op, 0)?;
        let mut at = Vec::new();
        for axis in 1..op.operand_count() {
            let (places, spread) = self.of(op, axis)?;
            at.push(self.elements(places, &spread));
        }
        let (buffer, fast) = self.gathered_from(op)?;
        let (carried, shape) = (to.as_carried(), &from.tile.shape);
        let vectors = self.vectors(op, &carried)?;
        Ok(
            match vectors.filter(|(of, _)| of.axis_within() == Some(fast)) {
                Some((of, lanes)) => {
                    let mut neighbours = vec![1; shape.len()];
                    neighbours[fast] = of.atom.src_values();
                    let from = (buffer, shape.as_slice());
                    self.read_in_vectors(from, (&at, &lanes), &neighbours, &carried)?
                }
                None => self.read_one_by_one((buffer, shape), &at, &carried),
            },
        )
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
