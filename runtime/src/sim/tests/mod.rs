//! Tests of the simulator as a whole: PTX in, memory or an error out.
//!
//! - [`arithmetic`], [`floats`], [`conversions`]: each instruction on edge cases, against Rust.
//! - [`fragments`]: `ldmatrix` and `mma` against matrices, by the ISA's tables.
//! - [`flow`]: divergence, barriers, deadlocks. [`divergence`]: random jumps.
//! - [`assignment`]: registers that nothing has written.
//! - [`buffers`]: accesses that leave their buffer of shared memory for another one.
//! - [`bulk`]: bulk copies and tensor maps against their definition.
//! - [`checks`]: each check with a fault and a clean twin.
//! - [`faults`]: programs that break one rule each, and their clean twins.
//! - [`clusters`]: CTAs that run together.
//! - [`kernels`]: what LLVM emits for whole kernels.
//! - [`schedules`]: what depends on the order of things, and what must not.
//! - [`races`]: each way to order accesses, with and without.
//! - [`mbarriers`]: barriers in shared memory, their phases, and what waits at them.
//! - [`profiles`]: counts of whole kernels against counts by hand.
//! - `warpgroups`: `wgmma`, `setmaxnreg`.
//! - [`hosts`]: what a host says of a launch while it runs.
//! - [`robust`]: garbled text.

mod arithmetic;
mod assignment;
mod buffers;
mod bulk;
mod checks;
mod clusters;
mod conversions;
mod divergence;
mod faults;
mod floats;
mod flow;
mod fragments;
mod hosts;
mod kernels;
mod mbarriers;
mod profiles;
mod races;
mod robust;
mod schedules;
mod warpgroups;

use super::{ErrorKind, Memory, Module, Options, SimError, Stats};

const HEADER: &str = ".version 8.0\n.target sm_90a\n.address_size 64\n";

/// A kernel `k(ptr data)` with registers of every class and `%rd90` = data, `%r90` = thread.
fn kernel(body: &str) -> String {
    format!(
        "{HEADER}.visible .entry k(.param .u64 data) {{\n\
         .reg .pred %p<100>;\n.reg .b16 %rs<100>;\n.reg .b32 %r<100>;\n.reg .b64 %rd<100>;\n\
         ld.param.u64 %rd90, [data];\nmov.u32 %r90, %tid.x;\n{body}\nret;\n}}\n"
    )
}

/// Runs a kernel made by [`kernel`] in one block over some data.
fn launch(body: &str, threads: u32, data: &mut Vec<u8>) -> Result<Stats, SimError> {
    launch_shared(body, threads, 0, data)
}

fn launch_shared(
    body: &str,
    threads: u32,
    shared: u32,
    data: &mut Vec<u8>,
) -> Result<Stats, SimError> {
    let module = Module::parse(&kernel(body))?;
    let mut memory = Memory::new();
    let address = memory.alloc(data.len() as u64, "data")?;
    memory.write(address, data)?;
    let options = Options {
        counters: true,
        ..Options::default()
    };
    let params = address.to_le_bytes();
    let stats = module.launch(
        "k",
        [1; 3],
        [threads, 1, 1],
        shared,
        &params,
        &mut memory,
        &options,
    )?;
    *data = memory.read(address, data.len() as u64)?;
    Ok(stats)
}

/// Runs a body of which each thread stores a word at its place of the data, and gives the words.
fn words(body: &str, threads: u32) -> Result<Vec<u32>, SimError> {
    words_of(body, threads, 0, &vec![0; threads as usize])
}

fn words_of(body: &str, threads: u32, shared: u32, input: &[u32]) -> Result<Vec<u32>, SimError> {
    let mut data = input.iter().flat_map(|w| w.to_le_bytes()).collect();
    let prologue = "mul.wide.u32 %rd91, %r90, 4;\nadd.s64 %rd92, %rd90, %rd91;\n";
    launch_shared(&format!("{prologue}{body}"), threads, shared, &mut data)?;
    Ok(data
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes(b.try_into().unwrap()))
        .collect())
}

/// The error that a body ends with.
fn fault(body: &str, threads: u32) -> ErrorKind {
    words(body, threads).expect_err("the kernel must fail").kind
}

