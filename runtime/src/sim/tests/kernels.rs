//! Whole kernels as LLVM 22 emits them, from `opt -O3` and `llc -mcpu=sm_80`.

use half::{bf16, f16};

use crate::sim::{Memory, Module, Options};

const PLAIN: &str = include_str!("ptx/plain_kernels.ptx");
const GEMM: &str = include_str!("ptx/gemm_bf16.ptx");

/// Small integers, so that every sum is exact in any order.
fn small(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((state >> 60) as i32 - 8) as f32
    };
    (0..count).map(|_| next()).collect()
}

fn upload<const N: usize>(
    memory: &mut Memory,
    name: &str,
    values: &[f32],
    bytes: impl Fn(f32) -> [u8; N],
) -> u64 {
    let data: Vec<u8> = values.iter().flat_map(|&v| bytes(v)).collect();
    let address = memory.alloc(data.len() as u64, name).unwrap();
    memory.write(address, &data).unwrap();
    address
}

fn params(pointers: &[u64], integers: &[u32]) -> Vec<u8> {
    let pointers = pointers.iter().flat_map(|p| p.to_le_bytes());
    pointers
        .chain(integers.iter().flat_map(|i| i.to_le_bytes()))
        .collect()
}

fn download_f32(memory: &Memory, address: u64, count: usize) -> Vec<f32> {
    assert_eq!(
        memory.first_unwritten(address, 4 * count as u64).unwrap(),
        None
    );
    let bytes = memory.read(address, 4 * count as u64).unwrap();
    bytes
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
        .collect()
}

