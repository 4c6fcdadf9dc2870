//! `tile-select-atoms`: the instruction of each product, and how warps share its tile.
//!
//! Before: `tile.dot` without `mma`, or with the atom or the tiled MMA that the program pins. After:
//! `mma` is a tiled MMA, and the function has its `known_block_size`. `tile.warps` on the function pins
//! how many warps there are, or how many along m and n.
use super::block_size::{self, WARP, warps_of_product};
use super::classes::Classes;
use super::known_ops::checked_ops;
use super::types::{fast_axis, pinned_warps};
use crate::passes::ir_utils::{
    Kernel, defining_op, for_each_kernel, name_of, operand_value, set_attribute,
};
use crate::passes::kernel_abi::set_block_size;
use crate::passes::user_error::user_error;
use crate::passes::{Reported, report};
use cutec_dialects::builder::{Insertion, IrOp, OpBuilder, result_of};
use cutec_dialects::elem::Elem;
use cutec_dialects::target::Target;
use cutec_dialects::tile::TileType;
use cutec_dialects::types::{Vars, parse_type};
use cutec_dialects::value::Val;
use cutec_frontend::diagnostics::codes;
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};

/// Neighbours of f32 that a thread accesses at once.
const GROUP: i64 = 4;

/// What is known of a product before the warps are.
struct Product<'c> {
    dot: IrOp<'c>,
    /// Type of its atom, or of its tiled MMA where that is pinned.
    mma: String,
    /// Extents of the tile and of the atom, along m and n; threads of the atom.
    extents: [i64; 2],
    atom: [i64; 2],
    threads: i64,
    /// Threads of a pinned tiled MMA.
    pinned: Option<i64>,
}

/// Chooses for every product of the module.
pub fn select_atoms<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let Kernel {
            context,
            function,
            target,
        } = kernel;
        let operations = checked_ops(function);
        let mut operations = operations.map_err(|(op, message)| report(op.location(), message))?;
        operations.retain(|op| name_of(*op) == "tile.dot");
        let products = operations
            .into_iter()
            .map(|dot| product(dot, &target).map_err(|message| report(dot.location(), message)))
            .collect::<Result<Vec<_>, _>>()?;
        if !products.is_empty() {
            let threads = select(context, function, &products)
                .map_err(|(dot, message)| report(dot.location(), message))?;
            set_block_size(context, function, threads)?;
        }
        Ok(())
    })
}

/// The atom of a product, pinned or chosen.
fn product<'c>(dot: IrOp<'c>, target: &Target) -> Result<Product<'c>, String> {
    let [a, b, c] = [tile(dot, 0)?, tile(dot, 1)?, tile(dot, 2)?];
    let mma = match dot.attribute("mma") {
        Ok(pinned) => pinned.to_string(),
        Err(_) => atom_of(&a, &b, &c)?,
    };
    let (atom, pinned) = match parse_type(&mma, &mut Vars::default()) {
        Ok(Val::TiledMma(tiled)) => (tiled.atom, tiled.tiled.threads().as_static()),
        Ok(Val::MmaAtom(atom)) => (atom, None),
        Ok(other) => return Err(format!("expects an MMA, but got {}", other.describe())),
        Err(error) => return Err(error.to_string()),
    };
    atom.legal_on(target).map_err(|error| error.to_string())?;
    let layouts = atom.layouts().map_err(|error| error.to_string())?;
    let [m, n, k] = layouts.shape;
    let (extents, depth) = ([c.shape[0], c.shape[1]], a.shape[1]);
    if extents[0] % m != 0 || extents[1] % n != 0 || depth % k != 0 {
        let [rows, columns] = extents;
        let message = format!(
            "a product expects extents that are multiples of {m} × {n} × {k}, which the instruction multiplies, but got {rows} × {columns} × {depth}"
        );
        let help = "make the tiles larger: what lies outside of the tensor is 0, and not written";
        return Err(user_error(codes::TILE_SHAPE, message, help));
    }
    Ok(Product {
        dot,
        mma,
        extents,
        atom: [m, n],
        threads: if (m, n) == (1, 1) { 1 } else { WARP },
        pinned,
    })
}

