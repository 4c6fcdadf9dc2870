//! Warpgroups: `wgmma` and how its operations complete (PTX ISA 9.7.15).
//!
//! A warpgroup is four warps, the first of which has a multiple of four as its number. Each of them executes
//! each `wgmma`, at a time of its own; when the last has, the multiplication is under way, and takes place as a
//! whole at some moment until a warp has waited for it ([`super::schedule`]), those of a warpgroup in order.
//! Then it reads its operands and D from shared memory and the registers of the four warps. So a
//! wait by one warp waits for what the other three have yet to issue, and tells that shared memory was read for
//! all four.
//!
//! Each warp commits to groups of its own; that all four execute the same instructions is checked operation by
//! operation.

use std::collections::VecDeque;

use super::cta::Cta;
use super::descriptor::Matrix;
use super::warp::{Group, Next, Wait, Warp};
use super::{Fault, fault_at};
use crate::sim::error::ErrorKind;
use crate::sim::isa::{Op, WarpgroupOp, Wgmma, WgmmaA};
use crate::sim::lane::{Src, Wides, lanes};

/// Warps of a warpgroup.
pub(super) const WARPS: usize = 4;
/// Rows of A and D of a warp.
const ROWS: usize = 16;

/// Operations of a warpgroup that have not taken place, and how far its warps are.
#[derive(Debug, Default)]
pub(crate) struct Warpgroup {
    /// The oldest first.
    operations: VecDeque<Multiplication>,
    /// How many have taken place before.
    done: u64,
    members: [Member; WARPS],
}

/// What a warp has done in its warpgroup.
#[derive(Debug, Default)]
struct Member {
    /// Multiplications that it has issued.
    issued: u64,
    /// How many it had issued when it committed each of its groups that it has not waited for.
    groups: VecDeque<u64>,
    /// It waits until so many have taken place.
    awaited: Option<u64>,
}

/// A multiplication that at least one warp has issued.
#[derive(Debug)]
struct Multiplication {
    pc: u32,
    operands: Operands,
    /// Warps that have issued it.
    issued: u8,
}

/// What is the same in all threads of a warpgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Operands {
    /// Of A, where it is in shared memory.
    a: Option<u64>,
    b: u64,
    /// Whether D is added.
    scale_d: bool,
}

impl Multiplication {
    fn is_issued(&self) -> bool {
        self.issued.count_ones() as usize == WARPS
    }
}

/// The matrices of the operands that are in shared memory.
pub(super) fn matrices(
    wgmma: &Wgmma,
    a: Option<u64>,
    b: u64,
) -> Result<(Option<Matrix>, Matrix), ErrorKind> {
    let [a_major, b_major] = wgmma.mn_major;
    let a = a.map(|a| Matrix::new('A', a, a_major, WARPS * ROWS));
    let b = Matrix::new('B', b, b_major, wgmma.n)?;
    Ok((a.transpose()?, b))
}

impl Warp {
    /// Executes an operation of the warpgroup in the lanes of a mask.
    pub(super) fn warpgroup(
        &mut self,
        cta: &mut Cta<'_>,
        op: &WarpgroupOp,
        mask: u32,
    ) -> Result<Next, Fault> {
        if mask != u32::MAX {
            return Ok(Next::Gather(mask, u32::MAX));
        }
        let (group, member) = (self.index as usize / WARPS, self.index as usize % WARPS);
        let warps = cta.threads().div_ceil(32) as usize;
        if group * WARPS + WARPS > warps {
            let kind = ErrorKind::Value {
                what: "warps of the warpgroup",
                expected: format!("{WARPS}"),
                found: (warps % WARPS) as u64,
            };
            return Err(Fault::new(kind, 0));
        }
        match op {
            WarpgroupOp::Fence => {}
            WarpgroupOp::SetRegisters { count, increases } => {
                return self.set_registers(cta, *count, *increases, mask);
            }
            WarpgroupOp::Multiply(wgmma) => {
                let operands = self.operands(wgmma)?;
                self.check_shared(cta, wgmma, operands)?;
                cta.stats.mma_instructions += 1;
                cta.issue(group, member, operands).map_err(fault_at(0))?;
                cta.warpgroup_news = true;
                let state = &mut cta.warpgroups[group];
                let last = state
                    .operations
                    .back()
                    .is_some_and(Multiplication::is_issued);
                if last && cta.schedule.takes_place_at_once() {
                    let member = &mut state.members[member];
                    member.awaited = Some(member.issued);
                    return Ok(Next::Rest(mask));
                }
            }
            WarpgroupOp::Commit => {
                let member = &mut cta.warpgroups[group].members[member];
                member.groups.push_back(member.issued);
            }
            WarpgroupOp::Wait(left) => {
                let state = &mut cta.warpgroups[group];
                let member = &mut state.members[member];
                let complete = member.groups.len().saturating_sub(*left as usize);
                let Some(awaited) = member.groups.drain(..complete).next_back() else {
                    return Ok(Next::Advance);
                };
                member.awaited = Some(awaited);
                cta.warpgroup_news = true;
                return Ok(Next::Rest(mask));
            }
        }
        Ok(Next::Advance)
    }

