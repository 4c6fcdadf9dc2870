//! The part of a tensor that a tile is, as a tensor map brings it: a box at a coordinate.
//!
//! A load reads a view. A tensor map describes a tensor that the kernel is passed, or a view of one whose place and layout the host computes
//! (`mapped_view.rs`), so the view is followed back to these: through slices, whose coordinates become coordinates of the box, and through
//! modes that change places.
use super::coordinate::{Coordinate, in_word, multiple, narrowed, number};
use super::emits::cute;
use super::mapped_view::{MappedView, UNIT, makes};
use super::promises::{argument, behind, number_of, of_extent, stride_promise};
use super::smem_tile;
use super::twins;
use super::types::view_of;
use super::windows::WindowsBox;
use crate::passes::ir_utils::{blocks, defining_op, hints_of, is_zero};
use crate::passes::say_left_out;
use cutec_abi::tensor_map::{L2Promotion, MapSwizzle, OobFill};
use cutec_abi::{KernelAbi, TensorAbi, TensorMapAbi};
use cutec_dialects::abi::abi_of;
use cutec_dialects::atoms::{TmaAtom, TmaKind};
use cutec_dialects::builder::{IrOp, IrValue, OpBuilder, operands_of};
use cutec_dialects::hints::Hints;
use cutec_dialects::memo::val_of;
use cutec_dialects::ops::{ArithOp, CuteOp, tile};
use cutec_dialects::semantics::{Attrs, SemError, tma_boxes_of};
use cutec_dialects::tile::{TileType, Windows, box_extents, modes_of_axes};
use cutec_dialects::types::Vars;
use cutec_dialects::value::{Val, View};
use cutec_layout::{Int, Layout, Tree, Width};
use melior::ir::operation::OperationLike;
use melior::ir::{Location, ValueLike};

/// Most modes of a tensor (CUDA driver API, `cuTensorMapEncodeTiled`).
const MOST_MODES: usize = 5;

