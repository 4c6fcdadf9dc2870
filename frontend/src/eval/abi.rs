//! The kernel ABI, as JSON: what a host needs to launch the kernel.
//!
//! The format is that of the runtime (`runtime/abi`), which reads it.

use super::signature::{Argument, Signature, Symbol, SymbolSource};
use super::tiles::TileLaunch;
use super::values::{Value, abi_name};
use super::{Evaluator, Result};
use crate::ast::{BinaryOp, Expr, ExprKind, Kernel, UnaryOp};
use crate::diagnostics::{Diagnostic, codes};
use cutec_dialects::elem::Elem;
use cutec_dialects::target::BLOCK_SIZES;
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// Blocks that a multiprocessor of any target holds (CUDA programming guide, compute capabilities).
const MAX_BLOCKS: i64 = 32;

/// Grid and block of a kernel.
pub(super) struct Launch<'a> {
    pub grid: [Json; 3],
    /// Threads; 1 for a kernel at tile level, of which a pass chooses them.
    pub block: [i64; 3],
    pub tiles: Option<TileLaunch<'a>>,
    pub min_blocks: Option<i64>,
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// An integer expression over the kernel's run-time integers.
    pub(super) fn abi_expr(
        &mut self,
        expr: &'a Expr,
        signature: &mut Signature<'a>,
    ) -> Result<Json> {
        if let Some(name) = expr.as_name()
            && let Some(index) = self.symbol_for(name, signature)
        {
            return Ok(json!({ "symbol": index }));
        }
        if !mentions(expr, signature) {
            return match self.at_compile_time(|this| this.static_value("this", expr))? {
                Value::Int(value) => Ok(json!({ "const": value })),
                Value::Bool(value) => Ok(json!({ "const": i64::from(value) })),
                other => self.expected("an integer", &other, expr.span),
            };
        }
        let pair = |name: &str, a: Json, b: Json| json!({ name: [a, b] });
        match &*expr.kind {
            ExprKind::Binary { op, lhs, rhs } => {
                let name = match op.node {
                    BinaryOp::Add => "add",
                    BinaryOp::Sub => "sub",
                    BinaryOp::Mul => "mul",
                    BinaryOp::Div if self.frame.rounds_up => "ceil_div",
                    BinaryOp::Div => "div",
                    BinaryOp::Rem => "rem",
                    BinaryOp::Eq => "eq",
                    BinaryOp::Ne => "ne",
                    BinaryOp::Lt => "lt",
                    BinaryOp::Le => "le",
                    BinaryOp::Gt => "gt",
                    BinaryOp::Ge => "ge",
                    BinaryOp::And => "and",
                    BinaryOp::Or => "or",
                    _ => return self.not_abi(expr),
                };
                let (a, b) = (self.abi_expr(lhs, signature), self.abi_expr(rhs, signature));
                let (a, b) = (a?, b?);
                if matches!(op.node, BinaryOp::Div | BinaryOp::Rem) && b == json!({ "const": 0 }) {
                    let message = format!("`{}` by zero", op.node.symbol());
                    return self.division_by_zero(&message, expr.span);
                }
                Ok(pair(name, a, b))
            }
            ExprKind::Unary { op, operand } => {
                let value = self.abi_expr(operand, signature)?;
                match op.node {
                    UnaryOp::Neg => Ok(pair("sub", json!({ "const": 0 }), value)),
                    UnaryOp::Not => Ok(pair("eq", value, json!({ "const": 0 }))),
                }
            }
            ExprKind::Call { callee, args } => {
                match (callee.as_name().map(|name| &**name), args.as_slice()) {
                    (Some(name @ ("ceil_div" | "min" | "max")), [a, b]) => {
                        let (a, b) = (
                            self.abi_expr(&a.value, signature),
                            self.abi_expr(&b.value, signature),
                        );
                        Ok(pair(name, a?, b?))
                    }
                    _ => self.not_abi(expr),
                }
            }
            ExprKind::Name(name) => self.unknown_name(name, expr.span),
            _ => self.not_abi(expr),
        }
    }

    fn not_abi<T>(&mut self, expr: &'a Expr) -> Result<T> {
        let message = "the host cannot compute this at launch";
        let label = "expected extents and integers with + - * / %, comparisons, ceil_div, min, max";
        self.error(codes::BAD_KERNEL, expr.span, message, label)
    }

    /// The symbol of a name; integer parameters become one when they are asked for.
    fn symbol_for(&mut self, name: &Arc<str>, signature: &mut Signature<'a>) -> Option<usize> {
        if let Some(index) = signature.symbol(name) {
            return Some(index);
        }
        let arg = signature.arguments.iter().position(|argument| {
            matches!(argument, Argument::Scalar { name: known, elem, .. } if known == name && !elem.is_float())
        })?;
        let elem = match &signature.arguments[arg] {
            Argument::Scalar {
                elem: Elem::I64, ..
            } => Elem::I64,
            _ => Elem::I32,
        };
        signature.symbols.push(Symbol {
            name: name.clone(),
            elem,
            div: 1,
            source: SymbolSource::Scalar { arg },
        });
        Some(signature.symbols.len() - 1)
    }

    /// The launch clauses.
    pub(super) fn launch(
        &mut self,
        kernel: &'a Kernel,
        signature: &mut Signature<'a>,
    ) -> Result<Launch<'a>> {
        let one = || json!({ "const": 1 });
        let mut launch = Launch {
            grid: [one(), one(), one()],
            block: [1; 3],
            tiles: None,
            min_blocks: None,
        };
        if let Some((tiles, grid)) = self.tile_launch(kernel, signature)? {
            launch.tiles = Some(tiles);
            launch.grid[0] = grid;
        }
        for clause in &kernel.launch {
            if clause.args.len() > 3 {
                return self.error(
                    codes::BAD_KERNEL,
                    clause.span,
                    format!("`{}` has at most 3 dimensions", clause.name.node),
                    "here",
                );
            }
            match &*clause.name.node {
                "grid" => {
                    for (at, arg) in clause.args.iter().enumerate() {
                        launch.grid[at] = self.abi_expr(&arg.value, signature)?;
                    }
                }
                "block" => {
                    for (at, arg) in clause.args.iter().enumerate() {
                        if mentions(&arg.value, signature) {
                            let text = self.text(arg.span);
                            let message = format!(
                                "the size of a block must be known at compile time, but `{text}` is known only at launch"
                            );
                            let label = "depends on an argument";
                            return self.error(codes::STATIC_NEEDED, arg.span, message, label);
                        }
                        let extent = self.at_compile_time(|this| {
                            this.static_int("the size of a block", &arg.value)
                        })?;
                        let (least, most) = BLOCK_SIZES.into_inner();
                        if !BLOCK_SIZES.contains(&extent) {
                            return self.error(
                                codes::BAD_KERNEL,
                                arg.span,
                                format!(
                                    "a block has {least} to {most} threads in a dimension, not {extent}"
                                ),
                                "here",
                            );
                        }
                        launch.block[at] = extent;
                    }
                    let threads: i64 = launch.block.iter().product();
                    let most = *BLOCK_SIZES.end();
                    if threads > most {
                        return self.error(
                            codes::BAD_KERNEL,
                            clause.span,
                            format!("a block has at most {most} threads, not {threads}"),
                            "here",
                        );
                    }
                }
                "min_blocks" => match clause.args.as_slice() {
                    [arg] => {
                        let blocks = self
                            .at_compile_time(|this| this.static_int("`min_blocks`", &arg.value))?;
                        if !(1..=MAX_BLOCKS).contains(&blocks) {
                            return self.error(
                                codes::BAD_KERNEL,
                                arg.value.span,
                                format!(
                                    "a multiprocessor has 1 to {MAX_BLOCKS} blocks, not {blocks}"
                                ),
                                "here",
                            );
                        }
                        launch.min_blocks = Some(blocks);
                    }
                    _ => {
                        return self.error(
                            codes::BAD_KERNEL,
                            clause.span,
                            "`min_blocks` takes one number",
                            "here",
                        );
                    }
                },
                "smem" => {
                    let message = "`smem` in a launch means nothing";
                    let diagnostic =
                        Diagnostic::error(codes::BAD_KERNEL, clause.span, message, "remove it");
                    let help = "`smem<f32>(…)` in the body allocates shared memory, and the compiler adds up how much a block has";
                    return Err(self.report(diagnostic.with_help(help)));
                }
                "tiles" | "raster" | "warps" => {}
                other => {
                    let what = format!("the launch clause `{other}`");
                    return self.unsupported(clause.span, &what, "give `grid` and `block`");
                }
            }
        }
        Ok(launch)
    }

    /// The JSON of the kernel ABI.
    pub(super) fn abi_json(
        &mut self,
        kernel: &'a Kernel,
        signature: &mut Signature<'a>,
        launch: &Launch<'a>,
        defines: &[(Arc<str>, String)],
    ) -> Result<String> {
        let mut args = Vec::new();
        for argument in signature.arguments.clone() {
            args.push(match argument {
                Argument::Scalar { name, elem, .. } => json!({ "kind": "scalar", "name": &*name, "dtype": abi_name(elem) }),
                Argument::Tensor(tensor) => {
                    let mut extents = Vec::new();
                    for extent in &tensor.extents {
                        extents.push(self.abi_expr(extent, signature)?);
                    }
                    let strides = match &tensor.strides {
                        Some(strides) => {
                            let strides = strides.iter().map(|stride| self.abi_expr(stride, signature));
                            strides.collect::<Result<Vec<_>>>()?
                        }
                        None => row_major(&extents),
                    };
                    let extents: Vec<Json> = extents.into_iter().map(dim).collect();
                    json!({
                        "kind": "tensor", "name": &*tensor.name, "dtype": abi_name(tensor.elem), "mutable": tensor.mutable,
                        "align": tensor.align, "extents": extents, "strides": strides,
                    })
                }
            });
        }
        let mut promises = Vec::new();
        for promise in signature.promises.clone() {
            let text = self.text(promise.span);
            promises.push(json!({ "text": text, "expr": self.abi_expr(promise, signature)? }));
        }
        let symbols: Vec<Json> = signature.symbols.iter().map(symbol).collect();
        let pointers = signature
            .arguments
            .iter()
            .enumerate()
            .filter(|(_, arg)| matches!(arg, Argument::Tensor(_)));
        let pointers = pointers.map(|(arg, _)| json!({ "pointer": { "arg": arg } }));
        let passed = signature.symbols.iter().enumerate();
        let passed =
            passed.filter(|(_, symbol)| !matches!(symbol.source, SymbolSource::Scalar { .. }));
        let passed = passed.map(|(index, _)| json!({ "symbol": { "index": index } }));
        let scalars = signature
            .arguments
            .iter()
            .enumerate()
            .filter(|(_, arg)| matches!(arg, Argument::Scalar { .. }));
        let scalars = scalars.map(|(arg, _)| json!({ "scalar": { "arg": arg } }));
        let params: Vec<Json> = pointers.chain(passed).chain(scalars).collect();
        let block: Vec<Json> = launch
            .block
            .iter()
            .map(|extent| json!({ "const": extent }))
            .collect();
        let defines: serde_json::Map<String, Json> = defines
            .iter()
            .map(|(name, value)| (name.to_string(), Json::String(value.clone())))
            .collect();
        let name = &*kernel.name.node;
        let abi = json!({
            "name": name, "entry": entry_name(name), "target": self.options.target.name,
            "source": self.sources.file(kernel.name.span.file).name(),
            "args": args, "symbols": symbols, "params": params, "promises": promises,
            "grid": launch.grid, "block": block, "smem_bytes": 0, "defines": defines,
        });
        Ok(abi.to_string())
    }
}

