//! Exits from branches and loops that depend on run-time values: each sets a flag, and what follows asks for it.
//! What a `return` gives lies in variables until the function ends.

use super::stmt::{BREAKS, CONTINUES, Flow, RETURNS};
use super::values::{RecordValue, Slot, Value};
use super::{Evaluator, Result, Stop};
use crate::ast::{
    BinaryOp, Block, ElseBranch, Expr, ExprKind, Function, IfExpr, RecordField, Role, StmtKind,
};
use crate::diagnostics::{Diagnostic, codes};
use crate::source::Span;
use cutec_abi::counted;
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, defining_op, region_with_block, result_of,
};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::ScfOp;
use melior::ir::operation::OperationLike;
use melior::ir::{Region, ValueLike};

impl<'c, 'a> Evaluator<'c, 'a> {
    /// Sets the flag of an exit at the end of a branch, and keeps what it returns; returns what may have been left.
    /// At the tail of a function its value is kept as well, if some `return` has kept one.
    pub(super) fn leave(&mut self, flow: Flow<'c, 'a>, tail: bool, span: Span) -> Result<u8> {
        match flow {
            Flow::Next(Value::Unit) => Ok(0),
            Flow::Next(value) if tail && self.frame.result.is_some() => {
                self.keep_result(&value, span)?;
                Ok(RETURNS)
            }
            Flow::Next(_) => Ok(0),
            Flow::Maybe(exits) => Ok(exits),
            Flow::Return(value) => {
                match &value {
                    Value::Unit => self.frame.returned_nothing = true,
                    value => self.keep_result(value, span)?,
                }
                if tail {
                    return Ok(if matches!(value, Value::Unit) {
                        0
                    } else {
                        RETURNS
                    });
                }
                let flag = self.return_flag(span)?;
                self.set_flag(flag, true, span)?;
                Ok(RETURNS)
            }
            Flow::Break | Flow::Continue => {
                let breaks = matches!(flow, Flow::Break);
                let Some((broke, continued)) =
                    self.frame.loops.last().and_then(|frame| frame.exits)
                else {
                    return Err(Stop::Reported);
                };
                self.set_flag(if breaks { broke } else { continued }, true, span)?;
                Ok(if breaks { BREAKS } else { CONTINUES })
            }
        }
    }

    pub(super) fn set_flag(&mut self, flag: Slot<'c>, value: bool, span: Span) -> Result<()> {
        let number = self.number(&Value::Bool(value), Elem::I1, span)?;
        self.write_slot(flag, number, span)
    }

