//! Operands and epilogues as kernels access them.

use super::*;
use crate::text::parse_layout;

fn access(what: &str, kind: Kind, layout_tv: String) -> Access {
    let what = what.to_owned();
    let layout_tv = parse_layout(&layout_tv).expect("a layout");
    Access {
        what,
        kind,
        layout_tv,
    }
}

fn vector(what: &str, bits: u32, layout_tv: String) -> Access {
    access(what, Kind::Vector { bits }, layout_tv)
}

fn ldmatrix(what: &str, transpose: bool, layout_tv: String) -> Access {
    let matrices = 4;
    access(
        what,
        Kind::Ldmatrix {
            matrices,
            transpose,
        },
        layout_tv,
    )
}

fn tile(rows: i64, columns: i64, elem_bits: u32, fast: Axis) -> Tile {
    Tile {
        rows,
        columns,
        elem_bits,
        fast,
    }
}

/// 128 threads write rows, 16 bytes a thread, up to 128 bytes of a row side by side.
fn write_rows(r: i64, c: i64, bits: i64) -> Access {
    let n = 128 / bits;
    let chunks = (c / n).min(8);
    let deep = 128 / chunks;
    let tv = format!(
        "(({chunks},{deep}),({n},{},{})):(({},1),({r},{deep},{}))",
        r / deep,
        c / n / chunks,
        n * r,
        n * chunks * r
    );
    vector("cp.async", 128, tv)
}

/// 128 threads write columns, 16 bytes a thread.
fn write_columns(r: i64, c: i64, bits: i64) -> Access {
    let n = 128 / bits;
    let chunks = (r / n).min(8);
    let deep = 128 / chunks;
    let tv = format!(
        "(({chunks},{deep}),({n},{},{})):(({n},{r}),(1,{},{}))",
        r / n / chunks,
        c / deep,
        n * chunks,
        deep * r
    );
    vector("cp.async", 128, tv)
}

/// `ldmatrix` of operand a of an MMA of 16 rows and 32 bytes of k, over the whole tile.
fn read_rows(r: i64, c: i64, bits: i64) -> Access {
    let n = 128 / bits;
    let tv = format!(
        "((16,2),({n},{},{})):((1,{}),({r},16,{}))",
        r / 16,
        c / n / 2,
        n * r,
        2 * n * r
    );
    ldmatrix("ldmatrix", false, tv)
}

/// `ldmatrix` of operand b where a thread is to have eight neighbouring columns of the result.
fn read_spread(r: i64, c: i64) -> Access {
    let tv = format!(
        "(((2,4),2,2),(8,2,{},{})):(((1,8),{},2),({r},4,32,{}))",
        r / 32,
        c / 16,
        8 * r,
        16 * r
    );
    ldmatrix("ldmatrix of b", false, tv)
}

/// `ldmatrix.trans` of an operand of which the columns lie along k.
fn read_columns(r: i64, c: i64) -> Access {
    let tv = format!(
        "((8,2,2),(8,{},{})):(({r},8,{}),(1,16,{}))",
        r / 16,
        c / 16,
        8 * r,
        16 * r
    );
    ldmatrix("ldmatrix.trans", true, tv)
}

fn free(tile: Tile, accesses: &[Access]) -> Chosen {
    let chosen = legalize(tile, accesses).expect("a layout");
    assert!(chosen.conflict_free(), "{tile:?}\n{chosen}");
    for cost in &chosen.costs {
        assert_eq!(cost.wavefronts, cost.ideal, "{chosen}");
    }
    chosen
}

#[test]
fn operands_along_k() {
    for (r, c, wanted) in [
        (128, 64, "S<3,3,3> o 0 o (128,64):(64,1)"),
        (256, 64, "S<3,3,3> o 0 o (256,64):(64,1)"),
        (64, 32, "S<2,3,3> o 0 o (64,32):(32,1)"),
        (128, 128, "S<3,3,3> o 0 o (128,(64,2)):(64,(1,8192))"),
    ] {
        let accesses = [write_rows(r, c, 16), read_rows(r, c, 16)];
        let chosen = free(tile(r, c, 16, Axis::Columns), &accesses);
        assert_eq!(chosen.layout.to_string(), wanted);
        assert_eq!((chosen.elements, chosen.align), (r * c, 16));
        assert_eq!(chosen.costs[1].wavefronts as i64, r * c / 64);
    }
}

