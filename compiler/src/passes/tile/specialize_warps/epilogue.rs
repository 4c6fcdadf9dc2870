//! What an epilogue reads in pieces that come through a ring's stages.
//!
//! The role that loads fills the next stages of the ring behind the operands of the loop, as many pieces in each as its buffers
//! have room for. The role that multiplies reads them into registers where the load stood, and releases the stages.
use super::super::emits::Emits;
use super::super::epilogue_load::EpilogueLoad;
use super::super::result_store::InPieces;
use super::super::types::view_of;
use super::emit::Emit;
use super::ring::{Copy, Ring};
use crate::passes::ir_utils::{erase, replace_all_uses};
use cutec_abi::TensorMapAbi;
use cutec_dialects::atoms::TmaAtom;
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, CuteOp, NvvmOp, TileOp};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::value::Val;
use cutec_layout::Layout;
use melior::ir::{ValueLike, operation::OperationLike};
use std::sync::Arc;

/// A load, and where its pieces lie.
pub(super) struct PiecewiseLoad<'c> {
    of: EpilogueLoad<'c>,
    pub atom: Arc<TmaAtom>,
    /// How threads read a piece, where that is not by vectors.
    copy: Option<Val>,
    /// The number of its ring.
    ring: usize,
    /// For each stage that it takes, one after the other, the buffer of each piece and which one it is there.
    steps: Vec<Vec<(usize, i64)>>,
    /// The atom with its map, and the buffers of the ring as stages of pieces, with the modes of the tensor in their order as well.
    made: Option<IrValue<'c>>,
    views: Vec<Option<[IrValue<'c>; 2]>>,
}

