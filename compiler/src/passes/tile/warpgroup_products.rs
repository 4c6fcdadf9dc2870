//! Products by `wgmma`: whether all products of a kernel can be, and how warpgroups share them.
//!
//! `wgmma` reads b from shared memory, a as well or from registers. What is loaded comes there by tensor maps, which a
//! warp of its own begins (`tile-specialize-warps`); an a that is computed, as the weights of an attention are, stays in
//! registers, its transpose goes to shared memory, and one that is gathered a warpgroup of its own copies to shared memory (`gathers`). A kernel has this engine for all its products or for none: what is in the way is said in a remark.
use super::across_factors::{BYTE, bits_across};
use super::computed_operand::{buffer_of_computed, is_prologue, is_turned};
use super::gathers::GatheredTile;
use super::held_factor::{HeldFactor, waits_for_memory};
use super::insert_barriers::written_tensors;
use super::issuable::issuable;
use super::load_again::load_again;
use super::multicast;
use super::order_of_rows::GROUPS;
use super::pingpong;
use super::registers::for_bits;
use super::slices;
use super::smem_tile;
use super::tensor_box::TensorBox;
use super::transpose_loads::store_transposed;
use super::twins::are_twins;
use super::types::{pinned_warps, tile_of};
use super::word_loads::is_of_words;
use crate::passes::control_flow::in_loop;
use crate::passes::ir_utils::{collect_nested, remove_attribute, set_attribute, string_attribute};
use crate::passes::kernel_abi::min_blocks;
use crate::passes::remark;
use cutec_dialects::atoms::{Issuer, MmaAtom, MmaOp, Wgmma};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder, result_of, value_key};
use cutec_dialects::elem::Elem;
use cutec_dialects::ir::type_attribute;
use cutec_dialects::ops::{CuteOp, TileOp, tile};
use cutec_dialects::semantics::{Attrs, evaluate};
use cutec_dialects::target::{BLOCK_SIZES, Feature, Target, WARP, WARPGROUP, registers_of_thread};
use cutec_dialects::tile::cost_model::warpgroups_of_product;
use cutec_dialects::tile::{NEGATED, Precision, TileType};
use cutec_dialects::types::tiled_mma;
use cutec_dialects::value::{Val, View};
use cutec_layout::tv::Operand;
use cutec_layout::{Layout, Tiler, Width};
use melior::Context;
use melior::ir::operation::OperationLike;

/// The attribute of a product that says why no warpgroup multiplies it.
pub(in crate::passes) const REASON: &str = "cute.reason";
/// Rows of an instruction.
const ROWS: i64 = 64;
/// Registers of a thread for a factor of an instruction that is in registers.
const A_REGISTERS: i64 = 4;
/// Registers that ptxas keeps beside the sums and the factor of an instruction, of those that a thread begins with, whatever `setmaxnreg`
/// gives it: with fewer it refuses the instruction (C7602, ptxas 13.5).
const BESIDE_INSTRUCTION: i64 = 26;
/// Of so many columns are multiples what warpgroups beside each other have.
const BESIDE: i64 = 32;
/// How long rows of k are whose parts are made in shared memory, and the most sums of a tile: a thread has as many again that are
/// still to be added to them.
const SPLIT_DEPTH: i64 = 32;
const MOST_SPLIT: i64 = 128 * 128;

/// How the products of a kernel are multiplied.
pub(super) struct Choice<'c> {
    /// Threads of the warpgroups.
    pub threads: i64,
    function: IrOp<'c>,
    products: Vec<(IrOp<'c>, Val)>,
    /// What is loaded for products.
    loads: Vec<IrOp<'c>>,
}

/// A product, before the warpgroups are chosen.
struct Product<'c> {
    dot: IrOp<'c>,
    shape: [i64; 3],
    /// Slices of k, each of other warpgroups.
    slices: i64,
    types: [Elem; 3],
    a_in_registers: bool,
    /// Bits of the elements of an a whose rows threads read across memory.
    across: Option<i64>,
    /// Whether it is taken off the sums.
    is_negated: bool,
    /// The instruction, where the program pins it.
    pinned: Option<MmaAtom>,
    /// Where a and b lie in shared memory.
    buffers: [Option<View>; 2],
}

