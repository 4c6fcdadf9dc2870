//! `setmaxnreg` (PTX ISA 9.7.19.5): the registers of a CTA, which its warpgroups hand to each other.
//!
//! Each warp begins with as many registers a thread as the CTA was compiled for. `dec` puts registers of the warp into the CTA's
//! pool, `inc` takes some and waits until there are enough. How many registers a warp uses is the machine
//! code's business; here only the counts are checked.

use super::cta::Cta;
use super::fault_at;
use super::warp::{Group, Next, Wait, Warp};
use super::{Fault, Launch};
use crate::sim::error::ErrorKind;
use crate::sim::lane::{WARP, WARPGROUP};

/// Registers of an SM.
const REGISTERS: u32 = 1 << 16;
/// Most registers of a thread with `setmaxnreg`; counts are multiples of the unit.
const MOST: u32 = 256;
const UNIT: u32 = 8;

/// The registers of a CTA.
#[derive(Debug, Default)]
pub(crate) struct RegisterPool {
    /// Those that no warp has, of all lanes of a warp together.
    free: u32,
    /// Registers of a thread at the entry.
    entry: u32,
    /// Registers of a thread, by warp.
    counts: Vec<u32>,
    /// The instructions that the warps of each warpgroup have executed, and how many of them each warp has.
    executed: Vec<(Vec<u32>, [usize; WARPGROUP])>,
}

/// Registers of a thread that the kernel has at its entry: as many as its directives allow, since
/// `ptxas` compiles a kernel with `setmaxnreg` for that.
fn at_entry(launch: &Launch<'_>) -> u32 {
    if let Some(registers) = launch.kernel.registers_at_most {
        return registers.min(MOST);
    }
    let threads = launch.kernel.threads_at_most;
    let threads = threads.unwrap_or_else(|| launch.block.iter().product());
    let threads = threads.next_multiple_of(WARP as u32).max(1);
    let ctas = launch.kernel.ctas_at_least.unwrap_or(1).max(1);
    (REGISTERS / threads.saturating_mul(ctas).max(1)).min(MOST) / UNIT * UNIT
}

impl RegisterPool {
    /// All warps of a CTA at its entry.
    pub fn new(launch: &Launch<'_>, warps: usize) -> RegisterPool {
        let entry = at_entry(launch);
        RegisterPool {
            free: 0,
            entry,
            counts: vec![entry; warps],
            executed: vec![Default::default(); warps.div_ceil(WARPGROUP)],
        }
    }

    /// A warp takes or gives registers; whether it has them now.
    fn set(&mut self, warp: usize, count: u32) -> bool {
        let had = self.counts[warp];
        match count.checked_sub(had) {
            Some(more) if more > self.free => return false,
            Some(more) => self.free -= more,
            None => self.free += had - count,
        }
        self.counts[warp] = count;
        true
    }
}

impl Warp {
    /// `setmaxnreg`.
    pub(super) fn set_registers(
        &mut self,
        cta: &mut Cta<'_>,
        count: u32,
        increases: bool,
        mask: u32,
    ) -> Result<Next, Fault> {
        if mask != u32::MAX {
            return Ok(Next::Gather(mask, u32::MAX));
        }
        let warp = self.index as usize;
        let had = cta.register_pool.counts[warp];
        let expected = match increases {
            true if count < had => format!("at least {had}, which its threads have"),
            false if count > had => format!("at most {had}, which its threads have"),
            _ => {
                cta.follow(warp)?;
                cta.warpgroup_news = true;
                if cta.register_pool.set(warp, count) {
                    return Ok(Next::Advance);
                }
                self.wanted_registers = Some(count);
                return Ok(Next::Rest(mask));
            }
        };
        Err(fault_at(0)(ErrorKind::Value {
            what: "registers of setmaxnreg",
            expected,
            found: count.into(),
        }))
    }
}

impl Cta<'_> {
    /// The warps of a warpgroup execute the same `setmaxnreg`, one after another.
    fn follow(&mut self, warp: usize) -> Result<(), Fault> {
        let pc = self.actor.pc;
        let code = &self.launch.kernel.code;
        let (executed, next) = &mut self.register_pool.executed[warp / WARPGROUP];
        let at = next[warp % WARPGROUP];
        let Some(&other) = executed.get(at) else {
            executed.push(pc);
            next[warp % WARPGROUP] += 1;
            return Ok(());
        };
        if other == pc {
            next[warp % WARPGROUP] += 1;
            return Ok(());
        }
        let first = next.iter().position(|&next| next > at).unwrap_or(0);
        let show = |pc: u32| format!("the one at ptx line {}", code[pc as usize].line);
        Err(fault_at(0)(ErrorKind::WarpgroupOperand {
            what: "next setmaxnreg",
            warp: warp as u32,
            expected: show(other),
            other: (warp / WARPGROUP * WARPGROUP + first) as u32,
            found: show(pc),
        }))
    }

    /// A warp has left: it must have executed what the others of its warpgroup have, and they what it has.
    pub(super) fn check_followed(&self, warps: &[Warp], left: u32) -> Result<(), Fault> {
        let group = left as usize / WARPGROUP;
        let Some((executed, next)) = self.register_pool.executed.get(group) else {
            return Ok(());
        };
        let members = warps.iter().skip(group * WARPGROUP).take(WARPGROUP);
        if members.clone().any(|warp| warp.live != 0) {
            return Ok(());
        }
        let mut behind = members
            .zip(next)
            .filter(|(_, next)| **next < executed.len());
        let Some((warp, &next)) = behind.next() else {
            return Ok(());
        };
        let instr = &self.launch.kernel.code[executed[next] as usize];
        let what = format!(
            "warp {} has left without `{}` (ptx line {}), which others of its warpgroup have executed",
            warp.index, instr.text, instr.line
        );
        let kind = ErrorKind::WarpgroupDivergence {
            what,
            waiters: Vec::new(),
        };
        Err(fault_at(0)(kind).at(warp.index, executed[next]))
    }

    /// Warps that wait for registers get them.
    pub(super) fn hand_out_registers(&mut self, warps: &mut [Warp]) {
        for warp in warps {
            if let Some(count) = warp.wanted_registers
                && self.register_pool.set(warp.index as usize, count)
            {
                warp.wanted_registers = None;
                warp.go_on();
            }
        }
    }

    /// Why a warp waits for registers for ever, where one does.
    pub(super) fn exhausted_registers(&self, warps: &[Warp]) -> Option<Fault> {
        let warp = warps.iter().find(|warp| warp.wanted_registers.is_some())?;
        let wanted = warp.wanted_registers?;
        let waits = |group: &&Group| group.wait == Wait::Warpgroup;
        let pc = warp.groups.iter().find(waits).map_or(0, |group| group.pc);
        let pool = &self.register_pool;
        let counts = warps.iter().step_by(WARPGROUP).map(|warp| {
            let count = warp.wanted_registers;
            count
                .unwrap_or(pool.counts[warp.index as usize])
                .to_string()
        });
        let lanes = WARP as u32;
        let kind = ErrorKind::RegisterPool {
            wanted,
            missing: wanted.saturating_sub(pool.counts[warp.index as usize] + pool.free) * lanes,
            entry: pool.entry,
            registers: pool.entry * pool.counts.len() as u32 * lanes,
            counts: counts.collect::<Vec<_>>().join(", "),
        };
        Some(fault_at(0)(kind).at(warp.index, pc))
    }
}
