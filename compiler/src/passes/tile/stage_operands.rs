//! `tile-stage-operands`: operands of products go through shared memory.
//!
//! Before: products take tiles that are loaded as they take them, many threads the same elements. After:
//! such a tile has a buffer of one stage. `tile.copy` brings it there with `cp.async`, or where memory
//! does not lie in pieces that `cp.async` can copy, a `tile.load` and a `tile.write`; `tile.read` gives
//! each product its operand. `copy` says by which instruction; a read without it is one of vectors.
use super::types::{self, Failed, fast_axis, mma_of, operand, tile_of};
use crate::passes::walk::{all_inside, function_block_size, kernels, name_of, operand_value};
use crate::passes::walk::{erase, replace, same_block, set_operand, users};
use crate::passes::{Reported, report};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder, result_of};
use cutec_dialects::semantics::{Attrs, SemError, check, evaluate};
use cutec_dialects::target::Target;
use cutec_dialects::tile::{TileLayout, TileType};
use cutec_dialects::types::{Vars, copy_layouts, parse_type};
use cutec_dialects::value::{TiledCopyVal, TiledMmaVal, Val};
use cutec_layout::tv;
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};
use std::sync::Arc;

/// What `cp.async` copies at once, in bytes, the best first, and where it caches it.
const ASYNC: [(i64, &str); 3] = [(16, "global"), (8, "always"), (4, "always")];
/// Alignment of a buffer, in bytes: swizzles repeat within it.
const ALIGN: i64 = 128;

/// Stages the operands of every product of the module.
pub fn stage_operands(context: &Context, module: IrOp, _target: &Target) -> Result<(), Reported> {
    for (_, functions) in kernels(module) {
        for function in functions {
            // SAFETY: the context outlives the module.
            let context: &Context = unsafe { &*std::ptr::from_ref(context) };
            stage(context, function).map_err(|(op, message)| report(op.location(), message))?;
        }
    }
    Ok(())
}

fn stage<'c>(context: &'c Context, function: IrOp<'c>) -> Result<(), Failed<'c>> {
    let mut operations = Vec::new();
    all_inside(function, &mut operations);
    let (Some(entry), Some(threads)) = (operations.first(), function_block_size(function)) else {
        return Ok(());
    };
    let staging = Staging {
        ir: OpBuilder::new(context, Insertion::Before(*entry)),
        entry: *entry,
        threads,
    };
    for op in operations {
        if name_of(op) == "tile.load" {
            staging.load(op)?;
        }
    }
    Ok(())
}

struct Staging<'c> {
    ir: OpBuilder<'c>,
    /// The first operation of the kernel.
    entry: IrOp<'c>,
    threads: i64,
}

