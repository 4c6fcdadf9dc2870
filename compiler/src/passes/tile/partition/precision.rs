//! Products of f32 by tensor cores, which take tf32: what a thread multiplies is rounded, or split, in its registers.
//!
//! The instruction ignores what of f32 is below tf32, 13 bits. Factors that are rounded to tf32 before, by `cvt.rna` (to the nearest,
//! ties away from zero), are as near as tf32 gets. Split, a number x is big + small, big = tf32(x) and small = x - big, of which the
//! instruction takes all but 2⁻²³ of x at most; a · b is small · big + big · small + big · big then, and what is left out 2⁻²² of it at most (2⁻²¹ where b is split in shared memory, `specialize_warps/split.rs`).
//! Tensor cores cut off what they add up, so the three products of each block of k begin with zeros and are added to the sums in
//! f32, which rounds: row of instructions by row, such that few registers hold what is to be added.
use super::super::emits::Emits;
use super::{Partition, Spread};
use crate::passes::ir_utils::attributes;
use crate::passes::tile::{REASON, UNSHARED};
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{ArithOp, CuteOp};
use cutec_dialects::semantics::SemError;
use cutec_dialects::tile::{PRECISION, Precision};
use cutec_dialects::value::{TiledMmaVal, Val};
use cutec_layout::tv::Operand;
use cutec_layout::{AnyLayout, Layout, Tree};
use melior::ir::Attribute;
use std::sync::Arc;

/// The bits of an f32 that tensor cores take, and half of the last of them.
const TAKEN: i64 = !0x1fff;
const HALF: i64 = 0x1000;

/// The attribute of a gemm of the cute level by which remarks say what was done to its factors.
pub(in crate::passes) const MULTIPLIED_IN: &str = "cute.precision";

/// How a product multiplies its factors.
pub(super) fn precision_of(product: IrOp) -> Result<Precision, SemError> {
    Precision::of(&product).map_err(SemError::Illegal)
}

/// What the gemms of a product keep of what is said of it.
pub(super) fn attributes_of_gemm<'c>(product: IrOp<'c>) -> Vec<(&'static str, Attribute<'c>)> {
    let kept = attributes(product, &[REASON, UNSHARED]);
    let precision = attributes(product, &[PRECISION]).into_iter();
    let precision = precision.map(|(_, precision)| (MULTIPLIED_IN, precision));
    kept.into_iter().chain(precision).collect()
}

/// What a thread holds of an operand, in the order of its registers: so many values of an instruction, so many instructions along both axes.
#[derive(Clone, Copy)]
struct Fragment {
    values: usize,
    extents: [usize; 2],
}

impl Fragment {
    /// The registers of the instructions at `row` along the first axis.
    fn row(self, row: usize) -> impl Iterator<Item = usize> {
        let [rows, columns] = self.extents;
        let first = move |column| self.values * (row + rows * column);
        (0..columns).flat_map(move |column| first(column)..first(column) + self.values)
    }
}

