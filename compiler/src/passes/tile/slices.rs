//! Products of slices of k: each has atoms of its own, behind one another along k, and a part of k in one piece. Their sums are a tile whose first
//! axis is that of the slices.
use super::types::operand_layout;
use cutec_dialects::tile::{Mode, TileLayout, TileType};
use cutec_dialects::types::tiled_mma;
use cutec_dialects::value::{TiledMmaVal, Val};
use cutec_layout::algebra::coalesce;
use cutec_layout::{Layout, Tiler};

/// How sums of slices of k are spread: each by the atoms that have its place along k, which are the slowest part of a thread's number.
pub(super) fn layout_of(
    mma: &TiledMmaVal,
    slices: i64,
    shape: [i64; 2],
) -> Result<TileLayout, String> {
    let atoms = mma.tiled.atom_layout_mnk();
    let along = |axis: usize| atoms.mode(axis).unwrap_or_else(Layout::unit);
    let beside = along(0).size().mul(&along(1).size());
    let expected = Layout::scalar(slices, beside);
    let alone = slices == 1 && along(2).size().is(1);
    if !alone && coalesce(&along(2)) != expected {
        return Err(format!(
            "expects atoms along k as {expected} for {slices} slices of k, but got {}",
            along(2)
        ));
    }
    let atoms = Layout::concat([along(0), along(1), Layout::scalar(1, 0)]);
    let order = Tiler::Tile(mma.tiled.permutation_mnk().to_vec());
    let of_slice = tiled_mma(mma.atom, atoms, order).map_err(|error| error.to_string())?;
    let Val::TiledMma(of_slice) = of_slice else {
        return Err("is no tiled MMA".into());
    };
    let of_one = operand_layout(&of_slice, 2, &shape)?;
    let behind = |modes: Vec<Mode>| -> Vec<Mode> {
        let along = |(axis, step)| (axis + 1, step);
        let modes = modes.into_iter();
        modes
            .map(|mode| Mode {
                along: mode.along.map(along),
                ..mode
            })
            .collect()
    };
    let (mut threads, values) = (
        behind(of_one.thread_modes(&shape)?),
        behind(of_one.value_modes(&shape)?),
    );
    if slices > 1 {
        threads.push(Mode {
            extent: slices,
            along: Some((0, 1)),
        });
    }
    let shape = [slices, shape[0], shape[1]];
    let layout = TileLayout::of_modes(&threads, &values, &shape);
    layout.check(&shape)?;
    Ok(layout)
}

/// Which part of k each of so many slices has: the `part`-th of `slices` alike, whose instructions multiply `depth` at once. The tiler along k
/// of a tiled MMA of as many atoms there.
pub(super) fn order_of(slices: i64, k: i64, depth: i64) -> Tiler {
    match slices {
        1 => Tiler::All,
        _ => {
            let own = k / slices;
            let modes = [(depth, 1), (slices, own), (own / depth, depth)];
            Tiler::Layout(Layout::of_modes(modes))
        }
    }
}

/// How atoms of so many slices stand along k, behind so many others: their number, and how far apart.
pub(super) fn atoms_of(slices: i64, others: i64) -> (i64, i64) {
    match slices {
        1 => (1, 0),
        _ => (slices, others),
    }
}

/// How many warps are pinned in all: as rows and columns those of each of so many slices, as a number those of all.
pub(super) fn pinned_in_all(warps: &[i64], slices: i64) -> i64 {
    match warps {
        [rows, columns] => rows * columns * slices,
        _ => warps.iter().product(),
    }
}

/// The extents of a product along m, n and k, and the slices of k whose products are apart.
pub(super) fn extents_of_product(a: &TileType, c: &TileType) -> ([i64; 3], i64) {
    let (slices, [m, n]) = match c.shape[..] {
        [slices, m, n] => (slices, [m, n]),
        _ => (1, [c.shape[0], c.shape[1]]),
    };
    ([m, n, a.shape[1]], slices)
}
