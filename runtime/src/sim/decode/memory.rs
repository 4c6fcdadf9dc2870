//! Loads, stores, atomics, fences, prefetches and `cp.async` (PTX ISA 9.7.9, 9.7.13).

use super::convert::space;
use super::float::add_halves;
use super::form::{Decoded, Form, Ty};
use super::order::{eat_scope, eat_semantics};
use crate::sim::Space;
use crate::sim::isa::{AsyncGroup, CopyBytes, Extend, Hint, Op, Order, ProxyFence, Scope, Update};
use crate::sim::lane::{Dst, Src, map1};

/// The memory ordering of `ld` and `st`: the accesses happen in order here all the same, but the
/// check for races asks for it.
fn eat_ordering(form: &mut Form) -> Order {
    if form.eat("weak") {
        return Order::WEAK;
    }
    if form.eat("volatile") {
        return Order::RELAXED;
    }
    form.eat("mmio");
    let Some(mut order) = eat_semantics(form) else {
        return Order::WEAK;
    };
    order.scope = eat_scope(form).unwrap_or_default();
    order
}

/// Gives whether the operand of a cache policy follows.
fn eat_hints(form: &mut Form) -> Decoded<bool> {
    let mut policy = false;
    form.eat_any(&["ca", "cg", "cs", "lu", "cv", "wb", "wt"]);
    form.eat("nc");
    loop {
        match form.peek() {
            Some(
                "L1::evict_normal"
                | "L1::evict_unchanged"
                | "L1::evict_first"
                | "L1::evict_last"
                | "L1::no_allocate",
            )
            | Some(
                "L2::evict_normal" | "L2::evict_first" | "L2::evict_last" | "L2::64B" | "L2::128B"
                | "L2::256B",
            ) => {
                let hint = form.peek().unwrap_or_default();
                form.eat(hint);
            }
            Some("L2::cache_hint") if !policy => policy = form.eat("L2::cache_hint"),
            _ => return Ok(policy),
        }
    }
}

/// The policy says what a cache keeps; here there is none.
pub(super) fn eat_policy(form: &mut Form, policy: bool) -> Decoded<()> {
    if policy {
        form.src(Ty::B64)?;
    }
    Ok(())
}

/// `createpolicy.fractional`: which bits a policy has is the machine's own business.
pub(super) fn create_policy(form: &mut Form) -> Decoded<Op> {
    let priorities = ["L2::evict_first", "L2::evict_last", "L2::evict_normal"];
    if !form.eat("fractional") || !form.eat_any(&priorities) || !form.eat("b64") {
        return form.bad_modifier("`.fractional`, a priority in L2 and `.b64`");
    }
    form.end_modifiers()?;
    let dst = form.dst(Ty::B64)?;
    if form.operands_left() > 0 {
        form.src(Ty::F32)?;
    }
    Ok(Op::lanes(map1(dst, Src::Imm(0), |policy: u64| policy)))
}

pub(super) fn vector(form: &mut Form) -> usize {
    form.pick(|m| match m {
        "v2" => Some(2),
        "v4" => Some(4),
        "v8" => Some(8),
        _ => None,
    })
    .unwrap_or(1)
}

fn element(form: &mut Form, count: usize) -> Decoded<Ty> {
    let ty = form.ty()?;
    form.end_modifiers()?;
    let plain = !matches!(
        ty,
        Ty::Pred | Ty::Tf32 | Ty::E4m3x2 | Ty::E5m2x2 | Ty::U16x2 | Ty::S16x2
    );
    // 32 bytes, as of sm_100, at most.
    match plain && ty.bits() as usize * count <= 256 {
        true => Ok(ty),
        false => form.unknown(),
    }
}

