//! Operations of the dialects as the semantics sees them, and the context.
use crate::builder::{IrOp, IrValue, OpBuilder, integer_array, integer_value, string_value};
use crate::hints::Hints;
use crate::legal::check_type;
use crate::memo::{type_text, type_value};
use crate::ops::{CuteOp, Op};
use crate::semantics::{AtomicKind, Attrs, SemError, check, evaluate};
use crate::types::{TypeError, Vars};
use crate::value::{CoordText, Val};
use cutec_layout::tv::Operand;
use melior::{
    Context, StringRef,
    dialect::DialectRegistry,
    ir::{
        Attribute, AttributeLike, Location, Module, ValueLike, attribute::TypeAttribute,
        operation::OperationLike,
    },
};
use mlir_sys::{
    MlirContext, MlirDialectRegistry, MlirLocation, MlirModule, MlirOperation, MlirPass,
    MlirPassManager, MlirStringRef,
};
use std::ffi::{CString, c_char, c_int};

unsafe extern "C" {
    pub(crate) fn cutec_insert_dialects(registry: MlirDialectRegistry);
    fn cutec_add_gpu_to_llvm(manager: MlirPassManager);
    fn cutec_merge_equal(op: MlirOperation);
    fn cutec_erase_dead(op: MlirOperation);
    fn cutec_has_no_effect(op: MlirOperation) -> bool;
    fn cutec_emit_warning(location: MlirLocation, text: MlirStringRef);
    fn cutec_register_pass(make: extern "C" fn(usize) -> MlirPass, index: usize);
    fn cutec_register_pipeline(name: MlirStringRef, summary: MlirStringRef, passes: MlirStringRef);
    fn cutec_parse(context: MlirContext, text: MlirStringRef, name: MlirStringRef) -> MlirModule;
    fn cutec_opt_main(argc: c_int, argv: *mut *mut c_char) -> c_int;
    fn cutec_lsp_main(argc: c_int, argv: *mut *mut c_char) -> c_int;
}

/// A context that knows every dialect that cutec reads and writes, and the translation to LLVM IR.
pub fn context() -> Context {
    let registry = DialectRegistry::new();
    // SAFETY: the registry is alive; the shim only inserts into it.
    unsafe { cutec_insert_dialects(registry.to_raw()) };
    // One kernel at a time: a thread pool costs more than it gives.
    let context = Context::new_with_threading(false);
    context.append_dialect_registry(&registry);
    context.load_all_available_dialects();
    context
}

/// Adds the upstream passes that take gpu, scf, arith, vector and nvvm to the LLVM dialect.
pub fn add_gpu_to_llvm(manager: &melior::pass::PassManager) {
    // SAFETY: the manager is alive.
    unsafe { cutec_add_gpu_to_llvm(manager.to_raw()) };
}

/// Computes once what an operation computes twice inside, and loads once what is not written in between.
pub fn merge_equal(op: IrOp) {
    // SAFETY: the operation is alive, and nobody else reads it meanwhile.
    unsafe { cutec_merge_equal(op.to_raw()) };
}

/// Erases what an operation computes or loads inside and nothing takes.
pub fn erase_dead(op: IrOp) {
    // SAFETY: the operation is alive, and stays so; nobody reads what is inside meanwhile.
    unsafe { cutec_erase_dead(op.to_raw()) };
}

/// Whether neither an operation nor those inside of it read or write memory, as MLIR's interfaces say.
pub fn has_no_effect(op: IrOp) -> bool {
    // SAFETY: the operation is alive.
    unsafe { cutec_has_no_effect(op.to_raw()) }
}

/// Reports a warning at a location, which MLIR's C interface has not.
pub fn emit_warning(location: Location, text: &str) {
    // SAFETY: the location is alive; MLIR copies the text.
    unsafe { cutec_emit_warning(location.to_raw(), StringRef::new(text).to_raw()) };
}

/// Makes a pass known to pipelines written as text (`cute-opt --name`): the one that `make` makes of `index`.
pub fn register_pass(make: extern "C" fn(usize) -> MlirPass, index: usize) {
    // SAFETY: `make` returns a new pass each time.
    unsafe { cutec_register_pass(make, index) };
}

/// Makes a list of registered passes, separated by commas, known under a name of its own.
pub fn register_pipeline(name: &'static str, summary: &'static str, passes: &'static str) {
    let [name, summary, passes] = [name, summary, passes].map(|text| StringRef::new(text).to_raw());
    // SAFETY: the texts live as long as the process.
    unsafe { cutec_register_pipeline(name, summary, passes) };
}

