//! Numbers of tiles that are the same in every block and every run: what follows from the coordinates of elements and constants alone.
use crate::passes::cmpi;
use crate::passes::ir_utils::{blocks, constant_of, defining_op, operations};
use crate::passes::tile::types::tile_of;
use cutec_dialects::builder::{
    IrOp, IrValue, argument_of, integer_value, operands_of, result_of, results_of, value_key,
};
use cutec_dialects::memo::type_text;
use cutec_dialects::ops::{ArithOp, Op, TileOp, tile};
use melior::ir::{BlockLike, ValueLike, operation::OperationLike};
use std::collections::HashMap;
use std::rc::Rc;

/// Elements that are looked at, at most.
const MOST: i64 = 1 << 16;

/// What is known of values: of a tile each element, the first axis the fastest.
#[derive(Default)]
pub struct KnownNumbers {
    known: HashMap<usize, Option<Numbers>>,
}

#[derive(Clone)]
enum Numbers {
    /// One for all elements.
    One(i64),
    Each(Rc<Vec<i64>>),
}

impl Numbers {
    fn at(&self, element: usize) -> i64 {
        match self {
            Numbers::One(number) => *number,
            Numbers::Each(all) => all[element],
        }
    }
}

impl KnownNumbers {
    /// Where in a tile, the first axis the fastest, the elements lie that an operation gathers from it, in the same order; `None` where that is not known, or one lies outside.
    pub fn places(&mut self, gather: tile::Gather) -> Option<Vec<i64>> {
        let (to, from) = (gather.result(), gather.input());
        let size = tile_of(gather.op(), to).ok()?.size();
        let shape = tile_of(gather.op(), from).ok()?.shape;
        let axes = gather.at().into_iter().map(|at| self.of(at));
        let axes = axes.collect::<Option<Vec<_>>>()?;
        let place = |element: usize| {
            let mut stride = 1;
            let mut place = 0;
            for (axis, extent) in axes.iter().zip(&shape) {
                let at = axis.at(element);
                if !(0..*extent).contains(&at) {
                    return None;
                }
                place += at * stride;
                stride *= extent;
            }
            Some(place)
        };
        (0..usize::try_from(size).ok()?).map(place).collect()
    }

    fn of(&mut self, value: IrValue) -> Option<Numbers> {
        let key = value_key(value);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let found = self.computed(value);
        self.known.insert(key, found.clone());
        found
    }

    fn computed(&mut self, value: IrValue) -> Option<Numbers> {
        if let Some(number) = constant(value) {
            return Some(number);
        }
        let op = defining_op(value)?;
        match TileOp::of(op)? {
            TileOp::Splat => self.of(operands_of(op).next()?),
            TileOp::ConvertLayout => self.of(operands_of(op).next()?),
            TileOp::Iota => {
                let shape = tile_of(op, value).ok()?.shape;
                let axis = integer_value(op.attribute("axis").ok()?)? as usize;
                let stride: i64 = shape.get(..axis)?.iter().product();
                let extent = *shape.get(axis)?;
                each(&shape, |element| Some(element / stride % extent))
            }
            TileOp::Broadcast => {
                let broadcast = tile::Reshaping::of(op)?;
                let from = tile_of(op, broadcast.input()).ok()?.shape;
                let shape = tile_of(op, value).ok()?.shape;
                let input = self.of(broadcast.input())?;
                each(&shape, |element| {
                    let (mut rest, mut stride, mut at) = (element, 1, 0);
                    for (extent, own) in shape.iter().zip(&from) {
                        at += (rest % extent).min(own - 1) * stride;
                        rest /= extent;
                        stride *= own;
                    }
                    Some(input.at(usize::try_from(at).ok()?))
                })
            }
            TileOp::Map => self.of_map(op),
            _ => None,
        }
    }

    /// What a function of elements gives.
    fn of_map(&mut self, map: IrOp) -> Option<Numbers> {
        let shape = tile_of(map, result_of(map, 0)).ok()?.shape;
        let block = blocks(map, 0).into_iter().next()?;
        let inputs = tile::Map::of(map)?.inputs();
        if block.argument_count() != inputs.len() {
            return None;
        }
        for (index, input) in inputs.into_iter().enumerate() {
            let known = self.of(input)?;
            self.known
                .insert(value_key(argument_of(block, index)), Some(known));
        }
        let all = operations(block);
        let (last, computing) = all.split_last()?;
        for op in computing {
            let result = results_of(*op).next()?;
            let found = self.of_element(*op, &shape)?;
            self.known.insert(value_key(result), Some(found));
        }
        self.of(operands_of(*last).next()?)
    }

