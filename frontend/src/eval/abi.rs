//! The launch clauses, and the kernel ABI ([`cutec_abi`]): what a host needs to launch the kernel.

use super::at_launch::names_tensor;
use super::signature::{Argument, Signature};
use super::tiles::TileLaunch;
use super::values::Value;
use super::{Evaluator, Result, Stop};
use crate::ast::{BinaryOp, Clause, Expr, ExprKind, Kernel, UnaryOp};
use crate::diagnostics::{Diagnostic, codes};
use crate::source::Span;
use cutec_abi::counted;
use cutec_abi::expr::MAX_DEPTH;
use cutec_abi::{
    AbiExpr, ArgAbi, Dim, KernelAbi, Promise, ScalarAbi, SymbolAbi, SymbolSource, TensorAbi, Width,
};
use cutec_dialects::elem::Elem;
use cutec_dialects::target::{BLOCK_SIZES, Feature, LARGEST_CLUSTER};
use cutec_dialects::tile::MOST_AXES;
use std::sync::Arc;

/// Blocks that a multiprocessor of any target holds (CUDA programming guide, compute capabilities).
const MAX_BLOCKS: i64 = 32;

/// Grid and block of a kernel.
pub(super) struct Launch<'a> {
    pub grid: [AbiExpr; 3],
    /// Whether blocks stay and go round: `persistent(…)` in place of `grid(…)`.
    pub persistent: bool,
    /// Threads; `None` for a kernel at tile level, of which a pass chooses them.
    pub block: Option<[i64; 3]>,
    pub tiles: Option<TileLaunch<'a>>,
    pub min_blocks: Option<i64>,
    /// Blocks of a cluster.
    pub cluster: [i64; 3],
    /// Where the source says that it may begin before the launch ahead of it has ended.
    pub pdl: Option<Span>,
    /// Whether all blocks run at the same time.
    pub cooperative: bool,
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// An integer expression over the kernel's run-time integers.
    pub(super) fn abi_expr(
        &mut self,
        expr: &'a Expr,
        signature: &mut Signature<'a>,
    ) -> Result<AbiExpr> {
        if let Some(name) = expr.as_name()
            && let Some(index) = self.symbol_for(name, signature)
        {
            return Ok(AbiExpr::Symbol(index));
        }
        if names_tensor(expr, signature) && !mentions(expr, signature) {
            return self.not_abi(expr);
        }
        if !mentions(expr, signature) {
            let what = "what is neither an extent nor an integer parameter";
            return match self.at_compile_time(|this| this.static_value(what, expr))? {
                Value::Int(value) => Ok(AbiExpr::Const(value)),
                Value::Bool(value) => Ok(AbiExpr::Const(i64::from(value))),
                other => self.expected("an integer", &other, expr.span),
            };
        }
        let made = match &*expr.kind {
            ExprKind::Binary { op, lhs, rhs } => {
                let make = match op.node {
                    BinaryOp::Add => AbiExpr::Add,
                    BinaryOp::Sub => AbiExpr::Sub,
                    BinaryOp::Mul => AbiExpr::Mul,
                    BinaryOp::Div if self.frame.rounds_up => AbiExpr::CeilDiv,
                    BinaryOp::Div => AbiExpr::Div,
                    BinaryOp::Rem => AbiExpr::Rem,
                    BinaryOp::Eq => AbiExpr::Eq,
                    BinaryOp::Ne => AbiExpr::Ne,
                    BinaryOp::Lt => AbiExpr::Lt,
                    BinaryOp::Le => AbiExpr::Le,
                    BinaryOp::Gt => AbiExpr::Gt,
                    BinaryOp::Ge => AbiExpr::Ge,
                    BinaryOp::And => AbiExpr::And,
                    BinaryOp::Or => AbiExpr::Or,
                    BinaryOp::BitOr
                    | BinaryOp::BitXor
                    | BinaryOp::BitAnd
                    | BinaryOp::Shl
                    | BinaryOp::Shr => return self.not_abi(expr),
                };
                let (a, b) = (self.abi_expr(lhs, signature), self.abi_expr(rhs, signature));
                let (a, b) = (a?, b?);
                let divides = matches!(op.node, BinaryOp::Div | BinaryOp::Rem);
                if divides && b == AbiExpr::Const(0) {
                    let message = format!("`{}` by zero", op.node.symbol());
                    return self.division_by_zero(&message, expr.span);
                }
                make(Box::new(a), Box::new(b))
            }
            ExprKind::Unary { op, operand } => {
                let value = Box::new(self.abi_expr(operand, signature)?);
                let zero = Box::new(AbiExpr::Const(0));
                match op.node {
                    UnaryOp::Neg => AbiExpr::Sub(zero, value),
                    UnaryOp::Not => AbiExpr::Eq(value, zero),
                }
            }
            ExprKind::Call { callee, args } => {
                let make = match callee.as_name().map(|name| &**name) {
                    Some("ceil_div") => AbiExpr::CeilDiv,
                    Some("min") => AbiExpr::Min,
                    Some("max") => AbiExpr::Max,
                    _ => return self.computed(expr, signature),
                };
                let [a, b] = args.as_slice() else {
                    return self.computed(expr, signature);
                };
                let (a, b) = (
                    self.abi_expr(&a.value, signature),
                    self.abi_expr(&b.value, signature),
                );
                make(Box::new(a?), Box::new(b?))
            }
            ExprKind::Name(name) => return self.unknown_name(name, expr.span),
            _ => return self.computed(expr, signature),
        };
        self.not_too_deep(made, expr)
    }

    /// Of functions, and whatever else a thread could compute.
    fn computed(&mut self, expr: &'a Expr, signature: &mut Signature<'a>) -> Result<AbiExpr> {
        match self.at_launch(expr, signature)? {
            Some(made) => self.not_too_deep(made, expr),
            None => self.not_abi(expr),
        }
    }

    fn not_too_deep(&mut self, made: AbiExpr, expr: &'a Expr) -> Result<AbiExpr> {
        if made.depth() <= MAX_DEPTH {
            return Ok(made);
        }
        let message = "this nests too deeply for what the host computes at launch";
        let label = format!("more than {MAX_DEPTH} operations, each of the one before");
        self.error(codes::BAD_KERNEL, expr.span, message, label)
    }

    /// Makes symbols of the integer parameters that an expression names.
    pub(super) fn symbols_in(&mut self, expr: &Expr, signature: &mut Signature<'a>) {
        names_any(expr, &mut |name| {
            self.symbol_for(name, signature);
            false
        });
    }

    /// Reports a promise that holds for no launch.
    fn broken_promise<T>(&mut self, promise: &'a Expr) -> Result<T> {
        let message = format!("`where {}` does not hold", self.text(promise.span));
        let label = "known while compiling: no launch would be possible";
        self.error(codes::BAD_KERNEL, promise.span, message, label)
    }

    fn not_abi<T>(&mut self, expr: &'a Expr) -> Result<T> {
        let message = "the host cannot compute this at launch";
        let label = "expected extents and integers with + - * / %, comparisons, ceil_div, min, max, select, and functions of these";
        let diagnostic = Diagnostic::error(codes::BAD_KERNEL, expr.span, message, label);
        let named = |name: &Arc<str>| crate::elsewhere::names::here(name);
        let help = match &*expr.kind {
            ExprKind::Name(_) => Some(
                "extents have names that the launch knows: `x: tensor<f32, (m, n)>` has `m` and `n`",
            ),
            ExprKind::Array(_) => Some("a shape is written `(m, n)`"),
            ExprKind::Call { callee, .. } => callee.as_name().and_then(named),
            ExprKind::Binary { op, .. } if op.node == BinaryOp::BitAnd => {
                Some("join conditions by `&&`, or as promises by commas")
            }
            ExprKind::Binary { op, .. } if op.node == BinaryOp::BitOr => Some("write `||`"),
            ExprKind::Binary { op, .. } if op.node == BinaryOp::Shr => {
                Some("write a division by a power of two")
            }
            ExprKind::Binary { op, .. } if op.node == BinaryOp::Shl => {
                Some("write a multiplication by a power of two")
            }
            _ => None,
        };
        Err(self.report(match help {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        }))
    }

    /// The symbol of a name; integer parameters become one when they are asked for.
    fn symbol_for(&mut self, name: &Arc<str>, signature: &mut Signature<'a>) -> Option<usize> {
        if let Some(index) = signature.symbol(name) {
            return Some(index);
        }
        let arg = signature.arguments.iter().position(|argument| {
            matches!(argument, Argument::Scalar { name: known, elem, .. } if known == name && !elem.is_float())
        })?;
        let (width, divisible_by) = match &signature.arguments[arg] {
            Argument::Scalar {
                elem: Elem::I64,
                div,
                ..
            } => (Width::W64, *div),
            Argument::Scalar { div, .. } => (Width::W32, *div),
            Argument::Tensor(_) => (Width::W32, 1),
        };
        signature.symbols.push(SymbolAbi {
            name: name.to_string(),
            width,
            divisible_by,
            max: None,
            from: SymbolSource::Scalar { arg },
        });
        Some(signature.symbols.len() - 1)
    }

    /// The launch clauses.
    pub(super) fn launch(
        &mut self,
        kernel: &'a Kernel,
        signature: &mut Signature<'a>,
    ) -> Result<Launch<'a>> {
        let mut launch = Launch {
            grid: [AbiExpr::Const(1), AbiExpr::Const(1), AbiExpr::Const(1)],
            persistent: false,
            block: None,
            tiles: None,
            min_blocks: None,
            cluster: [1; 3],
            pdl: None,
            cooperative: false,
        };
        if let Some((tiles, grid)) = self.tile_launch(kernel, signature)? {
            launch.tiles = Some(tiles);
            launch.grid[0] = grid;
        }
        if launch.tiles.is_none() {
            let block = kernel
                .launch
                .iter()
                .find(|clause| &*clause.name.node == "block");
            // The other clauses may ask for `block_dim`.
            self.block = match block {
                Some(clause) => Some(self.block_clause(clause, signature)?),
                None => Some([1; 3]),
            };
            launch.block = self.block;
        }
        for clause in &kernel.launch {
            self.at_most_so_many_axes(clause)?;
            match &*clause.name.node {
                "grid" => {
                    for (at, arg) in clause.args.iter().enumerate() {
                        launch.grid[at] = self.abi_expr(&arg.value, signature)?;
                    }
                }
                // Of a launch in tiles it is a condition.
                "persistent" if launch.tiles.is_none() => {
                    let [arg] = clause.args.as_slice() else {
                        let message =
                            "`persistent` takes one number, how many pieces of work there are";
                        return self.error(codes::BAD_KERNEL, clause.span, message, "here");
                    };
                    let mut clauses = kernel.launch.iter();
                    if let Some(grid) = clauses.find(|clause| &*clause.name.node == "grid") {
                        let message = "`grid` stands beside `persistent`";
                        let label = "`persistent` says how many blocks there are at most";
                        return self.error(codes::BAD_KERNEL, grid.span, message, label);
                    }
                    launch.grid[0] = self.abi_expr(&arg.value, signature)?;
                    launch.persistent = true;
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
                "cluster" => launch.cluster = self.cluster_clause(clause, signature)?,
                "pdl" => {
                    let wanted = self.condition(clause)?;
                    if wanted {
                        self.needs(Feature::Pdl, "pdl", clause.span)?;
                        launch.pdl = Some(clause.span);
                    }
                }
                "cooperative" => {
                    if let Some(other) = clause.args.first() {
                        let message = "`cooperative` takes nothing";
                        return self.error(codes::BAD_KERNEL, other.span, message, "here");
                    }
                    let beside = |name: &&str| {
                        let mut clauses = kernel.launch.iter();
                        clauses.any(|clause| &*clause.name.node == *name)
                    };
                    if let Some(other) = ["cluster", "pdl"].iter().find(|name| beside(name)) {
                        let message = format!("`{other}` stands beside `cooperative`");
                        let label = "expected one of the two";
                        return self.error(codes::BAD_KERNEL, clause.span, message, label);
                    }
                    launch.cooperative = true;
                }
                "smem" => {
                    let message = "`smem` in a launch means nothing";
                    let diagnostic =
                        Diagnostic::error(codes::BAD_KERNEL, clause.span, message, "remove it");
                    let help = "`smem<f32>(…)` in the body allocates shared memory, and the compiler adds up how much a block has";
                    return Err(self.report(diagnostic.with_help(help)));
                }
                "block" | "tiles" | "raster" | "warps" | "multicast" | "queue" | "pingpong"
                | "persistent" => {}
                other => {
                    let what = format!("the launch clause `{other}`");
                    return self.unsupported(clause.span, &what, "give `grid` and `block`");
                }
            }
        }
        if launch.tiles.is_some() {
            self.share_tiles(kernel, &mut launch)?;
        }
        Ok(launch)
    }

    /// A clause that takes one condition which is known while compiling, or nothing.
    pub(in crate::eval) fn condition(&mut self, clause: &'a Clause) -> Result<bool> {
        let name = &clause.name.node;
        match clause.args.as_slice() {
            [] => Ok(true),
            [when] => {
                self.at_compile_time(|this| this.static_bool(&format!("`{name}`"), &when.value))
            }
            [_, other, ..] => {
                let message = format!("`{name}` takes one condition, or none");
                self.error(codes::BAD_KERNEL, other.span, message, "here")
            }
        }
    }

    /// The blocks of a launch in tiles, of which so many share one.
    fn share_tiles(&mut self, kernel: &'a Kernel, launch: &mut Launch<'a>) -> Result<()> {
        let mut clauses = kernel.launch.iter();
        let clause = clauses.find(|clause| &*clause.name.node == "cluster");
        let span = clause.map_or(kernel.name.span, |clause| clause.span);
        let [blocks, 1, 1] = launch.cluster else {
            let message = "a cluster that shares a tile has one extent";
            return self.error(codes::BAD_KERNEL, span, message, "expected one number");
        };
        if blocks.count_ones() != 1 {
            let message = format!("a tile is shared by 1, 2, 4, 8 or 16 blocks, not {blocks}");
            return self.error(codes::BAD_KERNEL, span, message, "here");
        }
        let loads_for_several = launch
            .tiles
            .as_ref()
            .is_some_and(|tiles| tiles.multicast.is_some());
        if blocks > 1 && loads_for_several {
            let message = "`cluster` stands beside `multicast`";
            let label = "the blocks of a cluster have a tile together, or each its own";
            return self.error(codes::BAD_KERNEL, span, message, label);
        }
        if blocks > 1 {
            let tiles = std::mem::replace(&mut launch.grid[0], AbiExpr::Const(1));
            launch.grid[0] = match tiles {
                AbiExpr::Const(tiles) => AbiExpr::Const(tiles.saturating_mul(blocks)),
                tiles => AbiExpr::mul(tiles, AbiExpr::Const(blocks)),
            };
        }
        Ok(())
    }

    /// The kernel ABI, as far as the source decides it.
    pub(super) fn kernel_abi(
        &mut self,
        kernel: &'a Kernel,
        signature: &mut Signature<'a>,
        launch: &Launch<'a>,
        defines: &[(Arc<str>, String)],
    ) -> Result<KernelAbi> {
        let mut args = Vec::new();
        for argument in signature.arguments.clone() {
            let dtype = match argument.elem().dtype() {
                Some(dtype) => dtype,
                None => {
                    return self
                        .has_values(argument.elem(), argument.span())
                        .and(Err(Stop::Reported));
                }
            };
            args.push(match argument {
                Argument::Scalar { name, .. } => ArgAbi::Scalar(ScalarAbi {
                    name: name.to_string(),
                    dtype,
                }),
                Argument::Tensor(tensor) => {
                    let mut extents = Vec::new();
                    for expr in &tensor.extents {
                        let extent = self.abi_expr(expr, signature)?;
                        if let AbiExpr::Const(extent @ ..=0) = extent {
                            let message = format!("an extent of `{}` is {extent}", tensor.name);
                            let label =
                                "expected a positive number, or a name for what may be nothing";
                            return self.error(codes::BAD_KERNEL, expr.span, message, label);
                        }
                        extents.push(extent);
                    }
                    let strides = match &tensor.strides {
                        Some(strides) => {
                            let strides = strides.iter();
                            let strides = strides.map(|stride| self.abi_expr(stride, signature));
                            strides.collect::<Result<Vec<_>>>()?
                        }
                        None => match row_major(&extents) {
                            Some(strides) => strides,
                            None => {
                                let what = format!("a stride of {}", tensor.name);
                                return self.does_not_fit(&what, "64 bits", tensor.span);
                            }
                        },
                    };
                    ArgAbi::Tensor(TensorAbi {
                        name: tensor.name.to_string(),
                        dtype,
                        mutable: tensor.mutable,
                        align: tensor.align.unsigned_abs(),
                        extents: extents.into_iter().map(Dim::from).collect(),
                        strides,
                    })
                }
            });
        }
        let mut promises = Vec::new();
        for promise in signature.promises.clone() {
            match self.abi_expr(promise, signature)? {
                AbiExpr::Const(0) => return self.broken_promise(promise),
                AbiExpr::Const(_) => {}
                expr => promises.push(Promise {
                    text: self.text(promise.span).to_owned(),
                    expr,
                }),
            }
        }
        signature.infer_divisors(&promises);
        for (axis, (blocks, grid)) in launch.cluster.iter().zip(&launch.grid).enumerate() {
            self.whole_clusters(kernel, axis, *blocks, grid)?;
        }
        let name = kernel.name.node.to_string();
        let source = self.sources.file(kernel.name.span.file).name();
        let defines = defines
            .iter()
            .map(|(name, value)| (name.to_string(), value.clone()));
        let candidates = kernel.static_params.iter().filter_map(|param| {
            let candidates = self.text(param.candidates.as_ref()?.span);
            Some((param.name.node.to_string(), candidates.to_owned()))
        });
        let conditions = kernel.tunable.iter();
        let conditions = conditions.map(|condition| self.text(condition.span).to_owned());
        Ok(KernelAbi {
            entry: entry_name(&name),
            name,
            target: self.options.target.name.to_owned(),
            source: Some(source.to_owned()),
            args,
            symbols: signature.symbols.clone(),
            tensor_maps: Vec::new(),
            params: signature.params(),
            promises,
            grid: launch.grid.clone(),
            persistent: launch.persistent,
            pdl: launch.pdl.is_some(),
            cooperative: launch.cooperative,
            cluster: (launch.cluster != [1; 3]).then(|| launch.cluster.map(|blocks| blocks as u32)),
            block: launch.block.map(|block| block.map(AbiExpr::Const)),
            smem_bytes: 0,
            smem: None,
            tiles: None,
            defines: defines.collect(),
            candidates: candidates.collect(),
            tunable: conditions.collect(),
            resources: None,
        })
    }
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// `block(x, y, z)`: the threads along each axis.
    fn block_clause(&mut self, clause: &'a Clause, signature: &Signature<'a>) -> Result<[i64; 3]> {
        self.at_most_so_many_axes(clause)?;
        let mut block = [1; 3];
        for (at, arg) in clause.args.iter().enumerate() {
            if mentions(&arg.value, signature) {
                let text = self.text(arg.span);
                let message = format!(
                    "the size of a block must be known at compile time, but `{text}` is known only at launch"
                );
                let label = "depends on an argument";
                let diagnostic = Diagnostic::error(codes::STATIC_NEEDED, arg.span, message, label);
                let kernel_parameter = "make it a compile-time parameter: `kernel f<threads = 256>(…) … block(threads)`";
                return Err(self.report(diagnostic.with_help(kernel_parameter)));
            }
            let extent =
                self.at_compile_time(|this| this.static_int("the size of a block", &arg.value))?;
            let (least, most) = BLOCK_SIZES.into_inner();
            if !BLOCK_SIZES.contains(&extent) {
                let message =
                    format!("a block has {least} to {most} threads in a dimension, not {extent}");
                return self.error(codes::BAD_KERNEL, arg.span, message, "here");
            }
            block[at] = extent;
        }
        let threads: i64 = block.iter().product();
        let most = *BLOCK_SIZES.end();
        if threads > most {
            let message = format!("a block has at most {most} threads, not {threads}");
            return self.error(codes::BAD_KERNEL, clause.span, message, "here");
        }
        Ok(block)
    }

    fn at_most_so_many_axes(&mut self, clause: &Clause) -> Result<()> {
        let most = match &*clause.name.node {
            "tiles" => MOST_AXES,
            _ => 3,
        };
        if clause.args.len() <= most {
            return Ok(());
        }
        let message = format!("`{}` has at most {most} dimensions", clause.name.node);
        self.error(codes::BAD_KERNEL, clause.span, message, "here")
    }

    /// `cluster(x, y, z)`: how many blocks along each axis belong together.
    fn cluster_clause(
        &mut self,
        clause: &'a Clause,
        signature: &Signature<'a>,
    ) -> Result<[i64; 3]> {
        let mut cluster = [1; 3];
        for (at, arg) in clause.args.iter().enumerate() {
            if mentions(&arg.value, signature) {
                return self.static_needed("the size of a cluster", &arg.value);
            }
            let blocks =
                self.at_compile_time(|this| this.static_int("the size of a cluster", &arg.value))?;
            if !(1..=LARGEST_CLUSTER).contains(&blocks) {
                let message = format!("a cluster has 1 to {LARGEST_CLUSTER} blocks, not {blocks}");
                return self.error(codes::BAD_KERNEL, arg.span, message, "here");
            }
            cluster[at] = blocks;
        }
        let blocks: i64 = cluster.iter().product();
        // A block alone is no cluster: a parameter that says how many share a tile may say one, on every target.
        if blocks > 1 {
            self.needs(Feature::Clusters, "cluster", clause.span)?;
        }
        if blocks > LARGEST_CLUSTER {
            let message = format!("a cluster has at most {LARGEST_CLUSTER} blocks, not {blocks}");
            return self.error(codes::BAD_KERNEL, clause.span, message, "here");
        }
        Ok(cluster)
    }

    /// Refuses a grid that does not consist of whole clusters, where that is known; else the host does, at launch.
    fn whole_clusters(
        &mut self,
        kernel: &'a Kernel,
        axis: usize,
        blocks: i64,
        grid: &AbiExpr,
    ) -> Result<()> {
        let AbiExpr::Const(found) = grid else {
            return Ok(());
        };
        if found % blocks == 0 {
            return Ok(());
        }
        let clause = kernel
            .launch
            .iter()
            .find(|clause| &*clause.name.node == "grid");
        let arg = clause.and_then(|clause| clause.args.get(axis));
        let span = arg.map_or(kernel.name.span, |arg| arg.value.span);
        let axis = ["x", "y", "z"][axis];
        let message = format!(
            "the grid has {} along {axis}: no whole clusters of {blocks}",
            counted(*found, "block")
        );
        self.error(codes::BAD_KERNEL, span, message, "here")
    }
}

