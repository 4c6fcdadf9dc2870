//! `mbarrier` and the arrivals of `cp.async` at one (PTX ISA 9.7.13.15).

use super::form::{Decoded, Form, Ty};
use super::order::{eat_scope, eat_semantics};
use crate::sim::Space;
use crate::sim::isa::{
    Address, Arrival, AsyncGroup, Mbarrier, MbarrierKind, Op, Order, Phase, Scope,
};
use crate::sim::lane::{Dst, Src, map1};

/// Bits of a state in which it has the pending count; the others are the phase.
pub(crate) const COUNT_BITS: u32 = 20;

/// `mbarrier`.
pub(super) fn mbarrier(form: &mut Form) -> Decoded<Op> {
    let action = form.peek().unwrap_or_default();
    form.eat(action);
    match action {
        "init" => {
            let address = address(form)?;
            let count = form.src(Ty::U32)?;
            Ok(op(address, Order::WEAK, MbarrierKind::Init(count)))
        }
        "inval" => Ok(op(address(form)?, Order::WEAK, MbarrierKind::Invalidate)),
        "arrive" | "arrive_drop" => arrive(form, action == "arrive_drop"),
        "expect_tx" | "complete_tx" => {
            let order = order(form, &[("relaxed", Order::RELAXED)], Order::RELAXED)?;
            let space = wide_space(form)?;
            let address = form.address(space)?;
            let bytes = form.src(Ty::U32)?;
            let kind = match action {
                "expect_tx" => MbarrierKind::Expect(bytes),
                _ => MbarrierKind::Complete(bytes),
            };
            Ok(op(address, order, kind))
        }
        "test_wait" | "try_wait" => wait(form, action == "try_wait"),
        "pending_count" => {
            if form.ty()? != Ty::B64 {
                return form.bad_modifier("`.b64`");
            }
            form.end_modifiers()?;
            let count = form.dst(Ty::U32)?;
            let state = form.src(Ty::B64)?;
            let mask = (1 << COUNT_BITS) - 1;
            Ok(Op::lanes(map1(count, state, move |state: u64| {
                (state & mask) as u32
            })))
        }
        _ => form.unknown(),
    }
}

/// `cp.async.mbarrier.arrive`, behind `cp.async.mbarrier`.
pub(super) fn copy_arrive(form: &mut Form) -> Decoded<Op> {
    if !form.eat("arrive") {
        return form.bad_modifier("`.arrive`");
    }
    let counted = form.eat("noinc");
    let address = address(form)?;
    Ok(op(
        address,
        RELEASE,
        MbarrierKind::AsyncArrive {
            group: AsyncGroup::CopyAsync,
            counted,
        },
    ))
}

const RELEASE: Order = Order {
    strong: true,
    acquire: false,
    release: true,
    scope: Scope::Cta,
};
const ACQUIRE: Order = Order {
    strong: true,
    acquire: true,
    release: false,
    scope: Scope::Cta,
};

fn op(address: Address, order: Order, kind: MbarrierKind) -> Op {
    Op::Mbarrier(Box::new(Mbarrier {
        address,
        order,
        kind,
    }))
}

/// Semantics and scope, of which there are both or none.
fn order(form: &mut Form, known: &[(&str, Order)], plain: Order) -> Decoded<Order> {
    let Some(name) = form.peek() else {
        return Ok(plain);
    };
    let Some((_, order)) = known.iter().find(|(known, _)| *known == name) else {
        return Ok(plain);
    };
    eat_semantics(form);
    match eat_scope(form) {
        Some(scope) => Ok(Order { scope, ..*order }),
        None => form.bad_modifier("a scope"),
    }
}

/// The modifiers at the end: `.b64`, behind a space if there is one.
fn space(form: &mut Form) -> Decoded<Space> {
    let space = match form.eat_any(&["shared", "shared::cta"]) {
        true => Space::Shared,
        false => Space::Generic,
    };
    end(form, space)
}

/// The same where the object may be one of another CTA of the cluster.
fn wide_space(form: &mut Form) -> Decoded<Space> {
    match form.eat("shared::cluster") {
        true => end(form, Space::Cluster),
        false => space(form),
    }
}

fn end(form: &mut Form, space: Space) -> Decoded<Space> {
    if !form.eat("b64") {
        return form.bad_modifier("`.b64`, or `.shared.b64`");
    }
    form.end_modifiers()?;
    Ok(space)
}

fn address(form: &mut Form) -> Decoded<Address> {
    let space = space(form)?;
    form.address(space)
}

fn arrive(form: &mut Form, drop: bool) -> Decoded<Op> {
    let expect = form.eat("expect_tx");
    let open = !expect && form.eat("noComplete");
    let semantics = [("release", RELEASE), ("relaxed", Order::RELAXED)];
    let order = order(form, &semantics, RELEASE)?;
    let space = wide_space(form)?;
    let state = form.dst(Ty::B64)?;
    if space == Space::Cluster && (state != Dst::Sink || open) {
        return form.bad("`_`: another CTA's object gives no state");
    }
    let address = form.address(space)?;
    let mut arrival = Arrival {
        state,
        count: Src::Imm(1),
        expect: None,
        open,
        drop,
    };
    if expect {
        arrival.expect = Some(form.src(Ty::U32)?);
    } else if open || form.operands_left() > 0 {
        arrival.count = form.src(Ty::U32)?;
    }
    Ok(op(address, order, MbarrierKind::Arrive(arrival)))
}

fn wait(form: &mut Form, blocks: bool) -> Decoded<Op> {
    let parity = form.eat("parity");
    let semantics = [("acquire", ACQUIRE), ("relaxed", Order::RELAXED)];
    let order = order(form, &semantics, ACQUIRE)?;
    let space = space(form)?;
    let done = form.pred_dst()?;
    let address = form.address(space)?;
    let phase = match parity {
        true => Phase::Parity(form.src(Ty::U32)?),
        false => Phase::State(form.src(Ty::B64)?),
    };
    // How long it may take at most; here it takes as long as it must.
    if blocks && form.operands_left() > 0 {
        form.src(Ty::U32)?;
    }
    let kind = MbarrierKind::Wait {
        done,
        phase,
        blocks,
    };
    Ok(op(address, order, kind))
}
