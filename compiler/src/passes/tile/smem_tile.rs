//! Buffers in shared memory as tensor maps write and `wgmma` reads them (PTX ISA, "Shared memory matrix layout" of `wgmma`).
use cutec_dialects::elem::Space;
use cutec_dialects::tile::TileType;
use cutec_dialects::value::View;
use cutec_layout::text::parse_any_layout;

/// The spans of swizzles, in bytes, the widest first, with the bits that they permute.
const SPANS: [(i64, u32); 3] = [(128, 3), (64, 2), (32, 1)];

/// A buffer of one stage for a tile of an operand, of which an axis is the fast one: pieces as wide as a swizzle spans, one
/// behind the other. `None` where no span divides the tile.
pub(super) fn of_descriptor(tile: &TileType, fast: usize) -> Option<View> {
    let &[rows, columns] = &tile.shape[..] else {
        return None;
    };
    let bytes = tile.elem.bytes();
    let extent = tile.shape[fast];
    let (span, bits) = SPANS
        .into_iter()
        .find(|(span, _)| extent * bytes % span == 0)?;
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
    let layout = parse_any_layout(&format!("S<{bits},{base},3> o 0 o {inner}")).ok()?;
    Some(View::new(tile.elem, Space::Smem, 8 * span, layout))
}
