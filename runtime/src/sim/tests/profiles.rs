//! Counts of whole kernels against counts by hand.

use super::{Memory, Module, Options, kernel};
use crate::sim::Profile;
use crate::sim::profile::bound::Bounds;
use crate::sim::profile::machine::MACHINES;
use crate::sim::profile::{Class, Instruction};

fn profile(body: &str, grid: u32, threads: u32, threads_of_host: usize) -> Profile {
    let mut memory = Memory::new();
    let data = memory.alloc(1 << 20, "data").unwrap();
    memory.write(data, &vec![0; 1 << 20]).unwrap();
    let options = Options {
        threads: threads_of_host,
        ..Options::default()
    };
    let module = Module::parse(&kernel(body)).unwrap();
    let params = data.to_le_bytes();
    let (grid, block) = ([grid, 1, 1], [threads, 1, 1]);
    module
        .profile("k", grid, block, 0, &params, &mut memory, &options)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn instruction<'p>(profile: &'p Profile, start: &str) -> &'p Instruction {
    let found = profile
        .instructions
        .iter()
        .find(|i| i.text.starts_with(start));
    found.unwrap_or_else(|| panic!("no {start}"))
}

/// Each thread reads a word of a row, stores it to a column of shared memory, and reads a row of it.
const TRANSPOSE: &str = ".shared .align 16 .b8 s[4096];\nmov.b32 %r4, s;\nshl.b32 %r5, %r90, 2;\nshl.b32 %r6, %r90, 7;\n\
    add.u32 %r5, %r5, %r4;\nadd.u32 %r6, %r6, %r4;\nmov.u32 %r7, %ctaid.x;\nmad.lo.u32 %r7, %r7, 32, %r90;\n\
    mul.wide.u32 %rd5, %r7, STRIDE;\nadd.u64 %rd5, %rd5, %rd90;\nld.global.b32 %r8, [%rd5];\n\
    st.shared.b32 [%r6], %r8;\nbar.sync 0;\n@%p0 ld.shared.b32 %r9, [%r6];\nfma.rn.f32 %r9, %r8, %r8, %r8;";

#[test]
fn each_instruction_is_counted() {
    let profile = profile(&TRANSPOSE.replace("STRIDE", "4"), 3, 32, 0);
    let load = instruction(&profile, "ld.global");
    assert_eq!((load.counts.executed, load.counts.threads), (3, 96));
    assert_eq!((load.counts.sectors, load.counts.sectors_ideal), (12, 12));
    assert_eq!((load.counts.global_bytes, load.class), (384, Class::Global));
    assert_eq!(load.uncoalesced, None);
    let store = instruction(&profile, "st.shared");
    assert_eq!(
        (store.counts.wavefronts, store.counts.wavefronts_ideal),
        (96, 3)
    );
    let reason = store.conflict.as_deref().unwrap();
    assert!(
        reason.starts_with("32 passes instead of 1: lanes 0, 1, 2, 3"),
        "{reason}"
    );
    let unguarded = instruction(&profile, "@%p0");
    assert_eq!(
        (unguarded.counts.executed, unguarded.counts.threads),
        (3, 0)
    );
    assert_eq!(profile.flops(), 3 * 64);
    assert_eq!(profile.distinct_read_bytes, 384);
    assert_eq!(profile.distinct_written_bytes, 0);
    assert_eq!(profile.banks[0], 96);
    assert_eq!(profile.banks[1], 0);
    assert_eq!(profile.stats.shared_wavefronts, 96);
    assert_eq!(profile.total().executed, profile.stats.warp_instructions);
}

#[test]
fn a_strided_access_says_why_it_is_slow() {
    let profile = profile(&TRANSPOSE.replace("STRIDE", "512"), 3, 32, 0);
    let load = instruction(&profile, "ld.global");
    assert_eq!((load.counts.sectors, load.counts.sectors_ideal), (96, 12));
    let reason = load.uncoalesced.as_deref().unwrap();
    assert!(
        reason.contains("neighbouring lanes are 512 bytes apart"),
        "{reason}"
    );
    assert_eq!(profile.distinct_read_bytes, 96 * 32);
}

#[test]
fn blocks_in_parallel_count_the_same() {
    let body = TRANSPOSE.replace("STRIDE", "8");
    let (one, many) = (profile(&body, 64, 32, 1), profile(&body, 64, 32, 4));
    let counts = |profile: &Profile| -> Vec<_> {
        profile
            .instructions
            .iter()
            .map(|i| i.counts.clone())
            .collect()
    };
    assert_eq!(counts(&one), counts(&many));
    assert_eq!(one.banks, many.banks);
    assert_eq!(one.distinct_read_bytes, many.distinct_read_bytes);
}

#[test]
fn divergence_is_counted() {
    let body = "setp.lt.u32 %p1, %r90, 8;\n@%p1 bra low;\nadd.u32 %r1, %r1, 1;\nbra end;\nlow:\nadd.u32 %r2, %r1, 2;\nend:";
    let profile = profile(body, 1, 32, 0);
    let add = instruction(&profile, "add.u32 %r1");
    assert_eq!((add.counts.divergent, add.counts.threads), (1, 24));
    assert_eq!(instruction(&profile, "setp").counts.divergent, 0);
}

#[test]
fn a_kernel_of_loads_is_bound_by_memory() {
    let profile = profile(&TRANSPOSE.replace("STRIDE", "512"), 64, 32, 0);
    for machine in &MACHINES {
        let bounds = Bounds::of(&profile, machine);
        assert_eq!(bounds.units.len(), 6);
        assert!(
            bounds
                .units
                .windows(2)
                .all(|pair| pair[0].seconds >= pair[1].seconds)
        );
        assert_eq!(bounds.tensor_utilisation, 0.0);
        assert!(bounds.attainable < bounds.peak && bounds.intensity < 1.0);
    }
}

#[test]
fn progress_is_told_block_by_block() {
    use std::sync::{Arc, Mutex};
    for threads in [1, 3] {
        let told = Arc::new(Mutex::new(Vec::new()));
        let listener = Arc::clone(&told);
        let options = Options {
            threads,
            progress: Some(crate::sim::Progress::new(move |done, blocks| {
                listener.lock().unwrap().push((done, blocks));
            })),
            ..Options::default()
        };
        let module = Module::parse(&kernel("")).unwrap();
        let (grid, block) = ([20, 1, 1], [32, 1, 1]);
        module
            .launch("k", grid, block, 0, &[0; 8], &mut Memory::new(), &options)
            .unwrap();
        let mut told = told.lock().unwrap().clone();
        told.sort_unstable();
        let expected: Vec<(u64, u64)> = (1..=20).map(|done| (done, 20)).collect();
        assert_eq!(told, expected);
    }
}