/// Gives every product of a function its tiled MMA, all of the same number of threads: that is the result.
fn select<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    products: &[Product<'c>],
) -> Result<i64, (IrOp<'c>, String)> {
    let pinned = pinned_warps(function).map_err(|message| (function, message))?;
    let sizes = products
        .iter()
        .map(|product| product.extents.iter().product());
    let wanted = sizes.map(warps_of_product);
    let most = match &pinned {
        Some(warps) => warps.iter().product(),
        None => wanted.max().unwrap_or(1),
    };
    let fixed = products.iter().find_map(|product| product.pinned);
    let threads = block_size::checked(fixed.unwrap_or(most * WARP));
    let mut threads = threads.map_err(|message| (function, message))?;
    let splits = loop {
        let split = |product: &Product| match (product.pinned, pinned.as_deref()) {
            (Some(own), _) => (own == threads).then_some([1, 1]),
            (None, Some([rows, columns])) if product.threads == WARP => {
                let warps = [*rows, *columns];
                fits(product, warps).then_some(warps)
            }
            _ => split(product, threads / product.threads),
        };
        let splits: Vec<Option<[i64; 2]>> = products.iter().map(split).collect();
        match splits.iter().position(Option::is_none) {
            None => break splits,
            Some(at) if fixed.is_some() || pinned.is_some() || threads <= WARP => {
                let [rows, columns] = products[at].extents;
                let [m, n] = products[at].atom;
                let message = format!(
                    "{threads} threads cannot share this product of {rows} × {columns}: expected {} times a divisor of {} rows and one of {} columns of pieces of {m} × {n}",
                    products[at].threads,
                    rows / m,
                    columns / n,
                );
                let help = "write `warps(rows, columns)` in `launch` such that they divide the pieces, or leave it out";
                return Err((products[at].dot, user_error(codes::WARPS, message, help)));
            }
            Some(_) => threads /= 2,
        }
    };
    let classes = Classes::of(function)?;
    let factors: Vec<Option<usize>> = products
        .iter()
        .flat_map(|product| [0, 1].map(|index| operand_value(product.dot, index)))
        .map(|factor| factor.and_then(|factor| classes.class(factor)))
        .collect();
    for (product, split) in products.iter().zip(splits) {
        let (Some([rows, columns]), None) = (split, product.pinned) else {
            continue;
        };
        let sums = classes.class(result_of(product.dot, 0));
        let is_factor = sums.is_some() && factors.contains(&sums);
        let (atoms, order) = match product.atom {
            [1, 1] => of_lanes(product, threads),
            _ => None,
        }
        .unwrap_or_else(|| {
            let order = order_of_columns(product, columns, is_factor);
            (
                format!("({rows},{columns},1):(1,{rows},0)"),
                format!("_;{order}"),
            )
        });
        let tiled = format!(
            "!cute.tiled_mma<{}, atom_layout_MNK = <\"{atoms}\">, permutation_MNK = <\"[{order};_]\">>",
            product.mma
        );
        let ir = OpBuilder::new(context, Insertion::Before(product.dot));
        set_attribute(product.dot, "mma", ir.attr(&tiled));
    }
    Ok(threads)
}

/// Whether so many atoms side by side divide a product.
fn fits(product: &Product, split: [i64; 2]) -> bool {
    (0..2).all(|axis| product.extents[axis] % (product.atom[axis] * split[axis]) == 0)
}

/// How many atoms stand side by side along m and n: of all ways, the one that reads the least.
fn split(product: &Product, atoms: i64) -> Option<[i64; 2]> {
    let read = |split: &[i64; 2]| product.extents[0] / split[0] + product.extents[1] / split[1];
    // Of two that read the same, the one with more warps along m.
    (1..=atoms)
        .rev()
        .filter(|rows| atoms % rows == 0)
        .map(|rows| [rows, atoms / rows])
        .filter(|split| fits(product, *split))
        .min_by_key(read)
}

