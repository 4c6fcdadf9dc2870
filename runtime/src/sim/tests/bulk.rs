//! Bulk copies: boxes of every rank and swizzle against the definition, and each misuse beside its clean twin.

use super::{ErrorKind, HEADER, Memory, Module, Options, SimError};
use crate::abi::tensor_map::{MapSwizzle, OobFill};
use crate::sim::TensorMap;
use crate::tensor::DType;

/// Bytes of the buffer `s` of shared memory.
const SHARED: usize = 1 << 15;

/// A kernel whose thread 0 does something with the tensor map at `%rd2`, the buffer `s`, the `mbarrier` `m`, which
/// expects one arrival, and `data` at `%rd90`; all threads then go on with the rest.
fn kernel(body: &str) -> String {
    format!(
        "{HEADER}.visible .entry k(.param .u64 data, .param .align 64 .b8 map[128]) {{\n\
         .reg .pred %p<100>;\n.reg .b16 %rs<100>;\n.reg .b32 %r<100>;\n.reg .b64 %rd<100>;\n\
         .shared .align 1024 .b8 s[{SHARED}];\n.shared .align 8 .b64 m;\n\
         ld.param.u64 %rd90, [data];\nmov.b64 %rd1, map;\ncvta.param.u64 %rd2, %rd1;\nmov.u32 %r90, %tid.x;\n\
         setp.eq.u32 %p5, %r90, 0;\n@%p5 mbarrier.init.shared::cta.b64 [m], 1;\n\
         @%p5 fence.mbarrier_init.release.cluster;\nbar.sync 0;\n{body}\nret;\n}}\n"
    )
}

/// Waits for phase 0 and then copies `s` to `data`.
fn wait_and_show() -> String {
    format!(
        "{}mov.b32 %r80, s;\nmov.b32 %r81, 0;\nmov.b64 %rd80, %rd90;\nshow:\nld.shared.b32 %r82, [%r80];\n\
         @%p5 st.global.b32 [%rd80], %r82;\nadd.u32 %r80, %r80, 4;\nadd.u64 %rd80, %rd80, 4;\nadd.u32 %r81, %r81, 4;\n\
         setp.lt.u32 %p80, %r81, %r83;\n@%p80 bra show;",
        wait()
    )
}

fn wait() -> String {
    "waiting:\nmbarrier.try_wait.parity.shared::cta.b64 %p81, [m], 0;\n@!%p81 bra waiting;\n"
        .to_owned()
}

fn expect(bytes: u64) -> String {
    format!("@%p5 mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], {bytes};\n")
}

/// Runs a kernel over a tensor of bytes by [`pattern`], and gives what it leaves at `data`.
fn run(text: &str, map: &TensorMap, schedule: u64) -> Result<Vec<u8>, SimError> {
    Ok(run_both(text, map, schedule)?.0)
}

/// Bytes of the tensor's memory.
const TENSOR: u32 = 1 << 16;

/// The same, and what it leaves of the tensor.
fn run_both(text: &str, map: &TensorMap, schedule: u64) -> Result<(Vec<u8>, Vec<u8>), SimError> {
    let mut memory = Memory::new();
    let tensor = memory.alloc(TENSOR.into(), "tensor")?;
    let bytes: Vec<u8> = (0..TENSOR).map(pattern).collect();
    memory.write(tensor, &bytes)?;
    let data = memory.alloc(SHARED as u64, "data")?;
    let bytes: Vec<u8> = (TENSOR..TENSOR + SHARED as u32).map(pattern).collect();
    memory.write(data, &bytes)?;
    let map = TensorMap {
        address: tensor + map.address,
        ..map.clone()
    };
    let params = [&data.to_le_bytes()[..], &[0; 56], &map.encode()?].concat();
    let options = Options {
        races: true,
        step_limit: 1 << 18,
        ..Options::default()
    };
    let options = options.schedule(schedule);
    let module = Module::parse(text)?;
    module.launch("k", [1; 3], [32, 1, 1], 0, &params, &mut memory, &options)?;
    Ok((
        memory.read(data, SHARED as u64)?,
        memory.read(tensor, TENSOR.into())?,
    ))
}

