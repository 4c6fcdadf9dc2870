//! Atoms: swizzles, and instructions that copy and multiply.

use super::builtin::{Builtin, Kind, LowerCall, Lowering, Parameter, arg, named, optional};
use super::hints;
use crate::diagnostics::codes;
use crate::eval::call::{ArgValue, Call};
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result, problem};
use cutec_dialects::atoms::{Cache, CopyAtom, CopyOp, MmaAtom, MmaOp};
use cutec_dialects::elem::Elem;
use cutec_dialects::hints::Hints;
use cutec_dialects::semantics::SemError;
use cutec_dialects::value::Val;
use cutec_layout::{LayoutError, Swizzle};

const TYPE: Parameter = arg("type", Kind::ElementType);
/// Operands and accumulator, or A, B and accumulator.
const MMA_TYPES: &[Parameter] = &[
    TYPE,
    optional("type_b", Kind::ElementType),
    optional("sums", Kind::ElementType),
];

const fn of(name: &'static str, lower: LowerCall, documentation: &'static str) -> Builtin {
    Builtin::new(name, Lowering::Generic(lower), documentation)
}

pub(super) const TABLE: &[Builtin] = &[
    of("S", swizzle, "A swizzle: `bits` bits from `base + shift` on are combined with those from `base` on; `S<3,3,3> o 0 o layout`.")
        .generic(&[arg("bits", Kind::Integer), arg("base", Kind::Integer), arg("shift", Kind::Integer)]),
    of("universal", universal, "A load and a store of 8 to 128 bits.")
        .generic(&[TYPE, named("bits", Kind::Integer, "…"), hints::CACHE, hints::PREFETCH, hints::EVICT]),
    of("cp_async", cp_async, "`cp.async` from global to shared memory of 32 to 128 bits; `cache = always` for fewer than 128.")
        .generic(&[TYPE, named("bits", Kind::Integer, "128"), named("cache", Kind::Word(&["always", "global"]), "global"), hints::PREFETCH, hints::EVICT]),
    of("ldmatrix", ldmatrix, "`ldmatrix` from shared memory to registers: 1, 2 or 4 matrices of eight rows of 16 bytes; `trans` for elements of 8 and 16 bits.")
        .generic(&[TYPE, optional("matrices", Kind::Integer), named("trans", Kind::Bool, "false")]),
    of("fma", fma, "One multiply-add a thread, of f16, bf16, f32, f64.").generic(&[TYPE]),
    of("sm80_8x8x4", |ev, call| mma(ev, call, [8, 8, 4]), "`mma.sync.m8n8k4`. Of f64.")
        .generic(MMA_TYPES),
    of("sm80_8x8x32", |ev, call| mma(ev, call, [8, 8, 32]), "`mma.sync.m8n8k32`. Of i4 and u4.")
        .generic(MMA_TYPES),
    of("sm80_16x8x4", |ev, call| mma(ev, call, [16, 8, 4]), "`mma.sync.m16n8k4`. Of tf32.")
        .generic(MMA_TYPES),
    of("sm80_16x8x8", |ev, call| mma(ev, call, [16, 8, 8]), "`mma.sync.m16n8k8`. Of f16, bf16 and tf32.")
        .generic(MMA_TYPES),
    of("sm80_16x8x16", |ev, call| mma(ev, call, [16, 8, 16]), "`mma.sync.m16n8k16`. Of f16, bf16, i8 and u8.")
        .generic(MMA_TYPES),
    of("sm80_16x8x32", |ev, call| mma(ev, call, [16, 8, 32]), "`mma.sync.m16n8k32`. Of i8, u8, i4, u4, and on sm_89 f8.")
        .generic(MMA_TYPES),
    of("sm80_16x8x64", |ev, call| mma(ev, call, [16, 8, 64]), "`mma.sync.m16n8k64`. Of i4 and u4.")
        .generic(MMA_TYPES),
];

fn swizzle<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let mut bits = Vec::new();
    for arg in &call.generics {
        match &arg.value {
            Value::Int(value) => bits.push(*value),
            other => return ev.expected("an integer", &other.clone(), arg.expr.span),
        }
    }
    match Swizzle::new(bits[0], bits[1], bits[2]) {
        Ok(swizzle) => Ok(Value::Static(Val::Swizzle(swizzle))),
        Err(error) => layout_error(ev, call, error),
    }
}

