//! The check for races: for each way to order two accesses a kernel without it, which is reported,
//! and a twin that has it.

use super::{ErrorKind, HEADER, Memory, Module, Options, SimError, kernel};
use crate::sim::Act;

struct Setup {
    grid: u32,
    threads: u32,
    bytes: u64,
}

fn run_with(text: &str, setup: &Setup) -> Result<Vec<u32>, SimError> {
    let mut memory = Memory::new();
    let data = memory.alloc(setup.bytes, "data")?;
    memory.write(data, &vec![0; setup.bytes as usize])?;
    let options = Options {
        races: true,
        step_limit: 1 << 16,
        ..Options::default()
    };
    let (grid, block) = ([setup.grid, 1, 1], [setup.threads, 1, 1]);
    let params = data.to_le_bytes();
    Module::parse(text)?.launch("k", grid, block, 0, &params, &mut memory, &options)?;
    let bytes = memory.read(data, setup.bytes)?;
    let words = bytes.chunks_exact(4);
    Ok(words
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect())
}

/// Runs a body of one block; `%r5` is the shared address of the thread's word, `%r6` that of the
/// next thread's, `%rd5` the address of the thread's word in global memory.
pub(super) fn run(body: &str, threads: u32) -> Result<Vec<u32>, SimError> {
    run_blocks(body, 1, threads)
}

fn run_blocks(body: &str, grid: u32, threads: u32) -> Result<Vec<u32>, SimError> {
    let prologue = format!(
        ".shared .align 16 .b8 s[4096];\nmov.b32 %r4, s;\nmov.u32 %r90, %tid.x;\nmad.lo.u32 %r5, %r90, 4, %r4;\n\
         add.u32 %r6, %r90, 1;\nrem.u32 %r6, %r6, {threads};\nmad.lo.u32 %r6, %r6, 4, %r4;\n\
         mul.wide.u32 %rd5, %r90, 4;\nadd.u64 %rd5, %rd5, %rd90;\nsetp.eq.u32 %p5, %r90, 0;\n\
         mov.u32 %r7, %ctaid.x;\nst.shared.b32 [%r5], 0;\nbar.sync 0;\n"
    );
    let setup = Setup {
        grid,
        threads,
        bytes: 4096,
    };
    run_with(&kernel(&format!("{prologue}{body}")), &setup)
}

/// The two acts of a race, the earlier first.
fn race(result: Result<Vec<u32>, SimError>) -> (Act, Act) {
    match result.expect_err("there is a race").kind {
        ErrorKind::Race { first, second, .. } => (first.act, second.act),
        other => panic!("{other}"),
    }
}

const STORE: &str = "st.shared.b32 [%r5], %r90;\n";
const LOAD_NEXT: &str = "ld.shared.b32 %r8, [%r6];\nst.global.b32 [%rd5], %r8;\n";

#[test]
fn a_barrier_orders_what_threads_of_a_block_share() {
    let body = |sync: &str| format!("{STORE}{sync}\n{LOAD_NEXT}");
    let result = run(&body("bar.sync 0;"), 128).unwrap();
    assert_eq!(result[..3], [1, 2, 3]);
    assert_eq!(result[127], 0);
    assert_eq!(race(run(&body(""), 128)), (Act::Write, Act::Read));
    // A warp's barrier is enough for the warp, and no more.
    let warp = "bar.warp.sync 0xffffffff;";
    assert!(run(&body(warp), 32).is_ok());
    let across = race(run(&body(warp), 64));
    assert_eq!(across, (Act::Read, Act::Write), "warp 0 comes first");
    assert_eq!(race(run(&body(""), 32)), (Act::Write, Act::Read));
    // A shuffle brings lanes together, and orders no memory.
    let shuffle = "shfl.sync.idx.b32 %r9, %r90, 0, 31, -1;";
    assert_eq!(race(run(&body(shuffle), 32)), (Act::Write, Act::Read));
}

