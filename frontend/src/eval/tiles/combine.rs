//! Tiles combined along an axis: `reduce` by a function or of several tiles, and `scan`.

use crate::ast::visit::{Visit, walk_expr, walk_stmt};
use crate::ast::{Expr, ExprKind, Function, Param, PatternKind, Stmt, StmtKind};
use crate::diagnostics::{Diagnostic, codes};
use crate::eval::builtins::{Operator, combine, combiner, flatten, rebuild};
use crate::eval::call::Call;
use crate::eval::materialize::Literal;
use crate::eval::problem;
use crate::eval::values::{Tile, Value};
use crate::eval::{Evaluator, Result, Stop};
use crate::rules;
use crate::source::Span;
use cutec_dialects::builder::{argument_of, region_with_block, result_of};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::TileOp;
use melior::ir::attribute::ArrayAttribute;

impl<'c, 'a> Evaluator<'c, 'a> {
    /// `reduce(f, x, axis = a)` of a tile or a tuple of tiles, by a function or an operator: the axes stay with
    /// extent 1.
    pub(in crate::eval) fn fold_tiles(&mut self, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
        let Some(value) = call.arg(1).map(|arg| arg.value.clone()) else {
            return Err(Stop::Reported);
        };
        let mut tiles = self.combined_tiles(call)?;
        for axis in self.axes(call, &tiles[0].shape.clone())? {
            tiles = self.combined(call, TileOp::Fold, &value, &tiles, axis)?;
        }
        rebuild(&value, &mut tiles.into_iter().map(Value::Tile))
    }

    /// `scan(f, x, axis = a, exclusive = false, reverse = false)`.
    pub(in crate::eval) fn scan_tiles(&mut self, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
        let Some(value) = call.arg(1).map(|arg| arg.value.clone()) else {
            return Err(Stop::Reported);
        };
        let tiles = self.combined_tiles(call)?;
        let axis = self.axis(call, &tiles[0].shape)?;
        let tiles = self.combined(call, TileOp::Scan, &value, &tiles, axis)?;
        rebuild(&value, &mut tiles.into_iter().map(Value::Tile))
    }

