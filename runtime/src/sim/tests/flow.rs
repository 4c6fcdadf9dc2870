//! Divergence, reconvergence, barriers and what lanes do together.

use super::{fault, launch, words, words_of};
use crate::sim::{ErrorKind, Module};

#[test]
fn if_else_and_join() {
    let body = "setp.lt.u32 %p1, %r90, 10;\n@%p1 bra less;\nmov.b32 %r1, 100;\nbra.uni join;\nless:\nmov.b32 %r1, 200;\n\
        join:\nactivemask.b32 %r2;\nadd.u32 %r1, %r1, %r90;\nsetp.eq.u32 %p2, %r2, -1;\n@!%p2 mov.b32 %r1, 0;\nst.global.b32 [%rd92], %r1;";
    let expected: Vec<u32> = (0..32)
        .map(|t| if t < 10 { 200 + t } else { 100 + t })
        .collect();
    assert_eq!(
        words(body, 32).unwrap(),
        expected,
        "and all lanes meet at the join"
    );
}

#[test]
fn lanes_leave_a_loop_one_by_one_and_meet_behind_it() {
    // The exit stands before the loop in the text.
    let body = "mov.b32 %r1, 0;\nbra.uni loop;\nexit:\nactivemask.b32 %r3;\nst.global.b32 [%rd92], %r3;\nret;\n\
        loop:\nsetp.ge.u32 %p1, %r1, %r90;\n@%p1 bra exit;\nadd.u32 %r1, %r1, 1;\nbra.uni loop;";
    assert_eq!(words(body, 32).unwrap(), [u32::MAX; 32]);
}

#[test]
fn nested_divergent_loops() {
    let body = "mov.b32 %r1, 0;\nmov.b32 %r2, 0;\nouter:\nmov.b32 %r3, 0;\ninner:\nadd.u32 %r1, %r1, 1;\nadd.u32 %r3, %r3, 1;\n\
        setp.le.u32 %p1, %r3, %r2;\n@%p1 bra inner;\nadd.u32 %r2, %r2, 1;\nsetp.le.u32 %p2, %r2, %r90;\n@%p2 bra outer;\nst.global.b32 [%rd92], %r1;";
    let expected: Vec<u32> = (0..40).map(|t| (t + 1) * (t + 2) / 2).collect();
    assert_eq!(words(body, 40).unwrap(), expected);
}

#[test]
fn indexed_branches() {
    let body = "and.b32 %r1, %r90, 3;\ntable: .branchtargets a, b, c, d;\nbrx.idx %r1, table;\n\
        a: mov.b32 %r2, 10;\nbra join;\nb: mov.b32 %r2, 11;\nbra join;\nc: mov.b32 %r2, 12;\nbra join;\nd: mov.b32 %r2, 13;\n\
        join: st.global.b32 [%rd92], %r2;";
    let expected: Vec<u32> = (0..64).map(|t| 10 + t % 4).collect();
    assert_eq!(words(body, 64).unwrap(), expected);
    let outside = body.replace("and.b32 %r1, %r90, 3", "mov.b32 %r1, %r90");
    assert_eq!(
        fault(&outside, 8),
        ErrorKind::BranchIndex {
            index: 4,
            targets: 4
        }
    );
}

#[test]
fn guards() {
    let body = "setp.lt.u32 %p1, %r90, 3;\nmov.b32 %r1, 5;\n@%p1 mov.b32 %r1, 6;\n@!%p1 add.u32 %r1, %r1, 2;\n@%p1 exit;\nst.global.b32 [%rd92], %r1;";
    assert_eq!(words(body, 5).unwrap(), [0, 0, 0, 7, 7]);
}

#[test]
fn block_scopes_and_labels_of_their_own() {
    let once = "{\n.reg .b32 x;\nmov.b32 x, 1;\nagain:\nadd.u32 x, x, 1;\nsetp.lt.u32 %p1, x, 5;\n@%p1 bra again;\nadd.u32 %r1, %r1, x;\n}\n";
    let body = format!("mov.b32 %r1, 0;\n{once}{once}st.global.b32 [%rd92], %r1;");
    assert_eq!(words(&body, 1).unwrap(), [10]);
}