fn layout_error<'c, 'a, T>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    error: LayoutError,
) -> Result<T> {
    Err(ev.report(problem::semantic(
        call.span,
        &call.name,
        &SemError::Layout(error),
        &[],
    )))
}

fn copy_atom<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    atom: CopyAtom,
) -> Result<Value<'c, 'a>> {
    let target = ev.options.target;
    match atom.verify().and_then(|()| atom.legal_on(&target)) {
        Ok(()) => Ok(Value::Static(Val::CopyAtom(atom))),
        Err(error) => ev.illegal_atom(call.span, &error),
    }
}

fn bits_of<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>, default: i64) -> Result<u32> {
    let bits = super::named_int(ev, call, "bits", default)?;
    match u32::try_from(bits) {
        Ok(bits) => Ok(bits),
        Err(_) => ev.error(
            codes::ILLEGAL_ATOM,
            call.span,
            format!("no instruction moves {bits} bits"),
            "here",
        ),
    }
}

fn universal<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let elem = super::elem_arg(ev, call, 0)?;
    let bits = bits_of(ev, call, elem.bits())?;
    let hints = hints::of(ev, &call.generics, &["cache", "prefetch", "evict"])?;
    let op = CopyOp::Universal { bits };
    copy_atom(ev, call, CopyAtom { op, elem, hints })
}

fn cp_async<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let elem = super::elem_arg(ev, call, 0)?;
    let bits = bits_of(ev, call, 128)?;
    let cache = match call
        .named_generic("cache")
        .map(|arg| (arg.value.clone(), arg.expr.span))
    {
        None if bits == 128 => Cache::Global,
        None => Cache::Always,
        Some((Value::Str(text), _)) if &*text == "always" => Cache::Always,
        Some((Value::Str(text), _)) if &*text == "global" => Cache::Global,
        Some((other, span)) => return ev.expected("`always` or `global`", &other, span),
    };
    let hints = hints::of(ev, &call.generics, &["prefetch", "evict"])?;
    let op = CopyOp::Async { cache, bits };
    copy_atom(ev, call, CopyAtom { op, elem, hints })
}

fn ldmatrix<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let elem = super::elem_arg(ev, call, 0)?;
    let matrices = match call.generics.iter().filter(|arg| arg.name.is_none()).nth(1) {
        None => 4,
        Some(ArgValue {
            value: Value::Int(count),
            ..
        }) => u32::try_from(*count).unwrap_or(0),
        Some(arg) => return ev.expected("a number of matrices", &arg.value.clone(), arg.expr.span),
    };
    let transpose = match call
        .named_generic("trans")
        .map(|arg| (arg.value.clone(), arg.expr.span))
    {
        None => false,
        Some((Value::Bool(flag), _)) => flag,
        Some((other, span)) => return ev.expected_bool(&other, span),
    };
    copy_atom(
        ev,
        call,
        CopyAtom {
            op: CopyOp::Ldsm {
                matrices,
                transpose,
            },
            elem,
            hints: Hints::NONE,
        },
    )
}

fn mma_atom<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    atom: MmaAtom,
) -> Result<Value<'c, 'a>> {
    let target = ev.options.target;
    match atom.verify().and_then(|()| atom.legal_on(&target)) {
        Ok(()) => Ok(Value::Static(Val::MmaAtom(atom))),
        Err(error) => ev.illegal_atom(call.span, &error),
    }
}

fn fma<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let elem = super::elem_arg(ev, call, 0)?;
    mma_atom(
        ev,
        call,
        MmaAtom {
            op: MmaOp::Fma,
            a: elem,
            b: elem,
            c: elem,
        },
    )
}

/// `sm80_16x8x16<bf16, f32>`: operands and accumulator; `sm80_16x8x32<i8, u8, i32>`: A, B, accumulator.
fn mma<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    [m, n, k]: [u32; 3],
) -> Result<Value<'c, 'a>> {
    let a = super::elem_arg(ev, call, 0)?;
    let (b, c) = match call.generics.len() {
        1 if matches!(a, Elem::I4 | Elem::U4 | Elem::I8 | Elem::U8) => (a, Elem::I32),
        1 if a == Elem::F64 => (a, Elem::F64),
        1 => (a, Elem::F32),
        2 => (a, super::elem_arg(ev, call, 1)?),
        _ => (super::elem_arg(ev, call, 1)?, super::elem_arg(ev, call, 2)?),
    };
    let op = MmaOp::Sync { m, n, k };
    mma_atom(ev, call, MmaAtom { op, a, b, c })
}
