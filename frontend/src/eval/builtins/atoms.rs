//! Atoms: swizzles, and instructions that copy and multiply.

use super::builtin::{Builtin, Kind, LowerCall, Lowering, Parameter, arg, named, optional};
use super::hints;
use super::operator::Operator;
use crate::diagnostics::codes;
use crate::eval::call::{ArgValue, Call};
use crate::eval::values::{Value, elem_name};
use crate::eval::{Evaluator, Result, Stop, problem};
use cutec_dialects::atoms::{
    Atom, BulkCopy, Cache, CopyAtom, CopyOp, CpAsync, Fma, Ldmatrix, Matrices, MmaAtom, MmaOp,
    MmaSync, Red, Reduction, SHAPES, Stmatrix, SyncShape, UniversalCopy, Wgmma,
};
use cutec_dialects::elem::Elem;
use cutec_dialects::semantics::SemError;
use cutec_dialects::target::Feature;
use cutec_dialects::value::Val;
use cutec_layout::{LayoutError, Swizzle};

const TYPE: Parameter = arg("type", Kind::ElementType);
/// Operands and accumulator, or A, B and accumulator.
const MMA_TYPES: &[Parameter] = &[
    TYPE,
    optional("type_b", Kind::ElementType),
    optional("sums", Kind::ElementType),
];

/// As [`MMA_TYPES`], and where A lives.
const WGMMA_TYPES: &[Parameter] = &[
    TYPE,
    optional("type_b", Kind::ElementType),
    optional("sums", Kind::ElementType),
    named("n", Kind::Integer, "…"),
    named("a", Kind::Word(&["rmem"]), "smem"),
    named("negate_a", Kind::Bool, "false"),
    named("negate_b", Kind::Bool, "false"),
    named("sparse", Kind::Integer, "…"),
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
    of("stmatrix", stmatrix, "`stmatrix` from registers to shared memory, the inverse of `ldmatrix`.")
        .generic(&[TYPE, optional("matrices", Kind::Integer), named("trans", Kind::Bool, "false")]),
    of("red", red, "`red` combines neighbours in registers with those in global memory by `add`, `min`, `max`, `and`, `or` or `xor`, each element atomically. 16 to 128 bits; of f16, bf16 and f32 several elements are added by one instruction.")
        .generic(&[TYPE, arg("operator", Kind::Operator), named("bits", Kind::Integer, "…")]),
    of("bulk_copy", bulk, "A bulk copy of runs of neighbouring bytes by one thread: from global to shared memory, back, or to another block's; `copy` finds the runs.")
        .generic(&[TYPE, hints::EVICT]),
    of("bulk_reduce", bulk_reduce, "As `bulk_copy` out of shared memory, combined with what is there: `add`, `min`, `max`, `and`, `or`, `xor`, element by element at once.")
        .generic(&[TYPE, arg("operator", Kind::Operator), hints::EVICT]),
    of("fma", fma, "One multiply-add a thread, of f16, bf16, f32, f64.").generic(&[TYPE]),
    mma_sync(&SHAPES[0]),
    mma_sync(&SHAPES[1]),
    mma_sync(&SHAPES[2]),
    mma_sync(&SHAPES[3]),
    mma_sync(&SHAPES[4]),
    mma_sync(&SHAPES[5]),
    mma_sync(&SHAPES[6]),
    of(Wgmma::LANGUAGE_NAME, wgmma, "`wgmma.m64nNkK` of a warpgroup, as `sm90_64x256x16<bf16, f32>`: N from 8 to 256 in steps of 8; K 16 of f16 and bf16, 8 of tf32, 32 of f8, i8 and u8, whose N beyond 32 goes in steps of 16. A and B are read from shared memory, A from registers with `a = rmem`; with `negate_a = true`, `negate_b = true` the elements of a floating-point operand are negated. With `sparse = 0`, `sparse = 1` A is sparse, and K twice as much. `sm90_64xNxK<t, f32, n = bn>` where N is a parameter; K follows from the type.")
        .generic(WGMMA_TYPES),
];

