//! Comparison and selection (PTX ISA 9.7.6).

use super::form::{Decoded, Form, Ty};
use crate::sim::isa::Op;
use crate::sim::lane::{Dst, Lane, Pair, Pred, Registers, Src, WARP, map3, test};
use crate::sim::number::{bf16_to_f32, f16_to_f32, flush};

/// A comparison, ordered unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Comparison {
    less: bool,
    equal: bool,
    greater: bool,
    /// The result when an operand is a NaN.
    unordered: bool,
    /// `lo`, `ls`, `hi`, `hs`: for unsigned integers only.
    unsigned_only: bool,
    /// Names of floats only.
    float_only: bool,
}

impl Comparison {
    fn of(name: &str) -> Option<Comparison> {
        let plain = |less, equal, greater| Comparison {
            less,
            equal,
            greater,
            unordered: false,
            unsigned_only: false,
            float_only: false,
        };
        let unordered = |c: Comparison| Comparison {
            unordered: true,
            float_only: true,
            ..c
        };
        let unsigned = |c: Comparison| Comparison {
            unsigned_only: true,
            ..c
        };
        Some(match name {
            "eq" => plain(false, true, false),
            // On floats `ne` is ordered, as every comparison without `u`.
            "ne" => plain(true, false, true),
            "lt" => plain(true, false, false),
            "le" => plain(true, true, false),
            "gt" => plain(false, false, true),
            "ge" => plain(false, true, true),
            "lo" => unsigned(plain(true, false, false)),
            "ls" => unsigned(plain(true, true, false)),
            "hi" => unsigned(plain(false, false, true)),
            "hs" => unsigned(plain(false, true, true)),
            "equ" => unordered(plain(false, true, false)),
            "neu" => unordered(plain(true, false, true)),
            "ltu" => unordered(plain(true, false, false)),
            "leu" => unordered(plain(true, true, false)),
            "gtu" => unordered(plain(false, false, true)),
            "geu" => unordered(plain(false, true, true)),
            "num" => Comparison {
                float_only: true,
                ..plain(true, true, true)
            },
            "nan" => unordered(plain(false, false, false)),
            _ => return None,
        })
    }

    #[inline]
    fn holds<T: PartialOrd>(self, a: T, b: T) -> bool {
        match a.partial_cmp(&b) {
            Some(std::cmp::Ordering::Less) => self.less,
            Some(std::cmp::Ordering::Equal) => self.equal,
            Some(std::cmp::Ordering::Greater) => self.greater,
            None => self.unordered,
        }
    }
}

type Test = Box<dyn Fn(&Registers) -> u32 + Send + Sync>;

fn tester<A: Lane>(srcs: [Src; 2], f: impl Fn(A, A) -> bool + Send + Sync + 'static) -> Test {
    Box::new(move |registers| test(registers, srcs, &f))
}

/// The integer tests that loops and bounds checks are made of, without the detour over an
/// ordering.
fn integer_test<A: Lane + Ord>(srcs: [Src; 2], c: Comparison) -> Test {
    match (c.less, c.equal, c.greater) {
        (true, false, false) => tester(srcs, |a: A, b: A| a < b),
        (true, true, false) => tester(srcs, |a: A, b: A| a <= b),
        (false, false, true) => tester(srcs, |a: A, b: A| a > b),
        (false, true, true) => tester(srcs, |a: A, b: A| a >= b),
        (false, true, false) => tester(srcs, |a: A, b: A| a == b),
        _ => tester(srcs, |a: A, b: A| a != b),
    }
}

fn comparison(form: &mut Form, c: Comparison, ftz: bool, ty: Ty, srcs: [Src; 2]) -> Decoded<Test> {
    let unsigned = matches!(ty, Ty::U16 | Ty::U32 | Ty::U64);
    let bits_only = matches!(ty, Ty::B16 | Ty::B32 | Ty::B64) && (c.less != c.greater);
    if c.float_only && !ty.is_float() || c.unsigned_only && !unsigned || bits_only {
        return form.unknown();
    }
    Ok(match ty {
        Ty::B16 | Ty::U16 => integer_test::<u16>(srcs, c),
        Ty::S16 => integer_test::<i16>(srcs, c),
        Ty::B32 | Ty::U32 => integer_test::<u32>(srcs, c),
        Ty::S32 => integer_test::<i32>(srcs, c),
        Ty::B64 | Ty::U64 => integer_test::<u64>(srcs, c),
        Ty::S64 => integer_test::<i64>(srcs, c),
        Ty::F32 if ftz => tester(srcs, move |a: f32, b: f32| c.holds(flush(a), flush(b))),
        Ty::F32 => tester(srcs, move |a: f32, b: f32| c.holds(a, b)),
        Ty::F64 => tester(srcs, move |a: f64, b: f64| c.holds(a, b)),
        Ty::F16 => tester(srcs, move |a: u16, b: u16| {
            c.holds(half_value(a, ftz), half_value(b, ftz))
        }),
        Ty::Bf16 => tester(srcs, move |a: u16, b: u16| {
            c.holds(bf16_to_f32(a), bf16_to_f32(b))
        }),
        _ => return form.unknown(),
    })
}

fn half_value(bits: u16, ftz: bool) -> f32 {
    match ftz && bits & 0x7c00 == 0 {
        true => 0.0,
        false => f16_to_f32(bits),
    }
}

/// How a comparison is combined with a predicate.
#[derive(Clone, Copy)]
enum Combine {
    And,
    Or,
    Xor,
}

impl Combine {
    fn of(name: &str) -> Option<Combine> {
        match name {
            "and" => Some(Combine::And),
            "or" => Some(Combine::Or),
            "xor" => Some(Combine::Xor),
            _ => None,
        }
    }

    fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            Combine::And => a & b,
            Combine::Or => a | b,
            Combine::Xor => a ^ b,
        }
    }
}

fn combined(combine: Option<(Combine, Pred)>, registers: &Registers, value: u32) -> u32 {
    match combine {
        Some((combine, pred)) => combine.apply(value, registers.pred(pred)),
        None => value,
    }
}

/// `setp`.
pub(super) fn set_predicate(form: &mut Form) -> Decoded<Op> {
    let c = form.need("a comparison", Comparison::of)?;
    let combine = form.pick(Combine::of);
    let ftz = form.eat("ftz");
    let ty = form.ty()?;
    form.end_modifiers()?;
    let (p, q) = form.pred_pair()?;
    let srcs = form.srcs::<2>(ty)?;
    let combine = match combine {
        Some(combine) => Some((combine, form.pred_src()?)),
        None => None,
    };
    if matches!(ty, Ty::F16x2 | Ty::Bf16x2) {
        // `p` is the result of the low half, `q` of the high one.
        let value = move |bits: u16| {
            if ty == Ty::F16x2 {
                half_value(bits, ftz)
            } else {
                bf16_to_f32(bits)
            }
        };
        return Ok(Op::lanes(Box::new(
            move |registers: &mut Registers, mask| {
                for (half, slot) in [p, q].into_iter().enumerate() {
                    let Some(slot) = slot else { continue };
                    let holds = test(registers, srcs, |a: Pair<u16>, b: Pair<u16>| {
                        c.holds(value(a[half]), value(b[half]))
                    });
                    let result = combined(combine, registers, holds);
                    registers.set_pred(slot, mask, result);
                }
            },
        )));
    }
    let holds = comparison(form, c, ftz, ty, srcs)?;
    Ok(Op::lanes(Box::new(
        move |registers: &mut Registers, mask| {
            let value = holds(registers);
            let (first, second) = (
                combined(combine, registers, value),
                combined(combine, registers, !value),
            );
            if let Some(slot) = p {
                registers.set_pred(slot, mask, first);
            }
            if let Some(slot) = q {
                registers.set_pred(slot, mask, second);
            }
        },
    )))
}

/// `set`: a comparison's result as all ones or 1.0.
pub(super) fn set(form: &mut Form) -> Decoded<Op> {
    let c = form.need("a comparison", Comparison::of)?;
    let combine = form.pick(Combine::of);
    let ftz = form.eat("ftz");
    let (to, ty) = (form.ty()?, form.ty()?);
    form.end_modifiers()?;
    let dst = form.dst(to)?;
    let srcs = form.srcs::<2>(ty)?;
    let combine = match combine {
        Some(combine) => Some((combine, form.pred_src()?)),
        None => None,
    };
    let holds = comparison(form, c, ftz, ty, srcs)?;
    let truth = match to {
        Ty::U32 | Ty::S32 => u32::MAX,
        Ty::F32 => 1f32.to_bits(),
        _ => return form.unknown(),
    };
    Ok(Op::lanes(Box::new(
        move |registers: &mut Registers, mask| {
            let value = holds(registers);
            let value = combined(combine, registers, value);
            let words = std::array::from_fn(|lane| if value >> lane & 1 == 1 { truth } else { 0 });
            registers.set_words(dst, mask, &words);
        },
    )))
}

/// `selp`.
pub(super) fn select(form: &mut Form) -> Decoded<Op> {
    let ty = form.ty()?;
    form.end_modifiers()?;
    let dst: Dst = form.dst(ty)?;
    let [a, b] = form.srcs(ty)?;
    let pred = form.pred_src()?;
    Ok(Op::lanes(match ty.bits() {
        64 => Box::new(move |registers: &mut Registers, mask| {
            let chosen = registers.pred(pred);
            let (a, b) = (registers.wides_of(a), registers.wides_of(b));
            let values: [u64; WARP] =
                std::array::from_fn(|l| if chosen >> l & 1 == 1 { a[l] } else { b[l] });
            registers.set_wides(dst, mask, &values);
        }),
        _ => Box::new(move |registers: &mut Registers, mask| {
            let chosen = registers.pred(pred);
            let (a, b) = (registers.words_of(a), registers.words_of(b));
            let values: [u32; WARP] =
                std::array::from_fn(|l| if chosen >> l & 1 == 1 { a[l] } else { b[l] });
            registers.set_words(dst, mask, &values);
        }),
    }))
}

/// `slct`: by the sign of the third operand.
pub(super) fn select_by_sign(form: &mut Form) -> Decoded<Op> {
    let ftz = form.eat("ftz");
    let (ty, by) = (form.ty()?, form.ty()?);
    form.end_modifiers()?;
    let dst = form.dst(ty)?;
    let [a, b] = form.srcs(ty)?;
    let srcs = [a, b, form.src(by)?];
    Ok(Op::lanes(match (ty.bits(), by) {
        (64, Ty::S32) => map3(
            dst,
            srcs,
            |a: u64, b: u64, c: i32| if c >= 0 { a } else { b },
        ),
        (16 | 32, Ty::S32) => map3(
            dst,
            srcs,
            |a: u32, b: u32, c: i32| if c >= 0 { a } else { b },
        ),
        (64, Ty::F32) => map3(dst, srcs, move |a: u64, b: u64, c: f32| {
            if (if ftz { flush(c) } else { c }) >= 0.0 {
                a
            } else {
                b
            }
        }),
        (16 | 32, Ty::F32) => map3(dst, srcs, move |a: u32, b: u32, c: f32| {
            if (if ftz { flush(c) } else { c }) >= 0.0 {
                a
            } else {
                b
            }
        }),
        _ => return form.unknown(),
    }))
}
