//! What the C++ side calls: legality of types and operations.
use crate::ir::{attrs_of, cute_name, values_of};
use crate::semantics::{check, evaluate};
use crate::types::{Vars, parse_type};
use melior::ir::operation::{OperationLike, OperationRef};
use mlir_sys::{MlirOperation, MlirStringRef};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

unsafe extern "C" {
    fn cutec_set_message(message: *mut c_void, text: MlirStringRef);
}

/// Runs a check; a message and `false` where it refuses.
fn answer(message: *mut c_void, check: impl FnOnce() -> Result<(), String>) -> bool {
    let result = catch_unwind(AssertUnwindSafe(check))
        .unwrap_or_else(|_| Err("internal error in a verifier".into()));
    match result {
        Ok(()) => true,
        Err(text) => {
            // SAFETY: `message` is the caller's and is only written here; the text outlives the call.
            unsafe {
                cutec_set_message(
                    message,
                    MlirStringRef {
                        data: text.as_ptr().cast(),
                        length: text.len(),
                    },
                )
            };
            false
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn cutec_verify_type(text: MlirStringRef, message: *mut c_void) -> bool {
    answer(message, || {
        // SAFETY: MLIR passes a valid range of bytes.
        let bytes = unsafe { std::slice::from_raw_parts(text.data.cast::<u8>(), text.length) };
        let text = std::str::from_utf8(bytes).map_err(|_| "type text is not UTF-8".to_string())?;
        parse_type(text, &mut Vars::default())
            .map(|_| ())
            .map_err(|error| error.to_string())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cutec_verify_op(op: MlirOperation, message: *mut c_void) -> bool {
    // SAFETY: MLIR verifies a live operation.
    let op = unsafe { OperationRef::from_raw(op) };
    answer(message, || {
        let mut vars = Vars::default();
        let name = cute_name(&op).unwrap_or_default();
        let operands = values_of(&op, &mut vars).map_err(|error| error.to_string())?;
        let attrs = attrs_of(&op, &mut vars).map_err(|error| error.to_string())?;
        if op.result_count() == 0 {
            return check(&name, &operands).map_err(|error| error.to_string());
        }
        let result = evaluate(&name, &operands, &attrs).map_err(|error| error.to_string())?;
        let declared = crate::ir::result_type_text(&op);
        let inferred = result.to_string();
        // An integer that the operation gives may be declared of either width, and a float is opaque.
        let scalar = matches!(
            declared.as_str(),
            "i1" | "i8" | "i16" | "i32" | "i64" | "index"
        );
        if inferred == declared || scalar {
            return Ok(());
        }
        Err(format!(
            "result is {inferred}, but the operation declares {declared}"
        ))
    })
}
