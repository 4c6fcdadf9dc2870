//! Building MLIR: an insertion point and one way to create an operation.
//!
//! melior's lifetimes tie a value to the borrow through which it was reached.
//! Values of one context stay valid while their operation stands, so this
//! module hands them out with the context's lifetime; whoever erases an
//! operation drops its values first.
//!
//! Attributes and types are built of values (`attributes`, `types`): what MLIR parses is only texts that stand in
//! the source of cutec as they are, which [`OpBuilder::attr`] and [`OpBuilder::ty`] ask for by their signature.
mod attributes;
mod types;

use crate::ops::Op;
use crate::ops::{ArithOp, LlvmOp};
use crate::printing::unnamed;
use melior::{
    Context,
    ir::{
        Attribute, AttributeLike, Block, BlockLike, BlockRef, Identifier, Location, Operation,
        OperationRef, Region, RegionLike, Type, Value, ValueLike,
        operation::{OperationBuilder, OperationLike},
    },
};
use std::cell::RefCell;
use std::collections::HashMap;

/// A value of a context.
pub type IrValue<'c> = Value<'c, 'c>;
/// An operation of a context.
pub type IrOp<'c> = OperationRef<'c, 'c>;
/// A block of a context.
pub type IrBlock<'c> = BlockRef<'c, 'c>;

/// Where the next operation goes.
#[derive(Clone, Copy)]
pub enum Insertion<'c> {
    /// At the end of a block.
    End(IrBlock<'c>),
    /// Before an operation.
    Before(IrOp<'c>),
}

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

/// Creates operations at an insertion point, all with the current location.
pub struct OpBuilder<'c> {
    context: &'c Context,
    /// Where the next operation goes.
    pub insertion: Insertion<'c>,
    /// Location of the next operation.
    pub location: Location<'c>,
    types: RefCell<HashMap<String, Type<'c>>>,
    attributes: RefCell<HashMap<String, Attribute<'c>>>,
}

impl<'c> OpBuilder<'c> {
    /// A builder that appends to `block`.
    pub fn new(context: &'c Context, insertion: Insertion<'c>) -> Self {
        OpBuilder {
            context,
            insertion,
            location: Location::unknown(context),
            types: RefCell::default(),
            attributes: RefCell::default(),
        }
    }

