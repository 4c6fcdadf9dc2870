//! What a host may say of a launch while it runs: that it ends, where its text goes, which cluster of it is wanted.

use super::{ErrorKind, Memory, Module, Options, Stats, kernel};
use crate::cancel::Cancel;
use crate::sim::Output;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

fn launch(body: &str, grid: u32, options: &Options) -> Result<Stats, ErrorKind> {
    let module = Module::parse(&kernel(body)).unwrap();
    let mut memory = Memory::new();
    let data = memory.alloc(1 << 10, "data").unwrap();
    let (grid, block) = ([grid, 1, 1], [32, 1, 1]);
    let launched = module.launch(
        "k",
        grid,
        block,
        0,
        &data.to_le_bytes(),
        &mut memory,
        options,
    );
    launched.map_err(|error| error.kind)
}

#[test]
fn a_launch_ends_soon_after_it_is_cancelled() {
    for grid in [1, 64] {
        let cancel = Cancel::new();
        let options = Options {
            cancel: Some(cancel.clone()),
            step_limit: u64::MAX,
            ..Options::default()
        };
        let start = Instant::now();
        let ender = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            cancel.cancel();
        });
        let ended = launch("again: bra.uni again;", grid, &options);
        assert_eq!(ended, Err(ErrorKind::Cancelled));
        // Another machine may be slow, but not for ever.
        assert!(start.elapsed() < Duration::from_secs(20));
        ender.join().unwrap();
    }
}

#[test]
fn text_goes_to_the_output_of_the_host() {
    let body = ".local .align 8 .b8 a[8];\nmov.u64 %rd1, a;\ncvta.local.u64 %rd2, %rd1;\nst.local.u32 [%rd1], %r90;\n\
        setp.ge.u32 %p1, %r90, 3;\n@%p1 bra end;\nmov.u64 %rd3, text;\ncvta.global.u64 %rd3, %rd3;\n\
        { .param .b64 t; .param .b64 v; .param .b32 r;\nst.param.b64 [t], %rd3;\nst.param.b64 [v], %rd2;\n\
        call.uni (r), vprintf, (t, v);\n}\nend:";
    let text = ".extern .func (.param .b32 r) vprintf (.param .b64 t, .param .b64 v);\n\
        .global .align 1 .b8 text[4] = {37, 100, 59, 0};\n.visible .entry k";
    let ptx = kernel(body).replacen(".visible .entry k", text, 1);
    let module = Module::parse(&ptx).unwrap();
    let written = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&written);
    let options = Options {
        output: Output::new(move |text| into.lock().unwrap().extend_from_slice(text)),
        ..Options::default()
    };
    let mut memory = Memory::new();
    let launched = module.launch("k", [1; 3], [32, 1, 1], 0, &[0; 8], &mut memory, &options);
    launched.unwrap();
    assert_eq!(*written.lock().unwrap(), b"0;1;2;");
}

#[test]
fn one_block_is_counted_alone() {
    let body = "mov.u32 %r1, %ctaid.x;\nagain:\nsub.u32 %r1, %r1, 1;\nsetp.ge.s32 %p1, %r1, 0;\n@%p1 bra again;";
    let counted = |only| {
        let options = Options {
            only,
            ..Options::default()
        };
        launch(body, 8, &options).unwrap().warp_instructions
    };
    let blocks: Vec<u64> = (0..8).map(|number| counted(Some(number))).collect();
    assert_eq!(blocks[5] - blocks[4], blocks[4] - blocks[3]);
    assert!(blocks[5] > blocks[4]);
    assert_eq!(counted(None), blocks.iter().sum::<u64>());
    assert_eq!(counted(Some(100)), blocks[7]);
}
