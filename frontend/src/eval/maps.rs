//! Tensor maps: what the host is to tell the tensor memory accelerator of tensors that it passes (`tma_load` and the like).

use super::signature::{Argument, TensorArgument};
use super::values::Value;
use super::{Evaluator, Result, Stop};
use crate::diagnostics::{Diagnostic, codes};
use crate::source::Span;
use cutec_abi::TensorMapAbi;
use cutec_dialects::atoms::CopyAtom;
use cutec_dialects::builder::{IrValue, defining_op, value_key};
use cutec_dialects::memo::val_of;
use cutec_dialects::value::{Val, View};
use cutec_layout::Int;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockLike, ValueLike};
use std::collections::HashMap;

/// Bytes of which base and strides of a tensor are multiples (CUDA driver API, `cuTensorMapEncodeTiled`).
const ALIGN: i64 = 16;
/// Most modes of a tensor.
const MOST_MODES: usize = 5;

/// The tensors that the host passes to a kernel, and the maps of them that it is asked for.
#[derive(Default)]
pub(super) struct Maps<'c, 'a> {
    /// Which argument a view is, and how it is declared.
    tensors: HashMap<usize, (usize, TensorArgument<'a>)>,
    /// The maps, and the parameter by which each is passed.
    maps: Vec<(TensorMapAbi, IrValue<'c>)>,
}

impl<'c, 'a> Maps<'c, 'a> {
    /// A tensor that the host passes, as a view.
    pub fn tensor(&mut self, view: IrValue<'c>, arg: usize, tensor: &TensorArgument<'a>) {
        self.tensors.insert(value_key(view), (arg, tensor.clone()));
    }

    /// The maps, in the order of their parameters.
    pub fn take(&mut self) -> Vec<(TensorMapAbi, IrValue<'c>)> {
        self.tensors.clear();
        std::mem::take(&mut self.maps)
    }
}

/// A tensor of which a map can be made.
pub(super) struct Mappable<'a> {
    /// Which argument it is.
    pub arg: usize,
    /// Its mode of stride 1.
    pub contiguous: usize,
    /// How it is declared.
    pub tensor: TensorArgument<'a>,
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// The argument that a value is, if the host can make a map of it: what it takes is promised.
    pub(super) fn mappable(
        &mut self,
        value: &Value<'c, 'a>,
        name: &str,
        span: Span,
    ) -> Result<Mappable<'a>> {
        let Some((cute, view)) = value.as_view() else {
            return self.expected("a tensor that the kernel is passed", value, span);
        };
        let Some((arg, tensor)) = self.maps.tensors.get(&value_key(cute.ir)).cloned() else {
            let message = format!("`{name}` needs a tensor as the kernel is passed it");
            let diagnostic = Diagnostic::error(
                codes::ILLEGAL_OPERATION,
                span,
                message,
                "this is a part of one",
            );
            let help =
                "which part is copied the coordinates say: `local_tile(identity(shape(x)), …)`";
            return Err(self.report(diagnostic.with_help(help)));
        };
        let rank = view.layout.rank();
        if tensor.elem.is_packed() || rank > MOST_MODES {
            let message = format!("there is no tensor map of `{}`", tensor.name);
            let label = "expected 1 to 5 modes, and elements of whole bytes";
            return self.error(codes::ILLEGAL_OPERATION, span, message, label);
        }
        let contiguous = self.contiguous(view, &tensor, name, span)?;
        self.check_base(view, &tensor, name, span)?;
        for mode in (0..rank).filter(|mode| *mode != contiguous) {
            self.check_stride(view, &tensor, mode, name, span)?;
        }
        Ok(Mappable {
            arg,
            contiguous,
            tensor,
        })
    }

    /// The mode of stride 1.
    fn contiguous(
        &mut self,
        view: &View,
        tensor: &TensorArgument<'a>,
        name: &str,
        span: Span,
    ) -> Result<usize> {
        let strides = view.layout.inner().stride().leaves();
        if let Some(mode) = strides.iter().position(|stride| stride.is(1)) {
            return Ok(mode);
        }
        let message = format!("`{name}` needs a mode of `{}` of stride 1", tensor.name);
        let found = view.layout.inner().stride().to_string();
        let label = format!("the strides are {found}");
        let diagnostic = Diagnostic::error(codes::ILLEGAL_OPERATION, span, message, label);
        Err(self.report(diagnostic.with_label(tensor.span, "declared here")))
    }

