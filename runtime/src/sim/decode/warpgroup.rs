//! `wgmma` (PTX ISA 9.7.15), dense and sparse, and `setmaxnreg` (9.7.19.5).

use super::form::{Decoded, Form, Ty};
use super::matrix::{accumulator, multiplicand};
use crate::sim::assignment::Role;
use crate::sim::isa::{MmaAccumulator, MmaType, Op, Sparse, WarpgroupOp, Wgmma, WgmmaA};
use crate::sim::lane::Pred;

/// `wgmma`.
pub(super) fn wgmma(form: &mut Form) -> Decoded<Op> {
    let action = form.peek().unwrap_or_default();
    form.eat(action);
    let sparse = action == "mma_async" && form.eat("sp");
    if !form.eat("sync") || !form.eat("aligned") {
        return form.bad_modifier("`.sync.aligned`");
    }
    let op = match action {
        "fence" => WarpgroupOp::Fence,
        "commit_group" => WarpgroupOp::Commit,
        "wait_group" => {
            form.end_modifiers()?;
            let groups = form.literal()?;
            WarpgroupOp::Wait(groups.min(u64::from(u32::MAX)) as u32)
        }
        "mma_async" => WarpgroupOp::Multiply(Box::new(multiply(form, sparse)?)),
        _ => return form.unknown(),
    };
    Ok(Op::Warpgroup(op))
}

/// `setmaxnreg`.
pub(super) fn set_registers(form: &mut Form) -> Decoded<Op> {
    let increases = form.need("`.inc` or `.dec`", |m| match m {
        "inc" => Some(true),
        "dec" => Some(false),
        _ => None,
    })?;
    if !form.eat("sync") || !form.eat("aligned") || !form.eat("u32") {
        return form.bad_modifier("`.sync.aligned.u32`");
    }
    form.end_modifiers()?;
    let count = form.literal()?;
    if !matches!(count, 24..=256) || !count.is_multiple_of(8) {
        return form.bad("a multiple of 8 from 24 to 256");
    }
    let count = count as u32;
    Ok(Op::Warpgroup(WarpgroupOp::SetRegisters {
        count,
        increases,
    }))
}

/// N and K of `m64n‹N›k‹K›`.
fn shape(name: &str) -> Option<(usize, usize)> {
    let (n, k) = name.strip_prefix("m64n")?.split_once('k')?;
    Some((n.parse().ok()?, k.parse().ok()?))
}

/// `wgmma.mma_async` or `wgmma.mma_async.sp`, from its shape on.
fn multiply(form: &mut Form, sparse: bool) -> Decoded<Wgmma> {
    use MmaAccumulator as C;
    use MmaType::{Bf16, E4m3, E5m2, F16, F64, S4, S8, Tf32, U4, U8};
    let (n, k) = form.need("a shape `m64n‹N›k‹K›`", shape)?;
    // The ISA's grammar has it here.
    let mut saturate = form.eat("satfinite");
    let accumulate = form.need("a type of D", accumulator)?;
    let a_type = form.need("a type of A", multiplicand)?;
    let b_type = form.need("a type of B", multiplicand)?;
    saturate |= form.eat("satfinite");
    form.end_modifiers()?;
    let (depth, legal) = match (a_type, b_type) {
        (F16, F16) => (16, matches!(accumulate, C::F16 | C::F32)),
        (Bf16, Bf16) => (16, accumulate == C::F32),
        (Tf32, Tf32) => (8, accumulate == C::F32),
        (E4m3 | E5m2, E4m3 | E5m2) => (32, matches!(accumulate, C::F16 | C::F32)),
        (S8 | U8, S8 | U8) => (32, accumulate == C::S32),
        (F16 | Bf16 | Tf32 | S4 | U4 | S8 | U8 | E4m3 | E5m2 | F64, _) => (0, false),
    };
    let depth = if sparse { 2 * depth } else { depth };
    let integers = accumulate == C::S32;
    // Integers have steps of 16 from 32 on; ptxas takes 240 and 256 as well, which the ISA does not list.
    let step = if integers && n > 32 { 16 } else { 8 };
    let width = matches!(n, 8..=256) && n.is_multiple_of(step);
    if !legal || k != depth || !width || saturate && !integers {
        return form.unknown();
    }
    let registers = match accumulate {
        C::F16 => n / 4,
        C::F32 | C::S32 | C::F64 => n / 2,
    };
    let d = form.register_vector(registers, Role::Write)?;
    let a = match form.is_vector() {
        true => WgmmaA::Registers(form.register_vector(4, Role::Read)?),
        false => WgmmaA::Shared(form.src(Ty::B64)?),
    };
    let b = form.src(Ty::B64)?;
    let sparse = match sparse {
        false => None,
        true => {
            let metadata = form.src(Ty::B32)?;
            // Of 8 bits all lanes have metadata.
            let pairs = if depth == 64 { 1 } else { 2 };
            let selector = form.literal()? as usize;
            if selector >= pairs {
                return form.bad(if pairs == 1 { "0" } else { "0 or 1" });
            }
            Some(Sparse { metadata, selector })
        }
    };
    let scale_d = form.pred_src()?;
    let mut negate = [false; 2];
    if !integers {
        for negate in &mut negate {
            *negate = match form.literal()? as i64 {
                1 => false,
                -1 => true,
                _ => return form.bad("1 or -1"),
            };
        }
    }
    let mut mn_major = [false; 2];
    if matches!(a_type, F16 | Bf16) {
        for (operand, mn_major) in mn_major.iter_mut().enumerate() {
            if operand == 0 && matches!(a, WgmmaA::Registers(_)) {
                continue;
            }
            *mn_major = match form.literal()? {
                0 => false,
                1 => true,
                _ => return form.bad("0 or 1"),
            };
        }
    }
    if scale_d == Pred::Const(true) {
        form.updates();
    }
    Ok(Wgmma {
        n,
        multiplicands: [a_type, b_type],
        accumulate,
        saturate,
        d,
        a,
        b,
        scale_d,
        negate,
        mn_major,
        sparse,
    })
}
