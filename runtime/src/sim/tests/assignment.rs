//! Reads of registers that nothing has written.

use super::races::run;
use super::{ErrorKind, fault, words};

/// The register that a body of 32 threads reads too early, and the first lane.
fn unassigned(body: &str) -> Option<(String, u32)> {
    let error = run(body, 32).err()?;
    let thread = error.location.as_ref().unwrap().thread.unwrap()[0];
    match error.kind {
        ErrorKind::UnassignedRegister { register } => Some((register, thread)),
        other => panic!("{body}: {other}"),
    }
}

fn found(register: &str, lane: u32) -> Option<(String, u32)> {
    Some((register.to_owned(), lane))
}

#[test]
fn operands_guards_and_addresses_are_read() {
    for (body, register) in [
        ("add.u32 %r10, %r11, 1;", "%r11"),
        (
            "@!%p5 mov.u32 %r11, 1;\nmov.b64 %rd10, {%r90, %r11};",
            "%r11",
        ),
        ("ld.global.b32 %r10, [%rd10];", "%rd10"),
        ("st.global.b32 [%rd5], %r10;", "%r10"),
        ("st.global.v2.b32 [%rd90], {%r90, %r10};", "%r10"),
        ("@%p9 mov.u32 %r10, 1;", "%p9"),
        ("selp.b32 %r10, 1, 2, %p9;", "%p9"),
        ("shfl.sync.idx.b32 %r10, %r11, 0, 31, -1;", "%r11"),
        ("atom.shared.add.u32 %r10, [s], %r11;", "%r11"),
        ("cp.async.ca.shared.global [%r5], [%rd10], 4;", "%rd10"),
        (
            "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r10,%r11,%r12,%r13}, {%r90,%r14}, {%r90}, \
             {%r90,%r90,%r90,%r90};",
            "%r14",
        ),
    ] {
        assert_eq!(unassigned(body), found(register, 0), "{body}");
    }
}

#[test]
fn what_an_instruction_writes_is_written() {
    for body in [
        "mov.u32 %r10, 1;\nadd.u32 %r10, %r10, 1;",
        "ld.shared.v2.b32 {%r10, %r11}, [s];\nadd.u32 %r10, %r10, %r11;",
        "setp.eq.u32 %p8|%p9, %r90, 1;\n@%p8 bra next;\nnext:\n@%p9 bra end;\nend:",
        "shfl.sync.idx.b32 %r10|%p8, %r90, 0, 31, -1;\nselp.b32 %r10, %r10, 0, %p8;",
        "mov.b64 {%r10, %r11}, %rd90;\nadd.u32 %r10, %r10, %r11;",
        // A part that no instruction writes is of no use.
        "mov.b64 %rd10, {%r90, %r11};",
        "vote.sync.ballot.b32 %r10, %p5, -1;\nmov.u32 %r11, %r10;",
        "bar.red.and.pred %p8, 0, %p5;\n@%p8 mov.u32 %r10, 1;",
    ] {
        assert_eq!(unassigned(body), None, "{body}");
    }
}

#[test]
fn each_lane_counts_for_itself() {
    let body = |limit: u32| {
        format!(
            "setp.ge.u32 %p1, %r90, {limit};\n@%p1 bra join;\nmov.u32 %r10, 1;\njoin:\nadd.u32 %r11, %r10, 1;"
        )
    };
    assert_eq!(unassigned(&body(32)), None);
    assert_eq!(unassigned(&body(7)), found("%r10", 7));
    // Under a guard as behind a branch.
    let guarded = |read: &str| {
        format!("setp.lt.u32 %p1, %r90, 7;\n@%p1 mov.u32 %r10, 1;\n{read} add.u32 %r11, %r10, 1;")
    };
    assert_eq!(unassigned(&guarded("@%p1")), None);
    assert_eq!(unassigned(&guarded("")), found("%r10", 7));
    assert_eq!(unassigned(&guarded("@!%p1")), found("%r10", 7));
}

#[test]
fn a_loop_may_write_what_it_reads_in_the_next_round() {
    let body = |first: &str| {
        format!(
            "mov.u32 %r12, 0;\n{first}\nagain:\nsetp.eq.u32 %p1, %r12, 0;\n@%p1 bra skip;\n\
             add.u32 %r11, %r10, 1;\nskip:\nadd.u32 %r12, %r12, 1;\n{}setp.lt.u32 %p2, %r12, 3;\n@%p2 bra again;",
            if first.is_empty() {
                ""
            } else {
                "mov.u32 %r10, %r12;\n"
            }
        )
    };
    assert_eq!(unassigned(&body("")), found("%r10", 0));
    assert_eq!(unassigned(&body("mov.u32 %r13, 0;")), None);
}

#[test]
fn it_is_reported_with_the_check_alone() {
    assert_eq!(words("st.global.b32 [%rd92], %r10;", 1).unwrap(), [0]);
    let kind = fault("ld.global.b32 %r1, [%rd20];", 1);
    assert!(matches!(kind, ErrorKind::OutOfBounds { .. }), "{kind}");
}
