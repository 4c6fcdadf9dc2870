//! `cute-allocate-smem`: places the shared-memory buffers of each kernel.
//!
//! Before: `cute.memref.alloc_smem` operations. After: each has the attribute
//! `offset` in bytes, and its `gpu.func` the attribute `cute.smem_bytes`.
//! Precondition: the layouts of buffers are static, which the verifier checks.
//! Buffers follow each other in the order of the program; none is reused.
use super::walk::{all_inside, kernels, name_of, set_attribute};
use super::{Reported, report};
use cutec_dialects::builder::IrOp;
use cutec_dialects::ir::result_type_text;
use cutec_dialects::target::Target;
use cutec_dialects::types::{Vars, parse_type};
use cutec_dialects::value::Val;
use cutec_layout::algebra::cosize_any;
use melior::Context;
use melior::ir::{Attribute, attribute::IntegerAttribute, operation::OperationLike};

/// Alignment of every buffer: 128-byte swizzles repeat within it.
const ALIGN: i64 = 128;

/// Places every buffer; more than the target has is an error that lists them.
pub fn allocate_smem(context: &Context, module: IrOp, target: &Target) -> Result<(), Reported> {
    let i64_type = melior::ir::r#type::IntegerType::new(context, 64).into();
    for (_, functions) in kernels(module) {
        for function in functions {
            let mut operations = Vec::new();
            all_inside(function, &mut operations);
            let mut end = 0;
            let mut buffers = Vec::new();
            for op in operations
                .into_iter()
                .filter(|op| name_of(*op) == "cute.memref.alloc_smem")
            {
                let text = result_type_text(&op);
                let Ok(Val::View(view)) = parse_type(&text, &mut Vars::default()) else {
                    return Err(report(
                        op.location(),
                        format!("expects a view, but allocates {text}"),
                    ));
                };
                let elems = cosize_any(&view.layout)
                    .ok()
                    .and_then(|size| size.as_static());
                let Some(elems) = elems else {
                    return Err(report(
                        op.location(),
                        format!("expects a static layout, but allocates {text}"),
                    ));
                };
                let align = view.ptr.align.max(ALIGN);
                let start = (end + align - 1) / align * align;
                end = start + view.ptr.elem.bytes_of(elems);
                buffers.push(format!("{} bytes at {start}: {text}", end - start));
                // SAFETY: attributes live as long as the context, which outlives the module.
                let offset: Attribute = IntegerAttribute::new(i64_type, start).into();
                set_attribute(op, "offset", unsafe {
                    Attribute::from_raw(melior::ir::AttributeLike::to_raw(&offset))
                });
            }
            let total: Attribute = IntegerAttribute::new(i64_type, end).into();
            set_attribute(function, "cute.smem_bytes", unsafe {
                Attribute::from_raw(melior::ir::AttributeLike::to_raw(&total))
            });
            if end > i64::from(target.max_smem) {
                let (limit, list) = (target.max_smem, buffers.join("\n  "));
                let message = format!(
                    "the kernel needs {end} bytes of shared memory; {} has {limit}:\n  {list}",
                    target.name
                );
                return Err(report(function.location(), message));
            }
        }
    }
    Ok(())
}
