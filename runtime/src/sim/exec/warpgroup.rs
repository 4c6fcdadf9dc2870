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
use super::descriptor::{self, Matrix};
use super::matrix::{columns_of, lanes_of_metadata};
use super::touch::Touch;
use super::warp::{Group, Next, Wait, Warp};
use super::{Fault, fault_at};
use crate::sim::Space;
use crate::sim::error::{Act, ErrorKind};
use crate::sim::isa::{MmaType, Op, Order, Proxy, WarpgroupOp, Wgmma, WgmmaA};
use crate::sim::lane::{Src, WARP, WARPGROUP, Wides, Words, lanes};

/// Completions that are remembered: more than one warp may be ahead of another.
const HISTORY: usize = 1 << 10;
/// Rows of A and D of a warp.
const ROWS: usize = 16;

/// Operations of a warpgroup that have not taken place, and how far its warps are.
#[derive(Debug, Default)]
pub(crate) struct Warpgroup {
    /// The oldest first.
    operations: VecDeque<Multiplication>,
    /// How many have taken place before.
    done: u64,
    /// Those that have taken place and that no warp knows of, where races are checked.
    unknown: VecDeque<Multiplication>,
    /// How many were known to be complete at which clock of the warpgroup, to one warp at least.
    known: VecDeque<(u64, u32)>,
    members: [Member; WARPGROUP],
}

/// What a warp has done in its warpgroup.
#[derive(Debug, Default)]
struct Member {
    /// Multiplications that it has issued.
    issued: u64,
    /// How many it had issued when it committed each of its groups that it has not waited for.
    groups: VecDeque<u64>,
    /// It waits until so many have taken place.
    awaited: Option<Awaited>,
    /// Multiplications that it has waited for.
    waited: u64,
}

/// What a warp waits for.
#[derive(Debug, Clone, Copy)]
struct Awaited {
    /// So many multiplications, from the first on.
    count: u64,
    /// Whether it learns that they are complete.
    learns: bool,
}

/// A multiplication that at least one warp has issued.
#[derive(Debug)]
struct Multiplication {
    pc: u32,
    operands: Operands,
    /// Warps that have issued it.
    issued: u8,
    /// The metadata of a sparse A that each warp had then.
    metadata: [Option<Box<Words>>; WARPGROUP],
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
        self.issued.count_ones() as usize == WARPGROUP
    }
}

impl Operands {
    /// The matrices of the operands that are in shared memory.
    fn matrices(self, wgmma: &Wgmma) -> Result<(Option<Matrix>, Matrix), ErrorKind> {
        let [a_major, b_major] = wgmma.mn_major;
        let a = self
            .a
            .map(|a| Matrix::new('A', a, a_major, WARPGROUP * ROWS, 1));
        let b = Matrix::new('B', self.b, b_major, wgmma.n, blocks_of_b(wgmma))?;
        Ok((a.transpose()?, b))
    }

