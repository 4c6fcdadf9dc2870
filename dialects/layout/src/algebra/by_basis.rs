//! Layouts into coordinates, whose strides are scaled bases: each coordinate of the codomain is
//! one place in a tree, and the inverses and the complement go place by place.

use super::{complement, complement_default, left_inverse, make_identity_layout, right_inverse};
use crate::{Int, IntTuple, Layout, LayoutError, Tree};

/// Whether a stride of the layout is a scaled basis.
pub fn is_by_basis(layout: &Layout) -> bool {
    layout
        .stride()
        .leaves()
        .iter()
        .any(|leaf| !leaf.path().is_empty())
}

/// [`right_inverse`] at every place.
pub fn right_inverse_by_basis(layout: &Layout) -> Result<Layout, LayoutError> {
    place_by_place(layout, &|_, part| Ok(right_inverse(part)), &|_| {
        Layout::unit()
    })
}

/// [`left_inverse`] at every place.
///
/// # Errors
/// As [`left_inverse`].
pub fn left_inverse_by_basis(layout: &Layout) -> Result<Layout, LayoutError> {
    place_by_place(layout, &|_, part| left_inverse(part), &|_| Layout::unit())
}

/// The minimal complement at every place, with a last mode of extent 1 where the layout ends.
///
/// # Errors
/// As [`complement_default`].
pub fn complement_by_basis(layout: &Layout) -> Result<Layout, LayoutError> {
    place_by_place(
        layout,
        &|path, part| Ok(scaled(path, &minimal_complement(part)?)),
        &|path| Layout::scalar(Int::ONE, Int::scaled(Int::ONE, path.to_vec())),
    )
}

/// The complement at every place up to the extents of `cotarget`: places that the layout does not
/// reach are left out whole.
///
/// # Errors
/// As [`complement`]; also if the layout has places that `cotarget` lacks.
pub fn complement_by_basis_to(layout: &Layout, cotarget: &IntTuple) -> Result<Layout, LayoutError> {
    fn at(
        layout: &Layout,
        cotarget: &IntTuple,
        paths: &[&[usize]],
        here: &mut Vec<usize>,
    ) -> Result<Layout, LayoutError> {
        if paths.is_empty() {
            return Ok(scaled(here, &make_identity_layout(cotarget)));
        }
        if let Some(path) = paths.iter().find(|path| path.len() == here.len()) {
            return Ok(scaled(
                here,
                &complement(&part_at(layout, path)?, cotarget)?,
            ));
        }
        let depth = here.len();
        let outside = paths.iter().find(|path| path[depth] >= cotarget.rank());
        let Tree::Node(extents) = cotarget else {
            return Err(no_such_place(layout, cotarget));
        };
        if outside.is_some() {
            return Err(no_such_place(layout, cotarget));
        }
        let mut modes = Vec::with_capacity(extents.len());
        for (mode, extent) in extents.iter().enumerate() {
            let inside: Vec<&[usize]> = paths
                .iter()
                .filter(|path| path[depth] == mode)
                .copied()
                .collect();
            here.push(mode);
            modes.push(at(layout, extent, &inside, here)?);
            here.pop();
        }
        Ok(Layout::concat(modes))
    }
    let paths = places(layout);
    let paths: Vec<&[usize]> = paths.iter().map(Vec::as_slice).collect();
    at(layout, cotarget, &paths, &mut Vec::new())
}

fn no_such_place(layout: &Layout, cotarget: &IntTuple) -> LayoutError {
    LayoutError::ProfileMismatch {
        op: "complement",
        expected: cotarget.to_string(),
        found: layout.to_string(),
    }
}

/// The layout with all its strides in the direction `path`.
fn scaled(path: &[usize], layout: &Layout) -> Layout {
    let stride = layout
        .stride()
        .map(&mut |leaf| Int::scaled(leaf.clone(), path.to_vec()));
    Layout::raw(layout.shape().clone(), stride)
}

/// The layout as it moves in the direction `path`.
fn part_at(layout: &Layout, path: &[usize]) -> Result<Layout, LayoutError> {
    let stride = layout.stride().map(&mut |leaf| match leaf.path() == path {
        true => leaf.value().clone(),
        false => Int::ZERO,
    });
    Layout::new(layout.shape().clone(), stride)
}

