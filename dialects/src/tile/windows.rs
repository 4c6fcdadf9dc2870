//! Windows of a convolution: which pixels of images the rows of a tile are.
use super::place::integers;
use melior::ir::operation::OperationLike;

/// The attribute of `tile.windows`, and of a `tile.load` or `tile.copy_async` that brings the same.
pub const WINDOWS: &str = "windows";

/// The attribute of a map that gathers a tile, and of the copies that it becomes, or of a `tile.scatter`, that says why the tile is not
/// copied as a part of a tensor.
pub const GATHERED_SINCE: &str = "cute.gathered_since";

/// How windows go over the pixels of images (n, …, c), along each mode of pixels, the slowest first. A row of the tile is a pixel of
/// the result, a column a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Where the first window begins: not positive where images have a border.
    pub lower: Vec<i64>,
    /// Where the last one begins, counted from the last pixel.
    pub upper: Vec<i64>,
    /// From window to window.
    pub step: Vec<i64>,
    /// By how much pixels are moved at most, to the last element of a window.
    pub reach: Vec<i64>,
}

impl Windows {
    /// What an operation says of windows.
    ///
    /// # Errors
    /// What is wrong with the attribute.
    pub fn of<'c: 'a, 'a>(op: &impl OperationLike<'c, 'a>) -> Result<Option<Self>, String> {
        let Ok(attribute) = op.attribute(WINDOWS) else {
            return Ok(None);
        };
        let numbers = integers(&attribute.to_string())?;
        let modes = numbers.len() / 4;
        if !(1..=3).contains(&modes) || !numbers.len().is_multiple_of(4) {
            return Err(format!(
                "expects four numbers for each of 1 to 3 modes of pixels as `{WINDOWS}`, but got {}",
                numbers.len()
            ));
        }
        let mut parts = numbers.chunks(modes).map(<[i64]>::to_vec);
        let mut next = || parts.next().unwrap_or_default();
        let windows = Windows {
            lower: next(),
            upper: next(),
            step: next(),
            reach: next(),
        };
        let mut all = windows.step.iter().chain(&windows.reach);
        match all.any(|number| *number < 0) || windows.step.contains(&0) {
            true => Err("expects positive steps, and moves that are not negative".into()),
            false => Ok(Some(windows)),
        }
    }

    /// The attribute's numbers.
    pub fn numbers(&self) -> Vec<i64> {
        [&self.lower, &self.upper, &self.step, &self.reach]
            .into_iter()
            .flatten()
            .copied()
            .collect()
    }

    /// How many modes of pixels there are.
    pub fn modes(&self) -> usize {
        self.lower.len()
    }

    /// For how many elements of a filter a coordinate of so many numbers is: it has the image and a pixel, and for each element a tile
    /// of channels and by how much pixels are moved. `None` where it is of none.
    pub fn elements(&self, coordinates: usize) -> Option<usize> {
        let each = self.modes() + 1;
        let elements = coordinates.checked_sub(each)?;
        (elements > 0 && elements.is_multiple_of(each)).then_some(elements / each)
    }
}
