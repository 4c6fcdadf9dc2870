//! What a kernel would have to promise of a tensor so that 16 bytes of it are accessed at once.
use super::tensor_box::{argument, stride_promise};
use super::types::{tensor_of, view_of};
use cutec_abi::Dim;
use cutec_dialects::abi::abi_of;
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::target::WIDEST_ACCESS;

/// The clauses of `where` that are missing for a tensor that a view is into; `None` where none is, or none would help.
pub(super) fn for_vectors(view: IrValue, function: IrOp) -> Option<String> {
    let tensor = tensor_of(view)?;
    let abi = abi_of(&function)?;
    let (_, declared) = argument(&abi, tensor, function).ok()?;
    let view = view_of(tensor)?;
    let layout = view.layout.inner();
    let (extents, strides) = (layout.shape().leaves(), layout.stride().leaves());
    let contiguous = strides.iter().position(|stride| stride.is(1))?;
    if extents.len() != declared.extents.len() || strides.len() != declared.strides.len() {
        return None;
    }
    let elements = WIDEST_ACCESS / view.ptr.elem.bytes().max(1);
    let names: Vec<&str> = abi.symbols.iter().map(|it| it.name.as_str()).collect();
    let mut missing = Vec::new();
    if view.ptr.alignment() < WIDEST_ACCESS {
        missing.push(format!("align({}) >= {WIDEST_ACCESS}", declared.name));
    }
    if !extents[contiguous].divisible_by(elements) {
        let extent = match &declared.extents[contiguous] {
            Dim::Static(_) => return None,
            Dim::Symbol(symbol) => (*names.get(*symbol)?).to_string(),
            Dim::Expr(extent) => extent.display(&names).to_string(),
        };
        missing.push(format!("{extent} % {elements} == 0"));
    }
    for mode in (0..strides.len()).filter(|mode| *mode != contiguous) {
        if !extents[mode].is(1) && !strides[mode].divisible_by(elements) {
            let clause = stride_promise(&abi, declared, mode, elements)?;
            if !missing.contains(&clause) {
                missing.push(clause);
            }
        }
    }
    (!missing.is_empty()).then(|| missing.join(", "))
}
