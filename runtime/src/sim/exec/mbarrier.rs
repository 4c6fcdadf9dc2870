//! Barriers in shared memory (PTX ISA 9.7.13.15).
//!
//! A phase is complete when all expected arrivals have come and all expected bytes. What was done before an
//! arrival that releases comes before what a thread does after it has seen the phase complete. `try_wait`
//! waits until then; where nothing else can go on, it comes back without, as after its time limit, and
//! when that has helped nobody several times, it is a deadlock.
//!
//! The object is opaque: its eight bytes of shared memory can be neither read nor written otherwise.

use super::access::{put, resolve};
use super::cta::Cta;
use super::in_flight::with;
use super::touch::Touch;
use super::warp::{Group, Next, Wait, Warp};
use super::{Fault, fault_at};
use crate::sim::Space;
use crate::sim::decode::COUNT_BITS;
use crate::sim::error::{Act, ErrorKind, OpenPhase};
use crate::sim::isa::{Arrival, Mbarrier, MbarrierKind, Op, Order, PEER_SHIFT, Phase, Proxy};
use crate::sim::lane::{Src, WARP, Wides, lanes};

/// Bytes of an object.
const BYTES: u32 = 8;
/// Most arrivals and most bytes of a phase.
const MOST: u32 = (1 << COUNT_BITS) - 1;
/// How often in a row everybody may come back from `try_wait` without anything having happened.
const PATIENCE: u32 = 16;

/// How often `test_wait` says no at once before it takes its time as `try_wait` does.
const POLLS: u32 = 256;

/// An object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    /// Arrivals of a phase.
    expected: u32,
    /// Arrivals that are missing.
    pending: u32,
    /// Bytes that are missing.
    bytes: i64,
    /// Phases that are complete.
    phase: u64,
    /// Whether somebody has seen that the last of them is.
    seen: bool,
}

impl State {
    /// What an arrival gives: the phase, and the arrivals missing before it.
    fn token(&self) -> u64 {
        self.phase << COUNT_BITS | u64::from(self.pending)
    }
}

fn wrong(address: u64, what: &'static str, expected: impl Into<String>, found: u64) -> ErrorKind {
    ErrorKind::Mbarrier {
        address,
        what,
        expected: expected.into(),
        found: found.to_string(),
    }
}

