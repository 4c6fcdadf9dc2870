//! Loads, stores and conversions: between memory and the fragment of a thread.
use super::super::coordinate::Coordinate;
use super::super::emits::Emits;
use super::super::types::fast_axis;
use super::tail::{OF_PARTED, Tail};
use super::{Partition, Spread};
use crate::passes::cmpi::{EQUAL, cmpi};
use crate::passes::ir_utils::{hints_of, present};
use cutec_dialects::atoms::{CopyAtom, CpAsync, Red, Reduction, UniversalCopy};
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::hints::Hints;
use cutec_dialects::memo::type_value;
use cutec_dialects::ops::{ArithOp, CuteOp, tile};
use cutec_dialects::semantics::{AtomicKind, Attrs, SemError, check, evaluate};
use cutec_dialects::target::WIDEST_ACCESS;
use cutec_dialects::tile::{Mode, TileLayout};
use cutec_dialects::types::{TypeError, Vars, tiled_copy};
use cutec_dialects::value::{Val, View};
use cutec_layout::algebra::{composition, offset_at};
use cutec_layout::{AnyLayout, Int, Layout, Tiler, Tree};
use melior::ir::{Attribute, ValueLike};

/// What a thread has of a tile in memory.
pub(super) struct Part<'c> {
    /// Its values, neighbours in memory first.
    pub memory: IrValue<'c>,
    /// Their coordinates and the bounds of these, at the edges of a tensor.
    pub bounds: Option<(IrValue<'c>, IrValue<'c>)>,
    /// The register of each value, in the order of `memory`.
    pub registers: Layout,
    /// What is asked of the caches.
    pub hints: Hints,
    /// What is loaded outside of the bounds, if not zeros.
    pub fill: Option<Attribute<'c>>,
    /// Whether only threads access it of which the end of the tensor parts a vector.
    pub is_tail: bool,
}

impl<'c> Part<'c> {
    /// As far as there are whole vectors.
    fn whole(&self, tail: &Tail<'c>) -> Self {
        let bounds = self
            .bounds
            .map(|(coordinates, _)| (coordinates, tail.whole));
        Part {
            bounds,
            registers: self.registers.clone(),
            ..*self
        }
    }

    /// As threads access it of which a vector is parted.
    fn parted(&self) -> Self {
        Part {
            is_tail: true,
            registers: self.registers.clone(),
            ..*self
        }
    }
}

/// What a copy does.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// From memory to registers.
    Load,
    /// From global memory to a place in shared memory, in the place of registers, asynchronously.
    Begin,
    /// From registers to memory.
    Store,
    /// From registers, combined with what is in memory.
    Update(Reduction),
}

impl Way {
    /// Where it comes from and where it goes to, of memory and registers.
    fn sides<T>(self, memory: T, held: T) -> (T, T) {
        match self {
            Way::Load | Way::Begin => (memory, held),
            Way::Store | Way::Update(_) => (held, memory),
        }
    }

    /// The instruction that does it with so many elements.
    fn atom(self, elem: Elem, count: i64) -> CopyAtom {
        match self {
            Way::Load | Way::Store => UniversalCopy::of_elements(elem, count),
            Way::Begin => CpAsync::of_elements(elem, count),
            Way::Update(how) => Red::of_elements(how, elem, count),
        }
    }
}

/// The threads and values of a tile, its values as they lie in memory along an axis, and the register of each.
pub(super) fn in_memory_order(
    spread: &Spread,
    fast: usize,
) -> Result<(TileLayout, Layout), SemError> {
    let shape = &spread.tile.shape;
    let modes = |found: Result<Vec<Mode>, String>| found.map_err(SemError::Illegal);
    let threads = modes(spread.layout.thread_modes(shape))?;
    let values = modes(spread.layout.value_modes(shape))?;
    // Each mode with its stride in registers, those along memory first.
    let mut next = 1;
    let mut order: Vec<(Mode, i64)> = Vec::new();
    for mode in values {
        order.push((mode, next));
        next *= mode.extent;
    }
    order.sort_by_key(|(mode, _)| match mode.along {
        Some((axis, step)) if axis == fast => (0, step),
        _ => (1, 0),
    });
    let along: Vec<Mode> = order.iter().map(|(mode, _)| *mode).collect();
    let tv = TileLayout::of_modes(&threads, &along, shape);
    let registers = Layout::concat(
        order
            .iter()
            .map(|(mode, stride)| Layout::scalar(mode.extent, *stride)),
    );
    let registers = match order.is_empty() {
        true => Layout::scalar(1, 0),
        false => registers,
    };
    Ok((tv, registers))
}

