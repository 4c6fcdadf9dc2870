//! Access to operations, blocks and values, with the context's lifetime.
//!
//! melior ties what it hands out to the borrow through which it was reached;
//! passes keep operations across edits. An operation stays valid until it is
//! erased, and a pass erases only what it has collected for that.
use super::{Reported, report};
pub(super) use cutec_dialects::builder::defining_op;
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, IrValue, OpBuilder, integer_array, integer_value, operands_of,
    operation_key, results_of, string_value,
};
use cutec_dialects::hints::Hints;
use cutec_dialects::ops::{ArithOp, GpuOp, LlvmOp};
use cutec_dialects::printing::pass_name_on;
use cutec_dialects::semantics::SemError;
use cutec_dialects::target::{BLOCK_SIZES, TARGETS, Target};
use melior::Context;
use melior::ir::{
    BlockLike, BlockRef, OperationRef, RegionLike, Type, TypeLike, Value, ValueLike,
    operation::OperationLike,
};
use std::collections::HashSet;

/// The attribute of a `gpu.module` that says for which architecture it is compiled.
const TARGET: &str = "cute.target";

pub(super) fn name_of(op: IrOp) -> String {
    op.name()
        .as_string_ref()
        .as_str()
        .unwrap_or_default()
        .into()
}

/// An operand, where the operation has it. Asked for by number alone, melior answers a number too high
/// with an error that holds the text of the whole operation.
pub(super) fn operand_value<'c>(op: IrOp<'c>, index: usize) -> Option<IrValue<'c>> {
    let has = index < op.operand_count();
    let operand = has.then(|| op.operand(index).ok()).flatten()?;
    // SAFETY: see the module's comment.
    Some(unsafe { Value::from_raw(operand.to_raw()) })
}

/// Operand `index` of an operation, which it must have.
pub(super) fn operand<'c>(op: IrOp<'c>, index: usize) -> Result<IrValue<'c>, SemError> {
    present(operand_value(op, index))
}

/// An operation by its accessors, such as `present(cute::Assume::of(op))`, which it must have.
pub(super) fn present<T>(accessors: Option<T>) -> Result<T, SemError> {
    accessors.ok_or_else(|| SemError::Illegal("an operand is missing".into()))
}

/// The number that a value is, where it is an integer constant.
pub(super) fn constant_of(value: IrValue) -> Option<i64> {
    let op = defining_op(value).filter(|op| ArithOp::Constant.is(*op))?;
    integer_value(op.attribute("value").ok()?)
}

/// Whether a value is the constant 0.
pub(super) fn is_zero(value: IrValue) -> bool {
    let constant = defining_op(value).filter(|op| ArithOp::Constant.is(*op));
    let text = constant.and_then(|op| Some(op.attribute("value").ok()?.to_string()));
    text.is_some_and(|text| {
        let number = text.split(':').next().unwrap_or_default().trim();
        ["0", "false", "0.000000e+00"].contains(&number)
    })
}

/// Replaces all uses of one value by another, which takes its name.
pub(super) fn replace_all_uses<'c>(old: IrValue<'c>, new: IrValue<'c>) {
    pass_name_on(old, new);
    // SAFETY: both values are alive.
    unsafe { mlir_sys::mlirValueReplaceAllUsesOfWith(old.to_raw(), new.to_raw()) };
}

/// Replaces an operand.
pub(super) fn set_operand<'c>(op: IrOp<'c>, index: usize, value: IrValue<'c>) {
    // SAFETY: both are alive, and the operation has this operand.
    unsafe { mlir_sys::mlirOperationSetOperand(op.to_raw(), index as isize, value.to_raw()) };
}

/// The operation after one, in its block.
pub(super) fn next_operation<'c>(op: IrOp<'c>) -> Option<IrOp<'c>> {
    // SAFETY: see the module's comment.
    op.next_in_block()
        .map(|op| unsafe { OperationRef::from_raw(op.to_raw()) })
}