impl<'c> PiecewiseLoad<'c> {
    /// Of the loads of a kernel those for which its rings have room. A warpgroup that gathers brings none: it is one thread that begins them.
    pub fn all(loads: Vec<EpilogueLoad<'c>>, rings: &[Ring<'c>]) -> Vec<Self> {
        if rings.iter().any(Ring::is_gathered) {
            return Vec::new();
        }
        let placed = loads.into_iter().filter_map(|of| {
            let atom = Arc::new(of.by.tensor_box.load(&of.by.sums.buffer).ok()?);
            let mut rings = rings.iter().enumerate();
            let (ring, steps) = rings.find_map(|(number, ring)| {
                let usable = ring.of_loop == Some(of.products) && ring.overlaps;
                let room = ring
                    .copies
                    .iter()
                    .map(|copy| room(copy, &of, &atom))
                    .collect::<Vec<i64>>();
                let steps = steps(&room, of.by.sums.pieces)?;
                (usable && steps.len() as i64 <= ring.stages()).then_some((number, steps))
            })?;
            Some(PiecewiseLoad {
                copy: of.by.sums.load_copy(),
                of,
                atom,
                ring,
                steps,
                made: None,
                views: Vec::new(),
            })
        });
        placed.collect()
    }

    pub fn load(&self) -> IrOp<'c> {
        self.of.load
    }

    /// The values that its coordinates are made of.
    pub fn begins(&self) -> Vec<IrValue<'c>> {
        self.of.by.tensor_box.begins().collect()
    }

    /// The map, of which `parameter` is to be the number.
    pub fn map(&self) -> TensorMapAbi {
        self.of.by.tensor_box.map(&self.atom)
    }

    /// Sees the buffers of the ring, once they have their stages, as stages of pieces.
    pub fn allocate(
        &mut self,
        emit: &Emit<'c>,
        rings: &[Ring<'c>],
        parameter: IrValue<'c>,
    ) -> Result<(), SemError> {
        let ty = emit.ir.val_type(&Val::TmaAtom(self.atom.clone()));
        self.made = Some(emit.ir.value(CuteOp::MakeTmaAtom, &[parameter], &[], ty));
        let ring = &rings[self.ring];
        let piece = &self.of.by.sums.buffer;
        for copy in &ring.copies {
            let pieces = room(copy, &self.of, &self.atom);
            if pieces == 0 {
                self.views.push(None);
                continue;
            }
            let plain = Attrs::default();
            let pointer = emit.cute(CuteOp::GetIter, &[copy.buffer], &plain)?;
            let pointer = match view_elem(copy) == Some(piece.ptr.elem) {
                true => pointer,
                false => emit.cute(
                    CuteOp::RecastIter,
                    &[pointer],
                    &Attrs::result(Val::Ptr(piece.ptr.clone())),
                )?,
            };
            // Those of a stage lie side by side; where a stage has room for one, behind it may be some more.
            let stride = copy.bytes() / pieces / piece.ptr.elem.bytes();
            let layout = piece.layout.map_inner(|inner| {
                let mut modes: Vec<Layout> = inner.modes().collect();
                modes.pop();
                modes.push(Layout::scalar(ring.stages() * pieces, stride));
                Ok::<_, cutec_layout::LayoutError>(Layout::concat(modes))
            });
            let layout = layout.map_err(|error| SemError::Illegal(error.to_string()))?;
            let layout = emit.constant(Val::Layout(layout))?;
            let view = emit.cute(CuteOp::MakeView, &[pointer, layout], &plain)?;
            let ordered = self.of.by.tensor_box.in_order(&emit.ir, view)?;
            self.views.push(Some([view, ordered]));
        }
        Ok(())
    }

    fn view(&self, copy: usize) -> Result<[IrValue<'c>; 2], SemError> {
        self.views
            .get(copy)
            .copied()
            .flatten()
            .ok_or_else(|| SemError::Illegal("has no pieces".into()))
    }

    /// Which of all pieces in a buffer one is, that is number `place` in a stage.
    fn index(
        &self,
        emit: &Emit<'c>,
        ring: &Ring<'c>,
        stage: IrValue<'c>,
        (copy, place): (usize, i64),
    ) -> IrValue<'c> {
        let pieces = room(&ring.copies[copy], &self.of, &self.atom);
        let first = emit.binary(ArithOp::Muli, stage, emit.ir.constant(pieces, "i32"));
        emit.binary(ArithOp::Addi, first, emit.ir.constant(place, "i32"))
    }

    /// Begins the copies, with what their coordinates begin at given by `value`.
    pub fn fill(
        &self,
        emit: &Emit<'c>,
        rings: &[Ring<'c>],
        value: impl Fn(IrValue<'c>) -> IrValue<'c>,
    ) -> Result<(), SemError> {
        let ring = &rings[self.ring];
        let made = self
            .made
            .ok_or_else(|| SemError::Illegal("has no tensor map".into()))?;
        let mut number = 0;
        for step in &self.steps {
            let bytes = self.atom.bytes() * step.len() as i64;
            let stage = ring.next_free(emit)?;
            let full = ring.expect(emit, stage, bytes)?;
            for place in step {
                let piece = (number, self.of.by.sums.pieces);
                let at = (self.of.by.tensor_box).coordinates_of_piece(&emit.ir, piece, &value)?;
                let index = self.index(emit, ring, stage, *place);
                let [_, ordered] = self.view(place.0)?;
                let to = emit.stage(ordered, index)?;
                emit.ir
                    .op(CuteOp::Copy, &[made, at, to, full, stage], &[], &[]);
                number += 1;
            }
        }
        Ok(())
    }

    /// The tile.
    pub fn value(&self) -> IrValue<'c> {
        self.of.value()
    }

    /// Whether no other of them comes through its ring.
    pub fn is_alone(&self, all: &[Self]) -> bool {
        all.iter().filter(|other| other.ring == self.ring).count() == 1
    }

    /// Whether it is so many pieces of a shape.
    pub fn has_pieces(&self, pieces: i64, shape: &[i64]) -> bool {
        self.of.by.sums.pieces == pieces && self.of.by.sums.piece.shape == shape
    }

    /// Reads the piece of a number, the pieces one after the other; `stage` is the one in which the last piece lay. And whether it is
    /// the last piece of its stage.
    pub fn read_piece(
        &self,
        emit: &Emit<'c>,
        rings: &[Ring<'c>],
        number: i64,
        stage: &mut Option<IrValue<'c>>,
    ) -> Result<(IrValue<'c>, bool), SemError> {
        let missing = || SemError::Illegal("has no such piece".into());
        let ring = &rings[self.ring];
        let whole = self.steps.first().map_or(1, Vec::len);
        let number = usize::try_from(number).map_err(|_| missing())?;
        let (step, at) = (
            self.steps.get(number / whole).ok_or_else(missing)?,
            number % whole,
        );
        let lies = match (at, *stage) {
            (1.., Some(stage)) => stage,
            _ => ring.wait(emit)?,
        };
        *stage = Some(lies);
        let place = step.get(at).ok_or_else(missing)?;
        let index = self.index(emit, ring, lies, *place);
        let [view, _] = self.view(place.0)?;
        let piece = read_piece(emit, &self.of.by.sums, self.copy.as_ref(), [view, index]);
        let is_last = at + 1 == step.len();
        if is_last {
            // A copy that takes the stage next would overtake what still reads it.
            emit.fence_for_async_proxy();
        }
        Ok((piece, is_last))
    }

    /// Releases the oldest stage, which all threads have read.
    pub fn release(
        &self,
        emit: &mut Emit<'c>,
        rings: &[Ring<'c>],
        leads: IrValue<'c>,
    ) -> Result<(), SemError> {
        rings[self.ring].release_oldest(emit, leads)
    }

    /// Reads all pieces where the load stands.
    pub fn read(
        &self,
        emit: &mut Emit<'c>,
        rings: &[Ring<'c>],
        leads: IrValue<'c>,
    ) -> Result<(), SemError> {
        let load = self.of.load;
        emit.before(load);
        emit.ir.location = load.location();
        let (mut parts, mut stage) = (Vec::new(), None);
        for number in 0..self.of.by.sums.pieces {
            parts.push(self.read_piece(emit, rings, number, &mut stage)?.0);
        }
        // All threads have read them.
        emit.ir.op(NvvmOp::Barrier0, &[], &[], &[]);
        for _ in &self.steps {
            self.release(emit, rings, leads)?;
        }
        let value = self.of.value();
        let whole = match parts[..] {
            [one] => one,
            _ => {
                let axis = [("axis", emit.ir.i32(1))];
                let ty = value.r#type();
                emit.ir.value(TileOp::Join, &parts, &axis, ty)
            }
        };
        replace_all_uses(value, whole);
        erase(load);
        Ok(())
    }
}

/// A piece in registers: that of a number in some buffers, by a tiled copy or by vectors.
pub(super) fn read_piece<'c>(
    emit: &Emit<'c>,
    sums: &InPieces,
    copy: Option<&Val>,
    from: [IrValue<'c>; 2],
) -> IrValue<'c> {
    let mut attrs = emit.by_copy(copy);
    attrs.push(("offsets", emit.ir.i64_array(&[0, 0])));
    let ty = sums.piece.ir(emit.ir.context());
    emit.ir.value(TileOp::Read, &from, &attrs, ty)
}

/// How many pieces a stage of an operand's buffer has room for.
fn room(copy: &Copy, of: &EpilogueLoad, atom: &TmaAtom) -> i64 {
    let Some(view) = view_of(copy.buffer) else {
        return 0;
    };
    let (stage, piece) = (copy.bytes(), atom.bytes());
    let aligned = view.ptr.alignment() >= of.by.sums.buffer.ptr.alignment()
        && stage % of.by.sums.buffer.ptr.alignment() == 0;
    match stage % piece {
        _ if !aligned => 0,
        0 => stage / piece,
        _ => i64::from(stage > piece),
    }
}

/// The elements of an operand's buffer.
fn view_elem(copy: &Copy) -> Option<Elem> {
    view_of(copy.buffer).map(|view| view.ptr.elem)
}

/// Where so many pieces lie, if each stage has so much room in its buffers.
fn steps(room: &[i64], pieces: i64) -> Option<Vec<Vec<(usize, i64)>>> {
    let places = room.iter().enumerate();
    let places: Vec<(usize, i64)> = places
        .flat_map(|(copy, room)| (0..*room).map(move |place| (copy, place)))
        .collect();
    let pieces = usize::try_from(pieces).ok()?;
    if places.is_empty() {
        return None;
    }
    let counts = (0..pieces)
        .step_by(places.len())
        .map(|first| places.len().min(pieces - first));
    Some(counts.map(|count| places[..count].to_vec()).collect())
}
