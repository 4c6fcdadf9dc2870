//! The first factor of a product of bytes by `wgmma`, whose rows lie across in a stage: what a thread multiplies from registers.
//!
//! `ldmatrix` turns words, two neighbouring rows of the factor, which the order of the rows makes a thread's own (`warpgroup_products.rs`). A thread gets
//! those of two neighbours along k, and takes four (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk32"): so two matrices have the words
//! of 16 numbers along k, each the first two of four for one half of the threads and the last two for the other. Their eight rows lie in eight different
//! pieces of the swizzle then, and `PRMT` takes the words apart, by selectors that a thread has of its own.
use super::super::coordinate::multiple;
use super::super::emits::Emits;
use super::super::types::view_of;
use super::super::word_loads::recast_view;
use super::place::all_places;
use super::{Partition, Spread};
use crate::passes::cmpi::LESS;
use crate::passes::ir_utils::{next_operation, same_block, users};
use cutec_dialects::atoms::{CopyAtom, CopyOp, Ldmatrix, Matrices};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, result_of};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{ArithOp, CuteOp, VectorOp};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::target::WARP;
use cutec_dialects::types::Vars;
use cutec_dialects::value::Val;
use cutec_layout::{AnyLayout, Layout, Width};

/// The attribute of a read of bytes whose rows lie across, for a factor of `wgmma` in registers.
pub(in crate::passes::tile) const ACROSS: &str = "tile.across";

/// Numbers along k and rows that the threads of a warp have of an instruction.
const DEPTH: i64 = 32;
const ROWS: i64 = 16;
/// Bytes of a thread's own of it, in words of four: those of either row, then the same further along k.
const OWN: usize = 16;
/// Lanes that share a row, and numbers along k that each has side by side.
const LANES: i64 = 4;
const BESIDE: i64 = 4;
const WORD: Elem = Elem::I16;
/// Of the words of two matrices the bytes of either row, for the first half of the lanes that share it and for the others.
const SELECTORS: [[i64; 2]; 2] = [[0x6420, 0x2064], [0x7531, 0x3175]];

/// Where the instructions of a warp begin that have a thread's values, one behind the other: along the rows and along k; `None` where values lie in
/// another way.
fn instructions(to: &Spread) -> Result<Option<Vec<[i64; 2]>>, SemError> {
    let &[rows, depth] = &to.tile.shape[..] else {
        return Ok(None);
    };
    let whole = rows % ROWS == 0 && depth % DEPTH == 0 && to.values() % OWN as i64 == 0;
    if to.tile.elem.bits() != 8 || !whole {
        return Ok(None);
    }
    let modes = to.layout.thread_modes(&to.tile.shape);
    let modes = modes.map_err(SemError::Illegal)?;
    let of_thread = |thread: i64| {
        let (mut rest, mut place) = (thread, [0; 2]);
        for mode in &modes {
            if let Some((axis, step)) = mode.along {
                place[axis] += rest % mode.extent * step;
            }
            rest /= mode.extent;
        }
        place
    };
    let lanes =
        (0..WARP).all(|lane| of_thread(lane) == [2 * (lane / LANES), BESIDE * (lane % LANES)]);
    let warps = (0..to.layout.threads())
        .step_by(WARP as usize)
        .all(|first| {
            let [row, k] = of_thread(first);
            row % ROWS == 0 && k == 0
        });
    let places = all_places(to)?;
    let place = |value: usize| [places[0][value], places[1][value]];
    let begins: Vec<[i64; 2]> = (0..places[0].len()).step_by(OWN).map(place).collect();
    let values = (0..places[0].len()).all(|value| {
        let ([row, k], at) = (begins[value / OWN], (value % OWN) as i64);
        place(value) == [row + at / 4 % 2, k + at % 4 + 16 * (at / 8)]
    });
    let whole = begins
        .iter()
        .all(|[row, k]| row % ROWS == 0 && k % DEPTH == 0);
    Ok((lanes && warps && values && whole).then_some(begins))
}

/// The first operation that takes what one gives; `None` where others than those of its block do.
fn first_user(op: IrOp) -> Option<IrOp> {
    let users = users(result_of(op, 0));
    let mut behind = std::iter::successors(next_operation(op), |op| next_operation(*op));
    let beside = users.iter().all(|user| same_block(op, *user));
    behind.find(|other| beside && users.contains(other))
}