    /// The context.
    pub fn context(&self) -> &'c Context {
        self.context
    }

    /// The type of a text that is written in this project's source. What depends on a number or a name is built
    /// by a constructor.
    ///
    /// # Panics
    /// On a text that is no type: a mistake in cutec, not in its input.
    pub fn ty(&self, text: &'static str) -> Type<'c> {
        self.parsed_type(text)
            .unwrap_or_else(|| panic!("internal: `{text}` is no MLIR type"))
    }

    /// The attribute of a text that is written in this project's source; see [`OpBuilder::ty`].
    ///
    /// # Panics
    /// On a text that is no attribute: a mistake in cutec, not in its input.
    pub fn attr(&self, text: &'static str) -> Attribute<'c> {
        self.parsed(text)
    }

    /// The type of a text, where it is one.
    #[allow(clippy::disallowed_methods)]
    pub(crate) fn parsed_type(&self, text: &str) -> Option<Type<'c>> {
        if let Some(found) = self.types.borrow().get(text) {
            return Some(*found);
        }
        let parsed = Type::parse(self.context, text)?;
        self.types.borrow_mut().insert(text.into(), parsed);
        Some(parsed)
    }

    #[allow(clippy::disallowed_methods)]
    fn parsed(&self, text: &str) -> Attribute<'c> {
        if let Some(found) = self.attributes.borrow().get(text) {
            return *found;
        }
        let parsed = Attribute::parse(self.context, text)
            .unwrap_or_else(|| panic!("internal: `{text}` is no MLIR attribute"));
        self.attributes.borrow_mut().insert(text.into(), parsed);
        parsed
    }

    /// Creates an operation from its generic form.
    pub fn op(
        &self,
        op: impl Into<Op>,
        operands: &[IrValue<'c>],
        attrs: &[(&str, Attribute<'c>)],
        results: &[Type<'c>],
    ) -> IrOp<'c> {
        self.op_with_regions(op, operands, attrs, results, Vec::new())
    }

    /// Creates an operation that has regions.
    pub fn op_with_regions(
        &self,
        op: impl Into<Op>,
        operands: &[IrValue<'c>],
        attrs: &[(&str, Attribute<'c>)],
        results: &[Type<'c>],
        regions: Vec<Region<'c>>,
    ) -> IrOp<'c> {
        let name = op.into().name();
        let attrs: Vec<_> = attrs
            .iter()
            .map(|(name, attr)| (Identifier::new(self.context, name), *attr))
            .collect();
        let built = OperationBuilder::new(name, unnamed(self.location))
            .add_operands(operands)
            .add_attributes(&attrs)
            .add_results(results)
            .add_regions_vec(regions)
            .build();
        match built {
            Ok(op) => self.insert(op),
            Err(error) => panic!("internal: cannot build {name}: {error}"),
        }
    }

    /// Creates an operation with one result and returns it.
    pub fn value(
        &self,
        op: impl Into<Op>,
        operands: &[IrValue<'c>],
        attrs: &[(&str, Attribute<'c>)],
        result: Type<'c>,
    ) -> IrValue<'c> {
        result_of(self.op(op, operands, attrs, &[result]), 0)
    }

    /// An integer constant of a type such as `i32`.
    pub fn constant(&self, value: i64, ty: &'static str) -> IrValue<'c> {
        self.constant_of(value, self.ty(ty))
    }

    /// An integer constant of an integer type or `index`.
    pub fn constant_of(&self, value: i64, ty: Type<'c>) -> IrValue<'c> {
        self.number(self.integer(value, ty), ty)
    }

    /// A constant of a type.
    pub fn number(&self, value: Attribute<'c>, ty: Type<'c>) -> IrValue<'c> {
        self.value(ArithOp::Constant, &[], &[("value", value)], ty)
    }

    /// An instruction as inline assembly that only computes: `cvt.rz.f16.f32 $0, $1;` with the
    /// constraints `=h,f`.
    pub fn assembly(
        &self,
        text: &str,
        constraints: &str,
        operands: &[IrValue<'c>],
        result: Type<'c>,
    ) -> IrValue<'c> {
        let attrs = [
            ("asm_string", self.string(text)),
            ("constraints", self.string(constraints)),
            ("asm_dialect", self.i64(0)),
        ];
        self.value(LlvmOp::InlineAsm, operands, &attrs, result)
    }

    /// Inserts a finished operation.
    pub fn insert(&self, op: Operation<'c>) -> IrOp<'c> {
        // SAFETY: the block owns the operation from here on; see the module comment.
        match self.insertion {
            Insertion::End(block) => unsafe {
                OperationRef::from_raw(block.append_operation(op).to_raw())
            },
            Insertion::Before(anchor) => {
                let block = anchor.block().expect("an anchor stands in a block");
                unsafe {
                    OperationRef::from_raw(block.insert_operation_before(anchor, op).to_raw())
                }
            }
        }
    }
}

/// Result `index` of an operation.
///
/// # Panics
/// When the operation has fewer results.
pub fn result_of<'c>(op: IrOp<'c>, index: usize) -> IrValue<'c> {
    let result = op.result(index).expect("the operation has this result");
    unsafe { Value::from_raw(result.to_raw()) }
}

/// The operation that defines a value; a block argument has none.
pub fn defining_op<'c>(value: IrValue<'c>) -> Option<IrOp<'c>> {
    value.is_operation_result().then(|| {
        // SAFETY: the value is an operation's result.
        unsafe { OperationRef::from_raw(mlir_sys::mlirOpResultGetOwner(value.to_raw())) }
    })
}

/// A new region with one block of the given argument types, and that block.
pub fn region_with_block<'c>(arguments: &[(Type<'c>, Location<'c>)]) -> (Region<'c>, IrBlock<'c>) {
    let region = Region::new();
    let block = region.append_block(Block::new(arguments));
    let block = unsafe { BlockRef::from_raw(block.to_raw()) };
    (region, block)
}

/// Argument `index` of a block.
///
/// # Panics
/// When the block has fewer arguments.
pub fn argument_of(block: IrBlock<'_>, index: usize) -> IrValue<'_> {
    let argument = block.argument(index).expect("the block has this argument");
    unsafe { Value::from_raw(argument.to_raw()) }
}

/// A key for maps: types, values and operations are unique pointers of their context.
pub fn value_key(value: IrValue) -> usize {
    value.to_raw().ptr as usize
}

/// A key for maps of operations.
pub fn operation_key(op: IrOp) -> usize {
    op.to_raw().ptr as usize
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
