//! What the passes that emit operations have in common.
use crate::passes::cmpi::cmpi;
use cutec_dialects::builder::{
    Insertion, IrValue, OpBuilder, argument_of, region_with_block, result_of,
};
use cutec_dialects::elem::Elem;
use cutec_dialects::ir::build;
use cutec_dialects::ops::{CuteOp, NvvmOp, ScfOp, TileOp};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::value::Val;
use melior::ir::{Region, ValueLike};

/// Whoever has a builder of operations.
pub(super) trait Emits<'c>: Sized {
    fn ir(&self) -> &OpBuilder<'c>;
    fn ir_mut(&mut self) -> &mut OpBuilder<'c>;

    /// An operation of the `cute` dialect with a result.
    fn cute(
        &self,
        op: CuteOp,
        operands: &[IrValue<'c>],
        attrs: &Attrs,
    ) -> Result<IrValue<'c>, SemError> {
        cute(self.ir(), op, operands, attrs)
    }

    /// A value of the `cute` dialect that is known at compile time.
    fn constant(&self, val: Val) -> Result<IrValue<'c>, SemError> {
        self.cute(CuteOp::Static, &[], &Attrs::result(val))
    }

    /// A comparison of integers, by its number among the predicates of `arith.cmpi`.
    fn compare(&self, predicate: i64, one: IrValue<'c>, other: IrValue<'c>) -> IrValue<'c> {
        cmpi(self.ir(), predicate, one, other)
    }

    /// A barrier of so many threads, by its number (PTX ISA, "bar.sync").
    fn named_barrier(&self, number: IrValue<'c>, threads: IrValue<'c>) {
        named_barrier(self.ir(), number, threads);
    }

    /// Lets what a thread has written to shared memory be read by `wgmma` (PTX ISA, "Async proxy").
    fn fence_for_async_proxy(&self) {
        fence_for_async_proxy(self.ir());
    }

    /// The same, and lets bulk stores write over what the thread has loaded from global memory.
    fn fence_for_async_proxy_and_loads(&self) {
        let fence = [("kind", self.ir().attr("#nvvm.proxy_kind<async>"))];
        self.ir().op(NvvmOp::FenceProxy, &[], &fence, &[]);
    }

    /// What is done where a condition holds.
    fn only_if(
        &mut self,
        holds: IrValue<'c>,
        act: impl FnOnce(&mut Self) -> Result<(), SemError>,
    ) -> Result<(), SemError> {
        let (region, block) = region_with_block(&[]);
        let outside = std::mem::replace(&mut self.ir_mut().insertion, Insertion::End(block));
        let done = act(self);
        self.ir().op(ScfOp::Yield, &[], &[], &[]);
        self.ir_mut().insertion = outside;
        let regions = vec![region, Region::new()];
        self.ir()
            .op_with_regions(ScfOp::If, &[holds], &[], &[], regions);
        done
    }
}

/// See [`Emits::cute`].
pub(super) fn cute<'c>(
    ir: &OpBuilder<'c>,
    op: CuteOp,
    operands: &[IrValue<'c>],
    attrs: &Attrs,
) -> Result<IrValue<'c>, SemError> {
    build(ir, op, operands, attrs)?.ok_or_else(|| SemError::Illegal(format!("{op} gives nothing")))
}

/// See [`Emits::named_barrier`].
pub(super) fn named_barrier<'c>(ir: &OpBuilder<'c>, number: IrValue<'c>, threads: IrValue<'c>) {
    let attrs = [("operandSegmentSizes", ir.i32_array(&[1, 1, 0]))];
    ir.op(NvvmOp::Barrier, &[number, threads], &attrs, &[]);
}

/// See [`Emits::fence_for_async_proxy`].
pub(super) fn fence_for_async_proxy(ir: &OpBuilder) {
    let fence = [
        ("kind", ir.attr("#nvvm.proxy_kind<async.shared>")),
        ("space", ir.attr("#nvvm.shared_space<cta>")),
    ];
    ir.op(NvvmOp::FenceProxy, &[], &fence, &[]);
}

/// A tile of what is made of each element of another one, of the same type.
pub(super) fn map_of<'c>(
    ir: &OpBuilder<'c>,
    (tile, elem): (IrValue<'c>, Elem),
    each: impl FnOnce(&OpBuilder<'c>, IrValue<'c>) -> IrValue<'c>,
) -> IrValue<'c> {
    let (region, block) = region_with_block(&[(ir.number_type(elem), ir.location)]);
    let mut inside = OpBuilder::new(ir.context(), Insertion::End(block));
    inside.location = ir.location;
    let made = each(&inside, argument_of(block, 0));
    inside.op(TileOp::Yield, &[made], &[], &[]);
    let ty = tile.r#type();
    let map = ir.op_with_regions(TileOp::Map, &[tile], &[], &[ty], vec![region]);
    result_of(map, 0)
}
