//! The rules for registers of `wgmma` in a run (PTX ISA 9.7.15.7.1, 9.7.15.7.3), for each warp:
//!
//! - What a `wgmma` in flight uses is neither read nor written, but as the same elements of D by another one of the same shape.
//! - Between other accesses and the next `wgmma` that uses a register lies a `wgmma.fence`, and one before the first;
//!   this is checked with the races, since a product here is the same without.

use super::cta::Cta;
use super::warp::Warp;
use super::{Fault, fault_at};
use crate::sim::assignment::{RegisterUse, Role};
use crate::sim::error::{Access, Act, ErrorKind, Party};
use crate::sim::isa::{MmaAccumulator, Op, WarpgroupOp};
use crate::sim::lane::WARP;
use crate::sim::wgmma_registers::WgmmaRegisters;

/// What a warp did with the registers.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    /// `wgmma.fence` that it has executed.
    fences: u32,
    /// Products that it has issued.
    issued: u64,
    /// Products that it has waited for.
    pub waited: u64,
    /// By register.
    products: Vec<Option<ByProduct>>,
    /// By register: what else has accessed it last.
    others: Vec<Option<ByOther>>,
}

/// The last use of a register by a `wgmma`.
#[derive(Debug, Clone, Copy)]
struct ByProduct {
    pc: u32,
    /// How many products were issued before.
    number: u64,
    fences: u32,
    /// What it holds, if it is one of D.
    accumulator: Option<Accumulator>,
}

/// What a register of D holds: elements by its place in a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Accumulator {
    n: usize,
    ty: MmaAccumulator,
    place: usize,
}

/// The last access to a register by another instruction.
#[derive(Debug, Clone, Copy)]
struct ByOther {
    pc: u32,
    fences: u32,
    access: Access,
}

impl Uses {
    pub fn clear(&mut self) {
        *self = Uses::default();
    }

    /// `wgmma.fence`.
    pub fn fence(&mut self) {
        self.fences += 1;
    }

    fn in_flight(&self, register: u32) -> Option<ByProduct> {
        let product = self.products.get(register as usize).copied().flatten()?;
        (product.number >= self.waited).then_some(product)
    }
}

fn act(access: Access) -> Act {
    match access {
        Access::Read => Act::Read,
        Access::Write => Act::Write,
    }
}

impl Warp {
    /// The instruction at hand accesses its registers.
    #[inline]
    pub(super) fn check_wgmma_registers(
        &mut self,
        cta: &mut Cta<'_>,
        registers: &WgmmaRegisters,
    ) -> Result<(), Fault> {
        let pc = cta.actor.pc;
        match registers.tracked.uses(pc) {
            [] => Ok(()),
            uses => match registers.product(pc) {
                None => self.access(cta, registers, uses),
                Some(_) => self.use_in_product(cta, registers),
            },
        }
    }

    fn access(
        &mut self,
        cta: &Cta<'_>,
        registers: &WgmmaRegisters,
        uses: &[RegisterUse],
    ) -> Result<(), Fault> {
        let count = registers.tracked.names.len();
        self.wgmma_uses.others.resize(count, None);
        for &RegisterUse { register, role, .. } in uses {
            let access = match role {
                Role::Guard | Role::Read | Role::Bits | Role::Elements(_) => Access::Read,
                Role::Write => Access::Write,
            };
            if let Some(product) = self.wgmma_uses.in_flight(register) {
                return Err(self.in_flight_fault(cta, registers, register, access, product));
            }
            self.wgmma_uses.others[register as usize] = Some(ByOther {
                pc: cta.actor.pc,
                fences: self.wgmma_uses.fences,
                access,
            });
        }
        Ok(())
    }

    #[cold]
    fn in_flight_fault(
        &self,
        cta: &Cta<'_>,
        registers: &WgmmaRegisters,
        register: u32,
        access: Access,
        product: ByProduct,
    ) -> Fault {
        fault_at(0)(ErrorKind::RegisterInFlight {
            access,
            register: registers.tracked.names[register as usize].clone(),
            accumulator: product.accumulator.is_some(),
            multiply: self.own(cta, Act::Multiply, product.pc),
        })
    }