#[test]
fn the_next_round_must_not_overwrite_what_is_still_read() {
    let round = |sync: &str| format!("{STORE}bar.sync 0;\n{LOAD_NEXT}{sync}\n");
    let body = |sync| round(sync).repeat(3);
    assert!(run(&body("bar.sync 0;"), 96).is_ok());
    assert_eq!(race(run(&body(""), 96)), (Act::Read, Act::Write));
}

#[test]
fn every_reader_counts() {
    // All threads read word 3, of which the last warp is not waited for.
    let body = |count: &str| {
        format!(
            "{STORE}bar.sync 0;\nld.shared.b32 %r8, [s+12];\nst.global.b32 [%rd5], %r8;\n\
             setp.ge.u32 %p1, %r90, 96;\n@%p1 bra end;\nbar.sync 1, 96;\nend:\n{count}\n\
             @%p5 st.shared.b32 [s+12], 9;"
        )
    };
    assert_eq!(race(run(&body(""), 128)), (Act::Read, Act::Write));
    assert!(run(&body("bar.sync 2, 128;"), 128).is_ok());
    assert!(run(&body(""), 96).is_ok());
}

#[test]
fn named_barriers_order_those_who_take_part() {
    let body = |producer: &str, consumer: &str| {
        format!(
            "setp.ge.u32 %p1, %r90, 32;\n@%p1 bra consume;\nst.shared.b32 [%r5], %r90;\n{producer}\nbra end;\n\
             consume:\n{consumer}\nld.shared.b32 %r8, [%r5+-128];\nst.global.b32 [%rd5], %r8;\nend:"
        )
    };
    let (arrive, sync) = ("bar.arrive 1, 64;", "bar.sync 1, 64;");
    assert_eq!(run(&body(arrive, sync), 64).unwrap()[32..35], [0, 1, 2]);
    assert!(run(&body(sync, sync), 64).is_ok());
    // Who only arrives learns nothing.
    let answer = |own: &str, other: &str| {
        format!(
            "setp.ge.u32 %p1, %r90, 32;\n@%p1 bra other;\n{own}\nld.shared.b32 %r8, [%r5+128];\n\
             st.global.b32 [%rd5], %r8;\nbra end;\nother:\nst.shared.b32 [%r5], %r90;\n{other}\nend:"
        )
    };
    assert!(run(&answer(sync, arrive), 64).is_ok());
    let Err(error) = run(&answer(arrive, sync), 64) else {
        panic!()
    };
    assert!(matches!(
        error.kind,
        ErrorKind::Race { .. } | ErrorKind::Uninitialised { .. }
    ));
}

#[test]
fn threads_that_left_were_waited_for() {
    let body = "setp.ge.u32 %p1, %r90, 32;\nst.shared.b32 [%r5], %r90;\n@%p1 exit;\nbar.sync 0;\n\
                ld.shared.b32 %r8, [%r5+128];\nst.global.b32 [%rd5], %r8;";
    assert_eq!(run(body, 64).unwrap()[0], 32);
}

#[test]
fn a_counted_barrier_does_not_wait_for_threads_that_left() {
    let body = |barrier: &str| {
        format!(
            "setp.lt.u32 %p1, %r90, 32;\nst.shared.b32 [%r5], %r90;\n@%p1 exit;\n{barrier}\n\
             ld.shared.b32 %r8, [%r5+-128];\nst.global.b32 [%rd5], %r8;"
        )
    };
    assert_eq!(run(&body("bar.sync 0;"), 64).unwrap()[32], 0);
    let counted = run(&body("bar.sync 1, 32;"), 64);
    assert_eq!(race(counted), (Act::Write, Act::Read));
}