/// A byte of the tensor.
fn pattern(at: u32) -> u8 {
    (at.wrapping_mul(0x9e37_79b1) >> 23) as u8
}

/// A dense tensor, padded to strides of 16 bytes.
fn map(dtype: DType, extents: &[u64], box_extents: &[u32]) -> TensorMap {
    let mut stride_bytes: Vec<u64> = Vec::new();
    let mut stride = dtype.size() as u64;
    for &extent in &extents[..extents.len() - 1] {
        stride = (stride * extent).next_multiple_of(16);
        stride_bytes.push(stride);
    }
    TensorMap {
        dtype,
        address: 0,
        extents: extents.to_vec(),
        empty: false,
        stride_bytes,
        box_extents: box_extents.to_vec(),
        element_strides: vec![1; box_extents.len()],
        im2col: None,
        swizzle: MapSwizzle::None,
        oob_fill: OobFill::Zeros,
    }
}

fn load_of(rank: usize, coordinates: &[i32], more: &str) -> String {
    let list: Vec<String> = coordinates.iter().map(i32::to_string).collect();
    format!(
        "@%p5 cp.async.bulk.tensor.{rank}d.shared::cta.global.tile.mbarrier::complete_tx::bytes{more} [s], \
         [%rd2, {{{}}}], [m]",
        list.join(", ")
    )
}

/// Loads a box and shows it.
fn load(map: &TensorMap, coordinates: &[i32], schedule: u64) -> Result<Vec<u8>, SimError> {
    let bytes = map.box_bytes();
    let text = kernel(&format!(
        "mov.b32 %r83, {bytes};\n{}{};\n{}",
        expect(bytes),
        load_of(coordinates.len(), coordinates, ""),
        wait_and_show()
    ));
    let mut shown = run(&text, map, schedule)?;
    shown.truncate(bytes as usize);
    Ok(shown)
}

/// By the definition, the elements of a box in order: the address of each in the tensor, if it is inside, and its
/// address in shared memory, which is `Swizzle<B, 4, 3>` of its place.
fn elements(map: &TensorMap, coordinates: &[i32]) -> Vec<(Option<u64>, usize)> {
    let size = map.dtype.size();
    let count = map.box_bytes() as usize / size;
    let element = |index: usize| {
        let (mut rest, mut inside, mut at) = (index as u64, true, map.address);
        for (dimension, &extent) in map.extents.iter().enumerate() {
            let step = if dimension == 0 {
                1
            } else {
                map.element_strides[dimension]
            };
            let count = u64::from(map.box_extents[dimension].div_ceil(step));
            let place = i64::from(coordinates[dimension]) + (rest % count * u64::from(step)) as i64;
            rest /= count;
            inside &= (0..extent as i64).contains(&place);
            let stride = match dimension {
                0 => size as u64,
                _ => map.stride_bytes[dimension - 1],
            };
            at = at.wrapping_add((place as u64).wrapping_mul(stride));
        }
        let to = index * size;
        let bits = match map.swizzle {
            MapSwizzle::None => 0,
            MapSwizzle::B32 => 1,
            MapSwizzle::B64 => 2,
            MapSwizzle::B128 => 3,
        };
        (
            inside.then_some(at),
            to ^ (to >> 7 & ((1 << bits) - 1)) << 4,
        )
    };
    (0..count).map(element).collect()
}

/// What a load leaves in shared memory.
fn expected(map: &TensorMap, coordinates: &[i32]) -> Vec<u8> {
    let size = map.dtype.size();
    let mut bytes = vec![0; map.box_bytes() as usize];
    for (at, to) in elements(map, coordinates) {
        for byte in 0..size {
            bytes[to + byte] = match (at, map.oob_fill) {
                (Some(at), _) => pattern(at as u32 + byte as u32),
                (None, OobFill::Zeros) => 0,
                (None, OobFill::Nan) if byte == size - 1 => 0x7f,
                (None, OobFill::Nan) => 0xff,
            };
        }
    }
    bytes
}