const EXCHANGE: &str = ".shared .align 4 .b32 buffer[256];\nmov.b32 %r1, buffer;\nshl.b32 %r2, %r90, 2;\nadd.u32 %r3, %r1, %r2;\n\
    st.shared.b32 [%r3], %r90;\nBARRIER\nxor.b32 %r4, %r2, 0x3fc;\nadd.u32 %r4, %r1, %r4;\nld.shared.b32 %r5, [%r4];\nst.global.b32 [%rd92], %r5;";

#[test]
fn barriers_order_shared_memory() {
    let expected: Vec<u32> = (0..256).rev().collect();
    for barrier in [
        "bar.sync 0;",
        "barrier.sync 0;",
        "barrier.cta.sync.aligned 3, 256;",
        "bar.sync 1, 256;",
    ] {
        assert_eq!(
            words(&EXCHANGE.replace("BARRIER", barrier), 256).unwrap(),
            expected,
            "{barrier}"
        );
    }
    // Without one the first warp reads what nobody has written yet.
    assert!(matches!(
        fault(&EXCHANGE.replace("BARRIER", ""), 256),
        ErrorKind::Uninitialised { .. }
    ));
}

#[test]
fn threads_that_left_are_not_waited_for() {
    let body =
        "setp.ge.u32 %p1, %r90, 40;\n@%p1 bra end;\nbar.sync 0;\nst.global.b32 [%rd92], 1;\nend:";
    let expected: Vec<u32> = (0..128).map(|t| u32::from(t < 40)).collect();
    assert_eq!(words(body, 128).unwrap(), expected);
}

#[test]
fn producers_arrive_and_consumers_wait() {
    let body = ".shared .align 4 .b32 flag;\nsetp.lt.u32 %p1, %r90, 32;\n@%p1 bra produce;\nbar.sync 1, 64;\nld.shared.b32 %r1, [flag];\n\
        st.global.b32 [%rd92], %r1;\nret;\nproduce:\nst.shared.b32 [flag], 7;\nbar.arrive 1, 64;\nst.global.b32 [%rd92], 9;";
    let expected: Vec<u32> = (0..64).map(|t| if t < 32 { 9 } else { 7 }).collect();
    assert_eq!(words(body, 64).unwrap(), expected);
}

#[test]
fn barrier_reductions() {
    let body = "setp.lt.u32 %p1, %r90, 37;\nbar.red.popc.u32 %r1, 0, %p1;\nbar.red.and.pred %p2, 0, %p1;\nbar.red.or.pred %p3, 0, %p1;\n\
        @%p2 add.u32 %r1, %r1, 1000;\n@%p3 add.u32 %r1, %r1, 2000;\nst.global.b32 [%rd92], %r1;";
    assert_eq!(words(body, 96).unwrap(), [2037; 96]);
}

#[test]
fn barrier_divergence_names_both_places() {
    let body = "setp.lt.u32 %p1, %r90, 7;\n@%p1 bra a;\nbar.sync 0;\nbra end;\na:\nbar.sync 1;\nend:\nst.global.b32 [%rd92], 1;";
    let ErrorKind::BarrierDivergence { waiters } = fault(body, 32) else {
        panic!()
    };
    let mut lanes: Vec<(u32, &str)> = waiters
        .iter()
        .map(|w| (w.lanes, &w.instruction[..]))
        .collect();
    lanes.sort();
    assert_eq!(lanes, [(0x7f, "bar.sync 1"), (!0x7f, "bar.sync 0")]);
    // The same with barriers that need not be aligned is right as far as each completes.
    let twin = "setp.lt.u32 %p1, %r90, 32;\n@%p1 bra a;\nbarrier.sync 2, 32;\nbra end;\na:\nbarrier.sync 1, 32;\nend:\nst.global.b32 [%rd92], 1;";
    assert_eq!(words(twin, 64).unwrap(), [1; 64]);
}