impl Cta<'_> {
    pub(super) fn mbarrier(&mut self, address: u64) -> Result<&mut State, ErrorKind> {
        let missing = || ErrorKind::Mbarrier {
            address,
            what: "object",
            expected: "one that `mbarrier.init` has made".to_owned(),
            found: "none".to_owned(),
        };
        let (objects, at) = self.mbarriers_at(address)?;
        objects.get_mut(&at).ok_or_else(missing)
    }

    fn init_mbarrier(&mut self, address: u64, count: u32) -> Result<(), ErrorKind> {
        if !(1..=MOST).contains(&count) {
            let expected = format!("1 to {MOST}");
            return Err(wrong(address, "count", expected, count.into()));
        }
        if self.mbarriers.contains_key(&address) {
            return Err(ErrorKind::Mbarrier {
                address,
                what: "place of a new object",
                expected: "none there, or `mbarrier.inval` before".to_owned(),
                found: "one in use".to_owned(),
            });
        }
        self.shared.seal(address, BYTES)?;
        let state = State {
            expected: count,
            pending: count,
            bytes: 0,
            phase: 0,
            seen: true,
        };
        self.mbarriers.insert(address, state);
        if let Some(races) = &mut self.races {
            races.forget_mbarrier(address);
        }
        Ok(())
    }

    fn invalidate_mbarrier(&mut self, address: u64) -> Result<(), ErrorKind> {
        self.mbarrier(address)?;
        self.mbarriers.remove(&address);
        self.shared.unseal(address, BYTES);
        Ok(())
    }

    /// Bytes are expected, or come where the number is negative.
    pub(super) fn count_bytes(&mut self, address: u64, bytes: i64) -> Result<(), ErrorKind> {
        let state = self.mbarrier(address)?;
        state.bytes += bytes;
        let missing = state.bytes;
        if missing.unsigned_abs() > MOST.into() {
            let expected = format!("at most {MOST}");
            let found = missing.unsigned_abs();
            return Err(wrong(address, "bytes of a phase", expected, found));
        }
        self.settle_mbarrier(address);
        Ok(())
    }

    /// One more arrival is expected in this phase.
    pub(super) fn expect_arrival(&mut self, address: u64) -> Result<(), ErrorKind> {
        let state = self.mbarrier(address)?;
        if state.pending == MOST {
            let expected = format!("less than {MOST}");
            return Err(wrong(address, "missing arrivals", expected, MOST.into()));
        }
        state.pending += 1;
        Ok(())
    }

    /// So many arrivals at once.
    pub(super) fn count_arrivals(&mut self, address: u64, count: u32) -> Result<(), ErrorKind> {
        let checks = self.races.is_some();
        let state = self.mbarrier(address)?;
        if checks && !state.seen {
            // PTX ISA 9.7.13.15.4: a phase that nobody has waited for may be taken for the next one.
            let expected = format!("a wait that has seen phase {} complete", state.phase - 1);
            return Err(ErrorKind::Mbarrier {
                address,
                what: "arrival in a later phase",
                expected,
                found: "none".to_owned(),
            });
        }
        let pending = state.pending;
        if count == 0 || count > pending {
            let expected = match pending {
                0 => "none before bytes have come".to_owned(),
                _ => format!("1 to {pending}, which the phase waits for"),
            };
            return Err(wrong(address, "arrivals", expected, count.into()));
        }
        state.pending -= count;
        self.idle = 0;
        self.settle_mbarrier(address);
        Ok(())
    }

    /// Completes the phase if nothing is missing.
    fn settle_mbarrier(&mut self, address: u64) {
        let Ok(state) = self.mbarrier(address) else {
            return;
        };
        if state.pending != 0 || state.bytes != 0 {
            return;
        }
        state.phase += 1;
        state.seen = false;
        state.pending = state.expected;
        self.wake(address);
        self.idle = 0;
        self.polls = 0;
        if let Some(races) = &mut self.races {
            races.complete_phase(address);
        }
    }

    fn arrive(
        &mut self,
        address: u64,
        arrival: &Arrival,
        counts: [u32; 2],
    ) -> Result<u64, ErrorKind> {
        let [count, bytes] = counts;
        let token = self.mbarrier(address)?.token();
        if arrival.expect.is_some() {
            self.mbarrier(address)?.bytes += i64::from(bytes);
        }
        let state = self.mbarrier(address)?;
        if arrival.open && count == state.pending && state.bytes == 0 {
            let expected = format!("less than {}, of `.noComplete`", state.pending);
            return Err(wrong(address, "arrivals", expected, count.into()));
        }
        if arrival.drop {
            state.expected = state.expected.saturating_sub(count);
        }
        self.count_arrivals(address, count)?;
        if arrival.expect.is_some() {
            self.count_bytes(address, 0)?;
        }
        Ok(token)
    }

    /// Whether a phase is complete.
    fn is_complete(&mut self, address: u64, phase: Phase, value: u64) -> Result<bool, ErrorKind> {
        let now = self.mbarrier(address)?.phase;
        let complete = self.compare_phase(address, now, phase, value)?;
        if complete {
            self.mbarrier(address)?.seen = true;
        }
        Ok(complete)
    }

    fn compare_phase(
        &self,
        address: u64,
        now: u64,
        phase: Phase,
        value: u64,
    ) -> Result<bool, ErrorKind> {
        match phase {
            Phase::Parity(_) if value > 1 => Err(wrong(address, "parity", "0 or 1", value)),
            Phase::Parity(_) => Ok(now & 1 != value),
            Phase::State(_) => match now.checked_sub(value >> COUNT_BITS) {
                Some(0) => Ok(false),
                Some(1) => Ok(true),
                _ => {
                    let expected = format!("that of phase {now} or the one before");
                    Err(wrong(address, "state", expected, value >> COUNT_BITS))
                }
            },
        }
    }

    /// Lets everybody who waits in `try_wait` come back without; `false` where that has been in vain.
    pub(super) fn time_out(&mut self, warps: &mut [Warp]) -> bool {
        if self.idle == PATIENCE {
            return false;
        }
        self.idle += 1;
        let waited = warps.iter().any(Warp::sleeps);
        for warp in warps {
            warp.come_back(self);
        }
        waited
    }

    /// Why those who wait in `try_wait` wait for ever, where somebody does.
    pub(super) fn sleepers(&self, warps: &[Warp]) -> Option<Fault> {
        let mut phases: Vec<OpenPhase> = Vec::new();
        let mut waiters = Vec::new();
        let mut first = None;
        for warp in warps {
            for group in &warp.groups {
                waiters.push(self.waiter(warp, group));
                if group.wait != Wait::Mbarrier {
                    continue;
                }
                first.get_or_insert((warp.index, *group));
                let Op::Mbarrier(op) = &self.launch.kernel.code[group.pc as usize].op else {
                    continue;
                };
                let addresses = warp.addresses(&op.address);
                for lane in lanes(group.mask) {
                    let (_, address) = resolve(op.address.space, addresses[lane]);
                    let Some(state) = self.mbarriers.get(&address) else {
                        continue;
                    };
                    if phases.iter().all(|phase| phase.address != address) {
                        phases.push(OpenPhase {
                            address,
                            phase: state.phase,
                            missing: state.pending,
                            expected: state.expected,
                            bytes: state.bytes,
                        });
                    }
                }
            }
        }
        let (warp, group) = first?;
        let kind = ErrorKind::OpenPhases { phases, waiters };
        Some(Fault::new(kind, group.mask.trailing_zeros()).at(warp, group.pc))
    }
}

