//! The passes of this project by name, and the pipelines that they make up: the only list of them.
//!
//! [`crate::pipeline`] runs the pipelines in process, `cute-opt` any pass (`--tile-merge`) or pipeline
//! (`--tile-to-cute`) by name.

use super::{Reported, tile};
use super::{
    allocate_smem, convert_bytes, convert_cute_to_gpu, expand_ceil_div, expand_loop_steps,
    expand_ops, expand_signature, fold_static, lower_printf, to_base,
};
use cutec_dialects::builder::IrOp;
use melior::Context;
use melior::dialect::DialectHandle;
use melior::ir::r#type::TypeId;
use melior::ir::{OperationRef, operation::OperationLike};
use melior::pass::{ExternalPass, create_external};
use mlir_sys::MlirPass;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// A pass of this project: what it is called and what it does.
pub struct PassEntry {
    /// Name on the command line of `cute-opt`, and in the IR that `--print-ir-after-all` prints.
    pub name: &'static str,
    /// One sentence for `cute-opt --help`.
    pub summary: &'static str,
    /// Its one function, on a `builtin.module`.
    pub run: for<'c> fn(&'c Context, IrOp<'c>) -> Result<(), Reported>,
}

/// Passes that run one after the other.
pub struct Pipeline {
    /// Name on the command line of `cute-opt`.
    pub name: &'static str,
    /// One sentence for `cute-opt --help`.
    pub summary: &'static str,
    parts: [&'static [PassEntry]; 2],
}

impl Pipeline {
    /// The passes in their order.
    pub fn passes(&self) -> impl Iterator<Item = &'static PassEntry> + use<> {
        self.parts.into_iter().flatten()
    }
}

/// From the tile level to the cute level, each buffer of shared memory at its offset.
pub static TILE_TO_CUTE: Pipeline = Pipeline {
    name: "tile-to-cute",
    summary: "Lowers the tile level to the cute level and places shared memory",
    parts: [
        &tile::PASSES,
        &[PassEntry {
            name: "cute-allocate-smem",
            summary: "Places the shared-memory buffers of each kernel",
            run: allocate_smem::allocate_smem,
        }],
    ],
};

/// From the cute level to upstream's dialects.
pub static CUTE_TO_GPU: Pipeline = Pipeline {
    name: "cute-to-gpu",
    summary: "Lowers the cute level to upstream's dialects",
    parts: [
        &[
            PassEntry {
                name: "cute-expand-signature",
                summary: "Takes tensors as addresses, as the machine passes them",
                run: expand_signature::expand_signature,
            },
            PassEntry {
                name: "expand-ceil-div",
                summary: "Expands quotients that are rounded up",
                run: expand_ceil_div::expand_ceil_div,
            },
            PassEntry {
                name: "expand-loop-steps",
                summary: "Lets loops count iterations whose counter may leave its type",
                run: expand_loop_steps::expand_loop_steps,
            },
        ],
        &[
            PassEntry {
                name: "convert-cute-to-gpu",
                summary: "Lowers the cute dialect to arith, llvm and nvvm",
                run: convert_cute_to_gpu::convert_cute_to_gpu,
            },
            PassEntry {
                name: "convert-bytes",
                summary: "Makes floating numbers of bytes by arithmetic",
                run: convert_bytes::convert_bytes,
            },
            PassEntry {
                name: "lower-printf",
                summary: "Lowers gpu.printf to calls of vprintf",
                run: lower_printf::lower_printf,
            },
        ],
    ],
};

/// Passes of `cute-opt` that no pipeline has a need of: the front end folds as it evaluates.
static TOOLS: [PassEntry; 3] = [
    PassEntry {
        name: "cute-fold-static",
        summary: "Replaces what is known at compile time by cute.static",
        run: fold_static::fold_static,
    },
    PassEntry {
        name: "cute-expand-ops",
        summary: "Expands the layout algebra to arith and constructors",
        run: expand_ops::expand_ops,
    },
    PassEntry {
        name: "cute-to-base",
        summary: "Lowers constructors and types of the layout algebra to LLVM structs",
        run: to_base::to_base,
    },
];

