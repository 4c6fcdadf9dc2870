//! Run-time values that NVIDIA's algebra refuses, leaves as they are, or gets wrong: each case of its
//! users gives the exact layout, or says what it lacks.

use super::{size, values};
use cutec_layout::algebra::{
    coalesce, coalesce_run_time, coalesce_run_time_profile, composition, right_inverse,
    right_inverse_is_largest, zipped_divide,
};
use cutec_layout::text::{parse_layout, parse_tiler};
use cutec_layout::{Int, Layout, LayoutError, SymInfo, Tiler, Tree, assuming};

fn layout(text: &str) -> Layout {
    parse_layout(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The matrix of `m` rows of `n` elements.
fn row_major() -> Layout {
    let [m, n] = [0, 1].map(Int::unknown);
    let tuple = |a: &Int, b: &Int| Tree::Node(vec![Tree::Leaf(a.clone()), Tree::Leaf(b.clone())]);
    Layout::new(tuple(&m, &n), tuple(&n, &Int::ONE)).expect("congruent")
}

/// NVIDIA/cutlass issue 3469.
#[test]
fn run_time_modes_coalesce() {
    let merged = |text: &str| coalesce_run_time(&layout(text)).to_string();
    assert_eq!(merged("(192,?):(1,192)"), "?{div=192}:1");
    assert_eq!(merged("(4,?,5):(1,4,?)"), "(?{div=4},5):(1,?)");
    assert_eq!(merged("(?,4):(1,4)"), "(?,4):(1,4)");
    assert_eq!(
        coalesce(&layout("(192,?):(1,192)")).to_string(),
        "(192,?):(1,192)"
    );
    // The modes of a matrix go on into each other if its strides say so.
    let column_major = Layout::col_major(row_major().shape().clone());
    let one = coalesce_run_time(&column_major);
    assert_eq!(one.to_string(), "?:1");
    assert_eq!(one.size(), column_major.size());
    assert_eq!(coalesce_run_time(&row_major()), row_major());
    let both = Layout::concat([column_major, layout("(2,4):(1,2)")]);
    let profile = Tree::Node(vec![Tree::Leaf(()); 2]);
    let by_mode = coalesce_run_time_profile(&both, &profile).expect("two modes");
    assert_eq!(by_mode.to_string(), "(?,8):(1,1)");
    // The composition that the issue wants.
    let tile = composition(&layout("(192,?):(1,192)"), &layout("(256,192):(1,256)"));
    assert_eq!(tile.expect("one mode").to_string(), "(256,192):(1,256)");
}

/// NVIDIA/cutlass issue 3470.
#[test]
fn run_time_right_sides_compose() {
    let compose = |a: &str, b: &str| composition(&layout(a), &layout(b));
    let by_place = compose("(4096,8192):(1,4096)", "(32,?,8,128):(1@0,8@1,1@1,32@0)");
    assert_eq!(
        by_place.expect("each in its mode").to_string(),
        "(32,?,8,128):(1,32768,4096,32)"
    );
    let exact = compose("(4,8):(8,1)", "?{div=4}:1").expect("4 divides it");
    assert_eq!(exact.to_string(), "(4,?):(8,1)");
    let open = compose("(4,8):(8,1)", "?:1").expect_err("4 may not divide it");
    assert_eq!(
        open.to_string(),
        "composition: cannot prove v0 <= 4 or v0 % 4 == 0; a v0 that 4 divides (`?{div=4}`) would prove it"
    );
}

/// NVIDIA/cutlass issue 3471.
#[test]
fn run_time_layouts_have_right_inverses() {
    let inverse = right_inverse(&layout("(16,?):(1,16)"));
    assert_eq!(inverse.to_string(), "?{div=16}:1");
    assert!(right_inverse_is_largest(&layout("(16,?):(1,16)")));
    // Where the modes end, a stride of 4 may go on.
    assert_eq!(right_inverse(&layout("(?,3):(1,4)")).to_string(), "?:1");
    assert!(!right_inverse_is_largest(&layout("(?,3):(1,4)")));
    // Rows follow each other.
    let inverse = right_inverse(&row_major());
    assert!(right_inverse_is_largest(&row_major()));
    for (m, n) in [(2, 3), (5, 7), (4, 1)] {
        let env = |id: u32| if id == 0 { m } else { n };
        let (matrix, inverse) = (row_major().eval(&env), inverse.eval(&env));
        assert_eq!(size(&inverse), m * n);
        let there: Vec<i64> = values(&inverse);
        assert_eq!(
            there
                .iter()
                .map(|at| super::at(&matrix, *at))
                .collect::<Vec<_>>(),
            (0..m * n).collect::<Vec<_>>()
        );
    }
}

/// NVIDIA/cutlass issue 3513: whatever a run-time tile is, the parts have the elements of the whole, or
/// the division is refused.
#[test]
fn run_time_tiles_divide_evenly_or_not_at_all() {
    let whole = layout("(12,(4,8)):(7,(1,30))");
    let by = |tile: &str| zipped_divide(&whole, &parse_tiler(tile).expect("a tiler"));
    let uneven = by("128:1").expect_err("12 does not divide it");
    assert!(
        matches!(uneven, LayoutError::ShapeDivisibility { .. }),
        "{uneven}"
    );
    assert!(matches!(by("?:1"), Err(LayoutError::Undecided { .. })));
    let exact = by("?{div=48}:1").expect("12 and 4 divide it");
    assert_eq!(exact.to_string(), "((12,4,?),?):((7,1,30),?{div=30})");
    // Under assumptions the conditions tell the good tiles from the others.
    let tile = Int::var(0, SymInfo::default());
    let tiler = Tiler::Layout(Layout::scalar(tile, 1));
    let (divided, conditions) = assuming(|| zipped_divide(&whole, &tiler));
    let divided = divided.expect("under assumptions");
    let mut good = Vec::new();
    for tile in 1..=384 {
        let env = |_: u32| tile;
        if !conditions.iter().all(|condition| condition.eval(&env)) {
            continue;
        }
        let found = divided.eval(&env);
        let wanted = zipped_divide(&whole, &Tiler::from(tile)).expect("the conditions hold");
        assert_eq!(values(&found), values(&wanted), "{tile}: {found}");
        if 384 % tile == 0 {
            assert_eq!(size(&found), 384, "{tile}: {found}");
            good.push(tile);
        }
    }
    assert_eq!(good, [1, 2, 3, 4, 6, 12, 24, 48, 96, 192, 384]);
}