#[test]
fn rows_that_are_read_together_become_neighbours() {
    for (r, c, wanted) in [
        (
            128,
            64,
            "S<3,3,3> o 0 o ((2,4,4,4),64):((64,512,128,2048),1)",
        ),
        // Pieces of 64 bytes need no other order, only bits further up.
        (64, 32, "S<2,3,5> o 0 o (64,32):(32,1)"),
        (
            32,
            128,
            "S<3,3,3> o 0 o ((2,4,4),(64,2)):((64,512,128),(1,2048))",
        ),
    ] {
        let accesses = [write_rows(r, c, 16), read_spread(r, c)];
        let chosen = free(tile(r, c, 16, Axis::Columns), &accesses);
        assert_eq!(chosen.layout.to_string(), wanted);
    }
}

#[test]
fn operands_along_m() {
    for (r, c, wanted) in [
        (128, 64, "S<3,3,3> o 0 o ((64,2),64):((1,4096),64)"),
        (256, 64, "S<3,3,3> o 0 o ((64,4),64):((1,4096),64)"),
        (64, 32, "S<3,3,3> o 0 o (64,32):(1,64)"),
        (128, 128, "S<3,3,3> o 0 o ((64,2),128):((1,8192),64)"),
    ] {
        let accesses = [write_columns(r, c, 16), read_columns(r, c)];
        let chosen = free(tile(r, c, 16, Axis::Rows), &accesses);
        assert_eq!(chosen.layout.to_string(), wanted);
    }
}

#[test]
fn wide_and_narrow_elements() {
    let accesses = [write_rows(128, 32, 32), read_rows(128, 32, 32)];
    let chosen = free(tile(128, 32, 32, Axis::Columns), &accesses);
    assert_eq!(chosen.layout.to_string(), "S<3,2,3> o 0 o (128,32):(32,1)");

    let accesses = [write_rows(128, 64, 8), read_rows(128, 64, 8)];
    let chosen = free(tile(128, 64, 8, Axis::Columns), &accesses);
    assert_eq!(chosen.layout.to_string(), "S<2,4,3> o 0 o (128,64):(64,1)");

    // Words of an operand along m: eight rows of four columns at once. No matrices, so rows are padded.
    let words = "((4,8),(2,2,8,4)):((128,1),(8,512,16,1024))".to_owned();
    let accesses = [write_columns(128, 32, 32), vector("ld.shared", 32, words)];
    let chosen = free(tile(128, 32, 32, Axis::Rows), &accesses);
    assert_eq!(chosen.layout.to_string(), "(128,32):(1,136)");
}

#[test]
fn an_epilogue() {
    let written = "((4,8),(2,2,8,16)):((256,1),(128,8,16,1024))".to_owned();
    let read = "((16,8),(8,16)):((1024,1),(128,8))".to_owned();
    let accesses = [vector("sums", 32, written), vector("rows", 128, read)];
    let chosen = free(tile(128, 128, 16, Axis::Columns), &accesses);
    assert_eq!(chosen.layout.to_string(), "(128,128):(136,1)");
}

#[test]
fn padding_where_no_swizzle_serves() {
    // Rows of 80 bytes are no pieces of 32.
    let wide = "((5,16),(8,4)):((512,1),(64,16))".to_owned();
    let rows = "((8,4),(8,2,5)):((1,8),(64,32,512))".to_owned();
    let accesses = [vector("st", 128, wide), ldmatrix("ldmatrix", false, rows)];
    let chosen = legalize(tile(64, 40, 16, Axis::Columns), &accesses).expect("a layout");
    assert!(chosen.layout.as_plain().is_some(), "{chosen}");
    assert_eq!(chosen.costs[1].ways, 1, "{chosen}");

    // Words down a column of a square of 33.
    let square = tile(33, 33, 32, Axis::Columns);
    let down = vector("ld", 32, "(32,33):(1,33)".to_owned());
    assert_eq!(free(square, &[down]).layout.to_string(), "(33,33):(33,1)");
    let even = tile(32, 36, 32, Axis::Columns);
    let down = vector("ld", 32, "(32,36):(1,32)".to_owned());
    assert_eq!(free(even, &[down]).layout.to_string(), "(32,36):(37,1)");
}

#[test]
fn a_swizzle_goes_before_much_padding() {
    // Four lanes read half of a row of 128 bytes, eight rows at once.
    let halves = vector(
        "ld",
        128,
        "((4,8,8),(16,2)):((1024,1,8),(64,4096))".to_owned(),
    );
    let rows = vector("st", 128, "((8,64),16):((1024,1),64)".to_owned());
    let chosen = free(tile(64, 128, 8, Axis::Columns), &[rows, halves]);
    assert_eq!(chosen.layout.to_string(), "S<1,6,1> o 0 o (64,128):(128,1)");
}