/// Fills `s` with bytes of `data`, and stores a box of it with an instruction in front of the operands.
fn store_with(opcode: &str, map: &TensorMap, coordinates: &[i32], wait: &str) -> String {
    let bytes = map.box_bytes();
    let list: Vec<String> = coordinates.iter().map(i32::to_string).collect();
    kernel(&format!(
        "{}@%p5 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [%rd90], {bytes}, [m];\n{}\
         @%p5 {opcode} [%rd2, {{{}}}], [s];\n@%p5 cp.async.bulk.commit_group;\n@%p5 cp.async.bulk.{wait} 0;",
        expect(bytes),
        self::wait(),
        list.join(", ")
    ))
}

fn stored(
    map: &TensorMap,
    coordinates: &[i32],
    opcode: &str,
    schedule: u64,
) -> Result<Vec<u8>, SimError> {
    let text = store_with(opcode, map, coordinates, "wait_group.read");
    Ok(run_both(&text, map, schedule)?.1)
}

/// What a store leaves of the tensor, by a function of the element there and the stored one: it stores whole 16 bytes, beyond the last element of
/// a row too.
fn expected_of_store(
    map: &TensorMap,
    coordinates: &[i32],
    update: impl Fn(u64, u64) -> u64,
) -> Vec<u8> {
    let size = map.dtype.size();
    let mut tensor: Vec<u8> = (0..TENSOR).map(pattern).collect();
    let read = |bytes: &[u8]| {
        let digits = bytes.iter().rev();
        digits.fold(0, |value, &byte| value << 8 | u64::from(byte))
    };
    let mut whole = map.clone();
    whole.extents[0] = map.extents[0].next_multiple_of(16 / size as u64);
    for (at, from) in elements(&whole, coordinates) {
        let Some(at) = at else { continue };
        let stored: Vec<u8> = (0..size)
            .map(|byte| pattern(TENSOR + (from + byte) as u32))
            .collect();
        let element = &mut tensor[at as usize..][..size];
        let new = update(read(element), read(&stored)).to_le_bytes();
        element.copy_from_slice(&new[..size]);
    }
    tensor
}

const STORE: &str = "cp.async.bulk.tensor.{}d.global.shared::cta.tile.bulk_group";

/// Calls `check` with a map of every rank, swizzle and size of elements, and each of three places that `starts` gives
/// for the elements of 16 bytes.
fn for_every_rank_and_swizzle(
    starts: impl Fn(i32) -> [[i32; 5]; 3],
    check: impl Fn(&TensorMap, &[i32]),
) {
    let swizzles = [
        MapSwizzle::None,
        MapSwizzle::B32,
        MapSwizzle::B64,
        MapSwizzle::B128,
    ];
    for dtype in [DType::U8, DType::BF16, DType::F32, DType::I64] {
        for swizzle in swizzles {
            let inner = match swizzle {
                MapSwizzle::None => 48,
                MapSwizzle::B32 | MapSwizzle::B64 | MapSwizzle::B128 => swizzle.bytes(),
            };
            for rank in 1..=5 {
                let wide = inner / dtype.size() as u32;
                let extents = [u64::from(wide) + 3, 9, 4, 3, 2];
                let mut map = map(dtype, &extents[..rank], &[wide, 16, 3, 2, 2][..rank]);
                map.swizzle = swizzle;
                for start in starts(16 / dtype.size() as i32) {
                    check(&map, &start[..rank]);
                }
            }
        }
    }
}

#[test]
fn boxes_of_every_rank_and_swizzle() {
    let starts = |unit| [[0, 0, 0, 0, 0], [unit, 2, 1, -1, 1], [-unit, -3, 2, 0, 0]];
    for_every_rank_and_swizzle(starts, |map, start| {
        let found = load(map, start, 0).unwrap();
        assert_eq!(found, expected(map, start), "{map:?} {start:?}");
    });
}

#[test]
fn beyond_the_tensor_are_zeros_or_nan() {
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        let unit = 16 / dtype.size() as i32;
        for oob_fill in [OobFill::Zeros, OobFill::Nan] {
            let mut map = map(dtype, &[13, 5], &[4 * unit as u32, 8]);
            map.oob_fill = oob_fill;
            for start in [
                [0, 0],
                [unit, 3],
                [-2 * unit, -4],
                [1000 * unit, 0],
                [0, i32::MIN],
            ] {
                assert_eq!(load(&map, &start, 0).unwrap(), expected(&map, &start));
            }
        }
    }
}

