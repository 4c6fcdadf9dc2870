//! Layout texts and expressions.

use cutec_layout::banks::{access_ldmatrix, access_tv};
use cutec_layout::draw::{Colour, TvTable, grid, grid_tv, svg, svg_access};
use cutec_layout::expr::{Value, eval};
use cutec_layout::text::{
    TextError, parse_any_layout, parse_coord, parse_int_tuple, parse_layout, parse_swizzle,
    parse_tiler,
};
use cutec_layout::{AnyLayout, Tree};

/// Layouts of more elements take longer to draw than to compute with.
const MOST_DRAWN: i64 = 1 << 10;

/// Each line is read as every kind of text and as an expression; what is read prints to the same text
/// again. Values are drawn, and accessed by those of the line before.
///
/// # Panics
/// Where a printed value does not read back as itself.
pub fn layout_expr(data: &[u8]) {
    let Some(text) = crate::text(data) else {
        return;
    };
    let mut before = None;
    for line in text.lines() {
        reads_back(line, parse_int_tuple);
        reads_back(line, parse_layout);
        reads_back(line, parse_any_layout);
        reads_back(line, parse_swizzle);
        reads_back(line, parse_tiler);
        let _ = parse_coord(line);
        let value = match eval(line) {
            Ok(value) => value,
            Err(error) => {
                let span = error.span();
                assert!(
                    line.get(span.clone()).is_some(),
                    "{line}: {error} at {span:?}"
                );
                continue;
            }
        };
        let printed = value.to_string();
        if !matches!(value, Value::Bool(_)) {
            let again = eval(&printed).map(|value| value.to_string());
            assert_eq!(again.as_ref(), Ok(&printed), "from {line}");
        }
        draw(&value, before.as_ref());
        before = Some(value);
    }
}

fn reads_back<T: ToString>(line: &str, parse: fn(&str) -> Result<T, TextError>) {
    match parse(line) {
        Ok(value) => {
            let printed = value.to_string();
            let again = parse(&printed).map(|value| value.to_string());
            assert_eq!(again.as_ref(), Ok(&printed), "from {line}");
        }
        Err(error) => assert!(
            line.get(error.span()).is_some(),
            "{line}: {error} at {:?}",
            error.span()
        ),
    }
}

fn draw(value: &Value, before: Option<&Value>) {
    let Value::Layout(layout) = value else {
        return;
    };
    if layout
        .size()
        .as_static()
        .is_none_or(|size| size > MOST_DRAWN)
    {
        return;
    }
    grid(layout);
    svg(layout, Colour::Thread);
    svg(layout, Colour::Bank { elem_bits: 16 });
    for (matrices, transpose) in [(4, false), (1, true)] {
        if let Ok(access) = access_ldmatrix(layout, 16, matrices, transpose) {
            svg_access(layout, &access, 16);
            let _ = access.to_string();
        }
    }
    match before {
        Some(Value::Layout(AnyLayout::Plain(layout_tv))) => {
            if let Ok(access) = access_tv(layout, layout_tv, 16) {
                svg_access(layout, &access, 16);
                let _ = access.to_string();
            }
        }
        Some(Value::Tuple(tile @ Tree::Node(_))) => {
            if let AnyLayout::Plain(layout_tv) = layout {
                let _ = grid_tv(&TvTable::over("title", layout_tv, tile));
            }
        }
        _ => {}
    }
}
