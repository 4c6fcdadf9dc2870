//! The simplifier of run-time integers: values never change, and facts hold for every value.

use super::Random;
use cutec_layout::{Expr, Int, SymInfo, Width};

fn thread(max: i64) -> Int {
    let info = SymInfo {
        max: Some(max),
        ..SymInfo::default()
    };
    Int::var(0, info)
}

fn n(value: i64) -> Int {
    Int::Static(value)
}

#[test]
fn bit_fields_of_a_thread_index() {
    let t = thread(127);
    // The last field needs no remainder, as the bound says.
    assert_eq!(t.floor_div(&n(32)).modulo(&n(4)), t.floor_div(&n(32)));
    assert_eq!(t.floor_div(&n(8)).floor_div(&n(4)), t.floor_div(&n(32)));
    assert_eq!(t.modulo(&n(32)).modulo(&n(8)), t.modulo(&n(8)));
    assert_eq!(
        t.modulo(&n(32)).floor_div(&n(8)),
        t.floor_div(&n(8)).modulo(&n(4))
    );
    assert_eq!(t.modulo(&n(8)).known_zero_bits(), !7);
    assert_eq!(t.modulo(&n(8)).mul(&n(16)).known_zero_bits(), !0x70);
    assert_eq!(t.floor_div(&n(128)), Int::ZERO);
}

#[test]
fn low_and_high_parts_recombine() {
    let t = thread(127);
    let (low, high) = (t.modulo(&n(8)), t.floor_div(&n(8)));
    assert_eq!(low.add(&high.mul(&n(8))), t);
    assert_eq!(low.mul(&n(4)).add(&high.mul(&n(32))), t.mul(&n(4)));
    let middle = t.floor_div(&n(8)).modulo(&n(4));
    assert_eq!(low.add(&middle.mul(&n(8))), t.modulo(&n(32)));
}

#[test]
fn divisibility_cancels() {
    let info = SymInfo {
        div: 8,
        ..SymInfo::default()
    };
    let m = Int::var(1, info);
    assert_eq!(m.modulo(&n(8)), Int::ZERO);
    assert_eq!(m.ceil_div(&n(8)), m.floor_div(&n(8)));
    assert_eq!(m.floor_div(&n(8)).mul(&n(8)), m);
    assert_eq!(m.mul(&n(16)).div(), 128);
    assert_eq!(m.min(&n(8)), n(8));
    assert_eq!(m.mul(&thread(9)).floor_div(&m), thread(9));
    assert_eq!(n(1).ceil_div(&m), Int::ONE);
    assert_eq!(
        m.add(&n(12)).floor_div(&n(8)),
        m.floor_div(&n(8)).add(&n(1))
    );
    assert_eq!(m.to_string(), "?{div=8}");
}

#[test]
fn sums_are_linear() {
    let (x, y) = (Int::unknown(0), Int::unknown(1));
    assert_eq!(x.add(&y).sub(&x), y);
    assert_eq!(x.mul(&n(3)).add(&x), x.mul(&n(4)));
    assert_eq!(x.add(&n(1)).mul(&n(4)), x.mul(&n(4)).add(&n(4)));
    assert_eq!(x.sub(&x), Int::ZERO);
    assert_eq!(x.mul(&y), y.mul(&x));
    assert_eq!(x.xor(&x), Int::ZERO);
    let disjoint = thread(7).mul(&n(8)).xor(&thread(7));
    assert!(!matches!(
        disjoint.as_sym().expect("dynamic").expr(),
        Expr::Xor(..)
    ));
}