/// Threads of a block, where the function says how many and a block can have so many.
pub(super) fn function_block_size(function: IrOp) -> Option<i64> {
    declared_block_size(function).filter(|threads| BLOCK_SIZES.contains(threads))
}

/// What the function says about the threads of a block, right or wrong.
pub(super) fn declared_block_size(function: IrOp) -> Option<i64> {
    // Upstream passes give it another name.
    let names = ["known_block_size", "gpu.known_block_size"];
    let mut found = names
        .iter()
        .filter_map(|name| function.attribute(name).ok());
    let extents = integer_array(found.next()?).filter(|extents| !extents.is_empty())?;
    Some(extents.into_iter().fold(1, i64::saturating_mul))
}

pub(super) fn operations<'c>(block: IrBlock<'c>) -> Vec<IrOp<'c>> {
    let first = first_operation(block);
    std::iter::successors(first, |op| next_operation(*op)).collect()
}

/// The operation that a block begins with.
pub(super) fn first_operation<'c>(block: IrBlock<'c>) -> Option<IrOp<'c>> {
    // SAFETY: see the module's comment.
    block
        .first_operation()
        .map(|op| unsafe { OperationRef::from_raw(op.to_raw()) })
}

pub(super) fn blocks<'c>(op: IrOp<'c>, region: usize) -> Vec<IrBlock<'c>> {
    if region >= op.region_count() {
        return Vec::new();
    }
    let Ok(region) = op.region(region) else {
        return Vec::new();
    };
    // SAFETY: see the module's comment.
    let first: Option<IrBlock<'c>> = region
        .first_block()
        .map(|block| unsafe { BlockRef::from_raw(block.to_raw()) });
    // SAFETY: as above.
    let next = |block: &IrBlock<'c>| {
        block
            .next_in_region()
            .map(|block| unsafe { BlockRef::from_raw(block.to_raw()) })
    };
    std::iter::successors(first, next).collect()
}

/// A kernel of a module, and what its passes ask about it.
#[derive(Clone, Copy)]
pub(super) struct Kernel<'c> {
    /// The context.
    pub context: &'c Context,
    /// The `gpu.func`.
    pub function: IrOp<'c>,
    /// The architecture that its `gpu.module` is compiled for.
    pub target: Target,
}

/// Why a pass gives a kernel up.
pub(super) trait IntoReported {
    /// Reports it, where that has not been done.
    fn into_reported(self) -> Reported;
}

impl IntoReported for Reported {
    fn into_reported(self) -> Reported {
        self
    }
}

/// The operation to blame, and why.
impl IntoReported for (IrOp<'_>, String) {
    fn into_reported(self) -> Reported {
        report(self.0.location(), self.1)
    }
}

/// Runs a pass on each `gpu.func` of each `gpu.module`.
///
/// # Errors
/// The pass's own, and a `cute.target` that is none.
pub(super) fn for_each_kernel<'c, E: IntoReported>(
    context: &'c Context,
    module: IrOp<'c>,
    mut run: impl FnMut(Kernel<'c>) -> Result<(), E>,
) -> Result<(), Reported> {
    for device in device_modules(module) {
        let target = target_of(device)?;
        let functions = blocks(device, 0).into_iter().flat_map(operations);
        for function in functions.filter(|op| GpuOp::Func.is(*op)) {
            run(Kernel {
                context,
                function,
                target,
            })
            .map_err(E::into_reported)?;
        }
    }
    Ok(())
}

/// The kernels of a module: each `gpu.func` with its block, by `gpu.module`.
pub(super) fn kernels(module: IrOp) -> Vec<(IrBlock, Vec<IrOp>)> {
    let functions = |block| {
        let all = operations(block).into_iter();
        all.filter(|op| GpuOp::Func.is(*op)).collect()
    };
    let blocks = device_blocks(module).into_iter();
    blocks.map(|block| (block, functions(block))).collect()
}

