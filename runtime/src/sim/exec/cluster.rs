//! What the CTAs of a cluster share: each other's shared memory (PTX ISA 5.1.6), and a barrier (9.7.13.4).
//!
//! An address in the window of shared memory has the rank of its CTA, from 1, in bits above its place there; without
//! them it is of the CTA that runs. While a CTA runs, its own memory is in [`Cta`] itself; its peers' is here.

use std::collections::BTreeMap;

use super::cta::Cta;
use super::race::Actor;
use super::shared::Bytes;
use super::warp::{Next, Wait, Warp};
use super::{Fault, mbarrier};
use crate::sim::Space;
use crate::sim::error::ErrorKind;
use crate::sim::isa::{ClusterBarrier, PEER_SHIFT};
use crate::sim::lane::lanes;

/// What a CTA shows to its peers.
#[derive(Debug)]
pub(super) struct Window {
    pub shared: Bytes,
    pub mbarriers: BTreeMap<u64, mbarrier::State>,
    /// Whether a phase was completed since those who wait last looked.
    pub completed: bool,
    /// Whether all its threads have left.
    pub is_gone: bool,
}

/// The state of a cluster; who runs has it.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Of each CTA by rank; none where there is only one.
    pub(super) windows: Vec<Window>,
    /// Threads that have not left.
    pub live: u32,
    /// Threads that have arrived at the barrier.
    arrived: u32,
    /// How often the barrier has opened.
    opened: u64,
}

impl State {
    /// Windows for CTAs whose shared memory is given.
    pub fn new(shared: Vec<Bytes>) -> State {
        let window = |shared| Window {
            shared,
            mbarriers: BTreeMap::new(),
            completed: false,
            is_gone: false,
        };
        State {
            windows: shared.into_iter().map(window).collect(),
            ..State::default()
        }
    }

    /// Begins a cluster of so many threads.
    pub fn reset(&mut self, threads: u32) {
        for window in &mut self.windows {
            window.shared.reset();
            window.mbarriers.clear();
            window.completed = false;
            window.is_gone = false;
        }
        self.live = threads;
        self.arrived = 0;
        self.opened = 0;
    }
}