/// `ld`, `ldu`.
pub(super) fn load(form: &mut Form) -> Decoded<Op> {
    let order = eat_ordering(form);
    let space = form.pick(space).unwrap_or(Space::Generic);
    let policy = eat_hints(form)?;
    let count = vector(form);
    let ty = element(form, count)?;
    let dsts = form.dst_vector(ty, count)?;
    let address = form.address(space)?;
    eat_policy(form, policy)?;
    if let (Space::Param, Src::Word(_) | Src::Wide(_), [dst]) = (space, address.base, &*dsts) {
        // What a call has left in a parameter of its own.
        return Ok(Op::lanes(map1(*dst, address.base, |bits: u64| bits)));
    }
    let extend = if ty.is_signed() {
        Extend::Sign
    } else {
        Extend::Zero
    };
    Ok(Op::Load {
        dsts,
        address,
        bytes: ty.bits() / 8,
        extend,
        order,
    })
}

/// `st`.
pub(super) fn store(form: &mut Form) -> Decoded<Op> {
    let order = eat_ordering(form);
    let space = form.pick(space).unwrap_or(Space::Generic);
    if space == Space::Const {
        return form.unknown();
    }
    let policy = eat_hints(form)?;
    let count = vector(form);
    let ty = element(form, count)?;
    let address = form.address(space)?;
    let srcs = form.src_vector(ty, count)?;
    eat_policy(form, policy)?;
    if space == Space::Param {
        // Only the parameters of calls can be written.
        let dst = match address.base {
            Src::Word(slot) => Dst::Word(slot),
            Src::Wide(slot) => Dst::Wide(slot),
            _ => return form.unknown(),
        };
        return match *srcs {
            [src] => Ok(Op::lanes(map1(dst, src, |bits: u64| bits))),
            _ => form.unknown(),
        };
    }
    Ok(Op::Store {
        srcs,
        address,
        bytes: ty.bits() / 8,
        order,
    })
}

/// Wraps an update on one type as one on 64-bit values.
macro_rules! update {
    ($ty:ty, |$old:ident, $b:ident| $body:expr) => {
        |old, b, _| {
            let ($old, $b) = (old as $ty, b as $ty);
            let new: $ty = $body;
            new as u64
        }
    };
}

fn f32_add(old: u64, b: u64, _: u64) -> u64 {
    let sum = f32::from_bits(old as u32) + f32::from_bits(b as u32);
    u64::from(crate::sim::number::canonical(sum).to_bits())
}

/// The update of an `atom` or `red`.
pub(super) fn update(operation: &str, ty: Ty) -> Option<Update> {
    Some(match (operation, ty) {
        ("add", Ty::U32 | Ty::S32) => update!(u32, |old, b| old.wrapping_add(b)),
        ("add", Ty::U64 | Ty::S64) => update!(u64, |old, b| old.wrapping_add(b)),
        ("add", Ty::F32) => f32_add,
        ("add", Ty::F64) => |old, b, _| (f64::from_bits(old) + f64::from_bits(b)).to_bits(),
        ("add", Ty::F16) => {
            |old, b, _| u64::from(add_halves(Ty::F16).map_or(0, |f| f(old as u16, b as u16)))
        }
        ("add", Ty::Bf16) => {
            |old, b, _| u64::from(add_halves(Ty::Bf16).map_or(0, |f| f(old as u16, b as u16)))
        }
        ("add", Ty::F16x2) => |old, b, _| add_pair(Ty::F16, old, b),
        ("add", Ty::Bf16x2) => |old, b, _| add_pair(Ty::Bf16, old, b),
        ("min", Ty::U32) => update!(u32, |old, b| old.min(b)),
        ("min", Ty::S32) => |old, b, _| (old as i32).min(b as i32) as u32 as u64,
        ("min", Ty::U64) => update!(u64, |old, b| old.min(b)),
        ("min", Ty::S64) => update!(i64, |old, b| old.min(b)),
        ("max", Ty::U32) => update!(u32, |old, b| old.max(b)),
        ("max", Ty::S32) => |old, b, _| (old as i32).max(b as i32) as u32 as u64,
        ("max", Ty::U64) => update!(u64, |old, b| old.max(b)),
        ("max", Ty::S64) => update!(i64, |old, b| old.max(b)),
        ("inc", Ty::U32) => update!(u32, |old, b| if old >= b { 0 } else { old + 1 }),
        ("dec", Ty::U32) => update!(u32, |old, b| if old == 0 || old > b { b } else { old - 1 }),
        ("and", Ty::B32 | Ty::B64) => |old, b, _| old & b,
        ("or", Ty::B32 | Ty::B64) => |old, b, _| old | b,
        ("xor", Ty::B32 | Ty::B64) => |old, b, _| old ^ b,
        ("exch", Ty::B32 | Ty::B64) => |_, b, _| b,
        ("cas", Ty::B16 | Ty::B32 | Ty::B64) => |old, b, c| if old == b { c } else { old },
        _ => return None,
    })
}

