//! How long the operations of the algebra take on layouts as kernels have them.
//!
//! `cargo bench -p cutec-layout`; `docs/layout.md` has the figures.

use criterion::{Criterion, criterion_group, criterion_main};
use cutec_layout::algebra::{
    coalesce, complement, composition, composition_any, crd2idx, right_inverse, zipped_divide,
};
use cutec_layout::smem::{Access, Axis, Kind, Tile, legalize};
use cutec_layout::text::{parse_any_layout, parse_int_tuple, parse_layout, parse_tiler};
use std::hint::black_box;

/// A tile of 128 by 64 in shared memory, by stages, as the operand of an MMA sees it.
const RANK_4: &str = "((8,16),(8,8),2,3):((64,512),(1,8),8192,16384)";
/// A layout without nested modes.
const FLAT: &str = "(8,16,8,4):(1,8,256,2048)";
/// The first one with run-time extents.
const RUN_TIME: &str = "(?{div=128},?{div=64},2,3):(?{div=64},1,8192,16384)";

fn operations(c: &mut Criterion) {
    let layout = |text: &str| parse_layout(text).expect("a layout");
    let rank_4 = layout(RANK_4);
    let right = layout("((4,2),(8,2),2,3):((1,16),(128,8),8192,16384)");
    c.bench_function("composition of rank 4", |b| {
        b.iter(|| composition(black_box(&rank_4), black_box(&right)))
    });
    let tiler = parse_tiler("[32:1;16:1;2:1;1:1]").expect("a tile");
    c.bench_function("zipped_divide of rank 4", |b| {
        b.iter(|| zipped_divide(black_box(&rank_4), black_box(&tiler)))
    });
    let (flat, flat_right) = (layout(FLAT), layout("(4,8,2,4):(2,16,8,1024)"));
    c.bench_function("composition of flat layouts", |b| {
        b.iter(|| composition(black_box(&flat), black_box(&flat_right)))
    });
    let flat_tiler = parse_tiler("[4:1;4:1;2:1;2:1]").expect("a tile");
    c.bench_function("zipped_divide of a flat layout", |b| {
        b.iter(|| zipped_divide(black_box(&flat), black_box(&flat_tiler)))
    });
    let run_time = layout(RUN_TIME);
    c.bench_function("zipped_divide of rank 4, run-time", |b| {
        b.iter(|| zipped_divide(black_box(&run_time), black_box(&tiler)))
    });
    let sparse = layout("((4,2),(8,2)):((1,16),(128,8))");
    let size = parse_int_tuple("16384").expect("an integer");
    c.bench_function("complement", |b| {
        b.iter(|| complement(black_box(&sparse), black_box(&size)))
    });
    c.bench_function("right_inverse of rank 4", |b| {
        b.iter(|| right_inverse(black_box(&rank_4)))
    });
    c.bench_function("coalesce of rank 4", |b| {
        b.iter(|| coalesce(black_box(&rank_4)))
    });
    let coord = parse_int_tuple("(77,41,1,2)").expect("a coordinate");
    c.bench_function("crd2idx of rank 4", |b| {
        b.iter(|| crd2idx(black_box(&coord), black_box(&rank_4)))
    });
    let swizzled = parse_any_layout(&format!("S<3,3,3> o 0 o {RANK_4}")).expect("a layout");
    c.bench_function("composition behind a swizzle", |b| {
        b.iter(|| composition_any(black_box(&swizzled), black_box(&tiler)))
    });
}

/// A tile of 256 by 64 of 16 bits, written along rows 16 bytes at a time.
fn shared_memory(c: &mut Criterion) {
    let tile = Tile {
        rows: 256,
        columns: 64,
        elem_bits: 16,
        fast: Axis::Columns,
    };
    let access = |kind, layout_tv| Access {
        what: String::new(),
        kind,
        layout_tv: parse_layout(layout_tv).expect("a layout"),
    };
    let vector = |bits, layout_tv| access(Kind::Vector { bits }, layout_tv);
    let matrices = Kind::Ldmatrix {
        matrices: 4,
        transpose: false,
    };
    let written = vector(128, "((8,16),(8,16)):((2048,1),(256,16))");
    let read = access(matrices, "((16,2),(8,16,4)):((1,2048),(256,16,4096))");
    let operand = [written.clone(), read];
    c.bench_function("legalize an operand", |b| {
        b.iter(|| legalize(black_box(tile), black_box(&operand)))
    });
    let down = vector(16, "(128,(2,64)):(1,(128,256))");
    let transposed = [written, down];
    c.bench_function("legalize where all layouts conflict", |b| {
        b.iter(|| legalize(black_box(tile), black_box(&transposed)))
    });
}

criterion_group!(benches, operations, shared_memory);
criterion_main!(benches);
