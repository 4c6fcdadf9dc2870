//! `mbarrier`: phases, what they order, and each misuse beside its clean twin.

use super::{ErrorKind, Memory, Module, Options, SimError, kernel};
use crate::sim::Act;

/// Runs a body with an object `m` that expects `count` arrivals; `%p5` holds in thread 0, `%r5` is the shared
/// address of the thread's word of `s`, `%rd5` that of its word in global memory.
fn run_in(body: &str, count: u32, threads: u32, schedule: u64) -> Result<Vec<u32>, SimError> {
    let prologue = format!(
        ".shared .align 8 .b64 m;\n.shared .align 16 .b8 s[4096];\nmov.b32 %r4, s;\n\
         mad.lo.u32 %r5, %r90, 4, %r4;\nmul.wide.u32 %rd5, %r90, 4;\nadd.u64 %rd5, %rd5, %rd90;\n\
         setp.eq.u32 %p5, %r90, 0;\n@%p5 mbarrier.init.shared::cta.b64 [m], {count};\nbar.sync 0;\n"
    );
    let mut memory = Memory::new();
    let data = memory.alloc(4096, "data")?;
    memory.write(data, &vec![0; 4096])?;
    let options = Options {
        races: true,
        step_limit: 1 << 16,
        ..Options::default()
    };
    let options = options.schedule(schedule);
    let text = kernel(&format!("{prologue}{body}"));
    let module = Module::parse(&text)?;
    module.launch(
        "k",
        [1; 3],
        [threads, 1, 1],
        0,
        &data.to_le_bytes(),
        &mut memory,
        &options,
    )?;
    let bytes = memory.read(data, 4 * u64::from(threads))?;
    let words = bytes.chunks_exact(4);
    Ok(words
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect())
}

/// The same in many schedules, which all give one result.
fn run(body: &str, count: u32, threads: u32) -> Result<Vec<u32>, SimError> {
    let first = run_in(body, count, threads, 0)?;
    for schedule in 1..20 {
        assert_eq!(run_in(body, count, threads, schedule)?, first, "{schedule}");
    }
    Ok(first)
}

fn fault(body: &str, count: u32, threads: u32) -> ErrorKind {
    run_in(body, count, threads, 0)
        .expect_err("the kernel must fail")
        .kind
}

fn race(body: &str, count: u32, threads: u32) -> (Act, Act) {
    match fault(body, count, threads) {
        ErrorKind::Race { first, second, .. } => (first.act, second.act),
        other => panic!("{other}"),
    }
}

/// Whether every schedule fails, in one way or another.
fn fails(body: &str, count: u32, threads: u32) -> bool {
    (0..20).all(|schedule| run_in(body, count, threads, schedule).is_err())
}

/// Waits for the phase of a parity.
fn wait(parity: u32, label: &str) -> String {
    format!(
        "{label}:\nmbarrier.try_wait.parity.shared.b64 %p1, [m], {parity};\n@!%p1 bra {label};\n"
    )
}

const ARRIVE: &str = "mbarrier.arrive.shared.b64 _, [m];\n";

#[test]
fn states_and_parities_tell_phases() {
    // Bits of the result: by state and by parities, before and after the phase is complete.
    let test = |bit: u32, text: &str| {
        format!(
            "mbarrier.test_wait{text};\nselp.b32 %r1, {}, 0, %p1;\nor.b32 %r2, %r2, %r1;\n",
            1 << bit
        )
    };
    let tests = |first: u32| {
        test(first, ".shared.b64 %p1, [m], %rd1")
            + &test(first + 1, ".parity.shared::cta.b64 %p1, [m], 0")
            + &test(first + 2, ".parity.acquire.cta.shared.b64 %p1, [m], 1")
    };
    let body = format!(
        "mov.b32 %r2, 0;\nmbarrier.arrive.shared.b64 %rd1, [m];\n{}mbarrier.arrive.release.cta.shared::cta.b64 _, \
         [m], 1;\n{}mbarrier.pending_count.b64 %r3, %rd1;\nshl.b32 %r3, %r3, 8;\nor.b32 %r2, %r2, %r3;\n\
         st.global.b32 [%rd5], %r2;",
        tests(0),
        tests(3)
    );
    assert_eq!(run(&body, 2, 1).unwrap(), [0b011_100 | 2 << 8]);
}

