//! `ldmatrix`, `stmatrix`, `mma` (PTX ISA 9.7.14).

use super::form::{Decoded, Form, Ty};
use crate::sim::Space;
use crate::sim::isa::{Mma, MmaAccumulator, MmaType, Op};

/// `.sync.aligned.m8n8.x?{.trans}{.shared}.b16`.
fn tiles(form: &mut Form) -> Decoded<(usize, bool)> {
    if !form.eat("sync") || !form.eat("aligned") || !form.eat("m8n8") {
        return form.bad_modifier("`.sync.aligned.m8n8`");
    }
    let count = form.need("`.x1`, `.x2` or `.x4`", |m| match m {
        "x1" => Some(1),
        "x2" => Some(2),
        "x4" => Some(4),
        _ => None,
    })?;
    let transpose = form.eat("trans");
    Ok((count, transpose))
}

fn space_and_type(form: &mut Form) -> Decoded<Space> {
    let space = match form.eat_any(&["shared", "shared::cta"]) {
        true => Space::Shared,
        false => Space::Generic,
    };
    if !form.eat("b16") {
        return form.bad_modifier("`.b16`");
    }
    form.end_modifiers()?;
    Ok(space)
}

/// `ldmatrix`.
pub(super) fn load(form: &mut Form) -> Decoded<Op> {
    let (count, transpose) = tiles(form)?;
    let space = space_and_type(form)?;
    let dsts = form.dst_vector(Ty::B32, count)?;
    let address = form.address(space)?;
    Ok(Op::LoadMatrix {
        dsts,
        address,
        transpose,
    })
}

/// `stmatrix`.
pub(super) fn store(form: &mut Form) -> Decoded<Op> {
    let (count, transpose) = tiles(form)?;
    let space = space_and_type(form)?;
    let address = form.address(space)?;
    let srcs = form.src_vector(Ty::B32, count)?;
    Ok(Op::StoreMatrix {
        srcs,
        address,
        transpose,
    })
}

pub(super) fn multiplicand(name: &str) -> Option<MmaType> {
    Some(match name {
        "f16" => MmaType::F16,
        "bf16" => MmaType::Bf16,
        "tf32" => MmaType::Tf32,
        "s4" => MmaType::S4,
        "u4" => MmaType::U4,
        "s8" => MmaType::S8,
        "u8" => MmaType::U8,
        "e4m3" => MmaType::E4m3,
        "e5m2" => MmaType::E5m2,
        "f64" => MmaType::F64,
        _ => return None,
    })
}

pub(super) fn accumulator(name: &str) -> Option<MmaAccumulator> {
    Some(match name {
        "f16" => MmaAccumulator::F16,
        "f32" => MmaAccumulator::F32,
        "s32" => MmaAccumulator::S32,
        "f64" => MmaAccumulator::F64,
        _ => return None,
    })
}

/// `mma`.
pub(super) fn multiply(form: &mut Form) -> Decoded<Op> {
    if !form.eat("sync") || !form.eat("aligned") {
        return form.bad_modifier("`.sync.aligned`");
    }
    let (m, k) = form.need("a shape", |name| {
        Some(match name {
            "m8n8k4" => (8, 4),
            "m8n8k32" => (8, 32),
            "m16n8k4" => (16, 4),
            "m16n8k8" => (16, 8),
            "m16n8k16" => (16, 16),
            "m16n8k32" => (16, 32),
            "m16n8k64" => (16, 64),
            _ => return None,
        })
    })?;
    if !form.eat("row") || !form.eat("col") {
        return form.bad_modifier("`.row.col`");
    }
    let saturate = form.eat("satfinite");
    let accumulate = form.need("an accumulator type", accumulator)?;
    let a_type = form.need("a type of A", multiplicand)?;
    let b_type = form.need("a type of B", multiplicand)?;
    let c_type = form.need("a type of C", accumulator)?;
    form.end_modifiers()?;
    use MmaAccumulator as C;
    use MmaType::{Bf16, E4m3, E5m2, F16, F64, S4, S8, Tf32, U4, U8};
    let legal = c_type == accumulate
        && match (a_type, b_type) {
            (F16, F16) => m == 16 && matches!(k, 8 | 16) && matches!(accumulate, C::F16 | C::F32),
            (Bf16, Bf16) => m == 16 && matches!(k, 8 | 16) && accumulate == C::F32,
            (Tf32, Tf32) => m == 16 && matches!(k, 4 | 8) && accumulate == C::F32,
            (S8 | U8, S8 | U8) => m == 16 && matches!(k, 16 | 32) && accumulate == C::S32,
            (S4 | U4, S4 | U4) => matches!((m, k), (8, 32) | (16, 32 | 64)) && accumulate == C::S32,
            (E4m3 | E5m2, E4m3 | E5m2) => m == 16 && k == 32 && accumulate == C::F32,
            (F64, F64) => matches!((m, k), (8, 4) | (16, 4 | 8 | 16)) && accumulate == C::F64,
            _ => false,
        }
        && (!saturate || accumulate == C::S32);
    if !legal {
        return form.unknown();
    }
    let (register, bits) = match a_type {
        F16 | Bf16 => (Ty::B32, 16),
        Tf32 => (Ty::B32, 32),
        F64 => (Ty::F64, 64),
        S4 | U4 => (Ty::B32, 4),
        _ => (Ty::B32, 8),
    };
    let (c_register, c_bits) = match accumulate {
        C::F16 => (Ty::B32, 16),
        C::F32 | C::S32 => (Ty::B32, 32),
        C::F64 => (Ty::F64, 64),
    };
    // Each of 32 lanes holds an equal share, in whole registers.
    let registers =
        |elements: usize, bits: usize, ty: Ty| elements * bits / (32 * ty.bits() as usize);
    let c_count = registers(m * 8, c_bits, c_register);
    let d = form.dst_vector(c_register, c_count)?;
    let a = form.src_vector(register, registers(m * k, bits, register))?;
    let b = form.src_vector(register, registers(k * 8, bits, register))?;
    let c = form.src_vector(c_register, c_count)?;
    Ok(Op::Mma(Box::new(Mma {
        k,
        multiplicands: a_type,
        b_type,
        accumulate,
        saturate,
        d,
        a,
        b,
        c,
    })))
}