impl<'c> Choice<'c> {
    /// For a kernel with these products.
    ///
    /// # Errors
    /// Why there is none, as a sentence; nothing of targets without `wgmma`.
    pub fn of(
        function: IrOp<'c>,
        dots: &[IrOp<'c>],
        target: &Target,
    ) -> Result<Self, Option<String>> {
        if !target.has(Feature::Wgmma) || !target.has(Feature::Tma) {
            return Err(None);
        }
        let turns_words =
            |dot: &IrOp<'c>| HeldFactor::of(*dot).is_some_and(|held| is_of_words(&held));
        let few = dots.iter().all(|dot| waits_for_memory(*dot));
        if few && dots.iter().any(turns_words) && multicast::asked(function, target).is_none() {
            let why = "of few rows or columns, `ldmatrix` turns words of bytes that lie across, which no `wgmma` does";
            return Err(Some(why.into()));
        }
        Choice::for_target(function, dots, target).map_err(Some)
    }

    fn for_target(function: IrOp<'c>, dots: &[IrOp<'c>], target: &Target) -> Result<Self, String> {
        let (mut products, mut loads, mut bytes) = (Vec::new(), Vec::new(), 0);
        for dot in dots {
            products.push(product(*dot, function, &mut loads, &mut bytes)?);
        }
        let gathers = dots.iter().filter_map(|dot| tile::Dot::of(*dot));
        let mut gathers = gathers.flat_map(tile::Dot::factors);
        if loads.is_empty() && !gathers.any(|factor| GatheredTile::of(factor, function).is_some()) {
            return Err("nothing is loaded for it".into());
        }
        room(&loads, bytes, target)?;
        let warpgroups = candidates(function, &products)?;
        let mut why = String::new();
        for count in warpgroups {
            match split(count, function, &products) {
                Ok(products) => {
                    return Ok(Choice {
                        threads: count * WARPGROUP,
                        function,
                        products,
                        loads,
                    });
                }
                Err(message) => why = message,
            }
        }
        Err(why)
    }

    /// Gives each product its tiled MMA. What is loaded for products and used otherwise is loaded again for that; results that are
    /// transposed for their store leave as they lie.
    pub fn apply(&self, context: &'c Context) {
        for load in &self.loads {
            load_again(context, *load);
        }
        let mut inside = Vec::new();
        collect_nested(self.function, &mut inside);
        inside.retain(|op| TileOp::Store.is(*op));
        for store in inside {
            store_transposed(context, store);
        }
        for (dot, mma) in &self.products {
            let sums = tile_of(*dot, result_of(*dot, 0));
            if let Ok([slices, _, _]) = sums.as_ref().map(|sums| &sums.shape[..]) {
                let message = format!(
                    "{} warpgroups share this product, {} for each of {slices} slices of k",
                    self.threads / WARPGROUP,
                    self.threads / WARPGROUP / slices
                );
                remark(dot.location(), message);
            }
            let ir = OpBuilder::new(context, Insertion::Before(*dot));
            set_attribute(*dot, "mma", ir.type_attr(ir.val_type(mma)));
            remove_attribute(*dot, NEGATED);
        }
    }
}