impl<'c> Staging<'c> {
    /// Stages what a load gives, if products take it.
    fn load(&self, load: IrOp<'c>) -> Result<(), Failed<'c>> {
        let loaded = result_of(load, 0);
        let taken = products(loaded);
        let Some((first, _)) = taken.first().copied() else {
            return Ok(());
        };
        let tile = tile_of(load, loaded)?;
        let view = operand(load, 0)?;
        let on_tensor_cores = mma_of(first)?.tiled.atom().shape_mnk[1] > 1;
        let memory = fast_axis(view).map_or(1, |(axis, _)| axis);
        // Without `ldmatrix`, threads read neighbouring rows at once.
        let fast = if on_tensor_cores { memory } else { 0 };
        let buffer = buffer_type(&tile, fast);

        let mut ir = OpBuilder::new(self.ir.context(), Insertion::Before(self.entry));
        ir.location = load.location();
        let ty = ir.ty(&buffer);
        let allocated = ir.value("cute.memref.alloc_smem", &[], &[], ty);
        ir.insertion = Insertion::Before(load);
        let stage = ir.constant(0, "i32");
        let arrives = self.fill(
            &ir,
            load,
            &tile,
            (allocated, &buffer),
            [memory, fast],
            stage,
        );

        // Read where it is multiplied, or at once where that is in a loop inside.
        for (dot, index) in taken {
            let anchor = if same_block(dot, load) { dot } else { load };
            let mma = mma_of(dot)?;
            let spread = types::operand_layout(&mma, index, &tile.shape)
                .map_err(|message| (dot, message))?;
            ir.insertion = Insertion::Before(anchor);
            arrives.wait(&ir);
            let read = self.read(&ir, (allocated, stage), &tile.with_layout(spread), {
                read_atom(&mma, index, &tile, &buffer, fast)
            });
            set_operand(dot, index, read);
        }
        if !users(loaded).is_empty() {
            ir.insertion = Insertion::Before(load);
            arrives.wait(&ir);
            let read = self.read(&ir, (allocated, stage), &tile, None);
            replace(loaded, read);
        }
        erase(load);
        Ok(())
    }

    /// Fills a stage of a buffer with what a load says.
    fn fill(
        &self,
        ir: &OpBuilder<'c>,
        load: IrOp<'c>,
        tile: &TileType,
        (buffer, buffer_type): (IrValue<'c>, &str),
        [memory, fast]: [usize; 2],
        stage: IrValue<'c>,
    ) -> Arrives {
        let operands: Vec<_> = (0..load.operand_count())
            .filter_map(|index| operand_value(load, index))
            .collect();
        // What is transposed on the way is loaded in wide pieces, which `cp.async` could not scatter.
        let candidates = ASYNC.iter().filter(|_| memory == fast);
        let asynchronous = candidates.into_iter().find_map(|(bytes, cache)| {
            let copy = loader(tile, *bytes, cache, memory, self.threads)?;
            let legal = reaches(operands[0], buffer_type, &copy, &tile.shape).is_ok();
            (legal && load.attribute("fill").is_err()).then_some(copy)
        });
        match asynchronous {
            Some(copy) => {
                let operands = [&operands[..], &[buffer, stage]].concat();
                let copy = ir.attr(&copy);
                ir.op("tile.copy", &operands, &[("copy", copy)], &[]);
                Arrives::Later
            }
            None => {
                let vector = 16 / tile.elem.bytes();
                let spread = TileLayout::blocked(&tile.shape, memory, vector, self.threads);
                let ty = tile.with_layout(spread).ir(ir.context());
                let fill = load.attribute("fill").ok();
                // SAFETY: attributes live as long as the context.
                let fill = fill.map(|fill| unsafe {
                    melior::ir::Attribute::from_raw(melior::ir::AttributeLike::to_raw(&fill))
                });
                let attrs: Vec<_> = fill.map(|fill| ("fill", fill)).into_iter().collect();
                let loaded = ir.value("tile.load", &operands, &attrs, ty);
                ir.op("tile.write", &[loaded, buffer, stage], &[], &[]);
                Arrives::AtOnce
            }
        }
    }

    fn read(
        &self,
        ir: &OpBuilder<'c>,
        (buffer, stage): (IrValue<'c>, IrValue<'c>),
        tile: &TileType,
        copy: Option<String>,
    ) -> IrValue<'c> {
        let offsets = vec!["0"; tile.shape.len()].join(", ");
        let mut attrs = vec![("offsets", ir.attr(&format!("array<i64: {offsets}>")))];
        if let Some(copy) = copy {
            attrs.push(("copy", ir.attr(&copy)));
        }
        ir.value("tile.read", &[buffer, stage], &attrs, tile.ir(ir.context()))
    }
}

/// When what fills a buffer is there for the thread that began it.
enum Arrives {
    AtOnce,
    Later,
}

impl Arrives {
    fn wait(&self, ir: &OpBuilder) {
        if matches!(self, Arrives::Later) {
            ir.op("nvvm.cp.async.commit.group", &[], &[], &[]);
            let none = ir.attr("0 : i32");
            ir.op("nvvm.cp.async.wait.group", &[], &[("n", none)], &[]);
        }
    }
}

/// The products that take a tile, as it is or spread in another way, and as which operand.
fn products(loaded: IrValue) -> Vec<(IrOp, usize)> {
    let mut found = Vec::new();
    for user in users(loaded) {
        let value = match name_of(user).as_str() {
            "tile.convert_layout" => result_of(user, 0),
            _ => loaded,
        };
        let dots = users(value);
        for dot in dots.into_iter().filter(|op| name_of(*op) == "tile.dot") {
            for index in 0..2 {
                let taken = operand_value(dot, index).is_some_and(|operand| operand == value);
                if taken && !found.contains(&(dot, index)) {
                    found.push((dot, index));
                }
            }
        }
    }
    found
}

/// A buffer with one stage, an axis the fast one.
fn buffer_type(tile: &TileType, fast: usize) -> String {
    let [rows, columns] = [tile.shape[0], tile.shape[1]];
    let strides = match fast {
        0 => format!("1,{rows}"),
        _ => format!("{columns},1"),
    };
    format!(
        "!cute.memref<{}, smem, align<{ALIGN}>, \"({rows},{columns},1):({strides},{})\">",
        tile.elem,
        rows * columns
    )
}

/// The tiled copy by which threads side by side along memory bring a tile, `bytes` at once.
fn loader(tile: &TileType, bytes: i64, cache: &str, fast: usize, threads: i64) -> Option<String> {
    let vector = bytes / tile.elem.bytes();
    if vector < 1 || tile.shape[fast] % vector != 0 {
        return None;
    }
    let spread = TileLayout::blocked(&tile.shape, fast, vector, threads);
    let [rows, columns] = [tile.shape[0], tile.shape[1]];
    Some(format!(
        "!cute.tiled_copy<!cute_nvgpu.atom.simt_async_copy<{}, cache = {cache}, {} b>, layout_copy_tv = <\"{}\">, tiler_mn = <\"[{rows}:1;{columns}:1]\">>",
        tile.elem,
        bytes * 8,
        spread.tv()
    ))
}

/// Whether a tiled copy can bring a tile of a view to a buffer, at the edges as well.
fn reaches(view: IrValue, buffer: &str, copy: &str, shape: &[i64]) -> Result<(), SemError> {
    let mut vars = Vars::default();
    let mut val = |text: &str| parse_type(text, &mut vars);
    let of = |name: &str, operands: &[Val]| evaluate(name, operands, &Attrs::default());
    let view = val(&view.r#type().to_string())?;
    let (buffer, copy, thread) = (val(buffer)?, val(copy)?, val("i32")?);
    let tile = val(&format!("!cute.int_tuple<\"({},{})\">", shape[0], shape[1]))?;
    let coord = val("!cute.coord<\"(?,?)\">")?;
    let extents = of("get_shape", &[of("get_layout", &[view.clone()])?])?;
    let identity = of("make_identity_tensor", &[extents.clone()])?;
    let part = |whole: Val| -> Result<Val, SemError> {
        let tile = of("local_tile", &[whole, tile.clone(), coord.clone()])?;
        of(
            "tiled.copy.partition_S",
            &[copy.clone(), tile, thread.clone()],
        )
    };
    let stage = of("slice", &[buffer, val("!cute.coord<\"(_,_,0)\">")?])?;
    let to = of(
        "tiled.copy.partition_D",
        &[copy.clone(), stage, thread.clone()],
    )?;
    let operands = [copy.clone(), part(view)?, to, part(identity)?, extents];
    check("copy", &operands)
}

/// The tiled copy by which a product reads an operand; `None` where vectors serve it.
fn read_atom(
    mma: &Arc<TiledMmaVal>,
    index: usize,
    tile: &TileType,
    buffer: &str,
    fast: usize,
) -> Option<String> {
    let bits = tile.elem.bits();
    let transpose = fast == 0;
    if mma.tiled.atom().shape_mnk[1] == 1 || bits > 32 || (transpose && bits != 16) {
        return None;
    }
    let how = if transpose { "t" } else { "n" };
    [4, 2, 1].iter().find_map(|matrices| {
        let atom = format!(
            "!cute_nvgpu.atom.ldsm<val_type = {}, num_matrices = {matrices}, {how}>",
            tile.elem
        );
        reads(&atom, mma, index, buffer).ok()
    })
}

/// The tiled copy of an atom for an operand of a product, if it reads what a thread multiplies.
fn reads(
    atom: &str,
    mma: &Arc<TiledMmaVal>,
    index: usize,
    buffer: &str,
) -> Result<String, SemError> {
    let mut vars = Vars::default();
    let mut val = |text: &str| parse_type(text, &mut vars);
    let Val::CopyAtom(atom) = val(atom)? else {
        return Err(SemError::Illegal(format!("{atom} is no copy atom")));
    };
    let make = [tv::make_tiled_copy_a, tv::make_tiled_copy_b][index];
    let tiled = make(copy_layouts(&atom), &mma.tiled)?;
    let copy = Val::TiledCopy(Arc::new(TiledCopyVal { atom, tiled }));
    let which = Attrs {
        operand: Some(["A", "B"][index].into()),
        ..Attrs::default()
    };
    let of = |name: &str, operands: &[Val]| evaluate(name, operands, &which);
    let thread = val("i32")?;
    let stage = of("slice", &[val(buffer)?, val("!cute.coord<\"(_,_,0)\">")?])?;
    let mma = Val::TiledMma(mma.clone());
    let held = of(
        "tiled.mma.partition",
        &[mma.clone(), stage.clone(), thread.clone()],
    )?;
    let fragment = of("mma.make_fragment", &[mma, held])?;
    let from = of("tiled.copy.partition_S", &[copy.clone(), stage, thread])?;
    let to = of("tiled.copy.retile", &[copy.clone(), fragment])?;
    check("copy", &[copy.clone(), from, to])?;
    Ok(copy.to_string())
}