    /// The flag that says whether the function has returned.
    pub(super) fn return_flag(&mut self, span: Span) -> Result<Slot<'c>> {
        if let Some(flag) = self.frame.returned {
            return Ok(flag);
        }
        let flag = self.slot(Elem::I1, span)?;
        // A kernel's flag is made where it is first needed, and cleared where the kernel begins.
        let ir = self.ir(span)?;
        let here = ir.insertion;
        let after = owner(flag.view).next_in_block();
        if let Some(after) = after {
            // SAFETY: the operation stays in the entry block while the kernel is built.
            ir.insertion =
                Insertion::Before(unsafe { melior::ir::OperationRef::from_raw(after.to_raw()) });
        }
        self.set_flag(flag, false, span)?;
        self.ir(span)?.insertion = here;
        self.frame.returned = Some(flag);
        Ok(flag)
    }

    /// Runs `body`, at the tail of the function or not, unless one of the flags of `exits` is set.
    pub(super) fn guarded(
        &mut self,
        exits: u8,
        tail: bool,
        span: Span,
        body: impl FnOnce(&mut Self) -> Result<Flow<'c, 'a>>,
    ) -> Result<Flow<'c, 'a>> {
        let go = self.none_set(exits, span)?;
        let carried = self.carried_by_any();
        let before = |at: usize| carried[at].1.ir;
        let (region, block) = region_with_block(&[]);
        let left = self.in_block(block, |this| {
            this.rebind(&carried, before);
            let flow = body(this)?;
            let left = this.leave(flow, tail, span)?;
            let held = this.held(&carried);
            this.terminate(ScfOp::Yield, &held, span)?;
            Ok(left)
        });
        self.rebind(&carried, before);
        let left = left?;
        let otherwise = match carried.is_empty() {
            true => Region::new(),
            false => {
                let (region, block) = region_with_block(&[]);
                let old: Vec<_> = carried.iter().map(|(_, tile)| tile.ir).collect();
                self.in_block(block, |this| this.terminate(ScfOp::Yield, &old, span))?;
                region
            }
        };
        let types: Vec<_> = carried.iter().map(|(_, tile)| tile.ir.r#type()).collect();
        let regions = vec![region, otherwise];
        let op = self
            .ir(span)?
            .op_with_regions(ScfOp::If, &[go], &[], &types, regions);
        self.rebind(&carried, |at| result_of(op, at));
        Ok(Flow::Maybe(exits | left))
    }

    /// Whether none of the flags is set, as an `i1`.
    pub(super) fn none_set(&mut self, exits: u8, span: Span) -> Result<IrValue<'c>> {
        let mut flags = Vec::new();
        if exits & RETURNS != 0 {
            flags.push(self.return_flag(span)?);
        }
        if let Some((broke, continued)) = self.frame.loops.last().and_then(|frame| frame.exits) {
            if exits & BREAKS != 0 {
                flags.push(broke);
            }
            if exits & CONTINUES != 0 {
                flags.push(continued);
            }
        }
        let mut set = Value::Bool(false);
        for flag in flags {
            let flag = self.read_slot(&Value::Slot(flag), span)?;
            set = match set {
                Value::Bool(_) => flag,
                set => self.binary(BinaryOp::BitOr, (set, span), (flag, span), span)?,
            };
        }
        let none = self.not(&set, span)?;
        self.number(&none, Elem::I1, span)
    }

    /// Keeps what a `return` gives until the function ends; the first one says of which types that is.
    fn keep_result(&mut self, value: &Value<'c, 'a>, span: Span) -> Result<()> {
        let result = match &self.frame.result {
            Some(result) => result.clone(),
            None => {
                let result = self.variables_for(value, span)?;
                self.frame.result = Some(result.clone());
                result
            }
        };
        self.keep_in(&result, value, span)
    }

    /// A variable for a number, or a tuple of variables.
    fn variables_for(&mut self, value: &Value<'c, 'a>, span: Span) -> Result<Value<'c, 'a>> {
        let elem = match value {
            Value::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.variables_for(part, span));
                return Ok(Value::Tuple(parts.collect::<Result<_>>()?));
            }
            Value::Record(record) => {
                // What is known and no `var` field stays known.
                let declared = record.declaration.fields.iter();
                let fields = declared.zip(&record.fields).map(|(field, value)| {
                    match !field.mutable && value.is_known() {
                        true => Ok(value.clone()),
                        false => self.variables_for(value, span),
                    }
                });
                return Ok(Value::Record(RecordValue {
                    declaration: record.declaration,
                    fields: fields.collect::<Result<_>>()?,
                }));
            }
            other => match other.number_type() {
                Some(elem) => elem,
                None => {
                    let what = "a number or a tuple of numbers to return from where run-time values decide";
                    return self.expected(what, other, span);
                }
            },
        };
        self.slot(elem, span).map(Value::Slot)
    }

    fn keep_in(&mut self, result: &Value<'c, 'a>, value: &Value<'c, 'a>, span: Span) -> Result<()> {
        match (result, value) {
            (Value::Slot(slot), value) if value.number_type().is_some() => {
                let number = self.number(value, slot.elem, span)?;
                self.write_slot(*slot, number, span)
            }
            (Value::Tuple(results), Value::Tuple(values)) if results.len() == values.len() => {
                results
                    .iter()
                    .zip(values)
                    .try_for_each(|(result, value)| self.keep_in(result, value, span))
            }
            (Value::Record(results), Value::Record(values))
                if std::ptr::eq(results.declaration, values.declaration) =>
            {
                for (at, field) in results.declaration.fields.iter().enumerate() {
                    let (result, value) = (&results.fields[at], &values.fields[at]);
                    if field.mutable || !result.is_known() {
                        self.keep_in(result, value, span)?;
                    } else if !result.is_same(value) {
                        return self.known_otherwise(field, (result, value), span);
                    }
                }
                Ok(())
            }
            (Value::Record(results), _) => {
                let of = &results.declaration.name.node;
                let what = format!("a record `{of}` as another `return` gives");
                self.expected(&what, value, span)
            }
            (Value::Tuple(results), _) => {
                let what = format!(
                    "{} as another `return` gives",
                    counted(results.len(), "value")
                );
                self.expected(&what, value, span)
            }
            _ => self.expected("a number as another `return` gives", value, span),
        }
    }

    /// Reports a field that is known while compiling, and differs between the ways out of a function.
    fn known_otherwise<T>(
        &mut self,
        field: &RecordField,
        (one, other): (&Value<'c, 'a>, &Value<'c, 'a>),
        span: Span,
    ) -> Result<T> {
        let (name, one, other) = (&field.name.node, one.describe(), other.describe());
        let message =
            format!("the field `{name}` is {other}, and {one} where the function returned before");
        let diagnostic = Diagnostic::error(codes::WRONG_TYPE, span, message, "returned here")
            .with_label(field.name.span, "not a `var` field");
        Err(self.report(diagnostic.with_help(format!("declare it `var {name}`"))))
    }

    /// The value of a function that some `return` leaves by a flag.
    pub(super) fn kept_result(&mut self, function: &Function, span: Span) -> Result<Value<'c, 'a>> {
        let Some(result) = self.frame.result.clone() else {
            return Ok(Value::Unit);
        };
        if self.frame.returned_nothing || !ends_in_value(&function.body) {
            let name = &function.name;
            let message = format!("`{}` does not always return a value", name.node);
            let label = "returns one from within a loop or block";
            let diagnostic = Diagnostic::error(codes::WRONG_TYPE, name.span, message, label);
            return Err(self.report(diagnostic.with_help(
                "give each `return` a value, and end each way through the function with one",
            )));
        }
        self.read_slot(&result, span)
    }
}

