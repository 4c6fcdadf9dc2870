//! A layout as a list of modes.

use super::rank_mismatch;
use crate::{IntTuple, Layout, LayoutError, Tree};

/// The sub-layout reached by following `path` from the top; the layout itself for an empty path.
///
/// # Errors
/// If there is no such mode.
pub fn get(layout: &Layout, path: &[usize]) -> Result<Layout, LayoutError> {
    let mut here = layout.clone();
    for &index in path {
        here = here.mode(index).ok_or_else(|| LayoutError::NoSuchMode {
            op: "get",
            mode: index,
            rank: here.rank(),
            value: here.to_string(),
        })?;
    }
    Ok(here)
}

/// The layout of the modes `indices`, in that order.
///
/// # Errors
/// If one of them does not exist.
pub fn select(layout: &Layout, indices: &[usize]) -> Result<Layout, LayoutError> {
    let modes: Result<Vec<_>, _> = indices
        .iter()
        .map(|&index| {
            layout.mode(index).ok_or_else(|| LayoutError::NoSuchMode {
                op: "select",
                mode: index,
                rank: layout.rank(),
                value: layout.to_string(),
            })
        })
        .collect();
    Ok(Layout::concat(modes?))
}

/// The layout of the modes `begin .. end`.
///
/// # Errors
/// If the range is empty or reaches beyond the last mode.
pub fn take(layout: &Layout, begin: usize, end: usize) -> Result<Layout, LayoutError> {
    if begin >= end || end > layout.rank() {
        return Err(LayoutError::NoSuchModes {
            op: "take",
            begin,
            end,
            rank: layout.rank(),
            value: layout.to_string(),
        });
    }
    Ok(Layout::concat(layout.modes().skip(begin).take(end - begin)))
}

/// The layout with `mode` in place of its mode `index`.
///
/// # Errors
/// If there is no such mode.
pub fn replace(layout: &Layout, index: usize, mode: &Layout) -> Result<Layout, LayoutError> {
    if index >= layout.rank() {
        return Err(LayoutError::NoSuchMode {
            op: "replace",
            mode: index,
            rank: layout.rank(),
            value: layout.to_string(),
        });
    }
    let modes = layout.modes().enumerate();
    Ok(Layout::concat(modes.map(|(at, old)| match at == index {
        true => mode.clone(),
        false => old,
    })))
}

/// Makes one mode of the modes `begin .. end`.
///
/// # Errors
/// If the range is not one of modes.
pub fn group_modes(layout: &Layout, begin: usize, end: usize) -> Result<Layout, LayoutError> {
    let rank = layout.rank();
    if begin > end || end > rank {
        return Err(LayoutError::NoSuchModes {
            op: "group_modes",
            begin,
            end,
            rank,
            value: layout.to_string(),
        });
    }
    let modes: Vec<Layout> = layout.modes().collect();
    let mut out = modes[..begin].to_vec();
    if begin < end {
        out.push(Layout::concat(modes[begin..end].iter().cloned()));
    }
    out.extend_from_slice(&modes[end..]);
    Ok(Layout::concat(out))
}

/// Adds the mode `mode` at the end.
pub fn append(layout: &Layout, mode: &Layout) -> Layout {
    Layout::concat(layout.modes().chain([mode.clone()]))
}

/// Adds the mode `mode` in front.
pub fn prepend(layout: &Layout, mode: &Layout) -> Layout {
    Layout::concat([mode.clone()].into_iter().chain(layout.modes()))
}

/// Adds `mode` at the end until there are `rank` modes. A layout that has as many already stays
/// as it is, a scalar one of rank 1 included.
pub fn append_to_rank(layout: &Layout, rank: usize, mode: &Layout) -> Layout {
    pad(layout, rank, |modes, missing| {
        modes.extend(std::iter::repeat_n(mode.clone(), missing));
    })
}

/// Adds `mode` in front until there are `rank` modes.
pub fn prepend_to_rank(layout: &Layout, rank: usize, mode: &Layout) -> Layout {
    pad(layout, rank, |modes, missing| {
        modes.splice(0..0, std::iter::repeat_n(mode.clone(), missing));
    })
}

fn pad(layout: &Layout, rank: usize, add: impl FnOnce(&mut Vec<Layout>, usize)) -> Layout {
    let found = layout.rank();
    if found >= rank {
        return layout.clone();
    }
    let mut modes: Vec<Layout> = layout.modes().collect();
    add(&mut modes, rank - found);
    Layout::concat(modes)
}

/// The layout of depth at most 1 with the same leaves.
pub fn flatten(layout: &Layout) -> Layout {
    Layout::raw(layout.shape().flatten(), layout.stride().flatten())
}

/// A flat layout folded into the given profile.
///
/// # Errors
/// If the number of leaves differs.
pub fn unflatten<T>(layout: &Layout, profile: &Tree<T>) -> Result<Layout, LayoutError> {
    let (expected, found) = (profile.leaf_count(), layout.rank());
    if expected != found {
        return Err(rank_mismatch("unflatten", expected, found, layout));
    }
    let mut modes = layout.modes();
    fn go<T>(profile: &Tree<T>, modes: &mut impl Iterator<Item = Layout>) -> Layout {
        match profile {
            Tree::Leaf(_) => modes.next().unwrap_or_else(Layout::unit),
            Tree::Node(profiles) => {
                let modes: Vec<_> = profiles.iter().map(|profile| go(profile, modes)).collect();
                Layout::concat(modes)
            }
        }
    }
    Ok(go(profile, &mut modes))
}

/// Exchanges the two outer levels: `((a,b,…),(x,y,…))` becomes `((a,x),(b,y),…)`.
///
/// # Errors
/// If the modes do not all have the same number of modes.
pub fn zip(layout: &Layout) -> Result<Layout, LayoutError> {
    let shape = zip_tuple(layout.shape())?;
    Ok(Layout::raw(shape, zip_tuple(layout.stride())?))
}

fn zip_tuple(tuple: &IntTuple) -> Result<IntTuple, LayoutError> {
    let Tree::Node(rows) = tuple else {
        return Ok(tuple.clone());
    };
    let Some(Tree::Node(first)) = rows.first() else {
        return Ok(Tree::Node(vec![tuple.clone()]));
    };
    if let Some(row) = rows
        .iter()
        .find(|row| row.is_leaf() || row.rank() != first.len())
    {
        return Err(rank_mismatch("zip", first.len(), row.rank(), row));
    }
    let columns = (0..first.len()).map(|column| {
        let cells = rows.iter().filter_map(|row| row.mode(column).cloned());
        Tree::Node(cells.collect())
    });
    Ok(Tree::Node(columns.collect()))
}
