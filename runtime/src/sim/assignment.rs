//! Definite assignment: which registers an instruction may read before anything has written them.
//!
//! Static data flow decides it for nearly all registers: a read is safe where an unguarded write dominates it
//! or writes on all paths do. What is left, as registers that are written under a guard, and what moves of
//! their bits may reach, is [tracked](Tracked) in the run, bit by bit.

use std::sync::OnceLock;

use super::flow::Graph;
use super::isa::Instr;

/// A register by its file and its slot there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RegisterId {
    Word(u32),
    Wide(u32),
    Pred(u32),
}

impl RegisterId {
    /// The register of a [`number`](RegisterId::number).
    fn of_number(number: u32) -> RegisterId {
        let slot = number / 3;
        match number % 3 {
            0 => RegisterId::Word(slot),
            1 => RegisterId::Wide(slot),
            _ => RegisterId::Pred(slot),
        }
    }

    /// A number for each register, dense as slots are.
    pub fn number(self) -> usize {
        let (slot, file) = match self {
            RegisterId::Word(slot) => (slot, 0),
            RegisterId::Wide(slot) => (slot, 1),
            RegisterId::Pred(slot) => (slot, 2),
        };
        3 * slot as usize + file
    }
}

/// What an instruction does with a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is its guard, which all lanes read.
    Guard,
    /// Reads it, in the lanes where the guard holds.
    Read,
    /// Passes its bits on there: each bit of the result depends on one bit of it at most.
    Bits,
    /// Computes there with its elements, each for itself.
    Elements(Elements),
    /// Writes it there.
    Write,
}

impl Role {
    /// Whether undefined bits of the register become such bits of the result, and are not used.
    pub fn passes(self) -> bool {
        match self {
            Role::Bits | Role::Elements(_) => true,
            Role::Guard | Role::Read | Role::Write => false,
        }
    }
}

/// The elements of a packed operand, and where those of the result are that are computed from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Elements {
    /// Bits of one in the operand.
    pub bits: u32,
    /// Bits of one in the result.
    pub result_bits: u32,
    /// The bit of the result where the first one is.
    pub at: u32,
}

/// A use of a register by an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RegisterUse {
    /// The register, by its number or by its place among those that are tracked.
    pub register: u32,
    pub role: Role,
    /// How many of its low bits take part.
    pub bits: u32,
}

/// Most steps of the data flow; registers that are left then are tracked.
const MOST_STEPS: usize = 1 << 24;

/// The registers that the instructions of a kernel read and write.
#[derive(Debug, Default)]
pub(crate) struct Registers {
    /// By number; empty where there is none.
    names: Vec<String>,
    uses: Vec<RegisterUse>,
    /// Where the uses of each instruction end.
    ends: Vec<u32>,
    tracked: OnceLock<Option<Box<Tracked>>>,
}

/// Registers that have to be watched in the run.
#[derive(Debug)]
pub(crate) struct Tracked {
    pub registers: Vec<RegisterId>,
    /// Their names.
    pub names: Vec<String>,
    /// For each instruction where its watched registers begin in `uses`, and at last the end.
    starts: Vec<u32>,
    uses: Vec<RegisterUse>,
}

impl Tracked {
    /// The watched registers of an instruction, by their place among them; those that it writes last.
    #[inline]
    pub fn uses(&self, pc: u32) -> &[RegisterUse] {
        let pc = pc as usize;
        &self.uses[self.starts[pc] as usize..self.starts[pc + 1] as usize]
    }
}

impl Registers {
    /// The instruction at hand uses so many low bits of a register.
    pub fn add(&mut self, name: &str, register: RegisterId, role: Role, bits: u32) {
        let number = register.number();
        if self.names.len() <= number {
            self.names.resize(number + 1, String::new());
        }
        if self.names[number].is_empty() {
            name.clone_into(&mut self.names[number]);
        }
        self.uses.push(RegisterUse {
            register: number as u32,
            role,
            bits,
        });
    }

    /// The instruction at hand is complete.
    pub fn end_instruction(&mut self) {
        self.ends.push(self.uses.len() as u32);
    }

    fn of(&self, at: usize) -> &[RegisterUse] {
        let start = match at {
            0 => 0,
            _ => self.ends[at - 1] as usize,
        };
        &self.uses[start..self.ends[at] as usize]
    }

