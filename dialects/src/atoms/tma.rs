//! Copies by a tensor map (PTX ISA, "cp.async.bulk.tensor"): one thread begins them, for a whole tile of a tensor.
//!
//! Unlike other atoms these have something at run time, the address of the map, so their values are made by an operation,
//! `cute.make_tma_atom`; the type says everything else.
use super::Reduction;
use super::fields::{DIALECT, Fields};
use crate::elem::Elem;
use crate::hints::Hints;
use crate::types::TypeError;
use cutec_layout::tma::MapSpan;
use std::fmt;

/// What is done with the elements of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TmaKind {
    /// From global to shared memory.
    Load,
    /// From shared to global memory.
    Store,
    /// From shared memory, combined with what is in global memory.
    Reduce(Reduction),
}

impl Reduction {
    /// Whether there is such a reduction of elements of a type (PTX ISA, "cp.reduce.async.bulk.tensor": those of the
    /// types that a tensor map names).
    pub fn takes(self, elem: Elem) -> bool {
        match self {
            Reduction::Add => matches!(
                elem,
                Elem::I32 | Elem::U64 | Elem::F16 | Elem::BF16 | Elem::F32
            ),
            Reduction::Min | Reduction::Max => matches!(
                elem,
                Elem::I32 | Elem::I64 | Elem::U64 | Elem::F16 | Elem::BF16
            ),
            Reduction::And | Reduction::Or | Reduction::Xor => {
                matches!(elem, Elem::I32 | Elem::I64 | Elem::U64)
            }
        }
    }
}

impl TmaKind {
    /// The name of the type in the IR of a copy of tiles, or in im2col mode.
    fn type_name(self, im2col: bool) -> &'static str {
        match (self, im2col) {
            (TmaKind::Load, false) => LOAD,
            (TmaKind::Load, true) => LOAD_IM2COL,
            (TmaKind::Store, false) => STORE,
            (TmaKind::Store, true) => STORE_IM2COL,
            (TmaKind::Reduce(_), false) => REDUCE,
            (TmaKind::Reduce(_), true) => REDUCE_IM2COL,
        }
    }
}

/// A copy of tiles by a tensor map.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TmaAtom {
    /// Where to.
    pub kind: TmaKind,
    /// In im2col mode, how many modes of pixels the tensor has: of a tile they are one mode, and the channels the other.
    pub pixels: Option<usize>,
    /// Elements of both sides.
    pub elem: Elem,
    /// Extents of a tile along the modes of the tensor.
    pub tile: Vec<i64>,
    /// Modes of the tensor as the map has them, fastest first.
    pub order: Vec<usize>,
    /// Extents of the box that an instruction moves, in that order.
    pub extents: Vec<i64>,
    /// The swizzle of the tile in shared memory.
    pub span: MapSpan,
    /// What is asked of the caches: a priority alone.
    pub hints: Hints,
}

const LOAD: &str = "atom.tma_load";
const LOAD_IM2COL: &str = "atom.tma_load_im2col";
const STORE: &str = "atom.tma_store";
const STORE_IM2COL: &str = "atom.tma_store_im2col";
const REDUCE: &str = "atom.tma_reduce";
const REDUCE_IM2COL: &str = "atom.tma_reduce_im2col";

impl TmaAtom {
    /// The names of its types.
    pub(super) const TYPE_NAMES: [&'static str; 6] = [
        LOAD,
        LOAD_IM2COL,
        STORE,
        STORE_IM2COL,
        REDUCE,
        REDUCE_IM2COL,
    ];

    /// Bytes of a tile.
    pub fn bytes(&self) -> i64 {
        let elements = self
            .tile
            .iter()
            .fold(1, |all: i64, extent| all.saturating_mul(*extent));
        self.elem.bytes_of(elements)
    }

