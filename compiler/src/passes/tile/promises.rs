//! What a kernel would have to promise of a tensor so that several of its elements are accessed at once, as clauses of `where` with the names that
//! the source has.
use super::types::{function_of_argument, tensor_of, view_of};
use crate::passes::ir_utils::{blocks, defining_op};
use cutec_abi::{AbiExpr, ArgAbi, Dim, KernelAbi, ParamAbi, TensorAbi};
use cutec_dialects::abi::abi_of;
use cutec_dialects::builder::{IrBlock, IrOp, IrValue, argument_of, operands_of};
use cutec_dialects::ops::CuteOp;
use cutec_dialects::value::View;
use melior::ir::BlockLike;

/// A tensor that a kernel is passed.
struct Passed {
    abi: KernelAbi,
    declared: TensorAbi,
    view: View,
}

impl Passed {
    /// The tensor that a view is into, where its modes are those that the source declares.
    fn of(view: IrValue) -> Option<Self> {
        let tensor = tensor_of(view)?;
        let function = function_of_argument(tensor)?;
        let abi = abi_of(&function)?;
        let declared = argument(&abi, tensor, function).ok()?.1.clone();
        let view = view_of(tensor)?;
        let layout = view.layout.inner();
        let (extents, strides) = (layout.shape().leaves(), layout.stride().leaves());
        let fits =
            extents.len() == declared.extents.len() && strides.len() == declared.strides.len();
        fits.then_some(Self {
            abi,
            declared,
            view,
        })
    }

    /// The tensor that a view is all of, mode by mode: that of a slice has other modes, and so has one with a layout of its own.
    fn whole(view: IrValue) -> Option<Self> {
        let rank = view_of(view)?.layout.inner().shape().leaves().len();
        let mut made = std::iter::successors(defining_op(view), |op| {
            defining_op(operands_of(*op).next()?)
        });
        let lays_out =
            |op: IrOp| matches!(CuteOp::of(op), Some(CuteOp::MakeView | CuteOp::Composition));
        let is_own = made.any(lays_out);
        Self::of(view).filter(|passed| !is_own && passed.declared.extents.len() == rank)
    }

    fn base(&self, bytes: i64) -> String {
        format!("align({}) >= {bytes}", self.declared.name)
    }

    fn extent(&self, mode: usize, elements: i64) -> Option<String> {
        let names: Vec<&str> = self.abi.symbols.iter().map(|it| it.name.as_str()).collect();
        let extent = match self.declared.extents.get(mode)? {
            Dim::Static(_) => return None,
            Dim::Symbol(symbol) => (*names.get(*symbol)?).to_string(),
            Dim::Expr(extent) => extent.display(&names).to_string(),
        };
        Some(format!("{extent} % {elements} == 0"))
    }

    fn stride(&self, mode: usize, elements: i64) -> Option<String> {
        // What is known while compiling needs no promise, and none helps.
        match self.declared.strides.get(mode)? {
            AbiExpr::Const(_) => None,
            _ => stride_promise(&self.abi, &self.declared, mode, elements),
        }
    }
}

/// The clauses of `where` that are missing for so many bytes of a tensor that a view is into; `None` where none is, or none would help.
pub(in crate::passes) fn for_vectors(view: IrValue, bytes: i64) -> Option<String> {
    let passed = Passed::of(view)?;
    let layout = passed.view.layout.inner();
    let (extents, strides) = (layout.shape().leaves(), layout.stride().leaves());
    let contiguous = strides.iter().position(|stride| stride.is(1))?;
    let elements = bytes / passed.view.ptr.elem.bytes().max(1);
    let mut missing = Vec::new();
    if passed.view.ptr.alignment() < bytes {
        missing.push(passed.base(bytes));
    }
    if !extents[contiguous].divisible_by(elements) {
        missing.push(passed.extent(contiguous, elements)?);
    }
    for mode in (0..strides.len()).filter(|mode| *mode != contiguous) {
        if !extents[mode].is(1) && !strides[mode].divisible_by(elements) {
            let clause = passed.stride(mode, elements)?;
            if !missing.contains(&clause) {
                missing.push(clause);
            }
        }
    }
    (!missing.is_empty()).then(|| missing.join(", "))
}

/// What promises that the tensor of a view begins at a multiple of so many bytes: `: promise …`, or nothing where that cannot be promised.
pub(super) fn of_base(view: IrValue, bytes: i64) -> String {
    behind(Passed::of(view).map(|passed| passed.base(bytes)))
}

/// As [`of_base`], that the extent of a mode of the tensor is a multiple of so many elements.
pub(super) fn of_extent(view: IrValue, mode: usize, elements: i64) -> String {
    behind(Passed::whole(view).and_then(|passed| passed.extent(mode, elements)))
}

/// As [`of_base`], that the stride of a mode of the tensor is a multiple of so many elements.
pub(super) fn of_stride(view: IrValue, mode: usize, elements: i64) -> String {
    behind(Passed::whole(view).and_then(|passed| passed.stride(mode, elements)))
}

/// What is said of a clause that would help, behind what is missing.
pub(super) fn behind(clause: Option<String>) -> String {
    clause.map_or(String::new(), |clause| {
        format!(": promise `where {clause}`")
    })
}

/// What the ABI says of the tensor that a view is.
pub(super) fn argument<'a, 'c>(
    abi: &'a KernelAbi,
    tensor: IrValue<'c>,
    function: IrOp<'c>,
) -> Result<(usize, &'a TensorAbi), String> {
    let entry = blocks(function, 0);
    let index = entry.first().and_then(|entry| number_of(*entry, tensor));
    let arg = match index.and_then(|index| abi.params.get(index)) {
        Some(ParamAbi::Pointer { arg }) => *arg,
        _ => return Err("the tensor is none that the kernel is passed".into()),
    };
    match abi.args.get(arg) {
        Some(ArgAbi::Tensor(tensor)) => Ok((arg, tensor)),
        _ => Err("the tensor is none that the kernel is passed".into()),
    }
}

/// The clause of `where` that makes the stride of a mode a multiple of so many elements.
pub(super) fn stride_promise(
    abi: &KernelAbi,
    declared: &TensorAbi,
    mode: usize,
    elements: i64,
) -> Option<String> {
    let names: Vec<&str> = abi.symbols.iter().map(|it| it.name.as_str()).collect();
    let stride = declared.strides.get(mode)?.display(&names);
    Some(format!("{stride} % {elements} == 0"))
}

/// The number of an argument of a block.
pub(super) fn number_of<'c>(block: IrBlock<'c>, value: IrValue<'c>) -> Option<usize> {
    (0..block.argument_count()).find(|index| argument_of(block, *index) == value)
}