    /// What has to be watched in a run, worked out when it is first asked for.
    pub fn tracked(&self, code: &[Instr]) -> Option<&Tracked> {
        let tracked = self.tracked.get_or_init(|| {
            let registers = self.reached(self.maybe_unassigned(code), code.len());
            (!registers.is_empty()).then(|| Box::new(self.track(code.len(), &registers)))
        });
        tracked.as_deref()
    }

    /// Where instructions use registers, given by number.
    pub fn track(&self, instructions: usize, registers: &[u32]) -> Tracked {
        let mut place = vec![None; self.names.len()];
        for (index, &register) in registers.iter().enumerate() {
            place[register as usize] = Some(index as u32);
        }
        let (mut starts, mut uses) = (vec![0], Vec::new());
        for at in 0..instructions {
            for writes in [false, true] {
                let all = self.of(at).iter();
                let all = all.filter(|used| (used.role == Role::Write) == writes);
                uses.extend(all.filter_map(|&used| {
                    Some(RegisterUse {
                        register: place[used.register as usize]?,
                        ..used
                    })
                }));
            }
            starts.push(uses.len() as u32);
        }
        let names = registers
            .iter()
            .map(|&r| self.names[r as usize].clone())
            .collect();
        Tracked {
            registers: registers
                .iter()
                .map(|&r| RegisterId::of_number(r))
                .collect(),
            names,
            starts,
            uses,
        }
    }

    /// Registers, and those to which instructions pass their bits.
    fn reached(&self, mut registers: Vec<u32>, instructions: usize) -> Vec<u32> {
        let mut is_reached = vec![false; self.names.len()];
        registers
            .iter()
            .for_each(|&register| is_reached[register as usize] = true);
        let mut before = 0;
        while before < registers.len() {
            before = registers.len();
            for at in 0..instructions {
                let uses = self.of(at);
                let passes =
                    |used: &RegisterUse| used.role.passes() && is_reached[used.register as usize];
                if !uses.iter().any(passes) {
                    continue;
                }
                for written in uses.iter().filter(|used| used.role == Role::Write) {
                    let known = &mut is_reached[written.register as usize];
                    if !std::mem::replace(known, true) {
                        registers.push(written.register);
                    }
                }
            }
        }
        registers
    }

    /// Registers that some path from the entry reads before it writes them.
    fn maybe_unassigned(&self, code: &[Instr]) -> Vec<u32> {
        let graph = Graph::new(code);
        let mut predecessors = vec![Vec::new(); graph.blocks.len()];
        for (block, successors) in graph.successors.iter().enumerate() {
            for &successor in successors {
                predecessors[successor].push(block as u32);
            }
        }
        // For each register the blocks that read it before they write it, and those that write it for sure.
        let mut exposed: Vec<Vec<u32>> = vec![Vec::new(); self.names.len()];
        let mut assigned: Vec<Vec<u32>> = vec![Vec::new(); self.names.len()];
        for (block, instructions) in graph.blocks.iter().enumerate() {
            let block = block as u32;
            for at in instructions.clone() {
                let (writes, reads): (Vec<RegisterUse>, Vec<_>) = self
                    .of(at)
                    .iter()
                    .partition(|used| used.role == Role::Write);
                for read in reads {
                    let register = read.register as usize;
                    let known = assigned[register].last() == Some(&block)
                        || exposed[register].last() == Some(&block);
                    if !known {
                        exposed[register].push(block);
                    }
                }
                if code[at].guard.is_some() {
                    continue;
                }
                for write in writes {
                    let register = write.register as usize;
                    if assigned[register].last() != Some(&block) {
                        assigned[register].push(block);
                    }
                }
            }
        }
        // Backwards from the reads, up to the writes.
        let mut stamps = vec![u32::MAX; graph.blocks.len()];
        let mut steps = 0;
        let mut found = Vec::new();
        for register in 0..self.names.len() {
            let mut open = std::mem::take(&mut exposed[register]);
            if open.is_empty() {
                continue;
            }
            let stamp = register as u32;
            let mut reaches = open.contains(&0) || steps > MOST_STEPS;
            if !reaches {
                for &block in &assigned[register] {
                    stamps[block as usize] = stamp;
                }
            }
            while let (false, Some(block)) = (reaches, open.pop()) {
                for &before in &predecessors[block as usize] {
                    steps += 1;
                    if std::mem::replace(&mut stamps[before as usize], stamp) != stamp {
                        reaches |= before == 0;
                        open.push(before);
                    }
                }
            }
            if reaches {
                found.push(stamp);
            }
        }
        found
    }
}