    /// The addresses of the chunks of 16 bytes that a warp of the warpgroup looks after.
    fn chunks(self, wgmma: &Wgmma, member: usize) -> Result<Vec<u64>, ErrorKind> {
        let (a, b) = self.matrices(wgmma)?;
        let mut chunks = match a {
            Some(a) => a.chunks(rows_of_a(member)),
            None => Vec::new(),
        };
        chunks.extend(b.chunks(rows_of_b(wgmma, member)));
        Ok(chunks)
    }
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
        let (group, member) = (
            self.index as usize / WARPGROUP,
            self.index as usize % WARPGROUP,
        );
        let warps = cta.threads().div_ceil(32) as usize;
        if group * WARPGROUP + WARPGROUP > warps {
            let kind = ErrorKind::Value {
                what: "warps of the warpgroup",
                expected: format!("{WARPGROUP}"),
                found: (warps % WARPGROUP) as u64,
            };
            return Err(Fault::new(kind, 0));
        }
        match op {
            WarpgroupOp::Fence => self.wgmma_uses.fence(),
            WarpgroupOp::SetRegisters { count, increases } => {
                return self.set_registers(cta, *count, *increases, mask);
            }
            WarpgroupOp::Multiply(wgmma) => {
                let operands = self.operands(wgmma)?;
                self.check_shared(cta, wgmma, operands)?;
                cta.stats.mma_instructions += 1;
                cta.stats.mma_work += wgmma.work();
                let metadata = self.metadata(wgmma)?;
                cta.issue(group, member, operands, metadata)
                    .map_err(fault_at(0))?;
                cta.warpgroup_news = true;
                let state = &mut cta.warpgroups[group];
                let last = state
                    .operations
                    .back()
                    .is_some_and(Multiplication::is_issued);
                if last && cta.schedule.takes_place_at_once() {
                    let member = &mut state.members[member];
                    member.awaited = Some(Awaited {
                        count: member.issued,
                        learns: false,
                    });
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
                let Some(count) = member.groups.drain(..complete).next_back() else {
                    return Ok(Next::Advance);
                };
                member.awaited = Some(Awaited {
                    count,
                    learns: true,
                });
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

    /// What tells where the elements of a sparse A belong: of each chunk of four two that differ, or one of two.
    fn metadata(&self, wgmma: &Wgmma) -> Result<Option<Box<Words>>, Fault> {
        let Some(sparse) = wgmma.sparse else {
            return Ok(None);
        };
        let words = self.registers.words_of(sparse.metadata);
        let [ty, _] = wgmma.multiplicands;
        for lane in lanes_of_metadata(ty, sparse.selector) {
            for chunk in 0..8 {
                let bits = words[lane] >> (4 * chunk) & 0xf;
                let (known, expected) = match ty {
                    MmaType::Tf32 => (matches!(bits, 0b0100 | 0b1110), "0b0100 or 0b1110"),
                    _ => (bits & 3 != bits >> 2, "two indices that differ"),
                };
                if !known {
                    return Err(fault_at(lane)(ErrorKind::Value {
                        what: "metadata of a chunk of A",
                        expected: expected.to_owned(),
                        found: bits.into(),
                    }));
                }
            }
        }
        Ok(Some(Box::new(words)))
    }

    /// What the warp looks after of the operands in shared memory must be there from the instruction on, and must stay.
    fn check_shared(
        &self,
        cta: &mut Cta<'_>,
        wgmma: &Wgmma,
        operands: Operands,
    ) -> Result<(), Fault> {
        let member = self.index as usize % WARPGROUP;
        let (a, b) = operands.matrices(wgmma).map_err(fault_at(0))?;
        if let Some(a) = a {
            let rows = rows_of_a(member);
            a.check(&cta.shared, rows).map_err(fault_at(0))?;
        }
        let rows = rows_of_b(wgmma, member);
        b.check(&cta.shared, rows).map_err(fault_at(0))?;
        if cta.races.is_none() && cta.launch.kernel.buffers.is_none() {
            return Ok(());
        }
        let chunks = operands.chunks(wgmma, member).map_err(fault_at(0))?;
        for chunks in chunks.chunks(WARP) {
            let mut addresses = [0; WARP];
            addresses[..chunks.len()].copy_from_slice(chunks);
            cta.touch(&Touch {
                space: Space::Shared,
                act: Act::MultiplyRead,
                order: Order::WEAK,
                proxy: Proxy::Async,
                addresses: &addresses,
                bytes: descriptor::CHUNK as u32,
                mask: u32::MAX >> (WARP - chunks.len()),
                changed: u32::MAX,
            })?;
        }
        Ok(())
    }

    /// A warp leaves: its products must be complete.
    pub(super) fn check_products(&self, cta: &Cta<'_>) -> Result<(), Fault> {
        let (group, member) = (
            self.index as usize / WARPGROUP,
            self.index as usize % WARPGROUP,
        );
        let Some(state) = cta.warpgroups.get(group) else {
            return Ok(());
        };
        let member = &state.members[member];
        if member.waited == member.issued {
            return Ok(());
        }
        let committed = member
            .groups
            .back()
            .is_some_and(|&last| last == member.issued);
        let later = state.unknown.iter().chain(&state.operations);
        let pc = later.last().map_or(cta.actor.pc, |operation| operation.pc);
        let thread = self.index * WARP as u32;
        Err(fault_at(0)(ErrorKind::MultiplyInFlight {
            multiply: Box::new(cta.party(Act::Multiply, cta.number, thread, pc)),
            committed,
        }))
    }
}

/// The rows of A that a warp of the warpgroup looks after: those of its D.
fn rows_of_a(member: usize) -> std::ops::Range<usize> {
    member * ROWS..(member + 1) * ROWS
}

/// The columns of B, by eights, that it looks after: each warp needs all of them, and has to know that they are
/// there, which a quarter shows as well as all.
fn rows_of_b(wgmma: &Wgmma, member: usize) -> std::ops::Range<usize> {
    let eights = wgmma.n / 8;
    8 * (eights * member / WARPGROUP)..8 * (eights * (member + 1) / WARPGROUP)
}

/// The blocks along K of B: a sparse product has two.
fn blocks_of_b(wgmma: &Wgmma) -> usize {
    if wgmma.sparse.is_some() { 2 } else { 1 }
}

impl Cta<'_> {
    /// A warp issues its next multiplication, which is the one of this instruction.
    fn issue(
        &mut self,
        group: usize,
        member: usize,
        operands: Operands,
        metadata: Option<Box<Words>>,
    ) -> Result<(), ErrorKind> {
        let pc = self.actor.pc;
        let state = &mut self.warpgroups[group];
        let at = (state.members[member].issued - state.done) as usize;
        state.members[member].issued += 1;
        let Some(known) = state.operations.get_mut(at) else {
            let mut of_all = [const { None }; WARPGROUP];
            of_all[member] = metadata;
            state.operations.push_back(Multiplication {
                pc,
                operands,
                issued: 1 << member,
                metadata: of_all,
            });
            return Ok(());
        };
        known.metadata[member] = metadata;
        let other = known.issued.trailing_zeros();
        known.issued |= 1 << member;
        let first = (group * WARPGROUP) as u32;
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
            let first = index * WARPGROUP;
            let Some(warps) = warps.get_mut(first..first + WARPGROUP) else {
                break;
            };
            let awaited = |state: &Warpgroup| {
                let members = state.members.iter();
                members
                    .filter_map(|member| Some(member.awaited?.count))
                    .max()
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
                    if self.races.is_some() {
                        self.warpgroups[index].unknown.push_back(operation);
                    }
                }
            }
            let done = self.warpgroups[index].done;
            for (member, warp) in warps.iter_mut().enumerate() {
                let state = &mut self.warpgroups[index].members[member];
                let awaited = state.awaited.filter(|awaited| awaited.count <= done);
                let Some(Awaited { count, learns }) = awaited else {
                    continue;
                };
                state.awaited = None;
                if learns {
                    state.waited = count;
                    warp.wgmma_uses.waited = count;
                    self.learn(index, warp.index, count);
                }
                warp.go_on();
            }
        }
    }

