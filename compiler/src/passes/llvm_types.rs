//! What LLVM's translation must not be given: types that an operation of the LLVM dialect names in an attribute and
//! that are no sized types of LLVM. No verifier asks, and the translation makes a null pointer of them.
use super::ir_utils::collect_nested;
use super::{Reported, report};
use cutec_dialects::builder::IrOp;
use cutec_dialects::memo::type_text;
use melior::ir::attribute::TypeAttribute;
use melior::ir::operation::OperationLike;

/// Operations of the LLVM dialect with attributes that are types, and these. They are asked for by name: MLIR builds a
/// dictionary of all attributes whenever they are listed.
const TYPES: [(&str, &[&str]); 8] = [
    ("llvm.alloca", &["elem_type"]),
    ("llvm.getelementptr", &["elem_type"]),
    ("llvm.call", &["var_callee_type"]),
    ("llvm.invoke", &["var_callee_type"]),
    ("llvm.func", &["function_type"]),
    ("llvm.mlir.global", &["global_type"]),
    ("llvm.mlir.alias", &["alias_type"]),
    ("llvm.mlir.ifunc", &["i_func_type", "resolver_type"]),
];

/// Reports the first type of an attribute that LLVM has no sized type for.
///
/// # Errors
/// When there is one.
pub fn check_llvm_types(module: IrOp) -> Result<(), Reported> {
    let mut operations = Vec::new();
    collect_nested(module, &mut operations);
    for op in operations {
        let kind = op.name();
        let kind = kind.as_string_ref().as_str().unwrap_or_default();
        let of_kind = TYPES.iter().find(|(operation, _)| *operation == kind);
        for &name in of_kind.map_or(&[][..], |(_, names)| names) {
            let attribute = op.attribute(name).ok();
            let Some(ty) = attribute.and_then(|ty| TypeAttribute::try_from(ty).ok()) else {
                continue;
            };
            let text = type_text(ty.value());
            if !text.starts_with("!llvm.func<") && !is_sized(&text) {
                let message =
                    format!("expects a type of LLVM with a size as `{name}`, but got {text}");
                return Err(report(op.location(), message));
            }
        }
    }
    Ok(())
}

/// Whether the text of a type is one of LLVM that has a size.
pub(super) fn is_sized(text: &str) -> bool {
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
    use super::{TYPES, is_sized};
    use std::collections::BTreeSet;

    /// What TableGen declares, where LLVM's headers are.
    #[test]
    fn all_attributes_that_are_types_are_asked_for() {
        let Some(llvm) = std::env::var_os("MLIR_SYS_220_PREFIX") else {
            return;
        };
        let file = std::path::Path::new(&llvm).join("include/mlir/Dialect/LLVMIR/LLVMOps.td");
        let text = std::fs::read_to_string(file).expect("MLIR's definitions");
        // `TypeAttr:$elem_type`, `OptionalAttr<TypeAttrOf<LLVM_FunctionType>>:$var_callee_type`.
        let mut declared = BTreeSet::new();
        for (at, _) in text.match_indices("TypeAttr") {
            let (kind, rest) = text[at..].split_once(":$").expect("an argument");
            let of_one = kind.trim_end_matches('>');
            let is_name = |c: char| c.is_alphanumeric() || c == '_';
            if ["TypeAttr", "TypeAttrOf<LLVM_FunctionType"].contains(&of_one)
                && !text[..at].ends_with(is_name)
            {
                // `def LLVM_AllocaOp : LLVM_Op<"alloca",`
                let definition = text[..at].rfind("\ndef ").expect("a definition");
                let operation = text[definition..].split('"').nth(1).expect("its name");
                let name = rest.split(|c| !is_name(c)).next().expect("a name");
                declared.insert((format!("llvm.{operation}"), name));
            }
        }
        let known = TYPES.iter().flat_map(|(operation, names)| {
            names.iter().map(|name| ((*operation).to_owned(), *name))
        });
        assert_eq!(declared, known.collect());
    }

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
