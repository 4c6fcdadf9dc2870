//! Matrix instructions against matrices. The tables here are those of the PTX ISA, section
//! 9.7.14.5, written down element by element as the figures give them, and not by the formulas of
//! `exec::matrix`.

use half::{bf16, f16};

use super::{launch, words_of};

/// Deterministic values from -8 to 7.
fn small(i: usize, seed: usize) -> i32 {
    ((i * 7 + seed * 13 + i * i * 3) % 16) as i32 - 8
}

/// Where element `i` of lane `lane` of A stands, for `bits` wide elements of 16 rows
/// (figures "Matrix Fragment A" of m16n8k4 to m16n8k64).
fn a_element(bits: usize, lane: usize, i: usize) -> (usize, usize) {
    let (group, place) = (lane >> 2, lane % 4);
    match bits {
        16 => {
            let row = if matches!(i, 0 | 1 | 4 | 5) {
                group
            } else {
                group + 8
            };
            let column = place * 2 + (i & 1) + if i < 4 { 0 } else { 8 };
            (row, column)
        }
        32 => {
            let row = if matches!(i, 0 | 2) { group } else { group + 8 };
            (row, if i < 2 { place } else { place + 4 })
        }
        _ => {
            let row = if (0..4).contains(&i) || (8..12).contains(&i) {
                group
            } else {
                group + 8
            };
            let column = place * 4 + (i & 3) + if i < 8 { 0 } else { 16 };
            (row, column)
        }
    }
}

/// The same of B.
fn b_element(bits: usize, lane: usize, i: usize) -> (usize, usize) {
    let (group, place) = (lane >> 2, lane % 4);
    let row = match bits {
        16 => place * 2 + (i & 1) + if i < 2 { 0 } else { 8 },
        32 => place + if i == 0 { 0 } else { 4 },
        _ => place * 4 + (i & 3) + if i < 4 { 0 } else { 16 },
    };
    (row, group)
}

/// The same of C and D.
fn c_element(lane: usize, i: usize) -> (usize, usize) {
    let (group, place) = (lane >> 2, lane % 4);
    (if i < 2 { group } else { group + 8 }, place * 2 + (i & 1))
}

struct Case {
    instruction: &'static str,
    bits: usize,
    k: usize,
    half_accumulator: bool,
    encode: fn(i32) -> u32,
    encode_c: fn(i32) -> u32,
    decode_c: fn(u32) -> i32,
}

fn pack(values: &[u32], bits: usize) -> Vec<u32> {
    let per = 32 / bits;
    values
        .chunks(per)
        .map(|chunk| {
            chunk
                .iter()
                .rev()
                .fold(0, |w, &v| (u64::from(w) << bits) as u32 | v)
        })
        .collect()
}