/// Where a box begins along a mode of the tensor.
#[derive(Clone, Copy)]
pub(super) enum Begin<'c> {
    /// Behind so many tiles.
    Tiles(IrValue<'c>),
    /// Behind so many elements, which may be negative.
    Elements(IrValue<'c>),
    /// At one place, since the view is a slice.
    At(IrValue<'c>),
    /// At one place, in units of so many elements, which divide it.
    Units(IrValue<'c>, i64),
    /// At a place that is known.
    Known(i64),
}

impl<'c> Begin<'c> {
    /// The number that it follows from, where it is not known.
    pub fn value(&self) -> Option<IrValue<'c>> {
        match self {
            Begin::Tiles(value)
            | Begin::Elements(value)
            | Begin::At(value)
            | Begin::Units(value, _) => Some(*value),
            Begin::Known(_) => None,
        }
    }
}

/// A tile of a tensor.
pub(super) struct TensorBox<'c> {
    /// The argument of the kernel.
    tensor: IrValue<'c>,
    /// Its number among the arguments of the ABI.
    arg: usize,
    /// The view of it that the map is of; then modes are those of the view. `None` of the tensor itself.
    view: Option<Box<MappedView<'c>>>,
    /// Extents of the tile along the modes of the tensor, and where it begins.
    tile: Vec<i64>,
    begin: Vec<Begin<'c>>,
    /// The modes of the tensor that each axis of the tile is, the fastest last: mostly one. A vector, which is a column, may have no second axis.
    axes: Vec<Vec<usize>>,
    /// The mode whose elements are neighbours.
    contiguous: usize,
    /// What is asked of L2.
    hints: Hints,
    /// Of the access, in the source.
    location: Location<'c>,
    /// Of a tile of windows, which pixels its rows are: then extents, place and modes are those of the matrix of windows.
    windows: Option<WindowsBox<'c>>,
}

/// The modes of a view: each one of the tensor, or of the view of it that the map is of, or a place along one.
struct Followed<'c> {
    tensor: IrValue<'c>,
    view: Option<Box<MappedView<'c>>>,
    /// The mode of the tensor that each mode of the view is.
    modes: Vec<usize>,
    /// Where the view lies along the other modes.
    sliced: Vec<(usize, Begin<'c>)>,
}

impl<'c> TensorBox<'c> {
    /// The box that a load or a copy of it reads, or a store writes.
    ///
    /// # Errors
    /// Why no tensor map brings it, as a clause: "the stride of mode 0 of `a` …".
    pub fn of(access: IrOp<'c>, function: IrOp<'c>, shape: &[i64]) -> Result<Self, String> {
        let view = tile::Load::of(access).map(tile::Load::view);
        let view = view.or_else(|| tile::CopyAsync::of(access).map(tile::CopyAsync::view));
        let view = view.or_else(|| tile::Store::of(access).map(tile::Store::view));
        let view = view.ok_or("it is no load, and no store")?;
        let at = Coordinate::of(access)?;
        let Some(abi) = abi_of(&function) else {
            return Err("a kernel without `cute.abi` has no tensor maps".into());
        };
        let followed = follow(view, &abi, function)?;
        let &[rows, columns] = shape else {
            return Err("only tiles of two axes are boxes".into());
        };
        if let Some(windows) = Windows::of(&access)? {
            let (arg, tensor) = argument(&abi, followed.tensor, function)?;
            let contiguous = mappable(&abi, &followed, tensor)?;
            if followed.view.is_some() {
                return Err(format!("windows are of a view of `{}`", tensor.name));
            }
            let rank = windows.modes() + 2;
            let image = match followed.sliced[..] {
                [] => Some(Begin::At(at.values[0])),
                [(0, image)] => Some(image),
                _ => None,
            };
            let first = followed.sliced.len();
            let in_order = followed.modes.iter().copied().eq(first..rank);
            let Some(image) = image.filter(|_| in_order) else {
                return Err(format!("windows are of a part of `{}`", tensor.name));
            };
            if contiguous + 1 != rank {
                return Err(format!(
                    "the channels of `{}` do not lie side by side",
                    tensor.name
                ));
            }
            let windows = WindowsBox::of(windows, image, &at.values, [rows, columns])?;
            return Ok(TensorBox {
                tensor: followed.tensor,
                arg,
                view: None,
                tile: vec![rows, windows.channels],
                begin: Vec::new(),
                axes: vec![vec![0], vec![1]],
                contiguous: 1,
                hints: hints_of(access),
                location: access.location(),
                windows: Some(windows),
            });
        }
        let extents = box_extents(&access)?;
        let merged = extents
            .as_ref()
            .and_then(|extents| modes_of_axes(extents, shape));
        let extents = extents.unwrap_or_else(|| vec![rows, columns]);
        let each = |mode: &usize| vec![*mode];
        let axes: Vec<Vec<usize>> = match (merged, followed.modes.len()) {
            (Some(axes), rank) if rank == extents.len() => {
                let axes = axes.into_iter();
                let of_tensor =
                    |modes: Vec<usize>| modes.iter().map(|at| followed.modes[*at]).collect();
                axes.map(of_tensor).collect()
            }
            (None, 2) => followed.modes.iter().map(each).collect(),
            (None, 1) if columns == 1 => followed.modes.iter().map(each).collect(),
            _ => return Err("only tiles of two axes are boxes".into()),
        };
        let (arg, tensor) = argument(&abi, followed.tensor, function)?;
        let contiguous = mappable(&abi, &followed, tensor)?;
        if !followed.modes.contains(&contiguous) {
            return Err(format!(
                "the fastest mode of `{}` is none of the tile's",
                tensor.name
            ));
        }
        if !axes.iter().any(|modes| modes[..] == [contiguous]) {
            return Err(format!(
                "the fastest mode of `{}` is one of several along an axis of the tile",
                tensor.name
            ));
        }
        let rank = followed.modes.len() + followed.sliced.len();
        let (mut tile, mut begin) = (vec![1; rank], vec![Begin::Known(0); rank]);
        for (mode, place) in &followed.sliced {
            begin[*mode] = *place;
        }
        for (axis, (mode, extent)) in followed.modes.iter().copied().zip(extents).enumerate() {
            let value = at.values[axis];
            tile[mode] = extent;
            begin[mode] = match at.is_offset(axis) {
                true => Begin::Elements(value),
                false => Begin::Tiles(value),
            };
            let elements = UNIT / elem_bytes(followed.tensor);
            if at.is_offset(axis) && mode == contiguous && at.divisor(axis) % elements != 0 {
                return Err(format!(
                    "nothing says that the tile begins at a multiple of {elements} elements along mode {mode} of `{}`",
                    tensor.name
                ));
            }
        }
        Ok(TensorBox {
            tensor: followed.tensor,
            arg,
            view: followed.view,
            tile,
            begin,
            axes,
            contiguous,
            hints: hints_of(access),
            location: access.location(),
            windows: None,
        })
    }

    /// The tensor, as the kernel is passed it.
    pub fn tensor(&self) -> IrValue<'c> {
        self.tensor
    }

    /// The axis of the tile whose elements are neighbours in memory.
    pub fn fast(&self) -> usize {
        usize::from(
            self.axes
                .get(1)
                .is_some_and(|modes| modes[..] == [self.contiguous]),
        )
    }

    /// The values that the coordinate of the box is made of.
    pub fn begins(&self) -> impl Iterator<Item = IrValue<'c>> {
        let of_windows = self.windows.iter().flat_map(WindowsBox::numbers);
        self.begin.iter().filter_map(Begin::value).chain(of_windows)
    }

    /// Whether it is a tile of windows.
    pub fn has_windows(&self) -> bool {
        self.windows.is_some()
    }

    /// How many boxes the tile consists of, each a piece of its buffer: one for each element of a filter.
    pub fn pieces(&self) -> i64 {
        self.windows.as_ref().map_or(1, WindowsBox::elements)
    }

    /// The buffer of one stage that a descriptor describes; `None` where rows are no multiples of 32 bytes in memory.
    pub fn buffer(&self, tile: &TileType) -> Option<View> {
        match &self.windows {
            Some(windows) if windows.elements() > 1 => smem_tile::of_pieces(tile, windows.channels),
            _ => smem_tile::of_descriptor(tile, self.fast()),
        }
    }

    /// The copy by which the box comes to a buffer whose last mode are its stages.
    pub fn load(&self, buffer: &View) -> Result<TmaAtom, SemError> {
        match self.pieces() {
            1 => self.atom(TmaKind::Load, buffer),
            _ => {
                let piece = TileType::new(buffer.ptr.elem, &self.tile);
                let piece = smem_tile::of_pieces(&piece, self.tile[1]);
                let none = || {
                    SemError::Illegal(
                        "the channels of an element are not 16, 32, 64 or 128 bytes".into(),
                    )
                };
                self.atom(TmaKind::Load, &piece.ok_or_else(none)?)
            }
        }
    }

    /// The copy by which it leaves one.
    pub fn store(&self, buffer: &View) -> Result<TmaAtom, SemError> {
        let mut offsets = self.begin.iter();
        match self.has_windows() || offsets.any(|begin| matches!(begin, Begin::Elements(_))) {
            // What is stored begins inside of the tensor.
            true => Err(SemError::Illegal("an offset may be negative".into())),
            false if self.spills() => Err(SemError::Illegal(
                "what is stored would go on behind the rows".into(),
            )),
            false => self.atom(TmaKind::Store, buffer),
        }
    }

    /// Whether a store could write behind the last element of a row: hardware stores whole units, whatever the extent.
    fn spills(&self) -> bool {
        let elements = UNIT / elem_bytes(self.tensor);
        let extent = self.extent(self.contiguous);
        !extent.is_some_and(|extent| extent.divisible_by(elements))
    }

    /// The extent of a mode of the tensor, or of the view that the map is of.
    fn extent(&self, mode: usize) -> Option<Int> {
        match &self.view {
            Some(view) => view.extents.get(mode).cloned(),
            None => Some(view_of(self.tensor)?.layout.inner().mode(mode)?.size()),
        }
    }

    /// Why no store by a map keeps to the rows, and what would help, as a clause; `None` where one does.
    pub fn why_spills(&self, abi: &KernelAbi) -> Option<String> {
        if !self.spills() {
            return None;
        }
        let elements = UNIT / elem_bytes(self.tensor);
        let promise = match &self.view {
            Some(view) => behind(view.promise_of_extent(abi, self.contiguous, elements)),
            None => of_extent(self.tensor, self.contiguous, elements),
        };
        Some(format!(
            "it would write whole {UNIT} bytes, and rows may end within{promise}"
        ))
    }

    fn atom(&self, kind: TmaKind, buffer: &View) -> Result<TmaAtom, SemError> {
        let modes = self.modes_of(buffer.layout.inner())?;
        let layout = buffer.layout.map_inner(|_| Ok(Layout::concat(modes)))?;
        let stage = View {
            layout,
            ..buffer.clone()
        };
        let (span, boxes) = tma_boxes_of(&self.tile, self.contiguous, &stage)?;
        if self.has_windows() && boxes.extents.get(1) != self.tile.first() {
            let message = "a tensor map brings at most 256 pixels at once";
            return Err(SemError::Illegal(message.into()));
        }
        Ok(TmaAtom {
            kind,
            pixels: self.windows.as_ref().map(|windows| windows.how.modes()),
            elem: buffer.ptr.elem,
            tile: self.tile.clone(),
            order: boxes.order,
            extents: boxes.extents,
            span,
            hints: self.hints.of_tensor_maps(),
        })
    }

    /// The tensor map of such a copy.
    pub fn map(&self, atom: &TmaAtom) -> TensorMapAbi {
        say_left_out(self.location, self.hints, "what a tensor map copies");
        let prefetch = self.hints.prefetch.map(L2Promotion::try_from);
        TensorMapAbi {
            arg: self.arg,
            view: self.view.as_ref().map(|view| view.map.clone()),
            order: match &self.windows {
                Some(windows) => (0..windows.how.modes() + 2).rev().collect(),
                None => atom.order.clone(),
            },
            box_extents: atom.extents.iter().map(|extent| *extent as u32).collect(),
            im2col: self.windows.as_ref().map(WindowsBox::corners),
            swizzle: MapSwizzle::try_from(atom.span.bytes() as u32).unwrap_or_default(),
            l2_promotion: prefetch.and_then(Result::ok).unwrap_or(L2Promotion::B128),
            oob_fill: OobFill::default(),
            tf32: false,
        }
    }

    /// What a layout of the tile has along the modes of the tensor, in their order.
    fn modes_of(&self, layout: &Layout) -> Result<Vec<Layout>, SemError> {
        let missing = || SemError::Illegal(format!("{layout} has no such axes"));
        let mut order = Vec::new();
        for (axis, modes) in self.axes.iter().enumerate() {
            let whole = layout.mode(axis).ok_or_else(missing)?;
            if let [mode] = modes[..] {
                order.push((mode, whole));
                continue;
            }
            let stride = whole.stride().as_leaf().and_then(Int::as_static);
            let mut stride = stride.ok_or_else(missing)?;
            for mode in modes.iter().rev() {
                order.push((*mode, Layout::scalar(self.tile[*mode], stride)));
                stride *= self.tile[*mode];
            }
        }
        order.sort_by_key(|(mode, _)| *mode);
        Ok(order.into_iter().map(|(_, layout)| layout).collect())
    }

    /// A buffer of tiles with its axes in the order of the tensor's modes, without the second one of a vector that has none.
    pub fn in_order(
        &self,
        ir: &OpBuilder<'c>,
        buffer: IrValue<'c>,
    ) -> Result<IrValue<'c>, SemError> {
        let is_one_each = self.axes.iter().all(|modes| modes.len() == 1);
        let layout = match is_one_each {
            true => {
                let mut order: Vec<usize> = (0..self.axes.len()).collect();
                order.sort_by_key(|axis| self.axes[*axis][0]);
                if order == [0, 1] {
                    return Ok(buffer);
                }
                let layout = cute(ir, CuteOp::GetLayout, &[buffer], &Attrs::default())?;
                let modes = order.into_iter().map(|axis| axis as i64).chain([2]);
                let modes = Attrs::mode(modes.collect::<Vec<_>>());
                cute(ir, CuteOp::Select, &[layout], &modes)?
            }
            false => {
                let none = || SemError::Illegal("is no buffer of stages".into());
                let known = view_of(buffer).ok_or_else(none)?.layout;
                let stages = known.inner().mode(2).ok_or_else(none)?;
                let modes = self.modes_of(known.inner())?.into_iter().chain([stages]);
                let layout = known.map_inner(|_| Ok(Layout::concat(modes)))?;
                cute(ir, CuteOp::Static, &[], &Attrs::result(Val::Layout(layout)))?
            }
        };
        let pointer = cute(ir, CuteOp::GetIter, &[buffer], &Attrs::default())?;
        cute(ir, CuteOp::MakeView, &[pointer, layout], &Attrs::default())
    }

    /// The operands that say where each box lies, as [`coordinates`](Self::coordinates), or for a box of windows a coordinate and by how
    /// much pixels are moved.
    pub fn places(
        &self,
        ir: &OpBuilder<'c>,
        value: impl Fn(Option<usize>, IrValue<'c>) -> IrValue<'c>,
    ) -> Result<Vec<Vec<IrValue<'c>>>, SemError> {
        match &self.windows {
            Some(windows) => windows.places(ir, |number| value(None, number)),
            None => Ok(vec![vec![self.coordinates(ir, value)?]]),
        }
    }

    /// [`TensorBox::coordinates`] of a box that is one of several parts of what an access reads or writes, along axes whose coordinates
    /// count tiles: the axis, how many parts there are along it, and which one it is.
    pub fn coordinates_of_part(
        &self,
        ir: &OpBuilder<'c>,
        parts: &[(usize, i64, IrValue<'c>)],
        value: impl Fn(IrValue<'c>) -> IrValue<'c>,
    ) -> Result<IrValue<'c>, SemError> {
        let word = ir.ty("i32");
        let op = |kind, a, b| ir.value(kind, &[a, b], &[], word);
        self.coordinates(ir, |axis, at| {
            match parts.iter().find(|(along, ..)| axis == Some(*along)) {
                Some((_, parts, part)) => {
                    let parts = ir.constant(*parts, "i32");
                    let at = narrowed(ir, value(at));
                    op(ArithOp::Addi, op(ArithOp::Muli, at, parts), *part)
                }
                None => value(at),
            }
        })
    }

    /// The same of a box that is a piece of the columns, of so many.
    pub fn coordinates_of_piece(
        &self,
        ir: &OpBuilder<'c>,
        piece: (i64, i64),
        value: impl Fn(IrValue<'c>) -> IrValue<'c>,
    ) -> Result<IrValue<'c>, SemError> {
        let columns = columns_of_piece(ir, piece);
        self.coordinates_of_part(ir, columns.as_slice(), value)
    }

    /// The tile of coordinates that the copy takes, with what the box begins at given by `value`, of
    /// an axis of the tile or of a mode that it is a slice along.
    pub fn coordinates(
        &self,
        ir: &OpBuilder<'c>,
        value: impl Fn(Option<usize>, IrValue<'c>) -> IrValue<'c>,
    ) -> Result<IrValue<'c>, SemError> {
        let constant = |val: Val| cute(ir, CuteOp::Static, &[], &Attrs::result(val));
        let plain = Attrs::default();
        if self.view.is_some() {
            return self.coordinates_in_view(ir, value);
        }
        let layout = cute(ir, CuteOp::GetLayout, &[self.tensor], &plain)?;
        let shape = cute(ir, CuteOp::GetShape, &[layout], &plain)?;
        let mut identity = cute(ir, CuteOp::MakeIdentityTensor, &[shape], &plain)?;
        let (mut leaves, mut counted) = (Vec::new(), Vec::new());
        let (mut offsets, mut moves, mut vars) = (Vec::new(), false, Vars::default());
        for (mode, begin) in self.begin.iter().enumerate() {
            let axis = self.axes.iter().position(|modes| modes.contains(&mode));
            let in_word = |at| in_word(ir, value(axis, at));
            let (leaf, offset) = match begin {
                Begin::Units(..) => {
                    let message = "a place of a view in units, in a tensor";
                    return Err(SemError::Illegal(message.into()));
                }
                // A mode that is known to have one tile has no other: behind it begins what is counted in elements.
                Begin::Tiles(at) | Begin::At(at) if self.has_one_tile(mode) && !is_zero(*at) => {
                    let begin = elements_of_tile(ir, value(axis, *at), self.tile[mode])?;
                    (Int::ZERO, Some(begin))
                }
                Begin::Tiles(at) | Begin::At(at) => {
                    counted.push(in_word(*at)?);
                    (vars.fresh(Width::I32, 1), None)
                }
                Begin::Elements(at) => (Int::ZERO, Some(in_word(*at)?)),
                Begin::Known(at) => (Int::Static(*at), None),
            };
            leaves.push(Some(leaf));
            moves |= offset.is_some();
            offsets.push(offset);
        }
        if moves {
            let mut operands = vec![identity];
            for offset in offsets {
                operands.push(match offset {
                    Some(offset) => offset,
                    None => constant(Val::int_tuple([0]))?,
                });
            }
            identity = cute(ir, CuteOp::DomainOffset, &operands, &plain)?;
        }
        let coord = Val::coord(leaves);
        let coord = match counted.is_empty() {
            true => constant(coord)?,
            false => {
                let ty = ir.val_type(&coord);
                ir.value(CuteOp::MakeCoord, &counted, &[], ty)
            }
        };
        let tile = constant(Val::int_tuple(self.tile.iter().copied()))?;
        cute(ir, CuteOp::LocalTile, &[identity, tile, coord], &plain)
    }

    /// Whether a mode of the tensor is known to be no longer than the tile.
    fn has_one_tile(&self, mode: usize) -> bool {
        let extent = self.extent(mode).and_then(|extent| extent.as_static());
        extent.is_some_and(|extent| extent <= self.tile[mode])
    }

    /// [`TensorBox::coordinates`] of a view that the map is of: the first tile of one moved by elements, since no value of the kernel has all modes of
    /// the view.
    fn coordinates_in_view(
        &self,
        ir: &OpBuilder<'c>,
        value: impl Fn(Option<usize>, IrValue<'c>) -> IrValue<'c>,
    ) -> Result<IrValue<'c>, SemError> {
        let constant = |val: Val| cute(ir, CuteOp::Static, &[], &Attrs::result(val));
        let tile = constant(Val::int_tuple(self.tile.iter().copied()))?;
        let identity = cute(ir, CuteOp::MakeIdentityTensor, &[tile], &Attrs::default())?;
        let mut operands = vec![identity];
        for (mode, begin) in self.begin.iter().enumerate() {
            let axis = self.axes.iter().position(|modes| modes.contains(&mode));
            operands.push(match begin {
                Begin::Tiles(at) => elements_of_tile(ir, value(axis, *at), self.tile[mode])?,
                Begin::Elements(at) | Begin::At(at) => in_word(ir, value(axis, *at))?,
                Begin::Units(at, unit) => {
                    let at = number(ir, value(axis, *at))?;
                    let ty = at.r#type();
                    let bits = ir.constant_of(i64::from(unit.trailing_zeros()), ty);
                    narrowed(ir, ir.value(ArithOp::Shrsi, &[at, bits], &[], ty))
                }
                Begin::Known(at) => constant(Val::int_tuple([*at]))?,
            });
        }
        cute(ir, CuteOp::DomainOffset, &operands, &Attrs::default())
    }
}

/// The element at which the tile of a number begins, of so many elements each.
fn elements_of_tile<'c>(
    ir: &OpBuilder<'c>,
    at: IrValue<'c>,
    length: i64,
) -> Result<IrValue<'c>, SemError> {
    let at = narrowed(ir, number(ir, at)?);
    let word = at.r#type();
    let begin = [at, ir.constant_of(length, word)];
    multiple(ir, ir.value(ArithOp::Muli, &begin, &[], word), length)
}

