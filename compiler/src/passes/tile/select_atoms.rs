//! `tile-select-atoms`: the instruction of each product, and how warps share its tile.
//!
//! Before: `tile.dot` without `mma`, or with the atom or the tiled MMA that the program pins. After:
//! `mma` is a tiled MMA, and the function has its `known_block_size`. `tile.warps` on the function pins
//! how many warps there are, or how many along m and n; `tile.pingpong` that two warpgroups have tiles of their own (`pingpong.rs`).
use super::accumulate::accumulate;
use super::across_factors::AcrossFactors;
use super::exchange_factors::Exchanged;
use super::held_factor::HeldFactor;
use super::known_ops::checked_ops;
use super::layout_classes::{LayoutClasses, one_for_each_use};
use super::load_again::load_again;
use super::mapped_loads::MappedLoads;
use super::mapped_view::name_scalars;
use super::multicast::asked;
use super::order_of_rows::{Neighbours, Rows};
use super::pingpong::{self, Asked, Decision};
use super::raster::lower;
use super::share_products::{Arrangement, Product};
use super::signs::add_only;
use super::slices;
use super::types::{fast_axis, operand_layout, pinned_warps};
use super::warpgroup_products::{Choice, REASON};
use super::word_loads::load_words;
use crate::passes::ir_utils::{Kernel, erase, for_each_kernel, set_attribute, string_attribute};
use crate::passes::kernel_abi::set_block_size;
use crate::passes::user_error::user_error;
use crate::passes::{Reported, remark, report};
use cutec_dialects::atoms::{AtomError, Completion, Issuer, Mechanism, MmaAtom, MmaLayouts, Place};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder, result_of};
use cutec_dialects::elem::Elem;
use cutec_dialects::ir::type_attribute;
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::target::{Feature, Target, WARP};
use cutec_dialects::tile::cost_model::traffic;
use cutec_dialects::tile::{Mode, Precision, TileLayout, TileType};
use cutec_dialects::types::tiled_mma;
use cutec_dialects::value::{TiledMmaVal, Val};
use cutec_frontend::diagnostics::codes;
use cutec_layout::tv::Operand;
use cutec_layout::{Layout, Tiler};
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};

/// Neighbours of f32 that a thread accesses at once.
const GROUP: i64 = 4;

/// Chooses for every product of the module.
pub fn select_atoms<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let Kernel {
            context,
            function,
            target,
        } = kernel;
        let failed = |(op, message): (IrOp, String)| report(op.location(), message);
        let mut operations = checked_ops(function).map_err(failed)?;
        if accumulate(context, &operations) {
            operations = checked_ops(function).map_err(failed)?;
        }
        let grid = operations.iter().copied().find(|op| TileOp::Grid.is(*op));
        if target.has(Feature::Tma) && operations.iter().any(|op| TileOp::Dot.is(*op)) {
            name_scalars(context, function, &operations)?;
        }
        let mut mapped = MappedLoads::all(context, function, &operations, &target);
        operations.retain(|op| TileOp::Dot.is(*op));
        one_for_each_use(context, function).map_err(failed)?;
        let mut across = AcrossFactors::of(context, function, &operations, &target);
        let exchanged = Exchanged::of(context, function, &operations, &target);
        let exchanged = exchanged.map_err(failed)?;
        let turns = pingpong::decide(context, function, &operations, &target);
        let mut turns = turns.map_err(failed)?;
        if operations.is_empty() {
            return of_one_tile(context, function, grid, &target);
        }
        let mut choice = Choice::of(function, &operations, &target);
        if let (Err(why), Asked::Chosen) = (&choice, turns.asked) {
            pingpong::set(context, function, 1);
            turns = Decision::cannot(why.as_deref().unwrap_or("one has no room for a tile"));
            choice = Choice::of(function, &operations, &target);
        }
        if choice.is_err() && mapped.undo() {
            choice = Choice::of(function, &operations, &target);
        }
        match choice {
            Ok(choice) => {
                for (dot, reason) in exchanged.products {
                    remark(dot.location(), reason);
                }
                if let Some(first) = operations.first() {
                    remark(first.location(), turns.reason);
                }
                mapped.keep();
                choice.apply(context);
                return set_block_size(context, function, choice.threads);
            }
            Err(None) => {}
            Err(Some(reason)) if turns.asked == Asked::Pinned => {
                return Err(report(function.location(), pingpong::refused(&reason)));
            }
            Err(Some(reason)) => {
                let ir = OpBuilder::new(context, Insertion::Before(function));
                let reason = ir.string(&exchanged.explained(reason));
                for dot in &operations {
                    set_attribute(*dot, REASON, reason);
                }
            }
        }
        let back = exchanged.back(context, function, &operations);
        back.map_err(failed)?;
        across.undo();
        of_one_tile(context, function, grid, &target)?;
        add_only(context, &operations);
        load_words(context, function, &operations).map_err(failed)?;
        let products = operations
            .into_iter()
            .map(|dot| product(dot, &target).map_err(|message| report(dot.location(), message)))
            .collect::<Result<Vec<_>, _>>()?;
        if !products.is_empty() {
            let threads = select(context, function, &products).map_err(failed)?;
            // Of what a thread multiplies by itself many others have the same.
            let by_threads = |product: &&Product<'c>| product.atom.issuer() == Issuer::Thread;
            for product in products.iter().filter(by_threads) {
                let factors = tile::Dot::of(product.dot).map(tile::Dot::factors);
                let loads = factors
                    .into_iter()
                    .flatten()
                    .filter_map(tile::Load::defining);
                loads.for_each(|load| load_again(context, load.op()));
            }
            set_block_size(context, function, threads)?;
        }
        Ok::<_, Reported>(())
    })
}