#[test]
fn an_aligned_barrier_wants_the_whole_warp() {
    let body = |barrier: &str, exit: &str| {
        format!("and.b32 %r8, %r90, 63;\nsetp.ge.u32 %p1, %r8, 40;\n{exit}\n{barrier}\nend:")
    };
    for (barrier, exit, threads, legal) in [
        ("bar.sync 0;", "@%p1 exit;", 64, false),
        ("bar.sync 0;", "@%p1 bra end;", 64, false),
        ("barrier.sync.aligned 0;", "@%p1 exit;", 128, false),
        ("bar.red.popc.u32 %r9, 0, %p1;", "@%p1 exit;", 64, false),
        ("bar.arrive 1, 128;", "@%p1 exit;", 64, false),
        // Not aligned, whole warps that leave, a warp that is not whole to begin with.
        ("barrier.sync 0;", "@%p1 exit;", 64, true),
        (
            "bar.sync 0;",
            "setp.ge.u32 %p1, %r90, 32;\n@%p1 exit;",
            64,
            true,
        ),
        ("bar.sync 0;", "", 40, true),
    ] {
        let result = run(&body(barrier, exit), threads);
        match legal {
            true => assert!(result.is_ok(), "{barrier} {exit}"),
            false => assert!(
                matches!(
                    result.as_ref().map_err(|error| &error.kind),
                    Err(ErrorKind::BarrierAfterExit { here: 0xff, left })
                        if *left == !0xff
                ),
                "{barrier} {exit}: {result:?}"
            ),
        }
    }
}

#[test]
fn parts_of_a_word_are_bytes_of_their_own() {
    let body = |scale: u32| {
        format!(
            "mad.lo.u32 %r8, %r90, {scale}, %r4;\nst.shared.b16 [%r8], 7;\nbar.sync 0;\n{}",
            "ld.shared.b16 %rs1, [%r8];\nst.global.b16 [%rd5], %rs1;"
        )
    };
    assert!(run(&body(2), 64).is_ok());
    // One value by one instruction: a flag that all threads set.
    assert!(run(&body(0), 64).is_ok());
    let other_values = "st.shared.b32 [s], %r90;";
    assert_eq!(race(run(other_values, 2)), (Act::Write, Act::Write));
}

const COPY: &str = "shl.b32 %r8, %r90, 4;\nadd.u32 %r9, %r8, %r4;\ncvt.u64.u32 %rd8, %r8;\nadd.u64 %rd8, %rd8, %rd90;\n\
     cp.async.cg.shared.global [%r9], [%rd8], 16;\ncp.async.commit_group;\n";

#[test]
fn a_copy_is_ordered_by_the_wait_and_then_by_a_barrier() {
    let body = |wait: &str, sync: &str| {
        format!(
            "{COPY}{wait}\n{sync}\nxor.b32 %r10, %r9, 16;\nld.shared.b32 %r8, [%r10];\nadd.u64 %rd5, %rd5, 2048;\n\
             st.global.b32 [%rd5], %r8;"
        )
    };
    let (wait, sync) = ("cp.async.wait_group 0;", "bar.sync 0;");
    assert!(run(&body(wait, sync), 64).is_ok());
    assert_eq!(race(run(&body(wait, ""), 64)), (Act::CopyWrite, Act::Read));
    // The check for copies in flight sees this one first.
    let Err(error) = run(&body("", sync), 64) else {
        panic!()
    };
    assert!(matches!(error.kind, ErrorKind::PendingCopy { .. }));
}

#[test]
fn a_copy_must_not_overwrite_what_is_still_read() {
    let body = |sync: &str| {
        format!(
            "{STORE}bar.sync 0;\nadd.u64 %rd5, %rd5, 2048;\n{LOAD_NEXT}{sync}\n{COPY}cp.async.wait_all;\nbar.sync 0;"
        )
    };
    assert!(run(&body("bar.sync 0;"), 64).is_ok());
    assert_eq!(race(run(&body(""), 64)).1, Act::CopyWrite);
}

