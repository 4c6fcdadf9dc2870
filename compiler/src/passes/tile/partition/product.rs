//! Products: fragments of a tiled MMA.
use super::super::emits::Emits;
use super::precision::{attributes_of_gemm, precision_of};
use super::{Partition, Spread};
use crate::passes::ir_utils::present;
use crate::passes::tile::types::{mma_of, offsets_of, slice_registers};
use cutec_dialects::atoms::Place;
use cutec_dialects::builder::{IrOp, IrValue, integer_value};
use cutec_dialects::ops::{CuteOp, VectorOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::tile::Precision;
use cutec_dialects::value::{TiledMmaVal, Val};
use cutec_layout::tv::Operand;
use cutec_layout::{Layout, Tree};

impl<'c> Partition<'c> {
    /// `tile.slice`: the registers of a part of a tile.
    pub(super) fn sliced(&mut self, op: IrOp<'c>, to: &Spread) -> Result<IrValue<'c>, SemError> {
        let (vector, from) = self.of(op, 0)?;
        let offsets = offsets_of(op).map_err(SemError::Illegal)?;
        let whole = from.tile.with_layout(from.layout);
        let part = to.tile.with_layout(to.layout.clone());
        let registers = slice_registers(&whole, &part, &offsets).map_err(SemError::Illegal)?;
        let registers = registers.ok_or_else(|| {
            SemError::Illegal(format!(
                "a thread does not hold what it needs of {whole} for {part}"
            ))
        })?;
        let ty = self.ir.number_type(to.tile.elem);
        let elements: Vec<IrValue<'c>> = registers
            .into_iter()
            .map(|register| {
                let position = self.ir.i64_array(&[register as i64]);
                let attrs = [("static_position", position)];
                self.ir.value(VectorOp::Extract, &[vector], &attrs, ty)
            })
            .collect();
        Ok(self.gather(&elements, ty))
    }

    /// `tile.join`: each thread holds of every part what it holds of its slice.
    pub(super) fn joined(&mut self, op: IrOp<'c>, to: &Spread) -> Result<IrValue<'c>, SemError> {
        let join = present(tile::Join::of(op))?;
        let axis = join.axis().and_then(integer_value).unwrap_or(0);
        let axis = usize::try_from(axis).unwrap_or(0);
        let whole = to.tile.with_layout(to.layout.clone());
        let ty = self.ir.number_type(to.tile.elem);
        let mut elements: Vec<Option<IrValue<'c>>> = vec![None; to.values() as usize];
        for number in 0..join.parts().len() {
            let (vector, from) = self.of(op, number)?;
            let part = from.tile.with_layout(from.layout);
            let mut offsets = vec![0; part.shape.len()];
            offsets[axis] = number as i64 * part.shape[axis];
            let registers = slice_registers(&whole, &part, &offsets).map_err(SemError::Illegal)?;
            for (at, register) in registers.unwrap_or_default().into_iter().enumerate() {
                let position = [("static_position", self.ir.i64_array(&[at as i64]))];
                let element = self.ir.value(VectorOp::Extract, &[vector], &position, ty);
                elements[register] = Some(element);
            }
        }
        let elements: Option<Vec<IrValue<'c>>> = elements.into_iter().collect();
        let elements = elements.ok_or_else(|| {
            SemError::Illegal(format!("a thread does not hold its part of {whole}"))
        })?;
        Ok(self.gather(&elements, ty))
    }

    pub(super) fn product(&mut self, op: IrOp<'c>, to: &Spread) -> Result<IrValue<'c>, SemError> {
        let mma = mma_of(op).map_err(|(_, message)| SemError::Illegal(message))?;
        let precision = precision_of(op)?;
        let mut fragments = Vec::new();
        for (index, which) in [Operand::A, Operand::B, Operand::C].into_iter().enumerate() {
            match mma.atom.operand(which).place {
                Place::Registers => {}
                place @ (Place::Shared
                | Place::SharedDescriptor
                | Place::Global
                | Place::Anywhere) => {
                    let atom = mma.atom;
                    let message = format!("{atom} takes an operand from {place}, not a tile");
                    return Err(SemError::Illegal(message));
                }
            }
            if precision == Precision::Tf32x3 {
                continue;
            }
            let (mut vector, spread) = self.of(op, index)?;
            if precision == Precision::Tf32 && which != Operand::C {
                vector = self.rounded_to_tf32(vector, &spread);
            }
            let fragment = self.operand_registers(&mma, which, &spread)?;
            self.store_vec(vector, fragment);
            fragments.push(fragment);
        }
        if precision == Precision::Tf32x3 {
            return self.product_of_parts(op, &mma, to);
        }
        let tiled = self.constant(Val::TiledMma(mma))?;
        let [a, b, c] = [fragments[0], fragments[1], fragments[2]];
        let attrs = attributes_of_gemm(op);
        self.ir.op(CuteOp::Gemm, &[tiled, c, a, b, c], &attrs, &[]);
        self.load_vec(c, to)
    }

    /// Registers of a thread for its part of an operand, (V, M or N, N or K).
    pub(super) fn operand_registers(
        &self,
        mma: &TiledMmaVal,
        which: Operand,
        spread: &Spread,
    ) -> Result<IrValue<'c>, SemError> {
        let shape = self.operand_extents(mma, which, spread)?;
        let shape = shape.map(|extent| Tree::Leaf(extent.into()));
        Ok(self.registers(spread, &Layout::col_major(Tree::Node(shape.to_vec()))))
    }

    /// The extents of that: values of an instruction, and how many instructions there are along each axis.
    pub(super) fn operand_extents(
        &self,
        mma: &TiledMmaVal,
        which: Operand,
        spread: &Spread,
    ) -> Result<[i64; 3], SemError> {
        let extents = mma.atom.shape();
        // How often the atoms of all warps are repeated along each axis.
        let mut rest = [1; 2];
        // In front of those of sums stand the slices of k, each of one atom.
        let first = spread.tile.shape.len() - rest.len();
        for (axis, mode) in which.modes().into_iter().enumerate() {
            let atoms = mma.tiled.thr_layout_vmnk().mode(mode + 1);
            let atoms = atoms
                .and_then(|atoms| atoms.size().as_static())
                .unwrap_or(1);
            rest[axis] = spread.tile.shape[first + axis] / (extents[mode] * atoms);
        }
        let [x, y] = rest;
        if x == 0 || y == 0 {
            let message = format!(
                "the tiled MMA multiplies more than {}; run tile-select-atoms first",
                spread.tile
            );
            return Err(SemError::Illegal(message));
        }
        Ok([spread.values() / (x * y), x, y])
    }
}