/// Makes blocks of one tile each, which need not know how many there are.
fn of_one_tile<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    grid: Option<IrOp<'c>>,
    target: &Target,
) -> Result<(), Reported> {
    if asked(function, target).is_some() {
        lower(context, function, [1, 1])?;
    }
    grid.into_iter().for_each(erase);
    Ok(())
}

/// The atom of a product, pinned or chosen.
fn product<'c>(dot: IrOp<'c>, target: &Target) -> Result<Product<'c>, String> {
    let dot_of = tile::Dot::of(dot).ok_or("an operand is missing")?;
    let [a, b, c] = [dot_of.a(), dot_of.b(), dot_of.c()].map(tile_type);
    // f32 is multiplied by what takes tf32, if that is asked for.
    let precision = Precision::of(&dot)?;
    let multiplied = |tile: TileType| tile.with_elem(precision.multiplied_as(tile.elem));
    let [a, b, c] = [multiplied(a?), multiplied(b?), c?];
    let ([rows, columns, whole_depth], slices) = slices::extents_of_product(&a, &c);
    let (extents, depth) = ([rows, columns], whole_depth / slices);
    let (atom, pinned) = match type_attribute(dot, "mma") {
        None => (atom_of([a.elem, b.elem, c.elem], depth, target)?, None),
        Some(Ok(Val::TiledMma(tiled))) => (tiled.atom, Some(tiled)),
        Some(Ok(Val::MmaAtom(atom))) => (atom, None),
        Some(Ok(other)) => return Err(format!("expects an MMA, but got {}", other.describe())),
        Some(Err(error)) => return Err(error.to_string()),
    };
    atom.legal_on(target).map_err(|error| match error {
        AtomError::Target { needs, target, .. } => {
            let types = named([a.elem, b.elem, c.elem]);
            let message = format!("a product of {types} needs {needs}; the target is {target}");
            let oldest = needs.split([' ', ',']).next().unwrap_or_default();
            let help = match a.elem.bits() < 16 && a.elem.is_float() {
                // Where there are no products of f8, there are no conversions of it either.
                true => format!("compile for such a target: `--arch {oldest}`"),
                false => format!(
                    "compile for such a target, `--arch {oldest}`, or convert the operands: `f16(x)`"
                ),
            };
            user_error(codes::ILLEGAL_ATOM, message, &help)
        }
        other => other.to_string(),
    })?;
    if !is_arranged(&atom) {
        let of_warpgroups = string_attribute(dot, REASON);
        let (message, help) = match of_warpgroups.filter(|_| atom.issuer() == Issuer::Warpgroup) {
            Some(why) => (
                format!("the pinned `mma` cannot multiply the products of this kernel: {why}"),
                "leave out `mma`: `--remarks` says what is chosen",
            ),
            None => (
                String::from(
                    "the pinned `mma` is an instruction for `copy` and `gemm` of threads, not for tiles",
                ),
                "leave out `mma`, or write the kernel with threads",
            ),
        };
        return Err(user_error(codes::PINNED, message, help));
    }
    let layouts = atom.layouts().map_err(|error| error.to_string())?;
    let whole = pinned.as_ref().map(|mma| mma.tiled.tile_size_mnk());
    let whole = whole.and_then(|[m, n, k]| Some([m.as_static()?, n.as_static()?, k.as_static()?]));
    let ([m, n, k], multiplier) = match whole {
        Some(whole) => (whole, "tiled MMA"),
        None => (layouts.shape, "instruction"),
    };
    if slices > 1 && pinned.is_some() {
        let message = "a tiled MMA says how warps share a product, and this one is of slices of k";
        let help = "pin the atom alone, or leave out `slices`";
        return Err(user_error(codes::PINNED, message, help));
    }
    if slices > 1 && precision == Precision::Tf32x3 {
        let message = "a product of slices of k is not split into parts of tf32";
        let help = "leave out `slices`, or `precision = tf32x3`";
        return Err(user_error(codes::TILE_SHAPE, message, help));
    }
    let divides = |whole: i64, part: i64| part > 0 && whole % part == 0;
    if !divides(extents[0], m) || !divides(extents[1], n) || !divides(depth, k) {
        let of_slice = if slices > 1 {
            " in each slice of k"
        } else {
            ""
        };
        let message = format!(
            "a product expects extents that are multiples of {m} × {n} × {k}, which the {multiplier} multiplies, but got {rows} × {columns} × {depth}{of_slice}"
        );
        let help = "make the tiles larger: what lies outside of the tensor is 0, and not written";
        return Err(user_error(codes::TILE_SHAPE, message, help));
    }
    if let Some(mma) = &pinned {
        let shapes = [&a.shape, &b.shape, &c.shape];
        if let Err(reason) = (0..3).try_for_each(|index| shares(mma, index, shapes[index])) {
            let message =
                format!("the threads of the pinned `mma` do not share this product: {reason}");
            let help = "`permute` numbers each row and column of the tile once; or leave it out";
            return Err(user_error(codes::PINNED, message, help));
        }
    }
    let held = HeldFactor::of(dot).filter(|_| slices == 1 && atom.issuer() == Issuer::Warp);
    let order_k = match &held {
        Some(held) => held.order(depth, layouts.shape[2]),
        None => slices::order_of(slices, whole_depth, layouts.shape[2]),
    };
    let factors = dot_of.factors();
    let neighbours = [0, 1].map(|index| match (atom.issuer(), &held) {
        (Issuer::Thread | Issuer::Warpgroup, _) => Neighbours::ONE,
        (Issuer::Warp, Some(held)) if held.index == index => held.neighbours(),
        (Issuer::Warp, _) => Neighbours::of_loaded(factors[index]),
    });
    Ok(Product {
        dot,
        atom,
        extents,
        neighbours,
        of_atom: [layouts.shape[0], layouts.shape[1]],
        depth: whole_depth,
        slices,
        order_k,
        held: held.map(|held| held.index),
        columns_of_thread: neighbouring_columns(&layouts)?,
        pinned: pinned.and_then(|mma| mma.tiled.threads().as_static()),
    })
}