const fn mma_sync(shape: &'static SyncShape) -> Builtin {
    of(shape.name, mma, shape.documentation).generic(MMA_TYPES)
}

/// A copy atom as a program writes it.
pub(crate) fn copy_atom(atom: &CopyAtom) -> String {
    let (elem, hints) = (elem_name(atom.elem), atom.hints);
    match atom.op {
        CopyOp::UniversalCopy(UniversalCopy { bits }) => {
            format!("universal<{elem}, bits = {bits}{hints}>")
        }
        CopyOp::CpAsync(copy) if copy == CpAsync::of(copy.bits) => {
            format!("cp_async<{elem}, bits = {}{hints}>", copy.bits)
        }
        CopyOp::CpAsync(CpAsync { cache, bits }) => {
            let cache = cache.name();
            format!("cp_async<{elem}, bits = {bits}, cache = {cache}{hints}>")
        }
        CopyOp::Ldmatrix(Ldmatrix(moved)) => matrices_call("ldmatrix", elem, moved),
        CopyOp::Stmatrix(Stmatrix(moved)) => matrices_call("stmatrix", elem, moved),
        CopyOp::Red(Red { how, bits }) => {
            format!("red<{elem}, {}, bits = {bits}{hints}>", how.name())
        }
    }
}

/// A bulk copy as a program writes it.
pub(crate) fn bulk_copy(atom: &BulkCopy) -> String {
    let (elem, hints) = (elem_name(atom.elem), atom.hints);
    match atom.reduction {
        None => format!("bulk_copy<{elem}{hints}>"),
        Some(how) => format!("bulk_reduce<{elem}, {}{hints}>", how.name()),
    }
}

fn matrices_call(name: &str, elem: &str, matrices: Matrices) -> String {
    let transposed = if matrices.transpose {
        ", trans = true"
    } else {
        ""
    };
    format!("{name}<{elem}, {}{transposed}>", matrices.count)
}

/// An MMA atom as a program writes it.
pub(crate) fn mma_atom(atom: &MmaAtom) -> String {
    let (name, types) = mma_call(atom);
    let types: Vec<&str> = types.into_iter().map(elem_name).collect();
    let options = match atom.op {
        MmaOp::Wgmma(shape) => [
            (shape.a_in_registers, ", a = rmem"),
            (shape.negate[0], ", negate_a = true"),
            (shape.negate[1], ", negate_b = true"),
            (shape.sparse == Some(0), ", sparse = 0"),
            (shape.sparse == Some(1), ", sparse = 1"),
        ]
        .into_iter()
        .filter_map(|(given, text)| given.then_some(text))
        .collect(),
        MmaOp::MmaSync(_) | MmaOp::Fma(_) => String::new(),
    };
    format!("{name}<{}{options}>", types.join(", "))
}

/// The name and the types by which a program asks for an MMA atom.
pub(crate) fn mma_call(atom: &MmaAtom) -> (String, Vec<Elem>) {
    let MmaAtom { op, a, b, c } = *atom;
    match op {
        MmaOp::Fma(_) => ("fma".into(), vec![c]),
        MmaOp::MmaSync(shape) if a == b => (shape.language_name(), vec![a, c]),
        MmaOp::MmaSync(shape) => (shape.language_name(), vec![a, b, c]),
        MmaOp::Wgmma(shape) if a == b => (shape.language_name(), vec![a, c]),
        MmaOp::Wgmma(shape) => (shape.language_name(), vec![a, b, c]),
    }
}

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

/// An atom that exists and that the target has.
fn legal<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    atom: Atom,
) -> Result<Value<'c, 'a>> {
    let target = ev.options.target;
    if let Err(error) = atom.verify().and_then(|()| atom.legal_on(&target)) {
        return ev.illegal_atom(call.span, &error);
    }
    Ok(Value::Static(match atom {
        Atom::Copy(atom) => Val::CopyAtom(atom),
        Atom::Mma(atom) => Val::MmaAtom(atom),
    }))
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
    let op = CopyOp::UniversalCopy(UniversalCopy { bits });
    legal(ev, call, Atom::Copy(CopyAtom { op, elem, hints }))
}

