//! Buffers in shared memory as tensor maps write and `wgmma` reads them (PTX ISA, "Shared memory matrix layout" of `wgmma`).
use super::types::view_of;
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::Space;
use cutec_dialects::tile::TileType;
use cutec_dialects::value::View;
use cutec_layout::Layout;
use cutec_layout::algebra::storage;
use cutec_layout::text::parse_any_layout;

/// Of what a tensor map writes to shared memory the address is a multiple of so many bytes (PTX ISA, "cp.async.bulk.tensor").
const BOX_ALIGN: i64 = 128;
/// The spans of swizzles, in bytes, the widest first, with the bits that they permute.
const SPANS: [(i64, u32); 3] = [(128, 3), (64, 2), (32, 1)];
/// Rows after which the widest swizzle repeats.
const PERIOD: i64 = 8;

/// The tile of which a buffer has stages, and how many.
pub(super) fn tile_in(view: &View) -> Option<(TileType, i64)> {
    let layout = view.layout.inner();
    let extent = |mode: usize| layout.mode(mode)?.size().as_static();
    if layout.rank() != 3 {
        return None;
    }
    Some((
        TileType::new(view.ptr.elem, &[extent(0)?, extent(1)?]),
        extent(2)?,
    ))
}

/// Bytes of a buffer, of all its stages; 0 where its size is not known.
pub(super) fn bytes_of(buffer: IrValue) -> i64 {
    let size = view_of(buffer).and_then(|view| {
        let elements = storage(&view.layout).ok()?.as_static()?;
        Some(view.ptr.elem.bytes_of(elements))
    });
    size.unwrap_or(0)
}

/// A buffer of one stage for a tile of an operand, of which an axis is the fast one: pieces as wide as a swizzle spans, one
/// behind the other. `None` where no span divides the tile.
pub(super) fn of_descriptor(tile: &TileType, fast: usize) -> Option<View> {
    let bytes = tile.elem.bytes();
    let extent = *tile.shape.get(fast)?;
    let mut spans = SPANS.into_iter();
    let (span, bits) = spans.find(|(span, _)| extent * bytes % span == 0)?;
    of_spans(tile, fast, span, bits)
}

/// As [`of_descriptor`], of pieces of so many columns, which a swizzle spans, or 16 bytes without one.
pub(super) fn of_pieces(tile: &TileType, columns: i64) -> Option<View> {
    let bytes = columns * tile.elem.bytes();
    let mut spans = SPANS.into_iter().chain([(16, 0)]);
    let (span, bits) = spans.find(|(span, _)| bytes == *span)?;
    of_spans(tile, 1, span, bits)
}

fn of_spans(tile: &TileType, fast: usize, span: i64, bits: u32) -> Option<View> {
    let &[rows, columns] = &tile.shape[..] else {
        return None;
    };
    let bytes = tile.elem.bytes();
    let (width, base) = (span / bytes, (16 / bytes).ilog2());
    let size = rows * columns;
    let inner = match fast {
        0 => format!(
            "(({width},{}),{columns},1):((1,{}),{width},{size})",
            rows / width,
            width * columns
        ),
        _ => format!(
            "({rows},({width},{}),1):({width},(1,{}),{size})",
            columns / width,
            rows * width
        ),
    };
    let layout = match bits {
        0 => inner,
        _ => format!("S<{bits},{base},3> o 0 o {inner}"),
    };
    let layout = parse_any_layout(&layout).ok()?;
    Some(View::new(tile.elem, Space::Smem, 8 * span, layout))
}

/// The first of so many parts of a stage of such a buffer along an axis that is not the fast one: of whole rows of the swizzle's period, each where a
/// tensor map may write it. `None` where the axis has no such parts.
pub(super) fn part_of(buffer: &View, axis: usize, parts: i64) -> Option<View> {
    let layout = buffer.layout.map_inner(|inner| {
        let mut modes: Vec<Layout> = inner.modes().collect();
        let extent = modes.get(axis).and_then(|mode| mode.size().as_static());
        let stride = modes
            .get(axis)
            .and_then(|mode| mode.stride().as_leaf()?.as_static());
        if let (Some(extent), Some(stride)) = (extent, stride)
            && extent % (parts * PERIOD) == 0
            && buffer.ptr.elem.bytes_of(extent / parts * stride) % BOX_ALIGN == 0
        {
            modes[axis] = Layout::scalar(extent / parts, stride);
        }
        Ok::<_, cutec_layout::LayoutError>(Layout::concat(modes))
    });
    let layout = layout.ok()?;
    (layout != buffer.layout).then(|| View {
        layout,
        ..buffer.clone()
    })
}