#[test]
fn a_phase_orders_what_was_done_before_it() {
    // Warp 0 writes, warp 1 reads.
    let body = |arrive: &str, wait: &str| {
        format!(
            "setp.ge.u32 %p2, %r90, 32;\n@%p2 bra read;\nst.shared.b32 [%r5], %r90;\n{arrive}bra end;\n\
             read:\n{wait}ld.shared.b32 %r8, [%r5+-128];\nst.global.b32 [%rd5], %r8;\nend:"
        )
    };
    let waits = wait(0, "again");
    assert_eq!(
        run(&body(ARRIVE, &waits), 32, 64).unwrap()[32..35],
        [0, 1, 2]
    );
    let polls = waits.replace("try_wait", "test_wait");
    assert_eq!(run(&body(ARRIVE, &polls), 32, 64).unwrap()[63], 31);
    let relaxed = "mbarrier.arrive.relaxed.cta.shared.b64 _, [m];\n";
    assert_eq!(
        race(&body(relaxed, &waits), 32, 64),
        (Act::Write, Act::Read)
    );
    let unordered = waits.replace("parity.", "parity.relaxed.cta.");
    assert_eq!(
        race(&body(ARRIVE, &unordered), 32, 64),
        (Act::Write, Act::Read)
    );
    // The parity of the phase before the first is complete from the beginning.
    let wrong = body(ARRIVE, &wait(1, "again"));
    assert!(fails(&wrong, 32, 64));
    // One arrival stands for the warp only after its lanes have met.
    let one = |sync: &str| body(&format!("{sync}@%p5 {ARRIVE}"), &waits);
    assert!(run(&one("bar.warp.sync -1;\n"), 1, 64).is_ok());
    assert_eq!(race(&one(""), 1, 64), (Act::Write, Act::Read));
}

#[test]
fn two_objects_pass_a_buffer_to_and_fro() {
    // The producer waits until the buffer is empty, the consumer until it is full, four times.
    let body = |empty: &str| {
        format!(
            ".shared .align 8 .b64 e;\n@%p5 mbarrier.init.shared.b64 [e], 32;\nbar.sync 0;\n\
             mov.b32 %r1, 0;\nmov.b32 %r3, 0;\nsetp.ge.u32 %p2, %r90, 32;\n@%p2 bra consume;\nproduce:\n\
             xor.b32 %r2, %r1, 1;\nand.b32 %r2, %r2, 1;\n{empty}\
             mad.lo.u32 %r9, %r1, 100, %r90;\nst.shared.b32 [%r5], %r9;\n{ARRIVE}add.u32 %r1, %r1, 1;\n\
             setp.lt.u32 %p3, %r1, 4;\n@%p3 bra produce;\nbra end;\n\
             consume:\nand.b32 %r2, %r1, 1;\n{full}ld.shared.b32 %r8, [%r5+-128];\nadd.u32 %r3, %r3, %r8;\n\
             mbarrier.arrive.shared.b64 _, [e];\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p3, %r1, 4;\n\
             @%p3 bra consume;\nst.global.b32 [%rd5], %r3;\nend:",
            full = wait(0, "full").replace("[m], 0", "[m], %r2"),
        )
    };
    let empty = wait(0, "empty").replace("[m], 0", "[e], %r2");
    assert_eq!(run(&body(&empty), 32, 64).unwrap()[32..35], [600, 604, 608]);
    assert!(fails(&body(""), 32, 64));
}

