//! What the C++ side calls: legality of texts, types and operations.
use crate::abi;
use crate::ir::{attrs_in, attrs_of, cute_op, values_of};
use crate::legal::{check_type, compatible};
use crate::memo::{type_text, type_value};
use crate::ops::{CuteOp, Op};
use crate::readable::unreadable;
use crate::semantics::{check, check_operands, evaluate, evaluate_all};
use crate::target::Target;
use crate::tile::{self, TileLayout};
use crate::types::{Vars, parse_type};
use crate::value::{TupleKind, Val};
use cutec_abi::KernelAbi;
use melior::ir::operation::{OperationLike, OperationRef};
use melior::ir::{Attribute, Type};
use mlir_sys::{MlirAttribute, MlirOperation, MlirStringRef, MlirType};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

unsafe extern "C" {
    fn cutec_set_message(message: *mut c_void, text: MlirStringRef);
    fn cutec_add_type(results: *mut c_void, text: MlirStringRef);
}

fn string_ref(text: &str) -> MlirStringRef {
    MlirStringRef {
        data: text.as_ptr().cast(),
        length: text.len(),
    }
}

/// Runs a check; a message and `false` where it refuses.
fn answer(message: *mut c_void, check: impl FnOnce() -> Result<(), String>) -> bool {
    let result = catch_unwind(AssertUnwindSafe(check))
        .unwrap_or_else(|_| Err("internal error in a verifier".into()));
    match result {
        Ok(()) => true,
        Err(text) => {
            set_text(message, &text);
            false
        }
    }
}

/// Writes a text that C++ has made room for.
fn set_text(place: *mut c_void, text: &str) {
    // SAFETY: `place` is the caller's and is only written here; the text outlives the call.
    unsafe { cutec_set_message(place, string_ref(text)) };
}

/// Where a text must not reach MLIR's parser, with a message; -1 where it may.
#[unsafe(no_mangle)]
extern "C" fn cutec_unreadable(text: MlirStringRef, message: *mut c_void) -> isize {
    // SAFETY: the caller's range of bytes is valid.
    let bytes = unsafe { crate::builder::bytes_of(text) };
    let problem = unreadable(bytes);
    let at = problem.as_ref().map(|(at, _)| *at);
    answer(message, || {
        problem.map_or(Ok(()), |(_, problem)| Err(problem))
    });
    at.and_then(|at| isize::try_from(at).ok()).unwrap_or(-1)
}

/// Reads the ABI of a kernel: where it goes wrong, with a message; or -1, and the ABI as we write it.
#[unsafe(no_mangle)]
extern "C" fn cutec_read_abi(
    text: MlirStringRef,
    canonical: *mut c_void,
    message: *mut c_void,
) -> isize {
    // SAFETY: the caller's range of bytes is valid.
    let bytes = unsafe { crate::builder::bytes_of(text) };
    let mut at = 0;
    let legal = answer(message, || {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            at = error.valid_up_to();
            "the ABI is not UTF-8".to_string()
        })?;
        let abi = KernelAbi::parse(text).map_err(|error| {
            at = error.at;
            error.message
        })?;
        set_text(canonical, &abi.text());
        Ok(())
    });
    if legal {
        -1
    } else {
        at.min(bytes.len()) as isize
    }
}

