//! Fences and strong accesses: what is released at a location, and acquired from it.

use std::rc::Rc;

use super::Clocks;
use super::known::Known;
use crate::sim::Space;
use crate::sim::isa::{Order, ProxyFence, Scope};
use crate::sim::lane::{WARP, lanes};

/// A thread that looks at so many places in turn, without a fence, keeps what it has seen at each once.
const PLACES_WATCHED: usize = 8;

/// What a strong write left at a location for those who read it.
#[derive(Debug, Clone)]
pub(super) struct Published {
    cta: u32,
    scope: Scope,
    known: Rc<Known>,
}

impl Published {
    /// Whether both are what one write left, or another one that says the same.
    fn is(&self, other: &Published) -> bool {
        let same = Rc::ptr_eq(&self.known, &other.known) || self.known == other.known;
        same && (self.cta, self.scope) == (other.cta, other.scope)
    }
}

impl Clocks {
    /// `fence` of lanes.
    pub fn fence(&mut self, warp: u32, mask: u32, order: Order) {
        for lane in lanes(mask) {
            let thread = self.warp(warp) * WARP + lane;
            if order.acquire {
                for published in self.seen.remove(&thread).unwrap_or_default() {
                    self.acquire(thread, &published, order.scope);
                }
            }
            if order.release {
                let mut known = self.nothing();
                self.release(warp, 1 << lane, &mut known);
                self.fenced.insert(thread, (Rc::new(known), order.scope));
            }
        }
    }

    /// `fence.proxy` of lanes: what they know and did is ordered before accesses of another proxy.
    pub fn fence_proxy(&mut self, warp: u32, mask: u32, fence: ProxyFence) {
        let first = self.warp(warp) * WARP;
        let clock = self.clock[self.warp(warp)];
        for lane in lanes(mask) {
            let known = Rc::make_mut(&mut self.known[first + lane]);
            known.view.own[first + lane] = clock;
            known.cross(fence);
        }
        self.clock[first / WARP] += 1;
    }

    /// `fence.proxy.tensormap::generic.release` of lanes: what they know and did is released to those who acquire a map.
    pub fn release_maps(&mut self, warp: u32, mask: u32) {
        let first = self.warp(warp) * WARP;
        let clock = self.clock[self.warp(warp)];
        let threads = self.known.len();
        for lane in lanes(mask) {
            let known = Rc::make_mut(&mut self.known[first + lane]);
            known.view.own.resize(threads, 0);
            known.view.own[first + lane] = clock;
            let maps = known.maps.get_or_insert_default();
            maps.released.join(&known.view);
        }
        self.clock[first / WARP] += 1;
    }

    /// `fence.proxy.tensormap::generic.acquire` of a lane, of the map at an address.
    pub fn acquire_map(&mut self, warp: u32, lane: u32, address: u64) {
        let thread = self.warp(warp) * WARP + lane as usize;
        let known = Rc::make_mut(&mut self.known[thread]);
        let maps = known.maps.get_or_insert_default();
        let acquired = maps.acquired.entry(address).or_default();
        acquired.join(&maps.released);
    }

    /// A strong access of one thread to a location.
    pub fn synchronize(
        &mut self,
        thread: u32,
        (space, address): (Space, u64),
        order: Order,
        reads: bool,
        writes: bool,
    ) {
        let location = self.location(space, address);
        let (warp, lane) = (thread / WARP as u32, thread % WARP as u32);
        let thread = self.thread(thread);
        if reads && let Some(published) = self.published.get(&location).cloned() {
            if order.acquire {
                self.acquire(thread, &published, order.scope);
            } else {
                let seen = self.seen.entry(thread).or_default();
                // Who looks at a place until it changes sees the same again and again.
                let mut last = seen.iter().rev().take(PLACES_WATCHED);
                if !last.any(|last| last.is(&published)) {
                    seen.push(published);
                }
            }
        }
        if !writes {
            return;
        }
        let old = self.published.remove(&location);
        let offered = if order.release {
            let mut known = self.nothing();
            self.release(warp, 1 << lane, &mut known);
            Some((Rc::new(known), order.scope))
        } else {
            self.fenced.get(&thread).cloned()
        };
        let Some((known, scope)) = offered else {
            // An update leaves what others released there before.
            if let (true, Some(old)) = (reads, old) {
                self.published.insert(location, old);
            }
            return;
        };
        let known = match old {
            Some(old) if reads => self.continued(&known, &old),
            _ => known,
        };
        let published = Published {
            cta: self.cta(),
            scope: order.scope.min(scope),
            known,
        };
        self.published.insert(location, published);
    }

    /// A thread learns what was published, as far as both scopes reach.
    fn acquire(&mut self, thread: usize, published: &Published, scope: Scope) {
        let (own, cta) = (self.first / self.shape.ctas, published.cta);
        let common = self.common_scope(cta, self.cta());
        let known = Rc::make_mut(&mut self.known[thread]);
        if published.scope.min(scope) < common {
            return;
        }
        match common {
            Scope::Cta | Scope::Cluster => known.join(&published.known),
            Scope::Gpu | Scope::Sys => {
                known.join_from(own, cta / self.shape.ctas, &published.known);
            }
        }
    }

    /// What an update releases together with what was released at its location before.
    fn continued(&self, known: &Rc<Known>, old: &Published) -> Rc<Known> {
        let common = self.common_scope(old.cta, self.cta());
        if old.scope < common {
            return Rc::clone(known);
        }
        let mut joined = (**known).clone();
        match common {
            Scope::Cta | Scope::Cluster => joined.join(&old.known),
            Scope::Gpu | Scope::Sys => {
                let own = self.first / self.shape.ctas;
                joined.join_from(own, old.cta / self.shape.ctas, &old.known);
            }
        }
        Rc::new(joined)
    }
}
