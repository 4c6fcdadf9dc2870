//! Bulk copies (PTX ISA 9.7.9.25.4 and 9.7.9.25.5): `cp.async.bulk`, `cp.reduce.async.bulk`, their groups and prefetches.

use super::float::extremum_of_halves;
use super::form::{Decoded, Form, Ty};
use super::memory::{eat_policy, update, vector};
use crate::sim::Space;
use crate::sim::isa::{
    Address, AsyncGroup, Bulk, BulkGlobal, BulkUpdate, Hint, Op, StoreAsync, Update, UpdateKind,
};
use crate::sim::number::canonical;
use crate::tensor::DType;

/// `cp.async.bulk`, behind `cp`.
pub(super) fn copy(form: &mut Form) -> Decoded<Op> {
    form.eat("async");
    form.eat("bulk");
    if form.eat("commit_group") {
        return Ok(Op::CommitGroup(AsyncGroup::Bulk));
    }
    if form.eat("wait_group") {
        let read = form.eat("read");
        form.end_modifiers()?;
        let left = form.literal()?.min(u64::from(u32::MAX)) as u32;
        return Ok(match read {
            true => Op::WaitGroupRead(left),
            false => Op::WaitGroup(AsyncGroup::Bulk, Some(left)),
        });
    }
    if form.eat("prefetch") {
        return prefetch(form);
    }
    match form.eat("tensor") {
        true => tensor(form),
        false => flat(form),
    }
}

/// `cp.reduce.async.bulk`, behind `cp`.
pub(super) fn reduce(form: &mut Form) -> Decoded<Op> {
    form.eat("reduce");
    if !form.eat("async") || !form.eat("bulk") {
        return form.bad_modifier("`.async.bulk`");
    }
    if form.eat("tensor") {
        let rank = rank(form)?;
        direction(form, &["global"], &["shared::cta"])?;
        let update = form.need("an operation", update_kind)?;
        let pixels = mode(form, rank, "im2col_no_offs");
        return store(form, Some(rank), Some(update), pixels);
    }
    if form.eat("global") {
        direction(form, &[], &["shared::cta"])?;
        return store(form, None, None, false);
    }
    direction(form, &["shared::cluster"], &["shared::cta"])?;
    completes_at_barrier(form)?;
    let update = typed_update(form)?;
    to_peer(form, Some(update))
}

fn update_kind(name: &str) -> Option<UpdateKind> {
    UpdateKind::ALL.into_iter().find(|kind| kind.name() == name)
}

fn typed_update(form: &mut Form) -> Decoded<BulkUpdate> {
    form.eat("noftz");
    let kind = form.need("an operation", update_kind)?;
    let ty = form.ty()?;
    form.end_modifiers()?;
    match typed(kind, ty) {
        Some(function) => Ok(BulkUpdate::Typed {
            function,
            bytes: ty.bits() / 8,
        }),
        None => form.unknown(),
    }
}

/// An update of elements of a type.
fn typed(kind: UpdateKind, ty: Ty) -> Option<Update> {
    match (kind, ty) {
        (UpdateKind::Add, Ty::F32) => Some(add_flushed),
        (UpdateKind::Min | UpdateKind::Max, Ty::F16 | Ty::Bf16) => {
            extremum_of_halves(kind == UpdateKind::Max, ty)
        }
        _ => update(kind.name(), ty),
    }
}

/// The sum of two f32, of which subnormal numbers are zeros, and the result too.
fn add_flushed(old: u64, b: u64, _: u64) -> u64 {
    let flushed = |x: f32| {
        if x.is_subnormal() {
            0.0f32.copysign(x)
        } else {
            x
        }
    };
    let [old, b] = [old, b].map(|bits| flushed(f32::from_bits(bits as u32)));
    u64::from(canonical(flushed(old + b)).to_bits())
}

/// An update of elements of a tensor map's type; nothing where the ISA has none.
pub(crate) fn update_of_map(kind: UpdateKind, dtype: DType) -> Option<Update> {
    let bits = matches!(kind, UpdateKind::And | UpdateKind::Or | UpdateKind::Xor);
    let ty = match dtype {
        DType::I32 | DType::U32 if bits => Ty::B32,
        DType::I64 | DType::U64 if bits => Ty::B64,
        DType::F16 => Ty::F16,
        DType::BF16 => Ty::Bf16,
        DType::F32 => Ty::F32,
        DType::I32 => Ty::S32,
        DType::U32 => Ty::U32,
        DType::I64 => Ty::S64,
        DType::U64 => Ty::U64,
        DType::TF32
        | DType::F64
        | DType::I16
        | DType::U16
        | DType::I8
        | DType::U8
        | DType::Bool
        | DType::F8E4M3
        | DType::F8E5M2 => return None,
    };
    typed(kind, ty)
}

