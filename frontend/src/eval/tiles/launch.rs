//! How many tiles there are, and which one a block computes.

use crate::ast::{Clause, Expr, Kernel};
use crate::diagnostics::{Diagnostic, codes};
use crate::eval::abi::mentions;
use crate::eval::builtins::Level;
use crate::eval::signature::Signature;
use crate::eval::values::{Scalar, Value};
use crate::eval::{Evaluator, Result};
use crate::source::Span;
use cutec_abi::AbiExpr;
use cutec_dialects::builder::argument_number;
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::TileOp;
use cutec_dialects::printing::name_value;
use cutec_dialects::target::{LARGEST_CLUSTER, MOST_WARPS};
use cutec_dialects::tile::MOST_AXES;

/// Names of the axes of a launch in tiles: those of the product, and one of batches.
pub(in crate::eval) const AXES: [&str; MOST_AXES] = ["m", "n", "l", "b"];
/// The widest raster, and the most warps of a block.
const MAX_RASTER: i64 = 1 << 16;

/// `launch tiles(…), raster(…), warps(…), multicast(…), queue(…), pingpong(…), persistent(…)`.
#[derive(Clone)]
pub(in crate::eval) struct TileLaunch<'a> {
    /// Tiles along each axis; `/` in them rounds up.
    pub counts: Vec<&'a Expr>,
    pub raster: Option<i64>,
    /// Warps of a block, or how many along m and n of a product.
    pub warps: Option<Vec<i64>>,
    /// How many blocks, along m and n, load together what their tiles have in common.
    pub multicast: Option<[i64; 2]>,
    /// The counter that blocks take their tiles from.
    pub queue: Option<&'a Expr>,
    /// Whether two warpgroups take turns, each with tiles of its own.
    pub pingpong: Option<bool>,
    /// Whether blocks stay, and go through the tiles of the launch.
    pub persistent: Option<bool>,
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// The clauses `tiles` and `raster`, and the grid: a block for each tile, where no cluster shares one.
    pub(in crate::eval) fn tile_launch(
        &mut self,
        kernel: &'a Kernel,
        signature: &mut Signature<'a>,
    ) -> Result<Option<(TileLaunch<'a>, AbiExpr)>> {
        let clause = |name: &str| {
            let mut clauses = kernel.launch.iter();
            clauses.find(move |clause| &*clause.name.node == name)
        };
        let Some(tiles) = clause("tiles") else {
            let label = "expected `tiles(…)` beside it";
            for (name, what) in [
                ("raster", "orders the tiles of"),
                ("warps", "says how many warps compute a tile of"),
                ("multicast", "says how many blocks load together in"),
                ("queue", "has the counter of"),
                ("pingpong", "is about the warpgroups of"),
            ] {
                if let Some(other) = clause(name) {
                    let message = format!("`{name}` {what} a launch in tiles");
                    return self.error(codes::BAD_KERNEL, other.span, message, label);
                }
            }
            return Ok(None);
        };
        for name in ["grid", "block", "smem", "pdl"] {
            if let Some(other) = clause(name) {
                let message = format!("`{name}` stands beside `tiles`");
                let label = "the compiler chooses it for a kernel at tile level";
                return self.error(codes::BAD_KERNEL, other.span, message, label);
            }
        }
        if let (Some(multicast), Some(_)) = (clause("multicast"), clause("queue")) {
            let message = "`multicast` stands beside `queue`";
            let label = "blocks that load together have neighbouring tiles, and of a queue each takes the next one";
            return self.error(codes::BAD_KERNEL, multicast.span, message, label);
        }
        if tiles.args.is_empty() {
            let message = "`tiles` says how many tiles there are along each axis";
            return self.error(
                codes::BAD_KERNEL,
                tiles.span,
                message,
                "expected 1 to 4 numbers",
            );
        }
        let raster = match clause("raster") {
            Some(raster) => Some(self.raster(raster)?),
            None => None,
        };
        let warps = match clause("warps") {
            Some(warps) => Some(self.warps(warps)?),
            None => None,
        };
        let multicast = match clause("multicast") {
            Some(multicast) => Some(self.multicast(multicast, tiles.args.len())?),
            None => None,
        };
        let queue = match clause("queue") {
            Some(queue) => Some(self.queue(queue)?),
            None => None,
        };
        let pingpong = match clause("pingpong") {
            Some(pingpong) => {
                let wanted = self.condition(pingpong)?;
                let clusters = multicast.is_some_and(|blocks| blocks != [1, 1]);
                let others = [
                    ("multicast", clusters),
                    ("queue", queue.is_some()),
                    ("cluster", clause("cluster").is_some()),
                    ("cooperative", clause("cooperative").is_some()),
                ];
                if let Some((other, _)) = others.into_iter().find(|(_, there)| wanted && *there) {
                    let message = format!("`{other}` stands beside `pingpong`");
                    let label = "two warpgroups that take turns have every other tile of their block, which is alone";
                    return self.error(codes::BAD_KERNEL, pingpong.span, message, label);
                }
                Some(wanted)
            }
            None => None,
        };
        let persistent = match clause("persistent") {
            Some(persistent) => {
                let mut args = persistent.args.iter();
                if args.any(|arg| mentions(&arg.value, signature)) {
                    let message =
                        "`persistent` stands beside `tiles`, which says how many there are";
                    let label = "expected a condition that is known while compiling: whether blocks stay for further tiles";
                    return self.error(codes::BAD_KERNEL, persistent.span, message, label);
                }
                let wanted = self.condition(persistent)?;
                let others = [
                    ("queue", !wanted && queue.is_some()),
                    ("pingpong", !wanted && pingpong == Some(true)),
                    ("cooperative", wanted && clause("cooperative").is_some()),
                ];
                if let Some((other, _)) = others.into_iter().find(|(_, there)| *there) {
                    let (message, label) = match wanted {
                        true => (
                            "beside `persistent`",
                            "blocks that wait for each other have one tile each",
                        ),
                        false => (
                            "beside `persistent(false)`",
                            "blocks that have one tile each do not stay for the next",
                        ),
                    };
                    let message = format!("`{other}` stands {message}");
                    return self.error(codes::BAD_KERNEL, persistent.span, message, label);
                }
                Some(wanted)
            }
            None => None,
        };
        let counts: Vec<&'a Expr> = tiles.args.iter().map(|arg| &arg.value).collect();
        let mut grid = None;
        for expr in &counts {
            let count = self.rounding_up(|this| this.abi_expr(expr, signature))?;
            grid = Some(match grid {
                None => count,
                Some(grid) => AbiExpr::mul(grid, count),
            });
        }
        let grid = grid.unwrap_or(AbiExpr::Const(1));
        let launch = TileLaunch {
            counts,
            raster,
            warps,
            multicast,
            queue,
            pingpong,
            persistent,
        };
        Ok(Some((launch, grid)))
    }

    fn raster(&mut self, clause: &'a Clause) -> Result<i64> {
        let [arg] = clause.args.as_slice() else {
            let message = "`raster` takes one number";
            return self.error(codes::BAD_KERNEL, clause.span, message, "here");
        };
        let width = self.at_compile_time(|this| this.static_int("`raster`", &arg.value))?;
        match width {
            1..=MAX_RASTER => Ok(width),
            _ => {
                let message = format!("`raster` takes 1 to {MAX_RASTER} tiles, not {width}");
                self.error(codes::BAD_KERNEL, arg.value.span, message, "here")
            }
        }
    }

    fn queue(&mut self, clause: &'a Clause) -> Result<&'a Expr> {
        match clause.args.as_slice() {
            [counter] => Ok(&counter.value),
            _ => {
                let message = "`queue` takes the counter of the tiles";
                let label = "expected one parameter, a `mut tensor<i32, 2>`";
                self.error(codes::BAD_KERNEL, clause.span, message, label)
            }
        }
    }

    fn warps(&mut self, clause: &'a Clause) -> Result<Vec<i64>> {
        if !(1..=2).contains(&clause.args.len()) {
            let message = "`warps` takes the warps of a block, or those along m and n of a product";
            let label = "expected 1 or 2 numbers";
            return self.error(codes::BAD_KERNEL, clause.span, message, label);
        }
        let mut warps = Vec::new();
        for arg in &clause.args {
            let count = self.at_compile_time(|this| this.static_int("`warps`", &arg.value))?;
            if !(1..=MOST_WARPS).contains(&count) {
                let message = format!("`warps` takes 1 to {MOST_WARPS} warps, not {count}");
                return self.error(codes::BAD_KERNEL, arg.value.span, message, "here");
            }
            warps.push(count);
        }
        match warps.iter().product::<i64>() {
            1..=MOST_WARPS => Ok(warps),
            count => {
                let message = format!("a block has at most {MOST_WARPS} warps, not {count}");
                self.error(codes::BAD_KERNEL, clause.span, message, "here")
            }
        }
    }

    /// `multicast(m, n)`: the blocks along both axes, of which a launch has so many.
    fn multicast(&mut self, clause: &'a Clause, axes: usize) -> Result<[i64; 2]> {
        if !(1..=axes.min(2)).contains(&clause.args.len()) {
            let message = "`multicast` takes how many blocks along m, and along n, load together";
            let label = match axes {
                1 => "expected 1 number: the launch has one axis",
                _ => "expected 1 or 2 numbers",
            };
            return self.error(codes::BAD_KERNEL, clause.span, message, label);
        }
        let mut blocks = [1; 2];
        for (at, arg) in clause.args.iter().enumerate() {
            let count = self.at_compile_time(|this| this.static_int("`multicast`", &arg.value))?;
            if !(1..=LARGEST_CLUSTER).contains(&count) {
                let message =
                    format!("`multicast` takes 1 to {LARGEST_CLUSTER} blocks, not {count}");
                return self.error(codes::BAD_KERNEL, arg.value.span, message, "here");
            }
            blocks[at] = count;
        }
        match blocks.iter().product::<i64>() {
            1..=LARGEST_CLUSTER => Ok(blocks),
            count => {
                let message =
                    format!("a cluster has at most {LARGEST_CLUSTER} blocks, not {count}");
                self.error(codes::BAD_KERNEL, clause.span, message, "here")
            }
        }
    }

    /// Runs `body` with `/` rounding up.
    fn rounding_up<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.frame.rounds_up = true;
        let result = body(self);
        self.frame.rounds_up = false;
        result
    }

    /// `tile.grid` at the start of a kernel, and which tile the block computes. The kernel drops the indices that it
    /// has no use for ([`Evaluator::tile_indices`]).
    pub(in crate::eval) fn tile_grid(&mut self, launch: &TileLaunch<'a>, span: Span) -> Result<()> {
        let mut counts = Vec::new();
        for expr in &launch.counts {
            let count = self.rounding_up(|this| this.loaded(expr))?;
            let count = self.convert(Elem::I32, &count, expr.span)?;
            counts.push(self.number(&count, Elem::I32, expr.span)?);
        }
        let ir = self.ir(span)?;
        ir.op(TileOp::Grid, &counts, &[], &[]);
        let ty = ir.ty("i32");
        if let Some(counter) = launch.queue {
            self.tile_queue = Some(self.queue_parameter(counter)?);
        }
        let ir = self.ir(span)?;
        let axes = AXES.iter().zip(&counts).enumerate();
        let indices = axes.map(|(at, (axis, _))| {
            let number = ir.integer(at as i64, ty);
            let index = ir.value(TileOp::Index, &[], &[("axis", number)], ty);
            name_value(index, &format!("tile_{axis}"));
            index
        });
        self.tile_indices = indices.collect();
        Ok(())
    }

    /// The number of the parameter with the counter of a queue: two i32 that the kernel may write.
    fn queue_parameter(&mut self, counter: &'a Expr) -> Result<i32> {
        let value = self.expr(counter)?;
        let fits = value.as_view().is_some_and(|(_, view)| {
            let extents = view.layout.shape().leaves();
            view.ptr.space == Space::Gmem
                && view.ptr.elem == Elem::I32
                && extents.len() == 1
                && extents[0].as_static() == Some(2)
        });
        if !fits {
            return self.expected("a parameter `mut tensor<i32, 2>`", &value, counter.span);
        }
        self.check_writable(&value, counter.span)?;
        match argument_number(self.ir_of(&value, counter.span)?) {
            Some(number) => Ok(number),
            None => {
                let message = "`queue` takes a parameter of the kernel";
                self.error(
                    codes::BAD_KERNEL,
                    counter.span,
                    message,
                    "this is a part of one",
                )
            }
        }
    }

    /// `tile.m` and the like: which tile the block computes.
    pub(in crate::eval) fn tile_index(&mut self, axis: &str, span: Span) -> Result<Value<'c, 'a>> {
        self.check_level(Level::Tiles, &format!("tile.{axis}"), span)?;
        let axes = &AXES[..self.tiles.unwrap_or(0)];
        let Some(at) = axes.iter().position(|name| *name == axis) else {
            let known: Vec<String> = axes.iter().map(|axis| format!("`tile.{axis}`")).collect();
            let message = format!("this launch in tiles has no axis `{axis}`");
            let diagnostic = Diagnostic::error(codes::UNKNOWN_NAME, span, message, "no such axis");
            let help = format!("it has {}", known.join(", "));
            return Err(self.report(diagnostic.with_help(help)));
        };
        // The counts of the launch do not depend on the tile.
        let Some(index) = self.tile_indices.get(at).copied() else {
            let message = format!("`tile.{axis}` is not known yet");
            return self.error(codes::BAD_KERNEL, span, message, "the launch decides it");
        };
        Ok(Value::Scalar(Scalar {
            ir: index,
            elem: Elem::I32,
            div: 1,
            tuple: None,
        }))
    }
}
