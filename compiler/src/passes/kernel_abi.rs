//! What passes decide about the launch of a kernel enters its ABI here.
//!
//! The ABI stands on the function as `cute.abi` ([`cutec_dialects::abi`]). The front end writes what the
//! source says; a pass that chooses the threads of a block, or that moves a box of a tensor by a tensor
//! map, adds that. A function without an ABI, as a kernel written as MLIR may be, can be compiled but
//! not launched by name; it gets the rest all the same.
use super::ir_utils::{blocks, function_block_size, kernels, lowered_kernels, set_attribute};
use super::smem_map::smem_map;
use super::{Reported, ir_utils, report};
use crate::codegen::messages::{Place, place};
use cutec_abi::{
    AbiExpr, ArgAbi, DType, KernelAbi, ParamAbi, SmemAbi, SymbolAbi, SymbolSource, TensorMapAbi,
    Width,
};
use cutec_dialects::abi::{ATTRIBUTE, abi_of, attribute};
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, argument_of, array_elements, integer_array, integer_value,
};
use melior::Context;
use melior::ir::attribute::{ArrayAttribute, TypeAttribute};
use melior::ir::operation::OperationLike;
use melior::ir::r#type::FunctionType;
use melior::ir::{Attribute, Type, TypeLike};

/// The least number of blocks that a multiprocessor has of a kernel: `.minnctapersm`.
pub(super) const MIN_BLOCKS: &str = "nvvm.minctasm";

/// The blocks that are to share a multiprocessor.
pub(super) fn min_blocks(function: IrOp) -> i64 {
    let blocks = function.attribute(MIN_BLOCKS).ok().and_then(integer_value);
    blocks.unwrap_or(1).max(1)
}

/// The attribute of a function that says how many blocks along m and n load together what their tiles have in common.
pub(super) const MULTICAST: &str = "tile.multicast";

/// How many blocks share a tile: those of a cluster, but where each has a tile of its own.
pub(super) fn blocks_of_tile(function: IrOp) -> i64 {
    if function.attribute(MULTICAST).is_ok() {
        return 1;
    }
    let extents = function.attribute("nvvm.cluster_dim").ok();
    let extents = extents.and_then(integer_array).unwrap_or_default();
    extents.into_iter().fold(1, i64::saturating_mul).max(1)
}

/// Makes clusters of the blocks of a launch in tiles, whose grid is the product of the tiles along so many axes: so many along each of
/// the first two. The grid has whole clusters then.
pub(super) fn set_clusters<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    axes: usize,
    extents: [i64; 2],
) -> Result<(), Reported> {
    let blocks = extents.iter().product::<i64>();
    let ir = OpBuilder::new(context, Insertion::Before(function));
    let size = ir.i32_array(&[blocks as i32, 1, 1]);
    set_attribute(function, "nvvm.cluster_dim", size);
    let Some(mut abi) = abi_of(&function) else {
        return Ok(());
    };
    let mut left = std::mem::replace(&mut abi.grid[0], AbiExpr::Const(1));
    let mut counts = Vec::new();
    for _ in 1..axes {
        let AbiExpr::Mul(first, last) = left else {
            let message = format!("expects a grid that is a product of {axes} numbers of tiles");
            return Err(report(function.location(), message));
        };
        counts.push(*last);
        left = *first;
    }
    counts.push(left);
    counts.reverse();
    for (count, blocks) in counts.iter_mut().zip(extents) {
        if blocks > 1 {
            let tiles = std::mem::replace(count, AbiExpr::Const(1));
            *count = AbiExpr::mul(AbiExpr::ceil_div(tiles, blocks), blocks);
        }
    }
    let grid = counts.into_iter().reduce(AbiExpr::mul);
    abi.grid[0] = grid.unwrap_or(AbiExpr::Const(1));
    abi.cluster = Some([blocks as u32, 1, 1]);
    set_abi(context, function, &abi)
}

/// What the functions of a module at the cute level say of their kernels.
pub struct KernelAttributes {
    /// Name of the function.
    pub name: String,
    /// How a host launches it.
    pub abi: Option<KernelAbi>,
    /// Bytes of shared memory.
    pub smem_bytes: u32,
    /// The buffers in it and who accesses them, below the cute level.
    pub smem: Option<SmemAbi>,
    /// Where the source has it.
    pub place: Option<Place>,
}

