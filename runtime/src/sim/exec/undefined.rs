//! Bits of registers that nothing has written, for each lane.
//!
//! They are no mistake as long as instructions pass them on, and are reported where one uses them: in an address, a
//! condition, arithmetic, a store. Which operands an instruction passes on its decoding says, as [`Role`].
//!
//! Where each bit of a result depends on one bit of each operand at most, the instruction itself tells which bits of its
//! result are undefined: it runs with the undefined bits of each operand as zeros and as ones, and a bit of the result that
//! differs is one of them. So a mask of zeros defines what is under it, and a byte that `bfi` replaces is defined.

use super::Fault;
use super::schedule::Schedule;
use super::warp::{Group, Warp};
use crate::sim::assignment::{Elements, RegisterId, RegisterUse, Role, Tracked};
use crate::sim::error::{ErrorKind, Origin};
use crate::sim::isa::{Collective, Instr, Op};
use crate::sim::lane::{LaneFn, Registers, WARP, Wides, lanes};

/// Of each tracked register, by its place among them.
#[derive(Debug, Default)]
pub(crate) struct Undefined {
    /// Lanes in which it has such bits.
    lanes: Vec<u32>,
    /// Those bits, in these lanes.
    bits: Vec<Wides>,
    /// The register that they come from, which nothing has written.
    origins: Vec<u32>,
}

impl Undefined {
    /// At the start of a kernel nothing is written.
    pub fn clear(&mut self) {
        self.lanes.clear();
        self.bits.clear();
        self.origins.clear();
    }

    #[inline]
    fn prepare(&mut self, registers: usize) {
        if self.lanes.len() != registers {
            self.lanes.resize(registers, u32::MAX);
            self.bits.resize(registers, [u64::MAX; WARP]);
            self.origins = (0..registers as u32).collect();
        }
    }

    /// What a use of a register in some lanes finds undefined.
    fn found(&self, used: &RegisterUse, mask: u32) -> Wides {
        let place = used.register as usize;
        let mut found = [0; WARP];
        for lane in lanes(mask & self.lanes[place]) {
            found[lane] = self.bits[place][lane] & ones(used.bits);
        }
        found
    }

    /// The lanes of some in which all of a register is undefined.
    fn whole(&self, used: &RegisterUse, mask: u32) -> u32 {
        let all = ones(used.bits);
        let bits = &self.bits[used.register as usize];
        lanes(mask)
            .filter(|&lane| bits[lane] & all == all)
            .fold(0, |whole, lane| whole | 1 << lane)
    }

    /// A register has got these undefined bits in some lanes, from another one.
    fn set(&mut self, used: &RegisterUse, mask: u32, undefined: &Wides, origin: u32) {
        let place = used.register as usize;
        self.lanes[place] &= !mask;
        for lane in lanes(mask) {
            let bits = undefined[lane] & ones(used.bits);
            if bits != 0 {
                self.lanes[place] |= 1 << lane;
                self.bits[place][lane] = bits;
                self.origins[place] = origin;
            }
        }
    }
}

/// So many low bits.
fn ones(bits: u32) -> u64 {
    match bits {
        64.. => u64::MAX,
        _ => (1 << bits) - 1,
    }
}

impl Warp {
    /// What an instruction uses must have been written; `mask` are the lanes where its guard holds.
    #[inline]
    pub(super) fn check_defined(
        &mut self,
        tracked: &Tracked,
        instr: &Instr,
        group: Group,
        mask: u32,
    ) -> Result<(), Fault> {
        match tracked.uses(group.pc) {
            [] => Ok(()),
            uses => self.check_uses(tracked, uses, instr, group, mask),
        }
    }