/// [`complement_default`] with a last mode `1:end`, `end` being where the layout ends.
///
/// # Errors
/// As [`complement_default`].
pub fn minimal_complement(layout: &Layout) -> Result<Layout, LayoutError> {
    let gaps = complement_default(layout)?;
    let strides = layout.stride().leaves().into_iter();
    let ends = layout.shape().leaves().into_iter().zip(strides);
    let mut end = Int::ONE;
    for (extent, stride) in ends {
        let here = extent.mul(stride);
        match (here.as_static(), end.as_static()) {
            (Some(a), Some(b)) if a > b => end = here,
            (None, _) => return Ok(gaps),
            _ => {}
        }
    }
    let last = Layout::scalar(Int::ONE, end);
    if gaps.shape().as_leaf().is_some_and(|extent| extent.is(1)) {
        return Ok(last);
    }
    Ok(super::append(&gaps, &last))
}

/// What is free of the codomain, from place to place: the gaps, and `span` elements at the end.
pub(crate) fn free_by_basis(layout: &Layout, span: Int) -> Result<Layout, LayoutError> {
    let complement = complement_by_basis(layout)?;
    let strides = complement.stride().leaves().into_iter().cloned();
    let extents = complement.shape().leaves().into_iter().cloned();
    let mut modes: Vec<(Int, Int)> = extents.zip(strides).collect();
    let last = modes.pop().map_or(Int::ONE, |(_, stride)| stride);
    modes.retain(|(extent, _)| !extent.is(1));
    modes.push((span, last));
    let modes: Vec<Layout> = modes
        .into_iter()
        .map(|(extent, stride)| Layout::scalar(extent, stride))
        .collect();
    Ok(match <[Layout; 1]>::try_from(modes) {
        Ok([one]) => one,
        Err(modes) => Layout::concat(modes),
    })
}

type Part<'a> = &'a dyn Fn(&[usize], &Layout) -> Result<Layout, LayoutError>;
type Missing<'a> = &'a dyn Fn(&[usize]) -> Layout;

/// The directions of the strides, each once.
fn places(layout: &Layout) -> Vec<Vec<usize>> {
    let mut paths: Vec<Vec<usize>> = Vec::new();
    for leaf in layout.stride().leaves() {
        if !leaf.path().is_empty() && !paths.iter().any(|path| path == leaf.path()) {
            paths.push(leaf.path().to_vec());
        }
    }
    paths
}

fn place_by_place(layout: &Layout, f: Part, missing: Missing) -> Result<Layout, LayoutError> {
    let paths = places(layout);
    let paths: Vec<&[usize]> = paths.iter().map(Vec::as_slice).collect();
    place(layout, &paths, &mut Vec::new(), f, missing)
}

fn place(
    layout: &Layout,
    paths: &[&[usize]],
    here: &mut Vec<usize>,
    f: Part,
    missing: Missing,
) -> Result<Layout, LayoutError> {
    let depth = here.len();
    if paths.is_empty() {
        return Ok(missing(here));
    }
    if let Some(path) = paths.iter().find(|path| path.len() == depth) {
        return f(path, &part_at(layout, path)?);
    }
    let rank = paths.iter().map(|path| path[depth] + 1).max().unwrap_or(0);
    let mut modes = Vec::with_capacity(rank);
    for mode in 0..rank {
        let inside: Vec<&[usize]> = paths
            .iter()
            .filter(|path| path[depth] == mode)
            .copied()
            .collect();
        here.push(mode);
        modes.push(place(layout, &inside, here, f, missing)?);
        here.pop();
    }
    Ok(Layout::concat(modes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_layout;

    #[test]
    fn inverses_go_place_by_place() {
        let left = |text: &str| left_inverse_by_basis(&parse_layout(text).unwrap()).unwrap();
        assert_eq!(left("(4,5):(1@1,1@0)").to_string(), "(5,4):(4,1)");
        assert_eq!(
            left("(4,5):(2@0,2@1)").to_string(),
            "((2,4),(2,5)):((0,1),(0,4))"
        );
        let free = |text: &str| complement_by_basis(&parse_layout(text).unwrap()).unwrap();
        assert_eq!(free("3:4@1").to_string(), "(1,(4,1)):(1@0,(1@1,12@1))");
        let rest = |text: &str, shape: &str| {
            let shape = crate::text::parse_int_tuple(shape).unwrap();
            complement_by_basis_to(&parse_layout(text).unwrap(), &shape)
                .map_or_else(|error| error.to_string(), |rest| rest.to_string())
        };
        assert_eq!(rest("2:64@0", "(128,64)"), "(64,64):(1@0,1@1)");
        assert_eq!(
            rest("2:32@0", "(128,(8,8))"),
            "((32,2),(8,8)):((1@0,64@0),(1@0@1,1@1@1))"
        );
        assert_eq!(
            rest("2:1@2", "(128,64)"),
            "complement: 2:1@2 does not have the profile of (128,64)"
        );
    }
}