/// What is known of a product, if its operands can come to where `wgmma` reads them. Adds what is loaded, and the bytes of what is gathered.
fn product<'c>(
    dot: IrOp<'c>,
    function: IrOp<'c>,
    loads: &mut Vec<IrOp<'c>>,
    bytes: &mut i64,
) -> Result<Product<'c>, String> {
    let of = tile::Dot::of(dot).ok_or("an operand is missing")?;
    let pinned = pinned_atom(dot)?;
    let tile = |value: IrValue<'c>| tile_of(dot, value).map_err(|(_, message)| message);
    let [a, b, c] = [tile(of.a())?, tile(of.b())?, tile(of.c())?];
    let precision = Precision::of(&dot)?;
    let types = [
        precision.multiplied_as(a.elem),
        precision.multiplied_as(b.elem),
        c.elem,
    ];
    let (shape, slices) = slices::extents_of_product(&a, &c);
    let some = atom(8, types, false);
    if some.verify().is_err() {
        let [a, b, c] = types.map(Elem::language_name);
        return Err(format!("there is no `wgmma` of {a} and {b} to {c}"));
    }
    let [m, n, k] = shape;
    let depth = some.shape()[2];
    if m % ROWS != 0 || n % 8 != 0 || k % (depth * slices) != 0 {
        return Err(format!(
            "`wgmma` expects tiles of multiples of {ROWS} × 8 × {}, and this one is {m} × {n} × {k}",
            depth * slices
        ));
    }
    let gathers = [of.a(), of.b()].map(|factor| GatheredTile::of(factor, function));
    let split = precision == Precision::Tf32x3;
    if split {
        if slices > 1 {
            return Err("slices of k are not split into parts for `wgmma`".into());
        }
        if gathers.iter().any(Option::is_some) {
            return Err("what is gathered is not split into parts for `wgmma`".into());
        }
        if k != SPLIT_DEPTH || m * n > MOST_SPLIT {
            return Err(format!(
                "parts of f32 are made for `wgmma` of tiles of at most {MOST_SPLIT} sums and of {SPLIT_DEPTH} along k, and this one is {m} × {n} × {k}"
            ));
        }
        // The parts of b, beside it.
        *bytes += if in_loop(dot) { 2 } else { 1 } * b.elem.bytes_of(b.size());
    }
    let a_load = tile::Load::defining(of.a());
    let b_load = tile::Load::defining(of.b());
    let mut buffers = [None, None];
    // Of a transpose others have what a thread multiplies from registers.
    let a_is_computed = a_load.is_none() && gathers[0].is_none();
    let a_is_written = a_is_computed && is_turned(of.a(), &a) && !is_prologue(of.a(), dot);
    if a_is_written {
        buffers[0] =
            Some(buffer_of_computed(of.a(), &a).map_err(|why| format!("a is computed{why}"))?);
        *bytes += a.elem.bytes_of(a.size());
    } else if a_is_computed {
        is_for_registers(&a, of.a(), dot).map_err(|why| format!("a is computed{why}"))?;
    }
    if b_load.is_none() && gathers[1].is_none() {
        // Each round would wait until all threads have written it ("By `wgmma`").
        if is_prologue(of.b(), dot) {
            return Err("b is computed of what each round loads, and each round would wait until all threads have written it to shared memory".into());
        }
        buffers[1] =
            Some(buffer_of_computed(of.b(), &b).map_err(|why| format!("b is computed{why}"))?);
        *bytes += b.elem.bytes_of(b.size());
    }
    for (index, gathered) in gathers.into_iter().enumerate() {
        let Some(gathered) = gathered else { continue };
        let gathered = gathered.map_err(|why| format!("{}: {why}", ["a", "b"][index]))?;
        *bytes += if in_loop(gathered.map) { 2 } else { 1 } * gathered.bytes();
        let buffer = smem_tile::of_descriptor(&gathered.tile, gathered.fast);
        buffers[index] = Some(buffer.ok_or_else(|| {
            format!(
                "rows of the tile are no multiples of 32 bytes in memory: {}",
                gathered.tile
            )
        })?);
    }
    let staged = [a_load.map(|load| load.op()), b_load.map(|load| load.op())];
    for (index, (load, tile)) in staged.into_iter().zip([&a, &b]).enumerate() {
        let Some(load) = load else { continue };
        let buffer = check_load(load, tile, function)?;
        // A thread reads its part of an a that is split.
        buffers[index] = Some(buffer).filter(|_| !split || index == 1);
        if !loads.contains(&load) {
            loads.push(load);
        }
    }
    let a_in_registers = a_is_computed && !a_is_written || split;
    let of_width = |n: i64, a_in_registers| atom(n as u32, types, a_in_registers);
    if let Some(pinned) = pinned {
        let n = pinned.shape()[1];
        let how = match a_in_registers {
            true => "a is multiplied from registers, `a = rmem`",
            false => "a is multiplied from shared memory, `a = smem`",
        };
        match pinned {
            _ if pinned == of_width(n, a_in_registers) => {}
            _ if pinned == of_width(n, !a_in_registers) => return Err(how.into()),
            _ => return Err("factors of tiles are not sparse, and not negated".into()),
        }
    }
    Ok(Product {
        dot,
        shape,
        slices,
        types,
        a_in_registers,
        across: match a_in_registers && !split {
            true => bits_across(of.a(), dot),
            false => None,
        },
        is_negated: of.negated().is_some(),
        pinned,
        buffers,
    })
}