    fn check_uses(
        &mut self,
        tracked: &Tracked,
        uses: &[RegisterUse],
        instr: &Instr,
        group: Group,
        mask: u32,
    ) -> Result<(), Fault> {
        self.undefined.prepare(tracked.names.len());
        let mut passed = 0;
        for used in uses {
            let undefined = self.undefined.lanes[used.register as usize];
            let reading = match used.role {
                Role::Guard => undefined & group.mask,
                Role::Read => undefined & mask,
                // To other lanes and to memory a part of a register goes; all of it is a mistake.
                Role::Bits if !matches!(instr.op, Op::Lanes { .. }) => {
                    passed |= undefined & mask;
                    self.undefined.whole(used, undefined & mask)
                }
                Role::Bits | Role::Elements(_) => {
                    passed |= undefined & mask;
                    continue;
                }
                // These stand last. A shuffle passes on what other lanes have, when all are there.
                Role::Write if matches!(instr.op, Op::Collective { .. }) && passed != 0 => continue,
                Role::Write => {
                    if passed == 0 {
                        self.undefined.lanes[used.register as usize] &= !mask;
                    }
                    continue;
                }
            };
            if reading != 0 {
                self.check_use(tracked, used, reading)?;
            }
        }
        match &instr.op {
            Op::Lanes { f, .. } if passed != 0 => self.pass(tracked, uses, f, mask, passed),
            _ => {}
        }
        Ok(())
    }

    /// The bits of a register that are used must be defined in some lanes.
    #[cold]
    fn check_use(&self, tracked: &Tracked, used: &RegisterUse, mask: u32) -> Result<(), Fault> {
        let found = self.undefined.found(used, mask);
        let Some(lane) = found.iter().position(|&bits| bits != 0) else {
            return Ok(());
        };
        let origin = self.undefined.origins[used.register as usize];
        let origin = (origin != used.register).then(|| Origin {
            register: tracked.names[origin as usize].clone(),
            first: found[lane].trailing_zeros(),
            last: u64::BITS - 1 - found[lane].leading_zeros(),
        });
        let kind = ErrorKind::UnassignedRegister {
            register: tracked.names[used.register as usize].clone(),
            origin,
        };
        Err(Fault::new(kind, lane as u32))
    }

    /// Before an instruction of each lane runs: which bits of its results are undefined. Some lanes have such bits in its
    /// operands; what it writes to the registers there it will write over.
    #[cold]
    fn pass(
        &mut self,
        tracked: &Tracked,
        uses: &[RegisterUse],
        f: &LaneFn,
        mask: u32,
        passed: u32,
    ) {
        let results: Vec<&RegisterUse> = uses.iter().filter(|u| u.role == Role::Write).collect();
        let mut undefined = vec![[0; WARP]; results.len()];
        let mut operands: Vec<(RegisterId, Wides)> = Vec::new();
        let mut origin = None;
        for used in uses.iter().filter(|used| used.role.passes()) {
            let found = self.undefined.found(used, passed);
            if found.iter().all(|&bits| bits == 0) {
                continue;
            }
            origin = origin.or(Some(self.undefined.origins[used.register as usize]));
            match used.role {
                Role::Elements(elements) => {
                    for bits in &mut undefined {
                        (0..WARP).for_each(|lane| bits[lane] |= results_of(elements, found[lane]));
                    }
                }
                Role::Bits => {
                    let id = tracked.registers[used.register as usize];
                    match operands.iter_mut().find(|(other, _)| *other == id) {
                        Some((_, bits)) => (0..WARP).for_each(|lane| bits[lane] |= found[lane]),
                        None => operands.push((id, found)),
                    }
                }
                Role::Guard | Role::Read | Role::Write => {}
            }
        }
        let ids = results
            .iter()
            .map(|used| tracked.registers[used.register as usize]);
        let ids: Vec<RegisterId> = ids.collect();
        differences(
            &mut self.registers,
            f,
            passed,
            &operands,
            &ids,
            &mut undefined,
        );
        for (used, bits) in results.into_iter().zip(&undefined) {
            self.undefined
                .set(used, mask, bits, origin.unwrap_or(used.register));
        }
    }

