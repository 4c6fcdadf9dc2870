//! `tile-convert-packed`: numbers of the narrow integers and floats that words hold, by arithmetic on the words.
//!
//! Before: conversions of vectors of i4 and e2m1 to other numbers, and of those of i8 to floating numbers: of a `vector.bitcast` of words, or of a
//! `vector.shuffle` of one, as `tile.recast` makes it. After: no elements of 4 bits. Two numbers of 16 bits are made at once: an integer is put into
//! the mantissa of a power of two that is large enough, and that subtracted, which is exact; exponent and mantissa of an e2m1 are put where the wider
//! type has the lowest bits of its own, and multiplied by the ratio of both scales, which is exact too.
use super::super::ir_utils::{
    Kernel, collect_nested, defining_op, erase, for_each_kernel, replace_all_uses, users,
    vector_elements,
};
use crate::passes::Reported;
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, integer_array, operands_of, result_of,
};
use cutec_dialects::memo::type_text;
use cutec_dialects::ops::{ArithOp, VectorOp};
use melior::Context;
use melior::ir::{Type, ValueLike, operation::OperationLike};

/// Elements of what is computed together: of 16 bits, as wide as the widest access.
const PART: usize = 8;

/// Converts what is packed in the kernels of the module.
pub fn convert_packed<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let Kernel {
            context, function, ..
        } = kernel;
        let mut inside = Vec::new();
        collect_nested(function, &mut inside);
        for op in inside {
            round_at_once(context, op);
        }
        let mut inside = Vec::new();
        collect_nested(function, &mut inside);
        for op in &inside {
            let kind = match ArithOp::of(*op) {
                Some(ArithOp::Sitofp | ArithOp::Extsi) => Kind::Signed,
                Some(ArithOp::Uitofp | ArithOp::Extui) => Kind::Unsigned,
                Some(ArithOp::Extf) => Kind::E2m1,
                _ => continue,
            };
            convert(context, *op, kind);
        }
        Ok::<_, Reported>(())
    })
}

/// What becomes f32 and then a number of 16 bits becomes that at once: both have each number of a byte and less.
fn round_at_once<'c>(context: &'c Context, op: IrOp<'c>) -> Option<()> {
    let wide = operands_of(op).next().filter(|_| ArithOp::Truncf.is(op))?;
    let convert = defining_op(wide)?;
    let kinds = [ArithOp::Sitofp, ArithOp::Uitofp, ArithOp::Extf];
    let kind = ArithOp::of(convert).filter(|kind| kinds.contains(kind))?;
    let narrow = operands_of(convert).next()?;
    let elem = |value: IrValue<'c>| Some(type_text(vector_elements(value.r#type())?.1));
    if &*elem(wide)? != "f32" || !matches!(&*elem(narrow)?, "i4" | "i8" | "f4E2M1FN") {
        return None;
    }
    let mut ir = OpBuilder::new(context, Insertion::Before(op));
    ir.location = op.location();
    let result = result_of(op, 0);
    replace_all_uses(result, ir.value(kind, &[narrow], &[], result.r#type()));
    erase(op);
    if users(wide).is_empty() {
        erase(convert);
    }
    Some(())
}

/// The upper bytes of a power of two whose lower bits take a byte: 1024 in f16, 128 in bf16.
const POWER_OF_F16: i64 = 0x64;
const POWER_OF_BF16: i64 = 0x43;
/// Of f32 2²³, all of it.
const POWER_OF_F32: i64 = 0x4b00_0000;

/// Such a byte four times.
fn fill_of_8(power: i64) -> i64 {
    power * 0x0101_0101
}

/// Where a narrow integer is: a word and its first bit there.
#[derive(Clone, Copy)]
struct Place {
    word: usize,
    bit: i64,
}

/// What narrow numbers are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Signed,
    Unsigned,
    E2m1,
}

/// Narrow numbers in words of 32 bits.
struct Packed<'c> {
    ir: OpBuilder<'c>,
    words: Vec<IrValue<'c>>,
    places: Vec<Place>,
    width: i64,
    kind: Kind,
}

/// Where a wider type has the mantissa of an e2m1, and the bits of 2 to the difference of their biases, 1 and 15 or 127.
fn of_wider(to: &str) -> (i64, i64) {
    match to {
        "f16" => (9, 0x7400),
        "bf16" => (6, 0x7e80),
        _ => (22, 0x7e80_0000),
    }
}