/// The architecture that a `gpu.module` is compiled for; without a `cute.target`, the oldest.
fn target_of(device: IrOp) -> Result<Target, Reported> {
    Ok(stated_target(device)?.unwrap_or(TARGETS[0]))
}

/// What the `cute.target` of a `gpu.module` says.
fn stated_target(device: IrOp) -> Result<Option<Target>, Reported> {
    let Ok(attribute) = device.attribute(TARGET) else {
        return Ok(None);
    };
    let text = attribute.to_string();
    let name = text.strip_prefix("#cute.target<\"");
    let name = name.and_then(|name| name.strip_suffix("\">"));
    name.and_then(|name| Target::parse(name).ok())
        .map(Some)
        .ok_or_else(|| {
            let message = format!("expects #cute.target<…> as `{TARGET}`, but got {text}");
            report(device.location(), message)
        })
}

/// Makes every `gpu.module` of a module one that is compiled for `target`.
///
/// # Errors
/// One says that it is for another target, by whose limits and instructions it may have been made.
pub(super) fn set_target<'c>(
    context: &'c Context,
    module: IrOp<'c>,
    target: &Target,
) -> Result<(), Reported> {
    for device in device_modules(module) {
        if let Some(stated) = stated_target(device)?.filter(|stated| stated.name != target.name) {
            let message = format!(
                "this module is for {}, and is compiled for {}: write `--arch {}`, or leave out its `{TARGET}`",
                stated.name, target.name, stated.name
            );
            return Err(report(device.location(), message));
        }
        let ir = OpBuilder::new(context, Insertion::Before(device));
        set_attribute(device, TARGET, ir.target(target));
    }
    Ok(())
}

/// The kernels of a module that upstream passes have lowered already.
pub(super) fn lowered_kernels(module: IrOp) -> Vec<IrOp> {
    let all = device_blocks(module).into_iter().flat_map(operations);
    all.filter(|op| LlvmOp::Func.is(*op) && op.attribute("nvvm.kernel").is_ok())
        .collect()
}

/// The block of each `gpu.module` of a module.
fn device_blocks(module: IrOp) -> Vec<IrBlock> {
    device_modules(module)
        .into_iter()
        .filter_map(|op| blocks(op, 0).into_iter().next())
        .collect()
}

fn device_modules(module: IrOp) -> Vec<IrOp> {
    let body = blocks(module, 0).into_iter().next();
    body.into_iter()
        .flat_map(operations)
        .filter(|op| GpuOp::Module.is(*op))
        .collect()
}

/// Every operation inside of one, in order.
pub(super) fn collect_nested<'c>(op: IrOp<'c>, found: &mut Vec<IrOp<'c>>) {
    for region in 0..op.region_count() {
        for block in blocks(op, region) {
            for inner in operations(block) {
                found.push(inner);
                collect_nested(inner, found);
            }
        }
    }
}

/// What an operation and those in it use from outside.
pub(super) fn captured<'c>(op: IrOp<'c>) -> Vec<IrValue<'c>> {
    let mut all = vec![op];
    collect_nested(op, &mut all);
    let used = all
        .into_iter()
        .flat_map(|op| operands_of(op).collect::<Vec<_>>());
    used.filter(|value| !is_inside(*value, op)).collect()
}

pub(super) fn set_attribute<'c>(op: IrOp<'c>, name: &str, attribute: melior::ir::Attribute<'c>) {
    use melior::ir::operation::OperationMutLike;
    // SAFETY: the pass is the only one that edits the operation.
    let mut op = unsafe { melior::ir::operation::OperationRefMut::from_raw(op.to_raw()) };
    op.set_attribute(name, attribute);
}

pub(super) fn remove_attribute(op: IrOp, name: &str) {
    let name = melior::StringRef::new(name);
    // SAFETY: the operation is alive; the name is copied.
    unsafe { mlir_sys::mlirOperationRemoveAttributeByName(op.to_raw(), name.to_raw()) };
}

