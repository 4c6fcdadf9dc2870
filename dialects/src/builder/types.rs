//! Types made of values; see `attributes`.
use super::OpBuilder;
use crate::elem::Elem;
use crate::legal::check_type;
use crate::value::Val;
use melior::dialect::llvm;
use melior::ir::Type;
use melior::ir::r#type::{FunctionType, IntegerType};

impl<'c> OpBuilder<'c> {
    /// An integer of so many bits.
    pub fn integer_type(&self, bits: u32) -> Type<'c> {
        IntegerType::new(self.context, bits).into()
    }

    /// A vector of so many elements.
    ///
    /// # Panics
    /// Without elements: a mistake in cutec, not in its input.
    pub fn vector_type(&self, count: i64, elem: Type<'c>) -> Type<'c> {
        match u64::try_from(count) {
            Ok(count @ 1..) => Type::vector(&[count], elem),
            _ => panic!("internal: a vector of {count} elements"),
        }
    }

    /// The type of an SSA value of one element ([`Elem::value_type`]).
    pub fn number_type(&self, elem: Elem) -> Type<'c> {
        self.ty(elem.value_type())
    }

    /// The type of an SSA value of one element, or of a vector of `count`.
    pub fn numbers_type(&self, elem: Elem, count: Option<i64>) -> Type<'c> {
        let number = self.number_type(elem);
        count.map_or(number, |count| self.vector_type(count, number))
    }

    /// LLVM's pointer into an address space.
    pub fn pointer_type(&self, space: u32) -> Type<'c> {
        llvm::r#type::pointer(self.context, space)
    }

    /// LLVM's array.
    pub fn array_type(&self, count: u32, elem: Type<'c>) -> Type<'c> {
        llvm::r#type::array(elem, count)
    }

    /// LLVM's struct without a name.
    pub fn struct_type(&self, fields: &[Type<'c>]) -> Type<'c> {
        llvm::r#type::r#struct(self.context, fields, false)
    }

    /// A function's type.
    pub fn function_type(&self, arguments: &[Type<'c>], results: &[Type<'c>]) -> Type<'c> {
        FunctionType::new(self.context, arguments, results).into()
    }

    /// The type of a value of the dialect `cute`; `None` where no type spells the value.
    pub fn type_of(&self, val: &Val) -> Option<Type<'c>> {
        check_type(val).ok()?;
        self.parsed_type(&val.to_string())
    }

    /// As [`OpBuilder::type_of`], of a value that is legal by construction.
    ///
    /// # Panics
    /// Where no type spells the value: a mistake in cutec, not in its input.
    pub fn val_type(&self, val: &Val) -> Type<'c> {
        self.type_of(val)
            .unwrap_or_else(|| panic!("internal: `{val}` is no legal type"))
    }
}