    fn check_base(
        &mut self,
        view: &View,
        tensor: &TensorArgument<'a>,
        name: &str,
        span: Span,
    ) -> Result<()> {
        let found = view.ptr.alignment();
        if found >= ALIGN {
            return Ok(());
        }
        let of = &tensor.name;
        let message = format!("`{name}` needs `{of}` aligned to {ALIGN} bytes");
        let label = format!("promised are {found}");
        let diagnostic = Diagnostic::error(codes::ILLEGAL_OPERATION, span, message, label);
        let help = format!("promise `where align({of}) >= {ALIGN}`");
        Err(self.report(
            diagnostic
                .with_label(tensor.span, "declared here")
                .with_help(help),
        ))
    }

    /// Of a tensor that a map stores to: that it may be written, and that its rows are whole units, since no less is stored.
    pub(super) fn check_stored(
        &mut self,
        value: &Value<'c, 'a>,
        of: &Mappable<'a>,
        name: &str,
        span: Span,
    ) -> Result<()> {
        self.check_writable(value, span)?;
        let Some((_, view)) = value.as_view() else {
            return Err(Stop::Reported);
        };
        let extent = view.layout.inner().shape().leaves();
        let Some(extent) = extent.get(of.contiguous).copied().cloned() else {
            return Err(Stop::Reported);
        };
        let exprs = &of.tensor.extents;
        let expr = exprs.get(of.contiguous).map(|extent| extent.span);
        self.check_multiple(
            (&extent, expr),
            ("extent", of.contiguous),
            &of.tensor,
            name,
            span,
        )
    }

    fn check_stride(
        &mut self,
        view: &View,
        tensor: &TensorArgument<'a>,
        mode: usize,
        name: &str,
        span: Span,
    ) -> Result<()> {
        let layout = view.layout.inner();
        let (extents, strides) = (layout.shape().leaves(), layout.stride().leaves());
        let (Some(extent), Some(stride)) = (extents.get(mode), strides.get(mode)) else {
            return Err(Stop::Reported);
        };
        if extent.is(1) {
            return Ok(());
        }
        let expr = match &tensor.strides {
            Some(strides) => strides.get(mode).map(|stride| stride.span),
            // The stride of a mode is what the modes behind it have together: the last one is easiest to promise.
            None => tensor.extents.last().map(|extent| extent.span),
        };
        self.check_multiple((stride, expr), ("stride", mode), tensor, name, span)
    }

    /// Checks that the extent or the stride of a mode is a multiple of so many elements as a map counts in.
    fn check_multiple(
        &mut self,
        (number, expr): (&Int, Option<Span>),
        (what, mode): (&str, usize),
        tensor: &TensorArgument<'a>,
        name: &str,
        span: Span,
    ) -> Result<()> {
        let elements = ALIGN / tensor.elem.bytes();
        if number.divisible_by(elements) {
            return Ok(());
        }
        let of = &tensor.name;
        let bytes = tensor.elem.bytes();
        let message = format!(
            "`{name}` needs the {what} of mode {mode} of `{of}` to be a multiple of {ALIGN} bytes, {elements} elements"
        );
        let label = match number.as_static() {
            Some(number) => format!("it is {number} elements of {bytes} bytes"),
            None => "nothing promises it".to_owned(),
        };
        let diagnostic = Diagnostic::error(codes::ILLEGAL_OPERATION, span, message, label)
            .with_label(tensor.span, "declared here");
        let help = match number.as_static() {
            Some(_) => format!("give the tensor another {what}"),
            None => {
                let text = expr.map_or("…", |expr| self.text(expr));
                format!("promise `where {text} % {elements} == 0`")
            }
        };
        Err(self.report(diagnostic.with_help(help)))
    }