impl<'c> Partition<'c> {
    /// Reads a part of a stage whose neighbours lie along an axis, where `wgmma` takes it from registers, for an operation.
    ///
    /// The words are taken apart where they are used first, behind the wait for the product before: ahead of it the compiler in a driver of
    /// CUDA 13 gave what is made of them the registers of that product, which then multiplied the factor of the round behind ("By `wgmma`").
    pub(super) fn read_across(
        &mut self,
        of: IrOp<'c>,
        part: IrValue<'c>,
        along: usize,
        to: &Spread,
    ) -> Result<Option<IrValue<'c>>, SemError> {
        let Some(instructions) = instructions(to)?.filter(|_| along == 0) else {
            return Ok(None);
        };
        let word = self.ir.ty("i32");
        let row = self.first_place(to, 0)?;
        let thread = self.thread();
        let number = |number: i64| self.ir.constant(number, "i32");
        let op = |op: ArithOp, a, b| self.ir.value(op, &[a, b], &[], word);
        let lane = op(ArithOp::Remui, thread, number(WARP));
        // Of the warp's own rows, in words.
        let own = op(ArithOp::Divui, lane, number(LANES));
        let first = op(ArithOp::Subi, op(ArithOp::Divui, row, number(2)), own);
        // Which row of which matrix the lane gives the address of: bits of a number along k.
        let bit = |at: i64| {
            op(
                ArithOp::Andi,
                op(ArithOp::Shrui, lane, number(at)),
                number(1),
            )
        };
        let times = |bit, weight: i64| op(ArithOp::Muli, bit, number(weight));
        let of_bits = [
            times(bit(0), 1),
            times(bit(1), 4),
            times(bit(2), 8),
            times(op(ArithOp::Xori, bit(2), bit(3)), 2),
            times(bit(4), 16),
        ];
        let along_k = of_bits
            .into_iter()
            .reduce(|sum, bit| op(ArithOp::Addi, sum, bit));
        let along_k = along_k.unwrap_or(lane);
        let is_first = op(ArithOp::Remui, lane, number(LANES));
        let is_first = self.compare(LESS, is_first, number(LANES / 2));
        let selectors = SELECTORS.map(|[first, other]| {
            let both = [is_first, number(first), number(other)];
            self.ir.value(ArithOp::Select, &both, &[], word)
        });
        let plain = Attrs::default();
        let words = recast_view(&self.ir, part, WORD)?;
        // Rows of several pieces of a swizzle are counted: a view is moved along one mode.
        let in_pieces = view_of(words).is_none_or(|view| {
            let rows = view.layout.inner().mode(0);
            rows.is_none_or(|rows| rows.shape().as_leaf().is_none())
        });
        let block = op(ArithOp::Divui, first, number(ROWS / 2));
        let moved = match in_pieces {
            true => self.constant(Val::int_tuple([0]))?,
            false => multiple(&self.ir, first, ROWS / 2)?,
        };
        let words = self.cute(CuteOp::DomainOffset, &[words, moved, along_k], &plain)?;
        let matrices = Matrices {
            count: 4,
            transpose: true,
        };
        let atom = CopyAtom::new(CopyOp::Ldmatrix(Ldmatrix(matrices)), WORD);
        let atom = self.constant(Val::CopyAtom(atom))?;
        let of_lane = self.constant(Val::int_tuple([ROWS / 2, 1]))?;
        let mut read_words = Vec::new();
        for [row, k] in instructions {
            let at = match in_pieces {
                false => self.constant(Val::coord([row / ROWS, k].map(|at| Some(at.into()))))?,
                true => {
                    let block = op(ArithOp::Addi, block, number(row / ROWS));
                    let any = Vars::default().fresh(Width::I32, 1);
                    let coord = Val::coord([Some(any), Some(k.into())]);
                    let ty = self.ir.val_type(&coord);
                    self.ir.value(CuteOp::MakeCoord, &[block], &[], ty)
                }
            };
            let from = self.cute(CuteOp::LocalTile, &[words, of_lane, at], &plain)?;
            let layout = Layout::of_modes([(ROWS / 2, 1), (1, 0)]);
            let fragment = self.alloc(WORD, Space::Rmem, AnyLayout::Plain(layout));
            self.ir.op(CuteOp::Copy, &[atom, from, fragment], &[], &[]);
            let ty = self.ir.vector_type(ROWS / 2, self.ir.number_type(WORD));
            let read = self.ir.value(CuteOp::MemrefLoadVec, &[fragment], &[], ty);
            let count = (OWN / 4) as i64;
            let ty = self.ir.vector_type(count, word);
            let read = self.ir.value(VectorOp::Bitcast, &[read], &[], ty);
            read_words.extend(self.elements_of(read, count, Elem::I32));
        }
        if let Some(user) = first_user(of) {
            self.ir.insertion = Insertion::Before(user);
        }
        let mut made = Vec::new();
        for pair in read_words.chunks(2) {
            for selector in selectors {
                let operands = [pair[0], pair[1], selector];
                let text = "prmt.b32 $0, $1, $2, $3;";
                made.push(self.ir.assembly(text, "=r,r,r,r", &operands, word));
            }
        }
        let made = self.gather(&made, word);
        let ty = to.vector(&self.ir);
        Ok(Some(self.ir.value(VectorOp::Bitcast, &[made], &[], ty)))
    }
}