impl<'c> Partition<'c> {
    pub(super) fn load(&mut self, op: IrOp<'c>, to: &Spread) -> Result<IrValue<'c>, SemError> {
        let access = present(tile::Load::of(op))?;
        let (view, at) = (access.view(), self.coordinate_of(op)?);
        if let Some(loaded) = self.overlapping(op, to)? {
            return Ok(loaded);
        }
        let part = Part {
            hints: hints_of(op),
            fill: access.fill(),
            ..self.global(view, &at, to)?
        };
        let load = |this: &mut Self, part: &Part<'c>, fragment| {
            this.copy(part, fragment, to, Way::Load)?;
            this.load_vec(fragment, to)
        };
        let fragment = self.fragment(to)?;
        let Some(tail) = self.tail(op, &at, to)? else {
            return load(self, &part, fragment);
        };
        let loaded = load(self, &part.whole(&tail), fragment)?;
        let one_by_one = self.fragment(to)?;
        self.instead_if(tail.parted, loaded, |this| {
            load(this, &part.parted(), one_by_one)
        })
    }

    pub(super) fn store(&mut self, op: IrOp<'c>) -> Result<(), SemError> {
        let (vector, from) = self.of(op, 0)?;
        let view = present(tile::Store::of(op))?.view();
        let at = self.coordinate_of(op)?;
        let fragment = self.fragment(&from)?;
        self.store_vec(vector, fragment);
        let part = Part {
            hints: hints_of(op),
            ..self.global(view, &at, &from)?
        };
        let tail = self.tail(op, &at, &from)?;
        self.once(&from, |this| {
            let Some(tail) = tail else {
                return this.copy(&part, fragment, &from, Way::Store);
            };
            this.copy(&part.whole(&tail), fragment, &from, Way::Store)?;
            this.only_if(tail.parted, |this| {
                this.copy(&part.parted(), fragment, &from, Way::Store)
            })
        })
    }

    /// A store that combines what is there with each value: by instructions, or where there is none by a loop for each.
    pub(super) fn update(&mut self, op: IrOp<'c>, kind: AtomicKind) -> Result<(), SemError> {
        let (vector, from) = self.of(op, 0)?;
        let view = present(tile::Store::of(op))?.view();
        let at = self.coordinate_of(op)?;
        let part = self.global(view, &at, &from)?;
        let there = |how| Red::widest(how, from.tile.elem, 1, &self.target).is_some();
        if let Some(how) = kind.reduction().filter(|how| there(*how)) {
            let fragment = self.fragment(&from)?;
            self.store_vec(vector, fragment);
            return self.once(&from, |this| {
                this.copy(&part, fragment, &from, Way::Update(how))
            });
        }
        let inside = self.inside(view, &at, &from, false)?;
        let insides = self.elements_of(inside, from.values(), Elem::I1);
        let values = self.elements(vector, &from);
        self.once(&from, |this| {
            for place in 0..from.values() {
                let register = offset_at(&Tree::Leaf(Int::Static(place)), &part.registers)?;
                let register = register.as_static().unwrap_or_default() as usize;
                let coord = this.constant(Val::coord([Some(Int::Static(place))]))?;
                let operands = [part.memory, coord, values[register], insides[register]];
                this.update_element(None, kind, operands)?;
            }
            Ok(())
        })
    }

