//! Attributes made of values. None of them is MLIR's text with a number or a name put in, so none can be another
//! attribute than was meant, or none at all, whatever the number or the name.
use super::OpBuilder;
use melior::ir::attribute::{
    BoolAttribute, DenseElementsAttribute, DenseI32ArrayAttribute, DenseI64ArrayAttribute,
    FlatSymbolRefAttribute, FloatAttribute, IntegerAttribute, StringAttribute, TypeAttribute,
};
use melior::ir::r#type::IntegerType;
use melior::ir::{Attribute, Type};

impl<'c> OpBuilder<'c> {
    /// That something is so: an attribute without a value.
    pub fn unit(&self) -> Attribute<'c> {
        Attribute::unit(self.context)
    }

    /// `true` or `false`, of `i1`.
    pub fn bool(&self, value: bool) -> Attribute<'c> {
        BoolAttribute::new(self.context, value).into()
    }

    /// An integer of an integer type or `index`; of more bits than the type has, the lower ones.
    pub fn integer(&self, value: i64, ty: Type<'c>) -> Attribute<'c> {
        IntegerAttribute::new(ty, value).into()
    }

    /// An integer of 32 bits.
    pub fn i32(&self, value: i32) -> Attribute<'c> {
        self.integer(value.into(), IntegerType::new(self.context, 32).into())
    }

    /// An integer of 64 bits.
    pub fn i64(&self, value: i64) -> Attribute<'c> {
        self.integer(value, IntegerType::new(self.context, 64).into())
    }

    /// A number of a floating type, rounded to it.
    pub fn float(&self, value: f64, ty: Type<'c>) -> Attribute<'c> {
        FloatAttribute::new(self.context, ty, value).into()
    }

    /// `array<i32: …>`.
    pub fn i32_array(&self, values: &[i32]) -> Attribute<'c> {
        DenseI32ArrayAttribute::new(self.context, values).into()
    }

    /// `array<i64: …>`.
    pub fn i64_array(&self, values: &[i64]) -> Attribute<'c> {
        DenseI64ArrayAttribute::new(self.context, values).into()
    }

    /// A vector of one number.
    ///
    /// # Panics
    /// On a type that is no vector: a mistake in cutec, not in its input.
    pub fn splat(&self, vector: Type<'c>, number: Attribute<'c>) -> Attribute<'c> {
        DenseElementsAttribute::splat(vector, number).into()
    }

    /// A vector of integers of 32 bits.
    pub fn i32_elements(&self, values: &[i32]) -> Attribute<'c> {
        let ty = self.vector_type(values.len() as i64, self.integer_type(32));
        DenseElementsAttribute::i32_values(ty, values).into()
    }

    /// A text, whatever its characters.
    pub fn string(&self, text: &str) -> Attribute<'c> {
        StringAttribute::new(self.context, text).into()
    }

    /// A symbol by its name.
    pub fn symbol(&self, name: &str) -> Attribute<'c> {
        FlatSymbolRefAttribute::new(self.context, name).into()
    }

    /// A type as an attribute.
    pub fn type_attr(&self, ty: Type<'c>) -> Attribute<'c> {
        TypeAttribute::new(ty).into()
    }

    /// The integers from `low` to below `high`, for LLVM to know of a result (`#llvm.constant_range`).
    pub fn range(&self, low: i32, high: i32) -> Attribute<'c> {
        // MLIR's C interface has no constructor; numbers cannot be anything else in the text.
        self.parsed(&format!("#llvm.constant_range<i32, {low}, {high}>"))
    }

    /// The shape of an `nvvm.mma.sync`.
    pub fn mma_shape(&self, [m, n, k]: [u32; 3]) -> Attribute<'c> {
        // As above.
        self.parsed(&format!("#nvvm.shape<m = {m}, n = {n}, k = {k}>"))
    }

    /// `#cute.target` of an architecture.
    pub fn target(&self, target: &crate::target::Target) -> Attribute<'c> {
        self.parsed(&format!("#cute.target<\"{}\">", target.name))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Insertion;
    use super::*;
    use melior::ir::{BlockLike, BlockRef, Location, Module};

    fn with_builder(test: impl FnOnce(&OpBuilder)) {
        let context = crate::context();
        let module = Module::new(Location::unknown(&context));
        // SAFETY: the block lives as long as the module.
        let body = unsafe { BlockRef::from_raw(module.body().to_raw()) };
        test(&OpBuilder::new(&context, Insertion::End(body)));
        assert!(body.first_operation().is_none());
    }

    /// What is built is what MLIR reads.
    #[test]
    fn attributes_are_those_of_their_texts() {
        with_builder(|ir| {
            let [i8, i32, i64] = [8, 32, 64].map(|bits| ir.integer_type(bits));
            let f32 = ir.ty("f32");
            let pairs = [
                (ir.i32(-1), "-1 : i32"),
                (ir.i64(i64::MIN), "-9223372036854775808 : i64"),
                (ir.integer(255, i8), "-1 : i8"),
                (ir.integer(0xFFFF_FFFF, i32), "-1 : i32"),
                (ir.integer(7, i64), "7 : i64"),
                (ir.integer(7, ir.ty("index")), "7 : index"),
                (ir.bool(true), "true"),
                (ir.float(0.1, f32), "0.1 : f32"),
                (ir.float(f64::NEG_INFINITY, f32), "0xFF800000 : f32"),
                (ir.float(f64::NAN, ir.ty("bf16")), "0x7FC0 : bf16"),
                (ir.i32_array(&[]), "array<i32>"),
                (ir.i64_array(&[1, -2]), "array<i64: 1, -2>"),
                (ir.i32_elements(&[1, 2]), "dense<[1, 2]> : vector<2xi32>"),
                (
                    ir.splat(ir.vector_type(4, f32), ir.float(1.5, f32)),
                    "dense<1.5> : vector<4xf32>",
                ),
                (ir.string("a\"\\\n\0"), r#""a\22\\\0A\00""#),
                (ir.symbol("a b"), "@\"a b\""),
                (ir.type_attr(i32), "i32"),
            ];
            for (built, text) in pairs {
                assert_eq!(built, ir.parsed(text), "{text}");
            }
        });
    }
}