/// Checks that the threads of a tiled MMA share an operand, a, b or c. Factors are held by several threads, sums by one.
fn shares(mma: &TiledMmaVal, index: usize, shape: &[i64]) -> Result<(), String> {
    let layout = operand_layout(mma, index, shape)?;
    let mut held = layout.value_modes(shape)?;
    if index == 2 {
        held.extend(layout.thread_modes(shape)?);
    }
    match held.iter().any(Mode::repeats) {
        true => Err(format!("{} has elements twice", layout.tv())),
        false => Ok(()),
    }
}

/// Gives every product of a function its tiled MMA, all of the same number of threads: that is the result.
fn select<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    products: &[Product<'c>],
) -> Result<i64, (IrOp<'c>, String)> {
    let classes = LayoutClasses::of(function)?;
    let Arrangement { threads, splits } = Arrangement::of(function, &classes, products)?;
    let pinned = pinned_warps(function).map_err(|message| (function, message))?;
    let sums_of = |product: &Product<'c>| classes.class(result_of(product.dot, 0));
    // Products that add to the same sums spread them alike.
    let alike = |product: &Product<'c>| {
        let (dot, sums) = (product.dot, sums_of(product));
        let classes = &classes;
        let alike = move |other: &&Product<'c>| {
            let same = sums.is_some() && classes.class(result_of(other.dot, 0)) == sums;
            other.dot == dot || same
        };
        products.iter().filter(alike)
    };
    let are_along_k = |product: &Product<'c>, factor: usize| {
        alike(product).all(|product| is_along_k(product.dot, factor))
    };
    let factors = classes.of_factors(products.iter().map(|product| product.dot));
    for (product, split) in products.iter().zip(splits) {
        let [rows, columns] = split;
        if product.pinned.is_some() {
            continue;
        }
        if pinned.is_none() && product.atom.issuer() == Issuer::Warp {
            let slices = product.slices;
            let of_slices = match slices {
                1 => String::new(),
                slices => format!(" for each of {slices} slices of k"),
            };
            let message = format!(
                "{} this product, {rows} × {columns}{of_slices}, chosen: a warp reads {} rows and columns for each k; `warps(rows, columns)` pins them",
                match rows * columns * slices {
                    1 => "1 warp has".to_owned(),
                    warps => format!("{warps} warps share"),
                },
                traffic(product.extents, [rows, columns])
            );
            remark(product.dot.location(), message);
        }
        let sums = sums_of(product);
        let is_factor = sums.is_some_and(|sums| factors.contains(&sums));
        let [a_by_rows, b_by_rows] = [0, 1].map(|factor| are_along_k(product, factor));
        let slices = product.slices;
        let of_warps = || {
            let along_k = slices::atoms_of(slices, rows * columns);
            let atoms = [(rows, 1), (columns, rows), along_k];
            let [of_a, of_b] = [(0, rows), (1, columns)].map(|(axis, warps)| Rows {
                extent: product.extents[axis],
                of_atom: product.of_atom[axis],
                warps,
            });
            let across = |factor: usize, rows: Rows| {
                let neighbours = product.neighbours[factor];
                let all = alike(product).all(|other| other.neighbours[factor] == neighbours);
                (all && !is_factor)
                    .then(|| rows.across(neighbours))
                    .flatten()
            };
            let order_m = across(0, of_a).unwrap_or(Tiler::All);
            let order_n = across(1, of_b).unwrap_or_else(|| match product.atom.issuer() {
                Issuer::Warp => of_b.of_columns(product.columns_of_thread, b_by_rows && !is_factor),
                Issuer::Thread | Issuer::Warpgroup => Tiler::All,
            });
            (Layout::of_modes(atoms), [order_m, order_n])
        };
        let (atoms, [order_m, order_n]) = match product.atom.issuer() {
            Issuer::Thread => {
                of_lanes(product, threads / slices, a_by_rows).unwrap_or_else(of_warps)
            }
            Issuer::Warp | Issuer::Warpgroup => of_warps(),
        };
        let order = Tiler::Tile(vec![order_m, order_n, product.order_k.clone()]);
        let tiled = tiled_mma(product.atom, atoms, order);
        let tiled = tiled.map_err(|error| (product.dot, error.to_string()))?;
        let ir = OpBuilder::new(context, Insertion::Before(product.dot));
        set_attribute(product.dot, "mma", ir.type_attr(ir.val_type(&tiled)));
    }
    Ok(threads)
}

