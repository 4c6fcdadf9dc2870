//! Branches, barriers and what lanes of a warp do together (PTX ISA 9.7.12, 9.7.13, 9.7.9.6).

use super::form::{Decoded, Form, Ty};
use crate::sim::isa::{
    Barrier, BarrierKind, BarrierReduce, ClusterBarrier, Collective, Op, ShuffleMode, VoteDst,
    VoteMode,
};

fn need_sync(form: &mut Form) -> Decoded<()> {
    match form.eat("sync") {
        true => Ok(()),
        false => form.bad_modifier("`.sync`"),
    }
}

/// `bra`.
pub(super) fn branch(form: &mut Form) -> Decoded<Op> {
    form.eat("uni");
    form.end_modifiers()?;
    Ok(Op::Branch {
        target: form.label()?,
    })
}

/// `call`: of `vprintf`, the one function that kernels know.
pub(super) fn call(form: &mut Form) -> Decoded<Op> {
    form.eat("uni");
    form.end_modifiers()?;
    let [result] = *form.dst_vector(Ty::B32, 1)? else {
        return form.bad("one result");
    };
    if form.word()? != "vprintf" {
        return form.unknown();
    }
    let [text, arguments] = *form.src_vector(Ty::B64, 2)? else {
        return form.bad("two parameters");
    };
    Ok(Op::Print {
        result,
        text,
        arguments,
    })
}

/// `brx.idx`.
pub(super) fn branch_indexed(form: &mut Form) -> Decoded<Op> {
    if !form.eat("idx") {
        return form.bad_modifier("`.idx`");
    }
    form.eat("uni");
    form.end_modifiers()?;
    Ok(Op::BranchIndexed {
        index: form.src(Ty::U32)?,
        targets: form.table()?,
    })
}

/// `barrier.cluster`, behind `barrier.cluster`.
fn cluster_barrier(form: &mut Form) -> Decoded<Op> {
    let waits = form.need("`.arrive` or `.wait`", |m| match m {
        "arrive" => Some(false),
        "wait" => Some(true),
        _ => None,
    })?;
    let orders = match waits {
        true => {
            form.eat("acquire");
            true
        }
        false => form.eat("release") || !form.eat("relaxed"),
    };
    let aligned = form.eat("aligned");
    Ok(Op::ClusterBarrier(ClusterBarrier {
        waits,
        orders,
        aligned,
    }))
}

/// `bar`, `barrier`.
pub(super) fn barrier(form: &mut Form, opcode: &str) -> Decoded<Op> {
    if opcode == "bar" && form.eat("warp") {
        need_sync(form)?;
        form.end_modifiers()?;
        return Ok(Op::Collective {
            kind: Collective::Barrier,
            members: form.src(Ty::B32)?,
        });
    }
    if opcode == "barrier" && form.eat("cluster") {
        return cluster_barrier(form);
    }
    form.eat("cta");
    let action = form.peek().unwrap_or_default();
    if !form.eat_any(&["sync", "arrive", "red"]) {
        return form.bad_modifier("`.sync`, `.arrive` or `.red`");
    }
    // `bar` is `barrier.aligned`.
    let mut aligned = opcode == "bar";
    if action == "red" {
        let mode = form.peek().unwrap_or_default();
        form.eat(mode);
        aligned |= form.eat("aligned");
        let ty = form.ty()?;
        form.end_modifiers()?;
        let mode = match (mode, ty) {
            ("popc", Ty::U32) => BarrierReduce::Popc(form.dst(Ty::U32)?),
            ("and", Ty::Pred) => BarrierReduce::And(form.pred_dst()?),
            ("or", Ty::Pred) => BarrierReduce::Or(form.pred_dst()?),
            _ => return form.unknown(),
        };
        let id = form.src(Ty::U32)?;
        let count = if form.operands_left() == 2 {
            Some(form.src(Ty::U32)?)
        } else {
            None
        };
        let kind = BarrierKind::Reduce {
            mode,
            pred: form.pred_src()?,
        };
        return Ok(Op::Barrier(Box::new(Barrier {
            id,
            count,
            aligned,
            kind,
        })));
    }
    aligned |= form.eat("aligned");
    form.end_modifiers()?;
    let id = form.src(Ty::U32)?;
    let count = if form.operands_left() > 0 {
        Some(form.src(Ty::U32)?)
    } else {
        None
    };
    if action == "arrive" && count.is_none() {
        return form.bad("a thread count after the barrier");
    }
    let kind = if action == "sync" {
        BarrierKind::Sync
    } else {
        BarrierKind::Arrive
    };
    Ok(Op::Barrier(Box::new(Barrier {
        id,
        count,
        aligned,
        kind,
    })))
}