/// See [`KernelAttributes`].
pub fn kernel_attributes(module: IrOp) -> Vec<KernelAttributes> {
    let functions = kernels(module).into_iter();
    let functions = functions.flat_map(|(_, functions)| functions);
    let attributes = |function: IrOp| {
        let smem = function.attribute("cute.smem_bytes").ok();
        let smem = smem.and_then(integer_value);
        KernelAttributes {
            name: ir_utils::string_attribute(function, "sym_name").unwrap_or_default(),
            abi: abi_of(&function),
            smem_bytes: smem.and_then(|smem| u32::try_from(smem).ok()).unwrap_or(0),
            smem: smem_map(function),
            place: place(function.location()),
        }
    };
    functions
        .chain(lowered_kernels(module))
        .map(attributes)
        .collect()
}

/// Whether passes are to say how many threads a block of this kernel has, and have not yet.
pub(super) fn block_is_open(function: IrOp) -> bool {
    abi_of(&function).is_some_and(|abi| abi.block.is_none())
        && function_block_size(function).is_none()
}

/// Which parameters of a kernel are extents and strides of tensors: those are never negative, since the host checks
/// them as it binds arguments. Of the scalars that it passes, and of a function without ABI, nothing is known.
pub(super) fn sizes(function: IrOp) -> Vec<usize> {
    let Some(abi) = abi_of(&function) else {
        return Vec::new();
    };
    let is_size = |param: &ParamAbi| match *param {
        ParamAbi::Symbol { index } => {
            abi.symbols
                .get(index)
                .is_some_and(|symbol| match symbol.from {
                    SymbolSource::Extent { .. } | SymbolSource::Stride { .. } => true,
                    SymbolSource::Scalar { .. } => false,
                })
        }
        ParamAbi::Pointer { .. } | ParamAbi::TensorMap { .. } | ParamAbi::Scalar { .. } => false,
    };
    let params = abi.params.iter().enumerate();
    params
        .filter(|(_, param)| is_size(param))
        .map(|(index, _)| index)
        .collect()
}

/// Gives a kernel blocks of so many threads, in one dimension.
pub(super) fn set_block_size<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    threads: i64,
) -> Result<(), Reported> {
    let ir = OpBuilder::new(context, Insertion::Before(function));
    let size = ir.i32_array(&[threads as i32, 1, 1]);
    set_attribute(function, "known_block_size", size);
    match abi_of(&function) {
        Some(mut abi) => {
            abi.block = Some([threads.into(), 1.into(), 1.into()]);
            set_abi(context, function, &abi)
        }
        None => Ok(()),
    }
}

/// How a kernel is launched besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Launched {
    /// Its blocks stay: of those that its grid counts, a launch has as many as the device holds at a time.
    Persistent,
    /// It may begin before the launch ahead of it has ended, which it waits for itself.
    Overlapping,
}

/// Says so in the ABI.
pub(super) fn set_launched<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    how: Launched,
) -> Result<(), Reported> {
    let Some(mut abi) = abi_of(&function) else {
        return Ok(());
    };
    match how {
        Launched::Persistent => abi.persistent = true,
        Launched::Overlapping => abi.pdl = true,
    }
    set_abi(context, function, &abi)
}

/// Gives scalars that a kernel is passed a symbol of the ABI each, so that the host computes with them. Of those that are no integers, or of 64 bits
/// without sign, and of one whose name a symbol has, there is none.
pub(super) fn add_symbols_of_scalars<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    scalars: &[usize],
) -> Result<(), Reported> {
    let Some(mut abi) = abi_of(&function) else {
        return Ok(());
    };
    for &arg in scalars {
        let Some(ArgAbi::Scalar(scalar)) = abi.args.get(arg) else {
            continue;
        };
        let width = match scalar.dtype {
            DType::I8 | DType::I16 | DType::I32 | DType::U8 | DType::U16 => Width::W32,
            DType::U32 | DType::I64 => Width::W64,
            DType::Bool | DType::U64 => continue,
            DType::F8E4M3 | DType::F8E5M2 | DType::F16 | DType::BF16 => continue,
            DType::TF32 | DType::F32 | DType::F64 => continue,
        };
        let name = scalar.name.clone();
        if abi.symbols.iter().any(|symbol| symbol.name == name) {
            continue;
        }
        abi.symbols.push(SymbolAbi {
            name,
            width,
            divisible_by: 1,
            max: None,
            from: SymbolSource::Scalar { arg },
        });
    }
    set_abi(context, function, &abi)
}