fn dim(expr: Json) -> Json {
    match (expr.get("const"), expr.get("symbol")) {
        (Some(value), _) => json!({ "static": value }),
        (_, Some(index)) => json!({ "symbol": index }),
        _ => json!({ "expr": expr }),
    }
}

/// Strides of a compact tensor whose last mode is the fastest.
fn row_major(extents: &[Json]) -> Vec<Json> {
    let mut strides = Vec::new();
    let mut next = json!({ "const": 1 });
    for extent in extents.iter().rev() {
        strides.push(next.clone());
        next = match (next["const"].as_i64(), extent["const"].as_i64()) {
            (Some(a), Some(b)) => json!({ "const": a.saturating_mul(b) }),
            (Some(1), None) => extent.clone(),
            _ => json!({ "mul": [extent, next] }),
        };
    }
    strides.reverse();
    strides
}

fn symbol(symbol: &Symbol) -> Json {
    let from = match symbol.source {
        SymbolSource::Extent { arg, mode } => json!({ "extent": { "arg": arg, "mode": mode } }),
        SymbolSource::Stride { arg, mode } => json!({ "stride": { "arg": arg, "mode": mode } }),
        SymbolSource::Scalar { arg } => json!({ "scalar": { "arg": arg } }),
    };
    let width = if symbol.elem == Elem::I64 { 64 } else { 32 };
    json!({ "name": &*symbol.name, "width": width, "divisible_by": symbol.div, "from": from })
}

/// Whether an expression names a run-time integer of the signature.
fn mentions(expr: &Expr, signature: &Signature<'_>) -> bool {
    if let Some(name) = expr.as_name() {
        let scalar = |argument: &Argument<'_>| matches!(argument, Argument::Scalar { name: known, .. } if known == name);
        return signature.symbol(name).is_some() || signature.arguments.iter().any(scalar);
    }
    let mut found = false;
    expr.kind.for_each_child(
        &mut |child| found |= mentions(child, signature),
        &mut |_| {},
    );
    found
}

/// Names that a symbol of PTX cannot have: a constant of PTX (PTX ISA, "Predefined Constants"), and functions that the
/// code of a kernel calls or that LLVM gives a meaning of its own.
const TAKEN: [&str; 4] = ["WARP_SZ", "vprintf", "__assertfail", "__nvvm_reflect"];

/// The name of a kernel's entry in PTX: the one that the source gives it, where PTX lets it have that. No name of the
/// language has a `$`, so it is nobody else's.
pub(super) fn entry_name(name: &str) -> String {
    match TAKEN.contains(&name) || name.starts_with("__local_depot") {
        true => format!("{name}$kernel"),
        false => name.to_owned(),
    }
}