impl Warp {
    /// `mbarrier`, and `cp.async.mbarrier.arrive`.
    pub(super) fn mbarrier(
        &mut self,
        cta: &mut Cta<'_>,
        op: &Mbarrier,
        mask: u32,
    ) -> Result<Next, Fault> {
        let mut addresses = self.addresses(&op.address);
        for lane in lanes(mask) {
            let (space, at) = resolve(op.address.space, addresses[lane]);
            if space != Space::Shared {
                let kind = ErrorKind::Value {
                    what: "address of an mbarrier",
                    expected: "an address in shared memory".to_owned(),
                    found: addresses[lane],
                };
                return Err(Fault::new(kind, lane as u32));
            }
            let at = self.mbarrier_address(cta, op, at).map_err(fault_at(lane))?;
            addresses[lane] = at;
            match op.kind {
                MbarrierKind::Init(count) => {
                    let count = self.registers.words_of(count)[lane];
                    cta.init_mbarrier(at, count).map_err(fault_at(lane))?;
                }
                _ => {
                    cta.mbarrier(at).map_err(fault_at(lane))?;
                }
            }
        }
        cta.touch(&Touch {
            space: Space::Shared,
            act: Act::Signal,
            order: match op.order.strong {
                true => Order {
                    scope: op.order.scope,
                    ..Order::RELAXED
                },
                false => Order::WEAK,
            },
            proxy: Proxy::Generic,
            addresses: &addresses,
            bytes: BYTES,
            mask,
            changed: u32::MAX,
        })?;
        self.signal(cta, op, &addresses, mask)
    }

    /// The address of an object: only arrivals and bytes reach another CTA.
    fn mbarrier_address(
        &self,
        cta: &Cta<'_>,
        op: &Mbarrier,
        address: u64,
    ) -> Result<u64, ErrorKind> {
        if address >> PEER_SHIFT == 0 {
            return Ok(address);
        }
        cta.check_space(op.address.space, address)?;
        let reaches = match op.kind {
            MbarrierKind::Arrive(_) | MbarrierKind::Expect(_) | MbarrierKind::Complete(_) => true,
            MbarrierKind::Init(_)
            | MbarrierKind::Invalidate
            | MbarrierKind::Wait { .. }
            | MbarrierKind::AsyncArrive { .. } => false,
        };
        match cta.home(address)? {
            (None, at) => Ok(at),
            (Some(_), _) if reaches => Ok(address),
            (Some(_), at) => Err(ErrorKind::Mbarrier {
                address: at,
                what: "CTA of the object",
                expected: "the own one".to_owned(),
                found: "another one of the cluster".to_owned(),
            }),
        }
    }