/// How so many single threads share a product, or the products of each of its slices, so that each has groups of [`GROUP`] neighbouring rows and columns,
/// which it reads and stores at once: the layout of the threads, and the tilers along m and n.
///
/// Of the lanes of a warp, two by four stand side by side: a quarter of a warp reads four vectors of
/// one operand and two of the other. Of all ways, the one in which a thread reads the least; where two are
/// alike, more lanes along the operand whose rows are in one piece.
fn of_lanes(product: &Product, threads: i64, a_by_rows: bool) -> Option<(Layout, [Tiler; 2])> {
    let [m, n] = product.extents;
    let lanes = match a_by_rows {
        true => [(8, 4), (4, 8)],
        false => [(4, 8), (8, 4)],
    };
    let warps = threads / WARP;
    let ways = (0..=warps.ilog2()).map(|power| (warps >> power, 1 << power));
    let ways = lanes
        .iter()
        .flat_map(|lanes| ways.clone().map(move |warps| (*lanes, warps)));
    let groups = |((lm, ln), (wm, wn)): &((i64, i64), (i64, i64))| {
        let (rows, columns) = (GROUP * lm * wm, GROUP * ln * wn);
        (m % rows == 0 && n % columns == 0).then_some((m / rows, n / columns))
    };
    let best = ways
        .filter_map(|way| Some((way, groups(&way)?)))
        .min_by_key(|(_, (rows, columns))| rows + columns)?;
    let (((lm, ln), (wm, wn)), (rows, columns)) = best;
    let (slices, apart) = slices::atoms_of(product.slices, threads);
    let along_k = Layout::scalar(slices, apart);
    let atoms = Layout::concat([
        Layout::of_modes([(2, 1), (lm / 2, 4), (wm, WARP)]),
        Layout::of_modes([(2, 2), (ln / 2, 2 * lm), (wn, WARP * wm)]),
        along_k,
    ]);
    let along = |lanes: i64, warps: i64, groups: i64| {
        let (beside, apart) = (GROUP * lanes, GROUP * lanes * groups);
        Tiler::Layout(Layout::concat([
            Layout::of_modes([(lanes, GROUP), (warps, apart)]),
            Layout::scalar(GROUP, 1),
            Layout::scalar(groups, beside),
        ]))
    };
    Some((atoms, [along(lm, wm, rows), along(ln, wn, columns)]))
}