#[test]
fn deadlock_says_who_waits() {
    let body = "setp.lt.u32 %p1, %r90, 32;\n@%p1 bra a;\nbar.sync 0;\nbra end;\na:\nbar.sync 1;\nend:\nst.global.b32 [%rd92], 1;";
    let error = words(body, 64).unwrap_err();
    let ErrorKind::Deadlock {
        arrived,
        expected,
        waiters,
        ..
    } = &error.kind
    else {
        panic!("{error}")
    };
    assert_eq!((*arrived, *expected, waiters.len()), (32, 64, 2));
    assert!(
        error.to_string().contains("warp 0 at `bar.sync 1`"),
        "{error}"
    );
    assert!(
        error.to_string().contains("warp 1 at `bar.sync 0`"),
        "{error}"
    );
}

#[test]
fn barrier_operands_are_checked() {
    let barrier = |text: &str| fault(&format!("{text}\nst.global.b32 [%rd92], 1;"), 64);
    assert!(matches!(
        barrier("bar.sync 16;"),
        ErrorKind::Barrier {
            barrier: 16,
            what: "resource",
            ..
        }
    ));
    assert!(matches!(
        barrier("bar.sync 0, 33;"),
        ErrorKind::Barrier {
            what: "thread count",
            found: 33,
            ..
        }
    ));
    assert!(matches!(
        barrier("bar.sync 0, 96;"),
        ErrorKind::Deadlock {
            arrived: 64,
            expected: 96,
            ..
        }
    ));
}

#[test]
fn barriers_of_different_counts_do_not_mix() {
    let body = "setp.lt.u32 %p1, %r90, 32;\n@%p1 bra a;\nbar.sync 1, 64;\nbra end;\na:\nbar.sync 1OTHER;\nend:\nst.global.b32 [%rd92], 1;";
    assert!(words(&body.replace("OTHER", ", 64"), 64).is_ok());
    let absent = fault(&body.replace("OTHER", ""), 64).to_string();
    let found = "thread count: expected none, as earlier arrivals, found 64";
    assert!(absent.contains(found), "{absent}");
    let mixed = fault(&body.replace("OTHER", ", 96"), 64).to_string();
    let found = "thread count: expected 96, as earlier arrivals, found 64";
    assert!(mixed.contains(found), "{mixed}");
    let lanes = fault(
        "and.b32 %r1, %r90, 1;\nbar.sync %r1;\nst.global.b32 [%rd92], 1;",
        32,
    );
    assert!(
        lanes
            .to_string()
            .contains("barrier 0: resource: expected one in all lanes, found 1"),
        "{lanes}"
    );
}

#[test]
fn shuffles_and_votes() {
    let sum = "mov.b32 %r1, %r90;\n".to_owned()
        + &[16, 8, 4, 2, 1]
            .map(|d| format!("shfl.sync.bfly.b32 %r2, %r1, {d}, 31, -1;\nadd.u32 %r1, %r1, %r2;\n"))
            .concat()
        + "st.global.b32 [%rd92], %r1;";
    assert_eq!(words(&sum, 32).unwrap(), [496; 32]);
    let down = "shfl.sync.down.b32 %r1|%p1, %r90, 1, 31, -1;\n@!%p1 mov.b32 %r1, 77;\nst.global.b32 [%rd92], %r1;";
    let expected: Vec<u32> = (1..32).chain([77]).collect();
    assert_eq!(words(down, 32).unwrap(), expected);
    let ballot = "setp.lt.u32 %p1, %r90, 4;\nvote.sync.ballot.b32 %r1, %p1, -1;\nvote.sync.all.pred %p2, %p1, -1;\n\
        vote.sync.any.pred %p3, !%p1, -1;\n@%p2 add.u32 %r1, %r1, 100;\n@%p3 add.u32 %r1, %r1, 1000;\nst.global.b32 [%rd92], %r1;";
    assert_eq!(words(ballot, 32).unwrap(), [1015; 32]);
    let reduce = "redux.sync.max.s32 %r1, %r90, -1;\nredux.sync.add.u32 %r2, %r90, -1;\nmad.lo.u32 %r1, %r1, 1000, %r2;\nst.global.b32 [%rd92], %r1;";
    assert_eq!(words(reduce, 32).unwrap(), [31496; 32]);
    let equal = "shr.u32 %r1, %r90, 3;\nmatch.any.sync.b32 %r2, %r1, -1;\nmatch.all.sync.b32 %r3|%p1, %r1, -1;\nor.b32 %r2, %r2, %r3;\nst.global.b32 [%rd92], %r2;";
    let expected: Vec<u32> = (0..32).map(|t| 0xff << (t / 8 * 8)).collect();
    assert_eq!(words(equal, 32).unwrap(), expected);
    let elect = "elect.sync _|%p1, -1;\nselp.b32 %r1, 1, 0, %p1;\nst.global.b32 [%rd92], %r1;";
    assert_eq!(words(elect, 32).unwrap().iter().sum::<u32>(), 1);
}