    /// What an operation on elements gives for each.
    fn of_element(&mut self, op: IrOp, shape: &[i64]) -> Option<Numbers> {
        let result = results_of(op).next()?;
        if let Some(number) = constant(result) {
            return Some(number);
        }
        let Op::ArithOp(kind) = Op::of(op)? else {
            return None;
        };
        let operands = operands_of(op).map(|operand| self.of(operand));
        let operands = operands.collect::<Option<Vec<_>>>()?;
        let predicate = op.attribute("predicate").ok().and_then(integer_value);
        let of = |value: IrValue| bits_of(&type_text(value.r#type()));
        let bits = (of(operands_of(op).next()?)?, of(result)?);
        if operands.iter().all(|one| matches!(one, Numbers::One(_))) {
            let numbers: Vec<i64> = operands.iter().map(|one| one.at(0)).collect();
            return number(kind, &numbers, predicate, bits).map(Numbers::One);
        }
        let mut numbers = vec![0; operands.len()];
        each(shape, |element| {
            let element = usize::try_from(element).ok()?;
            for (number, operand) in numbers.iter_mut().zip(&operands) {
                *number = operand.at(element);
            }
            number(kind, &numbers, predicate, bits)
        })
    }
}

fn constant(value: IrValue) -> Option<Numbers> {
    let bits = bits_of(&type_text(value.r#type()))?;
    let number = constant_of(value)?;
    Some(Numbers::One(wrapped(number, bits)))
}

/// A number for each element of a shape.
fn each(shape: &[i64], mut number: impl FnMut(i64) -> Option<i64>) -> Option<Numbers> {
    let size: i64 = shape.iter().product();
    if size > MOST {
        return None;
    }
    let all = (0..size).map(&mut number).collect::<Option<Vec<_>>>()?;
    Some(Numbers::Each(Rc::new(all)))
}

/// Bits of an integer type that numbers are computed in.
fn bits_of(ty: &str) -> Option<u32> {
    match ty {
        "i1" => Some(1),
        "i32" => Some(32),
        "i64" => Some(64),
        _ => None,
    }
}

/// What an operation of `arith` makes of integers of so many bits, as one of so many; `None` where it is undefined, or another one.
fn number(kind: ArithOp, of: &[i64], predicate: Option<i64>, bits: (u32, u32)) -> Option<i64> {
    let unsigned = |number: i64| match bits.0 {
        64 => number as u64,
        bits => number as u64 & ((1 << bits) - 1),
    };
    let found = match (kind, of) {
        (ArithOp::Addi, [a, b]) => a.wrapping_add(*b),
        (ArithOp::Subi, [a, b]) => a.wrapping_sub(*b),
        (ArithOp::Muli, [a, b]) => a.wrapping_mul(*b),
        (ArithOp::Andi, [a, b]) => a & b,
        (ArithOp::Ori, [a, b]) => a | b,
        (ArithOp::Xori, [a, b]) => a ^ b,
        (ArithOp::Shli, [a, b]) => a.checked_shl(u32::try_from(*b).ok()?)?,
        (ArithOp::Shrsi, [a, b]) => a.checked_shr(u32::try_from(*b).ok()?)?,
        (ArithOp::Shrui, [a, b]) => unsigned(*a).checked_shr(u32::try_from(*b).ok()?)? as i64,
        (ArithOp::Divsi, [a, b]) => a.checked_div(*b)?,
        (ArithOp::Remsi, [a, b]) => a.checked_rem(*b)?,
        (ArithOp::Divui, [a, b]) => unsigned(*a).checked_div(unsigned(*b))? as i64,
        (ArithOp::Remui, [a, b]) => unsigned(*a).checked_rem(unsigned(*b))? as i64,
        (ArithOp::Minsi, [a, b]) => *a.min(b),
        (ArithOp::Maxsi, [a, b]) => *a.max(b),
        (ArithOp::Minui, [a, b]) => unsigned(*a).min(unsigned(*b)) as i64,
        (ArithOp::Maxui, [a, b]) => unsigned(*a).max(unsigned(*b)) as i64,
        (ArithOp::Select, [condition, a, b]) => *if condition & 1 == 1 { a } else { b },
        (ArithOp::Extui, [a]) => unsigned(*a) as i64,
        (ArithOp::Extsi | ArithOp::Trunci, [a]) => *a,
        (ArithOp::Cmpi, [a, b]) => i64::from(match predicate? {
            cmpi::EQUAL => a == b,
            cmpi::NOT_EQUAL => a != b,
            cmpi::LESS => a < b,
            cmpi::AT_MOST => a <= b,
            cmpi::GREATER => a > b,
            cmpi::AT_LEAST => a >= b,
            cmpi::BELOW => unsigned(*a) < unsigned(*b),
            _ => return None,
        }),
        _ => return None,
    };
    Some(wrapped(found, bits.1))
}

/// A number of so many bits, which has the sign of the highest.
fn wrapped(number: i64, bits: u32) -> i64 {
    let shift = 64 - bits;
    number << shift >> shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_as_their_types_do() {
        let of = |kind, numbers: &[i64], bits| number(kind, numbers, None, (bits, bits));
        assert_eq!(
            of(ArithOp::Addi, &[i64::from(i32::MAX), 1], 32),
            Some(i64::from(i32::MIN))
        );
        assert_eq!(of(ArithOp::Shrui, &[-1, 28], 32), Some(15));
        assert_eq!(of(ArithOp::Shrsi, &[-16, 2], 32), Some(-4));
        assert_eq!(of(ArithOp::Xori, &[-1, 1], 1), Some(0));
        assert_eq!(of(ArithOp::Remsi, &[5, 0], 32), None);
        assert_eq!(of(ArithOp::Shli, &[1, 64], 64), None);
    }
}
