//! No text makes the simulator panic: truncated, with tokens exchanged, with bytes changed.

use proptest::prelude::*;

use crate::sim::{Memory, Module, Options};

const KERNELS: [&str; 9] = [
    include_str!("ptx/plain_kernels.ptx"),
    include_str!("ptx/gemm_bf16.ptx"),
    include_str!("faults/wgmma_accumulator_as_a_in_flight.ptx"),
    include_str!("faults/wgmma_cp_async_fenced_too_early.ptx"),
    include_str!("faults/bulk_load_released_too_early.ptx"),
    include_str!("faults/bulk_store_leaves_the_group.ptx"),
    include_str!("faults/bulk_reduce_and_generic_read.ptx"),
    include_str!("faults/multicast_over_what_a_peer_reads.ptx"),
    include_str!("faults/st_async_counted_elsewhere.ptx"),
];

/// Parses, and runs what still parses for a short while.
fn survive(text: &str) {
    let Ok(module) = Module::parse(text) else {
        return;
    };
    for entry in module.entries() {
        let mut memory = Memory::new();
        let data = memory.alloc(4096, "data").unwrap();
        memory.write(data, &[1; 4096]).unwrap();
        let mut params = vec![0; entry.param_bytes() as usize];
        for (at, byte) in params.iter_mut().enumerate() {
            *byte = if at < 24 {
                data.to_le_bytes()[at % 8]
            } else {
                [64, 0, 0, 0][at % 4]
            };
        }
        for param in entry.params.iter().filter(|param| param.size == 128) {
            let map = super::faults::tensor_map(data).encode().unwrap();
            params[param.offset as usize..][..128].copy_from_slice(&map);
        }
        for races in [false, true] {
            let options = Options {
                step_limit: 2000,
                races,
                ..Options::default()
            };
            for (grid, block, shared) in
                [([2, 2, 1], [64, 2, 1], 8192), ([1; 3], [128, 1, 1], 16384)]
            {
                let name = &entry.name;
                let _ = module.launch(name, grid, block, shared, &params, &mut memory, &options);
            }
        }
    }
}

#[test]
fn every_truncation() {
    for kernel in KERNELS {
        for end in (0..kernel.len()).step_by(7) {
            let _ = Module::parse(&kernel[..end]);
        }
    }
}

#[test]
fn deep_nesting_and_huge_declarations() {
    survive(&format!(
        "{}.visible .entry k() {{ {} }}",
        super::HEADER,
        "{".repeat(100_000)
    ));
    survive(&super::kernel(&format!(
        "mov.b64 %rd1, {}",
        "{".repeat(100_000)
    )));
    survive(&super::kernel(
        ".reg .b64 %huge<4294967295>; mov.b64 %huge4294967294, 1;",
    ));
    survive(&super::kernel(
        ".shared .align 4 .b8 s[4294967295]; ld.shared.b8 %rs1, [s];",
    ));
    survive(&super::kernel(
        ".local .align 4 .b8 l[500000]; st.local.b8 [l], 1;",
    ));
    survive(&super::kernel(
        "ld.global.b32 %r1, [%rd90+9223372036854775807];",
    ));
    survive(&super::kernel("bra.uni %r1; a: bra.uni a"));
    survive(".version 8.0 .global .align 4 .b8 x[9999999999999999999999];");
    survive(".version 8.0 .global .align 3 .b8 x[4];");
    survive(".version 8.0 .global .b32 x[2] = {1,2,3};");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn changed_bytes(kernel in 0..KERNELS.len(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = KERNELS[kernel].as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte & 0x7f;
        }
        survive(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn exchanged_words(kernel in 0..KERNELS.len(), swaps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..8)) {
        let mut words: Vec<&str> = KERNELS[kernel].split_inclusive([' ', '\t', '\n', ',', '.']).collect();
        for (a, b) in swaps {
            let (a, b) = (a.index(words.len()), b.index(words.len()));
            words.swap(a, b);
        }
        survive(&words.concat());
    }

    #[test]
    fn exchanged_registers(kernel in 0..KERNELS.len(), from in 1..60u32, to in 1..60u32) {
        let text = KERNELS[kernel].replace(&format!("%r{from},"), &format!("%r{to},"));
        survive(&text.replace(&format!("%rd{from}]"), &format!("%rd{to}]")));
    }

    #[test]
    fn dropped_lines(kernel in 0..KERNELS.len(), lines in prop::collection::vec(any::<prop::sample::Index>(), 1..4)) {
        let mut text: Vec<&str> = KERNELS[kernel].lines().collect();
        for line in lines {
            text.remove(line.index(text.len()));
        }
        survive(&text.join("\n"));
    }

    #[test]
    fn any_text(text in ".{0,200}") {
        survive(&text);
    }
}
