//! What was chosen for each copy and gemm of a kernel, and why not something wider, and how buffers that
//! passes made lie in shared memory: `--remarks`.
//!
//! Nothing is changed: what a copy is taken apart into follows from the types at the cute level, so it
//! can be said before it is done. What passes choose where nothing at that level shows why, they say themselves (`said.rs`).
use super::convert_cute_to_gpu::{Vectors, common_vectors};
use super::ir_utils::{collect_nested, kernels, string_attribute};
use super::tile::legalize_swizzle::ACCESSES;
use super::tile::partition::{MULTIPLIED_IN, OF_PARTED};
use super::tile::promises::for_vectors;
use super::tile::{REASON, UNSHARED};
use crate::codegen::messages::{Message, Severity, place};
use cutec_abi::counted;
use cutec_dialects::atoms::{BulkCopy, Issuer, TmaAtom, TmaKind};
use cutec_dialects::builder::{IrOp, IrValue, operands_of, result_of};
use cutec_dialects::elem::Space;
use cutec_dialects::ir::values_of;
use cutec_dialects::memo::val_of;
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::{
    BulkDirection, are_neighbours, bulk_plan, contiguous_width, copy_plan, gemm_plan, offsets_of,
    tma_plan,
};
use cutec_dialects::target::WIDEST_ACCESS;
use cutec_dialects::tile::{GATHERED_SINCE, Precision};
use cutec_dialects::types::Vars;
use cutec_dialects::value::{Val, View, without_widths};
use cutec_layout::Int;
use melior::ir::operation::OperationLike;
use std::collections::HashSet;
use std::sync::Arc;

/// A remark for each copy and gemm of the module, in order, each once for its place in the source.
pub fn remarks(module: IrOp) -> Vec<Message> {
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    for (_, functions) in kernels(module) {
        for function in functions {
            let mut inside = Vec::new();
            collect_nested(function, &mut inside);
            for op in inside {
                let Some(text) = remark(op) else { continue };
                let text = without_widths(&text);
                let place = place(op.location());
                if known.insert((place.clone(), text.clone())) {
                    found.push(Message {
                        severity: Severity::Remark,
                        place,
                        text,
                        notes: Vec::new(),
                    });
                }
            }
        }
    }
    found
}

fn remark(op: IrOp) -> Option<String> {
    let kind = CuteOp::of(op)?;
    if kind == CuteOp::MemrefAllocSmem {
        return buffer(op);
    }
    if !matches!(kind, CuteOp::Copy | CuteOp::AutovecCopy | CuteOp::Gemm) {
        return None;
    }
    let operands = values_of(&op, &mut Vars::default()).ok()?;
    // The sides of a copy stand behind its atom.
    let operand = |at: usize| operands_of(op).nth(at);
    match (kind, operands.as_slice()) {
        (CuteOp::Copy, [Val::TmaAtom(atom), rest @ ..]) => tma_copy(atom, rest),
        (CuteOp::Copy, [Val::BulkCopy(atom), rest @ ..]) => bulk_copy(atom, rest),
        (CuteOp::Copy, [atom, src, dst, pred @ ..]) => {
            let of_parted = op.attribute(OF_PARTED).is_ok();
            let sides = ((src, operand(1)?), (dst, operand(2)?));
            let chosen = copy(atom, sides, pred, of_parted)?;
            Some(match string_attribute(op, GATHERED_SINCE) {
                Some(reason) => format!("{chosen}; gathered, not by a tensor map: {reason}"),
                None => chosen,
            })
        }
        (CuteOp::AutovecCopy, [Val::View(src), Val::View(dst)]) => {
            autovec_copy((src, operand(0)?), (dst, operand(1)?))
        }
        (CuteOp::Gemm, [mma, d, a, b, c, ..]) => {
            let precision = string_attribute(op, MULTIPLIED_IN);
            let chosen = gemm(mma, d, a, b, c)? + multiplied(mma, precision.as_deref());
            let because = |what: &str, attribute: &str| {
                let reason = string_attribute(op, attribute);
                reason.map_or(String::new(), |reason| format!("; {what}: {reason}"))
            };
            let not_by_wgmma = because("not by `wgmma`", REASON);
            let alone = because("no `multicast`", UNSHARED);
            Some(format!("{chosen}{not_by_wgmma}{alone}"))
        }
        _ => None,
    }
}

/// A buffer whose layout a pass has chosen.
fn buffer(op: IrOp) -> Option<String> {
    let accesses = string_attribute(op, ACCESSES)?;
    let Ok(Val::View(view)) = val_of(result_of(op, 0)) else {
        return None;
    };
    Some(format!(
        "shared memory of {} as {}; {accesses}",
        view.ptr.elem, view.layout
    ))
}