    /// Before lanes shuffle: which bits of what they get are undefined.
    pub(super) fn shuffle_undefined(
        &mut self,
        tracked: &Tracked,
        schedule: &Schedule,
        shuffle: Collective,
        pc: u32,
        set: u32,
    ) {
        let uses = tracked.uses(pc);
        let Some(read) = uses.iter().find(|used| used.role.passes()) else {
            return;
        };
        if self.undefined.lanes[read.register as usize] & set == 0 {
            for used in uses.iter().filter(|used| used.role == Role::Write) {
                self.undefined.lanes[used.register as usize] &= !set;
            }
            return;
        }
        let found = self.undefined.found(read, set);
        let id = tracked.registers[read.register as usize];
        let values = read_register(&self.registers, id);
        write_register(&mut self.registers, id, &found);
        let origin = self.undefined.origins[read.register as usize];
        self.collective(schedule, shuffle, set);
        for used in uses.iter().filter(|used| used.role == Role::Write) {
            let undefined = match tracked.registers[used.register as usize] {
                // Whether the lane that it reads is in range.
                RegisterId::Pred(_) => [0; WARP],
                id => read_register(&self.registers, id),
            };
            self.undefined.set(used, set, &undefined, origin);
        }
        write_register(&mut self.registers, id, &values);
    }
}

/// The undefined bits of results that are computed from elements with undefined bits.
fn results_of(elements: Elements, undefined: u64) -> u64 {
    let count = u64::BITS / elements.bits;
    let is_undefined = |&i: &u32| undefined >> (i * elements.bits) & ones(elements.bits) != 0;
    (0..count).filter(is_undefined).fold(0, |bits, i| {
        bits | ones(elements.result_bits) << (elements.at + i * elements.result_bits)
    })
}

/// Adds the bits of results that differ when bits of operands are zeros and ones, in some lanes. The operands are as before
/// afterwards.
fn differences(
    registers: &mut Registers,
    f: &LaneFn,
    mask: u32,
    operands: &[(RegisterId, Wides)],
    results: &[RegisterId],
    undefined: &mut [Wides],
) {
    let values: Vec<Wides> = operands
        .iter()
        .map(|&(id, _)| read_register(registers, id))
        .collect();
    let mut first = Vec::new();
    for choice in 0..1u32 << operands.len() {
        for (i, ((id, bits), value)) in operands.iter().zip(&values).enumerate() {
            let filled = std::array::from_fn(|lane| match choice >> i & 1 {
                0 => value[lane] & !bits[lane],
                _ => value[lane] | bits[lane],
            });
            write_register(registers, *id, &filled);
        }
        f(registers, mask);
        let found: Vec<Wides> = results
            .iter()
            .map(|&id| read_register(registers, id))
            .collect();
        match choice {
            0 => first = found,
            _ => {
                for ((bits, found), first) in undefined.iter_mut().zip(&found).zip(&first) {
                    for lane in lanes(mask) {
                        bits[lane] |= found[lane] ^ first[lane];
                    }
                }
            }
        }
    }
    for (&(id, _), value) in operands.iter().zip(&values) {
        write_register(registers, id, value);
    }
}

fn read_register(registers: &Registers, id: RegisterId) -> Wides {
    match id {
        RegisterId::Word(slot) => registers.words[slot as usize].map(u64::from),
        RegisterId::Wide(slot) => registers.wides[slot as usize],
        RegisterId::Pred(slot) => {
            let pred = registers.preds[slot as usize];
            std::array::from_fn(|lane| u64::from(pred >> lane & 1))
        }
    }
}

fn write_register(registers: &mut Registers, id: RegisterId, values: &Wides) {
    match id {
        RegisterId::Word(slot) => registers.words[slot as usize] = values.map(|v| v as u32),
        RegisterId::Wide(slot) => registers.wides[slot as usize] = *values,
        RegisterId::Pred(slot) => {
            registers.preds[slot as usize] =
                (0..WARP).fold(0, |pred, lane| pred | (values[lane] as u32 & 1) << lane);
        }
    }
}