#[test]
fn copies_arrive_when_they_are_complete() {
    let copy = |arrive: &str, wait: &str| {
        format!(
            "setp.ge.u32 %p2, %r90, 32;\n@%p2 bra read;\nst.global.b32 [%rd5], %r90;\n\
             cp.async.ca.shared.global [%r5], [%rd5], 4;\n{arrive}bra end;\n\
             read:\n{wait}ld.shared.b32 %r8, [%r5+-128];\nst.global.b32 [%rd5], %r8;\nend:"
        )
    };
    let (counted, waits) = (
        "cp.async.mbarrier.arrive.noinc.shared.b64 [m];\n",
        wait(0, "again"),
    );
    assert_eq!(
        run(&copy(counted, &waits), 32, 64).unwrap()[61..],
        [29, 30, 31]
    );
    // Otherwise the copies add their own arrivals, and those of the threads must come as well.
    let added = format!("cp.async.mbarrier.arrive.shared::cta.b64 [m];\n{ARRIVE}");
    assert_eq!(
        run(&copy(&added, &waits), 32, 64).unwrap()[61..],
        [29, 30, 31]
    );
    // An arrival of the thread alone does not wait for its copy.
    let alone = format!("{ARRIVE}cp.async.wait_all;\n");
    assert_eq!(
        race(&copy(&alone, &waits), 32, 64),
        (Act::CopyWrite, Act::Read)
    );
    let unasked = fault(&copy(counted, ""), 32, 64);
    assert!(
        matches!(unasked, ErrorKind::PendingCopy { .. }),
        "{unasked}"
    );
    // Where the copies happen to be complete, the order is still missing.
    let lucky = run_in(&copy(counted, "bar.warp.sync -1;\n"), 32, 64, 1).unwrap_err();
    assert!(matches!(lucky.kind, ErrorKind::Race { .. }), "{lucky}");
    // What is copied after the arrival is none of its business.
    let late = "cp.async.mbarrier.arrive.noinc.shared.b64 [m];\n\
        cp.async.ca.shared.global [%r5+1024], [%rd5], 4;\n";
    let error = fault(&copy(late, &waits), 32, 64);
    assert!(matches!(error, ErrorKind::CopiesInFlight { .. }), "{error}");
    let ended = format!("{late}cp.async.wait_all;\n");
    assert!(run(&copy(&ended, &waits), 32, 64).is_ok());
}

#[test]
fn bytes_hold_a_phase_open() {
    let body = |bytes: u32| {
        format!(
            "@%p5 mbarrier.arrive.expect_tx.shared.b64 _, [m], 96;\nbar.sync 0;\n\
             mbarrier.test_wait.parity.shared.b64 %p1, [m], 0;\nselp.b32 %r1, 1, 0, %p1;\nbar.sync 0;\n\
             @%p5 mbarrier.expect_tx.relaxed.cta.shared.b64 [m], 32;\n\
             @%p5 mbarrier.complete_tx.shared.b64 [m], {bytes};\n{}add.u32 %r1, %r1, 2;\n\
             st.global.b32 [%rd5], %r1;",
            wait(0, "again")
        )
    };
    assert_eq!(run(&body(128), 1, 32).unwrap(), [2; 32]);
    let error = fault(&body(120), 1, 32);
    let text = error.to_string();
    let ErrorKind::OpenPhases { phases, waiters } = error else {
        panic!("{text}")
    };
    assert_eq!(
        (phases[0].missing, phases[0].bytes, waiters.len()),
        (0, 8, 1)
    );
    assert!(text.contains("lacks 0 of 1 arrivals and 8 bytes"), "{text}");
}

