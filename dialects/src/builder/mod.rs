//! Building MLIR: an insertion point and one way to create an operation.
//!
//! Attributes and types are built of values (`attributes`, `types`): what MLIR parses is only texts that stand in
//! the source of cutec as they are, which [`OpBuilder::attr`] and [`OpBuilder::ty`] ask for by their signature.
mod attributes;
mod types;

pub use crate::handles::{
    IrBlock, IrOp, IrValue, argument_number, argument_of, array_elements, bytes_of, defining_op,
    erase_unused, float_value, integer_array, integer_value, operands_of, operation_key, result_of,
    results_of, string_value, value_key,
};
use crate::ops::{ArithOp, LlvmOp, Op};
use crate::printing::unnamed;
use melior::{
    Context,
    ir::{
        Attribute, Block, BlockLike, BlockRef, Identifier, Location, Operation, OperationRef,
        Region, RegionLike, Type,
        operation::{OperationBuilder, OperationLike},
    },
};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// Where the next operation goes.
#[derive(Clone, Copy)]
pub enum Insertion<'c> {
    /// At the end of a block.
    End(IrBlock<'c>),
    /// Before an operation.
    Before(IrOp<'c>),
}

/// Creates operations at an insertion point, all with the current location.
pub struct OpBuilder<'c> {
    context: &'c Context,
    /// Where the next operation goes.
    pub insertion: Insertion<'c>,
    /// Location of the next operation.
    pub location: Location<'c>,
    types: RefCell<FxHashMap<String, Type<'c>>>,
    attributes: RefCell<FxHashMap<String, Attribute<'c>>>,
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

/// A new region with one block of the given argument types, and that block.
pub fn region_with_block<'c>(arguments: &[(Type<'c>, Location<'c>)]) -> (Region<'c>, IrBlock<'c>) {
    let region = Region::new();
    let block = region.append_block(Block::new(arguments));
    // SAFETY: the region owns the block wherever it is moved to; see the comment of `handles`.
    let block = unsafe { BlockRef::from_raw(block.to_raw()) };
    (region, block)
}
