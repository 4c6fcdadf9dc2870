//! Tiles of fewer axes than the view has modes: some of them side by side are one axis.
use super::place::integers;
use melior::ir::operation::OperationLike;

/// The attribute of a `tile.load` or `tile.copy_async` of a view of more modes than its tile has axes: the extents of the tile along the modes.
pub const BOX: &str = "box";

/// The extents that an operation says it reads along the modes of its view.
///
/// # Errors
/// What is wrong with the attribute.
pub fn box_extents<'c: 'a, 'a>(
    op: &impl OperationLike<'c, 'a>,
) -> Result<Option<Vec<i64>>, String> {
    let Ok(attribute) = op.attribute(BOX) else {
        return Ok(None);
    };
    let extents = integers(&attribute.to_string())?;
    match extents.iter().all(|extent| *extent > 0) {
        true => Ok(Some(extents)),
        false => Err(format!("expects positive extents as `{BOX}`")),
    }
}

/// The modes of more than one element that each axis of a tile consists of, where modes of such extents side by side make its axes, the
/// last of them the fastest.
pub fn modes_of_axes(extents: &[i64], shape: &[i64]) -> Option<Vec<Vec<usize>>> {
    let mut left = (0..extents.len()).filter(|mode| extents[*mode] > 1);
    let axes = shape.iter().map(|extent| {
        let (mut modes, mut size) = (Vec::new(), 1);
        while size < *extent {
            let mode = left.next()?;
            size *= extents[mode];
            modes.push(mode);
        }
        (size == *extent).then_some(modes)
    });
    let axes: Option<Vec<_>> = axes.collect();
    axes.filter(|_| left.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::modes_of_axes;

    #[test]
    fn modes_side_by_side_are_axes() {
        let axes = |extents: &[i64], shape: &[i64]| modes_of_axes(extents, shape);
        assert_eq!(
            axes(&[1, 1, 8, 16, 64], &[128, 64]),
            Some(vec![vec![2, 3], vec![4]])
        );
        assert_eq!(
            axes(&[32, 1, 2, 2], &[32, 4]),
            Some(vec![vec![0], vec![2, 3]])
        );
        assert_eq!(axes(&[8, 1], &[8, 1]), Some(vec![vec![0], vec![]]));
        assert_eq!(axes(&[8, 16, 64], &[64, 128]), None);
        assert_eq!(axes(&[8, 16, 64], &[128]), None);
    }
}