fn owner(value: IrValue<'_>) -> IrOp<'_> {
    defining_op(value).expect("a variable is the result of its allocation")
}

/// What leaves a block from within: `return`, and `break` and `continue` of the loop that it is.
pub(super) fn exits_of(block: &Block) -> u8 {
    let mut exits = 0;
    for stmt in &block.stmts {
        exits |= match &stmt.kind {
            StmtKind::Return(_) => RETURNS,
            StmtKind::Break => BREAKS,
            StmtKind::Continue => CONTINUES,
            StmtKind::For(parts) => exits_of(&parts.body) & RETURNS,
            StmtKind::While { body, .. } | StmtKind::Loop(body) => exits_of(body) & RETURNS,
            StmtKind::Roles(roles) => exits_of_roles(roles),
            StmtKind::Expr(expr) => exits_of_expr(expr),
            StmtKind::Let(parts) => exits_of_expr(&parts.value),
            _ => 0,
        };
    }
    exits | block.value.as_ref().map_or(0, exits_of_expr)
}

fn exits_of_roles(roles: &[Role]) -> u8 {
    roles
        .iter()
        .fold(0, |exits, role| exits | exits_of(&role.body))
}

fn exits_of_expr(expr: &Expr) -> u8 {
    match &*expr.kind {
        ExprKind::Block(block) => exits_of(block),
        ExprKind::If(parts) => exits_of_if(parts),
        _ => 0,
    }
}

/// As [`exits_of`], of both branches.
pub(super) fn exits_of_if(parts: &IfExpr) -> u8 {
    let otherwise = match &parts.otherwise {
        Some(ElseBranch::Block(block)) => exits_of(block),
        Some(ElseBranch::If(expr)) => exits_of_expr(expr),
        None => 0,
    };
    exits_of(&parts.then) | otherwise
}

/// Whether some `return` of a function may need a flag: all but those of its body and of the branches of an
/// `if` there.
pub(super) fn returns_by_flag(body: &Block) -> bool {
    let inner = |stmt: &StmtKind| match stmt {
        StmtKind::Return(_) => false,
        StmtKind::For(parts) => exits_of(&parts.body) & RETURNS != 0,
        StmtKind::While { body, .. } | StmtKind::Loop(body) => exits_of(body) & RETURNS != 0,
        StmtKind::Roles(roles) => exits_of_roles(roles) & RETURNS != 0,
        StmtKind::Expr(expr) => exits_of_expr(expr) & RETURNS != 0,
        _ => false,
    };
    fn branches<'e>(expr: &'e Expr, found: &mut Vec<&'e Block>) {
        if let ExprKind::If(parts) = &*expr.kind {
            found.push(&parts.then);
            match &parts.otherwise {
                Some(ElseBranch::Block(block)) => found.push(block),
                Some(ElseBranch::If(expr)) => branches(expr, found),
                None => {}
            }
        }
    }
    let by_flag = |block: &Block| {
        let value = block.value.as_ref();
        block.stmts.iter().any(|stmt| inner(&stmt.kind))
            || value.is_some_and(|value| exits_of_expr(value) & RETURNS != 0)
    };
    let direct = |expr: &Expr| match &*expr.kind {
        ExprKind::If(_) => {
            let mut found = Vec::new();
            branches(expr, &mut found);
            found.into_iter().any(by_flag)
        }
        _ => exits_of_expr(expr) & RETURNS != 0,
    };
    let stmts = body.stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Expr(expr) => direct(expr),
        other => inner(other),
    });
    stmts || body.value.as_ref().is_some_and(direct)
}

/// Whether each way through a block that comes to its end has a value there.
fn ends_in_value(block: &Block) -> bool {
    match (&block.value, block.stmts.last().map(|stmt| &stmt.kind)) {
        (Some(value), _) => gives_value(value),
        (None, Some(StmtKind::Return(value))) => value.is_some(),
        (None, Some(StmtKind::Expr(expr))) => match &*expr.kind {
            ExprKind::If(_) | ExprKind::Block(_) => gives_value(expr),
            _ => false,
        },
        (None, Some(StmtKind::Loop(body))) => exits_of(body) & BREAKS == 0,
        _ => false,
    }
}

fn gives_value(expr: &Expr) -> bool {
    match &*expr.kind {
        ExprKind::Block(block) => ends_in_value(block),
        ExprKind::If(parts) => {
            ends_in_value(&parts.then)
                && match &parts.otherwise {
                    Some(ElseBranch::Block(block)) => ends_in_value(block),
                    Some(ElseBranch::If(expr)) => gives_value(expr),
                    None => false,
                }
        }
        _ => true,
    }
}