/// Adds a tensor map of an argument, and the parameter by which the kernel is passed it, if it has not the same one yet. The result is
/// that parameter: the address of the map's 128 bytes.
pub fn add_tensor_map<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    map: TensorMapAbi,
) -> Result<IrValue<'c>, Reported> {
    let Some(mut abi) = abi_of(&function) else {
        let message = "a kernel without `cute.abi` cannot be passed a tensor map";
        return Err(report(function.location(), message));
    };
    let Some(entry) = blocks(function, 0).into_iter().next() else {
        return Err(report(function.location(), "a kernel without a body"));
    };
    let same = abi.tensor_maps.iter().position(|other| *other == map);
    let is_same =
        |param: &ParamAbi| matches!(param, ParamAbi::TensorMap { index } if Some(*index) == same);
    if let Some(at) = abi.params.iter().position(is_same) {
        return Ok(argument_of(entry, at));
    }
    abi.params.push(ParamAbi::TensorMap {
        index: abi.tensor_maps.len(),
    });
    abi.tensor_maps.push(map);
    let ir = OpBuilder::new(context, Insertion::Before(function));
    let pointer = ir.ty("!llvm.ptr");
    // Attributions of shared memory stand behind the parameters among the arguments of the block.
    let at = abi.params.len() - 1;
    set_abi(context, function, &abi)?;
    append_input(context, function, pointer)?;
    // SAFETY: the block is alive, and has arguments for the parameters before this one.
    unsafe {
        mlir_sys::mlirBlockInsertArgument(
            entry.to_raw(),
            at as isize,
            pointer.to_raw(),
            function.location().to_raw(),
        );
    }
    Ok(argument_of(entry, at))
}

/// Says of the parameters that are tensor maps that they are passed by value and stay as they are, as
/// `__grid_constant__` does: on functions of the LLVM dialect, to which `gpu.func` is lowered without.
pub(crate) fn pass_tensor_maps_by_value(context: &Context, module: IrOp) {
    for function in lowered_kernels(module) {
        let Some(abi) = abi_of(&function) else {
            continue;
        };
        if abi.tensor_maps.is_empty() {
            continue;
        }
        let ir = OpBuilder::new(context, Insertion::Before(function));
        let known = function.attribute("arg_attrs").ok();
        let known = known.and_then(array_elements).unwrap_or_default();
        let attributes: Vec<Attribute> = abi
            .params
            .iter()
            .enumerate()
            .map(|(index, param)| match param {
                ParamAbi::TensorMap { .. } => ir.attr(BY_VALUE),
                ParamAbi::Pointer { .. } | ParamAbi::Symbol { .. } | ParamAbi::Scalar { .. } => {
                    let known = known.get(index).copied();
                    known.unwrap_or_else(|| ir.attr("{}"))
                }
            })
            .collect();
        let attributes = ArrayAttribute::new(context, &attributes).into();
        set_attribute(function, "arg_attrs", attributes);
    }
}

/// A tensor map is 128 bytes, aligned to 64 (CUDA driver API, `CUtensorMap`).
const BY_VALUE: &str =
    "{llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}";

fn set_abi<'c>(context: &'c Context, function: IrOp<'c>, abi: &KernelAbi) -> Result<(), Reported> {
    match attribute(context, abi) {
        Ok(attribute) => {
            set_attribute(function, ATTRIBUTE, attribute);
            Ok(())
        }
        Err(problem) => Err(report(function.location(), problem)),
    }
}