/// Which part of the columns a piece of so many is, as [`TensorBox::coordinates_of_part`] takes it, where there are several.
pub(super) fn columns_of_piece<'c>(
    ir: &OpBuilder<'c>,
    (number, pieces): (i64, i64),
) -> Option<(usize, i64, IrValue<'c>)> {
    (pieces > 1).then(|| (1, pieces, ir.constant(number, "i32")))
}

/// Follows a view back to the argument of the kernel that it is into, or to a view of that of which there may be a map.
fn follow<'c>(
    view: IrValue<'c>,
    abi: &KernelAbi,
    function: IrOp<'c>,
) -> Result<Followed<'c>, String> {
    let unknown = || {
        "the view is no slice, by indices and `_`, of a tensor that the kernel is passed".to_owned()
    };
    let Some(op) = defining_op(view) else {
        let rank = view_of(view).map(|view| view.layout.rank());
        let entry = blocks(function, 0);
        let of_kernel = entry
            .first()
            .is_some_and(|entry| number_of(*entry, view).is_some());
        return match rank.filter(|_| of_kernel) {
            Some(rank) => Ok(Followed {
                tensor: view,
                view: None,
                modes: (0..rank).collect(),
                sliced: Vec::new(),
            }),
            None => Err(unknown()),
        };
    };
    let operand = |op: IrOp<'c>, index: usize| operands_of(op).nth(index).ok_or_else(unknown);
    match CuteOp::of(op) {
        Some(CuteOp::Slice) => {
            let inner = follow(operand(op, 0)?, abi, function)?;
            let coordinate = operand(op, 1)?;
            let Ok(Val::Tuple(_, Tree::Node(leaves))) = val_of(coordinate) else {
                return Err(unknown());
            };
            let made = defining_op(coordinate).ok_or_else(unknown)?;
            let mut values = operands_of(made);
            let (mut modes, mut sliced) = (Vec::new(), inner.sliced);
            if leaves.len() != inner.modes.len() {
                return Err(unknown());
            }
            for (leaf, mode) in leaves.iter().zip(inner.modes) {
                match leaf {
                    Tree::Leaf(None) => modes.push(mode),
                    Tree::Leaf(Some(Int::Static(place))) => {
                        sliced.push((mode, Begin::Known(*place)))
                    }
                    Tree::Leaf(Some(_)) if CuteOp::MakeCoord.is(made) => {
                        let place = values.next().ok_or_else(unknown)?;
                        sliced.push((mode, Begin::At(place)));
                    }
                    Tree::Leaf(Some(_)) | Tree::Node(_) => return Err(unknown()),
                }
            }
            Ok(Followed {
                modes,
                sliced,
                ..inner
            })
        }
        // What `tile-transpose-loads` makes.
        Some(CuteOp::MakeView) if let Some((whole, order)) = twins::source(view) => {
            let inner = follow(whole, abi, function)?;
            let modes = order.into_iter().map(|mode| inner.modes.get(mode).copied());
            let modes: Option<Vec<usize>> = modes.collect();
            Ok(Followed {
                modes: modes.ok_or_else(unknown)?,
                ..inner
            })
        }
        Some(op) if makes(op) => {
            let mapped = MappedView::of(view, abi, function)?;
            let places = mapped.places.iter().map(|place| match place.unit {
                1 => Begin::At(place.at),
                unit => Begin::Units(place.at, unit),
            });
            Ok(Followed {
                tensor: mapped.tensor,
                modes: (0..mapped.rank).collect(),
                sliced: (mapped.rank..).zip(places).collect(),
                view: Some(Box::new(mapped)),
            })
        }
        _ => Err(unknown()),
    }
}

