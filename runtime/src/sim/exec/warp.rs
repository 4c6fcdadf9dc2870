//! A warp: registers, and groups of lanes that stand at one instruction each.

use super::cta::Cta;
use super::in_flight::InFlight;
use super::polling::Poll;
use super::race::Actor;
use super::shared::Bytes;
use super::undefined::Undefined;
use super::wgmma_registers::Uses;
use super::{Fault, Launch};
use crate::sim::Space;
use crate::sim::error::ErrorKind;
use crate::sim::isa::{Collective, Hint, Instr, Op};
use crate::sim::lane::{Registers, Specials, WARP, Wides, lanes};

/// After so many instructions of one group, another one that could run gets a turn, so that a
/// group which spins until another group has done something does not spin forever.
const PATIENCE: u32 = 1 << 16;

/// Lanes that stand at the same instruction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group {
    pub pc: u32,
    pub mask: u32,
    pub wait: Wait,
}

/// What a group waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Nothing.
    Ready,
    /// Lanes that its instruction needs and that stand elsewhere.
    Lanes(u32),
    /// A CTA barrier, at which it has arrived.
    Barrier(u32),
    /// The phase of an `mbarrier`, which it looks at again.
    Mbarrier,
    /// The cluster's barrier, which it looks at again.
    Cluster,
    /// Multiplications of its warpgroup, or registers.
    Warpgroup,
}

/// A warp.
#[derive(Debug)]
pub(crate) struct Warp {
    pub index: u32,
    pub registers: Registers,
    /// Bits of tracked registers that nothing has written.
    pub undefined: Undefined,
    /// Never two ready groups at one instruction.
    pub groups: Vec<Group>,
    /// Lanes that exist.
    pub present: u32,
    /// Of those, the ones that have not left.
    pub live: u32,
    pub in_flight: InFlight,
    /// The phase of the cluster's barrier that each lane has arrived at, from 1; 0 where it does not wait for one.
    pub cluster_phase: Wides,
    /// What it did with registers of `wgmma`.
    pub wgmma_uses: Uses,
    /// Registers of a thread that it waits for.
    pub wanted_registers: Option<u32>,
    /// Local memory of each lane.
    pub local: Vec<Bytes>,
    /// Its groups that poll, as last looked at.
    pub polls: Vec<Poll>,
}

/// How an instruction leaves its group.
pub(super) enum Next {
    /// All lanes go on.
    Advance,
    /// The lanes of the mask, which executed a jump, go to the instruction.
    Jump(u32, u32),
    /// Each lane of the mask to its own instruction.
    Scatter(u32, [u32; WARP]),
    /// The lanes of the mask leave.
    Exit(u32),
    /// The first mask waits where it is for the lanes of the second.
    Gather(u32, u32),
    /// The lanes of the mask wait at the barrier.
    Block(u32, u32),
    /// The lanes of the mask wait where they are for an `mbarrier`.
    Sleep(u32),
    /// The lanes of the mask wait where they are for the cluster's barrier.
    SleepAtCluster(u32),
    /// The lanes of the mask wait for multiplications of their warpgroup, or for registers.
    Rest(u32),
}

impl Warp {
    pub fn new(index: u32, launch: &Launch<'_>) -> Warp {
        let kernel = launch.kernel;
        let local = match kernel.local_bytes {
            0 => Vec::new(),
            bytes => (0..WARP)
                .map(|_| Bytes::new(Space::Local, bytes as usize, launch.options.checks))
                .collect(),
        };
        Warp {
            index,
            registers: Registers {
                words: vec![[0; WARP]; kernel.words],
                wides: vec![[0; WARP]; kernel.wides],
                preds: vec![0; kernel.preds],
                carry: 0,
                specials: Specials::default(),
                variables: launch.variables.clone(),
            },
            undefined: Undefined::default(),
            groups: Vec::new(),
            present: 0,
            live: 0,
            in_flight: InFlight::default(),
            cluster_phase: [0; WARP],
            wgmma_uses: Uses::default(),
            wanted_registers: None,
            local,
            polls: Vec::new(),
        }
    }

