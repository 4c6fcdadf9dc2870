//! Parameters and promises of a kernel: what a host passes, and what it must fulfil.

use super::abi::mentions;
use super::values::Value;
use super::{Evaluator, Result, Stop};
use crate::ast::{BinaryOp, Expr, ExprKind, ItemKind, Kernel, Param, TypeKind};
use crate::diagnostics::{Diagnostic, codes};
use crate::source::Span;
use cutec_abi::counted;
use cutec_abi::{ParamAbi, SymbolAbi, SymbolSource, Width};
use cutec_dialects::elem::Elem;
use std::sync::Arc;

/// Alignment that the base address of a tensor must have if no promise asks for more, in bytes.
pub(super) const DEFAULT_ALIGN: i64 = 16;

/// A parameter.
#[derive(Clone, Debug)]
pub(super) enum Argument<'a> {
    Tensor(TensorArgument<'a>),
    Scalar {
        name: Arc<str>,
        elem: Elem,
        /// What is promised to divide it.
        div: i64,
        span: Span,
    },
}

/// A tensor parameter.
#[derive(Clone, Debug)]
pub(super) struct TensorArgument<'a> {
    pub name: Arc<str>,
    pub elem: Elem,
    pub mutable: bool,
    pub align: i64,
    pub extents: Vec<&'a Expr>,
    /// Without: row-major.
    pub strides: Option<Vec<&'a Expr>>,
    pub span: Span,
}

/// What a kernel takes.
#[derive(Clone, Debug, Default)]
pub(super) struct Signature<'a> {
    pub arguments: Vec<Argument<'a>>,
    /// Integers that the host reads off the arguments.
    pub symbols: Vec<SymbolAbi>,
    /// Promises that are neither divisibility of a symbol nor alignment.
    pub promises: Vec<&'a Expr>,
}

impl Signature<'_> {
    /// The symbol of this name.
    pub fn symbol(&self, name: &str) -> Option<usize> {
        self.symbols.iter().position(|symbol| symbol.name == name)
    }

    /// What is passed at machine level, in order: the addresses of the tensors, the run-time integers
    /// that are no arguments themselves, the scalars.
    pub fn params(&self) -> Vec<ParamAbi> {
        let arguments = || self.arguments.iter().enumerate();
        let tensors = arguments().filter(|(_, argument)| matches!(argument, Argument::Tensor(_)));
        let scalars =
            arguments().filter(|(_, argument)| matches!(argument, Argument::Scalar { .. }));
        let symbols = self.symbols.iter().enumerate();
        let symbols =
            symbols.filter(|(_, symbol)| !matches!(symbol.from, SymbolSource::Scalar { .. }));
        tensors
            .map(|(arg, _)| ParamAbi::Pointer { arg })
            .chain(symbols.map(|(index, _)| ParamAbi::Symbol { index }))
            .chain(scalars.map(|(arg, _)| ParamAbi::Scalar { arg }))
            .collect()
    }
}

impl Argument<'_> {
    /// Element type of a tensor, or type of a scalar.
    pub fn elem(&self) -> Elem {
        match self {
            Argument::Tensor(tensor) => tensor.elem,
            Argument::Scalar { elem, .. } => *elem,
        }
    }

    /// Where the source declares it.
    pub fn span(&self) -> Span {
        match self {
            Argument::Tensor(tensor) => tensor.span,
            Argument::Scalar { span, .. } => *span,
        }
    }
}

/// The type of a run-time integer in the kernel.
pub(super) fn symbol_elem(symbol: &SymbolAbi) -> Elem {
    match symbol.width {
        Width::W32 => Elem::I32,
        Width::W64 => Elem::I64,
    }
}

/// The largest divisor that a promise may state.
pub(super) const MAX_DIVISOR: i64 = 1 << 30;