#[test]
fn the_source_of_a_copy_may_not_change_before_the_wait() {
    let body = |before: &str, after: &str| {
        format!("{COPY}{before}\nst.global.b32 [%rd8], 5;\n{after}\nbar.sync 0;")
    };
    let wait = "cp.async.wait_all;";
    assert!(run(&body(wait, ""), 32).is_ok());
    assert_eq!(race(run(&body("", wait), 32)), (Act::CopyRead, Act::Write));
}

#[test]
fn copies_that_nobody_waits_for() {
    let kind = |body: &str| run(body, 32).expect_err("copies in flight").kind;
    let ErrorKind::CopiesInFlight { committed, copy } = kind(COPY) else {
        panic!()
    };
    assert!(committed && copy.instruction.starts_with("cp.async.cg"));
    let uncommitted = COPY.replace("cp.async.commit_group;\n", "");
    let ErrorKind::CopiesInFlight { committed, .. } = kind(&uncommitted) else {
        panic!()
    };
    assert!(!committed);
    for end in ["cp.async.wait_all;", "cp.async.wait_group 0;"] {
        assert!(run(&format!("{COPY}{end}"), 32).is_ok());
    }
    // A group without copies is nothing to wait for.
    assert!(run("cp.async.commit_group;", 32).is_ok());
}

#[test]
fn blocks_run_in_no_order() {
    let own = "mad.lo.u32 %r8, %r7, 32, %r90;\nmul.wide.u32 %rd5, %r8, 4;\nadd.u64 %rd5, %rd5, %rd90;\n\
               st.global.b32 [%rd5], %r8;";
    assert_eq!(run_blocks(own, 3, 32).unwrap()[95], 95);
    let shared = "add.u32 %r8, %r7, %r90;\nmul.wide.u32 %rd5, %r8, 4;\nadd.u64 %rd5, %rd5, %rd90;\n\
                  st.global.b32 [%rd5], %r7;";
    assert_eq!(race(run_blocks(shared, 2, 32)), (Act::Write, Act::Write));
    assert!(run_blocks(shared, 1, 32).is_ok());
    let read = "@%p5 ld.global.b32 %r8, [%rd90+4];\nsetp.eq.u32 %p1, %r7, 1;\n@%p1 st.global.b32 [%rd90+4], 1;";
    assert_eq!(race(run_blocks(read, 2, 32)), (Act::Read, Act::Write));
}

#[test]
fn atomics_meet() {
    let add = "red.global.add.u32 [%rd90], 1;";
    assert_eq!(run_blocks(add, 3, 64).unwrap()[0], 192);
    let plain = format!("{add}\nld.global.b32 %r8, [%rd90];");
    assert_eq!(race(run_blocks(&plain, 1, 64)).0, Act::Update);
    // An atomic of the block alone is not one for another block.
    let narrow = "atom.relaxed.cta.global.add.u32 %r8, [%rd90], 1;";
    assert!(run_blocks(narrow, 1, 64).is_ok());
    assert_eq!(race(run_blocks(narrow, 2, 64)), (Act::Update, Act::Update));
}

/// An access of the table below: the instruction on `%r8`, whether it writes, whether it is strong.
const ACCESSES: [(&str, bool, bool); 6] = [
    ("ld.SPACE.b32 %r9, [ADDRESS];", false, false),
    ("st.SPACE.b32 [ADDRESS], 5;", true, false),
    ("ld.relaxed.SCOPE.SPACE.b32 %r9, [ADDRESS];", false, true),
    ("st.relaxed.SCOPE.SPACE.b32 [ADDRESS], 6;", true, true),
    (
        "atom.relaxed.SCOPE.SPACE.add.u32 %r9, [ADDRESS], 1;",
        true,
        true,
    ),
    ("red.relaxed.SCOPE.SPACE.add.u32 [ADDRESS], 1;", true, true),
];