#[test]
fn sync_instructions_wait_for_their_lanes() {
    // The lanes come to the shuffle by two ways of different length.
    let body = "setp.lt.u32 %p1, %r90, 5;\nmov.b32 %r1, %r90;\n@%p1 bra meet;\nadd.u32 %r1, %r1, 0;\nadd.u32 %r1, %r1, 0;\n\
        meet:\nshfl.sync.idx.b32 %r2, %r1, 31, 31, -1;\nst.global.b32 [%rd92], %r2;";
    assert_eq!(words(body, 32).unwrap(), [31; 32]);
    // Halves of a warp meet by themselves.
    let halves = "setp.lt.u32 %p1, %r90, 16;\nselp.b32 %r3, 0xffff, 0xffff0000, %p1;\nredux.sync.add.u32 %r1, %r90, %r3;\nst.global.b32 [%rd92], %r1;";
    let expected: Vec<u32> = (0..32).map(|t| if t < 16 { 120 } else { 376 }).collect();
    assert_eq!(words(halves, 32).unwrap(), expected);
    let apart = "setp.lt.u32 %p1, %r90, 5;\n@%p1 bra a;\nshfl.sync.idx.b32 %r2, %r1, 31, 31, -1;\nbra end;\na:\nshfl.sync.idx.b32 %r2, %r1, 0, 31, -1;\nend:\nst.global.b32 [%rd92], %r2;";
    assert!(matches!(
        fault(apart, 32),
        ErrorKind::LaneDivergence {
            needed: u32::MAX,
            ..
        }
    ));
    let stranger = "setp.lt.u32 %p1, %r90, 5;\n@%p1 bra end;\nvote.sync.any.pred %p2, 1, 0x1f;\nend:\nst.global.b32 [%rd92], 1;";
    assert!(matches!(
        fault(stranger, 32),
        ErrorKind::Value {
            what: "member mask",
            ..
        }
    ));
}

#[test]
fn shuffles_read_lanes_that_are_there() {
    // Lanes 0 to 15 are left: they may exchange among each other, and not read the others.
    let body = "setp.ge.u32 %p1, %r90, 16;\n@%p1 exit;\nmov.b32 %r1, %r90;\n\
        shfl.sync.bfly.b32 %r2, %r1, MASK, 31, -1;\nst.global.b32 [%rd92], %r2;";
    let among = words(&body.replace("MASK", "1"), 32).unwrap();
    assert_eq!(among[..4], [1, 0, 3, 2]);
    let ErrorKind::LaneDivergence { found, others, .. } = fault(&body.replace("MASK", "16"), 32)
    else {
        panic!()
    };
    assert_eq!(found, 0xffff);
    assert!(
        others.contains("lane 16, which it reads, has left"),
        "{others}"
    );
}

#[test]
fn matrix_instructions_need_the_whole_warp() {
    let body = ".shared .align 16 .b8 tile[128];\nLEAVE\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [tile];\nst.global.b32 [%rd92], %r1;";
    let left = body.replace("LEAVE", "setp.eq.u32 %p1, %r90, 3;\n@%p1 exit;");
    let ErrorKind::LaneDivergence { found, others, .. } = fault(&left, 32) else {
        panic!()
    };
    assert_eq!(found, !8);
    assert!(others.contains("0x00000008 have left"), "{others}");
}

