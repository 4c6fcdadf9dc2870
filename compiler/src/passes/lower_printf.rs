//! `lower-printf`: `gpu.printf` becomes a call of the device's `vprintf` (CUDA C++ Programming Guide,
//! "Formatted Output").
//!
//! Before: `gpu.printf` of i32, i64 and f64 anywhere in a `gpu.func`. After: `llvm.call @vprintf`, with
//! the text as a global of the kernel's and the arguments in one slot at the start of the kernel. Upstream
//! allocates them where the call stands, which in a loop takes new stack in each round.
//! Precondition: none.
use super::ir_utils::{blocks, collect_nested, kernels, operations, string_attribute};
use super::{Reported, report};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder, operands_of};
use cutec_dialects::ops::{GpuOp, LlvmOp};
use melior::Context;
use melior::ir::{Region, ValueLike, operation::OperationLike};

/// Lowers what every kernel of the module prints.
pub fn lower_printf<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for (block, functions) in kernels(module) {
        let mut all = Vec::new();
        for function in functions {
            let mut texts = Texts {
                kernel: string_attribute(function, "sym_name").unwrap_or_default(),
                texts: Vec::new(),
            };
            let mut inside = Vec::new();
            collect_nested(function, &mut inside);
            let body = blocks(function, 0).into_iter().next();
            let Some(entry) = body.and_then(|body| operations(body).into_iter().next()) else {
                continue;
            };
            inside.retain(|op| GpuOp::Printf.is(*op));
            for op in &inside {
                lower(context, *op, entry, &mut texts)?;
            }
            // Only now: the first operation of the kernel may be one of them.
            for op in inside {
                // SAFETY: it has no results, and nothing refers to it.
                unsafe {
                    mlir_sys::mlirOperationRemoveFromParent(op.to_raw());
                    mlir_sys::mlirOperationDestroy(op.to_raw());
                }
            }
            all.push(texts);
        }
        if let Some(first) = operations(block).first() {
            let ir = OpBuilder::new(context, Insertion::Before(*first));
            declare(&ir, &all);
        }
    }
    Ok(())
}

/// What one kernel prints.
struct Texts {
    kernel: String,
    texts: Vec<String>,
}

impl Texts {
    /// The symbol of a text.
    fn of(&mut self, text: String) -> String {
        let known = self.texts.iter().position(|known| *known == text);
        let at = known.unwrap_or_else(|| {
            self.texts.push(text);
            self.texts.len() - 1
        });
        self.symbol(at)
    }

    /// Symbol of the text number `at`. The kernel's name is in it: kernels become modules that are joined.
    fn symbol(&self, at: usize) -> String {
        format!("cutec$text_{}_{at}", self.kernel)
    }
}

fn lower<'c>(
    context: &'c Context,
    op: IrOp<'c>,
    entry: IrOp<'c>,
    texts: &mut Texts,
) -> Result<(), Reported> {
    let Some(text) = string_attribute(op, "format") else {
        return Err(report(op.location(), "expects `format` as a text"));
    };
    let symbol = texts.of(text);
    let arguments: Vec<IrValue<'c>> = operands_of(op).collect();
    let types: Vec<String> = arguments
        .iter()
        .map(|argument| argument.r#type().to_string())
        .collect();
    let printable = |ty: &&String| matches!(ty.as_str(), "i32" | "i64" | "f64");
    if let Some(wrong) = types.iter().find(|ty| !printable(ty)) {
        return Err(report(
            op.location(),
            format!("prints i32, i64 and f64, not {wrong}"),
        ));
    }
    let start = OpBuilder::new(context, Insertion::Before(entry));
    let fields: Vec<_> = arguments.iter().map(ValueLike::r#type).collect();
    let record = start.type_attr(start.struct_type(&fields));
    let pointer = start.pointer_type(0);
    let slot = match types.is_empty() {
        true => start.value(LlvmOp::MlirZero, &[], &[], pointer),
        false => {
            let one = start.constant(1, "i32");
            let attrs = [("elem_type", record), ("alignment", start.i64(8))];
            start.value(LlvmOp::Alloca, &[one], &attrs, pointer)
        }
    };
    let mut ir = OpBuilder::new(context, Insertion::Before(op));
    ir.location = op.location();
    for (index, argument) in (0_i32..).zip(arguments) {
        let attrs = [
            ("rawConstantIndices", ir.i32_array(&[0, index])),
            ("elem_type", record),
        ];
        let field = ir.value(LlvmOp::Getelementptr, &[slot], &attrs, pointer);
        let attrs = [("ordering", ir.i64(0))];
        ir.op(LlvmOp::Store, &[argument, field], &attrs, &[]);
    }
    let name = [("global_name", ir.symbol(&symbol))];
    let text = ir.value(LlvmOp::MlirAddressof, &[], &name, ir.pointer_type(1));
    let text = ir.value(LlvmOp::Addrspacecast, &[text], &[], pointer);
    let attrs = [
        ("callee", ir.symbol("vprintf")),
        ("operandSegmentSizes", ir.i32_array(&[2, 0])),
        ("op_bundle_sizes", ir.i32_array(&[])),
    ];
    ir.op(LlvmOp::Call, &[text, slot], &attrs, &[ir.ty("i32")]);
    Ok(())
}

/// Declares the texts that the kernels of a module print, and what prints them.
fn declare(ir: &OpBuilder, all: &[Texts]) {
    let texts = all.iter().flat_map(|kernel| {
        let symbols = (0..kernel.texts.len()).map(|at| kernel.symbol(at));
        kernel.texts.iter().zip(symbols)
    });
    for (text, symbol) in texts {
        let text = format!("{text}\0");
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        let array = ir.array_type(length, ir.integer_type(8));
        let attrs = [
            ("sym_name", ir.string(&symbol)),
            ("global_type", ir.type_attr(array)),
            ("value", ir.string(&text)),
            ("linkage", ir.attr("#llvm.linkage<internal>")),
            ("constant", ir.unit()),
            ("addr_space", ir.i32(1)),
        ];
        ir.op_with_regions(LlvmOp::MlirGlobal, &[], &attrs, &[], vec![Region::new()]);
    }
    if all.iter().any(|kernel| !kernel.texts.is_empty()) {
        let attrs = [
            ("sym_name", ir.string("vprintf")),
            ("function_type", ir.attr("!llvm.func<i32 (ptr, ptr)>")),
            ("linkage", ir.attr("#llvm.linkage<external>")),
        ];
        ir.op_with_regions(LlvmOp::Func, &[], &attrs, &[], vec![Region::new()]);
    }
}