/// The instruction of warpgroups that a product pins, if it pins one.
///
/// # Errors
/// That it pins another one, or more than an instruction, as a clause.
fn pinned_atom(dot: IrOp) -> Result<Option<MmaAtom>, String> {
    let is_wgmma = |atom: &MmaAtom| atom.issuer() == Issuer::Warpgroup;
    match type_attribute(dot, "mma") {
        None => Ok(None),
        Some(Ok(Val::MmaAtom(atom))) if is_wgmma(&atom) => Ok(Some(atom)),
        Some(Ok(Val::TiledMma(tiled))) if is_wgmma(&tiled.atom) => Err(
            "a tiled MMA is pinned, and which warpgroup has which part of a tile follows from the tile and `warps`".into(),
        ),
        Some(_) => Err("an instruction is pinned by `mma`".into()),
    }
}

/// Whether warpgroups multiply a factor from the registers in which it is computed: of 16 bits, and of 8, of which a thread has four neighbours: lanes
/// exchange pairs where it is what a product gives. Of 32 bits, as tf32, a thread has single elements: it computes these of what each round loads.
///
/// # Errors
/// Why not, as the end of a clause.
pub(super) fn is_for_registers<'c>(
    tile: &TileType,
    factor: IrValue<'c>,
    dot: IrOp<'c>,
) -> Result<(), String> {
    let is_tf32 = || {
        let precision = Precision::of(&dot);
        precision.is_ok_and(|precision| precision.multiplied_as(tile.elem) == Elem::TF32)
    };
    match tile.elem.bits() {
        8 | 16 => Ok(()),
        32 if is_tf32() && is_prologue(factor, dot) => Ok(()),
        _ => Err(format!(
            ", in {}, and only elements of 16 bits, or 8, are multiplied from registers",
            tile.elem.language_name()
        )),
    }
}

/// The buffer that a tensor map can bring what a load gives to, begun by a warp that does nothing else.
pub(super) fn check_load<'c>(
    load: IrOp<'c>,
    tile: &TileType,
    function: IrOp<'c>,
) -> Result<View, String> {
    zeros_outside(load)?;
    let tensor_box = box_of(load, tile, function)?;
    let fast = tensor_box.fast();
    if fast == 0 && !Wgmma::transposes(tile.elem) {
        return Err(format!(
            "`wgmma` reads {} with the elements of a row of k side by side",
            tile.elem.language_name()
        ));
    }
    let buffer = tensor_box.buffer(tile).ok_or_else(|| {
        format!("rows of the tile are no multiples of 32 bytes in memory: {tile}")
    })?;
    tensor_box
        .load(&buffer)
        .map_err(|error| error.to_string())?;
    is_as_pinned(load, &buffer)?;
    Ok(buffer)
}

/// Whether a tensor map writes to a buffer by the swizzle that a load pins, if it pins one.
///
/// # Errors
/// Why not, as a clause.
pub(super) fn is_as_pinned(load: IrOp, buffer: &View) -> Result<(), String> {
    let Some(pinned) = string_attribute(load, "swizzle") else {
        return Ok(());
    };
    let own = buffer.layout.swizzle().map(|swizzle| swizzle.to_string());
    match own {
        Some(own) if own == pinned => Ok(()),
        Some(own) => Err(format!(
            "`swizzle` is pinned as {pinned}, and a tensor map writes this tile by {own}"
        )),
        None => Err(format!(
            "`swizzle` is pinned as {pinned}, and a tensor map writes this tile by none"
        )),
    }
}

/// Whether what a load gives from outside of its view is what a tensor map brings.
///
/// # Errors
/// Why not, as a clause.
pub(super) fn zeros_outside(load: IrOp) -> Result<(), String> {
    match load.attribute("fill") {
        Ok(_) => Err("a tensor map fills with zeros, not with what `fill` says".into()),
        Err(_) => Ok(()),
    }
}

