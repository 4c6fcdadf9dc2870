//! IR as a reader wants it: values by the names of the source, types through aliases.
//!
//! A value has its name in its location (`loc("sum"(...))`), as MLIR's `--mlir-use-nameloc-as-prefix` has it, so
//! that what passes make of an operation keeps the name, and no attribute has to be carried along.
use crate::handles::IrValue;
use melior::Context;
use melior::StringRef;
use melior::ir::operation::OperationPrintingFlags;
use melior::ir::{Location, ValueLike};
use mlir_sys::{MlirContext, MlirLocation};

unsafe extern "C" {
    fn cutec_print_aliases(context: MlirContext, wanted: bool);
}

/// Names a value for readers of the IR, unless it has a name: the first one is where it was made.
pub fn name_value(value: IrValue<'_>, name: &str) {
    let value = value.to_raw();
    // SAFETY: value, operation and block are alive; each accessor is called on a value of its kind.
    unsafe {
        if mlir_sys::mlirValueIsABlockArgument(value) {
            let location = mlir_sys::mlirValueGetLocation(value);
            if let Some(named) = named(location, name) {
                mlir_sys::mlirBlockArgumentSetLocation(value, named);
            }
            return;
        }
        let operation = mlir_sys::mlirOpResultGetOwner(value);
        // The location is the operation's: of several results one name would serve all.
        if mlir_sys::mlirOperationGetNumResults(operation) == 1
            && let Some(named) = named(mlir_sys::mlirOperationGetLocation(operation), name)
        {
            mlir_sys::mlirOperationSetLocation(operation, named);
        }
    }
}

/// `location` with a name; `None` where it has one.
///
/// # Safety
/// The location is alive.
unsafe fn named(location: MlirLocation, name: &str) -> Option<MlirLocation> {
    // SAFETY: by the contract above; MLIR copies the name.
    unsafe {
        if mlir_sys::mlirLocationIsAName(location) {
            return None;
        }
        let context = mlir_sys::mlirLocationGetContext(location);
        let name = StringRef::new(name).to_raw();
        Some(mlir_sys::mlirLocationNameGet(context, name, location))
    }
}

/// `location` without a name. What is built in the place of an operation has the operation's place, but is
/// another value: only what replaces the named one takes its name ([`pass_name_on`]).
pub fn unnamed<'c>(location: Location<'c>) -> Location<'c> {
    let mut raw = location.to_raw();
    // SAFETY: the location is alive, and its child lives as long as the context.
    unsafe {
        while mlir_sys::mlirLocationIsAName(raw) {
            raw = mlir_sys::mlirLocationNameGetChildLoc(raw);
        }
        Location::from_raw(raw)
    }
}

/// Gives `new` the name of `old`, which it replaces.
pub fn pass_name_on(old: IrValue<'_>, new: IrValue<'_>) {
    // SAFETY: the value is alive, and so are location and name for as long as its context.
    let name = unsafe {
        let location = mlir_sys::mlirValueGetLocation(old.to_raw());
        if !mlir_sys::mlirLocationIsAName(location) {
            return;
        }
        let name = mlir_sys::mlirIdentifierStr(mlir_sys::mlirLocationNameGetName(location));
        StringRef::from_raw(name)
    };
    if let Ok(name) = name.as_str() {
        name_value(new, name);
    }
}

/// Makes everything printed of `context` from now on use aliases of types.
pub fn print_aliases(context: &Context) {
    // SAFETY: the context is alive, and nobody prints meanwhile: a context belongs to one thread.
    unsafe { cutec_print_aliases(context.to_raw(), true) };
}

/// How IR is printed for a reader.
pub fn readable_flags() -> OperationPrintingFlags {
    let flags = OperationPrintingFlags::new();
    // SAFETY: the flags are alive.
    unsafe { mlir_sys::mlirOpPrintingFlagsPrintNameLocAsPrefix(flags.to_raw()) };
    flags
}
