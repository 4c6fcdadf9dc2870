//! `cute-expand-signature`: tensors that a kernel takes as views are taken as addresses, as the machine passes them.
//!
//! Before: `gpu.func @k(%x: !cute.memref<f16, gmem, align<16>, "(?,?{div=8}):(?{i64 div=8},1)">, %m: i32, %n: i32)` with
//! `cute.abi`, which says that the extents of `x` are `m` and `n`, and its first stride is `n`. After:
//! `gpu.func @k(%x: !cute.ptr<f16, gmem, align<16>>, %m: i32, %n: i32)`, whose body begins with the view: what the ABI
//! says to divide `n` is assumed, extents and strides are computed of the arguments, then come `make_shape`,
//! `make_stride`, `make_layout` and `make_view`. Functions without ABI and arguments that are addresses stay as they
//! are. Precondition: the module verifies, so that the types of the views are those of the ABI.
use super::cmpi::{AT_LEAST, AT_MOST, EQUAL, GREATER, LESS, NOT_EQUAL, cmpi};
use super::ir_utils::{
    Kernel, blocks, defining_op, first_operation, for_each_kernel, replace_all_uses, set_attribute,
    set_operand,
};
use super::{Reported, report};
use cutec_abi::{AbiExpr, ArgAbi, DType, KernelAbi, ParamAbi, SymbolSource, TensorAbi, Width};
use cutec_dialects::abi::abi_of;
use cutec_dialects::builder::{Insertion, IrBlock, IrOp, IrValue, OpBuilder, argument_of};
use cutec_dialects::ir::build;
use cutec_dialects::memo::type_text;
use cutec_dialects::ops::{ArithOp, CuteOp};
use cutec_dialects::semantics::Attrs;
use cutec_dialects::signature::{Size, TensorSizes, divisible, pointer_of};
use cutec_dialects::value::Val;
use melior::Context;
use melior::ir::{BlockLike, ValueLike, operation::OperationLike};
use std::collections::HashMap;

/// Expands the signature of every kernel of the module.
pub fn expand_signature<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        expand_kernel(kernel, Sharing::Tensor)
    })
}

/// For how many tensors an extent or stride is computed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    /// For each anew: at the cute level, where nothing is merged but what the program says once.
    Tensor,
    /// For all: at the tile level, where `tile-merge` has merged the rest.
    Kernel,
}

