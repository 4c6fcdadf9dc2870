//! Where in a view a tile lies: at coordinates counted in tiles, or at offsets in elements.
use crate::types::{Vars, parse_type};
use crate::value::Val;
use cutec_layout::Tree;
use melior::ir::ValueLike;
use melior::ir::operation::OperationLike;

/// The attribute of a minimum, `arith.minui` of a coordinate and of a tile behind the end of a tensor, with the length of a tile: it changes no
/// coordinate of a tile that has elements in the tensor.
pub const BOUND: &str = "tile.bound";

/// The attribute of `tile.load`, `tile.store` and `tile.copy_async` that lists the axes along which the
/// coordinate counts elements.
pub const BY_ELEMENT: &str = "by_element";

/// Along which of so many axes the coordinate counts elements, and not tiles.
///
/// # Errors
/// Where the attribute lists something else than axes.
pub fn by_element<'c: 'a, 'a>(
    op: &impl OperationLike<'c, 'a>,
    rank: usize,
) -> Result<Vec<bool>, String> {
    let mut counted = vec![false; rank];
    let Ok(attribute) = op.attribute(BY_ELEMENT) else {
        return Ok(counted);
    };
    for axis in integers(&attribute.to_string())? {
        let place = usize::try_from(axis).ok();
        match place.and_then(|axis| counted.get_mut(axis)) {
            Some(counted) => *counted = true,
            None => {
                return Err(format!(
                    "expects axes in [0, {rank}) as `{BY_ELEMENT}`, but got {axis}"
                ));
            }
        }
    }
    Ok(counted)
}

/// Whether the operands that are the coordinate have types that it may have.
///
/// # Errors
/// What is expected and what was found.
pub(super) fn check<'c: 'a, 'a>(
    op: &impl OperationLike<'c, 'a>,
    first: usize,
    by_element: &[bool],
) -> Result<(), String> {
    for (axis, by_element) in by_element.iter().enumerate() {
        let operand = op
            .operand(first + axis)
            .map_err(|error| error.to_string())?;
        let text = operand.r#type().to_string();
        let of_tuple = || match parse_type(&text, &mut Vars::default()) {
            Ok(Val::Tuple(_, tuple)) => matches!(tuple, Tree::Leaf(Some(_))),
            _ => false,
        };
        let expected = match by_element {
            true => "i32, i64 or a !cute.int_tuple of one integer",
            false => "i32 or i64",
        };
        if !(text == "i32" || text == "i64" || *by_element && of_tuple()) {
            return Err(format!(
                "expects {expected} as coordinate along axis {axis}, but got {text}"
            ));
        }
    }
    Ok(())
}

/// The integers of `array<i64: …>`.
pub(super) fn integers(text: &str) -> Result<Vec<i64>, String> {
    let inner = text.trim_start_matches("array<i64").trim_end_matches('>');
    let inner = inner.trim_start_matches(':').trim();
    inner
        .split(',')
        .filter(|part| !part.trim().is_empty())
        .map(|part| {
            part.trim()
                .parse::<i64>()
                .map_err(|error| error.to_string())
        })
        .collect()
}
