//! The kernel ABI in IR: the attribute `cute.abi = #cute.abi<…>` of a kernel's function.
//!
//! In the IR it is a text; here it is a [`KernelAbi`], which passes take, extend and put back.

use crate::memo::type_text;
use crate::signature::view_of;
use cutec_abi::validate::Problem;
use cutec_abi::{AbiExpr, ArgAbi, KernelAbi, ParamAbi, Width};
use melior::ir::attribute::TypeAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::FunctionType;
use melior::ir::{Attribute, AttributeLike, Type};
use melior::{Context, StringRef};
use mlir_sys::{MlirAttribute, MlirContext, MlirStringRef};

/// Name of the attribute on the function.
pub const ATTRIBUTE: &str = "cute.abi";

unsafe extern "C" {
    fn cutec_abi_attribute(context: MlirContext, text: MlirStringRef) -> MlirAttribute;
    fn cutec_abi_text(attribute: MlirAttribute) -> MlirStringRef;
}

/// The attribute that says `abi`.
///
/// # Errors
/// Where the ABI contradicts itself.
pub fn attribute<'c>(context: &'c Context, abi: &KernelAbi) -> Result<Attribute<'c>, Problem> {
    abi.check()?;
    let text = abi.text();
    // SAFETY: MLIR copies the text into the context, which outlives the attribute.
    Ok(unsafe {
        Attribute::from_raw(cutec_abi_attribute(
            context.to_raw(),
            StringRef::new(&text).to_raw(),
        ))
    })
}

/// The ABI that an attribute says; `None` for an attribute of another kind.
pub fn kernel_abi(attribute: Attribute) -> Option<KernelAbi> {
    // SAFETY: a live attribute; its text lives as long as the context.
    let text = unsafe {
        let text = cutec_abi_text(attribute.to_raw());
        if text.data.is_null() {
            return None;
        }
        std::slice::from_raw_parts(text.data.cast::<u8>(), text.length)
    };
    KernelAbi::parse(std::str::from_utf8(text).ok()?).ok()
}

/// The ABI of a function, where it has one.
pub fn abi_of<'c: 'a, 'a>(function: &impl OperationLike<'c, 'a>) -> Option<KernelAbi> {
    kernel_abi(function.attribute(ATTRIBUTE).ok()?)
}

/// Checks the ABI that an operation carries against what it is.
pub(crate) fn check_kernel<'c: 'a, 'a>(
    op: &impl OperationLike<'c, 'a>,
    attribute: Attribute,
) -> Result<(), String> {
    let Some(abi) = kernel_abi(attribute) else {
        return Err(format!("`{ATTRIBUTE}`: expected `#cute.abi<…>`"));
    };
    let Ok(function) = op.attribute("function_type") else {
        return Err(format!("`{ATTRIBUTE}` belongs on a kernel's function"));
    };
    // Upstream passes lower the function's type in their own way, and its ABI with it.
    let Some(function) = TypeAttribute::try_from(function)
        .ok()
        .and_then(|function| FunctionType::try_from(function.value()).ok())
    else {
        return Ok(());
    };
    let (expected, found) = (abi.params.len(), function.input_count());
    if expected != found {
        return Err(format!(
            "`{ATTRIBUTE}` has {expected} parameters, the function {found}"
        ));
    }
    for (index, param) in abi.params.iter().enumerate() {
        let Ok(input) = function.input(index) else {
            continue;
        };
        let found = input.to_string();
        if let (ParamAbi::Pointer { arg }, true) = (param, found.starts_with("!cute.memref<")) {
            check_view(&abi, *arg, input).map_err(|expected| {
                format!("`{ATTRIBUTE}`: expected parameter {index} of the function to be {expected}, found {found}")
            })?;
            continue;
        }
        let expected = match *param {
            ParamAbi::Pointer { .. } | ParamAbi::TensorMap { .. } => "a pointer",
            ParamAbi::Symbol { index } => match abi.symbols.get(index).map(|it| it.width) {
                Some(Width::W32) => "i32",
                Some(Width::W64) => "i64",
                None => continue,
            },
            ParamAbi::Scalar { .. } => "a number",
        };
        let pointer = found.starts_with("!cute.ptr<") || found.starts_with("!llvm.ptr");
        let fits = match expected {
            "a pointer" => pointer,
            "a number" => !found.starts_with('!'),
            width => found == width,
        };
        if !fits {
            return Err(format!(
                "`{ATTRIBUTE}`: expected parameter {index} of the function to be {expected}, found {found}"
            ));
        }
    }
    check_block(op, &abi)
}

/// Checks the view that stands for the pointer to a tensor; otherwise says what is expected.
fn check_view(abi: &KernelAbi, arg: usize, found: Type) -> Result<(), String> {
    let Some(ArgAbi::Tensor(tensor)) = abi.args.get(arg) else {
        return Err("a pointer".into());
    };
    let expected = view_of(abi, tensor).map_err(|problem| format!("a pointer ({problem})"))?;
    let expected = expected.to_string();
    match *type_text(found) == *expected {
        true => Ok(()),
        false => Err(expected),
    }
}

/// Both may say how many threads a block has.
fn check_block<'c: 'a, 'a>(op: &impl OperationLike<'c, 'a>, abi: &KernelAbi) -> Result<(), String> {
    let (Some(block), Ok(known)) = (&abi.block, op.attribute("known_block_size")) else {
        return Ok(());
    };
    let extents: Option<Vec<String>> = block
        .iter()
        .map(|extent| match extent {
            AbiExpr::Const(extent) => Some(extent.to_string()),
            _ => None,
        })
        .collect();
    let Some(extents) = extents else {
        return Ok(());
    };
    let (expected, found) = (
        format!("array<i32: {}>", extents.join(", ")),
        known.to_string(),
    );
    if expected == found {
        return Ok(());
    }
    Err(format!(
        "`{ATTRIBUTE}` has blocks of ({}) threads, but `known_block_size` is {found}",
        extents.join(", ")
    ))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;

    const TEXT: &str = "\"scale\"\n  arg x: mut tensor<f32, (n):(1)> align 16\n  \
        symbol n: i32 = extent 0 of x div 4\n  params (pointer x, symbol n)\n  \
        grid (ceil_div(n, 128), 1, 1)";

    #[test]
    fn an_abi_goes_into_the_ir_and_comes_back() {
        let context = crate::context();
        let abi = KernelAbi::parse(TEXT).unwrap();
        let made = attribute(&context, &abi).unwrap();
        assert_eq!(made.to_string(), format!("#cute.abi<{TEXT}>"));
        assert_eq!(kernel_abi(made), Some(abi));
        let parsed = Attribute::parse(&context, &made.to_string()).unwrap();
        assert_eq!(parsed, made);
        let other = Attribute::parse(&context, "3 : i32").unwrap();
        assert_eq!(kernel_abi(other), None);
    }

    #[test]
    fn an_abi_that_contradicts_itself_gets_no_attribute() {
        let context = crate::context();
        let mut abi = KernelAbi::parse(TEXT).unwrap();
        abi.params.push(ParamAbi::TensorMap { index: 0 });
        let problem = attribute(&context, &abi).unwrap_err();
        assert_eq!(
            problem.to_string(),
            "a parameter refers to tensor map 0 of 0"
        );
    }
}