fn rank(form: &mut Form) -> Decoded<usize> {
    form.need("`.1d` to `.5d`", |m| match m {
        "1d" => Some(1),
        "2d" => Some(2),
        "3d" => Some(3),
        "4d" => Some(4),
        "5d" => Some(5),
        _ => None,
    })
}

/// Destination and source.
fn direction(form: &mut Form, dst: &[&str], src: &[&str]) -> Decoded<()> {
    if !dst.is_empty() && !form.eat_any(dst) || !form.eat_any(src) {
        return form.bad_modifier("a destination and a source");
    }
    Ok(())
}

/// `.mbarrier::complete_tx::bytes`.
fn completes_at_barrier(form: &mut Form) -> Decoded<()> {
    match form.eat("mbarrier::complete_tx::bytes") {
        true => Ok(()),
        false => form.bad_modifier("`.mbarrier::complete_tx::bytes`"),
    }
}

fn tensor(form: &mut Form) -> Decoded<Op> {
    let rank = rank(form)?;
    if form.eat("global") {
        direction(form, &[], &["shared::cta"])?;
        let pixels = mode(form, rank, "im2col_no_offs");
        return store(form, Some(rank), None, pixels);
    }
    let space = form.need(
        "`.global`, `.shared::cta` or `.shared::cluster`",
        target_space,
    )?;
    direction(form, &[], &["global"])?;
    let pixels = mode(form, rank, "im2col");
    load(form, Some(rank), space, pixels)
}

fn flat(form: &mut Form) -> Decoded<Op> {
    if form.eat("global") {
        direction(form, &[], &["shared::cta"])?;
        return store(form, None, None, false);
    }
    if let Some(space) = form.pick(target_space) {
        if form.eat("global") {
            return load(form, None, space, false);
        }
        if space == Space::Cluster && form.eat("shared::cta") {
            completes_at_barrier(form)?;
            form.end_modifiers()?;
            return to_peer(form, None);
        }
    }
    form.bad_modifier("a destination and a source")
}

/// The load mode; whether it is im2col, of this name.
fn mode(form: &mut Form, rank: usize, im2col: &str) -> bool {
    !form.eat("tile") && rank > 2 && form.eat(im2col)
}

/// The tensor map with coordinates, or an address; a size follows later, and in im2col mode the offsets of a load.
fn global(form: &mut Form, rank: Option<usize>, im2col: bool) -> Decoded<BulkGlobal> {
    match rank {
        Some(rank) => {
            let (map, coordinates) = form.tensor(rank)?;
            Ok(BulkGlobal::Tensor {
                map,
                coordinates,
                offsets: im2col.then(Box::default),
            })
        }
        None => Ok(BulkGlobal::Flat {
            address: form.address(Space::Global)?,
        }),
    }
}

fn target_space(name: &str) -> Option<Space> {
    match name {
        "shared::cta" => Some(Space::Shared),
        "shared::cluster" => Some(Space::Cluster),
        _ => None,
    }
}

fn load(form: &mut Form, rank: Option<usize>, space: Space, im2col: bool) -> Decoded<Op> {
    completes_at_barrier(form)?;
    let multicast = form.eat("multicast::cluster");
    let policy = form.eat("L2::cache_hint");
    form.end_modifiers()?;
    if multicast && space != Space::Cluster {
        return form.unknown();
    }
    let to = form.address(space)?;
    let mut from = global(form, rank, im2col)?;
    let size = match rank {
        Some(_) => None,
        None => Some(form.src(Ty::U32)?),
    };
    let barrier = form.address(space)?;
    if let (Some(rank), BulkGlobal::Tensor { offsets, .. }) = (rank, &mut from)
        && let Some(offsets) = offsets
    {
        *offsets = form.src_vector(Ty::U16, rank - 2)?;
    }
    let multicast = match multicast {
        true => Some(form.src(Ty::U16)?),
        false => None,
    };
    eat_policy(form, policy)?;
    Ok(Op::Bulk(Box::new(Bulk::Load {
        from,
        to,
        size,
        barrier,
        multicast,
    })))
}

