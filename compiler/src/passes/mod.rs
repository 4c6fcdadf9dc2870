//! The passes, one file or folder each, and their order.
//!
//! | pass | from | to |
//! |---|---|---|
//! | [`tile`] | tile level | cute level |
//! | [`expand_loop_steps`](mod@expand_loop_steps) | cute level | cute level, loops whose counter cannot overflow |
//! | [`allocate_smem`] | cute level | cute level, each buffer at its offset |
//! | [`fold_static`](mod@fold_static) | cute level | cute level, static results as `cute.static`; for readers of IR, in `cute-opt` |
//! | [`expand_ops`](mod@expand_ops) | layout algebra on any function | arith and constructors; in `cute-opt` |
//! | [`to_base`](mod@to_base) | constructors | llvm structs and `printf`; in `cute-opt` |
//! | [`convert_cute_to_gpu`](mod@convert_cute_to_gpu) | cute level | arith, llvm, nvvm, scf inside `gpu.func` |
//! | [`convert_bytes`](mod@convert_bytes) | conversions of i8 to floating numbers | arithmetic on their bits |
//! | [`lower_printf`](mod@lower_printf) | `gpu.printf` | calls of `vprintf` |
//! | upstream | gpu, nvvm, scf, arith, vector | LLVM dialect |
//! | `LineScopes` (C++) | places in files | debug information for `.loc` lines |
//!
//! A pass reports what is wrong as an MLIR diagnostic at the operation's
//! location, and then returns [`Reported`].
pub mod allocate_smem;
mod by_lane;
mod carry;
mod control_flow;
pub mod convert_bytes;
pub mod convert_cute_to_gpu;
mod emit;
pub mod expand_loop_steps;
pub mod expand_ops;
mod facts;
pub mod fold_static;
mod integer_range;
pub mod lower_printf;
mod printf;
mod rebuild;
pub mod remarks;
mod smem_map;
pub mod tile;
pub mod to_base;
mod typed;
pub mod user_error;
mod walk;

use crate::codegen::messages::{Place, place};
use cutec_abi::SmemAbi;
use cutec_dialects::builder::{IrOp, integer_value};
use cutec_dialects::target::{TARGETS, Target};
use melior::Context;
use melior::dialect::DialectHandle;
use melior::ir::r#type::TypeId;
use melior::ir::{Location, Module, OperationRef, operation::OperationLike};
use melior::pass::{ExternalPass, create_external};
use mlir_sys::MlirPass;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A pass failed and has said why.
#[derive(Debug)]
pub struct Reported;

/// Reports an error at a location.
pub fn report(location: Location, message: impl ToString) -> Reported {
    let text = CString::new(message.to_string().replace('\0', " ")).unwrap_or_default();
    // SAFETY: MLIR copies the text.
    unsafe { mlir_sys::mlirEmitError(location.to_raw(), text.as_ptr()) };
    Reported
}

/// Reports a warning at a location.
pub fn warn(location: Location, message: impl ToString) {
    cutec_dialects::ir::emit_warning(location, &message.to_string());
}

/// A pass of this project: what it is called and what it does.
pub struct PassEntry {
    /// Name on the command line of `cute-opt`.
    pub name: &'static str,
    /// One sentence for `cute-opt --help`.
    pub summary: &'static str,
    /// Its one function, on a `builtin.module`.
    pub run: fn(&Context, IrOp, &Target) -> Result<(), Reported>,
}

/// Every pass of this project, in the order of the pipeline.
pub const PASSES: [PassEntry; 5] = [
    PassEntry {
        name: "expand-loop-steps",
        summary: "Lets loops count iterations whose counter may leave its type",
        run: expand_loop_steps::expand_loop_steps,
    },
    PassEntry {
        name: "cute-allocate-smem",
        summary: "Places the shared-memory buffers of each kernel",
        run: allocate_smem::allocate_smem,
    },
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
];

/// Passes of `cute-opt` that the pipeline has no need of: the front end folds as it evaluates.
const MORE: [PassEntry; 3] = [
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

/// The pass of that number: those of the pipeline first.
fn entry(index: usize) -> &'static PassEntry {
    static PIPELINE: [PassEntry; 5] = PASSES;
    static OTHERS: [PassEntry; 3] = MORE;
    static TILES: [PassEntry; tile::PASSES.len()] = tile::PASSES;
    let all = PIPELINE.iter().chain(&OTHERS).chain(&TILES);
    all.into_iter().nth(index).unwrap_or(&PIPELINE[0])
}