fn product(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Vec<f32> {
    let element = |i: usize| (0..k).map(|l| a[i / n * k + l] * b[l * n + i % n]).sum();
    (0..m * n).map(element).collect()
}

#[test]
fn elementwise_relu() {
    let module = Module::parse(PLAIN).unwrap();
    let mut memory = Memory::new();
    let values = small(8 * 1000, 1);
    let x = upload(&mut memory, "x", &values, |v| {
        f16::from_f32(v).to_le_bytes()
    });
    let y = memory.alloc(16 * 1000, "y").unwrap();
    let params = params(&[x, y], &[1000]);
    let stats = module
        .launch(
            "relu",
            [8, 1, 1],
            [128, 1, 1],
            0,
            &params,
            &mut memory,
            &Options::default(),
        )
        .unwrap();
    let expected: Vec<u8> = values
        .iter()
        .flat_map(|&v| f16::from_f32(v.max(0.0)).to_le_bytes())
        .collect();
    let found = memory.read(y, 16 * 1000).unwrap();
    // -0 and +0 are both right for fmax.
    assert_eq!(found.iter().zip(&expected).position(|(a, b)| a != b), None);
    assert_eq!(stats.global_read_bytes, 16 * 1000);
    assert_eq!(stats.global_written_bytes, 16 * 1000);
}

#[test]
fn naive_matmul_with_ragged_edges() {
    let [m, n, k] = [37, 29, 21];
    let module = Module::parse(PLAIN).unwrap();
    let mut memory = Memory::new();
    let (a, b) = (small(m * k, 2), small(k * n, 3));
    let pa = upload(&mut memory, "a", &a, |v| f16::from_f32(v).to_le_bytes());
    let pb = upload(&mut memory, "b", &b, |v| f16::from_f32(v).to_le_bytes());
    let pc = memory.alloc(4 * (m * n) as u64, "c").unwrap();
    let params = params(&[pa, pb, pc], &[m as u32, n as u32, k as u32]);
    module
        .launch(
            "naive",
            [2, 3, 1],
            [16, 16, 1],
            0,
            &params,
            &mut memory,
            &Options::default(),
        )
        .unwrap();
    assert_eq!(download_f32(&memory, pc, m * n), product(&a, &b, [m, n, k]));
}

#[test]
fn tiled_matmul_through_shared_memory() {
    let [m, n, k] = [32, 48, 64];
    let module = Module::parse(PLAIN).unwrap();
    let mut memory = Memory::new();
    let (a, b) = (small(m * k, 4), small(k * n, 5));
    let pa = upload(&mut memory, "a", &a, f32::to_le_bytes);
    let pb = upload(&mut memory, "b", &b, f32::to_le_bytes);
    let pc = memory.alloc(4 * (m * n) as u64, "c").unwrap();
    let params = params(&[pa, pb, pc], &[n as u32, k as u32]);
    let options = Options {
        counters: true,
        ..Options::default()
    };
    let stats = module
        .launch(
            "tiled",
            [3, 2, 1],
            [16, 16, 1],
            0,
            &params,
            &mut memory,
            &options,
        )
        .unwrap();
    assert_eq!(download_f32(&memory, pc, m * n), product(&a, &b, [m, n, k]));
    assert!(
        stats.shared_wavefronts >= stats.shared_wavefronts_ideal
            && stats.shared_wavefronts_ideal > 0
    );
}

fn gemm(options: &Options, shared: u32) -> Result<Vec<f32>, crate::sim::SimError> {
    let [m, n, k] = [128, 192, 96];
    let module = Module::parse(GEMM)?;
    let mut memory = Memory::new();
    let (a, b) = (small(m * k, 6), small(k * n, 7));
    let pa = upload(&mut memory, "a", &a, |v| bf16::from_f32(v).to_le_bytes());
    let pb = upload(&mut memory, "b", &b, |v| bf16::from_f32(v).to_le_bytes());
    let pc = memory.alloc(4 * (m * n) as u64, "c")?;
    let params = params(&[pa, pb, pc], &[n as u32, k as u32]);
    let stats = module.launch(
        "gemm",
        [3, 2, 1],
        [128, 1, 1],
        shared,
        &params,
        &mut memory,
        options,
    )?;
    assert_eq!(stats.mma_instructions as usize, m * n * k / (16 * 8 * 16));
    assert_eq!(stats.mma_work as usize, m * n * k);
    if options.counters {
        // The kernel swizzles its tiles.
        assert_eq!(stats.shared_wavefronts, stats.shared_wavefronts_ideal);
    }
    assert_eq!(download_f32(&memory, pc, m * n), product(&a, &b, [m, n, k]));
    Ok(download_f32(&memory, pc, m * n))
}

#[test]
fn tensor_core_gemm() {
    let parallel = gemm(
        &Options {
            counters: true,
            ..Options::default()
        },
        16384,
    )
    .unwrap();
    let serial = gemm(
        &Options {
            threads: 1,
            checks: false,
            ..Options::default()
        },
        16384,
    )
    .unwrap();
    assert_eq!(parallel, serial);
    for seed in 1..4 {
        let other_order = Options {
            seed,
            ..Options::default()
        };
        assert_eq!(gemm(&other_order, 16384).unwrap(), parallel);
    }
}

#[test]
fn tensor_core_gemm_with_too_little_shared_memory() {
    let error = gemm(&Options::default(), 16383).unwrap_err().to_string();
    assert!(
        error.contains("out-of-bounds write of 16 bytes at shared address"),
        "{error}"
    );
    assert!(
        error.contains("of the 16383 bytes of shared memory"),
        "{error}"
    );
}

#[test]
fn tensor_core_gemm_that_does_not_wait() {
    let text = GEMM.replace("cp.async.wait_group \t1", "cp.async.wait_group \t2");
    assert_ne!(text, GEMM);
    let module = Module::parse(&text).unwrap();
    let mut memory = Memory::new();
    let zeros = vec![0; 64 * 64 * 2];
    let a = memory.alloc(zeros.len() as u64, "a").unwrap();
    memory.write(a, &zeros).unwrap();
    let c = memory.alloc(64 * 64 * 4, "c").unwrap();
    let params = params(&[a, a, c], &[64, 64]);
    let error = module
        .launch(
            "gemm",
            [1, 1, 1],
            [128, 1, 1],
            16384,
            &params,
            &mut memory,
            &Options::default(),
        )
        .unwrap_err();
    assert!(
        error.to_string().contains("read before cp.async wait"),
        "{error}"
    );
    assert!(error.to_string().contains("ldmatrix"), "{error}");
}

#[test]
fn every_form_that_llvm_emits_is_known() {
    for text in [
        include_str!("ptx/llvm_forms.ptx"),
        include_str!("ptx/llvm_bulk_forms.ptx"),
    ] {
        if let Err(error) = Module::parse(text) {
            panic!("{error}");
        }
    }
}