/// Every pipeline.
pub fn pipelines() -> [&'static Pipeline; 2] {
    [&TILE_TO_CUTE, &CUTE_TO_GPU]
}

/// Every pass: those of the pipelines first.
pub fn passes() -> impl Iterator<Item = &'static PassEntry> {
    let of_pipelines = pipelines().into_iter().flat_map(Pipeline::passes);
    of_pipelines.chain(&TOOLS)
}

/// `cute-opt`: MLIR's driver over the dialects, passes and pipelines of this project. Returns the exit code.
pub fn opt_main(args: &[String]) -> i32 {
    for index in 0..passes().count() {
        cutec_dialects::ir::register_pass(make_pass, index);
    }
    static LISTS: OnceLock<Vec<String>> = OnceLock::new();
    let lists = LISTS.get_or_init(|| pipelines().map(pass_names).into());
    for (pipeline, list) in pipelines().into_iter().zip(lists) {
        cutec_dialects::ir::register_pipeline(pipeline.name, pipeline.summary, list);
    }
    cutec_dialects::ir::opt_main(args)
}

fn pass_names(pipeline: &Pipeline) -> String {
    let names: Vec<&str> = pipeline.passes().map(|pass| pass.name).collect();
    names.join(",")
}

/// The pass of that index in [`passes`], for MLIR's pass manager.
extern "C" fn make_pass(index: usize) -> MlirPass {
    // Not of size zero: each has an address of its own, which tells MLIR one pass from another.
    #[repr(align(8))]
    #[allow(dead_code)]
    struct Id([u8; 8]);
    static IDS: OnceLock<Vec<Id>> = OnceLock::new();
    let ids = IDS.get_or_init(|| passes().map(|_| Id([0; 8])).collect());
    let entry = passes()
        .nth(index)
        .expect("only indices of the list are registered");
    let run = move |operation: OperationRef, pass: ExternalPass| {
        let context = operation.context();
        // SAFETY: the context outlives the pass manager that runs this, and with it the operation. The pass keeps
        // neither. Both references end with this call, as does the local that melior's `&Context` points to.
        let (context, root) =
            unsafe { (context.to_ref(), OperationRef::from_raw(operation.to_raw())) };
        let outcome = catch_unwind(AssertUnwindSafe(|| (entry.run)(context, root)));
        if !matches!(outcome, Ok(Ok(()))) {
            pass.signal_failure();
        }
    };
    let id = TypeId::create(&ids[index]);
    // SAFETY: the handles are constants of MLIR. What passes create is loaded before they run.
    let dialects = unsafe {
        [
            mlir_sys::mlirGetDialectHandle__arith__(),
            mlir_sys::mlirGetDialectHandle__cf__(),
            mlir_sys::mlirGetDialectHandle__llvm__(),
            mlir_sys::mlirGetDialectHandle__nvvm__(),
            mlir_sys::mlirGetDialectHandle__scf__(),
            mlir_sys::mlirGetDialectHandle__ub__(),
            mlir_sys::mlirGetDialectHandle__vector__(),
        ]
        .map(|handle| DialectHandle::from_raw(handle))
    };
    create_external(
        run,
        id,
        entry.name,
        entry.name,
        entry.summary,
        "builtin.module",
        &dialects,
    )
    .to_raw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::path::Path;

    #[test]
    fn every_pass_has_a_name_of_its_own() {
        let mut names = HashSet::new();
        assert!(passes().all(|pass| names.insert(pass.name)));
        assert!(pipelines().iter().all(|list| names.insert(list.name)));
    }

    #[test]
    fn every_pass_has_a_folder_of_tests() {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../test-suite");
        let without: Vec<&str> = passes()
            .map(|pass| pass.name)
            .filter(|name| !tests.join(name).is_dir())
            .collect();
        assert!(without.is_empty(), "no folder of tests: {without:?}");
    }
}