/// The root operation of a module, as passes take it.
pub fn root<'c>(module: &Module<'c>) -> IrOp<'c> {
    // SAFETY: the operation lives as long as the module, which the caller keeps.
    unsafe { OperationRef::from_raw(module.as_operation().to_raw()) }
}

/// `cute-opt`: MLIR's driver over the dialects and passes of this project. In it
/// passes compile for the first target. Returns the exit code.
pub fn opt_main(args: &[String]) -> i32 {
    cutec_dialects::ir::register_pass(make_pass::<0>);
    cutec_dialects::ir::register_pass(make_pass::<1>);
    cutec_dialects::ir::register_pass(make_pass::<2>);
    cutec_dialects::ir::register_pass(make_pass::<3>);
    cutec_dialects::ir::register_pass(make_pass::<4>);
    cutec_dialects::ir::register_pass(make_pass::<5>);
    cutec_dialects::ir::register_pass(make_pass::<6>);
    cutec_dialects::ir::register_pass(make_pass::<7>);
    cutec_dialects::ir::register_pass(make_pass::<8>);
    cutec_dialects::ir::register_pass(make_pass::<9>);
    cutec_dialects::ir::register_pass(make_pass::<10>);
    cutec_dialects::ir::register_pass(make_pass::<11>);
    cutec_dialects::ir::register_pass(make_pass::<12>);
    cutec_dialects::ir::register_pass(make_pass::<13>);
    cutec_dialects::ir::register_pass(make_pass::<14>);
    cutec_dialects::ir::register_pass(make_pass::<15>);
    cutec_dialects::ir::register_pass(make_pass::<16>);
    cutec_dialects::ir::register_pass(make_pass::<17>);
    cutec_dialects::ir::register_pass(make_pass::<18>);
    cutec_dialects::ir::register_pass(make_pass::<19>);
    cutec_dialects::ir::register_pass(make_pass::<20>);
    cutec_dialects::ir::register_pass(make_pass::<21>);
    cutec_dialects::ir::opt_main(args)
}

extern "C" fn make_pass<const INDEX: usize>() -> MlirPass {
    #[repr(align(8))]
    struct Id;
    const COUNT: usize = PASSES.len() + MORE.len() + tile::PASSES.len();
    static IDS: [Id; COUNT] = [const { Id }; COUNT];
    let entry = entry(INDEX);
    let run = move |operation: OperationRef, pass: ExternalPass| {
        let context = operation.context();
        // SAFETY: context and operation outlive the pass manager that runs this; the reference is to the local above.
        let (context, root) =
            unsafe { (context.to_ref(), OperationRef::from_raw(operation.to_raw())) };
        let outcome = catch_unwind(AssertUnwindSafe(|| (entry.run)(context, root, &TARGETS[0])));
        if !matches!(outcome, Ok(Ok(()))) {
            pass.signal_failure();
        }
    };
    let id = TypeId::create(&IDS[INDEX]);
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

/// What the functions of a module at the cute level say of their kernels.
pub struct KernelAttributes {
    /// Name of the function.
    pub name: String,
    /// ABI as JSON, from the front end.
    pub abi: Option<String>,
    /// Bytes of shared memory.
    pub smem_bytes: u32,
    /// The buffers in it and who accesses them, below the cute level.
    pub smem: Option<SmemAbi>,
    /// Where the source has it.
    pub place: Option<Place>,
    /// Threads of a block, where a pass chose them: blocks of the tile level have one dimension.
    pub threads: Option<i64>,
}

/// See [`KernelAttributes`].
pub fn kernel_attributes(module: IrOp) -> Vec<KernelAttributes> {
    let mut found = Vec::new();
    let functions = walk::kernels(module).into_iter();
    let functions = functions.flat_map(|(_, functions)| functions);
    for function in functions.chain(walk::lowered_kernels(module)) {
        let name = walk::string_attribute(function, "sym_name").unwrap_or_default();
        let smem = function.attribute("cute.smem_bytes").ok();
        let smem = smem
            .and_then(integer_value)
            .and_then(|smem| u32::try_from(smem).ok())
            .unwrap_or(0);
        found.push(KernelAttributes {
            name,
            abi: walk::string_attribute(function, "cute.abi"),
            smem_bytes: smem,
            smem: smem_map::smem_map(function),
            place: place(function.location()),
            threads: walk::function_block_size(function),
        });
    }
    found
}