impl<'c, 'a> Evaluator<'c, 'a> {
    /// Reads parameters and promises; the compile-time parameters are bound.
    pub(super) fn signature(&mut self, kernel: &'a Kernel) -> Result<Signature<'a>> {
        let mut signature = Signature::default();
        let mut failed = false;
        for param in &kernel.params {
            match self.parameter(param) {
                Ok(argument) => signature.arguments.push(argument),
                Err(Stop::Reported) => failed = true,
                Err(stop) => return Err(stop),
            }
        }
        if failed {
            return Err(Stop::Reported);
        }
        self.symbols(&mut signature);
        let mut known = Vec::new();
        for promise in &kernel.promises {
            self.known_symbols(promise, &signature, &mut known)?;
        }
        if !known.is_empty() {
            self.symbols(&mut signature);
        }
        for promise in &kernel.promises {
            match self.promise(promise, &mut signature) {
                Ok(()) => {}
                Err(Stop::Reported) => failed = true,
                Err(stop) => return Err(stop),
            }
        }
        if failed {
            Err(Stop::Reported)
        } else {
            Ok(signature)
        }
    }

    fn parameter(&mut self, param: &'a Param) -> Result<Argument<'a>> {
        let name = param.name.node.clone();
        let Some(ty) = &param.ty else {
            return Err(Stop::Reported);
        };
        let TypeKind::Named {
            name: type_name,
            args,
        } = &ty.kind
        else {
            let message = format!("the parameter `{name}` is neither a tensor nor a number");
            return self.error(
                codes::BAD_KERNEL,
                ty.span,
                message,
                "not possible in a kernel",
            );
        };
        let item = self.items.get(&type_name.node, type_name.span.file);
        if let Some(record) = item.and_then(ItemKind::record) {
            let message = format!("the parameter `{name}` is a record");
            let label = "a host passes tensors and numbers";
            let help = format!(
                "take its fields, and build `{} {{ … }}` in the kernel",
                record.name.node
            );
            let diagnostic = Diagnostic::error(codes::BAD_KERNEL, ty.span, message, label);
            return Err(self.report(diagnostic.with_help(help)));
        }
        if &*type_name.node != "tensor" {
            let value = self.name(&type_name.node, type_name.span)?;
            return match value {
                Value::Type(elem) if args.is_empty() => {
                    self.has_values(elem, ty.span)?;
                    Ok(Argument::Scalar {
                        name,
                        elem,
                        div: 1,
                        span: param.span,
                    })
                }
                _ => {
                    let message =
                        format!("the parameter `{name}` is neither a tensor nor a number");
                    self.error(
                        codes::BAD_KERNEL,
                        ty.span,
                        message,
                        "not possible in a kernel",
                    )
                }
            };
        }
        let [elem, layout] = args.as_slice() else {
            return self.error(
                codes::BAD_KERNEL,
                ty.span,
                "a tensor has an element type and a shape",
                "expected `tensor<f32, (m, n)>`",
            );
        };
        let elem = match self.static_value("the element type", &elem.value)? {
            Value::Type(of) => {
                self.has_values(of, elem.value.span)?;
                of
            }
            other => return self.expected("an element type", &other, elem.value.span),
        };
        let modes = |expr: &'a Expr| match &*expr.kind {
            ExprKind::Tuple(parts) => parts.iter().collect::<Vec<_>>(),
            _ => vec![expr],
        };
        let (extents, strides) = match &*layout.value.kind {
            ExprKind::Layout { shape, stride } => (modes(shape), Some(modes(stride))),
            _ => (modes(&layout.value), None),
        };
        if strides
            .as_ref()
            .is_some_and(|strides| strides.len() != extents.len())
        {
            let message = format!(
                "the shape of `{name}` has {}, its strides another number",
                counted(extents.len(), "mode")
            );
            return self.error(
                codes::BAD_KERNEL,
                layout.value.span,
                message,
                "they must be as many",
            );
        }
        for mode in &extents {
            if matches!(&*mode.kind, ExprKind::Tuple(_)) {
                return self.unsupported(
                    mode.span,
                    "a nested shape of a kernel parameter",
                    "flatten it, and divide in the body",
                );
            }
        }
        Ok(Argument::Tensor(TensorArgument {
            name,
            elem,
            mutable: param.mutable,
            // One element is accessed by itself.
            align: match extents.is_empty() {
                true => elem.bytes(),
                false => DEFAULT_ALIGN.max(elem.bytes()),
            },
            extents,
            strides,
            span: param.span,
        }))
    }

    /// Names in shapes and strides that mean nothing else are run-time integers.
    fn symbols(&mut self, signature: &mut Signature<'a>) {
        let mut extents: Vec<Arc<str>> = Vec::new();
        for argument in &signature.arguments {
            if let Argument::Tensor(tensor) = argument {
                extents.extend(
                    tensor
                        .extents
                        .iter()
                        .filter_map(|extent| extent.as_name().cloned()),
                );
            }
        }
        let mut symbols: Vec<SymbolAbi> = Vec::new();
        for (arg, argument) in signature.arguments.iter().enumerate() {
            let Argument::Tensor(tensor) = argument else {
                continue;
            };
            let strides = tensor.strides.iter().flatten().enumerate();
            let extents_here = tensor.extents.iter().enumerate();
            let places = extents_here
                .map(|(mode, expr)| (expr, SymbolSource::Extent { arg, mode }, Width::W32))
                .chain(
                    strides
                        .map(|(mode, expr)| (expr, SymbolSource::Stride { arg, mode }, Width::W64)),
                );
            for (expr, from, width) in places {
                let Some(name) = expr.as_name() else { continue };
                let scalar = signature.arguments.iter().any(
                    |other| matches!(other, Argument::Scalar { name: known, .. } if known == name),
                );
                let is_extent = matches!(from, SymbolSource::Extent { .. });
                let later = !is_extent && extents.contains(name);
                let known = symbols.iter().any(|symbol| *symbol.name == **name);
                // A function or a kernel of that name is no number.
                let item = self.items.get(name, expr.span.file);
                let constant = matches!(item, Some(ItemKind::Const(_)));
                if known || later || scalar || constant || self.lookup(name).is_some() {
                    continue;
                }
                symbols.push(SymbolAbi {
                    name: name.to_string(),
                    width,
                    divisible_by: 1,
                    max: None,
                    from,
                });
            }
        }
        signature.symbols = symbols;
    }

    /// Gives a symbol that is promised to be a number, `where d == 64`, that number for a name: tensors have it for an extent then, which each
    /// launch is checked for.
    fn known_symbols(
        &mut self,
        promise: &'a Expr,
        signature: &Signature<'a>,
        known: &mut Vec<Arc<str>>,
    ) -> Result<()> {
        let ExprKind::Binary { op, lhs, rhs } = &*promise.kind else {
            return Ok(());
        };
        match op.node {
            BinaryOp::And => {
                self.known_symbols(lhs, signature, known)?;
                self.known_symbols(rhs, signature, known)
            }
            BinaryOp::Eq => {
                let symbol = |expr: &'a Expr| {
                    let name = expr.as_name()?;
                    signature.symbol(name).map(|_| (name, expr.span))
                };
                let (found, number) = match (symbol(lhs), symbol(rhs)) {
                    (Some(found), None) => (found, rhs),
                    (None, Some(found)) => (found, lhs),
                    _ => return Ok(()),
                };
                let (name, span) = found;
                if mentions(number, signature) || known.contains(name) {
                    return Ok(());
                }
                let value = self.static_int("the number promised", number)?;
                if (1..=i64::from(i32::MAX)).contains(&value) {
                    self.bind(name.clone(), Value::Int(value), false, span);
                    known.push(name.clone());
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn promise(&mut self, promise: &'a Expr, signature: &mut Signature<'a>) -> Result<()> {
        let ExprKind::Binary { op, lhs, rhs } = &*promise.kind else {
            signature.promises.push(promise);
            return Ok(());
        };
        match (op.node, &*lhs.kind) {
            (BinaryOp::And, _) => {
                self.promise(lhs, signature)?;
                self.promise(rhs, signature)
            }
            (
                BinaryOp::Eq,
                ExprKind::Binary {
                    op: inner,
                    lhs: value,
                    rhs: by,
                },
            ) if inner.node == BinaryOp::Rem => {
                let name = value.as_name();
                let symbol = name.and_then(|name| signature.symbol(name));
                let scalar = signature.arguments.iter().position(|argument| {
                    matches!(argument, Argument::Scalar { name: known, elem: Elem::I32 | Elem::I64, .. } if Some(known) == name)
                });
                let computed = mentions(rhs, signature) || mentions(by, signature);
                if symbol.is_none() && (scalar.is_none() || computed) {
                    signature.promises.push(promise);
                    return Ok(());
                }
                let rest = self.static_int("the remainder promised", rhs)?;
                if rest != 0 {
                    signature.promises.push(promise);
                    return Ok(());
                }
                let by_value = self.static_int("the divisor promised", by)?;
                if !(1..=MAX_DIVISOR).contains(&by_value) {
                    return self.error(
                        codes::BAD_KERNEL,
                        by.span,
                        format!("the divisor {by_value} is out of range"),
                        "here",
                    );
                }
                let scalar = scalar.and_then(|scalar| signature.arguments.get_mut(scalar));
                if let Some(Argument::Scalar { div, .. }) = scalar {
                    *div = common_multiple(*div, by_value).unwrap_or(*div);
                }
                let symbol = symbol.map(|symbol| &mut signature.symbols[symbol]);
                let known = symbol.and_then(|symbol| {
                    symbol.divisible_by = common_multiple(symbol.divisible_by, by_value)?;
                    Some(())
                });
                if known.is_none() {
                    signature.promises.push(promise);
                }
                Ok(())
            }
            (BinaryOp::Ge | BinaryOp::Eq, ExprKind::Call { callee, args })
                if callee.as_name().is_some_and(|name| &**name == "align") =>
            {
                let bytes = self.static_int("the alignment promised", rhs)?;
                if bytes < 1 || bytes.count_ones() != 1 || bytes > 4096 {
                    return self.error(
                        codes::BAD_KERNEL,
                        rhs.span,
                        format!("an alignment is a power of two up to 4096, not {bytes}"),
                        "here",
                    );
                }
                let wanted = args.first().and_then(|arg| arg.value.as_name().cloned());
                for argument in &mut signature.arguments {
                    if let Argument::Tensor(tensor) = argument
                        && Some(&tensor.name) == wanted.as_ref()
                    {
                        tensor.align = if bytes >= tensor.elem.bytes() {
                            bytes
                        } else {
                            tensor.align
                        };
                        return Ok(());
                    }
                }
                self.error(
                    codes::BAD_KERNEL,
                    lhs.span,
                    "`align` takes a tensor parameter",
                    "not one of them",
                )
            }
            _ => {
                signature.promises.push(promise);
                Ok(())
            }
        }
    }
}

/// The least number that both divide, up to the largest divisor that types of the IR carry.
pub(super) fn common_multiple(a: i64, b: i64) -> Option<i64> {
    let multiple = (a / cutec_layout::gcd(a, b).max(1)).checked_mul(b);
    multiple.filter(|multiple| (1..=MAX_DIVISOR).contains(multiple))
}