    /// The operands that are the same in all lanes.
    fn operands(&self, wgmma: &Wgmma) -> Result<Operands, Fault> {
        let uniform = |what, src: Src| {
            let values: Wides = self.registers.wides_of(src);
            let other = lanes(u32::MAX).find(|&lane| values[lane] != values[0]);
            match other {
                None => Ok(values[0]),
                Some(lane) => Err(fault_at(lane)(ErrorKind::Value {
                    what,
                    expected: format!("{:#x}, as in lane 0", values[0]),
                    found: values[lane],
                })),
            }
        };
        let scale_d = self.registers.pred(wgmma.scale_d);
        if scale_d != 0 && scale_d != u32::MAX {
            let kind = ErrorKind::Value {
                what: "lanes in which scale-d holds",
                expected: "all or none".to_owned(),
                found: scale_d.into(),
            };
            return Err(Fault::new(kind, scale_d.trailing_zeros()));
        }
        Ok(Operands {
            a: match &wgmma.a {
                WgmmaA::Shared(a) => Some(uniform("descriptor of A", *a)?),
                WgmmaA::Registers(_) => None,
            },
            b: uniform("descriptor of B", wgmma.b)?,
            scale_d: scale_d != 0,
        })
    }

    /// What the warp needs of shared memory must be there from the instruction on: its rows of A, and of B a
    /// quarter, since each warp has to know that B is there.
    fn check_shared(
        &self,
        cta: &mut Cta<'_>,
        wgmma: &Wgmma,
        operands: Operands,
    ) -> Result<(), Fault> {
        let member = self.index as usize % WARPS;
        let (a, b) = matrices(wgmma, operands.a, operands.b).map_err(fault_at(0))?;
        if let Some(a) = a {
            let rows = member * ROWS..(member + 1) * ROWS;
            a.check(&cta.shared, rows).map_err(fault_at(0))?;
        }
        b.check(&cta.shared, quarter(wgmma.n, member))
            .map_err(fault_at(0))
    }
}

/// The rows of B, by eights, that a warp of the warpgroup looks after.
fn quarter(rows: usize, member: usize) -> std::ops::Range<usize> {
    let eights = rows / 8;
    8 * (eights * member / WARPS)..8 * (eights * (member + 1) / WARPS)
}