    /// The atom of a type's text; `None` for the text of another type.
    ///
    /// # Errors
    /// Where it has another form, or is not legal.
    pub(crate) fn parse(text: &str) -> Result<Option<TmaAtom>, TypeError> {
        let Some((name, mut fields)) = Fields::of_atom(text) else {
            return Ok(None);
        };
        let pixels = match name {
            LOAD_IM2COL | STORE_IM2COL | REDUCE_IM2COL => {
                let expected = "1, 2 or 3 modes of pixels";
                let modes = fields.next(expected)?.trim().parse().ok();
                let modes = modes.filter(|modes| (1..=3).contains(modes));
                Some(modes.ok_or_else(|| fields.form(expected))?)
            }
            _ => None,
        };
        let kind = match name {
            LOAD | LOAD_IM2COL => TmaKind::Load,
            STORE | STORE_IM2COL => TmaKind::Store,
            REDUCE | REDUCE_IM2COL => TmaKind::Reduce(fields.reduction()?),
            _ => return Ok(None),
        };
        let elem = fields.elem()?;
        let tile = numbers(fields.named("tile")?).ok_or_else(|| fields.form("a tile (m, n)"))?;
        let order =
            numbers(fields.named("order")?).ok_or_else(|| fields.form("an order of modes"))?;
        let extents = numbers(fields.named("box")?).ok_or_else(|| fields.form("a box (n, m)"))?;
        let bytes = fields.named("swizzle")?.parse().ok();
        let span = bytes.and_then(MapSpan::of_bytes);
        let span = span.ok_or_else(|| fields.form("a swizzle of 0, 32, 64 or 128 bytes"))?;
        let hints = fields.hints()?;
        let order: Vec<usize> = order
            .into_iter()
            .map(|mode| usize::try_from(mode).unwrap_or(usize::MAX))
            .collect();
        let atom = TmaAtom {
            kind,
            pixels,
            elem,
            tile,
            order,
            extents,
            span,
            hints,
        };
        match atom.is_legal() {
            true => Ok(Some(atom)),
            false => Err(fields
                .form("a tile of 1 to 5 modes, each once in the order, and a box that divides it")),
        }
    }

    fn is_legal(&self) -> bool {
        let rank = self.tile.len();
        let mut modes = self.order.clone();
        modes.sort_unstable();
        let reduces = match self.kind {
            TmaKind::Reduce(how) => how.takes(self.elem),
            TmaKind::Load | TmaKind::Store => !self.elem.is_packed(),
        };
        let in_one_box = self.order == [1, 0] && self.extents.get(1) == self.tile.first();
        let divides = |(mode, extent): (&usize, &i64)| {
            (1..=256).contains(extent) && self.tile[*mode] >= 1 && self.tile[*mode] % extent == 0
        };
        (1..=5).contains(&rank)
            && modes.into_iter().eq(0..rank)
            && self.extents.len() == rank
            && self.order.iter().zip(&self.extents).all(divides)
            && reduces
            && (self.pixels.is_none() || in_one_box)
            && self.hints.cache.is_none()
            && self.hints.prefetch.is_none()
    }
}

/// `(128,64)` or `128`.
fn numbers(text: &str) -> Option<Vec<i64>> {
    let text = text.trim();
    let inner = text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'))
        .unwrap_or(text);
    let numbers = inner.split(',').map(|number| number.trim().parse().ok());
    numbers.collect()
}

/// As [`numbers`] reads them.
pub(crate) fn tuple<T: ToString>(numbers: &[T]) -> String {
    let numbers: Vec<String> = numbers.iter().map(T::to_string).collect();
    match numbers.as_slice() {
        [one] => one.clone(),
        all => format!("({})", all.join(",")),
    }
}

impl fmt::Display for TmaAtom {
    /// Its type in the IR.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let TmaAtom {
            kind,
            pixels,
            elem,
            tile,
            order,
            extents,
            span,
            hints,
        } = self;
        let reduction = match kind {
            TmaKind::Load | TmaKind::Store => String::new(),
            TmaKind::Reduce(how) => format!("{}, ", how.name()),
        };
        let modes = pixels.map(|modes| format!("{modes}, ")).unwrap_or_default();
        write!(
            f,
            "{DIALECT}{}<{modes}{reduction}{elem}, tile = {}, order = {}, box = {}, swizzle = {}{hints}>",
            kind.type_name(pixels.is_some()),
            tuple(tile),
            tuple(order),
            tuple(extents),
            span.bytes()
        )
    }
}