/// Parses MLIR text as a module whose locations carry `name`. Nothing is verified: see [`crate::readable`].
/// `None` after MLIR has reported the errors.
pub fn parse_unverified<'c>(context: &'c Context, name: &str, text: &str) -> Option<Module<'c>> {
    let text = CString::new(text).ok()?;
    // SAFETY: MLIR copies text and name, and a NUL stands behind the text; the module that it makes is the caller's.
    unsafe {
        let text = StringRef::from_c_str(&text).to_raw();
        let module = cutec_parse(context.to_raw(), text, StringRef::new(name).to_raw());
        (!module.ptr.is_null()).then(|| Module::from_raw(module))
    }
}

/// MLIR's `opt` driver over cutec's dialects and the registered passes; returns the exit code.
pub fn opt_main(args: &[String]) -> i32 {
    c_main(args, cutec_opt_main)
}

/// MLIR's language server over cutec's dialects, on standard input and output; returns the exit code.
pub fn lsp_main(args: &[String]) -> i32 {
    c_main(args, cutec_lsp_main)
}

fn c_main(args: &[String], main: unsafe extern "C" fn(c_int, *mut *mut c_char) -> c_int) -> i32 {
    let args: Vec<CString> = args
        .iter()
        .filter_map(|arg| CString::new(arg.as_str()).ok())
        .collect();
    let mut raw: Vec<*mut c_char> = args.iter().map(|arg| arg.as_ptr().cast_mut()).collect();
    // SAFETY: the driver reads the arguments while `args` lives.
    unsafe { main(raw.len() as c_int, raw.as_mut_ptr()) }
}

/// The value that stands for the type in an attribute of an operation; `None` where it has no such attribute.
///
/// # Errors
/// Where the attribute is no type, or one that is not legal.
pub fn type_attribute<'c>(op: IrOp<'c>, name: &str) -> Option<Result<Val, TypeError>> {
    let attribute = op.attribute(name).ok()?;
    let ty = TypeAttribute::try_from(attribute).map_err(|_| TypeError::Form {
        expected: "a type",
        text: attribute.to_string(),
    });
    Some(ty.and_then(|ty| type_value(ty.value(), &mut Vars::default())))
}

/// Which operation of the `cute` dialect one is.
pub fn cute_op<'c: 'a, 'a>(op: &impl OperationLike<'c, 'a>) -> Option<CuteOp> {
    match Op::of_name(op.name().as_string_ref().as_str().ok()?) {
        Some(Op::CuteOp(op)) => Some(op),
        _ => None,
    }
}

