//! Products of a warpgroup that follow each other, as one piece of assembly.
//!
//! LLVM's work on a piece of assembly is by the registers that it takes, and an accumulator of `wgmma` has up to 128. So products
//! between which nothing happens are one piece: each accumulator goes in once and comes out once, and what tells the products
//! apart is computed in front of all of them. They are of one place in the source, for a piece has one position: a simulator
//! finds by it which buffers an instruction may read. The fence in front of them belongs to the piece too, wherever it
//! stands in the source, and the commit and the wait behind them: they take the same accumulators.
use super::Lowering;
use super::wgmma::MEMORY;
use crate::passes::ir_utils::{
    defining_op, erase, move_before, next_operation, set_operand, users,
};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, operation_key};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{CuteOp, LlvmOp, NvvmOp};
use melior::ir::{Location, Type, ValueLike, operation::OperationLike};
use std::collections::HashSet;
use std::ops::Range;

/// A part of an instruction's text.
pub(super) enum Piece {
    /// As it stands.
    Text(String),
    /// The registers of the accumulator.
    Sums,
    /// An operand, by its number among those of the instruction.
    Operand(usize),
}

/// What an instruction takes besides its accumulator.
pub(super) struct Operand<'c> {
    pub value: IrValue<'c>,
    /// Its constraint in inline assembly.
    pub letter: &'static str,
    /// Whether it may be computed while the product before it is under way, as words that are unpacked beside it: products
    /// that would have to wait for it then stay apart.
    pub beside: bool,
}

/// One instruction: its text, its accumulator as it goes in with the constraint of each register, and its operands. A
/// fence is one without operands, which takes all accumulators that there are.
pub(super) struct Product<'c> {
    pub text: Vec<Piece>,
    pub sums: Vec<IrValue<'c>>,
    pub letters: Vec<&'static str>,
    pub operands: Vec<Operand<'c>>,
}

/// A piece of assembly, which the next product may join.
#[derive(Default)]
pub(super) struct Products<'c> {
    op: Option<IrOp<'c>>,
    instructions: Vec<Instruction>,
    /// The constraint of each register of the accumulators, as what it goes in, and as what it comes out.
    letters: Vec<&'static str>,
    before: Vec<IrValue<'c>>,
    after: Vec<IrValue<'c>>,
    operands: Vec<Operand<'c>>,
}

/// An instruction of a piece.
struct Instruction {
    text: Vec<Piece>,
    /// Its accumulator among those of the piece.
    sums: Range<usize>,
    /// Where its operands begin.
    operands: usize,
}

impl<'c> Lowering<'c> {
    /// Emits a product, in one piece with those before it where it can be: the registers that come out of it.
    pub(super) fn product(&mut self, product: Product<'c>) -> Vec<IrValue<'c>> {
        let at = match self.emitter.ir.insertion {
            Insertion::Before(at) => Some(at),
            Insertion::End(_) => None,
        };
        let known = self.products.take();
        let mut piece = known
            .filter(|piece| {
                let place = piece.place();
                place.is_none_or(|place| place == self.emitter.ir.location)
            })
            .filter(|piece| at.is_some_and(|at| piece.is_joined_by(&product, at)))
            .unwrap_or_default();
        let sums = piece.add(product);
        self.assemble(piece, at);
        match &self.products {
            Some(piece) => piece.after[sums].to_vec(),
            None => Vec::new(),
        }
    }

    /// Adds an instruction without operands of its own to the piece that nothing happens behind, with the registers that it takes and their
    /// constraints: these as they come out. `None` where there is no such piece; then nothing joins one any more.
    pub(super) fn add_to_piece(
        &mut self,
        text: &str,
        registers: &[(IrValue<'c>, &'static str)],
    ) -> Option<Vec<IrValue<'c>>> {
        let mut piece = self.products.take()?;
        let Insertion::Before(at) = self.emitter.ir.insertion else {
            return None;
        };
        let between = piece.until(at)?;
        let made = |value: IrValue<'c>| {
            let made = defining_op(value).is_some_and(|op| between.contains(&operation_key(op)));
            made && !piece.after.contains(&value)
        };
        let used = |field: &IrValue<'c>| !users(*field).is_empty();
        if registers.iter().any(|(value, _)| made(*value)) || piece.after.iter().any(used) {
            return None;
        }
        let places: Vec<usize> = registers
            .iter()
            .map(|(value, letter)| piece.place_of_register(*value, letter))
            .collect();
        piece.instructions.push(Instruction {
            text: vec![Piece::Text(text.to_owned())],
            sums: 0..0,
            operands: piece.operands.len(),
        });
        let here = self.emitter.ir.location;
        self.emitter.ir.location = piece.place().unwrap_or(here);
        self.assemble(piece, Some(at));
        self.emitter.ir.location = here;
        let piece = self.products.as_ref()?;
        Some(places.into_iter().map(|place| piece.after[place]).collect())
    }

    /// Emits a piece in place of what there was of it.
    fn assemble(&mut self, mut piece: Products<'c>, at: Option<IrOp<'c>>) {
        let types: Vec<Type<'c>> = piece.before.iter().map(|sum| sum.r#type()).collect();
        let result = self.emitter.ir.struct_type(&types);
        let taken = piece.operands.iter().map(|operand| operand.value);
        let taken: Vec<_> = piece.before.iter().copied().chain(taken).collect();
        let out = self.assembly(&piece.text(), &piece.constraints(), &taken, Some(result));
        let Some(out) = out else { return };
        // What came out of the products before comes out of all of them.
        for field in piece.after.iter().copied().filter_map(defining_op) {
            set_operand(field, 0, out);
            if let Some(at) = at {
                move_before(field, at);
            }
        }
        for (place, ty) in types.into_iter().enumerate().skip(piece.after.len()) {
            let ir = &self.emitter.ir;
            let position = [("position", ir.i64_array(&[place as i64]))];
            let field = ir.value(LlvmOp::Extractvalue, &[out], &position, ty);
            piece.after.push(field);
        }
        if let Some(joined) = std::mem::replace(&mut piece.op, defining_op(out)) {
            erase(joined);
        }
        self.products = Some(piece);
    }
}

