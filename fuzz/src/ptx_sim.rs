//! PTX text.

use cutec_runtime::sim::{Memory, Module, Options};

/// Bytes of the buffer that every pointer parameter gets.
const BYTES: usize = 4096;

/// Parses a text, and runs each kernel of what is PTX for a short while.
pub fn ptx_sim(data: &[u8]) {
    let Some(text) = crate::text(data) else {
        return;
    };
    let Ok(module) = Module::parse(text) else {
        return;
    };
    for entry in module.entries() {
        let mut memory = Memory::new();
        let Ok(buffer) = memory.alloc(BYTES as u64, "data") else {
            return;
        };
        let _ = memory.write(buffer, &[1; BYTES]);
        let bytes = entry.param_bytes() as usize;
        if bytes > BYTES {
            continue;
        }
        let mut params = vec![0; bytes];
        for (at, byte) in params.iter_mut().enumerate() {
            *byte = match at {
                0..24 => buffer.to_le_bytes()[at % 8],
                _ => [64, 0, 0, 0][at % 4],
            };
        }
        let options = Options {
            step_limit: 2000,
            threads: 1,
            counters: true,
            ..Options::default()
        };
        for (grid, block) in [([1, 2, 1], [64, 2, 1]), ([1; 3], [33, 1, 1])] {
            let _ = module.launch(
                &entry.name,
                grid,
                block,
                8192,
                &params,
                &mut memory,
                &options,
            );
        }
    }
}