fn convert<'c>(context: &'c Context, op: IrOp<'c>, kind: Kind) {
    let Some(narrow) = operands_of(op).next() else {
        return;
    };
    let (Some((_, from)), Some((count, to))) = (
        vector_elements(narrow.r#type()),
        vector_elements(result_of(op, 0).r#type()),
    ) else {
        return;
    };
    let width = match (&*type_text(from), kind) {
        ("i4", Kind::Signed | Kind::Unsigned) | ("f4E2M1FN", Kind::E2m1) => 4,
        ("i8", Kind::Signed | Kind::Unsigned) => 8,
        _ => return,
    };
    let to_text = type_text(to);
    let even = count % 2 == 0;
    // Other conversions of bytes are left to `convert-bytes`.
    let expands = match &*to_text {
        _ if width == 4 => true,
        "f16" | "bf16" => even,
        to => to == "f32",
    };
    let mut ir = OpBuilder::new(context, Insertion::Before(op));
    ir.location = op.location();
    let packed = expands.then(|| Packed::of(ir, narrow, width, kind));
    let Some(packed) = packed.flatten() else {
        return;
    };
    let elements = match &*to_text {
        "f16" | "bf16" if even => packed.halves(&to_text),
        "f32" if width == 8 => packed.bytes_in_f32(to),
        _ => packed.one_by_one(to),
    };
    let ty = packed.ir.vector_type(count, to);
    let made = packed.ir.value(VectorOp::FromElements, &elements, &[], ty);
    replace_all_uses(result_of(op, 0), made);
    erase(op);
    erase_unused(narrow);
}

/// Erases what nothing uses of a shuffle, and what it is of.
fn erase_unused(value: IrValue) {
    let Some(op) = defining_op(value).filter(|_| users(value).is_empty()) else {
        return;
    };
    if matches!(
        VectorOp::of(op),
        Some(VectorOp::Shuffle | VectorOp::Bitcast)
    ) {
        let from = operands_of(op).next();
        erase(op);
        from.into_iter().for_each(erase_unused);
    }
}

/// Integers that may hold narrower ones, the widest first: a word of 32 bits is a register.
const WORDS: [(&str, i64); 3] = [("i32", 32), ("i16", 16), ("i8", 8)];

/// Bits of such an integer.
fn bits_of(word: Type) -> Option<i64> {
    let text = type_text(word);
    let mut known = WORDS.into_iter();
    known
        .find(|(name, _)| **name == *text)
        .map(|(_, bits)| bits)
}

/// A vector of so many bits as one of the widest such integers; `None` where it is of no whole number of any.
pub(super) fn in_words<'c>(ir: &OpBuilder<'c>, of: IrValue<'c>, bits: i64) -> Option<IrValue<'c>> {
    let (name, word) = WORDS.into_iter().find(|(_, word)| bits % word == 0)?;
    let ty = ir.vector_type(bits / word, ir.ty(name));
    Some(ir.value(VectorOp::Bitcast, &[of], &[], ty))
}

impl<'c> Packed<'c> {
    /// What a vector is of. One of 4 bits that is of no words, as of what a loop carries, becomes one of words.
    fn of(ir: OpBuilder<'c>, narrow: IrValue<'c>, width: i64, kind: Kind) -> Option<Self> {
        let (count, _) = vector_elements(narrow.r#type())?;
        let of_words = |value: IrValue<'c>| {
            let of = defining_op(value).filter(|op| VectorOp::Bitcast.is(*op));
            operands_of(of?).next()
        };
        let shuffle = defining_op(narrow).filter(|op| VectorOp::Shuffle.is(*op));
        let found = shuffle.and_then(|shuffle| {
            let order = shuffle.attribute("mask").ok().and_then(integer_array)?;
            Some((of_words(operands_of(shuffle).next()?)?, order))
        });
        let in_order = || Some((of_words(narrow)?, (0..count).collect()));
        let (of, order) = match found.or_else(in_order) {
            Some(found) => found,
            None if width == 4 => {
                let nibbles = match kind {
                    Kind::E2m1 => {
                        let ty = ir.vector_type(count, ir.ty("i4"));
                        ir.value(ArithOp::Bitcast, &[narrow], &[], ty)
                    }
                    Kind::Signed | Kind::Unsigned => narrow,
                };
                let ty = ir.vector_type(count, ir.ty("i8"));
                let of = ir.value(ArithOp::Extui, &[nibbles], &[], ty);
                (of, (0..count).map(|at| 2 * at).collect())
            }
            None => (in_words(&ir, narrow, count * width)?, (0..count).collect()),
        };
        let (words, word) = vector_elements(of.r#type())?;
        let bits = bits_of(word)?;
        let each = |at: i64| {
            let position = [("static_position", ir.i64_array(&[at]))];
            let part = ir.value(VectorOp::Extract, &[of], &position, word);
            match bits {
                32 => part,
                _ => ir.value(ArithOp::Extui, &[part], &[], ir.ty("i32")),
            }
        };
        let words = (0..words).map(each).collect();
        let place = |at: &i64| {
            let first = at * width;
            Some(Place {
                word: usize::try_from(first / bits).ok()?,
                bit: first % bits,
            })
        };
        let places: Option<Vec<Place>> = order.iter().map(place).collect();
        Some(Packed {
            ir,
            words,
            places: places?,
            width,
            kind,
        })
    }

    fn is_signed(&self) -> bool {
        self.kind == Kind::Signed
    }

    fn number(&self, bits: i64) -> IrValue<'c> {
        // As MLIR takes a constant of 32 bits.
        self.ir.constant(i64::from(bits as u32 as i32), "i32")
    }

    fn binary(&self, op: ArithOp, one: IrValue<'c>, bits: i64) -> IrValue<'c> {
        self.ir
            .value(op, &[one, self.number(bits)], &[], self.ir.ty("i32"))
    }

    /// A word with a bit moved to another place.
    fn moved(&self, place: Place, to: i64) -> IrValue<'c> {
        let word = self.words[place.word];
        match place.bit - to {
            0 => word,
            right @ 1.. => self.binary(ArithOp::Shrui, word, right),
            left => self.binary(ArithOp::Shli, word, -left),
        }
    }

    fn or(&self, one: IrValue<'c>, other: IrValue<'c>) -> IrValue<'c> {
        self.ir
            .value(ArithOp::Ori, &[one, other], &[], self.ir.ty("i32"))
    }

    /// Numbers of 16 bits, two in a word.
    fn halves(&self, to: &str) -> Vec<IrValue<'c>> {
        let (float, text) = match to {
            "f16" => (self.ir.ty("f16"), "f16"),
            _ => (self.ir.ty("bf16"), "bf16"),
        };
        let mut elements = Vec::new();
        let known = self.in_register(match (self.width, to) {
            (4, _) if self.kind == Kind::E2m1 => 0x8000_8000,
            (4, _) => 0x000f_000f,
            (_, "f16") => fill_of_8(POWER_OF_F16),
            _ => fill_of_8(POWER_OF_BF16),
        });
        for part in self.places.chunks(PART) {
            let mut words: [Vec<IrValue<'c>>; 2] = [Vec::new(), Vec::new()];
            for pair in part.chunks_exact(2) {
                let pair = [pair[0], pair[1]];
                let [number, more] = match self.width {
                    4 if self.kind == Kind::E2m1 => self.pair_of_e2m1(pair, known, text),
                    4 => self.pair_of_4(pair, known, text),
                    _ => self.pair_of_8(pair, known, text),
                };
                words[0].push(number);
                words[1].push(more);
            }
            let ty = self.ir.vector_type(part.len() as i64, float);
            let [number, more] = words.map(|words| {
                let of = self.ir.vector_type(words.len() as i64, self.ir.ty("i32"));
                let words = self.ir.value(VectorOp::FromElements, &words, &[], of);
                self.ir.value(VectorOp::Bitcast, &[words], &[], ty)
            });
            let more = match self.width == 8 && !self.is_signed() && to != "f16" {
                true => self.negated_above_sign(more, ty),
                false => more,
            };
            let by = match self.kind {
                Kind::E2m1 => ArithOp::Mulf,
                Kind::Signed | Kind::Unsigned => ArithOp::Subf,
            };
            let numbers = self.ir.value(by, &[number, more], &[], ty);
            for at in 0..part.len() as i64 {
                let position = [("static_position", self.ir.i64_array(&[at]))];
                let element = self
                    .ir
                    .value(VectorOp::Extract, &[numbers], &position, float);
                elements.push(element);
            }
        }
        elements
    }

    /// Two integers of 4 bits in the lower bits of a power of two, and what they are more than they should be. A sign that is turned
    /// around is 8 more.
    fn pair_of_4(&self, [low, high]: [Place; 2], lower: IrValue<'c>, to: &str) -> [IrValue<'c>; 2] {
        let together = low.word == high.word && high.bit == low.bit + 16;
        let bits = match together {
            true => {
                let (word, i32_type) = (self.moved(low, 0), self.ir.ty("i32"));
                self.ir.value(ArithOp::Andi, &[word, lower], &[], i32_type)
            }
            false => self.or(
                self.binary(ArithOp::Andi, self.moved(low, 0), 0xf),
                self.binary(ArithOp::Andi, self.moved(high, 16), 0x000f_0000),
            ),
        };
        let power = if to == "f16" {
            0x6400_6400
        } else {
            0x4300_4300
        };
        let more = power | if self.is_signed() { 0x0008_0008 } else { 0 };
        [self.binary(ArithOp::Xori, bits, more), self.number(more)]
    }

    /// The signs, exponents and mantissas of two e2m1 where the wider type has them, and what these are to be multiplied by.
    fn pair_of_e2m1(
        &self,
        [low, high]: [Place; 2],
        signs: IrValue<'c>,
        to: &str,
    ) -> [IrValue<'c>; 2] {
        let (first, scale) = of_wider(to);
        let rest = 0x7 << first;
        let i32_type = self.ir.ty("i32");
        let bits = match low.word == high.word && high.bit == low.bit + 16 {
            true => {
                let sign = [self.moved(low, 12), signs];
                self.or(
                    self.ir.value(ArithOp::Andi, &sign, &[], i32_type),
                    self.binary(ArithOp::Andi, self.moved(low, first), rest << 16 | rest),
                )
            }
            false => {
                let half = |place: Place, at: i64| {
                    self.or(
                        self.binary(ArithOp::Andi, self.moved(place, at + 12), 0x8000 << at),
                        self.binary(ArithOp::Andi, self.moved(place, at + first), rest << at),
                    )
                };
                self.or(half(low, 0), half(high, 16))
            }
        };
        [bits, self.number(scale << 16 | scale)]
    }

    /// A number in a register that ptxas does not know: of a `LOP3` or a `PRMT` one operand is a constant, and a second one would be moved to
    /// a register for each pair anew. No grid has 2¹⁶ blocks along z (PTX ISA, "%ctaid").
    fn in_register(&self, number: i64) -> IrValue<'c> {
        let text = format!(
            "mov.u32 $0, %ctaid.z;\n\tshr.u32 $0, $0, 16;\n\tor.b32 $0, $0, {number:#010x};"
        );
        self.ir.assembly(&text, "=r", &[], self.ir.ty("i32"))
    }

    /// The same of two bytes. The lower seven bits of one are the mantissa of a bf16 of 128 more; its sign, as the lowest bit of the
    /// exponent, makes 256 of what is subtracted.
    fn pair_of_8(&self, [low, high]: [Place; 2], fill: IrValue<'c>, to: &str) -> [IrValue<'c>; 2] {
        let select = [low.bit / 8, high.bit / 8];
        let (power, flip) = match to {
            "f16" => (POWER_OF_F16, self.is_signed()),
            _ => (POWER_OF_BF16, false),
        };
        let both = power << 8 | power << 24;
        let word = |place: Place| match flip {
            true => self.binary(ArithOp::Xori, self.words[place.word], 0x8080_8080),
            false => self.words[place.word],
        };
        let i32_type = self.ir.ty("i32");
        let bits = match low.word == high.word {
            true => {
                let selector = 0x4040 | select[1] << 8 | select[0];
                let text = format!("prmt.b32 $0, $1, $2, {selector:#x};");
                self.ir
                    .assembly(&text, "=r,r,r", &[word(low), fill], i32_type)
            }
            false => {
                let selector = 0x0400 + (select[1] << 8 | select[0]);
                let text = format!("prmt.b32 $0, $1, $2, {selector:#x};");
                let words = [word(low), word(high)];
                let bytes = self.ir.assembly(&text, "=r,r,r", &words, i32_type);
                let bytes = self.binary(ArithOp::Andi, bytes, 0x00ff_00ff);
                self.binary(ArithOp::Ori, bytes, both)
            }
        };
        match to {
            "f16" => [bits, self.number(both | if flip { 0x0080_0080 } else { 0 })],
            _ => [
                self.binary(ArithOp::Andi, bits, 0xff7f_ff7f),
                self.binary(ArithOp::Andi, bits, 0xff80_ff80),
            ],
        }
    }

    /// What bytes without a sign are less than the lower seven bits on top of 128: 128, or nothing where the eighth bit is set, of 128 or 256.
    fn negated_above_sign(&self, more: IrValue<'c>, ty: Type<'c>) -> IrValue<'c> {
        let (_, bf16) = vector_elements(ty).unwrap_or((1, ty));
        let most = self.ir.splat(ty, self.ir.float(256.0, bf16));
        let most = self.ir.number(most, ty);
        self.ir.value(ArithOp::Subf, &[most, more], &[], ty)
    }

    /// Bytes in the lowest bits of 2²³, and that subtracted.
    fn bytes_in_f32(&self, f32_type: Type<'c>) -> Vec<IrValue<'c>> {
        let power = self.in_register(POWER_OF_F32);
        let more = POWER_OF_F32 | if self.is_signed() { 0x80 } else { 0 };
        let more = self
            .ir
            .value(ArithOp::Bitcast, &[self.number(more)], &[], f32_type);
        let each = |place: &Place| {
            let word = match self.is_signed() {
                true => self.binary(ArithOp::Xori, self.words[place.word], 0x8080_8080),
                false => self.words[place.word],
            };
            let text = format!("prmt.b32 $0, $1, $2, {:#x};", 0x7440 | (place.bit / 8));
            let i32_type = self.ir.ty("i32");
            let bits = self.ir.assembly(&text, "=r,r,r", &[word, power], i32_type);
            let number = self.ir.value(ArithOp::Bitcast, &[bits], &[], f32_type);
            self.ir.value(ArithOp::Subf, &[number, more], &[], f32_type)
        };
        self.places.iter().map(each).collect()
    }

    /// Each number by itself.
    fn one_by_one(&self, to: Type<'c>) -> Vec<IrValue<'c>> {
        let text = type_text(to);
        let each = |place: &Place| {
            if self.kind == Kind::E2m1 {
                return self.e2m1(*place, to);
            }
            if &*text == "f32" && self.width == 4 {
                let bits = self.binary(ArithOp::Andi, self.moved(*place, 0), 0xf);
                let more = 0x4b00_0000 | if self.is_signed() { 8 } else { 0 };
                let bits = self.binary(ArithOp::Xori, bits, more);
                let [number, more] = [bits, self.number(more)]
                    .map(|bits| self.ir.value(ArithOp::Bitcast, &[bits], &[], to));
                return self.ir.value(ArithOp::Subf, &[number, more], &[], to);
            }
            let up = self.moved(*place, 32 - self.width);
            let down = match self.is_signed() {
                true => ArithOp::Shrsi,
                false => ArithOp::Shrui,
            };
            let number = self.binary(down, up, 32 - self.width);
            let op = match &*text {
                "i32" => return number,
                "i8" | "i16" => ArithOp::Trunci,
                "i64" => ArithOp::Extsi,
                _ => ArithOp::Sitofp,
            };
            self.ir.value(op, &[number], &[], to)
        };
        self.places.iter().map(each).collect()
    }

    /// One e2m1 as f32, and from that as another type.
    fn e2m1(&self, place: Place, to: Type<'c>) -> IrValue<'c> {
        let (first, scale) = of_wider("f32");
        let bits = self.or(
            self.binary(ArithOp::Andi, self.moved(place, 28), 0x8000_0000),
            self.binary(ArithOp::Andi, self.moved(place, first), 0x7 << first),
        );
        let f32_type = self.ir.ty("f32");
        let factors = [bits, self.number(scale)]
            .map(|bits| self.ir.value(ArithOp::Bitcast, &[bits], &[], f32_type));
        let number = self.ir.value(ArithOp::Mulf, &factors, &[], f32_type);
        match to == f32_type {
            true => number,
            false => self.ir.value(ArithOp::Truncf, &[number], &[], to),
        }
    }
}