fn elem_bytes(tensor: IrValue) -> i64 {
    view_of(tensor).map_or(UNIT, |view| view.ptr.elem.bytes().max(1))
}

/// The contiguous mode of a tensor, or of a view of one, of which there can be a map; why there can be none, and what would help.
fn mappable(abi: &KernelAbi, followed: &Followed, declared: &TensorAbi) -> Result<usize, String> {
    let view = view_of(followed.tensor).ok_or("the tensor is no view")?;
    let (layout, elements) = (view.layout.inner(), UNIT / elem_bytes(followed.tensor));
    let mapped = followed.view.as_ref();
    let (name, extents, strides) = match mapped {
        None => {
            let leaves = |leaves: Vec<&Int>| leaves.into_iter().cloned().collect::<Vec<Int>>();
            let (shape, stride) = (layout.shape().leaves(), layout.stride().leaves());
            let is_flat = shape.len() == layout.rank();
            let extents = Some(leaves(shape)).filter(|_| is_flat);
            (format!("`{}`", declared.name), extents, leaves(stride))
        }
        Some(mapped) => (
            format!("a view of `{}`", declared.name),
            Some(mapped.extents.clone()),
            mapped.strides.clone(),
        ),
    };
    let extents = extents.filter(|extents| extents.len() <= MOST_MODES);
    let Some(extents) = extents.filter(|_| !view.ptr.elem.is_packed()) else {
        return Err(format!("there is no tensor map of {name}"));
    };
    let own = mapped.map_or(strides.len(), |mapped| mapped.rank);
    let Some(contiguous) = strides[..own].iter().position(|stride| stride.is(1)) else {
        return Err(format!("{name} has no mode of stride 1"));
    };
    if view.ptr.alignment() < UNIT {
        let tensor = &declared.name;
        return Err(format!(
            "`{tensor}` may begin anywhere: promise `where align({tensor}) >= {UNIT}`"
        ));
    }
    if let Some(mapped) = mapped.filter(|mapped| !mapped.offset.divisible_by(elements)) {
        let promise = behind(mapped.promise_of_offset(abi, elements));
        return Err(format!(
            "{name} may begin at no multiple of {UNIT} bytes{promise}"
        ));
    }
    for mode in (0..strides.len()).filter(|mode| *mode != contiguous) {
        if extents[mode].is(1) || strides[mode].divisible_by(elements) {
            continue;
        }
        let promise = behind(match mapped {
            None => stride_promise(abi, declared, mode, elements),
            Some(mapped) => mapped.promise_of_stride(abi, mode, elements),
        });
        return Err(format!(
            "the stride of mode {mode} of {name} may be no multiple of {UNIT} bytes{promise}"
        ));
    }
    Ok(contiguous)
}