/// The box of a tensor that a load is of, if a warp that does nothing else can begin to bring it.
///
/// # Errors
/// What is in the way, as a clause.
pub(super) fn box_of<'c>(
    load: IrOp<'c>,
    tile: &TileType,
    function: IrOp<'c>,
) -> Result<TensorBox<'c>, String> {
    if load.attribute("copy").is_ok() {
        return Err("`copy` is pinned".into());
    }
    let mut operations = Vec::new();
    collect_nested(function, &mut operations);
    let tensor_box = TensorBox::of(load, function, &tile.shape)?;
    let written = written_tensors(&operations);
    if written.is_none_or(|written| written.contains(&value_key(tensor_box.tensor()))) {
        return Err("the kernel writes the tensor".into());
    }
    issuable(load, &tensor_box, function)?;
    Ok(tensor_box)
}

/// Whether two stages of what loops load fit the shared memory of the target, beside those of what is gathered.
fn room(loads: &[IrOp], mut bytes: i64, target: &Target) -> Result<(), String> {
    for (number, load) in loads.iter().enumerate() {
        if loads[..number].iter().any(|other| are_twins(*other, *load)) {
            continue;
        }
        let tile = tile_of(*load, result_of(*load, 0)).map_err(|(_, message)| message)?;
        let stages = if in_loop(*load) { 2 } else { 1 };
        bytes += stages * tile.elem.bytes_of(tile.size());
    }
    match bytes <= i64::from(target.max_smem) {
        true => Ok(()),
        false => Err(format!(
            "two stages of its operands are {bytes} bytes of shared memory, and {} has {}",
            target.name, target.max_smem
        )),
    }
}

/// How many warpgroups may share the products, the best first.
fn candidates(function: IrOp, products: &[Product]) -> Result<Vec<i64>, String> {
    let slices = products.iter().map(|product| product.slices);
    let slices = slices.max().unwrap_or(1);
    let in_turn = pingpong::in_turn(function) > 1;
    if let Some(warps) = pinned_warps(function)? {
        let rows = warps.first().copied().unwrap_or(0);
        let all = slices::pinned_in_all(&warps, slices);
        return match rows % 4 {
            0 if in_turn && all != 4 => Err(
                "one warpgroup has a tile where two take turns, and other warps are pinned".into(),
            ),
            0 => Ok(vec![all / 4]),
            _ => Err("the pinned warps are no warpgroups, four along m".into()),
        };
    }
    if in_turn {
        return Ok(vec![1]);
    }
    let extents = products.iter().map(|product| {
        let [m, n, _] = product.shape;
        [m, n]
    });
    let mut warpgroups = warpgroups_of_product(extents);
    for count in &mut warpgroups {
        *count *= slices;
    }
    Ok(warpgroups)
}

/// The tiled MMA of each product, shared by so many warpgroups.
fn split<'c>(
    warpgroups: i64,
    function: IrOp<'c>,
    products: &[Product<'c>],
) -> Result<Vec<(IrOp<'c>, Val)>, String> {
    let pinned = pinned_warps(function)?;
    if (warpgroups + 1) * WARPGROUP > *BLOCK_SIZES.end() {
        return Err(format!(
            "{warpgroups} warpgroups and one that loads are more threads than a block has"
        ));
    }
    let multiplying = warpgroups * WARPGROUP * pingpong::in_turn(function);
    let there = registers_of_thread(multiplying + WARP, min_blocks(function));
    // Sums that products share lie alike.
    let across = products.first().and_then(|product| product.across);
    let across = across.filter(|bits| products.iter().all(|it| it.across == Some(*bits)));
    let of = |product: &Product<'c>| {
        let ([m, n, k], slices) = (product.shape, product.slices);
        let cannot = || {
            let of_slices = match slices {
                1 => String::new(),
                slices => format!(" and {slices} slices of k"),
            };
            let columns = product.pinned.map_or(8, |atom| atom.shape()[1]);
            format!(
                "{warpgroups} warpgroups cannot share a tile of {m} × {n}{of_slices} in pieces of {ROWS} × {columns}"
            )
        };
        if warpgroups % slices != 0 {
            return Err(cannot());
        }
        let warpgroups = warpgroups / slices;
        let ways: Vec<i64> = match pinned.as_deref() {
            Some([rows, _]) => vec![rows / 4],
            // More along m, so that what one product gives is a of the next as it lies.
            _ => (1..=warpgroups)
                .rev()
                .filter(|rows| warpgroups % rows == 0)
                .collect(),
        };
        let tiled = ways.into_iter().find_map(|rows| {
            let columns = warpgroups / rows;
            // Parts beside each other are whole pieces of every layout in shared memory.
            let part = if columns > 1 { BESIDE } else { 8 };
            if m % (ROWS * rows) != 0 || n % (part * columns) != 0 {
                return None;
            }
            let atom = widest(n / columns, product, there)?;
            let along_k = slices::atoms_of(slices, rows * columns);
            let atoms = Layout::of_modes([(rows, 1), (columns, rows), along_k]);
            let order = slices::order_of(slices, k, atom.shape()[2]);
            let of_rows = across.map_or(Tiler::All, |bits| rows_across(bits, rows));
            let order = Tiler::Tile(vec![of_rows, Tiler::All, order]);
            let tiled = tiled_mma(atom, atoms, order).ok()?;
            reads(&tiled, product).then_some(tiled)
        });
        tiled.map(|tiled| (product.dot, tiled)).ok_or_else(cannot)
    };
    products.iter().map(of).collect()
}