/// Values at the edges of integers of 8 to 64 bits.
const INTEGERS: [u64; 24] = [
    0,
    1,
    2,
    3,
    7,
    31,
    32,
    33,
    63,
    64,
    65,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x1234_5678,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_ffff,
];

/// Values at the edges of f32: zeros, subnormals, ties, infinities, NaN.
const FLOATS: [u32; 28] = [
    0,
    1,
    0x7f_ffff,
    0x80_0000,
    0x3300_0000,
    0x3300_0001,
    0x3380_0000,
    0x3f00_0000,
    0x3f80_0000,
    0x3f80_0001,
    0x3fc0_0000,
    0x4000_0000,
    0x4020_0000,
    0x4049_0fdb,
    0x42ff_0000,
    0x4380_0000,
    0x477f_e000,
    0x477f_f000,
    0x4b00_0001,
    0x4f00_0000,
    0x4f80_0000,
    0x5f00_0000,
    0x7f7f_ffff,
    0x7f80_0000,
    0x7fff_ffff,
    0xc020_0000,
    0xbf80_0000,
    0x8000_0001,
];

/// Runs one instruction on every row of arguments. Argument `i` is in `%rd‹i›`, its low parts in
/// `%r‹i›` and `%rs‹i›`; the result is what the instruction leaves in register number 9 of the
/// class it names first.
fn eval(instruction: &str, rows: &[Vec<u64>]) -> Vec<u64> {
    try_eval(instruction, rows).unwrap_or_else(|e| panic!("{instruction}\n{e}"))
}

fn try_eval(instruction: &str, rows: &[Vec<u64>]) -> Result<Vec<u64>, SimError> {
    let arity = rows[0].len();
    let mut body = format!(
        "mul.lo.u32 %r91, %r90, {};\ncvt.u64.u32 %rd91, %r91;\nadd.u64 %rd91, %rd91, %rd90;\n",
        8 * (arity + 1)
    );
    for i in 0..arity {
        body += &format!(
            "ld.global.b64 %rd{i}, [%rd91+{}];\ncvt.u32.u64 %r{i}, %rd{i};\ncvt.u16.u64 %rs{i}, %rd{i};\n",
            8 * i
        );
    }
    body += instruction;
    body += "\n";
    let (_, operands) = instruction
        .trim_start_matches("@%p1 ")
        .split_once(' ')
        .unwrap();
    body += match operands.trim_start().split(['9', ',']).next().unwrap() {
        "%rd" => "",
        "%r" => "cvt.u64.u32 %rd9, %r9;\n",
        "%rs" => "cvt.u64.u16 %rd9, %rs9;\n",
        "%p" => "selp.b64 %rd9, 1, 0, %p9;\n",
        other => panic!("no result register in {other}"),
    };
    body += &format!("st.global.b64 [%rd91+{}], %rd9;\n", 8 * arity);
    let mut results = Vec::new();
    for rows in rows.chunks(1024) {
        let mut data = Vec::new();
        for row in rows {
            row.iter()
                .chain([&0])
                .for_each(|v| data.extend_from_slice(&v.to_le_bytes()));
        }
        launch(&body, rows.len() as u32, &mut data)?;
        let row_bytes = 8 * (arity + 1);
        results.extend(
            data.chunks_exact(row_bytes)
                .map(|r| u64::from_le_bytes(r[8 * arity..].try_into().unwrap())),
        );
    }
    Ok(results)
}

/// Every combination of `arity` values.
fn combinations(values: &[u64], arity: usize) -> Vec<Vec<u64>> {
    (0..arity).fold(vec![vec![]], |rows, _| {
        let extend = |row: &Vec<u64>| {
            values
                .iter()
                .map(|&v| [&row[..], &[v]].concat())
                .collect::<Vec<_>>()
        };
        rows.iter().flat_map(extend).collect()
    })
}

/// Checks an instruction against a function of its arguments, on combinations of edge cases.
fn check(instruction: &str, values: &[u64], arity: usize, expected: impl Fn(&[u64]) -> u64) {
    let rows = combinations(values, arity);
    for (row, result) in rows.iter().zip(eval(instruction, &rows)) {
        assert_eq!(
            result,
            expected(row),
            "{instruction} of {row:x?}: {result:#x}, expected {:#x}",
            expected(row)
        );
    }
}