#[test]
fn spinning_on_another_lane_or_warp_ends() {
    let lanes = ".shared .align 4 .b32 flag;\nst.shared.b32 [flag], 0;\nbar.warp.sync -1;\nsetp.eq.u32 %p1, %r90, 0;\n@!%p1 bra set;\n\
        wait:\nld.volatile.shared.b32 %r1, [flag];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra wait;\nbra end;\nset:\nst.volatile.shared.b32 [flag], 1;\nend:\nst.global.b32 [%rd92], 1;";
    assert_eq!(words(lanes, 32).unwrap(), [1; 32]);
    let warps = "setp.eq.u32 %p1, %r90, 0;\n@!%p1 bra set;\nwait:\nld.relaxed.gpu.global.b32 %r1, [%rd90+128];\n\
        setp.eq.u32 %p2, %r1, 0;\n@%p2 bra wait;\nset:\nst.release.gpu.global.b32 [%rd92], 1;";
    assert_eq!(words(warps, 33).unwrap()[32], 1);
}

#[test]
fn endless_loops_hit_the_step_limit() {
    let module = Module::parse(&super::kernel("again: bra.uni again;")).unwrap();
    let options = crate::sim::Options {
        step_limit: 1000,
        ..Default::default()
    };
    let error = module
        .launch(
            "k",
            [4, 1, 1],
            [64, 1, 1],
            0,
            &[0; 8],
            &mut crate::sim::Memory::new(),
            &options,
        )
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::StepLimit { limit: 1000 });
    assert_eq!(error.location.unwrap().block, Some([0, 0, 0]));
}

#[test]
fn special_registers_in_three_dimensions() {
    let text = super::kernel(
        "mov.u32 %r1, %tid.y;\nmov.u32 %r2, %tid.z;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %ntid.y;\nmad.lo.u32 %r5, %r2, %r4, %r1;\n\
         mad.lo.u32 %r5, %r5, %r3, %r90;\nmov.u32 %r6, %ctaid.y;\nmov.u32 %r7, %nctaid.x;\nmov.u32 %r8, %ctaid.x;\nmad.lo.u32 %r6, %r6, %r7, %r8;\n\
         mad.lo.u32 %r6, %r6, 30, %r5;\nmul.wide.u32 %rd1, %r6, 4;\nadd.u64 %rd1, %rd1, %rd90;\nmov.u32 %r9, %laneid;\nst.global.b32 [%rd1], %r9;",
    );
    let module = Module::parse(&text).unwrap();
    let mut memory = crate::sim::Memory::new();
    let data = memory.alloc(4 * 180, "data").unwrap();
    module
        .launch(
            "k",
            [3, 2, 1],
            [5, 3, 2],
            0,
            &data.to_le_bytes(),
            &mut memory,
            &Default::default(),
        )
        .unwrap();
    let found = memory.read(data, 720).unwrap();
    for (i, bytes) in found.chunks_exact(4).enumerate() {
        assert_eq!(bytes[0] as usize, i % 30, "thread {i}");
    }
}

#[test]
fn atomics() {
    let run = |operation: &str, start: u32| {
        let mut data = start.to_le_bytes().to_vec();
        launch(&format!("{operation}\n"), 64, &mut data).unwrap();
        u32::from_le_bytes(data.try_into().unwrap())
    };
    assert_eq!(run("atom.global.add.u32 %r1, [%rd90], %r90;", 5), 5 + 2016);
    assert_eq!(
        run("red.relaxed.gpu.global.max.s32 [%rd90], %r90;", 0xffff_fff0),
        63
    );
    assert_eq!(run("atom.global.inc.u32 %r1, [%rd90], 9;", 0), 4);
    assert_eq!(run("atom.global.dec.u32 %r1, [%rd90], 9;", 0), 6);
    assert_eq!(
        run(
            "cvt.rn.f32.u32 %r2, %r90; red.global.add.f32 [%rd90], %r2;",
            0
        ),
        2016f32.to_bits()
    );
    assert_eq!(
        run("atom.acq_rel.gpu.global.cas.b32 %r1, [%rd90], %r90, 7;", 3),
        7
    );
    assert_eq!(
        run(
            "mov.b32 %r1, 0x3c004000; red.global.add.noftz.f16x2 [%rd90], %r1;",
            0
        ),
        0x5400_5800
    );
    assert_eq!(run("atom.and.b32 %r1, [%rd90], 0xff;", 0x1234), 0x34);
    let shared = ".shared .align 4 .b32 sum;\nsetp.eq.u32 %p1, %r90, 0;\n@%p1 st.shared.b32 [sum], 0;\nbar.sync 0;\n\
        atom.shared.add.u32 %r1, [sum], 1;\nbar.sync 0;\nld.shared.b32 %r2, [sum];\nst.global.b32 [%rd92], %r2;";
    assert_eq!(words_of(shared, 96, 0, &[0; 96]).unwrap(), [96; 96]);
}