    /// Shared memory or registers for a layout of elements.
    pub(super) fn alloc(&self, elem: Elem, space: Space, layout: AnyLayout) -> IrValue<'c> {
        let (name, align) = match space {
            Space::Rmem => (CuteOp::MemrefAlloca, 16),
            Space::Smem | Space::Dsmem | Space::Gmem => (CuteOp::MemrefAllocSmem, 128),
        };
        let view = View::new(elem, space, align, layout);
        let ty = self.ir.val_type(&Val::View(view));
        self.ir.value(name, &[], &[], ty)
    }

    /// Registers for what a thread holds, in the order of its values.
    pub(super) fn fragment(&self, spread: &Spread) -> Result<IrValue<'c>, SemError> {
        let layout = Layout::contiguous(spread.values());
        Ok(self.registers(spread, &layout))
    }

    /// Registers of a layout.
    pub(super) fn registers(&self, spread: &Spread, layout: &Layout) -> IrValue<'c> {
        let layout = AnyLayout::Plain(layout.clone());
        self.alloc(spread.tile.elem, Space::Rmem, layout)
    }

    pub(super) fn load_vec(
        &self,
        fragment: IrValue<'c>,
        spread: &Spread,
    ) -> Result<IrValue<'c>, SemError> {
        let ty = spread.vector(&self.ir);
        Ok(self.ir.value(CuteOp::MemrefLoadVec, &[fragment], &[], ty))
    }

    pub(super) fn store_vec(&self, vector: IrValue<'c>, fragment: IrValue<'c>) -> IrOp<'c> {
        self.ir
            .op(CuteOp::MemrefStoreVec, &[vector, fragment], &[], &[])
    }

    /// A thread's part of the tile of a view in global memory.
    pub(super) fn global(
        &mut self,
        view: IrValue<'c>,
        at: &Coordinate<'c>,
        spread: &Spread,
    ) -> Result<Part<'c>, SemError> {
        let fast = fast_axis(view).map_or(0, |(axis, _)| axis);
        let (memory, coordinates, shape) = self.at(view, at, &spread.tile.shape)?;
        self.partition(memory, Some((coordinates, shape)), fast, spread)
    }

    /// A thread's part of a tile in memory, whose neighbours lie along the axis `fast`.
    pub(super) fn partition(
        &mut self,
        tile: IrValue<'c>,
        bounds: Option<(IrValue<'c>, IrValue<'c>)>,
        fast: usize,
        spread: &Spread,
    ) -> Result<Part<'c>, SemError> {
        let shape = &spread.tile.shape;
        let (tv, registers) = in_memory_order(spread, fast)?;
        let elem = spread.tile.elem;
        let tiler = shape.iter().map(|extent| Layout::scalar(*extent, 1));
        let tiler = Tiler::Tile(tiler.map(Tiler::Layout).collect());
        let atom = UniversalCopy::of_elements(elem, 1);
        let tiled = tiled_copy(atom, tv.tv().clone(), tiler)?;
        let tiled = self.constant(tiled)?;
        let thread = self.thread();
        let first = Attrs::mode([0]);
        let plain = Attrs::default();
        let of_thread = |this: &Self, whole: IrValue<'c>| {
            let part = this.cute(CuteOp::TiledCopyPartitionS, &[tiled, whole, thread], &plain)?;
            this.cute(CuteOp::Get, &[part], &first)
        };
        let memory = of_thread(self, tile)?;
        let bounds = match bounds {
            Some((coordinates, shape)) => Some((of_thread(self, coordinates)?, shape)),
            None => None,
        };
        Ok(Part {
            memory,
            bounds,
            registers,
            hints: Hints::NONE,
            fill: None,
            is_tail: false,
        })
    }

    /// Copies between memory and registers, in the widest accesses that are legal.
    pub(super) fn copy(
        &mut self,
        part: &Part<'c>,
        fragment: IrValue<'c>,
        spread: &Spread,
        way: Way,
    ) -> Result<(), SemError> {
        self.copy_values(part, fragment, (spread.tile.elem, spread.values()), way)
    }

    /// The same of so many values.
    pub(super) fn copy_values(
        &mut self,
        part: &Part<'c>,
        fragment: IrValue<'c>,
        (elem, values): (Elem, i64),
        way: Way,
    ) -> Result<(), SemError> {
        let mut width = WIDEST_ACCESS / elem.bytes();
        let mut reason = None;
        while width >= 1 {
            match self.copy_by(part, fragment, (elem, values), way, width) {
                Ok(()) => return Ok(()),
                Err(error) => reason = Some(error),
            }
            width /= 2;
        }
        Err(reason.unwrap_or_else(|| SemError::Illegal("has nothing to copy".into())))
    }

    fn copy_by(
        &mut self,
        part: &Part<'c>,
        fragment: IrValue<'c>,
        (elem, values): (Elem, i64),
        way: Way,
        width: i64,
    ) -> Result<(), SemError> {
        if values % width != 0 {
            let message = format!("{values} values are no multiple of {width}");
            return Err(SemError::Illegal(message));
        }
        let vectors = Layout::concat([
            Layout::contiguous(width),
            Layout::scalar(values / width, width),
        ]);
        let registers = composition(&part.registers, &vectors)?;
        let atom = CopyAtom {
            hints: part.hints,
            ..way.atom(elem, width)
        };
        atom.verify().map_err(TypeError::from)?;
        atom.legal_on(&self.target).map_err(TypeError::from)?;
        let atom = Val::CopyAtom(atom);
        // Asked on the types first, so that nothing is built that is not used.
        let mut vars = Vars::default();
        let mut val = |value: IrValue<'c>| type_value(value.r#type(), &mut vars);
        let by = |val: Val, layout: &Layout| {
            let layout = Val::Layout(AnyLayout::Plain(layout.clone()));
            evaluate(CuteOp::Composition, &[val, layout], &Attrs::default())
        };
        let memory = by(val(part.memory)?, &vectors)?;
        let held = by(val(fragment)?, &registers)?;
        let (from, to) = way.sides(memory, held);
        let mut operands = vec![atom.clone(), from, to];
        if let Some((coordinates, shape)) = part.bounds {
            operands.push(by(val(coordinates)?, &vectors)?);
            operands.push(val(shape)?);
        }
        check(CuteOp::Copy, &operands, &Attrs::default())?;

        let plain = Attrs::default();
        let in_vectors = self.constant(Val::layout(&vectors))?;
        let in_registers = self.constant(Val::layout(&registers))?;
        let memory = self.cute(CuteOp::Composition, &[part.memory, in_vectors], &plain)?;
        let held = self.cute(CuteOp::Composition, &[fragment, in_registers], &plain)?;
        let atom = self.constant(atom)?;
        let (from, to) = way.sides(memory, held);
        let (mut operands, mut attrs) = (vec![atom, from, to], Vec::new());
        if let Some((coordinates, shape)) = part.bounds {
            operands.push(self.cute(CuteOp::Composition, &[coordinates, in_vectors], &plain)?);
            operands.push(shape);
            attrs.extend(part.fill.map(|fill| ("fill", fill)));
        }
        if part.is_tail {
            attrs.push((OF_PARTED, self.ir.unit()));
        }
        self.ir.op(CuteOp::Copy, &operands, &attrs, &[]);
        Ok(())
    }

    /// What only one of the threads that hold the same may do.
    pub(super) fn once(
        &mut self,
        spread: &Spread,
        act: impl FnOnce(&mut Self) -> Result<(), SemError>,
    ) -> Result<(), SemError> {
        self.once_of(&spread.layout, &spread.tile.shape, act)
    }

    /// The same for a layout of a tile of a shape.
    pub(super) fn once_of(
        &mut self,
        layout: &TileLayout,
        shape: &[i64],
        act: impl FnOnce(&mut Self) -> Result<(), SemError>,
    ) -> Result<(), SemError> {
        let modes = layout.thread_modes(shape);
        let mut before = 1;
        let mut alike = Vec::new();
        for mode in modes.map_err(SemError::Illegal)? {
            if mode.along.is_none() {
                alike.push((before, mode.extent));
            }
            before *= mode.extent;
        }
        self.once_by(&alike, act)
    }

    /// What only a thread does of whose number all these parts, divisor and extent, are zero.
    pub(super) fn once_by(
        &mut self,
        parts: &[(i64, i64)],
        act: impl FnOnce(&mut Self) -> Result<(), SemError>,
    ) -> Result<(), SemError> {
        if parts.is_empty() {
            return act(self);
        }
        let i32_type = self.ir.ty("i32");
        let mut first = Vec::new();
        for (before, extent) in parts {
            let thread = self.thread();
            let (before, extent) = (
                self.ir.constant(*before, "i32"),
                self.ir.constant(*extent, "i32"),
            );
            let place = self
                .ir
                .value(ArithOp::Divui, &[thread, before], &[], i32_type);
            let place = self
                .ir
                .value(ArithOp::Remui, &[place, extent], &[], i32_type);
            let zero = self.ir.constant(0, "i32");
            first.push(cmpi(&self.ir, EQUAL, place, zero));
        }
        let first = self.all(first);
        self.only_if(first, act)
    }
}