#[test]
fn deadlocks_say_who_waits_for_which_phase() {
    let body = format!(
        "setp.ge.u32 %p2, %r90, 32;\n@%p2 bra other;\n{ARRIVE}{}bra end;\nother:\nbar.sync 1, 64;\nend:\n\
         st.global.b32 [%rd5], 1;",
        wait(0, "again")
    );
    let text = fault(&body, 33, 64).to_string();
    for part in [
        "deadlock: phase 0 of the mbarrier at shared address",
        "lacks 1 of 33 arrivals; waiting: ",
        "warp 0 at `mbarrier.try_wait.parity.shared.b64 %p1, [m], 0`",
        "warp 1 at `bar.sync 1, 64`",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let polling = body.replace("try_wait", "test_wait");
    assert!(matches!(
        fault(&polling, 33, 64),
        ErrorKind::OpenPhases { .. }
    ));
    // Nobody waits for a phase here.
    assert!(matches!(fault(&body, 32, 64), ErrorKind::Deadlock { .. }));
}

#[test]
fn waits_come_back_when_nothing_else_can_go_on() {
    let body = format!(
        "mbarrier.try_wait.parity.shared.b64 %p1, [m], 0, 1000;\n@%p1 bra end;\n{ARRIVE}{}end:\n\
         st.global.b32 [%rd5], 7;",
        wait(0, "again")
    );
    assert_eq!(run(&body, 32, 32).unwrap(), [7; 32]);
}

#[test]
fn phases_expect_less_after_a_drop() {
    let body = format!(
        "@%p5 mbarrier.arrive_drop.shared.b64 _, [m];\n@!%p5 {ARRIVE}{}@%p5 bra end;\n{ARRIVE}{}end:\n\
         st.global.b32 [%rd5], 7;",
        wait(0, "first"),
        wait(1, "second")
    );
    assert_eq!(run(&body, 32, 32).unwrap(), [7; 32]);
    let kept = body.replace("arrive_drop", "arrive");
    assert!(matches!(fault(&kept, 32, 32), ErrorKind::OpenPhases { .. }));
}

#[test]
fn objects_are_made_before_they_are_used() {
    let body = |sync: &str| {
        format!(
            ".shared .align 8 .b64 n;\n@%p5 mbarrier.init.shared.b64 [n], 64;\n{sync}\
             mbarrier.arrive.shared.b64 _, [n];\nst.global.b32 [%rd5], 1;\n"
        )
    };
    assert!(run(&body("bar.sync 0;\n"), 1, 64).is_ok());
    assert_eq!(race(&body(""), 1, 64), (Act::Signal, Act::Signal));
    let twice =
        "bar.sync 0;\n@%p5 mbarrier.inval.shared.b64 [n];\n@%p5 mbarrier.init.shared.b64 [n], 1;\n";
    assert!(run(&(body("bar.sync 0;\n") + twice), 1, 64).is_ok());
}

#[test]
fn misuse_is_refused() {
    let end = "st.global.b32 [%rd5], 1;";
    let wrong = |body: &str, what: &str| {
        let text = fault(&format!("{body}\n{end}"), 3, 1).to_string();
        assert!(text.contains(what), "{body}: {text}");
    };
    assert!(
        run(
            &format!("mbarrier.arrive.noComplete.shared.b64 _, [m], 2;\n{end}"),
            3,
            1
        )
        .is_ok()
    );
    wrong(
        "mbarrier.arrive.noComplete.shared.b64 _, [m], 3;",
        "expected less than 3, of `.noComplete`, found 3",
    );
    wrong(
        "mbarrier.arrive.shared.b64 _, [m], 4;",
        "expected 1 to 3, which the phase waits for, found 4",
    );
    wrong("mbarrier.arrive.shared.b64 _, [m], 0;", "expected 1 to 3");
    wrong("mbarrier.init.shared.b64 [m], 3;", "found one in use");
    wrong(
        "mbarrier.init.shared.b64 [s], 0;",
        "count: expected 1 to 1048575, found 0",
    );
    wrong("mbarrier.init.shared.b64 [s+4], 1;", "misaligned");
    wrong("mbarrier.init.shared.b64 [s+4096], 1;", "out-of-bounds");
    wrong(
        "mbarrier.arrive.shared.b64 _, [s];",
        "expected one that `mbarrier.init` has made, found none",
    );
    wrong(
        "mbarrier.inval.shared.b64 [m];\nmbarrier.inval.shared.b64 [m];",
        "found none",
    );
    wrong(
        "mbarrier.test_wait.parity.shared.b64 %p1, [m], 2;",
        "parity: expected 0 or 1, found 2",
    );
    wrong(
        "mbarrier.arrive.shared.b64 %rd1, [m], 3;\nmbarrier.test_wait.shared.b64 %p1, [m], %rd1;\n\
         mbarrier.arrive.shared.b64 _, [m], 3;\nmbarrier.test_wait.shared.b64 %p1, [m], %rd1;",
        "state: expected that of phase 2 or the one before, found 0",
    );
    wrong("ld.shared.b64 %rd1, [m];", "read of an mbarrier: 8 bytes");
    wrong("st.shared.b32 [m+4], 1;", "write of an mbarrier: 4 bytes");
    wrong(
        "cp.async.ca.shared.global [m], [%rd90], 8;",
        "write of an mbarrier",
    );
    wrong(
        "mbarrier.arrive.b64 _, [%rd90];",
        "expected an address in shared memory",
    );
    // The bytes are memory again afterwards, without a value.
    wrong(
        "mbarrier.inval.shared.b64 [m];\nld.shared.b64 %rd1, [m];",
        "never written",
    );
}

#[test]
fn forms_are_those_of_the_isa() {
    for (form, accepted) in [
        ("mbarrier.arrive.shared.b64 %rd1, [m]", true),
        (
            "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd1, [m], 16",
            true,
        ),
        (
            "mbarrier.try_wait.acquire.cluster.shared::cta.b64 %p1, [m], %rd1, 100",
            true,
        ),
        ("mbarrier.arrive.shared.b64 [m]", false),
        ("mbarrier.arrive.shared.b32 %r1, [m]", false),
        ("mbarrier.arrive.acquire.cta.shared.b64 %rd1, [m]", false),
        ("mbarrier.arrive.release.shared.b64 %rd1, [m]", false),
        ("mbarrier.arrive.noComplete.shared.b64 %rd1, [m]", false),
        (
            "mbarrier.arrive.expect_tx.noComplete.shared.b64 %rd1, [m], 16",
            false,
        ),
        ("mbarrier.arrive.shared::cluster.b64 _, [m]", true),
        ("mbarrier.arrive.shared::cluster.b64 %rd1, [m]", false),
        ("mbarrier.init.shared::cluster.b64 [m], 1", false),
        (
            "mbarrier.test_wait.parity.shared.b64 %p1, [m], 0, 100",
            false,
        ),
        ("mbarrier.test_wait.shared.b64 %p1, [m], %r1", false),
        ("mbarrier.init.relaxed.cta.shared.b64 [m], 1", false),
        ("mbarrier.wait.shared.b64 [m]", false),
        ("cp.async.mbarrier.arrive.noinc.shared.b64 [m], 1", false),
        ("cp.async.mbarrier.shared.b64 [m]", false),
    ] {
        let text = kernel(&format!(".shared .align 8 .b64 m;\n{form};"));
        let parsed = Module::parse(&text);
        assert_eq!(parsed.is_ok(), accepted, "{form}: {:?}", parsed.err());
    }
}

#[test]
fn a_pipeline_of_two_buffers() {
    const ROWS: usize = 7;
    let text = include_str!("ptx/mbarriers.ptx");
    let run = |text: &str, schedule: u64| -> Result<Vec<u8>, SimError> {
        let mut memory = Memory::new();
        let bytes: Vec<u8> = (0..32 * (ROWS as u32 + 1))
            .flat_map(u32::to_le_bytes)
            .collect();
        let data = memory.alloc(bytes.len() as u64, "data")?;
        memory.write(data, &bytes)?;
        let options = Options {
            races: true,
            step_limit: 1 << 16,
            ..Options::default()
        };
        let params = [&data.to_le_bytes()[..], &(ROWS as u32).to_le_bytes()].concat();
        let module = Module::parse(text)?;
        let options = options.schedule(schedule);
        module.launch(
            "pipeline",
            [1; 3],
            [64, 1, 1],
            0,
            &params,
            &mut memory,
            &options,
        )?;
        memory.read(data + 4 * 32 * ROWS as u64, 128)
    };
    let sums = (0..32).map(|lane| (0..ROWS as u32).map(|row| 32 * row + lane).sum::<u32>());
    let expected: Vec<u8> = sums.flat_map(u32::to_le_bytes).collect();
    for schedule in 0..20 {
        assert_eq!(run(text, schedule).unwrap(), expected, "{schedule}");
    }
    // Who does not ask again after a wait in vain fills a buffer while it is read.
    let hasty = text.replace("@!%p4 bra free;", "");
    assert!((0..20).any(|schedule| run(&hasty, schedule).is_err()));
}
