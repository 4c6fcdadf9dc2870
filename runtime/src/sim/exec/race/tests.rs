//! The check alone, told of accesses: what no instruction does yet, as those of other proxies.

use super::*;

const GLOBAL: Space = Space::Global;
const SHARED: Space = Space::Shared;

fn races(ctas: u32, warps: u32) -> Races {
    let agents = warps;
    let mut races = Races::new(Shape {
        ctas,
        warps,
        agents,
    });
    races.start(0);
    races
}

/// An access of a thread to a word of a space; `true` where it is no race.
fn touch(races: &mut Races, thread: u32, pc: u32, space: Space, act: Act, proxy: Proxy) -> bool {
    touch_in(races, thread, pc, space, act, (proxy, Order::WEAK))
}

fn touch_in(
    races: &mut Races,
    thread: u32,
    pc: u32,
    space: Space,
    act: Act,
    (proxy, order): (Proxy, Order),
) -> bool {
    let address = match space {
        SHARED => BASE,
        _ => 1 << 41,
    };
    let touch = Touch {
        space,
        act,
        order,
        proxy,
        addresses: &[address; WARP],
        bytes: 4,
        mask: 1 << (thread % 32),
        changed: u32::MAX,
    };
    let warp = thread / 32;
    races.touch(&touch, Actor { warp, pc }, None).is_ok()
}

const FENCE: ProxyFence = ProxyFence {
    global: true,
    shared: true,
};

/// A barrier of the threads of a CTA.
fn barrier(races: &mut Races, warps: u32) {
    let all: Vec<(u32, u32)> = (0..warps).map(|warp| (warp, u32::MAX)).collect();
    for &(warp, mask) in &all {
        races.arrive(warp, mask, 0);
    }
    races.open(0, &all, true, true);
}

