//! Reading integers, tuples, layouts, swizzles and tilers as CuTe IR writes them.
//!
//! ```text
//! leaf      INT | ? | ?{i64} | ?{div=8} | ?{i64 div=16} | _ (coordinates and tiles)
//! basis     leaf@Mn@…@M0            1@0   1@1@0
//! tuple     leaf | (tuple,…)
//! layout    tuple:tuple             (4,(2,8)):(1,(4,?))
//! swizzle   S<bits,base,shift>
//! composed  swizzle o tuple o layout  |  layout o tuple o layout
//! tile      [tile;…]  with layouts, integers or _ as modes
//! ```
//!
//! White space is allowed between tokens. Each `?` becomes a fresh variable, numbered from left
//! to right. The inverse is `Display`.

mod cursor;

pub use cursor::{Cursor, TextError};

use crate::{AnyLayout, ComposedLayout, Coord, IntTuple, Layout, Swizzle, Tiler};

/// Reads an integer tuple: a shape, a stride, an offset.
///
/// # Errors
/// If the text is not one.
pub fn parse_int_tuple(text: &str) -> Result<IntTuple, TextError> {
    Cursor::whole(text, 0, Cursor::int_tuple)
}

/// Reads a coordinate.
///
/// # Errors
/// If the text is not one.
pub fn parse_coord(text: &str) -> Result<Coord, TextError> {
    Cursor::whole(text, 0, Cursor::coord)
}

/// Reads a layout.
///
/// # Errors
/// If the text is not one.
pub fn parse_layout(text: &str) -> Result<Layout, TextError> {
    Cursor::whole(text, 0, Cursor::layout)
}

/// Reads a layout whose variables are numbered from `first_var`.
///
/// # Errors
/// If the text is not one.
pub fn parse_layout_from(text: &str, first_var: u32) -> Result<Layout, TextError> {
    Cursor::whole(text, first_var, Cursor::layout)
}

/// Reads a layout that may be composed.
///
/// # Errors
/// If the text is not one.
pub fn parse_any_layout(text: &str) -> Result<AnyLayout, TextError> {
    Cursor::whole(text, 0, Cursor::any_layout)
}

/// Reads a composed layout.
///
/// # Errors
/// If the text is not one.
pub fn parse_composed_layout(text: &str) -> Result<ComposedLayout, TextError> {
    Cursor::whole(text, 0, |cursor| {
        let at = cursor.at();
        match cursor.any_layout()? {
            AnyLayout::Composed(composed) => Ok(composed),
            AnyLayout::Plain(_) => Err(cursor.error(at, "a composed layout `A o offset o B`")),
        }
    })
}

/// Reads a swizzle.
///
/// # Errors
/// If the text is not one.
pub fn parse_swizzle(text: &str) -> Result<Swizzle, TextError> {
    Cursor::whole(text, 0, Cursor::swizzle)
}

/// Reads a tiler.
///
/// # Errors
/// If the text is not one.
pub fn parse_tiler(text: &str) -> Result<Tiler, TextError> {
    Cursor::whole(text, 0, Cursor::tiler)
}