/// Whether the rows of an operand that is loaded are in one piece.
fn is_along_k(dot: IrOp, index: usize) -> bool {
    tile::Dot::of(dot)
        .and_then(|dot| tile::Load::defining(dot.factors()[index]))
        .and_then(|load| fast_axis(load.view()))
        .is_some_and(|(axis, _)| axis == 1)
}

/// Neighbouring columns of the accumulator that a thread of an instruction has.
fn neighbouring_columns(layouts: &MmaLayouts) -> Result<i64, String> {
    let [m, n, _] = layouts.shape;
    let accumulator = TileLayout::new(layouts.c.clone())?;
    accumulator.neighbours(&[m, n], 1)
}

/// The instruction for the types of a product of so many along k, or of each slice: of the best ones the longest in k that divides it.
fn atom_of(types: [Elem; 3], k: i64, target: &Target) -> Result<MmaAtom, String> {
    let [a, ..] = types;
    // Elements of four bits are moved and multiplied by atoms alone; there are no tiles of them.
    let mut candidates = match a.is_packed() {
        true => Vec::new(),
        false => MmaAtom::of_types(types),
    };
    candidates.retain(is_arranged);
    // Those of single threads only where there are no others.
    keep_if_any(&mut candidates, |atom| match atom.issuer() {
        Issuer::Thread => false,
        Issuer::Warp | Issuer::Warpgroup => true,
    });
    // Where the target has none of them, the error says which targets do.
    keep_if_any(&mut candidates, |atom| atom.legal_on(target).is_ok());
    let Some(shortest) = candidates.last() else {
        let message = format!("no instruction multiplies {}", named(types));
        let help = "convert the operands: `f16(x)`, `bf16(x)`";
        return Err(user_error(codes::TILE_SHAPE, message, help));
    };
    let length = |atom: &MmaAtom| atom.shape()[2];
    let fitting = candidates.iter().find(|atom| k % length(atom) == 0);
    fitting.copied().ok_or_else(|| {
        let message = format!(
            "a product of {} expects an extent along k that is a multiple of {}, but got {k}",
            a.language_name(),
            length(shortest)
        );
        let help = "make the tiles longer along k: what lies outside of the tensor is 0";
        user_error(codes::TILE_SHAPE, message, help)
    })
}

/// Drops what a rule is against, if that is not all.
fn keep_if_any(candidates: &mut Vec<MmaAtom>, rule: impl Fn(&MmaAtom) -> bool) {
    if candidates.iter().any(&rule) {
        candidates.retain(rule);
    }
}

/// Whether the passes at tile level know how to bring an instruction its operands, and when its result is there.
fn is_arranged(atom: &MmaAtom) -> bool {
    let in_registers = |which| match atom.operand(which).place {
        Place::Registers => true,
        Place::Shared | Place::SharedDescriptor | Place::Global | Place::Anywhere => false,
    };
    let at_once = match atom.completion() {
        Completion::AtOnce => true,
        Completion::Later(Mechanism::CpAsyncGroup | Mechanism::WgmmaGroup) => false,
    };
    at_once
        && [Operand::A, Operand::B, Operand::C]
            .into_iter()
            .all(in_registers)
}

/// The types of a product, in words.
fn named(types: [Elem; 3]) -> String {
    let [a, b, c] = types.map(Elem::language_name);
    match a == b {
        true => format!("{a} to {c}"),
        false => format!("{a} and {b} to {c}"),
    }
}

fn tile_type(value: IrValue) -> Result<TileType, String> {
    TileType::of(value.r#type()).unwrap_or_else(|| Err("expects tiles".into()))
}
