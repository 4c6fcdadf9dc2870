//! CTA barriers (PTX ISA 9.7.13.1).

use super::cta::Cta;
use super::warp::{Group, Next, Wait, Warp};
use super::{Fault, fault_at};
use crate::sim::error::ErrorKind;
use crate::sim::isa::{Barrier, BarrierKind, BarrierReduce, Op};
use crate::sim::lane::{WARP, lanes};

/// Barriers of a CTA.
pub(super) const BARRIERS: usize = 16;

/// One barrier resource.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BarrierState {
    /// Threads that arrived; whole warps count 32 where the count is explicit.
    pub arrived: u32,
    /// The count operand; without one, all threads that have not left.
    pub count: Option<u32>,
    /// Combination of the predicates of `bar.red`.
    reduced: Option<(u32, bool, bool)>,
}

impl BarrierState {
    /// Whether the barrier opens, given how many threads of the CTA have not left.
    pub fn is_complete(&self, live: u32) -> bool {
        self.arrived > 0 && self.arrived >= self.count.unwrap_or(live)
    }
}

impl Warp {
    pub(super) fn barrier(
        &mut self,
        cta: &mut Cta<'_>,
        barrier: &Barrier,
        group: Group,
        mask: u32,
    ) -> Result<Next, Fault> {
        if barrier.aligned && mask != self.live {
            return Ok(Next::Gather(mask, self.live));
        }
        // Hardware from Volta on waits for those that have not left; the ISA leaves it undefined.
        let left = self.present & !self.live;
        if barrier.aligned && left != 0 && cta.races.is_some() {
            let kind = ErrorKind::BarrierAfterExit { here: mask, left };
            return Err(Fault::new(kind, mask.trailing_zeros()));
        }
        let first = mask.trailing_zeros() as usize;
        let ids = self.registers.words_of(barrier.id);
        let counts = barrier.count.map(|count| self.registers.words_of(count));
        let (id, count) = (ids[first], counts.map(|counts| counts[first]));
        let illegal = |what, expected: &str, found| {
            let kind = ErrorKind::Barrier {
                barrier: id,
                what,
                expected: expected.to_owned(),
                found,
            };
            Fault::new(kind, first as u32)
        };
        for lane in lanes(mask) {
            if ids[lane] != id {
                return Err(illegal("resource", "one in all lanes", ids[lane]));
            }
            if let Some(counts) = counts
                && counts[lane] != counts[first]
            {
                return Err(illegal("thread count", "one in all lanes", counts[lane]));
            }
        }
        let Some(&state) = cta.barriers.get(id as usize) else {
            return Err(illegal("resource", "0 to 15", id));
        };
        if let Some(count) = count
            && (count == 0 || !count.is_multiple_of(WARP as u32))
        {
            return Err(illegal("thread count", "a multiple of 32 above 0", count));
        }
        // Also where a count names all threads and the other operand is absent: an H200 stops with
        // an illegal instruction then.
        if state.arrived > 0 && state.count != count {
            let show = |count: Option<u32>| count.map_or("none".to_owned(), |c| c.to_string());
            let expected = format!("{}, as earlier arrivals", show(state.count));
            return Err(illegal(
                "thread count",
                &expected,
                count.unwrap_or(cta.threads()),
            ));
        }
        let weight = if barrier.aligned && count.is_some() {
            WARP as u32
        } else {
            mask.count_ones()
        };
        let mut state = state;
        state.count = count;
        state.arrived += weight;
        if let Some(count) = count
            && state.arrived > count
        {
            return Err(illegal(
                "arrived threads",
                &format!("at most {count}"),
                state.arrived,
            ));
        }
        if let BarrierKind::Reduce { pred, .. } = barrier.kind {
            let holds = self.registers.pred(pred) & mask;
            let (popc, all, any) = state.reduced.unwrap_or((0, true, false));
            state.reduced = Some((
                popc + holds.count_ones(),
                all && holds == mask,
                any || holds != 0,
            ));
        }
        cta.barriers[id as usize] = state;
        cta.arrivals = true;
        if let Some(races) = &mut cta.races {
            races.arrive(self.index, mask, id as usize);
        }
        debug_assert!(group.mask & mask == mask);
        Ok(match barrier.kind {
            BarrierKind::Arrive => Next::Advance,
            BarrierKind::Sync | BarrierKind::Reduce { .. } => Next::Block(mask, id),
        })
    }

