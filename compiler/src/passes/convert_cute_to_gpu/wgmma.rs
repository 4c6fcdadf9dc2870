//! `wgmma`: products of a warpgroup on tensor cores, which complete later.
//!
//! Instructions are inline assembly (`products.rs`): the accumulator's registers go in and come out by tied operands, so that each
//! stays one virtual register from the first product to the last. It may not be touched while a product is under way:
//! whatever fences or waits takes all accumulators that there are as operands as well, without naming them in its text,
//! and hands them out again. What reads an accumulator after a wait therefore stands after it, whoever moves code, and
//! what writes one before a fence before it. A fence takes as well what products read from registers. Where a product takes the
//! registers that one before it had ([`REUSED`]), what is computed of the latter's sums for later comes through the fence too.
//!
//! A descriptor is a low word, which has the address, and a high one that is a constant. The address of shared memory is
//! taken apart once a kernel; to it are added what is uniform in a view, outermost first, and then what tells the
//! instructions of a product apart, which is a constant.
use super::Lowering;
use super::products::{Operand, Piece, Product};
use super::promote_fragments::{Register, registers};
use crate::passes::ir_utils::{next_operation, parent, same_block, users};
use cutec_dialects::atoms::Wgmma;
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, integer_value, operands_of, result_of, value_key,
};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, LlvmOp, NvvmOp};
use cutec_dialects::semantics::{GemmPlan, SemError};
use cutec_dialects::value::View;
use cutec_layout::matrix_descriptor::{Major, MatrixDescriptor};
use cutec_layout::{AnyLayout, Int, Tree};
use melior::ir::{Type, ValueLike, operation::OperationLike};

/// The bits of an address in shared memory that a descriptor can hold.
const ADDRESS_BITS: i64 = 0x3_ffff;
/// What a descriptor counts addresses in.
const UNIT: i64 = 16;

/// The attribute of a fence whose products take the registers of sums that have been waited for in its block.
pub(in crate::passes) const REUSED: &str = "cute.reused";

/// The instruction that waits for products.
pub(super) const WAIT: &str = "wgmma.wait_group.sync.aligned";

/// Whether a product adds to its accumulator.
#[derive(Clone, Copy)]
pub(super) enum Accumulate<'c> {
    /// As is known while compiling.
    Known(bool),
    /// Where an `i1` is true.
    If(IrValue<'c>),
}

/// A register of accumulators as inline assembly takes it.
struct Tied<'c> {
    register: Register,
    value: IrValue<'c>,
}