    /// Puts the names of tensors and extents into the help line of an error about a copy that asks for a promise. The first
    /// operand says how wide its accesses are.
    pub(super) fn name_promises(
        &self,
        diagnostic: &mut Diagnostic,
        vals: &[Val],
        operands: &[IrValue<'c>],
    ) {
        let asks = |help: &String| help.starts_with("promise");
        if !diagnostic.help.as_ref().is_some_and(asks) {
            return;
        }
        let width = |atom: &CopyAtom| atom.elem.bytes_of(atom.src_values());
        let (bytes, otherwise) = match vals.first() {
            Some(Val::BulkCopy(_)) => (ALIGN, ""),
            Some(Val::CopyAtom(atom)) => (width(atom), ", or copy fewer bits"),
            Some(Val::TiledCopy(copy)) => (width(&copy.atom), ", or copy fewer bits"),
            _ => return,
        };
        let mut promises = Vec::new();
        for operand in operands {
            for promise in self.promises_of_rows(*operand, bytes).unwrap_or_default() {
                if !promises.contains(&promise) {
                    promises.push(promise);
                }
            }
        }
        if !promises.is_empty() {
            let promises = promises.join(", ");
            diagnostic.help = Some(format!("promise `where {promises}`{otherwise}"));
        }
    }

    /// What is not promised of the tensor that a view is a part of, so that its rows begin at multiples of so many bytes and
    /// are as many bytes long.
    fn promises_of_rows(&self, view: IrValue<'c>, bytes: i64) -> Option<Vec<String>> {
        let mut value = view;
        let tensor = loop {
            if let Some((_, tensor)) = self.maps.tensors.get(&value_key(value)) {
                break tensor;
            }
            let op = defining_op(value)?;
            let operands = (0..op.operand_count()).filter_map(|index| op.operand(index).ok());
            let is_view = |value: &IrValue<'c>| matches!(val_of(*value), Ok(Val::View(_)));
            value = operands
                // SAFETY: the operand lives as long as the kernel that is built.
                .map(|value| unsafe { IrValue::from_raw(value.to_raw()) })
                .find(is_view)?;
        };
        let Ok(Val::View(whole)) = val_of(value) else {
            return None;
        };
        let chunk = (bytes / tensor.elem.bytes()).max(1);
        let mut promises = Vec::new();
        if whole.ptr.alignment() < bytes {
            promises.push(format!("align({}) >= {bytes}", tensor.name));
        }
        let layout = whole.layout.inner();
        let modes = layout
            .shape()
            .leaves()
            .into_iter()
            .zip(layout.stride().leaves());
        for (mode, (extent, stride)) in modes.enumerate() {
            let open = if stride.is(1) { extent } else { stride };
            if open.is_static() || open.divisible_by(chunk) {
                continue;
            }
            let expr = match &tensor.strides {
                Some(strides) if !stride.is(1) => strides.get(mode),
                Some(_) => tensor.extents.get(mode),
                // The stride of a mode is what the modes behind it have together.
                None => tensor.extents.last(),
            };
            let text = expr.map_or("…", |expr| self.text(expr.span));
            promises.push(format!("{text} % {chunk} == 0"));
        }
        Some(promises)
    }

    /// The parameter by which a map is passed: that of a map like it, or a new one.
    pub(super) fn tensor_map(&mut self, map: TensorMapAbi, span: Span) -> Result<IrValue<'c>> {
        let known = self.maps.maps.iter().find(|(known, _)| *known == map);
        if let Some((_, parameter)) = known {
            return Ok(*parameter);
        }
        let entry = self.entry.ok_or(Stop::NeedsRuntime)?;
        let location = self.location(span);
        let ty = self.ir(span)?.pointer_type(0);
        let parameter = entry.add_argument(ty, location);
        // SAFETY: the block lives as long as the kernel that is built.
        let parameter = unsafe { IrValue::from_raw(melior::ir::ValueLike::to_raw(&parameter)) };
        self.maps.maps.push((map, parameter));
        Ok(parameter)
    }

    /// Those of a signature.
    pub(super) fn note_tensor(&mut self, view: IrValue<'c>, arg: usize, argument: &Argument<'a>) {
        if let Argument::Tensor(tensor) = argument {
            self.maps.tensor(view, arg, tensor);
        }
    }
}