    /// Puts the warp at the kernel's start in a CTA, given by its number.
    pub fn reset(&mut self, launch: &Launch<'_>, number: u32) {
        let threads: u32 = launch.block.iter().product();
        let first = self.index * WARP as u32;
        let specials = &mut self.registers.specials;
        for lane in 0..WARP as u32 {
            for (axis, tid) in launch.tid(first + lane).into_iter().enumerate() {
                specials.tid[axis][lane as usize] = tid;
            }
        }
        specials.ntid = launch.block;
        specials.ctaid = launch.ctaid(number);
        specials.nctaid = launch.grid;
        specials.cluster_ctaid = launch.cluster_ctaid(number);
        specials.cluster_nctaid = launch.cluster();
        specials.cluster_ctarank = number % launch.ctas_of_cluster();
        specials.clusterid = launch.clusterid(number);
        specials.nclusterid = launch.clusters();
        specials.warp = self.index;
        specials.warps = threads.div_ceil(WARP as u32);
        specials.clock = 0;
        specials.dynamic_shared = launch.dynamic_shared;
        specials.total_shared = launch.kernel.dynamic_shared + launch.dynamic_shared;
        self.registers.words.fill([0; WARP]);
        self.registers.wides.fill([0; WARP]);
        self.registers.preds.fill(0);
        self.registers.carry = 0;
        self.undefined.clear();
        let missing = (first + WARP as u32).saturating_sub(threads);
        self.present = u32::MAX >> missing;
        self.live = self.present;
        self.groups.clear();
        self.groups.push(Group {
            pc: 0,
            mask: self.live,
            wait: Wait::Ready,
        });
        self.in_flight.clear();
        self.cluster_phase = [0; WARP];
        self.wgmma_uses.clear();
        self.wanted_registers = None;
        self.local.iter_mut().for_each(Bytes::reset);
    }

    /// Whether a group can go on.
    pub fn is_ready(&self) -> bool {
        self.groups.iter().any(|g| g.wait == Wait::Ready)
    }

    /// Runs until no group can go on, or for `budget` instructions. Returns how many it ran.
    pub fn run(&mut self, cta: &mut Cta<'_>, budget: u64) -> Result<u64, Fault> {
        let rank = &cta.launch.kernel.rank[..];
        self.in_flight.drift(cta, self.index)?;
        let mut steps = 0;
        let mut patience = PATIENCE;
        while steps < budget {
            let ready = self.groups.iter().enumerate();
            let ready = ready.filter(|(_, group)| group.wait == Wait::Ready);
            let place = |(_, group): &(usize, &Group)| rank[group.pc as usize];
            let stray = match self.groups.len() {
                0 | 1 => None,
                groups => cta.schedule.stray_group(groups),
            };
            let chosen = match (patience, stray) {
                (0, _) => ready.max_by_key(place),
                (_, Some(stray)) if self.groups[stray].wait == Wait::Ready => {
                    Some((stray, &self.groups[stray]))
                }
                _ => ready.min_by_key(place),
            };
            match chosen {
                None => break,
                Some(_) if self.groups.len() == 1 => {
                    steps += self.run_alone(cta, budget - steps)?
                }
                Some((current, _)) => {
                    patience = patience.checked_sub(1).unwrap_or(PATIENCE);
                    let next = self.step(cta, self.groups[current])?;
                    self.apply(current, next);
                    steps += 1;
                }
            }
        }
        Ok(steps)
    }

    /// Runs the only group while its lanes stay together.
    fn run_alone(&mut self, cta: &mut Cta<'_>, budget: u64) -> Result<u64, Fault> {
        let mut group = self.groups[0];
        for steps in 1..=budget {
            match self.step(cta, group)? {
                Next::Advance => group.pc += 1,
                Next::Jump(target, mask) if mask == group.mask => group.pc = target,
                next => {
                    self.groups[0] = group;
                    self.apply(0, next);
                    return Ok(steps);
                }
            }
        }
        self.groups[0] = group;
        Ok(budget)
    }

    /// Executes the instruction of a group in the lanes where its guard holds.
    #[inline]
    pub(super) fn step(&mut self, cta: &mut Cta<'_>, group: Group) -> Result<Next, Fault> {
        let kernel = cta.launch.kernel;
        let instr = &kernel.code[group.pc as usize];
        let mask = match instr.guard {
            None => group.mask,
            Some(guard) => group.mask & self.registers.pred(guard),
        };
        cta.actor = Actor {
            warp: self.index,
            pc: group.pc,
        };
        cta.stats.warp_instructions += 1;
        if let Some(counters) = &mut cta.counters {
            counters.step(group.pc, mask, group.mask != self.live);
        }
        cta.stats.thread_instructions += u64::from(mask.count_ones());
        self.registers.specials.clock += 1;
        if let Some(tracked) = cta.tracked {
            self.check_defined(tracked, instr, group, mask)
                .map_err(|fault| fault.at(self.index, group.pc))?;
        }
        if let (Some(registers), 1..) = (cta.wgmma_registers, mask) {
            self.check_wgmma_registers(cta, registers)
                .map_err(|fault| fault.at(self.index, group.pc))?;
        }
        match mask {
            0 => Ok(Next::Advance),
            _ => self
                .execute(instr, group, mask, cta)
                .map_err(|fault| fault.at(self.index, group.pc)),
        }
    }