/// The order of rows of a that lie across memory, of so many warpgroups below each other. Of bytes a thread has two neighbours, where an instruction
/// takes two that are eight apart. Of 32 bits lanes read rows in two pieces of the swizzle that are four apart: of those that two numbers along k have
/// in the same banks each has its own then.
fn rows_across(bits: i64, warpgroups: i64) -> Tiler {
    let modes = match bits {
        BYTE => vec![(GROUPS, 2), (2, 1), (4 * warpgroups, 16)],
        _ => vec![(4, 1), (2, 16), (2, 4), (2, 8), (2 * warpgroups, 32)],
    };
    Tiler::Layout(Layout::of_modes(modes))
}

/// Whether the parts of each warpgroup, and of each of its instructions, are whole pieces of the buffers.
fn reads(mma: &Val, product: &Product) -> bool {
    let operands = [Operand::A, Operand::B].into_iter().zip(&product.buffers);
    operands.into_iter().all(|(which, buffer)| {
        buffer.as_ref().is_none_or(|buffer| {
            let thread = Val::integer(Width::I32);
            let operands = [mma.clone(), Val::View(buffer.clone()), thread];
            let attrs = Attrs::operand(which);
            evaluate(CuteOp::TiledMmaPartition, &operands, &attrs).is_ok()
        })
    })
}

/// The instruction of the most columns that divide so many, of those that threads can issue which begin with so many registers: the pinned one alone, where
/// one is pinned.
fn widest(columns: i64, product: &Product, there: i64) -> Option<MmaAtom> {
    let [_, _, sums] = product.types;
    let factor = if product.a_in_registers {
        A_REGISTERS
    } else {
        0
    };
    let takes = |width: i64| for_bits(ROWS * width * sums.bits() / WARPGROUP) + factor;
    let widths = (1..=32).rev().map(|eights| 8 * eights);
    let mut atoms = widths
        .filter(|width| columns % width == 0 && takes(*width) + BESIDE_INSTRUCTION <= there)
        .map(|width| atom(width as u32, product.types, product.a_in_registers));
    let is_pinned = |atom: &MmaAtom| product.pinned.is_none_or(|pinned| pinned == *atom);
    let found = atoms.find(|atom| is_pinned(atom) && atom.verify().is_ok())?;
    Some(match found.op {
        MmaOp::Wgmma(wgmma) if product.is_negated => {
            let negate = [true, false];
            let op = MmaOp::Wgmma(Wgmma { negate, ..wgmma });
            MmaAtom { op, ..found }
        }
        _ => found,
    })
}

fn atom(n: u32, [a, b, c]: [Elem; 3], a_in_registers: bool) -> MmaAtom {
    let op = MmaOp::Wgmma(Wgmma {
        a_in_registers,
        ..Wgmma::of(n, a)
    });
    MmaAtom { op, a, b, c }
}
