//! The header: what a program includes.

use crate::launcher::describe;
use crate::names::{comment, identifier};
use crate::signature::Signature;
use crate::source::settings;
use crate::{Export, Library};
use cutec_abi::{ArgAbi, KernelAbi, Status};
use std::fmt::Write;

/// DLPack's structures, where DLPack's own header is not to be had.
pub const DLPACK: &str = include_str!("c/dlpack.h");

/// The numbers that calls return, guarded: every header of this project has them.
pub fn statuses() -> String {
    let mut text = String::from(
        "/* What calls return; the numbers never change. */\n#ifndef CUTEC_STATUS_DEFINED\n#define CUTEC_STATUS_DEFINED\nenum cutec_status {\n",
    );
    for status in Status::ALL {
        let _ = writeln!(
            text,
            "    CUTEC_{} = {}, /* {} */",
            status.c_name(),
            status.code(),
            status.description()
        );
    }
    text.push_str("};\n#endif\n");
    text
}

/// The text of the header.
pub fn write(export: &Export<'_>, library: &Library<'_>) -> String {
    let guard = format!(
        "CUTEC_EXPORT_{}_H",
        identifier(&library.prefixed).to_uppercase()
    );
    let (name, prefixed) = (comment(export.name), &library.prefixed);
    let targets = library.targets();
    let mut text = format!(
        "/* {name}.h: the kernels of {source} for {targets}. Made by `cutec export`, {compiler}.\n\
         \x20*\n\
         \x20* A launcher checks its arguments, puts the kernel into a stream and returns: CUTEC_OK, or the number of what is wrong,\n\
         \x20* which {prefixed}_last_error() says in words. Tensors are DLPack's, on one CUDA GPU; their memory must stay until the\n\
         \x20* kernel is done. The stream is a CUstream or cudaStream_t of that GPU, NULL for the default stream. Code is loaded\n\
         \x20* where a GPU is first launched on, into its primary context. Every function may be called by any thread. Nothing is\n\
         \x20* linked but the C library: the driver, libcuda, is looked for at the first launch.\n\
         \x20*\n\
         \x20* Each kernel is a function of tvm-ffi too, __tvm_ffi_KERNEL. */\n\
         #ifndef {guard}\n#define {guard}\n\n#include <stdbool.h>\n#include <stdint.h>\n\n",
        source = comment(export.source),
        compiler = comment(export.compiler),
    );
    text.push_str(DLPACK);
    text.push('\n');
    text.push_str(&statuses());
    text.push_str("\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\nstruct CUstream_st;\n");
    for (number, signature) in library.signatures.iter().enumerate() {
        launcher(&mut text, library, number, signature);
    }
    let _ = write!(
        text,
        "\n/* Loads the code onto a GPU, which else the first launch does. */\nint32_t {prefixed}_load(int32_t device);\n\
         \n/* What was wrong with the last call of this thread that failed; \"\" where none did. Valid until its next one. */\n\
         const char *{prefixed}_last_error(void);\n\
         \n#ifdef __cplusplus\n}}\n#endif\n\n#endif\n"
    );
    text
}

fn launcher(text: &mut String, library: &Library<'_>, number: usize, signature: &Signature<'_>) {
    text.push_str("\n/**\n");
    let mut line = |line: &str| {
        let _ = writeln!(text, "{}", format!(" * {}", comment(line)).trim_end());
    };
    for docs in signature.docs.lines() {
        line(docs);
    }
    if !signature.docs.is_empty() {
        line("");
    }
    let configurations = &library.configurations[number];
    let defaults = &configurations[0];
    for (index, kernel) in defaults.variants.iter().enumerate() {
        if defaults.variants.len() > 1 {
            line(&format!("For {}:", library.targets_of(defaults, index)));
        }
        describe_kernel(kernel, &mut line);
    }
    if let Some(chosen) = &library.choices[number] {
        line("");
        line(
            "A launch takes the fastest configuration of the nearest size that was measured, the above where that one refuses it:",
        );
        for (index, configured) in configurations.iter().enumerate() {
            let sizes = chosen.sizes_of(index);
            if !sizes.is_empty() {
                line(&format!("  {}: {sizes}", settings(configured)));
            }
        }
    }
    text.push_str(" */\n");
    let _ = writeln!(
        text,
        "int32_t {}{}_launch({}struct CUstream_st *stream);",
        library.prefix,
        signature.identifier,
        signature.parameters()
    );
}

fn describe_kernel(kernel: &KernelAbi, line: &mut impl FnMut(&str)) {
    let names: Vec<&str> = kernel
        .symbols
        .iter()
        .map(|symbol| symbol.name.as_str())
        .collect();
    for arg in &kernel.args {
        match arg {
            ArgAbi::Tensor(tensor) => line(&format!("  {}", describe(kernel, tensor))),
            ArgAbi::Scalar(scalar) => line(&format!("  {}: {}", scalar.name, scalar.dtype)),
        }
    }
    for symbol in kernel
        .symbols
        .iter()
        .filter(|symbol| symbol.divisible_by > 1)
    {
        line(&format!(
            "  where {} % {} == 0",
            symbol.name, symbol.divisible_by
        ));
    }
    for (symbol, max) in kernel
        .symbols
        .iter()
        .filter_map(|symbol| Some((symbol, symbol.max?)))
    {
        line(&format!("  where {} <= {max}", symbol.name));
    }
    for promise in &kernel.promises {
        line(&format!("  where {}", promise.text));
    }
    let axes = |exprs: &[cutec_abi::AbiExpr; 3]| {
        let axes = exprs.iter().map(|expr| expr.display(&names).to_string());
        axes.collect::<Vec<_>>().join(", ")
    };
    let persistent = if kernel.persistent {
        ", as many as the GPU holds at a time"
    } else if kernel.cooperative {
        ", all of which the GPU holds at a time"
    } else {
        ""
    };
    line(&format!("  blocks: ({}){persistent}", axes(&kernel.grid)));
    if let Some(block) = &kernel.block {
        line(&format!("  threads of a block: ({})", axes(block)));
    }
    if kernel.smem_bytes > 0 {
        line(&format!(
            "  dynamic shared memory: {} bytes",
            kernel.smem_bytes
        ));
    }
    for (name, value) in &kernel.defines {
        line(&format!("  {name} = {value}"));
    }
}