/// Checks an attribute of the dialect that an operation of any dialect carries.
#[unsafe(no_mangle)]
extern "C" fn cutec_verify_attribute(
    op: MlirOperation,
    name: MlirStringRef,
    attribute: MlirAttribute,
    message: *mut c_void,
) -> bool {
    answer(message, || {
        // SAFETY: MLIR verifies a live operation, which has the attribute; names are valid bytes.
        let (op, name, attribute) = unsafe {
            (
                OperationRef::from_raw(op),
                crate::builder::bytes_of(name),
                Attribute::from_raw(attribute),
            )
        };
        match name == abi::ATTRIBUTE.as_bytes() {
            true => abi::check_kernel(&op, attribute),
            false => Ok(()),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cutec_verify_type(text: MlirStringRef, message: *mut c_void) -> bool {
    answer(message, || {
        // SAFETY: MLIR passes a valid range of bytes.
        let bytes = unsafe { crate::builder::bytes_of(text) };
        let text = std::str::from_utf8(bytes).map_err(|_| "type text is not UTF-8".to_string())?;
        let val = parse_type(text, &mut Vars::default()).map_err(|error| error.to_string())?;
        check_type(&val)
    })
}

/// The text of an atom's type as it is printed, from the one that was written, both without the name of the dialect.
#[unsafe(no_mangle)]
extern "C" fn cutec_read_atom(
    written: MlirStringRef,
    message: *mut c_void,
    printed: *mut c_void,
) -> bool {
    answer(message, || {
        // SAFETY: MLIR passes a valid range of bytes.
        let bytes = unsafe { crate::builder::bytes_of(written) };
        let text = std::str::from_utf8(bytes).map_err(|_| "type text is not UTF-8".to_string())?;
        let text = crate::atoms::canonical(text).map_err(|error| error.to_string())?;
        set_text(printed, &text);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cutec_verify_tile_layout(text: MlirStringRef, message: *mut c_void) -> bool {
    answer(message, || {
        // SAFETY: MLIR passes a valid range of bytes.
        let bytes = unsafe { crate::builder::bytes_of(text) };
        let text = std::str::from_utf8(bytes).map_err(|_| "the layout is not UTF-8".to_string())?;
        let tv = cutec_layout::text::parse_layout(text).map_err(|error| error.to_string())?;
        TileLayout::new(tv).map(drop)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cutec_verify_target(name: MlirStringRef, message: *mut c_void) -> bool {
    answer(message, || {
        // SAFETY: MLIR passes a valid range of bytes.
        let bytes = unsafe { crate::builder::bytes_of(name) };
        let name = String::from_utf8_lossy(bytes);
        Target::parse(&name)
            .map(drop)
            .map_err(|error| error.to_string())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cutec_verify_op(op: MlirOperation, message: *mut c_void) -> bool {
    // SAFETY: MLIR verifies a live operation.
    let op = unsafe { OperationRef::from_raw(op) };
    answer(message, || {
        let Some(kind) = cute_op(&op) else {
            return tile::check_op(&op);
        };
        let mut vars = Vars::default();
        let operands = values_of(&op, &mut vars).map_err(|error| error.to_string())?;
        let attrs = attrs_of(&op, &mut vars).map_err(|error| error.to_string())?;
        check_operands(kind, &operands).map_err(|error| error.to_string())?;
        if op.result_count() == 0 {
            return check(kind, &operands, &attrs).map_err(|error| error.to_string());
        }
        let result = evaluate(kind, &operands, &attrs).map_err(|error| error.to_string())?;
        let declared = crate::ir::result_type_text(&op);
        let inferred = result.to_string();
        // A static operand may fill a run-time leaf.
        let filled = match kind {
            CuteOp::MakeIntTuple => Some(TupleKind::IntTuple),
            CuteOp::MakeShape => Some(TupleKind::Shape),
            CuteOp::MakeStride => Some(TupleKind::Stride),
            CuteOp::MakeCoord => Some(TupleKind::Coord),
            _ => None,
        };
        // An integer that the operation gives may be declared of either width, and a float is opaque.
        let scalar = matches!(
            declared.as_str(),
            "i1" | "i8" | "i16" | "i32" | "i64" | "index"
        );
        if let Some(kind) = filled {
            let kind = kind.name();
            return match declared.starts_with(&format!("!cute.{kind}<")) {
                true => Ok(()),
                false => Err(format!("makes a !cute.{kind}, not a {declared}")),
            };
        }
        if inferred == declared || scalar && inferred != "i1" {
            return Ok(());
        }
        Err(format!(
            "result is {inferred}, but the operation declares {declared}"
        ))
    })
}

/// The result types of an operation, as texts, from its name, operand types and attributes.
#[unsafe(no_mangle)]
extern "C" fn cutec_infer(
    name: MlirStringRef,
    count: isize,
    operands: *const MlirType,
    attributes: MlirAttribute,
    message: *mut c_void,
    results: *mut c_void,
) -> bool {
    // SAFETY: MLIR passes a valid range of bytes.
    let name = unsafe { crate::builder::bytes_of(name) };
    let name = std::str::from_utf8(name).unwrap_or_default();
    let kind = match Op::of_name(name) {
        Some(Op::CuteOp(kind)) => Some(kind),
        _ => None,
    };
    let operands = match count {
        0 => &[],
        // SAFETY: MLIR passes an array of `count` types.
        _ => unsafe { std::slice::from_raw_parts(operands, count as usize) },
    };
    answer(message, || {
        let mut vars = Vars::default();
        let mut vals = Vec::with_capacity(operands.len());
        for operand in operands {
            // SAFETY: a live type of the context.
            let operand = unsafe { Type::from_raw(*operand) };
            vals.push(type_value(operand, &mut vars).map_err(|error| error.to_string())?);
        }
        // SAFETY: a live attribute of the context, or none.
        let attributes = unsafe { Attribute::from_option_raw(attributes) };
        let kind = kind.ok_or_else(|| format!("unknown operation {name}"))?;
        let attrs = attrs_in(Some(kind), |key| dictionary_element(attributes, key))
            .map_err(|error| error.to_string())?;
        check_operands(kind, &vals).map_err(|error| error.to_string())?;
        // Layouts and tuples are legal where what is undecided may hold; the lowering asks again.
        let tensor = |val: &Val| matches!(val, Val::View(_) | Val::CoordTensor(_));
        let inferred = match vals.iter().any(tensor) {
            true => evaluate_all(kind, &vals, &attrs),
            false => cutec_layout::assuming(|| evaluate_all(kind, &vals, &attrs)).0,
        };
        for result in inferred.map_err(|error| error.to_string())? {
            let text = result.to_string();
            // SAFETY: `results` is the caller's; the text outlives the call.
            unsafe { cutec_add_type(results, string_ref(&text)) };
        }
        Ok(())
    })
}

fn dictionary_element<'c>(dictionary: Option<Attribute<'c>>, key: &str) -> Option<Attribute<'c>> {
    use melior::ir::AttributeLike;
    let dictionary = dictionary?.to_raw();
    // SAFETY: a live dictionary; the key outlives the call; what is absent is null.
    unsafe {
        if !mlir_sys::mlirAttributeIsADictionary(dictionary) {
            return None;
        }
        let key = string_ref(key);
        Attribute::from_option_raw(mlir_sys::mlirDictionaryAttrGetElementByName(
            dictionary, key,
        ))
    }
}

/// A result may be declared with less than is known of its run-time integers.
#[unsafe(no_mangle)]
extern "C" fn cutec_compatible(inferred: MlirType, declared: MlirType) -> bool {
    // SAFETY: live types of the context.
    let (inferred, declared) = unsafe { (Type::from_raw(inferred), Type::from_raw(declared)) };
    compatible(&type_text(inferred), &type_text(declared))
}