/// The operands of an operation, by their types.
pub fn values_of<'c: 'a, 'a>(
    op: &impl OperationLike<'c, 'a>,
    vars: &mut Vars,
) -> Result<Vec<Val>, TypeError> {
    op.operands()
        .map(|operand| type_value(operand.r#type(), vars))
        .collect()
}

/// The declared type of the first result.
pub fn result_type_text<'c: 'a, 'a>(op: &impl OperationLike<'c, 'a>) -> String {
    match op.result_count() {
        0 => String::new(),
        _ => op
            .result(0)
            .map(|result| type_text(result.r#type()).to_string())
            .unwrap_or_default(),
    }
}

/// The attributes that the meaning of an operation depends on.
pub fn attrs_of<'c: 'a, 'a>(
    op: &impl OperationLike<'c, 'a>,
    vars: &mut Vars,
) -> Result<Attrs, SemError> {
    let kind = cute_op(op);
    let mut attrs = attrs_in(kind, |key| op.attribute(key).ok())?;
    if op.result_count() > 0
        && !kind.is_some_and(CuteOp::has_many_results)
        && let Ok(result) = op.result(0)
    {
        attrs.result = Some(type_value(result.r#type(), vars)?);
    }
    Ok(attrs)
}

/// The names of an operation's integer attributes, in the order in which [`Attrs::mode`] has them.
fn integer_attributes(op: Option<CuteOp>) -> &'static [&'static str] {
    match op {
        Some(CuteOp::GroupModes) => &["begin", "end"],
        Some(CuteOp::AppendToRank | CuteOp::PrependToRank) => &["rank"],
        Some(CuteOp::RecastLayout) => &["new_type_bits", "old_type_bits"],
        _ => &[],
    }
}

/// As [`attrs_of`], from wherever the attributes stand.
pub fn attrs_in<'c>(
    op: Option<CuteOp>,
    attribute: impl Fn(&str) -> Option<Attribute<'c>>,
) -> Result<Attrs, SemError> {
    let mut attrs = Attrs::default();
    for key in integer_attributes(op) {
        let value = attribute(key)
            .and_then(integer_value)
            .ok_or_else(|| SemError::Illegal(format!("expects the integer attribute `{key}`")))?;
        attrs.mode.push(value);
    }
    if let Some(mode) = attribute("mode") {
        attrs.mode = integer_array(mode).ok_or_else(|| {
            SemError::Illegal(format!("expects `mode` as array<i32: …>, but got {mode}"))
        })?;
    }
    if op == Some(CuteOp::GetScalars) && attribute("only_dynamic").is_some() {
        attrs.mode = vec![1];
    }
    if let Some(proj) = attribute("proj") {
        let text = string_of(proj)?;
        let proj = cutec_layout::text::parse_coord(&text)
            .map_err(|error| SemError::Illegal(error.to_string()))?;
        attrs.proj = Some(proj);
    }
    if let Some(operand) = attribute("operand") {
        attrs.operand = Some(match string_of(operand)?.as_str() {
            "A" => Operand::A,
            "B" => Operand::B,
            "C" => Operand::C,
            other => {
                let message =
                    format!("expects `operand` as \"A\", \"B\" or \"C\", but got {other:?}");
                return Err(SemError::Illegal(message));
            }
        });
    }
    if let Some(kind) = attribute("kind") {
        attrs.kind = Some(AtomicKind::parse(&string_of(kind)?)?);
    }
    if let Some(hints) = attribute("hints") {
        let text = string_of(hints)?;
        attrs.hints = Hints::parse(&text).ok_or_else(|| {
            SemError::Illegal(format!(
                "expects cache, prefetch or evict as `hints`, but got {text}"
            ))
        })?;
    }
    attrs.fill = attribute("fill").map(|fill| fill.r#type().to_string());
    Ok(attrs)
}

fn string_of(attribute: Attribute) -> Result<String, SemError> {
    string_value(attribute).ok_or_else(|| {
        SemError::Illegal(format!("expects a string attribute, but got {attribute}"))
    })
}

/// Builds an operation of the `cute` dialect and infers its result.
///
/// # Errors
/// Where the operation makes no sense for the operands; nothing is built then.
pub fn build<'c>(
    ir: &OpBuilder<'c>,
    op: CuteOp,
    operands: &[IrValue<'c>],
    attrs: &Attrs,
) -> Result<Option<IrValue<'c>>, SemError> {
    build_op(ir, op, operands, attrs).map(|op| op.1)
}

/// As [`build`], with the operation.
pub fn build_op<'c>(
    ir: &OpBuilder<'c>,
    op: CuteOp,
    operands: &[IrValue<'c>],
    attrs: &Attrs,
) -> Result<(IrOp<'c>, Option<IrValue<'c>>), SemError> {
    let mut vars = Vars::default();
    let vals: Vec<Val> = operands
        .iter()
        .map(|operand| type_value(operand.r#type(), &mut vars))
        .collect::<Result<_, _>>()?;
    let declared = attrs.result.as_ref();
    let meaning = Attrs {
        // Its run-time integers are none of the operands'.
        result: declared.map(|result| vars.renewed(result)).transpose()?,
        ..attrs.clone()
    };
    let ir_attrs = ir_attributes(ir, op, attrs)?;
    if op.is_statement() {
        check(op, &vals, attrs)?;
        return Ok((ir.op(op, operands, &ir_attrs, &[]), None));
    }
    let result = evaluate(op, &vals, &meaning)?;
    // MLIR would refuse the type, with a message about IR.
    check_type(&result).map_err(SemError::Illegal)?;
    let result = declared.unwrap_or(&result);
    let ty = ir
        .type_of(result)
        .ok_or_else(|| SemError::Illegal(format!("result type {result} is not legal")))?;
    let op = ir.op(op, operands, &ir_attrs, &[ty]);
    Ok((op, Some(crate::builder::result_of(op, 0))))
}

/// The attributes of an operation to build.
fn ir_attributes<'c>(
    ir: &OpBuilder<'c>,
    op: CuteOp,
    attrs: &Attrs,
) -> Result<Vec<(&'static str, Attribute<'c>)>, SemError> {
    let Attrs {
        mode,
        proj,
        operand,
        kind,
        hints,
        // Its value is known to who builds the operation.
        fill: _,
        result: _,
    } = attrs;
    let mut found = Vec::new();
    let indices = mode.iter().map(|index| i32::try_from(*index));
    let indices: Vec<i32> = indices
        .collect::<Result<_, _>>()
        .map_err(|_| SemError::Illegal(format!("no mode has the index {mode:?}")))?;
    let keys = integer_attributes(Some(op));
    for (key, value) in keys.iter().zip(&indices) {
        found.push((*key, ir.i32(*value)));
    }
    if keys.is_empty() && !indices.is_empty() {
        found.push(("mode", ir.i32_array(&indices)));
    }
    if let Some(proj) = proj {
        found.push(("proj", ir.string(&CoordText(proj).to_string())));
    }
    if let Some(operand) = operand {
        found.push(("operand", ir.string(&format!("{operand:?}"))));
    }
    if let Some(kind) = kind {
        found.push(("kind", ir.string(kind.name())));
    }
    if *hints != Hints::NONE {
        let text = hints.to_string();
        found.push(("hints", ir.string(text.trim_start_matches(", "))));
    }
    Ok(found)
}