#[test]
fn where_all_conflict_the_fewest_wavefronts_count() {
    // 16 bytes written along rows, 2 read down columns: 32 rows start in 8 places.
    let down = vector("ld", 16, "(128,(2,64)):(1,(128,256))".to_owned());
    let accesses = [write_rows(256, 64, 16), down];
    let tile = tile(256, 64, 16, Axis::Columns);
    let chosen = legalize(tile, &accesses).expect("a layout");
    let ways: Vec<usize> = chosen.costs.iter().map(|cost| cost.ways).collect();
    assert_eq!(ways, [1, 4], "{chosen}");
    // A pinned swizzle as good as that is accepted: there is none better to name.
    let pinned = Swizzle::new(3, 3, 3).expect("a swizzle");
    let found = verify_pinned(tile, pinned, &accesses).expect("none is better");
    assert_eq!(found.wavefronts(), chosen.wavefronts());
}

#[test]
fn without_conflicts_the_compact_layout_stays() {
    let rows = vector("st", 32, "(32,32):(32,1)".to_owned());
    let chosen = free(tile(32, 32, 32, Axis::Columns), &[rows]);
    assert_eq!(chosen.layout.to_string(), "(32,32):(32,1)");
    let none = free(tile(3, 5, 8, Axis::Rows), &[]);
    assert_eq!(none.to_string(), "(3,5):(1,3)");
}

#[test]
fn vectors_across_the_fast_axis_take_the_other() {
    let tile = tile(64, 32, 16, Axis::Rows);
    let chosen = free(tile, &[write_rows(64, 32, 16), read_rows(64, 32, 16)]);
    assert_eq!(chosen.layout.to_string(), "S<2,3,3> o 0 o (64,32):(32,1)");
    // Vectors along both: there is no such layout.
    let both = [write_rows(64, 32, 16), write_columns(64, 32, 16)];
    let refused = legalize(tile, &both).expect_err("no layout");
    assert_eq!(
        refused.to_string(),
        "no layout of the tile is legal for all accesses; cp.async: expected the 16 bytes of a thread in one piece; those from (0,0) on are not, as (0,1) lies elsewhere"
    );
}

#[test]
fn every_stage_lies_as_the_first() {
    let of = |r, c| {
        let accesses = [write_rows(r, c, 16), read_rows(r, c, 16)];
        free(tile(r, c, 16, Axis::Columns), &accesses)
    };
    let staged = |chosen: &Chosen, stages| chosen.staged(stages, 16).expect("a layout").to_string();
    assert_eq!(
        staged(&of(128, 64), 3),
        "S<3,3,3> o 0 o (128,64,3):(64,1,8192)"
    );
    // A tile that is no whole period of its swizzle.
    let layout = crate::text::parse_any_layout("S<3,3,3> o 0 o (4,64):(64,1)").expect("a layout");
    let chosen = verify(tile(4, 64, 16, Axis::Columns), &layout, &[]).expect("legal");
    assert_eq!(staged(&chosen, 2), "S<3,3,3> o 0 o (4,64,2):(64,1,512)");
    let padded = crate::text::parse_any_layout("(4,60):(72,1)").expect("a layout");
    let chosen = verify(tile(4, 60, 16, Axis::Columns), &padded, &[]).expect("legal");
    assert_eq!((chosen.elements, chosen.stage(16)), (276, 320));
    assert!(chosen.staged(i64::MAX, 16).is_err());
}

#[test]
fn a_pinned_swizzle_is_verified() {
    let swizzle = |b, m, s| Swizzle::new(b, m, s).expect("a swizzle");
    let tile = tile(128, 64, 16, Axis::Columns);
    let accesses = [write_rows(128, 64, 16), read_rows(128, 64, 16)];
    let chosen = verify_pinned(tile, swizzle(3, 3, 3), &accesses).expect("no conflict");
    assert_eq!(
        chosen.to_string(),
        "S<3,3,3> o 0 o (128,64):(64,1)
cp.async: 128 wavefronts, 128 at best
ldmatrix: 128 wavefronts, 128 at best"
    );
    let refused = verify_pinned(tile, swizzle(2, 3, 3), &accesses).expect_err("a conflict");
    assert_eq!(
        refused.to_string(),
        "S<2,3,3> o 0 o (128,64):(64,1): ldmatrix: 2-way bank conflict: 256 wavefronts, 128 at best; S<3,3,3> o 0 o (128,64):(64,1) has no conflicts"
    );
    let refused = verify_pinned(tile, swizzle(3, 2, 3), &accesses).expect_err("pieces apart");
    assert_eq!(
        refused.to_string(),
        "S<3,2,3> o 0 o (128,64):(64,1): cp.async: expected the 16 bytes of a thread in one piece; those from (0,32) on are not, as (0,36) lies elsewhere; S<3,3,3> o 0 o (128,64):(64,1) has no conflicts"
    );
    // The rows of b are moved for a pinned swizzle too.
    let accesses = [write_rows(128, 64, 16), read_spread(128, 64)];
    let chosen = verify_pinned(tile, swizzle(3, 3, 3), &accesses).expect("no conflict");
    assert!(chosen.conflict_free());
}

