//! What a memory operation orders, and among whom: `.acquire`, `.gpu` and the like (PTX ISA 8.5, 8.8).

use super::form::Form;
use crate::sim::isa::{Order, Scope};

/// The threads among which an operation counts as one, by name.
pub(super) fn eat_scope(form: &mut Form) -> Option<Scope> {
    form.pick(|m| match m {
        "cta" => Some(Scope::Cta),
        "cluster" => Some(Scope::Cluster),
        "gpu" => Some(Scope::Gpu),
        "sys" => Some(Scope::Sys),
        _ => None,
    })
}

/// Acquire and release semantics by name.
pub(super) fn eat_semantics(form: &mut Form) -> Option<Order> {
    let order = |acquire, release| Order {
        strong: true,
        acquire,
        release,
        scope: Scope::Gpu,
    };
    form.pick(|m| match m {
        "relaxed" => Some(Order::RELAXED),
        "acquire" => Some(order(true, false)),
        "release" => Some(order(false, true)),
        "acq_rel" | "sc" | "seq_cst" => Some(Order::BOTH),
        _ => None,
    })
}