/// Gives a function's type one input more, behind the others.
fn append_input<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    input: Type<'c>,
) -> Result<(), Reported> {
    let ty = function.attribute("function_type").ok();
    let ty = ty.and_then(|ty| TypeAttribute::try_from(ty).ok());
    let Some(ty) = ty.and_then(|ty| FunctionType::try_from(ty.value()).ok()) else {
        return Err(report(function.location(), "a kernel without a type"));
    };
    let mut inputs: Vec<Type> = (0..ty.input_count())
        .filter_map(|at| ty.input(at).ok())
        .collect();
    inputs.push(input);
    let ty = FunctionType::new(context, &inputs, &[]);
    set_attribute(
        function,
        "function_type",
        TypeAttribute::new(ty.into()).into(),
    );
    let ir = OpBuilder::new(context, Insertion::Before(function));
    let known = function.attribute("arg_attrs").ok();
    if let Some(mut attributes) = known.and_then(array_elements) {
        attributes.push(ir.attr("{}"));
        let attributes = ArrayAttribute::new(context, &attributes).into();
        set_attribute(function, "arg_attrs", attributes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::Timings;
    use crate::passes::root;
    use crate::{Options, pipeline};
    use cutec_abi::tensor_map::{L2Promotion, MapSwizzle, OobFill};
    use melior::ir::{Module, ValueLike};

    const KERNEL: &str = r#"
#abi = #cute.abi<"copy" arg x: tensor<f16, (m, 64):(64, 1)> align 16 symbol m: i32 = extent 0 of x
  params (pointer x, symbol m) grid (ceil_div(m, 64), 1, 1)>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @copy(%x: !cute.ptr<f16, gmem, align<16>>, %m: i32) kernel attributes {cute.abi = #abi} {
      gpu.return
    }
  }
}"#;

    fn map(arg: usize) -> TensorMapAbi {
        TensorMapAbi {
            view: None,
            arg,
            order: vec![1, 0],
            box_extents: vec![64, 64],
            im2col: None,
            swizzle: MapSwizzle::B128,
            l2_promotion: L2Promotion::B256,
            oob_fill: OobFill::Zeros,
            tf32: false,
        }
    }

    #[test]
    fn what_passes_add_reaches_the_host() {
        let context = cutec_dialects::context();
        let mut module = Module::parse(&context, KERNEL).expect("a module");
        let options = Options::default();
        let unfinished = pipeline::kernel_abi(&module, &options, "copy.mlir").unwrap_err();
        assert_eq!(
            unfinished,
            "copy.mlir: kernel `copy`: the ABI is inconsistent: the number of threads of a block is missing"
        );
        let function = kernels(root(&module))[0].1[0];
        assert!(block_is_open(function));
        set_block_size(&context, function, 128).expect("a legal ABI");
        let parameter = add_tensor_map(&context, function, map(0)).expect("a legal map");
        assert_eq!(parameter.r#type().to_string(), "!llvm.ptr");
        let other = TensorMapAbi {
            box_extents: vec![64, 8],
            ..map(0)
        };
        add_tensor_map(&context, function, other.clone()).expect("a second map of the tensor");
        let again = add_tensor_map(&context, function, map(0)).expect("a map that it has");
        assert_eq!(again, parameter);
        assert!(module.as_operation().verify());
        let abi = pipeline::kernel_abi(&module, &options, "copy.mlir").expect("a complete ABI");
        let kernel = &abi.kernels[0];
        assert_eq!(kernel.tensor_maps, [map(0), other]);
        assert_eq!(
            kernel.params[2..],
            [
                ParamAbi::TensorMap { index: 0 },
                ParamAbi::TensorMap { index: 1 }
            ]
        );
        assert_eq!(kernel.block, Some([128.into(), 1.into(), 1.into()]));

        pipeline::cute_to_llvm(&context, &mut module, &options, &mut Timings::default())
            .expect("lowers");
        assert!(module.as_operation().verify());
        let text = module.as_operation().to_string();
        assert_eq!(
            text.matches("llvm.byval = !llvm.array<128 x i8>").count(),
            2,
            "{text}"
        );
        assert_eq!(text.matches("nvvm.grid_constant").count(), 2, "{text}");
    }

    #[test]
    fn a_map_that_the_hardware_cannot_have_is_refused() {
        let context = cutec_dialects::context();
        let module = Module::parse(&context, KERNEL).expect("a module");
        let function = kernels(root(&module))[0].1[0];
        let before = module.as_operation().to_string();
        let (result, messages) = crate::codegen::messages::collect(&context, || {
            add_tensor_map(&context, function, map(1)).map(drop)
        });
        assert!(result.is_err());
        assert!(messages[0].text.contains("expected the index of a tensor"));
        assert_eq!(module.as_operation().to_string(), before);
    }
}
