//! `lower-printf`: `gpu.printf` becomes a call of the device's `vprintf` (CUDA C++ Programming Guide,
//! "Formatted Output").
//!
//! Before: `gpu.printf` of i32, i64 and f64 anywhere in a `gpu.func`. After: `llvm.call @vprintf`, with
//! the text as a global of the kernel's and the arguments in one slot at the start of the kernel. Upstream
//! allocates them where the call stands, which in a loop takes new stack in each round.
//! Precondition: none.
use super::ir_utils::{
    blocks, collect_nested, kernels, name_of, operand_value, operations, string_attribute,
};
use super::{Reported, report};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder};
use melior::Context;
use melior::ir::attribute::{FlatSymbolRefAttribute, StringAttribute};
use melior::ir::{Attribute, Region, ValueLike, operation::OperationLike};

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
            inside.retain(|op| name_of(*op) == "gpu.printf");
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
            declare(context, &ir, &all);
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
    let arguments: Vec<IrValue<'c>> = (0..op.operand_count())
        .filter_map(|index| operand_value(op, index))
        .collect();
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
    let record = format!("!llvm.struct<({})>", types.join(", "));
    let start = OpBuilder::new(context, Insertion::Before(entry));
    let pointer = start.ty("!llvm.ptr");
    let slot = match types.is_empty() {
        true => start.value("llvm.mlir.zero", &[], &[], pointer),
        false => {
            let one = start.constant(1, "i32");
            let attrs = [
                ("elem_type", start.attr(&record)),
                ("alignment", start.attr("8 : i64")),
            ];
            start.value("llvm.alloca", &[one], &attrs, pointer)
        }
    };
    let mut ir = OpBuilder::new(context, Insertion::Before(op));
    ir.location = op.location();
    for (index, argument) in arguments.into_iter().enumerate() {
        let attrs = [
            (
                "rawConstantIndices",
                ir.attr(&format!("array<i32: 0, {index}>")),
            ),
            ("elem_type", ir.attr(&record)),
        ];
        let field = ir.value("llvm.getelementptr", &[slot], &attrs, pointer);
        let attrs = [("ordering", ir.attr("0 : i64"))];
        ir.op("llvm.store", &[argument, field], &attrs, &[]);
    }
    let symbol: Attribute = FlatSymbolRefAttribute::new(context, &symbol).into();
    let name = [("global_name", symbol)];
    let text = ir.value("llvm.mlir.addressof", &[], &name, ir.ty("!llvm.ptr<1>"));
    let text = ir.value("llvm.addrspacecast", &[text], &[], pointer);
    let attrs = [
        ("callee", ir.attr("@vprintf")),
        ("operandSegmentSizes", ir.attr("array<i32: 2, 0>")),
        ("op_bundle_sizes", ir.attr("array<i32>")),
    ];
    ir.op("llvm.call", &[text, slot], &attrs, &[ir.ty("i32")]);
    Ok(())
}

/// Declares the texts that the kernels of a module print, and what prints them.
fn declare<'c>(context: &'c Context, ir: &OpBuilder<'c>, all: &[Texts]) {
    let texts = all.iter().flat_map(|kernel| {
        let symbols = (0..kernel.texts.len()).map(|at| kernel.symbol(at));
        kernel.texts.iter().zip(symbols)
    });
    for (text, symbol) in texts {
        let bytes: String = text
            .bytes()
            .chain([0])
            .map(|byte| format!("\\{byte:02X}"))
            .collect();
        let length = text.len() + 1;
        let attrs = [
            ("sym_name", StringAttribute::new(context, &symbol).into()),
            (
                "global_type",
                ir.attr(&format!("!llvm.array<{length} x i8>")),
            ),
            ("value", ir.attr(&format!("\"{bytes}\""))),
            ("linkage", ir.attr("#llvm.linkage<internal>")),
            ("constant", ir.attr("unit")),
            ("addr_space", ir.attr("1 : i32")),
        ];
        ir.op_with_regions("llvm.mlir.global", &[], &attrs, &[], vec![Region::new()]);
    }
    if all.iter().any(|kernel| !kernel.texts.is_empty()) {
        let attrs = [
            ("sym_name", ir.attr("\"vprintf\"")),
            ("function_type", ir.attr("!llvm.func<i32 (ptr, ptr)>")),
            ("linkage", ir.attr("#llvm.linkage<external>")),
        ];
        ir.op_with_regions("llvm.func", &[], &attrs, &[], vec![Region::new()]);
    }
}