/// `shfl.sync`.
pub(super) fn shuffle(form: &mut Form) -> Decoded<Op> {
    need_sync(form)?;
    let mode = form.need("a shuffle mode", |m| match m {
        "up" => Some(ShuffleMode::Up),
        "down" => Some(ShuffleMode::Down),
        "bfly" => Some(ShuffleMode::Bfly),
        "idx" => Some(ShuffleMode::Idx),
        _ => None,
    })?;
    if form.ty()? != Ty::B32 {
        return form.unknown();
    }
    form.end_modifiers()?;
    let (dst, valid) = form.dst_with_pred()?;
    let [a, b, c, members] = form.srcs(Ty::B32)?;
    Ok(Op::Collective {
        kind: Collective::Shuffle {
            mode,
            dst,
            valid,
            a,
            b,
            c,
        },
        members,
    })
}

/// `vote.sync`.
pub(super) fn vote(form: &mut Form) -> Decoded<Op> {
    need_sync(form)?;
    let mode = form.need("a vote mode", |m| match m {
        "all" => Some(VoteMode::All),
        "any" => Some(VoteMode::Any),
        "uni" => Some(VoteMode::Uni),
        "ballot" => Some(VoteMode::Ballot),
        _ => None,
    })?;
    let ty = form.ty()?;
    form.end_modifiers()?;
    let dst = match (mode, ty) {
        (VoteMode::Ballot, Ty::B32) => VoteDst::Word(form.dst(Ty::B32)?),
        (VoteMode::All | VoteMode::Any | VoteMode::Uni, Ty::Pred) => {
            VoteDst::Pred(form.pred_dst()?)
        }
        _ => return form.unknown(),
    };
    Ok(Op::Collective {
        kind: Collective::Vote {
            mode,
            dst,
            pred: form.pred_src()?,
        },
        members: form.src(Ty::B32)?,
    })
}

/// `match.sync`.
pub(super) fn find_equal(form: &mut Form) -> Decoded<Op> {
    let mut all = None;
    for _ in 0..2 {
        // The ISA's grammar and its examples disagree on the order.
        if !form.eat("sync") {
            all = form.pick(|m| match m {
                "any" => Some(false),
                "all" => Some(true),
                _ => None,
            });
        }
    }
    let Some(all) = all else {
        return form.bad_modifier("`.any` or `.all`");
    };
    let ty = form.ty()?;
    form.end_modifiers()?;
    if !matches!(ty, Ty::B32 | Ty::B64) {
        return form.unknown();
    }
    let (dst, valid) = form.dst_with_pred()?;
    let value = form.src(ty)?;
    Ok(Op::Collective {
        kind: Collective::Match {
            all,
            dst,
            valid,
            value,
            wide: ty == Ty::B64,
        },
        members: form.src(Ty::B32)?,
    })
}

/// `redux.sync`.
pub(super) fn reduce(form: &mut Form) -> Decoded<Op> {
    need_sync(form)?;
    let operation = form.peek().unwrap_or_default();
    form.eat(operation);
    let ty = form.ty()?;
    form.end_modifiers()?;
    let f: fn(u32, u32) -> u32 = match (operation, ty) {
        ("add", Ty::U32 | Ty::S32) => u32::wrapping_add,
        ("min", Ty::U32) => |a, b| a.min(b),
        ("max", Ty::U32) => |a, b| a.max(b),
        ("min", Ty::S32) => |a, b| (a as i32).min(b as i32) as u32,
        ("max", Ty::S32) => |a, b| (a as i32).max(b as i32) as u32,
        ("and", Ty::B32) => |a, b| a & b,
        ("or", Ty::B32) => |a, b| a | b,
        ("xor", Ty::B32) => |a, b| a ^ b,
        _ => return form.unknown(),
    };
    let dst = form.dst(ty)?;
    Ok(Op::Collective {
        kind: Collective::Reduce {
            f,
            dst,
            value: form.src(ty)?,
        },
        members: form.src(Ty::B32)?,
    })
}

/// `activemask`.
pub(super) fn active_mask(form: &mut Form) -> Decoded<Op> {
    match form.ty()? {
        Ty::B32 => Ok(Op::ActiveMask(form.dst(Ty::B32)?)),
        _ => form.unknown(),
    }
}

/// `elect.sync`.
pub(super) fn elect(form: &mut Form) -> Decoded<Op> {
    need_sync(form)?;
    form.end_modifiers()?;
    let (dst, pred) = form.dst_and_pred()?;
    Ok(Op::Collective {
        kind: Collective::Elect { dst, pred },
        members: form.src(Ty::B32)?,
    })
}