    /// A warp learns that so many multiplications of its warpgroup are complete.
    fn learn(&mut self, index: usize, warp: u32, count: u64) {
        let Some(races) = &mut self.races else {
            return;
        };
        let state = &mut self.warpgroups[index];
        let known = state.known.back().map_or(0, |(count, _)| *count);
        if known < count {
            let clock = races.tick_warpgroup(warp);
            let new = state.unknown.len().min((count - known) as usize);
            for operation in state.unknown.drain(..new) {
                let Op::Warpgroup(WarpgroupOp::Multiply(wgmma)) =
                    &self.launch.kernel.code[operation.pc as usize].op
                else {
                    continue;
                };
                for member in 0..WARPGROUP {
                    let chunks = operation.operands.chunks(wgmma, member);
                    let chunks = chunks.unwrap_or_default();
                    races.settle_operands(warp, operation.pc, &chunks, clock);
                }
            }
            state.known.push_back((count, clock));
            if state.known.len() > HISTORY {
                state.known.pop_front();
            }
        }
        let mut all = state.known.iter().rev();
        if let Some((_, clock)) = all.find(|(known, _)| *known <= count) {
            races.pass_warpgroup(warp, *clock);
        }
    }

    fn take_place(&mut self, operation: &Multiplication, warps: &mut [Warp]) {
        let Op::Warpgroup(WarpgroupOp::Multiply(wgmma)) =
            &self.launch.kernel.code[operation.pc as usize].op
        else {
            return;
        };
        let scale_d = operation.operands.scale_d;
        // They were checked when it was issued.
        let Ok((a, b)) = operation.operands.matrices(wgmma) else {
            return;
        };
        let a = a.map(|a| a.load(&self.shared, 0));
        let blocks = (0..blocks_of_b(wgmma)).map(|block| b.load(&self.shared, block));
        let blocks: Vec<_> = blocks.collect();
        let b = match wgmma.sparse {
            None => columns_of(wgmma, &blocks[0]),
            Some(_) => Vec::new(),
        };
        for (member, warp) in warps.iter_mut().enumerate() {
            let a = a.as_ref().map(|a| &a[rows_of_a(member)]);
            match &operation.metadata[member] {
                None => warp.multiply_rows(&mut self.rows_of_a, wgmma, a, &b, scale_d),
                Some(words) => warp.multiply_sparse_rows(
                    &mut self.rows_of_a,
                    wgmma,
                    a,
                    &blocks,
                    words,
                    scale_d,
                ),
            }
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
        let index = warp.index as usize / WARPGROUP;
        let first = index * WARPGROUP;
        let operation = self.warpgroups.get(index)?.operations.front()?;
        let missing: Vec<String> = (0..WARPGROUP)
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
        let members = warps.iter().skip(first).take(WARPGROUP);
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
