//! What LLVM's translation must not be given: types that an operation of the LLVM dialect names in an attribute and
//! that are no sized types of LLVM. No verifier asks, and the translation makes a null pointer of them.
use super::ir_utils::{collect_nested, name_of};
use super::{Reported, report};
use cutec_dialects::builder::IrOp;
use melior::ir::attribute::TypeAttribute;
use melior::ir::{Attribute, Identifier, operation::OperationLike};

/// Reports the first type of an attribute that LLVM has no sized type for.
///
/// # Errors
/// When there is one.
pub fn check_llvm_types(module: IrOp) -> Result<(), Reported> {
    let mut operations = Vec::new();
    collect_nested(module, &mut operations);
    for op in operations {
        if !name_of(op).starts_with("llvm.") {
            continue;
        }
        let attributes = op.attributes();
        for (name, attribute) in attributes {
            let (name, attribute): (Identifier, Attribute) = (name, attribute);
            let Ok(ty) = TypeAttribute::try_from(attribute) else {
                continue;
            };
            let text = ty.value().to_string();
            if !text.starts_with("!llvm.func<") && !is_sized(&text) {
                let name = name.as_string_ref();
                let name = name.as_str().unwrap_or_default();
                let message =
                    format!("expects a type of LLVM with a size as `{name}`, but got {text}");
                return Err(report(op.location(), message));
            }
        }
    }
    Ok(())
}

/// Whether the text of a type is one of LLVM that has a size.
fn is_sized(text: &str) -> bool {
    let integer = |text: &str| {
        let digits = text.strip_prefix('i').unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let number = |text: &str| integer(text) || ["f16", "bf16", "f32", "f64"].contains(&text);
    if let Some(inside) = text.strip_prefix("vector<") {
        let parts = inside.trim_end_matches('>').split_once('x');
        return parts.is_some_and(|(count, elem)| {
            count.bytes().all(|byte| byte.is_ascii_digit())
                && (number(elem) || elem.starts_with("!llvm.ptr"))
        });
    }
    let of_llvm = ["!llvm.ptr", "!llvm.array<", "!llvm.struct<"];
    number(text) || of_llvm.iter().any(|start| text.starts_with(start)) && !text.contains("opaque")
}

#[cfg(test)]
mod tests {
    use super::is_sized;

    #[test]
    fn types_of_llvm_have_a_size() {
        for text in [
            "i8",
            "bf16",
            "vector<4xf32>",
            "!llvm.ptr<3>",
            "!llvm.array<0 x i8>",
        ] {
            assert!(is_sized(text), "{text}");
        }
        let others = [
            "tensor<4xf32>",
            "index",
            "!llvm.void",
            "vector<2x2xf32>",
            "f8E4M3FN",
        ];
        for text in others
            .into_iter()
            .chain(["!llvm.struct<\"s\", opaque>", "i", "()"])
        {
            assert!(!is_sized(text), "{text}");
        }
    }
}
