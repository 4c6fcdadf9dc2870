//! `cute.print`: `gpu.printf` on the device, C's `printf` on the host.
use super::super::ir_utils::{blocks, operations, string_attribute};
use super::super::printf::printf;
use super::types::{Repr, parts};
use super::{Base, Integer};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder};
use cutec_dialects::ops::{BuiltinOp, GpuOp, LlvmOp};
use cutec_dialects::semantics::SemError;
use cutec_dialects::value::Val;
use cutec_layout::AnyLayout;
use melior::ir::{OperationRef, Region, Type, operation::OperationLike};
use std::collections::{HashMap, HashSet};

/// The formats of each module that prints on the host.
#[derive(Default)]
pub(super) struct Formats<'c> {
    modules: HashMap<usize, Module<'c>>,
}

struct Module<'c> {
    /// The operation before which globals go.
    first: IrOp<'c>,
    symbols: HashSet<String>,
    /// Whether the module has C's `printf`; `None` where it has none of that name.
    printf: Option<bool>,
    /// The global of each format.
    globals: HashMap<String, String>,
}

impl<'c> Base<'c> {
    pub(super) fn print(
        &mut self,
        op: IrOp<'c>,
        value: IrValue<'c>,
        val: &Val,
    ) -> Result<(), SemError> {
        let (format, _) = printf(val)?;
        let arguments: Vec<IrValue<'c>> = self
            .printed(value, val)
            .iter()
            .filter(|(_, value)| value.is_some())
            .map(|integer| self.of_width(integer, integer.0.width()))
            .collect();
        if on_device(op) {
            let format = [("format", self.ir.string(&format))];
            self.ir.op(GpuOp::Printf, &arguments, &format, &[]);
            return Ok(());
        }
        self.host_print(op, &format, &arguments)
    }

    /// The integers of a value in the order of its text. A composed layout is taken apart first.
    fn printed(&self, value: IrValue<'c>, val: &Val) -> Vec<Integer<'c>> {
        if !matches!(val, Val::Layout(AnyLayout::Composed(_))) {
            return self.integers(value, val);
        }
        let mut integers = Vec::new();
        for (index, part) in parts(val).iter().enumerate() {
            if let Some(repr) = Repr::of(part).filter(|_| !part.is_static()) {
                let value = self.extract(value, &[index as i64], &repr);
                integers.push(self.integers(value, part));
            }
        }
        integers.reverse();
        integers.concat()
    }

    fn host_print(
        &mut self,
        op: IrOp<'c>,
        format: &str,
        arguments: &[IrValue<'c>],
    ) -> Result<(), SemError> {
        let module = self
            .formats
            .of(op)
            .ok_or_else(|| SemError::Illegal("prints outside of a module".into()))?;
        let globals = OpBuilder::new(self.ir.context(), Insertion::Before(module.first));
        module.declare_printf(&globals)?;
        let bytes = array_of(&self.ir, format);
        let name = module.global(&globals, format);
        let ir = &self.ir;
        let pointer = ir.pointer_type(0);
        let address = [("global_name", ir.symbol(&name))];
        let address = ir.value(LlvmOp::MlirAddressof, &[], &address, pointer);
        let first = [
            ("elem_type", ir.type_attr(bytes)),
            ("rawConstantIndices", ir.i32_array(&[0, 0])),
            ("noWrapFlags", ir.i32(0)),
        ];
        let text = ir.value(LlvmOp::Getelementptr, &[address], &first, pointer);
        let call = [
            ("callee", ir.symbol("printf")),
            ("var_callee_type", ir.attr("!llvm.func<i32 (ptr, ...)>")),
            (
                "operandSegmentSizes",
                ir.i32_array(&[arguments.len() as i32 + 1, 0]),
            ),
            ("op_bundle_sizes", ir.i32_array(&[])),
        ];
        let operands = [&[text], arguments].concat();
        ir.op(LlvmOp::Call, &operands, &call, &[ir.ty("i32")]);
        Ok(())
    }
}

impl<'c> Formats<'c> {
    fn of(&mut self, op: IrOp<'c>) -> Option<&mut Module<'c>> {
        let module = ancestors(op).find(|op| BuiltinOp::Module.is(*op))?;
        let body = operations(blocks(module, 0).into_iter().next()?);
        let first = *body.first()?;
        let symbol = |op: &IrOp| string_attribute(*op, "sym_name");
        let printf = |op: &&IrOp| symbol(op).as_deref() == Some("printf");
        let made = || Module {
            first,
            symbols: body.iter().filter_map(symbol).collect(),
            printf: body.iter().find(printf).map(|op| LlvmOp::Func.is(*op)),
            globals: HashMap::new(),
        };
        Some(
            self.modules
                .entry(module.to_raw().ptr as usize)
                .or_insert_with(made),
        )
    }
}

impl<'c> Module<'c> {
    /// Declares `printf` where the module does not.
    fn declare_printf(&mut self, ir: &OpBuilder<'c>) -> Result<(), SemError> {
        match self.printf {
            Some(true) => return Ok(()),
            Some(false) => {
                return Err(SemError::Illegal(
                    "needs the C function printf, but the module has another of that name".into(),
                ));
            }
            None => self.printf = Some(true),
        }
        let attrs = [
            ("sym_name", ir.string("printf")),
            ("function_type", ir.attr("!llvm.func<i32 (ptr, ...)>")),
            ("linkage", ir.attr("#llvm.linkage<external>")),
        ];
        ir.op_with_regions(LlvmOp::Func, &[], &attrs, &[], vec![Region::new()]);
        Ok(())
    }

    /// The name of the global that holds a format.
    fn global(&mut self, ir: &OpBuilder<'c>, format: &str) -> String {
        if let Some(found) = self.globals.get(format) {
            return found.clone();
        }
        let mut number = self.globals.len();
        while self.symbols.contains(&format!("printfFormat_{number}")) {
            number += 1;
        }
        let name = format!("printfFormat_{number}");
        let attrs = [
            ("sym_name", ir.string(&name)),
            ("global_type", ir.type_attr(array_of(ir, format))),
            ("linkage", ir.attr("#llvm.linkage<internal>")),
            ("constant", ir.unit()),
            ("value", ir.string(&format!("{format}\0"))),
            ("addr_space", ir.i32(0)),
        ];
        ir.op_with_regions(LlvmOp::MlirGlobal, &[], &attrs, &[], vec![Region::new()]);
        self.symbols.insert(name.clone());
        self.globals.insert(format.into(), name.clone());
        name
    }
}

fn on_device(op: IrOp) -> bool {
    ancestors(op).any(|op| {
        matches!(
            GpuOp::of(op),
            Some(GpuOp::Module | GpuOp::Func | GpuOp::Launch)
        )
    })
}

/// The operations around one, from the inside.
fn ancestors<'c>(op: IrOp<'c>) -> impl Iterator<Item = IrOp<'c>> {
    let parent = |op: &IrOp<'c>| {
        // SAFETY: a live operation; one without a parent gives null.
        unsafe {
            let parent = mlir_sys::mlirOperationGetParentOperation(op.to_raw());
            (!parent.ptr.is_null()).then(|| OperationRef::from_raw(parent))
        }
    };
    std::iter::successors(parent(&op), parent)
}

/// The array that holds a text and its end.
fn array_of<'c>(ir: &OpBuilder<'c>, text: &str) -> Type<'c> {
    let length = u32::try_from(text.len() + 1).unwrap_or(u32::MAX);
    ir.array_type(length, ir.integer_type(8))
}