#[test]
fn atomics_of_vectors() {
    let run = |operation: &str| {
        let mut data = vec![0; 16];
        let launched = launch(&format!("{operation}\n"), 4, &mut data);
        let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
        launched.map(|_| data.chunks(4).map(word).collect::<Vec<_>>())
    };
    let floats = "cvt.rn.f32.u32 %r1, %r90; mov.b32 %r2, 0f3f800000; mov.b32 %r3, 0f40000000; mov.b32 %r4, 0f40400000;\n";
    let sums = [6f32, 4.0, 8.0, 12.0].map(f32::to_bits);
    let four = "red.relaxed.gpu.global.add.v4.f32 [%rd90], {%r1, %r2, %r3, %r4};";
    assert_eq!(run(&format!("{floats}{four}")).unwrap(), sums);
    let two = "red.global.add.v2.f32 [%rd90+8], {%r1, %r2};";
    let found = run(&format!("{floats}{two}")).unwrap();
    assert_eq!(found, [0, 0, sums[0], sums[1]]);
    let halves = "mov.b32 %r1, 0x3c004000; mov.b32 %r2, 0x3c003c00;\n";
    let pairs = "red.global.add.noftz.v2.f16x2 [%rd90], {%r1, %r2};";
    let found = run(&format!("{halves}{pairs}")).unwrap();
    assert_eq!(found[..2], [0x4400_4800, 0x4400_4400]);
    // What was there before each lane's own sum, of both elements.
    let old = "setp.eq.u32 %p1, %r90, 0; @!%p1 exit;\natom.global.add.v2.f32 {%r5, %r6}, [%rd90], {%r2, %r3};\natom.global.add.v2.f32 {%r5, %r6}, [%rd90], {%r2, %r3};\nst.global.v2.b32 [%rd90+8], {%r5, %r6};";
    let found = run(&format!("{floats}{old}")).unwrap();
    assert_eq!(found, [2f32, 4.0, 1.0, 2.0].map(f32::to_bits));
    for (wrong, why) in [
        (
            "red.global.add.v4.f32 [%rd90+8], {%r1, %r2, %r3, %r4};",
            "16",
        ),
        (
            "red.shared.add.v2.f32 [%r1], {%r1, %r2};",
            "red.shared.add.v2.f32",
        ),
        (
            "red.global.add.v2.u32 [%rd90], {%r1, %r2};",
            "red.global.add.v2.u32",
        ),
        (
            "red.global.add.v8.f32 [%rd90], {%r1, %r2};",
            "red.global.add.v8.f32",
        ),
    ] {
        let error = run(&format!("{floats}{wrong}")).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn seeds_change_what_is_not_ordered() {
    // The last warp to write wins; which one that is, is a race.
    let body = ".shared .align 4 .b32 last;\nst.shared.b32 [last], %r90;\nbar.sync 0;\nld.shared.b32 %r1, [last];\nst.global.b32 [%rd90], %r1;";
    let module = Module::parse(&super::kernel(body)).unwrap();
    let run = |seed| {
        let mut memory = crate::sim::Memory::new();
        let data = memory.alloc(4, "data").unwrap();
        let options = crate::sim::Options {
            seed,
            ..Default::default()
        };
        module
            .launch(
                "k",
                [1; 3],
                [256, 1, 1],
                0,
                &data.to_le_bytes(),
                &mut memory,
                &options,
            )
            .unwrap();
        memory.read(data, 4).unwrap()[0]
    };
    let winners: std::collections::BTreeSet<u8> = (0..32).map(run).collect();
    assert!(winners.len() > 3, "{winners:?}");
    assert_eq!(run(0), 255);
    assert_eq!(run(7), run(7));
}