fn add_pair(ty: Ty, old: u64, b: u64) -> u64 {
    let Some(add) = add_halves(ty) else {
        return old;
    };
    u64::from(add(old as u16, b as u16))
        | u64::from(add((old >> 16) as u16, (b >> 16) as u16)) << 16
}

/// `atom`, `red`.
pub(super) fn atomic(form: &mut Form, opcode: &str) -> Decoded<Op> {
    let mut order = eat_semantics(form).unwrap_or(Order::RELAXED);
    order.scope = eat_scope(form).unwrap_or_default();
    let space = form.pick(space).unwrap_or(Space::Generic);
    if !matches!(
        space,
        Space::Generic | Space::Global | Space::Shared | Space::Cluster
    ) {
        return form.unknown();
    }
    let operation = form.peek().unwrap_or_default();
    form.eat(operation);
    form.eat("noftz");
    let count = vector(form);
    let ty = form.ty()?;
    form.end_modifiers()?;
    let Some(f) = update(operation, ty) else {
        return form.unknown();
    };
    if opcode == "red" && matches!(operation, "exch" | "cas") {
        return form.unknown();
    }
    // Several at once are floating numbers in global memory, 16 bytes at most.
    let several = space == Space::Global
        && matches!(ty, Ty::F32 | Ty::F16 | Ty::Bf16 | Ty::F16x2 | Ty::Bf16x2)
        && ty.bits() as usize * count <= 128;
    if count > 1 && !several {
        return form.unknown();
    }
    let dsts: Box<[Dst]> = match (opcode, count) {
        ("red", _) => vec![Dst::Sink; count].into(),
        (_, 1) => Box::new([form.dst(ty)?]),
        _ => form.dst_vector(ty, count)?,
    };
    let address = form.address(space)?;
    let bs: Box<[Src]> = match count {
        1 => Box::new([form.src(ty)?]),
        _ => form.src_vector(ty, count)?,
    };
    let c = if operation == "cas" {
        form.src(ty)?
    } else {
        Src::Imm(0)
    };
    Ok(Op::Atomic {
        dsts,
        address,
        bytes: ty.bits() / 8,
        bs,
        c,
        f,
        order,
    })
}