#[test]
fn element_strides_skip() {
    let mut map = map(DType::F16, &[64, 40, 6], &[16, 9, 4]);
    map.element_strides = vec![3, 2, 3];
    assert_eq!(map.box_bytes(), 32 * 5 * 2);
    let found = load(&map, &[8, 1, 0], 0).unwrap();
    assert_eq!(found, expected(&map, &[8, 1, 0]));
}

#[test]
fn loads_arrive_at_any_moment() {
    let mut map = map(DType::BF16, &[100, 100], &[64, 32]);
    map.swizzle = MapSwizzle::B128;
    for schedule in 0..20 {
        let found = load(&map, &[64, 90], schedule).unwrap();
        assert_eq!(found, expected(&map, &[64, 90]), "{schedule}");
    }
}

#[test]
fn consecutive_bytes() {
    for to in ["shared::cta", "shared::cluster"] {
        let text = kernel(&format!(
            "mov.b32 %r83, 96;\nadd.u64 %rd3, %rd90, 64;\nmov.b32 %r1, 96;\nmul.wide.u32 %rd5, %r90, 8;\n\
             add.u64 %rd5, %rd5, %rd3;\nadd.u32 %r5, %r90, 7;\nst.global.v2.b32 [%rd5], {{%r5, %r90}};\n\
             fence.proxy.async;\nbar.sync 0;\n{}\
             @%p5 cp.async.bulk.{to}.global.mbarrier::complete_tx::bytes.L2::cache_hint [s], [%rd3], %r1, [m], %rd3;\n{}",
            expect(96),
            wait_and_show()
        ));
        let map = map(DType::F16, &[8], &[8]);
        for schedule in 0..5 {
            let found = run(&text, &map, schedule).unwrap();
            let words = found.chunks_exact(4).take(24);
            let words: Vec<u32> = words
                .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
                .collect();
            let expected: Vec<u32> = (0..12).flat_map(|i| [i + 7, i]).collect();
            assert_eq!(words, expected, "{schedule}");
        }
    }
}

#[test]
fn stores_of_every_rank_and_swizzle() {
    let starts = |unit| [[0, 0, 0, 0, 0], [unit, 2, 1, 2, 1], [unit * 9, 0, 0, 0, 0]];
    for_every_rank_and_swizzle(starts, |map, start| {
        let opcode = STORE.replace("{}", &start.len().to_string());
        let found = stored(map, start, &opcode, 0).unwrap();
        let expected = expected_of_store(map, start, |_, new| new);
        assert!(found == expected, "{map:?} {start:?}");
    });
}

#[test]
fn stores_take_place_at_any_moment() {
    let mut map = map(DType::BF16, &[100, 100], &[64, 32]);
    map.swizzle = MapSwizzle::B128;
    let expected = expected_of_store(&map, &[64, 90], |_, new| new);
    for schedule in 0..20 {
        let opcode = STORE.replace("{}", "2");
        assert!(stored(&map, &[64, 90], &opcode, schedule).unwrap() == expected);
    }
}