fn cp_async<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let elem = super::elem_arg(ev, call, 0)?;
    let bits = bits_of(ev, call, 128)?;
    let cache = match call
        .named_generic("cache")
        .map(|arg| (arg.value.clone(), arg.expr.span))
    {
        None => CpAsync::of(bits).cache,
        Some((value, span)) => {
            let found = match &value {
                Value::Str(text) => Cache::find(text),
                _ => None,
            };
            match found {
                Some(cache) => cache,
                None => return ev.expected("`always` or `global`", &value, span),
            }
        }
    };
    let hints = hints::of(ev, &call.generics, &["prefetch", "evict"])?;
    let op = CopyOp::CpAsync(CpAsync { cache, bits });
    legal(ev, call, Atom::Copy(CopyAtom { op, elem, hints }))
}

fn bulk<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.needs(Feature::Tma, &call.name.clone(), call.span)?;
    let atom = BulkCopy {
        reduction: None,
        elem: super::elem_arg(ev, call, 0)?,
        hints: hints::of(ev, &call.generics, &["evict"])?,
    };
    Ok(Value::Static(Val::BulkCopy(atom)))
}

/// The second generic argument as the operator that combines elements.
fn reduction<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Reduction> {
    let Some(operator) = call.generics.get(1) else {
        return Err(Stop::Reported);
    };
    let found = Operator::of(&operator.value).and_then(|it| Reduction::find(it.name()));
    match found {
        Some(how) => Ok(how),
        None => {
            let what = "`add`, `min`, `max`, `and`, `or` or `xor`";
            ev.expected(what, &operator.value.clone(), operator.expr.span)
        }
    }
}

fn red<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let elem = super::elem_arg(ev, call, 0)?;
    let how = reduction(ev, call)?;
    let bits = bits_of(ev, call, elem.bits())?;
    let op = CopyOp::Red(Red { how, bits });
    legal(ev, call, Atom::Copy(CopyAtom::new(op, elem)))
}

fn bulk_reduce<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.needs(Feature::Tma, &call.name.clone(), call.span)?;
    let elem = super::elem_arg(ev, call, 0)?;
    let how = reduction(ev, call)?;
    if how.of_runs(elem, false).is_none() {
        let (how, elem) = (how.name(), elem_name(elem));
        let message = format!("there is no `bulk_reduce` by {how} of {elem}");
        return ev.error(
            codes::ILLEGAL_ATOM,
            call.span,
            message,
            "no such instruction",
        );
    }
    let hints = hints::of(ev, &call.generics, &["evict"])?;
    Ok(Value::Static(Val::BulkCopy(BulkCopy {
        reduction: Some(how),
        elem,
        hints,
    })))
}

fn ldmatrix<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let elem = super::elem_arg(ev, call, 0)?;
    let op = CopyOp::Ldmatrix(Ldmatrix(matrices(ev, call)?));
    legal(ev, call, Atom::Copy(CopyAtom::new(op, elem)))
}

fn stmatrix<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let elem = super::elem_arg(ev, call, 0)?;
    let op = CopyOp::Stmatrix(Stmatrix(matrices(ev, call)?));
    legal(ev, call, Atom::Copy(CopyAtom::new(op, elem)))
}

/// The matrices that an instruction moves.
fn matrices<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Matrices> {
    let count = match call.generics.iter().filter(|arg| arg.name.is_none()).nth(1) {
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
    Ok(Matrices { count, transpose })
}

fn fma<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let elem = super::elem_arg(ev, call, 0)?;
    legal(ev, call, Atom::Mma(Fma::of(elem)))
}

/// `sm80_16x8x16<bf16, f32>`: operands and accumulator; `sm80_16x8x32<i8, u8, i32>`: A, B, accumulator.
fn mma<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let shape = MmaSync::find(&call.name).ok_or(Stop::Reported)?;
    let [a, b, c] = mma_types(ev, call)?;
    let op = MmaOp::MmaSync(shape);
    legal(ev, call, Atom::Mma(MmaAtom { op, a, b, c }))
}

