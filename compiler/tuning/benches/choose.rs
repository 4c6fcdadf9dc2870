//! What it costs a launch to choose its configuration.

use criterion::{Criterion, criterion_group, criterion_main};
use cutec_tuning::{KernelPlan, SizePlan};
use std::collections::BTreeMap;
use std::hint::black_box;

fn plan(sizes: i64) -> KernelPlan {
    let size = |index: i64| SizePlan {
        extents: vec![16 << (index % 10), 64 << (index / 10), 1 << (index % 7)],
        chosen: BTreeMap::new(),
        speedup: 1.0,
        unit: "seconds".to_owned(),
        measured: Vec::new(),
        dropped: BTreeMap::new(),
    };
    KernelPlan {
        kernel: "gemm".to_owned(),
        source: String::new(),
        fixed: BTreeMap::new(),
        symbols: ["m", "n", "k"].map(str::to_owned).to_vec(),
        configurations: 1,
        sizes: (0..sizes).map(size).collect(),
    }
}

fn choose(criterion: &mut Criterion) {
    for sizes in [4, 16, 64] {
        let chooser = plan(sizes).chooser();
        criterion.bench_function(&format!("choose among {sizes} sizes"), |bencher| {
            bencher.iter(|| chooser.choose(black_box(&[1000, 1016, 1032])));
        });
    }
}

criterion_group!(benches, choose);
criterion_main!(benches);
