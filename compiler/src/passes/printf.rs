//! `cute.print` as a format of C's `printf` and its arguments.
use cutec_dialects::semantics::{SemError, leaves_of};
use cutec_dialects::value::Val;
use cutec_layout::{Int, Width};

/// The text of a value with a conversion for each integer that is known at run time, and these
/// integers in the order of the text.
///
/// # Errors
/// On what has no text.
pub fn printf(val: &Val) -> Result<(String, Vec<Int>), SemError> {
    format(val).ok_or_else(|| SemError::Operand {
        expected: "an integer, tuple, layout, tile or swizzle to print".into(),
        found: val.describe(),
    })
}

fn format(val: &Val) -> Option<(String, Vec<Int>)> {
    let mut leaves = leaves_of(val);
    let text = match val {
        Val::Scalar(int) if int.is_static() => leaves.remove(0).to_string(),
        Val::Scalar(_) => "?".into(),
        Val::Tuple(..) | Val::Layout(_) | Val::Tile(_) | Val::Swizzle(_) => {
            let ty = val.to_string();
            ty.split('"').nth(1)?.to_string()
        }
        _ => return None,
    };
    let dynamic = leaves.iter().filter(|leaf| !leaf.is_static());
    let integers: Vec<Int> = dynamic.map(|leaf| leaf.value().clone()).collect();
    let mut pieces = text.split('?');
    let mut format = pieces.next()?.to_string();
    for (piece, int) in pieces.zip(&integers) {
        format += match int.width() {
            Width::I32 => "%d",
            Width::I64 => "%lld",
        };
        // What the type says of the integer: `?{i64 div=8}`.
        let said = piece
            .strip_prefix('{')
            .and_then(|said| said.split_once('}'));
        format += said.map_or(piece, |(_, rest)| rest);
    }
    Some((format + "\n", integers))
}