#[test]
fn reductions_combine() {
    type Function = fn(u64, u64) -> u64;
    let cases: [(&str, DType, Function); 12] = [
        ("add", DType::U32, |a, b| {
            (a as u32).wrapping_add(b as u32).into()
        }),
        ("add", DType::I32, |a, b| {
            (a as u32).wrapping_add(b as u32).into()
        }),
        ("add", DType::U64, |a, b| a.wrapping_add(b)),
        ("min", DType::I32, |a, b| {
            (a as i32).min(b as i32) as u32 as u64
        }),
        ("max", DType::U32, |a, b| a.max(b)),
        ("min", DType::U64, |a, b| a.min(b)),
        ("max", DType::I64, |a, b| (a as i64).max(b as i64) as u64),
        ("inc", DType::U32, |a, b| if a >= b { 0 } else { a + 1 }),
        (
            "dec",
            DType::U32,
            |a, b| if a == 0 || a > b { b } else { a - 1 },
        ),
        ("and", DType::U32, |a, b| a & b),
        ("or", DType::U64, |a, b| a | b),
        ("xor", DType::I32, |a, b| a ^ b),
    ];
    for (name, dtype, update) in cases {
        let map = map(dtype, &[37, 9], &[16, 4]);
        for tile in ["", ".tile"] {
            let opcode = format!(
                "cp.reduce.async.bulk.tensor.2d.global.shared::cta.{name}{tile}.bulk_group"
            );
            let found = stored(&map, &[28, 6], &opcode, 0).unwrap();
            assert!(found == expected_of_store(&map, &[28, 6], update), "{name}");
        }
    }
    // Of floating-point numbers: 1 + 1, in sums of 16 and 32 bits, and -0 below 0.
    for (name, dtype, a, sum) in [
        ("add", DType::F16, 0x3c00u64, 0x4000),
        ("add", DType::BF16, 0x3f80, 0x4000),
        ("add", DType::F32, 0x3f80_0000, 0x4000_0000),
        ("max", DType::F16, 0x3c00, 0x3c00),
        ("min", DType::BF16, 0x3f80, 0x3f80),
    ] {
        let size = dtype.size();
        let one = 16 / size;
        let word = (0..4 / size).fold(0, |word, i| word | a << (16 * i));
        let opcode = format!("cp.reduce.async.bulk.tensor.1d.global.shared::cta.{name}.bulk_group");
        let map = map(dtype, &[one as u64], &[one as u32]);
        // First the box is stored, then it is combined with itself.
        let text = kernel(&format!(
            "@%p5 st.shared.v4.b32 [s], {{{word}, {word}, {word}, {word}}};\n@%p5 fence.proxy.async.shared::cta;\n\
             @%p5 cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd2, {{0}}], [s];\n\
             @%p5 cp.async.bulk.commit_group;\n@%p5 cp.async.bulk.wait_group 0;\n\
             @%p5 {opcode} [%rd2, {{0}}], [s];\n@%p5 cp.async.bulk.commit_group;\n@%p5 cp.async.bulk.wait_group 0;"
        ));
        let (_, tensor) = run_both(&text, &map, 0).unwrap();
        let expected: Vec<u8> = (0..one)
            .flat_map(|_| u64::to_le_bytes(sum)[..size].to_vec())
            .collect();
        assert_eq!(tensor[..16], expected, "{name} {dtype}");
    }
}

#[test]
fn consecutive_bytes_go_out_too() {
    let map = map(DType::F16, &[8], &[8]);
    let text_of = |copy: &str| {
        kernel(&format!(
            "mov.b32 %r4, s;\nmad.lo.u32 %r4, %r90, 4, %r4;\nst.shared.b32 [%r4], %r90;\n\
             fence.proxy.async.shared::cta;\nbar.sync 0;\nadd.u64 %rd3, %rd90, 32;\n@%p5 {copy} [%rd3], [s], 64;\n\
             @%p5 cp.async.bulk.commit_group;\n@%p5 cp.async.bulk.wait_group 0;"
        ))
    };
    let copied = text_of("cp.async.bulk.global.shared::cta.bulk_group");
    let added = text_of("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32");
    for schedule in 0..5 {
        let found = run(&copied, &map, schedule).unwrap();
        let words: Vec<u8> = (0..16).flat_map(u32::to_le_bytes).collect();
        assert_eq!(found[32..96], words);
        let found = run(&added, &map, schedule).unwrap();
        let word =
            |at: u32| u32::from_le_bytes(std::array::from_fn(|i| pattern(TENSOR + at + i as u32)));
        let sums: Vec<u8> = (0..16)
            .flat_map(|i| word(32 + 4 * i).wrapping_add(i).to_le_bytes())
            .collect();
        assert_eq!(found[32..96], sums);
    }
}

/// The error of a kernel.
fn fault(text: &str, map: &TensorMap) -> ErrorKind {
    run(text, map, 0).expect_err("the kernel must fail").kind
}

