//! Sign analysis: expressions of integers that may be negative.
//!
//! [`Emitter::integer`] takes every integer for a coordinate, hence not negative. Of an offset that must be proved from
//! its definition; see the table in [the parent](super).
use super::range::Ranges;
use super::{Definition, combine, width_of};
use crate::passes::emit::Emitter;
use crate::passes::ir_utils::users;
use cutec_dialects::builder::{IrOp, IrValue, result_of, value_key};
use cutec_dialects::memo::val_of;
use cutec_dialects::ops::{ArithOp, CuteOp};
use cutec_dialects::value::Val;
use cutec_layout::{Int, SymInfo, Tree};
use std::collections::HashMap;

/// How far a chain of definitions is followed.
const DEPTH: usize = 16;

/// What is added to any number of 32 bits, and the sum, with a place within a tile, still does not come around to where
/// a tensor lies: guards compare 32 bits without sign.
const SMALL: i64 = 1 << 30;

/// What is known of the integers that an offset is made of.
#[derive(Default)]
struct Known {
    expressions: HashMap<usize, Int>,
    ranges: Ranges,
}

impl<'c> Emitter<'c> {
    /// The expression of an SSA integer, with a lower bound only where that follows from its definition.
    pub fn signed_integer(&mut self, value: IrValue<'c>) -> Int {
        self.signed(value, DEPTH, &mut Known::default())
    }

    /// An SSA integer as a variable, of which something is known to divide it.
    pub fn offset_variable(&mut self, value: IrValue<'c>, div: i64, negative: bool) -> Int {
        let info = SymInfo {
            width: width_of(value),
            div,
            max: None,
        };
        match negative {
            true => self.signed_variable(value, info),
            false => self.variable(value, info),
        }
    }

    fn signed(&mut self, value: IrValue<'c>, depth: usize, known: &mut Known) -> Int {
        if let Some(int) = known.expressions.get(&value_key(value)) {
            return int.clone();
        }
        let int = match depth {
            0 => self.offset_variable(value, 1, true),
            _ => self.signed_definition(value, depth - 1, known),
        };
        known.expressions.insert(value_key(value), int.clone());
        int
    }

    fn signed_definition(&mut self, value: IrValue<'c>, depth: usize, known: &mut Known) -> Int {
        let not_negative = match Definition::of(value) {
            Definition::Constant(constant) => return Int::Static(constant),
            Definition::Index(..) => return self.integer(value),
            Definition::Binary(kind, a, b) => {
                match self.signed_binary(value, (kind, a, b), depth, known) {
                    Ok(int) => return int,
                    Err(not_negative) => not_negative,
                }
            }
            Definition::Either(a, b) => {
                self.signed(a, depth, known).lower() >= 0
                    && self.signed(b, depth, known).lower() >= 0
            }
            Definition::Cast(ArithOp::Extsi | ArithOp::IndexCast, input) => {
                self.signed(input, depth, known).lower() >= 0
            }
            Definition::Cast(kind, _) => kind == ArithOp::Extui,
            Definition::Counter(counted) => {
                if self.signed(counted.lower(), depth, known).lower() >= 0 {
                    return self.integer(value);
                }
                false
            }
            // Of a parameter only what is asserted to divide it is known.
            Definition::Parameter => {
                let asserted = users(value).into_iter().filter_map(asserted_divisor);
                let div = asserted.max().unwrap_or(1);
                return self.offset_variable(value, div, true);
            }
            Definition::Result(_) | Definition::Argument => false,
        };
        self.offset_variable(value, 1, !not_negative)
    }

    /// The expression of an operation of two integers, or whether it is known not to be negative.
    fn signed_binary(
        &mut self,
        value: IrValue<'c>,
        (kind, a, b): (ArithOp, IrValue<'c>, IrValue<'c>),
        depth: usize,
        known: &mut Known,
    ) -> Result<Int, bool> {
        let mut both =
            |known: &mut Known| (self.signed(a, depth, known), self.signed(b, depth, known));
        match kind {
            ArithOp::Addi | ArithOp::Subi | ArithOp::Muli => {
                let (a, b) = both(known);
                let int = combine(kind, &a, &b).ok_or(false)?;
                // Products and sums of indices of blocks, tiles and iterations are places in tensors, and fit.
                let small = |int: &Int| int.as_static().is_some_and(|by| by.abs() <= SMALL);
                let of_places = a.lower() >= 0 && b.lower() >= 0
                    || kind != ArithOp::Muli && (small(&a) || small(&b));
                let fits =
                    int.width() <= width_of(value) && (of_places || !known.ranges.may_wrap(value));
                if fits {
                    return Ok(int);
                }
                // What needs more bits than it has, wraps around; powers of two still divide it.
                let power = int.div() & int.div().wrapping_neg();
                Ok(self.offset_variable(value, power.max(1), true))
            }
            ArithOp::Divui | ArithOp::Divsi | ArithOp::Remui | ArithOp::Remsi => {
                let (a, b) = both(known);
                combine(kind, &a, &b).ok_or(match kind {
                    ArithOp::Divsi => a.lower() >= 0 && b.lower() >= 0,
                    // At most the dividend, or of its sign.
                    _ => a.lower() >= 0,
                })
            }
            ArithOp::Minsi => {
                let (a, b) = both(known);
                Err(a.lower() >= 0 && b.lower() >= 0)
            }
            // Compared as unsigned, the smaller is at most the one that is not negative.
            ArithOp::Maxsi | ArithOp::Minui | ArithOp::Andi => {
                let (a, b) = both(known);
                Err(a.lower() >= 0 || b.lower() >= 0)
            }
            _ => Err(false),
        }
    }
}

/// What an operation asserts to divide its operand.
fn asserted_divisor(op: IrOp) -> Option<i64> {
    if !CuteOp::Assume.is(op) {
        return None;
    }
    match val_of(result_of(op, 0)) {
        Ok(Val::Tuple(_, Tree::Leaf(Some(declared)))) => Some(declared.div()),
        _ => None,
    }
}