/// A copy by an atom; one that only threads make of which the end of a tensor parts a vector.
fn copy(
    atom: &Val,
    ((src, from), (dst, to)): ((&Val, IrValue), (&Val, IrValue)),
    pred: &[Val],
    of_parted: bool,
) -> Option<String> {
    let plan = copy_plan(atom, src, dst, pred).ok()?;
    let [src, dst] = &plan.views;
    let count = plan.src.starts.len();
    let guard = if pred.is_empty() {
        ""
    } else {
        ", each under a predicate"
    };
    let spaces = format!("{} to {}", src.ptr.space, dst.ptr.space);
    let atom = plan.atom;
    let what = atom.op.instruction().remark(atom.elem);
    let wider = match atom.issuer() {
        _ if of_parted => ", where the end of the tensor parts a vector".to_owned(),
        Issuer::Thread => wider(
            (src, from),
            (dst, to),
            atom.src_values() * atom.elem.bytes(),
        ),
        Issuer::Warp | Issuer::Warpgroup => String::new(),
    };
    Some(format!(
        "copy from {spaces}: {count} × {what}{guard}{wider}"
    ))
}

/// The boxes of a copy by a tensor map.
fn tma_copy(atom: &Arc<TmaAtom>, operands: &[Val]) -> Option<String> {
    let plan = tma_plan(atom, operands).ok()?;
    let count = plan.steps.len();
    let spaces = match atom.kind {
        TmaKind::Load => "gmem to smem",
        TmaKind::Store | TmaKind::Reduce(_) => "smem to gmem",
    };
    let modes = atom.order.iter().zip(&atom.extents);
    let extents: Vec<String> = modes
        .map(|(mode, extent)| format!("{extent} along mode {mode}"))
        .collect();
    let swizzle = match atom.span.bytes() {
        0 => "without a swizzle".to_owned(),
        bytes => format!("swizzled in {bytes} bytes"),
    };
    // A load has a mask behind the tile, the view and the barrier.
    let to = match (atom.kind, atom.pixels, operands.len()) {
        (TmaKind::Load, None, 5) => ", to several blocks of the cluster",
        _ => "",
    };
    Some(format!(
        "copy from {spaces} by a tensor map: {count} × a box of {} of {}, {swizzle}; {} bytes{to}",
        extents.join(", "),
        atom.elem.language_name(),
        atom.bytes()
    ))
}

/// The runs of a bulk copy.
fn bulk_copy(atom: &BulkCopy, operands: &[Val]) -> Option<String> {
    let plan = bulk_plan(atom, operands).ok()?;
    let spaces = match plan.direction {
        BulkDirection::Load => "gmem to smem",
        BulkDirection::Store => "smem to gmem",
        BulkDirection::Peer => "smem to that of another block",
    };
    let what = match atom.reduction {
        None => "bulk copy".to_owned(),
        Some(how) => format!("bulk reduction by {}", how.name()),
    };
    let bytes = match plan.bytes.as_static() {
        Some(bytes) => counted(bytes, "byte"),
        None => "a number of bytes that is known at run time".to_owned(),
    };
    Some(format!(
        "{what} from {spaces}: {} × {bytes}",
        plan.runs.len()
    ))
}

/// Behind a copy by an atom: which atom would move more at a time, or what is in the way.
fn wider(src: (&View, IrValue), dst: (&View, IrValue), bytes: i64) -> String {
    if bytes >= WIDEST_ACCESS {
        return "; the widest there is".to_owned();
    }
    match (chosen(src.0), chosen(dst.0)) {
        (Some(from), Some(to)) if from.min(to) > bytes => format!(
            "; {} bytes would be legal: `bits = {}`",
            from.min(to),
            8 * from.min(to)
        ),
        _ => {
            let offsets = [src, dst].map(|(view, _)| offsets_of(view.layout.inner()));
            match offsets {
                [Ok(from), Ok(to)] => reasons([(src, &from), (dst, &to)], bytes),
                _ => String::new(),
            }
        }
    }
}

fn autovec_copy(source: (&View, IrValue), destination: (&View, IrValue)) -> Option<String> {
    let (src, dst) = (source.0, destination.0);
    let Vectors { from, to, width } = common_vectors(src, dst).ok()?;
    let bytes = width * src.ptr.elem.bytes();
    let count = from.len() as i64 / width;
    let why = match bytes >= WIDEST_ACCESS {
        true => "; the widest there is".to_owned(),
        false => reasons([(source, &from), (destination, &to)], bytes),
    };
    let spaces = format!("{} to {}", src.ptr.space, dst.ptr.space);
    Some(format!(
        "copy from {spaces}: {count} × {}{why}",
        counted(bytes, "byte")
    ))
}