    pub(super) fn apply(&mut self, current: usize, next: Next) {
        let group = self.groups[current];
        let pc = group.pc;
        match next {
            Next::Advance => self.place(current, &[(pc + 1, group.mask, Wait::Ready)]),
            Next::Jump(target, mask) => self.place(
                current,
                &[
                    (target, mask, Wait::Ready),
                    (pc + 1, group.mask & !mask, Wait::Ready),
                ],
            ),
            Next::Scatter(mask, targets) => {
                let mut parts = vec![(pc + 1, group.mask & !mask, Wait::Ready)];
                for lane in lanes(mask) {
                    let bit = 1 << lane;
                    match parts
                        .iter_mut()
                        .find(|(target, ..)| *target == targets[lane])
                    {
                        Some((_, part, _)) => *part |= bit,
                        None => parts.push((targets[lane], bit, Wait::Ready)),
                    }
                }
                self.place(current, &parts);
            }
            Next::Exit(mask) => {
                self.live &= !mask;
                self.place(current, &[(pc + 1, group.mask & !mask, Wait::Ready)]);
                // Who waits for all lanes that live now waits for fewer.
                self.retry();
            }
            Next::Gather(mask, needed) => self.place(
                current,
                &[
                    (pc, mask, Wait::Lanes(needed)),
                    (pc + 1, group.mask & !mask, Wait::Ready),
                ],
            ),
            Next::Sleep(mask) => self.place(
                current,
                &[
                    (pc, mask, Wait::Mbarrier),
                    (pc + 1, group.mask & !mask, Wait::Ready),
                ],
            ),
            Next::Rest(mask) => self.place(
                current,
                &[
                    (pc, mask, Wait::Warpgroup),
                    (pc + 1, group.mask & !mask, Wait::Ready),
                ],
            ),
            Next::SleepAtCluster(mask) => self.place(
                current,
                &[
                    (pc, mask, Wait::Cluster),
                    (pc + 1, group.mask & !mask, Wait::Ready),
                ],
            ),
            Next::Block(mask, barrier) => self.place(
                current,
                &[
                    (pc, mask, Wait::Barrier(barrier)),
                    (pc + 1, group.mask & !mask, Wait::Ready),
                ],
            ),
        }
    }

    /// Replaces a group by parts, each joined with the group that stands there already.
    fn place(&mut self, current: usize, parts: &[(u32, u32, Wait)]) {
        self.groups.swap_remove(current);
        for &(pc, mask, wait) in parts {
            if mask == 0 {
                continue;
            }
            let joinable = |g: &&mut Group| g.pc == pc && !matches!(g.wait, Wait::Barrier(_));
            match self.groups.iter_mut().find(joinable) {
                Some(group) if !matches!(wait, Wait::Barrier(_)) => {
                    group.mask |= mask;
                    // Enough lanes may be together now: try again.
                    group.wait = Wait::Ready;
                }
                _ => self.groups.push(Group { pc, mask, wait }),
            }
        }
    }

    fn retry(&mut self) {
        for group in &mut self.groups {
            if let Wait::Lanes(_) = group.wait {
                group.wait = Wait::Ready;
            }
        }
    }

    /// Lets the groups that wait at a barrier go on.
    pub fn release(&mut self, barrier: u32) {
        while let Some(at) = self
            .groups
            .iter()
            .position(|g| g.wait == Wait::Barrier(barrier))
        {
            self.advance(at);
        }
    }

    /// A group that waited goes on behind its instruction.
    pub(super) fn advance(&mut self, at: usize) {
        let group = self.groups[at];
        self.place(at, &[(group.pc + 1, group.mask, Wait::Ready)]);
    }