    /// Hands the result of a `bar.red` to the groups that wait at the barrier.
    fn receive(&mut self, cta: &Cta<'_>, id: u32, reduced: (u32, bool, bool)) {
        let waiting: Vec<Group> = self
            .groups
            .iter()
            .filter(|g| g.wait == Wait::Barrier(id))
            .copied()
            .collect();
        for group in waiting {
            if let Op::Barrier(barrier) = &cta.launch.kernel.code[group.pc as usize].op
                && let BarrierKind::Reduce { mode, .. } = barrier.kind
            {
                let ones = |holds: bool| u32::from(holds).wrapping_neg();
                match mode {
                    BarrierReduce::Popc(dst) => {
                        self.registers
                            .set_words(dst, group.mask, &[reduced.0; WARP])
                    }
                    BarrierReduce::And(slot) => {
                        self.registers.set_pred(slot, group.mask, ones(reduced.1))
                    }
                    BarrierReduce::Or(slot) => {
                        self.registers.set_pred(slot, group.mask, ones(reduced.2))
                    }
                }
            }
        }
    }
}

impl Cta<'_> {
    /// Opens every barrier that is complete.
    pub(super) fn open_barriers(&mut self, warps: &mut [Warp]) {
        let live = warps.iter().map(|w| w.live.count_ones()).sum();
        for id in 0..BARRIERS {
            let state = self.barriers[id];
            if !state.is_complete(live) {
                continue;
            }
            self.barriers[id] = BarrierState::default();
            if let Some(races) = &mut self.races {
                let at_barrier = |warp: &Warp| {
                    let groups = warp.groups.iter();
                    let waiting = groups.filter(|g| g.wait == Wait::Barrier(id as u32));
                    waiting.fold(0, |mask, group| mask | group.mask)
                };
                let waiting: Vec<(u32, u32)> = warps
                    .iter()
                    .map(|warp| (warp.index, at_barrier(warp)))
                    .collect();
                let all = warps
                    .iter()
                    .zip(&waiting)
                    .all(|(w, (_, mask))| w.live == *mask);
                races.open(id, &waiting, all, state.count.is_none());
            }
            for warp in &mut *warps {
                if let Some(reduced) = state.reduced {
                    warp.receive(self, id as u32, reduced);
                }
                warp.release(id as u32);
            }
        }
    }

    /// Why no warp can go on.
    pub(super) fn stall(&self, warps: &[Warp]) -> Fault {
        let code = &self.launch.kernel.code;
        for warp in warps {
            for group in &warp.groups {
                let Wait::Lanes(needed) = group.wait else {
                    continue;
                };
                let instr = &code[group.pc as usize];
                let elsewhere = || warp.groups.iter().map(|g| self.waiter(warp, g));
                let kind = if let Op::Barrier(_) = &instr.op {
                    ErrorKind::BarrierDivergence {
                        waiters: elsewhere().collect(),
                    }
                } else {
                    let missing = needed & !group.mask;
                    let others: Vec<String> = elsewhere().map(|w| w.to_string()).collect();
                    let left = missing & !warp.live;
                    let left = if left == 0 {
                        String::new()
                    } else {
                        format!("; lanes {left:#010x} have left")
                    };
                    ErrorKind::LaneDivergence {
                        instruction: instr.text.clone(),
                        needed,
                        found: group.mask,
                        others: format!("{}{left}", others.join("; ")),
                    }
                };
                let lane = lanes(group.mask).next().unwrap_or(0);
                return fault_at(lane)(kind).at(warp.index, group.pc);
            }
        }
        if let Some(fault) = self.exhausted_registers(warps) {
            return fault;
        }
        if let Some(fault) = self.divergent_warpgroup(warps) {
            return fault;
        }
        if let Some(fault) = self.sleepers(warps) {
            return fault;
        }
        if let Some(fault) = self.cluster_sleepers(warps) {
            return fault;
        }
        let mut waiters = Vec::new();
        let mut first = None;
        for warp in warps {
            for group in &warp.groups {
                waiters.push(self.waiter(warp, group));
                if let Wait::Barrier(id) = group.wait {
                    first.get_or_insert((id, warp.index, *group));
                }
            }
        }
        let live = warps.iter().map(|w| w.live.count_ones()).sum();
        let (id, warp, group) = first.unwrap_or((
            0,
            0,
            Group {
                pc: 0,
                mask: 1,
                wait: Wait::Ready,
            },
        ));
        let state = self.barriers[id as usize % BARRIERS];
        let expected = state.count.unwrap_or(live);
        let kind = ErrorKind::Deadlock {
            barrier: id,
            arrived: state.arrived,
            expected,
            waiters,
        };
        Fault::new(kind, group.mask.trailing_zeros()).at(warp, group.pc)
    }
}
