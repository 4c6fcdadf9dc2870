//! What a program links that never asks MLIR to register all that it has.

pub use mlir_sys::{MlirContext, MlirDialectRegistry};

/// Keeps MLIR's lists of everything out of a program: `cutec::only_own_registrations!();`, once, in the crate of the program
/// itself. It is not for shared libraries, which would give their lists to all of the process.
///
/// One object of melior refers to these lists, so linking it brings the constructors of every pass and LLVM backend: 646 instead of
/// 373 run at each start, and 4 MB. Nothing of cutec needs them. With this macro `melior::utility::register_all_dialects` of the
/// program registers the dialects of cutec alone, and its siblings nothing: leave it out where another part of the program
/// asks for them.
#[macro_export]
macro_rules! only_own_registrations {
    () => {
        const _: () = {
            #[unsafe(no_mangle)]
            extern "C" fn mlirRegisterAllDialects(
                registry: $crate::registration::MlirDialectRegistry,
            ) {
                $crate::registration::own_dialects(registry);
            }

            #[unsafe(no_mangle)]
            extern "C" fn mlirRegisterAllLLVMTranslations(
                _context: $crate::registration::MlirContext,
            ) {
            }

            #[unsafe(no_mangle)]
            extern "C" fn mlirRegisterAllPasses() {}
        };
    };
}

/// Adds the dialects of cutec to a registry.
#[doc(hidden)]
pub fn own_dialects(registry: MlirDialectRegistry) {
    // SAFETY: MLIR passes a registry that is alive.
    unsafe { crate::ir::cutec_insert_dialects(registry) };
}
