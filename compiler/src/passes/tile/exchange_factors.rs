//! a · bᵀ as the transpose of b · aᵀ, where `wgmma` multiplies only that.
//!
//! `wgmma` reads its second factor from shared memory: where that is computed of what each round loads, every round would wait until all threads
//! have written it. A first factor stays in registers. And it multiplies 64 rows of a at once, but any number of eights of rows of b: a may be the
//! one with few rows. So the two are exchanged, and the sums are transposed, with all that lies as they do: maps and loops compute the same on
//! transposed tiles. Where such a tile comes from something else or goes there, a `tile.transpose` stands between, which gives the elements of a
//! thread other names and moves nothing. To exchange twice gives what was there before.
use super::computed_operand::is_prologue;
use super::layout_classes::LayoutClasses;
use super::types::{Failed, pinned_warps, tile_of};
use super::warpgroup_products::is_for_registers;
use crate::passes::ir_utils::{
    collect_nested, defining_op, erase, is_unused, name_of, next_operation, replace_all_uses,
    set_operand, users, uses,
};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder, result_of, value_key};
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::target::{Feature, Target};
use cutec_dialects::tile::TileType;
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};
use std::collections::HashSet;

/// Of so many rows of a and of b are multiples what an instruction multiplies.
const ROWS: i64 = 64;
const COLUMNS: i64 = 8;

/// What has been exchanged.
#[derive(Default)]
pub(super) struct Exchanged<'c> {
    /// The products that were in need of it, each with the reason, as a sentence.
    pub products: Vec<(IrOp<'c>, String)>,
    /// Why nothing is, if a product is in need of it, as a clause.
    refused: Option<String>,
}

impl<'c> Exchanged<'c> {
    /// Exchanges the factors of the products of a kernel that `wgmma` multiplies only so; of none where one of them cannot be.
    pub fn of(
        context: &'c Context,
        function: IrOp<'c>,
        dots: &[IrOp<'c>],
        target: &Target,
    ) -> Result<Self, Failed<'c>> {
        if !target.has(Feature::Wgmma) || !target.has(Feature::Tma) {
            return Ok(Exchanged::default());
        }
        let products = dots.iter().filter_map(|dot| Some((*dot, need(*dot)?)));
        let products: Vec<(IrOp<'c>, String)> = products.collect();
        if products.is_empty() {
            return Ok(Exchanged::default());
        }
        let pinned = pinned_warps(function).map_err(|message| (function, message))?;
        let sums = Sums::of(function, dots, &products)?;
        let possible = match pinned {
            Some(_) => Err("warps are pinned".into()),
            None => sums.dots.iter().try_for_each(|dot| is_possible(*dot)),
        };
        let refused = possible.and_then(|()| sums.can_be_transposed()).err();
        if refused.is_some() {
            return Ok(Exchanged {
                products: Vec::new(),
                refused,
            });
        }
        sums.exchange(context);
        Ok(Exchanged { products, refused })
    }

    /// Exchanges them back.
    pub fn back(
        &self,
        context: &'c Context,
        function: IrOp<'c>,
        dots: &[IrOp<'c>],
    ) -> Result<(), Failed<'c>> {
        if !self.products.is_empty() {
            Sums::of(function, dots, &self.products)?.exchange(context);
        }
        Ok(())
    }

    /// Why `wgmma` multiplies nothing, of the reason that there is for the products as they are.
    pub fn explained(&self, reason: String) -> String {
        match &self.refused {
            Some(why) => format!("{reason}; its factors cannot be exchanged: {why}"),
            None if self.products.is_empty() => reason,
            None => format!("with its factors exchanged, {reason}"),
        }
    }
}

/// Why `wgmma` does not multiply a product as it is written, if the factors are what is in the way.
fn need(dot: IrOp) -> Option<String> {
    let of = tile::Dot::of(dot)?;
    let rows = tile_of(dot, of.a()).ok()?.shape[0];
    let why = if is_computed(of.b(), dot) {
        "b is computed of what each round loads, and only what is computed of a first factor stays in registers".into()
    } else if rows % ROWS != 0 {
        format!("`wgmma` multiplies {ROWS} rows of a first factor at once, and a has {rows}")
    } else {
        return None;
    };
    Some(format!(
        "the factors are exchanged, and the sums are transposed: {why}"
    ))
}

/// Whether a factor is computed of what each round loads, and not what it loads.
fn is_computed<'c>(factor: IrValue<'c>, dot: IrOp<'c>) -> bool {
    tile::Load::defining(factor).is_none() && is_prologue(factor, dot)
}