impl<'c> Lowering<'c> {
    /// The descriptor of an operand in shared memory, from an offset on.
    pub(super) fn descriptor(
        &mut self,
        view: &View,
        descriptor: &MatrixDescriptor,
        at: &Int,
    ) -> Result<IrValue<'c>, SemError> {
        let within = match &view.layout {
            AnyLayout::Plain(_) => Int::ZERO,
            AnyLayout::Composed(composed) => match &composed.offset {
                Tree::Leaf(offset) => offset.clone(),
                Tree::Node(_) => {
                    let message = format!("{} is no layout in memory", view.layout);
                    return Err(SemError::Illegal(message));
                }
            },
        };
        let base = &self.bases[view.ptr.base - 1];
        let (pointer, start) = (base.pointer, base.bytes);
        if let Some(buffer) = base.buffer {
            self.smem_map.add_access(self.emitter.ir.location, buffer);
        }
        let elements = view.ptr.offset.add(&within).add(at);
        let elem = Int::Static(view.ptr.elem.bytes());
        let bytes = elements.mul(&elem).add(&Int::Static(start));
        if !bytes.divisible_by(UNIT) {
            let message = format!("a matrix in shared memory starts at a multiple of {UNIT} bytes");
            return Err(SemError::Illegal(message));
        }
        let address = self.descriptor_address(pointer);
        let [low, high] = descriptor.words();
        let units = bytes.floor_div(&Int::Static(UNIT));
        let units = units.add(&Int::Static(i64::from(low)));
        let low = self.emitter.sum_outermost_first(address, &units);
        let high = self.emitter.constant(i64::from(high as i32), false);
        let pair = self.emitter.ir.ty("vector<2xi32>");
        let words = self.joined_lanes(&[low, high], pair);
        let ir = &self.emitter.ir;
        Ok(ir.value(LlvmOp::Bitcast, &[words], &[], ir.ty("i64")))
    }

    /// The address of shared memory as descriptors hold it, computed once a kernel.
    fn descriptor_address(&mut self, pointer: IrValue<'c>) -> IrValue<'c> {
        if let Some(address) = self.descriptor_address {
            return address;
        }
        // Behind the address itself, which stands before the first operation of the kernel.
        let ir = OpBuilder::new(self.emitter.ir.context(), Insertion::Before(self.entry));
        let word = ir.ty("i32");
        let address = ir.value(LlvmOp::Ptrtoint, &[pointer], &[], word);
        let bits = ir.constant(ADDRESS_BITS, "i32");
        let address = ir.value(ArithOp::Andi, &[address, bits], &[], word);
        let shift = ir.constant(i64::from(UNIT.trailing_zeros()), "i32");
        let address = ir.value(ArithOp::Shrui, &[address, shift], &[], word);
        *self.descriptor_address.insert(address)
    }

    /// One instruction, with the metadata of a sparse A: the accumulator's registers that come out of it.
    pub(super) fn wgmma(
        &mut self,
        plan: &GemmPlan,
        mma: Wgmma,
        [a, b, c]: [&[IrValue<'c>]; 3],
        metadata: Option<IrValue<'c>>,
        accumulate: Accumulate<'c>,
    ) -> Vec<IrValue<'c>> {
        let mut operands: Vec<Operand<'c>> = Vec::new();
        let mut take = |values: &[IrValue<'c>], letter: &'static str| {
            let mut pieces = Vec::new();
            for (number, value) in values.iter().enumerate() {
                if number > 0 {
                    pieces.push(Piece::Text(", ".to_owned()));
                }
                pieces.push(Piece::Operand(operands.len()));
                operands.push(Operand {
                    value: *value,
                    letter,
                    beside: letter == "r",
                });
            }
            pieces
        };
        let text = |text: &str| Piece::Text(text.to_owned());
        let (before, scale) = match accumulate {
            Accumulate::Known(known) => {
                let known = i32::from(known);
                let before = format!("{{ .reg .pred p; setp.ne.b32 p, {known}, 0; ");
                (before, vec![text("p")])
            }
            Accumulate::If(value) => ("{ ".to_owned(), take(&[value], "b")),
        };
        let mut pieces = vec![Piece::Text(format!("{before}{} {{", plan.atom.ptx()))];
        pieces.push(Piece::Sums);
        pieces.push(text("}, "));
        match mma.a_in_registers {
            true => {
                pieces.push(text("{"));
                pieces.extend(take(a, "r"));
                pieces.push(text("}"));
            }
            false => pieces.extend(take(a, "l")),
        }
        pieces.push(text(", "));
        pieces.extend(take(b, "l"));
        if let Some(word) = metadata {
            pieces.push(text(", "));
            pieces.extend(take(&[word], "r"));
        }
        if let Some(pair) = mma.sparse {
            pieces.push(Piece::Text(format!(", {pair}")));
        }
        pieces.push(text(", "));
        pieces.extend(scale);
        if plan.atom.c != Elem::I32 {
            let signs = mma.negate.map(|negate| if negate { "-1" } else { "1" });
            pieces.push(Piece::Text(format!(", {}", signs.join(", "))));
        }
        let transposed = |which: usize| {
            let major = plan.descriptors[which].map(|descriptor| descriptor.major);
            Piece::Text(format!(", {}", i32::from(major == Some(Major::Mn))))
        };
        if Wgmma::transposes(plan.atom.b) {
            if !mma.a_in_registers {
                pieces.push(transposed(1));
            }
            pieces.push(transposed(2));
        }
        pieces.push(text("; }"));
        self.product(Product {
            text: pieces,
            sums: c.to_vec(),
            letters: vec![constraint_of(plan.atom.c); c.len()],
            operands,
        })
    }

    /// `wgmma.fence` or `wgmma.wait_group`, which takes the accumulators that there are and hands them out again.
    pub(super) fn wgmma_boundary(&mut self, kind: NvvmOp, op: IrOp<'c>) {
        let text = match kind {
            NvvmOp::WgmmaWaitGroup => {
                let left = op.attribute("group").ok().and_then(integer_value);
                format!("{WAIT} {};", left.unwrap_or(0))
            }
            _ => "wgmma.fence.sync.aligned;".to_owned(),
        };
        match kind {
            NvvmOp::WgmmaWaitGroup => self.waited = Some(op),
            _ if op.attribute(REUSED).is_ok() => self.compute_ahead(op),
            _ => {}
        }
        let fragments = self.accesses.tied_at(op).iter();
        let slots = fragments.filter_map(|fragment| self.slots.get(fragment));
        let registers = slots.flat_map(registers);
        let whole: Vec<Register> = registers.filter(|register| register.bytes() == 4).collect();
        let word = self.emitter.ir.ty("i32");
        let mut tied = Vec::new();
        for register in whole {
            // As products take it: sums of f16 in pairs, factors as words.
            let value = match register.elem {
                Elem::F32 | Elem::I32 | Elem::F16 => self.read(&register),
                _ => self.load_slot(register.base, register.start, word, register.bytes()),
            };
            tied.push(Tied { register, value });
        }
        let given: Vec<(IrValue<'c>, &'static str)> = tied
            .iter()
            .map(|tied| (tied.value, constraint_of(tied.register.elem)))
            .collect();
        let fields = match kind == NvvmOp::WgmmaFence && !tied.is_empty() {
            true => {
                let (sums, letters) = given.into_iter().unzip();
                self.product(Product {
                    text: vec![Piece::Text(text)],
                    sums,
                    letters,
                    operands: Vec::new(),
                })
            }
            false => match self.add_to_piece(&text, &given) {
                Some(fields) => fields,
                None => self.through_assembly(&text, &given, &[MEMORY]),
            },
        };
        for (tied, value) in tied.into_iter().zip(fields) {
            let Register { base, start, .. } = tied.register;
            self.store_slot(base, start, value, tied.register.bytes());
        }
    }

    /// Has what stands between the last wait and a fence computed there, where something behind the fence takes it. LLVM would move it behind
    /// the product: the registers of what it is computed of would be taken beside the product's.
    fn compute_ahead(&mut self, fence: IrOp<'c>) {
        let wait = self.waited.filter(|wait| same_block(*wait, fence));
        let behind = std::iter::successors(wait.and_then(next_operation), |op| next_operation(*op));
        let ahead: Vec<IrOp<'c>> = behind.take_while(|op| *op != fence).collect();
        let is_later = |user: IrOp<'c>| {
            let around = std::iter::successors(Some(user), |op| parent(*op));
            let mut around = around.filter(|op| same_block(*op, fence));
            around.next().is_none_or(|op| !ahead.contains(&op))
        };
        for op in ahead.iter().filter(|op| operands_of(**op).next().is_some()) {
            for index in 0..op.result_count() {
                let value = result_of(*op, index);
                let parts = self.parts.get(&value_key(value)).cloned();
                let Some(parts) = parts.filter(|_| users(value).into_iter().any(is_later)) else {
                    continue;
                };
                let held = parts.iter().map(|part| self.held_value(*part));
                if let Some(held) = held.collect() {
                    self.keep_parts(value, held);
                }
            }
        }
    }

    /// A piece of assembly that registers go through, each with its constraint: as they come out. `more` are further constraints.
    pub(super) fn through_assembly(
        &mut self,
        text: &str,
        given: &[(IrValue<'c>, &'static str)],
        more: &[&str],
    ) -> Vec<IrValue<'c>> {
        let outputs = given.iter().map(|(_, letter)| format!("={letter}"));
        let inputs = (0..given.len()).map(|at| at.to_string());
        let more = more.iter().map(|more| (*more).to_owned());
        let constraints = outputs.chain(inputs).chain(more);
        let constraints = constraints.collect::<Vec<_>>().join(",");
        let values: Vec<IrValue<'c>> = given.iter().map(|(value, _)| *value).collect();
        let types: Vec<Type<'c>> = values.iter().map(|value| value.r#type()).collect();
        let result = match types[..] {
            [] => None,
            [one] => Some(one),
            _ => Some(self.emitter.ir.struct_type(&types)),
        };
        let out = self.assembly(text, &constraints, &values, result);
        let Some(out) = out else { return Vec::new() };
        if types.len() == 1 {
            return vec![out];
        }
        let ir = &self.emitter.ir;
        let field = |(at, ty): (usize, &Type<'c>)| {
            let position = [("position", ir.i64_array(&[at as i64]))];
            ir.value(LlvmOp::Extractvalue, &[out], &position, *ty)
        };
        types.iter().enumerate().map(field).collect()
    }
}

/// What assembly that accesses memory says of it.
pub(super) const MEMORY: &str = "~{memory}";

/// The letter of a register of an accumulator in inline assembly.
pub(super) fn constraint_of(elem: Elem) -> &'static str {
    match elem {
        Elem::F32 => "f",
        _ => "r",
    }
}
