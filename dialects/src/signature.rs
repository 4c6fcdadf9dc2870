//! A kernel's signature: the types that its tensors have in IR, which follow from its ABI.
//!
//! A tensor is passed as the address of its first element. Above the expansion of signatures
//! (`cute-expand-signature`) the argument of the function is the view of it instead, whose type says of each extent
//! and stride what the ABI says.
use crate::elem::Elem;
use crate::legal::check_type;
use crate::types::{Vars, parse_type};
use crate::value::Val;
use cutec_abi::{AbiExpr, Dim, KernelAbi, SymbolAbi, TensorAbi, Width};
use cutec_layout::{divisor_of_product, gcd};
use std::fmt;

/// Greatest divisor that is kept of a product.
const MAX_DIVISOR: i64 = 1 << 30;

/// An extent or a stride of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Size {
    /// The same for every launch.
    Static(i64),
    /// Computed of the run-time symbols.
    Dynamic {
        /// From which.
        expr: AbiExpr,
        /// Of how many bits it is in the kernel.
        width: Width,
        /// What is known to divide it.
        div: i64,
    },
}

/// The layout of a tensor argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSizes {
    /// Extent of each mode.
    pub extents: Vec<Size>,
    /// Stride of each mode, in elements; 64 bits where it is dynamic.
    pub strides: Vec<Size>,
}

impl TensorSizes {
    /// The extents and strides of a tensor.
    ///
    /// # Errors
    /// One that is the same for every launch and has no value.
    pub fn of(abi: &KernelAbi, tensor: &TensorAbi) -> Result<TensorSizes, String> {
        let extents = tensor.extents.iter().map(|extent| match extent {
            Dim::Static(extent) => Ok(Size::Static(*extent)),
            Dim::Symbol(index) => size(abi, &AbiExpr::Symbol(*index), Width::W32),
            Dim::Expr(expr) => size(abi, expr, Width::W32),
        });
        let strides = tensor.strides.iter();
        let strides = strides.map(|stride| size(abi, stride, Width::W64));
        Ok(TensorSizes {
            extents: extents.collect::<Result<_, _>>()?,
            strides: strides.collect::<Result<_, _>>()?,
        })
    }

    /// The extents as a shape.
    ///
    /// # Errors
    /// Where they are none.
    pub fn shape(&self) -> Result<Val, String> {
        read(&format!("!cute.shape<\"{}\">", tuple(&self.extents, 1)))
    }

    /// The strides as one value.
    ///
    /// # Errors
    /// Where they are none.
    pub fn stride(&self) -> Result<Val, String> {
        read(&format!("!cute.stride<\"{}\">", tuple(&self.strides, 0)))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Static(size) => write!(f, "{size}"),
            Size::Dynamic { width, div, .. } => match (width, div) {
                (Width::W32, 1) => write!(f, "?"),
                (Width::W64, 1) => write!(f, "?{{i64}}"),
                (Width::W32, div) => write!(f, "?{{div={div}}}"),
                (Width::W64, div) => write!(f, "?{{i64 div={div}}}"),
            },
        }
    }
}

/// The address of a tensor's first element, as its type says it.
///
/// # Errors
/// Elements that a kernel has no type for.
pub fn pointer_of(tensor: &TensorAbi) -> Result<Val, String> {
    read(&format!(
        "!cute.ptr<{}, gmem, align<{}>>",
        elem_of(tensor)?,
        tensor.align
    ))
}

/// The view of a tensor, as its type says it.
///
/// # Errors
/// Elements that a kernel has no type for, and a layout that is none.
pub fn view_of(abi: &KernelAbi, tensor: &TensorAbi) -> Result<Val, String> {
    let (elem, align) = (elem_of(tensor)?, tensor.align);
    let sizes = TensorSizes::of(abi, tensor)?;
    let layout = format!("{}:{}", tuple(&sizes.extents, 1), tuple(&sizes.strides, 0));
    check_type(&read(&format!("!cute.layout<\"{layout}\">"))?)?;
    read(&format!(
        "!cute.memref<{elem}, gmem, align<{align}>, \"{layout}\">"
    ))
}

/// What an integer of so many bits is, as its type says it, of which is known what divides it.
pub fn divisible(width: Width, div: i64) -> Result<Val, String> {
    let size = Size::Dynamic {
        expr: AbiExpr::Const(0),
        width,
        div,
    };
    read(&format!("!cute.int_tuple<\"{size}\">"))
}

fn read(text: &str) -> Result<Val, String> {
    parse_type(text, &mut Vars::default()).map_err(|error| error.to_string())
}

fn elem_of(tensor: &TensorAbi) -> Result<Elem, String> {
    let mut all = Elem::ALL.iter().map(|(elem, _)| *elem);
    all.find(|elem| elem.dtype() == Some(tensor.dtype))
        .ok_or_else(|| format!("a kernel has no elements of type {}", tensor.dtype))
}