impl<'c> Partition<'c> {
    /// The numbers of a vector as tf32, to the nearest, ties away from zero.
    pub(super) fn rounded_to_tf32(&self, vector: IrValue<'c>, spread: &Spread) -> IrValue<'c> {
        let numbers = self.elements(vector, spread).into_iter();
        let rounded: Vec<_> = numbers.map(|number| self.tf32(number)).collect();
        self.gather(&rounded, self.ir.number_type(spread.tile.elem))
    }

    /// A number of f32 as tf32, which is an f32 whose lower bits are 0.
    fn tf32(&self, number: IrValue<'c>) -> IrValue<'c> {
        let word = self.ir.ty("i32");
        let text = "cvt.rna.tf32.f32 $0, $1;";
        let bits = self.ir.assembly(text, "=r,f", &[number], word);
        self.ir
            .value(ArithOp::Bitcast, &[bits], &[], self.ir.ty("f32"))
    }

    /// The big and the small parts of numbers. Integers round the big one, where `cvt.rna` would take as many instructions again to leave
    /// NaN as it is: here the small part of NaN is NaN. Of the small part tensor cores ignore one bit at most.
    pub(super) fn parts(&self, numbers: &[IrValue<'c>]) -> [Vec<IrValue<'c>>; 2] {
        let (f32, word) = (self.ir.ty("f32"), self.ir.ty("i32"));
        let half = self.ir.constant(HALF, "i32");
        let taken = self.ir.constant(TAKEN, "i32");
        let big = numbers.iter().map(|number| {
            let bits = self.ir.value(ArithOp::Bitcast, &[*number], &[], word);
            let bits = self.ir.value(ArithOp::Addi, &[bits, half], &[], word);
            let bits = self.ir.value(ArithOp::Andi, &[bits, taken], &[], word);
            self.ir.value(ArithOp::Bitcast, &[bits], &[], f32)
        });
        let big: Vec<_> = big.collect();
        let small = numbers.iter().zip(&big);
        let small =
            small.map(|(number, big)| self.ir.value(ArithOp::Subf, &[*number, *big], &[], f32));
        let small = small.collect();
        [big, small]
    }

    /// `c + a · bᵀ` by three products of the parts of a and b.
    pub(super) fn product_of_parts(
        &mut self,
        op: IrOp<'c>,
        mma: &Arc<TiledMmaVal>,
        to: &Spread,
    ) -> Result<IrValue<'c>, SemError> {
        let (a, of_a) = self.of(op, 0)?;
        let (b, of_b) = self.of(op, 1)?;
        let (c, of_c) = self.of(op, 2)?;
        let fragment = |which, spread: &Spread| -> Result<Fragment, SemError> {
            let [values, x, y] = self.operand_extents(mma, which, spread)?;
            Ok(Fragment {
                values: values as usize,
                extents: [x as usize, y as usize],
            })
        };
        let (rows_of_a, rows_of_c) = (fragment(Operand::A, &of_a)?, fragment(Operand::C, &of_c)?);
        let ty = self.ir.number_type(Elem::F32);
        let tiled = self.constant(Val::TiledMma(mma.clone()))?;
        let afresh = self.ir.constant(0, "i1");
        let attrs = attributes_of_gemm(op);

        let parts_of_a = self.parts(&self.elements(a, &of_a));
        let mut factors_b = Vec::new();
        for part in self.parts(&self.elements(b, &of_b)) {
            let registers = self.operand_registers(mma, Operand::B, &of_b)?;
            self.store_vec(self.gather(&part, ty), registers);
            factors_b.push(registers);
        }
        let before = self.elements(c, &of_c);
        let mut sums: Vec<Option<IrValue<'c>>> = vec![None; before.len()];
        for row in 0..rows_of_a.extents[0] {
            let mut factors_a = Vec::new();
            for part in &parts_of_a {
                let numbers: Vec<_> = rows_of_a.row(row).map(|at| part[at]).collect();
                let registers = self.row_registers(rows_of_a);
                self.store_vec(self.gather(&numbers, ty), registers);
                factors_a.push(registers);
            }
            let added = self.row_registers(rows_of_c);
            // The small ones first.
            for (number, [i, j]) in [[1, 0], [0, 1], [0, 0]].into_iter().enumerate() {
                let operands = [tiled, added, factors_a[i], factors_b[j], added];
                let operands = operands.into_iter().chain((number == 0).then_some(afresh));
                let operands: Vec<_> = operands.collect();
                self.ir.op(CuteOp::Gemm, &operands, &attrs, &[]);
            }
            let count = (rows_of_c.values * rows_of_c.extents[1]) as i64;
            let vector = self.ir.numbers_type(Elem::F32, Some(count));
            let added = self.ir.value(CuteOp::MemrefLoadVec, &[added], &[], vector);
            let added = self.elements_of(added, count, Elem::F32);
            for (at, added) in rows_of_c.row(row).zip(added) {
                let sum = self.ir.value(ArithOp::Addf, &[before[at], added], &[], ty);
                sums[at] = Some(sum);
            }
        }
        let sums: Option<Vec<_>> = sums.into_iter().collect();
        let sums = sums.ok_or_else(|| {
            SemError::Illegal(format!("a thread does not hold its part of {}", to.tile))
        })?;
        Ok(self.gather(&sums, ty))
    }

    /// Registers for the instructions of one row.
    fn row_registers(&self, of: Fragment) -> IrValue<'c> {
        let extents = [of.values, 1, of.extents[1]];
        let shape = extents.map(|extent| Tree::Leaf((extent as i64).into()));
        let layout = Layout::col_major(Tree::Node(shape.to_vec()));
        self.alloc(Elem::F32, Space::Rmem, AnyLayout::Plain(layout))
    }
}