    fn signal(
        &mut self,
        cta: &mut Cta<'_>,
        op: &Mbarrier,
        addresses: &Wides,
        mask: u32,
    ) -> Result<Next, Fault> {
        let value = |warp: &Warp, src: Src| warp.registers.wides_of(src);
        let each = |f: &mut dyn FnMut(usize, u64) -> Result<(), ErrorKind>| {
            lanes(mask).try_for_each(|lane| f(lane, addresses[lane]).map_err(fault_at(lane)))
        };
        match op.kind {
            MbarrierKind::Init(_) => {}
            MbarrierKind::Invalidate => each(&mut |_, at| cta.invalidate_mbarrier(at))?,
            MbarrierKind::Expect(bytes) => {
                let bytes = value(self, bytes);
                each(&mut |lane, at| cta.count_bytes(at, bytes[lane] as u32 as i64))?;
            }
            MbarrierKind::Complete(bytes) => {
                let bytes = value(self, bytes);
                each(&mut |lane, at| cta.count_bytes(at, -(bytes[lane] as u32 as i64)))?;
            }
            MbarrierKind::Arrive(arrival) => {
                let counts = value(self, arrival.count);
                let bytes = arrival.expect.map_or([0; WARP], |bytes| value(self, bytes));
                let index = self.index;
                let registers = &mut self.registers;
                each(&mut |lane, at| {
                    if let (Some(races), true) = (&mut cta.races, op.order.release) {
                        races.signal(at, index, 1 << lane, op.order.scope);
                    }
                    let counts = [counts[lane] as u32, bytes[lane] as u32];
                    let token = cta.arrive(at, &arrival, counts)?;
                    put(registers, arrival.state, lane, token);
                    Ok(())
                })?;
            }
            MbarrierKind::AsyncArrive { group, counted } => {
                if !counted {
                    each(&mut |_, at| cta.expect_arrival(at))?;
                }
                self.in_flight.arrive_at(cta, group, addresses, mask)?;
            }
            MbarrierKind::Wait {
                done,
                phase,
                blocks,
            } => {
                let wanted = match phase {
                    Phase::State(src) | Phase::Parity(src) => value(self, src),
                };
                let mut complete = 0;
                each(&mut |lane, at| {
                    if cta.is_complete(at, phase, wanted[lane])? {
                        complete |= 1 << lane;
                    }
                    Ok(())
                })?;
                if let (Some(races), true) = (&mut cta.races, op.order.acquire) {
                    let mut rest: u32 = complete;
                    while rest != 0 {
                        let at = addresses[rest.trailing_zeros() as usize];
                        let same = lanes(rest).filter(|&lane| addresses[lane] == at);
                        let same = same.fold(0, with);
                        races.pass(at, self.index, same, op.order.scope);
                        rest &= !same;
                    }
                }
                if !blocks && complete != mask {
                    cta.polls = cta.polls.saturating_add(1);
                }
                let waits = match blocks {
                    true => !cta.schedule.gives_up(),
                    false => cta.polls > POLLS,
                };
                let sleeping = if waits { mask & !complete } else { 0 };
                self.registers.set_pred(done, mask & !sleeping, complete);
                if sleeping != 0 {
                    return Ok(Next::Sleep(sleeping));
                }
            }
        }
        Ok(Next::Advance)
    }

    fn sleeps(&self) -> bool {
        self.groups.iter().any(|group| group.wait == Wait::Mbarrier)
    }

    /// Those who wait in `try_wait` look again.
    pub(super) fn wake(&mut self) {
        for group in &mut self.groups {
            if matches!(group.wait, Wait::Mbarrier | Wait::Cluster) {
                group.wait = Wait::Ready;
            }
        }
    }

    /// Those who wait in `try_wait` go on without.
    fn come_back(&mut self, cta: &Cta<'_>) {
        let asleep = |group: &Group| group.wait == Wait::Mbarrier;
        while let Some(at) = self.groups.iter().position(asleep) {
            let group = self.groups[at];
            if let Op::Mbarrier(op) = &cta.launch.kernel.code[group.pc as usize].op
                && let MbarrierKind::Wait { done, .. } = op.kind
            {
                self.registers.set_pred(done, group.mask, 0);
            }
            self.advance(at);
        }
    }
}