/// Whether `wgmma` may multiply a product with its factors exchanged.
///
/// # Errors
/// Why not, as a clause.
fn is_possible(dot: IrOp) -> Result<(), String> {
    let of = tile::Dot::of(dot).ok_or("an operand is missing")?;
    let tile = |factor| tile_of(dot, factor).map_err(|(_, message)| message);
    let [a, b] = [tile(of.a())?, tile(of.b())?];
    if dot.attribute("mma").is_ok() {
        return Err("an instruction is pinned by `mma`".into());
    }
    if is_computed(of.a(), dot) {
        return Err("a is computed of what each round loads".into());
    }
    if is_computed(of.b(), dot) {
        is_for_registers(&b, of.b(), dot).map_err(|why| format!("b is computed{why}"))?;
    }
    match b.shape[0] % ROWS == 0 && a.shape[0] % COLUMNS == 0 {
        true => Ok(()),
        false => Err(format!(
            "that takes multiples of {COLUMNS} rows of a and of {ROWS} of b, and there are {} and {}",
            a.shape[0], b.shape[0]
        )),
    }
}

/// The sums of some products, and all that lies as they do.
struct Sums<'c> {
    function: IrOp<'c>,
    /// The products that give them.
    dots: Vec<IrOp<'c>>,
    /// In the order of the program.
    tiles: Vec<(IrValue<'c>, TileType)>,
    keys: HashSet<usize>,
}