/// The types of A, B and the accumulator.
fn mma_types<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<[Elem; 3]> {
    let a = super::elem_arg(ev, call, 0)?;
    let given = call.generics.iter().filter(|arg| arg.name.is_none());
    let (b, c) = match given.count() {
        1 => (a, MmaSync::accumulator_of(a)),
        2 => (a, super::elem_arg(ev, call, 1)?),
        _ => (super::elem_arg(ev, call, 1)?, super::elem_arg(ev, call, 2)?),
    };
    Ok([a, b, c])
}

/// `sm90_64x256x16<bf16, f32>`, `sm90_64x128x16<f16, f32, a = rmem>`.
fn wgmma<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let [a, b, c] = mma_types(ev, call)?;
    let given = match call.named_generic("n") {
        Some(_) => Some(super::named_int(ev, call, "n", 0)?),
        None => None,
    };
    let shape = match (Wgmma::find(&call.name), given) {
        (Some(shape), None) => shape,
        (None, Some(n)) => Wgmma::of(u32::try_from(n).unwrap_or(0), a),
        (Some(_), Some(_)) => {
            let message = format!("`{}` has its N already", call.name);
            return ev.error(
                codes::ILLEGAL_ATOM,
                call.span,
                message,
                "and `n = …` besides",
            );
        }
        (None, None) => {
            let message = "N and K are numbers: `sm90_64x256x16`, or `sm90_64xNxK` with `n = 256`";
            return ev.error(codes::ILLEGAL_ATOM, call.span, message, "here");
        }
    };
    let a_in_registers = match call
        .named_generic("a")
        .map(|arg| (arg.value.clone(), arg.expr.span))
    {
        None | Some((Value::Builtin("smem"), _)) => false,
        Some((Value::Str(word), _)) if &*word == "rmem" => true,
        Some((other, span)) => return ev.expected("`smem` or `rmem`", &other, span),
    };
    let mut negate = [false; 2];
    for (negate, name) in negate.iter_mut().zip(["negate_a", "negate_b"]) {
        *negate = match call
            .named_generic(name)
            .map(|arg| (arg.value.clone(), arg.expr.span))
        {
            None => false,
            Some((Value::Bool(flag), _)) => flag,
            Some((other, span)) => return ev.expected_bool(&other, span),
        };
    }
    let sparse = match call.named_generic("sparse").map(|arg| arg.expr.span) {
        None => None,
        Some(span) => match super::named_int(ev, call, "sparse", 0)? {
            pair @ (0 | 1) => Some(pair as u32),
            pair => {
                let message = format!(
                    "the metadata of a sparse A are those of a pair of four threads, 0 or 1, not {pair}"
                );
                return ev.error(codes::ILLEGAL_ATOM, span, message, "here");
            }
        },
    };
    let shape = match sparse {
        Some(pair) if given.is_some() => shape.with_sparse_a(pair),
        sparse => Wgmma { sparse, ..shape },
    };
    let op = MmaOp::Wgmma(Wgmma {
        a_in_registers,
        negate,
        ..shape
    });
    legal(ev, call, Atom::Mma(MmaAtom { op, a, b, c }))
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn every_atom_is_written_by_a_name_of_the_table() {
        for (name, atom) in cutec_dialects::atoms::all() {
            let written = match &atom {
                Atom::Copy(atom) => copy_atom(atom),
                Atom::Mma(atom) => mma_atom(atom),
            };
            let (constructor, _) = written.split_once('<').expect("types");
            let entry = table::generic(constructor);
            assert!(entry.is_some(), "{name} is written {written}");
        }
    }

    #[test]
    fn every_shape_of_mma_sync_is_in_the_table() {
        for shape in &SHAPES {
            let entry = TABLE.iter().find(|entry| entry.name == shape.name);
            assert!(entry.is_some(), "{}", shape.name);
        }
    }
}