/// Strides of a compact tensor whose last mode is the fastest; `None` where one is more than 64 bits have.
fn row_major(extents: &[AbiExpr]) -> Option<Vec<AbiExpr>> {
    let mut strides = Vec::new();
    let mut next = AbiExpr::Const(1);
    for (at, extent) in extents.iter().enumerate().rev() {
        strides.push(next.clone());
        if at == 0 {
            break;
        }
        next = match (next, extent) {
            (AbiExpr::Const(a), AbiExpr::Const(b)) => AbiExpr::Const(a.checked_mul(*b)?),
            (AbiExpr::Const(1), extent) => extent.clone(),
            (next, extent) => AbiExpr::mul(extent.clone(), next),
        };
    }
    strides.reverse();
    Some(strides)
}

/// Whether an expression names a run-time integer of the signature.
pub(super) fn mentions(expr: &Expr, signature: &Signature<'_>) -> bool {
    names_any(expr, &mut |name| {
        let scalar = |argument: &Argument<'_>| matches!(argument, Argument::Scalar { name: known, .. } if known == name);
        signature.symbol(name).is_some() || signature.arguments.iter().any(scalar)
    })
}

/// Whether an expression, blocks in it aside, has a name of which something holds; no other is asked about then.
pub(super) fn names_any(expr: &Expr, holds: &mut dyn FnMut(&Arc<str>) -> bool) -> bool {
    if let Some(name) = expr.as_name() {
        return holds(name);
    }
    let mut found = false;
    let mut visit = |child: &Expr| found = found || names_any(child, holds);
    expr.kind.for_each_child(&mut visit, &mut |_| {});
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