/// What an access of the tile level asks of the caches, by its attribute `hints`.
pub(super) fn hints_of(op: IrOp) -> Hints {
    let text = string_attribute(op, "hints");
    let hints = text.and_then(|text| Hints::parse(&text));
    hints.unwrap_or(Hints::NONE)
}

/// The text of a string attribute.
pub(super) fn string_attribute(op: IrOp, name: &str) -> Option<String> {
    string_value(op.attribute(name).ok()?)
}

/// The operations that use a value, the last in the program first; one that uses it twice stands twice.
pub(super) fn users<'c>(value: IrValue<'c>) -> Vec<IrOp<'c>> {
    uses(value).into_iter().map(|(user, _)| user).collect()
}

/// Those operations, each with the number of the operand.
pub(super) fn uses<'c>(value: IrValue<'c>) -> Vec<(IrOp<'c>, usize)> {
    let mut found = Vec::new();
    // SAFETY: uses are walked while nothing is edited.
    unsafe {
        let mut at = mlir_sys::mlirValueGetFirstUse(value.to_raw());
        while !mlir_sys::mlirOpOperandIsNull(at) {
            let user = OperationRef::from_raw(mlir_sys::mlirOpOperandGetOwner(at));
            found.push((user, mlir_sys::mlirOpOperandGetOperandNumber(at) as usize));
            at = mlir_sys::mlirOpOperandGetNextUse(at);
        }
    }
    found
}

/// The operations that use a value, or what those of them give that `through` says, and so on; each of these is gone through once.
pub(super) fn users_through<'c>(
    value: IrValue<'c>,
    through: impl Fn(IrOp<'c>) -> bool,
) -> Vec<IrOp<'c>> {
    let mut found = Vec::new();
    let (mut open, mut seen) = (vec![value], HashSet::new());
    while let Some(value) = open.pop() {
        for user in users(value) {
            found.push(user);
            if through(user) && seen.insert(operation_key(user)) {
                open.extend(results_of(user));
            }
        }
    }
    found
}

/// Whether nothing uses what an operation gives.
pub(super) fn is_unused(op: IrOp) -> bool {
    let is_used = |result: IrValue| {
        // SAFETY: the value is alive.
        unsafe { !mlir_sys::mlirOpOperandIsNull(mlir_sys::mlirValueGetFirstUse(result.to_raw())) }
    };
    !results_of(op).any(is_used)
}

/// The same operation once more, to be inserted.
pub(super) fn clone<'c>(op: IrOp<'c>) -> melior::ir::Operation<'c> {
    // SAFETY: the operation is alive; what is made is the caller's.
    unsafe { melior::ir::Operation::from_raw(mlir_sys::mlirOperationClone(op.to_raw())) }
}

/// Attributes of an operation under these names, where it has them, for another operation.
pub(super) fn attributes<'c, 'n>(
    op: IrOp<'c>,
    names: &[&'n str],
) -> Vec<(&'n str, melior::ir::Attribute<'c>)> {
    use melior::ir::{Attribute, AttributeLike};
    let kept = names.iter().filter_map(|name| {
        let attribute = op.attribute(name).ok()?;
        // SAFETY: attributes live as long as the context.
        Some((*name, unsafe { Attribute::from_raw(attribute.to_raw()) }))
    });
    kept.collect()
}

/// Whether two operations stand in one block.
pub(super) fn same_block(one: IrOp, other: IrOp) -> bool {
    // SAFETY: both operations are alive.
    unsafe {
        let one = mlir_sys::mlirOperationGetBlock(one.to_raw());
        mlir_sys::mlirBlockEqual(one, mlir_sys::mlirOperationGetBlock(other.to_raw()))
    }
}

/// The block that an operation stands in.
pub(super) fn block_of<'c>(op: IrOp<'c>) -> IrBlock<'c> {
    // SAFETY: the operation is alive and stands in a block, as all do that passes look at.
    unsafe { BlockRef::from_raw(mlir_sys::mlirOperationGetBlock(op.to_raw())) }
}