fn run(case: &Case) {
    let a = |row: usize, k: usize| small(row * case.k + k, 1);
    let b = |k: usize, column: usize| small(k * 8 + column, 2);
    let c = |row: usize, column: usize| small(row * 8 + column, 3);
    let (a_count, b_count) = (16 * case.k / 32, case.k * 8 / 32);
    let per_lane = |lane: usize| {
        let a: Vec<u32> = (0..a_count)
            .map(|i| a_element(case.bits, lane, i))
            .map(|(r, k)| (case.encode)(a(r, k)))
            .collect();
        let b: Vec<u32> = (0..b_count)
            .map(|i| b_element(case.bits, lane, i))
            .map(|(k, n)| (case.encode)(b(k, n)))
            .collect();
        let c: Vec<u32> = (0..4)
            .map(|i| c_element(lane, i))
            .map(|(r, n)| (case.encode_c)(c(r, n)))
            .collect();
        let c_bits = if case.half_accumulator { 16 } else { 32 };
        [pack(&a, case.bits), pack(&b, case.bits), pack(&c, c_bits)]
    };
    let [na, nb, nc] = per_lane(0).map(|v| v.len());
    let stride = 4 * (na + nb + 2 * nc);
    let names = |first: usize, count: usize| {
        (first..first + count)
            .map(|i| format!("%r{i}"))
            .collect::<Vec<_>>()
            .join(",")
    };
    let mut body = format!("mul.wide.u32 %rd1, %r90, {stride};\nadd.s64 %rd1, %rd1, %rd90;\n");
    for i in 0..na + nb + nc {
        body += &format!("ld.global.b32 %r{i}, [%rd1+{}];\n", 4 * i);
    }
    let d = na + nb + nc;
    body += &format!(
        "{} {{{}}}, {{{}}}, {{{}}}, {{{}}};\n",
        case.instruction,
        names(d, nc),
        names(0, na),
        names(na, nb),
        names(na + nb, nc)
    );
    for i in 0..nc {
        body += &format!("st.global.b32 [%rd1+{}], %r{};\n", 4 * (d + i), d + i);
    }
    let mut data = Vec::new();
    for lane in 0..32 {
        per_lane(lane)
            .concat()
            .iter()
            .for_each(|w| data.extend_from_slice(&w.to_le_bytes()));
        data.extend(vec![0; 4 * nc]);
    }
    launch(&body, 32, &mut data).unwrap_or_else(|e| panic!("{}: {e}", case.instruction));
    for lane in 0..32 {
        for i in 0..4 {
            let (row, column) = c_element(lane, i);
            let expected =
                (0..case.k).fold(c(row, column), |sum, k| sum + a(row, k) * b(k, column));
            let at = lane * stride + 4 * d;
            let word = |i: usize| u32::from_le_bytes(data[at + 4 * i..][..4].try_into().unwrap());
            let bits = if case.half_accumulator {
                word(i / 2) >> (16 * (i % 2)) & 0xffff
            } else {
                word(i)
            };
            assert_eq!(
                (case.decode_c)(bits),
                expected,
                "{} lane {lane} element {i}",
                case.instruction
            );
        }
    }
}

fn half_bits(v: i32) -> u32 {
    f16::from_f32(v as f32).to_bits().into()
}

fn brain_bits(v: i32) -> u32 {
    bf16::from_f32(v as f32).to_bits().into()
}

fn float_bits(v: i32) -> u32 {
    (v as f32).to_bits()
}

fn float_value(bits: u32) -> i32 {
    f32::from_bits(bits) as i32
}

#[test]
fn every_shape_and_type() {
    let float = |instruction, bits, k, encode| Case {
        instruction,
        bits,
        k,
        half_accumulator: false,
        encode,
        encode_c: float_bits,
        decode_c: float_value,
    };
    run(&float(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
        16,
        16,
        brain_bits,
    ));
    run(&float(
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32",
        16,
        8,
        brain_bits,
    ));
    run(&float(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        16,
        16,
        half_bits,
    ));
    run(&float(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
        16,
        8,
        half_bits,
    ));
    run(&float(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
        32,
        8,
        float_bits,
    ));
    run(&float(
        "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32",
        32,
        4,
        float_bits,
    ));
    let half = |instruction, k| Case {
        half_accumulator: true,
        encode_c: half_bits,
        decode_c: |bits| f16::from_bits(bits as u16).to_f32() as i32,
        ..float(instruction, 16, k, half_bits)
    };
    run(&half(
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
        16,
    ));
    run(&half("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", 8));
    let integer = |instruction, k| Case {
        encode_c: |v| v as u32,
        decode_c: |bits| bits as i32,
        ..float(instruction, 8, k, |v| v as u8 as u32)
    };
    run(&integer(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
        32,
    ));
    run(&integer(
        "mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.s8.s32",
        16,
    ));
    let nibbles = |instruction, k| Case {
        encode_c: |v| v as u32,
        decode_c: |bits| bits as i32,
        ..float(instruction, 4, k, |v| v as u32 & 0xf)
    };
    run(&nibbles(
        "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
        64,
    ));
    run(&nibbles(
        "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s4.s4.s32",
        32,
    ));
}

#[test]
fn tf32_drops_the_low_bits() {
    // 1 + 2^-11 is no TF32; its upper 19 bits are 1.
    let body = "mov.b32 %r1, 0x3f801000; mov.b32 %r2, 0x3f800000; mov.b32 %r3, 0;\n\
        mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%r4,%r5,%r6,%r7}, {%r1,%r1}, {%r2}, {%r3,%r3,%r3,%r3};\n\
        st.global.b32 [%rd92], %r4;";
    assert_eq!(
        words_of(body, 32, 0, &[0; 32]).unwrap(),
        [4f32.to_bits(); 32]
    );
}