impl<'c> Products<'c> {
    /// Where in the source the products stand; `None` for a fence that has none yet.
    fn place(&self) -> Option<Location<'c>> {
        let fences = self.operands.is_empty();
        self.op.filter(|_| !fences).map(|op| op.location())
    }

    /// Whether a product in front of an operation may be one piece with these: nothing happens between, nothing takes what has
    /// come out of these but the product as its accumulator, which is one of theirs or none of it is. A fence begins a piece.
    fn is_joined_by(&self, product: &Product<'c>, at: IrOp<'c>) -> bool {
        let Some(between) = self.until(at) else {
            return false;
        };
        let in_time = |operand: &Operand<'c>| {
            let computed = defining_op(operand.value);
            !operand.beside || computed.is_none_or(|op| !between.contains(&operation_key(op)))
        };
        let comes_out = |operand: &Operand<'c>| self.after.contains(&operand.value);
        let mut sums = product.sums.iter();
        self.after.iter().all(|field| users(*field).is_empty())
            && !product.operands.is_empty()
            && product.operands.iter().all(in_time)
            && !product.operands.iter().any(comes_out)
            && (self.place_of(&product.sums).is_some() || !sums.any(|sum| self.after.contains(sum)))
    }

    /// What is computed between the piece and an operation, if nothing else happens there.
    fn until(&self, at: IrOp<'c>) -> Option<HashSet<usize>> {
        let mut between = HashSet::new();
        let mut next = self.op.and_then(next_operation);
        loop {
            match next {
                Some(op) if op == at => return Some(between),
                // What there is of `cute`, and of what is in pieces, is lowered: what it does stands in front of it.
                Some(op) if CuteOp::of(op).is_some() || is_of_piece(op) => {}
                Some(op) if has_no_effect(op) || LlvmOp::Load.is(op) => {
                    between.insert(operation_key(op));
                }
                _ => return None,
            }
            next = next.and_then(next_operation);
        }
    }

    /// Where a register stands among those that come out, or, if it does not yet, those that go in.
    fn place_of_register(&mut self, value: IrValue<'c>, letter: &'static str) -> usize {
        let known = self.after.iter().position(|field| *field == value);
        known.unwrap_or_else(|| {
            self.letters.push(letter);
            self.before.push(value);
            self.before.len() - 1
        })
    }

    /// Where an accumulator stands among those that come out.
    fn place_of(&self, sums: &[IrValue<'c>]) -> Option<Range<usize>> {
        let first = sums.first()?;
        let start = self.after.iter().position(|field| field == first)?;
        let place = start..start + sums.len();
        (self.after.get(place.clone())? == sums).then_some(place)
    }

    /// Adds an instruction: where its accumulator stands.
    fn add(&mut self, product: Product<'c>) -> Range<usize> {
        let sums = self.place_of(&product.sums).unwrap_or_else(|| {
            let start = self.before.len();
            self.letters.extend(product.letters);
            self.before.extend(product.sums);
            start..self.before.len()
        });
        self.instructions.push(Instruction {
            text: product.text,
            sums: sums.clone(),
            operands: self.operands.len(),
        });
        self.operands.extend(product.operands);
        sums
    }

    fn text(&self) -> String {
        let first = 2 * self.before.len();
        let piece = |instruction: &Instruction, piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Operand(number) => format!("${}", first + instruction.operands + number),
            Piece::Sums => {
                let sums = instruction.sums.clone().map(|at| format!("${at}"));
                sums.collect::<Vec<_>>().join(", ")
            }
        };
        let lines = self.instructions.iter().map(|instruction| {
            let pieces = instruction.text.iter().map(|it| piece(instruction, it));
            pieces.collect::<String>()
        });
        lines.collect::<Vec<_>>().join("\n\t")
    }

    fn constraints(&self) -> String {
        let outputs = self.letters.iter().map(|letter| format!("={letter}"));
        let inputs = (0..self.letters.len()).map(|at| at.to_string());
        let operands = self.operands.iter().map(|it| it.letter.to_owned());
        let all = outputs.chain(inputs).chain(operands);
        all.chain([MEMORY.to_owned()]).collect::<Vec<_>>().join(",")
    }
}

/// Whether an operation is lowered to a line of a piece, where there is one.
fn is_of_piece(op: IrOp) -> bool {
    matches!(
        NvvmOp::of(op),
        Some(NvvmOp::WgmmaFence | NvvmOp::WgmmaCommitGroup | NvvmOp::WgmmaWaitGroup)
    )
}
