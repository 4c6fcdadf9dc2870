//! Abstract values of an operation: operands and results as their types describe them.
use cutec_dialects::builder::{IrOp, result_of};
use cutec_dialects::ir::{attrs_of, values_of};
use cutec_dialects::memo::type_value;
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::types::Vars;
use cutec_dialects::value::Val;
use melior::ir::{ValueLike, operation::OperationLike};

/// Operands and results by their types: each run-time integer is a variable of its own.
pub struct AbstractOp {
    /// The operands.
    pub operands: Vec<Val>,
    /// The attributes.
    pub attrs: Attrs,
    /// The results, as declared.
    pub results: Vec<Val>,
}

impl AbstractOp {
    /// Reads the types of an operation.
    pub fn of(op: IrOp) -> Result<AbstractOp, SemError> {
        let mut vars = Vars::default();
        let operands = values_of(&op, &mut vars)?;
        let attrs = attrs_of(&op, &mut vars)?;
        let results = (0..op.result_count())
            .map(|index| type_value(result_of(op, index).r#type(), &mut vars))
            .collect::<Result<_, _>>()?;
        Ok(AbstractOp {
            operands,
            attrs,
            results,
        })
    }

    /// Whether only integers, tuples, layouts, tiles and swizzles come in and go out.
    pub fn is_algebra(&self) -> bool {
        let values = self.operands.iter().chain(&self.results);
        values.into_iter().all(|val| match val {
            Val::Scalar(_) | Val::Tuple(..) | Val::Layout(_) => true,
            Val::Swizzle(_) | Val::Tile(_) => true,
            Val::Opaque(ty) => ty == "i1",
            _ => false,
        })
    }
}

/// Operations of the algebra that `cute-expand-ops` leaves and `cute-to-base` lowers: they
/// compute nothing.
pub fn is_leaf(kind: CuteOp, op: IrOp) -> bool {
    match kind {
        CuteOp::Static | CuteOp::GetScalars | CuteOp::Assume | CuteOp::Print => true,
        // Of a shape alone it computes the strides.
        CuteOp::MakeLayout => op.operand_count() == 2,
        CuteOp::MakeIntTuple
        | CuteOp::MakeShape
        | CuteOp::MakeStride
        | CuteOp::MakeCoord
        | CuteOp::MakeTile
        | CuteOp::MakeComposedLayout => true,
        _ => false,
    }
}
