//! Kernels: `gpu.func` with its parameters, the tensors made of them, the body.

use super::abi::{Launch, entry_name};
use super::parameters::shown;
use super::signature::{Argument, Signature, symbol_elem};
use super::stmt::Place;
use super::values::{Origin, Scalar, Value};
use super::{Evaluator, Frame, Result, Stop, problem};
use crate::ast::Kernel;
use crate::diagnostics::{Diagnostic, codes};
use crate::source::Span;
use cutec_abi::{ArgAbi, KernelAbi, ParamAbi};
use cutec_dialects::builder::{
    Insertion, IrBlock, OpBuilder, argument_of, erase_unused, region_with_block,
};
use cutec_dialects::ops::GpuOp;
use cutec_dialects::signature::view_of;
use melior::ir::attribute::StringAttribute;
use melior::ir::operation::OperationMutLike;
use melior::ir::{Attribute, BlockRef, Location, Module, Type, ValueLike};
use std::sync::Arc;

impl<'c, 'a> Evaluator<'c, 'a> {
    /// Emits kernels; `None` after errors.
    pub(super) fn kernels(&mut self, kernels: &[&'a Kernel]) -> Option<Module<'c>> {
        let context = self.context;
        let mut module = Module::new(Location::unknown(context));
        let (region, kernels_block) = region_with_block(&[]);
        let mut failed = false;
        for kernel in kernels {
            match self.kernel(kernel, kernels_block) {
                Ok(()) => {}
                Err(stop) => {
                    failed = true;
                    if stop == Stop::NeedsRuntime {
                        let message = "this kernel needs something at compile time that is known only at run time";
                        self.report(Diagnostic::error(
                            codes::STATIC_NEEDED,
                            kernel.name.span,
                            message,
                            "here",
                        ));
                    }
                }
            }
        }
        if failed || self.diagnostics.iter().any(Diagnostic::is_error) {
            return None;
        }
        // SAFETY: the module owns its body as long as it lives; the builder is dropped before.
        let body = unsafe { BlockRef::from_raw(module.body().to_raw()) };
        let ir = OpBuilder::new(context, Insertion::End(body));
        let name = ir.string("kernels");
        let target = ir.target(&self.options.target);
        let attrs = [("sym_name", name), ("cute.target", target)];
        ir.op_with_regions(GpuOp::Module, &[], &attrs, &[], vec![region]);
        module
            .as_operation_mut()
            .set_attribute("gpu.container_module", Attribute::unit(context));
        Some(module)
    }

    fn kernel(&mut self, kernel: &'a Kernel, into: IrBlock<'c>) -> Result<()> {
        self.frame = Frame::new();
        (self.steps, self.ops, self.nesting) = (0, 0, 0);
        (self.tiles, self.role, self.regions) = (None, None, 0);
        self.block = None;
        self.tile_indices.clear();
        self.tile_queue = None;
        self.fragments = Default::default();
        self.calls.clear();
        self.waits_for_launch = false;
        let mut defines = Vec::new();
        for param in &kernel.static_params {
            let value = self.static_param(kernel, param)?;
            defines.push((param.name.node.clone(), shown(&value)));
            self.bind(param.name.node.clone(), value, false, param.name.span);
        }
        self.check_candidates(kernel)?;
        let mut signature = self.signature(kernel)?;
        let launch = self.launch(kernel, &mut signature);
        let launch = match launch {
            Err(Stop::NeedsRuntime) => {
                return self.error(
                    codes::BAD_KERNEL,
                    kernel.name.span,
                    "the launch depends on what only a thread knows",
                    "here",
                );
            }
            other => other?,
        };
        let abi = self.kernel_abi(kernel, &mut signature, &launch, &defines)?;
        // At tile level, where nobody knows it yet, nothing may ask for it.
        self.block = launch.block;
        self.min_blocks = launch.min_blocks.unwrap_or(1);
        self.cluster = launch.cluster;
        self.cooperative = launch.cooperative;
        self.tiles = launch.tiles.as_ref().map(|tiles| tiles.counts.len());
        self.function(kernel, &signature, &launch, &abi, into)?;
        if let Some(span) = launch.pdl
            && !self.waits_for_launch
        {
            self.diagnostics
                .push(problem::no_wait_for_launch(&kernel.name.node, span));
        }
        Ok(())
    }

    fn function(
        &mut self,
        kernel: &'a Kernel,
        signature: &Signature<'a>,
        launch: &Launch<'a>,
        abi: &KernelAbi,
        into: IrBlock<'c>,
    ) -> Result<()> {
        let builder = OpBuilder::new(self.context, Insertion::End(into));
        let mut types = Vec::new();
        for param in &abi.params {
            types.extend(self.param_type(&builder, kernel, signature, abi, *param)?);
        }
        let arguments: Vec<_> = types
            .iter()
            .map(|(ty, span)| (*ty, self.location(*span)))
            .collect();
        let (region, entry) = region_with_block(&arguments);
        let mut builder = builder;
        builder.insertion = Insertion::End(entry);
        self.ir = Some(builder);
        self.entry = Some(entry);
        let result = self.body(kernel, signature, launch, abi, entry);
        let ir = self.ir.take();
        self.entry = None;
        let maps = self.maps.take();
        result?;
        let Some(mut ir) = ir else {
            return Err(Stop::Reported);
        };
        let mut abi = abi.clone();
        for (map, parameter) in maps {
            let index = abi.tensor_maps.len();
            abi.tensor_maps.push(map);
            abi.params.push(ParamAbi::TensorMap { index });
            types.push((parameter.r#type(), kernel.name.span));
        }
        ir.insertion = Insertion::End(into);
        ir.location = self.location(kernel.name.span);
        let attribute = match cutec_dialects::abi::attribute(self.context, &abi) {
            Ok(attribute) => attribute,
            Err(problem) => {
                let message = format!("no host can launch this kernel: {problem}");
                return self.error(codes::BAD_KERNEL, kernel.name.span, message, "here");
            }
        };
        let taken: Vec<_> = types.iter().map(|(ty, _)| *ty).collect();
        let unit = Attribute::unit(self.context);
        let mut attrs: Vec<(&str, Attribute<'c>)> = vec![
            (
                "sym_name",
                StringAttribute::new(self.context, &entry_name(&kernel.name.node)).into(),
            ),
            ("function_type", ir.type_attr(ir.function_type(&taken, &[]))),
            ("gpu.kernel", unit),
            (cutec_dialects::abi::ATTRIBUTE, attribute),
        ];
        if let Some(block) = launch.block {
            attrs.push(("known_block_size", ir.i32_array(&block.map(saturated))));
        }
        if let Some(tiles) = &launch.tiles {
            if let Some(width) = tiles.raster {
                attrs.push(("tile.raster", ir.i32(saturated(width))));
            }
            if let Some(parameter) = self.tile_queue {
                attrs.push(("tile.queue", ir.i32(parameter)));
            }
            if let Some(warps) = &tiles.warps {
                let warps: Vec<i32> = warps.iter().map(|count| saturated(*count)).collect();
                attrs.push(("tile.warps", ir.i32_array(&warps)));
            }
            if let Some(blocks) = &tiles.multicast {
                // Of one block each it says that blocks are alone, whatever the compiler would choose.
                attrs.push(("tile.multicast", ir.i32_array(&blocks.map(saturated))));
            }
            if let Some(wanted) = tiles.pingpong {
                attrs.push(("tile.pingpong", ir.i32(if wanted { 2 } else { 1 })));
            }
            if let Some(wanted) = tiles.persistent {
                attrs.push(("tile.persistent", ir.bool(wanted)));
            }
        }
        if let Some(blocks) = launch.min_blocks {
            attrs.push(("nvvm.minctasm", ir.i32(saturated(blocks))));
        }
        if launch.cluster != [1; 3] {
            attrs.push((
                "nvvm.cluster_dim",
                ir.i32_array(&launch.cluster.map(saturated)),
            ));
        }
        ir.op_with_regions(GpuOp::Func, &[], &attrs, &[], vec![region]);
        Ok(())
    }

    /// The type of a parameter, and where the source declares it.
    fn param_type(
        &mut self,
        ir: &OpBuilder<'c>,
        kernel: &'a Kernel,
        signature: &Signature<'a>,
        abi: &KernelAbi,
        param: ParamAbi,
    ) -> Result<Option<(Type<'c>, Span)>> {
        let (elem, span) = match param {
            ParamAbi::Pointer { arg } | ParamAbi::Scalar { arg } => {
                if let Some(ArgAbi::Tensor(tensor)) = abi.args.get(arg)
                    && let Some(argument) = signature.arguments.get(arg)
                {
                    return match view_of(abi, tensor) {
                        Ok(view) => Ok(Some((ir.val_type(&view), argument.span()))),
                        Err(problem) => {
                            let message = format!("the layout of `{}`: {problem}", tensor.name);
                            let span = argument.span();
                            self.error(codes::LAYOUT_ALGEBRA, span, message, "this tensor")
                        }
                    };
                }
                match signature.arguments.get(arg) {
                    Some(argument) => (argument.elem(), argument.span()),
                    None => return Ok(None),
                }
            }
            ParamAbi::Symbol { index } => match signature.symbols.get(index) {
                Some(symbol) => (symbol_elem(symbol), kernel.name.span),
                None => return Ok(None),
            },
            // What the body asks for, and passes, add these.
            ParamAbi::TensorMap { .. } => return Ok(None),
        };
        Ok(Some((ir.ty(elem.value_type()), span)))
    }

    fn body(
        &mut self,
        kernel: &'a Kernel,
        signature: &Signature<'a>,
        launch: &Launch<'a>,
        abi: &KernelAbi,
        entry: IrBlock<'c>,
    ) -> Result<()> {
        let mut assumptions = Vec::new();
        for (at, param) in abi.params.iter().enumerate() {
            let (name, elem, div, span) = match *param {
                ParamAbi::Symbol { index } => match signature.symbols.get(index) {
                    Some(symbol) => {
                        let name = Arc::from(symbol.name.as_str());
                        let elem = symbol_elem(symbol);
                        (name, elem, symbol.divisible_by, kernel.name.span)
                    }
                    None => continue,
                },
                ParamAbi::Scalar { arg } => match signature.arguments.get(arg) {
                    Some(Argument::Scalar {
                        name,
                        elem,
                        div,
                        span,
                    }) => (name.clone(), *elem, *div, *span),
                    _ => continue,
                },
                ParamAbi::Pointer { .. } | ParamAbi::TensorMap { .. } => continue,
            };
            let mut scalar = Scalar {
                ir: argument_of(entry, at),
                elem,
                div,
                tuple: None,
            };
            if div > 1 {
                let assumed = self.assume(&scalar, span)?;
                assumptions.push(assumed);
                scalar.tuple = Some(assumed);
            }
            self.bind(name, Value::Scalar(scalar), false, span);
        }
        for (at, param) in abi.params.iter().enumerate() {
            if let ParamAbi::Pointer { arg } = *param
                && let Some(Argument::Tensor(tensor)) = signature.arguments.get(arg)
            {
                let origin = Origin {
                    readonly: (!tensor.mutable).then(|| tensor.name.clone()),
                    ..Origin::default()
                };
                let view = Value::of_ir(argument_of(entry, at), origin);
                self.note_tensor(argument_of(entry, at), arg, &signature.arguments[arg]);
                self.bind(tensor.name.clone(), view, false, tensor.span);
            }
        }
        if let Some(tiles) = &launch.tiles {
            self.tile_grid(tiles, kernel.name.span)?;
        }
        let block = &kernel.body;
        self.frame.scopes.push(Default::default());
        let result = self.list(
            (&block.stmts, block.value.as_ref()),
            Place {
                tail: true,
                wanted: false,
            },
        );
        self.frame.scopes.pop();
        let flow = result?;
        let gives = match &flow {
            super::stmt::Flow::Return(value) => !matches!(value, Value::Unit),
            _ => self.frame.result.is_some(),
        };
        match flow {
            super::stmt::Flow::Break | super::stmt::Flow::Continue => return Err(Stop::Reported),
            _ if gives => {
                return self.error(
                    codes::WRONG_TYPE,
                    kernel.name.span,
                    "a kernel returns nothing",
                    "this one returns a value",
                );
            }
            _ => {}
        }
        self.ir(kernel.name.span)?.op(GpuOp::Return, &[], &[], &[]);
        // What divides the extents of tensors stands in their types; few kernels ask for more.
        for value in assumptions.into_iter().chain(self.tile_indices.drain(..)) {
            erase_unused(value);
        }
        Ok(())
    }
}

/// As many, of 32 bits: what does not fit is more than any launch has, and refused as that.
fn saturated(count: impl TryInto<i32>) -> i32 {
    count.try_into().unwrap_or(i32::MAX)
}
