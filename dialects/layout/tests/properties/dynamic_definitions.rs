//! Operations with run-time operands against their definitions: some leaves become run-time values of
//! which a divisor is known; the result, with the values put in, must be what the operation is defined
//! to be wherever its conditions hold. Refusals are counted.

use super::dynamic::loosen;
use super::{Random, at, leaf, size, values};
use cutec_layout::algebra::{
    coalesce, coalesce_run_time, composition_tiler, crd2idx, filter, filter_zeros, flat_divide,
    flatten, idx2crd, left_inverse, logical_divide, make_layout_like, max_common_layout, nullspace,
    offset_at, right_inverse, right_inverse_is_largest,
};
use cutec_layout::{Int, IntTuple, Layout, LayoutError, Tiler, assuming};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// A layout, the same with run-time leaves, and their values.
struct Case {
    known: Layout,
    open: Layout,
    values: Vec<i64>,
}

impl Case {
    fn env(&self) -> impl Fn(u32) -> i64 + '_ {
        |id| self.values[id as usize]
    }

    fn put_in(&self, layout: &Layout) -> Layout {
        layout.eval(&self.env())
    }
}

fn cases(seed: u64, count: usize, mut f: impl FnMut(&mut Random, &Case)) {
    let mut random = Random(seed);
    for _ in 0..count {
        let known = random.any_layout();
        let values = RefCell::new(Vec::new());
        let open = loosen(&mut random, &known, &values);
        let values = values.into_inner();
        if !values.is_empty() {
            f(
                &mut random,
                &Case {
                    known,
                    open,
                    values,
                },
            );
        }
    }
}

#[test]
fn unary_operations_keep_their_function() {
    type Operation = fn(&Layout) -> Layout;
    let operations: [(&str, Operation); 3] = [
        ("coalesce", coalesce),
        ("coalesce_run_time", coalesce_run_time),
        ("flatten", flatten),
    ];
    cases(70, 3000, |_, case| {
        for (name, operation) in operations {
            let found = case.put_in(&operation(&case.open));
            assert_eq!(values(&found), values(&case.known), "{name}({})", case.open);
        }
        let merged = coalesce_run_time(&case.open);
        assert!(merged.rank() <= coalesce(&case.open).rank(), "{merged}");
        assert!(merged.depth() <= 1, "{merged}");
    });
}

#[test]
fn filters_keep_the_distinct_values() {
    let distinct = |layout: &Layout| values(layout).into_iter().collect::<BTreeSet<i64>>();
    cases(71, 3000, |_, case| {
        for filtered in [filter(&case.open), filter_zeros(&case.open)] {
            let found = case.put_in(&filtered);
            assert_eq!(distinct(&found), distinct(&case.known), "{}", case.open);
        }
        // Every index of the kernel has the value of index 0.
        let kernel = case.put_in(&nullspace(&case.open));
        for index in values(&kernel) {
            assert_eq!(at(&case.known, index), 0, "{} {kernel}", case.open);
        }
        let like = make_layout_like(&case.open).expect("well-formed");
        let like = case.put_in(&like);
        assert_eq!(
            distinct(&like).len(),
            distinct(&like).last().map_or(0, |end| *end as usize + 1)
        );
    });
}

#[test]
fn inverses_invert() {
    let mut largest = 0;
    cases(72, 6000, |_, case| {
        let right = case.put_in(&right_inverse(&case.open));
        for index in 0..size(&right) {
            assert_eq!(
                at(&case.known, at(&right, index)),
                index,
                "{} {right}",
                case.open
            );
        }
        if right_inverse_is_largest(&case.open) {
            largest += 1;
            assert!(
                size(&right) >= size(&right_inverse(&case.known)),
                "{}",
                case.open
            );
        }
        let (left, conditions) = assuming(|| left_inverse(&case.open));
        let env = case.env();
        let Ok(left) = left else { return };
        if !conditions.iter().all(|condition| condition.eval(&env)) {
            return;
        }
        let left = case.put_in(&left);
        for value in values(&case.known) {
            assert_eq!(
                at(&case.known, at(&left, value)),
                value,
                "{} {left}",
                case.open
            );
        }
    });
    assert!(largest > 1000, "{largest}");
}