impl Cta<'_> {
    /// A warp issues its next multiplication, which is the one of this instruction.
    fn issue(&mut self, group: usize, member: usize, operands: Operands) -> Result<(), ErrorKind> {
        let pc = self.actor.pc;
        let state = &mut self.warpgroups[group];
        let at = (state.members[member].issued - state.done) as usize;
        state.members[member].issued += 1;
        let Some(known) = state.operations.get_mut(at) else {
            state.operations.push_back(Multiplication {
                pc,
                operands,
                issued: 1 << member,
            });
            return Ok(());
        };
        let other = known.issued.trailing_zeros();
        known.issued |= 1 << member;
        let first = (group * WARPS) as u32;
        let differ = |what, expected: String, found: String| ErrorKind::WarpgroupOperand {
            what,
            warp: first + member as u32,
            expected,
            other: first + other,
            found,
        };
        if known.pc != pc {
            let code = &self.launch.kernel.code;
            let show = |pc: u32| format!("the wgmma at ptx line {}", code[pc as usize].line);
            return Err(differ("next wgmma", show(known.pc), show(pc)));
        }
        let hexadecimal = |descriptor: Option<u64>| format!("{:#x}", descriptor.unwrap_or(0));
        let (expected, found) = (known.operands, operands);
        if expected.a != found.a {
            let (expected, found) = (hexadecimal(expected.a), hexadecimal(found.a));
            return Err(differ("descriptor of A", expected, found));
        }
        if expected.b != found.b {
            let (expected, found) = (hexadecimal(Some(expected.b)), hexadecimal(Some(found.b)));
            return Err(differ("descriptor of B", expected, found));
        }
        if expected.scale_d != found.scale_d {
            let (expected, found) = (expected.scale_d.to_string(), found.scale_d.to_string());
            return Err(differ("scale-d", expected, found));
        }
        Ok(())
    }

    /// Multiplications take place that somebody waits for, or that the schedule wants to, and those who waited
    /// for them go on.
    pub(super) fn advance_warpgroups(&mut self, warps: &mut [Warp]) {
        self.hand_out_registers(warps);
        for index in 0..self.warpgroups.len() {
            let first = index * WARPS;
            let Some(warps) = warps.get_mut(first..first + WARPS) else {
                break;
            };
            let awaited = |state: &Warpgroup| {
                let members = state.members.iter();
                members.filter_map(|member| member.awaited).max()
            };
            loop {
                let state = &self.warpgroups[index];
                let wanted = awaited(state).is_some_and(|awaited| state.done < awaited)
                    || self.schedule.takes_place_now();
                let state = &mut self.warpgroups[index];
                let ready = state
                    .operations
                    .front()
                    .is_some_and(Multiplication::is_issued);
                if !ready || !wanted {
                    break;
                }
                if let Some(operation) = state.operations.pop_front() {
                    state.done += 1;
                    self.take_place(&operation, warps);
                }
            }
            let done = self.warpgroups[index].done;
            for (member, warp) in warps.iter_mut().enumerate() {
                let member = &mut self.warpgroups[index].members[member];
                if member.awaited.is_some_and(|awaited| awaited <= done) {
                    member.awaited = None;
                    warp.go_on();
                }
            }
        }
    }

    fn take_place(&mut self, operation: &Multiplication, warps: &mut [Warp]) {
        let Op::Warpgroup(WarpgroupOp::Multiply(wgmma)) =
            &self.launch.kernel.code[operation.pc as usize].op
        else {
            return;
        };
        let Operands { a, b, scale_d } = operation.operands;
        // They were the same when it was issued.
        let Ok((a, b)) = matrices(wgmma, a, b) else {
            return;
        };
        let a = a.map(|a| a.load(&self.shared));
        let b = b.load(&self.shared);
        for (member, warp) in warps.iter_mut().enumerate() {
            let a = a.as_ref().map(|a| &a[member * ROWS..(member + 1) * ROWS]);
            warp.multiply_rows(wgmma, a, &b, scale_d);
        }
    }

    /// Why warps wait for the others of their warpgroup for ever, where some do.
    pub(super) fn divergent_warpgroup(&self, warps: &[Warp]) -> Option<Fault> {
        let waits = |warp: &&Warp| {
            let mut groups = warp.groups.iter();
            warp.wanted_registers.is_none() && groups.any(|g| g.wait == Wait::Warpgroup)
        };
        let warp = warps.iter().find(waits)?;
        let group = warp.groups.iter().find(|g| g.wait == Wait::Warpgroup)?;
        let index = warp.index as usize / WARPS;
        let first = index * WARPS;
        let operation = self.warpgroups.get(index)?.operations.front()?;
        let missing: Vec<String> = (0..WARPS)
            .filter(|member| operation.issued >> member & 1 == 0)
            .map(|member| (first + member).to_string())
            .collect();
        let instr = &self.launch.kernel.code[operation.pc as usize];
        let what = format!(
            "warps {} have not executed `{}` (ptx line {}) with the others of their warpgroup",
            missing.join(", "),
            instr.text,
            instr.line
        );
        let members = warps.iter().skip(first).take(WARPS);
        let waiters = members.flat_map(|warp| warp.groups.iter().map(|g| self.waiter(warp, g)));
        let kind = ErrorKind::WarpgroupDivergence {
            what,
            waiters: waiters.collect(),
        };
        let lane = group.mask.trailing_zeros();
        Some(Fault::new(kind, lane).at(warp.index, group.pc))
    }
}

impl Warp {
    /// The group that waits for multiplications or registers goes on.
    pub(super) fn go_on(&mut self) {
        let waits = |group: &Group| group.wait == Wait::Warpgroup;
        if let Some(at) = self.groups.iter().position(waits) {
            self.advance(at);
        }
    }
}