impl Cta<'_> {
    /// Brings the CTA's own memory here from its window, or back.
    pub fn trade(&mut self) {
        if let Some(window) = self.cluster.windows.get_mut(self.rank as usize) {
            std::mem::swap(&mut self.shared, &mut window.shared);
            std::mem::swap(&mut self.mbarriers, &mut window.mbarriers);
            std::mem::swap(&mut self.completed, &mut window.completed);
        }
    }

    /// The rank of the peer that an address of shared memory belongs to, and its place there.
    pub fn home(&self, address: u64) -> Result<(Option<usize>, u64), ErrorKind> {
        let place = address & ((1 << PEER_SHIFT) - 1);
        let Some(rank) = (address >> PEER_SHIFT).checked_sub(1) else {
            return Ok((None, address));
        };
        let ctas = self.launch.ctas_of_cluster();
        let wrong = |expected: String, found: &str| ErrorKind::Peer {
            rank,
            expected,
            found: found.to_owned(),
        };
        if rank == u64::from(self.rank) {
            return Ok((None, place));
        }
        match self.cluster.windows.get(rank as usize) {
            None => Err(wrong(format!("a rank below {ctas}"), "none of this rank")),
            Some(window) if window.is_gone => {
                let found = "one that has left";
                Err(wrong("a CTA that runs".to_owned(), found))
            }
            Some(_) => Ok((Some(rank as usize), place)),
        }
    }

    /// The CTA that an address of a space is of, if it is another one, and its place there.
    fn place(&self, space: Space, address: u64) -> Result<(Option<usize>, u64), ErrorKind> {
        self.check_space(space, address)?;
        match space {
            Space::Shared => Ok((None, address)),
            Space::Generic
            | Space::Global
            | Space::Cluster
            | Space::Local
            | Space::Param
            | Space::Const => self.home(address),
        }
    }

    /// The memory behind an address of a space, and its place there. `.shared` alone is that of the CTA.
    pub fn memory_at(&self, space: Space, address: u64) -> Result<(&Bytes, u64), ErrorKind> {
        let (peer, at) = self.place(space, address)?;
        Ok(match peer {
            None => (&self.shared, at),
            Some(rank) => (&self.cluster.windows[rank].shared, at),
        })
    }

    /// The same, to write.
    pub fn memory_at_mut(
        &mut self,
        space: Space,
        address: u64,
    ) -> Result<(&mut Bytes, u64), ErrorKind> {
        let (peer, at) = self.place(space, address)?;
        Ok(match peer {
            None => (&mut self.shared, at),
            Some(rank) => (&mut self.cluster.windows[rank].shared, at),
        })
    }

    /// A read of shared memory by an address that names its CTA.
    #[cold]
    pub fn read_peer(&self, space: Space, address: u64, size: u32) -> Result<&[u8], ErrorKind> {
        let (memory, at) = self.memory_at(space, address)?;
        memory.read(at, size)
    }

    /// A write of shared memory by an address that names its CTA.
    #[cold]
    pub fn write_peer(
        &mut self,
        space: Space,
        address: u64,
        size: u32,
    ) -> Result<&mut [u8], ErrorKind> {
        let (memory, at) = self.memory_at_mut(space, address)?;
        memory.write(at, size)
    }

    /// The `mbarrier` objects behind an address, and its place among them.
    pub fn mbarriers_at(
        &mut self,
        address: u64,
    ) -> Result<(&mut BTreeMap<u64, mbarrier::State>, u64), ErrorKind> {
        let (peer, at) = self.home(address)?;
        Ok(match peer {
            None => (&mut self.mbarriers, at),
            Some(rank) => (&mut self.cluster.windows[rank].mbarriers, at),
        })
    }

    /// Those who wait at `mbarrier`s of the CTA of an address look again.
    pub fn wake(&mut self, address: u64) {
        match self.home(address) {
            Ok((Some(rank), _)) => self.cluster.windows[rank].completed = true,
            Ok((None, _)) | Err(_) => self.completed = true,
        }
    }

    /// `.shared` is the memory of the own CTA. An address that is of no CTA of the cluster is out of its bounds.
    pub fn check_space(&self, space: Space, address: u64) -> Result<(), ErrorKind> {
        let peers = self.cluster.windows.len() as u64;
        match (space, (address >> PEER_SHIFT).checked_sub(1)) {
            (Space::Shared, Some(rank)) if rank < peers => Err(ErrorKind::Peer {
                rank,
                expected: "an address of the own CTA, by `.shared::cta`".to_owned(),
                found: "one of the cluster, by `mapa`".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Why those who wait at the cluster's barrier wait for ever, where somebody does.
    pub fn cluster_sleepers(&self, warps: &[Warp]) -> Option<Fault> {
        let groups = |warp: &Warp| warp.groups.clone();
        let all = warps
            .iter()
            .flat_map(|warp| groups(warp).into_iter().map(move |group| (warp, group)));
        let (warp, group) = all.clone().find(|(_, group)| group.wait == Wait::Cluster)?;
        let kind = ErrorKind::ClusterDeadlock {
            arrived: self.cluster.arrived,
            expected: self.cluster.live,
            waiters: all.map(|(warp, group)| self.waiter(warp, &group)).collect(),
        };
        let lane = group.mask.trailing_zeros();
        Some(Fault::new(kind, lane).at(warp.index, group.pc))
    }

    /// Opens the cluster's barrier, if everybody has arrived.
    pub fn open_cluster_barrier(&mut self) {
        let state = &mut self.cluster;
        if state.arrived == 0 || state.arrived < state.live {
            return;
        }
        state.arrived = 0;
        state.opened += 1;
        self.completed = true;
        for window in &mut state.windows {
            window.completed = true;
        }
        if let Some(races) = &mut self.races {
            races.open_cluster();
        }
    }

    /// All threads of the CTA have left: nobody may access its memory any more.
    pub fn check_left(&mut self) -> Result<(), Fault> {
        if let Some(window) = self.cluster.windows.get_mut(self.rank as usize) {
            window.is_gone = true;
        }
        if !self.has_bulk && self.cluster.windows.is_empty() {
            return Ok(());
        }
        let left = self.races.as_ref().and_then(|races| races.left_behind());
        let Some((_, other)) = left else {
            return Ok(());
        };
        let act = self.launch.kernel.code[other.pc as usize]
            .op
            .act(other.reads);
        let kind = ErrorKind::LeftBehind {
            access: Box::new(self.party(act, other.cta, other.thread, other.pc)),
        };
        let Actor { warp, pc } = self.actor;
        Err(Fault::new(kind, 0).at(warp, pc))
    }

    /// Threads leave.
    pub fn leave_cluster(&mut self, threads: u32) {
        self.cluster.live -= threads;
        self.open_cluster_barrier();
    }
}

impl Warp {
    /// `barrier.cluster`.
    pub(super) fn cluster_barrier(
        &mut self,
        cta: &mut Cta<'_>,
        barrier: &ClusterBarrier,
        mask: u32,
    ) -> Result<Next, Fault> {
        if barrier.aligned && mask != self.live {
            return Ok(Next::Gather(mask, self.live));
        }
        let misuse = |lane: usize, expected: &str, found: &str| {
            let kind = ErrorKind::ClusterBarrier {
                expected: expected.to_owned(),
                found: found.to_owned(),
            };
            Err(Fault::new(kind, lane as u32))
        };
        let now = cta.cluster.opened;
        if !barrier.waits {
            for lane in lanes(mask) {
                if self.cluster_phase[lane] > now {
                    return misuse(lane, "`barrier.cluster.wait` first", "a second arrival");
                }
                self.cluster_phase[lane] = now + 1;
            }
            cta.cluster.arrived += mask.count_ones();
            if let Some(races) = &mut cta.races {
                races.arrive_at_cluster(self.index, mask, barrier.orders);
            }
            cta.open_cluster_barrier();
            return Ok(Next::Advance);
        }
        let mut open = 0;
        for lane in lanes(mask) {
            match self.cluster_phase[lane] {
                0 => return misuse(lane, "`barrier.cluster.arrive` first", "a wait without it"),
                phase if phase <= now => open |= 1 << lane,
                _ => {}
            }
        }
        if open != mask {
            return Ok(Next::SleepAtCluster(mask));
        }
        for lane in lanes(mask) {
            self.cluster_phase[lane] = 0;
        }
        if let Some(races) = &mut cta.races {
            races.pass_cluster(self.index, mask);
        }
        Ok(Next::Advance)
    }
}