    /// The tiles that a call combines, repeated to a common shape.
    fn combined_tiles(&mut self, call: &Call<'c, 'a>) -> Result<Vec<Tile<'c>>> {
        let Some(arg) = call.arg(1) else {
            return Err(Stop::Reported);
        };
        let mut leaves = Vec::new();
        flatten(&arg.value, &mut leaves);
        let span = arg.expr.span;
        if !leaves.iter().any(|leaf| matches!(leaf, Value::Tile(_))) {
            return self.expected("a tile or a tuple of tiles", &arg.value.clone(), span);
        }
        let values: Vec<_> = leaves.iter().map(|leaf| (leaf.clone(), span)).collect();
        let shape = self.common_shape(&values, span)?;
        let mut tiles = Vec::new();
        for leaf in leaves {
            tiles.push(match &leaf {
                Value::Tile(tile) => self.repeated(tile, &shape, span)?,
                other => return self.expected("a tile", &other.clone(), span),
            });
        }
        Ok(tiles)
    }

    /// A `tile.fold` or `tile.scan`; `like` has the form of what the function takes and gives.
    fn combined(
        &mut self,
        call: &Call<'c, 'a>,
        op: TileOp,
        like: &Value<'c, 'a>,
        tiles: &[Tile<'c>],
        axis: usize,
    ) -> Result<Vec<Tile<'c>>> {
        let span = call.span;
        let Some(how) = call.arg(0) else {
            return Err(Stop::Reported);
        };
        let combiner = combiner(self, how)?;
        if let Some(operator) = Operator::of(&how.value)
            && let Some(tile) = tiles
                .iter()
                .find(|tile| !rules::reduces(operator, tile.elem))
        {
            let operand = match call.arg(1) {
                Some(arg) if matches!(arg.value, Value::Tile(_)) => self.text(arg.expr.span),
                _ => "x",
            };
            let problem = problem::no_reduction(span, (operator, tile.elem), operand);
            return Err(self.report(problem));
        }
        if let (Value::Tile(_), Value::Function(function)) = (like, &how.value)
            && let Some(part) = taken_apart(function)
        {
            let (name, called) = (&function.name.node, &call.name);
            let message =
                format!("`{name}` takes tuples, but `{called}` of one tile gives it numbers");
            let diagnostic = Diagnostic::error(
                codes::WRONG_TYPE,
                how.expr.span,
                message,
                "this takes tuples",
            )
            .with_label(part, "here it takes a part of one")
            .with_help(format!(
                "give a tuple of tiles: `{called}({name}, (x, y), axis = {axis})`"
            ));
            return Err(self.report(diagnostic));
        }
        let ir = self.ir(span)?;
        let numbers = tiles.iter().chain(tiles);
        let arguments: Vec<_> = numbers
            .map(|tile| (ir.ty(tile.elem.value_type()), ir.location))
            .collect();
        let (region, block) = region_with_block(&arguments);
        self.in_block(block, |this| {
            let side = |first: usize| {
                let elements = tiles.iter().enumerate().map(|(at, tile)| {
                    let number = argument_of(block, first + at);
                    crate::eval::arith::number_or_vector(number, tile.elem, None)
                });
                rebuild(like, &mut elements.collect::<Vec<_>>().into_iter())
            };
            let (a, b) = (side(0)?, side(tiles.len())?);
            let result = combine(this, combiner, a, b, span)?;
            let mut leaves = Vec::new();
            flatten(&result, &mut leaves);
            if leaves.len() != tiles.len() {
                let what = match tiles.len() {
                    1 => "a number, as the function takes two".to_owned(),
                    count => format!("a tuple of {count} numbers, as the function takes two of"),
                };
                return this.expected(&what, &result, how.expr.span);
            }
            let mut yielded = Vec::new();
            for (leaf, tile) in leaves.iter().zip(tiles) {
                yielded.push(this.number(leaf, tile.elem, how.expr.span)?);
            }
            this.terminate(TileOp::Yield, &yielded, span)
        })?;
        let mut shape = tiles[0].shape.clone();
        if op == TileOp::Fold {
            shape[axis] = 1;
        }
        let flags = match op {
            TileOp::Scan => [self.said(call, "exclusive")?, self.said(call, "reverse")?],
            _ => [false, false],
        };
        let exclusive = match flags[0] {
            true => Some(self.neutral(call, tiles)?),
            false => None,
        };
        let ir = self.ir(span)?;
        let mut attrs = vec![("axis", ir.integer(axis as i64, ir.ty("i32")))];
        if let Some(numbers) = exclusive {
            let attributes: Vec<_> = numbers
                .iter()
                .zip(tiles)
                .map(|(number, tile)| number.attribute(ir, ir.number_type(tile.elem)))
                .collect();
            attrs.push((
                "exclusive",
                ArrayAttribute::new(ir.context(), &attributes).into(),
            ));
        }
        if flags[1] {
            attrs.push(("reverse", ir.unit()));
        }
        let mut types = Vec::new();
        for tile in tiles {
            types.push(self.tile_type(tile.elem, &shape, span)?);
        }
        let operands: Vec<_> = tiles.iter().map(|tile| tile.ir).collect();
        let ir = self.ir(span)?;
        let result = ir.op_with_regions(op, &operands, &attrs, &types, vec![region]);
        let results = tiles.iter().enumerate().map(|(at, tile)| Tile {
            ir: result_of(result, at),
            elem: tile.elem,
            shape: shape.clone(),
        });
        Ok(results.collect())
    }

    /// Whether an argument by name, known while compiling, is true.
    fn said(&mut self, call: &Call<'c, 'a>, name: &str) -> Result<bool> {
        let Some(arg) = call.named(name) else {
            return Ok(false);
        };
        match &arg.value {
            Value::Bool(flag) => Ok(*flag),
            Value::Scalar(_) => self.static_needed(&format!("`{name}`"), arg.expr),
            other => self.expected("`true` or `false`", &other.clone(), arg.expr.span),
        }
    }

    /// What an exclusive scan begins with: the number that an operator leaves alone.
    fn neutral(&mut self, call: &Call<'c, 'a>, tiles: &[Tile<'c>]) -> Result<Vec<Literal>> {
        let Some(how) = call.arg(0) else {
            return Err(Stop::Reported);
        };
        let Some(operator) = Operator::of(&how.value) else {
            let what = "an operator: nothing says with what an exclusive scan by a function begins";
            return self.expected(what, &how.value.clone(), how.expr.span);
        };
        let mut of = |elem: Elem| -> Result<Literal> {
            let bits = u32::try_from(elem.bits()).unwrap_or(64).clamp(1, 64);
            let most = i64::MAX >> (64 - bits);
            let value = match (operator, elem) {
                (Operator::And, Elem::I1) => Value::Bool(true),
                (Operator::Or | Operator::Xor, Elem::I1) => Value::Bool(false),
                (Operator::Add | Operator::Or | Operator::Xor, _) => Value::Int(0),
                (Operator::Mul, _) => Value::Int(1),
                (Operator::And | Operator::Min, Elem::U64) => return Ok(Literal::Int(-1)),
                (Operator::And | Operator::Min, Elem::U32) => Value::Int(0xffff_ffff),
                (Operator::Max, elem) if elem.is_unsigned() => Value::Int(0),
                (Operator::And, _) => Value::Int(-1),
                (Operator::Min, elem) if elem.is_float() => Value::Float(f64::INFINITY),
                (Operator::Max, elem) if elem.is_float() => Value::Float(f64::NEG_INFINITY),
                (Operator::Min, _) => Value::Int(most),
                (Operator::Max, _) => Value::Int(-most - 1),
            };
            self.literal(&value, elem, how.expr.span)
        };
        tiles.iter().map(|tile| of(tile.elem)).collect()
    }
}

/// Where a function takes a part of an argument that is a tuple.
fn taken_apart(function: &Function) -> Option<Span> {
    let mut parts = PartsOf {
        arguments: &function.params,
        first: None,
    };
    parts.block(&function.body);
    parts.first
}

/// Looks for the first part that is taken of an argument.
struct PartsOf<'a> {
    arguments: &'a [Param],
    first: Option<Span>,
}

impl PartsOf<'_> {
    fn is_argument(&self, expr: &Expr) -> bool {
        let mut arguments = self.arguments.iter();
        arguments.any(|argument| expr.as_name() == Some(&argument.name.node))
    }
}

impl<'a> Visit<'a> for PartsOf<'_> {
    fn stmt(&mut self, stmt: &'a Stmt) {
        if let StmtKind::Let(parts) = &stmt.kind
            && let PatternKind::Tuple(_) = parts.pattern.kind
            && self.is_argument(&parts.value)
        {
            self.first.get_or_insert(stmt.span);
        }
        walk_stmt(self, stmt);
    }

    fn expr(&mut self, expr: &'a Expr) {
        if let ExprKind::Index { base, .. } = &*expr.kind
            && self.is_argument(base)
        {
            self.first.get_or_insert(expr.span);
        }
        walk_expr(self, expr);
    }
}

/// Whether a value is a tile, or a tuple with one.
pub(in crate::eval) fn has_tiles(value: &Value<'_, '_>) -> bool {
    match value {
        Value::Tile(_) => true,
        Value::Tuple(parts) => parts.iter().any(has_tiles),
        _ => false,
    }
}