    fn execute(
        &mut self,
        instr: &Instr,
        group: Group,
        mask: u32,
        cta: &mut Cta<'_>,
    ) -> Result<Next, Fault> {
        match &instr.op {
            Op::Lanes { f, .. } => f(&mut self.registers, mask),
            Op::Branch { target } => return Ok(Next::Jump(*target, mask)),
            Op::Load {
                dsts,
                address,
                bytes,
                extend,
                order,
            } => self.load(cta, dsts, address, *bytes, *extend, *order, mask)?,
            Op::Store {
                srcs,
                address,
                bytes,
                order,
            } => self.store(cta, srcs, address, *bytes, *order, mask)?,
            Op::Mma(mma) => {
                if mask != u32::MAX {
                    return Ok(Next::Gather(mask, u32::MAX));
                }
                cta.stats.mma_instructions += 1;
                cta.stats.mma_work += mma.work();
                self.multiply(&mut cta.rows_of_a, mma);
            }
            Op::Warpgroup(op) => return self.warpgroup(cta, op, mask),
            Op::LoadMatrix {
                dsts,
                address,
                transpose,
            } => {
                if mask != u32::MAX {
                    return Ok(Next::Gather(mask, u32::MAX));
                }
                self.load_matrix(cta, dsts, address, *transpose)?;
            }
            Op::StoreMatrix {
                srcs,
                address,
                transpose,
            } => {
                if mask != u32::MAX {
                    return Ok(Next::Gather(mask, u32::MAX));
                }
                self.store_matrix(cta, srcs, address, *transpose)?;
            }
            Op::CopyAsync {
                dst,
                src,
                bytes,
                src_bytes,
            } => self.copy_async(cta, [dst, src], *bytes, *src_bytes, mask)?,
            Op::CommitGroup(group) => {
                self.in_flight.commit(*group, mask);
                self.in_flight.drift(cta, self.index)?;
            }
            Op::WaitGroup(group, left) => self.in_flight.wait(cta, *group, mask, *left)?,
            Op::WaitGroupRead(left) => self.in_flight.wait_read(cta, mask, *left),
            Op::Bulk(bulk) => self.bulk(cta, bulk, mask)?,
            Op::StoreAsync(store) => self.store_async(cta, store, mask)?,
            Op::ClusterBarrier(barrier) => return self.cluster_barrier(cta, barrier, mask),
            Op::Atomic {
                dsts,
                address,
                bytes,
                bs,
                c,
                f,
                order,
            } => {
                let values = (&**bs, *c);
                self.atomic(cta, dsts, address, *bytes, values, *f, *order, mask)?;
            }
            Op::Barrier(barrier) => return self.barrier(cta, barrier, group, mask),
            Op::Mbarrier(op) => return self.mbarrier(cta, op, mask),
            Op::Print {
                result,
                text,
                arguments,
            } => {
                self.print(cta, *text, *arguments, mask)?;
                self.registers.set_words(*result, mask, &[0; WARP]);
            }
            Op::Exit => {
                if let Some(races) = &mut cta.races {
                    races.exit(self.index, mask);
                    self.in_flight.check_exit(cta, mask)?;
                    self.check_products(cta)?;
                }
                cta.leave_cluster(mask.count_ones());
                return Ok(Next::Exit(mask));
            }
            Op::Fence(order) => {
                if let Some(races) = &mut cta.races {
                    races.fence(self.index, mask, *order);
                }
            }
            Op::ProxyFence(fence) => {
                if let Some(races) = &mut cta.races {
                    races.fence_proxy(self.index, mask, *fence);
                }
            }
            Op::MapEdit(edit) => return self.map_edit(cta, edit, mask),
            Op::BranchIndexed { index, targets } => {
                return self.branch_indexed(*index, targets, mask);
            }
            Op::ActiveMask(dst) => self.registers.set_words(*dst, mask, &[mask; WARP]),
            Op::Trap => return Err(Fault::new(ErrorKind::Trap, mask.trailing_zeros())),
            Op::Hint(Hint::Prefetch | Hint::Sleep | Hint::GridDependency) => {}
            Op::Collective { members, kind } => match self.rendezvous(*members, mask)? {
                Ok(sets) => {
                    for set in sets {
                        if let (Collective::Barrier, Some(races)) = (kind, &mut cta.races) {
                            races.meet(self.index, set);
                        }
                        let (tracked, pc) = (cta.tracked, group.pc);
                        if let (Collective::Shuffle { .. }, Some(tracked)) = (kind, tracked) {
                            self.shuffle_undefined(tracked, &cta.schedule, *kind, pc, set);
                        }
                        let lost = self.collective(&cta.schedule, *kind, set);
                        if let (true, Some(lost)) = (cta.launch.options.checks, lost) {
                            return Err(self.lost(instr, set, lost));
                        }
                    }
                }
                Err(next) => return Ok(next),
            },
        }
        Ok(Next::Advance)
    }

    fn branch_indexed(
        &self,
        index: crate::sim::lane::Src,
        targets: &[u32],
        mask: u32,
    ) -> Result<Next, Fault> {
        let index = self.registers.words_of(index);
        let mut to = [0; WARP];
        for lane in lanes(mask) {
            to[lane] = *targets.get(index[lane] as usize).ok_or_else(|| {
                let kind = ErrorKind::BranchIndex {
                    index: index[lane],
                    targets: targets.len() as u32,
                };
                Fault::new(kind, lane as u32)
            })?;
        }
        Ok(Next::Scatter(mask, to))
    }
}