#[test]
fn coordinates_and_indices() {
    cases(73, 1500, |random, case| {
        let env = case.env();
        let index = random.below(size(&case.known) as u64) as i64;
        let eval = |tuple: &IntTuple| tuple.map(&mut |leaf| Int::Static(leaf.eval(&env)));
        let coord = idx2crd(&leaf(index), case.open.shape()).expect("an index");
        let wanted = idx2crd(&leaf(index), case.known.shape()).expect("an index");
        assert_eq!(eval(&coord), wanted, "{index} in {}", case.open);
        let offset = crd2idx(&coord, &case.open).expect("a coordinate");
        assert_eq!(
            eval(&offset),
            leaf(at(&case.known, index)),
            "{index} in {}",
            case.open
        );
        let offset = offset_at(&leaf(index), &case.open).expect("an index");
        assert_eq!(offset.eval(&env), at(&case.known, index));
    });
}

#[test]
fn common_layouts_agree() {
    cases(74, 3000, |_, case| {
        let (found, conditions) = assuming(|| max_common_layout(&case.open, &case.open));
        let env = case.env();
        let Ok(found) = found else { return };
        if !conditions.iter().all(|condition| condition.eval(&env)) {
            return;
        }
        let found = case.put_in(&found);
        for index in 0..size(&found) {
            assert_eq!(
                at(&case.known, at(&found, index)),
                index,
                "{} {found}",
                case.open
            );
        }
    });
}

/// Operations that may refuse: never a wrong result, and not too many refusals.
#[test]
fn most_tiles_are_decided() {
    type Operation = fn(&Layout, &Tiler) -> Result<Layout, LayoutError>;
    let operations: [(&str, Operation); 3] = [
        ("composition", composition_tiler),
        ("logical_divide", logical_divide),
        ("flat_divide", flat_divide),
    ];
    let mut refused: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    cases(75, 6000, |random, case| {
        let tiler = match random.below(2) {
            0 => Tiler::from(random.pick(&[1, 2, 3, 4, 8])),
            _ => {
                let modes = case.open.rank().min(1 + random.below(2) as usize);
                Tiler::Tile(
                    (0..modes)
                        .map(|_| Tiler::from(random.pick(&[1, 2, 4])))
                        .collect(),
                )
            }
        };
        let env = case.env();
        for (name, operation) in operations {
            let Ok(wanted) = operation(&case.known, &tiler) else {
                continue;
            };
            let count = refused.entry(name).or_default();
            count.1 += 1;
            match operation(&case.open, &tiler) {
                Err(_) => count.0 += 1,
                Ok(found) => {
                    let found = found.eval(&env);
                    let whole = size(&case.known);
                    // Uneven rests are padded, more so where fewer modes merge.
                    if name == "composition" || size(&found) == whole && size(&wanted) == whole {
                        let text = format!("{name}({}, {tiler})", case.open);
                        assert_eq!(values(&found), values(&wanted), "{text}");
                        continue;
                    }
                    let reached: BTreeSet<i64> = values(&found).into_iter().collect();
                    assert!(
                        values(&case.known)
                            .iter()
                            .all(|value| reached.contains(value)),
                        "{name}({}, {tiler}) at {}",
                        case.open,
                        case.known
                    );
                }
            }
        }
    });
    // Most tiles go mode by mode, which nothing stands in the way of.
    for (name, (refused, all)) in refused {
        assert!(refused * 2 < all, "{name}: {refused} of {all} refused");
    }
}

/// A mode of no elements: what is made of it has none either, whatever divisor was promised.
#[test]
fn nothing_stays_nothing() {
    let mut random = Random(76);
    for _ in 0..3000 {
        let known = random.any_layout();
        let values = RefCell::new(Vec::new());
        let open = loosen(&mut random, &known, &values);
        let mut values = values.into_inner();
        // The run-time extents come first.
        let extents = open
            .shape()
            .leaves()
            .iter()
            .filter(|leaf| !leaf.is_static())
            .count();
        if extents == 0 {
            continue;
        }
        values[random.below(extents as u64) as usize] = 0;
        let env = |id: u32| values[id as usize];
        let empty = |result: &Layout, name: &str| {
            let found = result.size().eval(&env);
            assert_eq!(found, 0, "{name} of {open}: {result}");
        };
        empty(&coalesce_run_time(&open), "coalesce");
        empty(&flatten(&open), "flatten");
        let tile = Tiler::from(random.pick(&[2, 4, 8]));
        let by_mode = Tiler::Tile(vec![tile.clone(); open.rank()]);
        for tiler in [tile, by_mode] {
            let (divided, conditions) = assuming(|| logical_divide(&open, &tiler));
            let Ok(divided) = divided else { continue };
            if conditions.iter().all(|condition| condition.eval(&env)) {
                empty(&divided, "logical_divide");
            }
        }
    }
}