/// One thread makes two accesses, another thread a third: it races with either, whichever comes last, and
/// whichever thread comes first.
#[test]
fn an_access_hides_no_earlier_one_of_its_thread() {
    let conflict = |a: (&str, bool, bool), b: (&str, bool, bool)| (a.1 || b.1) && !(a.2 && b.2);
    for (space, address) in [("shared", "s+64"), ("global", "%rd90+64")] {
        for (first, second) in ACCESSES.iter().flat_map(|a| ACCESSES.map(|b| (*a, b))) {
            for third in ACCESSES {
                let text = |access: (&str, bool, bool)| {
                    let text = access.0.replace("SPACE", space).replace("SCOPE", "cta");
                    text.replace("ADDRESS", address)
                };
                let (two, one) = (text(first) + &text(second), text(third));
                let expected = conflict(first, third) || conflict(second, third);
                // Another lane, the earlier warp, the later warp.
                for (who, other) in [(0, 1), (0, 32), (32, 0)] {
                    let body = format!(
                        "setp.ne.u32 %p1, %r90, {who};\n@%p1 bra other;\n{two}\nother:\n\
                         setp.ne.u32 %p1, %r90, {other};\n@%p1 bra end;\n{one}\nend:"
                    );
                    let raced = matches!(
                        run(&body, 64).map_err(|error| error.kind),
                        Err(ErrorKind::Race { .. })
                    );
                    assert_eq!(raced, expected, "{two} against {one}, {who} and {other}");
                }
            }
        }
    }
}

/// A strong access of a wider scope hides no earlier one of a narrower scope.
#[test]
fn an_access_hides_no_earlier_one_of_a_narrower_scope() {
    let add = |scope: &str| format!("red.relaxed.{scope}.global.add.u32 [%rd90], 1;\n");
    for (first, second, races) in [
        ("gpu", "gpu", false),
        ("sys", "gpu", false),
        ("cta", "gpu", true),
        ("gpu", "cta", true),
        ("cta", "sys", true),
    ] {
        let body = format!(
            "setp.eq.u32 %p1, %r7, 1;\n@%p1 bra other;\n{}{}bra end;\nother:\n{}end:",
            add(first),
            add(second),
            add("gpu")
        );
        let result = run_blocks(&body, 2, 1);
        assert_eq!(result.is_err(), races, "{first} {second}");
    }
}

/// Of strong writes that meet in no order each is remembered.
#[test]
fn each_of_the_atomics_counts() {
    let body = |barrier: &str| {
        format!(
            "red.shared.add.u32 [s], 1;\n{barrier}\n@%p5 ld.shared.b32 %r8, [s];\n\
             @%p5 st.global.b32 [%rd5], %r8;\nbar.sync 0;"
        )
    };
    assert_eq!(run(&body("bar.sync 0;"), 96).unwrap()[0], 96);
    // The reader is ordered after the last warp's, not after the one before it.
    let partial = "setp.ge.u32 %p1, %r90, 64;\nsetp.lt.u32 %p2, %r90, 32;\nor.pred %p1, %p1, %p2;\n\
                   @%p1 bar.sync 1, 64;";
    assert_eq!(race(run(&body(partial), 96)), (Act::Update, Act::Read));
    let store = "mov.u32 %r10, 1;\nst.shared.b32 [s], %r10;\n";
    let stores = body(partial).replace("red.shared.add.u32 [s], 1;\n", store);
    assert_eq!(race(run(&stores, 96)), (Act::Write, Act::Read));
}

