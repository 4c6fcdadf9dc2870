//! Buffers in shared memory that operations on tiles go through, beside those of operands.
//!
//! In loops and in kernels with roles those alike of all operations are one. Each kind sees to it by a barrier that the next may write: a conversion, a gather
//! and an update have one in front of what they write, the others behind what they read.
use super::layout_conversion::{self, Conversion};
use super::print::Window;
use super::reduce::Holders;
use super::sources::Sources;
use super::{Partition, Spread, combine, fetch};
use crate::passes::control_flow::in_loop;
use crate::passes::tile::pingpong;
use crate::passes::tile::types::{carried, is_of_each_thread};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, integer_value, operands_of, result_of};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::tile::TileType;
use cutec_layout::algebra::storage;
use cutec_layout::{AnyLayout, Layout, LayoutError};
use melior::ir::{Attribute, ValueLike, operation::OperationLike};

/// Bytes that divide where the buffer of a warpgroup begins: the widest swizzle repeats in them.
const APART: i64 = 1024;
/// Bytes that divide where a buffer begins.
const ALIGN: i64 = 128;

/// What goes through a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Through {
    Conversion,
    Gather,
    Update,
    Reduction,
    Combination,
    Print,
}

/// A buffer that an operation goes through: for several at once they are numbered.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::passes::tile) struct Scratch {
    through: Through,
    number: usize,
    elem: Elem,
    layout: AnyLayout,
}

impl Scratch {
    pub(super) fn of(through: Through, elem: Elem, layout: AnyLayout) -> Self {
        Scratch {
            through,
            number: 0,
            elem,
            layout,
        }
    }

    pub(super) fn numbered(self, number: usize) -> Self {
        Scratch { number, ..self }
    }

    /// Whether it is one of several of which each has a number.
    pub(super) fn is_like(&self, other: &Scratch) -> bool {
        self.clone().numbered(other.number) == *other
    }

    /// How many numbers it has room for, and the bytes of each.
    pub(super) fn numbers(&self) -> Option<(i64, i64)> {
        let size = storage(&self.layout).ok()?.as_static()?;
        Some((size, self.elem.bytes()))
    }

    /// Bytes of all that some operations go through, where so many threads of a block share a tile and so many warpgroups have one each: those
    /// alike are one, as in loops and in roles. An operation that is not legal has none.
    pub(in crate::passes::tile) fn bytes_of(
        operations: &[IrOp],
        (threads, warpgroups): (i64, i64),
    ) -> i64 {
        let sources = Sources::of(operations).unwrap_or_default();
        let mut all: Vec<Scratch> = Vec::new();
        for op in operations.iter().copied() {
            let gathered = sources.scratch(op).into_iter().cloned();
            let own = of_operation(op, threads).unwrap_or_default();
            for buffer in own.into_iter().chain(gathered) {
                if !all.contains(&buffer) {
                    all.push(buffer);
                }
            }
        }
        let align = if warpgroups > 1 { APART } else { ALIGN };
        let bytes = |one: &Scratch| rounded(one.elem, &one.layout, align).unwrap_or(0);
        warpgroups * all.iter().map(bytes).sum::<i64>()
    }
}

/// Bytes of a buffer of known size, rounded up.
fn rounded(elem: Elem, layout: &AnyLayout, align: i64) -> Option<i64> {
    let size = storage(layout).ok()?.as_static()?;
    Some((elem.bytes_of(size) + align - 1) / align * align)
}