#[test]
fn a_layout_is_verified() {
    let layout = |text| crate::text::parse_any_layout(text).expect("a layout");
    let tile = tile(8, 64, 16, Axis::Columns);
    let rows = "((8,4),(8,2)):((1,64),(8,256))".to_owned();
    let accesses = [ldmatrix("ldmatrix", false, rows)];
    let verify = |text| verify(tile, &layout(text), &accesses);
    let padded = verify("(8,64):(72,1)").expect("no conflict");
    assert_eq!(padded.elements, 7 * 72 + 64);
    let message = |text| verify(text).expect_err("refused").to_string();
    assert_eq!(
        message("(8,64):(64,1)"),
        "(8,64):(64,1): ldmatrix: 8-way bank conflict: 64 wavefronts, 8 at best; S<3,3,3> o 0 o (8,64):(64,1) has no conflicts"
    );
    assert_eq!(
        message("(8,64):(68,1)"),
        "(8,64):(68,1): ldmatrix: expected the 16 bytes of a thread at a multiple of 16; those from (1,0) on lie at byte 136; S<3,3,3> o 0 o (8,64):(64,1) has no conflicts"
    );
    assert_eq!(
        message("(8,64):(8,1)"),
        "(8,64):(8,1) puts the elements (1,0) and (0,8) in one place; expected a place for each"
    );
    for wrong in ["(64,8):(8,1)", "512:1", "(8,64):(64,-1)", "(8,?):(?,1)"] {
        let error = verify(wrong).expect_err("no layout of the tile");
        assert!(
            matches!(error, SmemError::Layout { .. }),
            "{wrong}: {error}"
        );
    }
}

#[test]
fn what_is_no_access_is_refused() {
    let tile16 = tile(64, 64, 16, Axis::Columns);
    let why = |tile, kind, tv: &str| {
        let access = access("it", kind, tv.to_owned());
        match legalize(tile, &[access]) {
            Err(SmemError::Access { why, .. }) => why,
            other => panic!("{other:?}"),
        }
    };
    let bits = |bits| Kind::Vector { bits };
    let matrices = |matrices, transpose| Kind::Ldmatrix {
        matrices,
        transpose,
    };
    let tv = "(32,8):(1,64)";
    assert_eq!(
        why(tile16, bits(48), tv).to_string(),
        "a vector of 48 bits; expected a power of two from 16 to 128"
    );
    assert!(matches!(why(tile16, bits(8), tv), BadAccess::Vector { .. }));
    assert!(matches!(
        why(tile16, matrices(3, false), tv),
        BadAccess::Matrices { matrices: 3 }
    ));
    let wide = tile(64, 64, 32, Axis::Columns);
    assert!(matches!(
        why(wide, matrices(4, true), tv),
        BadAccess::Element {
            transpose: true,
            ..
        }
    ));
    assert_eq!(
        why(tile(64, 64, 64, Axis::Columns), matrices(4, false), tv).to_string(),
        "ldmatrix of elements of 64 bits; expected 8, 16 or 32 bits"
    );
    // Pairs of bytes are transposed as one.
    let bytes = tile(64, 64, 8, Axis::Rows);
    assert!(legalize(bytes, &[ldmatrix("it", true, "(32,16):(64,1)".to_owned())]).is_ok());
    let three = why(tile16, bits(64), "(32,3):(1,64)");
    assert!(matches!(
        three,
        BadAccess::Values {
            width: 4,
            values: 3
        }
    ));
    for not in [
        "32:1",
        "(?,8):(1,64)",
        "(32,8):(1@0,1@1)",
        "(65536,65536):(0,0)",
    ] {
        let found = why(tile16, bits(16), not);
        assert!(matches!(found, BadAccess::Layout { .. }), "{not}: {found}");
    }
    for outside in ["(32,8):(1,4096)", "(32,8):(-1,64)"] {
        let found = why(tile16, bits(16), outside);
        assert!(matches!(found, BadAccess::Outside { .. }), "{found}");
    }
    for (rows, columns, bits) in [
        (0, 8, 16),
        (8, -1, 16),
        (1 << 40, 1 << 40, 16),
        (8, 8, 24),
        (8, 8, 0),
    ] {
        let tile = tile(rows, columns, bits, Axis::Rows);
        assert_eq!(legalize(tile, &[]), Err(SmemError::Tile(tile)));
    }
}