fn size(abi: &KernelAbi, expr: &AbiExpr, least: Width) -> Result<Size, String> {
    let (mut symbols, mut width) = (false, least);
    expr.for_each_symbol(&mut |index| {
        symbols = true;
        if abi.symbols.get(index).map(|symbol| symbol.width) == Some(Width::W64) {
            width = Width::W64;
        }
    });
    if !symbols {
        let size = expr.eval(&[]).map_err(|error| error.to_string())?;
        return Ok(Size::Static(size));
    }
    Ok(Size::Dynamic {
        expr: expr.clone(),
        width,
        div: divisor(&abi.symbols, expr),
    })
}

/// What is known to divide an expression of run-time symbols.
pub fn divisor(symbols: &[SymbolAbi], expr: &AbiExpr) -> i64 {
    let of = |expr: &AbiExpr| divisor(symbols, expr);
    match expr {
        AbiExpr::Const(value) => value.checked_abs().unwrap_or(1),
        AbiExpr::Symbol(index) => symbols.get(*index).map_or(1, |it| it.divisible_by),
        AbiExpr::Mul(a, b) => divisor_of_product(of(a), of(b), MAX_DIVISOR),
        AbiExpr::Add(a, b) | AbiExpr::Sub(a, b) | AbiExpr::Rem(a, b) => gcd(of(a), of(b)).max(1),
        AbiExpr::Div(a, b) | AbiExpr::CeilDiv(a, b) => match **b {
            AbiExpr::Const(by) if by > 0 && of(a) > 0 && of(a) % by == 0 => of(a) / by,
            _ => 1,
        },
        AbiExpr::Min(..)
        | AbiExpr::Max(..)
        | AbiExpr::Eq(..)
        | AbiExpr::Ne(..)
        | AbiExpr::Lt(..)
        | AbiExpr::Le(..)
        | AbiExpr::Gt(..)
        | AbiExpr::Ge(..)
        | AbiExpr::And(..)
        | AbiExpr::Or(..) => 1,
    }
}

/// Sizes as a tuple; of one mode that alone. A tensor of rank 0 is one of a mode with one element, `1:0`.
fn tuple(sizes: &[Size], of_none: i64) -> String {
    let texts: Vec<String> = sizes.iter().map(Size::to_string).collect();
    match texts.as_slice() {
        [] => of_none.to_string(),
        [one] => one.clone(),
        _ => format!("({})", texts.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutec_abi::ArgAbi;

    fn view(tensor: &str) -> Result<String, String> {
        let text = format!(
            "\"k\" arg x: {tensor} align 16 arg y: tensor<f32, (m, n):(ld, 1)> arg s: i32 \
             symbol m: i32 = extent 0 of y symbol n: i32 = extent 1 of y div 8 \
             symbol ld: i64 = stride 0 of y div 4 symbol s: i32 = scalar s \
             params (pointer x, pointer y, symbol m, symbol n, symbol ld, scalar s) grid (1, 1, 1)"
        );
        let abi = KernelAbi::parse(&text).map_err(|error| error.message)?;
        match &abi.args[0] {
            ArgAbi::Tensor(tensor) => view_of(&abi, tensor).map(|view| view.to_string()),
            ArgAbi::Scalar(_) => Err("a scalar".into()),
        }
    }

    #[test]
    fn the_type_says_what_the_abi_says() {
        for (tensor, layout) in [
            (
                "tensor<f16, (m, n):(n, 1)>",
                "(?,?{div=8}):(?{i64 div=8},1)",
            ),
            ("tensor<f16, (n):(1)>", "?{div=8}:1"),
            (
                "tensor<f16, (64, n):(1, ld)>",
                "(64,?{div=8}):(1,?{i64 div=4})",
            ),
            (
                "tensor<f16, (m * 2, n / 4):(n / 4, 1)>",
                "(?{div=2},?{div=2}):(?{i64 div=2},1)",
            ),
            (
                "tensor<f16, (m, n, n):(n * n, n, 1)>",
                "(?,?{div=8},?{div=8}):(?{i64 div=64},?{i64 div=8},1)",
            ),
            ("tensor<f16, (ceil_div(m, 4) + n):(1)>", "?:1"),
            ("tensor<f16, (ld):(1)>", "?{i64 div=4}:1"),
            ("tensor<f16, (s - 1):(2 * 3)>", "?:6"),
            ("tensor<f16, ():()>", "1:0"),
        ] {
            let expected = format!("!cute.memref<f16, gmem, align<16>, \"{layout}\">");
            assert_eq!(view(tensor), Ok(expected), "{tensor}");
        }
    }

    #[test]
    fn what_has_no_type_is_refused() {
        for (tensor, problem) in [
            (
                "tensor<u16, (m):(1)>",
                "a kernel has no elements of type u16",
            ),
            ("tensor<f16, (m):(1 / 0)>", "zero"),
            ("tensor<f16, (m):(9223372036854775807 * 2)>", "64"),
        ] {
            let refused = view(tensor).unwrap_err();
            assert!(refused.contains(problem), "{tensor}: {refused}");
        }
    }
}
