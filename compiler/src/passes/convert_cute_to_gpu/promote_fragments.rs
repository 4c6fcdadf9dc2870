//! mem2reg across regions: fragments of one element and accumulators become iteration arguments of loops and
//! results of branches, one SSA value a register.
//!
//! Left in memory, each would be stored before the loop, loaded and stored in each iteration and loaded after it
//! until LLVM promotes it. And what is loaded as vectors after the loop LLVM carries as vectors, which each
//! iteration takes apart.
use super::super::additional_yields::with_additional_yields;
use super::super::ir_utils::{blocks, borrowed, named_attributes, operations};
use super::Lowering;
use crate::passes::Reported;
use cutec_dialects::builder::{Insertion, IrBlock, IrOp, IrValue, operands_of, result_of};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::ScfOp;
use melior::ir::operation::OperationLike;
use melior::ir::{Block, RegionLike};

/// Bytes of the smallest element that is a register of its own.
const REGISTER: i64 = 4;

/// The stack slot of a fragment.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    pub(super) base: usize,
    pub(super) elem: Elem,
    pub(super) elems: i64,
}

/// An element of a slot.
pub(super) struct Register {
    pub(super) base: usize,
    pub(super) start: i64,
    pub(super) elem: Elem,
    /// How many neighbouring elements it holds.
    pub(super) elems: i64,
}

impl Register {
    /// Its bytes.
    pub(super) fn bytes(&self) -> i64 {
        self.elems * self.elem.bytes()
    }
}

impl<'c> Lowering<'c> {
    /// Lowers what is inside an operation.
    pub(super) fn regions(&mut self, op: IrOp<'c>) -> Result<(), Reported> {
        self.unroll_if_choosing(op);
        let slots = self.promoted(op);
        let registers: Vec<Register> = slots.iter().flat_map(registers).collect();
        let before: Vec<IrValue<'c>> = registers
            .iter()
            .map(|register| self.read(register))
            .collect();
        let old_count = op.result_count();
        let across = self.enter_regions(op, &slots);
        let (op, arguments) = match registers.is_empty() {
            true => (op, Vec::new()),
            false => self.with_more(op, &before),
        };
        for region in 0..op.region_count() {
            // A branch has no arguments.
            let entering = match arguments.chunks(registers.len().max(1)).nth(region) {
                Some(arguments) => arguments,
                None => &before,
            };
            for block in blocks(op, region) {
                self.available = across.inside.clone();
                self.set_registers(&registers, entering.iter().copied());
                self.emitter.enter();
                self.block(block)?;
                self.end_block(block, &registers);
                self.emitter.leave();
                self.end_of_iteration(op, block);
            }
        }
        self.available = across.after;
        let results = (0..registers.len()).map(|index| result_of(op, old_count + index));
        self.set_registers(&registers, results);
        Ok(())
    }

    /// The slots to promote in an operation that writes them: single elements, and accumulators.
    fn promoted(&self, op: IrOp) -> Vec<Slot> {
        let carries = matches!(ScfOp::of(op), Some(ScfOp::For | ScfOp::While | ScfOp::If));
        let Some(inside) = self.accesses.inside(op).filter(|_| carries) else {
            return Vec::new();
        };
        let known = inside
            .written
            .iter()
            .filter(|fragment| !self.accesses.chosen_at_run_time(**fragment));
        let promoted = known.filter_map(|fragment| {
            let slot = self.slots.get(fragment)?;
            let sums = inside.summed.contains(fragment)
                && (slot.elem.bytes() >= REGISTER || self.accesses.is_accumulator(*fragment));
            (!slot.elem.is_packed() && (slot.elems == 1 || sums)).then_some(*slot)
        });
        let mut promoted: Vec<Slot> = promoted.collect();
        promoted.sort_by_key(|slot| slot.base);
        promoted
    }

    /// The operation `of` with a result for each of `more`. A branch that lacks one gets an empty `else`.
    fn with_more(&mut self, of: IrOp<'c>, more: &[IrValue<'c>]) -> (IrOp<'c>, Vec<IrValue<'c>>) {
        let attrs = named_attributes(of);
        let attrs = borrowed(&attrs);
        let (new, arguments) = with_additional_yields(&self.emitter.ir, of, &attrs, more);
        for region in 0..new.region_count() {
            if let Ok(region) = new.region(region)
                && region.first_block().is_none()
            {
                let block = region.append_block(Block::new(&[]));
                // SAFETY: the block lives as long as the kernel that is lowered.
                let block: IrBlock<'c> = unsafe { IrBlock::from_raw(block.to_raw()) };
                let before =
                    std::mem::replace(&mut self.emitter.ir.insertion, Insertion::End(block));
                self.emitter.ir.op(ScfOp::Yield, &[], &[], &[]);
                self.emitter.ir.insertion = before;
            }
        }
        self.unlink(of);
        (new, arguments)
    }

    /// Ends a block: yields the promoted registers and emits the other pending stores.
    fn end_block(&mut self, block: IrBlock<'c>, registers: &[Register]) {
        let Some(end) = operations(block).pop() else {
            return;
        };
        self.emitter.ir.insertion = Insertion::Before(end);
        self.emitter.ir.location = end.location();
        let more: Vec<IrValue<'c>> = registers
            .iter()
            .map(|register| self.read(register))
            .collect();
        for register in registers {
            self.invalidate(register.base);
        }
        self.flush();
        if more.is_empty() {
            return;
        }
        let yielded = operands_of(end);
        let yielded: Vec<IrValue<'c>> = yielded.chain(more).collect();
        let kind = match ScfOp::Condition.is(end) {
            true => ScfOp::Condition,
            false => ScfOp::Yield,
        };
        self.emitter.ir.op(kind, &yielded, &[], &[]);
        self.unlink(end);
    }

    /// Unlinks an operation that another has replaced. It is erased with the lowered ones.
    fn unlink(&mut self, op: IrOp<'c>) {
        // SAFETY: it stands in a block, and is kept until nothing refers to it.
        unsafe { mlir_sys::mlirOperationRemoveFromParent(op.to_raw()) };
        self.dead.push(op);
    }

    /// The value of a register.
    pub(super) fn read(&mut self, register: &Register) -> IrValue<'c> {
        let ty = self.contiguous_type(register.elem, register.elems);
        self.load_slot(register.base, register.start, ty, register.bytes())
    }

    /// Makes these values the available ones of some registers.
    fn set_registers(&mut self, registers: &[Register], values: impl Iterator<Item = IrValue<'c>>) {
        for register in registers {
            self.invalidate(register.base);
        }
        for (register, value) in registers.iter().zip(values) {
            self.store_slot(register.base, register.start, value, register.bytes());
        }
    }
}

/// The registers of a slot: an element each, or as many as fit one.
pub(super) fn registers(slot: &Slot) -> impl Iterator<Item = Register> {
    let Slot { base, elem, elems } = *slot;
    let whole = (REGISTER / elem.bytes().max(1)).max(1);
    let each = if elems % whole == 0 { whole } else { 1 };
    (0..elems / each).map(move |index| Register {
        base,
        start: index * each * elem.bytes(),
        elem,
        elems: each,
    })
}