/// Those of an operation, but for what it gathers from.
fn of_operation(op: IrOp, threads: i64) -> Result<Vec<Scratch>, SemError> {
    let inputs: Vec<Spread> = operands_of(op).filter_map(spread_of).collect();
    let result = (op.result_count() > 0).then(|| spread_of(result_of(op, 0)));
    let (Some(kind), Some(from)) = (TileOp::of(op), inputs.first()) else {
        return Ok(Vec::new());
    };
    let axis = |axis: Option<Attribute>| axis.and_then(integer_value).unwrap_or(0) as usize;
    Ok(match (kind, result.flatten()) {
        (TileOp::ConvertLayout, Some(to)) => of_conversion(&from.as_carried(), &to.as_carried())?,
        (TileOp::Atomic, Some(to)) => {
            let told = fetch::scratch(&to)?;
            told.map(|(scratch, _)| scratch).into_iter().collect()
        }
        (TileOp::Reduce, Some(to)) if !is_of_each_thread(op) => {
            let axis = axis(tile::Reduce::of(op).and_then(tile::Reduce::axis));
            let holders = Holders::along(from, axis, threads)?;
            holders.iter().map(|holders| holders.scratch(&to)).collect()
        }
        (TileOp::Fold | TileOp::Scan, _) => {
            let axis = axis(tile::Combining::of(op).and_then(tile::Combining::axis));
            let elems: Vec<Elem> = inputs.iter().map(|spread| spread.tile.elem).collect();
            let digits = combine::digits(from, axis, threads, TileOp::Scan.is(op))?;
            let through = digits.iter().map(|digit| digit.scratch(from, &elems));
            through.flatten().collect()
        }
        (TileOp::Print, _) => {
            let window = Window::of(
                &from.tile.shape,
                inputs.len(),
                op.operand_count() - inputs.len(),
            );
            let shown = inputs.iter().enumerate();
            shown
                .map(|(number, spread)| window.scratch(spread.tile.elem, number))
                .collect()
        }
        _ => Vec::new(),
    })
}

fn of_conversion(from: &Spread, to: &Spread) -> Result<Vec<Scratch>, SemError> {
    Ok(match layout_conversion::conversion(from, to)? {
        Conversion::Registers(_) | Conversion::Lanes(_) => Vec::new(),
        Conversion::Memory { layout, .. } => {
            vec![Scratch::of(Through::Conversion, from.tile.elem, layout)]
        }
        // All parts are alike.
        Conversion::Parts(parts) => match parts.first() {
            Some(part) => of_conversion(&part.from.spread, &part.to.spread)?,
            None => Vec::new(),
        },
    })
}

/// How a tile is spread, if it is one that is.
pub(super) fn spread_of(value: IrValue) -> Option<Spread> {
    Spread::of(&TileType::of(value.r#type())?.ok()?)
}

impl Spread {
    /// As lanes and shared memory take it.
    pub(super) fn as_carried(&self) -> Spread {
        Spread {
            tile: self.tile.with_elem(carried(self.tile.elem)),
            layout: self.layout.clone(),
        }
    }
}

impl<'c> Partition<'c> {
    /// Whether an operation's buffer is that of others, too: of those alike in loops, and in kernels with roles.
    pub(super) fn is_taken_again(&self, op: IrOp<'c>) -> bool {
        self.roles || in_loop(op)
    }

    /// Waits, ahead of what is written to an operation's buffer, until all have read what the iteration before wrote there; behind a loop the buffer may
    /// take the place of operands.
    pub(super) fn meet_before_writing(&mut self, op: IrOp<'c>) {
        if self.is_taken_again(op) || self.staged {
            self.barrier();
        }
    }

    /// The buffer of the threads that share a tile, for an operation: where warpgroups take turns each has its own.
    pub(super) fn scratch(
        &mut self,
        op: IrOp<'c>,
        scratch: Scratch,
    ) -> Result<IrValue<'c>, SemError> {
        let rank = scratch.layout.inner().rank();
        let repeats = self.is_taken_again(op);
        let mut known = self.scratch.iter();
        let known = known.find(|(known, _)| repeats && *known == scratch);
        let all = match known {
            Some((_, all)) => *all,
            None => {
                let layout = self.of_turns(&scratch)?;
                let here = self.ir.insertion;
                if repeats {
                    self.ir.insertion = Insertion::Before(self.entry);
                }
                let all = self.alloc(scratch.elem, Space::Smem, layout);
                self.ir.insertion = here;
                if repeats {
                    self.scratch.push((scratch, all));
                }
                all
            }
        };
        match self.turn {
            Some(turn) => self.stage_of(all, rank, turn),
            None => Ok(all),
        }
    }

    /// The layout of a buffer, with a mode of those that warpgroups have that take turns.
    fn of_turns(&self, scratch: &Scratch) -> Result<AnyLayout, SemError> {
        let layout = &scratch.layout;
        if self.turn.is_none() {
            return Ok(layout.clone());
        }
        let missing = || SemError::Illegal("expects a buffer of known size".into());
        let bytes = rounded(scratch.elem, layout, APART).ok_or_else(missing)?;
        let each = bytes * 8 / scratch.elem.bits();
        Ok(layout.map_inner(|inner| {
            let own = Layout::scalar(pingpong::IN_TURN, each);
            Ok::<_, LayoutError>(Layout::concat(inner.modes().chain([own])))
        })?)
    }
}
