//! Definite assignment: which registers an instruction may read before anything has written them.
//!
//! Static data flow decides it for nearly all registers: a read is safe where an unguarded write dominates it
//! or writes on all paths do. What is left, as registers that are written under a guard, is
//! [tracked](Tracked) in the run, a bit a lane.

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
    /// Reads it so as a part of a wider register. LLVM leaves out a part of which nothing is used: a register that no instruction writes.
    Part,
    /// Writes it there.
    Write,
}

/// Most steps of the data flow; registers that are left then are tracked.
const MOST_STEPS: usize = 1 << 24;

/// The registers that the instructions of a kernel read and write.
#[derive(Debug, Default)]
pub(crate) struct Registers {
    /// By number; empty where there is none.
    names: Vec<String>,
    uses: Vec<(u32, Role)>,
    /// Where the uses of each instruction end.
    ends: Vec<u32>,
    tracked: OnceLock<Option<Box<Tracked>>>,
}

/// Registers that have to be watched in the run.
#[derive(Debug)]
pub(crate) struct Tracked {
    /// Their names.
    pub names: Vec<String>,
    /// For each instruction where its watched registers begin in `uses`, and at last the end.
    starts: Vec<u32>,
    uses: Vec<(u32, Role)>,
}

impl Tracked {
    /// The watched registers of an instruction, by their place among them; those that it writes last.
    #[inline]
    pub fn uses(&self, pc: u32) -> &[(u32, Role)] {
        let pc = pc as usize;
        &self.uses[self.starts[pc] as usize..self.starts[pc + 1] as usize]
    }
}

impl Registers {
    /// The instruction at hand uses a register.
    pub fn add(&mut self, name: &str, register: RegisterId, role: Role) {
        let number = register.number();
        if self.names.len() <= number {
            self.names.resize(number + 1, String::new());
        }
        if self.names[number].is_empty() {
            name.clone_into(&mut self.names[number]);
        }
        self.uses.push((number as u32, role));
    }

    /// The instruction at hand is complete.
    pub fn end_instruction(&mut self) {
        self.ends.push(self.uses.len() as u32);
    }

    fn of(&self, at: usize) -> &[(u32, Role)] {
        let start = match at {
            0 => 0,
            _ => self.ends[at - 1] as usize,
        };
        &self.uses[start..self.ends[at] as usize]
    }

    /// What has to be watched in a run, worked out when it is first asked for.
    pub fn tracked(&self, code: &[Instr]) -> Option<&Tracked> {
        let tracked = self.tracked.get_or_init(|| {
            let registers = self.maybe_unassigned(code);
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
                let all = all.filter(|(_, role)| (*role == Role::Write) == writes);
                uses.extend(
                    all.filter_map(|&(register, role)| Some((place[register as usize]?, role))),
                );
            }
            starts.push(uses.len() as u32);
        }
        let names = registers
            .iter()
            .map(|&r| self.names[r as usize].clone())
            .collect();
        Tracked {
            names,
            starts,
            uses,
        }
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
        let mut written = vec![false; self.names.len()];
        for (register, _) in self.uses.iter().filter(|(_, role)| *role == Role::Write) {
            written[*register as usize] = true;
        }
        // For each register the blocks that read it before they write it, and those that write it for sure.
        let mut exposed: Vec<Vec<u32>> = vec![Vec::new(); self.names.len()];
        let mut assigned: Vec<Vec<u32>> = vec![Vec::new(); self.names.len()];
        for (block, instructions) in graph.blocks.iter().enumerate() {
            let block = block as u32;
            for at in instructions.clone() {
                let (writes, reads): (Vec<_>, Vec<_>) = self
                    .of(at)
                    .iter()
                    .partition(|(_, role)| *role == Role::Write);
                for (register, role) in reads {
                    let register = register as usize;
                    if role == Role::Part && !written[register] {
                        continue;
                    }
                    let known = assigned[register].last() == Some(&block)
                        || exposed[register].last() == Some(&block);
                    if !known {
                        exposed[register].push(block);
                    }
                }
                if code[at].guard.is_some() {
                    continue;
                }
                for (register, _) in writes {
                    let register = register as usize;
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
