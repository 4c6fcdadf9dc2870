//! Products that are taken off their sums, `tile.dot … {negated}`: those with a negated factor, and who adds in their place where an instruction only adds.
//!
//! Where all that a loop does to sums is to take products off them, it adds the products to the negative of the sums, `0 − s` in front of it and behind it. Elsewhere a
//! factor is negated. Both are exact.
use super::delay_reductions::{FIRST_ARGUMENT, FIRST_OPERAND};
use super::emits::map_of;
use super::types::is_zeros;
use crate::passes::ir_utils::{
    blocks, defining_op, erase, is_unused, next_operation, operations, parent, remove_attribute,
    replace_all_uses, same_block, set_attribute, set_operand, users, uses,
};
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, argument_of, operands_of, result_of,
};
use cutec_dialects::ops::{ArithOp, ScfOp, TileOp, tile};
use cutec_dialects::tile::{NEGATED, TileType};
use melior::Context;
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, ValueLike};

/// Lets a product with negated factors multiply what is negated; whether it has one.
pub(super) fn take_signs<'c>(context: &'c Context, product: tile::Dot<'c>) -> bool {
    let mut found = false;
    for index in 0..2 {
        while let Some((negation, input)) = negated(product.factors()[index]) {
            set_operand(product.op(), index, input);
            negate(context, product);
            if is_unused(negation) {
                erase(negation);
            }
            found = true;
        }
    }
    found
}

/// Lets a product subtract where it adds, and add where it subtracts.
pub(super) fn negate<'c>(context: &'c Context, product: tile::Dot<'c>) {
    match product.negated() {
        Some(_) => remove_attribute(product.op(), NEGATED),
        None => set_attribute(product.op(), NEGATED, Attribute::unit(context)),
    }
}

/// Lets products add that subtract.
pub(super) fn add_only<'c>(context: &'c Context, products: &[IrOp<'c>]) {
    for product in products.iter().copied().filter_map(tile::Dot::of) {
        if product.negated().is_none() {
            continue;
        }
        match taken_off_by_loop(product) {
            Some(all) => {
                for product in &all.products {
                    remove_attribute(product.op(), NEGATED);
                }
                all.negate_sums(context);
            }
            None => {
                remove_attribute(product.op(), NEGATED);
                let ir = OpBuilder::new(context, Insertion::Before(product.op()));
                let negative = Negation::Factor.of(ir, product.a());
                set_operand(product.op(), 0, negative);
            }
        }
    }
}

/// Sums that a loop carries, and the products that are all that it does to them.
struct TakenOff<'c> {
    of: IrOp<'c>,
    /// Which of what it carries.
    number: usize,
    products: Vec<tile::Dot<'c>>,
}

/// The sums that a product is taken off, where all products of a loop are taken off these and nothing else is done to them.
fn taken_off_by_loop(product: tile::Dot<'_>) -> Option<TakenOff<'_>> {
    let of = parent(product.op()).filter(|of| ScfOp::For.is(*of))?;
    let body = blocks(of, 0).into_iter().next()?;
    let end = operations(body).pop()?;
    let mut last = product;
    while let Some(next) = taker(last.result()) {
        last = next;
    }
    let number = operands_of(end).position(|yielded| yielded == last.result())?;
    let mut products = Vec::new();
    let mut sums = argument_of(body, FIRST_ARGUMENT + number);
    while let Some(next) = taker(sums) {
        products.push(next);
        sums = next.result();
    }
    let is_all = sums == last.result()
        && uses(sums) == [(end, number)]
        && products
            .iter()
            .all(|next| next.negated().is_some() && same_block(next.op(), end));
    is_all.then_some(TakenOff {
        of,
        number,
        products,
    })
}

/// The product that alone takes a tile, as its sums.
fn taker<'c>(sums: IrValue<'c>) -> Option<tile::Dot<'c>> {
    let [user] = users(sums)[..] else {
        return None;
    };
    tile::Dot::of(user).filter(|dot| dot.c() == sums && !dot.factors().contains(&sums))
}

impl<'c> TakenOff<'c> {
    /// The loop begins and ends with the negative of the sums.
    fn negate_sums(&self, context: &'c Context) {
        let first = FIRST_OPERAND + self.number;
        let initial = operands_of(self.of).nth(first);
        if let Some(initial) = initial.filter(|initial| !is_zeros(*initial)) {
            let ir = OpBuilder::new(context, Insertion::Before(self.of));
            let negative = Negation::Sums.of(ir, initial);
            set_operand(self.of, first, negative);
        }
        let result = result_of(self.of, self.number);
        let Some(behind) = next_operation(self.of) else {
            return;
        };
        let ir = OpBuilder::new(context, Insertion::Before(behind));
        let negative = Negation::Sums.of(ir, result);
        replace_all_uses(result, negative);
        if let Some(map) = defining_op(negative) {
            set_operand(map, 0, result);
        }
    }
}

/// How a tile is negated.
#[derive(Clone, Copy)]
enum Negation {
    /// By its sign.
    Factor,
    /// As what is left of 0, which for sums that nothing was taken off is 0 as before.
    Sums,
}

impl Negation {
    fn of<'c>(self, mut ir: OpBuilder<'c>, tile: IrValue<'c>) -> IrValue<'c> {
        let ty = tile.r#type();
        let Some(Ok(spread)) = TileType::of(ty) else {
            return tile;
        };
        ir.location = defining_op(tile).map_or(ir.location, |op| op.location());
        map_of(&ir, (tile, spread.elem), |inside, number| {
            let elem = number.r#type();
            match self {
                Negation::Factor => inside.value(ArithOp::Negf, &[number], &[], elem),
                Negation::Sums => {
                    let zero = inside.number(inside.float(0.0, elem), elem);
                    inside.value(ArithOp::Subf, &[zero, number], &[], elem)
                }
            }
        })
    }
}

/// The map that negates a tile, and what it negates.
fn negated<'c>(factor: IrValue<'c>) -> Option<(IrOp<'c>, IrValue<'c>)> {
    let map = defining_op(factor).filter(|op| TileOp::Map.is(*op))?;
    let [input] = operands_of(map).collect::<Vec<_>>()[..] else {
        return None;
    };
    let body = blocks(map, 0).into_iter().next()?;
    let [negates, end] = operations(body)[..] else {
        return None;
    };
    let takes = |op: IrOp, value: IrValue| operands_of(op).eq([value]);
    let is_negative = ArithOp::Negf.is(negates)
        && takes(negates, argument_of(body, 0))
        && takes(end, result_of(negates, 0));
    is_negative.then_some((map, input))
}
