//! `expand-ceil-div`: quotients rounded up become operations that the machine has.
//!
//! Before: `arith.ceildivsi %a, %b`, of integers or vectors of them. After: the quotient rounded towards zero, and one
//! more where that was not up. By a power of two the quotient is a shift, which rounds down, and the bits that it
//! drops are the remainder. No intermediate result overflows.
use super::Reported;
use super::cmpi::{AT_LEAST, GREATER, LESS, NOT_EQUAL};
use super::ir_utils::{
    Kernel, collect_nested, defining_op, erase, for_each_kernel, replace_all_uses, users,
    vector_elements,
};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder, integer_value, result_of};
use cutec_dialects::ops::{ArithOp, arith};
use melior::Context;
use melior::ir::{Type, TypeLike, ValueLike, operation::OperationLike};

/// Expands the divisions of every kernel of the module.
pub fn expand_ceil_div<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let Kernel {
            context, function, ..
        } = kernel;
        let mut operations = Vec::new();
        collect_nested(function, &mut operations);
        operations.retain(|op| ArithOp::Ceildivsi.is(*op));
        for op in operations {
            expand(context, op);
        }
        Ok::<_, Reported>(())
    })
}

fn expand<'c>(context: &'c Context, op: IrOp<'c>) -> Option<()> {
    let division = arith::Binary::of(op)?;
    let (a, b) = (division.lhs(), division.rhs());
    let mut ir = OpBuilder::new(context, Insertion::Before(op));
    ir.location = op.location();
    let ty = a.r#type();
    // Vectors of the language have one axis.
    if !ty.is_integer() && !ty.is_index() && vector_elements(ty).is_none() {
        return None;
    }
    let code = Code { ir, ty };
    let by = known(b);
    let (quotient, more) = match by {
        Some(by) if by > 0 && by.count_ones() == 1 => {
            let low = code.arith(ArithOp::Andi, a, code.number(by - 1));
            let more = code.compare(NOT_EQUAL, low, code.number(0));
            let bits = code.number(i64::from(by.trailing_zeros()));
            (code.arith(ArithOp::Shrsi, a, bits), more)
        }
        // Division rounds towards zero: up, unless the exact quotient is positive.
        Some(by) => {
            let rest = code.arith(ArithOp::Remsi, a, b);
            let predicate = if by > 0 { GREATER } else { LESS };
            let more = code.compare(predicate, rest, code.number(0));
            (code.arith(ArithOp::Divsi, a, b), more)
        }
        None => {
            let rest = code.arith(ArithOp::Remsi, a, b);
            let signs = code.arith(ArithOp::Xori, rest, b);
            let alike = code.compare(AT_LEAST, signs, code.number(0));
            let some = code.compare(NOT_EQUAL, rest, code.number(0));
            let more = code.arith(ArithOp::Andi, some, alike);
            (code.arith(ArithOp::Divsi, a, b), more)
        }
    };
    let one = code.widened(more);
    let sum = code.arith(ArithOp::Addi, quotient, one);
    replace_all_uses(result_of(op, 0), sum);
    erase(op);
    // The number that it divided by.
    if let Some(constant) = defining_op(b).filter(|_| by.is_some() && users(b).is_empty()) {
        erase(constant);
    }
    Some(())
}

/// Operations on integers of one type, or on vectors of them.
struct Code<'c> {
    ir: OpBuilder<'c>,
    ty: Type<'c>,
}

impl<'c> Code<'c> {
    fn number(&self, number: i64) -> IrValue<'c> {
        match vector_elements(self.ty) {
            Some((_, elem)) => {
                let number = self.ir.integer(number, elem);
                self.ir.number(self.ir.splat(self.ty, number), self.ty)
            }
            None => self.ir.constant_of(number, self.ty),
        }
    }

    fn arith(&self, op: ArithOp, a: IrValue<'c>, b: IrValue<'c>) -> IrValue<'c> {
        self.ir.value(op, &[a, b], &[], a.r#type())
    }

    fn compare(&self, predicate: i64, a: IrValue<'c>, b: IrValue<'c>) -> IrValue<'c> {
        let predicate = [("predicate", self.ir.i64(predicate))];
        let bool = self.ir.integer_type(1);
        let ty =
            vector_elements(self.ty).map_or(bool, |(count, _)| self.ir.vector_type(count, bool));
        self.ir.value(ArithOp::Cmpi, &[a, b], &predicate, ty)
    }

    /// A condition as 0 or 1.
    fn widened(&self, condition: IrValue<'c>) -> IrValue<'c> {
        let elem = vector_elements(self.ty).map_or(self.ty, |(_, elem)| elem);
        let op = match elem.is_index() {
            true => ArithOp::IndexCastui,
            false => ArithOp::Extui,
        };
        self.ir.value(op, &[condition], &[], self.ty)
    }
}

/// The number that a value is, of a vector that of each element.
fn known(value: IrValue) -> Option<i64> {
    let constant = defining_op(value).filter(|op| ArithOp::Constant.is(*op))?;
    let attribute = constant.attribute("value").ok()?;
    integer_value(attribute).or_else(|| {
        let text = attribute.to_string();
        let (number, _) = text.strip_prefix("dense<")?.split_once('>')?;
        number.parse().ok()
    })
}
