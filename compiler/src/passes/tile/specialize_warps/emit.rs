//! Operations of the cute level that roles are made of.
use super::super::coordinate::{narrowed, number};
use super::super::emits::Emits;
use super::super::insert_barriers::TILES_OF_LAUNCH;
use super::super::types::view_of;
use crate::passes::cmpi::EQUAL;
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, argument_of, region_with_block,
};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{ArithOp, CuteOp, NvvmOp, ScfOp};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::target::{WARP, WARPGROUP};
use cutec_dialects::types::Vars;
use cutec_dialects::value::{TupleKind, Val, View};
use cutec_layout::{AnyLayout, Int, Layout, Tree, Width};
use melior::ir::Attribute;

/// See the module.
pub(super) struct Emit<'c> {
    pub ir: OpBuilder<'c>,
}

/// A number of 32 bits in a register.
#[derive(Clone, Copy)]
pub(super) struct Slot<'c>(IrValue<'c>);

impl<'c> Emits<'c> for Emit<'c> {
    fn ir(&self) -> &OpBuilder<'c> {
        &self.ir
    }

    fn ir_mut(&mut self) -> &mut OpBuilder<'c> {
        &mut self.ir
    }
}

impl<'c> Emit<'c> {
    /// A number that is known, as an integer of the algebra.
    pub fn number(&self, number: i64) -> Result<IrValue<'c>, SemError> {
        self.constant(Val::int_tuple([number]))
    }

    /// A stage of a buffer.
    pub fn stage(&self, buffer: IrValue<'c>, stage: IrValue<'c>) -> Result<IrValue<'c>, SemError> {
        let any = Vars::default().fresh(Width::I32, 1);
        let missing = || SemError::Illegal("the buffer has no stages".into());
        let axes = view_of(buffer).ok_or_else(missing)?.layout.rank() - 1;
        let coord = std::iter::repeat_n(None, axes).chain([Some(any)]);
        let coord = self.ir.val_type(&Val::coord(coord));
        let coord = self.ir.value(CuteOp::MakeCoord, &[stage], &[], coord);
        self.cute(CuteOp::Slice, &[buffer, coord], &Attrs::default())
    }

    /// A piece of the columns of a stage, which has several.
    pub fn piece(
        &self,
        buffer: IrValue<'c>,
        piece: i64,
        stage: IrValue<'c>,
    ) -> Result<IrValue<'c>, SemError> {
        let any = Vars::default().fresh(Width::I32, 1);
        let columns = [None, Some(Int::Static(piece))].map(Tree::Leaf);
        let place = vec![
            Tree::Leaf(None),
            Tree::Node(columns.into()),
            Tree::Leaf(Some(any)),
        ];
        let coord = Val::Tuple(TupleKind::Coord, Tree::Node(place));
        let coord = self.ir.val_type(&coord);
        let coord = self.ir.value(CuteOp::MakeCoord, &[stage], &[], coord);
        self.cute(CuteOp::Slice, &[buffer, coord], &Attrs::default())
    }

    /// One of so many parts of all stages of a buffer along an axis.
    pub fn part(
        &self,
        buffer: IrValue<'c>,
        axis: usize,
        parts: i64,
        part: IrValue<'c>,
    ) -> Result<IrValue<'c>, SemError> {
        let missing = || SemError::Illegal("the buffer has no parts".into());
        let view = view_of(buffer).ok_or_else(missing)?;
        let extents = view.layout.inner().modes();
        let extents: Option<Vec<i64>> = extents.map(|mode| mode.size().as_static()).collect();
        let mut extents = extents.ok_or_else(missing)?;
        extents[axis] /= parts;
        let any = Vars::default().fresh(Width::I32, 1);
        let leaves = (0..extents.len()).map(|mode| match mode == axis {
            true => Some(any.clone()),
            false => Some(Int::ZERO),
        });
        let coord = self.ir.val_type(&Val::coord(leaves));
        let coord = self.ir.value(CuteOp::MakeCoord, &[part], &[], coord);
        let tile = self.constant(Val::int_tuple(extents))?;
        self.cute(CuteOp::LocalTile, &[buffer, tile, coord], &Attrs::default())
    }

    /// The coordinate of a piece of so many, of the columns of a tile at another one: the last axis is theirs.
    pub fn place_of_piece(
        &self,
        mut at: Vec<IrValue<'c>>,
        (piece, pieces): (i64, i64),
    ) -> Result<Vec<IrValue<'c>>, SemError> {
        if let ([.., column], true) = (&mut at[..], pieces > 1) {
            let counted = narrowed(&self.ir, number(&self.ir, *column)?);
            let pieces = self.ir.constant(pieces, "i32");
            let first = self.binary(ArithOp::Muli, counted, pieces);
            *column = self.binary(ArithOp::Addi, first, self.ir.constant(piece, "i32"));
        }
        Ok(at)
    }

    /// Barriers in shared memory.
    pub fn barriers(&self, count: i64) -> IrValue<'c> {
        let layout = AnyLayout::Plain(Layout::contiguous(count));
        let view = View::new(Elem::U64, Space::Smem, 128, layout);
        let ty = self.ir.val_type(&Val::View(view));
        self.ir.value(CuteOp::MemrefAllocSmem, &[], &[], ty)
    }

    /// A variable.
    pub fn slot(&self) -> Slot<'c> {
        let layout = AnyLayout::Plain(Layout::scalar(1, 0));
        let view = View::new(Elem::I32, Space::Rmem, 16, layout);
        let ty = self.ir.val_type(&Val::View(view));
        Slot(self.ir.value(CuteOp::MemrefAlloca, &[], &[], ty))
    }

    pub fn get(&self, slot: Slot<'c>) -> Result<IrValue<'c>, SemError> {
        let first = self.number(0)?;
        let ty = self.ir.ty("i32");
        Ok(self.ir.value(CuteOp::MemrefLoad, &[slot.0, first], &[], ty))
    }

    pub fn set(&self, slot: Slot<'c>, value: IrValue<'c>) -> Result<(), SemError> {
        let first = self.number(0)?;
        self.ir
            .op(CuteOp::MemrefStore, &[value, slot.0, first], &[], &[]);
        Ok(())
    }

    pub fn binary(&self, op: ArithOp, one: IrValue<'c>, other: IrValue<'c>) -> IrValue<'c> {
        self.ir.value(op, &[one, other], &[], self.ir.ty("i32"))
    }

    pub fn equal(&self, value: IrValue<'c>, number: i64) -> IrValue<'c> {
        self.compare(EQUAL, value, self.ir.constant(number, "i32"))
    }

    /// The number of the warp of a thread, the same register in all its lanes.
    pub fn warp(&self, thread: IrValue<'c>) -> IrValue<'c> {
        let warp = self.binary(ArithOp::Divui, thread, self.ir.constant(WARP, "i32"));
        self.first_lane(warp)
    }

    /// The number of the warpgroup of a warp.
    pub fn warpgroup(&self, warp: IrValue<'c>) -> IrValue<'c> {
        let warps = self.ir.constant(WARPGROUP / WARP, "i32");
        self.binary(ArithOp::Divui, warp, warps)
    }

    /// What the first lane of a warp has, for all of them: the same register in all.
    pub fn first_lane(&self, value: IrValue<'c>) -> IrValue<'c> {
        let (members, first) = (self.ir.constant(-1, "i32"), self.ir.constant(0, "i32"));
        let segment = self.ir.constant(WARP - 1, "i32");
        let kind = [("kind", self.ir.attr("#nvvm<shfl_kind idx>"))];
        let operands = [members, value, first, segment];
        self.ir
            .value(NvvmOp::ShflSync, &operands, &kind, self.ir.ty("i32"))
    }

    /// Gives each thread of a warpgroup so many registers, more than it has or fewer (PTX ISA, "setmaxnreg").
    pub fn set_registers(&self, raises: bool, count: i64) {
        let action = match raises {
            true => "#nvvm<action increase>",
            false => "#nvvm<action decrease>",
        };
        let action = self.ir.attr(action);
        let attrs = [("action", action), ("regCount", self.ir.i32(count as i32))];
        self.ir.op(NvvmOp::Setmaxregister, &[], &attrs, &[]);
    }

    /// Whether a thread is the first of its warpgroup.
    pub fn leads(&self, thread: IrValue<'c>) -> IrValue<'c> {
        let place = self.binary(ArithOp::Remui, thread, self.ir.constant(WARPGROUP, "i32"));
        self.equal(place, 0)
    }

    /// Whether a thread is one that its warp chooses (PTX ISA, "elect.sync").
    pub fn elected(&self) -> IrValue<'c> {
        self.ir.value(NvvmOp::ElectSync, &[], &[], self.ir.ty("i1"))
    }

    /// Waits for all threads of a warp.
    pub fn meet_in_warp(&self) {
        let members = self.ir.constant(-1, "i32");
        self.ir.op(NvvmOp::BarWarpSync, &[members], &[], &[]);
    }

    /// Behind what all threads of a warp have done: whether a thread is its first.
    pub fn leads_of_warp(&self) -> IrValue<'c> {
        self.meet_in_warp();
        let lane = self.lane();
        self.equal(lane, 0)
    }

    /// The number of a thread in its warp.
    pub fn lane(&self) -> IrValue<'c> {
        let word = self.ir.ty("i32");
        let thread = self.ir.value(NvvmOp::ReadPtxSregTidX, &[], &[], word);
        self.binary(ArithOp::Remui, thread, self.ir.constant(WARP, "i32"))
    }

    /// A loop over the tiles of a block: from its number on, as many further as there are blocks. Of warpgroups that take turns, each with a
    /// number and so many of them, one has every so manyth of these. `act` ends the body.
    pub fn rounds(
        &mut self,
        count: IrValue<'c>,
        turn: Option<(IrValue<'c>, i64)>,
        act: impl FnOnce(&mut Self, IrValue<'c>) -> Result<(), SemError>,
    ) -> Result<(), SemError> {
        let word = self.ir.ty("i32");
        let first = self.ir.value(NvvmOp::ReadPtxSregCtaidX, &[], &[], word);
        let blocks = self.ir.value(NvvmOp::ReadPtxSregNctaidX, &[], &[], word);
        let (first, step) = match turn {
            None => (first, blocks),
            Some((number, groups)) => {
                let ahead = self.binary(ArithOp::Muli, number, blocks);
                let groups = self.ir.constant(groups, "i32");
                (
                    self.binary(ArithOp::Addi, first, ahead),
                    self.binary(ArithOp::Muli, blocks, groups),
                )
            }
        };
        let (region, block) = region_with_block(&[(word, self.ir.location)]);
        let outside = std::mem::replace(&mut self.ir.insertion, Insertion::End(block));
        let done = act(self, argument_of(block, 0));
        self.ir.insertion = outside;
        let bounds = [first, count, step];
        let attrs = [(TILES_OF_LAUNCH, self.ir.unit())];
        self.ir
            .op_with_regions(ScfOp::For, &bounds, &attrs, &[], vec![region]);
        done
    }

    /// The attribute of an access to a buffer by a tiled copy; by vectors without one.
    pub fn by_copy(&self, copy: Option<&Val>) -> Vec<(&'static str, Attribute<'c>)> {
        let copy = copy.map(|copy| self.ir.type_attr(self.ir.val_type(copy)));
        copy.map(|copy| ("copy", copy)).into_iter().collect()
    }

    /// Goes on before an operation.
    pub fn before(&mut self, op: IrOp<'c>) {
        self.ir.insertion = Insertion::Before(op);
    }
}