/// Bytes of the widest legal access to a view; registers allow any.
fn chosen(view: &View) -> Option<i64> {
    let elem = view.ptr.elem.bytes();
    match view.ptr.space {
        Space::Rmem => Some(WIDEST_ACCESS),
        Space::Gmem | Space::Smem | Space::Dsmem => {
            let offsets = offsets_of(view.layout.inner()).ok()?;
            Some(elem * contiguous_width(view, &offsets))
        }
    }
}

/// Why neither side allows twice as many bytes at a time.
fn reasons(sides: [((&View, IrValue), &[Int]); 2], bytes: i64) -> String {
    let both = ["source", "destination"].into_iter().zip(sides);
    let found: Vec<String> = both
        .filter_map(|(side, (view, offsets))| reason(side, view, offsets, 2 * bytes))
        .collect();
    match found.is_empty() {
        true => String::new(),
        false => format!("; not wider: {}", found.join("; ")),
    }
}

fn reason(
    side: &str,
    (view, value): (&View, IrValue),
    offsets: &[Int],
    bytes: i64,
) -> Option<String> {
    if view.ptr.space == Space::Rmem {
        return None;
    }
    let (elem, count) = (view.ptr.elem.bytes(), offsets.len() as i64);
    let next = bytes / elem;
    if next < 1 || count % next != 0 {
        let plural = if count == 1 { "" } else { "s" };
        return Some(format!("the {side} has {count} element{plural} a thread"));
    }
    let groups = offsets.chunks(next as usize);
    if !groups.clone().all(are_neighbours) {
        let layout = &view.layout;
        return Some(format!(
            "{next} elements of the {side} do not lie side by side in {layout}"
        ));
    }
    if let Some(swizzle) = view.layout.swizzle()
        && next > 1 << swizzle.base()
    {
        return Some(format!(
            "the swizzle {swizzle} of the {side} moves fewer elements together"
        ));
    }
    let proven = view.alignment();
    if proven < bytes || !groups.clone().all(|group| group[0].divisible_by(next)) {
        // What it takes for the widest access that these elements could be.
        let most = WIDEST_ACCESS.min(elem * (count & count.wrapping_neg()));
        let promise = match view.ptr.space {
            Space::Gmem => match for_vectors(value, most) {
                Some(promise) => format!("; promise what {most} bytes take: `where {promise}`"),
                None => format!(
                    "; {most} bytes take extents, strides and offsets that {} divides",
                    most / elem
                ),
            },
            Space::Smem | Space::Dsmem | Space::Rmem => {
                format!("; allocate it with `align = {most}`")
            }
        };
        return Some(format!(
            "the {side} is proven to lie at multiples of {} bytes only{promise}",
            proven.min(bytes / 2)
        ));
    }
    None
}

/// What was done to factors of f32 that tensor cores multiply.
fn multiplied(mma: &Val, precision: Option<&str>) -> &'static str {
    let of_warpgroups = mma
        .mma_atom()
        .is_some_and(|atom| atom.issuer() == Issuer::Warpgroup);
    match precision.and_then(Precision::of_name) {
        None | Some(Precision::Ieee) => "",
        Some(Precision::Tf32) if of_warpgroups => {
            "; f32 rounded to tf32 by tensor maps, cut where it is gathered"
        }
        Some(Precision::Tf32) => "; f32 rounded to tf32 in registers",
        Some(Precision::Tf32x3) if of_warpgroups => "; one of three products of the parts of f32",
        Some(Precision::Tf32x3) => {
            "; one of three products of the parts of f32, for a row of instructions"
        }
    }
}

fn gemm(mma: &Val, d: &Val, a: &Val, b: &Val, c: &Val) -> Option<String> {
    let plan = gemm_plan(mma, d, a, b, c).ok()?;
    let count = plan.steps.len();
    let atom = plan.atom;
    let lies = |view: &Val| match view {
        Val::View(view) if view.ptr.space == Space::Rmem => {
            let size = view.layout.size().as_static().unwrap_or(0);
            match (size * view.ptr.elem.bits() + 31) / 32 {
                1 => "in 1 register".to_owned(),
                count => format!("in {count} registers"),
            }
        }
        _ => "in shared memory".to_owned(),
    };
    let what = atom.op.instruction().remark(&atom);
    Some(format!(
        "gemm: {count} × {what}; A {}, B {}, the accumulator {}",
        lies(a),
        lies(b),
        lies(c)
    ))
}
