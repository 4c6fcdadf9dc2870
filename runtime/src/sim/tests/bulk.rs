//! Bulk copies: boxes of every rank and swizzle against the definition, and each misuse beside its clean twin.

use super::{HEADER, Memory, Module, Options, SimError};
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

/// Runs a kernel over a tensor of bytes that count up, and gives what it leaves of them.
fn run(text: &str, map: &TensorMap, schedule: u64) -> Result<Vec<u8>, SimError> {
    let mut memory = Memory::new();
    let tensor = memory.alloc(1 << 16, "tensor")?;
    let bytes: Vec<u8> = (0..1u32 << 16).map(pattern).collect();
    memory.write(tensor, &bytes)?;
    let data = memory.alloc(SHARED as u64, "data")?;
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
    memory.read(data, SHARED as u64)
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
        stride_bytes,
        box_extents: box_extents.to_vec(),
        element_strides: vec![1; box_extents.len()],
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

/// What a load leaves in shared memory, by the definition: element by element, `Swizzle<B, 4, 3>` of the address.
fn expected(map: &TensorMap, coordinates: &[i32]) -> Vec<u8> {
    let size = map.dtype.size();
    let mut bytes = vec![0; map.box_bytes() as usize];
    for index in 0..bytes.len() / size {
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
        let mut to = index * size;
        let bits = match map.swizzle {
            MapSwizzle::None => 0,
            MapSwizzle::B32 => 1,
            MapSwizzle::B64 => 2,
            MapSwizzle::B128 => 3,
        };
        to ^= (to >> 7 & ((1 << bits) - 1)) << 4;
        for byte in 0..size {
            bytes[to + byte] = match (inside, map.oob_fill) {
                (true, _) => pattern(at as u32 + byte as u32),
                (false, OobFill::Zeros) => 0,
                (false, OobFill::Nan) if byte == size - 1 => 0x7f,
                (false, OobFill::Nan) => 0xff,
            };
        }
    }
    bytes
}

#[test]
fn boxes_of_every_rank_and_swizzle() {
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
                let unit = 16 / dtype.size() as i32;
                let extents = [u64::from(wide) + 3, 9, 4, 3, 2];
                let mut map = map(dtype, &extents[..rank], &[wide, 16, 3, 2, 2][..rank]);
                map.swizzle = swizzle;
                for start in [[0, 0, 0, 0, 0], [unit, 2, 1, -1, 1], [-unit, -3, 2, 0, 0]] {
                    let coordinates = &start[..rank];
                    let found = load(&map, coordinates, 0).unwrap();
                    assert_eq!(found, expected(&map, coordinates), "{map:?} {start:?}");
                }
            }
        }
    }
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