impl<'c> Sums<'c> {
    /// Of the products `of`, and of those among `dots` that share theirs.
    fn of(
        function: IrOp<'c>,
        dots: &[IrOp<'c>],
        of: &[(IrOp<'c>, String)],
    ) -> Result<Self, Failed<'c>> {
        let classes = LayoutClasses::of(function)?;
        let class = |dot: &IrOp<'c>| classes.class(result_of(*dot, 0));
        let wanted: Vec<Option<usize>> = of.iter().map(|(dot, _)| class(dot)).collect();
        let is_among = |value: IrValue<'c>| wanted.contains(&classes.class(value));
        let mut dots = dots.to_vec();
        dots.retain(|dot| is_among(result_of(*dot, 0)));
        let mut tiles = classes.tiles.clone();
        tiles.retain(|(value, _)| is_among(*value));
        let keys = tiles.iter().map(|(value, _)| value_key(*value)).collect();
        Ok(Sums {
            function,
            dots,
            tiles,
            keys,
        })
    }

    fn has(&self, value: IrValue<'c>) -> bool {
        self.keys.contains(&value_key(value))
    }

    /// Whether they are matrices that only maps, loops and these products tie to one another, and no product takes from registers.
    ///
    /// # Errors
    /// Why not, as a clause.
    fn can_be_transposed(&self) -> Result<(), String> {
        for (value, tile) in &self.tiles {
            if tile.shape.len() != 2 {
                return Err("it has slices of k".into());
            }
            let mut around = users(*value);
            around.extend(defining_op(*value));
            around
                .into_iter()
                .try_for_each(|op| self.is_around(op, *value))?;
        }
        Ok(())
    }

    /// Whether an operation can stand beside transposed sums.
    fn is_around(&self, op: IrOp<'c>, value: IrValue<'c>) -> Result<(), String> {
        let is_in_its_way = match TileOp::of(op) {
            Some(
                TileOp::Fold
                | TileOp::Scan
                | TileOp::Gather
                | TileOp::Scatter
                | TileOp::Atomic
                | TileOp::Join,
            ) => true,
            Some(TileOp::Transpose) => {
                let input = tile::Reshaping::of(op).map(tile::Reshaping::input);
                self.has(result_of(op, 0)) && input.is_some_and(|input| self.has(input))
            }
            Some(TileOp::Dot) if tile::Dot::of(op).is_some_and(|dot| dot.a() == value) => {
                return Err("its sums are the first factor of another product".into());
            }
            _ => false,
        };
        match is_in_its_way {
            false => Ok(()),
            true => Err(format!("its sums lie as `{}` has them", name_of(op))),
        }
    }

    /// Exchanges the factors, and transposes the sums.
    fn exchange(mut self, context: &'c Context) {
        let mut inside = Vec::new();
        collect_nested(self.function, &mut inside);
        let entering = inside.iter().filter(|op| op.result_count() == 1);
        let entering: Vec<IrOp<'c>> = entering
            .filter(|op| self.has(result_of(**op, 0)) && !gives_transposed(**op))
            .copied()
            .collect();
        for op in &entering {
            self.enter(context, *op);
        }
        for (value, tile) in &self.tiles {
            leave(context, *value);
            value.set_type(transposed(tile).ir(context));
        }
        for dot in &self.dots {
            if let Some(of) = tile::Dot::of(*dot) {
                let [a, b] = of.factors();
                set_operand(*dot, 0, b);
                set_operand(*dot, 1, a);
            }
        }
    }

    /// What comes from elsewhere is one of the sums no more; what takes it as one takes its transpose.
    fn enter(&mut self, context: &'c Context, op: IrOp<'c>) {
        let given = result_of(op, 0);
        let Some(at) = self.tiles.iter().position(|(value, _)| *value == given) else {
            return;
        };
        let (_, tile) = self.tiles.remove(at);
        self.keys.remove(&value_key(given));
        let input = tile::Reshaping::of(op).filter(|_| TileOp::Transpose.is(op));
        let turned = match input {
            Some(turned) => turned.input(),
            None => {
                let place = next_operation(op).unwrap_or(op);
                let mut ir = OpBuilder::new(context, Insertion::Before(place));
                ir.location = op.location();
                let ty = transposed(&tile).ir(context);
                ir.value(TileOp::Transpose, &[given], &[], ty)
            }
        };
        for (user, index) in uses(given) {
            if takes_transposed(user, index) {
                set_operand(user, index, turned);
            }
        }
        if is_unused(op) && input.is_some() {
            erase(op);
        }
    }
}

/// What takes one of the sums as it was before takes its transpose.
fn leave<'c>(context: &'c Context, value: IrValue<'c>) {
    for (user, index) in uses(value) {
        if takes_transposed(user, index) {
            continue;
        }
        if TileOp::Transpose.is(user) {
            replace_all_uses(result_of(user, 0), value);
            erase(user);
            continue;
        }
        let mut ir = OpBuilder::new(context, Insertion::Before(user));
        ir.location = user.location();
        let turned = ir.value(TileOp::Transpose, &[value], &[], value.r#type());
        set_operand(user, index, turned);
    }
}

/// Whether an operation gives the transpose of what it gave when what it takes is transposed, or is told so by its type alone.
fn gives_transposed(op: IrOp) -> bool {
    matches!(
        TileOp::of(op),
        None | Some(TileOp::Map | TileOp::Dot | TileOp::Splat)
    )
}

/// Whether an operation takes an operand as the sums lie.
fn takes_transposed(user: IrOp, index: usize) -> bool {
    match TileOp::of(user) {
        None | Some(TileOp::Map) => true,
        Some(TileOp::Dot) => index == 2,
        Some(_) => false,
    }
}

fn transposed(tile: &TileType) -> TileType {
    TileType::new(tile.elem, &[tile.shape[1], tile.shape[0]])
}