/// Expands the signature of a kernel, at the begin of its body.
pub(super) fn expand_kernel(kernel: Kernel, sharing: Sharing) -> Result<(), Reported> {
    let Kernel {
        context, function, ..
    } = kernel;
    let body = blocks(function, 0).into_iter().next();
    let entry = body.and_then(first_operation);
    let (Some(body), Some(entry)) = (body, entry) else {
        return Ok(());
    };
    let arguments = 0..body.argument_count();
    let views: Vec<usize> = arguments
        .filter(|index| is_view(argument_of(body, *index)))
        .collect();
    let Some(abi) = abi_of(&function).filter(|_| !views.is_empty()) else {
        return Ok(());
    };
    let mut ir = OpBuilder::new(context, Insertion::Before(entry));
    ir.location = function.location();
    let mut expansion = Expansion {
        ir,
        abi: &abi,
        body,
        sharing,
        assumed: HashMap::new(),
        computed: HashMap::new(),
    };
    expansion
        .run(&views)
        .map_err(|problem| report(function.location(), problem))?;
    // Attributions of shared memory stand behind the parameters among the arguments of the block.
    let params = 0..body.argument_count().min(abi.params.len());
    let types: Vec<_> = params
        .map(|index| argument_of(body, index).r#type())
        .collect();
    let ir = &expansion.ir;
    let ty = ir.type_attr(ir.function_type(&types, &[]));
    set_attribute(function, "function_type", ty);
    Ok(())
}

fn is_view(value: IrValue) -> bool {
    type_text(value.r#type()).starts_with("!cute.memref<")
}

struct Expansion<'a, 'c> {
    ir: OpBuilder<'c>,
    abi: &'a KernelAbi,
    body: IrBlock<'c>,
    sharing: Sharing,
    /// Symbols of which something is known to divide them, with that in their type.
    assumed: HashMap<usize, IrValue<'c>>,
    /// Expressions that are computed, by whether in 64 bits.
    computed: HashMap<(AbiExpr, bool), IrValue<'c>>,
}

impl<'c> Expansion<'_, 'c> {
    fn run(&mut self, views: &[usize]) -> Result<(), String> {
        for param in &self.abi.params {
            if let ParamAbi::Symbol { index } = *param
                && let Some(symbol) = self.abi.symbols.get(index)
                && symbol.divisible_by > 1
            {
                let value = self.symbol(index)?;
                let assumed = self.assume(value, symbol.width, symbol.divisible_by)?;
                self.assumed.insert(index, assumed);
            }
        }
        for index in views {
            let tensor = match self.abi.params.get(*index) {
                Some(ParamAbi::Pointer { arg }) => match self.abi.args.get(*arg) {
                    Some(ArgAbi::Tensor(tensor)) => tensor,
                    Some(ArgAbi::Scalar(_)) | None => return Err(self.mismatch(*index)),
                },
                Some(
                    ParamAbi::Symbol { .. } | ParamAbi::Scalar { .. } | ParamAbi::TensorMap { .. },
                )
                | None => return Err(self.mismatch(*index)),
            };
            self.tensor(*index, tensor)?;
        }
        Ok(())
    }

    fn mismatch(&self, index: usize) -> String {
        let found = argument_of(self.body, index).r#type();
        format!("expects parameter {index} as `cute.abi` says it, but got {found}")
    }

    /// Makes the view of a tensor, and takes its address in its place.
    fn tensor(&mut self, index: usize, tensor: &TensorAbi) -> Result<(), String> {
        let argument = argument_of(self.body, index);
        let declared = argument.r#type();
        let sizes = TensorSizes::of(self.abi, tensor)?;
        match self.sharing {
            Sharing::Tensor => self.computed.clear(),
            Sharing::Kernel => {}
        }
        let extents = sizes.extents.iter();
        let extents: Vec<_> = extents
            .map(|extent| self.size(extent))
            .collect::<Result<_, _>>()?;
        // The strides of a compact tensor are products of those behind them.
        let strides = sizes.strides.iter().rev();
        let mut strides: Vec<_> = strides
            .map(|stride| self.size(stride))
            .collect::<Result<_, _>>()?;
        strides.reverse();
        let extents = self.operands(&sizes.extents, &extents)?;
        let strides = self.operands(&sizes.strides, &strides)?;
        let shape = self.build(CuteOp::MakeShape, &extents, Some(sizes.shape()?))?;
        let stride = self.build(CuteOp::MakeStride, &strides, Some(sizes.stride()?))?;
        let layout = self.build(CuteOp::MakeLayout, &[shape, stride], None)?;
        let Some(pointer) = self.ir.type_of(&pointer_of(tensor)?) else {
            return Err(self.mismatch(index));
        };
        argument.set_type(pointer);
        let view = self.build(CuteOp::MakeView, &[argument, layout], None)?;
        if view.r#type() != declared {
            argument.set_type(declared);
            return Err(self.mismatch(index));
        }
        replace_all_uses(argument, view);
        let view = defining_op(view).ok_or("a view is no operation's")?;
        set_operand(view, 0, argument);
        Ok(())
    }

    /// What a dynamic extent or stride is computed as.
    fn size(&mut self, size: &Size) -> Result<Option<IrValue<'c>>, String> {
        match size {
            Size::Static(_) => Ok(None),
            Size::Dynamic { expr, width, .. } => self.expr(expr, *width).map(Some),
        }
    }

    /// The dynamic ones of some sizes as operands, with what their types say to divide them.
    fn operands(
        &self,
        sizes: &[Size],
        values: &[Option<IrValue<'c>>],
    ) -> Result<Vec<IrValue<'c>>, String> {
        let both = sizes.iter().zip(values);
        let operands = both.filter_map(|(size, value)| match (size, *value) {
            (Size::Dynamic { expr, width, div }, Some(value)) => Some(match expr {
                _ if *div == 1 => Ok(value),
                AbiExpr::Symbol(index) if self.abi.symbols[*index].width == *width => {
                    match self.assumed.get(index) {
                        Some(assumed) => Ok(*assumed),
                        None => self.assume(value, *width, *div),
                    }
                }
                _ => self.assume(value, *width, *div),
            }),
            (Size::Static(_), _) | (_, None) => None,
        });
        operands.collect()
    }

    fn assume(&self, value: IrValue<'c>, width: Width, div: i64) -> Result<IrValue<'c>, String> {
        self.build(CuteOp::Assume, &[value], Some(divisible(width, div)?))
    }

    fn build(
        &self,
        op: CuteOp,
        operands: &[IrValue<'c>],
        result: Option<Val>,
    ) -> Result<IrValue<'c>, String> {
        let attrs = Attrs {
            result,
            ..Attrs::default()
        };
        let built = build(&self.ir, op, operands, &attrs).map_err(|error| error.to_string())?;
        built.ok_or_else(|| format!("{op} gives nothing"))
    }

    /// The parameter that is a symbol.
    fn symbol(&self, index: usize) -> Result<IrValue<'c>, String> {
        let symbol = self.abi.symbols.get(index);
        let from = symbol.map(|symbol| symbol.from);
        let is_it = |param: &ParamAbi| match (*param, from) {
            (ParamAbi::Symbol { index: passed }, _) => passed == index,
            (ParamAbi::Scalar { arg: passed }, Some(SymbolSource::Scalar { arg })) => passed == arg,
            (ParamAbi::Scalar { .. }, _) => false,
            (ParamAbi::Pointer { .. } | ParamAbi::TensorMap { .. }, _) => false,
        };
        let at = self.abi.params.iter().position(is_it);
        let at = at.filter(|at| *at < self.body.argument_count());
        at.map(|at| argument_of(self.body, at)).ok_or_else(|| {
            let name = symbol.map_or("", |symbol| symbol.name.as_str());
            format!("expects the symbol `{name}` of `cute.abi` among the parameters")
        })
    }

    /// A symbol as an integer of so many bits.
    fn widened(&self, index: usize, width: Width) -> Result<IrValue<'c>, String> {
        let value = self.symbol(index)?;
        let ty = self.ir.ty(type_of(width));
        if value.r#type() == ty {
            return Ok(value);
        }
        let from = self.abi.symbols.get(index).map(|symbol| symbol.from);
        let dtype = match from {
            Some(SymbolSource::Scalar { arg }) => match self.abi.args.get(arg) {
                Some(ArgAbi::Scalar(scalar)) => Some(scalar.dtype),
                Some(ArgAbi::Tensor(_)) | None => None,
            },
            Some(SymbolSource::Extent { .. } | SymbolSource::Stride { .. }) | None => None,
        };
        let unsigned = matches!(
            dtype,
            Some(DType::Bool | DType::U8 | DType::U16 | DType::U32)
        );
        let found = type_text(value.r#type());
        let bits = found.strip_prefix('i').and_then(|it| it.parse().ok());
        let most = if width == Width::W64 { 64 } else { 32 };
        if bits.is_none_or(|bits: u32| bits >= most) {
            return Err(format!(
                "expects an integer as extent or stride, but got {found}"
            ));
        }
        let name = if unsigned {
            ArithOp::Extui
        } else {
            ArithOp::Extsi
        };
        Ok(self.ir.value(name, &[value], &[], ty))
    }

    /// An expression of the ABI, each part of it computed once.
    fn expr(&mut self, expr: &AbiExpr, width: Width) -> Result<IrValue<'c>, String> {
        let key = (expr.clone(), width == Width::W64);
        if let Some(known) = self.computed.get(&key) {
            return Ok(*known);
        }
        let value = match expr {
            AbiExpr::Const(value) => self.ir.constant(*value, type_of(width)),
            AbiExpr::Symbol(index) => self.widened(*index, width)?,
            AbiExpr::Add(a, b) => self.both_of(ArithOp::Addi, a, b, width)?,
            AbiExpr::Sub(a, b) => self.both_of(ArithOp::Subi, a, b, width)?,
            AbiExpr::Mul(a, b) => self.both_of(ArithOp::Muli, a, b, width)?,
            AbiExpr::Div(a, b) => self.both_of(ArithOp::Divsi, a, b, width)?,
            AbiExpr::CeilDiv(a, b) => self.both_of(ArithOp::Ceildivsi, a, b, width)?,
            AbiExpr::Rem(a, b) => self.both_of(ArithOp::Remsi, a, b, width)?,
            AbiExpr::Min(a, b) => self.both_of(ArithOp::Minsi, a, b, width)?,
            AbiExpr::Max(a, b) => self.both_of(ArithOp::Maxsi, a, b, width)?,
            AbiExpr::Eq(a, b) => self.comparison(EQUAL, a, b, width)?,
            AbiExpr::Ne(a, b) => self.comparison(NOT_EQUAL, a, b, width)?,
            AbiExpr::Lt(a, b) => self.comparison(LESS, a, b, width)?,
            AbiExpr::Le(a, b) => self.comparison(AT_MOST, a, b, width)?,
            AbiExpr::Gt(a, b) => self.comparison(GREATER, a, b, width)?,
            AbiExpr::Ge(a, b) => self.comparison(AT_LEAST, a, b, width)?,
            AbiExpr::And(a, b) | AbiExpr::Or(a, b) => {
                let zero = self.ir.constant(0, type_of(width));
                let holds = [self.expr(a, width)?, self.expr(b, width)?];
                let holds = holds.map(|it| self.compare(NOT_EQUAL, [it, zero], width));
                let is_and = matches!(expr, AbiExpr::And(..));
                self.arith(if is_and { ArithOp::Andi } else { ArithOp::Ori }, holds)
            }
        };
        self.computed.insert(key, value);
        Ok(value)
    }

    fn both_of(
        &mut self,
        op: ArithOp,
        a: &AbiExpr,
        b: &AbiExpr,
        width: Width,
    ) -> Result<IrValue<'c>, String> {
        let operands = [self.expr(a, width)?, self.expr(b, width)?];
        Ok(self.arith(op, operands))
    }

    fn comparison(
        &mut self,
        predicate: i64,
        a: &AbiExpr,
        b: &AbiExpr,
        width: Width,
    ) -> Result<IrValue<'c>, String> {
        let operands = [self.expr(a, width)?, self.expr(b, width)?];
        Ok(self.compare(predicate, operands, width))
    }

    fn arith(&self, op: ArithOp, operands: [IrValue<'c>; 2]) -> IrValue<'c> {
        self.ir.value(op, &operands, &[], operands[0].r#type())
    }

    fn compare(&self, predicate: i64, operands: [IrValue<'c>; 2], width: Width) -> IrValue<'c> {
        let [a, b] = operands;
        let holds = cmpi(&self.ir, predicate, a, b);
        let ty = self.ir.ty(type_of(width));
        self.ir.value(ArithOp::Extui, &[holds], &[], ty)
    }
}

fn type_of(width: Width) -> &'static str {
    match width {
        Width::W32 => "i32",
        Width::W64 => "i64",
    }
}