#[test]
fn boxes_that_hardware_refuses() {
    let good = map(DType::BF16, &[64, 64], &[64, 8]);
    let wrong = |change: &dyn Fn(&mut TensorMap), expected: &str| {
        let mut map = good.clone();
        change(&mut map);
        let error = map.encode().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    assert!(good.encode().is_ok());
    wrong(&|map| map.address = 8, "address: expected a multiple of 16");
    wrong(&|map| map.extents[1] = 0, "extent: expected 1 to 2^32");
    wrong(
        &|map| map.stride_bytes[0] = 24,
        "stride: expected a multiple of 16 bytes",
    );
    wrong(&|map| map.stride_bytes[0] = 1 << 40, "below 2^40");
    wrong(
        &|map| map.box_extents[1] = 257,
        "extent of the box: expected 1 to 256, found 257",
    );
    wrong(
        &|map| map.box_extents[0] = 4,
        "row of the box: expected a multiple of 16, found 8",
    );
    wrong(
        &|map| map.element_strides[1] = 9,
        "element stride: expected 1 to 8",
    );
    wrong(
        &|map| map.swizzle = MapSwizzle::B64,
        "at most the swizzle's 64, found 128",
    );
    wrong(
        &|map| {
            map.dtype = DType::I32;
            map.oob_fill = OobFill::Nan;
        },
        "of floating-point numbers",
    );
    wrong(&|map| map.extents.clear(), "rank: expected 1 to 5, found 0");
    // What comes out is what went in.
    for swizzle in [MapSwizzle::None, MapSwizzle::B128] {
        let map = TensorMap {
            swizzle,
            ..good.clone()
        };
        assert_eq!(TensorMap::decode(&map.encode().unwrap()), Some(map));
    }
    assert_eq!(TensorMap::decode(&[0; 128]), None);
}

#[test]
fn misuse_of_boxes_is_refused() {
    let map = map(DType::BF16, &[64, 64], &[32, 8]);
    let loads = |coordinates: &[i32], to: &str| {
        let load = load_of(coordinates.len(), coordinates, "").replace("[s]", to);
        kernel(&format!("{}{load};\n{}", expect(map.box_bytes()), wait()))
    };
    assert!(run(&loads(&[8, 1], "[s]"), &map, 0).is_ok());
    let wrong = |text: &str, expected: &str| {
        let error = fault(text, &map).to_string();
        assert!(error.contains(expected), "{error}");
    };
    wrong(
        &loads(&[4, 1], "[s]"),
        "start of the box in the first dimension: expected a multiple of 16 bytes, found coordinate 4, 8 bytes",
    );
    wrong(
        &loads(&[8, 1], "[s+64]"),
        "expected a multiple of 128, found remainder 64",
    );
    wrong(
        &loads(&[8, 1], "[s+32640]"),
        "out-of-bounds write of 512 bytes at shared address",
    );
    wrong(
        &loads(&[8, 1, 0], "[s]"),
        "rank: expected 3, of the instruction, found 2",
    );
    wrong(
        &loads(&[8, 1], "[s]").replace("[m];\nwaiting", "[s+512];\nwaiting"),
        "found none",
    );
    wrong(
        &loads(&[8, 1], "[s]").replace("[%rd2, ", "[%rd90, "),
        "expected a map that the host has encoded",
    );
    wrong(
        &loads(&[8, 1], "[s]").replace("[%rd2, ", "[%rd2+32, "),
        "expected a multiple of 64",
    );
    let store = |coordinates: &[i32]| {
        store_with(&STORE.replace("{}", "2"), &map, coordinates, "wait_group")
    };
    assert!(run(&store(&[8, 60]), &map, 0).is_ok());
    wrong(
        &store(&[8, -1]),
        "expected no negative coordinate, found -1 in dimension 1",
    );
    wrong(
        &store(&[8, 1]).replace(
            "[s];\n@%p5 cp.async.bulk.commit",
            "[s+4096];\n@%p5 cp.async.bulk.commit",
        ),
        "uninitialised",
    );
    wrong(
        &store_with(
            "cp.reduce.async.bulk.tensor.2d.global.shared::cta.and.bulk_group",
            &map,
            &[0, 0],
            "wait_group",
        ),
        "element type: expected one that `.and` is for, found bf16",
    );
    let flat = |bytes: u32| {
        kernel(&format!(
            "{}@%p5 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [%rd90], {bytes}, [m];\n{}",
            expect(bytes.into()),
            wait()
        ))
    };
    assert!(run(&flat(48), &map, 0).is_ok());
    wrong(
        &flat(40),
        "bytes of a bulk copy: expected a multiple of 16 above 0, found 40",
    );
    wrong(
        &flat(48).replace("[%rd90], 48", "[%rd90+8], 48"),
        "misaligned read at global address",
    );
}

#[test]
fn bytes_must_be_expected() {
    let map = map(DType::BF16, &[64, 64], &[32, 8]);
    let text = |bytes: u64| {
        let load = load_of(2, &[0, 0], "");
        kernel(&format!("{}{load};\n{}", expect(bytes), wait()))
    };
    assert!(run(&text(512), &map, 0).is_ok());
    for (bytes, expected) in [
        (528, "lacks 0 of 1 arrivals and 16 bytes"),
        (496, "16 bytes more than expected"),
    ] {
        for schedule in 0..5 {
            let error = run(&text(bytes), &map, schedule).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}

#[test]
fn a_target_is_in_flight_until_the_wait() {
    let map = map(DType::BF16, &[64, 64], &[32, 8]);
    let text = |access: &str| {
        let load = load_of(2, &[0, 0], "");
        kernel(&format!("{}{load};\n{access}\n{}", expect(512), wait()))
    };
    assert!(run(&text(""), &map, 0).is_ok());
    for access in [
        "@%p5 ld.shared.b32 %r1, [s+64];",
        "@%p5 st.shared.b32 [s+64], 1;",
    ] {
        let error = fault(&text(access), &map);
        assert!(
            matches!(error, ErrorKind::PendingCopy { bulk: true, .. }),
            "{error}"
        );
    }
}

#[test]
fn forms_are_those_of_the_isa() {
    for (form, accepted) in [
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd2, {%r1, %r2}], [m]",
            true,
        ),
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%r3], [%rd2, {%r1, %r2}], [%r4], %rs1, %rd4",
            true,
        ),
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [%rd2, {%r1}], [m]",
            false,
        ),
        (
            "cp.async.bulk.tensor.6d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [%rd2, {%r1, %r2}], [m]",
            false,
        ),
        (
            "cp.async.bulk.tensor.2d.shared::cta.global.tile.bulk_group [s], [%rd2, {%r1, %r2}], [m]",
            false,
        ),
        (
            "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {%r1, %r2}], [s]",
            true,
        ),
        (
            "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint [%rd2, {%r1, %r2}], [s], %rd4",
            true,
        ),
        (
            "cp.async.bulk.tensor.2d.global.shared::cta.tile [%rd2, {%r1, %r2}], [s]",
            false,
        ),
        (
            "cp.reduce.async.bulk.tensor.1d.global.shared::cta.xor.tile.bulk_group.L2::cache_hint [%rd2, {%r1}], [%rd4], %rd5",
            true,
        ),
        (
            "cp.reduce.async.bulk.tensor.1d.global.shared::cta.mul.tile.bulk_group [%rd2, {%r1}], [%rd4]",
            false,
        ),
        (
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%rd5], [%rd1], %r1, [s], %rs1, %rd6",
            true,
        ),
        (
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%rd5], [s], %r1, [m]",
            true,
        ),
        (
            "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%rd1], [s], %r1, %rd4",
            true,
        ),
        (
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.noftz.bf16 [%rd1], [s], %r1, %rd4",
            false,
        ),
        (
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.noftz.add.bf16 [%rd1], [s], %r1, %rd4",
            true,
        ),
        (
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f32 [%rd1], [s], %r1",
            false,
        ),
        (
            "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.inc.u32 [%rd1], [s], %r1, [m]",
            true,
        ),
        (
            "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd3, {%r1, %r2}]",
            true,
        ),
        (
            "cp.async.bulk.prefetch.L2.global.L2::cache_hint [%rd1], %r1, %rd4",
            true,
        ),
        ("cp.async.bulk.commit_group", true),
        ("cp.async.bulk.wait_group 3", true),
        ("cp.async.bulk.wait_group.read 0", true),
        ("cp.async.bulk.wait_group", false),
        ("cp.async.bulk", false),
        ("cp.reduce", false),
    ] {
        let parsed = Module::parse(&kernel(&format!("{form};")));
        assert_eq!(parsed.is_ok(), accepted, "{form}: {:?}", parsed.err());
    }
}