/// The operation around one; `None` around the module.
pub(super) fn parent<'c>(op: IrOp<'c>) -> Option<IrOp<'c>> {
    // SAFETY: the operation is alive, and so are those around it.
    unsafe {
        let parent = mlir_sys::mlirOperationGetParentOperation(op.to_raw());
        (!parent.ptr.is_null()).then(|| OperationRef::from_raw(parent))
    }
}

/// Whether a value is one of an operation's regions.
pub(super) fn is_inside<'c>(value: IrValue<'c>, of: IrOp<'c>) -> bool {
    let owner = defining_op(value).or_else(|| first_of_block(value));
    let around = owner.and_then(parent);
    std::iter::successors(around, |op| parent(*op)).any(|op| op == of)
}

/// The first operation of the block that a value is an argument of.
pub(super) fn first_of_block<'c>(argument: IrValue<'c>) -> Option<IrOp<'c>> {
    if !argument.is_block_argument() {
        return None;
    }
    // SAFETY: the value is an argument of a block that is alive.
    let block: IrBlock<'c> =
        unsafe { BlockRef::from_raw(mlir_sys::mlirBlockArgumentGetOwner(argument.to_raw())) };
    operations(block).into_iter().next()
}

/// Whether an operation stands in a block itself.
pub(super) fn is_in_block(op: IrOp, block: IrBlock) -> bool {
    // SAFETY: both are alive.
    unsafe {
        let own = mlir_sys::mlirOperationGetBlock(op.to_raw());
        mlir_sys::mlirBlockEqual(own, block.to_raw())
    }
}

/// Moves an operation in front of another one.
pub(super) fn move_before<'c>(op: IrOp<'c>, other: IrOp<'c>) {
    // SAFETY: both operations are alive.
    unsafe { mlir_sys::mlirOperationMoveBefore(op.to_raw(), other.to_raw()) };
}

/// Erases an operation of which nothing uses a result.
pub(super) fn erase(op: IrOp) {
    // SAFETY: a pass erases only what it has collected for that, and keeps no reference.
    unsafe { mlir_sys::mlirOperationDestroy(op.to_raw()) };
}

/// Number and type of the elements of a vector of one axis.
pub(super) fn vector_elements<'c>(ty: Type<'c>) -> Option<(i64, Type<'c>)> {
    // SAFETY: the type is alive, and is asked what a vector of static shape has.
    unsafe {
        let raw = ty.to_raw();
        let fixed = mlir_sys::mlirTypeIsAVector(raw)
            && mlir_sys::mlirShapedTypeGetRank(raw) == 1
            && !mlir_sys::mlirVectorTypeIsScalable(raw);
        fixed.then(|| {
            let elem = mlir_sys::mlirShapedTypeGetElementType(raw);
            (
                mlir_sys::mlirShapedTypeGetDimSize(raw, 0),
                Type::from_raw(elem),
            )
        })
    }
}

/// Every attribute of an operation with its name, for another operation.
pub(super) fn named_attributes<'c>(op: IrOp<'c>) -> Vec<(String, melior::ir::Attribute<'c>)> {
    use melior::ir::{Attribute, Identifier};
    op.attributes()
        .map(|(name, attribute): (Identifier, Attribute<'c>)| {
            let name = name.as_string_ref();
            (name.as_str().unwrap_or_default().to_string(), attribute)
        })
        .collect()
}

/// Attributes as a builder takes them.
pub(super) fn borrowed<'n, 'c>(
    attrs: &'n [(String, melior::ir::Attribute<'c>)],
) -> Vec<(&'n str, melior::ir::Attribute<'c>)> {
    let attrs = attrs.iter();
    attrs.map(|(name, attr)| (name.as_str(), *attr)).collect()
}