#[test]
fn double_precision() {
    let body = "cvt.rn.f64.u32 %rd1, %r90; mov.b64 %rd2, 0d4000000000000000; mov.b64 %rd3, 0d3FF0000000000000;\n\
        mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%rd4,%rd5}, {%rd1}, {%rd2}, {%rd3,%rd3};\n\
        cvt.rzi.u32.f64 %r1, %rd5; st.global.b32 [%rd92], %r1;";
    // Row g of A is 4g, 4g+1, 4g+2, 4g+3; B is all 2; C all 1.
    let expected: Vec<u32> = (0..32).map(|lane| 2 * (16 * (lane / 4) + 6) + 1).collect();
    assert_eq!(words_of(body, 32, 0, &[0; 32]).unwrap(), expected);
}

/// Shared memory with the bytes of `tiles` 8×8 tiles of 16 bits, element = its index; lane `l`
/// points to row `l` of all rows.
fn with_tiles(tiles: usize, rest: &str) -> String {
    let fill: String = (0..tiles * 8)
        .map(|row| {
            let words: Vec<String> = (0..4)
                .map(|i| format!("{:#x}", (row * 8 + 2 * i) | (row * 8 + 2 * i + 1) << 16))
                .collect();
            format!(
                "st.shared.v4.b32 [tile+{}], {{{}}};\n",
                16 * row,
                words.join(",")
            )
        })
        .collect();
    format!(
        ".shared .align 16 .b8 tile[{}];\n{fill}bar.warp.sync -1;\nmov.b32 %r1, tile;\nand.b32 %r2, %r90, {};\n\
         shl.b32 %r2, %r2, 4;\nadd.u32 %r1, %r1, %r2;\n{rest}",
        128 * tiles,
        8 * tiles - 1
    )
}

#[test]
fn ldmatrix_by_the_figure() {
    // Lane l holds elements (l/4, 2(l%4)) and the next one of each tile.
    let load = with_tiles(
        4,
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3,%r4,%r5,%r6}, [%r1];\nst.global.b32 [%rd92], REG;",
    );
    for tile in 0..4 {
        let found = words_of(
            &load.replace("REG", &format!("%r{}", 3 + tile)),
            32,
            0,
            &[0; 32],
        )
        .unwrap();
        for (lane, word) in found.into_iter().enumerate() {
            let first = tile * 64 + lane / 4 * 8 + lane % 4 * 2;
            assert_eq!(
                word,
                (first | (first + 1) << 16) as u32,
                "tile {tile} lane {lane}"
            );
        }
    }
}

#[test]
fn ldmatrix_transposed() {
    let load = with_tiles(
        2,
        "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r3,%r4}, [%r1];\nst.global.b32 [%rd92], REG;",
    );
    for tile in 0..2 {
        let found = words_of(
            &load.replace("REG", &format!("%r{}", 3 + tile)),
            32,
            0,
            &[0; 32],
        )
        .unwrap();
        for (lane, word) in found.into_iter().enumerate() {
            let element = |row: usize, column: usize| tile * 64 + row * 8 + column;
            let (low, high) = (
                element(lane % 4 * 2, lane / 4),
                element(lane % 4 * 2 + 1, lane / 4),
            );
            assert_eq!(word, (low | high << 16) as u32, "tile {tile} lane {lane}");
        }
    }
}

#[test]
fn stmatrix_is_the_inverse_of_ldmatrix() {
    for trans in ["", ".trans"] {
        let body = with_tiles(
            4,
            &format!(
                ".shared .align 16 .b8 copy[512];\nmov.b32 %r7, copy;\nadd.u32 %r7, %r7, %r2;\n\
                 ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%r3,%r4,%r5,%r6}}, [%r1];\n\
                 stmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 [%r7], {{%r3,%r4,%r5,%r6}};\n\
                 shl.b32 %r8, %r90, 2;\nmov.b32 %r9, copy;\nadd.u32 %r8, %r8, %r9;\n\
                 ld.shared.b32 %r10, [%r8+256];\nst.global.b32 [%rd92], %r10;"
            ),
        );
        let expected: Vec<u32> = (64..96).map(|i| (2 * i) | ((2 * i + 1) << 16)).collect();
        assert_eq!(
            words_of(&body, 32, 0, &[0; 32]).unwrap(),
            expected,
            "{trans}"
        );
    }
}