/// The last block to come, by a counter, adds up what all blocks wrote.
#[test]
fn fences_and_atomics_order_blocks() {
    let body = |fence: &str, order: &str| {
        format!(
            "mul.wide.u32 %rd6, %r7, 4;\nadd.u64 %rd6, %rd6, %rd90;\n@%p5 st.global.b32 [%rd6+16], 5;\n{fence}\n\
             @!%p5 bra end;\natom{order}.global.add.u32 %r8, [%rd90], 1;\n{fence}\nsetp.ne.u32 %p1, %r8, 2;\n\
             @%p1 bra end;\nld.global.v2.b32 {{%r8,%r9}}, [%rd90+16];\nld.global.b32 %r10, [%rd90+24];\n\
             add.u32 %r8, %r8, %r9;\nadd.u32 %r8, %r8, %r10;\nst.global.b32 [%rd90+4], %r8;\nend:"
        )
    };
    for (fence, order) in [
        ("fence.acq_rel.gpu;", ""),
        ("membar.gl;", ""),
        ("", ".acq_rel.gpu"),
    ] {
        assert_eq!(run_blocks(&body(fence, order), 3, 32).unwrap()[1], 15);
    }
    assert_eq!(
        race(run_blocks(&body("", ""), 3, 32)),
        (Act::Write, Act::Read)
    );
    // A fence of the block alone does not reach the others.
    let narrow = run_blocks(&body("fence.acq_rel.cta;", ""), 3, 32);
    assert_eq!(race(narrow), (Act::Write, Act::Read));
}

#[test]
fn acquire_and_release_order_threads() {
    let body = |release: &str, acquire: &str| {
        format!(
            "setp.ge.u32 %p1, %r90, 32;\n@%p1 bra consume;\n@!%p5 bra end;\nst.shared.b32 [s], 7;\n\
             st.{release}.shared.b32 [s+4], 1;\nbra end;\nconsume:\nsetp.ne.u32 %p2, %r90, 32;\n@%p2 bra end;\n\
             again:\nld.{acquire}.shared.b32 %r8, [s+4];\nsetp.ne.u32 %p3, %r8, 1;\n@%p3 bra again;\n\
             ld.shared.b32 %r8, [s];\nst.global.b32 [%rd90], %r8;\nend:"
        )
    };
    assert_eq!(run(&body("release.cta", "acquire.cta"), 64).unwrap()[0], 7);
    let relaxed = run(&body("relaxed.cta", "relaxed.cta"), 64);
    assert_eq!(race(relaxed), (Act::Write, Act::Read));
    let weak = run(&body("weak", "acquire.cta"), 64);
    assert_eq!(race(weak), (Act::Write, Act::Read));
}

#[test]
fn a_race_is_told_in_full() {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 data)\n{{\n.reg .b32 %r<3>;\n.reg .b64 %rd<2>;\n\
         ld.param.u64 %rd1, [data];\nmov.u32 %r1, %tid.x;\n.loc 1 10 3\nst.global.b32 [%rd1], %r1;\n\
         .loc 1 12 5\nld.global.b32 %r2, [%rd1];\nret;\n}}\n.file 1 \"main.cute\"\n"
    );
    let setup = Setup {
        grid: 1,
        threads: 1,
        bytes: 4,
    };
    assert!(run_with(&text, &setup).is_ok());
    let error = run_with(
        &text,
        &Setup {
            threads: 33,
            ..setup
        },
    )
    .unwrap_err();
    let text = error.to_string();
    for part in [
        "main.cute:10:3: data race on byte 0 of `data`: write and an earlier write, in no order",
        "the write by thread (1, 0, 0) of block (0, 0, 0) at `st.global.b32",
        "the earlier write by thread (0, 0, 0) of block (0, 0, 0) at `st.global.b32",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(error.places()[0].0.line, 10);
    assert!(error.help().unwrap().contains("atomic_add"));
}

#[test]
fn all_races_of_a_block_are_told() {
    let body =
        format!("{STORE}{LOAD_NEXT}bar.sync 0;\nst.shared.b32 [%r6], 1;\nst.shared.b32 [%r5], 2;");
    let error = run(&body, 32).unwrap_err();
    assert_eq!(error.others.len(), 1, "{error}");
    let text = error.to_string();
    assert!(text.contains("write, in no order"), "{text}");
    assert!(text.contains("also: data race on byte"), "{text}");
    // One pair of instructions is one race, however often they meet.
    assert_eq!(
        run(&format!("{STORE}{LOAD_NEXT}"), 128)
            .unwrap_err()
            .others
            .len(),
        0
    );
}
