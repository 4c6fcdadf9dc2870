//! The same kernel in many legal schedules: what is right gives the same result in all of them,
//! what depends on luck does not.

use super::{HEADER, Memory, Module, Options, kernel};
use crate::sim::CopyMoment;
use std::collections::BTreeSet;

/// The first word of the data after a run of one block.
fn run(text: &str, threads: u32, input: &[u32], options: &Options) -> u32 {
    let mut memory = Memory::new();
    let data = memory.alloc(4 * input.len() as u64, "data").unwrap();
    let bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
    memory.write(data, &bytes).unwrap();
    let module = Module::parse(text).unwrap();
    let (grid, block, params) = ([1; 3], [threads, 1, 1], data.to_le_bytes());
    module
        .launch("k", grid, block, 0, &params, &mut memory, options)
        .unwrap_or_else(|error| panic!("{error}"));
    u32::from_le_bytes(memory.read(data, 4).unwrap().try_into().unwrap())
}

/// The results of many schedules.
fn results(body: &str, threads: u32, input: &[u32]) -> BTreeSet<u32> {
    let text = kernel(body);
    let options = Options {
        checks: false,
        ..Options::default()
    };
    let schedules = (0..40).map(|number| options.schedule(number));
    schedules
        .map(|options| run(&text, threads, input, &options))
        .collect()
}

#[test]
fn a_copy_that_is_not_waited_for_arrives_at_any_time() {
    let body = |wait: &str| {
        format!(
            ".shared .align 16 .b8 s[16];\nmov.b32 %r1, s;\nst.shared.b32 [%r1+4], 7;\n\
             cp.async.cg.shared.global [%r1], [%rd90], 16;\ncp.async.commit_group;\n{wait}\n\
             ld.shared.b32 %r2, [%r1+4];\nst.global.b32 [%rd90], %r2;"
        )
    };
    let run = |wait: &str| results(&body(wait), 1, &[1, 2, 3, 4]);
    assert_eq!(run("cp.async.wait_group 0;"), [2].into());
    assert_eq!(run("cp.async.wait_group 1;"), [2, 7].into());
}

#[test]
fn the_source_of_a_copy_is_read_at_any_time_before_the_wait() {
    let body = |first: &str, second: &str| {
        format!(
            ".shared .align 16 .b8 s[16];\nmov.b32 %r1, s;\n\
             cp.async.cg.shared.global [%r1], [%rd90], 16;\ncp.async.commit_group;\n{first}\n\
             st.global.b32 [%rd90+4], 9;\n{second}\nld.shared.b32 %r2, [%r1+4];\nst.global.b32 [%rd90], %r2;"
        )
    };
    let (wait, none) = ("cp.async.wait_all;", "");
    assert_eq!(results(&body(wait, none), 1, &[1, 2, 3, 4]), [2].into());
    assert_eq!(results(&body(none, wait), 1, &[1, 2, 3, 4]), [2, 9].into());
}

/// The last of two warps to store is the one whose value stays, and a barrier says which.
#[test]
fn warps_take_turns_in_any_order() {
    let body = |barrier: &str| {
        let spin = "add.u32 %r2, %r2, 1;\n".repeat(60);
        format!(
            "mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 32;\nmov.u32 %r2, 0;\n{spin}\n\
             @!%p1 st.global.b32 [%rd90], 1;\n{barrier}\n@%p1 st.global.b32 [%rd90], 2;"
        )
    };
    assert_eq!(results(&body("bar.sync 0;"), 64, &[0]), [2].into());
    assert_eq!(results(&body(""), 64, &[0]), [1, 2].into());
}

#[test]
fn diverged_lanes_take_turns_in_any_order() {
    let body = |sync: &str| {
        format!(
            "setp.eq.u32 %p1, %r90, 0;\n@%p1 bra wait;\nst.global.b32 [%rd90], 1;\nwait:\n{sync}\n\
             @!%p1 bra end;\nst.global.b32 [%rd90], 2;\nend:"
        )
    };
    assert_eq!(
        results(&body("bar.warp.sync 0xffffffff;"), 32, &[0]),
        [2].into()
    );
    assert_eq!(results(&body(""), 32, &[0]), [1, 2].into());
}

#[test]
fn a_schedule_is_the_same_every_time() {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 data) {{\n.reg .b32 %r<4>;\n.reg .b64 %rd<2>;\n\
         ld.param.u64 %rd1, [data];\nmov.u32 %r1, %tid.x;\nst.global.b32 [%rd1], %r1;\nret;\n}}"
    );
    for number in 0..8 {
        let options = Options::default().schedule(number);
        assert_eq!(
            run(&text, 96, &[0], &options),
            run(&text, 96, &[0], &options)
        );
    }
    assert_eq!(Options::default().schedule(1).copies, CopyMoment::Earliest);
    assert_ne!(Options::default().schedule(2).seed, 0);
}

/// Products of ones by ones, and of zeros where `between` makes A of them; `wait` and `end` are behind the product.
fn product(between: &str, wait: &str, end: &str) -> String {
    format!(
        ".shared .align 1024 .b8 a[2048];\n.shared .align 1024 .b8 b[256];\n.reg .b32 %d<4>;\n\
         shl.b32 %r1, %r90, 4;\nmov.b32 %r2, a;\nadd.u32 %r3, %r2, %r1;\nmov.b32 %r4, b;\nadd.u32 %r5, %r4, %r1;\n\
         setp.lt.u32 %p1, %r90, 16;\n\
         st.shared.v4.b32 [%r3], {{0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80}};\n\
         @%p1 st.shared.v4.b32 [%r5], {{0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80}};\n\
         mov.b32 %d0, 0x40000000;\nfence.proxy.async;\nbar.sync 0;\n\
         cvt.u64.u32 %rd1, %r2;\nshr.u64 %rd1, %rd1, 4;\nor.b64 %rd1, %rd1, 0xc000001000010000;\n\
         cvt.u64.u32 %rd2, %r4;\nshr.u64 %rd2, %rd2, 4;\nor.b64 %rd2, %rd2, 0xc000001000010000;\n\
         wgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%d0,%d1,%d2,%d3}}, %rd1, %rd2, 0, 1, 1, 0, 0;\n\
         wgmma.commit_group.sync.aligned;\n{between}\n{wait}\ncvt.rzi.u32.f32 %r6, %d0;\n{end}\n\
         setp.eq.u32 %p2, %r90, 0;\n@%p2 st.global.b32 [%rd90], %r6;"
    )
}

#[test]
fn a_product_takes_place_at_any_time_before_the_wait() {
    let run = |body: &str| results(body, 128, &[0]);
    let (wait, zeros) = (
        "wgmma.wait_group.sync.aligned 0;",
        "st.shared.v4.b32 [%r3], {0, 0, 0, 0};",
    );
    assert_eq!(run(&product("", wait, "")), [16].into());
    assert_eq!(run(&product("", "", wait)), [2, 16].into());
    assert_eq!(run(&product(zeros, wait, "")), [0, 16].into());
}

#[test]
fn any_lane_may_be_elected() {
    let body = "elect.sync %r1|%p1, 0xf0;\nelect.sync %r2|%p2, 0xf0;\nsetp.ne.u32 %p3, %r1, %r2;\n\
                @%p3 trap;\n@%p1 st.global.b32 [%rd90], %r1;";
    let body = format!(
        "setp.lt.u32 %p9, %r90, 8;\nsetp.ge.u32 %p8, %r90, 4;\nand.pred %p9, %p9, %p8;\n@!%p9 exit;\n{body}"
    );
    assert_eq!(results(&body, 32, &[0]), [4, 5, 6, 7].into());
}
