//! Dynamic leaves: where an operation has a result, it is the static one for every value that
//! meets the recorded conditions.

use super::{Random, size, values};
use cutec_layout::algebra::{
    coalesce, complement, composition, filter, logical_divide, logical_product, recast_layout,
    right_inverse, tile_to_shape, tiled_divide, zipped_divide,
};
use cutec_layout::text::parse_layout;
use cutec_layout::{Int, IntTuple, Layout, LayoutError, SymInfo, Tiler, Tree, algebra, assuming};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Makes some leaves run-time values, and remembers what they were.
pub fn loosen(random: &mut Random, layout: &Layout, values: &RefCell<Vec<i64>>) -> Layout {
    let mut leaf = |leaf: &Int, strides: bool| {
        let value = leaf.as_static().unwrap_or(0);
        let keep = if strides { value < 2 } else { value < 1 };
        if keep || random.below(2) == 0 {
            return leaf.clone();
        }
        let mut values = values.borrow_mut();
        values.push(value);
        let divisors: Vec<i64> = [1, 2, 4, 8, 16]
            .into_iter()
            .filter(|divisor| value % divisor == 0)
            .collect();
        let info = SymInfo {
            div: random.pick(&divisors),
            ..SymInfo::default()
        };
        Int::var(values.len() as u32 - 1, info)
    };
    let shape = layout.shape().map(&mut |extent| leaf(extent, false));
    let stride = layout.stride().map(&mut |stride| leaf(stride, true));
    Layout::new(shape, stride).expect("congruent")
}

type Binary = fn(&Layout, &Layout) -> Result<Layout, LayoutError>;

#[test]
fn dynamic_results_are_the_static_ones() {
    let operations: [(&str, Binary); 9] = [
        ("composition", composition),
        ("complement", |a, b| complement(a, b.shape())),
        ("logical_divide", |a, b| {
            logical_divide(a, &Tiler::Layout(b.clone()))
        }),
        ("zipped_divide", |a, b| {
            zipped_divide(a, &Tiler::from_shape(b.shape()))
        }),
        ("tiled_divide", |a, b| {
            tiled_divide(a, &Tiler::Layout(b.clone()))
        }),
        ("logical_product", |a, b| {
            logical_product(a, &Tiler::Layout(b.clone()))
        }),
        ("recast", |a, _| recast_layout(a, 16, 8)),
        ("tile_to_shape", |a, b| tile_to_shape(a, b.shape(), None)),
        ("coalesce", |a, _| Ok(coalesce(a))),
    ];
    let mut random = Random(30);
    let mut checked = 0;
    for round in 0..9_000 {
        let (name, operation) = operations[round % operations.len()];
        let (a, b) = (random.any_layout(), random.any_layout());
        let known = RefCell::new(Vec::new());
        let (x, y) = (
            loosen(&mut random, &a, &known),
            loosen(&mut random, &b, &known),
        );
        let known = known.into_inner();
        if known.is_empty() {
            continue;
        }
        let env = |id: u32| known[id as usize];
        let (result, conditions) = assuming(|| operation(&x, &y));
        let Ok(result) = result else { continue };
        if !conditions.iter().all(|condition| condition.eval(&env)) {
            continue;
        }
        // A static extent of 1 still has its stride tested; a dynamic one cannot be wrong there.
        let Ok(wanted) = operation(&a, &b) else {
            continue;
        };
        let found = result.eval(&env);
        // Uneven rests are padded, and a layout that merges fewer modes pads more. No element is lost.
        if name.ends_with("divide") && (size(&wanted) != size(&a) || size(&found) != size(&a)) {
            let reached: BTreeSet<i64> = values(&found).into_iter().collect();
            let covers = values(&a).iter().all(|value| reached.contains(value));
            assert!(covers, "{name}({x}, {y}) at {a}, {b}: {found}");
            continue;
        }
        // So does the complement; both reach the same offsets in the same order.
        if name == "complement" {
            let (found, wanted) = (values(&found), values(&wanted));
            let both = found.len().min(wanted.len());
            assert_eq!(found[..both], wanted[..both], "{name}({x}, {y})");
            let bound = size(&b) / size(&filter(&a));
            assert!(found.len() as i64 >= bound, "{name}({x}, {y}) at {a}, {b}");
            continue;
        }
        checked += 1;
        assert_eq!(
            values(&found),
            values(&wanted),
            "{name}({x}, {y}) at {a}, {b}"
        );
        // Without the assumptions the operation refuses, unless it needs none.
        assert_eq!(operation(&x, &y).is_ok(), conditions.is_empty());
    }
    assert!(checked > 1000, "{checked}");
}

#[test]
fn right_inverse_of_a_dynamic_layout() {
    let layout = parse_layout("(?,64):(64,1)").expect("a layout");
    assert_eq!(right_inverse(&layout).to_string(), "(64,?):(?,1)");
}

#[test]
fn undecided_conditions_are_refused_or_recorded() {
    let a = parse_layout("(?,?):(1,?)").expect("a layout");
    let b = parse_layout("8:1").expect("a layout");
    assert!(matches!(
        composition(&a, &b),
        Err(LayoutError::Undecided { .. })
    ));
    let (result, conditions) = assuming(|| composition(&a, &b));
    assert!(result.is_ok());
    assert_eq!(conditions.len(), 1, "{conditions:?}");
    let a = parse_layout("(?{div=8},?):(1,?)").expect("a layout");
    let c = composition(&a, &b).expect("8 divides the first mode");
    assert_eq!(c.to_string(), "8:1");
}

#[test]
fn tiles_of_a_dynamic_matrix() {
    let matrix = parse_layout("(?,?):(?{i64},1)").expect("a layout");
    let tile: IntTuple = Tree::Node([64, 256].map(|n| Tree::Leaf(Int::Static(n))).to_vec());
    let tiled = zipped_divide(&matrix, &Tiler::from_shape(&tile)).expect("by mode");
    assert_eq!(
        tiled.to_string(),
        "((64,256),(?,?)):((?{i64},1),(?{i64 div=64},256))"
    );
    let identity = algebra::make_identity_layout(matrix.shape());
    let tiled = zipped_divide(&identity, &Tiler::from_shape(&tile)).expect("by mode");
    assert_eq!(
        tiled.to_string(),
        "((64,256),(?,?)):((1@0,1@1),(64@0,256@1))"
    );
}
