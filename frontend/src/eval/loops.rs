//! Loops: unrolled, run while compiling, or left to run time.

use super::exits::exits_of;
use super::stmt::{BREAKS, CONTINUES, Flow, Place, RETURNS};
use super::tiles::Carried;
use super::values::{Scalar, Value};
use super::{Evaluator, LoopFrame, Result};
use crate::ast::{Arg, BinaryOp, Block, Expr, ExprKind, For};
use crate::diagnostics::codes;
use crate::source::Span;
use cutec_dialects::builder::{IrValue, argument_of, region_with_block, result_of};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, ScfOp};
use cutec_dialects::tile::{CHOSEN_STAGES, STAGES};
use cutec_layout::gcd;
use melior::ir::{Region, ValueLike};

impl<'c, 'a> Evaluator<'c, 'a> {
    pub(super) fn for_statement(&mut self, parts: &'a For, span: Span) -> Result<Flow<'c, 'a>> {
        let stages = match &parts.clause {
            Some(clause) => Some(self.stages(clause, &parts.body)?),
            None => None,
        };
        let over = self.expr(&parts.over)?;
        match over {
            Value::Array(_) | Value::Tuple(_) if stages.is_some() => {
                self.expected("a range to run over in a pipeline", &over, parts.over.span)
            }
            Value::Range(range) => {
                let known = match &*range {
                    [Value::Int(start), Value::Int(end), Value::Int(step)] => {
                        Some((*start, *end, *step))
                    }
                    _ => None,
                };
                match known {
                    Some((_, _, step)) if step <= 0 => self.error(
                        codes::ILLEGAL_OPERATION,
                        parts.over.span,
                        format!("the step is {step}"),
                        "must be positive",
                    ),
                    Some((start, end, step)) if parts.is_static || self.ir.is_none() => {
                        let count = iterations(start, end, step);
                        let item = |at: i64| Value::Int(start + at * step);
                        self.unrolled(parts, count, &item, span)
                    }
                    None if parts.is_static => {
                        self.static_needed("the range of `static for`", &parts.over)
                    }
                    _ => {
                        let [start, end, step] = *range;
                        self.dynamic_for(parts, [start, end, step], stages, span)
                    }
                }
            }
            Value::Array(items) | Value::Tuple(items) => {
                let item = |at: i64| items[at as usize].clone();
                self.unrolled(parts, items.len() as i64, &item, span)
            }
            // The empty tuple.
            Value::Unit => self.unrolled(parts, 0, &|_| Value::Unit, span),
            other => {
                let text = self.text(parts.over.span);
                let end = match other {
                    Value::Int(_) | Value::Scalar(_) => format!("0..{text}"),
                    _ => format!("0..size({text})"),
                };
                let what = "a range or an array to run over";
                match other {
                    Value::Int(_) | Value::Scalar(_) | Value::Cute(_) => self.expected_with_help(
                        what,
                        &other,
                        parts.over.span,
                        format!("write `{end}`"),
                    ),
                    _ => self.expected(what, &other, parts.over.span),
                }
            }
        }
    }

    /// Runs the iterations of a loop one by one.
    fn unrolled(
        &mut self,
        parts: &'a For,
        count: i64,
        item: &dyn Fn(i64) -> Value<'c, 'a>,
        span: Span,
    ) -> Result<Flow<'c, 'a>> {
        self.enter_loop(&parts.body, span)?;
        let flow = self.iterations(parts, 0..count, item, span);
        self.frame.loops.pop();
        flow
    }

    fn iterations(
        &mut self,
        parts: &'a For,
        mut range: std::ops::Range<i64>,
        item: &dyn Fn(i64) -> Value<'c, 'a>,
        span: Span,
    ) -> Result<Flow<'c, 'a>> {
        let body = &parts.body;
        while let Some(at) = range.next() {
            self.step(span)?;
            self.clear_continue(span)?;
            let flow = self.nested(span, |this| {
                this.scoped(|this| {
                    this.destructure(&parts.pattern, &item(at), false)?;
                    this.list((&body.stmts, body.value.as_ref()), Place::INNER)
                })
            })?;
            match flow {
                Flow::Next(_) | Flow::Continue | Flow::Maybe(CONTINUES) => {}
                Flow::Break => break,
                Flow::Return(value) => return Ok(Flow::Return(value)),
                Flow::Maybe(exits) => {
                    let outer = if exits & RETURNS != 0 {
                        Flow::Maybe(RETURNS)
                    } else {
                        Flow::Next(Value::Unit)
                    };
                    if range.is_empty() {
                        return Ok(outer);
                    }
                    let rest = self.guarded(exits & !CONTINUES, false, span, |this| {
                        this.iterations(parts, range, item, span)
                    })?;
                    return Ok(match (rest, outer) {
                        (Flow::Maybe(exits), _) if exits & RETURNS != 0 => Flow::Maybe(RETURNS),
                        (_, outer) => outer,
                    });
                }
            }
        }
        Ok(Flow::Next(Value::Unit))
    }