/// `cp.async` and its groups.
pub(super) fn copy_async(form: &mut Form) -> Decoded<Op> {
    if !form.eat("async") {
        return form.unknown();
    }
    match form.peek() {
        Some("commit_group") => {
            form.eat("commit_group");
            return Ok(Op::CommitGroup(AsyncGroup::CopyAsync));
        }
        Some("mbarrier") => {
            form.eat("mbarrier");
            return super::mbarrier::copy_arrive(form);
        }
        Some("wait_group") => {
            form.eat("wait_group");
            form.end_modifiers()?;
            let groups = form.literal()?;
            let groups = groups.min(u64::from(u32::MAX)) as u32;
            return Ok(Op::WaitGroup(AsyncGroup::CopyAsync, Some(groups)));
        }
        Some("wait_all") => {
            form.eat("wait_all");
            return Ok(Op::WaitGroup(AsyncGroup::CopyAsync, None));
        }
        _ => {}
    }
    let through_l1 = form.need("`.ca` or `.cg`", |m| match m {
        "ca" => Some(true),
        "cg" => Some(false),
        _ => None,
    })?;
    if !form.eat_any(&["shared", "shared::cta"]) || !form.eat("global") {
        return form.bad_modifier("`.shared.global`");
    }
    let policy = form.eat("L2::cache_hint");
    form.eat_any(&["L2::64B", "L2::128B", "L2::256B"]);
    form.end_modifiers()?;
    let dst = form.address(Space::Shared)?;
    let src = form.address(Space::Global)?;
    let bytes = form.literal()?;
    if !matches!((through_l1, bytes), (true, 4 | 8 | 16) | (false, 16)) {
        return form.bad(if through_l1 {
            "4, 8 or 16 bytes"
        } else {
            "16 bytes"
        });
    }
    let src_bytes = if form.operands_left() == usize::from(policy) {
        CopyBytes::All
    } else if form.is_pred() {
        CopyBytes::Ignore(form.pred_src()?)
    } else {
        CopyBytes::Count(form.src(Ty::U32)?)
    };
    eat_policy(form, policy)?;
    Ok(Op::CopyAsync {
        dst,
        src,
        bytes: bytes as u32,
        src_bytes,
    })
}

/// `membar`, `fence`: memory is sequential here, but the check for races asks for them.
pub(super) fn fence(form: &mut Form, opcode: &str) -> Decoded<Op> {
    if opcode == "membar" {
        let scope = form.need("`.cta`, `.gl` or `.sys`", |m| match m {
            "cta" => Some(Scope::Cta),
            "gl" => Some(Scope::Gpu),
            "sys" => Some(Scope::Sys),
            _ => None,
        })?;
        return Ok(Op::Fence(Order {
            scope,
            ..Order::BOTH
        }));
    }
    if form.eat("proxy") {
        return fence_proxy(form);
    }
    if form.eat("mbarrier_init") {
        // Of what was done before it orders only the making of objects; that is not told apart here.
        if !form.eat("release") || !form.eat("cluster") {
            return form.bad_modifier("`.release.cluster`");
        }
        return Ok(Op::Fence(Order {
            strong: true,
            acquire: false,
            release: true,
            scope: Scope::Cluster,
        }));
    }
    let order = eat_semantics(form).unwrap_or(Order::BOTH);
    match eat_scope(form) {
        Some(scope) => Ok(Op::Fence(Order { scope, ..order })),
        None => form.unknown(),
    }
}

/// `fence.proxy`. No two addresses are aliases of one location here, so `.alias` has nothing to order.
fn fence_proxy(form: &mut Form) -> Decoded<Op> {
    if form.eat("tensormap::generic") {
        return super::tensormap::fence(form);
    }
    let of = |global, shared| Op::ProxyFence(ProxyFence { global, shared });
    let op = form.need("`.alias`, `.async` or `.tensormap::generic`", |m| match m {
        "alias" => Some(of(false, false)),
        "async" => Some(of(true, true)),
        _ => None,
    })?;
    let space = form.pick(|m| match m {
        "global" => Some(of(true, false)),
        "shared::cta" | "shared::cluster" => Some(of(false, true)),
        _ => None,
    });
    form.end_modifiers()?;
    Ok(space.unwrap_or(op))
}

/// `prefetch`, `prefetchu`: hints, whatever the address.
pub(super) fn prefetch(form: &mut Form) -> Decoded<Op> {
    let space = form.pick(space).unwrap_or(Space::Generic);
    if form.eat("tensormap") {
        form.end_modifiers()?;
        form.address(space)?;
        return Ok(Op::Hint(Hint::Prefetch));
    }
    if !form.eat_any(&["L1", "L2", "L2::evict_last", "L2::evict_normal"]) {
        return form.bad_modifier("a cache level");
    }
    form.end_modifiers()?;
    form.address(space)?;
    Ok(Op::Hint(Hint::Prefetch))
}