/// How single threads share a product, so that each has groups of [`GROUP`] neighbouring rows and columns,
/// which it reads and stores at once: the layout of the threads, and the tilers along m and n.
///
/// Of the lanes of a warp, two by four stand side by side: a quarter of a warp reads four vectors of
/// one operand and two of the other. Of all ways, the one in which a thread reads the least; where two are
/// alike, more lanes along the operand whose rows are in one piece.
fn of_lanes(product: &Product, threads: i64) -> Option<(String, String)> {
    let [m, n] = product.extents;
    let lanes = match is_along_k(product.dot, 0) {
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
    let atoms = format!(
        "((2,{},{wm}),(2,{},{wn}),1):((1,4,32),(2,{},{}),0)",
        lm / 2,
        ln / 2,
        2 * lm,
        32 * wm
    );
    let along = |lanes: i64, warps: i64, groups: i64| {
        let (beside, apart) = (GROUP * lanes, GROUP * lanes * groups);
        format!("(({lanes},{warps}),{GROUP},{groups}):(({GROUP},{apart}),1,{beside})")
    };
    Some((
        atoms,
        format!("{};{}", along(lm, wm, rows), along(ln, wn, columns)),
    ))
}

/// Whether the rows of an operand that is loaded are in one piece.
fn is_along_k(dot: IrOp, index: usize) -> bool {
    operand_value(dot, index)
        .filter(|operand| defining_op(*operand).is_some_and(|op| name_of(op) == "tile.load"))
        .and_then(|operand| operand_value(defining_op(operand)?, 0))
        .and_then(fast_axis)
        .is_some_and(|(axis, _)| axis == 1)
}

/// Which columns of a product the atoms of `warps` warps side by side compute, as a tiler along n.
///
/// An atom of tensor cores gives a thread two neighbouring columns. Where b can be read in any order
/// of its rows, four atoms interleave, and a thread gets eight neighbours, which it stores at once.
/// Else a warp has two atoms side by side, the rows that one `ldmatrix` reads: so does one whose sums are
/// a factor of another product, which wants them as they are then.
fn order_of_columns(product: &Product, warps: i64, is_factor: bool) -> String {
    let columns = product.extents[1];
    let by_rows = is_along_k(product.dot, 1) && !is_factor;
    match product.atom[1] {
        8 if by_rows && columns % (32 * warps) == 0 => format!("(2,4,{warps},4):(1,8,32,2)"),
        8 if columns % (16 * warps) == 0 => format!("{}:1", 16 * warps),
        _ => "_".into(),
    }
}

/// The instruction for the types of a product, the longest in k that divides it.
fn atom_of(a: &TileType, b: &TileType, c: &TileType) -> Result<String, String> {
    let k = a.shape[1];
    let longest = |candidates: &[i64]| candidates.iter().copied().find(|long| k % long == 0);
    let (shape, lengths): (&str, &[i64]) = match a.elem {
        Elem::F16 | Elem::BF16 => ("16x8", &[16, 8]),
        Elem::TF32 => ("16x8", &[8, 4]),
        Elem::I8 | Elem::U8 => ("16x8", &[32, 16]),
        Elem::F8E4M3 | Elem::F8E5M2 => ("16x8", &[32]),
        Elem::F64 => ("8x8", &[4]),
        Elem::F32 if b.elem == Elem::F32 && c.elem == Elem::F32 => {
            return Ok("!cute_nvgpu.atom.universal_fma<f32>".into());
        }
        other => {
            let message = format!("no instruction multiplies {other}");
            let help = "convert the operands: `f16(x)`, `bf16(x)`";
            return Err(user_error(codes::TILE_SHAPE, message, help));
        }
    };
    let length = longest(lengths).ok_or_else(|| {
        let shortest = lengths.last().copied().unwrap_or(1);
        let message = format!(
            "a product of {} expects an extent along k that is a multiple of {shortest}, but got {k}",
            a.elem
        );
        let help = "make the tiles longer along k: what lies outside of the tensor is 0";
        user_error(codes::TILE_SHAPE, message, help)
    })?;
    let (a, b, c) = (a.elem, b.elem, c.elem);
    Ok(format!(
        "!cute_nvgpu.sm80.mma<\"{shape}x{length}\", elem_type = ({a}, {b}, {c})>"
    ))
}

fn tile(dot: IrOp, index: usize) -> Result<TileType, String> {
    let value = operand_value(dot, index).ok_or("an operand is missing")?;
    TileType::of(value.r#type()).unwrap_or_else(|| Err("expects tiles".into()))
}
