//! Tensor maps that a kernel edits (PTX ISA, "tensormap.replace", "tensormap.cp_fenceproxy", "fence.proxy").

use super::form::{Decoded, Form, Ty};
use super::order::eat_scope;
use crate::sim::Space;
use crate::sim::isa::MapField;
use crate::sim::isa::{MapEdit, Op};
use crate::sim::tensor_map::BYTES;

/// The fields that can be replaced, those of a dimension last.
const FIELDS: [&str; 8] = [
    "global_address",
    "rank",
    "swizzle_mode",
    "fill_mode",
    "box_dim",
    "global_dim",
    "global_stride",
    "element_stride",
];

/// `tensormap`.
pub(super) fn tensormap(form: &mut Form) -> Decoded<Op> {
    if form.eat("cp_fenceproxy") {
        return publish(form);
    }
    if !form.eat("replace") || !form.eat("tile") {
        return form.bad_modifier("`.replace.tile` or `.cp_fenceproxy`");
    }
    let name = form.need("a field", |name| {
        FIELDS.into_iter().find(|field| *field == name)
    })?;
    let wide = matches!(name, "global_address" | "global_stride");
    let ty = if wide { Ty::B64 } else { Ty::B32 };
    let space = form.pick(|space| match space {
        "global" => Some(Space::Global),
        "shared::cta" => Some(Space::Shared),
        _ => None,
    });
    if !form.eat("b1024") || form.ty()? != ty {
        return form.unknown();
    }
    form.end_modifiers()?;
    let map = form.address(space.unwrap_or(Space::Generic))?;
    let field = match name {
        "global_address" => MapField::Address,
        "rank" => MapField::Rank,
        "swizzle_mode" => MapField::Swizzle,
        "fill_mode" => MapField::Fill,
        name => {
            let dimension = form.literal()? as usize;
            match name {
                "box_dim" => MapField::Box(dimension),
                "global_dim" => MapField::Extent(dimension),
                "global_stride" => MapField::Stride(dimension),
                _ => MapField::ElementStride(dimension),
            }
        }
    };
    let value = form.src(ty)?;
    Ok(Op::MapEdit(Box::new(MapEdit::Replace {
        map,
        field,
        value,
    })))
}

fn publish(form: &mut Form) -> Decoded<Op> {
    let way = ["global", "shared::cta", "tensormap::generic", "release"];
    if !way.into_iter().all(|word| form.eat(word)) || eat_scope(form).is_none() {
        return form.bad_modifier("`.global.shared::cta.tensormap::generic.release` and a scope");
    }
    if !form.eat("sync") || !form.eat("aligned") {
        return form.bad_modifier("`.sync.aligned`");
    }
    form.end_modifiers()?;
    let to = form.address(Space::Global)?;
    let from = form.address(Space::Shared)?;
    size(form)?;
    Ok(Op::MapEdit(Box::new(MapEdit::Publish { to, from })))
}

/// `fence.proxy.tensormap::generic`, behind that.
pub(super) fn fence(form: &mut Form) -> Decoded<Op> {
    let acquires = form.need("`.release` or `.acquire`", |word| match word {
        "release" => Some(false),
        "acquire" => Some(true),
        _ => None,
    })?;
    if eat_scope(form).is_none() {
        return form.bad_modifier("a scope");
    }
    form.end_modifiers()?;
    if !acquires {
        return Ok(Op::MapEdit(Box::new(MapEdit::Release)));
    }
    let map = form.address(Space::Generic)?;
    size(form)?;
    Ok(Op::MapEdit(Box::new(MapEdit::Acquire(map))))
}

/// The size of a map, which stands behind its address.
fn size(form: &mut Form) -> Decoded<()> {
    match form.literal()? == BYTES as u64 {
        true => Ok(()),
        false => form.bad("128, the size of a tensor map"),
    }
}
