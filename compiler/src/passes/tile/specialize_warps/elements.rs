//! One element of a tile that is loaded, in a role that has no tiles.
use super::super::coordinate::{Coordinate, extent};
use super::super::emits::Emits;
use super::super::types::tile_of;
use super::emit::Emit;
use super::producer::Role;
use crate::passes::cmpi::BELOW;
use crate::passes::convert_cute_to_gpu::GUARD;
use cutec_dialects::builder::{Insertion, IrValue, region_with_block, result_of};
use cutec_dialects::ops::{ArithOp, CuteOp, ScfOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::types::Vars;
use cutec_dialects::value::{TupleKind, Val};
use cutec_layout::{Tree, Width};
use melior::ir::TypeLike;

/// A coordinate in a view, of one number for each axis.
pub(super) fn coordinate<'c>(emit: &Emit<'c>, at: &[IrValue<'c>]) -> IrValue<'c> {
    if let [one] = at {
        return *one;
    }
    let mut vars = Vars::default();
    let leaves = at
        .iter()
        .map(|_| Tree::Leaf(Some(vars.fresh(Width::I32, 1))));
    let tuple = Val::Tuple(TupleKind::IntTuple, Tree::Node(leaves.collect()));
    let ty = emit.ir.val_type(&tuple);
    emit.ir.value(CuteOp::MakeIntTuple, at, &[], ty)
}

impl<'c> Role<'_, 'c> {
    /// The element of a loaded tile at a place in it; what lies outside of the view is 0, or what the load fills it with.
    pub fn element_of(
        &mut self,
        load: tile::Load<'c>,
        place: &[IrValue<'c>],
    ) -> Result<IrValue<'c>, SemError> {
        let tile = tile_of(load.op(), load.result());
        let tile = tile.map_err(|(_, message)| SemError::Illegal(message))?;
        let mut begin = Coordinate::of(load.op()).map_err(SemError::Illegal)?;
        for value in &mut begin.values {
            *value = self.value(*value);
        }
        let view = self.value(load.view());
        let (mut at, mut inside) = (Vec::new(), None);
        for (axis, own) in place.iter().enumerate() {
            let emit = &*self.emit;
            let first = begin.begin(&emit.ir, axis, tile.shape[axis])?;
            let one = emit.binary(ArithOp::Addi, first, *own);
            let extent = extent(&emit.ir, view, axis, Width::I32)?;
            // As an unsigned number one in front of the view is behind it.
            let holds = emit.compare(BELOW, one, extent);
            inside = Some(match inside {
                None => holds,
                Some(others) => {
                    let truth = emit.ir.ty("i1");
                    emit.ir.value(ArithOp::Andi, &[others, holds], &[], truth)
                }
            });
            at.push(one);
        }
        let inside = inside.ok_or_else(|| SemError::Illegal("loads no tile".into()))?;
        let ty = self.emit.ir.number_type(tile.elem);
        let (there, there_block) = region_with_block(&[]);
        let (elsewhere, else_block) = region_with_block(&[]);
        let around = std::mem::replace(&mut self.emit.ir.insertion, Insertion::End(there_block));
        let at = coordinate(self.emit, &at);
        let ir = &self.emit.ir;
        let read = ir.value(CuteOp::MemrefLoad, &[view, at], &[], ty);
        ir.op(ScfOp::Yield, &[read], &[], &[]);
        self.emit.ir.insertion = Insertion::End(else_block);
        let ir = &self.emit.ir;
        let fill = load.fill().unwrap_or_else(|| match ty.is_integer() {
            true => ir.integer(0, ty),
            false => ir.float(0.0, ty),
        });
        ir.op(ScfOp::Yield, &[ir.number(fill, ty)], &[], &[]);
        self.emit.ir.insertion = around;
        let ir = &self.emit.ir;
        let guard = [(GUARD, ir.unit())];
        let regions = vec![there, elsewhere];
        let read = ir.op_with_regions(ScfOp::If, &[inside], &guard, &[ty], regions);
        Ok(result_of(read, 0))
    }
}
