//! Values, operations and blocks of a context, and what stands in an attribute.
//!
//! melior's lifetimes tie a value to the borrow through which it was reached. Values of one context stay valid while their
//! operation stands, so this module hands them out with the context's lifetime; whoever erases an operation drops its
//! values first.
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, AttributeLike, BlockLike, BlockRef, OperationRef, Value, ValueLike};

/// A value of a context.
pub type IrValue<'c> = Value<'c, 'c>;
/// An operation of a context.
pub type IrOp<'c> = OperationRef<'c, 'c>;
/// A block of a context.
pub type IrBlock<'c> = BlockRef<'c, 'c>;

/// Erases the operation whose one result a value is, where nothing uses it. The value is not used again.
pub fn erase_unused(value: IrValue<'_>) {
    let value = value.to_raw();
    // SAFETY: the value is alive, and so is the operation that defines it; nothing keeps what has no use.
    unsafe {
        let used = !mlir_sys::mlirOpOperandIsNull(mlir_sys::mlirValueGetFirstUse(value));
        if !used && mlir_sys::mlirValueIsAOpResult(value) {
            mlir_sys::mlirOperationDestroy(mlir_sys::mlirOpResultGetOwner(value));
        }
    }
}

/// Result `index` of an operation.
///
/// # Panics
/// When the operation has fewer results.
pub fn result_of<'c>(op: IrOp<'c>, index: usize) -> IrValue<'c> {
    let result = op.result(index).expect("the operation has this result");
    // SAFETY: the result lives as long as its operation; see the module's comment.
    unsafe { Value::from_raw(result.to_raw()) }
}

/// The operands of an operation.
pub fn operands_of<'c>(
    op: IrOp<'c>,
) -> impl DoubleEndedIterator<Item = IrValue<'c>> + ExactSizeIterator + Clone + use<'c> {
    // SAFETY: the operation is alive, and has so many operands.
    (0..op.operand_count()).map(move |index| unsafe {
        Value::from_raw(mlir_sys::mlirOperationGetOperand(
            op.to_raw(),
            index as isize,
        ))
    })
}

/// The results of an operation.
pub fn results_of<'c>(
    op: IrOp<'c>,
) -> impl DoubleEndedIterator<Item = IrValue<'c>> + ExactSizeIterator + Clone + use<'c> {
    (0..op.result_count()).map(move |index| result_of(op, index))
}

/// The operation that defines a value; a block argument has none.
pub fn defining_op<'c>(value: IrValue<'c>) -> Option<IrOp<'c>> {
    value.is_operation_result().then(|| {
        // SAFETY: the value is an operation's result.
        unsafe { OperationRef::from_raw(mlir_sys::mlirOpResultGetOwner(value.to_raw())) }
    })
}

/// Argument `index` of a block.
///
/// # Panics
/// When the block has fewer arguments.
pub fn argument_of(block: IrBlock<'_>, index: usize) -> IrValue<'_> {
    let argument = block.argument(index).expect("the block has this argument");
    // SAFETY: the argument lives as long as its block; see the module's comment.
    unsafe { Value::from_raw(argument.to_raw()) }
}

/// The number of an argument of a block; `None` of what an operation gives.
pub fn argument_number(value: IrValue) -> Option<i32> {
    // SAFETY: the value is alive, and an argument where its number is asked for.
    value
        .is_block_argument()
        .then(|| unsafe { mlir_sys::mlirBlockArgumentGetArgNumber(value.to_raw()) as i32 })
}

/// A key for maps: types, values and operations are unique pointers of their context.
pub fn value_key(value: IrValue) -> usize {
    value.to_raw().ptr as usize
}

/// A key for maps of operations.
pub fn operation_key(op: IrOp) -> usize {
    op.to_raw().ptr as usize
}

/// The elements of an array attribute. (`ArrayAttribute::try_from` of melior 0.27 refuses all of them: it asks whether
/// they are dense arrays.)
pub fn array_elements<'c>(attribute: Attribute<'c>) -> Option<Vec<Attribute<'c>>> {
    let raw = attribute.to_raw();
    // SAFETY: the attribute is alive, and is asked for elements only where it is an array, which has so many.
    unsafe {
        if !mlir_sys::mlirAttributeIsAArray(raw) {
            return None;
        }
        let count = mlir_sys::mlirArrayAttrGetNumElements(raw);
        let element = |at| Attribute::from_raw(mlir_sys::mlirArrayAttrGetElement(raw, at));
        Some((0..count).map(element).collect())
    }
}

/// The number of an integer attribute without a sign of its own, such as `8 : i64`.
pub fn integer_value(attribute: Attribute) -> Option<i64> {
    let raw = attribute.to_raw();
    // SAFETY: the attribute is alive, and is asked for a number only where it is one of at most 64 bits.
    unsafe {
        if !mlir_sys::mlirAttributeIsAInteger(raw) {
            return None;
        }
        let ty = mlir_sys::mlirAttributeGetType(raw);
        let fits = mlir_sys::mlirTypeIsAIndex(ty)
            || mlir_sys::mlirIntegerTypeIsSignless(ty)
                && (2..=64).contains(&mlir_sys::mlirIntegerTypeGetWidth(ty));
        fits.then(|| mlir_sys::mlirIntegerAttrGetValueInt(raw))
    }
}

/// The number of a float attribute; `None` of another one.
pub fn float_value(attribute: Attribute) -> Option<f64> {
    let raw = attribute.to_raw();
    // SAFETY: the attribute is alive, and is asked for a number only where it is one.
    unsafe {
        mlir_sys::mlirAttributeIsAFloat(raw).then(|| mlir_sys::mlirFloatAttrGetValueDouble(raw))
    }
}

/// The numbers of `array<i32: …>` or `array<i64: …>`.
pub fn integer_array(attribute: Attribute) -> Option<Vec<i64>> {
    let raw = attribute.to_raw();
    // SAFETY: the attribute is alive, and is asked for elements of its own kind only.
    unsafe {
        let narrow = mlir_sys::mlirAttributeIsADenseI32Array(raw);
        if !narrow && !mlir_sys::mlirAttributeIsADenseI64Array(raw) {
            return None;
        }
        let elements = 0..mlir_sys::mlirDenseArrayGetNumElements(raw);
        let element = |index| match narrow {
            true => i64::from(mlir_sys::mlirDenseI32ArrayGetElement(raw, index)),
            false => mlir_sys::mlirDenseI64ArrayGetElement(raw, index),
        };
        Some(elements.map(element).collect())
    }
}

/// The bytes of a text of MLIR, which has no address where it is empty.
///
/// # Safety
/// The text is alive for `'a`.
pub unsafe fn bytes_of<'a>(text: mlir_sys::MlirStringRef) -> &'a [u8] {
    match text.data.is_null() {
        true => &[],
        // SAFETY: a text with an address has so many bytes there.
        false => unsafe { std::slice::from_raw_parts(text.data.cast::<u8>(), text.length) },
    }
}

/// The text of a string attribute.
pub fn string_value(attribute: Attribute) -> Option<String> {
    let raw = attribute.to_raw();
    // SAFETY: the attribute is alive, and so are the bytes of its string.
    unsafe {
        mlir_sys::mlirAttributeIsAString(raw).then(|| {
            let text = mlir_sys::mlirStringAttrGetValue(raw);
            let bytes = bytes_of(text);
            String::from_utf8_lossy(bytes).into_owned()
        })
    }
}
