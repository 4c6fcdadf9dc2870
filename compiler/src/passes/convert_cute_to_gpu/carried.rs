//! Variables and sums as values: a fragment of one element, and what a gemm adds to, goes into and out of loops
//! and branches register by register.
//!
//! In memory, each would be stored before the loop, loaded and stored in each round and loaded behind it, for
//! LLVM to find out that it is a register; and what is loaded in vectors behind the loop LLVM carries as vectors,
//! which it takes apart in each round.
use super::super::carry::carrying;
use super::super::walk::{blocks, name_of, operand_value, operations};
use super::Lowering;
use super::split::named_attributes;
use crate::passes::Reported;
use cutec_dialects::builder::{Insertion, IrBlock, IrOp, IrValue, result_of};
use cutec_dialects::elem::Elem;
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
struct Register {
    base: usize,
    start: i64,
    elem: Elem,
}

impl<'c> Lowering<'c> {
    /// Lowers what is inside an operation.
    pub(super) fn regions(&mut self, op: IrOp<'c>) -> Result<(), Reported> {
        let slots = self.carried(op);
        let registers: Vec<Register> = slots.iter().flat_map(registers).collect();
        let before: Vec<IrValue<'c>> = registers
            .iter()
            .map(|register| self.read(register))
            .collect();
        let old_count = op.result_count();
        let known = self.enter_regions(op, &slots);
        let (op, arguments) = match registers.is_empty() {
            true => (op, Vec::new()),
            false => self.with_more(op, &before),
        };
        // A branch has no arguments.
        let entering = if arguments.is_empty() {
            &before
        } else {
            &arguments
        };
        for region in 0..op.region_count() {
            for block in blocks(op, region) {
                self.cells = known.inside.clone();
                self.hold(&registers, entering.iter().copied());
                self.emitter.enter();
                self.block(block)?;
                self.end_block(block, &registers);
                self.emitter.leave();
                self.end_of_iteration(op, block);
            }
        }
        self.cells = known.behind;
        let results = (0..registers.len()).map(|index| result_of(op, old_count + index));
        self.hold(&registers, results);
        Ok(())
    }

    /// The slots that an operation writes and carries: single elements, and sums.
    fn carried(&self, op: IrOp) -> Vec<Slot> {
        let carries = ["scf.for", "scf.if"].contains(&name_of(op).as_str());
        let Some(inside) = self.accesses.inside(op).filter(|_| carries) else {
            return Vec::new();
        };
        let known = inside
            .written
            .iter()
            .filter(|fragment| !self.accesses.chosen_at_run_time(**fragment));
        let carried = known.filter_map(|fragment| {
            let slot = self.slots.get(fragment)?;
            let sums = inside.summed.contains(fragment) && slot.elem.bytes() >= REGISTER;
            (!slot.elem.is_packed() && (slot.elems == 1 || sums)).then_some(*slot)
        });
        let mut carried: Vec<Slot> = carried.collect();
        carried.sort_by_key(|slot| slot.base);
        carried
    }

    /// The operation `of` with results for what it carries more; each way through it has an end.
    fn with_more(&mut self, of: IrOp<'c>, more: &[IrValue<'c>]) -> (IrOp<'c>, Vec<IrValue<'c>>) {
        let attrs = named_attributes(of);
        let attrs: Vec<_> = attrs
            .iter()
            .map(|(name, attr)| (name.as_str(), *attr))
            .collect();
        let (new, arguments) = carrying(&self.emitter.ir, of, &attrs, more);
        for region in 0..new.region_count() {
            if let Ok(region) = new.region(region)
                && region.first_block().is_none()
            {
                let block = region.append_block(Block::new(&[]));
                // SAFETY: the block lives as long as the kernel that is lowered.
                let block: IrBlock<'c> = unsafe { IrBlock::from_raw(block.to_raw()) };
                let before =
                    std::mem::replace(&mut self.emitter.ir.insertion, Insertion::End(block));
                self.emitter.ir.op("scf.yield", &[], &[], &[]);
                self.emitter.ir.insertion = before;
            }
        }
        self.bury(of);
        (new, arguments)
    }

    /// Ends a block: what it carries is yielded, what else is to be written in it is written.
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
            self.forget(register.base);
        }
        self.settle();
        if more.is_empty() {
            return;
        }
        let yielded = (0..end.operand_count()).filter_map(|index| operand_value(end, index));
        let yielded: Vec<IrValue<'c>> = yielded.chain(more).collect();
        self.emitter.ir.op(&name_of(end), &yielded, &[], &[]);
        self.bury(end);
    }

    /// Takes an operation that another has replaced out of its block, to be erased with what has been lowered.
    fn bury(&mut self, op: IrOp<'c>) {
        // SAFETY: it stands in a block, and is kept until nothing refers to it.
        unsafe { mlir_sys::mlirOperationRemoveFromParent(op.to_raw()) };
        self.dead.push(op);
    }

    /// What a register holds.
    fn read(&mut self, register: &Register) -> IrValue<'c> {
        let ty = self.contiguous_type(register.elem, 1);
        self.load_cell(register.base, register.start, ty, register.elem.bytes())
    }

    /// From here on the slots of some registers hold these values.
    fn hold(&mut self, registers: &[Register], values: impl Iterator<Item = IrValue<'c>>) {
        for register in registers {
            self.forget(register.base);
        }
        for (register, value) in registers.iter().zip(values) {
            self.store_cell(register.base, register.start, value, register.elem.bytes());
        }
    }
}

fn registers(slot: &Slot) -> impl Iterator<Item = Register> {
    let Slot { base, elem, elems } = *slot;
    (0..elems).map(move |index| Register {
        base,
        start: index * elem.bytes(),
        elem,
    })
}