    /// Opens a loop; with flags if something in it leaves it.
    fn enter_loop(&mut self, body: &'a Block, span: Span) -> Result<()> {
        let exits = match (exits_of(body) & (BREAKS | CONTINUES), self.ir.is_some()) {
            (0, _) | (_, false) => None,
            _ => {
                let flags = (self.slot(Elem::I1, span)?, self.slot(Elem::I1, span)?);
                self.set_flag(flags.0, false, span)?;
                Some(flags)
            }
        };
        self.frame.loops.push(LoopFrame { exits });
        Ok(())
    }

    /// At the start of an iteration nothing has said `continue`.
    fn clear_continue(&mut self, span: Span) -> Result<()> {
        match self.frame.loops.last().and_then(|frame| frame.exits) {
            Some((_, continued)) => self.set_flag(continued, false, span),
            None => Ok(()),
        }
    }

    /// A loop over a range that is run at run time.
    fn dynamic_for(
        &mut self,
        parts: &'a For,
        [start, end, step]: [Value<'c, 'a>; 3],
        stages: Option<i64>,
        span: Span,
    ) -> Result<Flow<'c, 'a>> {
        let wide = [&start, &end, &step]
            .into_iter()
            .any(|value| matches!(value, Value::Scalar(s) if s.elem == Elem::I64));
        let elem = if wide { Elem::I64 } else { Elem::I32 };
        let divisor = |value: &Value<'c, 'a>| match value {
            Value::Int(value) => value.saturating_abs(),
            Value::Scalar(scalar) => scalar.div,
            _ => 1,
        };
        let div = gcd(divisor(&start), divisor(&step)).max(1);
        let over = parts.over.span;
        let mut bounds = Vec::new();
        for value in [&start, &end, &step] {
            bounds.push(self.spread(value, elem, None, over)?);
        }
        let body = &parts.body;
        if exits_of(body) == 0 {
            let carried = self.carried(body);
            let ir = self.ir(span)?;
            let (ty, location) = (ir.ty(elem.name()), ir.location);
            let types: Vec<_> = carried.iter().map(|(_, tile)| tile.ir.r#type()).collect();
            let mut arguments = vec![(ty, location)];
            arguments.extend(types.iter().map(|ty| (*ty, location)));
            let (region, block) = region_with_block(&arguments);
            let index = Value::Scalar(Scalar {
                ir: argument_of(block, 0),
                elem,
                div,
                tuple: None,
            });
            self.frame.loops.push(LoopFrame { exits: None });
            self.runtime_loops += 1;
            let result = self.in_block(block, |this| {
                this.rebind(&carried, |at| argument_of(block, at + 1));
                this.iteration(parts, &index)?;
                let held = this.held(&carried);
                this.terminate(ScfOp::Yield, &held, span)
            });
            self.runtime_loops -= 1;
            self.leave_loop(self.runtime_loops);
            self.frame.loops.pop();
            self.rebind(&carried, |at| carried[at].1.ir);
            result?;
            bounds.extend(carried.iter().map(|(_, tile)| tile.ir));
            let ir = self.ir(span)?;
            let stages = stages.map(|stages| ir.integer(stages, ir.ty("i32")));
            let attrs: Vec<_> = stages
                .map(|stages| ("tile.stages", stages))
                .into_iter()
                .collect();
            let op = ir.op_with_regions(ScfOp::For, &bounds, &attrs, &types, vec![region]);
            self.rebind(&carried, |at| result_of(op, at));
            return Ok(Flow::Next(Value::Unit));
        }
        let counter = self.slot(elem, span)?;
        self.write_slot(counter, bounds[0], span)?;
        let end = super::arith::number_or_vector(bounds[1], elem, None);
        let condition = |this: &mut Self| {
            let index = this.read_slot(&Value::Slot(counter), over)?;
            this.binary(BinaryOp::Lt, (index, over), (end.clone(), over), over)
        };
        let (step, is_one) = (bounds[2], matches!(step, Value::Int(1)));
        let body = |this: &mut Self| {
            let index = match this.read_slot(&Value::Slot(counter), over)? {
                Value::Scalar(scalar) => Value::Scalar(Scalar { div, ..scalar }),
                other => other,
            };
            let flow = this.iteration(parts, &index)?;
            let index = this.number(&index, elem, over)?;
            let next = this.next_counter(index, (bounds[1], step), is_one, over)?;
            this.write_slot(counter, next, over)?;
            Ok(flow)
        };
        self.while_loop(&parts.body, condition, body, span)
    }

    /// The counter of the next iteration of a loop that is left early, or the end where there is none: near the
    /// greatest number of the type, the sum would wrap around.
    fn next_counter(
        &mut self,
        counter: IrValue<'c>,
        (end, step): (IrValue<'c>, IrValue<'c>),
        is_one: bool,
        span: Span,
    ) -> Result<IrValue<'c>> {
        let ir = self.ir(span)?;
        let ty = counter.r#type();
        let next = ir.value(ArithOp::Addi, &[counter, step], &[], ty);
        if is_one {
            return Ok(next);
        }
        // The counter is below the end, so without sign the distance is right whatever both are.
        let left = ir.value(ArithOp::Subi, &[end, counter], &[], ty);
        let at_most = [("predicate", ir.i64(7))];
        let is_last = ir.value(ArithOp::Cmpi, &[left, step], &at_most, ir.ty("i1"));
        Ok(ir.value(ArithOp::Select, &[is_last, end, next], &[], ty))
    }

