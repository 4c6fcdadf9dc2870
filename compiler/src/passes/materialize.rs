//! Materializes a value of the dialect as constructors of its run-time integers, for `cute-expand-ops`.
use super::emit::Emitter;
use cutec_dialects::builder::IrValue;
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::{SemError, leaves_of};
use cutec_dialects::value::{TupleKind, Val, as_coord};
use cutec_layout::{
    AnyLayout, ComposedLayout, Coord, Expr, Int, IntTuple, Layout, LayoutError, Outer, Tiler, Tree,
    Width,
};
use std::collections::HashMap;

/// The value of the same form whose integers, bases aside, are `f` of these.
pub fn map_ints(val: &Val, f: &dyn Fn(&Int) -> Int) -> Result<Val, SemError> {
    let leaf = |int: &Int| Int::scaled(f(int.value()), int.path().to_vec());
    Ok(match val {
        Val::Scalar(int) => Val::Scalar(f(int)),
        Val::Tuple(kind, tuple) => Val::Tuple(*kind, tuple.map(&mut |int| int.as_ref().map(leaf))),
        Val::Layout(AnyLayout::Plain(layout)) => {
            Val::Layout(AnyLayout::Plain(map_layout(layout, &leaf)?))
        }
        Val::Layout(AnyLayout::Composed(composed)) => {
            let outer = match &composed.outer {
                Outer::Swizzle(swizzle) => Outer::Swizzle(*swizzle),
                Outer::Layout(layout) => Outer::Layout(map_layout(layout, &leaf)?),
            };
            Val::Layout(AnyLayout::Composed(ComposedLayout {
                outer,
                offset: composed.offset.map(&mut |int| leaf(int)),
                inner: map_layout(&composed.inner, &leaf)?,
            }))
        }
        Val::Tile(tiler) => Val::Tile(map_tiler(tiler, &leaf)?),
        other => other.clone(),
    })
}

fn map_layout(layout: &Layout, leaf: &dyn Fn(&Int) -> Int) -> Result<Layout, LayoutError> {
    Layout::new(
        layout.shape().map(&mut |int| leaf(int)),
        layout.stride().map(&mut |int| leaf(int)),
    )
}

fn map_tiler(tiler: &Tiler, leaf: &dyn Fn(&Int) -> Int) -> Result<Tiler, LayoutError> {
    Ok(match tiler {
        Tiler::Layout(layout) => Tiler::Layout(map_layout(layout, leaf)?),
        Tiler::Int(int) => Tiler::Int(leaf(int)),
        Tiler::Tile(modes) => Tiler::Tile(
            modes
                .iter()
                .map(|mode| map_tiler(mode, leaf))
                .collect::<Result<_, _>>()?,
        ),
        Tiler::All => Tiler::All,
    })
}

/// The variable that a run-time integer of a type is.
pub fn variable_of(int: &Int) -> Option<u32> {
    match int.value().as_sym()?.expr() {
        Expr::Var(id) => Some(*id),
        _ => None,
    }
}

/// An SSA value of the declared type, which is a value's own or says less, and the SSA values of
/// its run-time integers. Arithmetic comes first, leaf by leaf; then the constructors.
pub fn materialize<'c>(
    emitter: &mut Emitter<'c>,
    declared: &Val,
    val: &Val,
) -> (IrValue<'c>, Vec<(Int, IrValue<'c>)>) {
    let (mut values, mut integers) = (HashMap::new(), Vec::new());
    for (declared, leaf) in leaves_of(declared).iter().zip(leaves_of(val)) {
        if let Some(id) = variable_of(declared) {
            let value = emitter.int(&leaf, declared.width() == Width::I64);
            values.insert(id, value);
            integers.push((leaf.value().clone(), value));
        }
    }
    (Builder { emitter, values }.build(declared), integers)
}

struct Builder<'a, 'c> {
    emitter: &'a Emitter<'c>,
    /// What fills each run-time integer of the declared type.
    values: HashMap<u32, IrValue<'c>>,
}

impl<'c> Builder<'_, 'c> {
    fn build(&self, declared: &Val) -> IrValue<'c> {
        match declared {
            Val::Scalar(int) => match variable_of(int) {
                Some(id) => self.values[&id],
                None => unreachable!("a type of another dialect is a variable"),
            },
            _ if declared.is_static() => self.op(CuteOp::Static, &[], declared),
            Val::Tuple(kind, tuple) => self.tuple(*kind, tuple),
            Val::Layout(AnyLayout::Plain(layout)) => self.layout(layout),
            Val::Layout(AnyLayout::Composed(composed)) => {
                let inner = self.build(&Val::Layout(AnyLayout::Plain(composed.inner.clone())));
                let offset = self.tuple(TupleKind::IntTuple, &as_coord(&composed.offset));
                let outer = self.build(&match &composed.outer {
                    Outer::Swizzle(swizzle) => Val::Swizzle(*swizzle),
                    Outer::Layout(layout) => Val::Layout(AnyLayout::Plain(layout.clone())),
                });
                self.op(
                    CuteOp::MakeComposedLayout,
                    &[outer, offset, inner],
                    declared,
                )
            }
            other => {
                let leaves = leaves_of(other);
                self.op(CuteOp::MakeTile, &self.operands(leaves.iter()), declared)
            }
        }
    }

    fn layout(&self, layout: &Layout) -> IrValue<'c> {
        let part = |kind, tuple: &IntTuple| self.tuple(kind, &as_coord(tuple));
        let shape = part(TupleKind::Shape, layout.shape());
        let stride = part(TupleKind::Stride, layout.stride());
        let declared = Val::Layout(AnyLayout::Plain(layout.clone()));
        self.op(CuteOp::MakeLayout, &[shape, stride], &declared)
    }

    fn tuple(&self, kind: TupleKind, tuple: &Coord) -> IrValue<'c> {
        let operands = self.operands(tuple.leaves().into_iter().flatten());
        let op = CuteOp::make_tuple(kind);
        self.op(op, &operands, &Val::Tuple(kind, tuple.clone()))
    }

    /// The values of the run-time leaves, with the divisors that their types promise.
    fn operands<'a>(&self, leaves: impl Iterator<Item = &'a Int>) -> Vec<IrValue<'c>> {
        let dynamic = leaves.filter_map(|leaf| Some((leaf.value(), variable_of(leaf)?)));
        dynamic
            .map(|(int, id)| match int.div() {
                1 => self.values[&id],
                _ => {
                    let promised = Val::Tuple(TupleKind::IntTuple, Tree::Leaf(Some(int.clone())));
                    self.op(CuteOp::Assume, &[self.values[&id]], &promised)
                }
            })
            .collect()
    }

    fn op(&self, op: CuteOp, operands: &[IrValue<'c>], result: &Val) -> IrValue<'c> {
        let ir = &self.emitter.ir;
        let ty = ir.val_type(result);
        ir.value(op, operands, &[], ty)
    }
}