#[test]
fn another_proxy_needs_a_proxy_fence() {
    let proxies = [Proxy::Generic, Proxy::Async];
    for (first, second) in proxies.iter().flat_map(|a| proxies.map(|b| (*a, b))) {
        for (fences, ordered) in [(false, first == second), (true, true)] {
            for space in [GLOBAL, SHARED] {
                for thread in [0, 1, 32] {
                    let mut races = races(1, 2);
                    assert!(touch(&mut races, 0, 1, space, Act::Write, first));
                    if fences {
                        races.fence_proxy(0, 1, FENCE);
                    }
                    barrier(&mut races, 2);
                    let found = touch(&mut races, thread, 2, space, Act::Read, second);
                    assert_eq!(
                        found, ordered,
                        "{first:?} {second:?} {fences} {space} {thread}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_fence_lies_on_the_way() {
    let run = |before: u32, after: u32, space: Space, fence: ProxyFence| {
        let mut races = races(1, 2);
        assert!(touch(&mut races, 0, 1, space, Act::Write, Proxy::Generic));
        races.fence_proxy(before / 32, 1 << (before % 32), fence);
        barrier(&mut races, 2);
        races.fence_proxy(after / 32, 1 << (after % 32), fence);
        touch(&mut races, 32, 2, space, Act::Read, Proxy::Async)
    };
    // By the writer before the barrier, by the reader after it, by others on neither side.
    assert!(run(0, 5, SHARED, FENCE) && run(5, 32, SHARED, FENCE));
    assert!(!run(5, 5, SHARED, FENCE) && !run(32, 0, SHARED, FENCE));
    // For the space that is accessed.
    let (global, shared) = (true, false);
    let of_global = ProxyFence { global, shared };
    assert!(run(0, 5, GLOBAL, of_global) && !run(0, 5, SHARED, of_global));
}

#[test]
fn a_fence_does_not_cover_what_comes_after_it() {
    let mut races = races(1, 1);
    assert!(touch(&mut races, 0, 1, SHARED, Act::Write, Proxy::Generic));
    races.fence_proxy(0, 1, FENCE);
    assert!(touch(&mut races, 0, 2, SHARED, Act::Write, Proxy::Generic));
    assert!(!touch(&mut races, 0, 3, SHARED, Act::Read, Proxy::Async));
}

#[test]
fn a_fence_alone_orders_no_threads() {
    let mut races = races(1, 1);
    assert!(touch(&mut races, 0, 1, SHARED, Act::Write, Proxy::Generic));
    races.fence_proxy(0, 3, FENCE);
    assert!(!touch(&mut races, 1, 2, SHARED, Act::Read, Proxy::Async));
}

fn strong(scope: crate::sim::isa::Scope) -> (Proxy, Order) {
    let order = Order {
        scope,
        ..Order::RELAXED
    };
    (Proxy::Generic, order)
}

#[test]
fn scopes_reach_as_far_as_their_threads() {
    use crate::sim::isa::Scope::{Cluster, Cta, Gpu, Sys};
    let all = [Cta, Cluster, Gpu, Sys];
    for (first, second) in all.iter().flat_map(|a| all.map(|b| (*a, b))) {
        // The other thread: of the CTA, of the cluster, of another cluster.
        for (cluster, rank, least) in [(0, 0, Cta), (0, 1, Cluster), (1, 0, Gpu)] {
            let mut races = races(2, 1);
            assert!(touch_in(
                &mut races,
                0,
                1,
                GLOBAL,
                Act::Update,
                strong(first)
            ));
            if cluster > 0 {
                races.start(cluster);
            }
            races.turn(rank);
            let meets = touch_in(&mut races, 1, 2, GLOBAL, Act::Update, strong(second));
            assert_eq!(
                meets,
                first.min(second) >= least,
                "{first:?} {second:?} {least:?}"
            );
        }
    }
}

#[test]
fn the_ctas_of_a_cluster_have_shared_memory_and_barriers_of_their_own() {
    let mut races = races(2, 1);
    assert!(touch(&mut races, 0, 1, SHARED, Act::Write, Proxy::Generic));
    assert!(touch(&mut races, 0, 1, GLOBAL, Act::Write, Proxy::Generic));
    races.turn(1);
    assert!(touch(&mut races, 0, 1, SHARED, Act::Write, Proxy::Generic));
    barrier(&mut races, 1);
    assert!(!touch(&mut races, 1, 2, GLOBAL, Act::Read, Proxy::Generic));
    races.turn(0);
    assert!(!touch(&mut races, 1, 2, SHARED, Act::Read, Proxy::Generic));
    barrier(&mut races, 1);
    assert!(touch(&mut races, 1, 2, SHARED, Act::Read, Proxy::Generic));
}

#[test]
fn a_cluster_scope_orders_the_cluster_alone() {
    use crate::sim::isa::Scope::{Cluster, Cta, Gpu};
    for (scope, rank, cluster, ordered) in [
        (Cluster, 1, 0, true),
        (Cta, 1, 0, false),
        (Cluster, 0, 1, false),
        (Gpu, 0, 1, true),
    ] {
        let mut races = races(2, 1);
        let order = Order {
            scope,
            ..Order::BOTH
        };
        let flag = |races: &mut Races, pc: u32, act: Act| {
            // Another object than the data.
            let touch = Touch {
                space: GLOBAL,
                act,
                order,
                proxy: Proxy::Generic,
                addresses: &[1 << 42; WARP],
                bytes: 4,
                mask: 1,
                changed: u32::MAX,
            };
            let _ = races.touch(&touch, Actor { warp: 0, pc }, None);
        };
        assert!(touch(&mut races, 0, 1, GLOBAL, Act::Write, Proxy::Generic));
        flag(&mut races, 2, Act::Write);
        if cluster > 0 {
            races.start(cluster);
        }
        races.turn(rank);
        flag(&mut races, 3, Act::Read);
        let found = touch(&mut races, 0, 4, GLOBAL, Act::Read, Proxy::Generic);
        assert_eq!(found, ordered, "{scope:?} {rank} {cluster}");
    }
}