/// Random expressions: the simplified one has the value of the plain one, lies between its
/// bounds, is divided by its divisor, and has no bit that is known to be zero.
#[test]
fn facts_hold() {
    let mut random = Random(20);
    for _ in 0..20_000 {
        let divisors: [i64; 3] = std::array::from_fn(|_| random.pick(&[1, 1, 2, 4, 8, 12]));
        let bounds: [Option<i64>; 3] =
            std::array::from_fn(|_| random.pick(&[None, Some(31), Some(127), Some(96)]));
        let values: [i64; 3] = std::array::from_fn(|index| {
            let bound = bounds[index].unwrap_or(1000);
            let count = bound / divisors[index];
            (1 + random.below(count as u64) as i64).min(count) * divisors[index]
        });
        let vars: Vec<Int> = (0..3)
            .map(|index| {
                let info = SymInfo {
                    div: divisors[index],
                    max: bounds[index],
                    ..SymInfo::default()
                };
                Int::var(index as u32, info)
            })
            .collect();
        let env = |id: u32| values[id as usize];
        let mut pool: Vec<(Int, i64)> = vars.into_iter().zip(values).collect();
        for _ in 0..6 {
            let (a, x) = pool[random.below(pool.len() as u64) as usize].clone();
            let (b, y) = if random.below(2) == 0 {
                let c = random.pick(&[1, 2, 3, 4, 8, 16, 32, 64, 5]);
                (n(c), c)
            } else {
                pool[random.below(pool.len() as u64) as usize].clone()
            };
            let (int, value) = match random.below(9) {
                0 | 1 => (a.add(&b), x + y),
                2 | 3 if x.abs() < 1 << 20 && y.abs() < 1 << 20 => (a.mul(&b), x * y),
                4 if y > 0 => (a.floor_div(&b), x.div_euclid(y)),
                // A dividend is an extent, which is not zero.
                5 if x > 0 && y > 0 => (a.ceil_div(&b), -(-x).div_euclid(y)),
                6 if y > 0 => (a.modulo(&b), x.rem_euclid(y)),
                7 if x > 0 && y > 0 => (a.min(&b), x.min(y)),
                8 if x >= 0 && y >= 0 => (a.xor(&b), x ^ y),
                _ => continue,
            };
            let text = int.formula();
            assert_eq!(int.eval(&env), value, "{text} at {values:?}");
            assert!(int.lower() <= value, "{text}: {} <= {value}", int.lower());
            assert!(
                int.upper().is_none_or(|max| value <= max),
                "{text} at {values:?}"
            );
            assert!(value == 0 || value % int.div() == 0, "{text} at {values:?}");
            if value >= 0 {
                let zero = int.known_zero_bits();
                assert_eq!(value as u64 & zero, 0, "{text} at {values:?}");
            }
            let spelled = int.substitute(&|id| Some(n(env(id))));
            assert_eq!(spelled, n(value), "{text}");
            pool.push((int, value));
        }
    }
}

#[test]
fn quotients_of_32_bits_stay_32_bits() {
    let x = Int::unknown(0);
    let quotient = x.add(&Int::Static(128)).floor_div(&Int::Static(128));
    assert_eq!(quotient.formula(), "((v0 / 128) + 1)");
    assert_eq!(quotient.width(), Width::I32);
}

#[test]
fn shared_parts_are_gone_through_once() {
    // 2^60 paths lead to the variable.
    let tall = || {
        (0..60).fold(Int::unknown(0), |x, step| {
            x.floor_div(&n(3)).add(&x.modulo(&n(5 + step)))
        })
    };
    let (x, y) = (tall(), tall());
    assert_eq!(x, y);
    let mut found = 0;
    x.visit_vars(&mut |id| found += u32::from(id == 0));
    assert!(found > 0);
    let other = x.substitute(&|_| Some(Int::unknown(1)));
    assert_ne!(x, other);
    assert_eq!(other.substitute(&|_| Some(Int::unknown(0))), x);
    assert!(x.formula().len() < 10_000);
}

/// What divides a product may be too large for a text; then it is what divides a factor.
#[test]
fn divisors_of_products_fit_a_text() {
    let by = |id, div| {
        let info = SymInfo {
            width: Width::I64,
            div,
            ..SymInfo::default()
        };
        Int::var(id, info)
    };
    for (a, b, div) in [
        (1 << 30, 1 << 31, 1 << 61),
        (1 << 30, 1 << 32, 1 << 32),
        (3 << 30, 1 << 31, 3 << 30),
        (1 << 40, 1 << 50, 1 << 50),
        (1, 1 << 61, 1 << 61),
    ] {
        let product = by(0, a).mul(&by(1, b));
        assert_eq!(product.div(), div, "{a} * {b}");
        assert_eq!(by(0, a).mul(&n(b)).div(), div, "{a} * {b}");
        assert!(product.fits());
    }
    assert!(!by(0, 1 << 62).fits() && !n(1 << 62).fits() && !n(i64::MIN).fits());
}

#[test]
fn a_signed_variable_has_no_lower_bound() {
    let info = SymInfo {
        div: 8,
        ..SymInfo::default()
    };
    let offset = Int::Dyn(cutec_layout::Sym::signed(7, info));
    assert_eq!((offset.lower(), offset.div()), (i64::MIN, 8));
    assert_eq!(offset.add(&thread(127)).lower(), i64::MIN);
    // What is added up of the others may be known not to be negative beside it.
    assert_eq!(thread(127).sub(&n(1)).lower(), -1);
    assert_eq!(thread(127).add(&n(1)).lower(), 1);
    for value in [-24, -8, 0, 16] {
        let at = |id| if id == 7 { value } else { 5 };
        assert_eq!(offset.mul(&n(3)).eval(&at), 3 * value);
        assert_eq!(offset.floor_div(&n(8)).eval(&at), value / 8);
        assert_eq!(offset.add(&n(3)).modulo(&n(8)).eval(&at), 3);
    }
}