    /// `pipeline(n)` before a `for`: how many iterations are under way at a time; `pipeline` leaves that to the cost model.
    fn stages(&mut self, clause: &'a Expr, body: &'a Block) -> Result<i64> {
        let args: &'a [Arg] = match &*clause.kind {
            ExprKind::Name(name) if &**name == "pipeline" => &[],
            ExprKind::Call { callee, args }
                if callee.as_name().is_some_and(|name| &**name == "pipeline") =>
            {
                args.as_slice()
            }
            _ => {
                let message = format!("no loop clause `{}`", self.text(clause.span));
                let label = "expected `pipeline` or `pipeline(n)`";
                return self.error(codes::UNKNOWN_NAME, clause.span, message, label);
            }
        };
        if self.tiles.is_none() {
            let help = "it is for kernels at tile level";
            return self.unsupported(clause.span, "a clause before `for`", help);
        }
        let stages = match args {
            [] => CHOSEN_STAGES,
            [arg] => {
                let stages = self.static_int("the number of stages", &arg.value)?;
                if stages != CHOSEN_STAGES && !STAGES.contains(&stages) {
                    let (least, most) = STAGES.into_inner();
                    let message = format!(
                        "a pipeline has {least} to {most} stages, or {CHOSEN_STAGES} that the compiler chooses, not {stages}"
                    );
                    return self.error(codes::ILLEGAL_OPERATION, arg.value.span, message, "here");
                }
                stages
            }
            _ => {
                let message = "`pipeline` takes the number of stages";
                return self.error(codes::WRONG_ARGUMENTS, clause.span, message, "here");
            }
        };
        if exits_of(body) != 0 {
            let what = "`break`, `continue` or `return` in a pipelined loop";
            return self.unsupported(clause.span, what, "use a `for` without `pipeline`");
        }
        Ok(stages)
    }

    fn iteration(&mut self, parts: &'a For, index: &Value<'c, 'a>) -> Result<Flow<'c, 'a>> {
        let body = &parts.body;
        self.scoped(|this| {
            this.destructure(&parts.pattern, index, false)?;
            this.list((&body.stmts, body.value.as_ref()), Place::INNER)
        })
    }

    /// `while` and `loop`.
    pub(super) fn while_statement(
        &mut self,
        condition: Option<&'a Expr>,
        body: &'a Block,
        span: Span,
    ) -> Result<Flow<'c, 'a>> {
        if self.ir.is_none() {
            return self.static_while(condition, body, span);
        }
        let ask = |this: &mut Self| match condition {
            Some(condition) => this.condition_value(condition),
            None => Ok(Value::Bool(true)),
        };
        self.while_loop(body, ask, |this| this.block(body, Place::INNER), span)
    }

    fn static_while(
        &mut self,
        condition: Option<&'a Expr>,
        body: &'a Block,
        span: Span,
    ) -> Result<Flow<'c, 'a>> {
        self.frame.loops.push(LoopFrame { exits: None });
        let flow = loop {
            if let Err(stop) = self.step(span) {
                break Err(stop);
            }
            let go = match condition {
                Some(condition) => self.static_bool("the condition of `while`", condition),
                None => Ok(true),
            };
            match go {
                Ok(true) => {}
                Ok(false) => break Ok(Flow::Next(Value::Unit)),
                Err(stop) => break Err(stop),
            }
            match self.block(body, Place::INNER) {
                Ok(Flow::Break) => break Ok(Flow::Next(Value::Unit)),
                Ok(Flow::Return(value)) => break Ok(Flow::Return(value)),
                Ok(_) => {}
                Err(stop) => break Err(stop),
            }
        };
        self.frame.loops.pop();
        flow
    }

    /// A loop that asks before each iteration; flags say where it is left early.
    fn while_loop(
        &mut self,
        body: &'a Block,
        condition: impl FnOnce(&mut Self) -> Result<Value<'c, 'a>>,
        iteration: impl FnOnce(&mut Self) -> Result<Flow<'c, 'a>>,
        span: Span,
    ) -> Result<Flow<'c, 'a>> {
        let exits = exits_of(body);
        self.enter_loop(body, span)?;
        let carried = self.carried(body);
        self.runtime_loops += 1;
        let result = self.while_regions((exits, &carried), condition, iteration, span);
        self.runtime_loops -= 1;
        self.leave_loop(self.runtime_loops);
        self.frame.loops.pop();
        self.rebind(&carried, |at| carried[at].1.ir);
        let regions = result?;
        let before: Vec<_> = carried.iter().map(|(_, tile)| tile.ir).collect();
        let types: Vec<_> = before.iter().map(|tile| tile.r#type()).collect();
        let ir = self.ir(span)?;
        let op = ir.op_with_regions(ScfOp::While, &before, &[], &types, regions);
        self.rebind(&carried, |at| result_of(op, at));
        Ok(if exits & RETURNS != 0 {
            Flow::Maybe(RETURNS)
        } else {
            Flow::Next(Value::Unit)
        })
    }

    fn while_regions(
        &mut self,
        (exits, carried): (u8, &[Carried<'c>]),
        condition: impl FnOnce(&mut Self) -> Result<Value<'c, 'a>>,
        iteration: impl FnOnce(&mut Self) -> Result<Flow<'c, 'a>>,
        span: Span,
    ) -> Result<Vec<Region<'c>>> {
        let location = self.ir(span)?.location;
        let tiles: Vec<_> = carried
            .iter()
            .map(|(_, tile)| (tile.ir.r#type(), location))
            .collect();
        let (before, before_block) = region_with_block(&tiles);
        self.in_block(before_block, |this| {
            // The condition sees what the last iteration left, and assigns to none of it.
            let regions = this.regions;
            this.regions = regions.wrapping_sub(1);
            this.rebind(carried, |at| argument_of(before_block, at));
            this.regions = regions;
            let flags = exits & (RETURNS | BREAKS);
            let number = if flags == 0 {
                let go = condition(this)?;
                this.number(&go, Elem::I1, span)?
            } else {
                // The condition is not asked once the loop has been left.
                let running = this.none_set(flags, span)?;
                this.asked_unless(running, false, span, |this| {
                    let go = condition(this)?;
                    this.number(&go, Elem::I1, span)
                })?
            };
            let mut forwarded = vec![number];
            forwarded.extend((0..tiles.len()).map(|at| argument_of(before_block, at)));
            this.terminate(ScfOp::Condition, &forwarded, span)
        })?;
        let (after, after_block) = region_with_block(&tiles);
        self.in_block(after_block, |this| {
            this.rebind(carried, |at| argument_of(after_block, at));
            this.clear_continue(span)?;
            let flow = iteration(this)?;
            this.leave(flow, false, span)?;
            let held = this.held(carried);
            this.terminate(ScfOp::Yield, &held, span)
        })?;
        Ok(vec![before, after])
    }
}

/// How many iterations a loop over a static range has. Of more than 64 bits count the budget ends it first.
fn iterations(start: i64, end: i64, step: i64) -> i64 {
    let (start, end, step) = (i128::from(start), i128::from(end), i128::from(step));
    let count = (end - start).max(0) + step - 1;
    i64::try_from(count / step).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::iterations;

    #[test]
    fn static_ranges_of_any_length_are_counted() {
        for (range, count) in [
            ((0, 10, 1), 10),
            ((0, 10, 3), 4),
            ((10, 0, 1), 0),
            ((0, 0, i64::MAX), 0),
            ((i64::MIN, i64::MAX, i64::MAX), 3),
            ((i64::MIN, i64::MAX, 1), i64::MAX),
        ] {
            assert_eq!(iterations(range.0, range.1, range.2), count, "{range:?}");
        }
    }
}