fn store(
    form: &mut Form,
    rank: Option<usize>,
    kind: Option<UpdateKind>,
    im2col: bool,
) -> Decoded<Op> {
    if !form.eat("bulk_group") {
        return form.bad_modifier("`.bulk_group`");
    }
    let policy = form.eat("L2::cache_hint");
    let masked = rank.is_none() && form.eat("cp_mask");
    let update = match (kind, form.peek()) {
        (Some(kind), _) => Some(BulkUpdate::OfMap(kind)),
        (None, Some(_)) if rank.is_none() && !masked => Some(typed_update(form)?),
        (None, _) => None,
    };
    if masked {
        return form.unknown();
    }
    form.end_modifiers()?;
    let to = global(form, rank, im2col)?;
    let from = form.address(Space::Shared)?;
    let size = match rank {
        Some(_) => None,
        None => Some(form.src(Ty::U32)?),
    };
    eat_policy(form, policy)?;
    Ok(Op::Bulk(Box::new(Bulk::Store {
        from,
        to,
        size,
        update,
    })))
}

fn to_peer(form: &mut Form, update: Option<BulkUpdate>) -> Decoded<Op> {
    let to: Address = form.address(Space::Cluster)?;
    let from = form.address(Space::Shared)?;
    let size = form.src(Ty::U32)?;
    let barrier = form.address(Space::Cluster)?;
    Ok(Op::Bulk(Box::new(Bulk::Peer {
        from,
        to,
        size,
        barrier,
        update,
    })))
}

/// Here are no caches.
fn prefetch(form: &mut Form) -> Decoded<Op> {
    let rank = match form.eat("tensor") {
        true => Some(rank(form)?),
        false => None,
    };
    direction(form, &["L2"], &["global"])?;
    let im2col = rank.is_some_and(|rank| mode(form, rank, "im2col"));
    let policy = form.eat("L2::cache_hint");
    form.end_modifiers()?;
    global(form, rank, im2col)?;
    match rank {
        None => drop(form.src(Ty::U32)?),
        Some(rank) if im2col => drop(form.src_vector(Ty::U16, rank - 2)?),
        Some(_) => {}
    }
    eat_policy(form, policy)?;
    Ok(Op::Hint(Hint::Prefetch))
}

/// `st.async`, `red.async`.
pub(super) fn store_async(form: &mut Form, opcode: &str) -> Decoded<Op> {
    form.eat("async");
    if opcode == "st" {
        form.eat("weak");
    } else if !form.eat("relaxed") || !form.eat("cluster") {
        return form.bad_modifier("`.relaxed.cluster`");
    }
    form.eat("shared::cluster");
    completes_at_barrier(form)?;
    let (count, ty, update) = match opcode {
        "st" => {
            let count = vector(form);
            let ty = form.ty()?;
            let legal = matches!(
                ty,
                Ty::B32 | Ty::B64 | Ty::U32 | Ty::U64 | Ty::S32 | Ty::S64 | Ty::F32 | Ty::F64
            );
            if !legal || count > 4 {
                return form.unknown();
            }
            (count, ty, None)
        }
        _ => {
            let kind = form.need("an operation", update_kind)?;
            let ty = form.ty()?;
            let legal = match kind {
                UpdateKind::Inc | UpdateKind::Dec => ty == Ty::U32,
                UpdateKind::Min | UpdateKind::Max => matches!(ty, Ty::U32 | Ty::S32),
                UpdateKind::And | UpdateKind::Or | UpdateKind::Xor => ty == Ty::B32,
                UpdateKind::Add => matches!(ty, Ty::U32 | Ty::S32 | Ty::U64),
            };
            match typed(kind, ty) {
                Some(update) if legal => (1, ty, Some(update)),
                _ => return form.unknown(),
            }
        }
    };
    form.end_modifiers()?;
    let address = form.address(Space::Cluster)?;
    let srcs = form.src_vector(ty, count)?;
    let barrier = form.address(Space::Cluster)?;
    Ok(Op::StoreAsync(Box::new(StoreAsync {
        address,
        barrier,
        srcs,
        bytes: ty.bits() / 8,
        update,
    })))
}
