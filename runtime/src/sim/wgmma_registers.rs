//! Registers of D and A of `wgmma`, and of the metadata of a sparse A: which instructions of a kernel use which.
//!
//! They are out of reach while a `wgmma` that uses them is in flight, and a `wgmma.fence` lies between other accesses
//! and the next one (PTX ISA 9.7.15.7.1). `exec/wgmma_registers.rs` checks that in a run.

use std::collections::HashMap;

use super::assignment::{RegisterId, Registers, Tracked};
use super::isa::{Instr, Op, WarpgroupOp, Wgmma, WgmmaA};
use super::lane::Src;

/// The registers, each by its place among them.
#[derive(Debug)]
pub(crate) struct WgmmaRegisters {
    /// Their names, and what every instruction does with them.
    pub tracked: Tracked,
    /// Those of each `wgmma.mma_async`.
    products: HashMap<u32, Product>,
}

/// The registers of a `wgmma.mma_async`.
#[derive(Debug)]
pub(crate) struct Product {
    pub d: Box<[u32]>,
    /// Those of A, where it is in registers, and of its metadata, which an H200 reads while the product is under way.
    pub a: Box<[u32]>,
}

impl WgmmaRegisters {
    /// Those of a kernel, where it has any.
    pub fn new(registers: &Registers, code: &[Instr]) -> Option<WgmmaRegisters> {
        let products = (0..).zip(code).filter_map(|(pc, instr)| match &instr.op {
            Op::Warpgroup(WarpgroupOp::Multiply(wgmma)) => Some((pc, wgmma)),
            _ => None,
        });
        let products: Vec<(u32, &Wgmma)> = products.map(|(pc, wgmma)| (pc, &**wgmma)).collect();
        let number = |slot: u32| RegisterId::Word(slot).number() as u32;
        let all = products.iter().flat_map(|(_, wgmma)| {
            let a = registers_of_a(wgmma);
            wgmma.d.iter().copied().chain(a).map(number)
        });
        let mut all: Vec<u32> = all.collect();
        all.sort_unstable();
        all.dedup();
        if all.is_empty() {
            return None;
        }
        let places = |slots: &mut dyn Iterator<Item = u32>| -> Box<[u32]> {
            let places = slots.map(|slot| all.binary_search(&number(slot)));
            places.flatten().map(|place| place as u32).collect()
        };
        let products = products.into_iter().map(|(pc, wgmma)| {
            let d = places(&mut wgmma.d.iter().copied());
            let a = places(&mut registers_of_a(wgmma));
            (pc, Product { d, a })
        });
        Some(WgmmaRegisters {
            products: products.collect(),
            tracked: registers.track(code.len(), &all),
        })
    }

    /// The registers of a `wgmma.mma_async`; nothing for other instructions.
    pub fn product(&self, pc: u32) -> Option<&Product> {
        self.products.get(&pc)
    }
}

fn registers_of_a(wgmma: &Wgmma) -> impl Iterator<Item = u32> {
    let slots: &[u32] = match &wgmma.a {
        WgmmaA::Shared(_) => &[],
        WgmmaA::Registers(slots) => slots,
    };
    let metadata = wgmma.sparse.and_then(|sparse| match sparse.metadata {
        Src::Word(slot) => Some(slot),
        Src::Wide(_) | Src::Imm(_) | Src::Special(_) | Src::Variable(..) => None,
    });
    slots.iter().copied().chain(metadata)
}