    /// An instruction of the warp, as reports name it.
    fn own(&self, cta: &Cta<'_>, act: Act, pc: u32) -> Box<Party> {
        Box::new(cta.party(act, cta.number, self.index * WARP as u32, pc))
    }

    fn use_in_product(
        &mut self,
        cta: &mut Cta<'_>,
        registers: &WgmmaRegisters,
    ) -> Result<(), Fault> {
        let pc = cta.actor.pc;
        let (Some(product), Op::Warpgroup(WarpgroupOp::Multiply(wgmma))) = (
            registers.product(pc),
            &cta.launch.kernel.code[pc as usize].op,
        ) else {
            return Ok(());
        };
        // Without a fence the product is the same here: that is for the check of what is ordered.
        let checked = cta.races.is_some();
        if checked && let Err((fault, cause)) = self.check_fence(cta, registers, pc) {
            cta.report(fault.at(self.index, pc), cause);
        }
        self.wgmma_uses
            .products
            .resize(registers.tracked.names.len(), None);
        let (fences, number) = (self.wgmma_uses.fences, self.wgmma_uses.issued);
        let by = |accumulator| ByProduct {
            pc,
            number,
            fences,
            accumulator,
        };
        for &register in &product.a {
            if let Some(other) = self.wgmma_uses.in_flight(register)
                && other.accumulator.is_some()
            {
                return Err(self.in_flight_fault(cta, registers, register, Access::Read, other));
            }
            self.wgmma_uses.products[register as usize] = Some(by(None));
        }
        for (place, &register) in product.d.iter().enumerate() {
            let accumulator = Some(Accumulator {
                n: wgmma.n,
                ty: wgmma.accumulate,
                place,
            });
            let other = self.wgmma_uses.products[register as usize];
            if let Some(other) = other.filter(|other| other.accumulator != accumulator) {
                if other.accumulator.is_none() && other.number >= self.wgmma_uses.waited {
                    return Err(self.in_flight_fault(
                        cta,
                        registers,
                        register,
                        Access::Write,
                        other,
                    ));
                }
                if checked && other.accumulator.is_some() && other.fences == fences {
                    let access = self.own(cta, Act::Multiply, other.pc);
                    return Err(missing_fence(registers, register, access));
                }
            }
            self.wgmma_uses.products[register as usize] = Some(by(accumulator));
        }
        self.wgmma_uses.issued += 1;
        Ok(())
    }

    /// There must be a fence after what others did with the registers of a product; where there is none, the error and
    /// the instruction that did it.
    fn check_fence(
        &self,
        cta: &Cta<'_>,
        registers: &WgmmaRegisters,
        pc: u32,
    ) -> Result<(), (Fault, u32)> {
        let Uses { fences, others, .. } = &self.wgmma_uses;
        if *fences == 0 {
            let kind = ErrorKind::MissingWgmmaFence {
                register: None,
                access: None,
            };
            // One report for all products of the kernel.
            return Err((fault_at(0)(kind), 0));
        }
        let Some(product) = registers.product(pc) else {
            return Ok(());
        };
        for &register in product.a.iter().chain(&product.d) {
            let other = others.get(register as usize).copied().flatten();
            if let Some(other) = other.filter(|other| other.fences == *fences) {
                let access = self.own(cta, act(other.access), other.pc);
                return Err((missing_fence(registers, register, access), other.pc));
            }
        }
        Ok(())
    }
}

#[cold]
fn missing_fence(registers: &WgmmaRegisters, register: u32, access: Box<Party>) -> Fault {
    fault_at(0)(ErrorKind::MissingWgmmaFence {
        register: Some(registers.tracked.names[register as usize].clone()),
        access: Some(access),
    })
}
