//! What threads know of: up to which clock each thread's deeds are known, and how that is handed on.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::sim::isa::ProxyFence;
use crate::sim::lane::lanes;
use crate::sim::tensor_map::BYTES as MAP_BYTES;

/// Up to which clock each thread's deeds are known.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct View {
    /// Threads of the own cluster.
    pub(super) own: Vec<u32>,
    /// Threads of other clusters.
    pub(super) others: BTreeMap<u32, Rc<Vec<u32>>>,
    /// Phases of `mbarrier`s that bulk copies complete at, by number.
    pub(super) phases: Vec<u32>,
}

impl View {
    pub(super) fn nothing(threads: usize) -> View {
        View {
            own: vec![0; threads],
            others: BTreeMap::new(),
            phases: Vec::new(),
        }
    }

    pub(super) fn join(&mut self, other: &View) {
        raise(&mut self.own, &other.own);
        raise(&mut self.phases, &other.phases);
        for (&cluster, clocks) in &other.others {
            self.join_cluster(cluster, clocks);
        }
    }

    fn join_cluster(&mut self, cluster: u32, clocks: &Rc<Vec<u32>>) {
        match self.others.entry(cluster) {
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(Rc::clone(clocks));
            }
            std::collections::btree_map::Entry::Occupied(mut entry) => {
                if !Rc::ptr_eq(entry.get(), clocks) {
                    let own: &mut Vec<u32> = Rc::make_mut(entry.get_mut());
                    raise(own, clocks);
                }
            }
        }
    }

    /// Learns what a thread of `cluster` knows, from the point of view of a thread of `own`.
    pub(super) fn join_from(&mut self, own: u32, cluster: u32, other: &View) {
        let others = other.others.iter();
        for (&cluster, clocks) in others.filter(|(cluster, _)| **cluster != own) {
            self.join_cluster(cluster, clocks);
        }
        self.join_cluster(cluster, &Rc::new(other.own.clone()));
    }
}

/// What a thread knows of edits of tensor maps.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Maps {
    /// What went through a release fence.
    pub(super) released: View,
    /// What of that was acquired, for the map at an address.
    pub(super) acquired: BTreeMap<u64, View>,
}

/// What a thread knows of, as far as this is of reads.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Reads {
    pub(super) view: View,
    /// What of that went through a proxy fence for shared memory.
    pub(super) crossed: View,
}

impl Reads {
    /// Learns what another thread knows of.
    pub(super) fn learn(&mut self, known: &Known) {
        self.view.join(&known.view);
        if let Some(crossed) = &known.crossed[1] {
            self.crossed.join(crossed);
        }
    }
}

/// What a thread knows of.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::sim::exec) struct Known {
    pub(super) view: View,
    /// What of that went through a proxy fence for global and for shared memory.
    pub(super) crossed: [Option<Box<View>>; 2],
    /// Of edits of tensor maps, where there were any.
    pub(super) maps: Option<Box<Maps>>,
    /// What arrivals from other CTAs told whose scope does not reach so far: enough to write over what was read.
    pub(super) reads: Option<Box<Reads>>,
    /// The CTAs of the cluster that are known to run, a bit each.
    pub(super) met: u32,
}

impl Known {
    pub(super) fn nothing(threads: usize) -> Known {
        Known {
            view: View::nothing(threads),
            crossed: [None, None],
            maps: None,
            reads: None,
            met: 0,
        }
    }

    pub(super) fn join(&mut self, other: &Known) {
        self.view.join(&other.view);
        self.met |= other.met;
        if let Some(reads) = &other.reads {
            let own = self.reads.get_or_insert_default();
            own.view.join(&reads.view);
            own.crossed.join(&reads.crossed);
        }
        for (crossed, other) in self.crossed.iter_mut().zip(&other.crossed) {
            if let Some(other) = other {
                crossed.get_or_insert_default().join(other);
            }
        }
        if let Some(other) = &other.maps {
            let maps = self.maps.get_or_insert_default();
            maps.released.join(&other.released);
            for (address, view) in &other.acquired {
                maps.acquired.entry(*address).or_default().join(view);
            }
        }
    }

    pub(super) fn join_from(&mut self, own: u32, cluster: u32, other: &Known) {
        self.view.join_from(own, cluster, &other.view);
        for (crossed, other) in self.crossed.iter_mut().zip(&other.crossed) {
            if let Some(other) = other {
                crossed
                    .get_or_insert_default()
                    .join_from(own, cluster, other);
            }
        }
        if let Some(other) = &other.maps {
            let maps = self.maps.get_or_insert_default();
            maps.released.join_from(own, cluster, &other.released);
            for (address, view) in &other.acquired {
                let acquired = maps.acquired.entry(*address).or_default();
                acquired.join_from(own, cluster, view);
            }
        }
    }

    /// What was acquired of the edits of the map that has an address in global memory.
    pub(super) fn acquired_map(&self, address: u64) -> Option<&View> {
        let mut before = self.maps.as_ref()?.acquired.range(..=address);
        let (start, view) = before.next_back()?;
        (address - start < MAP_BYTES as u64).then_some(view)
    }

    /// Passes everything through a proxy fence.
    pub(super) fn cross(&mut self, fence: ProxyFence) {
        for (crossed, fenced) in self.crossed.iter_mut().zip([fence.global, fence.shared]) {
            if fenced {
                crossed.get_or_insert_default().join(&self.view);
            }
        }
    }
}

/// Lanes of a warp learn the same; those that have shared what they know do so afterwards.
pub(super) fn learn_together(known: &mut [Rc<Known>], mask: u32, learn: impl Fn(&mut Known)) {
    let mut last: Option<(Rc<Known>, Rc<Known>)> = None;
    for lane in lanes(mask) {
        let next = match &last {
            Some((old, new)) if Rc::ptr_eq(old, &known[lane]) => Rc::clone(new),
            _ => {
                let mut next = (*known[lane]).clone();
                learn(&mut next);
                Rc::new(next)
            }
        };
        let old = std::mem::replace(&mut known[lane], Rc::clone(&next));
        last = Some((old, next));
    }
}

fn raise(clocks: &mut Vec<u32>, by: &[u32]) {
    clocks.resize(clocks.len().max(by.len()), 0);
    for (clock, &by) in clocks.iter_mut().zip(by) {
        *clock = (*clock).max(by);
    }
}
